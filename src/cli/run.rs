//! `rtv run FILE FN`: the value of a function at given arguments.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rtv_runtime::random::Stream;
use rtv_runtime::spec::{Argument, Setting};
use rtv_semantics::scalar::Domain;

use crate::project::Project;
use crate::report::Reporter;

#[derive(Args)]
pub struct Run {
    /// The source file
    file: PathBuf,
    /// The name of the function
    function: String,
    /// NAME=VALUE: a tensor file (x.npy, x.npz:KEY, x.safetensors:KEY), a literal
    /// ([[1.0, 2.0]]), or a generator (randn(2, 3):SEED, zeros(4), arange(6)); @DTYPE may follow
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    args: Vec<String>,
    /// Write the result to a .npy, .npz or .safetensors file instead of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of generators that name none
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Compute with real numbers instead of rounded ones
    #[arg(long)]
    exact: bool,
    #[arg(long, value_enum, default_value_t = Backend::Ref)]
    backend: Backend,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Backend {
    /// The reference evaluator
    Ref,
}

impl Run {
    pub fn run(&self, reporter: &mut Reporter) {
        let (project, found) = Project::load(std::slice::from_ref(&self.file));
        found
            .iter()
            .for_each(|found| reporter.diagnostic(&project.sources, found));
        let domain = if self.exact {
            Domain::Exact
        } else {
            Domain::Ieee
        };
        for (number, text) in self.args.iter().enumerate() {
            let stream = Stream {
                seed: self.seed,
                number: number as u64,
            };
            let setting = Setting {
                dtype: None,
                domain,
                stream,
            };
            match Argument::parse(text).and_then(|argument| argument.tensor(&setting)) {
                Ok(tensor) => reporter.result(&tensor.to_string()),
                Err(fault) => reporter.fault(&fault),
            }
        }
    }
}
