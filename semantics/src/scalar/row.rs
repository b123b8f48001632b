//! What one row of the scalar table says, and how its functions are applied.

use crate::dtype::{Category, DType};

use super::int::wrap;
use super::round::round;
use super::{Exact, Fault, Residue, Scalar, Value};

/// One function on single elements.
#[derive(Clone, Copy)]
pub struct Row {
    pub fun: Scalar,
    /// PyTorch's name, also the name in the language.
    pub name: &'static str,
    pub arity: usize,
    /// The dtypes of the arguments; all arguments of a call have the same one.
    pub accepts: Accepts,
    /// On IEEE values.
    pub float: FloatFn,
    /// On integers and bools, in both domains.
    pub int: IntFn,
    /// On exact values.
    pub real: RealFn,
    /// What a symbolic encoder may know about it.
    pub meaning: Meaning,
    /// The partial derivative by each argument, an expression over `x`, `y` in the
    /// language with PyTorch's conventions at kinks. `0.0` is a derivative of zero;
    /// the empty text says that there is none to state.
    pub derivative: &'static [&'static str],
    /// Conditions over `x`, `y` true for all real (finite) arguments at which the
    /// functions in them are defined.
    pub facts: &'static [&'static str],
    /// When the value is left open by the specification (within what the row's words
    /// say): a condition over `x`, `y`; empty if never. The value computed here is
    /// one permitted choice.
    pub unpinned: &'static str,
    /// Error bound of the IEEE value in units of the last place: 0 is correctly rounded,
    /// `u32::MAX` is no bound. Dtypes below f64 are within 1 of the rounded true value.
    pub ulp: u32,
    pub doc: &'static str,
}

impl Row {
    /// All that the row says in words and numbers, so not its functions: two rows of one
    /// text are read alike by whoever reasons about them.
    pub fn text(&self) -> String {
        let Row { name, arity, accepts, meaning, derivative, facts, unpinned, ulp, .. } = self;
        format!(
            "{name} {arity} {accepts:?} {meaning:?} {derivative:?} {facts:?} {unpinned:?} {ulp} {}",
            self.is_test()
        )
    }

    /// Whether the result is a bool.
    pub fn is_test(&self) -> bool {
        matches!(self.float, FloatFn::Test(_) | FloatFn::Compare(_))
    }

    /// On arguments that fit `accepts` and the arity.
    pub(super) fn ieee(&self, dtype: DType, args: &[Value]) -> Result<Value, Fault> {
        if !dtype.is_float() {
            return self.int(dtype, args);
        }
        let x = float(&args[0])?;
        let y = args.get(1).map_or(Ok(0.0), float)?;
        let value = match self.float {
            FloatFn::One(f) => f(x),
            FloatFn::Two(f) => f(x, y),
            FloatFn::Dtype(f) => f(dtype, x, y),
            FloatFn::Test(f) => return Ok(Value::Bool(f(x))),
            FloatFn::Compare(f) => return Ok(Value::Bool(f(x, y))),
            FloatFn::None => return self.absent(dtype),
        };
        Ok(Value::Float(round(value, dtype)))
    }

    /// On arguments that fit `accepts` and the arity.
    pub(super) fn exact(&self, dtype: DType, args: &[Value]) -> Result<Value, Fault> {
        if args.iter().any(Value::is_bottom) {
            // An integer divisor of 0 is an error whatever is divided.
            if let (IntFn::Dtype(f), [_, y], false) = (&self.int, args, dtype.is_float())
                && !y.is_bottom()
            {
                f(dtype, 1, integer(dtype, y)?)?;
            }
            return Ok(Value::BOTTOM);
        }
        if !dtype.is_float() {
            return self.int(dtype, args);
        }
        let x = exact(&args[0])?;
        let y = args.get(1).map_or(Ok(x), exact)?;
        match self.real {
            RealFn::One(f) => f(x).map(Value::Exact),
            RealFn::Two(f) => f(x, y).map(Value::Exact),
            RealFn::Test(f) => f(x).map(Value::Bool),
            RealFn::Compare(f) => f(x, y).map(Value::Bool),
            RealFn::None => self.absent(dtype),
        }
    }

    /// On arguments that fit `accepts` and the arity.
    pub(super) fn field(&self, dtype: DType, args: &[Value]) -> Result<Value, Fault> {
        if !dtype.is_float() {
            return self.int(dtype, args);
        }
        let x = residue(&args[0])?;
        let y = args.get(1).map_or(Ok(x), residue)?;
        Residue::apply(self.fun, x, y).map(Value::Field)
    }

    fn int(&self, dtype: DType, args: &[Value]) -> Result<Value, Fault> {
        let x = integer(dtype, &args[0])?;
        let y = args.get(1).map_or(Ok(0), |y| integer(dtype, y))?;
        let value = match self.int {
            IntFn::One(f) => f(x.into()),
            IntFn::Two(f) => f(x.into(), y.into()),
            IntFn::Dtype(f) => f(dtype, x, y)?,
            IntFn::Test(f) => return Ok(Value::Bool(f(x.into()))),
            IntFn::Compare(f) => return Ok(Value::Bool(f(x.into(), y.into()))),
            IntFn::None => return self.absent(dtype),
        };
        let value = wrap(value, dtype);
        Ok(if dtype == DType::Bool { Value::Bool(value != 0) } else { Value::Int(value) })
    }

