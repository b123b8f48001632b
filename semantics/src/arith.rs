//! Entailment between conditions on sizes, in process: cheap, sound, incomplete.
//!
//! A goal is proved by refuting its negation beside the facts. The steps: solve
//! equations for symbols of coefficient one (divisibility facts by a witness),
//! simplify divisions, minima and maxima, then look for a nonnegative combination of
//! the facts, of products of facts with monomials, and of the defining inequalities
//! of divisions that is negative. What remains is split into cases. All work is
//! bounded; a limit met means "not entailed".

use crate::entail::{Cond, Entails};
use crate::linear::{self, Fuel, Row};
use crate::simplify;
use crate::size::{Atom, Monomial, Size, Sym, SymKind};
use crate::subst::Subst;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The in-process engine.
pub struct Arith;

/// Cases examined for one goal.
const CASES: u32 = 48;
/// Equations solved and rounds of simplification for one case.
const ROUNDS: usize = 24;
/// Inequalities taken into one linear system, products included.
const ROWS: usize = 96;
/// Work on one question: some hundredths of a second.
const FUEL: u64 = 3_000_000;
/// What a product of two terms costs beside a step of linear arithmetic.
const TERM: usize = 100;
/// Facts beyond this many are dropped.
const FACTS: usize = 64;

impl Entails for Arith {
    fn entails(&self, facts: &[Cond], goal: &Cond) -> bool {
        if is_evident(facts, goal) {
            return true;
        }
        if let Cond::And(parts) = goal {
            // What is proved helps with the rest.
            let mut known = facts.to_vec();
            return parts.iter().all(|g| {
                let holds = self.entails(&known, g);
                known.push(g.clone());
                holds
            });
        }
        let mut problem = Problem::about(facts, goal);
        problem.refuted(&mut Work { cases: CASES, fuel: Fuel::new(FUEL) })
    }
}

/// Whether a goal follows at once: it is among the facts, or the signs of its terms show it.
pub(crate) fn is_evident(facts: &[Cond], goal: &Cond) -> bool {
    match goal {
        Cond::True => true,
        Cond::NonNeg(p) if nonneg_by_sign(p, &is_natural_sym) => true,
        _ => facts.contains(goal),
    }
}

/// The engine without substitution and case splits, for the questions that arise
/// while a problem is being simplified: about the same facts, so that each is answered once.
struct Linear<'a> {
    facts: &'a [Cond],
    fuel: &'a Fuel,
    answers: RefCell<FxHashMap<Cond, bool>>,
}

/// What is left to spend on one question.
struct Work {
    cases: u32,
    fuel: Fuel,
}

impl Linear<'_> {
    fn shown(&self, facts: &[Cond], goal: &Cond) -> bool {
        match goal {
            Cond::True => true,
            Cond::And(parts) => parts.iter().all(|g| self.entails(facts, g)),
            Cond::Zero(p) => {
                self.entails(facts, &Cond::non_neg(p.clone())) && self.entails(facts, &Cond::non_neg(-p))
            }
            Cond::NonNeg(p) if nonneg_by_sign(p, &is_natural_sym) => true,
            Cond::NonNeg(_) => {
                let problem = Problem::about(facts, goal);
                problem.absurd || problem.linear_contradiction(self.fuel)
            }
            Cond::False | Cond::NonZero(_) | Cond::Or(_) => false,
        }
    }
}

impl Entails for Linear<'_> {
    fn entails(&self, facts: &[Cond], goal: &Cond) -> bool {
        debug_assert!(std::ptr::eq(facts, self.facts), "answers are about one list of facts");
        if let Some(known) = self.answers.borrow().get(goal) {
            return *known;
        }
        let answer = self.shown(facts, goal);
        self.answers.borrow_mut().insert(goal.clone(), answer);
        answer
    }
}

fn is_natural_sym(atom: &Atom) -> bool {
    matches!(atom, Atom::Sym(s) if s.is_natural())
}

