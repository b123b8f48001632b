//! What a graph is made of: who gives the rules for it leaves out those of which something is missing.

use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

use egg::Id;
use rtv_semantics::derivation::operator_form;
use rtv_semantics::dtype::DType;
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::{Form, Fun, Term};
use rtv_semantics::types::Type;

use crate::graph::{Graph, Root};
use crate::heads::HeadId;

/// A dtype and a number of axes.
pub type Kind = (DType, usize);

/// What the language leaves unsaid where operands of other shapes meet.
const UNSAID: &str = "expand";

/// The operators and values of a graph.
#[derive(Default, Debug)]
pub struct Present {
    /// By name, what an operator is applied to.
    pub operators: BTreeMap<String, Operands>,
    /// The kinds of its tensors.
    pub kinds: BTreeSet<Kind>,
}

/// What an operator is applied to: what is expanded first is meant too.
#[derive(Default, Debug)]
pub struct Operands {
    /// The operators whose results they are.
    pub operators: BTreeSet<String>,
    pub kinds: BTreeSet<Kind>,
}

impl Present {
    /// Of a program.
    pub fn of(term: &Term, fresh: &mut Fresh) -> Present {
        let form = operator_form(term, fresh).term;
        let mut graph = Graph::new(Fresh::above([&form]), false);
        graph.add(&form, &Root::Source);
        graph.egraph.rebuild();
        Present::in_graph(&graph)
    }

    pub(crate) fn in_graph(graph: &Graph) -> Present {
        let mut present = Present::default();
        let in_graph: BTreeSet<HeadId> = graph.egraph.nodes().iter().map(|node| node.head).collect();
        for head in in_graph {
            present.kinds.extend(kind(graph.heads().get(head).term.ty()));
            operator(graph, head).map(|name| present.operators.entry(name.into()).or_default());
        }
        let mut applied: FxHashSet<(HeadId, Id)> = FxHashSet::default();
        for node in graph.egraph.classes().flat_map(|class| &class.nodes) {
            applied.extend(node.parts.iter().map(|part| (node.head, graph.egraph.find(*part))));
        }
        for (head, to) in applied {
            let Some(name) = operator(graph, head) else { continue };
            let operands = present.operators.entry(name.into()).or_default();
            for class in said(graph, to) {
                operands.kinds.extend(kind(graph.ty(class)));
                let results = graph.egraph[class].nodes.iter().filter_map(|node| operator(graph, node.head));
                operands.operators.extend(results.map(String::from));
            }
        }
        present
    }
}

/// A class, and those of which it is an expansion.
fn said(graph: &Graph, class: Id) -> FxHashSet<Id> {
    let (mut found, mut open) = (FxHashSet::default(), vec![class]);
    while let Some(class) = open.pop() {
        if found.insert(class) {
            let nodes = graph.egraph[class].nodes.iter();
            let expansions = nodes.filter(|node| operator(graph, node.head) == Some(UNSAID));
            open.extend(expansions.flat_map(|node| &node.parts).map(|part| graph.egraph.find(*part)));
        }
    }
    found
}

/// The name of the operator that a head calls.
fn operator(graph: &Graph, head: HeadId) -> Option<&str> {
    match graph.heads().get(head).term.form() {
        Form::Call(Fun::Op(instance), _) => Some(&instance.name),
        _ => None,
    }
}

fn kind(ty: &Type) -> Option<Kind> {
    ty.as_tensor().map(|tensor| (tensor.dtype, tensor.shape.len()))
}
