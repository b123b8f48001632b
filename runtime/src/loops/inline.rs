//! Elementwise definitions computed where they are read.

use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

use rtv_semantics::scalar::Scalar;

use super::expr::{Arena, ArrayId, ExprId, Node};
use super::fuse::contraction;
use super::lin::{Axis, Lin};
use super::rewrite::{Inlined, Rewrite};
use super::{Def, Nests};

/// Calls that are computed again for every reader rather than stored.
const CHEAP: usize = 8;
/// Expressions of a definition with all that is put into it.
const MANY: usize = 1 << 11;

/// Puts definitions into those that read them, where that is no more work than storing them.
pub fn inline(nests: &mut Nests) {
    let kept: BTreeSet<ArrayId> =
        nests.result.arrays().into_iter().chain(super::whole::operands(nests)).collect();
    let mut inlining = Inlining::of(nests);
    for at in 0..inlining.nests.defs.len() {
        inlining.settle(at);
        if !kept.contains(&inlining.nests.defs[at].array) && inlining.is_worth(at) {
            inlining.put_into_readers(at);
        }
    }
}

/// A definition on its way into one that reads it.
struct Guest {
    inlined: Inlined,
    /// Whether nobody else reads it.
    alone: bool,
    size: usize,
}

/// Definitions are looked at in order, so that one is put as it will be into its readers, and a reader takes up all
/// that is put into it at once: long chains are not gone through for every link.
struct Inlining<'n> {
    nests: &'n mut Nests,
    /// The definitions that read each array.
    readers: FxHashMap<ArrayId, Vec<usize>>,
    /// What is yet to be put into each definition.
    guests: Vec<BTreeMap<ArrayId, Guest>>,
    /// The expressions of each definition with all that is put into it, or more.
    sizes: Vec<usize>,
    /// Whether an elementary function is among the calls of an expression.
    heavy: FxHashMap<ExprId, bool>,
}

