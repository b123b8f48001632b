//! The values inside a term: which operators it applies to what, and what they give on
//! one input.

use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};
use rtv_semantics::diag::Span;
use rtv_semantics::eval::{Datum, Env, EvalError, Limits, eval};
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{Form, Fun, Instance, Term, Var};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Functions of the user inside one another whose steps are shown.
const MAX_DEPTH: usize = 6;

/// Steps of one term that are evaluated.
const MAX_STEPS: usize = 200;

/// An operator applied, or a comprehension: what it is in the text and what it gives.
#[derive(Clone, Debug)]
pub struct Step {
    pub span: Span,
    /// Calls of the user's functions around it.
    pub depth: usize,
    /// The name that a `let` gives it.
    pub bound: Option<Arc<str>>,
    /// What it applies.
    pub operator: Option<Arc<str>>,
    /// Whether it is the result.
    pub last: bool,
    pub value: Result<Datum, EvalError>,
}

/// The tensors that a term computes, each once; an edge leads from one to another that
/// is computed from it. Terms inside comprehensions belong to these.
struct Dataflow {
    graph: DiGraph<Named, ()>,
    by_address: BTreeMap<usize, NodeIndex>,
    /// The values of `let`, by what they are computed from.
    scope: BTreeMap<u32, BTreeSet<NodeIndex>>,
}

/// A term, and the variable of the `let` whose value it is.
struct Named {
    term: Term,
    var: Option<Var>,
}

impl Dataflow {
    fn of(term: &Term) -> Dataflow {
        let (by_address, scope) = (BTreeMap::new(), BTreeMap::new());
        let mut flow = Dataflow { graph: DiGraph::new(), by_address, scope };
        flow.visit(term);
        flow
    }

    /// The nodes that a term is computed from: itself, if it is one.
    fn visit(&mut self, term: &Term) -> BTreeSet<NodeIndex> {
        if let Some(node) = self.by_address.get(&term.address()) {
            return BTreeSet::from([*node]);
        }
        match term.form() {
            Form::Var(var) => self.scope.get(&var.id).cloned().unwrap_or_default(),
            Form::Let(var, value, body) => {
                let from = self.visit(value);
                let from = self.node(value, Some(var), from);
                self.scope.insert(var.id, from);
                self.visit(body)
            }
            Form::Call(Fun::Op(_), args) => {
                let from = args.iter().flat_map(|arg| self.visit(arg)).collect();
                self.node(term, None, from)
            }
            Form::Comp(_, body) => {
                let from = self.outer(body);
                self.node(term, None, from)
            }
            Form::Reduce(reduce) => {
                let from = self.outer(&reduce.body);
                self.node(term, None, from)
            }
            Form::Call(_, parts) | Form::Tuple(parts) => parts.iter().flat_map(|p| self.visit(p)).collect(),
            Form::Read(base, _) => self.visit(base),
            Form::If(cond, then, otherwise) => {
                [cond, then, otherwise].into_iter().flat_map(|part| self.visit(part)).collect()
            }
            Form::Size(_) | Form::Lit(_) | Form::Loop(_) | Form::Write(_) => BTreeSet::new(),
        }
    }

    /// What the body of a comprehension takes from around it.
    fn outer(&self, body: &Term) -> BTreeSet<NodeIndex> {
        let free = rtv_semantics::subst::free_vars(body);
        free.iter().filter_map(|var| self.scope.get(&var.id)).flatten().copied().collect()
    }

    fn node(&mut self, term: &Term, var: Option<&Var>, from: BTreeSet<NodeIndex>) -> BTreeSet<NodeIndex> {
        let known = self.by_address.get(&term.address()).copied();
        let node = known.unwrap_or_else(|| {
            let node = self.graph.add_node(Named { term: term.clone(), var: None });
            self.by_address.insert(term.address(), node);
            from.into_iter().for_each(|source| {
                self.graph.add_edge(source, node, ());
            });
            node
        });
        if let Some(var) = var {
            self.graph[node].var = Some(var.clone());
        }
        BTreeSet::from([node])
    }
}

/// What each step of a term gives in an environment, operands before what is computed
/// from them.
pub fn steps(term: &Term, env: &Env, domain: Domain, limits: &Limits) -> Vec<Step> {
    let mut found = Vec::new();
    walk(term, &mut env.clone(), domain, limits, 0, &mut found);
    found
}

fn walk(term: &Term, env: &mut Env, domain: Domain, limits: &Limits, depth: usize, into: &mut Vec<Step>) {
    let flow = Dataflow::of(term);
    let result = result(term).address();
    let order = toposort(&flow.graph, None).expect("invariant: a term is not inside itself");
    for node in order {
        if into.len() >= MAX_STEPS {
            return;
        }
        let Named { term, var } = &flow.graph[node];
        if let Form::Call(Fun::Op(instance), args) = term.form()
            && !instance.is_op
            && depth < MAX_DEPTH
        {
            let values: Result<Vec<Datum>, EvalError> =
                args.iter().map(|arg| eval(arg, env, domain, limits)).collect();
            if let Ok(values) = values
                && enters(instance, &values, env, domain, limits)
            {
                let mut inner = env.clone();
                inner.vars.extend(bound(instance, values));
                walk(&instance.body, &mut inner, domain, limits, depth + 1, into);
            }
        }
        let value = eval(term, env, domain, limits);
        if let (Some(var), Ok(value)) = (var, &value) {
            env.vars.insert(var.clone(), value.clone());
        }
        if !matches!(term.form(), Form::Var(_) | Form::Lit(_) | Form::Size(_)) {
            let operator = match term.form() {
                Form::Call(Fun::Op(instance), _) => Some(instance.name.clone()),
                _ => None,
            };
            let bound = var.as_ref().map(|var| var.name.clone());
            let last = depth == 0 && term.address() == result;
            into.push(Step { span: term.span(), depth, bound, operator, last, value });
        }
    }
}

/// What a term gives, without the `let`s around it.
fn result(mut term: &Term) -> &Term {
    while let Form::Let(_, _, body) = term.form() {
        term = body;
    }
    term
}

/// The parameters of a call with their values.
fn bound(instance: &Instance, values: Vec<Datum>) -> impl Iterator<Item = (Var, Datum)> {
    instance.params.iter().map(|(var, _)| var.clone()).zip(values)
}

/// Whether the preconditions of a call hold, so that there are steps inside it.
fn enters(instance: &Instance, values: &[Datum], env: &Env, domain: Domain, limits: &Limits) -> bool {
    let mut inner = env.clone();
    inner.vars.extend(bound(instance, values.to_vec()));
    let holds =
        |value: Datum| value.as_tensor().and_then(Tensor::item).and_then(Value::as_bool) == Some(true);
    instance.requires.iter().all(|r| eval(&r.cond, &inner, domain, limits).is_ok_and(holds))
}
