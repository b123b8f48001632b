//! Errors: class, code, place and trace; limits.

use super::build::*;
use crate::eval::{Env, EvalError, Limits, codes, eval};
use crate::scalar::{Domain, Scalar};
use crate::size::Size;
use crate::term::{ErrorClass, Loop, Monoid, Require, Term};

fn under(limits: Limits, term: &Term) -> EvalError {
    eval(term, &Env::new(), Domain::Ieee, &limits).expect_err("a limit is reached")
}

/// An operator `pick_last` whose body reads one place too far.
fn faulty_call(is_op: bool) -> (Term, Env) {
    let (p, vx, i) = (var("p"), var("x"), index("i"));
    let n = sym("N");
    let tp = use_var(&p, F32, &[s(&n)]);
    let body = Term::read(tp.clone(), vec![Term::size(s(&n), library(5))], library(5));
    let callee = instance("pick_last", vec![(p, tp.ty().clone())], Vec::new(), body, is_op);
    let call = Term::call(callee, vec![use_var(&vx, F32, &[s(&n)])], at(40));
    let env = Env::new().with_size(&n, 2).with_tensor(&vx, floats(F32, &[2], &[1.0, 2.0]));
    (comp(vec![over(&i, int(2))], call), env)
}

#[test]
fn an_error_inside_an_operator_is_reported_at_the_users_line() {
    let (term, env) = faulty_call(true);
    let fault = fails(&term, &env);
    assert_eq!((fault.class, fault.code), (Some(ErrorClass::Index), codes::INDEX));
    assert_eq!(fault.span, at(40));
    assert_eq!(fault.message, "index 2 is out of range for axis 0 of extent 2");
    assert_eq!((fault.trace[0].name.as_str(), fault.trace[0].args.as_str()), ("pick_last", "f32[2]"));
    let diagnostic = fault.to_diagnostic();
    assert_eq!(diagnostic.labels[0].text, "in `pick_last(f32[2])`");
}

#[test]
fn an_error_inside_a_function_stays_at_its_line() {
    let (term, env) = faulty_call(false);
    let fault = fails(&term, &env);
    assert_eq!(fault.span, library(5));
    let diagnostic = fault.to_diagnostic();
    assert_eq!((diagnostic.span(), diagnostic.labels[1].span), (library(5), at(40)));
}

#[test]
fn a_precondition_names_its_sizes() {
    let (p, k) = (var("p"), sym("K"));
    let tp = use_var(&p, F32, &[s(&k)]);
    let require = Require {
        cond: Term::scalar(Scalar::Ge, vec![size(s(&k)), size(int(1))], library(1)),
        class: ErrorClass::Index,
        text: "K >= 1".to_string(),
        span: library(1),
    };
    let i = index("i");
    let body = reduce(Monoid::Max, vec![over(&i, s(&k))], read(&tp, &[s(&i)]));
    let amax = instance("amax", vec![(p, tp.ty().clone())], vec![require], body, true);
    let vx = var("x");
    let term = Term::call(amax, vec![use_var(&vx, F32, &[s(&k)])], at(9));
    let env = Env::new().with_size(&k, 0).with_tensor(&vx, floats(F32, &[0], &[]));
    let fault = fails(&term, &env);
    assert_eq!((fault.class, fault.code), (Some(ErrorClass::Index), codes::REQUIRES));
    assert_eq!(fault.span, at(9));
    assert_eq!(fault.message, "precondition `K >= 1` of `amax` does not hold with K = 0");
}

#[test]
fn classes_of_errors() {
    let zero = f(Scalar::FloorDivide, &[whole(1, I64), whole(0, I64)]);
    let fault = fails(&zero, &Env::new());
    assert_eq!((fault.class, fault.code), (Some(ErrorClass::Arithmetic), codes::ARITHMETIC));

    let negative = comp(vec![over(&index("i"), int(-1))], whole(1, I64));
    let fault = fails(&negative, &Env::new());
    assert_eq!((fault.class, fault.code), (Some(ErrorClass::Shape), codes::SHAPE));

    let fault = fails(&whole(300, U8), &Env::new());
    assert_eq!((fault.class, fault.code), (Some(ErrorClass::Value), codes::VALUE));

    let fault = fails(&use_var(&var("x"), F32, &[]), &Env::new());
    assert_eq!((fault.class, fault.code), (None, codes::UNBOUND));

    let n = sym("N");
    let by_zero = size(int(4).floor_div(&s(&n)));
    let fault = fails(&by_zero, &Env::new().with_size(&n, 0));
    assert_eq!((fault.class, fault.code), (Some(ErrorClass::Arithmetic), codes::ARITHMETIC));
}

