//! Z3 through its binding: a [`Query`] built in a context of its own and checked.
//!
//! Several ways are tried in turn, each with a part of the budget, and the first `sat` or
//! `unsat` counts: the general solver after equations are used up, cheap to set up; with
//! products the same with Z3's older arithmetic; and Z3's default strategy, which picks special
//! procedures (nlsat, bit-blasting). Global memory
//! limits are not used: once one fires, the process stays unusable.

use std::cell::RefCell;

use num_bigint::BigInt;
use num_rational::BigRational;
use z3::ast::{Ast, BV, Bool, Dynamic, Float, Int, Real, RoundingMode};
use z3::{Config, Context, FuncDecl, Params, SatResult, Tactic, with_z3_config, with_z3_context};

use crate::query::{FpOp, Node, Op, Query, Sort};
use crate::smtlib;
use crate::solver::{Answer, Backend, Budget, ModelValue, Reason};

/// Z3 in this process.
pub struct Z3;

impl Backend for Z3 {
    fn check(&self, query: &Query, budget: Budget) -> Answer {
        // Where there are bit-vectors, too, it is they that take time.
        let lucky = query.is_nonlinear() && !query.has_bits();
        first_settled(ways(lucky), budget, |part, by| attempt(query, part, by))
    }

    fn check_text(&self, text: &str, budget: Budget) -> Answer {
        first_settled(ways(smtlib::is_nonlinear(text)), budget, |part, by| attempt_text(text, part, by))
    }
}

/// How Z3 is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Its default strategy, dear to set up.
    Default,
    /// The general solver, after equations that give a constant are used up.
    Equations,
    /// The same with the older arithmetic, whose simplex knows less of products and is done sooner.
    OlderArithmetic,
}

/// Ways with their part of the budget. Products make the time of a way a matter of luck: what
/// one does not find at once, another may.
fn ways(nonlinear: bool) -> &'static [(Way, u32)] {
    use Way::{Default, Equations, OlderArithmetic};
    match nonlinear {
        false => &[(Equations, 2), (Default, 2)],
        true => &[
            (Equations, 128),
            (OlderArithmetic, 64),
            (Default, 32),
            (Equations, 32),
            (Default, 2),
            (Equations, 3),
        ],
    }
}

/// The answer of the first way that has one, or else why the last has none.
fn first_settled(ways: &[(Way, u32)], budget: Budget, ask: impl Fn(Budget, Way) -> Answer) -> Answer {
    let mut answer = Answer::Unknown(Reason::Timeout);
    for (way, parts) in ways {
        answer = ask(budget.part(*parts), *way);
        if !matches!(answer, Answer::Unknown(_)) {
            break;
        }
    }
    answer
}

impl Z3 {
    /// Asks in the context of the last question, whose answer is in doubt: what is wrong with
    /// it is wrong there, and another context costs a millisecond.
    pub fn check_there(&self, query: &Query, budget: Budget) -> Answer {
        match LAST.with_borrow(Clone::clone) {
            Some(there) => with_z3_context(&there, || answer(query, budget, Way::Equations)),
            None => self.check(query, budget),
        }
    }
}

