//! Verdicts as a table for people.

use super::claim::{ClaimReport, Tally, Verdict};
use super::exit::Exit;
use crate::project::SourceMap;

const NAME_WIDTH: usize = 28;
const KIND_WIDTH: usize = 6;
const MODE_WIDTH: usize = 16;

/// One row, with the counterexample below it where the verdict is a surprise, or always
/// when `verbose`.
pub fn claim(sources: &SourceMap, claim: &ClaimReport, verbose: bool, colored: bool) -> String {
    let word = match claim.verdict {
        Verdict::Refuted if !claim.as_expected() => "REFUTED".to_string(),
        verdict => verdict.name().to_string(),
    };
    let word = paint(&format!("{word:>9}"), color(claim), colored);
    let (name, kind, mode) = (&claim.name, &claim.kind, &claim.mode);
    let note = note(sources, claim);
    let row =
        format!("{word}  {name:<NAME_WIDTH$}  {kind:<KIND_WIDTH$}  {mode:<MODE_WIDTH$}  {note}");
    let mut text = format!("{}\n", row.trim_end());
    if verbose || claim.exit() != Exit::Success {
        for line in &claim.detail {
            let line = format!("             {line}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

fn note(sources: &SourceMap, claim: &ClaimReport) -> String {
    let mut parts: Vec<String> = claim.code.iter().map(|code| code.to_string()).collect();
    if !claim.note.is_empty() {
        parts.push(claim.note.clone());
    }
    if claim.as_expected() {
        if claim.verdict != Verdict::Proved {
            parts.push("as expected".to_string());
        }
    } else {
        if claim.expected != Verdict::Proved {
            parts.push(format!("expected {}", claim.expected.name()));
        }
        parts.extend(
            sources
                .place(claim.span)
                .map(|p| format!("{}:{}", p.file, p.line)),
        );
    }
    parts.join("  ")
}

/// `17 claims: 14 proved, 1 refuted, 2 unknown (1 refuted as expected)   1.8 s`
pub fn totals(tally: &Tally, errors: usize, seconds: f64) -> String {
    let listed = |counts: &std::collections::BTreeMap<Verdict, usize>| {
        let parts = Verdict::ALL
            .iter()
            .filter_map(|v| Some(format!("{} {}", counts.get(v)?, v.name())));
        parts.collect::<Vec<_>>().join(", ")
    };
    let claims = counted(tally.claims, "claim");
    let mut text = format!("\n  {claims}");
    if tally.claims > 0 {
        text.push_str(&format!(": {}", listed(&tally.by_verdict)));
    }
    if !tally.as_expected.is_empty() {
        text.push_str(&format!(" ({} as expected)", listed(&tally.as_expected)));
    }
    if errors > 0 {
        text.push_str(&format!("; {}", counted(errors, "error")));
    }
    text.push_str(&format!("   {seconds:.1} s\n"));
    text
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The terminal's colour number.
fn color(claim: &ClaimReport) -> u8 {
    match claim.verdict {
        _ if claim.exit() == Exit::Refuted => 31,
        Verdict::Proved => 32,
        Verdict::Refuted => 36,
        Verdict::Tested | Verdict::Trusted | Verdict::Unknown => 33,
    }
}

fn paint(text: &str, color: u8, colored: bool) -> String {
    if colored {
        format!("\x1b[{color}m{text}\x1b[0m")
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rtv_semantics::diag::{Code, Span};

    use super::*;

    fn report(name: &str, verdict: Verdict, expected: Verdict) -> ClaimReport {
        ClaimReport {
            id: "7c1f".into(),
            name: name.into(),
            kind: "rule".into(),
            span: Span::default(),
            verdict,
            expected,
            mode: "exact".into(),
            contracts: BTreeMap::new(),
            method: "sampling".into(),
            note: String::new(),
            code: (verdict == Verdict::Refuted).then_some(Code(301)),
            detail: vec!["x = tensor([1.])".into()],
            seconds: 0.0,
        }
    }

    #[test]
    fn only_a_surprise_is_loud() {
        let sources = SourceMap::default();
        let row =
            |verdict, expected| claim(&sources, &report("r", verdict, expected), false, false);
        let loud = row(Verdict::Refuted, Verdict::Proved);
        assert!(
            loud.starts_with("  REFUTED  r ")
                && loud.contains("R0301")
                && loud.contains("x = tensor")
        );
        let quiet = row(Verdict::Refuted, Verdict::Refuted);
        assert!(quiet.starts_with("  refuted  r ") && !quiet.contains("x = tensor"));
        assert!(row(Verdict::Proved, Verdict::Refuted).contains("expected refuted"));
    }

    #[test]
    fn totals_say_what_was_expected() {
        let mut tally = Tally::default();
        tally.count(&report("a", Verdict::Proved, Verdict::Proved));
        tally.count(&report("b", Verdict::Refuted, Verdict::Refuted));
        tally.count(&report("c", Verdict::Unknown, Verdict::Proved));
        let text = totals(&tally, 1, 1.84);
        let expected = "\n  3 claims: 1 proved, 1 refuted, 1 unknown (1 refuted as expected); 1 error   1.8 s\n";
        assert_eq!(text, expected);
        assert_eq!(tally.first_surprise.as_deref(), Some("7c1f"));
    }

    #[test]
    fn the_exit_follows_verdict_and_expectation() {
        let exit = |verdict, expected| report("r", verdict, expected).exit();
        assert_eq!(exit(Verdict::Refuted, Verdict::Refuted), Exit::Success);
        assert_eq!(exit(Verdict::Proved, Verdict::Refuted), Exit::Refuted);
        assert_eq!(exit(Verdict::Refuted, Verdict::Proved), Exit::Refuted);
        assert_eq!(exit(Verdict::Unknown, Verdict::Proved), Exit::Undecided);
        assert_eq!(exit(Verdict::Unknown, Verdict::Refuted), Exit::Undecided);
        assert_eq!(exit(Verdict::Unknown, Verdict::Unknown), Exit::Success);
        assert_eq!(exit(Verdict::Proved, Verdict::Unknown), Exit::Undecided);
        assert_eq!(exit(Verdict::Trusted, Verdict::Proved), Exit::Success);
    }
}
