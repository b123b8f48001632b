//! Mistakes in the definitions of operators: what an operator means is held by its tests,
//! by results of PyTorch, or by a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::lower::{Defs, Entry, Library, Origin};
use rtv_grammar::mutate::{Mutant, mutants};
use rtv_grammar::parse;
use rtv_grammar::prelude::{Prelude, Source};
use rtv_grammar::print::print_item;
use rtv_proofs::{Checker, Module, Settings, Stage, Verdict};
use rtv_semantics::diag::FileId;
use rtv_semantics::program::ClaimKind;
use rtv_smt::Budget;

use super::{Share, each};
use crate::folder::{files_below, root};
use crate::golden::record::{FAMILIES, Record, cases};
use crate::golden::run::{Finding, Runner};

/// One mutant of so many is tried when all tests are run.
const SAMPLE: u64 = 8;

/// Mutants that nothing tells from the operator: its file and the change, then the reason
/// if that changes nothing. `RTV_BLESS=1` writes it, with the reasons that it has.
const SURVIVORS: &str = "tests/suite/data/surviving_mutants.txt";

/// Inputs of a rule that is to tell a mutant.
const RULE_SAMPLES: u64 = 60;

/// The operators, one of them changed.
struct Changed {
    library: Arc<Prelude>,
    name: &'static str,
    overloads: Vec<Entry>,
}

impl Library for Changed {
    fn overloads(&self, name: &str) -> Vec<Entry> {
        if name == self.name { self.overloads.clone() } else { self.library.overloads(name) }
    }

    fn names(&self) -> Vec<String> {
        self.library.names()
    }
}

/// An operator with a mistake in one of its overloads.
struct Subject {
    path: &'static str,
    name: &'static str,
    change: String,
    library: Arc<Changed>,
}

/// Who tells a mutant from the operator.
#[derive(Clone, PartialEq, Debug)]
enum Killer {
    /// It does not elaborate, so that it means nothing.
    Types,
    Test(String),
    Golden(String),
    Rule(String),
    Nobody,
}

#[test]
fn a_changed_operator_fails_a_test() {
    let share = Share::asked(SAMPLE);
    let subjects = subjects(&share);
    let evidence = Evidence::load();
    let killers = each(&subjects, checker, |checker, subject| evidence.killer(checker, subject));
    println!("{}", table(&subjects, &killers, &share));
    let name = |subject: &Subject| format!("{} {}", subject.path, subject.change);
    let alive = subjects.iter().zip(&killers).filter(|(_, killer)| **killer == Killer::Nobody);
    let alive: BTreeSet<String> = alive.map(|(subject, _)| name(subject)).collect();
    let taken: BTreeSet<String> = subjects.iter().map(name).collect();
    let known = Survivors::read();
    if std::env::var_os("RTV_BLESS").is_some_and(|v| v == "1") {
        return known.replaced(&taken, &alive, &share).write();
    }
    let silent: Vec<&String> = alive.iter().filter(|name| !known.0.contains_key(*name)).collect();
    assert!(
        silent.is_empty(),
        "nothing tells these from the operator, and {SURVIVORS} lacks them:\n{silent:#?}"
    );
    let told: Vec<&String> = known.0.keys().filter(|n| taken.contains(*n) && !alive.contains(*n)).collect();
    assert!(told.is_empty(), "{SURVIVORS} lists what is told from the operator:\n{told:#?}");
}

/// Runs, and does not prove.
fn checker() -> Checker {
    let settings = Settings {
        stage: Stage::Tests,
        seed: 0,
        samples: RULE_SAMPLES,
        budget: Budget::OBLIGATION,
        timeout: Some(Duration::from_secs(10)),
    };
    Checker::start(settings).expect("the solver starts")
}

fn is_op(item: &Item) -> bool {
    matches!(&item.kind, ItemKind::Def(def) if def.kind == DefKind::Op)
}

fn subjects(share: &Share) -> Vec<Subject> {
    let library = Prelude::shared();
    let of_source = |source: &Source| {
        let (path, name) = (source.path, source.name());
        let ops: Vec<&Arc<Item>> = source.items().iter().filter(|item| is_op(item)).collect();
        let mut found = Vec::new();
        for (number, op) in ops.iter().enumerate() {
            // Overloads are counted where there are several.
            let place = if ops.len() > 1 { format!("#{} ", number + 1) } else { String::new() };
            for mutant in mutants(op).into_iter().filter(|mutant| share.takes(path, &place, mutant)) {
                let Mutant { change, item, .. } = mutant;
                let items = ops.iter().enumerate().map(|(k, op)| match k == number {
                    true => Arc::new(item.clone()),
                    false => (*op).clone(),
                });
                let overloads = items.map(|item| Entry { origin: Origin::Library, item }).collect();
                let library = Arc::new(Changed { library: Prelude::shared(), name, overloads });
                found.push(Subject { path, name, change: format!("{place}{change}"), library });
            }
        }
        found
    };
    library.sources().iter().flat_map(of_source).collect()
}

/// What is known of the operators beside their definitions.
struct Evidence {
    runner: Runner,
    /// The cases that pass, by operator.
    records: BTreeMap<String, Vec<Record>>,
    /// The files of rules.
    rules: Vec<String>,
}

impl Evidence {
    fn load() -> Evidence {
        let runner = Runner::new().expect("the schemas");
        let mut records: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        for record in FAMILIES.iter().flat_map(|family| cases(family).expect("recorded cases")) {
            let names: BTreeSet<String> = runner.operators(&record).map(str::to_string).collect();
            if runner.run(&record) == Ok(Finding::Passed) {
                names.into_iter().for_each(|name| records.entry(name).or_default().push(record.clone()));
            }
        }
        let read = |path| fs::read_to_string(path).expect("a file of the project");
        let rules = files_below(&root().join("proofs/rules"), ".rtl").into_iter().map(read).collect();
        Evidence { runner, records, rules }
    }

