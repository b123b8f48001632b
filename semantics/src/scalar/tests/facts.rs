//! What PyTorch was seen to do, line by line.

use super::super::Domain;
use super::hold;

#[test]
fn order_nan_and_signed_zero() {
    hold(
        Domain::Ieee,
        0,
        "
        maximum f32 nan 1 = nan
        maximum f32 1 nan = nan
        minimum f32 nan 1 = nan
        minimum f32 1 nan = nan
        fmax f32 nan 1 = 1
        fmax f32 1 nan = 1
        fmax f32 nan nan = nan
        fmin f32 nan 1 = 1
        fmin f32 1 nan = 1
        fmin f32 nan nan = nan
        maximum f32 0.0 -0.0 = 0.0
        maximum f32 -0.0 0.0 = -0.0
        maximum bool true false = true
        sign f32 nan = 0
        sign f32 -2 = -1
        sign f32 -0.0 = 0.0
        sign f32 inf = 1
        sign bool true = true
        signbit f32 -0.0 = true
        signbit f32 0.0 = false
        signbit i8 -3 = true
        mul f32 0 -1 = -0.0
        mul f32 0 inf = nan
        sub f32 inf inf = nan
        add f32 -0.0 0.0 = 0.0
        add f32 -0.0 -0.0 = -0.0
        neg f32 0 = -0.0
        sub f32 0.0 0.0 = 0.0
        abs f32 -0.0 = 0.0
        abs f32 -inf = inf
        abs f32 nan = nan
        abs i8 -128 = -128
        abs i32 -2147483648 = -2147483648
        neg i64 -9223372036854775808 = -9223372036854775808
        neg u8 1 = 255
        copysign f32 1 -0.0 = -1
        copysign f32 1 0.0 = 1
        nextafter f32 0 1 = 1e-45
        nextafter f16 1 2 = 1.0009765625
        nextafter f32 0 -1 = -1e-45
        nextafter f64 1 1 = 1
        isnan f32 nan = true
        isnan f32 inf = false
        isfinite f32 inf = false
        isfinite i8 3 = true
        isinf f32 -inf = true
        isinf f32 nan = false
        eq f32 nan nan = false
        ne f32 nan nan = true
        lt f32 nan 1 = false
        ge f32 nan 1 = false
        eq f32 -0.0 0.0 = true
        lt bool false true = true
        add bool true true = true
        add bool false true = true
        mul bool true false = false
    ",
    );
}

#[test]
fn integer_wrap_and_division() {
    hold(
        Domain::Ieee,
        0,
        "
        add i8 127 1 = -128
        mul i32 2147483647 2 = -2
        add i64 9223372036854775807 1 = -9223372036854775808
        sub u8 0 1 = 255
        mul i8 16 16 = 0
        mul u8 200 2 = 144
        mul i64 -9223372036854775808 -1 = -9223372036854775808
        mul i64 4611686018427387904 4 = 0
        floor_divide i64 7 2 = 3
        floor_divide i64 -7 2 = -4
        floor_divide i64 7 -2 = -4
        floor_divide i64 -7 -2 = 3
        remainder i64 7 2 = 1
        remainder i64 -7 2 = 1
        remainder i64 7 -2 = -1
        remainder i64 -7 -2 = -1
        fmod i64 7 2 = 1
        fmod i64 -7 2 = -1
        fmod i64 7 -2 = 1
        fmod i64 -7 -2 = -1
        trunc_divide i64 7 2 = 3
        trunc_divide i64 -7 2 = -3
        floor_divide u8 249 2 = 124
        floor_divide i64 1 0 = !arithmetic
        remainder i64 1 0 = !arithmetic
        fmod i64 1 0 = !arithmetic
        trunc_divide i64 1 0 = !arithmetic
        floor_divide i8 -128 -1 = -128
        remainder i8 -128 -1 = 0
        floor_divide i64 -9223372036854775808 -1 = -9223372036854775808
        remainder i64 -9223372036854775808 -1 = 0
        floor_divide i32 -2147483648 -1 = -2147483648
        remainder i64 7 -3 = -2
    ",
    );
}

