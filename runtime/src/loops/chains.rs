//! Products, passes that reduce or mask their rows, and products with what these give:
//! attention. A backend may take a block of rows through all three while it lies in a cache.
//! Where rows are neither, as in a perceptron, there is but one pass, and that is slower than
//! one kernel after the other (by 0 to 40 % on the CPU, and more where rows are short).

use std::collections::BTreeSet;

use rtv_semantics::dtype::DType;

use super::expr::{ArrayId, ExprId, Node};
use super::fuse::{Contraction, Kernel, Role, Shape, read_elsewhere};
use super::lin::Axis;
use super::{Lin, Nests};

/// Three kernels in a row of which each reads what the one before gives, and nothing else does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The place of the kernel of passes, after the one of a product and before another.
    pub passes: usize,
    /// What the first product gives, and what the passes make of it.
    pub between: [ArrayId; 2],
}

/// The chains of a program; `reads` has the arrays that each kernel reads.
pub fn chains(nests: &Nests, kernels: &[Kernel], reads: &[BTreeSet<ArrayId>]) -> Vec<Chain> {
    let mut kept = read_elsewhere(kernels, reads);
    kept.extend(nests.result.arrays());
    let mut found: Vec<Chain> = Vec::new();
    for passes in 1..kernels.len().saturating_sub(1) {
        // The second product of one is not the first of another.
        if found.last().is_some_and(|last| last.passes + 2 == passes) {
            continue;
        }
        found.extend(chain(nests, kernels, reads, &kept, passes));
    }
    found
}

fn chain(
    nests: &Nests,
    kernels: &[Kernel],
    reads: &[BTreeSet<ArrayId>],
    kept: &BTreeSet<ArrayId>,
    passes: usize,
) -> Option<Chain> {
    let [first, rows, second] = &kernels[passes - 1..=passes + 1] else { return None };
    let (into, from) = (first.product.as_ref()?, second.product.as_ref()?);
    let [scores, weights] = [first, rows].map(|kernel| {
        let mut stored = kernel.arrays().into_iter().filter(|array| kept.contains(array));
        stored.next().filter(|_| stored.next().is_none())
    });
    let (scores, weights) = (scores?, weights?);
    let results = nests.result.arrays();
    let read_only_by = |array: ArrayId, reader: usize| {
        let others = reads.iter().enumerate().filter(|(at, _)| ![reader - 1, reader].contains(at));
        reads[reader].contains(&array)
            && others.map(|(_, read)| read).all(|read| !read.contains(&array))
            && !results.contains(&array)
    };
    // Both lie in memory as blocks of rows.
    let lie_in_rows = axes_of(first, scores)? == [&*into.batch, &into.rows, &into.columns].concat()
        && axes_of(rows, weights)? == rows.axes
        && rows.members.iter().all(|member| is_read_along(nests, member.body, scores, &rows.axes))
        && is_read_along(nests, from.left, weights, &[&*from.batch, &from.rows, &from.inner].concat());
    let fit =
        rows.shape == Shape::Rows && extents(nests, into, &into.columns) == extents(nests, from, &from.inner);
    let dtypes = [scores, weights, second.members[0].array].map(|array| nests.decl(array).dtype);
    let is_chain = lie_in_rows
        && fit
        && read_only_by(scores, passes)
        && read_only_by(weights, passes + 1)
        && !nests.loads(from.right).contains(&weights)
        && [DType::F32, DType::F64].iter().any(|dtype| dtypes == [*dtype; 3])
        && rows
            .members
            .iter()
            .any(|m| matches!(m.role, Role::Reduce { .. }) || is_masked(nests, m.body, scores));
    is_chain.then_some(Chain { passes, between: [scores, weights] })
}

/// Whether an expression reads an array under a condition on indices alone, so that some of it may stay unread.
fn is_masked(nests: &Nests, root: ExprId, array: ArrayId) -> bool {
    let mut masked = false;
    nests.arena.walk(root, &mut |id| {
        if let Node::Select { cond, then, otherwise } = nests.arena.node(id) {
            let [then, otherwise] = [then, otherwise].map(|part| nests.loads(*part).contains(&array));
            masked |= then != otherwise && nests.loads(*cond).is_empty();
        }
    });
    masked
}

/// Batches, rows, and elements of a row.
fn extents(nests: &Nests, product: &Contraction, along: &[Axis]) -> [i64; 3] {
    let extent = |axes: &[Axis]| axes.iter().map(|axis| nests.arena.axis_extent(*axis)).product();
    [extent(&product.batch), extent(&product.rows), extent(along)]
}

/// The axes of an array that a kernel computes, those with more than one index.
fn axes_of(kernel: &Kernel, array: ArrayId) -> Option<Vec<Axis>> {
    let member = kernel.members.iter().find(|member| member.array == array)?;
    Some(member.axes.iter().copied().flatten().collect())
}

/// Whether an expression reads an array, if at all, at these axes in their order.
fn is_read_along(nests: &Nests, root: ExprId, wanted: ArrayId, axes: &[Axis]) -> bool {
    let mut along = true;
    nests.arena.walk(root, &mut |id| {
        if let Node::Load { array, index, .. } = nests.arena.node(id)
            && *array == wanted
        {
            let moving = index.iter().filter(|lin| lin.as_constant().is_none()).map(Lin::as_axis);
            along &= moving.eq(axes.iter().copied().map(Some));
        }
    });
    along
}
