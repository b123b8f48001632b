//! `rtv audit`: what the verdicts of the ledgers rest on, and what is said there that was not
//! said at a revision of git.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use rtv_proofs::{BOUNDED, ClaimResult, FROM_RANKS, Module, Verdict};
use rtv_runtime::io::{placeless, reason};
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::program::ClaimKind;
use rtv_smt::Z3_VERSION;
use serde::Serialize;

use crate::ledger::{Books, Difference, Field, Filed, For, NoRevision, Revision, differences};
use crate::project::Project;
use crate::report::Reporter;

/// What every verdict rests on.
const BASE: &str = "trusted base: elaboration, the scalar table, unfolding, the conditions of definedness, \
                    the reference evaluator, the checker of certificates";

/// There is no revision to compare with.
const NO_REVISION: Code = Code(827);

#[derive(Args)]
pub struct Audit {
    /// Files and folders; without any, the project or the current folder
    files: Vec<PathBuf>,
    /// Say instead which claims the ledgers judge otherwise than at this revision of git
    #[arg(long, value_name = "REV")]
    diff: Option<String>,
}

/// What a verdict rests on.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
enum Class {
    /// Proved with a certificate that holds no question to a solver. Checking it may ask some
    /// nevertheless, on sizes or on whether a number is finite.
    WithoutQuestions,
    WithQuestions,
    WithoutCertificate,
    Bounded,
    Tested,
    Trusted,
    Open,
    Refuted,
    Passed,
    NotInLedger,
}

impl Class {
    const ALL: [Class; 10] = [
        Class::WithoutQuestions,
        Class::WithQuestions,
        Class::WithoutCertificate,
        Class::Bounded,
        Class::Tested,
        Class::Trusted,
        Class::Open,
        Class::Refuted,
        Class::Passed,
        Class::NotInLedger,
    ];

    fn text(self) -> String {
        let text = match self {
            Class::WithoutQuestions => "proved, with a certificate that holds no question",
            Class::WithQuestions => {
                return format!("proved, with questions to Z3 {} in the certificate", z3());
            }
            Class::WithoutCertificate => "proved, without certificate",
            Class::Bounded => "proved at some ranks only, else open",
            Class::Tested => "tested only",
            Class::Trusted => "trusted",
            Class::Open => "open",
            Class::Refuted => "refuted",
            Class::Passed => "tests that pass",
            Class::NotInLedger => "not in the ledger",
        };
        text.to_string()
    }

    /// Whether its claims are told one by one.
    fn is_told(self) -> bool {
        !matches!(self, Class::WithoutQuestions | Class::WithQuestions | Class::Refuted | Class::Passed)
    }
}

fn z3() -> &'static str {
    Z3_VERSION.trim_end_matches('.')
}

/// A claim, and what there is to say of it.
#[derive(Serialize)]
struct Audited {
    name: String,
    file: String,
    class: Class,
    note: String,
    /// What its certificate asks the solver, if it has one.
    questions: Option<usize>,
    /// Proved at some ranks, which decide the others.
    from_ranks: bool,
    /// Whose laws, which are claims of their own, its proof uses.
    laws: Vec<String>,
}

impl Audited {
    fn about(&self) -> String {
        match self.questions {
            Some(1) => "1 question".to_string(),
            Some(n) if n > 1 => format!("{n} questions"),
            _ => self.note.clone(),
        }
    }
}

/// How many claims there are of each class, for programs.
#[derive(Serialize)]
struct Sums {
    base: &'static str,
    z3: &'static str,
    claims: BTreeMap<Class, usize>,
}

/// How many claims are judged otherwise, for programs.
#[derive(Serialize)]
struct Changes {
    revision: String,
    changed: usize,
    added: usize,
    removed: usize,
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
        if let Some(revision) = &self.diff {
            match self.compared(&books, revision) {
                Ok((found, commit)) => tell_changes(&found, revision, &commit, reporter),
                Err(fault) => reporter.fault(&fault),
            }
            return;
        }
        let mut all = Vec::new();
        for (module, path) in modules.iter().zip(&paths) {
            let claims = (0..module.items.len()).filter_map(|at| audited(module, at, path, &books));
            all.extend(claims);
        }
        tell(&all, reporter);
    }

    /// What the ledgers say otherwise than at a revision, and its commit.
    fn compared(&self, books: &Books, revision: &str) -> Result<(Vec<Difference>, String), Diagnostic> {
        let (mut found, mut commit) = (Vec::new(), None);
        for (folder, after) in books.by_folder() {
            let missing = |why| no_revision(revision, &why);
            let past = Revision::of(&folder, revision).map_err(missing)?;
            let mut before = past.ledgers().map_err(missing)?;
            before.retain(|path, _| after.contains_key(path) || self.is_meant(&folder, path));
            found.extend(differences(&before, &after));
            commit = Some(past.commit().to_string());
        }
        found.sort();
        let none = || placeless(NO_REVISION, "there is no ledger to compare").help(WITH_LEDGER);
        Ok((found, commit.ok_or_else(none)?))
    }

    /// Whether a ledger is about a file that is named, or below a folder that is.
    fn is_meant(&self, folder: &Path, ledger: &Path) -> bool {
        let source = folder.parent().unwrap_or(folder).join(ledger.with_extension("rtl"));
        let named = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|path| source.starts_with(path));
        self.files.is_empty() || self.files.iter().any(named)
    }
}

const WITH_LEDGER: &str = "a folder `ledger` beside the sources; `rtv check --update-ledger` fills it";

