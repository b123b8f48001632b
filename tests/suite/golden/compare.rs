//! Whether a result is the recorded one, within what its comparison allows.

use rtv::conform::golden::record::Record;
use rtv_semantics::tensor::Tensor;

/// What differs, if anything.
pub fn difference(record: &Record, want: &[Tensor], got: &[Tensor]) -> Option<String> {
    if want.len() != got.len() {
        return Some(format!("{} results, recorded {}", got.len(), want.len()));
    }
    want.iter().zip(got).find_map(|(want, got)| different(record, want, got))
}

fn different(record: &Record, want: &Tensor, got: &Tensor) -> Option<String> {
    if want.dtype != got.dtype || want.shape() != got.shape() {
        return Some(format!("{}, recorded {}", got.type_text(), want.type_text()));
    }
    let allowed = record.grade(want.dtype);
    let mut pairs = got.values().zip(want.values()).filter(|(g, w)| !allowed.admits(g, w, want.dtype));
    let (g, w) = pairs.next()?;
    let (bad, all) = (1 + pairs.count(), want.numel());
    Some(format!("{bad} of {all} elements differ, the first is {g}, recorded {w}"))
}
