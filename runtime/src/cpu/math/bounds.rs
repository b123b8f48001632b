//! How far each function is from the true value.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

/// Bound of the distance of a result from the true value, in units of the last place of
/// the true value: 0 is exact, 1/2 correctly rounded, infinity no bound. Integer functions
/// and tests are exact.
pub fn ulp_bound(function: Scalar, dtype: DType) -> f64 {
    match dtype {
        DType::F64 => double(function),
        DType::F32 => single(function),
        DType::F16 | DType::BF16 => narrow(single(function), dtype),
        _ => 0.0,
    }
}

/// Of a result in `f32` that is rounded once more.
fn narrow(bound: f64, dtype: DType) -> f64 {
    let bits = dtype.precision().expect("invariant: a float dtype");
    if bound == 0.0 { 0.0 } else { 0.5 + bound / f64::from(1u32 << (24 - bits)) }
}

/// Of exact functions and of those that are rounded once, for both types.
fn rounded(function: Scalar) -> Option<f64> {
    use Scalar::*;
    match function {
        Neg | Abs | Sign | Floor | Ceil | Round | Trunc | Frac | Fmod => Some(0.0),
        Maximum | Minimum | Fmax | Fmin | Copysign | Nextafter => Some(0.0),
        Add | Sub | Mul | Div | Reciprocal | Sqrt | Remainder => Some(0.5),
        // What the table says: by the algorithm of PyTorch, in the dtype.
        FloorDivide | TruncDivide => Some(0.0),
        Rsqrt => Some(1.5),
        Lgamma => Some(f64::INFINITY),
        _ => None,
    }
}

fn single(function: Scalar) -> f64 {
    use Scalar::*;
    let own = match function {
        Exp | Exp2 | Log | Log2 | Log10 => 1.1,
        Expm1 | Log1p | Tanh | Sigmoid => 1.6,
        Sin | Cos => 1.7,
        Erf => 1.3,
        // Computed in f64.
        Pow | Tan | Asin | Acos | Atan | Atan2 | Sinh | Cosh | Asinh | Acosh | Atanh | Hypot | Erfc => 0.51,
        _ => 0.0,
    };
    rounded(function).unwrap_or(own)
}

fn double(function: Scalar) -> f64 {
    use Scalar::*;
    let own = match function {
        Pow | Hypot => 1.0,
        Exp | Exp2 | Log | Log2 | Log10 | Log1p | Erf => 1.2,
        Sin | Cos | Atan | Atan2 | Acos | Sigmoid => 1.7,
        Expm1 | Sinh | Cosh | Tanh | Asinh => 2.0,
        Asin | Acosh | Atanh => 2.5,
        Tan | Erfc => 3.5,
        _ => 0.0,
    };
    rounded(function).unwrap_or(own)
}
