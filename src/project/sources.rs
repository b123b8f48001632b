//! The texts that spans point into.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rtv_grammar::prelude::{FIRST_FILE, Prelude};
use rtv_semantics::diag::{FileId, Span};

/// All source texts of a run, by number. Number 0 stands for no file, so that a default
/// span has no place; the operators' files have the numbers that the library gave them.
#[derive(Default)]
pub struct SourceMap {
    files: BTreeMap<FileId, Source>,
    operators: OnceLock<BTreeMap<FileId, Source>>,
}

/// One source text as it is shown.
pub struct Source {
    pub name: String,
    /// As long as the text that was parsed, byte for byte, but with `?` for everything
    /// that would act on a terminal instead of being seen.
    pub shown: String,
    line_starts: Vec<usize>,
}

/// A span for readers: lines and columns count from 1, columns in characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
}

impl SourceMap {
    /// Adds a file under the next free number.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> FileId {
        let id = FileId(self.files.len() as u32 + 1);
        self.files.insert(id, Source::new(name, bytes));
        id
    }

    pub fn get(&self, id: FileId) -> Option<&Source> {
        if id.0 < FIRST_FILE { self.files.get(&id) } else { self.operators().get(&id) }
    }

    /// The library's files, taken up when one is first shown.
    fn operators(&self) -> &BTreeMap<FileId, Source> {
        self.operators.get_or_init(|| {
            let library = Prelude::shared();
            let source = |s: &rtv_grammar::prelude::Source| {
                (s.file, Source::new(&format!("ops/{}", s.path), s.text.as_bytes()))
            };
            library.sources().iter().map(source).collect()
        })
    }

    /// What is written there, as it is shown.
    pub fn text(&self, span: Span) -> Option<&str> {
        self.get(span.file)?.shown.get(span.lo as usize..span.hi as usize)
    }

    pub fn place(&self, span: Span) -> Option<Place> {
        let source = self.get(span.file)?;
        let (line, column) = source.position(span.lo as usize);
        let (end_line, end_column) = source.position((span.hi as usize).max(span.lo as usize));
        Some(Place { file: source.name.clone(), line, column, end_line, end_column })
    }
}

impl Source {
    fn new(name: &str, bytes: &[u8]) -> Source {
        let shown = visible(bytes);
        let breaks = shown.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Source { name: name.to_string(), shown, line_starts }
    }

    /// The number of the line that holds byte `at`, from 0.
    pub fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    pub fn last_line(&self) -> usize {
        self.line_starts.len() - 1
    }

    /// The bytes of line `line`, its break included; empty past the end.
    pub fn line_range(&self, line: usize) -> std::ops::Range<usize> {
        let end = self.shown.len();
        let start = |line: usize| self.line_starts.get(line).copied().unwrap_or(end);
        start(line)..start(line + 1)
    }

    /// The nearest character boundary at or before `at`.
    pub fn floor(&self, at: usize) -> usize {
        let at = at.min(self.shown.len());
        (0..=at).rev().find(|i| self.shown.is_char_boundary(*i)).unwrap_or(0)
    }

    /// Line and column of byte `at`, both from 1.
    fn position(&self, at: usize) -> (usize, usize) {
        let at = self.floor(at);
        let line = self.line_of(at);
        let start = self.line_range(line).start;
        (line + 1, self.shown[start..at].chars().count() + 1)
    }
}

/// Text of the same length in bytes that can be printed: no control characters except tab
/// and line break, nothing invisible, nothing that turns the direction of writing.
fn visible(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' | '\n' => shown.push(c),
                '\r' => shown.push(' '),
                _ if is_hidden(c) => shown.extend(std::iter::repeat_n('?', c.len_utf8())),
                _ => shown.push(c),
            }
        }
        shown.extend(std::iter::repeat_n('?', chunk.invalid().len()));
    }
    shown
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let mut map = SourceMap::default();
        let file = map.add("a.rtl", "fn é\n  xy\n".as_bytes());
        let place =
            |lo, hi| map.place(Span::new(file, lo, hi)).map(|p| (p.line, p.column, p.end_line, p.end_column));
        assert_eq!(place(0, 2), Some((1, 1, 1, 3)));
        assert_eq!(place(3, 5), Some((1, 4, 1, 5)));
        assert_eq!(place(8, 10), Some((2, 3, 2, 5)));
        assert_eq!(place(400, 500), Some((3, 1, 3, 1)));
        assert_eq!(map.place(Span::default()), None);
    }

    #[test]
    fn what_is_shown_cannot_act_on_a_terminal_and_keeps_its_length() {
        for bytes in [&b"a\x1b[2Jb\0"[..], "x\u{202e}y\u{feff}".as_bytes(), b"\xff\xfea\r\nb\rc"] {
            let shown = visible(bytes);
            assert_eq!(shown.len(), bytes.len());
            assert!(!shown.chars().any(|c| is_hidden(c) && !matches!(c, '\t' | '\n')), "{shown:?}");
        }
    }
}
