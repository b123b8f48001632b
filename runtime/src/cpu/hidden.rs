//! Lanes that a mask hides: where `if j <= i { x[i, j] } else { -inf }` takes its other
//! side from some lane on, all lanes from there on are alike, so that one stands for all.
//!
//! If that one gives a maximum and a sum nothing, and the result a zero, the others need
//! not be computed. A row in which it gives more is run as a whole.

use crate::loops::{ArrayId, Monoid};

use super::accumulate::neutral;
use super::block::Machine;
use super::check::sign_range;
use super::pass::{Accumulator, Address, Binary, Buffer, Into, Nest, Op, Pass, Src};

/// What must hold of the lanes from some on, and what the one that stands for them stores.
#[derive(Clone, Debug)]
pub struct Hidden {
    guards: Vec<Guard>,
    /// Of each pass.
    pub stored: Vec<Vec<Stored>>,
}

/// A comparison of indices that must come out the same at all hidden lanes.
#[derive(Clone, PartialEq, Debug)]
struct Guard {
    fun: Binary,
    address: Address,
    holds: bool,
}

#[derive(Clone, Debug)]
pub struct Stored {
    pub buffer: Buffer,
    pub address: Address,
    /// Whether the pass adds it up: then it must be zero where it is hidden.
    pub summed: bool,
}

/// What is known of a register at hidden lanes.
#[derive(Clone)]
enum Tail {
    Varies,
    /// The same at all of them.
    Same,
    Constant(u64),
    /// A comparison that may change among them.
    Sign(Binary, Address),
}

impl Hidden {
    /// What hides lanes of the passes, if all that differs among hidden lanes is the array
    /// `read`, and all they store is rows and the array `written`.
    pub fn of_nest(nest: &Nest, read: ArrayId, written: ArrayId) -> Option<Hidden> {
        if nest.batched.is_some() {
            return None;
        }
        let mut hidden = Hidden { guards: Vec::new(), stored: Vec::new() };
        for pass in &nest.passes {
            let stored = hidden.pass(nest, pass, read, written)?;
            hidden.stored.push(stored);
        }
        (!hidden.guards.is_empty()).then_some(hidden)
    }

    fn pass(&mut self, nest: &Nest, pass: &Pass, read: ArrayId, written: ArrayId) -> Option<Vec<Stored>> {
        let mut tails = vec![Tail::Varies; nest.registers];
        // The register that each stored value is in.
        let mut stored: Vec<(Src, Stored)> = Vec::new();
        for op in &pass.code {
            let of = |src: &Src| match src {
                Src::Reg(reg) => tails[*reg as usize].clone(),
                Src::Slot(slot) => constant(nest, *slot).map_or(Tail::Same, Tail::Constant),
            };
            let all = |args: &[Src]| {
                let same = args.iter().all(|arg| matches!(of(arg), Tail::Same | Tail::Constant(_)));
                if same { Tail::Same } else { Tail::Varies }
            };
            let (dst, tail) = match op {
                Op::Into { .. } => continue,
                Op::Load { dst, buffer: Buffer::Row(_), .. } => (*dst, Tail::Same),
                Op::Load { dst, buffer: Buffer::Array(array), address, checks, .. } if checks.is_empty() => {
                    let once = address.factors[nest.lane] == 0 && ![read, written].contains(array);
                    (*dst, if once { Tail::Same } else { Tail::Varies })
                }
                Op::Sign { dst, fun, address } if address.slots.is_empty() => {
                    let same = address.factors[nest.lane] == 0;
                    (*dst, if same { Tail::Same } else { Tail::Sign(*fun, address.clone()) })
                }
                Op::Select { dst, cond, a, b, .. } => (*dst, self.chosen(&of(cond), &of(a), &of(b))),
                Op::Unary { dst, a, .. } | Op::Cast { dst, a, .. } | Op::Narrow { dst, a, .. } => {
                    (*dst, all(&[*a]))
                }
                Op::Binary { dst, a, b, .. } => (*dst, all(&[*a, *b])),
                Op::MulAdd { dst, factors, addend, .. } => (*dst, all(&[factors.0, factors.1, *addend])),
                Op::Table { dst, args, site: None, .. } => (*dst, all(args)),
                Op::Store { buffer, address, src, .. } => {
                    let own = matches!(buffer, Buffer::Row(_)) || *buffer == Buffer::Array(written);
                    let plain = address.factors[nest.lane] == 1 && address.slots.is_empty();
                    let same = matches!(all(&[*src]), Tail::Same);
                    // What is reduced may have to be run again, and must be there still.
                    let again = pass.accumulators.is_empty() || matches!(buffer, Buffer::Row(_));
                    if !own || !plain || !same || !again {
                        return None;
                    }
                    let value = Stored { buffer: *buffer, address: address.clone(), summed: false };
                    stored.push((*src, value));
                    continue;
                }
                _ => return None,
            };
            stored.iter_mut().filter(|(src, _)| *src == Src::Reg(dst)).for_each(|(src, _)| *src = NOWHERE);
            tails[dst as usize] = tail;
        }
        for Accumulator { op, dtype, src, into } in &pass.accumulators {
            let Into::Slot(_) = into else { return None };
            match op {
                Monoid::Sum if dtype.is_float() => {
                    let (_, value) = stored.iter_mut().find(|(known, _)| known == src)?;
                    value.summed = true;
                }
                Monoid::Max | Monoid::Min => {
                    let Src::Reg(reg) = src else { return None };
                    let Tail::Constant(bits) = tails[*reg as usize] else { return None };
                    (bits == neutral(*op, *dtype)).then_some(())?;
                }
                _ => return None,
            }
        }
        Some(stored.into_iter().map(|(_, value)| value).collect())
    }

    /// The side of a selection that hidden lanes take, if only that one is alike.
    fn chosen(&mut self, cond: &Tail, a: &Tail, b: &Tail) -> Tail {
        let alike = |tail: &Tail| matches!(tail, Tail::Same | Tail::Constant(_));
        match cond {
            Tail::Same | Tail::Constant(_) if alike(a) && alike(b) => Tail::Same,
            Tail::Sign(fun, address) if alike(a) != alike(b) => {
                let guard = Guard { fun: *fun, address: address.clone(), holds: alike(a) };
                if !self.guards.contains(&guard) {
                    self.guards.push(guard);
                }
                if alike(a) { a.clone() } else { b.clone() }
            }
            _ => Tail::Varies,
        }
    }

    /// Whether the lanes from the machine's index on, `count` of them, are hidden.
    pub fn hides(&self, machine: &Machine, count: i64) -> bool {
        self.guards.iter().all(|guard| {
            let (base, factor) = machine.address(&guard.address);
            let (from, to, inside) = sign_range(guard.fun, base, factor, count);
            let (none, all) = (from >= to, from == 0 && to == count);
            (all && inside == guard.holds) || (none && inside != guard.holds)
        })
    }
}

/// In place of a register that has another value by now.
const NOWHERE: Src = Src::Slot(u32::MAX);

/// The bits of a slot that no row changes.
fn constant(nest: &Nest, slot: u32) -> Option<u64> {
    let code = nest.passes.iter().flat_map(|pass| pass.before.iter().chain(&pass.code)).chain(&nest.after);
    let saved = code.clone().any(|op| matches!(op, Op::Save { slot: known, .. } if *known == slot));
    let reduced = nest.passes.iter().flat_map(|pass| &pass.accumulators);
    let reduced = reduced.clone().any(|accumulator| accumulator.into == Into::Slot(slot));
    (!saved && !reduced).then(|| nest.slots[slot as usize])
}
