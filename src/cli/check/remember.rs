//! Verdicts of earlier runs, and of this one for later.

use std::path::PathBuf;

use rtv_proofs::{Module, Stage};

use super::Check;
use super::workers::Work;
use crate::ledger::{Books, Cache, For, Known};
use crate::project::SourceMap;
use crate::report::Reporter;

impl Check {
    /// Where the verdicts of this run come from. A run that stops before proofs, is to show
    /// its questions or to write certificates decides everything itself.
    pub(super) fn known(&self, modules: &[Module], paths: &[PathBuf], reporter: &mut Reporter) -> Known {
        if self.locked {
            return Known::Ledger(open(modules, paths, For::Reading, reporter));
        }
        let shows = self.dump.is_some() || self.certificates.is_some();
        let asks = shows || self.effort.facets || self.update_ledger;
        let decides = self.stage() != Stage::Proofs || asks || self.no_cache;
        let cache = if decides { None } else { Cache::of_project(self.effort.limits()) };
        cache.map_or(Known::Nothing, Known::Cache)
    }

    /// Writes down what is to outlive the run.
    pub(super) fn remember(
        &self,
        work: &Work,
        sources: &SourceMap,
        paths: &[PathBuf],
        reporter: &mut Reporter,
    ) {
        if let Known::Cache(cache) = &work.known {
            cache.finish().iter().for_each(|fault| reporter.fault(fault));
        }
        let Some(noted) = &work.noted else { return };
        let mut books = open(&work.modules, paths, For::Writing, reporter);
        let update = books.update(&work.modules, &noted.taken());
        update.faults.iter().for_each(|fault| reporter.diagnostic(sources, fault));
        reporter.ledger_written(update.claims, update.left_out);
    }
}

fn open(modules: &[Module], paths: &[PathBuf], purpose: For, reporter: &mut Reporter) -> Books {
    let files = modules.iter().map(|module| module.file).zip(paths.iter().map(PathBuf::as_path));
    let (books, faults) = Books::open(files, purpose);
    faults.iter().for_each(|fault| reporter.fault(fault));
    books
}
