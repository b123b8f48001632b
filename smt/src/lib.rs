//! Everything Z3: questions, the solver in this process or in workers, its self-test,
//! entailment of size facts, and the pointwise value prover.
//!
//! Invariants: Z3's types occur in `z3_backend.rs` (the version check, and tests) only; an
//! answer that is not `unsat` within its budget proves nothing; a model is a hint that
//! the caller replays on the reference evaluator. This crate knows no syntax, no
//! claims and no verdicts.

mod bits;
mod canary;
mod cases;
mod encode;
mod extended;
mod floats;
mod guess;
mod ieee;
mod instances;
mod key;
mod laws;
mod normal;
mod ordered;
mod poly;
mod pool;
mod proof;
mod query;
mod reals;
mod reduce;
mod remembered;
mod sizes;
mod smtlib;
mod solver;
mod strict;
mod value;
mod wire;
mod worker;
mod z3_backend;

pub use normal::{Monomial, Sign};
pub use pool::{DEFAULT_MEMORY_MIB, LEAST_MEMORY_MIB, Pool};
pub use proof::{
    Algebra, Combining, Denominator, Extreme, Fit, Frame, Mapped, Member, Merge, Narrowing, Need, Proof,
    Question, ReadAs, Reading, Rewrite, Rewriting, Rule, Tame,
};
pub use query::{FpOp, Fun, Id, Op, Query, Sort};
pub use sizes::{SizeAnswer, SizeSolver, entailment_text};
pub use solver::{
    Answer, Asked, Backend, Budget, Fault, ModelValue, ModelValues, Observer, R0710, R0711, R0712, Reason,
    Solver, Z3_VERSION,
};
pub use value::{Errors, Method, ModelRead, ValueAnswer, ValueGoal, ValueModel, ValueProver};
pub use worker::serve;
