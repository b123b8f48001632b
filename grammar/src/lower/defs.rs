//! The definitions that names can mean: the user's items over the operator library.

use crate::ast::{self, DefKind, Item, ItemKind};
use rtv_semantics::diag::{Code, Diagnostic, FileId, Span};
use rtv_semantics::term::Monoid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The newest version of the language.
pub const LANGUAGE: (u32, u32) = (1, 0);

/// Whose text a definition is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Library,
    User,
}

/// One `op` or `fn` block.
#[derive(Clone, Debug)]
pub struct Entry {
    pub origin: Origin,
    pub item: Arc<Item>,
}

impl Entry {
    pub fn def(&self) -> &ast::Def {
        match &self.item.kind {
            ItemKind::Def(def) => def,
            _ => unreachable!("invariant: entries are made of definitions"),
        }
    }

    pub fn has_attr(&self, name: &str) -> bool {
        self.item.attrs.iter().any(|a| a.name.name == name)
    }

    /// Whether an attribute names a word: `@elementwise(strict)`.
    pub fn has_word(&self, attr: &str, word: &str) -> bool {
        let named = self.item.attrs.iter().filter(|a| a.name.name == attr).filter_map(|a| a.args.as_ref());
        named
            .flat_map(|args| match args {
                ast::Args::List(list) => list.as_slice(),
                ast::Args::Generator { .. } => &[],
            })
            .any(|arg| matches!(&arg.value.kind, ast::ExprKind::Name(n) if n == word))
    }

