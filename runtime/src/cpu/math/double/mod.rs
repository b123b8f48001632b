//! Functions of `f64`.
//!
//! `pow`, `hypot` and `lgamma` are those of `libm`, one element after the other.

mod error;
mod exponential;
mod inverse;
mod logarithm;
mod trigonometric;

use super::arithmetic::arithmetic;
use super::block::dispatch;

pub use error::{erf, erfc};
pub use exponential::{cosh, exp, exp2, expm1, sigmoid, sinh, tanh};
pub use inverse::{acos, asin, atan, atan2};
pub use logarithm::{acosh, asinh, atanh, log, log1p, log2, log10};
pub use trigonometric::{cos, cos_block, sin, sin_block, tan, tan_block};
pub(super) use trigonometric::{far as tan_far, tan_near};

arithmetic!(f64, u64, 2_251_799_813_685_248.0);
dispatch!(f64);

/// The polynomial with these coefficients, the constant one first, by Horner's rule.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut k = N - 1;
    while k > 0 {
        k -= 1;
        sum = sum.mul_add(x, coefficients[k]);
    }
    sum
}

/// Power, of `libm`, measured within 0.78 units of the last place.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// Length of the vector, of `libm`, measured within 0.96 units of the last place; infinite
/// if either is, even with NaN.
#[inline(always)]
pub fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

/// Logarithm of the magnitude of the gamma function, of `libm`: without a bound near its
/// zeros between negative integers.
#[inline(always)]
pub fn lgamma(x: f64) -> f64 {
    libm::lgamma(x)
}
