//! The exact domain at values that are known.

use crate::dtype::DType;

use super::super::{Domain, Exact, Fault, MAX_BITS, Scalar, Value, cast};
use super::hold;

#[test]
fn infinities_and_the_undefined() {
    hold(
        Domain::Exact,
        0,
        "
        div f32 1 0 = undefined
        div f32 0 0 = undefined
        div f32 inf 0 = undefined
        div f32 1 inf = 0
        div f32 inf inf = undefined
        div f32 inf -2 = -inf
        add f32 inf -inf = undefined
        sub f32 inf inf = undefined
        sub f32 1 inf = -inf
        mul f32 0 inf = undefined
        mul f32 -2 inf = -inf
        add f32 nan 1 = undefined
        log f32 0 = -inf
        log f32 -1 = undefined
        log f32 -inf = undefined
        log f32 inf = inf
        log1p f32 -1 = -inf
        log1p f32 -2 = undefined
        sqrt f32 -1 = undefined
        sqrt f32 inf = inf
        rsqrt f32 0 = undefined
        rsqrt f32 inf = 0
        exp f32 -inf = 0
        exp f32 inf = inf
        exp f32 nan = undefined
        maximum f32 nan 1 = undefined
        fmax f32 nan 1 = undefined
        maximum f32 -inf 3 = 3
        minimum f32 -inf 3 = -inf
        lt f32 nan 1 = undefined
        lt f32 -inf inf = true
        eq f32 inf inf = true
        isnan f32 1 = false
        isinf f32 inf = true
        isfinite f32 -inf = false
        tanh f32 inf = 1
        sigmoid f32 -inf = 0
        sin f32 inf = undefined
        asin f32 2 = undefined
        acosh f32 0.5 = undefined
        atanh f32 1 = undefined
        atan2 f32 0 0 = undefined
        pow f32 0 0 = 1
        pow f32 0 -1 = undefined
        pow f32 -8 0.25 = undefined
        pow f32 inf -2 = 0
        pow f32 -inf 3 = -inf
        pow f32 0.5 inf = 0
        floor_divide f32 1 0 = undefined
        floor_divide f32 -1 inf = -1
        remainder f32 -1 inf = inf
        remainder f32 inf 2 = undefined
        fmod f32 -1 inf = -1
        reciprocal f32 0 = undefined
        frac f32 inf = undefined
        floor f32 -inf = -inf
        sign f32 -inf = -1
        hypot f32 -inf 1 = inf
    ",
    );
}

#[test]
fn rationals_do_not_round() {
    hold(
        Domain::Exact,
        0,
        "
        add f16 0.1 0.2 = 0.3
        mul bf16 0.1 3 = 0.3
        sub f32 1e30 1 = 999999999999999999999999999999
        add f32 16777216 1 = 16777217
        sqrt f32 2.25 = 1.5
        rsqrt f32 0.25 = 2
        hypot f32 0.3 0.4 = 0.5
        exp f32 0 = 1
        log f32 1 = 0
        log2 f32 0.125 = -3
        log10 f32 1000 = 3
        exp2 f32 -3 = 0.125
        pow f32 -0.5 3 = -0.125
        pow f32 2.25 1.5 = 3.375
        pow f32 2 -2 = 0.25
        floor_divide f32 1 0.1 = 10
        remainder f32 1 0.3 = 0.1
        remainder f32 -1 0.3 = 0.2
        fmod f32 -1 0.3 = -0.1
        floor f32 -1.5 = -2
        ceil f32 -1.5 = -1
        round f32 2.5 = 2
        round f32 3.5 = 4
        round f32 -0.5 = 0
        round f32 -1.5 = -2
        round f32 0.4999999999999999999999 = 0
        trunc f32 -1.5 = -1
        frac f32 -1.5 = -0.5
        abs f32 -0.1 = 0.1
        sign f32 -0.1 = -1
        copysign f32 2 -0.1 = -2
        copysign f32 2 -0.0 = 2
        maximum f32 0.1 0.1000000000000000000001 = 0.1000000000000000000001
        sigmoid f32 0 = 0.5
        cos f32 0 = 1
        erfc f32 0 = 1
        nextafter f32 0 1 = !undecided
        lt f32 0.1 0.1000000000000000000001 = true
        ge f32 2 2 = true
        exp2 f32 1000000 = !limit
        cast f32 i64 -1.9 = -1
        cast f32 i8 300 = 44
        cast f32 bool 0 = false
        cast f16 bf16 0.1 = 0.1
        cast i64 f32 16777217 = 16777217
        add i8 127 1 = -128
        floor_divide i8 1 0 = !arithmetic
    ",
    );
}

