//! The text means what the solver is asked, reads well, and stays small.

use num_rational::BigRational;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use z3::ast::{Ast, Bool};
use z3::{Config, Params, SatResult, with_z3_config};

use super::*;
use crate::canary::canaries;
use crate::guess;
use crate::solver::{Answer, Backend, Budget, ModelValue};
use crate::wire::PLAIN;
use crate::z3_backend::{Z3, build};

const QUICK: Budget = Budget { rlimit: 2_000_000, timeout_ms: 2_000 };

/// A solver in the present context that was given a text.
fn reader(text: &str) -> z3::Solver {
    let solver = z3::Solver::new();
    let mut params = Params::new();
    params.set_u32("timeout", QUICK.timeout_ms);
    params.set_u32("rlimit", QUICK.rlimit);
    solver.set_params(&params);
    solver.from_string(text);
    let asserts = text.lines().filter(|line| line.starts_with("(assert ")).count();
    assert_eq!(solver.get_assertions().len(), asserts, "not understood: {text}");
    solver
}

/// What Z3 answers to a text.
fn verdict(text: &str) -> SatResult {
    let text = text.to_string();
    with_z3_config(&Config::new(), move || reader(&text).check())
}

/// Asserts that Z3 reads from the text, assertion by assertion, the terms that the
/// backend builds. Symbols must be the names, as is so for all that [`base`] declares.
fn same_terms(query: &Query) {
    let query = query.clone();
    with_z3_config(&Config::new(), move || {
        let terms = build(&query);
        let text = query.to_smtlib();
        for (id, read) in query.asserts.iter().zip(reader(&text).get_assertions()) {
            let built = terms[id.index()].as_bool().expect("invariant: asserted");
            if read.simplify() != built.simplify() {
                let solver = z3::Solver::new();
                solver.assert(Bool::xor(&read, &built));
                assert_eq!(solver.check(), SatResult::Unsat, "{built} is printed as {text}");
            }
        }
    });
}

/// The question where each watched node has one of these values.
fn pinned(query: &Query, values: &[ModelValue]) -> Query {
    let mut pinned = query.clone();
    for (&id, value) in query.watched.iter().zip(values) {
        let value = match value {
            ModelValue::Bool(value) => pinned.bool(*value),
            ModelValue::Int(value) => pinned.int(value.clone()),
            ModelValue::Real(value) => pinned.real(value.clone()),
            ModelValue::Bits(value) => match *query.sort(id) {
                Sort::Bits(width) => pinned.bits(*value, width),
                _ => unreachable!("invariant: bits of a bit-vector"),
            },
            ModelValue::Float(bits) => match *query.sort(id) {
                Sort::Float(e, s) => pinned.float(f64::from_bits(*bits), e, s),
                _ => unreachable!("invariant: a float of a float"),
            },
            ModelValue::Other(_) => continue,
        };
        let equal = pinned.eq(id, value);
        pinned.assert(equal);
    }
    pinned
}

/// Asserts that the backend and the text give one verdict, and that a model of the
/// backend is one of the text; gives the verdict.
fn same_verdict(query: &Query) -> SatResult {
    let answer = Z3.check(query, QUICK);
    let said = verdict(&query.to_smtlib());
    match (&answer, said) {
        (Answer::Unknown(_), _) | (_, SatResult::Unknown) => return SatResult::Unknown,
        (Answer::Unsat, SatResult::Unsat) => {}
        (Answer::Sat(values), SatResult::Sat) => {
            let text = pinned(query, values).to_smtlib();
            assert_ne!(verdict(&text), SatResult::Unsat, "{values:?} is no model of {text}");
        }
        _ => panic!("{answer:?}, but {said:?} for {}", query.to_smtlib()),
    }
    said
}

