//! Giving a surface value the type that its place asks for.

use super::value::{Origin, Value};
use super::{Lower, Result, Stop, fail};
use num_bigint::BigInt;
use num_traits::{Euclid, Signed};
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::size::Size;
use rtv_semantics::term::{Form, Lit, Term};
use rtv_semantics::types::Type;

/// PyTorch's promotion classes: which operands decide the dtype first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Class {
    Number,
    ZeroDim,
    Dimensioned,
}

impl Lower<'_> {
    /// A number or scalar as a rank-0 term of exactly this dtype. An integer that is computed keeps
    /// the low bits that the dtype holds, be it known or not; one that is written and that the
    /// dtype does not hold is an error where it is evaluated.
    pub(super) fn scalar_as(&self, value: &Value, dtype: DType, span: Span) -> Result<Term> {
        match value {
            Value::Term(t) if t.is_scalar() => Ok(Term::cast(dtype, t.clone(), t.span())),
            Value::Size(s, _) if self.is_many(s) => {
                self.one_axis(s, span)?;
                Err(Stop::Poisoned)
            }
            Value::Size(s, _) if self.mentions_data(s) => {
                Ok(Term::cast(dtype, self.size_term(s, span), span))
            }
            Value::Size(s, Origin::Computed) => Ok(integer_literal(&low_bits(s, dtype), dtype, span)),
            Value::Size(s, Origin::Written) => Ok(integer_literal(s, dtype, span)),
            Value::Bool(b) => Ok(Term::cast(dtype, Term::bool(*b, span), span)),
            Value::Float(t) => Ok(number_as(t, dtype)),
            Value::Poison => Err(Stop::Poisoned),
            other => fail(201, span, format!("expected a scalar, found {}", other.describe())),
        }
    }

    /// As [`Self::scalar_as`], of a number that takes part in arithmetic: it wraps to the dtype as
    /// PyTorch's does, wherever it is written.
    pub(super) fn number_wrapped(&self, value: &Value, dtype: DType, span: Span) -> Result<Term> {
        match value {
            Value::Size(s, Origin::Written) => self.scalar_as(&Value::size(s.clone()), dtype, span),
            other => self.scalar_as(other, dtype, span),
        }
    }

    /// A tensor out of a value, a literal taking the dtype PyTorch would give it.
    pub(super) fn tensor(&mut self, value: &Value, span: Span) -> Result<Term> {
        match value {
            Value::Term(t) if t.tensor_type().is_some() => Ok(t.clone()),
            Value::Poison => Err(Stop::Poisoned),
            other => {
                let dtype = self.natural_dtype(other, span)?;
                self.tensor_as(other, dtype, span)
            }
        }
    }

    /// The dtype of a literal by itself: f32 with a float in it, else i64 or bool.
    pub(super) fn natural_dtype(&self, value: &Value, span: Span) -> Result<DType> {
        match value {
            Value::Term(t) if t.tensor_type().is_some() => Ok(t.dtype()),
            Value::Size(_, _) => Ok(DType::I64),
            Value::Term(t) if *t.ty() == Type::Size => Ok(DType::I64),
            Value::Bool(_) => Ok(DType::Bool),
            Value::Float(_) => Ok(DType::F32),
            Value::List(list) if list.is_empty() => Ok(DType::F32),
            Value::List(list) => {
                let dtypes = list.iter().map(|v| self.natural_dtype(v, span)).collect::<Result<Vec<_>>>()?;
                Ok(dtypes.into_iter().reduce(DType::promote).expect("invariant: not empty"))
            }
            Value::Poison => Err(Stop::Poisoned),
            other => fail(201, span, format!("expected a tensor, found {}", other.describe())),
        }
    }

    /// A tensor literal or value as a tensor of the dtype: only literals change.
    pub(super) fn tensor_as(&mut self, value: &Value, dtype: DType, span: Span) -> Result<Term> {
        match value {
            Value::Term(t) if !t.is_scalar() && t.tensor_type().is_some() => Ok(t.clone()),
            Value::List(_) => {
                let (shape, leaves) = self.literal_leaves(value, dtype, span)?;
                Ok(literal_tensor(self, shape, leaves, dtype, span))
            }
            Value::Tuple(e) => {
                let list = Value::List(e.items.iter().cloned().map(Value::size).collect());
                self.tensor_as(&list, dtype, span)
            }
            other => self.scalar_as(other, dtype, span),
        }
    }

    /// Shape and scalars, row-major, of a nested list.
    fn literal_leaves(&mut self, value: &Value, dtype: DType, span: Span) -> Result<(Vec<usize>, Vec<Term>)> {
        let Value::List(list) = value else {
            return Ok((Vec::new(), vec![self.scalar_as(value, dtype, span)?]));
        };
        let mut shape: Option<Vec<usize>> = None;
        let mut leaves = Vec::new();
        for row in list {
            let (inner, scalars) = self.literal_leaves(row, dtype, span)?;
            if shape.as_ref().is_some_and(|s| *s != inner) {
                return fail(203, span, "the rows of this literal differ in length");
            }
            shape = Some(inner);
            leaves.extend(scalars);
        }
        let mut full = vec![list.len()];
        full.extend(shape.unwrap_or_default());
        Ok((full, leaves))
    }

    /// Class and dtype with which a value takes part in promotion.
    pub(super) fn promotion(&self, value: &Value, span: Span) -> Result<(Class, DType)> {
        Ok(match value {
            Value::Term(t) if t.tensor_type().is_some() => {
                let class = if t.shape().is_empty() { Class::ZeroDim } else { Class::Dimensioned };
                (class, t.dtype())
            }
            Value::List(_) | Value::Tuple(_) => (Class::Dimensioned, self.natural_dtype(value, span)?),
            other => (Class::Number, self.natural_dtype(other, span)?),
        })
    }

    /// PyTorch's result dtype: dimensioned operands first; a lower class changes it
    /// only with a strictly higher category.
    pub(super) fn result_dtype(&self, operands: &[(Class, DType)]) -> Option<DType> {
        let mut result: Option<DType> = None;
        for class in [Class::Dimensioned, Class::ZeroDim, Class::Number] {
            let members = operands.iter().filter(|(c, _)| *c == class).map(|(_, d)| *d);
            let Some(dtype) = members.reduce(DType::promote) else { continue };
            result = Some(match result {
                Some(higher) if dtype.category() <= higher.category() => higher,
                _ => dtype,
            });
        }
        result
    }

    /// Refuses a mix whose dtype would depend on which rank variables are empty.
    pub(super) fn check_rank_independent(&self, values: &[Value], dtype: DType, span: Span) -> Result<()> {
        let operands = values.iter().map(|v| self.promotion(v, span)).collect::<Result<Vec<_>>>()?;
        let maybe_scalar: Vec<usize> =
            (0..values.len()).filter(|&k| self.may_be_rank_0(&values[k])).collect();
        for emptied in 0..1usize << maybe_scalar.len().min(8) {
            let mut classes = operands.clone();
            for (bit, &k) in maybe_scalar.iter().enumerate().filter(|(bit, _)| emptied & (1 << bit) != 0) {
                debug_assert!(bit < 8);
                classes[k].0 = Class::ZeroDim;
            }
            match self.result_dtype(&classes) {
                Some(other) if other != dtype => {
                    return Err(rtv_semantics::diag::Diagnostic::error(
                        rtv_semantics::diag::Code(211),
                        span,
                        format!("the result dtype depends on the rank: {dtype} with axes, {other} without"),
                    )
                    .help(format!("write the conversion: `{dtype}(..)`"))
                    .into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a tensor has rank 0 when its rank variables are empty.
    fn may_be_rank_0(&self, value: &Value) -> bool {
        matches!(value, Value::Term(t) if t.tensor_type().is_some_and(|t| {
            !t.shape.is_empty() && t.shape.iter().all(|n| self.is_many(n))
        }))
    }
}

/// What an integer dtype keeps of an integer that is known: its low bits. Others keep it as it is.
fn low_bits(size: &Size, dtype: DType) -> Size {
    let range = dtype.int_range().filter(|_| dtype.is_int());
    match (size.as_const(), range) {
        (Some(k), Some((low, high))) => {
            let low = BigInt::from(low);
            let count = BigInt::from(high) - &low + 1;
            Size::int((k - &low).rem_euclid(&count) + low)
        }
        _ => size.clone(),
    }
}

/// An integer-valued size as a literal or conversion of the dtype.
fn integer_literal(size: &Size, dtype: DType, span: Span) -> Term {
    match size.as_const() {
        Some(c) => match dtype.category() {
            Category::Bool => Term::bool(c != 0.into(), span),
            Category::Int => Term::lit(Lit::Int(c), dtype, span),
            // Beyond the integers of f64 its text would be rounded twice.
            Category::Float if size.as_i64().is_some_and(|k| Lit::integer(k, dtype).is_none()) => {
                Term::cast(dtype, Term::size(size.clone(), span), span)
            }
            Category::Float => Term::lit(Lit::Decimal(format!("{c}").into()), dtype, span),
        },
        None => Term::cast(dtype, Term::size(size.clone(), span), span),
    }
}

/// A Python float at a dtype: a literal is read there, a computed one converted.
fn number_as(number: &Term, dtype: DType) -> Term {
    let span = number.span();
    match number.form() {
        Form::Lit(lit @ (Lit::Decimal(_) | Lit::Inf | Lit::NegInf | Lit::Nan | Lit::Pi))
            if dtype.is_float() =>
        {
            Term::lit(lit.clone(), dtype, span)
        }
        _ => Term::cast(dtype, number.clone(), span),
    }
}

/// The negative of a number literal stays a literal.
pub(super) fn negated_literal(number: &Term) -> Option<Term> {
    let Form::Lit(lit) = number.form() else { return None };
    let negated = match lit {
        Lit::Decimal(text) => Lit::Decimal(match text.strip_prefix('-') {
            Some(positive) => positive.into(),
            None => format!("-{text}").into(),
        }),
        Lit::Inf => Lit::NegInf,
        Lit::NegInf => Lit::Inf,
        Lit::Nan => Lit::Nan,
        Lit::Int(k) => Lit::Int(-k),
        Lit::Bool(_) | Lit::Pi => return None,
    };
    Some(Term::lit(negated, number.dtype(), number.span()))
}

/// A tensor literal: a comprehension that chooses among the leaves by position.
fn literal_tensor(l: &mut Lower<'_>, shape: Vec<usize>, leaves: Vec<Term>, dtype: DType, span: Span) -> Term {
    let extents: Vec<Size> = shape.iter().map(|&n| Size::from(n as i64)).collect();
    if leaves.is_empty() {
        let binders = l.index_over(&extents);
        return Term::comp(
            binders,
            Term::cast(dtype, Term::lit(Lit::Int(0.into()), DType::I64, span), span),
            span,
        );
    }
    let binders = l.index_over(&extents);
    let at = binders.iter().zip(&extents).fold(Size::zero(), |acc, (b, n)| &(&acc * n) + &Size::sym(&b.sym));
    debug_assert!(!at.constant_term().is_negative());
    Term::comp(binders, choose(&at, 0, &leaves, span), span)
}

/// Binary choice by position: `leaves[at - from]`.
fn choose(at: &Size, from: usize, leaves: &[Term], span: Span) -> Term {
    if let [only] = leaves {
        return only.clone();
    }
    let half = leaves.len() / 2;
    let cond = rtv_semantics::entail::Cond::lt(at, &Size::from((from + half) as i64));
    Term::if_(
        Term::cond(&cond, span),
        choose(at, from, &leaves[..half], span),
        choose(at, from + half, &leaves[half..], span),
        span,
    )
}

/// Same dtype, extents compared by `equal`.
pub(super) fn same_type(a: &Type, b: &Type, equal: &dyn Fn(&Size, &Size) -> bool) -> bool {
    match (a, b) {
        (Type::Size, Type::Size) => true,
        (Type::Tensor(a), Type::Tensor(b)) => {
            a.dtype == b.dtype
                && a.shape.len() == b.shape.len()
                && a.shape.iter().zip(&b.shape).all(|(x, y)| equal(x, y))
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same_type(x, y, equal))
        }
        _ => false,
    }
}
