//! Functions of `f32`.
//!
//! What programs call often has polynomials in `f32` of its own. What they call seldom is
//! the function of `f64`, rounded once: within 0.51 units of the last place.

mod error;
mod exponential;
mod logarithm;
mod power;
mod trigonometric;

use super::arithmetic::arithmetic;
use super::block::dispatch;
use super::double;

pub use error::erf;
pub(in crate::cpu) use exponential::{GROWTH, LN_2_REST, ROUNDER};
pub use exponential::{exp, exp2, expm1, sigmoid, tanh};
pub use logarithm::{log, log1p, log2, log10};
pub use power::pow;
pub use trigonometric::{cos, cos_block, sin, sin_block, tan, tan_block};

arithmetic!(f32, u32, 4_194_304.0);
dispatch!(f32);

/// The polynomial with these coefficients, the constant one first, by Horner's rule.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    let mut k = N - 1;
    while k > 0 {
        k -= 1;
        sum = sum.mul_add(x, coefficients[k]);
    }
    sum
}

/// The function of `f64`, rounded.
macro_rules! rounded {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name(x: f32) -> f32 {
                double::$name(f64::from(x)) as f32
            }
        )*
    };
}

rounded! {
    /// Inverse sine, within 0.51 units of the last place.
    asin
    /// Inverse cosine, within 0.51 units of the last place.
    acos
    /// Inverse tangent, within 0.51 units of the last place.
    atan
    /// Hyperbolic sine, within 0.51 units of the last place.
    sinh
    /// Hyperbolic cosine, within 0.51 units of the last place.
    cosh
    /// Inverse hyperbolic sine, within 0.51 units of the last place.
    asinh
    /// Inverse hyperbolic cosine, within 0.51 units of the last place.
    acosh
    /// Inverse hyperbolic tangent, within 0.51 units of the last place.
    atanh
    /// `1 - erf(x)` without cancellation, within 0.51 units of the last place.
    erfc
    /// Logarithm of the magnitude of the gamma function, of `libm`.
    lgamma
}

/// Angle of the point with height `x` at `y` along the axis, within 0.51 units of the
/// last place.
#[inline(always)]
pub fn atan2(x: f32, y: f32) -> f32 {
    double::atan2(f64::from(x), f64::from(y)) as f32
}

/// Length of the vector, within 0.51 units of the last place; infinite if either is, even
/// with NaN. No square of an `f32` leaves the range of `f64`.
#[inline(always)]
pub fn hypot(x: f32, y: f32) -> f32 {
    let (a, b) = (f64::from(x), f64::from(y));
    let length = (a * a + b * b).sqrt() as f32;
    if x.is_infinite() | y.is_infinite() { f32::INFINITY } else { length }
}
