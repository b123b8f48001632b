//! Inverse trigonometric functions of `f64`.
//!
//! The polynomials are minimax fits of the relative error (`fit.py`).

use std::f64::consts::{FRAC_PI_2, PI};

use super::polynomial;

/// What `FRAC_PI_2` lacks; `PI` lacks twice that.
const FRAC_PI_2_REST: f64 = 6.123_233_995_736_766e-17;

/// `asin(a) - a` for `0 <= a <= 1/2`, given the square of `a`.
#[inline(always)]
fn asin_rest(a: f64, z: f64) -> f64 {
    let p = polynomial(
        z,
        [
            0.166_666_666_666_667_6,
            0.074_999_999_999_708_1,
            0.044_642_857_174_645_195,
            0.030_381_942_704_763_83,
            0.022_372_215_102_851_038,
            0.017_351_609_509_972_506,
            0.013_980_854_930_303_713,
            0.011_398_599_889_737_206,
            0.010_782_158_047_040_958,
            0.003_698_682_530_108_007,
            0.021_727_431_182_440_495,
            -0.021_028_904_896_534_34,
            0.032_648_204_179_959_7,
        ],
    );
    a * z * p
}

/// Inverse sine, measured within 2.09 units of the last place.
///
/// Above 1/2, `asin(a) = pi / 2 - 2 asin(sqrt((1 - a) / 2))`.
#[inline(always)]
pub fn asin(x: f64) -> f64 {
    let a = x.abs();
    let near = a < 0.5;
    let z = if near { a * a } else { 0.5 * (1.0 - a) };
    let s = if near { a } else { z.sqrt() };
    let rest = asin_rest(s, z);
    let y = if near { s + rest } else { FRAC_PI_2 - (2.0 * (s + rest) - FRAC_PI_2_REST) };
    y.copysign(x)
}

/// Inverse cosine, measured within 1.11 units of the last place.
#[inline(always)]
pub fn acos(x: f64) -> f64 {
    let a = x.abs();
    let near = a < 0.5;
    let z = if near { a * a } else { 0.5 * (1.0 - a) };
    let s = if near { x } else { z.sqrt() };
    let rest = asin_rest(s, z);
    let middle = FRAC_PI_2 - (s + (rest - FRAC_PI_2_REST));
    let double = 2.0 * (s + rest);
    let outer = if x < 0.0 { PI - (double - 2.0 * FRAC_PI_2_REST) } else { double };
    if near { middle } else { outer }
}

/// `atan(t)` for `0 <= t <= 1`.
#[inline(always)]
fn atan_near(t: f64) -> f64 {
    let z = t * t;
    let p = polynomial(
        z,
        [
            -0.333_333_333_333_332_87,
            0.199_999_999_999_906_17,
            -0.142_857_142_850_447_23,
            0.111_111_110_866_499_01,
            -0.090_909_085_503_277_2,
            0.076_922_997_424_090_35,
            -0.066_665_839_331_121_26,
            0.058_817_171_704_549_93,
            -0.052_594_372_284_715_606,
            0.047_449_337_868_315_06,
            -0.042_863_991_018_463_04,
            0.038_209_944_276_34,
            -0.032_784_683_483_401_45,
            0.026_149_883_853_665_724,
            -0.018_611_435_716_913_41,
            0.011_314_619_473_526_095,
            -0.005_609_994_843_086_555_5,
            0.002_150_251_242_493_767,
            -0.000_592_389_748_393_897,
            0.000_103_756_988_521_205_9,
            -8.642_187_306_470_626e-6,
        ],
    );
    (t * z).mul_add(p, t)
}

/// Inverse tangent, measured within 1.40 units of the last place.
#[inline(always)]
pub fn atan(x: f64) -> f64 {
    let a = x.abs();
    let steep = a > 1.0;
    let y = atan_near(if steep { 1.0 / a } else { a });
    let y = if steep { FRAC_PI_2 - (y - FRAC_PI_2_REST) } else { y };
    y.copysign(x)
}

/// Angle of the point with height `x` at `y` along the axis, measured within 1.40 units of
/// the last place.
#[inline(always)]
pub fn atan2(x: f64, y: f64) -> f64 {
    let (height, along) = (x.abs(), y.abs());
    let steep = height > along;
    let (low, high) = if steep { (along, height) } else { (height, along) };
    // Two infinities make an angle like two ones; two zeros none.
    let t = if low == high { 1.0 } else { low / high };
    let t = if low == 0.0 { 0.0 } else { t };
    let angle = atan_near(t);
    let behind = y.is_sign_negative();
    // The angle from the nearer half of the line along, or from the upright line.
    let level = if behind { PI - (angle - 2.0 * FRAC_PI_2_REST) } else { angle };
    let upright = FRAC_PI_2 - (if behind { -angle } else { angle } - FRAC_PI_2_REST);
    let angle = if steep { upright } else { level };
    let angle = if x.is_nan() | y.is_nan() { f64::NAN } else { angle };
    angle.copysign(x)
}
