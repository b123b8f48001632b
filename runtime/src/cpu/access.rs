//! From memory to lanes and back.

use half::f16;
use rtv_semantics::dtype::DType;

use super::block::{Block, Machine};
use super::lanes::{lanes_mut, lanes_of, vectors};
use super::pass::{Buffer, Lane, TILE};

/// Bytes of an element in memory.
#[inline(always)]
pub fn width(dtype: DType) -> usize {
    (dtype.bits() as usize).div_ceil(8)
}

/// Whether the lanes are the bytes in memory.
#[inline(always)]
pub(super) fn is_plain(dtype: DType) -> bool {
    matches!(dtype, DType::Bool | DType::I32 | DType::I64 | DType::F32 | DType::F64)
}

/// `each!(elements in memory, lanes, conversion)` of a dtype.
macro_rules! of_dtype {
    ($dtype:expr, $each:ident) => {
        match $dtype {
            DType::Bool => $each!(u8, u8, |x| x),
            DType::U8 => $each!(u8, i32, i32::from),
            DType::I8 => $each!(i8, i32, i32::from),
            DType::I16 => $each!(i16, i32, i32::from),
            DType::I32 => $each!(i32, i32, |x| x),
            DType::I64 => $each!(i64, i64, |x| x),
            DType::F16 => $each!(f16, f32, f16::to_f32),
            DType::BF16 => $each!(u16, f32, |x| f32::from_bits(u32::from(x) << 16)),
            DType::F32 => $each!(f32, f32, |x| x),
            DType::F64 => $each!(f64, f64, |x| x),
        }
    };
}

vectors! {
    /// Elements of memory, `factor` apart, as lanes.
    pub unsafe fn widen(dst: *mut u8, memory: *const u8, dtype: DType, factor: i64, count: usize) {
        macro_rules! each {
            ($from:ty, $to:ty, $f:expr) => {{
                // SAFETY: the caller's.
                let (dst, from) = unsafe { (lanes_mut::<$to>(dst, count), memory.cast::<$from>()) };
                let convert: fn($from) -> $to = $f;
                if factor == 1 {
                    // SAFETY: the caller's.
                    let from = unsafe { std::slice::from_raw_parts(from, count) };
                    for i in 0..count {
                        dst[i] = convert(from[i]);
                    }
                } else {
                    for (i, d) in dst.iter_mut().enumerate() {
                        // SAFETY: the caller's.
                        *d = convert(unsafe { *from.offset(i as isize * factor as isize) });
                    }
                }
            }};
        }
        of_dtype!(dtype, each)
    }
}

vectors! {
    pub unsafe fn gather(dst: *mut u8, memory: *const u8, dtype: DType, index: &[i64]) {
        macro_rules! each {
            ($from:ty, $to:ty, $f:expr) => {{
                // SAFETY: the caller's: each index lies within the array.
                let dst = unsafe { lanes_mut::<$to>(dst, index.len()) };
                let from = memory.cast::<$from>();
                let convert: fn($from) -> $to = $f;
                for (d, i) in dst.iter_mut().zip(index) {
                    // SAFETY: as above.
                    *d = convert(unsafe { *from.offset(*i as isize) });
                }
            }};
        }
        of_dtype!(dtype, each)
    }
}

vectors! {
    pub unsafe fn store_at(memory: *mut u8, dtype: DType, factor: i64, src: Block, lanes: usize) {
        macro_rules! each {
            ($from:ty, $to:ty, $f:expr) => {{
                let convert: fn($from) -> $to = $f;
                let into = memory.cast::<$to>();
                // SAFETY: the caller's.
                unsafe {
                    if src.uniform {
                        let value = convert(*src.pointer.cast::<$from>());
                        if factor == 1 {
                            std::slice::from_raw_parts_mut(into, lanes).fill(value);
                        } else {
                            // A value of the row is one element.
                            let count = if factor == 0 { 1 } else { lanes };
                            for i in 0..count {
                                *into.offset(i as isize * factor as isize) = value;
                            }
                        }
                    } else if factor == 1 {
                        let (into, from) =
                            (std::slice::from_raw_parts_mut(into, lanes), lanes_of::<$from>(src.pointer, lanes));
                        for i in 0..lanes {
                            into[i] = convert(from[i]);
                        }
                    } else {
                        let from = lanes_of::<$from>(src.pointer, lanes);
                        for i in 0..lanes {
                            *into.offset(i as isize * factor as isize) = convert(from[i]);
                        }
                    }
                }
            }};
        }
        match dtype {
            DType::Bool => each!(u8, u8, |x| x),
            DType::U8 => each!(i32, u8, |x| x as u8),
            DType::I8 => each!(i32, i8, |x| x as i8),
            DType::I16 => each!(i32, i16, |x| x as i16),
            DType::I32 => each!(i32, i32, |x| x),
            DType::I64 => each!(i64, i64, |x| x),
            DType::F16 => each!(f32, f16, f16::from_f32),
            DType::BF16 => each!(f32, u16, bf16_bits),
            DType::F32 => each!(f32, f32, |x| x),
            DType::F64 => each!(f64, f64, |x| x),
        }
    }
}

/// To nearest, ties to even.
#[inline(always)]
pub(super) fn bf16_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    if x.is_nan() { 0x7fc0 } else { rounded as u16 }
}

