//! A tile of a matrix product in registers: as many rows as leave room for two vectors of
//! each, and a few more.

use std::cell::RefCell;

use rtv_semantics::dtype::DType;

use super::memory::Memory;
use super::{Vectors, vectors};

/// Rows of a tile: with two vectors each, twelve of sixteen registers, or twenty-four of
/// thirty-two.
pub fn rows() -> usize {
    if vectors() == Vectors::Avx512 { WIDE_ROWS } else { ROWS }
}

/// Columns of a tile: two vectors.
pub fn columns<T>() -> usize {
    (if vectors() == Vectors::Avx512 { 2 * BYTES } else { BYTES }) / size_of::<T>()
}

/// The rows of every tile divide this.
pub const MOST_ROWS: usize = WIDE_ROWS;

const ROWS: usize = 6;
const WIDE_ROWS: usize = 12;
/// Bytes of a row of a tile of the smaller kind.
const BYTES: usize = 64;

/// Columns of a tile of the smaller kind.
const fn narrow_columns<T>() -> usize {
    BYTES / size_of::<T>()
}

/// Memory for packed elements.
pub struct Packed<T> {
    memory: Memory,
    of: std::marker::PhantomData<T>,
}

impl<T> Packed<T> {
    pub fn new(elements: usize) -> Packed<T> {
        Packed { memory: Memory::new(elements * size_of::<T>()), of: std::marker::PhantomData }
    }

    pub fn pointer(&self) -> *mut T {
        self.memory.pointer().cast()
    }
}

thread_local! {
    static LEFT: RefCell<Memory> = RefCell::new(Memory::new(0));
}

/// What matrices are multiplied in.
pub trait Element: Copy + Send + Sync + 'static {
    const ZERO: Self;
    const DTYPE: DType;

    fn from_f64_bits(x: f64) -> Self;
    fn from_i64(x: i64) -> Self;
    fn to_f64(self) -> f64;
    fn to_i64(self) -> i64;

    /// `c + a * b`, rounded once.
    fn fused(a: Self, b: Self, c: Self) -> Self;
    fn plus(self, other: Self) -> Self;

    /// Adds `deep` products for each element of a tile of at most `ROWS` rows; instead of
    /// adding, writes them if they are the `first`.
    ///
    /// # Safety
    /// `left` has `ROWS` and `right` has `columns` elements for each product; `into` has
    /// `count` rows and columns, `stride` apart.
    unsafe fn tile(
        deep: usize,
        left: *const Self,
        right: *const Self,
        into: *mut Self,
        stride: usize,
        count: (usize, usize),
        first: bool,
    );

    /// Room of this thread for packed elements.
    fn with_room<R>(elements: usize, work: impl FnOnce(&mut [Self]) -> R) -> R {
        LEFT.with(|room| {
            let mut own = Memory::new(0);
            let mut shared = room.try_borrow_mut();
            let memory = match &mut shared {
                Ok(memory) => &mut **memory,
                Err(_) => &mut own,
            };
            memory.grow(elements * size_of::<Self>());
            // SAFETY: the memory is that large, aligned, and zeros are elements.
            work(unsafe { std::slice::from_raw_parts_mut(memory.pointer().cast(), elements) })
        })
    }
}

/// The tile by plain loops: for the types without a kernel of their own, and everywhere.
#[inline(always)]
unsafe fn plain<T: Element, const ROWS: usize, const COLUMNS: usize>(
    deep: usize,
    left: *const T,
    right: *const T,
) -> [[T; COLUMNS]; ROWS] {
    let mut sums = [[T::ZERO; COLUMNS]; ROWS];
    for k in 0..deep {
        // SAFETY: the caller's.
        let (a, b) = unsafe {
            (&*left.add(k * ROWS).cast::<[T; ROWS]>(), &*right.add(k * COLUMNS).cast::<[T; COLUMNS]>())
        };
        for i in 0..ROWS {
            for j in 0..COLUMNS {
                sums[i][j] = T::fused(a[i], b[j], sums[i][j]);
            }
        }
    }
    sums
}

/// Brings a tile to its place.
#[inline(always)]
unsafe fn put<T: Element, const ROWS: usize, const COLUMNS: usize>(
    sums: &[[T; COLUMNS]; ROWS],
    into: *mut T,
    stride: usize,
    (rows, columns): (usize, usize),
    first: bool,
) {
    for (i, sums) in sums.iter().enumerate().take(rows) {
        // SAFETY: the caller's.
        let into = unsafe { std::slice::from_raw_parts_mut(into.wrapping_add(i * stride), columns) };
        for (into, sum) in into.iter_mut().zip(sums) {
            *into = if first { *sum } else { into.plus(*sum) };
        }
    }
}

macro_rules! element {
    ($t:ty, $dtype:expr, $avx2:ident, $avx512:ident, $fused:expr, $plus:expr) => {
        impl Element for $t {
            const ZERO: $t = 0 as $t;
            const DTYPE: DType = $dtype;

            fn from_f64_bits(x: f64) -> $t {
                x as $t
            }

            fn from_i64(x: i64) -> $t {
                x as $t
            }

            fn to_f64(self) -> f64 {
                self as f64
            }

            fn to_i64(self) -> i64 {
                self as i64
            }

            #[inline(always)]
            fn fused(a: $t, b: $t, c: $t) -> $t {
                $fused(a, b, c)
            }

            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                $plus(self, other)
            }

            unsafe fn tile(
                deep: usize,
                left: *const $t,
                right: *const $t,
                into: *mut $t,
                stride: usize,
                count: (usize, usize),
                first: bool,
            ) {
                // SAFETY: the features are there; the rest is the caller's.
                unsafe {
                    match vectors() {
                        #[cfg(target_arch = "x86_64")]
                        Vectors::Avx512 => $avx512(deep, left, right, into, stride, count, first),
                        #[cfg(target_arch = "x86_64")]
                        Vectors::Avx2 => $avx2(deep, left, right, into, stride, count, first),
                        _ => {
                            let sums = plain::<$t, ROWS, { narrow_columns::<$t>() }>(deep, left, right);
                            put(&sums, into, stride, count, first);
                        }
                    }
                }
            }
        }
    };
}

