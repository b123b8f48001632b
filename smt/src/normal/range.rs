//! Binders and guards of one monomial: what the guards say about a binder goes into its
//! range.
//!
//! Every step keeps the set of index tuples at which the guards hold, up to a bijection
//! that is written into the factors.

use num_bigint::BigInt;
use num_traits::{One, Signed};
use rtv_semantics::entail::Cond;
use rtv_semantics::simplify;
use rtv_semantics::size::{Atom, Size, Sym};
use rtv_semantics::subst::{Subst, free_syms};
use rtv_semantics::term::Binder;

use super::monomial::Monomial;
use super::{Normal, ranges};
use crate::proof::{Algebra, Narrowing, Rule};

/// Reductions over so few elements are written out.
const FEW: i64 = 4;

/// Elements of one monomial that are written out.
const MAX_WRITTEN: i64 = 8;

/// Steps taken on one monomial and what it is split into.
const MAX_STEPS: usize = 64;

/// What a step made of a monomial.
enum Step {
    Same(Monomial),
    To(Rule, Vec<Monomial>),
}

impl Normal<'_> {
    /// The monomial with its guards used up as far as the facts allow; several where a
    /// guard is a disjunction, none where the guards contradict the ranges. With the steps
    /// taken.
    pub(super) fn narrowed(
        &mut self,
        monomial: Monomial,
        algebra: &Algebra,
    ) -> Option<(Vec<Monomial>, Vec<Narrowing>)> {
        let (mut pending, mut done, mut steps) = (vec![monomial], Vec::new(), Vec::new());
        while let Some(monomial) = pending.pop() {
            if steps.len() >= MAX_STEPS {
                return None;
            }
            match self.step(monomial, algebra) {
                Step::Same(monomial) => {
                    done.push(monomial);
                    steps.push(Narrowing::Done);
                }
                Step::To(rule, parts) => {
                    pending.extend(parts.iter().rev().cloned());
                    steps.push(Narrowing::To(rule, parts));
                }
            }
        }
        Some((done, steps))
    }

    fn step(&mut self, monomial: Monomial, algebra: &Algebra) -> Step {
        let monomial = match self.guard_step(monomial) {
            Step::Same(monomial) => monomial,
            other => return other,
        };
        for at in 0..monomial.binders.len() {
            if let Some((rule, parts)) = self.binder_step(&monomial, at, algebra) {
                return Step::To(rule, parts);
            }
        }
        Step::Same(monomial)
    }

    fn guard_step(&mut self, mut monomial: Monomial) -> Step {
        for at in 0..monomial.guards.len() {
            let guard = monomial.guards.remove(at);
            let ranges = ranges(&monomial.binders);
            // A later guard may only have a value under this one: it does not replace it.
            let (before, after) = monomial.guards.split_at(at);
            let total = self.given(ranges.clone(), |normal| {
                after.iter().filter(|g| normal.total(g)).cloned().collect::<Vec<Cond>>()
            });
            let sooner = [&ranges[..], before, &total].concat();
            let follows = self.given(sooner, |normal| normal.holds(&guard));
            let all = [&ranges[..], before, after].concat();
            let fails = self.given(all, |normal| normal.holds(&guard.clone().negated()));
            if follows {
                return Step::To(Rule::Follows(at), vec![monomial]);
            }
            if fails {
                return Step::To(Rule::Nothing, Vec::new());
            }
            match guard {
                Cond::And(parts) => {
                    monomial.guards.splice(at..at, parts);
                    return Step::To(Rule::Conjunction(at), vec![monomial]);
                }
                Cond::Or(parts) => return alternatives(&monomial, at, parts),
                // `p != 0` is `p > 0` or `p < 0`, where that narrows a binder.
                Cond::NonZero(p) if monomial.binders.iter().any(|b| unit(&p, &b.sym).is_some()) => {
                    let (below, above) = (&-&p - &Size::one(), &p - &Size::one());
                    let parts = vec![Cond::non_neg(below), Cond::non_neg(above)];
                    return alternatives(&monomial, at, parts);
                }
                guard => monomial.guards.insert(at, guard),
            }
        }
        Step::Same(monomial)
    }

    /// Removes or narrows a binder.
    fn binder_step(
        &mut self,
        monomial: &Monomial,
        at: usize,
        algebra: &Algebra,
    ) -> Option<(Rule, Vec<Monomial>)> {
        let Binder { sym, extent } = &monomial.binders[at];
        let others = monomial.binders.iter().enumerate().filter(|(k, _)| *k != at);
        if others.clone().any(|(_, b)| b.extent.mentions(sym)) {
            return None;
        }
        let before = ranges(&monomial.binders[..at]);
        let (empty, single) = self.given(before, |normal| {
            (normal.holds(&Cond::le(extent, &Size::zero())), normal.holds(&Cond::eq(extent, &Size::one())))
        });
        if empty {
            return Some((Rule::Nothing, Vec::new()));
        }
        if single {
            let only = self.replaced(monomial, at, &Size::zero(), None);
            return Some((Rule::Value(at, Size::zero()), vec![only]));
        }
        if let Some(count) = few(monomial, at).filter(|_| self.field) {
            let parts = (0..count).map(|k| self.replaced(monomial, at, &Size::from(k), None)).collect();
            return Some((Rule::Each(at), parts));
        }
        if self.is_idle(monomial, at, algebra) {
            let mut smaller = monomial.clone();
            smaller.binders.remove(at);
            return Some((Rule::Idle(at), vec![smaller]));
        }
        for guard in &monomial.guards {
            let (p, fixes) = match guard {
                Cond::Zero(p) => (p, true),
                Cond::NonNeg(p) => (p, false),
                _ => continue,
            };
            if fixes && let Some(changed) = self.multiples(monomial, at, p) {
                return Some(changed);
            }
            let Some((sign, rest)) = unit(p, sym) else { continue };
            if fixes {
                let value = if sign { -&rest } else { rest };
                let inside = Cond::within(&Size::zero(), &value, extent);
                let mut fixed = self.replaced(monomial, at, &value, None);
                // Outside the range the other guards were never looked at.
                fixed.guards.insert(0, inside);
                if !fixed.guards.iter().all(|g| self.total(g)) {
                    continue;
                }
                return Some((Rule::Value(at, value), vec![fixed]));
            }
            if monomial.binders.iter().any(|b| rest.mentions(&b.sym)) {
                continue;
            }
            let narrowed =
                if sign { self.kept_from(extent, &-&rest) } else { self.kept_up_to(extent, &rest) };
            if let Some((start, extent)) = narrowed {
                let k = Size::sym(sym);
                let (there, back) = (&k + &start, &k - &start);
                let new = self.replaced(monomial, at, &there, Some(extent.clone()));
                return Some((Rule::Reindexed { at, there, back, extent }, vec![new]));
            }
        }
        None
    }

    /// Of a range `k < n` only those with `d | k + c`: they are `d*q + s`, where `s` is the
    /// remainder of `-c`. That this is a bijection is checked both ways.
    fn multiples(&mut self, monomial: &Monomial, at: usize, p: &Size) -> Option<(Rule, Vec<Monomial>)> {
        let Binder { sym, extent } = monomial.binders[at].clone();
        let (dividend, d) = divisibility(p)?;
        let (sign, rest) = unit(&dividend, &sym)?;
        let outside = |size: &Size| monomial.binders.iter().all(|b| !size.mentions(&b.sym));
        if ![&extent, &rest, &d].into_iter().all(outside) || !self.holds(&Cond::le(&Size::one(), &d)) {
            return None;
        }
        let first = if sign { -&rest } else { rest }.floor_mod(&d);
        let first = simplify::size(&first, &self.facts, &*self.sizes);
        let count = simplify::size(&(&extent - &first).ceil_div(&d), &self.facts, &*self.sizes);
        let k = Size::sym(&sym);
        let (there, back) = (&(&d * &k) + &first, (&k - &first).floor_div(&d));
        let inside = |n: &Size| Cond::within(&Size::zero(), &k, n);
        let image = |c: Cond, value: &Size| Subst::new().with_size(&sym, value.clone()).cond(&c);
        let divides = Cond::eq(p, &Size::zero());
        let onto = Cond::and([image(inside(&extent), &there), image(divides.clone(), &there)]);
        let from = Cond::and([image(inside(&count), &back), Cond::eq(&(&(&d * &back) + &first), &k)]);
        let one_to_one = self.given(vec![inside(&count)], |normal| normal.holds(&onto))
            && self.given(vec![inside(&extent), divides], |normal| normal.holds(&from));
        if !one_to_one {
            return None;
        }
        let mut new = self.replaced(monomial, at, &there, Some(count.clone()));
        let known = [&self.facts[..], &ranges(&new.binders)].concat();
        let simple = |size: &Size| simplify::size(size, &known, &*self.sizes);
        new.guards = new.guards.iter().map(|g| g.map(&simple)).filter(|g| *g != Cond::True).collect();
        Some((Rule::Reindexed { at, there, back, extent: count }, vec![new]))
    }

    /// A copy for each index changes nothing, and there is one.
    fn is_idle(&mut self, monomial: &Monomial, at: usize, algebra: &Algebra) -> bool {
        let Binder { sym, extent } = &monomial.binders[at];
        algebra.is_idempotent()
            && !monomial.factors.iter().any(|f| free_syms(f).contains(sym))
            && !monomial.guards.iter().any(|g| g.mentions(sym))
            && !monomial.binders.iter().any(|b| extent.mentions(&b.sym))
            && self.holds(&Cond::le(&Size::one(), extent))
    }

    /// The part of `0..extent` from `low` on, if `low` is shown to lie in it.
    fn kept_from(&mut self, extent: &Size, low: &Size) -> Option<(Size, Size)> {
        let inside = Cond::and([Cond::le(&Size::zero(), low), Cond::le(low, extent)]);
        self.holds(&inside).then(|| (low.clone(), extent - low))
    }

    /// The part of `0..extent` up to `last`, if its end is shown to lie in it.
    fn kept_up_to(&mut self, extent: &Size, last: &Size) -> Option<(Size, Size)> {
        let end = last + &Size::one();
        let inside = Cond::and([Cond::le(&Size::zero(), &end), Cond::le(&end, extent)]);
        self.holds(&inside).then(|| (Size::zero(), end))
    }

    /// The monomial with `value` for a binder, which stays with the new extent or goes.
    fn replaced(&mut self, monomial: &Monomial, at: usize, value: &Size, extent: Option<Size>) -> Monomial {
        let sym = monomial.binders[at].sym.clone();
        let subst = Subst::new().with_size(&sym, value.clone());
        let mut new = monomial.clone();
        match extent {
            Some(extent) => new.binders[at].extent = extent,
            None => {
                new.binders.remove(at);
            }
        }
        new.guards = new.guards.iter().map(|g| subst.cond(g)).filter(|g| *g != Cond::True).collect();
        new.factors = new.factors.iter().map(|f| subst.term(f, self.fresh)).collect();
        new
    }

    /// Binders run so that the first index they occur in increases; those that were counted
    /// from their ends.
    pub(super) fn oriented(&mut self, mut monomial: Monomial) -> (Monomial, Vec<usize>) {
        let mut reversed = Vec::new();
        for at in 0..monomial.binders.len() {
            let Binder { sym, extent } = monomial.binders[at].clone();
            let falls = monomial.factors.iter().find_map(|f| slope(f, &sym)) == Some(false);
            let flat = monomial.binders.iter().all(|b| !b.extent.mentions(&sym) && !extent.mentions(&b.sym));
            if falls && flat {
                let value = &(&extent - &Size::one()) - &Size::sym(&sym);
                monomial = self.replaced(&monomial, at, &value, Some(extent));
                reversed.push(at);
            }
        }
        (monomial, reversed)
    }
}

