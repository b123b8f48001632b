//! Data as an index: an integer scalar inside an index tuple.
//!
//! Index tuples are lists of sizes. A scalar that depends on data enters one as a
//! symbol of its own; where the tuple is read with, sizes that mention such a symbol
//! become integer terms again.

use super::value::Value;
use super::{Lower, Result};
use num_traits::ToPrimitive;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Atom, Size, SymKind};
use rtv_semantics::term::{Lit, Term};

impl Lower<'_> {
    /// An entry of an index tuple: a size, or an integer scalar as a symbol.
    pub(super) fn entry(&mut self, value: &Value, span: Span) -> Result<Size> {
        match value {
            Value::Term(t) if t.is_scalar() && t.tensor_type().is_some_and(|t| t.dtype.is_int()) => {
                let sym = self.fresh_sym(SymKind::Int, "data");
                self.data.insert(sym.clone(), t.clone());
                Ok(Size::sym(&sym))
            }
            other => self.integer(other, span),
        }
    }

    pub(super) fn mentions_data(&self, size: &Size) -> bool {
        !self.data.is_empty() && size.syms().iter().any(|s| self.data.contains_key(s))
    }

    /// A size as a term: of type size, or an i64 scalar where data enters.
    pub(super) fn size_term(&self, size: &Size, span: Span) -> Term {
        if !self.mentions_data(size) {
            return Term::size(size.clone(), span);
        }
        let mut sum: Option<Term> = None;
        for (monomial, coefficient) in size.terms() {
            let mut product = match coefficient.to_i64() {
                Some(k) => Term::lit(Lit::Int(k.into()), DType::I64, span),
                None => Term::cast(DType::I64, Term::size(Size::int(coefficient.clone()), span), span),
            };
            for (atom, power) in monomial {
                let factor = self.atom_term(atom, span);
                for _ in 0..*power {
                    product = Term::scalar(Scalar::Mul, vec![product, factor.clone()], span);
                }
            }
            sum = Some(match sum {
                Some(acc) => Term::scalar(Scalar::Add, vec![acc, product], span),
                None => product,
            });
        }
        sum.unwrap_or_else(|| Term::lit(Lit::Int(0.into()), DType::I64, span))
    }

    fn atom_term(&self, atom: &Atom, span: Span) -> Term {
        let integer = |s: &Size| Term::cast(DType::I64, self.size_term(s, span), span);
        let pair = |fun, a: &Size, b: &Size| Term::scalar(fun, vec![integer(a), integer(b)], span);
        match atom {
            Atom::Sym(s) => match self.data.get(s) {
                Some(term) => Term::cast(DType::I64, term.clone(), span),
                None => integer(&Size::sym(s)),
            },
            Atom::Div(a, b) => pair(Scalar::FloorDivide, a, b),
            Atom::Min(a, b) => pair(Scalar::Minimum, a, b),
            Atom::Max(a, b) => pair(Scalar::Maximum, a, b),
        }
    }

    /// A condition on sizes as a boolean scalar, data included.
    pub(super) fn cond_term(&self, cond: &Cond, span: Span) -> Term {
        let compare = |fun, p: &Size| {
            let zero = Term::lit(Lit::Int(0.into()), DType::I64, span);
            Term::scalar(fun, vec![self.size_term(p, span), zero], span)
        };
        match cond {
            Cond::NonNeg(p) if self.mentions_data(p) => compare(Scalar::Ge, p),
            Cond::Zero(p) if self.mentions_data(p) => compare(Scalar::Eq, p),
            Cond::NonZero(p) if self.mentions_data(p) => compare(Scalar::Ne, p),
            Cond::And(parts) | Cond::Or(parts) => {
                let fun = if matches!(cond, Cond::And(_)) { Scalar::LogicalAnd } else { Scalar::LogicalOr };
                let mut terms = parts.iter().map(|c| self.cond_term(c, span));
                let first = terms.next().expect("invariant: a connective has parts");
                terms.fold(first, |acc, t| Term::scalar(fun, vec![acc, t], span))
            }
            other => Term::cond(other, span),
        }
    }
}
