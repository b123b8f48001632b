//! Inverses, exponentials and logarithms in the ring of reals.
//!
//! Each step is an equation of numbers, used only where all factors in it are shown to be
//! finite, defined and free of errors (that `1/f` is defined says that `f` is not 0):
//! * `1/(c f g) = 1/c * 1/f * 1/g`, `1/(1/f) = f`, `1/exp t = exp(-t)`, `f * 1/f = 1`;
//! * `exp(a + b) = exp a * exp b`, `exp(c t) * exp(d t) = exp((c + d) t)`, `exp(log f) = f`
//!   (that `log f` is finite says that `f > 0`);
//! * `log(f g) = log f + log g`, `log(1/f) = -log f`, `log(exp t) = t`, where every factor
//!   is shown to be positive.

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::term::{Form, Fun, Term};

use super::Normal;
use super::build::{coefficient, multiplied};
use super::monomial::{Monomial, Read, integer_literal, number_of};
use crate::proof::{Algebra, Combining, ReadAs};

impl Normal<'_> {
    /// The term as a polynomial in tame factors, whether it has reductions or not.
    fn polynomial(&mut self, term: &Term) -> Option<(Term, Combining)> {
        let read = self.monomials(term, &Algebra::Ring)?;
        Some(self.combined(read, Algebra::Ring, term))
    }

    /// A quotient or an exponential of reals as monomials.
    pub(super) fn calculated(&mut self, term: &Term) -> Option<Read> {
        let Form::Call(Fun::Scalar(fun), args) = term.form() else { return None };
        if !term.dtype().is_float() {
            return None;
        }
        match (fun, args.as_slice()) {
            (Scalar::Div, [a, b]) => {
                let (inverse, divisor) = self.inverse(b)?;
                let Read { monomials, how } = self.monomials(a, &Algebra::Ring)?;
                let products = monomials.iter().map(|m| m.product(&inverse)).collect();
                Some(Read::of(products, ReadAs::Quotient { dividend: Some(Box::new(how)), divisor }))
            }
            (Scalar::Reciprocal, [a]) => {
                let (inverse, divisor) = self.inverse(a)?;
                Some(Read::of(vec![inverse], ReadAs::Quotient { dividend: None, divisor }))
            }
            (Scalar::Exp, [a]) => self.exponential_of(a),
            _ => None,
        }
    }

    /// `1/divisor`, if the inverse of each of its factors is tame.
    fn inverse(&mut self, divisor: &Term) -> Option<(Monomial, Box<Combining>)> {
        let (divisor, how) = self.polynomial(divisor)?;
        let (number, factors) = split(&divisor);
        if number.is_zero() {
            return None;
        }
        let factors = factors.iter().map(|factor| self.inverted(factor)).collect::<Option<Vec<Term>>>()?;
        Some((Monomial { coefficient: number.recip(), ..Monomial::of(factors) }, Box::new(how)))
    }

    fn inverted(&self, factor: &Term) -> Option<Term> {
        if let Form::Call(Fun::Scalar(Scalar::Exp), args) = factor.form() {
            let (number, rest) = scaled(&args[0]);
            let inverse = exponential(-number, rest);
            return self.is_tame(&inverse).then_some(inverse);
        }
        if let Some(inner) = inverse_of(factor) {
            return (self.is_tame(inner) && self.is_tame(factor)).then(|| inner.clone());
        }
        let inverse = inverse(factor);
        self.is_tame(&inverse).then_some(inverse)
    }

    /// `exp` of a sum, so that a part without binders can leave a sum.
    fn exponential_of(&mut self, exponent: &Term) -> Option<Read> {
        let (exponent, how) = self.polynomial(exponent)?;
        let mut parts = Vec::new();
        summands(&exponent, &mut parts);
        let factors = parts.iter().map(|part| {
            let (number, rest) = scaled(part);
            match rest.form() {
                Form::Call(Fun::Scalar(Scalar::Log), args) if number.is_one() => args[0].clone(),
                _ => exponential(number, rest),
            }
        });
        let product = Monomial::of(merged(factors.collect()));
        Some(Read::of(vec![product], ReadAs::Exponents(Box::new(how))))
    }

    /// The logarithm of a product of positive numbers as a sum, and how the argument becomes
    /// the product.
    pub(super) fn logarithm(&mut self, argument: &Term) -> Option<(Term, Combining)> {
        let span = argument.span();
        let (argument, how) = self.polynomial(argument)?;
        let (number, factors) = split(&argument);
        let plain = number.is_one() && factors.len() == 1;
        if !number.is_positive() || !factors.iter().all(|factor| self.is_positive(factor)) {
            return None;
        }
        let log = |of: Term| Term::scalar(Scalar::Log, vec![of], span);
        let mut parts = Vec::new();
        if !number.is_one() {
            parts.push(log(coefficient(&number, argument.dtype(), span)));
        }
        for factor in &factors {
            parts.push(match (factor.form(), inverse_of(factor)) {
                (Form::Call(Fun::Scalar(Scalar::Exp), args), _) => args[0].clone(),
                (_, Some(inner)) => Term::scalar(Scalar::Neg, vec![log(inner.clone())], span),
                _ if plain => return None,
                _ => log(factor.clone()),
            });
        }
        let zero = || integer_literal(0.into(), argument.dtype(), span);
        let sum = parts.into_iter().reduce(|a, b| Term::scalar(Scalar::Add, vec![a, b], span));
        Some((sum.unwrap_or_else(zero), how))
    }
}

