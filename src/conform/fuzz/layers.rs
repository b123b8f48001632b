//! Steps over windows and whole rows of channels: convolutions, pooling, normalizations.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Value;
use rtv_semantics::tensor::Tensor;

use super::draw::Draft;
use super::operators::{MAX_WORK, by, finite, step};
use super::{Carry, Own, Step};

pub fn convolution(draft: &mut Draft<'_>) -> Option<Step> {
    let axes = 1 + draft.sampler.below(2);
    let x = channels(draft, axes)?;
    let (dtype, shape) = (draft.tensor(x).dtype, draft.tensor(x).shape().to_vec());
    let mut weight = vec![[1, 2, 5, 8][draft.sampler.below(4)], shape[1]];
    weight.extend((0..axes).map(|_| 1 + draft.sampler.below(3)));
    let terms: usize = weight[1..].iter().product();
    if shape.iter().product::<usize>() * weight.iter().product::<usize>() > MAX_WORK {
        return None;
    }
    let w = draft.of(dtype, &weight);
    let mut each = |low: usize, count: usize| -> String {
        let number = low + draft.sampler.below(count);
        if axes == 1 {
            number.to_string()
        } else {
            format!("[{number}, {}]", low + draft.sampler.below(count))
        }
    };
    let how = format!("stride = {}, padding = {}, dilation = {}", each(1, 2), each(0, 2), each(1, 2));
    let call = |x: &str, w: &str| format!("conv{axes}d({x}, {w}, {how})");
    let own = match dtype.is_float() {
        true => Own::Sum(format!("{} * {}.0", call(&finite(0), &finite(1)), terms + 8)),
        false => Own::None,
    };
    let carry = [call("abs(a0)", "e1"), call("e0", "abs(a1)"), call("e0", "e1")].join(" + ");
    step(call("{0}", "{1}"), &[x, w], Carry::By(carry), own)
}

/// A value of samples, channels and so many axes, or a new one.
fn channels(draft: &mut Draft<'_>, axes: usize) -> Option<usize> {
    let number = |t: &Tensor| t.rank() == axes + 2 && t.dtype != DType::Bool;
    match draft.sampler.below(3) {
        0 => None,
        _ => draft.value(number),
    }
    .or_else(|| {
        let dtype = Some(draft.dtype()).filter(|dtype| *dtype != DType::Bool)?;
        let mut shape = vec![1 + draft.sampler.below(3), 1 + draft.sampler.below(5)];
        shape.extend((0..axes).map(|_| [1, 3, 4, 7, 10][draft.sampler.below(5)]));
        Some(draft.input(dtype, &shape))
    })
}

/// Windows of one or two axes: their greatest element, or their mean.
pub fn pooling(draft: &mut Draft<'_>) -> Option<Step> {
    let float = |t: &Tensor| t.dtype.is_float() && (2..=4).contains(&t.rank());
    let x = draft.value(float)?;
    let (size, stride) = (1 + draft.sampler.below(4), 1 + draft.sampler.below(3));
    let padding = draft.sampler.below(size / 2 + 1);
    let rank = draft.tensor(x).rank();
    match draft.sampler.below(4) {
        0 if rank <= 3 => {
            let how = format!("{size}, {stride}, {padding}");
            let own = Own::Sum(format!("avg_pool1d({}, {how}) * {}.0", finite(0), size + 8));
            step(format!("avg_pool1d({{0}}, {how})"), &[x], by(&format!("avg_pool1d(e0, {how})")), own)
        }
        1 if rank <= 3 => {
            let how = format!("{size}, {stride}, {padding}, {}", 1 + draft.sampler.below(2));
            step(format!("max_pool1d({{0}}, {how})"), &[x], by(&format!("max_pool1d(e0, {how})")), Own::Zeros)
        }
        2 if rank >= 3 => {
            let how = format!("[{size}], [{stride}], [{padding}]");
            step(format!("max_pool2d({{0}}, {how})"), &[x], by(&format!("max_pool2d(e0, {how})")), Own::Zeros)
        }
        _ if rank >= 3 => {
            let terms = draft.tensor(x).numel() + 8;
            let how = format!("[{}, {}]", 1 + draft.sampler.below(3), 1 + draft.sampler.below(3));
            let own = Own::Sum(format!("adaptive_avg_pool2d({}, {how}) * {terms}.0", finite(0)));
            let carry = by(&format!("adaptive_avg_pool2d(e0, {how})"));
            step(format!("adaptive_avg_pool2d({{0}}, {how})"), &[x], carry, own)
        }
        _ => None,
    }
}

/// Rows with mean 0 and variance 1, of numbers whose squares are in range.
pub fn normalization(draft: &mut Draft<'_>) -> Option<Step> {
    let tame = |t: &Tensor| {
        let small = |x: &Value| x.as_float().is_some_and(|x| x.abs() < 1e4);
        matches!(t.dtype, DType::F32 | DType::F64) && t.rank() >= 2 && t.numel() > 0 && t.values().all(small)
    };
    let x = draft.value(tame)?;
    let shape = draft.tensor(x).shape().to_vec();
    let last = *shape.last()?;
    let terms = draft.tensor(x).numel() + 32;
    // What is left after a cancellation is divided by as little as the root of 1e-5.
    let scaled =
        |size: &str| Own::Epsilons(format!("({size} * 320.0 + abs(r)) * ({size} * 320.0 + 1.0) * {terms}.0"));
    let (rows, all) = ("amax(abs(a0), dim = -1, keepdim = true)", "amax(abs(a0))");
    match draft.sampler.below(3) {
        0 => step(format!("layer_norm({{0}}, [{last}])"), &[x], Carry::Never, scaled(rows)),
        1 => step(format!("rms_norm({{0}}, [{last}], eps = 1e-5)"), &[x], Carry::Never, scaled(rows)),
        _ => step("batch_norm({0}, training = true)", &[x], Carry::Never, scaled(all)),
    }
}
