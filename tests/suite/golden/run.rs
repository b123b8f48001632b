//! One case through the language: the operators that carry its `@aten` name, elaborated and
//! evaluated.

use super::compare::difference;
use super::folder;
use rtv::conform::golden::record::{Outcome, Record};
use rtv::conform::golden::{Overloads, Schemas, form};
use rtv::conform::{Answer, Ours, Question};
use rtv_grammar::lower::Library;
use rtv_grammar::prelude::Prelude;
use std::sync::Arc;

/// How a case came out.
#[derive(Clone, PartialEq, Debug)]
pub enum Finding {
    Passed,
    /// PyTorch has no kernel where the language has a meaning.
    Lifted,
    Failed(String),
    NotCovered(String),
}

/// The operators by the overloads they stand for.
pub struct Runner {
    ours: Ours,
    schemas: Arc<Schemas>,
    overloads: Overloads,
}

impl Runner {
    pub fn new() -> Result<Runner, String> {
        Ok(Runner::over(Prelude::shared(), Arc::new(Schemas::load(&folder())?)))
    }

    /// The same cases on another library.
    pub fn with(&self, library: Arc<dyn Library>) -> Runner {
        Runner::over(library, self.schemas.clone())
    }

    /// The operators that a case may call.
    pub fn operators(&self, record: &Record) -> impl Iterator<Item = &str> {
        self.overloads.operators(record)
    }

    fn over(library: Arc<dyn Library>, schemas: Arc<Schemas>) -> Runner {
        let overloads = Overloads::new(&*library, schemas.clone());
        Runner { ours: Ours::over(library), schemas, overloads }
    }

    pub fn run(&self, record: &Record) -> Result<Finding, String> {
        let attempt = match form(record) {
            Some(form) => Ok(self.ours.ask(&Question::Program { text: form.text, operands: form.operands })),
            None => self.attempt(record)?,
        };
        Ok(match attempt {
            Ok(Answer::Unsupported(what)) | Err(what) => Finding::NotCovered(what),
            Ok(answer) => verdict(record, answer),
        })
    }

    /// The first call that types; the reason why there is none to make.
    fn attempt(&self, record: &Record) -> Result<Result<Answer, String>, String> {
        let calls = match self.overloads.calls(record)? {
            Ok(calls) => calls,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut refused = None;
        for call in calls {
            match self.ours.ask(&Question::Call(call)) {
                refusal @ Answer::Error { .. } => refused = refused.or(Some(refusal)),
                answer => return Ok(Ok(answer)),
            }
        }
        Ok(Ok(refused.expect("invariant: there is a call")))
    }
}

fn verdict(record: &Record, answer: Answer) -> Finding {
    match (&record.outcome, answer) {
        (Outcome::Results(want), Answer::Outputs(got)) => {
            difference(record, want, &got).map_or(Finding::Passed, Finding::Failed)
        }
        (
            Outcome::Results(_),
            Answer::Error { message: why, .. } | Answer::Unsupported(why) | Answer::Broken(why),
        ) => Finding::Failed(why),
        (Outcome::Error(_), Answer::Error { .. }) => Finding::Passed,
        (Outcome::Error(class), _) if class == "NotImplementedError" => Finding::Lifted,
        (Outcome::Error(class), Answer::Outputs(got)) => {
            let types: Vec<String> = got.iter().map(|tensor| tensor.type_text()).collect();
            Finding::Failed(format!("gives {}, recorded {class}", types.join(", ")))
        }
        (Outcome::Error(class), Answer::Unsupported(why) | Answer::Broken(why)) => {
            Finding::Failed(format!("{why}, recorded {class}"))
        }
    }
}
