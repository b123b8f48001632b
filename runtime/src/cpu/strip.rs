//! Passes in `f32` by strips: a few vectors of lanes go through all steps of a pass, and
//! what one step gives the next stays in registers.
//!
//! A step takes the value before it and one operand from memory: an array, a row that the
//! thread keeps, or a kept value. What is the same for all lanes is spread out once a row.
//! The bits are those of the block interpreter, which runs what is left of a row and every
//! pass that has steps of other kinds.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use crate::loops::{ArrayId, Monoid};

use super::accumulate::RUNNING;
use super::block::{Block, Machine};
use super::check::sign_range;
use super::pass::{Accumulator, Address, Binary, Buffer, Into, Lane, Op, Pass, Reg, Slot, Src, Unary};
use super::table::elementary;
use super::vector::Vector;

/// Vectors of a strip.
const VECTORS: usize = 8;
/// Lanes that are asked for before they are read.
const AHEAD: usize = 512;
/// The most lanes of a strip.
pub const MOST: usize = 128;

/// What a step does with the value of the one before it, `x`, and its operand, `y`.
#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Load,
    /// The first time in a row: the lanes to come are asked for.
    Fetch,
    Store,
    /// Past the caches.
    Stream,
    Add,
    Mul,
    Sub,
    SubFrom,
    Div,
    DivInto,
    Maximum,
    MaximumOf,
    Minimum,
    MinimumOf,
    Test(Binary),
    Neg,
    Abs,
    Sqrt,
    Reciprocal,
    Table(Scalar),
    /// Where `x` is true the first operand, else the second.
    Select,
    /// Keeps the lanes at which an index compares to 0 so, and takes the others of the operand.
    Keep(Binary),
    /// `x` into running values.
    Reduce(Monoid),
    /// The operand into the first running values; `x` stays.
    ReduceFrom(Monoid),
}

#[derive(Clone, PartialEq, Debug)]
enum Operand {
    None,
    Kept(u16),
    Memory(Buffer, Address),
    Tile(u16),
    Uniform(u16),
    Running(u16),
}

#[derive(Clone, PartialEq, Debug)]
struct Step {
    what: What,
    operand: Operand,
    /// The second one of a selection.
    other: Operand,
    index: Option<Address>,
}

/// A value that is the same for all lanes.
#[derive(Clone, PartialEq, Debug)]
enum Uniform {
    Slot(Slot),
    Memory(Buffer, Address),
}

impl Uniform {
    /// # Safety
    /// The machine is in a row, whose addresses lie within their buffers.
    unsafe fn bits(&self, machine: &Machine) -> u32 {
        match self {
            Uniform::Slot(slot) => machine.slots[*slot as usize] as u32,
            Uniform::Memory(buffer, address) => {
                let start = machine.buffer(*buffer).cast::<u32>();
                // SAFETY: the caller's.
                unsafe { *start.offset(machine.address(address).0 as isize) }
            }
        }
    }
}

/// The steps of a pass.
#[derive(Clone, PartialEq, Debug)]
pub struct Strips {
    steps: Vec<Step>,
    uniforms: Vec<Uniform>,
    kept: usize,
}

impl Strips {
    /// Floats of the memory that a thread needs: kept values, uniform ones, and two more
    /// for functions of the table.
    pub fn room(&self) -> usize {
        (self.kept + self.uniforms.len() + 2) * MOST
    }
}

/// The steps of a pass with lanes along a dimension, if it has no others; `first` is that of
/// a row. What `streamed` says is large is written past the caches.
pub fn of_pass(
    pass: &Pass,
    first: bool,
    lane: usize,
    registers: usize,
    streamed: &dyn Fn(ArrayId) -> bool,
) -> Option<Strips> {
    let mut writer = Writer {
        pass,
        lane,
        places: vec![None; registers],
        signs: vec![None; registers],
        held: None,
        first,
        strips: Strips { steps: Vec::new(), uniforms: Vec::new(), kept: registers },
    };
    for at in 0..pass.code.len() {
        writer.op(at, streamed)?;
    }
    for (at, accumulator) in pass.accumulators.iter().enumerate() {
        writer.reduce(at as u16, accumulator)?;
    }
    Some(writer.strips)
}

