//! Programs in files with what is expected written in them, over `rtl/`.
//!
//! * `#~ R0203` at the end of a line: this diagnostic is about this line; `#~ R0203: text`
//!   says that its message or help holds the text. Of several, `#~ R0203 #~ R0901`.
//! * `#: expect refuted value` before an item, as in every program.
//! * Nothing else is found: every diagnostic and every verdict is expected.
//!
//! With `RTV_BLESS=1` the files are rewritten to expect what was found.

use crate::folder::{files_below, root};
use rtv_grammar::CommentKind;
use rtv_grammar::parse;
use rtv_proofs::{Checker, Contract, Expectation, Module, Outcome, Settings, Stage, Verdict};
use rtv_semantics::diag::{Diagnostic, FileId};
use rtv_semantics::program::ClaimKind;
use rtv_smt::Budget;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Files that there are at least.
const FILES: usize = 40;

#[test]
fn files_are_found_as_they_say() {
    let checker = checker();
    let folder = root().join("tests/suite/rtl");
    let (mut files, mut wrong, mut codes, mut claims) = (0, Vec::new(), BTreeSet::new(), 0);
    for path in files_below(&folder, ".rtl") {
        let text = fs::read_to_string(&path).expect("a file of the project");
        let found = check(&checker, &text);
        if std::env::var_os("RTV_BLESS").is_some_and(|v| v == "1") {
            fs::write(&path, blessed(&text, &found)).expect("a file of the project");
        }
        let name = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
        wrong.extend(found.complaints(&text).into_iter().map(|c| format!("{name}:{c}")));
        codes.extend(found.notes.iter().map(|n| n.code.clone()));
        claims += found.verdicts.len();
        files += 1;
    }
    println!("{files} files, {claims} claims, {} codes: {}", codes.len(), join(&codes));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files >= FILES, "{files} files");
}

/// Claims that are false, most of them by a little.
#[test]
fn nothing_false_is_proved() {
    let checker = checker();
    let (mut refuted, mut open, mut wrong) = (0, 0, Vec::new());
    for path in files_below(&root().join("tests/suite/data/false"), ".rtl") {
        let found = check(&checker, &fs::read_to_string(&path).expect("a file of the project"));
        wrong.extend(found.notes.iter().map(|n| format!("{}:{}: {}", path.display(), n.line, n.text)));
        for claim in found.verdicts {
            match claim.verdict {
                Verdict::Refuted => refuted += 1,
                Verdict::Unknown => open += 1,
                // What claims are about, unless it is said to be none.
                _ if claim.kind == ClaimKind::Monoid && claim.as_expected() => {}
                _ => wrong.push(format!(
                    "{}:{}: {} is {}",
                    path.display(),
                    claim.line,
                    claim.name,
                    claim.found
                )),
            }
        }
    }
    println!("{} false claims: {refuted} refuted, {open} unknown", refuted + open);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refuted + open >= 150, "{} claims", refuted + open);
}

/// Nor are they where nothing is drawn that would refute them before a proof is tried.
#[test]
fn nothing_false_is_proved_without_samples() {
    let settings =
        Settings { stage: Stage::Proofs, seed: 0, samples: 0, budget: Budget::OBLIGATION, timeout: None };
    let checker = Checker::start(settings).expect("the solver starts");
    let (mut tried, mut wrong) = (0, Vec::new());
    for path in files_below(&root().join("tests/suite/data/false"), ".rtl") {
        let text = fs::read_to_string(&path).expect("a file of the project");
        let (module, _) = Module::new(FileId(0), parse(FileId(0), &text));
        for claim in checker.check(&module).claims {
            tried += 1;
            let true_monoid = claim.kind == ClaimKind::Monoid && claim.expected.verdict == Verdict::Proved;
            let decided = claim.contracts.contains_key(&Contract::Value);
            if !true_monoid && decided && claim.contracts.values().all(|f| f.verdict == Verdict::Proved) {
                wrong.push(format!("{}: {}", path.display(), claim.name));
            }
        }
    }
    println!("{tried} false claims given to the prover");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn join(codes: &BTreeSet<String>) -> String {
    codes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// A checker that proves.
pub fn checker() -> Checker {
    let settings =
        Settings { stage: Stage::Proofs, seed: 0, samples: 200, budget: Budget::OBLIGATION, timeout: None };
    Checker::start(settings).expect("the solver starts")
}

/// Reads the expectations of a file against what is found in it.
pub fn complaints(checker: &Checker, path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("a file of the project");
    let complaints = check(checker, &text).complaints(&text);
    complaints.into_iter().map(|c| format!("{}:{c}", path.display())).collect()
}

/// A diagnostic, or the reason of an open claim.
struct Note {
    line: usize,
    code: String,
    text: String,
}

struct Judged {
    line: usize,
    name: String,
    kind: ClaimKind,
    expected: Expectation,
    verdict: Verdict,
    /// The expectation that would be met.
    found: String,
    note: String,
}

/// What checking a file finds.
struct Found {
    notes: Vec<Note>,
    verdicts: Vec<Judged>,
}

fn check(checker: &Checker, text: &str) -> Found {
    let parsed = parse(FileId(0), text);
    let mut diagnostics = parsed.diagnostics.clone();
    let mut outcome = Outcome::default();
    if !diagnostics.iter().any(Diagnostic::is_error) {
        let (module, names) = Module::new(FileId(0), parsed);
        diagnostics.extend(names);
        outcome = checker.check(&module);
        diagnostics.append(&mut outcome.diagnostics);
    }
    let line = |at: u32| 1 + text.as_bytes()[..at as usize].iter().filter(|b| **b == b'\n').count();
    let note = |d: &Diagnostic| {
        let labels: Vec<&str> = d.labels.iter().map(|l| l.text.as_str()).collect();
        let text = format!("{} {} {}", d.message, labels.join(" "), d.help.as_deref().unwrap_or_default());
        Note { line: line(d.span().lo), code: d.code.to_string(), text }
    };
    let mut notes: Vec<Note> = diagnostics.iter().map(note).collect();
    let mut verdicts = Vec::new();
    for claim in outcome.claims {
        if let (Verdict::Unknown, Some(code)) = (claim.verdict, claim.code) {
            notes.push(Note { line: line(claim.span.lo), code: code.to_string(), text: claim.note.clone() });
        }
        let contract = claim.contracts.iter().find(|(_, f)| f.verdict == claim.verdict);
        let contract = contract.filter(|_| claim.verdict == Verdict::Refuted);
        let contract = contract.map_or(String::new(), |(c, _)| format!(" {}", c.name()));
        verdicts.push(Judged {
            line: line(claim.span.lo),
            name: claim.name,
            kind: claim.kind,
            expected: claim.expected,
            verdict: claim.verdict,
            found: format!("{}{contract}", claim.verdict.name()),
            note: claim.note,
        });
    }
    Found { notes, verdicts }
}

/// One `#~` mark: line, code, text that must be there.
type Mark = (usize, String, String);

fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for mark in line.split("#~").skip(1) {
            let (code, text) = mark.split_once(':').unwrap_or((mark, ""));
            marks.push((number + 1, code.trim().to_string(), text.trim().to_string()));
        }
    }
    marks
}

