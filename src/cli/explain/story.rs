//! All that is known of one claim.

use rtv_grammar::ast::{Generic, ItemKind};
use rtv_grammar::lower::dtype_variables;
use rtv_proofs::{ClaimResult, Facets, Verdict, operators, subject};

use crate::cli::claim::Claim;
use crate::report::{Counts, step};

/// The statement with what it ranges over, the verdict of each contract, what it rests on
/// and what it took.
pub fn lines(claim: &Claim, result: &ClaimResult, counts: &Counts) -> Vec<String> {
    let place = claim.sources.place(claim.item().span);
    let file = place.as_ref().map_or(String::new(), |place| place.file.clone());
    let place = place.map_or(String::new(), |place| format!("{}:{}", place.file, place.line));
    let mut lines = vec![format!("{} {}  {}  {place}", result.kind.name(), result.name, result.id)];
    lines.push(String::new());
    let text = claim.sources.text(claim.item().span).unwrap_or_default();
    lines.extend(text.lines().map(|line| format!("    {line}")));
    lines.push(String::new());
    lines.extend(quantifiers(claim));
    lines.push(verdict(result));
    for (contract, finding) in &result.contracts {
        let reason = finding.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        let method = match &*finding.method {
            "" => String::new(),
            method => format!(" by {method}"),
        };
        lines.push(format!("  {} {}{method}{reason}", contract.name(), finding.verdict.name()));
    }
    let shown = result.counterexample.iter();
    let shown = shown.flat_map(|found| found.lines().into_iter().chain(step::apart(found, &claim.sources)));
    lines.extend(shown.map(|line| format!("    {line}")));
    lines.extend(result.checked.iter().map(|checked| format!("certificate: {checked}")));
    lines.extend(result.facets.iter().flat_map(floats));
    lines.push(String::new());
    lines.extend(rests_on(claim));
    lines.push(cost(result, counts));
    if let Some(code) = result.code {
        lines.push(format!("rtv explain {code}: what this verdict means"));
    }
    if result.verdict == Verdict::Refuted && result.counterexample.is_some() {
        lines.push(format!("rtv replay {} {file}: every step on this input", &result.id[..8]));
    }
    lines
}

/// `for all sizes N, any number of axes *S, T in f16 f32`
fn quantifiers(claim: &Claim) -> Option<String> {
    let item = claim.item();
    let generics = match &item.kind {
        ItemKind::Rule(rule) => &rule.generics,
        ItemKind::Def(def) => &def.generics,
        _ => return None,
    };
    let mut parts = Vec::new();
    for generic in generics {
        parts.push(match generic {
            Generic::Size(name) => format!("every size {}", name.name),
            Generic::Rank(name) => format!("any number of axes *{}", name.name),
            Generic::DType { name, .. } => {
                let variables = dtype_variables(item);
                let (_, class) = variables.iter().find(|(n, _)| **n == *name.name)?;
                let members: Vec<&str> = class.members().iter().map(|dtype| dtype.name()).collect();
                format!("{} in {}", name.name, members.join(" "))
            }
        });
    }
    (!parts.is_empty()).then(|| format!("for {}", parts.join(", ")))
}

fn verdict(result: &ClaimResult) -> String {
    let mode = if result.mode.is_empty() { String::new() } else { format!(" ({})", result.mode) };
    let note = if result.note.is_empty() { String::new() } else { format!(": {}", result.note) };
    let expected = match result.expected.verdict {
        expected if expected == result.verdict => String::new(),
        expected => format!(", expected {}", expected.name()),
    };
    format!("{}{mode}{note}{expected}", result.verdict.name())
}

/// What the claim is worth bit for bit, with an input for each cause of a difference.
fn floats(facets: &Facets) -> Vec<String> {
    let mut lines = vec![format!("floats: {facets}")];
    for (cause, input) in &facets.apart {
        let input = input.iter().flat_map(|found| found.lines()).map(|line| format!("    {line}"));
        lines.push(format!("  {cause}:"));
        lines.extend(input);
    }
    lines
}

/// The definitions of the file, and the operators of the library.
fn rests_on(claim: &Claim) -> Vec<String> {
    let module = &claim.module;
    let own = module.reached(claim.at).into_iter().filter_map(|at| {
        let item = &module.items[at];
        let line = claim.sources.place(item.span).map_or(0, |place| place.line);
        Some(format!("{} (line {line})", subject(item)?.0))
    });
    let own: Vec<String> = own.collect();
    let operators: Vec<String> = operators(module, claim.item()).iter().map(|n| n.to_string()).collect();
    let list =
        |what: &str, names: Vec<String>| (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")));
    [list("definitions", own), list("operators", operators)].into_iter().flatten().collect()
}

fn cost(result: &ClaimResult, counts: &Counts) -> String {
    format!(
        "{} inputs run on both sides, {} questions to the solver, {:.2} s",
        result.samples,
        counts.asked(),
        result.seconds
    )
}
