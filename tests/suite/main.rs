//! Tests of the project as a whole, held against data: programs in files, samples of the
//! language, one meaning by every route, results of PyTorch, the command line, and the
//! source tree itself.
//!
//! * `RTV_BLESS=1` writes what was found into the files of `rtl/` as what is expected.

mod audit;
mod cache;
mod certificates;
mod cli;
mod conform;
mod cpu;
mod cpu_rows;
mod crosscheck;
mod derivation;
mod derived;
mod elementary;
mod facets;
mod files;
mod folder;
mod golden;
mod ledger;
mod mutants;
mod optimize;
mod pages;
mod run;
mod samples;
mod scalars;
mod tidy;
mod verbs;
mod whole;
mod workers;
