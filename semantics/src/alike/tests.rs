//! What counts in each sense, and what does not.

use super::*;
use crate::diag::{FileId, Span};
use crate::entail::Cond;
use crate::scalar::{Domain, Fault, Scalar, Value, cast};
use crate::size::{Size, Sym, SymKind};
use crate::term::Var;

const AT: Span = Span { file: FileId(0), lo: 0, hi: 0 };

/// `sum(x[k] * 0.1 for k in n)`, with `x` converted to another dtype first if one is given.
fn scaled(dtype: DType, through: Option<DType>, factor: &str) -> Term {
    let n = Size::sym(&Sym::new(0, SymKind::Size, "n"));
    let k = Sym::new(1, SymKind::Index, "k");
    let x = Term::var(Var { id: 2, name: "x".into() }, Type::tensor(dtype, vec![n.clone()]), AT);
    let read = Term::read(x, vec![Term::size(Size::sym(&k), AT)], AT);
    let read = through.map_or(read.clone(), |to| Term::cast(to, read, AT));
    let factor = Term::lit(Lit::Decimal(factor.into()), read.dtype(), AT);
    let body = Term::scalar(Scalar::Mul, vec![read, factor], AT);
    Term::reduce(Monoid::Sum, vec![Binder { sym: k, extent: n }], body, AT)
}

#[test]
fn which_float_dtype_it_is_does_not_count() {
    let one = scaled(DType::F32, None, "0.1");
    for other in [
        scaled(DType::F16, None, "0.1"),
        scaled(DType::F64, None, "0.1"),
        scaled(DType::F16, Some(DType::F32), "0.1"),
    ] {
        assert!(alike(Sense::Reals, &one, &other) && alike(Sense::Reals, &other, &one));
    }
}

#[test]
fn everything_else_counts() {
    let one = scaled(DType::F32, None, "0.1");
    for other in [
        scaled(DType::F32, None, "0.2"),
        scaled(DType::F32, Some(DType::I64), "1"),
        scaled(DType::I64, None, "0.1"),
        scaled(DType::I64, Some(DType::F32), "0.1"),
    ] {
        assert!(!alike(Sense::Reals, &one, &other) && !alike(Sense::Reals, &other, &one), "{other:?}");
    }
    let whole = scaled(DType::I32, None, "1");
    assert!(!alike(Sense::Reals, &whole, &scaled(DType::I64, None, "1")));
}

/// `[if k < n { x[k] } else { x[0] } for k in n]`
fn clamped(dtype: DType, from: i64) -> Term {
    let n = Size::sym(&Sym::new(0, SymKind::Size, "n"));
    let k = Sym::new(1, SymKind::Index, "k");
    let x = Term::var(Var { id: 2, name: "x".into() }, Type::tensor(dtype, vec![n.clone()]), AT);
    let read = |at: Size| Term::read(x.clone(), vec![Term::size(at, AT)], AT);
    let cond = Term::cond(&Cond::lt(&Size::sym(&k), &n), AT);
    let body = Term::if_(cond, read(Size::sym(&k)), read(Size::int(from)), AT);
    Term::comp(vec![Binder { sym: k, extent: n }], body, AT)
}

#[test]
fn the_dtype_of_what_is_moved_does_not_count() {
    assert!(alike(Sense::Movement, &clamped(DType::Bool, 0), &clamped(DType::F64, 0)));
    assert!(!alike(Sense::Movement, &clamped(DType::Bool, 0), &clamped(DType::F64, 1)));
}

#[test]
fn what_looks_at_data_is_no_movement() {
    let x = clamped(DType::F32, 0);
    let first = Term::read(x, vec![Term::size(Size::zero(), AT)], AT);
    assert!(alike(Sense::Movement, &first, &first));
    let negated = Term::scalar(Scalar::Neg, vec![first.clone()], AT);
    let chosen =
        Term::if_(Term::scalar(Scalar::Eq, vec![first.clone(), first.clone()], AT), first.clone(), first, AT);
    for term in [negated, chosen, Term::bool(true, AT)] {
        assert!(!alike(Sense::Movement, &term, &term), "{term:?}");
    }
}

/// `sum(if p { -x[k] * 3 + n } else { f(x[k]) } for k in n)`
fn wrapping(dtype: DType, f: impl Fn(Term) -> Term) -> Term {
    let n = Size::sym(&Sym::new(0, SymKind::Size, "n"));
    let k = Sym::new(1, SymKind::Index, "k");
    let x = Term::var(Var { id: 2, name: "x".into() }, Type::tensor(dtype, vec![n.clone()]), AT);
    let p = Term::var(Var { id: 3, name: "p".into() }, Type::tensor(DType::Bool, Vec::new()), AT);
    let read = Term::read(x, vec![Term::size(Size::sym(&k), AT)], AT);
    let three = Term::lit(Lit::Int(3.into()), dtype, AT);
    let negated = Term::scalar(Scalar::Neg, vec![read.clone()], AT);
    let product = Term::scalar(Scalar::Mul, vec![negated, three], AT);
    let count = Term::cast(dtype, Term::size(n.clone(), AT), AT);
    let sum = Term::scalar(Scalar::Add, vec![product, count], AT);
    let body = Term::if_(p, sum, f(read), AT);
    Term::reduce(Monoid::Sum, vec![Binder { sym: k, extent: n }], body, AT)
}

#[test]
fn sums_and_products_of_narrow_integers_are_low_bits_of_those_of_wide_ones() {
    let of = |dtype| wrapping(dtype, |x| x);
    for narrow in [DType::U8, DType::I8, DType::I16, DType::I32] {
        assert!(alike(Sense::Residues, &of(narrow), &of(DType::I64)), "{narrow}");
        assert!(!alike(Sense::Residues, &of(DType::I64), &of(narrow)), "{narrow}");
    }
    assert!(!alike(Sense::Residues, &of(DType::F16), &of(DType::F32)));
}

