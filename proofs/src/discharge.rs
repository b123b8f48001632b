//! Deciding the contracts of one instance of a claim, without running it.

use crate::alias::alias;
use crate::certificate::{Part, Shown};
use crate::compare::domain;
use crate::strict::{bounds, closed, hypotheses};
use crate::verdict::{Contract, Finding, Verdict};
use rtv_semantics::alike::{Sense, alike, is_about_reals, require_alike};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::defined::{Guard, Obligation, definedness};
use rtv_semantics::diag::FileId;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::eval::{Env, eval};
use rtv_semantics::normal::normalize;
use rtv_semantics::program::{Claim, ClaimKind, Mode};
use rtv_semantics::scalar::Value;
use rtv_semantics::size::Size;
use rtv_semantics::subst::{Fresh, free_syms, free_vars};
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{ErrorClass, Form, Monoid, Reduce, Term};
use rtv_semantics::types::Type;
use rtv_semantics::unfold::{Limits, component, fresh_index, index_terms};
use rtv_smt::{
    Budget, Errors, Method, Proof, Reason, Rewrite, Rewriting, SizeAnswer, SizeSolver, Solver, ValueAnswer,
    ValueGoal, ValueModel, ValueProver,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The provers of one run.
pub struct Prover {
    solver: Arc<Solver>,
    sizes: Arc<SizeSolver>,
    values: ValueProver,
}

impl Prover {
    pub fn new(solver: Solver, budget: Budget) -> Prover {
        let solver = Arc::new(solver);
        let sizes = Arc::new(SizeSolver::new(solver.clone(), Budget::PRUNE));
        Prover { values: ValueProver::new(solver.clone(), sizes.clone(), budget), sizes, solver }
    }

    /// The same with another budget for each question about values.
    pub fn with_budget(&self, budget: Budget) -> Prover {
        let (solver, sizes) = (self.solver.clone(), self.sizes.clone());
        Prover { values: ValueProver::new(solver.clone(), sizes.clone(), budget), sizes, solver }
    }

    /// The solver, for the time it has and the faults it shows.
    pub fn solver(&self) -> &Solver {
        &self.solver
    }

    pub fn values(&self) -> &ValueProver {
        &self.values
    }

    pub fn entails(&self) -> &dyn Entails {
        &*self.sizes
    }

    /// Whether no sizes satisfy the preconditions.
    pub fn vacuous(&self, claim: &Claim) -> bool {
        self.sizes.ask(&claim.facts, &Cond::False) == SizeAnswer::Entailed
    }

    /// The value contract bit for bit, in the solver's theory of floats, and what separates
    /// the values if they differ.
    pub fn bits(&self, claim: &Claim) -> (Finding, Option<ValueModel>) {
        let claim = Claim { mode: Mode::Exact, ..claim.clone() };
        let mut goal = Goal { in_ieee: true, ..Goal::new(&claim, &self.sizes) };
        let found = goal.value(&self.values);
        (found, goal.model)
    }

    /// Every contract of a rule or decomposition.
    pub fn contracts(&self, claim: &Claim) -> Discharged {
        self.discharged(claim, None)
    }

    /// What the solver itself holds against an instance that is not proved; a guess that speaks
    /// against it is small, and may be far from where the sides separate.
    pub fn held_against(&self, claim: &Claim) -> Option<ValueModel> {
        self.solver().without_guesses(|| self.contracts(claim)).model
    }

    /// The same, where a goal counts as proved if it is among those given.
    pub fn contracts_by(&self, claim: &Claim, given: &[(Contract, Part)]) -> Discharged {
        self.discharged(claim, Some(given))
    }

    fn discharged(&self, claim: &Claim, given: Option<&[(Contract, Part)]>) -> Discharged {
        let mut found = BTreeMap::new();
        let mut goal = Goal::new(claim, &self.sizes);
        goal.given = given;
        if claim.kind == ClaimKind::Calls {
            found.insert(Contract::Error, goal.calls(&self.values));
            return Discharged { found, model: None, parts: goal.parts };
        }
        found.insert(Contract::DType, same_dtypes(claim.lhs.ty(), claim.rhs.ty()));
        found.insert(Contract::Shape, goal.shape(claim.lhs.ty(), claim.rhs.ty()));
        found.insert(Contract::Error, goal.error(&self.values));
        found.insert(Contract::Value, goal.value(&self.values));
        if !matches!(claim.kind, ClaimKind::Rule | ClaimKind::Monoid) {
            found.insert(Contract::Alias, alias(claim));
        }
        Discharged { found, model: goal.model, parts: goal.parts }
    }
}

/// What was found of the contracts of one instance.
pub struct Discharged {
    pub found: BTreeMap<Contract, Finding>,
    /// What the solver thinks separates the values where it thinks so.
    pub model: Option<ValueModel>,
    /// Everything that was shown.
    pub parts: Vec<(Contract, Part)>,
}

/// One instance of a claim with what is known where its left side is defined.
struct Goal<'a> {
    claim: &'a Claim,
    sizes: &'a SizeSolver,
    fresh: Fresh,
    facts: Vec<Cond>,
    /// Obligations of the two sides, or why they are not known.
    left: Result<Vec<Obligation>, String>,
    right: Result<Vec<Obligation>, String>,
    model: Option<ValueModel>,
    /// Whether floats are those of the solver's theory.
    in_ieee: bool,
    parts: Vec<(Contract, Part)>,
    /// What counts as proved, where nothing is to be proved.
    given: Option<&'a [(Contract, Part)]>,
}

