//! Deciding one claim: it is run on small inputs, proved where it can be, and run again.

use crate::certificate::{Certificate, Certified};
use crate::check::{Checker, Stage};
use crate::choices::{dtype_choices, instance_text, unusual, with_ranks};
use crate::counterexample::Counterexample;
use crate::deadline::Deadline;
use crate::discharge::{Discharged, holds_alike, is_precondition};
use crate::expect::Expectation;
use crate::facets::{Effort, Facets};
use crate::field::{Fingerprints, fingerprints};
use crate::instances::{TESTED_RANKS, depends_on_rank, instances, later, ranked, too_many, widest_first};
use crate::module::Module;
use crate::ranks::{Sufficient, sufficient};
use crate::recheck::Why;
use crate::refute::{Trial, draw, judge};
use crate::replay::replay;
use crate::shrink::shrink;
use crate::testing;
use crate::verdict::{Checked, ClaimResult, Contract, Finding, Verdict};
use crate::verify::Worth;
use rtv_grammar::ast::{Arg, Args, Attr, Expr, ExprKind, Item};
use rtv_grammar::lower::{Choice, Lower, Ranks, has_rank_variables};
use rtv_semantics::cancel::Cancelled;
use rtv_semantics::defined::definedness;
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::guess::Guessing;
use rtv_semantics::program::{Claim, ClaimKind, Mode};
use rtv_semantics::sample::Sampler;
use rtv_semantics::subst::Fresh;
use rtv_semantics::unfold::Limits;
use rtv_smt::{Budget, ValueModel};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Draws before a claim is given to the prover.
const FIRST_SAMPLES: u64 = 60;

/// So many times the inputs of a proved claim are drawn for one that is not.
const OPEN_FACTOR: u64 = 5;

/// Draws at each simpler instance to make a counterexample simpler.
const SIMPLER_DRAWS: u64 = 20;

/// For each question whether a claim `upto` more holds bit for bit, too.
const FACET: Budget = Budget { rlimit: 500_000, timeout_ms: 1_000 };

/// Time for making one counterexample small; what there is then is shown.
const MAX_SHRINK: Duration = Duration::from_secs(3);

/// Draws that find no admissible input, for each one asked.
const DRAWS_PER_SAMPLE: u64 = 20;

/// The reason of what is given up when a claim's time is over.
const TIMEOUT: &str = "timeout";

/// Begins what is said of a claim that is proved at some ranks only.
pub const BOUNDED: &str = "proved at";

/// The prover and the evaluator disagree.
pub const CONTRADICTION: Code = Code(799);

/// An item to be decided.
pub struct Task<'m> {
    pub module: &'m Module,
    pub item: &'m Item,
    /// Its place in the module.
    pub at: usize,
    pub kind: ClaimKind,
    pub expected: Expectation,
    pub deadline: Deadline,
}

