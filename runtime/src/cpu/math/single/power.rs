//! Powers of `f32`.

use super::super::double::{exp2, log2};

/// Power, within 0.51 units of the last place: `2^(y log2(|x|))` in `f64`, where the
/// logarithm has 29 bits more than the result needs, and the product is below 2^8 wherever
/// the result is finite.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let magnitude = exp2(f64::from(y) * log2(f64::from(x.abs()))) as f32;
    // The limit where zero times infinity is in the exponent.
    let magnitude = if x.abs() == 1.0 { if y.is_nan() { y } else { 1.0 } } else { magnitude };
    let whole = y.trunc() == y;
    let half = 0.5 * y;
    let odd = whole & (half.trunc() != half);
    let signed = if odd { magnitude.copysign(x) } else { magnitude };
    let undefined = (x < 0.0) & !whole & (x > f32::NEG_INFINITY);
    let signed = if undefined { f32::NAN } else { signed };
    if (x == 1.0) | (y == 0.0) { 1.0 } else { signed }
}
