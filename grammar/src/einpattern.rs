//! Axis patterns: `"b t (h d) -> b h t d"`, and einsum's classic letters `"ij,jk->ik"`.
//!
//! Patterns are strings to the lexer; their parts carry spans into the string, so a
//! diagnostic can point at one axis. Only the form is checked here; that names match
//! between the sides, and sizes with the tensors, is checked where the operator is known.

use rtv_semantics::diag::{Code, Diagnostic, Span};

use crate::ast::{Pattern, PatternAxis, PatternAxisKind};

const BAD_PATTERN: Code = Code(10);

/// Which operator the pattern is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternStyle {
    /// `rearrange`, `reduce`, `repeat`: names apart by blanks, groups, one arrow.
    Axes,
    /// `einsum`: names apart by blanks, or single letters where no side has a blank; without
    /// an arrow the result has the axes that occur once, in alphabetical order.
    Einsum,
}

/// Parses the value of a string literal whose quotes are covered by `span`.
pub fn parse_pattern(text: &str, span: Span, style: PatternStyle) -> Result<Pattern, Diagnostic> {
    let literal_length = (span.hi - span.lo) as usize;
    // A literal with escapes is longer than its value; then every part gets the whole span.
    let exact = literal_length == text.len() + 2;
    let mut reader = Reader { text, span, exact, style, letters: false };
    let (left, right) = match text.find("->") {
        Some(at) => (0..at, Some(at + 2..text.len())),
        None if style == PatternStyle::Einsum => (0..text.len(), None),
        None => return Err(reader.error(0..text.len(), "this axis pattern has no `->`")),
    };
    if let Some(again) = right.as_ref().and_then(|r| text[r.clone()].find("->").map(|at| r.start + at)) {
        return Err(reader.error(again..again + 2, "this axis pattern has two `->`"));
    }
    let sides = split_at_commas(text, left);
    let all_sides = sides.iter().chain(&right);
    let one_word = all_sides.into_iter().all(|side| !text[side.clone()].trim().contains(char::is_whitespace));
    reader.letters = style == PatternStyle::Einsum && one_word;
    let inputs = sides.into_iter().map(|side| reader.side(side)).collect::<Result<Vec<_>, _>>()?;
    let output = match right {
        Some(side) => reader.side(side)?,
        None => implicit_output(&inputs),
    };
    Ok(Pattern { inputs, output })
}

fn split_at_commas(text: &str, range: std::ops::Range<usize>) -> Vec<std::ops::Range<usize>> {
    let mut sides = Vec::new();
    let mut start = range.start;
    for (at, _) in text[range.clone()].match_indices(',') {
        sides.push(start..range.start + at);
        start = range.start + at + 1;
    }
    sides.push(start..range.end);
    sides
}

/// The axes that occur once, in alphabetical order (capitals first), after the ellipsis.
fn implicit_output(inputs: &[Vec<PatternAxis>]) -> Vec<PatternAxis> {
    let axes: Vec<&PatternAxis> = inputs.iter().flatten().collect();
    let ellipsis = axes.iter().find(|a| a.kind == PatternAxisKind::Ellipsis).copied();
    let mut named: Vec<(&str, &PatternAxis)> = axes
        .iter()
        .filter_map(|axis| match &axis.kind {
            PatternAxisKind::Name(name) => Some((name.as_str(), *axis)),
            _ => None,
        })
        .collect();
    named.sort_by_key(|(name, _)| *name);
    let once = named.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0].1);
    ellipsis.into_iter().chain(once).cloned().collect()
}

struct Reader<'a> {
    text: &'a str,
    span: Span,
    exact: bool,
    style: PatternStyle,
    /// Every letter is an axis of its own.
    letters: bool,
}

