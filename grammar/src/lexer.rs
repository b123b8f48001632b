//! Splits text into tokens; comments and blank lines go to a side table by position.
//!
//! Lexing never stops at a bad character: it becomes an [`Tok::Error`] token with a
//! diagnostic of its own, and the parser recovers from it like from any other token.

use logos::Logos;
use rtv_semantics::diag::{Code, Diagnostic, FileId, Span};
use rtv_semantics::dtype::DType;

use crate::guard::Guard;

const BAD_TOKEN: Code = Code(1);
const UNTERMINATED: Code = Code(2);
/// Bad tokens reported in one file.
const MAX_REPORTS: usize = 100;

/// The kind of a token; its text is read from the source by position.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r\n]+")]
pub enum Tok {
    /// `rtl 1.0`, only as the first token of a file; made by [`lex`], not by logos.
    Version,
    #[token("fn")]
    Fn,
    #[token("op")]
    Op,
    #[token("impl")]
    Impl,
    #[token("rule")]
    Rule,
    #[token("decomp")]
    Decomp,
    #[token("vjp")]
    Vjp,
    #[token("test")]
    Test,
    #[token("use")]
    Use,
    #[token("const")]
    Const,
    #[token("monoid")]
    Monoid,
    #[token("let")]
    Let,
    #[token("return")]
    Return,
    #[token("assert")]
    Assert,
    #[token("for")]
    For,
    #[token("while")]
    While,
    #[token("in")]
    In,
    #[token("if")]
    If,
    #[token("else")]
    Else,
    #[token("requires")]
    Requires,
    #[token("ensures")]
    Ensures,
    #[token("refines")]
    Refines,
    #[token("upto")]
    Upto,
    #[token("invariant")]
    Invariant,
    #[token("decreases")]
    Decreases,
    #[token("given")]
    Given,
    #[token("or")]
    Or,
    #[token("and")]
    And,
    #[token("not")]
    Not,
    #[token("true")]
    True,
    #[token("false")]
    False,
    #[regex("bool|u8|i8|i16|i32|i64|f16|bf16|f32|f64")]
    DType,
    #[regex("[A-Za-z_][A-Za-z0-9_]*", priority = 1)]
    Id,
    #[regex("[0-9]+")]
    Int,
    #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?")]
    #[regex("[0-9]+[eE][+-]?[0-9]+")]
    Float,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Str,
    #[regex(r#""([^"\\\n]|\\[^\n])*"#)]
    OpenStr,
    /// A string of other languages; reported, then an error.
    #[regex("'([^'\n]*')?")]
    SingleStr,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("...")]
    Ellipsis,
    #[token("..")]
    DotDot,
    #[token(".")]
    Dot,
    #[token("!")]
    Bang,
    #[token("?")]
    Question,
    #[token("->")]
    Arrow,
    #[token("=>")]
    FatArrow,
    #[token("<=>")]
    Iff,
    #[token("==")]
    EqEq,
    #[token("!=")]
    Ne,
    #[token("<=")]
    Le,
    #[token(">=")]
    Ge,
    #[token("<")]
    Lt,
    #[token(">")]
    Gt,
    #[token("=")]
    Eq,
    #[token("+=")]
    PlusEq,
    #[token("-=")]
    MinusEq,
    #[token("*=")]
    StarEq,
    #[token("/=")]
    SlashEq,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("**")]
    StarStar,
    #[token("*")]
    Star,
    #[token("//")]
    SlashSlash,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("@")]
    At,
    #[regex("#[^\n]*", allow_greedy = true)]
    Comment,
    /// Text that is no token; reported already.
    Error,
}

impl Tok {
    /// Reserved words; dtypes are a token kind of their own.
    pub fn is_keyword(self) -> bool {
        (Tok::Fn as u8..=Tok::False as u8).contains(&(self as u8))
    }

    /// The keywords of items.
    pub fn begins_item(self) -> bool {
        (Tok::Fn as u8..=Tok::Monoid as u8).contains(&(self as u8))
    }

    /// Whether an operand may end with this token.
    pub fn ends_operand(self) -> bool {
        use Tok::*;
        matches!(self, DType | Id | Int | Float | Str | RParen | RBracket | RBrace | True | False)
    }

    pub fn opens(self) -> bool {
        matches!(self, Tok::LParen | Tok::LBracket | Tok::LBrace)
    }

    pub fn closes(self) -> bool {
        matches!(self, Tok::RParen | Tok::RBracket | Tok::RBrace)
    }
}

