//! What leaves a greatest or least of real numbers.
//!
//! With `max` for both, `a` and `c` finite and independent of the index: `max(a + c f)` is
//! `a + c max f` for `c > 0` and `a + c min f` for `c < 0`, over an empty range too, where both
//! are the same infinity; for `c >= 0` where the range has an element. There `max(g(f))` is
//! `g(max f)`, if `g` increases on an interval that all its arguments lie in.

use super::calculate::split;
use super::combine::{monomial, operation, product, ranges};
use super::{Check, Why, fail};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::{Form, Fun, Monoid, Term};
use rtv_smt::{Algebra, Extreme, Mapped, Monomial, Sign};

impl Check<'_, '_> {
    /// The monomials, where something leaves them, as what they come to.
    pub fn taken_out(
        &mut self,
        monomials: Vec<Monomial>,
        extremes: &[Option<Extreme>],
        algebra: &Algebra,
        facts: &[Cond],
    ) -> Result<Vec<Monomial>, Why> {
        if extremes.len() > monomials.len() {
            return fail("a monomial for each extreme");
        }
        let mut all = Vec::new();
        for (at, whole) in monomials.into_iter().enumerate() {
            let Some(extreme) = extremes.get(at).and_then(Option::as_ref) else {
                all.push(whole);
                continue;
            };
            self.comes_to(&whole, operation(algebra), extreme, facts)?;
            all.extend(self.flat(&extreme.after, algebra, facts)?);
        }
        Ok(all)
    }

    /// Whether the greatest or least of a monomial's elements is what a proof says.
    fn comes_to(
        &mut self,
        whole: &Monomial,
        op: Monoid,
        extreme: &Extreme,
        facts: &[Cond],
    ) -> Result<(), Why> {
        let Extreme { free, scale, rest, element, mapped, reversed, after } = extreme;
        let [elements] = whole.factors.as_slice() else { return fail("the elements of an extreme") };
        let real = self.calculates(elements.dtype())
            && [free, scale, rest, after].iter().all(|t| t.ty() == elements.ty());
        let extremum = matches!(op, Monoid::Max | Monoid::Min) && !whole.binders.is_empty();
        let depends = |term: &Term| {
            let free = free_syms(term);
            whole.binders.iter().any(|b| free.contains(&b.sym))
        };
        if !real || !extremum || depends(free) || depends(scale) {
            return fail("what does not depend on the index of an extreme");
        }
        let span = elements.span();
        let affine = Term::scalar(Scalar::Mul, vec![scale.clone(), rest.clone()], span);
        let affine = Term::scalar(Scalar::Add, vec![free.clone(), affine], span);
        let inside = [facts, &ranges(&whole.binders), &whole.guards].concat();
        if !alpha_eq(&self.in_ring(elements, element, &inside)?, &affine) {
            return fail("the elements of an extreme");
        }
        let op = match self.sign_of_product(scale, facts) {
            Some(Sign::Positive) => op,
            Some(Sign::AtLeastZero) if self.has_element(whole, facts) => op,
            Some(Sign::Negative) if op == Monoid::Max => Monoid::Min,
            Some(Sign::Negative) => Monoid::Max,
            _ => return fail("the sign of what leaves an extreme"),
        };
        let (left, mut all) =
            (self.flat(scale, &Algebra::Ring, facts)?, self.flat(free, &Algebra::Ring, facts)?);
        let (inner, infinite) = self.inner(op, whole, rest, mapped.as_ref(), facts)?;
        let inner = self.oriented(inner, reversed)?;
        all.extend(product(&left, &inner)?);
        let before = std::mem::replace(&mut self.infinite, infinite.clone());
        let result = self.flat(after, &Algebra::Ring, facts);
        self.infinite = before;
        let result = result?;
        if let Some(infinite) = infinite {
            stands_once(&infinite, &result)?;
        }
        self.balance(all, result, &Algebra::Ring, elements.ty(), facts)
    }

