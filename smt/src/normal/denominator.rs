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
use super::monomial::Monomial;
use crate::proof::Algebra;

/// Divisors that both sides are multiplied by.
const MAX_DENOMINATORS: usize = 4;

/// Monomials of one side.
const MAX_PRODUCTS: usize = 12;

impl Normal<'_> {
    /// Whether both sides have the same elements when multiplied by their divisors, one
    /// after the other.
    pub(super) fn balanced_over(&mut self, mut left: Vec<Monomial>, mut right: Vec<Monomial>) -> bool {
        for _ in 0..MAX_DENOMINATORS {
            let Some(divisor) = left.iter().chain(&right).find_map(divisor) else { return false };
            // The inverse is tame where it stands, which may be in an empty range only.
            let tame = self.is_tame(&divisor) && self.is_tame(&inverse(&divisor));
            let parts = tame.then(|| self.polynomials(&divisor)).flatten();
            let Some(parts) = parts else { return false };
            let (l, r) =
                (self.times_divisor(&left, &divisor, &parts), self.times_divisor(&right, &divisor, &parts));
            if l.len().max(r.len()) > MAX_PRODUCTS {
                return false;
            }
            if self.balanced(l.clone(), r.clone(), &Algebra::Ring).is_some() {
                return true;
            }
            (left, right) = (l, r);
        }
        false
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
