//! A product, passes over its rows, and a product with what they give: attention.
//!
//! A block of rows goes through all three while it lies in the second cache; the right
//! operands are packed once. Where the passes read the first product only under a
//! condition on the indices, as under a causal mask, what no row of the block asks for is
//! not computed; where they give zeros up to the end of all rows of a block, the second
//! product stops before them, if what it would multiply them with is finite.

use std::ops::Range;

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use crate::loops::{Arena, ArrayId, Axis, ExprId, Kernel, Lin, Nests, Node};

use super::block::Arrays;
use super::failure::Failures;
use super::hidden::Hidden;
use super::pass::{Buffer, Extent, Lane, Nest, Op};
use super::pool::Pool;
use super::product::{Bounds, Product};
use super::run;
use super::tile::{self, Element};

/// Bytes of a block of rows: half of the second cache.
const BLOCK_BYTES: usize = 256 << 10;
/// The most rows of a block, a multiple of the rows of a tile.
const MOST_ROWS: usize = TILES * tile::ROWS;
const TILES: usize = 16;
/// Lanes that the passes take at a time, at least.
const STEP: usize = 128;

#[derive(Debug)]
pub struct Chain {
    first: Product,
    rows: Nest,
    second: Product,
    needed: Option<Needed>,
    /// What lanes of the passes nobody asks for.
    masked: Option<Hidden>,
}

/// Columns of the first product that row `i` asks for: those with
/// `by_row * i + by_column * j + base >= 0`, where `by_column` is negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Needed {
    by_row: i64,
    by_column: i64,
    base: i64,
}

impl Needed {
    /// The columns that some row of the range asks for.
    fn columns(self, rows: &Range<usize>, all: usize) -> usize {
        let at = |row: usize| {
            let free = self.by_row * row as i64 + self.base;
            if free < 0 { 0 } else { (free / -self.by_column + 1) as usize }
        };
        at(rows.start).max(at(rows.end - 1)).min(all)
    }
}

impl Chain {
    /// The chain that three kernels in a row are, of which nobody else reads what is between, if they take rows as they
    /// lie in memory.
    pub fn of(nests: &Nests, first: &Product, rows: (&Kernel, &Nest), second: &Product) -> Option<Chain> {
        let (kernel, nest) = rows;
        let (scores, weights) = (first.out.array, second.left.array);
        let lanes = matches!(first.out.dtype, DType::F32 | DType::F64);
        let plain = lanes && first.depth > 0 && second.depth > 0;
        let one = first.out.dtype == second.left.dtype && second.out.dtype == first.out.dtype;
        let dtypes = [first.left.dtype, first.right.dtype, second.right.dtype];
        if !plain || !one || dtypes.iter().any(|dtype| *dtype != first.out.dtype) {
            return None;
        }
        let (count, columns, batches) = (first.rows(), first.columns(), first.out.batch.len());
        let whole =
            |offsets: &[i64], step: usize| offsets.iter().enumerate().all(|(at, o)| *o == (at * step) as i64);
        let scores_whole = whole(&first.out.columns, 1)
            && whole(&first.out.rows, columns)
            && whole(&first.out.batch, count * columns);
        let left = &second.left;
        let weights_whole = left.base == 0
            && left.outer.len() == count
            && left.batch.len() == batches
            && whole(&left.inner, 1)
            && left.inner.len() == columns
            && whole(&left.outer, columns)
            && whole(&left.batch, count * columns);
        if !scores_whole || !weights_whole || !in_rows(nest, scores, weights, count * batches, columns) {
            return None;
        }
        // Rows are counted by one axis.
        let row = kernel.axes.iter().rev().nth(1);
        let counted = row.is_some_and(|row| nests.arena.axis_extent(*row) == count as i64);
        let needed = if counted { needed(nests, kernel, scores) } else { None };
        let masked = needed.and_then(|_| Hidden::of_nest(nest, scores, weights));
        Some(Chain { first: first.clone(), rows: nest.clone(), second: second.clone(), needed, masked })
    }

    /// The arrays that only this step sees.
    pub fn hidden(&self) -> [ArrayId; 2] {
        [self.first.out.array, self.second.left.array]
    }

