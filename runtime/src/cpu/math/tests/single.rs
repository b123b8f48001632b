//! `f32` against the table's values in `f64`, which are right to far more bits than are asked.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::super::{single, ulp_bound};
use super::{Draws, Worst, functions, table, worst_of};

/// The worst error of a function of one number among each `stride`th pattern.
fn worst_pattern(f: Scalar, stride: u32) -> Worst {
    let mut worst = Worst::default();
    let mut block = [0.0; 4096];
    let patterns: Vec<u32> = (0..4096).collect();
    let mut base = 0u32;
    loop {
        let given = |k: usize| f32::from_bits(base + patterns[k] * stride);
        block.iter_mut().enumerate().for_each(|(k, x)| *x = given(k));
        assert!(single::unary(f, &mut block));
        for (k, got) in block.iter().enumerate() {
            let x = f64::from(given(k));
            worst.see(DType::F32, &[x], f64::from(*got), table(f, DType::F64, &[x]));
        }
        match base.checked_add(4096 * stride) {
            Some(next) if next <= u32::MAX - 4095 * stride => base = next,
            _ => return worst,
        }
    }
}

fn hold(f: Scalar, worst: Worst) {
    let bound = ulp_bound(f, DType::F32);
    println!("{f:<14} {worst}");
    assert!(worst.distance <= bound, "{f} is to be within {bound}: {worst}");
}

#[test]
fn functions_of_one_number_keep_their_bounds() {
    functions(1).for_each(|f| hold(f, worst_pattern(f, 997)));
}

/// All patterns: about an hour. `cargo test --release -p rtv-runtime math -- --ignored`.
#[test]
#[ignore = "takes an hour"]
fn functions_of_one_number_keep_their_bounds_everywhere() {
    functions(1).for_each(|f| hold(f, worst_pattern(f, 1)));
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
