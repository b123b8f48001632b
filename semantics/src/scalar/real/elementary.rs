//! Elementary functions: exact where the value is rational for a plain reason (`exp(0)`,
//! `log2(8)`), otherwise enclosures.

use std::f64::consts::{FRAC_PI_2, PI};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::super::{Exact, float};
use super::arith::{add, div};
use super::{Result, ends, signum, undecided, widened, within};

/// A function that increases on the whole line.
struct Increasing {
    f: fn(f64) -> f64,
    /// Its value at zero, where that is rational.
    zero: i64,
    /// Its limits.
    low: Limit,
    high: Limit,
}

enum Limit {
    Infinite,
    At(i64),
    /// The number itself is irrational; this `f64` is not above it in magnitude.
    Beyond(f64),
}

impl Increasing {
    fn at(&self, x: &Exact) -> Exact {
        match x {
            Exact::PosInf => limit(&self.high, false),
            Exact::NegInf => limit(&self.low, true),
            Exact::Bottom => Exact::Bottom,
            _ if x.is_zero() => Exact::int(self.zero),
            _ => {
                let (lo, hi) = ends(x);
                let least = bound(&self.low, f64::NEG_INFINITY);
                let most = bound(&self.high, f64::INFINITY);
                within(widened((self.f)(lo), (self.f)(hi)), least, most)
            }
        }
    }
}

fn limit(limit: &Limit, negative: bool) -> Exact {
    match limit {
        Limit::Infinite => Exact::infinity(negative),
        Limit::At(n) => Exact::int(*n),
        Limit::Beyond(x) => Exact::interval(x.next_down(), x.next_up()),
    }
}

fn bound(limit: &Limit, infinite: f64) -> f64 {
    match limit {
        Limit::Infinite => infinite,
        Limit::At(n) => *n as f64,
        Limit::Beyond(x) if *x < 0.0 => x.next_down(),
        Limit::Beyond(x) => x.next_up(),
    }
}

pub fn exp(x: &Exact) -> Result<Exact> {
    Ok(Increasing { f: libm::exp, zero: 1, low: Limit::At(0), high: Limit::Infinite }.at(x))
}

pub fn expm1(x: &Exact) -> Result<Exact> {
    Ok(Increasing { f: libm::expm1, zero: 0, low: Limit::At(-1), high: Limit::Infinite }.at(x))
}

pub fn sinh(x: &Exact) -> Result<Exact> {
    Ok(Increasing { f: libm::sinh, zero: 0, low: Limit::Infinite, high: Limit::Infinite }.at(x))
}

pub fn asinh(x: &Exact) -> Result<Exact> {
    Ok(Increasing { f: libm::asinh, zero: 0, low: Limit::Infinite, high: Limit::Infinite }.at(x))
}

pub fn tanh(x: &Exact) -> Result<Exact> {
    Ok(Increasing { f: libm::tanh, zero: 0, low: Limit::At(-1), high: Limit::At(1) }.at(x))
}

pub fn erf(x: &Exact) -> Result<Exact> {
    Ok(Increasing { f: libm::erf, zero: 0, low: Limit::At(-1), high: Limit::At(1) }.at(x))
}

pub fn atan(x: &Exact) -> Result<Exact> {
    let (low, high) = (Limit::Beyond(-FRAC_PI_2), Limit::Beyond(FRAC_PI_2));
    Ok(Increasing { f: libm::atan, zero: 0, low, high }.at(x))
}

/// Decreases from 2 to 0.
pub fn erfc(x: &Exact) -> Result<Exact> {
    Ok(match x {
        Exact::PosInf => Exact::zero(),
        Exact::NegInf => Exact::int(2),
        _ if x.is_zero() => Exact::one(),
        _ => {
            let (lo, hi) = ends(x);
            within(widened(libm::erfc(hi), libm::erfc(lo)), 0.0, 2.0)
        }
    })
}

/// `1 / (1 + exp(-x))`.
pub fn sigmoid(x: &Exact) -> Result<Exact> {
    Ok(match x {
        Exact::PosInf => Exact::one(),
        Exact::NegInf => Exact::zero(),
        _ if x.is_zero() => Exact::rational(BigRational::new(1.into(), 2.into()))?,
        _ => {
            let (lo, hi) = ends(x);
            within(widened(float::sigmoid(lo), float::sigmoid(hi)), 0.0, 1.0)
        }
    })
}