    /// The extreme of what is left, as monomials; and the one that it is, where it may be
    /// infinite.
    fn inner(
        &mut self,
        op: Monoid,
        whole: &Monomial,
        rest: &Term,
        mapped: Option<&Mapped>,
        facts: &[Cond],
    ) -> Result<(Vec<Monomial>, Option<Term>), Why> {
        let span = rest.span();
        let Some(Mapped { extreme, reading }) = mapped else {
            let cond = Cond::and(whole.guards.iter().cloned());
            let body = match cond {
                Cond::True => rest.clone(),
                cond => Term::if_(Term::cond(&cond, span), rest.clone(), op.neutral(rest.ty(), span), span),
            };
            return Ok(self.alone(Term::reduce(op, whole.binders.clone(), body, span), facts));
        };
        let Form::Call(Fun::Scalar(fun), args) = rest.form() else { return fail("a function") };
        let [argument] = args.as_slice() else { return fail("a function of one number") };
        let inside = [facts, &ranges(&whole.binders)].concat();
        if !increases(*fun) || !self.has_element(whole, facts) {
            return fail("an increasing function over a range with an element");
        }
        if !self.finite(argument, &inside) || !self.finite(rest, &inside) {
            return fail("finite elements of an extreme");
        }
        let inner = Term::reduce(op, whole.binders.clone(), argument.clone(), span);
        let image = Term::scalar(*fun, vec![self.combined(&inner, extreme, facts)?], span);
        match reading {
            Some(reading) => Ok((self.read(&image, &Algebra::Ring, reading, facts)?, None)),
            None => Ok(self.alone(image, facts)),
        }
    }

    fn alone(&mut self, term: Term, facts: &[Cond]) -> (Vec<Monomial>, Option<Term>) {
        let infinite = (!self.finite(&term, facts)).then(|| term.clone());
        (vec![monomial(BigRational::one(), vec![term])], infinite)
    }

    /// Whether a term is the one that may be infinite where it stands: to the letter, so that it
    /// is found again.
    pub fn may_be_infinite(&self, term: &Term) -> bool {
        self.infinite.as_ref().is_some_and(|infinite| alpha_eq(term, infinite))
    }

    /// Whether the monomial has an element, and for all indices.
    fn has_element(&mut self, whole: &Monomial, facts: &[Cond]) -> bool {
        whole.guards.is_empty()
            && whole.binders.iter().all(|b| {
                let flat = whole.binders.iter().all(|other| !b.extent.mentions(&other.sym));
                flat && self.holds(facts, &Cond::le(&Size::one(), &b.extent))
            })
    }

    /// The sign of a finite product.
    fn sign_of_product(&mut self, term: &Term, facts: &[Cond]) -> Option<Sign> {
        let (value, factors) = split(term);
        let (mut negative, mut strict) = (value.is_negative(), true);
        for factor in &factors {
            match self.sign_of(factor, facts)? {
                Sign::Positive => {}
                Sign::AtLeastZero => strict = false,
                Sign::Negative => negative = !negative,
            }
        }
        match (negative, strict) {
            _ if value.is_zero() => None,
            (true, true) => Some(Sign::Negative),
            (true, false) => None,
            (false, true) => Some(Sign::Positive),
            (false, false) => Some(Sign::AtLeastZero),
        }
    }
}

/// Whether a term that may be infinite is one factor of one monomial, under no condition.
fn stands_once(infinite: &Term, result: &[Monomial]) -> Result<(), Why> {
    let places = |monomial: &Monomial| monomial.factors.iter().filter(|f| alpha_eq(f, infinite)).count();
    let with: Vec<&Monomial> = result.iter().filter(|monomial| places(monomial) > 0).collect();
    match with.as_slice() {
        [one] if places(one) == 1 && one.binders.is_empty() && one.guards.is_empty() => Ok(()),
        _ => fail("one place for an extreme that may be infinite"),
    }
}

/// Functions that increase, not always strictly, on the interval where they are defined.
fn increases(fun: Scalar) -> bool {
    use Scalar::*;
    let everywhere = [Exp, Exp2, Expm1, Tanh, Sigmoid, Erf, Atan, Sinh, Asinh, Floor, Ceil, Trunc, Round];
    let from_some_number_on = [Log, Log2, Log10, Log1p, Sqrt];
    everywhere.contains(&fun) || from_some_number_on.contains(&fun)
}
