//! The rules that the optimizer may use: claims that a ledger calls proved as they stand now.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rtv_egraph::{Prepared, Present, Rule};
use rtv_grammar::ast::{Arrow, DefKind, Item, ItemKind};
use rtv_grammar::lower::{Choice, Ranks};
use rtv_grammar::print::print_expr;
use rtv_proofs::derived::{Proved, Subject};
use rtv_proofs::{
    Applied, Checker, Kind, Module, kinds_taken, rule_choices, rule_claim, subject, surely_applied,
};
use rtv_semantics::diag::{Diagnostic, FileId};
use rtv_semantics::dtype::DType;
use rtv_semantics::guess::{Guessing, Remembering};
use rtv_semantics::program::{ClaimKind, Mode};

use crate::ledger::{Book, Books, For, Line};
use crate::project::Project;

use super::threads::on_two_threads;

/// Path, text and ledger of each file of rules.
const SHIPPED: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// Operators whose values or arguments grow faster than any power.
const EXPONENTIAL: [&str; 8] =
    ["exp", "exp2", "expm1", "softmax", "log_softmax", "logsumexp", "sinh", "cosh"];

/// Elaborated claims that are kept, a hundred KiB or so each.
const KEPT: usize = 8_000;

/// Files of rules, and what their ledgers say.
#[derive(Default)]
pub struct RuleBook {
    files: Vec<Module>,
    stated: Vec<Stated>,
    /// The names of what is stated.
    names: HashSet<String>,
    /// What was elaborated of late, by file and place in it.
    elaborated: Mutex<HashMap<At, Option<Arc<Prepared>>>>,
    /// Of elaboration.
    engine: Remembering<Guessing>,
}

/// A rule by file and place in it, at a choice of dtypes and ranks.
type At = (usize, usize, Vec<(Arc<str>, DType)>, Ranks);

/// A rule that is stated, by file and place in it.
pub struct Stated {
    file: usize,
    at: usize,
    pub name: String,
    /// `FILE:LINE`.
    pub place: String,
    /// The mode in which the ledger knows it; empty where it does not.
    pub mode: &'static str,
    /// Floats of ordinary numbers make NaNs of one side alone.
    pub fragile: bool,
    pub standing: Standing,
    /// The operators that each side surely applies.
    surely: [Applied; 2],
    both_ways: bool,
}

impl Stated {
    /// Whether it holds in a mode, as far as the ledger says its own.
    fn is_within(&self, upto: Mode) -> bool {
        let weaker = |mode: &Mode| strength(*mode) > strength(upto);
        ![Mode::Reassoc, Mode::Real].iter().filter(|mode| weaker(mode)).any(|mode| mode.name() == self.mode)
    }

    /// Whether one side may stand in a graph, by the operators that it surely applies and by what to: parameters, as
    /// far as their kinds are known, and results of operators.
    fn may_stand(&self, present: &Present, kinds: &BTreeMap<String, Kind>) -> bool {
        let is_there = |side: &Applied| {
            side.iter().all(|(name, operands)| {
                let Some(present) = present.operators.get(name) else { return false };
                operands.operators.is_subset(&present.operators)
                    && operands
                        .params
                        .iter()
                        .all(|param| kinds.get(param).is_none_or(|kind| present.kinds.contains(kind)))
            })
        };
        let [left, right] = &self.surely;
        is_there(left) || self.both_ways && is_there(right)
    }
}

/// What a ledger says of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    Proved,
    /// Another verdict, by its word.
    Not(String),
    /// It is about a claim of another text, or there is none.
    NotInLedger,
    /// Another rule before it has its name, and a derivation tells rules by their names.
    NameTaken,
}

impl Standing {
    /// The verdict in a word.
    pub fn word(&self) -> &str {
        match self {
            Standing::Proved => "proved",
            Standing::Not(verdict) => verdict,
            Standing::NotInLedger | Standing::NameTaken => "unknown",
        }
    }
}

