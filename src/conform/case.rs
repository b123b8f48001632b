//! What a case is: a question, what is expected, and how near an answer has to come.

use std::collections::BTreeMap;
use std::fmt;

use rtv_runtime::protocol::Call;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::ErrorClass;

use super::Grade;

/// A question with its answer.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it comes from: `softmax/softmax_of_floats:2`, `pytorch/add-01-f32-3x4`.
    pub id: String,
    /// The operator whose row in the matrix it counts for.
    pub operator: String,
    pub question: Question,
    pub expected: Expected,
    /// What the source of the case allows floats to differ by.
    pub stated: Grade,
    /// What the operator allows a backend that is not the reference.
    pub allowed: Grade,
    /// What it allows one that contracts.
    pub contracted: Grade,
    /// Why the language differs here from the source of the case, if it does.
    pub excepted: Option<String>,
}

#[derive(Clone, Debug)]
pub enum Question {
    Call(Call),
    /// A form of the language, as the text of a program with one operator, `case`.
    Program {
        text: String,
        operands: Vec<Tensor>,
    },
}

impl Question {
    pub fn tensors(&self) -> Vec<&Tensor> {
        match self {
            Question::Call(call) => call.tensors().collect(),
            Question::Program { operands, .. } => operands.iter().collect(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Expected {
    Outputs(Vec<Tensor>),
    /// One of several results.
    Part(usize, Tensor),
    /// An error, of this class where one is stated.
    Error(Option<ErrorClass>),
}

/// All cases, and the number of those that could be none by reason.
#[derive(Default)]
pub struct Suite {
    pub cases: Vec<Case>,
    pub left_out: BTreeMap<String, usize>,
    /// What the suite is without, as a sentence.
    pub without: Option<String>,
}

impl Suite {
    pub fn leave_out(&mut self, reason: impl Into<String>) {
        *self.left_out.entry(reason.into()).or_default() += 1;
    }

    pub fn extend(&mut self, other: Suite) {
        self.cases.extend(other.cases);
        for (reason, count) in other.left_out {
            *self.left_out.entry(reason).or_default() += count;
        }
    }

    /// The cases of operators whose name is this, or begins so before a `*`.
    pub fn only(&mut self, pattern: &str) {
        self.cases.retain(|case| match pattern.split_once('*') {
            Some((start, end)) => {
                let name = &case.operator;
                name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
            }
            None => case.operator == pattern,
        });
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Outputs(outputs) => {
                let types: Vec<String> = outputs.iter().map(Tensor::type_text).collect();
                f.write_str(&types.join(", "))
            }
            Expected::Part(k, tensor) => write!(f, "{} as result {k}", tensor.type_text()),
            Expected::Error(Some(class)) => write!(f, "an error of class {}", class.name()),
            Expected::Error(None) => f.write_str("an error"),
        }
    }
}
