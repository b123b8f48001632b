//! Normal form of reductions that may be reordered: sums of monomials.
//!
//! A term is read as a combination `m_1 + .. + m_n`, where a monomial is
//! `sum over binders of [guards] coefficient * product of factors`, and written back in
//! a form that depends less on how it was put together: nested reductions are flat,
//! sums are split at `+`, at guards and at range borders, binders that a guard fixes
//! are gone, independent parts are pulled out.
//!
//! Invariant: under the facts the result has the value of the term, undefined values
//! and errors included. Two algebras:
//! * `Ring` — integers, and reals where every factor is shown to be finite, defined and
//!   free of errors: products distribute, numbers are coefficients.
//! * `Monoid` — any commutative monoid: one factor per monomial, nothing distributes.
//!   It needs no such condition, since the same elements are combined. Floats under
//!   `+` in reassoc mode, and the extended reals with their absorbing undefined value.
//!   The laws of a declared monoid are about its values, so that it needs the condition.
//!
//! Float sums in exact mode are ordered and stay as they are.
//!
//! Two strengths: [`normal`] combines; [`calculated`] also takes quotients, exponentials,
//! logarithms and extremes of reals apart, under hypotheses on values too. Both tell each
//! step, so that it can be checked again.

mod build;
mod denominator;
mod equations;
mod extreme;
mod field;
mod frame;
mod known;
mod monomial;
mod order;
mod range;

use std::cell::Cell;
use std::sync::Arc;

use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::subst::{Fresh, Subst, children};
use rtv_semantics::term::{Binder, Form, Fun, Monoid, Reduce, Term};
use rtv_semantics::types::Type;

use crate::proof::{Algebra, Combining, Proof};
use crate::sizes::{SizeAnswer, SizeSolver};
use build::Built;
pub use known::Sign;
pub(crate) use known::question;
pub use monomial::Monomial;
use monomial::Read;
pub(crate) use monomial::number_of;

/// Whether the elements of a reduction may be combined in any order, whatever they are.
pub(crate) fn reorderable(op: &Monoid, ty: &Type, mode: Mode) -> bool {
    let float = ty.as_tensor().is_some_and(|ty| ty.dtype.is_float());
    match op {
        // Its laws are about values: neither undefined nor, over the reals, infinite.
        Monoid::Declared(_) => false,
        Monoid::Sum | Monoid::Prod if float => mode != Mode::Exact,
        // The sign of a zero maximum of zeros is open.
        _ => !float || mode == Mode::Real,
    }
}

/// The normal form of a scalar term under facts, and how it came about.
pub(crate) fn normal(
    term: &Term,
    mode: Mode,
    facts: &[Cond],
    sizes: &Arc<SizeSolver>,
    fresh: &mut Fresh,
) -> (Term, Combining) {
    if !has_reduction(term) {
        return (term.clone(), Combining::Kept);
    }
    Normal::new(mode, facts, None, sizes, fresh).term(term)
}

/// The normal form under hypotheses on values too, of reals with quotients, exponentials
/// and extremes; see `field.rs` and `extreme.rs`.
pub(crate) fn calculated(
    term: &Term,
    mode: Mode,
    facts: &[Cond],
    hypotheses: &[Term],
    sizes: &Arc<SizeSolver>,
    fresh: &mut Fresh,
) -> (Term, Combining) {
    match has_reduction(term) {
        true => Normal::new(mode, facts, Some(hypotheses), sizes, fresh).term(term),
        false => (term.clone(), Combining::Kept),
    }
}

/// Two scalar terms that are reductions of the same elements under other indices. With
/// hypotheses it also calculates.
pub(crate) fn reindexed(
    sides: [&Term; 2],
    mode: Mode,
    facts: &[Cond],
    hypotheses: Option<&[Term]>,
    sizes: &Arc<SizeSolver>,
    fresh: &mut Fresh,
) -> Option<Proof> {
    sides.into_iter().any(has_reduction).then_some(())?;
    Normal::new(mode, facts, hypotheses, sizes, fresh).reindexed(sides[0], sides[1])
}

/// Terms read and monomials made for one normal form; then the rest stays as it is.
const MAX_WORK: usize = 3_000;

pub(crate) struct Normal<'f> {
    mode: Mode,
    facts: Vec<Cond>,
    /// Known of values where the field calculates.
    hypotheses: &'f [Term],
    /// Whether it calculates with quotients, exponentials, logarithms and extremes.
    field: bool,
    sizes: Arc<SizeSolver>,
    fresh: &'f mut Fresh,
    work: usize,
    /// Questions on sizes that were left open.
    open: Cell<u32>,
}