/// What of the rules is asked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub upto: Mode,
    pub dtypes: BTreeSet<DType>,
    /// The most axes that a value has.
    pub rank: usize,
}

impl RuleBook {
    /// The rules that come with rtv.
    ///
    /// # Panics
    /// If one of their files does not parse: a test has looked at them.
    pub fn shipped() -> RuleBook {
        let files = on_two_threads(SHIPPED, |(path, text, ledger)| {
            let (known, _) = Book::read(ledger);
            let file = FileId(0);
            let (module, faults) = Module::new(file, rtv_grammar::parse(file, text));
            assert!(!faults.iter().any(Diagnostic::is_error), "{path}: {faults:?}");
            let stated = all_stated(&module, path, text, Some(&known));
            (module, stated)
        });
        let mut book = RuleBook::default();
        files.into_iter().for_each(|(module, stated)| book.add(module, stated));
        book
    }

    /// The rules of these files and folders, by the ledgers of their project.
    pub fn of(paths: &[PathBuf]) -> (RuleBook, Project, Vec<Diagnostic>) {
        let (mut project, mut faults) = Project::load(paths);
        let units = std::mem::take(&mut project.units);
        let files = units.iter().map(|unit| (unit.file, unit.path.as_path()));
        let (books, wrong) = Books::open(files, For::Reading);
        faults.extend(wrong);
        let mut book = RuleBook::default();
        for unit in units {
            let text =
                project.sources.get(unit.file).map_or(String::new(), |source| source.shown.to_string());
            let (module, names) = Module::new(unit.file, unit.parsed);
            faults.extend(names);
            let path = unit.path.display().to_string();
            let known = books.book(module.file);
            let stated = all_stated(&module, &path, &text, known);
            book.add(module, stated);
        }
        (book, project, faults)
    }

    /// Takes up what a file states.
    fn add(&mut self, module: Module, stated: Vec<Stated>) {
        let file = self.files.len();
        for stated in stated {
            let is_first = self.names.insert(stated.name.clone());
            let standing = if is_first { stated.standing } else { Standing::NameTaken };
            self.stated.push(Stated { file, standing, ..stated });
        }
        self.files.push(module);
    }

    /// Every rule that is stated, in the order of the files.
    pub fn stated(&self) -> &[Stated] {
        &self.stated
    }

