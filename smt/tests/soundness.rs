//! Nothing false is proved: random terms that agree on a few inputs are put to the
//! prover in pairs, and what it calls equal is evaluated on many hostile inputs.

mod support;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::sample::select;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::{Domain, Fault, Scalar, Value, cast};
use rtv_semantics::term::{Form, Fun, Lit, Term, Var};
use rtv_semantics::types::Type;
use rtv_smt::{Budget, Errors, SizeSolver, Solver, ValueAnswer, ValueGoal, ValueProver};

fn prover() -> &'static ValueProver {
    static PROVER: OnceLock<ValueProver> = OnceLock::new();
    PROVER.get_or_init(|| {
        let solver = Arc::new(Solver::start().expect("invariant: z3 starts"));
        let sizes = Arc::new(SizeSolver::new(solver.clone(), Budget::PRUNE));
        ValueProver::new(solver, sizes, Budget::PRUNE)
    })
}

const PARAMS: [&str; 3] = ["x", "y", "z"];

type Inputs = Vec<(DType, Vec<Value>)>;

fn param(k: usize, dtype: DType) -> Term {
    // The id tells name and dtype apart.
    let var = Var { id: (k + 3 * dtype as usize) as u32, name: PARAMS[k].into() };
    Term::var(var, Type::scalar(dtype), Span::default())
}

/// The value of an open term; `None` where it cannot be decided.
fn eval(term: &Term, domain: Domain, inputs: &Inputs) -> Result<Value, Fault> {
    match term.form() {
        Form::Var(var) => {
            let values = inputs.iter().find(|(dtype, _)| *dtype == term.dtype());
            Ok(values.expect("invariant: all dtypes").1[var.id as usize % 3].clone())
        }
        Form::Lit(Lit::Bool(b)) => Ok(Value::Bool(*b)),
        Form::Lit(Lit::Int(n)) => Value::literal(&n.to_string(), term.dtype(), domain),
        Form::Lit(Lit::Decimal(text)) => Value::literal(text, term.dtype(), domain),
        Form::Lit(Lit::Inf) => Value::literal("inf", term.dtype(), domain),
        Form::Call(Fun::Scalar(fun), args) => {
            let values = args.iter().map(|a| eval(a, domain, inputs)).collect::<Result<Vec<_>, _>>()?;
            fun.eval(domain, args[0].dtype(), &values)
        }
        Form::Call(Fun::Cast(to), args) => {
            cast(domain, args[0].dtype(), *to, &eval(&args[0], domain, inputs)?)
        }
        Form::If(cond, then, other) => match eval(cond, domain, inputs)? {
            Value::Bool(true) => eval(then, domain, inputs),
            Value::Bool(false) => eval(other, domain, inputs),
            _ => Ok(Value::BOTTOM),
        },
        form => panic!("no such form here: {form:?}"),
    }
}

/// What is observed: a value, an error, or nothing. Reassoc mode knows no undefined
/// value (a condition that chooses between equal branches is not looked at), so nothing
/// is asked where one occurs.
fn agree(a: &Result<Value, Fault>, b: &Result<Value, Fault>, mode: Mode, directed: bool) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) if mode == Mode::Reassoc && (a.is_bottom() || b.is_bottom()) => true,
        (Err(Fault::Arithmetic(_)), Err(Fault::Arithmetic(_))) => true,
        (Err(Fault::Arithmetic(_)), Ok(_)) => directed,
        (Ok(_), Err(Fault::Arithmetic(_))) => false,
        (Ok(a), Ok(_)) if directed && a.is_bottom() => true,
        (Ok(a), Ok(b)) => a.same(b) != Some(false),
        _ => true,
    }
}

fn lit(text: &str, dtype: DType) -> Term {
    let value = match (text, dtype.category()) {
        ("inf", _) => Lit::Inf,
        (_, Category::Bool) => Lit::Bool(text == "1"),
        (_, Category::Int) => Lit::Int(text.parse::<BigInt>().expect("invariant: digits")),
        (_, Category::Float) => Lit::Decimal(text.into()),
    };
    Term::lit(value, dtype, Span::default())
}