/// A token and its byte range; twelve bytes, since a file may hold a million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Tok,
    pub lo: u32,
    pub hi: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommentKind {
    /// `# ...`
    Plain,
    /// `## ...`: documents the item that follows.
    Doc,
    /// `#: ...`: what the tools should do with the item that follows.
    Directive,
    /// `#~ R0203`: a diagnostic expected on this line.
    Expected,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comment {
    pub kind: CommentKind,
    /// Without the mark, one blank after it, and blanks at the end.
    pub text: String,
    /// From the `#` to the end of the line.
    pub span: Span,
    /// Nothing but blanks before it on its line.
    pub own_line: bool,
}

/// What [`lex`] returns: everything in the text, by position.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    /// Where a token or comment starts that has a blank line right above it.
    pub blank_above: Vec<u32>,
    pub diagnostics: Vec<Diagnostic>,
    /// Lexing stopped before the end: a limit was passed. The last diagnostic says which.
    pub stopped: bool,
}

/// Splits `text`, which must not be longer than [`crate::guard::MAX_BYTES`].
pub fn lex(file: FileId, text: &str) -> Lexed {
    let mut out = Lexed::default();
    let mut guard = Guard::new(file);
    let mut logos = Tok::lexer(text);
    let mut last_end = 0;
    while let Some(result) = logos.next() {
        let kind = match result {
            Ok(Tok::Id) if out.tokens.is_empty() && logos.slice() == "rtl" => {
                match version_tail(logos.remainder()) {
                    Some(length) => {
                        logos.bump(length);
                        Tok::Version
                    }
                    None => Tok::Id,
                }
            }
            Ok(kind) => kind,
            Err(()) => Tok::Error,
        };
        let range = logos.span();
        let newlines = text[last_end..range.start].bytes().filter(|b| *b == b'\n').count();
        if newlines > 1 && last_end > 0 {
            out.blank_above.push(range.start as u32);
        }
        let admitted = if kind == Tok::Comment {
            let own_line = newlines > 0 || last_end == 0;
            let comment = comment(file, text, range.start, range.end, own_line);
            let admitted = guard.admit_comment(comment.span);
            out.comments.push(comment);
            admitted
        } else {
            let token = Token { kind, lo: range.start as u32, hi: range.end as u32 };
            let token = checked(file, text, token, &mut out);
            let token = renamed(token, &mut out.tokens);
            out.tokens.push(token);
            guard.admit(token)
        };
        if let Err(limit) = admitted {
            out.diagnostics.push(limit);
            out.stopped = true;
            return out;
        }
        last_end = range.end;
    }
    out
}

/// The length of blank digits `.` digits at the start of `rest`.
fn version_tail(rest: &str) -> Option<usize> {
    let number = rest.trim_start_matches([' ', '\t']);
    let minor = number.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('.')?;
    let after = minor.trim_start_matches(|c: char| c.is_ascii_digit());
    let blanks = rest.len() - number.len();
    let major_digits = number.len() - minor.len() - 1;
    let minor_digits = minor.len() - after.len();
    (blanks > 0 && major_digits > 0 && minor_digits > 0).then_some(rest.len() - after.len())
}

fn comment(file: FileId, text: &str, lo: usize, hi: usize, own_line: bool) -> Comment {
    let body = text[lo + 1..hi].trim_end();
    let (kind, body) = match body.as_bytes().first() {
        Some(b'#') => (CommentKind::Doc, &body[1..]),
        Some(b':') => (CommentKind::Directive, &body[1..]),
        Some(b'~') => (CommentKind::Expected, &body[1..]),
        _ => (CommentKind::Plain, body),
    };
    let hi = lo + text[lo..hi].trim_end().len();
    let text = body.strip_prefix(' ').unwrap_or(body).to_string();
    Comment { kind, text, span: Span::new(file, lo, hi), own_line }
}

/// Reports text that is no token; a run of it becomes one token and one diagnostic.
fn checked(file: FileId, text: &str, token: Token, out: &mut Lexed) -> Token {
    let (lo, hi) = (token.lo as usize, token.hi as usize);
    let span = Span::new(file, lo, hi);
    let bad = |token: Token| Token { kind: Tok::Error, ..token };
    match token.kind {
        Tok::OpenStr => {
            out.diagnostics.push(
                Diagnostic::error(
                    UNTERMINATED,
                    Span::new(file, lo, lo + 1),
                    "this string has no closing `\"`",
                )
                .help("a string ends on the line where it began; write a line break as `\\n`"),
            );
            bad(token)
        }
        Tok::Error => {
            let continues = out.tokens.last().is_some_and(|t| t.kind == Tok::Error && t.hi == token.lo);
            if !continues && out.diagnostics.len() < MAX_REPORTS {
                let shown: String = text[lo..hi].chars().take(20).collect();
                out.diagnostics.push(
                    Diagnostic::error(BAD_TOKEN, span, format!("`{shown}` is not part of the language"))
                        .help(foreign_symbol(&text[lo..hi])),
                );
            }
            token
        }
        word if (word == Tok::Id || word == Tok::DType || word.is_keyword())
            && glued_number(out.tokens.last(), token.lo) =>
        {
            out.diagnostics.push(
                Diagnostic::error(
                    BAD_TOKEN,
                    span,
                    format!("`{}` follows a number without a blank", &text[lo..hi]),
                )
                .help(number_in_full(&text[out.tokens.last().map_or(lo, |t| t.lo as usize)..])),
            );
            bad(token)
        }
        Tok::SingleStr => {
            out.diagnostics.push(single_quote(span, &text[lo..hi], out.tokens.last()));
            bad(token)
        }
        _ => token,
    }
}

