//! The graph: classes of terms in operator form that were shown to be equal.
//!
//! Invariants: an id stands for one term, its own, whatever class it is in; merged classes have
//! one type, and a merge of others is noted as an internal error ([`Graph::clash`]); every
//! merge has a reason that a derivation can tell.

use egg::{Analysis, DidMerge, EGraph, Id, Language};
use rtv_semantics::derivation::{parts, with_parts};
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::Term;
use rtv_semantics::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::heads::{HeadId, Heads};

/// A head with the classes of its parts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node {
    pub head: HeadId,
    pub family: u32,
    pub parts: Box<[Id]>,
}

impl Language for Node {
    type Discriminant = u32;

    fn discriminant(&self) -> u32 {
        self.family
    }

    fn matches(&self, other: &Node) -> bool {
        self.head == other.head
    }

    fn children(&self) -> &[Id] {
        &self.parts
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.parts
    }
}

/// What is known of a class: its type.
#[derive(Default)]
pub struct Types {
    pub heads: Heads,
    /// The first two types that a merge would have made one.
    clash: Option<(Type, Type)>,
}

impl Analysis<Node> for Types {
    type Data = Type;

    fn make(graph: &mut EGraph<Node, Types>, node: &Node, _: Id) -> Type {
        graph.analysis.heads.get(node.head).term.ty().clone()
    }

    fn merge(&mut self, a: &mut Type, b: Type) -> DidMerge {
        if *a != b && self.clash.is_none() {
            self.clash = Some((a.clone(), b));
        }
        DidMerge(false, false)
    }
}

/// Where a head was met first: what a derivation says of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Root {
    Source,
    Side {
        application: usize,
        right: bool,
    },
    /// The body of the operator that the term of an id calls.
    Body(Id),
    /// The literal that the term of an id is equal to.
    Constant(Id),
}

/// The terms, and how the heads in them came about.
pub struct Graph {
    pub egraph: EGraph<Node, Types>,
    pub fresh: Fresh,
    /// Of the heads that are in the graph.
    origins: FxHashMap<HeadId, (Root, Vec<usize>)>,
    terms: FxHashMap<Id, Term>,
}

impl Graph {
    /// One that tells short reasons takes longer to tell them.
    pub fn new(fresh: Fresh, short: bool) -> Graph {
        let egraph = EGraph::new(Types::default()).with_explanations_enabled();
        let egraph = match short {
            true => egraph.with_explanation_length_optimization(),
            false => egraph.without_explanation_length_optimization(),
        };
        Graph { egraph, fresh, origins: FxHashMap::default(), terms: FxHashMap::default() }
    }

    /// The id of a term in operator form.
    pub fn add(&mut self, term: &Term, root: &Root) -> Id {
        self.add_over(term, root, &[], &[])
    }

    /// The id of a term in which these terms, by identity, stand for the ids.
    pub fn add_over(&mut self, term: &Term, root: &Root, blanks: &[Term], ids: &[Id]) -> Id {
        let mut done = blanks.iter().map(Term::address).zip(ids.iter().copied()).collect();
        self.add_at(term, root, &mut Vec::new(), &mut done)
    }

    fn add_at(
        &mut self,
        term: &Term,
        root: &Root,
        path: &mut Vec<usize>,
        done: &mut FxHashMap<usize, Id>,
    ) -> Id {
        if let Some(id) = done.get(&term.address()) {
            return *id;
        }
        let mut ids = Vec::new();
        for (at, part) in parts(term).iter().enumerate() {
            path.push(at);
            ids.push(self.add_at(part, root, path, done));
            path.pop();
        }
        let head = self.head(term, root, path);
        let id = self.apply(head, ids);
        done.insert(term.address(), id);
        id
    }

    /// The head of a term, which a derivation tells as the one at a path from a root.
    pub fn head(&mut self, term: &Term, root: &Root, path: &[usize]) -> HeadId {
        let head = self.egraph.analysis.heads.intern(term);
        self.origins.entry(head).or_insert_with(|| (root.clone(), path.to_vec()));
        head
    }

    /// The id of a head applied to these terms.
    pub fn apply(&mut self, head: HeadId, parts: Vec<Id>) -> Id {
        let family = self.egraph.analysis.heads.get(head).family;
        self.egraph.add_uncanonical(Node { head, family, parts: parts.into() })
    }

    /// The term of an id.
    pub fn term(&mut self, id: Id) -> Term {
        for below in self.below(id, |id| self.terms.contains_key(&id)) {
            let node = self.egraph.id_to_node(below);
            let parts = node.parts.iter().map(|part| self.terms[part].clone()).collect();
            let term = with_parts(&self.heads().get(node.head).term, parts);
            self.terms.insert(below, term);
        }
        self.terms[&id].clone()
    }

    /// The ids that the term of an id is made of, and itself, but for what is done: parts first.
    pub fn below(&self, id: Id, done: impl Fn(Id) -> bool) -> Vec<Id> {
        let (mut order, mut seen) = (Vec::new(), FxHashSet::default());
        let mut open = vec![(id, false)];
        while let Some((id, parts_seen)) = open.pop() {
            if parts_seen {
                order.push(id);
            } else if !done(id) && seen.insert(id) {
                open.push((id, true));
                open.extend(self.egraph.id_to_node(id).parts.iter().map(|part| (*part, false)));
            }
        }
        order
    }

    /// The heads that the term of an id is made of.
    pub fn heads_below(&self, id: Id) -> FxHashSet<HeadId> {
        self.below(id, |_| false).into_iter().map(|id| self.egraph.id_to_node(id).head).collect()
    }

    /// The root at which a head was met first, and the path to it from there.
    pub fn origin(&self, head: HeadId) -> &(Root, Vec<usize>) {
        &self.origins[&head]
    }

    pub fn heads(&self) -> &Heads {
        &self.egraph.analysis.heads
    }

    pub fn ty(&self, id: Id) -> &Type {
        &self.egraph[id].data
    }

    /// Whether some class is of several terms.
    pub fn has_choices(&self) -> bool {
        self.egraph.total_number_of_nodes() > self.egraph.number_of_classes()
    }

    /// Two types that were merged: an error of a rule, or of the optimizer.
    pub fn clash(&self) -> Option<&(Type, Type)> {
        self.egraph.analysis.clash.as_ref()
    }
}
