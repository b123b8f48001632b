//! Where arrays lie in memory: places in one arena, by their lifetimes.
//!
//! An array lives from the step that writes it to the last step that reads it. Two that
//! live at one time have disjoint places, but for a result that takes the place of what
//! its step reads for the last time, where the step allows it. [`check`] holds a plan
//! against these words, without a line of what makes it.

use std::collections::BTreeMap;

use crate::loops::ArrayId;

/// What a step reads and writes.
#[derive(Clone, Default, Debug)]
pub struct Use {
    pub reads: Vec<ArrayId>,
    pub writes: Vec<ArrayId>,
    /// Results that may take the place of an array: it is read only where it was, and
    /// before it is written.
    pub in_place: Vec<(ArrayId, ArrayId)>,
}

/// A part of the arena, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub offset: usize,
    pub bytes: usize,
}

#[derive(Clone, Default, Debug)]
pub struct Plan {
    pub places: BTreeMap<ArrayId, Place>,
    pub bytes: usize,
}

const ALIGN: usize = 64;

/// Places for the arrays that `bytes` names, best fit first.
pub fn plan(steps: &[Use], bytes: &BTreeMap<ArrayId, usize>) -> Plan {
    let mut last: BTreeMap<ArrayId, usize> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        for array in step.reads.iter().chain(&step.writes) {
            last.insert(*array, at);
        }
    }
    let mut plan = Plan::default();
    let mut free: Vec<Place> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let mut given: Vec<ArrayId> = Vec::new();
        for array in step.writes.iter().filter(|array| bytes.contains_key(array)) {
            let size = bytes[array].max(1).next_multiple_of(ALIGN);
            let taken = step.in_place.iter().find(|(new, old)| {
                new == array
                    && last.get(old) == Some(&at)
                    && !given.contains(old)
                    && plan.places.get(old).is_some_and(|place| place.bytes == size)
            });
            let place = match taken {
                Some((_, old)) => {
                    given.push(*old);
                    plan.places[old]
                }
                None => take(&mut free, &mut plan.bytes, size),
            };
            plan.places.insert(*array, place);
        }
        for array in step.reads.iter().chain(&step.writes) {
            let ends = last.get(array) == Some(&at) && !given.contains(array);
            if ends && let Some(place) = plan.places.get(array).copied() {
                given.push(*array);
                give_back(&mut free, place);
            }
        }
    }
    plan
}

/// The smallest free part that is large enough, or new bytes at the end.
fn take(free: &mut Vec<Place>, end: &mut usize, bytes: usize) -> Place {
    let fitting = free.iter().enumerate().filter(|(_, place)| place.bytes >= bytes);
    if let Some((at, _)) = fitting.min_by_key(|(_, place)| place.bytes) {
        let place = free[at];
        if place.bytes == bytes {
            free.remove(at);
        } else {
            free[at] = Place { offset: place.offset + bytes, bytes: place.bytes - bytes };
        }
        return Place { offset: place.offset, bytes };
    }
    let offset = *end;
    *end += bytes;
    Place { offset, bytes }
}

fn give_back(free: &mut Vec<Place>, place: Place) {
    free.push(place);
    free.sort_by_key(|place| place.offset);
    let mut joined: Vec<Place> = Vec::new();
    for place in free.drain(..) {
        match joined.last_mut() {
            Some(before) if before.offset + before.bytes == place.offset => before.bytes += place.bytes,
            _ => joined.push(place),
        }
    }
    *free = joined;
}

