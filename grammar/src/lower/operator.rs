//! Infix and prefix operators, and scalar-table functions on scalars.
//!
//! On integers that are known while elaborating an operator is size arithmetic; on
//! scalars inside a comprehension it is a row of the scalar table; on tensors it is
//! a call of the operator of that name.

use super::assign::negated_literal;
use super::value::Value;
use super::{Lower, Result, Stop, fail};
use crate::ast::{BinaryOp, UnaryOp};
use num_traits::{Signed, ToPrimitive};
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::term::{Lit, Term};
use rtv_semantics::types::Type;

/// Exponents of sizes beyond this are refused.
const MAX_SIZE_POWER: u32 = 64;

/// The operators that a text can mean without their names: those of signs, of `.T` and
/// `.mT`, and of a condition on a whole tensor. What a text rests on includes them.
pub const UNNAMED: [&str; 21] = [
    "logical_or",
    "logical_and",
    "logical_not",
    "eq",
    "ne",
    "le",
    "ge",
    "lt",
    "gt",
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "matmul",
    "pow",
    "neg",
    "t",
    "transpose",
    "all",
];

/// The operator a symbol stands for.
pub fn operator_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "logical_or",
        BinaryOp::And => "logical_and",
        BinaryOp::Eq => "eq",
        BinaryOp::Ne => "ne",
        BinaryOp::Le => "le",
        BinaryOp::Ge => "ge",
        BinaryOp::Lt => "lt",
        BinaryOp::Gt => "gt",
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::FloorDiv => "floor_divide",
        BinaryOp::Rem => "remainder",
        BinaryOp::MatMul => "matmul",
        BinaryOp::Pow => "pow",
    }
}

