//! Sizes, entailment and simplification against brute force over small assignments.

mod support {
    pub mod size;
}

use proptest::prelude::*;
use rtv_semantics::arith::Arith;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::simplify;
use rtv_semantics::size::{Monomial, Size, Sym, SymKind};
use rtv_semantics::subst::Subst;
use support::size::{assignments, bound, cond, pool, size, value};

/// `PROPTEST_CASES` overrides the number of cases.
fn config(cases: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: given.unwrap_or(cases), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(128))]

    /// Arithmetic on normal forms is arithmetic on values.
    #[test]
    fn operations_match_values(a in size(), b in size()) {
        for at in assignments(3) {
            let env = |s: &Sym| value(&at, s);
            let (Ok(x), Ok(y)) = (a.eval(&env), b.eval(&env)) else { continue };
            prop_assert_eq!((&a + &b).eval(&env), Ok(x + y));
            prop_assert_eq!((&a * &b).eval(&env), Ok(x * y));
            prop_assert_eq!(a.minimum(&b).eval(&env), Ok(x.min(y)));
            prop_assert_eq!(a.maximum(&b).eval(&env), Ok(x.max(y)));
            if y != 0 {
                let floor = num_integer::Integer::div_floor(&x, &y);
                prop_assert_eq!(a.floor_div(&b).eval(&env), Ok(floor));
                prop_assert_eq!(a.floor_mod(&b).eval(&env), Ok(x - y * floor));
            }
        }
    }

    /// Equal polynomials are equal as data: terms in order, none twice, and none of coefficient zero.
    #[test]
    fn results_are_in_normal_form(a in size(), b in size(), k in 0..5usize) {
        let replaced = a.subst(&|s| (*s == pool()[k]).then(|| b.clone()));
        let results = [&a + &b, &a - &b, -&a, &a * &b, a.scale(&3.into()), a.scale(&0.into()), replaced];
        for result in results {
            prop_assert!(result.terms().windows(2).all(|pair| pair[0].0 < pair[1].0), "{:?}", result);
            let all = result.terms().iter().cloned();
            let powers = |(m, _): &(Monomial, _)| m.windows(2).all(|w| w[0].0 < w[1].0) && m.iter().all(|f| f.1 > 0);
            prop_assert!(result.terms().iter().all(powers), "{:?}", result);
            prop_assert_eq!(&Size::from_terms(all.rev()), &result);
        }
        let terms = || a.terms().iter().chain(b.terms()).cloned();
        prop_assert_eq!(&a + &b, Size::from_terms(terms()));
        prop_assert_eq!(&(&a + &b) - &b, a.clone());
        prop_assert_eq!(&a * &b, &b * &a);
        prop_assert_eq!(a.subst(&|_| None), a.map_atoms(&|atom| Some(Size::atom(atom.clone()))));
    }

    #[test]
    fn substitution_matches_values(a in size(), b in size(), k in 0..5usize) {
        let target = &pool()[k];
        let replaced = Subst::new().with_size(target, b.clone()).size(&a);
        for at in assignments(3) {
            let env = |s: &Sym| value(&at, s);
            let Ok(y) = b.eval(&env) else { continue };
            let inner = |s: &Sym| if s == target { Some(y) } else { value(&at, s) };
            if let Ok(x) = a.eval(&inner) {
                prop_assert_eq!(replaced.eval(&env), Ok(x), "{} with {} := {}", a, target.name(), b);
            }
        }
    }

    /// Whatever is claimed holds at every assignment that satisfies the facts.
    #[test]
    fn no_false_implication(facts in prop::collection::vec(cond(), 0..4), goal in cond()) {
        if Arith.entails(&facts, &goal) {
            for at in assignments(6) {
                let env = |s: &Sym| value(&at, s);
                if facts.iter().all(|f| f.eval(&env) == Some(true)) {
                    prop_assert_ne!(goal.eval(&env), Some(false), "{:?} at {:?}", facts, at);
                }
            }
        }
    }

    /// The same where most goals follow from the facts or nearly so.
    #[test]
    fn no_false_implication_of_bounds(facts in prop::collection::vec(bound(), 1..6), goals in prop::collection::vec(bound(), 4)) {
        let goals: Vec<Cond> = goals.into_iter().filter(|g| Arith.entails(&facts, g)).collect();
        for at in assignments(if goals.is_empty() { 0 } else { 7 }) {
            let env = |s: &Sym| value(&at, s);
            if facts.iter().all(|f| f.eval(&env) == Some(true)) {
                for goal in &goals {
                    prop_assert_ne!(goal.eval(&env), Some(false), "{:?} gives {} at {:?}", facts, goal, at);
                }
            }
        }
    }

    /// The same for goals made to be near the facts.
    #[test]
    fn no_false_implication_nearby(
        facts in prop::collection::vec(cond(), 1..3),
        coefficients in prop::collection::vec(0i64..3, 3),
        shift in -2i64..3,
        factor in size(),
    ) {
        let mut sum = Size::from(shift);
        for (fact, c) in facts.iter().zip(coefficients) {
            if let Cond::NonNeg(p) | Cond::Zero(p) = fact {
                sum = &sum + &(p * &Size::from(c));
            }
        }
        for goal in [Cond::non_neg(sum.clone()), Cond::non_neg(&sum * &factor)] {
            if Arith.entails(&facts, &goal) {
                for at in assignments(5) {
                    let env = |s: &Sym| value(&at, s);
                    if facts.iter().all(|f| f.eval(&env) == Some(true)) {
                        prop_assert_ne!(goal.eval(&env), Some(false), "{:?} at {:?}", facts, at);
                    }
                }
            }
        }
    }

}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn simplification_keeps_values(facts in prop::collection::vec(cond(), 0..4), a in size(), d in size()) {
        for p in [a.clone(), a.floor_div(&d), &a * &d.floor_div(&a)] {
            let simple = simplify::size(&p, &facts, &Arith);
            for at in assignments(4) {
                let env = |s: &Sym| value(&at, s);
                if !facts.iter().all(|f| f.eval(&env) == Some(true)) {
                    continue;
                }
                if let Ok(x) = p.eval(&env) {
                    prop_assert_eq!(simple.eval(&env), Ok(x), "{} to {} at {:?}", p, simple, at);
                }
            }
        }
    }
}

