//! The encoder against the scalar table: closed random terms have the value that the
//! table computes, and no other.

#[path = "scalar_table/mutants.rs"]
mod mutants;

mod support;

use std::sync::{Arc, OnceLock};

use num_bigint::BigInt;
use proptest::prelude::*;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::{Domain, Exact, Fault, Scalar, Value, cast};
use rtv_semantics::term::{Form, Fun, Lit, Term};
use rtv_smt::{Budget, Errors, SizeSolver, Solver, ValueAnswer, ValueGoal, ValueProver};

fn prover() -> &'static ValueProver {
    static PROVER: OnceLock<ValueProver> = OnceLock::new();
    PROVER.get_or_init(|| {
        let solver = Arc::new(Solver::start().expect("invariant: z3 starts"));
        let sizes = Arc::new(SizeSolver::new(solver.clone(), Budget::PRUNE));
        ValueProver::new(solver, sizes, Budget::OBLIGATION)
    })
}

fn prove(left: &Term, right: &Term, mode: Mode) -> ValueAnswer {
    prover().prove(&ValueGoal {
        facts: &[],
        hypotheses: &[],
        left,
        right,
        mode,
        directed: false,
        errors: Errors::Compared,
        written: None,
    })
}

fn lit(lit: Lit, dtype: DType) -> Term {
    Term::lit(lit, dtype, Span::default())
}

/// A literal in the exact domain of a float dtype: small, negative, a fraction, an
/// infinity.
fn float_lit(text: &str) -> Term {
    let value = match text {
        "inf" => Lit::Inf,
        "-inf" => Lit::NegInf,
        text => Lit::Decimal(text.into()),
    };
    lit(value, DType::F32)
}

/// The value by the scalar table in the exact domain.
fn eval(term: &Term) -> Result<Value, Fault> {
    match term.form() {
        Form::Lit(Lit::Bool(b)) => Ok(Value::Bool(*b)),
        Form::Lit(Lit::Int(n)) => Value::literal(&n.to_string(), term.dtype(), Domain::Exact),
        Form::Lit(Lit::Decimal(text)) => Value::literal(text, term.dtype(), Domain::Exact),
        Form::Lit(Lit::Inf) => Ok(Value::Exact(Exact::PosInf)),
        Form::Lit(Lit::NegInf) => Ok(Value::Exact(Exact::NegInf)),
        Form::Call(Fun::Scalar(fun), args) => {
            let values = args.iter().map(eval).collect::<Result<Vec<Value>, _>>()?;
            fun.eval(Domain::Exact, args[0].dtype(), &values)
        }
        Form::Call(Fun::Cast(to), args) => cast(Domain::Exact, args[0].dtype(), *to, &eval(&args[0])?),
        Form::If(cond, then, other) => match eval(cond)? {
            Value::Bool(true) => eval(then),
            Value::Bool(false) => eval(other),
            _ => Ok(Value::BOTTOM),
        },
        form => panic!("no such form here: {form:?}"),
    }
}

/// The value as a literal, where there is one.
fn literal_of(value: &Value, dtype: DType) -> Option<Term> {
    Some(match value {
        Value::Bool(b) => lit(Lit::Bool(*b), DType::Bool),
        Value::Int(n) => lit(Lit::Int(BigInt::from(*n)), dtype),
        Value::Exact(Exact::Rational(r)) => {
            let part = |n: &BigInt| lit(Lit::Decimal(n.to_string().into()), DType::F32);
            let (numer, denom) = (part(r.numer()), part(r.denom()));
            Term::scalar(Scalar::Div, vec![numer, denom], Span::default())
        }
        Value::Exact(Exact::PosInf) => lit(Lit::Inf, DType::F32),
        Value::Exact(Exact::NegInf) => lit(Lit::NegInf, DType::F32),
        Value::Exact(Exact::Bottom) if dtype.is_float() => lit(Lit::Nan, DType::F32),
        _ => return None,
    })
}

