//! The calls of operators in the assertions of a `test`, with their arguments apart: what
//! another implementation of an operator can be asked.
//!
//! A call is found where a side of an assertion is one, as a name, a method or a sign, or a
//! name that a `let` bound to one. What an argument is may be left open by its text: `[0, 1]`
//! is a tensor or a list of axes, `[1.0]` has the dtype of a tensor beside it. Such an
//! argument has several readings; the call that means the same is the right one.

use super::operator::operator_name;
use super::value::Value;
use super::{Given, Lower, Result, call::tensor_list};
use crate::ast::{
    Args, BinaryOp, Elem, Expr, ExprKind, IndexItem, Item, ItemKind, Pat, Stmt, StmtKind, TypeKind, UnaryOp,
};
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Assertion, Step};
use rtv_semantics::term::{ErrorClass, Form, Lit, Term, Var};
use rtv_semantics::types::Type;
use std::collections::{BTreeMap, BTreeSet};

/// One step of a test.
#[derive(Clone, Debug)]
pub enum Probe {
    Let(Var, Term),
    Assert(Asserted),
}

/// An assertion, and the call it is about or why there is none.
#[derive(Clone, Debug)]
pub struct Asserted {
    pub call: std::result::Result<Spoken, &'static str>,
    pub assertion: Assertion,
    /// The class of `fails(.., CLASS)`.
    pub fails: Option<ErrorClass>,
}

/// A call as it is written.
#[derive(Clone, Debug)]
pub struct Spoken {
    pub operator: String,
    /// The readings of each argument, the likeliest first.
    pub positional: Vec<Vec<Reading>>,
    pub named: Vec<(String, Vec<Reading>)>,
    /// The result that the assertion is about, of an operator with several.
    pub part: Option<usize>,
    /// Whether it is the left side of the assertion.
    pub left: bool,
}

/// What an argument may be.
#[derive(Clone, Debug)]
pub enum Reading {
    Static(Given),
    /// A number that is computed.
    Number(Term),
    Tensor(Term),
    Tensors(Vec<Term>),
}

/// What the names of a test are bound to: an expression, or a part of its value.
type Bound<'e> = BTreeMap<&'e str, (&'e Expr, Option<usize>)>;

/// What decides how an argument is read beside its text.
struct Around {
    /// Of the tensors beside it, and those that parameters name.
    dtypes: BTreeSet<DType>,
    /// Whether some parameter takes several tensors.
    lists: bool,
}

/// A call before its arguments are lowered.
struct Found<'e> {
    operator: &'e str,
    positional: Vec<&'e Expr>,
    named: Vec<(&'e str, &'e Expr)>,
    part: Option<usize>,
}

