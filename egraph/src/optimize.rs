//! A program made cheaper.

use std::collections::BTreeMap;

use egg::Id;
use rtv_semantics::derivation::{Derivation, in_lets, operator_form};
use rtv_semantics::entail::Entails;
use rtv_semantics::program::{Function, Mode};
use rtv_semantics::size::Sym;
use rtv_semantics::subst::{Fresh, lets};
use rtv_semantics::term::{Form, Fun, Term};
use rtv_semantics::types::Type;
use rustc_hash::FxHashSet;

use crate::conditions::{Conditions, Refusal};
use crate::explain::explain;
use crate::extract::extract;
use crate::fingerprint::Fingerprints;
use crate::graph::{Graph, Root};
use crate::rule::{Rule, Unusable};
use crate::search::{Ended, Limits, Rules, Search};
use crate::work::{Fusion, Priced, Prices};

/// How much of the bytes of elementwise heads is paid for: a program is looked for at each.
const FUSIONS: [Fusion; 3] = [Fusion(0.1), Fusion(0.4), Fusion(1.0)];

/// How often programs are looked for at one of these, until there is a cheaper one.
const TRIES: usize = 4;

/// What a search needs from outside.
pub struct Settings<'a> {
    /// The mode of the equation that is derived.
    pub upto: Mode,
    pub limits: Limits,
    pub engine: &'a dyn Entails,
    /// Whether the time of the search is over.
    pub out_of_time: &'a dyn Fn() -> bool,
    /// The size at which each symbol is priced.
    pub sizes: &'a dyn Fn(&Sym) -> f64,
    /// Whether terms that are made one are compared at a random input, too.
    pub fingerprints: bool,
    /// Whether the derivation is to be made short, which takes time in large graphs.
    pub short: bool,
    /// The cost of a whole program, given as its body; `None` where it cannot be told.
    pub price: &'a dyn Fn(&Term) -> Option<f64>,
    /// Its costs at other sizes: a program that is dearer than the source at none of them is preferred.
    pub elsewhere: &'a dyn Fn(&Term) -> Vec<f64>,
}

/// What came of a search.
#[derive(Debug)]
pub struct Optimized {
    /// The body of the program that costs least, a `let` for each operation.
    pub body: Term,
    pub derivation: Derivation,
    /// By line of the derivation, the operators whose bodies took the place of their calls, and the literals
    /// that took that of constants.
    pub replaced: BTreeMap<usize, String>,
    /// The costs of the program as it is and as it became; equal where it stays as it is, or became one of
    /// fewer operations.
    pub before: f64,
    pub after: f64,
    /// Operations of the program that it became.
    pub operations: usize,
    /// The costs before and after at other sizes; none where the program stays as it is.
    pub elsewhere: Vec<(f64, f64)>,
    pub ended: Ended,
    pub nodes: usize,
    /// The rules that were taken up.
    pub rules: Vec<Rule>,
    /// How often rules made two terms one, by place in the list of rules.
    pub fired: BTreeMap<usize, u64>,
    /// Rules that matched and were not applied: why at first, and how often.
    pub refused: BTreeMap<usize, (Refusal, u64)>,
    pub unusable: BTreeMap<usize, Unusable>,
    /// A rule, by place, that would have made two terms one whose values differ at a random input: it is
    /// wrong, or was applied where it does not hold.
    pub wrong: Option<usize>,
    /// Types that a rule would have made one: an error of the rule or of this crate.
    pub clash: Option<(Type, Type)>,
}

/// Whether one program, by its cost and the number of its operations, is cheaper than another: or as cheap, of
/// fewer operations.
pub fn is_cheaper(one: (f64, usize), other: (f64, usize)) -> bool {
    let margin = 1e-9 * other.0;
    one.0 < other.0 - margin || (one.0 <= other.0 + margin && one.1 < other.1)
}

/// A program, as a term of the graph.
struct Candidate {
    cost: f64,
    operations: usize,
    body: Term,
    id: Id,
}

impl Candidate {
    /// Nothing where it cannot be priced.
    fn of(id: Id, search: &mut Search<'_>, settings: &Settings<'_>) -> Option<Candidate> {
        let candidate = Candidate::without_price(id, search);
        (settings.price)(&candidate.body).map(|cost| Candidate { cost, ..candidate })
    }

    fn without_price(id: Id, search: &mut Search<'_>) -> Candidate {
        let term = search.graph.term(id);
        let body = in_lets(&term, &mut search.graph.fresh);
        Candidate { cost: f64::INFINITY, operations: operations(&body), body, id }
    }

    fn is_cheaper(&self, other: &Candidate) -> bool {
        is_cheaper((self.cost, self.operations), (other.cost, other.operations))
    }
}

