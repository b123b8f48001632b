//! `rtv replay ID`: the input that refutes a claim, and what each step of both sides makes
//! of it.
//!
//! The input is searched again: the seed fixes every draw, and a refutation counts only
//! when it is seen.

use std::path::PathBuf;

use clap::Args;
use rtv_proofs::{ClaimResult, Counterexample, as_test};
use rtv_runtime::io::placeless;
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::program::ClaimKind;

use super::claim::Claim;
use super::effort::Effort;
use crate::project::SourceMap;
use crate::report::{Reporter, step};

/// The claim is not refuted.
const NOT_REFUTED: Code = Code(818);
/// The claim cannot be written as a test.
const NO_TEST: Code = Code(819);

#[derive(Args)]
pub struct Replay {
    /// The claim: the first digits of its id, or its name
    claim: String,
    /// Files and folders it is in; without any, the project or the current folder
    files: Vec<PathBuf>,
    /// Print a `test` block that fails as long as the claim is wrong
    #[arg(long)]
    as_test: bool,
    #[command(flatten)]
    effort: Effort,
}

impl Replay {
    pub fn run(&self, reporter: &mut Reporter) {
        let Some(claim) = Claim::find(&self.claim, &self.files, reporter) else { return };
        let Some((result, _)) = claim.decide(&self.effort, reporter) else { return };
        let Some(found) = &result.counterexample else {
            return reporter.fault(&no_input(&result, &claim.sources));
        };
        if !self.as_test {
            return replayed(found, &claim.sources).iter().for_each(|line| reporter.result(line));
        }
        match as_test(claim.item(), found) {
            Some(test) => reporter.result(test.trim_end()),
            None => reporter.fault(&no_test(&result.name)),
        }
    }
}

fn no_input(result: &ClaimResult, sources: &SourceMap) -> Diagnostic {
    let fact = match result.kind {
        ClaimKind::Test => format!("`{}` is a test: no input refutes it", result.name),
        _ => format!("`{}` is not refuted: it is {}", result.name, result.verdict.name()),
    };
    let file = sources.place(result.span).map_or(String::new(), |place| place.file);
    placeless(NOT_REFUTED, fact).help(format!("rtv explain {} {file}", result.name))
}

fn no_test(name: &str) -> Diagnostic {
    let fact = format!("`{name}` cannot be written as a test");
    placeless(NO_TEST, fact).help("rules can, and decompositions of `let` and one `return`")
}

/// The input, the steps of each side, and where the results part.
fn replayed(found: &Counterexample, sources: &SourceMap) -> Vec<String> {
    let (left, right) = found.steps();
    let facts = found.lines();
    // The results and the difference come last.
    let results = facts.iter().position(|line| line.starts_with("left ") || line.starts_with("result "));
    let results = results.unwrap_or(facts.len());
    let mut lines = facts[..results].to_vec();
    let sides = match found.instance.kind {
        ClaimKind::Calls => vec![("steps", left)],
        _ => vec![("left", left), ("right", right)],
    };
    for (side, steps) in sides.into_iter().filter(|(_, steps)| !steps.is_empty()) {
        lines.push(format!("{side}:"));
        // Broadcasting and what is broadcast stand at one place.
        let mut texts: Vec<String> = steps
            .iter()
            .map(|at| format!("{}{}", "  ".repeat(at.depth + 1), step::line(at, sources)))
            .collect();
        texts.dedup();
        lines.append(&mut texts);
    }
    lines.extend(step::apart(found, sources));
    lines.extend(facts[results..].iter().cloned());
    lines
}