impl Lower<'_> {
    /// The steps of a `test` about an operator; statements that do not elaborate are left out.
    pub fn asserted(&mut self, item: &Item, about: &str) -> Option<Vec<Probe>> {
        let ItemKind::Test { body, .. } = &item.kind else { return None };
        self.item(true, |l| {
            let (mut probes, mut bound) = (Vec::new(), Bound::new());
            for stmt in &body.stmts {
                let (call, fails) = match &stmt.kind {
                    StmtKind::Assert { value, .. } => (l.spoken(value, about, &bound), class(value)),
                    _ => (Err("no assertion"), None),
                };
                let mut steps = Vec::new();
                if let Err(stop) = l.test_step(stmt, &mut steps) {
                    l.report(stop);
                    l.poison(stmt);
                }
                remember(stmt, &mut bound);
                probes.extend(steps.into_iter().map(|step| match step {
                    Step::Let(var, term) => Probe::Let(var, term),
                    Step::Assert(assertion, _) => {
                        Probe::Assert(Asserted { call: call.clone(), assertion, fails })
                    }
                }));
            }
            Ok(probes)
        })
    }

    fn spoken(
        &mut self,
        assertion: &Expr,
        about: &str,
        bound: &Bound<'_>,
    ) -> std::result::Result<Spoken, &'static str> {
        let sides = sides(assertion);
        let calls =
            sides.iter().enumerate().filter_map(|(k, side)| Some((k, self.operator_call(side, bound)?)));
        let mut calls: Vec<(usize, Found<'_>)> = calls.collect();
        calls.sort_by_key(|(_, call)| call.operator != about);
        let Some((side, found)) = calls.into_iter().next() else { return Err("no side is a call") };
        let values: Result<Vec<Value>> = found.positional.iter().map(|arg| self.expr(arg)).collect();
        let named: Result<Vec<Value>> = found.named.iter().map(|(_, arg)| self.expr(arg)).collect();
        let (Ok(values), Ok(named)) = (values, named) else { return Err("an argument fails itself") };
        let beside = values.iter().chain(&named).filter_map(|value| match value {
            Value::Term(t) if t.tensor_type().is_some() => Some(t.dtype()),
            _ => None,
        });
        let around = self.around(found.operator, beside.collect());
        let mut read = |value: &Value| match self.readings(value, &around, assertion.span) {
            readings if readings.is_empty() => Err("an argument is no value outside the language"),
            readings => Ok(readings),
        };
        let positional = values.iter().map(&mut read).collect::<std::result::Result<_, _>>()?;
        let names = found.named.iter().zip(&named);
        let named = names.map(|((name, _), value)| Ok((name.to_string(), read(value)?)));
        let named = named.collect::<std::result::Result<_, _>>()?;
        Ok(Spoken {
            operator: found.operator.to_string(),
            positional,
            named,
            part: found.part,
            left: side == 0,
        })
    }

    fn operator_call<'e>(&self, expr: &'e Expr, bound: &Bound<'e>) -> Option<Found<'e>> {
        let plain = |operator: &'e str, positional: Vec<&'e Expr>| Found {
            operator,
            positional,
            named: Vec::new(),
            part: None,
        };
        match &expr.kind {
            ExprKind::Name(name) => {
                let (expr, part) = bound.get(name.as_str())?;
                let found = self.operator_call(expr, bound)?;
                Some(Found { part: part.or(found.part), ..found })
            }
            ExprKind::Binary { op, lhs, rhs } => Some(plain(operator_name(*op), vec![lhs, rhs])),
            ExprKind::Unary { op: UnaryOp::Neg, arg } => Some(plain("neg", vec![arg])),
            ExprKind::Index { base, items } => {
                let [IndexItem::Expr(Expr { kind: ExprKind::Int(k), .. })] = &items[..] else { return None };
                let found = self.operator_call(base, bound)?;
                let several = found.part.is_none() && self.gives_several(found.operator);
                several.then_some(Found { part: Some(usize::try_from(k).ok()?), ..found })
            }
            ExprKind::Call { fun, args: Args::List(args) } => {
                let (operator, receiver) = match &fun.kind {
                    ExprKind::Name(name) => (name.as_str(), None),
                    ExprKind::Field { base, name } => (name.name.as_str(), Some(&**base)),
                    _ => return None,
                };
                if self.defs.overloads(operator, true).is_empty() {
                    return None;
                }
                let mut found = plain(operator, receiver.into_iter().collect());
                for arg in args {
                    match &arg.name {
                        None => found.positional.push(&arg.value),
                        Some(name) => found.named.push((name.name.as_str(), &arg.value)),
                    }
                }
                Some(found)
            }
            _ => None,
        }
    }

    /// With what the parameters of the operator ask for.
    fn around(&self, operator: &str, mut dtypes: BTreeSet<DType>) -> Around {
        let entries = self.defs.overloads(operator, true);
        let mut lists = entries.iter().any(|entry| entry.has_attr("fold"));
        for param in entries.iter().flat_map(|entry| &entry.def().params) {
            match &param.ty.kind {
                TypeKind::Tensor { elem: Elem::DType(dtype, _), .. } => {
                    dtypes.insert(*dtype);
                }
                TypeKind::List(_) => lists = true,
                _ => {}
            }
        }
        Around { dtypes, lists }
    }

    /// Whether an index after a call of the operator picks one of its results.
    fn gives_several(&self, operator: &str) -> bool {
        let entries = self.defs.overloads(operator, true);
        entries.iter().any(|e| e.def().ret.as_ref().is_none_or(|ty| matches!(ty.kind, TypeKind::Tuple(_))))
    }

    fn readings(&mut self, value: &Value, around: &Around, span: Span) -> Vec<Reading> {
        let given = |given: Given| vec![Reading::Static(given)];
        match value {
            Value::Term(t) if t.tensor_type().is_some() => vec![Reading::Tensor(t.clone())],
            Value::Term(t) => match (t.ty(), tensor_list(value)) {
                (Type::Tuple(_), Some(list)) => self.tensors(&list, span).into_iter().collect(),
                _ => t.as_size().and_then(|s| s.as_i64()).map(|k| given(Given::Int(k))).unwrap_or_default(),
            },
            Value::Size(s, _) => s.as_i64().map(|k| given(Given::Int(k))).unwrap_or_default(),
            Value::Float(t) => match float_text(t) {
                Some(text) => given(Given::Float(text)),
                None => vec![Reading::Number(t.clone())],
            },
            Value::Bool(b) => given(Given::Bool(*b)),
            Value::Str(s) => given(Given::Str(s.clone())),
            Value::DType(d) => given(Given::DType(*d)),
            Value::None => given(Given::None),
            Value::Tuple(extents) => {
                let ints: Option<Vec<i64>> = extents.items.iter().map(|s| s.as_i64()).collect();
                ints.map(|ints| given(Given::Ints(ints))).unwrap_or_default()
            }
            Value::List(list) => self.list_readings(value, list, around, span),
            Value::All | Value::Poison => Vec::new(),
        }
    }

    /// A tensor: of its own dtype, of one beside it, of one that a parameter asks for; then
    /// numbers, then several tensors.
    fn list_readings(&mut self, value: &Value, list: &[Value], around: &Around, span: Span) -> Vec<Reading> {
        let mut readings: Vec<Reading> =
            self.tensor(value, span).ok().map(Reading::Tensor).into_iter().collect();
        let adapted = around.dtypes.iter().filter_map(|d| self.tensor_as(value, *d, span).ok());
        readings.extend(adapted.map(Reading::Tensor));
        let ints: Option<Vec<i64>> = list
            .iter()
            .map(|v| match v {
                Value::Size(s, _) => s.as_i64(),
                _ => None,
            })
            .collect();
        readings.extend(ints.map(|ints| Reading::Static(Given::Ints(ints))));
        if around.lists {
            readings.extend(self.tensors(list, span));
        }
        readings
    }

    fn tensors(&mut self, list: &[Value], span: Span) -> Option<Reading> {
        let terms: Result<Vec<Term>> = list.iter().map(|value| self.tensor(value, span)).collect();
        terms.ok().map(Reading::Tensors)
    }
}

