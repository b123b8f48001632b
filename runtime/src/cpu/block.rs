//! The block interpreter: each step of a pass over a block of lanes, a plain loop that
//! the compiler turns into vectors.
//!
//! The same code is compiled twice, for any machine and for AVX2 with FMA; both give the
//! same bits, since nothing is contracted or reordered.

use rtv_semantics::dtype::DType;

use crate::loops::{ArrayId, SiteId};

use super::access::{gather, is_plain, store_at, widen, width};
use super::batch::{BatchedSlot, step_of_rows};
use super::check::{Loaded, check, load_checked, require, sign};
use super::failure::{Failure, Failures};
use super::lanes::{binary, cast, lanes_mut, lanes_of, mul_add, narrow, select, spread_any, unary};
use super::pass::{Address, BLOCK, Buffer, Lane, Op, Src};
use super::table::table;

/// The arrays of a run, by their number. Kernels write disjoint places from several
/// threads, so these are plain pointers.
#[derive(Clone, Copy)]
pub struct Arrays<'a> {
    pub pointers: &'a [*mut u8],
}

// SAFETY: threads write disjoint elements, and read only what kernels before wrote, or
// what the same thread wrote in the same row.
unsafe impl Send for Arrays<'_> {}
// SAFETY: as above.
unsafe impl Sync for Arrays<'_> {}

impl Arrays<'_> {
    pub fn pointer(&self, array: ArrayId) -> *mut u8 {
        self.pointers[array.0 as usize]
    }
}

/// A register: a block of lanes, or one value for all of them.
#[derive(Clone, Copy)]
pub struct Block {
    pub pointer: *mut u8,
    pub uniform: bool,
}

/// What one thread computes with.
pub struct Machine<'a> {
    pub arrays: Arrays<'a>,
    pub failures: &'a Failures,
    /// `BLOCK` lanes of 8 bytes for each register.
    pub scratch: *mut u8,
    pub registers: Vec<Block>,
    /// Where the lanes of a register are written: its block of scratch, or where they are
    /// stored later.
    pub homes: Vec<*mut u8>,
    pub slots: Vec<u64>,
    pub rows: Vec<*mut u8>,
    /// The rows of the tiles that this row reads.
    pub tiles: Vec<*mut u8>,
    /// The index of each dimension; of the lanes, where the block starts.
    pub index: Vec<i64>,
    pub lane: usize,
    /// The number of the row, for the order of failures.
    pub row: u64,
    pub mode: Mode,
    /// The slots that rows change: a value for each row of a batch, and for each lane.
    pub batched: Vec<Option<BatchedSlot>>,
}

/// What lanes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Those of one row.
    Row,
    /// Rows: what is done once a row is done for a batch of them.
    Across,
    /// Those of several short rows, one after the other.
    Batch { rows: usize, length: usize, dim: usize },
}

/// Runs straight-line code over `lanes` lanes.
///
/// # Safety
/// Addresses lie within their buffers, registers and slots exist: what `compile` gives,
/// with the dimensions in range.
pub unsafe fn run(machine: &mut Machine, code: &[Op], lanes: usize) {
    for op in code {
        // SAFETY: the caller's.
        unsafe { step(machine, op, lanes) }
    }
}

