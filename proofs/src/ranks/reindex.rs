//! Two reductions over axes of rank variables that are the same at every rank.
//!
//! Note [Reductions over axes]. Take two reductions of a uniform elaboration, one over b < n, the
//! other over c < m, n and m being extents of an axis. Written out at rank r they run over all
//! lists of r indices. Their bodies are e(b) where a condition p(b) holds of every axis, and
//! f(c) where q(c) does; elsewhere they are neutral. So the lists that count are products over
//! the axes, of the sets {b < n: p(b)} and {c < m: q(c)} of each axis. Assume that, of one axis,
//!
//! 1. s maps the first set into the second, t the second into the first, and t(s(b)) = b,
//!    s(t(c)) = c there;
//! 2. e(b) and f(s(b)) are the same term where b is of the first set, and an axis stands for
//!    itself in it: (3) of Note [Sufficient ranks], b being an index of the axis.
//!
//! Then s, axis by axis, is a bijection of the two products, and both reductions combine the same
//! elements, each as often. So they are equal wherever their order does not matter: over the
//! reals and up to reordering, and for integers and bools, at every rank r >= 1. No such pair is
//! ever kept by dropping axes, so that it may only stand where both sides are the same but for
//! such pairs. The maps are found by solving an equation between indices of two reads; what is
//! found is checked.

use super::{Case, Reads, Uniform};
use rtv_grammar::lower::every_axis;
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::normal::normalize;
use rtv_semantics::program::Mode;
use rtv_semantics::size::{Atom, Size, Sym};
use rtv_semantics::subst::{Subst, children, renamed};
use rtv_semantics::term::{Form, Fun, Lit, Monoid, Reduce, Term};

/// A reduction over the axes: its index below its extent, where the condition holds.
struct Over {
    op: Monoid,
    index: Sym,
    extent: Size,
    cond: Cond,
    element: Term,
}

impl Over {
    fn range(&self) -> Vec<Cond> {
        vec![Cond::lt(&Size::sym(&self.index), &self.extent), self.cond.clone()]
    }

    /// Whether an index is one of those that count.
    fn holds_at(&self, at: &Size) -> Cond {
        let moved = |size: &Size| size.subst(&|sym| (*sym == self.index).then(|| at.clone()));
        Cond::and([Cond::within(&Size::zero(), at, &self.extent), self.cond.map(&moved)])
    }
}

