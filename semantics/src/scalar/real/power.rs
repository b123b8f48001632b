//! Roots and powers.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::super::{Exact, Fault, MAX_BITS};
use super::arith::{abs, add, mul, reciprocal};
use super::{Result, ends, signum, undecided, widened, within};

/// Exact at squares of rationals, undefined below zero.
pub fn sqrt(x: &Exact) -> Result<Exact> {
    if let Some(r) = x.as_rational() {
        if r.is_negative() {
            return Ok(Exact::Bottom);
        }
        if let Some(root) = rational_root(r) {
            return Exact::rational(root);
        }
    }
    match x {
        Exact::PosInf => Ok(Exact::PosInf),
        Exact::NegInf => Ok(Exact::Bottom),
        Exact::Interval(_, hi) if *hi < 0.0 => Ok(Exact::Bottom),
        Exact::Interval(lo, _) if *lo < 0.0 => undecided(format!("whether {x} has a root")),
        _ => {
            let (lo, hi) = ends(x);
            Ok(within(widened(lo.sqrt(), hi.sqrt()), 0.0, f64::INFINITY))
        }
    }
}

fn rational_root(r: &BigRational) -> Option<BigRational> {
    let (n, d) = (r.numer().sqrt(), r.denom().sqrt());
    let square = &n * &n == *r.numer() && &d * &d == *r.denom();
    square.then(|| BigRational::new_raw(n, d))
}

/// Undefined at zero, as the division is.
pub fn rsqrt(x: &Exact) -> Result<Exact> {
    match sqrt(x)? {
        Exact::Bottom => Ok(Exact::Bottom),
        root => reciprocal(&root),
    }
}

pub fn hypot(x: &Exact, y: &Exact) -> Result<Exact> {
    if x.is_infinite() || y.is_infinite() {
        return Ok(Exact::PosInf);
    }
    let (x, y) = (abs(x)?, abs(y)?);
    let squares = add(&mul(&x, &x)?, &mul(&y, &y)?)?;
    sqrt(&within(squares, 0.0, f64::INFINITY))
}

/// `x ** y`: `x ** 0` and `1 ** y` are 1; undefined at a zero base with a negative
/// exponent and at a negative base with an exponent that is no integer.
pub fn pow(x: &Exact, y: &Exact) -> Result<Exact> {
    if y.is_zero() || x.is_one() {
        return Ok(Exact::one());
    }
    if y.is_infinite() {
        return infinite_exponent(x, y);
    }
    match y.as_rational() {
        Some(n) if n.is_integer() => integer_power(x, n.numer()),
        Some(n) if x.is_infinite() => {
            let positive = matches!(x, Exact::PosInf);
            Ok(match (positive, n.is_positive()) {
                (false, _) => Exact::Bottom,
                (true, true) => Exact::PosInf,
                (true, false) => Exact::zero(),
            })
        }
        Some(n) if *n.denom() == BigInt::from(2) => {
            let root = sqrt(x)?;
            if root.is_bottom() { Ok(root) } else { integer_power(&root, n.numer()) }
        }
        _ => real_power(x, y),
    }
}

/// The limit of large exponents, where there is one.
fn infinite_exponent(x: &Exact, y: &Exact) -> Result<Exact> {
    if signum(x)?.is_lt() {
        return Ok(Exact::Bottom);
    }
    let grows = matches!(y, Exact::PosInf);
    match x.compare(&Exact::one()) {
        Some(Ordering::Equal) => Ok(Exact::one()),
        Some(order) if (order == Ordering::Greater) == grows => Ok(Exact::PosInf),
        Some(_) => Ok(Exact::zero()),
        None => undecided(format!("whether {x} exceeds 1")),
    }
    .map(|limit| if x.is_zero() && !grows { Exact::Bottom } else { limit })
}

