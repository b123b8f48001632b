//! A normal form of unfolded scalars that keeps every bit of the value.
//!
//! Simplified under facts; equations between sizes solved; ranges of reductions merged and
//! split, empty ones gone (see `ranges.rs`); operands of commutative
//! functions and binders of reductions that may be permuted in an order that does not
//! depend on names; binders of extent one dropped. Reductions of floats by `sum` and
//! `prod` keep their order, which is observable.

use crate::alpha::Naming;
use crate::arith;
use crate::convert::cast;
use crate::entail::{Cond, Entails};
use crate::ranges::Ranges;
use crate::scalar::Scalar;
use crate::simplify;
use crate::size::{Atom, Size};
use crate::subst::{Fresh, Subst};
use crate::term::{Binder, Form, Fun, Loop, Monoid, Reduce, Term};
use num_traits::Zero;

/// Binders of one reduction that are tried in every order.
const PERMUTED: usize = 3;

/// The normal form; equal values follow from alpha-equal results, not conversely.
/// As with [`simplify::term`], the result may be defined in more places.
pub fn normalize(term: &Term, facts: &[Cond], engine: &dyn Entails) -> Term {
    let mut fresh = Fresh::above([term]).and_above(facts);
    let solutions = arith::solutions(facts);
    let term = solutions.term(term, &mut fresh);
    let mut facts: Vec<Cond> = facts.to_vec();
    facts.extend(facts.clone().iter().map(|f| solutions.cond(f)).filter(|f| *f != Cond::True));
    let term = simplify::term(&term, &facts, engine);
    let mut normal = Normal { fresh, engine, facts };
    normal.term(&term, &mut Naming::default())
}

struct Normal<'a> {
    fresh: Fresh,
    engine: &'a dyn Entails,
    facts: Vec<Cond>,
}

impl Normal<'_> {
    fn terms(&mut self, terms: &[Term], names: &mut Naming) -> Vec<Term> {
        terms.iter().map(|t| self.term(t, names)).collect()
    }

    fn term(&mut self, term: &Term, names: &mut Naming) -> Term {
        let span = term.span();
        match term.form() {
            Form::Size(_) | Form::Lit(_) | Form::Var(_) => term.clone(),
            Form::Call(fun, args) => {
                let args = self.terms(args, names);
                match (fun, args.as_slice()) {
                    (Fun::Scalar(f), _) => ordered(*f, args, term, names),
                    (Fun::Cast(dtype), [arg]) => cast(*dtype, arg.clone(), span),
                    (Fun::Item(k), [arg]) => Term::item(*k, arg.clone(), span),
                    (Fun::Op(instance), _) => Term::call(instance.clone(), args, span),
                    (Fun::Combine(monoid), [left, right]) => {
                        Term::combine(monoid.clone(), left.clone(), right.clone(), span)
                    }
                    (Fun::Cast(_) | Fun::Item(_) | Fun::Combine(_), _) => term.clone(),
                }
            }
            Form::Read(base, index) => {
                let base = self.term(base, names);
                Term::read(base, self.terms(index, names), span)
            }
            Form::Reduce(r) => self.reduce(r, term, names),
            Form::If(c, a, b) => {
                let c = self.term(c, names);
                let a = self.term(a, names);
                Term::if_(c, a, self.term(b, names), span)
            }
            Form::Tuple(parts) => Term::tuple(self.terms(parts, names), span),
            Form::Loop(l) if l.condition.is_none() => {
                let state = l.state.iter().map(|(var, init)| (var.clone(), self.term(init, names))).collect();
                let counters = l.counter.as_slice();
                let mut inner = names.under(counters);
                l.state.iter().for_each(|(var, _)| inner.bind(var));
                let step = self.under(counters, |normal| normal.term(&l.step, &mut inner));
                Term::loop_(Loop { state, counter: l.counter.clone(), condition: None, step }, span)
            }
            // Not in unfolded scalars.
            Form::Comp(..) | Form::Let(..) | Form::Loop(_) | Form::Write(_) => term.clone(),
        }
    }

    fn reduce(&mut self, r: &Reduce, whole: &Term, names: &mut Naming) -> Term {
        let span = whole.span();
        let free_order = permutable(&r.op, whole);
        let is_element = free_order || matches!(r.op, Monoid::Max | Monoid::Min | Monoid::Declared(_));
        let (binders, body) = self.without_units(r, is_element);
        let facts = self.facts.clone();
        let mut ranges =
            Ranges { binders, body, free_order, facts: &facts, engine: self.engine, fresh: &mut self.fresh };
        if ranges.empty() {
            return r.op.neutral(r.body.ty(), span);
        }
        ranges.reshape();
        let Ranges { binders, body, .. } = ranges;
        // A float sum over one element is not the element: `0.0 + -0.0` is `0.0`.
        if binders.is_empty() && is_element {
            return self.term(&body, names);
        }
        let reduce = Reduce { op: r.op.clone(), binders, body };
        if let Some(few) = reduce.written_out(&mut self.fresh) {
            return self.term(&few, names);
        }
        let Reduce { binders, body, .. } = reduce;
        let orders =
            if free_order && independent(&binders) { orders(&binders, names) } else { vec![binders] };
        let candidates = orders.into_iter().map(|binders| {
            let mut inner = names.under(&binders);
            let body = self.under(&binders, |normal| normal.term(&body, &mut inner));
            let new = Term::reduce(r.op.clone(), binders, body, span);
            (names.key(&new), new)
        });
        let least = candidates.min_by_key(|(key, _)| *key);
        least.expect("invariant: at least one order").1
    }

    /// `f` with the ranges of the binders as facts.
    fn under<R>(&mut self, binders: &[Binder], f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.facts.clone();
        for Binder { sym, extent } in binders {
            self.facts.retain(|fact| !fact.mentions(sym));
            if !extent.mentions(sym) {
                self.facts.push(Cond::lt(&Size::sym(sym), extent));
            }
        }
        let result = f(self);
        self.facts = outer;
        result
    }

    /// Drops binders of extent one. The last one stays where a reduction of one
    /// element is not that element: a float sum is one unknown function of its values.
    fn without_units(&mut self, r: &Reduce, may_vanish: bool) -> (Vec<Binder>, Term) {
        let unit = |b: &Binder| {
            b.extent.is_one()
                || (b.extent.as_const().is_none()
                    && self.engine.entails(&self.facts, &Cond::eq(&b.extent, &Size::one())))
        };
        let (units, mut kept): (Vec<Binder>, Vec<Binder>) = r.binders.iter().cloned().partition(unit);
        if units.is_empty() {
            return (kept, r.body.clone());
        }
        let mut subst = Subst::new();
        for unit in &units {
            subst = subst.with_size(&unit.sym, Size::zero());
        }
        kept.iter_mut().for_each(|b| b.extent = subst.size(&b.extent));
        if kept.is_empty() && !may_vanish {
            kept.push(Binder { sym: units[0].sym.clone(), extent: Size::one() });
        }
        (kept, subst.term(&r.body, &mut self.fresh))
    }
}

