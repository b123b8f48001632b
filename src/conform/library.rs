//! Cases from the `test` blocks of the operators, which are in the program.

use rtv_grammar::ast::ItemKind;
use rtv_grammar::lower::{Asserted, Defs, Given, Lower, Probe, Reading, Spoken};
use rtv_grammar::prelude::{Prelude, Source};
use rtv_runtime::protocol::{Argument, Call};
use rtv_semantics::arith::Arith;
use rtv_semantics::eval::{Datum, Env, Limits, eval};
use rtv_semantics::program::{Assertion, Mode};
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::Term;

use super::matrix::judge;
use super::{Case, Expected, Grade, Ours, Question, Room, Suite};

/// Calls that the arguments of an assertion may mean, at most.
const MAX_READINGS: usize = 256;

/// Every assertion of every operator that is about one call.
pub fn library() -> Suite {
    let defs = Defs::new(Prelude::shared());
    let reference = Ours::reference();
    let mut suite = Suite::default();
    for source in Prelude::shared().sources() {
        for item in source.items() {
            let mut lower = Lower::new(&defs, &Arith);
            if let Some(probes) = lower.asserted(item, source.name()) {
                let ItemKind::Test { name, .. } = &item.kind else { continue };
                Block { source, name: &name.name, reference: &reference, env: Env::new() }
                    .cases(&probes, &mut suite);
            }
        }
    }
    suite
}

/// One `test`, with the values of its names so far.
struct Block<'a> {
    source: &'a Source,
    name: &'a str,
    reference: &'a Ours,
    env: Env,
}

