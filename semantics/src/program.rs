//! What elaboration hands on: functions, claims and tests as core terms.

use crate::diag::Span;
use crate::dtype::DType;
use crate::entail::Cond;
use crate::size::{Size, Sym};
use crate::term::{ErrorClass, Require, Term, Var};
use crate::types::Type;
use std::fmt;
use std::sync::Arc;

/// The equality a claim is about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mode {
    /// Bit for bit, all NaNs one value.
    Exact,
    /// Sums and products may be reordered.
    Reassoc,
    /// Over the extended reals.
    Real,
    /// Within a numeric bound; tested, never proved.
    Close { rtol: f64, atol: f64, ulp: Option<u64> },
}

impl Mode {
    /// What [`Mode::name`] gives.
    pub const NAMES: [&'static str; 4] = ["exact", "reassoc", "real", "close"];

    pub fn name(&self) -> &'static str {
        match self {
            Mode::Exact => "exact",
            Mode::Reassoc => "reassoc",
            Mode::Real => "real",
            Mode::Close { .. } => "close",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClaimKind {
    Rule,
    Decomp,
    Impl,
    Vjp,
    Test,
    /// That a function meets the preconditions of the functions it calls.
    Calls,
    /// The laws of a monoid, each an instance.
    Monoid,
}

impl ClaimKind {
    pub const ALL: [ClaimKind; 7] = [
        ClaimKind::Rule,
        ClaimKind::Decomp,
        ClaimKind::Impl,
        ClaimKind::Vjp,
        ClaimKind::Test,
        ClaimKind::Calls,
        ClaimKind::Monoid,
    ];

    pub fn from_name(name: &str) -> Option<ClaimKind> {
        ClaimKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            ClaimKind::Rule => "rule",
            ClaimKind::Decomp => "decomp",
            ClaimKind::Impl => "impl",
            ClaimKind::Vjp => "vjp",
            ClaimKind::Test => "test",
            ClaimKind::Calls => "calls",
            ClaimKind::Monoid => "monoid",
        }
    }
}

/// A parameter of a claim or function.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: Arc<str>,
    pub input: Input,
    pub span: Span,
}

/// How a parameter enters the core.
#[derive(Clone, Debug)]
pub enum Input {
    /// A tensor: a value variable of this type.
    Value(Var, Type),
    /// A `size`: a symbol.
    Size(Sym),
}

/// One instance of a claim: dtype variables chosen, rank variables opaque or of a
/// chosen rank, sizes symbolic.
#[derive(Clone, Debug)]
pub struct Claim {
    pub name: Arc<str>,
    pub kind: ClaimKind,
    pub mode: Mode,
    /// `=>`: the right side is asked only where the left one is defined.
    pub directed: bool,
    /// Size variables and groups, in the order of declaration.
    pub syms: Vec<Sym>,
    /// Rank variables with the extents they stand for here.
    pub ranks: Vec<(Arc<str>, Vec<Size>)>,
    pub dtypes: Vec<(Arc<str>, DType)>,
    pub params: Vec<Param>,
    /// The `requires` on sizes.
    pub facts: Vec<Cond>,
    /// The `requires` on data.
    pub requires: Vec<Require>,
    pub lhs: Term,
    pub rhs: Term,
    pub span: Span,
}

/// A definition elaborated for its declared, symbolic types.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: Arc<str>,
    pub params: Vec<Param>,
    pub facts: Vec<Cond>,
    pub requires: Vec<Require>,
    pub body: Term,
}

/// One step of a `test`, in order.
#[derive(Clone, Debug)]
pub enum Step {
    Let(Var, Term),
    Assert(Assertion, Span),
}

#[derive(Clone, Debug)]
pub enum Assertion {
    /// The boolean tensor holds everywhere.
    Holds(Term),
    /// Same dtype, shape and elements, in the mode.
    Agrees(Term, Term, Mode),
    /// Evaluation fails in the class.
    Fails(Term, ErrorClass),
    /// Decided while elaborating: whether it held, and what was found instead.
    Settled(Result<(), String>),
}

/// A `test` at its concrete sizes.
#[derive(Clone, Debug)]
pub struct Test {
    pub name: Arc<str>,
    pub steps: Vec<Step>,
    pub span: Span,
}
