//! What finished claims mean for the run, and their totals.

use std::collections::BTreeMap;

use clap::ValueEnum;
use rtv_proofs::{ClaimResult, Expectation, Provenance, Verdict};
use rtv_semantics::diag::Code;
use rtv_semantics::program::ClaimKind;

use super::Exit;

/// The prover and the evaluator disagree.
const CONTRADICTION: Code = Code(799);

/// Whether a claim has the verdict its author wrote, about the contract he named.
pub fn as_expected(claim: &ClaimResult) -> bool {
    let expected = &claim.expected;
    match claim.verdict {
        // What is not proved at a call is checked when it is made.
        Verdict::Unknown if claim.kind == ClaimKind::Calls => return true,
        // The claim itself asks for no more.
        Verdict::Trusted | Verdict::Tested if *expected == Expectation::default() => return true,
        _ => {}
    }
    let same_contract = expected.contract.is_none_or(|contract| {
        claim.contracts.get(&contract).is_some_and(|found| found.verdict == expected.verdict)
    });
    claim.verdict == expected.verdict && same_contract
}

/// What a claim means for the run. Where nothing was to be proved, an open claim is none
/// of its faults.
pub fn exit(claim: &ClaimResult, proving: bool) -> Exit {
    if claim.code == Some(CONTRADICTION) {
        return Exit::Internal;
    }
    if as_expected(claim) {
        return Exit::Success;
    }
    match (claim.verdict, claim.expected.verdict) {
        // Proved, where a refutation was expected: the expectation is refuted.
        (Verdict::Refuted, _) | (Verdict::Proved, Verdict::Refuted) => Exit::Refuted,
        (Verdict::Unknown | Verdict::Tested, _) if !proving => Exit::Success,
        // A better verdict than expected counts too: the expectation is out of date.
        _ => Exit::Undecided,
    }
}

/// The least that every claim must be, beside its expectation.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Require {
    Proved,
    Tested,
}

impl Require {
    pub fn name(self) -> &'static str {
        match self {
            Require::Proved => "proved",
            Require::Tested => "tested",
        }
    }
}

/// Whether a verdict is less than what is required. What is refuted or vacuous is judged
/// by its expectation.
pub fn falls_short(verdict: Verdict, require: Require) -> bool {
    match require {
        Require::Proved => matches!(verdict, Verdict::Unknown | Verdict::Tested | Verdict::Trusted),
        Require::Tested => verdict == Verdict::Unknown,
    }
}

/// Totals of a run.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    pub claims: usize,
    pub by_verdict: BTreeMap<Verdict, usize>,
    /// Those of `by_verdict` that are not proved and were not to be.
    pub as_expected: BTreeMap<Verdict, usize>,
    /// Those that were not decided in this run.
    pub provenance: BTreeMap<Provenance, usize>,
    /// Where types alone were asked for.
    pub typed: usize,
    /// Beside `claims`.
    pub not_checked: usize,
    pub interrupted: bool,
    /// Beside `claims`: as they were in an earlier round.
    pub unchanged: usize,
    /// The names of those that are not as expected.
    pub still_open: Vec<String>,
}

impl Tally {
    pub fn count(&mut self, claim: &ClaimResult) {
        self.claims += 1;
        *self.by_verdict.entry(claim.verdict).or_default() += 1;
        if claim.provenance != Provenance::Decided {
            *self.provenance.entry(claim.provenance).or_default() += 1;
        }
        if claim.verdict == claim.expected.verdict && as_expected(claim) && claim.verdict != Verdict::Proved {
            *self.as_expected.entry(claim.verdict).or_default() += 1;
        }
    }
}
