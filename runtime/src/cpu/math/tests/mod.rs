//! The functions against the scalar table, and against true values.

mod alike;
mod narrow;
mod patterns;
mod special;
mod true_values;

use std::fmt;

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Scalar, Value};

use super::{double, single};

/// What the table gives at arguments of the dtype.
fn table(function: Scalar, dtype: DType, args: &[f64]) -> f64 {
    let args: Vec<Value> = args.iter().map(|x| Value::Float(*x)).collect();
    match function.eval(Domain::Ieee, dtype, &args) {
        Ok(Value::Float(y)) => y,
        other => panic!("{function} of floats is a float: {other:?}"),
    }
}

/// What the backend gives at arguments of `f32` or `f64`.
fn apply(f: Scalar, dtype: DType, args: &[f64]) -> f64 {
    let y = args.get(1).copied().unwrap_or(0.0);
    if dtype == DType::F64 {
        let mut block = [args[0]];
        assert!(double::unary(f, &mut block) || double::binary(f, &mut block, &[y]));
        block[0]
    } else {
        let mut block = [args[0] as f32];
        assert!(single::unary(f, &mut block) || single::binary(f, &mut block, &[y as f32]));
        f64::from(block[0])
    }
}

/// The functions of `arity` floats to a float.
fn functions(arity: usize) -> impl Iterator<Item = Scalar> {
    Scalar::all().filter(move |f| f.arity() == arity && f.result(&vec![DType::F32; arity]) == Ok(DType::F32))
}

/// The distance of `got` from the true value in units of the last place of the dtype there:
/// `value` and `rest` such units. The values of the dtype go on beyond the greatest one,
/// and infinity is the next power of two.
/// Infinite where one is NaN, or the signs of two zeros differ.
fn distance(dtype: DType, got: f64, value: f64, rest: f64) -> f64 {
    let (bits, least) = match dtype {
        DType::F16 => (11, -14),
        DType::BF16 => (8, -126),
        DType::F32 => (24, -126),
        DType::F64 => (53, -1022),
        _ => panic!("{dtype} is no float"),
    };
    if got.is_nan() || value.is_nan() {
        return if got.is_nan() && value.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == 0.0 && value == 0.0 {
        return if got.is_sign_negative() == value.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    if got == value && rest == 0.0 {
        return 0.0;
    }
    // Halves of what is great, since the value beyond the greatest is no f64.
    let scale = if value.abs() < 1.0 { 1.0 } else { 0.5 };
    let limit = power(-least) * (4.0 * scale);
    let difference = (scale * got).clamp(-limit, limit) - (scale * value).clamp(-limit, limit);
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).clamp(least, 1 - least);
    let last_place = power(exponent) * power(1 - bits) * scale;
    (difference / last_place - rest).abs()
}

/// 2 to the power `e`, a normal number; `powi` takes longer than the functions measured.
fn power(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// The worst of the errors that were seen.
#[derive(Clone, Debug, Default)]
struct Worst {
    count: usize,
    distance: f64,
    args: Vec<f64>,
    got: f64,
    value: f64,
}

impl Worst {
    fn see(&mut self, dtype: DType, args: &[f64], got: f64, value: f64) {
        self.see_with_rest(dtype, args, got, value, 0.0);
    }

    fn see_with_rest(&mut self, dtype: DType, args: &[f64], got: f64, value: f64, rest: f64) {
        self.count += 1;
        let distance = distance(dtype, got, value, rest);
        if distance > self.distance {
            *self = Worst { count: self.count, distance, args: args.to_vec(), got, value };
        }
    }
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Worst { count, distance, args, got, value } = self;
        write!(f, "{distance:.4} at {args:?}: {got:e} for {value:e}; of {count}")
    }
}

/// The worst of `count` cases: arguments, result, and true value.
fn worst_of(dtype: DType, count: usize, mut case: impl FnMut() -> (Vec<f64>, f64, f64)) -> Worst {
    let mut worst = Worst::default();
    for _ in 0..count {
        let (args, got, value) = case();
        worst.see(dtype, &args, got, value);
    }
    worst
}

/// Random numbers: xorshift64*, from a seed that is not 0.
struct Draws(u64);

impl Draws {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Any value of the dtype half of the time, else one near 1 in magnitude.
    fn number(&mut self, dtype: DType) -> f64 {
        let word = self.word();
        let near = 2f64.powi((self.word() % 12) as i32 - 6) * (1.0 + (word >> 12) as f64 / 2f64.powi(52));
        let near = if word & 1 == 0 { near } else { -near };
        match (self.word() % 2, dtype) {
            (0, DType::F64) => f64::from_bits(word),
            (0, _) => f64::from(f32::from_bits((word >> 32) as u32)),
            (_, DType::F64) => near,
            _ => f64::from(near as f32),
        }
    }

    fn pair(&mut self, dtype: DType) -> (f64, f64) {
        (self.number(dtype), self.number(dtype))
    }
}

/// NaN, and the values at which formats begin, end or change.
fn special(dtype: DType) -> Vec<f64> {
    let (least, least_normal, greatest) = match dtype {
        DType::F64 => (f64::from_bits(1), f64::MIN_POSITIVE, f64::MAX),
        _ => (f64::from(f32::from_bits(1)), f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
    };
    let magnitudes = [
        0.0,
        least,
        least * 3.0,
        least_normal,
        1e-9,
        0.25,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        7.0,
        1e6,
        3e9,
        greatest,
        f64::INFINITY,
    ];
    let rounded = |x: f64| if dtype == DType::F64 { x } else { f64::from(x as f32) };
    magnitudes.iter().flat_map(|x| [rounded(*x), -rounded(*x)]).chain([f64::NAN]).collect()
}
