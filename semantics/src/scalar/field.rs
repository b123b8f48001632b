//! Values of the field domain: residues in place of real numbers.
//!
//! Note [Fields]. An identity between rational functions holds over the reals exactly when
//! it holds formally, and then it holds modulo every prime, wherever no divisor is 0. So
//! random residues tell two such functions apart with near certainty, exactly and fast.
//! With `exp` there are two fields, `p` prime and `q` a prime that divides `p - 1`: numbers
//! in an exponent are residues modulo `q`, all others modulo `p`, and `exp(x) = g^x` with a
//! `g` of order `q` turns sums into products. A number is kept modulo both, until `exp`
//! makes one that has no residue modulo `q`; that one cannot be an exponent again.
//!
//! A function that obeys no algebra is a random function of its argument: `sin(x)` and
//! `sin(y)` are the same where `x` and `y` are. Laws that it has are lost, so a difference
//! that it enters may be none; such values are marked opaque. Order, rounding and
//! conversion to integers have no meaning here at all.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use std::fmt;

use super::{Fault, Meaning, Scalar};

/// The primes, and a number whose powers modulo the first repeat after as many steps as
/// the second says.
pub const P: u64 = 6_917_529_027_641_080_819;
pub const Q: u64 = 1_152_921_504_606_846_803;
pub const G: u64 = 64;

/// Powers with an exponent of this size at most are products.
const MAX_POWER: u64 = 64;

/// An element of both fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residue {
    /// Modulo `P`; none where fields say nothing.
    base: Option<u64>,
    /// Modulo `Q`; none where it cannot be an exponent.
    exponent: Option<u64>,
    opaque: bool,
}

impl Residue {
    /// What a field says nothing of.
    pub const OUTSIDE: Residue = Residue { base: None, exponent: None, opaque: true };

    /// Both residues, of independent random words.
    pub fn of_words(base: u64, exponent: u64) -> Residue {
        Residue { base: Some(base % P), exponent: Some(exponent % Q), opaque: false }
    }

    pub fn int(x: i64) -> Residue {
        let modulo = |m: u64| i128::from(x).rem_euclid(i128::from(m)) as u64;
        Residue::of_words(modulo(P), modulo(Q))
    }

    pub fn rational(x: &BigRational) -> Residue {
        let modulo = |m: u64| {
            let of = |n: &BigInt| n.mod_floor(&BigInt::from(m)).to_u64();
            quotient(of(x.numer())?, of(x.denom())?, m)
        };
        Residue { base: modulo(P), exponent: modulo(Q), opaque: false }
    }

    /// The number an IEEE value denotes.
    pub fn from_f64(x: f64) -> Residue {
        BigRational::from_float(x).map_or(Residue::OUTSIDE, |x| Residue::rational(&x))
    }

    pub fn pi() -> Residue {
        // It satisfies no equation with rational coefficients, as a random number does.
        Residue::of_words(mixed(0x7069), mixed(0x7070))
    }

    /// Whether two values are the same, where that is known.
    pub fn same(self, other: Residue) -> Option<bool> {
        Some(self.base? == other.base?)
    }

    /// Whether a difference from it may be none.
    pub fn is_opaque(self) -> bool {
        self.opaque
    }

    /// A function on residues; one that has no meaning here is undecided.
    pub(super) fn apply(fun: Scalar, x: Residue, y: Residue) -> Result<Residue, Fault> {
        let one = Residue::int(1);
        match fun.row().meaning {
            Meaning::Add => Ok(x.with(y, sum)),
            Meaning::Sub => Ok(x.with(y.negated(), sum)),
            Meaning::Mul => Ok(x.with(y, product)),
            Meaning::Neg => Ok(x.negated()),
            Meaning::Div => x.over(y),
            Meaning::Reciprocal => one.over(x),
            Meaning::Exp => x.exp(),
            Meaning::Expm1 => Ok(x.exp()?.with(Residue::int(-1), sum)),
            Meaning::Sigmoid => one.over(x.negated().exp()?.with(one, sum)),
            Meaning::Pow => x.power(fun, y),
            Meaning::Sqrt
            | Meaning::Rsqrt
            | Meaning::Exp2
            | Meaning::Log
            | Meaning::Log2
            | Meaning::Log10
            | Meaning::Log1p
            | Meaning::Hypot
            | Meaning::Uninterpreted => Ok(Residue::random(fun, x, y)),
            _ => Err(Fault::Undecided(format!("`{}` in a field", fun.name()))),
        }
    }

