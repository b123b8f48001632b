//! Reductions whose ranges are merged, split or empty, against brute force: the same bits,
//! order of a float sum included.

use rtv_semantics::arith::Arith;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{Datum, Env, Limits, eval};
use rtv_semantics::normal::normalize;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{Binder, Form, Monoid, Term, Var};
use rtv_semantics::types::Type;

const ENTRIES: usize = 64;

fn span() -> Span {
    Span::default()
}

fn sym(id: u32, kind: SymKind, name: &str) -> Sym {
    Sym::new(id, kind, name)
}

/// Entries of very different magnitude: no two orders of summation agree for long.
fn entries(dtype: DType) -> Tensor {
    let entry = |k: usize| match dtype {
        DType::I64 => Value::Int((k as i64 * 37) % 23 - 11),
        _ => Value::float(
            ((k * 37 % 23) as f64 - 11.0) * 10f64.powi((k * 29 % 31) as i32),
            dtype,
            Domain::Ieee,
        ),
    };
    Tensor::new(dtype, &[ENTRIES], (0..ENTRIES).map(entry).collect()).expect("a small tensor")
}

/// Reductions over one or two binders of entries at every index made of them.
fn reductions(dtype: DType, a: &Size, b: &Size) -> Vec<Term> {
    let (i, j) = (sym(10, SymKind::Index, "i"), sym(11, SymKind::Index, "j"));
    let (p, q) = (Size::sym(&i), Size::sym(&j));
    let two = Size::int(2);
    let (low_a, low_b) = (a - &two, b - &two);
    let single = [a * b, &low_a * &low_b, a * &two, low_a.clone(), Size::zero(), a * &(b * &two)];
    let double = [(a.clone(), b.clone()), (low_a, low_b), (b.clone(), a.clone()), (a.clone(), Size::int(3))];
    let x = Term::var(
        Var { id: 0, name: "x".into() },
        Type::tensor(dtype, vec![Size::int(ENTRIES as i64)]),
        span(),
    );
    let mut all = Vec::new();
    let mut add = |binders: Vec<Binder>, index: &Size| {
        let body = Term::read(x.clone(), vec![Term::size(index.clone(), span())], span());
        for op in [Monoid::Sum, Monoid::Max] {
            all.push(Term::reduce(op, binders.clone(), body.clone(), span()));
        }
    };
    for extent in &single {
        for index in
            [p.clone(), p.floor_div(b), p.floor_mod(b), p.floor_div(&two), &p.floor_mod(b) + &p.floor_div(b)]
        {
            add(vec![Binder { sym: i.clone(), extent: extent.clone() }], &index);
        }
    }
    for (m, n) in &double {
        for index in [&(n * &p) + &q, &(m * &q) + &p, &(b * &p) + &q, &p + &q, q.clone(), Size::one()] {
            let binders = [(&i, m), (&j, n)].map(|(sym, e)| Binder { sym: sym.clone(), extent: e.clone() });
            add(binders.to_vec(), &index);
        }
    }
    all
}

fn ranges(term: &Term) -> Option<Vec<Size>> {
    match term.form() {
        Form::Reduce(reduce) => Some(reduce.binders.iter().map(|b| b.extent.clone()).collect()),
        _ => None,
    }
}

#[test]
fn normal_forms_keep_the_order_of_elements() {
    let (a, b) = (sym(0, SymKind::Size, "a"), sym(1, SymKind::Size, "b"));
    let (mut compared, mut reshaped) = (0, 0);
    for dtype in [DType::I64, DType::F32, DType::F64] {
        let x = Var { id: 0, name: "x".into() };
        for term in reductions(dtype, &Size::sym(&a), &Size::sym(&b)) {
            let normal = normalize(&term, &[], &Arith);
            reshaped += usize::from(ranges(&normal) != ranges(&term));
            for (m, n) in (0..5).flat_map(|m| (0..5).map(move |n| (m, n))) {
                let env = Env::new().with_size(&a, m).with_size(&b, n).with_tensor(&x, entries(dtype));
                let value = |t: &Term| eval(t, &env, Domain::Ieee, &Limits::default());
                let Ok(Datum::Tensor(whole)) = value(&term) else { continue };
                let Ok(Datum::Tensor(other)) = value(&normal) else { panic!("{normal:?} at {m}, {n}") };
                let same = whole.item().zip(other.item()).and_then(|(x, y)| x.same(y));
                assert_eq!(same, Some(true), "{term:?}\n{normal:?}\nat {m}, {n}");
                compared += 1;
            }
        }
    }
    assert!(reshaped > 50, "{reshaped}");
    assert!(compared > 3_000, "{compared}");
}
