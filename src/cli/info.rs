//! `rtv info`: versions, solver and backends.

use clap::Args;
use rtv_smt::{Solver, Z3_VERSION};

use crate::report::Reporter;

/// The newest version of the language that this program reads.
const LANGUAGE_VERSION: &str = "1.0";

#[derive(Args)]
pub struct Info {}

impl Info {
    pub fn run(&self, reporter: &mut Reporter) {
        let solver = Solver::start();
        reporter.result(&format!("rtv       {}", env!("CARGO_PKG_VERSION")));
        reporter.result(&format!("language  rtl {LANGUAGE_VERSION}"));
        let health = match &solver {
            Ok(_) => "self-test passed".to_string(),
            Err(fault) => fault.diagnostic().message,
        };
        reporter.result(&format!("solver    z3 {} ({health})", Z3_VERSION.trim_end_matches('.')));
        reporter.result("backends  ref, cpu");
        if let Err(fault) = solver {
            reporter.fault(&fault.diagnostic());
        }
    }
}
