//! The value prover on small claims: what must be proved, and close variants that must
//! not be.

use std::sync::{Arc, OnceLock};

use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::term::{Binder, Lit, Monoid, Term, Var};
use rtv_semantics::types::Type;
use rtv_smt::{
    Answer, Backend, Budget, Errors, Proof, Query, Reason, SizeSolver, Solver, ValueAnswer, ValueGoal,
    ValueProver,
};

const EXACT: Mode = Mode::Exact;
const REASSOC: Mode = Mode::Reassoc;
const REAL: Mode = Mode::Real;

fn prover() -> &'static ValueProver {
    static PROVER: OnceLock<ValueProver> = OnceLock::new();
    PROVER.get_or_init(|| {
        let solver = Arc::new(Solver::start().expect("invariant: z3 starts"));
        let sizes = Arc::new(SizeSolver::new(solver.clone(), Budget::OBLIGATION));
        ValueProver::new(solver, sizes, Budget::OBLIGATION)
    })
}

/// A claim under construction.
struct Claim {
    facts: Vec<Cond>,
    hypotheses: Vec<Term>,
    directed: bool,
    errors: Errors,
}

fn both_ways() -> Claim {
    Claim { facts: vec![], hypotheses: vec![], directed: false, errors: Errors::Compared }
}

fn directed() -> Claim {
    Claim { directed: true, ..both_ways() }
}

impl Claim {
    fn given(mut self, facts: &[Cond]) -> Claim {
        self.facts.extend_from_slice(facts);
        self
    }

    fn with(mut self, hypotheses: &[&Term]) -> Claim {
        self.hypotheses.extend(hypotheses.iter().copied().cloned());
        self
    }

    fn answer(&self, mode: Mode, left: &Term, right: &Term) -> ValueAnswer {
        prover().prove(&ValueGoal {
            facts: &self.facts,
            hypotheses: &self.hypotheses,
            left,
            right,
            mode,
            directed: self.directed,
            errors: self.errors,
            written: None,
        })
    }

    #[track_caller]
    fn holds(&self, mode: Mode, left: &Term, right: &Term) {
        let answer = self.answer(mode, left, right);
        assert!(matches!(answer, ValueAnswer::Equal(_)), "{mode}: {answer:?}");
    }

    #[track_caller]
    fn open(&self, mode: Mode, left: &Term, right: &Term) {
        let answer = self.answer(mode, left, right);
        assert!(!matches!(answer, ValueAnswer::Equal(_)), "{mode}: wrongly proved: {answer:?}");
    }
}

const NAMES: [&str; 8] = ["x", "y", "z", "w", "M", "N", "i", "j"];

fn id(name: &str) -> u32 {
    NAMES.iter().position(|n| *n == name).expect("invariant: a listed name") as u32 + 1
}

fn sym(name: &str) -> Sym {
    let kind = if name == "i" || name == "j" { SymKind::Index } else { SymKind::Size };
    Sym::new(id(name), kind, name)
}

fn size(name: &str) -> Size {
    Size::sym(&sym(name))
}

fn tensor(name: &str, dtype: DType, rank: usize) -> Term {
    let var = Var { id: id(name), name: name.into() };
    Term::var(var, Type::tensor(dtype, vec![size("N"); rank]), Span::default())
}

fn at(name: &str, dtype: DType, index: &[Size]) -> Term {
    let index: Vec<Term> = index.iter().map(|s| Term::size(s.clone(), Span::default())).collect();
    Term::read(tensor(name, dtype, index.len()), index, Span::default())
}

/// The float scalar parameter of that name.
fn f(name: &str) -> Term {
    tensor(name, DType::F32, 0)
}

fn int(name: &str) -> Term {
    tensor(name, DType::I32, 0)
}

fn num(text: &str) -> Term {
    Term::lit(Lit::Decimal(text.into()), DType::F32, Span::default())
}

fn whole(n: i64) -> Term {
    Term::lit(Lit::Int(n.into()), DType::I32, Span::default())
}

fn call(fun: Scalar, args: &[&Term]) -> Term {
    Term::scalar(fun, args.iter().copied().cloned().collect(), Span::default())
}

fn add(a: &Term, b: &Term) -> Term {
    call(Scalar::Add, &[a, b])
}

fn sub(a: &Term, b: &Term) -> Term {
    call(Scalar::Sub, &[a, b])
}

fn mul(a: &Term, b: &Term) -> Term {
    call(Scalar::Mul, &[a, b])
}

fn div(a: &Term, b: &Term) -> Term {
    call(Scalar::Div, &[a, b])
}

fn neg(a: &Term) -> Term {
    call(Scalar::Neg, &[a])
}

fn exp(a: &Term) -> Term {
    call(Scalar::Exp, &[a])
}

fn log(a: &Term) -> Term {
    call(Scalar::Log, &[a])
}

fn max(a: &Term, b: &Term) -> Term {
    call(Scalar::Maximum, &[a, b])
}

fn if_(cond: &Term, then: &Term, other: &Term) -> Term {
    Term::if_(cond.clone(), then.clone(), other.clone(), Span::default())
}

fn cond(cond: Cond) -> Term {
    Term::cond(&cond, Span::default())
}

