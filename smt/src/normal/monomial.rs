//! Monomials, and reading a term as a combination of them.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::{Domain, Exact, Scalar, Value};
use rtv_semantics::size::{Atom, Size, Sym};
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::{Binder, Form, Fun, Lit, Monoid, Reduce, Term};

use super::field::merged;
use super::{Normal, ranges};
use crate::cases::{decided, first_condition, is_total};
use crate::encode::divisors;

/// Monomials of one combination.
const MAX_MONOMIALS: usize = 48;

/// Conditions that one factor is split at.
const MAX_SPLITS: usize = 6;

/// How monomials combine; see the head of `normal`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Algebra {
    Ring,
    Monoid(Monoid),
}

impl Algebra {
    pub fn op(self) -> Monoid {
        match self {
            Algebra::Ring => Monoid::Sum,
            Algebra::Monoid(op) => op,
        }
    }

    /// Whether an element counts once, however often it is there.
    pub fn is_idempotent(self) -> bool {
        matches!(self.op(), Monoid::Max | Monoid::Min | Monoid::Any | Monoid::All)
    }
}

/// `reduce over binders of (if guards then coefficient * factors else neutral)`.
#[derive(Clone, Debug)]
pub(super) struct Monomial {
    pub binders: Vec<Binder>,
    pub guards: Vec<Cond>,
    pub coefficient: BigRational,
    pub factors: Vec<Term>,
}

impl Monomial {
    pub fn of(factors: Vec<Term>) -> Monomial {
        Monomial { binders: Vec::new(), guards: Vec::new(), coefficient: BigRational::one(), factors }
    }

    fn number(coefficient: BigRational) -> Monomial {
        Monomial { coefficient, ..Monomial::of(Vec::new()) }
    }

    pub fn times(&self, other: &Monomial) -> Monomial {
        Monomial {
            binders: [self.binders.as_slice(), &other.binders].concat(),
            guards: [self.guards.as_slice(), &other.guards].concat(),
            coefficient: &self.coefficient * &other.coefficient,
            factors: merged([self.factors.as_slice(), &other.factors].concat()),
        }
    }

    /// The same reduced over further binders, outside of its own.
    pub fn over(mut self, binders: &[Binder]) -> Monomial {
        self.binders.splice(0..0, binders.iter().cloned());
        self
    }

    /// The number 1.
    pub fn is_one(&self) -> bool {
        self.coefficient.is_one()
            && self.binders.is_empty()
            && self.guards.is_empty()
            && self.factors.is_empty()
    }

    /// Whether a symbol occurs, which is none of its own binders.
    pub fn mentions(&self, sym: &Sym) -> bool {
        self.factors.iter().any(|f| free_syms(f).contains(sym))
            || self.guards.iter().any(|g| g.mentions(sym))
            || self.binders.iter().any(|b| b.extent.mentions(sym))
    }
}

