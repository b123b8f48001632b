//! Terms in operator form, each kept once: a head, and the nodes that it is applied to.
//!
//! Two terms have one node exactly if they are equal up to the names of what they bind. So terms
//! are compared by number, and however deep or shared, none is walked as a tree.

use super::Fault;
use rtv_semantics::alpha::{alpha_eq, alpha_key};
use rtv_semantics::derivation::{parts, with_parts};
use rtv_semantics::subst::{Fresh, renamed};
use rtv_semantics::term::{Form, Fun, Term, Var};
use rtv_semantics::types::Type;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Nodes of one derivation, those of its rules included.
const MAX_NODES: usize = 1 << 20;

/// The first id of the variables that stand for the parts in a head, which none of a program has.
const PLACES: u32 = 3_500_000_000;

/// A term with a variable for each part.
#[derive(Debug)]
pub struct Head {
    pub term: Term,
    /// The variables, of the types of the parts.
    pub places: Vec<Term>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    pub head: usize,
    pub parts: Vec<usize>,
}

/// What was met so far; the parts of a node come before it.
#[derive(Default)]
pub struct Nodes {
    heads: Vec<Head>,
    heads_by_key: FxHashMap<u128, Vec<usize>>,
    all: Vec<Node>,
    places: FxHashMap<Node, usize>,
}

impl Nodes {
    pub fn node(&self, at: usize) -> &Node {
        &self.all[at]
    }

    pub fn head(&self, at: usize) -> &Head {
        &self.heads[self.all[at].head]
    }

    pub fn ty(&self, at: usize) -> &Type {
        self.head(at).term.ty()
    }

    /// The node of a term in operator form whose variables stand for nodes; others stand for
    /// themselves.
    ///
    /// # Errors
    /// Where there are too many.
    pub fn enter(&mut self, root: &Term, given: &FxHashMap<Var, usize>) -> Result<usize, Fault> {
        // By address: the terms live as long as `root`.
        let mut done: FxHashMap<usize, usize> = FxHashMap::default();
        let mut open = vec![root.clone()];
        while let Some(term) = open.pop() {
            if done.contains_key(&term.address()) {
                continue;
            }
            if let Form::Var(var) = term.form()
                && let Some(node) = given.get(var)
            {
                done.insert(term.address(), *node);
                continue;
            }
            let parts = parts(&term);
            let missing: Vec<Term> =
                parts.iter().filter(|part| !done.contains_key(&part.address())).cloned().collect();
            if !missing.is_empty() {
                open.push(term);
                open.extend(missing);
                continue;
            }
            let parts: Vec<usize> = parts.iter().map(|part| done[&part.address()]).collect();
            let head = self.head_of(&term, &parts);
            done.insert(term.address(), self.place(Node { head, parts })?);
        }
        Ok(done[&root.address()])
    }

    /// The head of a node, applied to other nodes.
    ///
    /// # Errors
    /// Where these are not of the types of its parts.
    pub fn with_head_of(&mut self, like: usize, parts: Vec<usize>) -> Result<usize, Fault> {
        let head = self.all[like].head;
        let places = &self.heads[head].places;
        let fit = places.len() == parts.len()
            && places.iter().zip(&parts).all(|(place, part)| place.ty() == self.ty(*part));
        if !fit {
            return Err(Fault::Parts);
        }
        self.place(Node { head, parts })
    }

    /// Where a path leads from part to part.
    pub fn along(&self, from: usize, path: &[usize]) -> Option<usize> {
        path.iter().try_fold(from, |at, part| self.all[at].parts.get(*part).copied())
    }

    /// A node and those that it is made of, parts first, as far as they are not `done`.
    pub fn below(&self, root: usize, done: impl Fn(usize) -> bool) -> BTreeSet<usize> {
        let (mut found, mut open) = (BTreeSet::new(), vec![root]);
        while let Some(at) = open.pop() {
            if !done(at) && found.insert(at) {
                open.extend(&self.all[at].parts);
            }
        }
        found
    }

    /// The term of a node. Parts that are alike are shared; each head has binders of its own.
    pub fn term(&self, root: usize, fresh: &mut Fresh) -> Term {
        let mut built: FxHashMap<usize, Term> = FxHashMap::default();
        for at in self.below(root, |_| false) {
            let parts = self.all[at].parts.iter().map(|part| built[part].clone()).collect();
            built.insert(at, applied(&renamed(&self.head(at).term, fresh), parts, fresh));
        }
        built[&root].clone()
    }

    fn place(&mut self, node: Node) -> Result<usize, Fault> {
        if let Some(at) = self.places.get(&node) {
            return Ok(*at);
        }
        let at = self.all.len();
        if at >= MAX_NODES {
            return Err(Fault::TooMany("terms"));
        }
        self.places.insert(node.clone(), at);
        self.all.push(node);
        Ok(at)
    }

    /// The head of a term with parts of these nodes.
    fn head_of(&mut self, term: &Term, parts: &[usize]) -> usize {
        let place = |(k, part): (usize, &usize)| {
            let var = Var { id: PLACES + k as u32, name: "part".into() };
            Term::var(var, self.ty(*part).clone(), term.span())
        };
        let places: Vec<Term> = parts.iter().enumerate().map(place).collect();
        let bare = with_parts(term, places.clone());
        let key = alpha_key(&bare);
        let same = |known: &&usize| {
            let known = &self.heads[**known];
            let types = |terms: &[Term]| terms.iter().map(|term| term.ty().clone()).collect::<Vec<_>>();
            types(&known.places) == types(&places)
                && known.term.ty() == bare.ty()
                && alpha_eq(&known.term, &bare)
        };
        let alike = self.heads_by_key.entry(key).or_default();
        if let Some(known) = alike.iter().find(same) {
            return *known;
        }
        alike.push(self.heads.len());
        self.heads.push(Head { term: bare, places });
        self.heads.len() - 1
    }
}

/// A head with parts in its places. A component of a tuple that is at hand would lose the other ones.
fn applied(head: &Term, parts: Vec<Term>, fresh: &mut Fresh) -> Term {
    let span = head.span();
    match (head.form(), parts.as_slice()) {
        (Form::Call(Fun::Item(k), _), [tuple]) if matches!(tuple.form(), Form::Tuple(_)) => {
            let var = fresh.var(&Var { id: 0, name: "t".into() });
            let whole = Term::var(var.clone(), tuple.ty().clone(), span);
            Term::let_(var, tuple.clone(), Term::item(*k, whole, span), span)
        }
        _ => with_parts(head, parts),
    }
}
