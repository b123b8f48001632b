//! Extended reals: finite numbers, two infinities and the undefined value.
//!
//! Invariants: at most one of the three flags matters at a time, `bot` first; `val`
//! has a meaning only where no flag is set. A flag that is literally false costs
//! nothing, so arithmetic on inputs (finite) stays plain arithmetic. What this file
//! says is what the exact domain of the scalar table computes.

use num_rational::BigRational;
use num_traits::{One, Zero};

use crate::poly::number;
use crate::query::{Id, Query, Sort};

/// An extended real as terms of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ext {
    pub bot: Id,
    pub pinf: Id,
    pub ninf: Id,
    pub val: Id,
}

impl Query {
    pub(crate) fn ratio(&mut self, numer: i64, denom: i64) -> Id {
        self.real(BigRational::new(numer.into(), denom.into()))
    }

    pub(crate) fn finite(&mut self, val: Id) -> Ext {
        let no = self.bool(false);
        Ext { bot: no, pinf: no, ninf: no, val }
    }

    pub(crate) fn infinity(&mut self, negative: bool) -> Ext {
        let (yes, no, val) = (self.bool(true), self.bool(false), self.ratio(0, 1));
        let (pinf, ninf) = if negative { (no, yes) } else { (yes, no) };
        Ext { bot: no, pinf, ninf, val }
    }

    pub(crate) fn undefined(&mut self) -> Ext {
        let (yes, no, val) = (self.bool(true), self.bool(false), self.ratio(0, 1));
        Ext { bot: yes, pinf: no, ninf: no, val }
    }

    pub(crate) fn is_inf(&mut self, a: Ext) -> Id {
        self.or([a.pinf, a.ninf])
    }

    /// Neither infinite nor possibly so, as far as the flags show.
    pub(crate) fn surely_finite(&self, a: Ext) -> bool {
        self.known(a.pinf) == Some(false) && self.known(a.ninf) == Some(false)
    }

    /// Finite and in the given relation to zero.
    fn signed(&mut self, a: Ext, relation: fn(&mut Query, Id, Id) -> Id) -> Id {
        let (zero, inf) = (self.ratio(0, 1), self.is_inf(a));
        let (fin, holds) = (self.not(inf), relation(self, a.val, zero));
        self.and([fin, holds])
    }

    pub(crate) fn is_zero(&mut self, a: Ext) -> Id {
        self.signed(a, |q, val, zero| q.eq(val, zero))
    }

    pub(crate) fn is_positive(&mut self, a: Ext) -> Id {
        let positive = self.signed(a, |q, val, zero| q.lt(zero, val));
        self.or([a.pinf, positive])
    }

    pub(crate) fn is_negative(&mut self, a: Ext) -> Id {
        let negative = self.signed(a, |q, val, zero| q.lt(val, zero));
        self.or([a.ninf, negative])
    }

    /// Neither is undefined and both are the same.
    pub(crate) fn same(&mut self, a: Ext, b: Ext) -> Id {
        let (up, down) = (self.eq(a.pinf, b.pinf), self.eq(a.ninf, b.ninf));
        let (inf, equal) = (self.is_inf(a), self.eq(a.val, b.val));
        let number = self.or([inf, equal]);
        self.and([up, down, number])
    }

    /// The order, where neither is undefined.
    pub(crate) fn at_most(&mut self, a: Ext, b: Ext) -> Id {
        let (a_inf, b_inf) = (self.is_inf(a), self.is_inf(b));
        let some_inf = self.or([a_inf, b_inf]);
        let (numbers, le) = (self.not(some_inf), self.le(a.val, b.val));
        let inside = self.and([numbers, le]);
        self.or([a.ninf, b.pinf, inside])
    }

    pub(crate) fn pick(&mut self, cond: Id, a: Ext, b: Ext) -> Ext {
        Ext {
            bot: self.ite(cond, a.bot, b.bot),
            pinf: self.ite(cond, a.pinf, b.pinf),
            ninf: self.ite(cond, a.ninf, b.ninf),
            val: self.ite(cond, a.val, b.val),
        }
    }

    /// Where `a` is undefined, the result is.
    pub(crate) fn absorb(&mut self, a: Ext, result: Ext) -> Ext {
        Ext { bot: self.or([a.bot, result.bot]), ..result }
    }

    /// `inf - inf` is undefined.
    pub(crate) fn ext_add(&mut self, a: Ext, b: Ext) -> Ext {
        let (clash, hsalc) = (self.and([a.pinf, b.ninf]), self.and([a.ninf, b.pinf]));
        Ext {
            bot: self.or([a.bot, b.bot, clash, hsalc]),
            pinf: self.or([a.pinf, b.pinf]),
            ninf: self.or([a.ninf, b.ninf]),
            val: self.sum(a.val, b.val),
        }
    }

    pub(crate) fn ext_neg(&mut self, a: Ext) -> Ext {
        Ext { bot: a.bot, pinf: a.ninf, ninf: a.pinf, val: self.negated(a.val) }
    }

    pub(crate) fn ext_sub(&mut self, a: Ext, b: Ext) -> Ext {
        let minus_b = self.ext_neg(b);
        self.ext_add(a, minus_b)
    }

