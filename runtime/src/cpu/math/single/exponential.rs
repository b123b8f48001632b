//! Exponentials of `f32` and what is made of them.
//!
//! `x = n log 2 + r` with an integer `n` and `|r| <= log(2) / 2`, by Cody and Waite's
//! reduction with a fused multiply-add, so that `exp(x) = 2^n exp(r)`. The
//! polynomials are minimax fits of the relative error of the function (`fit.py`).

use std::f32::consts::{LN_2, LOG2_E};

use super::polynomial;

/// 1.5 times 2 to the 23rd: added to a number, it leaves the nearest integer in the low bits.
pub(in crate::cpu) const ROUNDER: f32 = 12_582_912.0;

/// What `LN_2` lacks.
pub(in crate::cpu) const LN_2_REST: f32 = -1.904_654_3e-9;

/// `n` and `r` of the reduction, `n` as the low bits of the first.
#[inline(always)]
fn reduce(x: f32) -> (f32, f32) {
    let shifted = x.mul_add(LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = n.mul_add(-LN_2, x);
    (shifted, n.mul_add(-LN_2_REST, r))
}

/// `(exp(r) - 1 - r) / r^2`.
pub(in crate::cpu) const GROWTH: [f32; 5] =
    [0.499_999_94, 0.166_665_17, 0.041_668_106, 0.008_369_359, 0.001_383_951_9];

/// `exp(r) - 1` for `|r| <= 0.35`, with an error of 2^-28 of `exp(r)`.
#[inline(always)]
fn growth(r: f32) -> f32 {
    let q = polynomial(r, GROWTH);
    (r * r).mul_add(q, r)
}

/// `2^n` where that is a normal number.
#[inline(always)]
fn power(shifted: f32) -> f32 {
    f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// `y * 2^n` for `|n| <= 200`, rounded once: the first of the two factors leaves `y` normal.
#[inline(always)]
fn scale(y: f32, shifted: f32) -> f32 {
    let n = shifted.to_bits().wrapping_sub(ROUNDER.to_bits() - 512);
    let half = n >> 1;
    let first = f32::from_bits(half.wrapping_sub(256 - 127) << 23);
    let second = f32::from_bits(n.wrapping_sub(half).wrapping_sub(256 - 127) << 23);
    y * first * second
}

/// `exp(x)` where that is a normal number.
#[inline(always)]
pub(super) fn exp_normal(x: f32) -> f32 {
    let (shifted, r) = reduce(x);
    (1.0 + growth(r)) * power(shifted)
}

/// `exp(x)`, measured within 1.03 units of the last place.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let (shifted, r) = reduce(x);
    scale(1.0 + growth(r), shifted)
}

/// `2 ** x`, measured within 0.89 units of the last place; exact at integers.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    let x = if x > 129.0 { 129.0 } else { x };
    let x = if x < -151.0 { -151.0 } else { x };
    let shifted = x + ROUNDER;
    let r = x - (shifted - ROUNDER);
    let q = polynomial(
        r,
        [0.693_147_24, 0.240_226_55, 0.055_502_724, 0.009_617_064, 0.001_341_823_8, 0.000_158_188_27],
    );
    scale(r.mul_add(q, 1.0), shifted)
}

/// `exp(x) - 1`, measured within 1.49 units of the last place.
#[inline(always)]
pub fn expm1(x: f32) -> f32 {
    let c = if x > 89.0 { 89.0 } else { x };
    let c = if c < -18.0 { -18.0 } else { c };
    let (shifted, r) = reduce(c);
    // Half of 2^n, which is finite where the result is.
    let half = power(shifted - 1.0);
    let y = 2.0 * half.mul_add(growth(r), half - 0.5);
    // Also keeps the sign of zero.
    if x.abs() < 2.0f32.powi(-25) { x } else { y }
}

/// `1 / (1 + exp(-x))`, measured within 1.49 units of the last place: with `e = exp(-|x|)`,
/// that is `1 / (1 + e)` or `e / (1 + e)`, whose rest corrects it.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let a = -x.abs();
    let a = if a < -104.0 { -104.0 } else { a };
    let (shifted, r) = reduce(a);
    let e = scale(1.0 + growth(r), shifted);
    let above = if x < 0.0 { e } else { 1.0 };
    let below = 1.0 + e;
    let lost = e - (below - 1.0);
    let inverse = 1.0 / below;
    let quotient = above * inverse;
    let rest = quotient.mul_add(-below, above) - quotient * lost;
    rest.mul_add(inverse, quotient)
}

/// Hyperbolic tangent, measured within 1.42 units of the last place.
///
/// A polynomial below 0.55, `1 - 2 / (exp(2x) + 1)` above.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let a = x.abs();
    let z = a * a;
    let p = polynomial(z, [-0.333_333_16, 0.133_325_44, -0.053_847_548, 0.021_050_714, -0.006_242_849]);
    let near = (a * z).mul_add(p, a);
    let bounded = if a > 10.0 { 10.0 } else { a };
    let far = 1.0 - 2.0 / (exp_normal(2.0 * bounded) + 1.0);
    let y = if a < 0.55 { near } else { far };
    y.copysign(x)
}
