//! What a check reports while it runs.

use rtv_proofs::ClaimResult;
use rtv_semantics::diag::Diagnostic;

use super::workers::{Event, Listener};
use crate::cli::interrupt;
use crate::project::SourceMap;
use crate::report::Reporter;

/// Tells a reporter.
pub struct Telling<'r> {
    pub reporter: &'r mut Reporter,
    pub sources: &'r SourceMap,
    /// Whether claims are decided, and not their types alone.
    pub deciding: bool,
    /// Whether proofs are asked for.
    pub proving: bool,
    /// Claims told so far.
    pub finished: usize,
}

impl Telling<'_> {
    fn claim(&mut self, claim: &ClaimResult) {
        self.finished += 1;
        if self.deciding {
            self.reporter.claim_finished(self.sources, claim, self.proving);
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
            Event::Finished(claim) => self.reporter.progress_finished(claim),
            Event::Found(_) => {}
        }
    }

    fn told(&mut self, event: Event) {
        match event {
            Event::Started(name) if self.deciding => self.reporter.claim_started(&name),
            Event::Started(_) => {}
            Event::Finished(claim) => self.claim(&claim),
            Event::Found(found) => self.found(&found),
        }
    }

    fn goes_on(&mut self) -> bool {
        self.reporter.tick();
        !interrupt::heard()
    }
}
