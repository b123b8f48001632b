//! The random refuter: small sizes and values on the reference evaluator.
//!
//! An input that violates a precondition, or on which nothing is decided, says
//! nothing. The seed fixes every draw.

use crate::compare::{Difference, difference, domain};
use crate::counterexample::{Counterexample, written};
use crate::verdict::Contract;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::entail::Cond;
use rtv_semantics::eval::{Datum, Env, EvalError, Limits, codes, eval};
use rtv_semantics::program::{Claim, ClaimKind, Input, Mode};
use rtv_semantics::sample::{Sampler, Style};
use rtv_semantics::scalar::{Domain, Exact, Value};
use rtv_semantics::size::{Atom, Size, Sym, SymKind};
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{ErrorClass, Var};
use rtv_semantics::types::Type;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Elements of one input tensor at most.
const MAX_INPUT: i128 = 1 << 12;

/// Product of all sizes, since what an evaluation takes grows with it; more only where nothing
/// smaller is found.
const MAX_VOLUME: i64 = 1 << 10;

/// Draws of sizes before an input is given up.
const SIZE_ATTEMPTS: usize = 60;

/// One concrete input of a claim. Floats are IEEE values.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub sizes: BTreeMap<Sym, i64>,
    pub tensors: Vec<(Var, Arc<str>, Tensor)>,
}

/// What one input says about a claim.
pub enum Trial {
    /// A precondition does not hold.
    Rejected,
    /// The left side fails or nothing could be decided.
    Silent,
    Agreed,
    Differs(Box<Counterexample>),
}

/// Bounds for evaluation on one input: small, since there are many.
pub fn limits() -> Limits {
    Limits { max_elements: 1 << 18, max_steps: 5_000_000, ..Limits::default() }
}

/// A random input that satisfies the preconditions on sizes.
pub fn draw(claim: &Claim, sampler: &mut Sampler, round: u64) -> Option<Drawn> {
    let sizes = (0..SIZE_ATTEMPTS).find_map(|k| {
        let large = k >= SIZE_ATTEMPTS / 2;
        draw_sizes(claim, sampler, round + k as u64 / 8).filter(|sizes| large || volume(sizes) <= MAX_VOLUME)
    })?;
    draw_tensors(claim, sizes, sampler)
}

/// Tensors for sizes already chosen.
pub fn draw_tensors(claim: &Claim, sizes: BTreeMap<Sym, i64>, sampler: &mut Sampler) -> Option<Drawn> {
    let mut tensors = Vec::new();
    for param in &claim.params {
        let Input::Value(var, Type::Tensor(ty)) = &param.input else { continue };
        let shape = concrete_shape(&ty.shape, &sizes)?;
        let tensor = draw_tensor(claim.mode, ty.dtype, &shape, &sizes, sampler)?;
        tensors.push((var.clone(), param.name.clone(), tensor));
    }
    Some(Drawn { sizes, tensors })
}

/// The shape of an input at concrete sizes.
pub fn input_shape(claim: &Claim, var: &Var, sizes: &BTreeMap<Sym, i64>) -> Option<Vec<usize>> {
    claim.params.iter().find_map(|param| match &param.input {
        Input::Value(v, Type::Tensor(ty)) if v == var => concrete_shape(&ty.shape, sizes),
        _ => None,
    })
}

fn draw_tensor(
    mode: Mode,
    dtype: DType,
    shape: &[usize],
    sizes: &BTreeMap<Sym, i64>,
    sampler: &mut Sampler,
) -> Option<Tensor> {
    if domain(mode) == Domain::Ieee && dtype.is_float() {
        match sampler.below(20) {
            0..4 => return corner_values(dtype, shape, sampler),
            4 => return beside_halfway(dtype, shape, sampler),
            _ => {}
        }
    }
    let style = match (domain(mode), sampler.below(4)) {
        // Over the reals inputs are finite, and small numbers keep results exact.
        (Domain::Exact, 0 | 1) => Style::SmallIntegers,
        (Domain::Exact, 2) => Style::Distinct,
        (Domain::Exact, _) if dtype.category() == Category::Float => {
            return sampler.uniform_tensor(dtype, shape, -2.0, 2.0).ok().map(|t| quarters(&t));
        }
        // A bound is met at most sizes and broken at extreme ones.
        (Domain::Ieee, 0 | 1) if matches!(mode, Mode::Close { .. }) && dtype.is_float() => {
            let bound = [10.0, 100.0, 1e4][sampler.below(3)];
            return sampler.uniform_tensor(dtype, shape, -bound, bound).ok();
        }
        (Domain::Ieee, 0) => Style::Distinct,
        (Domain::Ieee, 1) => Style::Specials,
        (Domain::Ieee, 2) => Style::Normal,
        _ => Style::SmallIntegers,
    };
    // Integers often serve as indices into an axis.
    if dtype.is_int() && sampler.below(2) == 0 {
        let extents: Vec<i64> = sizes.values().copied().filter(|n| *n >= 1).collect();
        let high = sampler.pick(&extents).copied().unwrap_or(1) - 1;
        return sampler.integer_tensor(dtype, shape, 0, high).ok();
    }
    sampler.tensor(dtype, shape, style).ok()
}

