//! Functions of integers. Results are exact where they fit `i128` and wrap to the
//! dtype at the caller; those that would not fit wrap at 64 bits first, which is the
//! same.

use crate::dtype::DType;

use super::Fault;

fn divisor(y: i64) -> Result<i128, Fault> {
    if y == 0 {
        return Err(Fault::Arithmetic("integer division by zero".into()));
    }
    Ok(y as i128)
}

/// Rounds towards minus infinity.
pub(super) fn floor_divide(_: DType, x: i64, y: i64) -> Result<i128, Fault> {
    let (x, y) = (x as i128, divisor(y)?);
    Ok(x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0))
}

/// Rounds towards zero.
pub(super) fn trunc_divide(_: DType, x: i64, y: i64) -> Result<i128, Fault> {
    Ok(x as i128 / divisor(y)?)
}

/// Of the sign of `y`.
pub(super) fn remainder(dtype: DType, x: i64, y: i64) -> Result<i128, Fault> {
    Ok(x as i128 - y as i128 * floor_divide(dtype, x, y)?)
}

/// Of the sign of `x`.
pub(super) fn fmod(_: DType, x: i64, y: i64) -> Result<i128, Fault> {
    Ok(x as i128 % divisor(y)?)
}

/// A negative exponent gives the truncated reciprocal, and 0 for base 0.
pub(super) fn pow(_: DType, x: i64, y: i64) -> Result<i128, Fault> {
    if y < 0 {
        return Ok(match x {
            1 => 1,
            -1 if y % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        });
    }
    let (mut power, mut base, mut rest) = (1i64, x, y);
    while rest > 0 {
        if rest & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        rest >>= 1;
    }
    Ok(power as i128)
}

pub(super) fn bitwise_not(dtype: DType, x: i64, _: i64) -> Result<i128, Fault> {
    Ok(if dtype == DType::Bool { i128::from(x == 0) } else { !x as i128 })
}

pub(super) fn left_shift(dtype: DType, x: i64, y: i64) -> Result<i128, Fault> {
    let inside = (0..i64::from(dtype.bits())).contains(&y);
    Ok(if inside { (x as i128) << y } else { 0 })
}

pub(super) fn right_shift(dtype: DType, x: i64, y: i64) -> Result<i128, Fault> {
    let inside = (0..i64::from(dtype.bits())).contains(&y);
    Ok(if inside { (x >> y) as i128 } else { (x >> 63) as i128 })
}

/// Reduces to the dtype's range; of a bool, whether it is not 0.
pub(super) fn wrap(x: i128, dtype: DType) -> i64 {
    match dtype {
        DType::Bool => i64::from(x != 0),
        DType::U8 => x as u8 as i64,
        DType::I8 => x as i8 as i64,
        DType::I16 => x as i16 as i64,
        DType::I32 => x as i32 as i64,
        _ => x as i64,
    }
}