impl Uniform<'_> {
    /// Whether two terms are the same but for reductions over the axes that are equal at every
    /// rank.
    pub(super) fn alike(&mut self, left: &Term, right: &Term, facts: &[Cond]) -> bool {
        if let (Some(a), Some(b)) = (self.over_axes(left, facts), self.over_axes(right, facts)) {
            let combined = a.op == b.op && left.ty() == right.ty() && self.unordered(&a);
            return combined && self.same_elements(&a, &b, facts);
        }
        let same_head = match (left.form(), right.form()) {
            (Form::Call(Fun::Scalar(f), _), Form::Call(Fun::Scalar(g), _)) => f == g,
            (Form::Call(Fun::Cast(_), _), Form::Call(Fun::Cast(_), _)) | (Form::If(..), Form::If(..)) => {
                left.ty() == right.ty()
            }
            _ => {
                let mut none = Reads::default();
                let plain =
                    self.reads(left, facts, &mut none).is_ok() && self.reads(right, facts, &mut none).is_ok();
                return plain && self.same(left, right, facts);
            }
        };
        let (a, b) = (children(left), children(right));
        same_head && a.len() == b.len() && a.into_iter().zip(b).all(|(a, b)| self.alike(a, b, facts))
    }

    fn same(&self, left: &Term, right: &Term, facts: &[Cond]) -> bool {
        alpha_eq(&normalize(left, facts, self.engine), &normalize(right, facts, self.engine))
    }

    /// Whether the order of a reduction does not matter.
    fn unordered(&self, over: &Over) -> bool {
        match self.schema.claim.mode {
            Mode::Real => true,
            Mode::Reassoc if matches!(over.op, Monoid::Sum | Monoid::Prod) => true,
            _ => !over.element.dtype().is_float(),
        }
    }

    /// A reduction over one index of an axis, by a monoid of the language: the laws of others
    /// are claims.
    fn over_axes(&mut self, term: &Term, facts: &[Cond]) -> Option<Over> {
        let own = matches!(term.form(), Form::Reduce(Reduce { binders, .. })
            if matches!(binders.as_slice(), [binder] if self.is_own(&binder.extent)));
        let apart = if own { renamed(term, &mut self.fresh) } else { return None };
        let Form::Reduce(Reduce { op, binders, body }) = apart.form() else { return None };
        if op.declared().is_some() {
            return None;
        }
        let (mut cond, mut element) = (Cond::True, body.clone());
        while let Some((guard, then, otherwise)) = choice(&element) {
            let otherwise = normalize(&otherwise, facts, self.engine);
            let part = every_axis(&guard, &self.schema.axes).filter(|_| is_neutral(op, &otherwise));
            let Some(part) = part else { break };
            (cond, element) = (Cond::and([cond, part]), then);
        }
        let (index, extent) = (binders[0].sym.clone(), binders[0].extent.clone());
        let over = Over { op: op.clone(), index, extent, cond, element };
        let element = self.settled(&over.element, &[facts, &over.range()].concat());
        Some(Over { element, ..over })
    }

    /// A term without the guards that hold anyhow.
    fn settled(&self, term: &Term, facts: &[Cond]) -> Term {
        let mut case = Case { facts: facts.to_vec(), decided: Vec::new(), places: 0 };
        let mut term = term.clone();
        while let Some(cond) = self.open(&term).filter(|cond| self.engine.entails(facts, cond)) {
            case.decided.push((cond, true));
            term = self.chosen(&term, &case);
        }
        term
    }

    /// Whether two reductions combine the same elements: the conditions of the note.
    fn same_elements(&mut self, a: &Over, b: &Over, facts: &[Cond]) -> bool {
        let inner = [a.index.clone(), b.index.clone()];
        self.own.extend(inner.clone());
        self.outer.extend(inner.clone());
        let (mut at_a, mut at_b) = (Reads::default(), Reads::default());
        let plain = self.reads(&a.element, facts, &mut at_a).is_ok()
            && self.reads(&b.element, facts, &mut at_b).is_ok();
        let mut found = false;
        for (var, tuples) in at_a.iter().filter(|_| plain) {
            let pairs = tuples.iter().flat_map(|p| at_b.get(var).into_iter().flatten().map(move |q| (p, q)));
            found = found || pairs.into_iter().any(|(p, q)| self.matched(a, b, (p, q), facts));
        }
        inner.iter().for_each(|sym| {
            self.own.remove(sym);
            self.outer.remove(sym);
        });
        found
    }

    /// Whether the maps that make two tuples of entries equal are as the note wants them.
    fn matched(&mut self, a: &Over, b: &Over, (p, q): (&[Size], &[Size]), facts: &[Cond]) -> bool {
        let (i, j) = (Size::sym(&a.index), Size::sym(&b.index));
        let equal = p.iter().zip(q).map(|(p, q)| p - q);
        let solved = equal.into_iter().find_map(|d| Some((solve(&d, &b.index)?, solve(&d, &a.index)?)));
        let Some((to, from)) = solved else { return false };
        let (first, second) = ([facts, &a.range()].concat(), [facts, &b.range()].concat());
        let put = |size: &Size, sym: &Sym, at: &Size| size.subst(&|s| (s == sym).then(|| at.clone()));
        let inverse = put(&from, &b.index, &to) == i && put(&to, &a.index, &from) == j;
        let into =
            self.engine.entails(&first, &b.holds_at(&to)) && self.engine.entails(&second, &a.holds_at(&from));
        if !inverse || !into {
            return false;
        }
        let moved = Subst::new().with_size(&b.index, to).term(&b.element, &mut self.fresh);
        self.same(&a.element, &moved, &first)
    }
}

/// The condition and the branches of a term that is an `if`, or one converted.
fn choice(term: &Term) -> Option<(Term, Term, Term)> {
    match term.form() {
        Form::If(guard, then, otherwise) => Some((guard.clone(), then.clone(), otherwise.clone())),
        Form::Call(Fun::Cast(dtype), args) => {
            let (guard, then, otherwise) = choice(&args[0])?;
            let cast = |branch| Term::cast(*dtype, branch, term.span());
            Some((guard, cast(then), cast(otherwise)))
        }
        _ => None,
    }
}

/// Whether a term is what a reduction of nothing gives, up to the sign of a zero.
fn is_neutral(op: &Monoid, term: &Term) -> bool {
    let neutral = op.neutral(term.ty(), term.span());
    match (term.form(), neutral.form()) {
        (Form::Lit(Lit::Decimal(a)), Form::Lit(Lit::Decimal(b))) => {
            a.parse::<f64>().is_ok_and(|a| b.parse() == Ok(a))
        }
        _ => alpha_eq(term, &neutral),
    }
}

/// What a symbol is where the expression is 0, if it occurs in it once and with a factor of 1
/// or -1.
fn solve(zero: &Size, sym: &Sym) -> Option<Size> {
    let one = |atom: &Atom| matches!(atom, Atom::Sym(s) if s == sym);
    let term =
        zero.terms().iter().find(|(factors, _)| matches!(factors.as_slice(), [(atom, 1)] if one(atom)))?;
    let unit = [1, -1].into_iter().find(|unit| term.1 == (*unit).into())?;
    let rest = zero - &Size::sym(sym).scale(&unit.into());
    (!rest.mentions(sym)).then(|| rest.scale(&(-unit).into()))
}
