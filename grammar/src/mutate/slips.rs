//! The mistakes at one place: what could stand there instead.

use num_bigint::BigInt;
use rtv_semantics::dtype::DType;

use super::Slip;
use crate::ast::{Arg, Args, BinaryOp, Expr, ExprKind, UnaryOp};

/// Names that are taken for each other, by rows.
const CONFUSED: [&[&str]; 30] = [
    &["sum", "prod"],
    &["max", "min"],
    &["amax", "amin"],
    &["mean", "sum"],
    &["maximum", "minimum"],
    &["fmax", "fmin"],
    &["argmax", "argmin"],
    &["any", "all"],
    &["cumsum", "cumprod"],
    &["cummax", "cummin"],
    &["floor", "ceil", "round", "trunc"],
    &["sin", "cos", "tan"],
    &["sinh", "cosh", "tanh"],
    &["asin", "acos", "atan"],
    &["asinh", "acosh", "atanh"],
    &["exp", "exp2", "expm1"],
    &["log", "log2", "log10", "log1p"],
    &["erf", "erfc"],
    &["sqrt", "rsqrt", "reciprocal"],
    &["isnan", "isinf", "isfinite"],
    &["tril", "triu"],
    &["zeros", "ones"],
    &["remainder", "fmod"],
    &["logical_and", "logical_or"],
    &["bitwise_and", "bitwise_or"],
    &["add", "sub"],
    &["mul", "div"],
    &["lt", "le"],
    &["gt", "ge"],
    &["softmax", "log_softmax"],
];

/// Functions of which the first two arguments may change places.
const SYMMETRIC: [&str; 14] = [
    "maximum",
    "minimum",
    "max",
    "min",
    "fmax",
    "fmin",
    "add",
    "mul",
    "eq",
    "ne",
    "logical_and",
    "logical_or",
    "bitwise_and",
    "bitwise_or",
];

/// Dtypes that are taken for each other, by rows.
const CONFUSED_DTYPES: [&[DType]; 4] = [
    &[DType::F32, DType::F64],
    &[DType::F16, DType::BF16],
    &[DType::I64, DType::I32],
    &[DType::U8, DType::I8],
];

/// The others in the first row that holds it.
fn beside<T: Copy + PartialEq>(rows: &[&[T]], held: T) -> Vec<T> {
    let row = rows.iter().find(|row| row.contains(&held)).copied().unwrap_or_default();
    row.iter().copied().filter(|other| *other != held).collect()
}

/// Classes that hold more dtypes.
pub fn wider_class(class: &str) -> &'static [&'static str] {
    match class {
        "float" | "int" => &["num"],
        "num" => &["any"],
        _ => &[],
    }
}

/// Everything that could stand here instead, apart from what is inside.
pub fn slips(expr: &Expr) -> Vec<(Slip, Expr)> {
    let like = |slip: Slip, kind: ExprKind| (slip, Expr { kind, span: expr.span });
    match &expr.kind {
        ExprKind::Int(_) => steps(expr).into_iter().map(|other| (Slip::OffByOne, other)).collect(),
        ExprKind::Float(text) => vec![like(Slip::Literal, ExprKind::Float(other_float(text)))],
        ExprKind::Bool(value) => vec![like(Slip::Literal, ExprKind::Bool(!value))],
        ExprKind::Str(text) => {
            exchanged_axes(text).into_iter().map(|text| like(Slip::Swapped, ExprKind::Str(text))).collect()
        }
        ExprKind::DType(dtype) => {
            let others = beside(&CONFUSED_DTYPES, *dtype);
            others.into_iter().map(|other| like(Slip::DType, ExprKind::DType(other))).collect()
        }
        // A negated literal is a literal.
        ExprKind::Unary { op: UnaryOp::Neg, arg } if matches!(arg.kind, ExprKind::Int(_)) => {
            vec![(Slip::Literal, (**arg).clone())]
        }
        ExprKind::Unary { arg, .. } => vec![(Slip::Literal, (**arg).clone())],
        ExprKind::Binary { op, lhs, rhs } => binary(expr, *op, lhs, rhs),
        ExprKind::Field { base, name } if name.name == "T" => vec![(Slip::Swapped, (**base).clone())],
        ExprKind::Call { fun, args } => called(expr, fun, args),
        ExprKind::List(elements) => exchanged(elements)
            .into_iter()
            .map(|elements| like(Slip::Swapped, ExprKind::List(elements)))
            .collect(),
        ExprKind::Tuple(parts) => {
            exchanged(parts).into_iter().map(|parts| like(Slip::Swapped, ExprKind::Tuple(parts))).collect()
        }
        ExprKind::If { cond, then, otherwise } => {
            let (cond, then, otherwise) = (cond.clone(), otherwise.clone(), then.clone());
            vec![like(Slip::Swapped, ExprKind::If { cond, then, otherwise })]
        }
        ExprKind::Comprehension { body, binders } => {
            let body =
                Expr { kind: ExprKind::Unary { op: UnaryOp::Neg, arg: body.clone() }, span: body.span };
            let (body, binders) = (Box::new(body), binders.clone());
            vec![like(Slip::Literal, ExprKind::Comprehension { body, binders })]
        }
        ExprKind::Name(_) | ExprKind::Field { .. } | ExprKind::Index { .. } | ExprKind::Error => Vec::new(),
    }
}

