//! What operations cost, in the unit of one multiplication and addition of a matrix product.
//!
//! Rough, for choosing among programs that mean the same: a machine with vectors, whose memory
//! gives some bytes in the time of a hundred products.

use crate::scalar::Scalar;

/// One addition, comparison or conversion of elements.
pub const PLAIN: f64 = 4.0;
/// One quotient or root.
pub const QUOTIENT: f64 = 12.0;
/// One exponential, logarithm, ...
pub const ELEMENTARY: f64 = 40.0;
/// One byte to or from memory.
pub const BYTE: f64 = 8.0;

/// One evaluation of a row of the scalar table.
pub fn scalar(fun: Scalar) -> f64 {
    match fun {
        Scalar::Div | Scalar::Reciprocal | Scalar::Sqrt | Scalar::Remainder | Scalar::Fmod => QUOTIENT,
        // A root and a quotient.
        Scalar::Rsqrt => 2.0 * QUOTIENT,
        Scalar::Pow
        | Scalar::Exp
        | Scalar::Exp2
        | Scalar::Expm1
        | Scalar::Log
        | Scalar::Log2
        | Scalar::Log10
        | Scalar::Log1p
        | Scalar::Sin
        | Scalar::Cos
        | Scalar::Tan
        | Scalar::Asin
        | Scalar::Acos
        | Scalar::Atan
        | Scalar::Sinh
        | Scalar::Cosh
        | Scalar::Tanh
        | Scalar::Asinh
        | Scalar::Acosh
        | Scalar::Atanh
        | Scalar::Atan2
        | Scalar::Hypot
        | Scalar::Erf
        | Scalar::Erfc
        | Scalar::Lgamma
        | Scalar::Sigmoid => ELEMENTARY,
        _ => PLAIN,
    }
}
