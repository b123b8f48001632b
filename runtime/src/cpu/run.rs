//! Running a nest: rows in chunks of a fixed size, each on whichever thread is free.

use std::cell::RefCell;

use super::access::transpose;
use super::accumulate::{self, RUNNING};
use super::batch::{self, BatchedSlot};
use super::block::{self, Arrays, Machine, Mode};
use super::failure::Failures;
use super::hidden::{Hidden, Stored};
use super::lanes;
use super::memory::Memory;
use super::pass::{Accumulator, BLOCK, Buffer, Extent, Into, Lane, Nest, Pass, TILE, TILE_ROWS, Tiled};
use super::pool::Pool;
use super::strip::{Ready, Strips};
use super::tile::Element;

/// Elements that are not worth a second thread.
const SMALL: i64 = 4 << 10;
/// Elements that one task takes: of rows, as many as leave some tasks, within bounds.
const ROWS_OF: (i64, i64) = (16 << 10, 128 << 10);
const TASKS: i64 = 64;
const PLAIN_OF: i64 = 64 << 10;

thread_local! {
    static SCRATCH: RefCell<Memory> = RefCell::new(Memory::new(0));
    static ROOM: RefCell<Memory> = RefCell::new(Memory::new(0));
}

/// Runs all rows. What fails is reported, and the run goes on.
pub fn run(nest: &Nest, arrays: Arrays, failures: &Failures, pool: &Pool) {
    let extent = |dim: &Extent| match dim {
        Extent::Constant(extent) => *extent,
        // Some guess at the work is enough.
        Extent::Ragged(_) => BLOCK as i64,
    };
    let rows: i64 = nest.dims[..nest.outer].iter().map(extent).product();
    let inner: i64 = nest.dims[nest.outer..].iter().map(extent).product();
    if rows <= 0 || (inner <= 0 && is_plain(nest)) {
        return;
    }
    if let Some(tiled) = &nest.tiled {
        return run_tiled(nest, tiled, arrays, failures, pool);
    }
    let columns = nest.lane != nest.dims.len() - 1 || is_columns(nest);
    // Pieces of the lanes, where these may be run through piece by piece.
    let length = extent(&nest.dims[nest.lane]);
    let piece = if columns {
        BLOCK as i64
    } else if is_plain(nest) {
        PLAIN_OF
    } else {
        length.max(1)
    };
    let pieces = ((length + piece - 1) / piece).max(1);
    let work = (inner / pieces).max(1);
    let rows_of = (rows.saturating_mul(inner) / TASKS).clamp(ROWS_OF.0, ROWS_OF.1);
    let together = if columns { 1 } else { (if is_plain(nest) { PLAIN_OF } else { rows_of } / work).max(1) };
    let chunks = (rows + together - 1) / together;
    let task = |task: usize| {
        let (chunk, piece_at) = (task as i64 / pieces, task as i64 % pieces);
        let lanes = (piece_at * piece, ((piece_at + 1) * piece).min(length));
        let range = chunk * together..((chunk + 1) * together).min(rows);
        with_machine(nest, arrays, failures, |worker| {
            worker.rows(range, if pieces == 1 { None } else { Some(lanes) }, columns);
        });
    };
    if rows.saturating_mul(inner) < SMALL {
        (0..(chunks * pieces) as usize).for_each(task);
    } else {
        pool.run((chunks * pieces) as usize, &task);
    }
}

