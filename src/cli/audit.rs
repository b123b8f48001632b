//! `rtv audit`: what the verdicts of the ledgers rest on.

use std::path::PathBuf;

use clap::Args;
use rtv_proofs::{BOUNDED, ClaimResult, Module, Verdict};
use rtv_semantics::program::ClaimKind;
use rtv_smt::Z3_VERSION;

use crate::ledger::{Books, Filed, For};
use crate::project::Project;
use crate::report::Reporter;

/// What every verdict rests on.
const BASE: &str = "trusted base: elaboration, the scalar table, unfolding, the conditions of definedness, \
                    the reference evaluator, the checker of certificates";

#[derive(Args)]
pub struct Audit {
    /// Files and folders; without any, the project or the current folder
    files: Vec<PathBuf>,
}

/// Names of claims, each with what there is to say.
type Listed = Vec<(String, String)>;

#[derive(Default)]
struct Found {
    /// Proved with a certificate that asks no solver.
    without_solver: Listed,
    /// Proved with a certificate, and how many questions it asks.
    with_solver: Listed,
    without_certificate: Listed,
    /// Proved, and by the laws of which monoids, which are claims of their own.
    by_laws: Listed,
    bounded: Listed,
    tested: Listed,
    trusted: Listed,
    open: Listed,
    refuted: Listed,
    passed: Listed,
    absent: Listed,
}

impl Audit {
    pub fn run(&self, reporter: &mut Reporter) {
        let (mut project, faults) = Project::load(&self.files);
        faults.iter().for_each(|fault| reporter.diagnostic(&project.sources, fault));
        let (mut modules, mut paths) = (Vec::new(), Vec::new());
        for unit in std::mem::take(&mut project.units) {
            modules.push(Module::new(unit.file, unit.parsed).0);
            paths.push(unit.path);
        }
        let files = modules.iter().map(|module| module.file).zip(paths.iter().map(PathBuf::as_path));
        let (books, faults) = Books::open(files, For::Reading);
        faults.iter().for_each(|fault| reporter.fault(fault));
        let mut found = Found::default();
        for module in &modules {
            (0..module.items.len()).for_each(|at| found.add(module, at, &books));
        }
        found.tell(reporter);
    }
}

impl Found {
    fn add(&mut self, module: &Module, at: usize, books: &Books) {
        let outcome = books.item(module, at);
        if let Some(absent) = outcome.untyped.first() {
            return self.absent.push((absent.name.clone(), absent.note.clone()));
        }
        let Some(claim) = outcome.claims.first() else { return };
        let ClaimResult { name, note, .. } = claim;
        let list = match claim.verdict {
            Verdict::Proved if claim.contracts.is_empty() => &mut self.passed,
            Verdict::Proved => {
                let monoids: Vec<String> = module.monoids(at).into_iter().map(|(_, name)| name).collect();
                if !monoids.is_empty() && claim.kind != ClaimKind::Monoid {
                    self.by_laws.push((name.clone(), format!("the laws of {}", monoids.join(", "))));
                }
                return self.add_proved(name, note, books.certificate(module, at));
            }
            Verdict::Tested => &mut self.tested,
            Verdict::Trusted => &mut self.trusted,
            Verdict::Unknown if note.contains(BOUNDED) => &mut self.bounded,
            Verdict::Unknown | Verdict::Vacuous => &mut self.open,
            Verdict::Refuted => &mut self.refuted,
        };
        list.push((name.clone(), note.clone()));
    }

    fn add_proved(&mut self, name: &str, note: &str, filed: Filed) {
        let (list, about) = match filed {
            Filed::Certificate(text) => match text.lines().filter(|l| l.starts_with("question ")).count() {
                0 => (&mut self.without_solver, note.to_string()),
                1 => (&mut self.with_solver, "1 question".to_string()),
                n => (&mut self.with_solver, format!("{n} questions")),
            },
            Filed::Damaged(why) => (&mut self.without_certificate, why),
            Filed::Missing | Filed::NotProved | Filed::NotInLedger => {
                (&mut self.without_certificate, note.to_string())
            }
        };
        list.push((name.to_string(), about));
    }

    fn tell(&self, reporter: &mut Reporter) {
        reporter.result(BASE);
        let solver = format!("proved, by questions to Z3 {}", Z3_VERSION.trim_end_matches('.'));
        let rows = [
            ("proved, with a certificate that asks no solver", &self.without_solver, false),
            (&solver, &self.with_solver, false),
            ("proved, without certificate", &self.without_certificate, true),
            ("of these, resting on laws that are claims", &self.by_laws, false),
            ("proved at some ranks only, else open", &self.bounded, true),
            ("tested only", &self.tested, true),
            ("trusted", &self.trusted, true),
            ("open", &self.open, true),
            ("refuted", &self.refuted, false),
            ("tests that pass", &self.passed, false),
            ("not in the ledger", &self.absent, true),
        ];
        for (what, list, always) in rows {
            reporter.result(&format!("{:5}  {what}", list.len()));
            for (name, about) in list {
                let line = format!("         {name}: {about}");
                if always { reporter.result(&line) } else { reporter.detail(&line) }
            }
        }
    }
}
