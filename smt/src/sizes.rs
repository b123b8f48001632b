//! Entailment of conditions on sizes, and sizes as integer terms.
//!
//! Invariants: a symbol is an integer constant, at least zero unless it is a static
//! integer; `a // d` is a constant `q` with `d >= 1 => d*q <= a < d*q + d`, left
//! unconstrained at other divisors; a condition holds only where none of its divisors
//! is zero, as in evaluation. Dropping facts is sound: a question only carries those
//! that share symbols with the goal.

use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use num_bigint::BigInt;
use num_traits::One;
use rtv_semantics::arith::Arith;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::guess::counterexample;
use rtv_semantics::size::{Atom, Size, Sym};

use crate::query::{Id, Query, Sort};
use crate::solver::{Answer, Budget, ModelValue, Reason, Solver};

/// What is known about a question on sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SizeAnswer {
    /// Every assignment that satisfies the facts satisfies the goal.
    Entailed,
    /// An assignment that satisfies the facts and not the goal, or of which the solver
    /// thinks so, for the symbols it looked at; to be evaluated before it is believed.
    Model(Vec<(Sym, BigInt)>),
    Unknown(Reason),
}

/// Decides size conditions: by a guess that defeats them, the in-process engine, then the
/// solver.
pub struct SizeSolver {
    solver: Arc<Solver>,
    budget: Budget,
    /// By the facts that matter.
    cache: Mutex<FxHashMap<(Vec<Cond>, Cond), SizeAnswer>>,
    /// By goal and facts as they were asked, which saves looking for those that matter.
    asked: Mutex<FxHashMap<Cond, FxHashMap<Vec<Cond>, SizeAnswer>>>,
}

/// Goals that are kept as they were asked; then all are forgotten, which bounds the memory.
const MAX_ASKED: usize = 2_000;

impl SizeSolver {
    pub fn new(solver: Arc<Solver>, budget: Budget) -> SizeSolver {
        SizeSolver { solver, budget, cache: Mutex::default(), asked: Mutex::default() }
    }

    /// Does every assignment that satisfies `facts` satisfy `goal`?
    pub fn ask(&self, facts: &[Cond], goal: &Cond) -> SizeAnswer {
        let asked = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = asked().get(goal).and_then(|known| known.get(facts)) {
            return answer.clone();
        }
        let answer = self.about_relevant(facts, goal);
        if !passes(&answer) {
            let mut asked = asked();
            if asked.len() >= MAX_ASKED {
                asked.clear();
            }
            asked.entry(goal.clone()).or_default().insert(facts.to_vec(), answer.clone());
        }
        answer
    }

    fn about_relevant(&self, facts: &[Cond], goal: &Cond) -> SizeAnswer {
        let key = (relevant(facts, goal), goal.clone());
        let cache = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = cache().get(&key) {
            return answer.clone();
        }
        let guessed = counterexample(&key.0, goal);
        let answer = match guessed {
            Some(values) => SizeAnswer::Model(values.into_iter().map(|(s, v)| (s, v.into())).collect()),
            None if Arith.entails(&key.0, goal) => SizeAnswer::Entailed,
            None => self.solve(&key.0, goal),
        };
        if !passes(&answer) {
            cache().insert(key, answer.clone());
        }
        answer
    }

    /// The solver behind it, for questions that are not on sizes alone.
    pub(crate) fn solver(&self) -> &Solver {
        &self.solver
    }

    /// An assignment that satisfies all conditions, as [`SizeAnswer::Model`];
    /// `Entailed` means that there is none.
    pub fn satisfy(&self, conds: &[Cond]) -> SizeAnswer {
        let conds = flatten(conds);
        self.solve(&conds, &Cond::False)
    }

    fn solve(&self, facts: &[Cond], goal: &Cond) -> SizeAnswer {
        let (query, syms) = question(facts, goal);
        match self.solver.check(&query, self.budget) {
            Answer::Unsat => SizeAnswer::Entailed,
            Answer::Unknown(reason) => SizeAnswer::Unknown(reason),
            Answer::Sat(values) => {
                let read = |(sym, value)| match value {
                    ModelValue::Int(value) => Some((sym, value)),
                    _ => None,
                };
                SizeAnswer::Model(syms.into_iter().zip(values).filter_map(read).collect())
            }
        }
    }
}

/// Another time, what ran out of time or broke may end otherwise.
fn passes(answer: &SizeAnswer) -> bool {
    matches!(answer, SizeAnswer::Unknown(Reason::Timeout | Reason::Memory | Reason::Crash))
}

