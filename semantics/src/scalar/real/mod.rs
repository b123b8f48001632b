//! Functions of exact values. The undefined value never arrives here: the caller has
//! absorbed it.
//!
//! Division by zero, a logarithm or root of a negative number, `inf - inf` and
//! `0 * inf` are undefined. Enclosures are rounded outward, by one step where the
//! `f64` operation rounds correctly and by four units of the last place where `libm`
//! computes it (its worst error is below three). Where an
//! enclosure straddles the edge of a function's domain the answer is
//! [`Fault::Undecided`], never a guess.

pub(super) mod arith;
pub(super) mod division;
pub(super) mod elementary;
pub(super) mod power;

use std::cmp::Ordering;

use super::{Exact, Fault};

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn undecided<T>(what: impl Into<String>) -> Result<T> {
    Err(Fault::Undecided(what.into()))
}

/// Sign of a value; undecided where an enclosure contains zero.
fn signum(x: &Exact) -> Result<Ordering> {
    x.signum().map_or_else(|| undecided(format!("the sign of {x}")), Ok)
}

/// Ends of a value; `libm` may be asked at infinite ones.
fn ends(x: &Exact) -> (f64, f64) {
    x.bounds().unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
}

/// An enclosure of what `libm` computed between two values. Eight steps are four units
/// of the last place also where the computed value lies across a power of two.
fn widened(lo: f64, hi: f64) -> Exact {
    let down = (0..8).fold(lo, |x, _| x.next_down());
    let up = (0..8).fold(hi, |x, _| x.next_up());
    Exact::interval(down, up)
}

/// The part of an enclosure inside the range of the function.
fn within(x: Exact, least: f64, most: f64) -> Exact {
    match x {
        Exact::Interval(lo, hi) => Exact::interval(lo.max(least), hi.min(most)),
        other => other,
    }
}

pub(super) fn less(x: &Exact, y: &Exact) -> Result<bool> {
    x.less(y).map_or_else(|| undecided(format!("whether {x} < {y}")), Ok)
}

pub(super) fn less_equal(x: &Exact, y: &Exact) -> Result<bool> {
    y.less(x).map_or_else(|| undecided(format!("whether {x} <= {y}")), |greater| Ok(!greater))
}

pub(super) fn equal(x: &Exact, y: &Exact) -> Result<bool> {
    x.same(y).map_or_else(|| undecided(format!("whether {x} == {y}")), Ok)
}

/// Floats have neighbours, real numbers have none.
pub(super) fn next_after(_: &Exact, _: &Exact) -> Result<Exact> {
    undecided("`nextafter` has no meaning over the reals")
}
