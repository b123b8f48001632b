//! The time one claim has.

use rtv_semantics::cancel::{Cancelled, unless};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Raises a flag when the time is over, if there is a limit.
pub struct Deadline {
    started: Instant,
    limit: Option<Duration>,
    over: Arc<AtomicBool>,
    /// The watching thread ends with it.
    _watched: Sender<()>,
}

impl Deadline {
    /// Time begins to run.
    pub fn after(limit: Option<Duration>) -> Deadline {
        let (sender, ended) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        if let Some(limit) = limit {
            let over = over.clone();
            let watch = move || {
                if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    over.store(true, Ordering::Relaxed);
                }
            };
            thread::Builder::new().spawn(watch).expect("invariant: the system can start a thread");
        }
        Deadline { started: Instant::now(), limit, over, _watched: sender }
    }

    /// When time is over.
    pub fn at(&self) -> Option<Instant> {
        self.limit.and_then(|limit| self.started.checked_add(limit))
    }

    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Does `work`, unless time ends before.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> Result<T, Cancelled> {
        if self.is_over() { Err(Cancelled) } else { unless(Some(self.over.clone()), work) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtv_semantics::cancel::checkpoint;

    #[test]
    fn work_without_end_ends_with_the_time() {
        let deadline = Deadline::after(Some(Duration::from_millis(20)));
        let forever = || {
            loop {
                checkpoint();
            }
        };
        assert_eq!(deadline.within(forever), Err::<(), _>(Cancelled));
        assert_eq!(deadline.within(|| 1), Err(Cancelled));
    }

    #[test]
    fn without_a_limit_time_never_ends() {
        let deadline = Deadline::after(None);
        assert_eq!((deadline.at(), deadline.within(|| 1)), (None, Ok(1)));
    }
}
