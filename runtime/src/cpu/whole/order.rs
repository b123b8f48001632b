//! Places in sorted order.

use std::ops::Range;
use std::sync::OnceLock;

use crate::cpu::pool::Pool;

use super::Strip;
use super::stored::{Stored, Wide};

/// An element, by what it is compared by and where it is: no two are equal, so that there is
/// one order, which is stable.
type Key = (u64, usize);

/// Elements of each sorted piece that say where the order of all may be cut.
const SAMPLES: usize = 64;

/// The place of each element when its row is sorted: stably, NaN after all numbers, or
/// before them where the row descends. By all threads of a pool, if there is one.
///
/// # Safety
/// The strips have as many elements and lanes; places are i64.
pub unsafe fn places<T: Stored>(
    out: Strip,
    x: Strip,
    descending: bool,
    (extent, lanes): (usize, usize),
    pool: Option<&Pool>,
) {
    for lane in 0..lanes {
        let key = |at: usize| {
            // SAFETY: the caller's.
            let key = unsafe { x.get::<T>(at, lane) }.key();
            (if descending { !key } else { key }, at)
        };
        let put = |keys: &[Key], first: usize| {
            for (place, (_, at)) in keys.iter().enumerate() {
                // SAFETY: as above; each is the key of one element.
                unsafe { out.set::<i64>(*at, lane, (first + place) as i64) };
            }
        };
        match pool {
            Some(pool) => sort_together(extent, &key, &put, pool),
            None => {
                let mut keys: Vec<Key> = (0..extent).map(key).collect();
                keys.sort_unstable();
                put(&keys, 0);
            }
        }
    }
}

/// Sorts pieces of the keys, then takes what belongs together from all of them; `put` gets
/// keys in order, from a place on.
fn sort_together(
    extent: usize,
    key: &(dyn Fn(usize) -> Key + Sync),
    put: &(dyn Fn(&[Key], usize) + Sync),
    pool: &Pool,
) {
    let parts = 2 * pool.threads();
    let sorted: Vec<OnceLock<Vec<Key>>> = (0..parts).map(|_| OnceLock::new()).collect();
    pool.run(parts, &|part| {
        let mut keys: Vec<Key> = (extent * part / parts..extent * (part + 1) / parts).map(key).collect();
        keys.sort_unstable();
        let _ = sorted[part].set(keys);
    });
    let pieces = sorted.into_iter().map(|keys| keys.into_inner().expect("invariant: each task ran once"));
    let pieces: Vec<Vec<Key>> = pieces.collect();
    let sampled = |keys: &Vec<Key>| {
        let at = |number: usize| keys.get(keys.len() * number / SAMPLES).copied();
        (0..SAMPLES).filter_map(at).collect::<Vec<Key>>()
    };
    let mut samples: Vec<Key> = pieces.iter().flat_map(sampled).collect();
    samples.sort_unstable();
    // The keys of a piece before those of a part.
    let before = |keys: &Vec<Key>, part: usize| match samples.get(samples.len() * part / parts) {
        Some(_) if part == 0 => 0,
        Some(cut) => keys.partition_point(|key| key < cut),
        None => keys.len(),
    };
    pool.run(parts, &|part| {
        let ranges =
            pieces.iter().map(|keys| &keys[Range { start: before(keys, part), end: before(keys, part + 1) }]);
        let mut keys = ranges.collect::<Vec<&[Key]>>().concat();
        // This way of sorting merges what is in order already.
        keys.sort();
        put(&keys, pieces.iter().map(|keys| before(keys, part)).sum());
    });
}
