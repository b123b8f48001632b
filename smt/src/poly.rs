//! Polynomial normal form of real and integer terms of a query, to find sums and
//! products among the arguments of functions, and of bit-vectors, which wrap.
//!
//! Invariant: equal polynomials are equal for all values of their atoms; an atom is a
//! node that is no sum, no product and no number. Of bit-vectors the coefficients are
//! integers that are not wrapped yet.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

use crate::query::{Id, Node, Op, Query, Sort};

/// Monomials (sorted atoms with repetition) with coefficients that are not zero.
pub(crate) type Poly = BTreeMap<Vec<Id>, BigRational>;

/// More terms than this are not looked at.
const MAX_TERMS: usize = 64;

/// The polynomial of a node; `None` if it has too many terms.
pub(crate) fn poly(q: &Query, id: Id) -> Option<Poly> {
    Polys { q, known: FxHashMap::default() }.of(id)
}

/// Polynomials of nodes, each found once.
struct Polys<'q> {
    q: &'q Query,
    known: FxHashMap<Id, Option<Poly>>,
}

impl Polys<'_> {
    fn of(&mut self, id: Id) -> Option<Poly> {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let found = self.node(id);
        self.known.insert(id, found.clone());
        found
    }

    fn node(&mut self, id: Id) -> Option<Poly> {
        match &self.q.nodes[id.index()] {
            Node::Int(value) | Node::Bits(value, _) => Some(constant(BigRational::from(value.clone()))),
            Node::Real(value) => Some(constant(value.clone())),
            Node::Op(Op::ToReal, args) => self.of(args[0]),
            Node::Op(Op::BvNeg, args) => Some(neg(&self.of(args[0])?)),
            Node::Op(Op::Add | Op::BvAdd, args) => args.iter().try_fold(Poly::new(), |sum, &arg| {
                let sum = add(sum, self.of(arg)?);
                (sum.len() <= MAX_TERMS).then_some(sum)
            }),
            Node::Op(Op::Mul | Op::BvMul, args) => {
                let one = constant(BigRational::one());
                args.iter().try_fold(one, |product, &arg| mul(&product, &self.of(arg)?))
            }
            _ => Some(Poly::from([(vec![id], BigRational::one())])),
        }
    }
}

/// Whether two bit-vectors of a width are one polynomial modulo two to the width.
pub(crate) fn same_wrapped(q: &Query, a: Id, b: Id) -> bool {
    let (Sort::Bits(width), Some(a_poly), Some(b_poly)) = (q.sort(a), poly(q, a), poly(q, b)) else {
        return false;
    };
    let modulus = BigRational::from(BigInt::one() << *width);
    let difference = add(a_poly, neg(&b_poly));
    q.sort(b) == q.sort(a) && difference.values().all(|c| (c / &modulus).is_integer())
}

fn constant(value: BigRational) -> Poly {
    if value.is_zero() { Poly::new() } else { Poly::from([(Vec::new(), value)]) }
}

pub(crate) fn add(mut a: Poly, b: Poly) -> Poly {
    for (monomial, coefficient) in b {
        *a.entry(monomial).or_insert_with(BigRational::zero) += coefficient;
    }
    a.retain(|_, coefficient| !coefficient.is_zero());
    a
}

pub(crate) fn neg(a: &Poly) -> Poly {
    a.iter().map(|(monomial, coefficient)| (monomial.clone(), -coefficient.clone())).collect()
}

pub(crate) fn mul(a: &Poly, b: &Poly) -> Option<Poly> {
    if a.len() * b.len() > MAX_TERMS {
        return None;
    }
    let mut product = Poly::new();
    for (m, c) in a {
        for (n, d) in b {
            let mut monomial = [m.as_slice(), n.as_slice()].concat();
            monomial.sort();
            *product.entry(monomial).or_insert_with(BigRational::zero) += c * d;
        }
    }
    product.retain(|_, coefficient| !coefficient.is_zero());
    Some(product)
}

/// The number that a node is, if it is one.
pub(crate) fn number(q: &Query, id: Id) -> Option<BigRational> {
    match &q.nodes[id.index()] {
        Node::Int(value) => Some(BigRational::from(value.clone())),
        Node::Real(value) => Some(value.clone()),
        Node::Op(Op::ToReal, args) => number(q, args[0]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_compared_as_polynomials_that_wrap() {
        let mut q = Query::new();
        let (x, y) = (q.constant("x", Sort::Bits(8)), q.constant("y", Sort::Bits(8)));
        let (minus_x, minus_y) = (q.op(Op::BvNeg, vec![x]), q.op(Op::BvNeg, vec![y]));
        let (sum, minus_both) = (q.op(Op::BvAdd, vec![x, y]), q.op(Op::BvAdd, vec![minus_x, minus_y]));
        let minus_sum = q.op(Op::BvNeg, vec![sum]);
        assert!(same_wrapped(&q, minus_both, minus_sum));
        assert!(!same_wrapped(&q, minus_both, sum));
        let (minus_one, half) = (q.bits(255, 8), q.bits(128, 8));
        let by_minus_one = q.op(Op::BvMul, vec![minus_one, x]);
        assert!(same_wrapped(&q, by_minus_one, minus_x));
        // 128 x + 128 x = 256 x = 0
        let halves = q.op(Op::BvMul, vec![half, x]);
        let (whole, zero) = (q.op(Op::BvAdd, vec![halves, halves]), q.bits(0, 8));
        assert!(same_wrapped(&q, whole, zero) && !same_wrapped(&q, halves, zero));
        let wide = q.constant("z", Sort::Bits(16));
        assert!(!same_wrapped(&q, x, wide));
    }
}
