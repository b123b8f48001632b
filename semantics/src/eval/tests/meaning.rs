//! Single rules of the meaning, one case each.

use super::build::*;
use crate::eval::{Datum, Env};
use crate::scalar::{Scalar, Value};
use crate::term::{Lit, Loop, Monoid, Term, Write};
use crate::types::Type;

/// `sum(x[i] for i in N)` of these values.
fn reduced(op: Monoid, x: crate::tensor::Tensor) -> Value {
    let (vx, i) = (var("x"), index("i"));
    let n = int(x.numel() as i64);
    let element = read(&use_var(&vx, x.dtype, std::slice::from_ref(&n)), &[s(&i)]);
    let term = reduce(op, vec![over(&i, n)], element);
    item(&tensor(&term, &Env::new().with_tensor(&vx, x)))
}

#[test]
fn integer_sums_wrap() {
    assert_eq!(reduced(Monoid::Sum, ints(I8, &[2], &[100, 100])).as_int(), Some(-56));
    assert_eq!(reduced(Monoid::Sum, ints(U8, &[2], &[200, 100])).as_int(), Some(44));
    assert_eq!(reduced(Monoid::Prod, ints(I64, &[2], &[i64::MAX, 2])).as_int(), Some(-2));
}

#[test]
fn narrow_float_sums_round_once() {
    // Rounding after each addition would stay at 2048.
    let mut values = vec![2048.0];
    values.extend([1.0; 8]);
    assert_eq!(reduced(Monoid::Sum, floats(F16, &[9], &values)).as_float(), Some(2056.0));
    let thousand = floats(BF16, &[1000], &[1.0; 1000]);
    assert_eq!(reduced(Monoid::Sum, thousand).as_float(), Some(1000.0));
    // Partial sums may leave the range of the dtype.
    let cancelling = floats(F16, &[3], &[60000.0, 60000.0, -60000.0]);
    assert_eq!(reduced(Monoid::Sum, cancelling).as_float(), Some(60000.0));
    let overflow = floats(F16, &[2], &[60000.0, 60000.0]);
    assert_eq!(reduced(Monoid::Sum, overflow).as_float(), Some(f64::INFINITY));
    let left_to_right = floats(F64, &[3], &[1e16, 1.0, -1e16]);
    assert_eq!(reduced(Monoid::Sum, left_to_right).as_float(), Some(0.0));
}

#[test]
fn empty_reductions() {
    assert_eq!(reduced(Monoid::Max, floats(F32, &[0], &[])).as_float(), Some(f64::NEG_INFINITY));
    assert_eq!(reduced(Monoid::Min, floats(F32, &[0], &[])).as_float(), Some(f64::INFINITY));
    assert_eq!(reduced(Monoid::Max, ints(I8, &[0], &[])).as_int(), Some(-128));
    assert_eq!(reduced(Monoid::Min, ints(U8, &[0], &[])).as_int(), Some(255));
    assert_eq!(reduced(Monoid::Sum, floats(F64, &[0], &[])).as_float(), Some(0.0));
    assert_eq!(reduced(Monoid::Prod, ints(I64, &[0], &[])).as_int(), Some(1));
}

#[test]
fn maximum_propagates_nan() {
    for values in [[f64::NAN, 1.0], [1.0, f64::NAN]] {
        let nan = reduced(Monoid::Max, floats(F32, &[2], &values)).as_float();
        assert!(nan.is_some_and(f64::is_nan));
    }
}

#[test]
fn the_branch_not_taken_is_not_evaluated() {
    let (vx, i) = (var("x"), index("i"));
    let tx = use_var(&vx, F32, &[int(2)]);
    let cond = f(Scalar::Lt, &[size(s(&i)), size(int(2))]);
    let body = if_(cond, read(&tx, &[s(&i)]), number("9.0", F32));
    let term = comp(vec![over(&i, int(4))], body);
    let env = Env::new().with_tensor(&vx, floats(F32, &[2], &[1.0, 2.0]));
    assert_eq!(as_floats(&tensor(&term, &env)), [1.0, 2.0, 9.0, 9.0]);
}

/// Dividing by a size is guarded by the comparison to its left.
#[test]
fn conditions_on_sizes_are_guards() {
    let d = sym("D");
    let nonzero = f(Scalar::Ne, &[size(s(&d)), size(int(0))]);
    let remainder = size(int(6).floor_mod(&s(&d)));
    let divides = f(Scalar::Eq, &[remainder, size(int(0))]);
    let term = f(Scalar::LogicalAnd, &[nonzero, divides]);
    for (value, expected) in [(0, false), (3, true), (4, false)] {
        let env = Env::new().with_size(&d, value);
        assert_eq!(item(&tensor(&term, &env)).as_bool(), Some(expected));
    }
}

#[test]
fn sizes_convert_to_every_dtype() {
    let cast = |value: crate::size::Size, to| item(&tensor(&Term::cast(to, size(value), at(0)), &Env::new()));
    assert_eq!(cast(int(300), U8).as_int(), Some(44));
    assert_eq!(cast(int(-1), F16).as_float(), Some(-1.0));
    assert_eq!(cast(int(2), Bool).as_bool(), Some(true));
    let huge = &int(1 << 62) * &int(4);
    assert_eq!(cast(huge.clone(), I64).as_int(), Some(0));
    assert_eq!(cast(huge.clone(), Bool).as_bool(), Some(true));
    assert_eq!(cast(huge, F32).as_float(), Some(2f64.powi(64)));
}

