//! What a claim `upto real` or `reassoc` is worth bit for bit.
//!
//! Beside the proof stand IEEE floats: what separates the sides where they are no longer
//! equal, and how far apart they get. `exact` is said of what is proved at every dtype,
//! never of what agrees on inputs.

mod adversary;
mod half;
mod text;
mod theory;

use crate::counterexample::Counterexample;
use crate::discharge::{Prover, holds_alike};
use crate::verdict::Verdict;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Claim, Mode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of a proved claim beyond the mode it asks for.
#[derive(Clone, Debug)]
pub struct Facets {
    /// The strongest mode in which it is proved.
    pub strongest: Mode,
    /// What separates the sides bit for bit, with an input that shows it if one is at hand.
    pub apart: BTreeMap<Cause, Option<Box<Counterexample>>>,
    /// The worst distance between two finite results of ordinary inputs, in units of the
    /// last place.
    pub worst: BTreeMap<DType, u64>,
    /// Inputs on which the sides were compared bit for bit.
    pub inputs: u64,
    /// What was asked of one dtype beside.
    pub decided: Vec<(DType, Decided)>,
}

/// What a larger effort says of one dtype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decided {
    /// So many inputs were run, and the sides differ on some; these may be all there are.
    Run { inputs: u64, differ: u64, all: bool },
    /// The solver's theory of floats says that the bits are the same, or gives an input on
    /// which they are not, or has no answer.
    Theory(Option<bool>),
}

/// Why two sides that are equal over the reals have different bits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// An element of this parameter is special, and everything else is ordinary.
    At(Arc<str>, Special),
    /// Special values of several parameters meet, or several elements of one.
    Together,
    /// Ordinary numbers, of which one side makes an infinity.
    Overflow,
    /// Ordinary numbers, of which one side makes a NaN.
    Undefined,
    /// Ordinary numbers, of which the sides make zeros of different sign.
    SignOfZero,
    /// Ordinary numbers, of which one side makes an error.
    Error,
    /// Ordinary numbers, and finite results.
    Rounding,
}

/// Values at which laws of the reals break.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Special {
    Nan,
    Inf,
    NegInf,
    Zero,
    NegZero,
}

impl Special {
    pub const ALL: [Special; 5] =
        [Special::Nan, Special::Inf, Special::NegInf, Special::Zero, Special::NegZero];

    pub fn name(self) -> &'static str {
        match self {
            Special::Nan => "nan",
            Special::Inf => "inf",
            Special::NegInf => "-inf",
            Special::Zero => "0.0",
            Special::NegZero => "-0.0",
        }
    }

    fn of(x: f64) -> Option<Special> {
        Special::ALL.into_iter().find(|special| special.value().to_bits() == x.to_bits())
    }

    fn value(self) -> f64 {
        match self {
            Special::Nan => f64::NAN,
            Special::Inf => f64::INFINITY,
            Special::NegInf => f64::NEG_INFINITY,
            Special::Zero => 0.0,
            Special::NegZero => -0.0,
        }
    }
}

impl Cause {
    /// Whether sums and products of the same terms may differ by it. One that is infinite
    /// or no number stays so in any order.
    fn survives_reordering(&self) -> bool {
        match self {
            Cause::At(_, special) => matches!(special, Special::Zero | Special::NegZero),
            Cause::Overflow | Cause::SignOfZero | Cause::Rounding | Cause::Together => true,
            Cause::Undefined | Cause::Error => false,
        }
    }
}

/// How much facets may cost.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub seed: u64,
    /// Whether more is done than what every check has time for.
    pub thorough: bool,
}

impl Facets {
    /// Of a claim that is proved in its mode. `claims` are the instances that were proved,
    /// `samples` those that can be run.
    pub fn of(claims: &[Arc<Claim>], samples: &[Arc<Claim>], prover: &Prover, effort: Effort) -> Facets {
        let mut facets = adversary::compare(samples, effort.seed);
        let asked = claims.first().map_or(Mode::Real, |claim| claim.mode);
        // What an input denies is not tried.
        let stronger = [Mode::Exact, Mode::Reassoc].into_iter().filter(|mode| match mode {
            Mode::Exact => facets.apart.is_empty(),
            _ => asked == Mode::Real && facets.apart.keys().all(Cause::survives_reordering),
        });
        let strongest = stronger.into_iter().find(|mode| proved(claims, *mode, prover));
        facets.strongest = strongest.unwrap_or(asked);
        if !effort.thorough {
            return facets;
        }
        let facets = half::compare(samples, effort.seed, facets);
        if facets.apart.is_empty() && facets.strongest != Mode::Exact {
            theory::decide(claims, samples, prover, effort.seed, facets)
        } else {
            facets
        }
    }

    /// An input on which bits differ that are proved to be the same.
    pub fn contradiction(&self) -> Option<&Counterexample> {
        let exact = self.strongest == Mode::Exact;
        self.apart.values().flatten().next().filter(|_| exact).map(|found| &**found)
    }

    /// Nothing found on no inputs.
    fn none(strongest: Mode) -> Facets {
        let (apart, worst) = (BTreeMap::new(), BTreeMap::new());
        Facets { strongest, apart, worst, inputs: 0, decided: Vec::new() }
    }
}

/// Whether every instance is proved in another mode.
fn proved(claims: &[Arc<Claim>], mode: Mode, prover: &Prover) -> bool {
    let mut shown: Vec<Claim> = Vec::new();
    claims.iter().all(|claim| {
        let claim = Claim { mode, ..(**claim).clone() };
        let alike = shown.iter().any(|shown| holds_alike(&claim, shown));
        let holds = alike || prover.contracts(&claim).found.values().all(|f| f.verdict == Verdict::Proved);
        shown.push(claim);
        holds
    })
}
