//! Loop nests: a program at concrete shapes as a list of arrays, each defined by one
//! scalar expression over its axes.
//!
//! This is the level on which programs are fused and the one that every backend runs.
//! Calls, `let`s, views, broadcasting and tuples are gone: a view is an index map of a
//! load, an operator is the expression of its body. Reductions and folds stand at the top
//! of a definition only. Nothing here knows of vectors, threads or memory.
//!
//! Invariants: a definition reads inputs and arrays defined before it; each index of a
//! load lies in its axis, by its range or by a [`Node::Checked`]; where a run fails,
//! the site says so in the words of the reference evaluator.

mod chains;
mod expr;
mod extract;
mod fold;
mod fuse;
mod inline;
mod lin;
mod lower;
mod monoid;
mod rewrite;
mod whole;

use std::sync::Arc;

use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{EvalError, Frame, codes};
use rtv_semantics::term::ErrorClass;

pub use chains::{Chain, chains};
pub use expr::{Arena, ArrayId, Constant, ExprId, Node, SiteId};
pub use fuse::{Contraction, Kernel, Member, Role, Shape, contraction, fuse, read_elsewhere};
pub use lin::{Atom, Axis, Lin, Overflow};
pub use lower::lower;
pub use monoid::Monoid;
pub use rewrite::{Inlined, Rewrite};
pub use whole::{Operand, What, Whole};

/// A program as loop nests.
#[derive(Clone, Debug)]
pub struct Nests {
    pub arena: Arena,
    pub arrays: Vec<ArrayDecl>,
    /// The arrays of the arguments, in their order.
    pub inputs: Vec<ArrayId>,
    /// In an order in which each reads only what stands before it.
    pub defs: Vec<Def>,
    pub result: Outcome,
    pub sites: Vec<Site>,
}

/// Row-major, without gaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayDecl {
    pub dtype: DType,
    pub shape: Vec<usize>,
}

impl ArrayDecl {
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of one element in memory.
    pub fn width(&self) -> usize {
        (self.dtype.bits() as usize).div_ceil(8)
    }

    pub fn bytes(&self) -> usize {
        self.elements() * self.width()
    }

    /// Elements from one index of an axis to the next.
    pub fn strides(&self) -> Vec<i64> {
        let mut strides = vec![1i64; self.shape.len()];
        for axis in (1..self.shape.len()).rev() {
            strides[axis - 1] = strides[axis] * self.shape[axis] as i64;
        }
        strides
    }
}

/// `array[axes] = body`, for all indices.
#[derive(Clone, Debug)]
pub struct Def {
    pub array: ArrayId,
    pub axes: Vec<Axis>,
    pub body: ExprId,
}

/// What the program returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Array(ArrayId),
    Size(i128),
    Tuple(Vec<Outcome>),
}

impl Outcome {
    pub fn arrays(&self) -> Vec<ArrayId> {
        match self {
            Outcome::Array(array) => vec![*array],
            Outcome::Size(_) => Vec::new(),
            Outcome::Tuple(parts) => parts.iter().flat_map(Outcome::arrays).collect(),
        }
    }
}

/// A place where a run can fail, with the calls around it.
#[derive(Clone, Debug)]
pub struct Site {
    pub kind: SiteKind,
    /// The place in the user's text.
    pub span: Span,
    pub trace: Vec<Frame>,
}

#[derive(Clone, Debug)]
pub enum SiteKind {
    /// Of an index that counts from the end where negative, the value that was given is
    /// below the one that is out of range.
    Index {
        axis: usize,
        extent: i64,
        from_end: bool,
    },
    IntegerDivision,
    SizeDivision,
    Requires {
        class: ErrorClass,
        text: Arc<str>,
        of: Arc<str>,
    },
}

impl Site {
    /// The error of a run that failed here, at `value` (the index that is out of range).
    pub fn error(&self, value: i64) -> EvalError {
        let (class, code, message) = match &self.kind {
            SiteKind::Index { axis, extent, from_end } => {
                let given = if *from_end && value < 0 { value.wrapping_sub(*extent) } else { value };
                let message = format!("index {given} is out of range for axis {axis} of extent {extent}");
                (ErrorClass::Index, codes::INDEX, message)
            }
            SiteKind::IntegerDivision => {
                (ErrorClass::Arithmetic, codes::ARITHMETIC, "integer division by zero".to_string())
            }
            SiteKind::SizeDivision => {
                (ErrorClass::Arithmetic, codes::ARITHMETIC, "size divided by zero".to_string())
            }
            SiteKind::Requires { class, text, of } => {
                (*class, codes::REQUIRES, format!("precondition `{text}` of `{of}` does not hold"))
            }
        };
        EvalError { class: Some(class), code, message, span: self.span, trace: self.trace.clone() }
    }
}

impl Nests {
    pub fn decl(&self, array: ArrayId) -> &ArrayDecl {
        &self.arrays[array.0 as usize]
    }

    /// The offset of an element as a linear form, row-major.
    pub fn address(&self, arena: &mut Arena, array: ArrayId, index: &[Lin]) -> Lin {
        let strides = self.decl(array).strides();
        index.iter().zip(strides).fold(Lin::default(), |sum, (lin, stride)| arena.sum(&sum, lin, stride))
    }

    /// The arrays an expression reads.
    pub fn loads(&self, root: ExprId) -> Vec<ArrayId> {
        let (mut arrays, mut states) = (Vec::new(), Vec::new());
        let mut read = |array: ArrayId| {
            if !arrays.contains(&array) {
                arrays.push(array);
            }
        };
        self.arena.walk(root, &mut |id| match self.arena.node(id) {
            Node::Load { array, .. } => read(*array),
            Node::Whole(whole) => whole.arrays().for_each(&mut read),
            Node::Fold { state, .. } => states.push(*state),
            _ => {}
        });
        arrays.retain(|array| !states.contains(array));
        arrays
    }
}