    /// Both residues by one operation.
    fn with(self, other: Residue, op: fn(u64, u64, u64) -> u64) -> Residue {
        let both = |x: Option<u64>, y: Option<u64>, m| Some(op(x?, y?, m));
        Residue {
            base: both(self.base, other.base, P),
            exponent: both(self.exponent, other.exponent, Q),
            opaque: self.opaque || other.opaque,
        }
    }

    fn negated(self) -> Residue {
        self.with(Residue::int(-1), product)
    }

    fn over(self, other: Residue) -> Result<Residue, Fault> {
        if other.base == Some(0) {
            return Err(Fault::Undecided("a division by 0 in a field".into()));
        }
        let both = |x: Option<u64>, y: Option<u64>, m| quotient(x?, y?, m);
        Ok(Residue {
            base: both(self.base, other.base, P),
            exponent: both(self.exponent, other.exponent, Q),
            opaque: self.opaque || other.opaque,
        })
    }

    fn exp(self) -> Result<Residue, Fault> {
        match self.exponent {
            Some(exponent) => {
                Ok(Residue { base: Some(power(G, exponent, P)), exponent: None, opaque: self.opaque })
            }
            None => Err(Fault::Undecided("an exponential in an exponent".into())),
        }
    }

    /// A product if the exponent is a small integer.
    fn power(self, fun: Scalar, exponent: Residue) -> Result<Residue, Fault> {
        let small = |k: &i64| Residue::int(*k) == exponent;
        let most = MAX_POWER as i64;
        let Some(k) = (-most..=most).find(small) else { return Ok(Residue::random(fun, self, exponent)) };
        let mut product_of = Residue { opaque: self.opaque, ..Residue::int(1) };
        (0..k.unsigned_abs()).for_each(|_| product_of = product_of.with(self, product));
        if k < 0 { Residue::int(1).over(product_of) } else { Ok(product_of) }
    }

    /// The value of a function of which nothing is known but that it is one.
    fn random(fun: Scalar, x: Residue, y: Residue) -> Residue {
        let second = if fun.arity() == 2 { y.base } else { Some(0) };
        let (Some(x), Some(y)) = (x.base, second) else { return Residue::OUTSIDE };
        let key = mixed(mixed(mixed(fun as u64 + 1) ^ x) ^ y);
        Residue { opaque: true, ..Residue::of_words(key, mixed(key)) }
    }
}

impl fmt::Display for Residue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            Some(base) => write!(f, "{base} (mod p)"),
            None => f.write_str("outside of the field"),
        }
    }
}

fn sum(x: u64, y: u64, m: u64) -> u64 {
    ((u128::from(x) + u128::from(y)) % u128::from(m)) as u64
}

fn product(x: u64, y: u64, m: u64) -> u64 {
    (u128::from(x) * u128::from(y) % u128::from(m)) as u64
}

fn power(x: u64, mut exponent: u64, m: u64) -> u64 {
    let (mut square, mut result) = (x % m, 1);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = product(result, square, m);
        }
        square = product(square, square, m);
        exponent /= 2;
    }
    result
}

/// None by 0. The inverse is a power, by Fermat.
fn quotient(x: u64, y: u64, m: u64) -> Option<u64> {
    (y != 0).then(|| product(x, power(y, m - 2, m), m))
}

