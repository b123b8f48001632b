//! Contraction: a product that is only added to something, or subtracted, is rounded with
//! the sum. Asked for by [`crate::backend::Floats::Fast`]; nothing else changes the bits.

use super::pass::{Accumulator, Binary, Lane, Nest, Op, Reg, Src};
use super::registers::sources;
use rustc_hash::FxHashMap;

/// Contracts the code of a nest, whose registers are written once; the number of products.
pub fn contract(nest: &mut Nest) -> usize {
    let mut count = 0;
    for pass in &mut nest.passes {
        count += contract_code(&mut pass.before, &[]);
        count += contract_code(&mut pass.code, &pass.accumulators);
    }
    count + contract_code(&mut nest.after, &[])
}

fn contract_code(code: &mut Vec<Op>, accumulators: &[Accumulator]) -> usize {
    let mut uses: FxHashMap<Reg, usize> = FxHashMap::default();
    let mut used = |src: Src| {
        if let Src::Reg(reg) = src {
            *uses.entry(reg).or_default() += 1;
        }
    };
    code.iter_mut().for_each(|op| sources(op, &mut |src| used(*src)));
    accumulators.iter().for_each(|accumulator| used(accumulator.src));
    let mut products: FxHashMap<Reg, (usize, Lane, Src, Src)> = FxHashMap::default();
    let mut gone = Vec::new();
    for (at, op) in code.iter_mut().enumerate() {
        let Op::Binary { dst, lane: lane @ (Lane::F32 | Lane::F64), fun, a, b } = *op else { continue };
        if fun == Binary::Mul {
            products.insert(dst, (at, lane, a, b));
            continue;
        }
        if !matches!(fun, Binary::Add | Binary::Sub) {
            continue;
        }
        let product = |src: Src| match src {
            Src::Reg(reg) if uses.get(&reg) == Some(&1) => {
                products.get(&reg).filter(|(_, of, ..)| *of == lane).copied()
            }
            _ => None,
        };
        let minus = fun == Binary::Sub;
        let (found, c, signs) = match (product(a), product(b)) {
            (Some(found), _) => (found, b, (false, minus)),
            (None, Some(found)) => (found, a, (minus, false)),
            (None, None) => continue,
        };
        let (made, _, x, y) = found;
        *op = Op::MulAdd { dst, lane, factors: (x, y), addend: c, minus: signs };
        gone.push(made);
    }
    gone.sort_unstable();
    gone.iter().rev().for_each(|at| drop(code.remove(*at)));
    gone.len()
}
