//! The pointwise value prover: two scalar terms agree under facts on sizes.
//!
//! Invariant: [`ValueAnswer::Equal`] only if the terms are the same text up to bound
//! names, or the solver shows that no situation lets them differ. A model is a hint.
//!
//! Directed: wherever the left side is defined, so is the right side, with the same
//! value. Both ways: the same values, and undefined at the same places. Errors (an
//! integer division by zero) are either compared likewise or left to the error
//! contract, see [`Errors`]. An `if` counts its chosen branch only.

use std::collections::BTreeSet;
use std::sync::Arc;

use num_bigint::BigInt;
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::normal::normalize;
use rtv_semantics::program::Mode;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::{Fresh, Subst, children};
use rtv_semantics::term::{Form, Fun, Reduce, Term};
use rtv_semantics::types::Type;

use crate::cases::{decided, divides_by_products, first_condition, is_total, multiplies_integers};
use crate::encode::{Enc, Encoder, Known};
use crate::ieee;
use crate::instances::instances;
use crate::key::unsupported;
use crate::normal::{Sign, calculated, normal, question, reindexed, reorderable};
use crate::proof::{self, Combining, Merge, Need, Proof, Rewrite, Rewriting};
use crate::query::{Id, Query};
use crate::reduce::ReduceUse;
use crate::sizes::{SizeSolver, flatten};
use crate::solver::{Answer, Budget, ModelValue, ModelValues, Reason, Solver};
use crate::strict::needs;

/// Reductions are compared inside reductions this deep.
const MAX_NESTING: usize = 3;

/// Conditions on sizes that one goal is split at, one after the other.
const MAX_CASES: usize = 4;

/// Pairs of reductions that are compared for one question.
const MAX_PAIRS: usize = 16;

/// Do two scalar terms agree?
pub struct ValueGoal<'a> {
    /// Facts on sizes and on the free indices, their ranges included.
    pub facts: &'a [Cond],
    /// Boolean scalars known to be true, without error.
    pub hypotheses: &'a [Term],
    pub left: &'a Term,
    pub right: &'a Term,
    pub mode: Mode,
    /// Only where the left side is defined.
    pub directed: bool,
    pub errors: Errors,
    /// The sides as written, where `left` and `right` are normal forms of them: their
    /// errors are the ones that [`Errors::Excluded`] excludes. `None` from callers.
    pub written: Option<(&'a Term, &'a Term)>,
}

/// What is asked about errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errors {
    /// Directed: the right side is an error only where the left one is. Both ways: at
    /// the same places.
    Compared,
    /// Nothing: the sides need to agree only where both evaluate. For callers that
    /// decide errors of the whole terms apart.
    Excluded,
}

/// How equality was shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Method {
    /// The same term up to bound names.
    Syntactic,
    /// The same after reductions are brought to normal form or after encoding.
    Structural,
    /// The solver found no difference.
    Smt,
}

/// An element of a parameter in a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelRead {
    /// Name and id of the parameter, as in the query.
    pub var: String,
    pub index: Vec<BigInt>,
    pub value: ModelValue,
}

/// A situation in which the sides may differ.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ValueModel {
    /// Sizes and free indices.
    pub syms: Vec<(Sym, BigInt)>,
    pub reads: Vec<ModelRead>,
}

#[derive(Clone, Debug)]
pub enum ValueAnswer {
    Equal(Proof),
    Model(ValueModel),
    Unknown(Reason),
}

/// Proves scalar terms equal; it keeps no state between questions but a cache of size
/// entailments.
pub struct ValueProver {
    solver: Arc<Solver>,
    sizes: Arc<SizeSolver>,
    budget: Budget,
}

impl ValueProver {
    pub fn new(solver: Arc<Solver>, sizes: Arc<SizeSolver>, budget: Budget) -> ValueProver {
        ValueProver { solver, sizes, budget }
    }