    fn absent(&self, dtype: DType) -> Result<Value, Fault> {
        Err(Fault::Value(format!("`{}` is not defined for {dtype}", self.name)))
    }
}

fn float(value: &Value) -> Result<f64, Fault> {
    value.as_float().ok_or_else(|| Fault::Value(format!("`{value}` is no float")))
}

fn exact(value: &Value) -> Result<&Exact, Fault> {
    value.as_exact().ok_or_else(|| Fault::Value(format!("`{value}` is no exact value")))
}

fn residue(value: &Value) -> Result<Residue, Fault> {
    value.as_residue().ok_or_else(|| Fault::Value(format!("`{value}` is no residue")))
}

fn integer(dtype: DType, value: &Value) -> Result<i64, Fault> {
    match value {
        Value::Bool(b) if dtype == DType::Bool => Ok(i64::from(*b)),
        Value::Int(i) if dtype != DType::Bool => Ok(*i),
        _ => Err(Fault::Value(format!("`{value}` is no value of {dtype}"))),
    }
}

/// Dtypes a row takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepts {
    Any,
    /// Integers and floats.
    Num,
    Float,
    Int,
    /// Integers and bool.
    Bits,
    Bool,
}

impl Accepts {
    pub fn contains(self, dtype: DType) -> bool {
        match (self, dtype.category()) {
            (Accepts::Any, _) => true,
            (Accepts::Num, c) => c != Category::Bool,
            (Accepts::Float, c) => c == Category::Float,
            (Accepts::Int, c) => c == Category::Int,
            (Accepts::Bits, c) => c != Category::Float,
            (Accepts::Bool, c) => c == Category::Bool,
        }
    }
}

/// The symbolic reading of a row. Over the reals unless the row is of integers;
/// integers are two's complement of the dtype's width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    Add,
    Sub,
    Mul,
    /// Undefined at divisor 0.
    Div,
    /// `floor(x / y)`; an integer zero divisor is an error.
    FloorDiv,
    /// `trunc(x / y)`; an integer zero divisor is an error.
    TruncDiv,
    /// `x - y * floor(x / y)`.
    Remainder,
    /// `x - y * trunc(x / y)`.
    Fmod,
    Pow,
    Neg,
    Abs,
    Sign,
    Reciprocal,
    Floor,
    Ceil,
    /// To the nearest integer, ties to even.
    Round,
    Trunc,
    /// `x - trunc(x)`.
    Frac,
    Max,
    Min,
    /// `|x|`, negated where `y < 0`.
    CopySign,
    Sqrt,
    /// `1 / sqrt(x)`.
    Rsqrt,
    Exp,
    /// `2 ** x`.
    Exp2,
    /// `exp(x) - 1`.
    Expm1,
    Log,
    Log2,
    Log10,
    /// `log(1 + x)`.
    Log1p,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `sqrt(x * x + y * y)`.
    Hypot,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Not,
    Xor,
    Bit(Bit),
    Class(Class),
    /// Known by its facts only.
    Uninterpreted,
}

/// Operations on the two's complement bits (of a bool: on its one bit).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bit {
    And,
    Or,
    Xor,
    Not,
    /// Amounts that are negative or at least the width give 0.
    LeftShift,
    /// Arithmetic for signed dtypes; such amounts give the sign fill.
    RightShift,
}

/// Questions about the kind of a float; integers are finite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    Nan,
    Inf,
    Finite,
    /// Over the reals `x < 0`.
    SignBit,
}

/// A function of IEEE values; results are rounded to the dtype by the caller.
#[derive(Clone, Copy)]
pub enum FloatFn {
    None,
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    /// Needs the dtype: its steps round, or its result depends on the spacing.
    Dtype(fn(DType, f64, f64) -> f64),
    Test(fn(f64) -> bool),
    Compare(fn(f64, f64) -> bool),
}

/// A function of integers; results wrap to the dtype.
#[derive(Clone, Copy)]
pub enum IntFn {
    None,
    One(fn(i128) -> i128),
    Two(fn(i128, i128) -> i128),
    /// Needs the dtype or may fail.
    Dtype(fn(DType, i64, i64) -> Result<i128, Fault>),
    Test(fn(i128) -> bool),
    Compare(fn(i128, i128) -> bool),
}

/// A function of exact values other than the undefined one.
#[derive(Clone, Copy)]
pub enum RealFn {
    None,
    One(fn(&Exact) -> Result<Exact, Fault>),
    Two(fn(&Exact, &Exact) -> Result<Exact, Fault>),
    Test(fn(&Exact) -> Result<bool, Fault>),
    Compare(fn(&Exact, &Exact) -> Result<bool, Fault>),
}
