//! Matrix products: blocks packed for the caches, and a kernel that keeps a tile of the
//! result in registers (after Goto and van de Geijn, "Anatomy of High-Performance Matrix
//! Multiplication", 2008).
//!
//! An operand is any load whose place is a sum of one offset for its row and one for its
//! column: transposed and strided views, batches, and the windows of a convolution are
//! packed as they are. Products are fused into the sums, which run along the inner axis
//! in blocks of [`DEPTH`], in order, whatever the threads.

use std::ops::Range;

use half::{bf16, f16};
use rtv_semantics::dtype::DType;

use crate::loops::{ArrayId, Axis, Contraction, Kernel, Lin, Nests, Node};

#[cfg(target_arch = "x86_64")]
use super::access::{transpose_8, transpose_lines};
use super::block::Arrays;
use super::pass::Lane;
use super::pool::Pool;
use super::tile::{self, Element, Left};

/// Inner indices of one packed block: a strip of both operands fits the first cache.
pub const DEPTH: usize = 256;
/// Rows of one task: with the depth, its share of the left operand fits the second cache.
const ROWS: usize = 8 * tile::ROWS;
/// Columns of one task, and of the right operand that is packed at a time.
const TASK_COLUMNS: usize = 512;
const COLUMNS: usize = 2048;
/// Tasks of columns for each thread from which on these do without the others.
const APART: usize = 4;
/// Batches from which on each is a task of its own.
const MANY: usize = 4;
/// Strips of columns up to which the left operand is not packed.
const FEW_STRIPS: usize = 8;
/// Bytes of the rows of one task up to which it is not packed either.
const NEAR: usize = 16 << 10;
/// Multiplications that are not worth a second thread.
const SMALL: usize = 1 << 15;

/// The elements of an operand: `base + first[i] + second[k]`.
#[derive(Clone, Debug)]
pub struct Operand {
    pub array: ArrayId,
    pub dtype: DType,
    pub base: i64,
    pub outer: Vec<i64>,
    pub inner: Vec<i64>,
    pub batch: Vec<i64>,
}

/// `out[z, i, j] = sum(left[z, i, k] * right[z, j, k] for k)`.
#[derive(Clone, Debug)]
pub struct Product {
    pub left: Operand,
    pub right: Operand,
    pub out: Target,
    pub depth: usize,
}

#[derive(Clone, Debug)]
pub struct Target {
    pub array: ArrayId,
    pub dtype: DType,
    pub rows: Vec<i64>,
    pub columns: Vec<i64>,
    pub batch: Vec<i64>,
}

/// The product that a kernel is, if its factors are loads from plain places.
pub fn of_kernel(nests: &Nests, kernel: &Kernel) -> Option<Product> {
    let Contraction { left, right, rows, columns, batch, inner } = kernel.product.as_ref()?;
    let left = operand(nests, *left, rows, inner, batch)?;
    let right = operand(nests, *right, columns, inner, batch)?;
    let member = &kernel.members[0];
    let strides = nests.decl(member.array).strides();
    let stride = |axis: Axis| {
        let own = member.axes.iter().zip(&strides).filter(|(own, _)| **own == Some(axis));
        own.map(|(_, stride)| *stride).sum::<i64>()
    };
    let out = Target {
        array: member.array,
        dtype: nests.decl(member.array).dtype,
        rows: offsets(nests, rows, &stride),
        columns: offsets(nests, columns, &stride),
        batch: offsets(nests, batch, &stride),
    };
    Some(Product { depth: left.inner.len(), left, right, out })
}

fn operand(
    nests: &Nests,
    factor: crate::loops::ExprId,
    outer: &[Axis],
    inner: &[Axis],
    batch: &[Axis],
) -> Option<Operand> {
    let Node::Load { array, dtype, index } = nests.arena.node(factor) else { return None };
    let strides = nests.decl(*array).strides();
    let place = index
        .iter()
        .zip(strides)
        .try_fold(Lin::default(), |sum, (lin, stride)| sum.plus(lin, stride).ok())?;
    if place.values().next().is_some() {
        return None;
    }
    let stride = |axis: Axis| place.factor(axis);
    Some(Operand {
        array: *array,
        dtype: *dtype,
        base: place.base,
        outer: offsets(nests, outer, &stride),
        inner: offsets(nests, inner, &stride),
        batch: offsets(nests, batch, &stride),
    })
}

