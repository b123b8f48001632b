//! Expectations: `#: expect refuted value` before an item.

use crate::verdict::{Contract, Verdict};
use rtv_grammar::ast::Item;
use rtv_grammar::{Comment, CommentKind};
use rtv_semantics::diag::{Code, Diagnostic};

/// The verdict an item is written to have; `proved` without a word on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expectation {
    pub verdict: Verdict,
    /// The contract that should be refuted.
    pub contract: Option<Contract>,
}

impl Default for Expectation {
    fn default() -> Expectation {
        Expectation { verdict: Verdict::Proved, contract: None }
    }
}

/// The expectation of each item, in order, and what is wrong with the directives.
pub fn expectations(items: &[Item], comments: &[Comment]) -> (Vec<Expectation>, Vec<Diagnostic>) {
    let mut directives = comments.iter().filter(|c| c.kind == CommentKind::Directive).peekable();
    let (mut expected, mut diagnostics) = (Vec::new(), Vec::new());
    for item in items {
        let mut expectation = Expectation::default();
        while let Some(comment) = directives.next_if(|comment| comment.span.hi <= item.span.lo) {
            match read(&comment.text) {
                Some(found) => expectation = found,
                None => diagnostics.push(unknown(comment)),
            }
        }
        while let Some(comment) = directives.next_if(|comment| comment.span.hi <= item.span.hi) {
            diagnostics.push(misplaced(comment));
        }
        expected.push(expectation);
    }
    diagnostics.extend(directives.map(misplaced));
    (expected, diagnostics)
}

fn unknown(comment: &Comment) -> Diagnostic {
    Diagnostic::error(Code(404), comment.span, format!("unknown directive `{}`", comment.text))
        .help("#: expect VERDICT [CONTRACT], such as `#: expect refuted value`")
}

fn misplaced(comment: &Comment) -> Diagnostic {
    Diagnostic::error(Code(404), comment.span, format!("the directive `{}` is about no item", comment.text))
        .help("it stands above the item that it is about")
}

fn read(text: &str) -> Option<Expectation> {
    let mut words = text.split_whitespace();
    if words.next() != Some("expect") {
        return None;
    }
    let verdict = Verdict::from_name(words.next()?)?;
    let contract = match words.next() {
        None => None,
        Some(word) => Some(Contract::from_name(word)?),
    };
    words.next().is_none().then_some(Expectation { verdict, contract })
}
