//! Diagnostics as plain data: a code, a message, labelled places and a help line.
//!
//! Nothing here renders or prints; the command line does that. Every user-facing
//! failure of every crate is a [`Diagnostic`] with a code that has a page in
//! `semantics/errors/`.

use std::fmt;

/// Which source text a [`Span`] points into; numbered by the caller's source map.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct FileId(pub u32);

/// Half-open byte range `lo..hi` in one source file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Span {
    pub file: FileId,
    pub lo: u32,
    pub hi: u32,
}

impl Span {
    pub fn new(file: FileId, lo: usize, hi: usize) -> Span {
        Span { file, lo: lo as u32, hi: hi as u32 }
    }

    /// The smallest span that covers both; both must lie in one file.
    pub fn to(self, end: Span) -> Span {
        Span { file: self.file, lo: self.lo.min(end.lo), hi: self.hi.max(end.hi) }
    }
}

/// A diagnostic code such as `R0203`: the family is the first two digits after
/// `R` (00 lexer and parser, 01 names, 02 types and sizes, 03 alias and mutation,
/// 04 rules and modes, 05 gradients, 06 backends and evaluation, 07 solver and
/// limits, 08 project and IO, 09 lints).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "R{:04}", self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The program is refused.
    Error,
    /// The program means something, probably not what was intended (R09xx).
    Lint,
}

/// A place in the source with a word on the part it plays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// One fact about the user's text: lower-case message, labels, help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    /// The first label is the place the diagnostic is about.
    pub labels: Vec<Label>,
    /// What to do, where possible as text that can be pasted.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: vec![Label { span, text: String::new() }],
            help: None,
        }
    }

    pub fn lint(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Lint, ..Diagnostic::error(code, span, message) }
    }

    /// The same diagnostic with words on its first label.
    pub fn here(mut self, text: impl Into<String>) -> Diagnostic {
        if let Some(first) = self.labels.first_mut() {
            first.text = text.into();
        }
        self
    }

    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The place the diagnostic is about.
    pub fn span(&self) -> Span {
        self.labels.first().map(|l| l.span).unwrap_or_default()
    }
}
