//! Exact values enclose what the same function gives in `f64`.

use num_rational::BigRational;
use proptest::prelude::*;

use crate::dtype::DType;

use super::super::{Domain, Exact, Fault, FloatFn, RealFn, Scalar, Value};
use super::cases;

/// Whether `got` may be the rounded value of `exact`, `slack` steps of `f64` allowed.
fn encloses(exact: &Exact, got: f64, slack: u32) -> bool {
    match exact {
        Exact::Bottom => !got.is_finite(),
        Exact::PosInf => got == f64::INFINITY,
        Exact::NegInf => got == f64::NEG_INFINITY,
        _ => {
            let Some((lo, hi)) = exact.bounds() else {
                return false;
            };
            let lo = (0..slack).fold(lo, |x, _| x.next_down());
            let hi = (0..slack).fold(hi, |x, _| x.next_up());
            lo <= got && got <= hi
        }
    }
}

/// Rows whose IEEE value is a rounding of the real one at finite arguments of `f64`.
fn comparable(fun: Scalar) -> bool {
    use Scalar::*;
    let row = fun.row();
    let numeric = matches!(row.float, FloatFn::One(_) | FloatFn::Two(_));
    // A quotient rounded up to an integer changes these by a whole step.
    numeric && !matches!(row.real, RealFn::None) && !matches!(fun, Remainder | Lgamma)
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-64i32..64, 1i32..32).prop_map(|(n, d)| f64::from(n) / f64::from(d)),
        (-1.0..1.0f64),
        (-750.0..750.0f64),
        any::<u32>().prop_map(|bits| f64::from(f32::from_bits(bits))),
    ]
    .prop_filter("finite", |x| x.is_finite())
}

fn values(fun: Scalar, args: &[f64]) -> (f64, Result<Value, Fault>) {
    let ieee: Vec<Value> = args.iter().map(|x| Value::Float(*x)).collect();
    let exact: Vec<Value> = args.iter().map(|x| Value::Exact(Exact::from_f64(*x))).collect();
    let got = fun.eval(Domain::Ieee, DType::F64, &ieee).expect("float rows are total");
    (got.as_float().expect("a float"), fun.eval(Domain::Exact, DType::F64, &exact))
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn of_points(x in number(), y in number()) {
        for fun in Scalar::all().filter(|f| comparable(*f)) {
            let args = if fun.arity() == 1 { vec![x] } else { vec![x, y] };
            let (got, exact) = values(fun, &args);
            match exact {
                Err(Fault::Limit(_) | Fault::Undecided(_)) => {}
                Err(fault) => return Err(TestCaseError::fail(format!("{fun}: {fault}"))),
                Ok(exact) => {
                    let exact = exact.as_exact().expect("an exact value");
                    // Where only the sign of zero makes the IEEE value, it is no matter.
                    let pole = exact.is_bottom() && matches!(fun, Scalar::Atan2);
                    prop_assert!(
                        pole || encloses(exact, got, 4),
                        "{} {:?}: {} outside {}", fun, args, got, exact
                    );
                }
            }
        }
    }

    /// The value at any point of an enclosure lies in the value at the enclosure.
    #[test]
    fn of_enclosures(a in number(), b in number(), y in number(), at in 0i64..=16) {
        let (lo, hi) = if a <= b { (a, b) } else { (b, a) };
        let part = BigRational::new(at.into(), 16.into());
        let exact = |x: f64| BigRational::from_float(x).expect("finite");
        let inner = exact(lo) + (exact(hi) - exact(lo)) * part;
        let (wide, point) = (Exact::Interval(lo, hi), Exact::rational(inner).expect("small"));
        let y = Exact::from_f64(y);
        for fun in Scalar::all().filter(|f| !matches!(f.row().real, RealFn::None)) {
            for swapped in [false, true] {
                let call = |x: &Exact| {
                    let (x, y) = (Value::Exact(x.clone()), Value::Exact(y.clone()));
                    let args = match (fun.arity(), swapped) {
                        (1, _) => vec![x],
                        (_, false) => vec![x, y],
                        (_, true) => vec![y, x],
                    };
                    fun.eval(Domain::Exact, DType::F64, &args)
                };
                let (Ok(outer), Ok(inner)) = (call(&wide), call(&point)) else { continue };
                prop_assert!(
                    contains(&outer, &inner),
                    "{} swapped {} at {}: {} outside {}", fun, swapped, point, inner, outer
                );
            }
        }
    }
}

fn contains(outer: &Value, inner: &Value) -> bool {
    match (outer, inner) {
        (Value::Exact(Exact::Interval(lo, hi)), Value::Exact(inner)) => {
            let above = *lo == f64::NEG_INFINITY || inner.less(&Exact::from_f64(*lo)) != Some(true);
            let below = *hi == f64::INFINITY || Exact::from_f64(*hi).less(inner) != Some(true);
            !inner.is_bottom() && !inner.is_infinite() && above && below
        }
        // A value known exactly at the enclosure is not contradicted at the point.
        _ => outer.same(inner) != Some(false),
    }
}
