//! Certificates that were written down, against the claims that they are about.

use crate::certificate::Certificate;
use crate::check::Checker;
use crate::choices::instance_text;
use crate::deadline::Deadline;
use crate::decide::Task;
use crate::discharge::holds_alike;
use crate::laws::monoids_of;
use crate::module::{Module, subject};
use crate::recheck::{Checking, Leaves, SecondSolver, Tally, Why, tried};
use crate::verdict::Verdict;
use rtv_semantics::cancel::Cancelled;
use rtv_semantics::program::{Claim, ClaimKind};
use std::sync::Arc;

/// What a certificate is worth.
#[derive(Clone, PartialEq, Debug)]
pub enum Worth {
    /// Every goal of the claim is in it, and every step is accepted.
    Accepted(Tally),
    /// Something is missing.
    Rejected(String),
}

impl Checker {
    /// Whether a certificate proves the claim at a place of a module: the goals that the
    /// contracts of its instances come down to are those of the certificate, and its steps
    /// are accepted. Nothing is proved anew but the laws of the monoids it is about.
    pub fn verify(
        &self,
        module: &Module,
        at: usize,
        certificate: &Certificate,
        second: Option<&mut (dyn SecondSolver + 'static)>,
    ) -> Worth {
        let deadline = Deadline::after(self.settings.timeout);
        self.prover.solver().until(deadline.at());
        let verify = || {
            let goals = self.goals_of(module, at, certificate);
            match goals.and_then(|claims| self.trials_of(&claims, certificate)) {
                Ok(()) => self.steps_of(certificate, second),
                Err(Why(why)) => Worth::Rejected(why),
            }
        };
        deadline.within(verify).unwrap_or_else(|Cancelled| Worth::Rejected("timeout".into()))
    }

    /// Whether no input separates the terms of a certificate about these instances, and it takes
    /// no other monoids at their word.
    pub(crate) fn trials_of(&self, claims: &[Arc<Claim>], certificate: &Certificate) -> Result<(), Why> {
        let known = monoids_of(claims);
        if !certificate.monoids.iter().all(|monoid| known.contains(monoid)) {
            return Err(Why("it is about a monoid that the claim does not know".into()));
        }
        for (claim, instance) in claims.iter().zip(&certificate.instances) {
            for (_, part) in &instance.parts {
                tried(claim, part, self.settings.seed)?;
            }
        }
        Ok(())
    }

    /// Whether every step of a certificate is accepted, whatever it is about.
    pub fn steps_of(
        &self,
        certificate: &Certificate,
        second: Option<&mut (dyn SecondSolver + 'static)>,
    ) -> Worth {
        if certificate.instances.is_empty() {
            return Worth::Rejected("it shows nothing".into());
        }
        let leaves = Leaves::new(self.prover.solver(), second);
        let mut checking = Checking::new(leaves, self.prover.values());
        match certificate.check(&mut checking) {
            Ok(()) => Worth::Accepted(checking.leaves.tally),
            Err((contract, Why(why))) => Worth::Rejected(format!("{}: missing: {why}", contract.name())),
        }
    }

    /// The instances that the certificate is about, if its goals are theirs.
    fn goals_of(
        &self,
        module: &Module,
        at: usize,
        certificate: &Certificate,
    ) -> Result<Vec<Arc<Claim>>, Why> {
        let item = &module.items[at];
        let missing = |what: &str| Err(Why(what.to_string()));
        let Some((_, kind)) = subject(item) else { return missing("there is no claim") };
        let task = Task::of(module, at, kind.unwrap_or(ClaimKind::Calls), self.settings.timeout);
        let Some(claims) = self.stated(&task) else { return missing("the claim has no instances") };
        let (mut proved, mut given) = (Vec::<Arc<Claim>>::new(), certificate.instances.iter());
        for claim in &claims {
            if proved.iter().any(|proved| holds_alike(claim, proved)) {
                continue;
            }
            let Some(instance) = given.next() else { return missing("an instance is not in it") };
            if instance.choice != instance_text(claim) {
                return missing("it is about other dtypes or ranks");
            }
            let found = self.prover.contracts_by(claim, &instance.parts).found;
            if let Some((contract, _)) = found.iter().find(|(_, f)| f.verdict != Verdict::Proved) {
                return Err(Why(format!("{}: a goal of the claim is not in it", contract.name())));
            }
            proved.push(claim.clone());
        }
        if given.next().is_some() { missing("it has more instances than the claim") } else { Ok(proved) }
    }
}
