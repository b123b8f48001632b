//! One token too few or one too many: never a panic, and the report is near the edit.

#[path = "support/corpus.rs"]
mod corpus;

use rtv_grammar::lexer::{Token, lex};
use rtv_grammar::parse;
use rtv_semantics::diag::FileId;

/// Of the edits that give an error, the share that must report within a token of the edit.
const NEAR: f64 = 0.9;

#[test]
fn a_deleted_or_doubled_token_is_reported_near_its_place() {
    let mut tally = Tally::default();
    for (_, text) in corpus::programs() {
        let tokens = lex(FileId(0), &text).tokens;
        // Long programs have many places alike.
        for (number, token) in tokens.iter().enumerate().step_by(1 + tokens.len() / 100) {
            let (lo, hi) = (token.lo as usize, token.hi as usize);
            tally.judge(&[&text[..lo], &text[hi..]].concat(), number, number);
            let doubled = [&text[..hi], " ", &text[lo..hi], &text[hi..]].concat();
            tally.judge(&doubled, number, number + 1);
        }
    }
    let share = tally.near as f64 / tally.errors as f64;
    println!("{} edits, {} errors, {:.1} % near", tally.edits, tally.errors, 100.0 * share);
    assert!(tally.errors > 2000, "only {} edits gave an error", tally.errors);
    assert!(share >= NEAR, "only {:.1} % near the edit; far:\n{}", 100.0 * share, tally.far.join("\n---\n"));
}

#[derive(Default)]
struct Tally {
    edits: usize,
    errors: usize,
    near: usize,
    far: Vec<String>,
}

impl Tally {
    /// `first..=last` are the numbers of the tokens at the edit.
    fn judge(&mut self, text: &str, first: usize, last: usize) {
        self.edits += 1;
        let parsed = parse(FileId(0), text);
        let Some(report) = parsed.diagnostics.first() else { return };
        self.errors += 1;
        let tokens: Vec<Token> = lex(FileId(0), text).tokens;
        let at = tokens.partition_point(|t| t.hi <= report.span().lo);
        if (first.saturating_sub(1)..=last + 1).contains(&at) {
            self.near += 1;
        } else {
            let line = text[..report.span().lo as usize].matches('\n').count() + 1;
            let edit = tokens.get(first).or(tokens.last()).map_or(0, |t| t.lo);
            let shown: String = text[edit.saturating_sub(40) as usize..].chars().take(100).collect();
            self.far.push(format!("{} (line {line}, token {at} for {first})\n{shown}", report.message));
        }
    }
}
