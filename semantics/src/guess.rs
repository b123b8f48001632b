//! Small assignments that show at once that a condition on sizes does not follow.
//!
//! Most questions on sizes are to be denied, and searching for a proof in vain is what
//! costs time.
//!
//! Invariant: an assignment that is found satisfies the facts and makes the goal false, by
//! exact evaluation. It depends on the question only.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::ToPrimitive;

use crate::arith::{Arith, is_evident};
use crate::entail::{Cond, Entails};
use crate::size::{Atom, Monomial, Size, Sym, SymKind};

/// Assignments that are tried.
const TRIES: u64 = 24;

/// Repairs of one assignment.
const REPAIRS: usize = 12;

/// Facts about which answers are remembered, after which all are forgotten.
const REMEMBERED: usize = 1 << 12;

/// The in-process engine, asked what no guess denies.
#[derive(Default)]
pub struct Guessing;

impl Entails for Guessing {
    fn entails(&self, facts: &[Cond], goal: &Cond) -> bool {
        is_evident(facts, goal) || counterexample(facts, goal).is_none() && Arith.entails(facts, goal)
    }
}

/// An engine that knows again what it was asked: rules that are alike ask the same.
#[derive(Default)]
pub struct Remembering<E> {
    engine: E,
    /// By facts and goal.
    answers: Mutex<FxHashMap<Vec<Cond>, FxHashMap<Cond, bool>>>,
}

impl<E: Entails> Entails for Remembering<E> {
    fn entails(&self, facts: &[Cond], goal: &Cond) -> bool {
        let answers = || self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = answers().get(facts).and_then(|about| about.get(goal)) {
            return *known;
        }
        let answer = self.engine.entails(facts, goal);
        let mut answers = answers();
        if answers.len() >= REMEMBERED {
            answers.clear();
        }
        answers.entry(facts.to_vec()).or_default().insert(goal.clone(), answer);
        answer
    }
}

/// Values of the symbols at which the facts hold and the goal does not.
pub fn counterexample(facts: &[Cond], goal: &Cond) -> Option<Vec<(Sym, i128)>> {
    let mut syms = BTreeSet::new();
    facts.iter().chain([goal]).for_each(|cond| cond.collect_syms(&mut syms));
    let syms: Vec<Sym> = syms.into_iter().collect();
    let missed = goal.clone().negated();
    let wanted: Vec<Placed> = facts.iter().chain([&missed]).map(|cond| Placed::cond(cond, &syms)).collect();
    (0..TRIES).find_map(|round| {
        let mut values: Vec<i128> =
            syms.iter().enumerate().map(|(k, sym)| start(sym, round, k as u64)).collect();
        for step in 0..REPAIRS {
            let Some(open) = wanted.iter().find(|cond| cond.truth(&values) != Some(true)) else {
                return Some(syms.iter().cloned().zip(values).collect());
            };
            if !repair(open, &syms, &mut values, mixed(round, step as u64)) {
                return None;
            }
        }
        None
    })
}

/// A condition whose symbols are known by their places: it is evaluated some hundred times.
enum Placed {
    Known(bool),
    NonNeg(Polynomial),
    Zero(Polynomial),
    NonZero(Polynomial),
    And(Vec<Placed>),
    Or(Vec<Placed>),
}

/// The terms of a size, and the places of the symbols in it.
struct Polynomial {
    terms: Vec<Product>,
    places: Vec<usize>,
}

/// A coefficient, if it is not too large, with powers of factors.
struct Product {
    coefficient: Option<i128>,
    factors: Vec<(Factor, u32)>,
}

enum Factor {
    Sym(usize),
    Div(Polynomial, Polynomial),
    Min(Polynomial, Polynomial),
    Max(Polynomial, Polynomial),
}

impl Placed {
    fn cond(cond: &Cond, syms: &[Sym]) -> Placed {
        let all = |parts: &[Cond]| parts.iter().map(|part| Placed::cond(part, syms)).collect();
        match cond {
            Cond::True => Placed::Known(true),
            Cond::False => Placed::Known(false),
            Cond::NonNeg(p) => Placed::NonNeg(Polynomial::of(p, syms)),
            Cond::Zero(p) => Placed::Zero(Polynomial::of(p, syms)),
            Cond::NonZero(p) => Placed::NonZero(Polynomial::of(p, syms)),
            Cond::And(parts) => Placed::And(all(parts)),
            Cond::Or(parts) => Placed::Or(all(parts)),
        }
    }

