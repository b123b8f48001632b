//! Steps over several short rows at a time.

use super::access::{is_plain, store_at, widen, width};
use super::block::{Block, Machine};
use super::check::sign;
use super::lanes::{lanes_mut, lanes_of};
use super::pass::{Address, Buffer, Lane, Op};

/// A value of each row of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchedSlot {
    pub across: *mut u8,
    pub lanes: *mut u8,
}

/// A step that looks at addresses, row by row of a batch; returns whether it is one.
pub(super) unsafe fn step_of_rows(m: &mut Machine, op: &Op, rows: usize, length: usize, dim: usize) -> bool {
    let each = |address: &Address, m: &Machine| {
        let (base, factor) = m.address(address);
        (base, factor, address.factors[dim])
    };
    // SAFETY, for all of it: the caller's.
    unsafe {
        match op {
            Op::Index { dst, address } => {
                let (base, factor, by_row) = each(address, m);
                let lanes = lanes_mut::<i64>(m.own(*dst), rows * length);
                for (at, lane) in lanes.iter_mut().enumerate() {
                    *lane = base + by_row * (at / length) as i64 + factor * (at % length) as i64;
                }
                m.set(*dst, false);
            }
            Op::Sign { dst, fun, address } => {
                let (base, factor, by_row) = each(address, m);
                let lanes = lanes_mut::<u8>(m.own(*dst), rows * length);
                for (row, lanes) in lanes.chunks_exact_mut(length).enumerate() {
                    if sign(lanes, *fun, base + by_row * row as i64, factor) {
                        lanes.fill(lanes[0]);
                    }
                }
                m.set(*dst, false);
            }
            Op::Load { dst, buffer: Buffer::Row(row), .. } => {
                m.registers[*dst as usize] = Block { pointer: m.rows[*row as usize], uniform: false };
            }
            Op::Load { dst, buffer, dtype, address, .. } => {
                let (base, factor, by_row) = each(address, m);
                let memory = m.buffer(*buffer).wrapping_offset(base as isize * width(*dtype) as isize);
                if is_plain(*dtype) && factor == 1 && by_row == length as i64 {
                    m.registers[*dst as usize] = Block { pointer: memory, uniform: false };
                    return true;
                }
                let line = length * Lane::of(*dtype).width();
                for row in 0..rows {
                    let from =
                        memory.wrapping_offset((row as i64 * by_row) as isize * width(*dtype) as isize);
                    widen(m.own(*dst).add(row * line), from, *dtype, factor, length);
                }
                m.set(*dst, false);
            }
            Op::Into { dst, buffer: Buffer::Row(row), .. } => m.homes[*dst as usize] = m.rows[*row as usize],
            Op::Into { dst, buffer, dtype, address } => {
                let (base, factor, by_row) = each(address, m);
                // Rows that do not lie one after the other are stored one by one.
                if factor == 1 && by_row == length as i64 {
                    let memory = m.buffer(*buffer).wrapping_offset(base as isize * width(*dtype) as isize);
                    m.homes[*dst as usize] = memory;
                }
            }
            Op::Store { buffer: Buffer::Row(row), dtype, src, .. } => {
                let (into, from) = (m.rows[*row as usize], m.source(*src));
                if into != from.pointer || from.uniform {
                    store_at(into, *dtype, 1, from, rows * length);
                }
                m.settle_source(*src);
            }
            Op::Store { buffer, dtype, address, src: to_settle } => {
                let (base, factor, by_row) = each(address, m);
                let memory = m.buffer(*buffer).wrapping_offset(base as isize * width(*dtype) as isize);
                let src = m.source(*to_settle);
                m.settle_source(*to_settle);
                if factor == 1 && by_row == length as i64 {
                    if src.pointer != memory || src.uniform {
                        store_at(memory, *dtype, 1, src, rows * length);
                    }
                    return true;
                }
                let line = if src.uniform { 0 } else { length * Lane::of(*dtype).width() };
                for row in 0..rows {
                    let into =
                        memory.wrapping_offset((row as i64 * by_row) as isize * width(*dtype) as isize);
                    let src = Block { pointer: src.pointer.add(row * line), uniform: src.uniform };
                    store_at(into, *dtype, factor, src, length);
                }
            }
            _ => return false,
        }
    }
    true
}

/// Writes the value of each row of a batch to all lanes of the row.
///
/// # Safety
/// The slot has room for both.
pub unsafe fn expand(slot: BatchedSlot, lane_width: usize, rows: usize, length: usize) {
    macro_rules! each {
        ($t:ty) => {{
            // SAFETY: the caller's.
            let (from, into) =
                unsafe { (lanes_of::<$t>(slot.across, rows), lanes_mut::<$t>(slot.lanes, rows * length)) };
            for (value, lanes) in from.iter().zip(into.chunks_exact_mut(length)) {
                lanes.fill(*value);
            }
        }};
    }
    match lane_width {
        1 => each!(u8),
        4 => each!(u32),
        _ => each!(u64),
    }
}
