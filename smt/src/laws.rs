//! What is known of real functions: definitions by other functions, and instances of
//! laws at the arguments that occur.
//!
//! Every law below is true of the real function at every instance, so that adding it
//! excludes no real situation; where a law needs a condition, the condition stands in
//! the instance. Functions without a law are uninterpreted: equal arguments give
//! equal values.

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use crate::poly::{Poly, add, mul, neg, number, poly};
use crate::query::{Id, Node, Query, Sort};

/// Pairs are compared with each other up to this many.
const MAX_PAIRS: usize = 12;

/// A pair `l = log v`, that is `v = exp l`, where `positive` holds.
struct LogPair {
    log: Id,
    value: Id,
    positive: Id,
}

/// The functions applied in one query.
#[derive(Default)]
pub(crate) struct Laws {
    pairs: Vec<LogPair>,
    /// `(x, erf x)`
    erfs: Vec<(Id, Id)>,
    /// `(x, sin x, cos x)`
    waves: Vec<(Id, Id, Id)>,
    /// `(x, floor x)`
    floors: Vec<(Id, Id)>,
}

impl Laws {
    /// `exp x`, positive; laws relate it to other exponentials and logarithms.
    pub(crate) fn exp(&mut self, q: &mut Query, x: Id) -> Id {
        if number(q, x).is_some_and(|x| x.is_zero()) {
            return q.ratio(1, 1);
        }
        let value = unary(q, "exp", x);
        let positive = q.bool(true);
        self.pair(q, LogPair { log: x, value, positive });
        value
    }

    /// `log x`, for positive `x`; unconstrained elsewhere.
    pub(crate) fn log(&mut self, q: &mut Query, x: Id) -> Id {
        if number(q, x).is_some_and(|x| x.is_one()) {
            return q.ratio(0, 1);
        }
        let log = unary(q, "log", x);
        let zero = q.ratio(0, 1);
        let positive = q.lt(zero, x);
        self.pair(q, LogPair { log, value: x, positive });
        log
    }

    fn pair(&mut self, q: &mut Query, new: LogPair) {
        if !self.pairs.iter().any(|pair| pair.log == new.log && pair.value == new.value) {
            // `v > 0`, and `v >= 1 + l`: the tangent of exp at 0.
            let (zero, one) = (q.ratio(0, 1), q.ratio(1, 1));
            let (above, tangent) = (q.lt(zero, new.value), q.sum(new.log, one));
            let over = q.le(tangent, new.value);
            let both = q.and([above, over]);
            let law = q.implies(new.positive, both);
            q.assert(law);
            self.pairs.push(new);
        }
    }

    /// `sqrt x`, for `x >= 0`: not negative, and its square is `x`.
    pub(crate) fn sqrt(&mut self, q: &mut Query, x: Id) -> Id {
        if let Some(n) = number(q, x).filter(|n| !n.is_negative()) {
            let (numer, denom) = (n.numer().sqrt(), n.denom().sqrt());
            if &numer * &numer == *n.numer() && &denom * &denom == *n.denom() {
                return q.real(num_rational::BigRational::new(numer, denom));
            }
        }
        let (root, zero) = (unary(q, "sqrt", x), q.ratio(0, 1));
        let (square, negative) = (q.mul(root, root), q.lt(x, zero));
        let (at_least, squares) = (q.le(zero, root), q.eq(square, x));
        let both = q.and([at_least, squares]);
        let law = q.or([negative, both]);
        q.assert(law);
        root
    }

    /// `tanh x = (e - 1) / (e + 1)` with `e = exp(2x)`; between -1 and 1.
    pub(crate) fn tanh(&mut self, q: &mut Query, x: Id) -> Id {
        let (value, one, two) = (unary(q, "tanh", x), q.ratio(1, 1), q.ratio(2, 1));
        let minus_one = q.ratio(-1, 1);
        let doubled = q.product(two, x);
        let e = self.exp(q, doubled);
        let (above, below) = (q.sum(e, one), q.difference(e, one));
        let scaled = q.product(value, above);
        let (is, least, most) = (q.eq(scaled, below), q.lt(minus_one, value), q.lt(value, one));
        let law = q.and([is, least, most]);
        q.assert(law);
        value
    }