impl Machine<'_> {
    /// The value of an address at the first lane, and what it grows by a lane.
    #[inline(always)]
    pub fn address(&self, address: &Address) -> (i64, i64) {
        let mut sum = address.base;
        for (factor, index) in address.factors.iter().zip(&self.index) {
            sum = sum.wrapping_add(factor.wrapping_mul(*index));
        }
        for (slot, factor) in &address.slots {
            sum = sum.wrapping_add(factor.wrapping_mul(self.slots[*slot as usize] as i64));
        }
        (sum, address.factors[self.lane])
    }

    #[inline(always)]
    pub fn buffer(&self, buffer: Buffer) -> *mut u8 {
        match buffer {
            Buffer::Array(array) => self.arrays.pointer(array),
            Buffer::Row(row) => self.rows[row as usize],
        }
    }

    #[inline(always)]
    pub fn source(&self, src: Src) -> Block {
        match src {
            Src::Reg(reg) => self.registers[reg as usize],
            Src::Slot(slot) => {
                if self.mode != Mode::Row
                    && let Some(slot) = self.batched[slot as usize]
                {
                    let pointer = if self.mode == Mode::Across { slot.across } else { slot.lanes };
                    return Block { pointer, uniform: false };
                }
                Block { pointer: (&raw const self.slots[slot as usize]).cast_mut().cast(), uniform: true }
            }
        }
    }

    #[inline(always)]
    pub fn own(&self, reg: u32) -> *mut u8 {
        self.homes[reg as usize]
    }

    /// Makes a register that is stored write to its block of scratch again.
    #[inline(always)]
    pub fn settle_source(&mut self, src: Src) {
        if let Src::Reg(reg) = src {
            // SAFETY: scratch has a block for each register.
            self.homes[reg as usize] = unsafe { self.scratch.add(reg as usize * BLOCK * 8) };
        }
    }

    #[inline(always)]
    pub fn set(&mut self, reg: u32, uniform: bool) {
        self.registers[reg as usize] = Block { pointer: self.own(reg), uniform };
    }

    #[cold]
    pub fn fail(&self, lane: usize, site: SiteId, value: i64) {
        let place = (self.row << 32) | (self.index[self.lane] as u64 + lane as u64).min(u32::MAX.into());
        self.failures.report(Failure { place, site, value });
    }
}

unsafe fn step(m: &mut Machine, op: &Op, lanes: usize) {
    if let Mode::Batch { rows, length, dim } = m.mode
        // SAFETY: the caller's.
        && unsafe { step_of_rows(m, op, rows, length, dim) }
    {
        return;
    }
    // SAFETY, for all of it: the caller's blocks and addresses.
    unsafe {
        match op {
            Op::Index { dst, address } => {
                let (base, factor) = m.address(address);
                let count = if factor == 0 { 1 } else { lanes };
                let block = lanes_mut::<i64>(m.own(*dst), count);
                for (i, value) in block.iter_mut().enumerate() {
                    *value = base.wrapping_add(factor.wrapping_mul(i as i64));
                }
                m.set(*dst, factor == 0);
            }
            Op::Sign { dst, fun, address } => {
                let (base, factor) = m.address(address);
                let count = if factor == 0 { 1 } else { lanes };
                let even = sign(lanes_mut::<u8>(m.own(*dst), count), *fun, base, factor);
                m.set(*dst, even);
            }
            Op::Tile { dst, number } => {
                m.registers[*dst as usize] = Block { pointer: m.tiles[*number as usize], uniform: false };
            }
            Op::Load { dst, buffer, dtype, address, checks, mask } => {
                if checks.is_empty() {
                    let (base, factor) = m.address(address);
                    load(m, *dst, *buffer, *dtype, base, factor, lanes);
                } else {
                    load_checked(
                        m,
                        Loaded { dst: *dst, buffer: *buffer, dtype: *dtype },
                        address,
                        checks,
                        *mask,
                        lanes,
                    );
                }
            }
            Op::Gather { dst, buffer, dtype, index } => {
                let index = m.source(*index);
                let count = if index.uniform { 1 } else { lanes };
                let index_lanes = lanes_of::<i64>(index.pointer, count);
                gather(m.own(*dst), m.buffer(*buffer), *dtype, index_lanes);
                m.set(*dst, index.uniform);
            }
            Op::Into { dst, buffer, dtype, address } => {
                let base = m.address(address).0;
                m.homes[*dst as usize] =
                    m.buffer(*buffer).wrapping_offset(base as isize * width(*dtype) as isize);
            }
            Op::Store { buffer, dtype, address, src } => {
                let (base, factor) = m.address(address);
                store(m, *buffer, *dtype, base, factor, m.source(*src), lanes);
                m.settle_source(*src);
            }
            Op::Check { dst, index, extent, site, mask } => {
                check(m, *dst, *index, *extent, *site, *mask, lanes);
            }
            Op::Require { cond, site, mask } => require(m, *cond, *site, *mask, lanes),
            Op::Unary { dst, lane, fun, a } => {
                let a = m.source(*a);
                let count = if a.uniform { 1 } else { lanes };
                unary(m.own(*dst), *lane, *fun, a, count);
                m.set(*dst, a.uniform);
            }
            Op::Binary { dst, lane, fun, a, b } => {
                let (a, b) = (m.source(*a), m.source(*b));
                let uniform = a.uniform && b.uniform;
                let count = if uniform { 1 } else { lanes };
                binary(m.own(*dst), *lane, *fun, a, b, count);
                m.set(*dst, uniform);
            }
            Op::MulAdd { dst, lane, factors, addend, minus } => {
                let (a, b, c) = (m.source(factors.0), m.source(factors.1), m.source(*addend));
                let uniform = a.uniform && b.uniform && c.uniform;
                let count = if uniform { 1 } else { lanes };
                mul_add(m.own(*dst), *lane, (a, b), c, *minus, count);
                m.set(*dst, uniform);
            }
            Op::Select { dst, lane, cond, a, b } => {
                let (cond, a, b) = (m.source(*cond), m.source(*a), m.source(*b));
                if cond.uniform {
                    // The block that is chosen, whole: a register keeps it until the end.
                    let chosen = if *cond.pointer != 0 { a } else { b };
                    let count = if chosen.uniform { 1 } else { lanes };
                    std::ptr::copy_nonoverlapping(chosen.pointer, m.own(*dst), count * lane.width());
                    m.set(*dst, chosen.uniform);
                } else {
                    select(m.own(*dst), *lane, cond, a, b, lanes);
                    m.set(*dst, false);
                }
            }
            Op::Cast { dst, from, to, a } => {
                let a = m.source(*a);
                let count = if a.uniform { 1 } else { lanes };
                cast(m.own(*dst), *from, *to, a, count);
                m.set(*dst, a.uniform);
            }
            Op::Narrow { dst, dtype, a } => {
                let a = m.source(*a);
                let count = if a.uniform { 1 } else { lanes };
                narrow(m.own(*dst), *dtype, a, count);
                m.set(*dst, a.uniform);
            }
            Op::Table { dst, fun, dtype, args, site, mask } => {
                table(m, *dst, *fun, *dtype, args, (*site, *mask), lanes);
            }
            Op::Save { slot, lane, src } => {
                let value = m.source(*src);
                if m.mode == Mode::Across {
                    let slot = m.batched[*slot as usize].expect("invariant: rows change it");
                    let from = spread_any(*lane, value, slot.across, lanes);
                    std::ptr::copy(from, slot.across, lanes * lane.width());
                    return;
                }
                let mut bits = 0u64;
                std::ptr::copy_nonoverlapping(value.pointer, (&raw mut bits).cast(), lane.width());
                m.slots[*slot as usize] = bits;
            }
        }
    }
}

