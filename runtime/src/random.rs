//! Random numbers that are the same on every machine: Philox4x32-10.
//!
//! The generator is a function of a key (the seed), a stream and a position, so any
//! element can be drawn alone and in any order. Source: Salmon et al., "Parallel random
//! numbers: as easy as 1, 2, 3", SC 2011; the tests hold it against its known answers.
//!
//! Element `i` of a tensor, in row-major order, is made from the 64-bit word `i` of its
//! stream: block `i / 2` gives two words, each its lower 32 bits first.

use rtv_semantics::dtype::DType;

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The four words of one block.
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let left = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let right = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        counter = [
            (right >> 32) as u32 ^ counter[1] ^ key[0],
            right as u32,
            (left >> 32) as u32 ^ counter[3] ^ key[1],
            left as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// A sequence of random words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    pub seed: u64,
    /// Streams of one seed are independent.
    pub number: u64,
}

impl Stream {
    /// The 64-bit word at position `i`.
    pub fn word(self, i: u64) -> u64 {
        let pair = self.pair(i / 2);
        pair[(i % 2) as usize]
    }

    /// Both words of block `block`.
    fn pair(self, block: u64) -> [u64; 2] {
        let counter = [low(block), high(block), low(self.number), high(self.number)];
        let [a, b, c, d] = philox(counter, [low(self.seed), high(self.seed)]);
        [u64::from(b) << 32 | u64::from(a), u64::from(d) << 32 | u64::from(c)]
    }

    /// Uniform in `[0, 1)`: a multiple of `2^-p`, where the dtype has `p` bits of
    /// precision, so that no rounding reaches 1.
    pub fn uniform(self, i: u64, dtype: DType) -> f64 {
        let bits = dtype.precision().unwrap_or(53);
        (self.word(i) >> (64 - bits)) as f64 / (1u64 << bits) as f64
    }

    /// Standard normal by Box and Muller in f64: block `k` makes elements `2k` (cosine)
    /// and `2k + 1` (sine).
    pub fn normals(self, block: u64) -> [f64; 2] {
        let [first, second] = self.pair(block);
        // In (0, 1], so that the logarithm is finite.
        let u = ((first >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let angle = 2.0 * std::f64::consts::PI * ((second >> 11) as f64 / (1u64 << 53) as f64);
        let radius = libm::sqrt(-2.0 * libm::log(u));
        [radius * libm::cos(angle), radius * libm::sin(angle)]
    }

    /// Uniform among the integers `lo..hi`, by the upper half of a product; `lo < hi`.
    pub fn integer(self, i: u64, lo: i64, hi: i64) -> i64 {
        let range = (i128::from(hi) - i128::from(lo)).max(1) as u128;
        let offset = (u128::from(self.word(i)) * range) >> 64;
        (i128::from(lo) + offset as i128) as i64
    }
}

fn low(x: u64) -> u32 {
    x as u32
}

fn high(x: u64) -> u32 {
    (x >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that come with the authors' Random123 library.
    #[test]
    fn philox_gives_the_published_answers() {
        let ones = u32::MAX;
        let cases = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([ones; 4], [ones; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, answer) in cases {
            assert_eq!(philox(counter, key), answer);
        }
    }

    #[test]
    fn uniform_stays_below_one_and_is_representable() {
        let stream = Stream { seed: 1, number: 0 };
        for i in 0..10_000 {
            let x = stream.uniform(i, DType::F16);
            assert!((0.0..1.0).contains(&x) && half::f16::from_f64(x).to_f64() == x);
        }
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let stream = Stream { seed: 7, number: 3 };
        let n = 100_000u64;
        let draws: Vec<f64> = (0..n / 2).flat_map(|block| stream.normals(block)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn integers_cover_their_range_and_no_more() {
        let stream = Stream { seed: 7, number: 0 };
        let mut seen = [0u32; 5];
        for i in 0..1000 {
            seen[(stream.integer(i, -2, 3) + 2) as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
        let wide: Vec<i64> = (0..64).map(|i| stream.integer(i, i64::MIN, i64::MAX)).collect();
        assert!(wide.iter().any(|x| *x < 0) && wide.iter().any(|x| *x > 0));
        assert_eq!(stream.integer(5, 4, 5), 4);
    }

    #[test]
    fn streams_and_seeds_differ() {
        let word = |seed, number| Stream { seed, number }.word(0);
        assert!(word(0, 0) != word(1, 0) && word(0, 0) != word(0, 1));
        assert!(word(1 << 32, 0) != word(0, 0) && word(0, 1 << 32) != word(0, 0));
    }
}