fn reduce(op: Monoid, k: u32, extent: Size, body: impl Fn(Size) -> Term) -> Term {
    let sym = Sym::new(100 + k, SymKind::Index, format!("k{k}"));
    let body = body(Size::sym(&sym));
    Term::reduce(op, vec![Binder { sym, extent }], body, Span::default())
}

fn sum(k: u32, extent: Size, body: impl Fn(Size) -> Term) -> Term {
    reduce(Monoid::Sum, k, extent, body)
}

#[test]
fn the_grades_of_ring_laws() {
    let (x, y, z) = (f("x"), f("y"), f("z"));
    let claim = both_ways();
    let commuted = (add(&x, &y), add(&y, &x));
    let associated = (add(&add(&x, &y), &z), add(&x, &add(&y, &z)));
    let products = (mul(&mul(&x, &y), &z), mul(&y, &mul(&z, &x)));
    let distributed = (mul(&x, &add(&y, &z)), add(&mul(&x, &y), &mul(&x, &z)));
    for mode in [EXACT, REASSOC, REAL] {
        claim.holds(mode, &commuted.0, &commuted.1);
        claim.holds(mode, &sub(&x, &y), &add(&x, &neg(&y)));
        claim.holds(mode, &neg(&neg(&x)), &x);
        claim.holds(mode, &mul(&x, &num("1.0")), &x);
        claim.holds(mode, &add(&num("-0.0"), &x), &x);
        claim.holds(mode, &sub(&x, &num("0.0")), &x);
        claim.open(mode, &add(&x, &y), &add(&x, &z));
        claim.open(mode, &mul(&x, &y), &add(&x, &y));
        claim.open(mode, &sub(&x, &y), &sub(&y, &x));
    }
    for (left, right) in [&associated, &products, &(add(&x, &num("0.0")), x.clone())] {
        claim.open(EXACT, left, right);
        claim.holds(REASSOC, left, right);
        claim.holds(REAL, left, right);
    }
    for mode in [EXACT, REASSOC] {
        claim.open(mode, &distributed.0, &distributed.1);
        claim.open(mode, &sub(&x, &x), &num("0.0"));
        claim.open(mode, &mul(&x, &num("0.0")), &num("0.0"));
        claim.open(mode, &add(&x, &x), &mul(&num("2.0"), &x));
        claim.open(mode, &num("0.1"), &num("0.2"));
    }
    claim.holds(REAL, &distributed.0, &distributed.1);
    claim.holds(REAL, &mul(&x, &num("0.0")), &num("0.0"));
    claim.holds(EXACT, &num("0.50"), &num("5e-1"));
}

#[test]
fn guards_and_indices_of_a_slice_of_a_concatenation() {
    let (i, m, n) = (size("i"), size("M"), size("N"));
    let lo = size("j");
    let place = &i + &lo;
    let inside = cond(Cond::lt(&place, &m));
    let left = if_(
        &inside,
        &at("x", DType::F16, std::slice::from_ref(&place)),
        &at("y", DType::F16, &[&place - &m]),
    );
    let right = at("y", DType::F16, &[&(&lo - &m) + &i]);
    let claim = || both_ways().given(&[Cond::lt(&i, &n)]);
    for mode in [EXACT, REASSOC, REAL] {
        claim().given(&[Cond::le(&m, &lo)]).holds(mode, &left, &right);
        claim().open(mode, &left, &right);
        claim().given(&[Cond::le(&m, &(&lo + &Size::one()))]).open(mode, &left, &right);
    }
}

#[test]
fn a_model_names_sizes_and_elements() {
    let (i, n) = (size("i"), size("N"));
    let facts = [Cond::lt(&i, &n)];
    let left = at("x", DType::I32, std::slice::from_ref(&i));
    let right = at("x", DType::I32, &[&n - &(&i + &Size::one())]);
    let ValueAnswer::Model(model) = both_ways().given(&facts).answer(EXACT, &left, &right) else {
        panic!("a reversed vector is no identity");
    };
    let value =
        |name: &str| model.syms.iter().find(|(s, _)| s.name() == name).map(|(_, v)| v.clone()).expect(name);
    assert!(value("i") < value("N"));
    assert_eq!(model.reads.len(), 2);
    assert_ne!(model.reads[0].value, model.reads[1].value);
}