struct Writer<'a> {
    pass: &'a Pass,
    lane: usize,
    /// Where the value of a register is, but for the one that is held.
    places: Vec<Option<Operand>>,
    /// Comparisons of indices that registers hold.
    signs: Vec<Option<(Binary, Address)>>,
    /// The register whose value the last step gave.
    held: Option<Reg>,
    /// Whether no pass before has read what this one does.
    first: bool,
    strips: Strips,
}

impl Writer<'_> {
    fn push(&mut self, what: What, operand: Operand) {
        self.strips.steps.push(Step { what, operand, other: Operand::None, index: None });
    }

    fn uniform(&mut self, uniform: Uniform) -> Operand {
        let known = self.strips.uniforms.iter().position(|known| *known == uniform);
        let at = known.unwrap_or_else(|| {
            self.strips.uniforms.push(uniform);
            self.strips.uniforms.len() - 1
        });
        Operand::Uniform(at as u16)
    }

    fn operand(&mut self, src: Src) -> Option<Operand> {
        match src {
            Src::Slot(slot) => Some(self.uniform(Uniform::Slot(slot))),
            Src::Reg(reg) => self.places[reg as usize].clone(),
        }
    }

    /// Makes the value of a source the one that is held.
    fn hold(&mut self, src: Src) -> Option<()> {
        if Some(src) != self.held.map(Src::Reg) {
            let operand = self.operand(src)?;
            let first = self.first && matches!(operand, Operand::Memory(Buffer::Array(_), _));
            self.push(if first { What::Fetch } else { What::Load }, operand);
            self.held = None;
        }
        Some(())
    }

    /// The last step gave the value of a register.
    fn made(&mut self, dst: Reg, at: usize) {
        self.replaced(dst);
        self.held = Some(dst);
        if self.is_read_later(dst, at) {
            self.push(What::Store, Operand::Kept(dst));
            self.places[dst as usize] = Some(Operand::Kept(dst));
        }
    }

    /// Another value is to come into a register.
    fn replaced(&mut self, dst: Reg) {
        self.held = self.held.filter(|held| *held != dst);
        self.places[dst as usize] = None;
        self.signs[dst as usize] = None;
    }

    /// Whether a value is read after another step took its place.
    fn is_read_later(&self, reg: Reg, at: usize) -> bool {
        let mut held = true;
        for (later, op) in self.pass.code.iter().enumerate().skip(at + 1) {
            let reads = sources(op).filter(|src| *src == Src::Reg(reg)).count();
            let own = Src::Reg(reg);
            let first = self.keeps(later);
            let chosen = matches!(op, Op::Select { a, b, .. } if (*a == own && !first) || *b == own);
            if reads > 0 && (!held || chosen || reads > 1) {
                return true;
            }
            match op {
                Op::Load { dst, .. } | Op::Tile { dst, .. } | Op::Sign { dst, .. } if *dst == reg => {
                    return false;
                }
                Op::Into { .. } | Op::Load { .. } | Op::Tile { .. } | Op::Sign { .. } => {}
                Op::Store { src, .. } => held &= *src == Src::Reg(reg),
                _ if destination(op) == Some(reg) => return false,
                _ => held = false,
            }
        }
        let read = |accumulator: &Accumulator| accumulator.src == Src::Reg(reg);
        let mut reduced = self.pass.accumulators.iter();
        if held { reduced.skip_while(|acc| read(acc)).any(read) } else { reduced.any(read) }
    }

    /// Whether an operation is a selection by a comparison of indices.
    fn keeps(&self, at: usize) -> bool {
        let Op::Select { cond: Src::Reg(cond), .. } = &self.pass.code[at] else { return false };
        let makes = |op: &&Op| match op {
            Op::Sign { dst, .. } | Op::Load { dst, .. } | Op::Tile { dst, .. } => dst == cond,
            op => destination(op) == Some(*cond),
        };
        matches!(self.pass.code[..at].iter().rev().find(makes), Some(Op::Sign { .. }))
    }

    fn memory(&mut self, buffer: Buffer, dtype: DType, address: &Address) -> Option<Operand> {
        let place = (buffer, address.clone());
        match (dtype, address.factors[self.lane]) {
            (DType::F32, 1) => Some(Operand::Memory(place.0, place.1)),
            (DType::F32, 0) => Some(self.uniform(Uniform::Memory(place.0, place.1))),
            _ => None,
        }
    }

    fn op(&mut self, at: usize, streamed: &dyn Fn(ArrayId) -> bool) -> Option<()> {
        match &self.pass.code[at] {
            Op::Into { .. } => {}
            Op::Load { dst, buffer, dtype, address, checks, .. } if checks.is_empty() => {
                let place = self.memory(*buffer, *dtype, address)?;
                self.replaced(*dst);
                self.places[*dst as usize] = Some(place);
            }
            Op::Tile { dst, number } => {
                self.replaced(*dst);
                self.places[*dst as usize] = Some(Operand::Tile(*number));
            }
            Op::Store { buffer, dtype: DType::F32, address, src } if address.factors[self.lane] == 1 => {
                self.hold(*src)?;
                let what = match buffer {
                    Buffer::Array(array) if streamed(*array) => What::Stream,
                    _ => What::Store,
                };
                self.push(what, Operand::Memory(*buffer, address.clone()));
            }
            Op::Sign { dst, fun, address } => {
                self.replaced(*dst);
                self.signs[*dst as usize] = Some((*fun, address.clone()));
            }
            Op::Unary { dst, lane: Lane::F32, fun, a } => {
                let what = match fun {
                    Unary::Neg => What::Neg,
                    Unary::Abs => What::Abs,
                    Unary::Sqrt => What::Sqrt,
                    Unary::Reciprocal => What::Reciprocal,
                    _ => return None,
                };
                self.hold(*a)?;
                self.push(what, Operand::None);
                self.made(*dst, at);
            }
            Op::Table { dst, fun, dtype: DType::F32, args, site: None, .. } if !fun.row().is_test() => {
                let [a] = args.as_slice() else { return None };
                self.hold(*a)?;
                self.push(What::Table(*fun), Operand::None);
                self.made(*dst, at);
            }
            Op::Binary { dst, lane: Lane::F32, fun, a, b } => {
                self.binary(*fun, *a, *b)?;
                self.made(*dst, at);
            }
            Op::Select { dst, lane: Lane::F32, cond: Src::Reg(cond), a, b } => {
                if let Some((fun, address)) = self.signs[*cond as usize].clone() {
                    let operand = self.operand(*b)?;
                    self.hold(*a)?;
                    let index = Some(address);
                    self.strips.steps.push(Step {
                        what: What::Keep(fun),
                        operand,
                        other: Operand::None,
                        index,
                    });
                } else {
                    let (operand, other) = (self.operand(*a)?, self.operand(*b)?);
                    self.hold(Src::Reg(*cond))?;
                    self.strips.steps.push(Step { what: What::Select, operand, other, index: None });
                }
                self.made(*dst, at);
            }
            _ => return None,
        }
        Some(())
    }

    fn binary(&mut self, fun: Binary, a: Src, b: Src) -> Option<()> {
        use Binary::*;
        let turned = a != b && Some(b) == self.held.map(Src::Reg);
        let what = match (fun, turned) {
            (Add, _) => What::Add,
            (Mul, _) => What::Mul,
            (Sub, false) => What::Sub,
            (Sub, true) => What::SubFrom,
            (Div, false) => What::Div,
            (Div, true) => What::DivInto,
            (Maximum, false) => What::Maximum,
            (Maximum, true) => What::MaximumOf,
            (Minimum, false) => What::Minimum,
            (Minimum, true) => What::MinimumOf,
            (Eq | Ne, _) => What::Test(fun),
            (Lt, true) | (Gt, false) => What::Test(Gt),
            (Gt, true) | (Lt, false) => What::Test(Lt),
            (Le, true) | (Ge, false) => What::Test(Ge),
            (Ge, true) | (Le, false) => What::Test(Le),
            (FloorDiv | And | Or | Xor, _) => return None,
        };
        let (x, y) = if turned { (b, a) } else { (a, b) };
        let operand = self.operand(y)?;
        self.hold(x)?;
        self.push(what, operand);
        Some(())
    }

    fn reduce(&mut self, at: u16, accumulator: &Accumulator) -> Option<()> {
        let Accumulator { op, dtype: DType::F32, src, into: Into::Slot(_) } = accumulator else {
            return None;
        };
        matches!(op, Monoid::Sum | Monoid::Prod | Monoid::Max | Monoid::Min).then_some(())?;
        if at == 0 && Some(*src) != self.held.map(Src::Reg) {
            let (what, operand, other) = (What::ReduceFrom(*op), self.operand(*src)?, Operand::Running(0));
            self.strips.steps.push(Step { what, operand, other, index: None });
            return Some(());
        }
        self.hold(*src)?;
        if let Src::Reg(reg) = src {
            self.held = Some(*reg);
        }
        self.push(What::Reduce(*op), Operand::Running(at));
        Some(())
    }
}