    pub fn prove(&self, goal: &ValueGoal) -> ValueAnswer {
        let answer = self.nested(goal, 0);
        let more = || match goal.directed {
            true => self.where_defined(goal).flatten(),
            false => self.both_ways(goal),
        };
        if !is_proved(&answer)
            && let Some(proof) = more()
        {
            return ValueAnswer::Equal(proof);
        }
        answer.unwrap_or_else(ValueAnswer::Unknown)
    }

    /// Equal values, undefined ones included, are a claim in each direction.
    fn both_ways(&self, goal: &ValueGoal) -> Option<Proof> {
        let there = ValueGoal { directed: true, ..*goal };
        let written = goal.written.map(|(left, right)| (right, left));
        let back = ValueGoal { left: goal.right, right: goal.left, written, ..there };
        let answers = [self.where_defined(&there), self.where_defined(&back)];
        // Without anything that may be undefined this is the question that was asked.
        answers.iter().any(Option::is_some).then_some(())?;
        let proved = |goal: &ValueGoal, answer: Option<Option<Proof>>| match answer {
            Some(proof) => proof,
            None => proof_of(self.nested(goal, 0)),
        };
        let [first, second] = answers;
        let (there, back) = (proved(&there, first)?, proved(&back, second)?);
        Some(Proof::BothWays { there: Box::new(there), back: Box::new(back) })
    }

    /// A proof of the directed claim under what it says of the left side that it is defined;
    /// `None` if it says nothing. Not where errors are compared: of those it says nothing.
    fn where_defined(&self, goal: &ValueGoal) -> Option<Option<Proof>> {
        if goal.mode != Mode::Real || goal.errors == Errors::Compared {
            return None;
        }
        let (sizes, values) = needs(goal.left, goal.facts, &*self.sizes);
        if sizes.is_empty() && values.is_empty() {
            return None;
        }
        let facts = [goal.facts, &sizes].concat();
        let mut fresh = above(goal);
        let need = |value: &Term| {
            let (new, how) = calculated(value, goal.mode, &facts, &[], &self.sizes, &mut fresh);
            let combined = (!alpha_eq(&new, value)).then_some((how, new));
            Need { value: value.clone(), combined }
        };
        let needs: Vec<Need> = values.iter().map(need).collect();
        let combined = needs.iter().filter_map(|need| Some(need.combined.as_ref()?.1.clone()));
        let hypotheses = [goal.hypotheses, &values, &combined.collect::<Vec<Term>>()].concat();
        let goal = ValueGoal { facts: &facts, hypotheses: &hypotheses, ..*goal };
        let proof = proof_of(self.nested(&goal, 0));
        Some(proof.map(|rest| Proof::WhereDefined { sizes, needs, rest: Box::new(rest) }))
    }

    /// The same about the bits of floats, in the theory that has all of them; only for terms
    /// without reductions, and dear.
    ///
    /// # Errors
    /// If there is no answer; else what separates the sides, if anything does.
    pub fn prove_in_ieee(&self, goal: &ValueGoal) -> Result<Option<ValueModel>, Reason> {
        ieee::prove(goal, &*self.sizes, &self.solver, self.budget)
    }

    /// The question whether anything separates the sides of a goal where these pairs of
    /// reductions are equal, as SMT-LIB text; nothing where that cannot be asked.
    pub fn question(&self, goal: &ValueGoal, merges: &[Merge]) -> Option<String> {
        let sides = encode(goal, &self.sizes).ok()?;
        let pairs = merges.iter().map(|merge| paired(&sides.encoder.reduces, &merge.first, &merge.second));
        let pairs: Vec<(Enc, Enc)> = pairs.collect::<Option<Vec<_>>>()?.concat();
        Some(sides.finish(goal, &pairs).ok()?.asked.to_smtlib())
    }

