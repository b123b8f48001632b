//! Integer and boolean scalar functions, exactly: two's complement of the dtype's
//! width, with wrap-around; `None` where a function is not covered.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Bit, Class, Meaning};

use crate::query::{Id, Node, Op, Query};

/// Result of an integer or boolean function.
pub(crate) struct BitResult {
    pub value: Id,
    /// Whether it is a boolean (a test) rather than a value of the dtype.
    pub test: bool,
    /// When evaluation is an error.
    pub error: Option<Id>,
}

fn value(value: Id) -> Option<BitResult> {
    Some(BitResult { value, test: false, error: None })
}

fn test(value: Id) -> Option<BitResult> {
    Some(BitResult { value, test: true, error: None })
}

/// A function of integers of one dtype.
pub(crate) fn integer(q: &mut Query, meaning: Meaning, dtype: DType, args: &[Id]) -> Option<BitResult> {
    let mut ints = Ints { q, width: dtype.bits(), signed: dtype != DType::U8 };
    match *args {
        [x] => ints.unary(meaning, x),
        [x, y] => match meaning {
            Meaning::FloorDiv | Meaning::TruncDiv | Meaning::Remainder | Meaning::Fmod => {
                ints.division(meaning, x, y)
            }
            _ => ints.binary(meaning, x, y),
        },
        _ => None,
    }
}

struct Ints<'q> {
    q: &'q mut Query,
    width: u32,
    signed: bool,
}

impl Ints<'_> {
    fn number(&mut self, n: i64) -> Id {
        self.q.bits(n, self.width)
    }

    fn less(&mut self, x: Id, y: Id) -> Id {
        self.q.op(if self.signed { Op::BvSlt } else { Op::BvUlt }, vec![x, y])
    }

    fn unary(&mut self, meaning: Meaning, x: Id) -> Option<BitResult> {
        let zero = self.number(0);
        match meaning {
            Meaning::Neg => value(self.q.op(Op::BvNeg, vec![x])),
            Meaning::Abs => {
                let (negative, minus) = (self.less(x, zero), self.q.op(Op::BvNeg, vec![x]));
                value(self.q.ite(negative, minus, x))
            }
            Meaning::Sign => {
                let (negative, is_zero) = (self.less(x, zero), self.q.eq(x, zero));
                let (minus_one, one) = (self.number(-1), self.number(1));
                let rest = self.q.ite(is_zero, zero, one);
                value(self.q.ite(negative, minus_one, rest))
            }
            Meaning::Floor | Meaning::Ceil | Meaning::Round | Meaning::Trunc => value(x),
            Meaning::Bit(Bit::Not) => value(self.q.op(Op::BvNot, vec![x])),
            Meaning::Class(Class::Nan | Class::Inf) => test(self.q.bool(false)),
            Meaning::Class(Class::Finite) => test(self.q.bool(true)),
            Meaning::Class(Class::SignBit) => test(self.less(x, zero)),
            _ => None,
        }
    }

    fn binary(&mut self, meaning: Meaning, x: Id, y: Id) -> Option<BitResult> {
        match meaning {
            // The operands are put in order: both operations commute.
            Meaning::Add => value(self.q.op(Op::BvAdd, vec![x.min(y), x.max(y)])),
            Meaning::Mul if x == y => {
                let root = up_to_sign(self.q, x);
                value(self.q.op(Op::BvMul, vec![root, root]))
            }
            Meaning::Mul => value(self.q.op(Op::BvMul, vec![x.min(y), x.max(y)])),
            Meaning::Sub => {
                let minus = self.q.op(Op::BvNeg, vec![y]);
                value(self.q.op(Op::BvAdd, vec![x, minus]))
            }
            Meaning::Max => {
                let less = self.less(x, y);
                value(self.q.ite(less, y, x))
            }
            Meaning::Min => {
                let less = self.less(x, y);
                value(self.q.ite(less, x, y))
            }
            Meaning::Bit(bit) => self.bitwise(bit, x, y),
            _ => test(self.comparison(meaning, x, y)?),
        }
    }

    fn comparison(&mut self, meaning: Meaning, x: Id, y: Id) -> Option<Id> {
        Some(match meaning {
            Meaning::Eq => self.q.eq(x, y),
            Meaning::Ne => {
                let same = self.q.eq(x, y);
                self.q.not(same)
            }
            Meaning::Lt => self.less(x, y),
            Meaning::Gt => self.less(y, x),
            Meaning::Le => {
                let greater = self.less(y, x);
                self.q.not(greater)
            }
            Meaning::Ge => {
                let less = self.less(x, y);
                self.q.not(less)
            }
            _ => return None,
        })
    }

    fn bitwise(&mut self, bit: Bit, x: Id, y: Id) -> Option<BitResult> {
        let op = match bit {
            Bit::And => Op::BvAnd,
            Bit::Or => Op::BvOr,
            Bit::Xor => Op::BvXor,
            Bit::Not => return None,
            Bit::LeftShift => Op::BvShl,
            Bit::RightShift if self.signed => Op::BvAshr,
            Bit::RightShift => Op::BvLshr,
        };
        let result = self.q.op(op, vec![x, y]);
        if !matches!(bit, Bit::LeftShift | Bit::RightShift) {
            return value(result);
        }
        // An amount outside 0..width, read without sign, leaves the fill only.
        let (width, zero) = (self.number(i64::from(self.width)), self.number(0));
        let inside = self.q.op(Op::BvUlt, vec![y, width]);
        let fill = if bit == Bit::RightShift {
            let (negative, minus_one) = (self.less(x, zero), self.number(-1));
            self.q.ite(negative, minus_one, zero)
        } else {
            zero
        };
        value(self.q.ite(inside, result, fill))
    }

    /// Division and remainder; a zero divisor is an error. Floor division differs from
    /// the truncating one where the remainder is not zero and the signs differ.
    fn division(&mut self, meaning: Meaning, x: Id, y: Id) -> Option<BitResult> {
        let zero = self.number(0);
        let error = Some(self.q.eq(y, zero));
        let (divide, rest) = if self.signed { (Op::BvSdiv, Op::BvSrem) } else { (Op::BvUdiv, Op::BvUrem) };
        let (quotient, rest) = (self.q.op(divide, vec![x, y]), self.q.op(rest, vec![x, y]));
        let value = match meaning {
            Meaning::TruncDiv => quotient,
            Meaning::Fmod => rest,
            _ => {
                let exact = self.q.eq(rest, zero);
                let (inexact, rest_neg, y_neg) =
                    (self.q.not(exact), self.less(rest, zero), self.less(y, zero));
                let alike = self.q.eq(rest_neg, y_neg);
                let differ = self.q.not(alike);
                let corrected = self.q.and([inexact, differ]);
                let other = if meaning == Meaning::FloorDiv {
                    let minus_one = self.number(-1);
                    (self.q.op(Op::BvAdd, vec![quotient, minus_one]), quotient)
                } else {
                    (self.q.op(Op::BvAdd, vec![rest, y]), rest)
                };
                self.q.ite(corrected, other.0, other.1)
            }
        };
        Some(BitResult { value, test: false, error })
    }
}

