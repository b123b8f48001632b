//! Ranges of reductions, in a form that depends less on how the indices were written.
//!
//! Every step keeps the sequence of elements, in row-major order: it is a bijection of
//! index tuples that respects their order, so that it keeps ordered sums as well. Entries
//! of rank variables are never taken apart.
//!
//! Note [Mixed radix]. For `a, d >= 0` the map `(q, r) -> d*q + r` is a bijection of
//! `0..a` times `0..d`, in row-major order, and `0..a*d`: from left to right it stays
//! below `d*(a - 1) + d`; back, `q = k // d` and `r = k - d*q`, where `d >= 1` because the
//! range has an element. Both bounds are obligations: the product of two negative extents
//! is positive, but has no pairs.

use crate::entail::{Cond, Entails};
use crate::simplify;
use crate::size::{Atom, Size, Sym, SymKind};
use crate::subst::{Fresh, Subst, children, free_syms};
use crate::term::{Binder, Form, Reduce, Term};
use std::collections::BTreeSet;

/// Steps for one reduction.
const STEPS: usize = 8;

/// Binders and body of one reduction.
pub(crate) struct Ranges<'a> {
    pub binders: Vec<Binder>,
    pub body: Term,
    /// Whether the order of the elements does not matter.
    pub free_order: bool,
    /// What is known outside.
    pub facts: &'a [Cond],
    pub engine: &'a dyn Entails,
    pub fresh: &'a mut Fresh,
}

impl Ranges<'_> {
    /// Whether some range has no element under the facts.
    pub fn empty(&self) -> bool {
        (0..self.binders.len()).any(|at| {
            let none = Cond::le(&self.binders[at].extent, &Size::zero());
            none == Cond::True || self.engine.entails(&self.facts_before(at), &none)
        })
    }

    /// Merges binders of which only the combination occurs, then splits what is divided.
    pub fn reshape(&mut self) {
        let merged = (0..STEPS).take_while(|_| self.merge()).count();
        let split = (0..STEPS).take_while(|_| self.split()).count();
        if merged + split > 0 {
            let facts = self.facts_before(self.binders.len());
            self.body = simplify::term(&self.body, &facts, self.engine);
        }
    }

    /// The facts and the ranges of the first binders.
    fn facts_before(&self, count: usize) -> Vec<Cond> {
        let ranges = self.binders[..count].iter();
        let ranges = ranges.map(|b| Cond::within(&Size::zero(), &Size::sym(&b.sym), &b.extent));
        self.facts.iter().cloned().chain(ranges).collect()
    }

    fn natural(&self, size: &Size, count: usize) -> bool {
        size.as_sym().is_some_and(Sym::is_natural)
            || self.engine.entails(&self.facts_before(count), &Cond::le(&Size::zero(), size))
    }

    /// `q` and `r`, used as `d*q + r` only, become one binder; see Note [Mixed radix].
    fn merge(&mut self) -> bool {
        let count = self.binders.len();
        for (q, r) in (0..count).flat_map(|q| (0..count).map(move |r| (q, r))).filter(|(q, r)| q != r) {
            let adjacent = q + 1 == r;
            let (outer, inner) = (self.binders[q].clone(), self.binders[r].clone());
            let (a, d) = (&outer.extent, &inner.extent);
            let flat = self.binders.iter().all(|b| !a.mentions(&b.sym) && !d.mentions(&b.sym));
            if !(adjacent || self.free_order) || !flat || splits_groups(a) || splits_groups(d) {
                continue;
            }
            let whole = self.fresh.sym(&outer.sym);
            let rest = &Size::sym(&whole) - &(d * &Size::sym(&outer.sym));
            let subst = Subst::new().with_size(&inner.sym, rest);
            let mut binders = self.binders.clone();
            binders[q] = Binder { sym: whole, extent: a * d };
            binders.remove(r);
            binders.iter_mut().for_each(|b| b.extent = subst.size(&b.extent));
            if binders.iter().any(|b| b.extent.mentions(&outer.sym)) {
                continue;
            }
            let body = subst.term(&self.body, self.fresh);
            if !free_syms(&body).contains(&outer.sym) && self.natural(a, 0) && self.natural(d, 0) {
                (self.binders, self.body) = (binders, body);
                return true;
            }
        }
        false
    }

    /// A binder that is divided by a divisor of its extent becomes two.
    fn split(&mut self) -> bool {
        let mut divisors = BTreeSet::new();
        collect_divisors(&self.body, &mut divisors);
        for at in 0..self.binders.len() {
            let Binder { sym, extent } = self.binders[at].clone();
            if splits_groups(&extent) {
                continue;
            }
            let outside = |d: &Size| self.binders.iter().all(|b| !d.mentions(&b.sym));
            let parts = divisors.iter().filter(|(k, d)| *k == sym && outside(d));
            let parts = parts.filter_map(|(_, d)| Some((extent.exact_div(d)?, d.clone())));
            let found = parts.into_iter().find(|(a, d)| self.natural(a, at) && self.natural(d, at));
            let Some((a, d)) = found else { continue };
            let (q, r) = (self.fresh.sym(&sym), self.fresh.sym(&sym));
            let value = &(&d * &Size::sym(&q)) + &Size::sym(&r);
            let subst = Subst::new().with_size(&sym, value);
            let pair = [Binder { sym: q, extent: a }, Binder { sym: r, extent: d }];
            self.binders.splice(at..=at, pair);
            self.binders.iter_mut().for_each(|b| b.extent = subst.size(&b.extent));
            let facts = self.facts_before(self.binders.len());
            self.body = simplify::term(&subst.term(&self.body, self.fresh), &facts, self.engine);
            return true;
        }
        false
    }
}

/// Whether the extent is that of a rank variable, or computed from one.
fn splits_groups(extent: &Size) -> bool {
    extent.syms().iter().any(|sym| sym.kind() == SymKind::Group)
}

/// Symbols with the sizes they are divided by.
fn collect_divisors(term: &Term, into: &mut BTreeSet<(Sym, Size)>) {
    match term.form() {
        Form::Size(size) => divisions(size, into),
        Form::Reduce(Reduce { binders, .. }) => binders.iter().for_each(|b| divisions(&b.extent, into)),
        _ => {}
    }
    children(term).into_iter().for_each(|child| collect_divisors(child, into));
}

fn divisions(size: &Size, into: &mut BTreeSet<(Sym, Size)>) {
    for (atom, _) in size.terms().iter().flat_map(|(monomial, _)| monomial) {
        let (Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b)) = atom else { continue };
        if matches!(atom, Atom::Div(..))
            && let Some(sym) = a.as_sym()
        {
            into.insert((sym.clone(), b.clone()));
        }
        divisions(a, into);
        divisions(b, into);
    }
}