impl Entails for SizeSolver {
    fn entails(&self, facts: &[Cond], goal: &Cond) -> bool {
        self.ask(facts, goal) == SizeAnswer::Entailed
    }
}

/// The question whether `facts` and the negated goal have a common assignment, as
/// SMT-LIB text.
pub fn entailment_text(facts: &[Cond], goal: &Cond) -> String {
    question(&relevant(facts, goal), goal).0.to_smtlib()
}

/// The question, and its symbols in the order in which they are watched.
fn question(facts: &[Cond], goal: &Cond) -> (Query, Vec<Sym>) {
    let mut query = Query::new();
    let mut sizes = SizeTerms::default();
    for fact in facts {
        let (truth, _) = sizes.cond(&mut query, fact);
        query.assert(truth);
    }
    let (truth, _) = sizes.cond(&mut query, goal);
    let missed = query.not(truth);
    query.assert(missed);
    let mut watched = Vec::new();
    for (sym, &id) in &sizes.syms {
        query.watch(id);
        watched.push(sym.clone());
    }
    (query, watched)
}

/// Conjunctions taken apart, sorted, without repetition.
pub(crate) fn flatten(conds: &[Cond]) -> Vec<Cond> {
    fn walk(cond: &Cond, into: &mut BTreeSet<Cond>) {
        match cond {
            Cond::And(parts) => parts.iter().for_each(|part| walk(part, into)),
            Cond::True => {}
            other => {
                into.insert(other.clone());
            }
        }
    }
    let mut all = BTreeSet::new();
    conds.iter().for_each(|cond| walk(cond, &mut all));
    all.into_iter().collect()
}

/// The facts connected to the goal through common symbols (the cone of influence),
/// and those without symbols; all where the goal has none, and asks whether they contradict
/// each other.
fn relevant(facts: &[Cond], goal: &Cond) -> Vec<Cond> {
    let syms = |cond: &Cond| {
        let mut set = BTreeSet::new();
        cond.collect_syms(&mut set);
        set
    };
    let mut reached = syms(goal);
    if reached.is_empty() {
        return flatten(facts);
    }
    let mut rest: Vec<(Cond, BTreeSet<Sym>)> =
        flatten(facts).into_iter().map(|cond| (cond.clone(), syms(&cond))).collect();
    let mut kept = Vec::new();
    loop {
        let near = |set: &BTreeSet<Sym>| set.is_empty() || !set.is_disjoint(&reached);
        let (new, far): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, set)| near(set));
        if new.is_empty() {
            kept.sort();
            return kept;
        }
        for (cond, set) in new {
            reached.extend(set);
            kept.push(cond);
        }
        rest = far;
    }
}

/// Quotients of which it is looked whether another one divides what they are.
const MAX_TOGETHER: usize = 8;

/// What is divided, by what, and the constant.
type Quotient = (Size, Size, Id);

/// Sizes as integer terms of one query; each symbol and each division is one constant.
#[derive(Default)]
pub(crate) struct SizeTerms {
    pub(crate) syms: BTreeMap<Sym, Id>,
    atoms: FxHashMap<Atom, Id>,
    quotients: Vec<Quotient>,
    /// Quotients that would be another one where a condition holds, if they were met.
    awaited: Vec<(Atom, Id, Id)>,
}

impl SizeTerms {
    pub(crate) fn size(&mut self, q: &mut Query, size: &Size) -> Id {
        let mut sum = None;
        for (monomial, coefficient) in size.terms() {
            let mut product = None;
            for (atom, power) in monomial {
                let factor = self.atom(q, atom);
                for _ in 0..*power {
                    product = Some(product.map_or(factor, |p| q.mul(p, factor)));
                }
            }
            let term = match product {
                None => q.int(coefficient.clone()),
                Some(product) if *coefficient == BigInt::from(1) => product,
                Some(product) => {
                    let coefficient = q.int(coefficient.clone());
                    q.mul(coefficient, product)
                }
            };
            sum = Some(sum.map_or(term, |s| q.add(s, term)));
        }
        sum.unwrap_or_else(|| q.int(0))
    }

    /// The constant of a symbol; natural unless it is a static integer.
    pub(crate) fn sym(&mut self, q: &mut Query, sym: &Sym) -> Id {
        if let Some(&id) = self.syms.get(sym) {
            return id;
        }
        let name = format!("{} {:?}{}", sym.name(), sym.kind(), sym.id());
        let id = q.constant(&name, Sort::Int);
        if sym.is_natural() {
            let zero = q.int(0);
            let natural = q.le(zero, id);
            q.assert(natural);
        }
        self.syms.insert(sym.clone(), id);
        id
    }