#[test]
fn what_looks_at_high_bits_is_no_residue() {
    type Made = Box<dyn Fn(Term) -> Term>;
    fn two(dtype: DType) -> Term {
        Term::lit(Lit::Int(2.into()), dtype, AT)
    }
    let by_two = |fun| move |x: Term| Term::scalar(fun, vec![x.clone(), two(x.dtype())], AT);
    let one = |fun| move |x: Term| Term::scalar(fun, vec![x], AT);
    let chosen = |x: Term| {
        let test = Term::scalar(Scalar::Eq, vec![x.clone(), two(x.dtype())], AT);
        Term::if_(test, x.clone(), x, AT)
    };
    let largest = |x: Term| {
        let sym = Sym::new(9, SymKind::Index, "j");
        Term::reduce(Monoid::Max, vec![Binder { sym, extent: Size::int(2) }], x, AT)
    };
    let through = |by: DType| move |x: Term| Term::cast(x.dtype(), Term::cast(by, x, AT), AT);
    let read_at = |x: Term| {
        let table =
            Term::var(Var { id: 5, name: "t".into() }, Type::tensor(x.dtype(), vec![Size::int(300)]), AT);
        Term::read(table, vec![x], AT)
    };
    let fails: [(&str, Made); 12] = [
        ("quotient", Box::new(by_two(Scalar::FloorDivide))),
        ("remainder", Box::new(by_two(Scalar::Remainder))),
        ("power", Box::new(by_two(Scalar::Pow))),
        ("shift", Box::new(by_two(Scalar::BitwiseRightShift))),
        ("maximum", Box::new(by_two(Scalar::Maximum))),
        ("absolute value", Box::new(one(Scalar::Abs))),
        ("sign", Box::new(one(Scalar::Sign))),
        ("comparison", Box::new(chosen)),
        ("largest", Box::new(largest)),
        ("to a float and back", Box::new(through(DType::F32))),
        ("to the wide integer and back", Box::new(through(DType::I64))),
        ("an index", Box::new(read_at)),
    ];
    for (what, f) in &fails {
        let (narrow, wide) = (wrapping(DType::I8, f), wrapping(DType::I64, f));
        assert!(!alike(Sense::Residues, &narrow, &wide), "{what}");
        assert!(alike(Sense::Residues, &narrow, &narrow), "{what} of one dtype is one term");
    }
    let more = |by: i64| {
        move |x: Term| {
            Term::scalar(Scalar::Add, vec![x.clone(), Term::lit(Lit::Int(by.into()), x.dtype(), AT)], AT)
        }
    };
    let holds =
        |narrow, wide, by| alike(Sense::Residues, &wrapping(narrow, more(by)), &wrapping(wide, more(by)));
    assert!(holds(DType::I8, DType::I64, -128) && holds(DType::U8, DType::I64, 255));
    assert!(!holds(DType::I8, DType::I64, 200) && !holds(DType::U8, DType::I64, -1), "an error at one dtype");
    assert!(
        !holds(DType::U8, DType::I8, 200) && !holds(DType::I8, DType::U8, -1),
        "an error at the other one"
    );
    for f in [Scalar::BitwiseAnd, Scalar::BitwiseOr, Scalar::BitwiseXor] {
        let (narrow, wide) = (wrapping(DType::I8, by_two(f)), wrapping(DType::I64, by_two(f)));
        assert!(alike(Sense::Residues, &narrow, &wide), "{f:?}");
    }
}

const INTEGERS: [DType; 5] = [DType::U8, DType::I8, DType::I16, DType::I32, DType::I64];

/// An integer as one of a dtype that has its low bits.
fn low_bits(value: i64, dtype: DType) -> i64 {
    let (bits, (_, most)) = (dtype.bits(), dtype.int_range().expect("of integers"));
    let low = i128::from(value).rem_euclid(1 << bits);
    (if low > most.into() { low - (1 << bits) } else { low }) as i64
}

#[test]
fn low_bits_are_what_the_functions_and_conversions_make_of_low_bits() {
    let corners = [0, 1, 2, 3, 77, 127, 128, 255, 256, 300, 40_000, 1 << 31, (1 << 40) + 5, i64::MAX];
    let wide: Vec<i64> = corners.into_iter().flat_map(|v| [v, -v - 1]).collect();
    let integer = |value: Result<Value, Fault>| match value {
        Ok(Value::Int(value)) => value,
        other => panic!("{other:?}"),
    };
    for fun in Scalar::all().filter(|fun| is_of_low_bits(*fun)) {
        let of = |dtype, args: [i64; 2]| {
            integer(fun.eval(Domain::Ieee, dtype, &args.map(Value::Int)[..fun.arity()]))
        };
        for (x, y) in wide.iter().flat_map(|x| wide.iter().map(move |y| (*x, *y))) {
            for narrow in INTEGERS {
                let low = [low_bits(x, narrow), low_bits(y, narrow)];
                let wanted = low_bits(of(DType::I64, [x, y]), narrow);
                assert_eq!(of(narrow, low), wanted, "{fun:?} of {x}, {y} as {narrow}");
            }
        }
    }
    for (from, value) in INTEGERS.into_iter().flat_map(|from| wide.iter().map(move |v| (from, *v))) {
        let to = |dtype| integer(cast(Domain::Ieee, from, dtype, &Value::Int(low_bits(value, from))));
        for narrow in INTEGERS {
            assert_eq!(to(narrow), low_bits(to(DType::I64), narrow), "{value} of {from} as {narrow}");
        }
    }
}
