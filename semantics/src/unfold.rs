//! One element of a tensor term as a scalar term.
//!
//! Calls of operator instances, `let`s, comprehensions and reads of anything but a
//! free variable disappear; what remains are reads of free variables, literals,
//! sizes, scalar calls, casts, `if`s and reductions. Of a reduction of tuples, or a fold over
//! them, it is a component, and its body is a tuple of scalars. Reductions get fresh binders. A
//! shared argument read twice at one index gives one shared node, so the result is a
//! graph: rename apart before joining copies under one another.
//!
//! The element is meant only where evaluation of the whole term succeeds: obligations
//! come from [`crate::defined`].

use crate::diag::Span;
use crate::size::{Size, Sym};
use crate::subst::Fresh;
use crate::term::{Binder, Form, Fun, Instance, Lit, Loop, Reduce, Term, Var};
use crate::types::Type;
use rustc_hash::FxHashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// Bounds on one unfolding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Nodes of the result, counted as a tree.
    pub nodes: u64,
    /// Nodes visited.
    pub steps: u64,
    /// Nesting of calls and operators.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: 200_000, steps: 1_000_000, depth: 1_200 }
    }
}

/// Why a term has no unfolding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnfoldError {
    TooLarge(Limits),
    TooDeep(Limits),
    Unsupported { what: String, span: Span },
}

impl fmt::Display for UnfoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnfoldError::TooLarge(limits) => {
                write!(f, "unfolding takes more than {} nodes or {} steps", limits.nodes, limits.steps)
            }
            UnfoldError::TooDeep(limits) => {
                write!(f, "calls nest deeper than {} levels", limits.depth)
            }
            UnfoldError::Unsupported { what, .. } => f.write_str(what),
        }
    }
}

impl std::error::Error for UnfoldError {}

/// The scalar at `index` (one term per axis: of type `Size`, or an integer scalar), or a tuple
/// of scalars as a whole.
pub fn element(term: &Term, index: &[Term], fresh: &mut Fresh, limits: Limits) -> Result<Term, UnfoldError> {
    component(term, &[], index, fresh, limits)
}

/// The scalar at `index` of the component that `path` leads to, outermost tuple first.
pub fn component(
    term: &Term,
    path: &[usize],
    index: &[Term],
    fresh: &mut Fresh,
    limits: Limits,
) -> Result<Term, UnfoldError> {
    let mut machine = Machine::new(fresh, limits);
    Ok(machine.element(term, &Env::default(), path, index)?.term)
}

/// Fresh index symbols for the axes of a shape.
pub fn fresh_index(shape: &[Size], fresh: &mut Fresh) -> Vec<Binder> {
    let names = ["i", "j", "k", "l"];
    let axes = shape.iter().enumerate().map(|(axis, extent)| {
        let name = names.get(axis).map_or_else(|| format!("i{axis}"), |n| n.to_string());
        let sym = Sym::new(fresh.id(), crate::size::SymKind::Index, name);
        Binder { sym, extent: extent.clone() }
    });
    axes.collect()
}

/// The binders' symbols as index terms.
pub fn index_terms(binders: &[Binder], span: Span) -> Vec<Term> {
    binders.iter().map(|b| Term::size(Size::sym(&b.sym), span)).collect()
}

/// A term with the meaning of its variables, not yet unfolded.
pub(crate) struct Thunk {
    term: Term,
    env: Env,
}

/// What variables and symbols of a term stand for: a list, innermost first.
#[derive(Clone, Default)]
pub(crate) struct Env(Option<Rc<Link>>);

struct Link {
    what: Bound,
    next: Env,
}

enum Bound {
    Var(Var, Rc<Thunk>),
    /// A size term, or an integer scalar that depends on data.
    Sym(Sym, Term),
}

impl Env {
    pub(crate) fn with_var(&self, var: &Var, term: &Term, env: &Env) -> Env {
        let thunk = Rc::new(Thunk { term: term.clone(), env: env.clone() });
        self.with(Bound::Var(var.clone(), thunk))
    }