    /// `erf`: between -1 and 1, odd, 0 at 0, increasing.
    pub(crate) fn erf(&mut self, q: &mut Query, x: Id) -> Id {
        if number(q, x).is_some_and(|x| x.is_zero()) {
            return q.ratio(0, 1);
        }
        let value = unary(q, "erf", x);
        let (minus_one, zero, one) = (q.ratio(-1, 1), q.ratio(0, 1), q.ratio(1, 1));
        let (least, most) = (q.lt(minus_one, value), q.lt(value, one));
        let (x_up, up) = (q.lt(zero, x), q.lt(zero, value));
        let (x_down, down) = (q.lt(x, zero), q.lt(value, zero));
        let (ups, downs) = (q.eq(x_up, up), q.eq(x_down, down));
        let law = q.and([least, most, ups, downs]);
        q.assert(law);
        if !self.erfs.contains(&(x, value)) {
            self.erfs.push((x, value));
        }
        value
    }

    /// Sine and cosine: `sin^2 + cos^2 = 1`; 0 and 1 at 0, odd and even.
    pub(crate) fn sin_cos(&mut self, q: &mut Query, x: Id) -> (Id, Id) {
        if number(q, x).is_some_and(|x| x.is_zero()) {
            return (q.ratio(0, 1), q.ratio(1, 1));
        }
        let (sin, cos, one) = (unary(q, "sin", x), unary(q, "cos", x), q.ratio(1, 1));
        let (sin2, cos2) = (q.mul(sin, sin), q.mul(cos, cos));
        let total = q.add(sin2, cos2);
        let law = q.eq(total, one);
        q.assert(law);
        if !self.waves.contains(&(x, sin, cos)) {
            self.waves.push((x, sin, cos));
        }
        (sin, cos)
    }

    /// The greatest integer not above `x`, as an integer.
    pub(crate) fn floor(&mut self, q: &mut Query, x: Id) -> Id {
        let whole = q.constant(&format!("floor {}", x.index()), Sort::Int);
        let (real, one) = (q.op(crate::query::Op::ToReal, vec![whole]), q.ratio(1, 1));
        let (next, at_most) = (q.add(real, one), q.le(real, x));
        let below = q.lt(x, next);
        let law = q.and([at_most, below]);
        q.assert(law);
        if !self.floors.contains(&(x, whole)) {
            self.floors.push((x, whole));
        }
        whole
    }

    /// The number pi, between two decimals.
    pub(crate) fn pi(&mut self, q: &mut Query) -> Id {
        let pi = q.constant("pi", Sort::Real);
        let least = q.ratio(3_141_592_653_589_793, 1_000_000_000_000_000);
        let most = q.ratio(3_141_592_653_589_794, 1_000_000_000_000_000);
        let (above, below) = (q.lt(least, pi), q.lt(pi, most));
        let law = q.and([above, below]);
        q.assert(law);
        pi
    }

    /// Adds the laws between the functions applied; to be called once, at the end.
    pub(crate) fn close(&self, q: &mut Query) {
        self.order(q);
        self.sums(q);
        self.shifts(q);
        for (i, &(x, a)) in self.erfs.iter().enumerate() {
            for &(y, b) in &self.erfs[..i] {
                if opposite(q, x, y) {
                    let minus_b = q.negated(b);
                    let odd = q.eq(a, minus_b);
                    q.assert(odd);
                }
                let (le, images) = (q.le(x, y), q.le(a, b));
                let increasing = q.eq(le, images);
                q.assert(increasing);
            }
        }
        self.waves(q);
    }

