//! Where sides of rules were found. A class is looked at again only where the graph has changed as far below it
//! as the side reaches.

use rustc_hash::FxHashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use egg::Id;

use crate::graph::Graph;
use crate::matching::{Match, Matcher};

/// What was found so far.
#[derive(Default)]
pub struct Found {
    /// By side and class.
    known: FxHashMap<(usize, Id), AtClass>,
    /// What a class is made of down to a depth, as a number: of the round.
    made_of: FxHashMap<(Id, usize), u64>,
}

/// What was found at one class.
struct AtClass {
    /// Nothing where the search was cut short: more may be found in another round.
    made_of: Option<u64>,
    /// Partial matches that were looked at.
    looked_at: usize,
    count: usize,
    /// Those that were not taken yet.
    matches: Vec<Match>,
}

impl Found {
    /// The graph has changed.
    pub fn new_round(&mut self) {
        self.made_of.clear();
    }

    /// How often the side stands at the classes, within the budget of the matcher.
    pub fn look(&mut self, side: usize, from: usize, classes: &[Id], matcher: &mut Matcher<'_>) -> usize {
        let depth = matcher.instance.sides[from].pattern.depth();
        let at_class = |class: &Id| {
            let made_of = self.made_of(matcher.graph, *class, depth);
            let known = self.known.get(&(side, *class));
            if let Some(known) = known.filter(|k| k.made_of == Some(made_of) && k.looked_at <= matcher.budget)
            {
                matcher.budget -= known.looked_at;
                return known.count;
            }
            let before = matcher.budget;
            let matches = matcher.at(from, *class);
            let (count, looked_at) = (matches.len(), before - matcher.budget);
            let made_of = (matcher.budget > 0).then_some(made_of);
            self.known.insert((side, *class), AtClass { made_of, looked_at, count, matches });
            count
        };
        classes.iter().map(at_class).sum()
    }

    /// What was found at the classes and not taken before.
    pub fn take(&mut self, side: usize, classes: &[Id]) -> Vec<Match> {
        let taken =
            |class: &Id| self.known.get_mut(&(side, *class)).map(|known| std::mem::take(&mut known.matches));
        classes.iter().filter_map(taken).flatten().collect()
    }

    fn made_of(&mut self, graph: &Graph, class: Id, depth: usize) -> u64 {
        if depth == 0 {
            return 0;
        }
        if let Some(known) = self.made_of.get(&(class, depth)) {
            return *known;
        }
        let mut hasher = DefaultHasher::new();
        for node in &graph.egraph[class].nodes {
            (node.head, &node.parts).hash(&mut hasher);
            node.parts.iter().for_each(|part| self.made_of(graph, *part, depth - 1).hash(&mut hasher));
        }
        let made_of = hasher.finish();
        self.made_of.insert((class, depth), made_of);
        made_of
    }
}