fn integer_power(x: &Exact, n: &BigInt) -> Result<Exact> {
    let even = (n % BigInt::from(2)).is_zero();
    match x {
        Exact::Rational(r) => rational_power(r, n),
        Exact::PosInf | Exact::NegInf if n.is_negative() => Ok(Exact::zero()),
        Exact::NegInf if !even => Ok(Exact::NegInf),
        Exact::Interval(..) if n.is_negative() => reciprocal(&integer_power(x, &-n)?),
        // An exponent that an f64 does not hold.
        Exact::Interval(..) if n.bits() > 53 => undecided(format!("the power {n} of {x}")),
        Exact::Interval(lo, hi) => {
            let exponent = n.to_f64().unwrap_or(f64::INFINITY);
            let size = |end: f64| libm::pow(end.abs(), exponent);
            let (a, b) = (size(*lo), size(*hi));
            Ok(match (even, *lo >= 0.0, *hi <= 0.0) {
                (_, true, _) => within(widened(a, b), 0.0, f64::INFINITY),
                (true, _, true) => within(widened(b, a), 0.0, f64::INFINITY),
                (true, _, _) => within(widened(0.0, a.max(b)), 0.0, f64::INFINITY),
                (false, _, true) => widened(-a, -b),
                (false, _, _) => widened(-a, b),
            })
        }
        _ => Ok(Exact::PosInf),
    }
}

fn rational_power(r: &BigRational, n: &BigInt) -> Result<Exact> {
    let even = (n % BigInt::from(2)).is_zero();
    if r.is_zero() {
        return Ok(if n.is_negative() { Exact::Bottom } else { Exact::zero() });
    }
    if r.abs().is_one() {
        return Ok(if even { Exact::one() } else { Exact::rational(r.clone())? });
    }
    let too_long = || Fault::Limit(format!("the power {n} of an exact value"));
    let exponent = n.abs().to_u32().ok_or_else(too_long)?;
    if (r.numer().bits().max(r.denom().bits()) - 1) * u64::from(exponent) > MAX_BITS {
        return Err(too_long());
    }
    let power = BigRational::new_raw(r.numer().pow(exponent), r.denom().pow(exponent));
    Exact::rational(if n.is_negative() { power.recip() } else { power })
}

/// An exponent that is no integer, or not known exactly.
fn real_power(x: &Exact, y: &Exact) -> Result<Exact> {
    match x {
        Exact::PosInf => {
            return Ok(if signum(y)?.is_gt() { Exact::PosInf } else { Exact::zero() });
        }
        Exact::NegInf => return undecided(format!("a power {y} of -inf")),
        _ => {}
    }
    match (signum(x)?, y) {
        (Ordering::Less, Exact::Rational(_)) => Ok(Exact::Bottom),
        (Ordering::Less, _) => undecided(format!("whether {y} is an integer")),
        (Ordering::Equal, _) => Ok(if signum(y)?.is_lt() { Exact::Bottom } else { Exact::zero() }),
        (Ordering::Greater, _) => {
            let ((a, b), (c, d)) = (ends(x), ends(y));
            let all = [libm::pow(a, c), libm::pow(a, d), libm::pow(b, c), libm::pow(b, d)];
            let lo = all.into_iter().fold(f64::INFINITY, f64::min);
            let hi = all.into_iter().fold(0.0, f64::max);
            Ok(within(widened(lo, hi), 0.0, f64::INFINITY))
        }
    }
}

/// `2 ** x`, exact at integers.
pub fn exp2(x: &Exact) -> Result<Exact> {
    match x {
        Exact::PosInf => Ok(Exact::PosInf),
        Exact::NegInf => Ok(Exact::zero()),
        _ => match x.as_rational() {
            Some(n) if n.is_integer() => integer_power(&Exact::int(2), n.numer()),
            _ => {
                let (lo, hi) = ends(x);
                Ok(within(widened(libm::exp2(lo), libm::exp2(hi)), 0.0, f64::INFINITY))
            }
        },
    }
}
