//! Functions of whole blocks: one lane outside the range of the fast form makes its chunk
//! of the block slow, and no other.
//!
//! Written so that LLVM makes vector code of the loops where the caller's target features
//! allow it; the bits are the same without.

/// Elements that are slow together.
const CHUNK: usize = 64;

// Loops, not `for_each` and its like: these are calls where they are used in many places.

/// `fast` of each element, `slow` where it is `far`.
#[inline(always)]
pub(super) fn guarded<T: Copy>(
    xs: &mut [T],
    far: impl Fn(T) -> bool,
    fast: impl Fn(T) -> T,
    slow: impl Fn(T) -> T,
) {
    let mut start = 0;
    while start < xs.len() {
        let end = (start + CHUNK).min(xs.len());
        let mut any = false;
        for x in &xs[start..end] {
            any |= far(*x);
        }
        if any {
            for x in &mut xs[start..end] {
                *x = if far(*x) { slow(*x) } else { fast(*x) };
            }
        } else {
            each(&mut xs[start..end], &fast);
        }
        start = end;
    }
}

/// `fast` of each pair of elements, `slow` where it is `far`.
#[inline(always)]
pub(super) fn guarded_pairs<T: Copy>(
    xs: &mut [T],
    ys: &[T],
    far: impl Fn(T, T) -> bool,
    fast: impl Fn(T, T) -> T,
    slow: impl Fn(T, T) -> T,
) {
    let mut start = 0;
    while start < xs.len() {
        let end = (start + CHUNK).min(xs.len());
        let mut any = false;
        for i in start..end {
            any |= far(xs[i], ys[i]);
        }
        if any {
            for i in start..end {
                xs[i] = if far(xs[i], ys[i]) { slow(xs[i], ys[i]) } else { fast(xs[i], ys[i]) };
            }
        } else {
            each_pair(&mut xs[start..end], &ys[start..end], &fast);
        }
        start = end;
    }
}

/// `f` of each element.
#[inline(always)]
pub(super) fn each<T: Copy>(xs: &mut [T], f: impl Fn(T) -> T) {
    for x in xs {
        *x = f(*x);
    }
}

/// `f` of each pair of elements.
#[inline(always)]
pub(super) fn each_pair<T: Copy>(xs: &mut [T], ys: &[T], f: impl Fn(T, T) -> T) {
    let ys = &ys[..xs.len()];
    for i in 0..xs.len() {
        xs[i] = f(xs[i], ys[i]);
    }
}

/// `dispatch!(T)`: the functions of the scalar table from floats to floats, by name, of
/// blocks of the float `T`.
macro_rules! dispatch {
    ($T:ident) => {
        /// Puts `function(x)` in the place of each `x`. Returns whether it is a function of
        /// one float to a float.
        #[inline(always)]
        pub fn unary(function: rtv_semantics::scalar::Scalar, xs: &mut [$T]) -> bool {
            use super::block::each;
            use rtv_semantics::scalar::Scalar;
            match function {
                Scalar::Neg => each(xs, |x| -x),
                Scalar::Abs => each(xs, $T::abs),
                Scalar::Sign => each(xs, sign),
                Scalar::Reciprocal => each(xs, reciprocal),
                Scalar::Floor => each(xs, $T::floor),
                Scalar::Ceil => each(xs, $T::ceil),
                Scalar::Round => each(xs, $T::round_ties_even),
                Scalar::Trunc => each(xs, $T::trunc),
                Scalar::Frac => each(xs, frac),
                Scalar::Exp => each(xs, exp),
                Scalar::Exp2 => each(xs, exp2),
                Scalar::Expm1 => each(xs, expm1),
                Scalar::Log => each(xs, log),
                Scalar::Log2 => each(xs, log2),
                Scalar::Log10 => each(xs, log10),
                Scalar::Log1p => each(xs, log1p),
                Scalar::Sqrt => each(xs, sqrt),
                Scalar::Rsqrt => each(xs, rsqrt),
                Scalar::Sin => sin_block(xs),
                Scalar::Cos => cos_block(xs),
                Scalar::Tan => tan_block(xs),
                Scalar::Asin => each(xs, asin),
                Scalar::Acos => each(xs, acos),
                Scalar::Atan => each(xs, atan),
                Scalar::Sinh => each(xs, sinh),
                Scalar::Cosh => each(xs, cosh),
                Scalar::Tanh => each(xs, tanh),
                Scalar::Asinh => each(xs, asinh),
                Scalar::Acosh => each(xs, acosh),
                Scalar::Atanh => each(xs, atanh),
                Scalar::Erf => each(xs, erf),
                Scalar::Erfc => each(xs, erfc),
                Scalar::Lgamma => each(xs, lgamma),
                Scalar::Sigmoid => each(xs, sigmoid),
                _ => return false,
            }
            true
        }

        /// Puts `function(x, y)` in the place of each `x`. Returns whether it is a function
        /// of two floats to a float.
        #[inline(always)]
        pub fn binary(function: rtv_semantics::scalar::Scalar, xs: &mut [$T], ys: &[$T]) -> bool {
            use super::block::each_pair;
            use rtv_semantics::scalar::Scalar;
            match function {
                Scalar::Add => each_pair(xs, ys, |x, y| x + y),
                Scalar::Sub => each_pair(xs, ys, |x, y| x - y),
                Scalar::Mul => each_pair(xs, ys, |x, y| x * y),
                Scalar::Div => each_pair(xs, ys, |x, y| x / y),
                Scalar::FloorDivide => floor_divide_block(xs, ys, |v| v),
                Scalar::TruncDivide => each_pair(xs, ys, |x, y| trunc_divide(x, y, |v| v)),
                Scalar::Remainder => remainder_block(xs, ys),
                Scalar::Fmod => fmod_block(xs, ys),
                Scalar::Pow => each_pair(xs, ys, pow),
                Scalar::Maximum => each_pair(xs, ys, maximum),
                Scalar::Minimum => each_pair(xs, ys, minimum),
                Scalar::Fmax => each_pair(xs, ys, fmax),
                Scalar::Fmin => each_pair(xs, ys, fmin),
                Scalar::Copysign => each_pair(xs, ys, copysign),
                Scalar::Nextafter => each_pair(xs, ys, nextafter),
                Scalar::Atan2 => each_pair(xs, ys, atan2),
                Scalar::Hypot => each_pair(xs, ys, hypot),
                _ => return false,
            }
            true
        }
    };
}

pub(super) use dispatch;