impl<'a> Goal<'a> {
    fn new(claim: &'a Claim, sizes: &'a SizeSolver) -> Goal<'a> {
        let conditions = claim.requires.iter().map(|r| &r.cond);
        let mut fresh = Fresh::above([&claim.lhs, &claim.rhs].into_iter().chain(conditions));
        // Parameters and sizes that occur in neither side keep their ids apart too.
        let highest = claim.syms.iter().map(|s| s.id()).max().unwrap_or(0);
        while fresh.id() <= highest {}
        let mut obligations =
            |t: &Term| definedness(t, &mut fresh, Limits::default()).map_err(|e| e.to_string());
        let (left, right) = (obligations(&claim.lhs), obligations(&claim.rhs));
        let mut facts = claim.facts.clone();
        // Both sides are compared where the left one is defined.
        if let Ok(left) = &left {
            facts.extend(left.iter().filter(|o| o.path.is_empty()).filter_map(|o| o.need.as_cond()));
            facts.extend(bounds(left, &facts, sizes));
        }
        Goal {
            claim,
            sizes,
            fresh,
            facts,
            left,
            right,
            model: None,
            parts: Vec::new(),
            given: None,
            in_ieee: false,
        }
    }

    fn shape(&mut self, left: &Type, right: &Type) -> Finding {
        match (left, right) {
            (Type::Size, Type::Size) => Finding::proved("types"),
            (Type::Tensor(a), Type::Tensor(b)) if a.shape.len() == b.shape.len() => {
                let mut pairs = a.shape.iter().zip(&b.shape);
                let apart = pairs.find(|(m, n)| !self.equal(m, n));
                match apart {
                    None => Finding::proved("sizes"),
                    Some((m, n)) => {
                        if let SizeAnswer::Model(syms) = self.sizes.ask(&self.facts, &Cond::eq(m, n)) {
                            self.model = Some(ValueModel { syms, reads: Vec::new() });
                        }
                        Finding::unknown(format!("`{m} == {n}` does not follow"))
                    }
                }
            }
            (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
                a.iter().zip(b).map(|(a, b)| self.shape(a, b)).fold(Finding::proved("sizes"), Finding::and)
            }
            _ => Finding::unknown(format!("`{left}` and `{right}` have different ranks")),
        }
    }

    fn equal(&mut self, a: &Size, b: &Size) -> bool {
        // Equal numbers of elements do not make the axes of rank variables equal.
        let groups = a.is_group() || b.is_group();
        let facts = self.facts.clone();
        a == b || (!groups && self.follows(Contract::Shape, facts, Cond::eq(a, b)))
    }

    /// Whether a condition follows from facts, which is kept.
    fn follows(&mut self, contract: Contract, facts: Vec<Cond>, goal: Cond) -> bool {
        let follows = match self.given {
            None => self.sizes.entails(&facts, &goal),
            Some(given) => given.iter().any(|(_, part)| part.is_of_sizes(&facts, &goal)),
        };
        if follows {
            self.parts.push((contract, Part::Sizes { facts, goal }));
        }
        follows
    }

    /// The right side fails only where the left one does; for `<=>` also the reverse.
    fn error(&mut self, prover: &ValueProver) -> Finding {
        let (left, right) = match (&self.left, &self.right) {
            (Ok(left), Ok(right)) => (left.clone(), right.clone()),
            (Err(why), _) | (_, Err(why)) => return Finding::unknown(why.clone()),
        };
        let forward = self.covered(&right, &left, prover);
        if self.claim.directed { forward } else { forward.and(self.covered(&left, &right, prover)) }
    }

    /// The preconditions on data of the functions called follow from the function's own
    /// and from what is checked before anything else.
    fn calls(&mut self, prover: &ValueProver) -> Finding {
        let all = match &self.left {
            Ok(all) => all.clone(),
            Err(why) => return Finding::unknown(why.clone()),
        };
        let file = self.claim.span.file;
        // What is checked later, or for every index, may fail after the first call.
        let before = all.iter().take_while(|o| !is_precondition(o, file)).filter(|o| o.path.is_empty());
        let before: Vec<Obligation> = before.cloned().collect();
        let needs: Vec<Obligation> = all.iter().filter(|o| is_precondition(o, file)).cloned().collect();
        self.covered(&needs, &before, prover)
    }

    /// Whether every obligation follows where the given ones hold.
    fn covered(&mut self, needs: &[Obligation], given: &[Obligation], prover: &ValueProver) -> Finding {
        let mut facts = self.claim.facts.clone();
        facts.extend(given.iter().filter(|o| o.path.is_empty()).filter_map(|o| o.need.as_cond()));
        let known: Vec<Term> = given.iter().map(closed).collect();
        let on_data = hypotheses(given, &facts, self.sizes);
        for need in needs {
            let shared = || {
                let term = closed(need);
                known.iter().any(|g| alpha_eq(g, &term))
                    || (need.path.is_empty()
                        && self.claim.requires.iter().any(|r| alpha_eq(&r.cond, &need.need)))
            };
            if shared() {
                continue;
            }
            let inside = [&facts[..], &need.facts()].concat();
            if need.need.as_cond().is_some_and(|goal| self.follows(Contract::Error, inside, goal)) {
                continue;
            }
            if let Err(why) = self.holds(need, &facts, &on_data, prover) {
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                return Finding::unknown(match self.claim.kind {
                    ClaimKind::Calls => format!("checked when it is called: {}{why}", need.text),
                    _ => format!("not shown where the other side is defined: {}{why}", need.text),
                });
            }
        }
        Finding::proved("definedness")
    }

    /// Whether an obligation about data is true where the claim's preconditions, what is
    /// known and the conditions on its path are. That it can be evaluated there is what
    /// the obligations before it say.
    ///
    /// # Errors
    /// If that is not shown; with the reason where the solver has no answer.
    fn holds(
        &mut self,
        need: &Obligation,
        facts: &[Cond],
        known: &[Term],
        prover: &ValueProver,
    ) -> Result<(), Option<Reason>> {
        let mut facts = facts.to_vec();
        facts.extend(need.facts());
        let mut need_term = &need.need;
        while let Form::Reduce(Reduce { op: Monoid::All, binders, body }) = need_term.form() {
            facts.extend(binders.iter().map(|b| Cond::lt(&Size::sym(&b.sym), &b.extent)));
            need_term = body;
        }
        if evaluates_to_true(need_term, self.claim.mode) {
            return Ok(());
        }
        let path = need.path.iter().filter_map(|guard| match guard {
            Guard::Holds(term) => Some(term.clone()),
            Guard::Index(_) => None,
        });
        let hypotheses: Vec<Term> =
            self.preconditions().into_iter().chain(known.iter().cloned()).chain(path).collect();
        let yes = Term::bool(true, need.span);
        let simple = normalize(need_term, &facts, self.sizes);
        let goal = ValueGoal {
            facts: &facts,
            hypotheses: &hypotheses,
            left: &yes,
            right: &simple,
            mode: self.claim.mode,
            directed: true,
            errors: Errors::Excluded,
            written: None,
        };
        match self.answer(&goal, [&yes, need_term], prover) {
            ValueAnswer::Equal(proof) => {
                self.shown(Contract::Error, &goal, [&yes, need_term], proof);
                Ok(())
            }
            ValueAnswer::Model(_) => Err(None),
            ValueAnswer::Unknown(reason) => Err(Some(reason)),
        }
    }

    /// What the prover says of a goal, or what is given of it.
    fn answer(&self, goal: &ValueGoal<'_>, sides: [&Term; 2], prover: &ValueProver) -> ValueAnswer {
        let Some(given) = self.given else { return prover.prove(goal) };
        match given.iter().find_map(|(_, part)| part.proof_of(goal, sides)) {
            Some(proof) => ValueAnswer::Equal(proof),
            None => ValueAnswer::Unknown(Reason::Unsupported("a goal that is not given".into())),
        }
    }

    /// Keeps a goal that was proved of the simplified forms of two terms.
    fn shown(&mut self, contract: Contract, goal: &ValueGoal<'_>, [left, right]: [&Term; 2], rest: Proof) {
        let simplified = |after: &Term| vec![Rewrite { by: Rewriting::Bits, after: after.clone() }];
        let proof = Proof::Rewritten {
            left: simplified(goal.left),
            right: simplified(goal.right),
            rest: Box::new(rest),
        };
        let shown = Shown {
            facts: goal.facts.to_vec(),
            hypotheses: goal.hypotheses.to_vec(),
            left: left.clone(),
            right: right.clone(),
            mode: goal.mode,
            directed: goal.directed,
            proof,
        };
        self.parts.push((contract, Part::Values(Box::new(shown))));
    }

    /// The preconditions on data, element by element.
    fn preconditions(&mut self) -> Vec<Term> {
        let requires = self.claim.requires.iter();
        requires
            .filter_map(|r| component(&r.cond, &[], &[], &mut self.fresh, Limits::default()).ok())
            .collect()
    }

    fn value(&mut self, prover: &ValueProver) -> Finding {
        if let Mode::Close { .. } = self.claim.mode {
            return Finding::unknown("a numeric bound is tested, not proved");
        }
        let sides = [&self.claim.lhs, &self.claim.rhs];
        if self.claim.mode == Mode::Real && !sides.into_iter().all(is_about_reals) {
            return Finding::unknown("`nextafter` has no meaning over the reals");
        }
        if alpha_eq(&self.claim.lhs, &self.claim.rhs) {
            return Finding::proved("same term");
        }
        let ty = self.claim.lhs.ty().clone();
        self.components(&ty, &mut Vec::new(), prover)
    }

    fn components(&mut self, ty: &Type, path: &mut Vec<usize>, prover: &ValueProver) -> Finding {
        match ty {
            Type::Size => Finding::unknown("a size as a result"),
            Type::Tensor(t) => self.element(&t.shape, path, prover),
            Type::Tuple(parts) => {
                let mut all = Finding::proved("normal form");
                for (k, part) in parts.iter().enumerate() {
                    path.push(k);
                    let one = self.components(part, path, prover);
                    path.pop();
                    all = if one.verdict > all.verdict || one.method == "z3" { one.and(all) } else { all };
                }
                all
            }
        }
    }

    /// Both sides at one symbolic index of the result.
    fn element(&mut self, shape: &[Size], path: &[usize], prover: &ValueProver) -> Finding {
        let binders = fresh_index(shape, &mut self.fresh);
        let index = index_terms(&binders, self.claim.span);
        let mut facts = self.facts.clone();
        facts.extend(binders.iter().map(|b| Cond::lt(&Size::sym(&b.sym), &b.extent)));
        let unfold = |t: &Term, fresh: &mut Fresh| {
            component(t, path, &index, fresh, Limits::default()).map_err(|e| e.to_string())
        };
        let sides = unfold(&self.claim.lhs, &mut self.fresh)
            .and_then(|left| Ok((left, unfold(&self.claim.rhs, &mut self.fresh)?)));
        let (written_left, written_right) = match sides {
            Ok(sides) => sides,
            Err(why) => return Finding::unknown(why),
        };
        let left = normalize(&written_left, &facts, self.sizes);
        let right = normalize(&written_right, &facts, self.sizes);
        let mut known = self.preconditions();
        if let Ok(obligations) = &self.left {
            known.extend(hypotheses(obligations, &self.facts, self.sizes));
        }
        let goal = ValueGoal {
            facts: &facts,
            hypotheses: &known,
            left: &left,
            right: &right,
            mode: self.claim.mode,
            directed: self.claim.directed,
            errors: Errors::Excluded,
            written: None,
        };
        if self.in_ieee {
            return self.ask_ieee(&goal, prover);
        }
        match self.answer(&goal, [&written_left, &written_right], prover) {
            ValueAnswer::Equal(proof) => {
                let method = match proof.method() {
                    Method::Syntactic => "normal form",
                    Method::Structural => "congruence",
                    Method::Smt => "z3",
                };
                self.shown(Contract::Value, &goal, [&written_left, &written_right], proof);
                Finding::proved(method)
            }
            ValueAnswer::Model(model) => {
                self.model = Some(model);
                Finding::unknown("no proof found, and what the solver holds against it is no counterexample")
            }
            ValueAnswer::Unknown(reason) => Finding::unknown(reason.to_string()),
        }
    }

    /// The same question in the solver's theory of floats; no part of a certificate.
    fn ask_ieee(&mut self, goal: &ValueGoal, prover: &ValueProver) -> Finding {
        match prover.prove_in_ieee(goal) {
            Ok(None) => Finding::proved("theory of floats"),
            Ok(Some(model)) => {
                self.model = Some(model);
                Finding::unknown("the solver holds an input against it")
            }
            Err(reason) => Finding::unknown(reason.to_string()),
        }
    }
}