/// Questions on sizes left open before a normal form asks no more.
const MAX_OPEN: u32 = 8;

impl<'f> Normal<'f> {
    /// With hypotheses it calculates.
    fn new(
        mode: Mode,
        facts: &[Cond],
        hypotheses: Option<&'f [Term]>,
        sizes: &Arc<SizeSolver>,
        fresh: &'f mut Fresh,
    ) -> Normal<'f> {
        let field = hypotheses.is_some();
        let hypotheses = hypotheses.filter(|_| mode == Mode::Real).unwrap_or_default();
        let (facts, sizes) = (facts.to_vec(), sizes.clone());
        Normal { mode, facts, hypotheses, field, sizes, fresh, work: MAX_WORK, open: Cell::new(0) }
    }

    fn term(&mut self, term: &Term) -> (Term, Combining) {
        if self.work == 0 || !has_reduction(term) {
            return (term.clone(), Combining::Kept);
        }
        for algebra in self.algebras(term) {
            if let Some(read) = self.monomials(term, &algebra) {
                return self.combined(read, algebra, term);
            }
        }
        self.inside(term)
    }

    /// A term of the type of `like` as the combination that it was read as.
    fn combined(&mut self, read: Read, algebra: Algebra, like: &Term) -> (Term, Combining) {
        let Built { after, reversed, extremes } = self.build(read.monomials, &algebra, like);
        let reading = Box::new(read.how);
        (after.clone(), Combining::Combined { algebra, reading, reversed, extremes, after })
    }

    fn terms(&mut self, terms: &[Term]) -> (Vec<Term>, Combining) {
        let (terms, how) = terms.iter().map(|term| self.term(term)).unzip();
        (terms, Combining::Inside(how))
    }

    /// The algebras in which the head of the term combines, the stronger one first.
    fn algebras(&self, term: &Term) -> Vec<Algebra> {
        let declared = match term.form() {
            Form::Reduce(reduce) => reduce.op.declared(),
            Form::Call(Fun::Combine(monoid), _) => Some(monoid),
            _ => None,
        };
        if let Some(monoid) = declared {
            let laws = monoid.laws_in(self.mode).filter(|laws| laws.commutative);
            return laws.map(|_| Algebra::Monoid(Monoid::Declared(monoid.clone()))).into_iter().collect();
        }
        let Some(ty) = term.tensor_type() else { return Vec::new() };
        let op = match term.form() {
            Form::Reduce(reduce) => reduce.op.clone(),
            Form::Call(Fun::Scalar(fun), _) => match (fun, ty.dtype.category()) {
                (Scalar::Add | Scalar::Sub | Scalar::Mul | Scalar::Neg, Category::Int | Category::Float) => {
                    Monoid::Sum
                }
                (Scalar::Div | Scalar::Reciprocal | Scalar::Exp, Category::Float)
                    if self.field && self.mode == Mode::Real =>
                {
                    return vec![Algebra::Ring];
                }
                (Scalar::Maximum, _) => Monoid::Max,
                (Scalar::Minimum, _) => Monoid::Min,
                (Scalar::LogicalAnd, _) => Monoid::All,
                (Scalar::LogicalOr, _) => Monoid::Any,
                _ => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        let bool_sum = ty.dtype == DType::Bool && matches!(op, Monoid::Sum | Monoid::Prod);
        if bool_sum || !reorderable(&op, term.ty(), self.mode) {
            return Vec::new();
        }
        let ring = op == Monoid::Sum && (ty.dtype.is_int() || self.mode == Mode::Real);
        let mut algebras = Vec::new();
        if ring {
            algebras.push(Algebra::Ring);
        }
        if !(ring && ty.dtype.is_int()) {
            algebras.push(Algebra::Monoid(op));
        }
        algebras
    }

    /// The term with its parts in normal form.
    fn inside(&mut self, term: &Term) -> (Term, Combining) {
        let span = term.span();
        match term.form() {
            Form::Call(Fun::Scalar(Scalar::LogicalNot), args) if args.len() == 1 => {
                let (after, how) = self.negation(&args[0], term);
                (after, Combining::Negated(Box::new(how)))
            }
            Form::Call(Fun::Scalar(fun), args) => {
                let real = self.field && self.mode == Mode::Real && term.dtype().is_float();
                if let (Scalar::Log, true) = (fun, real)
                    && let Some((sum, argument)) = self.logarithm(&args[0])
                {
                    let (after, sum) = self.term(&sum);
                    let (argument, sum) = (Box::new(argument), Box::new(sum));
                    return (after, Combining::Logarithm { argument, sum });
                }
                let (args, how) = self.terms(args);
                (Term::scalar(*fun, args, span), how)
            }
            Form::Call(Fun::Cast(dtype), args) if args.len() == 1 => {
                let (mut args, how) = self.terms(args);
                (Term::cast(*dtype, args.remove(0), span), how)
            }
            Form::Call(Fun::Combine(monoid), args) if args.len() == 2 => {
                let (args, how) = self.terms(args);
                (Term::combine(monoid.clone(), args[0].clone(), args[1].clone(), span), how)
            }
            Form::Call(Fun::Item(k), args) if args.len() == 1 => {
                let (mut args, how) = self.terms(args);
                (Term::item(*k, args.remove(0), span), how)
            }
            Form::Tuple(parts) => {
                let (parts, how) = self.terms(parts);
                (Term::tuple(parts, span), how)
            }
            Form::Read(base, index) => {
                let (index, how) = self.terms(index);
                (Term::read(base.clone(), index, span), how)
            }
            Form::If(cond, then, other) => {
                let (truth, falsity) = match cond.as_cond() {
                    Some(cond) => (vec![cond.clone()], vec![cond.negated()]),
                    None => (Vec::new(), Vec::new()),
                };
                let (cond, in_cond) = self.term(cond);
                let (then, in_then) = self.given(truth, |normal| normal.term(then));
                let (other, in_other) = self.given(falsity, |normal| normal.term(other));
                (Term::if_(cond, then, other, span), Combining::Inside(vec![in_cond, in_then, in_other]))
            }
            Form::Reduce(reduce) => {
                let (binders, body) = self.opened(reduce);
                let (body, how) = self.given(ranges(&binders), |normal| normal.term(&body));
                let under = Combining::Under(binders.clone(), Box::new(how));
                (Term::reduce(reduce.op.clone(), binders, body, span), under)
            }
            _ => (term.clone(), Combining::Kept),
        }
    }

    /// `not any p = all not p` and `not all p = any not p`.
    fn negation(&mut self, inner: &Term, term: &Term) -> (Term, Combining) {
        let span = term.span();
        let not = |t: &Term| match t.form() {
            Form::Call(Fun::Scalar(Scalar::LogicalNot), args) if args.len() == 1 => args[0].clone(),
            _ => Term::scalar(Scalar::LogicalNot, vec![t.clone()], span),
        };
        match inner.form() {
            Form::Reduce(Reduce { op: op @ (Monoid::Any | Monoid::All), binders, body }) => {
                let dual = if *op == Monoid::Any { Monoid::All } else { Monoid::Any };
                let dual = Term::reduce(dual, binders.clone(), not(body), span);
                self.term(&dual)
            }
            _ => {
                let (inner, how) = self.term(inner);
                (not(&inner), how)
            }
        }
    }

    /// Binders and body with fresh symbols: copies of a reduction may come together, and
    /// a fact about an outer symbol of the same name is none about the binder.
    fn opened(&mut self, reduce: &Reduce) -> (Vec<Binder>, Term) {
        let (mut rename, mut binders) = (Subst::new(), Vec::new());
        for Binder { sym, extent } in &reduce.binders {
            let new = self.fresh.sym(sym);
            binders.push(Binder { sym: new.clone(), extent: rename.size(extent) });
            rename = rename.with_size(sym, Size::sym(&new));
        }
        (binders, rename.term(&reduce.body, self.fresh))
    }

    fn given<R>(&mut self, facts: Vec<Cond>, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.facts.len();
        self.facts.extend(facts);
        let result = f(self);
        self.facts.truncate(before);
        result
    }

    /// What the solver cannot tell does not hold; after several such questions none is
    /// asked, since each may take as long as its budget.
    fn holds(&self, cond: &Cond) -> bool {
        if self.open.get() >= MAX_OPEN {
            return false;
        }
        match self.sizes.ask(&self.facts, cond) {
            SizeAnswer::Entailed => true,
            SizeAnswer::Model(_) => false,
            SizeAnswer::Unknown(_) => {
                self.open.set(self.open.get() + 1);
                false
            }
        }
    }
}

/// The ranges of binders as facts.
fn ranges(binders: &[Binder]) -> Vec<Cond> {
    binders.iter().map(|b| Cond::within(&Size::zero(), &Size::sym(&b.sym), &b.extent)).collect()
}

fn has_reduction(term: &Term) -> bool {
    matches!(term.form(), Form::Reduce(_)) || children(term).into_iter().any(has_reduction)
}