impl<'m> Task<'m> {
    /// The item at a place of a module; its time begins to run.
    pub fn of(module: &'m Module, at: usize, kind: ClaimKind, limit: Option<Duration>) -> Task<'m> {
        let (item, expected) = (&module.items[at], module.expected[at]);
        Task { module, item, at, kind, expected, deadline: Deadline::after(limit) }
    }
}

/// What the author asks for beside a refutation.
enum Asked {
    Proof,
    /// `@tested`: sampling alone.
    Testing,
    /// `@trusted("why")`: nothing, for this reason.
    Trust(String),
}

impl Asked {
    /// # Errors
    /// `@trusted` without its reason.
    fn of(item: &Item) -> Result<Asked, Diagnostic> {
        let attr = |name: &str| item.attrs.iter().find(|attr| attr.name.name == name);
        if let Some(trusted) = attr("trusted") {
            return match &trusted.args {
                Some(Args::List(args)) => match args.as_slice() {
                    [Arg { value: Expr { kind: ExprKind::Str(why), .. }, .. }] => {
                        Ok(Asked::Trust(why.clone()))
                    }
                    _ => Err(without_reason(trusted)),
                },
                _ => Err(without_reason(trusted)),
            };
        }
        Ok(if attr("tested").is_some() { Asked::Testing } else { Asked::Proof })
    }
}

fn without_reason(attr: &Attr) -> Diagnostic {
    Diagnostic::error(Code(406), attr.span, "`@trusted` does not say why")
        .help("name the reason: `@trusted(\"law of the real exponential\")`")
}

/// What a claim says, instance by instance.
struct Instances {
    /// Those that are to be proved.
    claims: Vec<Arc<Claim>>,
    /// Those that are run.
    samples: Vec<Arc<Claim>>,
    /// Why nothing is to be proved.
    open: Option<(Code, String)>,
    /// Which ranks decide it, where it is proved rank by rank.
    ranks: Option<Sufficient>,
}

/// What is found of each contract without running anything.
#[derive(Default)]
struct Proofs {
    contracts: BTreeMap<Contract, Finding>,
    /// What the solver thinks separates the sides of the first instance that is not proved.
    model: Option<ValueModel>,
    certificate: Certificate,
    /// The instances that it is about.
    claims: Vec<Arc<Claim>>,
}

/// Why a claim says nothing.
enum Unstated {
    /// Its types are wrong.
    Faulty(Vec<Diagnostic>),
    /// Its meaning is not known.
    Undecided(Code, String),
}

impl Checker {
    /// The claim's verdict; none where its types are wrong, which the diagnostics say.
    pub(crate) fn claim(&self, task: &Task<'_>) -> (Option<ClaimResult>, Vec<Diagnostic>) {
        let asked = match Asked::of(task.item) {
            Ok(asked) => asked,
            Err(fault) => return (None, vec![fault]),
        };
        let (mut result, found) = match task.kind {
            ClaimKind::Test => self.test(task),
            ClaimKind::Vjp if self.settings.stage == Stage::Tests => (None, Vec::new()),
            _ => match self.state(task) {
                Ok(Ok(stated)) => (Some(self.decide(task, &stated, &asked)), Vec::new()),
                Ok(Err(Unstated::Faulty(found))) => (None, found),
                Ok(Err(Unstated::Undecided(code, why))) => {
                    (Some(self.undecided(task, Some(code), why)), Vec::new())
                }
                Err(Cancelled) => (Some(self.undecided(task, None, TIMEOUT.into())), Vec::new()),
            },
        };
        if let Some(result) = &mut result {
            result.seconds = task.deadline.seconds();
        }
        (result, found)
    }

    /// The claim that a `fn` meets the preconditions on data of the definitions of its
    /// file that it calls; none if there are no such preconditions. Those on sizes are
    /// part of its types.
    pub(crate) fn calls(&self, task: &Task<'_>) -> Option<ClaimResult> {
        let stated = match self.state(task) {
            Ok(stated) => stated.ok()?,
            Err(Cancelled) => {
                let may_claim = task.module.may_claim(task.at);
                return may_claim.then(|| self.undecided(task, None, TIMEOUT.into()));
            }
        };
        let states = |claim: &Arc<Claim>| {
            let needs = definedness(&claim.lhs, &mut Fresh::above([&claim.lhs]), Limits::default());
            needs.is_ok_and(|needs| needs.iter().any(|need| is_precondition(need, task.module.file)))
        };
        let first = stated.samples.first()?;
        let states = task.deadline.within(|| states(first)).unwrap_or(true);
        states.then(|| self.decide(task, &stated, &Asked::Proof)).map(|mut result| {
            result.seconds = task.deadline.seconds();
            result
        })
    }

    /// The instances of a claim: at any rank if that can be said, else at the ranks that
    /// are known to decide it, else only at those at which it is run.
    fn state(&self, task: &Task<'_>) -> Result<Result<Instances, Unstated>, Cancelled> {
        let laws = self.lawful(task);
        task.deadline.within(|| self.state_by(task, &laws))
    }