impl Found {
    fn complaints(&self, text: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut open: Vec<Option<Mark>> = marks(text).into_iter().map(Some).collect();
        for note in &self.notes {
            let fits =
                |m: &Option<Mark>| m.as_ref().is_some_and(|(l, c, _)| *l == note.line && *c == note.code);
            match open.iter_mut().find(|m| fits(m)).and_then(Option::take) {
                None => wrong.push(format!("{}: not expected: {}: {}", note.line, note.code, note.text)),
                Some((line, code, text)) if !note.text.contains(&text) => {
                    wrong.push(format!("{line}: {code} does not say `{text}`: {}", note.text));
                }
                Some(_) => {}
            }
        }
        wrong.extend(open.into_iter().flatten().map(|(line, code, _)| format!("{line}: {code} is expected")));
        for judged in &self.verdicts {
            let Judged { line, name, expected, found, note, .. } = judged;
            let wanted = Wanted(*expected).to_string();
            if !judged.as_expected() {
                wrong.push(format!("{line}: `{name}` is {found}, expected {wanted}: {note}"));
            }
        }
        wrong
    }
}

impl Judged {
    fn as_expected(&self) -> bool {
        let same = self.expected.contract.is_none_or(|c| self.found.ends_with(c.name()));
        self.verdict == self.expected.verdict && same
    }
}

/// An expectation as it is written.
struct Wanted(Expectation);

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.verdict.name())?;
        self.0.contract.map_or(Ok(()), |c| write!(f, " {}", c.name()))
    }
}

/// The text with the marks and expectations that would be met.
fn blessed(text: &str, found: &Found) -> String {
    let old = marks(text);
    let mut notes: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for note in &found.notes {
        let known = old.iter().find(|(l, c, t)| *l == note.line && *c == note.code && note.text.contains(t));
        let said =
            known.map_or(String::new(), |(_, _, t)| if t.is_empty() { t.clone() } else { format!(": {t}") });
        notes.entry(note.line).or_default().push(format!("  #~ {}{said}", note.code));
    }
    let mut lines: Vec<String> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let judged = found.verdicts.iter().find(|j| j.line == number + 1 && !j.as_expected());
        if let Some(judged) = judged {
            if let Some(directive) = lines.iter().rposition(|l| is_directive(l))
                && lines[directive..].iter().all(|l| l.starts_with('#'))
            {
                lines.remove(directive);
            }
            if judged.verdict != Verdict::Proved {
                lines.push(format!("#: expect {}", judged.found));
            }
        }
        let plain = line.split("#~").next().unwrap_or_default();
        let plain = if line.contains("#~") { plain.trim_end() } else { plain };
        let marks = notes.get(&(number + 1)).map_or(String::new(), |n| n.concat());
        lines.push(format!("{plain}{marks}"));
    }
    lines.join("\n") + "\n"
}

fn is_directive(line: &str) -> bool {
    let parsed = parse(FileId(0), line);
    parsed.comments.first().is_some_and(|c| c.kind == CommentKind::Directive)
}

#[test]
fn blessing_writes_what_is_found_and_nothing_else() {
    let checker = checker();
    let text = "rtl 1.0\n#: expect proved\nrule r[N](x: i32[N]) {\n  x + 1 => x #~ R0999\n}\nfn f() -> i32 { return y }\n";
    let blessed_text = blessed(text, &check(&checker, text));
    let wanted = "rtl 1.0\n#: expect refuted value\nrule r[N](x: i32[N]) {\n  x + 1 => x\n}\nfn f() -> i32 { return y }  #~ R0101\n";
    assert_eq!(blessed_text, wanted);
    assert!(check(&checker, &blessed_text).complaints(&blessed_text).is_empty());
    assert!(!check(&checker, text).complaints(text).is_empty());
}