    /// The strings of `@aten("..")`.
    pub fn aten(&self) -> Vec<&str> {
        let strings =
            self.item.attrs.iter().filter(|a| a.name.name == "aten").filter_map(|a| a.args.as_ref());
        strings
            .flat_map(|args| match args {
                ast::Args::List(list) => list.as_slice(),
                ast::Args::Generator { .. } => &[],
            })
            .filter_map(|arg| match &arg.value.kind {
                ast::ExprKind::Str(s) => Some(s.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// Looks operators up by name, reading their files on first use.
pub trait Library: Send + Sync {
    /// The overloads of an operator, in the order of its file.
    fn overloads(&self, name: &str) -> Vec<Entry>;
    /// All operator names, sorted.
    fn names(&self) -> Vec<String>;
}

/// What the names of one user file mean.
pub struct Defs {
    library: Arc<dyn Library>,
    user: BTreeMap<String, Vec<Entry>>,
    monoids: BTreeMap<String, Entry>,
    consts: BTreeMap<String, ast::Expr>,
}

impl Defs {
    pub fn new(library: Arc<dyn Library>) -> Defs {
        Defs { library, user: BTreeMap::new(), monoids: BTreeMap::new(), consts: BTreeMap::new() }
    }

    /// Adds the items of a user's file; a second definition of a name that is not
    /// an overload of an `op` is reported.
    pub fn add_file(&mut self, _file: FileId, tree: &ast::File) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        if let Some(version) = &tree.version
            && (version.major, version.minor) > LANGUAGE
        {
            diagnostics.push(
                Diagnostic::error(Code(12), version.span, "this version of the language is not known")
                    .help(format!("this rtv reads rtl {}.{}", LANGUAGE.0, LANGUAGE.1)),
            );
        }
        if let (None, Some(first)) = (&tree.version, tree.items.first()) {
            let start = Span { hi: first.span.lo, ..first.span };
            diagnostics.push(
                Diagnostic::lint(Code(901), start, "the file does not say its language version")
                    .help(format!("begin it with `rtl {}.{}`", LANGUAGE.0, LANGUAGE.1)),
            );
        }
        let mut seen: BTreeMap<(&str, String), ast::Ident> = BTreeMap::new();
        for item in &tree.items {
            diagnostics.extend(used_module(item));
            diagnostics.extend(duplicate_parameters(item));
            diagnostics.extend(item.attrs.iter().filter_map(unknown_attribute));
            let Some((space, name)) = declared(item) else { continue };
            let is_op = matches!(&item.kind, ItemKind::Def(d) if d.kind == DefKind::Op);
            if let Some(first) = seen.insert((space, name.name.clone()), name.clone())
                && !is_op
            {
                diagnostics.push(
                    Diagnostic::error(Code(104), name.span, format!("`{}` is defined twice", name.name))
                        .here("second definition")
                        .label(first.span, "first definition")
                        .help("rename one of them"),
                );
            }
            self.add_item(item, &name.name);
            if space == "call" && !is_op && !self.library.overloads(&name.name).is_empty() {
                diagnostics.push(
                    Diagnostic::lint(
                        Code(902),
                        name.span,
                        format!("`{}` hides the operator of that name", name.name),
                    )
                    .help("rename it if the operator was meant"),
                );
            }
        }
        diagnostics
    }

    fn add_item(&mut self, item: &Item, name: &str) {
        match &item.kind {
            ItemKind::Def(def) if matches!(def.kind, DefKind::Fn | DefKind::Op) => {
                let entry = Entry { origin: Origin::User, item: Arc::new(item.clone()) };
                self.user.entry(name.to_string()).or_default().push(entry);
            }
            // A reduction of the language keeps its name.
            ItemKind::Def(def) if def.kind == DefKind::Monoid && Monoid::from_name(name).is_none() => {
                let entry = Entry { origin: Origin::User, item: Arc::new(item.clone()) };
                self.monoids.insert(name.to_string(), entry);
            }
            ItemKind::Const { value, .. } => {
                self.consts.insert(name.to_string(), value.clone());
            }
            _ => {}
        }
    }

    /// The definitions of a called name: the user's, else the library's. Text of
    /// the library sees the library only.
    pub(super) fn overloads(&self, name: &str, from_library: bool) -> Vec<Entry> {
        match self.user.get(name) {
            Some(entries) if !from_library => entries.clone(),
            _ => self.library.overloads(name),
        }
    }

    /// The monoid that the user declares by a name.
    pub(super) fn monoid(&self, name: &str) -> Option<&Entry> {
        self.monoids.get(name)
    }

    pub(super) fn monoids(&self) -> impl Iterator<Item = &str> {
        self.monoids.keys().map(String::as_str)
    }

    /// Whether a `fn` or a monoid of the user has the name. An `op` does not hide the scalar
    /// function that its own body calls.
    pub(super) fn is_user_function(&self, name: &str) -> bool {
        self.monoids.contains_key(name)
            || self.user.get(name).is_some_and(|entries| entries.iter().any(|e| e.def().kind == DefKind::Fn))
    }

    pub(super) fn constant(&self, name: &str) -> Option<&ast::Expr> {
        self.consts.get(name)
    }

    /// Every name that can be called.
    pub(super) fn callable(&self) -> Vec<String> {
        let mut names = self.library.names();
        names.extend(self.user.keys().chain(self.monoids.keys()).cloned());
        names
    }
}

/// The attributes of the language.
const ATTRIBUTES: [&str; 12] = [
    "aten",
    "commutative",
    "contracts",
    "elementwise",
    "empty_is_all",
    "experimental",
    "extern",
    "fold",
    "lemma",
    "sample",
    "tested",
    "trusted",
];

fn unknown_attribute(attr: &ast::Attr) -> Option<Diagnostic> {
    if ATTRIBUTES.contains(&attr.name.name.as_str()) {
        return None;
    }
    let lint =
        Diagnostic::lint(Code(903), attr.name.span, format!("unknown attribute `@{}`", attr.name.name));
    Some(match super::refuse::nearest(&attr.name.name, ATTRIBUTES.into_iter()) {
        Some(near) => lint.help(format!("did you mean `@{near}`?")),
        None => lint.help(format!("the attributes are: {}", ATTRIBUTES.join(", "))),
    })
}

/// `use torch`: a file stands alone.
fn used_module(item: &Item) -> Option<Diagnostic> {
    let ItemKind::Use(path) = &item.kind else { return None };
    let name = &path.parts.last()?.name;
    Some(
        Diagnostic::error(Code(298), item.span, format!("`use {name}`: modules are not supported yet"))
            .help("delete this line: the operators are always there"),
    )
}

/// Parameters of one name, or with the name of a variable of the item.
fn duplicate_parameters(item: &Item) -> Vec<Diagnostic> {
    let (generics, params) = match &item.kind {
        ItemKind::Def(def) => (&def.generics, &def.params),
        ItemKind::Rule(rule) => (&rule.generics, &rule.params),
        ItemKind::Vjp { generics, params, .. } => (generics, params),
        ItemKind::Use(_) | ItemKind::Const { .. } | ItemKind::Test { .. } | ItemKind::Error => {
            return Vec::new();
        }
    };
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for generic in generics {
        let (ast::Generic::Size(name) | ast::Generic::Rank(name) | ast::Generic::DType { name, .. }) =
            generic;
        seen.insert(&name.name, name.span);
    }
    let twice = |(name, first): (&ast::Ident, Span)| {
        Diagnostic::error(Code(104), name.span, format!("`{}` is declared twice", name.name))
            .here("second declaration")
            .label(first, "first declaration")
            .help("rename one of them")
    };
    params
        .iter()
        .filter_map(|p| Some((&p.name, seen.insert(&p.name.name, p.name.span)?)))
        .map(twice)
        .collect()
}

/// The name an item declares and the space of names it lives in.
fn declared(item: &Item) -> Option<(&'static str, &ast::Ident)> {
    match &item.kind {
        ItemKind::Def(def) => {
            let space = if matches!(def.kind, DefKind::Fn | DefKind::Op | DefKind::Monoid) {
                "call"
            } else {
                "claim"
            };
            def.name.parts.last().map(|n| (space, n))
        }
        ItemKind::Rule(rule) => Some(("claim", &rule.name)),
        ItemKind::Test { name, .. } => Some(("test", name)),
        ItemKind::Const { name, .. } => Some(("call", name)),
        ItemKind::Use(_) | ItemKind::Vjp { .. } | ItemKind::Error => None,
    }
}