#[test]
fn machine_integers_wrap_and_divide_by_floor() {
    let (x, y) = (int("x"), int("y"));
    let (one, two) = (whole(1), whole(2));
    let claim = both_ways();
    let quotient = call(Scalar::FloorDivide, &[&x, &y]);
    let rest = call(Scalar::Remainder, &[&x, &y]);
    claim.holds(EXACT, &mul(&x, &two), &call(Scalar::BitwiseLeftShift, &[&x, &one]));
    claim.holds(EXACT, &sub(&add(&x, &y), &y), &x);
    claim.holds(
        EXACT,
        &call(Scalar::FloorDivide, &[&x, &two]),
        &call(Scalar::BitwiseRightShift, &[&x, &one]),
    );
    claim.open(EXACT, &call(Scalar::TruncDivide, &[&x, &two]), &call(Scalar::BitwiseRightShift, &[&x, &one]));
    claim.open(EXACT, &call(Scalar::Gt, &[&add(&x, &one), &x]), &Term::bool(true, Span::default()));
    // x // x is 1, and an error at 0.
    let self_quotient = call(Scalar::FloorDivide, &[&x, &x]);
    claim.open(EXACT, &self_quotient, &one);
    directed().holds(EXACT, &self_quotient, &one);
    directed().open(EXACT, &one, &self_quotient);
    let loose = Claim { errors: Errors::Excluded, ..both_ways() };
    loose.holds(EXACT, &one, &self_quotient);
    loose.open(EXACT, &two, &self_quotient);
    // Bytes: quotient and remainder make the number again, both rounding ways.
    let (x, y) = (tensor("x", DType::I8, 0), tensor("y", DType::I8, 0));
    for (q, r) in [(Scalar::FloorDivide, Scalar::Remainder), (Scalar::TruncDivide, Scalar::Fmod)] {
        let again = add(&mul(&call(q, &[&x, &y]), &y), &call(r, &[&x, &y]));
        directed().holds(EXACT, &again, &x);
        claim.open(EXACT, &again, &x);
    }
    directed().open(EXACT, &quotient, &call(Scalar::TruncDivide, &[&int("x"), &int("y")]));
    directed().open(EXACT, &rest, &call(Scalar::Fmod, &[&int("x"), &int("y")]));
}

#[test]
fn an_error_in_a_condition_is_an_error() {
    let (x, y, one) = (int("x"), int("y"), whole(1));
    let positive = call(Scalar::Gt, &[&call(Scalar::FloorDivide, &[&x, &y]), &one]);
    let choice = if_(&positive, &one, &one);
    let other = if_(&positive, &one, &add(&one, &sub(&x, &x)));
    both_ways().open(EXACT, &choice, &one);
    both_ways().open(EXACT, &other, &one);
    directed().holds(EXACT, &other, &one);
    directed().open(EXACT, &one, &other);
}

#[test]
fn an_empty_maximum_is_infinite() {
    let n = size("N");
    let m = reduce(Monoid::Max, 0, n.clone(), |k| at("x", DType::F32, &[k]));
    let (zero, none) = (num("0.0"), both_ways());
    none.open(REAL, &sub(&m, &m), &zero);
    let some = both_ways().given(&[Cond::le(&Size::one(), &n)]);
    some.holds(REAL, &sub(&m, &m), &zero);
    let empty = both_ways().given(&[Cond::eq(&n, &Size::zero())]);
    empty.holds(REAL, &exp(&m), &zero);
    none.open(REAL, &exp(&m), &zero);
}

#[test]
fn sizes_as_machine_integers_wrap() {
    let span = Span::default();
    let (i, n) = (size("i"), size("N"));
    let wide = |s: &Size| Term::cast(DType::I64, Term::size(s.clone(), span), span);
    let facts = [Cond::eq(&n, &(&i + &i))];
    let claim = both_ways();
    claim.holds(EXACT, &add(&wide(&i), &wide(&n)), &wide(&(&i + &n)));
    claim.holds(EXACT, &mul(&wide(&i), &wide(&n)), &wide(&(&i * &n)));
    both_ways().given(&facts).holds(EXACT, &wide(&n), &add(&wide(&i), &wide(&i)));
    // The order of sizes is not the order of wrapped ones.
    let less = call(Scalar::Le, &[&wide(&i), &wide(&(&i + &n))]);
    claim.open(EXACT, &less, &Term::bool(true, span));
}

#[test]
fn undefined_values_of_the_reals_are_values() {
    let (x, y) = (f("x"), f("y"));
    let (zero, one) = (num("0.0"), num("1.0"));
    let ratio = div(&x, &x);
    let claim = both_ways();
    claim.open(REAL, &ratio, &one);
    directed().holds(REAL, &ratio, &one);
    directed().open(REAL, &one, &ratio);
    let is_zero = call(Scalar::Eq, &[&x, &zero]);
    claim.open(REAL, &if_(&is_zero, &zero, &one), &ratio);
    directed().open(REAL, &if_(&is_zero, &zero, &one), &ratio);
    // The chosen branch alone counts.
    claim.holds(REAL, &if_(&is_zero, &one, &ratio), &one);
    let nonzero = call(Scalar::Ne, &[&x, &zero]);
    both_ways().with(&[&nonzero]).holds(REAL, &ratio, &one);
    directed().holds(REAL, &mul(&call(Scalar::Sqrt, &[&x]), &call(Scalar::Sqrt, &[&x])), &x);
    claim.open(REAL, &mul(&call(Scalar::Sqrt, &[&x]), &call(Scalar::Sqrt, &[&x])), &x);
    claim.holds(REAL, &call(Scalar::Sqrt, &[&mul(&x, &x)]), &call(Scalar::Abs, &[&x]));
    claim.open(REAL, &call(Scalar::Sqrt, &[&mul(&x, &x)]), &x);
    claim.open(REAL, &log(&mul(&x, &y)), &add(&log(&x), &log(&y)));
    let (px, py) = (call(Scalar::Lt, &[&zero, &x]), call(Scalar::Lt, &[&zero, &y]));
    both_ways().with(&[&px, &py]).holds(REAL, &log(&mul(&x, &y)), &add(&log(&x), &log(&y)));
    both_ways().with(&[&px, &py]).holds(REAL, &log(&div(&x, &y)), &sub(&log(&x), &log(&y)));
    directed().holds(REAL, &exp(&log(&x)), &x);
    claim.holds(REAL, &div(&div(&x, &y), &f("z")), &div(&x, &mul(&y, &f("z"))));
    claim.holds(REAL, &add(&div(&x, &y), &div(&f("z"), &y)), &div(&add(&x, &f("z")), &y));
}

