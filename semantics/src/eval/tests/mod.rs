//! The evaluator against direct loops, and its errors and limits.

mod build;
mod errors;
mod exact;
mod loops;
mod meaning;
mod sharing;