impl Block<'_> {
    fn cases(&mut self, probes: &[Probe], suite: &mut Suite) {
        let mut number = 0;
        for probe in probes {
            match probe {
                Probe::Let(var, term) => {
                    // What has no value leaves the assertions about it out.
                    if let Ok(value) = self.value(term) {
                        self.env.vars.insert(var.clone(), value);
                    }
                }
                Probe::Assert(asserted) => {
                    number += 1;
                    match self.case(asserted, number) {
                        Ok(case) => suite.cases.push(case),
                        Err(reason) => suite.leave_out(format!("test: {reason}")),
                    }
                }
            }
        }
    }

    fn value(&self, term: &Term) -> Result<Datum, String> {
        eval(term, &self.env, Domain::Ieee, &Limits::default()).map_err(|why| why.to_string())
    }

    fn tensor(&self, term: &Term) -> Result<Tensor, &'static str> {
        match self.value(term) {
            Ok(Datum::Tensor(tensor)) => Ok(tensor),
            Ok(_) => Err("a value is no tensor"),
            Err(_) => Err("an argument fails itself"),
        }
    }

    fn case(&mut self, asserted: &Asserted, number: usize) -> Result<Case, &'static str> {
        let spoken = asserted.call.as_ref().map_err(|why| *why)?;
        let (expected, stated) = self.expected(asserted, spoken)?;
        let operator =
            Prelude::shared().meant(&spoken.operator).map_or("", |source| source.name()).to_string();
        let id = format!("{}/{}:{number}", self.source.name(), self.name);
        let calls = self.calls(spoken)?;
        let mut cases = calls.into_iter().map(|call| Case {
            id: id.clone(),
            operator: operator.clone(),
            question: Question::Call(call),
            expected: expected.clone(),
            stated,
            allowed: Grade::EXACT,
            contracted: Grade::EXACT,
            excepted: None,
        });
        let first = cases.next().ok_or("an argument is no value outside the language")?;
        let means =
            |case: &Case| judge(case, &self.reference.ask(&case.question), Room::Stated).contracts.passed();
        let meant = if means(&first) { Some(first.clone()) } else { cases.find(means) };
        match meant {
            Some(case) => Ok(with_grade(case, self.reference)),
            None if self.holds(asserted, spoken, stated) => Err("no call from outside means what it says"),
            // The reference is at fault, which its column shall show.
            None => Ok(with_grade(first, self.reference)),
        }
    }

    /// Whether the assertion holds as it is written.
    fn holds(&self, asserted: &Asserted, spoken: &Spoken, stated: Grade) -> bool {
        match &asserted.assertion {
            Assertion::Settled(found) => found.is_ok(),
            Assertion::Holds(term) => {
                self.tensor(term).is_ok_and(|t| t.item().and_then(Value::as_bool) == Some(true))
            }
            Assertion::Fails(term, class) => {
                let value = eval(term, &self.env, Domain::Ieee, &Limits::default());
                value.is_err_and(|error| error.class == Some(*class))
            }
            Assertion::Agrees(a, b, _) => {
                let (got, want) = if spoken.left { (a, b) } else { (b, a) };
                let (Ok(got), Ok(want)) = (self.tensor(got), self.tensor(want)) else { return false };
                let mut pairs = got.values().zip(want.values());
                got.dtype == want.dtype
                    && got.shape() == want.shape()
                    && pairs.all(|(g, w)| stated.admits(g, w, want.dtype))
            }
        }
    }

    fn expected(&self, asserted: &Asserted, spoken: &Spoken) -> Result<(Expected, Grade), &'static str> {
        match (&asserted.assertion, asserted.fails) {
            (Assertion::Fails(..) | Assertion::Settled(_), Some(class)) => {
                Ok((Expected::Error(Some(class)), Grade::EXACT))
            }
            (Assertion::Agrees(a, b, mode), _) => {
                let tensor = self.tensor(if spoken.left { b } else { a })?;
                let grade = match mode {
                    Mode::Exact => Grade::EXACT,
                    Mode::Close { rtol, atol, ulp } => {
                        Grade { relative: *rtol, absolute: *atol, ulp: ulp.unwrap_or(0), any_zero: false }
                    }
                    Mode::Reassoc | Mode::Real => return Err("an equality of another mode"),
                };
                Ok(match spoken.part {
                    Some(part) => (Expected::Part(part, tensor), grade),
                    None => (Expected::Outputs(vec![tensor]), grade),
                })
            }
            (Assertion::Holds(_), _) => Err("a condition"),
            (Assertion::Fails(..) | Assertion::Settled(_), None) => Err("decided while elaborating"),
        }
    }

    /// The calls that the arguments may mean, the likeliest first.
    fn calls(&self, spoken: &Spoken) -> Result<Vec<Call>, &'static str> {
        let named = spoken.named.iter().map(|(_, readings)| readings);
        let mut choices: Vec<Vec<Argument>> = vec![Vec::new()];
        for readings in spoken.positional.iter().chain(named) {
            let arguments: Vec<Argument> =
                readings.iter().map(|reading| self.argument(reading)).collect::<Result<_, _>>()?;
            choices = choices
                .into_iter()
                .flat_map(|before| {
                    arguments
                        .iter()
                        .map(move |argument| [&before[..], std::slice::from_ref(argument)].concat())
                })
                .take(MAX_READINGS)
                .collect();
        }
        let call = |mut arguments: Vec<Argument>| {
            let named = arguments.split_off(spoken.positional.len());
            let names = spoken.named.iter().map(|(name, _)| name.clone());
            Call {
                operator: spoken.operator.clone(),
                positional: arguments,
                named: names.zip(named).collect(),
            }
        };
        Ok(choices.into_iter().map(call).collect())
    }

    fn argument(&self, reading: &Reading) -> Result<Argument, &'static str> {
        Ok(match reading {
            Reading::Tensor(term) => Argument::Tensor(self.tensor(term)?),
            Reading::Tensors(terms) => {
                Argument::Tensors(terms.iter().map(|term| self.tensor(term)).collect::<Result<_, _>>()?)
            }
            Reading::Number(term) => match self.tensor(term)?.item() {
                Some(Value::Float(x)) => Argument::Float(format!("{x:?}").to_lowercase()),
                _ => return Err("a number is no float"),
            },
            Reading::Static(given) => match given {
                Given::Int(k) => Argument::Int(*k),
                Given::Float(text) => Argument::Float(text.clone()),
                Given::Bool(b) => Argument::Bool(*b),
                Given::Str(text) => Argument::Text(text.clone()),
                Given::DType(dtype) => Argument::DType(*dtype),
                Given::Ints(list) => Argument::Ints(list.clone()),
                Given::None => Argument::None,
                Given::Tensor(_) | Given::TensorList(_) => return Err("a tensor without elements"),
            },
        })
    }
}

/// The case with what its operator allows.
pub fn with_grade(mut case: Case, reference: &Ours) -> Case {
    let wanted = match &case.expected {
        Expected::Outputs(outputs) => &outputs[..],
        Expected::Part(_, tensor) => std::slice::from_ref(tensor),
        Expected::Error(_) => &[],
    };
    if let (Some(dtype), Ok(call)) =
        (wanted.iter().map(|t| t.dtype).find(|d| d.is_float()), reference.elaborate(&case.question))
    {
        case.allowed = Grade::of(&call.term, dtype, case.question.tensors());
        case.contracted = Grade::contracted(&call.term, dtype, case.question.tensors());
    }
    case
}
