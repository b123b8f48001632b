//! What is said to be known of values holds for those that the evaluator gives.

use super::{Desk, f32s};
use crate::derived::symbols;
use crate::derived::values::{Elements, Known, Look};
use crate::module::{Module, subject};
use crate::recheck::{Leaves, Sizes};
use crate::refute::{draw, environment};
use rtv_grammar::ast::ItemKind;
use rtv_grammar::lower::has_rank_variables;
use rtv_grammar::parse;
use rtv_semantics::derivation::{operator_form, parts};
use rtv_semantics::diag::{FileId, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{Datum, Env, Limits, eval};
use rtv_semantics::program::{Claim, ClaimKind, Function, Input, Mode};
use rtv_semantics::sample::Sampler;
use rtv_semantics::scalar::{Accepts, Domain, Exact, Scalar, Value};
use rtv_semantics::subst::Fresh;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{Lit, Term, Var};
use rtv_semantics::types::Type;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Whether a value of a float or of another dtype is as is said.
fn is_as_said(said: &Elements, value: &Value) -> bool {
    let Value::Exact(value) = value else { return true };
    let sign = value.signum();
    match value {
        Exact::Bottom => !said.defined,
        _ => {
            let infinite = matches!(value, Exact::PosInf) && said.below_inf
                || matches!(value, Exact::NegInf) && said.above_neg_inf;
            let wrong = sign.is_some_and(|sign| {
                sign.is_lt() && said.not_negative
                    || sign.is_gt() && said.not_positive
                    || sign.is_eq() && said.not_zero
            });
            let other = said.whole.is_some_and(|n| value.compare(&Exact::int(n)).is_some_and(|o| o.is_ne()));
            !infinite && !wrong && !other
        }
    }
}

fn holds(known: &Known, datum: &Datum) -> bool {
    match (known, datum) {
        (Known::Elements(said), Datum::Tensor(tensor)) => {
            tensor.values().all(|value| is_as_said(said, value))
        }
        (Known::Tuple(known), Datum::Tuple(parts)) => {
            known.len() == parts.len() && known.iter().zip(parts).all(|(known, part)| holds(known, part))
        }
        (Known::Size, Datum::Size(_)) => true,
        _ => false,
    }
}

/// Known of a term whose variables are inputs.
fn known(term: &Term, function: &Function, leaves: &mut Leaves<'_>, sizes: &mut Sizes) -> Known {
    let inputs = function.params.iter().filter_map(|param| match &param.input {
        Input::Value(var, ty) => Some((var.clone(), ty.clone())),
        Input::Size(_) => None,
    });
    let given = inputs.enumerate().map(|(k, (var, ty))| {
        let input = Term::var(var.clone(), ty, Span::default());
        (var, (Look::new(&function.facts, sizes, leaves).of(&input, FxHashMap::default()), k))
    });
    let given: FxHashMap<Var, (Known, usize)> = given.collect();
    Look::new(&function.facts, sizes, leaves).of(term, given)
}

/// Every function of the examples and rules, and everything that it is made of.
#[test]
fn what_is_known_of_programs_is_true() {
    let desk = Desk::new();
    let (mut leaves, mut sizes) = (Leaves::new(desk.checker.prover.solver(), None), Sizes::default());
    let mut sampler = Sampler::new(3);
    let (mut terms, mut finite, mut values) = (0, 0, 0);
    for function in functions(&desk) {
        let form = operator_form(&function.body, &mut Fresh::new(1_000_000)).term;
        let mut all = vec![function.body.clone(), form];
        let mut at = 1;
        while at < all.len() {
            let inner = parts(&all[at]);
            all.extend(inner);
            at += 1;
        }
        let envs: Vec<Env> = inputs(&function, &mut sampler);
        for term in &all {
            let known = known(term, &function, &mut leaves, &mut sizes);
            terms += 1;
            finite += usize::from(known.is_finite());
            for env in &envs {
                let Ok(value) = eval(term, env, Domain::Exact, &Limits::default()) else { continue };
                values += 1;
                assert!(holds(&known, &value), "{}: {known:?}, {value}: {term:?}", function.name);
            }
        }
    }
    println!("{finite} of {terms} terms are known to be finite; {values} values");
    assert!(terms >= 2000 && finite * 2 > terms && values >= 4000, "{finite} of {terms}, {values} values");
}

/// Functions, and the left sides of rules, of the examples and of the rules.
fn functions(desk: &Desk) -> Vec<Function> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for folder in ["rules", "../examples"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder of the project") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a file of the project");
            let (module, _) = Module::new(FileId(0), parse(FileId(0), &text));
            for at in 0..module.items.len() {
                all.extend(function(desk, &module, at));
            }
        }
    }
    all
}

