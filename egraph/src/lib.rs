//! The optimizer's e-graph: what a program is equal to by proved rules, and the cheapest of it.
//!
//! Programs and rules arrive as core terms and are brought to operator form
//! (`semantics::derivation`). A node is an operator, or a body of the core, at its sizes, with
//! classes as parts; a rule is matched by heads that are equal but for sizes, and applied where
//! what it asks of sizes and values is shown. What comes out is a program with a derivation,
//! which a checker that knows nothing of graphs goes through.
//!
//! Invariants: classes of different type are never merged; no number is computed that could
//! round; every term of the result is from the program or from a side of a rule. This crate does
//! not know syntax, the solver, files, or how rules are proved.

mod conditions;
mod explain;
mod extract;
mod fingerprint;
mod fold;
mod found;
mod graph;
mod heads;
mod known;
mod matching;
mod optimize;
mod present;
mod rule;
mod search;
mod unknowns;
mod work;

pub use conditions::Refusal;
pub use optimize::{Optimized, Settings, is_cheaper, optimize};
pub use present::{Kind, Present};
pub use rule::{Prepared, Rule, Unusable};
pub use search::{Ended, Limits, Rules};
