//! Turns the parser's errors into diagnostics a person can act on.
//!
//! Recovery resumes at the next thing that looks like a statement or an item, often in the
//! middle of what was wrong; only the first error of a line, of a bracketed group and of an
//! item's head is a report.

use lalrpop_util::ParseError;
use rtv_semantics::diag::{Code, Diagnostic, FileId, Span};

use crate::actions::SyntaxError;
use crate::blame::Scene;
use crate::lexer::{Tok, Token};

const UNEXPECTED: Code = Code(11);

const ITEM_WORDS: [&str; 10] =
    ["fn", "op", "impl", "rule", "decomp", "vjp", "test", "use", "const", "monoid"];
const STATEMENT_WORDS: [&str; 6] = ["let", "return", "assert", "for", "while", "if"];
const CLAUSE_WORDS: [&str; 7] = ["requires", "ensures", "refines", "upto", "invariant", "decreases", "given"];
/// What other languages call it.
const FOREIGN_WORDS: [(&str, &str); 11] = [
    ("def", "fn"),
    ("fun", "fn"),
    ("func", "fn"),
    ("function", "fn"),
    ("operator", "op"),
    ("rewrite", "rule"),
    ("var", "let"),
    ("elif", "else if"),
    ("ensure", "ensures"),
    ("pre", "requires"),
    ("where", "requires"),
];

/// The source in which errors are explained.
pub(crate) struct Reporter<'a> {
    file: FileId,
    text: &'a str,
    tokens: &'a [Token],
}

