//! Checking a module: types of everything, a verdict for every claim.

use crate::choices::{DTypes, MAX_CHOICES, choice_text, dtype_choices, with_ranks};
use crate::counterexample::Counterexample;
use crate::discharge::Prover;
use crate::expect::{Expectation, expectations};
use crate::module::Module;
use crate::refute::{Drawn, Trial, draw, judge};
use crate::replay::replay;
use crate::shrink::shrink;
use crate::testing;
use crate::verdict::{ClaimResult, Contract, Finding, Verdict};
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::lower::{Choice, Lower, Ranks, has_rank_variables};
use rtv_semantics::defined::definedness;
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::entail::Entails;
use rtv_semantics::guess::Guessing;
use rtv_semantics::program::{Claim, ClaimKind, Mode};
use rtv_semantics::sample::Sampler;
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::ErrorClass;
use rtv_semantics::unfold::Limits;
use rtv_smt::{Budget, Fault, Pool, Solver, ValueModel};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Ranks at which a claim about any rank is tested.
const TESTED_RANKS: [usize; 4] = [0, 1, 2, 3];

/// Draws before a claim is given to the prover.
const FIRST_SAMPLES: u64 = 60;

/// Draws at each lower rank to make a counterexample smaller.
const LOWER_RANK_DRAWS: u64 = 40;

/// Time for making one counterexample small; what there is then is shown.
const MAX_SHRINK: Duration = Duration::from_secs(3);

/// Draws that find no admissible input, for each one asked.
const DRAWS_PER_SAMPLE: u64 = 20;

/// How far checking goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Types and shapes.
    Types,
    /// `test` blocks and sampling, no solver.
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

/// What checking a module found.
#[derive(Default)]
pub struct Outcome {
    pub diagnostics: Vec<Diagnostic>,
    pub claims: Vec<ClaimResult>,
    /// Why the solver is not to be believed; the claim at hand and those after it have no
    /// result.
    pub fault: Option<Fault>,
}

/// A checker with its solver.
pub struct Checker {
    settings: Settings,
    prover: Option<Prover>,
}

/// An item to be decided.
struct Task<'m> {
    module: &'m Module,
    item: &'m Item,
    name: String,
    kind: ClaimKind,
    expected: Expectation,
    started: Instant,
}

impl Checker {
    /// With the solver in this process.
    ///
    /// # Errors
    /// When the solver is missing, of the wrong version, or fails its self-test.
    pub fn start(settings: Settings) -> Result<Checker, Fault> {
        let prover = match settings.stage {
            Stage::Proofs => Some(Prover::new(Solver::start()?, settings.budget)),
            Stage::Types | Stage::Tests => None,
        };
        Ok(Checker { settings, prover })
    }

    /// With the solver in worker processes, which several checkers may share. What is
    /// wrong with it is known when it is asked: [`Outcome::fault`].
    pub fn in_workers(settings: Settings, pool: Arc<Pool>) -> Checker {
        let proves = settings.stage == Stage::Proofs;
        let prover = proves.then(|| Prover::new(Solver::in_workers(pool), settings.budget));
        Checker { settings, prover }
    }

    fn engine(&self) -> &dyn Entails {
        self.prover.as_ref().map_or(&Guessing, |p| p.entails())
    }

    /// Checks the items whose name is wanted; `finished` sees each result when it is
    /// there.
    pub fn check(
        &self,
        module: &Module,
        wanted: &dyn Fn(&str) -> bool,
        finished: &mut dyn FnMut(&ClaimResult),
    ) -> Outcome {
        let (expected, mut diagnostics) = expectations(&module.items, &module.comments);
        let (mut claims, mut fault) = (Vec::new(), None);
        for (item, expected) in module.items.iter().zip(expected) {
            let Some((name, kind)) = subject(item) else { continue };
            if !wanted(&name) {
                continue;
            }
            let task = |kind| Task { module, item, name, kind, expected, started: Instant::now() };
            let task = kind.map(task);
            if let Some(prover) = &self.prover {
                prover.solver().until(task.as_ref().and_then(|task| self.deadline(task)));
            }
            let (result, found) = match &task {
                Some(task) => self.claim(task),
                None => (None, self.definition(module, item)),
            };
            // What was found with answers that do not count is not told.
            fault = self.prover.as_ref().and_then(|prover| prover.solver().fault());
            if fault.is_some() {
                break;
            }
            diagnostics.extend(found);
            if let (Some(mut result), Some(task)) = (result, task) {
                result.seconds = task.started.elapsed().as_secs_f64();
                finished(&result);
                claims.push(result);
            }
        }
        Outcome { diagnostics, claims, fault }
    }

