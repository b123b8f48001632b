//! Small mistakes made on purpose: claims that become false are not proved, and
//! definitions that come to mean something else fail a test.
//!
//! A run of all tests takes a fixed sample. `RTV_MUTANTS=slice.rtl` takes every mutant of
//! the files whose path holds that text, `RTV_MUTANTS=.rtl` all there are; with
//! `--nocapture` the tables are shown.

mod operators;
mod siblings;

use std::sync::Mutex;
use std::thread;

use rtv_grammar::mutate::Mutant;

/// Terms are walked as deep as they are nested.
const STACK_BYTES: usize = 256 << 20;

/// Which mutants a run takes.
enum Share {
    /// One of so many.
    Sample(u64),
    /// All of the files whose path holds this.
    Of(String),
}

impl Share {
    fn asked(sample: u64) -> Share {
        std::env::var("RTV_MUTANTS").map_or(Share::Sample(sample), Share::Of)
    }

    fn takes(&self, path: &str, subject: &str, mutant: &Mutant) -> bool {
        match self {
            Share::Sample(of) => hash(&format!("{path} {subject} {}", mutant.change)).is_multiple_of(*of),
            Share::Of(part) => path.contains(part),
        }
    }

    fn is_sample(&self) -> bool {
        matches!(self, Share::Sample(_))
    }
}

/// FNV-1a: the sample is the same on every machine.
fn hash(text: &str) -> u64 {
    let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    // The low bits of FNV say little.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step) >> 17
}

/// Does the work on all processors, each with tools of its own, and gives the results in
/// the order of the work.
fn each<W: Sync, T: Send, R>(
    work: &[W],
    tools: impl Fn() -> T + Sync,
    task: impl Fn(&T, &W) -> R + Sync,
) -> Vec<R>
where
    R: Send,
{
    let next = Mutex::new(0..work.len());
    let done = Mutex::new(Vec::new());
    let worker = || {
        let tools = tools();
        loop {
            let at = next.lock().expect("no worker panics").next();
            let Some(at) = at else { return };
            let result = task(&tools, &work[at]);
            done.lock().expect("no worker panics").push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, |n| n.get()) {
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            builder.spawn_scoped(scope, worker).expect("a thread");
        }
    });
    let mut done = done.into_inner().expect("no worker panics");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
