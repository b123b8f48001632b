//! Arrays made from whole arrays, row by row along one axis: scans, places in sorted
//! order, reductions by index. See [`crate::loops::Whole`] for what each means.
//!
//! A task has one row, or the rows of some lanes beside one another where the axis is not
//! the last one. Elements come in order and are combined in i64 or f64, so results depend
//! on nothing else. Where long rows are fewer than threads, each is the work of all of them,
//! if its bits do not depend on where it is cut.

mod order;
mod pieces;
mod stored;

use std::ops::Range;

use rtv_semantics::dtype::DType;

use crate::loops::{ArrayId, Constant, Member, Monoid, Nests, Node, What, Whole};

use super::block::Arrays;
use super::math::double;
use super::pool::Pool;
use order::places;
use pieces::in_pieces;
use stored::{Stored, Wide, with_stored};

/// Lanes of one task, at most: some cache lines of elements.
const LANES: usize = 64;
/// Sums that one task holds beside one another, but for those of a single lane.
const MAX_SUMS: usize = 1 << 19;
/// Elements that are not worth a second thread.
const SMALL: usize = 4 << 10;
/// Elements of a row from which on it is worth several threads.
const LONG: usize = 32 << 10;

/// An array in memory, and how far apart its elements are along each axis of the result.
#[derive(Clone, Debug)]
struct Place {
    array: ArrayId,
    dtype: DType,
    strides: Vec<usize>,
}

/// A kernel that runs through rows.
#[derive(Clone, Debug)]
pub struct Rows {
    what: What,
    shape: Vec<usize>,
    along: usize,
    length: usize,
    out: Place,
    operands: Vec<Place>,
}

/// The rows of one task: where they begin, and how far apart their elements and they are.
#[derive(Clone, Copy)]
struct Strip {
    start: *mut u8,
    step: usize,
    lane: usize,
}

// SAFETY: threads write disjoint elements, or only read.
unsafe impl Sync for Strip {}

impl Strip {
    /// # Safety
    /// The element lies in the array, whose elements are of this type.
    unsafe fn get<T: Stored>(self, at: usize, lane: usize) -> T::Wide {
        // SAFETY: the caller's.
        unsafe { self.start.cast::<T>().add(at * self.step + lane * self.lane).read().widen() }
    }

    /// # Safety
    /// As for [`Strip::get`]; nobody else reads or writes it.
    unsafe fn set<T: Stored>(self, at: usize, lane: usize, value: T::Wide) {
        // SAFETY: the caller's.
        unsafe { self.start.cast::<T>().add(at * self.step + lane * self.lane).write(T::narrow(value)) }
    }
}

impl Rows {
    pub fn of(nests: &Nests, member: &Member) -> Rows {
        let Node::Whole(whole) = nests.arena.node(member.body) else {
            unreachable!("invariant: a whole array")
        };
        let Whole { what, along, length, operands, .. } = &**whole;
        let decl = nests.decl(member.array);
        let place = |array, axes: &[usize]| {
            let decl = nests.decl(array);
            let mut strides = vec![0; nests.decl(member.array).shape.len()];
            for (axis, stride) in axes.iter().zip(decl.strides()) {
                strides[*axis] = stride as usize;
            }
            Place { array, dtype: decl.dtype, strides }
        };
        let all: Vec<usize> = (0..decl.shape.len()).collect();
        Rows {
            what: *what,
            shape: decl.shape.clone(),
            along: *along,
            length: *length,
            out: place(member.array, &all),
            operands: operands.iter().map(|operand| place(operand.array, &operand.axes)).collect(),
        }
    }