#[test]
fn lets_tuples_and_items() {
    let (a, b) = (var("a"), var("b"));
    let doubled = f(Scalar::Add, &[use_var(&a, F32, &[]), use_var(&a, F32, &[])]);
    let pair = Term::tuple(vec![use_var(&b, F32, &[]), size(int(7))], at(0));
    let body = Term::let_(b.clone(), doubled, pair, at(0));
    let term = Term::let_(a, number("1.5", F32), body, at(0));
    let Ok(Datum::Tuple(parts)) = ieee(&term, &Env::new()) else { panic!("a tuple") };
    assert!(matches!(parts[1], Datum::Size(7)));
    let second = Term::item(1, term.clone(), at(0));
    assert!(matches!(ieee(&second, &Env::new()), Ok(Datum::Size(7))));
    assert_eq!(item(&tensor(&Term::item(0, term, at(0)), &Env::new())).as_float(), Some(3.0));
}

#[test]
fn a_let_chain_of_any_length() {
    let x = var("x");
    let mut names = vec![x.clone()];
    names.extend((0..20_000).map(|k| var(&format!("v{k}"))));
    let one = whole(1, I64);
    let last = names.last().expect("a name");
    let mut term = use_var(last, I64, &[]);
    for pair in names.windows(2).rev() {
        let value = f(Scalar::Add, &[use_var(&pair[0], I64, &[]), one.clone()]);
        term = Term::let_(pair[1].clone(), value, term, at(0));
    }
    let env = Env::new().with_tensor(&x, ints(I64, &[], &[5]));
    assert_eq!(item(&tensor(&term, &env)).as_int(), Some(20_005));
    // Dropping a long chain of nodes recurses; that is not what is looked at here.
    std::mem::forget(term);
}

#[test]
fn a_call_sees_its_arguments_only_once() {
    let p = var("p");
    let body = f(Scalar::Mul, &[use_var(&p, F32, &[]), use_var(&p, F32, &[])]);
    let square = instance("square", vec![(p, Type::scalar(F32))], Vec::new(), body, true);
    let inner = Term::call(square.clone(), vec![number("3.0", F32)], at(1));
    let term = Term::call(square, vec![inner], at(2));
    assert_eq!(item(&tensor(&term, &Env::new())).as_float(), Some(81.0));
}

#[test]
fn zero_dim_and_empty_shapes() {
    let i = index("i");
    let empty = comp(vec![over(&i, int(0)), over(&index("j"), int(3))], whole(1, I64));
    assert_eq!(tensor(&empty, &Env::new()).shape(), [0, 3]);
    let pi = Term::lit(Lit::Pi, F16, at(0));
    let got = tensor(&pi, &Env::new());
    assert_eq!((got.rank(), item(&got).as_float()), (0, Some(3.140625)));
}

#[test]
fn loops_pass_state() {
    // a, b = b, a + b, ten times; then while a < 100.
    let (a, b, k) = (var("a"), var("b"), index("k"));
    let (ta, tb) = (use_var(&a, I64, &[]), use_var(&b, I64, &[]));
    let step = Term::tuple(vec![tb.clone(), f(Scalar::Add, &[ta.clone(), tb])], at(0));
    let state = vec![(a, whole(0, I64)), (b, whole(1, I64))];
    let counted =
        Loop { state: state.clone(), counter: Some(over(&k, int(10))), condition: None, step: step.clone() };
    let first = Term::item(0, Term::loop_(counted, at(0)), at(0));
    assert_eq!(item(&tensor(&first, &Env::new())).as_int(), Some(55));
    let condition = Some(f(Scalar::Lt, &[ta, whole(100, I64)]));
    let open = Loop { state, counter: None, condition, step };
    let first = Term::item(0, Term::loop_(open, at(0)), at(0));
    assert_eq!(item(&tensor(&first, &Env::new())).as_int(), Some(144));
}

#[test]
fn one_state_variable_is_no_tuple() {
    let (x, k) = (var("x"), index("k"));
    let sum = f(Scalar::Add, &[use_var(&x, I64, &[]), Term::cast(I64, size(s(&k)), at(0))]);
    let counted =
        Loop { state: vec![(x, whole(1, I64))], counter: Some(over(&k, int(4))), condition: None, step: sum };
    assert_eq!(item(&tensor(&Term::loop_(counted, at(0)), &Env::new())).as_int(), Some(7));
}

#[test]
fn writes_replace_elements() {
    let (vx, i) = (var("x"), index("i"));
    let tx = use_var(&vx, I64, &[int(3)]);
    let value = f(Scalar::Mul, &[read(&tx, &[s(&i)]), whole(10, I64)]);
    let shifted = size(&s(&i) + &int(1));
    let parts = Write { base: tx, binders: vec![over(&i, int(2))], index: vec![shifted], value };
    let env = Env::new().with_tensor(&vx, ints(I64, &[3], &[1, 2, 3]));
    let term = Term::write(parts, at(0));
    assert_eq!(as_ints(&tensor(&term, &env)), [1, 10, 20]);
}
