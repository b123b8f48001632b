//! Quotients, exponentials and logarithms of real numbers, by equations that hold where every
//! number in them is finite:
//! * `1/(c f g) = 1/c * 1/f * 1/g` and `1/(1/f) = f`, `1/exp t = exp(-t)`, where `c` is not 0
//!   and the inverses are finite; `f * 1/f = 1`;
//! * `exp(a + b) = exp a * exp b`, `exp(c t) * exp(d t) = exp((c + d) t)`, `exp(log f) = f`;
//! * `log(c f g) = log c + log f + log g`, `log(1/f) = -log f`, `log(exp t) = t`, where `c` and
//!   every factor are positive.

use super::combine::{monomial, product, ratio};
use super::tame::number;
use super::{Check, Why, fail};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::term::{Form, Fun, Lit, Term};
use rtv_smt::{Algebra, Combining, Monomial};

impl Check<'_, '_> {
    /// Whether terms of the dtype are real numbers.
    pub fn calculates(&self, dtype: DType) -> bool {
        self.mode == Mode::Real && dtype.is_float()
    }

    /// What a real number is rewritten to in the ring: all its factors are finite.
    pub fn in_ring(&mut self, term: &Term, how: &Combining, facts: &[Cond]) -> Result<Term, Why> {
        let real = term.tensor_type().is_some_and(|ty| self.calculates(ty.dtype));
        match how {
            Combining::Combined { algebra: Algebra::Ring, .. } if real => self.combined(term, how, facts),
            _ => fail("a real number read in the ring"),
        }
    }

    /// The products of two sums of monomials, which are what `term` is.
    pub fn merged_product(
        &mut self,
        left: &[Monomial],
        right: &[Monomial],
        term: &Term,
    ) -> Result<Vec<Monomial>, Why> {
        if !self.calculates(term.dtype()) {
            return fail("real numbers");
        }
        let products = product(left, right)?.into_iter();
        Ok(products.map(|m| Monomial { factors: merged(m.factors), ..m }).collect())
    }

    /// `1/divisor`.
    pub fn inverse(&mut self, divisor: &Term, how: &Combining, facts: &[Cond]) -> Result<Monomial, Why> {
        let divisor = self.in_ring(divisor, how, facts)?;
        let (value, factors) = split(&divisor);
        if value.is_zero() {
            return fail("a divisor that is not 0");
        }
        let inverses: Vec<Term> = factors.iter().map(inverted).collect();
        let finite = |term: &Term| self.finite(term, facts);
        // `1/(1/f)` is `f` where both are finite, as the others are where the inverse is.
        match inverses.iter().all(finite) {
            true => Ok(monomial(value.recip(), inverses)),
            false => fail("a divisor that is not 0"),
        }
    }

    /// `exp` of a sum as a product.
    pub fn exponents(&mut self, exponent: &Term, how: &Combining, facts: &[Cond]) -> Result<Monomial, Why> {
        let exponent = self.in_ring(exponent, how, facts)?;
        let mut parts = Vec::new();
        summands(&exponent, &mut parts);
        let factor = |part: &Term| {
            let (value, rest) = scaled(part);
            match rest.form() {
                Form::Call(Fun::Scalar(Scalar::Log), args) if value.is_one() => args[0].clone(),
                _ => exponential(value, rest),
            }
        };
        Ok(monomial(BigRational::one(), merged(parts.iter().map(factor).collect())))
    }

    /// `log` of a product of positive numbers as a sum.
    pub fn logarithms(&mut self, argument: &Term, how: &Combining, facts: &[Cond]) -> Result<Term, Why> {
        let argument = self.in_ring(argument, how, facts)?;
        let (value, factors) = split(&argument);
        if !value.is_positive() || !factors.iter().all(|factor| self.is_positive(factor, facts)) {
            return fail("positive factors in a logarithm");
        }
        let (dtype, span) = (argument.dtype(), argument.span());
        let log = |of: Term| Term::scalar(Scalar::Log, vec![of], span);
        let mut parts = Vec::new();
        if !value.is_one() {
            parts.push(log(literal(&value, dtype, span)));
        }
        for factor in factors {
            parts.push(match (factor.form(), inverse_of(&factor)) {
                (Form::Call(Fun::Scalar(Scalar::Exp), args), _) => args[0].clone(),
                (_, Some(inner)) => Term::scalar(Scalar::Neg, vec![log(inner.clone())], span),
                _ => log(factor),
            });
        }
        let sum = parts.into_iter().reduce(|a, b| Term::scalar(Scalar::Add, vec![a, b], span));
        Ok(sum.unwrap_or_else(|| literal(&BigRational::zero(), dtype, span)))
    }
}

