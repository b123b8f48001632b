//! The independent checker: certificates are checked again by who does not trust the
//! prover.
//!
//! It follows a certificate step by step, without search: what a step needs is found out
//! anew, by the linear arithmetic of `sizes.rs` where that is enough, else by the solvers,
//! of which there may be two. It shares with the prover the types of terms, sizes and
//! certificates with their substitution, the encoding of terms as questions, and what the
//! certificate is measured against: elaboration, unfolding, the conditions of definedness
//! and the facts that follow from them (see [`crate::verify`]).
//!
//! Invariant: an accepted goal holds wherever both sides are free of errors, if the encoding
//! says what terms mean. A certificate may come from anywhere: no name in it is taken to be
//! fresh, no place to be one that there is.

mod agree;
mod build;
mod calculate;
mod combine;
mod defined;
mod extreme;
mod frame;
mod leaves;
mod narrow;
mod order;
mod scalar;
mod sizes;
mod tame;
#[cfg(test)]
mod tests;
mod text;
mod trial;

use crate::certificate::Shown;
use crate::laws::monoids_in;
pub use leaves::{Leaves, Opinion, SecondSolver, Tally};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::{Fresh, Subst, children, free_syms};
use rtv_semantics::term::{Declared, Form, Fun, Laws, Monoid, Reduce, Term};
use rtv_semantics::types::Type;
use rtv_smt::{Budget, Errors, Merge, Need, Proof, Rewrite, Rewriting, ValueGoal, ValueProver};
pub use sizes::Sizes;
use std::sync::Arc;
pub use text::divisors;
pub use trial::tried;

/// Steps of one goal; then it counts as not checked.
const MAX_STEPS: u64 = 400_000;

/// The first id of symbols that the checker makes up; those of certificates are below.
pub const OWN_IDS: u32 = 3_000_000_000;

/// What was missing in a certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Why(pub String);

fn fail<T>(missing: impl Into<String>) -> Result<T, Why> {
    Err(Why(missing.into()))
}

/// The check of one goal.
pub struct Check<'c, 's> {
    sizes: &'c mut Sizes,
    leaves: &'c mut Leaves<'s>,
    encoding: &'s ValueProver,
    fresh: Fresh,
    mode: Mode,
    /// Known of values; of the goal, and of what a defined side says.
    hypotheses: Vec<Term>,
    /// A term that may be infinite and stands as a factor nevertheless: an extreme over what
    /// may be an empty range.
    infinite: Option<Term>,
    /// Those of the goal: the laws of others are not believed.
    monoids: Vec<Arc<Declared>>,
    steps: u64,
    /// How deep two terms are walked at the moment.
    depth: u32,
    /// Depth of questions about scalars, which are not asked inside each other.
    inside_scalar: u32,
}

/// Checks goals, with what was found about sizes kept between them.
pub struct Checking<'s> {
    sizes: Sizes,
    pub leaves: Leaves<'s>,
    /// Says what the questions about terms are.
    encoding: &'s ValueProver,
}

impl<'s> Checking<'s> {
    pub fn new(leaves: Leaves<'s>, encoding: &'s ValueProver) -> Checking<'s> {
        Checking { sizes: Sizes::default(), leaves, encoding }
    }

    /// Whether a condition follows from others.
    pub fn entails(&mut self, facts: &[Cond], goal: &Cond) -> bool {
        self.sizes.entails(facts, goal, &mut self.leaves)
    }

    /// Whether the sides of a goal agree, for the reasons given.
    ///
    /// # Errors
    /// What is missing.
    pub fn goal(&mut self, goal: &Shown) -> Result<(), Why> {
        let mut check = Check {
            sizes: &mut self.sizes,
            leaves: &mut self.leaves,
            encoding: self.encoding,
            fresh: Fresh::new(OWN_IDS),
            mode: goal.mode,
            hypotheses: goal.hypotheses.clone(),
            infinite: None,
            monoids: monoids_in(goal.hypotheses.iter().chain([&goal.left, &goal.right])),
            steps: 0,
            depth: 0,
            inside_scalar: 0,
        };
        let (mut left, mut right, mut proof) = (goal.left.clone(), goal.right.clone(), &goal.proof);
        // What the prover was asked is simplified first.
        if let Proof::Rewritten { left: on_left, right: on_right, rest } = proof {
            left = check.rewritten(&left, on_left, &goal.facts)?;
            right = check.rewritten(&right, on_right, &goal.facts)?;
            proof = rest;
        }
        check.asked([&left, &right], proof, &goal.facts, goal.directed)
    }
}

/// Two terms as the prover was asked about them, before it rewrote them.
#[derive(Clone, Copy)]
struct Asked<'t> {
    left: &'t Term,
    right: &'t Term,
    directed: bool,
}

impl Check<'_, '_> {
    /// Counts a step; false when there were too many.
    fn step(&mut self) -> bool {
        self.steps += 1;
        self.steps <= MAX_STEPS
    }

