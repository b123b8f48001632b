//! Combinations with the same elements under other indices: monomials at the points of one
//! of them, the frame.
//!
//! A monomial `sum over c of [h(c)] f'(c)` is the row `[g(b)] f(b)` at the points `b` of the
//! frame if `c -> t(c)` is a bijection from the indices at which `h` holds, and which lie in
//! the ranges, onto the points at which `g` holds, with inverse `s`, and `f'(s(b)) = f(b)`
//! there. The two sides are the same if at each point they have the same elements as often:
//! of a number, with the same sum of coefficients; of what counts once, at all.

use super::calculate::{inverse, inverse_of};
use super::combine::{is_idempotent, ranges};
use super::{Check, Why, fail};
use num_rational::BigRational;
use num_traits::Zero;
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::{Subst, free_syms};
use rtv_semantics::term::Term;
use rtv_semantics::types::Type;
use rtv_smt::{Algebra, Denominator, Fit, Frame, Member, Monomial, Reading};
use std::collections::BTreeSet;

/// Cases of guards that hold and fail.
const MAX_CASES: usize = 400;

/// A monomial at the points of a frame.
struct Row {
    guards: Vec<Cond>,
    coefficient: BigRational,
    left: bool,
}

/// What the rows so far come to at a point.
#[derive(Clone, Default)]
struct Sum {
    difference: BigRational,
    left: bool,
    right: bool,
}

impl Check<'_, '_> {
    pub fn framed(
        &mut self,
        sides: [&Term; 2],
        algebra: &Algebra,
        readings: [&Reading; 2],
        denominators: &[Denominator],
        frames: &[Frame],
        facts: &[Cond],
    ) -> Result<(), Why> {
        if *sides[0].ty() == Type::Size || sides[0].ty() != sides[1].ty() {
            return fail("sides of one type");
        }
        self.lawful(algebra, sides[0])?;
        let mut left = self.read(sides[0], algebra, readings[0], facts)?;
        let mut right = self.read(sides[1], algebra, readings[1], facts)?;
        for denominator in denominators {
            (left, right) = self.multiplied([&left, &right], algebra, denominator, facts)?;
        }
        let on_left = left.len();
        let all = [left, right].concat();
        let mut used = BTreeSet::new();
        for Frame { frame, members } in frames {
            let mut rows = Vec::new();
            for Member { place, fit } in members {
                let Some(monomial) = all.get(*place).filter(|_| used.insert(*place)) else {
                    return fail("each monomial once");
                };
                let guards = match fit {
                    None => self.own_points(monomial, frame, facts)?,
                    Some(fit) => self.fits(monomial, frame, fit, facts)?,
                };
                if !guards.iter().all(|guard| self.total(guard, facts)) {
                    return fail("points that have a truth value");
                }
                let coefficient = monomial.coefficient.clone();
                rows.push(Row { guards, coefficient, left: *place < on_left });
            }
            if !self.cancels(&rows, Sum::default(), algebra, facts, &mut 0) {
                return fail("the same elements at each point");
            }
        }
        if used.len() == all.len() { Ok(()) } else { fail("all monomials") }
    }

    /// Both sides times a finite number that is not 0, since its inverse is finite.
    fn multiplied(
        &mut self,
        sides: [&[Monomial]; 2],
        algebra: &Algebra,
        denominator: &Denominator,
        facts: &[Cond],
    ) -> Result<(Vec<Monomial>, Vec<Monomial>), Why> {
        let Denominator { divisor, parts, left, right } = denominator;
        let real = divisor.tensor_type().is_some_and(|ty| self.calculates(ty.dtype));
        if !real || *algebra != Algebra::Ring {
            return fail("real numbers");
        }
        if !self.finite(divisor, facts) || !self.finite(&inverse(divisor), facts) {
            return fail("a denominator that is not 0");
        }
        let parts = self.read(divisor, &Algebra::Ring, parts, facts)?;
        for (side, given) in sides.into_iter().zip([left, right]) {
            let mut wanted = Vec::new();
            for monomial in side {
                wanted.extend(self.times(monomial, divisor, &parts)?);
            }
            let fresh = given.iter().all(|monomial| self.has_own_names(monomial, facts));
            let same = wanted.len() == given.len()
                && wanted.iter().zip(given).all(|(a, b)| self.same_monomial(a, b, facts));
            if !fresh || !same {
                return fail("a side times its denominator");
            }
        }
        Ok((left.clone(), right.clone()))
    }

    /// A monomial times the divisor, which is the sum of the parts.
    fn times(
        &mut self,
        monomial: &Monomial,
        divisor: &Term,
        parts: &[Monomial],
    ) -> Result<Vec<Monomial>, Why> {
        let free = free_syms(divisor);
        if monomial.binders.iter().any(|b| free.contains(&b.sym)) {
            return fail("binders of its own for each factor");
        }
        let cancels = |factor: &Term| inverse_of(factor).is_some_and(|inner| alpha_eq(inner, divisor));
        let Some(at) = monomial.factors.iter().position(cancels) else {
            return self.merged_product(std::slice::from_ref(monomial), parts, divisor);
        };
        let mut rest = monomial.clone();
        rest.factors.remove(at);
        Ok(vec![rest])
    }

