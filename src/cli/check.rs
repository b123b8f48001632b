//! `rtv check`: every claim of the files named, proved, refuted or left open.

mod listener;
mod only;
mod questions;
mod remember;
mod watch;
mod workers;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use clap::Args;
use rtv_proofs::{Module, Stage, subject};
use rtv_runtime::io::placeless;
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_smt::Pool;

use crate::cli::effort::Effort;
use crate::cli::interrupt;
use crate::ledger::Noted;
use crate::nearest::nearest;
use crate::project::{Project, SourceMap};
use crate::report::{Reporter, Require};
use listener::Telling;
use only::Only;
pub use questions::Questions;
use watch::Watched;
use workers::Work;

/// No claim has a name that was asked for.
pub const NOTHING_SELECTED: Code = Code(815);

#[derive(Args)]
pub struct Check {
    /// Files and folders; without any, the project or the current folder
    files: Vec<PathBuf>,
    /// Stop after types and sizes
    #[arg(long)]
    types: bool,
    /// Only `test` blocks and sampling, no proofs
    #[arg(long, conflicts_with = "types")]
    tests: bool,
    /// Print the typed core, one operation a line, instead of checking
    #[arg(long, conflicts_with_all = ["types", "tests"])]
    core: bool,
    /// Only these claims, by name or pattern (`softmax*`); `!NAME` leaves out, the last match wins
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    #[command(flatten)]
    effort: Effort,
    /// Claims at work at the same time
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Fail where a claim is less than this, even if no more is expected of it
    #[arg(long, value_enum)]
    require: Option<Require>,
    /// Write each question to the solver into this folder, as SMT-LIB; the cache is not used
    #[arg(long, value_name = "FOLDER")]
    dump: Option<PathBuf>,
    /// Write the certificate of each claim that is proved into this folder; the cache is not used
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["types", "tests", "core", "locked"])]
    certificates: Option<PathBuf>,
    /// Say at the end what the run cost
    #[arg(long)]
    stats: bool,
    /// Check again what changes, until interrupted
    #[arg(long, conflicts_with = "core")]
    watch: bool,
    /// Take verdicts from the ledger alone; what it does not say is an error
    #[arg(long, conflicts_with_all = ["types", "tests", "core", "dump"])]
    locked: bool,
    /// Write what is found into the ledgers of the files
    #[arg(long, conflicts_with_all = ["types", "tests", "core", "locked", "watch"])]
    update_ledger: bool,
    /// Decide everything anew, and keep nothing
    #[arg(long)]
    no_cache: bool,
}

/// The files of a run, ready to be checked.
struct Loaded {
    sources: Arc<SourceMap>,
    modules: Vec<Module>,
    /// The file of each.
    paths: Vec<PathBuf>,
    /// Claims of files that do not parse.
    broken: usize,
}

impl Check {
    pub fn run(&self, reporter: &mut Reporter) {
        if self.core {
            let loaded = self.load(reporter);
            self.print_core(&loaded, reporter);
            return reporter.core_finished();
        }
        interrupt::listen();
        // Solver processes outlive one round of a watch.
        let pool = self.effort.pool();
        let mut watched = Watched::default();
        loop {
            watched.look(&self.files);
            let loaded = self.load(reporter);
            self.claims(loaded, &pool, &mut watched, reporter);
            if !self.watch || !watched.changes(reporter) {
                return;
            }
            reporter.again();
        }
    }

    fn load(&self, reporter: &mut Reporter) -> Loaded {
        let (mut project, found) = Project::load(&self.files);
        reporter.run_started("check", &project.names());
        found.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
        let (mut modules, mut paths, mut broken) = (Vec::new(), Vec::new(), 0);
        for unit in std::mem::take(&mut project.units) {
            let parses = !unit.parsed.diagnostics.iter().any(Diagnostic::is_error);
            let (module, found) = Module::new(unit.file, unit.parsed);
            // What follows from a syntax error is no news, and a name whose definition is
            // not known may mean another thing.
            if parses {
                let found = found.iter().chain(&module.directives);
                found.for_each(|found| reporter.diagnostic(&project.sources, found));
                modules.push(module);
                paths.push(unit.path);
            } else {
                broken += module.claims().count();
            }
        }
        Loaded { sources: Arc::new(project.sources), modules, paths, broken }
    }

