//! A program run on both sides, and what differs.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rtv_grammar::lower::OuterCall;
use rtv_runtime::array::Array;
use rtv_runtime::backend::Output;
use rtv_runtime::cpu::{Pool, Program as CpuProgram};
use rtv_semantics::eval::EvalError;
use rtv_semantics::scalar::Value as Element;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::ErrorClass;

use super::value::{Known, Outcome, step};
use super::{Node, Program, draw, shrink};
use crate::conform::{Ours, Question};

/// What is wrong with a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    Panic,
    /// One and two threads give different bytes.
    Threads,
    /// An error on one side only, or of another class.
    Error(String),
    Type(String),
    Value(String),
}

impl Difference {
    /// Whether it is of the same kind, so that one is the other made small.
    pub fn is_like(&self, other: &Difference) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Panic => f.write_str("the backend panics"),
            Difference::Threads => f.write_str("one and two threads give different bytes"),
            Difference::Error(text) | Difference::Type(text) | Difference::Value(text) => f.write_str(text),
        }
    }
}

/// What the reference says of a program.
pub enum Expectation {
    Results(Vec<Known>),
    Fails(ErrorClass),
}

/// The side that is not the reference: the results of two runs that must have equal bytes.
pub type Other = Box<dyn Fn(&OuterCall, &[Array]) -> Result<[Vec<Array>; 2], EvalError>>;

/// Draws programs and runs them on both sides.
pub struct Fuzzer {
    ours: Ours,
    other: Other,
}

impl Default for Fuzzer {
    fn default() -> Fuzzer {
        rtv_runtime::cpu::spoil();
        let pools = [Pool::new(1), Pool::new(2)];
        Fuzzer::against(Box::new(move |call, arrays| on_cpu(call, arrays, &pools)))
    }
}

/// The runs on the CPU, on the threads of each pool.
pub fn on_cpu(call: &OuterCall, arrays: &[Array], pools: &[Pool; 2]) -> Result<[Vec<Array>; 2], EvalError> {
    let decls: Vec<_> = call.inputs.iter().cloned().zip(arrays.iter().map(Array::decl)).collect();
    let ready = CpuProgram::new(&call.term, &decls)?;
    let mut results = [Vec::new(), Vec::new()];
    for (pool, results) in pools.iter().zip(&mut results) {
        flatten(ready.run_on(arrays, pool)?, results);
    }
    Ok(results)
}

impl Fuzzer {
    pub fn against(other: Other) -> Fuzzer {
        Fuzzer { ours: Ours::reference(), other }
    }

    /// The program of a seed.
    pub fn draw(&self, seed: u64) -> Program {
        draw::program(&self.ours, seed)
    }

    /// What differs, if anything.
    pub fn difference(&self, program: &Program) -> Option<Difference> {
        self.compare(program, &self.expectation(program)?)
    }

    /// The smallest program found that differs in the same way.
    pub fn shrink(&self, program: &Program, difference: &Difference) -> Program {
        shrink::smaller(self, program, difference)
    }

    /// What the reference gives, step by step; `None` where it is no program.
    pub fn expectation(&self, program: &Program) -> Option<Expectation> {
        let mut values: Vec<Known> = Vec::new();
        for node in &program.nodes {
            let one = match node {
                Node::Input(want) => {
                    values.push(Known { want: want.clone(), error: None });
                    continue;
                }
                Node::Step(one) => one,
            };
            let operands: Vec<&Known> = one.operands.iter().map(|value| &values[*value]).collect();
            match step(&self.ours, one, &operands) {
                Outcome::Value(known) => values.push(*known),
                Outcome::Fails(class) => return Some(Expectation::Fails(class)),
                Outcome::Refused => return None,
            }
        }
        Some(Expectation::Results(program.results().iter().map(|value| values[*value].clone()).collect()))
    }

    fn compare(&self, program: &Program, expected: &Expectation) -> Option<Difference> {
        let question =
            Question::Program { text: program.text(), operands: program.inputs().cloned().collect() };
        let call = self.ours.elaborate(&question).ok()?;
        let arrays = program.inputs().map(|t| Array::from_tensor(t).expect("invariant: IEEE tensors"));
        let arrays: Vec<Array> = arrays.collect();
        match (catch_unwind(AssertUnwindSafe(|| (self.other)(&call, &arrays))), expected) {
            (Err(_), _) => Some(Difference::Panic),
            (Ok(Err(error)), Expectation::Fails(class)) => {
                let text = || format!("an error of class {class:?} is {:?} on cpu: {error}", error.class);
                (error.class != Some(*class)).then(|| Difference::Error(text()))
            }
            (Ok(Err(error)), Expectation::Results(_)) => {
                Some(Difference::Error(format!("an error on cpu only: {error}")))
            }
            (Ok(Ok(_)), Expectation::Fails(class)) => {
                Some(Difference::Error(format!("no error on cpu, expected one of class {class:?}")))
            }
            (Ok(Ok([one, two])), Expectation::Results(want)) => {
                if one.iter().map(Array::bytes).ne(two.iter().map(Array::bytes)) {
                    return Some(Difference::Threads);
                }
                let got: Vec<Tensor> = one.iter().map(Array::to_tensor).collect();
                if got.len() != want.len() {
                    return Some(Difference::Type(format!("{} results, expected {}", got.len(), want.len())));
                }
                got.iter().zip(want).find_map(|(got, want)| differs(got, want))
            }
        }
    }
}

fn flatten(output: Output, into: &mut Vec<Array>) {
    match output {
        Output::Array(array) => into.push(array),
        Output::Tuple(parts) => parts.into_iter().for_each(|part| flatten(part, into)),
        Output::Size(_) => {}
    }
}

fn differs(got: &Tensor, known: &Known) -> Option<Difference> {
    let want = &known.want;
    if got.dtype != want.dtype || got.shape() != want.shape() {
        let text = format!("{} on cpu, {} by the reference", got.type_text(), want.type_text());
        return Some(Difference::Type(text));
    }
    let bound = |k: usize| known.error.as_ref().and_then(|t| t.nth(k)).and_then(Element::as_float);
    let bad = |k: usize, got: &Element, want: &Element| {
        if got.same(want) == Some(true) {
            return false;
        }
        match (got, want, bound(k).unwrap_or(0.0)) {
            (Element::Float(_), Element::Float(_), error) if error == f64::INFINITY => false,
            (Element::Float(got), Element::Float(want), error) => {
                let apart = (got - want).abs();
                error == 0.0 || apart.is_nan() || apart > error
            }
            _ => true,
        }
    };
    let mut pairs = got.values().zip(want.values()).enumerate();
    let (k, (g, w)) = pairs.find(|(k, (g, w))| bad(*k, g, w))?;
    let allowed = bound(k).map_or_else(String::new, |error| format!(", {error:e} is allowed"));
    Some(Difference::Value(format!(
        "element {k} of {} is {g} on cpu, {w} by the reference{allowed}",
        want.type_text()
    )))
}
