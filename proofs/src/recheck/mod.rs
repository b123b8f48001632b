//! The independent checker: certificates are checked again by who does not trust the
//! prover.
//!
//! It follows a certificate step by step, without search: what a step needs is found out
//! anew, by the linear arithmetic of `sizes.rs` where that is enough, else by the solvers,
//! of which there may be two. It shares with the prover the types of terms, sizes and
//! certificates with their substitution, and what the certificate is measured against:
//! elaboration, unfolding and the conditions of definedness (see [`crate::certificate`]).
//!
//! Invariant: an accepted goal holds, if the questions to the solvers say what their terms
//! mean; those are tried on inputs too, see `trial.rs`.

mod agree;
mod combine;
mod frame;
mod leaves;
mod narrow;
mod scalar;
mod sizes;
mod tame;
#[cfg(test)]
mod tests;
mod trial;

use crate::certificate::Shown;
pub use leaves::{Leaves, Opinion, SecondSolver, Tally};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::size::Size;
use rtv_semantics::subst::{Fresh, Subst, children};
use rtv_semantics::term::{Form, Fun, Monoid, Term};
use rtv_smt::{Budget, Merge, Proof, Rewrite, Rewriting};
use sizes::Sizes;
pub use trial::tried;

/// Steps of one goal; then it counts as not checked.
const MAX_STEPS: u64 = 400_000;

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
    fresh: Fresh,
    mode: Mode,
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
}

impl<'s> Checking<'s> {
    pub fn new(leaves: Leaves<'s>) -> Checking<'s> {
        Checking { sizes: Sizes::default(), leaves }
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
        let terms = goal.hypotheses.iter().chain([&goal.left, &goal.right]);
        let highest = Fresh::above(terms).and_above(&goal.facts).id();
        let mut check = Check {
            sizes: &mut self.sizes,
            leaves: &mut self.leaves,
            // Far above the symbols that the prover made up for this goal.
            fresh: Fresh::new(highest.saturating_add(1 << 24)),
            mode: goal.mode,
            steps: 0,
            depth: 0,
            inside_scalar: 0,
        };
        check.proved(&goal.left, &goal.right, &goal.proof, &goal.facts)
    }
}

impl Check<'_, '_> {
    /// Counts a step; false when there were too many.
    fn step(&mut self) -> bool {
        self.steps += 1;
        self.steps <= MAX_STEPS
    }

    fn holds(&mut self, facts: &[Cond], goal: &Cond) -> bool {
        self.sizes.entails(facts, goal, self.leaves)
    }

    fn proved(&mut self, left: &Term, right: &Term, proof: &Proof, facts: &[Cond]) -> Result<(), Why> {
        if !self.step() {
            return fail("less work");
        }
        match proof {
            Proof::Same => match self.agree(left, right, facts) {
                true => Ok(()),
                false => fail("the same text on both sides"),
            },
            Proof::Rewritten { left: on_left, right: on_right, rest } => {
                let left = self.rewritten(left, on_left, facts)?;
                let right = self.rewritten(right, on_right, facts)?;
                self.proved(&left, &right, rest, facts)
            }
            Proof::Cases { cond, holds, fails } => {
                if !self.total(cond, facts) {
                    return fail("a condition that has a truth value");
                }
                for (guard, case) in [(cond.clone(), holds), (cond.clone().negated(), fails)] {
                    match case {
                        Some(case) => {
                            self.proved(left, right, case, &[facts, std::slice::from_ref(&guard)].concat())?;
                        }
                        None if self.holds(facts, &guard.clone().negated()) => {}
                        None => return fail("a case that cannot be"),
                    }
                }
                Ok(())
            }
            Proof::Parts(proofs) => self.parts(left, right, proofs, facts),
            Proof::Framed { algebra, left: on_left, right: on_right, frames } => {
                self.framed([left, right], *algebra, [on_left, on_right], frames, facts)
            }
            Proof::WhereDefined => fail("what a defined left side says"),
            Proof::Calculated => fail("the steps of a calculation"),
            Proof::Solved { question, merges, .. } => {
                for merge in merges {
                    self.merged(merge, facts)?;
                }
                match self.leaves.refuted(&question.text(), Budget::OBLIGATION) {
                    true => Ok(()),
                    false => fail("a question that both solvers find without an answer"),
                }
            }
        }
    }

    /// One function, or one kind of branches, of parts that agree.
    fn parts(&mut self, left: &Term, right: &Term, proofs: &[Proof], facts: &[Cond]) -> Result<(), Why> {
        let (a, b) = (children(left), children(right));
        let alike = match (left.form(), right.form()) {
            (Form::Call(Fun::Scalar(f), _), Form::Call(Fun::Scalar(g), _)) => f == g,
            (Form::If(..), Form::If(..)) => true,
            _ => false,
        };
        if !alike || [a.len(), b.len()] != [proofs.len(); 2] {
            return fail("the same function on both sides");
        }
        a.into_iter().zip(b).zip(proofs).try_for_each(|((a, b), proof)| self.proved(a, b, proof, facts))
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
        let dtype = first.body.dtype();
        let straight = order.iter().enumerate().all(|(at, place)| at == *place);
        let mut places = order.clone();
        places.sort_unstable();
        let fits = first.op == second.op
            && first.body.ty() == second.body.ty()
            && places == (0..second.binders.len()).collect::<Vec<_>>()
            && [first.binders.len(), indices.len()] == [order.len(); 2];
        if !fits || !(straight || self.may_exchange(first.op, dtype)) {
            return fail("reductions of one kind");
        }
        let (mut given, mut names) = (facts.to_vec(), [Subst::new(), Subst::new()]);
        for ((x, &place), index) in first.binders.iter().zip(order).zip(indices) {
            let y = &second.binders[place];
            let (m, n) = (names[0].size(&x.extent), names[1].size(&y.extent));
            let later = order.iter().skip_while(|k| **k != place);
            let forward = later.clone().any(|&k| y.extent.mentions(&second.binders[k].sym));
            let fresh = facts.iter().all(|fact| !fact.mentions(index));
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
        self.proved(left, right, proof, &given)
    }

    /// Whether the goal's mode leaves the order of the elements open.
    fn may_exchange(&self, op: Monoid, dtype: rtv_semantics::dtype::DType) -> bool {
        match op {
            Monoid::Sum | Monoid::Prod => !dtype.is_float() || self.mode != Mode::Exact,
            Monoid::Max | Monoid::Min => !dtype.is_float() || self.mode == Mode::Real,
            Monoid::Any | Monoid::All => true,
        }
    }
}
