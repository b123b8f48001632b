//! A function and what it became, side by side on the CPU backend, at sizes that are too large for
//! the reference evaluator.

use std::time::Instant;

use rtv_runtime::array::Array;
use rtv_runtime::backend::{Backend as _, Output, Prepared};
use rtv_runtime::cost::Cost;
use rtv_runtime::cpu::Cpu;
use rtv_runtime::loops::ArrayDecl;
use rtv_runtime::random::Stream;
use rtv_runtime::spec::{Argument, Setting};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::Function;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::Fresh;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{Binder, Form, Term, Var};

use super::sizes::{Sizes, at_sizes};

/// What running a program may cost: a second or so.
const MOST: f64 = 2e10;

/// What computing the whole of a result may cost; of a larger one only the first rows are compared.
const WHOLE: f64 = 4e9;
const ROWS: i64 = 16;

/// How the results of two programs compare.
#[derive(Clone, Copy, Default, Debug)]
pub struct Apart {
    /// The largest difference of two elements, relative to the largest element.
    pub difference: f64,
    /// Whether an element is infinite or NaN in the result alone.
    pub lost: bool,
}

/// Two programs ready to be run on the same arguments.
pub struct Pair {
    programs: [Box<dyn Prepared>; 2],
    /// Normal numbers.
    arguments: Vec<Array>,
    /// Whether all of both results is computed, and not only their first rows.
    whole: bool,
}

impl Pair {
    /// Of a function and what it became; nothing where they are too large, or one does not run on the backend.
    /// Each has sizes of its own.
    pub fn new(source: (&Function, &Sizes), result: (&Function, &Sizes)) -> Option<Pair> {
        let at = |(function, sizes): (&Function, &Sizes)| at_sizes(function, &function.body, sizes);
        let ((from, inputs), (to, others)) = (at(source)?, at(result)?);
        let exceeds = |term: &Term, inputs: &[_], most| Some(Cost::of(term, inputs).ok()?.total() > most);
        let dear =
            |from: &Term, to: &Term, most| Some(exceeds(from, &inputs, most)? || exceeds(to, &others, most)?);
        let whole = !dear(&from, &to, WHOLE)?;
        let (from, to) = match whole {
            true => (from, to),
            false => (first_rows(&from).unwrap_or(from), first_rows(&to).unwrap_or(to)),
        };
        let decls =
            |inputs: &[(Var, ArrayDecl)]| inputs.iter().map(|(_, decl)| decl.clone()).collect::<Vec<_>>();
        if dear(&from, &to, MOST)? || decls(&inputs) != decls(&others) {
            return None;
        }
        let arguments = inputs.iter().enumerate();
        let arguments = arguments
            .map(|(number, (_, decl))| argument(decl.dtype, &decl.shape, number as u64))
            .collect::<Option<_>>()?;
        let programs = [Cpu.prepare(&from, &inputs).ok()?, Cpu.prepare(&to, &others).ok()?];
        Some(Pair { programs, arguments, whole })
    }

    /// Whether they take long, even so that only the first rows of their results are computed.
    pub fn is_dear(&self) -> bool {
        !self.whole
    }

