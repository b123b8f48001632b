//! Conversion between dtypes.

use num_traits::ToPrimitive;

use crate::dtype::{Category, DType};

use super::int::wrap;
use super::round::round;
use super::{Domain, Exact, Fault, Residue, Value};

/// `value` of dtype `from` as a value of `to`.
///
/// To bool: whether it is not 0 (NaN is true). Integer to integer wraps. To a float:
/// nearest, ties to even; f16 and bf16 are reached through f32, as in PyTorch, so
/// that two roundings may be seen. Float to integer truncates; NaN and what lies
/// outside the range is unpinned, and here is what the usual conversion instruction
/// gives: the least i64 (for i64) or the least i32 wrapped (for the narrower ones).
/// In the exact domain float dtypes do not round, and the same choices hold. A residue
/// stays what it is as a float, and is nothing else.
pub fn cast(domain: Domain, from: DType, to: DType, value: &Value) -> Result<Value, Fault> {
    if value.is_bottom() {
        return Ok(Value::BOTTOM);
    }
    match (from.category(), value) {
        (Category::Bool, Value::Bool(b)) => Ok(from_int(domain, i64::from(*b), to)),
        (Category::Int, Value::Int(i)) => Ok(from_int(domain, *i, to)),
        (Category::Float, Value::Float(x)) => Ok(from_float(*x, to)),
        (Category::Float, Value::Exact(x)) => from_exact(x, to),
        (Category::Float, Value::Field(_)) if to.is_float() => Ok(value.clone()),
        (Category::Float, Value::Field(_)) => Err(Fault::Undecided(format!("a residue as {to}"))),
        _ => Err(Fault::Value(format!("`{value}` is no value of {from}"))),
    }
}

fn from_int(domain: Domain, x: i64, to: DType) -> Value {
    match to.category() {
        Category::Bool => Value::Bool(x != 0),
        Category::Int => Value::Int(wrap(x.into(), to)),
        Category::Float if domain == Domain::Exact => Value::Exact(Exact::int(x)),
        Category::Float if domain == Domain::Field => Value::Field(Residue::int(x)),
        Category::Float => Value::Float(match to {
            DType::F64 => x as f64,
            // The integer itself rounds to f32 in one step.
            _ => round((x as f32).into(), to),
        }),
    }
}

fn from_float(x: f64, to: DType) -> Value {
    match to.category() {
        Category::Bool => Value::Bool(x != 0.0),
        Category::Float => Value::Float(round(if to == DType::F64 { x } else { round(x, DType::F32) }, to)),
        Category::Int => Value::Int(truncated(x.is_finite().then(|| x.trunc().to_i128()).flatten(), to)),
    }
}

fn from_exact(x: &Exact, to: DType) -> Result<Value, Fault> {
    match to.category() {
        Category::Float => Ok(Value::Exact(x.clone())),
        Category::Bool => match (x.signum(), x) {
            (Some(sign), _) => Ok(Value::Bool(sign.is_ne())),
            (None, _) => Err(Fault::Undecided(format!("whether {x} is zero"))),
        },
        Category::Int => {
            let whole = match x {
                Exact::Rational(r) => r.trunc().to_integer().to_i128(),
                Exact::Interval(lo, hi) if lo.trunc() == hi.trunc() => lo.trunc().to_i128(),
                Exact::Interval(..) => {
                    return Err(Fault::Undecided(format!("the integer part of {x}")));
                }
                _ => None,
            };
            Ok(Value::Int(truncated(whole, to)))
        }
    }
}

/// The integer part, brought into the range of the dtype; `None` is NaN, an infinity
/// or out of reach.
fn truncated(whole: Option<i128>, to: DType) -> i64 {
    let wide = if to == DType::I64 { DType::I64 } else { DType::I32 };
    let (least, most) = wide.int_range().unwrap_or((i64::MIN, i64::MAX));
    match whole {
        Some(w) if (i128::from(least)..=i128::from(most)).contains(&w) => wrap(w, to),
        _ => wrap(least.into(), to),
    }
}
