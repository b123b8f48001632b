//! Primitive steps over blocks of lanes, each a plain loop that the compiler turns into
//! vectors.
//!
//! Each is compiled for any machine, for AVX2 with FMA, and for AVX-512; all give the same
//! bits, since nothing is contracted or reordered.

use crate::loops::Monoid;
use half::f16;
use rtv_semantics::dtype::DType;

use super::access::bf16_bits;
use super::accumulate;
use super::block::Block;
use super::pass::{Binary, Lane, Unary};

/// A function compiled for each width of vectors.
macro_rules! vectors {
    ($(#[$doc:meta])* $vis:vis unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        #[inline]
        $vis unsafe fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            unsafe fn plain($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn avx2($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: the caller's.
                unsafe { plain($($arg),*) }
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn avx512($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: the caller's.
                unsafe { plain($($arg),*) }
            }

            // SAFETY: the features are there; the rest is the caller's.
            unsafe {
                match $crate::cpu::vectors() {
                    #[cfg(target_arch = "x86_64")]
                    $crate::cpu::Vectors::Avx512 => avx512($($arg),*),
                    #[cfg(target_arch = "x86_64")]
                    $crate::cpu::Vectors::Avx2 => avx2($($arg),*),
                    _ => plain($($arg),*),
                }
            }
        }
    };
}

pub(super) use vectors;

#[inline(always)]
pub(super) unsafe fn lanes_of<'a, T>(pointer: *const u8, count: usize) -> &'a [T] {
    // SAFETY: the caller's block has `count` lanes of type T.
    unsafe { std::slice::from_raw_parts(pointer.cast(), count) }
}

#[inline(always)]
pub(super) unsafe fn lanes_mut<'a, T>(pointer: *mut u8, count: usize) -> &'a mut [T] {
    // SAFETY: the caller's block has `count` lanes of type T.
    unsafe { std::slice::from_raw_parts_mut(pointer.cast(), count) }
}

/// `dst[i] = f(a[i])`. Destination and sources are different blocks.
#[inline(always)]
pub(super) unsafe fn map1<A: Copy, D>(dst: *mut u8, a: Block, count: usize, f: impl Fn(A) -> D) {
    // SAFETY: the caller's blocks have `count` lanes.
    let (dst, a) = unsafe { (lanes_mut::<D>(dst, count), lanes_of::<A>(a.pointer, count)) };
    for i in 0..count {
        dst[i] = f(a[i]);
    }
}

/// `dst[i] = f(a[i], b[i])`, where a uniform operand has one lane.
#[inline(always)]
pub(super) unsafe fn map2<A: Copy, D>(dst: *mut u8, a: Block, b: Block, count: usize, f: impl Fn(A, A) -> D) {
    // SAFETY: the caller's blocks have `count` lanes, uniform ones have one.
    unsafe {
        let dst = lanes_mut::<D>(dst, count);
        match (a.uniform && count > 1, b.uniform && count > 1) {
            (false, false) => {
                let (a, b) = (lanes_of::<A>(a.pointer, count), lanes_of::<A>(b.pointer, count));
                for i in 0..count {
                    dst[i] = f(a[i], b[i]);
                }
            }
            (false, true) => {
                let (a, b) = (lanes_of::<A>(a.pointer, count), *b.pointer.cast::<A>());
                for i in 0..count {
                    dst[i] = f(a[i], b);
                }
            }
            (true, false) => {
                let (a, b) = (*a.pointer.cast::<A>(), lanes_of::<A>(b.pointer, count));
                for i in 0..count {
                    dst[i] = f(a, b[i]);
                }
            }
            (true, true) => {
                let value = (*a.pointer.cast::<A>(), *b.pointer.cast::<A>());
                for d in dst {
                    *d = f(value.0, value.1);
                }
            }
        }
    }
}

/// The block as lanes that can all be read: a uniform one is spread into `room`.
#[inline(always)]
pub(super) unsafe fn spread<T: Copy>(block: Block, room: *mut u8, count: usize) -> *const u8 {
    if !block.uniform || count == 1 {
        return block.pointer;
    }
    // SAFETY: the caller's room has `count` lanes.
    unsafe { lanes_mut::<T>(room, count).fill(*block.pointer.cast::<T>()) };
    room
}

pub(super) unsafe fn spread_any(lane: Lane, block: Block, room: *mut u8, lanes: usize) -> *const u8 {
    // SAFETY: the caller's.
    unsafe {
        match lane.width() {
            1 => spread::<u8>(block, room, lanes),
            4 => spread::<u32>(block, room, lanes),
            _ => spread::<u64>(block, room, lanes),
        }
    }
}

vectors! {
    pub unsafe fn unary(dst: *mut u8, lane: Lane, fun: Unary, a: Block, count: usize) {
        macro_rules! float {
            ($t:ty) => {
                match fun {
                    Unary::Neg => map1::<$t, $t>(dst, a, count, |x| -x),
                    Unary::Abs => map1::<$t, $t>(dst, a, count, <$t>::abs),
                    Unary::Sqrt => map1::<$t, $t>(dst, a, count, <$t>::sqrt),
                    Unary::Reciprocal => map1::<$t, $t>(dst, a, count, |x| 1.0 / x),
                    Unary::Floor => map1::<$t, $t>(dst, a, count, <$t>::floor),
                    Unary::Ceil => map1::<$t, $t>(dst, a, count, <$t>::ceil),
                    Unary::Round => map1::<$t, $t>(dst, a, count, <$t>::round_ties_even),
                    Unary::Trunc => map1::<$t, $t>(dst, a, count, <$t>::trunc),
                    Unary::Isnan => map1::<$t, u8>(dst, a, count, |x| u8::from(x.is_nan())),
                    Unary::Isinf => map1::<$t, u8>(dst, a, count, |x| u8::from(x.is_infinite())),
                    Unary::Isfinite => map1::<$t, u8>(dst, a, count, |x| u8::from(x.is_finite())),
                    Unary::Not => unreachable!("invariant: floats have no complement"),
                }
            };
        }
        macro_rules! int {
            ($t:ty) => {
                match fun {
                    Unary::Neg => map1::<$t, $t>(dst, a, count, <$t>::wrapping_neg),
                    Unary::Abs => map1::<$t, $t>(dst, a, count, <$t>::wrapping_abs),
                    Unary::Not => map1::<$t, $t>(dst, a, count, |x| !x),
                    _ => unreachable!("invariant: a function of floats"),
                }
            };
        }
        // SAFETY: the caller's.
        unsafe {
            match lane {
                Lane::F32 => float!(f32),
                Lane::F64 => float!(f64),
                Lane::I32 => int!(i32),
                Lane::I64 => int!(i64),
                Lane::Bool => map1::<u8, u8>(dst, a, count, |x| x ^ 1),
            }
        }
    }
}

vectors! {
    pub unsafe fn binary(dst: *mut u8, lane: Lane, fun: Binary, a: Block, b: Block, count: usize) {
        macro_rules! test {
            ($t:ty) => {
                match fun {
                    Binary::Eq => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x == y)),
                    Binary::Ne => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x != y)),
                    Binary::Lt => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x < y)),
                    Binary::Le => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x <= y)),
                    Binary::Gt => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x > y)),
                    Binary::Ge => map2::<$t, u8>(dst, a, b, count, |x, y| u8::from(x >= y)),
                    _ => unreachable!("invariant: no function of these lanes"),
                }
            };
        }
        macro_rules! float {
            ($t:ty) => {
                match fun {
                    Binary::Add => map2::<$t, $t>(dst, a, b, count, |x, y| x + y),
                    Binary::Sub => map2::<$t, $t>(dst, a, b, count, |x, y| x - y),
                    Binary::Mul => map2::<$t, $t>(dst, a, b, count, |x, y| x * y),
                    Binary::Div => map2::<$t, $t>(dst, a, b, count, |x, y| x / y),
                    // NaN if either is; between zeros of two signs the first.
                    Binary::Maximum => {
                        map2::<$t, $t>(dst, a, b, count, |x, y| if x.is_nan() | (x >= y) { x } else { y })
                    }
                    Binary::Minimum => {
                        map2::<$t, $t>(dst, a, b, count, |x, y| if x.is_nan() | (x <= y) { x } else { y })
                    }
                    _ => test!($t),
                }
            };
        }
        macro_rules! int {
            ($t:ty) => {
                match fun {
                    Binary::Add => map2::<$t, $t>(dst, a, b, count, <$t>::wrapping_add),
                    Binary::Sub => map2::<$t, $t>(dst, a, b, count, <$t>::wrapping_sub),
                    Binary::Mul => map2::<$t, $t>(dst, a, b, count, <$t>::wrapping_mul),
                    Binary::Maximum => map2::<$t, $t>(dst, a, b, count, |x, y| if x >= y { x } else { y }),
                    Binary::Minimum => map2::<$t, $t>(dst, a, b, count, |x, y| if x <= y { x } else { y }),
                    Binary::And => map2::<$t, $t>(dst, a, b, count, |x, y| x & y),
                    Binary::Or => map2::<$t, $t>(dst, a, b, count, |x, y| x | y),
                    Binary::Xor => map2::<$t, $t>(dst, a, b, count, |x, y| x ^ y),
                    Binary::FloorDiv => map2::<$t, $t>(dst, a, b, count, |x, y| match y {
                        0 => 0,
                        y => x
                            .wrapping_div_euclid(y)
                            .wrapping_sub(<$t>::from(y < 0 && x.wrapping_rem_euclid(y) != 0)),
                    }),
                    _ => test!($t),
                }
            };
        }
        // SAFETY: the caller's.
        unsafe {
            match lane {
                Lane::F32 => float!(f32),
                Lane::F64 => float!(f64),
                Lane::I32 => int!(i32),
                Lane::I64 => int!(i64),
                Lane::Bool => match fun {
                    Binary::And => map2::<u8, u8>(dst, a, b, count, |x, y| x & y),
                    Binary::Or => map2::<u8, u8>(dst, a, b, count, |x, y| x | y),
                    Binary::Xor => map2::<u8, u8>(dst, a, b, count, |x, y| x ^ y),
                    _ => test!(u8),
                },
            }
        }
    }
}

