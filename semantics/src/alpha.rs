//! Equality of terms up to the names of bound symbols and variables.
//!
//! A bound symbol is replaced by a canonical one that depends only on how many
//! binders enclose it, sizes are brought to normal form again, and then compared.
//! Spans and the texts of preconditions do not count.

use crate::dtype::DType;
use crate::entail::Cond;
use crate::size::{Size, Sym, SymKind};
use crate::subst::{FreeCache, lets};
use crate::term::{Binder, Form, Fun, Instance, Lit, Term, Var};
use crate::types::Type;
use num_traits::ToPrimitive;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Whether the terms are the same up to renaming of what they bind.
pub fn alpha_eq(a: &Term, b: &Term) -> bool {
    Compare::default().terms(&mut Pairs::default(), a, b)
}

/// Two sizes at one place of terms that are else the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Apart {
    pub sizes: (Size, Size),
    /// The ranges of the indices that are bound around them, outer ones first, as the first term has them.
    pub ranges: Vec<(Sym, Size)>,
}

impl Apart {
    /// What holds of the indices.
    pub fn within(&self) -> Vec<Cond> {
        self.ranges.iter().map(|(index, extent)| Cond::lt(&Size::sym(index), extent)).collect()
    }
}

/// The sizes at which the terms differ, if they are the same but for sizes and renaming: each pair
/// once. A size under binders has [`is_bound`] symbols for what they bind.
pub fn apart_by_sizes(a: &Term, b: &Term) -> Option<Vec<Apart>> {
    let mut compare = Compare { differing: Some(Vec::new()), ..Compare::default() };
    if !compare.terms(&mut Pairs::default(), a, b) {
        return None;
    }
    compare.differing
}

/// Whether a symbol stands for one that is bound around a size of [`apart_by_sizes`].
pub fn is_bound(sym: &Sym) -> bool {
    sym.name() == BOUND
}

/// No name of a source file.
const BOUND: &str = "\0bound";

/// Whether two functions are the same up to names of what they bind.
pub(crate) fn same_function(a: (&[(Var, Type)], &Term), b: (&[(Var, Type)], &Term)) -> bool {
    let mut pairs = Pairs::default();
    let params = a.0.iter().zip(b.0);
    let alike = a.0.len() == b.0.len() && params.clone().all(|(p, q)| p.1 == q.1);
    params.for_each(|(p, q)| pairs.bind_vars(&p.0, &q.0));
    alike && Compare::default().terms(&mut pairs, a.1, b.1)
}

/// The same dtypes and ranks: extents are what terms are compared under.
fn of_one_kind(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Size, Type::Size) => true,
        (Type::Tensor(a), Type::Tensor(b)) => a.dtype == b.dtype && a.shape.len() == b.shape.len(),
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| of_one_kind(a, b))
        }
        _ => false,
    }
}

/// A hash that alpha-equal terms share; it orders terms the same way in every run.
///
/// Unequal terms may collide: it serves to sort and to look up, not to prove.
pub fn alpha_key(term: &Term) -> u128 {
    Naming::default().key(term)
}

/// The canonical symbol of the binder with `depth` binders around it.
fn canonical(depth: u32, kind: SymKind) -> Sym {
    Sym::new(u32::MAX - depth, kind, BOUND)
}

/// What bound names stand for on one side.
#[derive(Clone, Default)]
struct Names {
    syms: BTreeMap<Sym, Sym>,
    vars: BTreeMap<Var, u32>,
    depth: u32,
}

impl Names {
    fn size(&self, size: &Size) -> Size {
        if self.syms.is_empty() {
            return size.clone();
        }
        size.subst(&|s| self.syms.get(s).map(Size::sym))
    }

    fn ty(&self, ty: &Type) -> Type {
        ty.map_sizes(&|s| self.size(s))
    }

    fn bind_sym(&mut self, sym: &Sym) {
        self.syms.insert(sym.clone(), canonical(self.depth, sym.kind()));
        self.depth += 1;
    }

    fn bind_var(&mut self, var: &Var) {
        self.vars.insert(var.clone(), self.depth);
        self.depth += 1;
    }
}

/// The names of both sides, and the pairs of nodes found equal under them.
#[derive(Default)]
struct Pairs {
    left: Names,
    right: Names,
    /// Of the indices bound so far, by their canonical symbols.
    ranges: Vec<(Sym, Size)>,
    equal: FxHashSet<(usize, usize)>,
}

impl Pairs {
    fn inner(&self) -> Pairs {
        Pairs {
            left: self.left.clone(),
            right: self.right.clone(),
            ranges: self.ranges.clone(),
            equal: FxHashSet::default(),
        }
    }

    fn vars(&self, a: &Var, b: &Var) -> bool {
        match (self.left.vars.get(a), self.right.vars.get(b)) {
            (Some(x), Some(y)) => x == y,
            (None, None) => a == b,
            _ => false,
        }
    }

