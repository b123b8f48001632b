//! Mistakes in a row of the table, or in its encoding: at some argument the prover proves
//! what the table computes and not what the mistaken row would.

use rtv_semantics::diag::Span;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::{Domain, Scalar, Value};
use rtv_semantics::term::{Lit, Term};
use rtv_smt::ValueAnswer;

use super::{ARITHMETIC, INTEGER, eval, float_lit, lit, literal_of, prove};

/// Functions that are taken for each other, by rows.
const CONFUSED: &[&[Scalar]] = &[
    &[Scalar::Add, Scalar::Sub, Scalar::Mul],
    &[Scalar::Div, Scalar::Mul],
    &[Scalar::FloorDivide, Scalar::TruncDivide],
    &[Scalar::Remainder, Scalar::Fmod],
    &[Scalar::Neg, Scalar::Abs, Scalar::Sign, Scalar::Reciprocal],
    &[Scalar::Floor, Scalar::Ceil, Scalar::Round, Scalar::Trunc],
    &[Scalar::Maximum, Scalar::Minimum],
    &[Scalar::Isnan, Scalar::Isinf, Scalar::Isfinite, Scalar::Signbit],
    &[Scalar::Eq, Scalar::Ne, Scalar::Lt, Scalar::Le, Scalar::Gt, Scalar::Ge],
    &[Scalar::BitwiseAnd, Scalar::BitwiseOr, Scalar::BitwiseXor],
    &[Scalar::BitwiseLeftShift, Scalar::BitwiseRightShift],
    &[Scalar::BitwiseNot, Scalar::Neg],
    &[Scalar::LogicalAnd, Scalar::LogicalOr, Scalar::LogicalXor],
];

/// What a row does wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mistake {
    /// It computes another function.
    Other(Scalar),
    Swapped,
    /// The first argument, negated.
    WrongSign,
    /// The result is the first argument.
    LeftOut,
    /// One more, or the other truth value.
    OffByOne,
    /// Held at the bounds of the dtype instead of wrapped.
    Saturated,
}

/// Mistakes that change nothing at any argument.
fn changes_nothing(fun: Scalar, dtype: DType, mistake: Mistake) -> bool {
    match mistake {
        Mistake::Other(other) => plain(fun, dtype) == plain(other, dtype),
        Mistake::LeftOut => plain(fun, dtype) == ITSELF,
        Mistake::Swapped => SYMMETRIC.contains(&fun),
        Mistake::WrongSign => match fun {
            Scalar::Abs => dtype != DType::U8,
            Scalar::Sign => dtype == DType::U8,
            _ => EVEN.contains(&fun) || plain(fun, dtype) == FALSE,
        },
        Mistake::OffByOne | Mistake::Saturated => false,
    }
}

const SYMMETRIC: [Scalar; 12] = [
    Scalar::Add,
    Scalar::Mul,
    Scalar::Maximum,
    Scalar::Minimum,
    Scalar::Eq,
    Scalar::Ne,
    Scalar::BitwiseAnd,
    Scalar::BitwiseOr,
    Scalar::BitwiseXor,
    Scalar::LogicalAnd,
    Scalar::LogicalOr,
    Scalar::LogicalXor,
];

/// Those that a sign does not matter to.
const EVEN: [Scalar; 7] = [
    Scalar::Isnan,
    Scalar::Isinf,
    Scalar::Isfinite,
    Scalar::LogicalAnd,
    Scalar::LogicalOr,
    Scalar::LogicalXor,
    Scalar::LogicalNot,
];

const ITSELF: &str = "the argument";
const FALSE: &str = "false";

