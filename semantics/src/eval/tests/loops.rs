//! Tensor programs built as terms, against loops over arrays.

use proptest::prelude::*;

use super::build::*;
use crate::eval::Env;
use crate::sample::{Sampler, Style};
use crate::scalar::{Scalar, Value};
use crate::tensor::Tensor;
use crate::term::{Monoid, Term};

fn small(seed: u64, dtype: crate::dtype::DType, shape: &[usize]) -> Tensor {
    Sampler::new(seed).tensor(dtype, shape, Style::SmallIntegers).expect("a tensor")
}

fn get(tensor: &Tensor, index: &[usize]) -> Value {
    tensor.get(index).expect("an index in range").clone()
}

/// All index tuples of a shape in row-major order.
fn tuples(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for extent in shape {
        all =
            all.iter().flat_map(|head| (0..*extent).map(move |i| [head.as_slice(), &[i]].concat())).collect();
    }
    all
}

fn expect_same(got: &Tensor, shape: &[usize], expected: Vec<Value>) {
    let expected = Tensor::new(got.dtype, shape, expected).expect("a tensor");
    assert_eq!(got.same(&expected), Some(true), "got {got}, expected {expected}");
}

proptest! {
    #[test]
    fn matrix_product(m in 0usize..4, k in 0usize..5, n in 0usize..4, seed: u64, ints: bool) {
        let dtype = if ints { I8 } else { F32 };
        let (x, y) = (small(seed, dtype, &[m, k]), small(seed ^ 1, dtype, &[k, n]));
        let (sm, sk, sn) = (sym("M"), sym("K"), sym("N"));
        let (vx, vy) = (var("x"), var("y"));
        let (tx, ty) = (use_var(&vx, dtype, &[s(&sm), s(&sk)]), use_var(&vy, dtype, &[s(&sk), s(&sn)]));
        let (i, j, l) = (index("i"), index("j"), index("l"));
        let product = f(Scalar::Mul, &[read(&tx, &[s(&i), s(&l)]), read(&ty, &[s(&l), s(&j)])]);
        let sum = reduce(Monoid::Sum, vec![over(&l, s(&sk))], product);
        let term = comp(vec![over(&i, s(&sm)), over(&j, s(&sn))], sum);
        let env = Env::new().with_size(&sm, m as i64).with_size(&sk, k as i64)
            .with_size(&sn, n as i64).with_tensor(&vx, x.clone()).with_tensor(&vy, y.clone());
        let expected = tuples(&[m, n]).iter().map(|ij| {
            let terms = (0..k).map(|l| match (get(&x, &[ij[0], l]), get(&y, &[l, ij[1]])) {
                (Value::Int(a), Value::Int(b)) => (a * b) as f64,
                (a, b) => a.as_float().unwrap_or(0.0) * b.as_float().unwrap_or(0.0),
            });
            let sum: f64 = terms.sum();
            if ints { Value::Int((sum as i64) as i8 as i64) } else { Value::Float(sum + 0.0) }
        }).collect();
        expect_same(&tensor(&term, &env), &[m, n], expected);
    }

    #[test]
    fn reductions_over_any_axes(
        shape in proptest::collection::vec(0usize..4, 1..4), mask in 0usize..8, seed: u64,
        op in proptest::sample::select(vec![Monoid::Sum, Monoid::Prod, Monoid::Max, Monoid::Min]),
    ) {
        let x = small(seed, I64, &shape);
        let vx = var("x");
        let extents: Vec<_> = shape.iter().map(|d| int(*d as i64)).collect();
        let syms: Vec<_> = shape.iter().map(|_| index("i")).collect();
        let element = read(&use_var(&vx, I64, &extents), &syms.iter().map(s).collect::<Vec<_>>());
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for (axis, symbol) in syms.iter().enumerate() {
            let group = if mask >> axis & 1 == 1 { &mut gone } else { &mut kept };
            group.push((axis, over(symbol, extents[axis].clone())));
        }
        let binders = |group: &[(usize, crate::term::Binder)]| group.iter().map(|g| g.1.clone()).collect();
        let term = comp(binders(&kept), reduce(op.clone(), binders(&gone), element));
        let out: Vec<usize> = kept.iter().map(|(axis, _)| shape[*axis]).collect();
        let expected = tuples(&out).iter().map(|index| {
            let members = tuples(&shape).into_iter().filter(|full| {
                kept.iter().zip(index).all(|((axis, _), i)| full[*axis] == *i)
            });
            let numbers = members.map(|full| get(&x, &full).as_int().expect("an integer"));
            Value::Int(match op {
                Monoid::Sum => numbers.sum(),
                Monoid::Prod => numbers.product(),
                Monoid::Max => numbers.max().unwrap_or(i64::MIN),
                _ => numbers.min().unwrap_or(i64::MAX),
            })
        }).collect();
        expect_same(&tensor(&term, &Env::new().with_tensor(&vx, x.clone())), &out, expected);
    }

    /// `if inside { x[i - before] } else { fill }`, the read never out of range.
    #[test]
    fn constant_pad(n in 0usize..5, before in 0i64..4, after in 0i64..4, seed: u64) {
        let x = small(seed, F16, &[n]);
        let (vx, i, len) = (var("x"), index("i"), sym("N"));
        let shifted = &s(&i) - &int(before);
        let element = read(&use_var(&vx, F16, &[s(&len)]), std::slice::from_ref(&shifted));
        let low = f(Scalar::Le, &[size(int(0)), size(shifted.clone())]);
        let high = f(Scalar::Lt, &[size(shifted), size(s(&len))]);
        let inside = f(Scalar::LogicalAnd, &[low, high]);
        let body = if_(inside, element, number("0.5", F16));
        let term = comp(vec![over(&i, &s(&len) + &int(before + after))], body);
        let total = n + (before + after) as usize;
        let expected = (0..total as i64).map(|i| match usize::try_from(i - before) {
            Ok(j) if j < n => get(&x, &[j]),
            _ => Value::Float(0.5),
        }).collect();
        let env = Env::new().with_size(&len, n as i64).with_tensor(&vx, x.clone());
        expect_same(&tensor(&term, &env), &[total], expected);
    }

    #[test]
    fn strided_slice_flip_and_concat(n in 0usize..7, m in 0usize..4, step in 1i64..4, seed: u64) {
        let (x, y) = (small(seed, U8, &[n]), small(seed ^ 5, U8, &[m]));
        let (vx, vy, i) = (var("x"), var("y"), index("i"));
        let (ln, lm) = (int(n as i64), int(m as i64));
        let (tx, ty) = (use_var(&vx, U8, std::slice::from_ref(&ln)), use_var(&vy, U8, std::slice::from_ref(&lm)));
        let env = Env::new().with_tensor(&vx, x.clone()).with_tensor(&vy, y.clone());

        let count = ln.ceil_div(&int(step));
        let slice = comp(vec![over(&i, count)], read(&tx, &[s(&i).scale(&step.into())]));
        let expected: Vec<Value> = (0..n).step_by(step as usize).map(|i| get(&x, &[i])).collect();
        expect_same(&tensor(&slice, &env), &[expected.len()], expected);

        let flip = comp(vec![over(&i, ln.clone())], read(&tx, &[&(&ln - &int(1)) - &s(&i)]));
        let expected = (0..n).rev().map(|i| get(&x, &[i])).collect();
        expect_same(&tensor(&flip, &env), &[n], expected);

        let first = f(Scalar::Lt, &[size(s(&i)), size(ln.clone())]);
        let body = if_(first, read(&tx, &[s(&i)]), read(&ty, &[&s(&i) - &ln]));
        let concat = comp(vec![over(&i, &ln + &lm)], body);
        let expected = x.values().chain(y.values()).cloned().collect();
        expect_same(&tensor(&concat, &env), &[n + m], expected);
    }

    /// Reshape by row-major number, then back by division and remainder.
    #[test]
    fn reshape_by_linear_index(a in 0i64..4, b in 1i64..4, seed: u64) {
        let x = small(seed, F64, &[a as usize, b as usize]);
        let (vx, i, j, k) = (var("x"), index("i"), index("j"), index("k"));
        let tx = use_var(&vx, F64, &[int(a), int(b)]);
        let split = [s(&k).floor_div(&int(b)), s(&k).floor_mod(&int(b))];
        let flat = comp(vec![over(&k, int(a * b))], read(&tx, &split));
        let back = read(&flat, &[&s(&i).scale(&b.into()) + &s(&j)]);
        let term = comp(vec![over(&i, int(a)), over(&j, int(b))], back);
        let env = Env::new().with_tensor(&vx, x.clone());
        let expected = x.values().cloned().collect();
        expect_same(&tensor(&term, &env), &[a as usize, b as usize], expected);
        expect_same(&tensor(&flat, &env), &[(a * b) as usize], x.values().cloned().collect());
    }

    #[test]
    fn gather_by_an_index_tensor(n in 1usize..5, picks in proptest::collection::vec(-1i64..5, 0..5), seed: u64) {
        let x = small(seed, F32, &[n]);
        let idx = ints(I64, &[picks.len()], &picks);
        let (vx, vi, i) = (var("x"), var("idx"), index("i"));
        let position = read(&use_var(&vi, I64, &[int(picks.len() as i64)]), &[s(&i)]);
        let body = Term::read(use_var(&vx, F32, &[int(n as i64)]), vec![position], at(7));
        let term = comp(vec![over(&i, int(picks.len() as i64))], body);
        let env = Env::new().with_tensor(&vx, x.clone()).with_tensor(&vi, idx);
        let good = picks.iter().all(|p| (0..n as i64).contains(p));
        if good {
            let expected = picks.iter().map(|p| get(&x, &[*p as usize])).collect();
            expect_same(&tensor(&term, &env), &[picks.len()], expected);
        } else {
            let fault = fails(&term, &env);
            prop_assert_eq!(fault.class, Some(crate::term::ErrorClass::Index));
            prop_assert_eq!(fault.span, at(7));
        }
    }

    /// The extent of the inner index depends on the outer one.
    #[test]
    fn triangular_sum(n in 0i64..7) {
        let (i, j) = (index("i"), index("j"));
        let product = Term::cast(I64, size(&s(&i).scale(&10.into()) + &s(&j)), at(0));
        let term = reduce(Monoid::Sum, vec![over(&i, int(n)), over(&j, &s(&i) - &int(2))], product);
        let expected: i64 = (0..n).flat_map(|i| (0..i - 2).map(move |j| 10 * i + j)).sum();
        prop_assert_eq!(item(&tensor(&term, &Env::new())).as_int(), Some(expected));
    }
}