    /// As [`Cond::eval`].
    fn truth(&self, values: &[i128]) -> Option<bool> {
        Some(match self {
            Placed::Known(truth) => *truth,
            Placed::NonNeg(p) => p.value(values)? >= 0,
            Placed::Zero(p) => p.value(values)? == 0,
            Placed::NonZero(p) => p.value(values)? != 0,
            Placed::And(parts) => {
                for part in parts {
                    if !part.truth(values)? {
                        return Some(false);
                    }
                }
                true
            }
            Placed::Or(parts) => {
                for part in parts {
                    if part.truth(values)? {
                        return Some(true);
                    }
                }
                false
            }
        })
    }
}

impl Polynomial {
    fn of(size: &Size, syms: &[Sym]) -> Polynomial {
        let term = |(monomial, coefficient): &(Monomial, BigInt)| {
            let factors = monomial.iter().map(|(atom, power)| (Factor::of(atom, syms), *power));
            Product { coefficient: coefficient.to_i128(), factors: factors.collect() }
        };
        let places = size.syms().iter().filter_map(|sym| syms.binary_search(sym).ok()).collect();
        Polynomial { terms: size.terms().iter().map(term).collect(), places }
    }

    /// As [`Size::eval`].
    fn value(&self, values: &[i128]) -> Option<i128> {
        let mut sum: i128 = 0;
        for Product { coefficient, factors } in &self.terms {
            let mut product = (*coefficient)?;
            for (factor, power) in factors {
                let value = factor.value(values)?;
                for _ in 0..*power {
                    product = product.checked_mul(value)?;
                }
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }
}

impl Factor {
    fn of(atom: &Atom, syms: &[Sym]) -> Factor {
        let size = |size: &Size| Polynomial::of(size, syms);
        match atom {
            Atom::Sym(sym) => {
                Factor::Sym(syms.binary_search(sym).expect("invariant: every symbol is collected"))
            }
            Atom::Div(a, b) => Factor::Div(size(a), size(b)),
            Atom::Min(a, b) => Factor::Min(size(a), size(b)),
            Atom::Max(a, b) => Factor::Max(size(a), size(b)),
        }
    }

    fn value(&self, values: &[i128]) -> Option<i128> {
        match self {
            Factor::Sym(place) => Some(values[*place]),
            Factor::Div(a, b) => {
                let (a, b) = (a.value(values)?, b.value(values)?);
                let defined = b != 0 && (a, b) != (i128::MIN, -1);
                defined.then(|| Integer::div_floor(&a, &b))
            }
            Factor::Min(a, b) => Some(a.value(values)?.min(b.value(values)?)),
            Factor::Max(a, b) => Some(a.value(values)?.max(b.value(values)?)),
        }
    }
}

/// Small values; indices are smaller than sizes.
fn start(sym: &Sym, round: u64, at: u64) -> i128 {
    let drawn = mixed(round, at + 100);
    let below = |n: u64| i128::from(drawn % n);
    match sym.kind() {
        SymKind::Size | SymKind::Group => below(2 + round / 3),
        SymKind::Index => below(1 + round / 4),
        SymKind::Int => below(3 + round / 3) - i128::from(round % 3),
    }
}

/// Changes the value of one symbol so that a bound or an equation in it comes to hold, if
/// the symbol stands there with coefficient one.
fn repair(cond: &Placed, syms: &[Sym], values: &mut [i128], choice: u64) -> bool {
    let (p, exact) = match cond {
        Placed::NonNeg(p) | Placed::NonZero(p) => (p, false),
        Placed::Zero(p) => (p, true),
        Placed::And(parts) => {
            let open = parts.iter().find(|part| part.truth(values) != Some(true));
            return open.is_some_and(|part| repair(part, syms, values, choice));
        }
        Placed::Or(parts) => {
            let part = parts.get(choice as usize % parts.len().max(1));
            return part.is_some_and(|part| repair(part, syms, values, choice / 7));
        }
        Placed::Known(_) => return false,
    };
    let Some(now) = p.value(values) else { return false };
    for k in 0..p.places.len() {
        let at = p.places[(k + choice as usize) % p.places.len()];
        let old = values[at];
        values[at] = old + 1;
        let slope = p.value(values).map_or(0, |next| next.saturating_sub(now));
        values[at] = old;
        let by = match (cond, slope) {
            (_, 0) => continue,
            (Placed::NonZero(_), _) => 1,
            _ => {
                let rest = !exact && now % slope != 0;
                (now.saturating_neg() / slope).saturating_add(i128::from(rest) * slope.signum())
            }
        };
        let new = old.saturating_add(by);
        if by != 0 && (new >= 0 || !syms[at].is_natural()) && new.abs() < 1 << 20 {
            values[at] = new;
            return true;
        }
    }
    false
}

/// A number that looks random.
pub fn mixed(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(b.wrapping_mul(0xD1B5_4A32_D192_ED03));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ (z >> 27)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(facts: &[Cond], goal: &Cond) -> bool {
        let Some(values) = counterexample(facts, goal) else { return false };
        let env = |sym: &Sym| values.iter().find(|(s, _)| s == sym).map(|(_, v)| *v);
        assert!(facts.iter().all(|fact| fact.eval(&env) == Some(true)), "{values:?}");
        assert_eq!(goal.eval(&env), Some(false), "{values:?}");
        true
    }

    #[test]
    fn guesses_satisfy_the_facts_and_defeat_the_goal() {
        let sym = |id, kind, name: &str| Size::sym(&Sym::new(id, kind, name));
        let (n, m) = (sym(0, SymKind::Size, "N"), sym(1, SymKind::Size, "M"));
        let (i, p) = (sym(2, SymKind::Index, "i"), sym(3, SymKind::Int, "p"));
        let inside = Cond::lt(&i, &n);
        assert!(found(&[], &inside));
        assert!(found(std::slice::from_ref(&inside), &Cond::lt(&i, &m)));
        assert!(found(&[Cond::eq(&n, &(&m * &Size::int(3))), inside.clone()], &Cond::eq(&i, &Size::zero())));
        assert!(found(&[Cond::lt(&p, &Size::int(-40))], &Cond::le(&Size::int(-50), &p)));
        assert!(found(&[Cond::le(&Size::int(1000), &n)], &Cond::le(&n, &Size::int(1001))));
        assert!(found(&[Cond::or([Cond::lt(&n, &m), inside])], &Cond::lt(&n, &m)));
    }

    #[test]
    fn what_was_asked_is_not_asked_again() {
        struct Counting(Mutex<u32>);
        impl Entails for Counting {
            fn entails(&self, facts: &[Cond], goal: &Cond) -> bool {
                *self.0.lock().expect("no panic") += 1;
                Guessing.entails(facts, goal)
            }
        }
        let engine = Remembering { engine: Counting(Mutex::new(0)), answers: Mutex::default() };
        let n = Size::sym(&Sym::new(0, SymKind::Size, "N"));
        let (some, two) = (Cond::lt(&Size::zero(), &n), Cond::lt(&Size::one(), &n));
        for _ in 0..3 {
            assert!(engine.entails(std::slice::from_ref(&two), &some));
            assert!(!engine.entails(std::slice::from_ref(&some), &two));
            assert!(!engine.entails(&[], &two));
        }
        assert_eq!(*engine.engine.0.lock().expect("no panic"), 3);
    }

    #[test]
    fn what_follows_is_not_defeated() {
        let n = Size::sym(&Sym::new(0, SymKind::Size, "N"));
        assert!(!found(&[], &Cond::non_neg(n.clone())));
        assert!(!found(&[Cond::lt(&n, &Size::zero())], &Cond::False));
        // Where a division fails a condition is neither true nor false.
        let quotient = Size::one().floor_div(&n);
        assert!(!found(&[Cond::eq(&n, &Size::zero())], &Cond::le(&quotient, &Size::one())));
    }
}
