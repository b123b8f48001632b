//! Axis patterns, with the places of their parts.

use rtv_grammar::ast::{PatternAxis, PatternAxisKind};
use rtv_grammar::{PatternStyle, parse_pattern};
use rtv_semantics::diag::{FileId, Span};

use PatternStyle::{Axes, Einsum};

/// Where the string literal starts in its file.
const START: usize = 100;

fn literal(text: &str) -> Span {
    Span::new(FileId(3), START, START + text.len() + 2)
}

/// The pattern in einops' notation, each axis checked to be where its text is.
fn read(text: &str, style: PatternStyle) -> String {
    let pattern =
        parse_pattern(text, literal(text), style).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let show =
        |side: &Vec<PatternAxis>| side.iter().map(|axis| show_axis(text, axis)).collect::<Vec<_>>().join(" ");
    let inputs: Vec<String> = pattern.inputs.iter().map(show).collect();
    format!("{} -> {}", inputs.join(", "), show(&pattern.output))
}

fn show_axis(text: &str, axis: &PatternAxis) -> String {
    let here = &text[axis.span.lo as usize - START - 1..axis.span.hi as usize - START - 1];
    let shown = match &axis.kind {
        PatternAxisKind::Name(name) => name.clone(),
        PatternAxisKind::Int(size) => size.to_string(),
        PatternAxisKind::Ellipsis => "...".to_string(),
        PatternAxisKind::Group(axes) => {
            let inside: Vec<String> = axes.iter().map(|axis| show_axis(text, axis)).collect();
            format!("({})", inside.join(" "))
        }
    };
    assert_eq!(here.split_whitespace().collect::<String>(), shown.split_whitespace().collect::<String>());
    shown
}

#[test]
fn einops_patterns() {
    for text in [
        "b t (h d) -> b h t d",
        "... c -> c ...",
        "b 1 t -> b t",
        "a -> (a)",
        "x_1 () -> x_1",
        "(b ...) -> b ...",
    ] {
        assert_eq!(read(text, Axes), text);
    }
    assert_eq!(read("  b   t(h d)->b h t d ", Axes), "b t (h d) -> b h t d");
    assert_eq!(read("ab -> ab", Axes), "ab -> ab");
    assert_eq!(read(" -> 1", Axes), " -> 1");
}

#[test]
fn einsum_patterns() {
    assert_eq!(read("b i, b j -> b i j", Einsum), "b i, b j -> b i j");
    assert_eq!(read("batch i, i -> batch", Einsum), "batch i, i -> batch");
    assert_eq!(read("ij,jk->ik", Einsum), "i j, j k -> i k");
    assert_eq!(read("ij, jk -> ik", Einsum), "i j, j k -> i k");
    assert_eq!(read("...ij,...jk->...ik", Einsum), "... i j, ... j k -> ... i k");
    assert_eq!(read("ii->", Einsum), "i i -> ");
}

#[test]
fn einsum_without_an_arrow_keeps_what_occurs_once() {
    assert_eq!(read("ij,jk", Einsum), "i j, j k -> i k");
    assert_eq!(read("ba", Einsum), "b a -> a b");
    assert_eq!(read("ii", Einsum), "i i -> ");
    assert_eq!(read("...ij,...jK", Einsum), "... i j, ... j K -> ... K i");
    assert_eq!(read("row col, col", Einsum), "row col, col -> row");
}

#[test]
fn errors_point_into_the_string() {
    let cases = [
        ("b t", Axes, 0..3, "has no `->`"),
        ("a -> b -> c", Axes, 7..9, "two `->`"),
        ("a (b (c)) -> a", Axes, 5..6, "cannot hold a group"),
        ("a (b -> a b", Axes, 2..3, "never closed"),
        ("a b) -> a", Axes, 3..4, "closes nothing"),
        ("... a ... -> a", Axes, 6..9, "once on a side"),
        ("a é -> a", Axes, 2..4, "`é` is no part"),
        ("a 99999999999999999999 -> a", Axes, 2..22, "no size"),
        ("i (j k) -> i", Einsum, 2..3, "no groups"),
        ("i2->i", Einsum, 1..2, "no sizes"),
        ("a .. -> a", Axes, 2..3, "no part"),
    ];
    for (text, style, range, message) in cases {
        let error = parse_pattern(text, literal(text), style).expect_err(text);
        assert_eq!(error.code.to_string(), "R0010");
        assert!(error.message.contains(message), "{text}: {}", error.message);
        let expected = Span::new(FileId(3), START + 1 + range.start, START + 1 + range.end);
        assert_eq!(error.span(), expected, "{text}");
    }
}

#[test]
fn a_literal_with_escapes_is_marked_as_a_whole() {
    let span = Span::new(FileId(3), START, START + 20);
    let error = parse_pattern("a b", span, Axes).expect_err("no arrow");
    assert_eq!(error.span(), span);
}
