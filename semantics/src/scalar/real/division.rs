//! Division that rounds the quotient to an integer, and its remainders.

use super::super::Exact;
use super::arith::{div, floor, mul, sub, trunc};
use super::{Result, signum};

/// `floor(x / y)`. Over an infinite divisor the limit: 0, or -1 if the signs differ.
pub fn floor_divide(x: &Exact, y: &Exact) -> Result<Exact> {
    if x.is_infinite() || y.is_zero() {
        return Ok(Exact::Bottom);
    }
    if y.is_infinite() {
        let (a, b) = (signum(x)?, signum(y)?);
        return Ok(Exact::int(if a.is_eq() || a == b { 0 } else { -1 }));
    }
    floor(&div(x, y)?)
}

/// `trunc(x / y)`.
pub fn trunc_divide(x: &Exact, y: &Exact) -> Result<Exact> {
    if x.is_infinite() {
        return Ok(Exact::Bottom);
    }
    trunc(&div(x, y)?)
}

/// `x - y * floor(x / y)`. Over an infinite divisor the limit: `x`, or the divisor if
/// the signs differ.
pub fn remainder(x: &Exact, y: &Exact) -> Result<Exact> {
    match floor_divide(x, y)? {
        Exact::Bottom => Ok(Exact::Bottom),
        quotient if y.is_infinite() => Ok(if quotient.is_zero() { x.clone() } else { y.clone() }),
        quotient @ Exact::Rational(_) => sub(x, &mul(y, &quotient)?),
        _ => Ok(between(y, true)),
    }
}

/// `x - y * trunc(x / y)`; over an infinite divisor `x`.
pub fn fmod(x: &Exact, y: &Exact) -> Result<Exact> {
    match trunc_divide(x, y)? {
        Exact::Bottom => Ok(Exact::Bottom),
        _ if y.is_infinite() => Ok(x.clone()),
        quotient @ Exact::Rational(_) => sub(x, &mul(y, &quotient)?),
        _ => Ok(between(y, false)),
    }
}

/// Between zero and the divisor, on its side only or on both.
fn between(y: &Exact, one_sided: bool) -> Exact {
    let (lo, hi) = super::ends(y);
    let most = hi.max(-lo);
    match one_sided {
        true => Exact::interval(if lo < 0.0 { lo } else { 0.0 }, if hi > 0.0 { hi } else { 0.0 }),
        false => Exact::interval(-most, most),
    }
}
