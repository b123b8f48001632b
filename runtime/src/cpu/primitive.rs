//! Which rows of the scalar table are primitive steps of lanes.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::pass::{Binary, Lane, Unary};

/// The dtype that holds all values of the lanes.
pub fn wide(dtype: DType) -> DType {
    match Lane::of(dtype) {
        Lane::F32 => DType::F32,
        Lane::F64 => DType::F64,
        Lane::I32 => DType::I32,
        Lane::I64 => DType::I64,
        Lane::Bool => DType::Bool,
    }
}

pub fn unary(fun: Scalar, dtype: DType) -> Option<Unary> {
    let float = dtype.is_float();
    Some(match fun {
        Scalar::Neg if dtype != DType::Bool => Unary::Neg,
        Scalar::Abs if dtype != DType::Bool => Unary::Abs,
        Scalar::Sqrt if float => Unary::Sqrt,
        Scalar::Reciprocal if float => Unary::Reciprocal,
        Scalar::Floor if float => Unary::Floor,
        Scalar::Ceil if float => Unary::Ceil,
        Scalar::Round if float => Unary::Round,
        Scalar::Trunc if float => Unary::Trunc,
        Scalar::Isnan if float => Unary::Isnan,
        Scalar::Isinf if float => Unary::Isinf,
        Scalar::Isfinite if float => Unary::Isfinite,
        Scalar::LogicalNot => Unary::Not,
        Scalar::BitwiseNot => Unary::Not,
        _ => return None,
    })
}

pub fn binary(fun: Scalar, dtype: DType) -> Option<Binary> {
    let (bool, float) = (dtype == DType::Bool, dtype.is_float());
    Some(match fun {
        Scalar::Add if bool => Binary::Or,
        Scalar::Mul if bool => Binary::And,
        Scalar::Maximum if bool => Binary::Or,
        Scalar::Minimum if bool => Binary::And,
        Scalar::Add => Binary::Add,
        Scalar::Sub if !bool => Binary::Sub,
        Scalar::Mul => Binary::Mul,
        Scalar::Div if float => Binary::Div,
        Scalar::Maximum => Binary::Maximum,
        Scalar::Minimum => Binary::Minimum,
        Scalar::LogicalAnd => Binary::And,
        Scalar::LogicalOr => Binary::Or,
        Scalar::LogicalXor => Binary::Xor,
        Scalar::BitwiseAnd => Binary::And,
        Scalar::BitwiseOr => Binary::Or,
        Scalar::BitwiseXor => Binary::Xor,
        Scalar::Eq => Binary::Eq,
        Scalar::Ne => Binary::Ne,
        Scalar::Lt => Binary::Lt,
        Scalar::Le => Binary::Le,
        Scalar::Gt => Binary::Gt,
        Scalar::Ge => Binary::Ge,
        _ => return None,
    })
}

/// The inverse of a power of two, if both are normal numbers of the dtype.
pub fn inverse_of_power(value: f64, dtype: DType) -> Option<f64> {
    let least = if dtype == DType::F32 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let power = value.is_normal() && value.to_bits() << 12 == 0;
    let inverse = 1.0 / value;
    (power && value.abs() >= least && inverse.abs() >= least && inverse.is_finite()).then_some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_inverses_have_the_bits_of_quotients() {
        let numbers = [0.0f32, -0.0, 1.0, 3.0, -7.5, 1e-38, 1.4e-45, 3e-42, 3.4e38, f32::INFINITY, f32::NAN];
        for divisor in [1.0f32, 2.0, -8.0, 0.25, 2f32.powi(-126), 2f32.powi(126)] {
            let inverse = inverse_of_power(divisor.into(), DType::F32).expect("a power of two") as f32;
            for x in numbers {
                assert_eq!((x * inverse).to_bits(), (x / divisor).to_bits(), "{x} / {divisor}");
            }
        }
        for divisor in [0.0, 3.0, f64::INFINITY, f64::NAN, 2f64.powi(127), 2f64.powi(-130)] {
            assert_eq!(inverse_of_power(divisor, DType::F32), None, "{divisor}");
        }
    }
}