#[test]
fn overlapping_enclosures_do_not_decide() {
    let x = Value::Exact(Exact::Interval(1.0, 2.0));
    let y = Value::Exact(Exact::Interval(1.5, 3.0));
    let far = Value::Exact(Exact::Interval(2.5, 3.0));
    let zero = Value::Exact(Exact::Interval(-1.0, 1.0));
    let ask = |fun: Scalar, args: &[&Value]| {
        let args: Vec<Value> = args.iter().map(|v| (*v).clone()).collect();
        fun.eval(Domain::Exact, DType::F32, &args)
    };
    for fun in [Scalar::Lt, Scalar::Le, Scalar::Eq, Scalar::Ne, Scalar::Gt, Scalar::Ge] {
        assert!(matches!(ask(fun, &[&x, &y]), Err(Fault::Undecided(_))), "{fun}");
    }
    assert!(matches!(ask(Scalar::Lt, &[&x, &far]), Ok(Value::Bool(true))));
    assert!(matches!(ask(Scalar::Eq, &[&x, &far]), Ok(Value::Bool(false))));
    assert_eq!(x.same(&y), None);
    assert_eq!(x.same(&far), Some(false));
    assert!(matches!(ask(Scalar::Maximum, &[&x, &y]), Ok(Value::Exact(Exact::Interval(1.5, 3.0)))));
    for fun in [Scalar::Log, Scalar::Sqrt, Scalar::Reciprocal, Scalar::Rsqrt, Scalar::Log1p] {
        assert!(matches!(ask(fun, &[&zero]), Err(Fault::Undecided(_))), "{fun}");
    }
    assert!(matches!(ask(Scalar::Div, &[&x, &zero]), Err(Fault::Undecided(_))));
    assert!(matches!(cast(Domain::Exact, DType::F32, DType::Bool, &zero), Err(Fault::Undecided(_))));
}

#[test]
fn big_values_reach_a_limit() {
    let two = Value::literal("2", DType::F32, Domain::Exact).expect("a literal");
    let power = |n: u64| {
        let n = Value::literal(&n.to_string(), DType::F32, Domain::Exact).expect("a literal");
        Scalar::Pow.eval(Domain::Exact, DType::F32, &[two.clone(), n])
    };
    assert!(power(MAX_BITS / 2).is_ok());
    assert!(matches!(power(MAX_BITS * 2), Err(Fault::Limit(_))));
    assert!(matches!(power(u64::MAX), Err(Fault::Limit(_))));
    let literal = Value::literal("1e999999999999", DType::F32, Domain::Exact);
    assert!(matches!(literal, Err(Fault::Limit(_))));
}

#[test]
fn bounds_enclose_rationals_of_any_size() {
    for text in ["1e400", "-1e400", "1e-400", "-1e-400", "0.1", "-0.1", "1e2900", "1e-2900", "0"] {
        let value = Value::literal(text, DType::F64, Domain::Exact).expect("a literal");
        let exact = value.as_exact().expect("an exact value").clone();
        let (lo, hi) = exact.bounds().expect("a number has bounds");
        assert!(lo <= hi && (lo == hi || lo.next_up() == hi), "{text}: {lo} {hi}");
        let low = Exact::from_f64(lo).less(&exact) != Some(false) || lo == hi;
        let high = exact.less(&Exact::from_f64(hi)) != Some(false) || lo == hi;
        assert!(low && high, "{text}");
    }
}