impl Inlining<'_> {
    fn of(nests: &mut Nests) -> Inlining<'_> {
        let mut readers: FxHashMap<ArrayId, Vec<usize>> = FxHashMap::default();
        for (at, def) in nests.defs.iter().enumerate() {
            for array in nests.loads(def.body) {
                readers.entry(array).or_default().push(at);
            }
        }
        let sizes = nests.defs.iter().map(|def| nests.arena.below(def.body).count()).collect();
        let guests = nests.defs.iter().map(|_| BTreeMap::new()).collect();
        Inlining { nests, readers, guests, sizes, heavy: FxHashMap::default() }
    }

    fn readers(&self, at: usize) -> &[usize] {
        self.readers.get(&self.nests.defs[at].array).map_or(&[], Vec::as_slice)
    }

    fn is_worth(&mut self, at: usize) -> bool {
        let (arena, def) = (&self.nests.arena, &self.nests.defs[at]);
        let whole = matches!(arena.node(def.body), Node::Reduce { .. } | Node::Fold { .. } | Node::Whole(_));
        if whole || arena.can_fail(def.body) {
            return false;
        }
        let calls = arena.below(def.body).filter(|id| is_call(arena.node(*id))).take(CHEAP + 1).count();
        if calls == 0 {
            return true;
        }
        let is_heavy = |id| matches!(arena.node(id), Node::Call { fun, .. } if is_heavy(*fun));
        let heavy = arena.somewhere(def.body, &mut self.heavy, &is_heavy);
        let dear = heavy || calls > CHEAP;
        let elements = self.nests.decl(def.array).elements().max(1);
        let readers = self.readers(at);
        let fits = |reader: &usize| {
            let twice = self.times(*reader, def.array) > 1;
            let reader_def = &self.nests.defs[*reader];
            let more = domain(self.nests, reader_def) > elements.saturating_mul(2);
            // A padding of an operand is no reason to compute more of it than there is.
            let again = twice && dear || more && (calls > 2 || contraction(self.nests, reader_def).is_some());
            !again && self.size_with(*reader, at) <= MANY
        };
        readers.iter().all(fits) && (readers.len() <= 1 || !dear)
    }

    /// At how many indices a definition reads an array.
    fn times(&self, reader: usize, array: ArrayId) -> usize {
        loads_of(&self.nests.arena, self.nests.defs[reader].body, array).len()
    }

    /// The expressions of a reader that takes up a definition.
    fn size_with(&self, reader: usize, at: usize) -> usize {
        let times = self.times(reader, self.nests.defs[at].array);
        self.sizes[reader].saturating_add(self.sizes[at].saturating_mul(times))
    }

    fn put_into_readers(&mut self, at: usize) {
        let Def { array, axes, body } = self.nests.defs[at].clone();
        let (readers, size) = (self.readers(at).to_vec(), self.sizes[at]);
        for reader in &readers {
            self.sizes[*reader] = self.size_with(*reader, at);
            let inlined = Inlined { axes: axes.clone(), body };
            self.guests[*reader].insert(array, Guest { inlined, alone: readers.len() == 1, size });
            // Whether it is a product is asked for what else it reads.
            if matches!(self.nests.arena.node(self.nests.defs[*reader].body), Node::Reduce { .. }) {
                self.settle(*reader);
            }
        }
    }

    /// Lets a definition take up what is put into it.
    fn settle(&mut self, at: usize) {
        let guests = std::mem::take(&mut self.guests[at]);
        if guests.is_empty() {
            return;
        }
        self.share_axes(at, &guests);
        let loads = guests.into_iter().map(|(array, guest)| (array, guest.inlined)).collect();
        let body = self.nests.defs[at].body;
        self.nests.defs[at].body = self.nests.arena.rewrite(body, &mut Rewrite::loads(loads));
    }

    /// Gives a definition the axes of the largest of those that are put into it alone and read index by index, which
    /// is then taken as it is.
    fn share_axes(&mut self, at: usize, guests: &BTreeMap<ArrayId, Guest>) {
        let Def { array, axes: own, body } = self.nests.defs[at].clone();
        let arena = &mut self.nests.arena;
        if matches!(arena.node(body), Node::Fold { .. }) {
            // Its axes may be among those it runs over.
            return;
        }
        let is_own = |(lin, axis): (&Lin, &Axis)| lin.as_axis() == Some(*axis);
        let in_place = |index: &[Lin]| index.len() == own.len() && index.iter().zip(&own).all(is_own);
        let fits = |(array, guest): &(&ArrayId, &Guest)| {
            let extents =
                |axes: &[Axis]| axes.iter().map(|axis| arena.axis_extent(*axis)).collect::<Vec<_>>();
            guest.alone
                && extents(&guest.inlined.axes) == extents(&own)
                && loads_of(arena, body, **array).into_iter().all(in_place)
        };
        let Some((_, largest)) = guests.iter().filter(fits).max_by_key(|(_, guest)| guest.size) else {
            return;
        };
        let axes = largest.inlined.axes.clone();
        let by = own.iter().copied().zip(axes.iter().map(|axis| Lin::axis(*axis))).collect();
        let body = arena.rewrite(body, &mut Rewrite::axes(by));
        self.nests.defs[at] = Def { array, axes, body };
    }
}

fn is_call(node: &Node) -> bool {
    matches!(node, Node::Call { .. } | Node::Select { .. } | Node::FloorDiv(..) | Node::Product(..))
}

fn is_heavy(fun: Scalar) -> bool {
    use Scalar::*;
    let row = fun.row();
    row.ulp > 0
        || matches!(fun, Exp | Log | Tanh | Sigmoid | Erf | Sin | Cos | Pow | FloorDivide | Remainder | Fmod)
}

/// The indices at which an expression loads an array.
fn loads_of(arena: &Arena, root: ExprId, wanted: ArrayId) -> Vec<&[Lin]> {
    let mut found: Vec<&[Lin]> = Vec::new();
    arena.walk(root, &mut |id| match arena.node(id) {
        Node::Load { array, index, .. } if *array == wanted => found.push(index),
        _ => {}
    });
    found
}

/// Indices of the axes and of the reduction of a definition.
fn domain(nests: &Nests, def: &Def) -> usize {
    let own: usize = nests.decl(def.array).elements().max(1);
    match nests.arena.node(def.body) {
        Node::Reduce { axes, .. } | Node::Fold { axes, .. } => axes
            .iter()
            .fold(own, |n, (axis, _)| n.saturating_mul(nests.arena.axis_extent(*axis).max(1) as usize)),
        _ => own,
    }
}
