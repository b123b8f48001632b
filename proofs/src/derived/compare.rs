//! A program and what it became, run side by side.

use super::symbols;
use crate::counterexample::Counterexample;
use crate::deadline::Deadline;
use crate::refute::{Trial, draw, judge};
use rtv_semantics::cancel::Cancelled;
use rtv_semantics::derivation::{in_lets, operator_form};
use rtv_semantics::program::{Claim, ClaimKind, Function, Mode};
use rtv_semantics::sample::Sampler;
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::Term;
use std::sync::Arc;

/// Draws for each input that is asked for.
const DRAWS: u64 = 20;

/// Runs a function and what is put in place of its body on random inputs that meet its
/// preconditions, until the time is over; what the result shares is run once. Up to `reassoc` and `real` both are
/// compared over the reals. The number of inputs on which they agree.
///
/// # Errors
/// An input on which they differ in the mode, or one alone fails.
pub fn compare(
    source: &Function,
    result: &Term,
    mode: Mode,
    samples: u64,
    seed: u64,
    deadline: &Deadline,
) -> Result<u64, Box<Counterexample>> {
    let mut fresh = Fresh::above([&source.body, result]).and_above(&source.facts);
    let form = operator_form(result, &mut fresh).term;
    let claim = Arc::new(Claim {
        name: source.name.clone(),
        kind: ClaimKind::Rule,
        mode,
        directed: false,
        syms: symbols(source),
        ranks: Vec::new(),
        dtypes: Vec::new(),
        params: source.params.clone(),
        facts: source.facts.clone(),
        requires: source.requires.clone(),
        lhs: source.body.clone(),
        rhs: in_lets(&form, &mut fresh),
        span: source.body.span(),
    });
    let (mut sampler, mut compared) = (Sampler::new(seed), 0);
    for round in 0..samples.saturating_mul(DRAWS) {
        if compared >= samples {
            break;
        }
        let run = || draw(&claim, &mut sampler, round / 2).map(|drawn| judge(&claim, &drawn));
        match deadline.within(run) {
            Ok(Some(Trial::Agreed)) => compared += 1,
            Ok(Some(Trial::Differs(found))) => return Err(found),
            Ok(Some(Trial::Rejected | Trial::Silent) | None) => {}
            Err(Cancelled) => break,
        }
    }
    Ok(compared)
}
