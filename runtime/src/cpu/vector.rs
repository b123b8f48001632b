//! Vectors of `f32` of each width, with the same bits in each lane.

/// A vector; a truth is a lane with all bits or none.
///
/// # Safety
/// What works on vectors must run where the machine has them.
pub trait Vector: Copy {
    const LANES: usize;

    fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, into: *mut f32);
    /// Past the caches, to an aligned place.
    unsafe fn stream(self, into: *mut f32);
    /// What was streamed is seen before what is stored later.
    fn fence();
    fn add(self, y: Self) -> Self;
    fn sub(self, y: Self) -> Self;
    fn mul(self, y: Self) -> Self;
    fn div(self, y: Self) -> Self;
    /// `self y + z`, rounded once.
    fn mul_add(self, y: Self, z: Self) -> Self;
    fn sqrt(self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn eq(self, y: Self) -> Self;
    fn ne(self, y: Self) -> Self;
    fn lt(self, y: Self) -> Self;
    fn le(self, y: Self) -> Self;
    /// `a` where this is true, else `b`.
    fn select(self, a: Self, b: Self) -> Self;
    /// `y` where it is above `x` or not a number.
    fn later_maximum(self, y: Self) -> Self;
    /// `y` where it is below `x` or not a number.
    fn later_minimum(self, y: Self) -> Self;

    /// True at the lanes from one to before another.
    #[inline(always)]
    fn between(from: i64, to: i64) -> Self {
        let truths: [u32; 16] =
            std::array::from_fn(|i| if (from..to).contains(&(i as i64)) { u32::MAX } else { 0 });
        // SAFETY: no vector has more lanes.
        unsafe { Self::load(truths.as_ptr().cast()) }
    }

    /// Whether none of them is NaN, where that is quickly said.
    #[inline(always)]
    fn all_numbers(_vectors: &[Self; 8]) -> bool {
        false
    }

    /// `y` where it is above `x`.
    #[inline(always)]
    fn greater(self, y: Self) -> Self {
        self.lt(y).select(y, self)
    }

    /// Whether there is a function of vectors with the bits of `math::single::exp`.
    const HAS_EXP: bool = false;

    #[inline(always)]
    fn exp(self) -> Self {
        unreachable!("invariant: asked before")
    }

    /// Asks for a line of memory that may be none.
    #[inline(always)]
    fn prefetch(_from: *const f32) {}

    /// Not a number if either is; between zeros of two signs the first.
    #[inline(always)]
    fn maximum(self, y: Self) -> Self {
        self.ne(self).select(self, self.later_maximum(y))
    }

    #[inline(always)]
    fn minimum(self, y: Self) -> Self {
        self.ne(self).select(self, self.later_minimum(y))
    }
}

/// Eight lanes on any machine.
#[derive(Clone, Copy)]
pub struct Any([f32; 8]);

impl Any {
    #[inline(always)]
    fn map(self, f: impl Fn(f32) -> f32) -> Any {
        let mut x = self;
        for lane in &mut x.0 {
            *lane = f(*lane);
        }
        x
    }

    #[inline(always)]
    fn zip(self, y: Any, f: impl Fn(f32, f32) -> f32) -> Any {
        let mut x = self;
        for i in 0..8 {
            x.0[i] = f(x.0[i], y.0[i]);
        }
        x
    }

    #[inline(always)]
    fn test(self, y: Any, f: impl Fn(f32, f32) -> bool) -> Any {
        self.zip(y, |x, y| f32::from_bits(if f(x, y) { u32::MAX } else { 0 }))
    }
}

