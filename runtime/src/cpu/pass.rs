//! Kernels of the CPU: passes over rows, each straight-line code over blocks of lanes.
//!
//! A pass is a primitive SSA form; every executor takes it as it is. Registers hold a
//! block of lanes, slots one value for a whole row. What depends on no axis of the row
//! is computed once a row and kept in a slot.

use crate::loops::Monoid;
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;

use crate::loops::{ArrayId, SiteId};

use super::strip::Strips;

/// The most lanes of a block.
pub const BLOCK: usize = 1024;

/// What a lane is computed in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lane {
    F32,
    F64,
    I32,
    I64,
    Bool,
}

impl Lane {
    /// f16 and bf16 are computed in f32 and rounded after each step, narrow integers in
    /// i32 and wrapped after each step.
    pub fn of(dtype: DType) -> Lane {
        match dtype {
            DType::Bool => Lane::Bool,
            DType::U8 | DType::I8 | DType::I16 | DType::I32 => Lane::I32,
            DType::I64 => Lane::I64,
            DType::F16 | DType::BF16 | DType::F32 => Lane::F32,
            DType::F64 => Lane::F64,
        }
    }

    pub fn width(self) -> usize {
        match self {
            Lane::Bool => 1,
            Lane::F32 | Lane::I32 => 4,
            Lane::F64 | Lane::I64 => 8,
        }
    }
}

pub type Reg = u32;
pub type Slot = u32;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Src {
    Reg(Reg),
    Slot(Slot),
}

/// Memory that code reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Buffer {
    Array(ArrayId),
    /// One row that a thread keeps for itself, as lanes.
    Row(u32),
}

/// `base + sum of factor * index of the dimension + sum of factor * slot`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Address {
    pub base: i64,
    /// One for each dimension of the kernel.
    pub factors: Vec<i64>,
    pub slots: Vec<(Slot, i64)>,
}

/// An index that must lie below an extent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Check {
    pub index: Address,
    pub extent: i64,
    pub site: SiteId,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// The value of an address, at each lane (i64).
    Index {
        dst: Reg,
        address: Address,
    },
    /// How the value of an address compares to 0.
    Sign {
        dst: Reg,
        fun: Binary,
        address: Address,
    },
    /// The step that follows writes the register where it is stored later.
    Into {
        dst: Reg,
        buffer: Buffer,
        dtype: DType,
        address: Address,
    },
    /// A load that was made for a whole tile: see [`Tiled`].
    Tile {
        dst: Reg,
        number: u32,
    },
    /// Where a check fails, 0 is loaded, and the run fails if the mask holds there.
    Load {
        dst: Reg,
        buffer: Buffer,
        dtype: DType,
        address: Address,
        checks: Vec<Check>,
        mask: Option<Src>,
    },
    Gather {
        dst: Reg,
        buffer: Buffer,
        dtype: DType,
        index: Src,
    },
    Store {
        buffer: Buffer,
        dtype: DType,
        address: Address,
        src: Src,
    },
    /// 0 where the index is not below the extent, and the run fails if the mask holds there.
    Check {
        dst: Reg,
        index: Src,
        extent: i64,
        site: SiteId,
        mask: Option<Src>,
    },
    Require {
        cond: Src,
        site: SiteId,
        mask: Option<Src>,
    },
    Unary {
        dst: Reg,
        lane: Lane,
        fun: Unary,
        a: Src,
    },
    Binary {
        dst: Reg,
        lane: Lane,
        fun: Binary,
        a: Src,
        b: Src,
    },
    /// The product of two factors and the addend, rounded once; `minus` says which of the
    /// two is negated.
    MulAdd {
        dst: Reg,
        lane: Lane,
        factors: (Src, Src),
        addend: Src,
        minus: (bool, bool),
    },
    Select {
        dst: Reg,
        lane: Lane,
        cond: Src,
        a: Src,
        b: Src,
    },
    Cast {
        dst: Reg,
        from: Lane,
        to: DType,
        a: Src,
    },
    /// To the values of the dtype, narrower than its lanes.
    Narrow {
        dst: Reg,
        dtype: DType,
        a: Src,
    },
    /// A row of the scalar table, lane by lane as the reference evaluator does it.
    Table {
        dst: Reg,
        fun: Scalar,
        dtype: DType,
        args: Vec<Src>,
        site: Option<SiteId>,
        mask: Option<Src>,
    },
    /// The first lane, to a slot.
    Save {
        slot: Slot,
        lane: Lane,
        src: Src,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    Neg,
    Abs,
    Sqrt,
    Reciprocal,
    Floor,
    Ceil,
    Round,
    Trunc,
    Not,
    Isnan,
    Isinf,
    Isfinite,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Maximum,
    Minimum,
    /// Rounded down; 0 at divisor 0.
    FloorDiv,
    And,
    Or,
    Xor,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Binary {
    pub fn is_test(self) -> bool {
        use Binary::*;
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }
}

/// A value reduced over the lanes and loops of a pass.
#[derive(Clone, PartialEq, Debug)]
pub struct Accumulator {
    pub op: Monoid,
    pub dtype: DType,
    pub src: Src,
    pub into: Into,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Into {
    /// One value for a row.
    Slot(Slot),
    /// A value for each lane.
    Array { array: ArrayId, address: Address },
}

/// How far a dimension goes; it may depend on the dimensions before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Extent {
    Constant(i64),
    Ragged(Address),
}

#[derive(Clone, Default, Debug)]
pub struct Pass {
    /// Once a row: what the lanes need in slots.
    pub before: Vec<Op>,
    pub code: Vec<Op>,
    pub accumulators: Vec<Accumulator>,
    /// The same by strips, if all of it can be run so.
    pub strips: Option<Strips>,
}

/// Lanes and rows of a tile: a cache line of rows, and lanes enough to be read in order.
pub const TILE: usize = 256;
pub const TILE_ROWS: usize = 16;

/// Loads that jump from lane to lane, but not from one index of an outer dimension to the
/// next: they are made for tiles of that dimension and the lanes.
#[derive(Clone, PartialEq, Debug)]
pub struct Tiled {
    pub dim: usize,
    pub loads: Vec<(Buffer, DType, Address)>,
}

/// A loop nest over dimensions: `outer` that number the rows, then loops, with one of
/// them, `lane`, run through in blocks.
#[derive(Clone, Debug)]
pub struct Nest {
    pub dims: Vec<Extent>,
    pub outer: usize,
    pub lane: usize,
    pub passes: Vec<Pass>,
    /// Once a row, after the last pass.
    pub after: Vec<Op>,
    pub slots: Vec<u64>,
    pub registers: usize,
    /// Rows that a thread keeps, by the width of their lanes.
    pub rows: Vec<Lane>,
    /// Arrays whose place a result may take: it is read only where it was read.
    pub in_place: Vec<(ArrayId, ArrayId)>,
    pub tiled: Option<Tiled>,
    /// Rows are short and alike: several are run at a time. The slots that rows change,
    /// with the width of their lanes.
    pub batched: Option<Vec<(Slot, usize)>>,
}
