//! The backend's own functions on single elements: every function of the scalar table from
//! floats to floats, of `f32` ([`single`]) and `f64` ([`double`]).
//!
//! * Each function takes all of its arguments: NaN, infinities, both zeros and subnormal
//!   numbers give what the scalar table gives.
//! * Each has the same bits on every machine and with any target features: nothing but
//!   arithmetic that IEEE 754 rounds correctly, fused where `mul_add` says so, and integer
//!   operations on the bits.
//! * Each is written with selections in place of branches and is inlined always, so that a
//!   plain loop over a slice becomes vector code inside a function with the features `avx2`
//!   and `fma`. `NAME_block` are those that leave rare arguments to a slow form.
//! * How far each is from the true value is stated ([`ulp_bound`]) and measured by tests.
//!   The figures at the functions of `f32` are of all 2^32 arguments (exponentials and
//!   logarithms but `log1p`) or of every 61st, those of `f64` of some 30,000 each, many
//!   where errors are great (`tests/data/true_values.py`). Bounds leave room beyond.
//!
//! Coefficients are minimax fits of our own, with no eye on anybody's tables: `fit.py`
//! prints them. Where a method is another's, its function says whose.
//!
//! `f16` and `bf16` are computed in `f32` and rounded once, but for `floor_divide` and
//! `trunc_divide`, which round within (they take that as an argument), and `nextafter`.

mod arithmetic;
mod block;
mod bounds;
pub mod double;
pub mod single;
#[cfg(test)]
mod tests;

pub use bounds::ulp_bound;