    fn atom(&mut self, q: &mut Query, atom: &Atom) -> Id {
        if let Some(&id) = self.atoms.get(atom) {
            return id;
        }
        let id = match atom {
            Atom::Sym(sym) => return self.sym(q, sym),
            Atom::Min(a, b) | Atom::Max(a, b) => {
                let (a, b) = (self.size(q, a), self.size(q, b));
                let below = q.le(a, b);
                if matches!(atom, Atom::Min(..)) { q.ite(below, a, b) } else { q.ite(below, b, a) }
            }
            Atom::Div(dividend, divisor) => {
                let (a, d) = (self.size(q, dividend), self.size(q, divisor));
                let quotient = q.fresh("div", Sort::Int);
                let (one, product) = (q.int(1), q.mul(d, quotient));
                let (positive, low, next) = (q.le(one, d), q.le(product, a), q.add(product, d));
                let high = q.lt(a, next);
                let inside = q.and([low, high]);
                let definition = q.implies(positive, inside);
                q.assert(definition);
                self.atoms.insert(atom.clone(), quotient);
                for (_, outer, positive) in self.awaited.extract_if(.., |(whole, ..)| whole == atom) {
                    let equal = q.eq(outer, quotient);
                    let lemma = q.implies(positive, equal);
                    q.assert(lemma);
                }
                let own = (dividend.clone(), divisor.clone(), quotient);
                let known = self.quotients.clone();
                self.quotients.push(own.clone());
                for other in known.into_iter().take(MAX_TOGETHER) {
                    self.nested(q, &other, &own);
                    self.nested(q, &own, &other);
                }
                return quotient;
            }
        };
        self.atoms.insert(atom.clone(), id);
        id
    }

    /// Asserts that `(a - b d) // (m d)` is `(a // d - b) // m` at positive `d` and `m`, where the
    /// first quotient is `a // d` and the second divides so, and what that comes to times `d`: of
    /// products the solver knows little.
    fn nested(&mut self, q: &mut Query, (a, d, inner): &Quotient, (c, e, outer): &Quotient) {
        let (Some(m), Some(b)) = (e.exact_div(d), (a - c).exact_div(d)) else { return };
        let whole = (&Size::atom(Atom::Div(a.clone(), d.clone())) - &b).floor_div(&m);
        let [d, m, minus_b] = [d, &m, &-&b].map(|size| self.size(q, size));
        let (one, rest) = (q.int(1), q.add(*inner, minus_b));
        let positive = [q.le(one, d), q.le(one, m)];
        let positive = q.and(positive);
        let least = q.mul(m, *outer);
        let next = q.add(least, m);
        let (product, most) = (q.mul(d, least), q.mul(d, rest));
        let mut inside = vec![q.le(least, rest), q.lt(rest, next), q.le(product, most)];
        let mut atoms = whole.terms().iter().flat_map(|(monomial, _)| monomial).map(|(atom, _)| atom);
        match atoms.all(|atom| matches!(atom, Atom::Sym(_)) || self.atoms.contains_key(atom)) {
            true => {
                let quotient = self.size(q, &whole);
                inside.push(q.eq(*outer, quotient));
            }
            false => self.awaited.extend(as_atom(&whole).map(|atom| (atom.clone(), *outer, positive))),
        }
        let inside = q.and(inside);
        let lemma = q.implies(positive, inside);
        q.assert(lemma);
    }

    /// When a condition is true, and when it is false; where a division by zero is met
    /// (connectives are read left to right) it is neither.
    pub(crate) fn cond(&mut self, q: &mut Query, cond: &Cond) -> (Id, Id) {
        match cond {
            Cond::True | Cond::False => {
                let truth = q.bool(*cond == Cond::True);
                (truth, q.not(truth))
            }
            Cond::NonNeg(p) | Cond::Zero(p) | Cond::NonZero(p) => {
                let (value, zero) = (self.size(q, p), q.int(0));
                let truth = match cond {
                    Cond::NonNeg(_) => q.le(zero, value),
                    Cond::Zero(_) => q.eq(value, zero),
                    _ => {
                        let is_zero = q.eq(value, zero);
                        q.not(is_zero)
                    }
                };
                let (falsity, defined) = (q.not(truth), self.defined(q, p));
                (q.and([defined, truth]), q.and([defined, falsity]))
            }
            Cond::And(parts) => self.chain(q, parts, false),
            Cond::Or(parts) => self.chain(q, parts, true),
        }
    }

