//! The argument against brute force: random rules about any rank, true and false.

use super::{Sufficient, sufficient};
use crate::check::{Checker, Settings, Stage};
use crate::choices::with_ranks;
use crate::instances::instances;
use crate::module::Module;
use crate::refute::{Trial, draw_tensors, judge};
use crate::verdict::Verdict;
use rtv_grammar::lower::Ranks;
use rtv_grammar::parse;
use rtv_semantics::diag::FileId;
use rtv_semantics::program::Claim;
use rtv_semantics::sample::Sampler;
use rtv_smt::Budget;
use std::sync::Arc;

/// Rules drawn.
const RULES: u64 = 400;

/// What is decided by fewer axes is run at all ranks to this one.
const RANKS: usize = 5;

/// Inputs at each rank.
const INPUTS: usize = 40;

/// An element of a result over `*i in *S`.
#[derive(Clone)]
enum Element {
    Leaf(String),
    If(Guard, Box<Element>, Box<Element>),
    Sum(Box<Element>, Box<Element>),
}

#[derive(Clone)]
enum Guard {
    Inside(&'static str),
    Equal(String),
    Not(Box<Guard>),
    Both(&'static str, Box<Guard>, Box<Guard>),
}

fn tuple(sampler: &mut Sampler) -> &'static str {
    const TUPLES: [&str; 6] = ["i", "i + A", "i + B", "i + A + B", "S - 1 - i", "S - 1 - i + A"];
    TUPLES[sampler.below(TUPLES.len())]
}

fn leaf(sampler: &mut Sampler) -> String {
    match sampler.below(5) {
        0 => "v".into(),
        1 => "w".into(),
        2 => format!("y[*({})]", tuple(sampler)),
        _ => format!("x[*({})]", tuple(sampler)),
    }
}

fn guard(sampler: &mut Sampler, depth: usize) -> Guard {
    const CONDITIONS: [&str; 8] = [
        "inside(i, A)",
        "inside(i - A, B)",
        "inside(i, B)",
        "inside(i + A, S)",
        "inside(i - 1, A + B)",
        "inside(A, B)",
        "inside(2 * i, S)",
        "inside(i, 1)",
    ];
    let inner = |sampler: &mut Sampler| Box::new(guard(sampler, depth.saturating_sub(1)));
    match sampler.below(if depth == 0 { 6 } else { 10 }) {
        0..5 => Guard::Inside(CONDITIONS[sampler.below(CONDITIONS.len())]),
        5 => Guard::Equal(format!("{} == {}", leaf(sampler), leaf(sampler))),
        6 | 7 => Guard::Not(inner(sampler)),
        8 => Guard::Both("and", inner(sampler), inner(sampler)),
        _ => Guard::Both("or", inner(sampler), inner(sampler)),
    }
}

fn drawn(sampler: &mut Sampler, depth: usize) -> Element {
    if depth == 0 {
        return Element::Leaf(leaf(sampler));
    }
    let inner = |sampler: &mut Sampler| Box::new(drawn(sampler, depth - 1));
    match sampler.below(6) {
        0 => Element::Leaf(leaf(sampler)),
        1 => Element::Sum(inner(sampler), inner(sampler)),
        _ => Element::If(guard(sampler, 1), inner(sampler), inner(sampler)),
    }
}

/// The same element, or nearly.
fn varied(element: &Element, sampler: &mut Sampler) -> Element {
    let same = |e: &Element, sampler: &mut Sampler| Box::new(varied(e, sampler));
    match (element, sampler.below(7)) {
        (Element::If(_, a, _), 0) => varied(a, sampler),
        (Element::If(_, _, b), 1) => varied(b, sampler),
        (Element::If(g, a, b), 2 | 3) => {
            let denied = Guard::Not(Box::new(g.clone()));
            Element::If(denied, same(b, sampler), same(a, sampler))
        }
        (Element::If(_, a, b), 4) => Element::If(guard(sampler, 1), same(a, sampler), same(b, sampler)),
        (Element::If(Guard::Both("or", f, g), a, b), _) => {
            let rest = Element::If((**g).clone(), a.clone(), same(b, sampler));
            Element::If((**f).clone(), same(a, sampler), Box::new(rest))
        }
        (Element::If(g, a, b), _) => Element::If(g.clone(), same(a, sampler), same(b, sampler)),
        (Element::Sum(a, b), _) => Element::Sum(same(b, sampler), same(a, sampler)),
        (Element::Leaf(_), 0) => Element::Leaf(leaf(sampler)),
        (Element::Leaf(_), _) => element.clone(),
    }
}

fn guard_text(guard: &Guard) -> String {
    match guard {
        Guard::Inside(text) => text.to_string(),
        Guard::Equal(text) => format!("({text})"),
        Guard::Not(inner) => format!("(not {})", guard_text(inner)),
        Guard::Both(word, a, b) => format!("({} {word} {})", guard_text(a), guard_text(b)),
    }
}

fn text(element: &Element) -> String {
    match element {
        Element::Leaf(text) => text.clone(),
        Element::If(g, a, b) => format!("if {} {{ {} }} else {{ {} }}", guard_text(g), text(a), text(b)),
        Element::Sum(a, b) => format!("({}) + ({})", text(a), text(b)),
    }
}

fn rule(sampler: &mut Sampler) -> String {
    const NEEDS: [&str; 7] = [
        "",
        "requires inside(S, A + B + 1)",
        "requires inside(A, B + 1)",
        "requires inside(S, A + B + 1), inside(0, B)",
        "requires not inside(A, B)",
        "requires not inside(A, B), inside(S, A + B + 1)",
        "requires inside(0, A), not inside(S, A)",
    ];
    let left = drawn(sampler, 2);
    let right = varied(&left, sampler);
    let (left, right) = (text(&left), text(&right));
    let shape = "i32[*(S + A + B)]";
    format!(
        "rtl 1.0\nrule drawn[*S, *A, *B](x: {shape}, y: {shape}, v: i32[], w: i32[])\n  {}\n{{\n  \
         [{left} for *i in *S] => [{right} for *i in *S]\n}}\n",
        NEEDS[sampler.below(NEEDS.len())],
    )
}

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

fn at_rank(checker: &Checker, module: &Module, rank: usize) -> Option<Arc<Claim>> {
    let choices = with_ranks(&[Vec::new()], Ranks::Fixed(rank));
    let found = instances(&module.items[0], &module.defs, checker.engine(), &choices);
    found.unwrap_or_else(|found| panic!("{found:?}")).pop()
}

fn proved(checker: &Checker, claim: &Claim) -> bool {
    checker.prover.contracts(claim).found.values().all(|found| found.verdict == Verdict::Proved)
}

/// An input of few elements on which the sides differ.
fn refuted(claim: &Arc<Claim>, sampler: &mut Sampler) -> bool {
    (0..INPUTS).any(|_| {
        let sizes =
            claim.syms.iter().map(|sym| (sym.clone(), sampler.integer(0, 1 + sampler_bias(sym.name()))));
        let sizes: std::collections::BTreeMap<_, _> = sizes.collect();
        let known = |sym: &rtv_semantics::size::Sym| sizes.get(sym).map(|size| i128::from(*size));
        if !claim.facts.iter().all(|fact| fact.eval(&known) == Some(true)) {
            return false;
        }
        let input = draw_tensors(claim, sizes.clone(), sampler);
        input.is_some_and(|input| matches!(judge(claim, &input), Trial::Differs(_)))
    })
}

/// Axes of the result are longer than those around it.
fn sampler_bias(name: &str) -> i64 {
    i64::from(name.starts_with('S'))
}

fn decided(module: &Module, checker: &Checker) -> Result<Sufficient, String> {
    sufficient(&module.items[0], &module.defs, checker.engine(), &[Vec::new()])
}

#[test]
fn what_few_ranks_prove_is_true_at_more() {
    let checker = checker();
    let mut sampler = Sampler::new(5);
    let (mut proofs, mut open, mut late, mut few, mut wrong) = (0, 0, 0, [0; 5], Vec::new());
    for _ in 0..RULES {
        let text = rule(&mut sampler);
        let module = module(&text);
        let Ok(ranks) = decided(&module, &checker) else {
            open += 1;
            continue;
        };
        few[ranks.axes] += 1;
        let claims: Vec<_> = (0..=RANKS).filter_map(|rank| at_rank(&checker, &module, rank)).collect();
        let rank = |claim: &Claim| claim.ranks[0].1.len();
        let up_to = |most: usize| claims.iter().filter(|c| rank(c) <= most).all(|c| proved(&checker, c));
        let all = up_to(ranks.most());
        let differs = claims.iter().find(|claim| refuted(claim, &mut sampler));
        match differs {
            Some(claim) if all => wrong.push(format!("at rank {}: {text}", rank(claim))),
            // Fewer ranks would have proved it.
            Some(_) if up_to(1) => late += 1,
            _ => proofs += usize::from(all),
        }
    }
    println!("{proofs} proved, {late} false from rank 2 on, {open} without ranks; by axes: {few:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(proofs >= 60 && late >= 5, "{proofs} proved, {late} false from rank 2 on");
}
