//! The checker of derivations: whether a program became another by proved rules alone.
//!
//! Every term of a derivation is built anew, from the source, the rules and the definitions of
//! operators; every line is checked; what comes out is the term that the program became. None
//! of this knows how the derivation was found. It rests on [`rtv_semantics::derivation`], which
//! says what heads and parts are, on elaboration, on the conditions of definedness, on the
//! linear arithmetic of the checker of certificates and on the solvers.
//!
//! What a line means: wherever the sizes meet the preconditions of the source, and for all
//! inputs, the two terms end in an error alike, or have one value in the mode of the derivation;
//! inputs of the mode `real` are finite numbers.
//!
//! Note [Modes]. Lines of a derivation up to a mode are of that mode. So a rule is applied only
//! if its claim is proved in the mode of the derivation, not in a stronger one: `where(x / y == 1,
//! z, z) <=> z` holds for all bits, and not over the reals, where the left side is undefined at `y
//! = 0`. Whether a claim `exact` or `reassoc` holds in a weaker mode too is asked of
//! [`Rules::holds`], which has it proved. One kind of claims is known to: both sides only move
//! data, see Note [Movement] in `semantics`. These hold for whatever is moved, infinities and
//! undefined numbers too.
//!
//! Note [Errors]. In operator form every part is computed. A rule says of its parameters, which
//! are values, not what becomes of an error in them. If both sides compute a parameter, an error
//! in it is an error of both; if one side does not, what it stands for must be free of errors.

mod applied;
mod certificate;
mod compare;
mod fault;
mod library;
mod nodes;
mod rewritten;
mod scalars;
mod steps;
#[cfg(test)]
mod tests;
mod text;
mod told;
mod values;

pub use certificate::{About, Certificate, Subject};
pub use compare::compare;
pub use fault::{Fault, Place, Refused};
pub use library::Proved;
pub use told::{By, Told};

use crate::check::Checker;
use crate::deadline::Deadline;
use crate::recheck::{Leaves, SecondSolver, Tally};
use rtv_semantics::cancel::Cancelled;
use rtv_semantics::derivation::Derivation;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::{Claim, Function, Input, Mode, Param};
use rtv_semantics::size::Sym;
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::Term;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rules that a derivation may use.
pub trait Rules {
    /// The claim of a rule at a choice of dtypes, and of a number of axes for its rank variables
    /// (without one they stand for any number). Only a claim that is proved in its mode.
    fn claim(&mut self, rule: &str, dtypes: &[(Arc<str>, DType)], rank: Option<usize>) -> Option<Arc<Claim>>;

    /// Whether such a claim is proved in this mode too, which is not its own.
    fn holds(&mut self, claim: &Arc<Claim>, mode: Mode) -> bool;
}

/// What a program became.
#[derive(Clone, Debug)]
pub struct Became {
    /// Over the parameters of the source; parts that are alike are shared.
    pub term: Term,
    /// The same bit for bit, with constants as they are rounded, where the derivation ends with that.
    pub rounded: Option<Term>,
    /// Questions to the solvers on the way.
    pub tally: Tally,
}

/// Goes through a derivation.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn check(
    source: &Function,
    upto: Mode,
    derivation: &Derivation,
    rules: &mut dyn Rules,
    mut leaves: Leaves<'_>,
) -> Result<Became, Refused> {
    let (term, rounded) = steps::Check::of(source, upto, derivation, rules, &mut leaves)?.became()?;
    Ok(Became { term, rounded, tally: leaves.tally })
}

impl Checker {
    /// Goes through a derivation with this checker's solver, and with another one if there is one, within the time
    /// of a claim.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn derived(
        &self,
        source: &Function,
        upto: Mode,
        derivation: &Derivation,
        rules: &mut dyn Rules,
        second: Option<&mut (dyn SecondSolver + 'static)>,
    ) -> Result<Became, Refused> {
        self.in_time(second, |leaves| check(source, upto, derivation, rules, leaves))
    }

    /// The steps of a derivation, which is gone through for them, within the time of a claim.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn told(
        &self,
        source: &Function,
        upto: Mode,
        derivation: &Derivation,
        rules: &mut dyn Rules,
    ) -> Result<Vec<Told>, Refused> {
        let told =
            |mut leaves: Leaves<'_>| steps::Check::of(source, upto, derivation, rules, &mut leaves)?.told();
        self.in_time(None, told)
    }

    fn in_time<T>(
        &self,
        second: Option<&mut (dyn SecondSolver + 'static)>,
        work: impl FnOnce(Leaves<'_>) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let deadline = Deadline::after(self.settings.timeout);
        let solver = self.prover.solver();
        solver.until(deadline.at());
        match deadline.within(|| work(Leaves::new(solver, second))) {
            Ok(done) => done,
            Err(Cancelled) => Err(Refused { at: Place::Whole, fault: Fault::Timeout }),
        }
    }
}

/// The sizes that are open in a function: those of its parameters first, in their order.
pub(crate) fn symbols(function: &Function) -> Vec<Sym> {
    let conditions = function.requires.iter().map(|require| &require.cond);
    symbols_in(&function.params, &function.facts, conditions.chain([&function.body]))
}

/// The sizes that are open in parameters, preconditions and terms, each where it occurs first.
fn symbols_in<'t>(params: &[Param], facts: &[Cond], terms: impl IntoIterator<Item = &'t Term>) -> Vec<Sym> {
    let (mut all, mut known) = (Vec::new(), BTreeSet::new());
    let mut add = |syms: BTreeSet<Sym>| all.extend(syms.into_iter().filter(|sym| known.insert(sym.clone())));
    for param in params {
        add(match &param.input {
            Input::Size(sym) => BTreeSet::from([sym.clone()]),
            Input::Value(var, ty) => free_syms(&Term::var(var.clone(), ty.clone(), param.span)),
        });
    }
    for fact in facts {
        let mut syms = BTreeSet::new();
        fact.collect_syms(&mut syms);
        add(syms);
    }
    terms.into_iter().for_each(|term| add(free_syms(term)));
    all
}
