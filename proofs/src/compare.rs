//! Do two concrete results agree in a mode?

use rtv_semantics::eval::Datum;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::{Domain, Value, ulp_distance};
use rtv_semantics::tensor::Tensor;

use crate::counterexample::element;
use crate::verdict::Contract;

/// The domain in which a mode's sides are evaluated: the reals, where reordering of
/// sums changes nothing, or the floats themselves.
pub fn domain(mode: Mode) -> Domain {
    match mode {
        Mode::Exact | Mode::Close { .. } => Domain::Ieee,
        Mode::Reassoc | Mode::Real => Domain::Exact,
    }
}

/// Where and how two results differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    pub contract: Contract,
    /// The first index, where a value differs.
    pub at: Option<Vec<usize>>,
    pub text: String,
}

/// The first difference, if there certainly is one.
pub fn difference(left: &Datum, right: &Datum, mode: Mode, directed: bool) -> Option<Difference> {
    match (left, right) {
        (Datum::Tensor(a), Datum::Tensor(b)) => tensors(a, b, mode, directed),
        (Datum::Tuple(a), Datum::Tuple(b)) if a.len() == b.len() => {
            a.iter().zip(b).find_map(|(a, b)| difference(a, b, mode, directed))
        }
        (Datum::Size(a), Datum::Size(b)) => (a != b).then(|| found(Contract::Value, format!("{a} and {b}"))),
        _ => Some(found(Contract::Shape, format!("{} and {}", left.type_text(), right.type_text()))),
    }
}

fn found(contract: Contract, text: String) -> Difference {
    Difference { contract, at: None, text }
}

fn tensors(a: &Tensor, b: &Tensor, mode: Mode, directed: bool) -> Option<Difference> {
    if a.dtype != b.dtype {
        return Some(found(Contract::DType, format!("{} and {}", a.dtype, b.dtype)));
    }
    if a.shape() != b.shape() {
        return Some(found(Contract::Shape, format!("{:?} and {:?}", a.shape(), b.shape())));
    }
    let (offset, (x, y)) =
        a.values().zip(b.values()).enumerate().find(|(_, (x, y))| differ(x, y, a, mode, directed))?;
    let at = index_of(offset, a.shape());
    let text = format!("{} and {}", element(x, a.dtype), element(y, a.dtype));
    Some(Difference { contract: Contract::Value, at: Some(at), text })
}

fn differ(x: &Value, y: &Value, of: &Tensor, mode: Mode, directed: bool) -> bool {
    match mode {
        Mode::Exact => x.same(y) == Some(false),
        Mode::Reassoc | Mode::Real => match (x.is_bottom(), y.is_bottom()) {
            (true, _) if directed => false,
            (true, true) => false,
            (true, false) | (false, true) => true,
            (false, false) => x.same(y) == Some(false),
        },
        Mode::Close { rtol, atol, ulp } => !near(x, y, of, rtol, atol, ulp),
    }
}

/// Within `atol + rtol * |y|`, or within `ulp` units in the last place.
fn near(x: &Value, y: &Value, of: &Tensor, rtol: f64, atol: f64, ulp: Option<u64>) -> bool {
    if x.same(y) == Some(true) {
        return true;
    }
    let (Some(a), Some(b)) = (x.as_float(), y.as_float()) else { return false };
    if a == b || (a.is_nan() && b.is_nan()) {
        return true;
    }
    if a.is_finite() && b.is_finite() && (a - b).abs() <= atol + rtol * b.abs() {
        return true;
    }
    match (ulp, ulp_distance(x, y, of.dtype)) {
        (Some(most), Some(distance)) => distance <= most,
        _ => false,
    }
}

fn index_of(mut offset: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (axis, extent) in shape.iter().enumerate().rev() {
        index[axis] = offset % extent;
        offset /= extent;
    }
    index
}