/// Whether the order of the elements does not matter, to the bit.
fn permutable(op: &Monoid, whole: &Term) -> bool {
    match op {
        // Its laws say nothing of elements that are undefined.
        Monoid::Declared(_) => false,
        Monoid::Any | Monoid::All => true,
        // The greatest of two zeros is the one that comes first.
        Monoid::Max | Monoid::Min | Monoid::Sum | Monoid::Prod => !is_float(whole),
    }
}

fn is_float(term: &Term) -> bool {
    term.tensor_type().is_some_and(|t| t.dtype.is_float())
}

fn independent(binders: &[Binder]) -> bool {
    binders.iter().all(|b| binders.iter().all(|other| !b.extent.mentions(&other.sym)))
}

/// All orders of few binders; many are only sorted by extent.
fn orders(binders: &[Binder], names: &Naming) -> Vec<Vec<Binder>> {
    if binders.len() > PERMUTED {
        let mut sorted = binders.to_vec();
        sorted.sort_by_key(|b| names.size(&b.extent));
        return vec![sorted];
    }
    let mut all = vec![Vec::new()];
    for binder in binders {
        all = all
            .iter()
            .flat_map(|order: &Vec<Binder>| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, binder.clone());
                    longer
                })
            })
            .collect();
    }
    all
}

/// A scalar call with the operands of a commutative function sorted, and `>`, `>=`
/// turned into `<`, `<=`.
fn ordered(fun: Scalar, mut args: Vec<Term>, whole: &Term, names: &mut Naming) -> Term {
    let fun = match fun {
        Scalar::Gt | Scalar::Ge => {
            args.reverse();
            if fun == Scalar::Gt { Scalar::Lt } else { Scalar::Le }
        }
        other => other,
    };
    if commutes(fun, args.first().is_some_and(is_float)) && !args.iter().any(is_guarded) {
        args.sort_by_cached_key(|t| names.key(t));
    }
    Term::scalar(fun, args, whole.span())
}

/// A condition that may divide by zero, which the condition before it may exclude.
fn is_guarded(term: &Term) -> bool {
    let mut pending: Vec<&Size> = match term.form() {
        Form::Call(Fun::Scalar(_), args) if term.as_cond().is_some() => {
            if args.iter().any(is_guarded) {
                return true;
            }
            args.iter().filter_map(Term::as_size).collect()
        }
        _ => return false,
    };
    while let Some(size) = pending.pop() {
        for (atom, _) in size.terms().iter().flat_map(|(m, _)| m) {
            match atom {
                Atom::Sym(_) => {}
                Atom::Div(_, d) if d.as_const().is_none_or(|d| d.is_zero()) => return true,
                Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => pending.extend([a, b]),
            }
        }
    }
    false
}

/// Functions with `f(x, y) = f(y, x)` to the bit; all NaNs are one value, but of two
/// zeros `maximum` and `minimum` give the first.
fn commutes(fun: Scalar, float: bool) -> bool {
    use Scalar::*;
    match fun {
        Add | Mul | Eq | Ne | LogicalAnd | LogicalOr | LogicalXor => true,
        BitwiseAnd | BitwiseOr | BitwiseXor => true,
        Maximum | Minimum => !float,
        _ => false,
    }
}