/// Whether every value of the atoms that respects `natural` makes the monomial `>= 0`.
fn natural_monomial(monomial: &Monomial, natural: &dyn Fn(&Atom) -> bool) -> bool {
    monomial.iter().all(|(atom, power)| power % 2 == 0 || natural(atom))
}

fn nonneg_by_sign(p: &Size, natural: &dyn Fn(&Atom) -> bool) -> bool {
    p.terms().iter().all(|(m, c)| !c.is_negative() && natural_monomial(m, natural))
}

/// A conjunction to be shown unsatisfiable.
#[derive(Clone, Default)]
struct Problem {
    nonneg: Vec<Size>,
    zero: Vec<Size>,
    nonzero: Vec<Size>,
    choices: Vec<Vec<Cond>>,
    /// A part is false.
    absurd: bool,
    witnesses: u32,
}

impl Problem {
    /// The negated goal and the facts connected to it by symbols.
    fn about(facts: &[Cond], goal: &Cond) -> Problem {
        let mut problem = Problem::default();
        problem.assume(goal.clone().negated());
        let mut parts = Vec::new();
        facts.iter().for_each(|f| flatten(f, &mut parts));
        let mut reached = BTreeSet::new();
        goal.collect_syms(&mut reached);
        if reached.is_empty() {
            parts.iter().take(FACTS).for_each(|f| problem.assume((*f).clone()));
            return problem;
        }
        let mut pending: Vec<(BTreeSet<Sym>, &Cond)> = Vec::new();
        for part in parts {
            let mut syms = BTreeSet::new();
            part.collect_syms(&mut syms);
            pending.push((syms, part));
        }
        let mut taken = 0;
        loop {
            let (near, far): (Vec<_>, Vec<_>) =
                pending.into_iter().partition(|(syms, _)| !syms.is_disjoint(&reached));
            if near.is_empty() {
                return problem;
            }
            for (syms, part) in near {
                reached.extend(syms);
                taken += 1;
                if taken <= FACTS {
                    problem.assume(part.clone());
                }
            }
            pending = far;
        }
    }

    fn assume(&mut self, cond: Cond) {
        match cond {
            Cond::True => {}
            Cond::False => self.absurd = true,
            Cond::NonNeg(p) => push_new(&mut self.nonneg, p),
            Cond::Zero(p) => push_new(&mut self.zero, p),
            Cond::NonZero(p) => push_new(&mut self.nonzero, p),
            Cond::And(parts) => parts.into_iter().for_each(|c| self.assume(c)),
            Cond::Or(parts) => self.choices.push(parts),
        }
    }

    fn conds(&self) -> Vec<Cond> {
        let nonneg = self.nonneg.iter().cloned().map(Cond::NonNeg);
        nonneg.chain(self.zero.iter().cloned().map(Cond::Zero)).collect()
    }

    /// Replaces every size.
    fn rewrite(&mut self, f: &dyn Fn(&Size) -> Size) {
        let old = std::mem::take(self);
        self.absurd = old.absurd;
        self.witnesses = old.witnesses;
        old.nonneg.iter().for_each(|p| self.assume(Cond::non_neg(f(p))));
        old.zero.iter().for_each(|p| self.assume(Cond::eq(&f(p), &Size::zero())));
        old.nonzero.iter().for_each(|p| self.assume(Cond::ne(&f(p), &Size::zero())));
        for choice in old.choices {
            self.assume(Cond::or(choice.iter().map(|c| c.map(f))));
        }
    }

    fn refuted(&mut self, work: &mut Work) -> bool {
        self.close(&work.fuel);
        if self.absurd || self.linear_contradiction(&work.fuel) {
            return true;
        }
        let Some(branches) = self.split() else {
            return false;
        };
        for branch in branches {
            if work.cases == 0 || !work.fuel.spend(1) {
                return false;
            }
            work.cases -= 1;
            let mut case = self.clone();
            case.assume(branch);
            if !case.refuted(work) {
                return false;
            }
        }
        true
    }

