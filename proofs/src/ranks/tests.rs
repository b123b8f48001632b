//! The argument against brute force: random rules about any rank, true and false.

mod drawn;
mod written_out;

use super::{Sufficient, sufficient};
use crate::check::{Checker, Settings, Stage};
use crate::choices::{dtype_choices, with_ranks};
use crate::instances::instances;
use crate::module::Module;
use crate::refute::{Trial, draw_tensors, judge};
use crate::verdict::Verdict;
use rtv_grammar::ast::ItemKind;
use rtv_grammar::lower::Ranks;
use rtv_grammar::parse;
use rtv_semantics::diag::FileId;
use rtv_semantics::program::Claim;
use rtv_semantics::sample::Sampler;
use rtv_semantics::size::Sym;
use rtv_smt::Budget;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rules drawn.
const RULES: u64 = 300;

/// What is decided by fewer axes is run at all ranks to this one.
const RANKS: usize = 5;

/// Inputs at each rank.
const INPUTS: usize = 40;

/// A checker that runs nothing.
fn checker() -> Checker {
    let settings =
        Settings { stage: Stage::Proofs, seed: 0, samples: 0, budget: Budget::OBLIGATION, timeout: None };
    Checker::start(settings).expect("the solver starts")
}

/// The rule of a text.
fn module(text: &str) -> Module {
    let (module, found) = Module::new(FileId(0), parse(FileId(0), text));
    assert!(found.is_empty(), "{text}");
    module
}

/// The instance of the item at a place, at the last of its dtypes.
fn at_rank(checker: &Checker, module: &Module, at: usize, rank: usize) -> Option<Arc<Claim>> {
    let mut dtypes = dtype_choices(&module.items[at]).filter(|_| is_rule(module, at))?;
    let choices = with_ranks(&dtypes.split_off(dtypes.len() - 1), Ranks::Fixed(rank));
    let found = instances(&module.items[at], &module.defs, checker.engine(), &BTreeSet::new(), &choices);
    found.unwrap_or_else(|found| panic!("{found:?}")).pop()
}

fn is_rule(module: &Module, at: usize) -> bool {
    matches!(module.items[at].kind, ItemKind::Rule(_))
}

fn proved(checker: &Checker, claim: &Claim) -> bool {
    checker.prover.contracts(claim).found.values().all(|found| found.verdict == Verdict::Proved)
}

/// Whether the sides of a claim differ on one of some inputs of few elements, and how many
/// were compared.
fn compared(claim: &Arc<Claim>, sampler: &mut Sampler, inputs: usize) -> (bool, usize) {
    let mut agreed = 0;
    for _ in 0..inputs {
        // Axes of a result are longer than what is around it.
        let most = |sym: &Sym| 1 + i64::from(sym.name().starts_with('S'));
        let size = |sym: &Sym, sampler: &mut Sampler| (sym.clone(), sampler.integer(0, most(sym)));
        let sizes: BTreeMap<Sym, i64> = claim.syms.iter().map(|sym| size(sym, sampler)).collect();
        let known = |sym: &Sym| sizes.get(sym).map(|size| i128::from(*size));
        if !claim.facts.iter().all(|fact| fact.eval(&known) == Some(true)) {
            continue;
        }
        let input = draw_tensors(claim, sizes.clone(), sampler);
        match input.map(|input| judge(claim, &input)) {
            Some(Trial::Differs(_)) => return (true, agreed),
            Some(Trial::Agreed) => agreed += 1,
            _ => {}
        }
    }
    (false, agreed)
}

fn decided(module: &Module, checker: &Checker) -> Result<Sufficient, String> {
    sufficient(&module.items[0], &module.defs, checker.engine(), &[Vec::new()])
}

#[test]
fn what_few_ranks_prove_is_true_at_more() {
    let checker = checker();
    let mut sampler = Sampler::new(5);
    let (mut proofs, mut summed, mut open, mut late) = (0, 0, 0, 0);
    let (mut few, mut wrong) = ([0; 5], Vec::new());
    for round in 0..RULES {
        let sums = round % 3 == 0;
        let text = if sums { drawn::sum_rule(&mut sampler) } else { drawn::rule(&mut sampler) };
        let module = module(&text);
        let Ok(ranks) = decided(&module, &checker) else {
            open += 1;
            continue;
        };
        few[ranks.axes] += 1;
        let claims: Vec<_> = (0..=RANKS).filter_map(|rank| at_rank(&checker, &module, 0, rank)).collect();
        let rank = |claim: &Claim| claim.ranks[0].1.len();
        let up_to = |most: usize| claims.iter().filter(|c| rank(c) <= most).all(|c| proved(&checker, c));
        let all = up_to(ranks.most());
        let differs = claims.iter().find(|claim| compared(claim, &mut sampler, INPUTS).0);
        match differs {
            Some(claim) if all => wrong.push(format!("at rank {}: {text}", rank(claim))),
            // Fewer ranks would have proved it.
            Some(_) if up_to(1) => late += 1,
            _ if sums => summed += usize::from(all),
            _ => proofs += usize::from(all),
        }
    }
    println!(
        "{proofs} proved, {summed} with sums, {late} false from rank 2 on, {open} without ranks; by axes: {few:?}"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        proofs >= 50 && summed >= 10 && late >= 15,
        "{proofs}, {summed} proved, {late} false from rank 2 on"
    );
}

/// Note [Uniform elaboration]: rules of this file, and random ones.
#[test]
fn an_elaboration_about_one_axis_is_about_each() {
    let checker = checker();
    let mut sampler = Sampler::new(7);
    let mut texts = vec![include_str!("../../rules/axes.rtl").to_string()];
    texts.extend((0..40).map(|_| drawn::rule(&mut sampler)));
    texts.extend((0..20).map(|_| drawn::sum_rule(&mut sampler)));
    let (mut sides, mut inputs, mut wrong) = (0, 0, Vec::new());
    for module in texts.iter().map(|text| module(text)) {
        for at in 0..module.items.len() {
            let claims = (1..=3).filter_map(|rank| {
                let claim = at_rank(&checker, &module, at, rank);
                written_out::sides(&module, at, &checker, claim?.as_ref())
            });
            for (name, claim) in claims.flatten() {
                let (differs, agreed) = compared(&Arc::new(claim), &mut sampler, 20);
                sides += 1;
                inputs += agreed;
                wrong.extend(differs.then_some(name));
            }
        }
    }
    println!("{sides} sides written out, compared on {inputs} inputs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sides >= 200 && inputs >= 1000, "{sides} sides, {inputs} inputs");
}
