//! What a program needs from outside its meaning: tensor files, the arguments of a run,
//! random numbers, and backends that run it fast.
//!
//! * Invariants: no file, however damaged, panics or allocates more than
//!   [`io::MAX_BYTES`] allows; reading gives the bits that were written; random numbers
//!   depend on seed and position only; a backend gives what the reference evaluator
//!   gives, up to the rounding it states.
//! * Must not know: parser, solver, e-graph, or how programs are evaluated by the
//!   reference.

pub mod array;
pub mod backend;
pub mod cost;
pub mod cpu;
pub mod io;
pub mod loops;
mod plan;
pub mod protocol;
pub mod random;
pub mod spec;
