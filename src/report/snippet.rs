//! Diagnostics with the source lines they are about, drawn by miette.
//!
//! Note [Excerpts]: source text is not trusted to be short. Labels are clipped to one line
//! unless they span few, labels far from the first one become plain lines below, and what
//! is read around them is a bounded excerpt; so the cost does not depend on the file.

use std::fmt;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents,
};
use rtv_semantics::diag::{Diagnostic, Label, Severity};

use crate::project::{Source, SourceMap};

const WIDTH: usize = 100;
/// Most bytes shown before and after a label.
const REACH: usize = 160;
/// Most bytes of one label.
const LONGEST: usize = 200;
/// Most lines of one label.
const MAX_LINES: usize = 8;
/// Labels farther away than this from the first one get no drawing.
const NEAR: usize = 2000;

/// The diagnostic as text that ends in an empty line.
pub fn render(sources: &SourceMap, found: &Diagnostic, colored: bool) -> String {
    let first = found.labels.first();
    let source = first.and_then(|label| sources.get(label.span.file));
    let (mut labels, mut notes) = (Vec::new(), Vec::new());
    for label in &found.labels {
        let near = first.is_some_and(|first| {
            first.span.file == label.span.file && first.span.lo.abs_diff(label.span.lo) as usize <= NEAR
        });
        match (source, sources.place(label.span)) {
            (Some(source), Some(_)) if near => {
                labels.push(drawn(source, label, labels.is_empty()));
            }
            (_, Some(place)) => {
                notes.push(format!("{}:{}:{}: {}", place.file, place.line, place.column, label.text));
            }
            (_, None) => {}
        }
    }
    let drawing = Drawing { found, source: source.map(Excerpt), labels };
    let theme = if colored { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(WIDTH);
    let mut text = String::new();
    if handler.render_report(&mut text, &drawing).is_err() {
        // Drawing failed; the facts are not lost.
        text = format!("{}: {}\n", found.code, found.message);
    }
    let trimmed: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut text = trimmed.join("\n").replacen("\n\n", "\n", 1);
    for note in notes {
        text.push_str(&format!("\n  note: {note}"));
    }
    text.push_str("\n\n");
    text
}

/// A label in miette's terms, clipped to few lines.
fn drawn(source: &Source, label: &Label, first: bool) -> LabeledSpan {
    let lo = source.floor(label.span.lo as usize);
    let mut hi = source.floor((label.span.hi as usize).max(lo));
    let line = source.line_of(lo);
    if source.line_of(hi.saturating_sub(1).max(lo)) - line >= MAX_LINES {
        hi = source.line_range(line).end.saturating_sub(1).max(lo);
    }
    let hi = source.floor(hi.min(lo + LONGEST)).max(lo);
    let text = (!label.text.is_empty()).then(|| label.text.clone());
    if first {
        LabeledSpan::new_primary_with_span(text, (lo, hi - lo))
    } else {
        LabeledSpan::new_with_span(text, (lo, hi - lo))
    }
}

/// What miette asks about a diagnostic.
struct Drawing<'a> {
    found: &'a Diagnostic,
    source: Option<Excerpt<'a>>,
    labels: Vec<LabeledSpan>,
}

impl fmt::Debug for Drawing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.found.fmt(f)
    }
}

impl fmt::Display for Drawing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.found.message)
    }
}

impl std::error::Error for Drawing<'_> {}

impl miette::Diagnostic for Drawing<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.found.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.found.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Lint => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        // What has no help of its own has a page.
        let page = || format!("`rtv explain {}` shows one like it, and how it is mended", self.found.code);
        Some(Box::new(self.found.help.clone().unwrap_or_else(page)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }
}

/// A source that hands out bounded pieces. See Note [Excerpts].
struct Excerpt<'a>(&'a Source);

impl SourceCode for Excerpt<'_> {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let source = self.0;
        let (lo, hi) = (span.offset(), span.offset() + span.len());
        if hi > source.shown.len() {
            return Err(MietteError::OutOfBounds);
        }
        let line = source.line_of(lo);
        let last = source.line_of(hi.saturating_sub(1).max(lo));
        let (start, end) = if before == 0 && after == 0 {
            (lo, hi)
        } else {
            let start = source.line_range(line.saturating_sub(before)).start;
            let end = source.line_range((last + after).min(source.last_line())).end;
            (source.floor(start.max(lo.saturating_sub(REACH))), source.floor(end.min(hi + REACH)))
        };
        let first = source.line_of(start);
        let column = source.shown[source.line_range(first).start..start].chars().count();
        Ok(Box::new(MietteSpanContents::new_named(
            source.name.clone(),
            &source.shown.as_bytes()[start..end],
            (start, end - start).into(),
            first,
            column,
            source.line_of(end) - first,
        )))
    }
}

