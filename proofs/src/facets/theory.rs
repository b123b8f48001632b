//! What no input separates, and what is not proved either, in the solver's theory of floats.

use super::adversary::Search;
use super::{Decided, Facets};
use crate::discharge::Prover;
use crate::replay::replay;
use crate::verdict::Verdict;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Claim, Mode};
use rtv_semantics::sample::Sampler;
use rtv_semantics::types::Type;
use std::sync::Arc;

/// Asks for the instances of one narrow float dtype; f64 is beyond what the theory decides.
pub fn decide(
    claims: &[Arc<Claim>],
    samples: &[Arc<Claim>],
    prover: &Prover,
    seed: u64,
    found: Facets,
) -> Facets {
    let mut search = Search::after(found, seed);
    for claim in claims {
        let Some(dtype) = narrow(claim) else { continue };
        let (finding, model) = prover.bits(claim);
        let alike = samples.iter().filter(|sample| sample.dtypes == claim.dtypes);
        let alike = alike.filter(|sample| sample.ranks.iter().all(|(_, extents)| extents.len() == 1));
        let exact = alike.map(|sample| Arc::new(Claim { mode: Mode::Exact, ..(**sample).clone() }));
        // A model is believed when it is seen.
        let input = model.and_then(|model| {
            let mut sampler = Sampler::new(seed);
            exact.into_iter().find_map(|claim| replay(&claim, &model, &mut sampler))
        });
        let answer = match (finding.verdict, input) {
            (Verdict::Proved, _) => Some(true),
            (_, Some(input)) => {
                search.compare(&input.instance, &input.input);
                Some(false)
            }
            _ => None,
        };
        search.found.decided.push((dtype, Decided::Theory(answer)));
    }
    search.found
}

/// The dtype of the result, if it is a float that is not too wide.
fn narrow(claim: &Claim) -> Option<DType> {
    match claim.lhs.ty() {
        Type::Tensor(ty) if ty.dtype.is_float() && ty.dtype != DType::F64 => Some(ty.dtype),
        _ => None,
    }
}
