//! Capture-free substitution in core terms, and what occurs free in them.
//!
//! Invariants: the result of a substitution has fresh binders throughout (index
//! symbols, `let` and loop variables), so that a term may stand at several places
//! without sharing a binder with itself, and no symbol of an inserted term is ever
//! captured. Instances that a substitution does not touch stay shared.

use crate::entail::Cond;
use crate::size::{Size, Sym};
use crate::term::Var;
use crate::term::{Binder, Form, Fun, Instance, Loop, Reduce, Require, Term, Write};
use crate::types::Type;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// A supply of ids for symbols and variables.
#[derive(Debug)]
pub struct Fresh(u32);

impl Fresh {
    /// Gives ids from `first` on.
    pub fn new(first: u32) -> Fresh {
        Fresh(first)
    }

    /// Gives ids above every id in the terms, bound ones and those of instances included.
    pub fn above<'a>(terms: impl IntoIterator<Item = &'a Term>) -> Fresh {
        let mut scan = Highest::default();
        let mut open: Vec<&Term> = terms.into_iter().collect();
        while let Some(term) = open.pop() {
            if scan.seen.insert(term.address()) {
                scan.term(term, &mut open);
            }
        }
        Fresh(scan.id.saturating_add(1))
    }

    /// Above every symbol of the facts too.
    pub fn and_above(self, facts: &[Cond]) -> Fresh {
        let mut syms = BTreeSet::new();
        facts.iter().for_each(|fact| fact.collect_syms(&mut syms));
        let highest = syms.iter().map(Sym::id).max().unwrap_or(0);
        Fresh(self.0.max(highest.saturating_add(1)))
    }

    pub fn id(&mut self) -> u32 {
        let id = self.0;
        self.0 = self.0.checked_add(1).expect("invariant: fewer than 2^32 ids in one run");
        id
    }

    /// A new symbol of the same kind and name.
    pub fn sym(&mut self, like: &Sym) -> Sym {
        Sym::new(self.id(), like.kind(), like.name())
    }

    /// A new variable of the same name.
    pub fn var(&mut self, like: &Var) -> Var {
        Var { id: self.id(), name: like.name.clone() }
    }
}

/// The highest id that occurs.
#[derive(Default)]
struct Highest {
    id: u32,
    seen: BTreeSet<usize>,
}

impl Highest {
    fn size(&mut self, size: &Size) {
        self.id = size.syms().iter().fold(self.id, |id, s| id.max(s.id()));
    }

    fn ty(&mut self, ty: &Type) {
        for size in type_sizes(ty) {
            self.size(size);
        }
    }

    fn binders(&mut self, binders: &[Binder]) {
        for binder in binders {
            self.id = self.id.max(binder.sym.id());
            self.size(&binder.extent);
        }
    }

    fn term<'a>(&mut self, term: &'a Term, open: &mut Vec<&'a Term>) {
        match term.form() {
            Form::Size(s) => self.size(s),
            Form::Lit(_) => {}
            Form::Var(v) => {
                self.id = self.id.max(v.id);
                self.ty(term.ty());
            }
            Form::Comp(binders, _) => self.binders(binders),
            Form::Reduce(r) => {
                self.binders(&r.binders);
                r.op.declared().into_iter().for_each(|monoid| self.instance(&monoid.combine, open));
            }
            Form::Let(v, ..) => self.id = self.id.max(v.id),
            Form::Loop(l) => {
                l.state.iter().for_each(|(v, _)| self.id = self.id.max(v.id));
                self.binders(l.counter.as_slice());
            }
            Form::Write(w) => self.binders(&w.binders),
            Form::Call(Fun::Op(instance), _) => self.instance(instance, open),
            Form::Call(Fun::Combine(monoid), _) => self.instance(&monoid.combine, open),
            Form::Call(..) | Form::Read(..) | Form::If(..) | Form::Tuple(_) => {}
        }
        open.extend(children(term));
    }

    fn instance<'a>(&mut self, instance: &'a Arc<Instance>, open: &mut Vec<&'a Term>) {
        if !self.seen.insert(Arc::as_ptr(instance) as usize) {
            return;
        }
        for (v, ty) in &instance.params {
            self.id = self.id.max(v.id);
            self.ty(ty);
        }
        open.extend(instance.requires.iter().map(|r| &r.cond));
        open.push(&instance.body);
    }
}