/// The extent of a binder, if it is so small that its elements are written out, and so are
/// those of all binders of the monomial together.
fn few(monomial: &Monomial, at: usize) -> Option<i64> {
    let number = |extent: &Size| extent.as_i64().filter(|n| (1..=FEW).contains(n));
    let here = number(&monomial.binders[at].extent)?;
    let all: i64 = monomial.binders.iter().filter_map(|b| number(&b.extent)).product();
    (all <= MAX_WRITTEN).then_some(here)
}

/// `p = a - d*(a // d)` up to its sign: `a` and `d`.
fn divisibility(p: &Size) -> Option<(Size, Size)> {
    p.terms().iter().flat_map(|(monomial, _)| monomial).find_map(|(atom, _)| {
        let Atom::Div(a, d) = atom else { return None };
        let rest = a - &(d * &Size::atom(atom.clone()));
        (*p == rest || *p == -&rest).then(|| (a.clone(), d.clone()))
    })
}

/// The parts of a disjunction made disjoint, each in a copy of the monomial.
fn alternatives(monomial: &Monomial, at: usize, parts: Vec<Cond>) -> Step {
    let mut copies = Vec::new();
    let mut before = Vec::new();
    for part in &parts {
        let mut copy = monomial.clone();
        copy.guards.insert(at, part.clone());
        copy.guards.extend(before.iter().cloned());
        copies.push(copy);
        before.push(part.clone().negated());
    }
    Step::To(Rule::Alternatives(at, parts), copies)
}

/// `p = k + rest` (true) or `p = rest - k` (false), with no other `k` in `p`.
pub(super) fn unit(p: &Size, k: &Sym) -> Option<(bool, Size)> {
    let alone = |m: &[(Atom, u32)]| matches!(m, [(Atom::Sym(s), 1)] if s == k);
    let (_, coefficient) = p.terms().iter().find(|(m, _)| alone(m))?;
    if !coefficient.abs().is_one() {
        return None;
    }
    let rest = p - &Size::sym(k).scale(coefficient);
    (!rest.mentions(k)).then(|| (coefficient.is_positive(), rest))
}

/// Whether the first size that the symbol occurs in increases with it.
fn slope(term: &rtv_semantics::term::Term, sym: &Sym) -> Option<bool> {
    if let Some(size) = term.as_size() {
        let coefficient = |m: &[(Atom, u32)]| m.iter().any(|(a, _)| matches!(a, Atom::Sym(s) if s == sym));
        let first = size.terms().iter().find(|(m, _)| coefficient(m));
        return first.map(|(_, c)| *c > BigInt::from(0));
    }
    rtv_semantics::subst::children(term).into_iter().find_map(|child| slope(child, sym))
}