fn function(desk: &Desk, module: &Module, at: usize) -> Option<Function> {
    let item = &module.items[at];
    let (dtypes, rank) = (f32s(item), has_rank_variables(item).then_some(1));
    if !matches!(item.kind, ItemKind::Rule(_)) {
        return desk.checker.function(module, at, &dtypes, rank);
    }
    let mut rules = crate::derived::Proved::by(&desk.checker);
    rules.admit(module, at);
    let (name, _) = subject(item)?;
    let claim = crate::derived::Rules::claim(&mut rules, &name, &dtypes, rank)?;
    let Claim { name, params, facts, requires, lhs, .. } = (*claim).clone();
    Some(Function { name, params, facts, requires, body: lhs })
}

fn inputs(function: &Function, sampler: &mut Sampler) -> Vec<Env> {
    let claim = Claim {
        name: function.name.clone(),
        kind: ClaimKind::Rule,
        mode: Mode::Real,
        directed: false,
        syms: symbols(function),
        ranks: Vec::new(),
        dtypes: Vec::new(),
        params: function.params.clone(),
        facts: function.facts.clone(),
        requires: Vec::new(),
        lhs: function.body.clone(),
        rhs: function.body.clone(),
        span: Span::default(),
    };
    let drawn = (0..4).filter_map(|round| draw(&claim, sampler, 2 * round));
    drawn.map(|drawn| environment(&drawn, Domain::Exact)).collect()
}

/// Functions of scalars within each other, also of infinities.
#[test]
fn what_is_known_of_scalar_functions_is_true() {
    let desk = Desk::new();
    let (mut leaves, mut sizes) = (Leaves::new(desk.checker.prover.solver(), None), Sizes::default());
    let functions: Vec<Scalar> = Scalar::all()
        .filter(|f| !matches!(f.row().accepts, Accepts::Int | Accepts::Bits | Accepts::Bool))
        .collect();
    let mut sampler = Sampler::new(11);
    let var = Var { id: 0, name: "x".into() };
    let x = Term::var(var.clone(), Type::scalar(DType::F64), Span::default());
    let (mut compared, mut defined) = (0, 0);
    for _ in 0..20_000 {
        let depth = 1 + sampler.below(3) as u32;
        let term = drawn(&mut sampler, &functions, &x, depth);
        let given = FxHashMap::from_iter([(var.clone(), (Known::Elements(Elements::FINITE), 0))]);
        let known = Look::new(&[], &mut sizes, &mut leaves).of(&term, given);
        defined += usize::from(known.is_defined());
        for input in [-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0] {
            let tensor = Tensor::new(DType::F64, &[], vec![Value::Float(input)]).expect("a scalar");
            let env = Env::new().with_tensor(&var, tensor.to_exact());
            let Ok(value) = eval(&term, &env, Domain::Exact, &Limits::default()) else { continue };
            compared += 1;
            assert!(holds(&known, &value), "{known:?}, {value} at {input}: {term:?}");
        }
    }
    println!("{defined} of 20000 terms are known to be defined; {compared} values");
    assert!(compared >= 50_000 && defined >= 2000, "{compared} values, {defined} defined");
}

fn drawn(sampler: &mut Sampler, functions: &[Scalar], x: &Term, depth: u32) -> Term {
    let span = Span::default();
    let decimal = |text: &str| Term::lit(Lit::Decimal(text.into()), DType::F64, span);
    if depth == 0 {
        return match sampler.below(9) {
            0 => Term::lit(Lit::Inf, DType::F64, span),
            1 => Term::lit(Lit::NegInf, DType::F64, span),
            2 => Term::lit(Lit::Pi, DType::F64, span),
            3 => decimal("0.0"),
            4 => decimal("-1.0"),
            5 => decimal("2.0"),
            6 => decimal("0.5"),
            _ => x.clone(),
        };
    }
    let scalar = *sampler.pick(functions).expect("some function");
    let args: Vec<Term> = (0..scalar.arity()).map(|_| drawn(sampler, functions, x, depth - 1)).collect();
    // Now and then both are the same element.
    let args = if args.len() == 2 && sampler.below(4) == 0 { vec![args[0].clone(); 2] } else { args };
    let args = args.into_iter().map(|arg| Term::cast(DType::F64, arg, span)).collect();
    Term::scalar(scalar, args, span)
}