/// Small terms of a dtype over three parameters.
fn terms(dtype: DType, funs: &'static [Scalar], depth: u32) -> BoxedStrategy<Term> {
    let params = (0usize..3).prop_map(move |k| param(k, dtype));
    let texts: &[&str] = match dtype.category() {
        Category::Float => &["0.0", "1.0", "-0.0", "2.0", "0.5", "-1.0", "inf"],
        Category::Int => &["0", "1", "2", "127"],
        Category::Bool => &["0", "1"],
    };
    let literals = select(texts.to_vec()).prop_map(move |text| lit(text, dtype));
    let leaf = prop_oneof![3 => params, 1 => literals];
    if depth == 0 {
        return leaf.boxed();
    }
    let fit: Vec<Scalar> =
        funs.iter().copied().filter(|f| f.result(&vec![dtype; f.arity()]) == Ok(dtype)).collect();
    let calls = select(fit).prop_flat_map(move |fun| {
        proptest::collection::vec(terms(dtype, funs, depth - 1), fun.arity())
            .prop_map(move |args| Term::scalar(fun, args, Span::default()))
    });
    let tests = select(vec![Scalar::Lt, Scalar::Le, Scalar::Eq, Scalar::Gt, Scalar::Ne]);
    let ifs =
        (tests, proptest::collection::vec(terms(dtype, funs, depth - 1), 4)).prop_map(|(test, mut parts)| {
            let (other, then) = (parts.pop(), parts.pop());
            let cond = Term::scalar(test, parts, Span::default());
            let branch = |t: Option<Term>| t.expect("invariant: four parts");
            Term::if_(cond, branch(then), branch(other), Span::default())
        });
    prop_oneof![2 => leaf, 6 => calls, 1 => ifs].boxed()
}

const RING: &[Scalar] = &[
    Scalar::Add,
    Scalar::Sub,
    Scalar::Mul,
    Scalar::Neg,
    Scalar::Div,
    Scalar::Abs,
    Scalar::Maximum,
    Scalar::Minimum,
    Scalar::Sign,
];

const ELEMENTARY: &[Scalar] = &[
    Scalar::Add,
    Scalar::Sub,
    Scalar::Mul,
    Scalar::Div,
    Scalar::Neg,
    Scalar::Exp,
    Scalar::Log,
    Scalar::Sqrt,
    Scalar::Rsqrt,
    Scalar::Sigmoid,
    Scalar::Tanh,
    Scalar::Expm1,
    Scalar::Log1p,
    Scalar::Exp2,
    Scalar::Log2,
    Scalar::Pow,
    Scalar::Erf,
    Scalar::Sinh,
    Scalar::Cosh,
    Scalar::Floor,
    Scalar::Round,
    Scalar::Remainder,
    Scalar::Reciprocal,
    Scalar::Sin,
    Scalar::Cos,
];

const INTEGER: &[Scalar] = &[
    Scalar::Add,
    Scalar::Sub,
    Scalar::Mul,
    Scalar::Neg,
    Scalar::Abs,
    Scalar::FloorDivide,
    Scalar::TruncDivide,
    Scalar::Remainder,
    Scalar::Fmod,
    Scalar::Maximum,
    Scalar::Minimum,
    Scalar::BitwiseAnd,
    Scalar::BitwiseXor,
    Scalar::BitwiseNot,
    Scalar::BitwiseLeftShift,
    Scalar::BitwiseRightShift,
    Scalar::Sign,
];

/// All triples of these values.
fn inputs(dtype: DType, domain: Domain, texts: &[&str]) -> Vec<Inputs> {
    let value = |text: &&str| Value::literal(text, dtype, domain).expect("invariant: a literal of the dtype");
    let values: Vec<Value> = texts.iter().map(value).collect();
    let mut all = Vec::new();
    for x in &values {
        for y in &values {
            for z in &values {
                all.push(vec![(dtype, vec![x.clone(), y.clone(), z.clone()])]);
            }
        }
    }
    all
}

