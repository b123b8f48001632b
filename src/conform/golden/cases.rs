//! From a record to a case: the operator that carries its `@aten` name, and its arguments.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rtv_grammar::lower::{Entry, Library};
use rtv_grammar::prelude::Prelude;
use rtv_runtime::protocol::Call;

use super::record::{FAMILIES, Outcome, Record, cases};
use super::{Exception, Schemas, bind, exceptions, form};
use crate::conform::library::with_grade;
use crate::conform::{Answer, Case, Expected, Grade, Ours, Question, Suite};

/// The operators by the overloads they stand for.
pub struct Overloads {
    schemas: Arc<Schemas>,
    blocks: BTreeMap<String, Vec<(String, Entry)>>,
}

impl Overloads {
    pub fn new(library: &dyn Library, schemas: Arc<Schemas>) -> Overloads {
        let mut blocks: BTreeMap<String, Vec<(String, Entry)>> = BTreeMap::new();
        for name in library.names() {
            for entry in library.overloads(&name) {
                for aten in entry.aten() {
                    blocks.entry(aten.to_string()).or_default().push((name.clone(), entry.clone()));
                }
            }
        }
        Overloads { schemas, blocks }
    }

    /// The operators that a record may call.
    pub fn operators(&self, record: &Record) -> impl Iterator<Item = &str> {
        self.blocks.get(&record.aten).into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// The calls that a record may be, in the order in which they are tried; or why it is
    /// none.
    ///
    /// # Errors
    /// When the overload has no schema.
    pub fn calls(&self, record: &Record) -> Result<Result<Vec<Call>, String>, String> {
        let schema = self.schemas.of(&record.aten)?;
        let Some(blocks) = self.blocks.get(&record.aten) else { return Ok(Err("no operator".into())) };
        let (mut calls, mut first_reason) = (Vec::new(), None);
        for (name, entry) in blocks {
            match bind(record, schema, entry) {
                Ok(binding) => calls.push(binding.call(name)),
                Err(reason) => first_reason = first_reason.or(Some(reason)),
            }
        }
        Ok(if calls.is_empty() { Err(first_reason.unwrap_or_default()) } else { Ok(calls) })
    }
}

/// The cases of all records in a folder.
///
/// # Errors
/// When a file is missing or is none of records.
pub fn records(folder: &Path) -> Result<Suite, String> {
    let library = Prelude::shared();
    let overloads = Overloads::new(&*library, Arc::new(Schemas::load(folder)?));
    let exceptions = exceptions(&folder.join("exceptions.txt"))?;
    let reference = Ours::reference();
    let mut suite = Suite::default();
    for family in FAMILIES {
        for record in cases(folder, family)? {
            match case(&record, &overloads, &reference)? {
                Ok(mut case) => {
                    let listed = exceptions.iter().find(|e| e.matches(&record.id));
                    case.excepted = listed.map(|e: &Exception| e.reason.clone());
                    suite.cases.push(case);
                }
                Err(reason) => suite.leave_out(format!("record: {reason}")),
            }
        }
    }
    Ok(suite)
}

fn case(record: &Record, overloads: &Overloads, reference: &Ours) -> Result<Result<Case, String>, String> {
    if let Outcome::Error(class) = &record.outcome
        && class == "NotImplementedError"
    {
        return Ok(Err("PyTorch has no kernel".into()));
    }
    let (operator, question) = match form(record) {
        Some(form) => {
            let name = record.aten.split('.').next().unwrap_or_default().to_string();
            (name, Question::Program { text: form.text, operands: form.operands })
        }
        None => match overloads.calls(record)? {
            Ok(calls) => {
                let call = first_that_types(calls, reference);
                (call.operator.clone(), Question::Call(call))
            }
            Err(reason) => return Ok(Err(reason)),
        },
    };
    if let Err(Answer::Unsupported(why)) = reference.elaborate(&question) {
        return Ok(Err(why));
    }
    let expected = match &record.outcome {
        Outcome::Results(outputs) => Expected::Outputs(outputs.clone()),
        Outcome::Error(_) => Expected::Error(None),
    };
    let dtype = match &record.outcome {
        Outcome::Results(outputs) => outputs.iter().map(|t| t.dtype).find(|d| d.is_float()),
        Outcome::Error(_) => None,
    };
    let stated = dtype.map_or(Grade::EXACT, |dtype| record.grade(dtype));
    let case = Case {
        id: format!("pytorch/{}", record.id),
        operator,
        question,
        expected,
        stated,
        allowed: Grade::EXACT,
        contracted: Grade::EXACT,
        excepted: None,
    };
    Ok(Ok(with_grade(case, reference)))
}

/// The first call that elaborates, else the first.
fn first_that_types(mut calls: Vec<Call>, reference: &Ours) -> Call {
    let types = |call: &Call| {
        !matches!(reference.elaborate(&Question::Call(call.clone())), Err(Answer::Error { .. }))
    };
    let at = calls.iter().position(types).unwrap_or(0);
    calls.swap_remove(at)
}