/// Whether two results have the same dtypes, whatever their shapes.
fn same_dtypes(left: &Type, right: &Type) -> Finding {
    match (left, right) {
        (Type::Size, Type::Size) => Finding::proved("types"),
        (Type::Tensor(a), Type::Tensor(b)) if a.dtype == b.dtype => Finding::proved("types"),
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| same_dtypes(a, b)).fold(Finding::proved("types"), Finding::and)
        }
        _ => Finding::unknown(format!("`{left}` and `{right}` have different dtypes")),
    }
}

/// Whether an instance holds because another one does, which was proved: both sides only
/// move data, at whatever dtype (Note [Movement]), or they are the same over the reals but
/// for which float dtype stands where (Note [Reals]), or the same but that integers are
/// narrower (Note [Residues]).
pub fn holds_alike(claim: &Claim, proved: &Claim) -> bool {
    let rules = [claim, proved].into_iter().all(|claim| claim.kind == ClaimKind::Rule);
    let over_reals = [claim, proved].into_iter().all(|claim| claim.mode == Mode::Real);
    let mut senses = [Sense::Movement, Sense::Reals, Sense::Residues].into_iter();
    let alike = |sense| match sense {
        Sense::Movement if !(claim.requires.is_empty() && proved.requires.is_empty()) => false,
        Sense::Reals if !over_reals => false,
        _ => {
            require_alike(sense, &claim.requires, &proved.requires)
                && alike(sense, &claim.lhs, &proved.lhs)
                && alike(sense, &claim.rhs, &proved.rhs)
        }
    };
    rules
        && claim.directed == proved.directed
        && claim.mode == proved.mode
        && claim.facts == proved.facts
        && senses.any(alike)
        && same_dtypes(claim.lhs.ty(), claim.rhs.ty()).verdict == Verdict::Proved
}

/// Whether an obligation is a precondition on data that a definition of this file states.
pub fn is_precondition(need: &Obligation, file: FileId) -> bool {
    need.at_entry && need.class == ErrorClass::Requires && need.span.file == file
}

/// Whether a condition without parameters and sizes is true.
fn evaluates_to_true(cond: &Term, mode: Mode) -> bool {
    let limits = rtv_semantics::eval::Limits { max_steps: 1 << 16, ..Default::default() };
    free_vars(cond).is_empty()
        && free_syms(cond).is_empty()
        && eval(cond, &Env::new(), domain(mode), &limits).is_ok_and(|value| {
            value.as_tensor().and_then(Tensor::item).and_then(Value::as_bool) == Some(true)
        })
}
