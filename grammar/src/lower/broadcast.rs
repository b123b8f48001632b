//! Broadcasting and conversion made explicit: calls of `expand` and `to`.

use super::{Lower, Result, fail};
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, SymKind};
use rtv_semantics::term::{Binder, Instance, Term};
use rtv_semantics::types::extent_text;
use std::sync::Arc;

/// `[B, D]` as the surface writes it.
pub(super) fn shape_text(shape: &[Size]) -> String {
    let parts: Vec<String> = shape.iter().map(extent_text).collect();
    format!("[{}]", parts.join(", "))
}

impl Lower<'_> {
    /// PyTorch's rule: aligned at the right, equal extents or one of them 1.
    pub(super) fn broadcast_shapes(&self, a: &[Size], b: &[Size], span: Span) -> Result<Vec<Size>> {
        let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
        let lead = long.len() - short.len();
        let mut items = long[..lead].to_vec();
        for (x, y) in long[lead..].iter().zip(short) {
            items.push(self.broadcast_extent(x, y, (a, b), span)?);
        }
        Ok(items)
    }

    fn broadcast_extent(&self, x: &Size, y: &Size, shapes: (&[Size], &[Size]), span: Span) -> Result<Size> {
        let group = self.is_many(x) || self.is_many(y);
        if self.equal(x, y) || (y.is_one() && !group) {
            return Ok(x.clone());
        }
        if x.is_one() && !group {
            return Ok(y.clone());
        }
        let (a, b) = (shape_text(shapes.0), shape_text(shapes.1));
        if group {
            let message = format!("whether {a} and {b} broadcast depends on the rank");
            return fail(211, span, message);
        }
        let never = self.decide(&Cond::eq(x, y)) == Some(false)
            && [x, y].iter().all(|n| self.decide(&Cond::eq(n, &Size::one())) == Some(false));
        let why = if never { "differ" } else { "are not known to be equal" };
        Err(rtv_semantics::diag::Diagnostic::error(
            rtv_semantics::diag::Code(203),
            span,
            format!("shapes {a} and {b} do not broadcast: `{x}` and `{y}` {why}"),
        )
        .help(format!("make the extents equal, or add `requires {x} == {y}`"))
        .into())
    }

    /// The index into `shape` for an index of a shape it broadcasts to.
    pub(super) fn broadcast_index(&self, index: &[Size], shape: &[Size], span: Span) -> Result<Vec<Size>> {
        let Some(lead) = index.len().checked_sub(shape.len()) else {
            return fail(205, span, format!("{} indices cannot reach {} axes", index.len(), shape.len()));
        };
        let pairs = shape.iter().zip(&index[lead..]);
        Ok(pairs.map(|(n, i)| if n.is_one() { Size::zero() } else { i.clone() }).collect())
    }

    /// One fresh index per extent; their names follow the order of axes.
    pub(super) fn index_over(&mut self, shape: &[Size]) -> Vec<Binder> {
        const NAMES: [&str; 6] = ["i", "j", "k", "l", "m", "n"];
        let name = |k: usize| NAMES.get(k).map_or_else(|| format!("i{k}"), |n| n.to_string());
        let sym = |l: &mut Self, k: usize| l.fresh_sym(SymKind::Index, &name(k));
        shape.iter().enumerate().map(|(k, n)| Binder { sym: sym(self, k), extent: n.clone() }).collect()
    }

    /// A call of a built-in operator of one tensor: `element` gives the scalar at
    /// an index of the result, reading the parameter.
    pub(super) fn derived(
        &mut self,
        name: &str,
        statics: Vec<(Arc<str>, String)>,
        arg: Term,
        shape: &[Size],
        element: impl FnOnce(&mut Self, &Term, Vec<Size>) -> Result<Term>,
    ) -> Result<Term> {
        let span = arg.span();
        let var = self.fresh_var("x");
        let param = Term::var(var.clone(), arg.ty().clone(), span);
        let binders = self.index_over(shape);
        let index = binders.iter().map(|b| Size::sym(&b.sym)).collect();
        let body = element(self, &param, index)?;
        let instance = Instance {
            name: name.into(),
            statics,
            params: vec![(var, arg.ty().clone())],
            requires: Vec::new(),
            body: Term::comp(binders, body, span),
            is_op: true,
        };
        Ok(Term::call(Arc::new(instance), vec![arg], span))
    }

    /// `arg` broadcast to `shape`; the identity where it has it.
    pub(super) fn expand(&mut self, arg: Term, shape: &[Size]) -> Result<Term> {
        if arg.shape() == shape {
            return Ok(arg);
        }
        let span = arg.span();
        let statics = vec![("shape".into(), shape_text(shape))];
        self.derived("expand", statics, arg, shape, |l, x, index| {
            let at = l.broadcast_index(&index, x.shape(), span)?;
            Ok(Term::read(x.clone(), sizes(at, span), span))
        })
    }

    /// `arg` converted to `dtype`; the identity where it has it.
    pub(super) fn convert(&mut self, arg: Term, dtype: DType) -> Result<Term> {
        let span = arg.span();
        if arg.is_scalar() {
            return Ok(Term::cast(dtype, arg, span));
        }
        if arg.dtype() == dtype {
            return Ok(arg);
        }
        let shape = arg.shape().to_vec();
        self.derived("to", vec![("dtype".into(), dtype.to_string())], arg, &shape, |_, x, index| {
            Ok(Term::cast(dtype, Term::read(x.clone(), sizes(index, span), span), span))
        })
    }
}

/// Index terms of plain sizes.
pub(super) fn sizes(list: Vec<Size>, span: Span) -> Vec<Term> {
    list.into_iter().map(|s| Term::size(s, span)).collect()
}
