//! When the evaluation of a term succeeds: everything that must hold for it.
//!
//! Evaluation is strict: arguments and `let` values are computed in full, at every
//! index, whether or not an element is used; `if` looks at one branch, and a read of a
//! comprehension at one element. So an
//! obligation belongs to a whole term, with the ranges of the enclosing binders and
//! the conditions of the enclosing branches as its path. Undefined values over the
//! reals (`1/0`, `log` of a negative) are values here, not errors.

use crate::diag::Span;
use crate::dtype::DType;
use crate::entail::Cond;
use crate::scalar::{Domain, Scalar, Value};
use crate::simplify::known;
use crate::size::{Atom, Size};
use crate::subst::{Fresh, free_vars};
use crate::term::{Binder, ErrorClass, Form, Fun, Instance, Lit, Loop, Reduce, Term};
use crate::types::Type;
use crate::unfold::{Env, Limits, Machine, UnfoldError};
use num_bigint::BigInt;
use std::sync::Arc;

/// What leads to the place of an obligation.
#[derive(Clone, Debug)]
pub enum Guard {
    /// For every value of a binder.
    Index(Binder),
    /// Where a boolean scalar is true.
    Holds(Term),
}

/// A condition without which evaluation ends in an error.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// Outermost first.
    pub path: Vec<Guard>,
    /// An unfolded boolean scalar.
    pub need: Term,
    pub class: ErrorClass,
    pub text: String,
    pub span: Span,
    /// Whether it is a precondition of a call, which is checked when the call is entered.
    pub at_entry: bool,
}

impl Obligation {
    /// What the path says about sizes.
    pub fn facts(&self) -> Vec<Cond> {
        let facts = self.path.iter().flat_map(|guard| match guard {
            Guard::Index(Binder { sym, extent }) => vec![Cond::lt(&Size::sym(sym), extent)],
            Guard::Holds(term) => known(term, true),
        });
        facts.collect()
    }
}

/// The obligations of a term, in evaluation order: each may assume the earlier ones
/// of its own path.
pub fn definedness(term: &Term, fresh: &mut Fresh, limits: Limits) -> Result<Vec<Obligation>, UnfoldError> {
    let mut walk = Walk { machine: Machine::new(fresh, limits), path: Vec::new(), found: Vec::new() };
    walk.term(term, &Env::default())?;
    Ok(walk.found)
}

struct Walk<'a> {
    machine: Machine<'a>,
    path: Vec<Guard>,
    found: Vec<Obligation>,
}

