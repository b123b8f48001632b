//! Habits in the heads of items and around the sides of a rule.

use super::Habit;
use crate::blame::Scene;
use crate::lexer::Tok;

/// Words that begin a line in other languages: what is said, what to write.
const FOREIGN_ITEMS: [(&str, &str, &str); 5] = [
    ("import", "modules are not imported", "delete this line: the operators are always there"),
    ("from", "modules are not imported", "delete this line: the operators are always there"),
    ("assert", "`assert` stands in a test", "write `test NAME { assert .. }`"),
    ("class", "there are no classes", "write a `fn` of the tensors it holds"),
    ("struct", "there are no records", "write a tuple: `(f32[N], i64[])`"),
];

/// `import torch` where an item should begin.
pub(super) fn foreign_item(scene: &Scene<'_>) -> Option<Habit> {
    let word = scene.word(scene.at);
    let (_, message, help) = FOREIGN_ITEMS.iter().find(|(theirs, ..)| *theirs == word)?;
    if !scene.wanted("rule") {
        return None;
    }
    Habit::at(scene.at, *message, *help)
}

/// `rule my-rule`, `rule "my rule"`: what a name is not made of.
pub(super) fn name(scene: &Scene<'_>) -> Option<Habit> {
    let named = |back| scene.before(back).is_some_and(Tok::begins_item);
    let message = "a name is made of letters, digits and `_`";
    match scene.kind(scene.at)? {
        Tok::Str if named(1) => {
            let text = scene.word(scene.at).trim_matches('"');
            let good: String =
                text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            let starts = good.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            Habit::at(scene.at, message, format!("write `{}`", if starts { &good } else { "NAME" }))
        }
        Tok::LBracket | Tok::LParen if named(1) && scene.wanted("ID") => {
            let word = scene.word(scene.at - 1);
            Habit::at(scene.at, format!("this `{word}` has no name"), format!("write `{word} NAME`"))
        }
        Tok::Minus if scene.before(1) == Some(Tok::Id) && named(2) => {
            let first = scene.at - 1;
            let mut last = scene.at;
            while scene.touches_next(last)
                && let Some(next) = scene.kind(last + 1)
                && (next.is_keyword() || matches!(next, Tok::Id | Tok::DType | Tok::Int | Tok::Minus))
            {
                last += 1;
            }
            let good = scene.slice(first, last).replace(['-', ' '], "_");
            Habit::new(first, last, message, format!("write `{good}`"))
        }
        _ => None,
    }
}

/// `rule a { .. }`: every item but a test has its parameters.
pub(super) fn no_parameters(scene: &Scene<'_>) -> Option<Habit> {
    let named = scene.before(1) == Some(Tok::Id) && scene.before(2).is_some_and(Tok::begins_item);
    if scene.kind(scene.at)? != Tok::LBrace || !named || !scene.wanted("(") {
        return None;
    }
    let name = scene.word(scene.at - 1);
    let message = format!("`{name}` has no list of parameters");
    Habit::at(scene.at - 1, message, format!("write `{name}()`, the parameters between the parentheses"))
}

/// `rule a<N>(x: f32[N])`.
pub(super) fn angle_brackets(scene: &Scene<'_>) -> Option<Habit> {
    let named = scene.before(1) == Some(Tok::Id) && scene.before(2).is_some_and(Tok::begins_item);
    if scene.kind(scene.at)? != Tok::Lt || !named {
        return None;
    }
    let end = (scene.at..scene.tokens.len())
        .take_while(|&t| !matches!(scene.tokens[t].kind, Tok::LParen | Tok::LBrace))
        .find(|&t| scene.tokens[t].kind == Tok::Gt);
    let names = end.map_or("..", |end| scene.quote(scene.at + 1, end - 1));
    let message = "sizes are declared in square brackets";
    let help = format!("write `{}[{names}]`", scene.word(scene.at - 1));
    Habit::new(scene.at, end.unwrap_or(scene.at), message, help)
}

/// `fn f(..): f32[N]`, `fn f(..) => f32[N]`, `rule r(..) -> f32[N]`.
pub(super) fn result_type(scene: &Scene<'_>) -> Option<Habit> {
    let (at, end) = (scene.at, scene.phrase_end(scene.at + 1));
    let kind = scene.kind(at)?;
    let has_type = matches!(scene.kind(at + 1)?, Tok::DType | Tok::Id | Tok::LParen | Tok::LBracket)
        && !scene.starts_line(at + 1);
    if !scene.open.is_empty() || !has_type || scene.before(1) != Some(Tok::RParen) {
        return None;
    }
    let ty = scene.quote(at + 1, end);
    match kind {
        Tok::Colon | Tok::FatArrow if scene.wanted("->") => {
            Habit::at(at, "the type of the result stands after `->`", format!("write `-> {ty}`"))
        }
        Tok::Arrow if scene.item().is_some_and(|item| scene.kind(item) == Some(Tok::Rule)) => {
            Habit::new(at, end, "a rule has no result type", format!("delete `-> {ty}`"))
        }
        _ => None,
    }
}

/// `fn f(..) -> f32[N]:` and `if c:` before an indented block.
pub(super) fn python_block(scene: &Scene<'_>) -> Option<Habit> {
    let here = scene.kind(scene.at)? == Tok::Colon && scene.starts_line(scene.at + 1);
    if !here || !scene.wanted("{") {
        return None;
    }
    Habit::at(scene.at, "a block stands in braces", "write `{` here, and `}` after the last line")
}

fn is_clause(kind: Tok) -> bool {
    matches!(kind, Tok::Requires | Tok::Ensures | Tok::Refines | Tok::Upto)
}