/// The offset of each index tuple of the axes, row-major.
fn offsets(nests: &Nests, axes: &[Axis], stride: &dyn Fn(Axis) -> i64) -> Vec<i64> {
    axes.iter().fold(vec![0], |before, axis| {
        let (extent, stride) = (nests.arena.axis_extent(*axis), stride(*axis));
        before.iter().flat_map(|start| (0..extent).map(move |index| start + index * stride)).collect()
    })
}

impl Product {
    pub fn rows(&self) -> usize {
        self.out.rows.len()
    }

    pub fn columns(&self) -> usize {
        self.out.columns.len()
    }

    /// Multiplies the other way round where that brings neighbours of the result side by side.
    pub fn turn_to_result(&mut self) {
        let side_by_side = |offsets: &[i64]| matches!(offsets, [a, b, ..] if b - a == 1);
        if side_by_side(&self.out.rows) && !side_by_side(&self.out.columns) {
            std::mem::swap(&mut self.left, &mut self.right);
            std::mem::swap(&mut self.out.rows, &mut self.out.columns);
        }
    }

    pub fn run(&self, arrays: Arrays, pool: &Pool) {
        match Lane::of(self.out.dtype) {
            Lane::F32 => self.run_as::<f32>(arrays, pool),
            Lane::F64 => self.run_as::<f64>(arrays, pool),
            Lane::I32 => self.run_as::<i32>(arrays, pool),
            Lane::I64 => self.run_as::<i64>(arrays, pool),
            Lane::Bool => unreachable!("invariant: products are of numbers"),
        }
    }

    fn run_as<T: Element>(&self, arrays: Arrays, pool: &Pool) {
        let batches = self.out.batch.len();
        if batches >= MANY {
            pool.run(batches, &|z| self.serial::<T>(arrays, z));
            return;
        }
        let small = self.rows() * self.columns() * self.depth < SMALL;
        for z in 0..batches {
            if small {
                self.serial::<T>(arrays, z);
            } else {
                self.parallel::<T>(arrays, z, pool);
            }
        }
    }

    /// Elements of the right operand of a batch, packed as a whole.
    pub fn packed_elements<T: Element>(&self) -> usize {
        self.columns().next_multiple_of(tile::columns::<T>()) * self.depth
    }

    /// Packs the right operand of a batch, block by block of the inner axis.
    pub fn pack_whole<T: Element>(&self, arrays: Arrays, z: usize, packed: *mut T) {
        let (columns, width) = (self.columns(), tile::columns::<T>());
        let padded = columns.next_multiple_of(width);
        for start in (0..self.depth).step_by(DEPTH) {
            let depth = start..(start + DEPTH).min(self.depth);
            // SAFETY: the caller's room has all blocks.
            let block = unsafe { packed.add(start * padded) };
            for strip in 0..columns.div_ceil(width) {
                self.pack_right(arrays, z, (0, columns), strip, &depth, block);
            }
        }
    }

    /// Some rows of a batch, each tile of rows within its bounds; the right operand is packed
    /// as a whole.
    pub fn multiply<T: Element>(
        &self,
        arrays: Arrays,
        z: usize,
        rows: Range<usize>,
        bounds: &Bounds,
        packed: *const T,
    ) {
        let sums = Sums::<T>::new(self, arrays, z);
        let padded = self.columns().next_multiple_of(tile::columns::<T>());
        let starts = || rows.clone().step_by(tile::ROWS);
        let columns = starts().map(bounds.columns).max().unwrap_or(0).min(self.columns());
        let deep = starts().map(bounds.depth).max().unwrap_or(0).min(self.depth);
        for start in (0..deep).step_by(DEPTH) {
            // Blocks are packed for the whole depth, of which a part may be asked for.
            let whole = (start + DEPTH).min(self.depth) - start;
            let depth = start..(start + DEPTH).min(deep);
            // SAFETY: the block is there.
            let block = unsafe { packed.add(start * padded) };
            for row in rows.clone().step_by(ROWS) {
                let range = row..(row + ROWS).min(rows.end);
                let (columns, packed, depth) = ((0, columns), (0, self.columns()), depth.clone());
                let part = Part { z, rows: range, columns, packed, depth };
                self.task::<T>(arrays, part, bounds, (block, whole), &sums);
            }
        }
        sums.finish(self, arrays, z, rows, 0..columns);
    }

