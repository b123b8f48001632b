//! The scalar table: every function on single elements, one row each.
//!
//! A row gives the meaning of a function twice. In the IEEE domain a float value is
//! an `f64` already rounded to its dtype; a function is computed in `f64` and
//! rounded once, so that results are the same on every machine. In the exact
//! domain floats are rationals or outward-rounded enclosures, with both infinities
//! and an absorbing undefined value ([`Exact`]). Integers and bools are the same in
//! both domains and wrap at their width. A third domain puts residues in place of real
//! numbers ([`Residue`]): what differs there is worth a look, and proves nothing.
//!
//! Operands of one call have one dtype; conversions are explicit ([`cast`]).

mod cast;
mod exact;
mod field;
mod float;
mod int;
mod real;
mod round;
mod row;
mod small;
mod table;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;

use crate::dtype::DType;

pub use cast::cast;
pub use exact::{Exact, MAX_BITS};
pub use field::Residue;
pub use row::{Accepts, Bit, Class, FloatFn, IntFn, Meaning, RealFn, Row};
pub use value::{Value, ulp_distance};

/// Which numbers the float dtypes hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Domain {
    /// IEEE 754 values of the dtype.
    Ieee,
    /// Reals with infinities and an undefined value; dtypes do not round.
    Exact,
    /// Residues modulo two primes in place of reals.
    Field,
}

/// Why a scalar function has no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An error of the program: PyTorch's `ZeroDivisionError` on integers.
    Arithmetic(String),
    /// An argument outside the function's types.
    Value(String),
    /// The exact value is larger than [`MAX_BITS`] allows.
    Limit(String),
    /// The exact domain cannot decide: enclosures overlap, or the function is one of
    /// floats only. Or the function has no meaning in a field.
    Undecided(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Arithmetic(text) | Fault::Value(text) | Fault::Limit(text) | Fault::Undecided(text) => {
                f.write_str(text)
            }
        }
    }
}

impl std::error::Error for Fault {}

/// A function on single elements, named as in PyTorch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Scalar {
    Add,
    Sub,
    Mul,
    Div,
    FloorDivide,
    TruncDivide,
    Remainder,
    Fmod,
    Pow,
    Neg,
    Abs,
    Sign,
    Reciprocal,
    Floor,
    Ceil,
    Round,
    Trunc,
    Frac,
    Maximum,
    Minimum,
    Fmax,
    Fmin,
    Copysign,
    Signbit,
    Nextafter,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Atan2,
    Hypot,
    Erf,
    Erfc,
    Lgamma,
    Sigmoid,
    Isnan,
    Isinf,
    Isfinite,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    LogicalAnd,
    LogicalOr,
    LogicalNot,
    LogicalXor,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    BitwiseNot,
    BitwiseLeftShift,
    BitwiseRightShift,
}

impl Scalar {
    pub fn row(self) -> &'static Row {
        table::TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::all().find(|s| s.name() == name)
    }

    pub fn all() -> impl Iterator<Item = Scalar> {
        table::TABLE.iter().map(|row| row.fun)
    }

    pub fn arity(self) -> usize {
        self.row().arity
    }

    /// The dtype of the result; the message says what is wrong with the arguments.
    pub fn result(self, args: &[DType]) -> Result<DType, String> {
        let row = self.row();
        if args.len() != row.arity {
            let (want, got) = (row.arity, args.len());
            return Err(format!("`{}` takes {want} arguments, {got} given", row.name));
        }
        let dtype = args[0];
        if let Some(other) = args.iter().find(|d| **d != dtype) {
            return Err(format!("`{}` of {dtype} and {other}: the dtypes differ", row.name));
        }
        if !row.accepts.contains(dtype) {
            return Err(format!("`{}` is not defined for {dtype}", row.name));
        }
        Ok(if row.is_test() { DType::Bool } else { dtype })
    }

    /// The value at arguments of dtype `dtype`.
    pub fn eval(self, domain: Domain, dtype: DType, args: &[Value]) -> Result<Value, Fault> {
        let row = self.row();
        if args.len() != row.arity || !row.accepts.contains(dtype) {
            let count = args.len();
            return Err(Fault::Value(format!("`{}` of {count} arguments at {dtype}", row.name)));
        }
        match domain {
            Domain::Ieee => row.ieee(dtype, args),
            Domain::Exact => row.exact(dtype, args),
            Domain::Field => row.field(dtype, args),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
