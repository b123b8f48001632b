//! Who answers: the one interface of backends and programs outside, and the backends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rtv_grammar::lower::{Defs, Given, Library, Lower, OuterCall, class_of};
use rtv_grammar::parse;
use rtv_grammar::prelude::Prelude;
use rtv_runtime::array::Array;
use rtv_runtime::backend::{Backend, Floats, Output};
use rtv_runtime::protocol::{Argument, Call};
use rtv_semantics::arith::Arith;
use rtv_semantics::diag::{Code, Diagnostic, FileId, Span};
use rtv_semantics::eval::{Datum, Env, EvalError, Limits, eval};
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::size::Size;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::ErrorClass;
use rtv_semantics::types::TensorType;

use super::Question;

/// The codes of parts of the language that come later.
const NOT_YET: [Code; 2] = [Code(291), Code(295)];

/// What a question is answered with.
#[derive(Clone, Debug)]
pub enum Answer {
    Outputs(Vec<Tensor>),
    Error {
        class: ErrorClass,
        message: String,
    },
    /// It does not do this.
    Unsupported(String),
    /// No answer: a limit was reached, or a fault.
    Broken(String),
}

/// A backend, or a program outside.
pub trait Subject {
    fn name(&self) -> &str;

    fn answer(&mut self, question: &Question) -> Answer;

    /// How far its floats may be from what is expected.
    fn room(&self) -> Room {
        Room::Operator
    }
}

/// What room a subject has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// None beyond what a case states: that of the reference.
    Stated,
    /// What the operator leaves open, too.
    Operator,
    /// What contraction changes, too.
    Contracted,
}

/// A backend of rtv; `None` is the reference evaluator.
pub struct Ours {
    library: Arc<dyn Library>,
    defs: Defs,
    backend: Option<&'static dyn Backend>,
}

impl Ours {
    pub fn reference() -> Ours {
        Ours::over(Prelude::shared())
    }

    /// The reference evaluator with other operators.
    pub fn over(library: Arc<dyn Library>) -> Ours {
        Ours { defs: Defs::new(library.clone()), library, backend: None }
    }

    pub fn backend(backend: &'static dyn Backend) -> Ours {
        Ours { backend: Some(backend), ..Ours::reference() }
    }

    /// The call with its arguments' tensors as variables; or the answer, where there is
    /// nothing to run.
    pub fn elaborate(&self, question: &Question) -> Result<OuterCall, Answer> {
        match question {
            Question::Call(call) => elaborate(&self.defs, call),
            Question::Program { text, operands } => {
                let parsed = parse(FileId(0), text);
                let mut defs = Defs::new(self.library.clone());
                let mut faults = parsed.diagnostics;
                faults.extend(defs.add_file(FileId(0), &parsed.file));
                if !faults.is_empty() {
                    return Err(Answer::Broken(said(&faults)));
                }
                let positional = operands.iter().cloned().map(Argument::Tensor).collect();
                elaborate(&defs, &Call { operator: "case".into(), positional, named: Vec::new() })
            }
        }
    }

    /// The answer to a question.
    pub fn ask(&self, question: &Question) -> Answer {
        let call = match self.elaborate(question) {
            Ok(call) => call,
            Err(answer) => return answer,
        };
        self.run_or_break(&call, &question.tensors())
    }

    fn run(&self, call: &OuterCall, tensors: &[&Tensor]) -> Result<Datum, EvalError> {
        let Some(backend) = self.backend else {
            let inputs = call.inputs.iter().zip(tensors);
            let env = inputs.fold(Env::new(), |env, (var, tensor)| env.with_tensor(var, (*tensor).clone()));
            return eval(&call.term, &env, Domain::Ieee, &Limits::default());
        };
        let arrays = tensors.iter().map(|t| Array::from_tensor(t).expect("invariant: IEEE tensors"));
        let arrays: Vec<Array> = arrays.collect();
        let decls: Vec<_> = call.inputs.iter().cloned().zip(arrays.iter().map(Array::decl)).collect();
        let output = backend.prepare(&call.term, &decls).and_then(|program| program.run(&arrays));
        output.map(Output::into_datum)
    }

