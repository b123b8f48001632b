//! A program made cheaper.

use std::collections::BTreeMap;

use rtv_semantics::derivation::{Derivation, in_lets, operator_form};
use rtv_semantics::entail::Entails;
use rtv_semantics::program::{Function, Mode};
use rtv_semantics::size::Sym;
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::Term;
use rtv_semantics::types::Type;

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
}

/// What came of a search.
#[derive(Debug)]
pub struct Optimized {
    /// The body of the program that costs least, a `let` for each operation.
    pub body: Term,
    pub derivation: Derivation,
    /// The operators whose bodies took the place of their calls, by line of the derivation.
    pub definitions: BTreeMap<usize, String>,
    /// The costs of the program as it is and as it became; equal where it stays as it is.
    pub before: f64,
    pub after: f64,
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

/// The cheapest program that rules make of a function, and why it is equal to it.
pub fn optimize(function: &Function, rules: &mut Rules<'_>, settings: &Settings<'_>) -> Optimized {
    let mut fresh = Fresh::above([&function.body]).and_above(&function.facts);
    let source = operator_form(&function.body, &mut fresh).term;
    let mut graph = Graph::new(fresh, settings.short);
    let root = graph.add(&source, &Root::Source);
    let conditions = Conditions::new(&function.facts, settings.engine, settings.upto);
    let fingerprints = if settings.fingerprints { Fingerprints::of(function) } else { None };
    let priced = |fusion| Priced::by(Prices { sizes: settings.sizes, fusion });
    let mut search = Search::new(
        graph,
        conditions,
        fingerprints,
        priced(FUSIONS[0]),
        settings.limits,
        settings.out_of_time,
    );
    let ended = search.run(rules);
    let price = |term: &Term, search: &mut Search<'_>| {
        let body = in_lets(term, &mut search.graph.fresh);
        (settings.price)(&body).map(|price| (price, body))
    };
    let (before, body) = match price(&source, &mut search) {
        Some(priced) => priced,
        None => (f64::INFINITY, in_lets(&source, &mut search.graph.fresh)),
    };
    let mut best = (before, body, root);
    for fusion in FUSIONS {
        let found = extract(&mut search.graph, root, priced(fusion));
        let term = search.graph.term(found);
        if let Some((after, body)) = price(&term, &mut search)
            && after < best.0
        {
            best = (after, body, found);
        }
    }
    let (derivation, definitions) = explain(&mut search, root, best.2);
    Optimized {
        body: best.1,
        derivation,
        definitions,
        before,
        after: best.0,
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
