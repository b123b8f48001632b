//! `rtv check`: every claim of the files named, proved, refuted or left open.

use std::path::PathBuf;

use clap::Args;

use crate::project::Project;
use crate::report::Reporter;

#[derive(Args)]
pub struct Check {
    /// Files and folders; without any, the project or the current folder
    files: Vec<PathBuf>,
    /// Stop after types and shapes
    #[arg(long)]
    types: bool,
    /// Only `test` blocks and sampling, no solver
    #[arg(long, conflicts_with = "types")]
    tests: bool,
    /// Only these claims, by name or pattern such as `softmax*`; the last match wins, `!` excludes
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    #[command(flatten)]
    budget: Budget,
}

/// What a check may cost.
#[derive(Args)]
pub struct Budget {
    /// Seed of the random inputs
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Random inputs per claim
    #[arg(long, default_value_t = 200)]
    pub samples: u32,
    /// Seconds per claim; what takes longer is unknown
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<f64>,
    /// Solver work per question, the same on every machine
    #[arg(long)]
    pub rlimit: Option<u32>,
    /// Claims at work at the same time
    #[arg(long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x <= 1e6 => Ok(x),
        _ => Err("a number of seconds above 0 is needed".to_string()),
    }
}

impl Check {
    pub fn run(&self, reporter: &mut Reporter) {
        let (project, found) = Project::load(&self.files);
        reporter.run_started("check", &project.names());
        found
            .iter()
            .for_each(|found| reporter.diagnostic(&project.sources, found));
        reporter.run_finished();
    }
}
