//! Unfolding, definedness, simplification and substitution against the evaluator, on
//! random programs.

mod support {
    pub mod program;
}

use proptest::prelude::*;
use rtv_semantics::alpha::{alpha_eq, alpha_key};
use rtv_semantics::arith::Arith;
use rtv_semantics::defined::{Guard, Obligation, definedness};
use rtv_semantics::entail::Cond;
use rtv_semantics::eval::{self, Datum, Env, EvalError, eval};
use rtv_semantics::normal::normalize;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::simplify;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::{Fresh, Subst, free_syms, free_vars, renamed};
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{Binder, Term};
use rtv_semantics::unfold::{Limits, UnfoldError, element, fresh_index, index_terms};
use support::program::{Program, span};

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn choices() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 5..120)
}

const SIZES: [[i64; 2]; 5] = [[2, 3], [1, 2], [3, 1], [0, 2], [2, 0]];

fn run(term: &Term, env: &Env) -> Result<Datum, EvalError> {
    eval(term, env, Domain::Ieee, &eval::Limits::default())
}

fn scalar_of(datum: &Datum) -> Value {
    let item = datum.as_tensor().and_then(Tensor::item);
    item.expect("a scalar").clone()
}

/// All index tuples of a shape.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |all, extent| {
        let longer = |at: &Vec<usize>| {
            let at = at.clone();
            (0..*extent).map(move |i| at.iter().copied().chain([i]).collect()).collect::<Vec<_>>()
        };
        all.iter().flat_map(longer).collect()
    })
}

fn at(env: &Env, binders: &[Binder], index: &[usize]) -> Env {
    let axes = binders.iter().zip(index);
    axes.fold(env.clone(), |env, (b, i)| env.with_size(&b.sym, *i as i64))
}

/// Compares the scalar with the elements of the value at every index.
fn agrees(
    name: &str,
    scalar: &Term,
    binders: &[Binder],
    whole: &Tensor,
    env: &Env,
) -> Result<(), TestCaseError> {
    for index in indices(whole.shape()) {
        let here = at(env, binders, &index);
        let got = run(scalar, &here);
        let expected = whole.get(&index).expect("in range");
        let same = got.as_ref().ok().and_then(|d| scalar_of(d).same(expected));
        prop_assert_eq!(same, Some(true), "{} at {:?} is {:?}, not {:?}", name, index, got, expected);
    }
    Ok(())
}

