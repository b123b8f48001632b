//! Limits that keep hostile text from costing more than its size: bytes, tokens, items,
//! depth, and characters that show one thing and mean another.
//!
//! Note [Depth]: trees are walked and dropped by recursion, so their depth must be known to
//! be small before they are built. The guard sees every token before the parser does and
//! keeps an upper bound of the depth of the tree so far: open brackets plus the operators
//! and postfix brackets that are still part of a growing expression, summed over the open
//! brackets. A separator, or an operand that stands right after another, ends that
//! expression. The same bound holds for the parser's own stack.

use rtv_semantics::diag::{Code, Diagnostic, FileId, Span};

use crate::lexer::{Tok, Token};

/// Longest file that is read.
pub const MAX_BYTES: usize = 16 << 20;
/// Most tokens in a file, which bounds the memory of its tree.
pub const MAX_TOKENS: usize = 1_000_000;
/// Most items in a file.
pub const MAX_ITEMS: usize = 20_000;
/// Most brackets open at once.
pub const MAX_NESTING: usize = 200;
/// Most levels of a tree; the terms of a sum count, since a sum is nested to the left.
pub const MAX_DEPTH: usize = 512;
/// Most characters of a number.
pub const MAX_NUMBER: usize = 1000;

const CONTROL: Code = Code(3);
const BYTE_ORDER_MARK: Code = Code(4);
const BIDI: Code = Code(5);
const INVISIBLE: Code = Code(6);
const NOT_UTF8: Code = Code(7);
const TOO_DEEP: Code = Code(701);
const TOO_LARGE: Code = Code(702);
const TOO_MANY_ITEMS: Code = Code(703);
const NUMBER_TOO_LONG: Code = Code(704);

/// The text of a source file, or why its bytes cannot be read as one.
pub fn decode(file: FileId, bytes: &[u8]) -> Result<&str, Diagnostic> {
    if bytes.len() > MAX_BYTES {
        return Err(too_many_bytes(file, bytes.len()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Diagnostic::error(NOT_UTF8, Span::new(file, at, at + 1), format!("byte {at} is not valid UTF-8"))
            .help("save the file as UTF-8")
    })?;
    check_text(file, text)?;
    Ok(text)
}

/// Refuses text that is too long or holds characters that deceive its reader.
pub(crate) fn check_text(file: FileId, text: &str) -> Result<(), Diagnostic> {
    if text.len() > MAX_BYTES {
        return Err(too_many_bytes(file, text.len()));
    }
    if text.bytes().all(|b| (0x20..0x7f).contains(&b) || matches!(b, b'\t' | b'\n' | b'\r')) {
        return Ok(());
    }
    let found = text.char_indices().find_map(|(at, c)| Some((at, c, deceptive(c)?)));
    let Some((at, c, (code, what))) = found else { return Ok(()) };
    let span = Span::new(file, at, at + c.len_utf8());
    let message = format!("{what} U+{:04X} is not allowed in source text", c as u32);
    let help = format!("delete it; a string may hold it as `\\u{{{:x}}}`", c as u32);
    Err(Diagnostic::error(code, span, message).help(help))
}

/// Whether `c` may not stand in a file, with its code and its name.
pub(crate) fn deceptive(c: char) -> Option<(Code, &'static str)> {
    match c {
        '\t' | '\n' | '\r' | ' '..='~' => None,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
            Some((CONTROL, "the control character"))
        }
        '\u{feff}' => Some((BYTE_ORDER_MARK, "the byte order mark")),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some((BIDI, "the text direction character"))
        }
        '\u{ad}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{e0000}'..='\u{e007f}' => Some((INVISIBLE, "the invisible character")),
        _ => None,
    }
}

fn too_many_bytes(file: FileId, length: usize) -> Diagnostic {
    Diagnostic::error(
        TOO_LARGE,
        Span::new(file, 0, 0),
        format!("this file has {length} bytes, more than the {MAX_BYTES} that are read"),
    )
    .help("split the file")
}