    /// Solves equations, gives divisibility facts a witness, simplifies.
    fn close(&mut self, fuel: &Fuel) {
        let mut simplified = false;
        for _ in 0..ROUNDS {
            if self.absurd {
                return;
            }
            if let Some((sym, value)) = self.zero.iter().find_map(solved) {
                self.rewrite(&|p| p.subst(&|s| (*s == sym).then(|| value.clone())));
                if sym.is_natural() {
                    self.assume(Cond::non_neg(value));
                }
            } else if let Some((atom, dividend, divisor)) = self.divisibility() {
                let witness = Size::sym(&self.witness());
                self.rewrite(&|p| p.map_atoms(&|a| (*a == atom).then(|| witness.clone())));
                self.assume(Cond::eq(&dividend, &(&divisor * &witness)));
                if self.natural(&dividend) {
                    self.assume(Cond::non_neg(witness));
                }
            } else if !simplified && self.structured() {
                simplified = true;
                self.simplify(fuel);
            } else {
                return;
            }
        }
    }

    fn witness(&mut self) -> Sym {
        self.witnesses += 1;
        Sym::new(u32::MAX - self.witnesses, SymKind::Int, "\0witness")
    }

    /// An equation `a - d*(a // d) == 0` with `d >= 1`.
    fn divisibility(&self) -> Option<(Atom, Size, Size)> {
        self.zero.iter().find_map(|p| {
            p.terms().iter().flat_map(|(m, _)| m).find_map(|(atom, _)| {
                let Atom::Div(a, d) = atom else { return None };
                let rest = a - &(d * &Size::atom(atom.clone()));
                let fits = (*p == rest || *p == -&rest) && self.positive(d);
                // Without a symbol to solve for, the witness only renames the quotient.
                (fits && solved(a).is_some()).then(|| (atom.clone(), a.clone(), d.clone()))
            })
        })
    }

    fn structured(&self) -> bool {
        let sizes = self.nonneg.iter().chain(&self.zero).chain(&self.nonzero);
        sizes.clone().any(|p| p.terms().iter().flat_map(|(m, _)| m).any(|(a, _)| !matches!(a, Atom::Sym(_))))
            || !self.choices.is_empty()
    }

    /// Simplifies under the facts. Old forms stay: what decided a minimum may be the
    /// very fact that it stands in.
    fn simplify(&mut self, fuel: &Fuel) {
        let facts = self.conds();
        let old = self.clone();
        let engine = Linear { facts: &facts, fuel, answers: RefCell::default() };
        self.rewrite(&|p| simplify::size(p, &facts, &engine));
        if self.absurd {
            return;
        }
        old.nonneg.into_iter().for_each(|p| push_new(&mut self.nonneg, p));
        old.zero.into_iter().for_each(|p| push_new(&mut self.zero, p));
    }

    /// Cases that cover everything, if something is left to split.
    fn split(&mut self) -> Option<Vec<Cond>> {
        if let Some(k) = (0..self.choices.len()).min_by_key(|k| self.choices[*k].len()) {
            return Some(self.choices.remove(k));
        }
        let sizes = self.nonneg.iter().chain(&self.zero).chain(&self.nonzero);
        let mut atoms = BTreeSet::new();
        sizes.for_each(|p| structured_atoms(p, &mut atoms));
        let undecided = atoms.into_iter().find_map(|atom| match atom {
            Atom::Min(a, b) | Atom::Max(a, b) => {
                let (low, high) = (Cond::le(&a, &b), Cond::le(&b, &a));
                let known = |c: &Cond| match c {
                    Cond::NonNeg(p) => self.nonneg.contains(p),
                    _ => true,
                };
                (!known(&low) && !known(&high)).then(|| vec![low, high])
            }
            _ => None,
        });
        if undecided.is_some() || self.nonzero.is_empty() {
            return undecided;
        }
        let p = self.nonzero.remove(0);
        Some(vec![Cond::non_neg(&p - &Size::one()), Cond::non_neg(&-&p - &Size::one())])
    }

