//! `rtv verify-cert`: certificates checked again by the independent checker.

pub mod derivation;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::Args;
use rtv_proofs::{Certificate, Checker, Module, Stage, Tally, Worth, derived, subject};
use rtv_runtime::io::{placeless, reason};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use serde::Serialize;

use super::STACK_BYTES;
use super::effort::Effort;
use crate::ledger::{Books, Filed, For};
use crate::project::{Project, SourceMap};
use crate::report::Reporter;
use crate::second::Second;

/// A certificate is not accepted.
const REJECTED: Code = Code(825);

/// The second solver gives no answers, or wrong ones.
const NO_SECOND: Code = Code(826);

/// The ending of a certificate on its own.
const ENDING: &str = "cert";

#[derive(Args)]
pub struct VerifyCert {
    /// Files and folders whose ledgers name the certificates, `.cert` files and folders of
    /// them, of which the steps alone are looked at, or, of an optimization, what it names as well; without any,
    /// the project or the current folder
    files: Vec<PathBuf>,
    /// Ask this program too: it reads SMT-LIB on its input, as `cvc5 --incremental` does
    #[arg(long, value_name = "COMMAND")]
    second_solver: Option<String>,
    #[command(flatten)]
    effort: Effort,
}

/// What became of the certificates.
#[derive(Default)]
struct Found {
    looked_at: Vec<LookedAt>,
    /// Of which the ledger says nothing.
    absent: usize,
}

/// A claim that is proved, or a certificate on its own, and what became of it.
struct LookedAt {
    name: String,
    what: What,
    /// Nothing for what is proved without a certificate.
    worth: Option<Worth>,
}

/// What a certificate is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A claim, whose steps are there alone.
    Steps,
    Optimization,
    /// The claim at a place of a file.
    Claim(usize, usize),
}

impl Found {
    fn add(&mut self, name: &str, what: What, worth: Option<Worth>) {
        self.looked_at.push(LookedAt { name: name.to_string(), what, worth });
    }
}

/// One certificate, for programs.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    file: Option<String>,
    /// `accepted`, `rejected`, or `missing` where the claim is proved without one.
    verdict: &'static str,
    why: Option<&'a str>,
    questions: usize,
}

/// All of them, for programs.
#[derive(Serialize, Default)]
struct Sums {
    accepted: usize,
    rejected: usize,
    missing: usize,
    not_in_ledger: usize,
    questions: usize,
    /// What the second solver says of the questions, if there is one.
    second_solver: Option<Answers>,
}

#[derive(Serialize, Default)]
struct Answers {
    agreed: usize,
    open: usize,
    disagreed: usize,
}

impl VerifyCert {
    pub fn run(&self, reporter: &mut Reporter) {
        if let Some(mut second) = self.second()
            && !second.answers()
        {
            let command = self.second_solver.as_deref().unwrap_or_default();
            let fact = format!("`{command}` does not answer as a solver does");
            let help = "a program that reads SMT-LIB on its input, such as `cvc5 --incremental`";
            return reporter.fault(&placeless(NO_SECOND, fact).help(help));
        }
        let named: Vec<PathBuf> = self.files.iter().flat_map(certificates_in).collect();
        let (alone, sources): (Vec<PathBuf>, Vec<PathBuf>) =
            named.into_iter().partition(|path| is_alone(path));
        let mut found = Found::default();
        alone.iter().for_each(|path| self.alone(path, &mut found));
        let mut project_sources = SourceMap::default();
        let mut modules = Vec::new();
        if alone.is_empty() || !sources.is_empty() {
            let (mut project, faults) = Project::load(&sources);
            faults.iter().for_each(|fault| reporter.diagnostic(&project.sources, fault));
            let mut paths = Vec::new();
            for unit in std::mem::take(&mut project.units) {
                modules.push(Module::new(unit.file, unit.parsed).0);
                paths.push(unit.path);
            }
            project_sources = project.sources;
            let files = modules.iter().map(|module| module.file).zip(paths.iter().map(PathBuf::as_path));
            let (books, faults) = Books::open(files, For::Reading);
            faults.iter().for_each(|fault| reporter.fault(fault));
            found = self.filed(&modules, &books, found);
        }
        self.report(found, &modules, &project_sources, reporter);
    }

    /// Steps alone: what they are about is not looked at, unless they say where it is.
    fn alone(&self, path: &Path, found: &mut Found) {
        let (checker, mut second) = (self.checker(), self.second());
        let (what, worth) = match fs::read_to_string(path) {
            Err(why) => (What::Steps, Worth::Rejected(reason(&why))),
            Ok(text) if derived::Certificate::begins(&text) => {
                let checked = derivation::checked(&text, &checker, &self.effort.limits(), second.as_mut());
                (What::Optimization, checked.map_or_else(Worth::Rejected, Worth::Accepted))
            }
            Ok(text) => {
                let worth = match Certificate::read(&text) {
                    Err(line) => Worth::Rejected(format!("line {line} cannot be read")),
                    Ok(certificate) => {
                        checker.steps_of(&certificate, second.as_mut().map(|second| second as _))
                    }
                };
                (What::Steps, worth)
            }
        };
        found.add(&path.display().to_string(), what, Some(worth));
    }

