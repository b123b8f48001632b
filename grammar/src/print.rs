//! Tree to canonical text: the inverse of parsing, up to spans.
//!
//! Invariant: `parse(print(t)) == t` for every tree without `Error` nodes whose names are
//! names; parentheses stand only where precedence asks for them.

mod doc;
mod expr;
mod item;

use rtv_semantics::diag::Span;

use crate::ast::{Block, Expr, File, Item, Type};
use crate::lexer::Lexed;
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

/// Where the source has comments; brackets that hold one are printed one part a line.
#[derive(Default)]
pub(crate) struct Layout {
    /// Positions of comments, ascending.
    comments: Vec<u32>,
    /// Open and close position of every bracket pair, ascending.
    brackets: Vec<(u32, u32)>,
}

impl Layout {
    pub(crate) fn new(source: &Lexed) -> Layout {
        let comments: Vec<u32> = source.comments.iter().map(|c| c.span.lo).collect();
        let mut brackets = Vec::new();
        let mut open = Vec::new();
        for token in source.tokens.iter().filter(|_| !comments.is_empty()) {
            if token.kind.opens() {
                open.push(brackets.len());
                brackets.push((token.lo, token.lo));
            } else if token.kind.closes()
                && let Some(opener) = open.pop()
            {
                brackets[opener].1 = token.lo;
            }
        }
        Layout { comments, brackets }
    }

    fn comment_between(&self, lo: u32, hi: u32) -> bool {
        let first = self.comments.partition_point(|c| *c < lo);
        self.comments.get(first).is_some_and(|c| *c < hi)
    }

    /// Whether the first bracket at or after `from` holds a comment.
    fn comment_in_bracket(&self, from: u32) -> bool {
        let bracket = self.brackets.get(self.brackets.partition_point(|b| b.0 < from));
        bracket.is_some_and(|(lo, hi)| self.comment_between(*lo, *hi))
    }

    fn comment_in_block(&self, block: &Block) -> bool {
        let Span { lo, hi, .. } = block.span;
        self.comment_between(lo, hi)
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
        let within = if commented { Doc::broken } else { Doc::group };
        let inside = Doc::nest(vec![Doc::SoftLine, within(vec![Doc::commas(parts)]), Doc::IfBroken(",")]);
        group(vec![Doc::text(open), inside, Doc::SoftLine, Doc::text(close)])
    }
}
