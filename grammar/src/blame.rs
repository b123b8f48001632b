//! Where a syntax error probably is, when that is not where the parser stopped.
//!
//! An LR parser stops at the first token that cannot follow, which is often a few tokens
//! after the slip: a missing function name shows at the first named argument, a doubled
//! bracket at the end of its statement. Each rule here recognizes one slip by its shape.

use crate::lexer::{Tok, Token};

/// What probably went wrong, at which token.
pub(crate) struct Slip {
    pub(crate) token: usize,
    pub(crate) message: &'static str,
    pub(crate) help: &'static str,
}

/// The tokens around an error.
pub(crate) struct Scene<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: &'a [Token],
    /// Brackets open at the error, outermost first, by token number.
    pub(crate) open: &'a [usize],
    /// Where the parser stopped; the number of tokens stands for the end of the file.
    pub(crate) at: usize,
    /// The parser could have closed the innermost bracket here.
    pub(crate) may_close: bool,
    /// Closing the innermost bracket is all the parser could have done here.
    pub(crate) must_close: bool,
    /// Only a colon could have stood here.
    pub(crate) must_be_colon: bool,
}

impl Scene<'_> {
    /// The slip that explains the error, if its shape is known.
    pub(crate) fn slip(&self) -> Option<Slip> {
        self.binder()
            .or_else(|| self.missing_type())
            .or_else(|| self.missing_name())
            .or_else(|| self.doubled_opener())
            .or_else(|| self.missing_closer())
            .or_else(|| self.missing_opener())
    }

    fn kind(&self, at: usize) -> Option<Tok> {
        self.tokens.get(at).map(|t| t.kind)
    }

    /// The kind of the token `back` places before the error.
    fn before(&self, back: usize) -> Option<Tok> {
        self.kind(self.at.checked_sub(back)?)
    }

    fn innermost(&self) -> Option<Tok> {
        self.kind(*self.open.last()?)
    }

    fn starts_line(&self, at: usize) -> bool {
        match (at.checked_sub(1).and_then(|b| self.tokens.get(b)), self.tokens.get(at)) {
            (Some(before), Some(token)) => self.text[before.hi as usize..token.lo as usize].contains('\n'),
            _ => true,
        }
    }

    /// `[x[i] *i in *S]` without its `for`, `for i in *S` without its first `*`.
    fn binder(&self) -> Option<Slip> {
        let slip = |back, message, help| Some(Slip { token: self.at - back, message, help });
        match self.kind(self.at)? {
            Tok::In if self.before(1) == Some(Tok::Id) && self.before(2) == Some(Tok::Star) => {
                slip(2, "expected `for` before this binder", "write `for *i in *S`")
            }
            Tok::Star if self.before(1) == Some(Tok::In) && self.before(2) == Some(Tok::Id) => {
                slip(2, "expected `*` before the name bound to many axes", "write `*i in *S`")
            }
            _ => None,
        }
    }

    /// `fn f(x, y: f32[])`: a parameter ends without its type.
    fn missing_type(&self) -> Option<Slip> {
        let ends = matches!(self.kind(self.at)?, Tok::Comma | Tok::RParen | Tok::RBracket);
        let here = ends && self.must_be_colon && self.before(1) == Some(Tok::Id);
        let help = "write `name: type`, as in `x: f32[B, T]`";
        here.then(|| Slip { token: self.at - 1, message: "this parameter has no type", help })
    }

    /// A bracket with nothing before it that only a call or a tensor type can have.
    fn missing_name(&self) -> Option<Slip> {
        let opener = *self.open.last()?;
        let bare = opener.checked_sub(1).is_none_or(|b| !self.tokens[b].kind.ends_operand());
        let slip = |message, help| Some(Slip { token: opener, message, help });
        match (self.tokens[opener].kind, self.kind(self.at)?) {
            (Tok::LParen, Tok::Eq | Tok::For) if bare => {
                slip("expected a function name before this `(`", "only calls take named arguments and generators")
            }
            (Tok::LParen, Tok::Comma) if bare && self.must_close => {
                slip("expected a name before this `(`", "write `*f(a, b)` or `*(a + b)`")
            }
            (Tok::LParen, Tok::RParen) if bare && !self.may_close => {
                let is_type = opener.checked_sub(1).is_some_and(|b| self.is_before_type(b));
                let help = "a tuple type has at least two parts";
                if is_type { slip("expected a name before this `(`", help) } else { None }
            }
            (Tok::LBracket, Tok::Comma) if bare && self.must_close => {
                slip("expected a dtype before this `[`", "write a tensor type like `f32[B, T]`")
            }
            _ => None,
        }
    }

    fn is_before_type(&self, at: usize) -> bool {
        matches!(self.tokens[at].kind, Tok::Arrow | Tok::Colon)
    }

    /// `x: f32[B, T, y: f32[..]`, `f(x[0, dim = 1)`: a `]` is missing before the comma.
    fn missing_closer(&self) -> Option<Slip> {
        let named = matches!(self.kind(self.at)?, Tok::Colon | Tok::Eq);
        let part = self.before(1) == Some(Tok::Id) && self.before(2) == Some(Tok::Comma);
        let here = self.innermost() == Some(Tok::LBracket) && named && part && self.may_close;
        let help = "a name with `:` or `=` cannot stand in this list";
        here.then(|| Slip { token: self.at - 2, message: "expected `]` before this `,`", help })
    }

    /// `f((x)` where the text moves on: of two equal brackets in a row one is too many.
    fn doubled_opener(&self) -> Option<Slip> {
        let inner = self.open.last().copied().filter(|&o| self.tokens[o].kind != Tok::LBrace)?;
        let moved_on = self.kind(self.at).is_none_or(|kind| {
            let closes_other = kind.closes() && !matches((self.tokens[inner].kind, kind));
            let elsewhere = matches!(kind, Tok::LBrace | Tok::Colon | Tok::Eq | Tok::Arrow | Tok::Bang);
            closes_other || elsewhere || kind.is_keyword() || self.starts_line(self.at)
        });
        if !moved_on || !self.may_close {
            return None;
        }
        let block = self.open.iter().rposition(|&o| self.tokens[o].kind == Tok::LBrace);
        let first = self.open[block.map_or(0, |b| b + 1)];
        let doubled = |o: usize| {
            let (one, two) = (self.tokens[o].kind, self.tokens[o + 1].kind);
            one == two && matches!(one, Tok::LParen | Tok::LBracket)
        };
        let still_open = self.open.iter().copied().filter(|&o| o >= first && o + 1 < self.at);
        let pair = still_open.rev().find(|&o| doubled(o));
        let token = pair.or_else(|| (first..self.at.saturating_sub(1)).rev().find(|&o| doubled(o)))?;
        let help = "one of these two brackets is never closed: delete it, or close it";
        Some(Slip { token, message: "more brackets open here than are closed", help })
    }

    /// `let y = f x, 1)`: the statement ended where `(` is missing.
    fn missing_opener(&self) -> Option<Slip> {
        let stray = matches!(self.kind(self.at)?, Tok::Comma | Tok::RParen | Tok::RBracket | Tok::Eq | Tok::Colon);
        if !stray || self.innermost() != Some(Tok::LBrace) {
            return None;
        }
        let mut depth = 0usize;
        let mut at = self.at - 1;
        while at > *self.open.last()? + 1 {
            let kind = self.tokens[at].kind;
            if kind.closes() {
                depth += 1;
            } else if kind.opens() {
                depth = depth.saturating_sub(1);
            }
            if self.starts_line(at) {
                return None;
            }
            let begins = matches!(kind, Tok::Id | Tok::For | Tok::If);
            if depth == 0 && begins && self.tokens[at - 1].kind.ends_operand() {
                let help = "the brackets after this place do not match: is a `(`, `[` or operator missing?";
                return Some(Slip { token: at, message: "the expression before this word ends too early", help });
            }
            at -= 1;
        }
        None
    }
}

fn matches(pair: (Tok, Tok)) -> bool {
    matches!(
        pair,
        (Tok::LParen, Tok::RParen) | (Tok::LBracket, Tok::RBracket) | (Tok::LBrace, Tok::RBrace)
    )
}
