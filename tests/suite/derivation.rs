//! Programs in operator form: they mean what they meant, and heads with parts are terms again.

use crate::folder::{files_below, root};
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::lower::{Choice, Lower, Ranks, dtype_variables, has_rank_variables};
use rtv_grammar::parse;
use rtv_proofs::derived::compare;
use rtv_proofs::{Deadline, Module};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::derivation::{definition, operator_form, parts, with_parts};
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::{DType, DTypeClass};
use rtv_semantics::guess::Guessing;
use rtv_semantics::program::{Claim, Function, Input, Mode};
use rtv_semantics::subst::{Fresh, Subst, renamed};
use rtv_semantics::term::{Term, Var};
use std::fs;
use std::sync::Arc;

/// Ids that no term of an example has.
const ABOVE: u32 = 1_000_000;

/// Every function of the examples, and the sides of rules as such, at one choice of dtypes and some
/// ranks.
fn functions() -> Vec<Function> {
    let mut all = Vec::new();
    let folders = ["examples", "proofs/rules"];
    for path in folders.iter().flat_map(|folder| files_below(&root().join(folder), ".rtl")) {
        let text = fs::read_to_string(&path).expect("a file of the project");
        let (module, _) = Module::new(FileId(0), parse(FileId(0), &text));
        for item in &module.items {
            let ranks = if has_rank_variables(item) {
                vec![Ranks::Fixed(0), Ranks::Fixed(2), Ranks::Opaque]
            } else {
                vec![Ranks::Opaque]
            };
            all.extend(ranks.into_iter().flat_map(|ranks| programs(&module, item, ranks)));
        }
    }
    all
}

fn programs(module: &Module, item: &Item, ranks: Ranks) -> Vec<Function> {
    let chosen = |(name, class): (Arc<str>, DTypeClass)| {
        let members = class.members();
        let dtype = if members.contains(&DType::F32) { DType::F32 } else { members[0] };
        (name, dtype)
    };
    let dtypes = dtype_variables(item).into_iter().map(chosen).collect();
    let choice = Choice { dtypes, ranks };
    let mut lower = Lower::new(&module.defs, &Guessing);
    let found = match &item.kind {
        ItemKind::Def(def) if def.kind == DefKind::Fn => lower.function(item, &choice).into_iter().collect(),
        ItemKind::Rule(_) => lower.claim(item, &choice).map_or(Vec::new(), sides),
        _ => Vec::new(),
    };
    let sound = !lower.take_diagnostics().iter().any(|found| found.is_error());
    if sound { found } else { Vec::new() }
}

fn sides(claim: Claim) -> Vec<Function> {
    let Claim { name, params, facts, requires, lhs, rhs, .. } = claim;
    let side = |body| {
        let (name, params) = (name.clone(), params.clone());
        Function { name, params, facts: facts.clone(), requires: requires.clone(), body }
    };
    [lhs, rhs].map(side).to_vec()
}

/// A term in operator form and everything that it is made of.
fn all_parts(term: &Term) -> Vec<Term> {
    let (mut found, mut open) = (Vec::new(), vec![term.clone()]);
    while let Some(term) = open.pop() {
        open.extend(parts(&term));
        found.push(term);
    }
    found
}

#[test]
fn a_function_in_operator_form_has_the_bits_of_the_function() {
    let (mut compared, mut dropping) = (0, Vec::new());
    let all = functions();
    for function in &all {
        let form = operator_form(&function.body, &mut Fresh::new(ABOVE));
        assert_eq!(form.term.ty(), function.body.ty(), "{}", function.name);
        if form.dropped {
            dropping.push(function.name.to_string());
            continue;
        }
        match compare(function, &form.term, Mode::Exact, 2, 5, &Deadline::after(None)) {
            Ok(agreed) => compared += agreed,
            Err(found) => panic!("{}: {found:?}", function.name),
        }
    }
    println!("{compared} inputs");
    assert!(compared >= 3000, "{compared} inputs");
    // A `let` of a rule that one side does not use, a component of several: few do.
    assert!(dropping.len() * 50 <= all.len(), "{dropping:?} of {} drop a value", all.len());
}

#[test]
fn a_head_with_its_parts_is_the_term() {
    let mut count = 0;
    for function in functions() {
        let form = operator_form(&function.body, &mut Fresh::new(ABOVE)).term;
        for term in all_parts(&form) {
            count += 1;
            assert!(alpha_eq(&with_parts(&term, parts(&term)), &term), "{}: {term:?}", function.name);
        }
    }
    assert!(count >= 5000, "{count} terms");
}

#[test]
fn operator_forms_do_not_depend_on_names() {
    let mut count = 0;
    for function in functions() {
        let form = operator_form(&function.body, &mut Fresh::new(ABOVE)).term;
        // Bound names first, then those of the parameters, in an order of their own.
        let other = renamed(&function.body, &mut Fresh::new(3 * ABOVE));
        let inputs = function.params.iter().rev().filter_map(|param| match &param.input {
            Input::Value(var, ty) => Some((var, ty)),
            Input::Size(_) => None,
        });
        let new = inputs.enumerate().fold(Subst::new(), |subst, (k, (var, ty))| {
            let named = Var { id: 2 * ABOVE + k as u32, name: format!("p{}", 9 - k % 9).into() };
            subst.with_var(var, Term::var(named, ty.clone(), function.body.span()))
        });
        let other = new.term(&other, &mut Fresh::new(4 * ABOVE));
        let other = operator_form(&other, &mut Fresh::new(5 * ABOVE)).term;
        let here = new.term(&form, &mut Fresh::new(6 * ABOVE));
        assert!(alpha_eq(&here, &other), "{}", function.name);
        for (a, b) in all_parts(&here).iter().zip(&all_parts(&other)) {
            count += 1;
            assert!(alpha_eq(a, b), "{}", function.name);
            let body = |term: &Term, first| definition(term, &mut Fresh::new(first)).map(|form| form.term);
            match (body(a, 7 * ABOVE), body(b, 8 * ABOVE)) {
                (Some(a), Some(b)) => assert!(alpha_eq(&a, &b), "{}", function.name),
                (a, b) => assert_eq!(a.is_some(), b.is_some(), "{}", function.name),
            }
        }
    }
    assert!(count >= 5000, "{count} terms");
}

#[test]
fn the_body_of_an_operator_has_the_bits_of_its_call() {
    let mut compared = 0;
    for function in functions() {
        let form = operator_form(&function.body, &mut Fresh::new(ABOVE));
        for call in all_parts(&form.term) {
            let Some(body) = definition(&call, &mut Fresh::new(2 * ABOVE)) else { continue };
            if body.dropped {
                continue;
            }
            // The call as a program of its own.
            let alone = Function { body: call, ..function.clone() };
            match compare(&alone, &body.term, Mode::Exact, 1, 9, &Deadline::after(None)) {
                Ok(agreed) => compared += agreed,
                Err(found) => panic!("{}: {found:?}", function.name),
            }
        }
    }
    println!("{compared} inputs");
    assert!(compared >= 5000, "{compared} inputs");
}
