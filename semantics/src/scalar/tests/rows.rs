//! The table as a whole: complete, well-formed, total.

use std::collections::BTreeSet;

use crate::dtype::DType;

use super::super::{Accepts, Domain, Fault, FloatFn, IntFn, Meaning, RealFn, Scalar, Value, cast};
use super::{special_floats, specials};

#[test]
fn every_function_has_its_row() {
    let names: BTreeSet<&str> = Scalar::all().map(Scalar::name).collect();
    assert_eq!(names.len(), Scalar::all().count());
    for fun in Scalar::all() {
        let row = fun.row();
        assert_eq!(row.fun, fun);
        assert_eq!(Scalar::from_name(row.name), Some(fun));
        assert!(!row.doc.is_empty());
        assert!(row.arity == 1 || row.arity == 2);
    }
    assert_eq!(Scalar::from_name("no_such_function"), None);
}

/// A row computes where it accepts, and states its derivatives where it is numeric.
#[test]
fn rows_are_complete() {
    for fun in Scalar::all() {
        let row = fun.row();
        let takes = |dtype| row.accepts.contains(dtype);
        assert_eq!(takes(DType::F32), !matches!(row.float, FloatFn::None), "{fun}");
        assert_eq!(takes(DType::F32), !matches!(row.real, RealFn::None), "{fun}");
        let whole = takes(DType::I32) || takes(DType::Bool);
        assert_eq!(whole, !matches!(row.int, IntFn::None), "{fun}");
        let numeric = takes(DType::F32) && !row.is_test();
        assert_eq!(row.derivative.len(), if numeric { row.arity } else { 0 }, "{fun}");
        assert!(row.facts.iter().all(|fact| fact.contains(row.name)), "{fun}");
        if row.is_test() {
            assert_ne!(row.meaning, Meaning::Uninterpreted, "{fun}");
        }
    }
}

#[test]
fn results_have_their_dtype() {
    assert_eq!(Scalar::Add.result(&[DType::F16, DType::F16]), Ok(DType::F16));
    assert_eq!(Scalar::Lt.result(&[DType::I8, DType::I8]), Ok(DType::Bool));
    assert!(Scalar::Add.result(&[DType::F16]).is_err());
    assert!(Scalar::Add.result(&[DType::F16, DType::F32]).is_err());
    assert!(Scalar::Sub.result(&[DType::Bool, DType::Bool]).is_err());
    assert!(Scalar::Neg.result(&[DType::Bool]).is_err());
    assert!(Scalar::Exp.result(&[DType::I64]).is_err());
    assert!(Scalar::BitwiseAnd.result(&[DType::F32, DType::F32]).is_err());
    assert!(Scalar::LogicalAnd.result(&[DType::I32, DType::I32]).is_err());
    assert_eq!(Scalar::LogicalAnd.row().accepts, Accepts::Bool);
}

/// No arguments make a row panic, and a value has the kind of its dtype.
#[test]
fn rows_are_total_at_special_values() {
    for domain in [Domain::Ieee, Domain::Exact] {
        for dtype in DType::ALL {
            let values = specials(dtype, domain);
            for fun in Scalar::all() {
                for x in &values {
                    let seconds = if fun.arity() == 2 { &values[..] } else { &values[..1] };
                    for y in seconds {
                        let args = [x.clone(), y.clone()];
                        total(fun, domain, dtype, &args[..fun.arity()]);
                    }
                }
            }
        }
    }
}

fn total(fun: Scalar, domain: Domain, dtype: DType, args: &[Value]) {
    let result = fun.result(&vec![dtype; args.len()]);
    match (result, fun.eval(domain, dtype, args)) {
        (Ok(result), Ok(value)) => assert!(fits(&value, result, domain), "{fun} {args:?}: {value}"),
        (Err(_), Err(Fault::Value(_))) => {}
        (Ok(_), Err(Fault::Value(text))) => panic!("{fun} at {dtype}: {text}"),
        (Ok(_), Err(Fault::Limit(_) | Fault::Undecided(_))) => assert_eq!(domain, Domain::Exact),
        (Ok(_), Err(Fault::Arithmetic(_))) => assert!(dtype.is_int(), "{fun} at {dtype}"),
        (Err(_), other) => panic!("{fun} at {dtype} is refused but gives {other:?}"),
    }
}