/// The expressions an assertion holds against each other.
fn sides(assertion: &Expr) -> Vec<&Expr> {
    match &assertion.kind {
        ExprKind::Call { fun, args: Args::List(args) } => match (&fun.kind, &args[..]) {
            (ExprKind::Name(name), [value, _]) if name == "fails" => vec![&value.value],
            (ExprKind::Name(name), [a, b, ..]) if name == "close" => vec![&a.value, &b.value],
            _ => Vec::new(),
        },
        ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs } => vec![lhs, rhs],
        _ => Vec::new(),
    }
}

fn class(assertion: &Expr) -> Option<ErrorClass> {
    let ExprKind::Call { fun, args: Args::List(args) } = &assertion.kind else { return None };
    match (&fun.kind, &args[..]) {
        (ExprKind::Name(name), [_, class]) if name == "fails" => match &class.value.kind {
            ExprKind::Name(class) => ErrorClass::from_name(class),
            _ => None,
        },
        _ => None,
    }
}

fn remember<'e>(stmt: &'e Stmt, bound: &mut Bound<'e>) {
    let StmtKind::Let { pat, value, ty: None } = &stmt.kind else { return };
    match pat {
        Pat::Name(name) => {
            bound.insert(&name.name, (value, None));
        }
        Pat::Tuple { names, .. } => {
            bound.extend(names.iter().enumerate().map(|(k, name)| (name.name.as_str(), (value, Some(k)))));
        }
    }
}

/// The text of a float literal.
fn float_text(number: &Term) -> Option<String> {
    let Form::Lit(lit) = number.form() else { return None };
    match lit {
        Lit::Decimal(text) => Some(text.to_string()),
        Lit::Inf => Some("inf".into()),
        Lit::NegInf => Some("-inf".into()),
        Lit::Nan => Some("nan".into()),
        Lit::Int(k) => Some(format!("{k}.0")),
        Lit::Bool(_) | Lit::Pi => None,
    }
}
