//! What the functions on single elements cost: `cargo bench -p rtv-runtime --bench math`,
//! by hand.
//!
//! Prints nanoseconds for each element of blocks of 1024, the best of many runs, on x86-64
//! with the features `avx2` and `fma`.

use std::hint::black_box;
use std::time::Instant;

use rtv_runtime::cpu::math::{double, single};
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

const BLOCK: usize = 1024;

/// Blocks in one run, and runs.
const BLOCKS: usize = 200;
const RUNS: usize = 30;

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn unary_single(function: Scalar, xs: &mut [f32]) {
    single::unary(function, xs);
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn unary_double(function: Scalar, xs: &mut [f64]) {
    double::unary(function, xs);
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn binary_single(function: Scalar, xs: &mut [f32], ys: &[f32]) {
    single::binary(function, xs, ys);
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn binary_double(function: Scalar, xs: &mut [f64], ys: &[f64]) {
    double::binary(function, xs, ys);
}

/// The best time of an element of a block.
fn time<T: Copy>(given: &[T; BLOCK], mut apply: impl FnMut(&mut [T; BLOCK])) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let started = Instant::now();
        for _ in 0..BLOCKS {
            let mut block = *black_box(given);
            apply(&mut block);
            black_box(&block);
        }
        best = best.min(started.elapsed().as_nanos() as f64 / (BLOCKS * BLOCK) as f64);
    }
    best
}

fn main() {
    #[cfg(target_arch = "x86_64")]
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
        println!("this machine has no avx2 and fma");
        return;
    }
    // Within the domains of all functions, and different in each block of eight.
    let xs: [f32; BLOCK] = std::array::from_fn(|k| 0.05 + 0.9 * (k * 389 % BLOCK) as f32 / BLOCK as f32);
    let ys: [f32; BLOCK] = std::array::from_fn(|k| 0.5 + 3.0 * (k * 643 % BLOCK) as f32 / BLOCK as f32);
    let (xd, yd) = (xs.map(f64::from), ys.map(f64::from));
    println!("{:<14} {:>7} {:>7}", "ns an element", "f32", "f64");
    for function in Scalar::all() {
        let arity = function.arity();
        if function.result(&vec![DType::F32; arity]) != Ok(DType::F32) {
            continue;
        }
        // Sound: the features were found above.
        let (f32s, f64s) = unsafe {
            match arity {
                1 => (time(&xs, |b| unary_single(function, b)), time(&xd, |b| unary_double(function, b))),
                _ => (
                    time(&xs, |b| binary_single(function, b, &ys)),
                    time(&xd, |b| binary_double(function, b, &yd)),
                ),
            }
        };
        println!("{:<14} {f32s:>7.2} {f64s:>7.2}", function.name());
    }
}
