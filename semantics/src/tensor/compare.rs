//! Comparison of tensors: sameness of bits, closeness, distance in last places.

use ndarray::Dimension;

use super::Tensor;
use crate::scalar::{Value, ulp_distance};

/// The greatest distance between two tensors and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worst {
    /// Steps between neighbouring values of the dtype; `u64::MAX` between NaN and a
    /// number.
    pub ulp: u64,
    pub index: Vec<usize>,
}

impl Tensor {
    /// Whether dtype, shape and all elements are the same: NaN is one value, `-0.0`
    /// and `0.0` are two. `None` where overlapping enclosures leave it open.
    pub fn same(&self, other: &Tensor) -> Option<bool> {
        if self.dtype != other.dtype || self.shape() != other.shape() {
            return Some(false);
        }
        let mut all = Some(true);
        for (a, b) in self.values().zip(other.values()) {
            match a.same(b) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => all = None,
            }
        }
        all
    }

    /// The first index, in row-major order, at which two tensors of one shape are
    /// known to differ.
    pub fn first_difference(&self, other: &Tensor) -> Option<Vec<usize>> {
        let mut pairs = self.data.indexed_iter().zip(other.values());
        let (at, _) = pairs.find(|((_, a), b)| a.same(b) == Some(false))?;
        Some(at.0.slice().to_vec())
    }

    /// Whether dtypes and shapes agree and every element satisfies
    /// `|a - b| <= atol + rtol * |b|`; infinities must be equal, NaN is close to NaN.
    pub fn close(&self, other: &Tensor, rtol: f64, atol: f64) -> bool {
        self.dtype == other.dtype
            && self.shape() == other.shape()
            && self.values().zip(other.values()).all(|(a, b)| close(a, b, rtol, atol))
    }

    /// The greatest distance in units of the last place (of integers: the greatest
    /// difference) and the first index where it is. `None` without elements, or where
    /// dtypes, shapes or domains differ.
    pub fn worst(&self, other: &Tensor) -> Option<Worst> {
        if self.dtype != other.dtype || self.shape() != other.shape() {
            return None;
        }
        let mut worst: Option<Worst> = None;
        for ((index, a), b) in self.data.indexed_iter().zip(other.values()) {
            let ulp = ulp_distance(a, b, self.dtype)?;
            if worst.as_ref().is_none_or(|w| ulp > w.ulp) {
                worst = Some(Worst { ulp, index: index.slice().to_vec() });
            }
        }
        worst
    }
}

fn close(a: &Value, b: &Value, rtol: f64, atol: f64) -> bool {
    let (a, b) = match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => return a == b,
        (Value::Int(a), Value::Int(b)) => {
            return a.abs_diff(*b) as f64 <= atol + rtol * b.unsigned_abs() as f64;
        }
        (Value::Float(a), Value::Float(b)) => ((*a, *a), (*b, *b)),
        (Value::Exact(a), Value::Exact(b)) => match (a.bounds(), b.bounds()) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => return a.is_none() && b.is_none(),
        },
        _ => return false,
    };
    if a.0.is_nan() || b.0.is_nan() {
        return a.0.is_nan() && b.0.is_nan();
    }
    // Farthest apart that the enclosures allow, against the least tolerance.
    let least = if b.0 > 0.0 { b.0 } else { (-b.1).max(0.0) };
    a == b || (a.1 - b.0).max(b.1 - a.0) <= atol + rtol * least && least.is_finite()
}