/// Runs a nest of one pass by tiles of its lanes and another dimension.
fn run_tiled(nest: &Nest, tiled: &Tiled, arrays: Arrays, failures: &Failures, pool: &Pool) {
    let extents: Vec<i64> = nest
        .dims
        .iter()
        .map(|dim| match dim {
            Extent::Constant(extent) => *extent,
            Extent::Ragged(_) => unreachable!("invariant: only reductions are ragged"),
        })
        .collect();
    let (tile, height) = (TILE as i64, TILE_ROWS as i64);
    let (down, length) = (extents[tiled.dim], extents[nest.lane]);
    let bands = (down + height - 1) / height;
    let others: i64 = (0..nest.outer).filter(|dim| *dim != tiled.dim).map(|dim| extents[dim]).product();
    pool.run((others * bands) as usize, &|task| {
        let (mut rest, band) = (task as i64 / bands, task as i64 % bands);
        with_machine(nest, arrays, failures, |worker| {
            for dim in (0..nest.outer).rev().filter(|dim| *dim != tiled.dim) {
                worker.machine.index[dim] = rest % extents[dim];
                rest /= extents[dim];
            }
            let rows = band * height..((band + 1) * height).min(down);
            let mut start = 0;
            while start < length {
                worker.tile(tiled, &rows, start, (length - start).min(tile), &extents);
                start += tile;
            }
        });
    });
}

/// Runs some rows on the caller's thread.
pub fn run_rows(nest: &Nest, arrays: Arrays, failures: &Failures, rows: std::ops::Range<i64>) {
    with_machine(nest, arrays, failures, |worker| {
        worker.rows(rows, None, false);
    });
}

/// As [`run_rows`], with only the lanes below a limit of each row where those from it on are
/// hidden; the lane before it is hidden, too. Tells of each row whether that was so: then its
/// result from the limit on is zero, and not written.
pub fn run_rows_within<T: Element>(
    nest: &Nest,
    arrays: Arrays,
    failures: &Failures,
    rows: std::ops::Range<i64>,
    hidden: &Hidden,
    limit: &dyn Fn(i64) -> i64,
    tell: &mut dyn FnMut(i64, bool),
) {
    with_machine(nest, arrays, failures, |worker| {
        for row in rows {
            worker.go_to(row);
            let limit = limit(row);
            let within = if limit < worker.extent(nest.lane) {
                worker.row_within::<T>(hidden, limit)
            } else {
                worker.row(None, false);
                false
            };
            tell(row, within);
        }
    });
}

/// Calls `work` with that many bytes that this thread keeps.
pub fn with_room(bytes: usize, work: impl FnOnce(*mut u8)) {
    ROOM.with(|room| match room.try_borrow_mut() {
        Ok(mut memory) => work(memory.take(bytes)),
        Err(_) => work(Memory::new(bytes).pointer()),
    });
}

fn is_plain(nest: &Nest) -> bool {
    nest.passes.len() == 1 && nest.passes[0].accumulators.is_empty() && nest.after.is_empty()
}

fn is_columns(nest: &Nest) -> bool {
    let mut accumulators = nest.passes.iter().flat_map(|pass| &pass.accumulators);
    accumulators.any(|accumulator| matches!(accumulator.into, Into::Array { .. }))
}

struct Worker<'a> {
    nest: &'a Nest,
    machine: Machine<'a>,
    /// Running values, a block for each accumulator, and one to spread a value in.
    states: *mut u8,
    /// A tile for each load that is made for tiles.
    tiles: *mut u8,
    /// The strips of each pass that has them.
    strips: Vec<Option<Ready<'a>>>,
}

