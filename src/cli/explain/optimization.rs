//! How one program became another, told from the certificate of it.

use std::fs;
use std::path::Path;

use rtv_grammar::core_text::phrase;
use rtv_proofs::Stage;
use rtv_proofs::derived::{By, Certificate, Told};
use rtv_runtime::io::{UNREADABLE, placeless, reason};
use rtv_semantics::constant::is_literal;
use rtv_semantics::diag::{Code, Diagnostic};

use crate::cli::effort::Effort;
use crate::cli::verify_cert::derivation::{Opened, open};
use crate::report::Reporter;

/// A certificate of an optimization is not accepted.
const REJECTED: Code = Code(832);

/// Operations that are shown of a term, from its outermost.
const DEPTH: usize = 4;

/// What ends the name of a file that is meant to be one.
const ENDING: &str = "cert";

/// The certificate of an optimization in a file; nothing where none is meant.
///
/// # Errors
/// Where the name is that of a certificate and the file is none, or cannot be read.
pub fn certificate(path: &str) -> Result<Option<String>, Diagnostic> {
    let is_meant = Path::new(path).extension().is_some_and(|ending| ending == ENDING);
    match fs::read(path) {
        Err(why) if is_meant => {
            let fact = format!("cannot read `{path}`: {}", reason(&why));
            Err(placeless(UNREADABLE, fact).help("`rtv opt FILE FUNCTION --certificate FILE` writes one"))
        }
        Err(_) => Ok(None),
        Ok(bytes) => match String::from_utf8(bytes).ok().filter(|text| Certificate::begins(text)) {
            None if is_meant => {
                let fact = format!("`{path}` is no certificate of an optimization");
                Err(placeless(REJECTED, fact).help("`rtv opt FILE FUNCTION --certificate FILE` writes one"))
            }
            text => Ok(text),
        },
    }
}

/// Goes through it, and tells each step.
pub fn tell(text: &str, effort: &Effort, reporter: &mut Reporter) {
    let checker = effort.checker(Stage::Proofs, effort.pool(), Box::new(|_| {}));
    let lines = open(text, &checker, |opened| {
        let Opened { certificate, source, derivation, rules, statements } = opened;
        let steps = checker.told(source, certificate.mode, derivation, rules);
        let mut steps = steps.map_err(|refused| refused.to_string())?;
        // Not where a number is only written in another way.
        steps.retain(|step| !(is_literal(&step.before) && is_literal(&step.after)));
        let mut lines = vec![head(certificate, steps.len())];
        for (number, step) in steps.iter().enumerate() {
            lines.push(String::new());
            lines.push(format!("{:>3} {}", number + 1, title(step, certificate)));
            let statement = match &step.by {
                By::Rule { name, .. } => statements.get(&**name),
                By::Definition(_) | By::Constant | By::Rounded => None,
            };
            let rule = statement.map(|statement| format!("rule    {statement}"));
            lines.extend(rule.into_iter().chain(about(step)).map(|line| format!("      {line}")));
        }
        Ok(lines)
    });
    match lines {
        Ok(lines) => lines.iter().for_each(|line| reporter.result(line)),
        Err(why) => reporter.fault(
            &placeless(REJECTED, format!("the certificate is rejected: {why}"))
                .help("the files that it names are looked up from the current folder"),
        ),
    }
}

fn head(certificate: &Certificate, steps: usize) -> String {
    let source = &certificate.source;
    let steps = if steps == 1 { "1 step".to_string() } else { format!("{steps} steps") };
    format!("{}  {}: {steps}, equal up to {}", source.name, source.file, certificate.mode)
}

fn title(step: &Told, certificate: &Certificate) -> String {
    match &step.by {
        By::Rule { name, .. } => {
            let subject = certificate.rules.iter().find(|rule| rule.name == **name);
            let file = subject.map_or("", |rule| &rule.file);
            let back = if step.forward { "" } else { ", from right to left" };
            format!("{name}  {file}{back}")
        }
        By::Definition(name) if step.forward => format!("`{name}` by its definition"),
        By::Definition(name) => format!("what `{name}` is by its definition"),
        By::Constant => "a constant".to_string(),
        By::Rounded => "a constant, rounded".to_string(),
    }
}

/// The terms of a step, and why the one may stand for the other.
fn about(step: &Told) -> Vec<String> {
    let [before, after] = [&step.before, &step.after].map(|term| phrase(term, DEPTH));
    let mut lines = vec![format!("before  {before}"), format!("after   {after}")];
    let By::Rule { sizes, values, follow, finite, .. } = &step.by else { return lines };
    let sizes = sizes.iter().map(|(sym, size)| format!("{} = {size}", sym.name()));
    let values = values.iter().map(|(name, value)| format!("{name} = {}", phrase(value, DEPTH - 1)));
    let given: Vec<String> = sizes.chain(values).collect();
    lines.push(format!("with    {}", given.join(", ")));
    let finite = finite.then(|| "its values are finite if the inputs are".to_string());
    let since: Vec<String> = follow.iter().map(|cond| cond.to_string()).chain(finite).collect();
    if !since.is_empty() {
        lines.push(format!("since   {}", since.join(", ")));
    }
    lines
}