/// What a right side could be instead in which nothing can be mistaken: one more, negated,
/// filled with zeros, the other way round.
pub fn whole(expr: &Expr) -> Vec<(Slip, Expr)> {
    let like = |kind: ExprKind| Expr { kind, span: expr.span };
    let (one, zero) = (like(ExprKind::Int(1.into())), like(ExprKind::Int(0.into())));
    let call = |name: &str, args: Vec<&Expr>| {
        let arg = |value: &Expr| Arg { name: None, value: value.clone() };
        let fun = Box::new(like(ExprKind::Name(name.into())));
        like(ExprKind::Call { fun, args: Args::List(args.into_iter().map(arg).collect()) })
    };
    let more = ExprKind::Binary { op: BinaryOp::Add, lhs: Box::new(expr.clone()), rhs: Box::new(one) };
    let negated = ExprKind::Unary { op: UnaryOp::Neg, arg: Box::new(expr.clone()) };
    vec![
        (Slip::OffByOne, like(more)),
        (Slip::Literal, like(negated)),
        (Slip::Literal, call("zeros_like", vec![expr])),
        (Slip::Swapped, call("flip", vec![expr, &zero])),
    ]
}

/// One more and one less.
pub fn steps(expr: &Expr) -> Vec<Expr> {
    let like = |kind: ExprKind| Expr { kind, span: expr.span };
    let one = BigInt::from(1);
    match &expr.kind {
        ExprKind::Int(n) if *n < one => vec![like(ExprKind::Int(n + &one))],
        ExprKind::Int(n) => vec![like(ExprKind::Int(n + &one)), like(ExprKind::Int(n - &one))],
        // `none` is an axis, a negated literal counts from the end.
        ExprKind::Unary { .. } => Vec::new(),
        ExprKind::Name(name) if name == "none" => Vec::new(),
        _ => {
            let step = |op| {
                let (lhs, rhs) = (Box::new(expr.clone()), Box::new(like(ExprKind::Int(one.clone()))));
                like(ExprKind::Binary { op, lhs, rhs })
            };
            vec![step(BinaryOp::Add), step(BinaryOp::Sub)]
        }
    }
}

/// Conditions that admit a little more.
pub fn relaxed(condition: &Expr) -> Vec<Expr> {
    let ExprKind::Binary { op, lhs, rhs } = &condition.kind else { return Vec::new() };
    let of = |op, lhs: &Expr, rhs: &Expr| {
        let (lhs, rhs) = (Box::new(lhs.clone()), Box::new(rhs.clone()));
        Expr { kind: ExprKind::Binary { op, lhs, rhs }, span: condition.span }
    };
    let more = |expr: &Expr| steps(expr).into_iter().next();
    match op {
        BinaryOp::Lt => vec![of(BinaryOp::Le, lhs, rhs)],
        BinaryOp::Gt => vec![of(BinaryOp::Ge, lhs, rhs)],
        BinaryOp::Le => more(rhs).map(|rhs| of(*op, lhs, &rhs)).into_iter().collect(),
        BinaryOp::Ge => more(lhs).map(|lhs| of(*op, &lhs, rhs)).into_iter().collect(),
        BinaryOp::Eq => vec![of(BinaryOp::Le, lhs, rhs), of(BinaryOp::Ge, lhs, rhs)],
        BinaryOp::And => vec![of(BinaryOp::Or, lhs, rhs)],
        _ => Vec::new(),
    }
}

