//! `rtv mutate CLAIM`: the claim with one small mistake at a time, and what is known of it
//! then. A mistake that goes unnoticed is one that nobody would find, or one that says the
//! same in other words.

use std::path::PathBuf;

use clap::Args;
use rtv_grammar::mutate::{Mutant, mutants};
use rtv_proofs::{Checker, Module, Stage, Verdict};

use super::claim::Claim;
use super::effort::Effort;
use crate::report::Reporter;

#[derive(Args)]
pub struct Mutate {
    /// The claim: the first digits of its id, or its name
    claim: String,
    /// Files and folders it is in; without any, the project or the current folder
    files: Vec<PathBuf>,
    #[command(flatten)]
    effort: Effort,
}

impl Mutate {
    pub fn run(&self, reporter: &mut Reporter) {
        let Some(Claim { sources, module, at }) = Claim::find(&self.claim, &self.files, reporter) else {
            return;
        };
        let checker = self.effort.checker(Stage::Proofs, self.effort.pool(), Box::new(|_| {}));
        let (mut tally, mut untyped) = ([0; Verdict::ALL.len()], 0);
        for mutant in mutants(&module.items[at]) {
            let (verdict, line) = match decide(&checker, &module, at, mutant) {
                Ok(decided) => decided,
                Err(fault) => return reporter.diagnostic(&sources, &fault.diagnostic()),
            };
            reporter.result(&line);
            match verdict {
                Some(verdict) => tally[verdict as usize] += 1,
                None => untyped += 1,
            }
        }
        reporter.result(&totals(&tally, untyped));
    }
}

/// The verdict on a mutant, none where it does not type, and the line that says so.
fn decide(
    checker: &Checker,
    module: &Module,
    at: usize,
    mutant: Mutant,
) -> Result<(Option<Verdict>, String), rtv_smt::Fault> {
    let outcome = checker.item(&module.with(at, mutant.item), at);
    if let Some(fault) = outcome.fault {
        return Err(fault);
    }
    let claim = outcome.claims.into_iter().next();
    let verdict = claim.as_ref().map(|claim| claim.verdict);
    let mut line = format!("{:>9}  {}", verdict.map_or("untyped", Verdict::name), mutant.change);
    if let Some(found) = claim.and_then(|claim| claim.counterexample) {
        line += &format!("\n             {}", found.lines().join("; "));
    }
    Ok((verdict, line))
}

/// `12 mistakes: 7 refuted, 1 proved, 4 untyped`
fn totals(tally: &[usize; Verdict::ALL.len()], untyped: usize) -> String {
    let all = tally.iter().sum::<usize>() + untyped;
    let of = Verdict::ALL.into_iter().rev().map(|verdict| (tally[verdict as usize], verdict.name()));
    let parts: Vec<String> = of
        .chain([(untyped, "untyped")])
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    format!("{all} mistakes: {}", parts.join(", "))
}