fn fits(value: &Value, dtype: DType, domain: Domain) -> bool {
    match value {
        Value::Bool(_) => dtype == DType::Bool,
        Value::Int(i) => dtype.is_int() && dtype.int_range().is_some_and(|(lo, hi)| (lo..=hi).contains(i)),
        Value::Float(x) => {
            let rounded = Value::round(*x, dtype).to_bits() == x.to_bits() || x.is_nan();
            domain == Domain::Ieee && dtype.is_float() && rounded
        }
        Value::Exact(x) => domain == Domain::Exact && (dtype.is_float() || x.is_bottom()),
        Value::Field(_) => domain == Domain::Field && dtype.is_float(),
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let (float, int) = (Value::Float(1.0), Value::Int(1));
    for (dtype, args) in [
        (DType::F32, vec![int.clone(), float.clone()]),
        (DType::I32, vec![float.clone(), int.clone()]),
        (DType::Bool, vec![int.clone(), int.clone()]),
        (DType::F32, vec![float.clone()]),
        (DType::F32, vec![]),
    ] {
        let got = Scalar::Add.eval(Domain::Ieee, dtype, &args);
        assert!(matches!(got, Err(Fault::Value(_))), "{args:?}");
    }
    let got = Scalar::Add.eval(Domain::Exact, DType::F32, &[float.clone(), float.clone()]);
    assert!(matches!(got, Err(Fault::Value(_))));
    assert!(matches!(cast(Domain::Ieee, DType::I8, DType::F32, &float), Err(Fault::Value(_))));
}

#[test]
fn casts_are_total_at_special_values() {
    for domain in [Domain::Ieee, Domain::Exact] {
        for from in DType::ALL {
            for to in DType::ALL {
                for value in specials(from, domain) {
                    let got = cast(domain, from, to, &value);
                    let got = got.unwrap_or_else(|e| panic!("{value} {from} to {to}: {e}"));
                    assert!(fits(&got, to, domain), "{value} {from} to {to}: {got}");
                }
            }
        }
    }
}

#[test]
fn equality_of_values() {
    let same = |a: f64, b: f64| Value::Float(a).same(&Value::Float(b));
    assert_eq!(same(f64::NAN, -f64::NAN), Some(true));
    assert_eq!(same(0.0, -0.0), Some(false));
    assert_eq!(same(1.0, 1.0), Some(true));
    assert_eq!(Value::BOTTOM.same(&Value::BOTTOM), Some(true));
    assert_eq!(Value::BOTTOM.same(&Value::Bool(true)), Some(false));
    for x in special_floats(DType::F32) {
        assert_eq!(same(x, x), Some(true));
    }
}

#[test]
fn literals_are_read_as_written() {
    let ieee = |text, dtype| Value::literal(text, dtype, Domain::Ieee);
    assert!(matches!(ieee("0.1", DType::F32), Ok(Value::Float(x)) if x == f64::from(0.1f32)));
    assert!(matches!(ieee("1e-5", DType::F64), Ok(Value::Float(x)) if x == 1e-5));
    assert!(matches!(ieee("-3", DType::I8), Ok(Value::Int(-3))));
    assert!(matches!(ieee("true", DType::Bool), Ok(Value::Bool(true))));
    assert!(matches!(ieee("-pi", DType::F64), Ok(Value::Float(x)) if x == -std::f64::consts::PI));
    for (text, dtype) in [
        ("300", DType::U8),
        ("1.5", DType::I32),
        ("", DType::F32),
        (".", DType::F64),
        ("1", DType::Bool),
        ("1e", DType::F32),
        ("--1", DType::F32),
        ("0x10", DType::I32),
    ] {
        for domain in [Domain::Ieee, Domain::Exact] {
            let got = Value::literal(text, dtype, domain);
            assert!(matches!(got, Err(Fault::Value(_))), "{text} at {dtype}: {got:?}");
        }
    }
    let tenth = Value::literal("0.1", DType::F32, Domain::Exact);
    assert_eq!(tenth.map(|v| v.to_string()), Ok("1/10".to_string()));
}
