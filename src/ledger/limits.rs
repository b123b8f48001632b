//! The effort behind a verdict.

use serde::{Deserialize, Serialize};

/// What a claim could cost, and the seed of its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub seed: u64,
    pub samples: u64,
    pub timeout_ms: u64,
    pub rlimit: u32,
    pub memory: u64,
}

impl Limits {
    /// Whether what was not found with these limits is not found with the others either.
    pub fn cover(&self, other: &Limits) -> bool {
        self.seed == other.seed
            && self.samples >= other.samples
            && self.timeout_ms >= other.timeout_ms
            && self.rlimit >= other.rlimit
            && self.memory >= other.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_limit_is_not_covered() {
        let limits = Limits { seed: 0, samples: 200, timeout_ms: 1000, rlimit: 5, memory: 512 };
        assert!(limits.cover(&limits) && limits.cover(&Limits { samples: 100, ..limits }));
        let raised = [
            Limits { seed: 1, ..limits },
            Limits { samples: 201, ..limits },
            Limits { timeout_ms: 1001, ..limits },
            Limits { rlimit: 6, ..limits },
            Limits { memory: 513, ..limits },
        ];
        assert!(raised.iter().all(|raised| !limits.cover(raised)));
    }
}
