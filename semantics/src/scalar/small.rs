//! Rationals whose parts fit a machine word, as most do that are computed with: the same
//! results as those of `num-rational`, without its detour over vectors of digits.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::ToPrimitive;

/// Numerator and denominator, which is positive.
fn parts(r: &BigRational) -> Option<(i128, i128)> {
    Some((r.numer().to_i64()?.into(), r.denom().to_i64()?.into()))
}

/// `n / d` in lowest terms, for a divisor other than 0.
fn ratio(n: i128, d: i128) -> BigRational {
    let common = match (u64::try_from(n.unsigned_abs()), u64::try_from(d.unsigned_abs())) {
        (_, Ok(1)) => 1,
        (Ok(n), Ok(d)) => n.gcd(&d).into(),
        _ => n.gcd(&d),
    };
    let common = if d < 0 { -common } else { common };
    BigRational::new_raw(BigInt::from(n / common), BigInt::from(d / common))
}

pub fn sum(a: &BigRational, b: &BigRational) -> BigRational {
    let small = parts(a).zip(parts(b)).and_then(|((p, q), (r, s))| {
        let sum = (p * s).checked_add(r * q)?;
        Some(ratio(sum, q * s))
    });
    small.unwrap_or_else(|| a + b)
}

pub fn product(a: &BigRational, b: &BigRational) -> BigRational {
    let small = parts(a).zip(parts(b)).map(|((p, q), (r, s))| ratio(p * r, q * s));
    small.unwrap_or_else(|| a * b)
}

/// Of a divisor other than 0.
pub fn quotient(a: &BigRational, b: &BigRational) -> BigRational {
    let small = parts(a).zip(parts(b)).map(|((p, q), (r, s))| ratio(p * s, q * r));
    small.unwrap_or_else(|| a / b)
}

pub fn less(a: &BigRational, b: &BigRational) -> bool {
    let small = parts(a).zip(parts(b)).map(|((p, q), (r, s))| p * s < r * q);
    small.unwrap_or_else(|| a < b)
}

/// The nearest `f64` below and above, of a quotient of two integers that are floats.
pub fn bounds(r: &BigRational) -> Option<(f64, f64)> {
    const WHOLE: u64 = 1 << 53;
    let (n, d) = (r.numer().to_i64()?, r.denom().to_i64()?);
    if n.unsigned_abs() > WHOLE || d.unsigned_abs() > WHOLE {
        return None;
    }
    let (n, d) = (n as f64, d as f64);
    let nearest = n / d;
    // The sign of what the quotient is too large by is exact.
    let excess = nearest.mul_add(d, -n);
    Some(match excess {
        0.0 => (nearest, nearest),
        over if over > 0.0 => (nearest.next_down(), nearest),
        _ => (nearest, nearest.next_up()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::Zero;
    use proptest::prelude::*;

    fn parts() -> impl Strategy<Value = i64> {
        let edges = prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(1 << 53), Just((1 << 53) + 1)];
        prop_oneof![-20i64..20, any::<i64>(), edges]
    }

    fn rationals() -> impl Strategy<Value = BigRational> {
        let nonzero = parts().prop_filter("a divisor", |d| *d != 0);
        (parts(), nonzero).prop_map(|(n, d)| BigRational::new(n.into(), d.into()))
    }

    /// Its absolute value is none of the words.
    #[test]
    fn the_least_word_is_computed_with() {
        let least = BigRational::new(i64::MIN.into(), i64::MAX.into());
        assert_eq!(bounds(&least), None);
        assert_eq!(product(&least, &least), &least * &least);
        assert_eq!(sum(&least, &least), &least + &least);
    }

    proptest! {
        #[test]
        fn small_parts_give_what_large_ones_would(a in rationals(), b in rationals()) {
            prop_assert_eq!(sum(&a, &b), &a + &b);
            prop_assert_eq!(product(&a, &b), &a * &b);
            prop_assert_eq!(less(&a, &b), a < b);
            if !b.is_zero() {
                prop_assert_eq!(quotient(&a, &b), &a / &b);
            }
        }

        #[test]
        fn bounds_are_the_nearest_floats(r in rationals()) {
            if let Some((lo, hi)) = bounds(&r) {
                let exact = |x: f64| BigRational::from_float(x).expect("a finite number");
                prop_assert!(exact(lo) <= r && r <= exact(hi));
                prop_assert!(lo == hi || (hi == lo.next_up() && exact(lo) < r && r < exact(hi)));
            }
        }
    }
}
