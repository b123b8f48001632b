//! Certificates of optimizations: the program and the rules are those of the files that are named in
//! them, as they are now, or rules that come with rtv where there are no such files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rtv_proofs::derived::{Certificate, Proved, Subject, compare};
use rtv_proofs::{Checker, Deadline, Module, Tally, subject};
use rtv_semantics::derivation::{Derivation, in_lets};
use rtv_semantics::diag::Diagnostic;
use rtv_semantics::program::{Function, Mode};
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::Term;

use crate::ledger::{Books, Filed, For, Limits};
use crate::optimize::{RuleBook, statement};
use crate::project::Project;
use crate::second::Second;

/// The time at most for running both programs side by side.
const COMPARING: Duration = Duration::from_secs(5);

/// What a certificate is about, as it is now.
pub struct Opened<'a, 'c> {
    pub certificate: &'a Certificate,
    pub source: &'a Function,
    pub derivation: &'a Derivation,
    pub rules: &'a mut Proved<'c>,
    /// What each rule states.
    pub statements: &'a BTreeMap<String, String>,
}

/// Goes through such a certificate, and runs the program beside what it became.
///
/// # Errors
/// Why it is not accepted.
pub fn checked(
    text: &str,
    checker: &Checker,
    limits: &Limits,
    second: Option<&mut Second>,
) -> Result<Tally, String> {
    open(text, checker, |Opened { certificate, source, derivation, rules, .. }| {
        let (name, mode) = (&certificate.source.name, certificate.mode);
        let second = second.map(|second| second as _);
        let became = checker.derived(source, mode, derivation, rules, second);
        let became = became.map_err(|refused| refused.to_string())?;
        // What is shared is written once, and so run once.
        let mut fresh = Fresh::above([&became.term]).and_above(&source.facts);
        let result = in_lets(&became.term, &mut fresh);
        let time = Duration::from_millis(limits.timeout_ms).min(COMPARING);
        let alike = |source: &Function, result: &Term, mode| {
            let deadline = Deadline::after(Some(time));
            let compared = compare(source, result, mode, limits.samples, limits.seed, &deadline);
            compared.map_err(|found| {
                format!("what `{name}` became is not `{name}`: {}", found.lines().join("; "))
            })
        };
        alike(source, &result, mode)?;
        if let Some(rounded) = &became.rounded {
            alike(&Function { body: result, ..source.clone() }, rounded, Mode::Exact)?;
        }
        Ok(became.tally)
    })
}

/// Reads a certificate, and looks up what it names.
///
/// # Errors
/// What cannot be read, is not there, or is not as it was; or what `then` makes of it.
pub fn open<T>(
    text: &str,
    checker: &Checker,
    then: impl FnOnce(Opened<'_, '_>) -> Result<T, String>,
) -> Result<T, String> {
    let certificate = Certificate::read(text).map_err(|line| format!("line {line} cannot be read"))?;
    let shipped = RuleBook::shipped();
    let (own, others): (Vec<&Subject>, Vec<&Subject>) =
        certificate.rules.iter().partition(|rule| Path::new(&rule.file).exists());
    let files = Files::of(own.iter().copied().chain([&certificate.source]))?;
    let mut admitted: Vec<(&Subject, &Module, usize)> = Vec::new();
    for rule in others {
        let known = shipped.proved_as(rule);
        let (module, at) =
            known.ok_or(format!("no rule `{}` that is proved comes with rtv as it was", rule.name))?;
        admitted.push((rule, module, at));
    }
    for rule in own {
        let (module, at) = files.find(rule)?;
        match files.books.certificate(module, at) {
            Filed::Certificate(_) | Filed::Missing => admitted.push((rule, module, at)),
            Filed::NotProved => return Err(format!("the rule `{}` is not proved", rule.name)),
            Filed::NotInLedger => {
                return Err(format!("no ledger says that the rule `{}` is proved as it is now", rule.name));
            }
            Filed::Damaged(why) => return Err(format!("the proof of the rule `{}`: {why}", rule.name)),
        }
    }
    let (mut rules, mut statements) = (Proved::by(checker), BTreeMap::new());
    for (rule, module, at) in admitted {
        rules.admit(module, at);
        statements.extend(statement(&module.items[at]).map(|text| (rule.name.clone(), text)));
    }
    let (module, at) = files.find(&certificate.source)?;
    let source = checker.function(module, at, &certificate.dtypes, certificate.rank);
    let name = &certificate.source.name;
    let source = source.ok_or_else(|| format!("`{name}` is no function with these dtypes and axes"))?;
    let derivation = certificate.derivation(&source).map_err(|fault| fault.to_string())?;
    let (certificate, rules) = (&certificate, &mut rules);
    then(Opened { certificate, source: &source, derivation: &derivation, rules, statements: &statements })
}

/// The files that a certificate names, and their ledgers.
struct Files {
    modules: Vec<(PathBuf, Module)>,
    books: Books,
}

impl Files {
    fn of<'s>(subjects: impl Iterator<Item = &'s Subject>) -> Result<Files, String> {
        let named: BTreeSet<PathBuf> = subjects.map(|subject| PathBuf::from(&subject.file)).collect();
        let (project, faults) = Project::load(&named.into_iter().collect::<Vec<_>>());
        if let Some(fault) = faults.iter().find(|fault| fault.is_error()) {
            return Err(fault.message.clone());
        }
        let mut modules = Vec::new();
        for unit in project.units {
            let (module, faults) = Module::new(unit.file, unit.parsed);
            if let Some(fault) = faults.into_iter().find(Diagnostic::is_error) {
                return Err(fault.message);
            }
            modules.push((unit.path, module));
        }
        let files = modules.iter().map(|(path, module)| (module.file, path.as_path()));
        let (books, faults) = Books::open(files, For::Reading);
        match faults.into_iter().next() {
            Some(fault) => Err(fault.message),
            None => Ok(Files { modules, books }),
        }
    }

    /// The item that is meant, if it is as it was.
    fn find(&self, wanted: &Subject) -> Result<(&Module, usize), String> {
        let Subject { name, file, key } = wanted;
        let is_there = |(path, _): &&(PathBuf, Module)| is_same(path, Path::new(file));
        let (_, module) = self.modules.iter().find(is_there).ok_or(format!("`{file}` is no source file"))?;
        let mut named = (0..module.items.len())
            .filter(|at| subject(&module.items[*at]).is_some_and(|(known, _)| known == *name))
            .peekable();
        if named.peek().is_none() {
            return Err(format!("there is no `{name}` in `{file}`"));
        }
        let at = named.find(|at| module.content_key(*at) == *key);
        let at = at.ok_or(format!("`{name}` in `{file}`, or what it rests on, is not as it was"))?;
        Ok((module, at))
    }
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}