/// Groups terms that look alike on `few` inputs and checks what is proved on `many`.
fn check(
    terms: &[Term],
    mode: Mode,
    domain: Domain,
    few: &[Inputs],
    many: &[Inputs],
) -> Result<usize, TestCaseError> {
    let mut groups: HashMap<String, Vec<&Term>> = HashMap::new();
    for term in terms {
        let seen: Vec<String> = few
            .iter()
            .map(|inputs| match eval(term, domain, inputs) {
                Ok(value) => value.to_string().chars().take(6).collect(),
                Err(_) => "error".to_string(),
            })
            .collect();
        groups.entry(seen.join(" ")).or_default().push(term);
    }
    let mut proved = 0;
    for group in groups.values() {
        for pair in group.windows(2).take(6) {
            let (left, right) = (pair[0], pair[1]);
            for directed in [true, false] {
                let goal = ValueGoal {
                    facts: &[],
                    hypotheses: &[],
                    left,
                    right,
                    mode,
                    directed,
                    errors: Errors::Compared,
                    written: None,
                };
                if !matches!(prover().prove(&goal), ValueAnswer::Equal(_)) {
                    continue;
                }
                proved += 1;
                for inputs in many {
                    let (a, b) = (eval(left, domain, inputs), eval(right, domain, inputs));
                    prop_assert!(
                        agree(&a, &b, mode, directed),
                        "{mode}: proved, but {a:?} against {b:?} at {inputs:?}:\n{left:?}\n{right:?}"
                    );
                }
            }
        }
    }
    Ok(proved)
}

const FLOATS: [&str; 9] = ["0.0", "-0.0", "1.0", "-1.0", "0.1", "-3.0", "inf", "-inf", "nan"];
const REALS: [&str; 7] = ["0.0", "1.0", "-1.0", "0.5", "-2.0", "3.0", "0.3333"];

proptest! {
    #![proptest_config(support::config(6, 0))]

    #[test]
    fn exact_floats(terms in proptest::collection::vec(terms(DType::F32, RING, 2), 150)) {
        let few = inputs(DType::F32, Domain::Ieee, &["2.0", "3.5"]);
        let many = inputs(DType::F32, Domain::Ieee, &FLOATS);
        check(&terms, Mode::Exact, Domain::Ieee, &few[1..4], &many)?;
    }

    #[test]
    fn reassociated_floats(terms in proptest::collection::vec(terms(DType::F32, RING, 2), 150)) {
        let few = inputs(DType::F32, Domain::Exact, &["2.0", "3.5"]);
        let many = inputs(DType::F32, Domain::Exact, &REALS);
        check(&terms, Mode::Reassoc, Domain::Exact, &few[1..4], &many)?;
    }

    #[test]
    fn reals(terms in proptest::collection::vec(terms(DType::F32, RING, 2), 100)) {
        let few = inputs(DType::F32, Domain::Exact, &["2.0", "3.5"]);
        let many = inputs(DType::F32, Domain::Exact, &REALS);
        check(&terms, Mode::Real, Domain::Exact, &few[1..4], &many)?;
    }

    #[test]
    fn elementary_functions(
        terms in proptest::collection::vec(terms(DType::F32, ELEMENTARY, 2), 60)
    ) {
        let few = inputs(DType::F32, Domain::Exact, &["2.0", "3.5"]);
        let many = inputs(DType::F32, Domain::Exact, &REALS);
        check(&terms, Mode::Real, Domain::Exact, &few[1..3], &many)?;
    }

    #[test]
    fn bytes(terms in proptest::collection::vec(terms(DType::I8, INTEGER, 2), 60)) {
        let few = inputs(DType::I8, Domain::Ieee, &["5", "3"]);
        let many = inputs(DType::I8, Domain::Ieee, &["0", "1", "-1", "127", "-128", "7", "-3"]);
        check(&terms, Mode::Exact, Domain::Ieee, &few[1..4], &many)?;
    }
}

#[test]
fn the_harness_proves_something() {
    let sum = |a: usize, b: usize| {
        let args = vec![param(a, DType::F32), param(b, DType::F32)];
        Term::scalar(Scalar::Add, args, Span::default())
    };
    let few = inputs(DType::F32, Domain::Ieee, &["2.0"]);
    let proved = check(&[sum(0, 1), sum(1, 0)], Mode::Exact, Domain::Ieee, &few, &few);
    assert!(proved.is_ok_and(|proved| proved == 2));
}