    /// When a claim's time is over.
    fn deadline(&self, task: &Task<'_>) -> Option<Instant> {
        self.settings.timeout.and_then(|limit| task.started.checked_add(limit))
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

    fn claim(&self, task: &Task<'_>) -> (Option<ClaimResult>, Vec<Diagnostic>) {
        if task.kind == ClaimKind::Test {
            return self.test(task);
        }
        if task.kind == ClaimKind::Vjp && self.settings.stage == Stage::Tests {
            return (None, Vec::new());
        }
        let Some(dtypes) = dtype_choices(task.item) else {
            let limit = too_many(task.item);
            return (Some(self.undecided(task, Some((limit.code, limit.message)))), Vec::new());
        };
        let opaque = self.instances(task, &with_ranks(&dtypes, Ranks::Opaque));
        let ranked = |ranks: &[usize]| -> Result<Vec<Claim>, Vec<Diagnostic>> {
            let choices: Vec<Choice> =
                ranks.iter().flat_map(|r| with_ranks(&dtypes, Ranks::Fixed(*r))).collect();
            self.instances(task, &choices)
        };
        match opaque {
            Ok(claims) => {
                let samples =
                    if has_rank_variables(task.item) { ranked(&TESTED_RANKS) } else { Ok(claims.clone()) };
                match samples {
                    Ok(samples) => (Some(self.decide(task, &claims, &samples, None)), Vec::new()),
                    Err(found) => (None, found),
                }
            }
            Err(found) if found.iter().any(|d| later(d.code)) => {
                let reason = found.iter().find(|d| later(d.code)).map(|d| (d.code, d.message.clone()));
                (Some(self.undecided(task, reason)), Vec::new())
            }
            Err(found) if has_rank_variables(task.item) && found.iter().any(|d| depends_on_rank(d.code)) => {
                match ranked(&TESTED_RANKS) {
                    Ok(samples) => {
                        let inside = found.iter().find(|d| depends_on_rank(d.code));
                        let why = inside.map_or(String::new(), |d| format!(": {}", d.message));
                        let reason = format!("rank: the claim looks inside a rank variable{why}");
                        let mut result = self.decide(task, &[], &samples, Some(reason));
                        if result.verdict == Verdict::Unknown {
                            result.code = inside.map(|d| d.code);
                        }
                        (Some(result), Vec::new())
                    }
                    Err(found) => (None, found),
                }
            }
            Err(found) => (None, found),
        }
    }

    /// The claim at each choice; the diagnostics of the first that does not type.
    fn instances(&self, task: &Task<'_>, choices: &[Choice]) -> Result<Vec<Claim>, Vec<Diagnostic>> {
        let mut claims = Vec::new();
        for choice in choices {
            let mut lower = Lower::new(&task.module.defs, self.engine());
            let claim = lower.claim(task.item, choice);
            let mut found = lower.take_diagnostics();
            match claim {
                Some(claim) if !found.iter().any(Diagnostic::is_error) => claims.push(claim),
                // The preconditions contradict each other at this choice.
                None if found.is_empty() => {}
                _ => {
                    if let Some(first) = found.first_mut() {
                        at_choice(first, choice, has_rank_variables(task.item));
                    }
                    return Err(found);
                }
            }
        }
        Ok(claims)
    }

    /// Samples, then proves, then samples again. `open` says why nothing is proved.
    fn decide(
        &self,
        task: &Task<'_>,
        claims: &[Claim],
        samples: &[Claim],
        open: Option<String>,
    ) -> ClaimResult {
        let mode = samples.first().map_or(Mode::Exact, |c| c.mode);
        let mut result = self.blank(task, mode.name());
        if self.settings.stage == Stage::Types {
            result.note = "types only".into();
            return result;
        }
        let mut tried = Tried { draws: 0, compared: 0, until: self.deadline(task) };
        let first = FIRST_SAMPLES.min(self.settings.samples);
        if let Some(found) = self.sample(samples, first, &mut tried) {
            return refuted(result, *found, tried.compared);
        }
        let mut contracts = BTreeMap::new();
        match (&self.prover, mode, open) {
            (_, Mode::Close { .. }, _) | (None, _, _) => {}
            (Some(_), _, Some(reason)) => {
                contracts.insert(Contract::Value, Finding::unknown(reason));
            }
            (Some(prover), _, None) => {
                let model = self.prove(task, prover, claims, &mut contracts);
                if let Some(found) = model.and_then(|model| self.try_model(samples, &model)) {
                    return refuted(result, *found, tried.compared + 1);
                }
            }
        }
        // Proofs are tested too, and what is open is tested the more.
        if let Some(found) = self.sample(samples, self.settings.samples.saturating_sub(first), &mut tried) {
            let mut result = refuted(result, *found, tried.compared);
            if contracts.values().all(|f| f.verdict == Verdict::Proved) && !contracts.is_empty() {
                result.code = Some(Code(799));
                result.note = "the prover and the evaluator disagree: this is a fault of rtv".into();
            }
            return result;
        }
        result.contracts = contracts;
        result.samples = tried.compared;
        self.summarize(&mut result, claims, mode, &tried);
        result
    }

    /// Decides the contracts of every instance up to the first that is not proved; what
    /// the solver thinks separates its sides is returned.
    fn prove(
        &self,
        task: &Task<'_>,
        prover: &Prover,
        claims: &[Claim],
        into: &mut BTreeMap<Contract, Finding>,
    ) -> Option<ValueModel> {
        for claim in claims {
            if self.settings.timeout.is_some_and(|t| task.started.elapsed() > t) {
                into.insert(Contract::Value, Finding::unknown("timeout"));
                return None;
            }
            let (found, model) = prover.contracts(claim);
            for (contract, mut finding) in found {
                let text = choice_text(&claim.dtypes);
                if let (Some(reason), false) = (&mut finding.reason, text.is_empty()) {
                    *reason = format!("{reason} ({text})");
                }
                let so_far = into.remove(&contract).unwrap_or(Finding::proved(finding.method));
                into.insert(contract, so_far.and(finding));
            }
            if into.values().any(|f| f.verdict != Verdict::Proved) {
                if let (Some(weaker), Some(value)) =
                    (self.weaker_mode(prover, claim), into.get_mut(&Contract::Value))
                {
                    value.reason = Some(format!("not shown {}; it is proved `upto {weaker}`", claim.mode));
                }
                return model;
            }
        }
        None
    }

    /// The strongest mode below the asked one in which the values are proved equal.
    fn weaker_mode(&self, prover: &Prover, claim: &Claim) -> Option<Mode> {
        let below: &[Mode] = match claim.mode {
            Mode::Exact => &[Mode::Reassoc, Mode::Real],
            Mode::Reassoc => &[Mode::Real],
            Mode::Real | Mode::Close { .. } => &[],
        };
        let proved = |mode: &Mode| {
            let (found, _) = prover.contracts(&Claim { mode: *mode, ..claim.clone() });
            found.get(&Contract::Value).is_some_and(|f| f.verdict == Verdict::Proved)
        };
        below.iter().copied().find(proved)
    }

    /// A refutation made of a model of the solver, on the instances of rank 1 at most.
    fn try_model(&self, claims: &[Claim], model: &ValueModel) -> Option<Box<Counterexample>> {
        let mut sampler = Sampler::new(self.settings.seed);
        let plain = claims.iter().filter(|c| c.ranks.iter().all(|(_, extents)| extents.len() == 1));
        plain.into_iter().find_map(|claim| match replay(claim, model, &mut sampler)? {
            (drawn, Trial::Differs(found)) => {
                Some(shrink(claim, drawn, found, &mut sampler, &shrink_clock()))
            }
            _ => None,
        })
    }

    fn summarize(&self, result: &mut ClaimResult, claims: &[Claim], mode: Mode, tried: &Tried) {
        let proved =
            !result.contracts.is_empty() && result.contracts.values().all(|f| f.verdict == Verdict::Proved);
        let vacuous =
            self.prover.as_ref().is_some_and(|p| !claims.is_empty() && claims.iter().all(|c| p.vacuous(c)));
        (result.verdict, result.note) = if vacuous {
            (Verdict::Vacuous, "no sizes satisfy the preconditions".into())
        } else if let Mode::Close { .. } = mode {
            match tried.compared {
                0 => (Verdict::Unknown, "no input satisfied the preconditions".into()),
                n => (Verdict::Tested, format!("tested on {n} inputs")),
            }
        } else if proved && tried.compared == 0 {
            (Verdict::Unknown, "no input was found on which both sides could be run".into())
        } else if proved {
            let any_rank = claims.iter().any(|c| !c.ranks.is_empty());
            let scope = if any_rank { "any rank" } else { "all sizes" };
            (Verdict::Proved, format!("{scope} (no certificate)"))
        } else {
            let tested = match tried.compared {
                0 => "no input was found that satisfies the preconditions".to_string(),
                n => format!("tested on {n} inputs"),
            };
            (Verdict::Unknown, format!("{}{tested}", reasons(&result.contracts)))
        };
    }

    /// Compares the sides on `count` admissible inputs, spread over the instances.
    fn sample(&self, claims: &[Claim], count: u64, tried: &mut Tried) -> Option<Box<Counterexample>> {
        if claims.is_empty() {
            return None;
        }
        let wanted = tried.compared.saturating_add(count);
        let draws = count.saturating_mul(DRAWS_PER_SAMPLE);
        for _ in 0..draws {
            if tried.compared >= wanted || tried.until.is_some_and(|until| Instant::now() > until) {
                break;
            }
            let claim = &claims[tried.draws as usize % claims.len()];
            let mut sampler =
                Sampler::new(self.settings.seed.wrapping_mul(0x9e37_79b9).wrapping_add(tried.draws));
            let round = tried.draws / claims.len() as u64;
            tried.draws += 1;
            let Some(drawn) = draw(claim, &mut sampler, round) else { continue };
            match judge(claim, &drawn) {
                Trial::Rejected | Trial::Silent => {}
                Trial::Agreed => tried.compared += 1,
                Trial::Differs(found) => {
                    tried.compared += 1;
                    let lower = lower_rank(claims, claim, found.contract, &mut sampler);
                    let (claim, drawn, found) = lower.unwrap_or((claim, drawn, found));
                    return Some(shrink(claim, drawn, found, &mut sampler, &shrink_clock()));
                }
            }
        }
        None
    }

    fn test(&self, task: &Task<'_>) -> (Option<ClaimResult>, Vec<Diagnostic>) {
        let mut lower = Lower::new(&task.module.defs, &Guessing);
        let test = lower.test(task.item);
        let mut diagnostics = lower.take_diagnostics();
        let Some(test) = test.filter(|_| !diagnostics.iter().any(Diagnostic::is_error)) else {
            return (None, diagnostics);
        };
        let mut result = self.blank(task, "");
        if self.settings.stage == Stage::Types {
            result.note = "types only".into();
            return (Some(result), diagnostics);
        }
        let run = testing::run(&test);
        result.samples = run.assertions;
        (result.verdict, result.note) = match run.failures.len() {
            0 => (Verdict::Proved, format!("{} assertions", run.assertions)),
            n => (Verdict::Refuted, format!("{n} of {} assertions failed", run.assertions)),
        };
        if task.expected.verdict != Verdict::Refuted {
            diagnostics.extend(run.failures);
        }
        (Some(result), diagnostics)
    }

    /// A claim whose meaning rtv does not have yet.
    fn undecided(&self, task: &Task<'_>, reason: Option<(Code, String)>) -> ClaimResult {
        let mut result = self.blank(task, "");
        let (code, message) = reason.unwrap_or((Code(291), "not supported yet".into()));
        result.contracts.insert(Contract::Value, Finding::unknown(message.clone()));
        result.code = Some(code);
        result.note = message;
        result
    }

    fn blank(&self, task: &Task<'_>, mode: &'static str) -> ClaimResult {
        ClaimResult {
            id: identity(task.item),
            name: task.name.clone(),
            kind: task.kind,
            span: task.item.span,
            verdict: Verdict::Unknown,
            expected: task.expected,
            mode,
            contracts: BTreeMap::new(),
            note: String::new(),
            code: None,
            counterexample: None,
            samples: 0,
            seconds: 0.0,
        }
    }
}

/// Says when the time for making one counterexample small is over.
fn shrink_clock() -> impl Fn() -> bool {
    let until = Instant::now() + MAX_SHRINK;
    move || Instant::now() > until
}

/// A refutation of the same contract at fewer axes, if a few draws find one.
fn lower_rank<'c>(
    claims: &'c [Claim],
    found_at: &Claim,
    contract: Contract,
    sampler: &mut Sampler,
) -> Option<(&'c Claim, Drawn, Box<Counterexample>)> {
    let rank = |c: &Claim| c.ranks.iter().map(|(_, extents)| extents.len()).sum::<usize>();
    let lower = claims.iter().filter(|c| rank(c) < rank(found_at) && c.dtypes == found_at.dtypes);
    lower.into_iter().find_map(|claim| {
        (0..LOWER_RANK_DRAWS).find_map(|round| {
            let drawn = draw(claim, sampler, round)?;
            match judge(claim, &drawn) {
                Trial::Differs(found) if found.contract == contract => Some((claim, drawn, found)),
                _ => None,
            }
        })
    })
}

