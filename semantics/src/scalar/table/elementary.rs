//! Elementary functions, computed in `f64` and rounded once.

use super::super::Scalar::*;
use super::super::real::{elementary as real, power};
use super::super::{FloatFn, Meaning, RealFn, Row, float};
use super::BASE;

/// Of `libm`, whose error in `f64` is below one unit of the last place where no more is
/// stated; the greater ones are measured.
const LIBM: Row = Row { ulp: 1, ..BASE };

pub(super) const ROWS: [Row; 27] = [
    Row {
        fun: Exp,
        name: "exp",
        float: FloatFn::One(libm::exp),
        real: RealFn::One(real::exp),
        meaning: Meaning::Exp,
        derivative: &["exp(x)"],
        facts: &["exp(x) > 0.0", "exp(x) >= 1.0 + x"],
        doc: "Exponential.",
        ..LIBM
    },
    Row {
        fun: Exp2,
        name: "exp2",
        float: FloatFn::One(libm::exp2),
        real: RealFn::One(power::exp2),
        meaning: Meaning::Exp2,
        derivative: &["exp2(x) * log(2.0)"],
        facts: &["exp2(x) > 0.0"],
        doc: "`2 ** x`.",
        ..LIBM
    },
    Row {
        fun: Expm1,
        name: "expm1",
        float: FloatFn::One(libm::expm1),
        real: RealFn::One(real::expm1),
        meaning: Meaning::Expm1,
        derivative: &["expm1(x) + 1.0"],
        facts: &["expm1(x) > -1.0", "expm1(x) >= x"],
        doc: "`exp(x) - 1` without cancellation.",
        ..LIBM
    },
    Row {
        fun: Log,
        name: "log",
        float: FloatFn::One(libm::log),
        real: RealFn::One(real::log),
        meaning: Meaning::Log,
        derivative: &["1.0 / x"],
        facts: &["log(x) <= x - 1.0"],
        doc: "Natural logarithm.",
        ..LIBM
    },
    Row {
        fun: Log2,
        name: "log2",
        float: FloatFn::One(libm::log2),
        real: RealFn::One(real::log2),
        meaning: Meaning::Log2,
        derivative: &["1.0 / (x * log(2.0))"],
        doc: "Logarithm to base 2.",
        ..LIBM
    },
    Row {
        fun: Log10,
        name: "log10",
        float: FloatFn::One(libm::log10),
        real: RealFn::One(real::log10),
        meaning: Meaning::Log10,
        derivative: &["1.0 / (x * log(10.0))"],
        doc: "Logarithm to base 10.",
        ..LIBM
    },
    Row {
        fun: Log1p,
        name: "log1p",
        float: FloatFn::One(libm::log1p),
        real: RealFn::One(real::log1p),
        meaning: Meaning::Log1p,
        derivative: &["1.0 / (x + 1.0)"],
        facts: &["log1p(x) <= x"],
        doc: "`log(1 + x)` without cancellation.",
        ..LIBM
    },
    Row {
        fun: Sqrt,
        name: "sqrt",
        float: FloatFn::One(f64::sqrt),
        real: RealFn::One(power::sqrt),
        meaning: Meaning::Sqrt,
        derivative: &["1.0 / (2.0 * sqrt(x))"],
        facts: &["sqrt(x) >= 0.0", "sqrt(x) * sqrt(x) == x"],
        doc: "Square root.",
        ..BASE
    },
    Row {
        fun: Rsqrt,
        name: "rsqrt",
        float: FloatFn::One(|x| 1.0 / x.sqrt()),
        real: RealFn::One(power::rsqrt),
        meaning: Meaning::Rsqrt,
        derivative: &["-0.5 * (rsqrt(x) * rsqrt(x) * rsqrt(x))"],
        facts: &["rsqrt(x) > 0.0", "x * rsqrt(x) * rsqrt(x) == 1.0"],
        ulp: 2,
        doc: "`1 / sqrt(x)`.",
        ..LIBM
    },
    Row {
        fun: Sin,
        name: "sin",
        float: FloatFn::One(libm::sin),
        real: RealFn::One(real::sin),
        derivative: &["cos(x)"],
        facts: &["sin(x) <= 1.0", "sin(x) >= -1.0", "sin(x) * sin(x) + cos(x) * cos(x) == 1.0"],
        doc: "Sine.",
        ..LIBM
    },
    Row {
        fun: Cos,
        name: "cos",
        float: FloatFn::One(libm::cos),
        real: RealFn::One(real::cos),
        derivative: &["-sin(x)"],
        facts: &["cos(x) <= 1.0", "cos(x) >= -1.0", "sin(x) * sin(x) + cos(x) * cos(x) == 1.0"],
        doc: "Cosine.",
        ..LIBM
    },
    Row {
        fun: Tan,
        name: "tan",
        float: FloatFn::One(libm::tan),
        real: RealFn::One(real::tan),
        derivative: &["1.0 + tan(x) * tan(x)"],
        facts: &["tan(x) * cos(x) == sin(x)"],
        doc: "Tangent.",
        ..LIBM
    },
    Row {
        fun: Asin,
        name: "asin",
        float: FloatFn::One(libm::asin),
        real: RealFn::One(real::asin),
        derivative: &["rsqrt(1.0 - x * x)"],
        facts: &["asin(x) <= 1.5707964", "asin(x) >= -1.5707964"],
        doc: "Inverse sine.",
        ..LIBM
    },
    Row {
        fun: Acos,
        name: "acos",
        float: FloatFn::One(libm::acos),
        real: RealFn::One(real::acos),
        derivative: &["-rsqrt(1.0 - x * x)"],
        facts: &["acos(x) <= 3.1415927", "acos(x) >= 0.0"],
        doc: "Inverse cosine.",
        ..LIBM
    },
    Row {
        fun: Atan,
        name: "atan",
        float: FloatFn::One(libm::atan),
        real: RealFn::One(real::atan),
        derivative: &["1.0 / (x * x + 1.0)"],
        facts: &["atan(x) < 1.5707964", "atan(x) > -1.5707964"],
        doc: "Inverse tangent.",
        ..LIBM
    },
    Row {
        fun: Sinh,
        name: "sinh",
        float: FloatFn::One(libm::sinh),
        real: RealFn::One(real::sinh),
        derivative: &["cosh(x)"],
        ulp: 2,
        doc: "Hyperbolic sine.",
        ..LIBM
    },
    Row {
        fun: Cosh,
        name: "cosh",
        float: FloatFn::One(libm::cosh),
        real: RealFn::One(real::cosh),
        derivative: &["sinh(x)"],
        facts: &["cosh(x) >= 1.0"],
        ulp: 2,
        doc: "Hyperbolic cosine.",
        ..LIBM
    },
    Row {
        fun: Tanh,
        name: "tanh",
        float: FloatFn::One(libm::tanh),
        real: RealFn::One(real::tanh),
        derivative: &["1.0 - tanh(x) * tanh(x)"],
        facts: &["tanh(x) < 1.0", "tanh(x) > -1.0"],
        ulp: 3,
        doc: "Hyperbolic tangent.",
        ..LIBM
    },
    Row {
        fun: Asinh,
        name: "asinh",
        float: FloatFn::One(libm::asinh),
        real: RealFn::One(real::asinh),
        derivative: &["rsqrt(x * x + 1.0)"],
        ulp: 2,
        doc: "Inverse hyperbolic sine.",
        ..LIBM
    },
    Row {
        fun: Acosh,
        name: "acosh",
        float: FloatFn::One(float::acosh),
        real: RealFn::One(real::acosh),
        derivative: &["rsqrt(x * x - 1.0)"],
        facts: &["acosh(x) >= 0.0"],
        ulp: 2,
        doc: "Inverse hyperbolic cosine.",
        ..LIBM
    },
    Row {
        fun: Atanh,
        name: "atanh",
        float: FloatFn::One(libm::atanh),
        real: RealFn::One(real::atanh),
        derivative: &["1.0 / (1.0 - x * x)"],
        ulp: 2,
        doc: "Inverse hyperbolic tangent.",
        ..LIBM
    },
    Row {
        fun: Atan2,
        name: "atan2",
        arity: 2,
        float: FloatFn::Two(libm::atan2),
        real: RealFn::Two(real::atan2),
        derivative: &[
            "where(x == 0.0 and y == 0.0, 0.0, y / (x * x + y * y))",
            "where(x == 0.0 and y == 0.0, 0.0, -x / (x * x + y * y))",
        ],
        facts: &["atan2(x, y) <= 3.1415927", "atan2(x, y) >= -3.1415927"],
        ulp: 2,
        doc: "Angle of the point with height `x` at `y` along the axis.",
        ..LIBM
    },
    Row {
        fun: Hypot,
        name: "hypot",
        arity: 2,
        float: FloatFn::Two(libm::hypot),
        real: RealFn::Two(power::hypot),
        meaning: Meaning::Hypot,
        derivative: &["x / hypot(x, y)", "y / hypot(x, y)"],
        facts: &["hypot(x, y) >= abs(x)", "hypot(x, y) >= abs(y)"],
        doc: "`sqrt(x * x + y * y)` without overflow; infinite if either is, even with NaN.",
        ..LIBM
    },
    Row {
        fun: Erf,
        name: "erf",
        float: FloatFn::One(libm::erf),
        real: RealFn::One(real::erf),
        derivative: &["2.0 / sqrt(pi) * exp(-(x * x))"],
        facts: &["erf(x) < 1.0", "erf(x) > -1.0"],
        doc: "Error function.",
        ..LIBM
    },
    Row {
        fun: Erfc,
        name: "erfc",
        float: FloatFn::One(libm::erfc),
        real: RealFn::One(real::erfc),
        derivative: &["-2.0 / sqrt(pi) * exp(-(x * x))"],
        facts: &["erfc(x) > 0.0", "erfc(x) < 2.0", "erfc(x) == 1.0 - erf(x)"],
        ulp: 3,
        doc: "`1 - erf(x)` without cancellation.",
        ..LIBM
    },
    Row {
        fun: Lgamma,
        name: "lgamma",
        float: FloatFn::One(libm::lgamma),
        real: RealFn::One(real::lgamma),
        derivative: &[""],
        ulp: u32::MAX,
        doc: "Logarithm of the magnitude of the gamma function; inaccurate near its zeros between \
              negative integers.",
        ..LIBM
    },
    Row {
        fun: Sigmoid,
        name: "sigmoid",
        float: FloatFn::One(float::sigmoid),
        real: RealFn::One(real::sigmoid),
        meaning: Meaning::Sigmoid,
        derivative: &["sigmoid(x) * (1.0 - sigmoid(x))"],
        facts: &["sigmoid(x) > 0.0", "sigmoid(x) < 1.0"],
        ulp: 2,
        doc: "`1 / (1 + exp(-x))`.",
        ..LIBM
    },
];
