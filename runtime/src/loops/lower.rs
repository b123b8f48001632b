//! From a core term at concrete shapes to definitions of arrays.
//!
//! The term is run symbolically: a value is a scalar expression, an array, or a
//! comprehension that waits for an index. A tensor that is bound, by a `let` or as an
//! argument, becomes a definition; inside a loop it gets the axes of the loop in front.
//! Which definitions are worth an array of their own is decided later, by fusion.

mod sizes;

use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::monoid::Monoid;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{EvalError, Frame, codes};
use rtv_semantics::scalar::{Domain, Scalar, Value};
use rtv_semantics::size::Sym;
use rtv_semantics::tensor::element_count;
use rtv_semantics::term::{self, Binder, ErrorClass, Form, Fun, Instance, Term, Var};
use rtv_semantics::types::Type;

use super::expr::{Arena, ArrayId, ExprId, Node, SiteId};
use super::lin::{Axis, Lin};
use super::{ArrayDecl, Def, Nests, Outcome, Site, SiteKind, extract, fold};

/// Levels of nesting, and expressions of one program.
const MAX_DEPTH: usize = 4_000;
const MAX_EXPRESSIONS: usize = 1 << 20;
/// Elements of one array.
pub const MAX_ELEMENTS: usize = 1 << 28;
/// What the stack of a deep term may need.
const STACK: usize = 256 << 20;

pub(super) type Res<T> = Result<T, Box<EvalError>>;

/// The loop nests of `term`, whose free variables are `inputs` with their types.
///
/// # Errors
/// Where a shape is negative or nothing can be computed whatever the arguments hold,
/// the error of the reference evaluator; a limit that is reached has no class.
pub fn lower(term: &Term, inputs: &[(Var, ArrayDecl)]) -> Result<Nests, EvalError> {
    let work = || {
        let mut lowering = Lowering::default();
        let mut env = None;
        for (var, decl) in inputs {
            let array = lowering.declare(decl.clone(), Span::default()).map_err(|e| *e)?;
            lowering.inputs.push(array);
            let value = lowering.whole(array);
            env = bind(&env, Name::Var(var.id), value);
        }
        let value = lowering.term(term, &env).map_err(|e| *e)?;
        let result = lowering.outcome(&value, term.span()).map_err(|e| *e)?;
        lowering.finish(result, term.span()).map_err(|e| *e)
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        match builder.spawn_scoped(scope, work) {
            Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(fault) => Err(*limit(codes::DEPTH, term.span(), format!("no stack to lower on: {fault}"))),
        }
    })
}

pub(super) fn limit(
    code: rtv_semantics::diag::Code,
    span: Span,
    message: impl Into<String>,
) -> Box<EvalError> {
    Box::new(EvalError { class: None, code, message: message.into(), span, trace: Vec::new() })
}

/// The scalars that a value is made of.
fn scalars(value: &Val) -> Vec<ExprId> {
    match value {
        Val::Scalar(id) => vec![*id],
        Val::Tuple(parts) => parts.iter().flat_map(scalars).collect(),
        Val::Size(_) | Val::Tensor(_) => Vec::new(),
    }
}

/// A value while lowering.
#[derive(Clone)]
pub(super) enum Val {
    Size(Lin),
    Scalar(ExprId),
    Tensor(Rc<Tensor>),
    Tuple(Rc<Vec<Val>>),
}

/// A tensor that elements can be asked of.
pub(super) struct Tensor {
    dtype: DType,
    shape: Vec<Lin>,
    source: Source,
}

enum Source {
    /// The leading indices are fixed: those of the loops it was defined in.
    Array {
        array: ArrayId,
        before: Vec<Lin>,
    },
    Comp {
        binders: Vec<Binder>,
        body: Term,
        env: Env,
        /// The calls around it, which may be over when an element is asked for.
        calls: Rc<Vec<Frame>>,
    },
    If {
        cond: ExprId,
        then: Rc<Tensor>,
        otherwise: Rc<Tensor>,
    },
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Name {
    Var(u32),
    Sym(Sym),
}

pub(super) struct Binding {
    name: Name,
    value: Val,
    outer: Env,
}

/// Names in scope, innermost first; shared by the comprehensions that wait.
pub(super) type Env = Option<Rc<Binding>>;

pub(super) fn bind(env: &Env, name: Name, value: Val) -> Env {
    Some(Rc::new(Binding { name, value, outer: env.clone() }))
}

fn find<'e>(mut env: &'e Env, name: &Name) -> Option<&'e Val> {
    while let Some(binding) = env {
        if binding.name == *name {
            return Some(&binding.value);
        }
        env = &binding.outer;
    }
    None
}

