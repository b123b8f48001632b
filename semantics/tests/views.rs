//! Views against enumeration of their elements.

use proptest::prelude::*;
use rtv_semantics::arith::Arith;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::{Binder, Term, Var};
use rtv_semantics::types::Type;
use rtv_semantics::view::View;
use std::collections::{BTreeMap, BTreeSet};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() }
}

fn extent(k: u32) -> Size {
    Size::sym(&Sym::new(k, SymKind::Size, ["N", "M", "K"][k as usize]))
}

fn n(value: i64) -> Size {
    Size::from(value)
}

fn binder(name: &str, extent: Size, fresh: &mut Fresh) -> Binder {
    Binder { sym: Sym::new(fresh.id(), SymKind::Index, name), extent }
}

/// A view of one axis: `start + step*i` for `count` values of `i`.
fn strided(base: &Size, start: Size, step: i64, count: Size, fresh: &mut Fresh) -> View {
    let i = binder("i", count, fresh);
    let map = vec![&start + &(&Size::sym(&i.sym) * &n(step))];
    View { base_shape: vec![base.clone()], index: vec![i], map }
}

/// One step of a chain of views; each applies to any shape.
#[derive(Clone, Debug)]
enum Step {
    Swap,
    /// On the first axis.
    From(i64),
    Upto(i64),
    Every(i64),
    Flip,
    Split(i64),
    Diagonal,
    Select(i64),
    Expand,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Swap),
        (0i64..3).prop_map(Step::From),
        (0i64..3).prop_map(Step::Upto),
        (1i64..4).prop_map(Step::Every),
        Just(Step::Flip),
        (1i64..4).prop_map(Step::Split),
        Just(Step::Diagonal),
        (0i64..2).prop_map(Step::Select),
        Just(Step::Expand),
    ]
}

/// The view of a tensor of the given shape.
fn view(step: &Step, shape: &[Size], fresh: &mut Fresh) -> View {
    let mut whole = View::identity(shape, fresh);
    let Some(first) = whole.index.first().cloned() else { return whole };
    let (i, size) = (Size::sym(&first.sym), first.extent);
    match step {
        Step::Swap => whole.index.reverse(),
        Step::From(lo) => {
            whole.index[0].extent = (&size - &n(*lo)).maximum(&n(0));
            whole.map[0] = &i + &n(*lo);
        }
        Step::Upto(hi) => whole.index[0].extent = size.minimum(&n(*hi)),
        Step::Every(k) => {
            whole.index[0].extent = size.ceil_div(&n(*k));
            whole.map[0] = &i * &n(*k);
        }
        Step::Flip => whole.map[0] = &(&size - &n(1)) - &i,
        Step::Split(k) => {
            whole.index[0].extent = size.floor_div(&n(*k));
            let inner = binder("s", n(*k), fresh);
            whole.map[0] = &(&i * &n(*k)) + &Size::sym(&inner.sym);
            whole.index.insert(1, inner);
        }
        Step::Diagonal if whole.index.len() >= 2 => {
            let second = whole.index.remove(1);
            whole.index[0].extent = size.minimum(&second.extent);
            whole.map[1] = i;
        }
        Step::Diagonal => {}
        Step::Select(at) => {
            whole.index.remove(0);
            whole.map[0] = n(*at);
        }
        Step::Expand => whole.index.push(binder("e", n(2), fresh)),
    }
    whole
}

type Env = BTreeMap<Sym, i128>;

fn value(p: &Size, env: &Env) -> i128 {
    p.eval(&|s| env.get(s).copied()).expect("all symbols are bound")
}