#[test]
fn infinities_come_from_literals_and_logarithms() {
    let inf = Term::lit(Lit::Inf, DType::F32, Span::default());
    let x = f("x");
    let claim = both_ways();
    claim.holds(REAL, &exp(&neg(&inf)), &num("0.0"));
    claim.holds(REAL, &add(&x, &inf), &inf);
    claim.holds(REAL, &log(&num("0.0")), &neg(&inf));
    claim.open(REAL, &mul(&x, &inf), &inf);
    claim.open(REAL, &sub(&inf, &inf), &num("0.0"));
    claim.holds(REAL, &max(&x, &neg(&inf)), &x);
    claim.holds(REAL, &exp(&log(&call(Scalar::Abs, &[&x]))), &call(Scalar::Abs, &[&x]));
}

#[test]
fn laws_of_elementary_functions() {
    let (x, y, z) = (f("x"), f("y"), f("z"));
    let (zero, one, two) = (num("0.0"), num("1.0"), num("2.0"));
    let claim = both_ways();
    claim.holds(REAL, &mul(&exp(&x), &exp(&y)), &exp(&add(&x, &y)));
    claim.holds(REAL, &div(&exp(&x), &exp(&y)), &exp(&sub(&x, &y)));
    claim.holds(REAL, &mul(&exp(&x), &exp(&neg(&x))), &one);
    claim.holds(REAL, &log(&exp(&x)), &x);
    claim.open(REAL, &exp(&log(&x)), &x);
    claim.open(REAL, &mul(&exp(&x), &exp(&y)), &exp(&mul(&x, &y)));
    claim.open(REAL, &exp(&x), &add(&one, &x));
    claim.open(REASSOC, &mul(&exp(&x), &exp(&y)), &exp(&add(&x, &y)));
    let sigmoid = |x: &Term| call(Scalar::Sigmoid, &[x]);
    let tanh = |x: &Term| call(Scalar::Tanh, &[x]);
    claim.holds(REAL, &sigmoid(&neg(&x)), &sub(&one, &sigmoid(&x)));
    claim.holds(REAL, &sigmoid(&x), &div(&one, &add(&one, &exp(&neg(&x)))));
    claim.open(REAL, &sigmoid(&neg(&x)), &sigmoid(&x));
    claim.holds(REAL, &tanh(&neg(&x)), &neg(&tanh(&x)));
    claim.holds(REAL, &tanh(&x), &sub(&mul(&two, &sigmoid(&mul(&two, &x))), &one));
    claim.open(REAL, &tanh(&x), &sub(&mul(&two, &sigmoid(&x)), &one));
    claim.holds(REAL, &call(Scalar::Erf, &[&neg(&x)]), &neg(&call(Scalar::Erf, &[&x])));
    claim.holds(REAL, &call(Scalar::Erfc, &[&x]), &sub(&one, &call(Scalar::Erf, &[&x])));
    claim.holds(REAL, &max(&add(&x, &z), &add(&y, &z)), &add(&max(&x, &y), &z));
    claim.holds(REAL, &exp(&max(&x, &y)), &max(&exp(&x), &exp(&y)));
    claim.holds(REAL, &call(Scalar::Abs, &[&x]), &max(&x, &neg(&x)));
    claim.open(REAL, &max(&x, &zero), &call(Scalar::Abs, &[&x]));
    claim.holds(REAL, &call(Scalar::Rsqrt, &[&x]), &div(&one, &call(Scalar::Sqrt, &[&x])));
    claim.holds(REAL, &call(Scalar::Pow, &[&x, &two]), &mul(&x, &x));
    claim.holds(REAL, &call(Scalar::Pow, &[&x, &num("0.5")]), &call(Scalar::Sqrt, &[&x]));
    claim.holds(REAL, &call(Scalar::Log2, &[&call(Scalar::Exp2, &[&x])]), &x);
    let (sin, cos) = (call(Scalar::Sin, &[&x]), call(Scalar::Cos, &[&x]));
    claim.holds(REAL, &add(&mul(&sin, &sin), &mul(&cos, &cos)), &one);
    claim.holds(REAL, &call(Scalar::Cos, &[&neg(&x)]), &cos);
    claim.open(REAL, &call(Scalar::Sin, &[&neg(&x)]), &sin);
}

