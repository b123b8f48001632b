//! What steps are made of: each family draws one call with operands that fit, and says how
//! errors pass through it.

use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::tensor::Tensor;

use super::draw::Draft;
use super::{Carry, Own, Step, layers};

/// Draws a step, or nothing where no value fits.
pub type Family = fn(&mut Draft<'_>) -> Option<Step>;

/// The kinds of steps; those that are fused in more ways stand more than once.
pub const FAMILIES: [Family; 31] = [
    unary_exact,
    unary_exact,
    unary_inexact,
    unary_inexact,
    binary,
    binary,
    binary,
    binary,
    with_number,
    with_number,
    comparison,
    integers,
    choice,
    cast,
    view,
    view,
    view,
    joined,
    joined,
    indexed,
    reduction,
    reduction,
    reduction,
    along_axis,
    scan,
    sorted,
    scattered,
    product,
    layers::convolution,
    layers::pooling,
    layers::normalization,
];

/// Products and sums of one step, at most: the reference does them one by one.
pub const MAX_WORK: usize = 1 << 20;

pub fn step(text: impl Into<String>, operands: &[usize], carry: Carry, own: Own) -> Option<Step> {
    Some(Step { text: text.into(), operands: operands.to_vec(), carry, own })
}

fn moved(text: impl Into<String>, operands: &[usize]) -> Option<Step> {
    step(text, operands, Carry::Moved, Own::None)
}

pub fn by(text: &str) -> Carry {
    Carry::By(text.to_string())
}

/// The sizes of the finite elements of an operand.
pub fn finite(k: usize) -> String {
    format!("where(isfinite(a{k}), abs(a{k}), 0.0)")
}

fn float(tensor: &Tensor) -> bool {
    tensor.dtype.is_float()
}

fn number(tensor: &Tensor) -> bool {
    tensor.dtype.category() != Category::Bool
}

fn one_of<'t>(draft: &mut Draft<'_>, names: &[&'t str]) -> &'t str {
    draft.sampler.pick(names).expect("invariant: there are names")
}

fn unary_exact(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(number)?;
    let steady = ["neg({0})", "abs({0})", "relu({0})"];
    let steps = ["floor({0})", "ceil({0})", "trunc({0})", "round({0})", "sign({0})", "square({0})"];
    let floats = ["sqrt({0})", "reciprocal({0})"];
    match draft.sampler.below(4) {
        0 | 1 => step(one_of(draft, &steady), &[x], by("e0"), Own::None),
        2 if float(draft.tensor(x)) => step(one_of(draft, &floats), &[x], Carry::Never, Own::None),
        _ => step(one_of(draft, &steps), &[x], Carry::Never, Own::None),
    }
}

/// Elementary functions; those whose slope is at most 1 take operands that are not exact.
fn unary_inexact(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(float)?;
    let own = Own::of_result(8);
    match draft.sampler.below(4) {
        0 | 1 => step(one_of(draft, &["tanh({0})", "sigmoid({0})", "atan({0})"]), &[x], by("e0"), own),
        2 => step("exp({0})", &[x], by("where(e0 < 0.5, abs(r) * e0 * 2.0, inf)"), own),
        _ => {
            let names = [
                "log({0})",
                "log2({0})",
                "log1p({0})",
                "expm1({0})",
                "exp2({0})",
                "rsqrt({0})",
                "erf({0})",
                "sinh({0})",
                "cosh({0})",
                "asinh({0})",
            ];
            step(one_of(draft, &names), &[x], Carry::Never, own)
        }
    }
}

/// The second operand of an elementwise operator: as the first, with axes of 1, or fewer.
fn beside(draft: &mut Draft<'_>, x: usize) -> usize {
    let (dtype, mut shape) = (draft.tensor(x).dtype, draft.tensor(x).shape().to_vec());
    match draft.sampler.below(4) {
        0 if !shape.is_empty() => {
            let axis = draft.sampler.below(shape.len());
            shape[axis] = 1;
        }
        1 if !shape.is_empty() => {
            shape.remove(0);
        }
        _ => {}
    }
    let dtype = if draft.sampler.below(6) == 0 { draft.dtype() } else { dtype };
    draft.of(dtype, &shape)
}

fn binary(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|_| true)?;
    let y = beside(draft, x);
    match draft.sampler.below(8) {
        0 => step("{0} + {1}", &[x, y], by("e0 + e1"), Own::None),
        1 => step("{0} - {1}", &[x, y], by("e0 + e1"), Own::None),
        2 | 3 => {
            let carry = by("abs(a0) * e1 + abs(a1) * e0 + e0 * e1");
            step("{0} * {1}", &[x, y], carry, Own::None)
        }
        4 => step("maximum({0}, {1})", &[x, y], by("maximum(e0, e1)"), Own::None),
        5 => step("minimum({0}, {1})", &[x, y], by("maximum(e0, e1)"), Own::None),
        6 => step("{0} / {1}", &[x, y], Carry::Never, Own::None),
        _ => step(
            one_of(draft, &["fmax({0}, {1})", "fmin({0}, {1})", "copysign({0}, {1})"]),
            &[x, y],
            Carry::Never,
            Own::None,
        ),
    }
}

fn with_number(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|_| true)?;
    let number = draft.number(draft.tensor(x).dtype);
    match draft.sampler.below(6) {
        0 => step(format!("{{0}} + {number}"), &[x], by("e0"), Own::None),
        1 => step(format!("{number} - {{0}}"), &[x], by("e0"), Own::None),
        2 => {
            step(format!("{{0}} * {number}"), &[x], Carry::By(format!("e0 * abs(f64({number}))")), Own::None)
        }
        3 => step(format!("clamp({{0}}, max = {number})"), &[x], by("e0"), Own::None),
        4 => step(format!("{{0}} / {number}"), &[x], Carry::Never, Own::None),
        _ => step(format!("clamp({{0}}, {number}, 3)"), &[x], by("e0"), Own::None),
    }
}

