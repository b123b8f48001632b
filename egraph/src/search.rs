//! Growing the graph: rules are matched and applied, round after round, until nothing new comes
//! of it or a limit is reached.
//!
//! Limits are looked at before every application, not between rounds. A rule that matches too
//! often rests for some rounds, longer each time. What makes terms longer is applied in the first
//! rounds only, the longer the fewer; and no term is written that costs more than the whole
//! program: nothing comes of one that could be cheaper.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

use egg::Id;
use rtv_semantics::derivation::{definition, parts};
use rtv_semantics::size::Size;
use rtv_semantics::subst::{Fresh, Subst};
use rtv_semantics::term::{Form, Fun, Term};

use crate::conditions::{Conditions, Refusal};
use crate::fingerprint::Fingerprints;
use crate::fold::Folding;
use crate::found::Found;
use crate::graph::{Graph, Root};
use crate::heads::HeadId;
use crate::matching::{Apart, Match, Matcher, Tree};
use crate::present::Present;
use crate::rule::{Instance, Pattern, Rule, Unusable};
use crate::work::Priced;

/// Partial matches of one rule in one round.
const MATCHES: usize = 20_000;
/// Matches after which a rule rests, at first, and for how many rounds.
const MANY: usize = 400;
const REST: usize = 2;

/// The reason of a union of a call and its body; that of an application is `a` and its number.
pub const DEFINITION: &str = "definition";

/// The rounds in which a side is looked for whose other side has so many more heads.
fn rounds(growth: isize) -> usize {
    match growth {
        ..=0 => usize::MAX,
        1 => 4,
        2 => 2,
        _ => 1,
    }
}

/// Bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Terms in the graph.
    pub nodes: usize,
    pub rounds: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: 3_000, rounds: 10 }
    }
}

/// Why a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// No rule has anything to add.
    Saturated,
    Nodes,
    Rounds,
    Time,
}

/// A rule at one place.
#[derive(Debug)]
pub struct Applied {
    pub instance: Arc<Instance>,
    pub sizes: Vec<Size>,
    pub values: Vec<Id>,
}

/// A side of an instance that is looked for.
struct Searched {
    instance: Arc<Instance>,
    from: usize,
    /// The heads of the other side, with the sizes of a match.
    written: FxHashMap<(HeadId, Vec<Size>), HeadId>,
    rests_until: usize,
    rested: u32,
    /// The rounds in which it is looked for.
    rounds: usize,
}

/// What was refused, and how often, by rule and reason.
pub type Refused = BTreeMap<usize, (Refusal, u64)>;

/// Gives the rules, at the choices of dtypes and ranks, that may stand in a graph of such terms, each once.
pub type Rules<'a> = dyn FnMut(&Present) -> Vec<Rule> + 'a;

pub struct Search<'a> {
    pub graph: Graph,
    pub rules: Vec<Rule>,
    pub conditions: Conditions<'a>,
    pub applications: Vec<Applied>,
    pub refused: Refused,
    /// How often each rule added something.
    pub fired: BTreeMap<usize, u64>,
    pub unusable: BTreeMap<usize, Unusable>,
    searched: Vec<Searched>,
    apart: Apart,
    found: Found,
    done: FxHashSet<(usize, Vec<Size>, Vec<Id>)>,
    defined: FxHashSet<Id>,
    folding: Folding,
    /// Where the invariants of the graph are checked.
    fingerprints: Option<Fingerprints>,
    /// The first rule that would have made two terms one that have different values.
    pub wrong: Option<usize>,
    /// Names for terms that are looked at and dropped, apart from those of the graph.
    looked_through: Fresh,
    prices: Priced<'a>,
    /// What the program costs.
    budget: f64,
    limits: Limits,
    out_of_time: &'a dyn Fn() -> bool,
}