/// A question with a constant, a literal and a function of every sort.
fn base() -> Query {
    let mut q = Query::new();
    let sorts = [
        Sort::Bool,
        Sort::Int,
        Sort::Real,
        Sort::Bits(3),
        Sort::Bits(4),
        Sort::Opaque("f32".to_string()),
        Sort::Opaque("a sort".to_string()),
        Sort::Float(3, 4),
        Sort::Float(2, 3),
    ];
    for (k, sort) in sorts.iter().enumerate() {
        let x = q.constant(&format!("x{k}"), sort.clone());
        let y = q.constant(&format!("the {k}th [{sort:?}]"), sort.clone());
        let fun =
            q.declare(&format!("f{k}"), vec![sort.clone(), Sort::Int], sorts[(k + 1) % sorts.len()].clone());
        let index = q.constant("i", Sort::Int);
        q.apply(fun, vec![x, index]);
        q.apply(fun, vec![y, index]);
    }
    q.bool(true);
    for value in [1.5, -0.0, f64::NAN, f64::INFINITY, 0.1] {
        q.float(value, 3, 4);
    }
    for value in [-3, 0, 2] {
        q.int(value);
        q.bits(value, 3);
        q.bits(value, 4);
        q.ratio(value, 1);
        q.ratio(value - 1, 3);
    }
    q
}

/// All operations, with parameters that `number` chooses.
fn operations(number: u32) -> Vec<Op> {
    let parametric = [
        Op::Extract(number % 3, number % 3 / 2),
        Op::SignExt(number % 3),
        Op::ZeroExt(number % 3),
        Op::IntToBv(number % 5 + 1),
        Op::FpTo(number % 2 + 2, number % 2 + 3),
    ];
    PLAIN.into_iter().chain(parametric).collect()
}

/// Adds an operation or an application, of the first operands that fit from the picked
/// ones on.
fn grow(q: &mut Query, (kind, picks, number): &(usize, [usize; 3], u32)) {
    let ops = operations(*number);
    let fun = q.fun_at(picks[2] % q.decls.len()).expect("invariant: in range");
    let node = |args: &[Id]| match ops.get(kind % (ops.len() + 3)) {
        Some(op) => Node::Op(*op, args.to_vec()),
        None => Node::Apply(fun, args.to_vec()),
    };
    let all: Vec<Id> = (0..q.nodes.len()).filter_map(|k| q.at(k)).collect();
    let of = |q: &Query, sort: &Sort, pick: usize| {
        let fits: Vec<Id> = all.iter().copied().filter(|id| q.sort(*id) == sort).collect();
        fits[pick % fits.len()]
    };
    for turn in 0..all.len() {
        let a = all[(picks[0] + turn) % all.len()];
        let sort = q.sort(a).clone();
        let (b, index, truth) =
            (of(q, &sort, picks[1]), of(q, &Sort::Int, picks[1]), of(q, &Sort::Bool, picks[2]));
        let small = !matches!(sort, Sort::Bits(9..));
        let fits = |args: &&[Id]| small && q.append(node(args)).is_some();
        if [&[a][..], &[a, b], &[a, index], &[truth, a, b]].iter().any(fits) {
            return;
        }
    }
}

fn questions() -> impl Strategy<Value = Query> {
    let node = (any::<usize>(), any::<[usize; 3]>(), any::<u32>());
    prop::collection::vec(node, 1..40).prop_map(|nodes| {
        let mut q = base();
        let old = q.nodes.len();
        nodes.iter().for_each(|node| grow(&mut q, node));
        for id in (old..q.nodes.len()).filter_map(|k| q.at(k)).collect::<Vec<_>>() {
            match q.sort(id) {
                Sort::Bool if id.index() % 2 == 0 => q.assert(id),
                _ => q.watch(id),
            }
        }
        q
    })
}

