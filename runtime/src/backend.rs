//! What runs programs: the interface of every backend.

use rtv_semantics::eval::{Datum, EvalError};
use rtv_semantics::term::{Term, Var};

use crate::array::Array;
use crate::loops::ArrayDecl;

/// How floats are computed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Floats {
    /// Each operation rounds, so that the bits follow from the program.
    #[default]
    Strict,
    /// A product may be rounded with the sum that it is added to.
    Fast,
}

/// A way to run programs.
pub trait Backend: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    fn floats(&self) -> Floats {
        Floats::Strict
    }

    /// Makes the program ready to run on arguments of these types.
    ///
    /// # Errors
    /// What no argument can mend, and what the backend cannot run.
    fn prepare(&self, term: &Term, inputs: &[(Var, ArrayDecl)]) -> Result<Box<dyn Prepared>, EvalError>;
}

/// A program that is ready to run.
pub trait Prepared: Send + Sync {
    /// The results for these arguments, in their order.
    ///
    /// # Errors
    /// Those of the program, of the class and with the words of the reference.
    fn run(&self, inputs: &[Array]) -> Result<Output, EvalError>;

    /// Products that are rounded with the sum they are added to.
    fn contracted(&self) -> usize;

    /// The kernels, for people to read.
    fn describe(&self) -> String;
}

/// What a program returned.
#[derive(Clone, Debug)]
pub enum Output {
    Array(Array),
    Size(i128),
    Tuple(Vec<Output>),
}

impl Output {
    pub fn into_datum(self) -> Datum {
        match self {
            Output::Array(array) => Datum::Tensor(array.to_tensor()),
            Output::Size(size) => Datum::Size(size),
            Output::Tuple(parts) => Datum::Tuple(parts.into_iter().map(Output::into_datum).collect()),
        }
    }
}