    /// A connective that stops at the first part with the truth value `stop`.
    fn chain(&mut self, q: &mut Query, parts: &[Cond], stop: bool) -> (Id, Id) {
        let (mut passed, mut stops) = (q.bool(true), Vec::new());
        for part in parts {
            let (truth, falsity) = self.cond(q, part);
            let (stopping, passing) = if stop { (truth, falsity) } else { (falsity, truth) };
            stops.push(q.and([passed, stopping]));
            passed = q.and([passed, passing]);
        }
        let stopped = q.or(stops);
        if stop { (stopped, passed) } else { (passed, stopped) }
    }

    /// No division of the size has a zero divisor.
    pub(crate) fn defined(&mut self, q: &mut Query, size: &Size) -> Id {
        let mut parts = Vec::new();
        for (atom, _) in size.terms().iter().flat_map(|(monomial, _)| monomial) {
            let (Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b)) = atom else {
                continue;
            };
            parts.push(self.defined(q, a));
            parts.push(self.defined(q, b));
            if matches!(atom, Atom::Div(..)) {
                let (divisor, zero) = (self.size(q, b), q.int(0));
                let is_zero = q.eq(divisor, zero);
                parts.push(q.not(is_zero));
            }
        }
        q.and(parts)
    }
}

/// The size as one atom.
fn as_atom(size: &Size) -> Option<&Atom> {
    match size.terms() {
        [(factors, one)] if one.is_one() => match factors.as_slice() {
            [(atom, 1)] => Some(atom),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtv_semantics::size::SymKind;

    fn syms() -> [Sym; 3] {
        [Sym::new(0, SymKind::Size, "N"), Sym::new(1, SymKind::Index, "i"), Sym::new(2, SymKind::Int, "p")]
    }

    fn size_solver() -> SizeSolver {
        let solver = Arc::new(Solver::start().expect("invariant: z3 starts"));
        SizeSolver::new(solver, Budget::OBLIGATION)
    }

    fn sizes() -> impl Strategy<Value = Size> {
        let leaf =
            prop_oneof![(-4i64..5).prop_map(Size::int), (0usize..3).prop_map(|k| Size::sym(&syms()[k])),];
        leaf.prop_recursive(3, 12, 2, |inner| {
            (0..6, inner.clone(), inner).prop_map(|(kind, a, b)| match kind {
                0 => &a + &b,
                1 => &a - &b,
                2 => &a * &b,
                3 => a.floor_div(&b),
                4 => a.minimum(&b),
                _ => a.maximum(&b),
            })
        })
    }

    fn conds() -> impl Strategy<Value = Cond> {
        let leaf = (0..3, sizes(), sizes()).prop_map(|(kind, a, b)| match kind {
            0 => Cond::le(&a, &b),
            1 => Cond::eq(&a, &b),
            _ => Cond::ne(&a, &b),
        });
        leaf.prop_recursive(2, 4, 2, |inner| {
            (any::<bool>(), inner.clone(), inner)
                .prop_map(|(both, a, b)| if both { Cond::and([a, b]) } else { Cond::or([a, b]) })
        })
    }

    /// All assignments of small values; static integers go below zero.
    fn assignments() -> Vec<[i128; 3]> {
        let mut all = Vec::new();
        for n in 0..6 {
            for i in 0..6 {
                all.extend((-3..6).map(|p| [n, i, p]));
            }
        }
        all
    }

    /// The truth of a condition, or `None` where it is undefined.
    fn holds(cond: &Cond, values: &[i128]) -> Option<bool> {
        cond.eval(&|sym| values.get(sym.id() as usize).copied())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 250, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn entailment_agrees_with_brute_force(
            facts in proptest::collection::vec(conds(), 0..3), goal in conds()
        ) {
            let answer = size_solver().solve(&relevant(&facts, &goal), &goal);
            let defeats = |values: &[i128; 3]| {
                facts.iter().all(|fact| holds(fact, values) == Some(true))
                    && holds(&goal, values) != Some(true)
            };
            let defeat = assignments().into_iter().find(defeats);
            match answer {
                SizeAnswer::Entailed => prop_assert_eq!(defeat, None),
                SizeAnswer::Unknown(_) => {}
                SizeAnswer::Model(model) => {
                    // Where every division is defined the model must be a true one.
                    let mut values = [0i128; 3];
                    for (sym, value) in &model {
                        if let Ok(small) = i64::try_from(value.clone()) {
                            values[sym.id() as usize] = small as i128;
                        }
                    }
                    let relevant = relevant(&facts, &goal);
                    let truth = |c: &Cond| holds(c, &values);
                    if relevant.iter().all(|c| truth(c).is_some()) && truth(&goal).is_some()
                        && model.iter().all(|(_, v)| i64::try_from(v.clone()).is_ok())
                        && positive_divisors(&relevant, &goal, &values)
                    {
                        prop_assert!(relevant.iter().all(|c| truth(c) == Some(true)));
                        prop_assert_eq!(truth(&goal), Some(false));
                    }
                }
            }
        }
    }

    fn positive_divisors(facts: &[Cond], goal: &Cond, values: &[i128]) -> bool {
        let fine = std::cell::Cell::new(true);
        let look = |size: &Size| {
            size.map_atoms(&|atom| {
                if let Atom::Div(_, d) = atom
                    && d.eval(&|sym| values.get(sym.id() as usize).copied()).unwrap_or(0) < 1
                {
                    fine.set(false);
                }
                None
            })
        };
        for cond in facts.iter().chain([goal]) {
            cond.map(&look);
        }
        fine.get()
    }

    #[test]
    fn a_division_needs_its_divisor_to_be_nonzero() {
        let [n, i, _] = syms();
        let (n, i) = (Size::sym(&n), Size::sym(&i));
        let solver = size_solver();
        let goal = Cond::le(&(&n * &i.floor_div(&n)), &i);
        assert!(!solver.entails(&[], &goal));
        assert!(solver.entails(&[Cond::le(&Size::one(), &n)], &goal));
    }

    #[test]
    fn row_major_indices_round_trip() {
        let [n, i, _] = syms();
        let (n, i) = (Size::sym(&n), Size::sym(&i));
        let j = Size::sym(&Sym::new(7, SymKind::Index, "j"));
        let facts = [Cond::lt(&i, &n)];
        let back = (&(&j * &n) + &i).floor_div(&n);
        assert!(size_solver().entails(&facts, &Cond::eq(&back, &j)));
    }

    #[test]
    fn a_quotient_of_a_quotient_is_one_by_the_product() {
        let [n, _, p] = syms();
        let (n, p, m) = (Size::sym(&n), Size::sym(&p), Size::sym(&Sym::new(7, SymKind::Size, "M")));
        let goal = |b: i64| {
            let inner = &p.floor_div(&n) - &Size::int(b);
            Cond::eq(&inner.floor_div(&m), &(&p - &n.scale(&b.into())).floor_div(&(&n * &m)))
        };
        let divided = Cond::eq(&p, &(&p.floor_div(&(&n * &m)) * &(&n * &m)));
        let by_one = Cond::eq(&p, &(&p.floor_div(&n) * &n));
        let (solver, positive) = (size_solver(), [Cond::le(&Size::one(), &n), Cond::le(&Size::one(), &m)]);
        for b in [0, 1, -3] {
            assert!(solver.entails(&positive, &goal(b)), "{b}");
            assert!(
                !solver.entails(&positive[..1], &goal(b)) && !solver.entails(&positive[1..], &goal(b)),
                "{b}"
            );
        }
        let given = [&positive[..], &[divided]].concat();
        assert!(solver.entails(&given, &by_one), "what the product divides each factor does");
        let given = [&positive[..], &[by_one]].concat();
        let whole = Cond::eq(&p, &(&p.floor_div(&(&n * &m)) * &(&n * &m)));
        assert!(!solver.entails(&given, &whole));
    }

    #[test]
    fn static_integers_may_be_negative_and_sizes_may_not() {
        let [n, _, p] = syms();
        let (n, p) = (Size::sym(&n), Size::sym(&p));
        let solver = size_solver();
        assert!(solver.entails(&[], &Cond::non_neg(n)));
        assert!(!solver.entails(&[], &Cond::non_neg(p)));
    }

    #[test]
    fn contradictory_facts_have_no_assignment() {
        let [n, ..] = syms();
        let n = Size::sym(&n);
        let solver = size_solver();
        let facts = [Cond::lt(&n, &Size::int(3)), Cond::lt(&Size::int(2), &n)];
        assert_eq!(solver.satisfy(&facts), SizeAnswer::Entailed);
        assert!(matches!(solver.satisfy(&facts[..1]), SizeAnswer::Model(_)));
    }
}
