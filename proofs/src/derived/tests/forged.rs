//! Derivations in which one thing is changed: refused, or the program is still what it became.

use super::{Desk, Hand, Sides, forward};
use crate::deadline::Deadline;
use crate::derived::{Fault, compare};
use rtv_semantics::derivation::{Derivation, Head, Used, Why};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::Mode;
use rtv_semantics::sample::Sampler;
use rtv_semantics::size::Size;
use std::collections::BTreeMap;

/// Changes tried of each derivation.
const CHANGES: usize = 600;

fn by_rule<'d>(desk: &'d Desk, function: &str, rule: &str, sizes: &[&str], paths: &[&[usize]]) -> Hand<'d> {
    let mut hand = desk.hand(function);
    let (sizes, values) = (hand.sizes(sizes), paths.iter().map(|path| hand.at(path)).collect());
    let rank = (sizes.len() == 1).then_some(1);
    let sides = hand.apply(rule, rank, sizes, values);
    hand.by_rule(&sides);
    hand
}

/// `exp(t(t(x))) + t(t(x))`, in which both are replaced, by way of the body of an operator and back.
fn with_every_line(desk: &Desk) -> Hand<'_> {
    let mut hand = desk.hand("shared");
    let inner = hand.at(&[0, 0, 0, 0]);
    let same = hand.transposed_twice(inner);
    let exp = hand.built(Head::Source(vec![0]), vec![inner]);
    let under = hand.line(hand.at(&[0]), exp, Why::Parts(vec![Some(forward(same))]));
    let sum = hand.built(Head::Source(vec![]), vec![exp, inner]);
    let parts = Why::Parts(vec![Some(forward(under)), Some(forward(same))]);
    let sums = hand.line(hand.root, sum, parts);
    let sizes = hand.sizes(&["M", "N"]);
    let Sides { application, left, right } = hand.apply("sum_commutes", Some(2), sizes, vec![exp, inner]);
    let turned = hand.line(left, right, Why::Rule { application, forward: true });
    hand.line(hand.root, right, Why::Chain(vec![forward(sums), forward(turned)]));
    hand
}

#[test]
fn a_changed_derivation_is_refused_or_true() {
    let desk = Desk::new();
    let hands = [
        (with_every_line(&desk), Mode::Exact),
        (with_every_line(&desk), Mode::Real),
        (
            by_rule(&desk, "product", "matmul_associates", &["A", "B", "C", "D"], &[&[0], &[1, 0], &[1, 1]]),
            Mode::Real,
        ),
        (by_rule(&desk, "spread", "distributes", &["N"], &[&[0], &[1, 0], &[1, 1]]), Mode::Real),
        (by_rule(&desk, "ratio_of_exp", "itself_cancels", &["N"], &[&[0]]), Mode::Real),
        (by_rule(&desk, "logs_of_exp", "log_of_product", &["N"], &[&[0, 0], &[1, 0]]), Mode::Real),
    ];
    let mut sampler = Sampler::new(5);
    let (mut accepted, mut faults) = (0, BTreeMap::new());
    for (mut hand, mode) in hands {
        hand.accepted(mode);
        let right = hand.derivation.clone();
        for _ in 0..CHANGES {
            hand.derivation = right.clone();
            change(&mut hand, &mut sampler);
            match hand.check(mode) {
                Ok(term) => {
                    accepted += 1;
                    let agreed = compare(&hand.source, &term, mode, 8, 3, &Deadline::after(None));
                    assert!(agreed.is_ok(), "{}: {:?}", hand.source.name, hand.derivation);
                }
                Err(refused) => *faults.entry(kind(&refused.fault)).or_insert(0) += 1,
            }
        }
    }
    println!("{accepted} accepted; {faults:?}");
    assert!(faults.values().sum::<usize>() > 4 * accepted && faults.len() >= 14, "{accepted}, {faults:?}");
}

fn kind(fault: &Fault) -> String {
    let text = format!("{fault:?}");
    text.split(['(', ' ']).next().unwrap_or_default().to_string()
}

/// Changes one thing somewhere.
fn change(hand: &mut Hand<'_>, sampler: &mut Sampler) {
    let other_size = other_size(hand, sampler);
    let Derivation { terms, applications, lines, .. } = &mut hand.derivation;
    let (count, applied, all) = (terms.len(), applications.len(), lines.len());
    match sampler.below(4) {
        0 => {
            let term = &mut terms[sampler.below(count)];
            let at = sampler.below(term.parts.len().max(1));
            match (sampler.below(3), &mut term.head) {
                (0, _) if !term.parts.is_empty() => term.parts[at] = sampler.below(count),
                (1, Head::Side { right, .. }) => *right = !*right,
                (_, Head::Source(path) | Head::Side { path, .. } | Head::Body { path, .. }) => {
                    if sampler.below(2) == 0 && !path.is_empty() {
                        path.pop();
                    } else {
                        path.push(sampler.below(2));
                    }
                }
                (_, Head::Constant { of }) => *of = sampler.below(count),
            }
        }
        1 => {
            let application = &mut applications[sampler.below(applied)];
            let size = sampler.below(application.sizes.len());
            let value = sampler.below(application.values.len());
            match sampler.below(6) {
                0 => application.sizes[size] = other_size,
                1 => application.values[value] = sampler.below(count),
                2 => application.values.reverse(),
                3 => application.rank = [None, Some(1), Some(2)][sampler.below(3)],
                4 => application.dtypes[0].1 = [DType::F64, DType::I32][sampler.below(2)],
                _ => {
                    let rules = ["transposed_twice", "sum_commutes", "itself_cancels", "distributes", "no"];
                    application.rule = rules[sampler.below(rules.len())].into();
                }
            }
        }
        2 => {
            let line = &mut lines[sampler.below(all)];
            match sampler.below(3) {
                0 => line.left = sampler.below(count),
                1 => line.right = sampler.below(count),
                _ => std::mem::swap(&mut line.left, &mut line.right),
            }
        }
        _ => {
            let line = &mut lines[sampler.below(all)];
            let used = Used { line: sampler.below(all), forward: sampler.below(2) == 0 };
            match &mut line.why {
                Why::Rule { application, forward } => match sampler.below(2) {
                    0 => *forward = !*forward,
                    _ => *application = sampler.below(3),
                },
                Why::Definition => line.why = Why::Constant,
                Why::Constant => line.why = Why::Chain(vec![used]),
                Why::Parts(parts) => match sampler.below(3) {
                    0 => parts.reverse(),
                    1 => parts[0] = None,
                    _ => parts[0] = Some(used),
                },
                Why::Chain(steps) => match sampler.below(3) {
                    0 => steps.reverse(),
                    1 => drop(steps.pop()),
                    _ => steps[0] = used,
                },
            }
        }
    }
}

fn other_size(hand: &Hand<'_>, sampler: &mut Sampler) -> Size {
    let symbols = crate::derived::symbols(&hand.source);
    let some = Size::sym(sampler.pick(&symbols).expect("some size"));
    match sampler.below(4) {
        0 => &some + &Size::one(),
        1 => &some - &Size::one(),
        2 => Size::int(3),
        _ => some,
    }
}