    /// The question whether a factor may be infinite, undefined or an error under facts and
    /// hypotheses, or of another sign if one is given, as SMT-LIB text; nothing if its encoding
    /// shows that it may be. If that shows the contrary, the text asserts `false` only.
    pub fn number_question(
        &self,
        factor: &Term,
        sign: Option<Sign>,
        mode: Mode,
        facts: &[Cond],
        hypotheses: &[Term],
    ) -> Option<String> {
        let known = Known { facts: facts.to_vec(), sizes: self.sizes.clone() };
        match question(factor, sign, mode, known, hypotheses)? {
            Ok(query) => Some(query.to_smtlib()),
            Err(may_be) => (!may_be).then(|| "(assert false)\n(check-sat)\n".to_string()),
        }
    }

    /// The first question asked for a goal, as SMT-LIB text.
    pub fn text(&self, goal: &ValueGoal) -> Result<String, Reason> {
        Ok(encode(goal, &self.sizes)?.finish(goal, &[])?.asked.to_smtlib())
    }

    fn nested(&self, goal: &ValueGoal, depth: usize) -> Result<ValueAnswer, Reason> {
        if goal.left.ty() != goal.right.ty() {
            return Err(unsupported("sides of different types"));
        }
        if alpha_eq(goal.left, goal.right) {
            return Ok(ValueAnswer::Equal(Proof::Same));
        }
        if let Type::Tuple(_) = goal.left.ty() {
            return self.tuples(goal, depth);
        }
        // The same component of tuples that are equal as a whole, whatever the component is.
        if let (Form::Call(Fun::Item(j), x), Form::Call(Fun::Item(k), y)) =
            (goal.left.form(), goal.right.form())
            && j == k
            && let Some(proof) = self.congruent(goal, depth).filter(|_| x.len() == y.len())
        {
            return Ok(ValueAnswer::Equal(proof));
        }
        let budget = if depth == 0 { self.budget } else { Budget::PRUNE };
        let mut fresh = above(goal);
        let mut normal = |term: &Term| {
            let (new, combining) = normal(term, goal.mode, goal.facts, &self.sizes, &mut fresh);
            match alpha_eq(&new, term) {
                true => (new, Vec::new()),
                false => self.recombined(new, combining, goal),
            }
        };
        let ((left, to_left), (right, to_right)) = (normal(goal.left), normal(goal.right));
        let rewritten = |rest: Proof| rewritten(to_left.clone(), to_right.clone(), rest);
        if alpha_eq(&left, &right) {
            return Ok(ValueAnswer::Equal(rewritten(Proof::Same)));
        }
        let same = alpha_eq(&left, goal.left) && alpha_eq(&right, goal.right);
        // An error that only the normal form has must not excuse a difference.
        let written = Some(goal.written.unwrap_or((goal.left, goal.right)));
        let reduced = ValueGoal { left: &left, right: &right, written, ..*goal };
        let told = |answer: Result<ValueAnswer, Reason>| match answer {
            Ok(ValueAnswer::Equal(rest)) => Ok(ValueAnswer::Equal(rewritten(rest))),
            other => other,
        };
        // What is hard as a whole is often easy case by case.
        let splits = [&left, &right].into_iter().any(|side| first_condition(side).is_some());
        let hard = |side| {
            multiplies_integers(side) || first_condition(side).is_some_and(|cond| divides_by_products(&cond))
        };
        let whole_first = ![&left, &right].into_iter().any(hard);
        if splits && whole_first && depth == 0 {
            let answer = self.compared(&reduced, depth, budget.least(Budget::ATTEMPT));
            if is_proved(&answer) {
                return told(answer);
            }
        }
        if splits && let Some(answer) = self.cases(&reduced, depth, budget, MAX_CASES).filter(is_proved) {
            return told(answer);
        }
        let mut answer = self.compared(&reduced, depth, budget);
        if !is_proved(&answer) && !same && depth == 0 {
            answer = self.compared(goal, depth, budget);
        } else {
            answer = told(answer);
        }
        match is_proved(&answer) {
            true => answer,
            false => self
                .calculated(&reduced, depth, budget)
                .map_or(answer, |proof| Ok(ValueAnswer::Equal(rewritten(proof)))),
        }
    }

