//! Blocks have the bits of single elements, at any length and with any target features.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::super::{double, single};
use super::{Draws, functions, special};

/// Special values and random ones, not a multiple of any vector's length.
fn numbers(dtype: DType, seed: u64) -> Vec<f64> {
    let mut draws = Draws(seed);
    special(dtype).into_iter().chain((0..1000).map(|_| draws.number(dtype))).collect()
}

fn numbers_single(seed: u64) -> Vec<f32> {
    numbers(DType::F32, seed).iter().map(|x| *x as f32).collect()
}

#[inline(always)]
fn apply_single(f: Scalar, xs: &mut [f32], ys: &[f32]) -> bool {
    single::unary(f, xs) || single::binary(f, xs, ys)
}

#[inline(always)]
fn apply_double(f: Scalar, xs: &mut [f64], ys: &[f64]) -> bool {
    double::unary(f, xs) || double::binary(f, xs, ys)
}

/// What a form of a function makes of the pairs, as bits; NaNs are one value.
fn bits<T: Copy + Into<f64>>(xs: &[T], ys: &[T], form: impl Fn(&mut [T], &[T]) -> bool) -> Vec<u64> {
    let mut block = xs.to_vec();
    assert!(form(&mut block, ys));
    let one_nan = |y: f64| if y.is_nan() { f64::NAN.to_bits() } else { y.to_bits() };
    block.iter().map(|y| one_nan((*y).into())).collect()
}

/// `blocks` agrees at many lengths with `elements`, which is called for one at a time.
fn check<T: Copy + Into<f64>>(
    f: Scalar,
    (xs, ys): (&[T], &[T]),
    elements: impl Fn(&mut [T], &[T]) -> bool,
    blocks: impl Fn(&mut [T], &[T]) -> bool,
) {
    let alone: Vec<u64> = xs.iter().zip(ys).flat_map(|(x, y)| bits(&[*x], &[*y], &elements)).collect();
    for length in (0..=67).chain([xs.len()]) {
        let start = (7 * length) % (xs.len() - length + 1);
        let range = start..start + length;
        let together = bits(&xs[range.clone()], &ys[range.clone()], &blocks);
        assert_eq!(together, alone[range], "{f} of {length} from {start}");
    }
}

#[test]
fn blocks_have_the_bits_of_single_elements() {
    let singles = (numbers_single(5), numbers_single(6));
    let doubles = (numbers(DType::F64, 3), numbers(DType::F64, 4));
    for f in functions(1).chain(functions(2)) {
        let apply = |xs: &mut [f32], ys: &[f32]| apply_single(f, xs, ys);
        check(f, (&singles.0, &singles.1), apply, apply);
        let apply = |xs: &mut [f64], ys: &[f64]| apply_double(f, xs, ys);
        check(f, (&doubles.0, &doubles.1), apply, apply);
    }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn wide_single(f: Scalar, xs: &mut [f32], ys: &[f32]) -> bool {
    apply_single(f, xs, ys)
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn wide_double(f: Scalar, xs: &mut [f64], ys: &[f64]) -> bool {
    apply_double(f, xs, ys)
}

/// Whether this machine runs the wide forms.
#[cfg(target_arch = "x86_64")]
fn has_wide() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_wide() -> bool {
    true
}

/// A function of one number, as vector code where this machine has it.
pub(super) fn fastest_single(f: Scalar, xs: &mut [f32]) -> bool {
    // Sound: the features were found.
    if has_wide() { unsafe { wide_single(f, xs, &[]) } } else { single::unary(f, xs) }
}

/// A function of one number, as vector code where this machine has it.
pub(super) fn fastest_double(f: Scalar, xs: &mut [f64]) -> bool {
    // Sound: the features were found.
    if has_wide() { unsafe { wide_double(f, xs, &[]) } } else { double::unary(f, xs) }
}

#[test]
fn vector_code_has_the_bits_of_single_elements() {
    if !has_wide() {
        println!("not run: this machine has no avx2 and fma");
        return;
    }
    let singles = (numbers_single(7), numbers_single(8));
    let doubles = (numbers(DType::F64, 9), numbers(DType::F64, 10));
    for f in functions(1).chain(functions(2)) {
        // Sound: the features were found above.
        let wide = |xs: &mut [f32], ys: &[f32]| unsafe { wide_single(f, xs, ys) };
        check(f, (&singles.0, &singles.1), |xs, ys| apply_single(f, xs, ys), wide);
        let wide = |xs: &mut [f64], ys: &[f64]| unsafe { wide_double(f, xs, ys) };
        check(f, (&doubles.0, &doubles.1), |xs, ys| apply_double(f, xs, ys), wide);
    }
}