    /// `sin(-x) = -sin x`, `cos(-x) = cos x`, and of sums and differences
    /// `sin(x +- y) = sin x cos y +- cos x sin y`, `cos(x +- y) = cos x cos y -+ sin x sin y`,
    /// where such a sum occurs.
    fn waves(&self, q: &mut Query) {
        for (i, &(x, sin, cos)) in self.waves.iter().enumerate() {
            for &(y, other_sin, other_cos) in &self.waves[..i] {
                if opposite(q, x, y) {
                    let minus = q.negated(other_sin);
                    let (odd, even) = (q.eq(sin, minus), q.eq(cos, other_cos));
                    q.assert(odd);
                    q.assert(even);
                }
            }
        }
        let waves = &self.waves[..self.waves.len().min(MAX_PAIRS)];
        let polys: Vec<Option<Poly>> = waves.iter().map(|wave| poly(q, wave.0)).collect();
        for (i, a) in waves.iter().enumerate() {
            for (j, b) in waves.iter().enumerate() {
                for (minus, combine) in
                    [(false, add as fn(Poly, Poly) -> Poly), (true, |x, y| add(x, neg(&y)))]
                {
                    let whole = both(&polys[i], &polys[j], |x, y| Some(combine(x.clone(), y.clone())));
                    let known = |k: &usize| ![i, j].contains(k) && whole.is_some() && polys[*k] == whole;
                    if let Some(k) = (0..waves.len()).find(known) {
                        addition(q, *a, *b, waves[k], minus);
                    }
                }
            }
        }
    }

    /// `floor(x + n) = floor x + n` for whole `n`, where `y * (1 / y)` counts as 1 if `y` is
    /// not 0.
    fn shifts(&self, q: &mut Query) {
        let floors = &self.floors[..self.floors.len().min(MAX_PAIRS)];
        for (i, &(x, a)) in floors.iter().enumerate() {
            for &(y, b) in &floors[..i] {
                let difference = |x: &Poly, y: &Poly| Some(add(x.clone(), neg(y)));
                let Some(difference) = both(&poly(q, x), &poly(q, y), difference) else { continue };
                let divisors = divisors(q, &difference);
                let rest = cancelled(q, difference, &divisors);
                let shift = match rest.len() {
                    0 => Some(BigRational::zero()),
                    1 => rest.get(&Vec::new()).filter(|n| n.is_integer()).cloned(),
                    _ => None,
                };
                let Some(shift) = shift else { continue };
                let (zero, shift) = (q.ratio(0, 1), q.int(shift.to_integer()));
                let moved = q.add(b, shift);
                let mut cases: Vec<Id> = divisors.iter().map(|&y| q.eq(y, zero)).collect();
                cases.push(q.eq(a, moved));
                let law = q.or(cases);
                q.assert(law);
            }
        }
    }

    /// exp increases: `l <= l'` exactly where `v <= v'`, and 0 goes with 1.
    fn order(&self, q: &mut Query) {
        let (zero, one, yes) = (q.ratio(0, 1), q.ratio(1, 1), q.bool(true));
        let origin = LogPair { log: zero, value: one, positive: yes };
        let pairs: Vec<&LogPair> = self.pairs.iter().take(MAX_PAIRS).chain([&origin]).collect();
        for (i, a) in pairs.iter().enumerate() {
            for b in &pairs[..i] {
                for (a, b) in [(a, b), (b, a)] {
                    let (logs, values) = (q.le(a.log, b.log), q.le(a.value, b.value));
                    let same = q.eq(logs, values);
                    let both = q.and([a.positive, b.positive]);
                    let law = q.implies(both, same);
                    q.assert(law);
                }
            }
        }
    }

    /// `exp(x + y) = exp x * exp y` and `log(x * y) = log x + log y`, where a sum or a
    /// product of two occurring arguments is a third one, or 0 or 1.
    fn sums(&self, q: &mut Query) {
        let (zero, one, yes) = (q.ratio(0, 1), q.ratio(1, 1), q.bool(true));
        let origin = LogPair { log: zero, value: one, positive: yes };
        let pairs: Vec<&LogPair> = self.pairs.iter().take(MAX_PAIRS).chain([&origin]).collect();
        let polys: Vec<(Option<Poly>, Option<Poly>)> =
            pairs.iter().map(|pair| (poly(q, pair.log), poly(q, pair.value))).collect();
        for (i, a) in pairs.iter().enumerate() {
            for (j, b) in pairs[..=i].iter().enumerate() {
                let sum = both(&polys[i].0, &polys[j].0, |x, y| Some(add(x.clone(), y.clone())));
                let product = both(&polys[i].1, &polys[j].1, mul)
                    .map(|product| cancelled(q, product, &[a.value, b.value]));
                for (k, c) in pairs.iter().enumerate() {
                    let adds = sum.is_some() && sum == polys[k].0;
                    let multiplies = product.is_some() && product == polys[k].1;
                    if k == i || k == j || !(adds || multiplies) {
                        continue;
                    }
                    let (sum, product) = (q.sum(a.log, b.log), q.product(a.value, b.value));
                    let (logs, values) = (q.eq(sum, c.log), q.eq(product, c.value));
                    let both = q.and([logs, values]);
                    let where_positive = q.and([a.positive, b.positive, c.positive]);
                    let law = q.implies(where_positive, both);
                    q.assert(law);
                }
            }
        }
    }
}

