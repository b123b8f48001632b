//! Dimensions that are one, and registers that serve again.

use crate::loops::ArrayId;
use rustc_hash::FxHashMap;

use super::access::is_plain;
use super::pass::{Accumulator, Address, Buffer, Extent, Into, Lane, Nest, Op, Reg, Slot, Src, Tiled};

/// Joins dimensions that every address runs through as through one.
pub fn merge_dims(nest: &mut Nest) {
    let mut at = 0;
    while at + 1 < nest.dims.len() {
        // Rows stay rows, and lanes of columns stay lanes. Where nothing is reduced, the
        // lanes may take the rows in.
        let plain = nest.passes.len() == 1 && nest.passes[0].accumulators.is_empty() && nest.after.is_empty();
        let free = plain && nest.passes[0].before.is_empty();
        let across = at + 1 == nest.outer && !free;
        let lanes = nest.lane != nest.dims.len() - 1 && (at == nest.lane || at + 1 == nest.lane);
        let (Extent::Constant(first), Extent::Constant(second)) = (&nest.dims[at], &nest.dims[at + 1]) else {
            at += 1;
            continue;
        };
        let (first, second) = (*first, *second);
        let mut fits = !across && !lanes && first.checked_mul(second).is_some();
        each_address(nest, &mut |address| {
            fits &= address.factors[at] == address.factors[at + 1].wrapping_mul(second);
        });
        if !fits {
            at += 1;
            continue;
        }
        each_address(nest, &mut |address| {
            address.factors.remove(at);
        });
        nest.dims[at + 1] = Extent::Constant(first * second);
        nest.dims.remove(at);
        nest.outer -= usize::from(at < nest.outer);
        nest.lane -= usize::from(at < nest.lane);
        at = at.saturating_sub(1);
    }
}

fn each_address(nest: &mut Nest, visit: &mut dyn FnMut(&mut Address)) {
    for dim in &mut nest.dims {
        if let Extent::Ragged(address) = dim {
            visit(address);
        }
    }
    for pass in &mut nest.passes {
        pass.before.iter_mut().chain(&mut pass.code).for_each(|op| addresses(op, visit));
        for accumulator in &mut pass.accumulators {
            if let Into::Array { address, .. } = &mut accumulator.into {
                visit(address);
            }
        }
    }
    nest.after.iter_mut().for_each(|op| addresses(op, visit));
}

fn addresses(op: &mut Op, visit: &mut dyn FnMut(&mut Address)) {
    match op {
        Op::Index { address, .. }
        | Op::Sign { address, .. }
        | Op::Into { address, .. }
        | Op::Store { address, .. } => {
            visit(address);
        }
        Op::Load { address, checks, .. } => {
            visit(address);
            checks.iter_mut().for_each(|check| visit(&mut check.index));
        }
        _ => {}
    }
}

/// Results that may be written over an array: it is read only at the place that is
/// written, and the write is the last step that the row, or the block, takes.
pub fn in_place(nest: &Nest) -> Vec<(ArrayId, ArrayId)> {
    let mut pairs = Vec::new();
    for (at, pass) in nest.passes.iter().enumerate() {
        let Some(Op::Store { buffer: Buffer::Array(new), dtype, address, .. }) = pass.code.last() else {
            continue;
        };
        let later = nest.passes[at + 1..].iter().flat_map(|pass| pass.before.iter().chain(&pass.code));
        let later: Vec<&Op> = later.chain(&nest.after).collect();
        for op in &pass.code {
            let Op::Load { dst, buffer: Buffer::Array(old), .. } = op else { continue };
            // What is reduced is looked at after the write.
            if pass.accumulators.iter().any(|accumulator| accumulator.src == Src::Reg(*dst)) {
                continue;
            }
            let same = |op: &Op| match op {
                Op::Load { buffer, dtype: of, address: from, checks, .. }
                    if *buffer == Buffer::Array(*old) =>
                {
                    of.bits() == dtype.bits() && from == address && checks.is_empty()
                }
                Op::Gather { buffer, .. } => *buffer != Buffer::Array(*old),
                _ => true,
            };
            let unread = |op: &&Op| match op {
                Op::Load { buffer, .. } | Op::Gather { buffer, .. } => *buffer != Buffer::Array(*old),
                _ => true,
            };
            // What is read once a row is read at another place than the block.
            let before = nest.passes.iter().flat_map(|pass| &pass.before).collect::<Vec<_>>();
            let earlier = nest.passes[..=at].iter().flat_map(|pass| &pass.code);
            let fits = earlier.clone().all(same) && later.iter().all(unread) && before.iter().all(unread);
            if fits && new != old && !pairs.contains(&(*new, *old)) {
                pairs.push((*new, *old));
            }
        }
    }
    pairs
}

