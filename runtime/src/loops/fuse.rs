//! Which definitions get an array of their own, and which share a kernel.
//!
//! Greedy, in order, by the rules of `docs/running.md`: what is cheap is computed where
//! it is read; a reduction, what it reads and what reads it over the same rows are one
//! kernel of several passes. Nothing here looks at threads, so results do not depend on
//! how many there are.

use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

use crate::loops::Monoid;
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use super::expr::{Arena, ArrayId, ExprId, Node};
use super::lin::{Axis, Lin};
use super::lower::neutral;
use super::rewrite::Rewrite;
use super::{ArrayDecl, Def, Nests};

/// Elements of a reduction that one chunk takes, where few results have many of them.
const CHUNK: i64 = 1 << 16;
/// Results fewer than this leave threads idle when each is reduced as a whole.
const FEW: usize = 64;
/// Rows that are summed before their sums are, in a reduction over an outer axis.
const ROW_GROUP: i64 = 64;

/// A kernel: definitions over one domain, in order.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The axes with more than one index; the first `outer` number the rows.
    pub axes: Vec<Axis>,
    pub outer: usize,
    pub members: Vec<Member>,
    pub shape: Shape,
    /// The factors of a product, over the axes of the kernel.
    pub product: Option<Contraction>,
}

impl Kernel {
    /// The arrays that it computes.
    pub fn arrays(&self) -> BTreeSet<ArrayId> {
        self.members.iter().map(|member| member.array).collect()
    }

    /// The expressions of its definitions.
    pub fn size(&self, nests: &Nests) -> usize {
        self.members.iter().map(|member| nests.arena.below(member.body).count()).sum()
    }

    /// The arrays that it reads.
    pub fn reads(&self, nests: &Nests) -> BTreeSet<ArrayId> {
        self.members.iter().flat_map(|member| nests.loads(member.body)).collect()
    }
}

/// The arrays that a kernel reads which another one computes, and the arguments; `reads` has those that each reads.
pub fn read_elsewhere(kernels: &[Kernel], reads: &[BTreeSet<ArrayId>]) -> BTreeSet<ArrayId> {
    kernels.iter().zip(reads).flat_map(|(kernel, read)| read - &kernel.arrays()).collect()
}

/// Expressions of the definitions of a kernel, above which none joins it.
const MANY: usize = 1 << 13;

/// How a kernel runs through its domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Along rows, in one pass or several.
    Rows,
    /// One reduction over axes outside the innermost one of the result.
    Columns,
    /// One sum of products, a matrix product for each index of the batch.
    Product,
    /// One fold: step by step for some lanes of the result at a time.
    Fold,
    /// One array made from whole arrays.
    Whole,
}

/// A definition, its expression over the axes of the kernel.
#[derive(Clone, Debug)]
pub struct Member {
    pub array: ArrayId,
    pub role: Role,
    /// Without the reduction at the top of one.
    pub body: ExprId,
    /// The axes of the array among those of the kernel; `None` has one index only.
    pub axes: Vec<Option<Axis>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// An element for each index of the domain.
    Full,
    /// An element for each row.
    Row,
    /// An element for each row, reduced over it. The extents are those of the axes
    /// after the outer ones.
    Reduce { op: Monoid, extents: Vec<Lin> },
}

/// Fuses, and says which kernels are to run, in order.
pub fn fuse(nests: &mut Nests) -> Vec<Kernel> {
    super::whole::recognize(nests);
    super::fold::settle(nests);
    split_long(nests);
    super::inline::inline(nests);
    store_factors(nests);
    super::extract::drop_dead(nests);
    group(nests)
}

/// The two factors of a sum of products, with the axes that only the left one, only the
/// right one, and both have.
#[derive(Clone, Debug)]
pub struct Contraction {
    pub left: ExprId,
    pub right: ExprId,
    pub rows: Vec<Axis>,
    pub columns: Vec<Axis>,
    pub batch: Vec<Axis>,
    pub inner: Vec<Axis>,
}

/// The definition as a matrix product, if it is one that is worth blocks.
pub fn contraction(nests: &Nests, def: &Def) -> Option<Contraction> {
    let Node::Reduce { op: Monoid::Sum, axes, body } = nests.arena.node(def.body) else { return None };
    let constant = axes.iter().all(|(_, extent)| extent.as_constant().is_some());
    let inner: Vec<Axis> = axes.iter().map(|(axis, _)| *axis).collect();
    constant.then(|| factors(&nests.arena, &def.axes, &inner, *body)).flatten()
}

