//! What proves a claim, contract by contract, as data that the checker goes through.
//!
//! A certificate is measured against the claim: its instances are elaborated, their sides
//! unfolded at a symbolic index, and their errors listed, by the code that also serves the
//! prover; these are the trusted base, beside the reference evaluator. Everything else is
//! checked.

use crate::recheck::{Checking, Why};
use crate::verdict::Contract;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::{Claim, Mode};
use rtv_semantics::term::Term;
use rtv_smt::Proof;
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

/// What was shown of one instance of a claim.
#[derive(Clone, Debug)]
pub struct Certified {
    pub claim: Arc<Claim>,
    pub parts: Vec<(Contract, Part)>,
}

/// What was shown of a claim.
#[derive(Clone, Default, Debug)]
pub struct Certificate {
    pub instances: Vec<Certified>,
}

impl Certificate {
    pub fn parts(&self) -> impl Iterator<Item = &(Contract, Part)> {
        self.instances.iter().flat_map(|instance| &instance.parts)
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
