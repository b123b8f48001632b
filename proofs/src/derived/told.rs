//! The steps of a derivation, for who wants to know how one program became another.

use super::steps::Check;
use rtv_semantics::derivation::{Used, Why};
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::term::{Form, Fun, Term};
use std::sync::Arc;

/// One term put in place of another.
#[derive(Clone, Debug)]
pub struct Told {
    pub by: By,
    /// As the rule is written, or the operator before its body, or the constant before its literal.
    pub forward: bool,
    pub before: Term,
    pub after: Term,
}

/// Why it may be.
#[derive(Clone, Debug)]
pub enum By {
    Rule {
        name: Arc<str>,
        /// What its sizes are there.
        sizes: Vec<(Sym, Size)>,
        /// What its parameters are there.
        values: Vec<(Arc<str>, Term)>,
        /// Its preconditions on sizes, which follow from those of the program.
        follow: Vec<Cond>,
        /// Whether it is about numbers: the values are known to be finite.
        finite: bool,
    },
    /// The operator of this name is its body.
    Definition(String),
    Constant,
    /// A constant as it is rounded.
    Rounded,
}

impl Check<'_, '_> {
    /// A line that rewrites, of a derivation that was gone through.
    pub fn step(&mut self, Used { line, forward }: Used) -> Told {
        let line = &self.derivation.lines[line];
        let [left, right] = [line.left, line.right].map(|at| self.node_term(at));
        let (before, after) = if forward { (left, right) } else { (right, left) };
        let (by, along) = match &line.why {
            Why::Rule { application, forward } => (self.rule(*application), *forward),
            Why::Definition => {
                let call = if forward { &before } else { &after };
                let name = match call.form() {
                    Form::Call(Fun::Op(instance), _) => instance.name.to_string(),
                    _ => String::new(),
                };
                (By::Definition(name), true)
            }
            Why::Constant | Why::Parts(_) | Why::Chain(_) => (By::Constant, true),
        };
        Told { by, forward: along == forward, before, after }
    }
}
