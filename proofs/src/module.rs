//! One source file with what its names mean.

use crate::content;
use crate::depends::Depends;
use crate::expect::{Expectation, expectations};
use rtv_grammar::Parsed;
use rtv_grammar::ast::{Clause, DefKind, File, Item, ItemKind};
use rtv_grammar::lower::Defs;
use rtv_grammar::prelude::Prelude;
use rtv_semantics::diag::{Diagnostic, FileId};
use rtv_semantics::program::ClaimKind;
use std::collections::BTreeSet;

/// A parsed file, ready to be checked.
pub struct Module {
    pub file: FileId,
    pub items: Vec<Item>,
    /// The verdict each item is written to have.
    pub expected: Vec<Expectation>,
    /// What is wrong with the `#:` directives.
    pub directives: Vec<Diagnostic>,
    pub defs: Defs,
    depends: Depends,
}

impl Module {
    /// The module of a parsed file, with what is wrong about its names. Syntax errors
    /// stay with the parse.
    pub fn new(file: FileId, parsed: Parsed) -> (Module, Vec<Diagnostic>) {
        let mut defs = Defs::new(Prelude::shared());
        let diagnostics = defs.add_file(file, &parsed.file);
        (Module { defs, ..Module::of_library(file, parsed) }, diagnostics)
    }

    /// The module of an operator file of the library, whose own operators are already
    /// known by name.
    pub fn of_library(file: FileId, parsed: Parsed) -> Module {
        let items = parsed.file.items;
        let (expected, directives) = expectations(&items, &parsed.comments);
        let depends = Depends::of(&items);
        Module { file, items, expected, directives, defs: Defs::new(Prelude::shared()), depends }
    }

    /// The same file with another item at a place; nothing is expected of it. An operator
    /// hides that of the library.
    pub fn with(&self, at: usize, item: Item) -> Module {
        let mut items = self.items.clone();
        items[at] = item;
        let mut defs = Defs::new(Prelude::shared());
        // What is wrong about names is told of the file as it is written.
        let _ = defs.add_file(self.file, &File { version: None, items: items.clone() });
        let (expected, directives) = (vec![Expectation::default(); items.len()], Vec::new());
        let depends = Depends::of(&items);
        Module { file: self.file, items, expected, directives, defs, depends }
    }

    /// The hash of what the item at a place says, and of the items it rests on: 16
    /// hexadecimal digits, equal for equal text up to layout.
    pub fn id(&self, at: usize) -> String {
        self.depends.key(at)
    }

    /// The hash of everything that its verdict depends on: its text, those of the
    /// definitions and operators it can reach, the scalar functions among them, and
    /// [`SOUNDNESS`](crate::SOUNDNESS). Where it is equal a verdict found earlier holds.
    pub fn content_key(&self, at: usize) -> String {
        content::key(&self.depends.texts(at))
    }

    /// The places of the items that the one at a place rests on.
    pub fn reached(&self, at: usize) -> BTreeSet<usize> {
        self.depends.reached(at)
    }

    /// The places and names of the monoids that the item at a place rests on.
    pub fn monoids(&self, at: usize) -> Vec<(usize, String)> {
        let monoid = |at: usize| match subject(&self.items[at])? {
            (name, Some(ClaimKind::Monoid)) => Some((at, name)),
            _ => None,
        };
        self.reached(at).into_iter().filter_map(monoid).collect()
    }

    /// Whether the item at a place makes a claim.
    pub fn is_claim(&self, at: usize) -> bool {
        matches!(subject(&self.items[at]), Some((_, Some(_))))
    }

    /// Whether it does, or may: a `fn` that rests on a definition with preconditions may
    /// claim to meet them.
    pub fn may_claim(&self, at: usize) -> bool {
        let is_fn = matches!(&self.items[at].kind, ItemKind::Def(def) if def.kind == DefKind::Fn);
        self.is_claim(at)
            || is_fn && self.reached(at).into_iter().any(|other| has_preconditions(&self.items[other]))
    }

    /// The names of the claims, in the order of the file.
    pub fn claims(&self) -> impl Iterator<Item = String> {
        self.items.iter().filter_map(subject).filter(|(_, kind)| kind.is_some()).map(|(name, _)| name)
    }
}

fn has_preconditions(item: &Item) -> bool {
    let ItemKind::Def(def) = &item.kind else { return false };
    def.clauses.iter().any(|clause| matches!(clause, Clause::Requires(_)))
}

/// Name of an item, and its kind if it makes a claim.
pub fn subject(item: &Item) -> Option<(String, Option<ClaimKind>)> {
    match &item.kind {
        ItemKind::Def(def) => {
            let name = def.name.parts.last()?.name.clone();
            let kind = match def.kind {
                DefKind::Fn | DefKind::Op => None,
                DefKind::Monoid => Some(ClaimKind::Monoid),
                DefKind::Impl => Some(ClaimKind::Impl),
                DefKind::Decomp { .. } => Some(ClaimKind::Decomp),
            };
            Some((name, kind))
        }
        ItemKind::Rule(rule) => Some((rule.name.name.clone(), Some(ClaimKind::Rule))),
        ItemKind::Vjp { path, .. } => Some((path.parts.last()?.name.clone(), Some(ClaimKind::Vjp))),
        ItemKind::Test { name, .. } => Some((name.name.clone(), Some(ClaimKind::Test))),
        ItemKind::Use(_) | ItemKind::Const { .. } | ItemKind::Error => None,
    }
}

/// FNV-1a of a text, as 16 hexadecimal digits.
pub fn fingerprint(text: &str) -> String {
    let hash =
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}
