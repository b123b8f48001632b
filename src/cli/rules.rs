//! `rtv rules`: the rules that the optimizer may use, and what they did to programs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rtv_proofs::{Module, Stage, program};
use rtv_runtime::io::placeless;
use rtv_semantics::diag::Diagnostic;
use rtv_semantics::program::Mode;
use serde::Serialize;

use super::check::NOTHING_SELECTED;
use super::effort::Effort;
use crate::optimize::{self, RuleBook, Standing, Stated};
use crate::project::Project;
use crate::report::Reporter;

#[derive(Args)]
pub struct Rules {
    /// Only rules whose name contains this
    name: Option<String>,
    /// Files and folders whose functions are looked at: how often each rule made two terms one
    #[arg(long, value_name = "PATH")]
    on: Vec<PathBuf>,
    /// Files and folders whose rules are listed, instead of those that come with rtv
    #[arg(long, value_name = "PATH")]
    rules: Vec<PathBuf>,
    #[command(flatten)]
    effort: Effort,
}

/// A rule, for programs.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    place: &'a str,
    mode: &'a str,
    verdict: &'a str,
    /// Not used, since floats of ordinary numbers make NaNs of one side alone.
    fragile: bool,
    statement: String,
    fired: Option<u64>,
}

impl Rules {
    pub fn run(&self, reporter: &mut Reporter) {
        let book = match self.rules.as_slice() {
            [] => RuleBook::shipped(),
            paths => {
                let (book, project, faults) = RuleBook::of(paths);
                faults.iter().for_each(|fault| reporter.diagnostic(&project.sources, fault));
                book
            }
        };
        let fired = (!self.on.is_empty()).then(|| self.fired(&book, reporter));
        let wanted = |stated: &&Stated| self.name.as_ref().is_none_or(|name| stated.name.contains(name));
        let (mut listed, mut proved) = (0, 0);
        for stated in book.stated().iter().filter(wanted) {
            listed += 1;
            proved += usize::from(stated.standing == Standing::Proved);
            let times = fired.as_ref().map(|fired| fired.get(stated.name.as_str()).copied().unwrap_or(0));
            let row = Row {
                name: &stated.name,
                place: &stated.place,
                mode: stated.mode,
                verdict: stated.standing.word(),
                fragile: stated.fragile,
                statement: book.statement(&stated.name).unwrap_or_default(),
                fired: times,
            };
            let count = times.map_or(String::new(), |times| format!("{times:>7}"));
            let text = format!("{count}  {:<8} {:<8} {:<44} {}", row.verdict, row.mode, row.name, row.place);
            reporter.row("rule", &row, Some(&text));
        }
        match &self.name {
            Some(name) if listed == 0 => {
                let fault = placeless(NOTHING_SELECTED, format!("no rule has `{name}` in its name"));
                reporter.fault(&fault.help("without a name all are listed"));
            }
            _ => reporter.text(&format!("\n  {listed} rules, {proved} of them proved")),
        }
    }

    /// How often each rule made two terms one, in the functions of the files together.
    fn fired(&self, book: &RuleBook, reporter: &mut Reporter) -> BTreeMap<Arc<str>, u64> {
        let (mut project, faults) = Project::load(&self.on);
        faults.iter().for_each(|fault| reporter.diagnostic(&project.sources, fault));
        let checker = self.effort.checker(Stage::Proofs, self.effort.pool(), Box::new(|_| {}));
        let mut fired: BTreeMap<Arc<str>, u64> = BTreeMap::new();
        for unit in std::mem::take(&mut project.units) {
            let (module, names) = Module::new(unit.file, unit.parsed);
            if names.iter().any(Diagnostic::is_error) {
                continue;
            }
            for at in 0..module.items.len() {
                let (Some((function, _)), _) = program(&module, at, 1) else { continue };
                for (rule, times) in optimize::fired(&function, book, Mode::Real, &checker) {
                    *fired.entry(rule).or_default() += times;
                }
            }
        }
        fired
    }
}