    /// Agreement by more: numbers are calculated with, elements are compared point by point,
    /// and parts are compared with parts.
    fn calculated(&self, goal: &ValueGoal, depth: usize, budget: Budget) -> Option<Proof> {
        let mut fresh = above(goal);
        let sides = [goal.left, goal.right];
        if let Some(proof) = reindexed(sides, goal.mode, goal.facts, None, &self.sizes, &mut fresh) {
            return Some(proof);
        }
        let mut strong = |term: &Term| {
            let (new, how) =
                calculated(term, goal.mode, goal.facts, goal.hypotheses, &self.sizes, &mut fresh);
            if alpha_eq(&new, term) { (new, Vec::new()) } else { self.recombined(new, how, goal) }
        };
        let ((left, to_left), (right, to_right)) = (strong(goal.left), strong(goal.right));
        let told = |rest: Proof| rewritten(to_left.clone(), to_right.clone(), rest);
        if alpha_eq(&left, &right) {
            return Some(told(Proof::Same));
        }
        let calculated = ValueGoal { left: &left, right: &right, ..*goal };
        if !(to_left.is_empty() && to_right.is_empty()) {
            let cases = self.cases(&calculated, depth, budget, MAX_CASES).and_then(proof_of);
            let proof = cases.or_else(|| proof_of(self.compared(&calculated, depth, budget)));
            if let Some(proof) = proof {
                return Some(told(proof));
            }
        }
        let mut fresh = above(&calculated);
        let hypotheses = Some(goal.hypotheses);
        let framed = reindexed([&left, &right], goal.mode, goal.facts, hypotheses, &self.sizes, &mut fresh);
        framed
            .map(told)
            .or_else(|| self.congruent(goal, depth))
            .or_else(|| self.congruent(&calculated, depth).map(told))
    }

    /// The same function of parts that agree here, undefined ones included, or the same
    /// kind of branches.
    fn congruent(&self, goal: &ValueGoal, depth: usize) -> Option<Proof> {
        let (a, b) = (children(goal.left), children(goal.right));
        let alike = match (goal.left.form(), goal.right.form()) {
            (Form::Call(Fun::Scalar(f), _), Form::Call(Fun::Scalar(g), _)) => f == g && a.len() == b.len(),
            (Form::Call(Fun::Item(j), _), Form::Call(Fun::Item(k), _)) => j == k,
            (Form::If(..), Form::If(..)) => true,
            _ => false,
        };
        let equal = |(left, right): (&Term, &Term)| {
            let parts = ValueGoal { left, right, written: None, directed: false, ..*goal };
            match self.nested(&parts, depth + 1) {
                Ok(ValueAnswer::Equal(proof)) => Some(proof),
                _ => None,
            }
        };
        (alike && depth < MAX_NESTING).then_some(())?;
        a.into_iter().zip(b).map(equal).collect::<Option<Vec<Proof>>>().map(Proof::Parts)
    }