    /// One batch on the caller's thread.
    fn serial<T: Element>(&self, arrays: Arrays, z: usize) {
        let packed = tile::Packed::<T>::new(self.packed_elements::<T>());
        self.pack_whole(arrays, z, packed.pointer());
        self.multiply(arrays, z, 0..self.rows(), &self.whole(), packed.pointer());
    }

    fn whole(&self) -> Bounds<'static> {
        Bounds { columns: &|_| usize::MAX, depth: &|_| usize::MAX }
    }

    fn parallel<T: Element>(&self, arrays: Arrays, z: usize, pool: &Pool) {
        let (rows, columns) = (self.rows(), self.columns());
        let sums = Sums::<T>::new(self, arrays, z);
        if columns >= APART * TASK_COLUMNS * pool.threads() {
            let parts = columns.div_ceil(TASK_COLUMNS).next_multiple_of(pool.threads());
            pool.run(parts, &|part| {
                let own = share(columns, tile::columns::<T>(), (part, parts));
                self.apart::<T>(arrays, z, own, &sums);
            });
        } else {
            self.together::<T>(arrays, z, &sums, pool);
        }
        if sums.are_complete(self) {
            return;
        }
        pool.run(rows.div_ceil(tile::ROWS), &|strip| {
            let range = strip * tile::ROWS..((strip + 1) * tile::ROWS).min(rows);
            sums.finish(self, arrays, z, range, 0..columns);
        });
    }

    /// Some columns by one thread, which packs them for itself.
    fn apart<T: Element>(&self, arrays: Arrays, z: usize, columns: Range<usize>, sums: &Sums<T>) {
        let strips = columns.len().div_ceil(tile::columns::<T>());
        let packed = tile::Packed::<T>::new(DEPTH.min(self.depth) * strips * tile::columns::<T>());
        let own = (columns.start, columns.end);
        for start in (0..self.depth).step_by(DEPTH) {
            let depth = start..(start + DEPTH).min(self.depth);
            for strip in 0..strips {
                self.pack_right(arrays, z, own, strip, &depth, packed.pointer());
            }
            for row in (0..self.rows()).step_by(ROWS) {
                let rows = row..(row + ROWS).min(self.rows());
                let part = Part { z, rows, columns: own, packed: own, depth: depth.clone() };
                self.task::<T>(arrays, part, &self.whole(), (packed.pointer(), depth.len()), sums);
            }
        }
    }

    /// All columns, of which each thread packs some for all.
    fn together<T: Element>(&self, arrays: Arrays, z: usize, sums: &Sums<T>, pool: &Pool) {
        let (rows, columns) = (self.rows(), self.columns());
        let width = tile::columns::<T>();
        let packed =
            tile::Packed::<T>::new(DEPTH.min(self.depth) * COLUMNS.min(columns.next_multiple_of(width)));
        let shared = Shared(packed.pointer());
        for first in (0..columns).step_by(COLUMNS) {
            let end = (first + COLUMNS).min(columns);
            for start in (0..self.depth).step_by(DEPTH) {
                let depth = start..(start + DEPTH).min(self.depth);
                pool.run((end - first).div_ceil(width), &|strip| {
                    self.pack_right(arrays, z, (first, end), strip, &depth, shared.pointer());
                });
                let tasks = Tasks::of(rows, end - first, width, pool.threads());
                pool.run(tasks.down * tasks.across, &|task| {
                    let (row, column) = tasks.place(task);
                    let range = share(rows, tile::ROWS, (row, tasks.down));
                    let own = share(end - first, width, (column, tasks.across));
                    let own = (first + own.start, first + own.end);
                    let part =
                        Part { z, rows: range, columns: own, packed: (first, end), depth: depth.clone() };
                    self.task::<T>(arrays, part, &self.whole(), (shared.pointer(), depth.len()), sums);
                });
            }
        }
    }

    /// Packs a strip of columns of the right operand: column by column within an index
    /// of the inner axis, zeros beyond the last.
    fn pack_right<T: Element>(
        &self,
        arrays: Arrays,
        z: usize,
        (first, end): (usize, usize),
        strip: usize,
        depth: &Range<usize>,
        packed: *mut T,
    ) {
        let width = tile::columns::<T>();
        let columns = first + strip * width..(first + (strip + 1) * width).min(end);
        // SAFETY: there is room for each strip.
        let into = unsafe {
            std::slice::from_raw_parts_mut(packed.add(strip * width * depth.len()), width * depth.len())
        };
        pack(arrays, &self.right, z, columns, depth.clone(), width, into);
    }

    /// Adds the products of a block of rows and some columns to the sums.
    fn task<T: Element>(
        &self,
        arrays: Arrays,
        part: Part,
        bounds: &Bounds,
        (packed, packed_deep): (*const T, usize),
        sums: &Sums<T>,
    ) {
        let Part { z, rows, columns: (from, to), packed: (first, end), depth } = part;
        let (height, width, deep) = (tile::ROWS, tile::columns::<T>(), depth.len());
        let strips = rows.len().div_ceil(height);
        let in_place = self.left_in_place::<T>(arrays, z, &rows, &depth, to - from);
        let room = if in_place.is_some() { 0 } else { strips * height * deep };
        T::with_room(room, |left| {
            for (strip, into) in left.chunks_exact_mut((height * deep).max(1)).enumerate() {
                let start = rows.start + strip * height;
                let range = start..(start + height).min(rows.end);
                pack(arrays, &self.left, z, range, depth.clone(), height, into);
            }
            for column in (from..to).step_by(width) {
                debug_assert_eq!((column - first) % width, 0, "tasks take whole strips");
                // SAFETY: the strip was packed.
                let right = unsafe {
                    std::slice::from_raw_parts(packed.add((column - first) * packed_deep), width * deep)
                };
                for strip in 0..strips {
                    let start = rows.start + strip * height;
                    let deep = (bounds.depth)(start).clamp(depth.start, depth.end) - depth.start;
                    if column >= (bounds.columns)(start) || (deep == 0 && depth.start > 0) {
                        continue;
                    }
                    let count = (height.min(rows.end - start), width.min(end - column));
                    let left = match in_place {
                        Some(left) => left.below(strip * height),
                        None => Left::packed(&left[strip * height * depth.len()..]),
                    };
                    // SAFETY: the tile lies within the sums, and no other task has it.
                    unsafe { sums.add(deep, (left, right), (start, column), count, depth.start == 0) };
                }
            }
        });
    }

    /// The rows of the left operand where they are, if they lie there as tiles take them and
    /// packing them costs more than it is worth: where columns are few, or rows so near each
    /// other that the first cache holds them all.
    fn left_in_place<T: Element>(
        &self,
        arrays: Arrays,
        z: usize,
        rows: &Range<usize>,
        depth: &Range<usize>,
        columns: usize,
    ) -> Option<Left<T>> {
        let Operand { array, dtype, base, outer, inner, batch } = &self.left;
        let (outer, inner) = (&outer[rows.clone()], &inner[depth.clone()]);
        let by_row = if outer.len() > 1 { outer[1] - outer[0] } else { 0 };
        let few = columns <= FEW_STRIPS * tile::columns::<T>();
        let near = by_row as usize * ROWS * size_of::<T>() <= NEAR;
        if !(few || near) || *dtype != T::DTYPE || by_row < 0 || !even(outer) || !contiguous(inner) {
            return None;
        }
        let start = base + batch[z] + outer.first()? + inner.first()?;
        let start = arrays.pointer(*array).cast::<T>().wrapping_offset(start as isize);
        Some(Left { start, by_row: by_row as usize, by_step: 1 })
    }
}

