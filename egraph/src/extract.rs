//! The cheapest term of a class, where a term that is used twice is paid once.
//!
//! Greedy: each class keeps the node whose cost, with that of all classes below it, each counted
//! once, is least so far; classes are looked at until none gets cheaper. The choice depends on
//! the graph only: ties go to the smaller node.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

use egg::{EGraph, Id};

use crate::graph::{Graph, Node, Types};
use crate::work::Priced;

/// The node that each class is made of, and what it costs with all below it.
struct Choice {
    node: Node,
    total: f64,
    /// The classes below and this one, with the price of their nodes.
    paid: BTreeMap<Id, f64>,
}

/// The id of the cheapest term of a class, heads having these prices.
pub fn extract(graph: &mut Graph, root: Id, mut prices: Priced<'_>) -> Id {
    let choices = choose(&graph.egraph, &mut |node| prices.head(graph.heads(), node.head));
    let root = graph.egraph.find(root);
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
    built[&root]
}

fn choose(egraph: &EGraph<Node, Types>, price: &mut dyn FnMut(&Node) -> f64) -> FxHashMap<Id, Choice> {
    let mut classes: Vec<Id> = egraph.classes().map(|class| class.id).collect();
    classes.sort_unstable();
    let mut nodes: FxHashMap<Id, Vec<(Node, f64)>> = FxHashMap::default();
    for class in &classes {
        let mut priced: Vec<(Node, f64)> =
            egraph[*class].nodes.iter().map(|node| (node.clone(), price(node))).collect();
        priced.sort_by(|a, b| a.0.cmp(&b.0));
        nodes.insert(*class, priced);
    }
    let mut choices: FxHashMap<Id, Choice> = FxHashMap::default();
    loop {
        let mut cheaper = false;
        for class in &classes {
            for (node, own) in &nodes[class] {
                let Some(paid) = with_all_below(*class, node, *own, &choices) else { continue };
                let total = paid.values().sum();
                if choices.get(class).is_none_or(|choice| total < choice.total * (1.0 - 1e-9)) {
                    choices.insert(*class, Choice { node: node.clone(), total, paid });
                    cheaper = true;
                }
            }
        }
        if !cheaper {
            return choices;
        }
    }
}

/// What a node costs with the choices below it; `None` where one is missing or uses the class.
fn with_all_below(
    class: Id,
    node: &Node,
    own: f64,
    choices: &FxHashMap<Id, Choice>,
) -> Option<BTreeMap<Id, f64>> {
    let mut paid = BTreeMap::from([(class, own)]);
    for part in &node.parts {
        for (below, price) in &choices.get(part)?.paid {
            if *below == class {
                return None;
            }
            paid.insert(*below, *price);
        }
    }
    Some(paid)
}
