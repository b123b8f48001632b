//! Whether a result is the recorded one, within what its comparison allows.

use super::record::{Closeness, Record};
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::Datum;
use rtv_semantics::scalar::{Value, ulp_distance};
use rtv_semantics::tensor::Tensor;

/// The results of a call, a tuple opened.
pub fn results(value: &Datum) -> Result<Vec<&Tensor>, String> {
    match value {
        Datum::Tensor(t) => Ok(vec![t]),
        Datum::Tuple(parts) => Ok(parts.iter().map(results).collect::<Result<Vec<_>, _>>()?.concat()),
        Datum::Size(n) => Err(format!("a size, {n}, where a tensor is recorded")),
    }
}

/// What differs, if anything.
pub fn difference(record: &Record, want: &[Tensor], got: &[&Tensor]) -> Option<String> {
    if want.len() != got.len() {
        return Some(format!("{} results, recorded {}", got.len(), want.len()));
    }
    want.iter().zip(got).find_map(|(want, got)| different(record, want, got))
}

fn different(record: &Record, want: &Tensor, got: &Tensor) -> Option<String> {
    if want.dtype != got.dtype || want.shape() != got.shape() {
        return Some(format!("{}, recorded {}", got.type_text(), want.type_text()));
    }
    let allowed = Allowed::of(record, want.dtype);
    let mut pairs = got.values().zip(want.values()).filter(|(g, w)| !allowed.agree(g, w));
    let (g, w) = pairs.next()?;
    let (bad, all) = (1 + pairs.count(), want.numel());
    Some(format!("{bad} of {all} elements differ, the first is {g}, recorded {w}"))
}

/// The comparison of one output.
struct Allowed {
    dtype: DType,
    closeness: Closeness,
    /// Of accumulated results: relative to `|want| + scale`.
    relative: f64,
    scale: f64,
}

impl Allowed {
    fn of(record: &Record, dtype: DType) -> Allowed {
        let epsilon = dtype.precision().map_or(0.0, |bits| (1.0 - f64::from(bits)).exp2());
        let factor = if matches!(dtype, DType::F16 | DType::BF16) { 2.0 } else { 16.0 };
        let sizes = record.inputs().flat_map(Tensor::values).filter_map(Value::as_float).map(f64::abs);
        let largest = sizes.filter(|x| *x < 1e6).fold(1.0, f64::max);
        Allowed { dtype, closeness: record.closeness, relative: factor * epsilon, scale: largest * largest }
    }

    /// Integers, bools, NaN and infinities must be equal whatever the comparison.
    fn agree(&self, got: &Value, want: &Value) -> bool {
        if got.same(want) == Some(true) {
            return true;
        }
        let (Value::Float(g), Value::Float(w)) = (got, want) else { return false };
        if !g.is_finite() || !w.is_finite() {
            return false;
        }
        match self.closeness {
            Closeness::Exact => false,
            Closeness::Ulp(most) => ulp_distance(got, want, self.dtype).is_some_and(|ulps| ulps <= most),
            Closeness::Accumulated => (g - w).abs() <= self.relative * (w.abs() + self.scale),
        }
    }
}
