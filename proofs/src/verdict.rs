//! The words for what is known of a claim.

use crate::counterexample::Counterexample;
use crate::expect::Expectation;
use crate::facets::Facets;
use crate::recheck::Tally;
use rtv_semantics::diag::{Code, Span};
use rtv_semantics::program::ClaimKind;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What is known of a claim or of one contract of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// Holds for all sizes, dtypes and values.
    Proved,
    /// Asked by sampling only: no counterexample found.
    Tested,
    /// Taken on the author's word.
    Trusted,
    Unknown,
    /// No input satisfies the preconditions.
    Vacuous,
    /// A concrete input was run on the reference evaluator and the sides differ.
    Refuted,
}

impl Verdict {
    pub const ALL: [Verdict; 6] = [
        Verdict::Proved,
        Verdict::Tested,
        Verdict::Trusted,
        Verdict::Unknown,
        Verdict::Vacuous,
        Verdict::Refuted,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Verdict::Proved => "proved",
            Verdict::Tested => "tested",
            Verdict::Trusted => "trusted",
            Verdict::Unknown => "unknown",
            Verdict::Vacuous => "vacuous",
            Verdict::Refuted => "refuted",
        }
    }

    pub fn from_name(name: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|v| v.name() == name)
    }
}

/// The questions a claim answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Contract {
    Shape,
    DType,
    Error,
    Alias,
    Value,
    Gradient,
}

impl Contract {
    pub const ALL: [Contract; 6] = [
        Contract::Shape,
        Contract::DType,
        Contract::Error,
        Contract::Alias,
        Contract::Value,
        Contract::Gradient,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Contract::Shape => "shape",
            Contract::DType => "dtype",
            Contract::Error => "error",
            Contract::Alias => "alias",
            Contract::Value => "value",
            Contract::Gradient => "gradient",
        }
    }

    pub fn from_name(name: &str) -> Option<Contract> {
        Contract::ALL.into_iter().find(|c| c.name() == name)
    }
}

/// What was found about one contract.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    pub verdict: Verdict,
    /// How: `normal form`, `z3`, `counterexample`.
    pub method: Cow<'static, str>,
    /// Why it is not decided, or what else there is to say.
    pub reason: Option<String>,
}

impl Finding {
    pub fn proved(method: impl Into<Cow<'static, str>>) -> Finding {
        Finding { verdict: Verdict::Proved, method: method.into(), reason: None }
    }

    pub fn unknown(reason: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Unknown, method: "".into(), reason: Some(reason.into()) }
    }

    pub fn refuted() -> Finding {
        Finding { verdict: Verdict::Refuted, method: "counterexample".into(), reason: None }
    }

    /// The weaker of two findings about instances of one claim.
    pub fn and(self, other: Finding) -> Finding {
        if other.verdict > self.verdict { other } else { self }
    }
}

/// What the independent checker says of a certificate.
#[derive(Clone, PartialEq, Debug)]
pub enum Checked {
    /// Every step of it; how many questions went to the solvers, and its text.
    Accepted(Tally, Arc<str>),
    /// What is missing.
    Open(String),
    /// An input on which two terms differ that it says are equal.
    Contradicted(String),
    /// What an earlier run said.
    Told(String),
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Checked::Accepted(Tally { questions: 0, .. }, _) => f.write_str("accepted, without a solver"),
            Checked::Accepted(Tally { questions: 1, .. }, _) => {
                f.write_str("accepted, with 1 question to the solver")
            }
            Checked::Accepted(Tally { questions, .. }, _) => {
                write!(f, "accepted, with {questions} questions to the solver")
            }
            Checked::Open(why) => write!(f, "none: {why}"),
            Checked::Contradicted(why) => write!(f, "wrong: {why}"),
            Checked::Told(text) => f.write_str(text),
        }
    }
}

/// Where a verdict comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Provenance {
    /// It was decided in this run.
    #[default]
    Decided,
    /// An earlier run decided it.
    Cache,
    /// It is written in the ledger.
    Ledger,
}

impl Provenance {
    pub fn name(self) -> &'static str {
        match self {
            Provenance::Decided => "decided",
            Provenance::Cache => "cache",
            Provenance::Ledger => "ledger",
        }
    }
}

/// A finished claim.
#[derive(Clone, Debug)]
pub struct ClaimResult {
    /// Hash of the claim's text, hexadecimal.
    pub id: String,
    pub name: String,
    pub kind: ClaimKind,
    pub span: Span,
    pub verdict: Verdict,
    pub expected: Expectation,
    /// The mode asked: `exact`, `real`, ...; empty for tests.
    pub mode: &'static str,
    pub contracts: BTreeMap<Contract, Finding>,
    /// For which sizes and ranks it is proved, or why it is not.
    pub note: String,
    pub code: Option<Code>,
    pub counterexample: Option<Counterexample>,
    /// Of a proved claim `upto` more than bits: what it is worth bit for bit.
    pub facets: Option<Facets>,
    /// What the independent checker says of the certificate of a proved claim.
    pub checked: Option<Checked>,
    /// Inputs on which both sides were run and compared.
    pub samples: u64,
    pub seconds: f64,
    pub provenance: Provenance,
}

impl ClaimResult {
    /// How the value contract was decided.
    pub fn method(&self) -> &str {
        self.contracts.get(&Contract::Value).map_or("", |f| &f.method)
    }
}
