//! Giving up work from outside: a flag that long walks over terms look at.
//!
//! A time limit can be checked between the steps of a claim, but a step that walks a
//! shared term as a tree has no end worth waiting for. So every look at a term's form
//! counts, and now and then reads the flag of its thread; a raised flag unwinds to
//! [`unless`], as a panic does but without its message. Nothing of the work is left but
//! what the caller held.
//!
//! Invariant: without a flag nothing here has an effect, so results do not depend on it.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls of [`checkpoint`] for each look at the flag.
const STRIDE: u32 = 1 << 10;

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The work was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

/// Unwinds to the nearest [`unless`] if its flag is raised.
#[inline]
pub fn checkpoint() {
    CALLS.with(|calls| {
        calls.set(calls.get().wrapping_add(1));
        if calls.get().is_multiple_of(STRIDE) {
            look();
        }
    });
}

#[cold]
fn look() {
    let raised = FLAG.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)));
    if raised {
        resume_unwind(Box::new(Cancelled));
    }
}

/// The flag of this thread, to be handed to threads that share its work.
pub(crate) fn flag() -> Option<Arc<AtomicBool>> {
    FLAG.with_borrow(Clone::clone)
}

/// Does `work`, until the flag is raised.
///
/// # Errors
/// When it was raised before the work was done. What `work` was changing then is in the
/// state it was left in.
pub fn unless<T>(raised: Option<Arc<AtomicBool>>, work: impl FnOnce() -> T) -> Result<T, Cancelled> {
    let outer = FLAG.replace(raised);
    let done = catch_unwind(AssertUnwindSafe(work));
    FLAG.set(outer);
    done.map_err(|why| match why.downcast::<Cancelled>() {
        Ok(cancelled) => *cancelled,
        Err(panic) => resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forever() {
        loop {
            checkpoint();
        }
    }

    #[test]
    fn a_raised_flag_ends_the_work() {
        let flag = Arc::new(AtomicBool::new(true));
        assert_eq!(unless(Some(flag.clone()), forever), Err(Cancelled));
        // An inner one that is not raised hides it, and gives it back.
        let nested = unless(Some(flag), || {
            assert_eq!(unless(Some(Arc::default()), || (0..5000).for_each(|_| checkpoint())), Ok(()));
            forever();
        });
        assert_eq!(nested, Err(Cancelled));
    }

    #[test]
    fn without_a_flag_nothing_ends() {
        assert_eq!(unless(None, || (0..5000).for_each(|_| checkpoint())), Ok(()));
    }

    #[test]
    fn a_panic_stays_a_panic() {
        let caught = catch_unwind(|| unless(None, || panic!("a fault")));
        assert!(caught.is_err_and(|why| why.downcast_ref::<&str>() == Some(&"a fault")));
    }
}
