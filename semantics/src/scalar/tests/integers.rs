//! Integer rows against plain `i128` arithmetic.

use proptest::prelude::*;

use crate::dtype::{DType, DTypeClass};

use super::super::{Domain, Fault, Scalar, Value};
use super::{cases, special_ints};

/// Two's complement by arithmetic only.
fn wrapped(x: i128, dtype: DType) -> i64 {
    let (least, _) = dtype.int_range().expect("an integer dtype");
    let size = 1i128 << dtype.bits();
    let least = i128::from(least);
    i64::try_from((x - least).rem_euclid(size) + least).expect("in range")
}

fn eval(fun: Scalar, dtype: DType, x: i64, y: i64) -> Result<i64, Fault> {
    let value = fun.eval(Domain::Ieee, dtype, &[Value::Int(x), Value::Int(y)])?;
    Ok(value.as_int().expect("an integer row"))
}

fn agrees(dtype: DType, x: i64, y: i64) {
    let (a, b) = (i128::from(x), i128::from(y));
    let is = |fun, want: i128| {
        assert_eq!(eval(fun, dtype, x, y), Ok(wrapped(want, dtype)), "{fun} {dtype} {x} {y}");
    };
    is(Scalar::Add, a + b);
    is(Scalar::Sub, a - b);
    is(Scalar::Mul, a * b);
    is(Scalar::Maximum, a.max(b));
    is(Scalar::Minimum, a.min(b));
    is(Scalar::BitwiseAnd, a & b);
    is(Scalar::BitwiseOr, a | b);
    is(Scalar::BitwiseXor, a ^ b);
    let width = i128::from(dtype.bits());
    let inside = (0..width).contains(&b);
    is(Scalar::BitwiseLeftShift, if inside { a * (1 << b) } else { 0 });
    is(Scalar::BitwiseRightShift, if inside { a.div_euclid(1 << b) } else { -i128::from(a < 0) });
    if b == 0 {
        for fun in [Scalar::FloorDivide, Scalar::TruncDivide, Scalar::Remainder, Scalar::Fmod] {
            assert!(matches!(eval(fun, dtype, x, y), Err(Fault::Arithmetic(_))), "{fun}");
        }
        return;
    }
    let floor = if (a % b != 0) && ((a < 0) != (b < 0)) { a / b - 1 } else { a / b };
    is(Scalar::FloorDivide, floor);
    is(Scalar::Remainder, a - b * floor);
    is(Scalar::TruncDivide, a / b);
    is(Scalar::Fmod, a % b);
}

#[test]
fn corners_of_every_width() {
    for dtype in DTypeClass::Int.members() {
        for x in special_ints(*dtype) {
            for y in special_ints(*dtype) {
                agrees(*dtype, x, y);
            }
        }
    }
}

#[test]
fn powers_by_repeated_multiplication() {
    for dtype in DTypeClass::Int.members() {
        for x in special_ints(*dtype) {
            let mut power = 1;
            for n in 0..70 {
                assert_eq!(eval(Scalar::Pow, *dtype, x, n), Ok(power), "{x} ** {n} {dtype}");
                power = wrapped(i128::from(power) * i128::from(x), *dtype);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn random_pairs(kind in 0usize..5, x in any::<i64>(), y in any::<i64>()) {
        let dtype = DTypeClass::Int.members()[kind];
        agrees(dtype, wrapped(x.into(), dtype), wrapped(y.into(), dtype));
    }
}