#[test]
fn reductions_with_equal_bodies_are_equal() {
    let (i, m, n) = (size("i"), size("M"), size("N"));
    let dot = |k: u32, extent: &Size, row: &Size, flip: bool| {
        sum(k, extent.clone(), |k| {
            let (a, b) = (at("x", DType::F32, &[row.clone(), k.clone()]), at("y", DType::F32, &[k]));
            if flip { mul(&b, &a) } else { mul(&a, &b) }
        })
    };
    let claim = both_ways();
    for mode in [EXACT, REASSOC, REAL] {
        let answer = claim.answer(mode, &dot(0, &n, &i, false), &dot(1, &n, &i, false));
        assert!(matches!(answer, ValueAnswer::Equal(Proof::Same)), "{answer:?}");
        claim.holds(mode, &dot(0, &n, &i, false), &dot(1, &n, &i, true));
        claim.open(mode, &dot(0, &n, &i, false), &dot(1, &m, &i, true));
        let same = both_ways().given(&[Cond::eq(&m, &n)]);
        same.holds(mode, &dot(0, &n, &i, false), &dot(1, &m, &i, true));
        let j = size("j");
        let same = both_ways().given(&[Cond::eq(&i, &(&j + &m)), Cond::eq(&m, &Size::one())]);
        same.holds(mode, &dot(0, &n, &i, false), &dot(1, &n, &(&j + &Size::one()), false));
        claim.open(mode, &dot(0, &n, &i, false), &dot(1, &n, &j, false));
    }
    let shifted = |by: i64| sum(by as u32, n.clone(), |k| at("x", DType::F32, &[&k + &Size::int(by)]));
    claim.open(REAL, &shifted(0), &shifted(1));
    // A guard inside the range of the binder is no guard.
    let guarded = sum(3, n.clone(), |k| {
        if_(&cond(Cond::lt(&k, &n)), &at("x", DType::F32, std::slice::from_ref(&k)), &num("0.0"))
    });
    claim.holds(EXACT, &guarded, &shifted(0));
    let half_guarded = sum(3, n.clone(), |k| {
        if_(&cond(Cond::lt(&k, &m)), &at("x", DType::F32, std::slice::from_ref(&k)), &num("0.0"))
    });
    claim.open(EXACT, &half_guarded, &shifted(0));
    let product = reduce(Monoid::Prod, 4, n.clone(), |k| at("x", DType::F32, &[k]));
    claim.open(REAL, &product, &shifted(0));
}

#[test]
fn softmax_in_its_forms() {
    let (i, n) = (size("i"), size("N"));
    let x = |k: &Size| at("x", DType::F32, std::slice::from_ref(k));
    let facts = [Cond::lt(&i, &n), Cond::le(&Size::one(), &n)];
    let m = |k| reduce(Monoid::Max, k, n.clone(), |k| x(&k));
    let total = |k: u32| sum(k, n.clone(), |j| exp(&sub(&x(&j), &m(k + 10))));
    let shifted = sub(&x(&i), &m(1));
    let softmax = div(&exp(&shifted), &total(2));
    let via_log = exp(&sub(&shifted, &log(&total(3))));
    both_ways().given(&facts).holds(REAL, &softmax, &via_log);
    let log_softmax = sub(&x(&i), &add(&m(4), &log(&total(5))));
    both_ways().given(&facts).holds(REAL, &log(&softmax), &log_softmax);
    let plain = div(&exp(&x(&i)), &sum(6, n.clone(), |j| exp(&x(&j))));
    both_ways().given(&facts).holds(REAL, &softmax, &plain);
    both_ways().given(&facts[..1]).open(REAL, &softmax, &exp(&x(&i)));
    both_ways().given(&facts).open(REASSOC, &softmax, &plain);
    both_ways().given(&facts).open(REASSOC, &log(&softmax), &log_softmax);
    both_ways().given(&facts).open(REAL, &softmax, &exp(&shifted));
}

fn sum2(k: u32, extents: [Size; 2], body: impl Fn(Size, Size) -> Term) -> Term {
    let syms = [0, 1].map(|d| Sym::new(200 + 2 * k + d, SymKind::Index, format!("l{k}{d}")));
    let body = body(Size::sym(&syms[0]), Size::sym(&syms[1]));
    let binders = syms.into_iter().zip(extents).map(|(sym, extent)| Binder { sym, extent });
    Term::reduce(Monoid::Sum, binders.collect(), body, Span::default())
}