/// What is wrong with a plan: runs through the steps and keeps, for each byte range,
/// whose it is.
///
/// # Errors
/// When an array that is still read is overwritten, or lies outside the arena.
pub fn check(plan: &Plan, steps: &[Use], bytes: &BTreeMap<ArrayId, usize>) -> Result<(), String> {
    let read_from =
        |array: &ArrayId, from: usize| steps[from..].iter().any(|step| step.reads.contains(array));
    let mut alive: Vec<ArrayId> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        for read in step.reads.iter().filter(|array| bytes.contains_key(array)) {
            if !alive.contains(read) {
                return Err(format!("step {at} reads {read:?}, which is not there"));
            }
        }
        for write in step.writes.iter().filter(|array| bytes.contains_key(array)) {
            let Some(place) = plan.places.get(write) else {
                return Err(format!("{write:?} has no place"));
            };
            if place.bytes < bytes[write]
                || place.offset + place.bytes > plan.bytes
                || place.offset % ALIGN != 0
            {
                return Err(format!("{write:?} does not fit its place"));
            }
            for other in &alive {
                let that = plan.places[other];
                let apart =
                    that.offset + that.bytes <= place.offset || place.offset + place.bytes <= that.offset;
                let allowed = step.in_place.contains(&(*write, *other)) && that == *place;
                let needed = read_from(other, at + 1) || step.writes.contains(other);
                let read_now = step.reads.contains(other);
                if !apart && (needed || (read_now && !allowed)) {
                    return Err(format!("step {at} writes {write:?} over {other:?}, which is still needed"));
                }
            }
        }
        alive.extend(step.writes.iter().filter(|array| bytes.contains_key(array)));
        alive.retain(|array| read_from(array, at + 1));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn a(number: u32) -> ArrayId {
        ArrayId(number)
    }

    fn sizes(of: &[(u32, usize)]) -> BTreeMap<ArrayId, usize> {
        of.iter().map(|(number, bytes)| (a(*number), *bytes)).collect()
    }

    fn step(reads: &[u32], writes: &[u32], in_place: &[(u32, u32)]) -> Use {
        Use {
            reads: reads.iter().copied().map(a).collect(),
            writes: writes.iter().copied().map(a).collect(),
            in_place: in_place.iter().map(|(new, old)| (a(*new), a(*old))).collect(),
        }
    }

    #[test]
    fn memory_serves_again() {
        let steps =
            [step(&[], &[0], &[]), step(&[0], &[1], &[]), step(&[1], &[2], &[]), step(&[2], &[], &[])];
        let bytes = sizes(&[(0, 100), (1, 100), (2, 100)]);
        let plan = plan(&steps, &bytes);
        assert_eq!(plan.bytes, 256);
        assert_eq!(check(&plan, &steps, &bytes), Ok(()));
    }

    #[test]
    fn a_result_takes_the_place_of_what_is_read_last() {
        let steps = [step(&[], &[0], &[]), step(&[0], &[1], &[(1, 0)]), step(&[1], &[], &[])];
        let bytes = sizes(&[(0, 100), (1, 100)]);
        let plan = plan(&steps, &bytes);
        assert_eq!((plan.bytes, plan.places[&a(0)]), (128, plan.places[&a(1)]));
        assert_eq!(check(&plan, &steps, &bytes), Ok(()));
    }

    #[test]
    fn what_is_read_later_keeps_its_place() {
        let steps = [step(&[], &[0], &[]), step(&[0], &[1], &[(1, 0)]), step(&[0, 1], &[], &[])];
        let bytes = sizes(&[(0, 100), (1, 100)]);
        let mut plan = plan(&steps, &bytes);
        assert_ne!(plan.places[&a(0)], plan.places[&a(1)]);
        let place = plan.places[&a(0)];
        plan.places.insert(a(1), place);
        assert!(check(&plan, &steps, &bytes).is_err());
    }

    proptest! {
        #[test]
        fn no_two_that_live_overlap(
            reads in prop::collection::vec(prop::collection::vec(0u32..12, 0..3), 1..12),
            lengths in prop::collection::vec(0usize..500, 12),
        ) {
            let mut steps = Vec::new();
            for (at, reads) in reads.iter().enumerate() {
                let before: Vec<u32> = reads.iter().copied().filter(|read| (*read as usize) < at).collect();
                let places: Vec<(u32, u32)> = before.iter().map(|old| (at as u32, *old)).collect();
                steps.push(step(&before, &[at as u32], &places));
            }
            let bytes = lengths.iter().enumerate().map(|(at, bytes)| (a(at as u32), *bytes)).collect();
            prop_assert_eq!(check(&plan(&steps, &bytes), &steps, &bytes), Ok(()));
        }
    }
}
