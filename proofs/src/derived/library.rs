//! The functions of modules, and those rules of theirs that are known to be proved.

use super::Rules;
use crate::certificate::{Certificate, Certified};
use crate::check::Checker;
use crate::choices::{dtype_choices, instance_text};
use crate::decide::Task;
use crate::discharge::Discharged;
use crate::instances::instances;
use crate::laws::monoids_of;
use crate::module::{Module, subject};
use crate::verdict::Verdict;
use crate::verify::Worth;
use rtv_grammar::ast::{DefKind, ItemKind};
use rtv_grammar::lower::{Choice, Lower, Ranks, has_rank_variables};
use rtv_semantics::diag::Diagnostic;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Claim, ClaimKind, Function, Mode};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Axes of a rank variable at most: what an instance of a rule costs grows with them.
const MAX_RANK: usize = 12;

/// A rule at a choice of dtypes and of a rank.
type At = (String, Vec<(Arc<str>, DType)>, Option<usize>);

/// Rules that a caller knows to be proved, each elaborated where it is asked for.
pub struct Proved<'c> {
    checker: &'c Checker,
    rules: BTreeMap<String, (&'c Module, usize)>,
    claims: FxHashMap<At, Option<Arc<Claim>>>,
    /// Claims by address, which are kept in `claims`, and modes beside their own.
    held: FxHashMap<(usize, &'static str), bool>,
}

impl<'c> Proved<'c> {
    /// None yet.
    pub fn by(checker: &'c Checker) -> Proved<'c> {
        Proved { checker, rules: BTreeMap::new(), claims: FxHashMap::default(), held: FxHashMap::default() }
    }

    /// Takes up the rule at a place of a module, of which the caller knows that it is proved as it
    /// is now.
    pub fn admit(&mut self, module: &'c Module, at: usize) {
        if let Some((name, Some(ClaimKind::Rule | ClaimKind::Decomp))) = subject(&module.items[at]) {
            self.rules.insert(name, (module, at));
        }
    }

    fn elaborated(&self, (rule, dtypes, rank): &At) -> Option<Arc<Claim>> {
        let (module, at) = *self.rules.get(rule)?;
        let choice = choice(module, at, dtypes, *rank)?;
        let laws = self.checker.laws_known_to(module, at)?;
        let engine = self.checker.engine();
        instances(&module.items[at], &module.defs, engine, &laws, &[choice]).ok()?.pop()
    }
}

/// The choice of dtypes and axes, if the item at a place has it.
fn choice(module: &Module, at: usize, dtypes: &[(Arc<str>, DType)], rank: Option<usize>) -> Option<Choice> {
    let item = &module.items[at];
    let known = dtype_choices(item)?.iter().any(|choice| choice == dtypes);
    let has_axes = rank.is_none_or(|rank| rank <= MAX_RANK && has_rank_variables(item));
    let ranks = rank.map_or(Ranks::Opaque, Ranks::Fixed);
    (known && has_axes).then(|| Choice { dtypes: dtypes.to_vec(), ranks })
}

impl Checker {
    /// The `fn` at a place of a module, for a choice of dtypes and of a number of axes for its rank variables
    /// (without one they stand for any number); nothing where it does not type.
    pub fn function(
        &self,
        module: &Module,
        at: usize,
        dtypes: &[(Arc<str>, DType)],
        rank: Option<usize>,
    ) -> Option<Function> {
        let item = &module.items[at];
        let is_fn = matches!(&item.kind, ItemKind::Def(def) if def.kind == DefKind::Fn);
        let choice = choice(module, at, dtypes, rank).filter(|_| is_fn)?;
        let laws = self.laws_known_to(module, at)?;
        let mut lower = Lower::new(&module.defs, self.engine()).with_laws(laws);
        let function = lower.function(item, &choice)?;
        let sound = !lower.take_diagnostics().iter().any(Diagnostic::is_error);
        sound.then_some(function)
    }

    /// The monoids that an item rests on and whose laws are proved.
    fn laws_known_to(&self, module: &Module, at: usize) -> Option<BTreeSet<String>> {
        let (_, kind) = subject(&module.items[at])?;
        Some(self.lawful(&Task::of(module, at, kind.unwrap_or(ClaimKind::Calls), None)))
    }
}

impl Rules for Proved<'_> {
    fn claim(&mut self, rule: &str, dtypes: &[(Arc<str>, DType)], rank: Option<usize>) -> Option<Arc<Claim>> {
        let at = (rule.to_string(), dtypes.to_vec(), rank);
        if let Some(known) = self.claims.get(&at) {
            return known.clone();
        }
        let claim = self.elaborated(&at);
        self.claims.insert(at, claim.clone());
        claim
    }

    /// By proving it, at any rank if that can be said, and having the proof checked.
    fn holds(&mut self, claim: &Arc<Claim>, mode: Mode) -> bool {
        let general = self.claim(&claim.name, &claim.dtypes, None).unwrap_or_else(|| claim.clone());
        let key = (Arc::as_ptr(&general) as usize, mode.name());
        let checker = self.checker;
        *self.held.entry(key).or_insert_with(|| {
            let claim = Arc::new(Claim { mode, ..(*general).clone() });
            let Discharged { found, parts, .. } = checker.prover.contracts(&claim);
            let (choice, monoids) = (instance_text(&claim), monoids_of(&[claim]));
            let certificate = Certificate { instances: vec![Certified { choice, parts }], monoids };
            found.values().all(|found| found.verdict == Verdict::Proved)
                && matches!(checker.steps_of(&certificate, None), Worth::Accepted(_))
        })
    }
}