/// Lets what is stored be written there at once, where it is the last thing done to it:
/// rows that a thread keeps, and results, which share their memory with nothing.
pub fn direct(nest: &mut Nest, results: &[ArrayId]) {
    let lane = nest.lane;
    for pass in &mut nest.passes {
        let mut at = 0;
        while at < pass.code.len() {
            let Some(into) = stored_plainly(&pass.code[at], lane, results) else {
                at += 1;
                continue;
            };
            let Op::Into { dst, .. } = into else { unreachable!("invariant: a place to write to") };
            let made = pass.code[..at].iter().position(|op| makes(op) == Some(dst));
            let again = pass
                .code
                .iter()
                .filter(|op| matches!(op, Op::Into { dst: known, .. } if *known == dst))
                .count();
            if let (Some(made), 0) = (made, again) {
                pass.code.insert(made, into);
                at += 1;
            }
            at += 1;
        }
    }
}

fn stored_plainly(op: &Op, lane: usize, results: &[ArrayId]) -> Option<Op> {
    let Op::Store { buffer, dtype, address, src: Src::Reg(reg) } = op else { return None };
    let own = match buffer {
        Buffer::Array(array) => results.contains(array),
        Buffer::Row(_) => true,
    };
    let into = || Op::Into { dst: *reg, buffer: *buffer, dtype: *dtype, address: address.clone() };
    (own && is_plain(*dtype) && address.factors[lane] == 1).then(into)
}

/// The register that a step computes lanes of.
fn makes(op: &Op) -> Option<Reg> {
    match op {
        Op::Unary { dst, .. }
        | Op::Binary { dst, .. }
        | Op::MulAdd { dst, .. }
        | Op::Select { dst, .. }
        | Op::Cast { dst, .. }
        | Op::Narrow { dst, .. }
        | Op::Table { dst, .. } => Some(*dst),
        _ => None,
    }
}

/// Turns loads that jump from lane to lane into loads of tiles, where the kernel is one
/// pass without reductions.
pub fn tile(nest: &mut Nest) {
    let plain = nest.passes.len() == 1 && nest.passes[0].accumulators.is_empty() && nest.after.is_empty();
    let long = |dim: &Extent| matches!(dim, Extent::Constant(extent) if *extent >= 16);
    if !plain || !nest.passes[0].before.is_empty() || !long(&nest.dims[nest.lane]) {
        return;
    }
    let jumps = |op: &Op, dim: usize| match op {
        Op::Load { address, checks, .. } => {
            address.factors[nest.lane].abs() > 1 && address.factors[dim] == 1 && checks.is_empty()
        }
        _ => false,
    };
    let dims = (0..nest.outer).filter(|dim| long(&nest.dims[*dim]));
    let Some(dim) = dims.max_by_key(|dim| nest.passes[0].code.iter().filter(|op| jumps(op, *dim)).count())
    else {
        return;
    };
    let mut loads = Vec::new();
    let (code, lane) = (&mut nest.passes[0].code, nest.lane);
    for op in code.iter_mut() {
        let Op::Load { dst, buffer, dtype, address, checks, .. } = op else { continue };
        if address.factors[lane].abs() > 1 && address.factors[dim] == 1 && checks.is_empty() {
            loads.push((*buffer, *dtype, address.clone()));
            *op = Op::Tile { dst: *dst, number: loads.len() as u32 - 1 };
        }
    }
    if !loads.is_empty() {
        nest.tiled = Some(Tiled { dim, loads });
    }
}

/// The longest row that is run together with others.
const SHORT: i64 = 64;

/// The slots that rows change, with the width of their lanes, if rows are short and no
/// step needs to know which one it is in.
pub fn batch(nest: &Nest) -> Option<Vec<(Slot, usize)>> {
    let Extent::Constant(length) = nest.dims[nest.lane] else { return None };
    let reduces = nest.passes.iter().any(|pass| !pass.accumulators.is_empty());
    let along = nest.lane == nest.outer && nest.lane + 1 == nest.dims.len() && nest.outer > 0;
    let constant = nest.dims.iter().all(|dim| matches!(dim, Extent::Constant(_)));
    if !reduces || !along || !constant || !(1..=SHORT).contains(&length) {
        return None;
    }
    let mut slots = Vec::new();
    for pass in &nest.passes {
        for accumulator in &pass.accumulators {
            let Into::Slot(slot) = accumulator.into else { return None };
            slots.push((slot, Lane::of(accumulator.dtype).width()));
        }
    }
    let code = nest.passes.iter().flat_map(|pass| pass.before.iter().chain(&pass.code)).chain(&nest.after);
    for op in code {
        match op {
            Op::Save { slot, lane, .. } => slots.push((*slot, lane.width())),
            Op::Index { address, .. }
            | Op::Sign { address, .. }
            | Op::Into { address, .. }
            | Op::Store { address, .. }
                if address.slots.is_empty() => {}
            Op::Load { address, checks, .. } if address.slots.is_empty() && checks.is_empty() => {}
            Op::Unary { .. }
            | Op::Binary { .. }
            | Op::MulAdd { .. }
            | Op::Select { .. }
            | Op::Cast { .. }
            | Op::Narrow { .. } => {}
            Op::Table { site: None, .. } => {}
            _ => return None,
        }
    }
    Some(slots)
}

