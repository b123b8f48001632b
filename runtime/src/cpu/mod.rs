//! The CPU backend.

pub mod math;
