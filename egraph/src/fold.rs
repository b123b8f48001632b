//! Constants of the graph: scalars that depend on nothing are literals, if nothing is rounded.
//!
//! So literals meet those of rules, whichever way they are written or computed. What rounds is left as it is:
//! over the reals it is another number.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

use egg::Id;
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::constant::{constant, is_literal};

use crate::fingerprint::Fingerprints;
use crate::graph::{Graph, Node, Root};
use crate::heads::HeadId;

/// The reason of a union of a constant and its literal.
pub const CONSTANT: &str = "constant";

/// What was folded so far.
#[derive(Default)]
pub struct Folding {
    looked_at: FxHashSet<(HeadId, Vec<HeadId>)>,
}

impl Folding {
    /// Puts literals beside scalars that are computed from literals, as long as there are more; whether
    /// there were any.
    pub fn fold(&mut self, graph: &mut Graph, mut fingerprints: Option<&mut Fingerprints>) -> bool {
        let mut merged = false;
        loop {
            graph.egraph.rebuild();
            let found = self.scalars_of_literals(graph);
            if found.is_empty() {
                return merged;
            }
            for (head, literals) in found {
                let parts = literals.into_iter().map(|literal| graph.apply(literal, Vec::new())).collect();
                let computed = graph.apply(head, parts);
                let term = graph.term(computed);
                let Some(literal) = constant(&term).filter(|literal| !alpha_eq(literal, &term)) else {
                    continue;
                };
                let written = graph.add(&literal, &Root::Constant(computed));
                if fingerprints.as_deref_mut().is_some_and(|prints| prints.differ(graph, computed, written)) {
                    continue;
                }
                merged |= graph.egraph.union_trusted(computed, written, CONSTANT);
            }
        }
    }

    /// Heads of scalars, with the literals that their parts are equal to, each once.
    fn scalars_of_literals(&mut self, graph: &Graph) -> Vec<(HeadId, Vec<HeadId>)> {
        let head_of = |node: &Node| &graph.heads().get(node.head).term;
        let mut scalars: Vec<&Node> = Vec::new();
        let mut literals: FxHashMap<Id, HeadId> = FxHashMap::default();
        for class in graph.egraph.classes() {
            if class.data.as_tensor().is_some_and(|t| t.shape.is_empty()) {
                scalars.extend(&class.nodes);
                let of_class = class.nodes.iter().filter(|node| is_literal(head_of(node)));
                literals.extend(of_class.map(|node| node.head).min().map(|literal| (class.id, literal)));
            }
        }
        let with_literals = |node: &&Node| {
            let parts = node.parts.iter().map(|part| literals.get(&graph.egraph.find(*part)).copied());
            Some((node.head, parts.collect::<Option<Vec<_>>>()?))
        };
        let found: BTreeSet<_> = scalars.iter().filter_map(with_literals).collect();
        found.into_iter().filter(|found| self.looked_at.insert(found.clone())).collect()
    }
}
