//! From text to tree, with every diagnostic on the way.

use rtv_semantics::diag::{Diagnostic, FileId};

use crate::actions::{Abort, Actions};
use crate::ast::{self, ItemKind};
use crate::guard;
use crate::lexer::{Comment, CommentKind, Tok, Token, lex};
use crate::report::Reporter;
use crate::rtl::FileParser;

/// What [`parse`] returns; usable also when there are errors.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Parsed {
    /// What could not be read is an `Error` node.
    pub file: ast::File,
    /// All comments, by position.
    pub comments: Vec<Comment>,
    /// Where a token or comment starts that has a blank line right above it, ascending.
    pub blank_above: Vec<u32>,
    /// By position.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// The text of the `##` lines that stand right above an item (given by its number).
    pub fn docs(&self, item: usize) -> String {
        let mut lines = Vec::new();
        for comment in self.comments_above(item) {
            if self.blank_above.binary_search(&comment.span.lo).is_ok() {
                lines.clear();
            }
            if comment.kind == CommentKind::Doc {
                lines.push(comment.text.as_str());
            }
        }
        lines.join("\n")
    }

    /// The `#:` lines between an item (given by its number) and the one before it.
    pub fn directives(&self, item: usize) -> impl Iterator<Item = &Comment> {
        self.comments_above(item).filter(|c| c.kind == CommentKind::Directive)
    }

    /// Comments on lines of their own between the end of the item before and the item's name.
    fn comments_above(&self, item: usize) -> impl Iterator<Item = &Comment> {
        let before = match item.checked_sub(1).and_then(|i| self.file.items.get(i)) {
            Some(previous) => previous.span.hi,
            None => 0,
        };
        let name = self.file.items.get(item).map_or(before, |item| item.name_start());
        let first = self.comments.partition_point(|c| c.span.lo < before);
        self.comments[first..].iter().take_while(move |c| c.span.lo < name).filter(|c| c.own_line)
    }
}

impl ast::Item {
    /// Where the item's name starts; directives may also stand between attributes and name.
    fn name_start(&self) -> u32 {
        let first = |path: &ast::Path| path.parts.first().map(|part| part.span.lo);
        let start = match &self.kind {
            ItemKind::Use(path) | ItemKind::Vjp { path, .. } => first(path),
            ItemKind::Def(def) => first(&def.name),
            ItemKind::Const { name, .. } | ItemKind::Test { name, .. } => Some(name.span.lo),
            ItemKind::Rule(rule) => Some(rule.name.span.lo),
            ItemKind::Error => None,
        };
        start.unwrap_or(self.span.lo)
    }
}

/// Parses one source file.
pub fn parse(file: FileId, text: &str) -> Parsed {
    if let Err(refused) = guard::check_text(file, text) {
        return Parsed { diagnostics: vec![refused], ..Parsed::default() };
    }
    let mut lexed = lex(file, text);
    if lexed.stopped {
        lexed.diagnostics.drain(..lexed.diagnostics.len() - 1);
        return Parsed { diagnostics: lexed.diagnostics, ..Parsed::default() };
    }
    let actions = Actions::new(file, text);
    let tree = FileParser::new().parse(&actions, Feed::new(&actions, &lexed.tokens));
    let mut errors = actions.errors.into_inner();
    let tree = tree.unwrap_or_else(|error| {
        errors.push(error);
        ast::File::default()
    });
    let mut diagnostics = lexed.diagnostics;
    diagnostics.append(&mut actions.diagnostics.into_inner());
    diagnostics.extend(Reporter::new(file, text, &lexed.tokens).report(errors));
    diagnostics.sort_by_key(|d| d.span().lo);
    Parsed { file: tree, comments: lexed.comments, blank_above: lexed.blank_above, diagnostics }
}

/// Hands tokens to the parser, and ends early when recovery reads too much in vain.
///
/// Recovery tries, for every token it drops, every block that is open; a file made of
/// that would cost the product.
struct Feed<'a> {
    actions: &'a Actions<'a>,
    tokens: std::slice::Iter<'a, Token>,
    open_blocks: u32,
    budget: u32,
}

/// Tokens that the parser may take in a row without building anything.
const PATIENCE: u32 = 16;
const RECOVERY_BUDGET: u32 = 500_000;

impl<'a> Feed<'a> {
    fn new(actions: &'a Actions<'a>, tokens: &'a [Token]) -> Feed<'a> {
        Feed { actions, tokens: tokens.iter(), open_blocks: 0, budget: RECOVERY_BUDGET }
    }
}

impl Iterator for Feed<'_> {
    type Item = Result<(u32, Tok, u32), Abort>;

    fn next(&mut self) -> Option<Self::Item> {
        let token = self.tokens.next()?;
        match token.kind {
            Tok::LBrace => self.open_blocks += 1,
            Tok::RBrace => self.open_blocks = self.open_blocks.saturating_sub(1),
            _ => {}
        }
        if self.actions.idle_tokens() > PATIENCE {
            self.budget = self.budget.checked_sub(1 + self.open_blocks)?;
        }
        Some(Ok((token.lo, token.kind, token.hi)))
    }
}