/// How many inputs were drawn, and on how many both sides were compared; and until when.
struct Tried {
    draws: u64,
    compared: u64,
    until: Option<Instant>,
}

/// Name of an item, and its kind if it makes a claim.
fn subject(item: &Item) -> Option<(String, Option<ClaimKind>)> {
    match &item.kind {
        ItemKind::Def(def) => {
            let name = def.name.parts.last()?.name.clone();
            let kind = match def.kind {
                DefKind::Fn | DefKind::Op | DefKind::Monoid => None,
                DefKind::Impl => Some(ClaimKind::Impl),
                DefKind::Decomp { .. } => Some(ClaimKind::Decomp),
            };
            Some((name, kind))
        }
        ItemKind::Rule(rule) => Some((rule.name.name.clone(), Some(ClaimKind::Rule))),
        ItemKind::Vjp { path, .. } => Some((path.parts.last()?.name.clone(), Some(ClaimKind::Vjp))),
        ItemKind::Test { name, .. } => Some((name.name.clone(), Some(ClaimKind::Test))),
        ItemKind::Use(_) | ItemKind::Const { .. } | ItemKind::Error => None,
    }
}

fn refuted(mut result: ClaimResult, found: Counterexample, compared: u64) -> ClaimResult {
    result.verdict = Verdict::Refuted;
    result.contracts.insert(found.contract, Finding::refuted());
    result.code = Some(found.code());
    result.note = found.contract.name().into();
    result.samples = compared;
    result.counterexample = Some(found);
    result
}