impl Lower<'_> {
    pub(super) fn binary(&mut self, op: BinaryOp, lhs: Value, rhs: Value, span: Span) -> Result<Value> {
        if matches!(lhs, Value::Poison) || matches!(rhs, Value::Poison) {
            return Err(Stop::Poisoned);
        }
        if let Some(value) = self.static_binary(op, &lhs, &rhs, span)? {
            return Ok(value);
        }
        self.apply(operator_name(op), vec![lhs, rhs], span)
    }

    pub(super) fn unary(&mut self, op: UnaryOp, arg: Value, span: Span) -> Result<Value> {
        match (op, &arg) {
            (_, Value::Poison) => Err(Stop::Poisoned),
            (UnaryOp::Neg, Value::Size(s, origin)) => Ok(Value::Size(-s, *origin)),
            (UnaryOp::Neg, Value::Bool(b)) => Ok(Value::size(Size::from(-(*b as i64)))),
            (UnaryOp::Neg, Value::Float(t)) => Ok(Value::Float(match negated_literal(t) {
                Some(literal) => literal,
                None => Term::scalar(Scalar::Neg, vec![t.clone()], span),
            })),
            (UnaryOp::Neg, Value::Tuple(e)) => Ok(Value::Tuple(e.like(e.items.iter().map(|s| -s).collect()))),
            (UnaryOp::Not, Value::Bool(b)) => Ok(Value::Bool(!b)),
            (UnaryOp::Not, Value::Term(t)) if t.as_cond().is_some() => {
                let cond = t.as_cond().expect("invariant: just seen").negated();
                self.condition(cond, span)
            }
            (UnaryOp::Neg, _) => self.apply("neg", vec![arg], span),
            (UnaryOp::Not, _) => self.apply("logical_not", vec![arg], span),
        }
    }

    /// A scalar-table function where the operands are scalars of a comprehension,
    /// otherwise the operator.
    fn apply(&mut self, name: &str, args: Vec<Value>, span: Span) -> Result<Value> {
        if self.takes_row(&args)
            && let Some(fun) = Scalar::from_name(name)
        {
            return self.scalar_call(fun, &args, span);
        }
        self.call_operator(name, args, span)
    }

    /// Whether a scalar function applies directly: inside a comprehension to any
    /// scalars, elsewhere to numbers only.
    pub(super) fn takes_row(&self, args: &[Value]) -> bool {
        let number = |v: &Value| match v {
            Value::Term(t) => {
                *t.ty() == Type::Size || t.as_cond().is_some() || self.on_each_axis(t).is_some()
            }
            other => other.is_scalar(),
        };
        args.iter().all(Value::is_scalar) && (self.frame.comprehensions > 0 || args.iter().all(number))
    }

    /// What is decided while elaborating: tests of static arguments, arithmetic of
    /// sizes and of index tuples, connectives of conditions.
    fn static_binary(&mut self, op: BinaryOp, lhs: &Value, rhs: &Value, span: Span) -> Result<Option<Value>> {
        if matches!(op, BinaryOp::Eq | BinaryOp::Ne)
            && let Some(same) = self.static_equality(lhs, rhs, span)?
        {
            return Ok(Some(Value::Bool(same == (op == BinaryOp::Eq))));
        }
        Ok(match (op, lhs, rhs) {
            (BinaryOp::And, Value::Bool(true), x) | (BinaryOp::And, x, Value::Bool(true)) if is_truth(x) => {
                Some(x.clone())
            }
            (BinaryOp::Or, Value::Bool(false), x) | (BinaryOp::Or, x, Value::Bool(false)) if is_truth(x) => {
                Some(x.clone())
            }
            (BinaryOp::And, Value::Bool(false), x) | (BinaryOp::And, x, Value::Bool(false))
                if is_condition(x) =>
            {
                Some(Value::Bool(false))
            }
            (BinaryOp::Or, Value::Bool(true), x) | (BinaryOp::Or, x, Value::Bool(true))
                if is_condition(x) =>
            {
                Some(Value::Bool(true))
            }
            (_, Value::Size(a, _), Value::Size(b, _)) => Some(self.size_binary(op, a, b, span)?),
            (_, Value::Size(a, _), Value::Bool(b)) if !matches!(op, BinaryOp::And | BinaryOp::Or) => {
                Some(self.size_binary(op, a, &Size::from(*b as i64), span)?)
            }
            (_, Value::Tuple(_), _) | (_, _, Value::Tuple(_)) => self.tuple_binary(op, lhs, rhs, span)?,
            _ => None,
        })
    }

    /// Equality of what is static: `x == none`, `dim == []`, strings, dtypes, bools.
    fn static_equality(&self, lhs: &Value, rhs: &Value, span: Span) -> Result<Option<bool>> {
        Ok(match (lhs, rhs) {
            (Value::None, other) | (other, Value::None) => Some(matches!(other, Value::None)),
            (Value::All, other) | (other, Value::All) => Some(matches!(other, Value::All)),
            (Value::Str(a), Value::Str(b)) => Some(a == b),
            (Value::DType(a), Value::DType(b)) => Some(a == b),
            (Value::Bool(a), Value::Bool(b)) => Some(a == b),
            (Value::List(a), other) | (other, Value::List(a)) if a.is_empty() => match other {
                Value::List(b) => Some(b.is_empty()),
                Value::Tuple(b) => Some(b.items.is_empty()),
                Value::Size(_, _) => Some(false),
                _ => None,
            },
            (Value::Tuple(_), Value::List(_)) | (Value::List(_), Value::Tuple(_)) => {
                let (a, b) = (self.extents(lhs, span)?, self.extents(rhs, span)?);
                return self.static_equality(&Value::Tuple(a), &Value::Tuple(b), span);
            }
            (Value::Tuple(a), Value::Tuple(b)) if a.items.len() != b.items.len() => {
                a.items.iter().chain(&b.items).try_for_each(|n| self.one_axis(n, span))?;
                Some(false)
            }
            (Value::Tuple(a), Value::Tuple(b)) if a.items == b.items => Some(true),
            (Value::Tuple(a), Value::Tuple(b)) => {
                a.items.iter().chain(&b.items).try_for_each(|n| self.one_axis(n, span))?;
                let all = Cond::and(a.items.iter().zip(&b.items).map(|(x, y)| Cond::eq(x, y)));
                match self.decide(&all) {
                    Some(truth) => Some(truth),
                    None => {
                        return Err(rtv_semantics::diag::Diagnostic::error(
                            rtv_semantics::diag::Code(206),
                            span,
                            "whether these shapes are equal is not known",
                        )
                        .help("use one rank variable for both")
                        .into());
                    }
                }
            }
            _ => None,
        })
    }

    fn size_binary(&mut self, op: BinaryOp, a: &Size, b: &Size, span: Span) -> Result<Value> {
        self.one_axis(a, span)?;
        self.one_axis(b, span)?;
        let cond = match op {
            BinaryOp::Eq => Cond::eq(a, b),
            BinaryOp::Ne => Cond::ne(a, b),
            BinaryOp::Le => Cond::le(a, b),
            BinaryOp::Lt => Cond::lt(a, b),
            BinaryOp::Ge => Cond::le(b, a),
            BinaryOp::Gt => Cond::lt(b, a),
            BinaryOp::Div => return self.quotient_of_numbers(a, b, span),
            BinaryOp::And | BinaryOp::Or | BinaryOp::MatMul => {
                return fail(201, span, "this operator does not apply to integers");
            }
            _ => return Ok(Value::size(self.size_arithmetic(op, a, b, span)?)),
        };
        self.condition(cond, span)
    }

    pub(super) fn size_arithmetic(&self, op: BinaryOp, a: &Size, b: &Size, span: Span) -> Result<Size> {
        Ok(match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::FloorDiv | BinaryOp::Rem if self.decide(&Cond::eq(b, &Size::zero())) == Some(true) => {
                // Where no index exists, nothing is divided.
                if !self.unreachable() {
                    return fail(603, span, "integer division by zero");
                }
                Size::zero()
            }
            // A quotient may cancel, but not what it needs.
            BinaryOp::FloorDiv | BinaryOp::Rem if !self.holds(&Cond::ne(b, &Size::zero())) => {
                return Err(rtv_semantics::diag::Diagnostic::error(
                    rtv_semantics::diag::Code(215),
                    span,
                    format!("the divisor `{b}` may be 0"),
                )
                .help(format!("add `requires {b} >= 1`"))
                .into());
            }
            BinaryOp::FloorDiv => self.quotient(a, b),
            BinaryOp::Rem => a - &(b * &self.quotient(a, b)),
            BinaryOp::Pow => match b.as_const().and_then(|c| c.to_u32()) {
                Some(n) if n <= MAX_SIZE_POWER => (0..n).fold(Size::one(), |acc, _| &acc * a),
                _ => {
                    return fail(
                        201,
                        span,
                        format!("`{a} ** {b}` is not a size: the exponent is not a small number"),
                    );
                }
            },
            _ => return fail(201, span, "this operator does not apply to integers"),
        })
    }

    /// `a / b` of Python integers: a float number.
    fn quotient_of_numbers(&mut self, a: &Size, b: &Size, span: Span) -> Result<Value> {
        let number = |s: &Size| self.scalar_as(&Value::size(s.clone()), DType::F64, span);
        let (a, b) = (number(a)?, number(b)?);
        Ok(Value::Float(Term::scalar(Scalar::Div, vec![a, b], span)))
    }

    fn tuple_binary(&mut self, op: BinaryOp, lhs: &Value, rhs: &Value, span: Span) -> Result<Option<Value>> {
        let (a, b) = match (lhs, rhs) {
            (Value::Tuple(a), Value::Size(s, _)) => (a.items.clone(), vec![s.clone(); a.items.len()]),
            (Value::Size(s, _), Value::Tuple(b)) => (vec![s.clone(); b.items.len()], b.items.clone()),
            _ => {
                let (a, b) = (self.extents(lhs, span)?.items, self.extents(rhs, span)?.items);
                a.iter().zip(&b).try_for_each(|(x, y)| self.as_many(x, y, span))?;
                (a, b)
            }
        };
        self.same_length(&a, &b, span)?;
        if let Some(group) = a.iter().chain(&b).find(|s| self.is_opaque(s)) {
            let message = format!("arithmetic on `{group}`, which runs over any number of axes");
            return fail(211, span, message);
        }
        let made =
            |x: &Size, y: &Size| self.by_component([x, y], self.size_arithmetic(op, x, y, span)?, span);
        let items = a.iter().zip(&b).map(|(x, y)| made(x, y)).collect::<Result<_>>()?;
        let like = if let Value::Tuple(a) = lhs {
            a
        } else if let Value::Tuple(b) = rhs {
            b
        } else {
            return Ok(None);
        };
        let index = [lhs, rhs].iter().any(|v| matches!(v, Value::Tuple(e) if e.index));
        Ok(Some(Value::Tuple(super::value::Extents { index, ..like.like(items) })))
    }

    /// A scalar function at operands brought to one dtype.
    pub(super) fn scalar_call(&mut self, fun: Scalar, args: &[Value], span: Span) -> Result<Value> {
        if args.len() != fun.arity() {
            return fail(105, span, format!("`{fun}` takes {} arguments, {} given", fun.arity(), args.len()));
        }
        if let Some(value) = self.static_function(fun, args, span)? {
            return Ok(value);
        }
        let operands = args.iter().map(|v| self.promotion(v, span)).collect::<Result<Vec<_>>>()?;
        let numbers = args.iter().all(|v| matches!(v, Value::Float(_) | Value::Size(_, _)));
        let whole = args.iter().all(|v| matches!(v, Value::Size(_, _)));
        // Python's own arithmetic: integers stay integers where the function has them.
        let mut dtype = if whole && fun.result(&vec![DType::I64; args.len()]).is_ok() {
            DType::I64
        } else if numbers {
            DType::F64
        } else {
            self.result_dtype(&operands).expect("invariant: functions have arguments")
        };
        if fun.result(&vec![dtype; args.len()]).is_err() {
            dtype = if fun.name().starts_with("logical_") { DType::Bool } else { dtype.true_div_dtype() };
        }
        if let Err(message) = fun.result(&vec![dtype; args.len()]) {
            return fail(204, span, message);
        }
        let terms = args.iter().map(|v| self.number_wrapped(v, dtype, span)).collect::<Result<Vec<_>>>()?;
        let term = Term::scalar(fun, terms, span);
        Ok(if numbers && term.dtype() == DType::F64 { Value::Float(term) } else { Value::Term(term) })
    }

    /// Scalar functions of sizes stay sizes.
    fn static_function(&mut self, fun: Scalar, args: &[Value], span: Span) -> Result<Option<Value>> {
        Ok(match (fun, args) {
            (Scalar::Minimum, [Value::Size(a, _), Value::Size(b, _)]) => Some(Value::size(self.lesser(a, b))),
            (Scalar::Maximum, [Value::Size(a, _), Value::Size(b, _)]) => {
                Some(Value::size(self.greater(a, b)))
            }
            (Scalar::Neg, [Value::Size(a, _)]) => Some(Value::size(-a)),
            (Scalar::Abs, [Value::Size(a, _)]) => Some(Value::size(self.greater(a, &-a))),
            (Scalar::Isnan | Scalar::Isinf, [Value::Size(_, _) | Value::Bool(_)]) => Some(Value::Bool(false)),
            (_, [Value::Size(a, _), Value::Size(b, _)]) => match infix(fun) {
                Some(op) => Some(self.size_binary(op, a, b, span)?),
                None => None,
            },
            _ => None,
        })
    }

    /// `min(a, b)`, resolved where the facts tell which.
    pub(super) fn lesser(&self, a: &Size, b: &Size) -> Size {
        match self.decide(&Cond::le(a, b)) {
            Some(true) => a.clone(),
            Some(false) => b.clone(),
            None if self.holds(&Cond::le(b, a)) => b.clone(),
            None => a.minimum(b),
        }
    }

    /// `max(a, b)`, resolved where the facts tell which.
    pub(super) fn greater(&self, a: &Size, b: &Size) -> Size {
        match self.decide(&Cond::le(a, b)) {
            Some(true) => b.clone(),
            Some(false) => a.clone(),
            None if self.holds(&Cond::le(b, a)) => a.clone(),
            None => a.maximum(b),
        }
    }

    /// The prelude constants.
    pub(super) fn prelude_constant(&self, name: &str, span: Span) -> Option<Value> {
        let float = |lit| Some(Value::Float(Term::lit(lit, DType::F64, span)));
        match name {
            "inf" => float(Lit::Inf),
            "nan" => float(Lit::Nan),
            "pi" => float(Lit::Pi),
            "none" | "None" => Some(Value::None),
            "all" => Some(Value::All),
            _ => None,
        }
    }
}