/// What a function is at a dtype, where that is simpler than its name says.
fn plain(fun: Scalar, dtype: DType) -> &'static str {
    let unsigned = matches!(dtype, DType::Bool | DType::U8);
    match fun {
        Scalar::Floor | Scalar::Ceil | Scalar::Round | Scalar::Trunc if !dtype.is_float() => ITSELF,
        Scalar::Isnan | Scalar::Isinf if !dtype.is_float() => FALSE,
        Scalar::Signbit if unsigned => FALSE,
        Scalar::Abs if unsigned => ITSELF,
        Scalar::Sign if dtype == DType::Bool => ITSELF,
        Scalar::TruncDivide if unsigned => Scalar::FloorDivide.name(),
        Scalar::Fmod if unsigned => Scalar::Remainder.name(),
        _ => fun.name(),
    }
}

/// The mistakes that can be made in a row at a dtype.
fn mistakes(fun: Scalar, dtype: DType) -> Vec<Mistake> {
    let args = vec![dtype; fun.arity()];
    let result = fun.result(&args);
    let fits =
        |other: &Scalar| *other != fun && other.arity() == fun.arity() && other.result(&args) == result;
    let rows = CONFUSED.iter().filter(|row| row.contains(&fun));
    let mut found: Vec<Mistake> =
        rows.flat_map(|row| row.iter()).copied().filter(fits).map(Mistake::Other).collect();
    found.push(Mistake::OffByOne);
    if fun.arity() == 2 {
        found.push(Mistake::Swapped);
    }
    if dtype.category() != Category::Bool && fun != Scalar::Neg {
        found.push(Mistake::WrongSign);
    }
    if result == Ok(dtype) {
        found.push(Mistake::LeftOut);
    }
    let overflows = [Scalar::Add, Scalar::Sub, Scalar::Mul, Scalar::Neg, Scalar::Abs];
    if dtype == DType::I8 && overflows.contains(&fun) {
        found.push(Mistake::Saturated);
    }
    found
}

/// What the mistaken row computes; none where it fails.
fn mistaken(fun: Scalar, dtype: DType, mistake: Mistake, args: &[Value]) -> Option<Value> {
    let table = |fun: Scalar, dtype, args: &[Value]| fun.eval(Domain::Exact, dtype, args).ok();
    match mistake {
        Mistake::Other(other) => table(other, dtype, args),
        Mistake::Swapped => table(fun, dtype, &[args[1].clone(), args[0].clone()]),
        Mistake::WrongSign => {
            let mut args = args.to_vec();
            args[0] = table(Scalar::Neg, dtype, &args[..1])?;
            table(fun, dtype, &args)
        }
        Mistake::LeftOut => Some(args[0].clone()),
        Mistake::OffByOne => match table(fun, dtype, args)? {
            Value::Bool(b) => Some(Value::Bool(!b)),
            Value::Int(n) => table(Scalar::Add, dtype, &[Value::Int(n), Value::Int(1)]),
            value => {
                let one = Value::literal("1.0", dtype, Domain::Exact).ok()?;
                table(Scalar::Add, dtype, &[value, one])
            }
        },
        Mistake::Saturated => {
            let (least, most) = dtype.int_range()?;
            let wide = table(fun, DType::I64, args)?.as_int()?;
            Some(Value::Int(wide.clamp(least, most)))
        }
    }
}

fn corners(dtype: DType) -> Vec<Term> {
    match dtype.category() {
        Category::Bool => vec![lit(Lit::Bool(false), dtype), lit(Lit::Bool(true), dtype)],
        Category::Float => ["0.0", "1.0", "0.75", "-1.5", "2.5", "inf", "-inf"].map(float_lit).to_vec(),
        Category::Int => {
            let (least, most) = dtype.int_range().expect("invariant: integers have a range");
            let corners = [least, -7, -2, -1, 0, 1, 2, 3, 7, most];
            let corners = corners.into_iter().filter(|n| *n >= least);
            corners.map(|n| lit(Lit::Int(n.into()), dtype)).collect()
        }
    }
}

