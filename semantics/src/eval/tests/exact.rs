//! The exact domain: rationals, enclosures, the undefined value.

use super::build::*;
use crate::eval::{Env, Limits, codes, eval};
use crate::scalar::{Domain, Scalar, Value};
use crate::term::{Lit, Monoid, Term};

/// `0.1 + 0.2 == 0.3`, which floats get wrong.
#[test]
fn decimals_are_exact() {
    let sum = f(Scalar::Add, &[number("0.1", F32), number("0.2", F32)]);
    let term = f(Scalar::Eq, &[sum, number("0.3", F32)]);
    assert_eq!(item(&exact(&term, &Env::new())).as_bool(), Some(true));
    let sum = f(Scalar::Add, &[number("0.1", F64), number("0.2", F64)]);
    let term = f(Scalar::Eq, &[sum, number("0.3", F64)]);
    assert_eq!(item(&tensor(&term, &Env::new())).as_bool(), Some(false));
}

#[test]
fn sums_do_not_round() {
    let (vx, i) = (var("x"), index("i"));
    let x = floats(F32, &[3], &[1e30, 1.0, -1e30]).to_exact();
    let element = read(&use_var(&vx, F32, &[int(3)]), &[s(&i)]);
    let term = reduce(Monoid::Sum, vec![over(&i, int(3))], element);
    let got = item(&exact(&term, &Env::new().with_tensor(&vx, x)));
    assert_eq!(got.same(&Value::one(F32, Domain::Exact)), Some(true), "{got}");
}

#[test]
fn the_undefined_value_is_absorbed() {
    let zero = number("0.0", F32);
    let undefined = f(Scalar::Div, &[zero.clone(), zero.clone()]);
    let cond = f(Scalar::Lt, &[undefined, number("1.0", F32)]);
    let i = index("i");
    // An `if` on it is undefined, scalar or tensor; so is a read at it.
    let scalar = if_(cond.clone(), whole(1, I64), whole(2, I64));
    assert!(item(&exact(&scalar, &Env::new())).is_bottom());
    let ones = comp(vec![over(&i, int(2))], whole(1, I64));
    let chosen = if_(cond.clone(), ones.clone(), ones.clone());
    assert!(exact(&chosen, &Env::new()).values().all(Value::is_bottom));
    let at_undefined = Term::read(ones, vec![scalar], at(0));
    assert!(item(&exact(&at_undefined, &Env::new())).is_bottom());
    // The branch not taken does not count.
    let guarded = if_(Term::bool(true, at(0)), zero, number("nan", F32));
    assert!(!item(&exact(&guarded, &Env::new())).is_bottom());
}

#[test]
fn overlapping_enclosures_do_not_compare() {
    let e = f(Scalar::Exp, &[number("1.0", F32)]);
    let same = f(Scalar::Lt, &[e.clone(), f(Scalar::Add, &[e.clone(), number("0.0", F32)])]);
    let fault = eval(&same, &Env::new(), Domain::Exact, &Limits::default());
    let fault = fault.expect_err("not decided");
    assert_eq!((fault.class, fault.code), (None, codes::UNDECIDED));
    let apart = f(Scalar::Lt, &[e, number("3.0", F32)]);
    assert_eq!(item(&exact(&apart, &Env::new())).as_bool(), Some(true));
}

#[test]
fn infinities_are_values() {
    let (i, inf) = (index("i"), Term::lit(Lit::NegInf, F32, at(0)));
    let empty = reduce(Monoid::Max, vec![over(&i, int(0))], number("1.0", F32));
    let got = item(&exact(&empty, &Env::new()));
    assert_eq!(got.same(&item(&exact(&inf, &Env::new()))), Some(true));
}
