//! The meaning of each form; those that run through indices are in `iterate`.

use std::sync::Arc;

use super::error::{Res, codes, error, from_fault};
use super::machine::{Machine, Val, ill_typed};
use super::shared::is_worth_keeping;
use crate::diag::Span;
use crate::dtype::DType;
use crate::scalar::{Scalar, Value, cast};
use crate::tensor::Tensor;
use crate::term::{ErrorClass, Form, Fun, Lit, Term};
use crate::types::Type;

impl Machine<'_> {
    pub fn eval(&mut self, term: &Term) -> Res<Val> {
        if self.loops > 0 && is_worth_keeping(term) {
            return Ok(self.shared(term)?.0);
        }
        self.nested(term, |m| m.form(term))
    }

    /// The value of a term of scalar tensor type.
    pub fn value(&mut self, term: &Term) -> Res<Value> {
        self.eval(term)?.into_value(term)
    }

    /// The value of `term`, counted and looked up by the caller.
    pub fn form(&mut self, term: &Term) -> Res<Val> {
        match term.form() {
            Form::Size(size) => Ok(Val::Size(self.size(size, term.span())?)),
            Form::Lit(lit) => self.literal(term, lit),
            Form::Var(var) => Ok(self.lookup(var, term.span())?.value.clone()),
            Form::Call(Fun::Scalar(fun), args) => self.scalar_call(term, *fun, args),
            Form::Call(Fun::Cast(to), args) => self.cast(term, *to, args),
            Form::Call(Fun::Op(instance), args) => self.call(term, instance, args),
            Form::Call(Fun::Combine(monoid), args) => self.call(term, &monoid.combine, args),
            Form::Call(Fun::Item(k), args) => self.item(term, *k, args),
            Form::Read(base, index) => self.read(term, base, index),
            Form::Comp(binders, body) => self.comp(term, binders, body),
            Form::Reduce(reduce) => self.reduce(term, reduce),
            Form::If(cond, then, otherwise) => match self.condition(cond)? {
                Some(true) => self.eval(then),
                Some(false) => self.eval(otherwise),
                None => self.undefined(term.ty(), term.span()),
            },
            Form::Let(..) => self.lets(term),
            Form::Tuple(parts) => {
                let values: Res<Vec<Val>> = parts.iter().map(|p| self.eval(p)).collect();
                Ok(Val::Tuple(Arc::new(values?)))
            }
            Form::Loop(l) => self.run_loop(term, l),
            Form::Write(w) => self.write(term, w),
        }
    }

    /// A chain of `let`s without a level of nesting for each.
    fn lets(&mut self, term: &Term) -> Res<Val> {
        let outer = self.vars.len();
        let mut rest = term;
        while let Form::Let(var, value, body) = rest.form() {
            let stamp = match value.form() {
                Form::Var(same) => Some(self.lookup(same, value.span())?.stamp),
                _ => None,
            };
            let value = self.eval(value)?;
            self.bind(var, value, stamp);
            rest = body;
        }
        let result = self.eval(rest)?;
        self.vars.truncate(outer);
        Ok(result)
    }

    fn literal(&mut self, term: &Term, lit: &Lit) -> Res<Val> {
        let dtype = term.dtype();
        if let Some(value) = self.literals.get(&term.address()) {
            return Ok(Val::Scalar(dtype, value.clone()));
        }
        let value = Value::literal(&lit.text(), dtype, self.domain);
        let value = value.map_err(|fault| from_fault(fault, term.span()))?;
        self.literals.insert(term.address(), value.clone());
        Ok(Val::Scalar(dtype, value))
    }

    fn scalar_call(&mut self, term: &Term, fun: Scalar, args: &[Term]) -> Res<Val> {
        if args.iter().all(|a| *a.ty() == Type::Size) {
            return self.compare_sizes(term, fun, args);
        }
        if let [left, right] = args
            && let Some(decided) = self.decided_by_left(term, fun, left, right)?
        {
            return Ok(decided);
        }
        let dtype = args[0].dtype();
        let result = match args {
            [a] => fun.eval(self.domain, dtype, &[self.value(a)?]),
            [a, b] => fun.eval(self.domain, dtype, &[self.value(a)?, self.value(b)?]),
            _ => {
                let values: Res<Vec<Value>> = args.iter().map(|a| self.value(a)).collect();
                fun.eval(self.domain, dtype, &values?)
            }
        };
        match result {
            Ok(value) => Ok(Val::Scalar(term.dtype(), value)),
            Err(fault) => Err(from_fault(fault, term.span())),
        }
    }

    /// `and` and `or` take both sides, but a condition on sizes is a guard: `d != 0 and
    /// n % d == 0` does not divide by zero.
    fn decided_by_left(&mut self, term: &Term, fun: Scalar, left: &Term, right: &Term) -> Res<Option<Val>> {
        let deciding = match fun {
            Scalar::LogicalAnd => false,
            Scalar::LogicalOr => true,
            _ => return Ok(None),
        };
        if !self.is_size_condition(right) {
            return Ok(None);
        }
        let left = self.value(left)?;
        // Like an `if`, which takes no branch on an undefined condition.
        if left.is_bottom() || left.as_bool() == Some(deciding) {
            return Ok(Some(Val::Scalar(DType::Bool, left)));
        }
        let right = self.value(right)?;
        match fun.eval(self.domain, DType::Bool, &[left, right]) {
            Ok(value) => Ok(Some(Val::Scalar(DType::Bool, value))),
            Err(fault) => Err(from_fault(fault, term.span())),
        }
    }

    fn compare_sizes(&mut self, term: &Term, fun: Scalar, args: &[Term]) -> Res<Val> {
        let values: Res<Vec<Val>> = args.iter().map(|a| self.eval(a)).collect();
        let truth = match (fun, values?.as_slice()) {
            (Scalar::Eq, [Val::Size(a), Val::Size(b)]) => a == b,
            (Scalar::Ne, [Val::Size(a), Val::Size(b)]) => a != b,
            (Scalar::Lt, [Val::Size(a), Val::Size(b)]) => a < b,
            (Scalar::Le, [Val::Size(a), Val::Size(b)]) => a <= b,
            (Scalar::Gt, [Val::Size(a), Val::Size(b)]) => a > b,
            (Scalar::Ge, [Val::Size(a), Val::Size(b)]) => a >= b,
            _ => {
                let message = format!("`{fun}` is not defined for sizes");
                return error(Some(ErrorClass::Value), codes::VALUE, term.span(), message);
            }
        };
        Ok(Val::Scalar(DType::Bool, Value::Bool(truth)))
    }

    fn cast(&mut self, term: &Term, to: DType, args: &[Term]) -> Res<Val> {
        let [arg] = args else {
            return error(None, codes::VALUE, term.span(), "a conversion takes one argument");
        };
        let value = match self.eval(arg)? {
            Val::Scalar(from, value) => cast(self.domain, from, to, &value),
            Val::Size(size) if to == DType::Bool => Ok(Value::Bool(size != 0)),
            Val::Size(size) => match i64::try_from(size) {
                Ok(small) => cast(self.domain, DType::I64, to, &Value::Int(small)),
                Err(_) if to.is_float() => Value::literal(&size.to_string(), to, self.domain),
                // Integers keep the low bits.
                Err(_) => cast(self.domain, DType::I64, to, &Value::Int(size as i64)),
            },
            other => return Err(ill_typed(term, &other)),
        };
        match value {
            Ok(value) => Ok(Val::Scalar(to, value)),
            Err(fault) => Err(from_fault(fault, term.span())),
        }
    }

    fn item(&mut self, term: &Term, k: usize, args: &[Term]) -> Res<Val> {
        let [tuple] = args else {
            return error(None, codes::VALUE, term.span(), "a component is one of one tuple");
        };
        match self.eval(tuple)? {
            Val::Tuple(parts) if k < parts.len() => Ok(parts[k].clone()),
            other => Err(ill_typed(tuple, &other)),
        }
    }

    /// `None` if the condition is undefined.
    pub fn condition(&mut self, cond: &Term) -> Res<Option<bool>> {
        match self.value(cond)? {
            Value::Bool(truth) => Ok(Some(truth)),
            value if value.is_bottom() => Ok(None),
            other => Err(ill_typed(cond, &Val::Scalar(cond.dtype(), other))),
        }
    }

    /// The undefined value of a type.
    fn undefined(&mut self, ty: &Type, span: Span) -> Res<Val> {
        match ty {
            Type::Size => error(None, codes::UNDECIDED, span, "a size under an undefined condition"),
            Type::Tensor(t) => {
                let mut shape = Vec::with_capacity(t.shape.len());
                for extent in &t.shape {
                    shape.push(usize::try_from(self.size(extent, span)?).unwrap_or(usize::MAX));
                }
                let share = self.reserve(&shape, span)?;
                let Ok(tensor) = Tensor::full(t.dtype, &shape, Value::BOTTOM) else {
                    return error(None, codes::ELEMENTS, span, "a tensor too large");
                };
                Ok(Val::tensor(tensor, share))
            }
            Type::Tuple(parts) => {
                let values: Res<Vec<Val>> = parts.iter().map(|t| self.undefined(t, span)).collect();
                Ok(Val::Tuple(Arc::new(values?)))
            }
        }
    }
}