pub fn cosh(x: &Exact) -> Result<Exact> {
    if x.is_infinite() {
        return Ok(Exact::PosInf);
    }
    if x.is_zero() {
        return Ok(Exact::one());
    }
    let (lo, hi) = ends(x);
    let (a, b) = (libm::cosh(lo), libm::cosh(hi));
    let least = if lo <= 0.0 && hi >= 0.0 { 1.0 } else { a.min(b) };
    Ok(within(widened(least, a.max(b)), 1.0, f64::INFINITY))
}

/// A logarithm: minus infinity at zero, undefined below, exact at powers of the base.
fn logarithm(x: &Exact, f: fn(f64) -> f64, base: Option<u32>) -> Result<Exact> {
    match x {
        Exact::PosInf => return Ok(Exact::PosInf),
        Exact::Interval(lo, hi) if *lo <= 0.0 && *hi >= 0.0 => {
            return undecided(format!("whether {x} has a logarithm"));
        }
        _ => {}
    }
    Ok(match signum(x)? {
        sign if sign.is_lt() => Exact::Bottom,
        sign if sign.is_eq() => Exact::NegInf,
        _ if x.is_one() => Exact::zero(),
        _ => match x.as_rational().zip(base).and_then(|(r, base)| exponent(r, base)) {
            Some(n) => Exact::int(n),
            None => {
                let (lo, hi) = ends(x);
                widened(f(lo), f(hi))
            }
        },
    })
}

/// `n` with `r = base ** n`.
fn exponent(r: &BigRational, base: u32) -> Option<i64> {
    let (negative, whole) = match (r.numer().is_one(), r.denom().is_one()) {
        (_, true) => (false, r.numer()),
        (true, _) => (true, r.denom()),
        _ => return None,
    };
    let base = BigInt::from(base);
    let (mut rest, mut n) = (whole.clone(), 0);
    while (&rest % &base).is_zero() {
        rest /= &base;
        n += 1;
    }
    rest.is_one().then_some(if negative { -n } else { n })
}

pub fn log(x: &Exact) -> Result<Exact> {
    logarithm(x, libm::log, None)
}

pub fn log2(x: &Exact) -> Result<Exact> {
    logarithm(x, libm::log2, Some(2))
}

pub fn log10(x: &Exact) -> Result<Exact> {
    logarithm(x, libm::log10, Some(10))
}

/// `log(1 + x)`.
pub fn log1p(x: &Exact) -> Result<Exact> {
    match (x, signum(&add(&Exact::one(), x)?)?) {
        (Exact::PosInf, _) => Ok(Exact::PosInf),
        (_, sign) if sign.is_lt() => Ok(Exact::Bottom),
        (_, sign) if sign.is_eq() => Ok(Exact::NegInf),
        _ if x.is_zero() => Ok(Exact::zero()),
        _ => {
            let (lo, hi) = ends(x);
            Ok(widened(libm::log1p(lo.max(-1.0)), libm::log1p(hi)))
        }
    }
}

/// A function of slope at most 1 with values between -1 and 1; undefined at infinities.
fn wave(x: &Exact, f: fn(f64) -> f64) -> Exact {
    let (lo, hi) = ends(x);
    let width = (hi - lo).next_up();
    if lo.is_infinite() || hi.is_infinite() || width >= 2.0 {
        return Exact::interval(-1.0, 1.0);
    }
    let middle = widened(f(lo), f(lo));
    if lo == hi {
        return within(middle, -1.0, 1.0);
    }
    let (a, b) = ends(&middle);
    within(Exact::interval((a - width).next_down(), (b + width).next_up()), -1.0, 1.0)
}

pub fn sin(x: &Exact) -> Result<Exact> {
    Ok(match x {
        Exact::PosInf | Exact::NegInf => Exact::Bottom,
        _ if x.is_zero() => Exact::zero(),
        _ => wave(x, libm::sin),
    })
}

pub fn cos(x: &Exact) -> Result<Exact> {
    Ok(match x {
        Exact::PosInf | Exact::NegInf => Exact::Bottom,
        _ if x.is_zero() => Exact::one(),
        _ => wave(x, libm::cos),
    })
}

pub fn tan(x: &Exact) -> Result<Exact> {
    match (sin(x)?, cos(x)?) {
        (Exact::Bottom, _) | (_, Exact::Bottom) => Ok(Exact::Bottom),
        (sin, cos) => div(&sin, &cos),
    }
}

