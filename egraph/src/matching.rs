//! Where a side of a rule stands in the graph: heads that are equal but for sizes, and what the
//! symbols and parameters of the rule must be there.

use rustc_hash::FxHashMap;
use std::rc::Rc;

use egg::Id;
use rtv_semantics::alpha::apart_by_sizes;
use rtv_semantics::size::Size;
use rtv_semantics::types::Type;

use crate::graph::Graph;
use crate::heads::HeadId;
use crate::rule::{Instance, Pattern};
use crate::unknowns::{Equations, Unknowns};

/// A side of a rule at a class.
#[derive(Clone, Debug)]
pub struct Match {
    pub sizes: Unknowns,
    /// By parameter, the class that it stands for.
    pub values: Vec<Option<Id>>,
    pub tree: Tree,
}

/// The heads of the graph that were matched.
#[derive(Clone, Debug)]
pub enum Tree {
    Param(usize),
    Head(HeadId, Vec<Tree>),
}

/// How heads of patterns and of the graph differ, each pair looked at once.
#[derive(Default)]
pub struct Apart(FxHashMap<(HeadId, HeadId), Option<Equations>>);

impl Apart {
    fn equations(&mut self, graph: &Graph, pattern: HeadId, head: HeadId) -> Option<Equations> {
        let compare = || {
            let apart = apart_by_sizes(&graph.heads().get(pattern).term, &graph.heads().get(head).term)?;
            Some(Rc::new(apart.into_iter().map(|apart| apart.sizes).collect()))
        };
        self.0.entry((pattern, head)).or_insert_with(compare).clone()
    }
}

/// Looks for one side of one rule.
pub struct Matcher<'a> {
    pub graph: &'a Graph,
    pub apart: &'a mut Apart,
    pub instance: &'a Instance,
    /// How many more partial matches are looked at.
    pub budget: usize,
}

/// What is bound so far.
#[derive(Clone)]
struct Bound {
    sizes: Unknowns,
    values: Vec<Option<Id>>,
}

impl Matcher<'_> {
    /// Every way in which the side stands at the class, within the budget.
    pub fn at(&mut self, from: usize, class: Id) -> Vec<Match> {
        let nothing = Bound { sizes: Unknowns::default(), values: vec![None; self.instance.of.params.len()] };
        let instance = self.instance;
        let found = self.pattern(&instance.sides[from].pattern, class, nothing);
        let settled = found.into_iter().filter(|(bound, _)| bound.sizes.is_settled());
        settled.map(|(bound, tree)| Match { sizes: bound.sizes, values: bound.values, tree }).collect()
    }

    fn pattern(&mut self, pattern: &Pattern, class: Id, bound: Bound) -> Vec<(Bound, Tree)> {
        match pattern {
            Pattern::Param(at) => {
                let bound = self.param(*at, class, bound);
                bound.into_iter().map(|bound| (bound, Tree::Param(*at))).collect()
            }
            Pattern::Head(head, parts) => self.nodes(*head, parts, class, &bound),
        }
    }

    fn param(&mut self, at: usize, class: Id, mut bound: Bound) -> Option<Bound> {
        if let Some(value) = bound.values[at] {
            return (self.graph.egraph.find(value) == self.graph.egraph.find(class)).then_some(bound);
        }
        let mut equations = Vec::new();
        if !extents(&self.instance.of.params[at].1, self.graph.ty(class), &mut equations) {
            return None;
        }
        bound.values[at] = Some(class);
        bound.sizes.solve(&equations, &|s| self.instance.is_own(s)).then_some(bound)
    }

    fn nodes(&mut self, head: HeadId, parts: &[Pattern], class: Id, bound: &Bound) -> Vec<(Bound, Tree)> {
        let graph = self.graph;
        let family = graph.heads().get(head).family;
        let mut found = Vec::new();
        for node in graph.egraph[class].nodes.iter().filter(|node| node.family == family) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            let Some(equations) = self.apart.equations(graph, head, node.head) else { continue };
            let mut bound = bound.clone();
            if !bound.sizes.solve(&equations, &|s| self.instance.is_own(s)) {
                continue;
            }
            let mut partial = vec![(bound, Vec::new())];
            for (pattern, part) in parts.iter().zip(&node.parts) {
                let mut longer = Vec::new();
                for (bound, trees) in partial {
                    for (bound, tree) in self.pattern(pattern, *part, bound) {
                        let mut trees: Vec<Tree> = trees.clone();
                        trees.push(tree);
                        longer.push((bound, trees));
                    }
                }
                partial = longer;
            }
            found.extend(partial.into_iter().map(|(bound, trees)| (bound, Tree::Head(node.head, trees))));
        }
        found
    }
}

/// The extents of two types, in pairs; whether the types are the same but for them.
fn extents(rule: &Type, program: &Type, into: &mut Vec<(Size, Size)>) -> bool {
    match (rule, program) {
        (Type::Size, Type::Size) => true,
        (Type::Tensor(a), Type::Tensor(b)) => {
            into.extend(a.shape.iter().cloned().zip(b.shape.iter().cloned()));
            a.dtype == b.dtype && a.shape.len() == b.shape.len()
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| extents(a, b, into))
        }
        _ => false,
    }
}