/// The tasks that rows and columns are cut into.
struct Tasks {
    down: usize,
    across: usize,
    /// Whether a thread gets tasks below each other: then it multiplies with what it packed.
    by_columns: bool,
}

impl Tasks {
    fn of(rows: usize, columns: usize, width: usize, threads: usize) -> Tasks {
        // What there is more of is cut for the threads, as many parts for each.
        let by_columns = columns >= rows;
        let parts = |length: usize, most: usize, tile: usize, threads: usize| {
            length.div_ceil(most).next_multiple_of(threads).min(length.div_ceil(tile))
        };
        let (by_row, by_column) = if by_columns { (1, threads) } else { (threads, 1) };
        Tasks {
            down: parts(rows, ROWS, tile::ROWS, by_row),
            across: parts(columns, TASK_COLUMNS, width, by_column),
            by_columns,
        }
    }

    /// Among the parts of the rows, and of the columns.
    fn place(&self, task: usize) -> (usize, usize) {
        if self.by_columns {
            (task % self.down, task / self.down)
        } else {
            (task / self.across, task % self.across)
        }
    }
}

/// One of some parts of a length, as even as whole tiles make them.
fn share(length: usize, tile: usize, (at, parts): (usize, usize)) -> Range<usize> {
    let tiles = length.div_ceil(tile);
    let cut = |at: usize| (tiles * at / parts * tile).min(length);
    cut(at)..cut(at + 1)
}

