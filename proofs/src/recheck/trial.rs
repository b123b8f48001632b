//! What a certificate says of terms, tried on inputs: the two sides, and the terms on the
//! way from each, have one value wherever facts and hypotheses hold.
//!
//! This binds the questions to the solvers, which the prover wrote, to what the terms mean.

use crate::certificate::{Part, Shown};
use crate::compare::{difference, domain};
use crate::recheck::Why;
use crate::refute::{draw, environment, limits};
use rtv_semantics::entail::Cond;
use rtv_semantics::eval::{Datum, Env, eval};
use rtv_semantics::program::Claim;
use rtv_semantics::sample::Sampler;
use rtv_semantics::scalar::Value;
use rtv_semantics::size::Sym;
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::Term;
use rtv_smt::Proof;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Inputs that are looked at for each goal, and those that are drawn.
const LOOKED_AT: u32 = 6;
const DRAWN: u64 = 40;

/// Whether no input separates the terms of a goal.
///
/// # Errors
/// Which terms, and on which sizes.
pub fn tried(claim: &Arc<Claim>, part: &Part, seed: u64) -> Result<(), Why> {
    let Part::Values(shown) = part else { return Ok(()) };
    let terms = on_the_way(shown);
    let mut indices: BTreeSet<Sym> = terms.iter().flat_map(|term| free_syms(term)).collect();
    shown.facts.iter().for_each(|fact| fact.collect_syms(&mut indices));
    let mut looked_at = 0;
    for round in 0..DRAWN {
        if looked_at >= LOOKED_AT {
            break;
        }
        let mut sampler = Sampler::new(seed.wrapping_add(round));
        let Some(drawn) = draw(claim, &mut sampler, round) else { continue };
        let mut env = environment(&drawn, domain(shown.mode));
        for index in indices.iter().filter(|index| !drawn.sizes.contains_key(index)) {
            env.sizes.insert(index.clone(), sampler.integer(0, 2));
        }
        if admitted(claim, shown, &env) {
            looked_at += u32::from(alike(shown, &terms, &env)?);
        }
    }
    Ok(())
}

/// Both sides and what they are rewritten to, before any case is told apart.
fn on_the_way(shown: &Shown) -> Vec<&Term> {
    let mut terms = vec![&shown.left, &shown.right];
    let mut proof = &shown.proof;
    while let Proof::Rewritten { left, right, rest } = proof {
        terms.extend(left.iter().chain(right).map(|step| &step.after));
        proof = rest;
    }
    terms
}

fn admitted(claim: &Claim, shown: &Shown, env: &Env) -> bool {
    let domain = domain(shown.mode);
    let size = |sym: &Sym| env.sizes.get(sym).map(|n| i128::from(*n));
    let holds = |fact: &Cond| fact.eval(&size) == Some(true);
    let is_true = |cond: &Term| {
        let value = eval(cond, env, domain, &limits());
        value.is_ok_and(|value| {
            value.as_tensor().and_then(|t| t.item().and_then(Value::as_bool)) == Some(true)
        })
    };
    shown.facts.iter().all(holds)
        && claim.requires.iter().all(|require| is_true(&require.cond))
        && shown.hypotheses.iter().all(is_true)
}

/// Whether every term has the value of the left side; false where that is an error.
fn alike(shown: &Shown, terms: &[&Term], env: &Env) -> Result<bool, Why> {
    let domain = domain(shown.mode);
    let value = |term: &Term| eval(term, env, domain, &limits());
    let (Ok(left), Ok(_)) = (value(&shown.left), value(&shown.right)) else { return Ok(false) };
    for term in &terms[1..] {
        // A term that is simplified may be defined in more places, not in fewer.
        let Ok(Datum::Tensor(other)) = value(term) else { continue };
        let other = Datum::Tensor(other);
        if let Some(found) = difference(&left, &other, shown.mode, shown.directed) {
            let sizes: Vec<String> = env.sizes.iter().map(|(s, n)| format!("{} = {n}", s.name())).collect();
            return Err(Why(format!("terms of one value: {} at {}", found.text, sizes.join(", "))));
        }
    }
    Ok(true)
}
