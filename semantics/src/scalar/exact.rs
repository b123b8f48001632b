//! Values of the exact domain: reals, both infinities and the undefined value.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::{Fault, small};

/// Bits of numerator and denominator together beyond which an exact value is a
/// [`Fault::Limit`].
pub const MAX_BITS: u64 = 10_000;

/// One real number, known exactly or by bounds, or what is no real number.
#[derive(Clone, Debug)]
pub enum Exact {
    Rational(Arc<BigRational>),
    /// A real (finite) number between the two ends, ends included. An infinite end
    /// means that there is no bound on that side; the ends are no NaN.
    Interval(f64, f64),
    PosInf,
    NegInf,
    /// Undefined; absorbing in every function.
    Bottom,
}

impl Exact {
    pub fn rational(value: BigRational) -> Result<Exact, Fault> {
        let bits = value.numer().bits() + value.denom().bits();
        if bits > MAX_BITS {
            return Err(Fault::Limit(format!("an exact value of {bits} bits")));
        }
        Ok(Exact::Rational(Arc::new(value)))
    }

    pub fn int(value: i64) -> Exact {
        Exact::Rational(Arc::new(BigRational::from_integer(BigInt::from(value))))
    }

    pub fn zero() -> Exact {
        Exact::int(0)
    }

    pub fn one() -> Exact {
        Exact::int(1)
    }

    /// The number an IEEE value denotes; NaN is undefined.
    pub fn from_f64(x: f64) -> Exact {
        match BigRational::from_float(x) {
            Some(r) => Exact::Rational(Arc::new(r)),
            None if x.is_nan() => Exact::Bottom,
            None if x > 0.0 => Exact::PosInf,
            None => Exact::NegInf,
        }
    }

    /// A real number between two bounds. Bounds that overflowed are moved back, since
    /// the number itself is finite.
    pub fn interval(lo: f64, hi: f64) -> Exact {
        let lo = if lo.is_nan() { f64::NEG_INFINITY } else { lo.min(f64::MAX) };
        let hi = if hi.is_nan() { f64::INFINITY } else { hi.max(f64::MIN) };
        Exact::Interval(lo, hi)
    }

    pub fn infinity(negative: bool) -> Exact {
        if negative { Exact::NegInf } else { Exact::PosInf }
    }

    pub fn as_rational(&self) -> Option<&BigRational> {
        match self {
            Exact::Rational(r) => Some(r),
            _ => None,
        }
    }

    pub fn is_bottom(&self) -> bool {
        matches!(self, Exact::Bottom)
    }

    pub fn is_infinite(&self) -> bool {
        matches!(self, Exact::PosInf | Exact::NegInf)
    }

    /// Exactly zero; an enclosure of zero is not.
    pub fn is_zero(&self) -> bool {
        self.as_rational().is_some_and(Zero::is_zero)
    }

    /// Exactly one.
    pub fn is_one(&self) -> bool {
        self.as_rational().is_some_and(One::is_one)
    }

    /// Bounds as `f64`, rounded outward; infinities are their own bounds, the
    /// undefined value has none.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self {
            Exact::Rational(r) => Some(rational_bounds(r)),
            Exact::Interval(lo, hi) => Some((*lo, *hi)),
            Exact::PosInf => Some((f64::INFINITY, f64::INFINITY)),
            Exact::NegInf => Some((f64::NEG_INFINITY, f64::NEG_INFINITY)),
            Exact::Bottom => None,
        }
    }

    /// Order of two values, where known. `None` also if either is undefined.
    pub fn compare(&self, other: &Exact) -> Option<Ordering> {
        match (self.less(other)?, other.less(self)?) {
            (true, _) => Some(Ordering::Less),
            (_, true) => Some(Ordering::Greater),
            _ => Some(Ordering::Equal),
        }
    }

    /// `self < other`, where known.
    pub fn less(&self, other: &Exact) -> Option<bool> {
        use Exact::*;
        match (self, other) {
            (Bottom, _) | (_, Bottom) => None,
            (PosInf, _) | (_, NegInf) => Some(false),
            (NegInf, _) | (_, PosInf) => Some(true),
            (Rational(a), Rational(b)) => Some(small::less(a, b)),
            (a, b) => {
                let ((a_lo, a_hi), (b_lo, b_hi)) = (a.bounds()?, b.bounds()?);
                if a_hi < b_lo {
                    Some(true)
                } else if a_lo >= b_hi {
                    Some(false)
                } else {
                    None
                }
            }
        }
    }

    /// Whether two values are equal, where known; undefined equals undefined.
    pub fn same(&self, other: &Exact) -> Option<bool> {
        match (self, other) {
            (Exact::Bottom, Exact::Bottom) => Some(true),
            (Exact::Bottom, _) | (_, Exact::Bottom) => Some(false),
            (Exact::Rational(a), Exact::Rational(b)) => Some(a == b),
            _ if self.less(other) == Some(true) || other.less(self) == Some(true) => Some(false),
            _ => self.compare(other).map(|o| o == Ordering::Equal),
        }
    }

    /// Sign of the value, where known.
    pub fn signum(&self) -> Option<Ordering> {
        match self {
            Exact::Rational(r) if r.is_zero() => Some(Ordering::Equal),
            Exact::Rational(r) if r.is_negative() => Some(Ordering::Less),
            Exact::Rational(_) | Exact::PosInf => Some(Ordering::Greater),
            Exact::NegInf => Some(Ordering::Less),
            Exact::Interval(lo, _) if *lo > 0.0 => Some(Ordering::Greater),
            Exact::Interval(_, hi) if *hi < 0.0 => Some(Ordering::Less),
            Exact::Interval(lo, hi) if *lo == 0.0 && *hi == 0.0 => Some(Ordering::Equal),
            _ => None,
        }
    }
}

/// The nearest `f64` below and above; the same one twice if it is exact.
fn rational_bounds(r: &BigRational) -> (f64, f64) {
    if let Some(bounds) = small::bounds(r) {
        return bounds;
    }
    let guess = r.to_f64().filter(|g| !g.is_nan());
    let Some(guess) = guess else {
        return (f64::NEG_INFINITY, f64::INFINITY);
    };
    // The conversion may be off by a place: correct it against the exact value.
    let is_at_most = |x: f64| match BigRational::from_float(x) {
        Some(x) => x <= *r,
        None => x < 0.0,
    };
    let is_at_least = |x: f64| match BigRational::from_float(x) {
        Some(x) => x >= *r,
        None => x > 0.0,
    };
    let (mut lo, mut hi) = (guess, guess);
    while !is_at_most(lo) {
        lo = lo.next_down();
    }
    while !is_at_least(hi) {
        hi = hi.next_up();
    }
    (lo, hi)
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exact::Rational(r) => write!(f, "{r}"),
            Exact::Interval(lo, hi) => write!(f, "[{lo:?}, {hi:?}]"),
            Exact::PosInf => f.write_str("inf"),
            Exact::NegInf => f.write_str("-inf"),
            Exact::Bottom => f.write_str("undefined"),
        }
    }
}
