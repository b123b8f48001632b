//! Running strips: the steps of a pass bound to places in memory, and the loop over them.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use crate::cpu::accumulate::RUNNING;
use crate::cpu::block::{Block, Machine};
use crate::cpu::check::sign_range;
use crate::cpu::pass::Binary;
use crate::cpu::table::elementary;
use crate::cpu::vector::{self, Vector};
use crate::cpu::{Vectors, vectors};
use crate::loops::Monoid;

use super::{MOST, Operand, Step, Strips, What};

/// Vectors of a strip.
const VECTORS: usize = 8;
/// Lanes that are asked for before they are read.
const AHEAD: usize = 512;

/// A step with its operands as places in memory.
#[derive(Clone, Copy)]
struct Bound {
    what: What,
    at: Place,
    other: Place,
    /// The value of an index at the first lane, and what it grows by a lane.
    index: (i64, i64),
}

#[derive(Clone, Copy)]
struct Place {
    pointer: *mut f32,
    /// All bits where it moves on with the lanes, else none.
    moves: usize,
}

/// The steps of a pass in the memory of one thread.
pub struct Ready<'a> {
    strips: &'a Strips,
    room: *mut f32,
    bound: Vec<Bound>,
    /// The steps whose operands are other places in each row.
    moving: Vec<usize>,
    /// The bits of the uniform values that are spread out, and those still to be.
    spread: Vec<Option<u32>>,
    fresh: Vec<(*mut f32, f32)>,
}