vectors! {
    /// `dst[i] = a[i] * b[i] + c[i]`, rounded once; a product or an addend that is `minus` is
    /// negated.
    pub unsafe fn mul_add(
        dst: *mut u8,
        lane: Lane,
        factors: (Block, Block),
        c: Block,
        minus: (bool, bool),
        count: usize,
    ) {
        macro_rules! each {
            ($t:ty) => {{
                let spread = |x: Block| x.uniform && count > 1;
                let (a, b) = if spread(factors.1) { (factors.1, factors.0) } else { factors };
                // SAFETY: the caller's; a uniform block has one lane.
                let of = |x: Block| unsafe { lanes_of::<$t>(x.pointer, if spread(x) { 1 } else { count }) };
                // SAFETY: the caller's.
                let dst = unsafe { lanes_mut::<$t>(dst, count) };
                let (p, q): ($t, $t) = (if minus.0 { -1.0 } else { 1.0 }, if minus.1 { -1.0 } else { 1.0 });
                let (x, y, z) = (of(a), of(b), of(c));
                match (spread(a), spread(b), spread(c)) {
                    (false, _, false) => (0..count).for_each(|i| dst[i] = (x[i] * p).mul_add(y[i], z[i] * q)),
                    (false, _, true) => (0..count).for_each(|i| dst[i] = (x[i] * p).mul_add(y[i], z[0] * q)),
                    (true, false, false) => {
                        (0..count).for_each(|i| dst[i] = (x[0] * p).mul_add(y[i], z[i] * q));
                    }
                    (true, false, true) => {
                        (0..count).for_each(|i| dst[i] = (x[0] * p).mul_add(y[i], z[0] * q));
                    }
                    (true, true, false) => {
                        (0..count).for_each(|i| dst[i] = (x[0] * p).mul_add(y[0], z[i] * q));
                    }
                    (true, true, true) => dst.fill((x[0] * p).mul_add(y[0], z[0] * q)),
                }
            }};
        }
        match lane {
            Lane::F32 => each!(f32),
            Lane::F64 => each!(f64),
            Lane::I32 | Lane::I64 | Lane::Bool => unreachable!("invariant: floats are contracted"),
        }
    }
}

