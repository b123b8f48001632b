//! `f32` against the table's values in `f64`, which are right to far more bits than are asked.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::super::{single, ulp_bound};
use super::alike::{fastest_double, fastest_single};
use super::{Draws, Worst, functions, table, worst_of};

/// The worst error of a function of one number among every 997th pattern.
fn worst_pattern(f: Scalar) -> Worst {
    const BLOCK: u32 = 4096;
    const STRIDE: u32 = 997;
    let mut worst = Worst::default();
    for base in (0..=u32::MAX).step_by((BLOCK * STRIDE) as usize) {
        let given: Vec<f32> = (0..BLOCK).map(|k| f32::from_bits(base.wrapping_add(k * STRIDE))).collect();
        let mut block = given.clone();
        assert!(fastest_single(f, &mut block));
        for (x, got) in given.iter().zip(block) {
            let x = f64::from(*x);
            worst.see(DType::F32, &[x], f64::from(got), table(f, DType::F64, &[x]));
        }
    }
    worst
}

fn hold(f: Scalar, worst: Worst) {
    let bound = ulp_bound(f, DType::F32);
    println!("{f:<14} {worst}");
    assert!(worst.distance <= bound, "{f} is to be within {bound}: {worst}");
}

#[test]
fn functions_of_one_number_keep_their_bounds() {
    functions(1).for_each(|f| hold(f, worst_pattern(f)));
}

/// All patterns, against our own `f64` functions, since `libm` would take hours; what is
/// rounded from these needs no such test.
///
/// `cargo test --release -p rtv-runtime math -- --ignored --nocapture`
#[test]
#[ignore = "takes an hour"]
fn functions_with_polynomials_in_f32_keep_their_bounds_everywhere() {
    let own = |f: &Scalar| (0.52..f64::INFINITY).contains(&ulp_bound(*f, DType::F32));
    for f in functions(1).filter(own) {
        let mut worst = Worst::default();
        for base in (0..=u32::MAX).step_by(4096) {
            let mut block: Vec<f32> = (base..=base + 4095).map(f32::from_bits).collect();
            let given: Vec<f64> = block.iter().map(|x| f64::from(*x)).collect();
            let mut values = given.clone();
            assert!(fastest_single(f, &mut block) && fastest_double(f, &mut values));
            for ((x, got), value) in given.iter().zip(block).zip(values) {
                worst.see(DType::F32, &[*x], f64::from(got), value);
            }
        }
        hold(f, worst);
    }
}

#[test]
fn functions_of_two_numbers_keep_their_bounds() {
    let mut draws = Draws(1);
    for f in functions(2) {
        let worst = worst_of(DType::F32, 100_000, || {
            let (x, y) = draws.pair(DType::F32);
            let mut got = [x as f32];
            assert!(single::binary(f, &mut got, &[y as f32]));
            (vec![x, y], f64::from(got[0]), exact_or_double(f, x, y))
        });
        hold(f, worst);
    }
}

/// Division with a rounding of its own within is a function of the dtype.
fn exact_or_double(f: Scalar, x: f64, y: f64) -> f64 {
    let own = matches!(f, Scalar::FloorDivide | Scalar::TruncDivide | Scalar::Nextafter);
    table(f, if own { DType::F32 } else { DType::F64 }, &[x, y])
}
