//! Ctrl-C, and being asked to end: the first time is heard by the run, which keeps what it
//! has; the second ends the program where it stands.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

static HEARD: AtomicBool = AtomicBool::new(false);

/// What shells expect of a program that an interrupt ended.
const ENDED_BY_INTERRUPT: i32 = 130;

/// From now on interrupts are heard. Where the system does not allow that, they end the
/// program as they do anyway.
pub fn listen() {
    let _ = ctrlc::set_handler(|| {
        if HEARD.swap(true, Ordering::Relaxed) {
            process::exit(ENDED_BY_INTERRUPT);
        }
    });
}

pub fn heard() -> bool {
    HEARD.load(Ordering::Relaxed)
}