vectors! {
    pub unsafe fn select(dst: *mut u8, lane: Lane, cond: Block, a: Block, b: Block, count: usize) {
        macro_rules! each {
            ($t:ty) => {{
                // SAFETY: the caller's.
                unsafe {
                    let (dst, cond) = (lanes_mut::<$t>(dst, count), lanes_of::<u8>(cond.pointer, count));
                    match (a.uniform && count > 1, b.uniform && count > 1) {
                        (false, false) => {
                            let (a, b) = (lanes_of::<$t>(a.pointer, count), lanes_of::<$t>(b.pointer, count));
                            for i in 0..count {
                                dst[i] = if cond[i] != 0 { a[i] } else { b[i] };
                            }
                        }
                        (false, true) => {
                            let (a, b) = (lanes_of::<$t>(a.pointer, count), *b.pointer.cast::<$t>());
                            for i in 0..count {
                                dst[i] = if cond[i] != 0 { a[i] } else { b };
                            }
                        }
                        (true, false) => {
                            let (a, b) = (*a.pointer.cast::<$t>(), lanes_of::<$t>(b.pointer, count));
                            for i in 0..count {
                                dst[i] = if cond[i] != 0 { a } else { b[i] };
                            }
                        }
                        (true, true) => {
                            let (a, b) = (*a.pointer.cast::<$t>(), *b.pointer.cast::<$t>());
                            for i in 0..count {
                                dst[i] = if cond[i] != 0 { a } else { b };
                            }
                        }
                    }
                }
            }};
        }
        match lane.width() {
            1 => each!(u8),
            4 => each!(u32),
            _ => each!(u64),
        }
    }
}

