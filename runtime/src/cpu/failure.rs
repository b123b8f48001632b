//! Where a run failed first.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::loops::SiteId;

/// Where a run failed first: kernels run in order, and within one the place counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Failure {
    pub place: u64,
    pub site: SiteId,
    pub value: i64,
}

/// The first failure that any thread met.
#[derive(Default)]
pub struct Failures {
    any: AtomicBool,
    first: Mutex<Option<Failure>>,
}

impl Failures {
    #[cold]
    pub fn report(&self, failure: Failure) {
        let mut first = self.first.lock().unwrap_or_else(|poison| poison.into_inner());
        if first.is_none_or(|known| failure < known) {
            *first = Some(failure);
        }
        self.any.store(true, Ordering::Release);
    }

    pub fn first(&self) -> Option<Failure> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        *self.first.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}
