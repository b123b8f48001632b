//! Combinations by a monoid whose order counts: sequences of elements, piece by piece.
//!
//! Note [Pieces]. By associativity and its identity, a combination is that of a sequence of
//! elements, whatever its grouping is. A sequence is written as pieces: the elements `e(k)` for
//! `k` in `0..n`, one after the other, a single element being a piece of length 1. The
//! sequence of a reduction over one index is one piece, and is cut where a condition in its
//! body turns from true to false, or back, so that the facts decide it in both parts. Two sequences are compared from their beginnings:
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
        let inside = ranges(std::slice::from_ref(&piece.binder));
        let body = self.given(inside.clone(), |normal| normal.settled(&piece.body));
        if alpha_eq(&body, &op.neutral(body.ty(), body.span())) {
            return Some(());
        }
        let piece = Piece { body, ..piece };
        if let Some(at) = self.turn(&piece) {
            let low = Binder { extent: at.clone(), ..piece.binder.clone() };
            self.cut(Piece { binder: low, body: piece.body.clone() }, op, into)?;
            let high = self.without_first(&piece, &at);
            return self.cut(high, op, into);
        }
        self.given(inside, |normal| normal.is_tame(&piece.body)).then_some(())?;
        into.push_back(piece);
        Some(())
    }

    /// The place at which a condition on the index first changes.
    fn turn(&mut self, piece: &Piece) -> Option<Size> {
        let Binder { sym, extent } = &piece.binder;
        let mut conditions = Vec::new();
        comparisons(&piece.body, &mut conditions);
        conditions.into_iter().find_map(|p| {
            let (rises, rest) = unit(&p, sym)?;
            let at = if rises { -&rest } else { &rest + &Size::one() };
            let within = Cond::and([Cond::le(&Size::zero(), &at), Cond::le(&at, extent)]);
            let cond = Cond::NonNeg(p);
            let open = self.given(ranges(std::slice::from_ref(&piece.binder)), |normal| {
                normal.total(&cond) && !normal.holds(&cond) && !normal.holds(&cond.clone().negated())
            });
            (open && self.holds(&within)).then_some(at)
        })
    }

    /// The term behind conditions on sizes that the facts decide.
    fn settled(&self, term: &Term) -> Term {
        let again = |t: &Term| self.settled(t);
        match term.form() {
            Form::If(cond, then, other) => match cond.as_cond() {
                Some(cond) if self.holds(&cond) => again(then),
                Some(cond) if self.holds(&cond.clone().negated()) => again(other),
                _ => Term::if_(cond.clone(), again(then), again(other), term.span()),
            },
            Form::Tuple(parts) => Term::tuple(parts.iter().map(again).collect(), term.span()),
            Form::Call(Fun::Scalar(fun), args) => {
                Term::scalar(*fun, args.iter().map(again).collect(), term.span())
            }
            _ => term.clone(),
        }
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

/// What is compared with 0 in the conditions that branches outside of reductions hang on.
fn comparisons(term: &Term, into: &mut Vec<Size>) {
    match term.form() {
        Form::If(cond, then, other) => {
            cond.as_cond().into_iter().for_each(|cond| atoms(&cond, into));
            [then, other].into_iter().for_each(|branch| comparisons(branch, into));
        }
        Form::Tuple(parts) | Form::Call(Fun::Scalar(_), parts) => {
            parts.iter().for_each(|part| comparisons(part, into));
        }
        _ => {}
    }
}

fn atoms(cond: &Cond, into: &mut Vec<Size>) {
    match cond {
        Cond::NonNeg(p) => into.push(p.clone()),
        Cond::And(parts) | Cond::Or(parts) => parts.iter().for_each(|part| atoms(part, into)),
        Cond::True | Cond::False | Cond::Zero(_) | Cond::NonZero(_) => {}
    }
}