#[inline(always)]
unsafe fn load(
    m: &mut Machine,
    dst: u32,
    buffer: Buffer,
    dtype: DType,
    base: i64,
    factor: i64,
    lanes: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let memory = m.buffer(buffer).wrapping_offset(base as isize * width(dtype) as isize);
        if is_plain(dtype) && (factor == 1 || factor == 0) {
            // Read where it is.
            m.registers[dst as usize] = Block { pointer: memory, uniform: factor == 0 };
            return;
        }
        let count = if factor == 0 { 1 } else { lanes };
        widen(m.own(dst), memory, dtype, factor, count);
        m.set(dst, factor == 0);
    }
}

unsafe fn store(m: &Machine, buffer: Buffer, dtype: DType, base: i64, factor: i64, src: Block, lanes: usize) {
    let memory = m.buffer(buffer).wrapping_offset(base as isize * width(dtype) as isize);
    if src.pointer == memory && !src.uniform {
        return;
    }
    // SAFETY: the caller's.
    unsafe { store_at(memory, dtype, factor, src, lanes) }
}

/// The lanes of a value that is reduced, spread out if it is uniform.
///
/// # Safety
/// `room` has a block of lanes.
pub unsafe fn lanes_to_reduce(m: &Machine, src: Src, lane: Lane, room: *mut u8, lanes: usize) -> *const u8 {
    // SAFETY: the caller's.
    unsafe { spread_any(lane, m.source(src), room, lanes) }
}

/// Writes reduced lanes to an array; `place` is the first element and the distance
/// between two.
///
/// # Safety
/// The elements lie within the array.
pub unsafe fn store_lanes(
    m: &Machine,
    array: ArrayId,
    dtype: DType,
    place: (i64, i64),
    lanes: *mut u8,
    count: usize,
) {
    let src = Block { pointer: lanes, uniform: false };
    // SAFETY: the caller's.
    unsafe { store(m, Buffer::Array(array), dtype, place.0, place.1, src, count) }
}
