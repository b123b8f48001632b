//! Element types, their promotion, and the ranges of the integer ones.
//!
//! Source: PyTorch's promotion table; the root tests hold every entry against it.

use std::fmt;

/// The element type of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DType {
    Bool,
    U8,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
}

use DType::*;

/// PyTorch's dtype categories; promotion never moves down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Category {
    Bool,
    Int,
    Float,
}

impl DType {
    pub const ALL: [DType; 10] = [Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64];

    /// The name in the language.
    pub fn name(self) -> &'static str {
        match self {
            Bool => "bool",
            U8 => "u8",
            I8 => "i8",
            I16 => "i16",
            I32 => "i32",
            I64 => "i64",
            F16 => "f16",
            BF16 => "bf16",
            F32 => "f32",
            F64 => "f64",
        }
    }

    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    pub fn category(self) -> Category {
        match self {
            Bool => Category::Bool,
            U8 | I8 | I16 | I32 | I64 => Category::Int,
            F16 | BF16 | F32 | F64 => Category::Float,
        }
    }

    pub fn is_float(self) -> bool {
        self.category() == Category::Float
    }

    pub fn is_int(self) -> bool {
        self.category() == Category::Int
    }

    /// Width in bits (a bool is stored as one byte, its width is 1).
    pub fn bits(self) -> u32 {
        match self {
            Bool => 1,
            U8 | I8 => 8,
            I16 | F16 | BF16 => 16,
            I32 | F32 => 32,
            I64 | F64 => 64,
        }
    }

    /// Least and greatest value of an integer dtype or bool.
    pub fn int_range(self) -> Option<(i64, i64)> {
        match self {
            Bool => Some((0, 1)),
            U8 => Some((0, u8::MAX as i64)),
            I8 => Some((i8::MIN as i64, i8::MAX as i64)),
            I16 => Some((i16::MIN as i64, i16::MAX as i64)),
            I32 => Some((i32::MIN as i64, i32::MAX as i64)),
            I64 => Some((i64::MIN, i64::MAX)),
            F16 | BF16 | F32 | F64 => None,
        }
    }

    /// Bits of the significand, the hidden one included (floats only).
    pub fn precision(self) -> Option<u32> {
        match self {
            F16 => Some(11),
            BF16 => Some(8),
            F32 => Some(24),
            F64 => Some(53),
            _ => None,
        }
    }

    /// PyTorch's `promote_types`: the least dtype of the lattice above both.
    pub fn promote(self, other: DType) -> DType {
        let (low, high) = if self <= other { (self, other) } else { (other, self) };
        match (low, high) {
            (a, b) if a == b => a,
            (U8, I8) => I16,
            (F16, BF16) => F32,
            (_, b) => b,
        }
    }

    /// dtype of `sum` and `prod`: bool and integers accumulate in i64.
    pub fn sum_dtype(self) -> DType {
        if self.is_float() { self } else { I64 }
    }

    /// dtype of true division and of float functions: integers go to f32.
    pub fn true_div_dtype(self) -> DType {
        if self.is_float() { self } else { F32 }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The bound of a dtype variable: `T: float`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DTypeClass {
    Any,
    Num,
    Int,
    Float,
}

impl DTypeClass {
    pub fn from_name(name: &str) -> Option<DTypeClass> {
        match name {
            "any" => Some(DTypeClass::Any),
            "num" => Some(DTypeClass::Num),
            "int" => Some(DTypeClass::Int),
            "float" => Some(DTypeClass::Float),
            _ => None,
        }
    }

    /// `any` is every dtype, `num` every one but bool.
    pub fn members(self) -> &'static [DType] {
        match self {
            DTypeClass::Any => &DType::ALL,
            DTypeClass::Num => &[U8, I8, I16, I32, I64, F16, BF16, F32, F64],
            DTypeClass::Int => &[U8, I8, I16, I32, I64],
            DTypeClass::Float => &[F16, BF16, F32, F64],
        }
    }

    pub fn contains(self, dtype: DType) -> bool {
        self.members().contains(&dtype)
    }
}

impl fmt::Display for DTypeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DTypeClass::Any => "any",
            DTypeClass::Num => "num",
            DTypeClass::Int => "int",
            DTypeClass::Float => "float",
        })
    }
}
