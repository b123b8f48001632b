//! Types of core terms.

use crate::dtype::DType;
use crate::size::Size;
use std::fmt;

/// Element type and extents, outermost axis first. An extent that is a group
/// symbol stands for all axes of a rank variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorType {
    pub dtype: DType,
    pub shape: Vec<Size>,
}

impl TensorType {
    pub fn new(dtype: DType, shape: Vec<Size>) -> TensorType {
        TensorType { dtype, shape }
    }

    pub fn scalar(dtype: DType) -> TensorType {
        TensorType { dtype, shape: Vec::new() }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// An unbounded integer: a dimension, an index, a static integer.
    Size,
    Tensor(TensorType),
    Tuple(Vec<Type>),
}

impl Type {
    pub fn tensor(dtype: DType, shape: Vec<Size>) -> Type {
        Type::Tensor(TensorType { dtype, shape })
    }

    pub fn scalar(dtype: DType) -> Type {
        Type::Tensor(TensorType::scalar(dtype))
    }

    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    pub fn map_sizes(&self, f: &dyn Fn(&Size) -> Size) -> Type {
        match self {
            Type::Size => Type::Size,
            Type::Tensor(t) => Type::tensor(t.dtype, t.shape.iter().map(f).collect()),
            Type::Tuple(parts) => Type::Tuple(parts.iter().map(|t| t.map_sizes(f)).collect()),
        }
    }
}

/// One extent as the surface writes it: `*S` for a group.
pub fn extent_text(size: &Size) -> String {
    match size.as_sym() {
        Some(s) if size.is_group() => format!("*{}", s.name()),
        _ => size.to_string(),
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.shape.iter().map(extent_text).collect();
        write!(f, "{}[{}]", self.dtype, dims.join(", "))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Size => f.write_str("size"),
            Type::Tensor(t) => t.fmt(f),
            Type::Tuple(parts) => {
                let texts: Vec<String> = parts.iter().map(|t| t.to_string()).collect();
                write!(f, "({})", texts.join(", "))
            }
        }
    }
}
