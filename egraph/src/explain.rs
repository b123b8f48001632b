//! Why two terms of the graph are equal, as a derivation that names no graph.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use egg::{Id, TreeTerm};
use rtv_semantics::derivation::{Application, Built, Derivation, Head, Line, Used, Why};
use rtv_semantics::term::{Form, Fun};

use crate::fold::CONSTANT;
use crate::graph::{Node, Root};
use crate::heads::HeadId;
use crate::search::{Applied, DEFINITION, Search};

/// How the term of one id became that of another, which is in its class; and by line the operators whose
/// definitions are used, and the literals of constants. That a term is itself needs no line.
pub fn explain(search: &mut Search<'_>, from: Id, to: Id) -> (Derivation, BTreeMap<usize, String>) {
    if from == to {
        return Default::default();
    }
    let explanation = search.graph.egraph.explain_id_equivalence(from, to);
    let mut telling = Telling {
        search,
        told: Derivation::default(),
        terms: FxHashMap::default(),
        ids: FxHashMap::default(),
        applications: FxHashMap::default(),
        trees: FxHashMap::default(),
        replaced: BTreeMap::new(),
    };
    let whole = telling.chain(&explanation.explanation_trees);
    // The last line is about the program and what it became, also where that is the same.
    let is_last = |used: Used| used.forward && used.line + 1 == telling.told.lines.len();
    if !whole.line.is_some_and(is_last) {
        let why = Why::Chain(whole.line.into_iter().collect());
        telling.told.lines.push(Line { left: whole.first, right: whole.last, why });
    }
    (telling.told, telling.replaced)
}

/// Terms by place, and the line that equates them, where they are two.
#[derive(Clone, Copy)]
struct Step {
    first: usize,
    last: usize,
    line: Option<Used>,
}

struct Telling<'a, 'b> {
    search: &'a Search<'b>,
    told: Derivation,
    terms: FxHashMap<Built, usize>,
    ids: FxHashMap<Id, usize>,
    /// By number in the search.
    applications: FxHashMap<usize, usize>,
    /// By address; the explanation outlives the telling.
    trees: FxHashMap<usize, Step>,
    replaced: BTreeMap<usize, String>,
}

impl Telling<'_, '_> {
    fn chain(&mut self, trees: &[Rc<TreeTerm<Node>>]) -> Step {
        let steps: Vec<Step> = trees.iter().map(|tree| self.tree(tree)).collect();
        let mut used: Vec<Used> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            if at > 0 {
                used.extend(self.rewritten(&steps[at - 1], step, [&trees[at - 1], &trees[at]]));
            }
            used.extend(step.line);
        }
        let (first, last) = (steps[0].first, steps[steps.len() - 1].last);
        let line = match used.as_slice() {
            [] => None,
            [one] => Some(*one),
            _ => Some(self.line(first, last, Why::Chain(used))),
        };
        Step { first, last, line }
    }

    /// The line by which the end of one step becomes the begin of the next.
    fn rewritten(&mut self, before: &Step, after: &Step, trees: [&TreeTerm<Node>; 2]) -> Option<Used> {
        let [left_tree, tree] = trees;
        let (reason, forward) = match (&tree.forward_rule, &tree.backward_rule) {
            (Some(reason), _) => (reason.as_str(), true),
            (_, Some(reason)) => (reason.as_str(), false),
            _ => return None,
        };
        let (left, right) = if forward { (before.last, after.first) } else { (after.first, before.last) };
        let why = match reason {
            DEFINITION => Why::Definition,
            CONSTANT => Why::Constant,
            _ => {
                let number = reason[1..].parse().expect("invariant: an application's reason is its number");
                Why::Rule { application: self.application(number), forward: true }
            }
        };
        let Used { line, .. } = self.line(left, right, why);
        let told = match reason {
            DEFINITION => self.operator(if forward { left_tree } else { tree }),
            CONSTANT => {
                let (computed, literal) = if forward { (left_tree, tree) } else { (tree, left_tree) };
                // Not where a number is only written in another way.
                if self.literal(computed).is_none() { self.literal(literal) } else { None }
            }
            _ => None,
        };
        self.replaced.extend(told.map(|told| (line, told)));
        Some(Used { line, forward })
    }

    /// The operator that a term calls.
    fn operator(&self, tree: &TreeTerm<Node>) -> Option<String> {
        match self.search.graph.heads().get(tree.node.head).term.form() {
            Form::Call(Fun::Op(instance), _) => Some(instance.name.to_string()),
            _ => None,
        }
    }

    /// The text of a literal.
    fn literal(&self, tree: &TreeTerm<Node>) -> Option<String> {
        match self.search.graph.heads().get(tree.node.head).term.form() {
            Form::Lit(lit) => Some(lit.text()),
            _ => None,
        }
    }

    fn tree(&mut self, tree: &Rc<TreeTerm<Node>>) -> Step {
        let address = Rc::as_ptr(tree) as usize;
        if let Some(step) = self.trees.get(&address) {
            return *step;
        }
        let parts: Vec<Step> = tree.child_proofs.iter().map(|proof| self.chain(proof)).collect();
        let first = self.term(tree.node.head, parts.iter().map(|part| part.first).collect());
        let last = self.term(tree.node.head, parts.iter().map(|part| part.last).collect());
        let line = (first != last).then(|| {
            let lines = parts.iter().map(|part| part.line).collect();
            self.line(first, last, Why::Parts(lines))
        });
        let step = Step { first, last, line };
        self.trees.insert(address, step);
        step
    }

    fn line(&mut self, left: usize, right: usize, why: Why) -> Used {
        let line = Line { left, right, why };
        let at = self.told.lines.iter().position(|known| *known == line).unwrap_or_else(|| {
            self.told.lines.push(line);
            self.told.lines.len() - 1
        });
        Used { line: at, forward: true }
    }

    fn term(&mut self, head: HeadId, parts: Vec<usize>) -> usize {
        let head = self.head(head);
        let built = Built { head, parts };
        if let Some(known) = self.terms.get(&built) {
            return *known;
        }
        self.told.terms.push(built.clone());
        let at = self.told.terms.len() - 1;
        self.terms.insert(built, at);
        at
    }

    fn head(&mut self, head: HeadId) -> Head {
        let (root, path) = self.search.graph.origin(head).clone();
        match root {
            Root::Source => Head::Source(path),
            Root::Side { application, right } => {
                Head::Side { application: self.application(application), right, path }
            }
            Root::Body(id) => Head::Body { of: self.id(id), path },
            Root::Constant(id) => Head::Constant { of: self.id(id) },
        }
    }

    /// The own term of an id.
    fn id(&mut self, id: Id) -> usize {
        if let Some(at) = self.ids.get(&id) {
            return *at;
        }
        let node = self.search.graph.egraph.id_to_node(id).clone();
        let parts = node.parts.iter().map(|part| self.id(*part)).collect();
        let at = self.term(node.head, parts);
        self.ids.insert(id, at);
        at
    }

    fn application(&mut self, number: usize) -> usize {
        if let Some(at) = self.applications.get(&number) {
            return *at;
        }
        let Applied { instance, sizes, values } = &self.search.applications[number];
        let values = values.iter().map(|id| self.id(*id)).collect();
        let claim = &instance.of.claim;
        let application = Application {
            rule: Arc::clone(&self.search.rules[instance.rule].name),
            dtypes: claim.dtypes.clone(),
            rank: claim.ranks.first().map(|(_, extents)| extents.len()),
            sizes: sizes.clone(),
            values,
        };
        self.told.applications.push(application);
        let at = self.told.applications.len() - 1;
        self.applications.insert(number, at);
        at
    }
}
