//! Common denominators: equations of numbers multiplied by what they divide by.
//!
//! `l = r` if `d*l = d*r` and `d` is finite and not 0, which is checked of each `d` where
//! the whole equation stands. Where `1/d` is a factor, it goes instead.

use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::size::SymKind;
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::Term;

use super::Normal;
use super::field::{inverse, inverse_of};
use super::monomial::{Monomial, Read};
use crate::proof::{Algebra, Denominator, Frame};

/// Divisors that both sides are multiplied by.
const MAX_DENOMINATORS: usize = 4;

/// Monomials of one side.
const MAX_PRODUCTS: usize = 12;

impl Normal<'_> {
    /// How both sides have the same elements when multiplied by their divisors, one after the
    /// other.
    pub(super) fn balanced_over(
        &mut self,
        mut left: Vec<Monomial>,
        mut right: Vec<Monomial>,
    ) -> Option<(Vec<Denominator>, Vec<Frame>)> {
        let mut all = Vec::new();
        for _ in 0..MAX_DENOMINATORS {
            let divisor = left.iter().chain(&right).find_map(divisor)?;
            // The inverse is tame where it stands, which may be in an empty range only.
            let tame = self.is_tame(&divisor) && self.is_tame(&inverse(&divisor));
            let Read { monomials, how } = tame.then(|| self.monomials(&divisor, &Algebra::Ring)).flatten()?;
            left = self.times_divisor(&left, &divisor, &monomials);
            right = self.times_divisor(&right, &divisor, &monomials);
            if left.len().max(right.len()) > MAX_PRODUCTS {
                return None;
            }
            all.push(Denominator { divisor, parts: how, left: left.clone(), right: right.clone() });
            if let Some(frames) = self.balanced(left.clone(), right.clone(), &Algebra::Ring) {
                return Some((all, frames));
            }
        }
        None
    }

    /// One side times the divisor, which is the sum of the `parts`.
    fn times_divisor(&mut self, side: &[Monomial], divisor: &Term, parts: &[Monomial]) -> Vec<Monomial> {
        let mut products = Vec::new();
        for monomial in side {
            let cancels = |factor: &Term| inverse_of(factor).is_some_and(|inner| alpha_eq(inner, divisor));
            match monomial.factors.iter().position(cancels) {
                Some(at) => {
                    let mut rest = monomial.clone();
                    rest.factors.remove(at);
                    products.push(rest);
                }
                None => {
                    let copies = parts.iter().map(|part| self.copied(part, SymKind::Index));
                    products.extend(copies.map(|part| monomial.product(&part)));
                }
            }
        }
        products
    }
}

/// What a monomial is divided by as a whole.
fn divisor(monomial: &Monomial) -> Option<Term> {
    let whole = |inner: &&Term| {
        let syms = free_syms(inner);
        monomial.binders.iter().all(|b| !syms.contains(&b.sym))
    };
    monomial.factors.iter().filter_map(inverse_of).find(whole).cloned()
}
