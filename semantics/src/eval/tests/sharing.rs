//! What is kept from one visit to the next cannot be seen, but in the steps.

use super::build::*;
use crate::eval::{Env, Limits, eval};
use crate::scalar::{Domain, Scalar};
use crate::term::{Monoid, Term};
use crate::types::Type;

/// `[x[i] / sum(x[k] for k in N) for i in N]` takes steps linear in N.
#[test]
fn a_reduction_that_does_not_change_is_evaluated_once() {
    let n = 1000;
    let (vx, i, k) = (var("x"), index("i"), index("k"));
    let tx = use_var(&vx, F64, &[int(n)]);
    let sum = reduce(Monoid::Sum, vec![over(&k, int(n))], read(&tx, &[s(&k)]));
    let body = f(Scalar::Div, &[read(&tx, &[s(&i)]), sum]);
    let term = comp(vec![over(&i, int(n))], body);
    let env = Env::new().with_tensor(&vx, floats(F64, &[n as usize], &vec![2.0; n as usize]));
    let limits = Limits { max_steps: 20_000, ..Limits::default() };
    let got = eval(&term, &env, Domain::Ieee, &limits).expect("few steps");
    let got = got.as_tensor().expect("a tensor").clone();
    assert!(as_floats(&got).iter().all(|x| *x == 0.001));
}

/// `[total(x)[0] * x[i] for i]` through a call, whose parameter is another name.
#[test]
fn a_call_that_does_not_change_is_evaluated_once() {
    let n = 1000;
    let (vx, p, i, k) = (var("x"), var("p"), index("i"), index("k"));
    let tx = use_var(&vx, I64, &[int(n)]);
    let element = read(&use_var(&p, I64, &[int(n)]), &[s(&k)]);
    let body = reduce(Monoid::Sum, vec![over(&k, int(n))], element);
    let total = instance("total", vec![(p, tx.ty().clone())], Vec::new(), body, true);
    let call = Term::call(total, vec![tx.clone()], at(0));
    let term = comp(vec![over(&i, int(n))], f(Scalar::Mul, &[call, read(&tx, &[s(&i)])]));
    let env = Env::new().with_tensor(&vx, ints(I64, &[n as usize], &vec![1; n as usize]));
    let limits = Limits { max_steps: 20_000, ..Limits::default() };
    let got = eval(&term, &env, Domain::Ieee, &limits).expect("few steps");
    assert_eq!(as_ints(got.as_tensor().expect("a tensor")), vec![n; n as usize]);
}

/// The reduction depends on the outer index: kept for a row, not for the next.
#[test]
fn what_changes_is_evaluated_again() {
    let (vx, i, j, k) = (var("x"), index("i"), index("j"), index("k"));
    let tx = use_var(&vx, I64, &[int(2), int(3)]);
    let sum = reduce(Monoid::Sum, vec![over(&k, int(3))], read(&tx, &[s(&i), s(&k)]));
    let body = f(Scalar::Sub, &[sum, read(&tx, &[s(&i), s(&j)])]);
    let term = comp(vec![over(&i, int(2)), over(&j, int(3))], body);
    let env = Env::new().with_tensor(&vx, ints(I64, &[2, 3], &[1, 2, 3, 10, 20, 30]));
    assert_eq!(as_ints(&tensor(&term, &env)), [5, 4, 3, 50, 40, 30]);
}

/// Only even elements of the inner comprehension have a value, and only they are read.
#[test]
fn elements_not_read_are_no_error() {
    let (vx, i, j) = (var("x"), index("i"), index("j"));
    let tx = use_var(&vx, I64, &[int(3)]);
    let even = f(Scalar::Eq, &[size(s(&j).floor_mod(&int(2))), size(int(0))]);
    let element = if_(even, read(&tx, &[s(&j).floor_div(&int(2))]), read(&tx, &[int(5)]));
    let inner = comp(vec![over(&j, int(6))], element);
    let twice = s(&i).scale(&2.into());
    let body = read(&inner, std::slice::from_ref(&twice));
    let env = Env::new().with_tensor(&vx, ints(I64, &[3], &[7, 8, 9]));
    let term = comp(vec![over(&i, int(3))], body);
    assert_eq!(as_ints(&tensor(&term, &env)), [7, 8, 9]);
    fails(&inner, &env);
}

/// A call is strict: its value is a whole tensor, wherever it is read.
#[test]
fn calls_are_strict() {
    let (p, i, j) = (var("p"), index("i"), index("j"));
    let tp = use_var(&p, I64, &[int(2)]);
    let body = comp(vec![over(&j, int(3))], read(&tp, &[s(&j)]));
    let longer = instance("longer", vec![(p, tp.ty().clone())], Vec::new(), body, true);
    let vx = var("x");
    let call = Term::call(longer, vec![use_var(&vx, I64, &[int(2)])], at(3));
    let term = comp(vec![over(&i, int(2))], read(&call, &[s(&i)]));
    let env = Env::new().with_tensor(&vx, ints(I64, &[2], &[1, 2]));
    assert_eq!(fails(&term, &env).span, at(3));
}

/// Under a `let` inside a loop the value kept follows the variable.
#[test]
fn a_let_inside_a_loop() {
    let (vx, m, i, k) = (var("x"), var("m"), index("i"), index("k"));
    let tx = use_var(&vx, I64, &[int(3)]);
    let scaled = comp(
        vec![over(&k, int(3))],
        f(Scalar::Mul, &[read(&tx, &[s(&k)]), Term::cast(I64, size(s(&i)), at(0))]),
    );
    let tm = use_var(&m, I64, &[int(3)]);
    let sum = reduce(Monoid::Sum, vec![over(&k, int(3))], read(&tm, &[s(&k)]));
    let term = comp(vec![over(&i, int(4))], Term::let_(m.clone(), scaled.clone(), sum, at(0)));
    let env = Env::new().with_tensor(&vx, ints(I64, &[3], &[1, 2, 3]));
    assert_eq!(as_ints(&tensor(&term, &env)), [0, 6, 12, 18]);
    // The same as the base of a read.
    let base = Term::let_(m, scaled, tm, at(0));
    let read_last = comp(vec![over(&i, int(4))], read(&base, &[int(2)]));
    assert_eq!(as_ints(&tensor(&read_last, &env)), [0, 3, 6, 9]);
}

#[test]
fn an_if_of_tensors_is_read_in_the_branch_taken() {
    let (vx, flag, i) = (var("x"), var("flag"), index("i"));
    let tx = use_var(&vx, I64, &[int(2)]);
    let bad = comp(vec![over(&i, int(2))], read(&tx, &[int(4)]));
    let chosen = if_(Term::var(flag.clone(), Type::scalar(Bool), at(0)), tx, bad);
    let term = comp(vec![over(&i, int(2))], read(&chosen, &[s(&i)]));
    let bool_of = |b| crate::tensor::Tensor::from_bool(&[], &[b]).expect("a bool");
    let env = Env::new().with_tensor(&vx, ints(I64, &[2], &[3, 4]));
    assert_eq!(as_ints(&tensor(&term, &env.clone().with_tensor(&flag, bool_of(true)))), [3, 4]);
    fails(&term, &env.with_tensor(&flag, bool_of(false)));
}