fn unfolded(program: &mut Program) -> Option<(Vec<Binder>, Term)> {
    let binders = fresh_index(program.term.shape(), &mut program.fresh);
    let index = index_terms(&binders, span());
    match element(&program.term, &index, &mut program.fresh, Limits::default()) {
        Ok(scalar) => Some((binders, scalar)),
        Err(UnfoldError::Unsupported { .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn elements_match_the_whole(choices in choices(), seed in 0usize..7) {
        let mut program = Program::new(choices);
        let Some((binders, scalar)) = unfolded(&mut program) else { return Ok(()) };
        let ranges: Vec<Cond> =
            binders.iter().map(|b| Cond::lt(&Size::sym(&b.sym), &b.extent)).collect();
        let simple = simplify::term(&scalar, &ranges, &Arith);
        let normal = normalize(&scalar, &ranges, &Arith);
        for sizes in SIZES {
            let env = program.env(sizes, seed);
            if let Ok(Datum::Tensor(whole)) = run(&program.term, &env) {
                for (name, form) in [("unfolded", &scalar), ("simplified", &simple), ("normal", &normal)] {
                    agrees(name, form, &binders, &whole, &env)?;
                }
            }
        }
    }

    /// Evaluation succeeds exactly where all obligations hold.
    #[test]
    fn obligations_match_errors(choices in choices(), seed in 0usize..7) {
        let mut program = Program::new(choices);
        let found = match definedness(&program.term, &mut program.fresh, Limits::default()) {
            Ok(found) => found,
            Err(UnfoldError::Unsupported { .. }) => return Ok(()),
            Err(other) => panic!("{other}"),
        };
        for sizes in SIZES {
            let env = program.env(sizes, seed);
            let result = run(&program.term, &env);
            let failing = found.iter().find(|o| !holds(o, &o.path, &env));
            prop_assert_eq!(
                result.is_ok(), failing.is_none(), "{:?}\n{:?}\n{:?}", program.term, result, failing
            );
        }
    }

    #[test]
    fn renaming_keeps_everything(choices in choices(), seed in 0usize..7) {
        let mut program = Program::new(choices);
        let term = program.term.clone();
        let copy = renamed(&term, &mut program.fresh);
        prop_assert!(alpha_eq(&term, &copy));
        prop_assert_eq!(alpha_key(&term), alpha_key(&copy));
        prop_assert_eq!(free_syms(&term), free_syms(&copy));
        prop_assert_eq!(free_vars(&term), free_vars(&copy));
        if let Some((_, scalar)) = unfolded(&mut program) {
            let other = renamed(&scalar, &mut program.fresh);
            let (a, b) = (normalize(&scalar, &[], &Arith), normalize(&other, &[], &Arith));
            prop_assert!(alpha_eq(&a, &b), "{:?}\n{:?}", a, b);
        }
        let env = program.env([2, 3], seed);
        same_result(&run(&term, &env), &run(&copy, &env))?;
    }

    /// Replacing a size is the same as running at the other size.
    #[test]
    fn sizes_substitute(choices in choices(), seed in 0usize..7) {
        let mut program = Program::new(choices);
        let [n, m] = program.sizes.clone();
        let value = &Size::sym(&m) + &Size::from(1);
        let term = Subst::new().with_size(&n, value).term(&program.term, &mut program.fresh);
        prop_assert!(!free_syms(&term).contains(&n));
        for size in 0..3 {
            let env = program.env([size + 1, size], seed);
            let mut without = env.clone();
            without.sizes.remove(&n);
            same_result(&run(&program.term, &env), &run(&term, &without))?;
        }
    }

    /// Replacing a variable is the same as running with that value.
    #[test]
    fn variables_substitute(choices in choices(), other in choices(), seed in 0usize..7) {
        let program = Program::new(choices);
        let (var, ty) = program.vars[2].clone();
        let mut inserted = Program::new(other);
        let target = inserted.term.tensor_type().expect("a tensor").clone();
        if !target.shape.is_empty() || target.dtype != rtv_semantics::dtype::DType::F32 {
            return Ok(());
        }
        inserted.term = renamed(&inserted.term, &mut Fresh::new(5000));
        let term = Subst::new().with_var(&var, inserted.term.clone());
        let term = term.term(&program.term, &mut Fresh::new(10_000));
        prop_assert_eq!(ty.as_tensor(), Some(&target));
        let mut env = program.env([2, 3], seed);
        if let Ok(value) = run(&inserted.term, &env) {
            let result = run(&term, &env);
            env.vars.insert(var, value);
            // The variable may stand where it is not evaluated, never the other way round.
            same_result(&run(&program.term, &env), &result)?;
        }
    }
}

fn same_result(a: &Result<Datum, EvalError>, b: &Result<Datum, EvalError>) -> Result<(), TestCaseError> {
    match (a, b) {
        (Ok(a), Ok(b)) => prop_assert_eq!(a.same(b), Some(true), "{} and {}", a, b),
        (Err(_), Err(_)) => {}
        _ => prop_assert!(false, "{:?} and {:?}", a, b),
    }
    Ok(())
}

/// An obligation by brute force; earlier obligations are taken to hold.
fn holds(obligation: &Obligation, path: &[Guard], env: &Env) -> bool {
    match path {
        [] => truth(&obligation.need, env),
        [Guard::Holds(cond), rest @ ..] => !truth(cond, env) || holds(obligation, rest, env),
        [Guard::Index(binder), rest @ ..] => {
            let value = |s: &Sym| env.sizes.get(s).map(|v| i128::from(*v));
            let extent = binder.extent.eval(&value).unwrap_or(0);
            (0..extent).all(|i| holds(obligation, rest, &env.clone().with_size(&binder.sym, i as i64)))
        }
    }
}

/// A condition that is undefined here is not reached: an earlier obligation fails.
fn truth(term: &Term, env: &Env) -> bool {
    run(term, env).is_ok_and(|d| scalar_of(&d).as_bool() == Some(true))
}

/// `a or x[i] < ..`, where `i` is simplified under the falsity of `a`: the read is made
/// where `a` is true as well.
#[test]
fn a_read_beside_what_decides_stays_in_range() {
    let choices = [
        29467, 2186, 1487, 13984, 43385, 46314, 15095, 328, 33483, 0, 15923, 0, 39621, 0, 1681, 23901, 0,
        28777, 22430, 7, 0, 29749, 0, 1487, 39890, 40235, 1413, 0, 0, 391, 0, 0, 1838, 0,
    ];
    let mut program = Program::new(choices.to_vec());
    let (binders, scalar) = unfolded(&mut program).expect("it is unfolded");
    let ranges: Vec<Cond> = binders.iter().map(|b| Cond::lt(&Size::sym(&b.sym), &b.extent)).collect();
    let simple = simplify::term(&scalar, &ranges, &Arith);
    let env = program.env(SIZES[2], 0);
    let Ok(Datum::Tensor(whole)) = run(&program.term, &env) else { panic!("the whole has a value") };
    agrees("simplified", &simple, &binders, &whole, &env).expect("the same elements");
}
