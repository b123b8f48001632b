//! Running a nest: rows in chunks of a fixed size, each on whichever thread is free.

use std::cell::RefCell;

use super::accumulate::{self, RUNNING};
use super::block::{self, Arrays, Failures, Machine};
use super::memory::Memory;
use super::pass::{Accumulator, BLOCK, Extent, Into, Lane, Nest, Pass};
use super::pool::Pool;

/// Elements that are not worth a second thread, and that one task takes.
const SMALL: i64 = 4 << 10;
const ROWS_OF: i64 = 16 << 10;
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
    let together = if columns { 1 } else { (if is_plain(nest) { PLAIN_OF } else { ROWS_OF } / work).max(1) };
    let chunks = (rows + together - 1) / together;
    let task = |task: usize| {
        let (chunk, piece_at) = (task as i64 / pieces, task as i64 % pieces);
        let lanes = (piece_at * piece, ((piece_at + 1) * piece).min(length));
        let range = chunk * together..((chunk + 1) * together).min(rows);
        with_machine(nest, arrays, failures, |worker| {
            for row in range {
                worker.row(row, if pieces == 1 { None } else { Some(lanes) }, columns);
            }
        });
    };
    if rows.saturating_mul(inner) < SMALL {
        (0..(chunks * pieces) as usize).for_each(task);
    } else {
        pool.run((chunks * pieces) as usize, &task);
    }
}

/// Runs some rows on the caller's thread.
pub fn run_rows(nest: &Nest, arrays: Arrays, failures: &Failures, rows: std::ops::Range<i64>) {
    with_machine(nest, arrays, failures, |worker| {
        for row in rows {
            worker.row(row, None, false);
        }
    });
}

/// Calls `work` with that many bytes that this thread keeps.
pub fn with_room(bytes: usize, work: impl FnOnce(*mut u8)) {
    ROOM.with(|room| match room.try_borrow_mut() {
        Ok(mut memory) => {
            memory.grow(bytes);
            work(memory.pointer());
        }
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
}

fn with_machine(nest: &Nest, arrays: Arrays, failures: &Failures, work: impl FnOnce(&mut Worker)) {
    let most = nest.passes.iter().map(|pass| pass.accumulators.len()).max().unwrap_or(0) + 1;
    let lanes: i64 = nest.dims[nest.outer..]
        .iter()
        .map(|dim| if let Extent::Constant(extent) = dim { *extent } else { 0 })
        .product();
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
        memory.grow(blocks + nest.rows.len() * row_bytes);
        let scratch = memory.pointer();
        // SAFETY: all within what was asked for.
        let (states, rows) = unsafe {
            let rows = scratch.add(blocks);
            let rows = (0..nest.rows.len()).map(|at| rows.add(at * row_bytes)).collect();
            (scratch.add(nest.registers * BLOCK * 8), rows)
        };
        let empty = block::Block { pointer: scratch, uniform: true };
        let machine = Machine {
            arrays,
            failures,
            scratch,
            registers: vec![empty; nest.registers],
            slots: nest.slots.clone(),
            rows,
            index: vec![0; nest.dims.len()],
            lane: nest.lane,
            row: 0,
        };
        work(&mut Worker { nest, machine, states });
    });
}

impl Worker<'_> {
    fn row(&mut self, row: i64, lanes: Option<(i64, i64)>, columns: bool) {
        self.machine.row = row as u64;
        let mut rest = row;
        for dim in (0..self.nest.outer).rev() {
            if let Extent::Constant(extent) = self.nest.dims[dim] {
                self.machine.index[dim] = rest % extent;
                rest /= extent;
            }
        }
        let nest = self.nest;
        for pass in &nest.passes {
            self.machine.index[nest.outer..].fill(0);
            // SAFETY: the code is that of the nest, its rows in range.
            unsafe { block::run(&mut self.machine, &pass.before, 1) };
            if columns {
                self.columns(pass, lanes);
            } else {
                self.along(pass, lanes);
            }
        }
        self.machine.index[nest.outer..].fill(0);
        // SAFETY: as above.
        unsafe { block::run(&mut self.machine, &nest.after, 1) };
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
    fn along(&mut self, pass: &Pass, lanes: Option<(i64, i64)>) {
        for (at, accumulator) in pass.accumulators.iter().enumerate() {
            // SAFETY: a block is more than the running values.
            unsafe { accumulate::start(accumulator.op, accumulator.dtype, self.state(at), RUNNING) };
        }
        self.loops(self.nest.outer, self.nest.lane, &mut |worker| {
            let (first, end) = lanes.unwrap_or_else(|| (0, worker.extent(worker.nest.lane)));
            let mut start = first;
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
                self.machine.slots[slot as usize] = block::narrowed(bits, accumulator.dtype);
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
                block::reduce(op, lane, self.state(at), lanes, count, along);
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