/// Symbols by letter: capitals are sizes, `p`, `q` integers, the others indices.
fn s(name: &str) -> Size {
    let id = name.bytes().fold(0u32, |h, b| h * 256 + u32::from(b));
    let first = name.chars().next().unwrap_or('x');
    let kind = match first {
        'A'..='Z' => SymKind::Size,
        'p' | 'q' => SymKind::Int,
        _ => SymKind::Index,
    };
    Size::sym(&Sym::new(id, kind, name))
}

fn n(value: i64) -> Size {
    Size::from(value)
}

#[track_caller]
fn proves(facts: &[Cond], goals: &[Cond]) {
    for goal in goals {
        assert!(Arith.entails(facts, goal), "{facts:?}\n  does not give {goal}");
    }
}

#[track_caller]
fn leaves(facts: &[Cond], goals: &[Cond]) {
    for goal in goals {
        assert!(!Arith.entails(facts, goal), "{goal} does not follow");
    }
}

fn le(a: &Size, b: &Size) -> Cond {
    Cond::le(a, b)
}

fn lt(a: &Size, b: &Size) -> Cond {
    Cond::lt(a, b)
}

#[test]
fn slices() {
    let (lo, hi, size, i) = (s("L"), s("H"), s("N"), s("i"));
    let facts = [le(&lo, &hi), le(&hi, &size), lt(&i, &(&hi - &lo))];
    proves(&facts, &[lt(&(&i + &lo), &size), le(&lo, &size), lt(&i, &size), le(&n(1), &size)]);
    leaves(&facts, &[lt(&(&(&i + &lo) + &n(1)), &size), le(&n(1), &lo)]);
    // Step: i < ceil((hi - lo) / D) reads lo + D*i.
    let step = s("D");
    let count = (&hi - &lo).ceil_div(&step);
    let facts = [le(&n(1), &step), le(&lo, &hi), le(&hi, &size), lt(&i, &count)];
    proves(&facts, &[lt(&(&lo + &(&step * &i)), &size), le(&n(0), &count)]);
}

