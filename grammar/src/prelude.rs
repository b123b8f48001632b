//! The operators of the language: the text of `semantics/ops/`, embedded when this
//! crate is built, each file parsed when its operator is first named.

use crate::ast::{DefKind, Item, ItemKind};
use crate::lower::{Entry, Library, Origin};
use crate::parse::parse;
use rtv_semantics::diag::{Diagnostic, FileId};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

include!(concat!(env!("OUT_DIR"), "/operators.rs"));

/// File ids of the library start here; user files are numbered from 0.
pub const FIRST_FILE: u32 = 1 << 20;

/// One embedded operator file.
pub struct Source {
    /// Path below `semantics/ops/`: `reduce/sum.rtl`.
    pub path: &'static str,
    pub text: &'static str,
    pub file: FileId,
    items: OnceLock<(Vec<Arc<Item>>, Vec<Diagnostic>)>,
}

impl Source {
    /// The operator the file is about: its stem.
    pub fn name(&self) -> &'static str {
        let stem = self.path.rsplit('/').next().unwrap_or(self.path);
        stem.strip_suffix(".rtl").unwrap_or(stem)
    }

    /// The folder: `reduce`.
    pub fn group(&self) -> &'static str {
        self.path.split('/').next().unwrap_or_default()
    }

    fn parsed(&self) -> &(Vec<Arc<Item>>, Vec<Diagnostic>) {
        self.items.get_or_init(|| {
            let parsed = parse(self.file, self.text);
            (parsed.file.items.into_iter().map(Arc::new).collect(), parsed.diagnostics)
        })
    }

    pub fn items(&self) -> &[Arc<Item>] {
        &self.parsed().0
    }

    /// What the parser had to say; empty in a sound build.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.parsed().1
    }
}

/// All operators.
pub struct Prelude {
    sources: Vec<Source>,
    by_name: BTreeMap<&'static str, usize>,
}

static PRELUDE: LazyLock<Arc<Prelude>> = LazyLock::new(|| {
    let source = |(k, (path, text)): (usize, &(&'static str, &'static str))| Source {
        path,
        text,
        file: FileId(FIRST_FILE + k as u32),
        items: OnceLock::new(),
    };
    let sources: Vec<Source> = OPERATORS.iter().enumerate().map(source).collect();
    let by_name = sources.iter().enumerate().map(|(k, s)| (s.name(), k)).collect();
    Arc::new(Prelude { sources, by_name })
});

impl Prelude {
    /// The operators built into this program.
    pub fn shared() -> Arc<Prelude> {
        PRELUDE.clone()
    }

    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The file behind a library file id.
    pub fn source(&self, file: FileId) -> Option<&Source> {
        self.sources.get(file.0.checked_sub(FIRST_FILE)? as usize)
    }

    fn named(&self, name: &str) -> Option<&Source> {
        self.by_name.get(name).map(|&k| &self.sources[k])
    }

    /// The file of the operator that a called name means.
    pub fn meant(&self, name: &str) -> Option<&Source> {
        let other = || ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name);
        self.named(name).or_else(|| self.named(other()?))
    }
}

/// PyTorch's second names for operators.
const ALIASES: [(&str, &str); 1] = [("cat", "concat")];

impl Library for Prelude {
    fn overloads(&self, name: &str) -> Vec<Entry> {
        let Some(source) = self.meant(name) else { return Vec::new() };
        let is_op = |item: &&Arc<Item>| matches!(&item.kind, ItemKind::Def(d) if d.kind == DefKind::Op);
        source
            .items()
            .iter()
            .filter(is_op)
            .map(|item| Entry { origin: Origin::Library, item: item.clone() })
            .collect()
    }

    fn names(&self) -> Vec<String> {
        self.by_name.keys().map(|n| n.to_string()).collect()
    }
}