    pub fn run(&self, arrays: Arrays, failures: &Failures, pool: &Pool) {
        match Lane::of(self.first.out.dtype) {
            Lane::F32 => self.run_as::<f32>(arrays, failures, pool),
            _ => self.run_as::<f64>(arrays, failures, pool),
        }
    }

    fn run_as<T: Element>(&self, arrays: Arrays, failures: &Failures, pool: &Pool) {
        let (count, columns, batches) = (self.first.rows(), self.first.columns(), self.first.out.batch.len());
        let fitting = BLOCK_BYTES / (columns * size_of::<T>()).max(1);
        let height = (fitting / tile::ROWS * tile::ROWS).clamp(tile::ROWS, MOST_ROWS);
        let (keys, values) = (self.first.packed_elements::<T>(), self.second.packed_elements::<T>());
        let packed = tile::Packed::<T>::new(batches * (keys + values));
        let room = Shared(packed.pointer());
        // SAFETY, here and below: each batch has its part of the room.
        let part = |z: usize| unsafe { room.pointer().add(z * (keys + values)) };
        let finite: Vec<std::sync::atomic::AtomicBool> = (0..batches).map(|_| false.into()).collect();
        pool.run(batches * 2, &|task| {
            let z = task / 2;
            if task % 2 == 0 {
                self.first.pack_whole::<T>(arrays, z, part(z));
            } else {
                // SAFETY: behind the keys of the batch.
                let into = unsafe { part(z).add(keys) };
                self.second.pack_whole::<T>(arrays, z, into);
                // SAFETY: just packed.
                let values = unsafe { std::slice::from_raw_parts(into, values) };
                let all = values.iter().all(|x| x.to_f64().is_finite());
                finite[z].store(all, std::sync::atomic::Ordering::Relaxed);
            }
        });
        let blocks = count.div_ceil(height);
        let [scores, weights] = self.hidden();
        let apart = !self.rows.in_place.contains(&(weights, scores));
        pool.run(batches * blocks, &|task| {
            let (z, start) = (task / blocks, (task % blocks) * height);
            let rows = start..(start + height).min(count);
            let block = rows.len() * columns;
            run::with_room(block * size_of::<T>() * (1 + usize::from(apart)), |room| {
                let mut pointers = { arrays }.pointers.to_vec();
                let before = (z * count + start) * columns * size_of::<T>();
                pointers[scores.0 as usize] = room.wrapping_sub(before);
                let second = if apart { room.wrapping_add(block * size_of::<T>()) } else { room };
                pointers[weights.0 as usize] = second.wrapping_sub(before);
                let own = Arrays { pointers: &pointers };
                let asked = |row: usize| self.asked(&(row..(row + tile::ROWS).min(rows.end)));
                let bounds = Bounds { columns: &asked, depth: &|_| usize::MAX };
                self.first.multiply::<T>(own, z, rows.clone(), &bounds, part(z));
                let is_finite = finite[z].load(std::sync::atomic::Ordering::Relaxed);
                let depth = self.passes::<T>(own, failures, z, &rows, second.cast(), is_finite);
                // SAFETY: behind the keys of the batch.
                let values = unsafe { part(z).add(keys) };
                let bounds =
                    Bounds { columns: &|_| usize::MAX, depth: &|row| depth[(row - rows.start) / tile::ROWS] };
                self.second.multiply::<T>(own, z, rows.clone(), &bounds, values);
            });
        });
    }

    /// The columns of the first product that some row of the range asks for.
    fn asked(&self, rows: &Range<usize>) -> usize {
        let all = self.first.columns();
        self.needed.map_or(all, |needed| needed.columns(rows, all))
    }

