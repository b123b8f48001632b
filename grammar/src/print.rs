//! Tree to canonical text: the inverse of parsing, up to spans.
//!
//! Invariant: `parse(print(t)) == t` for every tree without `Error` nodes whose names are
//! names; parentheses stand only where precedence asks for them.

mod doc;
mod expr;
mod item;

use rtv_semantics::diag::Span;

use crate::ast::{Block, Expr, File, Item, Type};
use crate::lexer::{Lexed, Tok, Token};
use doc::Doc;

/// The canonical text of a file.
pub fn print(file: &File) -> String {
    print_around(file, &Layout::default())
}

/// The canonical text of one item, without a line break at its end.
pub fn print_item(item: &Item) -> String {
    Printer { layout: &Layout::default() }.item(item).render()
}

pub fn print_expr(expr: &Expr) -> String {
    Printer { layout: &Layout::default() }.expr(expr).render()
}

pub fn print_type(ty: &Type) -> String {
    Printer { layout: &Layout::default() }.ty(ty).render()
}

/// The text of a file laid out so that the comments of its source find their places.
pub(crate) fn print_around(file: &File, layout: &Layout) -> String {
    let printer = Printer { layout };
    let mut text = String::new();
    if let Some(version) = &file.version {
        text += &format!("rtl {}.{}\n", version.major, version.minor);
    }
    for (number, item) in file.items.iter().enumerate() {
        if number > 0 || file.version.is_some() {
            text.push('\n');
        }
        text += &printer.item(item).render();
        text.push('\n');
    }
    text
}

/// Where the source has comments; a bracket that holds one is not printed on one line.
#[derive(Default)]
pub(crate) struct Layout {
    /// Position of every comment and whether it has a line of its own, ascending.
    comments: Vec<(u32, bool)>,
    /// Every bracket pair, ascending.
    brackets: Vec<Bracket>,
}

/// Positions in the source.
#[derive(Clone, Copy)]
struct Bracket {
    open: u32,
    close: u32,
    /// The token after the opening one.
    inside: u32,
    /// The first comma, or the closing token.
    comma: u32,
}

impl Layout {
    pub(crate) fn new(source: &Lexed) -> Layout {
        let comments: Vec<(u32, bool)> = source.comments.iter().map(|c| (c.span.lo, c.own_line)).collect();
        let mut layout = Layout { comments, brackets: Vec::new() };
        if !layout.comments.is_empty() {
            layout.pair_brackets(&source.tokens);
        }
        layout
    }

    fn pair_brackets(&mut self, tokens: &[Token]) {
        let mut open: Vec<usize> = Vec::new();
        for (number, token) in tokens.iter().enumerate() {
            let at = token.lo;
            if token.kind.opens() {
                let inside = tokens.get(number + 1).map_or(at, |t| t.lo);
                open.push(self.brackets.len());
                self.brackets.push(Bracket { open: at, close: at, inside, comma: u32::MAX });
            } else if token.kind.closes() {
                if let Some(opener) = open.pop() {
                    let bracket = &mut self.brackets[opener];
                    bracket.close = at;
                    bracket.comma = bracket.comma.min(at);
                }
            } else if token.kind == Tok::Comma
                && let Some(&opener) = open.last()
            {
                let bracket = &mut self.brackets[opener];
                bracket.comma = bracket.comma.min(at);
            }
        }
    }

    fn comments_between(&self, lo: u32, hi: u32) -> &[(u32, bool)] {
        let first = self.comments.partition_point(|c| c.0 < lo);
        let end = self.comments.partition_point(|c| c.0 < hi);
        &self.comments[first..end.max(first)]
    }

    /// Whether the first bracket at or after `from` holds a comment.
    fn comment_in_bracket(&self, from: u32) -> bool {
        self.bracket(from).is_some_and(|b| !self.comments_between(b.open, b.close).is_empty())
    }

    /// Whether that comment belongs to one part of the list, so that each needs its own line.
    fn comment_on_part(&self, from: u32) -> bool {
        self.bracket(from).is_some_and(|b| {
            let inside = self.comments_between(b.inside, b.close);
            inside.iter().any(|(at, own_line)| !own_line || *at > b.comma)
        })
    }

    fn bracket(&self, from: u32) -> Option<Bracket> {
        self.brackets.get(self.brackets.partition_point(|b| b.open < from)).copied()
    }

    fn comment_in_block(&self, block: &Block) -> bool {
        let Span { lo, hi, .. } = block.span;
        !self.comments_between(lo, hi).is_empty()
    }
}

struct Printer<'a> {
    layout: &'a Layout,
}

impl Printer<'_> {
    /// A bracketed list; `from` is a position at or before its bracket and after any other.
    fn list(&self, open: &'static str, parts: Vec<Doc>, close: &'static str, from: u32) -> Doc {
        self.list_as(Doc::group, open, parts, close, from)
    }

    /// On one line, or between the brackets on one line of its own, or one part a line.
    fn list_as(
        &self,
        group: fn(Vec<Doc>) -> Doc,
        open: &'static str,
        parts: Vec<Doc>,
        close: &'static str,
        from: u32,
    ) -> Doc {
        if parts.is_empty() {
            return Doc::Concat(vec![Doc::text(open), Doc::text(close)]);
        }
        let commented = self.layout.comment_in_bracket(from);
        let group = if commented { Doc::broken } else { group };
        let within = if self.layout.comment_on_part(from) { Doc::broken } else { Doc::group };
        let inside = Doc::nest(vec![Doc::SoftLine, within(vec![Doc::commas(parts)]), Doc::IfBroken(",")]);
        group(vec![Doc::text(open), inside, Doc::SoftLine, Doc::text(close)])
    }
}
