//! `rtv opt FILE [FN]`: programs made cheaper by proved rules.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rtv_egraph::{Limits, Optimized};
use rtv_grammar::ast::{DefKind, ItemKind};
use rtv_proofs::{Module, program, subject};
use rtv_semantics::derivation::Why;
use rtv_semantics::diag::Diagnostic;
use rtv_semantics::guess::Guessing;
use rtv_semantics::program::{Function, Mode};

use crate::optimize::{self, RuleBook};
use crate::project::Project;
use crate::report::Reporter;

#[derive(Args)]
pub struct Opt {
    /// The source file
    file: PathBuf,
    /// The name of the function; without one, every function of the file
    function: Option<String>,
    /// How much the result may differ: the mode in which each rule that is used is proved
    #[arg(long, value_enum, default_value_t = Upto::Real)]
    upto: Upto,
    /// NAME=VALUE: the size at which a symbolic size is priced, 256 if not told
    #[arg(long = "size", value_name = "NAME=VALUE")]
    sizes: Vec<String>,
    /// Axes that a rank variable stands for
    #[arg(long, default_value_t = 1)]
    rank: usize,
    /// Files and folders whose rules are used, if the ledger of their project calls them proved;
    /// without any, the rules that come with rtv
    #[arg(long, value_name = "PATH")]
    rules: Vec<PathBuf>,
    /// Terms in the graph, after which no rule is applied any more
    #[arg(long, default_value_t = Limits::default().nodes)]
    nodes: usize,
    /// Seconds after which no rule is applied any more
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Upto {
    /// Bit for bit
    Exact,
    /// Sums in another order
    Reassoc,
    /// As real numbers, where all are finite
    Real,
}

impl Upto {
    fn mode(self) -> Mode {
        match self {
            Upto::Exact => Mode::Exact,
            Upto::Reassoc => Mode::Reassoc,
            Upto::Real => Mode::Real,
        }
    }
}

impl Opt {
    pub fn run(&self, reporter: &mut Reporter) {
        let (mut project, mut found) = Project::load(std::slice::from_ref(&self.file));
        if project.units.len() == 1 && !found.iter().any(Diagnostic::is_error) {
            let unit = project.units.remove(0);
            let (module, names) = Module::new(unit.file, unit.parsed);
            found.extend(names);
            if !found.iter().any(Diagnostic::is_error) {
                let book = RuleBook::shipped();
                for (at, item) in module.items.iter().enumerate() {
                    let ItemKind::Def(def) = &item.kind else { continue };
                    let Some((name, _)) = subject(item).filter(|_| def.kind == DefKind::Fn) else { continue };
                    if self.function.as_ref().is_none_or(|wanted| *wanted == name) {
                        let (function, said) = program(&module, at, self.rank);
                        found.extend(said);
                        if let Some(function) = function {
                            self.optimize(&function, &book, reporter);
                        }
                    }
                }
            }
        }
        found.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
    }

    fn optimize(&self, function: &Function, book: &RuleBook, reporter: &mut Reporter) {
        let started = Instant::now();
        let wanted = optimize::wanted(function, self.upto.mode());
        let Some(sizes) = optimize::sizes(function, &BTreeMap::new()) else { return };
        let limit = Duration::from_secs_f64(self.seconds);
        let over = || started.elapsed() > limit;
        let limits = Limits { nodes: self.nodes, ..Limits::default() };
        let done = optimize::optimize(function, &mut book.giver(&wanted), &sizes, limits, &Guessing, &over);
        reporter.text(&format!(
            "# {}: {} rules, {:?} after {} nodes, {:?}, cost {:.3e} -> {:.3e}",
            function.name,
            done.rules.len(),
            done.ended,
            done.nodes,
            started.elapsed(),
            done.before,
            done.after
        ));
        steps(&done, reporter);
        let function = Function { body: done.body, ..function.clone() };
        reporter.text(&rtv_grammar::core_text::function(&function));
    }
}

fn steps(done: &Optimized, reporter: &mut Reporter) {
    for line in &done.derivation.lines {
        if let Why::Rule { application, .. } = &line.why {
            let name = &done.derivation.applications[*application].rule;
            let rule = done.rules.iter().find(|rule| rule.name == *name);
            let place = rule.map_or("", |rule| rule.place.as_str());
            reporter.text(&format!("#   {name}  {place}"));
        }
    }
    for (rule, why) in &done.refused {
        reporter.text(&format!("#   refused {}: {:?} {}", done.rules[*rule].name, why.0, why.1));
    }
    if let Some(clash) = &done.clash {
        reporter.text(&format!("# clash {clash:?}"));
    }
}
