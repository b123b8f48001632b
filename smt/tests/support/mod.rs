//! What the random tests of the prover share.

use proptest::prelude::ProptestConfig;

/// `PROPTEST_CASES` overrides the number of cases. Terms are large and shrink slowly, for
/// `shrinks` steps at most.
pub fn config(cases: u32, shrinks: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: given.unwrap_or(cases),
        failure_persistence: None,
        max_shrink_iters: shrinks,
        ..ProptestConfig::default()
    }
}