/// Only values at which laws of the reals break, so that pairs of them meet.
fn corner_values(dtype: DType, shape: &[usize], sampler: &mut Sampler) -> Option<Tensor> {
    const CORNERS: [f64; 8] = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5];
    let count: usize = shape.iter().product();
    let values = (0..count).map(|_| Value::float(CORNERS[sampler.below(CORNERS.len())], dtype, Domain::Ieee));
    Tensor::new(dtype, shape, values.collect()).ok()
}

/// Just above or below the middle between two neighbours of a narrower float: rounding
/// them twice gives another result than rounding them once.
fn beside_halfway(dtype: DType, shape: &[usize], sampler: &mut Sampler) -> Option<Tensor> {
    let count: usize = shape.iter().product();
    let values = (0..count).map(|_| {
        let narrow = [DType::BF16, DType::F16, DType::F32][sampler.below(3)];
        // Neighbours in 1..2 differ by a step.
        let step = 0.5_f64.powi(narrow.precision().unwrap_or(1) as i32 - 1);
        let below = 1.0 + step * sampler.integer(0, 30) as f64;
        let sign = if sampler.below(2) == 0 { 1.0 } else { -1.0 };
        let nudge = sign * 0.5_f64.powi(12 + 8 * sampler.below(4) as i32);
        Value::float(below + step / 2.0 + nudge, dtype, Domain::Ieee)
    });
    Tensor::new(dtype, shape, values.collect()).ok()
}

/// Rounded to multiples of 1/4.
fn quarters(tensor: &Tensor) -> Tensor {
    let round = |v: &Value| match v {
        Value::Float(x) => Value::Float((x * 4.0).round() / 4.0),
        other => other.clone(),
    };
    let values = tensor.values().map(round).collect();
    Tensor::new(tensor.dtype, tensor.shape(), values).unwrap_or_else(|_| tensor.clone())
}

fn draw_sizes(claim: &Claim, sampler: &mut Sampler, round: u64) -> Option<BTreeMap<Sym, i64>> {
    let mut sizes = BTreeMap::new();
    for sym in &claim.syms {
        let value = match sym.kind() {
            SymKind::Int => sampler.integer(-4, 4),
            _ if round < 8 => sampler.integer(0, 1 + round as i64 / 2),
            _ if sampler.below(8) == 0 => sampler.integer(0, 12),
            _ => sampler.size() as i64,
        };
        sizes.insert(sym.clone(), value);
    }
    claim.facts.iter().for_each(|fact| solve_equation(fact, &mut sizes));
    let holds = |cond: &Cond| cond.eval(&|s| sizes.get(s).map(|n| i128::from(*n))) == Some(true);
    claim.facts.iter().all(holds).then_some(sizes)
}

fn volume(sizes: &BTreeMap<Sym, i64>) -> i64 {
    let counted = sizes.iter().filter(|(sym, _)| sym.kind() != SymKind::Int);
    counted.fold(1, |volume, (_, n)| volume.saturating_mul((*n).max(1)))
}

/// Gives a symbol that occurs alone in an equation the value that satisfies it.
fn solve_equation(fact: &Cond, sizes: &mut BTreeMap<Sym, i64>) {
    let parts = match fact {
        Cond::And(parts) => return parts.iter().for_each(|p| solve_equation(p, sizes)),
        Cond::Zero(p) => p,
        _ => return,
    };
    for (monomial, coefficient) in parts.terms() {
        let [(Atom::Sym(sym), 1)] = monomial.as_slice() else { continue };
        let unit = if *coefficient == 1.into() {
            1
        } else if *coefficient == (-1).into() {
            -1
        } else {
            continue;
        };
        let term = Size::sym(sym).scale(coefficient);
        let rest = parts - &term;
        if rest.mentions(sym) {
            continue;
        }
        let value = rest.eval(&|s| sizes.get(s).map(|n| i128::from(*n)));
        if let Ok(value) = value
            && let Ok(value) = i64::try_from(-unit * value)
            && (value >= 0 || sym.kind() == SymKind::Int)
        {
            sizes.insert(sym.clone(), value);
            return;
        }
    }
}

