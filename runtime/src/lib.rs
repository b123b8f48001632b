//! What a program needs from outside its meaning: tensor files, the arguments of a run,
//! and random numbers.
//!
//! * Invariants: no file, however damaged, panics or allocates more than
//!   [`io::MAX_BYTES`] allows; reading gives the bits that were written; random numbers
//!   depend on seed and position only.
//! * Must not know: parser, solver, e-graph, or how programs are evaluated by the
//!   reference.

pub mod cpu;
pub mod io;
pub mod random;
pub mod spec;