/// Whether a value is a condition: a static bool or a boolean scalar.
fn is_truth(value: &Value) -> bool {
    match value {
        Value::Bool(_) => true,
        Value::Term(t) => *t.ty() == Type::scalar(DType::Bool),
        _ => false,
    }
}

/// Whether a truth depends on sizes only, so that it may be dropped: data may fail to
/// evaluate, or be undefined.
fn is_condition(value: &Value) -> bool {
    match value {
        Value::Bool(_) => true,
        Value::Term(t) => t.as_cond().is_some(),
        _ => false,
    }
}

/// The symbol of a scalar function that sizes have an operator for.
fn infix(fun: Scalar) -> Option<BinaryOp> {
    Some(match fun {
        Scalar::Add => BinaryOp::Add,
        Scalar::Sub => BinaryOp::Sub,
        Scalar::Mul => BinaryOp::Mul,
        Scalar::Div => BinaryOp::Div,
        Scalar::FloorDivide => BinaryOp::FloorDiv,
        Scalar::Remainder => BinaryOp::Rem,
        Scalar::Eq => BinaryOp::Eq,
        Scalar::Ne => BinaryOp::Ne,
        Scalar::Lt => BinaryOp::Lt,
        Scalar::Le => BinaryOp::Le,
        Scalar::Gt => BinaryOp::Gt,
        Scalar::Ge => BinaryOp::Ge,
        _ => return None,
    })
}

/// An integer literal of the surface as a size.
pub(super) fn integer_value(value: &num_bigint::BigInt) -> Value {
    debug_assert!(!value.is_negative(), "the lexer has no negative literals");
    Value::written(Size::int(value.clone()))
}