    /// `p >= 0` by the signs of its terms or by one fact.
    fn natural(&self, p: &Size) -> bool {
        // Atoms of facts count by kind only, else two facts could vouch for each other.
        nonneg_by_sign(p, &|a: &Atom| self.natural_atom(a))
            || self.nonneg.iter().any(|f| nonneg_by_sign(&(p - f), &is_natural_sym))
    }

    fn natural_atom(&self, atom: &Atom) -> bool {
        let given = || {
            let value = Size::atom(atom.clone());
            self.nonneg.iter().any(|f| nonneg_by_sign(&(&value - f), &is_natural_sym))
        };
        match atom {
            Atom::Sym(s) => s.is_natural() || given(),
            Atom::Div(a, d) => (self.natural(a) && self.positive(d)) || given(),
            Atom::Min(a, b) => (self.natural(a) && self.natural(b)) || given(),
            Atom::Max(a, b) => self.natural(a) || self.natural(b) || given(),
        }
    }

    /// `d >= 1`: as a fact, or since a product of positive factors is a term of it.
    fn positive(&self, d: &Size) -> bool {
        let natural = |a: &Atom| is_natural_sym(a);
        let positive_atom = |atom: &Atom| {
            let less = &Size::atom(atom.clone()) - &Size::one();
            self.nonneg.iter().any(|f| nonneg_by_sign(&(&less - f), &natural))
        };
        let less = d - &Size::one();
        nonneg_by_sign(&less, &natural)
            || self.nonneg.iter().any(|f| nonneg_by_sign(&(&less - f), &natural))
            || (nonneg_by_sign(d, &natural)
                && d.terms().iter().any(|(m, _)| m.iter().all(|(a, _)| positive_atom(a))))
    }

    fn linear_contradiction(&self, fuel: &Fuel) -> bool {
        let mut rows = self.nonneg.clone();
        for p in &self.zero {
            rows.extend([p.clone(), -p]);
        }
        let terms: usize = rows.iter().map(|p| p.terms().len()).sum();
        if rows.is_empty() || !fuel.spend(TERM * terms) {
            return false;
        }
        let mut known = BTreeMap::new();
        self.definitions(&mut rows, &mut known);
        let natural = |a: &Atom| known.get(a).copied().unwrap_or_else(|| is_natural_sym(a));
        rows.truncate(ROWS);
        if system_infeasible(&rows, &natural, fuel) {
            return true;
        }
        let before = rows.len();
        add_products(&mut rows, &natural, fuel);
        rows.len() > before && system_infeasible(&rows, &natural, fuel)
    }

    /// Adds what divisions, minima and maxima satisfy, and notes which atoms are natural.
    fn definitions(&self, rows: &mut Vec<Size>, known: &mut BTreeMap<Atom, bool>) {
        let mut atoms = BTreeSet::new();
        rows.iter().for_each(|p| structured_atoms(p, &mut atoms));
        for p in rows.iter() {
            for (atom, _) in p.terms().iter().flat_map(|(m, _)| m) {
                if let Atom::Sym(s) = atom
                    && !s.is_natural()
                    && !known.contains_key(atom)
                {
                    known.insert(atom.clone(), self.natural_atom(atom));
                }
            }
        }
        for atom in atoms {
            let value = Size::atom(atom.clone());
            match &atom {
                Atom::Sym(_) => {}
                Atom::Div(a, d) if self.positive(d) => {
                    let rest = a - &(d * &value);
                    rows.push(&(d - &Size::one()) - &rest);
                    rows.push(rest);
                }
                Atom::Div(..) => {}
                Atom::Min(a, b) => rows.extend([a - &value, b - &value]),
                Atom::Max(a, b) => rows.extend([&value - a, &value - b]),
            }
            known.insert(atom.clone(), self.natural_atom(&atom));
        }
        self.positive_monomials(rows);
        rows.retain(|p| !p.is_zero());
    }