fn with_machine(nest: &Nest, arrays: Arrays, failures: &Failures, work: impl FnOnce(&mut Worker)) {
    let most = nest.passes.iter().map(|pass| pass.accumulators.len()).max().unwrap_or(0) + 1;
    let lanes: i64 = nest.dims[nest.outer..]
        .iter()
        .map(|dim| if let Extent::Constant(extent) = dim { *extent } else { 0 })
        .product();
    // Of a batch, all rows are kept.
    let lanes = if nest.batched.is_some() { BLOCK as i64 } else { lanes };
    let row_bytes = (lanes.max(0) as usize * 8).next_multiple_of(64) + 64;
    let blocks = (nest.registers + most) * BLOCK * 8;
    SCRATCH.with(|scratch| {
        // A task inside a task finds the scratch taken: then it has its own.
        let mut own;
        let mut shared = scratch.try_borrow_mut();
        let memory = match &mut shared {
            Ok(memory) => &mut **memory,
            Err(_) => {
                own = Memory::new(0);
                &mut own
            }
        };
        let tile_count = nest.tiled.as_ref().map_or(0, |tiled| tiled.loads.len());
        let rows_end = blocks + nest.rows.len() * row_bytes;
        let tiles_end = rows_end + tile_count * TILE_ROWS * TILE * 8;
        let changed = nest.batched.as_deref().unwrap_or_default();
        let batches_end = tiles_end + 2 * changed.len() * BLOCK * 8;
        let strips = nest.passes.iter().map(|pass| pass.strips.as_ref());
        let floats: usize = strips.clone().flatten().map(Strips::room).sum();
        let scratch = memory.take(batches_end + floats * size_of::<f32>());
        // SAFETY: all within what was asked for.
        let (states, rows, tiles) = unsafe {
            let rows = scratch.add(blocks);
            let rows = (0..nest.rows.len()).map(|at| rows.add(at * row_bytes)).collect();
            (scratch.add(nest.registers * BLOCK * 8), rows, scratch.add(rows_end))
        };
        let mut batched = vec![None; nest.slots.len()];
        for (at, (slot, _)) in changed.iter().enumerate() {
            let block = |number: usize| scratch.wrapping_add(tiles_end + number * BLOCK * 8);
            batched[*slot as usize] = Some(BatchedSlot { across: block(2 * at), lanes: block(2 * at + 1) });
        }
        let empty = block::Block { pointer: scratch, uniform: true };
        let machine = Machine {
            arrays,
            failures,
            scratch,
            registers: vec![empty; nest.registers],
            homes: (0..nest.registers).map(|reg| scratch.wrapping_add(reg * BLOCK * 8)).collect(),
            slots: nest.slots.clone(),
            rows,
            tiles: vec![tiles; tile_count],
            index: vec![0; nest.dims.len()],
            lane: nest.lane,
            row: 0,
            mode: Mode::Row,
            batched,
        };
        let running = |at: u32| states.wrapping_add(at as usize * BLOCK * 8);
        let mut end = batches_end;
        let strips = strips.map(|strips| {
            let room = scratch.wrapping_add(end).cast();
            end += strips.map_or(0, Strips::room) * size_of::<f32>();
            strips.map(|strips| Ready::new(strips, room, &running))
        });
        let strips = strips.collect();
        work(&mut Worker { nest, machine, states, tiles, strips });
    });
}