#[test]
fn pads_and_concatenations() {
    let (left, right, size, i, other) = (s("L"), s("R"), s("N"), s("i"), s("M"));
    let inside = [lt(&i, &(&(&left + &size) + &right)), le(&left, &i), lt(&i, &(&left + &size))];
    proves(&inside, &[Cond::within(&n(0), &(&i - &left), &size)]);
    let facts = [lt(&i, &(&size + &other)), le(&size, &i)];
    proves(&facts, &[Cond::within(&n(0), &(&i - &size), &other), le(&n(1), &other)]);
    leaves(&facts, &[le(&n(1), &size)]);
}

#[test]
fn reshapes() {
    let (a, b, c, i, j, k) = (s("A"), s("B"), s("C"), s("i"), s("j"), s("k"));
    let two = [lt(&i, &a), lt(&j, &b)];
    let flat = &(&i * &b) + &j;
    proves(&two, &[lt(&flat, &(&a * &b)), le(&n(0), &flat), le(&n(1), &(&a * &b))]);
    let three = [lt(&i, &a), lt(&j, &b), lt(&k, &c)];
    let flat = &(&(&(&i * &b) + &j) * &c) + &k;
    proves(&three, &[lt(&flat, &(&(&a * &b) * &c))]);
    leaves(&three, &[lt(&(&flat + &n(1)), &(&(&a * &b) * &c))]);
    // Split: x < A*B gives x // B < A and the remainder below B.
    let x = s("x");
    let facts = [lt(&x, &(&a * &b))];
    let (q, r) = (x.floor_div(&b), x.floor_mod(&b));
    let facts = [facts[0].clone(), le(&n(1), &b)];
    proves(&facts, &[Cond::within(&n(0), &q, &a), Cond::within(&n(0), &r, &b)]);
    proves(&facts, &[Cond::eq(&(&(&q * &b) + &r), &x)]);
    // A divisor that occurs in an extent under an index is positive.
    proves(&[lt(&x, &(&a * &b))], &[le(&n(1), &b), le(&n(1), &a)]);
}

#[test]
fn divisibility() {
    let (size, heads, i) = (s("N"), s("H"), s("i"));
    let facts = [le(&n(1), &heads), Cond::eq(&size.floor_mod(&heads), &n(0))];
    proves(&facts, &[Cond::eq(&(&size.floor_div(&heads) * &heads), &size)]);
    let eight = [Cond::eq(&size.floor_mod(&n(8)), &n(0))];
    proves(&eight, &[Cond::eq(&size.floor_mod(&n(2)), &n(0))]);
    proves(&eight, &[Cond::eq(&(&size.floor_div(&n(4)) * &n(4)), &size)]);
    leaves(&eight, &[Cond::eq(&size.floor_mod(&n(16)), &n(0)), Cond::eq(&size, &n(0))]);
    let below = [eight[0].clone(), lt(&i, &size.floor_div(&n(8)))];
    proves(&below, &[lt(&(&(&i * &n(8)) + &n(7)), &size)]);
}

#[test]
fn blocks() {
    let (size, block, t, j) = (s("N"), s("B"), s("t"), s("j"));
    let trips = size.ceil_div(&block);
    let facts = [le(&n(1), &block), lt(&t, &trips)];
    proves(&facts, &[lt(&(&t * &block), &size)]);
    proves(&[le(&n(1), &block)], &[le(&size, &(&trips * &block))]);
    let facts = [facts[0].clone(), lt(&j, &size)];
    proves(&facts, &[lt(&j.floor_div(&block), &trips)]);
}

#[test]
fn minima_and_maxima() {
    let (a, b, c, i) = (s("A"), s("B"), s("C"), s("i"));
    proves(&[lt(&i, &a.minimum(&b))], &[lt(&i, &a), lt(&i, &b)]);
    proves(&[lt(&i, &a), lt(&i, &b)], &[lt(&i, &a.minimum(&b))]);
    proves(&[], &[le(&a.minimum(&b), &a.maximum(&b)), le(&n(0), &a.minimum(&b))]);
    proves(&[], &[Cond::eq(&(&a.minimum(&b) + &a.maximum(&b)), &(&a + &b))]);
    proves(&[le(&a, &b)], &[le(&a.minimum(&c), &b.minimum(&c))]);
    // max(0, n - 1) under n >= 1
    let clamped = n(0).maximum(&(&a - &n(1)));
    proves(&[le(&n(1), &a)], &[Cond::eq(&clamped, &(&a - &n(1)))]);
}