impl Walk<'_> {
    fn need(&mut self, need: Term, class: ErrorClass, text: String, span: Span) {
        let need = match need.as_cond() {
            Some(Cond::True) => return,
            Some(Cond::False) => Term::bool(false, span),
            _ => need,
        };
        let path = self.path.clone();
        self.found.push(Obligation { path, need, class, text, span, at_entry: false });
    }

    fn need_cond(&mut self, cond: &Cond, class: ErrorClass, text: String, span: Span) {
        self.need(Term::cond(cond, span), class, text, span);
    }

    fn terms(&mut self, terms: &[Term], env: &Env) -> Result<(), UnfoldError> {
        terms.iter().try_for_each(|t| self.term(t, env))
    }

    fn term(&mut self, term: &Term, env: &Env) -> Result<(), UnfoldError> {
        self.machine.enter()?;
        let before = self.path.len();
        let (mut term, mut env) = (term, env.clone());
        while let Form::Let(v, value, body) = term.form() {
            self.term(value, &env)?;
            env = env.with_var(v, value, &env);
            term = body;
        }
        self.form(term, &env)?;
        self.path.truncate(before);
        self.machine.leave();
        Ok(())
    }

    fn form(&mut self, term: &Term, env: &Env) -> Result<(), UnfoldError> {
        let span = term.span();
        match term.form() {
            Form::Size(s) => self.size(s, env, span),
            Form::Lit(lit) => {
                let dtype = term.dtype();
                if Value::literal(&lit.text(), dtype, Domain::Ieee).is_err() {
                    let text = format!("`{}` is a value of {dtype}", lit.text());
                    self.need(Term::bool(false, span), ErrorClass::Value, text, span);
                }
                Ok(())
            }
            Form::Var(_) => Ok(()),
            Form::Call(Fun::Scalar(f), args) if guards(*f, args) => self.guarded(*f, args, env),
            Form::Call(fun, args) => {
                self.terms(args, env)?;
                match fun {
                    Fun::Scalar(f) => self.scalar(*f, args, env, span),
                    Fun::Cast(_) | Fun::Item(_) => Ok(()),
                    Fun::Op(instance) => self.instance(instance, args, env),
                    Fun::Combine(monoid) => self.instance(&monoid.combine, args, env),
                }
            }
            Form::Read(base, index) => {
                self.terms(index, env)?;
                let at: Result<Vec<Term>, _> =
                    index.iter().map(|t| Ok(self.machine.scalar(t, env)?.term)).collect();
                self.element(base, &at?, env)
            }
            Form::Comp(binders, body) => {
                let inner = self.axes(binders, env, span)?;
                self.term(body, &inner)
            }
            Form::Reduce(reduce) => self.reduce(reduce, env, span),
            Form::If(c, a, b) => {
                self.branches(c, env, &mut |s, taken| s.term(if taken { a } else { b }, env))
            }
            Form::Let(v, value, body) => {
                self.term(value, env)?;
                self.term(body, &env.with_var(v, value, env))
            }
            Form::Tuple(parts) => self.terms(parts, env),
            Form::Loop(l) => self.fold(l, env, span),
            Form::Write(_) => Err(unsupported("the obligations of a write are not collected", span)),
        }
    }

    fn size(&mut self, size: &Size, env: &Env, span: Span) -> Result<(), UnfoldError> {
        let mut divisors = Vec::new();
        collect_divisors(size, &mut divisors);
        for divisor in divisors {
            let divisor = env.size(&divisor, span)?;
            let cond = Cond::ne(&divisor, &Size::zero());
            let text = format!("the divisor {divisor} is not zero");
            self.need_cond(&cond, ErrorClass::Arithmetic, text, span);
        }
        Ok(())
    }

    fn scalar(&mut self, fun: Scalar, args: &[Term], env: &Env, span: Span) -> Result<(), UnfoldError> {
        let dividing =
            matches!(fun, Scalar::FloorDivide | Scalar::TruncDivide | Scalar::Remainder | Scalar::Fmod);
        if let (true, [_, divisor]) = (dividing, args)
            && let Some(t) = divisor.tensor_type()
            && !t.dtype.is_float()
        {
            let dtype = t.dtype;
            let divisor = self.machine.scalar(divisor, env)?.term;
            let zero = Term::lit(Lit::Int(BigInt::from(0)), dtype, span);
            let need = Term::scalar(Scalar::Ne, vec![divisor, zero], span);
            let text = format!("the divisor of `{fun}` is not zero");
            self.need(need, ErrorClass::Arithmetic, text, span);
        }
        Ok(())
    }

    fn instance(&mut self, instance: &Arc<Instance>, args: &[Term], env: &Env) -> Result<(), UnfoldError> {
        let inner = env.with_params(instance, args);
        for require in &instance.requires {
            self.term(&require.cond, &inner)?;
            let need = self.machine.scalar(&require.cond, &inner)?.term;
            let text = format!("`{}` requires {}", instance.name, require.text);
            let found = self.found.len();
            self.need(need.clone(), require.class, text, require.span);
            self.found[found..].iter_mut().for_each(|o| o.at_entry = true);
            // The body runs only where the precondition held.
            self.path.push(Guard::Holds(need));
        }
        self.term(&instance.body, &inner)
    }

    /// A read of `base` at an unfolded index. A comprehension is not computed for it:
    /// only the element read must be defined.
    fn element(&mut self, base: &Term, at: &[Term], env: &Env) -> Result<(), UnfoldError> {
        self.machine.enter()?;
        let before = self.path.len();
        let span = base.span();
        match base.form() {
            Form::Comp(binders, body) => {
                self.extents(binders, env, span)?;
                let extents: Vec<Size> = binders.iter().map(|b| b.extent.clone()).collect();
                let needs = self.in_range(&extents, at, env, span)?;
                self.path.extend(needs.into_iter().map(Guard::Holds));
                let bound = binders.iter().zip(at);
                let inner = bound.fold(env.clone(), |e, (b, i)| e.with_sym(&b.sym, i.clone()));
                self.term(body, &inner)?;
            }
            Form::If(c, a, b) => {
                self.branches(c, env, &mut |s, taken| s.element(if taken { a } else { b }, at, env))?
            }
            Form::Let(v, value, body) => {
                self.term(value, env)?;
                self.element(body, at, &env.with_var(v, value, env))?;
            }
            _ => {
                self.term(base, env)?;
                if let Some(tensor) = base.tensor_type() {
                    self.in_range(&tensor.shape, at, env, span)?;
                }
            }
        }
        self.path.truncate(before);
        self.machine.leave();
        Ok(())
    }

    /// Every index lies in its axis; gives the conditions.
    fn in_range(
        &mut self,
        shape: &[Size],
        at: &[Term],
        env: &Env,
        span: Span,
    ) -> Result<Vec<Term>, UnfoldError> {
        let mut needs = Vec::new();
        for (extent, at) in env.sizes(shape, span)?.iter().zip(at) {
            let place = at.span();
            let (need, kind) = match at.as_size() {
                Some(p) => (Term::cond(&Cond::within(&Size::zero(), p, extent), place), "the index"),
                None => (data_in_range(at, extent, place), "the index from data"),
            };
            let text = format!("{kind} lies in 0..{extent}");
            self.need(need.clone(), ErrorClass::Index, text, place);
            needs.push(need);
        }
        Ok(needs)
    }

    fn extents(&mut self, binders: &[Binder], env: &Env, span: Span) -> Result<(), UnfoldError> {
        for binder in binders {
            self.size(&binder.extent, env, span)?;
            let extent = env.size(&binder.extent, span)?;
            if !extent.as_sym().is_some_and(|s| s.is_natural()) {
                let text = format!("the extent {extent} is not negative");
                let cond = Cond::le(&Size::zero(), &extent);
                self.need_cond(&cond, ErrorClass::Shape, text, span);
            }
        }
        Ok(())
    }

    /// The scope of a comprehension's body.
    fn axes(&mut self, binders: &[Binder], env: &Env, span: Span) -> Result<Env, UnfoldError> {
        self.extents(binders, env, span)?;
        let (binders, inner) = self.machine.bind(binders, env, span)?;
        self.path.extend(binders.into_iter().map(Guard::Index));
        Ok(inner)
    }

    /// A negative extent of a reduction is an empty one; extents see earlier binders.
    fn reduce(&mut self, reduce: &Reduce, env: &Env, span: Span) -> Result<(), UnfoldError> {
        let Reduce { op, binders, body } = reduce;
        let mut inner = env.clone();
        for binder in binders {
            self.size(&binder.extent, &inner, span)?;
            let (new, scope) = self.machine.bind(std::slice::from_ref(binder), &inner, span)?;
            self.path.extend(new.into_iter().map(Guard::Index));
            inner = scope;
        }
        if let Some(monoid) = op.declared() {
            let found = self.found.len();
            self.term(&monoid.combine.body, &inner)?;
            // Of what its elements combine to nothing is known here.
            if self.found.len() > found {
                return Err(unsupported(&format!("a combination by `{}` may fail", monoid.name()), span));
            }
        }
        self.term(body, &inner)
    }

    /// An ordered fold: what a step needs must not depend on the state that it meets.
    fn fold(&mut self, l: &Loop, env: &Env, span: Span) -> Result<(), UnfoldError> {
        let ([(state, init)], Some(counter), None) = (l.state.as_slice(), &l.counter, &l.condition) else {
            return Err(unsupported("the obligations of a loop are not collected", span));
        };
        self.term(init, env)?;
        self.size(&counter.extent, env, span)?;
        let (counters, inner) = self.machine.bind(std::slice::from_ref(counter), env, span)?;
        self.path.extend(counters.into_iter().map(Guard::Index));
        let found = self.found.len();
        self.term(&l.step, &inner)?;
        let open = self.found[found..].iter().any(|need| {
            let guards = need.path.iter().filter_map(|guard| match guard {
                Guard::Holds(term) => Some(term),
                Guard::Index(_) => None,
            });
            guards.chain([&need.need]).any(|term| free_vars(term).contains(state))
        });
        match open {
            true => Err(unsupported("a step of a fold may fail on what the fold has come to", span)),
            false => Ok(()),
        }
    }

    /// Runs `branch` for each truth of the condition that is possible.
    fn branches(
        &mut self,
        c: &Term,
        env: &Env,
        branch: &mut dyn FnMut(&mut Self, bool) -> Result<(), UnfoldError>,
    ) -> Result<(), UnfoldError> {
        self.term(c, env)?;
        let c = self.machine.scalar(c, env)?.term;
        match c.as_cond() {
            Some(Cond::True) => return branch(self, true),
            Some(Cond::False) => return branch(self, false),
            _ => {}
        }
        for truth in [true, false] {
            self.path.push(Guard::Holds(if truth { c.clone() } else { negated(&c) }));
            branch(self, truth)?;
            self.path.pop();
        }
        Ok(())
    }

    /// `and`, `or` with a condition on sizes on the right, which is evaluated only where
    /// the left side does not decide.
    fn guarded(&mut self, fun: Scalar, args: &[Term], env: &Env) -> Result<(), UnfoldError> {
        self.branches(&args[0], env, &mut |s, truth| {
            if truth == (fun == Scalar::LogicalAnd) { s.term(&args[1], env) } else { Ok(()) }
        })
    }
}