/// The direct subterms, in order; an instance's body is not one of them.
pub fn children(term: &Term) -> Vec<&Term> {
    match term.form() {
        Form::Size(_) | Form::Lit(_) | Form::Var(_) => Vec::new(),
        Form::Call(_, args) | Form::Tuple(args) => args.iter().collect(),
        Form::Read(base, index) => std::iter::once(base).chain(index).collect(),
        Form::Comp(_, body) => vec![body],
        Form::Reduce(r) => vec![&r.body],
        Form::If(c, a, b) => vec![c, a, b],
        Form::Let(_, value, body) => vec![value, body],
        Form::Loop(l) => {
            let init = l.state.iter().map(|(_, t)| t);
            init.chain(&l.condition).chain([&l.step]).collect()
        }
        Form::Write(w) => std::iter::once(&w.base).chain(&w.index).chain([&w.value]).collect(),
    }
}

/// A chain of `let`s and what stands in their scope: long, but not to be walked by
/// recursion.
pub fn lets(term: &Term) -> (Vec<(&Var, &Term)>, &Term) {
    let (mut chain, mut rest) = (Vec::new(), term);
    while let Form::Let(v, value, body) = rest.form() {
        chain.push((v, value));
        rest = body;
    }
    (chain, rest)
}

fn type_sizes(ty: &Type) -> Vec<&Size> {
    match ty {
        Type::Size => Vec::new(),
        Type::Tensor(t) => t.shape.iter().collect(),
        Type::Tuple(parts) => parts.iter().flat_map(type_sizes).collect(),
    }
}

/// The symbols and variables free in a term.
#[derive(Clone, Default, Debug)]
pub struct Free {
    pub syms: BTreeSet<Sym>,
    pub vars: BTreeSet<Var>,
}

impl Free {
    fn add(&mut self, other: &Free) {
        self.syms.extend(other.syms.iter().cloned());
        self.vars.extend(other.vars.iter().cloned());
    }

    fn add_size(&mut self, size: &Size) {
        size.collect_syms(&mut self.syms);
    }

    fn add_type(&mut self, ty: &Type) {
        type_sizes(ty).into_iter().for_each(|s| self.add_size(s));
    }

    /// Puts `inner` under the binders; the extent of a binder sees the earlier ones.
    fn add_bound(&mut self, binders: &[Binder], inner: &Free) {
        let mut scope = inner.clone();
        for binder in binders.iter().rev() {
            scope.syms.remove(&binder.sym);
            scope.add_size(&binder.extent);
        }
        self.add(&scope);
    }
}

/// Computes free symbols and variables, each shared node once.
///
/// Keyed by address: only for terms that live as long as the cache is used.
#[derive(Default)]
pub(crate) struct FreeCache {
    known: FxHashMap<usize, Rc<Free>>,
}

impl FreeCache {
    pub(crate) fn term(&mut self, term: &Term) -> Rc<Free> {
        if let Some(free) = self.known.get(&term.address()) {
            return free.clone();
        }
        let free = Rc::new(self.compute(term));
        self.known.insert(term.address(), free.clone());
        free
    }