    /// The laws of a monoid that may be used.
    fn laws(&self, monoid: &Arc<Declared>) -> Option<Laws> {
        monoid.laws_in(self.mode).filter(|_| self.monoids.contains(monoid))
    }

    fn holds(&mut self, facts: &[Cond], goal: &Cond) -> bool {
        self.sizes.entails(facts, goal, self.leaves)
    }

    /// Whether two terms agree that the prover was asked about.
    fn asked(
        &mut self,
        [left, right]: [&Term; 2],
        proof: &Proof,
        facts: &[Cond],
        directed: bool,
    ) -> Result<(), Why> {
        self.proved([left, right], proof, facts, Asked { left, right, directed })
    }

    fn proved(
        &mut self,
        [left, right]: [&Term; 2],
        proof: &Proof,
        facts: &[Cond],
        asked: Asked<'_>,
    ) -> Result<(), Why> {
        if !self.step() {
            return fail("an end within the limit of steps");
        }
        match proof {
            Proof::Same => match self.agree(left, right, facts) {
                true => Ok(()),
                false => fail("the same text on both sides"),
            },
            Proof::Rewritten { left: on_left, right: on_right, rest } => {
                let left = self.rewritten(left, on_left, facts)?;
                let right = self.rewritten(right, on_right, facts)?;
                self.proved([&left, &right], rest, facts, asked)
            }
            Proof::Cases { cond, holds, fails } => {
                if !self.total(cond, facts) {
                    return fail("a condition that has a truth value");
                }
                for (guard, case) in [(cond.clone(), holds), (cond.clone().negated(), fails)] {
                    match case {
                        Some(case) => {
                            let given = [facts, std::slice::from_ref(&guard)].concat();
                            self.proved([left, right], case, &given, asked)?;
                        }
                        None if self.holds(facts, &guard.clone().negated()) => {}
                        None => return fail("a case that cannot be"),
                    }
                }
                Ok(())
            }
            Proof::Parts(proofs) => self.parts(left, right, proofs, facts),
            Proof::Framed { algebra, left: on_left, right: on_right, denominators, frames } => {
                let readings = [&**on_left, on_right];
                self.framed([left, right], algebra, readings, denominators, frames, facts)
            }
            Proof::InOrder(op) => self.in_order([left, right], op, facts),
            Proof::WhereDefined { .. } if !asked.directed => fail("a left side that is defined"),
            Proof::WhereDefined { sizes, needs, rest } => {
                self.says(left, sizes, needs, facts)?;
                let known = self.hypotheses.len();
                let given = [facts, sizes].concat();
                let proved = self
                    .known_too(needs, &given)
                    .and_then(|()| self.proved([left, right], rest, &given, asked));
                self.hypotheses.truncate(known);
                proved
            }
            Proof::BothWays { there, back } => {
                self.proved([left, right], there, facts, Asked { directed: true, ..asked })?;
                let (left_asked, right_asked) = (asked.right, asked.left);
                let turned = Asked { left: left_asked, right: right_asked, directed: true };
                self.proved([right, left], back, facts, turned)
            }
            Proof::Solved { question, merges, .. } => {
                for merge in merges {
                    self.merged(merge, facts)?;
                }
                self.solved([left, right], &question.text(), merges, facts, asked)
            }
        }
    }

    /// Takes up what is said of values, and the same put together anew.
    fn known_too(&mut self, needs: &[Need], facts: &[Cond]) -> Result<(), Why> {
        self.hypotheses.extend(needs.iter().map(|need| need.value.clone()));
        for Need { value, combined } in needs {
            let Some((how, after)) = combined else { continue };
            let reached = self.combined(value, how, facts)?;
            if !alpha_eq(&reached, after) && !self.agree(&reached, after, facts) {
                return fail("the condition that a step leads to");
            }
            self.hypotheses.push(after.clone());
        }
        Ok(())
    }

    /// Whether a symbol means something outside of the term that is looked at.
    fn is_outer(&self, sym: &Sym, facts: &[Cond]) -> bool {
        facts.iter().any(|fact| fact.mentions(sym))
            || self.hypotheses.iter().any(|known| free_syms(known).contains(sym))
    }

    /// Whether the question is the one about these terms, and has no answer.
    fn solved(
        &mut self,
        [left, right]: [&Term; 2],
        question: &str,
        merges: &[Merge],
        facts: &[Cond],
        asked: Asked<'_>,
    ) -> Result<(), Why> {
        let goal = ValueGoal {
            facts,
            hypotheses: &self.hypotheses,
            left,
            right,
            mode: self.mode,
            directed: asked.directed,
            errors: Errors::Excluded,
            written: None,
        };
        // What was rewritten has the errors of what was asked about.
        let rewritten = ValueGoal { written: Some((asked.left, asked.right)), ..goal };
        let is_it = |goal: &ValueGoal| self.encoding.question(goal, merges).as_deref() == Some(question);
        if !is_it(&rewritten) && !is_it(&goal) {
            return fail("question about these terms");
        }
        match self.leaves.refuted(question, Budget::OBLIGATION) {
            true => Ok(()),
            false => fail("answer of every solver that nothing separates the sides"),
        }
    }

