//! Fork and join: numbered tasks, taken by the caller and by threads that wait for work.
//!
//! Which thread takes a task says nothing about its result. Each has a share of its own, of
//! tasks that follow each other: so in the next job, or the next run, it finds in the caches
//! of its processor what it left there. One that is done takes from the end of the others'
//! shares. The caller works too and waits only for threads that have joined: one that the
//! system does not run costs nothing.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread;

use super::settings::Settings;

/// Turns of waiting before a thread sleeps.
const SPINS: usize = 20_000;
/// Set in [`Shared::gate`] while threads may join.
const OPEN: usize = 1 << 62;

struct Job<'j> {
    work: &'j (dyn Fn(usize) + Sync),
    panic: Mutex<Option<Box<dyn std::any::Any + Send>>>,
}

/// The tasks that are left of a share: the first of them, and in the upper half the one
/// after the last. On a line of its own, since its thread looks at it at each task.
#[derive(Default)]
#[repr(align(64))]
struct Share(AtomicU64);

impl Share {
    fn set(&self, start: u32, end: u32) {
        self.0.store(u64::from(end) << 32 | u64::from(start), Ordering::Relaxed);
    }

    /// Takes a task from one of its ends, if any is left.
    fn take(&self, last: bool) -> Option<usize> {
        let bounds = |left: u64| (left as u32, (left >> 32) as u32);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            let (start, end) = bounds(left);
            (start < end).then(|| if last { left - (1 << 32) } else { left + 1 })
        });
        let (start, end) = bounds(taken.ok()?);
        Some(if last { end - 1 } else { start } as usize)
    }
}

#[derive(Default)]
struct Shared {
    /// What is left of the job, for each thread; the first is the caller's.
    shares: Box<[Share]>,
    /// `OPEN`, plus the number of threads inside the job.
    gate: AtomicUsize,
    job: AtomicPtr<Job<'static>>,
    /// Counts jobs: what a sleeping thread waits to see change.
    jobs: AtomicUsize,
    sleepers: AtomicUsize,
    sleep: Mutex<()>,
    wake: Condvar,
}

/// Threads that wait for work. One job runs at a time; a job started inside another, or
/// beside it, runs on its caller alone.
pub struct Pool {
    shared: Arc<Shared>,
    threads: usize,
    busy: Mutex<()>,
}

impl Pool {
    /// A pool of this many threads, the caller among them.
    pub fn new(threads: usize) -> Pool {
        let shares = (0..threads.max(1)).map(|_| Share::default()).collect();
        let shared = Arc::new(Shared { shares, ..Shared::default() });
        for number in 1..threads.max(1) {
            let shared = shared.clone();
            let builder = thread::Builder::new().name(format!("rtv-{number}"));
            // A thread that does not start is one less: results do not depend on it.
            drop(builder.spawn(move || wait_for_work(&shared, number)));
        }
        Pool { shared, threads: threads.max(1), busy: Mutex::new(()) }
    }

    /// The pool of this process: as many threads as `RTV_THREADS` says, or as there are
    /// processors.
    pub fn global() -> &'static Pool {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(|| {
            let there = || thread::available_parallelism().map_or(1, usize::from);
            Pool::new(Settings::known().threads.unwrap_or_else(there))
        })
    }

    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Does `work(0)` to `work(tasks - 1)`, each once.
    ///
    /// # Panics
    /// When a task did.
    pub fn run(&self, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        let alone = |range: std::ops::Range<usize>| range.for_each(work);
        let count = match u32::try_from(tasks) {
            Ok(count) if count > 1 && self.threads > 1 => u64::from(count),
            _ => return alone(0..tasks),
        };
        let Ok(_busy) = self.busy.try_lock() else { return alone(0..tasks) };
        let job = Job { work, panic: Mutex::new(None) };
        let shared = &*self.shared;
        let cut = |number: usize| (count * number as u64 / self.threads as u64) as u32;
        for (number, share) in shared.shares.iter().enumerate() {
            share.set(cut(number), cut(number + 1));
        }
        shared.job.store((&raw const job).cast_mut().cast(), Ordering::Relaxed);
        shared.gate.store(OPEN, Ordering::Release);
        shared.jobs.fetch_add(1, Ordering::SeqCst);
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            drop(shared.sleep.lock());
            shared.wake.notify_all();
        }
        take_tasks(&job, &shared.shares, 0);
        // Nobody joins any more; those inside still hold the job.
        shared.gate.fetch_and(!OPEN, Ordering::AcqRel);
        while shared.gate.load(Ordering::Acquire) != 0 {
            std::hint::spin_loop();
        }
        let panic = job.panic.lock().unwrap_or_else(|poison| poison.into_inner()).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

