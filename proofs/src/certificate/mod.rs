//! What proves a claim, contract by contract, as data that the checker goes through.
//!
//! A certificate is measured against the claim: its instances are elaborated, their sides
//! unfolded at a symbolic index, and their errors listed, by the code that also serves the
//! prover; these are the trusted base, beside the reference evaluator. Everything else is
//! checked.

mod read;
mod write;

pub use read::unescaped;
pub use write::escaped;

use crate::recheck::{Checking, Why};
use crate::verdict::Contract;
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::term::{Declared, Term};
use rtv_smt::{Proof, ValueGoal};
use sha3::{Digest, Sha3_256};
use std::sync::Arc;

/// One goal on values: the sides agree in a mode, wherever facts and hypotheses hold and
/// both are free of errors.
#[derive(Clone, Debug)]
pub struct Shown {
    pub facts: Vec<Cond>,
    pub hypotheses: Vec<Term>,
    pub left: Term,
    pub right: Term,
    pub mode: Mode,
    pub directed: bool,
    pub proof: Proof,
}

/// One thing that was shown for a contract.
#[derive(Clone, Debug)]
pub enum Part {
    /// A condition follows from facts.
    Sizes {
        facts: Vec<Cond>,
        goal: Cond,
    },
    Values(Box<Shown>),
}

impl Part {
    /// Whether it shows that a condition follows from facts.
    pub fn is_of_sizes(&self, from: &[Cond], that: &Cond) -> bool {
        matches!(self, Part::Sizes { facts, goal } if facts == from && goal == that)
    }

    /// The proof of a goal about two terms, if it is of this one.
    pub fn proof_of(&self, goal: &ValueGoal<'_>, [left, right]: [&Term; 2]) -> Option<Proof> {
        let Part::Values(shown) = self else { return None };
        let hypotheses = shown.hypotheses.iter().zip(goal.hypotheses);
        let same = shown.mode == goal.mode
            && shown.directed == goal.directed
            && shown.facts == goal.facts
            && shown.hypotheses.len() == goal.hypotheses.len()
            && hypotheses.into_iter().all(|(a, b)| alpha_eq(a, b))
            && alpha_eq(&shown.left, left)
            && alpha_eq(&shown.right, right);
        same.then(|| shown.proof.clone())
    }
}

/// What was shown of one instance of a claim.
#[derive(Clone, Debug)]
pub struct Certified {
    /// Its choice of dtypes, and its rank if it is one of several, in words.
    pub choice: String,
    pub parts: Vec<(Contract, Part)>,
}

/// What was shown of a claim.
#[derive(Clone, Default, Debug)]
pub struct Certificate {
    pub instances: Vec<Certified>,
    /// The declared monoids that its text is about: those of the claim, or it proves nothing.
    pub monoids: Vec<Arc<Declared>>,
}

impl Certificate {
    pub fn parts(&self) -> impl Iterator<Item = &(Contract, Part)> {
        self.instances.iter().flat_map(|instance| &instance.parts)
    }

    /// As text, which [`Certificate::read`] reads; nothing if a term in it has none.
    pub fn text(&self) -> Option<String> {
        write::text(self).ok()
    }

    /// The certificate of a text.
    ///
    /// # Errors
    /// The number of the line that cannot be read.
    pub fn read(text: &str) -> Result<Certificate, usize> {
        read::read(text)
    }

    /// Whether a text is meant as one.
    pub fn begins(text: &str) -> bool {
        text.lines().next() == Some(write::HEADER)
    }

    /// The name of a text: a hash of it, in hexadecimal.
    pub fn hash(text: &str) -> String {
        let bytes = Sha3_256::digest(text);
        bytes[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether every part of it is accepted.
    ///
    /// # Errors
    /// What is missing, and in which contract.
    pub fn check(&self, checking: &mut Checking<'_>) -> Result<(), (Contract, Why)> {
        for (contract, part) in self.parts() {
            let checked = match part {
                Part::Sizes { facts, goal } => match checking.entails(facts, goal) {
                    true => Ok(()),
                    false => Err(Why(format!("a proof of `{goal}`"))),
                },
                Part::Values(shown) => checking.goal(shown),
            };
            checked.map_err(|why| (*contract, why))?;
        }
        Ok(())
    }
}
