//! The flags that say how much work a claim is worth; verbs that decide claims share them.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rtv_proofs::{Checker, Settings, Stage};
use rtv_smt::{Budget, DEFAULT_MEMORY_MIB, LEAST_MEMORY_MIB, Observer, Pool};

use crate::ledger::Limits;

/// More MiB than any machine has.
const MOST_MEMORY_MIB: u64 = 1 << 32;

#[derive(Args, Clone)]
pub struct Effort {
    /// Seed of the random inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Random inputs per claim
    #[arg(long, default_value_t = 200)]
    samples: u64,
    /// Seconds per claim; what takes longer is unknown
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "60")]
    timeout: Duration,
    /// Solver work per question, the same on every machine
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rlimit: Option<u32>,
    /// Find out what claims proved `upto real` or `reassoc` are worth bit for bit: by all f16
    /// where there are few, by the solver's theory of floats; the cache is not used
    #[arg(long)]
    pub facets: bool,
    /// Memory of each solver process in MiB; what needs more is unknown
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY_MIB,
        value_parser = clap::value_parser!(u64).range(LEAST_MEMORY_MIB..=MOST_MEMORY_MIB))]
    memory: u64,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x <= 1e6 => Ok(Duration::from_secs_f64(x)),
        _ => Err("a number of seconds above 0 and up to 1000000 is needed".to_string()),
    }
}

impl Effort {
    /// What the flags are when none is given.
    pub fn usual() -> Effort {
        Effort {
            seed: 0,
            samples: 200,
            timeout: Duration::from_secs(60),
            rlimit: None,
            facets: false,
            memory: DEFAULT_MEMORY_MIB,
        }
    }

    /// Solver processes of this program; none is started yet.
    pub fn pool(&self) -> Arc<Pool> {
        // Without a path there is no program, and the first question says so.
        let program = std::env::current_exe().unwrap_or_default();
        Arc::new(Pool::new(program, self.memory))
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    pub fn checker(&self, stage: Stage, pool: Arc<Pool>, observer: Observer) -> Checker {
        let checker = Checker::in_workers(self.settings(stage), pool, observer);
        if self.facets { checker.thorough() } else { checker }
    }

    /// As it is recorded with a verdict.
    pub fn limits(&self) -> Limits {
        let Settings { seed, samples, budget, timeout, .. } = self.settings(Stage::Proofs);
        let timeout_ms = timeout.map_or(u64::MAX, |limit| limit.as_millis() as u64);
        Limits { seed, samples, timeout_ms, rlimit: budget.rlimit, memory: self.memory }
    }

    fn settings(&self, stage: Stage) -> Settings {
        let mut budget = Budget::OBLIGATION;
        let limit = u32::try_from(self.timeout.as_millis()).unwrap_or(u32::MAX);
        budget.timeout_ms = budget.timeout_ms.min(limit.max(1));
        budget.rlimit = self.rlimit.unwrap_or(budget.rlimit);
        let (seed, samples, timeout) = (self.seed, self.samples, Some(self.timeout));
        Settings { stage, seed, samples, budget, timeout }
    }
}