    fn compute(&mut self, term: &Term) -> Free {
        let mut free = Free::default();
        match term.form() {
            Form::Size(s) => free.add_size(s),
            Form::Lit(_) => {}
            Form::Var(v) => {
                free.vars.insert(v.clone());
                free.add_type(term.ty());
            }
            Form::Call(fun, args) => {
                if let Fun::Op(instance) = fun {
                    free.add(&self.instance(instance));
                }
                args.iter().for_each(|t| free.add(&self.term(t)));
            }
            Form::Comp(binders, body) => free.add_bound(binders, &self.term(body)),
            Form::Reduce(r) => free.add_bound(&r.binders, &self.term(&r.body)),
            Form::Let(..) => {
                let (chain, body) = lets(term);
                free.add(&self.term(body));
                for (v, value) in chain.into_iter().rev() {
                    free.vars.remove(v);
                    free.add(&self.term(value));
                }
            }
            Form::Loop(l) => {
                let mut inner = Free::default();
                l.condition.iter().chain([&l.step]).for_each(|t| inner.add(&self.term(t)));
                inner.vars.retain(|v| l.state.iter().all(|(s, _)| s != v));
                free.add_bound(l.counter.as_slice(), &inner);
                l.state.iter().for_each(|(_, t)| free.add(&self.term(t)));
            }
            Form::Write(w) => {
                let mut inner = Free::default();
                w.index.iter().chain([&w.value]).for_each(|t| inner.add(&self.term(t)));
                free.add_bound(&w.binders, &inner);
                free.add(&self.term(&w.base));
            }
            Form::Read(..) | Form::If(..) | Form::Tuple(_) => {
                children(term).into_iter().for_each(|t| free.add(&self.term(t)));
            }
        }
        free
    }

    pub(crate) fn instance(&mut self, instance: &Arc<Instance>) -> Rc<Free> {
        let key = Arc::as_ptr(instance) as usize;
        if let Some(free) = self.known.get(&key) {
            return free.clone();
        }
        let mut free = Free::default();
        free.add(&self.term(&instance.body));
        instance.requires.iter().for_each(|r| free.add(&self.term(&r.cond)));
        for (v, ty) in &instance.params {
            free.vars.remove(v);
            free.add_type(ty);
        }
        let free = Rc::new(free);
        self.known.insert(key, free.clone());
        free
    }
}

/// The size and index symbols free in a term, those of types and instances included.
pub fn free_syms(term: &Term) -> BTreeSet<Sym> {
    FreeCache::default().term(term).syms.clone()
}

/// The value variables free in a term.
pub fn free_vars(term: &Term) -> BTreeSet<Var> {
    FreeCache::default().term(term).vars.clone()
}

/// A simultaneous substitution of sizes for symbols and terms for variables.
#[derive(Clone, Default, Debug)]
pub struct Subst {
    sizes: BTreeMap<Sym, Size>,
    vars: BTreeMap<Var, Term>,
}

impl Subst {
    pub fn new() -> Subst {
        Subst::default()
    }

    pub fn with_size(mut self, sym: &Sym, size: Size) -> Subst {
        self.sizes.insert(sym.clone(), size);
        self
    }

    /// The term must have the type of the variable (under the substitution).
    pub fn with_var(mut self, var: &Var, term: Term) -> Subst {
        self.vars.insert(var.clone(), term);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty() && self.vars.is_empty()
    }

    pub fn size(&self, size: &Size) -> Size {
        if self.sizes.is_empty() {
            return size.clone();
        }
        size.subst(&|s| self.sizes.get(s).cloned())
    }

    pub fn cond(&self, cond: &Cond) -> Cond {
        cond.map(&|s| self.size(s))
    }

    pub fn ty(&self, ty: &Type) -> Type {
        ty.map_sizes(&|s| self.size(s))
    }

    pub fn term(&self, term: &Term, fresh: &mut Fresh) -> Term {
        let mut walk = Walk { fresh, free: FreeCache::default() };
        walk.term(&mut Scope::new(self.clone()), term)
    }
}

/// The term with all its binders renamed.
pub fn renamed(term: &Term, fresh: &mut Fresh) -> Term {
    Subst::new().term(term, fresh)
}

