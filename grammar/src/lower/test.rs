//! `test` blocks: every size is known, every assertion is a thing to evaluate.

use super::value::Value;
use super::{Lower, Result, Stop, fail};
use crate::ast::{self, Arg, Args, BinaryOp, Expr, ExprKind, Item, ItemKind, Stmt, StmtKind};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::program::{Assertion, Mode, Step, Test};
use rtv_semantics::term::{ErrorClass, Term, Var};

impl Lower<'_> {
    /// A `test` item; failures of single statements are reported and left out.
    pub fn test(&mut self, item: &Item) -> Option<Test> {
        let ItemKind::Test { name, body } = &item.kind else { return None };
        self.item(true, |l| {
            let mut steps = Vec::new();
            for stmt in &body.stmts {
                if let Err(stop) = l.test_step(stmt, &mut steps) {
                    l.report(stop);
                    l.poison(stmt);
                }
            }
            Ok(Test { name: name.name.as_str().into(), steps, span: item.span })
        })
    }

    pub(super) fn test_step(&mut self, stmt: &Stmt, steps: &mut Vec<Step>) -> Result<()> {
        match &stmt.kind {
            StmtKind::Let { pat, ty, value } => {
                let value = match ty {
                    None => self.expr(value)?,
                    Some(ty) => {
                        let want = self.declared_type(ty)?;
                        let dtype = want.as_tensor().map(|t| t.dtype);
                        let found = self.expr_as(value, dtype)?;
                        Value::Term(self.result_term(found, Some(&want), value.span)?)
                    }
                };
                let mut lets: Vec<(Var, Term)> = Vec::new();
                self.bind_pattern(pat, value, &mut lets)?;
                steps.extend(lets.into_iter().map(|(v, t)| Step::Let(v, t)));
                Ok(())
            }
            StmtKind::Assert { value, mode } => {
                let mode = match mode {
                    Some(m) => self.mode(m)?,
                    None => Mode::Exact,
                };
                let assertion = self.assertion(value, mode)?;
                steps.push(Step::Assert(assertion, stmt.span));
                Ok(())
            }
            StmtKind::Error => Err(Stop::Poisoned),
            _ => fail(294, stmt.span, "a test has `let` and `assert` statements"),
        }
    }

    fn assertion(&mut self, expr: &Expr, mode: Mode) -> Result<Assertion> {
        match &expr.kind {
            ExprKind::Call { fun, args: Args::List(args) } => match (&fun.kind, &args[..]) {
                (ExprKind::Name(name), [value, class]) if name == "fails" => self.fails(value, class),
                (ExprKind::Name(name), [a, b, rest @ ..]) if name == "close" => {
                    let mode = self.tolerance(rest)?;
                    self.agrees(&a.value, &b.value, mode)
                }
                _ => self.holds_everywhere(expr),
            },
            ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs } => self.agrees(lhs, rhs, mode),
            _ => self.holds_everywhere(expr),
        }
    }

    fn holds_everywhere(&mut self, expr: &Expr) -> Result<Assertion> {
        match self.expr(expr)? {
            Value::Bool(true) => Ok(Assertion::Settled(Ok(()))),
            Value::Bool(false) => Ok(Assertion::Settled(Err("it is false".into()))),
            Value::Term(t) => Ok(Assertion::Holds(self.all_of(t, expr.span)?)),
            Value::Poison => Err(Stop::Poisoned),
            other => fail(201, expr.span, format!("expected a condition, found {}", other.describe())),
        }
    }

    /// `a == b`: same dtype, shape and elements; a literal side takes the dtype of
    /// the other.
    fn agrees(&mut self, lhs: &Expr, rhs: &Expr, mode: Mode) -> Result<Assertion> {
        let (a, b) = (self.expr(lhs)?, self.expr(rhs)?);
        let tensor = |v: &Value| matches!(v, Value::Term(t) if t.tensor_type().is_some());
        let literals = matches!((&a, &b), (Value::List(_), Value::List(_)));
        if !tensor(&a)
            && !tensor(&b)
            && !literals
            && !matches!((&a, &b), (Value::Float(_), _) | (_, Value::Float(_)))
        {
            let same = self.static_values_agree(&a, &b, lhs.span.to(rhs.span))?;
            let found = || format!("{} and {}", a.describe(), b.describe());
            return Ok(Assertion::Settled(if same { Ok(()) } else { Err(found()) }));
        }
        let (a, b) = match (tensor(&a), tensor(&b)) {
            (true, false) => {
                let a = self.tensor(&a, lhs.span)?;
                let b = self.literal_like(&b, &a, rhs.span)?;
                (a, b)
            }
            (false, true) => {
                let b = self.tensor(&b, rhs.span)?;
                let a = self.literal_like(&a, &b, lhs.span)?;
                (a, b)
            }
            _ => (self.tensor(&a, lhs.span)?, self.tensor(&b, rhs.span)?),
        };
        Ok(Assertion::Agrees(a, b, mode))
    }

    /// A literal takes the other side's dtype unless it needs a higher category.
    fn literal_like(&mut self, literal: &Value, other: &Term, span: Span) -> Result<Term> {
        let natural = self.natural_dtype(literal, span)?;
        let empty = matches!(literal, Value::List(list) if list.is_empty());
        let dtype =
            if empty || natural.category() <= other.dtype().category() { other.dtype() } else { natural };
        self.tensor_as(literal, dtype, span)
    }

    fn static_values_agree(&mut self, a: &Value, b: &Value, span: Span) -> Result<bool> {
        let sizes = |v: &Value| matches!(v, Value::Tuple(_) | Value::List(_));
        let shape = matches!(a, Value::Tuple(_)) || matches!(b, Value::Tuple(_));
        if sizes(a) && sizes(b) && shape {
            let (a, b) = (self.extents(a, span)?, self.extents(b, span)?);
            return Ok(a.items == b.items);
        }
        match self.binary(BinaryOp::Eq, a.clone(), b.clone(), span)? {
            Value::Bool(same) => Ok(same),
            _ => fail(206, span, "whether these are equal is not known"),
        }
    }

    /// `fails(EXPR, CLASS)`: an error while elaborating counts by its code.
    fn fails(&mut self, value: &Arg, class: &Arg) -> Result<Assertion> {
        let name = match &class.value.kind {
            ExprKind::Name(name) => name.as_str(),
            _ => "",
        };
        let Some(want) = ErrorClass::from_name(name) else {
            let names: Vec<&str> = ErrorClass::ALL.iter().map(|c| c.name()).collect();
            return Err(Diagnostic::error(Code(403), class.value.span, "this is not an error class")
                .help(format!("the classes are {}", names.join(", ")))
                .into());
        };
        let term = match self.expr(&value.value) {
            Ok(value) => self.tensor(&value, class.value.span)?,
            Err(Stop::Poisoned) => return Err(Stop::Poisoned),
            Err(Stop::Report(d)) => {
                return Ok(Assertion::Settled(match class_of(d.code) {
                    Some(found) if found == want => Ok(()),
                    Some(found) => Err(format!("it fails in class `{}`: {}", found.name(), d.message)),
                    None => return Err(Stop::Report(d)),
                }));
            }
        };
        Ok(Assertion::Fails(term, want))
    }
}

