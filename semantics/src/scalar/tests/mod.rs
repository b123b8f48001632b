//! Tests of the table: recorded facts, rounding, integers, enclosures, totality.

mod enclosures;
mod facts;
mod integers;
mod reals;
mod rounding;
mod rows;

use proptest::test_runner::{Config, RngSeed};

use crate::dtype::DType;

use super::{Domain, Fault, Scalar, Value, cast};

/// The same cases in every run.
fn cases(cases: u32) -> Config {
    let rng_seed = RngSeed::Fixed(20);
    Config { cases, rng_seed, failure_persistence: None, ..Config::default() }
}

/// Every float dtype's corners, exactly representable ones rounded into it.
fn special_floats(dtype: DType) -> Vec<f64> {
    let (tiny, max) = match dtype {
        DType::F16 => (2f64.powi(-24), 65504.0),
        DType::BF16 => (2f64.powi(-133), 3.3895313892515355e38),
        DType::F32 => (2f64.powi(-149), f64::from(f32::MAX)),
        _ => (f64::from_bits(1), f64::MAX),
    };
    let plain = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 20.0, 88.0, 100.0, 1000.0, 0.1];
    let corners = [tiny, tiny * 3.0, max, max / 2.0, 1e-3, 1.0 / 3.0, f64::INFINITY];
    let positive = plain.into_iter().chain(corners).map(|x| Value::round(x, dtype));
    positive.flat_map(|x| [x, -x]).chain([f64::NAN]).collect()
}

fn special_ints(dtype: DType) -> Vec<i64> {
    let (least, most) = dtype.int_range().unwrap_or((0, 0));
    let near = [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100, -1, -2, -3, -7, -8, -64];
    let ends = [least, least.saturating_add(1), most, most - 1];
    near.into_iter().chain(ends).filter(|x| (least..=most).contains(x)).collect()
}

fn specials(dtype: DType, domain: Domain) -> Vec<Value> {
    if dtype == DType::Bool {
        return vec![Value::Bool(false), Value::Bool(true)];
    }
    match dtype.is_float() {
        true => special_floats(dtype).into_iter().map(|x| Value::float(x, dtype, domain)).collect(),
        false => special_ints(dtype).into_iter().map(Value::Int).collect(),
    }
}

/// The value of a literal in a table.
fn read(text: &str, dtype: DType, domain: Domain) -> Value {
    Value::literal(text, dtype, domain).unwrap_or_else(|e| panic!("{text} at {dtype}: {e}"))
}

/// Evaluates `fun dtype args = want` lines; `want` may be `!arithmetic`. A cast is
/// `cast from to arg = want`. `about` is the permitted distance in ulps.
fn hold(domain: Domain, about: u64, table: &str) {
    for line in table.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (call, want) = line.split_once(" = ").unwrap_or_else(|| panic!("no `=`: {line}"));
        let words: Vec<&str> = call.split_whitespace().collect();
        let dtype = DType::from_name(words[1]).unwrap_or_else(|| panic!("no dtype: {line}"));
        let (got, result) = if words[0] == "cast" {
            let to = DType::from_name(words[2]).unwrap_or_else(|| panic!("no dtype: {line}"));
            (cast(domain, dtype, to, &read(words[3], dtype, domain)), to)
        } else {
            let fun = Scalar::from_name(words[0]).unwrap_or_else(|| panic!("no row: {line}"));
            let args: Vec<Value> = words[2..].iter().map(|t| read(t, dtype, domain)).collect();
            let result = fun.result(&vec![dtype; args.len()]).expect("the row takes the dtype");
            (fun.eval(domain, dtype, &args), result)
        };
        check(line, got, want.trim(), result, domain, about);
    }
}

fn check(line: &str, got: Result<Value, Fault>, want: &str, dtype: DType, domain: Domain, about: u64) {
    match (got, want) {
        (Err(Fault::Arithmetic(_)), "!arithmetic") | (Err(Fault::Undecided(_)), "!undecided") => {}
        (Err(Fault::Limit(_)), "!limit") => {}
        (Ok(got), "undefined") => assert!(got.is_bottom(), "{line}, got {got}"),
        (Ok(got), _) => {
            let want = read(want, dtype, domain);
            let near = about > 0 && super::ulp_distance(&got, &want, dtype).is_some_and(|ulps| ulps <= about);
            assert!(near || got.same(&want) == Some(true), "{line}, got {got}");
        }
        (Err(fault), _) => panic!("{line}: {fault}"),
    }
}
