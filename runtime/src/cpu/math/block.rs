//! Functions of whole blocks: one lane outside the range of the fast form makes its chunk
//! of the block slow, and no other.
//!
//! Written so that LLVM makes vector code of the loops where the caller's target features
//! allow it; the bits are the same without.

/// Elements that are slow together.
const CHUNK: usize = 64;

/// `fast` of each element, `slow` where it is `far`.
#[inline(always)]
pub(super) fn guarded<T: Copy>(
    xs: &mut [T],
    far: impl Fn(T) -> bool,
    fast: impl Fn(T) -> T,
    slow: impl Fn(T) -> T,
) {
    for chunk in xs.chunks_mut(CHUNK) {
        if chunk.iter().fold(false, |any, x| any | far(*x)) {
            chunk.iter_mut().for_each(|x| *x = if far(*x) { slow(*x) } else { fast(*x) });
        } else {
            chunk.iter_mut().for_each(|x| *x = fast(*x));
        }
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
    for (xs, ys) in xs.chunks_mut(CHUNK).zip(ys.chunks(CHUNK)) {
        if xs.iter().zip(ys).fold(false, |any, (x, y)| any | far(*x, *y)) {
            xs.iter_mut()
                .zip(ys)
                .for_each(|(x, y)| *x = if far(*x, *y) { slow(*x, *y) } else { fast(*x, *y) });
        } else {
            xs.iter_mut().zip(ys).for_each(|(x, y)| *x = fast(*x, *y));
        }
    }
}

/// `f` of each element.
#[inline(always)]
pub(super) fn each<T: Copy>(xs: &mut [T], f: impl Fn(T) -> T) {
    xs.iter_mut().for_each(|x| *x = f(*x));
}

/// `f` of each pair of elements.
#[inline(always)]
pub(super) fn each_pair<T: Copy>(xs: &mut [T], ys: &[T], f: impl Fn(T, T) -> T) {
    xs.iter_mut().zip(ys).for_each(|(x, y)| *x = f(*x, *y));
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
                Scalar::FloorDivide => each_pair(xs, ys, |x, y| floor_divide(x, y, |v| v)),
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
