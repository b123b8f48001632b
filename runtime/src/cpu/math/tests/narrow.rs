//! `f16` and `bf16`: all patterns, through `f32`.

use half::{bf16, f16};
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::super::{single, ulp_bound};
use super::{Worst, functions, table};

/// The worst error among all values of a dtype: `value` of a pattern, `round` to the dtype.
fn worst_value(f: Scalar, dtype: DType, value: impl Fn(u16) -> f32, round: impl Fn(f32) -> f64) -> Worst {
    let mut block: Vec<f32> = (0..=u16::MAX).map(&value).collect();
    assert!(single::unary(f, &mut block));
    let mut worst = Worst::default();
    for (k, got) in (0..=u16::MAX).zip(block) {
        let x = f64::from(value(k));
        worst.see(dtype, &[x], round(got), table(f, DType::F64, &[x]));
    }
    worst
}

#[test]
fn all_values_of_narrow_dtypes_keep_the_bounds() {
    for f in functions(1) {
        let half = worst_value(f, DType::F16, |k| f16::from_bits(k).to_f32(), |y| f16::from_f32(y).to_f64());
        let brain =
            worst_value(f, DType::BF16, |k| bf16::from_bits(k).to_f32(), |y| bf16::from_f32(y).to_f64());
        for (dtype, worst) in [(DType::F16, half), (DType::BF16, brain)] {
            let bound = ulp_bound(f, dtype);
            assert!(worst.distance <= bound, "{f} at {dtype} is to be within {bound}: {worst}");
        }
    }
}

/// What rounds within takes the rounding of its dtype, and is the table's to the bit.
#[test]
fn divisions_round_in_their_dtype() {
    let round = |y: f32| f16::from_f32(y).to_f32();
    let numbers: Vec<f32> = (0..u16::MAX).step_by(251).map(|k| f16::from_bits(k).to_f32()).collect();
    for x in &numbers {
        for y in &numbers {
            let args = [f64::from(*x), f64::from(*y)];
            let floor = round(single::floor_divide(*x, *y, round));
            let trunc = round(single::trunc_divide(*x, *y, round));
            for (f, got) in [(Scalar::FloorDivide, floor), (Scalar::TruncDivide, trunc)] {
                let want = table(f, DType::F16, &args);
                let same = f64::from(got).to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{f} of {args:?} is {got}, not {want}");
            }
        }
    }
}