/// The run-time class of an error that elaboration already finds.
pub fn class_of(code: Code) -> Option<ErrorClass> {
    match code.0 {
        203 | 205 | 213 => Some(ErrorClass::Shape),
        204 => Some(ErrorClass::DType),
        208 | 209 | 216 => Some(ErrorClass::Index),
        201 | 202 | 218 | 219 => Some(ErrorClass::Value),
        210 => Some(ErrorClass::Requires),
        603 => Some(ErrorClass::Arithmetic),
        _ => None,
    }
}

/// A value that a caller outside the language gives to a call.
#[derive(Clone, Debug)]
pub enum Given {
    Tensor(rtv_semantics::types::TensorType),
    TensorList(Vec<rtv_semantics::types::TensorType>),
    Int(i64),
    /// A decimal, or `inf`, `-inf`, `nan`.
    Float(String),
    Bool(bool),
    Str(String),
    DType(rtv_semantics::dtype::DType),
    Ints(Vec<i64>),
    None,
}

/// A call from outside: the term, and one variable for each tensor given, in order.
#[derive(Clone, Debug)]
pub struct OuterCall {
    pub term: Term,
    pub inputs: Vec<Var>,
}

impl Lower<'_> {
    /// Calls a function or operator on given values; all sizes are known.
    pub fn outer_call(
        &mut self,
        name: &str,
        positional: &[Given],
        named: &[(String, Given)],
        span: Span,
    ) -> Option<OuterCall> {
        self.item(true, |l| {
            let mut inputs = Vec::new();
            let mut arguments = super::call::Arguments::default();
            for given in positional {
                let value = l.given(given, span, &mut inputs)?;
                arguments.positional.push((value, span));
            }
            for (name, given) in named {
                let value = l.given(given, span, &mut inputs)?;
                arguments.named.push((ast::Ident { name: name.clone(), span }, value, span));
            }
            let value = l.call_named(&ast::Ident { name: name.to_string(), span }, arguments, span)?;
            let term = match value {
                Value::List(parts) => {
                    let terms = parts.iter().map(|v| l.tensor(v, span)).collect::<Result<_>>()?;
                    Term::tuple(terms, span)
                }
                value => l.result_term(value, None, span)?,
            };
            Ok(OuterCall { term, inputs })
        })
    }

    fn given(&mut self, given: &Given, span: Span, inputs: &mut Vec<Var>) -> Result<Value> {
        use rtv_semantics::dtype::DType;
        use rtv_semantics::size::Size;
        use rtv_semantics::term::Lit;
        let mut tensor = |l: &mut Self, ty: &rtv_semantics::types::TensorType| {
            let var = l.fresh_var(&format!("arg{}", inputs.len()));
            inputs.push(var.clone());
            Value::Term(Term::var(var, rtv_semantics::types::Type::Tensor(ty.clone()), span))
        };
        Ok(match given {
            Given::Tensor(ty) => tensor(self, ty),
            Given::TensorList(types) => Value::List(types.iter().map(|ty| tensor(self, ty)).collect()),
            Given::Int(k) => Value::written(Size::from(*k)),
            Given::Float(text) => {
                let lit = match text.as_str() {
                    "inf" => Lit::Inf,
                    "-inf" => Lit::NegInf,
                    "nan" => Lit::Nan,
                    decimal => Lit::Decimal(decimal.into()),
                };
                Value::Float(Term::lit(lit, DType::F64, span))
            }
            Given::Bool(b) => Value::Bool(*b),
            Given::Str(s) => Value::Str(s.clone()),
            Given::DType(d) => Value::DType(*d),
            Given::Ints(list) => Value::List(list.iter().map(|k| Value::written(Size::from(*k))).collect()),
            Given::None => Value::None,
        })
    }
}
