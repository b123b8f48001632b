//! Places in sorted order.

use super::Strip;
use super::stored::{Stored, Wide};

/// The place of each element when its row is sorted: stably, NaN after all numbers, or
/// before them where the row descends.
///
/// # Safety
/// The strips have as many elements and lanes; places are i64.
pub unsafe fn places<T: Stored>(out: Strip, x: Strip, descending: bool, (extent, lanes): (usize, usize)) {
    let mut keys: Vec<(u64, usize)> = Vec::with_capacity(extent);
    for lane in 0..lanes {
        keys.clear();
        keys.extend((0..extent).map(|at| {
            // SAFETY: the caller's.
            let key = unsafe { x.get::<T>(at, lane) }.key();
            (if descending { !key } else { key }, at)
        }));
        // No two are equal, so this is stable.
        keys.sort_unstable();
        for (place, (_, at)) in keys.iter().enumerate() {
            // SAFETY: as above.
            unsafe { out.set::<i64>(*at, lane, place as i64) };
        }
    }
}
