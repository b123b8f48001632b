//! A claim over the reals on random residues: see Note [Fields].
//!
//! A difference is a hint. It refutes nothing before an input of numbers shows it; but of a
//! claim that is proved, one that no opaque value enters says that the proof is wrong.

use crate::compare::difference;
use crate::counterexample::Counterexample;
use crate::refute::{Drawn, Trial, draw, draw_tensors, environment, judge, limits};
use crate::verdict::Contract;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{Datum, eval};
use rtv_semantics::program::Claim;
use rtv_semantics::sample::Sampler;
use rtv_semantics::scalar::{Domain, Residue, Value};
use rtv_semantics::size::Sym;
use rtv_semantics::tensor::Tensor;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Instances that are tried; dtypes make no difference, ranks do.
const INSTANCES: usize = 3;

/// Points at which one instance is compared.
const POINTS: u64 = 4;

/// Draws for each point that is inside the fragment.
const DRAWS: u64 = 6;

/// Inputs of numbers drawn at the sizes of a hint.
const TRIALS: u64 = 300;

/// What random residues say.
pub enum Fingerprints {
    /// Nothing: functions or preconditions have no meaning in a field.
    Outside,
    /// The sides agree at so many points.
    Agree(u64),
    Differ(Hint),
}

/// Where the sides of a claim differ on residues.
pub struct Hint {
    claim: Arc<Claim>,
    sizes: BTreeMap<Sym, i64>,
    /// Whether no value is opaque, so that the sides differ over the reals as well.
    conclusive: bool,
}

/// Compares the two sides of a claim `upto real` or `reassoc`.
pub fn fingerprints(claims: &[Arc<Claim>], seed: u64) -> Fingerprints {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut sampler = Sampler::new(random.next_u64());
    let mut agreed = 0;
    for claim in chosen(claims) {
        for point in 0..POINTS {
            let compared = (0..DRAWS).find_map(|attempt| {
                let round = 1 + 2 * point + attempt;
                let drawn = with_residues(draw(claim, &mut sampler, round)?, &mut random)?;
                compare(claim, drawn)
            });
            match compared {
                Some(Fingerprints::Agree(more)) => agreed += more,
                Some(hint) => return hint,
                None => {}
            }
        }
    }
    if agreed == 0 { Fingerprints::Outside } else { Fingerprints::Agree(agreed) }
}

/// Instances of different ranks, those of few axes first.
fn chosen(claims: &[Arc<Claim>]) -> Vec<&Arc<Claim>> {
    let axes = |claim: &Claim| -> usize { claim.ranks.iter().map(|(_, extents)| extents.len()).sum() };
    let mut sorted: Vec<&Arc<Claim>> = claims.iter().collect();
    sorted.sort_by_key(|claim| axes(claim));
    sorted.dedup_by_key(|claim| axes(claim));
    sorted.truncate(INSTANCES);
    sorted
}

/// The same input with residues for floats.
fn with_residues(mut drawn: Drawn, random: &mut ChaCha8Rng) -> Option<Drawn> {
    for (_, _, tensor) in drawn.tensors.iter_mut().filter(|(_, _, tensor)| tensor.dtype.is_float()) {
        let mut residue = || Value::Field(Residue::of_words(random.next_u64(), random.next_u64()));
        let values = (0..tensor.numel()).map(|_| residue()).collect();
        *tensor = Tensor::new(tensor.dtype, tensor.shape(), values).ok()?;
    }
    Some(drawn)
}

/// None where nothing can be said: outside the fragment, at a division by 0, or where no
/// element is compared.
fn compare(claim: &Arc<Claim>, drawn: Drawn) -> Option<Fingerprints> {
    let env = environment(&drawn, Domain::Field);
    let value = |term| eval(term, &env, Domain::Field, &limits()).ok();
    let truth = |datum: Datum| datum.as_tensor()?.item()?.as_bool();
    if !claim.requires.iter().all(|r| value(&r.cond).and_then(truth) == Some(true)) {
        return None;
    }
    let (left, right) = (value(&claim.lhs)?, value(&claim.rhs)?);
    let found = difference(&left, &right, claim.mode, claim.directed);
    if found.is_some_and(|found| found.contract == Contract::Value) {
        let conclusive = !is_opaque(&left) && !is_opaque(&right);
        return Some(Fingerprints::Differ(Hint { claim: claim.clone(), sizes: drawn.sizes, conclusive }));
    }
    (left.same(&right) == Some(true) && has_floats(&left)).then_some(Fingerprints::Agree(1))
}

fn is_opaque(datum: &Datum) -> bool {
    any_value(datum, &|value, _| value.as_residue().is_some_and(Residue::is_opaque))
}

fn has_floats(datum: &Datum) -> bool {
    any_value(datum, &|_, dtype| dtype.is_float())
}

fn any_value(datum: &Datum, holds: &dyn Fn(&Value, DType) -> bool) -> bool {
    match datum {
        Datum::Tensor(tensor) => tensor.values().any(|value| holds(value, tensor.dtype)),
        Datum::Tuple(parts) => parts.iter().any(|part| any_value(part, holds)),
        Datum::Size(_) => false,
    }
}

