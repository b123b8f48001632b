//! Passes in `f32` by strips: a few vectors of lanes go through all steps of a pass, and
//! what one step gives the next stays in registers.
//!
//! A step takes the value before it and one operand from memory: an array, a row that the
//! thread keeps, or a kept value. What is the same for all lanes is spread out once a row.
//! The bits are those of the block interpreter, which runs what is left of a row and every
//! pass that has steps of other kinds.

mod run;

use std::collections::BTreeSet;

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use crate::loops::{ArrayId, Monoid, Nests};

use super::block::Machine;
use super::pass::{Accumulator, Address, Binary, Buffer, Into, Lane, Nest, Op, Pass, Reg, Slot, Src, Unary};

pub use run::Ready;

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
    Square,
    Sub,
    SubFrom,
    Div,
    DivInto,
    Maximum,
    MaximumOf,
    Minimum,
    MinimumOf,
    /// `x y + z`, rounded once, with the product, or `z`, negated.
    MulAdd(bool, bool),
    /// `y z + x`, likewise.
    AddProduct(bool, bool),
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
    Kept(u32),
    Memory(Buffer, Address),
    Tile(u32),
    Uniform(u32),
    Running(u32),
}

#[derive(Clone, PartialEq, Debug)]
struct Step {
    what: What,
    operand: Operand,
    /// The second one, `z`.
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

/// Bytes of all arrays of a nest that do not fit the caches together, and the least share
/// of them, as a divisor, of one that is written past the caches.
const STREAMED: (usize, usize) = (40 << 20, 8);

/// Gives the passes of a nest their strips.
pub fn prepare(nests: &Nests, nest: &mut Nest) {
    let streamed = streamed(nests, nest);
    for (at, pass) in nest.passes.iter_mut().enumerate() {
        pass.strips = of_pass(pass, at == 0, nest.lane, nest.registers, &|array| streamed.contains(&array));
    }
}

/// The arrays that are written past the caches: they do not fit there beside what they are
/// made of, and the nest does not read them again.
fn streamed(nests: &Nests, nest: &Nest) -> Vec<ArrayId> {
    let tiles = nest.tiled.iter().flat_map(|tiled| &tiled.loads);
    let mut read: BTreeSet<ArrayId> = tiles.filter_map(|(buffer, ..)| array_of(buffer)).collect();
    let mut written = BTreeSet::new();
    let code = nest.passes.iter().flat_map(|pass| pass.before.iter().chain(&pass.code)).chain(&nest.after);
    for op in code {
        match op {
            Op::Load { buffer, .. } | Op::Gather { buffer, .. } => read.extend(array_of(buffer)),
            Op::Store { buffer, .. } => written.extend(array_of(buffer)),
            _ => {}
        }
    }
    let bytes = |array: &ArrayId| nests.decl(*array).bytes();
    let all: usize = read.union(&written).map(bytes).sum();
    let large = |array: &ArrayId| all >= STREAMED.0 && bytes(array) >= all / STREAMED.1;
    written.difference(&read).copied().filter(large).collect()
}

fn array_of(buffer: &Buffer) -> Option<ArrayId> {
    match buffer {
        Buffer::Array(array) => Some(*array),
        Buffer::Row(_) => None,
    }
}

/// The steps of a pass with lanes along a dimension, if it has no others; `first` is that of
/// a row. What `streamed` says is large is written past the caches.
fn of_pass(
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
        writer.reduce(at as u32, accumulator)?;
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
        Operand::Uniform(at as u32)
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
            if reads > 0 && (!held || chosen || reads > 1 && !is_square(op)) {
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
            Op::Binary { dst, lane: Lane::F32, a, .. } if is_square(&self.pass.code[at]) => {
                self.hold(*a)?;
                self.push(What::Square, Operand::None);
                self.made(*dst, at);
            }
            Op::Binary { dst, lane: Lane::F32, fun, a, b } => {
                self.binary(*fun, *a, *b)?;
                self.made(*dst, at);
            }
            Op::MulAdd { dst, lane: Lane::F32, factors: (a, b), addend, minus } => {
                let held = self.held.map(Src::Reg);
                let (what, x, y, z) = if Some(*addend) == held && *a != *addend && *b != *addend {
                    (What::AddProduct(minus.0, minus.1), addend, a, b)
                } else if Some(*b) == held && a != b {
                    (What::MulAdd(minus.0, minus.1), b, a, addend)
                } else {
                    (What::MulAdd(minus.0, minus.1), a, b, addend)
                };
                let (operand, other) = (self.operand(*y)?, self.operand(*z)?);
                self.hold(*x)?;
                self.strips.steps.push(Step { what, operand, other, index: None });
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

    fn reduce(&mut self, at: u32, accumulator: &Accumulator) -> Option<()> {
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

fn is_square(op: &Op) -> bool {
    matches!(op, Op::Binary { lane: Lane::F32, fun: Binary::Mul, a, b, .. } if a == b)
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
        Op::MulAdd { factors, addend, .. } => [Some(factors.0), Some(factors.1), Some(*addend)],
        Op::Select { cond, a, b, .. } => [Some(*cond), Some(*a), Some(*b)],
        Op::Table { args, .. } => [args.first().copied(), args.get(1).copied(), args.get(2).copied()],
        _ => [None; 3],
    };
    three.into_iter().flatten()
}
