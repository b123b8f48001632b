//! Siblings of proved claims: the same rule with a precondition less, a bound off by one,
//! sides exchanged. Those that an input separates are false, and must not be proved.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rtv_grammar::ast::{DefKind, ItemKind};
use rtv_grammar::mutate::{Mutant, Slip, mutants};
use rtv_grammar::parse;
use rtv_proofs::{Checker, ClaimResult, Contract, Module, Settings, Stage, Verdict, subject};
use rtv_semantics::diag::FileId;
use rtv_smt::{Budget, Pool};

use super::{Share, each};
use crate::folder::{files_below, root};

/// One sibling of so many is tried when all tests are run.
const SAMPLE: u64 = 45;

/// Of the false siblings, so many in a hundred are refuted by a small input.
const LEAST_SMALL: usize = 98;

/// Elements of each tensor of a small input.
const SMALL: usize = 8;

/// Inputs that an open or proved sibling is tried on beside those of its check.
const BRUTE_FORCE: u64 = 1000;

/// A sibling and where it comes from.
struct Sibling {
    path: String,
    rule: String,
    slip: Slip,
    change: String,
    module: Module,
    at: usize,
}

/// What becomes of it.
enum Fate {
    /// It says nothing: its types are wrong, or no input satisfies what it requires.
    Void,
    /// By an input of which the largest tensor has so many elements.
    Refuted(usize),
    /// Brute force separates the sides, checking does not.
    Missed(String),
    /// No input separates the sides.
    Proved,
    Open(String),
    /// It is false, and proved.
    Unsound(String),
}

#[test]
fn a_false_sibling_of_a_proved_claim_is_not_proved() {
    let share = Share::asked(SAMPLE);
    let siblings = siblings(&share);
    let pool = Arc::new(Pool::new(PathBuf::from(env!("CARGO_BIN_EXE_rtv")), rtv_smt::DEFAULT_MEMORY_MIB));
    let fates = each(&siblings, || Judge::new(&pool), |judge, sibling| judge.fate(sibling));
    let table = Table::of(&siblings, &fates);
    println!("{}", table.text(&share));
    assert!(table.unsound.is_empty(), "false, and proved:\n{}", table.unsound.join("\n"));
    let (small, counted) = (table.small, table.counted);
    assert!(100 * small >= LEAST_SMALL * counted, "{small} of {counted} are refuted by a small input");
    assert!(!share.is_sample() || counted >= 80, "{counted} siblings are false");
}

/// The siblings of every claim that is expected to be proved.
fn siblings(share: &Share) -> Vec<Sibling> {
    let mut found = Vec::new();
    for file in ["proofs", "examples"].iter().flat_map(|f| files_below(&root().join(f), ".rtl")) {
        let path = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        let text = fs::read_to_string(&file).expect("a file of the project");
        let (module, _) = Module::new(FileId(0), parse(FileId(0), &text));
        for (at, item) in module.items.iter().enumerate() {
            let claims = match &item.kind {
                ItemKind::Rule(_) => true,
                ItemKind::Def(def) => matches!(def.kind, DefKind::Decomp { .. }),
                _ => false,
            };
            let Some((rule, _)) = subject(item).filter(|_| claims) else { continue };
            if module.expected[at].verdict != Verdict::Proved {
                continue;
            }
            let taken = mutants(item).into_iter().filter(|mutant| share.takes(&path, &rule, mutant));
            found.extend(taken.map(|Mutant { slip, change, item }| {
                let module = module.with(at, item);
                Sibling { path: path.clone(), rule: rule.clone(), slip, change, module, at }
            }));
        }
    }
    found
}

/// The checkers of one thread.
struct Judge {
    /// As users check.
    usual: Checker,
    /// Nothing is run, so that what is false reaches the prover.
    prover: Checker,
    /// Only runs.
    brute_force: Checker,
}

