//! Answers held against what is expected, and counted: operator by contract by backend.

use std::collections::BTreeMap;

use rtv_semantics::tensor::Tensor;

use super::{Answer, Case, Expected, Grade, Room, Subject};

/// What of an answer is held against a case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Contract {
    Value,
    DType,
    Shape,
    Error,
}

impl Contract {
    pub const ALL: [Contract; 4] = [Contract::Value, Contract::DType, Contract::Shape, Contract::Error];

    pub fn name(self) -> &'static str {
        match self {
            Contract::Value => "value",
            Contract::DType => "dtype",
            Contract::Shape => "shape",
            Contract::Error => "error",
        }
    }
}

/// Whether each contract is met; `None` where it was not compared.
#[derive(Clone, Copy, Default, Debug)]
pub struct Contracts([Option<bool>; 4]);

impl Contracts {
    pub fn get(self, contract: Contract) -> Option<bool> {
        self.0[contract as usize]
    }

    /// Whether something was compared, and all of it is met.
    pub fn passed(self) -> bool {
        self.0.iter().any(Option::is_some) && !self.0.contains(&Some(false))
    }

    fn set(&mut self, contract: Contract, met: bool) {
        self.0[contract as usize] = Some(met);
    }
}

/// What is known of one answer.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub contracts: Contracts,
    /// What differs first.
    pub why: String,
}

/// Holds an answer against a case; `strictly` without what the operator allows beyond the
/// words of the case.
pub fn judge(case: &Case, answer: &Answer, room: Room) -> Verdict {
    let mut verdict = Verdict { contracts: Contracts::default(), why: String::new() };
    let grade = match room {
        Room::Stated => case.stated,
        Room::Operator => case.stated.or(case.allowed),
        Room::Contracted => case.stated.or(case.allowed).or(case.contracted),
    };
    match (&case.expected, answer) {
        (Expected::Error(want), Answer::Error { class, message }) => {
            let met = want.is_none_or(|want| want == *class);
            verdict.contracts.set(Contract::Error, met);
            if !met {
                verdict.why =
                    format!("an error of class {}, expected {}: {message}", class.name(), case.expected);
            }
        }
        (Expected::Error(_), Answer::Outputs(outputs)) => {
            verdict.contracts.set(Contract::Error, false);
            let types: Vec<String> = outputs.iter().map(Tensor::type_text).collect();
            verdict.why = format!("gives {}, expected {}", types.join(", "), case.expected);
        }
        (_, Answer::Error { class, message }) => {
            verdict.contracts.set(Contract::Error, false);
            verdict.why = format!("an error of class {}: {message}", class.name());
        }
        (_, Answer::Broken(why) | Answer::Unsupported(why)) => {
            verdict.contracts.set(Contract::Error, false);
            verdict.why.clone_from(why);
        }
        (Expected::Part(part, want), Answer::Outputs(got)) => match got.get(*part) {
            Some(got) => compare(got, want, &grade, &mut verdict),
            None => count_differs(got.len(), part + 1, &mut verdict),
        },
        (Expected::Outputs(want), Answer::Outputs(got)) => {
            match got.len() == want.len() {
                true => verdict.contracts.set(Contract::Shape, true),
                false => count_differs(got.len(), want.len(), &mut verdict),
            }
            got.iter().zip(want).for_each(|(got, want)| compare(got, want, &grade, &mut verdict));
        }
    }
    verdict
}

fn count_differs(got: usize, want: usize, verdict: &mut Verdict) {
    verdict.contracts.set(Contract::Shape, false);
    verdict.why = format!("{got} results, expected {want}");
}

fn compare(got: &Tensor, want: &Tensor, grade: &Grade, verdict: &mut Verdict) {
    let mut set = |contract, met, why: &dyn Fn() -> String| {
        let before = verdict.contracts.get(contract).unwrap_or(true);
        verdict.contracts.set(contract, before && met);
        if !met && verdict.why.is_empty() {
            verdict.why = why();
        }
    };
    let types = || format!("{}, expected {}", got.type_text(), want.type_text());
    set(Contract::DType, got.dtype == want.dtype, &types);
    set(Contract::Shape, got.shape() == want.shape(), &types);
    if got.dtype != want.dtype || got.shape() != want.shape() {
        return;
    }
    let pairs = got.values().zip(want.values());
    let bad: Vec<_> = pairs.filter(|(g, w)| !grade.admits(g, w, want.dtype)).collect();
    set(Contract::Value, bad.is_empty(), &|| {
        let (g, w) = bad[0];
        format!("{} of {} elements differ, the first is {g}, expected {w}", bad.len(), want.numel())
    });
}

/// Answers that were compared, and those that met the contract.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    pub passed: usize,
    pub compared: usize,
}

/// A case that is not as expected.
#[derive(Clone, Debug)]
pub struct Failure {
    pub id: String,
    pub operator: String,
    pub why: String,
}

/// What one backend did.
#[derive(Default)]
pub struct Column {
    pub name: String,
    pub rows: BTreeMap<String, [Tally; 4]>,
    pub passed: usize,
    pub failures: Vec<Failure>,
    /// Cases that fail and are listed as such, by reason.
    pub excepted: BTreeMap<String, usize>,
    /// Cases that the backend does not do, by its reason.
    pub skipped: BTreeMap<String, usize>,
}

/// Operators by contracts by backends.
#[derive(Default)]
pub struct Matrix {
    pub columns: Vec<Column>,
}

impl Matrix {
    /// Asks every case of a backend. A case that passes while it is listed as failing is a
    /// failure.
    pub fn run(&mut self, cases: &[Case], subject: &mut dyn Subject) {
        let mut column = Column { name: subject.name().to_string(), ..Column::default() };
        for case in cases {
            let answer = subject.answer(&case.question);
            column.count(case, &answer, subject.room());
        }
        self.columns.push(column);
    }

    /// The names of all rows, sorted.
    pub fn operators(&self) -> Vec<&str> {
        let names = self.columns.iter().flat_map(|column| column.rows.keys().map(String::as_str));
        let names: std::collections::BTreeSet<&str> = names.collect();
        names.into_iter().collect()
    }
}

impl Column {
    fn count(&mut self, case: &Case, answer: &Answer, room: Room) {
        if let Answer::Unsupported(why) = answer {
            *self.skipped.entry(why.clone()).or_default() += 1;
            return;
        }
        // What is listed as failing fails by the words of its source.
        let room = if case.excepted.is_some() { Room::Stated } else { room };
        let verdict = judge(case, answer, room);
        let (passed, why) = match (&case.excepted, verdict.contracts.passed()) {
            (Some(reason), false) => {
                *self.excepted.entry(reason.clone()).or_default() += 1;
                return;
            }
            (Some(reason), true) => (false, format!("passes, though it is listed as failing: {reason}")),
            (None, passed) => (passed, verdict.why),
        };
        let row = self.rows.entry(case.operator.clone()).or_default();
        for contract in Contract::ALL {
            if let Some(met) = verdict.contracts.get(contract) {
                let tally = &mut row[contract as usize];
                tally.compared += 1;
                tally.passed += usize::from(met);
            }
        }
        if passed {
            self.passed += 1;
        } else {
            self.failures.push(Failure { id: case.id.clone(), operator: case.operator.clone(), why });
        }
    }

    /// The sums of all rows.
    pub fn totals(&self) -> [Tally; 4] {
        let mut totals = [Tally::default(); 4];
        for row in self.rows.values() {
            for (total, tally) in totals.iter_mut().zip(row) {
                total.passed += tally.passed;
                total.compared += tally.compared;
            }
        }
        totals
    }
}