fn comparison(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|_| true)?;
    let y = beside(draft, x);
    let names = ["{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}", "eq({0}, {1})", "{0} != {1}"];
    let tests = ["isnan({0})", "isfinite({0})", "logical_not({0})", "signbit({0})", "isinf({0})"];
    match draft.sampler.below(4) {
        0 => step(one_of(draft, &tests), &[x], Carry::Never, Own::None),
        _ => step(one_of(draft, &names), &[x, y], Carry::Never, Own::None),
    }
}

fn integers(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|t| !t.dtype.is_float())?;
    let (dtype, shape) = (draft.tensor(x).dtype, draft.tensor(x).shape().to_vec());
    let y = draft.of(dtype, &shape);
    let any = ["bitwise_and({0}, {1})", "bitwise_or({0}, {1})", "bitwise_xor({0}, {1})", "bitwise_not({0})"];
    let numbers = [
        "floor_divide({0}, {1})",
        "{0} % {1}",
        "fmod({0}, {1})",
        "bitwise_left_shift({0}, {1})",
        "bitwise_right_shift({0}, {1})",
        "div({0}, {1}, rounding_mode = \"trunc\")",
    ];
    match draft.sampler.below(2) {
        0 => step(one_of(draft, &any), &[x, y], Carry::Never, Own::None),
        _ => step(one_of(draft, &numbers), &[x, y], Carry::Never, Own::None),
    }
}

fn choice(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|_| true)?;
    let (dtype, shape) = (draft.tensor(x).dtype, draft.tensor(x).shape().to_vec());
    let y = draft.of(dtype, &shape);
    let condition = draft.of(DType::Bool, &shape);
    match draft.sampler.below(3) {
        0 => step("masked_fill({0}, {1}, 1)", &[x, condition], by("e0"), Own::None),
        _ => step("where({2}, {0}, {1})", &[x, y, condition], by("where(v2, e0, e1)"), Own::None),
    }
}

fn cast(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|_| true)?;
    let to = draft.dtype();
    let carry = if float(draft.tensor(x)) && to.is_float() { by("e0") } else { Carry::Never };
    step(format!("{}({{0}})", to.name()), &[x], carry, Own::None)
}