#[cfg(test)]
mod tests {
    use rtv_semantics::diag::{Code, FileId, Span};

    use super::*;

    fn at(file: FileId, text: &str, word: &str) -> Span {
        let lo = text.find(word).expect("the word is there");
        Span::new(file, lo, lo + word.len())
    }

    #[test]
    fn a_diagnostic_shows_code_fact_place_and_help() {
        let text = "fn f(x: f32[N]) -> f32[N] {\n  return y\n}\n";
        let mut sources = SourceMap::default();
        let file = sources.add("a.rtl", text.as_bytes());
        let found = Diagnostic::error(Code(101), at(file, text, "y"), "there is no `y` here")
            .here("not a name")
            .label(at(file, text, "x"), "this is the parameter")
            .help("did you mean `x`?");
        let expected = "\
R0101
  × there is no `y` here
   ╭─[a.rtl:2:10]
 1 │ fn f(x: f32[N]) -> f32[N] {
   ·      ┬
   ·      ╰── this is the parameter
 2 │   return y
   ·          ┬
   ·          ╰── not a name
 3 │ }
   ╰────
  help: did you mean `x`?

";
        assert_eq!(render(&sources, &found, false), expected);
    }

    #[test]
    fn without_a_place_the_fact_and_its_help_stand_alone() {
        let found = rtv_runtime::io::placeless(Code(801), "cannot read `x.rtl`");
        let page = "`rtv explain R0801` shows one like it, and how it is mended";
        let expected = format!("R0801\n  × cannot read `x.rtl`\n  help: {page}\n\n");
        assert_eq!(render(&SourceMap::default(), &found, false), expected);
        let unknown_file = Diagnostic::error(Code(801), Span::default(), "cannot read `x.rtl`");
        assert_eq!(render(&SourceMap::default(), &unknown_file, false), expected);
    }

    #[test]
    fn other_files_are_named_below() {
        let mut sources = SourceMap::default();
        let a = sources.add("a.rtl", b"use b\n");
        let b = sources.add("b.rtl", b"\n\nop b\n");
        let found =
            Diagnostic::error(Code(101), Span::new(a, 4, 5), "twice").label(Span::new(b, 5, 6), "first here");
        assert!(render(&sources, &found, false).ends_with("\n  note: b.rtl:3:4: first here\n\n"));
    }

    /// Neither the file's size nor the label's counts.
    #[test]
    fn an_excerpt_stays_small() {
        let mut sources = SourceMap::default();
        let long = "x+".repeat(1 << 22);
        let file = sources.add("long.rtl", long.as_bytes());
        let spans = [(0, 1), (4_000_000, 4_000_001), (0, long.len()), (long.len(), long.len()), (9, 1 << 40)];
        for (lo, hi) in spans {
            let span = Span { file, lo: lo as u32, hi: (hi as u64).min(u64::from(u32::MAX)) as u32 };
            let found =
                Diagnostic::error(Code(1), span, "bad").label(Span::new(file, 7_000_000, 7_000_001), "far");
            let text = render(&sources, &found, false);
            assert!(text.len() < 30_000, "{} bytes for {lo}..{hi}", text.len());
            assert!(text.contains("far"));
        }
        let many = sources.add("many.rtl", "line\n".repeat(100_000).as_bytes());
        let whole = Diagnostic::error(Code(1), Span::new(many, 0, 500_000), "bad").here("all of it");
        assert!(render(&sources, &whole, true).len() < 2000);
    }

    #[test]
    fn any_span_of_any_text_is_drawn() {
        let texts = ["", "\n", "a", "é\u{1f600}\n\nb\tc\r\nd", "\n\n\n", "x\r", "ab\ncd"];
        for text in texts {
            let mut sources = SourceMap::default();
            let file = sources.add("t.rtl", text.as_bytes());
            for lo in 0..text.len() + 2 {
                for hi in 0..text.len() + 3 {
                    let found = Diagnostic::error(Code(1), Span::new(file, lo, hi), "bad")
                        .here("here")
                        .label(Span::new(file, hi, lo), "and here");
                    assert!(render(&sources, &found, false).starts_with("R0001\n"), "{text:?} {lo}..{hi}");
                }
            }
        }
    }
}