/// A float as an integer: truncated; NaN and what is out of range is the least i32 (for
/// i64 the least i64), as `rtv_semantics::scalar::cast` fixes it.
#[inline(always)]
pub(super) fn truncated(x: f64, to: DType) -> i64 {
    let inside = match to {
        DType::I64 => (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x),
        _ => (-2_147_483_649.0 < x) && (x < 2_147_483_648.0),
    };
    match (inside, to) {
        (true, _) => x as i64,
        (false, DType::I64) => i64::MIN,
        (false, _) => i32::MIN.into(),
    }
}

#[inline(always)]
pub(super) fn wrapped(x: i32, dtype: DType) -> i32 {
    match dtype {
        DType::U8 => i32::from(x as u8),
        DType::I8 => i32::from(x as i8),
        DType::I16 => i32::from(x as i16),
        _ => x,
    }
}

#[inline(always)]
pub(super) fn rounded(x: f32, dtype: DType) -> f32 {
    match dtype {
        DType::F16 => f16::from_f32(x).to_f32(),
        DType::BF16 => f32::from_bits(u32::from(bf16_bits(x)) << 16),
        _ => x,
    }
}

vectors! {
    pub unsafe fn cast(dst: *mut u8, from: Lane, to: DType, a: Block, count: usize) {
        // SAFETY, for all of it: the caller's.
        unsafe {
            match (from, Lane::of(to)) {
                (Lane::F32, Lane::F64) => map1::<f32, f64>(dst, a, count, f64::from),
                (Lane::F64, Lane::F32) if to == DType::F32 => map1::<f64, f32>(dst, a, count, |x| x as f32),
                (Lane::F64, Lane::F32) => map1::<f64, f32>(dst, a, count, |x| rounded(x as f32, to)),
                (Lane::F32, Lane::I32) => {
                    map1::<f32, i32>(dst, a, count, |x| wrapped(truncated(x.into(), to) as i32, to))
                }
                (Lane::F64, Lane::I32) => {
                    map1::<f64, i32>(dst, a, count, |x| wrapped(truncated(x, to) as i32, to))
                }
                (Lane::F32, Lane::I64) => map1::<f32, i64>(dst, a, count, |x| truncated(x.into(), to)),
                (Lane::F64, Lane::I64) => map1::<f64, i64>(dst, a, count, |x| truncated(x, to)),
                (Lane::F32, Lane::Bool) => map1::<f32, u8>(dst, a, count, |x| u8::from(x != 0.0)),
                (Lane::F64, Lane::Bool) => map1::<f64, u8>(dst, a, count, |x| u8::from(x != 0.0)),
                (Lane::I32, Lane::F32) => map1::<i32, f32>(dst, a, count, |x| rounded(x as f32, to)),
                (Lane::I32, Lane::F64) => map1::<i32, f64>(dst, a, count, f64::from),
                (Lane::I32, Lane::I64) => map1::<i32, i64>(dst, a, count, i64::from),
                (Lane::I32, Lane::Bool) => map1::<i32, u8>(dst, a, count, |x| u8::from(x != 0)),
                (Lane::I64, Lane::F32) => map1::<i64, f32>(dst, a, count, |x| rounded(x as f32, to)),
                (Lane::I64, Lane::F64) => map1::<i64, f64>(dst, a, count, |x| x as f64),
                (Lane::I64, Lane::I32) => map1::<i64, i32>(dst, a, count, |x| wrapped(x as i32, to)),
                (Lane::I64, Lane::Bool) => map1::<i64, u8>(dst, a, count, |x| u8::from(x != 0)),
                (Lane::Bool, Lane::F32) => map1::<u8, f32>(dst, a, count, f32::from),
                (Lane::Bool, Lane::F64) => map1::<u8, f64>(dst, a, count, f64::from),
                (Lane::Bool, Lane::I32) => map1::<u8, i32>(dst, a, count, i32::from),
                (Lane::Bool, Lane::I64) => map1::<u8, i64>(dst, a, count, i64::from),
                (from, to) => unreachable!("invariant: lanes {from:?} to {to:?} need no conversion"),
            }
        }
    }
}