    pub(crate) fn with_sym(&self, sym: &Sym, index: Term) -> Env {
        self.with(Bound::Sym(sym.clone(), index))
    }

    /// The scope of an instance's body at a call.
    pub(crate) fn with_params(&self, instance: &Arc<Instance>, args: &[Term]) -> Env {
        let params = instance.params.iter().zip(args);
        params.fold(self.clone(), |env, ((v, _), arg)| env.with_var(v, arg, self))
    }

    fn with(&self, what: Bound) -> Env {
        Env(Some(Rc::new(Link { what, next: self.clone() })))
    }

    fn links(&self) -> impl Iterator<Item = &Bound> {
        std::iter::successors(self.0.as_deref(), |link| link.next.0.as_deref()).map(|l| &l.what)
    }

    fn var(&self, var: &Var) -> Option<Rc<Thunk>> {
        self.links().find_map(|bound| match bound {
            Bound::Var(v, thunk) if v == var => Some(thunk.clone()),
            _ => None,
        })
    }

    fn sym(&self, sym: &Sym) -> Option<&Term> {
        self.links().find_map(|bound| match bound {
            Bound::Sym(s, term) if s == sym => Some(term),
            _ => None,
        })
    }

    /// A size with its symbols replaced.
    pub(crate) fn size(&self, size: &Size, span: Span) -> Result<Size, UnfoldError> {
        let syms = size.syms();
        let bound: Vec<(&Sym, &Term)> = syms.iter().filter_map(|s| self.sym(s).map(|t| (s, t))).collect();
        if bound.is_empty() {
            return Ok(size.clone());
        }
        if let Some((sym, _)) = bound.iter().find(|(_, t)| t.as_size().is_none()) {
            let what =
                format!("`{size}` computes with an index `{sym}` that depends on data", sym = sym.name());
            return Err(UnfoldError::Unsupported { what, span });
        }
        let value = |s: &Sym| bound.iter().find(|(b, _)| *b == s).and_then(|(_, t)| t.as_size());
        Ok(size.subst(&|s| value(s).cloned()))
    }

    fn ty(&self, ty: &Type, span: Span) -> Result<Type, UnfoldError> {
        Ok(match ty {
            Type::Size => Type::Size,
            Type::Tensor(t) => Type::tensor(t.dtype, self.sizes(&t.shape, span)?),
            Type::Tuple(parts) => {
                let parts: Result<Vec<Type>, _> = parts.iter().map(|t| self.ty(t, span)).collect();
                Type::Tuple(parts?)
            }
        })
    }

    pub(crate) fn sizes(&self, sizes: &[Size], span: Span) -> Result<Vec<Size>, UnfoldError> {
        sizes.iter().map(|s| self.size(s, span)).collect()
    }
}

/// An unfolded term and its nodes counted as a tree.
#[derive(Clone)]
pub(crate) struct Built {
    pub(crate) term: Term,
    nodes: u64,
}

type Memo = FxHashMap<(usize, Vec<usize>, Vec<Size>), (Rc<Thunk>, Built)>;