fn before_the_brace(scene: &Scene<'_>) -> Option<Habit> {
    let at = scene.at;
    let message = format!("`{}` stands before the `{{` of the body", scene.word(at));
    let clause = scene.quote(at, scene.phrase_end(at));
    Habit::at(at, message, format!("write `{clause} {{` in place of the `{{`"))
}

/// `rule r(..) { .. } requires N > 0`.
pub(super) fn late_clause(scene: &Scene<'_>) -> Option<Habit> {
    let after = scene.open.is_empty() && scene.before(1) == Some(Tok::RBrace);
    if after && is_clause(scene.kind(scene.at)?) { before_the_brace(scene) } else { None }
}

/// `rule r(..) { x => x upto real }`, `fn f(..) { requires N > 0 .. }`.
pub(super) fn early_brace(scene: &Scene<'_>) -> Option<Habit> {
    let inside = scene.body().is_some_and(|(_, item)| item != Tok::Test);
    if inside && is_clause(scene.kind(scene.at)?) { before_the_brace(scene) } else { None }
}

/// `rule r(..) { return x => x }`, `rule r(..) { let y = .. }`.
pub(super) fn statement_in_rule(scene: &Scene<'_>) -> Option<Habit> {
    let at = scene.at;
    let empty = scene.rule_body()? + 1 == at;
    let help = match scene.kind(at)? {
        Tok::RBrace if empty => "write `LEFT => RIGHT`".to_string(),
        Tok::Return if scene.kind(scene.phrase_end(at) + 1).is_some_and(is_arrow) => {
            let arrow = scene.phrase_end(at) + 1;
            format!("write `{}`", scene.quote(at + 1, scene.phrase_end(arrow + 1)))
        }
        Tok::Let => format!("write `let {} = ..` before the `{{`", scene.word(at + 1)),
        Tok::Return | Tok::Assert | Tok::For | Tok::While => {
            "write `LEFT => RIGHT`; a `fn` has statements".to_string()
        }
        _ => return None,
    };
    Habit::at(at, "a rule has two sides and no statements", help)
}

fn is_arrow(kind: Tok) -> bool {
    matches!(kind, Tok::FatArrow | Tok::Iff)
}

/// `{ x => y  y => z }`: a second rule in the braces of the first.
pub(super) fn second_arrow(scene: &Scene<'_>) -> Option<Habit> {
    let at = scene.at;
    let brace = scene.rule_body()?;
    let arrow = scene.direct(brace, at).find(|&t| is_arrow(scene.tokens[t].kind))?;
    if arrow + 1 >= at {
        return None;
    }
    // The error is the arrow itself, or the first word of the side before it.
    let chained = is_arrow(scene.kind(at)?);
    let next = if chained { at } else { scene.phrase_end(at) + 1 };
    if !is_arrow(scene.kind(next)?) || !(chained || scene.starts_line(at)) {
        return None;
    }
    let left = scene.quote(if chained { arrow + 1 } else { at }, next - 1);
    let right = scene.quote(next + 1, scene.phrase_end(next + 1));
    let help = format!("write a second rule: `rule NAME[..](..) {{ {left} {} {right} }}`", scene.word(next));
    Habit::at(at, "a rule has one arrow", help)
}

/// `{ x -> x }`, `{ x == x }`, `{ x = x }`, `{ x <==> x }`.
pub(super) fn wrong_arrow(scene: &Scene<'_>) -> Option<Habit> {
    use Tok::*;
    let brace = scene.rule_body()?;
    let part = |t: usize| {
        let kind = scene.kind(t);
        kind.is_some_and(|k| matches!(k, Arrow | Eq | EqEq | FatArrow | Iff | Le | Lt | Gt | Ge | Minus))
    };
    // Two sides of an equation are one expression: the arrow is missed at the end.
    let middle = match scene.kind(scene.at)? {
        RBrace => scene.direct(brace, scene.at).find(|&t| scene.tokens[t].kind == EqEq)?,
        _ => scene.at,
    };
    let (mut first, mut last) = (middle, middle);
    while first > brace + 1 && part(first - 1) && scene.touches_next(first - 1) {
        first -= 1;
    }
    while part(last + 1) && scene.touches_next(last) {
        last += 1;
    }
    let alone = first == last;
    let kind = scene.kind(middle)?;
    let meant = matches!(kind, Arrow | Eq | EqEq) || (!alone && matches!(kind, FatArrow | Gt));
    let one_side = !scene.direct(brace, first).any(|t| is_arrow(scene.tokens[t].kind));
    if !meant || !one_side || first == brace + 1 {
        return None;
    }
    let left = scene.quote(brace + 1, first - 1);
    let right = scene.quote(last + 1, scene.phrase_end(last + 1));
    let help = format!("write `{left} => {right}`, or `<=>` for both directions");
    Habit::new(first, last, format!("`{}` is no arrow of a rule", scene.slice(first, last)), help)
}

/// `f32[..., N]` in a type.
pub(super) fn any_rank(scene: &Scene<'_>) -> Option<Habit> {
    let opener = *scene.open.last()?;
    if scene.kind(scene.at)? != Tok::Ellipsis || !scene.wanted("?") || opener == 0 {
        return None;
    }
    let end = scene.phrase_end(opener);
    let close = (scene.at..=end).find(|&t| scene.tokens[t].kind == Tok::RBracket).unwrap_or(scene.at);
    let ty = scene.slice(opener - 1, close).replace("...", "*S");
    let help = format!("write `{ty}`, and declare `[*S]` after the name of the item");
    Habit::at(scene.at, "any number of axes has a name", help)
}