/// `sum(body for inner) for own` as a matrix product.
fn factors(arena: &Arena, own: &[Axis], inner: &[Axis], body: ExprId) -> Option<Contraction> {
    let Node::Call { fun: Scalar::Mul, args, dtype, .. } = arena.node(body) else { return None };
    if *dtype == DType::Bool {
        return None;
    }
    let (left, right) = (args[0], args[1]);
    let (in_left, in_right) = (arena.free_axes(left), arena.free_axes(right));
    let inner = wide_axes(arena, inner);
    if inner.is_empty() || !inner.iter().all(|axis| in_left.contains(axis) && in_right.contains(axis)) {
        return None;
    }
    let mut found = Contraction { left, right, rows: vec![], columns: vec![], batch: vec![], inner };
    for axis in wide_axes(arena, own) {
        match (in_left.contains(&axis), in_right.contains(&axis)) {
            (true, true) => found.batch.push(axis),
            (true, false) => found.rows.push(axis),
            (false, true) => found.columns.push(axis),
            (false, false) => return None,
        }
    }
    let extent = |axes: &[Axis]| axes.iter().map(|axis| arena.axis_extent(*axis)).product::<i64>();
    let (m, n) = (extent(&found.rows), extent(&found.columns));
    (m >= 4 && n >= 4 && m * n * extent(&found.inner) >= 4096).then_some(found)
}

/// Gives each factor of a product that is not a load an array of its own, so that it is
/// computed once and packed as it is.
fn store_factors(nests: &mut Nests) {
    let mut defs = Vec::new();
    for def in std::mem::take(&mut nests.defs) {
        let mut by = Rewrite::default();
        let factors = contraction(nests, &def).filter(|_| !nests.arena.can_fail(def.body));
        for factor in factors.into_iter().flat_map(|found| [found.left, found.right]) {
            if is_plain_load(&nests.arena, factor) {
                continue;
            }
            let axes: Vec<Axis> = nests.arena.free_axes(factor).into_iter().collect();
            let shape = axes.iter().map(|axis| nests.arena.axis_extent(*axis) as usize).collect();
            let dtype = nests.arena.dtype(factor);
            nests.arrays.push(ArrayDecl { dtype, shape });
            let array = ArrayId(nests.arrays.len() as u32 - 1);
            let index = axes.iter().map(|axis| Lin::axis(*axis)).collect();
            defs.push(Def { array, axes, body: factor });
            let load = nests.arena.intern(Node::Load { array, dtype, index });
            by = by.replace(factor, load);
        }
        let body = nests.arena.rewrite(def.body, &mut by);
        defs.push(Def { body, ..def });
    }
    nests.defs = defs;
}

fn is_plain_load(arena: &Arena, id: ExprId) -> bool {
    matches!(arena.node(id), Node::Load { index, .. } if index.iter().all(|lin| lin.values().next().is_none()))
}

/// Cuts a reduction with few results and many elements into chunks that are reduced
/// first, as a function of the shape alone.
fn split_long(nests: &mut Nests) {
    let mut defs = Vec::new();
    for def in std::mem::take(&mut nests.defs) {
        match chunk(nests, &def) {
            Some(length) => {
                let (parts, whole) = split(nests, def, length);
                defs.push(parts);
                defs.push(whole);
            }
            None => defs.push(def),
        }
    }
    nests.defs = defs;
}

/// The indices of the first axis of the reduction that one chunk takes.
fn chunk(nests: &Nests, def: &Def) -> Option<i64> {
    let Node::Reduce { axes, .. } = nests.arena.node(def.body) else { return None };
    if axes.iter().any(|(_, extent)| extent.as_constant().is_none()) || contraction(nests, def).is_some() {
        return None;
    }
    let first = axes.first().and_then(|(_, extent)| extent.as_constant())?;
    let inner: i64 = axes[1..].iter().filter_map(|(_, extent)| extent.as_constant()).product();
    let results = nests.decl(def.array).elements();
    let length = if is_vertical(nests, def) {
        if first < 4 * ROW_GROUP || results as i64 > CHUNK {
            return None;
        }
        ROW_GROUP
    } else {
        if results >= FEW || first * inner < 2 * CHUNK {
            return None;
        }
        (CHUNK / inner.max(1)).max(1)
    };
    (length < first).then_some(length)
}