    fn state_by(&self, task: &Task<'_>, laws: &BTreeSet<String>) -> Result<Instances, Unstated> {
        let Some(dtypes) = dtype_choices(task.item) else {
            let limit = too_many(task.item);
            return Err(Unstated::Undecided(limit.code, limit.message));
        };
        let at = |choices: &[Choice]| instances(task.item, &task.module.defs, self.engine(), laws, choices);
        let run = || at(&ranked(&dtypes)).map_err(Unstated::Faulty);
        let has_ranks = has_rank_variables(task.item);
        let found = match at(&with_ranks(&dtypes, Ranks::Opaque)) {
            Ok(claims) => {
                let samples = if has_ranks { run()? } else { claims.clone() };
                return Ok(Instances { claims: widest_first(claims), samples, open: None, ranks: None });
            }
            Err(found) => found,
        };
        if let Some(part) = found.iter().find(|d| later(d.code)) {
            return Err(Unstated::Undecided(part.code, part.message.clone()));
        }
        let Some(inside) = found.iter().find(|d| has_ranks && depends_on_rank(d.code)) else {
            return Err(Unstated::Faulty(found));
        };
        match sufficient(task.item, &task.module.defs, self.engine(), &dtypes) {
            Ok(ranks) => {
                let choices: Vec<Choice> =
                    (0..=ranks.most()).flat_map(|rank| with_ranks(&dtypes, Ranks::Fixed(rank))).collect();
                let claims = widest_first(at(&choices).map_err(Unstated::Faulty)?);
                Ok(Instances { claims, samples: run()?, open: None, ranks: Some(ranks) })
            }
            Err(why) => {
                let reason = format!("rank: the claim looks inside a rank variable: {why}");
                let open = Some((inside.code, reason));
                Ok(Instances { claims: Vec::new(), samples: run()?, open, ranks: None })
            }
        }
    }

    /// Samples, then proves if that is asked, then samples again.
    fn decide(&self, task: &Task<'_>, stated: &Instances, asked: &Asked) -> ClaimResult {
        let mode = stated.samples.first().map_or(Mode::Exact, |c| c.mode);
        let mut result = self.blank(task, mode.name());
        if self.settings.stage == Stage::Types {
            result.note = "types only".into();
            return result;
        }
        let mut tried = Tried::default();
        let first = FIRST_SAMPLES.min(self.settings.samples);
        if let Some(found) = self.sample(task, &stated.samples, first, &mut tried) {
            return refuted(result, *found, tried.compared);
        }
        let Proofs { contracts, model, certificate, claims } = match asked {
            Asked::Proof => self.contracts(task, stated, mode),
            Asked::Testing | Asked::Trust(_) => Proofs::default(),
        };
        let tried_model = |model| self.try_model(task, &stated.samples, &model);
        let held = || claims.last().and_then(|open| self.held_against(task, open)).and_then(tried_model);
        if let Some(found) = model.and_then(|model| tried_model(model).or_else(held)) {
            return refuted(result, *found, tried.compared + 1);
        }
        // Proofs are tested too, and what is open is tested the more.
        let proved = contracts.values().all(|found| found.verdict == Verdict::Proved);
        let inputs = self.settings.samples.saturating_mul(if proved { 1 } else { OPEN_FACTOR });
        let rest = inputs.saturating_sub(first);
        let found = self.sample(task, &stated.samples, rest, &mut tried);
        let found = found.or_else(|| self.field_test(task, stated, mode, &mut tried));
        let proved = proved && !contracts.is_empty();
        if let Some(found) = found {
            let result = refuted(result, *found, tried.compared);
            return if proved { contradicted(result) } else { result };
        }
        result.contracts = contracts;
        result.samples = tried.compared;
        result.checked = proved.then(|| self.checked(task, &claims, &certificate));
        if proved && tried.fields.as_ref().is_some_and(Fingerprints::deny) {
            return contradicted(result);
        }
        self.summarize(&mut result, stated, mode, &tried);
        if result.verdict == Verdict::Proved && is_over_reals(mode) {
            let facets = task.deadline.within(|| self.facets(stated)).ok();
            if let Some(found) = facets.as_ref().and_then(Facets::contradiction) {
                return contradicted(refuted(result, found.clone(), tried.compared));
            }
            result.facets = facets;
        }
        match asked {
            Asked::Trust(why) if result.verdict != Verdict::Vacuous => {
                (result.verdict, result.note) = (Verdict::Trusted, format!("\"{why}\""));
            }
            Asked::Testing if result.verdict == Verdict::Unknown && tried.compared > 0 => {
                result.verdict = Verdict::Tested;
            }
            _ => {}
        }
        if result.verdict == Verdict::Unknown {
            result.code = stated.open.as_ref().map(|(code, _)| *code);
        }
        if let Some(Checked::Contradicted(why)) = &result.checked {
            result.verdict = Verdict::Unknown;
            result.code = Some(CONTRADICTION);
            result.note = format!("a step of its proof is wrong: this is a fault of rtv ({why})");
        }
        result
    }

