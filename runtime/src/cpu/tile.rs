//! A tile of a matrix product in registers: six rows by two vectors of AVX2, or one of
//! AVX-512, whose instructions are half as many.

use std::cell::RefCell;

use rtv_semantics::dtype::DType;

use super::memory::Memory;

/// Rows of a tile: with two vectors each, twelve of the sixteen registers.
pub const ROWS: usize = 6;
/// Bytes of a row of a tile.
const BYTES: usize = 64;

/// Columns of a tile.
pub const fn columns<T>() -> usize {
    BYTES / size_of::<T>()
}

/// Memory for packed elements, of those that this thread keeps.
pub struct Packed<T> {
    memory: Option<Memory>,
    of: std::marker::PhantomData<T>,
}

impl<T> Packed<T> {
    pub fn new(elements: usize) -> Packed<T> {
        let kept = SPARE.with(|spare| spare.borrow_mut().pop());
        let mut memory = kept.unwrap_or_else(|| Memory::new(0));
        memory.take(elements * size_of::<T>());
        Packed { memory: Some(memory), of: std::marker::PhantomData }
    }

    pub fn pointer(&self) -> *mut T {
        self.memory.as_ref().expect("invariant: given back at the end").pointer().cast()
    }
}

impl<T> Drop for Packed<T> {
    fn drop(&mut self) {
        // A thread that ends keeps nothing.
        let _ = SPARE.try_with(|spare| spare.borrow_mut().extend(self.memory.take()));
    }
}

thread_local! {
    static LEFT: RefCell<Memory> = RefCell::new(Memory::new(0));
    /// As much as there was at a time.
    static SPARE: RefCell<Vec<Memory>> = const { RefCell::new(Vec::new()) };
}

/// The left operand of a tile: element `k` of row `i` is at `i * by_row + k * by_step`; rows
/// beyond the last are the last again.
#[derive(Clone, Copy)]
pub struct Left<T> {
    pub start: *const T,
    pub by_row: usize,
    pub by_step: usize,
}

impl<T> Left<T> {
    /// Packed: the elements of a step side by side.
    pub fn packed(elements: &[T]) -> Left<T> {
        Left { start: elements.as_ptr(), by_row: 1, by_step: ROWS }
    }

    /// From a row on.
    pub fn below(self, row: usize) -> Left<T> {
        Left { start: self.start.wrapping_add(row * self.by_row), ..self }
    }

    /// The first element of each row.
    #[inline(always)]
    fn rows(&self, count: usize) -> [*const T; ROWS] {
        std::array::from_fn(|i| self.start.wrapping_add(i.min(count - 1) * self.by_row))
    }
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
    /// `left` and `right` have `columns` elements for each product; `into` has
    /// `count` rows and columns, `stride` apart.
    unsafe fn tile(
        deep: usize,
        left: Left<Self>,
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
            let room = memory.take(elements * size_of::<Self>());
            // SAFETY: the memory is that large, aligned, and all bits are elements.
            work(unsafe { std::slice::from_raw_parts_mut(room.cast(), elements) })
        })
    }
}

/// The tile by plain loops: for the types without a kernel of their own, and everywhere.
#[inline(always)]
unsafe fn plain<T: Element, const COLUMNS: usize>(
    deep: usize,
    left: Left<T>,
    right: *const T,
    rows: usize,
) -> [[T; COLUMNS]; ROWS] {
    let mut sums = [[T::ZERO; COLUMNS]; ROWS];
    let starts = left.rows(rows);
    for k in 0..deep {
        // SAFETY: the caller's.
        let b = unsafe { &*right.add(k * COLUMNS).cast::<[T; COLUMNS]>() };
        for i in 0..ROWS {
            // SAFETY: as above.
            let a = unsafe { *starts[i].add(k * left.by_step) };
            for j in 0..COLUMNS {
                sums[i][j] = T::fused(a, b[j], sums[i][j]);
            }
        }
    }
    sums
}

/// Brings a tile to its place.
#[inline(always)]
unsafe fn put<T: Element, const COLUMNS: usize>(
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
                left: Left<$t>,
                right: *const $t,
                into: *mut $t,
                stride: usize,
                count: (usize, usize),
                first: bool,
            ) {
                // SAFETY: the features are there; the rest is the caller's.
                #[cfg(target_arch = "x86_64")]
                match super::vectors() {
                    super::Vectors::Avx512 => {
                        return unsafe { x86::$avx512(deep, left, right, into, stride, count, first) };
                    }
                    super::Vectors::Avx2 => {
                        return unsafe { x86::$avx2(deep, left, right, into, stride, count, first) };
                    }
                    super::Vectors::Any => {}
                }
                // SAFETY: the caller's.
                unsafe {
                    let sums = plain::<$t, { columns::<$t>() }>(deep, left, right, count.0);
                    put(&sums, into, stride, count, first);
                }
            }
        }
    };
}

