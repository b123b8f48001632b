//! Making a counterexample small: sizes first, then values.

use crate::counterexample::Counterexample;
use crate::refute::{Drawn, Trial, draw_tensors, input_shape, judge};
use ndarray::{Axis, Slice};
use rtv_semantics::program::Claim;
use rtv_semantics::sample::Sampler;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::size::{Sym, SymKind};
use rtv_semantics::tensor::Tensor;
use std::collections::BTreeMap;

/// Draws of tensors at smaller sizes before those sizes are given up.
const DRAWS: usize = 40;

/// Rounds over all sizes and over all elements.
const ROUNDS: usize = 6;

/// Elements beyond which values are left as they are.
const MAX_ELEMENTS: usize = 64;

/// Whether the time for shrinking is over; asked before each input that is tried.
pub type Stop<'s> = &'s dyn Fn() -> bool;

/// The same refutation on an input as small as greedy steps find until `stop`.
pub fn shrink(mut found: Box<Counterexample>, sampler: &mut Sampler, stop: Stop<'_>) -> Box<Counterexample> {
    for _ in 0..ROUNDS {
        let smaller = smaller_sizes(&found, each, sampler, stop)
            .or_else(|| smaller_sizes(&found, alike, sampler, stop));
        let Some(smaller) = smaller else { break };
        found = smaller;
    }
    for _ in 0..ROUNDS {
        let Some(simpler) = simpler_values(&found, stop) else { break };
        found = simpler;
    }
    found
}

/// The refutation on another input, if it is one there too.
fn still_fails(found: &Counterexample, input: &Drawn, stop: Stop<'_>) -> Option<Box<Counterexample>> {
    if stop() {
        return None;
    }
    match judge(&found.instance, input) {
        Trial::Differs(again) if again.contract == found.contract => Some(again),
        _ => None,
    }
}

type Sizes = BTreeMap<Sym, i64>;

/// Each size by itself.
fn each(sizes: &Sizes) -> Vec<Vec<Sym>> {
    sizes.keys().map(|sym| vec![sym.clone()]).collect()
}

/// Sizes that are the same number, as a precondition or a type may ask.
fn alike(sizes: &Sizes) -> Vec<Vec<Sym>> {
    let mut by_number: BTreeMap<i64, Vec<Sym>> = BTreeMap::new();
    for (sym, number) in sizes.iter().filter(|(sym, _)| sym.is_natural()) {
        by_number.entry(*number).or_default().push(sym.clone());
    }
    by_number.into_values().filter(|syms| syms.len() > 1).collect()
}

/// The refutation with some sizes smaller, one group of equal ones after the other.
fn smaller_sizes(
    found: &Counterexample,
    groups: fn(&Sizes) -> Vec<Vec<Sym>>,
    sampler: &mut Sampler,
    stop: Stop<'_>,
) -> Option<Box<Counterexample>> {
    let claim = &*found.instance;
    let mut best = None;
    let mut sizes = found.input.sizes.clone();
    for group in groups(&sizes) {
        let current = sizes[&group[0]];
        let candidates: Vec<i64> = match group[0].kind() {
            SymKind::Int => [0, 1, -1, current / 2].into_iter().filter(|c| c.abs() < current.abs()).collect(),
            _ => smaller_than(current),
        };
        for candidate in candidates {
            let mut trial = sizes.clone();
            trial.extend(group.iter().map(|sym| (sym.clone(), candidate)));
            let env = |s: &Sym| trial.get(s).map(|n| i128::from(*n));
            if !claim.facts.iter().all(|f| f.eval(&env) == Some(true)) {
                continue;
            }
            let cropped = [false, true].into_iter().find_map(|from_end| {
                still_fails(found, &cropped(claim, &found.input, &trial, from_end)?, stop)
            });
            let refuting = cropped.or_else(|| {
                (0..DRAWS)
                    .find_map(|_| still_fails(found, &draw_tensors(claim, trial.clone(), sampler)?, stop))
            });
            if let Some(again) = refuting {
                sizes = trial;
                best = Some(again);
                break;
            }
        }
    }
    best
}

/// The small sizes, then steps towards the current one.
fn smaller_than(current: i64) -> Vec<i64> {
    let mut sizes: Vec<i64> = (0..current.min(8)).collect();
    sizes.extend(
        [current / 8, current / 4, current / 2, current - 1].into_iter().filter(|n| (8..current).contains(n)),
    );
    sizes
}