vectors! {
    pub unsafe fn narrow(dst: *mut u8, dtype: DType, a: Block, count: usize) {
        // SAFETY, for all of it: the caller's.
        unsafe {
            match dtype {
                DType::F16 => map1::<f32, f32>(dst, a, count, |x| rounded(x, DType::F16)),
                DType::BF16 => map1::<f32, f32>(dst, a, count, |x| rounded(x, DType::BF16)),
                DType::U8 => map1::<i32, i32>(dst, a, count, |x| wrapped(x, DType::U8)),
                DType::I8 => map1::<i32, i32>(dst, a, count, |x| wrapped(x, DType::I8)),
                DType::I16 => map1::<i32, i32>(dst, a, count, |x| wrapped(x, DType::I16)),
                _ => unreachable!("invariant: the dtype is as wide as its lanes"),
            }
        }
    }
}

vectors! {
    /// Adds a block of lanes to running values: of the row, or of each lane.
    ///
    /// # Safety
    /// `state` has the running values, `lanes` has `count`.
    pub unsafe fn reduce(op: Monoid, lane: Lane, state: *mut u8, lanes: *const u8, count: usize, along: bool) {
        // SAFETY: the caller's.
        unsafe {
            if along {
                accumulate::along(op, lane, state, lanes, count);
            } else {
                accumulate::across(op, lane, state, lanes, count);
            }
        }
    }
}

/// The bits of a reduced value, rounded or wrapped to its dtype.
pub fn narrowed(bits: u64, dtype: DType) -> u64 {
    match Lane::of(dtype) {
        Lane::F32 => rounded(f32::from_bits(bits as u32), dtype).to_bits().into(),
        Lane::I32 => (wrapped(bits as u32 as i32, dtype) as u32).into(),
        Lane::F64 | Lane::I64 | Lane::Bool => bits,
    }
}
