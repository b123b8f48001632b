//! Which items of a file an item rests on.
//!
//! By the names in its text, which is more than it may use: a parameter that is called
//! like a function of the file counts as that function. An `op`, and a `fn` that hides an
//! operator of the library, can be meant by a sign (`+` by `add`), so every item counts as
//! resting on those of its file.

use crate::module::{fingerprint, subject};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Dfs, Walker};
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::lexer::{Tok, lex};
use rtv_grammar::prelude::Prelude;
use rtv_grammar::print::print_item;
use rtv_semantics::diag::FileId;
use rtv_semantics::program::ClaimKind;
use std::collections::{BTreeMap, BTreeSet};

/// The items of a file, in its order; an edge leads from an item to one it rests on.
pub struct Depends {
    graph: DiGraph<Text, ()>,
}

/// What an item says.
pub struct Text {
    /// As the printer writes it.
    pub canonical: String,
    pub names: BTreeSet<String>,
}

impl From<String> for Text {
    fn from(canonical: String) -> Text {
        Text { names: names(&canonical), canonical }
    }
}

impl Depends {
    pub fn of(items: &[Item]) -> Depends {
        let mut graph = DiGraph::new();
        let nodes: Vec<NodeIndex> =
            items.iter().map(|item| graph.add_node(Text::from(print_item(item)))).collect();
        let mut meant: BTreeMap<String, Vec<NodeIndex>> = BTreeMap::new();
        let mut signs = Vec::new();
        for (item, node) in items.iter().zip(&nodes) {
            let Some(name) = defined(item) else { continue };
            let is_op = matches!(&item.kind, ItemKind::Def(def) if def.kind == DefKind::Op);
            if is_op || Prelude::shared().meant(&name).is_some() {
                signs.push(*node);
            }
            meant.entry(name).or_default().push(*node);
        }
        for node in &nodes {
            let named = graph[*node].names.iter().filter_map(|name| meant.get(name)).flatten();
            let used: BTreeSet<NodeIndex> = named.chain(&signs).copied().filter(|n| n != node).collect();
            used.into_iter().for_each(|definition| {
                graph.add_edge(*node, definition, ());
            });
        }
        Depends { graph }
    }

    /// The places of the items that the one at `at` rests on, itself left out.
    pub fn reached(&self, at: usize) -> BTreeSet<usize> {
        let from = NodeIndex::new(at);
        Dfs::new(&self.graph, from).iter(&self.graph).filter(|n| *n != from).map(NodeIndex::index).collect()
    }

    /// The text of an item, then of those it rests on.
    pub fn texts(&self, at: usize) -> Vec<&Text> {
        let places = std::iter::once(at).chain(self.reached(at));
        places.map(|n| &self.graph[NodeIndex::new(n)]).collect()
    }

    /// Another one when the text of the item or of one it rests on changes, up to layout.
    pub fn key(&self, at: usize) -> String {
        let texts: Vec<&str> = self.texts(at).into_iter().map(|text| text.canonical.as_str()).collect();
        fingerprint(&texts.join("\n"))
    }
}

/// The name under which other items can use an item.
fn defined(item: &Item) -> Option<String> {
    match &item.kind {
        ItemKind::Const { name, .. } => Some(name.name.clone()),
        _ => {
            let usable = |kind: Option<ClaimKind>| matches!(kind, None | Some(ClaimKind::Monoid));
            subject(item).filter(|(_, kind)| usable(*kind)).map(|(name, _)| name)
        }
    }
}

/// The names in a text.
fn names(text: &str) -> BTreeSet<String> {
    let lexed = lex(FileId(0), text);
    let named = lexed.tokens.iter().filter(|token| token.kind == Tok::Id);
    named.map(|token| text[token.lo as usize..token.hi as usize].to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtv_grammar::parse;

    fn depends(text: &str) -> Depends {
        Depends::of(&parse(FileId(0), text).file.items)
    }

    const TEXT: &str = "rtl 1.0
        fn f(x: f32[]) -> f32[] { return x }
        fn g(x: f32[]) -> f32[] { return f(x) }
        fn h(x: f32[]) -> f32[] { return x }
        rule r(x: f32[]) { g(x) => x }
        rule s(x: f32[]) { h(x) => x }";

    #[test]
    fn a_claim_rests_on_what_its_definitions_use() {
        let found = depends(TEXT);
        assert_eq!(found.reached(3), BTreeSet::from([0, 1]));
        assert_eq!(found.reached(4), BTreeSet::from([2]));
    }

    #[test]
    fn a_key_changes_with_what_it_rests_on() {
        let (before, after) = (depends(TEXT), depends(&TEXT.replacen("return x }", "return x + x }", 1)));
        assert_ne!(before.key(3), after.key(3));
        assert_eq!(before.key(4), after.key(4));
        let layout = depends(&TEXT.replace("{ g(x)", "{\n   g(x)"));
        assert_eq!(before.key(3), layout.key(3));
    }

    #[test]
    fn a_sign_may_mean_an_operator_of_the_file() {
        let text = "rtl 1.0
            op add[*S, T: num](x: T[*S], y: T[*S]) -> T[*S] { return [x[*i] for *i in *S] }
            rule r(x: f32[]) { x + x => x }";
        assert_eq!(depends(text).reached(1), BTreeSet::from([0]));
        let text = "rtl 1.0
            fn mul(x: f32[], y: f32[]) -> f32[] { return x }
            fn half(x: f32[]) -> f32[] { return x }
            rule r(x: f32[]) { x * x => x }";
        assert_eq!(depends(text).reached(2), BTreeSet::from([0]));
    }
}
