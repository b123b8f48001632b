//! Reports as JSON lines: one object a line, told apart by `reason`.

use std::collections::BTreeMap;

use rtv_proofs::{ClaimResult, Counterexample, Facets, Step, Verdict, written_out};
use rtv_semantics::diag::{Diagnostic, Severity, Span};
use serde::Serialize;

use super::claim::Tally;
use super::exit::Exit;
use super::statistics::{Counts, Spent};
use super::step;
use crate::project::{Place, SourceMap};

/// A span for programs: byte offsets, and lines and columns from 1.
#[derive(Serialize)]
struct Range {
    start: usize,
    end: usize,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

#[derive(Serialize)]
struct Label {
    file: String,
    range: Range,
    text: String,
}

#[derive(Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Line<'a> {
    RunStarted {
        verb: &'a str,
        version: &'static str,
        files: &'a [String],
    },
    Diagnostic {
        code: String,
        severity: &'static str,
        message: &'a str,
        file: Option<String>,
        range: Option<Range>,
        labels: Vec<Label>,
        help: Option<&'a str>,
    },
    Result {
        text: &'a str,
    },
    ClaimStarted {
        name: &'a str,
    },
    ClaimFinished {
        id: &'a str,
        name: &'a str,
        kind: &'a str,
        file: Option<String>,
        range: Option<Range>,
        verdict: &'static str,
        expected: &'static str,
        mode: &'a str,
        contracts: BTreeMap<&'static str, &'static str>,
        method: &'a str,
        note: &'a str,
        code: Option<String>,
        samples: u64,
        seconds: f64,
        from: &'static str,
        /// What the checker says of the certificate, where one was made in this run.
        #[serde(skip_serializing_if = "Option::is_none")]
        certificate: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        counterexample: Option<Box<Refutation>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        facets: Option<Box<Floats>>,
    },
    Statistics {
        #[serde(flatten)]
        counts: &'a Counts,
        inputs: u64,
        slowest: Vec<Slow<'a>>,
    },
    RunFinished {
        claims: usize,
        not_checked: usize,
        interrupted: bool,
        unchanged: usize,
        still_open: &'a [String],
        verdicts: BTreeMap<&'static str, usize>,
        as_expected: BTreeMap<&'static str, usize>,
        from: BTreeMap<&'static str, usize>,
        errors: usize,
        exit: u8,
        seconds: f64,
    },
}

impl Line<'_> {
    fn text(&self) -> String {
        serde_json::to_string(self).expect("invariant: every key is a text")
    }
}

fn place(sources: &SourceMap, span: Span) -> (Option<String>, Option<Range>) {
    let Some(Place { file, line, column, end_line, end_column }) = sources.place(span) else {
        return (None, None);
    };
    let (start, end) = (span.lo as usize, span.hi as usize);
    (Some(file), Some(Range { start, end, line, column, end_line, end_column }))
}

pub fn run_started(verb: &str, files: &[String]) -> String {
    Line::RunStarted { verb, version: env!("CARGO_PKG_VERSION"), files }.text()
}

pub fn result(text: &str) -> String {
    Line::Result { text }.text()
}

/// An object of other fields than those of the lines above.
pub fn row<T: Serialize>(reason: &str, fields: &T) -> String {
    #[derive(Serialize)]
    struct Row<'a, T> {
        reason: &'a str,
        #[serde(flatten)]
        fields: &'a T,
    }
    serde_json::to_string(&Row { reason, fields }).expect("invariant: every key is a text")
}

pub fn diagnostic(sources: &SourceMap, found: &Diagnostic) -> String {
    let (file, range) = place(sources, found.span());
    let label = |label: &rtv_semantics::diag::Label| {
        let (file, range) = place(sources, label.span);
        Some(Label { file: file?, range: range?, text: label.text.clone() })
    };
    Line::Diagnostic {
        code: found.code.to_string(),
        severity: match found.severity {
            Severity::Error => "error",
            Severity::Lint => "lint",
        },
        message: &found.message,
        file,
        range,
        labels: found.labels.iter().filter_map(label).collect(),
        help: found.help.as_deref(),
    }
    .text()
}

pub fn claim_started(name: &str) -> String {
    Line::ClaimStarted { name }.text()
}

/// A counterexample; inputs as the language writes them.
#[derive(Serialize)]
struct Refutation {
    contract: &'static str,
    dtypes: BTreeMap<String, &'static str>,
    /// Numbers, and lists of them for rank variables.
    sizes: BTreeMap<String, serde_json::Value>,
    inputs: BTreeMap<String, String>,
    left: String,
    right: String,
    at: Option<Vec<usize>>,
    difference: String,
    /// The first values on the way to the results that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    apart: Option<Apart>,
}

#[derive(Serialize)]
struct Apart {
    left: Inner,
    right: Inner,
}

/// A value inside a side.
#[derive(Serialize)]
struct Inner {
    text: String,
    value: String,
    range: Option<Range>,
}

