//! Folds: one state, changed step by step, and reductions by declared monoids, which are
//! folds that begin with their first element.

use std::collections::BTreeSet;

use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::codes;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::term::{Declared, Form, Loop, Term};

use super::expr::{Arena, ArrayId, ExprId, Node};
use super::lin::{Axis, Lin};
use super::lower::{Env, Lowering, Name, Res, Val, bind, limit};
use super::rewrite::Rewrite;
use super::{ArrayDecl, Nests};

impl Lowering {
    /// A loop over one scalar. Loops that only pass it on are one over all their indices.
    pub(super) fn fold(&mut self, term: &Term, l: &Loop, env: &Env) -> Res<ExprId> {
        let refuse =
            || limit(codes::BACKEND, term.span(), "a loop that is no fold of one number has no kernel");
        let first = match l.state.as_slice() {
            [(_, first)] if is_number(first) => self.scalar(first, env)?,
            _ => return Err(refuse()),
        };
        let (mut binders, mut innermost) = (Vec::new(), l);
        let var = loop {
            let ([(var, _)], Some(counter), None) =
                (innermost.state.as_slice(), &innermost.counter, &innermost.condition)
            else {
                return Err(refuse());
            };
            binders.push(counter.clone());
            match innermost.step.form() {
                Form::Loop(next) if passes_on(next, var.id) => innermost = next,
                _ => break var,
            }
        };
        let (axes, inner) = self.loops(&binders, env, term.span())?;
        let (state, before) = self.state(self.arena.dtype(first), &axes);
        let inner = bind(&inner, Name::Var(var.id), Val::Scalar(before));
        let step = self.scalar(&innermost.step, &inner)?;
        Ok(self.folded(axes, state, first, step))
    }

    /// A reduction by a declared monoid: without elements it is the identity.
    pub(super) fn declared(
        &mut self,
        monoid: &Declared,
        axes: Vec<(Axis, Lin)>,
        element: ExprId,
        span: Span,
    ) -> Res<ExprId> {
        // Which element is the first is known where each axis begins at 0.
        if axes.len() > 1 && axes.iter().any(|(_, extent)| depends_on(&mut self.arena, extent, &axes)) {
            return Err(limit(codes::BACKEND, span, "a reduction over a ragged range has no kernel"));
        }
        let dtype = monoid.element.dtype();
        let identity = self.scalar(&monoid.identity, &None)?;
        let (state, before) = self.state(dtype, &axes);
        let mut inner = None;
        for ((var, _), value) in monoid.combine.params.iter().zip([before, element]) {
            inner = bind(&inner, Name::Var(var.id), Val::Scalar(value));
        }
        let combined = self.scalar(&monoid.combine.body, &inner)?;
        let begins = at_first(&mut self.arena, &axes);
        let step = self.arena.select(begins, element, combined);
        Ok(self.folded(axes, state, identity, step))
    }

    /// A state of a fold over the axes, and what it is within a step.
    fn state(&mut self, dtype: DType, axes: &[(Axis, Lin)]) -> (ArrayId, ExprId) {
        let shape = axes.iter().map(|(axis, _)| self.arena.axis_extent(*axis) as usize).collect();
        self.arrays.push(ArrayDecl { dtype, shape });
        let state = ArrayId(self.arrays.len() as u32 - 1);
        self.states.push(state);
        (state, self.arena.intern(load(state, dtype, axes)))
    }

    fn folded(&mut self, axes: Vec<(Axis, Lin)>, state: ArrayId, first: ExprId, step: ExprId) -> ExprId {
        if axes.iter().any(|(_, extent)| self.arena.range(extent).1 <= 0) {
            return first;
        }
        self.arena.intern(Node::Fold { axes, state, first, step })
    }
}

fn is_number(term: &Term) -> bool {
    term.tensor_type().is_some_and(|ty| ty.shape.is_empty())
}

/// Whether a loop begins with the value of a variable and does nothing else.
fn passes_on(l: &Loop, var: u32) -> bool {
    match l.state.as_slice() {
        [(_, first)] => matches!(first.form(), Form::Var(known) if known.id == var),
        _ => false,
    }
}

fn load(state: ArrayId, dtype: DType, axes: &[(Axis, Lin)]) -> Node {
    Node::Load { array: state, dtype, index: axes.iter().map(|(axis, _)| Lin::axis(*axis)).collect() }
}

/// Whether all axes are at 0.
fn at_first(arena: &mut Arena, axes: &[(Axis, Lin)]) -> ExprId {
    let always = arena.bool(true);
    axes.iter().fold(always, |all, (axis, _)| {
        let (index, zero) = (arena.index(Lin::axis(*axis)), arena.index(Lin::default()));
        let first = arena.call(Scalar::Eq, DType::I64, vec![index, zero], None);
        arena.call(Scalar::LogicalAnd, DType::Bool, vec![all, first], None)
    })
}

fn depends_on(arena: &mut Arena, extent: &Lin, axes: &[(Axis, Lin)]) -> bool {
    let end = arena.index(extent.clone());
    let free = arena.free_axes(end);
    axes.iter().any(|(axis, _)| free.contains(axis))
}

/// Whether anything but the step of a fold reads what it has come to: a definition of its
/// own, which would be computed before the fold.
pub(super) fn leaks(nests: &Nests, states: &[ArrayId]) -> bool {
    let states: BTreeSet<ArrayId> = states.iter().copied().collect();
    nests.defs.iter().any(|def| nests.loads(def.body).iter().any(|array| states.contains(array)))
}

/// Makes folds ready to run: over constant extents, with a step that says where it begins.
pub(super) fn settle(nests: &mut Nests) {
    for at in 0..nests.defs.len() {
        let Node::Fold { axes, state, first, step } = nests.arena.node(nests.defs[at].body).clone() else {
            continue;
        };
        let arena = &mut nests.arena;
        let dtype = arena.dtype(first);
        let old = arena.intern(load(state, dtype, &axes));
        let begins = at_first(arena, &axes);
        let before = arena.select(begins, first, old);
        let mut step = arena.rewrite(step, &mut Rewrite::default().replace(old, before));
        let mut even = Vec::new();
        for (axis, extent) in axes {
            let most = arena.axis_extent(axis);
            if extent.as_constant() != Some(most) {
                let (index, end) = (arena.index(Lin::axis(axis)), arena.index(extent));
                let inside = arena.call(Scalar::Lt, DType::I64, vec![index, end], None);
                step = arena.select(inside, step, before);
            }
            even.push((axis, Lin::constant(most)));
        }
        nests.defs[at].body = arena.intern(Node::Fold { axes: even, state, first, step });
    }
}