impl Normal<'_> {
    /// The term as a combination; `None` if it is too large or a factor is not fit for
    /// the algebra.
    pub(super) fn monomials(&mut self, term: &Term, algebra: Algebra) -> Option<Vec<Monomial>> {
        let mut all = self.read(term, algebra)?;
        all.retain(|monomial| algebra != Algebra::Ring || !monomial.coefficient.is_zero());
        if algebra.is_idempotent() {
            absorb(&mut all);
        }
        self.spend(all.len())?;
        (all.len() <= MAX_MONOMIALS).then_some(all)
    }

    /// Takes from the work allowed.
    fn spend(&mut self, work: usize) -> Option<()> {
        let left = self.work.checked_sub(work);
        self.work = left.unwrap_or(0);
        left.map(|_| ())
    }

    fn read(&mut self, term: &Term, algebra: Algebra) -> Option<Vec<Monomial>> {
        self.spend(1)?;
        match term.form() {
            Form::Reduce(reduce) if reduce.op == algebra.op() => return self.reduction(reduce, algebra),
            Form::If(cond, then, other) => {
                if let Some(cond) = cond.as_cond().filter(|cond| self.total(cond)) {
                    return self.branches(&cond, then, other, algebra);
                }
            }
            Form::Call(Fun::Scalar(fun), args) => match (fun, args.as_slice(), algebra) {
                (fun, [a, b], _) if *fun == algebra.op().scalar() => {
                    let mut all = self.monomials(a, algebra)?;
                    all.extend(self.monomials(b, algebra)?);
                    return Some(all);
                }
                (Scalar::LogicalAnd, [a, b], Algebra::Monoid(Monoid::Any))
                | (Scalar::LogicalOr, [a, b], Algebra::Monoid(Monoid::All)) => {
                    if let Some((cond, other)) = self.beside_condition(a, b) {
                        let neutral = algebra.op().neutral(DType::Bool, term.span());
                        return match fun {
                            Scalar::LogicalAnd => self.branches(&cond, other, &neutral, algebra),
                            _ => self.branches(&cond, &neutral, other, algebra),
                        };
                    }
                }
                (Scalar::Sub, [a, b], Algebra::Ring) => {
                    let mut all = self.monomials(a, algebra)?;
                    all.extend(negated(self.monomials(b, algebra)?));
                    return Some(all);
                }
                (Scalar::Neg, [a], Algebra::Ring) => return Some(negated(self.monomials(a, algebra)?)),
                // What hangs on a condition is split at it before: see `factor`.
                (Scalar::Exp, [a], Algebra::Ring) if is_field(term) && first_condition(a).is_none() => {
                    if let Some(split) = self.exponential(a) {
                        return Some(vec![split]);
                    }
                }
                (Scalar::Mul, [a, b], Algebra::Ring) => {
                    let (left, right) = (self.monomials(a, algebra)?, self.monomials(b, algebra)?);
                    if left.len() * right.len() > MAX_MONOMIALS {
                        return None;
                    }
                    let pairs = left.iter().flat_map(|m| right.iter().map(|n| m.times(n)));
                    return Some(pairs.collect());
                }
                (Scalar::Div, [a, b], Algebra::Ring) if is_field(term) && first_condition(b).is_none() => {
                    if let Some(inverse) = self.inverse(b) {
                        let all = self.monomials(a, algebra)?;
                        return Some(all.iter().map(|m| m.times(&inverse)).collect());
                    }
                }
                (Scalar::Reciprocal, [a], Algebra::Ring)
                    if is_field(term) && first_condition(a).is_none() =>
                {
                    if let Some(inverse) = self.inverse(a) {
                        return Some(vec![inverse]);
                    }
                }
                _ => {}
            },
            Form::Call(Fun::Cast(dtype), args) if algebra == Algebra::Ring => {
                if let Some(size) = args[0].as_size().filter(|size| divisors(size).is_empty()) {
                    return Some(converted(size, *dtype, term.span()));
                }
            }
            Form::Lit(_) if alpha_eq(term, &algebra.op().neutral(term.dtype(), term.span())) => {
                return Some(Vec::new());
            }
            Form::Lit(lit) => {
                if let Some(number) = number(lit, term.dtype()) {
                    match algebra {
                        Algebra::Ring => return Some(vec![Monomial::number(number)]),
                        // A zero is dropped: the sign of zero does not count in the
                        // modes that reorder floats.
                        Algebra::Monoid(Monoid::Sum) if number.is_zero() => return Some(Vec::new()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        self.factor(term, algebra)
    }

    fn reduction(&mut self, reduce: &Reduce, algebra: Algebra) -> Option<Vec<Monomial>> {
        let (binders, body) = self.opened(reduce);
        let inner = self.given(ranges(&binders), |normal| normal.monomials(&body, algebra))?;
        let mut all = Vec::new();
        for monomial in inner {
            all.extend(self.narrowed(monomial.over(&binders), algebra)?);
        }
        Some(all)
    }

    /// The operand that is a condition on sizes, and the other one if it may stay out where
    /// the condition decides: it is neither undefined nor an error.
    fn beside_condition<'t>(&self, a: &'t Term, b: &'t Term) -> Option<(Cond, &'t Term)> {
        let pair = |a: &Term, b: &'t Term| {
            let cond = a.as_cond().filter(|cond| self.total(cond))?;
            self.is_tame(b).then_some((cond, b))
        };
        pair(a, b).or_else(|| pair(b, a))
    }

    fn branches(
        &mut self,
        cond: &Cond,
        then: &Term,
        other: &Term,
        algebra: Algebra,
    ) -> Option<Vec<Monomial>> {
        let mut all = Vec::new();
        for (guard, branch) in [(cond.clone(), then), (cond.clone().negated(), other)] {
            if self.holds(&guard.clone().negated()) {
                continue;
            }
            let inside = self.given(vec![guard.clone()], |normal| normal.monomials(branch, algebra))?;
            all.extend(inside.into_iter().map(|mut monomial| {
                // First what leads here: an inner condition may only have a value under it.
                monomial.guards.insert(0, guard.clone());
                monomial
            }));
        }
        Some(all)
    }

    /// Anything else is one factor, split at the conditions on sizes inside it.
    fn factor(&mut self, term: &Term, algebra: Algebra) -> Option<Vec<Monomial>> {
        let mut splits = 0;
        let mut pending = vec![(Vec::new(), term.clone())];
        let mut all = Vec::new();
        while let Some((guards, term)) = pending.pop() {
            match first_condition(&term).filter(|cond| splits < MAX_SPLITS && self.total(cond)) {
                Some(cond) => {
                    splits += 1;
                    for truth in [false, true] {
                        let mut inner: Vec<Cond> = guards.clone();
                        inner.push(if truth { cond.clone() } else { cond.clone().negated() });
                        pending.push((inner, decided(&term, &cond, truth)));
                    }
                }
                None => all.push((guards, term)),
            }
        }
        if let [(guards, whole)] = all.as_slice()
            && guards.is_empty()
        {
            // A reduction by another function has a normal form of its own.
            let whole = match whole.form() {
                Form::Reduce(_) => self.term(whole),
                _ => self.inside(whole),
            };
            if algebra == Algebra::Ring && is_composed(&whole) && !is_composed(term) {
                return self.monomials(&whole, algebra);
            }
            return self.fit(&whole, algebra).then(|| vec![Monomial::of(vec![whole])]);
        }
        let mut monomials = Vec::new();
        for (guards, term) in all {
            let inner = self.given(guards.clone(), |normal| normal.monomials(&term, algebra))?;
            monomials.extend(inner.into_iter().map(|mut monomial| {
                monomial.guards.splice(0..0, guards.iter().cloned());
                monomial
            }));
        }
        Some(monomials)
    }

    /// In a ring a factor must be finite, defined and free of errors, for all symbols
    /// that satisfy the facts.
    fn fit(&self, factor: &Term, algebra: Algebra) -> bool {
        algebra != Algebra::Ring || self.is_tame(factor)
    }

    /// Whether no division in a condition can fail under the facts.
    pub(super) fn total(&self, cond: &Cond) -> bool {
        is_total(cond, &self.facts, &*self.sizes)
    }
}

/// Whether the ring is that of the reals.
fn is_field(term: &Term) -> bool {
    term.dtype().is_float()
}

/// Whether the ring looks inside the term.
fn is_composed(term: &Term) -> bool {
    use Scalar::{Add, Div, Mul, Neg, Sub};
    let inside = |fun: &Scalar| matches!(fun, Add | Sub | Mul | Neg | Div);
    matches!(term.form(), Form::Lit(_))
        || matches!(term.form(), Form::Call(Fun::Scalar(fun), _) if inside(fun))
}

/// A converted size, term by term: conversion respects sums and products, over the reals and
/// where integers wrap.
fn converted(size: &Size, dtype: DType, span: Span) -> Vec<Monomial> {
    let parts = size.terms().iter().map(|(monomial, coefficient)| {
        let factor = |atom: &Atom| Term::cast(dtype, Term::size(Size::atom(atom.clone()), span), span);
        let powers = monomial.iter().flat_map(|(atom, power)| (0..*power).map(move |_| factor(atom)));
        let coefficient = BigRational::from(coefficient.clone());
        Monomial { coefficient, ..Monomial::of(powers.collect()) }
    });
    parts.collect()
}

/// Drops what is there anyhow: copies, or nothing, of an element that another monomial is.
fn absorb(monomials: &mut Vec<Monomial>) {
    let elements = |monomials: &[Monomial]| -> Vec<Option<Term>> {
        let plain = |m: &Monomial| m.binders.is_empty() && m.guards.is_empty();
        monomials.iter().map(|m| m.factors.first().filter(|_| plain(m)).cloned()).collect()
    };
    let mut at = 0;
    while let Some(monomial) = monomials.get(at) {
        let copies = monomial.factors.first().filter(|factor| {
            let syms = free_syms(factor);
            monomial.binders.iter().all(|b| !syms.contains(&b.sym))
        });
        let others = elements(monomials);
        let there = |f: &Term| {
            others
                .iter()
                .enumerate()
                .any(|(k, other)| k != at && other.as_ref().is_some_and(|o| alpha_eq(o, f)))
        };
        if copies.is_some_and(there) {
            monomials.remove(at);
        } else {
            at += 1;
        }
    }
}

fn negated(mut monomials: Vec<Monomial>) -> Vec<Monomial> {
    for monomial in &mut monomials {
        monomial.coefficient = -monomial.coefficient.clone();
    }
    monomials
}

/// The number that a literal or a quotient of literals is.
pub(crate) fn number_of(term: &Term) -> Option<BigRational> {
    match term.form() {
        Form::Lit(lit) => number(lit, term.dtype()),
        Form::Call(Fun::Scalar(Scalar::Div), args) if args.len() == 2 && term.dtype().is_float() => {
            let (numer, denom) = (number_of(&args[0])?, number_of(&args[1])?);
            (!denom.is_zero()).then(|| numer / denom)
        }
        _ => None,
    }
}

/// The rational number that a literal is.
fn number(lit: &Lit, dtype: DType) -> Option<BigRational> {
    match (lit, dtype.category()) {
        (Lit::Int(n), Category::Int | Category::Float) => Some(BigRational::from(n.clone())),
        (Lit::Decimal(text), Category::Float) => {
            match Value::literal(text, DType::F64, Domain::Exact).ok()? {
                Value::Exact(Exact::Rational(value)) => Some((*value).clone()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A literal of a whole number.
pub(super) fn integer_literal(n: BigInt, dtype: DType, span: Span) -> Term {
    match dtype.category() {
        Category::Float => Term::lit(Lit::Decimal(n.to_string().into()), dtype, span),
        _ => {
            // Modulo two to the width, in the range of the dtype.
            let modulus = BigInt::one() << dtype.bits();
            let (least, _) = dtype.int_range().unwrap_or((0, 0));
            let least = BigInt::from(least);
            let rest = (&n - &least) % &modulus;
            let rest = if rest < BigInt::zero() { rest + modulus } else { rest };
            Term::lit(Lit::Int(rest + least), dtype, span)
        }
    }
}
