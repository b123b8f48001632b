//! The conformance suite: calls of operators with what they give, run on backends and on
//! programs that speak the line protocol, and random programs run on two backends.
//!
//! * Invariants: what a case expects comes from a `test` of the operator or from a record
//!   of PyTorch, never from the backend under test; what is not a case is counted with its
//!   reason; a program outside costs at most its time limit.
//! * Must not know: how any backend works.

mod case;
mod external;
pub mod fuzz;
pub mod golden;
mod grade;
mod library;
mod matrix;
mod subject;

pub use case::{Case, Expected, Question, Suite};
pub use external::{External, UNANSWERED};
pub use grade::Grade;
pub use library::library;
pub use matrix::{Column, Contract, Contracts, Failure, Matrix, Tally};
pub use subject::{Answer, Ours, Room, Subject};
