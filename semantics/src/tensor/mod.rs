//! Concrete tensors: a dtype and an array of elements in either domain.
//!
//! A 0-dim tensor has the empty shape. Invariant, checked by the constructors: every
//! element is a value of the dtype, so a `Bool` for bool, an `Int` in range for an
//! integer dtype, a rounded `Float` or an `Exact` for a float dtype; the undefined
//! exact value may stand anywhere. Elements are in row-major order.

mod bytes;
mod compare;
mod print;
#[cfg(test)]
mod tests;

pub use compare::Worst;

use std::fmt;

use ndarray::{ArrayD, IxDyn};
use num_traits::ToPrimitive;

use crate::dtype::{Category, DType};
use crate::scalar::{Domain, Exact, Value};

/// The most axes a tensor can have, as in PyTorch.
pub const MAX_RANK: usize = 64;

/// A tensor of known shape and elements.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub dtype: DType,
    pub data: ArrayD<Value>,
}

/// Why elements, a shape and a dtype make no tensor, or a tensor has no bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TensorError {
    /// The shape asks for another number of elements (or of bytes) than given.
    Count { expected: usize, given: usize },
    /// The number of elements leaves the address range.
    TooLarge,
    /// More axes than [`MAX_RANK`].
    Rank(usize),
    /// The element, as text, is no value of the dtype or cannot be stored in it.
    Element { value: String, dtype: DType },
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorError::Count { expected, given } => {
                write!(f, "the shape asks for {expected} where {given} are given")
            }
            TensorError::Rank(rank) => write!(f, "{rank} axes; a tensor has at most {MAX_RANK}"),
            TensorError::TooLarge => f.write_str("the shape has more elements than memory has"),
            TensorError::Element { value, dtype } => write!(f, "`{value}` is no value of {dtype}"),
        }
    }
}

impl std::error::Error for TensorError {}

/// The number of elements of a shape, if it fits.
pub fn element_count(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))
}

impl Tensor {
    /// The tensor of these elements in row-major order.
    pub fn new(dtype: DType, shape: &[usize], values: Vec<Value>) -> Result<Tensor, TensorError> {
        if let Some(v) = values.iter().find(|v| !is_value_of(v, dtype)) {
            return Err(TensorError::Element { value: v.to_string(), dtype });
        }
        Tensor::trusted(dtype, shape, values)
    }

    /// As [`Tensor::new`] for elements known to be values of the dtype.
    pub(crate) fn trusted(dtype: DType, shape: &[usize], values: Vec<Value>) -> Result<Tensor, TensorError> {
        let expected = element_count(shape).ok_or(TensorError::TooLarge)?;
        if expected != values.len() {
            return Err(TensorError::Count { expected, given: values.len() });
        }
        if shape.len() > MAX_RANK {
            return Err(TensorError::Rank(shape.len()));
        }
        let data = ArrayD::from_shape_vec(IxDyn(shape), values);
        Ok(Tensor { dtype, data: data.map_err(|_| TensorError::TooLarge)? })
    }

    /// A 0-dim tensor; the value must be one of the dtype.
    pub fn scalar(dtype: DType, value: Value) -> Tensor {
        debug_assert!(is_value_of(&value, dtype), "{value} is a value of {dtype}");
        Tensor { dtype, data: ArrayD::from_elem(IxDyn(&[]), value) }
    }

    /// Every element the same; the value must be one of the dtype.
    pub fn full(dtype: DType, shape: &[usize], value: Value) -> Result<Tensor, TensorError> {
        let count = element_count(shape).ok_or(TensorError::TooLarge)?;
        Tensor::new(dtype, shape, vec![value; count])
    }

    pub fn zeros(dtype: DType, shape: &[usize], domain: Domain) -> Result<Tensor, TensorError> {
        Tensor::full(dtype, shape, Value::zero(dtype, domain))
    }

    /// IEEE floats rounded to the float dtype.
    pub fn from_f64(dtype: DType, shape: &[usize], values: &[f64]) -> Result<Tensor, TensorError> {
        let values = values.iter().map(|x| Value::float(*x, dtype, Domain::Ieee)).collect();
        Tensor::new(dtype, shape, values)
    }

    /// Integers, each in the range of the integer dtype.
    pub fn from_i64(dtype: DType, shape: &[usize], values: &[i64]) -> Result<Tensor, TensorError> {
        Tensor::new(dtype, shape, values.iter().map(|i| Value::Int(*i)).collect())
    }

    pub fn from_bool(shape: &[usize], values: &[bool]) -> Result<Tensor, TensorError> {
        Tensor::new(DType::Bool, shape, values.iter().map(|b| Value::Bool(*b)).collect())
    }

    pub fn shape(&self) -> &[usize] {
        self.data.shape()
    }

    pub fn rank(&self) -> usize {
        self.data.ndim()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.data.len()
    }

    pub fn get(&self, index: &[usize]) -> Option<&Value> {
        self.data.get(IxDyn(index))
    }

    /// The element with this row-major number.
    pub fn nth(&self, offset: usize) -> Option<&Value> {
        match self.data.as_slice() {
            Some(elements) => elements.get(offset),
            None => self.data.iter().nth(offset),
        }
    }

    /// Elements in row-major order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.data.iter()
    }

    /// The only element, of whatever rank.
    pub fn item(&self) -> Option<&Value> {
        let mut values = self.data.iter();
        values.next().filter(|_| self.numel() == 1)
    }

    /// The same numbers in the exact domain: floats become the rationals they denote.
    pub fn to_exact(&self) -> Tensor {
        let data = self.data.map(|v| match v {
            Value::Float(x) => Value::Exact(Exact::from_f64(*x)),
            other => other.clone(),
        });
        Tensor { dtype: self.dtype, data }
    }

    /// The nearest values of the float dtype; the undefined one is NaN. Of an enclosure
    /// the lower end is taken, which is off by its width at most.
    pub fn to_ieee(&self) -> Tensor {
        let dtype = self.dtype;
        let data = self.data.map(|v| match v {
            Value::Exact(x) if dtype.is_float() => {
                let exact = x.as_rational().and_then(|r| r.to_f64());
                let nearest = exact.or(x.bounds().map(|(low, _)| low)).unwrap_or(f64::NAN);
                Value::float(nearest, dtype, Domain::Ieee)
            }
            other => other.clone(),
        });
        Tensor { dtype, data }
    }

    /// The type as the language writes it: `f32[2, 3]`.
    pub fn type_text(&self) -> String {
        let dims: Vec<String> = self.shape().iter().map(usize::to_string).collect();
        format!("{}[{}]", self.dtype, dims.join(", "))
    }
}

fn is_value_of(value: &Value, dtype: DType) -> bool {
    match (value, dtype.category()) {
        (Value::Bool(_), Category::Bool) => true,
        (Value::Int(i), Category::Int) => dtype.int_range().is_some_and(|(lo, hi)| (lo..=hi).contains(i)),
        (Value::Float(x), Category::Float) => x.is_nan() || Value::round(*x, dtype) == *x,
        (Value::Exact(x), category) => x.is_bottom() || category == Category::Float,
        (Value::Field(_), Category::Float) => true,
        _ => false,
    }
}