    fn killer(&self, checker: &Checker, subject: &Subject) -> Killer {
        let by_test = tested(checker, subject);
        if matches!(by_test, Killer::Test(_) | Killer::Types) {
            return by_test;
        }
        let runner = self.runner.with(subject.library.clone());
        let fails = |record: &&Record| matches!(runner.run(record), Ok(Finding::Failed(_)));
        if let Some(record) = self.records.get(subject.name).into_iter().flatten().find(fails) {
            return Killer::Golden(record.id.clone());
        }
        self.ruled(checker, subject).map_or(Killer::Nobody, Killer::Rule)
    }

    /// The first rule that names the operator and is refuted for what it became.
    fn ruled(&self, checker: &Checker, subject: &Subject) -> Option<String> {
        self.rules.iter().find_map(|text| {
            let (mut module, _) = Module::new(FileId(0), parse(FileId(0), text));
            module.defs = Defs::new(subject.library.clone());
            (0..module.items.len()).find_map(|at| {
                let named = print_item(&module.items[at]).contains(&format!("{}(", subject.name));
                let holds = module.expected[at].verdict == Verdict::Proved;
                if !named || !holds || !module.is_claim(at) {
                    return None;
                }
                let claims = checker.item(&module, at).claims;
                claims.into_iter().find(|c| c.verdict == Verdict::Refuted).map(|c| c.name)
            })
        })
    }
}

/// What the tests of the operator's own file say of a mutant.
fn tested(checker: &Checker, subject: &Subject) -> Killer {
    let source = Prelude::shared().named(subject.name).map(|source| (source.file, source.text));
    let (file, text) = source.expect("invariant: a mutant is one of an operator");
    let mut module = Module::of_library(file, parse(file, text));
    module.defs = Defs::new(subject.library.clone());
    let mut refused = false;
    for (at, item) in module.items.iter().enumerate() {
        let Some((name, Some(ClaimKind::Test))) = rtv_proofs::subject(item) else { continue };
        match checker.item(&module, at).claims.first() {
            None => refused = true,
            Some(claim) if claim.verdict != Verdict::Proved => return Killer::Test(name),
            Some(_) => {}
        }
    }
    if refused { Killer::Types } else { Killer::Nobody }
}

/// The mutants known to survive, each with the reason or an empty text.
struct Survivors(BTreeMap<String, String>);

impl Survivors {
    fn read() -> Survivors {
        let text = fs::read_to_string(root().join(SURVIVORS)).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        // The reason follows the last backquote or word of the change.
        let entry = |line: &str| match line.split_once(" -- ") {
            Some((name, reason)) => (name.to_string(), reason.to_string()),
            None => (line.to_string(), String::new()),
        };
        Survivors(lines.map(entry).collect())
    }

    /// The list after a run that took some mutants; those that are no mutants any more go
    /// when all were taken.
    fn replaced(self, taken: &BTreeSet<String>, alive: &BTreeSet<String>, share: &Share) -> Survivors {
        let Survivors(old) = self;
        let all = |name: &str| matches!(share, Share::Of(part) if name.contains(part.as_str()));
        let mut new: BTreeMap<String, String> = old
            .iter()
            .filter(|(name, _)| !taken.contains(*name) && !all(name))
            .map(|(n, r)| (n.clone(), r.clone()))
            .collect();
        new.extend(alive.iter().map(|name| (name.clone(), old.get(name).cloned().unwrap_or_default())));
        Survivors(new)
    }

    fn write(&self) {
        let line = |(name, reason): (&String, &String)| match reason.as_str() {
            "" => format!("{name}\n"),
            reason => format!("{name} -- {reason}\n"),
        };
        let lines: String = self.0.iter().map(line).collect();
        fs::write(root().join(SURVIVORS), format!("{HEAD}{lines}")).expect("a file of the project");
    }
}

/// What the list says of itself.
const HEAD: &str = "\
# Mistakes in operators that no test, record or rule tells from the operator: the file, what becomes
# what, and after ` -- ` why that changes nothing. Without a reason, a test is missing.
";

fn table(subjects: &[Subject], killers: &[Killer], share: &Share) -> String {
    let mut rows: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for (subject, killer) in subjects.iter().zip(killers) {
        let column = match killer {
            Killer::Types => 0,
            Killer::Test(_) => 1,
            Killer::Golden(_) => 2,
            Killer::Rule(_) => 3,
            Killer::Nobody => 4,
        };
        rows.entry(subject.path).or_default()[column] += 1;
    }
    let mut text = format!("{:<32}refused   test  golden   rule  nobody\n", "operator");
    let line = |name: &str, [types, test, golden, rule, nobody]: [usize; 5]| {
        format!("{name:<32}{types:>7}{test:>7}{golden:>8}{rule:>7}{nobody:>8}\n")
    };
    let mut total = [0; 5];
    for (path, counts) in &rows {
        (0..5).for_each(|k| total[k] += counts[k]);
        if !share.is_sample() {
            text += &line(path, *counts);
        }
    }
    text += &line("all", total);
    if !share.is_sample() {
        let few =
            rows.iter().filter(|(_, counts)| counts[1..].iter().sum::<usize>() < 6).map(|(path, _)| *path);
        let _ =
            writeln!(text, "\noperators with fewer than six mutants: {}", few.collect::<Vec<_>>().join(" "));
    }
    text
}
