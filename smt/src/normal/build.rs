//! Combinations of monomials as terms again.

use num_rational::BigRational;
use num_traits::{One, Zero};
use rtv_semantics::alpha::{alpha_eq, alpha_key};
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::{Binder, Monoid, Term};
use rtv_semantics::types::Type;
use std::collections::BTreeSet;

use super::field::merged;
use super::monomial::{Monomial, integer_literal, number_of};
use super::{Normal, ranges};
use crate::proof::{Algebra, Extreme};

/// A combination of monomials as a term.
pub(super) struct Built {
    pub after: Term,
    /// For each monomial, the binders that are counted from their ends.
    pub reversed: Vec<Vec<usize>>,
    /// For each monomial, what leaves it, if anything does; none for no monomial.
    pub extremes: Vec<Option<Extreme>>,
}

impl Normal<'_> {
    /// The combination as a term of the type of `like`.
    pub(super) fn build(&mut self, monomials: Vec<Monomial>, algebra: &Algebra, like: &Term) -> Built {
        let span = like.span();
        let (oriented, reversed): (Vec<Monomial>, Vec<Vec<usize>>) =
            monomials.into_iter().map(|monomial| self.oriented(monomial)).unzip();
        let mut extremes = Vec::new();
        let mut parts: Vec<Term> = match algebra {
            Algebra::Ring if self.field => self.products(&oriented, like.dtype(), span),
            Algebra::Ring => oriented.iter().map(|m| self.product(m, like.dtype(), span)).collect(),
            Algebra::Monoid(op) => {
                extremes.extend(oriented.iter().map(|m| self.extreme(op, m, like.ty(), span)));
                let parts = oriented.iter().zip(&extremes).map(|(m, extreme)| match extreme {
                    Some(extreme) => extreme.after.clone(),
                    None => reduction(op, m, like.ty(), span),
                });
                parts.collect()
            }
        };
        if extremes.iter().all(Option::is_none) {
            extremes.clear();
        }
        parts.sort_by_key(alpha_key);
        let op = algebra.op();
        let joined = parts.into_iter().reduce(|a, b| op.combined(a, b, span));
        let after = joined.unwrap_or_else(|| op.neutral(like.ty(), span));
        Built { after, reversed, extremes }
    }

    /// The monomials as products, those that differ by a number only put together.
    fn products(&mut self, monomials: &[Monomial], dtype: DType, span: Span) -> Vec<Term> {
        let mut collected: Vec<(BigRational, Term)> = Vec::new();
        for monomial in monomials {
            let unit = Monomial { coefficient: BigRational::one(), ..monomial.clone() };
            let unit = self.product(&unit, dtype, span);
            match collected.iter_mut().find(|(_, other)| alpha_eq(other, &unit)) {
                Some((number, _)) => *number += &monomial.coefficient,
                None => collected.push((monomial.coefficient.clone(), unit)),
            }
        }
        collected.retain(|(number, _)| !number.is_zero());
        let scaled = |(number, unit): (BigRational, Term)| {
            let is_one = |number: BigRational| number.is_one();
            match (number.is_one(), number_of(&unit).is_some_and(is_one)) {
                (true, _) => unit,
                (_, true) => coefficient(&number, dtype, span),
                _ => Term::scalar(Scalar::Mul, vec![coefficient(&number, dtype, span), unit], span),
            }
        };
        collected.into_iter().map(scaled).collect()
    }

    /// A product of the coefficient, the factors without binders, and one sum for each
    /// independent group of binders.
    fn product(&mut self, monomial: &Monomial, dtype: DType, span: Span) -> Term {
        let (loose, groups) = self.separated(monomial);
        let mut factors = loose.factors;
        for part in groups {
            let flat = part.binders.iter().all(|b| part.binders.iter().all(|c| !b.extent.mentions(&c.sym)));
            if part.factors.is_empty() && part.guards.is_empty() && flat {
                // The number of index tuples; a negative extent has none.
                let count =
                    Size::product(&part.binders.iter().map(|b| self.natural(&b.extent)).collect::<Vec<_>>());
                factors.push(Term::cast(dtype, Term::size(count, span), span));
                continue;
            }
            let body = multiplied(part.factors, dtype, span);
            let body = guarded(&part.guards, body, integer_literal(0.into(), dtype, span));
            factors.push(Term::reduce(Monoid::Sum, part.binders, body, span));
        }
        if self.field {
            factors = merged(factors);
        }
        factors.sort_by_key(alpha_key);
        if !monomial.coefficient.is_one() {
            factors.insert(0, coefficient(&monomial.coefficient, dtype, span));
        }
        let whole = multiplied(factors, dtype, span);
        guarded(&loose.guards, whole, integer_literal(0.into(), dtype, span))
    }

    /// The length of the range `0..extent`.
    fn natural(&self, extent: &Size) -> Size {
        let known = self.holds(&Cond::non_neg(extent.clone()));
        if known { extent.clone() } else { extent.maximum(&Size::zero()) }
    }

    /// Whether each guard has a truth value where those before it hold.
    fn in_order(&mut self, guards: &[Cond]) -> bool {
        guards.iter().enumerate().all(|(at, guard)| {
            let before = guards[..at].to_vec();
            self.given(before, |normal| normal.total(guard))
        })
    }

    /// The independent parts. A factor that is only known to be finite inside a range, or
    /// a guard that only has a value there, must not leave it: an empty range hides it.
    /// Then all stays in one sum.
    fn separated(&mut self, monomial: &Monomial) -> (Part, Vec<Part>) {
        let (loose, groups) = parts(monomial);
        let outside = self.in_order(&loose.guards)
            && self.given(loose.guards.clone(), |normal| {
                let tame = |normal: &mut Self, part: &Part| part.factors.iter().all(|f| normal.is_tame(f));
                tame(normal, &loose)
                    && groups.iter().all(|part| {
                        normal.given(ranges(&part.binders), |normal| {
                            normal.in_order(&part.guards)
                                && normal.given(part.guards.clone(), |normal| tame(normal, part))
                        })
                    })
            });
        if outside || monomial.binders.is_empty() {
            return (loose, groups);
        }
        let whole = Part {
            binders: monomial.binders.clone(),
            guards: monomial.guards.clone(),
            factors: monomial.factors.clone(),
        };
        (Part::default(), vec![whole])
    }
}