    fn print_core(&self, loaded: &Loaded, reporter: &mut Reporter) {
        let only = Only::new(&self.only);
        for module in &loaded.modules {
            let (texts, found) = rtv_proofs::core(module, &|name| only.selects(name));
            texts.iter().for_each(|text| reporter.result(text));
            found.iter().for_each(|found| reporter.diagnostic(&loaded.sources, found));
        }
    }

    fn claims(&self, loaded: Loaded, pool: &Arc<Pool>, watched: &mut Watched, reporter: &mut Reporter) {
        let Loaded { sources, modules, paths, broken } = loaded;
        let mut wanted = self.selected(&modules);
        if wanted.is_empty() && !self.only.is_empty() {
            reporter.fault(&nothing_selected(&self.only, &modules));
            return reporter.run_finished();
        }
        watched.keep_changed(&modules, &mut wanted);
        let is_claim = |(file, at): &(usize, usize)| modules[*file].is_claim(*at);
        let total = wanted.iter().filter(|place| is_claim(place)).count();
        let questions = match Questions::new(sources.clone(), self.dump.clone()) {
            Ok(questions) => Arc::new(questions),
            Err(fault) => return reporter.fault(&fault),
        };
        let (stage, jobs) = (self.stage(), self.jobs(wanted.len()));
        let (effort, pool) = (self.effort.clone(), pool.clone());
        let known = self.known(&modules, &paths, reporter);
        let noted = self.update_ledger.then(Noted::default);
        let work = Work { modules, wanted, stage, effort, pool, questions, known, noted };
        let work = Arc::new(work);
        reporter.measure(total);
        reporter.require(self.require);
        reporter.tell_floats(self.effort.facets);
        let (deciding, proving) = (stage != Stage::Types, stage == Stage::Proofs);
        let mut telling = Telling {
            reporter,
            sources: &sources,
            deciding,
            proving,
            told: 0,
            certificates: self.certificates.as_deref(),
            finished: BTreeMap::new(),
        };
        workers::check(&work, jobs, &mut telling);
        let Telling { told, finished, .. } = telling;
        work.questions.failure().iter().for_each(|found| reporter.fault(found));
        if interrupt::heard() {
            reporter.interrupted(total.saturating_sub(told));
        }
        reporter.not_checked(broken);
        reporter.unchanged(&watched.unchanged(finished));
        self.remember(&work, &sources, &paths, reporter);
        reporter.run_finished();
        if self.stats {
            reporter.statistics(&work.questions.counts());
        }
    }

    /// The items to be checked, by place of their file and place in it: everything, or
    /// the claims whose name is asked for.
    fn selected(&self, modules: &[Module]) -> Vec<(usize, usize)> {
        let only = Only::new(&self.only);
        let wanted = |module: &Module, at: usize| {
            self.only.is_empty()
                || module.may_claim(at)
                    && subject(&module.items[at]).is_some_and(|(name, _)| only.selects(&name))
        };
        let places = |(file, module): (usize, &Module)| {
            let items = (0..module.items.len()).filter(|at| wanted(module, *at));
            items.map(|at| (file, at)).collect::<Vec<_>>()
        };
        modules.iter().enumerate().flat_map(places).collect()
    }

    fn stage(&self) -> Stage {
        match (self.types, self.tests) {
            (true, _) => Stage::Types,
            (_, true) => Stage::Tests,
            _ => Stage::Proofs,
        }
    }

    fn jobs(&self, items: usize) -> usize {
        let jobs = self.jobs.map_or_else(|| thread::available_parallelism().ok(), Some);
        jobs.map_or(1, NonZeroUsize::get).min(items)
    }
}

fn nothing_selected(only: &[String], modules: &[Module]) -> Diagnostic {
    let fact = format!("`--only` selects no claim: {}", only.join(", "));
    let names: Vec<String> = modules.iter().flat_map(Module::claims).collect();
    let near = only.iter().find_map(|asked| nearest(asked, names.iter().map(String::as_str)));
    let fault = placeless(NOTHING_SELECTED, fact);
    match near.filter(|near| !only.iter().any(|asked| asked == near)) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => fault
            .help("names are those of rules, decompositions and tests; the last pattern that matches wins"),
    }
}
