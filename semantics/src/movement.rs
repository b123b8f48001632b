//! Terms that move data and never look at it: one proof serves every dtype.
//!
//! Note [Movement]. Say two terms are built of parameters, reads at sizes, comprehensions,
//! and `if` on sizes, without literals, scalar functions of elements or indices from data.
//! Then for given sizes each element of either is one element of a parameter, the same one
//! whatever the values are. Two such elements agree for all values exactly if they are the
//! same element of the same parameter: otherwise take values that tell them apart, which
//! every dtype has. So whether the terms agree does not depend on the dtypes, nor does
//! whether they fail, which is a matter of sizes.

use crate::term::{Binder, Form, Fun, Instance, Require, Term};
use crate::types::Type;
use std::collections::BTreeSet;

/// Whether both terms only move data, and are the same but for dtypes.
pub fn moves_alike(a: &Term, b: &Term) -> bool {
    Walk::default().alike(a, b)
}

/// Pairs that are alike, so that shared parts are compared once.
#[derive(Default)]
struct Walk {
    known: BTreeSet<(usize, usize)>,
}

impl Walk {
    fn alike(&mut self, a: &Term, b: &Term) -> bool {
        let pair = (a.address(), b.address());
        let same = self.known.contains(&pair) || self.forms(a, b);
        if same {
            self.known.insert(pair);
        }
        same
    }

    fn all(&mut self, a: &[Term], b: &[Term]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.alike(a, b))
    }

    fn forms(&mut self, a: &Term, b: &Term) -> bool {
        match (a.form(), b.form()) {
            (Form::Size(p), Form::Size(q)) => p == q,
            (Form::Var(v), Form::Var(w)) => v == w && same_shapes(a.ty(), b.ty()),
            (Form::Call(Fun::Op(f), x), Form::Call(Fun::Op(g), y)) => self.instances(f, g) && self.all(x, y),
            (Form::Call(Fun::Item(k), x), Form::Call(Fun::Item(l), y)) => k == l && self.all(x, y),
            (Form::Read(x, i), Form::Read(y, j)) => same_sizes(i, j) && self.alike(x, y),
            (Form::Comp(p, x), Form::Comp(q, y)) => same_binders(p, q) && self.alike(x, y),
            (Form::If(c, x, y), Form::If(d, z, w)) => {
                same_condition(c, d) && self.alike(x, z) && self.alike(y, w)
            }
            (Form::Let(v, x, y), Form::Let(w, z, u)) => v == w && self.alike(x, z) && self.alike(y, u),
            (Form::Tuple(x), Form::Tuple(y)) => self.all(x, y),
            _ => false,
        }
    }

    fn instances(&mut self, f: &Instance, g: &Instance) -> bool {
        let params =
            f.params.len() == g.params.len() && f.params.iter().zip(&g.params).all(|(p, q)| p.0 == q.0);
        let requires = |r: &Require, s: &Require| same_condition(&r.cond, &s.cond) && r.class == s.class;
        let entry = f.requires.len() == g.requires.len()
            && f.requires.iter().zip(&g.requires).all(|(r, s)| requires(r, s));
        params && entry && self.alike(&f.body, &g.body)
    }
}

fn same_shapes(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Size, Type::Size) => true,
        (Type::Tensor(a), Type::Tensor(b)) => a.shape == b.shape,
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shapes(a, b))
        }
        _ => false,
    }
}

fn same_sizes(a: &[Term], b: &[Term]) -> bool {
    let same = |(a, b): (&Term, &Term)| a.as_size().is_some_and(|p| b.as_size() == Some(p));
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn same_binders(a: &[Binder], b: &[Binder]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(p, q)| p.sym == q.sym && p.extent == q.extent)
}

/// The same condition on sizes.
fn same_condition(a: &Term, b: &Term) -> bool {
    a.as_cond().is_some_and(|cond| b.as_cond() == Some(cond))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Span;
    use crate::dtype::DType;
    use crate::entail::Cond;
    use crate::scalar::Scalar;
    use crate::size::{Size, Sym, SymKind};
    use crate::term::Var;

    const AT: Span = Span { file: crate::diag::FileId(0), lo: 0, hi: 0 };

    /// `[if k < n { x[k] } else { x[0] } for k in n]`
    fn clamped(dtype: DType, from: i64) -> Term {
        let n = Size::sym(&Sym::new(0, SymKind::Size, "n"));
        let k = Sym::new(1, SymKind::Index, "k");
        let x = Term::var(Var { id: 2, name: "x".into() }, Type::tensor(dtype, vec![n.clone()]), AT);
        let read = |at: Size| Term::read(x.clone(), vec![Term::size(at, AT)], AT);
        let cond = Term::cond(&Cond::lt(&Size::sym(&k), &n), AT);
        let body = Term::if_(cond, read(Size::sym(&k)), read(Size::int(from)), AT);
        Term::comp(vec![Binder { sym: k, extent: n }], body, AT)
    }

    #[test]
    fn the_dtype_of_what_is_moved_does_not_count() {
        assert!(moves_alike(&clamped(DType::Bool, 0), &clamped(DType::F64, 0)));
        assert!(!moves_alike(&clamped(DType::Bool, 0), &clamped(DType::F64, 1)));
    }

    #[test]
    fn what_looks_at_data_is_no_movement() {
        let x = clamped(DType::F32, 0);
        let first = Term::read(x, vec![Term::size(Size::zero(), AT)], AT);
        assert!(moves_alike(&first, &first));
        let negated = Term::scalar(Scalar::Neg, vec![first.clone()], AT);
        let chosen = Term::if_(
            Term::scalar(Scalar::Eq, vec![first.clone(), first.clone()], AT),
            first.clone(),
            first,
            AT,
        );
        for term in [negated, chosen, Term::bool(true, AT)] {
            assert!(!moves_alike(&term, &term), "{term:?}");
        }
    }
}
