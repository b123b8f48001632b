//! The rules of modules that are known to be proved.

use super::Rules;
use crate::check::Checker;
use crate::choices::dtype_choices;
use crate::decide::Task;
use crate::instances::instances;
use crate::module::{Module, subject};
use crate::verdict::Verdict;
use rtv_grammar::lower::{Choice, Ranks, has_rank_variables};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Claim, ClaimKind, Mode};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Axes of a rank variable at most: what an instance of a rule costs grows with them.
const MAX_RANK: usize = 12;

/// A rule at a choice of dtypes and of a rank.
type At = (String, Vec<(Arc<str>, DType)>, Option<usize>);

/// Rules that a caller knows to be proved, each elaborated where it is asked for.
pub struct Proved<'c> {
    checker: &'c Checker,
    rules: BTreeMap<String, (&'c Module, usize)>,
    claims: HashMap<At, Option<Arc<Claim>>>,
    /// Claims by address, which are kept in `claims`, and modes beside their own.
    held: HashMap<(usize, &'static str), bool>,
}

impl<'c> Proved<'c> {
    /// None yet.
    pub fn by(checker: &'c Checker) -> Proved<'c> {
        Proved { checker, rules: BTreeMap::new(), claims: HashMap::new(), held: HashMap::new() }
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
        let item = &module.items[at];
        let admissible = dtype_choices(item)?.contains(dtypes)
            && rank.is_none_or(|rank| rank <= MAX_RANK && has_rank_variables(item));
        if !admissible {
            return None;
        }
        let ranks = rank.map_or(Ranks::Opaque, Ranks::Fixed);
        let (_, kind) = subject(item)?;
        let task = Task::of(module, at, kind?, None);
        let laws = self.checker.lawful(&task);
        let choice = Choice { dtypes: dtypes.clone(), ranks };
        instances(item, &module.defs, self.checker.engine(), &laws, &[choice]).ok()?.pop()
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

    /// By proving it.
    fn holds(&mut self, claim: &Arc<Claim>, mode: Mode) -> bool {
        let prover = &self.checker.prover;
        let holds = || {
            let claim = Claim { mode, ..(**claim).clone() };
            prover.contracts(&claim).found.values().all(|found| found.verdict == Verdict::Proved)
        };
        *self.held.entry((Arc::as_ptr(claim) as usize, mode.name())).or_insert_with(holds)
    }
}