/// Makes a tile: `rows` by `lanes` elements of memory from `place` on, a row after the
/// other, [`TILE`] lanes apart. Rows are neighbours in memory, lanes are `factor` apart.
///
/// # Safety
/// The elements lie within the array, and `into` has room for a tile.
pub unsafe fn transpose(
    m: &Machine,
    (buffer, dtype, place): (Buffer, DType, i64),
    factor: i64,
    rows: usize,
    lanes: usize,
    into: *mut u8,
) {
    let memory = m.buffer(buffer).wrapping_offset(place as isize * width(dtype) as isize);
    // SAFETY: the caller's.
    unsafe { transpose_from(memory, dtype, factor, rows, lanes, into) }
}

vectors! {
    pub unsafe fn transpose_from(memory: *mut u8, dtype: DType, factor: i64, rows: usize, lanes: usize, into: *mut u8) {
        let lane = Lane::of(dtype).width();
        macro_rules! plain {
            ($t:ty) => {{
                const SIDE: usize = 8;
                let (from, into) = (memory.cast::<$t>(), into.cast::<$t>());
                let (full_rows, full_lanes) = (rows / SIDE * SIDE, lanes / SIDE * SIDE);
                for first in (0..full_lanes).step_by(SIDE) {
                    for row in (0..full_rows).step_by(SIDE) {
                        #[cfg(target_arch = "x86_64")]
                        if size_of::<$t>() == 4 && super::vectors() >= super::Vectors::Avx2 {
                            // SAFETY: the features are there; the rest is the caller's.
                            unsafe {
                                let from = from.offset(first as isize * factor as isize + row as isize);
                                transpose_8(from.cast(), factor as isize, into.add(row * TILE + first).cast(), TILE);
                            }
                            continue;
                        }
                        let mut square = [[<$t>::default(); SIDE]; SIDE];
                        for i in 0..SIDE {
                            // SAFETY: the caller's.
                            let line = unsafe {
                                &*from.offset((first + i) as isize * factor as isize + row as isize).cast::<[$t; SIDE]>()
                            };
                            for j in 0..SIDE {
                                square[j][i] = line[j];
                            }
                        }
                        for (j, line) in square.iter().enumerate() {
                            // SAFETY: the caller's.
                            unsafe { *into.add((row + j) * TILE + first).cast::<[$t; SIDE]>() = *line };
                        }
                    }
                }
                for at in 0..lanes {
                    let left = if at < full_lanes { full_rows } else { 0 };
                    for row in left..rows {
                        // SAFETY: the caller's.
                        unsafe { *into.add(row * TILE + at) = *from.offset(at as isize * factor as isize + row as isize) };
                    }
                }
            }};
        }
        match dtype {
            DType::F32 | DType::I32 => plain!(u32),
            DType::F64 | DType::I64 => plain!(u64),
            DType::Bool => plain!(u8),
            _ => {
                for row in 0..rows {
                    let from = memory.wrapping_add(row * width(dtype));
                    // SAFETY: the caller's.
                    unsafe { widen(into.add(row * TILE * lane), from, dtype, factor, lanes) };
                }
            }
        }
    }
}

/// Eight lines of eight elements, `step` apart, as columns `apart` from each other.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn transpose_8(from: *const f32, step: isize, into: *mut f32, apart: usize) {
    // SAFETY: the caller's.
    unsafe { transpose_lines(std::array::from_fn(|i| from.wrapping_offset(i as isize * step)), into, apart) }
}

/// Eight lines of eight elements as columns `apart` from each other, written in order: where
/// they are less than eight apart, each is written over the end of the one before.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn transpose_lines(lines: [*const f32; 8], into: *mut f32, apart: usize) {
    use std::arch::x86_64::*;
    // SAFETY: the caller's.
    unsafe {
        let [a, b, c, d, e, f, g, h] = lines.map(|line| _mm256_loadu_ps(line));
        let (ab0, ab1) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd0, cd1) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let (ef0, ef1) = (_mm256_unpacklo_ps(e, f), _mm256_unpackhi_ps(e, f));
        let (gh0, gh1) = (_mm256_unpacklo_ps(g, h), _mm256_unpackhi_ps(g, h));
        let (p0, p1) = (_mm256_shuffle_ps(ab0, cd0, 0x44), _mm256_shuffle_ps(ab0, cd0, 0xee));
        let (p2, p3) = (_mm256_shuffle_ps(ab1, cd1, 0x44), _mm256_shuffle_ps(ab1, cd1, 0xee));
        let (q0, q1) = (_mm256_shuffle_ps(ef0, gh0, 0x44), _mm256_shuffle_ps(ef0, gh0, 0xee));
        let (q2, q3) = (_mm256_shuffle_ps(ef1, gh1, 0x44), _mm256_shuffle_ps(ef1, gh1, 0xee));
        let pairs = [(p0, q0), (p1, q1), (p2, q2), (p3, q3)];
        for (i, (p, q)) in pairs.into_iter().enumerate() {
            _mm256_storeu_ps(into.add(i * apart), _mm256_permute2f128_ps(p, q, 0x20));
        }
        for (i, (p, q)) in pairs.into_iter().enumerate() {
            _mm256_storeu_ps(into.add((i + 4) * apart), _mm256_permute2f128_ps(p, q, 0x31));
        }
    }
}