    /// Two tuples: as combinations of a monoid of tuples, else component by component.
    fn tuples(&self, goal: &ValueGoal, depth: usize) -> Result<ValueAnswer, Reason> {
        let mut fresh = above(goal);
        let mut normal = |term: &Term| {
            let (new, combining) = normal(term, goal.mode, goal.facts, &self.sizes, &mut fresh);
            match alpha_eq(&new, term) {
                true => (new, Vec::new()),
                false => self.recombined(new, combining, goal),
            }
        };
        let ((left, to_left), (right, to_right)) = (normal(goal.left), normal(goal.right));
        let told = |rest: Proof| Ok(ValueAnswer::Equal(rewritten(to_left.clone(), to_right.clone(), rest)));
        if alpha_eq(&left, &right) {
            return told(Proof::Same);
        }
        if let Some(proof) = reindexed([&left, &right], goal.mode, goal.facts, None, &self.sizes, &mut fresh)
        {
            return told(proof);
        }
        let apart = |term: &Term| matches!(term.form(), Form::Tuple(_) | Form::If(..));
        if depth >= MAX_NESTING || !(apart(&left) && apart(&right)) {
            return Err(unsupported("tuples that are not known component by component"));
        }
        let parts = left.components().into_iter().zip(right.components());
        let proofs = parts.map(|(left, right)| {
            let part = ValueGoal { left: &left, right: &right, written: None, directed: false, ..*goal };
            proof_of(self.nested(&part, depth + 1))
        });
        match proofs.collect::<Option<Vec<Proof>>>() {
            Some(proofs) => told(Proof::Parts(proofs)),
            None => Err(unsupported("tuples with components that are not shown to be equal")),
        }
    }

    /// A term whose combinations are put together anew, simplified, and how.
    fn recombined(&self, new: Term, combining: Combining, goal: &ValueGoal) -> (Term, Vec<Rewrite>) {
        let mut steps = vec![Rewrite { by: Rewriting::Combined(combining), after: new.clone() }];
        let simple = self.simplified(&new, goal);
        steps.push(Rewrite { by: Rewriting::Bits, after: simple.clone() });
        (simple, steps)
    }

    /// The normal form that keeps every bit, under the facts; it may be defined in more
    /// places, so only where errors are not compared.
    fn simplified(&self, term: &Term, goal: &ValueGoal) -> Term {
        match goal.errors {
            Errors::Excluded => normalize(term, goal.facts, &*self.sizes),
            Errors::Compared => term.clone(),
        }
    }

    /// Case by case, for the conditions on sizes in the two sides; `None` without any.
    fn cases(
        &self,
        goal: &ValueGoal,
        depth: usize,
        budget: Budget,
        splits: usize,
    ) -> Option<Result<ValueAnswer, Reason>> {
        if splits == 0 {
            return None;
        }
        let cond = [goal.left, goal.right].into_iter().find_map(first_condition)?;
        if !is_total(&cond, goal.facts, &*self.sizes) {
            return None;
        }
        let mut proofs = [None, None];
        for (truth, proof) in [true, false].into_iter().zip(&mut proofs) {
            let guard = if truth { cond.clone() } else { cond.clone().negated() };
            if self.sizes.entails(goal.facts, &guard.clone().negated()) {
                continue;
            }
            let facts = [goal.facts, &[guard]].concat();
            let bare = ValueGoal { facts: &facts, ..*goal };
            let side = |term: &Term| self.simplified(&decided(term, &cond, truth), &bare);
            let (left, right) = (side(goal.left), side(goal.right));
            let case = ValueGoal { left: &left, right: &right, ..bare };
            let answer = match alpha_eq(&left, &right) {
                true => Some(Ok(ValueAnswer::Equal(Proof::Same))),
                false => self.cases(&case, depth, budget, splits - 1),
            };
            let decided = |after: &Term| vec![Rewrite { by: Rewriting::Bits, after: after.clone() }];
            match answer.unwrap_or_else(|| self.compared(&case, depth, budget)) {
                Ok(ValueAnswer::Equal(rest)) => {
                    *proof = Some(Box::new(rewritten(decided(&left), decided(&right), rest)));
                }
                other => return Some(other),
            }
        }
        let [holds, fails] = proofs;
        Some(Ok(ValueAnswer::Equal(Proof::Cases { cond, holds, fails })))
    }

    /// Asks the solver, and again with equal reductions identified.
    fn compared(&self, goal: &ValueGoal, depth: usize, budget: Budget) -> Result<ValueAnswer, Reason> {
        let answer = self.ask(encode(goal, &self.sizes)?.finish(goal, &[])?, Vec::new(), budget);
        if depth >= MAX_NESTING || is_proved(&answer) {
            return answer;
        }
        let sides = encode(goal, &self.sizes)?;
        let (merged, merges) = self.merges(goal, &sides, depth);
        if merged.is_empty() {
            return answer;
        }
        self.ask(sides.finish(goal, &merged)?, merges, budget)
    }