fn destination(op: &Op) -> Option<Reg> {
    match op {
        Op::Unary { dst, .. } | Op::Binary { dst, .. } | Op::Select { dst, .. } | Op::Table { dst, .. } => {
            Some(*dst)
        }
        _ => None,
    }
}

fn sources(op: &Op) -> impl Iterator<Item = Src> {
    let three = match op {
        Op::Store { src: a, .. } | Op::Unary { a, .. } => [Some(*a), None, None],
        Op::Binary { a, b, .. } => [Some(*a), Some(*b), None],
        Op::Select { cond, a, b, .. } => [Some(*cond), Some(*a), Some(*b)],
        Op::Table { args, .. } => [args.first().copied(), args.get(1).copied(), args.get(2).copied()],
        _ => [None; 3],
    };
    three.into_iter().flatten()
}

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
    pub fn new(strips: &'a Strips, room: *mut f32, running: &dyn Fn(u16) -> *mut u8) -> Ready<'a> {
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
    match super::vectors() {
        super::Vectors::Avx512 => 16 * VECTORS,
        _ => 8 * VECTORS,
    }
}

/// Runs steps over lanes, as many as whole strips have.
unsafe fn run_bound(fresh: &[(*mut f32, f32)], steps: &[Bound], lanes: usize, room: *mut f32) {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn avx512(fresh: &[(*mut f32, f32)], steps: &[Bound], lanes: usize, room: *mut f32) {
        // SAFETY: the caller's.
        unsafe { strips::<super::vector::Wide>(fresh, steps, lanes, room) }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn avx2(fresh: &[(*mut f32, f32)], steps: &[Bound], lanes: usize, room: *mut f32) {
        // SAFETY: the caller's.
        unsafe { strips::<super::vector::Half>(fresh, steps, lanes, room) }
    }
    // SAFETY: the features are there; the rest is the caller's.
    unsafe {
        match super::vectors() {
            #[cfg(target_arch = "x86_64")]
            super::Vectors::Avx512 => avx512(fresh, steps, lanes, room),
            #[cfg(target_arch = "x86_64")]
            super::Vectors::Avx2 => avx2(fresh, steps, lanes, room),
            _ => strips::<super::vector::Any>(fresh, steps, lanes, room),
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
        return unsafe { reduce_lanes::<V>(*op, at.pointer, lanes, other.pointer) };
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
    for part in 0..parts {
        // SAFETY: the room is larger.
        sums[part] = unsafe { V::load(running.add(part * V::LANES)) };
    }
    let mut x = [V::splat(0.0); VECTORS];
    let mut streams = false;
    for first in (0..lanes).step_by(V::LANES * VECTORS) {
        for step in steps {
            let at = step.at.pointer.wrapping_add(first & step.at.moves);
            // SAFETY, for all of it: the caller's places have the lanes of a strip.
            macro_rules! each {
                (|$x:ident, $y:ident| $value:expr) => {
                    for i in 0..VECTORS {
                        let ($x, $y) = (x[i], unsafe { V::load(at.add(i * V::LANES)) });
                        x[i] = $value;
                    }
                };
                (|$x:ident| $value:expr) => {
                    for i in 0..VECTORS {
                        let $x = x[i];
                        x[i] = $value;
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
                    for i in 0..VECTORS {
                        unsafe { x[i].store(at.add(i * V::LANES)) };
                    }
                }
                What::Stream => {
                    streams = true;
                    for i in 0..VECTORS {
                        unsafe { x[i].stream(at.add(i * V::LANES)) };
                    }
                }
                What::Add => each!(|x, y| x.add(y)),
                What::Mul => each!(|x, y| x.mul(y)),
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
                What::Select => {
                    let other = step.other.pointer.wrapping_add(first & step.other.moves);
                    for i in 0..VECTORS {
                        let (y, z) =
                            unsafe { (V::load(at.add(i * V::LANES)), V::load(other.add(i * V::LANES))) };
                        x[i] = x[i].select(y, z);
                    }
                }
                What::Table(Scalar::Exp) if V::HAS_EXP => each!(|x| x.exp()),
                What::Table(fun) => {
                    let count = V::LANES * VECTORS;
                    let into = room.wrapping_add(MOST);
                    for i in 0..VECTORS {
                        unsafe { x[i].store(room.add(i * V::LANES)) };
                    }
                    let from = Block { pointer: room.cast(), uniform: false };
                    unsafe { elementary(into.cast(), fun, DType::F32, &[from], count) };
                    for i in 0..VECTORS {
                        x[i] = unsafe { V::load(into.add(i * V::LANES)) };
                    }
                }
                What::Keep(fun) => {
                    let count = (V::LANES * VECTORS) as i64;
                    let (base, factor) = step.index;
                    let base = base.wrapping_add(factor.wrapping_mul(first as i64));
                    let (from, to, inside) = sign_range(fun, base, factor, count);
                    if from >= to || to - from == count {
                        if inside != (from < to) {
                            each!(|_x, y| y);
                        }
                        continue;
                    }
                    for i in 0..VECTORS {
                        let start = (i * V::LANES) as i64;
                        let y = unsafe { V::load(at.add(i * V::LANES)) };
                        let between = V::between(from - start, to - start);
                        x[i] = if inside { between.select(x[i], y) } else { between.select(y, x[i]) };
                    }
                }
                What::ReduceFrom(op) => {
                    let mut y = x;
                    for i in 0..VECTORS {
                        V::prefetch(at.wrapping_add(i * V::LANES + AHEAD));
                        y[i] = unsafe { V::load(at.add(i * V::LANES)) };
                    }
                    reduce(&y, op, &mut sums);
                }
                What::Reduce(op) if at == running => reduce(&x, op, &mut sums),
                What::Reduce(op) => unsafe {
                    let mut more = sums;
                    for part in 0..parts {
                        more[part] = V::load(at.add(part * V::LANES));
                    }
                    reduce(&x, op, &mut more);
                    for part in 0..parts {
                        more[part].store(at.add(part * V::LANES));
                    }
                },
            }
        }
    }
    for part in 0..parts {
        // SAFETY: as they were loaded.
        unsafe { sums[part].store(running.add(part * V::LANES)) };
    }
    if streams {
        // Other threads may read what was written.
        V::fence();
    }
}

/// Adds lanes of memory to 32 running values: what a pass does that does nothing else.
#[inline(always)]
unsafe fn reduce_lanes<V: Vector>(op: Monoid, from: *const f32, lanes: usize, running: *mut f32) {
    let parts = RUNNING / V::LANES;
    let mut sums = [V::splat(0.0); RUNNING / 8];
    for part in 0..parts {
        // SAFETY: the caller's running values are 32.
        sums[part] = unsafe { V::load(running.add(part * V::LANES)) };
    }
    macro_rules! each {
        ($op:expr) => {
            for first in (0..lanes).step_by(V::LANES * VECTORS) {
                let mut x = [V::splat(0.0); VECTORS];
                for i in 0..VECTORS {
                    let at = from.wrapping_add(first + i * V::LANES);
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
    for part in 0..parts {
        // SAFETY: as they were loaded.
        unsafe { sums[part].store(running.add(part * V::LANES)) };
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
