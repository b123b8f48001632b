//! `f64` against true values, computed by `mpmath` with 300 bits.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::super::{double, ulp_bound};
use super::{Draws, Worst, functions, table, worst_of};

/// Lines of a function, the bits of its arguments and of the rounded value, and what the
/// value lacks in units of its last place.
const TRUE_VALUES: &str = include_str!("data/double.txt");

/// Name, arguments, value, and what the value lacks.
fn record(line: &str) -> (Scalar, Vec<f64>, f64, f64) {
    let words: Vec<&str> = line.split(' ').collect();
    let [name, args @ .., value, rest] = &words[..] else { panic!("four words: {line}") };
    let f = Scalar::from_name(name).unwrap_or_else(|| panic!("{name} is in the table"));
    let number = |bits: &str| f64::from_bits(u64::from_str_radix(bits, 16).expect("bits"));
    (f, args.iter().map(|w| number(w)).collect(), number(value), rest.parse().expect("a number"))
}

fn apply(f: Scalar, args: &[f64]) -> f64 {
    let mut block = [args[0]];
    let known = match args {
        [_] => double::unary(f, &mut block),
        [_, y] => double::binary(f, &mut block, &[*y]),
        _ => false,
    };
    assert!(known, "{f} has a block form");
    block[0]
}

#[test]
fn elementary_functions_keep_their_bounds() {
    let records: Vec<_> = TRUE_VALUES.lines().map(record).collect();
    for f in Scalar::all() {
        let mut worst = Worst::default();
        for (_, args, value, rest) in records.iter().filter(|r| r.0 == f) {
            worst.see_with_rest(DType::F64, args, apply(f, args), *value, *rest);
        }
        if worst.count > 0 {
            println!("{f:<14} {worst}");
            let bound = ulp_bound(f, DType::F64);
            assert!(worst.distance <= bound, "{f} is to be within {bound}: {worst}");
        }
    }
}

/// What is neither in the records nor without a bound is the table's to the bit.
#[test]
fn exact_functions_are_the_tables() {
    let mut draws = Draws(2);
    for f in functions(1).chain(functions(2)) {
        if ulp_bound(f, DType::F64) > 0.5 {
            assert!(f == Scalar::Lgamma || TRUE_VALUES.contains(&format!("{f} ")), "{f} has records");
            continue;
        }
        let worst = worst_of(DType::F64, 20_000, || {
            let (x, y) = draws.pair(DType::F64);
            let args = if f.arity() == 1 { vec![x] } else { vec![x, y] };
            let got = apply(f, &args);
            let want = table(f, DType::F64, &args);
            (args, got, want)
        });
        assert!(worst.distance == 0.0, "{f}: {worst}");
    }
}