#[test]
fn limits_are_errors_without_a_class() {
    let i = index("i");
    let large = |n: i64| comp(vec![over(&i, int(n))], whole(1, I64));
    let limits = || Limits { max_elements: 1000, max_steps: 100_000, max_depth: 500 };
    for extent in [1001, 1 << 40, i64::MAX] {
        let fault = under(limits(), &large(extent));
        assert_eq!((fault.class, fault.code), (None, codes::ELEMENTS));
    }
    let power = Size::product(&[int(i64::MAX), int(i64::MAX), int(i64::MAX)]);
    let fault = under(limits(), &size(power));
    assert_eq!((fault.class, fault.code), (None, codes::NUMBER));

    let nothing = vec![over(&i, int(1 << 40)), over(&index("j"), int(0))];
    let idle = reduce(Monoid::Sum, nothing.clone(), whole(1, I64));
    assert_eq!(under(limits(), &idle).code, codes::STEPS);
    assert!(eval(&comp(nothing, whole(1, I64)), &Env::new(), Domain::Ieee, &limits()).is_ok());
    let many = (0..2000).map(|_| over(&index("i"), int(1))).collect();
    assert_eq!(under(limits(), &comp(many, whole(1, I64))).code, codes::ELEMENTS);

    let long = reduce(Monoid::Sum, vec![over(&i, int(i64::MAX))], whole(1, I64));
    assert_eq!(under(limits(), &long).code, codes::STEPS);

    let forever = Loop {
        state: vec![(var("x"), whole(1, I64))],
        counter: None,
        condition: Some(Term::bool(true, at(0))),
        step: whole(1, I64),
    };
    assert_eq!(under(limits(), &Term::loop_(forever, at(0))).code, codes::STEPS);
}

/// Tensors alive at one time count together, dropped ones no more.
#[test]
fn elements_are_counted_while_they_live() {
    let (a, b, i) = (var("a"), var("b"), index("i"));
    let make = || comp(vec![over(&i, int(600))], whole(1, I64));
    let ta = use_var(&a, I64, &[int(600)]);
    let both = Term::let_(b, make(), read(&ta, &[int(0)]), at(0));
    let term = Term::let_(a, make(), both, at(0));
    let limits = |max_elements| Limits { max_elements, ..Limits::default() };
    assert_eq!(under(limits(1000), &term).code, codes::ELEMENTS);
    assert!(eval(&term, &Env::new(), Domain::Ieee, &limits(1200)).is_ok());
    let one_by_one = comp(vec![over(&index("j"), int(9))], read(&make(), &[int(0)]));
    assert!(eval(&one_by_one, &Env::new(), Domain::Ieee, &limits(1000)).is_ok());
}

fn deep_sum(levels: usize) -> Term {
    (0..levels).fold(whole(0, I64), |sum, _| f(Scalar::Add, &[sum, whole(1, I64)]))
}

/// On the stack a thread gets by default.
#[test]
fn deep_terms_use_further_stacks() {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let deep = deep_sum(9_000);
        assert_eq!(item(&tensor(&deep, &Env::new())).as_int(), Some(9_000));
        let deeper = deep_sum(10_001);
        let fault = fails(&deeper, &Env::new());
        assert_eq!((fault.class, fault.code), (None, codes::DEPTH));
        // Dropping so deep a term recurses; that is not what is looked at here.
        std::mem::forget((deep, deeper));
    });
    assert!(thread.expect("a thread").join().is_ok());
}

#[test]
fn a_condition_with_an_ill_typed_input_is_an_error() {
    let vx = var("x");
    let term = read(&use_var(&vx, F32, &[int(3)]), &[int(0)]);
    let env = Env::new().with_tensor(&vx, floats(F32, &[], &[1.0]));
    assert_eq!(fails(&term, &env).code, codes::UNBOUND);
}
