//! What is known of the value of a scalar function over the reals, from what is known of its
//! arguments. The undefined value is absorbing in all of them.

use super::values::Elements;
use num_traits::{Signed, ToPrimitive, Zero};
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Exact, Scalar, Value};
use rtv_semantics::term::Lit;

/// Of a literal of any dtype.
pub fn literal(lit: &Lit) -> Elements {
    match lit {
        Lit::Bool(_) => Elements::FINITE,
        Lit::Int(value) => signed(value, value.to_i64()),
        Lit::Decimal(text) => match Value::literal(text, DType::F64, Domain::Exact) {
            Ok(Value::Exact(Exact::Rational(value))) => {
                let whole = value.is_integer().then(|| value.to_integer().to_i64()).flatten();
                signed(&*value, whole)
            }
            _ => Elements::UNKNOWN,
        },
        Lit::Pi => Elements { not_negative: true, not_zero: true, ..Elements::FINITE },
        Lit::Inf => Elements { below_inf: false, not_negative: true, not_zero: true, ..Elements::FINITE },
        Lit::NegInf => {
            Elements { above_neg_inf: false, not_positive: true, not_zero: true, ..Elements::FINITE }
        }
        Lit::Nan => Elements::UNKNOWN,
    }
}

fn signed<N: Signed + Zero>(value: &N, whole: Option<i64>) -> Elements {
    Elements {
        not_negative: !value.is_negative(),
        not_positive: !value.is_positive(),
        not_zero: !value.is_zero(),
        whole,
        ..Elements::FINITE
    }
}

/// Of an integer or a bool that is computed.
pub fn comparison(of: &[Elements]) -> Elements {
    Elements { defined: of.iter().all(|each| each.defined), ..Elements::FINITE }
}

/// Of a float that a function of floats gives; `alike` says that its two arguments are one value.
pub fn function(scalar: Scalar, of: &[Elements], alike: bool) -> Elements {
    match (scalar, of) {
        (Scalar::Add, [a, b]) => sum(a, b),
        (Scalar::Sub, [a, b]) => sum(a, &negated(b)),
        (Scalar::Mul, [a, b]) => product(a, b, alike),
        (Scalar::Div, [a, b]) => quotient(a, b),
        (Scalar::Reciprocal, [a]) => quotient(&Elements::number(1), a),
        (Scalar::Neg, [a]) => negated(a),
        (Scalar::Maximum | Scalar::Fmax, [a, b]) => greatest(a, b),
        (Scalar::Minimum | Scalar::Fmin, [a, b]) => negated(&greatest(&negated(a), &negated(b))),
        (Scalar::Pow, [a, b]) => power(a, b),
        (Scalar::Hypot, [a, b]) => Elements {
            defined: a.defined && b.defined,
            below_inf: a.bounded() && b.bounded(),
            above_neg_inf: true,
            not_negative: true,
            not_positive: false,
            not_zero: a.not_zero || b.not_zero,
            whole: None,
        },
        (_, [a]) => of_one(scalar, &Elements { whole: None, ..*a }),
        _ => Elements::UNKNOWN,
    }
}

fn of_one(scalar: Scalar, a: &Elements) -> Elements {
    let defined = a.defined;
    let positive = Elements { defined, not_negative: true, not_zero: true, ..Elements::FINITE };
    match scalar {
        Scalar::Abs => Elements { below_inf: a.bounded(), not_zero: a.not_zero, ..positive },
        Scalar::Sign => Elements { below_inf: true, above_neg_inf: true, ..*a },
        Scalar::Sqrt => Elements {
            defined: defined && a.not_negative,
            below_inf: a.below_inf,
            not_zero: a.not_zero,
            ..positive
        },
        // Of `inf` it is 0.
        Scalar::Rsqrt => Elements { defined: defined && a.positive(), not_zero: a.below_inf, ..positive },
        Scalar::Exp | Scalar::Exp2 => {
            Elements { below_inf: a.below_inf, not_zero: a.above_neg_inf, ..positive }
        }
        Scalar::Sigmoid => Elements { not_zero: a.above_neg_inf, ..positive },
        Scalar::Erfc => Elements { not_zero: a.below_inf, ..positive },
        Scalar::Cosh => Elements { below_inf: a.bounded(), ..positive },
        // They keep the sign, and have limits at infinity.
        Scalar::Tanh | Scalar::Erf | Scalar::Atan => Elements { below_inf: true, above_neg_inf: true, ..*a },
        Scalar::Sinh | Scalar::Asinh => *a,
        Scalar::Expm1 => Elements { above_neg_inf: true, ..*a },
        Scalar::Log | Scalar::Log2 | Scalar::Log10 => Elements {
            defined: defined && a.not_negative,
            below_inf: a.below_inf,
            above_neg_inf: a.not_zero,
            ..Elements::UNKNOWN
        },
        Scalar::Log1p if a.not_negative => Elements { above_neg_inf: true, ..*a },
        Scalar::Sin | Scalar::Cos | Scalar::Frac => {
            Elements { defined: defined && a.bounded(), ..Elements::FINITE }
        }
        Scalar::Floor | Scalar::Ceil | Scalar::Round | Scalar::Trunc => Elements { not_zero: false, ..*a },
        _ => Elements::UNKNOWN,
    }
}

