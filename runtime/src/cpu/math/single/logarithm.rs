//! Logarithms of `f32`.
//!
//! `x = 2^e (1 + r)` with `1 + r` between the square roots of 1/2 and 2. Then
//! `log(1 + r) = r - r^2 / 2 + r^3 P(r)`, where `P` is a minimax fit of the relative
//! error (`fit.py`).

use std::f32::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

use super::exponential::LN_2_REST;
use super::polynomial;

/// The square root of 1/2.
const LOWEST: u32 = 0x3f35_04f3;

/// What `LOG2_E`, `LOG10_E` and `LOG10_2` lack.
const LOG2_E_REST: f32 = 1.925_963e-8;
const LOG10_E_REST: f32 = -1.010_305e-8;
const LOG10_2_REST: f32 = -1.432_098_9e-8;

/// The exponent and `1 + r` of a positive normal number.
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    let shifted = x.to_bits().wrapping_add((127 << 23) - LOWEST);
    // An integer below 2^23 is the last bits of the float that is greater by 2^23.
    let exponent = f32::from_bits(shifted >> 23 | 0x4b00_0000) - (8_388_608.0 + 127.0);
    (exponent, f32::from_bits((shifted & 0x007f_ffff).wrapping_add(LOWEST)))
}

/// `split` of any positive finite number.
#[inline(always)]
fn split_any(x: f32) -> (f32, f32) {
    let small = x < f32::MIN_POSITIVE;
    let (exponent, m) = split(if small { x * 8_388_608.0 } else { x });
    (if small { exponent - 23.0 } else { exponent }, m)
}

/// `log(1 + r) - r` within 2^-29 of `log(1 + r)`.
#[inline(always)]
fn rest(r: f32) -> f32 {
    let p = polynomial(
        r,
        [
            0.333_333_13,
            -0.250_001_67,
            0.200_022_24,
            -0.166_593_67,
            0.142_095_6,
            -0.125_496_88,
            0.121_089_39,
            -0.109_164_54,
            0.053_385_5,
        ],
    );
    let z = r * r;
    z.mul_add(-0.5, z * r * p)
}

/// The logarithm `y` of a positive finite `x`, or what it is at other arguments.
#[inline(always)]
fn complete(x: f32, y: f32) -> f32 {
    let special = if x == 0.0 { f32::NEG_INFINITY } else { x };
    let special = if x < 0.0 { f32::NAN } else { special };
    // The bits of positive finite numbers follow those of zero, and come before infinity's.
    let ordinary = x.to_bits().wrapping_sub(1) < f32::INFINITY.to_bits() - 1;
    if ordinary { y } else { special }
}

/// `e log(2) + log(1 + r)`.
#[inline(always)]
fn combine(e: f32, r: f32) -> f32 {
    let low = e.mul_add(LN_2_REST, rest(r));
    e.mul_add(LN_2, r + low)
}

/// Natural logarithm, measured within 0.87 units of the last place.
#[inline(always)]
pub fn log(x: f32) -> f32 {
    let (e, m) = split_any(x);
    complete(x, combine(e, m - 1.0))
}

/// Logarithm to base 2, measured within 1.03 units of the last place; exact at powers of 2.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    let (e, m) = split_any(x);
    let r = m - 1.0;
    let low = r.mul_add(LOG2_E_REST, rest(r) * LOG2_E);
    complete(x, e + r.mul_add(LOG2_E, low))
}

/// Logarithm to base 10, measured within 1.00 units of the last place.
#[inline(always)]
pub fn log10(x: f32) -> f32 {
    let (e, m) = split_any(x);
    let r = m - 1.0;
    let low = r.mul_add(LOG10_E_REST, rest(r) * LOG10_E);
    let low = r.mul_add(LOG10_E, low);
    complete(x, e.mul_add(LOG10_2, e.mul_add(LOG10_2_REST, low)))
}

/// `log(1 + x)`, measured within 1.39 units of the last place.
#[inline(always)]
pub fn log1p(x: f32) -> f32 {
    let u = 1.0 + x;
    let (e, m) = split(u);
    // 1 + r = (1 + x) / 2^e, without what was lost in `u`. Above 2^25 that is less than the
    // result can show, and the power may leave the normal numbers.
    let power = f32::from_bits(m.to_bits().wrapping_sub(u.to_bits()).wrapping_add(1.0f32.to_bits()));
    let r = if u < 33_554_432.0 { x.mul_add(power, power - 1.0) } else { m - 1.0 };
    let y = complete(u, combine(e, r));
    // Keeps the sign of zero.
    if x == 0.0 { x } else { y }
}