impl Fingerprints {
    /// Whether the sides certainly differ over the reals.
    pub fn deny(&self) -> bool {
        matches!(self, Fingerprints::Differ(hint) if hint.conclusive)
    }

    /// What there is to say of a claim that is not decided.
    pub fn text(&self) -> Option<String> {
        match self {
            Fingerprints::Outside => None,
            Fingerprints::Agree(points) => Some(format!("field test: agrees on {points} random points")),
            Fingerprints::Differ(_) => Some("field test: differs, which no input was found to show".into()),
        }
    }
}

impl Hint {
    /// An input of small numbers at the sizes of the hint on which the sides differ.
    pub fn replayed(&self, sampler: &mut Sampler) -> Option<Box<Counterexample>> {
        (0..TRIALS).find_map(|_| {
            let drawn = draw_tensors(&self.claim, self.sizes.clone(), sampler)?;
            match judge(&self.claim, &drawn) {
                Trial::Differs(found) => Some(found),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{dtype_choices, with_ranks};
    use crate::instances::instances;
    use crate::module::Module;
    use crate::verdict::Verdict;
    use rtv_grammar::lower::Ranks;
    use rtv_grammar::parse;
    use rtv_semantics::diag::FileId;
    use rtv_semantics::guess::Guessing;
    use rtv_semantics::program::Mode;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The fingerprints of every claim over the reals, with its name and what is expected.
    fn of_text(text: &str) -> Vec<(String, Verdict, Fingerprints)> {
        let (module, _) = Module::new(FileId(0), parse(FileId(0), text));
        let mut found = Vec::new();
        for (at, item) in module.items.iter().enumerate().filter(|(at, _)| module.is_claim(*at)) {
            let Some(dtypes) = dtype_choices(item) else { continue };
            let choice = with_ranks(&dtypes[..1], Ranks::Fixed(1));
            let Ok(claims) = instances(item, &module.defs, &Guessing, &BTreeSet::new(), &choice) else {
                continue;
            };
            let over_reals = |claim: &Arc<Claim>| matches!(claim.mode, Mode::Real | Mode::Reassoc);
            if claims.first().is_some_and(over_reals) {
                let name = claims[0].name.to_string();
                found.push((name, module.expected[at].verdict, fingerprints(&claims, 0)));
            }
        }
        found
    }

    #[test]
    fn residues_tell_right_from_wrong() {
        let head = "rtl 1.0\nrule r[N](x: f32[N], y: f32[N], m: bool[N]) upto real ";
        let said = |body: &str| of_text(&format!("{head}{{ {body} }}\n")).pop().map(|(_, _, found)| found);
        let right = [
            "exp(x) * exp(y) => exp(x + y)",
            "(x + y) * (x - y) => x ** 2 - y * y",
            "1.0 / (1.0 / x) => x",
            "sum(x * 3.5, dim = 0) => sum(x, dim = 0) * 3.5",
            "sigmoid(x) => exp(x) / (exp(x) + 1.0)",
            "where(m, x, y) + x => where(m, x + x, x + y)",
            "sin(x + y) => sin(y + x)",
        ];
        for body in right {
            assert!(matches!(said(body), Some(Fingerprints::Agree(4..))), "{body}");
        }
        let wrong = [
            "exp(x) + exp(y) => exp(x + y)",
            "(x + y) ** 2 => x ** 2 + y ** 2",
            "sigmoid(x) => exp(x) / (exp(x) - 1.0)",
            "where(m, x, y) => where(m, y, x)",
            "x * 0.3333333 => x / 3.0",
        ];
        for body in wrong {
            assert!(said(body).is_some_and(|found| found.deny()), "{body}");
        }
        // True, by a law that residues do not know.
        assert!(matches!(said("log(exp(x)) => x"), Some(Fingerprints::Differ(hint)) if !hint.conclusive));
        for body in ["maximum(x, y) => maximum(y, x)", "exp(exp(x)) => exp(exp(x) + 0.0)", "abs(x) => abs(x)"]
        {
            assert!(matches!(said(body), Some(Fingerprints::Outside)), "{body}");
        }
    }

    #[test]
    fn residues_deny_no_proof_and_many_mistakes() {
        let (mut agreed, mut denied, mut wrong) = (0, 0, Vec::new());
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for folder in ["rules", "bugs", "../examples", "../examples/refuted"] {
            for entry in std::fs::read_dir(root.join(folder)).expect("a folder of the project") {
                let path = entry.expect("an entry").path();
                if path.extension().is_none_or(|extension| extension != "rtl") {
                    continue;
                }
                for (name, expected, found) in of_text(&std::fs::read_to_string(&path).expect("a file")) {
                    match (expected, found.deny()) {
                        (Verdict::Refuted, true) => denied += 1,
                        (_, true) => wrong.push(name),
                        (Verdict::Proved, false) => {
                            agreed += u64::from(matches!(found, Fingerprints::Agree(_)))
                        }
                        _ => {}
                    }
                }
            }
        }
        println!("{agreed} proved claims agree, {denied} refuted ones differ");
        assert!(wrong.is_empty(), "{wrong:?}");
        assert!(agreed >= 80 && denied >= 20, "{agreed} and {denied}");
    }
}