impl Worker<'_> {
    fn rows(&mut self, range: std::ops::Range<i64>, lanes: Option<(i64, i64)>, columns: bool) {
        let mut row = range.start;
        while row < range.end {
            self.go_to(row);
            row += match (&self.nest.batched, &self.nest.dims[self.nest.lane]) {
                (Some(slots), Extent::Constant(length)) => {
                    let dim = self.nest.outer - 1;
                    let left = self.extent(dim) - self.machine.index[dim];
                    let rows = left.min(range.end - row).min(BLOCK as i64 / length);
                    self.batch(slots, rows as usize, *length as usize);
                    rows
                }
                _ => {
                    self.row(lanes, columns);
                    1
                }
            };
        }
    }

    /// Some short rows at a time: what is done once a row is done with rows as lanes.
    fn batch(&mut self, slots: &[(u32, usize)], rows: usize, length: usize) {
        let (nest, dim) = (self.nest, self.nest.outer - 1);
        for pass in &nest.passes {
            self.machine.index[nest.lane] = 0;
            (self.machine.mode, self.machine.lane) = (Mode::Across, dim);
            // SAFETY: the code is that of the nest, the rows are in range.
            unsafe { block::run(&mut self.machine, &pass.before, rows) };
            for (slot, width) in slots {
                let slot = self.machine.batched[*slot as usize].expect("invariant: rows change it");
                // SAFETY: the slot has a block for each.
                unsafe { batch::expand(slot, *width, rows, length) };
            }
            (self.machine.mode, self.machine.lane) = (Mode::Batch { rows, length, dim }, nest.lane);
            // SAFETY: as above.
            unsafe { block::run(&mut self.machine, &pass.code, rows * length) };
            for accumulator in &pass.accumulators {
                self.reduce_batch(accumulator, rows, length);
            }
        }
        (self.machine.mode, self.machine.lane) = (Mode::Across, dim);
        // SAFETY: as above.
        unsafe { block::run(&mut self.machine, &nest.after, rows) };
        (self.machine.mode, self.machine.lane) = (Mode::Row, nest.lane);
    }

    fn reduce_batch(&mut self, accumulator: &Accumulator, rows: usize, length: usize) {
        let (op, dtype, lane) = (accumulator.op, accumulator.dtype, Lane::of(accumulator.dtype));
        let Into::Slot(slot) = accumulator.into else { unreachable!("invariant: of rows") };
        let across = self.machine.batched[slot as usize].expect("invariant: rows change it").across;
        // SAFETY: blocks hold all lanes of the batch, and the running values.
        unsafe {
            let lanes =
                block::lanes_to_reduce(&self.machine, accumulator.src, lane, self.state(1), rows * length);
            for row in 0..rows {
                accumulate::start(op, dtype, self.state(0), RUNNING);
                lanes::reduce(op, lane, self.state(0), lanes.add(row * length * lane.width()), length, true);
                let bits = lanes::narrowed(accumulate::finish(op, lane, self.state(0)), dtype);
                std::ptr::copy_nonoverlapping(
                    (&raw const bits).cast(),
                    across.add(row * lane.width()),
                    lane.width(),
                );
            }
        }
    }

    fn go_to(&mut self, row: i64) {
        self.machine.row = row as u64;
        let mut rest = row;
        for dim in (0..self.nest.outer).rev() {
            if let Extent::Constant(extent) = self.nest.dims[dim] {
                self.machine.index[dim] = rest % extent;
                rest /= extent;
            }
        }
    }

    fn row(&mut self, lanes: Option<(i64, i64)>, columns: bool) {
        let nest = self.nest;
        for (at, pass) in nest.passes.iter().enumerate() {
            self.machine.index[nest.outer..].fill(0);
            // SAFETY: the code is that of the nest, its rows in range.
            unsafe { block::run(&mut self.machine, &pass.before, 1) };
            if columns {
                self.columns(pass, lanes);
            } else {
                self.along(at, pass, lanes);
            }
        }
        self.machine.index[nest.outer..].fill(0);
        // SAFETY: as above.
        unsafe { block::run(&mut self.machine, &nest.after, 1) };
    }

    /// A row but for its hidden lanes from the limit on; returns whether they need not be
    /// written. If more than those are written, that is all of them.
    fn row_within<T: Element>(&mut self, hidden: &Hidden, limit: i64) -> bool {
        let (nest, last) = (self.nest, limit - 1);
        self.machine.index[nest.lane] = last;
        if !hidden.hides(&self.machine, self.extent(nest.lane) - last) {
            self.row(None, false);
            return false;
        }
        let mut whole = false;
        for (at, pass) in nest.passes.iter().enumerate() {
            self.machine.index[nest.outer..].fill(0);
            // SAFETY: the code is that of the nest, its rows in range.
            unsafe { block::run(&mut self.machine, &pass.before, 1) };
            if !whole {
                self.along(at, pass, Some((0, limit)));
                let mut summed = hidden.stored[at].iter().filter(|stored| stored.summed);
                whole = !summed.all(|stored| self.hidden_lanes::<T>(stored, last)[0].to_f64() == 0.0);
                if !whole {
                    continue;
                }
                for stored in hidden.stored[..at].iter().flatten() {
                    let lanes = self.hidden_lanes::<T>(stored, last);
                    lanes.fill(lanes[0]);
                }
            }
            self.along(at, pass, None);
        }
        self.machine.index[nest.outer..].fill(0);
        // SAFETY: as above.
        unsafe { block::run(&mut self.machine, &nest.after, 1) };
        let results =
            hidden.stored.iter().flatten().filter(|stored| matches!(stored.buffer, Buffer::Array(_)));
        let mut zero = !whole;
        for stored in results {
            let lanes = self.hidden_lanes::<T>(stored, last);
            if !whole && lanes[0].to_f64() != 0.0 {
                lanes.fill(lanes[0]);
                zero = false;
            }
        }
        zero
    }

    /// What is stored from a lane on.
    fn hidden_lanes<T: Element>(&mut self, stored: &Stored, first: i64) -> &mut [T] {
        let lane = self.nest.lane;
        self.machine.index[lane] = first;
        let place = self.machine.address(&stored.address).0;
        self.machine.index[lane] = 0;
        let start = self.machine.buffer(stored.buffer).cast::<T>().wrapping_offset(place as isize);
        let count = self.extent(lane) - first;
        // SAFETY: the lanes lie within the row.
        unsafe { std::slice::from_raw_parts_mut(start, count as usize) }
    }

    /// Some lanes of some rows: what jumps is brought in order first.
    fn tile(&mut self, tiled: &Tiled, rows: &std::ops::Range<i64>, start: i64, lanes: i64, extents: &[i64]) {
        let (dim, lane) = (tiled.dim, self.nest.lane);
        self.machine.index[dim] = rows.start;
        self.machine.index[lane] = start;
        let (height, count) = ((rows.end - rows.start) as usize, lanes as usize);
        for (at, (buffer, dtype, address)) in tiled.loads.iter().enumerate() {
            let (place, factor) = self.machine.address(address);
            // SAFETY: the tile lies within the array, and there is a block for each load.
            unsafe {
                transpose(&self.machine, (*buffer, *dtype, place), factor, height, count, self.tile_room(at))
            };
        }
        for row in rows.clone() {
            self.machine.index[dim] = row;
            let outer = self.machine.index[..self.nest.outer].iter().zip(extents);
            self.machine.row = outer.fold(0, |number, (index, extent)| number * extent + index) as u64;
            for (at, (_, dtype, _)) in tiled.loads.iter().enumerate() {
                let before = (row - rows.start) as usize * TILE * Lane::of(*dtype).width();
                self.machine.tiles[at] = self.tile_room(at).wrapping_add(before);
            }
            let done = self.by_strips(0, count);
            let left = count - done;
            for tile in &mut self.machine.tiles {
                *tile = tile.wrapping_add(done * size_of::<f32>());
            }
            self.machine.index[lane] = start + done as i64;
            if left > 0 {
                // SAFETY: rows and lanes are in range.
                unsafe { block::run(&mut self.machine, &self.nest.passes[0].code, left) };
            }
            self.machine.index[lane] = start;
        }
    }

    /// As many of the lanes from the index on as whole strips have; returns how many.
    fn by_strips(&mut self, pass: usize, lanes: usize) -> usize {
        let Some(strips) = &mut self.strips[pass] else { return 0 };
        // SAFETY: the lanes are in range.
        unsafe { strips.run(&self.machine, lanes) }
    }

    /// The memory of a tile.
    fn tile_room(&self, at: usize) -> *mut u8 {
        // SAFETY: there is a tile for each load.
        unsafe { self.tiles.add(at * TILE_ROWS * TILE * 8) }
    }

    fn extent(&self, dim: usize) -> i64 {
        match &self.nest.dims[dim] {
            Extent::Constant(extent) => *extent,
            Extent::Ragged(address) => self.machine.address(address).0.max(0),
        }
    }

    fn state(&self, at: usize) -> *mut u8 {
        // SAFETY: there is a block for each accumulator, and one more.
        unsafe { self.states.add(at * BLOCK * 8) }
    }

    /// A pass along rows: all loops, and blocks of lanes within.
    fn along(&mut self, number: usize, pass: &Pass, lanes: Option<(i64, i64)>) {
        for (at, accumulator) in pass.accumulators.iter().enumerate() {
            // SAFETY: a block is more than the running values.
            unsafe { accumulate::start(accumulator.op, accumulator.dtype, self.state(at), RUNNING) };
        }
        self.loops(self.nest.outer, self.nest.lane, &mut |worker| {
            let (first, end) = lanes.unwrap_or_else(|| (0, worker.extent(worker.nest.lane)));
            worker.machine.index[worker.nest.lane] = first;
            let mut start = first + worker.by_strips(number, (end - first).max(0) as usize) as i64;
            while start < end {
                let count = ((end - start) as usize).min(BLOCK);
                worker.machine.index[worker.nest.lane] = start;
                // SAFETY: the lanes are in range.
                unsafe { block::run(&mut worker.machine, &pass.code, count) };
                worker.add(&pass.accumulators, count, true);
                start += count as i64;
            }
            worker.machine.index[worker.nest.lane] = 0;
        });
        for (at, accumulator) in pass.accumulators.iter().enumerate() {
            if let Into::Slot(slot) = accumulator.into {
                // SAFETY: the state was started above.
                let bits = unsafe {
                    accumulate::finish(accumulator.op, Lane::of(accumulator.dtype), self.state(at))
                };
                self.machine.slots[slot as usize] = lanes::narrowed(bits, accumulator.dtype);
            }
        }
    }

    /// A pass along lanes that are kept: for each block of them, all loops.
    fn columns(&mut self, pass: &Pass, lanes: Option<(i64, i64)>) {
        let (first, end) = lanes.unwrap_or_else(|| (0, self.extent(self.nest.lane)));
        let mut start = first;
        while start < end {
            let count = ((end - start) as usize).min(BLOCK);
            for (at, accumulator) in pass.accumulators.iter().enumerate() {
                // SAFETY: the state is a block.
                unsafe { accumulate::start(accumulator.op, accumulator.dtype, self.state(at), count) };
            }
            self.machine.index[self.nest.lane] = start;
            self.loops(self.nest.lane + 1, self.nest.dims.len(), &mut |worker| {
                // SAFETY: the lanes are in range.
                unsafe { block::run(&mut worker.machine, &pass.code, count) };
                worker.add(&pass.accumulators, count, false);
            });
            for (at, accumulator) in pass.accumulators.iter().enumerate() {
                if let Into::Array { array, address } = &accumulator.into {
                    let place = self.machine.address(address);
                    // SAFETY: the address is that of the lanes of the array.
                    unsafe {
                        block::store_lanes(
                            &self.machine,
                            *array,
                            accumulator.dtype,
                            place,
                            self.state(at),
                            count,
                        )
                    };
                }
            }
            start += count as i64;
        }
    }

    fn add(&mut self, accumulators: &[Accumulator], count: usize, along: bool) {
        let room = self.state(accumulators.len());
        for (at, accumulator) in accumulators.iter().enumerate() {
            let (op, lane) = (accumulator.op, Lane::of(accumulator.dtype));
            // SAFETY: states and room are blocks.
            unsafe {
                let lanes = block::lanes_to_reduce(&self.machine, accumulator.src, lane, room, count);
                lanes::reduce(op, lane, self.state(at), lanes, count, along);
            }
        }
    }

    /// All indices of the dimensions `from..to`, in row-major order.
    fn loops(&mut self, from: usize, to: usize, visit: &mut dyn FnMut(&mut Self)) {
        if from == to {
            return visit(self);
        }
        let extent = self.extent(from);
        for index in 0..extent {
            self.machine.index[from] = index;
            self.loops(from + 1, to, visit);
        }
        self.machine.index[from] = 0;
    }
}
