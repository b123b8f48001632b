//! The error function of `f32`.

use super::exponential::exp_normal;
use super::polynomial;

/// Error function, measured within 1.11 units of the last place.
///
/// `x + x P(x^2)` below 15/16, `1 - exp(-G(x))` above, where `G` fits `-log(erfc(x))` with
/// the weight `erfc(x)`; both are minimax fits (`fit.py`).
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let a = x.abs();
    let p = polynomial(
        a * a,
        [
            0.128_379_17,
            -0.376_126_3,
            0.112_836_26,
            -0.026_855_737,
            0.005_192_438,
            -0.000_805_038_14,
            8.000_259_5e-5,
        ],
    );
    let near = a.mul_add(p, a);
    // Beyond 4 the result is 1.
    let bounded = if a > 4.0 { 4.0 } else { a };
    let g = polynomial(
        bounded,
        [
            0.000_235_072_98,
            1.127_512_7,
            0.637_456_83,
            0.103_690_475,
            -0.022_110_669,
            0.003_014_062,
            -0.000_192_967_48,
        ],
    );
    let far = 1.0 - exp_normal(-g);
    let y = if a < 0.9375 { near } else { far };
    y.copysign(x)
}