    /// A refutation at the sizes at which random residues tell the sides apart.
    fn field_test(
        &self,
        task: &Task<'_>,
        stated: &Instances,
        mode: Mode,
        tried: &mut Tried,
    ) -> Option<Box<Counterexample>> {
        if !is_over_reals(mode) || self.settings.samples == 0 {
            return None;
        }
        let seed = self.settings.seed;
        let found = task.deadline.within(|| fingerprints(&stated.samples, seed)).ok()?;
        let mut sampler = Sampler::new(seed);
        let refuting = match &found {
            Fingerprints::Differ(hint) => task.deadline.within(|| hint.replayed(&mut sampler)).ok().flatten(),
            Fingerprints::Outside | Fingerprints::Agree(_) => None,
        };
        tried.fields = Some(found);
        tried.compared += u64::from(refuting.is_some());
        refuting.map(|refuting| self.small(task, refuting, &mut sampler))
    }

    /// What a proved claim is worth bit for bit.
    fn facets(&self, stated: &Instances) -> Facets {
        let effort = Effort { seed: self.settings.seed, thorough: self.thorough };
        let budget = if self.thorough { self.settings.budget } else { FACET };
        Facets::of(&stated.claims, &stated.samples, &self.prover.with_budget(budget), effort)
    }

    /// The contracts of a claim, proved as far as they can be.
    fn contracts(&self, task: &Task<'_>, stated: &Instances, mode: Mode) -> Proofs {
        let mut proofs = Proofs::default();
        if self.settings.stage != Stage::Proofs || matches!(mode, Mode::Close { .. }) {
            return proofs;
        }
        if let Some((_, reason)) = &stated.open {
            let bounded = task.deadline.within(|| self.bounded(&stated.samples)).ok().flatten();
            let bounded = bounded.map_or(String::new(), |ranks| format!("; {BOUNDED} {ranks}"));
            proofs.contracts.insert(Contract::Value, Finding::unknown(format!("{reason}{bounded}")));
            return proofs;
        }
        if let Err(Cancelled) = task.deadline.within(|| self.prove(&stated.claims, &mut proofs)) {
            proofs.contracts.insert(Contract::Value, Finding::unknown(TIMEOUT));
        }
        proofs
    }

    /// The ranks from the least on at which every instance is proved, if there are any: that
    /// is no proof for the others.
    fn bounded(&self, claims: &[Arc<Claim>]) -> Option<String> {
        let rank = |claim: &Claim| claim.ranks.first().map_or(0, |(_, extents)| extents.len());
        let mut proved: Vec<usize> = Vec::new();
        for at in TESTED_RANKS {
            let instances: Vec<Arc<Claim>> =
                claims.iter().filter(|c| rank(c) == at && !self.prover.vacuous(c)).cloned().collect();
            if instances.is_empty() {
                continue;
            }
            let mut proofs = Proofs::default();
            self.prove(&instances, &mut proofs);
            if proofs.contracts.values().any(|found| found.verdict != Verdict::Proved) {
                break;
            }
            proved.push(at);
        }
        match proved.as_slice() {
            [] => None,
            [only] => Some(format!("rank {only}")),
            [first, .., last] => Some(format!("ranks {first} to {last}")),
        }
    }