    fn ask(&self, question: Question, merges: Vec<Merge>, budget: Budget) -> Result<ValueAnswer, Reason> {
        let Question { encoder, asked, settled } = question;
        let answer = if settled { Answer::Unsat } else { self.solver.check(&asked, budget) };
        match answer {
            Answer::Unsat => Ok(ValueAnswer::Equal(Proof::Solved {
                question: proof::Question::Built(asked),
                settled,
                merges,
            })),
            Answer::Unknown(reason) => Err(reason),
            Answer::Sat(values) => Ok(ValueAnswer::Model(model(&encoder, values))),
        }
    }

    /// Pairs of reductions with different functions that are equal here, and why.
    fn merges(&self, goal: &ValueGoal, sides: &Sides, depth: usize) -> (Vec<(Enc, Enc)>, Vec<Merge>) {
        let all = &sides.encoder.reduces;
        let (mut merged, mut merges, mut tried) = (Vec::new(), Vec::new(), 0);
        for (i, a) in all.iter().enumerate() {
            for b in &all[..i] {
                let known = a.enc.data == b.enc.data || merged.contains(&(b.enc, a.enc));
                let alike = a.component == b.component
                    && a.reduce.op == b.reduce.op
                    && a.reduce.body.ty() == b.reduce.body.ty()
                    && a.reduce.binders.len() == b.reduce.binders.len();
                if known || !alike || tried >= MAX_PAIRS {
                    continue;
                }
                tried += 1;
                if let Some(merge) = self.same_reduction(goal, &a.reduce, &b.reduce, depth)
                    && let Some(pairs) = paired(all, &merge.first, &merge.second)
                {
                    merged.extend(pairs);
                    merges.push(merge);
                }
            }
        }
        (merged, merges)
    }

    /// The same extents and, at each index, the same elements: then the sequences that
    /// are reduced are the same, or the same up to their order where that does not count.
    fn same_reduction(&self, goal: &ValueGoal, a: &Reduce, b: &Reduce, depth: usize) -> Option<Merge> {
        let orders = match reorderable(&a.op, a.body.ty(), goal.mode) {
            true => orders(b.binders.len()),
            false => vec![(0..b.binders.len()).collect()],
        };
        orders.into_iter().find_map(|order| self.same_in_order(goal, a, b, order, depth))
    }

    fn same_in_order(
        &self,
        goal: &ValueGoal,
        a: &Reduce,
        b: &Reduce,
        order: Vec<usize>,
        depth: usize,
    ) -> Option<Merge> {
        let mut fresh = above(goal);
        let (mut left, mut right, mut indices) = (Subst::new(), Subst::new(), Vec::new());
        let mut facts = goal.facts.to_vec();
        for (at, (x, &place)) in a.binders.iter().zip(&order).enumerate() {
            let y = &b.binders[place];
            // An extent may use the binders before it, in this order too.
            let later = |k: &usize| order[..at].iter().all(|done| done != k);
            if (0..order.len()).filter(later).any(|k| y.extent.mentions(&b.binders[k].sym)) {
                return None;
            }
            let extent = left.size(&x.extent);
            if !self.sizes.entails(&facts, &Cond::eq(&extent, &right.size(&y.extent))) {
                return None;
            }
            let sym = fresh.sym(&x.sym);
            let index = Size::sym(&sym);
            indices.push(sym);
            facts.push(Cond::within(&Size::zero(), &index, &extent));
            left = left.with_size(&x.sym, index.clone());
            right = right.with_size(&y.sym, index);
        }
        let (left, right) = (left.term(&a.body, &mut fresh), right.term(&b.body, &mut fresh));
        let inner =
            ValueGoal { facts: &facts, left: &left, right: &right, written: None, directed: false, ..*goal };
        match self.nested(&inner, depth + 1) {
            Ok(ValueAnswer::Equal(proof)) => {
                Some(Merge { first: a.clone(), second: b.clone(), order, indices, left, right, proof })
            }
            _ => None,
        }
    }
}

