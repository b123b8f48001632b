//! Greatest and least of real numbers: what does not depend on the index goes out.
//!
//! With `max` for both, `f` the elements and everything tame:
//! * `max(a + f) = a + max f`, `max(c f) = c max f` for `c > 0`, `= c min f` for `c < 0`;
//!   of an empty range both sides are the same infinity, so that this holds there too;
//! * `max(c f) = c max f` for `c >= 0` and `max(g(f)) = g(max f)` for a function `g` that
//!   increases on an interval, where the range is shown to have an element.

use num_rational::BigRational;
use num_traits::{One, Signed};
use rtv_semantics::alpha::{alpha_eq, alpha_key};
use rtv_semantics::diag::Span;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::{Form, Fun, Monoid, Term};
use rtv_semantics::types::Type;

use super::build::{Built, guarded, reduction};
use super::known::Sign;
use super::monomial::{Monomial, Read};
use super::{Normal, ranges};
use crate::proof::{Algebra, Combining, Extreme, Mapped};

/// `scale * op of the rest + free`.
struct Affine {
    op: Monoid,
    free: Vec<Monomial>,
    scale: Monomial,
    rest: Vec<Monomial>,
}

impl Normal<'_> {
    /// An extreme over the binders of a monomial with all that is independent of them
    /// outside; `None` if nothing is, or it is no extreme of reals.
    pub(super) fn extreme(
        &mut self,
        op: &Monoid,
        monomial: &Monomial,
        ty: &Type,
        span: Span,
    ) -> Option<Extreme> {
        let extremum = matches!(op, Monoid::Max | Monoid::Min);
        let [element] = monomial.factors.as_slice() else { return None };
        if !self.field
            || !extremum
            || self.mode != Mode::Real
            || !ty.as_tensor().is_some_and(|ty| ty.dtype.is_float())
            || monomial.binders.is_empty()
        {
            return None;
        }
        let inside = [ranges(&monomial.binders), monomial.guards.clone()].concat();
        let Read { monomials, how } =
            self.given(inside.clone(), |normal| normal.monomials(element, &Algebra::Ring))?;
        let (parts, reversed): (Vec<Monomial>, Vec<Vec<usize>>) =
            monomials.into_iter().map(|part| self.oriented(part)).unzip();
        let Affine { op, free: freed, scale: scaled, rest } = self.affine(op, monomial, parts, span)?;
        let rest = self.given(inside.clone(), |normal| normal.build(rest, &Algebra::Ring, element).after);
        let (inner, mapped) = match self.mapped(&op, monomial, &rest, &inside) {
            Some((inner, mapped)) => (inner, Some(mapped)),
            None if freed.is_empty() && scaled.is_one() => return None,
            None => {
                let body = guarded(&monomial.guards, rest.clone(), op.neutral(ty, span));
                let extreme = Term::reduce(op, monomial.binders.clone(), body, span);
                (vec![Monomial::of(vec![extreme])], None)
            }
        };
        let mut all: Vec<Monomial> = inner.iter().map(|part| scaled.product(part)).collect();
        all.extend(freed.iter().cloned());
        let free = self.build(freed, &Algebra::Ring, element).after;
        let scale = self.build(vec![scaled], &Algebra::Ring, element).after;
        let whole = Term::scalar(Scalar::Mul, vec![scale.clone(), rest.clone()], span);
        let whole = Term::scalar(Scalar::Add, vec![free.clone(), whole], span);
        let (algebra, reading) = (Algebra::Ring, Box::new(how));
        let told = Combining::Combined { algebra, reading, reversed, extremes: Vec::new(), after: whole };
        let Built { after, reversed, .. } = self.build(all, &Algebra::Ring, element);
        Some(Extreme { free, scale, rest, element: Box::new(told), mapped, reversed, after })
    }

    /// Takes apart what the elements are.
    fn affine(&mut self, op: &Monoid, whole: &Monomial, parts: Vec<Monomial>, span: Span) -> Option<Affine> {
        let bound: Vec<Sym> = whole.binders.iter().map(|b| b.sym.clone()).collect();
        let outside = |part: &Monomial| bound.iter().all(|sym| !part.mentions(sym));
        let (free, mut rest): (Vec<Monomial>, Vec<Monomial>) = parts.into_iter().partition(outside);
        for part in &free {
            let tame = part.guards.is_empty() && {
                let term = self.build(vec![part.clone()], &Algebra::Ring, &whole.factors[0]).after;
                self.is_tame(&term)
            };
            tame.then_some(())?;
        }
        // The number of the part that comes first, whatever the names of the binders are.
        rest.sort_by_cached_key(|part| {
            let unit = Monomial { coefficient: BigRational::one(), ..part.clone() };
            alpha_key(&reduction(&Monoid::Sum, &unit.over(&whole.binders), whole.factors[0].ty(), span))
        });
        let number = rest.first()?.coefficient.clone();
        let mut scale = Monomial { coefficient: number.clone(), ..Monomial::of(Vec::new()) };
        rest.iter_mut().for_each(|part| part.coefficient /= &number);
        let mut falls = number.is_negative();
        let some = self.has_element(whole);
        for factor in rest.first()?.factors.clone() {
            let syms = free_syms(&factor);
            let own = |part: &Monomial| part.binders.iter().any(|b| syms.contains(&b.sym));
            let everywhere = |part: &Monomial| part.factors.iter().any(|other| alpha_eq(other, &factor));
            if bound.iter().any(|sym| syms.contains(sym))
                || rest.iter().any(own)
                || !rest.iter().all(everywhere)
            {
                continue;
            }
            match self.sign(&factor) {
                Some(Sign::Negative) => falls = !falls,
                Some(Sign::Positive) => {}
                Some(Sign::AtLeastZero) if some => {}
                _ => continue,
            }
            for part in &mut rest {
                let at = part.factors.iter().position(|other| alpha_eq(other, &factor))?;
                part.factors.remove(at);
            }
            scale.factors.push(factor);
        }
        let op = match (op, falls) {
            (Monoid::Max, true) => Monoid::Min,
            (Monoid::Min, true) => Monoid::Max,
            _ => op.clone(),
        };
        Some(Affine { op, free, scale, rest })
    }

    /// Whether the monomial has an element, and for all indices.
    fn has_element(&self, monomial: &Monomial) -> bool {
        let flat = |extent: &Size| monomial.binders.iter().all(|b| !extent.mentions(&b.sym));
        monomial.guards.is_empty()
            && monomial
                .binders
                .iter()
                .all(|b| flat(&b.extent) && self.holds(&Cond::le(&Size::one(), &b.extent)))
    }

    /// `g(max f)` for `max(g(f))`.
    fn mapped(
        &mut self,
        op: &Monoid,
        whole: &Monomial,
        element: &Term,
        inside: &[Cond],
    ) -> Option<(Vec<Monomial>, Mapped)> {
        let Form::Call(Fun::Scalar(fun), args) = element.form() else { return None };
        let [argument] = args.as_slice() else { return None };
        if !increases(*fun) || !self.has_element(whole) {
            return None;
        }
        self.given(inside.to_vec(), |normal| normal.is_tame(argument) && normal.is_tame(element))
            .then_some(())?;
        let span = element.span();
        let (inner, how) =
            self.term(&Term::reduce(op.clone(), whole.binders.clone(), argument.clone(), span));
        let (image, extreme) = (Term::scalar(*fun, vec![inner], span), Box::new(how));
        Some(match self.monomials(&image, &Algebra::Ring) {
            Some(Read { monomials, how }) => (monomials, Mapped { extreme, reading: Some(Box::new(how)) }),
            // One of the elements, so it is tame, whether that can be shown again or not.
            None => (vec![Monomial::of(vec![image])], Mapped { extreme, reading: None }),
        })
    }
}

/// Functions that increase, not always strictly, where they are defined, which is an
/// interval.
fn increases(fun: Scalar) -> bool {
    use Scalar::*;
    matches!(
        fun,
        Exp | Exp2
            | Expm1
            | Log
            | Log2
            | Log10
            | Log1p
            | Sqrt
            | Tanh
            | Sigmoid
            | Erf
            | Atan
            | Sinh
            | Asinh
            | Floor
            | Ceil
            | Trunc
            | Round
    )
}