    /// Runs the passes over a block of rows of a batch. Gives, for each tile of rows, how many
    /// columns of their result the second product takes: behind them are zeros, which count
    /// for nothing beside finite numbers.
    fn passes<T: Element>(
        &self,
        arrays: Arrays,
        failures: &Failures,
        z: usize,
        rows: &Range<usize>,
        result: *mut T,
        is_finite: bool,
    ) -> [usize; TILES] {
        let columns = self.first.columns();
        let first = (z * self.first.rows() + rows.start) as i64;
        let range = first..first + rows.len() as i64;
        // SAFETY: the caller's room, which the passes have written when it is called.
        let result = || unsafe { std::slice::from_raw_parts_mut(result, rows.len() * columns) };
        let Some(hidden) = &self.masked else {
            run::run_rows(&self.rows, arrays, failures, range);
            return [if is_finite { used(result(), columns) } else { columns }; TILES];
        };
        // By the number of the row in the block.
        let asked = |at: usize| {
            let start = rows.start + at / tile::ROWS * tile::ROWS;
            self.asked(&(start..(start + tile::ROWS).min(rows.end)))
        };
        let limit = |at: usize| (asked(at) + 1).next_multiple_of(STEP);
        let mut within = [false; MOST_ROWS];
        let limits = |row: i64| limit((row - first) as usize) as i64;
        let tell = &mut |row: i64, zero: bool| within[(row - first) as usize] = zero;
        run::run_rows_within::<T>(&self.rows, arrays, failures, range, hidden, &limits, tell);
        let mut depths = [columns; TILES];
        for (depth, start) in depths.iter_mut().zip((0..rows.len()).step_by(tile::ROWS)) {
            let tile = start..(start + tile::ROWS).min(rows.len());
            if is_finite && within[tile.clone()].iter().all(|zero| *zero) {
                *depth = asked(start).max(1);
                continue;
            }
            for at in tile.filter(|at| within[*at]) {
                result()[at * columns + limit(at)..(at + 1) * columns].fill(T::ZERO);
            }
        }
        depths
    }
}

/// A pointer that tasks share.
struct Shared<T>(*mut T);

// SAFETY: tasks write disjoint parts, or only read.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn pointer(&self) -> *mut T {
        self.0
    }
}

/// One more than the last column in which some row is not zero; 1 at least.
fn used<T: Element>(block: &[T], columns: usize) -> usize {
    const STEP: usize = 16;
    let zero = |row: &[T], from: usize, to: usize| row[from..to].iter().all(|x| x.to_f64() == 0.0);
    let mut end = columns;
    while end > STEP && block.chunks_exact(columns).all(|row| zero(row, end - STEP, end)) {
        end -= STEP;
    }
    end
}

/// Whether the passes run along the rows of both arrays as they lie in memory.
fn in_rows(nest: &Nest, scores: ArrayId, weights: ArrayId, rows: usize, columns: usize) -> bool {
    let constant = |dim: &Extent| if let Extent::Constant(extent) = dim { Some(*extent) } else { None };
    let Some(dims) = nest.dims.iter().map(constant).collect::<Option<Vec<i64>>>() else { return false };
    let outer: i64 = dims[..nest.outer].iter().product();
    if nest.outer + 1 != dims.len()
        || nest.lane != nest.outer
        || outer != rows as i64
        || dims[nest.lane] != columns as i64
    {
        return false;
    }
    let mut strides = vec![1i64; dims.len()];
    for at in (0..nest.lane).rev() {
        strides[at] = strides[at + 1] * dims[at + 1];
    }
    let own =
        |buffer: &Buffer| matches!(buffer, Buffer::Array(array) if *array == scores || *array == weights);
    let mut written = false;
    let code = nest.passes.iter().flat_map(|pass| pass.before.iter().chain(&pass.code)).chain(&nest.after);
    for op in code {
        let (buffer, address, plain) = match op {
            Op::Load { buffer, address, checks, .. } => (buffer, address, checks.is_empty()),
            Op::Store { buffer, address, .. } | Op::Into { buffer, address, .. } => (buffer, address, true),
            Op::Gather { buffer, .. } if own(buffer) => return false,
            _ => continue,
        };
        if let (Op::Store { .. }, Buffer::Array(array)) = (op, buffer) {
            // Other results would have to be complete.
            if *array != weights {
                return false;
            }
            written = true;
        }
        let along = address.base == 0 && address.factors == strides && address.slots.is_empty();
        if own(buffer) && !(along && plain) {
            return false;
        }
    }
    written
}

