//! Mistakes in the definitions of operators: what an operator means is held by its tests,
//! by results of PyTorch, or by a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rtv::conform::golden::record::{FAMILIES, Record, cases};
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::lower::{Defs, Entry, Library, Origin};
use rtv_grammar::mutate::{Mutant, mutants};
use rtv_grammar::parse;
use rtv_grammar::prelude::{Prelude, Source};
use rtv_grammar::print::print_item;
use rtv_proofs::{Checker, Module, Settings, Stage, Verdict};
use rtv_semantics::diag::FileId;
use rtv_smt::Budget;

use super::{Share, each};
use crate::folder::{files_below, root};
use crate::golden::folder;
use crate::golden::run::{Finding, Runner};

/// One mutant of so many is tried when all tests are run.
const SAMPLE: u64 = 8;

/// Mutants that nothing tells from the operator: its file and the change, then the reason
/// why that changes nothing. `RTV_BLESS=1` writes it, with the reasons that it has.
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
    file: FileId,
    /// Of its file, with the tests.
    text: &'static str,
    change: String,
    library: Arc<Changed>,
}

/// Who tells a mutant from the operator, in the order in which they are asked.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Killer {
    /// A test of its file that does not elaborate any more.
    Types,
    /// A test of its file that fails.
    Test,
    /// A result of PyTorch.
    Record,
    Rule,
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
    let found = known.replaced(&taken, &alive, &share);
    if std::env::var_os("RTV_BLESS").is_some_and(|v| v == "1") {
        return found.write();
    }
    let lacks = found.without(&known);
    assert!(
        lacks.is_empty(),
        "nothing tells these from the operator, and {SURVIVORS} lacks them:\n{lacks:#?}"
    );
    let unexplained: Vec<&String> =
        known.0.iter().filter(|(_, reason)| reason.is_empty()).map(|(name, _)| name).collect();
    assert!(
        unexplained.is_empty(),
        "these lack a test, or the reason why they change nothing:\n{unexplained:#?}"
    );
    let told = known.without(&found);
    assert!(told.is_empty(), "{SURVIVORS} lists what is told from the operator, or is no mutant:\n{told:#?}");
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
        let &Source { path, text, file, .. } = source;
        let name = source.name();
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
                let change = format!("{place}{change}");
                found.push(Subject { path, name, file, text, change, library });
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
        for record in FAMILIES.iter().flat_map(|family| cases(&folder(), family).expect("recorded cases")) {
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
        tested(checker, subject).unwrap_or_else(|| {
            if self.recorded(subject) {
                Killer::Record
            } else if self.ruled(checker, subject) {
                Killer::Rule
            } else {
                Killer::Nobody
            }
        })
    }

    /// Whether a case of the operator fails.
    fn recorded(&self, subject: &Subject) -> bool {
        let runner = self.runner.with(subject.library.clone());
        let fails = |record: &Record| matches!(runner.run(record), Ok(Finding::Failed(_)));
        self.records.get(subject.name).is_some_and(|records| records.iter().any(fails))
    }

    /// Whether a rule that names the operator is refuted.
    fn ruled(&self, checker: &Checker, subject: &Subject) -> bool {
        let call = format!("{}(", subject.name);
        self.rules.iter().any(|text| {
            let (mut module, _) = Module::new(FileId(0), parse(FileId(0), text));
            module.defs = Defs::new(subject.library.clone());
            (0..module.items.len()).any(|at| {
                print_item(&module.items[at]).contains(&call)
                    && module.is_claim(at)
                    && module.expected[at].verdict == Verdict::Proved
                    && checker.item(&module, at).claims.iter().any(|c| c.verdict == Verdict::Refuted)
            })
        })
    }
}

/// What the tests of the operator's own file say of a mutant; nothing where all hold.
fn tested(checker: &Checker, subject: &Subject) -> Option<Killer> {
    let mut module = Module::of_library(subject.file, parse(subject.file, subject.text));
    module.defs = Defs::new(subject.library.clone());
    let tests =
        module.items.iter().enumerate().filter(|(_, item)| matches!(item.kind, ItemKind::Test { .. }));
    let mut killer = None;
    for (at, _) in tests {
        match checker.item(&module, at).claims.first() {
            None => killer = Some(Killer::Types),
            Some(claim) if claim.verdict != Verdict::Proved => return Some(Killer::Test),
            Some(_) => {}
        }
    }
    killer
}

/// The mutants known to survive, each with its reason; a new one has none yet.
struct Survivors(BTreeMap<String, String>);

impl Survivors {
    fn read() -> Survivors {
        let text = fs::read_to_string(root().join(SURVIVORS)).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let entry = |line: &str| match line.split_once(" -- ") {
            Some((name, reason)) => (name.to_string(), reason.to_string()),
            None => (line.to_string(), String::new()),
        };
        Survivors(lines.map(entry).collect())
    }

    /// The list after a run that took some mutants. What is no mutant any more goes when all
    /// those of its file were taken.
    fn replaced(&self, taken: &BTreeSet<String>, alive: &BTreeSet<String>, share: &Share) -> Survivors {
        let all_of = |name: &str| matches!(share, Share::Of(part) if name.contains(part.as_str()));
        let kept = self.0.keys().filter(|name| !taken.contains(*name) && !all_of(name));
        let reason = |name: &String| (name.clone(), self.0.get(name).cloned().unwrap_or_default());
        Survivors(kept.chain(alive).map(reason).collect())
    }

    /// Those that another list has not.
    fn without(&self, other: &Survivors) -> Vec<&String> {
        self.0.keys().filter(|name| !other.0.contains_key(*name)).collect()
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
# what, and after ` -- ` why that changes nothing.
";

fn table(subjects: &[Subject], killers: &[Killer], share: &Share) -> String {
    let mut rows: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for (subject, killer) in subjects.iter().zip(killers) {
        rows.entry(subject.path).or_default()[*killer as usize] += 1;
    }
    let mut text = format!("{:<32}refused   test  record   rule  nobody\n", "operator");
    let line = |name: &str, [types, test, record, rule, nobody]: [usize; 5]| {
        format!("{name:<32}{types:>7}{test:>7}{record:>8}{rule:>7}{nobody:>8}\n")
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
        let mutants = |counts: &[usize; 5]| counts[Killer::Test as usize..].iter().sum::<usize>();
        let few = rows.iter().filter(|(_, counts)| mutants(counts) < 6).map(|(path, _)| *path);
        let few = few.collect::<Vec<_>>().join(" ");
        text += &format!("\noperators with fewer than six mutants that elaborate: {few}\n");
    }
    text
}
