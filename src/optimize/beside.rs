//! A function and what it became, side by side on the CPU backend, at sizes that are too large for
//! the reference evaluator.

use std::time::Instant;

use rtv_runtime::array::Array;
use rtv_runtime::backend::{Backend as _, Output, Prepared};
use rtv_runtime::cpu::Cpu;
use rtv_runtime::random::Stream;
use rtv_runtime::spec::{Argument, Setting};
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::Datum;
use rtv_semantics::program::Function;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::tensor::Tensor;

use super::{Sizes, at_sizes, cost};

/// What running a program may cost: a second or so.
const MOST: f64 = 2e10;

/// How the results of two programs compare.
#[derive(Clone, Copy, Default, Debug)]
pub struct Apart {
    /// The largest difference of two elements, relative to the largest element.
    pub difference: f64,
    /// Whether an element is infinite or NaN in the result alone.
    pub lost: bool,
}

/// Two programs ready to be run on the same arguments.
struct Pair {
    programs: [Box<dyn Prepared>; 2],
    arguments: Vec<Array>,
}

impl Pair {
    /// On normal numbers, times a factor; nothing where they are too large, or one does not run on the backend.
    fn new(source: (&Function, &Sizes), result: (&Function, &Sizes), factor: f64) -> Option<Pair> {
        let small = |(function, sizes): (&Function, &Sizes)| {
            cost(function, &function.body, sizes).is_some_and(|c| c.total() < MOST)
        };
        if !small(source) || !small(result) {
            return None;
        }
        let at = |(function, sizes): (&Function, &Sizes)| at_sizes(function, &function.body, sizes);
        let ((source, inputs), (result, others)) = (at(source)?, at(result)?);
        if inputs.iter().map(|(_, decl)| decl).ne(others.iter().map(|(_, decl)| decl)) {
            return None;
        }
        let arguments = inputs.iter().enumerate();
        let arguments = arguments
            .map(|(number, (_, decl))| argument(decl.dtype, &decl.shape, factor, number as u64))
            .collect::<Option<_>>()?;
        let programs = [Cpu.prepare(&source, &inputs).ok()?, Cpu.prepare(&result, &others).ok()?];
        Some(Pair { programs, arguments })
    }

    fn run(&self, which: usize) -> Option<Datum> {
        self.programs[which].run(&self.arguments).ok().map(Output::into_datum)
    }

    /// Seconds of one run, the least of as many as fit in a time.
    fn time(&self, which: usize, seconds: f64) -> Option<f64> {
        let (began, mut least) = (Instant::now(), f64::INFINITY);
        while least.is_infinite() || began.elapsed().as_secs_f64() < seconds {
            let started = Instant::now();
            self.programs[which].run(&self.arguments).ok()?;
            least = least.min(started.elapsed().as_secs_f64());
        }
        Some(least)
    }
}

/// Runs both on normal numbers, times a factor, the second at its own sizes.
pub fn apart(source: &Function, result: (&Function, &Sizes), sizes: &Sizes, factor: f64) -> Option<Apart> {
    let pair = Pair::new((source, sizes), result, factor)?;
    let (source, result) = (pair.run(0)?, pair.run(1)?);
    let (mut largest, mut difference, mut lost) = (0.0f64, 0.0f64, false);
    for (a, b) in elements(&source).into_iter().zip(elements(&result)) {
        lost |= a.is_finite() && !b.is_finite();
        if a.is_finite() && b.is_finite() {
            largest = largest.max(a.abs());
            difference = difference.max((a - b).abs());
        }
    }
    let difference = if difference == 0.0 { 0.0 } else { difference / largest };
    Some(Apart { difference, lost })
}

/// The time of the result over that of the source, run in turns: the median of some rounds.
pub fn ratio(
    source: &Function,
    result: &Function,
    sizes: &Sizes,
    rounds: usize,
    seconds: f64,
) -> Option<f64> {
    let pair = Pair::new((source, sizes), (result, sizes), 1.0)?;
    let round = |_| Some(pair.time(1, seconds)? / pair.time(0, seconds)?);
    let mut ratios: Vec<f64> = (0..rounds).map(round).collect::<Option<_>>()?;
    ratios.sort_by(f64::total_cmp);
    ratios.get(rounds / 2).copied()
}

fn elements(datum: &Datum) -> Vec<f64> {
    match datum {
        Datum::Tensor(tensor) => tensor.values().map(number).collect(),
        Datum::Tuple(parts) => parts.iter().flat_map(elements).collect(),
        Datum::Size(size) => vec![*size as f64],
    }
}

fn number(value: &Value) -> f64 {
    let whole = value.as_int().or(value.as_bool().map(i64::from)).map(|n| n as f64);
    value.as_float().or(whole).unwrap_or(f64::NAN)
}

/// Normal numbers; whole ones are 0 or 1, so that they may serve as indices.
fn argument(dtype: DType, shape: &[usize], factor: f64, number: u64) -> Option<Array> {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    let dims = dims.join(", ");
    let text =
        if dtype.is_float() { format!("x=randn({dims})") } else { format!("x=randint(0, 2, [{dims}])") };
    let argument = Argument::parse(&text).ok()?;
    let stream = Stream { seed: 0, number };
    let tensor = argument.tensor(&Setting { dtype: Some(dtype), domain: Domain::Ieee, stream }).ok()?;
    let scaled = |value: &Value| match value {
        Value::Float(x) => Value::Float(Value::round(x * factor, dtype)),
        other => other.clone(),
    };
    let tensor = Tensor::new(dtype, shape, tensor.values().map(scaled).collect()).ok()?;
    Array::from_tensor(&tensor).ok()
}
