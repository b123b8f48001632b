//! Random rules that look inside their rank variables: a left side, and the same or nearly the
//! same on the right.

use rtv_semantics::sample::Sampler;

/// An element of a result over `*i in *S`.
#[derive(Clone)]
enum Element {
    Leaf(String),
    If(Guard, Box<Element>, Box<Element>),
    Sum(Box<Element>, Box<Element>),
}

#[derive(Clone)]
enum Guard {
    Inside(&'static str),
    Equal(String),
    Not(Box<Guard>),
    Both(&'static str, Box<Guard>, Box<Guard>),
}

fn tuple(sampler: &mut Sampler) -> &'static str {
    const TUPLES: [&str; 7] =
        ["i", "i + A", "i + B", "i + A + B", "S - 1 - i", "S - 1 - i + A", "max(i, S - 1 - i)"];
    TUPLES[sampler.below(TUPLES.len())]
}

fn leaf(sampler: &mut Sampler) -> String {
    match sampler.below(5) {
        0 => "v".into(),
        1 => "w".into(),
        2 => format!("y[*({})]", tuple(sampler)),
        _ => format!("x[*({})]", tuple(sampler)),
    }
}

fn guard(sampler: &mut Sampler, depth: usize) -> Guard {
    const CONDITIONS: [&str; 8] = [
        "inside(i, A)",
        "inside(i - A, B)",
        "inside(i, B)",
        "inside(i + A, S)",
        "inside(i - 1, A + B)",
        "inside(A, B)",
        "inside(2 * i, S)",
        "inside(i, 1)",
    ];
    let inner = |sampler: &mut Sampler| Box::new(guard(sampler, depth.saturating_sub(1)));
    match sampler.below(if depth == 0 { 6 } else { 10 }) {
        0..5 => Guard::Inside(CONDITIONS[sampler.below(CONDITIONS.len())]),
        5 => Guard::Equal(format!("{} == {}", leaf(sampler), leaf(sampler))),
        6 | 7 => Guard::Not(inner(sampler)),
        8 => Guard::Both("and", inner(sampler), inner(sampler)),
        _ => Guard::Both("or", inner(sampler), inner(sampler)),
    }
}

fn drawn(sampler: &mut Sampler, depth: usize) -> Element {
    if depth == 0 {
        return Element::Leaf(leaf(sampler));
    }
    let inner = |sampler: &mut Sampler| Box::new(drawn(sampler, depth - 1));
    match sampler.below(6) {
        0 => Element::Leaf(leaf(sampler)),
        1 => Element::Sum(inner(sampler), inner(sampler)),
        _ => Element::If(guard(sampler, 1), inner(sampler), inner(sampler)),
    }
}

/// The same element, or nearly.
fn varied(element: &Element, sampler: &mut Sampler) -> Element {
    let same = |e: &Element, sampler: &mut Sampler| Box::new(varied(e, sampler));
    match (element, sampler.below(7)) {
        (Element::If(_, a, _), 0) => varied(a, sampler),
        (Element::If(_, _, b), 1) => varied(b, sampler),
        (Element::If(g, a, b), 2 | 3) => Element::If(denied(g.clone()), same(b, sampler), same(a, sampler)),
        (Element::If(_, a, b), 4) => Element::If(guard(sampler, 1), same(a, sampler), same(b, sampler)),
        (Element::If(Guard::Both("or", f, g), a, b), _) => {
            let rest = Element::If((**g).clone(), a.clone(), same(b, sampler));
            Element::If((**f).clone(), same(a, sampler), Box::new(rest))
        }
        (Element::If(g, a, b), _) => Element::If(g.clone(), same(a, sampler), same(b, sampler)),
        (Element::Sum(a, b), _) => Element::Sum(same(b, sampler), same(a, sampler)),
        (Element::Leaf(_), 0) => Element::Leaf(leaf(sampler)),
        (Element::Leaf(_), _) => element.clone(),
    }
}

fn guard_text(guard: &Guard) -> String {
    match guard {
        Guard::Inside(text) => text.to_string(),
        Guard::Equal(text) => format!("({text})"),
        Guard::Not(inner) => format!("(not {})", guard_text(inner)),
        Guard::Both(word, a, b) => format!("({} {word} {})", guard_text(a), guard_text(b)),
    }
}

fn text(element: &Element) -> String {
    match element {
        Element::Leaf(text) => text.clone(),
        Element::If(g, a, b) => format!("if {} {{ {} }} else {{ {} }}", guard_text(g), text(a), text(b)),
        Element::Sum(a, b) => format!("({}) + ({})", text(a), text(b)),
    }
}

/// A precondition, and a guard that is true under it at rank 1, at least.
fn covering(sampler: &mut Sampler) -> (&'static str, Guard) {
    let either = |a, b| Guard::Both("or", Box::new(a), Box::new(b));
    let greatest = |of: &str| Guard::Equal(format!("x[*max(i, S - 1 - i)] == x[*({of})]"));
    match sampler.below(5) {
        0 => (
            "requires inside(S, A + B + 1)",
            either(Guard::Inside("inside(i, A)"), Guard::Inside("inside(i - A, B)")),
        ),
        1 => (
            "requires inside(A, B + 1)",
            either(denied(Guard::Inside("inside(i, A)")), Guard::Inside("inside(i, B)")),
        ),
        2 => ("", either(greatest("i"), greatest("S - 1 - i"))),
        3 => ("requires not inside(A, B)", Guard::Inside("inside(B, A + 1)")),
        _ => ("requires not inside(A, B)", denied(Guard::Inside("inside(A, B)"))),
    }
}

fn denied(guard: Guard) -> Guard {
    Guard::Not(Box::new(guard))
}

/// A rule about a sum over the axes, and one that is nearly the same.
pub fn sum_rule(sampler: &mut Sampler) -> String {
    const EXTENTS: [&str; 3] = ["A", "A + 1", "B"];
    const PLACES: [&str; 4] = ["i + w", "i + A - w", "i + B + w", "w"];
    const GUARDS: [&str; 5] =
        ["", "inside(w, B)", "inside(w - 1, A)", "not inside(w, B)", "inside(w, B) or inside(w - B, A)"];
    const NEEDS: [&str; 4] = [
        "",
        "requires inside(A, B + 1)",
        "requires inside(B, A + 1)",
        "requires inside(A, B + 1), inside(B, A + 1)",
    ];
    let pick = |of: &[&'static str], sampler: &mut Sampler| of[sampler.below(of.len())];
    let (extent, guard) = (pick(&EXTENTS, sampler), pick(&GUARDS, sampler));
    let places = [pick(&PLACES, sampler), pick(&PLACES, sampler)];
    let factors = 1 + sampler.below(2);
    // The places of the factors and the guard, each seen from the other end or not.
    let sum = |turned: [bool; 3], guard: &str| {
        let seen = |text: &str, at: usize| match turned[at] {
            true => text.replace('w', &format!("({extent} - 1 - w)")),
            false => text.to_string(),
        };
        let reads = (0..factors).map(|at| format!("{}[*({})]", ["x", "y"][at], seen(places[at], at)));
        let body = reads.collect::<Vec<_>>().join(" * ");
        match guard {
            "" => format!("sum({body} for *w in *({extent}))"),
            guard => format!("sum(if {} {{ {body} }} else {{ 0 }} for *w in *({extent}))", seen(guard, 2)),
        }
    };
    let left = sum([false; 3], guard);
    let right = match sampler.below(6) {
        0 | 1 => sum([true; 3], guard),
        2 => sum([true, true, false], guard),
        3 => sum([true, false, true], guard),
        4 => sum([false; 3], ""),
        _ => sum([true; 3], pick(&GUARDS, sampler)),
    };
    written(pick(&NEEDS, sampler), &left, &right)
}

/// The rule about an element of a result over the axes.
fn written(needs: &str, left: &str, right: &str) -> String {
    let shape = "i32[*(S + A + B)]";
    format!(
        "rtl 1.0\nrule drawn[*S, *A, *B](x: {shape}, y: {shape}, v: i32[], w: i32[])\n  {needs}\n{{\n  \
         [{left} for *i in *S] => [{right} for *i in *S]\n}}\n",
    )
}

pub fn rule(sampler: &mut Sampler) -> String {
    const NEEDS: [&str; 9] = [
        "",
        "requires inside(S, A + B + 1)",
        "requires inside(S, A + B + 1)",
        "requires inside(S, A + B + 1), inside(A, B + 1)",
        "requires inside(A, B + 1)",
        "requires inside(S, A + B + 1), inside(0, B)",
        "requires not inside(A, B)",
        "requires not inside(A, B), inside(S, A + B + 1)",
        "requires inside(0, A), not inside(S, A)",
    ];
    let (needs, left, right) = if sampler.below(3) == 0 {
        let (needs, guard) = covering(sampler);
        let (then, otherwise) = (drawn(sampler, 1), drawn(sampler, 1));
        let right = varied(&then, sampler);
        (needs, Element::If(guard, Box::new(then), Box::new(otherwise)), right)
    } else {
        let left = drawn(sampler, 2);
        let right = varied(&left, sampler);
        (NEEDS[sampler.below(NEEDS.len())], left, right)
    };
    written(needs, &text(&left), &text(&right))
}