fn concrete_shape(shape: &[Size], sizes: &BTreeMap<Sym, i64>) -> Option<Vec<usize>> {
    let env = |s: &Sym| sizes.get(s).map(|n| i128::from(*n));
    let mut extents = Vec::new();
    for size in shape {
        extents.push(usize::try_from(size.eval(&env).ok()?).ok()?);
    }
    let count = extents.iter().try_fold(1i128, |n, d| n.checked_mul(*d as i128))?;
    (count <= MAX_INPUT).then_some(extents)
}

/// Runs both sides on an input and compares them in the claim's mode.
pub fn judge(claim: &Arc<Claim>, drawn: &Drawn) -> Trial {
    let domain = domain(claim.mode);
    let env = environment(drawn, domain);
    for require in &claim.requires {
        match eval(&require.cond, &env, domain, &limits()) {
            Ok(Datum::Tensor(t)) if t.item().and_then(Value::as_bool) == Some(true) => {}
            _ => return Trial::Rejected,
        }
    }
    let left = eval(&claim.lhs, &env, domain, &limits());
    if claim.kind == ClaimKind::Calls {
        return called(claim, drawn, left);
    }
    let right = eval(&claim.rhs, &env, domain, &limits());
    match (left, right) {
        (Err(e), _) | (_, Err(e)) if e.class.is_none() => Trial::Silent,
        (Err(_), _) if claim.directed => Trial::Silent,
        (Err(_), Err(_)) => Trial::Agreed,
        (Err(e), Ok(right)) => {
            let difference = errors(&e, "only the left side fails");
            differs(claim, drawn, difference, error_text(&e), shown(&right))
        }
        (Ok(left), Err(e)) => {
            let difference = errors(&e, "only the right side fails");
            differs(claim, drawn, difference, shown(&left), error_text(&e))
        }
        (Ok(left), Ok(right)) => match difference(&left, &right, claim.mode, claim.directed) {
            // Where everything is undefined nothing was compared.
            None if is_undefined(&left) => Trial::Silent,
            None => Trial::Agreed,
            Some(d) => differs(claim, drawn, d, shown(&left), shown(&right)),
        },
    }
}

/// Whether a function fails at a precondition of another one of its file.
fn called(claim: &Arc<Claim>, drawn: &Drawn, result: Result<Datum, EvalError>) -> Trial {
    match result {
        Ok(_) => Trial::Agreed,
        Err(e)
            if e.class == Some(ErrorClass::Requires)
                && e.code == codes::REQUIRES
                && e.span.file == claim.span.file
                && e.trace.first().is_some_and(|call| !call.is_op) =>
        {
            let text = "a call's precondition does not hold".to_string();
            let difference = Difference { contract: Contract::Error, at: None, text };
            differs(claim, drawn, difference, error_text(&e), "the call is made".into())
        }
        Err(_) => Trial::Silent,
    }
}

/// There are elements, and each is the undefined value of the reals.
fn is_undefined(result: &Datum) -> bool {
    match result {
        Datum::Tensor(tensor) => {
            let bottom = |value: &Value| matches!(value, Value::Exact(Exact::Bottom));
            tensor.values().next().is_some() && tensor.values().all(bottom)
        }
        Datum::Tuple(parts) => !parts.is_empty() && parts.iter().all(is_undefined),
        Datum::Size(_) => false,
    }
}

fn shown(result: &Datum) -> String {
    match result {
        Datum::Tensor(tensor) => written(tensor),
        Datum::Tuple(parts) => format!("({})", parts.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Datum::Size(size) => size.to_string(),
    }
}

fn errors(error: &EvalError, text: &str) -> Difference {
    let class = error.class.map_or("limit", |c| c.name());
    Difference { contract: Contract::Error, at: None, text: format!("{text}, in class `{class}`") }
}

fn error_text(error: &EvalError) -> String {
    format!("error: {}", error.message)
}

pub fn environment(drawn: &Drawn, domain: Domain) -> Env {
    let mut env = Env::new();
    env.sizes.extend(drawn.sizes.iter().map(|(s, n)| (s.clone(), *n)));
    for (var, _, tensor) in &drawn.tensors {
        let tensor = match domain {
            Domain::Ieee | Domain::Field => tensor.clone(),
            Domain::Exact => tensor.to_exact(),
        };
        env.vars.insert(var.clone(), Datum::Tensor(tensor));
    }
    env
}

fn differs(claim: &Arc<Claim>, drawn: &Drawn, difference: Difference, left: String, right: String) -> Trial {
    let (contract, instance, input) = (difference.contract, claim.clone(), drawn.clone());
    Trial::Differs(Box::new(Counterexample { instance, input, contract, left, right, difference }))
}
