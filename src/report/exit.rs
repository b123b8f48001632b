//! How a run ends.

use std::process::ExitCode;

use rtv_semantics::diag::Code;

/// The ends of a run, the most important last: one run may earn several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Exit {
    Success,
    /// Nothing is refuted, but something is undecided or below what was required.
    Undecided,
    /// Something is refuted that should not be, or an evaluation failed.
    Refuted,
    /// A parse, type, shape or alias error.
    Program,
    /// A bad command line, or a file that cannot be read or written.
    Usage,
    /// An internal error, or no solver.
    Internal,
}

impl Exit {
    /// The end that an error of this code means.
    pub fn of(code: Code) -> Exit {
        match code.0 {
            // A failed assertion, and errors of evaluation.
            405 | 600..=699 => Exit::Refuted,
            710..=719 => Exit::Internal,
            // A claim of which the ledger says nothing.
            820 => Exit::Undecided,
            800..=899 => Exit::Usage,
            _ => Exit::Program,
        }
    }

    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Refuted => 1,
            Exit::Usage => 2,
            Exit::Program => 3,
            Exit::Undecided => 4,
            Exit::Internal => 5,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_end_wins() {
        let order = [Exit::Undecided, Exit::Refuted, Exit::Program, Exit::Usage, Exit::Internal];
        assert_eq!(order.map(Exit::code), [4, 1, 3, 2, 5]);
        assert!(order.is_sorted());
    }
}