/// Another value of the dtype.
fn another(value: &Value, dtype: DType) -> Term {
    match (value, dtype.category()) {
        (Value::Bool(b), _) => lit(Lit::Bool(!b), DType::Bool),
        (Value::Int(n), _) => lit(Lit::Int(BigInt::from(if *n == 3 { 4 } else { 3 })), dtype),
        (Value::Exact(Exact::Rational(r)), _) if **r == BigInt::from(17).into() => float_lit("18.0"),
        (_, Category::Float) => float_lit("17.0"),
        (_, Category::Bool) => lit(Lit::Bool(true), DType::Bool),
        (_, Category::Int) => lit(Lit::Int(3.into()), dtype),
    }
}

fn check(term: &Term) -> Result<(), TestCaseError> {
    let dtype = term.dtype();
    let mode = Mode::Real;
    match eval(term) {
        Ok(value) => {
            if let Some(same) = literal_of(&value, dtype) {
                let answer = prove(term, &same, mode);
                let proved = matches!(answer, ValueAnswer::Equal(_));
                prop_assert!(proved || opaque(term), "{value} is not proved: {answer:?}");
            }
            let answer = prove(term, &another(&value, dtype), mode);
            prop_assert!(!matches!(answer, ValueAnswer::Equal(_)), "{value} is proved another");
        }
        Err(Fault::Arithmetic(_)) => {
            // An error is not a value.
            let one = if dtype == DType::Bool {
                lit(Lit::Bool(true), dtype)
            } else if dtype.is_int() {
                lit(Lit::Int(1.into()), dtype)
            } else {
                float_lit("1.0")
            };
            let answer = prove(term, &one, mode);
            prop_assert!(!matches!(answer, ValueAnswer::Equal(_)), "an error is proved a value");
        }
        Err(_) => {}
    }
    Ok(())
}

/// Whether a function occurs that the encoder leaves open at some arguments.
fn opaque(term: &Term) -> bool {
    match term.form() {
        Form::Call(fun, args) => {
            let open = match fun {
                Fun::Scalar(fun) if args[0].dtype().is_float() => !ARITHMETIC.contains(fun),
                Fun::Scalar(fun) => !ARITHMETIC.contains(fun) && !INTEGER.contains(fun),
                Fun::Cast(to) => args[0].dtype().is_float() && to.is_int() || to.is_float(),
                _ => false,
            };
            open || args.iter().any(opaque)
        }
        Form::If(a, b, c) => opaque(a) || opaque(b) || opaque(c),
        _ => false,
    }
}

/// Written out completely, infinities included.
const ARITHMETIC: &[Scalar] = &[
    Scalar::Add,
    Scalar::Sub,
    Scalar::Mul,
    Scalar::Div,
    Scalar::Neg,
    Scalar::Abs,
    Scalar::Sign,
    Scalar::Reciprocal,
    Scalar::Floor,
    Scalar::Ceil,
    Scalar::Round,
    Scalar::Trunc,
    Scalar::Maximum,
    Scalar::Minimum,
    Scalar::Signbit,
    Scalar::Isnan,
    Scalar::Isinf,
    Scalar::Isfinite,
    Scalar::Eq,
    Scalar::Ne,
    Scalar::Lt,
    Scalar::Le,
    Scalar::Gt,
    Scalar::Ge,
];

const INTEGER: &[Scalar] = &[
    Scalar::FloorDivide,
    Scalar::TruncDivide,
    Scalar::Remainder,
    Scalar::Fmod,
    Scalar::BitwiseAnd,
    Scalar::BitwiseOr,
    Scalar::BitwiseXor,
    Scalar::BitwiseNot,
    Scalar::BitwiseLeftShift,
    Scalar::BitwiseRightShift,
    Scalar::LogicalAnd,
    Scalar::LogicalOr,
    Scalar::LogicalXor,
    Scalar::LogicalNot,
];

