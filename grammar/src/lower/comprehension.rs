//! Comprehensions, reductions over generators, and element reads.

use super::value::{Extents, Value};
use super::{Lower, Result, Stop, fail};
use crate::ast::{self, Binder as AstBinder, ExprKind};
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::term::{Binder, Monoid, Term};
use rtv_semantics::types::Type;

impl Lower<'_> {
    /// `[body for binders]`.
    pub(super) fn comprehension(
        &mut self,
        body: &ast::Expr,
        binders: &[AstBinder],
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Value> {
        if let [AstBinder::Below { name, bound }] = binders {
            let over = self.expr(bound)?;
            match over {
                Value::List(items) => {
                    items.iter().try_for_each(|item| self.listed_once(item, span))?;
                    return self.over_list(&name.name, items, body);
                }
                Value::Tuple(tuple) => {
                    tuple.items.iter().try_for_each(|n| self.one_axis(n, span))?;
                    let items = tuple.items.into_iter().map(Value::size).collect();
                    return self.over_list(&name.name, items, body);
                }
                _ => {}
            }
        }
        self.generated(binders, |l, core| {
            let scalar = l.generator_body(body, dtype)?;
            Ok(Value::Term(Term::comp(core, scalar, span)))
        })
    }

    /// `[f(x) for x in xs]` over a static list of tensors.
    fn over_list(&mut self, name: &str, items: Vec<Value>, body: &ast::Expr) -> Result<Value> {
        let mut results = Vec::new();
        for item in items {
            let names = self.frame.names.len();
            self.bind(name, item);
            let value = self.expr(body);
            self.frame.names.truncate(names);
            results.push(value?);
        }
        Ok(Value::List(results))
    }

    /// An expression inside one more comprehension.
    fn element(&mut self, body: &ast::Expr, dtype: Option<DType>) -> Result<Value> {
        self.frame.comprehensions += 1;
        let value = self.expr_as(body, dtype);
        self.frame.comprehensions -= 1;
        value
    }

    pub(super) fn scalar_body(
        &mut self,
        value: Value,
        dtype: Option<DType>,
        body: &ast::Expr,
    ) -> Result<Term> {
        let span = body.span;
        match &value {
            Value::Term(t) if t.is_scalar() && t.tensor_type().is_some() => Ok(t.clone()),
            Value::Term(t) if *t.ty() == Type::Size => {
                Ok(Term::cast(dtype.unwrap_or(DType::I64), t.clone(), span))
            }
            other if other.is_scalar() => {
                let natural = self.natural_dtype(other, span)?;
                let dtype = dtype.filter(|d| natural.category() <= d.category()).unwrap_or(natural);
                self.scalar_as(other, dtype, span)
            }
            Value::Poison => Err(Stop::Poisoned),
            other => fail(
                201,
                span,
                format!("the body of a comprehension is a scalar, found {}", other.describe()),
            ),
        }
    }

    /// Binds the names of binders; their ranges become facts.
    fn bind_indices(&mut self, binders: &[AstBinder]) -> Result<Vec<Binder>> {
        let mut core = Vec::new();
        for binder in binders {
            match binder {
                AstBinder::Below { name, bound } => {
                    let value = self.expr(bound)?;
                    let extent = self.integer(&value, bound.span)?;
                    let sym = self.bound_index(&name.name, &extent, &mut core);
                    self.bind(&name.name, Value::size(Size::sym(&sym)));
                }
                AstBinder::Range { name, from, to } => {
                    let (from_value, to_value) = (self.expr(from)?, self.expr(to)?);
                    let from_size = self.integer(&from_value, from.span)?;
                    let length = &self.integer(&to_value, to.span)? - &from_size;
                    let extent = self.greater(&length, &Size::zero());
                    let sym = self.bound_index(&name.name, &extent, &mut core);
                    self.bind(&name.name, Value::size(&Size::sym(&sym) + &from_size));
                }
                AstBinder::Splat { name, over } => {
                    let extents = self.splat(over)?;
                    let mut items = Vec::new();
                    for extent in &extents.items {
                        let sym = self.bound_index(&name.name, extent, &mut core);
                        items.push(Size::sym(&sym));
                    }
                    self.bind(&name.name, Value::Tuple(Extents { items, kept: extents.kept, index: true }));
                }
            }
        }
        Ok(core)
    }

    fn bound_index(&mut self, name: &str, extent: &Size, core: &mut Vec<Binder>) -> Sym {
        let sym = self.fresh_sym(SymKind::Index, name);
        self.facts.push(Cond::lt(&Size::sym(&sym), extent));
        if self.is_many(extent) {
            self.mark_group_index(&Size::sym(&sym), extent);
        }
        core.push(Binder { sym: sym.clone(), extent: extent.clone() });
        sym
    }

    /// `sum(e for k in K)` and its kin.
    pub(super) fn reduction(
        &mut self,
        monoid: Monoid,
        body: &ast::Expr,
        binders: &[AstBinder],
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Value> {
        self.generated(binders, |l, core| {
            let scalar = l.generator_body(body, None)?;
            l.reduced_scalar(monoid, core, scalar, dtype, span)
        })
    }

    /// `f` where the names of binders are bound.
    pub(super) fn generated(
        &mut self,
        binders: &[AstBinder],
        f: impl FnOnce(&mut Self, Vec<Binder>) -> Result<Value>,
    ) -> Result<Value> {
        let (known, names) = (self.facts.len(), self.frame.names.len());
        let result = self.bind_indices(binders).and_then(|core| f(self, core));
        self.facts.truncate(known);
        self.frame.names.truncate(names);
        result
    }

    /// What a generator gives at each of its indices: a scalar.
    pub(super) fn generator_body(&mut self, body: &ast::Expr, dtype: Option<DType>) -> Result<Term> {
        let value = self.element(body, dtype)?;
        self.scalar_body(value, dtype, body)
    }

    pub(super) fn reduced_scalar(
        &mut self,
        monoid: Monoid,
        core: Vec<Binder>,
        scalar: Term,
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Value> {
        let own = scalar.dtype();
        let scalar = match (&monoid, dtype) {
            // Integers accumulate in the dtype of the result.
            (Monoid::Sum | Monoid::Prod, Some(want)) if want != own && want == own.sum_dtype() => {
                Term::cast(want, scalar, span)
            }
            (Monoid::Sum | Monoid::Prod, _) if own == DType::Bool => Term::cast(DType::I64, scalar, span),
            (Monoid::Any | Monoid::All, _) if own != DType::Bool => {
                return fail(204, span, format!("`{}` combines conditions, found {own}", monoid.name()));
            }
            _ => scalar,
        };
        Ok(Value::Term(Term::reduce(monoid, core, scalar, span)))
    }

    /// `x[i, *j, y[k]]` inside a comprehension: one strict index per axis. `None`
    /// when the items are not that.
    pub(super) fn element_read(
        &mut self,
        base: &Term,
        items: &[ast::IndexItem],
        span: Span,
    ) -> Result<Option<Term>> {
        let mut index = Vec::new();
        for item in items {
            match item {
                ast::IndexItem::Expr(expr) => {
                    if matches!(&expr.kind, ExprKind::Name(n) if n == "none" || n == "None") {
                        return Ok(None);
                    }
                    match self.expr(expr)? {
                        Value::Size(s, _) => index.push(self.size_term(&s, expr.span)),
                        Value::Term(t) if t.is_scalar() && is_index(t.ty()) => index.push(t),
                        Value::Poison => return Err(Stop::Poisoned),
                        _ => return Ok(None),
                    }
                }
                ast::IndexItem::Splat(splat) => {
                    let tuple = self.splat(splat)?;
                    index.extend(tuple.items.iter().map(|s| self.size_term(s, splat.span)));
                }
                ast::IndexItem::Ellipsis(_) | ast::IndexItem::Slice { .. } => return Ok(None),
            }
        }
        let rank = base.shape().len();
        if index.len() > rank {
            return fail(
                205,
                span,
                format!("`{}` has {rank} axes, {} indices given", base.ty(), index.len()),
            );
        }
        if index.len() < rank {
            return Ok(None);
        }
        let plain: Vec<Size> =
            index.iter().map(|t| t.as_size().cloned().unwrap_or_else(Size::zero)).collect();
        self.aligned(&plain, base.shape(), span)?;
        for (at, extent) in index.iter().zip(base.shape()) {
            self.check_in_range(at, extent, span)?;
        }
        Ok(Some(Term::read(base.clone(), index, span)))
    }

    /// An index that is certainly outside is an error already here.
    fn check_in_range(&self, at: &Term, extent: &Size, span: Span) -> Result<()> {
        let Some(i) = at.as_size() else { return Ok(()) };
        let inside = Cond::within(&Size::zero(), i, extent);
        if i.as_const().is_some()
            && extent.as_const().is_some()
            && self.decide(&inside) == Some(false)
            && !self.unreachable()
        {
            return fail(216, span, format!("index {i} is out of range for an axis of {extent}"));
        }
        Ok(())
    }
}

fn is_index(ty: &Type) -> bool {
    match ty {
        Type::Size => true,
        Type::Tensor(t) => t.dtype.is_int(),
        Type::Tuple(_) => false,
    }
}
