//! Models that are found by guessing: most questions that have one have many, and a guess
//! takes microseconds where a solver takes milliseconds.
//!
//! Invariants: a model that is found satisfies every assertion, by exact evaluation; a function
//! has one value for the same arguments, a number drawn from them, unless it was set there. What
//! is found depends on the question only. Floats are not guessed.
//!
//! An assertion that does not hold is repaired at one application in it, solved for as if it
//! stood there linearly; whether that was right the next evaluation tells.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};
use num_traits::{CheckedAdd, CheckedMul, One, Signed, ToPrimitive, Zero};
use rtv_semantics::guess::mixed;
use rustc_hash::FxHashMap;

use crate::query::{Fun, Id, Node, Op, Query, Sort};
use crate::solver::{ModelValue, ModelValues};

/// Models that are tried.
const ROUNDS: u64 = 5;

/// Repairs of one model.
const REPAIRS: u64 = 40;

/// Evaluations of one node, in all: about half a millisecond.
const STEPS: usize = 20_000;

/// Integers beyond are not guessed.
const LARGEST: i128 = 1 << 40;

/// The value of a node.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Bool(bool),
    Int(i128),
    Real(Ratio<i128>),
    /// With its width, at most 64.
    Bits(u64, u32),
    /// An element of a sort without structure.
    Element(u64),
}

/// The watched values of a model, if one is found.
pub(crate) fn model(query: &Query) -> Option<ModelValues> {
    let mut steps = STEPS;
    (0..ROUNDS).find_map(|round| {
        let mut guess = Guess::new(query, round, &mut steps);
        guess.search().then(|| guess.watched()).flatten()
    })
}

struct Guess<'q> {
    query: &'q Query,
    round: u64,
    /// What is still allowed.
    steps: &'q mut usize,
    /// The nodes that assertions consist of, operands first.
    live: Vec<usize>,
    /// By node, where they are known.
    values: Vec<Option<Value>>,
    /// What functions were set to, by the mark of function and arguments.
    set: FxHashMap<u64, Value>,
}