fn negated(a: &Elements) -> Elements {
    Elements {
        defined: a.defined,
        below_inf: a.above_neg_inf,
        above_neg_inf: a.below_inf,
        not_negative: a.not_positive,
        not_positive: a.not_negative,
        not_zero: a.not_zero,
        whole: a.whole.and_then(i64::checked_neg),
    }
}

fn sum(a: &Elements, b: &Elements) -> Elements {
    let apart = (a.below_inf || b.above_neg_inf) && (a.above_neg_inf || b.below_inf);
    let some = a.not_zero || b.not_zero;
    let (up, down) = (a.not_negative && b.not_negative, a.not_positive && b.not_positive);
    Elements {
        defined: a.defined && b.defined && apart,
        below_inf: a.below_inf && b.below_inf,
        above_neg_inf: a.above_neg_inf && b.above_neg_inf,
        not_negative: up,
        not_positive: down,
        not_zero: some && (up || down),
        whole: None,
    }
}

/// Whether a product is not negative, and whether it is not positive.
fn signs(a: &Elements, b: &Elements) -> (bool, bool) {
    let alike = (a.not_negative && b.not_negative) || (a.not_positive && b.not_positive);
    let unlike = (a.not_negative && b.not_positive) || (a.not_positive && b.not_negative);
    (alike, unlike)
}

fn product(a: &Elements, b: &Elements, alike: bool) -> Elements {
    let (up, down) = signs(a, b);
    let up = up || alike;
    let bounded = a.bounded() && b.bounded();
    // A square is infinite where its root is, and then that is not 0.
    let apart = alike || ((a.bounded() || b.not_zero) && (b.bounded() || a.not_zero));
    Elements {
        defined: a.defined && b.defined && apart,
        below_inf: bounded || down,
        above_neg_inf: bounded || up,
        not_negative: up,
        not_positive: down,
        not_zero: a.not_zero && b.not_zero,
        whole: None,
    }
}

/// A number over an infinity is 0.
fn quotient(a: &Elements, b: &Elements) -> Elements {
    let (up, down) = signs(a, b);
    Elements {
        defined: a.defined && b.defined && b.not_zero && (a.bounded() || b.bounded()),
        below_inf: a.bounded() || down,
        above_neg_inf: a.bounded() || up,
        not_negative: up,
        not_positive: down,
        not_zero: a.not_zero && b.bounded(),
        whole: None,
    }
}

fn greatest(a: &Elements, b: &Elements) -> Elements {
    Elements {
        defined: a.defined && b.defined,
        below_inf: a.below_inf && b.below_inf,
        above_neg_inf: a.above_neg_inf || b.above_neg_inf,
        not_negative: a.not_negative || b.not_negative,
        not_positive: a.not_positive && b.not_positive,
        not_zero: a.positive() || b.positive() || (a.not_zero && b.not_zero),
        whole: None,
    }
}

fn power(a: &Elements, b: &Elements) -> Elements {
    let finite = a.bounded() && b.bounded();
    let defined = a.defined && b.defined && finite;
    let known = Elements { defined, ..Elements::FINITE };
    match b.whole {
        Some(0) if finite => Elements { defined, ..Elements::number(1) },
        Some(n) if finite && (n > 0 || a.not_zero) => {
            Elements { not_negative: a.not_negative || n % 2 == 0, not_zero: a.not_zero, ..known }
        }
        _ if finite && a.positive() => Elements { not_negative: true, not_zero: true, ..known },
        _ if finite && a.not_negative && b.positive() => Elements { not_negative: true, ..known },
        _ => Elements::UNKNOWN,
    }
}