thread_local! {
    /// The context of the last question.
    static LAST: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// A solver that works this way within the budget.
fn solver(way: Way, budget: Budget) -> z3::Solver {
    let solver = match way {
        Way::Default => z3::Solver::new(),
        Way::Equations | Way::OlderArithmetic => {
            Tactic::new("simplify").and_then(&Tactic::new("solve-eqs")).and_then(&Tactic::new("smt")).solver()
        }
    };
    let mut params = Params::new();
    params.set_u32("timeout", budget.timeout_ms);
    params.set_u32("rlimit", budget.rlimit);
    if way == Way::OlderArithmetic {
        params.set_u32("arith.solver", 2);
    }
    solver.set_params(&params);
    solver
}

/// Runs in a context of its own, which is kept until the next one.
fn in_context<R: Send + Sync>(work: impl FnOnce() -> R + Send + Sync) -> R {
    with_z3_config(&Config::new(), move || {
        LAST.replace(Some(Context::thread_local()));
        work()
    })
}

fn attempt_text(text: &str, budget: Budget, way: Way) -> Answer {
    in_context(move || {
        let solver = solver(way, budget);
        // A part that Z3 cannot read is not asserted, which excludes nothing.
        solver.from_string(text);
        match solver.check() {
            SatResult::Unsat => Answer::Unsat,
            SatResult::Sat => Answer::Sat(Vec::new()),
            SatResult::Unknown => Answer::Unknown(reason(&Query::new(), solver.get_reason_unknown())),
        }
    })
}

/// One check in a context of its own.
fn attempt(query: &Query, budget: Budget, way: Way) -> Answer {
    in_context(move || answer(query, budget, way))
}

/// One check in the context at hand.
fn answer(query: &Query, budget: Budget, way: Way) -> Answer {
    let terms = build(query);
    let solver = solver(way, budget);
    for id in &query.asserts {
        solver.assert(as_bool(&terms[id.index()]));
    }
    match solver.check() {
        SatResult::Unsat => Answer::Unsat,
        SatResult::Unknown => Answer::Unknown(reason(query, solver.get_reason_unknown())),
        SatResult::Sat => Answer::Sat(match solver.get_model() {
            Some(model) => {
                let value = |term: &Dynamic| model.eval(term, true).map(|v| read(&v));
                let missing = || ModelValue::Other(String::new());
                let watched = query.watched.iter();
                watched.map(|id| value(&terms[id.index()]).unwrap_or_else(missing)).collect()
            }
            None => Vec::new(),
        }),
    }
}

/// Puts Z3's words into the closed list.
fn reason(query: &Query, said: Option<String>) -> Reason {
    let said = said.unwrap_or_default();
    if said.contains("timeout") {
        Reason::Timeout
    } else if said.contains("memory") {
        Reason::Memory
    } else if ["canceled", "interrupted", "resource"].iter().any(|word| said.contains(word)) {
        Reason::Rlimit
    } else if query.is_nonlinear() {
        Reason::Nonlinear
    } else {
        Reason::Unsupported(format!("the solver gave up ({said})"))
    }
}

/// A model value as plain data.
fn read(value: &Dynamic) -> ModelValue {
    let text = || ModelValue::Other(value.to_string());
    if let Some(value) = value.as_bool() {
        return value.as_bool().map_or_else(text, ModelValue::Bool);
    }
    if let Some(value) = value.as_int() {
        return value.as_i128().map_or_else(text, |v| ModelValue::Int(BigInt::from(v)));
    }
    if let Some(value) = value.as_real() {
        let ratio = |(n, d)| ModelValue::Real(BigRational::new(BigInt::from(n), BigInt::from(d)));
        return value.as_rational().map_or_else(text, ratio);
    }
    if let Some(value) = value.as_bv() {
        return value.as_u64().map_or_else(text, ModelValue::Bits);
    }
    if let Some(value) = value.as_float() {
        let (sort, bits) = (value.get_sort(), value.to_ieee_bv().simplify().as_u64());
        let format = sort.float_exponent_size().zip(sort.float_significand_size());
        return match (bits, format) {
            (Some(bits), Some((e, s))) => ModelValue::Float(double(bits, e, s).to_bits()),
            _ => text(),
        };
    }
    text()
}

/// The float of a format that has these bits. Z3's own conversion is wrong for subnormal
/// numbers of formats narrower than f64.
fn double(bits: u64, exponent: u32, significand: u32) -> f64 {
    if (exponent, significand) == (11, 53) {
        return f64::from_bits(bits);
    }
    let stored = significand - 1;
    let (fraction, ones) = (bits & ((1 << stored) - 1), (1 << exponent) - 1);
    let power = (bits >> stored) & ones;
    let scale = |power: u64| 2f64.powi(power as i32 - (ones / 2) as i32 - stored as i32);
    let magnitude = match power {
        0 => fraction as f64 * scale(1),
        power if power < ones => (fraction | 1 << stored) as f64 * scale(power),
        _ if fraction == 0 => f64::INFINITY,
        _ => return f64::NAN,
    };
    if bits >> (stored + exponent) & 1 == 1 { -magnitude } else { magnitude }
}

/// Every node as a Z3 term, by index.
pub(crate) fn build(query: &Query) -> Vec<Dynamic> {
    let funs: Vec<FuncDecl> = query
        .decls
        .iter()
        .map(|decl| {
            let domain: Vec<z3::Sort> = decl.domain.iter().map(sort).collect();
            let domain: Vec<&z3::Sort> = domain.iter().collect();
            FuncDecl::new(decl.name.as_str(), &domain, &sort(&decl.range))
        })
        .collect();
    let mut terms: Vec<Dynamic> = Vec::with_capacity(query.nodes.len());
    for node in &query.nodes {
        let term = match node {
            Node::Bool(value) => Dynamic::from_ast(&Bool::from_bool(*value)),
            Node::Int(value) => Dynamic::from_ast(&big_int(value)),
            Node::Real(value) => Dynamic::from_ast(&big_real(value)),
            Node::Bits(value, width) => Dynamic::from_ast(
                &BV::from_str(*width, &value.to_string()).expect("invariant: decimal digits"),
            ),
            Node::Float(bits, exponent, significand) => {
                let value = Float::from_f64(f64::from_bits(*bits));
                Dynamic::from_ast(&nearest(&value, *exponent, *significand))
            }
            Node::Apply(fun, args) => {
                let args: Vec<&dyn Ast> = args.iter().map(|arg| &terms[arg.index()] as &dyn Ast).collect();
                funs[fun.index()].apply(&args)
            }
            Node::Op(op, args) => {
                let args: Vec<&Dynamic> = args.iter().map(|arg| &terms[arg.index()]).collect();
                operation(*op, &args)
            }
        };
        terms.push(term);
    }
    terms
}

fn sort(sort: &Sort) -> z3::Sort {
    match sort {
        Sort::Bool => z3::Sort::bool(),
        Sort::Int => z3::Sort::int(),
        Sort::Real => z3::Sort::real(),
        Sort::Bits(width) => z3::Sort::bitvector(*width),
        Sort::Float(exponent, significand) => z3::Sort::float(*exponent, *significand),
        Sort::Opaque(name) => z3::Sort::uninterpreted(name.as_str().into()),
    }
}

fn big_int(value: &BigInt) -> Int {
    value.to_string().parse().expect("invariant: decimal digits")
}

fn big_real(value: &BigRational) -> Real {
    Real::from_rational_str(&value.numer().to_string(), &value.denom().to_string())
        .expect("invariant: decimal digits")
}

fn as_bool(term: &Dynamic) -> Bool {
    term.as_bool().expect("invariant: well sorted")
}

fn as_bv(term: &Dynamic) -> BV {
    term.as_bv().expect("invariant: well sorted")
}

fn as_int(term: &Dynamic) -> Int {
    term.as_int().expect("invariant: well sorted")
}

fn as_real(term: &Dynamic) -> Real {
    term.as_real().expect("invariant: well sorted")
}

fn operation(op: Op, args: &[&Dynamic]) -> Dynamic {
    match op {
        Op::Not | Op::And | Op::Or => {
            let args: Vec<Bool> = args.iter().map(|arg| as_bool(arg)).collect();
            Dynamic::from_ast(&match op {
                Op::Not => args[0].not(),
                Op::And => Bool::and(&args),
                _ => Bool::or(&args),
            })
        }
        Op::Eq => Dynamic::from_ast(&args[0].eq(args[1])),
        Op::Ite => as_bool(args[0]).ite(args[1], args[2]),
        Op::Add | Op::Mul | Op::Le | Op::Lt if args[0].as_int().is_some() => {
            let (a, b) = (as_int(args[0]), as_int(args[1]));
            match op {
                Op::Add => Dynamic::from_ast(&Int::add(&[a, b])),
                Op::Mul => Dynamic::from_ast(&Int::mul(&[a, b])),
                Op::Le => Dynamic::from_ast(&a.le(b)),
                _ => Dynamic::from_ast(&a.lt(b)),
            }
        }
        Op::Add | Op::Mul | Op::Le | Op::Lt => {
            let (a, b) = (as_real(args[0]), as_real(args[1]));
            match op {
                Op::Add => Dynamic::from_ast(&Real::add(&[a, b])),
                Op::Mul => Dynamic::from_ast(&Real::mul(&[a, b])),
                Op::Le => Dynamic::from_ast(&a.le(b)),
                _ => Dynamic::from_ast(&a.lt(b)),
            }
        }
        Op::ToReal => Dynamic::from_ast(&as_int(args[0]).to_real()),
        Op::IntToBv(width) => Dynamic::from_ast(&BV::from_int(&as_int(args[0]), width)),
        Op::Fp(op) => float_operation(op, args),
        Op::FpTo(exponent, significand) => {
            Dynamic::from_ast(&nearest(&as_float(args[0]), exponent, significand))
        }
        _ => bit_operation(op, args),
    }
}

fn as_float(term: &Dynamic) -> Float {
    term.as_float().expect("invariant: well sorted")
}

fn nearest(value: &Float, exponent: u32, significand: u32) -> Float {
    let sort = z3::Sort::float(exponent, significand);
    value.to_fp_with_rounding_mode(&RoundingMode::round_nearest_ties_to_even(), &sort)
}

fn float_operation(op: FpOp, args: &[&Dynamic]) -> Dynamic {
    let a = as_float(args[0]);
    let b = || as_float(args[1]);
    let nearest = RoundingMode::round_nearest_ties_to_even();
    let integer = |mode| a.round_to_integral_with_rounding_mode(&mode);
    let test = match op {
        FpOp::Lt => a.lt(b()),
        FpOp::Le => a.le(b()),
        FpOp::Eq => a.eq_fpa(b()),
        FpOp::IsNan => a.is_nan(),
        FpOp::IsInf => a.is_infinite(),
        FpOp::IsNegative => a.is_negative(),
        FpOp::Add => return Dynamic::from_ast(&a.add_with_rounding_mode(b(), &nearest)),
        FpOp::Mul => return Dynamic::from_ast(&a.mul_with_rounding_mode(b(), &nearest)),
        FpOp::Div => return Dynamic::from_ast(&a.div_with_rounding_mode(b(), &nearest)),
        FpOp::Sqrt => return Dynamic::from_ast(&a.sqrt_with_rounding_mode(&nearest)),
        FpOp::Neg => return Dynamic::from_ast(&a.unary_neg()),
        FpOp::Abs => return Dynamic::from_ast(&a.unary_abs()),
        FpOp::Round => return Dynamic::from_ast(&integer(nearest)),
        FpOp::Floor => return Dynamic::from_ast(&integer(RoundingMode::round_towards_negative())),
        FpOp::Ceil => return Dynamic::from_ast(&integer(RoundingMode::round_towards_positive())),
        FpOp::Trunc => return Dynamic::from_ast(&integer(RoundingMode::round_towards_zero())),
    };
    Dynamic::from_ast(&test)
}

fn bit_operation(op: Op, args: &[&Dynamic]) -> Dynamic {
    let a = as_bv(args[0]);
    let b = || as_bv(args[1]);
    let result = match op {
        Op::BvNeg => a.bvneg(),
        Op::BvNot => a.bvnot(),
        Op::BvAdd => a.bvadd(b()),
        Op::BvMul => a.bvmul(b()),
        Op::BvSdiv => a.bvsdiv(b()),
        Op::BvSrem => a.bvsrem(b()),
        Op::BvUdiv => a.bvudiv(b()),
        Op::BvUrem => a.bvurem(b()),
        Op::BvAnd => a.bvand(b()),
        Op::BvOr => a.bvor(b()),
        Op::BvXor => a.bvxor(b()),
        Op::BvShl => a.bvshl(b()),
        Op::BvAshr => a.bvashr(b()),
        Op::BvLshr => a.bvlshr(b()),
        Op::Extract(hi, lo) => a.extract(hi, lo),
        Op::SignExt(more) => a.sign_ext(more),
        Op::ZeroExt(more) => a.zero_ext(more),
        Op::BvSlt => return Dynamic::from_ast(&a.bvslt(b())),
        Op::BvUlt => return Dynamic::from_ast(&a.bvult(b())),
        Op::BvToInt => return Dynamic::from_ast(&a.to_int(false)),
        other => unreachable!("invariant: {other:?} is no bit-vector operation"),
    };
    Dynamic::from_ast(&result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_the_float_they_denote() {
        // The least subnormal of f16, one, its largest number and the infinities.
        let f16 = [(0x0001, 2f64.powi(-24)), (0x3c00, 1.0), (0x7bff, 65504.0), (0xfc00, f64::NEG_INFINITY)];
        for (bits, value) in f16 {
            assert_eq!(double(bits, 5, 11), value);
        }
        assert!(double(0x7e00, 5, 11).is_nan() && double(0x8000, 5, 11).is_sign_negative());
        for value in [0.1f32, f32::MIN_POSITIVE / 8.0, -2.5e38f32, f32::MAX] {
            assert_eq!(double(value.to_bits().into(), 8, 24), f64::from(value));
        }
    }

    /// x*x*x + y*y*y = z*z*z over positive integers: no quick answer.
    fn hard() -> Query {
        let mut q = Query::new();
        let names = ["x", "y", "z"];
        let cubes: Vec<_> = names
            .iter()
            .map(|name| {
                let (x, one) = (q.constant(name, Sort::Int), q.int(1));
                let positive = q.le(one, x);
                q.assert(positive);
                let square = q.mul(x, x);
                q.mul(square, x)
            })
            .collect();
        let sum = q.add(cubes[0], cubes[1]);
        let equal = q.eq(sum, cubes[2]);
        q.assert(equal);
        q
    }

    #[test]
    fn a_context_answers_again_and_not_for_another() {
        let mut q = Query::new();
        let no = q.bool(false);
        q.assert(no);
        for number in [3, 4] {
            assert_eq!(Z3.check(&q, Budget::PRUNE), Answer::Unsat);
            let probe = crate::canary::probe(number);
            assert_eq!(probe.accepts(&Z3.check_there(&probe.query, Budget::PRUNE)), Some(true));
            assert_eq!(Z3.check_there(&q, Budget::PRUNE), Answer::Unsat);
        }
    }

    #[test]
    fn budgets_end_in_a_reason_never_in_unsat() {
        let short = Budget { rlimit: 0, timeout_ms: 100 };
        assert_eq!(Z3.check(&hard(), short), Answer::Unknown(Reason::Timeout));
        let poor = Budget { rlimit: 20_000, timeout_ms: 20_000 };
        assert_eq!(Z3.check(&hard(), poor), Answer::Unknown(Reason::Rlimit));
    }
}