impl<'a> Ready<'a> {
    /// `room` is as large as [`Strips::room`] says, `running` gives 32 running values.
    pub fn new(strips: &'a Strips, room: *mut f32, running: &dyn Fn(u32) -> *mut u8) -> Ready<'a> {
        let place = |operand: &Operand| match operand {
            Operand::Kept(at) => Place { pointer: room.wrapping_add(*at as usize * MOST), moves: 0 },
            Operand::Uniform(at) => {
                Place { pointer: room.wrapping_add((strips.kept + *at as usize) * MOST), moves: 0 }
            }
            Operand::Running(at) => Place { pointer: running(*at).cast(), moves: 0 },
            Operand::Memory(..) | Operand::Tile(_) => Place { pointer: room, moves: usize::MAX },
            Operand::None => Place { pointer: room, moves: 0 },
        };
        let bound = |step: &Step| Bound {
            what: step.what,
            at: place(&step.operand),
            other: place(&step.other),
            index: (0, 0),
        };
        let moves = |operand: &Operand| matches!(operand, Operand::Memory(..) | Operand::Tile(_));
        let moving = strips.steps.iter().enumerate();
        let moving =
            moving.filter(|(_, step)| step.index.is_some() || moves(&step.operand) || moves(&step.other));
        Ready {
            strips,
            room,
            bound: strips.steps.iter().map(bound).collect(),
            moving: moving.map(|(at, _)| at).collect(),
            spread: vec![None; strips.uniforms.len()],
            fresh: Vec::new(),
        }
    }

    /// Runs the strips of some lanes from where the machine is; returns how many lanes
    /// that were.
    ///
    /// # Safety
    /// As for [`super::block::run`]; what `new` was given is as it says.
    pub unsafe fn run(&mut self, machine: &Machine, lanes: usize) -> usize {
        let length = strip_lanes();
        if lanes < length {
            return 0;
        }
        self.fresh.clear();
        for (at, uniform) in self.strips.uniforms.iter().enumerate() {
            // SAFETY: the caller's.
            let bits = unsafe { uniform.bits(machine) };
            if self.spread[at] != Some(bits) {
                self.spread[at] = Some(bits);
                let block = self.room.wrapping_add((self.strips.kept + at) * MOST);
                self.fresh.push((block, f32::from_bits(bits)));
            }
        }
        for at in &self.moving {
            let (step, bound) = (&self.strips.steps[*at], &mut self.bound[*at]);
            for (operand, place) in [(&step.operand, &mut bound.at), (&step.other, &mut bound.other)] {
                match operand {
                    Operand::Memory(buffer, address) => {
                        let start = machine.buffer(*buffer).cast::<f32>();
                        place.pointer = start.wrapping_offset(machine.address(address).0 as isize);
                    }
                    Operand::Tile(number) => place.pointer = machine.tiles[*number as usize].cast(),
                    _ => {}
                }
            }
            if let Some(address) = &step.index {
                bound.index = machine.address(address);
            }
            if step.what == What::Stream {
                let aligned = bound.at.pointer.addr().is_multiple_of(64);
                bound.what = if aligned { What::Stream } else { What::Store };
            }
        }
        let own = self.room.wrapping_add((self.strips.kept + self.strips.uniforms.len()) * MOST);
        let done = lanes / length * length;
        // SAFETY: the caller's.
        unsafe { run_bound(&self.fresh, &self.bound, done, own) };
        done
    }
}

/// The lanes of a strip on this machine.
fn strip_lanes() -> usize {
    match vectors() {
        Vectors::Avx512 => 16 * VECTORS,
        _ => 8 * VECTORS,
    }
}

/// Runs steps over lanes, as many as whole strips have.
unsafe fn run_bound(fresh: &[(*mut f32, f32)], steps: &[Bound], lanes: usize, room: *mut f32) {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn avx512(fresh: &[(*mut f32, f32)], steps: &[Bound], lanes: usize, room: *mut f32) {
        // SAFETY: the caller's.
        unsafe { strips::<vector::Wide>(fresh, steps, lanes, room) }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn avx2(fresh: &[(*mut f32, f32)], steps: &[Bound], lanes: usize, room: *mut f32) {
        // SAFETY: the caller's.
        unsafe { strips::<vector::Half>(fresh, steps, lanes, room) }
    }
    // SAFETY: the features are there; the rest is the caller's.
    unsafe {
        match vectors() {
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512 => avx512(fresh, steps, lanes, room),
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2 => avx2(fresh, steps, lanes, room),
            _ => strips::<vector::Any>(fresh, steps, lanes, room),
        }
    }
}

#[inline(always)]
unsafe fn strips<V: Vector>(fresh: &[(*mut f32, f32)], steps: &[Bound], lanes: usize, room: *mut f32) {
    for (block, value) in fresh {
        for i in 0..VECTORS {
            // SAFETY: the caller's block holds a strip.
            unsafe { V::splat(*value).store(block.add(i * V::LANES)) };
        }
    }
    if let [Bound { what: What::ReduceFrom(op), at, other, .. }] = steps {
        // SAFETY: the caller's.
        return unsafe { reduce_lanes::<V>(*op, *at, lanes, other.pointer) };
    }
    // The running values of the first reduction stay in registers.
    let mut reduced = steps.iter().filter_map(|step| match step.what {
        What::Reduce(_) => Some(step.at.pointer),
        What::ReduceFrom(_) => Some(step.other.pointer),
        _ => None,
    });
    let running = reduced.next().unwrap_or(room);
    let mut sums = [V::splat(0.0); RUNNING / 8];
    let parts = RUNNING / V::LANES;
    for (part, sum) in sums[..parts].iter_mut().enumerate() {
        // SAFETY: the room is larger.
        *sum = unsafe { V::load(running.add(part * V::LANES)) };
    }
    let mut x = [V::splat(0.0); VECTORS];
    let mut streams = false;
    for first in (0..lanes).step_by(V::LANES * VECTORS) {
        for step in steps {
            let at = step.at.pointer.wrapping_add(first & step.at.moves);
            // SAFETY, for all of it: the caller's places have the lanes of a strip.
            macro_rules! each {
                (|$x:ident, $y:ident| $value:expr) => {
                    for (i, lanes) in x.iter_mut().enumerate() {
                        let ($x, $y) = (*lanes, unsafe { V::load(at.add(i * V::LANES)) });
                        *lanes = $value;
                    }
                };
                (|$x:ident| $value:expr) => {
                    for lanes in &mut x {
                        let $x = *lanes;
                        *lanes = $value;
                    }
                };
            }
            match step.what {
                What::Load => each!(|_x, y| y),
                What::Fetch => {
                    for i in 0..VECTORS {
                        V::prefetch(at.wrapping_add(i * V::LANES + AHEAD));
                    }
                    each!(|_x, y| y);
                }
                What::Store => {
                    for (i, lanes) in x.iter().enumerate() {
                        unsafe { lanes.store(at.add(i * V::LANES)) };
                    }
                }
                What::Stream => {
                    streams = true;
                    for (i, lanes) in x.iter().enumerate() {
                        unsafe { lanes.stream(at.add(i * V::LANES)) };
                    }
                }
                What::Add => each!(|x, y| x.add(y)),
                What::Mul => each!(|x, y| x.mul(y)),
                What::Square => each!(|x| x.mul(x)),
                What::Sub => each!(|x, y| x.sub(y)),
                What::SubFrom => each!(|x, y| y.sub(x)),
                What::Div => each!(|x, y| x.div(y)),
                What::DivInto => each!(|x, y| y.div(x)),
                What::Maximum => each!(|x, y| x.maximum(y)),
                What::MaximumOf => each!(|x, y| y.maximum(x)),
                What::Minimum => each!(|x, y| x.minimum(y)),
                What::MinimumOf => each!(|x, y| y.minimum(x)),
                What::Test(fun) => match fun {
                    Binary::Eq => each!(|x, y| x.eq(y)),
                    Binary::Ne => each!(|x, y| x.ne(y)),
                    Binary::Lt => each!(|x, y| x.lt(y)),
                    Binary::Le => each!(|x, y| x.le(y)),
                    Binary::Gt => each!(|x, y| y.lt(x)),
                    _ => each!(|x, y| y.le(x)),
                },
                What::Neg => each!(|x| x.neg()),
                What::Abs => each!(|x| x.abs()),
                What::Sqrt => each!(|x| x.sqrt()),
                What::Reciprocal => each!(|x| V::splat(1.0).div(x)),
                What::MulAdd(product, addend) | What::AddProduct(product, addend) => {
                    let other = step.other.pointer.wrapping_add(first & step.other.moves);
                    for (i, lanes) in x.iter_mut().enumerate() {
                        let (y, z) =
                            unsafe { (V::load(at.add(i * V::LANES)), V::load(other.add(i * V::LANES))) };
                        let by_x = matches!(step.what, What::MulAdd(..));
                        let (a, b, c) = if by_x { (*lanes, y, z) } else { (y, z, *lanes) };
                        let (a, c) = (if product { a.neg() } else { a }, if addend { c.neg() } else { c });
                        *lanes = a.mul_add(b, c);
                    }
                }
                What::Select => {
                    let other = step.other.pointer.wrapping_add(first & step.other.moves);
                    for (i, lanes) in x.iter_mut().enumerate() {
                        let (y, z) =
                            unsafe { (V::load(at.add(i * V::LANES)), V::load(other.add(i * V::LANES))) };
                        *lanes = lanes.select(y, z);
                    }
                }
                What::Table(Scalar::Exp) if V::HAS_EXP => each!(|x| x.exp()),
                What::Table(fun) => unsafe { table(&mut x, fun, room) },
                What::Keep(fun) => unsafe { keep(&mut x, at, fun, step.index, first) },
                What::ReduceFrom(op) => {
                    let mut y = x;
                    for (i, lanes) in y.iter_mut().enumerate() {
                        V::prefetch(at.wrapping_add(i * V::LANES + AHEAD));
                        *lanes = unsafe { V::load(at.add(i * V::LANES)) };
                    }
                    reduce(&y, op, &mut sums);
                }
                What::Reduce(op) if at == running => reduce(&x, op, &mut sums),
                What::Reduce(op) => unsafe {
                    let mut more = sums;
                    for (part, sum) in more[..parts].iter_mut().enumerate() {
                        *sum = V::load(at.add(part * V::LANES));
                    }
                    reduce(&x, op, &mut more);
                    for (part, sum) in more[..parts].iter().enumerate() {
                        sum.store(at.add(part * V::LANES));
                    }
                },
            }
        }
    }
    for (part, sum) in sums[..parts].iter().enumerate() {
        // SAFETY: as they were loaded.
        unsafe { sum.store(running.add(part * V::LANES)) };
    }
    if streams {
        // Other threads may read what was written.
        V::fence();
    }
}

/// A function of the table, by way of memory.
#[inline(always)]
unsafe fn table<V: Vector>(x: &mut [V; VECTORS], fun: Scalar, room: *mut f32) {
    let into = room.wrapping_add(MOST);
    let from = Block { pointer: room.cast(), uniform: false };
    // SAFETY: the caller's room has two strips.
    unsafe {
        for (i, lanes) in x.iter().enumerate() {
            lanes.store(room.add(i * V::LANES));
        }
        elementary(into.cast(), fun, DType::F32, &[from], V::LANES * VECTORS);
        for (i, lanes) in x.iter_mut().enumerate() {
            *lanes = V::load(into.add(i * V::LANES));
        }
    }
}

/// Takes the lanes of `at` where an index does not compare to 0 as asked; `first` is the
/// first lane of the strip.
#[inline(always)]
unsafe fn keep<V: Vector>(
    x: &mut [V; VECTORS],
    at: *const f32,
    fun: Binary,
    (base, factor): (i64, i64),
    first: usize,
) {
    let count = (V::LANES * VECTORS) as i64;
    let base = base.wrapping_add(factor.wrapping_mul(first as i64));
    let (from, to, inside) = sign_range(fun, base, factor, count);
    let even = from >= to || to - from == count;
    if even && inside == (from < to) {
        return;
    }
    for (i, lanes) in x.iter_mut().enumerate() {
        // SAFETY: the caller's.
        let y = unsafe { V::load(at.add(i * V::LANES)) };
        let start = (i * V::LANES) as i64;
        *lanes = match (even, inside) {
            (true, _) => y,
            (false, true) => V::between(from - start, to - start).select(*lanes, y),
            (false, false) => V::between(from - start, to - start).select(y, *lanes),
        };
    }
}

/// Adds the lanes of a place to 32 running values: what a pass does that does nothing else.
#[inline(always)]
unsafe fn reduce_lanes<V: Vector>(op: Monoid, from: Place, lanes: usize, running: *mut f32) {
    let parts = RUNNING / V::LANES;
    let mut sums = [V::splat(0.0); RUNNING / 8];
    for (part, sum) in sums[..parts].iter_mut().enumerate() {
        // SAFETY: the caller's running values are 32.
        *sum = unsafe { V::load(running.add(part * V::LANES)) };
    }
    macro_rules! each {
        ($op:expr) => {
            for first in (0..lanes).step_by(V::LANES * VECTORS) {
                let mut x = [V::splat(0.0); VECTORS];
                for i in 0..VECTORS {
                    let at = from.pointer.wrapping_add((first & from.moves) + i * V::LANES);
                    V::prefetch(at.wrapping_add(AHEAD));
                    // SAFETY: the caller's.
                    x[i] = unsafe { V::load(at) };
                }
                reduce(&x, $op, &mut sums);
            }
        };
    }
    // A loop for each, so that nothing is asked within.
    match op {
        Monoid::Sum => each!(Monoid::Sum),
        Monoid::Prod => each!(Monoid::Prod),
        Monoid::Max => each!(Monoid::Max),
        _ => each!(Monoid::Min),
    }
    for (part, sum) in sums[..parts].iter().enumerate() {
        // SAFETY: as they were loaded.
        unsafe { sum.store(running.add(part * V::LANES)) };
    }
}

/// Adds a strip to 32 running values, in the order of its lanes.
#[inline(always)]
fn reduce<V: Vector>(x: &[V; VECTORS], op: Monoid, running: &mut [V; RUNNING / 8]) {
    let parts = RUNNING / V::LANES;
    macro_rules! each {
        (|$sum:ident, $x:ident| $value:expr) => {
            for i in 0..VECTORS {
                let ($sum, $x) = (running[i % parts], x[i]);
                running[i % parts] = $value;
            }
        };
    }
    match op {
        Monoid::Sum => each!(|sum, x| sum.add(x)),
        Monoid::Prod => each!(|sum, x| sum.mul(x)),
        Monoid::Max if V::all_numbers(x) => each!(|sum, x| sum.greater(x)),
        Monoid::Max => each!(|sum, x| sum.later_maximum(x)),
        _ => each!(|sum, x| sum.later_minimum(x)),
    }
}