/// What is asked for of the rows of a tile, by the first of them.
pub struct Bounds<'a> {
    /// The columns from this one on may stay as they are.
    pub columns: &'a dyn Fn(usize) -> usize,
    /// The sums end here.
    pub depth: &'a dyn Fn(usize) -> usize,
}

/// What one task multiplies.
struct Part {
    z: usize,
    rows: Range<usize>,
    columns: (usize, usize),
    /// The columns that the packed block holds.
    packed: (usize, usize),
    depth: Range<usize>,
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

/// Elements of an operand, `width` of them for each inner index, zeros in place of those
/// that are not there.
fn pack<T: Element>(
    arrays: Arrays,
    operand: &Operand,
    z: usize,
    outer: Range<usize>,
    inner: Range<usize>,
    width: usize,
    into: &mut [T],
) {
    macro_rules! from {
        ($t:ty, $f:expr) => {{
            let memory = arrays.pointer(operand.array).cast::<$t>();
            let memory = memory.wrapping_offset((operand.base + operand.batch[z]) as isize);
            // SAFETY: offsets lie within the array.
            unsafe { pack_from(memory, &operand.outer[outer], &operand.inner[inner], width, into, $f) }
        }};
    }
    let (lines, steps) = (&operand.outer[outer.clone()], &operand.inner[inner.clone()]);
    #[cfg(target_arch = "x86_64")]
    if operand.dtype == DType::F32
        && T::DTYPE == DType::F32
        && super::vectors() >= super::Vectors::Avx2
        && lines.len() == width
        && steps.len() >= SIDE
        && contiguous(steps)
    {
        let start = operand.base + operand.batch[z] + steps[0];
        let memory = arrays.pointer(operand.array).cast::<f32>().wrapping_offset(start as isize);
        let line = |number: usize| memory.wrapping_offset(lines[number] as isize).cast_const();
        let into = into.as_mut_ptr().cast();
        if width == tile::ROWS {
            // SAFETY: the features are there, and offsets lie within the array.
            return unsafe { pack_rows(std::array::from_fn(line), steps.len(), into) };
        }
        if width.is_multiple_of(SIDE) && even(lines) {
            let apart = (lines[1] - lines[0]) as isize;
            // SAFETY: as above.
            return unsafe { pack_squares(line(0), apart, steps.len(), width, into) };
        }
    }
    match operand.dtype {
        DType::F32 => from!(f32, |x: f32| T::from_f64_bits(x.into())),
        DType::F64 => from!(f64, |x: f64| T::from_f64_bits(x)),
        DType::F16 => from!(f16, |x: f16| T::from_f64_bits(x.to_f64())),
        DType::BF16 => from!(bf16, |x: bf16| T::from_f64_bits(x.to_f64())),
        DType::I32 => from!(i32, |x: i32| T::from_i64(x.into())),
        DType::I64 => from!(i64, |x: i64| T::from_i64(x)),
        DType::I16 => from!(i16, |x: i16| T::from_i64(x.into())),
        DType::I8 => from!(i8, |x: i8| T::from_i64(x.into())),
        DType::U8 | DType::Bool => from!(u8, |x: u8| T::from_i64(x.into())),
    }
}

/// Packs elements that are neighbours in memory, `WIDTH` for each step.
#[inline(always)]
unsafe fn pack_lines<S: Copy, T: Element, const WIDTH: usize>(
    memory: *const S,
    inner: &[i64],
    into: &mut [T],
    convert: impl Fn(S) -> T,
) {
    for (offset, into) in inner.iter().zip(into.as_chunks_mut::<WIDTH>().0) {
        // SAFETY: the caller's.
        let from = unsafe { &*memory.wrapping_offset(*offset as isize).cast::<[S; WIDTH]>() };
        *into = from.map(&convert);
    }
}

/// The side of the squares that are turned in registers.
#[cfg(target_arch = "x86_64")]
const SIDE: usize = 8;

/// Packs lines of `deep` elements, `apart` from each other, as many as are taken together.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn pack_squares(from: *const f32, apart: isize, deep: usize, width: usize, into: *mut f32) {
    let whole = deep / SIDE * SIDE;
    // SAFETY, for all of it: the caller's.
    unsafe {
        for k in (0..whole).step_by(SIDE) {
            for i in (0..width).step_by(SIDE) {
                transpose_8(from.offset(i as isize * apart).add(k), apart, into.add(k * width + i), width);
            }
        }
        for k in whole..deep {
            for i in 0..width {
                *into.add(k * width + i) = *from.offset(i as isize * apart).add(k);
            }
        }
    }
}