    /// One function, or one kind of branches, of parts that agree.
    fn parts(&mut self, left: &Term, right: &Term, proofs: &[Proof], facts: &[Cond]) -> Result<(), Why> {
        let own = |term: &Term| children(term).into_iter().cloned().collect::<Vec<Term>>();
        let parts = match (left.form(), right.form()) {
            _ if matches!(left.ty(), Type::Tuple(_)) && left.ty() == right.ty() => {
                Some((left.components(), right.components()))
            }
            (Form::Call(Fun::Scalar(f), _), Form::Call(Fun::Scalar(g), _)) if f == g => {
                Some((own(left), own(right)))
            }
            (Form::Call(Fun::Item(j), _), Form::Call(Fun::Item(k), _)) if j == k => {
                Some((own(left), own(right)))
            }
            (Form::If(..), Form::If(..)) => Some((own(left), own(right))),
            _ => None,
        };
        let Some((a, b)) = parts.filter(|(a, b)| [a.len(), b.len()] == [proofs.len(); 2]) else {
            return fail("the same function on both sides");
        };
        let mut parts = a.iter().zip(&b).zip(proofs);
        parts.try_for_each(|((a, b), proof)| self.asked([a, b], proof, facts, false))
    }

    fn rewritten(&mut self, term: &Term, steps: &[Rewrite], facts: &[Cond]) -> Result<Term, Why> {
        let mut term = term.clone();
        for Rewrite { by, after } in steps {
            let reached = match by {
                Rewriting::Bits => term.clone(),
                Rewriting::Combined(how) => self.combined(&term, how, facts)?,
            };
            let arrived = alpha_eq(&reached, after) || self.agree(&reached, after, facts);
            if !arrived {
                return fail("the term that a step leads to");
            }
            term = after.clone();
        }
        Ok(term)
    }

    /// The two reductions combine the same elements, in an order that may be exchanged.
    fn merged(&mut self, merge: &Merge, facts: &[Cond]) -> Result<(), Why> {
        let Merge { first, second, order, indices, left, right, proof } = merge;
        let straight = order.iter().enumerate().all(|(at, place)| at == *place);
        let mut places = order.clone();
        places.sort_unstable();
        let fits = first.op == second.op
            && first.body.ty() == second.body.ty()
            && places == (0..second.binders.len()).collect::<Vec<_>>()
            && [first.binders.len(), indices.len()] == [order.len(); 2];
        if !fits || !(straight || self.may_exchange(&first.op, first.body.ty())) {
            return fail("reductions of one kind");
        }
        let (mut given, mut names) = (facts.to_vec(), [Subst::new(), Subst::new()]);
        for ((x, &place), index) in first.binders.iter().zip(order).zip(indices) {
            let y = &second.binders[place];
            let (m, n) = (names[0].size(&x.extent), names[1].size(&y.extent));
            let later = order.iter().skip_while(|k| **k != place);
            let forward = later.clone().any(|&k| y.extent.mentions(&second.binders[k].sym));
            let free = |reduce: &Reduce| {
                free_syms(&reduce.body).contains(index)
                    || reduce.binders.iter().any(|b| b.sym == *index || b.extent.mentions(index))
            };
            let fresh = !self.is_outer(index, &given) && !free(first) && !free(second);
            if forward || !fresh || !self.holds(&given, &Cond::eq(&m, &n)) {
                return fail("ranges of one length");
            }
            let at = Size::sym(index);
            given.push(Cond::within(&Size::zero(), &at, &m));
            let [a, b] = names;
            names = [a.with_size(&x.sym, at.clone()), b.with_size(&y.sym, at)];
        }
        for (reduce, names, side) in [(first, &names[0], left), (second, &names[1], right)] {
            let body = names.term(&reduce.body, &mut self.fresh);
            if !alpha_eq(&body, side) && !self.agree(&body, side, &given) {
                return fail("the bodies of the reductions");
            }
        }
        self.asked([left, right], proof, &given, false)
    }

    /// Whether the goal's mode leaves the order of the elements open.
    fn may_exchange(&self, op: &Monoid, ty: &Type) -> bool {
        let float = ty.as_tensor().is_some_and(|ty| ty.dtype.is_float());
        match op {
            Monoid::Sum | Monoid::Prod => !float || self.mode != Mode::Exact,
            Monoid::Max | Monoid::Min => !float || self.mode == Mode::Real,
            Monoid::Any | Monoid::All => true,
            // Its laws are about values.
            Monoid::Declared(_) => false,
        }
    }
}
