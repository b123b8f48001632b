//! What people write who come from another language, told by the shape of the tokens.
//!
//! Where a slip of the fingers is explained by [`crate::blame`], a habit is text that was
//! meant so: its help says how this language writes it, in words that can be pasted. Habits
//! are looked for only where the parser has stopped, so no right program meets them.

mod expr;
mod item;

use crate::blame::Scene;
use crate::lexer::Tok;

/// A habit: its first and its last token, what is said of it, and what to write.
pub(crate) struct Habit {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Habit {
    fn new(first: usize, last: usize, message: impl Into<String>, help: impl Into<String>) -> Option<Habit> {
        Some(Habit { first, last, message: message.into(), help: help.into() })
    }

    /// A habit that is one token.
    fn at(token: usize, message: impl Into<String>, help: impl Into<String>) -> Option<Habit> {
        Habit::new(token, token, message, help)
    }
}

type Known = fn(&Scene<'_>) -> Option<Habit>;

/// The first that fits is told.
const HABITS: [Known; 19] = [
    expr::comment,
    item::foreign_item,
    item::name,
    item::no_parameters,
    item::angle_brackets,
    item::result_type,
    item::python_block,
    item::late_clause,
    item::early_brace,
    item::statement_in_rule,
    item::second_arrow,
    item::wrong_arrow,
    item::any_rank,
    expr::tuple_pattern,
    expr::ternary,
    expr::lambda,
    expr::no_leading_digit,
    expr::no_trailing_digit,
    expr::exclamation,
];

/// Characters of the user's text that a help line repeats.
const QUOTABLE: usize = 60;

impl<'a> Scene<'a> {
    /// The habit that explains the error, if one does.
    pub(crate) fn habit(&self) -> Option<Habit> {
        HABITS.iter().find_map(|known| known(self))
    }

    /// Whether the parser would have taken this token.
    fn wanted(&self, token: &str) -> bool {
        self.expected.has(token)
    }

    fn word(&self, at: usize) -> &'a str {
        self.slice(at, at)
    }

    /// The text from one token to another.
    fn slice(&self, first: usize, last: usize) -> &'a str {
        match (self.tokens.get(first), self.tokens.get(last)) {
            (Some(a), Some(b)) if a.lo < b.hi => &self.text[a.lo as usize..b.hi as usize],
            _ => "",
        }
    }

    /// The same as part of a help line: `..` where it is long.
    fn quote(&self, first: usize, last: usize) -> &'a str {
        let text = self.slice(first, last);
        let fits = !text.is_empty() && text.chars().count() <= QUOTABLE && !text.contains('\n');
        if fits { text } else { ".." }
    }

    /// Nothing stands between a token and the next one.
    fn touches_next(&self, at: usize) -> bool {
        matches!((self.tokens.get(at), self.tokens.get(at + 1)), (Some(a), Some(b)) if a.hi == b.lo)
    }

    /// The first token of the line of `at`.
    fn line_start(&self, at: usize) -> usize {
        (0..=at).rev().find(|&t| self.starts_line(t)).unwrap_or(0)
    }

    /// The last token of the phrase that begins at `first`: up to a bracket that closes
    /// around it, a comma, an arrow, a block or the end of the line.
    fn phrase_end(&self, first: usize) -> usize {
        let mut depth = 0usize;
        let mut at = first;
        while let Some(kind) = self.kind(at) {
            let ends = matches!(kind, Tok::Comma | Tok::FatArrow | Tok::Iff | Tok::LBrace) || kind.closes();
            if (depth == 0 && ends) || (at > first && self.starts_line(at)) {
                break;
            }
            depth += usize::from(kind.opens());
            depth -= usize::from(kind.closes());
            at += 1;
        }
        at.saturating_sub(1).max(first)
    }

    /// The first token of the phrase that ends with `last`.
    fn phrase_start(&self, last: usize) -> usize {
        let mut depth = 0usize;
        let mut first = last;
        for at in (0..=last).rev() {
            let kind = self.tokens[at].kind;
            let before = matches!(kind, Tok::Comma | Tok::FatArrow | Tok::Iff | Tok::Return | Tok::Eq);
            if depth == 0 && (before || kind.opens()) {
                break;
            }
            depth += usize::from(kind.closes());
            depth -= usize::from(kind.opens());
            first = at;
            if self.starts_line(at) {
                break;
            }
        }
        first
    }

    /// The keyword of the item around the error.
    fn item(&self) -> Option<usize> {
        let mut depth = 0usize;
        let end = self.open.first().copied().unwrap_or(self.at).min(self.tokens.len());
        (0..end).rev().find(|&at| {
            let kind = self.tokens[at].kind;
            depth += usize::from(kind.closes());
            depth -= usize::from(kind.opens() && depth > 0);
            // `fn(f32[]) -> f32[]` is a type.
            depth == 0 && kind.begins_item() && self.kind(at + 1) != Some(Tok::LParen)
        })
    }

    /// The `{` of the body around the error, if nothing else is open, with its item's kind.
    fn body(&self) -> Option<(usize, Tok)> {
        let &[brace] = self.open else { return None };
        let item = self.kind(self.item()?)?;
        (self.kind(brace) == Some(Tok::LBrace)).then_some((brace, item))
    }

    /// The `{` of the rule around the error.
    fn rule_body(&self) -> Option<usize> {
        self.body().filter(|(_, item)| *item == Tok::Rule).map(|(brace, _)| brace)
    }
}