    /// Whether the binders are symbols that mean nothing outside.
    fn has_own_names(&self, monomial: &Monomial, facts: &[Cond]) -> bool {
        monomial.binders.iter().enumerate().all(|(at, binder)| {
            let again = monomial.binders[..at].iter().any(|other| other.sym == binder.sym);
            !again && !self.is_outer(&binder.sym, facts)
        })
    }

    /// The frame itself: a monomial with its binders named anew.
    fn own_points(
        &mut self,
        monomial: &Monomial,
        frame: &Monomial,
        facts: &[Cond],
    ) -> Result<Vec<Cond>, Why> {
        let free: BTreeSet<Sym> = monomial.factors.iter().flat_map(free_syms).collect();
        for (at, binder) in frame.binders.iter().enumerate() {
            let taken = binder.sym.kind() != SymKind::Int
                || free.contains(&binder.sym)
                || self.is_outer(&binder.sym, facts)
                || frame.binders[..at].iter().any(|other| other.sym == binder.sym);
            if taken || binder.extent.syms().iter().any(|sym| sym.kind() == SymKind::Group) {
                return fail("points of the frame");
            }
        }
        if !self.same_monomial(monomial, frame, facts) {
            return fail("the monomial that is the frame");
        }
        Ok([ranges(&frame.binders), frame.guards.clone()].concat())
    }

    /// The points of the frame at which a monomial has its elements.
    fn fits(
        &mut self,
        monomial: &Monomial,
        frame: &Monomial,
        fit: &Fit,
        facts: &[Cond],
    ) -> Result<Vec<Cond>, Why> {
        let Fit { pairing, there, back, guards } = fit;
        let own: Vec<&Sym> = monomial.binders.iter().map(|b| &b.sym).collect();
        let points: Vec<&Sym> = frame.binders.iter().map(|b| &b.sym).collect();
        let gives = |values: &[(Sym, Size)], of: &[&Sym]| {
            let named: Vec<&Sym> = values.iter().map(|(sym, _)| sym).collect();
            let within = values.iter().all(|(_, value)| of.iter().all(|sym| !value.mentions(sym)));
            within && named.len() == of.len() && of.iter().all(|sym| named.contains(sym))
        };
        let mut places = pairing.clone();
        places.sort_unstable();
        let groups = monomial.binders.iter().flat_map(|b| b.extent.syms());
        let whole = gives(there, &points)
            && gives(back, &own)
            && places == (0..frame.factors.len()).collect::<Vec<_>>()
            && pairing.len() == monomial.factors.len()
            && groups.into_iter().all(|sym| sym.kind() != SymKind::Group);
        if !whole {
            return fail("maps between the indices and the points");
        }
        let substitution = |values: &[(Sym, Size)]| {
            values.iter().fold(Subst::new(), |subst, (sym, value)| subst.with_size(sym, value.clone()))
        };
        let (to_points, from_points) = (substitution(there), substitution(back));
        let returns = |values: &[(Sym, Size)], by: &Subst| -> Vec<Cond> {
            values.iter().map(|(sym, value)| Cond::eq(&by.size(value), &Size::sym(sym))).collect()
        };
        let inside = [ranges(&monomial.binders), monomial.guards.clone()].concat();
        let from_own = [facts, &inside].concat();
        let at_points: Vec<Cond> = guards.iter().map(|guard| to_points.cond(guard)).collect();
        for goal in at_points.iter().chain(&returns(back, &to_points)) {
            self.shown(&from_own, goal)?;
        }
        let from_frame = [facts, guards].concat();
        let at_own: Vec<Cond> = inside.iter().map(|cond| from_points.cond(cond)).collect();
        for goal in at_own.iter().chain(&returns(there, &from_points)) {
            self.shown(&from_frame, goal)?;
        }
        for (factor, &place) in monomial.factors.iter().zip(pairing) {
            let moved = from_points.term(factor, &mut self.fresh);
            if !self.agree(&moved, &frame.factors[place], &from_frame) {
                return fail("the element of the frame");
            }
        }
        Ok(guards.clone())
    }

    /// Whether the rows come to nothing at every point, case by case of their guards.
    fn cancels(
        &mut self,
        rows: &[Row],
        sum: Sum,
        algebra: &Algebra,
        facts: &[Cond],
        cases: &mut usize,
    ) -> bool {
        *cases += 1;
        if *cases > MAX_CASES || !self.step() {
            return false;
        }
        let Some((row, rest)) = rows.split_first() else {
            let even = match is_idempotent(algebra) {
                true => sum.left == sum.right,
                false => sum.difference.is_zero(),
            };
            return even || self.holds(facts, &Cond::False);
        };
        let guard = Cond::and(row.guards.iter().cloned());
        let unless = guard.clone().negated();
        let mut with = sum.clone();
        match row.left {
            true => (with.difference, with.left) = (with.difference + &row.coefficient, true),
            false => (with.difference, with.right) = (with.difference - &row.coefficient, true),
        }
        let given = |cond: Cond| [facts, &[cond]].concat();
        let holds = self.holds(facts, &guard);
        let fails = !holds && self.holds(facts, &unless);
        (fails || self.cancels(rest, with, algebra, &given(guard), cases))
            && (holds || self.cancels(rest, sum, algebra, &given(unless), cases))
    }
}
