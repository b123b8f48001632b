//! Questions with known answers: what a solver must say before it is believed.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::query::{Op, Query, Sort};
use crate::solver::{Answer, Budget, ModelValue, ModelValues};

/// Far more than a canary needs.
pub(crate) const BUDGET: Budget = Budget { rlimit: 10_000_000, timeout_ms: 10_000 };

/// A question with a known answer.
pub(crate) struct Canary {
    pub what: &'static str,
    pub query: Query,
    sat: bool,
    /// The watched values, where only one model exists.
    values: Option<ModelValues>,
}

impl Canary {
    /// Is that the right answer? An `unknown` is not wrong, and not enough.
    pub fn accepts(&self, answer: &Answer) -> Option<bool> {
        match answer {
            Answer::Sat(values) => Some(self.sat && self.values.as_ref().is_none_or(|own| own == values)),
            Answer::Unsat => Some(!self.sat),
            Answer::Unknown(_) => None,
        }
    }
}

/// A question that only `number` satisfies, for a solver that just said `unsat`.
pub(crate) fn probe(number: u64) -> Canary {
    let mut q = Query::new();
    let (x, low, high) = (q.constant("x", Sort::Int), q.int(number), q.int(u128::from(number) + 1));
    let (least, below) = (q.le(low, x), q.lt(x, high));
    q.assert(least);
    q.assert(below);
    q.watch(x);
    let values = Some(vec![ModelValue::Int(BigInt::from(number))]);
    Canary { what: "satisfiable after unsatisfiable", query: q, sat: true, values }
}

/// Close pairs of a satisfiable and an unsatisfiable question in every theory used, so
/// that a solver stuck on one answer or deaf to assertions fails.
pub(crate) fn canaries() -> Vec<Canary> {
    let mut all = Vec::new();
    for sat in [true, false] {
        let mut q = Query::new();
        let (x, two, bound) = (q.constant("x", Sort::Int), q.int(2), q.int(if sat { 7 } else { 6 }));
        let (twice, six) = (q.mul(two, x), q.int(6));
        let (low, high) = (q.le(six, twice), q.lt(twice, bound));
        q.assert(low);
        q.assert(high);
        q.watch(x);
        let values = sat.then(|| vec![ModelValue::Int(BigInt::from(3))]);
        all.push(Canary { what: "integers", query: q, sat, values });

        let mut q = Query::new();
        let fun = q.declare("f", vec![Sort::Int], Sort::Opaque("f32".to_string()));
        let (x, y) = (q.constant("x", Sort::Int), q.constant("y", Sort::Int));
        let (fx, fy) = (q.apply(fun, vec![x]), q.apply(fun, vec![y]));
        let (same, images) = (q.eq(x, y), q.eq(fx, fy));
        let differ = q.not(images);
        q.assert(differ);
        if !sat {
            q.assert(same);
        }
        all.push(Canary { what: "uninterpreted functions", query: q, sat, values: None });

        let mut q = Query::new();
        let (x, one) = (q.constant("x", Sort::Bits(8)), q.bits(1, 8));
        let limit = q.bits(if sat { 127 } else { 126 }, 8);
        let next = q.op(Op::BvAdd, vec![x, one]);
        let wraps = q.op(Op::BvSlt, vec![next, x]);
        let above = q.op(Op::BvSlt, vec![limit, x]);
        let below = q.not(above);
        q.assert(wraps);
        q.assert(below);
        q.watch(x);
        let values = sat.then(|| vec![ModelValue::Bits(127)]);
        all.push(Canary { what: "bit-vectors", query: q, sat, values });

        let mut q = Query::new();
        let (x, zero) = (q.constant("x", Sort::Real), q.real(BigRational::from(BigInt::from(0))));
        let square = q.mul(x, x);
        let claim = if sat { q.lt(zero, square) } else { q.lt(square, zero) };
        q.assert(claim);
        all.push(Canary { what: "reals", query: q, sat, values: None });
    }
    all
}
