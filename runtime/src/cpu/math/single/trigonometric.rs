//! Sine and cosine of `f32`.
//!
//! `|x| = q pi / 2 + r` with `|r| <= pi / 4`, where `pi / 2` is the sum of three `f32` and
//! the first difference is exact; good up to 1e5, where the nearest multiple of `pi / 2`
//! still leaves an `r` much greater than what the three parts lack. The polynomials are
//! minimax fits of the relative error (`fit.py`). Arguments beyond are left to `libm` in
//! `f64`.

use std::f32::consts::{FRAC_2_PI, FRAC_PI_2};

use super::super::block::guarded;
use super::super::double;
use super::exponential::ROUNDER;
use super::polynomial;

/// The greatest argument of the fast reduction.
const NEAR: f32 = 1e5;

/// The parts of `pi / 2`.
const PARTS: [f32; 3] = [FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];

/// `q`, modulo 4 in its low bits, and `r`.
#[inline(always)]
fn reduce(a: f32) -> (u32, f32) {
    let shifted = a.mul_add(FRAC_2_PI, ROUNDER);
    let q = shifted - ROUNDER;
    let r = q.mul_add(-PARTS[1], q.mul_add(-PARTS[0], a));
    (shifted.to_bits(), q.mul_add(-PARTS[2], r))
}

/// Sine of `q pi / 2 + r`.
#[inline(always)]
fn sine(q: u32, r: f32) -> f32 {
    let z = r * r;
    let s = (r * z).mul_add(polynomial(z, [-0.166_666_55, 0.008_332_188, -0.000_195_180_62]), r);
    let c = polynomial(z, [0.041_666_653, -0.001_388_761, 2.446_172_6e-5]);
    let c = (z * z).mul_add(c, z.mul_add(-0.5, 1.0));
    let y = if q & 1 == 0 { s } else { c };
    f32::from_bits(y.to_bits() ^ (q & 2) << 30)
}

#[inline(always)]
fn sin_near(x: f32) -> f32 {
    let (q, r) = reduce(x.abs());
    let y = sine(q, r);
    f32::from_bits(y.to_bits() ^ (x.to_bits() & 1 << 31))
}

#[inline(always)]
fn cos_near(x: f32) -> f32 {
    let (q, r) = reduce(x.abs());
    sine(q.wrapping_add(1), r)
}

#[inline(always)]
fn far(x: f32) -> bool {
    x.abs() > NEAR
}

fn sin_far(x: f32) -> f32 {
    libm::sin(f64::from(x)) as f32
}

fn cos_far(x: f32) -> f32 {
    libm::cos(f64::from(x)) as f32
}

/// Sine, measured within 1.55 units of the last place.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    if far(x) { sin_far(x) } else { sin_near(x) }
}

/// Cosine, measured within 1.57 units of the last place.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    if far(x) { cos_far(x) } else { cos_near(x) }
}

/// [`sin`] of each.
#[inline(always)]
pub fn sin_block(xs: &mut [f32]) {
    guarded(xs, far, sin_near, sin_far);
}

/// [`cos`] of each.
#[inline(always)]
pub fn cos_block(xs: &mut [f32]) {
    guarded(xs, far, cos_near, cos_far);
}

/// Tangent, within 0.51 units of the last place: that of `f64`, rounded.
#[inline(always)]
pub fn tan(x: f32) -> f32 {
    double::tan(f64::from(x)) as f32
}

/// [`tan`] of each.
#[inline(always)]
pub fn tan_block(xs: &mut [f32]) {
    guarded(
        xs,
        |x| double::tan_far(f64::from(x)),
        |x| double::tan_near(f64::from(x)) as f32,
        |x| libm::tan(f64::from(x)) as f32,
    );
}
