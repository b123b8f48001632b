//! The formatter: canonical text with every comment and single blank lines put back.
//!
//! Note [Weave]: the printed text has the tokens of the source in the same order, but for
//! parentheses and commas that the printer drops or adds. Matching the two token by token
//! says on which printed line each token of the source went; a comment goes with the token
//! before it (at the end of a line) or after it (on a line of its own). Comments also decide
//! which lists are broken, so a comment that moved can change the layout once more: passes
//! are repeated until nothing changes, which makes formatting idempotent.

use rtv_semantics::diag::{Diagnostic, FileId};

use crate::lexer::{Lexed, Tok, Token, lex};
use crate::parse::parse;
use crate::print::{Layout, print_around};

/// Passes after which the text is stable; a comment can move at most twice.
const PASSES: usize = 4;

/// Formats a file; text with errors is not touched.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let mut formatted = pass(text)?;
    for _ in 1..PASSES {
        let again = pass(&formatted)?;
        if again == formatted {
            break;
        }
        formatted = again;
    }
    Ok(formatted)
}

fn pass(text: &str) -> Result<String, Vec<Diagnostic>> {
    let file = FileId::default();
    let parsed = parse(file, text);
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(parsed.diagnostics);
    }
    let source = lex(file, text);
    let printed = print_around(&parsed.file, &Layout::new(&source));
    let mut lines = Lines::new(&printed, lex(file, &printed).tokens);
    lines.weave(text, &source);
    Ok(lines.text())
}

/// One printed line and what the source adds to it.
#[derive(Default)]
struct Line<'a> {
    text: &'a str,
    /// Comments above it, each with whether a blank line stands above that comment.
    above: Vec<(bool, &'a str)>,
    blank_above: bool,
    trailing: Option<&'a str>,
    starts_with_closer: bool,
    ends_with_opener: bool,
}

struct Lines<'a> {
    lines: Vec<Line<'a>>,
    printed: &'a str,
    tokens: Vec<Token>,
    /// The line of each token.
    line_of: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(printed: &'a str, tokens: Vec<Token>) -> Lines<'a> {
        let mut lines: Vec<Line<'_>> = Vec::new();
        let mut line_of = Vec::with_capacity(tokens.len());
        let mut next = tokens.iter().peekable();
        let mut start = 0;
        for text in printed.split_inclusive('\n') {
            let end = start + text.len() as u32;
            let mut line = Line { text: text.trim_end(), ..Line::default() };
            line.starts_with_closer = next.peek().is_some_and(|t| t.lo < end && t.kind.closes());
            let first = line_of.len();
            while let Some(token) = next.next_if(|t| t.lo < end) {
                line_of.push(lines.len());
                line.ends_with_opener = token.kind.opens();
            }
            if line_of.len() > first {
                lines.push(line);
            }
            start = end;
        }
        // Comments after the last token go above an empty line that is not written.
        lines.push(Line::default());
        Lines { lines, printed, tokens, line_of }
    }

    /// Puts the comments and blank lines of the source in. See Note [Weave].
    fn weave(&mut self, text: &'a str, source: &Lexed) {
        let places = self.places(&source.tokens);
        let line_after = |next: usize, lines: &Lines<'_>| {
            let printed = places[next..].iter().find_map(|p| *p);
            printed.map_or(lines.lines.len() - 1, |p| lines.line_of[p])
        };
        let blank = |position: u32| source.blank_above.binary_search(&position).is_ok();
        for comment in &source.comments {
            let written = &text[comment.span.lo as usize..comment.span.hi as usize];
            let next = source.tokens.partition_point(|t| t.lo < comment.span.lo);
            if comment.own_line {
                let line = line_after(next, self);
                self.lines[line].above.push((blank(comment.span.lo), written));
            } else {
                self.attach(written, places[..next].iter().rev().find_map(|p| *p));
            }
        }
        for (number, token) in source.tokens.iter().enumerate().filter(|(_, t)| blank(t.lo)) {
            if let Some(printed) = places[number] {
                let line = self.line_of[printed];
                let first_on_line = printed == 0 || self.line_of[printed - 1] != line;
                self.lines[line].blank_above |= first_on_line && token.kind != Tok::Error;
            }
        }
    }

    /// Puts a comment at the end of the line of printed token `before`.
    fn attach(&mut self, written: &'a str, before: Option<usize>) {
        let line = before.map_or(0, |p| self.line_of[p]);
        if let Some(earlier) = self.lines[line].trailing.replace(written) {
            self.lines[line].above.push((false, earlier));
        }
    }

    /// For each token of the source, the printed token it became.
    fn places(&self, source: &[Token]) -> Vec<Option<usize>> {
        let kind = |at: usize| self.tokens.get(at).map(|t| t.kind);
        let free = |kind: Tok| matches!(kind, Tok::LParen | Tok::RParen | Tok::Comma);
        let mut places = Vec::with_capacity(source.len());
        let mut at = 0;
        for token in source {
            let mut found = at;
            if !free(token.kind) {
                while kind(found).is_some_and(free) {
                    found += 1;
                }
            } else if token.kind == Tok::RParen && kind(at) == Some(Tok::Comma) {
                // A comma that the printer added.
                found += 1;
            }
            if kind(found) == Some(token.kind) {
                places.push(Some(found));
                at = found + 1;
            } else {
                places.push(None);
            }
        }
        places
    }

    fn text(&self) -> String {
        let mut out = String::with_capacity(self.printed.len() + self.printed.len() / 4);
        let mut inside_opened = true;
        for line in &self.lines {
            let mut indent = line.text.len() - line.text.trim_start().len();
            if line.starts_with_closer {
                indent += 2;
            }
            for (blank, comment) in &line.above {
                push_line(&mut out, *blank && !inside_opened, indent, comment, None);
                inside_opened = false;
            }
            if line.text.is_empty() {
                continue;
            }
            let blank = line.blank_above && !inside_opened && !line.starts_with_closer;
            push_line(&mut out, blank, 0, line.text, line.trailing);
            inside_opened = line.ends_with_opener;
        }
        out
    }
}

fn push_line(out: &mut String, blank: bool, indent: usize, text: &str, trailing: Option<&str>) {
    if blank {
        out.push('\n');
    }
    out.extend(std::iter::repeat_n(' ', indent));
    out.push_str(text);
    if let Some(comment) = trailing {
        out.push_str("  ");
        out.push_str(comment);
    }
    out.push('\n');
}
