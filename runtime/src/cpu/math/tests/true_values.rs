//! `f64` against true values, computed by `mpmath` with 300 bits.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::super::ulp_bound;
use super::{Worst, apply, functions};

/// Lines of a function, the bits of its arguments and of the rounded value, and what the
/// value lacks in units of its last place.
const TRUE_VALUES: &str = include_str!("data/true_values.txt");

/// Name, arguments, value, and what the value lacks.
fn record(line: &str) -> (Scalar, Vec<f64>, f64, f64) {
    let words: Vec<&str> = line.split(' ').collect();
    let [name, args @ .., value, rest] = &words[..] else { panic!("four words: {line}") };
    let f = Scalar::from_name(name).unwrap_or_else(|| panic!("{name} is in the table"));
    let number = |bits: &str| f64::from_bits(u64::from_str_radix(bits, 16).expect("bits"));
    (f, args.iter().map(|w| number(w)).collect(), number(value), rest.parse().expect("a number"))
}

#[test]
fn elementary_functions_keep_their_bounds() {
    let records: Vec<_> = TRUE_VALUES.lines().map(record).collect();
    for f in Scalar::all() {
        let mut worst = Worst::default();
        for (_, args, value, rest) in records.iter().filter(|r| r.0 == f) {
            worst.see_with_rest(DType::F64, args, apply(f, DType::F64, args), *value, *rest);
        }
        if worst.count > 0 {
            println!("{f:<14} {worst}");
            let bound = ulp_bound(f, DType::F64);
            assert!(worst.distance <= bound, "{f} is to be within {bound}: {worst}");
        }
    }
}

#[test]
fn all_functions_with_an_error_have_records() {
    let without = functions(1).chain(functions(2)).filter(|f| {
        let erring = (0.6..f64::INFINITY).contains(&ulp_bound(*f, DType::F64));
        erring && !TRUE_VALUES.contains(&format!("\n{f} ")) && !TRUE_VALUES.starts_with(&format!("{f} "))
    });
    assert_eq!(without.count(), 0);
}
