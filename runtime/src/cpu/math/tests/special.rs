//! Special arguments: what the table gives, to the bit where the argument is NaN, an
//! infinity or a zero, else within the bound.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::super::{double, single, ulp_bound};
use super::{distance, functions, special, table};

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

/// Both to their dtype.
fn check(f: Scalar, dtype: DType, args: &[f64]) {
    let got = apply(f, dtype, args);
    let want = table(f, dtype, args);
    let all_special = args.iter().all(|x| *x == 0.0 || !x.is_finite());
    let bound = if all_special || f == Scalar::Lgamma { 0.0 } else { ulp_bound(f, dtype) + 3.0 };
    let far = distance(dtype, got, want, 0.0);
    assert!(far <= bound, "{f} of {args:?} at {dtype} is {got:e}, not {want:e}");
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
