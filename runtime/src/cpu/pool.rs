//! Fork and join: numbered tasks, taken by the caller and by threads that wait for work.
//!
//! Which thread takes a task says nothing about its result. The caller works too and
//! waits only for threads that have joined: one that the system does not run costs
//! nothing.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread;

use super::settings::Settings;

/// Turns of waiting before a thread sleeps.
const SPINS: usize = 20_000;
/// Set in [`Shared::gate`] while threads may join.
const OPEN: usize = 1 << 62;

struct Job<'j> {
    work: &'j (dyn Fn(usize) + Sync),
    next: AtomicUsize,
    tasks: usize,
    panic: Mutex<Option<Box<dyn std::any::Any + Send>>>,
}

#[derive(Default)]
struct Shared {
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
        let shared = Arc::new(Shared::default());
        for number in 1..threads.max(1) {
            let shared = shared.clone();
            let builder = thread::Builder::new().name(format!("rtv-{number}"));
            // A thread that does not start is one less: results do not depend on it.
            drop(builder.spawn(move || wait_for_work(&shared)));
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
        if tasks <= 1 || self.threads == 1 {
            return alone(0..tasks);
        }
        let Ok(_busy) = self.busy.try_lock() else { return alone(0..tasks) };
        let job = Job { work, next: AtomicUsize::new(0), tasks, panic: Mutex::new(None) };
        let shared = &*self.shared;
        shared.job.store((&raw const job).cast_mut().cast(), Ordering::Relaxed);
        shared.gate.store(OPEN, Ordering::Release);
        shared.jobs.fetch_add(1, Ordering::SeqCst);
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            drop(shared.sleep.lock());
            shared.wake.notify_all();
        }
        take_tasks(&job);
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

fn take_tasks(job: &Job) {
    let done = catch_unwind(AssertUnwindSafe(|| {
        loop {
            let task = job.next.fetch_add(1, Ordering::Relaxed);
            if task >= job.tasks {
                return;
            }
            (job.work)(task);
        }
    }));
    if let Err(panic) = done {
        job.next.store(job.tasks, Ordering::Relaxed);
        *job.panic.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(panic);
    }
}

/// Joins the job, if one is open: then it stays until this thread leaves it.
fn join(shared: &Shared) -> bool {
    let mut gate = shared.gate.load(Ordering::Acquire);
    while gate & OPEN != 0 {
        match shared.gate.compare_exchange_weak(gate, gate + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // SAFETY: the caller of the job waits until the gate counts nobody.
                let job = unsafe { &*shared.job.load(Ordering::Relaxed) };
                take_tasks(job);
                shared.gate.fetch_sub(1, Ordering::AcqRel);
                return true;
            }
            Err(now) => gate = now,
        }
    }
    false
}

fn wait_for_work(shared: &Shared) {
    let mut seen = shared.jobs.load(Ordering::SeqCst);
    // The job that made the thread start may be open already.
    join(shared);
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
        join(shared);
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
