//! Elaboration: from the syntax tree to the typed core.
//!
//! A definition is elaborated for one choice of static parameters and argument
//! types, sizes staying symbolic: calls become instances, names are resolved,
//! broadcasting and promotion are written out, index functions are computed. A
//! rank variable is a list of extents; for a claim about any rank it is a single
//! group extent, and what would need to look inside the group is refused.
//!
//! Failure is a [`Stop`]: a diagnostic not yet reported, or the echo of one that
//! was. A statement that fails is reported, its names are poisoned, and the rest
//! is still checked.

mod asserted;
mod assign;
mod bind;
mod broadcast;
mod call;
mod comprehension;
mod data;
mod defs;
mod elements;
mod expr;
mod group;
mod indexing;
mod item;
mod laws;
mod monoid;
mod operator;
mod pattern;
mod refuse;
mod shape;
mod statement;
mod test;
mod tuple;
mod value;

pub use asserted::{Asserted, Probe, Reading, Spoken};
pub use defs::{Defs, Entry, Library, Origin};
pub use expr::scalar_function;
pub use group::every_axis;
pub use item::{Choice, Ranks, Schema, dtype_variables, has_rank_variables, rank_text};
pub use operator::{UNNAMED, operator_name};
pub use test::{Given, OuterCall, class_of};

use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::term::{Declared, Term, Var};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use value::Value;

/// Calls nested deeper than this are refused: a recursive definition has no
/// finite unfolding.
const MAX_CALL_DEPTH: u32 = 64;

/// Calls unfolded for one item; functions that call each other twice grow beyond it.
const MAX_INSTANCES: u32 = 20_000;

/// Why elaboration of a part ended.
#[derive(Clone, Debug)]
pub enum Stop {
    Report(Box<Diagnostic>),
    /// Already reported.
    Poisoned,
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Stop {
        Stop::Report(Box::new(diagnostic))
    }
}

pub(crate) type Result<T> = std::result::Result<T, Stop>;

/// `Err` of a coded error at a place.
pub(crate) fn fail<T>(code: u16, span: Span, message: impl Into<String>) -> Result<T> {
    Err(Diagnostic::error(Code(code), span, message).into())
}

/// An elaboration in progress.
pub struct Lower<'a> {
    defs: &'a Defs,
    entails: &'a dyn Entails,
    next_id: u32,
    /// What is known about sizes at this point.
    facts: Vec<Cond>,
    frame: Frame,
    diagnostics: Vec<Diagnostic>,
    depth: u32,
    /// Calls unfolded for the current item.
    instances: u32,
    groups: group::Groups,
    /// Integer scalars that stand as entries of index tuples.
    data: BTreeMap<Sym, Term>,
    /// The monoids that were met, at a dtype.
    monoids: BTreeMap<(String, Vec<DType>), Arc<Declared>>,
    /// Those whose laws may be used.
    laws: BTreeSet<String>,
    /// Size preconditions that cannot be shown become entry checks instead of errors.
    lenient: bool,
}

/// The names of one definition.
#[derive(Default)]
struct Frame {
    names: Vec<(String, Value)>,
    /// Nesting of comprehensions around the current expression.
    comprehensions: u32,
    /// Whether the text belongs to the operator library.
    library: bool,
}

impl<'a> Lower<'a> {
    pub fn new(defs: &'a Defs, entails: &'a dyn Entails) -> Lower<'a> {
        Lower {
            defs,
            entails,
            next_id: 0,
            facts: Vec::new(),
            frame: Frame::default(),
            diagnostics: Vec::new(),
            depth: 0,
            instances: 0,
            groups: group::Groups::default(),
            data: BTreeMap::new(),
            monoids: BTreeMap::new(),
            laws: BTreeSet::new(),
            lenient: false,
        }
    }

    /// Takes the monoids of these names at their word: their laws are proved.
    pub fn with_laws(self, laws: BTreeSet<String>) -> Lower<'a> {
        Lower { laws, ..self }
    }

    fn fresh_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    fn fresh_sym(&mut self, kind: SymKind, name: &str) -> Sym {
        Sym::new(self.fresh_id(), kind, name)
    }

    fn fresh_var(&mut self, name: &str) -> Var {
        Var { id: self.fresh_id(), name: name.into() }
    }

    fn lookup(&self, name: &str) -> Option<&Value> {
        self.frame.names.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    fn bind(&mut self, name: &str, value: Value) {
        self.frame.names.push((name.to_string(), value));
    }

    /// Runs `f` with extra facts and names in scope, and forgets both after.
    fn scoped<T>(&mut self, facts: Vec<Cond>, f: impl FnOnce(&mut Self) -> T) -> T {
        let (known, names) = (self.facts.len(), self.frame.names.len());
        self.facts.extend(facts);
        let result = f(self);
        self.facts.truncate(known);
        self.frame.names.truncate(names);
        result
    }

    fn decide(&self, cond: &Cond) -> Option<bool> {
        match cond {
            Cond::True => Some(true),
            Cond::False => Some(false),
            _ => self.entails.decide(&self.facts, cond),
        }
    }

    fn holds(&self, cond: &Cond) -> bool {
        *cond == Cond::True || (*cond != Cond::False && self.entails.entails(&self.facts, cond))
    }

    /// Whether what is known contradicts itself: nothing here is ever evaluated.
    fn unreachable(&self) -> bool {
        self.entails.entails(&self.facts, &Cond::False)
    }

    /// Whether two extents are the same. Equal numbers of elements do not make the
    /// axes of two rank variables equal.
    fn equal(&self, a: &Size, b: &Size) -> bool {
        let alike = if self.is_uniform() {
            self.is_many(a) == self.is_many(b)
        } else {
            !a.is_group() && !b.is_group()
        };
        a == b || (alike && self.holds(&Cond::eq(a, b)))
    }

    /// Reports a failure once.
    fn report(&mut self, stop: Stop) {
        if let Stop::Report(diagnostic) = stop {
            self.diagnostics.push(*diagnostic);
        }
    }
}
