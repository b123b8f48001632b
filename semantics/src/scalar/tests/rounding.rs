//! Rounding to the dtypes against exact rationals and against the hardware.

use num_rational::BigRational;
use proptest::prelude::*;

use crate::dtype::DType;

use super::super::{Domain, Scalar, Value, ulp_distance};
use super::cases;

fn all_finite(dtype: DType) -> Vec<f64> {
    let decode = |bits: u16| match dtype {
        DType::F16 => half::f16::from_bits(bits).to_f64(),
        _ => half::bf16::from_bits(bits).to_f64(),
    };
    let mut values: Vec<f64> = (0..=u16::MAX).map(decode).filter(|x| x.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn eval(fun: Scalar, dtype: DType, args: &[f64]) -> f64 {
    let args: Vec<Value> = args.iter().map(|x| Value::Float(*x)).collect();
    let value = fun.eval(Domain::Ieee, dtype, &args).expect("arithmetic is total");
    value.as_float().expect("arithmetic gives floats")
}

#[test]
fn every_narrow_value_rounds_to_itself() {
    for dtype in [DType::F16, DType::BF16] {
        for x in all_finite(dtype) {
            assert_eq!(Value::round(x, dtype).to_bits(), x.to_bits(), "{x} at {dtype}");
        }
        assert!(Value::round(f64::NAN, dtype).is_nan());
        assert_eq!(Value::round(f64::NEG_INFINITY, dtype), f64::NEG_INFINITY);
    }
}

/// Between neighbours: below the middle goes down, above it goes up, the middle goes
/// to the even one.
#[test]
fn between_neighbours_the_nearest_wins() {
    for dtype in [DType::F16, DType::BF16] {
        let values = all_finite(dtype);
        for pair in values.windows(2).filter(|p| p[0] != p[1]) {
            let (lo, hi) = (pair[0], pair[1]);
            let middle = lo + (hi - lo) / 2.0;
            let tie = Value::round(middle, dtype);
            assert!(tie == lo || tie == hi);
            assert_eq!(Value::round(middle.next_down(), dtype), lo, "{lo} {hi}");
            assert_eq!(Value::round(middle.next_up(), dtype), hi, "{lo} {hi}");
            let encode = |x| match dtype {
                DType::F16 => half::f16::from_f64(x).to_bits(),
                _ => half::bf16::from_f64(x).to_bits(),
            };
            assert_eq!(encode(tie) % 2, 0, "{middle} at {dtype}");
        }
    }
}

#[test]
fn overflow_starts_half_a_step_above_the_largest() {
    assert_eq!(Value::round(65519.99, DType::F16), 65504.0);
    assert_eq!(Value::round(65520.0, DType::F16), f64::INFINITY);
    assert_eq!(Value::round(-65520.0, DType::F16), f64::NEG_INFINITY);
    let top = 3.3895313892515355e38;
    let step = 2f64.powi(120);
    assert_eq!(Value::round((top + step / 2.0).next_down(), DType::BF16), top);
    assert_eq!(Value::round(top + step / 2.0, DType::BF16), f64::INFINITY);
}

#[test]
fn neighbours_are_one_apart() {
    for dtype in [DType::F16, DType::BF16] {
        let values = all_finite(dtype);
        for pair in values.windows(2).filter(|p| p[0] != p[1]) {
            let distance = ulp_distance(&Value::Float(pair[0]), &Value::Float(pair[1]), dtype);
            assert_eq!(distance, Some(1), "{pair:?}");
            assert_eq!(eval(Scalar::Nextafter, dtype, &[pair[0], f64::INFINITY]), pair[1]);
            assert_eq!(eval(Scalar::Nextafter, dtype, &[pair[1], f64::NEG_INFINITY]), pair[0]);
        }
    }
}

fn exact(x: f64) -> BigRational {
    BigRational::from_float(x).expect("a finite value")
}

/// `got` is a nearest value of the dtype to `want`: its neighbours are not nearer.
fn is_nearest(got: f64, want: &BigRational, dtype: DType) -> bool {
    if got.is_infinite() {
        return true;
    }
    let error = |x: f64| {
        let difference = exact(x) - want;
        if difference < BigRational::from_integer(0.into()) { -difference } else { difference }
    };
    [f64::INFINITY, f64::NEG_INFINITY].into_iter().all(|side| {
        let next = eval(Scalar::Nextafter, dtype, &[got, side]);
        next.is_infinite() || error(got) <= error(next)
    })
}

fn narrow() -> impl Strategy<Value = (DType, f64, f64)> {
    let dtype = prop_oneof![Just(DType::F16), Just(DType::BF16)];
    (dtype, any::<u16>(), any::<u16>()).prop_map(|(dtype, a, b)| match dtype {
        DType::F16 => (dtype, half::f16::from_bits(a).to_f64(), half::f16::from_bits(b).to_f64()),
        _ => (dtype, half::bf16::from_bits(a).to_f64(), half::bf16::from_bits(b).to_f64()),
    })
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn narrow_arithmetic_is_correctly_rounded((dtype, x, y) in narrow()) {
        prop_assume!(x.is_finite() && y.is_finite());
        let (a, b) = (exact(x), exact(y));
        prop_assert!(is_nearest(eval(Scalar::Add, dtype, &[x, y]), &(&a + &b), dtype));
        prop_assert!(is_nearest(eval(Scalar::Sub, dtype, &[x, y]), &(&a - &b), dtype));
        prop_assert!(is_nearest(eval(Scalar::Mul, dtype, &[x, y]), &(&a * &b), dtype));
        if y != 0.0 {
            prop_assert!(is_nearest(eval(Scalar::Div, dtype, &[x, y]), &(&a / &b), dtype));
        }
        if x >= 0.0 {
            // sqrt(a) is within half a step of r: (r - h)^2 <= a <= (r + h)^2.
            let root = eval(Scalar::Sqrt, dtype, &[x]);
            let half = |side| (exact(root) + exact(eval(Scalar::Nextafter, dtype, &[root, side])))
                / BigRational::from_integer(2.into());
            let (up, down) = (half(f64::INFINITY), half(f64::NEG_INFINITY));
            prop_assert!(root == 0.0 || (&down * &down <= a && a <= &up * &up));
        }
    }

    #[test]
    fn f32_arithmetic_is_the_hardware_s(a in any::<u32>(), b in any::<u32>()) {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        let (wide_x, wide_y) = (f64::from(x), f64::from(y));
        let same = |got: f64, want: f32| {
            got.to_bits() == f64::from(want).to_bits() || (got.is_nan() && want.is_nan())
        };
        prop_assert!(same(eval(Scalar::Add, DType::F32, &[wide_x, wide_y]), x + y));
        prop_assert!(same(eval(Scalar::Sub, DType::F32, &[wide_x, wide_y]), x - y));
        prop_assert!(same(eval(Scalar::Mul, DType::F32, &[wide_x, wide_y]), x * y));
        prop_assert!(same(eval(Scalar::Div, DType::F32, &[wide_x, wide_y]), x / y));
        prop_assert!(same(eval(Scalar::Fmod, DType::F32, &[wide_x, wide_y]), x % y));
        prop_assert!(same(eval(Scalar::Sqrt, DType::F32, &[wide_x]), x.sqrt()));
    }
}

/// Exhaustive: monotone functions stay monotone after rounding.
#[test]
fn narrow_elementary_functions_are_monotone() {
    use Scalar::*;
    for dtype in [DType::F16, DType::BF16] {
        let values = all_finite(dtype);
        for fun in [Exp, Exp2, Expm1, Sinh, Tanh, Asinh, Atan, Erf, Sigmoid, Floor, Round, Log, Sqrt] {
            let images: Vec<f64> = values.iter().map(|x| eval(fun, dtype, &[*x])).collect();
            let defined: Vec<f64> = images.into_iter().filter(|y| !y.is_nan()).collect();
            assert!(defined.is_sorted(), "{fun} at {dtype}");
        }
    }
}