#[derive(Default)]
pub(super) struct Lowering {
    pub(super) arena: Arena,
    pub(super) arrays: Vec<ArrayDecl>,
    inputs: Vec<ArrayId>,
    defs: Vec<Def>,
    sites: Vec<Site>,
    known_sites: FxHashMap<String, SiteId>,
    /// Values of [`Lowering::shared`], with the scopes whose addresses are in the keys.
    known_tuples: FxHashMap<(usize, *const Binding, Vec<ExprId>), (Env, Val)>,
    /// The calls around, outermost first.
    calls: Rc<Vec<Frame>>,
    /// The conditions of the branches around.
    guards: Vec<ExprId>,
    depth: usize,
    /// What folds have come to: read within their steps only.
    pub(super) states: Vec<ArrayId>,
}

impl Lowering {
    fn finish(self, result: Outcome, span: Span) -> Res<Nests> {
        if self.arena.overflowed {
            return Err(limit(codes::NUMBER, span, "an index of the program leaves the 64-bit range"));
        }
        let Lowering { arena, arrays, inputs, defs, sites, states, .. } = self;
        let mut nests = Nests { arena, arrays, inputs, defs, result, sites };
        extract::reductions(&mut nests);
        if fold::leaks(&nests, &states) {
            let message = "a fold whose step reduces or checks what the fold has come to has no kernel";
            return Err(limit(codes::BACKEND, span, message));
        }
        extract::drop_dead(&mut nests);
        Ok(nests)
    }

    fn declare(&mut self, decl: ArrayDecl, span: Span) -> Res<ArrayId> {
        let elements = element_count(&decl.shape).filter(|n| *n <= MAX_ELEMENTS);
        if elements.is_none() {
            let message =
                format!("a tensor of shape {:?} exceeds the limit of {MAX_ELEMENTS} elements", decl.shape);
            return Err(limit(codes::ELEMENTS, span, message));
        }
        self.arrays.push(decl);
        Ok(ArrayId(self.arrays.len() as u32 - 1))
    }

    /// All of an array, as a value.
    fn whole(&mut self, array: ArrayId) -> Val {
        let decl = self.arrays[array.0 as usize].clone();
        if decl.shape.is_empty() {
            let load = Node::Load { array, dtype: decl.dtype, index: Vec::new() };
            return Val::Scalar(self.arena.intern(load));
        }
        let shape = decl.shape.iter().map(|extent| Lin::constant(*extent as i64)).collect();
        let source = Source::Array { array, before: Vec::new() };
        Val::Tensor(Rc::new(Tensor { dtype: decl.dtype, shape, source }))
    }

    fn site(&mut self, kind: SiteKind, span: Span) -> SiteId {
        let mut place = span;
        let mut trace = Vec::new();
        for frame in self.calls.iter().rev() {
            if frame.is_op {
                place = frame.span;
            }
            trace.push(frame.clone());
        }
        let site = Site { kind, span: place, trace };
        // Equal sites are one, so that equal expressions stay one.
        let next = SiteId(self.sites.len() as u32);
        let id = *self.known_sites.entry(format!("{site:?}")).or_insert(next);
        if id == next {
            self.sites.push(site);
        }
        id
    }

