//! Which syntax errors are reported, where, and in which words.

use rtv_grammar::ast::{ItemKind, StmtKind};
use rtv_grammar::parse;
use rtv_semantics::diag::FileId;

/// `line:column code message`, and the help line if there is one.
fn reports(text: &str) -> Vec<String> {
    let render = |d: &rtv_semantics::diag::Diagnostic| {
        let at = d.span().lo as usize;
        let line_start = text[..at].rfind('\n').map_or(0, |n| n + 1);
        let line = text[..at].matches('\n').count() + 1;
        let help = d.help.as_ref().map_or(String::new(), |help| format!("; {help}"));
        format!("{line}:{} {} {}{help}", at - line_start + 1, d.code, d.message)
    };
    parse(FileId(0), text).diagnostics.iter().map(render).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(reports(text), expected, "\n{text}");
}

#[test]
fn what_was_expected_is_said_in_few_words() {
    check("fn f(x f32[3]) { }", &["1:8 R0011 expected `:`, found `f32`"]);
    check("fn f() { let x 3 }", &["1:16 R0011 expected `:` or `=`, found `3`"]);
    check("fn f() { return * }", &["1:17 R0011 expected an expression, found `*`"]);
    check("fn f() -> { }", &["1:11 R0011 expected a type, `[` or `(`, found `{`"]);
    check(
        "fn f() { return g(1 2) }",
        &["1:21 R0011 expected `)` or `,`, found `2`; is a comma missing? write `1, 2`"],
    );
    check("fn f() {\n  return g(x\n}", &["3:1 R0011 expected `)` or `,`, found `}`"]);
    check("fn f() { return x", &["1:17 R0011 expected a statement or `}`, found the end of the file"]);
    check("x = 3", &["1:1 R0011 expected an item, found `x`"]);
}

#[test]
fn misspelt_keywords_are_named() {
    check("func f() { }", &["1:1 R0011 expected an item, found `func`; did you mean `fn`?"]);
    check("def f() { }", &["1:1 R0011 expected an item, found `def`; did you mean `fn`?"]);
    check("ruel f() { }", &["1:1 R0011 expected an item, found `ruel`; did you mean `rule`?"]);
    check("decom f() { }", &["1:1 R0011 expected an item, found `decom`; did you mean `decomp`?"]);
    check(
        "fn f() require x { }",
        &["1:8 R0011 expected `{` or `->`, found `require`; did you mean `requires`?"],
    );
    check(
        "fn f() {\n  retrun x + 1\n}",
        &["2:10 R0011 the expression before this word ends too early; did you mean `return` for `retrun`?"],
    );
}

#[test]
fn likely_slips_are_reported_where_they_are() {
    check(
        "fn f(x: f32[3]) -> f32[3] { return (x, dim = 0) }",
        &[
            "1:36 R0011 expected a function name before this `(`; only calls take named arguments and generators",
        ],
    );
    check(
        "fn f(x: f32[A, y: f32[B]) { }",
        &["1:14 R0011 expected `]` before this `,`; what follows the comma cannot stand in this list"],
    );
    check(
        "fn f(x, y: f32[B]) { }",
        &["1:6 R0011 this parameter has no type; write `name: type`, as in `x: f32[B, T]`"],
    );
    check(
        "fn f(x: [A, B]) { }",
        &["1:9 R0011 expected a dtype before this `[`; write a tensor type like `f32[B, T]`"],
    );
    check(
        "fn f() { return a < b < c }",
        &[
            "1:23 R0011 expected a statement or `}`, found `<`; comparisons do not chain: write `a < b and b < c`",
        ],
    );
    check(
        "fn f() { let for = 3 }",
        &["1:14 R0011 expected a name or `(`, found `for`; `for` is a reserved word; use another name"],
    );
}

#[test]
fn several_errors_are_found_in_one_file() {
    let text = "\
fn a(x: f32[3]) -> f32[3] {
  let y = = x
  let z = y +
  return z
}
fn (x: f32[3]) { return x }
rule r(x: f32[]) { x -> x }
fn ok(x: f32[3]) -> f32[3] {
  return x
}
test t {
  assert x ==
}
";
    let lines: Vec<String> =
        reports(text).iter().map(|r| r.split(' ').next().unwrap_or("").to_string()).collect();
    assert_eq!(lines, ["2:11", "4:3", "6:4", "7:22", "13:1"]);
    let parsed = parse(FileId(0), text);
    assert_eq!(parsed.file.items.len(), 5);
    let ItemKind::Def(def) = &parsed.file.items[0].kind else { panic!("the first item is read") };
    assert!(def.body.stmts.iter().any(|s| s.kind == StmtKind::Error));
    assert_eq!(parsed.file.items[2].kind, ItemKind::Error);
}

#[test]
fn bad_tokens_are_reported_once() {
    check(
        "fn f() { return x $$ y }",
        &[
            "1:19 R0001 `$` is not part of the language; names use the letters a-z and A-Z, digits and `_`; other text belongs in strings and comments",
        ],
    );
    check(
        "fn f() { return \"abc\n}",
        &[
            "1:17 R0002 this string has no closing `\"`; a string ends on the line where it began; write a line break as `\\n`",
        ],
    );
    check(
        "fn f() { return 2x }",
        &[
            "1:18 R0001 `x` follows a number without a blank; a name starts with a letter; write `*` between the factors of a product",
        ],
    );
    check(
        "fn f() { return \"a\\q\" }",
        &[
            "1:19 R0008 this backslash begins no known escape; the escapes are `\\\\`, `\\\"`, `\\n`, `\\t`, `\\r`, `\\0` and `\\u{200b}`",
        ],
    );
    check("rtl 99999999999.0\n", &["1:1 R0009 `99999999999.0` is no language version; write `rtl 1.0`"]);
}