fn is_proved(answer: &Result<ValueAnswer, Reason>) -> bool {
    matches!(answer, Ok(ValueAnswer::Equal(_)))
}

fn proof_of(answer: Result<ValueAnswer, Reason>) -> Option<Proof> {
    match answer {
        Ok(ValueAnswer::Equal(proof)) => Some(proof),
        _ => None,
    }
}

fn rewritten(left: Vec<Rewrite>, right: Vec<Rewrite>, rest: Proof) -> Proof {
    match left.is_empty() && right.is_empty() {
        true => rest,
        false => Proof::Rewritten { left, right, rest: Box::new(rest) },
    }
}

/// The orders of up to three binders; of more only the one they have.
fn orders(count: usize) -> Vec<Vec<usize>> {
    match count {
        2 => vec![vec![0, 1], vec![1, 0]],
        3 => [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].map(Vec::from).to_vec(),
        _ => vec![(0..count).collect()],
    }
}

/// Ids above those of everything in the goal.
pub(crate) fn above(goal: &ValueGoal) -> Fresh {
    let span = goal.left.span();
    let mut syms = BTreeSet::new();
    goal.facts.iter().for_each(|fact| fact.collect_syms(&mut syms));
    let mut terms: Vec<Term> = syms.iter().map(|s| Term::size(Size::sym(s), span)).collect();
    terms.extend(goal.hypotheses.iter().chain([goal.left, goal.right]).cloned());
    Fresh::above(&terms)
}

/// The components of two reductions that both occur, as encoded; the second one's first.
fn paired(all: &[ReduceUse], first: &Reduce, second: &Reduce) -> Option<Vec<(Enc, Enc)>> {
    let whole = |r: &Reduce| Term::reduce(r.op.clone(), r.binders.clone(), r.body.clone(), r.body.span());
    let uses = |reduce: &Reduce| -> Vec<&ReduceUse> {
        let wanted = whole(reduce);
        all.iter().filter(|used| alpha_eq(&whole(&used.reduce), &wanted)).collect()
    };
    let (first, second) = (uses(first), uses(second));
    let components = first.iter().chain(&second).map(|used| used.component).collect::<BTreeSet<usize>>();
    let of =
        |uses: &[&ReduceUse], k: usize| uses.iter().find(|used| used.component == k).map(|used| used.enc);
    let pairs: Vec<(Enc, Enc)> =
        components.into_iter().filter_map(|k| Some((of(&second, k)?, of(&first, k)?))).collect();
    (!pairs.is_empty()).then_some(pairs)
}

/// Both sides encoded, before the question is put.
struct Sides {
    encoder: Encoder,
    left: Enc,
    right: Enc,
    /// Where an error leaves nothing to compare.
    excused: Id,
}

struct Question {
    encoder: Encoder,
    /// What the solver is to be asked, watching the values that the encoder's own question
    /// watches.
    asked: Query,
    /// The encoding alone shows that the sides agree.
    settled: bool,
}