/// The time of the prover alone for a sibling that is known to be false: it mostly ends with it.
fn prover_seconds() -> u64 {
    std::env::var("RTV_MUTANTS_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(5)
}

impl Judge {
    fn new(pool: &Arc<Pool>) -> Judge {
        let checker = |stage, seed, samples, seconds| {
            let timeout = Some(Duration::from_secs(seconds));
            let budget = Budget { timeout_ms: 1_000, ..Budget::OBLIGATION };
            let settings = Settings { stage, seed, samples, budget, timeout };
            Checker::in_workers(settings, pool.clone(), Box::new(|_| {}))
        };
        Judge {
            usual: checker(Stage::Proofs, 0, 200, 20),
            prover: checker(Stage::Proofs, 0, 0, prover_seconds()),
            brute_force: checker(Stage::Tests, 1, BRUTE_FORCE, 4),
        }
    }

    fn fate(&self, sibling: &Sibling) -> Fate {
        let Some(usual) = claim(&self.usual, sibling) else { return Fate::Void };
        let separated = |found: &ClaimResult| {
            let input = found.counterexample.as_ref().expect("invariant: a refutation has an input");
            format!("{} {}", input.contract.name(), input.lines().join("; "))
        };
        match usual.verdict {
            Verdict::Refuted if self.prover_alone_proves(sibling) => Fate::Unsound(separated(&usual)),
            Verdict::Refuted => Fate::Refuted(usual.counterexample.as_ref().map_or(0, |c| c.largest_input())),
            Verdict::Vacuous => Fate::Void,
            verdict => match claim(&self.brute_force, sibling).filter(|c| c.verdict == Verdict::Refuted) {
                Some(found) if verdict == Verdict::Proved => Fate::Unsound(separated(&found)),
                Some(found) => Fate::Missed(separated(&found)),
                None if verdict == Verdict::Proved => Fate::Proved,
                None if usual.samples == 0 => Fate::Void,
                None => Fate::Open(usual.note),
            },
        }
    }

    fn prover_alone_proves(&self, sibling: &Sibling) -> bool {
        claim(&self.prover, sibling).is_some_and(|found| {
            found.contracts.contains_key(&Contract::Value)
                && found.contracts.values().all(|f| f.verdict == Verdict::Proved)
        })
    }
}

/// The verdict on a sibling; none if it does not type.
fn claim(checker: &Checker, sibling: &Sibling) -> Option<ClaimResult> {
    let outcome = checker.item(&sibling.module, sibling.at);
    assert!(outcome.fault.is_none(), "{}: {}: the solver is at fault", sibling.rule, sibling.change);
    outcome.claims.into_iter().next()
}

/// How many met which fate, and who they are.
#[derive(Default)]
struct Table {
    /// For each slip: void, refuted, missed, proved, open.
    rows: BTreeMap<Slip, [usize; 5]>,
    /// For each claim, how many of its siblings are false.
    sharpness: BTreeMap<String, usize>,
    counted: usize,
    small: usize,
    large: Vec<String>,
    missed: Vec<String>,
    proved: Vec<String>,
    open: Vec<String>,
    unsound: Vec<String>,
}

impl Table {
    fn of(siblings: &[Sibling], fates: &[Fate]) -> Table {
        let mut table = Table::default();
        for (Sibling { path, rule, slip, change, .. }, fate) in siblings.iter().zip(fates) {
            let name = format!("{path}: {rule}: {change}");
            let is_false = matches!(fate, Fate::Refuted(_) | Fate::Missed(_) | Fate::Unsound(_));
            *table.sharpness.entry(format!("{path}: {rule}")).or_default() += usize::from(is_false);
            table.counted += usize::from(is_false);
            let column = match fate {
                Fate::Void => 0,
                Fate::Refuted(size) => {
                    table.small += usize::from(*size <= SMALL);
                    table.large.extend((*size > SMALL).then(|| format!("{name}: {size} elements")));
                    1
                }
                Fate::Missed(input) => {
                    table.missed.push(format!("{name}: {input}"));
                    2
                }
                Fate::Proved => {
                    table.proved.push(name);
                    3
                }
                Fate::Open(why) => {
                    table.open.push(format!("{name}: {why}"));
                    4
                }
                Fate::Unsound(input) => {
                    table.unsound.push(format!("{name}: {input}"));
                    2
                }
            };
            table.rows.entry(*slip).or_default()[column] += 1;
        }
        table
    }

    fn text(&self, share: &Share) -> String {
        let mut text = String::from("slip            void  refuted  missed  proved    open\n");
        let mut total = [0; 5];
        let line = |name: &str, [void, refuted, missed, proved, open]: [usize; 5]| {
            format!("{name:<14}{void:>6}{refuted:>9}{missed:>8}{proved:>8}{open:>8}\n")
        };
        for (slip, counts) in &self.rows {
            text += &line(slip.name(), *counts);
            (0..5).for_each(|k| total[k] += counts[k]);
        }
        text += &line("all", total);
        let Table { counted, small, .. } = self;
        let _ = writeln!(
            text,
            "{counted} are false, {small} of them refuted by at most {SMALL} elements a tensor"
        );
        if !share.is_sample() {
            let blunt = self.sharpness.iter().filter(|(_, n)| **n < 2);
            let blunt: Vec<String> = blunt.map(|(rule, n)| format!("{rule}: {n}")).collect();
            let lists = [
                ("claims with fewer than two false siblings", &blunt),
                ("refuted by a larger input", &self.large),
                ("false, not refuted", &self.missed),
                ("proved", &self.proved),
                ("open", &self.open),
            ];
            for (what, list) in lists {
                let _ = writeln!(text, "\n{what}: {}\n  {}", list.len(), list.join("\n  "));
            }
        }
        text
    }
}
