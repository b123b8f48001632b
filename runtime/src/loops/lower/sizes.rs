//! Sizes of the language as linear forms of the loop nests.

use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{EvalError, codes};
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Atom, Size};
use rtv_semantics::term::{Binder, ErrorClass};

use crate::loops::SiteKind;
use crate::loops::expr::Node;
use crate::loops::lin::Lin;

use super::{Env, Lowering, Name, Res, Val, find, limit};

impl Lowering {
    pub(super) fn size(&mut self, size: &Size, env: &Env, span: Span) -> Res<Lin> {
        let mut sum = Lin::default();
        for (monomial, coefficient) in size.terms() {
            let Ok(coefficient) = i64::try_from(coefficient.clone()) else {
                return Err(limit(codes::NUMBER, span, "a size exceeds 63 bits"));
            };
            let mut product = Lin::constant(coefficient);
            for (atom, power) in monomial {
                let factor = self.size_atom(atom, env, span)?;
                for _ in 0..*power {
                    product = self.arena.product(&product, &factor);
                }
            }
            sum = self.arena.sum(&sum, &product, 1);
        }
        Ok(sum)
    }

    fn size_atom(&mut self, atom: &Atom, env: &Env, span: Span) -> Res<Lin> {
        match atom {
            Atom::Sym(sym) => match find(env, &Name::Sym(sym.clone())) {
                Some(Val::Size(lin)) => Ok(lin.clone()),
                _ => Err(limit(codes::UNBOUND, span, format!("no value for `{}`", sym.name()))),
            },
            Atom::Min(a, b) => {
                let (a, b) = (self.size(a, env, span)?, self.size(b, env, span)?);
                Ok(self.arena.minimum(&a, &b))
            }
            Atom::Max(a, b) => {
                let (a, b) = (self.size(a, env, span)?, self.size(b, env, span)?);
                Ok(self.arena.maximum(&a, &b))
            }
            Atom::Div(a, d) => {
                let (a, d) = (self.size(a, env, span)?, self.size(d, env, span)?);
                let (low, high) = self.arena.range(&d);
                if low > 0 || high < 0 {
                    return Ok(self.arena.floor_div(&a, &d));
                }
                let site = self.site(SiteKind::SizeDivision, span);
                let (zero, divisor) = (self.arena.index(Lin::default()), self.arena.index(d));
                let nonzero = self.arena.call(Scalar::Ne, DType::I64, vec![divisor, zero], None);
                let divisor = self.arena.require(nonzero, divisor, site);
                let quotient = Node::FloorDiv(a, Lin::value(divisor));
                Ok(Lin::value(self.arena.intern(quotient)))
            }
        }
    }

    pub(super) fn extents(&mut self, binders: &[Binder], env: &Env, span: Span) -> Res<Vec<Lin>> {
        let mut shape = Vec::new();
        for (axis, binder) in binders.iter().enumerate() {
            let extent = self.size(&binder.extent, env, span)?;
            if let Some(extent) = extent.as_constant().filter(|extent| *extent < 0) {
                let message = format!("axis {axis} has extent {} = {extent}", binder.extent);
                let class = Some(ErrorClass::Shape);
                return Err(Box::new(EvalError {
                    class,
                    code: codes::SHAPE,
                    message,
                    span,
                    trace: Vec::new(),
                }));
            }
            shape.push(extent);
        }
        Ok(shape)
    }
}
