//! Trees without their spans, to be compared.

use rtv_grammar::parse;
use rtv_semantics::diag::FileId;

/// The tree of a valid program in Debug's words, spans erased.
pub fn shape(text: &str) -> String {
    let parsed = parse(FileId(0), text);
    assert_eq!(parsed.diagnostics, [], "\n{text}");
    shape_of(&parsed.file)
}

/// Debug's words with every `Span { .. }` erased.
pub fn shape_of(tree: &impl std::fmt::Debug) -> String {
    let words = format!("{tree:?}");
    let mut parts = words.split("Span {");
    let mut shape = parts.next().unwrap_or_default().to_string();
    for part in parts {
        shape.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    shape
}