#[test]
fn float_division() {
    hold(
        Domain::Ieee,
        0,
        "
        floor_divide f32 7 2 = 3
        floor_divide f32 -7 2 = -4
        floor_divide f32 7 -2 = -4
        floor_divide f32 -7 -2 = 3
        remainder f32 7 2 = 1
        remainder f32 -7 2 = 1
        remainder f32 7 -2 = -1
        remainder f32 -7 -2 = -1
        fmod f32 -7 2 = -1
        fmod f32 7 -2 = 1
        div f32 1 0 = inf
        div f32 0 0 = nan
        div f32 -1 0 = -inf
        div f32 1 -0.0 = -inf
        floor_divide f32 1 0 = inf
        floor_divide f32 -1 0 = -inf
        floor_divide f32 0 0 = nan
        remainder f32 1 0 = nan
        remainder f32 inf 0 = nan
        fmod f32 1 0 = nan
        floor_divide f32 1 inf = 0
        floor_divide f32 -1 inf = -1
        floor_divide f32 1 -inf = -1
        floor_divide f32 -1 -inf = 0
        remainder f32 1 inf = 1
        remainder f32 -1 inf = inf
        remainder f32 1 -inf = -inf
        remainder f32 -1 -inf = -1
        floor_divide f32 inf 2 = nan
        remainder f32 -inf 2 = nan
        fmod f32 1 inf = 1
        fmod f32 -1 inf = -1
        fmod f32 inf 2 = nan
        remainder f32 -0.0 3 = -0.0
        remainder f32 6 -3 = 0.0
        remainder f32 -6 3 = -0.0
        floor_divide f32 -0.0 3 = -0.0
        floor_divide f32 0.5 3 = 0.0
        floor_divide f32 -0.5 3 = -1
        floor_divide f32 1 0.1 = 9
        trunc_divide f32 1 0.1 = 10
        floor_divide f64 1 0.1 = 9
    ",
    );
}

#[test]
fn powers_and_shifts() {
    hold(
        Domain::Ieee,
        0,
        "
        pow i64 2 -1 = 0
        pow i64 1 -1 = 1
        pow i64 -1 -1 = -1
        pow i64 -1 -2 = 1
        pow i64 0 -1 = 0
        pow i64 3 -2 = 0
        pow i64 2 3 = 8
        pow i64 0 0 = 1
        pow i64 5 0 = 1
        pow i8 2 7 = -128
        pow i64 2 63 = -9223372036854775808
        pow f32 0 0 = 1
        pow f32 0 -1 = inf
        pow f32 -0.0 -1 = -inf
        pow f32 -0.0 -2 = inf
        pow f32 nan 0 = 1
        pow f32 1 nan = 1
        pow f32 -8 0.25 = nan
        pow f32 -8 2 = 64
        pow f32 -8 3 = -512
        pow f32 -1 inf = 1
        pow f32 2 inf = inf
        pow f32 0.5 inf = 0
        pow f32 -inf 3 = -inf
        pow f32 -inf 0.5 = inf
        pow f16 300 2 = inf
        hypot f16 300 400 = 500
        hypot f32 inf nan = inf
        bitwise_left_shift i8 1 7 = -128
        bitwise_left_shift i8 1 8 = 0
        bitwise_left_shift i32 1 31 = -2147483648
        bitwise_left_shift i32 1 32 = 0
        bitwise_left_shift i64 1 63 = -9223372036854775808
        bitwise_left_shift i64 1 64 = 0
        bitwise_left_shift i64 1 -1 = 0
        bitwise_right_shift i64 -1 63 = -1
        bitwise_right_shift i64 -8 64 = -1
        bitwise_right_shift i64 8 64 = 0
        bitwise_right_shift i64 -8 -1 = -1
        bitwise_right_shift u8 200 1 = 100
        bitwise_right_shift i8 -8 8 = -1
        bitwise_right_shift u8 200 8 = 0
        bitwise_left_shift u8 200 1 = 144
        bitwise_right_shift i64 -8 1 = -4
        bitwise_and i64 6 3 = 2
        bitwise_or i64 6 1 = 7
        bitwise_xor i64 6 3 = 5
        bitwise_not i64 6 = -7
        bitwise_not u8 0 = 255
        bitwise_not bool true = false
        bitwise_xor bool true true = false
        logical_not bool false = true
        logical_xor bool true false = true
    ",
    );
}

#[test]
fn rounding_and_casts() {
    hold(
        Domain::Ieee,
        0,
        "
        round f32 0.5 = 0.0
        round f32 1.5 = 2
        round f32 2.5 = 2
        round f32 -0.5 = -0.0
        round f32 -1.5 = -2
        round f32 nan = nan
        round f32 inf = inf
        round i32 3 = 3
        trunc f32 -1.5 = -1
        frac f32 -1.5 = -0.5
        floor f32 -1.5 = -2
        floor f32 -0.0 = -0.0
        ceil f32 -0.5 = -0.0
        floor f32 inf = inf
        cast f32 i64 1.9 = 1
        cast f32 i64 -1.9 = -1
        cast f32 i64 -0.5 = 0
        cast f32 i8 -1.9 = -1
        cast i64 f32 16777217 = 16777216
        cast i64 f64 9007199254740993 = 9007199254740992
        cast f32 bool -0.0 = false
        cast f32 bool nan = true
        cast f32 bool 0.1 = true
        cast i64 bool -1 = true
        cast bool f32 true = 1
        cast i32 bool 256 = true
        cast i64 u8 300 = 44
        cast i64 u8 -1 = 255
        cast i64 i8 128 = -128
        cast i64 i32 4294967301 = 5
        cast i8 u8 -1 = 255
        cast u8 i8 255 = -1
        cast f32 f16 65519 = 65504
        cast f32 f16 65520 = inf
        cast f32 f16 1e-8 = 0
        cast f32 f16 6e-8 = 5.9604645e-8
        cast f32 bf16 1.00390625 = 1
        cast f32 bf16 1.01171875 = 1.015625
        cast f32 bf16 3.4e38 = inf
        cast f64 f32 1e39 = inf
        cast f64 f32 1e-46 = 0
        cast i64 f16 2049 = 2048
        cast i64 f16 2051 = 2052
        cast i64 bf16 257 = 256
        cast i64 bf16 259 = 260
        cast f64 f16 1.000244140625 = 1
        cast f64 f16 1.000488281251 = 1
        cast f32 i32 nan = -2147483648
        cast f32 i32 3e9 = -2147483648
        cast f32 i64 inf = -9223372036854775808
        cast f32 u8 300 = 44
        cast f32 u8 nan = 0
        cast f32 i8 -129 = 127
    ",
    );
}