/// Does the tasks of a share, then what is left of the others.
fn take_tasks(job: &Job, shares: &[Share], own: usize) {
    let done = catch_unwind(AssertUnwindSafe(|| {
        for at in 0..shares.len() {
            while let Some(task) = shares[(own + at) % shares.len()].take(at > 0) {
                (job.work)(task);
            }
        }
    }));
    if let Err(panic) = done {
        shares.iter().for_each(|share| share.set(0, 0));
        *job.panic.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(panic);
    }
}

/// Joins the job, if one is open: then it stays until this thread leaves it.
fn join(shared: &Shared, number: usize) -> bool {
    let mut gate = shared.gate.load(Ordering::Acquire);
    while gate & OPEN != 0 {
        match shared.gate.compare_exchange_weak(gate, gate + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // SAFETY: the caller of the job waits until the gate counts nobody.
                let job = unsafe { &*shared.job.load(Ordering::Relaxed) };
                take_tasks(job, &shared.shares, number);
                shared.gate.fetch_sub(1, Ordering::AcqRel);
                return true;
            }
            Err(now) => gate = now,
        }
    }
    false
}

fn wait_for_work(shared: &Shared, number: usize) {
    let mut seen = shared.jobs.load(Ordering::SeqCst);
    // The job that made the thread start may be open already.
    join(shared, number);
    loop {
        let mut spins = 0;
        while shared.jobs.load(Ordering::SeqCst) == seen {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
                continue;
            }
            let guard = shared.sleep.lock().unwrap_or_else(|poison| poison.into_inner());
            shared.sleepers.fetch_add(1, Ordering::SeqCst);
            let asleep = shared.wake.wait_while(guard, |()| shared.jobs.load(Ordering::SeqCst) == seen);
            shared.sleepers.fetch_sub(1, Ordering::SeqCst);
            drop(asleep);
        }
        seen = shared.jobs.load(Ordering::SeqCst);
        join(shared, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_one(count: &AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn each_task_is_done_once() {
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads);
            for tasks in [0, 1, 2, 3, 100, 1000] {
                let counts: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
                pool.run(tasks, &|task| add_one(&counts[task]));
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn a_share_is_taken_from_both_ends() {
        let share = Share::default();
        share.set(4, 8);
        let taken = [false, true, true, false, false, true].map(|last| share.take(last));
        assert_eq!(taken, [Some(4), Some(7), Some(6), Some(5), None, None]);
    }

    #[test]
    fn a_job_inside_a_job_is_done_too() {
        let (pool, count) = (Pool::new(3), AtomicUsize::new(0));
        pool.run(4, &|_| pool.run(5, &|_| add_one(&count)));
        assert_eq!(count.load(Ordering::Relaxed), 20);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let pool = Pool::new(2);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.run(10, &|task| assert!(task != 7, "task seven"));
        }));
        assert!(panic.is_err());
        let count = AtomicUsize::new(0);
        pool.run(10, &|_| add_one(&count));
        assert_eq!(count.load(Ordering::Relaxed), 10);
    }
}
