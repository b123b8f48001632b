//! What the evaluation of a side without an error says about sizes and data.
//!
//! Both sides are compared where the left one evaluates. There all its obligations hold:
//! those on data are hypotheses, and some say how large sizes are.
//!
//! Note [Indices that wrap]. Sizes have no bound, so an index `i64(k)` of an axis might
//! wrap. But a tensor of indices is computed in full, and all of it is in range. Say
//! `i64(c + k) >= 0` for every `k < n`, where `c < 2^63`. If `c + n - 1` were not below 2^63,
//! then `k = 2^63 - c` would be one of these, with `c + k = 2^63`, which wraps to `-2^63`.
//! So nothing wraps, and the same for `c - k` from its end. Likewise nothing is less than
//! `i64(2^63)`, the least number. All this needs that every range has an element.

use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::defined::{Guard, Obligation};
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::integers::wrapped_size;
use rtv_semantics::normal::normalize;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::simplify;
use rtv_semantics::size::Size;
use rtv_semantics::subst::{Subst, children, free_vars};
use rtv_semantics::term::{Binder, Form, Fun, Lit, Monoid, Reduce, Term};
use rtv_semantics::types::Type;

/// Obligations on data that are looked at.
const MAX_HYPOTHESES: usize = 12;

/// Conditions on sizes that follow from the obligations, beside those that are ones.
pub(crate) fn bounds(obligations: &[Obligation], facts: &[Cond], engine: &dyn Entails) -> Vec<Cond> {
    let (mut known, mut held) = (facts.to_vec(), Vec::new());
    for obligation in obligations {
        if obligation.need.as_cond().is_some() || !free_vars(&obligation.need).is_empty() {
            continue;
        }
        let Some(universal) = Universal::of(obligation, &held, &known, engine) else { continue };
        if obligation.path.iter().all(|guard| matches!(guard, Guard::Holds(_))) {
            held.push(obligation.need.clone());
        }
        let ranges = universal.binders.iter().map(|b| Cond::lt(&Size::sym(&b.sym), &b.extent));
        let inside: Vec<Cond> = known.iter().cloned().chain(ranges).collect();
        let body = simplify::term(&universal.body, &inside, engine);
        let mut parts = Vec::new();
        conjuncts(&body, &mut parts);
        for part in parts {
            known.extend(universal.swept(part, &known, engine));
            known.extend(universal.not_below_least(part));
        }
    }
    known.split_off(facts.len())
}

/// Obligations on integers and bools of the parameters, as closed conditions that hold
/// without error; those that hold anyhow are left out.
pub(crate) fn hypotheses(obligations: &[Obligation], facts: &[Cond], engine: &dyn Entails) -> Vec<Term> {
    let on_data = obligations.iter().filter(|o| !free_vars(&o.need).is_empty()).map(closed);
    let whole = on_data.filter(has_no_floats).take(MAX_HYPOTHESES);
    let normal = whole.map(|term| normalize(&term, facts, engine));
    normal.filter(|term| !matches!(term.form(), Form::Lit(_))).collect()
}

/// An obligation with its path, as one closed condition; neighbouring indices are bound
/// together.
pub(crate) fn closed(o: &Obligation) -> Term {
    o.path.iter().rev().fold(o.need.clone(), |inner, guard| match guard {
        Guard::Index(binder) => match inner.form() {
            Form::Reduce(Reduce { op: Monoid::All, binders, body }) => {
                let binders = std::iter::once(binder).chain(binders).cloned().collect();
                Term::reduce(Monoid::All, binders, body.clone(), o.span)
            }
            _ => Term::reduce(Monoid::All, vec![binder.clone()], inner, o.span),
        },
        Guard::Holds(cond) => Term::if_(cond.clone(), inner, Term::bool(true, o.span), o.span),
    })
}

/// Values over the reals may be undefined, which is no error; integers and bools are not.
fn has_no_floats(term: &Term) -> bool {
    let float = matches!(term.ty(), Type::Tensor(t) if t.dtype.is_float());
    !float && children(term).into_iter().all(has_no_floats)
}

/// A condition that holds at all indices.
struct Universal {
    binders: Vec<Binder>,
    body: Term,
}

