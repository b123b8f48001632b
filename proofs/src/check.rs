//! Checking a module: types of everything, a verdict for every claim.

use crate::choices::{DTypes, dtype_choices, with_ranks};
use crate::decide::Task;
use crate::discharge::Prover;
use crate::instances::{TESTED_RANKS, at_choice, depends_on_rank, too_many};
use crate::laws::Found;
use crate::module::{Module, subject};
use crate::verdict::ClaimResult;
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::lower::{Lower, Ranks, has_rank_variables};
use rtv_semantics::cancel::Cancelled;
use rtv_semantics::defined::definedness;
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::entail::Entails;
use rtv_semantics::program::ClaimKind;
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::ErrorClass;
use rtv_semantics::unfold::Limits;
use rtv_smt::{Budget, Fault, Observer, Pool, Solver};
use std::sync::Arc;
use std::time::Duration;

/// How far checking goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Types and shapes.
    Types,
    /// `test` blocks and sampling, no proofs.
    Tests,
    Proofs,
}

/// What a check may cost, and its seed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub stage: Stage,
    pub seed: u64,
    /// Inputs compared for each claim.
    pub samples: u64,
    /// For each question to the solver.
    pub budget: Budget,
    /// For each claim.
    pub timeout: Option<Duration>,
}

/// What checking a module, or one item of it, found.
#[derive(Default)]
pub struct Outcome {
    pub diagnostics: Vec<Diagnostic>,
    pub claims: Vec<ClaimResult>,
    /// Claims that say nothing, since their types are wrong: `unknown`.
    pub untyped: Vec<ClaimResult>,
    /// Why the solver is not to be believed; the claim at hand and those after it have no
    /// result.
    pub fault: Option<Fault>,
}

/// A checker with its solver.
pub struct Checker {
    pub(crate) settings: Settings,
    pub(crate) prover: Prover,
    /// Whether it says of a proved claim all that can be found out bit for bit.
    pub(crate) thorough: bool,
    pub(crate) laws: Found,
}

impl Checker {
    /// With the solver in this process.
    ///
    /// # Errors
    /// When the solver is missing, of the wrong version, or fails its self-test.
    pub fn start(settings: Settings) -> Result<Checker, Fault> {
        let prover = Prover::new(Solver::start()?, settings.budget);
        Ok(Checker { settings, prover, thorough: false, laws: Found::default() })
    }

    /// With the solver in worker processes, which several checkers may share; `observer`
    /// sees what is asked of it. What is wrong with it is known when it is asked:
    /// [`Outcome::fault`].
    pub fn in_workers(settings: Settings, pool: Arc<Pool>, observer: Observer) -> Checker {
        let solver = Solver::in_workers(pool).observed(observer);
        let prover = Prover::new(solver, settings.budget);
        Checker { settings, prover, thorough: false, laws: Found::default() }
    }

    /// The same, and it does what it can to find out what a proved claim `upto real` or
    /// `reassoc` is worth bit for bit.
    pub fn thorough(self) -> Checker {
        Checker { thorough: true, ..self }
    }

    /// Sizes are part of types, and decided with the solver at every stage.
    pub fn engine(&self) -> &dyn Entails {
        self.prover.entails()
    }

    /// Checks every item of a module.
    pub fn check(&self, module: &Module) -> Outcome {
        let mut all = Outcome { diagnostics: module.directives.clone(), ..Outcome::default() };
        for at in 0..module.items.len() {
            let one = self.item(module, at);
            all.diagnostics.extend(one.diagnostics);
            all.claims.extend(one.claims);
            all.untyped.extend(one.untyped);
            all.fault = one.fault;
            if all.fault.is_some() {
                break;
            }
        }
        all
    }

    /// Checks the item at a place of its module: a verdict if it is a claim, its types if
    /// it is a definition.
    pub fn item(&self, module: &Module, at: usize) -> Outcome {
        let Some((_, kind)) = subject(&module.items[at]) else { return Outcome::default() };
        let task = Task::of(module, at, kind.unwrap_or(ClaimKind::Calls), self.settings.timeout);
        self.prover.solver().until(task.deadline.at());
        let (claim, diagnostics) = match kind {
            Some(_) => self.claim(&task),
            None => self.defined(&task),
        };
        let first_error = diagnostics.iter().find(|found| found.is_error());
        let untyped = first_error.filter(|_| kind.is_some() && claim.is_none());
        let untyped = untyped.map(|found| self.undecided(&task, Some(found.code), found.message.clone()));
        // What was found with answers that do not count is not told.
        match self.prover.solver().fault() {
            None => {
                let (claims, untyped) = (claim.into_iter().collect(), untyped.into_iter().collect());
                Outcome { diagnostics, claims, untyped, fault: None }
            }
            fault => Outcome { fault, ..Outcome::default() },
        }
    }