impl Vector for Any {
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(x: f32) -> Any {
        Any([x; 8])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Any {
        // SAFETY: the caller's.
        Any(unsafe { *from.cast::<[f32; 8]>() })
    }

    #[inline(always)]
    unsafe fn store(self, into: *mut f32) {
        // SAFETY: the caller's.
        unsafe { *into.cast::<[f32; 8]>() = self.0 }
    }

    #[inline(always)]
    unsafe fn stream(self, into: *mut f32) {
        // SAFETY: the caller's.
        unsafe { self.store(into) }
    }

    #[inline(always)]
    fn fence() {}

    #[inline(always)]
    fn add(self, y: Any) -> Any {
        self.zip(y, |x, y| x + y)
    }

    #[inline(always)]
    fn sub(self, y: Any) -> Any {
        self.zip(y, |x, y| x - y)
    }

    #[inline(always)]
    fn mul(self, y: Any) -> Any {
        self.zip(y, |x, y| x * y)
    }

    #[inline(always)]
    fn div(self, y: Any) -> Any {
        self.zip(y, |x, y| x / y)
    }

    #[inline(always)]
    fn mul_add(self, y: Any, z: Any) -> Any {
        let mut x = self;
        for i in 0..8 {
            x.0[i] = x.0[i].mul_add(y.0[i], z.0[i]);
        }
        x
    }

    #[inline(always)]
    fn sqrt(self) -> Any {
        self.map(f32::sqrt)
    }

    #[inline(always)]
    fn neg(self) -> Any {
        self.map(|x| -x)
    }

    #[inline(always)]
    fn abs(self) -> Any {
        self.map(f32::abs)
    }

    #[inline(always)]
    fn eq(self, y: Any) -> Any {
        self.test(y, |x, y| x == y)
    }

    #[inline(always)]
    fn ne(self, y: Any) -> Any {
        self.test(y, |x, y| x != y)
    }

    #[inline(always)]
    fn lt(self, y: Any) -> Any {
        self.test(y, |x, y| x < y)
    }

    #[inline(always)]
    fn le(self, y: Any) -> Any {
        self.test(y, |x, y| x <= y)
    }

    #[inline(always)]
    fn select(self, a: Any, b: Any) -> Any {
        let mut x = b;
        for i in 0..8 {
            x.0[i] = if self.0[i].to_bits() != 0 { a.0[i] } else { b.0[i] };
        }
        x
    }

    #[inline(always)]
    fn later_maximum(self, y: Any) -> Any {
        self.zip(y, |x, y| if (y > x) | y.is_nan() { y } else { x })
    }

    #[inline(always)]
    fn later_minimum(self, y: Any) -> Any {
        self.zip(y, |x, y| if (y < x) | y.is_nan() { y } else { x })
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Half, Wide};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use crate::cpu::math::single::{GROWTH, LN_2_REST, ROUNDER};
    use std::arch::x86_64::*;
    use std::f32::consts::{LN_2, LOG2_E};

    /// Eight lanes of AVX2.
    #[derive(Clone, Copy)]
    pub struct Half(__m256);

    /// Sixteen lanes of AVX-512.
    #[derive(Clone, Copy)]
    pub struct Wide(__m512);

    /// The operations that both have under names of their own.
    macro_rules! shared {
        (
            $splat:ident, $load:ident, $store:ident, $stream:ident, $add:ident, $sub:ident, $mul:ident, $div:ident,
            $mul_add:ident, $sqrt:ident
        ) => {
            #[inline(always)]
            fn splat(x: f32) -> Self {
                // SAFETY, here and below: vectors are used where the machine has them.
                Self(unsafe { $splat(x) })
            }

            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                Self(unsafe { $load(from) })
            }

            #[inline(always)]
            unsafe fn store(self, into: *mut f32) {
                unsafe { $store(into, self.0) }
            }

            #[inline(always)]
            unsafe fn stream(self, into: *mut f32) {
                unsafe { $stream(into, self.0) }
            }

            #[inline(always)]
            fn fence() {
                unsafe { _mm_sfence() }
            }

            #[inline(always)]
            fn prefetch(from: *const f32) {
                // To the second cache: the first is full of what is worked on.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(from.cast()) }
            }

            #[inline(always)]
            fn add(self, y: Self) -> Self {
                Self(unsafe { $add(self.0, y.0) })
            }

            #[inline(always)]
            fn sub(self, y: Self) -> Self {
                Self(unsafe { $sub(self.0, y.0) })
            }

            #[inline(always)]
            fn mul(self, y: Self) -> Self {
                Self(unsafe { $mul(self.0, y.0) })
            }

            #[inline(always)]
            fn div(self, y: Self) -> Self {
                Self(unsafe { $div(self.0, y.0) })
            }

            #[inline(always)]
            fn mul_add(self, y: Self, z: Self) -> Self {
                Self(unsafe { $mul_add(self.0, y.0, z.0) })
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(unsafe { $sqrt(self.0) })
            }
        };
    }

