//! Mistakes made on purpose: which there are in an item, and that each is a program.

use std::collections::BTreeSet;

use rtv_grammar::mutate::mutants;
use rtv_grammar::parse;
use rtv_grammar::prelude::Prelude;
use rtv_grammar::print::print_item;
use rtv_semantics::diag::FileId;

/// The changes to the only item of a text.
fn changes(text: &str) -> Vec<String> {
    let parsed = parse(FileId(0), text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    mutants(&parsed.file.items[0]).into_iter().map(|mutant| mutant.change).collect()
}

#[test]
fn a_rule_is_mistaken_at_each_of_its_places() {
    let found =
        changes("rule r[N, T: int](x: T[N], a: size) requires a < N upto real { x[a:] // 2 => -f32(x[a]) }");
    let wanted = [
        "`int` becomes `num`",
        "`a < N` is not required",
        "`a < N` becomes `a <= N`",
        "`upto real` becomes `upto exact`",
        "`=>` becomes `<=>`",
        "`x[a:] // 2` becomes `x[a:] % 2`",
        "`x[a:] // 2` becomes `(x[a:] + 2 - 1) // 2`",
        "`x[a:] // 2` becomes `2 // x[a:]`",
        "`x[a:] // 2` becomes `x[a:]`",
        "`a` becomes `a + 1`",
        "`a` becomes `a - 1`",
        "`2` becomes `3`",
        "`2` becomes `1`",
        "`-f32(x[a])` becomes `f32(x[a])`",
        "`f32(x[a])` becomes `f64(x[a])`",
        "`f32(x[a])` becomes `x[a]`",
        "`a` becomes `a + 1` at place 2",
        "`a` becomes `a - 1` at place 2",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn axes_and_arguments_change_places() {
    let found = changes(
        "rule r[N](x: f32[N, N]) { rearrange(x, \"a (b c) -> (a b) c\") => where(x.T, concat([x, x.T]), max(x, x)) }",
    );
    for wanted in [
        "`\"a (b c) -> (a b) c\"` becomes `\"a (b c) -> (b a) c\"`",
        "`\"a (b c) -> (a b) c\"` becomes `\"a (b c) -> (a c) b\"`",
        "`[x, x.T]` becomes `[x.T, x]`",
        "`x.T` becomes `x`",
        "`max(x, x)` becomes `min(x, x)`",
    ] {
        assert!(found.contains(&wanted.to_string()), "{wanted}: {found:#?}");
    }
    assert!(!found.iter().any(|change| change.contains("`x, x` becomes")), "{found:#?}");
}

#[test]
fn a_parameter_on_the_right_side_is_mistaken() {
    let found = changes("rule r[*S, T: any](x: T[*S], y: T[*S], z: bool[*S]) { where(z, x, x) => x }");
    let wanted = [
        "`=>` becomes `<=>`",
        "`where(z, x, x)` becomes `z`",
        "`z, x, x` becomes `x, z, x`",
        "`x` becomes `x + 1`",
        "`x` becomes `-x`",
        "`x` becomes `zeros_like(x)`",
        "`x` becomes `flip(x, 0)`",
        "`x` becomes `y`",
    ];
    assert_eq!(found, wanted);
    let found = changes("rule r[*S, T: num](x: T[*S]) { relu(relu(x)) => relu(x) }");
    assert!(found.contains(&"`relu(x)` becomes `-relu(x)`".to_string()), "{found:#?}");
    for right in ["x[0]", "sum(x, 0)", "x @ x"] {
        let found = changes(&format!("rule r[T: int](x: T[1]) {{ prod(x) => {right} }}"));
        for wrong in [format!("zeros_like({right})"), format!("{right} + 1"), format!("flip({right}, 0)")] {
            assert!(found.contains(&format!("`{right}` becomes `{wrong}`")), "{wrong}: {found:#?}");
        }
    }
    let found = changes("rule r(x: f32[]) { f(x) => (x + 1.0, x) }");
    assert!(found.contains(&"`(x + 1.0, x)` becomes `(x, x + 1.0)`".to_string()), "{found:#?}");
    let found = changes("rule r[N, T: any](x: T[N], a: size, b: size) { x[a:b] => x[a:] }");
    assert!(found.contains(&"`a` becomes `b`".to_string()), "{found:#?}");
    assert!(!found.contains(&"`b` becomes `a`".to_string()), "{found:#?}");
}

#[test]
fn tests_are_not_mistaken() {
    assert!(changes("test t { assert 1 + 1 == 2 }").is_empty());
}

/// Every mutant of every third operator says what it prints, and no two of one item are alike.
#[test]
fn mutants_are_programs() {
    let mut count = 0;
    for source in Prelude::shared().sources().iter().step_by(3) {
        for item in source.items() {
            let mut seen = BTreeSet::from([print_item(item)]);
            let mut named = BTreeSet::new();
            for mutant in mutants(item) {
                let text = print_item(&mutant.item);
                let again = parse(FileId(0), &text);
                assert!(again.diagnostics.is_empty(), "{text}\n{:?}", again.diagnostics);
                assert_eq!(print_item(&again.file.items[0]), text);
                assert!(named.insert(mutant.change.clone()), "{}: {} twice", source.path, mutant.change);
                assert!(seen.insert(text), "{}: {} is not new", source.path, mutant.change);
                count += 1;
            }
        }
    }
    assert!(count >= 2000, "{count} mutants");
}
