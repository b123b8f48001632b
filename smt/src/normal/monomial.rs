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
use rtv_semantics::types::Type;

use super::field::merged;
use super::{Normal, ranges};
use crate::cases::{decided, first_condition, is_total};
use crate::encode::divisors;
use crate::proof::{Algebra, Combining, ReadAs, Reading, Tame};

/// Monomials of one combination.
const MAX_MONOMIALS: usize = 48;

/// Conditions that one factor is split at.
const MAX_SPLITS: usize = 6;

impl Algebra {
    pub fn op(&self) -> Monoid {
        match self {
            Algebra::Ring => Monoid::Sum,
            Algebra::Monoid(op) => op.clone(),
        }
    }

    /// Whether its laws are about values only: finite, defined and free of errors.
    pub fn is_of_values(&self) -> bool {
        *self == Algebra::Ring || self.op().declared().is_some()
    }

    /// Whether an element counts once, however often it is there.
    pub fn is_idempotent(&self) -> bool {
        matches!(self.op(), Monoid::Max | Monoid::Min | Monoid::Any | Monoid::All)
    }
}

/// `reduce over binders of (if guards then coefficient * factors else neutral)`.
#[derive(Clone, Debug)]
pub struct Monomial {
    pub binders: Vec<Binder>,
    pub guards: Vec<Cond>,
    pub coefficient: BigRational,
    pub factors: Vec<Term>,
}

/// The monomials of a term, and how they were read.
pub(super) struct Read {
    pub monomials: Vec<Monomial>,
    pub how: Reading,
}

impl Read {
    pub fn of(monomials: Vec<Monomial>, how: ReadAs) -> Read {
        Read { monomials, how: Reading { how, kept: None } }
    }

    /// The monomials of two terms.
    fn joined(mut self, other: Read, how: fn(Box<Reading>, Box<Reading>) -> ReadAs) -> Read {
        self.monomials.extend(other.monomials);
        Read::of(self.monomials, how(Box::new(self.how), Box::new(other.how)))
    }

    /// Only the monomials that count, which `keep` finds.
    fn restricted(mut self, keep: Vec<usize>) -> Read {
        if keep.len() < self.monomials.len() {
            self.monomials = keep.iter().map(|&at| self.monomials[at].clone()).collect();
            self.how.kept = Some(keep);
        }
        self
    }

    fn opposite(mut self) -> Read {
        for monomial in &mut self.monomials {
            monomial.coefficient = -monomial.coefficient.clone();
        }
        self
    }
}

impl Monomial {
    pub(super) fn of(factors: Vec<Term>) -> Monomial {
        Monomial { binders: Vec::new(), guards: Vec::new(), coefficient: BigRational::one(), factors }
    }

    fn number(coefficient: BigRational) -> Monomial {
        Monomial { coefficient, ..Monomial::of(Vec::new()) }
    }

    fn times(&self, other: &Monomial) -> Monomial {
        Monomial {
            binders: [self.binders.as_slice(), &other.binders].concat(),
            guards: [self.guards.as_slice(), &other.guards].concat(),
            coefficient: &self.coefficient * &other.coefficient,
            factors: [self.factors.as_slice(), &other.factors].concat(),
        }
    }

    /// The product, with inverses cancelled and exponentials put together.
    pub(super) fn product(&self, other: &Monomial) -> Monomial {
        let product = self.times(other);
        Monomial { factors: merged(product.factors), ..product }
    }

    /// The same reduced over further binders, outside of its own.
    pub(super) fn over(mut self, binders: &[Binder]) -> Monomial {
        self.binders.splice(0..0, binders.iter().cloned());
        self
    }

    /// The number 1.
    pub(super) fn is_one(&self) -> bool {
        self.coefficient.is_one()
            && self.binders.is_empty()
            && self.guards.is_empty()
            && self.factors.is_empty()
    }