    /// Those of these rules with which floats may overflow: the ones about exponentials, or without such all that are
    /// not exact.
    pub fn to_blame<'r>(&self, rules: impl Iterator<Item = &'r Arc<str>>) -> Vec<Arc<str>> {
        let used: BTreeSet<&str> = rules.map(|rule| &**rule).collect();
        let used: Vec<&Stated> =
            self.stated.iter().filter(|stated| used.contains(stated.name.as_str())).collect();
        let exponential = |stated: &&&Stated| {
            stated.surely.iter().flat_map(Applied::keys).any(|name| EXPONENTIAL.contains(&name.as_str()))
        };
        let names =
            |some: Vec<&&Stated>| some.into_iter().map(|stated| stated.name.as_str().into()).collect();
        let found: Vec<&&Stated> = used.iter().filter(exponential).collect();
        match found.is_empty() {
            false => names(found),
            true => names(used.iter().filter(|stated| stated.mode != Mode::Exact.name()).collect()),
        }
    }

    /// Whether a rule holds in a mode, as far as the ledger says its own.
    pub fn is_within(&self, name: &str, upto: Mode) -> bool {
        self.stated.iter().any(|stated| stated.name == name && stated.is_within(upto))
    }

    /// What a rule states, in one line.
    pub fn statement(&self, name: &str) -> Option<String> {
        let stated = self.stated.iter().find(|stated| stated.name == name)?;
        statement(&self.files[stated.file].items[stated.at])
    }

    /// The rules that are not used, and why.
    pub fn not_proved(&self) -> impl Iterator<Item = (&Stated, String)> {
        self.stated.iter().filter_map(|stated| match &stated.standing {
            Standing::Proved => None,
            Standing::Not(verdict) => Some((stated, format!("the ledger calls it {verdict}"))),
            Standing::NotInLedger => Some((stated, "the ledger does not know it as it is now".to_string())),
            Standing::NameTaken => Some((stated, "another rule has its name".to_string())),
        })
    }

    /// Every rule, as a certificate names it.
    pub fn subjects(&self) -> impl Iterator<Item = Subject> {
        self.stated.iter().map(|stated| {
            let file = stated.place.rsplit_once(':').map_or("", |(file, _)| file).to_string();
            Subject { name: stated.name.clone(), file, key: self.files[stated.file].content_key(stated.at) }
        })
    }

    /// The proved rule that a certificate names, if it is as it was.
    pub fn proved_as(&self, subject: &Subject) -> Option<(&Module, usize)> {
        let proved = self.stated.iter().filter(|stated| stated.standing == Standing::Proved);
        let mut named = proved.filter(|stated| stated.name == subject.name).map(|stated| self.item(stated));
        named.find(|(module, at)| module.content_key(*at) == subject.key)
    }

    /// The proved rules, for who checks derivations.
    pub fn proved<'b>(&'b self, checker: &'b Checker) -> Proved<'b> {
        let mut proved = Proved::by(checker);
        for stated in self.stated.iter().filter(|stated| stated.standing == Standing::Proved) {
            proved.admit(&self.files[stated.file], stated.at);
        }
        proved
    }

    /// The module of a rule and its place there.
    fn item(&self, stated: &Stated) -> (&Module, usize) {
        (&self.files[stated.file], stated.at)
    }

    /// Gives the proved rules within a mode that may stand in a graph, at the choices of dtypes and ranks at which
    /// they may, each once; none of those that are fragile.
    pub fn giver<'b>(&'b self, wanted: &'b Wanted) -> impl FnMut(&Present) -> Vec<Rule> + 'b {
        let usable = |stated: &&Stated| {
            stated.standing == Standing::Proved && !stated.fragile && stated.is_within(wanted.upto)
        };
        let mut open: Vec<(&Stated, Option<Vec<Choice>>)> =
            self.stated.iter().filter(usable).map(|stated| (stated, None)).collect();
        move |present| {
            let mut now = Vec::new();
            open.retain_mut(|(stated, choices)| {
                if !stated.may_stand(present, &BTreeMap::new()) {
                    return true;
                }
                let (module, at) = self.item(stated);
                let choices =
                    choices.get_or_insert_with(|| rule_choices(module, at, &wanted.dtypes, wanted.rank));
                let may_stand = |choice: &mut Choice| {
                    let kinds = kinds_taken(module, at, choice);
                    kinds.values().all(|kind| present.kinds.contains(kind))
                        && stated.may_stand(present, &kinds)
                };
                let given: Vec<Choice> = choices.extract_if(.., may_stand).collect();
                if !given.is_empty() {
                    now.push((*stated, given));
                }
                !choices.is_empty()
            });
            self.elaborated(&now, wanted.upto)
        }
    }

    /// The rules at choices.
    fn elaborated(&self, given: &[(&Stated, Vec<Choice>)], upto: Mode) -> Vec<Rule> {
        let rules = on_two_threads(given, |(stated, choices)| self.rule(stated, choices, upto));
        rules.into_iter().flatten().collect()
    }

    fn rule(&self, stated: &Stated, choices: &[Choice], upto: Mode) -> Option<Rule> {
        let claims: Vec<Arc<Prepared>> =
            choices.iter().filter_map(|choice| self.claim(stated, choice)).collect();
        let mode = claims.first()?.claim.mode;
        let within = strength(mode)? <= strength(upto)?;
        let (name, place) = (Arc::from(stated.name.as_str()), stated.place.clone());
        within.then_some(Rule { name, place, mode, claims })
    }
}