    fn bind_vars(&mut self, a: &Var, b: &Var) {
        self.equal.clear();
        self.left.bind_var(a);
        self.right.bind_var(b);
    }
}

#[derive(Default)]
struct Compare {
    free: FreeCache,
    /// Where sizes that differ are noted, rather than being a difference of the terms.
    differing: Option<Vec<Apart>>,
}

impl Compare {
    fn sizes(&mut self, scope: &Pairs, a: &Size, b: &Size) -> bool {
        let (a, b) = (scope.left.size(a), scope.right.size(b));
        match &mut self.differing {
            _ if a == b => true,
            Some(differing) => {
                let apart = Apart { sizes: (a, b), ranges: scope.ranges.clone() };
                if !differing.contains(&apart) {
                    differing.push(apart);
                }
                true
            }
            None => false,
        }
    }

    fn types(&mut self, scope: &Pairs, a: &Type, b: &Type) -> bool {
        match (a, b) {
            (Type::Tensor(x), Type::Tensor(y)) => {
                of_one_kind(a, b) && x.shape.iter().zip(&y.shape).all(|(m, n)| self.sizes(scope, m, n))
            }
            (Type::Tuple(x), Type::Tuple(y)) => {
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| self.types(scope, x, y))
            }
            _ => of_one_kind(a, b),
        }
    }

    /// The scope inside two lists of binders, if they agree.
    fn enter(&mut self, scope: &Pairs, a: &[Binder], b: &[Binder]) -> Option<Pairs> {
        let mut inner = scope.inner();
        if a.len() != b.len() {
            return None;
        }
        for (x, y) in a.iter().zip(b) {
            if x.sym.kind() != y.sym.kind() || !self.sizes(&inner, &x.extent, &y.extent) {
                return None;
            }
            if self.differing.is_some() {
                let index = canonical(inner.left.depth, x.sym.kind());
                inner.ranges.push((index, inner.left.size(&x.extent)));
            }
            inner.left.bind_sym(&x.sym);
            inner.right.bind_sym(&y.sym);
        }
        Some(inner)
    }

    fn terms(&mut self, scope: &mut Pairs, a: &Term, b: &Term) -> bool {
        let pair = (a.address(), b.address());
        if scope.equal.contains(&pair) || (pair.0 == pair.1 && self.same(scope, a)) {
            return true;
        }
        let equal = self.forms(scope, a, b);
        if equal {
            scope.equal.insert(pair);
        }
        equal
    }

    /// Whether both sides read the free names of one node alike.
    fn same(&mut self, scope: &Pairs, term: &Term) -> bool {
        let free = self.free.term(term);
        free.syms.iter().all(|s| scope.left.syms.get(s) == scope.right.syms.get(s))
            && free.vars.iter().all(|v| scope.left.vars.get(v) == scope.right.vars.get(v))
    }

    fn lists(&mut self, scope: &mut Pairs, a: &[Term], b: &[Term]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| self.terms(scope, x, y))
    }

    fn forms(&mut self, scope: &mut Pairs, a: &Term, b: &Term) -> bool {
        match (a.form(), b.form()) {
            (Form::Size(x), Form::Size(y)) => self.sizes(scope, x, y),
            (Form::Lit(x), Form::Lit(y)) => x == y && a.ty() == b.ty(),
            (Form::Var(x), Form::Var(y)) => scope.vars(x, y) && of_one_kind(a.ty(), b.ty()),
            (Form::Call(f, x), Form::Call(g, y)) => self.functions(scope, f, g) && self.lists(scope, x, y),
            (Form::Call(Fun::Cast(dtype), x), Form::Lit(lit)) if self.differing.is_some() => {
                let known = x[0].as_size().zip(converted(lit, *dtype));
                known.is_some_and(|(size, k)| a.ty() == b.ty() && self.sizes(scope, size, &k))
            }
            (Form::Lit(lit), Form::Call(Fun::Cast(dtype), x)) if self.differing.is_some() => {
                let known = converted(lit, *dtype).zip(x[0].as_size());
                known.is_some_and(|(k, size)| a.ty() == b.ty() && self.sizes(scope, &k, size))
            }
            (Form::Read(x, i), Form::Read(y, j)) => self.terms(scope, x, y) && self.lists(scope, i, j),
            (Form::Comp(m, x), Form::Comp(n, y)) => {
                self.enter(scope, m, n).is_some_and(|mut inner| self.terms(&mut inner, x, y))
            }
            (Form::Reduce(x), Form::Reduce(y)) => {
                let inner = self.enter(scope, &x.binders, &y.binders);
                x.op == y.op && inner.is_some_and(|mut inner| self.terms(&mut inner, &x.body, &y.body))
            }
            (Form::If(c, x, y), Form::If(d, z, w)) => {
                self.terms(scope, c, d) && self.terms(scope, x, z) && self.terms(scope, y, w)
            }
            (Form::Let(..), Form::Let(..)) => {
                let ((left, x), (right, y)) = (lets(a), lets(b));
                let mut inner = scope.inner();
                left.len() == right.len()
                    && left.iter().zip(&right).all(|((v, s), (w, t))| {
                        let equal = self.terms(&mut inner, s, t);
                        inner.bind_vars(v, w);
                        equal
                    })
                    && self.terms(&mut inner, x, y)
            }
            (Form::Tuple(x), Form::Tuple(y)) => self.lists(scope, x, y),
            (Form::Loop(x), Form::Loop(y)) => {
                let init = |l: &crate::term::Loop| l.state.iter().map(|s| s.1.clone()).collect();
                let (init_x, init_y): (Vec<Term>, Vec<Term>) = (init(x), init(y));
                let Some(mut inner) = self.enter(scope, x.counter.as_slice(), y.counter.as_slice()) else {
                    return false;
                };
                x.state.iter().zip(&y.state).for_each(|(s, t)| inner.bind_vars(&s.0, &t.0));
                self.lists(scope, &init_x, &init_y)
                    && self.lists(&mut inner, x.condition.as_slice(), y.condition.as_slice())
                    && self.terms(&mut inner, &x.step, &y.step)
            }
            (Form::Write(x), Form::Write(y)) => {
                self.terms(scope, &x.base, &y.base)
                    && self.enter(scope, &x.binders, &y.binders).is_some_and(|mut inner| {
                        self.lists(&mut inner, &x.index, &y.index)
                            && self.terms(&mut inner, &x.value, &y.value)
                    })
            }
            _ => false,
        }
    }

    fn functions(&mut self, scope: &mut Pairs, a: &Fun, b: &Fun) -> bool {
        match (a, b) {
            (Fun::Scalar(f), Fun::Scalar(g)) => f == g,
            (Fun::Cast(d), Fun::Cast(e)) => d == e,
            (Fun::Item(j), Fun::Item(k)) => j == k,
            (Fun::Op(f), Fun::Op(g)) => self.instances(scope, f, g),
            (Fun::Combine(m), Fun::Combine(n)) => m == n,
            _ => false,
        }
    }

    fn instances(&mut self, scope: &Pairs, a: &Arc<Instance>, b: &Arc<Instance>) -> bool {
        if Arc::ptr_eq(a, b) {
            let free = self.free.instance(a);
            if free.syms.iter().all(|s| scope.left.syms.get(s) == scope.right.syms.get(s)) {
                return true;
            }
        }
        let types = a.params.iter().zip(&b.params);
        let alike = a.name == b.name
            && a.params.len() == b.params.len()
            && a.requires.len() == b.requires.len()
            && types.clone().all(|(p, q)| self.types(scope, &p.1, &q.1));
        if !alike {
            return false;
        }
        let mut inner = scope.inner();
        types.for_each(|(p, q)| inner.bind_vars(&p.0, &q.0));
        let mut requires = a.requires.iter().zip(&b.requires);
        requires.all(|(r, s)| r.class == s.class && self.terms(&mut inner, &r.cond, &s.cond))
            && self.terms(&mut inner, &a.body, &b.body)
    }
}

