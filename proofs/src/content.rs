//! What a verdict depends on, as one hash.
//!
//! A text can mean what it names, and what signs mean without naming it
//! ([`UNNAMED`]): operators of the library, functions of the scalar table. What these
//! name in turn is followed to the end. That is more than elaboration reaches, and needs
//! none; so a verdict that was written down is looked up in microseconds.

use crate::depends::Text;
use rtv_grammar::ast::{Item, ItemKind};
use rtv_grammar::lower::{UNNAMED, scalar_function};
use rtv_grammar::prelude::{Prelude, Source};
use rtv_grammar::print::print_item;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::scalar::{Domain, Row, Scalar, Value};
use sha3::{Digest, Sha3_256};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, OnceLock};

/// The number of what cannot be hashed: elaboration, the evaluator, the functions of the
/// scalar table beyond a few values, the prover. Raise it with every change to one of them after which a claim
/// that was `proved` may no longer be, or one that was `refuted`: a mended fault, another
/// meaning. A prover that only finds more keeps it.
pub const SOUNDNESS: u32 = 9;

/// Hexadecimal digits of a key: 128 bits, beyond any chance of two alike.
const DIGITS: usize = 32;

/// The key of an item by its canonical text, the first, and those of the definitions of
/// its file that it rests on.
pub fn key(texts: &[&Text]) -> String {
    let mut hash = Sha3_256::new();
    hash.update(SOUNDNESS.to_le_bytes());
    for text in texts {
        absorb(&mut hash, &text.canonical);
    }
    for node in reached(texts) {
        hash.update(LIBRARY.node(node).hash);
    }
    hexadecimal(&hash.finalize())[..DIGITS].to_string()
}

/// What texts can mean of the library, to the end.
fn reached(texts: &[&Text]) -> BTreeSet<usize> {
    let mut found = LIBRARY.unnamed.clone();
    let named = texts.iter().flat_map(|text| LIBRARY.meant(&text.names));
    let mut open: Vec<usize> = named.filter(|n| found.insert(*n)).collect();
    while let Some(node) = open.pop() {
        open.extend(LIBRARY.node(node).names.iter().filter(|n| found.insert(**n)));
    }
    found
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
            let mut hash = Sha3_256::new();
            let text = Text::from(match number.checked_sub(self.prelude.sources().len()) {
                None => operator_text(&self.prelude.sources()[number]),
                Some(row) => {
                    absorb(&mut hash, &values(self.rows[row]));
                    self.rows[row].text()
                }
            });
            absorb(&mut hash, &text.canonical);
            Node { hash: hash.finalize().into(), names: self.meant(&text.names) }
        })
    }
}

/// What a row computes of a few arguments: most changes of a function show there.
fn values(row: &Row) -> String {
    const CORNERS: [f64; 7] = [0.0, -0.0, 0.5, 2.5, -3.0, f64::INFINITY, f64::NAN];
    let mut text = String::new();
    for dtype in [DType::F32, DType::F64, DType::I32, DType::Bool] {
        if !row.accepts.contains(dtype) {
            continue;
        }
        let value = |x: &f64| match dtype.category() {
            Category::Float => Value::float(*x, dtype, Domain::Ieee),
            Category::Int => Value::Int(*x as i64),
            Category::Bool => Value::Bool(*x > 1.0),
        };
        let corners: Vec<Value> = CORNERS.iter().map(value).collect();
        for x in &corners {
            for y in corners.iter().take(if row.arity == 1 { 1 } else { corners.len() }) {
                let args = [x.clone(), y.clone()];
                text.push_str(&format!("{:?} ", row.fun.eval(Domain::Ieee, dtype, &args[..row.arity])));
            }
        }
    }
    text
}