impl<'q> Guess<'q> {
    fn new(query: &'q Query, round: u64, steps: &'q mut usize) -> Guess<'q> {
        let values = vec![None; query.nodes.len()];
        let live = parts(query, query.asserts.iter().chain(&query.watched));
        Guess { query, round, steps, live, values, set: FxHashMap::default() }
    }

    /// Repairs what does not hold until everything does.
    fn search(&mut self) -> bool {
        let live = std::mem::take(&mut self.live);
        for step in 0..REPAIRS {
            if !self.evaluate(&live) {
                return false;
            }
            let holds = |id: &&Id| self.values[id.index()] != Some(Value::Bool(true));
            let Some(open) = self.query.asserts.iter().find(holds) else { return true };
            if !self.repair(*open, true, mixed(self.round, step)) {
                return false;
            }
        }
        false
    }

    fn watched(&self) -> Option<ModelValues> {
        let value = |id: &Id| self.values[id.index()].map(shown);
        self.query.watched.iter().map(value).collect()
    }

    /// Computes nodes anew, unless that is not allowed any more.
    fn evaluate(&mut self, nodes: &[usize]) -> bool {
        let Some(rest) = self.steps.checked_sub(nodes.len()) else { return false };
        *self.steps = rest;
        for &node in nodes {
            self.values[node] = self.value(node);
        }
        true
    }

    fn value(&self, node: usize) -> Option<Value> {
        Some(match &self.query.nodes[node] {
            Node::Bool(value) => Value::Bool(*value),
            Node::Int(value) => Value::Int(value.to_i128()?),
            Node::Real(value) => {
                Value::Real(Ratio::new_raw(value.numer().to_i128()?, value.denom().to_i128()?))
            }
            Node::Bits(value, width) => Value::Bits(value.to_u64().filter(|_| *width <= 64)?, *width),
            Node::Float(..) => return None,
            Node::Apply(fun, args) => {
                let mark = self.mark(*fun, args)?;
                match self.set.get(&mark) {
                    Some(value) => *value,
                    None => drawn(&self.query.decls[fun.index()].range, args.is_empty(), self.round, mark)?,
                }
            }
            Node::Op(op, args) => self.operation(*op, args)?,
        })
    }

    /// A number for a function at the values of its arguments.
    fn mark(&self, fun: Fun, args: &[Id]) -> Option<u64> {
        args.iter().try_fold(mixed(fun.index() as u64, self.round), |mark, arg| {
            Some(match self.values[arg.index()]? {
                Value::Bool(value) => mixed(mark, u64::from(value)),
                Value::Int(value) => mixed(mark, value as u64),
                Value::Real(value) => mixed(mixed(mark, *value.numer() as u64), *value.denom() as u64),
                Value::Bits(value, _) | Value::Element(value) => mixed(mark, value),
            })
        })
    }

    fn operation(&self, op: Op, args: &[Id]) -> Option<Value> {
        let value = |k: usize| self.values[args[k].index()];
        let truth = |k: usize| value(k).and_then(Value::truth);
        Some(match op {
            Op::Not => Value::Bool(!truth(0)?),
            // One false part is enough, whatever else is not known.
            Op::And | Op::Or => {
                let decisive = Some(op == Op::Or);
                if (0..args.len()).any(|k| truth(k) == decisive) {
                    return decisive.map(Value::Bool);
                }
                (0..args.len()).try_for_each(|k| truth(k).map(drop))?;
                Value::Bool(op == Op::And)
            }
            Op::Eq => Value::Bool(value(0)? == value(1)?),
            Op::Ite => value(if truth(0)? { 1 } else { 2 })?,
            Op::ToReal => Value::Real(Ratio::from_integer(value(0)?.int()?)),
            Op::Add | Op::Mul | Op::Le | Op::Lt => arithmetic(op, value(0)?, value(1)?)?,
            Op::IntToBv(width) if width <= 64 => Value::Bits(kept(value(0)?.int()? as u64, width), width),
            Op::IntToBv(_) | Op::Fp(_) | Op::FpTo(..) => return None,
            _ => {
                let (a, width) = value(0)?.bits()?;
                let b = match args {
                    [_, _] => value(1)?.bits()?.0,
                    _ => 0,
                };
                bit_operation(op, a, b, width)?
            }
        })
    }

    /// Changes one application so that a node may come to have the truth value that is wanted.
    fn repair(&mut self, id: Id, wanted: bool, choice: u64) -> bool {
        let query = self.query;
        match &query.nodes[id.index()] {
            Node::Apply(fun, args) => self.set_to(*fun, args, Value::Bool(wanted)),
            Node::Op(Op::Not, args) => self.repair(args[0], !wanted, choice),
            Node::Op(op @ (Op::And | Op::Or), args) => {
                let all = (*op == Op::And) == wanted;
                let open = |arg: &&Id| self.values[arg.index()] != Some(Value::Bool(wanted));
                let one = || args.get(choice as usize % args.len());
                let part = if all { args.iter().find(open) } else { one() };
                part.is_some_and(|part| self.repair(*part, wanted, choice / 7))
            }
            Node::Op(Op::Ite, args) => match self.values[args[0].index()] {
                Some(Value::Bool(truth)) => self.repair(args[if truth { 1 } else { 2 }], wanted, choice),
                _ => false,
            },
            Node::Op(op @ (Op::Eq | Op::Le | Op::Lt), args) => match query.sort(args[0]) {
                Sort::Int | Sort::Real => self.solve(*op, id, args, wanted, choice),
                Sort::Bool => {
                    let (one, other) = if choice.is_multiple_of(2) { (0, 1) } else { (1, 0) };
                    match self.values[args[other].index()] {
                        Some(Value::Bool(truth)) => self.repair(args[one], truth == wanted, choice / 2),
                        _ => false,
                    }
                }
                _ => self.equate(args, wanted, choice),
            },
            _ => false,
        }
    }

    fn set_to(&mut self, fun: Fun, args: &[Id], value: Value) -> bool {
        let Some(mark) = self.mark(fun, args) else { return false };
        self.set.insert(mark, value);
        true
    }

    /// Makes elements or bit-vectors the same, or another one of them.
    fn equate(&mut self, args: &[Id], same: bool, choice: u64) -> bool {
        let query = self.query;
        for k in [choice as usize % 2, 1 - choice as usize % 2] {
            let (Node::Apply(fun, of), Some(other)) =
                (&query.nodes[args[k].index()], self.values[args[1 - k].index()])
            else {
                continue;
            };
            let value = match other {
                _ if same => other,
                Value::Bits(bits, width) => Value::Bits(kept(bits.wrapping_add(choice | 1), width), width),
                Value::Element(element) => Value::Element(mixed(element, choice)),
                _ => continue,
            };
            return self.set_to(*fun, of, value);
        }
        false
    }

    /// Makes a comparison of numbers true or false: one application in it is moved by what is
    /// missing over the slope at it.
    fn solve(&mut self, op: Op, id: Id, args: &[Id], wanted: bool, choice: u64) -> bool {
        let query = self.query;
        let cone = parts(query, [&id]);
        let Some(now) = self.gap(args) else { return false };
        let strict = if *query.sort(args[0]) == Sort::Int { Ratio::one() } else { Ratio::new_raw(1, 2) };
        // What the left side is to exceed the right one by.
        let aim = match (op, wanted) {
            (Op::Eq, false) => now + Ratio::one(),
            (Op::Le, false) => strict,
            (Op::Lt, true) => -strict,
            _ => Ratio::zero(),
        };
        let Some(missing) = aim.checked_add(&-now) else { return false };
        for k in 0..cone.len() {
            let at = cone[(k + choice as usize) % cone.len()];
            let (Node::Apply(fun, of), Some(old)) = (&query.nodes[at], self.values[at]) else { continue };
            let Some(next) = old.moved(Ratio::one()) else { continue };
            let Some(mark) = self.mark(*fun, of) else { continue };
            let before = self.set.insert(mark, next);
            let slope = match self.evaluate(&cone) {
                true => self.gap(args).and_then(|gap| gap.checked_add(&-now)),
                false => return false,
            };
            let by = slope.filter(|slope| !slope.is_zero()).and_then(|slope| {
                let by = missing.checked_mul(&slope.recip())?;
                // An integer is moved at least so far.
                Some(match old {
                    Value::Int(_) if op == Op::Eq && wanted && !by.is_integer() => return None,
                    Value::Int(_) if by.is_positive() => by.ceil(),
                    Value::Int(_) => by.floor(),
                    _ => by,
                })
            });
            if let Some(new) = by.filter(|by| !by.is_zero()).and_then(|by| old.moved(by)) {
                self.set.insert(mark, new);
                return true;
            }
            match before {
                Some(value) => self.set.insert(mark, value),
                None => self.set.remove(&mark),
            };
            if !self.evaluate(&cone) {
                return false;
            }
        }
        false
    }

    /// The left side less the right one.
    fn gap(&self, args: &[Id]) -> Option<Ratio<i128>> {
        let number = |k: usize| self.values[args[k].index()].and_then(Value::number);
        number(0)?.checked_add(&-number(1)?)
    }
}