#[test]
fn sums_may_be_regrouped_but_not_in_exact_mode() {
    let (m, n) = (size("M"), size("N"));
    let x = |i: &Size, j: &Size| at("x", DType::F32, &[i.clone(), j.clone()]);
    let y = |i: &Size| at("y", DType::F32, std::slice::from_ref(i));
    let z = |i: &Size| at("z", DType::F32, std::slice::from_ref(i));
    let nested = sum(0, m.clone(), |i| sum(1, n.clone(), |j| x(&i, &j)));
    let swapped = sum(2, n.clone(), |j| sum(3, m.clone(), |i| x(&i, &j)));
    let flat = sum2(4, [m.clone(), n.clone()], |i, j| x(&i, &j));
    let transposed = sum2(5, [m.clone(), n.clone()], |i, j| x(&j, &i));
    let claim = both_ways();
    let together = sum(6, n.clone(), |k| add(&y(&k), &z(&k)));
    let apart = add(&sum(7, n.clone(), |k| z(&k)), &sum(8, n.clone(), |k| y(&k)));
    let flipped = sum(9, n.clone(), |k| y(&(&n - &(&k + &Size::one()))));
    let plain = sum(10, n.clone(), |k| y(&k));
    for mode in [REASSOC, REAL] {
        claim.holds(mode, &nested, &flat);
        claim.holds(mode, &nested, &swapped);
        claim.open(mode, &nested, &transposed);
        claim.holds(mode, &together, &apart);
        claim.holds(mode, &flipped, &plain);
        claim.open(mode, &sum(11, n.clone(), |k| y(&(&n - &k))), &plain);
    }
    for (left, right) in [(&nested, &swapped), (&together, &apart), (&flipped, &plain)] {
        claim.open(EXACT, left, right);
    }
    // A maximum of floats may be regrouped over the reals.
    let most =
        |k: u32, extent: &Size, f: &dyn Fn(&Size) -> Term| reduce(Monoid::Max, k, extent.clone(), |i| f(&i));
    let nested = most(12, &m, &|i| most(13, &n, &|j| x(i, j)));
    let swapped = most(14, &n, &|j| most(15, &m, &|i| x(i, j)));
    claim.holds(REAL, &nested, &swapped);
    claim.open(REASSOC, &nested, &swapped);
    let copies = most(16, &m, &|_| f("w"));
    claim.open(REAL, &copies, &f("w"));
    both_ways().given(&[Cond::le(&Size::one(), &m)]).holds(REAL, &copies, &f("w"));
}

#[test]
fn sums_split_at_guards() {
    let (m, n) = (size("M"), size("N"));
    let y = |i: &Size| at("y", DType::F32, std::slice::from_ref(i));
    let z = |i: &Size| at("z", DType::F32, std::slice::from_ref(i));
    let joined = sum(0, &m + &n, |k| if_(&cond(Cond::lt(&k, &m)), &y(&k), &z(&(&k - &m))));
    let apart = add(&sum(1, m.clone(), |k| y(&k)), &sum(2, n.clone(), |k| z(&k)));
    let wrong = add(&sum(1, m.clone(), |k| y(&k)), &sum(2, n.clone(), |k| z(&(&k + &Size::one()))));
    let padded = sum(3, &(&m + &n) + &m, |k| {
        let inside = cond(Cond::within(&m, &k, &(&m + &n)));
        if_(&inside, &y(&(&k - &m)), &num("0.0"))
    });
    let filled = sum(4, &m + &n, |k| if_(&cond(Cond::lt(&k, &n)), &y(&k), &num("1.0")));
    let plain = sum(5, n.clone(), |k| y(&k));
    let point = sum(6, n.clone(), |k| if_(&cond(Cond::eq(&k, &size("i"))), &y(&k), &num("0.0")));
    // Outside a range: two parts, which overlap unless the range has an inside.
    let (lo, hi) = (size("i"), size("j"));
    let outside = sum(7, n.clone(), |k| if_(&cond(Cond::within(&lo, &k, &hi)), &num("0.0"), &y(&k)));
    let two = add(
        &sum(8, n.clone(), |k| if_(&cond(Cond::lt(&k, &lo)), &y(&k), &num("0.0"))),
        &sum(9, n.clone(), |k| if_(&cond(Cond::le(&hi, &k)), &y(&k), &num("0.0"))),
    );
    let claim = both_ways();
    for mode in [REASSOC, REAL] {
        both_ways().given(&[Cond::le(&lo, &hi)]).holds(mode, &outside, &two);
        claim.open(mode, &outside, &two);
        claim.holds(mode, &joined, &apart);
        claim.open(mode, &joined, &wrong);
        claim.holds(mode, &padded, &plain);
        claim.open(mode, &filled, &plain);
        both_ways().given(&[Cond::lt(&size("i"), &n)]).holds(mode, &point, &y(&size("i")));
        claim.open(mode, &point, &y(&size("i")));
    }
    for (left, right) in [(&joined, &apart), (&padded, &plain)] {
        claim.open(EXACT, left, right);
    }
}