/// The size of which a literal is the conversion, which is a literal where the size is known: [`Term::cast`]. One that
/// its dtype does not hold is none: it is an error, and the conversion wraps.
fn converted(lit: &Lit, dtype: DType) -> Option<Size> {
    let k = lit.as_integer()?.to_i64()?;
    (Lit::integer(k, dtype).as_ref() == Some(lit)).then(|| Size::int(k))
}

/// 128-bit FNV-1a: the same on every machine and in every release.
struct Fnv(u128);

impl Fnv {
    fn tagged(tag: u8) -> Fnv {
        let mut hasher = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        hasher.write(&[tag]);
        hasher
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0 as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
}

/// Keys of terms under enclosing binders that do not count by name.
#[derive(Default)]
pub(crate) struct Naming {
    names: Names,
    /// By address; an entry keeps its term alive, so that no other takes the address.
    done: FxHashMap<usize, (Term, u128)>,
}

impl Naming {
    pub(crate) fn under(&self, binders: &[Binder]) -> Naming {
        let mut inner = self.inner();
        binders.iter().for_each(|b| inner.names.bind_sym(&b.sym));
        inner
    }

    /// The variable no longer counts by name.
    pub(crate) fn bind(&mut self, var: &Var) {
        self.done.clear();
        self.names.bind_var(var);
    }

    pub(crate) fn key(&mut self, term: &Term) -> u128 {
        Keys.term(self, term)
    }

    pub(crate) fn size(&self, size: &Size) -> Size {
        self.names.size(size)
    }