fn encode(goal: &ValueGoal, sizes: &Arc<SizeSolver>) -> Result<Sides, Reason> {
    if let Mode::Close { .. } = goal.mode {
        return Err(unsupported("a proof of a numeric bound"));
    }
    let known = Known { facts: flatten(goal.facts), sizes: sizes.clone() };
    let mut encoder = Encoder::new(goal.mode, known);
    let yes = encoder.q.bool(true);
    for hypothesis in goal.hypotheses {
        encoder.assume(yes, hypothesis);
    }
    let mut fresh = above(goal);
    for (range, instance) in instances(goal.hypotheses, &[goal.left, goal.right], &mut fresh) {
        let (range, _) = encoder.sizes.cond(&mut encoder.q, &range);
        encoder.assume(range, &instance);
    }
    let (left, right) = (encoder.term(goal.left)?, encoder.term(goal.right)?);
    let no = encoder.q.bool(false);
    let mut excused = vec![left.err, right.err];
    if let Some((a, b)) = goal.written.filter(|_| excused != [no, no]) {
        excused = vec![encoder.term(a)?.err, encoder.term(b)?.err];
    }
    let excused = encoder.q.or(excused);
    Ok(Sides { encoder, left, right, excused })
}

impl Sides {
    /// Asserts that the sides disagree, under the equality of the `merged` pairs.
    fn finish(mut self, goal: &ValueGoal, merged: &[(Enc, Enc)]) -> Result<Question, Reason> {
        for (a, b) in merged {
            let excused = self.encoder.q.or([a.err, b.err]);
            let agree = agreement(&mut self.encoder, *a, *b, false, goal.errors, excused)?;
            self.encoder.q.assert(agree);
        }
        let excused = self.excused;
        let agree = agreement(&mut self.encoder, self.left, self.right, goal.directed, goal.errors, excused)?;
        self.encoder.close();
        let q = &mut self.encoder.q;
        let settled = q.known(agree) == Some(true);
        let differ = q.not(agree);
        q.assert(differ);
        watch(&mut self.encoder);
        let asked = self.encoder.q.of_integers().unwrap_or_else(|| self.encoder.q.clone());
        Ok(Question { encoder: self.encoder, asked, settled })
    }
}

/// When two encodings agree; see the head of this file.
fn agreement(
    encoder: &mut Encoder,
    a: Enc,
    b: Enc,
    directed: bool,
    errors: Errors,
    excused: Id,
) -> Result<Id, Reason> {
    let same = encoder.same(a, b)?;
    let q = &mut encoder.q;
    let values = if directed {
        let b_defined = q.not(b.bot);
        let right = q.and([b_defined, same]);
        q.or([a.bot, right])
    } else {
        let (bots, values) = (q.eq(a.bot, b.bot), q.or([a.bot, same]));
        q.and([bots, values])
    };
    Ok(match errors {
        Errors::Excluded => q.or([excused, values]),
        Errors::Compared if directed => {
            let b_works = q.not(b.err);
            let both = q.and([b_works, values]);
            q.or([a.err, both])
        }
        Errors::Compared => {
            let (errs, inside) = (q.eq(a.err, b.err), q.or([a.err, values]));
            q.and([errs, inside])
        }
    })
}

/// Watches symbols, then each read's index and value.
fn watch(encoder: &mut Encoder) {
    let mut ids: Vec<Id> = encoder.sizes.syms.values().copied().collect();
    for read in &encoder.reads {
        ids.extend(read.index.iter().chain([&read.value]));
    }
    for id in ids {
        encoder.q.watch(id);
    }
}

fn model(encoder: &Encoder, values: ModelValues) -> ValueModel {
    let value = |id: Id| {
        let place = encoder.q.watched.iter().position(|&watched| watched == id);
        place.and_then(|place| values.get(place)).cloned()
    };
    let int = |id: Id| match value(id) {
        Some(ModelValue::Int(value)) => Some(value),
        _ => None,
    };
    let mut model = ValueModel::default();
    for (sym, &id) in &encoder.sizes.syms {
        if let Some(value) = int(id) {
            model.syms.push((sym.clone(), value));
        }
    }
    for read in &encoder.reads {
        let index: Option<Vec<BigInt>> = read.index.iter().map(|&id| int(id)).collect();
        if let (Some(index), Some(value)) = (index, value(read.value)) {
            let read = ModelRead { var: read.var.clone(), index, value };
            if !model.reads.contains(&read) {
                model.reads.push(read);
            }
        }
    }
    model
}
