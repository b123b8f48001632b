//! Where two sides part before their results do.
//!
//! A value inside the left side has a counterpart inside the right one if both are called
//! the same by a `let`, or if each side applies its operator once. The first that differs
//! from its counterpart is shown beside a counterexample. It explains and decides nothing:
//! a right rewriting may well have other values on its way.

use crate::compare::difference;
use crate::dataflow::Step;
use crate::verdict::Contract;
use rtv_semantics::program::Mode;
use std::sync::Arc;

/// The first step of the left side, in the order of its computation, that differs from its
/// counterpart, and that one. The results themselves are no news.
pub fn first_apart<'s>(
    left: &'s [Step],
    right: &'s [Step],
    mode: Mode,
    directed: bool,
) -> Option<(&'s Step, &'s Step)> {
    let inner = left.iter().filter(|step| !step.last);
    let pairs = inner.filter_map(|step| Some((step, counterpart(step, left, right)?)));
    pairs.into_iter().find(|(step, other)| !other.last && differ(step, other, mode, directed))
}

fn counterpart<'s>(step: &Step, left: &[Step], right: &'s [Step]) -> Option<&'s Step> {
    let by = |name: fn(&Step) -> Option<&Arc<str>>| {
        let wanted = name(step)?;
        only(left, wanted, name).and_then(|_| only(right, wanted, name))
    };
    by(|step| step.bound.as_ref()).or_else(|| by(|step| step.operator.as_ref()))
}

/// The step of that name, if there is one and no other.
fn only<'s>(steps: &'s [Step], wanted: &str, name: fn(&Step) -> Option<&Arc<str>>) -> Option<&'s Step> {
    let mut named = steps.iter().filter(|step| name(step).is_some_and(|name| **name == *wanted));
    named.next().filter(|_| named.next().is_none())
}

/// Whether both have values of one type that are not the same.
fn differ(left: &Step, right: &Step, mode: Mode, directed: bool) -> bool {
    let (Ok(left), Ok(right)) = (&left.value, &right.value) else { return false };
    let found = difference(left, right, mode, directed);
    found.is_some_and(|found| found.contract == Contract::Value)
}