    /// Whether a symbol occurs, which is none of its own binders.
    pub(super) fn mentions(&self, sym: &Sym) -> bool {
        self.factors.iter().any(|f| free_syms(f).contains(sym))
            || self.guards.iter().any(|g| g.mentions(sym))
            || self.binders.iter().any(|b| b.extent.mentions(sym))
    }
}

impl Normal<'_> {
    /// The term as a combination; `None` if it is too large or a factor is not fit for
    /// the algebra.
    pub(super) fn monomials(&mut self, term: &Term, algebra: &Algebra) -> Option<Read> {
        let mut read = self.read(term, algebra)?;
        let counts = |at: &usize| *algebra != Algebra::Ring || !read.monomials[*at].coefficient.is_zero();
        let keep = (0..read.monomials.len()).filter(counts).collect();
        read = read.restricted(keep);
        if algebra.is_idempotent() {
            let keep = distinct(&read.monomials);
            read = read.restricted(keep);
        }
        self.spend(read.monomials.len())?;
        (read.monomials.len() <= MAX_MONOMIALS).then_some(read)
    }

    /// Takes from the work allowed.
    fn spend(&mut self, work: usize) -> Option<()> {
        let left = self.work.checked_sub(work);
        self.work = left.unwrap_or(0);
        left.map(|_| ())
    }

    fn read(&mut self, term: &Term, algebra: &Algebra) -> Option<Read> {
        self.spend(1)?;
        match term.form() {
            Form::Reduce(reduce) if reduce.op == algebra.op() => return self.reduction(reduce, algebra),
            Form::If(cond, then, other) => {
                if let Some(cond) = cond.as_cond().filter(|cond| self.total(cond)) {
                    return self.branches(&cond, then, other, algebra);
                }
            }
            Form::Call(Fun::Scalar(fun), args) => match (fun, args.as_slice(), algebra) {
                (fun, [a, b], _) if algebra.op().scalar() == Some(*fun) => return self.both(a, b, algebra),
                (Scalar::LogicalAnd, [a, b], Algebra::Monoid(Monoid::Any))
                | (Scalar::LogicalOr, [a, b], Algebra::Monoid(Monoid::All)) => {
                    if let Some((cond, other)) = self.beside_condition(a, b) {
                        let neutral = algebra.op().neutral(&Type::scalar(DType::Bool), term.span());
                        return match fun {
                            Scalar::LogicalAnd => self.branches(&cond, other, &neutral, algebra),
                            _ => self.branches(&cond, &neutral, other, algebra),
                        };
                    }
                }
                (Scalar::Sub, [a, b], &Algebra::Ring) => {
                    let left = self.monomials(a, algebra)?;
                    return Some(left.joined(self.monomials(b, algebra)?.opposite(), ReadAs::Difference));
                }
                (Scalar::Neg, [a], &Algebra::Ring) => {
                    let Read { monomials, how } = self.monomials(a, algebra)?.opposite();
                    return Some(Read::of(monomials, ReadAs::Opposite(Box::new(how))));
                }
                // What hangs on a condition is split at it before: see `factor`.
                (Scalar::Div | Scalar::Reciprocal | Scalar::Exp, [.., last], &Algebra::Ring)
                    if self.field && first_condition(last).is_none() =>
                {
                    if let Some(read) = self.calculated(term) {
                        return Some(read);
                    }
                }
                (Scalar::Exp, [a], &Algebra::Ring) if !self.field && term.dtype().is_float() => {
                    if let Some(split) = self.exponential(a) {
                        return Some(split);
                    }
                }
                (Scalar::Mul, [a, b], &Algebra::Ring) => {
                    return self.multiplied(a, b, algebra);
                }
                _ => {}
            },
            Form::Call(Fun::Combine(monoid), args) if algebra.op().declared() == Some(monoid) => {
                return self.both(&args[0], &args[1], algebra);
            }
            Form::Call(Fun::Cast(dtype), args) if *algebra == Algebra::Ring => {
                if let Some(size) = args[0].as_size().filter(|size| divisors(size).is_empty()) {
                    return Some(Read::of(converted(size, *dtype, term.span()), ReadAs::Size));
                }
            }
            Form::Lit(_) | Form::Tuple(_)
                if alpha_eq(term, &algebra.op().neutral(term.ty(), term.span())) =>
            {
                return Some(Read::of(Vec::new(), ReadAs::Neutral));
            }
            Form::Lit(lit) => {
                if let Some(number) = number(lit, term.dtype()) {
                    match algebra {
                        Algebra::Ring => {
                            return Some(Read::of(vec![Monomial::number(number)], ReadAs::Number));
                        }
                        // A zero is dropped: the sign of zero does not count in the
                        // modes that reorder floats.
                        Algebra::Monoid(Monoid::Sum) if number.is_zero() => {
                            return Some(Read::of(Vec::new(), ReadAs::Neutral));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        self.factor(term, algebra)
    }

    fn both(&mut self, a: &Term, b: &Term, algebra: &Algebra) -> Option<Read> {
        let left = self.monomials(a, algebra)?;
        Some(left.joined(self.monomials(b, algebra)?, ReadAs::Both))
    }

    fn multiplied(&mut self, a: &Term, b: &Term, algebra: &Algebra) -> Option<Read> {
        let (left, right) = (self.monomials(a, algebra)?, self.monomials(b, algebra)?);
        if left.monomials.len() * right.monomials.len() > MAX_MONOMIALS {
            return None;
        }
        let times = if self.field { Monomial::product } else { Monomial::times };
        let pairs = left.monomials.iter().flat_map(|m| right.monomials.iter().map(|n| times(m, n)));
        let how = if self.field { ReadAs::Merged } else { ReadAs::Product };
        Some(Read::of(pairs.collect(), how(Box::new(left.how), Box::new(right.how))))
    }

    /// `exp(a - b) = exp(a) * exp(-b)` for finite `a` and `b`, so that a part without
    /// binders can leave a sum.
    fn exponential(&mut self, exponent: &Term) -> Option<Read> {
        let mut parts = Vec::new();
        summands(exponent, false, &mut parts);
        if parts.len() < 2 || !parts.iter().all(|part| self.is_tame(part)) {
            return None;
        }
        let exp = |part: Term| {
            let span = part.span();
            Term::scalar(Scalar::Exp, vec![part], span)
        };
        let (parts, how): (Vec<Term>, Vec<Combining>) = parts.iter().map(|part| self.inside(part)).unzip();
        let factors = parts.into_iter().map(exp).collect();
        Some(Read::of(vec![Monomial::of(factors)], ReadAs::Exponential(how)))
    }

    fn reduction(&mut self, reduce: &Reduce, algebra: &Algebra) -> Option<Read> {
        let (binders, body) = self.opened(reduce);
        let Read { monomials: inner, how } =
            self.given(ranges(&binders), |normal| normal.monomials(&body, algebra))?;
        let (mut all, mut narrowing) = (Vec::new(), Vec::new());
        for mut monomial in inner {
            monomial.binders.splice(0..0, binders.iter().cloned());
            let (parts, steps) = self.narrowed(monomial, algebra)?;
            all.extend(parts);
            narrowing.push(steps);
        }
        Some(Read::of(all, ReadAs::Reduction { binders, body: Box::new(how), narrowing }))
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

    fn branches(&mut self, cond: &Cond, then: &Term, other: &Term, algebra: &Algebra) -> Option<Read> {
        let (mut all, mut readings) = (Vec::new(), [None, None]);
        let cases = [(cond.clone(), then), (cond.clone().negated(), other)];
        for ((guard, branch), reading) in cases.into_iter().zip(&mut readings) {
            if self.holds(&guard.clone().negated()) {
                continue;
            }
            let inside = self.given(vec![guard.clone()], |normal| normal.monomials(branch, algebra))?;
            *reading = Some(Box::new(inside.how));
            all.extend(inside.monomials.into_iter().map(|mut monomial| {
                // First what leads here: an inner condition may only have a value under it.
                monomial.guards.insert(0, guard.clone());
                monomial
            }));
        }
        let [holds, fails] = readings;
        Some(Read::of(all, ReadAs::Branches { cond: cond.clone(), holds, fails }))
    }

    /// Anything else is one factor, split at the conditions on sizes inside it.
    fn factor(&mut self, term: &Term, algebra: &Algebra) -> Option<Read> {
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
            let (whole, inner) = match whole.form() {
                Form::Reduce(_) => self.term(whole),
                _ => self.inside(whole),
            };
            if self.field && *algebra == Algebra::Ring && is_composed(&whole) && !is_composed(term) {
                let Read { monomials, how } = self.monomials(&whole, algebra)?;
                return Some(Read::of(monomials, ReadAs::After(Box::new(inner), Box::new(how))));
            }
            let tame = self.fit(&whole, algebra)?;
            return Some(Read::of(
                vec![Monomial::of(vec![whole])],
                ReadAs::Factor { inner: Box::new(inner), tame },
            ));
        }
        let (mut monomials, mut readings) = (Vec::new(), Vec::new());
        for (guards, term) in all {
            let inner = self.given(guards.clone(), |normal| normal.monomials(&term, algebra))?;
            monomials.extend(inner.monomials.into_iter().map(|mut monomial| {
                monomial.guards.splice(0..0, guards.iter().cloned());
                monomial
            }));
            readings.push((guards, inner.how));
        }
        Some(Read::of(monomials, ReadAs::Split(readings)))
    }

    /// In a ring and a declared monoid a factor must be finite, defined and free of errors,
    /// for all symbols that satisfy the facts; why it is, where that is asked.
    fn fit(&self, factor: &Term, algebra: &Algebra) -> Option<Option<Tame>> {
        if algebra.is_of_values() { self.tame(factor).map(Some) } else { Some(None) }
    }

    /// Whether no division in a condition can fail under the facts.
    pub(super) fn total(&self, cond: &Cond) -> bool {
        is_total(cond, &self.facts, &*self.sizes)
    }
}

/// The parts of a sum, each with its sign.
fn summands(term: &Term, negative: bool, into: &mut Vec<Term>) {
    let span = term.span();
    match term.form() {
        Form::Call(Fun::Scalar(Scalar::Add), args) => args.iter().for_each(|a| summands(a, negative, into)),
        Form::Call(Fun::Scalar(Scalar::Sub), args) if args.len() == 2 => {
            summands(&args[0], negative, into);
            summands(&args[1], !negative, into);
        }
        Form::Call(Fun::Scalar(Scalar::Neg), args) => args.iter().for_each(|a| summands(a, !negative, into)),
        _ if negative => into.push(Term::scalar(Scalar::Neg, vec![term.clone()], span)),
        _ => into.push(term.clone()),
    }
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

/// The places of what is not there anyhow: copies, or nothing, of an element that another
/// monomial is, can go.
fn distinct(monomials: &[Monomial]) -> Vec<usize> {
    let plain = |m: &Monomial| m.binders.is_empty() && m.guards.is_empty();
    let element = |m: &Monomial| m.factors.first().filter(|_| plain(m)).cloned();
    let mut kept: Vec<usize> = (0..monomials.len()).collect();
    let mut at = 0;
    while let Some(&place) = kept.get(at) {
        let monomial = &monomials[place];
        let copies = monomial.factors.first().filter(|factor| {
            let syms = free_syms(factor);
            monomial.binders.iter().all(|b| !syms.contains(&b.sym))
        });
        let is = |other: &usize, f: &Term| {
            *other != place && element(&monomials[*other]).is_some_and(|o| alpha_eq(&o, f))
        };
        if copies.is_some_and(|f| kept.iter().any(|other| is(other, f))) {
            kept.remove(at);
        } else {
            at += 1;
        }
    }
    kept
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
