//! The laws of declared monoids: a claim of its own, on which proofs rest.
//!
//! Invariant: a reduction is taken apart by the laws of its monoid only where this checker
//! has proved them; else it is a fold in the order of its elements, which needs no law.

use crate::check::{Checker, Stage};
use crate::decide::Task;
use crate::verdict::Verdict;
use rtv_semantics::program::{Claim, ClaimKind};
use rtv_semantics::subst::children;
use rtv_semantics::term::{Declared, Form, Fun, Term};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// What was found of monoids, by the key of all that the verdict depends on.
#[derive(Default)]
pub(crate) struct Found(Mutex<BTreeMap<String, bool>>);

impl Checker {
    /// The names of the monoids that an item rests on and whose laws are proved. The laws
    /// themselves are proved without any.
    pub(crate) fn lawful(&self, task: &Task<'_>) -> BTreeSet<String> {
        if task.kind == ClaimKind::Monoid || self.settings.stage != Stage::Proofs {
            return BTreeSet::new();
        }
        let monoids = task.module.monoids(task.at);
        monoids.into_iter().filter(|(at, _)| self.has_laws(task, *at)).map(|(_, name)| name).collect()
    }

    fn has_laws(&self, task: &Task<'_>, at: usize) -> bool {
        let key = task.module.content_key(at);
        let known = || self.laws.0.lock().expect("invariant: no holder panics");
        if let Some(proved) = known().get(&key) {
            return *proved;
        }
        let laws = Task::of(task.module, at, ClaimKind::Monoid, self.settings.timeout);
        let verdict = self.claim(&laws).0.map(|result| result.verdict);
        // What ran out of time now may be proved when it is asked again.
        if let Some(verdict @ (Verdict::Proved | Verdict::Refuted)) = verdict {
            known().insert(key, verdict == Verdict::Proved);
        }
        verdict == Some(Verdict::Proved)
    }
}

/// The monoids in instances of a claim.
pub(crate) fn monoids_of(claims: &[Arc<Claim>]) -> Vec<Arc<Declared>> {
    monoids_in(claims.iter().flat_map(|claim| {
        let requires = claim.requires.iter().map(|require| &require.cond);
        requires.chain([&claim.lhs, &claim.rhs])
    }))
}

/// The monoids in terms, those that these combine by included.
pub(crate) fn monoids_in<'t>(terms: impl IntoIterator<Item = &'t Term>) -> Vec<Arc<Declared>> {
    let mut found = Monoids::default();
    terms.into_iter().for_each(|term| found.visit(term));
    found.all
}

/// Monoids met, each term walked once.
#[derive(Default)]
struct Monoids {
    all: Vec<Arc<Declared>>,
    seen: BTreeSet<usize>,
}

impl Monoids {
    fn visit(&mut self, term: &Term) {
        if !self.seen.insert(term.address()) {
            return;
        }
        let met = match term.form() {
            Form::Call(Fun::Combine(monoid), _) => Some(monoid),
            Form::Reduce(reduce) => reduce.op.declared(),
            Form::Call(Fun::Op(instance), _) => {
                instance.requires.iter().for_each(|require| self.visit(&require.cond));
                self.visit(&instance.body);
                None
            }
            _ => None,
        };
        if let Some(monoid) = met.filter(|monoid| !self.all.contains(monoid)) {
            self.all.push(monoid.clone());
            self.visit(&monoid.element);
        }
        children(term).into_iter().for_each(|child| self.visit(child));
    }
}