impl Value {
    fn truth(self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(value) } else { None }
    }

    fn int(self) -> Option<i128> {
        if let Value::Int(value) = self { Some(value) } else { None }
    }

    fn bits(self) -> Option<(u64, u32)> {
        if let Value::Bits(value, width) = self { Some((value, width)) } else { None }
    }

    fn number(self) -> Option<Ratio<i128>> {
        match self {
            Value::Int(value) => Some(Ratio::from_integer(value)),
            Value::Real(value) => Some(value),
            _ => None,
        }
    }

    /// The number that is so much more, if it is of the same sort and not too large.
    fn moved(self, by: Ratio<i128>) -> Option<Value> {
        let new = self.number()?.checked_add(&by)?;
        let small = new.numer().abs() < LARGEST && *new.denom() < LARGEST;
        match self {
            Value::Int(_) => (small && new.is_integer()).then(|| Value::Int(new.to_integer())),
            _ => small.then_some(Value::Real(new)),
        }
    }
}

/// The nodes that some consist of, operands first.
fn parts<'i>(query: &Query, of: impl IntoIterator<Item = &'i Id>) -> Vec<usize> {
    let mut open: Vec<usize> = of.into_iter().map(|id| id.index()).collect();
    let mut seen = vec![false; query.nodes.len()];
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut seen[node], true) {
            continue;
        }
        if let Node::Apply(_, args) | Node::Op(_, args) = &query.nodes[node] {
            open.extend(args.iter().map(|arg| arg.index()));
        }
    }
    (0..seen.len()).filter(|&node| seen[node]).collect()
}