fn split(nests: &mut Nests, def: Def, length: i64) -> (Def, Def) {
    let Node::Reduce { op, axes, body } = nests.arena.node(def.body).clone() else {
        unreachable!("invariant: a reduction")
    };
    let (first, extent) = (axes[0].0, nests.arena.axis_extent(axes[0].0));
    let count = (extent + length - 1) / length;
    let arena = &mut nests.arena;
    let (block, within) = (arena.axis(count), arena.axis(length));
    let at = arena.sum(&Lin::axis(within), &Lin::axis(block), length);
    let body = arena.rewrite(body, &mut Rewrite::axes(FxHashMap::from_iter([(first, at)])));
    let start = Lin::axis(block).times(-length).expect("invariant: below the extent");
    let left = arena.sum(&Lin::constant(extent), &start, 1);
    let extent = arena.minimum(&Lin::constant(length), &left);
    let mut inner = vec![(within, extent)];
    inner.extend(axes[1..].iter().cloned());
    let body = arena.intern(Node::Reduce { op, axes: inner, body });
    let mut outer = vec![block];
    outer.extend(&def.axes);
    let dtype = arena.dtype(body);
    let shape = outer.iter().map(|axis| arena.axis_extent(*axis) as usize).collect();
    nests.arrays.push(ArrayDecl { dtype, shape });
    let parts = ArrayId(nests.arrays.len() as u32 - 1);
    let again = arena.axis(count);
    let index =
        std::iter::once(Lin::axis(again)).chain(def.axes.iter().map(|axis| Lin::axis(*axis))).collect();
    let load = arena.intern(Node::Load { array: parts, dtype, index });
    let sum = arena.intern(Node::Reduce { op, axes: vec![(again, Lin::constant(count))], body: load });
    (Def { array: parts, axes: outer, body }, Def { body: sum, ..def })
}

/// Whether a reduction runs better along the last axis of its result than along its
/// own: by the strides of what it loads.
fn is_vertical(nests: &Nests, def: &Def) -> bool {
    let arena = &nests.arena;
    let Node::Reduce { axes, body, .. } = arena.node(def.body) else { return false };
    if axes.iter().any(|(_, extent)| extent.as_constant().is_none()) {
        return false;
    }
    let wide = |axis: &Axis| arena.axis_extent(*axis) != 1;
    let Some(lane) = def.axes.iter().copied().rfind(wide) else { return false };
    let Some(along) = axes.iter().map(|(axis, _)| *axis).rfind(wide) else { return false };
    let (lanes, length) = (arena.axis_extent(lane), arena.axis_extent(along));
    // Loads that jump are worst; then loads that run along count.
    let (mut jumps_by_lane, mut jumps_along, mut for_lane, mut for_along) = (0, 0, 0, 0);
    arena.walk(*body, &mut |id| {
        if let Node::Load { array, index, .. } = arena.node(id) {
            let strides = nests.decl(*array).strides();
            let stride =
                |axis: Axis| index.iter().zip(&strides).map(|(lin, s)| lin.factor(axis) * s).sum::<i64>();
            jumps_by_lane += usize::from(stride(lane).abs() > 1);
            jumps_along += usize::from(stride(along).abs() > 1);
            for_lane += usize::from(stride(lane) == 1);
            for_along += usize::from(stride(along) == 1);
        }
    });
    if jumps_by_lane != jumps_along {
        return jumps_by_lane < jumps_along && lanes >= 8;
    }
    if for_lane != for_along { for_lane > for_along && lanes >= 8 } else { length < 16 && lanes > 2 * length }
}

/// A kernel that may still grow.
struct Growing {
    kernel: Kernel,
    /// Set by the first reduction.
    split: bool,
    closed: bool,
    arrays: BTreeSet<ArrayId>,
    /// Expressions of its definitions.
    size: usize,
}