/// The operations of a body, but for those that the language leaves unsaid.
fn operations(body: &Term) -> usize {
    let is_said = |value: &Term| match value.form() {
        Form::Call(Fun::Op(instance), _) => &*instance.name != "expand",
        _ => true,
    };
    lets(body).0.into_iter().filter(|(_, value)| is_said(value)).count()
}

/// The cheapest of the programs that are cheaper than the source, or the source; with the costs of both
/// at other sizes. One that is dearer than the source at none of them comes first.
fn cheapest(
    source: Candidate,
    cheaper: Vec<Candidate>,
    settings: &Settings<'_>,
) -> (Candidate, Vec<(f64, f64)>) {
    if cheaper.is_empty() {
        return (source, Vec::new());
    }
    let before = (settings.elsewhere)(&source.body);
    let mut best: Option<(bool, Candidate, Vec<f64>)> = None;
    for candidate in cheaper {
        let after = (settings.elsewhere)(&candidate.body);
        let dominates = after.iter().zip(&before).all(|(after, before)| *after <= before * (1.0 + 1e-9));
        let is_better = |(best_dominates, best, _): &(bool, Candidate, Vec<f64>)| {
            (dominates && !best_dominates) || (dominates == *best_dominates && candidate.is_cheaper(best))
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some((dominates, candidate, after));
        }
    }
    let (_, best, after) = best.expect("invariant: there is one");
    (best, before.into_iter().zip(after).collect())
}

fn priced<'a>(fusion: Fusion, settings: &'a Settings<'_>) -> Priced<'a> {
    Priced::by(Prices { sizes: settings.sizes, fusion })
}

/// The programs that are cheaper than the source, of those that are the cheapest by the prices of their heads; and whether
/// the graph was small enough to be gone through.
fn cheaper(search: &mut Search<'_>, source: &Candidate, settings: &Settings<'_>) -> (Vec<Candidate>, bool) {
    // Where no class is of two terms, there is no program but the source.
    let fusions = if search.graph.has_choices() { &FUSIONS[..] } else { &[] };
    let (mut cheaper, mut all_whole): (Vec<Candidate>, bool) = (Vec::new(), true);
    let mut seen = FxHashSet::from_iter([source.id]);
    for fusion in fusions {
        let mut prices = priced(*fusion, settings);
        for _ in 0..TRIES {
            let (found, whole) = extract(&mut search.graph, source.id, &mut prices);
            all_whole &= whole;
            let best =
                cheaper.iter().fold(source, |best, other| if other.is_cheaper(best) { other } else { best });
            let Some(found) = found.filter(|found| *found != best.id) else { break };
            let of_best = search.graph.heads_below(best.id);
            let is_new = seen.insert(found);
            if let Some(candidate) = is_new.then(|| Candidate::of(found, search, settings)).flatten() {
                let is_best = candidate.is_cheaper(best);
                if candidate.is_cheaper(source) {
                    cheaper.push(candidate);
                }
                if is_best {
                    break;
                }
            }
            if !whole || (settings.out_of_time)() {
                break;
            }
            // By the prices of its heads it is the cheapest, and it is not: some are too low.
            let mut heads = search.graph.heads_below(found);
            heads.retain(|head| !of_best.contains(head));
            prices.raise(&heads);
        }
    }
    (cheaper, all_whole)
}

/// The cheapest program that rules make of a function, and why it is equal to it.
pub fn optimize(function: &Function, rules: &mut Rules<'_>, settings: &Settings<'_>) -> Optimized {
    let mut fresh = Fresh::above([&function.body]).and_above(&function.facts);
    let source = operator_form(&function.body, &mut fresh).term;
    let mut graph = Graph::new(fresh, settings.short);
    let root = graph.add(&source, &Root::Source);
    let conditions = Conditions::new(&function.facts, settings.engine, settings.upto);
    let fingerprints = if settings.fingerprints { Fingerprints::of(function) } else { None };
    let mut search = Search::new(
        graph,
        conditions,
        fingerprints,
        priced(FUSIONS[0], settings),
        settings.limits,
        settings.out_of_time,
    );
    let mut ended = search.run(rules);
    let source = match Candidate::of(root, &mut search, settings) {
        Some(source) => source,
        None => Candidate::without_price(root, &mut search),
    };
    let before = source.cost;
    let (cheaper, whole) = cheaper(&mut search, &source, settings);
    if !whole {
        ended = Ended::Nodes;
    }
    let (Candidate { cost: after, operations, body, id }, elsewhere) = cheapest(source, cheaper, settings);
    let (derivation, replaced) = explain(&mut search, root, id);
    Optimized {
        body,
        derivation,
        replaced,
        before,
        after,
        operations,
        elsewhere,
        ended,
        nodes: search.size(),
        rules: search.rules,
        fired: search.fired,
        refused: search.refused,
        unusable: search.unusable,
        wrong: search.wrong,
        clash: search.graph.clash().cloned(),
    }
}