/// A permutation of the words that leaves no trace of their order: the finalizer of
/// SplitMix64, of a word moved away from 0.
fn mixed(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::scalar::{Domain, Value};

    /// Miller and Rabin's test, with the bases that decide below 2^64.
    fn is_prime(n: u64) -> bool {
        let bases = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
        let twos = (n - 1).trailing_zeros();
        let witness = |a: u64| {
            let mut x = power(a, (n - 1) >> twos, n);
            let mut passes = x == 1 || x == n - 1;
            for _ in 1..twos {
                x = product(x, x, n);
                passes |= x == n - 1;
            }
            !passes
        };
        !bases.iter().any(|a| n.is_multiple_of(*a) || witness(*a))
    }

    #[test]
    fn the_fields_fit_together() {
        assert!(is_prime(P) && is_prime(Q));
        assert!(!is_prime(P - 2) && !is_prime(3 * 1_000_003) && is_prime(1_000_003));
        assert_eq!((P - 1) % Q, 0);
        assert!(power(G, Q, P) == 1 && G != 1, "the order of G divides Q, which is prime");
    }

    fn value(fun: Scalar, args: &[&Value]) -> Value {
        let args: Vec<Value> = args.iter().map(|v| (*v).clone()).collect();
        fun.eval(Domain::Field, DType::F32, &args).expect("a value in the field")
    }

    #[test]
    fn algebra_and_exp_are_as_over_the_reals() {
        let x = Value::Field(Residue::of_words(mixed(1), mixed(2)));
        let y = Value::Field(Residue::of_words(mixed(3), mixed(4)));
        let two = Value::small(2, DType::F32, Domain::Field);
        let same = |a: &Value, b: &Value| assert_eq!(a.same(b), Some(true), "{a} {b}");
        let e = |x: &Value| value(Scalar::Exp, &[x]);
        same(&e(&value(Scalar::Add, &[&x, &y])), &value(Scalar::Mul, &[&e(&x), &e(&y)]));
        let half = value(Scalar::Div, &[&x, &two]);
        same(&e(&x), &value(Scalar::Pow, &[&e(&half), &two]));
        same(&x, &value(Scalar::Mul, &[&value(Scalar::Div, &[&x, &y]), &y]));
        same(&value(Scalar::Pow, &[&x, &two]), &value(Scalar::Mul, &[&x, &x]));
        let minus = value(Scalar::Sub, &[&y, &x]);
        same(&value(Scalar::Neg, &[&minus]), &value(Scalar::Sub, &[&x, &y]));
        let literal = |text| Value::literal(text, DType::F32, Domain::Field).expect("a literal");
        same(&literal("0.5"), &value(Scalar::Reciprocal, &[&two]));
        assert_eq!(value(Scalar::Add, &[&x, &y]).same(&value(Scalar::Sub, &[&x, &y])), Some(false));
    }

    #[test]
    fn what_a_field_does_not_know_is_opaque_or_undecided() {
        let x = Value::Field(Residue::of_words(mixed(1), mixed(2)));
        let eval = |fun: Scalar, args: &[Value]| fun.eval(Domain::Field, DType::F32, args);
        let sine = value(Scalar::Sin, &[&x]);
        assert!(sine.as_residue().is_some_and(|sine| sine.is_opaque()));
        assert_eq!(sine.same(&value(Scalar::Sin, &[&x])), Some(true));
        assert_eq!(sine.same(&value(Scalar::Cos, &[&x])), Some(false));
        for fun in [Scalar::Maximum, Scalar::Lt, Scalar::Eq, Scalar::Floor, Scalar::Abs, Scalar::Isnan] {
            let args = vec![x.clone(); fun.arity()];
            assert!(matches!(eval(fun, &args), Err(Fault::Undecided(_))), "{fun}");
        }
        let zero = Value::zero(DType::F32, Domain::Field);
        assert!(matches!(eval(Scalar::Div, &[x.clone(), zero]), Err(Fault::Undecided(_))));
        let e = value(Scalar::Exp, &[&x]);
        assert!(matches!(eval(Scalar::Exp, &[e]), Err(Fault::Undecided(_))));
        let inf = Value::literal("inf", DType::F32, Domain::Field).expect("a literal");
        assert_eq!(inf.same(&inf), None);
    }
}
