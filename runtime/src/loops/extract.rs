//! Reductions and folds at the top of definitions only, and no definition without a use.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

use rtv_semantics::scalar::{Domain, Value};

use super::expr::{ArrayId, ExprId, Node};
use super::lin::{Axis, Lin};
use super::rewrite::Rewrite;
use super::{ArrayDecl, Def, Nests};

/// Gives each reduction or fold inside another expression a definition of its own, over
/// the axes it depends on, and one at the top that is the same along an axis as well. One
/// that can fail is computed only where it was asked for.
pub fn reductions(nests: &mut Nests) {
    let mut defs = Vec::new();
    let mut known: FxHashMap<ExprId, Def> = FxHashMap::default();
    for def in std::mem::take(&mut nests.defs) {
        let free = nests.arena.free_axes(def.body);
        let varies = |axis: &Axis| nests.arena.axis_extent(*axis) <= 1 || free.contains(axis);
        let body = match def.axes.iter().all(varies) {
            true => outermost(nests, def.body, &mut defs, &mut known),
            false => inner(nests, def.body, &mut defs, &mut known),
        };
        defs.push(Def { body, ..def });
    }
    nests.defs = defs;
}

/// The body with all reductions taken out but one at its top.
fn outermost(
    nests: &mut Nests,
    root: ExprId,
    defs: &mut Vec<Def>,
    known: &mut FxHashMap<ExprId, Def>,
) -> ExprId {
    match nests.arena.node(root).clone() {
        Node::Reduce { op, axes, body } => {
            let body = inner(nests, body, defs, known);
            nests.arena.intern(Node::Reduce { op, axes, body })
        }
        Node::Fold { axes, state, first, step } => {
            let first = inner(nests, first, defs, known);
            let step = inner(nests, step, defs, known);
            nests.arena.intern(Node::Fold { axes, state, first, step })
        }
        _ => inner(nests, root, defs, known),
    }
}

/// The expression with all reductions taken out.
fn inner(nests: &mut Nests, root: ExprId, defs: &mut Vec<Def>, known: &mut FxHashMap<ExprId, Def>) -> ExprId {
    let mut found: Vec<ExprId> = Vec::new();
    collect(nests, root, &mut BTreeSet::new(), &mut found);
    let mut by = Rewrite::default();
    for id in found {
        let def = if let Some(def) = known.get(&id) {
            def.clone()
        } else {
            let axes: Vec<Axis> = nests.arena.free_axes(id).into_iter().collect();
            let body = outermost(nests, id, defs, known);
            let body = only_where_asked(nests, root, id, body);
            let axes = with_free_axes(nests, axes, body);
            let shape = axes.iter().map(|axis| nests.arena.axis_extent(*axis) as usize).collect();
            nests.arrays.push(ArrayDecl { dtype: nests.arena.dtype(id), shape });
            let def = Def { array: ArrayId(nests.arrays.len() as u32 - 1), axes, body };
            defs.push(def.clone());
            def
        };
        // One that can fail is computed for this use alone: another asks for it elsewhere.
        if !nests.arena.can_fail(id) {
            known.insert(id, def.clone());
        }
        let Def { array, axes, .. } = def;
        let index = axes.iter().map(|axis| Lin::axis(*axis)).collect();
        let load = nests.arena.intern(Node::Load { array, dtype: nests.arena.dtype(id), index });
        by = by.replace(id, load);
    }
    nests.arena.rewrite(root, &mut by)
}

fn with_free_axes(nests: &Nests, mut axes: Vec<Axis>, body: ExprId) -> Vec<Axis> {
    for axis in nests.arena.free_axes(body) {
        if !axes.contains(&axis) {
            axes.push(axis);
        }
    }
    axes.sort();
    axes
}

/// Reductions that are in no other one.
fn collect(nests: &Nests, id: ExprId, seen: &mut BTreeSet<ExprId>, found: &mut Vec<ExprId>) {
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match nests.arena.node(id) {
            Node::Reduce { .. } | Node::Fold { .. } => found.push(id),
            _ => stack.extend(nests.arena.children(id).into_iter().rev()),
        }
    }
}

/// A reduction that can fail, made neutral wherever the selects around it in `root` do
/// not ask for it: its body is under the conditions on the way to it.
fn only_where_asked(nests: &mut Nests, root: ExprId, wanted: ExprId, reduction: ExprId) -> ExprId {
    if !nests.arena.can_fail(reduction) {
        return reduction;
    }
    let Some(guard) = asked(nests, root, wanted) else { return reduction };
    let dtype = nests.arena.dtype(reduction);
    let zero = nests.arena.constant(dtype, &Value::zero(dtype, Domain::Ieee));
    let zero = zero.expect("invariant: an IEEE value");
    let guarded = match nests.arena.node(reduction).clone() {
        Node::Reduce { op, axes, body } => {
            let body = nests.arena.select(guard, body, zero);
            Node::Reduce { op, axes, body }
        }
        Node::Fold { axes, state, first, step } => {
            let first = nests.arena.select(guard, first, zero);
            let step = nests.arena.select(guard, step, zero);
            Node::Fold { axes, state, first, step }
        }
        _ => return reduction,
    };
    nests.arena.intern(guarded)
}

/// The condition under which `root` asks for `wanted`; `None` if it always does.
fn asked(nests: &mut Nests, root: ExprId, wanted: ExprId) -> Option<ExprId> {
    use rtv_semantics::dtype::DType;
    use rtv_semantics::scalar::Scalar;
    let never = nests.arena.bool(false);
    let always = nests.arena.bool(true);
    let mut order = Vec::new();
    nests.arena.walk(root, &mut |id| order.push(id));
    let mut needed: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for id in order {
        let condition = if id == wanted {
            always
        } else {
            let of = |part: ExprId| needed.get(&part).copied().unwrap_or(never);
            let either = |nests: &mut Nests, a: ExprId, b: ExprId| {
                if a == always || b == always {
                    return always;
                }
                nests.arena.call(Scalar::LogicalOr, DType::Bool, vec![a, b], None)
            };
            match nests.arena.node(id).clone() {
                Node::Reduce { .. } | Node::Fold { .. } => never,
                Node::Select { cond, then, otherwise } => {
                    let (then, otherwise) = (of(then), of(otherwise));
                    let chosen =
                        if then == otherwise { then } else { nests.arena.select(cond, then, otherwise) };
                    either(nests, of(cond), chosen)
                }
                _ => {
                    let parts: Vec<ExprId> = nests.arena.children(id).into_iter().map(of).collect();
                    parts.into_iter().fold(never, |sum, part| either(nests, sum, part))
                }
            }
        };
        needed.insert(id, condition);
    }
    needed.get(&root).copied().filter(|condition| *condition != always)
}

/// Drops definitions that no result depends on and that cannot fail.
pub fn drop_dead(nests: &mut Nests) {
    let mut live: BTreeSet<ArrayId> = nests.result.arrays().into_iter().collect();
    let mut kept = Vec::new();
    for def in std::mem::take(&mut nests.defs).into_iter().rev() {
        if live.contains(&def.array) || nests.arena.can_fail(def.body) {
            live.extend(nests.loads(def.body));
            kept.push(def);
        }
    }
    kept.reverse();
    nests.defs = kept;
}
