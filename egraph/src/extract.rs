//! The cheapest term of a class, where a term that is used twice is paid once.
//!
//! Greedy: each class keeps the node whose cost, with that of all classes below it, each counted
//! once, is least so far; classes are looked at until none gets cheaper. The choice depends on
//! the graph only: ties go to the smaller node.

use std::cmp::Ordering;

use egg::{EGraph, Id};
use rustc_hash::FxHashMap;

use crate::graph::{Graph, Node, Types};
use crate::work::Priced;

/// The node that each class is made of, and what it costs with all below it.
struct Choice {
    node: Node,
    total: f64,
    /// The classes below and this one, in order, with the price of their nodes.
    paid: Vec<(Id, f64)>,
    /// In which look at a node it was made.
    since: usize,
}

/// A node that a class may be made of.
struct Candidate {
    node: Node,
    price: f64,
    /// The last look at it.
    looked_at: usize,
}

/// Entries of lists of classes that are written: the lists grow with the square of a program.
const ENTRIES: usize = 1 << 26;

/// The id of the cheapest term of a class, heads having these prices, and whether the graph was small enough to be
/// gone through; no id where it was too large for one.
pub fn extract(graph: &mut Graph, root: Id, prices: &mut Priced<'_>) -> (Option<Id>, bool) {
    let (choices, whole) = choose(&graph.egraph, &mut |node| prices.head(graph.heads(), node.head));
    let root = graph.egraph.find(root);
    // Choices below a choice were made before it.
    if !choices.contains_key(&root) {
        return (None, whole);
    }
    let mut built: FxHashMap<Id, Id> = FxHashMap::default();
    let mut open = vec![root];
    while let Some(class) = open.last().copied() {
        if built.contains_key(&class) {
            open.pop();
            continue;
        }
        let node = &choices[&class].node;
        let missing: Vec<Id> = node.parts.iter().copied().filter(|part| !built.contains_key(part)).collect();
        if missing.is_empty() {
            let parts = node.parts.iter().map(|part| built[part]).collect();
            built.insert(class, graph.apply(node.head, parts));
            open.pop();
        }
        open.extend(missing);
    }
    (Some(built[&root]), whole)
}

/// The choices of all classes, or those that were made within the limit, and which of both. At any time they are of
/// terms: a class costs no less than those its node is made of, then and later, since no choice gets dearer.
fn choose(
    egraph: &EGraph<Node, Types>,
    price: &mut dyn FnMut(&Node) -> f64,
) -> (FxHashMap<Id, Choice>, bool) {
    let mut classes: Vec<(Id, Vec<Candidate>)> = Vec::new();
    for class in egraph.classes() {
        let mut nodes: Vec<Candidate> = class
            .iter()
            .map(|node| Candidate { node: node.clone(), price: price(node), looked_at: 0 })
            .collect();
        nodes.sort_by(|a, b| a.node.cmp(&b.node));
        classes.push((class.id, nodes));
    }
    classes.sort_by_key(|(class, _)| *class);
    let mut choices: FxHashMap<Id, Choice> = FxHashMap::default();
    let (mut looks, mut entries) = (0, 0);
    loop {
        let mut cheaper = false;
        for (class, candidates) in &mut classes {
            for candidate in candidates {
                let Candidate { node, price, looked_at } = candidate;
                // With the same choices below it costs what it did.
                let is_new = |part: &Id| choices.get(part).is_some_and(|choice| choice.since > *looked_at);
                if *looked_at > 0 && !node.parts.iter().any(is_new) {
                    continue;
                }
                looks += 1;
                *looked_at = looks;
                let Some(paid) = with_all_below(*class, node, *price, &choices) else { continue };
                entries += paid.len();
                if entries > ENTRIES {
                    return (choices, false);
                }
                let total = paid.iter().map(|(_, price)| price).sum();
                if choices.get(class).is_none_or(|choice| total < choice.total * (1.0 - 1e-9)) {
                    choices.insert(*class, Choice { node: node.clone(), total, paid, since: looks });
                    cheaper = true;
                }
            }
        }
        if !cheaper {
            return (choices, true);
        }
    }
}

/// What a node costs with the choices below it; `None` where one is missing or uses the class.
fn with_all_below(
    class: Id,
    node: &Node,
    own: f64,
    choices: &FxHashMap<Id, Choice>,
) -> Option<Vec<(Id, f64)>> {
    let mut paid = vec![(class, own)];
    for part in &node.parts {
        let below = &choices.get(part)?.paid;
        if below.binary_search_by_key(&class, |(below, _)| *below).is_ok() {
            return None;
        }
        paid = merged(&paid, below);
    }
    Some(paid)
}

/// What two lists have, in order; of a class in both the price of the second.
fn merged(a: &[(Id, f64)], b: &[(Id, f64)]) -> Vec<(Id, f64)> {
    let (mut all, mut a, mut b) = (Vec::with_capacity(a.len() + b.len()), a, b);
    while let ([x, rest_of_a @ ..], [y, rest_of_b @ ..]) = (a, b) {
        let order = x.0.cmp(&y.0);
        all.push(if order == Ordering::Less { *x } else { *y });
        a = if order == Ordering::Greater { a } else { rest_of_a };
        b = if order == Ordering::Less { b } else { rest_of_b };
    }
    all.extend(a.iter().chain(b));
    all
}
