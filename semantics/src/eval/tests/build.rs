//! Terms by hand: short names for what the tests build.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::diag::{FileId, Span};
use crate::dtype::DType;
use crate::eval::{Datum, Env, EvalError, Limits, eval};
use crate::scalar::{Domain, Scalar, Value};
use crate::size::{Size, Sym, SymKind};
use crate::tensor::Tensor;
use crate::term::{Binder, Instance, Lit, Monoid, Require, Term, Var};
use crate::types::Type;

pub use DType::{BF16, Bool, F16, F32, F64, I8, I64, U8};

pub fn at(lo: usize) -> Span {
    Span::new(FileId(1), lo, lo + 1)
}

pub fn library(lo: usize) -> Span {
    Span::new(FileId(2), lo, lo + 1)
}

fn fresh() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub fn sym(name: &str) -> Sym {
    Sym::new(fresh(), SymKind::Size, name)
}

pub fn index(name: &str) -> Sym {
    Sym::new(fresh(), SymKind::Index, name)
}

pub fn var(name: &str) -> Var {
    Var { id: fresh(), name: name.into() }
}

pub fn int(value: i64) -> Size {
    Size::int(value)
}

pub fn s(sym: &Sym) -> Size {
    Size::sym(sym)
}

pub fn size(value: Size) -> Term {
    Term::size(value, at(0))
}

pub fn use_var(var: &Var, dtype: DType, shape: &[Size]) -> Term {
    Term::var(var.clone(), Type::tensor(dtype, shape.to_vec()), at(0))
}

pub fn read(base: &Term, index: &[Size]) -> Term {
    Term::read(base.clone(), index.iter().map(|i| size(i.clone())).collect(), at(0))
}

pub fn over(sym: &Sym, extent: Size) -> Binder {
    Binder { sym: sym.clone(), extent }
}

pub fn comp(binders: Vec<Binder>, body: Term) -> Term {
    Term::comp(binders, body, at(0))
}

pub fn reduce(op: Monoid, binders: Vec<Binder>, body: Term) -> Term {
    Term::reduce(op, binders, body, at(0))
}

pub fn f(fun: Scalar, args: &[Term]) -> Term {
    Term::scalar(fun, args.to_vec(), at(0))
}

pub fn if_(cond: Term, then: Term, otherwise: Term) -> Term {
    Term::if_(cond, then, otherwise, at(0))
}

pub fn number(text: &str, dtype: DType) -> Term {
    Term::lit(Lit::Decimal(text.into()), dtype, at(0))
}

pub fn whole(value: i64, dtype: DType) -> Term {
    Term::lit(Lit::Int(value.into()), dtype, at(0))
}

pub fn instance(
    name: &str,
    params: Vec<(Var, Type)>,
    requires: Vec<Require>,
    body: Term,
    is_op: bool,
) -> Arc<Instance> {
    Arc::new(Instance { name: name.into(), statics: Vec::new(), params, requires, body, is_op })
}

pub fn ieee(term: &Term, env: &Env) -> Result<Datum, EvalError> {
    eval(term, env, Domain::Ieee, &Limits::default())
}

/// The tensor a term is worth in the IEEE domain.
pub fn tensor(term: &Term, env: &Env) -> Tensor {
    match ieee(term, env) {
        Ok(Datum::Tensor(t)) => t,
        other => panic!("a tensor, got {other:?}"),
    }
}

pub fn exact(term: &Term, env: &Env) -> Tensor {
    match eval(term, env, Domain::Exact, &Limits::default()) {
        Ok(Datum::Tensor(t)) => t,
        other => panic!("a tensor, got {other:?}"),
    }
}

pub fn fails(term: &Term, env: &Env) -> EvalError {
    ieee(term, env).expect_err("an error")
}

pub fn floats(dtype: DType, shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_f64(dtype, shape, values).expect("as many values as the shape asks for")
}

pub fn ints(dtype: DType, shape: &[usize], values: &[i64]) -> Tensor {
    Tensor::from_i64(dtype, shape, values).expect("values of the dtype")
}

pub fn as_floats(tensor: &Tensor) -> Vec<f64> {
    tensor.values().map(|v| v.as_float().expect("a float")).collect()
}

pub fn as_ints(tensor: &Tensor) -> Vec<i64> {
    tensor.values().map(|v| v.as_int().expect("an integer")).collect()
}

pub fn item(tensor: &Tensor) -> Value {
    tensor.item().expect("one element").clone()
}