impl<'a> Search<'a> {
    pub fn new(
        graph: Graph,
        conditions: Conditions<'a>,
        fingerprints: Option<Fingerprints>,
        mut prices: Priced<'a>,
        limits: Limits,
        out_of_time: &'a dyn Fn() -> bool,
    ) -> Search<'a> {
        let budget = graph.egraph.nodes().iter().map(|node| prices.head(graph.heads(), node.head)).sum();
        Search {
            prices,
            budget,
            graph,
            rules: Vec::new(),
            conditions,
            applications: Vec::new(),
            refused: Refused::new(),
            fired: BTreeMap::new(),
            unusable: BTreeMap::new(),
            searched: Vec::new(),
            apart: Apart::default(),
            found: Found::default(),
            done: FxHashSet::default(),
            defined: FxHashSet::default(),
            folding: Folding::default(),
            fingerprints,
            wrong: None,
            looked_through: Fresh::new(1 << 30),
            limits,
            out_of_time,
        }
    }

    /// Takes up the rules for what is in the graph by now.
    fn take_up(&mut self, rules: &mut Rules<'_>) {
        for rule in rules(&Present::in_graph(&self.graph)) {
            let known = self.rules.iter().position(|known| known.name == rule.name);
            let at = known.unwrap_or(self.rules.len());
            self.compile(at, &rule);
            match known {
                Some(at) => self.rules[at].claims.extend(rule.claims),
                None => self.rules.push(rule),
            }
        }
    }

    fn compile(&mut self, at: usize, rule: &Rule) {
        for claim in &rule.claims {
            match Instance::new(at, claim, &mut self.graph.egraph.analysis.heads) {
                Err(why) => drop(self.unusable.insert(at, why)),
                Ok(instance) => {
                    let instance = Arc::new(instance);
                    // From right to left only what is an equation.
                    let sides = if claim.claim.directed { 0..1 } else { 0..2 };
                    for from in sides.filter(|from| instance.determines(*from)) {
                        if instance.growth(from) > 0 && instance.is_plain(from) {
                            continue;
                        }
                        let (written, rounds) = (FxHashMap::default(), rounds(instance.growth(from)));
                        let instance = instance.clone();
                        let searched =
                            Searched { instance, from, written, rests_until: 0, rested: 0, rounds };
                        self.searched.push(searched);
                    }
                }
            }
        }
    }

    /// Applies rules until nothing is added or a limit is reached.
    pub fn run(&mut self, rules: &mut Rules<'_>) -> Ended {
        for round in 0..self.limits.rounds {
            if self.is_full() {
                return Ended::Nodes;
            }
            let before = self.size();
            let unfolded = self.unfold() | self.folding.fold(&mut self.graph, self.fingerprints.as_mut());
            self.graph.egraph.rebuild();
            self.found.new_round();
            self.take_up(rules);
            let mut resting = false;
            let mut found = Vec::new();
            for at in 0..self.searched.len() {
                if round >= self.searched[at].rounds {
                    continue;
                }
                if self.searched[at].rests_until > round {
                    resting = true;
                    continue;
                }
                if (self.out_of_time)() {
                    return Ended::Time;
                }
                let matches = self.matches(at, round);
                resting |= self.searched[at].rests_until > round;
                found.extend(matches.into_iter().map(|m| (at, m)));
            }
            let mut merged = unfolded;
            for (at, found) in found {
                if self.is_full() {
                    self.graph.egraph.rebuild();
                    return Ended::Nodes;
                }
                if (self.out_of_time)() {
                    self.graph.egraph.rebuild();
                    return Ended::Time;
                }
                merged |= self.apply(at, &found);
            }
            self.graph.egraph.rebuild();
            if !merged && before == self.size() && !resting {
                return Ended::Saturated;
            }
        }
        Ended::Rounds
    }

    /// Terms in the graph, those that only a derivation knows included.
    pub fn size(&self) -> usize {
        self.graph.egraph.nodes().len()
    }

    fn is_full(&self) -> bool {
        self.size() >= self.limits.nodes
    }

    /// Where a side stands, but for what was told in an earlier round.
    fn matches(&mut self, at: usize, round: usize) -> Vec<Match> {
        let Searched { instance, from, .. } = &self.searched[at];
        let Pattern::Head(head, _) = &instance.sides[*from].pattern else { return Vec::new() };
        let family = self.graph.heads().get(*head).family;
        let mut classes: Vec<Id> = self.graph.egraph.classes_for_op(&family).into_iter().flatten().collect();
        classes.sort_unstable();
        let graph = &self.graph;
        let mut matcher = Matcher { graph, apart: &mut self.apart, instance, budget: MATCHES };
        let count = self.found.look(at, *from, &classes, &mut matcher);
        let cut_short = matcher.budget == 0;
        let searched = &mut self.searched[at];
        if cut_short {
            // Not all of it was seen: the search is not at its end.
            searched.rests_until = round + 1;
        }
        if count > MANY << searched.rested {
            searched.rested += 1;
            searched.rests_until = round + (REST << searched.rested);
            return Vec::new();
        }
        self.found.take(at, &classes)
    }

    /// Whether the match told anything new.
    fn apply(&mut self, at: usize, found: &Match) -> bool {
        let Searched { instance, from, .. } = &self.searched[at];
        let (instance, from) = (instance.clone(), *from);
        let sizes: Option<Vec<Size>> =
            instance.of.syms.iter().map(|sym| found.sizes.get(sym).cloned()).collect();
        let values: Option<Vec<Id>> =
            found.values.iter().map(|value| value.map(|id| self.graph.egraph.find(id))).collect();
        let (Some(sizes), Some(values)) = (sizes, values) else { return false };
        if !self.done.insert((at, sizes.clone(), values.clone())) {
            return false;
        }
        let admitted =
            self.conditions.admit(&self.graph, &instance, &sizes, &values, &mut self.looked_through);
        if let Err(refusal) = admitted {
            self.refused.entry(instance.rule).or_insert((refusal, 0)).1 += 1;
            return false;
        }
        // Admitted, so that heads may come from it, whether or not a union comes of it.
        let application = self.applications.len();
        let applied = Applied { instance: instance.clone(), sizes: sizes.clone(), values: values.clone() };
        self.applications.push(applied);
        let root = Root::Side { application, right: from == 0 };
        let subst = instance.of.syms.iter().zip(&sizes);
        let subst = subst.fold(Subst::new(), |s, (sym, size)| s.with_size(sym, size.clone()));
        let mut writer = Writer {
            graph: &mut self.graph,
            searched: &mut self.searched[at],
            sizes: &sizes,
            subst,
            root,
            prices: &mut self.prices,
            budget: self.budget,
        };
        let Some(written) = writer.side(&values) else { return false };
        let matched = self.rebuilt(&found.tree, &values);
        if self.graph.ty(written) != self.graph.ty(matched) {
            return false;
        }
        if self.fingerprints.as_mut().is_some_and(|prints| prints.differ(&self.graph, matched, written)) {
            self.wrong.get_or_insert(instance.rule);
            return false;
        }
        let (left, right) = if from == 0 { (matched, written) } else { (written, matched) };
        let merged = self.graph.egraph.union_trusted(left, right, format!("a{application}"));
        if merged {
            *self.fired.entry(instance.rule).or_default() += 1;
        }
        merged
    }

    /// The term that was matched, as one of its own.
    fn rebuilt(&mut self, tree: &Tree, values: &[Id]) -> Id {
        match tree {
            Tree::Param(at) => values[*at],
            Tree::Head(head, parts) => {
                let parts = parts.iter().map(|part| self.rebuilt(part, values)).collect();
                self.graph.apply(*head, parts)
            }
        }
    }

    /// Puts the bodies of operators that are made of operators beside their calls.
    fn unfold(&mut self) -> bool {
        let mut calls: Vec<(Id, HeadId, Vec<Id>)> = Vec::new();
        for class in self.graph.egraph.classes() {
            for node in &class.nodes {
                calls.push((class.id, node.head, node.parts.to_vec()));
            }
        }
        calls.sort_unstable();
        let mut merged = false;
        for (_, head, parts) in calls {
            if self.is_full() {
                break;
            }
            let term = self.graph.heads().get(head).term.clone();
            if let Form::Call(Fun::Op(_), _) = term.form() {
                let call = self.graph.apply(head, parts.clone());
                if self.defined.insert(call) {
                    merged |= self.unfold_one(call, &term, &parts);
                }
            }
        }
        merged
    }

    /// `term` calls an operator on blanks, `call` on these parts.
    fn unfold_one(&mut self, call: Id, term: &Term, values: &[Id]) -> bool {
        let Some(form) = definition(term, &mut self.graph.fresh) else { return false };
        if form.dropped || !is_made_of_operators(&form.term) {
            return false;
        }
        let body = self.graph.add_over(&form.term, &Root::Body(call), &parts(term), values);
        if self.graph.ty(body) != self.graph.ty(call) {
            return false;
        }
        self.graph.egraph.union_trusted(call, body, DEFINITION)
    }
}

