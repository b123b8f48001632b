//! Sine, cosine and tangent of `f64`: as those of `f32`, with longer polynomials.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::super::block::guarded;
use super::exponential::ROUNDER;
use super::polynomial;

/// The greatest argument of the fast reduction.
const NEAR: f64 = 1e5;

/// The parts of `pi / 2`.
const PARTS: [f64; 3] = [FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// `q`, modulo 4 in its low bits, and `r` of `a = q pi / 2 + r`.
#[inline(always)]
fn reduce(a: f64) -> (u64, f64) {
    let shifted = a.mul_add(FRAC_2_PI, ROUNDER);
    let q = shifted - ROUNDER;
    let r = q.mul_add(-PARTS[1], q.mul_add(-PARTS[0], a));
    (shifted.to_bits(), q.mul_add(-PARTS[2], r))
}

/// Sine and cosine of `r`.
#[inline(always)]
fn pair(r: f64) -> (f64, f64) {
    let z = r * r;
    let s = polynomial(
        z,
        [
            -0.166_666_666_666_666_3,
            0.008_333_333_333_321_84,
            -0.000_198_412_698_293_581_75,
            2.755_731_353_825_924_3e-6,
            -2.505_073_432_764_437_6e-8,
            1.589_542_837_628_097_8e-10,
        ],
    );
    let c = polynomial(
        z,
        [
            0.041_666_666_666_666_65,
            -0.001_388_888_888_888_141,
            2.480_158_729_336_896e-5,
            -2.755_731_533_487_558e-7,
            2.087_584_224_164_933e-9,
            -1.136_521_012_204_273_7e-11,
        ],
    );
    ((r * z).mul_add(s, r), (z * z).mul_add(c, z.mul_add(-0.5, 1.0)))
}

/// Sine of `q pi / 2 + r`.
#[inline(always)]
fn sine(q: u64, r: f64) -> f64 {
    let (s, c) = pair(r);
    let y = if q & 1 == 0 { s } else { c };
    f64::from_bits(y.to_bits() ^ (q & 2) << 62)
}

#[inline(always)]
fn sin_near(x: f64) -> f64 {
    let (q, r) = reduce(x.abs());
    let y = sine(q, r);
    f64::from_bits(y.to_bits() ^ x.to_bits() & 1 << 63)
}

#[inline(always)]
fn cos_near(x: f64) -> f64 {
    let (q, r) = reduce(x.abs());
    sine(q.wrapping_add(1), r)
}

#[inline(always)]
pub(in super::super) fn tan_near(x: f64) -> f64 {
    let (q, r) = reduce(x.abs());
    let (s, c) = pair(r);
    let even = q & 1 == 0;
    let y = if even { s } else { -c } / if even { c } else { s };
    f64::from_bits(y.to_bits() ^ x.to_bits() & 1 << 63)
}

#[inline(always)]
pub(in super::super) fn far(x: f64) -> bool {
    x.abs() > NEAR
}

/// Sine, measured within 1.43 units of the last place.
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    if far(x) { libm::sin(x) } else { sin_near(x) }
}

/// Cosine, measured within 1.36 units of the last place.
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    if far(x) { libm::cos(x) } else { cos_near(x) }
}

/// Tangent, measured within 3.01 units of the last place.
#[inline(always)]
pub fn tan(x: f64) -> f64 {
    if far(x) { libm::tan(x) } else { tan_near(x) }
}

/// [`sin`] of each.
#[inline(always)]
pub fn sin_block(xs: &mut [f64]) {
    guarded(xs, far, sin_near, libm::sin);
}

/// [`cos`] of each.
#[inline(always)]
pub fn cos_block(xs: &mut [f64]) {
    guarded(xs, far, cos_near, libm::cos);
}

/// [`tan`] of each.
#[inline(always)]
pub fn tan_block(xs: &mut [f64]) {
    guarded(xs, far, tan_near, libm::tan);
}
