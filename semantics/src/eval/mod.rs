//! The reference evaluator: what a closed core term is worth, element by element.
//!
//! It defines the meaning that provers, backends and the optimizer are held against,
//! so it is direct: a comprehension runs over its indices in row-major order, a
//! reduction folds in that order, an `if` evaluates one branch. Arguments of calls
//! and values of `let` are evaluated once, before the body. Reading a comprehension
//! evaluates its body at that index only; a comprehension, reduction or call inside
//! a loop that does not change from one iteration to the next is not evaluated again,
//! which nothing but the time can show.
//!
//! Float sums and products accumulate in `f64` and round once to their dtype; those
//! of f64 are the left-to-right ones. The undefined value of the exact domain is no
//! error: an `if` on it, or a read at it, is undefined.
//!
//! No input makes it panic: steps, elements and depth are bounded by [`Limits`], and
//! deep terms continue on further stacks.

mod accumulate;
mod deps;
mod error;
mod form;
mod instance;
mod iterate;
mod machine;
mod read;
mod shared;
#[cfg(test)]
mod tests;
mod update;

pub use error::{EvalError, Frame, codes};

use rustc_hash::FxHashMap;
use std::fmt;

use crate::scalar::Domain;
use crate::size::Sym;
use crate::tensor::Tensor;
use crate::term::{Term, Var};

use machine::Machine;

/// Bounds on the work of one evaluation; reaching one is an error without a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Elements held at one time by all tensors together.
    pub max_elements: usize,
    /// Terms visited, counted once per visit.
    pub max_steps: u64,
    /// Terms and calls inside one another.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_elements: 1 << 26, max_steps: 1 << 34, max_depth: 10_000 }
    }
}

/// A value of any type.
#[derive(Clone, Debug)]
pub enum Datum {
    Tensor(Tensor),
    Size(i128),
    Tuple(Vec<Datum>),
}

impl Datum {
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Datum::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// The type with concrete sizes: `(f32[2, 3], size)`.
    pub fn type_text(&self) -> String {
        match self {
            Datum::Tensor(t) => t.type_text(),
            Datum::Size(_) => "size".to_string(),
            Datum::Tuple(parts) => {
                let texts: Vec<String> = parts.iter().map(Datum::type_text).collect();
                format!("({})", texts.join(", "))
            }
        }
    }

    /// As [`Tensor::same`], component by component.
    pub fn same(&self, other: &Datum) -> Option<bool> {
        match (self, other) {
            (Datum::Tensor(a), Datum::Tensor(b)) => a.same(b),
            (Datum::Size(a), Datum::Size(b)) => Some(a == b),
            (Datum::Tuple(a), Datum::Tuple(b)) if a.len() == b.len() => {
                let known: Vec<Option<bool>> = a.iter().zip(b).map(|(a, b)| a.same(b)).collect();
                if known.contains(&Some(false)) {
                    return Some(false);
                }
                known.into_iter().try_fold(true, |all, one| Some(all && one?))
            }
            _ => Some(false),
        }
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Tensor(t) => t.fmt(f),
            Datum::Size(n) => n.fmt(f),
            Datum::Tuple(parts) => {
                let texts: Vec<String> = parts.iter().map(Datum::to_string).collect();
                write!(f, "({})", texts.join(", "))
            }
        }
    }
}

/// The values of a term's free symbols and variables.
#[derive(Clone, Debug, Default)]
pub struct Env {
    pub sizes: FxHashMap<Sym, i64>,
    pub vars: FxHashMap<Var, Datum>,
}

impl Env {
    pub fn new() -> Env {
        Env::default()
    }

    pub fn with_size(mut self, sym: &Sym, value: i64) -> Env {
        self.sizes.insert(sym.clone(), value);
        self
    }

    pub fn with_tensor(mut self, var: &Var, value: Tensor) -> Env {
        self.vars.insert(var.clone(), Datum::Tensor(value));
        self
    }
}

/// The value of `term` where its free symbols and variables are as in `env`. In the
/// exact domain IEEE inputs are the rationals they denote.
pub fn eval(term: &Term, env: &Env, domain: Domain, limits: &Limits) -> Result<Datum, EvalError> {
    let mut machine = Machine::new(env, domain, limits).map_err(|e| *e)?;
    let value = machine.eval(term).map_err(|e| *e)?;
    Ok(value.into_datum())
}