impl Inner {
    fn of(found: &Step, sources: &SourceMap) -> Inner {
        let (_, range) = place(sources, found.span);
        Inner { text: step::text(found, sources), value: step::value(found), range }
    }
}

/// Both are written as in JSON.
fn number((name, value): (String, String)) -> Option<(String, serde_json::Value)> {
    Some((name, serde_json::from_str(&value).ok()?))
}

/// What a claim is worth bit for bit.
#[derive(Serialize)]
struct Floats {
    /// All of it on one line.
    text: String,
    strongest: &'static str,
    apart: Vec<Separation>,
    worst_ulp: BTreeMap<&'static str, u64>,
    inputs: u64,
    decided: Vec<AtDType>,
}

#[derive(Serialize)]
struct AtDType {
    dtype: &'static str,
    answer: String,
}

#[derive(Serialize)]
struct Separation {
    cause: String,
    counterexample: Option<Refutation>,
}

impl From<&Facets> for Floats {
    fn from(facets: &Facets) -> Floats {
        let apart = facets.apart.iter().map(|(cause, input)| Separation {
            cause: cause.to_string(),
            counterexample: input.as_deref().map(Refutation::from),
        });
        let decided = facets.decided.iter();
        let decided =
            decided.map(|(dtype, found)| AtDType { dtype: dtype.name(), answer: found.to_string() });
        Floats {
            text: facets.to_string(),
            strongest: facets.strongest.name(),
            apart: apart.collect(),
            worst_ulp: facets.worst.iter().map(|(dtype, ulp)| (dtype.name(), *ulp)).collect(),
            inputs: facets.inputs,
            decided: decided.collect(),
        }
    }
}

impl Refutation {
    /// With where the sides part first.
    fn in_detail(found: &Counterexample, sources: &SourceMap) -> Refutation {
        let apart = found.first_apart().map(|(left, right)| Apart {
            left: Inner::of(&left, sources),
            right: Inner::of(&right, sources),
        });
        Refutation { apart, ..Refutation::from(found) }
    }
}

impl From<&Counterexample> for Refutation {
    fn from(found: &Counterexample) -> Refutation {
        let inputs = found.inputs().map(|(name, tensor)| (name.to_string(), written_out(tensor)));
        Refutation {
            contract: found.contract.name(),
            dtypes: found.dtypes().iter().map(|(name, d)| (name.to_string(), d.name())).collect(),
            sizes: found.sizes().into_iter().filter_map(number).collect(),
            inputs: inputs.collect(),
            left: found.left.clone(),
            right: found.right.clone(),
            at: found.difference.at.clone(),
            difference: found.difference.text.clone(),
            apart: None,
        }
    }
}

pub fn claim_finished(sources: &SourceMap, claim: &ClaimResult) -> String {
    let (file, range) = place(sources, claim.span);
    let contracts = claim.contracts.iter().map(|(c, found)| (c.name(), found.verdict.name()));
    Line::ClaimFinished {
        id: &claim.id,
        name: &claim.name,
        kind: claim.kind.name(),
        file,
        range,
        verdict: claim.verdict.name(),
        expected: claim.expected.verdict.name(),
        mode: claim.mode,
        contracts: contracts.collect(),
        method: claim.method(),
        note: &claim.note,
        code: claim.code.map(|code| code.to_string()),
        samples: claim.samples,
        seconds: claim.seconds,
        from: claim.provenance.name(),
        certificate: claim.checked.as_ref().map(|checked| checked.to_string()),
        counterexample: claim
            .counterexample
            .as_ref()
            .map(|found| Box::new(Refutation::in_detail(found, sources))),
        facets: claim.facets.as_ref().map(|facets| Box::new(facets.into())),
    }
    .text()
}

#[derive(Serialize)]
struct Slow<'a> {
    name: &'a str,
    seconds: f64,
}

pub fn statistics(counts: &Counts, spent: &Spent) -> String {
    let slowest = spent.slowest.iter().map(|(name, seconds)| Slow { name, seconds: *seconds });
    Line::Statistics { counts, inputs: spent.inputs, slowest: slowest.collect() }.text()
}

pub fn run_finished(tally: &Tally, errors: usize, exit: Exit, seconds: f64) -> String {
    let named = |counts: &BTreeMap<Verdict, usize>| {
        counts.iter().map(|(verdict, count)| (verdict.name(), *count)).collect()
    };
    Line::RunFinished {
        claims: tally.claims,
        not_checked: tally.not_checked,
        interrupted: tally.interrupted,
        unchanged: tally.unchanged,
        still_open: &tally.still_open,
        verdicts: named(&tally.by_verdict),
        as_expected: named(&tally.as_expected),
        from: tally.provenance.iter().map(|(from, count)| (from.name(), *count)).collect(),
        errors,
        exit: exit.code(),
        seconds,
    }
    .text()
}