/// Sine and cosine of `c = a + b`, or of `c = a - b`.
fn addition(q: &mut Query, a: (Id, Id, Id), b: (Id, Id, Id), c: (Id, Id, Id), minus: bool) {
    let ((_, a_sin, a_cos), (_, b_sin, b_cos), (_, sin, cos)) = (a, b, c);
    let (mixed, dexim) = (q.product(a_sin, b_cos), q.product(a_cos, b_sin));
    let (cosines, sines) = (q.product(a_cos, b_cos), q.product(a_sin, b_sin));
    let (sum, difference) = match minus {
        false => (q.sum(mixed, dexim), q.difference(cosines, sines)),
        true => (q.difference(mixed, dexim), q.sum(cosines, sines)),
    };
    let (sine, cosine) = (q.eq(sin, sum), q.eq(cos, difference));
    q.assert(sine);
    q.assert(cosine);
}

fn unary(q: &mut Query, name: &str, x: Id) -> Id {
    let fun = q.declare(name, vec![Sort::Real], Sort::Real);
    q.apply(fun, vec![x])
}

fn both(a: &Option<Poly>, b: &Option<Poly>, combine: impl Fn(&Poly, &Poly) -> Option<Poly>) -> Option<Poly> {
    combine(a.as_ref()?, b.as_ref()?)
}

/// `x * (1 / x) = 1` for those atoms `x` that are known not to be zero where the
/// result is used.
fn cancelled(q: &Query, product: Poly, nonzero: &[Id]) -> Poly {
    let mut reduced = Poly::new();
    for (mut monomial, coefficient) in product {
        for &x in nonzero {
            let inverse = q.known_inverse(x);
            while let Some(at) = monomial.iter().position(|&atom| atom == x)
                && let Some(by) = monomial.iter().position(|&atom| Some(atom) == inverse)
            {
                monomial.remove(at.max(by));
                monomial.remove(at.min(by));
            }
        }
        reduced = add(reduced, Poly::from([(monomial, coefficient)]));
    }
    reduced
}

/// The atoms that stand beside their inverse in some monomial.
fn divisors(q: &Query, sum: &Poly) -> Vec<Id> {
    let mut found = Vec::new();
    for monomial in sum.keys() {
        let inverted = |x: &&Id| q.known_inverse(**x).is_some_and(|inverse| monomial.contains(&inverse));
        found.extend(monomial.iter().filter(inverted).copied());
    }
    found.sort();
    found.dedup();
    found
}

fn opposite(q: &Query, x: Id, y: Id) -> bool {
    match (poly(q, x), poly(q, y)) {
        (Some(x), Some(y)) => x == neg(&y),
        _ => false,
    }
}

/// What the shape of a real term says about its sign.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Sign {
    AtLeastZero,
    Positive,
}

/// A sign that holds for all values: exponentials, squares, their sums and products.
pub(crate) fn sign(q: &Query, id: Id) -> Option<Sign> {
    if let Some(number) = number(q, id) {
        return match () {
            () if number.is_positive() => Some(Sign::Positive),
            () if number.is_zero() => Some(Sign::AtLeastZero),
            () => None,
        };
    }
    match &q.nodes[id.index()] {
        Node::Apply(fun, _) if q.decls[fun.index()].name == "exp" => Some(Sign::Positive),
        Node::Op(crate::query::Op::Mul, args) if args[0] == args[1] => {
            Some(sign(q, args[0]).unwrap_or(Sign::AtLeastZero))
        }
        Node::Op(crate::query::Op::Mul, args) => Some(sign(q, args[0])?.min(sign(q, args[1])?)),
        Node::Op(crate::query::Op::Add, args) => Some(sign(q, args[0])?.max(sign(q, args[1])?)),
        Node::Op(crate::query::Op::Ite, args) => Some(sign(q, args[1])?.min(sign(q, args[2])?)),
        _ => None,
    }
}
