//! `rtv ops`: the operators, with their signatures and first sentences.

use clap::Args;

use crate::report::Reporter;

#[derive(Args)]
pub struct Ops {
    /// Only operators whose name contains this
    name: Option<String>,
}

impl Ops {
    pub fn run(&self, _reporter: &mut Reporter) {}
}
