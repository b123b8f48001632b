//! What a program costs, by its kernels after fusion: operations on elements, and bytes that go
//! to and from memory.
//!
//! The unit is that of `semantics::price`. It is a model, for choosing among programs that mean
//! the same; nothing is measured here.

use std::collections::BTreeSet;

use rtv_semantics::eval::EvalError;
use rtv_semantics::price::{BYTE, PLAIN, scalar};
use rtv_semantics::term::{Term, Var};

use crate::loops::{
    ArrayDecl, ArrayId, Axis, ExprId, Kernel, Nests, Node, Role, chains, fuse, lower, read_elsewhere,
};

/// Starting one kernel.
const KERNEL: f64 = 2_000.0;

/// The cost of a program at concrete shapes.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Cost {
    pub kernels: usize,
    /// Of three kernels each, between which nothing goes to memory.
    pub chains: usize,
    /// Operations, each by its price.
    pub operations: f64,
    /// Bytes that kernels read and write.
    pub bytes: f64,
}

impl Cost {
    /// Of `term`, whose free variables are `inputs`.
    ///
    /// # Errors
    /// Where the program has no loop nests: see [`lower`].
    pub fn of(term: &Term, inputs: &[(Var, ArrayDecl)]) -> Result<Cost, EvalError> {
        let mut nests = lower(term, inputs)?;
        let kernels = fuse(&mut nests);
        let mut cost = Cost { kernels: kernels.len(), ..Cost::default() };
        let reads: Vec<BTreeSet<ArrayId>> = kernels.iter().map(|kernel| kernel.reads(&nests)).collect();
        let mut kept = read_elsewhere(&kernels, &reads);
        kept.extend(nests.result.arrays());
        let chains = chains(&nests, &kernels, &reads);
        cost.chains = chains.len();
        // They stay in the cache.
        let between: BTreeSet<ArrayId> = chains.iter().flat_map(|chain| chain.between).collect();
        kept.retain(|array| !between.contains(array));
        for (kernel, read) in kernels.iter().zip(&reads) {
            cost.operations += operations(&nests, kernel);
            cost.bytes += bytes(&nests, kernel, &(read - &between), &kept);
        }
        Ok(cost)
    }

    /// As one number.
    pub fn total(&self) -> f64 {
        self.operations + BYTE * self.bytes + KERNEL * self.kernels as f64
    }
}

fn operations(nests: &Nests, kernel: &Kernel) -> f64 {
    let extents: Vec<f64> = kernel.axes.iter().map(|axis| nests.arena.axis_extent(*axis) as f64).collect();
    let points: f64 = extents.iter().product();
    if kernel.product.is_some() {
        return points;
    }
    let rows: f64 = extents[..kernel.outer].iter().product();
    let inner = &kernel.axes[kernel.outer..];
    let member = |role: &Role, body: ExprId| {
        let Parts { along, apart } = expression(nests, body, inner);
        match role {
            Role::Full => points * along + rows * apart,
            Role::Row => rows * (along + apart),
            Role::Reduce { .. } => points * (PLAIN + along) + rows * apart,
        }
    };
    kernel.members.iter().map(|m| member(&m.role, m.body)).sum()
}

/// What one evaluation of an expression costs.
#[derive(Default)]
struct Parts {
    /// Of that which depends on one of the axes.
    along: f64,
    /// Of the rest, which is computed before them.
    apart: f64,
}

/// One evaluation of an expression. What occurs twice in it is computed once.
fn expression(nests: &Nests, root: ExprId, inner: &[Axis]) -> Parts {
    let axes = nests.arena.axes_of_each(root);
    let mut parts = Parts::default();
    nests.arena.walk(root, &mut |id| {
        let own = match nests.arena.node(id) {
            Node::Call { fun, .. } => scalar(*fun),
            Node::Cast { .. } | Node::Select { .. } | Node::FloorDiv(..) | Node::Product(..) => PLAIN,
            Node::Reduce { axes, body, .. } => {
                let times: f64 = axes.iter().map(|(axis, _)| nests.arena.axis_extent(*axis) as f64).product();
                let Parts { along, apart } = expression(nests, *body, &[]);
                times * (PLAIN + along + apart)
            }
            _ => return,
        };
        let varies = inner.iter().any(|axis| axes[&id].contains(axis));
        *(if varies { &mut parts.along } else { &mut parts.apart }) += own;
    });
    parts
}

fn bytes(nests: &Nests, kernel: &Kernel, read: &BTreeSet<ArrayId>, kept: &BTreeSet<ArrayId>) -> f64 {
    let own = kernel.arrays();
    let moved = read.difference(&own).chain(own.intersection(kept));
    moved.map(|array| nests.decl(*array).bytes() as f64).sum()
}