#[test]
fn products_distribute_over_sums_of_reals_and_integers() {
    let (i, m, n) = (size("i"), size("M"), size("N"));
    let span = Span::default();
    for dtype in [DType::F32, DType::I32] {
        let mode = if dtype == DType::F32 { REAL } else { EXACT };
        let c = tensor("w", dtype, 0);
        let x = |i: &Size, j: &Size| at("x", dtype, &[i.clone(), j.clone()]);
        let y = |i: &Size, j: &Size| at("y", dtype, &[i.clone(), j.clone()]);
        let z = |i: &Size| at("z", dtype, std::slice::from_ref(i));
        let claim = both_ways();
        let plain = |k| sum(k, n.clone(), |k| z(&k));
        claim.holds(mode, &mul(&c, &plain(0)), &sum(1, n.clone(), |k| mul(&z(&k), &c)));
        claim.open(mode, &mul(&c, &plain(0)), &sum(1, n.clone(), |k| add(&z(&k), &c)));
        let left = sum(2, m.clone(), |k| mul(&sum(3, n.clone(), |l| mul(&x(&i, &l), &y(&l, &k))), &z(&k)));
        let right = sum(4, n.clone(), |l| mul(&x(&i, &l), &sum(5, m.clone(), |k| mul(&y(&l, &k), &z(&k)))));
        claim.holds(mode, &left, &right);
        let wrong = sum(4, n.clone(), |l| mul(&x(&i, &l), &sum(5, m.clone(), |k| mul(&y(&k, &l), &z(&k)))));
        claim.open(mode, &left, &wrong);
        let squares = sum2(6, [n.clone(), n.clone()], |k, l| mul(&z(&k), &z(&l)));
        claim.holds(mode, &mul(&plain(7), &plain(8)), &squares);
        let copies = sum(9, m.clone(), |_| c.clone());
        let times = mul(&Term::cast(dtype, Term::size(m.clone(), span), span), &c);
        claim.holds(mode, &copies, &times);
        claim.open(mode, &copies, &c);
        let unit = |k: &Size| {
            let one = if dtype == DType::F32 { num("1.0") } else { whole(1) };
            let zero = if dtype == DType::F32 { num("0.0") } else { whole(0) };
            if_(&cond(Cond::eq(k, &i)), &one, &zero)
        };
        let picked = sum(10, n.clone(), |k| mul(&z(&k), &unit(&k)));
        both_ways().given(&[Cond::lt(&i, &n)]).holds(mode, &picked, &z(&i));
        claim.open(mode, &picked, &z(&i));
    }
    // A factor may be undefined where the sum is empty.
    let ratio = div(&f("x"), &f("y"));
    let inside = sum(11, n.clone(), |k| mul(&ratio, &at("z", DType::F32, &[k])));
    let outside = mul(&ratio, &sum(12, n.clone(), |k| at("z", DType::F32, &[k])));
    both_ways().open(REAL, &inside, &outside);
    // So may one that divides by the number of summands.
    let count = Term::cast(DType::F32, Term::size(n.clone(), span), span);
    let share = div(&num("1.0"), &count);
    let inside = sum(13, n.clone(), |k| mul(&share, &at("z", DType::F32, &[k])));
    let outside = mul(&share, &sum(14, n.clone(), |k| at("z", DType::F32, &[k])));
    both_ways().open(REAL, &inside, &outside);
    both_ways().given(&[Cond::le(&Size::one(), &n)]).holds(REAL, &inside, &outside);
}

#[test]
fn branches_on_sizes_are_taken_one_by_one() {
    let (j, m, n) = (size("j"), size("M"), size("N"));
    let left_half = cond(Cond::lt(&j, &m));
    let read = |name: &str, dtype, k: &Size| at(name, dtype, std::slice::from_ref(k));
    for dtype in [DType::F32, DType::U8] {
        let dot =
            |k: u32, name: &str| sum(k, n.clone(), |k| mul(&read("x", dtype, &k), &read(name, dtype, &k)));
        let inside = sum(0, n.clone(), |k| {
            let either = if_(&left_half, &read("y", dtype, &k), &read("z", dtype, &k));
            mul(&read("x", dtype, &k), &either)
        });
        both_ways().holds(EXACT, &inside, &if_(&left_half, &dot(1, "y"), &dot(2, "z")));
        both_ways().open(EXACT, &inside, &if_(&left_half, &dot(1, "z"), &dot(2, "y")));
        let (a, b) = (read("x", dtype, &j), read("y", dtype, &j));
        let (c, d) = (read("z", dtype, &(&j - &m)), read("w", dtype, &(&j - &m)));
        let apart = mul(&if_(&left_half, &a, &c), &if_(&left_half, &b, &d));
        both_ways().holds(EXACT, &if_(&left_half, &mul(&a, &b), &mul(&c, &d)), &apart);
        both_ways().open(EXACT, &if_(&left_half, &mul(&a, &d), &mul(&c, &b)), &apart);
    }
}

#[test]
fn a_hypothesis_on_all_elements_holds_at_each() {
    let (i, n) = (size("i"), size("N"));
    let element = |k: &Size| at("x", DType::F32, std::slice::from_ref(k));
    let positive = reduce(Monoid::All, 5, n.clone(), |k| call(Scalar::Lt, &[&num("0.0"), &element(&k)]));
    let shifted = &i + &Size::one();
    let claim = |facts: &[Cond]| both_ways().given(facts).with(&[&positive]);
    let root = call(Scalar::Sqrt, &[&element(&i)]);
    claim(&[Cond::lt(&i, &n)]).holds(REAL, &mul(&root, &root), &element(&i));
    both_ways().given(&[Cond::lt(&i, &n)]).open(REAL, &mul(&root, &root), &element(&i));
    let root = call(Scalar::Sqrt, &[&element(&shifted)]);
    claim(&[Cond::lt(&shifted, &n)]).holds(REAL, &mul(&root, &root), &element(&shifted));
    // Outside the range nothing is known.
    claim(&[Cond::lt(&i, &n)]).open(REAL, &mul(&root, &root), &element(&shifted));
}

