//! The conformance matrix: operators by contracts by backends.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::text::counted;
use crate::conform::{Column, Contract, Matrix, Suite, Tally};

/// Failures that are shown of a backend unless more is asked for.
const FEW: usize = 20;

/// The cell of a matrix: what passed, and of how many unless all did.
fn cell(tally: Tally) -> String {
    match tally {
        Tally { compared: 0, .. } => "-".into(),
        Tally { passed, compared } if passed == compared => passed.to_string(),
        Tally { passed, compared } => format!("{passed}/{compared}"),
    }
}

/// A line for each operator, and their sums.
pub fn rows(matrix: &Matrix) -> String {
    let mut text = format!("{:36}", "");
    for column in &matrix.columns {
        let names = Contract::ALL.map(|contract| format!("{:>9}", contract.name())).concat();
        let _ = write!(text, "  {:6}{names}", column.name);
    }
    text.push('\n');
    let mut row = |name: &str, tallies: &dyn Fn(&Column) -> Option<[Tally; 4]>| {
        let _ = write!(text, "  {name:34}");
        for column in &matrix.columns {
            let cells = match tallies(column) {
                Some(tallies) => tallies.map(|tally| format!("{:>9}", cell(tally))).concat(),
                None => " ".repeat(36),
            };
            let _ = write!(text, "  {:width$}{cells}", "", width = column.name.len().max(6));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    };
    for operator in matrix.operators() {
        row(operator, &|column| column.rows.get(operator).copied());
    }
    row("all", &|column| Some(column.totals()));
    text
}

/// Coverage, and what failed.
pub fn totals(suite: &Suite, matrix: &Matrix, verbose: bool, seconds: f64) -> String {
    let mut text = String::new();
    for column in &matrix.columns {
        let shown = if verbose { usize::MAX } else { FEW };
        for failure in column.failures.iter().take(shown) {
            let _ = writeln!(text, "  failed  {}  {}: {}", column.name, failure.id, failure.why);
        }
        if let Some(more) = column.failures.len().checked_sub(shown).filter(|more| *more > 0) {
            let _ = writeln!(text, "  failed  {}  {more} more; -v shows them", column.name);
        }
    }
    let operators = suite.cases.iter().map(|case| case.operator.as_str());
    let operators = operators.collect::<std::collections::BTreeSet<_>>().len();
    let left_out: usize = suite.left_out.values().sum();
    let cases = counted(suite.cases.len(), "case");
    let _ = writeln!(text, "\n  {cases} of {}, {left_out} left out", counted(operators, "operator"));
    if let Some(without) = &suite.without {
        let _ = writeln!(text, "  {without}");
    }
    if verbose {
        reasons(&mut text, &suite.left_out);
    }
    for column in &matrix.columns {
        let sum = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
        let (excepted, skipped) = (sum(&column.excepted), sum(&column.skipped));
        let name = &column.name;
        let (passed, failed) = (column.passed, column.failures.len());
        let covered = column.rows.len();
        let _ = writeln!(
            text,
            "  {name}: {passed} passed, {failed} failed, {excepted} listed as failing, {skipped} not done; {}",
            counted(covered, "operator")
        );
        if verbose {
            reasons(&mut text, &column.excepted);
            reasons(&mut text, &column.skipped);
        }
    }
    let _ = writeln!(
        text,
        "  not compared: gradients (R0590) and aliasing (R0390), which the language has not yet   {seconds:.1} s"
    );
    text
}

fn reasons(text: &mut String, counts: &BTreeMap<String, usize>) {
    let mut sorted: Vec<(&String, &usize)> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (reason, count) in sorted {
        let _ = writeln!(text, "    {count:6}  {reason}");
    }
}

#[derive(Serialize)]
#[serde(tag = "reason")]
enum Line<'a> {
    #[serde(rename = "conformance-row")]
    Row {
        backend: &'a str,
        operator: &'a str,
        /// By contract: how many passed, and of how many.
        contracts: BTreeMap<&'static str, [usize; 2]>,
    },
    #[serde(rename = "conformance-failure")]
    Failure { backend: &'a str, operator: &'a str, case: &'a str, text: &'a str },
    #[serde(rename = "conformance-finished")]
    Finished {
        backend: &'a str,
        cases: usize,
        passed: usize,
        failed: usize,
        excepted: &'a BTreeMap<String, usize>,
        not_done: &'a BTreeMap<String, usize>,
        left_out: &'a BTreeMap<String, usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        without: Option<&'a str>,
    },
}

/// The same, as JSON.
pub fn lines(suite: &Suite, matrix: &Matrix) -> Vec<String> {
    let mut lines = Vec::new();
    for column in &matrix.columns {
        let backend = column.name.as_str();
        for (operator, tallies) in &column.rows {
            let contracts = Contract::ALL.map(|c| (c.name(), tallies[c as usize]));
            let contracts = contracts.map(|(name, tally)| (name, [tally.passed, tally.compared]));
            lines.push(Line::Row { backend, operator, contracts: contracts.into() });
        }
        lines.extend(column.failures.iter().map(|failure| Line::Failure {
            backend,
            operator: &failure.operator,
            case: &failure.id,
            text: &failure.why,
        }));
        lines.push(Line::Finished {
            backend,
            cases: suite.cases.len(),
            passed: column.passed,
            failed: column.failures.len(),
            excepted: &column.excepted,
            not_done: &column.skipped,
            left_out: &suite.left_out,
            without: suite.without.as_deref(),
        });
    }
    let text = |line: &Line<'_>| serde_json::to_string(line).expect("invariant: every key is a text");
    lines.iter().map(text).collect()
}
