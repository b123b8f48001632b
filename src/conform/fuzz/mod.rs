//! Differential fuzzing: random programs, run by the reference evaluator and by the CPU
//! backend on one and on two threads.
//!
//! The two runs on the CPU must have equal bytes. Against the reference, every element has a
//! bound of its own, carried along by a running error analysis in f64 (`value.rs`): 0 where
//! only exact operators lie behind it, so that bits are compared; otherwise what the
//! operators' grades and the rounding of what follows can make of it. Where that may pass
//! the range of the dtype, the element is left open.

mod check;
mod draw;
mod layers;
mod operators;
mod shrink;
mod value;

use rtv_semantics::sample::Sampler;
use rtv_semantics::tensor::Tensor;

pub use check::{Difference, Fuzzer, Other, on_cpu};

/// One `let`, with how errors of its operands pass through it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The expression, with `{0}`, `{1}` for its operands.
    pub text: String,
    /// Earlier values.
    pub operands: Vec<usize>,
    pub carry: Carry,
    pub own: Own,
}

/// What becomes of the errors of operands. In the texts `v0` is an operand, `a0` its
/// elements in f64, `e0` its error, `r` the result in f64.
#[derive(Clone, PartialEq, Debug)]
pub enum Carry {
    /// Elements are moved: the same expression of the errors.
    Moved,
    /// An expression of their errors.
    By(String),
    /// It is applied to exact operands only.
    Never,
}

/// The error that an operator adds to that of exact operands.
#[derive(Clone, PartialEq, Debug)]
pub enum Own {
    None,
    /// Epsilons of the dtype times an expression.
    Epsilons(String),
    /// Sums in any order: epsilons times the sum of the sizes of finite terms. Past the
    /// range of the dtype any order may overflow.
    Sum(String),
    /// Nothing, but that the sign of a zero is left open.
    Zeros,
}

/// A value of a program.
#[derive(Clone, Debug)]
pub enum Node {
    Input(Tensor),
    Step(Step),
}

/// Values, each made of earlier ones; those that nothing reads are the results.
#[derive(Clone, Default, Debug)]
pub struct Program {
    pub nodes: Vec<Node>,
}

impl Program {
    pub fn inputs(&self) -> impl Iterator<Item = &Tensor> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Input(tensor) => Some(tensor),
            Node::Step(_) => None,
        })
    }

    /// The inputs, by the names they have in the text.
    pub fn named_inputs(&self) -> impl Iterator<Item = (String, Tensor)> {
        self.nodes.iter().enumerate().filter_map(|(value, node)| match node {
            Node::Input(tensor) => Some((format!("v{value}"), tensor.clone())),
            Node::Step(_) => None,
        })
    }

    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Step(step) => Some(step),
            Node::Input(_) => None,
        })
    }

    fn is_read(&self, value: usize) -> bool {
        self.steps().any(|step| step.operands.contains(&value))
    }

    fn results(&self) -> Vec<usize> {
        let result = |value: &usize| matches!(self.nodes[*value], Node::Step(_)) && !self.is_read(*value);
        (0..self.nodes.len()).filter(result).collect()
    }

    /// The program in the language, as an operator `case`.
    pub fn text(&self) -> String {
        let (mut params, mut lets) = (Vec::new(), String::new());
        for (value, node) in self.nodes.iter().enumerate() {
            match node {
                Node::Input(tensor) => params.push(format!("v{value}: {}", tensor.type_text())),
                Node::Step(step) => {
                    let names: Vec<String> = step.operands.iter().map(|value| format!("v{value}")).collect();
                    lets += &format!("  let v{value} = {}\n", filled(&step.text, &names));
                }
            }
        }
        let results: Vec<String> = self.results().iter().map(|value| format!("v{value}")).collect();
        let result = match &results[..] {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        format!("rtl 1.0\nop case({}) {{\n{lets}  return {result}\n}}\n", params.join(", "))
    }
}

/// The text with its operands in place.
fn filled(text: &str, names: &[String]) -> String {
    let mut text = text.to_string();
    for (k, name) in names.iter().enumerate() {
        text = text.replace(&format!("{{{k}}}"), name);
    }
    text
}

/// The seed of one program of a run.
pub fn seed_of(run: u64, number: u64) -> u64 {
    let mut sampler = Sampler::new(run);
    sampler.next_u64() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
