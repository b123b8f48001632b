//! Logarithms of `f64`, and the inverse hyperbolic functions, which are logarithms.
//!
//! `x = 2^e (1 + r)` with `1 + r` between the square roots of 1/2 and 2. With
//! `s = r / (2 + r)`, `log(1 + r) = 2 atanh(s) = 2 s + s^3 P(s^2)`, summed as in FDLIBM
//! (Sun Microsystems, 1993): `r` first, since it is exact.

use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

use super::exponential::LN_2_REST;
use super::polynomial;

/// The square root of 1/2.
const LOWEST: u64 = 0x3fe6_a09e_667f_3bcd;

/// What `LOG2_E`, `LOG10_E` and `LOG10_2` lack.
const LOG2_E_REST: f64 = 2.035_527_374_093_103_3e-17;
const LOG10_E_REST: f64 = 1.098_319_650_216_765e-17;
const LOG10_2_REST: f64 = -2.803_728_127_785_170_4e-18;

/// The exponent and `1 + r` of a positive normal number.
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    let shifted = x.to_bits().wrapping_add((1023 << 52) - LOWEST);
    // An integer below 2^52 is the last bits of the float that is greater by 2^52.
    let exponent = f64::from_bits(shifted >> 52 | 0x4330 << 48) - (4_503_599_627_370_496.0 + 1023.0);
    (exponent, f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(LOWEST)))
}

/// `split` of any positive finite number.
#[inline(always)]
fn split_any(x: f64) -> (f64, f64) {
    let small = x < f64::MIN_POSITIVE;
    let (exponent, m) = split(if small { x * 4_503_599_627_370_496.0 } else { x });
    (if small { exponent - 52.0 } else { exponent }, m)
}

/// `log(1 + r) - r` within 2^-58 of `log(1 + r)`.
#[inline(always)]
fn rest(r: f64) -> f64 {
    let s = r / (2.0 + r);
    let z = s * s;
    let p = polynomial(
        z,
        [
            0.666_666_666_666_673_5,
            0.399_999_999_994_089_97,
            0.285_714_287_438_190_6,
            0.222_221_984_110_986_34,
            0.181_835_734_701_666_78,
            0.153_137_994_654_875_63,
            0.147_986_235_376_943_3,
        ],
    );
    let half_square = 0.5 * r * r;
    s.mul_add(z.mul_add(p, half_square), -half_square)
}

/// The logarithm `y` of a positive finite `x`, or what it is at other arguments.
#[inline(always)]
fn complete(x: f64, y: f64) -> f64 {
    let special = if x == 0.0 { f64::NEG_INFINITY } else { x };
    let special = if x < 0.0 { f64::NAN } else { special };
    // The bits of positive finite numbers follow those of zero, and come before infinity's.
    let ordinary = x.to_bits().wrapping_sub(1) < f64::INFINITY.to_bits() - 1;
    if ordinary { y } else { special }
}

/// `e log(2) + log(1 + r)`.
#[inline(always)]
fn combine(e: f64, r: f64) -> f64 {
    let low = e.mul_add(LN_2_REST, rest(r));
    e.mul_add(LN_2, r + low)
}

/// Natural logarithm, measured within 0.76 units of the last place.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    let (e, m) = split_any(x);
    complete(x, combine(e, m - 1.0))
}

/// Logarithm to base 2, measured within 0.96 units of the last place; exact at powers of 2.
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let (e, m) = split_any(x);
    let r = m - 1.0;
    let low = r.mul_add(LOG2_E_REST, rest(r) * LOG2_E);
    complete(x, e + r.mul_add(LOG2_E, low))
}

/// Logarithm to base 10, measured within 0.92 units of the last place.
#[inline(always)]
pub fn log10(x: f64) -> f64 {
    let (e, m) = split_any(x);
    let r = m - 1.0;
    let low = r.mul_add(LOG10_E_REST, rest(r) * LOG10_E);
    let low = r.mul_add(LOG10_E, low);
    complete(x, e.mul_add(LOG10_2, e.mul_add(LOG10_2_REST, low)))
}

/// `log(1 + x)`, measured within 0.77 units of the last place.
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    let u = 1.0 + x;
    let (e, m) = split(u);
    // 1 + r = (1 + x) / 2^e, without what was lost in `u`. Above 2^54 that is less than the
    // result can show, and the power may leave the normal numbers.
    let power = f64::from_bits(m.to_bits().wrapping_sub(u.to_bits()).wrapping_add(1.0f64.to_bits()));
    let r = if u < 18_014_398_509_481_984.0 { x.mul_add(power, power - 1.0) } else { m - 1.0 };
    let y = complete(u, combine(e, r));
    // Keeps the sign of zero.
    if x == 0.0 { x } else { y }
}

/// Beyond, the inverse hyperbolic sine and cosine are the logarithm of twice the argument.
const LARGE: f64 = 268_435_456.0;

/// Inverse hyperbolic sine, measured within 1.58 units of the last place:
/// `log1p(a + a^2 / (1 + sqrt(a^2 + 1)))`.
#[inline(always)]
pub fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let z = a * a;
    let large = a > LARGE;
    let more = if large { -1.0 } else { z / (1.0 + (z + 1.0).sqrt()) };
    let twice = if large { LN_2 } else { 0.0 };
    (log1p(a + more) + twice).copysign(x)
}

/// Inverse hyperbolic cosine, measured within 2.01 units of the last place:
/// `log1p(t + sqrt(t^2 + 2 t))` with `t = x - 1`.
#[inline(always)]
pub fn acosh(x: f64) -> f64 {
    let t = x - 1.0;
    let large = x > LARGE;
    let more = if large { 0.0 } else { (t * (t + 2.0)).sqrt() };
    let twice = if large { LN_2 } else { 0.0 };
    let y = log1p(t + more) + twice;
    if t < 0.0 { f64::NAN } else { y }
}

/// Inverse hyperbolic tangent, measured within 1.80 units of the last place:
/// `log1p(2 a / (1 - a)) / 2`.
#[inline(always)]
pub fn atanh(x: f64) -> f64 {
    let a = x.abs();
    let y = 0.5 * log1p(2.0 * a / (1.0 - a));
    y.copysign(x)
}