element!(f32, DType::F32, tile_f32, wide_tile_f32, |a: f32, b, c| a.mul_add(b, c), |a: f32, b: f32| a + b);
element!(f64, DType::F64, tile_f64, wide_tile_f64, |a: f64, b, c| a.mul_add(b, c), |a: f64, b: f64| a + b);
element!(
    i32,
    DType::I32,
    tile_i32,
    wide_tile_i32,
    |a: i32, b, c: i32| c.wrapping_add(a.wrapping_mul(b)),
    i32::wrapping_add
);
element!(
    i64,
    DType::I64,
    tile_i64,
    wide_tile_i64,
    |a: i64, b, c: i64| c.wrapping_add(a.wrapping_mul(b)),
    i64::wrapping_add
);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BYTES, ROWS, WIDE_ROWS, plain, put};
    use std::arch::x86_64::*;

    macro_rules! float_tile {
        ($name:ident, $features:literal, $rows:expr, $bytes:expr, $t:ty, $vector:ty, $load:ident, $store:ident,
         $set1:ident, $zero:ident, $fma:ident, $add:ident) => {
            #[target_feature(enable = $features)]
            pub unsafe fn $name(
                deep: usize,
                left: *const $t,
                right: *const $t,
                into: *mut $t,
                stride: usize,
                count: (usize, usize),
                first: bool,
            ) {
                const COLUMNS: usize = $bytes / size_of::<$t>();
                const LANES: usize = COLUMNS / 2;
                // SAFETY, for all of it: the caller's.
                unsafe {
                    let mut sums: [[$vector; 2]; $rows] = [[$zero(); 2]; $rows];
                    let (mut a, mut b) = (left, right);
                    for _ in 0..deep {
                        let (b0, b1) = ($load(b), $load(b.add(LANES)));
                        for i in 0..$rows {
                            let a = $set1(*a.add(i));
                            sums[i][0] = $fma(a, b0, sums[i][0]);
                            sums[i][1] = $fma(a, b1, sums[i][1]);
                        }
                        (a, b) = (a.add($rows), b.add(COLUMNS));
                    }
                    if count == ($rows, COLUMNS) {
                        for (i, sums) in sums.iter().enumerate() {
                            let into = into.wrapping_add(i * stride);
                            for (half, sum) in sums.iter().enumerate() {
                                let into = into.add(half * LANES);
                                $store(into, if first { *sum } else { $add($load(into), *sum) });
                            }
                        }
                        return;
                    }
                    let mut plain = [[0 as $t; COLUMNS]; $rows];
                    for (plain, sums) in plain.iter_mut().zip(&sums) {
                        $store(plain.as_mut_ptr(), sums[0]);
                        $store(plain.as_mut_ptr().add(LANES), sums[1]);
                    }
                    put(&plain, into, stride, count, first);
                }
            }
        };
    }

    float_tile!(
        tile_f32,
        "avx2,fma",
        ROWS,
        BYTES,
        f32,
        __m256,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_set1_ps,
        _mm256_setzero_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps
    );
    float_tile!(
        tile_f64,
        "avx2,fma",
        ROWS,
        BYTES,
        f64,
        __m256d,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_set1_pd,
        _mm256_setzero_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd
    );
    float_tile!(
        wide_tile_f32,
        "avx512f",
        WIDE_ROWS,
        2 * BYTES,
        f32,
        __m512,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_set1_ps,
        _mm512_setzero_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps
    );
    float_tile!(
        wide_tile_f64,
        "avx512f",
        WIDE_ROWS,
        2 * BYTES,
        f64,
        __m512d,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_set1_pd,
        _mm512_setzero_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd
    );

    macro_rules! plain_tile {
        ($name:ident, $features:literal, $rows:expr, $bytes:expr, $t:ty) => {
            #[target_feature(enable = $features)]
            pub unsafe fn $name(
                deep: usize,
                left: *const $t,
                right: *const $t,
                into: *mut $t,
                stride: usize,
                count: (usize, usize),
                first: bool,
            ) {
                // SAFETY: the caller's.
                unsafe {
                    let sums = plain::<$t, { $rows }, { $bytes / size_of::<$t>() }>(deep, left, right);
                    put(&sums, into, stride, count, first);
                }
            }
        };
    }

    plain_tile!(tile_i32, "avx2", ROWS, BYTES, i32);
    plain_tile!(tile_i64, "avx2", ROWS, BYTES, i64);
    plain_tile!(wide_tile_i32, "avx512f,avx512dq,avx512vl", WIDE_ROWS, 2 * BYTES, i32);
    plain_tile!(wide_tile_i64, "avx512f,avx512dq,avx512vl", WIDE_ROWS, 2 * BYTES, i64);
}

#[cfg(target_arch = "x86_64")]
use x86::{
    tile_f32, tile_f64, tile_i32, tile_i64, wide_tile_f32, wide_tile_f64, wide_tile_i32, wide_tile_i64,
};