/// The condition under which the kernel reads the array, if it is one and the same
/// inequality of its row and its column, wherever it reads it.
fn needed(nests: &Nests, kernel: &Kernel, array: ArrayId) -> Option<Needed> {
    let [.., row, column] = kernel.axes.as_slice() else { return None };
    let mut found: Option<ExprId> = None;
    for member in &kernel.members {
        match condition(&nests.arena, member.body, array) {
            Reads::No => {}
            Reads::Always => return None,
            Reads::If(cond) if found.is_none_or(|known| known == cond) => found = Some(cond),
            Reads::If(_) => return None,
        }
    }
    let Node::Call { fun, args, .. } = nests.arena.node(found?) else { return None };
    let (a, b) = (nests.arena.as_lin(*args.first()?), nests.arena.as_lin(*args.get(1)?));
    // As `difference >= 0`.
    let difference = match fun {
        Scalar::Le => b.plus(&a, -1),
        Scalar::Lt => b.plus(&a, -1).and_then(|d| d.plus(&Lin::constant(-1), 1)),
        Scalar::Ge => a.plus(&b, -1),
        Scalar::Gt => a.plus(&b, -1).and_then(|d| d.plus(&Lin::constant(-1), 1)),
        _ => return None,
    };
    let difference = difference.ok()?;
    let known: [Axis; 2] = [*row, *column];
    if difference.values().next().is_some() || difference.axes().any(|(axis, _)| !known.contains(&axis)) {
        return None;
    }
    let (by_row, by_column) = (difference.factor(*row), difference.factor(*column));
    (by_column < 0).then_some(Needed { by_row, by_column, base: difference.base })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    No,
    Always,
    If(ExprId),
}

fn condition(arena: &Arena, root: ExprId, wanted: ArrayId) -> Reads {
    let mut known: rustc_hash::FxHashMap<ExprId, Reads> = rustc_hash::FxHashMap::default();
    arena.walk(root, &mut |id| {
        let of = |part: ExprId| known.get(&part).copied().unwrap_or(Reads::No);
        let joined = |parts: &[Reads]| {
            let mut sum = Reads::No;
            for part in parts {
                sum = match (sum, *part) {
                    (Reads::No, other) | (other, Reads::No) => other,
                    (Reads::If(a), Reads::If(b)) if a == b => sum,
                    _ => Reads::Always,
                };
            }
            sum
        };
        let reads = match arena.node(id) {
            Node::Load { array, .. } if *array == wanted => Reads::Always,
            Node::Select { cond, then, otherwise } => match (of(*cond), of(*then), of(*otherwise)) {
                (Reads::No, Reads::Always, Reads::No) => Reads::If(*cond),
                (c, t, o) => joined(&[c, t, o]),
            },
            _ => {
                let parts: Vec<Reads> = arena.children(id).into_iter().map(of).collect();
                joined(&parts)
            }
        };
        known.insert(id, reads);
    });
    known.get(&root).copied().unwrap_or(Reads::No)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_under_a_causal_mask() {
        // j <= i
        let needed = Needed { by_row: 1, by_column: -1, base: 0 };
        assert_eq!(needed.columns(&(0..1), 10), 1);
        assert_eq!(needed.columns(&(4..8), 10), 8);
        assert_eq!(needed.columns(&(4..12), 10), 10);
        // 2 j < i - 3, so 2 j <= i - 4
        let needed = Needed { by_row: 1, by_column: -2, base: -4 };
        assert_eq!(needed.columns(&(0..4), 10), 0);
        assert_eq!(needed.columns(&(0..7), 10), 2);
    }

    #[test]
    fn zeros_at_the_end_of_all_rows() {
        let mut block = vec![0f32; 3 * 64];
        assert_eq!(used(&block, 64), 16);
        block[64 + 40] = 1.0;
        assert_eq!(used(&block, 64), 48);
        block[63] = f32::NAN;
        assert_eq!(used(&block, 64), 64);
        let zero = vec![-0f64; 17];
        assert_eq!(used(&zero, 17), 1);
    }
}