    /// Adds `m >= 1` for products of factors that are.
    fn positive_monomials(&self, rows: &mut Vec<Size>) {
        let mut positive: BTreeMap<&Atom, bool> = BTreeMap::new();
        let mut found = BTreeSet::new();
        for (m, _) in rows.iter().flat_map(|p| p.terms()).filter(|(m, _)| degree(m) >= 2) {
            let mut factors = m.iter().map(|(atom, _)| atom);
            if factors
                .all(|atom| *positive.entry(atom).or_insert_with(|| self.positive(&Size::atom(atom.clone()))))
            {
                found.insert(&monomial_size(m) - &Size::one());
            }
        }
        rows.extend(found);
    }
}

/// The equations among the facts, and those that follow from two bounds, solved for
/// symbols, one after the other: the substitution changes no value under the facts.
pub(crate) fn solutions(facts: &[Cond]) -> Subst {
    let mut parts = Vec::new();
    facts.iter().for_each(|f| flatten(f, &mut parts));
    let mut open = Vec::new();
    for part in &parts {
        match part {
            Cond::Zero(p) => open.push(p.clone()),
            // What is not negative adds up to something not positive: all of it is 0.
            Cond::NonNeg(p) if nonneg_by_sign(&-p, &is_natural_sym) => {
                let atoms = p.terms().iter().map(|(m, _)| m.as_slice());
                open.extend(atoms.filter_map(|m| match m {
                    [(atom, _)] => Some(Size::atom(atom.clone())),
                    _ => None,
                }));
            }
            Cond::NonNeg(p) if parts.contains(&&Cond::NonNeg(-p)) => open.push(p.clone()),
            _ => {}
        }
    }
    let mut found: Vec<(Sym, Size)> = Vec::new();
    while let Some((sym, value)) = open.iter().find_map(solved) {
        let step = Subst::new().with_size(&sym, value.clone());
        open = open.iter().map(|p| step.size(p)).collect();
        found.iter_mut().for_each(|(_, v)| *v = step.size(v));
        found.push((sym, value));
    }
    found.into_iter().fold(Subst::new(), |s, (sym, value)| s.with_size(&sym, value))
}

fn push_new(list: &mut Vec<Size>, p: Size) {
    if !list.contains(&p) {
        list.push(p);
    }
}

fn flatten<'a>(cond: &'a Cond, into: &mut Vec<&'a Cond>) {
    match cond {
        Cond::And(parts) => parts.iter().for_each(|c| flatten(c, into)),
        other => into.push(other),
    }
}

/// `sym = value` from an equation in which the symbol has coefficient one (after
/// division by the content) and stands nowhere else.
fn solved(p: &Size) -> Option<(Sym, Size)> {
    let content = p.terms().iter().fold(BigInt::zero(), |g, (_, c)| g.gcd(c));
    p.terms().iter().find_map(|(m, c)| {
        let [(Atom::Sym(sym), 1)] = m.as_slice() else {
            return None;
        };
        if c.abs() != content {
            return None;
        }
        let rest = p - &Size::sym(sym).scale(c);
        if rest.mentions(sym) {
            return None;
        }
        let sign = if c.is_negative() { BigInt::one() } else { -BigInt::one() };
        Some((sym.clone(), divided(&rest, &content).scale(&sign)))
    })
}

/// Exact division of all coefficients.
fn divided(p: &Size, by: &BigInt) -> Size {
    p.floor_div(&Size::int(by.clone()))
}

/// The divisions, minima and maxima in `p`, those inside others included.
fn structured_atoms(p: &Size, into: &mut BTreeSet<Atom>) {
    for (atom, _) in p.terms().iter().flat_map(|(m, _)| m) {
        if let Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b) = atom
            && into.insert(atom.clone())
        {
            structured_atoms(a, into);
            structured_atoms(b, into);
        }
    }
}