    /// What the independent checker says of a certificate about these instances.
    fn checked(&self, task: &Task<'_>, claims: &[Arc<Claim>], certificate: &Certificate) -> Checked {
        let check = || {
            if let Err(Why(why)) = self.trials_of(claims, certificate) {
                return Checked::Contradicted(why);
            }
            match (self.steps_of(certificate, None), certificate.text()) {
                (Worth::Accepted(tally), Some(text)) => Checked::Accepted(tally, text.into()),
                (Worth::Accepted(_), None) => Checked::Open("a term has no text".into()),
                (Worth::Rejected(why), _) => Checked::Open(why),
            }
        };
        task.deadline.within(check).unwrap_or_else(|Cancelled| Checked::Open(TIMEOUT.into()))
    }

    /// The instances of the claim of a task, if it has any that are to be proved.
    pub(crate) fn stated(&self, task: &Task<'_>) -> Option<Vec<Arc<Claim>>> {
        let stated = self.state(task).ok()?.ok()?;
        Some(stated.claims).filter(|claims| !claims.is_empty())
    }

    /// Decides the contracts of every instance up to the first that is not proved.
    fn prove(&self, claims: &[Arc<Claim>], proofs: &mut Proofs) {
        let into = &mut proofs.contracts;
        let mut proved: Vec<&Claim> = Vec::new();
        for claim in claims {
            if proved.iter().any(|proved| holds_alike(claim, proved)) {
                continue;
            }
            let Discharged { found, model, parts } = self.prover.contracts(claim);
            proofs.claims.push(claim.clone());
            proofs.certificate.instances.push(Certified { choice: instance_text(claim), parts });
            for (contract, mut finding) in found {
                let text = instance_text(claim);
                if let (Some(reason), false) = (&mut finding.reason, text.is_empty()) {
                    *reason = format!("{reason} ({text})");
                }
                let so_far = into.remove(&contract).unwrap_or(Finding::proved(finding.method.clone()));
                into.insert(contract, so_far.and(finding));
            }
            if into.values().any(|f| f.verdict != Verdict::Proved) {
                let open = into.get_mut(&Contract::Value).filter(|value| value.verdict != Verdict::Proved);
                if let Some(value) = open
                    && let Some(weaker) = self.weaker_mode(claim)
                {
                    value.reason = Some(format!("not shown {}; it is proved `upto {weaker}`", claim.mode));
                }
                proofs.model = model;
                return;
            }
            proved.push(claim);
        }
    }

    /// The strongest mode below the asked one in which the values are proved equal.
    fn weaker_mode(&self, claim: &Claim) -> Option<Mode> {
        let below: &[Mode] = match claim.mode {
            Mode::Exact => &[Mode::Reassoc, Mode::Real],
            Mode::Reassoc => &[Mode::Real],
            Mode::Real | Mode::Close { .. } => &[],
        };
        let proved = |mode: &Mode| {
            let Discharged { found, .. } = self.prover.contracts(&Claim { mode: *mode, ..claim.clone() });
            found.get(&Contract::Value).is_some_and(|f| f.verdict == Verdict::Proved)
        };
        below.iter().copied().find(proved)
    }

    /// A refutation made of a model of the solver, on the instances of rank 1 at most.
    fn try_model(
        &self,
        task: &Task<'_>,
        claims: &[Arc<Claim>],
        model: &ValueModel,
    ) -> Option<Box<Counterexample>> {
        let mut sampler = Sampler::new(self.settings.seed);
        let plain = || claims.iter().filter(|c| c.ranks.iter().all(|(_, extents)| extents.len() == 1));
        let replayed = || {
            let found = plain().find_map(|claim| replay(claim, model, &mut sampler))?;
            Some(simpler_instance(claims, &found, &mut sampler).unwrap_or(found))
        };
        let found = task.deadline.within(replayed).ok()??;
        Some(self.small(task, found, &mut sampler))
    }

    fn held_against(&self, task: &Task<'_>, claim: &Claim) -> Option<ValueModel> {
        task.deadline.within(|| self.prover.held_against(claim)).ok().flatten()
    }