pub(super) fn coefficient(value: &BigRational, dtype: DType, span: Span) -> Term {
    let numer = integer_literal(value.numer().clone(), dtype, span);
    if value.denom().is_one() {
        return numer;
    }
    let denom = integer_literal(value.denom().clone(), dtype, span);
    Term::scalar(Scalar::Div, vec![numer, denom], span)
}

pub(super) fn guarded(guards: &[Cond], value: Term, neutral: Term) -> Term {
    let span = value.span();
    match Cond::and(guards.iter().cloned()) {
        Cond::True => value,
        cond => Term::if_(Term::cond(&cond, span), value, neutral, span),
    }
}

/// One reduction over all binders.
pub(super) fn reduction(op: &Monoid, monomial: &Monomial, ty: &Type, span: Span) -> Term {
    let none = op.neutral(ty, span);
    let value = monomial.factors.first().cloned().unwrap_or_else(|| none.clone());
    let body = guarded(&monomial.guards, value, none);
    if monomial.binders.is_empty() {
        return body;
    }
    Term::reduce(op.clone(), monomial.binders.clone(), body, span)
}

/// Binders that belong together through factors, guards and extents.
#[derive(Default)]
struct Part {
    binders: Vec<Binder>,
    guards: Vec<Cond>,
    factors: Vec<Term>,
}

pub(super) fn multiplied(factors: Vec<Term>, dtype: DType, span: Span) -> Term {
    let joined = factors.into_iter().reduce(|a, b| Term::scalar(Scalar::Mul, vec![a, b], span));
    joined.unwrap_or_else(|| integer_literal(1.into(), dtype, span))
}

/// What has no binder, and the independent groups.
fn parts(monomial: &Monomial) -> (Part, Vec<Part>) {
    let mut groups: Vec<Part> = Vec::new();
    let mut loose = Part::default();
    for binder in &monomial.binders {
        let syms = binder.extent.syms();
        join(&mut groups, &syms).binders.push(binder.clone());
    }
    for guard in &monomial.guards {
        let mut syms = BTreeSet::new();
        guard.collect_syms(&mut syms);
        match is_bound(monomial, &syms) {
            true => join(&mut groups, &syms).guards.push(guard.clone()),
            false => loose.guards.push(guard.clone()),
        }
    }
    for factor in &monomial.factors {
        let syms = free_syms(factor);
        match is_bound(monomial, &syms) {
            true => join(&mut groups, &syms).factors.push(factor.clone()),
            false => loose.factors.push(factor.clone()),
        }
    }
    (loose, groups)
}

fn is_bound(monomial: &Monomial, syms: &BTreeSet<Sym>) -> bool {
    monomial.binders.iter().any(|binder| syms.contains(&binder.sym))
}

/// The one group of all those that have a binder among the symbols, or a new one.
fn join<'g>(groups: &'g mut Vec<Part>, syms: &BTreeSet<Sym>) -> &'g mut Part {
    let touches = |part: &Part| part.binders.iter().any(|binder| syms.contains(&binder.sym));
    let (near, mut far): (Vec<Part>, Vec<Part>) = groups.drain(..).partition(touches);
    let mut whole = Part::default();
    for part in near {
        whole.binders.extend(part.binders);
        whole.guards.extend(part.guards);
        whole.factors.extend(part.factors);
    }
    far.push(whole);
    *groups = far;
    groups.last_mut().expect("invariant: a group was just added")
}
