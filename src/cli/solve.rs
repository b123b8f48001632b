//! `rtv __solve`: a solver process of another `rtv`, which asks on standard input.

use crate::report::{Exit, Reporter};

/// Nobody reads more than the answers: an end before the input's is a failure.
pub fn run(reporter: &mut Reporter) {
    if rtv_smt::serve().is_err() {
        reporter.at_least(Exit::Internal);
    }
}