/// `'text'`, `x'` or a quote alone.
fn single_quote(span: Span, text: &str, last: Option<&Token>) -> Diagnostic {
    let prime = last.is_some_and(|t| t.kind == Tok::Id && t.hi == span.lo);
    let inside = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).filter(|_| !prime);
    let Some(inside) = inside else {
        let help = if prime { "write `_` in the name" } else { "strings stand in double quotes: `\"..\"`" };
        let mark = Span { hi: span.lo + 1, ..span };
        return Diagnostic::error(BAD_TOKEN, mark, "`'` is not part of the language").help(help);
    };
    let plain = inside.chars().count() <= 40 && !inside.contains(['"', '\\']);
    Diagnostic::error(BAD_TOKEN, span, "a string stands in double quotes")
        .help(format!("write `\"{}\"`", if plain { inside } else { ".." }))
}

/// What stands here for a symbol of other languages.
fn foreign_symbol(text: &str) -> &'static str {
    match text.chars().next() {
        Some('~') => "write `not x` of conditions, `bitwise_not(x)` of integers",
        Some('&') => "write `a and b` of conditions, `bitwise_and(a, b)` of integers",
        Some('|') => "write `a or b` of conditions, `bitwise_or(a, b)` of integers",
        Some('^') => "write `x ** n` for a power, `bitwise_xor(a, b)` of integers",
        Some(';') => "statements need no end mark",
        Some('→') => "write `->`",
        Some('⇒') => "write `=>`",
        Some('⇔' | '≡' | '⟺') => "write `<=>`",
        Some('≤') => "write `<=`",
        Some('≥') => "write `>=`",
        Some('≠') => "write `!=`",
        Some('×' | '·') => "write `*`",
        _ => "names use the letters a-z and A-Z, digits and `_`; other text belongs in strings and comments",
    }
}

/// What to write for the number that `text` starts with and a word that touches it.
fn number_in_full(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
    let written = &text[..end.unwrap_or(text.len()).min(40)];
    let digits = written.replace('_', "");
    let is_number = |s: &str| {
        let edges = s.starts_with(|c: char| c.is_ascii_digit()) && s.ends_with(|c: char| c.is_ascii_digit());
        edges && s.parse::<f64>().is_ok()
    };
    let radix = |prefix, radix| i64::from_str_radix(digits.strip_prefix(prefix)?, radix).ok();
    if let Some(value) = radix("0x", 16).or_else(|| radix("0b", 2)) {
        return format!("write `{value}`");
    }
    if digits != written && is_number(&digits) {
        return format!("write `{digits}`");
    }
    let suffixes = ["f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"];
    if let Some((number, dtype)) = suffixes.iter().find_map(|s| Some((digits.strip_suffix(s)?, s)))
        && is_number(number)
    {
        return format!("write `{dtype}({number})`");
    }
    match digits.strip_suffix(['f', 'F']).filter(|number| is_number(number)) {
        Some(number) => format!("write `{number}`; with its dtype, `f32({number})`"),
        None => "a name starts with a letter; write `*` between the factors of a product".to_string(),
    }
}

fn glued_number(last: Option<&Token>, lo: u32) -> bool {
    last.is_some_and(|t| matches!(t.kind, Tok::Int | Tok::Float) && t.hi == lo)
}

/// Reserved words are plain names right after a dot and before the `=` of an argument.
fn renamed(token: Token, before: &mut [Token]) -> Token {
    let reserved = |t: Tok| t.is_keyword() || t == Tok::DType;
    if token.kind == Tok::Eq
        && let [.., opener, word] = before
        && matches!(opener.kind, Tok::LParen | Tok::Comma)
        && reserved(word.kind)
    {
        word.kind = Tok::Id;
    }
    let after_dot = before.last().is_some_and(|t| t.kind == Tok::Dot && t.hi == token.lo);
    if after_dot && reserved(token.kind) { Token { kind: Tok::Id, ..token } } else { token }
}

/// The name of every dtype is a token of its own.
pub(crate) fn dtype(text: &str) -> DType {
    DType::from_name(text).expect("invariant: the DType token matches dtype names only")
}
