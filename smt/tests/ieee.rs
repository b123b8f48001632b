//! The theory of floats against the scalar table: a function of two numbers has the bits
//! that the table computes, and no others.

use std::sync::Arc;

use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::Mode;
use rtv_semantics::sample::{Sampler, specials};
use rtv_semantics::scalar::{Domain, Scalar, Value, cast};
use rtv_semantics::term::{Lit, Term};
use rtv_smt::{Budget, Errors, SizeSolver, Solver, ValueGoal, ValueProver};

/// Every function that the encoder writes out.
const COVERED: [Scalar; 25] = [
    Scalar::Add,
    Scalar::Sub,
    Scalar::Mul,
    Scalar::Div,
    Scalar::Neg,
    Scalar::Abs,
    Scalar::Reciprocal,
    Scalar::Floor,
    Scalar::Ceil,
    Scalar::Round,
    Scalar::Trunc,
    Scalar::Maximum,
    Scalar::Minimum,
    Scalar::Sqrt,
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
    Scalar::Sign,
];

/// Pairs that are drawn beside the chosen ones, for each function and dtype.
const DRAWN: usize = 12;

const WRITTEN: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

fn prover() -> ValueProver {
    let solver = Arc::new(Solver::start().expect("invariant: z3 starts"));
    let sizes = Arc::new(SizeSolver::new(solver.clone(), Budget::PRUNE));
    ValueProver::new(solver, sizes, Budget::OBLIGATION)
}

fn same(prover: &ValueProver, left: &Term, right: &Term) -> bool {
    let goal = ValueGoal {
        facts: &[],
        hypotheses: &[],
        left,
        right,
        mode: Mode::Exact,
        directed: false,
        errors: Errors::Excluded,
        written: None,
    };
    matches!(prover.prove_in_ieee(&goal), Ok(None))
}

fn literal(value: &Value, dtype: DType) -> Term {
    let lit = match value {
        Value::Bool(truth) => Lit::Bool(*truth),
        Value::Float(x) if x.is_nan() => Lit::Nan,
        Value::Float(x) if *x == f64::INFINITY => Lit::Inf,
        Value::Float(x) if *x == f64::NEG_INFINITY => Lit::NegInf,
        Value::Float(x) => Lit::Decimal(format!("{x:?}").into()),
        other => panic!("{other} is no value here"),
    };
    Term::lit(lit, dtype, Span::default())
}

/// Pairs of special values and of random bits.
fn pairs(dtype: DType, sampler: &mut Sampler) -> Vec<[Value; 2]> {
    let special = specials(dtype);
    let mut any = || match sampler.below(2) {
        0 => special[sampler.below(special.len())].clone(),
        _ => Value::float((2.0 * sampler.normal()).exp2() * sampler.normal(), dtype, Domain::Ieee),
    };
    let mut pairs: Vec<[Value; 2]> = (0..DRAWN).map(|_| [any(), any()]).collect();
    let zeros = [0.0, -0.0].map(|zero| Value::float(zero, dtype, Domain::Ieee));
    let one = Value::one(dtype, Domain::Ieee);
    pairs.extend([
        zeros.clone(),
        [zeros[1].clone(), zeros[0].clone()],
        [Value::Float(f64::NAN), one.clone()],
        [one.clone(), Value::Float(f64::NAN)],
        [Value::Float(f64::NAN), Value::Float(f64::NAN)],
        [Value::Float(f64::INFINITY), Value::Float(f64::NEG_INFINITY)],
        [one, zeros[1].clone()],
    ]);
    pairs
}

#[test]
fn functions_have_the_bits_of_the_table() {
    let (prover, mut sampler) = (prover(), Sampler::new(5));
    let mut compared = 0;
    for fun in COVERED {
        for dtype in WRITTEN {
            for pair in pairs(dtype, &mut sampler) {
                let args = &pair[..fun.arity()];
                let value = fun.eval(Domain::Ieee, dtype, args).expect("a value");
                let result = if fun.row().is_test() { DType::Bool } else { dtype };
                let literals = args.iter().map(|arg| literal(arg, dtype)).collect();
                let term = Term::scalar(fun, literals, Span::default());
                let other = match &value {
                    Value::Bool(truth) => Value::Bool(!truth),
                    value => match value.as_float() {
                        Some(x) if x == 0.0 => Value::Float(-x),
                        _ => Value::zero(dtype, Domain::Ieee),
                    },
                };
                let told = format!("{fun} of {args:?} at {dtype} is {value}");
                // What is not written out is a function, of which nothing is known.
                let open = fun == Scalar::Sign;
                assert_eq!(same(&prover, &term, &literal(&value, result)), !open, "{told}");
                assert!(!same(&prover, &term, &literal(&other, result)), "{told}, not {other}");
                compared += 1;
            }
        }
    }
    assert!(compared > 1500, "{compared}");
}

#[test]
fn conversions_have_the_bits_of_the_table() {
    let (prover, mut sampler) = (prover(), Sampler::new(6));
    for from in WRITTEN {
        for to in WRITTEN {
            for [value, _] in pairs(from, &mut sampler) {
                let expected = cast(Domain::Ieee, from, to, &value).expect("a value");
                let term = Term::cast(to, literal(&value, from), Span::default());
                assert!(same(&prover, &term, &literal(&expected, to)), "{to} of {value} in {from}");
            }
        }
    }
}
