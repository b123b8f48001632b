//! The command line of rtv: reads arguments and files, calls the crates below, and shows
//! what they say. A library, so that tests and the long runs beside them use what its verbs
//! use.
//!
//! * Invariants: results go to standard output and diagnostics to standard error; the exit
//!   code says how the run ended; no input ends in a panic.
//! * Must not know: what programs mean or how claims are proved.

pub mod cli;
pub mod conform;
mod ledger;
mod nearest;
pub mod optimize;
mod project;
mod report;
mod second;
pub mod workloads;
