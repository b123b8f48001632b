//! Blocks have the bits of single elements, at any length and with any target features.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::super::{double, single};
use super::{Draws, functions, special};

#[target_feature(enable = "avx2,fma")]
fn wide_single(f: Scalar, xs: &mut [f32], ys: &[f32]) -> bool {
    single::unary(f, xs) || single::binary(f, xs, ys)
}

#[target_feature(enable = "avx2,fma")]
fn wide_double(f: Scalar, xs: &mut [f64], ys: &[f64]) -> bool {
    double::unary(f, xs) || double::binary(f, xs, ys)
}

/// NaNs are one value.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

/// Special values and random ones, not a multiple of any vector's length.
fn numbers(dtype: DType, seed: u64) -> Vec<f64> {
    let mut draws = Draws(seed);
    special(dtype).into_iter().chain((0..1000).map(|_| draws.number(dtype))).collect()
}

/// What a form of a function makes of the pairs, each NaN one value.
fn patterns<T: Copy + Into<f64>>(xs: &[T], ys: &[T], form: impl Fn(&mut [T], &[T]) -> bool) -> Vec<u64> {
    let mut block = xs.to_vec();
    assert!(form(&mut block, ys));
    block.iter().map(|y| bits((*y).into())).collect()
}

/// Both forms of a function agree with it element by element, at the lengths.
fn check<T: Copy + Into<f64>>(
    f: Scalar,
    xs: &[T],
    ys: &[T],
    plain: impl Fn(&mut [T], &[T]) -> bool,
    wide: impl Fn(&mut [T], &[T]) -> bool,
) {
    let alone: Vec<u64> = xs.iter().zip(ys).flat_map(|(x, y)| patterns(&[*x], &[*y], &plain)).collect();
    for length in (0..=67).chain([xs.len()]) {
        let start = (7 * length) % (xs.len() - length + 1);
        let range = start..start + length;
        let (xs, ys, alone) = (&xs[range.clone()], &ys[range.clone()], &alone[range]);
        assert_eq!(patterns(xs, ys, &plain), alone, "{f} of {length}");
        assert_eq!(patterns(xs, ys, &wide), alone, "{f} of {length}, wide");
    }
}

#[test]
fn blocks_have_the_bits_of_single_elements() {
    let found = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let (xd, yd) = (numbers(DType::F64, 3), numbers(DType::F64, 4));
    let narrow = |numbers: Vec<f64>| -> Vec<f32> { numbers.iter().map(|x| *x as f32).collect() };
    let (xs, ys) = (narrow(numbers(DType::F32, 5)), narrow(numbers(DType::F32, 6)));
    for f in functions(1).chain(functions(2)) {
        let plain = |xs: &mut [f32], ys: &[f32]| single::unary(f, xs) || single::binary(f, xs, ys);
        // Sound: the features were found.
        let wide = |xs: &mut [f32], ys: &[f32]| {
            if found { unsafe { wide_single(f, xs, ys) } } else { plain(xs, ys) }
        };
        check(f, &xs, &ys, plain, wide);
        let plain = |xs: &mut [f64], ys: &[f64]| double::unary(f, xs) || double::binary(f, xs, ys);
        let wide = |xs: &mut [f64], ys: &[f64]| {
            if found { unsafe { wide_double(f, xs, ys) } } else { plain(xs, ys) }
        };
        check(f, &xd, &yd, plain, wide);
    }
}