    /// As [`Ours::run`]; a fault of a backend costs the question only.
    fn run_or_break(&self, call: &OuterCall, tensors: &[&Tensor]) -> Answer {
        match catch_unwind(AssertUnwindSafe(|| self.run(call, tensors))) {
            Err(_) => Answer::Broken("it panics".into()),
            Ok(Err(EvalError { class: Some(class), message, .. })) => Answer::Error { class, message },
            Ok(Err(error)) => Answer::Broken(error.to_string()),
            Ok(Ok(value)) => {
                let mut outputs = Vec::new();
                flatten(value, &mut outputs);
                Answer::Outputs(outputs)
            }
        }
    }
}

impl Subject for Ours {
    fn name(&self) -> &str {
        self.backend.map_or("ref", Backend::name)
    }

    fn room(&self) -> Room {
        match self.backend.map(Backend::floats) {
            None => Room::Stated,
            Some(Floats::Strict) => Room::Operator,
            Some(Floats::Fast) => Room::Contracted,
        }
    }

    fn answer(&mut self, question: &Question) -> Answer {
        self.ask(question)
    }
}

fn elaborate(defs: &Defs, call: &Call) -> Result<OuterCall, Answer> {
    let mut lower = Lower::new(defs, &Arith);
    let positional: Vec<Given> = call.positional.iter().map(given).collect();
    let named: Vec<(String, Given)> = call.named.iter().map(|(name, a)| (name.clone(), given(a))).collect();
    let outer = lower.outer_call(&call.operator, &positional, &named, Span::new(FileId(0), 0, 0));
    let diagnostics = lower.take_diagnostics();
    outer.ok_or_else(|| refusal(&diagnostics))
}

/// What an elaboration that failed says of the call.
fn refusal(diagnostics: &[Diagnostic]) -> Answer {
    if diagnostics.iter().any(|d| NOT_YET.contains(&d.code)) {
        return Answer::Unsupported(said(diagnostics));
    }
    let classes: Option<Vec<ErrorClass>> = diagnostics.iter().map(|d| class_of(d.code)).collect();
    match classes.as_deref() {
        Some([class, ..]) => Answer::Error { class: *class, message: said(diagnostics) },
        _ => Answer::Broken(said(diagnostics)),
    }
}

fn said(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<String> = diagnostics.iter().map(|d| format!("{} {}", d.code, d.message)).collect();
    lines.join("; ")
}

fn flatten(value: Datum, into: &mut Vec<Tensor>) {
    match value {
        Datum::Tensor(tensor) => into.push(tensor),
        Datum::Tuple(parts) => parts.into_iter().for_each(|part| flatten(part, into)),
        Datum::Size(size) => {
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            into.push(Tensor::scalar(rtv_semantics::dtype::DType::I64, Value::Int(size)));
        }
    }
}

/// The argument as a caller outside the language gives it.
fn given(argument: &Argument) -> Given {
    let type_of = |tensor: &Tensor| {
        let extents = tensor.shape().iter().map(|n| Size::from(*n as i64));
        TensorType { dtype: tensor.dtype, shape: extents.collect() }
    };
    match argument {
        Argument::Tensor(tensor) => Given::Tensor(type_of(tensor)),
        Argument::Tensors(list) => Given::TensorList(list.iter().map(type_of).collect()),
        Argument::Int(k) => Given::Int(*k),
        Argument::Float(text) => Given::Float(text.clone()),
        Argument::Bool(b) => Given::Bool(*b),
        Argument::Text(text) => Given::Str(text.clone()),
        Argument::DType(dtype) => Given::DType(*dtype),
        Argument::Ints(list) => Given::Ints(list.clone()),
        Argument::None => Given::None,
    }
}