/// A substitution with the results so far; the shared nodes of one scope stay shared.
struct Scope {
    subst: Subst,
    done: FxHashMap<usize, Term>,
    instances: FxHashMap<usize, Arc<Instance>>,
}

impl Scope {
    fn new(subst: Subst) -> Scope {
        Scope { subst, done: FxHashMap::default(), instances: FxHashMap::default() }
    }
}

struct Walk<'a> {
    fresh: &'a mut Fresh,
    free: FreeCache,
}

impl Walk<'_> {
    fn term(&mut self, scope: &mut Scope, term: &Term) -> Term {
        if let Some(done) = scope.done.get(&term.address()) {
            return done.clone();
        }
        let new = self.rebuild(scope, term);
        scope.done.insert(term.address(), new.clone());
        new
    }

    fn terms(&mut self, scope: &mut Scope, terms: &[Term]) -> Vec<Term> {
        terms.iter().map(|t| self.term(scope, t)).collect()
    }

    fn rebuild(&mut self, scope: &mut Scope, term: &Term) -> Term {
        let span = term.span();
        match term.form() {
            Form::Size(s) => Term::size(scope.subst.size(s), span),
            Form::Lit(_) => term.clone(),
            Form::Var(v) => match scope.subst.vars.get(v).cloned() {
                // Each place gets binders of its own.
                Some(t) => self.term(&mut Scope::new(Subst::new()), &t),
                None => Term::var(v.clone(), scope.subst.ty(term.ty()), span),
            },
            Form::Call(fun, args) => {
                let args = self.terms(scope, args);
                match fun {
                    Fun::Scalar(f) => Term::scalar(*f, args, span),
                    Fun::Cast(dtype) => match <[Term; 1]>::try_from(args) {
                        Ok([arg]) => Term::cast(*dtype, arg, span),
                        Err(_) => term.clone(),
                    },
                    Fun::Item(k) => match <[Term; 1]>::try_from(args) {
                        Ok([arg]) => Term::item(*k, arg, span),
                        Err(_) => term.clone(),
                    },
                    Fun::Op(instance) => Term::call(self.instance(scope, instance), args, span),
                    Fun::Combine(monoid) => match <[Term; 2]>::try_from(args) {
                        Ok([left, right]) => Term::combine(monoid.clone(), left, right, span),
                        Err(_) => term.clone(),
                    },
                }
            }
            Form::Read(base, index) => {
                let base = self.term(scope, base);
                Term::read(base, self.terms(scope, index), span)
            }
            Form::Comp(binders, body) => {
                let (binders, mut inner) = self.enter(scope, binders);
                Term::comp(binders, self.term(&mut inner, body), span)
            }
            Form::Reduce(Reduce { op, binders, body }) => {
                let (binders, mut inner) = self.enter(scope, binders);
                Term::reduce(op.clone(), binders, self.term(&mut inner, body), span)
            }
            Form::If(c, a, b) => {
                let c = self.term(scope, c);
                let a = self.term(scope, a);
                Term::if_(c, a, self.term(scope, b), span)
            }
            Form::Let(..) => self.lets(scope, term),
            Form::Tuple(parts) => Term::tuple(self.terms(scope, parts), span),
            Form::Loop(l) => Term::loop_(self.loop_form(scope, l), span),
            Form::Write(w) => {
                let base = self.term(scope, &w.base);
                let (binders, mut inner) = self.enter(scope, &w.binders);
                let index = self.terms(&mut inner, &w.index);
                let value = self.term(&mut inner, &w.value);
                Term::write(Write { base, binders, index, value }, span)
            }
        }
    }

    fn lets(&mut self, scope: &Scope, term: &Term) -> Term {
        let (chain, body) = lets(term);
        let mut inner = Scope::new(scope.subst.clone());
        let mut new = Vec::new();
        for (v, value) in chain {
            let value = self.term(&mut inner, value);
            let var = self.fresh.var(v);
            bind(&mut inner, v, &var, value.ty().clone(), &value);
            new.push((var, value));
        }
        let body = self.term(&mut inner, body);
        new.into_iter().rev().fold(body, |body, (v, value)| Term::let_(v, value, body, term.span()))
    }

    fn loop_form(&mut self, scope: &mut Scope, l: &Loop) -> Loop {
        let counter = l.counter.as_slice();
        let (counter, mut inner) = self.enter(scope, counter);
        let mut state = Vec::new();
        for (v, init) in &l.state {
            let init = self.term(scope, init);
            let new = self.fresh.var(v);
            bind(&mut inner, v, &new, init.ty().clone(), &init);
            state.push((new, init));
        }
        let condition = l.condition.as_ref().map(|c| self.term(&mut inner, c));
        let step = self.term(&mut inner, &l.step);
        Loop { state, counter: counter.into_iter().next(), condition, step }
    }

    /// Fresh binders and the scope inside them.
    fn enter(&mut self, scope: &Scope, binders: &[Binder]) -> (Vec<Binder>, Scope) {
        let mut inner = Scope::new(scope.subst.clone());
        let mut new = Vec::new();
        for binder in binders {
            let extent = inner.subst.size(&binder.extent);
            let sym = self.fresh.sym(&binder.sym);
            inner.subst.sizes.insert(binder.sym.clone(), Size::sym(&sym));
            new.push(Binder { sym, extent });
        }
        (new, inner)
    }

    fn instance(&mut self, scope: &mut Scope, instance: &Arc<Instance>) -> Arc<Instance> {
        let key = Arc::as_ptr(instance) as usize;
        if let Some(done) = scope.instances.get(&key) {
            return done.clone();
        }
        let free = self.free.instance(instance);
        let touched = free.syms.iter().any(|s| scope.subst.sizes.contains_key(s));
        let new = if touched { self.rebuild_instance(scope, instance) } else { instance.clone() };
        scope.instances.insert(key, new.clone());
        new
    }

    fn rebuild_instance(&mut self, scope: &Scope, instance: &Instance) -> Arc<Instance> {
        // Variables of the caller do not occur in an instance.
        let sizes = scope.subst.sizes.clone();
        let mut inner = Scope::new(Subst { sizes, vars: BTreeMap::new() });
        let params = instance.params.iter();
        let params = params.map(|(v, ty)| (v.clone(), inner.subst.ty(ty))).collect();
        let requires = instance.requires.iter().map(|r| Require {
            cond: self.term(&mut inner, &r.cond),
            class: r.class,
            text: r.text.clone(),
            span: r.span,
        });
        let requires = requires.collect();
        Arc::new(Instance {
            name: instance.name.clone(),
            statics: instance
                .statics
                .iter()
                .map(|(name, text)| (name.clone(), retold(text, &scope.subst)))
                .collect(),
            params,
            requires,
            body: self.term(&mut inner, &instance.body),
            is_op: instance.is_op,
        })
    }
}

/// A static argument as it is written, with other sizes in place of names; what stands in quotes stays.
fn retold(text: &str, subst: &Subst) -> String {
    let named = |name: &str| subst.sizes.iter().find(|(sym, _)| sym.name() == name);
    let (mut told, mut rest, mut quoted) = (String::new(), text, false);
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_name(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (head, tail) = rest.split_at(word);
        quoted ^= head == "\"";
        match named(head).filter(|_| !quoted) {
            Some((_, size)) if size.as_sym().is_some() || size.as_i64().is_some_and(|n| n >= 0) => {
                told += &size.to_string();
            }
            Some((_, size)) => told += &format!("({size})"),
            None => told += head,
        }
        rest = tail;
    }
    told
}

/// Results before the binding may have used another variable of this id.
fn bind(scope: &mut Scope, old: &Var, new: &Var, ty: Type, at: &Term) {
    scope.done.clear();
    scope.subst.vars.insert(old.clone(), Term::var(new.clone(), ty, at.span()));
}
