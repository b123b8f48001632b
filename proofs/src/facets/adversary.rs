//! Floats against a claim that is true of real numbers: ordinary ones of several sizes,
//! then the same with one parameter special.

use super::{Cause, Facets, Special};
use crate::choices::unusual;
use crate::counterexample::Counterexample;
use crate::refute::{Drawn, Trial, draw, environment, judge, limits};
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{Datum, EvalError, eval};
use rtv_semantics::program::{Claim, Mode};
use rtv_semantics::sample::Sampler;
use rtv_semantics::scalar::{Domain, Value, ulp_distance};
use rtv_semantics::tensor::Tensor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Instances compared, the most usual dtypes first.
const INSTANCES: usize = 5;

/// Ordinary inputs of one instance, and those of them that are made special.
const ORDINARY: u64 = 48;
const MADE_SPECIAL: u64 = 8;

/// Inputs of all kinds where nothing but rounding was found.
const MIXED: u64 = 60;

/// Draws for each input that meets the preconditions.
const DRAWS: u64 = 10;

/// Rounds of sizes, which grow from 0 and 1 to 4 at most where preconditions do not ask for more.
const SIZES: u64 = 8;

/// The exponential of this is just finite in f32.
const EDGE_OF_EXP: f64 = 88.0;

/// Factors of ordinary numbers: usual, large enough for `exp` to overflow, small.
const SCALES: [f64; 6] = [1.0, 100.0, 1.0, 8.0, 100.0, 1e-3];

/// Compares the two sides of a claim bit for bit; how strong a mode holds is not asked.
pub fn compare(claims: &[Arc<Claim>], seed: u64) -> Facets {
    let mut search = Search::after(Facets::none(Mode::Real), seed);
    chosen(claims).into_iter().for_each(|claim| {
        search.instance(&Arc::new(Claim { mode: Mode::Exact, ..(**claim).clone() }));
    });
    search.found
}

/// One instance of few axes for each choice of dtypes, as many as there is time for.
fn chosen(claims: &[Arc<Claim>]) -> Vec<&Arc<Claim>> {
    let far_from_one =
        |claim: &Claim| -> usize { claim.ranks.iter().map(|(_, extents)| extents.len().abs_diff(1)).sum() };
    let mut sorted: Vec<&Arc<Claim>> = claims.iter().collect();
    sorted.sort_by_key(|claim| (far_from_one(claim), unusual(&claim.dtypes)));
    let mut seen = BTreeSet::new();
    sorted.retain(|claim| seen.insert(claim.dtypes.clone()));
    sorted.truncate(INSTANCES);
    sorted
}

/// A search with what it found so far.
pub struct Search {
    pub sampler: Sampler,
    pub found: Facets,
}

/// What the two sides are worth on one input.
enum Outcome {
    /// Nothing can be said.
    Silent,
    /// One side alone fails.
    Fails,
    Values(Box<(Datum, Datum)>),
}

impl Search {
    /// Continues from what was found before.
    pub fn after(found: Facets, seed: u64) -> Search {
        Search { sampler: Sampler::new(seed ^ 0xF10A_7500), found }
    }

    fn instance(&mut self, claim: &Arc<Claim>) {
        let mut special = 0;
        for round in 0..ORDINARY {
            let scale = SCALES[round as usize % SCALES.len()];
            let Some((drawn, outcome)) = self.ordinary(claim, round, scale) else { continue };
            let causes = self.causes(&outcome, true);
            let only_rounds = causes.iter().all(|cause| *cause == Cause::Rounding) && !is_far_apart(&outcome);
            causes.into_iter().for_each(|cause| self.note(cause, claim, &drawn));
            // Beside large numbers it would not be the special one alone that separates the sides.
            if scale == 1.0 && only_rounds && has_floats(&drawn) && special < MADE_SPECIAL {
                special += 1;
                self.specials(claim, &drawn, special.is_multiple_of(2));
            }
        }
        if self.found.apart.keys().all(|cause| *cause == Cause::Rounding) {
            (0..MIXED).for_each(|round| self.mixed(claim, round));
        }
    }

    /// Values of all kinds in all parameters.
    fn mixed(&mut self, claim: &Arc<Claim>, round: u64) {
        if let Some(drawn) = draw(claim, &mut self.sampler, round % SIZES) {
            self.compare(claim, &drawn);
        }
    }