fn binary(expr: &Expr, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Vec<(Slip, Expr)> {
    let of = |op, lhs: &Expr, rhs: &Expr| {
        let (lhs, rhs) = (Box::new(lhs.clone()), Box::new(rhs.clone()));
        Expr { kind: ExprKind::Binary { op, lhs, rhs }, span: expr.span }
    };
    let (slip, others): (Slip, &[BinaryOp]) = match op {
        BinaryOp::Or => (Slip::Neighbour, &[BinaryOp::And]),
        BinaryOp::And => (Slip::Neighbour, &[BinaryOp::Or]),
        BinaryOp::Eq => (Slip::Neighbour, &[BinaryOp::Ne, BinaryOp::Le]),
        BinaryOp::Ne => (Slip::Neighbour, &[BinaryOp::Eq]),
        BinaryOp::Le => (Slip::OffByOne, &[BinaryOp::Lt]),
        BinaryOp::Lt => (Slip::OffByOne, &[BinaryOp::Le]),
        BinaryOp::Ge => (Slip::OffByOne, &[BinaryOp::Gt]),
        BinaryOp::Gt => (Slip::OffByOne, &[BinaryOp::Ge]),
        BinaryOp::Add => (Slip::Neighbour, &[BinaryOp::Sub]),
        BinaryOp::Sub => (Slip::Neighbour, &[BinaryOp::Add]),
        BinaryOp::Mul => (Slip::Neighbour, &[BinaryOp::Add]),
        BinaryOp::Div => (Slip::Neighbour, &[BinaryOp::Mul]),
        BinaryOp::FloorDiv => (Slip::Neighbour, &[BinaryOp::Rem]),
        BinaryOp::Rem => (Slip::Neighbour, &[BinaryOp::FloorDiv]),
        BinaryOp::Pow => (Slip::Neighbour, &[BinaryOp::Mul]),
        BinaryOp::MatMul => (Slip::Neighbour, &[]),
    };
    let mut found: Vec<(Slip, Expr)> = others.iter().map(|op| (slip, of(*op, lhs, rhs))).collect();
    if op == BinaryOp::FloorDiv {
        let one = Expr { kind: ExprKind::Int(1.into()), span: expr.span };
        let above = of(BinaryOp::Sub, &of(BinaryOp::Add, lhs, rhs), &one);
        found.push((Slip::Rounding, of(BinaryOp::FloorDiv, &above, rhs)));
    }
    let commutes = matches!(
        op,
        BinaryOp::Or | BinaryOp::And | BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Add | BinaryOp::Mul
    );
    if !commutes {
        found.push((Slip::Swapped, of(op, rhs, lhs)));
    }
    found.push((Slip::LeftOut, lhs.clone()));
    found
}

/// Calls of another function, and no call.
fn called(expr: &Expr, fun: &Expr, args: &Args) -> Vec<(Slip, Expr)> {
    let others: Vec<(Slip, ExprKind)> = match &fun.kind {
        ExprKind::Name(name) => {
            let others = beside(&CONFUSED, name.as_str()).into_iter();
            others.map(|name| (Slip::Neighbour, ExprKind::Name(name.into()))).collect()
        }
        ExprKind::DType(dtype) => {
            let others = beside(&CONFUSED_DTYPES, *dtype).into_iter();
            others.map(|dtype| (Slip::DType, ExprKind::DType(dtype))).collect()
        }
        _ => Vec::new(),
    };
    let call = |(slip, kind)| {
        let fun = Box::new(Expr { kind, span: fun.span });
        (slip, Expr { kind: ExprKind::Call { fun, args: args.clone() }, span: expr.span })
    };
    let mut found: Vec<(Slip, Expr)> = others.into_iter().map(call).collect();
    if let Args::List(list) = args
        && let [first, ..] = list.as_slice()
        && first.name.is_none()
        && !is_number(&first.value)
    {
        found.push((Slip::LeftOut, first.value.clone()));
    }
    found
}

/// Numbers adapt to the dtype beside them, so that their conversion says nothing.
fn is_number(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Float(_) => true,
        ExprKind::Name(name) => ["inf", "nan"].contains(&name.as_str()),
        ExprKind::Unary { op: UnaryOp::Neg, arg } => is_number(arg),
        _ => false,
    }
}

/// Neighbours among the arguments given by position.
pub fn swapped(fun: &Expr, args: &[Arg]) -> Vec<(usize, usize)> {
    let symmetric = matches!(&fun.kind, ExprKind::Name(name) if SYMMETRIC.contains(&name.as_str()));
    let by_position = args.iter().take_while(|arg| arg.name.is_none()).count();
    (1..by_position).filter(|_| !symmetric).map(|at| (at - 1, at)).collect()
}

/// Lists with two neighbours exchanged.
fn exchanged<T: Clone>(elements: &[T]) -> Vec<Vec<T>> {
    (1..elements.len())
        .map(|at| {
            let mut other = elements.to_vec();
            other.swap(at - 1, at);
            other
        })
        .collect()
}

/// Axis patterns with two neighbours of the result exchanged, groups left as they are:
/// `(a b) c` becomes `(b a) c` and `(a c) b`.
fn exchanged_axes(pattern: &str) -> Vec<String> {
    let Some((inputs, output)) = pattern.split_once("->") else { return Vec::new() };
    let axes: Vec<&str> = output.split_whitespace().collect();
    let exchanged = |at: usize| {
        let ((open, left, close), (opens, right, closes)) = (bracketed(axes[at - 1]), bracketed(axes[at]));
        let (first, second) = (format!("{open}{right}{close}"), format!("{opens}{left}{closes}"));
        let mut other = axes.clone();
        (other[at - 1], other[at]) = (&first, &second);
        format!("{inputs}-> {}", other.join(" "))
    };
    (1..axes.len()).map(exchanged).collect()
}

/// An axis between the brackets that open and close groups beside it.
fn bracketed(axis: &str) -> (&str, &str, &str) {
    let rest = axis.trim_start_matches('(');
    let name = rest.trim_end_matches(')');
    (&axis[..axis.len() - rest.len()], name, &rest[name.len()..])
}

/// Another number: twice as large, and 1 for 0.
fn other_float(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(0.0) => "1.0".into(),
        Ok(value) => format!("{:?}", 2.0 * value),
        Err(_) => "1.0".into(),
    }
}