    fn summarize(&self, result: &mut ClaimResult, stated: &Instances, mode: Mode, tried: &Tried) {
        let claims = &stated.claims;
        let proved =
            !result.contracts.is_empty() && result.contracts.values().all(|f| f.verdict == Verdict::Proved);
        let vacuous = !claims.is_empty() && claims.iter().all(|claim| self.prover.vacuous(claim));
        (result.verdict, result.note) = if vacuous {
            (Verdict::Vacuous, "no sizes satisfy the preconditions".into())
        } else if let Mode::Close { .. } = mode {
            match tried.compared {
                0 => (Verdict::Unknown, tried.text()),
                _ => (Verdict::Tested, tried.text()),
            }
        } else if proved && tried.compared == 0 {
            (Verdict::Unknown, format!("proved, but {}", tried.text()))
        } else if proved {
            let any_rank = claims.iter().any(|c| !c.ranks.is_empty());
            let scope = match stated.ranks {
                Some(ranks) => ranks.to_string(),
                None => if any_rank { "any rank" } else { "all sizes" }.to_string(),
            };
            let note = match &result.checked {
                Some(Checked::Accepted(..)) => scope,
                _ => format!("{scope} (no certificate)"),
            };
            (Verdict::Proved, note)
        } else {
            (Verdict::Unknown, format!("{}{}", reasons(&result.contracts), tried.text()))
        };
    }

    /// Compares the sides on `count` admissible inputs, spread over the instances.
    fn sample(
        &self,
        task: &Task<'_>,
        claims: &[Arc<Claim>],
        count: u64,
        tried: &mut Tried,
    ) -> Option<Box<Counterexample>> {
        let wanted = tried.compared.saturating_add(count);
        let mut sampler = Sampler::new(0);
        let search = || {
            for _ in 0..count.saturating_mul(DRAWS_PER_SAMPLE) {
                if tried.compared >= wanted || claims.is_empty() {
                    break;
                }
                let claim = turn(claims, tried.draws as usize);
                sampler =
                    Sampler::new(self.settings.seed.wrapping_mul(0x9e37_79b9).wrapping_add(tried.draws));
                let round = tried.draws / claims.len() as u64;
                tried.draws += 1;
                let Some(drawn) = draw(claim, &mut sampler, round) else { continue };
                match judge(claim, &drawn) {
                    Trial::Rejected | Trial::Silent => {}
                    Trial::Agreed => tried.compared += 1,
                    Trial::Differs(found) => {
                        tried.compared += 1;
                        let simpler = simpler_instance(claims, &found, &mut sampler);
                        return Some(simpler.unwrap_or(found));
                    }
                }
            }
            None
        };
        let found = task.deadline.within(search).ok()??;
        Some(self.small(task, found, &mut sampler))
    }

    /// The same refutation, as small as there is time for.
    fn small(
        &self,
        task: &Task<'_>,
        found: Box<Counterexample>,
        sampler: &mut Sampler,
    ) -> Box<Counterexample> {
        let shrinking = Deadline::after(Some(MAX_SHRINK));
        shrink(found, sampler, &|| shrinking.is_over() || task.deadline.is_over())
    }

    fn test(&self, task: &Task<'_>) -> (Option<ClaimResult>, Vec<Diagnostic>) {
        let mut lower = Lower::new(&task.module.defs, &Guessing);
        let test = task.deadline.within(|| lower.test(task.item));
        let mut diagnostics = lower.take_diagnostics();
        let test = match test {
            Ok(Some(test)) if !diagnostics.iter().any(Diagnostic::is_error) => test,
            Ok(_) => return (None, diagnostics),
            Err(Cancelled) => return (Some(self.undecided(task, None, TIMEOUT.into())), Vec::new()),
        };
        let mut result = self.blank(task, "");
        if self.settings.stage == Stage::Types {
            result.note = "types only".into();
            return (Some(result), diagnostics);
        }
        let Ok(run) = task.deadline.within(|| testing::run(&test)) else {
            return (Some(self.undecided(task, None, TIMEOUT.into())), diagnostics);
        };
        result.samples = run.assertions;
        (result.verdict, result.note) = match run.failures.len() {
            0 => (Verdict::Proved, counted(run.assertions, "assertion")),
            n => (Verdict::Refuted, format!("{n} of {} failed", counted(run.assertions, "assertion"))),
        };
        if task.expected.verdict != Verdict::Refuted {
            diagnostics.extend(run.failures);
        }
        (Some(result), diagnostics)
    }

