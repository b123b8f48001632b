//! Reductions over lanes and loops, in an order that depends on the shape alone.
//!
//! Along a row there are 32 running values, of the lanes with equal number modulo 32,
//! folded by halving at the end; across rows there is one for each lane.

use crate::loops::Monoid;
use rtv_semantics::dtype::DType;

use super::pass::Lane;

/// Running values of a reduction along a row.
pub const RUNNING: usize = 32;

macro_rules! each_lane {
    ($lane:expr, $op:expr, $use:ident, $($args:expr),*) => {
        match ($lane, $op) {
            (Lane::F32, Monoid::Sum) => $use::<f32>($($args,)* |x, y| x + y),
            (Lane::F32, Monoid::Prod) => $use::<f32>($($args,)* |x, y| x * y),
            (Lane::F32, Monoid::Max) => $use::<f32>($($args,)* |x, y| if (y > x) | y.is_nan() { y } else { x }),
            (Lane::F32, Monoid::Min) => $use::<f32>($($args,)* |x, y| if (y < x) | y.is_nan() { y } else { x }),
            (Lane::F64, Monoid::Sum) => $use::<f64>($($args,)* |x, y| x + y),
            (Lane::F64, Monoid::Prod) => $use::<f64>($($args,)* |x, y| x * y),
            (Lane::F64, Monoid::Max) => $use::<f64>($($args,)* |x, y| if (y > x) | y.is_nan() { y } else { x }),
            (Lane::F64, Monoid::Min) => $use::<f64>($($args,)* |x, y| if (y < x) | y.is_nan() { y } else { x }),
            (Lane::I32, Monoid::Sum) => $use::<i32>($($args,)* i32::wrapping_add),
            (Lane::I32, Monoid::Prod) => $use::<i32>($($args,)* i32::wrapping_mul),
            (Lane::I32, Monoid::Max) => $use::<i32>($($args,)* i32::max),
            (Lane::I32, Monoid::Min) => $use::<i32>($($args,)* i32::min),
            (Lane::I64, Monoid::Sum) => $use::<i64>($($args,)* i64::wrapping_add),
            (Lane::I64, Monoid::Prod) => $use::<i64>($($args,)* i64::wrapping_mul),
            (Lane::I64, Monoid::Max) => $use::<i64>($($args,)* i64::max),
            (Lane::I64, Monoid::Min) => $use::<i64>($($args,)* i64::min),
            (Lane::Bool, Monoid::Sum | Monoid::Max | Monoid::Any) => $use::<u8>($($args,)* |x, y| x | y),
            (Lane::Bool, Monoid::Prod | Monoid::Min | Monoid::All) => $use::<u8>($($args,)* |x, y| x & y),
            (lane, op) => unreachable!("invariant: no `{}` over {lane:?}", op.name()),
        }
    };
}

/// The bits of the value of an empty reduction.
pub fn neutral(op: Monoid, dtype: DType) -> u64 {
    let lane = Lane::of(dtype);
    let float = |x: f64| match lane {
        Lane::F32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    };
    let int = |x: i64| match lane {
        Lane::I32 => u64::from(x as i32 as u32),
        _ => x as u64,
    };
    let (least, most) = dtype.int_range().unwrap_or((0, 0));
    match (op, lane) {
        (Monoid::Sum, Lane::F32 | Lane::F64) => float(0.0),
        (Monoid::Prod, Lane::F32 | Lane::F64) => float(1.0),
        (Monoid::Max, Lane::F32 | Lane::F64) => float(f64::NEG_INFINITY),
        (Monoid::Min, Lane::F32 | Lane::F64) => float(f64::INFINITY),
        (Monoid::Sum | Monoid::Any, _) => 0,
        (Monoid::Prod | Monoid::All, _) => 1,
        (Monoid::Max, _) => int(least),
        (Monoid::Min, _) => int(most),
    }
}

/// Fills `count` running values with the neutral one.
///
/// # Safety
/// `state` has room for them.
pub unsafe fn start(op: Monoid, dtype: DType, state: *mut u8, count: usize) {
    let bits = neutral(op, dtype);
    // SAFETY: the caller's.
    unsafe {
        match Lane::of(dtype).width() {
            1 => std::slice::from_raw_parts_mut(state, count).fill(bits as u8),
            4 => std::slice::from_raw_parts_mut(state.cast::<u32>(), count).fill(bits as u32),
            _ => std::slice::from_raw_parts_mut(state.cast::<u64>(), count).fill(bits),
        }
    }
}

/// Adds a block to the 32 running values of a row. Its first lane is a multiple of 32.
///
/// # Safety
/// `state` has 32 values, `lanes` has `count`.
#[inline(always)]
pub unsafe fn along(op: Monoid, lane: Lane, state: *mut u8, lanes: *const u8, count: usize) {
    // SAFETY: the caller's.
    unsafe { each_lane!(lane, op, add_along, state, lanes, count) }
}

#[inline(always)]
unsafe fn add_along<T: Copy>(state: *mut u8, lanes: *const u8, count: usize, f: impl Fn(T, T) -> T) {
    // SAFETY: the caller's.
    let (state, lanes) =
        unsafe { (&mut *state.cast::<[T; RUNNING]>(), std::slice::from_raw_parts(lanes.cast::<T>(), count)) };
    let mut running = *state;
    let chunks = lanes.chunks_exact(RUNNING);
    let rest = chunks.remainder();
    for chunk in chunks {
        for i in 0..RUNNING {
            running[i] = f(running[i], chunk[i]);
        }
    }
    for (r, x) in running.iter_mut().zip(rest) {
        *r = f(*r, *x);
    }
    *state = running;
}

/// Adds a block to the running value of each lane.
///
/// # Safety
/// Both have `count` values.
#[inline(always)]
pub unsafe fn across(op: Monoid, lane: Lane, state: *mut u8, lanes: *const u8, count: usize) {
    // SAFETY: the caller's.
    unsafe { each_lane!(lane, op, add_across, state, lanes, count) }
}

#[inline(always)]
unsafe fn add_across<T: Copy>(state: *mut u8, lanes: *const u8, count: usize, f: impl Fn(T, T) -> T) {
    // SAFETY: the caller's; the state is no part of the lanes.
    let (state, lanes) = unsafe {
        (
            std::slice::from_raw_parts_mut(state.cast::<T>(), count),
            std::slice::from_raw_parts(lanes.cast::<T>(), count),
        )
    };
    for i in 0..count {
        state[i] = f(state[i], lanes[i]);
    }
}

/// The value of the 32 running ones, as the bits of its lane.
///
/// # Safety
/// `state` has 32 values.
pub unsafe fn finish(op: Monoid, lane: Lane, state: *mut u8) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        each_lane!(lane, op, fold, state);
        let mut bits = 0u64;
        std::ptr::copy_nonoverlapping(state, (&raw mut bits).cast(), lane.width());
        bits
    }
}

#[inline(always)]
unsafe fn fold<T: Copy>(state: *mut u8, f: impl Fn(T, T) -> T) {
    // SAFETY: the caller's.
    let state = unsafe { &mut *state.cast::<[T; RUNNING]>() };
    // In registers.
    let mut running = *state;
    macro_rules! halve {
        ($($width:literal)*) => {$(
            for i in 0..$width {
                running[i] = f(running[i], running[i + $width]);
            }
        )*};
    }
    halve!(16 8 4 2 1);
    state[0] = running[0];
}