/// Whether `least <= x <= most`.
fn inside(x: &Exact, least: i64, most: Option<i64>) -> Result<bool> {
    let below = x.less(&Exact::int(least));
    let above = match most {
        Some(most) => Exact::int(most).less(x),
        None => Some(false),
    };
    match (below, above) {
        (Some(true), _) | (_, Some(true)) => Ok(false),
        (Some(false), Some(false)) => Ok(true),
        _ => undecided(format!("whether {x} is in the domain")),
    }
}

pub fn asin(x: &Exact) -> Result<Exact> {
    if !inside(x, -1, Some(1))? {
        return Ok(Exact::Bottom);
    }
    if x.is_zero() {
        return Ok(Exact::zero());
    }
    let (lo, hi) = ends(x);
    Ok(widened(libm::asin(lo), libm::asin(hi)))
}

pub fn acos(x: &Exact) -> Result<Exact> {
    if !inside(x, -1, Some(1))? {
        return Ok(Exact::Bottom);
    }
    if x.is_one() {
        return Ok(Exact::zero());
    }
    let (lo, hi) = ends(x);
    Ok(within(widened(libm::acos(hi), libm::acos(lo)), 0.0, f64::INFINITY))
}

pub fn acosh(x: &Exact) -> Result<Exact> {
    if matches!(x, Exact::PosInf) {
        return Ok(Exact::PosInf);
    }
    if !inside(x, 1, None)? {
        return Ok(Exact::Bottom);
    }
    if x.is_one() {
        return Ok(Exact::zero());
    }
    let (lo, hi) = ends(x);
    Ok(within(widened(libm::acosh(lo), libm::acosh(hi)), 0.0, f64::INFINITY))
}

/// Undefined at -1 and 1 too: half the logarithm of a division by zero.
pub fn atanh(x: &Exact) -> Result<Exact> {
    let edge = x.as_rational().is_some_and(|r| r.abs().is_one());
    if edge || !inside(x, -1, Some(1))? {
        return Ok(Exact::Bottom);
    }
    if x.is_zero() {
        return Ok(Exact::zero());
    }
    let (lo, hi) = ends(x);
    if lo <= -1.0 || hi >= 1.0 {
        return undecided(format!("whether {x} is in the domain"));
    }
    Ok(widened(libm::atanh(lo), libm::atanh(hi)))
}

/// The angle of the point `(y, x)`; undefined at the origin, where it would depend on
/// the sign of zero.
pub fn atan2(x: &Exact, y: &Exact) -> Result<Exact> {
    let (height, along) = (x.signum(), y.signum());
    if x.is_zero() && y.is_zero() {
        return Ok(Exact::Bottom);
    }
    if (x.is_zero() || (matches!(y, Exact::PosInf) && !x.is_infinite())) && along.is_some_and(|s| s.is_gt()) {
        return Ok(Exact::zero());
    }
    // Away from the cut along the negative axis the extremes are at the corners.
    let away = along.is_some_and(|s| s.is_gt()) || height.is_some_and(|s| s.is_ne());
    if !(away || (x.is_zero() && along.is_some())) {
        return undecided(format!("the angle of ({y}, {x})"));
    }
    let ((a, b), (c, d)) = (ends(x), ends(y));
    let all = [libm::atan2(a, c), libm::atan2(a, d), libm::atan2(b, c), libm::atan2(b, d)];
    let lo = all.into_iter().fold(f64::INFINITY, f64::min);
    let hi = all.into_iter().fold(f64::NEG_INFINITY, f64::max);
    Ok(within(widened(lo, hi), (-PI).next_down(), PI.next_up()))
}

/// Increasing from 2 on; elsewhere only its zeros are stated.
pub fn lgamma(x: &Exact) -> Result<Exact> {
    if matches!(x, Exact::PosInf) {
        return Ok(Exact::PosInf);
    }
    if x.is_one() || x.as_rational().is_some_and(|r| *r == BigRational::from_integer(2.into())) {
        return Ok(Exact::zero());
    }
    let (lo, hi) = ends(x);
    if lo < 2.0 {
        return undecided(format!("the logarithm of the gamma function at {x}"));
    }
    Ok(within(widened(libm::lgamma(lo), libm::lgamma(hi)), 0.0, f64::INFINITY))
}