/// What a number is, or is the negative of, in either branch: both have one square, wrapped too.
fn up_to_sign(q: &Query, x: Id) -> Id {
    match &q.nodes[x.index()] {
        Node::Op(Op::BvNeg, args) => up_to_sign(q, args[0]),
        Node::Op(Op::Ite, args) => {
            let (then, other) = (up_to_sign(q, args[1]), up_to_sign(q, args[2]));
            if then == other { then } else { x }
        }
        _ => x,
    }
}

/// A function of bools, read as 0 and 1; a sum or product that is not 0 is true.
pub(crate) fn boolean(q: &mut Query, meaning: Meaning, args: &[Id]) -> Option<BitResult> {
    let result = match (meaning, args) {
        (Meaning::Not | Meaning::Bit(Bit::Not), [x]) => q.not(*x),
        (Meaning::Sign, [x]) => *x,
        (Meaning::Class(Class::Nan | Class::Inf | Class::SignBit), [_]) => q.bool(false),
        (Meaning::Class(Class::Finite), [_]) => q.bool(true),
        (Meaning::Add | Meaning::Max | Meaning::Or | Meaning::Bit(Bit::Or), [x, y]) => q.or([*x, *y]),
        (Meaning::Mul | Meaning::Min | Meaning::And | Meaning::Bit(Bit::And), [x, y]) => q.and([*x, *y]),
        (Meaning::Xor | Meaning::Bit(Bit::Xor) | Meaning::Ne, [x, y]) => {
            let same = q.eq(*x, *y);
            q.not(same)
        }
        (Meaning::Eq, [x, y]) => q.eq(*x, *y),
        (Meaning::Le, [x, y]) => q.implies(*x, *y),
        (Meaning::Ge, [x, y]) => q.implies(*y, *x),
        (Meaning::Lt, [x, y]) => {
            let not_x = q.not(*x);
            q.and([not_x, *y])
        }
        (Meaning::Gt, [x, y]) => {
            let not_y = q.not(*y);
            q.and([*x, not_y])
        }
        _ => return None,
    };
    value(result)
}