pub(crate) struct Machine<'a> {
    pub(crate) fresh: &'a mut Fresh,
    limits: Limits,
    depth: u32,
    steps: u64,
    /// Elements of arguments and `let` values by address of the thunk, which the entry
    /// keeps alive.
    memo: Memo,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(fresh: &'a mut Fresh, limits: Limits) -> Machine<'a> {
        Machine { fresh, limits, depth: 0, steps: 0, memo: FxHashMap::default() }
    }

    /// A scalar term in its scope, or a tuple of scalars.
    pub(crate) fn scalar(&mut self, term: &Term, env: &Env) -> Result<Built, UnfoldError> {
        self.element(term, env, &[], &[])
    }

    /// Counts one visited node and one level; [`Machine::leave`] ends the level.
    pub(crate) fn enter(&mut self) -> Result<(), UnfoldError> {
        self.depth += 1;
        self.steps += 1;
        if self.depth > self.limits.depth {
            return Err(UnfoldError::TooDeep(self.limits));
        }
        if self.steps > self.limits.steps {
            return Err(UnfoldError::TooLarge(self.limits));
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(crate) fn element(
        &mut self,
        term: &Term,
        env: &Env,
        path: &[usize],
        index: &[Term],
    ) -> Result<Built, UnfoldError> {
        self.enter()?;
        // A chain of `let`s is long, not deep.
        let (mut term, mut env) = (term, env.clone());
        while let Form::Let(v, value, body) = term.form() {
            env = env.with_var(v, value, &env);
            term = body;
        }
        let built = self.form(term, &env, path, index);
        self.leave();
        built
    }

    fn built(&self, term: Term, parts: &[&Built]) -> Result<Built, UnfoldError> {
        let nodes = parts.iter().fold(1, |sum: u64, b| sum.saturating_add(b.nodes));
        if nodes > self.limits.nodes {
            return Err(UnfoldError::TooLarge(self.limits));
        }
        Ok(Built { term, nodes })
    }

    fn form(&mut self, term: &Term, env: &Env, path: &[usize], index: &[Term]) -> Result<Built, UnfoldError> {
        let span = term.span();
        match term.form() {
            Form::Size(s) => self.size(s, env, span),
            Form::Lit(_) => self.built(term.clone(), &[]),
            Form::Var(v) => match env.var(v) {
                Some(thunk) => self.forced(&thunk, path, index),
                None => {
                    let base = Term::var(v.clone(), env.ty(term.ty(), span)?, span);
                    self.read(component_of(base, path), index)
                }
            },
            Form::Call(fun, args) => self.call(term, fun, args, env, path, index),
            Form::Read(base, at) => {
                let at = self.scalars(at, env)?;
                let terms: Vec<Term> = at.iter().map(|b| b.term.clone()).collect();
                self.element(base, env, path, &terms)
            }
            Form::Comp(binders, body) => {
                if binders.len() != index.len() {
                    return Err(mismatch(term, index));
                }
                let bound = binders.iter().zip(index);
                let inner = bound.fold(env.clone(), |e, (b, i)| e.with_sym(&b.sym, i.clone()));
                self.scalar(body, &inner)
            }
            Form::Reduce(Reduce { op, binders, body }) => {
                let (binders, inner) = self.bind(binders, env, span)?;
                let body = self.scalar(body, &inner)?;
                let whole = Term::reduce(op.clone(), binders, body.term.clone(), span);
                self.built(component_of(whole, path), &[&body])
            }
            Form::If(c, a, b) => {
                let c = self.scalar(c, env)?;
                match c.term.form() {
                    Form::Lit(Lit::Bool(true)) => return self.element(a, env, path, index),
                    Form::Lit(Lit::Bool(false)) => return self.element(b, env, path, index),
                    _ => {}
                }
                let a = self.element(a, env, path, index)?;
                let b = self.element(b, env, path, index)?;
                let whole = Term::if_(c.term.clone(), a.term.clone(), b.term.clone(), span);
                self.built(whole, &[&c, &a, &b])
            }
            Form::Tuple(parts) => match path {
                [] if index.is_empty() => {
                    let parts = self.scalars(parts, env)?;
                    let terms = parts.iter().map(|part| part.term.clone()).collect();
                    self.built(tuple_of(terms, span), &parts.iter().collect::<Vec<_>>())
                }
                [k, rest @ ..] if *k < parts.len() => self.element(&parts[*k], env, rest, index),
                _ => Err(unsupported("a tuple has elements only by component", span)),
            },
            // Only reached when the loop over `let`s above is left out.
            Form::Let(v, value, body) => self.element(body, &env.with_var(v, value, env), path, index),
            Form::Loop(l) => self.folded(l, env, path, span),
            Form::Write(_) => Err(unsupported("a write is not unfolded", span)),
        }
    }

    /// An ordered fold: a counted loop over one scalar, or one tuple of scalars, which stays
    /// a loop.
    fn folded(&mut self, l: &Loop, env: &Env, path: &[usize], span: Span) -> Result<Built, UnfoldError> {
        let ([(state, init)], Some(counter), None) = (l.state.as_slice(), &l.counter, &l.condition) else {
            return Err(unsupported("a loop is not unfolded", span));
        };
        if !init.components().iter().all(Term::is_scalar) {
            return Err(unsupported("a loop over a tensor is not unfolded", span));
        }
        let first = self.scalar(init, env)?;
        let (mut counters, inner) = self.bind(std::slice::from_ref(counter), env, span)?;
        let var = self.fresh.var(state);
        let stands = Term::var(var.clone(), first.term.ty().clone(), span);
        let step = self.scalar(&l.step, &inner.with_var(state, &stands, &Env::default()))?;
        let whole = Loop {
            state: vec![(var, first.term.clone())],
            counter: counters.pop(),
            condition: None,
            step: step.term.clone(),
        };
        self.built(component_of(Term::loop_(whole, span), path), &[&first, &step])
    }

    fn size(&mut self, size: &Size, env: &Env, span: Span) -> Result<Built, UnfoldError> {
        if let Some(data) = size.as_sym().and_then(|s| env.sym(s))
            && data.as_size().is_none()
        {
            return self.built(data.clone(), &[]);
        }
        self.built(Term::size(env.size(size, span)?, span), &[])
    }

    fn scalars(&mut self, terms: &[Term], env: &Env) -> Result<Vec<Built>, UnfoldError> {
        terms.iter().map(|t| self.scalar(t, env)).collect()
    }

    fn call(
        &mut self,
        term: &Term,
        fun: &Fun,
        args: &[Term],
        env: &Env,
        path: &[usize],
        index: &[Term],
    ) -> Result<Built, UnfoldError> {
        let span = term.span();
        match (fun, args) {
            (Fun::Scalar(f), _) => {
                let args = self.scalars(args, env)?;
                let terms: Vec<Term> = args.iter().map(|b| b.term.clone()).collect();
                if terms.iter().any(|t| t.ty() != terms[0].ty()) {
                    let what = format!("`{f}` compares a size with an index that depends on data");
                    return Err(UnfoldError::Unsupported { what, span });
                }
                self.built(Term::scalar(*f, terms, span), &args.iter().collect::<Vec<_>>())
            }
            (Fun::Cast(dtype), [arg]) => {
                let arg = self.scalar(arg, env)?;
                self.built(Term::cast(*dtype, arg.term.clone(), span), &[&arg])
            }
            (Fun::Item(k), [arg]) => {
                let path: Vec<usize> = std::iter::once(*k).chain(path.iter().copied()).collect();
                self.element(arg, env, &path, index)
            }
            (Fun::Op(instance), _) => {
                let inner = env.with_params(instance, args);
                self.element(&instance.body, &inner, path, index)
            }
            // A combination whose laws are known stays one, so that they can be used.
            (Fun::Combine(monoid), [left, right]) if monoid.laws.is_some() => {
                let (left, right) = (self.scalar(left, env)?, self.scalar(right, env)?);
                let whole = Term::combine(monoid.clone(), left.term.clone(), right.term.clone(), span);
                self.built(component_of(whole, path), &[&left, &right])
            }
            (Fun::Combine(monoid), _) => {
                self.element(&monoid.combine.body, &env.with_params(&monoid.combine, args), path, index)
            }
            (Fun::Cast(_) | Fun::Item(_), _) => Err(mismatch(term, index)),
        }
    }

    /// Fresh binders and the scope inside them.
    pub(crate) fn bind(
        &mut self,
        binders: &[Binder],
        env: &Env,
        span: Span,
    ) -> Result<(Vec<Binder>, Env), UnfoldError> {
        let (mut new, mut inner) = (Vec::new(), env.clone());
        for binder in binders {
            let extent = inner.size(&binder.extent, span)?;
            let sym = self.fresh.sym(&binder.sym);
            inner = inner.with_sym(&binder.sym, Term::size(Size::sym(&sym), span));
            new.push(Binder { sym, extent });
        }
        Ok((new, inner))
    }

    fn forced(&mut self, thunk: &Rc<Thunk>, path: &[usize], index: &[Term]) -> Result<Built, UnfoldError> {
        let sizes: Option<Vec<Size>> = index.iter().map(|t| t.as_size().cloned()).collect();
        let Some(sizes) = sizes else {
            return self.element(&thunk.term, &thunk.env, path, index);
        };
        // A tuple of scalars is computed as a whole, so that its components share what they
        // are components of.
        if let ([k], [], true) = (path, index, is_of_scalars(&thunk.term)) {
            let whole = self.forced(thunk, &[], &[])?;
            return Ok(Built { term: projected(&whole.term, *k), nodes: whole.nodes });
        }
        let key = (Rc::as_ptr(thunk) as usize, path.to_vec(), sizes);
        if let Some((_, built)) = self.memo.get(&key) {
            return Ok(built.clone());
        }
        let built = self.element(&thunk.term, &thunk.env, path, index)?;
        self.memo.insert(key, (thunk.clone(), built.clone()));
        Ok(built)
    }

    fn read(&mut self, base: Term, index: &[Term]) -> Result<Built, UnfoldError> {
        let rank = match base.ty() {
            Type::Size => 0,
            Type::Tensor(t) => t.shape.len(),
            // One that a fold has come to.
            Type::Tuple(_) => 0,
        };
        if rank != index.len() {
            return Err(mismatch(&base, index));
        }
        if index.is_empty() {
            return self.built(base, &[]);
        }
        let span = base.span();
        self.built(Term::read(base, index.to_vec(), span), &[])
    }
}

fn is_of_scalars(term: &Term) -> bool {
    match term.ty() {
        Type::Tuple(parts) => parts.iter().all(|part| part.as_tensor().is_some_and(|ty| ty.shape.is_empty())),
        _ => false,
    }
}

/// A tuple; the one that the parts are all components of, in their order, if there is one.
fn tuple_of(parts: Vec<Term>, span: Span) -> Term {
    let of = |at: usize, part: &Term| match part.form() {
        Form::Call(Fun::Item(k), args) if *k == at => Some(args[0].clone()),
        _ => None,
    };
    if let Some(whole) = parts.first().and_then(|part| of(0, part)) {
        let all = matches!(whole.ty(), Type::Tuple(types) if types.len() == parts.len());
        let same = |(at, part)| of(at, part).is_some_and(|other| other.address() == whole.address());
        if all && parts.iter().enumerate().all(same) {
            return whole;
        }
    }
    Term::tuple(parts, span)
}

/// A component of a tuple of scalars, of an `if` of its branches.
fn projected(tuple: &Term, k: usize) -> Term {
    match tuple.form() {
        Form::If(cond, then, other) => {
            Term::if_(cond.clone(), projected(then, k), projected(other, k), tuple.span())
        }
        _ => Term::item(k, tuple.clone(), tuple.span()),
    }
}

/// The component that a path leads to, outermost tuple first.
fn component_of(term: Term, path: &[usize]) -> Term {
    path.iter().fold(term, |tuple, k| {
        let span = tuple.span();
        Term::item(*k, tuple, span)
    })
}

fn unsupported(what: &str, span: Span) -> UnfoldError {
    UnfoldError::Unsupported { what: what.to_string(), span }
}

fn mismatch(term: &Term, index: &[Term]) -> UnfoldError {
    let what = format!("an element of `{}` at {} indices", term.ty(), index.len());
    UnfoldError::Unsupported { what, span: term.span() }
}