fn group(nests: &mut Nests) -> Vec<Kernel> {
    let mut groups: Vec<Growing> = Vec::new();
    let mut home: BTreeMap<ArrayId, usize> = BTreeMap::new();
    for def in nests.defs.clone() {
        let (loads, size) = (nests.loads(def.body), nests.arena.below(def.body).count());
        let latest = loads.iter().filter_map(|array| home.get(array).copied()).max();
        // Sharing an input is a reason to share a kernel, if all else it reads is ready.
        let sharing = groups.iter().enumerate().rev().find(|(at, group)| {
            latest.is_none_or(|latest| latest <= *at)
                && !group.arrays.is_disjoint(&loads.iter().copied().collect())
        });
        let candidates: BTreeSet<usize> = latest.into_iter().chain(sharing.map(|(at, _)| at)).collect();
        let fits = |group: &Growing| group.size + size <= MANY;
        let joined =
            candidates.into_iter().rev().find(|at| fits(&groups[*at]) && join(nests, &mut groups[*at], &def));
        let at = joined.unwrap_or_else(|| {
            groups.push(start(nests, &def));
            groups.len() - 1
        });
        groups[at].size += size;
        groups[at].arrays.extend(loads.into_iter().chain([def.array]));
        home.insert(def.array, at);
    }
    groups.into_iter().map(|group| group.kernel).collect()
}

fn wide_axes(arena: &Arena, axes: &[Axis]) -> Vec<Axis> {
    axes.iter().copied().filter(|axis| arena.axis_extent(*axis) != 1).collect()
}

/// The definition over the axes given: one for each of its own with several indices.
fn member(nests: &mut Nests, def: &Def, own: &[Axis], to: &[Axis], role: Role, body: ExprId) -> Member {
    let mut by: FxHashMap<Axis, Lin> = FxHashMap::default();
    for axis in &def.axes {
        by.insert(*axis, Lin::default());
    }
    if let Node::Reduce { axes, .. } | Node::Fold { axes, .. } = nests.arena.node(def.body) {
        axes.iter().for_each(|(axis, _)| drop(by.insert(*axis, Lin::default())));
    }
    by.extend(own.iter().zip(to).map(|(own, to)| (*own, Lin::axis(*to))));
    let axes = def.axes.iter().map(|axis| by[axis].as_axis()).collect();
    let body = nests.arena.rewrite(body, &mut Rewrite::axes(by));
    Member { array: def.array, role, body, axes }
}

fn start(nests: &mut Nests, def: &Def) -> Growing {
    let own = wide_axes(&nests.arena, &def.axes);
    let arrays = BTreeSet::new();
    if let Some(kernel) = alone(nests, def, &own) {
        return Growing { kernel, split: false, closed: true, arrays, size: 0 };
    }
    let Node::Reduce { op, axes: bound, body } = nests.arena.node(def.body).clone() else {
        let member = member(nests, def, &own, &own, Role::Full, def.body);
        let kernel =
            Kernel { outer: own.len(), axes: own, members: vec![member], shape: Shape::Rows, product: None };
        return Growing { kernel, split: false, closed: false, arrays, size: 0 };
    };
    let shape = if contraction(nests, def).is_some() {
        Shape::Product
    } else if is_vertical(nests, def) {
        Shape::Columns
    } else {
        Shape::Rows
    };
    let (bound, body) = rectangular(nests, op, bound, body);
    let constant = bound.iter().all(|(_, extent)| extent.as_constant().is_some());
    // Axes with one index are dropped where their extent is no other.
    let kept: Vec<(Axis, Lin)> = bound
        .iter()
        .filter(|(axis, extent)| {
            !constant || nests.arena.axis_extent(*axis) != 1 || extent.as_constant() != Some(1)
        })
        .cloned()
        .collect();
    let outer = own.len();
    let axes: Vec<Axis> = own.iter().copied().chain(kept.iter().map(|(axis, _)| *axis)).collect();
    let extents = kept.into_iter().map(|(_, extent)| extent).collect();
    let member = member(nests, def, &axes, &axes, Role::Reduce { op, extents }, body);
    let product =
        (shape == Shape::Product).then(|| factors(&nests.arena, &axes[..outer], &axes[outer..], member.body));
    let kernel = Kernel { outer, axes, members: vec![member], shape, product: product.flatten() };
    Growing { kernel, split: true, closed: shape != Shape::Rows || !constant, arrays, size: 0 }
}

