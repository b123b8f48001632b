//! The error function of `f32`.

use super::exponential::exp_normal;
use super::polynomial;

/// Error function, within 1.5 units of the last place.
///
/// `x + x P(x^2)` below 15/16, `1 - exp(-G(x))` above, where `G` fits `-log(erfc(x))` with
/// the weight `erfc(x)`; both are minimax (Remez exchange in 45 digits, coefficients
/// rounded one after the other).
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let a = x.abs();
    let p = polynomial(
        a * a,
        [
            0.128_379_17,
            -0.376_126_3,
            0.112_836_43,
            -0.026_856_912,
            0.005_195_416,
            -0.000_808_367_5,
            8.138_295e-5,
        ],
    );
    let near = a.mul_add(p, a);
    // Beyond 4 the result is 1.
    let bounded = if a > 4.0 { 4.0 } else { a };
    let g = polynomial(
        bounded,
        [
            0.000_235_072_98,
            1.127_511_3,
            0.637_461_36,
            0.103_685_05,
            -0.022_107_664,
            0.003_013_327_3,
            -0.000_192_911_8,
        ],
    );
    let far = 1.0 - exp_normal(-g);
    let y = if a < 0.9375 { near } else { far };
    y.copysign(x)
}