    pub fn run(&self, arrays: Arrays, pool: &Pool) {
        let last = self.shape.len() - 1;
        let beside = if self.along == last { 1 } else { self.shape[last] };
        let lanes = self.lanes();
        let blocks = beside.div_ceil(lanes);
        let outer: Vec<usize> = (0..self.shape.len())
            .filter(|axis| *axis != self.along && (*axis != last || beside == 1))
            .collect();
        let rows: usize = outer.iter().map(|axis| self.shape[*axis]).product();
        let task = |task: usize, pool: Option<&Pool>| {
            let (mut row, block) = (task / blocks, task % blocks);
            let mut index = vec![0; self.shape.len()];
            for axis in outer.iter().rev() {
                index[*axis] = row % self.shape[*axis];
                row /= self.shape[*axis];
            }
            if beside > 1 {
                index[last] = block * lanes;
            }
            self.strips(arrays, &index, (beside - block * lanes).min(lanes), pool);
        };
        let (tasks, extent) = (rows * blocks, self.shape[self.along]);
        if rows * beside * (self.length + extent) < SMALL {
            (0..tasks).for_each(|number| task(number, None));
        } else if tasks < pool.threads() && extent >= LONG && self.can_be_cut() {
            (0..tasks).for_each(|number| task(number, Some(pool)));
        } else {
            pool.run(tasks, &|number| task(number, None));
        }
    }

    /// Whether a row may be combined from pieces: floats are added one after the other.
    fn can_be_cut(&self) -> bool {
        let of = self.operands[0].dtype;
        match self.what {
            What::Prefix { op, .. } => !(of.is_float() && matches!(op, Monoid::Sum | Monoid::Prod)),
            What::LastExtreme { .. } | What::Place { .. } => true,
            What::Exponentials | What::ByIndex { .. } => false,
        }
    }

    /// Lanes of one task.
    fn lanes(&self) -> usize {
        match self.what {
            What::ByIndex { .. } => (MAX_SUMS / self.shape[self.along].max(1)).clamp(1, LANES),
            _ => LANES,
        }
    }

    /// The rows that begin at an index, as many as lanes, by all threads of a pool if there
    /// is one.
    fn strips(&self, arrays: Arrays, index: &[usize], lanes: usize, pool: Option<&Pool>) {
        let last = self.shape.len() - 1;
        let strip = |place: &Place| {
            let offset: usize = index.iter().zip(&place.strides).map(|(at, stride)| at * stride).sum();
            let width = (place.dtype.bits() as usize).div_ceil(8);
            // SAFETY: the index lies within the shape.
            let start = unsafe { arrays.pointer(place.array).add(offset * width) };
            Strip { start, step: place.strides[self.along], lane: place.strides[last] }
        };
        let (out, first) = (strip(&self.out), strip(&self.operands[0]));
        let (extent, length, of) = (self.shape[self.along], self.length, self.operands[0].dtype);
        // SAFETY, for all of it: strips lie within their arrays, of these dtypes, and tasks
        // write disjoint parts of the result.
        unsafe {
            match self.what {
                What::Prefix { op, shift } => {
                    with_stored!(of, T => prefix::<T>(op, shift, (out, first), (extent, length, lanes), pool))
                }
                What::LastExtreme { op } => {
                    with_stored!(of, T => last_extreme::<T>(op, (out, first), (extent, lanes), pool))
                }
                What::Exponentials => {
                    let shifts = strip(&self.operands[1]);
                    with_stored!(of, T => exponentials::<T>(out, first, shifts, (extent, lanes)))
                }
                What::Place { descending } => {
                    with_stored!(of, T => places::<T>(out, first, descending, (extent, lanes), pool))
                }
                What::ByIndex { op, none } => {
                    let (values, sizes) = (strip(&self.operands[1]), (extent, length, lanes));
                    let of = self.operands[1].dtype;
                    with_stored!(of, T => by_index::<T>(op, none, out, (first, values), sizes))
                }
            }
        }
    }
}