/// Small numbers, which satisfy most bounds; elements and bits of any kind.
fn drawn(sort: &Sort, constant: bool, round: u64, mark: u64) -> Option<Value> {
    let mark = mixed(mark, 1);
    let below = |n: u64| i128::from(mark % n);
    Some(match sort {
        Sort::Bool => Value::Bool(mark.is_multiple_of(2)),
        Sort::Int if constant => Value::Int(below(2 + round)),
        Sort::Int => Value::Int(below(5 + round) - 2),
        Sort::Real => Value::Real(Ratio::from_integer(below(41 + 2 * round) - 20)),
        Sort::Bits(width) if *width <= 64 => Value::Bits(kept(mark, *width), *width),
        Sort::Opaque(_) => Value::Element(mark),
        Sort::Bits(_) | Sort::Float(..) => return None,
    })
}

fn shown(value: Value) -> ModelValue {
    match value {
        Value::Bool(value) => ModelValue::Bool(value),
        Value::Int(value) => ModelValue::Int(value.into()),
        Value::Real(value) => {
            ModelValue::Real(BigRational::new(BigInt::from(*value.numer()), BigInt::from(*value.denom())))
        }
        Value::Bits(value, _) => ModelValue::Bits(value),
        Value::Element(value) => ModelValue::Other(format!("element {value}")),
    }
}

fn arithmetic(op: Op, a: Value, b: Value) -> Option<Value> {
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        return Some(match op {
            Op::Add => Value::Int(a.checked_add(b)?),
            Op::Mul => Value::Int(a.checked_mul(b)?),
            Op::Le => Value::Bool(a <= b),
            _ => Value::Bool(a < b),
        });
    }
    let (a, b) = (a.number()?, b.number()?);
    // Most are integers, whose denominators need no search for common factors.
    let whole = a.is_integer() && b.is_integer();
    Some(match op {
        Op::Add if whole => Value::Real(Ratio::from_integer(a.numer().checked_add(b.numer())?)),
        Op::Mul if whole => Value::Real(Ratio::from_integer(a.numer().checked_mul(b.numer())?)),
        Op::Add => Value::Real(a.checked_add(&b)?),
        Op::Mul => Value::Real(a.checked_mul(&b)?),
        Op::Le => Value::Bool(a.cmp(&b) != Ordering::Greater),
        _ => Value::Bool(a.cmp(&b) == Ordering::Less),
    })
}

/// As SMT-LIB has it, division by zero included.
fn bit_operation(op: Op, a: u64, b: u64, width: u32) -> Option<Value> {
    let (x, y) = (signed(a, width), signed(b, width));
    let ones = kept(u64::MAX, width);
    let shift = u32::try_from(b).ok().filter(|by| *by < width);
    let result = match op {
        Op::BvNeg => a.wrapping_neg(),
        Op::BvNot => !a,
        Op::BvAdd => a.wrapping_add(b),
        Op::BvMul => a.wrapping_mul(b),
        Op::BvSdiv if b == 0 => {
            if x < 0 {
                1
            } else {
                ones
            }
        }
        Op::BvSrem if b == 0 => a,
        Op::BvSdiv => x.wrapping_div(y) as u64,
        Op::BvSrem => x.wrapping_rem(y) as u64,
        Op::BvUdiv => a.checked_div(b).unwrap_or(ones),
        Op::BvUrem => a.checked_rem(b).unwrap_or(a),
        Op::BvAnd => a & b,
        Op::BvOr => a | b,
        Op::BvXor => a ^ b,
        Op::BvShl => shift.map_or(0, |by| a << by),
        Op::BvLshr => shift.map_or(0, |by| a >> by),
        Op::BvAshr => (x >> shift.unwrap_or(width - 1)) as u64,
        Op::BvSlt => return Some(Value::Bool(x < y)),
        Op::BvUlt => return Some(Value::Bool(a < b)),
        Op::BvToInt => return Some(Value::Int(a.into())),
        Op::Extract(hi, lo) => return Some(Value::Bits(kept(a >> lo, hi - lo + 1), hi - lo + 1)),
        Op::SignExt(more) | Op::ZeroExt(more) => {
            let wide = width.checked_add(more).filter(|wide| *wide <= 64)?;
            let value = if matches!(op, Op::SignExt(_)) { x as u64 } else { a };
            return Some(Value::Bits(kept(value, wide), wide));
        }
        _ => return None,
    };
    Some(Value::Bits(kept(result, width), width))
}

/// The low bits.
fn kept(bits: u64, width: u32) -> u64 {
    if width >= 64 { bits } else { bits & ((1 << width) - 1) }
}

fn signed(bits: u64, width: u32) -> i64 {
    let above = 64 - width.min(64);
    (bits << above) as i64 >> above
}