    /// Runs both on what a function makes of normal numbers.
    pub fn apart(&self, of: fn(f64) -> f64) -> Option<Apart> {
        let arguments: Vec<Array> =
            self.arguments.iter().map(|argument| mapped(argument, of)).collect::<Option<_>>()?;
        let [source, result] = &self.programs;
        let (source, result) = (source.run(&arguments).ok()?, result.run(&arguments).ok()?);
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

    /// Seconds of one run of a program, the least of as many as fit in a time.
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

/// The first rows of a tensor that a term computes, where it has more.
fn first_rows(term: &Term) -> Option<Term> {
    let (mut chain, mut last) = (Vec::new(), term);
    while let Form::Let(var, value, body) = last.form() {
        chain.push((var.clone(), value.clone()));
        last = body;
    }
    // The value that is named last and returned is asked for its elements, not computed as a whole.
    let returned = |(var, _): &(Var, Term)| matches!(last.form(), Form::Var(v) if v == var);
    let last = if chain.last().is_some_and(returned) { chain.pop()?.1 } else { last.clone() };
    let rows = Size::int(ROWS);
    let shape = &last.tensor_type()?.shape;
    if shape.first()?.as_i64()? <= ROWS {
        return None;
    }
    let mut fresh = Fresh::above([term]);
    let extents = std::iter::once(&rows).chain(&shape[1..]);
    let binder =
        |extent: &Size| Binder { sym: fresh.sym(&Sym::new(0, SymKind::Index, "i")), extent: extent.clone() };
    let binders: Vec<Binder> = extents.map(binder).collect();
    let span = term.span();
    let index = binders.iter().map(|binder| Term::size(Size::sym(&binder.sym), span)).collect();
    let few = Term::comp(binders, Term::read(last, index, span), span);
    Some(chain.into_iter().rev().fold(few, |body, (var, value)| Term::let_(var, value, body, span)))
}

/// The time of the result over that of the source, run in turns: the median of some rounds; nothing of
/// programs that are too dear to be run as a whole.
pub fn ratio(
    source: &Function,
    result: &Function,
    sizes: &Sizes,
    rounds: usize,
    seconds: f64,
) -> Option<f64> {
    let pair = Pair::new((source, sizes), (result, sizes)).filter(|pair| pair.whole)?;
    let round = |_| Some(pair.time(1, seconds)? / pair.time(0, seconds)?);
    let mut ratios: Vec<f64> = (0..rounds).map(round).collect::<Option<_>>()?;
    ratios.sort_by(f64::total_cmp);
    ratios.get(rounds / 2).copied()
}

fn elements(output: &Output) -> Vec<f64> {
    match output {
        Output::Array(array) => match singles(array) {
            Some(singles) => singles.map(f64::from).collect(),
            None => array.to_tensor().values().map(number).collect(),
        },
        Output::Tuple(parts) => parts.iter().flat_map(elements).collect(),
        Output::Size(size) => vec![*size as f64],
    }
}

/// The elements of an array of f32, of which most programs are.
fn singles(array: &Array) -> Option<impl Iterator<Item = f32>> {
    let (elements, rest) = array.bytes().as_chunks();
    (array.dtype == DType::F32 && rest.is_empty())
        .then(|| elements.iter().map(|four| f32::from_ne_bytes(*four)))
}

/// What a function makes of the floats of an array.
fn mapped(array: &Array, of: fn(f64) -> f64) -> Option<Array> {
    let (dtype, shape) = (array.dtype, &array.shape);
    if let Some(singles) = singles(array) {
        let bytes: Vec<u8> = singles.flat_map(|x| (of(f64::from(x)) as f32).to_ne_bytes()).collect();
        return Array::from_bytes(dtype, shape, &bytes).ok();
    }
    let each = |value: &Value| match value {
        Value::Float(x) => Value::Float(Value::round(of(*x), dtype)),
        other => other.clone(),
    };
    let values = array.to_tensor().values().map(each).collect();
    Array::from_tensor(&Tensor::new(dtype, shape, values).ok()?).ok()
}

fn number(value: &Value) -> f64 {
    let whole = value.as_int().or(value.as_bool().map(i64::from)).map(|n| n as f64);
    value.as_float().or(whole).unwrap_or(f64::NAN)
}

/// Normal numbers; whole ones are 0 or 1, so that they may serve as indices.
fn argument(dtype: DType, shape: &[usize], number: u64) -> Option<Array> {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    let dims = dims.join(", ");
    let text =
        if dtype.is_float() { format!("x=randn({dims})") } else { format!("x=randint(0, 2, [{dims}])") };
    let argument = Argument::parse(&text).ok()?;
    let stream = Stream { seed: 0, number };
    let tensor = argument.tensor(&Setting { dtype: Some(dtype), domain: Domain::Ieee, stream }).ok()?;
    Array::from_tensor(&tensor).ok()
}