/// # Safety
/// The strips have as many elements and lanes.
unsafe fn prefix<T: Stored>(
    op: Monoid,
    shift: i64,
    (out, x): (Strip, Strip),
    (extent, length, lanes): (usize, usize, usize),
    pool: Option<&Pool>,
) {
    let end = |at: usize| (at as i64).saturating_add(shift).clamp(0, length as i64) as usize;
    let start = vec![T::Wide::neutral(op, T::DTYPE); lanes];
    let go = |places: Range<usize>, mut sums: Vec<T::Wide>, written: bool| {
        let mut done = places.start.checked_sub(1).map_or(0, end);
        for at in places {
            let end = end(at);
            for (lane, sum) in sums.iter_mut().enumerate() {
                for k in done..end {
                    // SAFETY: the caller's.
                    *sum = sum.combine(op, unsafe { x.get::<T>(k, lane) });
                }
                if written {
                    // SAFETY: as above.
                    unsafe { out.set::<T>(at, lane, *sum) };
                }
            }
            done = done.max(end);
        }
        sums
    };
    let join = |sums: &mut Vec<T::Wide>, later: &Vec<T::Wide>| {
        sums.iter_mut().zip(later).for_each(|(sum, later)| *sum = sum.combine(op, *later));
    };
    in_pieces(extent, start, &go, &join, pool);
}

/// # Safety
/// The strips have as many elements and lanes; places are i64.
unsafe fn last_extreme<T: Stored>(
    op: Monoid,
    (out, x): (Strip, Strip),
    (extent, lanes): (usize, usize),
    pool: Option<&Pool>,
) {
    type Known<T> = Vec<(<T as Stored>::Wide, i64)>;
    let start: Known<T> = vec![(T::Wide::neutral(op, T::DTYPE), 0); lanes];
    // The value at a place, or the extreme of later ones and where that is.
    let met = |(extreme, place): &mut (T::Wide, i64), value: T::Wide, at: i64| {
        *extreme = extreme.combine(op, value);
        if value == *extreme || value.is_nan() {
            *place = at;
        }
    };
    let go = |places: Range<usize>, mut known: Known<T>, written: bool| {
        for at in places {
            for (lane, known) in known.iter_mut().enumerate() {
                // SAFETY: the caller's.
                met(known, unsafe { x.get::<T>(at, lane) }, at as i64);
                if written {
                    // SAFETY: as above.
                    unsafe { out.set::<i64>(at, lane, known.1) };
                }
            }
        }
        known
    };
    let join = |known: &mut Known<T>, later: &Known<T>| {
        known.iter_mut().zip(later).for_each(|(known, (extreme, place))| met(known, *extreme, *place));
    };
    in_pieces(extent, start, &go, &join, pool);
}

/// Sums of what is scaled by `exp(-s)`, and scaled anew where `s` is another.
///
/// # Safety
/// The strips have as many elements and lanes, of one float dtype.
unsafe fn exponentials<T: Stored>(out: Strip, x: Strip, s: Strip, (extent, lanes): (usize, usize)) {
    let mut known = vec![(0.0f64, 0.0f64); lanes];
    for at in 0..extent {
        for (lane, (sum, scale)) in known.iter_mut().enumerate() {
            // SAFETY: the caller's.
            let (x, s) = unsafe { (x.get::<T>(at, lane).float(), s.get::<T>(at, lane).float()) };
            // Nothing but zeros so far stays so, even where the scale falls from 0.
            if s != *scale && *sum != 0.0 {
                *sum *= double::exp(*scale - s);
            }
            *scale = s;
            *sum += double::exp(x - s);
            // SAFETY: as above.
            unsafe { out.set::<T>(at, lane, T::Wide::of_float(*sum)) };
        }
    }
}

/// # Safety
/// The strips have as many elements and lanes; indices are i64.
unsafe fn by_index<T: Stored>(
    op: Monoid,
    none: Constant,
    out: Strip,
    (index, x): (Strip, Strip),
    (extent, length, lanes): (usize, usize, usize),
) {
    let mut sums = vec![T::Wide::of_constant(none); extent * lanes];
    for k in 0..length {
        for lane in 0..lanes {
            // SAFETY: the caller's.
            let at = unsafe { index.get::<i64>(k, lane) };
            if let Some(sum) = usize::try_from(at).ok().filter(|at| *at < extent) {
                let sum = &mut sums[sum * lanes + lane];
                // SAFETY: as above.
                *sum = sum.combine(op, unsafe { x.get::<T>(k, lane) });
            }
        }
    }
    for (number, sum) in sums.into_iter().enumerate() {
        // SAFETY: as above.
        unsafe { out.set::<T>(number / lanes, number % lanes, sum) };
    }
}
