//! Tokens, comments, docs and directives.

use rtv_grammar::ast::{ExprKind, ItemKind, StmtKind};
use rtv_grammar::lexer::{Tok, lex};
use rtv_grammar::{CommentKind, parse};
use rtv_semantics::diag::FileId;

fn kinds(text: &str) -> Vec<Tok> {
    lex(FileId(0), text).tokens.iter().map(|t| t.kind).collect()
}

#[test]
fn the_version_is_one_token_at_the_start_only() {
    use Tok::*;
    assert_eq!(kinds("# note\nrtl 1.10\nrtl 1.0"), [Version, Id, Float]);
    assert_eq!(kinds("rtl x"), [Id, Id]);
    let version = parse(FileId(0), "rtl 1.10").file.version.expect("a version was written");
    assert_eq!((version.major, version.minor), (1, 10));
}

#[test]
fn numbers_and_ranges_are_told_apart() {
    use Tok::*;
    assert_eq!(kinds("0..N"), [Int, DotDot, Id]);
    assert_eq!(kinds("1.5e-3 1e5 1E+5 2.0"), [Float, Float, Float, Float]);
    assert_eq!(kinds("1.T"), [Int, Dot, Id]);
    assert_eq!(kinds("1..."), [Int, Ellipsis]);
    assert_eq!(kinds("2 // 3 ** -4"), [Int, SlashSlash, Int, StarStar, Minus, Int]);
}

#[test]
fn reserved_words_are_names_after_a_dot_and_before_the_equals_of_an_argument() {
    use Tok::*;
    assert_eq!(kinds("x.test.f32"), [Id, Dot, Id, Dot, Id]);
    assert_eq!(kinds("f(use = 1, in = 2, f32 = 3)")[2], Id);
    assert_eq!(kinds("f(use == 1)")[2], Use);
    let words = "fn op impl rule decomp vjp test use const monoid let return assert for while in if else requires \
         ensures refines upto invariant decreases given or and not true false bool bf16";
    for word in words.split_whitespace() {
        let text = format!("use a.{word} fn f() {{ let y = g(x, {word} = 1).{word} }}");
        assert_eq!(parse(FileId(0), &text).diagnostics, [], "{text}");
        assert_ne!(parse(FileId(0), &format!("fn {word}() {{ }}")).diagnostics, [], "{word}");
    }
}

#[test]
fn strings_hold_escapes() {
    let text = r#"fn f() { return "a\"b\\\n\t\r\0\u{e9}" }"#;
    let parsed = parse(FileId(0), text);
    let ItemKind::Def(def) = &parsed.file.items[0].kind else { panic!("a definition was written") };
    let StmtKind::Return(value) = &def.body.stmts[0].kind else { panic!("a return was written") };
    assert_eq!(value.kind, ExprKind::Str("a\"b\\\n\t\r\0\u{e9}".to_string()));
}

#[test]
fn comments_keep_their_kind_and_place() {
    let text = "# file\n\n## about f\n#: expect refuted value\nfn f() {  # trailing\n  x.g() #~ R0203\n}\n";
    let parsed = parse(FileId(0), text);
    assert_eq!(parsed.diagnostics, []);
    let found: Vec<_> = parsed.comments.iter().map(|c| (c.kind, c.text.as_str(), c.own_line)).collect();
    assert_eq!(
        found,
        [
            (CommentKind::Plain, "file", true),
            (CommentKind::Doc, "about f", true),
            (CommentKind::Directive, "expect refuted value", true),
            (CommentKind::Plain, "trailing", false),
            (CommentKind::Expected, "R0203", false),
        ]
    );
    for comment in &parsed.comments {
        assert_eq!(text.as_bytes()[comment.span.lo as usize], b'#');
    }
}

#[test]
fn docs_and_directives_belong_to_the_item_below() {
    let text = "\
## not about f

## about f
## in two lines
#: expect refuted value
fn f() { }  ## not about g
#: expect unknown

@lemma
#: rlimit 100
fn g() { }
## about nothing
";
    let parsed = parse(FileId(0), text);
    assert_eq!(parsed.docs(0), "about f\nin two lines");
    assert_eq!(parsed.docs(1), "");
    let directives = |item| parsed.directives(item).map(|c| c.text.as_str()).collect::<Vec<_>>();
    assert_eq!(directives(0), ["expect refuted value"]);
    assert_eq!(directives(1), ["expect unknown", "rlimit 100"]);
}