#[test]
fn conversions() {
    let span = Span::default();
    let half = tensor("x", DType::F16, 0);
    let there_and_back = Term::cast(DType::F16, Term::cast(DType::F32, half.clone(), span), span);
    both_ways().holds(EXACT, &there_and_back, &half);
    let single = f("x");
    let narrowed = Term::cast(DType::F32, Term::cast(DType::F16, single.clone(), span), span);
    both_ways().open(EXACT, &narrowed, &single);
    both_ways().holds(REAL, &narrowed, &single);
    let byte = tensor("x", DType::U8, 0);
    let wide = Term::cast(DType::I32, byte.clone(), span);
    both_ways().holds(EXACT, &Term::cast(DType::U8, wide.clone(), span), &byte);
    let signed = Term::cast(DType::I32, Term::cast(DType::I8, byte.clone(), span), span);
    both_ways().open(EXACT, &signed, &wide);
    let two = Term::cast(DType::F32, whole(2), span);
    both_ways().holds(EXACT, &two, &num("2.0"));
    let flag = Term::cast(DType::F32, tensor("y", DType::Bool, 0), span);
    let chosen = if_(&tensor("y", DType::Bool, 0), &num("1.0"), &num("0.0"));
    both_ways().holds(EXACT, &flag, &chosen);
}

#[test]
fn floats_compare_as_ieee_does() {
    let (x, y) = (f("x"), f("y"));
    let claim = both_ways();
    let (lt, gt) = (call(Scalar::Lt, &[&x, &y]), call(Scalar::Gt, &[&y, &x]));
    let not_lt = call(Scalar::LogicalNot, &[&lt]);
    let ge = call(Scalar::Ge, &[&x, &y]);
    claim.holds(EXACT, &lt, &gt);
    claim.open(EXACT, &not_lt, &ge);
    claim.holds(EXACT, &call(Scalar::Lt, &[&x, &x]), &Term::bool(false, Span::default()));
    claim.open(EXACT, &call(Scalar::Le, &[&x, &x]), &Term::bool(true, Span::default()));
    let either = call(Scalar::LogicalOr, &[&lt, &call(Scalar::Eq, &[&y, &x])]);
    claim.holds(EXACT, &call(Scalar::Le, &[&x, &y]), &either);
    claim.holds(REAL, &not_lt, &ge);
    let (ne, eq) = (call(Scalar::Ne, &[&x, &y]), call(Scalar::Eq, &[&y, &x]));
    claim.holds(EXACT, &ne, &call(Scalar::LogicalNot, &[&eq]));
    claim.open(EXACT, &call(Scalar::Eq, &[&x, &x]), &Term::bool(true, Span::default()));
    claim.open(EXACT, &if_(&eq, &x, &y), &y);
    claim.holds(REAL, &if_(&eq, &x, &y), &y);
}

/// Passes the self-test, then answers as told.
struct Turns(Solver, Answer);

impl Backend for Turns {
    fn check(&self, query: &Query, budget: Budget) -> Answer {
        // What is asked for a proof has one of these budgets, the self-test another.
        let proving = [Budget::PRUNE, Budget::ATTEMPT, Budget::OBLIGATION];
        if proving.contains(&budget) { self.1.clone() } else { self.0.check(query, budget) }
    }
}

#[test]
fn an_unknown_proves_nothing() {
    let (x, y) = (f("x"), f("y"));
    let reasons = [Reason::Timeout, Reason::Rlimit, Reason::Memory, Reason::Crash, Reason::Nonlinear];
    for reason in reasons {
        let z3 = Solver::start().expect("invariant: z3 starts");
        let backend = Box::new(Turns(z3, Answer::Unknown(reason.clone())));
        let solver = Arc::new(Solver::with_backend(backend).expect("passes the self-test"));
        let sizes = Arc::new(SizeSolver::new(solver.clone(), Budget::PRUNE));
        let prover = ValueProver::new(solver, sizes, Budget::OBLIGATION);
        let goal = ValueGoal {
            facts: &[],
            hypotheses: &[],
            left: &mul(&x, &add(&y, &y)),
            right: &add(&mul(&x, &y), &mul(&x, &y)),
            mode: REAL,
            directed: false,
            errors: Errors::Compared,
            written: None,
        };
        assert!(matches!(prover.prove(&goal), ValueAnswer::Unknown(why) if why == reason));
        assert!(prover.text(&goal).expect("encodes").contains("(check-sat)"));
    }
}

#[test]
fn what_is_not_covered_says_so() {
    let span = Span::default();
    let inner = Binder { sym: sym("i"), extent: size("N") };
    let computed = Term::comp(vec![inner], f("x"), span);
    let read = Term::read(computed, vec![Term::size(size("j"), span)], span);
    let answer = both_ways().answer(EXACT, &read, &f("x"));
    assert!(matches!(answer, ValueAnswer::Unknown(Reason::Unsupported(_))), "{answer:?}");
    let close = Mode::Close { rtol: 0.1, atol: 0.1, ulp: None };
    let answer = both_ways().answer(close, &f("x"), &f("y"));
    assert!(matches!(answer, ValueAnswer::Unknown(Reason::Unsupported(_))), "{answer:?}");
    let answer = both_ways().answer(EXACT, &f("x"), &int("y"));
    assert!(matches!(answer, ValueAnswer::Unknown(Reason::Unsupported(_))), "{answer:?}");
}