fn view(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|t| t.rank() > 0)?;
    let shape = draft.tensor(x).shape().to_vec();
    let (axis, extent) = draft.axis(x)?;
    let other = draft.sampler.below(shape.len());
    let colons = |at: &str| format!("{{0}}[{}{at}]", ":, ".repeat(axis));
    let from = draft.sampler.below(extent + 1);
    let to = from + draft.sampler.below(extent - from + 1);
    match draft.sampler.below(16) {
        0 => moved(format!("flip({{0}}, {axis})"), &[x]),
        1 | 2 => moved(format!("transpose({{0}}, {axis}, {other})"), &[x]),
        3 => moved(colons(&format!("{from}:{to}")), &[x]),
        4 => moved(colons(&format!("{from}:{to}:{}", 2 + draft.sampler.below(2))), &[x]),
        5 if extent > 0 => moved(colons(&draft.sampler.below(extent).to_string()), &[x]),
        6 => moved(format!("unsqueeze({{0}}, {axis})"), &[x]),
        7 => moved("flatten({0})", &[x]),
        8 => {
            let swapped: Vec<String> = shape.iter().rev().map(usize::to_string).collect();
            moved(format!("reshape({{0}}, [{}])", swapped.join(", ")), &[x])
        }
        9 => {
            let lead = 1 + draft.sampler.below(3);
            let all: Vec<String> = std::iter::once(lead).chain(shape).map(|n| n.to_string()).collect();
            moved(format!("expand({{0}}, [{}])", all.join(", ")), &[x])
        }
        10 => {
            let (low, high) = (draft.sampler.below(3), draft.sampler.below(3));
            let text = |value: &str| format!("pad_axis({{0}}, {axis}, {low}, {high}{value})");
            let errors = text("").replace("{0}", "e0");
            step(text(", 1"), &[x], Carry::By(errors), Own::None)
        }
        11 => moved(format!("roll({{0}}, {}, {axis})", draft.sampler.integer(-3, 5)), &[x]),
        12 if shape.len() > 1 => {
            let name = one_of(draft, &["tril", "triu"]);
            moved(format!("{name}({{0}}, {})", draft.sampler.integer(-2, 2)), &[x])
        }
        13 => moved(format!("repeat_interleave({{0}}, {}, {axis})", draft.sampler.below(3)), &[x]),
        14 if axis != other => {
            moved(format!("diagonal({{0}}, {}, {axis}, {other})", draft.sampler.integer(-1, 1)), &[x])
        }
        15 if extent > 0 => {
            moved(format!("unfold({{0}}, {axis}, {}, 1)", 1 + draft.sampler.below(extent.min(4))), &[x])
        }
        _ => moved("squeeze({0})", &[x]),
    }
}

fn joined(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|t| t.rank() > 0)?;
    let (axis, _) = draft.axis(x)?;
    let (dtype, mut shape) = (draft.tensor(x).dtype, draft.tensor(x).shape().to_vec());
    if draft.sampler.below(3) == 0 {
        let y = draft.of(dtype, &shape);
        return moved(format!("stack([{{0}}, {{1}}], {axis})"), &[x, y]);
    }
    shape[axis] = draft.extent();
    let y = draft.of(dtype, &shape);
    moved(format!("concat([{{0}}, {{1}}], dim = {axis})"), &[x, y])
}