    /// The types of a definition, and the claim that its calls make.
    fn defined(&self, task: &Task<'_>) -> (Option<ClaimResult>, Vec<Diagnostic>) {
        let found = task.deadline.within(|| self.definition(task.module, task.item));
        let found = found.unwrap_or_else(|Cancelled| vec![out_of_time(task.item)]);
        let is_fn = matches!(&task.item.kind, ItemKind::Def(def) if def.kind == DefKind::Fn);
        let claims = is_fn && self.settings.stage != Stage::Types && !found.iter().any(Diagnostic::is_error);
        (claims.then(|| self.calls(task)).flatten(), found)
    }

    /// Types of a function for every dtype and any rank; where the rank matters, for
    /// the tested ranks.
    fn definition(&self, module: &Module, item: &Item) -> Vec<Diagnostic> {
        let mut lower = Lower::new(&module.defs, self.engine());
        let Some(dtypes) = dtype_choices(item) else { return vec![too_many(item)] };
        let mut attempt = |ranks| {
            with_ranks(&dtypes, ranks).iter().find_map(|choice| {
                lower.function(item, choice);
                let mut found = lower.take_diagnostics();
                if let Some(first) = found.first_mut().filter(|_| choice.ranks != Ranks::Opaque) {
                    at_choice(first, choice, true);
                }
                found.iter().any(Diagnostic::is_error).then_some(found)
            })
        };
        let found = attempt(Ranks::Opaque).or_else(|| self.indices(module, item, &dtypes));
        // An operator varies static parameters, ranks and broadcasts: it is checked at
        // each call, and here for its names.
        if matches!(&item.kind, ItemKind::Def(def) if def.kind == DefKind::Op) {
            return found.into_iter().flatten().filter(|d| d.code.0 / 100 == 1).collect();
        }
        match found {
            None => Vec::new(),
            Some(found) if has_rank_variables(item) && found.iter().any(|d| depends_on_rank(d.code)) => {
                TESTED_RANKS.iter().find_map(|rank| attempt(Ranks::Fixed(*rank))).unwrap_or_default()
            }
            // A definition over a static parameter is checked where it is called.
            Some(found) if found.iter().all(|d| d.code == Code(490)) => Vec::new(),
            Some(found) => found,
        }
    }

    /// The indices and extents that a function of the file writes must be in range for
    /// all sizes it admits; those that depend on data are checked at run time.
    fn indices(&self, module: &Module, item: &Item, dtypes: &[DTypes]) -> Option<Vec<Diagnostic>> {
        let mut lower = Lower::new(&module.defs, self.engine());
        let choice = with_ranks(&dtypes[..1], Ranks::Opaque).pop()?;
        let function = lower.function(item, &choice)?;
        let mut fresh = Fresh::above([&function.body]);
        let needs = definedness(&function.body, &mut fresh, Limits::default()).ok()?;
        let open =
            needs.iter().filter(|need| need.span.file == module.file && !need.at_entry).find_map(|need| {
                let cond = need.need.as_cond()?;
                let known = [function.facts.clone(), need.facts()].concat();
                let shown = self.engine().entails(&known, &cond);
                (!shown && matches!(need.class, ErrorClass::Index | ErrorClass::Shape))
                    .then_some((need, cond))
            });
        let (need, cond) = open?;
        let (code, what) = match need.class {
            ErrorClass::Index => (Code(217), "this index may be out of range"),
            _ => (Code(220), "this extent may be negative"),
        };
        let found = Diagnostic::error(code, need.span, format!("{what}: `{cond}` does not follow"));
        Some(vec![found.help("add a `requires` from which it follows, or guard the read with `if`")])
    }
}

fn out_of_time(item: &Item) -> Diagnostic {
    let message = "its types and sizes are not decided within the time limit";
    Diagnostic::error(Code(708), item.span, message).help("split it, or give more time with `--timeout`")
}