/// Every index of the view with the base index it shows.
fn elements(view: &View, sizes: &Env) -> Vec<(Vec<i128>, Vec<i128>)> {
    let mut all = vec![(Vec::new(), sizes.clone())];
    for b in &view.index {
        let longer = |(index, env): (Vec<i128>, Env)| {
            let extent = value(&b.extent, sizes);
            (0..extent)
                .map(move |i| {
                    let mut env = env.clone();
                    env.insert(b.sym.clone(), i);
                    (index.iter().copied().chain([i]).collect(), env)
                })
                .collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all.into_iter().map(|(i, env)| (i, view.map.iter().map(|p| value(p, &env)).collect())).collect()
}

fn sizes() -> Vec<Env> {
    let all = (0..64).map(|c| (0..3).map(move |k| (c >> (2 * k)) % 4));
    all.map(|values| {
        let named = values.enumerate();
        named.map(|(k, v)| (extent(k as u32).as_sym().expect("a symbol").clone(), v)).collect()
    })
    .collect()
}

fn chain(steps: &[Step], fresh: &mut Fresh) -> (View, Vec<View>) {
    let mut whole = View::identity(&[extent(0), extent(1)], fresh);
    let mut parts = Vec::new();
    for step in steps {
        let part = view(step, &whole.shape(), fresh);
        whole = part.of(&whole, fresh);
        parts.push(part);
    }
    (whole, parts)
}

fn in_range(view: &View, sizes: &Env) -> bool {
    elements(view, sizes)
        .iter()
        .all(|(_, base)| base.iter().zip(&view.base_shape).all(|(p, e)| 0 <= *p && *p < value(e, sizes)))
}

proptest! {
    #![proptest_config(config())]

    /// Composition is reading through both.
    #[test]
    fn chains_compose(steps in prop::collection::vec(step(), 0..4)) {
        let (whole, parts) = chain(&steps, &mut Fresh::new(10));
        for sizes in sizes() {
            for (index, base) in elements(&whole, &sizes) {
                let mut at = index;
                for part in parts.iter().rev() {
                    let mut env = sizes.clone();
                    env.extend(part.index.iter().zip(at).map(|(b, i)| (b.sym.clone(), i)));
                    at = part.map.iter().map(|p| value(p, &env)).collect();
                }
                prop_assert_eq!(&at, &base);
            }
        }
    }

    /// What is proved of a view holds for its elements.
    #[test]
    fn claims_hold(a in prop::collection::vec(step(), 0..4), b in prop::collection::vec(step(), 0..3)) {
        let mut fresh = Fresh::new(10);
        let (left, right) = (chain(&a, &mut fresh).0, chain(&b, &mut fresh).0);
        let inside = left.in_range().holds(&[], &Arith);
        let injective = left.injective(&mut fresh).holds(&[], &Arith);
        let disjoint = left.disjoint(&right, &mut fresh).holds(&[], &Arith);
        for sizes in sizes() {
            let shown: Vec<Vec<i128>> = elements(&left, &sizes).into_iter().map(|e| e.1).collect();
            let distinct: BTreeSet<&Vec<i128>> = shown.iter().collect();
            prop_assert!(!inside || in_range(&left, &sizes));
            prop_assert!(!injective || distinct.len() == shown.len());
            let other = elements(&right, &sizes);
            prop_assert!(!disjoint || other.iter().all(|(_, base)| !distinct.contains(base)));
        }
    }
}

/// Each step alone is in range and, but for `expand`, injective.
#[test]
fn single_steps_are_decided() {
    let mut fresh = Fresh::new(10);
    let steps = [
        Step::Swap,
        Step::From(2),
        Step::Upto(2),
        Step::Every(3),
        Step::Flip,
        Step::Split(4),
        Step::Diagonal,
    ];
    for step in steps {
        let view = view(&step, &[extent(0), extent(1)], &mut fresh);
        assert!(view.in_range().holds(&[], &Arith), "{step:?}");
        assert!(view.injective(&mut fresh).holds(&[], &Arith), "{step:?}");
    }
    let select = view(&Step::Select(1), &[extent(0), extent(1)], &mut fresh);
    assert!(!select.in_range().holds(&[], &Arith));
    assert!(select.in_range().holds(&[Cond::lt(&n(1), &extent(0))], &Arith));
    let expand = view(&Step::Expand, &[extent(0)], &mut fresh);
    assert!(!expand.injective(&mut fresh).holds(&[], &Arith));
}

#[test]
fn windows_are_disjoint_or_not() {
    let fresh = &mut Fresh::new(10);
    let (size, other) = (extent(0), extent(1));
    let less = &size - &n(1);
    let front = strided(&size, n(0), 1, less.clone(), fresh);
    let back = strided(&size, n(1), 1, less, fresh);
    assert!(!front.disjoint(&back, fresh).holds(&[], &Arith), "x[:-1] and x[1:] meet");
    let even = strided(&size, n(0), 2, size.ceil_div(&n(2)), fresh);
    let odd = strided(&size, n(1), 2, size.floor_div(&n(2)), fresh);
    assert!(even.disjoint(&odd, fresh).holds(&[], &Arith), "x[0::2] and x[1::2]");
    let head = strided(&size, n(0), 1, other.clone(), fresh);
    let tail = strided(&size, other.clone(), 1, &size - &other, fresh);
    assert!(head.disjoint(&tail, fresh).holds(&[], &Arith), "x[:M] and x[M:]");
}

/// Rows of a tensor that is stored flat: i*M + j.
#[test]
fn rows_of_flat_storage() {
    let fresh = &mut Fresh::new(10);
    let (rows, columns) = (extent(0), extent(1));
    let (i, j) = (binder("i", rows.clone(), fresh), binder("j", columns.clone(), fresh));
    let map = vec![&(&Size::sym(&i.sym) * &columns) + &Size::sym(&j.sym)];
    let view = View { base_shape: vec![&rows * &columns], index: vec![i, j], map };
    assert!(view.in_range().holds(&[], &Arith));
    assert!(view.injective(fresh).holds(&[], &Arith));
}

#[test]
fn terms_that_are_views() {
    let span = Span::default();
    let fresh = &mut Fresh::new(10);
    let var = Var { id: 1, name: "x".into() };
    let shape = vec![extent(0), extent(1)];
    let x = Term::var(var.clone(), Type::tensor(DType::F32, shape.clone()), span);
    let (i, j) = (binder("i", extent(1), fresh), binder("j", extent(0), fresh));
    let index = |b: &Binder| Term::size(Size::sym(&b.sym), span);
    let read = Term::read(x.clone(), vec![index(&j), index(&i)], span);
    let transposed = Term::comp(vec![i.clone(), j.clone()], read.clone(), span);
    let (base, view) = View::of_term(&transposed, fresh).expect("a view");
    assert_eq!(base, var);
    assert_eq!(view.shape(), [extent(1), extent(0)]);
    assert_eq!(view.at(&[n(1), n(2)]), [n(2), n(1)]);
    assert_eq!(View::of_term(&x, fresh).expect("a view").1.shape(), shape);
    let sum = Term::scalar(rtv_semantics::scalar::Scalar::Neg, vec![read], span);
    assert!(View::of_term(&Term::comp(vec![i, j], sum, span), fresh).is_none());
}
