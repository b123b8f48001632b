//! One case through the language: the operators that carry its `@aten` name, elaborated and
//! evaluated.

use super::binding::{Binding, bind};
use super::compare::{difference, results};
use super::form::form;
use super::record::{Outcome, Record};
use super::schema::Schemas;
use rtv_grammar::lower::{Defs, Entry, Library, Lower, OuterCall, class_of};
use rtv_grammar::parse;
use rtv_grammar::prelude::Prelude;
use rtv_semantics::arith::Arith;
use rtv_semantics::diag::{Code, Diagnostic, FileId, Span};
use rtv_semantics::eval::{Datum, Env, Limits, eval};
use rtv_semantics::scalar::Domain;
use rtv_semantics::tensor::Tensor;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The codes of parts of the language that come later.
const NOT_YET: [Code; 2] = [Code(291), Code(295)];

/// How a case came out.
#[derive(Clone, PartialEq, Debug)]
pub enum Finding {
    Passed,
    /// PyTorch has no kernel where the language has a meaning.
    Lifted,
    Failed(String),
    NotCovered(String),
}

/// What the language does.
pub enum Ours {
    Value(Datum),
    /// An error of the program.
    Refused(String),
    /// A part of the language that is not there yet.
    Missing(String),
    /// Anything else: a limit, a fault of the case.
    Stuck(String),
}

/// The operators by the overloads they stand for.
pub struct Runner {
    defs: Defs,
    schemas: Arc<Schemas>,
    blocks: BTreeMap<String, Vec<(String, Entry)>>,
}

impl Runner {
    pub fn new() -> Result<Runner, String> {
        Ok(Runner::over(Prelude::shared(), Arc::new(Schemas::load()?)))
    }

    /// The same cases on another library.
    pub fn with(&self, library: Arc<dyn Library>) -> Runner {
        Runner::over(library, self.schemas.clone())
    }

    /// The operators that a case may call.
    pub fn operators(&self, record: &Record) -> impl Iterator<Item = &str> {
        self.blocks.get(&record.aten).into_iter().flatten().map(|(name, _)| name.as_str())
    }

    fn over(library: Arc<dyn Library>, schemas: Arc<Schemas>) -> Runner {
        let mut blocks: BTreeMap<String, Vec<(String, Entry)>> = BTreeMap::new();
        for name in library.names() {
            for entry in library.overloads(&name) {
                for aten in entry.aten() {
                    blocks.entry(aten.to_string()).or_default().push((name.clone(), entry.clone()));
                }
            }
        }
        Runner { defs: Defs::new(library), schemas, blocks }
    }

    pub fn run(&self, record: &Record) -> Result<Finding, String> {
        let attempt = match form(record) {
            Some(form) => Ok(program(&form.text, &form.operands)),
            None => self.attempt(record)?,
        };
        Ok(match attempt {
            Ok(Ours::Missing(what)) | Err(what) => Finding::NotCovered(what),
            Ok(ours) => verdict(record, ours),
        })
    }

    /// The first call that types; the reason why there is none to make.
    fn attempt(&self, record: &Record) -> Result<Result<Ours, String>, String> {
        let schema = self.schemas.of(&record.aten)?;
        let Some(blocks) = self.blocks.get(&record.aten) else { return Ok(Err("no operator".into())) };
        let (mut first_reason, mut refused) = (None, None);
        for (name, entry) in blocks {
            match bind(record, schema, entry) {
                Err(reason) => first_reason = first_reason.or(Some(reason)),
                Ok(binding) => match call(&self.defs, name, &binding) {
                    refusal @ Ours::Refused(_) => refused = refused.or(Some(refusal)),
                    ours => return Ok(Ok(ours)),
                },
            }
        }
        Ok(refused.ok_or_else(|| first_reason.unwrap_or_default()))
    }
}

/// The value of the only operator of a program, `case`, on these tensors.
pub fn program(text: &str, operands: &[Tensor]) -> Ours {
    let parsed = parse(FileId(0), text);
    let mut defs = Defs::new(Prelude::shared());
    let mut faults = parsed.diagnostics;
    faults.extend(defs.add_file(FileId(0), &parsed.file));
    if !faults.is_empty() {
        return Ours::Stuck(said(&faults));
    }
    let positional = operands.iter().map(super::binding::tensor).collect();
    call(&defs, "case", &Binding { positional, named: Vec::new(), tensors: operands.to_vec() })
}

fn call(defs: &Defs, name: &str, binding: &Binding) -> Ours {
    let mut lower = Lower::new(defs, &Arith);
    let elaborated = lower.outer_call(name, &binding.positional, &binding.named, Span::new(FileId(0), 0, 0));
    let diagnostics = lower.take_diagnostics();
    match elaborated {
        Some(call) => evaluate(&call, &binding.tensors),
        None if diagnostics.iter().any(|d| NOT_YET.contains(&d.code)) => Ours::Missing(said(&diagnostics)),
        None if diagnostics.iter().all(|d| class_of(d.code).is_some()) => Ours::Refused(said(&diagnostics)),
        None => Ours::Stuck(said(&diagnostics)),
    }
}

fn evaluate(call: &OuterCall, tensors: &[Tensor]) -> Ours {
    let mut env = Env::new();
    for (var, tensor) in call.inputs.iter().zip(tensors) {
        env = env.with_tensor(var, tensor.clone());
    }
    match eval(&call.term, &env, Domain::Ieee, &Limits::default()) {
        Ok(value) => Ours::Value(value),
        Err(error) if error.class.is_some() => Ours::Refused(error.to_string()),
        Err(error) => Ours::Stuck(error.to_string()),
    }
}

fn said(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<String> = diagnostics.iter().map(|d| format!("{} {}", d.code, d.message)).collect();
    lines.join("; ")
}

fn verdict(record: &Record, ours: Ours) -> Finding {
    match (&record.outcome, ours) {
        (Outcome::Results(want), Ours::Value(value)) => match results(&value) {
            Ok(got) => difference(record, want, &got).map_or(Finding::Passed, Finding::Failed),
            Err(why) => Finding::Failed(why),
        },
        (Outcome::Results(_), Ours::Refused(why) | Ours::Missing(why) | Ours::Stuck(why)) => {
            Finding::Failed(why)
        }
        (Outcome::Error(_), Ours::Refused(_)) => Finding::Passed,
        (Outcome::Error(class), _) if class == "NotImplementedError" => Finding::Lifted,
        (Outcome::Error(class), Ours::Value(value)) => {
            Finding::Failed(format!("gives {}, recorded {class}", value.type_text()))
        }
        (Outcome::Error(class), Ours::Missing(why) | Ours::Stuck(why)) => {
            Finding::Failed(format!("{why}, recorded {class}"))
        }
    }
}
