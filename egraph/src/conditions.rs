//! What must hold where a rule is applied, and whether it does.
//!
//! Sizes: the preconditions of the rule follow from those of the program. Values: over the
//! reals they are finite, but for rules that only move them; one that only one side computes
//! cannot fail. A rule from left to right alone asks, too, that its left side is defined there:
//! the union of the graph is an equation for both directions.

use rustc_hash::FxHashMap;
use std::fmt;

use egg::Id;
use rtv_semantics::defined::definedness;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::program::Mode;
use rtv_semantics::size::Size;
use rtv_semantics::subst::{Fresh, Subst};
use rtv_semantics::term::{Form, Term, Var};
use rtv_semantics::unfold::Limits;

use crate::graph::Graph;
use crate::heads::HeadId;
use crate::known::{Known, Looking};
use crate::rule::Instance;

/// Bounds on looking whether one left side is defined.
const LIMITS: Limits = Limits { nodes: 20_000, steps: 60_000, depth: 400 };

/// Why a rule that matches is not applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A condition on sizes that does not follow.
    Size(Cond),
    /// The value of a parameter may be infinite or undefined.
    NotFinite(String),
    /// The value of a parameter may be an error, which the other side would not have.
    MayFail(String),
    /// The left side may be undefined, or fail.
    LeftUndefined,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Size(cond) => write!(f, "`{cond}` does not follow"),
            Refusal::NotFinite(name) => write!(f, "`{name}` is not known to be finite"),
            Refusal::MayFail(name) => write!(f, "`{name}` may fail, and the other side does not compute it"),
            Refusal::LeftUndefined => f.write_str("the left side is not known to be defined"),
        }
    }
}

/// What the program says of sizes, and what was asked so far.
pub struct Conditions<'a> {
    facts: &'a [Cond],
    engine: &'a dyn Entails,
    /// Whether what is derived is an equation over the reals.
    real: bool,
    asked: FxHashMap<Cond, bool>,
    known: FxHashMap<Id, Known>,
    /// Whether evaluation cannot fail: of terms, by id, and of heads, what they are applied to being there.
    safe: FxHashMap<Id, bool>,
    safe_heads: FxHashMap<HeadId, bool>,
}

