//! What a check reports while it runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rtv_proofs::{Checked, ClaimResult};
use rtv_runtime::io::{UNWRITABLE, placeless, reason};
use rtv_semantics::diag::Diagnostic;
use rtv_semantics::program::ClaimKind;

use super::workers::{Event, Listener};
use crate::cli::interrupt;
use crate::project::SourceMap;
use crate::report::{Reporter, as_expected};

/// Tells a reporter.
pub struct Telling<'r> {
    pub reporter: &'r mut Reporter,
    pub sources: &'r SourceMap,
    /// Whether claims are decided, and not their types alone.
    pub deciding: bool,
    /// Whether proofs are asked for.
    pub proving: bool,
    /// Claims told so far, beside those of functions about their calls.
    pub told: usize,
    /// Where certificates go.
    pub certificates: Option<&'r Path>,
    /// Claims by id: their names, and whether they are as expected.
    pub finished: BTreeMap<String, (String, bool)>,
}

impl Telling<'_> {
    fn claim(&mut self, claim: &ClaimResult) {
        self.remember(claim);
        self.keep_certificate(claim);
        match self.deciding {
            true => self.reporter.claim_finished(self.sources, claim, self.proving),
            false => self.reporter.claim_typed(),
        }
    }

    fn untyped(&mut self, claim: &ClaimResult) {
        self.remember(claim);
        if self.deciding {
            self.reporter.claim_untyped(self.sources, claim);
        }
    }

    fn remember(&mut self, claim: &ClaimResult) {
        self.told += usize::from(claim.kind != ClaimKind::Calls);
        self.finished.insert(claim.id.clone(), (claim.name.clone(), as_expected(claim)));
    }

    fn keep_certificate(&mut self, claim: &ClaimResult) {
        let (Some(folder), Some(Checked::Accepted(_, text))) = (self.certificates, &claim.checked) else {
            return;
        };
        let path = folder.join(format!("{}-{}.cert", claim.name, &claim.id[..8]));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text.as_bytes()));
        if let Err(why) = written {
            let fact = format!("cannot write `{}`: {}", path.display(), reason(&why));
            self.reporter.fault(&placeless(UNWRITABLE, fact));
        }
    }

    fn found(&mut self, found: &[Diagnostic]) {
        found.iter().for_each(|found| self.reporter.diagnostic(self.sources, found));
    }
}

impl Listener for Telling<'_> {
    fn live(&mut self, event: &Event) {
        match event {
            Event::Started(name) => self.reporter.progress_started(name),
            Event::Finished(claim) | Event::Untyped(claim) => self.reporter.progress_finished(claim),
            Event::Found(_) => {}
        }
    }

    fn told(&mut self, event: Event) {
        match event {
            Event::Started(name) if self.deciding => self.reporter.claim_started(&name),
            Event::Started(_) => {}
            Event::Finished(claim) => self.claim(&claim),
            Event::Untyped(claim) => self.untyped(&claim),
            Event::Found(found) => self.found(&found),
        }
    }

    fn goes_on(&mut self) -> bool {
        self.reporter.tick();
        !interrupt::heard()
    }
}