/// Products of rows with monomials that occur as cofactors: `f >= 0` and a natural
/// `k` give `f*k >= 0`. Also products of two rows that bring nothing new.
fn add_products(rows: &mut Vec<Size>, natural: &dyn Fn(&Atom) -> bool, fuel: &Fuel) {
    let monomials: BTreeSet<&Monomial> = rows.iter().flat_map(|p| p.terms().iter().map(|(m, _)| m)).collect();
    let high: Vec<&Monomial> = monomials.iter().copied().filter(|m| degree(m) >= 2).collect();
    if high.is_empty() {
        return;
    }
    let novelty = |p: &Size| p.terms().iter().filter(|(m, _)| !monomials.contains(m)).count();
    let mut found: BTreeSet<(usize, Size)> = BTreeSet::new();
    for row in rows.iter() {
        let mut tried = BTreeSet::new();
        for (m, _) in row.terms().iter().filter(|(m, _)| !m.is_empty()) {
            for cofactor in high.iter().filter_map(|h| quotient(h, m)) {
                if natural_monomial(&cofactor, natural)
                    && tried.insert(cofactor.clone())
                    && fuel.spend(TERM * row.terms().len())
                {
                    let product = row * &monomial_size(&cofactor);
                    found.insert((novelty(&product), product));
                }
            }
        }
    }
    for (k, f) in rows.iter().enumerate().take(16) {
        for g in rows[..k].iter().filter(|g| g.terms().len() * f.terms().len() <= 24) {
            let product = f * g;
            if novelty(&product) == 0 {
                found.insert((0, product));
            }
        }
    }
    let room = ROWS.saturating_sub(rows.len());
    let extra: Vec<Size> =
        found.into_iter().filter(|(new, _)| *new <= 2).take(room).map(|(_, p)| p).collect();
    rows.extend(extra);
}

fn degree(monomial: &Monomial) -> u32 {
    monomial.iter().map(|(_, power)| power).sum()
}

/// `whole / part`, if it divides and is not 1.
pub(crate) fn quotient(whole: &Monomial, part: &Monomial) -> Option<Monomial> {
    let mut rest: BTreeMap<&Atom, u32> = whole.iter().map(|(a, p)| (a, *p)).collect();
    for (atom, power) in part {
        let left = rest.get_mut(atom)?;
        *left = left.checked_sub(*power)?;
    }
    let rest: Monomial = rest.into_iter().filter(|(_, p)| *p > 0).map(|(a, p)| (a.clone(), p)).collect();
    (!rest.is_empty()).then_some(rest)
}

pub(crate) fn monomial_size(monomial: &Monomial) -> Size {
    monomial.iter().fold(Size::one(), |product, (atom, power)| {
        let factor = Size::atom(atom.clone());
        (0..*power).fold(product, |product, _| &product * &factor)
    })
}

fn system_infeasible(sizes: &[Size], natural: &dyn Fn(&Atom) -> bool, fuel: &Fuel) -> bool {
    let mut unknowns: BTreeMap<&Monomial, usize> = BTreeMap::new();
    let mut signs = Vec::new();
    let mut rows = Vec::new();
    for size in sizes {
        let mut row = Row { coefficients: Vec::new(), constant: 0 };
        let mut fits = true;
        for (m, c) in size.terms() {
            let Some(c) = c.to_i128().filter(|c| c.unsigned_abs() < 1 << 64) else {
                fits = false;
                break;
            };
            if m.is_empty() {
                row.constant = c;
                continue;
            }
            let unknown = *unknowns.entry(m).or_insert_with(|| {
                signs.push(natural_monomial(m, natural));
                signs.len() - 1
            });
            row.coefficients.push((unknown, c));
        }
        if fits {
            rows.push(row.tightened());
        }
    }
    linear::infeasible(&rows, &signs, fuel)
}