/// Whether a term applies an operator to anything.
fn is_made_of_operators(term: &Term) -> bool {
    let mut open = vec![term.clone()];
    while let Some(term) = open.pop() {
        if let Form::Call(Fun::Op(_), _) = term.form() {
            return true;
        }
        open.extend(parts(&term));
    }
    false
}

/// Writes the other side of a rule into the graph.
struct Writer<'a, 'p> {
    graph: &'a mut Graph,
    searched: &'a mut Searched,
    sizes: &'a [Size],
    subst: Subst,
    root: Root,
    prices: &'a mut Priced<'p>,
    /// What the heads of the side may cost together.
    budget: f64,
}

impl Writer<'_, '_> {
    /// Nothing where that is too expensive.
    fn side(&mut self, values: &[Id]) -> Option<Id> {
        let instance = self.searched.instance.clone();
        let to = 1 - self.searched.from;
        self.pattern(&instance.sides[to].pattern, values, &mut Vec::new())
    }

    fn pattern(&mut self, pattern: &Pattern, values: &[Id], path: &mut Vec<usize>) -> Option<Id> {
        match pattern {
            Pattern::Param(at) => Some(values[*at]),
            Pattern::Head(head, parts) => {
                let mut ids = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    path.push(at);
                    ids.push(self.pattern(part, values, path)?);
                    path.pop();
                }
                let head = self.head(*head, path);
                self.budget -= self.prices.head(self.graph.heads(), head);
                (self.budget >= 0.0).then(|| self.graph.apply(head, ids))
            }
        }
    }

    fn head(&mut self, head: HeadId, path: &[usize]) -> HeadId {
        let key = (head, self.sizes.to_vec());
        if let Some(known) = self.searched.written.get(&key) {
            return *known;
        }
        let pattern = self.graph.heads().get(head).term.clone();
        let term = self.subst.term(&pattern, &mut self.graph.fresh);
        let written = self.graph.head(&term, &self.root, path);
        self.searched.written.insert(key, written);
        written
    }
}