#[test]
fn elementary_functions_at_corners() {
    hold(
        Domain::Ieee,
        0,
        "
        log f32 -1 = nan
        log f32 0 = -inf
        log f32 -0.0 = -inf
        log f32 inf = inf
        sqrt f32 -1 = nan
        sqrt f32 -0.0 = -0.0
        sqrt f32 inf = inf
        rsqrt f32 0 = inf
        rsqrt f32 -0.0 = -inf
        rsqrt f32 -1 = nan
        rsqrt f32 inf = 0
        reciprocal f32 0 = inf
        reciprocal f32 -0.0 = -inf
        log1p f32 -1 = -inf
        log1p f32 -2 = nan
        log2 f32 0 = -inf
        exp f32 89 = inf
        exp f32 -104 = 0
        exp f32 -inf = 0
        exp f32 nan = nan
        expm1 f32 -0.0 = -0.0
        expm1 f32 1e-10 = 1e-10
        acos f32 2 = nan
        acosh f32 0.5 = nan
        acosh f16 -65504 = nan
        atanh f32 1 = inf
        atanh f32 2 = nan
        atan2 f32 0 1 = 0.0
        atan2 f32 -0.0 1 = -0.0
        atan2 f32 0 0 = 0.0
        atan2 f32 -0.0 0 = -0.0
        tan f32 inf = nan
        sin f32 -0.0 = -0.0
        sin f32 inf = nan
        erf f32 0 = 0.0
        erf f32 inf = 1
        lgamma f32 0 = inf
        lgamma f32 -1 = inf
        lgamma f32 1 = 0
        sigmoid f32 0 = 0.5
        sigmoid f32 100 = 1
        sigmoid f32 -104 = 0
        sigmoid f32 inf = 1
        sigmoid f32 -inf = 0
        sigmoid f32 nan = nan
        tanh f32 0 = 0
        tanh f32 -0.0 = -0.0
        tanh f32 20 = 1
        tanh f32 -inf = -1
        tanh f32 nan = nan
    ",
    );
}

#[test]
fn elementary_functions_at_plain_values() {
    hold(
        Domain::Ieee,
        1,
        "
        atan2 f32 0 -1 = pi
        atan2 f32 -0.0 -1 = -pi
        atan2 f32 1 0 = 1.5707963267948966
        atan2 f32 inf inf = 0.7853981633974483
        atan2 f32 inf -inf = 2.356194490192345
        erf f32 1 = 0.8427007929497149
        exp f64 1 = 2.718281828459045
        log f64 10 = 2.302585092994046
        log10 f64 1000 = 3
        log2 f64 8 = 3
        pow f64 2 0.5 = 1.4142135623730951
        sinh f64 1 = 1.1752011936438014
        asinh f64 1 = 0.881373587019543
        cosh f64 1 = 1.5430806348152437
        acosh f64 2 = 1.3169578969248166
        atanh f64 0.5 = 0.5493061443340549
        erfc f64 2 = 0.004677734981047266
        lgamma f64 5 = 3.1780538303479458
        exp2 f64 0.5 = 1.4142135623730951
        rsqrt f64 2 = 0.7071067811865476
        hypot f64 3 4 = 5
        sigmoid f64 1 = 0.7310585786300049
    ",
    );
}

#[test]
fn narrow_floats() {
    hold(
        Domain::Ieee,
        0,
        "
        add f16 0.00048828125 1.00048828125 = 1
        add f16 60000 60000 = inf
        add bf16 256 1 = 256
        mul f16 1e-7 0.5 = 5.9604645e-8
        div f16 6e-8 4 = 0
        exp bf16 0.01 = 1.0078125
    ",
    );
}