#[test]
fn lifting_and_products() {
    let (d, e, f, p) = (s("D"), s("E"), s("F"), s("p"));
    let positive = le(&n(1), &d);
    proves(&[positive.clone(), le(&n(0), &(&d * &p))], &[le(&n(0), &p)]);
    proves(&[positive.clone(), le(&n(1), &(&d * &p))], &[le(&n(1), &p)]);
    proves(&[positive.clone(), Cond::eq(&(&d * &e), &(&d * &f))], &[Cond::eq(&e, &f)]);
    leaves(&[Cond::eq(&(&d * &e), &(&d * &f))], &[Cond::eq(&e, &f)]);
    proves(&[positive, le(&n(1), &e)], &[le(&n(1), &(&d * &e)), le(&d, &(&d * &e))]);
    // A group's extent times another: numel facts.
    proves(&[le(&n(1), &(&d * &e))], &[le(&n(1), &d), le(&n(1), &e)]);
}

#[test]
fn choices_and_inequations() {
    let (a, b, i) = (s("A"), s("B"), s("i"));
    let one_of = Cond::or([Cond::eq(&a, &n(1)), Cond::eq(&a, &b)]);
    proves(&[one_of.clone(), le(&n(2), &a)], &[Cond::eq(&a, &b)]);
    proves(&[one_of, le(&n(1), &b)], &[le(&n(1), &a)]);
    proves(&[Cond::ne(&a, &n(0))], &[le(&n(1), &a)]);
    proves(&[le(&a, &i), Cond::ne(&i, &a)], &[lt(&a, &i)]);
    proves(&[lt(&a, &b)], &[Cond::ne(&a, &b)]);
    proves(&[], &[Cond::or([le(&a, &b), lt(&b, &a)])]);
    proves(&[lt(&a, &b), lt(&b, &a)], &[Cond::False]);
    leaves(&[lt(&a, &b)], &[Cond::False]);
}

#[track_caller]
fn simplifies(facts: &[Cond], from: &Size, to: &Size) {
    let got = simplify::size(from, facts, &Arith);
    assert!(got == *to, "{from} gives {got}, not {to}");
}

#[test]
fn divisions_simplify() {
    let (a, b, c, i, j, k) = (s("A"), s("B"), s("C"), s("i"), s("j"), s("k"));
    let facts = [lt(&i, &a), lt(&j, &b), lt(&k, &c)];
    let flat = &(&(&(&i * &b) + &j) * &c) + &k;
    simplifies(&facts, &flat.floor_div(&(&b * &c)), &i);
    simplifies(&facts, &flat.floor_mod(&c), &k);
    simplifies(&facts, &flat.floor_div(&c).floor_mod(&b), &j);
    simplifies(&facts, &flat.floor_mod(&(&b * &c)).floor_div(&c), &j);
    simplifies(&facts, &flat.floor_div(&(&(&a * &b) * &c)), &n(0));
    // Without the ranges nothing is known of the divisor.
    simplifies(&[], &flat.floor_div(&c), &flat.floor_div(&c));
    // Common factors, nested division.
    let positive = [le(&n(1), &b), le(&n(1), &c)];
    simplifies(&positive, &(&a * &c).floor_div(&(&b * &c)), &a.floor_div(&b));
    simplifies(&positive, &a.floor_div(&b).floor_div(&c), &a.floor_div(&(&b * &c)));
    simplifies(&positive, &(&(&a * &c) + &n(2)).floor_div(&(&c * &n(3))), &{
        (&(&a * &c) + &n(2)).floor_div(&(&c * &n(3)))
    });
    // Constant divisors look for the nearest multiple.
    let small = [lt(&i, &a), le(&a, &n(4))];
    simplifies(&small, &(&(&a - &n(1)) - &i).floor_div(&n(4)), &n(0));
    simplifies(&small, &(&i - &a).floor_div(&n(4)), &n(-1));
}

#[test]
fn extrema_simplify() {
    let (a, b, i) = (s("A"), s("B"), s("i"));
    simplifies(&[lt(&i, &a)], &i.minimum(&(&a - &n(1))), &i);
    simplifies(&[le(&a, &b)], &(&a + &n(1)).maximum(&(&b + &n(1))), &(&b + &n(1)));
    simplifies(&[], &(&a + &n(1)).maximum(&(&b + &n(1))), &(&a.maximum(&b) + &n(1)));
}