/// A kernel that no other definition joins: a fold, or an array made from whole ones.
fn alone(nests: &mut Nests, def: &Def, own: &[Axis]) -> Option<Kernel> {
    let (shape, axes) = match nests.arena.node(def.body) {
        Node::Fold { axes, .. } => (Shape::Fold, axes.iter().map(|(axis, _)| *axis).collect()),
        Node::Whole(_) => (Shape::Whole, Vec::new()),
        _ => return None,
    };
    // A fold that keeps its states has an axis in both.
    let outer: Vec<Axis> = own.iter().copied().filter(|axis| !axes.contains(axis)).collect();
    let all = [outer.clone(), axes].concat();
    let member = member(nests, def, &all, &all, Role::Full, def.body);
    Some(Kernel { outer: outer.len(), axes: all, members: vec![member], shape, product: None })
}

/// The reduction with extents that depend on no axis of its own: where they did, what lies
/// beyond them is neutral.
fn rectangular(
    nests: &mut Nests,
    op: Monoid,
    axes: Vec<(Axis, Lin)>,
    body: ExprId,
) -> (Vec<(Axis, Lin)>, ExprId) {
    let own: BTreeSet<Axis> = axes.iter().map(|(axis, _)| *axis).collect();
    let (mut even, mut body) = (Vec::new(), body);
    for (axis, extent) in axes.into_iter().rev() {
        let arena = &mut nests.arena;
        let end = arena.index(extent.clone());
        if arena.free_axes(end).is_disjoint(&own) {
            even.push((axis, extent));
            continue;
        }
        let index = arena.index(Lin::axis(axis));
        let inside = arena.call(Scalar::Lt, DType::I64, vec![index, end], None);
        let dtype = arena.dtype(body);
        let neutral = neutral(arena, op, dtype);
        body = arena.select(inside, body, neutral);
        even.push((axis, Lin::constant(arena.axis_extent(axis))));
    }
    even.reverse();
    (even, body)
}

/// Adds the definition to the kernel, if its domain is that of the kernel and it reads
/// what the kernel computes only at the index, or the row, it is at.
fn join(nests: &mut Nests, group: &mut Growing, def: &Def) -> bool {
    let alone = matches!(nests.arena.node(def.body), Node::Fold { .. } | Node::Whole(_));
    if group.closed || alone || contraction(nests, def).is_some() {
        return false;
    }
    let own = wide_axes(&nests.arena, &def.axes);
    let extents = |nests: &Nests, axes: &[Axis]| -> Vec<i64> {
        axes.iter().map(|axis| nests.arena.axis_extent(*axis)).collect()
    };
    let domain = extents(nests, &group.kernel.axes);
    let (own, outer, role, body) = match nests.arena.node(def.body).clone() {
        Node::Reduce { op, axes, body } => {
            if axes.iter().any(|(_, extent)| extent.as_constant().is_none()) || is_vertical(nests, def) {
                return false;
            }
            let bound: Vec<Axis> = axes.iter().map(|(axis, _)| *axis).collect();
            let bound = wide_axes(&nests.arena, &bound);
            let lins = extents(nests, &bound).into_iter().map(Lin::constant).collect();
            let outer = own.len();
            let all: Vec<Axis> = own.into_iter().chain(bound).collect();
            if outer == all.len() || (group.split && group.kernel.outer != outer) {
                return false;
            }
            (all, outer, Role::Reduce { op, extents: lins }, body)
        }
        _ if own.len() == domain.len() => (own, group.kernel.outer, Role::Full, def.body),
        _ if group.split && own.len() == group.kernel.outer => (own, group.kernel.outer, Role::Row, def.body),
        _ => return false,
    };
    if own.len() > domain.len()
        || extents(nests, &own)[..] != domain[..own.len()]
        || (role != Role::Row && own.len() != domain.len())
    {
        return false;
    }
    let to = group.kernel.axes[..own.len()].to_vec();
    let member = member(nests, def, &own, &to, role, body);
    if !reads_in_place(nests, &group.kernel, member.body) {
        return false;
    }
    group.split |= matches!(member.role, Role::Reduce { .. });
    group.kernel.outer = outer;
    group.kernel.members.push(member);
    true
}

fn reads_in_place(nests: &Nests, kernel: &Kernel, body: ExprId) -> bool {
    let mut fits = true;
    nests.arena.walk(body, &mut |id| {
        let Node::Load { array, index, .. } = nests.arena.node(id) else { return };
        let Some(member) = kernel.members.iter().find(|member| member.array == *array) else { return };
        let place = |axis: &Option<Axis>| axis.map_or(Lin::default(), Lin::axis);
        fits &= index.iter().zip(&member.axes).all(|(lin, axis)| *lin == place(axis));
    });
    fits
}
