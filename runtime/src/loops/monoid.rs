//! The monoids that loop nests reduce by: those of the language, not those of a file.

use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::term::{self, Term};
use rtv_semantics::types::Type;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Monoid {
    Sum,
    Prod,
    Max,
    Min,
    Any,
    All,
}

impl Monoid {
    pub fn of(op: &term::Monoid) -> Option<Monoid> {
        Some(match op {
            term::Monoid::Sum => Monoid::Sum,
            term::Monoid::Prod => Monoid::Prod,
            term::Monoid::Max => Monoid::Max,
            term::Monoid::Min => Monoid::Min,
            term::Monoid::Any => Monoid::Any,
            term::Monoid::All => Monoid::All,
            term::Monoid::Declared(_) => return None,
        })
    }

    fn meant(self) -> term::Monoid {
        match self {
            Monoid::Sum => term::Monoid::Sum,
            Monoid::Prod => term::Monoid::Prod,
            Monoid::Max => term::Monoid::Max,
            Monoid::Min => term::Monoid::Min,
            Monoid::Any => term::Monoid::Any,
            Monoid::All => term::Monoid::All,
        }
    }

    pub fn name(self) -> String {
        self.meant().name().to_string()
    }

    /// The value of an empty reduction.
    pub fn neutral(self, dtype: DType) -> Term {
        self.meant().neutral(&Type::scalar(dtype), Span::default())
    }
}