/// All tuples of corners.
fn points(fun: Scalar, dtype: DType) -> Vec<Vec<Term>> {
    let corners = corners(dtype);
    match fun.arity() {
        1 => corners.into_iter().map(|x| vec![x]).collect(),
        _ => corners.iter().flat_map(|x| corners.iter().map(|y| vec![x.clone(), y.clone()])).collect(),
    }
}

/// Whether the solver takes the term for the value.
fn is_proved(term: &Term, value: &Value) -> bool {
    let same = literal_of(value, term.dtype());
    same.is_some_and(|same| matches!(prove(term, &same, Mode::Real), ValueAnswer::Equal(_)))
}

/// Whether some argument tells the mistaken row from the table; none where their values
/// are the same at every corner.
fn killed(fun: Scalar, dtype: DType, mistake: Mistake) -> Option<bool> {
    let mut differs = false;
    for args in points(fun, dtype) {
        let values: Vec<Value> = args.iter().map(|arg| eval(arg).expect("a literal")).collect();
        let (Ok(right), Some(wrong)) =
            (fun.eval(Domain::Exact, dtype, &values), mistaken(fun, dtype, mistake, &values))
        else {
            continue;
        };
        if right.same(&wrong) != Some(false) {
            continue;
        }
        differs = true;
        let term = Term::scalar(fun, args, Span::default());
        if is_proved(&term, &right) && !is_proved(&term, &wrong) {
            return Some(true);
        }
    }
    differs.then_some(false)
}

#[test]
fn a_mistaken_row_is_noticed() {
    let (mut count, mut wrong) = (0, Vec::new());
    for dtype in [DType::Bool, DType::U8, DType::I8, DType::I64, DType::F32] {
        let written_out = ARITHMETIC.iter().chain(INTEGER.iter().filter(|_| !dtype.is_float())).copied();
        for fun in written_out.filter(|fun| fun.result(&vec![dtype; fun.arity()]).is_ok()) {
            for mistake in mistakes(fun, dtype) {
                let found = killed(fun, dtype, mistake);
                let expected = (!changes_nothing(fun, dtype, mistake)).then_some(true);
                count += usize::from(found == Some(true));
                if found != expected {
                    wrong.push(format!("{fun} at {dtype}, {mistake:?}: noticed {found:?}"));
                }
            }
        }
    }
    println!("{count} mistaken rows are noticed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 600, "{count} mistaken rows");
}

/// A conversion that rounds or wraps another way, and a choice of the wrong branch.
#[test]
fn a_mistaken_form_is_noticed() {
    let int = |n: i64, dtype| lit(Lit::Int(n.into()), dtype);
    let span = Span::default();
    let choice =
        |cond| Term::if_(lit(Lit::Bool(cond), DType::Bool), int(1, DType::I8), int(2, DType::I8), span);
    let cases = [
        (Term::cast(DType::I8, int(200, DType::I64), span), -56, [127, 73, 56]),
        (Term::cast(DType::U8, int(-1, DType::I64), span), 255, [0, 1, 254]),
        (Term::cast(DType::I8, int(255, DType::U8), span), -1, [127, 1, 0]),
        (Term::cast(DType::I64, int(-1, DType::I8), span), -1, [255, 1, 0]),
        (Term::cast(DType::I64, int(255, DType::U8), span), 255, [-1, 127, 1]),
        (choice(true), 1, [2, 0, 3]),
        (choice(false), 2, [1, 0, 3]),
    ];
    for (term, right, wrong) in cases {
        let value = eval(&term).expect("no error");
        assert_eq!(value.as_int(), Some(right), "{term:?}");
        assert!(is_proved(&term, &value), "{term:?} is {right}");
        for wrong in wrong {
            assert!(!is_proved(&term, &Value::Int(wrong)), "{term:?} is not {wrong}");
        }
    }
    let truth = Term::cast(DType::Bool, int(2, DType::I8), span);
    assert!(is_proved(&truth, &Value::Bool(true)) && !is_proved(&truth, &Value::Bool(false)));
}