    pub(super) fn term(&mut self, term: &Term, env: &Env) -> Res<Val> {
        if self.depth >= MAX_DEPTH {
            return Err(limit(codes::DEPTH, term.span(), format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if self.arena.len() > MAX_EXPRESSIONS {
            let message = format!("more than {MAX_EXPRESSIONS} expressions");
            return Err(limit(codes::STEPS, term.span(), message));
        }
        self.depth += 1;
        let value = self.form(term, env);
        self.depth -= 1;
        value
    }

    fn form(&mut self, term: &Term, env: &Env) -> Res<Val> {
        match term.form() {
            Form::Size(size) => Ok(Val::Size(self.size(size, env, term.span())?)),
            Form::Lit(lit) => {
                let value = Value::literal(&lit.text(), term.dtype(), Domain::Ieee);
                let value = value.map_err(|fault| {
                    let class = Some(ErrorClass::Value);
                    Box::new(EvalError { class, ..*limit(codes::VALUE, term.span(), fault.to_string()) })
                })?;
                let constant = self.arena.constant(term.dtype(), &value);
                Ok(Val::Scalar(constant.expect("invariant: an IEEE value")))
            }
            Form::Var(var) => match find(env, &Name::Var(var.id)) {
                Some(value) => Ok(value.clone()),
                None => Err(limit(codes::UNBOUND, term.span(), format!("no value for `{}`", var.name))),
            },
            Form::Call(Fun::Scalar(fun), args) => self.scalar_call(term, *fun, args, env),
            Form::Call(Fun::Cast(to), args) => {
                let arg = self.term(&args[0], env)?;
                let arg = self.as_scalar(&arg);
                Ok(Val::Scalar(self.arena.cast(*to, arg)))
            }
            Form::Call(Fun::Op(instance), args) => self.call(term, instance, args, env),
            Form::Call(Fun::Combine(monoid), args) => self.call(term, &monoid.combine, args, env),
            Form::Call(Fun::Item(k), args) => match self.shared(&args[0], env)? {
                Val::Tuple(parts) => {
                    let value = parts[*k].clone();
                    Ok(self.after(&scalars(&Val::Tuple(parts)), value))
                }
                _ => Err(limit(codes::UNBOUND, term.span(), "a component of what is no tuple")),
            },
            Form::Read(base, index) => {
                let from_end: Vec<bool> = index.iter().map(Term::counts_from_end).collect();
                let index: Res<Vec<Lin>> = index.iter().map(|i| self.lin(i, env)).collect();
                let base = self.term(base, env)?;
                let Val::Tensor(tensor) = base else {
                    return Err(limit(codes::UNBOUND, term.span(), "a read of what is no tensor"));
                };
                Ok(Val::Scalar(self.element(&tensor, &index?, &from_end, term.span())?))
            }
            Form::Comp(binders, body) => {
                let shape = self.extents(binders, env, term.span())?;
                let (binders, calls) = (binders.clone(), self.calls.clone());
                let source = Source::Comp { binders, body: body.clone(), env: env.clone(), calls };
                Ok(Val::Tensor(Rc::new(Tensor { dtype: body.dtype(), shape, source })))
            }
            Form::Reduce(reduce) => {
                let (axes, inner) = self.loops(&reduce.binders, env, term.span())?;
                let op = match &reduce.op {
                    term::Monoid::Declared(_) if term.tensor_type().is_none() => {
                        let message = "a reduction by a monoid of several values has no kernel";
                        return Err(limit(codes::BACKEND, term.span(), message));
                    }
                    term::Monoid::Declared(monoid) => {
                        let body = self.scalar(&reduce.body, &inner)?;
                        return self.declared(monoid, axes, body, term.span()).map(Val::Scalar);
                    }
                    op => Monoid::of(op),
                };
                let op = op.expect("invariant: those of the language");
                let body = self.scalar(&reduce.body, &inner)?;
                Ok(Val::Scalar(self.reduction(op, axes, body)))
            }
            Form::If(cond, then, otherwise) => {
                let cond = self.term(cond, env)?;
                let cond = self.as_scalar(&cond);
                self.branch(cond, then, otherwise, env)
            }
            Form::Let(..) => self.lets(term, env),
            Form::Tuple(parts) => {
                let parts: Res<Vec<Val>> = parts.iter().map(|part| self.term(part, env)).collect();
                Ok(Val::Tuple(Rc::new(parts?)))
            }
            Form::Loop(l) => self.fold(term, l, env).map(Val::Scalar),
            Form::Write(_) => Err(limit(codes::BACKEND, term.span(), "a write has no kernel")),
        }
    }

    /// A chain of `let`s, however long, and what follows it.
    fn lets(&mut self, term: &Term, env: &Env) -> Res<Val> {
        let (mut env, mut firsts, mut rest) = (env.clone(), Vec::new(), term);
        while let Form::Let(var, value, body) = rest.form() {
            let value = self.term(value, &env)?;
            let value = self.bound(value, rest.span())?;
            firsts.push(scalars(&value));
            env = bind(&env, Name::Var(var.id), value);
            rest = body;
        }
        let result = self.term(rest, &env)?;
        Ok(firsts.iter().rev().fold(result, |value, first| self.after(first, value)))
    }

    /// The value of a term whose components are asked for one by one: it is worked out once
    /// in each scope and branch.
    fn shared(&mut self, term: &Term, env: &Env) -> Res<Val> {
        let scope = env.as_ref().map_or(std::ptr::null(), Rc::as_ptr);
        let key = (term.address(), scope, self.guards.clone());
        if let Some((_, value)) = self.known_tuples.get(&key) {
            return Ok(value.clone());
        }
        let value = self.term(term, env)?;
        self.known_tuples.insert(key, (env.clone(), value.clone()));
        Ok(value)
    }

    /// The axes of a reduction or fold, and the scope of its body.
    pub(super) fn loops(
        &mut self,
        binders: &[Binder],
        env: &Env,
        span: Span,
    ) -> Res<(Vec<(Axis, Lin)>, Env)> {
        let (mut axes, mut inner) = (Vec::new(), env.clone());
        for binder in binders {
            let extent = self.size(&binder.extent, &inner, span)?;
            let most = i64::try_from(self.arena.range(&extent).1).unwrap_or(i64::MAX);
            let axis = self.arena.axis(most);
            axes.push((axis, extent));
            inner = bind(&inner, Name::Sym(binder.sym.clone()), Val::Size(Lin::axis(axis)));
        }
        Ok((axes, inner))
    }

    pub(super) fn scalar(&mut self, term: &Term, env: &Env) -> Res<ExprId> {
        let value = self.term(term, env)?;
        Ok(self.as_scalar(&value))
    }

    /// A reduction over no axes is its body; one over a constant empty range is neutral.
    fn reduction(&mut self, op: Monoid, axes: Vec<(Axis, Lin)>, body: ExprId) -> ExprId {
        if axes.is_empty() {
            return body;
        }
        if axes.iter().any(|(_, extent)| self.arena.range(extent).1 <= 0) {
            let dtype = self.arena.dtype(body);
            return neutral(&mut self.arena, op, dtype);
        }
        self.arena.intern(Node::Reduce { op, axes, body })
    }

    pub(super) fn as_scalar(&mut self, value: &Val) -> ExprId {
        match value {
            Val::Scalar(id) => *id,
            Val::Size(lin) => self.arena.index(lin.clone()),
            Val::Tensor(_) | Val::Tuple(_) => unreachable!("invariant: terms are well typed"),
        }
    }

    /// An index: a size, or an integer scalar.
    fn lin(&mut self, term: &Term, env: &Env) -> Res<Lin> {
        Ok(match self.term(term, env)? {
            Val::Size(lin) => lin,
            value => {
                let id = self.as_scalar(&value);
                let id = self.arena.cast(DType::I64, id);
                self.arena.as_lin(id)
            }
        })
    }

    fn scalar_call(&mut self, term: &Term, fun: Scalar, args: &[Term], env: &Env) -> Res<Val> {
        let of_sizes = |t: &Term| *t.ty() == Type::Size;
        let mut values = Vec::new();
        for arg in args {
            let value = self.term(arg, env)?;
            values.push(self.as_scalar(&value));
        }
        // A condition on sizes at the right of `and` and `or` is asked only where it decides.
        if let ([left, right], Scalar::LogicalAnd | Scalar::LogicalOr) = (values.as_slice(), fun)
            && args[1].as_cond().is_some()
        {
            let deciding = self.arena.bool(fun == Scalar::LogicalOr);
            let (then, otherwise) =
                if fun == Scalar::LogicalAnd { (*right, deciding) } else { (deciding, *right) };
            return Ok(Val::Scalar(self.arena.select(*left, then, otherwise)));
        }
        let dtype = if args.iter().all(of_sizes) { DType::I64 } else { args[0].dtype() };
        let divides =
            matches!(fun, Scalar::FloorDivide | Scalar::TruncDivide | Scalar::Remainder | Scalar::Fmod);
        let fails = divides && dtype.is_int() && self.arena.as_constant(values[1]).is_none_or(|c| c.0 == 0);
        let site = fails.then(|| self.site(SiteKind::IntegerDivision, term.span()));
        Ok(Val::Scalar(self.arena.call(fun, dtype, values, site)))
    }

    fn call(&mut self, term: &Term, instance: &Arc<Instance>, args: &[Term], env: &Env) -> Res<Val> {
        // Sizes and indices of the caller may occur free in the body.
        let mut inner = env.clone();
        let (mut texts, mut first) = (Vec::new(), Vec::new());
        for (arg, (var, _)) in args.iter().zip(&instance.params) {
            let value = self.term(arg, env)?;
            let value = self.bound(value, arg.span())?;
            texts.push(self.type_text(&value));
            first.extend(scalars(&value));
            inner = bind(&inner, Name::Var(var.id), value);
        }
        texts.extend(instance.statics.iter().map(|(name, value)| format!("{name} = {value}")));
        let frame = Frame {
            name: instance.name.to_string(),
            span: term.span(),
            args: texts.join(", "),
            is_op: instance.is_op,
        };
        let outer = self.calls.clone();
        Rc::make_mut(&mut self.calls).push(frame);
        let value = self.enter(instance, &inner);
        self.calls = outer;
        Ok(self.after(&first, value?))
    }

    /// The value after scalars that are computed whether or not it uses them: they may fail.
    fn after(&mut self, first: &[ExprId], value: Val) -> Val {
        match value {
            Val::Scalar(then) => {
                Val::Scalar(first.iter().rev().fold(then, |then, first| self.arena.after(*first, then)))
            }
            Val::Tuple(parts) => {
                Val::Tuple(Rc::new(parts.iter().map(|part| self.after(first, part.clone())).collect()))
            }
            Val::Size(_) | Val::Tensor(_) => value,
        }
    }

    /// Preconditions, then the body. What does not hold is an error of the first use.
    fn enter(&mut self, instance: &Arc<Instance>, env: &Env) -> Res<Val> {
        let mut checks = Vec::new();
        for require in &instance.requires {
            let cond = self.term(&require.cond, env)?;
            let cond = self.as_scalar(&cond);
            let (text, of) = (Arc::from(require.text.as_str()), instance.name.clone());
            let site = self.site(SiteKind::Requires { class: require.class, text, of }, require.span);
            let holds = self.arena.bool(true);
            let check = self.arena.require(cond, holds, site);
            if check != holds {
                checks.push((check, site));
            }
        }
        for (check, _) in &checks {
            self.check(*check, instance.body.span())?;
        }
        self.term(&instance.body, env)
    }

    /// Makes a condition that can fail a definition of its own.
    fn check(&mut self, check: ExprId, span: Span) -> Res<()> {
        let axes: Vec<Axis> = self.arena.free_axes(check).into_iter().collect();
        let body = self.guarded(check);
        self.define(axes, body, span).map(drop)
    }

    /// The expression where the branches around are taken, and zero elsewhere.
    fn guarded(&mut self, body: ExprId) -> ExprId {
        if self.guards.is_empty() || !self.arena.can_fail(body) {
            return body;
        }
        let dtype = self.arena.dtype(body);
        let zero = self.arena.constant(dtype, &Value::zero(dtype, Domain::Ieee));
        let zero = zero.expect("invariant: an IEEE value");
        let guards = self.guards.clone();
        guards.into_iter().rev().fold(body, |body, guard| self.arena.select(guard, body, zero))
    }

    /// An array of `body` over the axes.
    fn define(&mut self, axes: Vec<Axis>, body: ExprId, span: Span) -> Res<ArrayId> {
        let shape = axes.iter().map(|axis| self.arena.axis_extent(*axis) as usize).collect();
        let array = self.declare(ArrayDecl { dtype: self.arena.dtype(body), shape }, span)?;
        self.defs.push(Def { array, axes, body });
        Ok(array)
    }

    /// A value that gets a name: a comprehension becomes a definition.
    fn bound(&mut self, value: Val, span: Span) -> Res<Val> {
        match value {
            Val::Tensor(tensor) => match &tensor.source {
                Source::Array { .. } => Ok(Val::Tensor(tensor)),
                Source::Comp { .. } | Source::If { .. } => Ok(Val::Tensor(self.settled(tensor, span)?)),
            },
            Val::Tuple(parts) => {
                let parts: Res<Vec<Val>> = parts.iter().map(|part| self.bound(part.clone(), span)).collect();
                Ok(Val::Tuple(Rc::new(parts?)))
            }
            Val::Scalar(id) if self.arena.can_fail(id) && self.arena.free_axes(id).is_empty() => {
                let body = self.guarded(id);
                let array = self.define(Vec::new(), body, span)?;
                Ok(self.whole(array))
            }
            other => Ok(other),
        }
    }

    /// The tensor as an array. One whose shape depends on a loop stays as it is.
    fn settled(&mut self, tensor: Rc<Tensor>, span: Span) -> Res<Rc<Tensor>> {
        let extents: Option<Vec<i64>> = tensor.shape.iter().map(Lin::as_constant).collect();
        let Some(extents) = extents else { return Ok(tensor) };
        let own: Vec<Axis> = extents.iter().map(|extent| self.arena.axis(*extent)).collect();
        let index: Vec<Lin> = own.iter().map(|axis| Lin::axis(*axis)).collect();
        let body = self.element(&tensor, &index, &[], span)?;
        let body = self.guarded(body);
        let outer = self.arena.free_axes(body).into_iter().filter(|axis| !own.contains(axis));
        let outer: Vec<Axis> = outer.collect();
        let before = outer.iter().map(|axis| Lin::axis(*axis)).collect();
        let axes = outer.into_iter().chain(own).collect();
        let array = self.define(axes, body, span)?;
        let shape = tensor.shape.clone();
        Ok(Rc::new(Tensor { dtype: tensor.dtype, shape, source: Source::Array { array, before } }))
    }

    /// The element at an index, which is checked against the shape.
    fn element(&mut self, tensor: &Rc<Tensor>, index: &[Lin], from_end: &[bool], span: Span) -> Res<ExprId> {
        let mut inside = Vec::with_capacity(index.len());
        for (axis, (lin, extent)) in index.iter().zip(&tensor.shape).enumerate() {
            let Some(extent) = extent.as_constant() else {
                return Err(limit(
                    codes::BACKEND,
                    span,
                    "a tensor whose shape depends on an index has no kernel",
                ));
            };
            let from_end = from_end.get(axis).is_some_and(|from_end| *from_end);
            let site = self.site(SiteKind::Index { axis, extent, from_end }, span);
            inside.push(self.arena.checked(lin, extent, site));
        }
        let element = self.element_inside(tensor, &inside)?;
        Ok(self.arena.keeping(&inside, element))
    }

    fn element_inside(&mut self, tensor: &Rc<Tensor>, index: &[Lin]) -> Res<ExprId> {
        match &tensor.source {
            Source::Array { array, before } => {
                let index = before.iter().chain(index).cloned().collect();
                Ok(self.arena.intern(Node::Load { array: *array, dtype: tensor.dtype, index }))
            }
            Source::Comp { binders, body, env, calls } => {
                let mut inner = env.clone();
                for (binder, lin) in binders.iter().zip(index) {
                    inner = bind(&inner, Name::Sym(binder.sym.clone()), Val::Size(lin.clone()));
                }
                let outer = std::mem::replace(&mut self.calls, calls.clone());
                let value = self.scalar(body, &inner);
                self.calls = outer;
                value
            }
            Source::If { cond, then, otherwise } => {
                let (then, otherwise) = (then.clone(), otherwise.clone());
                let then = self.under(*cond, |l| l.element_inside(&then, index))?;
                let not = self.not(*cond);
                let otherwise = self.under(not, |l| l.element_inside(&otherwise, index))?;
                Ok(self.arena.select(*cond, then, otherwise))
            }
        }
    }

    fn under<T>(&mut self, cond: ExprId, work: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        self.guards.push(cond);
        let result = work(self);
        self.guards.pop();
        result
    }

    fn not(&mut self, cond: ExprId) -> ExprId {
        self.arena.call(Scalar::LogicalNot, DType::Bool, vec![cond], None)
    }

    fn branch(&mut self, cond: ExprId, then: &Term, otherwise: &Term, env: &Env) -> Res<Val> {
        if let Some(constant) = self.arena.as_constant(cond) {
            return self.term(if constant.0 != 0 { then } else { otherwise }, env);
        }
        let taken = self.under(cond, |l| l.term(then, env))?;
        let not = self.not(cond);
        let left = self.under(not, |l| l.term(otherwise, env))?;
        self.choose(cond, &taken, &left)
    }

    fn choose(&mut self, cond: ExprId, then: &Val, otherwise: &Val) -> Res<Val> {
        match (then, otherwise) {
            (Val::Tensor(a), Val::Tensor(b)) => {
                let source = Source::If { cond, then: a.clone(), otherwise: b.clone() };
                Ok(Val::Tensor(Rc::new(Tensor { dtype: a.dtype, shape: a.shape.clone(), source })))
            }
            (Val::Tuple(a), Val::Tuple(b)) => {
                let parts: Res<Vec<Val>> =
                    a.iter().zip(b.iter()).map(|(a, b)| self.choose(cond, a, b)).collect();
                Ok(Val::Tuple(Rc::new(parts?)))
            }
            (Val::Size(a), Val::Size(b)) if a == b => Ok(Val::Size(a.clone())),
            (Val::Size(a), Val::Size(b)) => {
                let (a, b) = (self.arena.index(a.clone()), self.arena.index(b.clone()));
                let chosen = self.arena.select(cond, a, b);
                Ok(Val::Size(self.arena.as_lin(chosen)))
            }
            (a, b) => {
                let (a, b) = (self.as_scalar(a), self.as_scalar(b));
                Ok(Val::Scalar(self.arena.select(cond, a, b)))
            }
        }
    }

    /// The arrays of the result, each defined or an input.
    fn outcome(&mut self, value: &Val, span: Span) -> Res<Outcome> {
        match value {
            Val::Size(lin) => match lin.as_constant() {
                Some(size) => Ok(Outcome::Size(size.into())),
                None => Err(limit(codes::BACKEND, span, "a size that depends on data has no kernel")),
            },
            Val::Scalar(id) => Ok(Outcome::Array(self.define(Vec::new(), *id, span)?)),
            Val::Tensor(tensor) => {
                let settled = self.settled_source(tensor.clone(), span)?;
                Ok(Outcome::Array(settled))
            }
            Val::Tuple(parts) => {
                let parts: Res<Vec<Outcome>> = parts.iter().map(|part| self.outcome(part, span)).collect();
                Ok(Outcome::Tuple(parts?))
            }
        }
    }

    fn settled_source(&mut self, tensor: Rc<Tensor>, span: Span) -> Res<ArrayId> {
        let tensor = match &tensor.source {
            Source::Array { .. } => tensor,
            _ => self.settled(tensor, span)?,
        };
        match &tensor.source {
            Source::Array { array, before } if before.is_empty() => Ok(*array),
            _ => Err(limit(codes::BACKEND, span, "a result whose shape depends on data has no kernel")),
        }
    }

    /// `f32[2, 3]`, as errors name the arguments of a call.
    fn type_text(&self, value: &Val) -> String {
        match value {
            Val::Size(_) => "size".to_string(),
            Val::Scalar(id) => format!("{}[]", self.arena.dtype(*id)),
            Val::Tensor(tensor) => {
                let dims =
                    tensor.shape.iter().map(|lin| lin.as_constant().map_or("?".into(), |n| n.to_string()));
                format!("{}[{}]", tensor.dtype, dims.collect::<Vec<_>>().join(", "))
            }
            Val::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.type_text(part)).collect();
                format!("({})", parts.join(", "))
            }
        }
    }
}

/// The value of an empty reduction.
pub fn neutral(arena: &mut Arena, op: Monoid, dtype: DType) -> ExprId {
    let term = op.neutral(dtype);
    let Form::Lit(lit) = term.form() else { unreachable!("invariant: a neutral element is a literal") };
    let value = match (dtype, lit.text().as_str()) {
        (DType::Bool, text) => Value::Bool(matches!(text, "true" | "1")),
        (_, text) => Value::literal(text, dtype, Domain::Ieee).expect("invariant: a literal of its dtype"),
    };
    arena.constant(dtype, &value).expect("invariant: an IEEE value")
}
