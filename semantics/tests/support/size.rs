//! Random sizes and conditions over a few symbols, and all small assignments to them.

use proptest::prelude::*;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, Sym, SymKind};

/// Four naturals and one integer.
pub fn pool() -> Vec<Sym> {
    let names = ["N", "M", "i", "j"];
    let kinds = [SymKind::Size, SymKind::Size, SymKind::Index, SymKind::Index];
    let naturals = (0..4).map(|k| Sym::new(k, kinds[k as usize], names[k as usize]));
    naturals.chain([Sym::new(4, SymKind::Int, "p")]).collect()
}

pub fn sym() -> impl Strategy<Value = Size> + Clone {
    (0..5usize).prop_map(|k| Size::sym(&pool()[k]))
}

/// Sizes with division, minimum and maximum; divisors are positive constants or symbols.
pub fn size() -> impl Strategy<Value = Size> + Clone {
    let leaf = prop_oneof![3 => sym(), 1 => (-4i64..7).prop_map(Size::from)];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            3 => pair.clone().prop_map(|(a, b)| &a + &b),
            2 => pair.clone().prop_map(|(a, b)| &a - &b),
            2 => pair.clone().prop_map(|(a, b)| &a * &b),
            1 => (inner.clone(), -3i64..5).prop_map(|(a, c)| &a * &Size::from(c)),
            1 => (inner.clone(), 1i64..5).prop_map(|(a, d)| a.floor_div(&Size::from(d))),
            1 => (inner.clone(), 1i64..5).prop_map(|(a, d)| a.floor_mod(&Size::from(d))),
            1 => pair.clone().prop_map(|(a, b)| a.floor_div(&b)),
            1 => pair.clone().prop_map(|(a, b)| a.minimum(&b)),
            1 => pair.prop_map(|(a, b)| a.maximum(&b)),
        ]
    })
}

pub fn cond() -> impl Strategy<Value = Cond> {
    let leaf = prop_oneof![
        4 => (size(), size()).prop_map(|(a, b)| Cond::le(&a, &b)),
        2 => (sym(), size()).prop_map(|(a, b)| Cond::lt(&a, &b)),
        2 => (sym(), size()).prop_map(|(a, b)| Cond::eq(&a, &b)),
        1 => (size(), size()).prop_map(|(a, b)| Cond::eq(&a, &b)),
        1 => (size(), size()).prop_map(|(a, b)| Cond::ne(&a, &b)),
    ];
    leaf.prop_recursive(2, 4, 2, |inner| {
        let list = prop::collection::vec(inner, 1..3);
        prop_oneof![list.clone().prop_map(Cond::and), list.prop_map(Cond::or)]
    })
}

/// Bounds as programs have them: `i < N`, `i*M + j < N`, `N % 4 == 0`, `N == 2*M`.
pub fn bound() -> impl Strategy<Value = Cond> {
    let term = (sym(), -2i64..4).prop_map(|(s, c)| &s * &Size::from(c)).boxed();
    let linear = (term.clone(), term.clone(), -2i64..3).prop_map(|(a, b, c)| &(&a + &b) + &Size::from(c));
    let flat = (sym(), sym(), sym()).prop_map(|(a, b, c)| &(&a * &b) + &c);
    let form =
        prop_oneof![2 => sym(), 2 => linear, 1 => flat, 1 => (sym(), sym()).prop_map(|(a, b)| &a * &b)]
            .boxed();
    let part = prop_oneof![
        4 => form.clone(),
        1 => (form.clone(), 1i64..5).prop_map(|(a, d)| a.floor_div(&Size::from(d))),
        1 => (form.clone(), sym()).prop_map(|(a, d)| a.floor_div(&d)),
        1 => (form.clone(), form).prop_map(|(a, b)| a.minimum(&b)),
    ]
    .boxed();
    prop_oneof![
        4 => (part.clone(), part.clone()).prop_map(|(a, b)| Cond::lt(&a, &b)),
        4 => (part.clone(), part.clone()).prop_map(|(a, b)| Cond::le(&a, &b)),
        1 => (sym(), part.clone()).prop_map(|(a, b)| Cond::eq(&a, &b)),
        1 => (part.clone(), 2i64..5).prop_map(|(a, d)| Cond::eq(&a.floor_mod(&Size::from(d)), &Size::zero())),
        1 => (part.clone(), sym()).prop_map(|(a, d)| Cond::eq(&a.floor_mod(&d), &Size::zero())),
        1 => (part.clone(), part).prop_map(|(a, b)| Cond::or([Cond::lt(&a, &b), Cond::eq(&a, &b)])),
    ]
}

/// All assignments: naturals below `bound`, the integer from `-bound/2`.
pub fn assignments(bound: i128) -> impl Iterator<Item = Vec<i128>> {
    (0..bound.pow(5)).map(move |mut code| {
        let digits = (0..5).map(|k| {
            let digit = code % bound;
            code /= bound;
            if k == 4 { digit - bound / 2 } else { digit }
        });
        digits.collect()
    })
}

pub fn value(assignment: &[i128], sym: &Sym) -> Option<i128> {
    assignment.get(sym.id() as usize).copied()
}
