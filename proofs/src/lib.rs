//! Claims and their verdicts: which claims a file makes, what each contract says of
//! them, and the counterexamples that refute them.
//!
//! Invariants: `proved` only when every asked contract is proved for every choice of
//! dtypes and a concrete instance was executed; `refuted` only with an input that the
//! reference evaluator was run on; everything else is `unknown` with its reason. This
//! crate knows no command line and prints nothing.

mod alias;
mod apart;
mod applied;
mod as_test;
mod certificate;
mod check;
mod choices;
mod compare;
mod content;
mod core;
mod counterexample;
mod dataflow;
mod deadline;
mod decide;
mod depends;
pub mod derived;
mod discharge;
mod expect;
mod facets;
mod field;
mod instances;
mod laws;
mod module;
mod ranks;
mod recheck;
mod record;
mod refute;
mod replay;
mod shrink;
mod strict;
mod testing;
mod verdict;
mod verify;
mod witness;

pub use applied::{Applied, Kind, kinds_taken, surely_applied};
pub use as_test::as_test;
pub use certificate::Certificate;
pub use check::{Checker, Outcome, Settings, Stage};
pub use content::SOUNDNESS;
pub use core::{core, operators, program, rule_choices, rule_claim};
pub use counterexample::{Counterexample, written, written_out};
pub use dataflow::Step;
pub use deadline::Deadline;
pub use decide::BOUNDED;
pub use expect::Expectation;
pub use facets::{Cause, Decided, Facets, Special};
pub use module::{Module, subject};
pub use ranks::FROM_RANKS;
pub use recheck::{Leaves, Opinion, SecondSolver, Tally};
pub use record::Record;
pub use verdict::{Checked, ClaimResult, Contract, Finding, Provenance, Verdict};
pub use verify::Worth;
pub use witness::Witness;