/// Packs the lines of a strip of rows, of `deep` elements each.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn pack_rows(lines: [*const f32; tile::ROWS], deep: usize, into: *mut f32) {
    let mut k = 0;
    // SAFETY, for all of it: the caller's. Squares are wider than strips, and what one writes
    // too much is less than an element of each line, which comes after it.
    unsafe {
        while k + SIDE < deep {
            let square = std::array::from_fn(|i| lines[i.min(tile::ROWS - 1)].add(k));
            transpose_lines(square, into.add(k * tile::ROWS), tile::ROWS);
            k += SIDE;
        }
        for k in k..deep {
            for (i, line) in lines.iter().enumerate() {
                *into.add(k * tile::ROWS + i) = *line.add(k);
            }
        }
    }
}

fn even(offsets: &[i64]) -> bool {
    offsets.windows(2).all(|pair| pair[1] - pair[0] == offsets[1] - offsets[0])
}

fn contiguous(offsets: &[i64]) -> bool {
    offsets.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

/// Where offsets are not those of neighbours, if that is at one place.
fn cut_in_two(offsets: &[i64]) -> Option<usize> {
    let cut = 1 + offsets.windows(2).position(|pair| pair[1] != pair[0] + 1)?;
    contiguous(&offsets[cut..]).then_some(cut)
}

unsafe fn pack_from<S: Copy, T: Element>(
    memory: *const S,
    outer: &[i64],
    inner: &[i64],
    width: usize,
    into: &mut [T],
    convert: impl Fn(S) -> T,
) {
    if outer.len() < width {
        into.fill(T::ZERO);
    }
    // SAFETY, for all of it: the caller's.
    unsafe {
        if contiguous(outer) && outer.len() == width {
            let memory = memory.wrapping_offset(outer[0] as isize);
            match width {
                16 => pack_lines::<S, T, 16>(memory, inner, into, convert),
                8 => pack_lines::<S, T, 8>(memory, inner, into, convert),
                _ => pack_lines::<S, T, { tile::ROWS }>(memory, inner, into, convert),
            }
        } else if contiguous(inner) {
            for (i, start) in outer.iter().enumerate() {
                let from = memory.wrapping_offset((start + inner[0]) as isize);
                let from = std::slice::from_raw_parts(from, inner.len());
                for (k, x) in from.iter().enumerate() {
                    into[k * width + i] = convert(*x);
                }
            }
        } else if let Some(cut) = cut_in_two(outer) {
            // Neighbours in memory but for one place: a window reaches into the next line.
            for (k, offset) in inner.iter().enumerate() {
                for part in [0..cut, cut..outer.len()] {
                    let from = memory.wrapping_offset((outer[part.start] + offset) as isize);
                    let from = std::slice::from_raw_parts(from, part.len());
                    for (into, x) in into[k * width..][part].iter_mut().zip(from) {
                        *into = convert(*x);
                    }
                }
            }
        } else {
            for (k, offset) in inner.iter().enumerate() {
                for (i, start) in outer.iter().enumerate() {
                    into[k * width + i] = convert(*memory.wrapping_offset((start + offset) as isize));
                }
            }
        }
    }
}

/// Where sums are kept: in the result, if its elements are those of the kernel and each tile
/// lies row by row, else beside it until they are complete.
struct Sums<'p, T> {
    pointer: *mut T,
    /// Elements from one row to the next.
    stride: usize,
    /// Where columns are, of sums in the result.
    places: Option<&'p [i64]>,
    beside: Option<tile::Packed<T>>,
}