/// Elements picked, or put, by data.
fn indexed(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|t| t.rank() > 0)?;
    let (axis, extent) = draft.axis(x)?;
    let shape = draft.tensor(x).shape().to_vec();
    match draft.sampler.below(4) {
        0 => {
            let count = draft.extent();
            let index = draft.indices(&[count], extent);
            moved(format!("index_select({{0}}, {axis}, {{1}})"), &[x, index])
        }
        1 => {
            let mut own = shape;
            own[axis] = draft.extent();
            let index = draft.indices(&own, extent);
            moved(format!("gather({{0}}, {axis}, {{1}})"), &[x, index])
        }
        2 => {
            let own = [draft.extent()];
            let classes = 1 + draft.sampler.below(5);
            let index = draft.indices(&own, classes);
            step(format!("one_hot({{0}}, {classes})"), &[index], Carry::Never, Own::None)
        }
        _ => {
            let dtype = draft.tensor(x).dtype;
            let mut own = shape;
            own[axis] = draft.sampler.below(3);
            // One entry for each place, so that no two meet.
            let index: Vec<i64> = (0..own[axis] as i64).collect();
            let index = Tensor::from_i64(DType::I64, &[own[axis]], &index).ok()?;
            let source = draft.input(dtype, &own);
            let index = draft.input_of(index);
            moved(format!("index_copy({{0}}, {axis}, {{2}}, {{1}})"), &[x, source, index])
        }
    }
}

fn reduction(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|_| true)?;
    let how = match draft.axis(x) {
        Some((axis, _)) if draft.sampler.below(3) > 0 => {
            let keep = ["", ", keepdim = true"][draft.sampler.below(2)];
            format!(", dim = {axis}{keep}")
        }
        _ => String::new(),
    };
    let count = draft.tensor(x).numel() + 8;
    let finite = finite(0);
    let float = float(draft.tensor(x));
    match draft.sampler.below(8) {
        0..=2 => {
            let own = if float { Own::Sum(format!("sum({finite}{how}) * {count}.0")) } else { Own::None };
            step(format!("sum({{0}}{how})"), &[x], Carry::By(format!("sum(e0{how})")), own)
        }
        3 if float => {
            // The sum may pass the range although the mean does not.
            let own = Own::Sum(format!("sum({finite}{how}) * {count}.0"));
            step(format!("mean({{0}}{how})"), &[x], Carry::By(format!("mean(e0{how})")), own)
        }
        4 => step(format!("amax({{0}}{how})"), &[x], Carry::By(format!("amax(e0{how})")), Own::Zeros),
        5 => step(format!("amin({{0}}{how})"), &[x], Carry::By(format!("amax(e0{how})")), Own::Zeros),
        6 => step(format!("{}({{0}}{how})", one_of(draft, &["all", "any"])), &[x], Carry::Never, Own::None),
        _ => step(
            format!("{}({{0}}{how})", one_of(draft, &["argmax", "argmin"])),
            &[x],
            Carry::Never,
            Own::None,
        ),
    }
}

/// Whole rows: softmax, and what follows it.
fn along_axis(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|t| t.rank() > 0 && float(t))?;
    let (axis, extent) = draft.axis(x)?;
    match draft.sampler.below(3) {
        0 => step(format!("softmax({{0}}, {axis})"), &[x], Carry::Never, Own::of_result(extent + 32)),
        1 => {
            let own = Own::Epsilons(format!("(abs(r) + 1.0) * {}.0", extent + 32));
            step(format!("log_softmax({{0}}, {axis})"), &[x], Carry::Never, own)
        }
        _ => moved(format!("flip({{0}}, {axis})"), &[x]),
    }
}

/// Reductions up to each element, which the reference does one by one.
fn scan(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|t| t.rank() > 0)?;
    let (axis, extent) = draft.axis(x)?;
    let float = float(draft.tensor(x));
    if extent * draft.tensor(x).numel() > MAX_WORK {
        return None;
    }
    match draft.sampler.below(6) {
        0 | 1 => {
            let own = match float {
                true => Own::Sum(format!("cumsum({}, {axis}) * {}.0", finite(0), extent + 8)),
                false => Own::None,
            };
            step(format!("cumsum({{0}}, {axis})"), &[x], Carry::By(format!("cumsum(e0, {axis})")), own)
        }
        2 => {
            let own = if float { Own::of_result(extent + 8) } else { Own::None };
            step(format!("cumprod({{0}}, {axis})"), &[x], Carry::Never, own)
        }
        3 if float => {
            let own = Own::Epsilons(format!("(abs(r) + 1.0) * {}.0", extent + 32));
            step(format!("logcumsumexp({{0}}, {axis})"), &[x], Carry::Never, own)
        }
        4 => {
            let name = one_of(draft, &["cummax", "cummin"]);
            step(
                format!("{name}({{0}}, {axis})[0]"),
                &[x],
                Carry::By(format!("cummax(e0, {axis})[0]")),
                Own::Zeros,
            )
        }
        _ => {
            let name = one_of(draft, &["cummax", "cummin"]);
            step(format!("{name}({{0}}, {axis})[1]"), &[x], Carry::Never, Own::None)
        }
    }
}