fn no_revision(name: &str, why: &NoRevision) -> Diagnostic {
    let (fact, help) = match why {
        NoRevision::NoGit(why) => (format!("cannot run git: {}", reason(why)), "git has to be installed"),
        NoRevision::NoRepository => (
            "the ledger is in no repository of git".to_string(),
            "`git init` makes one, `git commit` a revision",
        ),
        NoRevision::Unknown => {
            (format!("there is no revision `{name}`"), "a commit, branch or tag of the ledger's repository")
        }
        NoRevision::Unreadable(said) => {
            (format!("cannot read the ledger of `{name}`: {said}"), "`git fsck` tells what is damaged")
        }
    };
    placeless(NO_REVISION, fact).help(help)
}

/// What the verdict on a claim rests on.
fn audited(module: &Module, at: usize, path: &Path, books: &Books) -> Option<Audited> {
    let outcome = books.item(module, at);
    let file = path.display().to_string();
    let of = |claim: &ClaimResult, class| Audited {
        name: claim.name.clone(),
        file: file.clone(),
        class,
        note: claim.note.clone(),
        questions: None,
        from_ranks: claim.verdict == Verdict::Proved && claim.note.starts_with(FROM_RANKS),
        laws: laws(claim, module, at),
    };
    if let Some(absent) = outcome.untyped.first() {
        return Some(of(absent, Class::NotInLedger));
    }
    let claim = outcome.claims.first()?;
    let class = match claim.verdict {
        Verdict::Proved if claim.contracts.is_empty() => Class::Passed,
        Verdict::Proved => return Some(certified(of(claim, Class::WithoutCertificate), module, at, books)),
        Verdict::Tested => Class::Tested,
        Verdict::Trusted => Class::Trusted,
        Verdict::Unknown if claim.note.contains(BOUNDED) => Class::Bounded,
        Verdict::Unknown | Verdict::Vacuous => Class::Open,
        Verdict::Refuted => Class::Refuted,
    };
    Some(of(claim, class))
}

/// The monoids whose laws a proved claim rests on, unless it is about the laws themselves.
fn laws(claim: &ClaimResult, module: &Module, at: usize) -> Vec<String> {
    if claim.verdict != Verdict::Proved || claim.kind == ClaimKind::Monoid {
        return Vec::new();
    }
    module.monoids(at).into_iter().map(|(_, name)| name).collect()
}

/// A proved claim with what its certificate asks.
fn certified(claim: Audited, module: &Module, at: usize, books: &Books) -> Audited {
    match books.certificate(module, at) {
        Filed::Certificate(text) => {
            let questions = text.lines().filter(|line| line.starts_with("question ")).count();
            let class = if questions == 0 { Class::WithoutQuestions } else { Class::WithQuestions };
            Audited { class, questions: Some(questions), ..claim }
        }
        Filed::Damaged(note) => Audited { note, ..claim },
        Filed::Missing | Filed::NotProved | Filed::NotInLedger => claim,
    }
}

fn tell(all: &[Audited], reporter: &mut Reporter) {
    let count = |class: Class| all.iter().filter(|claim| claim.class == class).count();
    let claims = Class::ALL.into_iter().map(|class| (class, count(class))).collect();
    reporter.row("audit", &Sums { base: BASE, z3: z3(), claims }, Some(BASE));
    for class in Class::ALL {
        reporter.text(&format!("{:5}  {}", count(class), class.text()));
        for claim in all.iter().filter(|claim| claim.class == class) {
            let line = format!("         {}: {}", claim.name, claim.about());
            let shown = class.is_told() || reporter.is_verbose();
            reporter.row("audited", claim, shown.then_some(&*line));
        }
        if class == Class::WithoutCertificate {
            tell_part("for any rank by proofs at a few, which suffice", all, reporter, |claim| {
                claim.from_ranks.then(|| claim.note.clone())
            });
            tell_part("resting on laws that are claims", all, reporter, |claim| {
                (!claim.laws.is_empty()).then(|| format!("the laws of {}", claim.laws.join(", ")))
            });
        }
    }
}

/// Those of the proved claims that something is to be said of.
fn tell_part(what: &str, all: &[Audited], reporter: &mut Reporter, say: impl Fn(&Audited) -> Option<String>) {
    let part: Vec<(&str, String)> =
        all.iter().filter_map(|claim| Some((&*claim.name, say(claim)?))).collect();
    reporter.text(&format!("{:5}  of these, {what}", part.len()));
    if reporter.is_verbose() {
        part.iter().for_each(|(name, said)| reporter.text(&format!("         {name}: {said}")));
    }
}

fn tell_changes(found: &[Difference], revision: &str, commit: &str, reporter: &mut Reporter) {
    let count = |change: &str| found.iter().filter(|one| one.change == change).count();
    let [changed, added, removed] = ["changed", "added", "removed"].map(count);
    for one in found {
        let field = |field: &Field| {
            let [before, after] = [&field.before, &field.after].map(|text| text.as_deref().unwrap_or("-"));
            match one.change {
                "changed" => format!("{}: {before} -> {after}", field.field),
                "added" => format!("{}: {after}", field.field),
                _ => format!("{}: {before}", field.field),
            }
        };
        let fields: Vec<String> = one.fields.iter().map(field).collect();
        let line = format!("  {:7}  {} ({}): {}", one.change, one.name, one.ledger, fields.join("; "));
        reporter.row("ledger-change", one, Some(&line));
    }
    let short = commit.get(..10).unwrap_or(commit);
    let line =
        format!("ledger against {revision} ({short}): {changed} changed, {added} added, {removed} removed");
    let changes = Changes { revision: commit.to_string(), changed, added, removed };
    reporter.row("ledger-changes", &changes, Some(&line));
}