pub(crate) fn number_too_long(span: Span) -> Diagnostic {
    Diagnostic::error(NUMBER_TOO_LONG, span, format!("this number has more than {MAX_NUMBER} characters"))
        .help("no dtype distinguishes numbers of that many digits")
}

/// Bounds depth and length while tokens are read. See Note [Depth].
pub(crate) struct Guard {
    file: FileId,
    lexemes: usize,
    items: usize,
    /// Depth of the current expression of each enclosing bracket, outermost first.
    enclosing: Vec<usize>,
    /// The sum of `enclosing`.
    enclosing_depth: usize,
    /// Depth of the current expression inside the innermost bracket.
    here: usize,
    previous: Option<Tok>,
}

impl Guard {
    pub(crate) fn new(file: FileId) -> Guard {
        Guard {
            file,
            lexemes: 0,
            items: 0,
            enclosing: Vec::new(),
            enclosing_depth: 0,
            here: 0,
            previous: None,
        }
    }

    /// Takes notice of a comment; fails when a limit is passed.
    pub(crate) fn admit_comment(&mut self, span: Span) -> Result<(), Diagnostic> {
        self.lexemes += 1;
        if self.lexemes <= MAX_TOKENS {
            return Ok(());
        }
        let message = format!("this file has more than {MAX_TOKENS} tokens and comments");
        Err(Diagnostic::error(TOO_LARGE, span, message).help("split the file"))
    }

    /// Takes notice of the next token; fails when a limit is passed.
    pub(crate) fn admit(&mut self, token: Token) -> Result<(), Diagnostic> {
        let span = Span::new(self.file, token.lo as usize, token.hi as usize);
        self.admit_comment(span)?;
        let names_item = token.kind == Tok::Id && self.previous.is_some_and(Tok::begins_item);
        if names_item && self.enclosing.is_empty() {
            self.items += 1;
            if self.items > MAX_ITEMS {
                let message = format!("this file has more than {MAX_ITEMS} items");
                return Err(Diagnostic::error(TOO_MANY_ITEMS, span, message).help("split the file"));
            }
        }
        if self.begins_anew(token.kind) {
            self.here = 0;
        } else if token.kind.opens() {
            self.here += 1;
            self.enclosing_depth += self.here;
            self.enclosing.push(std::mem::take(&mut self.here));
        } else if token.kind.closes() {
            self.here = self.enclosing.pop().unwrap_or(0);
            self.enclosing_depth -= self.here;
        } else if !is_operand(token.kind) {
            self.here += 1;
        }
        self.previous = Some(token.kind);
        if self.enclosing.len() > MAX_NESTING {
            let message = format!("more than {MAX_NESTING} brackets are open here");
            return Err(Diagnostic::error(TOO_DEEP, span, message).help("name the inner parts with `let`"));
        }
        if self.enclosing_depth + self.here > MAX_DEPTH {
            let message = format!("this expression is nested more than {MAX_DEPTH} levels deep");
            return Err(Diagnostic::error(TOO_DEEP, span, message)
                .help("name its parts with `let`; each operator of a chain `a + b + ..` is one level"));
        }
        Ok(())
    }

    /// Whether `kind` cannot continue the expression before it.
    fn begins_anew(&self, kind: Tok) -> bool {
        use Tok::*;
        let separates = matches!(
            kind,
            Comma | Colon | Eq | PlusEq | MinusEq | StarEq | SlashEq | FatArrow | Iff | DotDot
        );
        let continues = matches!(kind, In | Or | And | Else);
        let word = is_operand(kind) || (kind.is_keyword() && !continues);
        separates || (word && self.previous.is_some_and(Tok::ends_operand))
    }
}

fn is_operand(kind: Tok) -> bool {
    use Tok::*;
    matches!(kind, DType | Id | Int | Float | Str | OpenStr | SingleStr | True | False | Error | Version)
}
