//! Every f16 there is: a claim about one number is decided at this dtype by running it on
//! all of them, a claim about two on more pairs than chance would draw.

use super::adversary::Search;
use super::{Decided, Facets};
use crate::refute::Drawn;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Claim, Input, Mode, Param};
use rtv_semantics::sample::specials;
use rtv_semantics::scalar::Value;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::Var;
use rtv_semantics::types::Type;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pairs drawn beside those of special values.
const PAIRS: u64 = 1 << 17;

/// The bit patterns of f16.
const PATTERNS: u64 = 1 << 16;

/// Compares bit for bit the instance of the claim about one or two f16, if it has one.
pub fn compare(claims: &[Arc<Claim>], seed: u64, found: Facets) -> Facets {
    let scalars = claims.iter().find_map(|claim| Some((claim, scalars(claim)?)));
    let Some((claim, params)) = scalars else { return found };
    let claim = Arc::new(Claim { mode: Mode::Exact, ..(**claim).clone() });
    let mut search = Search::after(found, seed);
    let (mut inputs, mut differ) = (0, 0);
    let mut try_on = |search: &mut Search, values: &[u16]| {
        let tensors = params.iter().zip(values);
        let tensors = tensors.map(|((var, name), bits)| (var.clone(), name.clone(), half(*bits)));
        inputs += 1;
        differ +=
            u64::from(search.compare(&claim, &Drawn { sizes: BTreeMap::new(), tensors: tensors.collect() }));
    };
    let all = params.len() == 1;
    if all {
        (0..=u16::MAX).for_each(|bits| try_on(&mut search, &[bits]));
    } else {
        let special: Vec<u16> = specials(DType::F16).iter().filter_map(pattern).collect();
        special.iter().for_each(|x| special.iter().for_each(|y| try_on(&mut search, &[*x, *y])));
        for _ in 0..PAIRS {
            let mut drawn = || search.sampler.below(PATTERNS as usize) as u16;
            let pair = [drawn(), drawn()];
            try_on(&mut search, &pair);
        }
    }
    let mut found = search.found;
    found.decided.push((DType::F16, Decided::Run { inputs, differ, all }));
    found
}

/// The parameters of an instance about one or two f16 and nothing else.
fn scalars(claim: &Claim) -> Option<Vec<(Var, Arc<str>)>> {
    let param = |param: &Param| match &param.input {
        Input::Value(var, Type::Tensor(ty)) if ty.dtype == DType::F16 && ty.shape.is_empty() => {
            Some((var.clone(), param.name.clone()))
        }
        _ => None,
    };
    let params: Option<Vec<_>> = claim.params.iter().map(param).collect();
    params.filter(|params| matches!(params.len(), 1 | 2) && claim.syms.is_empty())
}

fn half(bits: u16) -> Tensor {
    let tensor = Tensor::from_le_bytes(DType::F16, &[], &bits.to_le_bytes());
    tensor.expect("invariant: two bytes are one f16")
}

/// The bit pattern of an f16.
fn pattern(value: &Value) -> Option<u16> {
    let bytes = Tensor::scalar(DType::F16, value.clone()).to_le_bytes().ok()?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}
