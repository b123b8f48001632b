//! Splitting a scalar term at a condition on sizes that it hangs on.
//!
//! Invariant: where the condition has a truth value, the term has the value of its
//! decided form for that truth value. Reductions are entered only for conditions that
//! their binders do not occur in.

use rtv_semantics::dtype::DType;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::children;
use rtv_semantics::term::{Form, Fun, Reduce, Term};

use crate::encode::divisors;

/// The first condition on sizes that decides a branch in the term.
pub(crate) fn first_condition(term: &Term) -> Option<Cond> {
    search(term, &mut Vec::new())
}

fn search(term: &Term, bound: &mut Vec<Sym>) -> Option<Cond> {
    match term.form() {
        Form::If(cond, then, other) => {
            let free = |cond: &Cond| {
                let mut syms = std::collections::BTreeSet::new();
                cond.collect_syms(&mut syms);
                bound.iter().all(|sym| !syms.contains(sym))
            };
            match cond.as_cond().filter(free) {
                Some(cond) if !matches!(cond, Cond::True | Cond::False) => Some(cond),
                _ => [cond, then, other].into_iter().find_map(|part| search(part, bound)),
            }
        }
        Form::Call(Fun::Scalar(_) | Fun::Cast(_) | Fun::Combine(_) | Fun::Item(_), args)
        | Form::Tuple(args) => args.iter().find_map(|arg| search(arg, bound)),
        Form::Reduce(Reduce { binders, body, .. }) => {
            let outer = bound.len();
            bound.extend(binders.iter().map(|binder| binder.sym.clone()));
            let found = search(body, bound);
            bound.truncate(outer);
            found
        }
        _ => None,
    }
}

/// The term where the condition is true, or where it is false.
pub(crate) fn decided(term: &Term, known: &Cond, truth: bool) -> Term {
    let span = term.span();
    let again = |t: &Term| decided(t, known, truth);
    match term.form() {
        Form::If(cond, then, other) => match cond.as_cond() {
            Some(cond) if cond == *known => again(if truth { then } else { other }),
            _ => Term::if_(again(cond), again(then), again(other), span),
        },
        Form::Call(Fun::Scalar(fun), args) => Term::scalar(*fun, args.iter().map(again).collect(), span),
        Form::Call(Fun::Cast(dtype), args) if args.len() == 1 => Term::cast(*dtype, again(&args[0]), span),
        Form::Call(Fun::Combine(monoid), args) if args.len() == 2 => {
            Term::combine(monoid.clone(), again(&args[0]), again(&args[1]), span)
        }
        Form::Call(Fun::Item(k), args) if args.len() == 1 => Term::item(*k, again(&args[0]), span),
        Form::Tuple(parts) => Term::tuple(parts.iter().map(again).collect(), span),
        Form::Reduce(Reduce { op, binders, body }) => {
            // A binder may hide a symbol of the condition.
            let mut syms = std::collections::BTreeSet::new();
            known.collect_syms(&mut syms);
            if binders.iter().any(|binder| syms.contains(&binder.sym)) {
                return term.clone();
            }
            Term::reduce(op.clone(), binders.clone(), again(body), span)
        }
        _ => term.clone(),
    }
}

/// A condition that has a truth value wherever the facts hold: no division in it fails.
pub(crate) fn is_total(cond: &Cond, facts: &[Cond], engine: &dyn Entails) -> bool {
    match cond {
        Cond::True | Cond::False => true,
        Cond::NonNeg(p) | Cond::Zero(p) | Cond::NonZero(p) => {
            divisors(p).iter().all(|d| engine.entails(facts, &Cond::ne(d, &Size::zero())))
        }
        Cond::And(parts) | Cond::Or(parts) => parts.iter().all(|part| is_total(part, facts, engine)),
    }
}

/// Whether the condition divides by a product of sizes: questions about such products are hard
/// for the solver, and best asked one at a time.
pub(crate) fn divides_by_products(cond: &Cond) -> bool {
    match cond {
        Cond::True | Cond::False => false,
        Cond::NonNeg(p) | Cond::Zero(p) | Cond::NonZero(p) => {
            let product =
                |d: &Size| d.terms().iter().any(|(m, _)| m.iter().map(|(_, power)| power).sum::<u32>() > 1);
            divisors(p).iter().any(product)
        }
        Cond::And(parts) | Cond::Or(parts) => parts.iter().any(divides_by_products),
    }
}

/// Whether integer products or quotients occur: branches inside them are hard for the
/// solver, which looks at their bits.
pub(crate) fn multiplies_integers(term: &Term) -> bool {
    let here = match term.form() {
        Form::Call(Fun::Scalar(fun), args) => {
            let hard = matches!(
                fun,
                Scalar::Mul | Scalar::FloorDivide | Scalar::TruncDivide | Scalar::Remainder | Scalar::Fmod
            );
            let dtype = args.first().and_then(Term::tensor_type).map(|ty| ty.dtype);
            hard && dtype.is_some_and(DType::is_int)
        }
        _ => false,
    };
    here || children(term).into_iter().any(multiplies_integers)
}