    impl Vector for Half {
        const LANES: usize = 8;

        shared!(
            _mm256_set1_ps,
            _mm256_loadu_ps,
            _mm256_storeu_ps,
            _mm256_stream_ps,
            _mm256_add_ps,
            _mm256_sub_ps,
            _mm256_mul_ps,
            _mm256_div_ps,
            _mm256_fmadd_ps,
            _mm256_sqrt_ps
        );

        #[inline(always)]
        fn neg(self) -> Half {
            Half(unsafe { _mm256_xor_ps(self.0, _mm256_set1_ps(-0.0)) })
        }

        #[inline(always)]
        fn abs(self) -> Half {
            Half(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
        }

        #[inline(always)]
        fn eq(self, y: Half) -> Half {
            Half(unsafe { _mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, y.0) })
        }

        #[inline(always)]
        fn ne(self, y: Half) -> Half {
            Half(unsafe { _mm256_cmp_ps::<_CMP_NEQ_UQ>(self.0, y.0) })
        }

        #[inline(always)]
        fn lt(self, y: Half) -> Half {
            Half(unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, y.0) })
        }

        #[inline(always)]
        fn le(self, y: Half) -> Half {
            Half(unsafe { _mm256_cmp_ps::<_CMP_LE_OQ>(self.0, y.0) })
        }

        #[inline(always)]
        fn select(self, a: Half, b: Half) -> Half {
            Half(unsafe { _mm256_blendv_ps(b.0, a.0, self.0) })
        }

        #[inline(always)]
        fn all_numbers(x: &[Half; 8]) -> bool {
            unsafe {
                let pair = |i: usize| _mm256_cmp_ps::<_CMP_UNORD_Q>(x[i].0, x[i + 1].0);
                let (a, b) = (_mm256_or_ps(pair(0), pair(2)), _mm256_or_ps(pair(4), pair(6)));
                _mm256_movemask_ps(_mm256_or_ps(a, b)) == 0
            }
        }

        // The instruction gives its second operand unless the first is greater.
        #[inline(always)]
        fn greater(self, y: Half) -> Half {
            Half(unsafe { _mm256_max_ps(y.0, self.0) })
        }

        #[inline(always)]
        fn later_maximum(self, y: Half) -> Half {
            Half(unsafe {
                let most = _mm256_max_ps(y.0, self.0);
                _mm256_blendv_ps(most, y.0, _mm256_cmp_ps::<_CMP_UNORD_Q>(y.0, y.0))
            })
        }

        #[inline(always)]
        fn later_minimum(self, y: Half) -> Half {
            Half(unsafe {
                let least = _mm256_min_ps(y.0, self.0);
                _mm256_blendv_ps(least, y.0, _mm256_cmp_ps::<_CMP_UNORD_Q>(y.0, y.0))
            })
        }
    }

    impl Wide {
        #[inline(always)]
        fn truth(mask: __mmask16) -> Wide {
            Wide(unsafe { _mm512_castsi512_ps(_mm512_movm_epi32(mask)) })
        }
    }

    impl Vector for Wide {
        const LANES: usize = 16;

        shared!(
            _mm512_set1_ps,
            _mm512_loadu_ps,
            _mm512_storeu_ps,
            _mm512_stream_ps,
            _mm512_add_ps,
            _mm512_sub_ps,
            _mm512_mul_ps,
            _mm512_div_ps,
            _mm512_fmadd_ps,
            _mm512_sqrt_ps
        );

        #[inline(always)]
        fn neg(self) -> Wide {
            Wide(unsafe { _mm512_xor_ps(self.0, _mm512_set1_ps(-0.0)) })
        }

        #[inline(always)]
        fn abs(self) -> Wide {
            Wide(unsafe { _mm512_andnot_ps(_mm512_set1_ps(-0.0), self.0) })
        }

        #[inline(always)]
        fn eq(self, y: Wide) -> Wide {
            Wide::truth(unsafe { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, y.0) })
        }

        #[inline(always)]
        fn ne(self, y: Wide) -> Wide {
            Wide::truth(unsafe { _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(self.0, y.0) })
        }

        #[inline(always)]
        fn lt(self, y: Wide) -> Wide {
            Wide::truth(unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, y.0) })
        }

        #[inline(always)]
        fn le(self, y: Wide) -> Wide {
            Wide::truth(unsafe { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, y.0) })
        }

        #[inline(always)]
        fn select(self, a: Wide, b: Wide) -> Wide {
            Wide(unsafe { _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(self.0)), b.0, a.0) })
        }

        #[inline(always)]
        fn all_numbers(x: &[Wide; 8]) -> bool {
            unsafe {
                let pair = |i: usize| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x[i].0, x[i + 1].0);
                (pair(0) | pair(2)) | (pair(4) | pair(6)) == 0
            }
        }

        #[inline(always)]
        fn greater(self, y: Wide) -> Wide {
            Wide(unsafe { _mm512_max_ps(y.0, self.0) })
        }

        const HAS_EXP: bool = true;

        /// The steps of `math::single::exp`; one instruction scales by a power of two and
        /// rounds once.
        #[inline(always)]
        fn exp(self) -> Wide {
            unsafe {
                let set = |x: f32| _mm512_set1_ps(x);
                let x = _mm512_max_ps(set(-104.0), _mm512_min_ps(set(89.0), self.0));
                let n = _mm512_sub_ps(_mm512_fmadd_ps(x, set(LOG2_E), set(ROUNDER)), set(ROUNDER));
                let r = _mm512_fnmadd_ps(n, set(LN_2), x);
                let r = _mm512_fnmadd_ps(n, set(LN_2_REST), r);
                let [.., last] = GROWTH;
                let mut q = set(last);
                for k in (0..GROWTH.len() - 1).rev() {
                    q = _mm512_fmadd_ps(q, r, set(GROWTH[k]));
                }
                let growth = _mm512_fmadd_ps(_mm512_mul_ps(r, r), q, r);
                Wide(_mm512_scalef_ps(_mm512_add_ps(set(1.0), growth), n))
            }
        }

        #[inline(always)]
        fn later_maximum(self, y: Wide) -> Wide {
            Wide(unsafe {
                let most = _mm512_max_ps(y.0, self.0);
                _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_UNORD_Q>(y.0, y.0), most, y.0)
            })
        }

        #[inline(always)]
        fn later_minimum(self, y: Wide) -> Wide {
            Wide(unsafe {
                let least = _mm512_min_ps(y.0, self.0);
                _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_UNORD_Q>(y.0, y.0), least, y.0)
            })
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn exponentials_of_vectors_have_the_bits_of_single_ones() {
        #[target_feature(enable = "avx512f,avx512dq")]
        unsafe fn exp(lanes: &mut [f32; 16]) {
            // SAFETY: the array has the lanes of a vector.
            unsafe { Wide::load(lanes.as_ptr()).exp().store(lanes.as_mut_ptr()) }
        }
        if crate::cpu::widest() < crate::cpu::Vectors::Avx512 {
            return;
        }
        let bits = (0..=u32::MAX).step_by(1009).chain((0..64).map(|i| 0x42b0_0000 + i * 1000));
        for start in bits {
            let mut lanes = std::array::from_fn(|i| f32::from_bits(start.wrapping_add(i as u32)));
            let expected = lanes.map(|x| crate::cpu::math::single::exp(x).to_bits());
            // SAFETY: the machine has the features.
            unsafe { exp(&mut lanes) };
            assert_eq!(lanes.map(f32::to_bits), expected, "from {start:#x} on");
        }
    }
}