// SAFETY: tasks add to disjoint tiles.
unsafe impl<T> Sync for Sums<'_, T> {}

impl<'p, T: Element> Sums<'p, T> {
    fn new(product: &'p Product, arrays: Arrays, z: usize) -> Sums<'p, T> {
        let (rows, columns) = (&product.out.rows, &product.out.columns);
        if product.out.dtype == T::DTYPE && columns.chunks(tile::columns::<T>()).all(contiguous) && even(rows)
        {
            let memory = arrays.pointer(product.out.array).cast::<T>();
            let stride = if rows.len() > 1 { (rows[1] - rows[0]) as usize } else { columns.len() };
            let pointer = memory.wrapping_offset(product.out.batch[z] as isize);
            return Sums { pointer, stride, places: Some(columns), beside: None };
        }
        let beside = tile::Packed::new(rows.len() * columns.len());
        Sums { pointer: beside.pointer(), stride: columns.len(), places: None, beside: Some(beside) }
    }

    fn at(&self, row: usize, column: usize) -> *mut T {
        let column = self.places.map_or(column, |places| places[column] as usize);
        self.pointer.wrapping_add(row * self.stride + column)
    }

    unsafe fn add(
        &self,
        deep: usize,
        (left, right): (Left<T>, &[T]),
        (row, column): (usize, usize),
        count: (usize, usize),
        first: bool,
    ) {
        // SAFETY: the caller's.
        unsafe { T::tile(deep, left, right.as_ptr(), self.at(row, column), self.stride, count, first) };
    }

    /// Whether they are in their places once all is added.
    fn are_complete(&self, product: &Product) -> bool {
        self.beside.is_none() && product.depth > 0
    }

    /// Brings complete sums to their places.
    fn finish(&self, product: &Product, arrays: Arrays, z: usize, rows: Range<usize>, columns: Range<usize>) {
        // A sum of nothing is 0, whatever was in the memory.
        if product.depth == 0 {
            for row in rows.clone() {
                // SAFETY: the sum is there.
                columns.clone().for_each(|column| unsafe { *self.at(row, column) = T::ZERO });
            }
        }
        if self.beside.is_none() {
            return;
        }
        macro_rules! into {
            ($t:ty, $f:expr) => {{
                let memory = arrays.pointer(product.out.array).cast::<$t>();
                for row in rows {
                    for column in columns.clone() {
                        let at = product.out.batch[z] + product.out.rows[row] + product.out.columns[column];
                        // SAFETY: the element lies within the array, the sum beside it.
                        unsafe { *memory.offset(at as isize) = $f(*self.at(row, column)) };
                    }
                }
            }};
        }
        match product.out.dtype {
            DType::F32 => into!(f32, |x: T| x.to_f64() as f32),
            DType::F64 => into!(f64, |x: T| x.to_f64()),
            DType::F16 => into!(f16, |x: T| f16::from_f32(x.to_f64() as f32)),
            DType::BF16 => into!(bf16, |x: T| bf16::from_f32(x.to_f64() as f32)),
            DType::I32 => into!(i32, |x: T| x.to_i64() as i32),
            DType::I64 => into!(i64, |x: T| x.to_i64()),
            DType::I16 => into!(i16, |x: T| x.to_i64() as i16),
            DType::I8 => into!(i8, |x: T| x.to_i64() as i8),
            DType::U8 | DType::Bool => into!(u8, |x: T| x.to_i64() as u8),
        }
    }
}
