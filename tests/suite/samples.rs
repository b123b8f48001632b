//! The samples of the language's design: they parse, print and parse back to the same
//! tree, and check or are refused with the code of the part that comes later.

use crate::files::{checker, complaints};
use crate::folder::{files_below, root};
use rtv_grammar::ast::Item;
use rtv_grammar::print::{print, print_item};
use rtv_grammar::{format, parse};
use rtv_semantics::diag::FileId;
use std::fs;

#[test]
fn samples_parse_back_from_what_is_printed() {
    let mut items = 0;
    for path in files_below(&root().join("tests/suite/data/samples"), ".rtl") {
        let text = fs::read_to_string(&path).expect("a sample");
        let parsed = parse(FileId(0), &text);
        assert!(parsed.diagnostics.is_empty(), "{}: {:?}", path.display(), parsed.diagnostics);
        let printed = print(&parsed.file);
        let again = parse(FileId(0), &printed);
        assert!(again.diagnostics.is_empty(), "{printed}\n{:?}", again.diagnostics);
        // The printed text of a tree leaves out nothing but places.
        let texts = |items: &[Item]| items.iter().map(print_item).collect::<Vec<_>>();
        assert_eq!(texts(&parsed.file.items), texts(&again.file.items));
        assert_eq!(without_places(&parsed.file), without_places(&again.file), "{}", path.display());
        let formatted = format(&text).expect("a sample formats");
        assert_eq!(format(&formatted).expect("formatted text formats"), formatted);
        items += parsed.file.items.len();
    }
    assert!(items >= 15, "{items} items");
}

/// The tree as text with every span left out.
fn without_places(tree: &impl std::fmt::Debug) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split("Span {");
    let mut left = parts.next().unwrap_or_default().to_string();
    for part in parts {
        // A span holds one pair of braces: `Span { file: FileId(0), lo: 1, hi: 2 }`.
        left += part.split_once('}').map_or("", |(_, rest)| rest);
    }
    left
}

#[test]
fn samples_check_or_say_what_comes_later() {
    let checker = checker();
    let folder = root().join("tests/suite/data/samples");
    let wrong: Vec<String> =
        files_below(&folder, ".rtl").iter().flat_map(|path| complaints(&checker, path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