impl Universal {
    /// If the branches on the way are taken for all indices, by the facts or since what they
    /// ask is `held`, and no range depends on an index.
    fn of(obligation: &Obligation, held: &[Term], facts: &[Cond], engine: &dyn Entails) -> Option<Universal> {
        let mut binders: Vec<Binder> = Vec::new();
        let mut known = facts.to_vec();
        for guard in &obligation.path {
            match guard {
                Guard::Index(binder) => {
                    known.push(Cond::lt(&Size::sym(&binder.sym), &binder.extent));
                    binders.push(binder.clone());
                }
                Guard::Holds(cond) if held.iter().any(|known| alpha_eq(known, cond)) => {}
                Guard::Holds(cond) => {
                    let cond = simplify::term(cond, &known, engine);
                    let taken = matches!(cond.form(), Form::Lit(Lit::Bool(true)));
                    taken.then_some(())?;
                }
            }
        }
        let mut body = obligation.need.clone();
        while let Form::Reduce(Reduce { op: Monoid::All, binders: inner, body: rest }) = body.form() {
            binders.extend(inner.iter().cloned());
            body = rest.clone();
        }
        let flat = binders.iter().all(|b| binders.iter().all(|other| !b.extent.mentions(&other.sym)));
        flat.then_some(Universal { binders, body })
    }

    /// The condition, or some range is empty.
    fn or_empty(&self, cond: Cond) -> Cond {
        let empty = self.binders.iter().map(|b| Cond::le(&b.extent, &Size::zero()));
        Cond::or(empty.chain([cond]))
    }

    /// The bounds that `p >= 0` puts on a converted size `p = c + k` or `p = c - k`; see Note
    /// [Indices that wrap].
    fn swept(&self, part: &Term, facts: &[Cond], engine: &dyn Entails) -> Vec<Cond> {
        let Some((size, most)) = natural_wrapped(part) else { return Vec::new() };
        let bound = |at: usize| {
            let Binder { sym, extent } = &self.binders[at];
            let others = self.binders.iter().filter(|b| b.sym != *sym);
            let alone = others.fold(Subst::new(), |s, b| s.with_size(&b.sym, Size::zero())).size(&size);
            let last = extent - &Size::one();
            let from = |k: &Size| Subst::new().with_size(sym, k.clone()).size(&alone);
            let rises = &alone - &Size::sym(sym) == from(&Size::zero());
            let falls = &alone + &Size::sym(sym) == from(&Size::zero());
            let (least, greatest) = match (rises, falls) {
                (true, _) => (from(&Size::zero()), from(&last)),
                (_, true) => (from(&last), from(&Size::zero())),
                _ => return None,
            };
            let starts_below = engine.entails(facts, &Cond::le(&least, &most));
            starts_below.then(|| self.or_empty(Cond::le(&greatest, &most)))
        };
        (0..self.binders.len()).filter_map(bound).collect()
    }

    /// `x < i64(p)` is false for `p = 2^63`.
    fn not_below_least(&self, part: &Term) -> Option<Cond> {
        let above = match part.form() {
            Form::Call(Fun::Scalar(Scalar::Lt), args) => args.get(1)?,
            Form::Call(Fun::Scalar(Scalar::Gt), args) => args.first()?,
            _ => return None,
        };
        let (size, most) = (wrapped_size(above)?, signed_most(above)?);
        let free = self.binders.iter().all(|b| !size.mentions(&b.sym));
        free.then(|| self.or_empty(Cond::ne(&size, &(&most + &Size::one()))))
    }
}

/// `p` and the greatest number of the dtype, if the condition says that `p` converted to it
/// is not negative.
fn natural_wrapped(part: &Term) -> Option<(Size, Size)> {
    let Form::Call(Fun::Scalar(fun), args) = part.form() else { return None };
    let [a, b] = args.as_slice() else { return None };
    let (zero, value) = match fun {
        Scalar::Le => (a, b),
        Scalar::Ge => (b, a),
        _ => return None,
    };
    let value = unwidened(value);
    let most = signed_most(value)?;
    let is_zero = wrapped_size(zero).is_some_and(|size| size.is_zero());
    Some((wrapped_size(value).filter(|_| is_zero)?, most))
}

/// The scalar before conversions to wider dtypes, which keep a signed number.
fn unwidened(term: &Term) -> &Term {
    match term.form() {
        Form::Call(Fun::Cast(to), args)
            if signed_most(&args[0]).is_some()
                && signed_most(term).is_some()
                && args[0].dtype().bits() <= to.bits() =>
        {
            unwidened(&args[0])
        }
        _ => term,
    }
}

/// The greatest number of a signed integer dtype.
fn signed_most(term: &Term) -> Option<Size> {
    let dtype: DType = term.tensor_type()?.dtype;
    let (least, most) = dtype.int_range().filter(|_| dtype.is_int())?;
    (least < 0).then(|| Size::from(most))
}

fn conjuncts<'a>(term: &'a Term, into: &mut Vec<&'a Term>) {
    match term.form() {
        Form::Call(Fun::Scalar(Scalar::LogicalAnd), args) => args.iter().for_each(|a| conjuncts(a, into)),
        _ => into.push(term),
    }
}