fn unsupported(what: &str, span: Span) -> UnfoldError {
    UnfoldError::Unsupported { what: what.to_string(), span }
}

fn guards(fun: Scalar, args: &[Term]) -> bool {
    let [left, right] = args else { return false };
    matches!(fun, Scalar::LogicalAnd | Scalar::LogicalOr)
        && left.ty() == &Type::scalar(DType::Bool)
        && right.as_cond().is_some()
}

fn negated(c: &Term) -> Term {
    match c.as_cond() {
        Some(cond) => Term::cond(&cond.negated(), c.span()),
        None => Term::scalar(Scalar::LogicalNot, vec![c.clone()], c.span()),
    }
}

/// `0 <= at < extent`, in i64, which has every value of an index dtype. A greater extent
/// has them all as indices.
fn data_in_range(at: &Term, extent: &Size, span: Span) -> Term {
    let at = Term::cast(DType::I64, at.clone(), span);
    let size = |s: &Size| Term::cast(DType::I64, Term::size(s.clone(), span), span);
    let low = Term::scalar(Scalar::Le, vec![size(&Size::zero()), at.clone()], span);
    let mut high = Term::scalar(Scalar::Lt, vec![at, size(extent)], span);
    let beyond = Cond::lt(&Size::from(i64::MAX), extent);
    if beyond != Cond::False {
        high = Term::scalar(Scalar::LogicalOr, vec![Term::cond(&beyond, span), high], span);
    }
    Term::scalar(Scalar::LogicalAnd, vec![low, high], span)
}

/// Divisors that are not nonzero constants, innermost first.
fn collect_divisors(size: &Size, into: &mut Vec<Size>) {
    for (atom, _) in size.terms().iter().flat_map(|(m, _)| m) {
        if let Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b) = atom {
            collect_divisors(a, into);
            collect_divisors(b, into);
            let constant = b.as_const().is_some() && !b.is_zero();
            if matches!(atom, Atom::Div(..)) && !constant && !into.contains(b) {
                into.push(b.clone());
            }
        }
    }
}