/// One error by token number; the number after the last token stands for the end of the file.
struct Unexpected {
    token: usize,
    expected: Vec<String>,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(file: FileId, text: &'a str, tokens: &'a [Token]) -> Reporter<'a> {
        Reporter { file, text, tokens }
    }

    pub(crate) fn report(&self, errors: Vec<SyntaxError>) -> Vec<Diagnostic> {
        let mut errors: Vec<Unexpected> = errors.into_iter().filter_map(|e| self.locate(e)).collect();
        errors.sort_by_key(|e| e.token);
        let mut open = Vec::new();
        let mut next = 0;
        let mut quiet_before = 0;
        let mut reports = Vec::new();
        for error in errors {
            while next < error.token {
                self.step(&mut open, next);
                next += 1;
            }
            if error.token < quiet_before {
                continue;
            }
            quiet_before = self.end_of_trouble(&open, &error);
            // The lexer has already said what is wrong with an error token.
            if self.tokens.get(error.token).is_none_or(|t| t.kind != Tok::Error) {
                reports.push(self.explain(&open, &error));
            }
        }
        reports
    }

    fn locate(&self, error: SyntaxError) -> Option<Unexpected> {
        match error {
            ParseError::UnrecognizedToken { token: (lo, _, _), expected } => {
                let token = self.tokens.partition_point(|t| t.lo < lo);
                Some(Unexpected { token, expected })
            }
            ParseError::UnrecognizedEof { expected, .. } => {
                Some(Unexpected { token: self.tokens.len(), expected })
            }
            ParseError::InvalidToken { .. } | ParseError::ExtraToken { .. } | ParseError::User { .. } => None,
        }
    }

    /// Keeps the stack of open brackets (their token numbers) up to date past token `at`.
    fn step(&self, open: &mut Vec<usize>, at: usize) {
        let kind = self.tokens[at].kind;
        if kind.opens() {
            open.push(at);
        } else if kind.closes() {
            open.pop();
        }
    }

    /// The first token after an error at which another one is news.
    fn end_of_trouble(&self, open: &[usize], error: &Unexpected) -> usize {
        let block = open.iter().rposition(|&o| self.tokens[o].kind == Tok::LBrace);
        let in_head = block.is_none();
        let group = open.get(block.map_or(0, |b| b + 1)).copied();
        let mut end = error.token;
        let mut depth = group.map_or(0, |_| open.len() - block.map_or(0, |b| b + 1));
        while let Some(token) = self.tokens.get(end) {
            let first_on_line = end > error.token && self.starts_line(end);
            if first_on_line && (is_item_start(token.kind) || (!in_head && depth == 0)) {
                break;
            }
            if token.kind.opens() {
                depth += 1;
            } else if token.kind.closes() {
                depth = depth.saturating_sub(1);
            }
            end += 1;
        }
        end.max(error.token + 1)
    }

    fn starts_line(&self, at: usize) -> bool {
        let lo = self.tokens[at].lo as usize;
        let before = at.checked_sub(1).map_or(0, |b| self.tokens[b].hi as usize);
        at == 0 || self.text[before..lo].contains('\n')
    }

    fn text_of(&self, at: usize) -> Option<&'a str> {
        self.tokens.get(at).map(|t| &self.text[t.lo as usize..t.hi as usize])
    }

    fn span_of(&self, at: usize) -> Span {
        match self.tokens.get(at).or(self.tokens.last()) {
            Some(t) => Span { file: self.file, lo: t.lo, hi: t.hi },
            None => Span::new(self.file, 0, 0),
        }
    }

    fn explain(&self, open: &[usize], error: &Unexpected) -> Diagnostic {
        let expected = Expected(&error.expected);
        let closer = open.last().map(|&opener| match self.tokens[opener].kind {
            Tok::LParen => ")",
            Tok::LBracket => "]",
            _ => "}",
        });
        let may_close = closer.is_some_and(|closer| expected.has(closer));
        let must_close = may_close && expected.0.len() == 1;
        let must_be_colon = expected.has(":") && expected.0.len() == 1;
        let (text, tokens, at) = (self.text, self.tokens, error.token);
        let scene =
            Scene { text, tokens, open, at, may_close, must_close, must_be_colon, expected: &expected };
        if let Some(habit) = scene.habit() {
            let span = Span { hi: self.span_of(habit.last).hi, ..self.span_of(habit.first) };
            return Diagnostic::error(UNEXPECTED, span, habit.message).help(habit.help);
        }
        if let Some(slip) = scene.slip() {
            return Diagnostic::error(UNEXPECTED, self.span_of(slip.token), slip.message)
                .label(self.span_of(error.token), "this cannot follow")
                .help(self.misspelt_before(error.token).unwrap_or(slip.help.to_string()));
        }
        let found = match self.text_of(error.token) {
            Some(text) if text.chars().count() <= 40 => format!("`{text}`"),
            Some(_) => "a long literal".to_string(),
            None => "the end of the file".to_string(),
        };
        let message = format!("expected {}, found {found}", expected.summary());
        let mut report = Diagnostic::error(UNEXPECTED, self.span_of(error.token), message);
        let moved_on = self.tokens.get(error.token).is_none_or(|t| {
            t.kind.closes()
                || t.kind == Tok::LBrace
                || t.kind == Tok::At
                || (t.kind.is_keyword() && !self.is_named(error.token))
        });
        if let Some(&opener) = open.last()
            && moved_on
            && may_close
        {
            let bracket = self.text_of(opener).unwrap_or_default();
            report = report.label(self.span_of(opener), format!("this `{bracket}` is not closed"));
        }
        match self.advice(error, &expected) {
            Some(help) => report.help(help),
            None => report,
        }
    }

    /// What to do, where one step is likely.
    fn advice(&self, error: &Unexpected, expected: &Expected<'_>) -> Option<String> {
        let token = self.tokens.get(error.token);
        let text = self.text_of(error.token).unwrap_or_default();
        if token.is_some_and(|t| t.kind == Tok::Id)
            && let Some(word) = nearest(text, &expected.words())
        {
            return Some(format!("did you mean `{word}`?"));
        }
        if let Some(help) = self.misspelt_before(error.token) {
            return Some(help);
        }
        match token.map(|t| t.kind) {
            Some(Tok::LBrace) if expected.has("in") => Some("write `for i in 0..n { .. }`".to_string()),
            Some(Tok::Lt | Tok::Gt | Tok::Le | Tok::Ge | Tok::EqEq | Tok::Ne) => {
                Some("comparisons do not chain: write `a < b and b < c`".to_string())
            }
            Some(kind) if (kind.is_keyword() || kind == Tok::DType) && expected.has_name() => {
                Some(format!("`{text}` is a reserved word; use another name"))
            }
            _ => self.missing_comma(error.token, expected),
        }
    }

    /// `let: f32[N]` among parameters: the keyword is meant as a name.
    fn is_named(&self, at: usize) -> bool {
        self.tokens.get(at + 1).is_some_and(|t| matches!(t.kind, Tok::Colon | Tok::Eq))
    }

    /// `sum(x dim = 0)`: two operands in a list with nothing between.
    fn missing_comma(&self, at: usize, expected: &Expected<'_>) -> Option<String> {
        use Tok::*;
        let in_list = expected.has(",") && (expected.has(")") || expected.has("]"));
        let before = self.tokens.get(at.checked_sub(1)?)?.kind;
        let next = self.tokens.get(at)?.kind;
        let begins = matches!(next, Id | DType | Int | Float | Str | True | False);
        let here = in_list && begins && before.ends_operand() && !self.starts_line(at);
        let short = |t: usize| self.text_of(t).filter(|text| text.len() <= 40).unwrap_or("..");
        let last = if before.closes() { "" } else { short(at - 1) };
        here.then(|| format!("is a comma missing? write `{last}, {}`", short(at)))
    }

    /// A misspelt keyword reads as a name, and what follows it as another statement: the
    /// error comes one or two tokens later.
    fn misspelt_before(&self, at: usize) -> Option<String> {
        let is_name = |t: usize| self.tokens.get(t).is_some_and(|t| t.kind == Tok::Id);
        let first = |t: usize| self.starts_line(t) || self.tokens[t - 1].kind == Tok::LBrace;
        let candidates = [at.checked_sub(2).filter(|&t| is_name(t + 1)), at.checked_sub(1)];
        let names = candidates.into_iter().flatten().filter(|&t| is_name(t) && first(t));
        names.filter_map(|t| self.text_of(t)).find_map(|text| {
            let word = nearest(text, &all_words())?;
            (word != text).then(|| format!("did you mean `{word}` for `{text}`?"))
        })
    }
}

