//! Ring operations, order and rounding to integers.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, Zero};

use super::super::{Exact, small};
use super::{Result, ends, signum, undecided};

pub fn add(x: &Exact, y: &Exact) -> Result<Exact> {
    use Exact::*;
    Ok(match (x, y) {
        (Rational(a), Rational(b)) => return Exact::rational(small::sum(a, b)),
        (PosInf, NegInf) | (NegInf, PosInf) => Bottom,
        (PosInf, _) | (_, PosInf) => PosInf,
        (NegInf, _) | (_, NegInf) => NegInf,
        _ if x.is_zero() => y.clone(),
        _ if y.is_zero() => x.clone(),
        _ => {
            let ((a, b), (c, d)) = (ends(x), ends(y));
            Exact::interval((a + c).next_down(), (b + d).next_up())
        }
    })
}

pub fn sub(x: &Exact, y: &Exact) -> Result<Exact> {
    add(x, &neg(y)?)
}

pub fn neg(x: &Exact) -> Result<Exact> {
    Ok(match x {
        Exact::Rational(r) => return Exact::rational(-&**r),
        Exact::Interval(lo, hi) => Exact::Interval(-hi, -lo),
        Exact::PosInf => Exact::NegInf,
        Exact::NegInf => Exact::PosInf,
        Exact::Bottom => Exact::Bottom,
    })
}

pub fn mul(x: &Exact, y: &Exact) -> Result<Exact> {
    if let (Some(a), Some(b)) = (x.as_rational(), y.as_rational()) {
        return Exact::rational(small::product(a, b));
    }
    if x.is_infinite() || y.is_infinite() {
        let (a, b) = (signum(x)?, signum(y)?);
        let zero = a.is_eq() || b.is_eq();
        return Ok(if zero { Exact::Bottom } else { Exact::infinity(a != b) });
    }
    if x.is_zero() || y.is_zero() {
        return Ok(Exact::zero());
    }
    if x.is_one() {
        return Ok(y.clone());
    }
    if y.is_one() {
        return Ok(x.clone());
    }
    Ok(corners(ends(x), ends(y), |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }))
}

/// The hull of a correctly rounded operation that is monotone in each argument.
pub(super) fn corners(x: (f64, f64), y: (f64, f64), f: impl Fn(f64, f64) -> f64) -> Exact {
    let all = [f(x.0, y.0), f(x.0, y.1), f(x.1, y.0), f(x.1, y.1)];
    let lo = all.into_iter().fold(f64::INFINITY, f64::min);
    let hi = all.into_iter().fold(f64::NEG_INFINITY, f64::max);
    // Where no corner is negative the value is not either.
    let positive = all.into_iter().all(f64::is_sign_positive);
    Exact::interval(if positive { lo.next_down().max(0.0) } else { lo.next_down() }, hi.next_up())
}

pub fn abs(x: &Exact) -> Result<Exact> {
    match x {
        Exact::Rational(r) => Exact::rational(r.abs()),
        Exact::Interval(lo, hi) if *lo < 0.0 && *hi > 0.0 => Ok(Exact::interval(0.0, hi.max(-lo))),
        Exact::Interval(_, hi) if *hi <= 0.0 => neg(x),
        Exact::NegInf => Ok(Exact::PosInf),
        _ => Ok(x.clone()),
    }
}

pub fn sign(x: &Exact) -> Result<Exact> {
    Ok(match (x.signum(), x) {
        (Some(sign), _) => Exact::int(sign as i64),
        (None, Exact::Interval(lo, hi)) => {
            let side = |end: f64| if end == 0.0 { 0.0 } else { end.signum() };
            Exact::interval(side(*lo), side(*hi))
        }
        (None, _) => Exact::interval(-1.0, 1.0),
    })
}

pub fn maximum(x: &Exact, y: &Exact) -> Result<Exact> {
    extremum(x, y, Ordering::Greater, f64::max)
}

pub fn minimum(x: &Exact, y: &Exact) -> Result<Exact> {
    extremum(x, y, Ordering::Less, f64::min)
}

fn extremum(x: &Exact, y: &Exact, keep: Ordering, pick: fn(f64, f64) -> f64) -> Result<Exact> {
    Ok(match x.compare(y) {
        Some(order) if order == keep => x.clone(),
        Some(_) => y.clone(),
        // Infinities compare with everything: both are finite here.
        None => {
            let ((a, b), (c, d)) = (ends(x), ends(y));
            Exact::interval(pick(a, c), pick(b, d))
        }
    })
}

