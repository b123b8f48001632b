//! One value inside a term, as people read it.

use rtv_proofs::{Counterexample, Step, written};
use rtv_semantics::eval::Datum;

use crate::project::SourceMap;

/// Characters of a step's text; longer ones are cut.
const TEXT_WIDTH: usize = 40;

/// What the value is of, on one line.
pub fn text(step: &Step, sources: &SourceMap) -> String {
    let text = sources.text(step.span).unwrap_or("..").split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(TEXT_WIDTH) {
        Some((cut, _)) => format!("{} ..", &text[..cut]),
        None => text,
    }
}

pub fn value(step: &Step) -> String {
    match &step.value {
        Ok(Datum::Tensor(tensor)) => written(tensor),
        Ok(other) => other.to_string(),
        Err(error) => format!("error: {}", error.message),
    }
}

/// `flip(x, 0) = [1, 0]`
pub fn line(step: &Step, sources: &SourceMap) -> String {
    format!("{} = {}", text(step, sources), value(step))
}

/// Where the sides of a refuted claim part before their results do.
pub fn apart(found: &Counterexample, sources: &SourceMap) -> Vec<String> {
    let Some((left, right)) = found.first_apart() else { return Vec::new() };
    let (left, right) = (line(&left, sources), line(&right, sources));
    vec![format!("first apart: left  {left}"), format!("             right {right}")]
}