impl RuleBook {
    /// The claim of a rule at a choice, which is kept for some time.
    fn claim(&self, stated: &Stated, choice: &Choice) -> Option<Arc<Prepared>> {
        let key = (stated.file, stated.at, choice.dtypes.clone(), choice.ranks);
        let known = || self.elaborated.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claim) = known().get(&key) {
            return claim.clone();
        }
        let (module, at) = self.item(stated);
        let claim = rule_claim(module, at, choice, &self.engine);
        let claim = claim.map(|claim| Arc::new(Prepared::new(claim)));
        let mut known = known();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, claim.clone());
        claim
    }
}

/// The rules that a module states, by what a ledger knows of them: those of one file, whatever others state.
fn all_stated(module: &Module, path: &str, text: &str, known: Option<&Book>) -> Vec<Stated> {
    let stated = |(at, item): (usize, &Item)| {
        let (name, Some(kind @ (ClaimKind::Rule | ClaimKind::Decomp))) = subject(item)? else { return None };
        let before = &text[..(item.span.lo as usize).min(text.len())];
        let place = format!("{path}:{}", before.matches('\n').count() + 1);
        let line = known.and_then(|known| known.get(&(name.clone(), kind.name())));
        let line = line.filter(|line| line.key == module.content_key(at));
        let standing = match line {
            Some(line) if line.is_proved() => Standing::Proved,
            Some(line) => Standing::Not(line.verdict_word().to_string()),
            None => Standing::NotInLedger,
        };
        let (mode, fragile) = (line.map_or("", Line::mode), line.is_some_and(Line::is_fragile));
        let both_ways = matches!(&item.kind, ItemKind::Rule(rule) if rule.arrow == Arrow::Both);
        let surely = surely_applied(module, at);
        Some(Stated { file: 0, at, name, place, mode, fragile, standing, surely, both_ways })
    };
    module.items.iter().enumerate().filter_map(stated).collect()
}

/// Modes by what they let differ; nothing for those that are only tested.
fn strength(mode: Mode) -> Option<u8> {
    match mode {
        Mode::Exact => Some(0),
        Mode::Reassoc => Some(1),
        Mode::Real => Some(2),
        Mode::Close { .. } => None,
    }
}

/// `lhs => rhs` of a rule, in one line.
pub fn statement(item: &Item) -> Option<String> {
    match &item.kind {
        ItemKind::Rule(rule) => {
            let arrow = if rule.arrow == Arrow::Both { "<=>" } else { "=>" };
            let side = |expr| print_expr(expr).split_whitespace().collect::<Vec<_>>().join(" ");
            Some(format!("{} {arrow} {}", side(&rule.lhs), side(&rule.rhs)))
        }
        ItemKind::Def(def) if matches!(def.kind, DefKind::Decomp { .. }) => {
            Some(format!("the decomposition of {}", def.name.parts.last()?.name))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtv_semantics::subst::Fresh;

    #[test]
    fn a_rule_may_stand_where_one_of_its_sides_does() {
        let book = RuleBook::shipped();
        let wanted = (BTreeSet::from([DType::F32, DType::I64, DType::Bool]), 4);
        let each = |stated: &Stated| {
            let (module, at) = book.item(stated);
            let mut sides_met = 0;
            for choice in rule_choices(module, at, &wanted.0, wanted.1) {
                let Some(claim) = rule_claim(module, at, &choice, &book.engine) else { continue };
                let kinds = kinds_taken(module, at, &choice);
                let sides = [Some(&claim.lhs), stated.both_ways.then_some(&claim.rhs)];
                for side in sides.into_iter().flatten() {
                    let present = Present::of(side, &mut Fresh::above([side]));
                    assert!(stated.may_stand(&present, &kinds), "{}: {present:?}", stated.name);
                    sides_met += 1;
                }
            }
            sides_met
        };
        let met: usize = on_two_threads(book.stated(), each).into_iter().sum();
        assert!(met > 5_000, "{met}");
    }
}