/// The same values at smaller sizes: the first ones of each axis, or the last.
fn cropped(claim: &Claim, drawn: &Drawn, sizes: &Sizes, from_end: bool) -> Option<Drawn> {
    let mut tensors = Vec::new();
    for (var, name, tensor) in &drawn.tensors {
        let shape = input_shape(claim, var, sizes)?;
        let mut view = tensor.data.view();
        for (axis, extent) in shape.iter().enumerate() {
            let have = view.shape()[axis];
            if *extent > have {
                return None;
            }
            let from = if from_end { have - extent } else { 0 };
            view.slice_axis_inplace(Axis(axis), Slice::from(from..from + extent));
        }
        let smaller = Tensor::new(tensor.dtype, &shape, view.iter().cloned().collect()).ok()?;
        tensors.push((var.clone(), name.clone(), smaller));
    }
    Some(Drawn { sizes: sizes.clone(), tensors })
}

/// Every element replaced by the simplest value that keeps the refutation.
fn simpler_values(found: &Counterexample, stop: Stop<'_>) -> Option<Box<Counterexample>> {
    let mut best = None;
    let mut current = found.input.clone();
    for k in 0..current.tensors.len() {
        let tensor = current.tensors[k].2.clone();
        if tensor.numel() > MAX_ELEMENTS {
            continue;
        }
        for at in 0..tensor.numel() {
            let now = current.tensors[k].2.clone();
            let Some(value) = now.nth(at).cloned() else { continue };
            for simple in simpler_than(&value, &now) {
                let mut trial = current.clone();
                trial.tensors[k].2 = with_element(&now, at, simple);
                if let Some(again) = still_fails(found, &trial, stop) {
                    current = trial;
                    best = Some(again);
                    break;
                }
            }
        }
    }
    best
}

/// The simple values of the dtype that come before this one: 0, 1, -1, 2, 1/2.
fn simpler_than(value: &Value, of: &Tensor) -> Vec<Value> {
    let small = |x: i32| Value::small(x, of.dtype, Domain::Ieee);
    let mut ladder = vec![small(0), small(1)];
    if of.dtype != rtv_semantics::dtype::DType::U8 && of.dtype != rtv_semantics::dtype::DType::Bool {
        ladder.push(small(-1));
    }
    if of.dtype != rtv_semantics::dtype::DType::Bool {
        ladder.extend([small(2), small(3)]);
    }
    if let Some(x) = value.as_float().filter(|x| x.is_finite() && x.abs() > 3.0) {
        // One significant digit, then none behind the point.
        let scale = 10f64.powi(x.abs().log10().floor() as i32);
        let rounded = [(x / scale).trunc() * scale, x.trunc()];
        ladder.extend(rounded.iter().filter(|r| **r != x).map(|r| Value::float(*r, of.dtype, Domain::Ieee)));
    }
    let end = ladder.iter().position(|v| v.same(value) == Some(true)).unwrap_or(ladder.len());
    ladder.truncate(end);
    ladder
}

fn with_element(tensor: &Tensor, at: usize, value: Value) -> Tensor {
    let values =
        tensor.values().enumerate().map(|(k, v)| if k == at { value.clone() } else { v.clone() }).collect();
    Tensor::new(tensor.dtype, tensor.shape(), values).unwrap_or_else(|_| tensor.clone())
}

#[cfg(test)]
mod tests {
    use crate::{Checker, Module, Settings, Stage};
    use rtv_grammar::parse;
    use rtv_semantics::diag::FileId;
    use rtv_smt::Budget;

    /// The elements of the largest tensor of the input that refutes the first item.
    fn largest_input(text: &str) -> usize {
        let (module, found) = Module::new(FileId(0), parse(FileId(0), text));
        assert!(found.is_empty(), "{found:?}");
        let budget = Budget::OBLIGATION;
        let settings = Settings { stage: Stage::Tests, seed: 0, samples: 200, budget, timeout: None };
        let checker = Checker::start(settings).expect("the solver starts");
        let claim = checker.item(&module, 0).claims.remove(0);
        claim.counterexample.expect("it is refuted").largest_input()
    }

    #[test]
    fn sizes_that_must_be_equal_become_small_together() {
        let by_type = "rtl 1.0
rule product_of_padded[M, K, N, T: num](x: T[M, K], y: T[K, N], a: size, b: size) upto real {
  pad_axis(x, 0, a, b, 0) @ y <=> pad_axis(x, 0, a, b, 0)
}
";
        let by_precondition = "rtl 1.0
rule sum_of_any_shape[N, M, K, J, T: num](x: T[K, J])
  requires N * M == K * J
  upto reassoc
{
  sum(reshape(x, [N, M])) <=> -sum(x)
}
";
        for text in [by_type, by_precondition] {
            assert_eq!(largest_input(text), 1, "{text}");
        }
    }
}
