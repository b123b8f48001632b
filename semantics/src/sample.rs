//! Seeded inputs: random, adversarial, and small enough to read.
//!
//! The stream is SplitMix64 and every step is integer or correctly rounded arithmetic
//! or `libm`, so a seed means the same tensor on every machine.

use std::f64::consts::TAU;

use crate::dtype::{Category, DType};
use crate::scalar::{Domain, Value};
use crate::tensor::{Tensor, TensorError, element_count};

/// What the elements of a sampled tensor are like.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Style {
    /// Whole numbers from -4 to 4 (0 to 4 for u8), so that float arithmetic is exact.
    SmallIntegers,
    /// Floats of the standard normal distribution; of integers the rounded triple.
    Normal,
    /// Values at the edges of the dtype, mixed with small integers.
    Specials,
    /// No two elements equal, as far as the dtype has enough small integers; shuffled.
    Distinct,
}

impl Style {
    pub const ALL: [Style; 4] = [Style::SmallIntegers, Style::Normal, Style::Specials, Style::Distinct];
}

/// A stream of random numbers fixed by its seed.
#[derive(Clone, Debug)]
pub struct Sampler {
    state: u64,
}

impl Sampler {
    pub fn new(seed: u64) -> Sampler {
        Sampler { state: seed }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In `0..bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// In `low..=high`, which must not be empty.
    pub fn integer(&mut self, low: i64, high: i64) -> i64 {
        let count = high.abs_diff(low) as u128 + 1;
        let offset = (u128::from(self.next_u64()) * count) >> 64;
        (i128::from(low) + offset as i128) as i64
    }

    /// In `[0, 1)`, a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of the standard normal distribution (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        radius * libm::cos(TAU * self.uniform())
    }

    /// One of the extents 0, 1, 1, 2, 3, 3, 4: where programs go wrong.
    pub fn size(&mut self) -> usize {
        [0, 1, 1, 2, 3, 3, 4][self.below(7)]
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Normally distributed elements of a float dtype.
    pub fn randn(&mut self, dtype: DType, shape: &[usize]) -> Result<Tensor, TensorError> {
        self.tensor(dtype, shape, Style::Normal)
    }

    /// Elements of a float dtype in `[low, high)` before rounding.
    pub fn uniform_tensor(
        &mut self,
        dtype: DType,
        shape: &[usize],
        low: f64,
        high: f64,
    ) -> Result<Tensor, TensorError> {
        let draw = |s: &mut Sampler| low + (high - low) * s.uniform();
        self.filled(dtype, shape, |s| Value::float(draw(s), dtype, Domain::Ieee))
    }

    /// Elements of an integer dtype in `low..=high`.
    pub fn integer_tensor(
        &mut self,
        dtype: DType,
        shape: &[usize],
        low: i64,
        high: i64,
    ) -> Result<Tensor, TensorError> {
        self.filled(dtype, shape, |s| Value::Int(s.integer(low, high)))
    }

    /// An IEEE tensor of the style.
    pub fn tensor(&mut self, dtype: DType, shape: &[usize], style: Style) -> Result<Tensor, TensorError> {
        let specials = specials(dtype);
        match style {
            Style::SmallIntegers => self.filled(dtype, shape, |s| s.small(dtype)),
            Style::Normal => self.filled(dtype, shape, |s| s.normal_value(dtype)),
            Style::Specials => self.filled(dtype, shape, |s| {
                let small = s.small(dtype);
                if s.below(2) == 0 { small } else { s.pick(&specials).cloned().unwrap_or(small) }
            }),
            Style::Distinct => {
                let count = element_count(shape).ok_or(TensorError::TooLarge)?;
                let mut values: Vec<Value> = (0..count).map(|k| numbered(dtype, k)).collect();
                self.shuffle(&mut values);
                Tensor::new(dtype, shape, values)
            }
        }
    }

    fn filled(
        &mut self,
        dtype: DType,
        shape: &[usize],
        mut draw: impl FnMut(&mut Sampler) -> Value,
    ) -> Result<Tensor, TensorError> {
        let count = element_count(shape).ok_or(TensorError::TooLarge)?;
        Tensor::new(dtype, shape, (0..count).map(|_| draw(self)).collect())
    }

    fn small(&mut self, dtype: DType) -> Value {
        let value = match dtype {
            DType::Bool => self.integer(0, 1),
            DType::U8 => self.integer(0, 4),
            _ => self.integer(-4, 4),
        };
        Value::small(value as i32, dtype, Domain::Ieee)
    }

    fn normal_value(&mut self, dtype: DType) -> Value {
        match dtype.category() {
            Category::Float => Value::float(self.normal(), dtype, Domain::Ieee),
            Category::Bool => Value::Bool(self.below(2) == 1),
            Category::Int => {
                let value = (3.0 * self.normal()).round() as i32;
                let value = if dtype == DType::U8 { value.abs() } else { value };
                Value::small(value, dtype, Domain::Ieee)
            }
        }
    }
}

/// The `k`-th of the small integers 0, 1, -1, 2, -2, ..; from 0 up for u8.
fn numbered(dtype: DType, k: usize) -> Value {
    // What the dtype represents exactly; beyond that the numbers start again.
    let count = match dtype.category() {
        Category::Bool => 2,
        Category::Int => 1usize << dtype.bits().min(31),
        Category::Float => 1usize << dtype.precision().unwrap_or(1).min(30),
    };
    let k = (k % count) as i32;
    let value = match dtype {
        DType::Bool | DType::U8 => k,
        // Signed integers reach one farther down than up: 0, -1, 1, -2, ..
        _ if k % 2 == 1 => -(k / 2) - 1,
        _ => k / 2,
    };
    Value::small(value, dtype, Domain::Ieee)
}

/// Values at which functions of a dtype are likely to differ.
pub fn specials(dtype: DType) -> Vec<Value> {
    let (Some((least, most)), false) = (dtype.int_range(), dtype == DType::Bool) else {
        return match dtype {
            DType::Bool => vec![Value::Bool(false), Value::Bool(true)],
            _ => float_specials(dtype),
        };
    };
    let mut all = vec![0, 1, -1, 2, -2, 7, least, least + 1, most, most - 1, most / 2 + 1];
    all.retain(|i| (least..=most).contains(i));
    all.into_iter().map(Value::Int).collect()
}

fn float_specials(dtype: DType) -> Vec<Value> {
    let (epsilon, tiny, subnormal, most) = match dtype {
        DType::F16 => (2f64.powi(-10), 2f64.powi(-14), 2f64.powi(-24), 65504.0),
        DType::BF16 => {
            let most = half::bf16::MAX.to_f64();
            (2f64.powi(-7), 2f64.powi(-126), 2f64.powi(-133), most)
        }
        DType::F32 => (2f64.powi(-23), 2f64.powi(-126), 2f64.powi(-149), f32::MAX.into()),
        _ => (f64::EPSILON, f64::MIN_POSITIVE, f64::from_bits(1), f64::MAX),
    };
    let positive = [
        0.0,
        1.0,
        0.5,
        1.5,
        2.5,
        1.0 + epsilon,
        1.0 - epsilon / 2.0,
        2.0 / epsilon,
        2.0 / epsilon + 2.0,
        88.0,
        tiny,
        tiny - subnormal,
        subnormal,
        most,
        most / 2.0,
        f64::INFINITY,
    ];
    let signed = positive.iter().flat_map(|x| [*x, -*x]);
    let all = signed.chain([f64::NAN]).map(|x| Value::float(x, dtype, Domain::Ieee));
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_fixed_by_its_seed() {
        // The published outputs of SplitMix64 for the seed 1234567.
        let mut sampler = Sampler::new(1234567);
        let got: Vec<u64> = (0..3).map(|_| sampler.next_u64()).collect();
        assert_eq!(got, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn every_style_fits_every_dtype_and_shape() {
        let mut sampler = Sampler::new(1);
        for dtype in DType::ALL {
            for style in Style::ALL {
                for shape in [&[][..], &[0, 3], &[5, 3], &[300]] {
                    let tensor = sampler.tensor(dtype, shape, style).expect("values of the dtype");
                    assert_eq!(tensor.shape(), shape);
                }
            }
            assert!(!specials(dtype).is_empty());
        }
    }

    #[test]
    fn distinct_elements_are_distinct() {
        let mut sampler = Sampler::new(3);
        for dtype in DType::ALL {
            let count = if dtype == DType::Bool { 2 } else { 256 };
            let tensor = sampler.tensor(dtype, &[count], Style::Distinct).expect("a tensor");
            let values: Vec<&Value> = tensor.values().collect();
            for (k, a) in values.iter().enumerate() {
                assert!(values[..k].iter().all(|b| a.same(b) == Some(false)), "{dtype} {a}");
            }
        }
    }

    #[test]
    fn integers_cover_their_range() {
        let mut sampler = Sampler::new(7);
        let drawn: std::collections::BTreeSet<i64> = (0..200).map(|_| sampler.integer(-2, 2)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [-2, -1, 0, 1, 2]);
        sampler.integer(i64::MIN, i64::MAX);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&sampler.uniform())));
        let mean = (0..4000).map(|_| sampler.normal()).sum::<f64>() / 4000.0;
        assert!(mean.abs() < 0.1, "{mean}");
    }
}
