//! Elements in memory, and the wide ones that they are combined in.

use half::{bf16, f16};
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Value;

use crate::loops::{Constant, Monoid};

/// What elements are combined in: i64 for integers and bools, f64 for floats.
pub trait Wide: Copy + PartialEq + Send + Sync {
    fn neutral(op: Monoid, dtype: DType) -> Self;
    fn of_constant(constant: Constant) -> Self;
    fn combine(self, op: Monoid, other: Self) -> Self;
    fn is_nan(self) -> bool;
    fn float(self) -> f64;
    fn of_float(x: f64) -> Self;
    /// Whole numbers in the order in which sorting brings elements; equal for equal ones.
    fn key(self) -> u64;
}

impl Wide for i64 {
    fn neutral(op: Monoid, dtype: DType) -> i64 {
        let (least, most) = dtype.int_range().unwrap_or((0, 1));
        match op {
            Monoid::Sum | Monoid::Any => 0,
            Monoid::Prod | Monoid::All => 1,
            Monoid::Max => least,
            Monoid::Min => most,
        }
    }

    fn of_constant(constant: Constant) -> i64 {
        constant.0
    }

    fn combine(self, op: Monoid, other: i64) -> i64 {
        match op {
            Monoid::Sum => self.wrapping_add(other),
            Monoid::Prod => self.wrapping_mul(other),
            Monoid::Max => self.max(other),
            Monoid::Min => self.min(other),
            Monoid::Any => self | other,
            Monoid::All => self & other,
        }
    }

    fn is_nan(self) -> bool {
        false
    }

    fn float(self) -> f64 {
        self as f64
    }

    fn of_float(x: f64) -> i64 {
        x as i64
    }

    fn key(self) -> u64 {
        (self as u64) ^ (1 << 63)
    }
}

impl Wide for f64 {
    fn neutral(op: Monoid, _: DType) -> f64 {
        match op {
            Monoid::Prod => 1.0,
            Monoid::Max => f64::NEG_INFINITY,
            Monoid::Min => f64::INFINITY,
            Monoid::Sum | Monoid::Any | Monoid::All => 0.0,
        }
    }

    fn of_constant(constant: Constant) -> f64 {
        constant.float()
    }

    fn combine(self, op: Monoid, other: f64) -> f64 {
        match op {
            Monoid::Prod => self * other,
            Monoid::Max if other > self || other.is_nan() => other,
            Monoid::Min if other < self || other.is_nan() => other,
            Monoid::Max | Monoid::Min => self,
            Monoid::Sum | Monoid::Any | Monoid::All => self + other,
        }
    }

    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }

    fn float(self) -> f64 {
        self
    }

    fn of_float(x: f64) -> f64 {
        x
    }

    fn key(self) -> u64 {
        match self {
            x if x.is_nan() => u64::MAX,
            0.0 => 1 << 63,
            x if x < 0.0 => !x.to_bits(),
            x => x.to_bits() | 1 << 63,
        }
    }
}

/// An element in memory.
pub trait Stored: Copy {
    type Wide: Wide;
    const DTYPE: DType;
    fn widen(self) -> Self::Wide;
    /// Rounded once, or wrapped.
    fn narrow(wide: Self::Wide) -> Self;
}

macro_rules! stored {
    ($($t:ty, $dtype:ident, $wide:ty, $widen:expr, $narrow:expr;)*) => {$(
        impl Stored for $t {
            type Wide = $wide;
            const DTYPE: DType = DType::$dtype;

            fn widen(self) -> $wide {
                let widen: fn($t) -> $wide = $widen;
                widen(self)
            }

            fn narrow(wide: $wide) -> $t {
                let narrow: fn($wide) -> $t = $narrow;
                narrow(wide)
            }
        }
    )*};
}

/// A bool in memory: 0 or 1.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Truth(u8);

stored! {
    Truth, Bool, i64, |x| x.0.into(), |x| Truth(u8::from(x != 0));
    u8, U8, i64, i64::from, |x| x as u8;
    i8, I8, i64, i64::from, |x| x as i8;
    i16, I16, i64, i64::from, |x| x as i16;
    i32, I32, i64, i64::from, |x| x as i32;
    i64, I64, i64, |x| x, |x| x;
    f16, F16, f64, f16::to_f64, |x| f16::from_f64(Value::round(x, DType::F16));
    bf16, BF16, f64, bf16::to_f64, |x| bf16::from_f64(Value::round(x, DType::BF16));
    f32, F32, f64, f64::from, |x| x as f32;
    f64, F64, f64, |x| x, |x| x;
}

/// An expression for the type of elements of a dtype.
macro_rules! with_stored {
    ($dtype:expr, $t:ident => $work:expr) => {{
        macro_rules! at {
            ($chosen:ty) => {{
                type $t = $chosen;
                $work
            }};
        }
        match $dtype {
            rtv_semantics::dtype::DType::Bool => at!(super::whole::stored::Truth),
            rtv_semantics::dtype::DType::U8 => at!(u8),
            rtv_semantics::dtype::DType::I8 => at!(i8),
            rtv_semantics::dtype::DType::I16 => at!(i16),
            rtv_semantics::dtype::DType::I32 => at!(i32),
            rtv_semantics::dtype::DType::I64 => at!(i64),
            rtv_semantics::dtype::DType::F16 => at!(half::f16),
            rtv_semantics::dtype::DType::BF16 => at!(half::bf16),
            rtv_semantics::dtype::DType::F32 => at!(f32),
            rtv_semantics::dtype::DType::F64 => at!(f64),
        }
    }};
}
pub(super) use with_stored;
