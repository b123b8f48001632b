//! Combinations by a monoid whose order counts: sequences of elements, piece by piece.
//!
//! Note [Pieces]. By associativity and its identity, a combination is that of a sequence of
//! elements, whatever its grouping is. A sequence is written as pieces: the elements `e(k)` for
//! `k` in `0..n`, one after the other, a single element being a piece of length 1. The
//! sequence of a reduction over one index is one piece, and is cut where a condition in its
//! body turns from true to false, or back. Two sequences are compared from their beginnings:
//! the first pieces of both agree up to the shorter length, which is taken from both. Every
//! element is looked at: the laws are about values only.

use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, SymKind};
use rtv_semantics::subst::Subst;
use rtv_semantics::term::{Binder, Form, Fun, Monoid, Term};
use std::collections::VecDeque;

use super::range::unit;
use super::{Normal, ranges};
use crate::cases::{decided, first_condition};
use crate::proof::Proof;

/// Pieces of one sequence.
const MAX_PIECES: usize = 24;

/// The elements `body` at the indices of the binder, in their order.
#[derive(Clone)]
struct Piece {
    binder: Binder,
    body: Term,
}

impl Normal<'_> {
    /// Whether two terms combine the same elements in the same order; see Note [Pieces].
    pub(super) fn ordered(&mut self, left: &Term, right: &Term) -> Option<Proof> {
        let op = [left, right].into_iter().find_map(|side| match side.form() {
            Form::Reduce(reduce) => reduce.op.declared(),
            Form::Call(Fun::Combine(monoid), _) => Some(monoid),
            _ => None,
        })?;
        op.laws_in(self.mode)?;
        let op = Monoid::Declared(op.clone());
        let (left, right) = (self.pieces(left, &op)?, self.pieces(right, &op)?);
        self.aligned(left, right).then_some(Proof::InOrder(op))
    }

    fn pieces(&mut self, term: &Term, op: &Monoid) -> Option<VecDeque<Piece>> {
        let mut pieces = VecDeque::new();
        self.sequence(term, op, &mut pieces)?;
        Some(pieces)
    }

    fn sequence(&mut self, term: &Term, op: &Monoid, into: &mut VecDeque<Piece>) -> Option<()> {
        match term.form() {
            _ if alpha_eq(term, &op.neutral(term.ty(), term.span())) => Some(()),
            Form::Call(Fun::Combine(monoid), args) if op.declared() == Some(monoid) => {
                args.iter().try_for_each(|arg| self.sequence(arg, op, into))
            }
            Form::Reduce(reduce) if reduce.op == *op && reduce.binders.len() == 1 => {
                let (mut binders, body) = self.opened(reduce);
                self.cut(Piece { binder: binders.swap_remove(0), body }, op, into)
            }
            _ => {
                let sym = rtv_semantics::size::Sym::new(self.fresh.id(), SymKind::Index, "k");
                self.cut(Piece { binder: Binder { sym, extent: Size::one() }, body: term.clone() }, op, into)
            }
        }
    }

    /// A piece in parts between which no condition of its body changes; none for what is
    /// neutral.
    fn cut(&mut self, piece: Piece, op: &Monoid, into: &mut VecDeque<Piece>) -> Option<()> {
        if into.len() >= MAX_PIECES {
            return None;
        }
        if alpha_eq(&piece.body, &op.neutral(piece.body.ty(), piece.body.span())) {
            return Some(());
        }
        if let Some((low, high)) = self.halves(&piece) {
            self.cut(low, op, into)?;
            return self.cut(high, op, into);
        }
        let inside = ranges(std::slice::from_ref(&piece.binder));
        self.given(inside, |normal| normal.is_tame(&piece.body)).then_some(())?;
        into.push_back(piece);
        Some(())
    }

    /// The elements before and after the first condition of the body changes.
    fn halves(&mut self, piece: &Piece) -> Option<(Piece, Piece)> {
        let Piece { binder: Binder { sym, extent }, body } = piece;
        let cond = first_condition(body)?;
        let Cond::NonNeg(p) = &cond else { return None };
        let (rises, rest) = unit(p, sym)?;
        let at = if rises { -&rest } else { &rest + &Size::one() };
        let inside = Cond::and([Cond::le(&Size::zero(), &at), Cond::le(&at, extent)]);
        let total = self.given(ranges(std::slice::from_ref(&piece.binder)), |normal| normal.total(&cond));
        if !total || !self.holds(&inside) {
            return None;
        }
        let (before, after) = (decided(body, &cond, !rises), decided(body, &cond, rises));
        let low = Piece { binder: Binder { sym: sym.clone(), extent: at.clone() }, body: before };
        let high = Piece { binder: piece.binder.clone(), body: after };
        Some((low, self.without_first(&high, &at)))
    }

    /// The elements from a place on.
    fn without_first(&mut self, piece: &Piece, count: &Size) -> Piece {
        let Piece { binder: Binder { sym, extent }, body } = piece;
        let new = self.fresh.sym(sym);
        let moved = Subst::new().with_size(sym, &Size::sym(&new) + count);
        Piece { binder: Binder { sym: new, extent: extent - count }, body: moved.term(body, self.fresh) }
    }

    fn aligned(&mut self, mut left: VecDeque<Piece>, mut right: VecDeque<Piece>) -> bool {
        for _ in 0..2 * MAX_PIECES {
            for side in [&mut left, &mut right] {
                while side.front().is_some_and(|p| self.holds(&Cond::le(&p.binder.extent, &Size::zero()))) {
                    side.pop_front();
                }
            }
            let (Some(a), Some(b)) = (left.front().cloned(), right.front().cloned()) else {
                return left.is_empty() && right.is_empty();
            };
            let (m, n) = (&a.binder.extent, &b.binder.extent);
            let shorter = |normal: &Self, m: &Size, n: &Size| {
                normal.holds(&Cond::and([Cond::le(&Size::zero(), m), Cond::le(m, n)]))
            };
            let same = self.holds(&Cond::eq(m, n));
            let common = match same || shorter(self, m, n) {
                true => m.clone(),
                false if shorter(self, n, m) => n.clone(),
                false => return false,
            };
            if !self.same_elements(&a, &b, &common) {
                return false;
            }
            for (side, piece) in [(&mut left, a), (&mut right, b)] {
                side.pop_front();
                if !same && piece.binder.extent != common {
                    side.push_front(self.without_first(&piece, &common));
                }
            }
        }
        false
    }

    /// Whether two pieces have the same first elements, so many.
    fn same_elements(&mut self, a: &Piece, b: &Piece, count: &Size) -> bool {
        let index = self.fresh.sym(&a.binder.sym);
        let at = |piece: &Piece| Subst::new().with_size(&piece.binder.sym, Size::sym(&index));
        let (x, y) = (at(a).term(&a.body, self.fresh), at(b).term(&b.body, self.fresh));
        let range = ranges(&[Binder { sym: index, extent: count.clone() }]);
        self.given(range, |normal| normal.same(&x, &y))
    }
}
