//! Functions that are exact, or one rounding of the exact result: written once for both
//! types.

/// `arithmetic!(T, U, Q)`: the functions of the float `T`, whose bits are a `U`, and whose
/// quotients below `Q` have an exact integer part but for one.
macro_rules! arithmetic {
    ($T:ident, $U:ident, $quotient:literal) => {
        /// Square root, correctly rounded.
        #[inline(always)]
        pub fn sqrt(x: $T) -> $T {
            x.sqrt()
        }

        /// `1 / sqrt(x)`, two roundings: within 1.5 units of the last place.
        #[inline(always)]
        pub fn rsqrt(x: $T) -> $T {
            1.0 / x.sqrt()
        }

        /// `1 / x`, correctly rounded.
        #[inline(always)]
        pub fn reciprocal(x: $T) -> $T {
            1.0 / x
        }

        /// -1, 0 or 1; 0 at NaN.
        #[inline(always)]
        pub fn sign(x: $T) -> $T {
            let negative = if x < 0.0 { -1.0 } else { 0.0 };
            if x > 0.0 { 1.0 } else { negative }
        }

        /// `x - trunc(x)`.
        #[inline(always)]
        pub fn frac(x: $T) -> $T {
            x - x.trunc()
        }

        /// The greater one, NaN if either is; the first of two zeros.
        #[inline(always)]
        pub fn maximum(x: $T, y: $T) -> $T {
            let greater = if y > x { y } else { x };
            // The sum is NaN. To leave `x` as it is would be a masked store, which is slow.
            if x.is_nan() | y.is_nan() { x + y } else { greater }
        }

        /// The lesser one, NaN if either is; the first of two zeros.
        #[inline(always)]
        pub fn minimum(x: $T, y: $T) -> $T {
            let lesser = if y < x { y } else { x };
            if x.is_nan() | y.is_nan() { x + y } else { lesser }
        }

        /// The greater one, the other if one is NaN; the first of two zeros.
        #[inline(always)]
        pub fn fmax(x: $T, y: $T) -> $T {
            let greater = if y > x { y } else { x };
            if x.is_nan() { y } else { greater }
        }

        /// The lesser one, the other if one is NaN; the first of two zeros.
        #[inline(always)]
        pub fn fmin(x: $T, y: $T) -> $T {
            let lesser = if y < x { y } else { x };
            if x.is_nan() { y } else { lesser }
        }

        /// The magnitude of `x` with the sign of `y`; a NaN reads as positive.
        #[inline(always)]
        pub fn copysign(x: $T, y: $T) -> $T {
            let signed = x.copysign(y);
            if y.is_nan() { x.abs() } else { signed }
        }

        /// The next value from `x` towards `y`; `y` itself if they are equal.
        #[inline(always)]
        pub fn nextafter(x: $T, y: $T) -> $T {
            let bits = x.to_bits();
            let away = (y > x) == (x > 0.0);
            let next = $T::from_bits(if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) });
            let next = if x == 0.0 { $T::from_bits(1).copysign(y) } else { next };
            let next = if x == y { y } else { next };
            if x.is_nan() | y.is_nan() { $T::NAN } else { next }
        }

        /// Whether the quotient is out of reach of [`fmod_near`].
        #[inline(always)]
        fn quotient_far(x: $T, y: $T) -> bool {
            let reached = ((x / y).abs() < $quotient) & (y.abs() < $T::INFINITY);
            !reached
        }

        /// The quotient rounds to its integer part or to one more; either leaves a rest that
        /// is a value of the type, so that the fused multiply-add is exact.
        #[inline(always)]
        fn fmod_near(x: $T, y: $T) -> $T {
            let (a, b) = (x.abs(), y.abs());
            let rest = (a / b).trunc().mul_add(-b, a);
            let rest = if rest < 0.0 { rest + b } else { rest };
            rest.copysign(x)
        }

        /// The rest `x % y` with the sign of the divisor.
        #[inline(always)]
        fn signed_rest(rest: $T, y: $T) -> $T {
            let moved = rest + y;
            if (rest != 0.0) & ((rest < 0.0) != (y < 0.0)) { moved } else { rest }
        }

        /// `x - y * trunc(x / y)`, exact, with the sign of the dividend.
        #[inline(always)]
        pub fn fmod(x: $T, y: $T) -> $T {
            if quotient_far(x, y) { x % y } else { fmod_near(x, y) }
        }

        /// `x - y * floor(x / y)`, rounded once, with the sign of the divisor.
        #[inline(always)]
        pub fn remainder(x: $T, y: $T) -> $T {
            signed_rest(fmod(x, y), y)
        }

        /// [`fmod`] of each pair.
        #[inline(always)]
        pub fn fmod_block(xs: &mut [$T], ys: &[$T]) {
            super::block::guarded_pairs(xs, ys, quotient_far, fmod_near, |x, y| x % y);
        }

        /// [`remainder`] of each pair.
        #[inline(always)]
        pub fn remainder_block(xs: &mut [$T], ys: &[$T]) {
            super::block::guarded_pairs(
                xs,
                ys,
                quotient_far,
                |x, y| signed_rest(fmod_near(x, y), y),
                |x, y| signed_rest(x % y, y),
            );
        }

        /// Quotient rounded down, by PyTorch's algorithm: `step` rounds to the dtype that
        /// the values are of, which may be narrower.
        #[inline(always)]
        pub fn floor_divide(x: $T, y: $T, step: impl Fn($T) -> $T) -> $T {
            quotient_below(x, y, fmod(x, y), step)
        }

        /// [`floor_divide`] of each pair.
        #[inline(always)]
        pub fn floor_divide_block(xs: &mut [$T], ys: &[$T], step: impl Fn($T) -> $T) {
            super::block::guarded_pairs(
                xs,
                ys,
                quotient_far,
                |x, y| quotient_below(x, y, fmod_near(x, y), &step),
                |x, y| quotient_below(x, y, x % y, &step),
            );
        }

        /// [`floor_divide`], given the rest.
        #[inline(always)]
        fn quotient_below(x: $T, y: $T, rest: $T, step: impl Fn($T) -> $T) -> $T {
            let quotient = step(step(x - rest) / y);
            let lower = step(quotient - 1.0);
            let quotient = if (rest != 0.0) & ((y < 0.0) != (rest < 0.0)) { lower } else { quotient };
            let floor = quotient.floor();
            let floor = if step(quotient - floor) > 0.5 { floor + 1.0 } else { floor };
            let zero = (0.0 as $T).copysign(x / y);
            let floor = if quotient == 0.0 { zero } else { floor };
            if y == 0.0 { x / y } else { floor }
        }

        /// Truncates the quotient after it was rounded to the dtype by `step`.
        #[inline(always)]
        pub fn trunc_divide(x: $T, y: $T, step: impl Fn($T) -> $T) -> $T {
            step(x / y).trunc()
        }
    };
}

pub(super) use arithmetic;
