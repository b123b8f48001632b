//! Work on two threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::cli::STACK_BYTES;

/// What a function makes of each, in their order.
pub fn on_two_threads<T: Sync, R: Send>(all: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if all.len() < 2 {
        return all.iter().map(each).collect();
    }
    let next = AtomicUsize::new(0);
    let some = || {
        let next = || {
            let place = next.fetch_add(1, Ordering::Relaxed);
            all.get(place).map(|one| (place, each(one)))
        };
        std::iter::from_fn(next).collect::<Vec<_>>()
    };
    let mut made = thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        let other = builder.spawn_scoped(scope, some);
        let mut own = some();
        // Where no other thread could be had, this one has done all.
        match other.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(mut others)) => own.append(&mut others),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => {}
        }
        own
    });
    made.sort_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, made)| made).collect()
}