    /// Notes what separates the sides on an input of any kind; whether anything does.
    pub fn compare(&mut self, claim: &Arc<Claim>, drawn: &Drawn) -> bool {
        let outcome = self.run(claim, drawn);
        let special = special_values(drawn);
        let causes = self.causes(&outcome, special.is_empty());
        let mut special = special.into_iter();
        match (special.next(), special.next()) {
            (None, _) => causes.iter().for_each(|cause| self.note(cause.clone(), claim, drawn)),
            _ if causes.is_empty() => {}
            _ if !is_far_apart(&outcome) => self.note(Cause::Rounding, claim, drawn),
            (Some((param, special)), None) => self.note(Cause::At(param, special), claim, drawn),
            _ => self.note(Cause::Together, claim, drawn),
        }
        !causes.is_empty()
    }

    /// Ordinary numbers that meet the preconditions.
    fn ordinary(&mut self, claim: &Arc<Claim>, round: u64, scale: f64) -> Option<(Drawn, Outcome)> {
        (0..DRAWS).find_map(|attempt| {
            let mut drawn = draw(claim, &mut self.sampler, (round + attempt) % SIZES)?;
            // Where nothing is compared there is little to find.
            if attempt < DRAWS / 2 && !has_floats(&drawn) {
                return None;
            }
            // Preconditions often ask for positive numbers.
            let positive = attempt % 2 == 1;
            for (_, _, tensor) in drawn.tensors.iter_mut().filter(|(_, _, t)| t.dtype.is_float()) {
                *tensor = numbers(tensor.dtype, tensor.shape(), scale, positive, &mut self.sampler)?;
            }
            let outcome = self.run(claim, &drawn);
            (!matches!(outcome, Outcome::Silent)).then_some((drawn, outcome))
        })
    }

    /// The same input with one parameter special, in one element or in all.
    fn specials(&mut self, claim: &Arc<Claim>, drawn: &Drawn, everywhere: bool) {
        for k in 0..drawn.tensors.len() {
            let (_, name, tensor) = &drawn.tensors[k];
            if !tensor.dtype.is_float() || tensor.numel() == 0 {
                continue;
            }
            for special in Special::ALL {
                let value = Value::float(special.value(), tensor.dtype, Domain::Ieee);
                let place = self.sampler.below(tensor.numel());
                let at = |(n, old): (usize, &Value)| {
                    if everywhere || n == place { value.clone() } else { old.clone() }
                };
                let values = tensor.values().enumerate().map(at).collect();
                let Ok(changed) = Tensor::new(tensor.dtype, tensor.shape(), values) else { continue };
                let mut changed_input = drawn.clone();
                changed_input.tensors[k].2 = changed;
                if is_far_apart(&self.run(claim, &changed_input)) {
                    self.note(Cause::At(name.clone(), special), claim, &changed_input);
                }
            }
        }
    }

    /// Both sides on an input, which is counted if they can be compared.
    fn run(&mut self, claim: &Claim, drawn: &Drawn) -> Outcome {
        let outcome = run(claim, drawn);
        self.found.inputs += u64::from(!matches!(outcome, Outcome::Silent));
        outcome
    }

    /// What would separate the sides if all that is given to them is ordinary; only then
    /// distances count.
    fn causes(&mut self, outcome: &Outcome, ordinary: bool) -> BTreeSet<Cause> {
        let mut causes = BTreeSet::new();
        match outcome {
            Outcome::Silent => {}
            Outcome::Fails => drop(causes.insert(Cause::Error)),
            Outcome::Values(sides) => each_pair(sides, &mut |x, y, dtype| {
                causes.extend(cause(x, y));
                let finite = [x, y].iter().all(|v| v.as_float().is_some_and(f64::is_finite));
                if let (true, Some(distance)) = (ordinary && finite, ulp_distance(x, y, dtype)) {
                    let worst = self.found.worst.entry(dtype).or_default();
                    *worst = distance.max(*worst);
                }
            }),
        }
        causes
    }

    /// Keeps the first input that shows a cause.
    fn note(&mut self, cause: Cause, claim: &Arc<Claim>, drawn: &Drawn) {
        self.found.apart.entry(cause).or_insert_with(|| shown(claim, drawn));
    }
}

fn shown(claim: &Arc<Claim>, drawn: &Drawn) -> Option<Box<Counterexample>> {
    match judge(claim, drawn) {
        Trial::Differs(found) => Some(found),
        _ => None,
    }
}