#[test]
fn each_operation_is_read_as_it_is_asked() {
    for number in 0..6 {
        for op in operations(number) {
            let mut q = base();
            let all: Vec<Id> = (0..q.nodes.len()).filter_map(|k| q.at(k)).collect();
            for (k, &a) in all.iter().enumerate() {
                for &b in all.iter().skip(k % 5).step_by(5) {
                    for args in [vec![a], vec![a, b], vec![b, a], vec![all[0], a, b], vec![a, a, b]] {
                        q.append(Node::Op(op, args));
                    }
                }
            }
            let made: Vec<Id> = (all.len()..q.nodes.len()).filter_map(|k| q.at(k)).collect();
            assert!(made.len() > 2, "{op:?} takes nothing");
            for (k, id) in made.into_iter().enumerate() {
                let value = q.constant(&format!("value {k}"), q.sort(id).clone());
                let equal = q.eq(id, value);
                q.assert(equal);
            }
            same_terms(&q);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn questions_are_read_as_they_are_asked(query in questions()) {
        same_terms(&query);
    }
}

#[test]
fn the_text_has_the_verdict_of_the_question() {
    let mut runner = TestRunner::deterministic();
    let mut verdicts = Vec::new();
    for _ in 0..100 {
        let tree = questions().new_tree(&mut runner).expect("invariant: nothing is filtered");
        verdicts.push(same_verdict(&tree.current()));
    }
    for verdict in [SatResult::Sat, SatResult::Unsat] {
        assert!(verdicts.iter().filter(|&&said| said == verdict).count() > 10, "{verdicts:?}");
    }
    for canary in canaries() {
        assert_ne!(same_verdict(&canary.query), SatResult::Unknown, "{}", canary.what);
    }
}

/// The nodes that no float is part of.
fn without_floats(q: &Query) -> Vec<Id> {
    let all: Vec<Id> = (0..q.nodes.len()).filter_map(|k| q.at(k)).collect();
    let mut plain: Vec<Id> = Vec::new();
    for &id in &all {
        let parts = match &q.nodes[id.index()] {
            Node::Apply(_, args) | Node::Op(_, args) => args.as_slice(),
            _ => &[],
        };
        if !matches!(q.sort(id), Sort::Float(..)) && parts.iter().all(|part| plain.contains(part)) {
            plain.push(id);
        }
    }
    plain
}

#[test]
fn each_operation_is_guessed_as_it_is_asked() {
    for op in (0..6).flat_map(operations).filter(|op| !matches!(op, Op::Fp(_) | Op::FpTo(..))) {
        let mut q = base();
        let old = without_floats(&q);
        for (k, &a) in old.iter().enumerate() {
            for &b in old.iter().skip(k % 3).step_by(3) {
                for args in [vec![a], vec![a, b], vec![b, a], vec![old[0], a, b]] {
                    q.append(Node::Op(op, args));
                }
            }
        }
        let all = without_floats(&q);
        assert!(all.len() > old.len() + 2, "{op:?} takes nothing");
        all.into_iter().for_each(|id| q.watch(id));
        let values = guess::model(&q).expect("nothing is asserted");
        assert_eq!(verdict(&pinned(&q, &values).to_smtlib()), SatResult::Sat, "{op:?}: {values:?}");
    }
}

#[test]
fn a_guess_is_a_model() {
    let mut runner = TestRunner::deterministic();
    let (mut guessed, mut satisfiable) = (0, 0);
    for _ in 0..200 {
        let mut query = questions().new_tree(&mut runner).expect("invariant: nothing is filtered").current();
        let plain = without_floats(&query);
        query.watched.retain(|id| plain.contains(id));
        query.asserts.retain(|id| plain.contains(id));
        let said = verdict(&query.to_smtlib());
        satisfiable += usize::from(said == SatResult::Sat);
        if let Some(values) = guess::model(&query) {
            guessed += 1;
            let text = pinned(&query, &values).to_smtlib();
            assert_ne!(verdict(&text), SatResult::Unsat, "{values:?} is no model of {text}");
        }
    }
    assert!(guessed * 2 > satisfiable, "{guessed} of {satisfiable}");
}

/// Names that are words of a theory, not symbols at all, or equal once they are spelled.
const NAMES: [&str; 26] = [
    "",
    "x",
    "x1",
    "x1'2",
    "1x",
    "t1",
    "t1'2",
    "and",
    "let",
    "true",
    "sin",
    "pi",
    "exp",
    "select",
    "bvadd",
    "_",
    "Int",
    "f32",
    ".5",
    "@x",
    "a|b",
    "a\\b",
    "a_b",
    "a\u{0}b",
    "\u{e9} \"';",
    "(",
];

#[test]
fn a_name_is_no_word_of_a_theory_and_not_given_twice() {
    let mut q = Query::new();
    let mut sum = q.int(0);
    for (k, name) in NAMES.into_iter().enumerate() {
        let sort = Sort::Opaque(name.to_string());
        let fun = q.declare(&format!("{name}|"), vec![sort.clone(), Sort::Real], sort.clone());
        let (x, y) = (q.constant(&format!("{name}\\"), sort), q.real(BigRational::one()));
        let image = q.apply(fun, vec![x, y]);
        let (same, n, k) = (q.eq(image, x), q.constant(name, Sort::Int), q.int(k));
        let is_k = q.eq(n, k);
        sum = q.add(sum, n);
        q.assert(same);
        q.assert(is_k);
    }
    let total = q.int(NAMES.len() * (NAMES.len() - 1) / 2);
    let equal = q.eq(sum, total);
    q.watch(sum);
    let differ = q.not(equal);
    let mut other = q.clone();
    other.assert(differ);
    q.assert(equal);
    assert_eq!(verdict(&q.to_smtlib()), SatResult::Sat, "{}", q.to_smtlib());
    assert_eq!(verdict(&other.to_smtlib()), SatResult::Unsat, "{}", other.to_smtlib());
}

#[test]
fn a_shared_node_is_printed_once() {
    let mut q = Query::new();
    let (one, y) = (q.constant("x", Sort::Int), q.constant("y", Sort::Int));
    let double = |q: &mut Query, x: Id| (0..60).fold(x, |x, _| q.add(x, x));
    // Nothing reaches this one.
    double(&mut q, y);
    let (many, number, unit) = (double(&mut q, one), q.int(1_u64 << 60), q.int(1));
    let (is_one, is_number) = (q.eq(one, unit), q.eq(many, number));
    let differs = q.not(is_number);
    q.assert(is_one);
    q.assert(differs);
    q.watch(many);
    let text = q.to_smtlib();
    assert_eq!(text.matches("(+ ").count(), 60, "{text}");
    assert!(text.len() < 60 * 50, "{text}");
    assert_eq!(verdict(&text), SatResult::Unsat);
}

#[test]
fn lines_stay_short_however_deep_a_term_is() {
    let mut q = Query::new();
    let zero = q.int(0);
    let sum = (0..20_000).fold(zero, |sum, k| {
        let x = q.constant(&format!("x{k}"), Sort::Int);
        q.add(x, sum)
    });
    let negative = q.lt(sum, zero);
    q.assert(negative);
    let text = q.to_smtlib();
    assert!(text.lines().all(|line| line.len() < 2 * LONG), "{text}");
    assert_eq!(text.matches("(+ ").count(), 20_000);
}

#[test]
fn the_text_reads_well() {
    let mut q = Query::new();
    let sort = Sort::Opaque("f32".to_string());
    let read = q.declare("X", vec![Sort::Int], sort.clone());
    let sine = q.declare("sin", vec![Sort::Real], Sort::Real);
    let zero = q.constant("0.0 f32", sort);
    let (i, minus_three, third) = (q.constant("i", Sort::Int), q.int(-3), q.ratio(-1, 3));
    let shifted = q.add(i, minus_three);
    let (element, wave) = (q.apply(read, vec![shifted]), q.op(Op::ToReal, vec![shifted]));
    let wave = q.apply(sine, vec![wave]);
    let (is_zero, low) = (q.eq(zero, element), q.le(wave, third));
    let mask = q.constant("mask", Sort::Bits(8));
    let (bits, high) = (q.op(Op::IntToBv(8), vec![i]), q.bits(0xf0, 8));
    let masked = q.op(Op::BvAnd, vec![bits, mask]);
    let same = q.eq(masked, high);
    q.assert(is_zero);
    q.assert(low);
    // One operand: SMT-LIB has no such `and`.
    let alone = q.op(Op::And, vec![same]);
    q.assert(alone);
    q.watch(shifted);
    q.watch(mask);
    let text = "\
(set-option :produce-models true)
(set-logic ALL)
(declare-sort f32 0)
(declare-fun X (Int) f32)
(declare-fun |sin'| (Real) Real)
(declare-fun |0.0 f32| () f32)
(declare-fun i () Int)
(declare-fun |mask'| () (_ BitVec 8))
(define-fun t1 () Int (+ i (- 3)))
(assert (= |0.0 f32| (X t1)))
(assert (<= (|sin'| (to_real t1)) (- (/ 1.0 3.0))))
(assert (= (_ bv240 8) (bvand ((_ int_to_bv 8) i) |mask'|)))
(check-sat)
(get-value (t1 |mask'|))
";
    assert_eq!(q.to_smtlib(), text);
}

#[test]
fn a_product_of_two_terms_is_seen_in_text() {
    let linear = ["", "(* 2 x)", "(* (- 3) (+ x y))", "(* 2 (* 3 x))", "(* 1.5 x", "(bvmul x y)"];
    let not = ["(* x y)", "(* 2 x y)", "(* (* 1 s4) q0)", "(+ 1 (* (- 1) (f x) y))", "(* (ite c x y) x)"];
    assert_eq!(linear.map(is_nonlinear), [false; 6]);
    assert_eq!(not.map(is_nonlinear), [true; 5]);
}