    /// Every certificate that the ledgers name, side by side.
    fn filed(&self, modules: &[Module], books: &Books, found: Found) -> Found {
        let places: Vec<(usize, usize)> = modules
            .iter()
            .enumerate()
            .flat_map(|(file, module)| (0..module.items.len()).map(move |at| (file, at)))
            .collect();
        let (next, found) = (AtomicUsize::new(0), Mutex::new(found));
        let pool = self.effort.pool();
        let work = || {
            let checker = self.effort.checker(Stage::Proofs, pool.clone(), Box::new(|_| {}));
            let mut second = self.second();
            while let Some(&(file, at)) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                let module = &modules[file];
                let Some((name, _)) = subject(&module.items[at]) else { continue };
                let worth = match books.certificate(module, at) {
                    Filed::NotProved => continue,
                    Filed::NotInLedger => {
                        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                        found.absent += usize::from(module.is_claim(at));
                        continue;
                    }
                    Filed::Missing => None,
                    Filed::Damaged(why) => Some(Worth::Rejected(why)),
                    Filed::Certificate(text) => Some(match Certificate::read(&text) {
                        Err(line) => Worth::Rejected(format!("line {line} cannot be read")),
                        Ok(certificate) => {
                            let second = second.as_mut().map(|second| second as _);
                            checker.verify(module, at, &certificate, second)
                        }
                    }),
                };
                found.lock().unwrap_or_else(PoisonError::into_inner).add(&name, What::Claim(file, at), worth);
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                let started = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
                started.expect("invariant: the system can start a thread");
            }
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn checker(&self) -> Checker {
        self.effort.checker(Stage::Proofs, self.effort.pool(), Box::new(|_| {}))
    }

    fn second(&self) -> Option<Second> {
        self.second_solver.as_deref().map(Second::new)
    }

    fn report(&self, mut found: Found, modules: &[Module], sources: &SourceMap, reporter: &mut Reporter) {
        found.looked_at.sort_by(|a, b| (&a.name, a.what).cmp(&(&b.name, b.what)));
        let mut sums = Sums { not_in_ledger: found.absent, ..Sums::default() };
        let mut said = Tally::default();
        for LookedAt { name, what, worth } in &found.looked_at {
            let span = match what {
                What::Claim(file, at) => Some(modules[*file].items[*at].span),
                What::Steps | What::Optimization => None,
            };
            let file = span.and_then(|span| sources.place(span)).map(|place| place.file);
            let row = |verdict, why, questions| Row { name, file: file.clone(), verdict, why, questions };
            match worth {
                Some(Worth::Accepted(tally)) => {
                    sums.accepted += 1;
                    said.questions += tally.questions;
                    said.agreed += tally.agreed;
                    said.open += tally.open;
                    said.disagreed += tally.disagreed;
                    reporter.row("certificate", &row("accepted", None, tally.questions), None);
                }
                None => {
                    sums.missing += 1;
                    let text = format!("  without certificate: {name}");
                    let shown = reporter.is_verbose().then_some(&*text);
                    reporter.row("certificate", &row("missing", None, 0), shown);
                }
                Some(Worth::Rejected(why)) => {
                    sums.rejected += 1;
                    reporter.row("certificate", &row("rejected", Some(why), 0), None);
                    reporter.diagnostic(sources, &rejected(name, *what, span, why));
                }
            }
        }
        let Tally { questions, agreed, open, disagreed } = said;
        sums.questions = questions;
        sums.second_solver = self.second_solver.is_some().then_some(Answers { agreed, open, disagreed });
        reporter.row("certificates", &sums, Some(&sums.text()));
    }
}

impl Sums {
    fn text(&self) -> String {
        let second = match &self.second_solver {
            None => String::new(),
            Some(Answers { agreed, open, disagreed }) => {
                format!(" (second solver: {agreed} agreed, {open} open, {disagreed} disagreed)")
            }
        };
        let Sums { accepted, rejected, missing, not_in_ledger, questions, .. } = self;
        format!(
            "certificates: {accepted} accepted, {rejected} rejected; proved without one: {missing}; not in \
             the ledger: {not_in_ledger}; questions to the solver: {questions}{second}"
        )
    }
}

fn rejected(name: &str, what: What, span: Option<Span>, why: &str) -> Diagnostic {
    let fact = format!("the certificate of `{name}` is not accepted: {why}");
    let help = match what {
        What::Optimization => "the program that it is about, and the rules, are to be as they were",
        What::Steps | What::Claim(..) => {
            "`rtv check FILE --update-ledger` proves the claim anew and writes its certificate"
        }
    };
    let fault = match span {
        Some(span) => Diagnostic::error(REJECTED, span, fact),
        None => placeless(REJECTED, fact),
    };
    fault.help(help)
}

/// Whether a file is a certificate on its own, by its name or by how it begins.
fn is_alone(path: &Path) -> bool {
    let is_named_so = |wanted: &str| path.extension().is_some_and(|ending| ending == wanted);
    let begins_so = || {
        let text = fs::read_to_string(path).unwrap_or_default();
        Certificate::begins(&text) || derived::Certificate::begins(&text)
    };
    is_named_so(ENDING) || (!is_named_so("rtl") && begins_so())
}

/// The certificates in a folder of them; else the path itself.
fn certificates_in(path: &PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        entries.filter(|file| file.extension().is_some_and(|ending| ending == ENDING)).collect();
    found.sort();
    if found.is_empty() { vec![path.clone()] } else { found }
}