/// Factors with exponentials of multiples of one number as one, and `f * 1/f` gone. All are
/// finite: so of two exponentials whose exponents have different signs the number is, too.
pub fn merged(factors: Vec<Term>) -> Vec<Term> {
    let mut exponents: Vec<(BigRational, Term)> = Vec::new();
    let mut rest: Vec<Term> = Vec::new();
    for factor in factors {
        if let Form::Call(Fun::Scalar(Scalar::Exp), args) = factor.form() {
            let (value, exponent) = scaled(&args[0]);
            match exponents.iter_mut().find(|(_, other)| alpha_eq(other, &exponent)) {
                Some((sum, _)) => *sum += value,
                None => exponents.push((value, exponent)),
            }
            continue;
        }
        let is_inverse = |a: &Term, b: &Term| inverse_of(a).is_some_and(|inner| alpha_eq(inner, b));
        let beside = rest.iter().position(|other| is_inverse(&factor, other) || is_inverse(other, &factor));
        match beside {
            Some(at) => drop(rest.remove(at)),
            None => rest.push(factor),
        }
    }
    exponents.retain(|(value, _)| !value.is_zero());
    rest.extend(exponents.into_iter().map(|(value, exponent)| exponential(value, exponent)));
    rest
}

/// The inverse of one factor.
fn inverted(factor: &Term) -> Term {
    match (factor.form(), inverse_of(factor)) {
        (Form::Call(Fun::Scalar(Scalar::Exp), args), _) => {
            let (value, rest) = scaled(&args[0]);
            exponential(-value, rest)
        }
        (_, Some(inner)) => inner.clone(),
        _ => inverse(factor),
    }
}

/// `exp(value * exponent)`.
fn exponential(value: BigRational, exponent: Term) -> Term {
    let span = exponent.span();
    let argument = match value.is_one() {
        true => exponent,
        false => {
            let value = literal(&value, exponent.dtype(), span);
            match rational(&exponent).is_some_and(|one| one.is_one()) {
                true => value,
                false => Term::scalar(Scalar::Mul, vec![value, exponent], span),
            }
        }
    };
    Term::scalar(Scalar::Exp, vec![argument], span)
}

/// `1/f`.
pub fn inverse(factor: &Term) -> Term {
    let one = literal(&BigRational::one(), factor.dtype(), factor.span());
    Term::scalar(Scalar::Div, vec![one, factor.clone()], factor.span())
}

/// `f`, if the term is `1/f`.
pub fn inverse_of(term: &Term) -> Option<&Term> {
    let Form::Call(Fun::Scalar(Scalar::Div), args) = term.form() else { return None };
    let [one, inner] = args.as_slice() else { return None };
    (inner.dtype().is_float() && number(one).is_some_and(|one| one.is_one())).then_some(inner)
}

/// A product as its number and one other factor.
fn scaled(term: &Term) -> (BigRational, Term) {
    let (value, factors) = split(term);
    let span = term.span();
    let joined = factors.into_iter().reduce(|a, b| Term::scalar(Scalar::Mul, vec![a, b], span));
    (value, joined.unwrap_or_else(|| literal(&BigRational::one(), term.dtype(), span)))
}

/// The number and the other factors of a product.
pub fn split(term: &Term) -> (BigRational, Vec<Term>) {
    fn collect(term: &Term, value: &mut BigRational, factors: &mut Vec<Term>) {
        if let Some(constant) = rational(term) {
            *value *= constant;
            return;
        }
        match term.form() {
            Form::Call(Fun::Scalar(Scalar::Mul), args) => {
                args.iter().for_each(|a| collect(a, value, factors))
            }
            Form::Call(Fun::Scalar(Scalar::Neg), args) => {
                *value *= -BigRational::one();
                args.iter().for_each(|a| collect(a, value, factors));
            }
            _ => factors.push(term.clone()),
        }
    }
    let (mut value, mut factors) = (BigRational::one(), Vec::new());
    collect(term, &mut value, &mut factors);
    (value, factors)
}

/// The number that a literal or a quotient of literals is.
fn rational(term: &Term) -> Option<BigRational> {
    match term.form() {
        Form::Call(Fun::Scalar(Scalar::Div), args) if term.dtype().is_float() => ratio(args),
        _ => number(term),
    }
}

fn literal(value: &BigRational, dtype: DType, span: Span) -> Term {
    let whole = |n: &BigInt| Term::lit(Lit::Decimal(n.to_string().into()), dtype, span);
    match value.denom().is_one() {
        true => whole(value.numer()),
        false => Term::scalar(Scalar::Div, vec![whole(value.numer()), whole(value.denom())], span),
    }
}

/// The parts of a sum.
fn summands(term: &Term, into: &mut Vec<Term>) {
    match term.form() {
        Form::Call(Fun::Scalar(Scalar::Add), args) => args.iter().for_each(|a| summands(a, into)),
        _ => into.push(term.clone()),
    }
}
