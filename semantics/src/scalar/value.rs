//! One element, in either domain.

use std::fmt;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Pow;

use crate::dtype::{Category, DType};

use super::round::{ordinal, round};
use super::{Domain, Exact, Fault, MAX_BITS, Residue};

/// One element. Its dtype is known from the context.
///
/// In the IEEE domain a value is a `Bool`, an `Int` (every integer dtype) or a
/// `Float` already rounded to its dtype. In the exact domain float dtypes hold
/// `Exact`, and an element of *any* dtype may be `Exact(Bottom)`: the undefined
/// value is absorbing, so a comparison with it is undefined too. In the field domain
/// float dtypes hold `Field`.
#[derive(Clone, Debug)]
pub enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Exact(Exact),
    Field(Residue),
}

impl Value {
    pub const BOTTOM: Value = Value::Exact(Exact::Bottom);

    /// To nearest, ties to even, in one step; NaNs become one.
    pub fn round(x: f64, dtype: DType) -> f64 {
        round(x, dtype)
    }

    /// An IEEE or exact float of `dtype` from an `f64`.
    pub fn float(x: f64, dtype: DType, domain: Domain) -> Value {
        match domain {
            Domain::Ieee => Value::Float(round(x, dtype)),
            Domain::Exact => Value::Exact(Exact::from_f64(x)),
            Domain::Field => Value::Field(Residue::from_f64(x)),
        }
    }

    /// A small integer as a value of any dtype.
    pub fn small(x: i32, dtype: DType, domain: Domain) -> Value {
        match dtype.category() {
            Category::Bool => Value::Bool(x != 0),
            Category::Int => Value::Int(super::int::wrap(x.into(), dtype)),
            Category::Float => Value::float(x.into(), dtype, domain),
        }
    }

    pub fn zero(dtype: DType, domain: Domain) -> Value {
        Value::small(0, dtype, domain)
    }

    pub fn one(dtype: DType, domain: Domain) -> Value {
        Value::small(1, dtype, domain)
    }

    /// A literal as written: `true`, `12`, `1.5e-3`, `inf`, `nan`, `pi`, each with an
    /// optional `-`. A float is read as `f64` and rounded to its dtype, as PyTorch
    /// does; in the exact domain it is the decimal as written.
    pub fn literal(text: &str, dtype: DType, domain: Domain) -> Result<Value, Fault> {
        let unfit = || Fault::Value(format!("`{text}` is no value of {dtype}"));
        match (dtype.category(), domain) {
            (Category::Bool, _) => text.parse().map(Value::Bool).map_err(|_| unfit()),
            (Category::Int, _) => {
                let value: i64 = text.parse().map_err(|_| unfit())?;
                let (least, most) = dtype.int_range().ok_or_else(unfit)?;
                if (least..=most).contains(&value) { Ok(Value::Int(value)) } else { Err(unfit()) }
            }
            (Category::Float, Domain::Ieee) => {
                let value = match text.trim_start_matches('-') {
                    "pi" => std::f64::consts::PI.copysign(if text == "pi" { 1.0 } else { -1.0 }),
                    _ => text.parse().map_err(|_| unfit())?,
                };
                super::cast(domain, DType::F64, dtype, &Value::Float(value))
            }
            (Category::Float, Domain::Exact) => Ok(Value::Exact(exact_literal(text)?.ok_or_else(unfit)?)),
            (Category::Float, Domain::Field) => Ok(Value::Field(match text {
                "pi" => Residue::pi(),
                _ => match exact_literal(text)?.ok_or_else(unfit)?.as_rational() {
                    Some(rational) => Residue::rational(rational),
                    None => Residue::OUTSIDE,
                },
            })),
        }
    }

    /// Whether two values of one dtype are the same, where that is known: all NaNs are
    /// one value, `-0.0` and `0.0` are two; undefined equals undefined. Enclosures
    /// that overlap give `None`.
    pub fn same(&self, other: &Value) -> Option<bool> {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => Some(a == b),
            (Value::Int(a), Value::Int(b)) => Some(a == b),
            (Value::Float(a), Value::Float(b)) => {
                Some(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
            }
            (Value::Exact(a), Value::Exact(b)) => a.same(b),
            (Value::Field(a), Value::Field(b)) => a.same(*b),
            _ => Some(false),
        }
    }

    pub fn is_bottom(&self) -> bool {
        matches!(self, Value::Exact(Exact::Bottom))
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(i) => Some(*i),
            _ => None,
        }
    }

    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(x) => Some(*x),
            _ => None,
        }
    }

    pub fn as_residue(&self) -> Option<Residue> {
        match self {
            Value::Field(x) => Some(*x),
            _ => None,
        }
    }

    pub fn as_exact(&self) -> Option<&Exact> {
        match self {
            Value::Exact(x) => Some(x),
            _ => None,
        }
    }
}

/// `None` if the text is no number.
fn exact_literal(text: &str) -> Result<Option<Exact>, Fault> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let pi = std::f64::consts::PI;
    Ok(Some(match digits {
        "inf" => Exact::infinity(negative),
        "nan" => Exact::Bottom,
        "pi" if negative => Exact::interval((-pi).next_down(), -pi),
        "pi" => Exact::interval(pi, pi.next_up()),
        _ => match decimal(digits)? {
            Some(value) => Exact::rational(if negative { -value } else { value })?,
            None => return Ok(None),
        },
    }))
}

/// Digits with an optional point and exponent, as the rational they write.
fn decimal(text: &str) -> Result<Option<BigRational>, Fault> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e),
        None => (text, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(None);
    }
    let Ok(exponent) = exponent.parse::<i64>() else {
        return Ok(None);
    };
    let shift = exponent.saturating_sub(fraction.len() as i64);
    if shift.unsigned_abs().saturating_add(digits.len() as u64) > MAX_BITS {
        return Err(Fault::Limit(format!("the literal `{text}` is too long")));
    }
    let Ok(number) = digits.parse::<BigInt>() else {
        return Ok(None);
    };
    let scale = BigInt::from(10).pow(shift.unsigned_abs());
    Ok(Some(if shift < 0 {
        BigRational::new(number, scale)
    } else {
        BigRational::from_integer(number * scale)
    }))
}

/// Steps between two values of a float dtype; 0 between the two zeros and between
/// NaNs, the greatest number between NaN and a number. Of integers the distance.
pub fn ulp_distance(a: &Value, b: &Value, dtype: DType) -> Option<u64> {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => match (ordinal(*a, dtype), ordinal(*b, dtype)) {
            (Some(a), Some(b)) => Some(a.abs_diff(b)),
            (None, None) => Some(0),
            _ => Some(u64::MAX),
        },
        (Value::Int(a), Value::Int(b)) => Some(a.abs_diff(*b)),
        (Value::Bool(a), Value::Bool(b)) => Some(u64::from(a != b)),
        _ => None,
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) if x.is_nan() => f.write_str("nan"),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::Exact(x) => write!(f, "{x}"),
            Value::Field(x) => write!(f, "{x}"),
        }
    }
}
