//! Hostile text ends in one coded diagnostic, quickly, and never in a stack overflow.

use std::time::Instant;

use rtv_grammar::guard::{MAX_BYTES, MAX_DEPTH, MAX_ITEMS, MAX_NESTING, MAX_NUMBER};
use rtv_grammar::{decode, format, parse};
use rtv_semantics::diag::{Diagnostic, FileId};

const MILLION: usize = 1_000_000;
/// The promise is one second; a loaded machine gets some more.
const SECONDS: f64 = 4.0;

/// Reads bytes as the tools do.
fn diagnose(bytes: &[u8]) -> Vec<Diagnostic> {
    let started = Instant::now();
    let diagnostics = match decode(FileId(0), bytes) {
        Ok(text) => parse(FileId(0), text).diagnostics,
        Err(refused) => vec![refused],
    };
    let seconds = started.elapsed().as_secs_f64();
    assert!(seconds < SECONDS, "took {seconds} s");
    diagnostics
}

fn refused(bytes: impl AsRef<[u8]>) -> String {
    let diagnostics = diagnose(bytes.as_ref());
    let codes: Vec<String> = diagnostics.iter().map(|d| d.code.to_string()).collect();
    codes.join(" ")
}

fn returning(expr: &str) -> String {
    format!("fn f(x: f32[3]) -> f32[3] {{ return {expr} }}\n")
}

/// Something nested `n` deep.
type Nested = fn(usize) -> String;

const NESTED: [(&str, Nested); 16] = [
    ("parentheses", |n| returning(&("(".repeat(n) + "x" + &")".repeat(n)))),
    ("open parentheses", |n| returning(&"(".repeat(n))),
    ("lists", |n| returning(&("[".repeat(n) + "x" + &"]".repeat(n)))),
    ("minus signs", |n| returning(&("-".repeat(n) + "x"))),
    ("negations", |n| returning(&("not ".repeat(n) + "x"))),
    ("terms", |n| returning(&("x + ".repeat(n) + "x"))),
    ("powers", |n| returning(&("x ** ".repeat(n) + "x"))),
    ("fields", |n| returning(&("x".to_string() + &".T".repeat(n)))),
    ("indices", |n| returning(&("x".to_string() + &"[0]".repeat(n)))),
    ("calls", |n| returning(&("f(".repeat(n) + &")".repeat(n)))),
    ("branches", |n| returning(&("if c { x } else ".repeat(n) + "{ x }"))),
    ("blocks", |n| format!("fn f() {{ {} {} }}", "for i in 3 {".repeat(n), "}".repeat(n))),
    ("conditions", |n| format!("fn f() {{ {} {} }}", "if c {".repeat(n), "}".repeat(n))),
    ("alternatives", |n| format!("fn f() {{ if c {{ }} {} }}", "else if c { } ".repeat(n))),
    ("list types", |n| format!("fn f(x: {}f32{}) {{ }}", "[".repeat(n), "]".repeat(n))),
    ("function types", |n| format!("fn f(x: {}f32) {{ }}", "fn() -> ".repeat(n))),
];

#[test]
fn a_million_levels_of_anything_are_refused() {
    for (name, nested) in NESTED {
        assert_eq!(refused(nested(MILLION)), "R0701", "{name}");
    }
}

#[test]
fn the_deepest_trees_allowed_are_parsed_printed_and_dropped() {
    for (name, nested) in NESTED {
        if name == "open parentheses" {
            continue;
        }
        let deepest = (1..MAX_DEPTH + 2).rev().find(|&n| refused(nested(n)).is_empty());
        let deepest = deepest.unwrap_or_else(|| panic!("{name}: nothing is accepted"));
        assert!(deepest >= MAX_NESTING.min(MAX_DEPTH / 4) - 4, "{name}: only {deepest} levels");
        assert_eq!(refused(nested(deepest + 1)), "R0701", "{name}");
        let text = format(&nested(deepest)).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        assert_eq!(format(&text), Ok(text.clone()), "{name}");
    }
}

#[test]
fn a_long_literal_is_refused() {
    assert_eq!(refused(returning(&"1".repeat(100 * MILLION))), "R0702");
    assert_eq!(refused(returning(&"1".repeat(MAX_BYTES - 100))), "R0704");
    assert_eq!(refused(returning(&("1.".to_string() + &"1".repeat(MAX_NUMBER)))), "R0704");
    assert_eq!(refused(returning(&"1".repeat(MAX_NUMBER))), "");
}

#[test]
fn too_many_items_and_tokens_are_refused() {
    let items = |n: usize| {
        (0..n).map(|i| format!("fn g{i}(x: f32[3]) -> f32[3] {{ return x + 1 }}\n")).collect::<String>()
    };
    assert_eq!(refused(items(100_000)), "R0703");
    assert_eq!(refused(items(MAX_ITEMS + 1)), "R0703");
    assert_eq!(refused(items(MAX_ITEMS)), "");
    assert_eq!(refused(format!("fn f() {{ {} }}", "a ".repeat(MILLION))), "R0702");
    assert_eq!(refused("#\n".repeat(MILLION + 1)), "R0702");
    assert_eq!(refused("$ ".repeat(8 * MILLION)), "R0702");
}

#[test]
fn characters_that_deceive_are_refused_wherever_they_stand() {
    assert_eq!(refused(b"fn f() { \xff }"), "R0007");
    assert_eq!(refused(b"fn f() { } # \xc3"), "R0007");
    let cases = [('\0', "R0003"), ('\u{7}', "R0003"), ('\u{2028}', "R0003"), ('\u{feff}', "R0004")];
    let hidden = [('\u{202e}', "R0005"), ('\u{2066}', "R0005"), ('\u{200b}', "R0006"), ('\u{2060}', "R0006")];
    for (c, code) in cases.into_iter().chain(hidden) {
        for text in ["@fn f() { }", "fn @f() { }", "fn f() { } # @", "fn f() { return \"@\" }", "fn f() { }@"]
        {
            assert_eq!(refused(text.replace('@', &c.to_string())), code, "{text} with {c:?}");
        }
    }
}

#[test]
fn huge_sizes_are_read_exactly() {
    let size = "9223372036854775808 * 9223372036854775808";
    assert_eq!(refused(format!("fn f(x: f32[{size}]) {{ }}")), "");
}

/// Recovery drops tokens one by one and tries every open block for each.
#[test]
fn garbage_inside_deep_blocks_costs_little() {
    let deep = "if a {".repeat(190);
    let diagnostics = diagnose(format!("fn f() {{ {deep} {}", ") ".repeat(900_000)).as_bytes());
    assert_eq!(diagnostics.len(), 1);
    let many = format!("fn f() {{ {deep} {} {} }}\n", ") ".repeat(9000), "}".repeat(190)).repeat(100);
    assert!(!diagnose(many.as_bytes()).is_empty());
    assert!(!diagnose("fn f() { let = } ".repeat(19_000).as_bytes()).is_empty());
    assert!(!diagnose("@a ".repeat(200_000).as_bytes()).is_empty());
}