element!(f32, DType::F32, tile_f32, wide_f32, |a: f32, b, c| a.mul_add(b, c), |a: f32, b: f32| a + b);
element!(f64, DType::F64, tile_f64, wide_f64, |a: f64, b, c| a.mul_add(b, c), |a: f64, b: f64| a + b);
element!(
    i32,
    DType::I32,
    tile_i32,
    tile_i32,
    |a: i32, b, c: i32| c.wrapping_add(a.wrapping_mul(b)),
    i32::wrapping_add
);
element!(
    i64,
    DType::I64,
    tile_i64,
    tile_i64,
    |a: i64, b, c: i64| c.wrapping_add(a.wrapping_mul(b)),
    i64::wrapping_add
);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Left, ROWS, columns, plain, put};
    use std::arch::x86_64::*;

    macro_rules! float_tile {
        (
            $name:ident, $features:literal, $t:ty, $vector:ty, $lanes:expr, $load:ident, $store:ident, $set1:ident,
            $zero:ident, $fma:ident, $add:ident
        ) => {
            #[target_feature(enable = $features)]
            pub unsafe fn $name(
                deep: usize,
                left: Left<$t>,
                right: *const $t,
                into: *mut $t,
                stride: usize,
                count: (usize, usize),
                first: bool,
            ) {
                const COLUMNS: usize = columns::<$t>();
                const PARTS: usize = COLUMNS / $lanes;
                // SAFETY, for all of it: the caller's.
                unsafe {
                    let mut sums: [[$vector; PARTS]; ROWS] = [[$zero(); PARTS]; ROWS];
                    let mut b = right;
                    macro_rules! step {
                        ($a:expr) => {{
                            let mut parts = [$zero(); PARTS];
                            for part in 0..PARTS {
                                parts[part] = $load(b.add(part * $lanes));
                            }
                            for i in 0..ROWS {
                                let a = $set1(*$a(i));
                                for part in 0..PARTS {
                                    sums[i][part] = $fma(a, parts[part], sums[i][part]);
                                }
                            }
                            b = b.add(COLUMNS);
                        }};
                    }
                    if left.by_step == ROWS {
                        let mut a = left.start;
                        for _ in 0..deep {
                            step!(|i| a.add(i));
                            a = a.add(ROWS);
                        }
                    } else {
                        let a = left.rows(count.0);
                        for k in 0..deep {
                            step!(|i: usize| a[i].add(k));
                        }
                    }
                    if count == (ROWS, COLUMNS) {
                        for (i, sums) in sums.iter().enumerate() {
                            let into = into.wrapping_add(i * stride);
                            for (part, sum) in sums.iter().enumerate() {
                                let into = into.add(part * $lanes);
                                $store(into, if first { *sum } else { $add($load(into), *sum) });
                            }
                        }
                        return;
                    }
                    let mut plain = [[0 as $t; COLUMNS]; ROWS];
                    for (plain, sums) in plain.iter_mut().zip(&sums) {
                        for (part, sum) in sums.iter().enumerate() {
                            $store(plain.as_mut_ptr().add(part * $lanes), *sum);
                        }
                    }
                    put(&plain, into, stride, count, first);
                }
            }
        };
    }

    float_tile!(
        tile_f32,
        "avx2,fma",
        f32,
        __m256,
        8,
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
        f64,
        __m256d,
        4,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_set1_pd,
        _mm256_setzero_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd
    );

    float_tile!(
        wide_f32,
        "avx512f",
        f32,
        __m512,
        16,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_set1_ps,
        _mm512_setzero_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps
    );
    float_tile!(
        wide_f64,
        "avx512f",
        f64,
        __m512d,
        8,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_set1_pd,
        _mm512_setzero_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd
    );

    macro_rules! plain_tile {
        ($name:ident, $t:ty) => {
            #[target_feature(enable = "avx2")]
            pub unsafe fn $name(
                deep: usize,
                left: Left<$t>,
                right: *const $t,
                into: *mut $t,
                stride: usize,
                count: (usize, usize),
                first: bool,
            ) {
                // SAFETY: the caller's.
                unsafe {
                    let sums = plain::<$t, { columns::<$t>() }>(deep, left, right, count.0);
                    put(&sums, into, stride, count, first);
                }
            }
        };
    }

    plain_tile!(tile_i32, i32);
    plain_tile!(tile_i64, i64);
}