fn has_floats(drawn: &Drawn) -> bool {
    drawn.tensors.iter().any(|(_, _, tensor)| tensor.dtype.is_float() && tensor.numel() > 0)
}

/// The special values of an input, by parameter.
fn special_values(drawn: &Drawn) -> BTreeSet<(Arc<str>, Special)> {
    let tensors = drawn.tensors.iter();
    let all = tensors.flat_map(|(_, name, tensor)| tensor.values().map(move |value| (name, value)));
    all.filter_map(|(name, value)| Some((name.clone(), Special::of(value.as_float()?)?))).collect()
}

/// Both sides in IEEE arithmetic.
fn run(claim: &Claim, drawn: &Drawn) -> Outcome {
    let env = environment(drawn, Domain::Ieee);
    let value = |term| eval(term, &env, Domain::Ieee, &limits());
    let holds = |datum: Datum| datum.as_tensor().and_then(Tensor::item).and_then(Value::as_bool);
    if !claim.requires.iter().all(|r| value(&r.cond).is_ok_and(|datum| holds(datum) == Some(true))) {
        return Outcome::Silent;
    }
    let unlimited = |error: &EvalError| error.class.is_some();
    match (value(&claim.lhs), value(&claim.rhs)) {
        (Ok(left), Ok(right)) => Outcome::Values(Box::new((left, right))),
        (Err(_), Ok(_)) if claim.directed => Outcome::Silent,
        (Ok(_), Err(error)) | (Err(error), Ok(_)) if unlimited(&error) => Outcome::Fails,
        _ => Outcome::Silent,
    }
}

/// Numbers that are neither zero nor infinite.
fn numbers(
    dtype: DType,
    shape: &[usize],
    scale: f64,
    positive: bool,
    sampler: &mut Sampler,
) -> Option<Tensor> {
    let count: usize = shape.iter().product();
    let mut number = || loop {
        let drawn = match sampler.below(4) {
            0 if scale > 8.0 => EDGE_OF_EXP * (sampler.integer(-1, 1) as f64),
            0 => sampler.integer(-4, 4) as f64,
            _ => scale * sampler.normal(),
        };
        let rounded = Value::float(if positive { drawn.abs() } else { drawn }, dtype, Domain::Ieee);
        if rounded.as_float().is_some_and(|x| x != 0.0 && x.is_finite()) {
            return rounded;
        }
    };
    Tensor::new(dtype, shape, (0..count).map(|_| number()).collect()).ok()
}

fn each_pair(sides: &(Datum, Datum), each: &mut impl FnMut(&Value, &Value, DType)) {
    each_of(&sides.0, &sides.1, each);
}

fn each_of(left: &Datum, right: &Datum, each: &mut impl FnMut(&Value, &Value, DType)) {
    match (left, right) {
        (Datum::Tensor(a), Datum::Tensor(b)) => {
            a.values().zip(b.values()).for_each(|(x, y)| each(x, y, a.dtype));
        }
        (Datum::Tuple(a), Datum::Tuple(b)) => a.iter().zip(b).for_each(|(a, b)| each_of(a, b, each)),
        _ => {}
    }
}

/// Why two results of ordinary numbers differ.
fn cause(x: &Value, y: &Value) -> Option<Cause> {
    if x.same(y) == Some(true) {
        return None;
    }
    Some(match (x.as_float(), y.as_float()) {
        (Some(a), Some(b)) if a.is_nan() || b.is_nan() => Cause::Undefined,
        (Some(a), Some(b)) if a.is_infinite() || b.is_infinite() => Cause::Overflow,
        (Some(a), Some(b)) if a == b => Cause::SignOfZero,
        _ => Cause::Rounding,
    })
}

/// Whether the sides differ by more than rounding.
fn is_far_apart(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Silent => false,
        Outcome::Fails => true,
        Outcome::Values(sides) => {
            let mut far = false;
            each_pair(sides, &mut |x, y, _| far |= is_far(x, y));
            far
        }
    }
}

/// Whether two results differ in kind, or by more than half of the larger one.
fn is_far(x: &Value, y: &Value) -> bool {
    match cause(x, y) {
        None => false,
        Some(Cause::Rounding) => match (x.as_float(), y.as_float()) {
            (Some(a), Some(b)) => (a - b).abs() > a.abs().max(b.abs()) / 2.0,
            _ => true,
        },
        Some(_) => true,
    }
}
