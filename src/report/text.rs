//! Verdicts as a table for people.

use std::collections::BTreeMap;

use rtv_proofs::{ClaimResult, Verdict};
use rtv_semantics::program::ClaimKind;

use super::claim::{Require, Tally};
use super::step;
use crate::project::SourceMap;

const NAME_WIDTH: usize = 28;
const KIND_WIDTH: usize = 6;
const MODE_WIDTH: usize = 7;

/// Order of the totals.
const LISTED: [Verdict; 6] = [
    Verdict::Proved,
    Verdict::Refuted,
    Verdict::Unknown,
    Verdict::Vacuous,
    Verdict::Tested,
    Verdict::Trusted,
];

/// One row, with the counterexample below it where the verdict is a surprise, or always
/// when `verbose`. `short` is what it was required to be and is not; `floats` asks what it is
/// worth bit for bit.
pub fn claim(
    sources: &SourceMap,
    claim: &ClaimResult,
    surprise: bool,
    short: Option<Require>,
    verbose: bool,
    floats: bool,
    colored: bool,
) -> String {
    let word = match claim.verdict {
        Verdict::Refuted if surprise => "REFUTED".to_string(),
        verdict => verdict.name().to_string(),
    };
    let word = paint(&format!("{word:>9}"), color(claim, surprise), colored);
    let (name, kind, mode) = (&claim.name, claim.kind.name(), claim.mode);
    let note = note(sources, claim, short, surprise);
    let row = format!("{word}  {name:<NAME_WIDTH$}  {kind:<KIND_WIDTH$}  {mode:<MODE_WIDTH$}  {note}");
    let mut lines = vec![row];
    if verbose || surprise {
        let shown = claim.counterexample.iter();
        let shown = shown.flat_map(|found| found.lines().into_iter().chain(step::apart(found, sources)));
        lines.extend(shown.map(|line| format!("             {line}")));
    }
    if surprise && let Some(next) = next(sources, claim) {
        lines.push(format!("             {next}"));
    }
    if verbose {
        lines.extend(claim.contracts.iter().map(|(contract, found)| {
            let (contract, verdict) = (contract.name(), found.verdict.name());
            let reason = found.reason.as_deref().unwrap_or_default();
            format!("             {contract}: {verdict}  {}  {reason}", found.method)
        }));
        lines.extend(claim.checked.iter().map(|checked| format!("             certificate: {checked}")));
        lines.push(format!("             id: {}", claim.id));
    }
    if let Some(facets) = claim.facets.as_ref().filter(|_| verbose || floats) {
        lines.push(format!("             floats: {facets}"));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The command that tells more about a claim; a test has told all.
fn next(sources: &SourceMap, claim: &ClaimResult) -> Option<String> {
    let verb = match (claim.kind, &claim.counterexample) {
        (ClaimKind::Test, _) => return None,
        (_, Some(_)) => "replay",
        (_, None) => "explain",
    };
    let place = sources.place(claim.span)?;
    Some(format!("rtv {verb} {} {}", &claim.id[..8], quoted(&place.file)))
}

/// A path as a shell reads it.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_string() };
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

fn note(sources: &SourceMap, claim: &ClaimResult, short: Option<Require>, surprise: bool) -> String {
    let mut parts: Vec<String> = claim.code.iter().map(|code| code.to_string()).collect();
    if !claim.note.is_empty() {
        parts.push(claim.note.clone());
    }
    let expected = &claim.expected;
    if surprise && (expected.verdict != Verdict::Proved || expected.contract.is_some()) {
        let contract = expected.contract.map_or("", |contract| contract.name());
        parts.push(format!("expected {} {contract}", expected.verdict.name()).trim_end().into());
    } else if !surprise && claim.verdict != Verdict::Proved && claim.verdict == expected.verdict {
        parts.push("as expected".to_string());
    }
    parts.extend(short.map(|require| format!("less than {}", require.name())));
    if surprise {
        parts.extend(sources.place(claim.span).map(|p| format!("{}:{}", p.file, p.line)));
    }
    parts.join("  ")
}

/// `17 claims: 14 proved, 1 refuted, 2 unknown (1 refuted as expected)   1.8 s`
pub fn totals(tally: &Tally, errors: usize, seconds: f64) -> String {
    let listed = |counts: &BTreeMap<Verdict, usize>| {
        let parts = LISTED.iter().filter_map(|v| Some(format!("{} {}", counts.get(v)?, v.name())));
        parts.collect::<Vec<_>>().join(", ")
    };
    let claims = match tally.typed {
        0 => counted(tally.claims, "claim"),
        typed => format!("{} typed", counted(typed, "claim")),
    };
    let mut text = format!("{}  {claims}", if tally.claims > 0 { "\n" } else { "" });
    if tally.claims > 0 {
        text.push_str(&format!(": {}", listed(&tally.by_verdict)));
    }
    if !tally.as_expected.is_empty() {
        text.push_str(&format!(" ({} as expected)", listed(&tally.as_expected)));
    }
    if errors > 0 {
        text.push_str(&format!("; {}", counted(errors, "error")));
    }
    if tally.interrupted {
        text.push_str("; interrupted");
    }
    if tally.unchanged > 0 {
        text.push_str(&format!("; {} unchanged", counted(tally.unchanged, "claim")));
    }
    if !tally.still_open.is_empty() {
        text.push_str(&format!(", not as expected: {}", tally.still_open.join(", ")));
    }
    if tally.not_checked > 0 {
        text.push_str(&format!("; {} not checked", counted(tally.not_checked, "claim")));
    }
    for (from, count) in &tally.provenance {
        text.push_str(&format!("   ({count} from {})", from.name()));
    }
    text.push_str(&format!("   {seconds:.1} s\n"));
    text
}

pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The terminal's colour number.
fn color(claim: &ClaimResult, surprise: bool) -> u8 {
    match claim.verdict {
        Verdict::Refuted if surprise => 31,
        Verdict::Proved if surprise => 31,
        Verdict::Proved => 32,
        Verdict::Refuted => 36,
        Verdict::Tested | Verdict::Trusted | Verdict::Unknown | Verdict::Vacuous => 33,
    }
}

fn paint(text: &str, color: u8, colored: bool) -> String {
    if colored { format!("\x1b[{color}m{text}\x1b[0m") } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use rtv_proofs::{Contract, Expectation, Finding, Provenance};
    use rtv_semantics::diag::{Code, Span};

    use super::super::Exit;
    use super::super::claim::{as_expected, exit};
    use super::*;

    fn result(verdict: Verdict, expected: Verdict) -> ClaimResult {
        ClaimResult {
            id: "7c1f".into(),
            name: "r".into(),
            kind: ClaimKind::Rule,
            span: Span::default(),
            verdict,
            expected: Expectation { verdict: expected, contract: None },
            mode: "exact",
            contracts: BTreeMap::new(),
            note: String::new(),
            code: (verdict == Verdict::Refuted).then_some(Code(411)),
            counterexample: None,
            facets: None,
            checked: None,
            samples: 0,
            seconds: 0.0,
            provenance: Provenance::Decided,
        }
    }

    #[test]
    fn only_a_surprise_is_loud() {
        let row = |verdict, expected| {
            let result = result(verdict, expected);
            claim(&SourceMap::default(), &result, !as_expected(&result), None, false, false, false)
        };
        let loud = row(Verdict::Refuted, Verdict::Proved);
        assert!(loud.starts_with("  REFUTED  r ") && loud.contains("R0411"), "{loud}");
        let quiet = row(Verdict::Refuted, Verdict::Refuted);
        assert!(quiet.starts_with("  refuted  r ") && quiet.contains("as expected"), "{quiet}");
        assert!(row(Verdict::Proved, Verdict::Refuted).contains("expected refuted"));
    }

    #[test]
    fn totals_say_what_was_expected() {
        let mut tally = Tally::default();
        tally.count(&result(Verdict::Proved, Verdict::Proved));
        tally.count(&result(Verdict::Refuted, Verdict::Refuted));
        tally.count(&result(Verdict::Unknown, Verdict::Proved));
        let text = totals(&tally, 1, 1.84);
        let expected = "\n  3 claims: 1 proved, 1 refuted, 1 unknown (1 refuted as expected); \
                        1 error   1.8 s\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_exit_follows_verdict_and_expectation() {
        let end = |verdict, expected| exit(&result(verdict, expected), true);
        assert_eq!(end(Verdict::Refuted, Verdict::Refuted), Exit::Success);
        assert_eq!(end(Verdict::Proved, Verdict::Refuted), Exit::Refuted);
        assert_eq!(end(Verdict::Refuted, Verdict::Proved), Exit::Refuted);
        assert_eq!(end(Verdict::Unknown, Verdict::Proved), Exit::Undecided);
        assert_eq!(end(Verdict::Vacuous, Verdict::Proved), Exit::Undecided);
        assert_eq!(end(Verdict::Unknown, Verdict::Refuted), Exit::Undecided);
        assert_eq!(end(Verdict::Unknown, Verdict::Unknown), Exit::Success);
        assert_eq!(end(Verdict::Proved, Verdict::Unknown), Exit::Undecided);
        assert_eq!(end(Verdict::Trusted, Verdict::Proved), Exit::Success);
        let open = result(Verdict::Unknown, Verdict::Proved);
        assert_eq!(exit(&open, false), Exit::Success);
        let fault = ClaimResult { code: Some(Code(799)), ..result(Verdict::Refuted, Verdict::Refuted) };
        assert_eq!(exit(&fault, true), Exit::Internal);
    }

    #[test]
    fn the_expected_contract_must_be_the_one_refuted() {
        let mut claim = result(Verdict::Refuted, Verdict::Refuted);
        claim.expected.contract = Some(Contract::Value);
        claim.contracts.insert(Contract::Shape, Finding::refuted());
        assert_eq!(exit(&claim, true), Exit::Refuted);
        claim.contracts.insert(Contract::Value, Finding::refuted());
        assert_eq!(exit(&claim, true), Exit::Success);
    }
}
