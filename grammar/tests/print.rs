//! Printing and parsing are inverse on the corpus.

#[path = "support/corpus.rs"]
mod corpus;
#[path = "support/shape.rs"]
mod shape;

use rtv_grammar::print::print;
use rtv_grammar::{format, parse};
use rtv_semantics::diag::FileId;
use shape::shape;

#[test]
fn printed_programs_parse_back_to_the_same_tree() {
    for (name, text) in corpus::programs() {
        let printed = print(&parse(FileId(0), &text).file);
        assert_eq!(shape(&printed), shape(&text), "{name}:\n{printed}");
    }
}

#[test]
fn formatting_keeps_the_tree_and_every_comment_and_is_idempotent() {
    for (name, text) in corpus::programs() {
        check_format(&name, &text);
    }
}

/// A comment after a token, and on a line of its own before a token, is kept.
#[test]
fn comments_anywhere_are_kept() {
    for (name, text) in corpus::programs() {
        let tokens = rtv_grammar::lexer::lex(FileId(0), &text).tokens;
        // Long programs have many alike.
        let step = 1 + tokens.len() / 10;
        for (number, token) in tokens.iter().enumerate().step_by(step) {
            let (before, after) = text.split_at(token.hi as usize);
            check_format(&name, &format!("{before} # trailing {number}\n{after}"));
            check_format(&name, &format!("{before}\n\n  # own {number}\n{after}"));
        }
    }
}

fn check_format(name: &str, text: &str) {
    let once = format(text).unwrap_or_else(|errors| panic!("{name}: {errors:?}\n{text}"));
    assert_eq!(shape(&once), shape(text), "{name}: the tree changed:\n{text}\n->\n{once}");
    assert_eq!(comments(&once), comments(text), "{name}: comments changed:\n{text}\n->\n{once}");
    assert_eq!(format(&once).as_ref(), Ok(&once), "{name}: not idempotent:\n{text}");
    for line in once.lines() {
        assert_eq!(line, line.trim_end(), "{name}: blanks at the end of a line");
    }
    assert!(!once.contains("\n\n\n"), "{name}: two blank lines:\n{once}");
}

fn comments(text: &str) -> Vec<String> {
    let mut comments: Vec<String> =
        parse(FileId(0), text).comments.into_iter().map(|c| format!("{:?} {}", c.kind, c.text)).collect();
    comments.sort();
    comments
}
