//! `rtv check`: every claim of the files named, proved, refuted or left open.

mod only;
mod workers;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Args;
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_proofs::{Checker, Module, Settings, Stage};
use rtv_runtime::io::placeless;
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_smt::{Budget, DEFAULT_MEMORY_MIB, LEAST_MEMORY_MIB, Pool};

use crate::project::Project;
use crate::report::Reporter;
use only::Only;
use workers::Event;

/// More MiB than any machine has.
const MOST_MEMORY_MIB: u64 = 1 << 32;

/// No claim has a name that was asked for.
const NOTHING_SELECTED: Code = Code(815);

#[derive(Args)]
pub struct Check {
    /// Files and folders; without any, the project or the current folder
    files: Vec<PathBuf>,
    /// Stop after types and shapes
    #[arg(long)]
    types: bool,
    /// Only `test` blocks and sampling, no solver
    #[arg(long, conflicts_with = "types")]
    tests: bool,
    /// Print the typed core, one operation a line, instead of checking
    #[arg(long, conflicts_with_all = ["types", "tests"])]
    core: bool,
    /// Only these claims, by name or pattern (`softmax*`); `!NAME` leaves out, the last match wins
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Random inputs per claim
    #[arg(long, default_value_t = 200)]
    samples: u64,
    /// Seconds per claim; what takes longer is unknown
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Solver work per question, the same on every machine
    #[arg(long)]
    rlimit: Option<u32>,
    /// Memory of each solver process in MiB; what needs more is unknown
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY_MIB,
        value_parser = clap::value_parser!(u64).range(LEAST_MEMORY_MIB..=MOST_MEMORY_MIB))]
    memory: u64,
    /// Files at work at the same time
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x <= 1e6 => Ok(Duration::from_secs_f64(x)),
        _ => Err("a number of seconds above 0 is needed".to_string()),
    }
}

impl Check {
    pub fn run(&self, reporter: &mut Reporter) {
        let (mut project, found) = Project::load(&self.files);
        reporter.run_started("check", &project.names());
        found.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
        let mut modules = Vec::new();
        for unit in std::mem::take(&mut project.units) {
            let broken = unit.parsed.diagnostics.iter().any(Diagnostic::is_error);
            let (module, found) = Module::new(unit.file, unit.parsed);
            // What follows from a syntax error is no news.
            if !broken {
                found.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
                modules.push(module);
            }
        }
        if self.core {
            return self.print_core(&project, &modules, reporter);
        }
        self.claims(&project, &modules, reporter);
        reporter.run_finished();
    }

    fn print_core(&self, project: &Project, modules: &[Module], reporter: &mut Reporter) {
        let only = Only::new(&self.only);
        for module in modules {
            let (texts, found) = rtv_proofs::core(module, &|name| only.selects(name));
            texts.iter().for_each(|text| reporter.result(text));
            found.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
        }
    }

    fn claims(&self, project: &Project, modules: &[Module], reporter: &mut Reporter) {
        let only = Only::new(&self.only);
        let names = modules.iter().flat_map(|m| &m.items).filter_map(claim_name);
        let names: BTreeSet<&str> = names.filter(|name| only.selects(name)).collect();
        let every_item = self.only.is_empty();
        if names.is_empty() && !every_item {
            let fact = format!("no claim is named {}", self.only.join(" or "));
            return reporter.fault(&placeless(NOTHING_SELECTED, fact));
        }
        let wanted = |name: &str| every_item || names.contains(name);
        let proving = self.stage() == Stage::Proofs;
        // Without a path there is no program, and the first question says so.
        let program = std::env::current_exe().unwrap_or_default();
        let pool = Arc::new(Pool::new(program, self.memory));
        let checker = || Checker::in_workers(self.settings(), pool.clone());
        workers::check(modules, &checker, self.jobs(modules), &wanted, &mut |event| match event {
            Event::Started(name) if names.contains(name.as_str()) && !self.types => {
                reporter.claim_started(&name);
            }
            Event::Started(_) => {}
            Event::Finished(_) if self.types => {}
            Event::Finished(claim) => {
                reporter.claim_finished(&project.sources, &claim, proving);
            }
            Event::Found(found) => {
                found.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
            }
        });
    }

    fn stage(&self) -> Stage {
        match (self.types, self.tests) {
            (true, _) => Stage::Types,
            (_, true) => Stage::Tests,
            _ => Stage::Proofs,
        }
    }

    fn settings(&self) -> Settings {
        let mut budget = Budget::OBLIGATION;
        if let Some(limit) = self.timeout {
            let limit = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
            budget.timeout_ms = budget.timeout_ms.min(limit.max(1));
        }
        budget.rlimit = self.rlimit.unwrap_or(budget.rlimit);
        let (stage, seed, samples, timeout) = (self.stage(), self.seed, self.samples, self.timeout);
        Settings { stage, seed, samples, budget, timeout }
    }

    fn jobs(&self, modules: &[Module]) -> usize {
        let jobs = self.jobs.map_or_else(|| thread::available_parallelism().ok(), Some);
        jobs.map_or(1, NonZeroUsize::get).min(modules.len())
    }
}

/// The name of an item that makes a claim.
fn claim_name(item: &Item) -> Option<&str> {
    match &item.kind {
        ItemKind::Def(def) if matches!(def.kind, DefKind::Impl | DefKind::Decomp { .. }) => {
            Some(&def.name.parts.last()?.name)
        }
        ItemKind::Vjp { path, .. } => Some(&path.parts.last()?.name),
        ItemKind::Rule(rule) => Some(&rule.name.name),
        ItemKind::Test { name, .. } => Some(&name.name),
        ItemKind::Def(_) | ItemKind::Use(_) | ItemKind::Const { .. } | ItemKind::Error => None,
    }
}
