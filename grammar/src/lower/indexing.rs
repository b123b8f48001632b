//! Surface indexing, PyTorch's: negative indices count from the end, slice bounds
//! clamp. Elaboration makes it strict: signs are discharged, clamps written out.

use super::broadcast::sizes;
use super::value::Value;
use super::{Lower, Result, Stop, fail};
use crate::ast::{Expr, ExprKind, IndexItem};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::term::{ErrorClass, Instance, Lit, Require, Term};
use std::sync::Arc;

/// What one index item does with the axes of the base.
enum Step {
    /// Takes one index of the next axis.
    Pick(Size),
    /// An i64 scalar; negative counts from the end.
    PickData(Term),
    /// Every `step`-th index from `from`, `length` of them.
    Range {
        from: Size,
        step: Size,
        length: Size,
    },
    /// The whole axis.
    Whole(Size),
    NewAxis,
    /// An index tensor: its axes stand where the indexed axis stood.
    Gather(Term),
}

impl Lower<'_> {
    /// `base[items]` on a tensor.
    pub(super) fn index(&mut self, base: Term, items: &[IndexItem], span: Span) -> Result<Value> {
        let steps = self.index_steps(&base, items, span)?;
        let var = self.fresh_var("x");
        let param = Term::var(var.clone(), base.ty().clone(), span);
        let mut extra: Vec<Term> = Vec::new();
        let mut params = vec![(var, base.ty().clone())];
        let (mut shape, mut requires) = (Vec::new(), Vec::new());
        for step in &steps {
            match step {
                Step::Range { length, .. } => shape.push(length.clone()),
                Step::Whole(extent) => shape.push(extent.clone()),
                Step::NewAxis => shape.push(Size::one()),
                Step::Gather(t) => shape.extend(t.shape().iter().cloned()),
                Step::Pick(_) | Step::PickData(_) => {}
            }
        }
        let binders = self.index_over(&shape);
        let mut free = binders.iter().map(|b| Size::sym(&b.sym));
        let mut next = || free.next().expect("invariant: one index per result axis");
        let mut reads = Vec::new();
        let mut axes = base.shape().iter();
        for step in steps {
            if matches!(step, Step::NewAxis) {
                next();
                continue;
            }
            let extent = axes.next().expect("invariant: steps fit the base");
            let at = match step {
                Step::Pick(at) => {
                    self.in_range(&at, extent, span, &mut requires)?;
                    Term::size(at, span)
                }
                Step::Range { from, step, .. } => Term::size(&from + &(&step * &next()), span),
                Step::Whole(_) | Step::NewAxis => Term::size(next(), span),
                Step::PickData(t) | Step::Gather(t) => {
                    let inner = self.fresh_var("index");
                    let reader = Term::var(inner.clone(), t.ty().clone(), span);
                    params.push((inner, t.ty().clone()));
                    let rank = t.shape().len();
                    let at = Term::read(reader, sizes((0..rank).map(|_| next()).collect(), span), span);
                    extra.push(t);
                    wrapped(at, extent, span)
                }
            };
            reads.push(at);
        }
        let instance = Instance {
            name: "getitem".into(),
            statics: vec![("at".into(), items_text(items, span))],
            params,
            requires,
            body: Term::comp(binders, Term::read(param, reads, span), span),
            is_op: true,
        };
        let args = std::iter::once(base).chain(extra).collect();
        Ok(Value::Term(Term::call(Arc::new(instance), args, span)))
    }

    fn index_steps(&mut self, base: &Term, items: &[IndexItem], span: Span) -> Result<Vec<Step>> {
        let rank = base.shape().len();
        let mut plain = Vec::new();
        for item in items {
            match item {
                IndexItem::Splat(splat) => {
                    let tuple = self.splat(splat)?;
                    plain.extend(tuple.items.into_iter().map(|s| Item::Value(Value::size(s), splat.span)));
                }
                IndexItem::Expr(expr) => plain.push(Item::Value(self.expr(expr)?, expr.span)),
                IndexItem::Ellipsis(at) => plain.push(Item::Ellipsis(*at)),
                IndexItem::Slice { from, to, step, span } => {
                    plain.push(Item::Slice(from.as_ref(), to.as_ref(), step.as_ref(), *span));
                }
            }
        }
        let used =
            plain.iter().filter(|i| !matches!(i, Item::Ellipsis(_) | Item::Value(Value::None, _))).count();
        let ellipses = plain.iter().filter(|i| matches!(i, Item::Ellipsis(_))).count();
        if used > rank || ellipses > 1 {
            return fail(205, span, format!("`{}` has {rank} axes, {used} indices given", base.ty()));
        }
        let mut steps = Vec::new();
        let mut axis = 0;
        for item in plain {
            match item {
                Item::Ellipsis(_) => {
                    let skip = rank - used;
                    steps.extend(base.shape()[axis..axis + skip].iter().cloned().map(Step::Whole));
                    axis += skip;
                }
                Item::Value(Value::None, _) => steps.push(Step::NewAxis),
                item => {
                    let extent = base.shape()[axis].clone();
                    steps.push(self.step(item, &extent)?);
                    axis += 1;
                }
            }
        }
        steps.extend(base.shape()[axis..].iter().cloned().map(Step::Whole));
        if steps.iter().filter(|s| matches!(s, Step::Gather(_))).count() > 1 {
            return Err(Diagnostic::error(
                Code(291),
                span,
                "several index tensors at once are not supported yet",
            )
            .help("write a comprehension: `[x[i[k], j[k]] for k in K]`")
            .into());
        }
        Ok(steps)
    }

    fn step(&mut self, item: Item<'_>, extent: &Size) -> Result<Step> {
        let (value, at) = match item {
            Item::Slice(from, to, step, at) => {
                self.not_a_group(extent, at)?;
                if from.is_none() && to.is_none() && step.is_none() {
                    return Ok(Step::Whole(extent.clone()));
                }
                return self.slice(from, to, step, extent, at);
            }
            Item::Value(value, at) => (value, at),
            Item::Ellipsis(at) => return fail(205, at, "a second `...`"),
        };
        self.not_a_group(extent, at)?;
        match value {
            Value::Size(s, _) => Ok(Step::Pick(if self.negative(&s, at)? { &s + extent } else { s })),
            Value::Term(t) if t.tensor_type().is_some_and(|t| t.dtype.is_int()) => {
                Ok(if t.shape().is_empty() { Step::PickData(t) } else { Step::Gather(t) })
            }
            Value::Term(t) if t.tensor_type().is_some_and(|t| t.dtype == DType::Bool) => {
                fail(295, at, "a mask as index gives a size that depends on data, which is not supported yet")
            }
            Value::List(list) => {
                let t = self.tensor_as(&Value::List(list), DType::I64, at)?;
                Ok(Step::Gather(t))
            }
            Value::Poison => Err(Stop::Poisoned),
            other => fail(
                201,
                at,
                format!("an index is an integer or an integer tensor, found {}", other.describe()),
            ),
        }
    }

    fn not_a_group(&self, extent: &Size, at: Span) -> Result<()> {
        if !self.is_many(extent) {
            return Ok(());
        }
        let group = rtv_semantics::types::extent_text(extent);
        Err(Diagnostic::error(
            Code(211),
            at,
            format!("this index may fall inside `{group}`, which is any number of axes"),
        )
        .help("index from the right with `...` first")
        .into())
    }

    /// Whether an index counts from the end; its sign must be known.
    fn negative(&self, s: &Size, at: Span) -> Result<bool> {
        match self.decide(&Cond::le(&Size::zero(), s)) {
            Some(positive) => Ok(!positive),
            None => Err(Diagnostic::error(Code(214), at, format!("whether `{s}` is negative is not known"))
                .here("a negative index counts from the end")
                .help(format!("add `requires {}`", Cond::le(&Size::zero(), s)))
                .into()),
        }
    }

    /// A slice bound: negative counts from the end, then clamped to `0..=extent`.
    fn bound(&mut self, expr: &Expr, extent: &Size) -> Result<Size> {
        let value = self.expr(expr)?;
        let s = self.integer(&value, expr.span)?;
        if self.negative(&s, expr.span)? {
            return Ok(self.greater(&(&s + extent), &Size::zero()));
        }
        Ok(self.lesser(&s, extent))
    }

    fn slice(
        &mut self,
        from: Option<&Expr>,
        to: Option<&Expr>,
        step: Option<&Expr>,
        extent: &Size,
        at: Span,
    ) -> Result<Step> {
        let step = match step {
            None => Size::one(),
            Some(expr) => {
                let value = self.expr(expr)?;
                self.integer(&value, expr.span)?
            }
        };
        if !self.holds(&Cond::le(&Size::one(), &step)) {
            let (message, help) = match step.as_const() {
                Some(_) => (
                    "is not positive",
                    "use `flip` for a reversal: `flip(x, 0)` of the first axis".to_string(),
                ),
                None => ("is not known to be positive", format!("add `requires {step} >= 1`")),
            };
            let message = format!("the step `{step}` of a slice {message}");
            return Err(Diagnostic::error(Code(219), at, message).help(help).into());
        }
        let from = from.map_or(Ok(Size::zero()), |e| self.bound(e, extent))?;
        let to = to.map_or(Ok(extent.clone()), |e| self.bound(e, extent))?;
        let span = self.greater(&(&to - &from), &Size::zero());
        let length =
            if step.is_one() { span } else { self.quotient(&(&(&span + &step) - &Size::one()), &step) };
        Ok(Step::Range { from, step, length })
    }

    /// `0 <= at < extent`: known, refused, or checked at entry.
    fn in_range(&mut self, at: &Size, extent: &Size, span: Span, requires: &mut Vec<Require>) -> Result<()> {
        let cond = Cond::within(&Size::zero(), at, extent);
        match self.decide(&cond) {
            Some(true) => {}
            // Where no index exists, nothing is read.
            Some(false) if self.unreachable() => {}
            Some(false) => {
                return fail(216, span, format!("index {at} is out of range for an axis of {extent}"));
            }
            None => requires.push(Require {
                cond: Term::cond(&cond, span),
                class: ErrorClass::Index,
                text: format!("0 <= {at} and {at} < {extent}"),
                span,
            }),
        }
        Ok(())
    }
}

/// An index item with its expressions evaluated.
enum Item<'e> {
    Value(Value, Span),
    Ellipsis(Span),
    Slice(Option<&'e Expr>, Option<&'e Expr>, Option<&'e Expr>, Span),
}

/// The items between the brackets, as written.
fn items_text(items: &[IndexItem], span: Span) -> String {
    let base = Box::new(Expr { kind: ExprKind::Name("x".into()), span });
    let indexed = Expr { kind: ExprKind::Index { base, items: items.to_vec() }, span };
    crate::print::print_expr(&indexed).trim_start_matches('x').to_string()
}

/// A data index that counts from the end where negative.
fn wrapped(at: Term, extent: &Size, span: Span) -> Term {
    let at = Term::cast(DType::I64, at, span);
    let zero = Term::lit(Lit::Int(0.into()), DType::I64, span);
    let length = Term::cast(DType::I64, Term::size(extent.clone(), span), span);
    let negative = Term::scalar(Scalar::Lt, vec![at.clone(), zero], span);
    let shifted = Term::scalar(Scalar::Add, vec![at.clone(), length], span);
    Term::if_(negative, shifted, at, span)
}
