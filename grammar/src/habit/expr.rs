//! Habits in statements and expressions.

use super::Habit;
use crate::blame::Scene;
use crate::lexer::Tok;

/// `// text` and `/* text */`.
pub(super) fn comment(scene: &Scene<'_>) -> Option<Habit> {
    let at = scene.at;
    let begins = scene.wanted("rule") || scene.wanted("let");
    let slash_star = |t: usize| {
        scene.kind(t) == Some(Tok::Slash) && scene.kind(t + 1) == Some(Tok::Star) && scene.touches_next(t)
    };
    let mark = match scene.kind(at)? {
        Tok::SlashSlash if begins => at,
        Tok::Slash if slash_star(at) => at,
        Tok::Star if at > 0 && slash_star(at - 1) => at - 1,
        // In a rule, `x // two words`: the first is read as a divisor.
        Tok::Id if scene.rule_body().is_some() && scene.before(1) == Some(Tok::Id) => {
            (scene.before(2) == Some(Tok::SlashSlash)).then(|| at - 2)?
        }
        _ => return None,
    };
    let line = scene.text[scene.tokens[mark].lo as usize..].lines().next().unwrap_or_default();
    let line = line.split('#').next().unwrap_or_default();
    let text = line.trim_start_matches(['/', '*']).split("*/").next().unwrap_or_default().trim();
    let fits = !text.is_empty() && text.chars().count() <= super::QUOTABLE;
    let text = if fits { text } else { ".." };
    Habit::at(mark, "a comment begins with `#`", format!("write `# {text}`"))
}

/// `let a, b = f(x)`.
pub(super) fn tuple_pattern(scene: &Scene<'_>) -> Option<Habit> {
    let at = scene.at;
    if scene.kind(at)? != Tok::Comma || scene.before(1) != Some(Tok::Id) {
        return None;
    }
    let first = at - 1;
    if scene.before(2) != Some(Tok::Let) && !scene.starts_line(first) {
        return None;
    }
    let mut last = first;
    while scene.kind(last + 1) == Some(Tok::Comma) && scene.kind(last + 2) == Some(Tok::Id) {
        last += 2;
    }
    if scene.kind(last + 1) != Some(Tok::Eq) {
        return None;
    }
    let (names, value) = (scene.quote(first, last), last + 2);
    let help = format!("write `let ({names}) = {}`", scene.quote(value, scene.phrase_end(value)));
    Habit::new(first, last, "several names stand in parentheses", help)
}

/// `x if c else y`.
pub(super) fn ternary(scene: &Scene<'_>) -> Option<Habit> {
    let at = scene.at;
    let on_line = |t: &usize| *t == at || !scene.starts_line(*t);
    let (test, other) = match scene.kind(at)? {
        Tok::Else => {
            let line = scene.line_start(at);
            ((line..at).rev().find(|&t| scene.tokens[t].kind == Tok::If)?, at)
        }
        Tok::If => {
            let mut rest = (at..scene.tokens.len()).take_while(on_line);
            (at, rest.find(|&t| scene.tokens[t].kind == Tok::Else)?)
        }
        _ => return None,
    };
    let ends = |t: usize| scene.kind(t).is_some_and(Tok::ends_operand);
    let has_block = (test..other).any(|t| scene.tokens[t].kind == Tok::LBrace);
    if test == 0 || !ends(test - 1) || scene.starts_line(test) || has_block {
        return None;
    }
    let condition = scene.quote(test + 1, other - 1);
    let yes = scene.quote(scene.phrase_start(test - 1), test - 1);
    let no = scene.quote(other + 1, scene.phrase_end(other + 1));
    let help = format!("write `if {condition} {{ {yes} }} else {{ {no} }}`");
    Habit::new(test, other, "the condition stands before both values", help)
}

/// `lambda v: v + 1`.
pub(super) fn lambda(scene: &Scene<'_>) -> Option<Habit> {
    let here = scene.before(1) == Some(Tok::Id) && scene.word(scene.at - 1) == "lambda";
    if !here || !matches!(scene.kind(scene.at)?, Tok::Id | Tok::Colon) {
        return None;
    }
    let help = "operators take whole tensors: `x + 1.0`; by elements, write `[f(x[i]) for i in N]`";
    Habit::at(scene.at - 1, "there are no functions without a name", help)
}

/// `.5`
pub(super) fn no_leading_digit(scene: &Scene<'_>) -> Option<Habit> {
    let at = scene.at;
    let digits = matches!(scene.kind(at + 1)?, Tok::Int | Tok::Float) && scene.touches_next(at);
    if scene.kind(at)? != Tok::Dot || !digits || !scene.wanted("INT") {
        return None;
    }
    let help = format!("write `0{}`", scene.slice(at, at + 1));
    Habit::new(at, at + 1, "a number begins with a digit", help)
}

/// `1.`
pub(super) fn no_trailing_digit(scene: &Scene<'_>) -> Option<Habit> {
    if scene.before(1) != Some(Tok::Dot) || scene.before(2) != Some(Tok::Int) {
        return None;
    }
    let number = scene.at - 2;
    if !scene.touches_next(number) {
        return None;
    }
    let help = format!("write `{}.0`", scene.quote(number, number));
    Habit::new(number, number + 1, "a number ends with a digit", help)
}

/// `!x`
pub(super) fn exclamation(scene: &Scene<'_>) -> Option<Habit> {
    let at = scene.at;
    if scene.kind(at)? != Tok::Bang || !scene.wanted("not") {
        return None;
    }
    let name = scene.kind(at + 1) == Some(Tok::Id)
        && !matches!(scene.kind(at + 2), Some(Tok::LParen | Tok::LBracket | Tok::Dot));
    let operand = if name { scene.word(at + 1) } else { ".." };
    Habit::at(at, "negation is a word", format!("write `not {operand}`"))
}