    /// `0 * inf` is undefined.
    pub(crate) fn ext_mul(&mut self, a: Ext, b: Ext) -> Ext {
        let (a_inf, b_inf) = (self.is_inf(a), self.is_inf(b));
        let (some_inf, bots) = (self.or([a_inf, b_inf]), self.or([a.bot, b.bot]));
        let val = self.product(a.val, b.val);
        if self.known(some_inf) == Some(false) {
            return Ext { bot: bots, pinf: some_inf, ninf: some_inf, val };
        }
        let (a_zero, b_zero) = (self.is_zero(a), self.is_zero(b));
        let some_zero = self.or([a_zero, b_zero]);
        let clash = self.and([some_inf, some_zero]);
        let (alike, unlike) = self.signs(a, b);
        Ext {
            bot: self.or([bots, clash]),
            pinf: self.and([some_inf, alike]),
            ninf: self.and([some_inf, unlike]),
            val,
        }
    }

    /// Both have the same strict sign; they have opposite ones.
    fn signs(&mut self, a: Ext, b: Ext) -> (Id, Id) {
        let (a_pos, a_neg) = (self.is_positive(a), self.is_negative(a));
        let (b_pos, b_neg) = (self.is_positive(b), self.is_negative(b));
        let (both_pos, both_neg) = (self.and([a_pos, b_pos]), self.and([a_neg, b_neg]));
        let (up_down, down_up) = (self.and([a_pos, b_neg]), self.and([a_neg, b_pos]));
        (self.or([both_pos, both_neg]), self.or([up_down, down_up]))
    }

    /// Undefined at divisor zero and for `inf / inf`; a number over an infinity is 0.
    pub(crate) fn ext_div(&mut self, a: Ext, b: Ext) -> Ext {
        let (by_zero, a_inf, b_inf) = (self.is_zero(b), self.is_inf(a), self.is_inf(b));
        let clash = self.and([a_inf, b_inf]);
        let inverse = self.inverse(b.val);
        let (quotient, zero) = (self.product(a.val, inverse), self.ratio(0, 1));
        let (alike, unlike) = match self.known(a_inf) {
            Some(false) => (a_inf, a_inf),
            _ => self.signs(a, b),
        };
        Ext {
            bot: self.or([a.bot, b.bot, by_zero, clash]),
            pinf: self.and([a_inf, alike]),
            ninf: self.and([a_inf, unlike]),
            val: self.ite(b_inf, zero, quotient),
        }
    }

    /// A constant that is `1 / x` where `x` is not zero, and unconstrained elsewhere.
    pub(crate) fn inverse(&mut self, x: Id) -> Id {
        if let Some(number) = number(self, x).filter(|number| !number.is_zero()) {
            return self.real(number.recip());
        }
        let inverse = self.constant(&inverse_name(x), Sort::Real);
        let (zero, one, product) = (self.ratio(0, 1), self.ratio(1, 1), self.mul(x, inverse));
        let (is_zero, is_one) = (self.eq(x, zero), self.eq(product, one));
        let definition = self.or([is_zero, is_one]);
        self.assert(definition);
        inverse
    }

    /// The constant that [`Query::inverse`] gave for `x`, if it did.
    pub(crate) fn known_inverse(&self, x: Id) -> Option<Id> {
        self.find_constant(&inverse_name(x))
    }

    /// Sum of two reals, with numbers folded.
    pub(crate) fn sum(&mut self, a: Id, b: Id) -> Id {
        match (number(self, a), number(self, b)) {
            (Some(a), Some(b)) => self.real(a + b),
            (Some(zero), _) if zero.is_zero() => b,
            (_, Some(zero)) if zero.is_zero() => a,
            _ => self.add(a, b),
        }
    }

    /// Product of two reals, with numbers folded.
    pub(crate) fn product(&mut self, a: Id, b: Id) -> Id {
        match (number(self, a), number(self, b)) {
            (Some(a), Some(b)) => self.real(a * b),
            (Some(one), _) if one.is_one() => b,
            (_, Some(one)) if one.is_one() => a,
            (Some(zero), _) | (_, Some(zero)) if zero.is_zero() => self.ratio(0, 1),
            _ => self.mul(a, b),
        }
    }

    pub(crate) fn negated(&mut self, a: Id) -> Id {
        let minus_one = self.ratio(-1, 1);
        self.product(minus_one, a)
    }

    pub(crate) fn difference(&mut self, a: Id, b: Id) -> Id {
        let minus_b = self.negated(b);
        self.sum(a, minus_b)
    }

    pub(crate) fn ext_max(&mut self, a: Ext, b: Ext) -> Ext {
        let below = self.at_most(a, b);
        let greater = self.pick(below, b, a);
        let greater = self.absorb(a, greater);
        self.absorb(b, greater)
    }

    pub(crate) fn ext_min(&mut self, a: Ext, b: Ext) -> Ext {
        let below = self.at_most(a, b);
        let less = self.pick(below, a, b);
        let less = self.absorb(a, less);
        self.absorb(b, less)
    }

    pub(crate) fn ext_abs(&mut self, a: Ext) -> Ext {
        let (negative, minus_a) = (self.is_negative(a), self.ext_neg(a));
        self.pick(negative, minus_a, a)
    }
}

fn inverse_name(x: Id) -> String {
    format!("1/{}", x.index())
}
