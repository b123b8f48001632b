//! Where a syntax error probably is, when that is not where the parser stopped.
//!
//! An LR parser stops at the first token that cannot follow, which is often a few tokens
//! after the slip: a missing function name shows at the first named argument, a missing
//! bracket at the end of its statement. Each rule here recognizes one slip by its shape.

use crate::lexer::{Tok, Token};
use crate::report::Expected;

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
    pub(crate) expected: &'a Expected<'a>,
}

const TOO_MANY: &str = "more brackets open here than are closed";
const ONE_OF_TWO: &str = "one of these two brackets is never closed: delete it, or close it";
const CHECK_BRACKETS: &str = "the brackets around this place do not match";

impl Scene<'_> {
    /// The slip that explains the error, if its shape is known.
    pub(crate) fn slip(&self) -> Option<Slip> {
        self.binder()
            .or_else(|| self.missing_type())
            .or_else(|| self.missing_name())
            .or_else(|| self.list_in_list())
            .or_else(|| self.unclosed_list())
            .or_else(|| self.doubled_opener())
            .or_else(|| self.unclosed_call())
            .or_else(|| self.unopened_list())
            .or_else(|| self.unopened_call())
            .or_else(|| self.two_expressions())
    }

    pub(crate) fn kind(&self, at: usize) -> Option<Tok> {
        self.tokens.get(at).map(|t| t.kind)
    }

    /// The kind of the token `back` places before the error.
    pub(crate) fn before(&self, back: usize) -> Option<Tok> {
        self.kind(self.at.checked_sub(back)?)
    }

    fn innermost(&self) -> Option<Tok> {
        self.kind(*self.open.last()?)
    }

    pub(crate) fn starts_line(&self, at: usize) -> bool {
        match (at.checked_sub(1).and_then(|b| self.tokens.get(b)), self.tokens.get(at)) {
            (Some(before), Some(token)) => self.text[before.hi as usize..token.lo as usize].contains('\n'),
            _ => true,
        }
    }

    /// The text has gone on to something that no list or call can hold.
    fn moved_on(&self) -> bool {
        use Tok::*;
        let Some(kind) = self.kind(self.at) else { return true };
        let inside = matches!(kind, True | False | Not | If | For | And | Or | Vjp);
        let other_closer = kind.closes() && self.innermost().is_some_and(|open| !pairs(open, kind));
        let elsewhere = matches!(kind, LBrace | Colon | Eq | Arrow | Bang) || (kind.is_keyword() && !inside);
        self.may_close && (other_closer || elsewhere || self.starts_line(self.at))
    }

    /// The opening bracket of the group that ends with token `close`.
    fn opener_of(&self, close: usize) -> Option<usize> {
        let mut depth = 0;
        (0..=close).rev().find(|&at| {
            let kind = self.tokens[at].kind;
            depth += usize::from(kind.closes());
            depth -= usize::from(kind.opens() && depth > 0);
            depth == 0
        })
    }

    /// The tokens after `open` and before `end` that lie in no bracket between.
    pub(crate) fn direct(&self, open: usize, end: usize) -> impl Iterator<Item = usize> {
        let mut depth = 0usize;
        (open + 1..end).filter(move |&at| {
            let kind = self.tokens[at].kind;
            let was = depth;
            depth = if kind.opens() { depth + 1 } else { depth - usize::from(kind.closes() && depth > 0) };
            was == 0
        })
    }

    fn is_literal(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|t| match t.kind {
            Tok::Int | Tok::Float | Tok::True | Tok::False => true,
            Tok::Id => matches!(&self.text[t.lo as usize..t.hi as usize], "nan" | "inf"),
            _ => false,
        })
    }

    /// In the list that starts at `open`: a comma where numbers turn into lists, or back.
    fn uneven(&self, open: usize, end: usize, to_lists: bool) -> Option<usize> {
        let commas = self.direct(open, end).filter(|&at| self.tokens[at].kind == Tok::Comma);
        let list = |at, bracket| self.kind(at) == Some(bracket);
        let mut turns = commas.filter(|&at| {
            if to_lists {
                self.is_literal(at - 1) && list(at + 1, Tok::LBracket)
            } else {
                list(at - 1, Tok::RBracket) && self.is_literal(at + 1)
            }
        });
        turns.next()
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
        if opener.checked_sub(1).is_some_and(|b| self.tokens[b].kind.ends_operand()) {
            return None;
        }
        let slip = |message, help| Some(Slip { token: opener, message, help });
        match (self.tokens[opener].kind, self.kind(self.at)?) {
            (Tok::LParen, Tok::Eq | Tok::For) => {
                let help = "only calls take named arguments and generators";
                slip("expected a function name before this `(`", help)
            }
            (Tok::LParen, Tok::Comma) if self.must_close => {
                slip("expected a name before this `(`", "write `*f(a, b)` or `*(a + b)`")
            }
            (Tok::LBracket, Tok::Comma) if self.must_close => {
                slip("expected a dtype before this `[`", "write a tensor type like `f32[B, T]`")
            }
            _ => None,
        }
    }

    /// A `]` is missing before a comma: `x: f32[B, T, y: f32[..]`, `zeros([2, 3, f32)`,
    /// `f(x[*i, y[*i])`, `[[1, 2, [3, 4]]`.
    fn unclosed_list(&self) -> Option<Slip> {
        let opener = self.open.last().copied().filter(|&o| self.tokens[o].kind == Tok::LBracket)?;
        let message = "expected `]` before this `,`";
        let named = matches!(self.kind(self.at)?, Tok::Colon | Tok::Eq) && self.before(1) == Some(Tok::Id);
        let foreign = self.kind(self.at) == Some(Tok::RParen) && self.before(1) == Some(Tok::DType);
        if self.may_close && (named || foreign) && self.before(2) == Some(Tok::Comma) {
            let help = "what follows the comma cannot stand in this list";
            return Some(Slip { token: self.at - 2, message, help });
        }
        if !self.moved_on() {
            return None;
        }
        let is_index = opener.checked_sub(1).is_some_and(|b| self.tokens[b].kind.ends_operand());
        let splat =
            is_index && self.kind(opener + 1) == Some(Tok::Star) && self.kind(opener + 3) == Some(Tok::Comma);
        let token = if splat { Some(opener + 3) } else { self.uneven(opener, self.at, true) };
        Some(Slip { token: token?, message, help: CHECK_BRACKETS })
    }

    /// `x: f32[[B], y: f32[..]`, `zeros([[0], f32)`: the list that is not closed begins with one.
    fn list_in_list(&self) -> Option<Slip> {
        let token = *self.open.last()?;
        let lists = [token, token + 1].iter().all(|&at| self.kind(at) == Some(Tok::LBracket));
        let named = self.before(1) == Some(Tok::Id) && matches!(self.kind(self.at)?, Tok::Colon | Tok::Eq);
        let here = lists && (named || self.before(1) == Some(Tok::DType)) && self.moved_on();
        here.then_some(Slip { token, message: TOO_MANY, help: ONE_OF_TWO })
    }

    /// `f((x)` where the text moves on: of two equal brackets in a row one is too many.
    fn doubled_opener(&self) -> Option<Slip> {
        if !self.moved_on() {
            return None;
        }
        let two = |o: usize, kind| self.tokens[o].kind == kind && self.kind(o + 1) == Some(kind);
        let block = self.open.iter().rposition(|&o| self.tokens[o].kind == Tok::LBrace);
        let group = &self.open[block.map_or(0, |b| b + 1)..];
        let first = *group.first()?;
        let doubled = |o: usize| two(o, Tok::LParen) || two(o, Tok::LBracket);
        let still_open = group.iter().rev().copied().find(|&o| o + 1 < self.at && doubled(o));
        // An argument that is nothing but a parenthesis: `f((x), y`.
        let superfluous = |o: usize| {
            let end = self.direct(o, self.at).find(|&at| at > o + 1 && self.tokens[at].kind == Tok::RParen);
            let after = self.direct(o, self.at).find(|&at| at > o + 1);
            end.is_some() && after.is_none_or(|at| matches!(self.tokens[at].kind, Tok::Comma | Tok::RParen))
        };
        let closed = || (first..self.at).find(|&o| two(o, Tok::LParen) && superfluous(o));
        let token = still_open.or_else(closed)?;
        Some(Slip { token, message: TOO_MANY, help: ONE_OF_TWO })
    }

    /// A `)` is missing before a comparison, `f(x == y`, or before the next attribute.
    fn unclosed_call(&self) -> Option<Slip> {
        let opener = self.open.last().copied().filter(|&o| self.tokens[o].kind == Tok::LParen)?;
        if !self.moved_on() {
            return None;
        }
        let attribute = opener.checked_sub(2).is_some_and(|a| self.tokens[a].kind == Tok::At);
        let token = self.direct(opener, self.at).find(|&at| {
            let kind = self.tokens[at].kind;
            let generator = kind == Tok::For && self.kind(self.at) == Some(Tok::RBracket);
            is_comparison(kind) || generator || (attribute && kind == Tok::At && self.starts_line(at))
        })?;
        Some(Slip { token, message: "expected `)` before this", help: CHECK_BRACKETS })
    }

    /// A `[` is missing: `zeros(2, 3], f32)`, `f(x*i])`, `[[1, 2], 3, 4]]`.
    fn unopened_list(&self) -> Option<Slip> {
        let outside = matches!(self.innermost()?, Tok::LParen | Tok::LBrace);
        if self.kind(self.at)? != Tok::RBracket || !outside {
            return None;
        }
        let slip = |token| Some(Slip { token, message: "expected `[` before this", help: CHECK_BRACKETS });
        if self.before(1) == Some(Tok::RBracket) {
            let open = self.opener_of(self.at - 1)?;
            return slip(self.uneven(open, self.at - 1, false)? + 1);
        }
        let splat = self.before(1) == Some(Tok::Id) && self.before(2) == Some(Tok::Star);
        if splat && self.before(3) != Some(Tok::In) {
            return slip(self.at - 2);
        }
        let mut first = self.at;
        while let Some(at) = first.checked_sub(1)
            && (self.is_literal(at) || matches!(self.tokens[at].kind, Tok::Comma | Tok::Minus))
        {
            first = at;
        }
        while first < self.at && self.tokens[first].kind == Tok::Comma {
            first += 1;
        }
        if first < self.at { slip(first) } else { None }
    }

    /// A `(` is missing where only a call makes sense: `f32[1, 2])`, `zeros[2, 3], f32)`,
    /// `log[0.5, 1.0])`, `[exp x[*i])`.
    fn unopened_call(&self) -> Option<Slip> {
        let slip = |token| Some(Slip { token, message: "expected `(` before this", help: CHECK_BRACKETS });
        let opener = *self.open.last()?;
        let kind = self.kind(self.at)?;
        if self.tokens[opener].kind == Tok::LBracket && kind == Tok::RParen {
            let indexed =
                self.kind(opener + 1) == Some(Tok::Id) && self.kind(opener + 2) == Some(Tok::LBracket);
            return if indexed { slip(opener + 2) } else { None };
        }
        let stray = matches!(kind, Tok::RParen | Tok::Comma) && self.tokens[opener].kind == Tok::LBrace;
        let start = (opener + 1..self.at).rev().find(|&at| self.starts_line(at)).unwrap_or(opener + 1);
        let impossible = |at: &usize| {
            let inside = at + 1 + usize::from(self.kind(at + 1) == Some(Tok::Minus));
            let close = self.direct(*at, self.at).find(|&c| self.tokens[c].kind == Tok::RBracket);
            let shape = close.is_some_and(|c| {
                self.kind(c + 1) == Some(Tok::Comma) && self.kind(c + 2) == Some(Tok::DType)
            });
            match (self.kind(at - 1), self.tokens[*at].kind) {
                (Some(Tok::DType), Tok::LBracket) => true,
                (Some(Tok::Id), Tok::LBracket) => shape || self.kind(inside) == Some(Tok::Float),
                _ => false,
            }
        };
        if stray { slip((start + 1..self.at).rev().find(impossible)?) } else { None }
    }

    /// In a block, `let y = f x, 1)` and `x == y`: an expression where none can go on.
    fn two_expressions(&self) -> Option<Slip> {
        let block = self.open.last().copied().filter(|&o| self.tokens[o].kind == Tok::LBrace)?;
        let kind = self.kind(self.at)?;
        let operator = is_comparison(kind) || is_operator(kind);
        if !operator && !matches!(kind, Tok::Comma | Tok::RParen | Tok::RBracket | Tok::Eq | Tok::Colon) {
            return None;
        }
        // Back to the start of the line or of the expression, whichever is later.
        let start = (block + 1..self.at).rev().find(|&at| self.starts_line(at)).unwrap_or(block + 1);
        let words: Vec<usize> = self.direct(start.saturating_sub(1), self.at).collect();
        let begins = |at: usize| matches!(self.tokens[at].kind, Tok::Id | Tok::For | Tok::If);
        let split = words
            .iter()
            .rev()
            .find(|&&at| at > start && begins(at) && self.tokens[at - 1].kind.ends_operand());
        if let Some(&token) = split {
            let message = "the expression before this word ends too early";
            let help = "is a `(`, a `[` or an operator missing before it?";
            return Some(Slip { token, message, help });
        }
        if operator && self.tokens[start].kind == Tok::Id {
            let message = "an expression alone is no statement";
            return Some(Slip { token: start, message, help: "write `let`, `return` or `assert` before it" });
        }
        if kind != Tok::Comma {
            return None;
        }
        let last = self.at - 1;
        let message = "the expression ends here, before a comma";
        if self.is_literal(last) {
            let signed = self.before(2) == Some(Tok::Minus);
            return Some(Slip { token: last - usize::from(signed), message, help: CHECK_BRACKETS });
        }
        // Of `))` the second may be the one too many.
        let doubled = self.before(1) == self.before(2);
        let token = if doubled { last } else { self.opener_of(last)? };
        Some(Slip { token, message, help: CHECK_BRACKETS })
    }
}

fn pairs(open: Tok, close: Tok) -> bool {
    use Tok::*;
    matches!((open, close), (LParen, RParen) | (LBracket, RBracket) | (LBrace, RBrace))
}

fn is_comparison(kind: Tok) -> bool {
    matches!(kind, Tok::EqEq | Tok::Ne | Tok::Le | Tok::Ge | Tok::Lt | Tok::Gt)
}

fn is_operator(kind: Tok) -> bool {
    use Tok::*;
    matches!(kind, Plus | Minus | Star | Slash | SlashSlash | Percent | At | StarStar | And | Or)
}
