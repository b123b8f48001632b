//! What a run cost: questions to the solver, inputs, and the claims that took longest.

use std::collections::BTreeMap;
use std::time::Duration;

use rtv_proofs::{ClaimResult, Provenance};
use rtv_smt::Answer;
use serde::Serialize;

/// Claims listed as the slowest.
const SLOWEST: usize = 5;

/// The questions asked of the solver, by answer.
#[derive(Clone, Default, Serialize, Debug)]
pub struct Counts {
    pub unsat: usize,
    pub sat: usize,
    /// By reason.
    pub unknown: BTreeMap<String, usize>,
    /// In the solver, all jobs together.
    pub solver_seconds: f64,
}

impl Counts {
    pub fn count(&mut self, answer: &Answer, taken: Duration) {
        match answer {
            Answer::Unsat => self.unsat += 1,
            Answer::Sat(_) => self.sat += 1,
            Answer::Unknown(reason) => *self.unknown.entry(reason.to_string()).or_default() += 1,
        }
        self.solver_seconds += taken.as_secs_f64();
    }

    pub fn asked(&self) -> usize {
        self.unsat + self.sat + self.unknowns()
    }

    fn unknowns(&self) -> usize {
        self.unknown.values().sum()
    }
}

/// What finished claims took.
#[derive(Default, Debug)]
pub struct Spent {
    /// Inputs on which two sides were run.
    pub inputs: u64,
    /// Name and seconds, the slowest first.
    pub slowest: Vec<(String, f64)>,
}

impl Spent {
    pub fn count(&mut self, claim: &ClaimResult) {
        if claim.provenance != Provenance::Decided {
            return;
        }
        self.inputs += claim.samples;
        let at = self.slowest.partition_point(|(_, seconds)| *seconds >= claim.seconds);
        self.slowest.insert(at, (claim.name.clone(), claim.seconds));
        self.slowest.truncate(SLOWEST);
    }
}

pub fn text(counts: &Counts, spent: &Spent) -> String {
    let reasons = counts.unknown.iter().map(|(reason, count)| format!("{count} {reason}"));
    let reasons: Vec<String> = reasons.collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    let mut text = format!(
        "  {} questions to the solver: {} unsat, {} sat, {} unknown{reasons}; {:.1} s\n",
        counts.asked(),
        counts.unsat,
        counts.sat,
        counts.unknowns(),
        counts.solver_seconds
    );
    text.push_str(&format!("  {} inputs run on both sides\n", spent.inputs));
    for (name, seconds) in &spent.slowest {
        text.push_str(&format!("  {seconds:7.3} s  {name}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use rtv_smt::Reason;

    use super::*;

    #[test]
    fn questions_are_listed_by_answer() {
        let mut counts = Counts::default();
        let answers = [Answer::Unsat, Answer::Sat(Vec::new()), Answer::Unknown(Reason::Timeout)];
        answers.iter().for_each(|answer| counts.count(answer, Duration::from_millis(500)));
        let text = text(&counts, &Spent { inputs: 7, slowest: vec![("r".into(), 0.25)] });
        let expected = "  3 questions to the solver: 1 unsat, 1 sat, 1 unknown (1 timeout); 1.5 s\n  \
                        7 inputs run on both sides\n    0.250 s  r\n";
        assert_eq!(text, expected);
    }
}
