//! Classification, comparison, logic and bits.

use super::super::Scalar::*;
use super::super::{Accepts, Bit, Class, Exact, FloatFn, IntFn, Meaning, RealFn, Row, int, real};
use super::BASE;

/// Of two operands of any dtype, with a bool result.
const COMPARISON: Row = Row { arity: 2, accepts: Accepts::Any, ..BASE };

/// Of two bools.
const CONNECTIVE: Row = Row { arity: 2, accepts: Accepts::Bool, ..BASE };

/// Of two integers or bools, bit by bit.
const BITWISE: Row = Row { arity: 2, accepts: Accepts::Bits, ..BASE };

pub(super) const ROWS: [Row; 19] = [
    Row {
        fun: Isnan,
        name: "isnan",
        accepts: Accepts::Any,
        float: FloatFn::Test(f64::is_nan),
        int: IntFn::Test(|_| false),
        real: RealFn::Test(|_| Ok(false)),
        meaning: Meaning::Class(Class::Nan),
        doc: "Whether NaN.",
        ..BASE
    },
    Row {
        fun: Isinf,
        name: "isinf",
        accepts: Accepts::Any,
        float: FloatFn::Test(f64::is_infinite),
        int: IntFn::Test(|_| false),
        real: RealFn::Test(|x| Ok(x.is_infinite())),
        meaning: Meaning::Class(Class::Inf),
        doc: "Whether an infinity.",
        ..BASE
    },
    Row {
        fun: Isfinite,
        name: "isfinite",
        accepts: Accepts::Any,
        float: FloatFn::Test(f64::is_finite),
        int: IntFn::Test(|_| true),
        real: RealFn::Test(|x| Ok(!x.is_infinite())),
        meaning: Meaning::Class(Class::Finite),
        doc: "Whether neither NaN nor an infinity.",
        ..BASE
    },
    Row {
        fun: Eq,
        name: "eq",
        float: FloatFn::Compare(|x, y| x == y),
        int: IntFn::Compare(|x, y| x == y),
        real: RealFn::Compare(real::equal),
        meaning: Meaning::Eq,
        doc: "Equality; false with NaN, and the zeros are equal.",
        ..COMPARISON
    },
    Row {
        fun: Ne,
        name: "ne",
        float: FloatFn::Compare(|x, y| x != y),
        int: IntFn::Compare(|x, y| x != y),
        real: RealFn::Compare(|x: &Exact, y| real::equal(x, y).map(|same| !same)),
        meaning: Meaning::Ne,
        doc: "Not equal; true with NaN.",
        ..COMPARISON
    },
    Row {
        fun: Lt,
        name: "lt",
        float: FloatFn::Compare(|x, y| x < y),
        int: IntFn::Compare(|x, y| x < y),
        real: RealFn::Compare(real::less),
        meaning: Meaning::Lt,
        doc: "Less; false with NaN.",
        ..COMPARISON
    },
    Row {
        fun: Le,
        name: "le",
        float: FloatFn::Compare(|x, y| x <= y),
        int: IntFn::Compare(|x, y| x <= y),
        real: RealFn::Compare(real::less_equal),
        meaning: Meaning::Le,
        doc: "Less or equal; false with NaN.",
        ..COMPARISON
    },
    Row {
        fun: Gt,
        name: "gt",
        float: FloatFn::Compare(|x, y| x > y),
        int: IntFn::Compare(|x, y| x > y),
        real: RealFn::Compare(|x: &Exact, y| real::less(y, x)),
        meaning: Meaning::Gt,
        doc: "Greater; false with NaN.",
        ..COMPARISON
    },
    Row {
        fun: Ge,
        name: "ge",
        float: FloatFn::Compare(|x, y| x >= y),
        int: IntFn::Compare(|x, y| x >= y),
        real: RealFn::Compare(|x: &Exact, y| real::less_equal(y, x)),
        meaning: Meaning::Ge,
        doc: "Greater or equal; false with NaN.",
        ..COMPARISON
    },
    Row {
        fun: LogicalAnd,
        name: "logical_and",
        int: IntFn::Two(|x, y| x & y),
        meaning: Meaning::And,
        doc: "Both; other dtypes are compared with 0 before.",
        ..CONNECTIVE
    },
    Row {
        fun: LogicalOr,
        name: "logical_or",
        int: IntFn::Two(|x, y| x | y),
        meaning: Meaning::Or,
        doc: "Either or both; other dtypes are compared with 0 before.",
        ..CONNECTIVE
    },
    Row {
        fun: LogicalNot,
        name: "logical_not",
        arity: 1,
        int: IntFn::One(|x| 1 - x),
        meaning: Meaning::Not,
        doc: "Not; other dtypes are compared with 0 before.",
        ..CONNECTIVE
    },
    Row {
        fun: LogicalXor,
        name: "logical_xor",
        int: IntFn::Two(|x, y| x ^ y),
        meaning: Meaning::Xor,
        doc: "Exactly one; other dtypes are compared with 0 before.",
        ..CONNECTIVE
    },
    Row {
        fun: BitwiseAnd,
        name: "bitwise_and",
        int: IntFn::Two(|x, y| x & y),
        meaning: Meaning::Bit(Bit::And),
        doc: "Bits set in both.",
        ..BITWISE
    },
    Row {
        fun: BitwiseOr,
        name: "bitwise_or",
        int: IntFn::Two(|x, y| x | y),
        meaning: Meaning::Bit(Bit::Or),
        doc: "Bits set in either.",
        ..BITWISE
    },
    Row {
        fun: BitwiseXor,
        name: "bitwise_xor",
        int: IntFn::Two(|x, y| x ^ y),
        meaning: Meaning::Bit(Bit::Xor),
        doc: "Bits set in exactly one.",
        ..BITWISE
    },
    Row {
        fun: BitwiseNot,
        name: "bitwise_not",
        arity: 1,
        int: IntFn::Dtype(int::bitwise_not),
        meaning: Meaning::Bit(Bit::Not),
        doc: "Bits not set; of a bool, not.",
        ..BITWISE
    },
    Row {
        fun: BitwiseLeftShift,
        name: "bitwise_left_shift",
        accepts: Accepts::Int,
        int: IntFn::Dtype(int::left_shift),
        meaning: Meaning::Bit(Bit::LeftShift),
        doc: "`x` moved `y` bits up; 0 if `y` is negative or at least the width.",
        ..BITWISE
    },
    Row {
        fun: BitwiseRightShift,
        name: "bitwise_right_shift",
        accepts: Accepts::Int,
        int: IntFn::Dtype(int::right_shift),
        meaning: Meaning::Bit(Bit::RightShift),
        doc: "`x` moved `y` bits down, filled with its sign; only the fill if `y` is \
              negative or at least the width.",
        ..BITWISE
    },
];
