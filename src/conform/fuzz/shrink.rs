//! A program that differs, made small: steps become inputs, steps go, extents shrink,
//! elements become 0 or 1.

use std::collections::BTreeSet;

use rtv_semantics::scalar::{Domain, Value as Element};
use rtv_semantics::tensor::Tensor;

use super::check::Expectation;
use super::value::Known;
use super::{Difference, Fuzzer, Node, Program};

/// Programs that are tried for one that differs.
const MAX_TRIES: usize = 600;

struct Shrinking<'a> {
    fuzzer: &'a Fuzzer,
    difference: &'a Difference,
    best: Program,
    tries: usize,
}

pub fn smaller(fuzzer: &Fuzzer, program: &Program, difference: &Difference) -> Program {
    let mut shrinking = Shrinking { fuzzer, difference, best: program.clone(), tries: 0 };
    while shrinking.shorter() | shrinking.cut() | shrinking.narrower() {}
    shrinking.plainer();
    shrinking.best
}

impl Shrinking<'_> {
    /// Takes a program that differs in the same way.
    fn take(&mut self, program: Program) -> bool {
        if self.tries >= MAX_TRIES || program.steps().next().is_none() {
            return false;
        }
        self.tries += 1;
        let found = self.fuzzer.difference(&program);
        let like = found.is_some_and(|found| found.is_like(self.difference));
        if like {
            self.best = program;
        }
        like
    }

    /// Without values that nothing reads, the last one of several results among them.
    fn shorter(&mut self) -> bool {
        let mut changed = false;
        for value in (0..self.best.nodes.len()).rev() {
            if !self.best.is_read(value) {
                let mut program = self.best.clone();
                program.nodes.remove(value);
                for node in &mut program.nodes {
                    let Node::Step(step) = node else { continue };
                    step.operands.iter_mut().filter(|k| **k > value).for_each(|k| *k -= 1);
                }
                changed |= self.take(program);
            }
        }
        changed
    }

    /// A step becomes an input that holds its value.
    fn cut(&mut self) -> bool {
        let mut changed = false;
        for value in 0..self.best.nodes.len() {
            if matches!(self.best.nodes[value], Node::Input(_)) || !self.best.is_read(value) {
                continue;
            }
            let before = Program { nodes: self.best.nodes[..=value].to_vec() };
            let Some(Expectation::Results(known)) = self.fuzzer.expectation(&before) else { continue };
            if let Some(Known { want, error: None }) = known.last() {
                changed |= self.with_input(value, want.clone());
            }
        }
        changed
    }

    /// An extent of the inputs, wherever it occurs, becomes less.
    fn narrower(&mut self) -> bool {
        let mut changed = false;
        let extents = self.best.inputs().flat_map(|t| t.shape().to_vec()).filter(|n| *n > 1);
        for extent in extents.collect::<BTreeSet<usize>>().into_iter().rev() {
            for to in [1, extent / 2, extent - 1].into_iter().filter(|to| *to < extent) {
                let mut program = self.best.clone();
                for node in &mut program.nodes {
                    if let Node::Input(tensor) = node {
                        *tensor = narrowed(tensor, extent, to);
                    }
                }
                if self.take(program) {
                    changed = true;
                    break;
                }
            }
        }
        changed
    }

    /// Elements become 0 or 1: all of an input at once, else one at a time.
    fn plainer(&mut self) {
        for value in 0..self.best.nodes.len() {
            let Node::Input(tensor) = self.best.nodes[value].clone() else { continue };
            let (dtype, shape) = (tensor.dtype, tensor.shape().to_vec());
            let plain = [Element::zero(dtype, Domain::Ieee), Element::one(dtype, Domain::Ieee)];
            let whole = plain.iter().any(|element| {
                let filled = Tensor::full(dtype, &shape, element.clone());
                filled.is_ok_and(|filled| self.with_input(value, filled))
            });
            if whole {
                continue;
            }
            let mut elements: Vec<Element> = tensor.values().cloned().collect();
            for at in 0..elements.len() {
                let before = std::mem::replace(&mut elements[at], plain[0].clone());
                let changed = Tensor::new(dtype, &shape, elements.clone());
                if !changed.is_ok_and(|tensor| self.with_input(value, tensor)) {
                    elements[at] = before;
                }
            }
        }
    }

    fn with_input(&mut self, value: usize, tensor: Tensor) -> bool {
        let mut program = self.best.clone();
        program.nodes[value] = Node::Input(tensor);
        self.take(program)
    }
}

/// The first entries of every axis of this extent.
fn narrowed(tensor: &Tensor, extent: usize, to: usize) -> Tensor {
    let shape: Vec<usize> = tensor.shape().iter().map(|n| if *n == extent { to } else { *n }).collect();
    let mut elements = Vec::new();
    let mut index = vec![0; shape.len()];
    for _ in 0..shape.iter().product::<usize>() {
        elements.push(tensor.get(&index).expect("invariant: inside").clone());
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    Tensor::new(tensor.dtype, &shape, elements).expect("invariant: as many elements")
}