    /// A claim of which nothing can be found out.
    pub(crate) fn undecided(&self, task: &Task<'_>, code: Option<Code>, why: String) -> ClaimResult {
        let mut result = self.blank(task, "");
        result.contracts.insert(Contract::Value, Finding::unknown(why.clone()));
        (result.code, result.note) = (code, why);
        result
    }

    fn blank(&self, task: &Task<'_>, mode: &'static str) -> ClaimResult {
        let blank = ClaimResult::blank(task.module, task.at);
        ClaimResult { mode, ..blank.expect("invariant: a task is about a claim") }
    }
}

/// A refutation of the same contract at fewer axes and more usual dtypes, if a few draws
/// find one.
fn simpler_instance(
    claims: &[Arc<Claim>],
    found: &Counterexample,
    sampler: &mut Sampler,
) -> Option<Box<Counterexample>> {
    let mut simpler: Vec<&Arc<Claim>> =
        claims.iter().filter(|c| simplicity(c) < simplicity(&found.instance)).collect();
    simpler.sort_by_key(|claim| simplicity(claim));
    simpler.into_iter().find_map(|claim| {
        (0..SIMPLER_DRAWS).find_map(|round| match judge(claim, &draw(claim, sampler, round)?) {
            Trial::Differs(again) if again.contract == found.contract => Some(again),
            _ => None,
        })
    })
}

/// The instance of a draw: every other time one of few axes, where most faults show, and
/// else each in turn.
fn turn(claims: &[Arc<Claim>], draw: usize) -> &Arc<Claim> {
    let few = |claim: &&Arc<Claim>| claim.ranks.iter().all(|(_, extents)| extents.len() <= 1);
    let low = claims.iter().filter(few).count();
    let turn = draw / 2;
    match low {
        1.. if draw.is_multiple_of(2) => {
            claims.iter().filter(few).nth(turn % low).expect("invariant: counted")
        }
        _ => &claims[turn % claims.len()],
    }
}

/// The number of axes, then how unusual the dtypes are.
fn simplicity(claim: &Claim) -> (usize, usize) {
    let axes = claim.ranks.iter().map(|(_, extents)| extents.len()).sum();
    (axes, unusual(&claim.dtypes))
}

/// Whether floats stand for real numbers.
fn is_over_reals(mode: Mode) -> bool {
    matches!(mode, Mode::Reassoc | Mode::Real)
}

/// How many inputs were drawn, and on how many both sides were compared.
#[derive(Default)]
struct Tried {
    draws: u64,
    compared: u64,
    /// What residues say, if they were asked.
    fields: Option<Fingerprints>,
}

impl Tried {
    fn text(&self) -> String {
        let fields = self.fields.as_ref().and_then(Fingerprints::text);
        let fields = fields.map_or(String::new(), |text| format!("; {text}"));
        self.inputs() + &fields
    }

    fn inputs(&self) -> String {
        match (self.draws, self.compared) {
            (0, _) => "no input was tried".to_string(),
            (_, 0) => "no input was found that satisfies the preconditions and runs".to_string(),
            (_, n) => format!("tested on {}", counted(n, "input")),
        }
    }
}

/// `1 input`, `2 inputs`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
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

/// A proof and an input say different things.
fn contradicted(mut result: ClaimResult) -> ClaimResult {
    result.code = Some(CONTRADICTION);
    result.note = "the prover and the evaluator disagree: this is a fault of rtv".into();
    result
}

/// The reasons of what is not proved, each once.
fn reasons(contracts: &BTreeMap<Contract, Finding>) -> String {
    let open = contracts.iter().filter(|(_, f)| f.verdict != Verdict::Proved);
    let texts = open.filter_map(|(c, f)| f.reason.as_ref().map(|r| format!("{}: {r}; ", c.name())));
    texts.collect()
}