impl Reader<'_> {
    fn place(&self, range: std::ops::Range<usize>) -> Span {
        if !self.exact {
            return self.span;
        }
        let lo = self.span.lo + 1;
        Span { lo: lo + range.start as u32, hi: lo + range.end as u32, ..self.span }
    }

    fn error(&self, range: std::ops::Range<usize>, message: impl Into<String>) -> Diagnostic {
        let example = match self.style {
            PatternStyle::Axes => "write a pattern like \"b t (h d) -> b h t d\"",
            PatternStyle::Einsum => "write a pattern like \"b i, b j -> b i j\" or \"ij,jk->ik\"",
        };
        Diagnostic::error(BAD_PATTERN, self.place(range), message).help(example)
    }

    /// The axes of one side of the pattern.
    fn side(&self, range: std::ops::Range<usize>) -> Result<Vec<PatternAxis>, Diagnostic> {
        let mut axes = Vec::new();
        let mut ellipses = 0;
        // Where the open group began, and its axes so far.
        let mut group: Option<(usize, Vec<PatternAxis>)> = None;
        let mut at = range.start;
        while at < range.end {
            let length = self.part_length(at, range.end)?;
            let part = &self.text[at..at + length];
            let here = at..at + length;
            at += length;
            let kind = match part {
                blank if blank.trim().is_empty() => continue,
                "(" | ")" if self.style == PatternStyle::Einsum => {
                    return Err(self.error(here, "einsum has no groups of axes"));
                }
                "(" if group.is_some() => return Err(self.error(here, "a group of axes cannot hold a group")),
                "(" => {
                    group = Some((here.start, Vec::new()));
                    continue;
                }
                ")" => match group.take() {
                    Some((start, inside)) => {
                        let span = self.place(start..here.end);
                        axes.push(PatternAxis { kind: PatternAxisKind::Group(inside), span });
                        continue;
                    }
                    None => return Err(self.error(here, "this `)` closes nothing")),
                },
                "..." if ellipses > 0 => return Err(self.error(here, "`...` may stand once on a side")),
                "..." => {
                    ellipses += 1;
                    PatternAxisKind::Ellipsis
                }
                digits if digits.starts_with(|c: char| c.is_ascii_digit()) => {
                    self.size(digits, here.clone())?
                }
                name => PatternAxisKind::Name(name.to_string()),
            };
            let axis = PatternAxis { kind, span: self.place(here) };
            group.as_mut().map_or(&mut axes, |(_, inside)| inside).push(axis);
        }
        match group {
            Some((start, _)) => Err(self.error(start..start + 1, "this `(` is never closed")),
            None => Ok(axes),
        }
    }

    fn size(&self, digits: &str, here: std::ops::Range<usize>) -> Result<PatternAxisKind, Diagnostic> {
        if self.style == PatternStyle::Einsum {
            return Err(self.error(here, "einsum has no sizes in its pattern"));
        }
        match digits.parse() {
            Ok(size) => Ok(PatternAxisKind::Int(size)),
            Err(_) => Err(self.error(here, format!("`{digits}` is no size of an axis"))),
        }
    }

    /// The length of the part that starts at `at`: blanks, a name, a number, `...` or a bracket.
    fn part_length(&self, at: usize, end: usize) -> Result<usize, Diagnostic> {
        let rest = &self.text[at..end];
        let run = |accept: fn(char) -> bool| rest.find(|c| !accept(c)).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(' ', |c| c);
        match first {
            '(' | ')' => Ok(1),
            '.' if rest.starts_with("...") => Ok(3),
            c if c.is_ascii_whitespace() => Ok(run(|c| c.is_ascii_whitespace())),
            c if c.is_ascii_digit() => Ok(run(|c| c.is_ascii_digit())),
            c if self.letters && c.is_ascii_alphabetic() => Ok(1),
            c if c.is_ascii_alphabetic() || c == '_' => Ok(run(|c| c.is_ascii_alphanumeric() || c == '_')),
            c => {
                let shown = c.escape_debug();
                Err(self.error(at..at + c.len_utf8(), format!("`{shown}` is no part of an axis pattern")))
            }
        }
    }
}