/// The factors with equal exponentials put together and `f * 1/f` gone.
pub(super) fn merged(factors: Vec<Term>) -> Vec<Term> {
    let mut exponents: Vec<(BigRational, Term)> = Vec::new();
    let mut rest: Vec<Term> = Vec::new();
    for factor in factors {
        if let Form::Call(Fun::Scalar(Scalar::Exp), args) = factor.form() {
            let (number, exponent) = scaled(&args[0]);
            match exponents.iter_mut().find(|(_, other)| alpha_eq(other, &exponent)) {
                Some((sum, _)) => *sum += number,
                None => exponents.push((number, exponent)),
            }
            continue;
        }
        let cancels = |other: &Term| {
            let inverse = |a: &Term, b: &Term| inverse_of(a).is_some_and(|inner| alpha_eq(inner, b));
            inverse(&factor, other) || inverse(other, &factor)
        };
        match rest.iter().position(cancels) {
            Some(at) => {
                rest.remove(at);
            }
            None => rest.push(factor),
        }
    }
    exponents.retain(|(number, _)| !number.is_zero());
    rest.extend(exponents.into_iter().map(|(number, exponent)| exponential(number, exponent)));
    rest
}

/// `exp(number * exponent)`.
fn exponential(number: BigRational, exponent: Term) -> Term {
    let span = exponent.span();
    let argument = match number.is_one() {
        true => exponent,
        false => {
            let number = coefficient(&number, exponent.dtype(), span);
            match number_of(&exponent).is_some_and(|one| one.is_one()) {
                true => number,
                false => Term::scalar(Scalar::Mul, vec![number, exponent], span),
            }
        }
    };
    Term::scalar(Scalar::Exp, vec![argument], span)
}

/// `1/f`.
pub(super) fn inverse(factor: &Term) -> Term {
    let one = integer_literal(1.into(), factor.dtype(), factor.span());
    Term::scalar(Scalar::Div, vec![one, factor.clone()], factor.span())
}

/// `f`, if the factor is `1/f`.
pub(super) fn inverse_of(factor: &Term) -> Option<&Term> {
    let Form::Call(Fun::Scalar(Scalar::Div), args) = factor.form() else { return None };
    let [one, inner] = args.as_slice() else { return None };
    number_of(one).is_some_and(|one| one.is_one()).then_some(inner)
}

/// A product as its number and the other factor; a number alone is that times 1.
fn scaled(term: &Term) -> (BigRational, Term) {
    let (number, factors) = split(term);
    (number, multiplied(factors, term.dtype(), term.span()))
}

/// The number and the other factors of a product.
fn split(term: &Term) -> (BigRational, Vec<Term>) {
    let (mut number, mut factors) = (BigRational::one(), Vec::new());
    collect(term, &mut number, &mut factors);
    (number, factors)
}

fn collect(term: &Term, number: &mut BigRational, factors: &mut Vec<Term>) {
    if let Some(value) = number_of(term) {
        *number *= value;
        return;
    }
    match term.form() {
        Form::Call(Fun::Scalar(Scalar::Mul), args) => args.iter().for_each(|a| collect(a, number, factors)),
        Form::Call(Fun::Scalar(Scalar::Neg), args) => {
            *number *= -BigRational::one();
            args.iter().for_each(|a| collect(a, number, factors));
        }
        _ => factors.push(term.clone()),
    }
}

/// The parts of a sum.
fn summands(term: &Term, into: &mut Vec<Term>) {
    match term.form() {
        Form::Call(Fun::Scalar(Scalar::Add), args) => args.iter().for_each(|a| summands(a, into)),
        _ => into.push(term.clone()),
    }
}