/// Gives registers anew, so that one whose value is used up serves again; never for the
/// result of the step that uses it up.
pub fn allocate(nest: &mut Nest) {
    let mut most = 0;
    for pass in &mut nest.passes {
        most = most.max(allocate_code(&mut pass.before, &mut []));
        most = most.max(allocate_code(&mut pass.code, &mut pass.accumulators));
    }
    nest.registers = most.max(allocate_code(&mut nest.after, &mut []));
}

fn allocate_code(code: &mut [Op], accumulators: &mut [Accumulator]) -> usize {
    let mut last: FxHashMap<Reg, usize> = FxHashMap::default();
    for (at, op) in code.iter_mut().enumerate() {
        sources(op, &mut |src| {
            if let Src::Reg(reg) = src {
                last.insert(*reg, at);
            }
        });
    }
    for accumulator in accumulators.iter() {
        if let Src::Reg(reg) = accumulator.src {
            last.insert(reg, code.len());
        }
    }
    let (mut home, mut free, mut count): (FxHashMap<Reg, Reg>, Vec<Reg>, Reg) =
        (FxHashMap::default(), Vec::new(), 0);
    for (at, op) in code.iter_mut().enumerate() {
        let mut used = Vec::new();
        sources(op, &mut |src| {
            if let Src::Reg(reg) = src {
                used.push(*reg);
                *reg = home[reg];
            }
        });
        if let Some(dst) = destination(op) {
            let old = *dst;
            // The step before may have said where it writes.
            let new = *home.entry(old).or_insert_with(|| {
                free.pop().unwrap_or_else(|| {
                    count += 1;
                    count - 1
                })
            });
            *dst = new;
            // Nobody reads it: it is free again at once.
            if !last.contains_key(&old) {
                free.push(new);
            }
        }
        used.sort_unstable();
        used.dedup();
        free.extend(used.iter().filter(|reg| last[reg] == at).map(|reg| home[reg]));
    }
    for accumulator in accumulators {
        if let Src::Reg(reg) = &mut accumulator.src {
            *reg = home[reg];
        }
    }
    count as usize
}

fn destination(op: &mut Op) -> Option<&mut Reg> {
    match op {
        Op::Index { dst, .. }
        | Op::Sign { dst, .. }
        | Op::Into { dst, .. }
        | Op::Tile { dst, .. }
        | Op::Load { dst, .. }
        | Op::Gather { dst, .. }
        | Op::Check { dst, .. }
        | Op::Unary { dst, .. }
        | Op::Binary { dst, .. }
        | Op::MulAdd { dst, .. }
        | Op::Select { dst, .. }
        | Op::Cast { dst, .. }
        | Op::Narrow { dst, .. }
        | Op::Table { dst, .. } => Some(dst),
        Op::Store { .. } | Op::Require { .. } | Op::Save { .. } => None,
    }
}

pub(super) fn sources(op: &mut Op, visit: &mut dyn FnMut(&mut Src)) {
    match op {
        Op::Index { .. } | Op::Sign { .. } | Op::Into { .. } | Op::Tile { .. } => {}
        Op::Load { mask, .. } => mask.iter_mut().for_each(visit),
        Op::Gather { index, .. } => visit(index),
        Op::Store { src, .. } | Op::Save { src, .. } => visit(src),
        Op::Check { index, mask, .. } => {
            visit(index);
            mask.iter_mut().for_each(visit);
        }
        Op::Require { cond, mask, .. } => {
            visit(cond);
            mask.iter_mut().for_each(visit);
        }
        Op::Unary { a, .. } | Op::Cast { a, .. } | Op::Narrow { a, .. } => visit(a),
        Op::Binary { a, b, .. } => {
            visit(a);
            visit(b);
        }
        Op::MulAdd { factors, addend, .. } => {
            visit(&mut factors.0);
            visit(&mut factors.1);
            visit(addend);
        }
        Op::Select { cond, a, b, .. } => {
            visit(cond);
            visit(a);
            visit(b);
        }
        Op::Table { args, mask, .. } => {
            args.iter_mut().for_each(&mut *visit);
            mask.iter_mut().for_each(visit);
        }
    }
}