fn leaf(dtype: DType) -> BoxedStrategy<Term> {
    match dtype.category() {
        Category::Bool => any::<bool>().prop_map(|b| lit(Lit::Bool(b), DType::Bool)).boxed(),
        Category::Int => {
            let (least, most) = dtype.int_range().unwrap_or((0, 0));
            let special = vec![least, most, least + 1, 0, 1, 2, 7, most / 2];
            let any = least..=most;
            prop_oneof![any, proptest::sample::select(special)]
                .prop_map(move |n| lit(Lit::Int(BigInt::from(n)), dtype))
                .boxed()
        }
        Category::Float => {
            let texts = ["0.0", "1.0", "-1.0", "0.5", "-1.5", "2.5", "3.0", "4.0", "inf", "-inf"];
            proptest::sample::select(texts.to_vec()).prop_map(float_lit).boxed()
        }
    }
}

/// Closed terms of a dtype.
fn terms(dtype: DType, depth: u32) -> BoxedStrategy<Term> {
    if depth == 0 {
        return leaf(dtype);
    }
    let span = Span::default();
    let own: Vec<Scalar> = Scalar::all()
        .filter(|fun| fun.result(&vec![dtype; fun.arity()]) == Ok(dtype))
        .filter(|fun| !matches!(fun, Scalar::Lgamma | Scalar::Nextafter))
        .collect();
    let calls = proptest::sample::select(own).prop_flat_map(move |fun| {
        let args = proptest::collection::vec(terms(dtype, depth - 1), fun.arity());
        args.prop_map(move |args| Term::scalar(fun, args, Span::default()))
    });
    let choices = (terms(DType::Bool, depth - 1), terms(dtype, depth - 1), terms(dtype, depth - 1))
        .prop_map(move |(c, a, b)| Term::if_(c, a, b, span));
    let casts = proptest::sample::select(vec![DType::Bool, DType::I8, DType::U8, DType::I32, DType::F32])
        .prop_flat_map(move |from| terms(from, depth - 1))
        .prop_map(move |arg| Term::cast(dtype, arg, span));
    if dtype == DType::Bool {
        let tests = proptest::sample::select(vec![DType::I8, DType::U8, DType::I32, DType::F32])
            .prop_flat_map(move |of| {
                let tests: Vec<Scalar> = Scalar::all()
                    .filter(|fun| fun.result(&vec![of; fun.arity()]) == Ok(DType::Bool))
                    .collect();
                proptest::sample::select(tests).prop_flat_map(move |fun| {
                    let args = proptest::collection::vec(terms(of, depth - 1), fun.arity());
                    args.prop_map(move |args| Term::scalar(fun, args, Span::default()))
                })
            });
        return prop_oneof![2 => leaf(dtype), 4 => calls, 4 => tests, 1 => choices, 1 => casts].boxed();
    }
    prop_oneof![1 => leaf(dtype), 8 => calls, 1 => choices, 1 => casts].boxed()
}

/// Every function that is written out, at all pairs of special values.
#[test]
fn special_values() {
    let texts = ["0.0", "1.0", "-1.5", "2.5", "inf", "-inf"];
    for fun in ARITHMETIC {
        for x in texts {
            for y in texts {
                let args =
                    if fun.arity() == 1 { vec![float_lit(x)] } else { vec![float_lit(x), float_lit(y)] };
                let term = Term::scalar(*fun, args, Span::default());
                if let Err(fault) = check(&term) {
                    panic!("{fun} at {x}, {y}: {fault}");
                }
                if fun.arity() == 1 {
                    break;
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(support::config(150, 20))]

    #[test]
    fn bytes(term in terms(DType::I8, 2)) {
        check(&term)?;
    }

    #[test]
    fn unsigned_bytes(term in terms(DType::U8, 2)) {
        check(&term)?;
    }

    #[test]
    fn wide_integers(term in terms(DType::I64, 1)) {
        check(&term)?;
    }

    #[test]
    fn bools(term in terms(DType::Bool, 2)) {
        check(&term)?;
    }

    #[test]
    fn reals(term in terms(DType::F32, 2)) {
        check(&term)?;
    }
}
