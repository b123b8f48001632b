//! Trying what the solver thinks separates the sides: its model as an input.
//!
//! A model abstracts from functions that the solver does not interpret, so it proves
//! nothing; run on the reference evaluator it may turn out to be a refutation.

use crate::counterexample::Counterexample;
use crate::refute::{Trial, draw_tensors, judge};
use num_traits::ToPrimitive;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::program::Claim;
use rtv_semantics::sample::Sampler;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::size::{Sym, SymKind};
use rtv_semantics::tensor::Tensor;
use rtv_smt::{ModelRead, ModelValue, ValueModel};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sizes beyond this are not replayed.
const MAX_SIZE: i64 = 1 << 16;

/// Random values for what the model leaves open.
const ATTEMPTS: usize = 8;

/// A refutation on an input of `claim` that agrees with the model. The claim may be another
/// instance than the one the model is of: names are what they share, and a group is the
/// one axis of rank 1.
pub fn replay(claim: &Arc<Claim>, model: &ValueModel, sampler: &mut Sampler) -> Option<Box<Counterexample>> {
    let sizes = sizes(claim, model)?;
    let known = |s: &Sym| sizes.get(s).map(|n| i128::from(*n));
    if !claim.facts.iter().all(|fact| fact.eval(&known) == Some(true)) {
        return None;
    }
    (0..ATTEMPTS).find_map(|_| {
        let mut drawn = draw_tensors(claim, sizes.clone(), sampler)?;
        for (var, _, tensor) in &mut drawn.tensors {
            let name = format!("{} v", var.name);
            let reads = model.reads.iter().filter(|r| r.var.starts_with(&name));
            *tensor = with_reads(tensor, reads)?;
        }
        match judge(claim, &drawn) {
            Trial::Differs(found) => Some(found),
            _ => None,
        }
    })
}

fn sizes(claim: &Claim, model: &ValueModel) -> Option<BTreeMap<Sym, i64>> {
    let mut sizes = BTreeMap::new();
    for sym in &claim.syms {
        let named = model.syms.iter().find(|(s, _)| match s.kind() {
            SymKind::Group => format!("{}0", s.name()) == sym.name(),
            _ => s.name() == sym.name(),
        });
        let value = named.map_or(Some(1), |(_, value)| value.to_i64())?;
        if value.abs() > MAX_SIZE {
            return None;
        }
        sizes.insert(sym.clone(), value);
    }
    Some(sizes)
}

/// The tensor with the elements that the model reads.
fn with_reads<'m>(tensor: &Tensor, reads: impl Iterator<Item = &'m ModelRead>) -> Option<Tensor> {
    let mut values: Vec<Value> = tensor.values().cloned().collect();
    for read in reads {
        let index: Option<Vec<usize>> = read.index.iter().map(|i| i.to_usize()).collect();
        let (Some(index), Some(value)) = (index, element(&read.value, tensor.dtype)) else { continue };
        let inside = index.len() == tensor.rank() && index.iter().zip(tensor.shape()).all(|(i, n)| i < n);
        if inside {
            let at = index.iter().zip(tensor.shape()).fold(0, |at, (i, n)| at * n + i);
            values[at] = value;
        }
    }
    Tensor::new(tensor.dtype, tensor.shape(), values).ok()
}

/// A model's value as an element; the nearest float to a real number.
fn element(value: &ModelValue, dtype: DType) -> Option<Value> {
    match (value, dtype.category()) {
        (ModelValue::Bool(b), Category::Bool) => Some(Value::Bool(*b)),
        (ModelValue::Real(r), Category::Float) => Some(Value::float(r.to_f64()?, dtype, Domain::Ieee)),
        (ModelValue::Int(k), Category::Float) => Some(Value::float(k.to_f64()?, dtype, Domain::Ieee)),
        (ModelValue::Float(bits), Category::Float) => {
            Some(Value::float(f64::from_bits(*bits), dtype, Domain::Ieee))
        }
        (ModelValue::Int(k), Category::Int) => {
            let (low, high) = dtype.int_range()?;
            k.to_i64().filter(|value| (low..=high).contains(value)).map(Value::Int)
        }
        (ModelValue::Bits(bits), Category::Int) => {
            let (low, high) = dtype.int_range()?;
            let width = dtype.bits();
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            let raw = bits & mask;
            let negative = low < 0 && raw >> (width - 1) & 1 == 1;
            let value = if negative { (raw | !mask) as i64 } else { i64::try_from(raw).ok()? };
            (low..=high).contains(&value).then_some(Value::Int(value))
        }
        _ => None,
    }
}
