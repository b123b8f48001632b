//! Functions of IEEE values that are more than one call of `libm`.
//!
//! Arguments and results are `f64`; the caller rounds the result to the dtype. For
//! `+ - * /` and `sqrt` that second rounding is innocuous: 53 bits are at least
//! twice the bits of the narrower dtypes plus two.

use crate::dtype::DType;

use super::round::round;

/// NaN if either is; between zeros of two signs the first.
pub(super) fn maximum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x >= y {
        x
    } else {
        y
    }
}

/// NaN if either is; between zeros of two signs the first.
pub(super) fn minimum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x <= y {
        x
    } else {
        y
    }
}

/// The other one if one is NaN.
pub(super) fn fmax(x: f64, y: f64) -> f64 {
    if x.is_nan() || y > x { y } else { x }
}

/// The other one if one is NaN.
pub(super) fn fmin(x: f64, y: f64) -> f64 {
    if x.is_nan() || y < x { y } else { x }
}

/// 0 at NaN and at both zeros.
pub(super) fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        0.0
    }
}

/// PyTorch's algorithm: exact remainder, then the quotient in the dtype, corrected.
pub(super) fn floor_divide(dtype: DType, x: f64, y: f64) -> f64 {
    let step = |v: f64| round(v, dtype);
    if y == 0.0 {
        return x / y;
    }
    let rest = x % y;
    let mut quotient = step(step(x - rest) / y);
    if rest != 0.0 && (y < 0.0) != (rest < 0.0) {
        quotient = step(quotient - 1.0);
    }
    if quotient == 0.0 {
        return 0f64.copysign(x / y);
    }
    let floor = quotient.floor();
    if step(quotient - floor) > 0.5 { floor + 1.0 } else { floor }
}

/// Truncates the quotient after it was rounded to the dtype.
pub(super) fn trunc_divide(dtype: DType, x: f64, y: f64) -> f64 {
    round(x / y, dtype).trunc()
}

/// Of the sign of `y`.
pub(super) fn remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
}

/// The sign of a NaN reads as positive: it is not part of the value.
pub(super) fn copysign(x: f64, y: f64) -> f64 {
    if y.is_nan() { x.abs() } else { x.copysign(y) }
}

/// The sign of a NaN reads as positive: it is not part of the value.
pub(super) fn signbit(x: f64) -> bool {
    !x.is_nan() && x.is_sign_negative()
}

/// `1 / (1 + exp(-x))`, written so that no step overflows.
pub(super) fn sigmoid(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}

/// `libm` gives numbers for some arguments outside the domain.
pub(super) fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}
