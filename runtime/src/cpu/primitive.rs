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