/// The canonical text of an operator file but for its tests.
fn operator_text(source: &Source) -> String {
    let is_test = |item: &Item| matches!(item.kind, ItemKind::Test { .. });
    let items = source.items().iter().filter(|item| !is_test(item));
    items.map(|item| print_item(item)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{dtype_choices, with_ranks};
    use crate::depends::Depends;
    use crate::instances::instances;
    use crate::module::subject;
    use rtv_grammar::lower::{Defs, Entry, Library as Operators, Ranks};
    use rtv_grammar::parse;
    use rtv_semantics::diag::FileId;
    use rtv_semantics::guess::Guessing;
    use std::path::{Path, PathBuf};
    use std::sync::Mutex;

    /// The library, and what was looked up in it.
    struct Recording(Arc<Prelude>, Mutex<BTreeSet<String>>);

    impl Operators for Recording {
        fn overloads(&self, name: &str) -> Vec<Entry> {
            self.1.lock().expect("no panic before").insert(name.to_string());
            self.0.overloads(name)
        }

        fn names(&self) -> Vec<String> {
            self.0.names()
        }
    }

    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder of the project");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
    }

    /// What the items of a text look up when they are elaborated and their keys do not
    /// hold, and how often something is looked up.
    fn missed(text: &str) -> (Vec<String>, usize) {
        let recording = Arc::new(Recording(Prelude::shared(), Mutex::default()));
        let mut defs = Defs::new(recording.clone());
        let parsed = parse(FileId(0), text);
        defs.add_file(FileId(0), &parsed.file);
        let (mut missed, mut count) = (Vec::new(), 0);
        let depends = Depends::of(&parsed.file.items);
        for (at, item) in parsed.file.items.iter().enumerate() {
            let Some((name, _)) = subject(item) else { continue };
            let Some(dtypes) = dtype_choices(item) else { continue };
            recording.1.lock().expect("no panic before").clear();
            for ranks in [Ranks::Opaque, Ranks::Uniform, Ranks::Fixed(2)] {
                // What does not type has been looked up all the same.
                let _ = instances(item, &defs, &Guessing, &BTreeSet::new(), &with_ranks(&dtypes[..1], ranks));
            }
            let known = reached(&depends.texts(at));
            let looked_up = recording.1.lock().expect("no panic before").clone();
            count += looked_up.len();
            let meant = LIBRARY.meant(&looked_up);
            missed.extend(meant.iter().filter(|n| !known.contains(n)).map(|n| format!("{name}: {n}")));
        }
        (missed, count)
    }

    #[test]
    fn a_key_holds_all_that_elaboration_looks_up() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (mut all, mut count) = (Vec::new(), 0);
        for path in ["rules", "bugs", "../examples"].iter().flat_map(|below| files_below(&root.join(below))) {
            if path.extension().is_none_or(|ending| ending != "rtl") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a file of the project");
            let (missed, looked_up) = missed(&text);
            all.extend(missed.iter().map(|what| format!("{}: {what}", path.display())));
            count += looked_up;
        }
        assert!(all.is_empty(), "{}", all.join("\n"));
        assert!(count >= 1000, "{count} operators looked up");
    }

    #[test]
    fn a_key_changes_with_what_a_text_says_or_names() {
        let key_of = |texts: &[&str]| {
            let texts: Vec<Text> = texts.iter().map(|text| Text::from(text.to_string())).collect();
            key(&texts.iter().collect::<Vec<_>>())
        };
        assert_ne!(
            key_of(&["rule r(x: f32[]) { sin(x) => x }"]),
            key_of(&["rule r(x: f32[]) { cos(x) => x }"])
        );
        assert_ne!(key_of(&["a", "b"]), key_of(&["ab"]));
        assert_ne!(key_of(&["a", "b"]), key_of(&["b", "a"]));
        assert_eq!(key_of(&["a"]).len(), DIGITS);
        let named = |name: &str| reached(&[&Text::from(name.to_string())]).len() > LIBRARY.unnamed.len();
        assert!(named("flip") && named("cat") && named("erf") && !named("nothing_of_this_name"));
    }
}
