//! Running `test` blocks on the reference evaluator.

use crate::compare::{difference, domain};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::eval::{Datum, Env, EvalError, Limits, eval};
use rtv_semantics::program::{Assertion, Mode, Step, Test};
use rtv_semantics::scalar::Domain;
use rtv_semantics::term::Term;

/// A test is small; what needs more steps is refused.
fn limits() -> Limits {
    Limits { max_steps: 1 << 26, ..Limits::default() }
}

/// What running a test gave.
pub struct TestRun {
    pub assertions: u64,
    pub failures: Vec<Diagnostic>,
}

/// Runs a test; the names it binds are evaluated once, where first needed by a step.
pub fn run(test: &Test) -> TestRun {
    let mut run = TestRun { assertions: 0, failures: Vec::new() };
    let (mut ieee, mut exact) = (Env::new(), Env::new());
    for step in &test.steps {
        match step {
            Step::Let(var, value) => match eval(value, &ieee, Domain::Ieee, &limits()) {
                Ok(datum) => {
                    // Where the exact domain has no value, steps that need it say so.
                    if let Ok(datum) = eval(value, &exact, Domain::Exact, &limits()) {
                        exact.vars.insert(var.clone(), datum);
                    }
                    ieee.vars.insert(var.clone(), datum);
                }
                Err(error) => {
                    run.failures.push(error.to_diagnostic());
                    return run;
                }
            },
            Step::Assert(assertion, span) => {
                run.assertions += 1;
                run.failures.extend(assert(assertion, &ieee, &exact, *span).err());
            }
        }
    }
    run
}

fn assert(assertion: &Assertion, ieee: &Env, exact: &Env, span: Span) -> Result<(), Diagnostic> {
    let failed = |text: String| Diagnostic::error(Code(405), span, format!("assertion failed: {text}"));
    match assertion {
        Assertion::Settled(Ok(())) => Ok(()),
        Assertion::Settled(Err(text)) => Err(failed(text.clone())),
        Assertion::Holds(term) => match value(term, ieee)? {
            Datum::Tensor(t) if t.values().all(|v| v.as_bool() == Some(true)) => Ok(()),
            _ => Err(failed("it is false".into())),
        },
        Assertion::Agrees(a, b, mode) => agrees(a, b, *mode, ieee, exact).map_err(|fault| match fault {
            Fault::Differs(text) => failed(text),
            Fault::Error(error) => error.to_diagnostic(),
        }),
        Assertion::Fails(term, class) => match eval(term, ieee, Domain::Ieee, &limits()) {
            Ok(datum) => Err(failed(format!("no error, but\n{datum}"))),
            Err(error) if error.class == Some(*class) => Ok(()),
            Err(error) => {
                let found = error.class.map_or("none", |c| c.name());
                Err(failed(format!("it fails in class `{found}`: {}", error.message)))
            }
        },
    }
}

fn value(term: &Term, env: &Env) -> Result<Datum, Diagnostic> {
    eval(term, env, Domain::Ieee, &limits()).map_err(|e| e.to_diagnostic())
}

enum Fault {
    Differs(String),
    Error(EvalError),
}

impl From<EvalError> for Fault {
    fn from(error: EvalError) -> Fault {
        Fault::Error(error)
    }
}

fn agrees(a: &Term, b: &Term, mode: Mode, ieee: &Env, exact: &Env) -> Result<(), Fault> {
    let domain = domain(mode);
    let env = if domain == Domain::Exact { exact } else { ieee };
    let left = eval(a, env, domain, &limits())?;
    let right = eval(b, env, domain, &limits())?;
    match difference(&left, &right, mode, false) {
        None => Ok(()),
        Some(difference) => {
            let place = difference.at.map_or(String::new(), |at| format!(" at {at:?}"));
            let kind = difference.contract.name();
            Err(Fault::Differs(format!(
                "{kind}s differ{place}: {}\nleft:  {left}\nright: {right}",
                difference.text
            )))
        }
    }
}