fn sorted(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|t| t.rank() > 0)?;
    let (axis, extent) = draft.axis(x)?;
    if extent * draft.tensor(x).numel() > MAX_WORK {
        return None;
    }
    let (down, item) = (["true", "false"][draft.sampler.below(2)], draft.sampler.below(2));
    let text = match draft.sampler.below(3) {
        0 => format!("argsort({{0}}, {axis}, {down})"),
        1 => format!("sort({{0}}, {axis}, {down})[{item}]"),
        _ => format!("topk({{0}}, {}, {axis}, {down})[{item}]", draft.sampler.below(extent + 1)),
    };
    step(text, &[x], Carry::Never, Own::None)
}

/// Elements put where indices say, several of them at one place.
fn scattered(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|t| t.rank() > 0 && number(t))?;
    let (axis, extent) = draft.axis(x)?;
    let (dtype, mut shape) = (draft.tensor(x).dtype, draft.tensor(x).shape().to_vec());
    shape[axis] = draft.extent();
    let (count, float) = (shape[axis], float(draft.tensor(x)));
    if draft.tensor(x).numel() * count > MAX_WORK {
        return None;
    }
    let source = draft.of(dtype, &shape);
    let own = |call: &str| {
        let sizes = call.replace("{0}", &finite(0)).replace("{1}", "v1").replace("{2}", &finite(2));
        if float { Own::Sum(format!("{sizes} * {}.0", count + 8)) } else { Own::None }
    };
    if draft.sampler.below(3) == 0 {
        let index = draft.indices(&[count], extent);
        let call = format!("index_add({{0}}, {axis}, {{1}}, {{2}})");
        let carry = format!("index_add(e0, {axis}, v1, e2)");
        return step(&call, &[x, index, source], Carry::By(carry), own(&call));
    }
    let index = draft.indices(&shape, extent);
    match draft.sampler.below(4) {
        0 => step(
            format!("scatter({{0}}, {axis}, {{1}}, {{2}})"),
            &[x, index, source],
            Carry::Never,
            Own::None,
        ),
        1 => {
            let value = draft.number(dtype);
            step(format!("scatter({{0}}, {axis}, {{1}}, {value})"), &[x, index], Carry::Never, Own::None)
        }
        2 => {
            let name = one_of(draft, &["amax", "amin"]);
            let call = format!("scatter_reduce({{0}}, {axis}, {{1}}, {{2}}, \"{name}\")");
            step(call, &[x, index, source], Carry::Never, Own::Zeros)
        }
        _ => {
            let call = format!("scatter_reduce({{0}}, {axis}, {{1}}, {{2}}, \"sum\")");
            step(&call, &[x, index, source], Carry::Never, own(&call))
        }
    }
}

fn product(draft: &mut Draft<'_>) -> Option<Step> {
    let x = draft.value(|t| t.rank() >= 1 && number(t))?;
    let (dtype, shape) = (draft.tensor(x).dtype, draft.tensor(x).shape().to_vec());
    let inner = *shape.last()?;
    let other = match draft.sampler.below(4) {
        0 => vec![inner],
        _ => vec![inner, draft.extent()],
    };
    if draft.tensor(x).numel() * other.last()? > MAX_WORK {
        return None;
    }
    let y = draft.of(dtype, &other);
    let own = match dtype.is_float() {
        true => Own::Sum(format!("({} @ {}) * {}.0", finite(0), finite(1), inner + 8)),
        false => Own::None,
    };
    step("{0} @ {1}", &[x, y], by("abs(a0) @ e1 + e0 @ abs(a1) + e0 @ e1"), own)
}
