//! A verdict without what belongs to one run and one place in a file, so that it can be
//! written down and taken up again where the same claim stands.

use crate::certificate::Certificate;
use crate::check::{Checker, Outcome};
use crate::decide::CONTRADICTION;
use crate::facets::Facets;
use crate::module::{Module, subject};
use crate::verdict::{Checked, ClaimResult, Contract, Finding, Provenance, Verdict};
use crate::witness::Witness;
use rtv_semantics::diag::Code;
use rtv_semantics::program::ClaimKind;
use std::collections::BTreeMap;

/// What was found of a claim.
#[derive(Clone, Debug)]
pub struct Record {
    pub name: String,
    pub kind: ClaimKind,
    pub verdict: Verdict,
    pub mode: &'static str,
    pub contracts: BTreeMap<Contract, Finding>,
    pub note: String,
    pub code: Option<Code>,
    pub samples: u64,
    /// The hash of the certificate of its proof.
    pub certificate: Option<String>,
    /// What the checker said of it.
    pub checked: Option<String>,
    /// How the floats of the two sides compare.
    pub facets: Option<String>,
    /// The input that refutes it.
    pub witness: Option<Witness>,
}

impl From<&ClaimResult> for Record {
    fn from(claim: &ClaimResult) -> Record {
        Record {
            name: claim.name.clone(),
            kind: claim.kind,
            verdict: claim.verdict,
            mode: claim.mode,
            contracts: claim.contracts.clone(),
            note: claim.note.clone(),
            code: claim.code,
            samples: claim.samples,
            certificate: match &claim.checked {
                Some(Checked::Accepted(_, text)) => Some(Certificate::hash(text)),
                _ => None,
            },
            checked: claim.checked.as_ref().map(Checked::to_string),
            facets: claim.facets.as_ref().map(Facets::to_string),
            witness: claim.counterexample.as_ref().map(Witness::from),
        }
    }
}

impl Record {
    /// What checking an item found, if that is a verdict on the claim it makes, or, as
    /// `None`, that it makes none. Nothing where there is more to say: what is wrong is
    /// told anew by each run.
    pub fn of(outcome: &Outcome) -> Option<Option<Record>> {
        let Outcome { diagnostics, claims, untyped, fault } = outcome;
        if !diagnostics.is_empty() || !untyped.is_empty() || fault.is_some() {
            return None;
        }
        match claims.as_slice() {
            [] => Some(None),
            [claim] if claim.code != Some(CONTRADICTION) => Some(Some(claim.into())),
            _ => None,
        }
    }

    /// The verdict as it stands, if it is on the claim at a place.
    pub fn read(&self, module: &Module, at: usize, provenance: Provenance) -> Option<ClaimResult> {
        let blank = ClaimResult::blank(module, at)?;
        (blank.name == self.name && blank.kind == self.kind).then(|| ClaimResult {
            verdict: self.verdict,
            mode: self.mode,
            contracts: self.contracts.clone(),
            note: self.note.clone(),
            code: self.code,
            samples: self.samples,
            checked: self.checked.clone().map(Checked::Told),
            facets: self.facets.as_ref().and_then(|text| text.parse().ok()),
            provenance,
            ..blank
        })
    }
}

impl ClaimResult {
    /// The claim that the item at a place makes, or a `fn` may make about its calls, before
    /// anything is known.
    pub(crate) fn blank(module: &Module, at: usize) -> Option<ClaimResult> {
        let item = &module.items[at];
        let (name, kind) = subject(item)?;
        Some(ClaimResult {
            id: module.id(at),
            name,
            kind: kind.unwrap_or(ClaimKind::Calls),
            span: item.span,
            verdict: Verdict::Unknown,
            expected: module.expected[at],
            mode: "",
            contracts: BTreeMap::new(),
            note: String::new(),
            code: None,
            counterexample: None,
            facets: None,
            checked: None,
            samples: 0,
            seconds: 0.0,
            provenance: Provenance::Decided,
        })
    }

    /// The same where nothing is to be known, and why.
    pub fn without_verdict(module: &Module, at: usize, code: Code, why: String) -> Option<ClaimResult> {
        let blank = ClaimResult::blank(module, at)?;
        Some(ClaimResult { code: Some(code), note: why, ..blank })
    }
}

impl Checker {
    /// The verdict of a record on the claim at a place. A refutation counts when its input
    /// still refutes the claim.
    pub fn recall(&self, module: &Module, at: usize, record: &Record) -> Option<ClaimResult> {
        let mut claim = record.read(module, at, Provenance::Cache)?;
        if claim.verdict == Verdict::Refuted {
            let found = self.replayed(module, at, record.witness.as_ref()?)?;
            // What was elaborated with answers that do not count refutes nothing.
            if self.prover.solver().fault().is_some() {
                return None;
            }
            claim.contracts = [(found.contract, Finding::refuted())].into();
            (claim.code, claim.note) = (Some(found.code()), found.contract.name().into());
            claim.counterexample = Some(found);
        }
        Some(claim)
    }
}