/// A monotone rounding to integers: infinities stay.
fn rounding(
    x: &Exact,
    exact: impl Fn(&BigRational) -> BigRational,
    end: impl Fn(f64) -> f64,
) -> Result<Exact> {
    match x {
        Exact::Rational(r) => Exact::rational(exact(r)),
        Exact::Interval(lo, hi) if end(*lo) == end(*hi) => Ok(Exact::from_f64(end(*lo))),
        Exact::Interval(lo, hi) => Ok(Exact::interval(end(*lo), end(*hi))),
        other => Ok(other.clone()),
    }
}

pub fn floor(x: &Exact) -> Result<Exact> {
    rounding(x, BigRational::floor, f64::floor)
}

pub fn ceil(x: &Exact) -> Result<Exact> {
    rounding(x, BigRational::ceil, f64::ceil)
}

pub fn trunc(x: &Exact) -> Result<Exact> {
    rounding(x, BigRational::trunc, f64::trunc)
}

/// Ties to even.
pub fn round(x: &Exact) -> Result<Exact> {
    rounding(x, round_even, f64::round_ties_even)
}

fn round_even(r: &BigRational) -> BigRational {
    let two = BigInt::from(2);
    let doubled = r * &two;
    let floor = r.floor();
    let tie = doubled.is_integer() && !r.is_integer();
    if tie && floor.numer().is_even() {
        floor
    } else {
        ((doubled + BigRational::from_integer(1.into())) / &two).floor()
    }
}

/// What truncation leaves; undefined at infinities.
pub fn frac(x: &Exact) -> Result<Exact> {
    if x.is_infinite() {
        return Ok(Exact::Bottom);
    }
    match (trunc(x)?, x) {
        (whole @ Exact::Rational(_), _) => sub(x, &whole),
        (_, Exact::Interval(lo, hi)) => {
            Ok(Exact::interval(if *lo < 0.0 { -1.0 } else { 0.0 }, if *hi > 0.0 { 1.0 } else { 0.0 }))
        }
        _ => undecided(format!("the fraction of {x}")),
    }
}

/// The sign of zero is positive: a real zero has no other.
pub fn copysign(x: &Exact, y: &Exact) -> Result<Exact> {
    let size = abs(x)?;
    match y.signum() {
        Some(sign) if sign.is_lt() => neg(&size),
        Some(_) => Ok(size),
        None if size.is_infinite() => undecided(format!("the sign of {y}")),
        None => {
            let (_, hi) = ends(&size);
            Ok(Exact::interval(-hi, hi))
        }
    }
}

pub fn signbit(x: &Exact) -> Result<bool> {
    match x {
        Exact::Interval(lo, _) if *lo >= 0.0 => Ok(false),
        _ => Ok(signum(x)?.is_lt()),
    }
}

pub fn reciprocal(x: &Exact) -> Result<Exact> {
    div(&Exact::one(), x)
}

/// Undefined at divisor zero; a real number over an infinity is 0.
pub fn div(x: &Exact, y: &Exact) -> Result<Exact> {
    if y.is_zero() || (x.is_infinite() && y.is_infinite()) {
        return Ok(Exact::Bottom);
    }
    if let (Some(a), Some(b)) = (x.as_rational(), y.as_rational()) {
        return Exact::rational(small::quotient(a, b));
    }
    if y.is_infinite() {
        return Ok(Exact::zero());
    }
    // An enclosure that contains zero may be the undefined case.
    let sign = signum(y)?;
    if x.is_infinite() {
        return Ok(Exact::infinity(signum(x)? != sign));
    }
    if x.as_rational().is_some_and(Zero::is_zero) {
        return Ok(Exact::zero());
    }
    if y.is_one() {
        return Ok(x.clone());
    }
    // An infinite end of a finite divisor: the quotient tends to 0.
    let quotient = |a: f64, b: f64| match (a.is_infinite(), b.is_infinite()) {
        (_, true) => 0.0,
        (true, false) => {
            if (a < 0.0) != (b < 0.0) {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        _ => a / b,
    };
    Ok(corners(ends(x), ends(y), quotient))
}
