//! The command line of rtv: reads arguments and files, calls the crates below, and shows
//! what they say.
//!
//! * Invariants: results go to standard output and diagnostics to standard error; the exit
//!   code says how the run ended ([`report::Exit`]); no input ends in a panic.
//! * Must not know: what programs mean or how claims are proved.

mod cli;
mod ledger;
mod nearest;
mod project;
mod report;
mod second;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
