//! Results that are the table's: at special arguments, and of exact functions at any.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::super::ulp_bound;
use super::{Draws, apply, distance, functions, special, table};

/// Checks that the result is the table's: to the bit where the function is exact or rounded
/// once and where all arguments are NaN, infinite or zero, else within the two errors.
fn check(f: Scalar, dtype: DType, args: &[f64]) {
    let (got, want) = (apply(f, dtype, args), table(f, dtype, args));
    let bound = ulp_bound(f, dtype);
    let special = args.iter().all(|x| *x == 0.0 || !x.is_finite());
    let same = special || bound <= 0.5 || f == Scalar::Lgamma;
    let of_table = if dtype == DType::F64 { f64::from(f.row().ulp) } else { 0.51 };
    let far = distance(dtype, got, want, 0.0);
    assert!(
        far <= if same { 0.0 } else { bound + of_table },
        "{f} of {args:?} at {dtype} is {got:e}, not {want:e}"
    );
    assert_eq!(got.is_infinite(), want.is_infinite(), "{f} of {args:?} at {dtype}: {got:e}, {want:e}");
}

#[test]
fn special_arguments_give_what_the_table_gives() {
    for dtype in [DType::F32, DType::F64] {
        for f in functions(1) {
            special(dtype).iter().for_each(|x| check(f, dtype, &[*x]));
        }
        for f in functions(2) {
            for x in special(dtype) {
                special(dtype).iter().for_each(|y| check(f, dtype, &[x, *y]));
            }
        }
    }
}

#[test]
fn exact_functions_are_the_tables() {
    let mut draws = Draws(2);
    for dtype in [DType::F32, DType::F64] {
        for f in functions(1).chain(functions(2)).filter(|f| ulp_bound(*f, dtype) <= 0.5) {
            for _ in 0..50_000 {
                let (x, y) = draws.pair(dtype);
                check(f, dtype, &[x, y][..f.arity()]);
            }
        }
    }
}
