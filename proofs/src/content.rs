//! What a verdict depends on, as one hash.
//!
//! A text can mean what it names, and what signs mean without naming it
//! ([`UNNAMED`]): operators of the library, functions of the scalar table. What these
//! name in turn is followed to the end. That is more than elaboration reaches, and needs
//! none; so a verdict that was written down is looked up in microseconds.

use crate::depends::names;
use rtv_grammar::ast::{Item, ItemKind};
use rtv_grammar::lower::{UNNAMED, scalar_function};
use rtv_grammar::prelude::{Prelude, Source};
use rtv_grammar::print::print_item;
use rtv_semantics::scalar::{Row, Scalar};
use sha3::{Digest, Sha3_256};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, OnceLock};

/// The number of what cannot be hashed: elaboration, the evaluator, the functions of the
/// scalar table, the prover. Raise it with every change to one of them after which a claim
/// that was `proved` may no longer be, or one that was `refuted`: a mended fault, another
/// meaning. A prover that only finds more keeps it.
pub const SOUNDNESS: u32 = 1;

/// Hexadecimal digits of a key: 128 bits, beyond any chance of two alike.
const DIGITS: usize = 32;

/// The key of an item by its canonical text, the first, and those of the definitions of
/// its file that it rests on.
pub fn key(texts: &[&str]) -> String {
    let library = &*LIBRARY;
    let mut hash = Sha3_256::new();
    hash.update(SOUNDNESS.to_le_bytes());
    for text in texts {
        absorb(&mut hash, text);
    }
    let mut found = library.unnamed.clone();
    let named: BTreeSet<String> = texts.iter().flat_map(|text| names(text)).collect();
    let mut open: Vec<usize> = library.meant(&named).into_iter().filter(|n| found.insert(*n)).collect();
    while let Some(node) = open.pop() {
        open.extend(library.node(node).names.iter().filter(|n| found.insert(**n)));
    }
    for node in found {
        hash.update(library.node(node).hash);
    }
    hexadecimal(&hash.finalize())[..DIGITS].to_string()
}

/// A text with its length, so that two texts are never one other.
fn absorb(hash: &mut Sha3_256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
}

/// Lower-case digits.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What texts can mean beside the definitions of their file: the operators, then the
/// scalar functions, each looked at when it is first met.
struct Library {
    prelude: Arc<Prelude>,
    rows: Vec<&'static Row>,
    nodes: Vec<OnceLock<Node>>,
    /// What every text can mean, to the end.
    unnamed: BTreeSet<usize>,
}

/// An operator or a scalar function.
struct Node {
    hash: [u8; 32],
    /// What its text can mean, by number.
    names: Vec<usize>,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let (prelude, rows) = (Prelude::shared(), Scalar::all().map(Scalar::row).collect::<Vec<_>>());
    let nodes = (0..prelude.sources().len() + rows.len()).map(|_| OnceLock::new()).collect();
    let mut library = Library { prelude, rows, nodes, unnamed: BTreeSet::new() };
    let mut open = library.meant(&UNNAMED.map(str::to_string).into());
    while let Some(node) = open.pop() {
        if library.unnamed.insert(node) {
            open.extend(&library.node(node).names);
        }
    }
    library
});

impl Library {
    /// The numbers of what names mean here.
    fn meant(&self, names: &BTreeSet<String>) -> Vec<usize> {
        let (sources, rows) = (self.prelude.sources(), &self.rows);
        let operator = |name: &str| {
            let meant = self.prelude.meant(name)?;
            sources.iter().position(|source| source.file == meant.file)
        };
        let function = |name: &str| {
            let function = scalar_function(name)?;
            Some(sources.len() + rows.iter().position(|row| row.fun == function)?)
        };
        names.iter().flat_map(|name| [operator(name), function(name)]).flatten().collect()
    }

    fn node(&self, number: usize) -> &Node {
        self.nodes[number].get_or_init(|| {
            let text = match number.checked_sub(self.prelude.sources().len()) {
                None => operator_text(&self.prelude.sources()[number]),
                Some(row) => self.rows[row].text(),
            };
            let mut hash = Sha3_256::new();
            absorb(&mut hash, &text);
            Node { hash: hash.finalize().into(), names: self.meant(&names(&text)) }
        })
    }
}

/// The canonical text of an operator file but for its tests.
fn operator_text(source: &Source) -> String {
    let is_test = |item: &Item| matches!(item.kind, ItemKind::Test { .. });
    let items = source.items().iter().filter(|item| !is_test(item));
    items.map(|item| print_item(item)).collect::<Vec<_>>().join("\n")
}