fn is_item_start(kind: Tok) -> bool {
    kind.begins_item() || kind == Tok::At
}

fn all_words() -> Vec<&'static str> {
    [&ITEM_WORDS[..], &STATEMENT_WORDS, &CLAUSE_WORDS].concat()
}

/// The terminals the parser would have taken, as lalrpop names them: `"\"fn\""`, `"ID"`.
pub(crate) struct Expected<'a>(&'a [String]);

impl Expected<'_> {
    pub(crate) fn has(&self, token: &str) -> bool {
        self.0.iter().any(|e| e.trim_matches('"') == token)
    }

    fn has_name(&self) -> bool {
        self.has("ID")
    }

    /// The reserved words among them.
    fn words(&self) -> Vec<&'static str> {
        all_words().into_iter().filter(|w| self.has(w)).collect()
    }

    /// The set in few words: what kind of phrase could follow, then the tokens that could.
    fn summary(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let expression = self.has("INT") && self.has("(");
        let item = self.has("op") && self.has("rule");
        let statement = self.has("let") && self.has("return");
        if item {
            parts.push("an item".to_string());
        } else if statement {
            parts.push("a statement".to_string());
        } else if expression {
            parts.push("an expression".to_string());
        } else if self.has("DTYPE") {
            parts.push("a type".to_string());
        } else if self.has_name() {
            parts.push("a name".to_string());
        }
        if !expression && self.has("INT") {
            parts.push("a number".to_string());
        }
        let structure =
            ["{", ")", "]", "}", ",", ":", "=", "in", "->", "=>", "given", "else", "!", "for", "[", "("];
        let operators = self.has("+") || self.has("*");
        for token in structure {
            let starts_phrase = matches!(token, "[" | "(" | "for" | "{" | "=" | ":")
                && (expression || item || statement || operators);
            let hidden = starts_phrase && !(token == "{" && operators);
            if self.has(token) && !hidden && !(token == "{" && item) {
                parts.push(format!("`{token}`"));
            }
        }
        if parts.is_empty() && operators {
            parts.push("an operator".to_string());
        }
        if parts.is_empty() {
            parts = self.0.iter().map(|e| format!("`{}`", e.trim_matches('"'))).collect();
        }
        parts.truncate(4);
        match parts.split_last() {
            None => "nothing more".to_string(),
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        }
    }
}

/// The word that was probably meant.
fn nearest(text: &str, words: &[&'static str]) -> Option<&'static str> {
    if let Some((_, word)) = FOREIGN_WORDS.iter().find(|(foreign, _)| *foreign == text) {
        let first = word.split(' ').next().unwrap_or(word);
        return words.contains(&first).then_some(*word);
    }
    let allowed = match text.len() {
        0..=2 => return None,
        3..=4 => 1,
        _ => 2,
    };
    let scored = words.iter().map(|word| (strsim::osa_distance(text, word), *word));
    scored.filter(|(d, word)| *d <= allowed && word.len() > 2).min_by_key(|(d, _)| *d).map(|(_, word)| word)
}