impl<'a> Conditions<'a> {
    pub fn new(facts: &'a [Cond], engine: &'a dyn Entails, upto: Mode) -> Conditions<'a> {
        Conditions {
            facts,
            engine,
            real: upto == Mode::Real,
            asked: FxHashMap::default(),
            known: FxHashMap::default(),
            safe: FxHashMap::default(),
            safe_heads: FxHashMap::default(),
        }
    }

    pub fn implied(&mut self, cond: &Cond) -> bool {
        match cond {
            Cond::True => return true,
            Cond::False => return false,
            Cond::And(parts) => return parts.iter().all(|part| self.implied(part)),
            _ => {}
        }
        if let Some(known) = self.asked.get(cond) {
            return *known;
        }
        let holds = self.engine.entails(self.facts, cond);
        self.asked.insert(cond.clone(), holds);
        holds
    }

    /// What is known of the numbers in the term of an id.
    pub fn known(&mut self, graph: &Graph, id: Id) -> Known {
        for below in graph.below(id, |id| self.known.contains_key(&id)) {
            let node = graph.egraph.id_to_node(below);
            let parts = node.parts.iter().map(|part| self.known[part]).collect();
            let known = self.head(graph, node.head, parts);
            self.known.insert(below, known);
        }
        self.known[&id]
    }

    fn head(&mut self, graph: &Graph, head: HeadId, parts: Vec<Known>) -> Known {
        let term = &graph.heads().get(head).term;
        if let Form::Var(_) = term.form() {
            return Known::INPUT;
        }
        let blanks = rtv_semantics::derivation::parts(term);
        self.look(term, blanks.iter().zip(parts).filter_map(|(blank, known)| Some((variable(blank)?, known))))
    }

    fn look(&mut self, term: &Term, vars: impl Iterator<Item = (Var, Known)>) -> Known {
        let vars = vars.collect();
        Looking { vars, implied: &mut |cond| self.implied(cond) }.term(term)
    }

    /// Whether evaluating the term of an id cannot fail.
    fn is_safe(&mut self, graph: &Graph, id: Id, fresh: &mut Fresh) -> bool {
        for below in graph.below(id, |id| self.safe.contains_key(&id)) {
            let node = graph.egraph.id_to_node(below);
            let parts = node.parts.iter().all(|part| self.safe[part]);
            let safe = parts && self.is_safe_head(graph, node.head, fresh);
            self.safe.insert(below, safe);
        }
        self.safe[&id]
    }

    fn is_safe_head(&mut self, graph: &Graph, head: HeadId, fresh: &mut Fresh) -> bool {
        if let Some(safe) = self.safe_heads.get(&head) {
            return *safe;
        }
        let safe = self.fails_nowhere(&graph.heads().get(head).term, fresh);
        self.safe_heads.insert(head, safe);
        safe
    }

    /// Whether everything that must hold for an evaluation of the term follows from the facts.
    fn fails_nowhere(&mut self, term: &Term, fresh: &mut Fresh) -> bool {
        let Ok(needs) = definedness(term, fresh, LIMITS) else { return false };
        needs.iter().all(|obligation| {
            let Some(need) = obligation.need.as_cond() else { return false };
            let all: Vec<Cond> = self.facts.iter().cloned().chain(obligation.facts()).collect();
            self.implied(&need) || self.engine.entails(&all, &need)
        })
    }

    /// Whether the rule may be applied with these sizes, by symbol of the rule, and values.
    pub fn admit(
        &mut self,
        graph: &Graph,
        instance: &Instance,
        sizes: &[Size],
        values: &[Id],
        fresh: &mut Fresh,
    ) -> Result<(), Refusal> {
        let given = instance.of.syms.iter().zip(sizes);
        let subst = given.clone().fold(Subst::new(), |s, (sym, size)| s.with_size(sym, size.clone()));
        let naturals = given.filter(|(sym, _)| sym.is_natural()).map(|(_, size)| Cond::non_neg(size.clone()));
        let facts = instance.of.facts.iter().map(|fact| subst.cond(fact));
        for cond in naturals.chain(facts) {
            if !self.implied(&cond) {
                return Err(Refusal::Size(cond));
            }
        }
        if self.real && !instance.of.moves {
            for ((var, ty), value) in instance.of.params.iter().zip(values) {
                let is_float = ty.as_tensor().is_some_and(|t| t.dtype.is_float());
                if is_float && !self.known(graph, *value).finite {
                    return Err(Refusal::NotFinite(var.name.to_string()));
                }
            }
        }
        for at in instance.lopsided() {
            if !self.is_safe(graph, values[at], fresh) {
                return Err(Refusal::MayFail(instance.of.params[at].0.name.to_string()));
            }
        }
        match instance.of.claim.directed {
            true if !self.left_is_defined(graph, instance, &subst, values, fresh) => {
                Err(Refusal::LeftUndefined)
            }
            _ => Ok(()),
        }
    }

    fn left_is_defined(
        &mut self,
        graph: &Graph,
        instance: &Instance,
        subst: &Subst,
        values: &[Id],
        fresh: &mut Fresh,
    ) -> bool {
        let left = subst.term(&instance.sides[0].term, fresh);
        if !self.fails_nowhere(&left, fresh) {
            return false;
        }
        let params = instance.of.params.iter().zip(values);
        let vars: Vec<(Var, Known)> =
            params.map(|((var, _), value)| (var.clone(), self.known(graph, *value))).collect();
        !self.real || self.look(&left, vars.into_iter()).finite
    }
}

fn variable(term: &Term) -> Option<Var> {
    match term.form() {
        Form::Var(var) => Some(var.clone()),
        _ => None,
    }
}