/// Says at which choice a diagnostic arises, and what the sizes in it are.
fn at_choice(found: &mut Diagnostic, choice: &Choice, ranked: bool) {
    let mut setting: Vec<String> = vec![choice_text(&choice.dtypes)];
    if let (Ranks::Fixed(rank), true) = (choice.ranks, ranked) {
        setting.push(format!("rank variables of {rank} {}", if rank == 1 { "axis" } else { "axes" }));
        // A requirement over the axes of a rank variable cannot be written.
        if found.help.as_ref().is_none_or(|help| help.contains("requires")) {
            found.help = Some("`S0` is the first axis of `*S`, `S1` the second".into());
        }
    }
    setting.retain(|text| !text.is_empty());
    if !setting.is_empty() {
        found.message = format!("{} (for {})", found.message, setting.join(", "));
    }
}

/// The reasons of what is not proved, each once.
fn reasons(contracts: &BTreeMap<Contract, Finding>) -> String {
    let open = contracts.iter().filter(|(_, f)| f.verdict != Verdict::Proved);
    let texts = open.filter_map(|(c, f)| f.reason.as_ref().map(|r| format!("{}: {r}; ", c.name())));
    texts.collect()
}

fn too_many(item: &Item) -> Diagnostic {
    let message = format!("the dtype variables have more than {MAX_CHOICES} instances");
    Diagnostic::error(Code(705), item.span, message).help("use fewer variables or narrower classes")
}

/// Codes that say that something depends on the rank, or on a static value.
fn depends_on_rank(code: Code) -> bool {
    matches!(code.0, 206 | 211)
}

/// Codes of language parts whose meaning comes later.
fn later(code: Code) -> bool {
    matches!(code.0, 291..=297 | 390 | 391 | 490 | 590)
}

/// FNV-1a of the item's canonical text.
fn identity(item: &Item) -> String {
    let text = rtv_grammar::print::print_item(item);
    let hash =
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}
