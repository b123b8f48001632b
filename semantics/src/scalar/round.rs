//! Rounding of an `f64` to a float dtype, and the spacing of its values.

use crate::dtype::DType;

/// Significant bits, exponent of the least normal value and largest finite value.
fn format(dtype: DType) -> Option<(i32, i32, f64)> {
    match dtype {
        DType::F16 => Some((11, -14, 65504.0)),
        DType::BF16 => Some((8, -126, 3.3895313892515355e38)),
        DType::F32 => Some((24, -126, f32::MAX as f64)),
        _ => None,
    }
}

/// To nearest, ties to even, in one step; every NaN becomes the canonical one.
pub(super) fn round(x: f64, dtype: DType) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    let Some((bits, emin, max)) = format(dtype) else {
        return x;
    };
    if x == 0.0 || x.is_infinite() {
        return x;
    }
    if dtype == DType::F32 {
        return x as f32 as f64;
    }
    let unit = power(exponent(x).max(emin) - (bits - 1));
    // Dividing by a power of two is exact here: `unit` is far from the limits of f64.
    let rounded = (x / unit).round_ties_even() * unit;
    if rounded.abs() > max { f64::INFINITY.copysign(x) } else { rounded }
}

/// The exponent of the leading bit; an f64 subnormal counts as the least normal.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// 2 to the power `e`, for a normal result.
fn power(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// Position of a value among the values of its dtype in order: neighbours differ by
/// one, both zeros are 0. `None` for NaN.
pub(super) fn ordinal(x: f64, dtype: DType) -> Option<i64> {
    if x.is_nan() {
        return None;
    }
    let magnitude = match dtype {
        DType::F16 => (half::f16::from_f64(x).to_bits() & 0x7fff) as i64,
        DType::BF16 => (half::bf16::from_f64(x).to_bits() & 0x7fff) as i64,
        DType::F32 => ((x as f32).to_bits() & 0x7fff_ffff) as i64,
        _ => (x.to_bits() & 0x7fff_ffff_ffff_ffff) as i64,
    };
    Some(if x < 0.0 { -magnitude } else { magnitude })
}

/// The next value of the dtype from `x` towards `y`; `y` itself if they are equal.
pub(super) fn next_after(dtype: DType, x: f64, y: f64) -> f64 {
    let (Some(from), Some(to)) = (ordinal(x, dtype), ordinal(y, dtype)) else {
        return f64::NAN;
    };
    if x == y {
        return y;
    }
    let next = if to > from { from + 1 } else { from - 1 };
    let value = from_magnitude(next.unsigned_abs(), dtype);
    if next < 0 || (next == 0 && x < 0.0) { -value } else { value }
}

fn from_magnitude(bits: u64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => half::f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => half::bf16::from_bits(bits as u16).to_f64(),
        DType::F32 => f32::from_bits(bits as u32) as f64,
        _ => f64::from_bits(bits),
    }
}
