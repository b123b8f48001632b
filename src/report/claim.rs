//! The result of one claim, as the reports need it.

use std::collections::BTreeMap;

use rtv_semantics::diag::{Code, Span};
use serde::Serialize;

use super::Exit;

/// What is known of a claim or of one of its contracts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Proved,
    /// Held on many inputs; nothing more.
    Tested,
    Trusted,
    Unknown,
    Refuted,
}

impl Verdict {
    pub const ALL: [Verdict; 5] = [
        Verdict::Proved,
        Verdict::Refuted,
        Verdict::Unknown,
        Verdict::Tested,
        Verdict::Trusted,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Verdict::Proved => "proved",
            Verdict::Tested => "tested",
            Verdict::Trusted => "trusted",
            Verdict::Unknown => "unknown",
            Verdict::Refuted => "refuted",
        }
    }
}

/// One finished claim.
#[derive(Clone, PartialEq, Debug)]
pub struct ClaimReport {
    /// Content hash in hexadecimal.
    pub id: String,
    pub name: String,
    /// `rule`, `decomp`, `impl`, `vjp`, `requires`, `test`.
    pub kind: String,
    pub span: Span,
    pub verdict: Verdict,
    pub expected: Verdict,
    pub mode: String,
    /// `shape`, `dtype`, `value`, .. with the verdict of each.
    pub contracts: BTreeMap<String, Verdict>,
    /// How the verdict was reached: `normal form`, `z3`, `sampling`.
    pub method: String,
    /// The last column of the table: `all sizes`, or why it is unknown.
    pub note: String,
    /// The code of a refutation.
    pub code: Option<Code>,
    /// The counterexample and what led to it, line by line.
    pub detail: Vec<String>,
    pub seconds: f64,
}

impl ClaimReport {
    pub fn as_expected(&self) -> bool {
        self.verdict == self.expected
    }

    /// What this claim means for the run.
    pub fn exit(&self) -> Exit {
        if self.as_expected() {
            return Exit::Success;
        }
        match (self.verdict, self.expected) {
            // Proved, where a refutation was expected: the expectation is refuted.
            (Verdict::Refuted, _) | (Verdict::Proved, Verdict::Refuted) => Exit::Refuted,
            (Verdict::Trusted, Verdict::Proved) => Exit::Success,
            // A better verdict than expected counts too: the expectation is out of date.
            _ => Exit::Undecided,
        }
    }
}

/// Totals of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    pub claims: usize,
    pub by_verdict: BTreeMap<Verdict, usize>,
    /// Those of `by_verdict` that say something other than proved and were to.
    pub as_expected: BTreeMap<Verdict, usize>,
    /// The id of the first claim that is not as it should be.
    pub first_surprise: Option<String>,
}

impl Tally {
    pub fn count(&mut self, claim: &ClaimReport) {
        self.claims += 1;
        *self.by_verdict.entry(claim.verdict).or_default() += 1;
        if claim.as_expected() && claim.verdict != Verdict::Proved {
            *self.as_expected.entry(claim.verdict).or_default() += 1;
        }
        if claim.exit() != Exit::Success && self.first_surprise.is_none() {
            self.first_surprise = Some(claim.id.clone());
        }
    }
}