    fn inner(&self) -> Naming {
        Naming { names: self.names.clone(), done: FxHashMap::default() }
    }
}

struct Keys;

impl Keys {
    fn term(&mut self, scope: &mut Naming, term: &Term) -> u128 {
        if let Some((_, key)) = scope.done.get(&term.address()) {
            return *key;
        }
        let key = self.form(scope, term);
        scope.done.insert(term.address(), (term.clone(), key));
        key
    }

    fn list(&mut self, scope: &mut Naming, terms: &[Term], hash: &mut Fnv) {
        terms.len().hash(hash);
        for term in terms {
            self.term(scope, term).hash(hash);
        }
    }

    /// Hashes the extents and gives the scope inside the binders.
    fn enter(&mut self, scope: &Naming, binders: &[Binder], hash: &mut Fnv) -> Naming {
        let mut inner = scope.inner();
        binders.len().hash(hash);
        for binder in binders {
            inner.names.size(&binder.extent).hash(hash);
            inner.names.bind_sym(&binder.sym);
        }
        inner
    }

    fn form(&mut self, scope: &mut Naming, term: &Term) -> u128 {
        let mut hash;
        match term.form() {
            Form::Size(s) => {
                hash = Fnv::tagged(0);
                scope.names.size(s).hash(&mut hash);
            }
            Form::Lit(lit) => {
                hash = Fnv::tagged(1);
                (lit, term.ty()).hash(&mut hash);
            }
            Form::Var(v) => {
                hash = Fnv::tagged(2);
                match scope.names.vars.get(v) {
                    Some(depth) => (0, depth).hash(&mut hash),
                    None => (1, v).hash(&mut hash),
                }
            }
            Form::Call(fun, args) => {
                hash = Fnv::tagged(3);
                match fun {
                    Fun::Scalar(f) => (0, f).hash(&mut hash),
                    Fun::Cast(dtype) => (1, dtype).hash(&mut hash),
                    Fun::Item(k) => (2, k).hash(&mut hash),
                    Fun::Op(instance) => self.instance(scope, instance, &mut hash),
                    Fun::Combine(monoid) => (4, monoid).hash(&mut hash),
                }
                self.list(scope, args, &mut hash);
            }
            Form::Read(base, index) => {
                hash = Fnv::tagged(4);
                self.term(scope, base).hash(&mut hash);
                self.list(scope, index, &mut hash);
            }
            Form::Comp(binders, body) => {
                hash = Fnv::tagged(5);
                let mut inner = self.enter(scope, binders, &mut hash);
                self.term(&mut inner, body).hash(&mut hash);
            }
            Form::Reduce(r) => {
                hash = Fnv::tagged(6);
                r.op.hash(&mut hash);
                let mut inner = self.enter(scope, &r.binders, &mut hash);
                self.term(&mut inner, &r.body).hash(&mut hash);
            }
            Form::If(c, a, b) => {
                hash = Fnv::tagged(7);
                self.list(scope, &[c.clone(), a.clone(), b.clone()], &mut hash);
            }
            Form::Let(..) => {
                hash = Fnv::tagged(8);
                let (chain, body) = lets(term);
                let mut inner = scope.inner();
                for (v, value) in chain {
                    self.term(&mut inner, value).hash(&mut hash);
                    inner.done.clear();
                    inner.names.bind_var(v);
                }
                self.term(&mut inner, body).hash(&mut hash);
            }
            Form::Tuple(parts) => {
                hash = Fnv::tagged(9);
                self.list(scope, parts, &mut hash);
            }
            Form::Loop(l) => {
                hash = Fnv::tagged(10);
                l.state.iter().for_each(|(_, t)| self.term(scope, t).hash(&mut hash));
                let mut inner = self.enter(scope, l.counter.as_slice(), &mut hash);
                l.state.iter().for_each(|(v, _)| inner.names.bind_var(v));
                self.list(&mut inner, l.condition.as_slice(), &mut hash);
                self.term(&mut inner, &l.step).hash(&mut hash);
            }
            Form::Write(w) => {
                hash = Fnv::tagged(11);
                self.term(scope, &w.base).hash(&mut hash);
                let mut inner = self.enter(scope, &w.binders, &mut hash);
                self.list(&mut inner, &w.index, &mut hash);
                self.term(&mut inner, &w.value).hash(&mut hash);
            }
        }
        hash.0
    }

    fn instance(&mut self, scope: &Naming, instance: &Instance, hash: &mut Fnv) {
        let mut inner = scope.inner();
        (3, &instance.name, instance.params.len()).hash(hash);
        for (v, ty) in &instance.params {
            inner.names.ty(ty).hash(hash);
            inner.names.bind_var(v);
        }
        self.term(&mut inner, &instance.body).hash(hash);
    }
}
