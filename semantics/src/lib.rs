//! What tensor programs mean: the core language, its types and sizes, the scalar
//! table and the reference evaluator.
//!
//! This crate knows no parser, no solver, no e-graph and does no IO. Operators are
//! not here either: they are `.rtl` text in `semantics/ops/`, elaborated to core
//! [`term::Term`]s by the `grammar` crate.

pub mod alike;
pub mod alpha;
pub mod arith;
pub mod cancel;
pub mod constant;
mod convert;
pub mod defined;
pub mod derivation;
pub mod diag;
pub mod dtype;
pub mod entail;
pub mod eval;
pub mod guess;
pub mod integers;
mod linear;
mod monoid;
pub mod normal;
pub mod price;
pub mod program;
mod ranges;
pub mod sample;
pub mod scalar;
pub mod simplify;
pub mod size;
pub mod subst;
pub mod tensor;
pub mod term;
pub mod types;
pub mod unfold;
pub mod view;
