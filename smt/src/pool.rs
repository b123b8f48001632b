//! Worker processes that answer questions and live on.
//!
//! Invariants: a worker is asked canaries before anything else, and each `unsat` counts
//! only after the same worker then found, in the same solver context, a satisfiable question
//! satisfiable; a worker
//! that is late, dies, or says what is no answer is killed and costs the question at
//! hand, which is `unknown`; a wrong answer to a canary is a fault that ends all answers.
//! The system bounds a worker's memory. No worker outlives the pool: one that is not
//! killed sees its input end.
//!
//! Spawning costs about 30 ms, so workers are spawned at the first question and kept.

use std::hash::Hash;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::canary::{self, Canary, canaries};
use crate::query::{Query, Shape};
use crate::remembered::{Known, Weighed};
use crate::solver::{Answer, Backend, Budget, Fault, Reason, check_version};
use crate::wire::{self, Asking};

/// Address space of one worker, unless told otherwise.
pub const DEFAULT_MEMORY_MIB: u64 = 2048;

/// Less than this, and a worker cannot start.
pub const LEAST_MEMORY_MIB: u64 = 512;

/// How long a worker may take to start and answer its canaries.
const START: Duration = Duration::from_secs(10);

/// How long an answer may be overdue, since Z3 does not stop on the dot.
const GRACE: Duration = Duration::from_secs(1);

/// The same where a claim's time is over.
const OVERTIME: Duration = Duration::from_millis(250);

/// So many failed starts in a row, and there is no solver.
const MAX_FAILED_STARTS: u32 = 5;

/// Bytes of one answer, and of what is read of a dead worker's last words.
const MAX_ANSWER: u64 = 16 << 20;
const MAX_LAST_WORDS: u64 = 4 << 10;

/// Sets the memory limit, which may be lower already, leaves interrupts from the terminal
/// to the program that asks, and becomes the worker.
const LAUNCH: &str = r#"trap '' INT; ulimit -v "$1" 2>/dev/null; exec "$0" __solve"#;

/// Workers of one program, as many as questions are asked at one time.
pub struct Pool {
    program: PathBuf,
    memory_mib: u64,
    idle: Mutex<Vec<Worker>>,
    fault: OnceLock<Fault>,
    /// What was answered, by whichever worker and whatever it was asked for.
    built: Mutex<Known<Shape>>,
    texts: Mutex<Known<String>>,
    /// Since a worker last started.
    failed_starts: AtomicU32,
    asked: AtomicU64,
}

/// Why a worker is of no use any more.
enum Failure {
    /// The question is lost.
    Lost(Reason),
    /// All answers are.
    Faulty(Fault),
}

impl Pool {
    /// Nothing is started yet. `program __solve` must be [`serve`](crate::serve).
    pub fn new(program: PathBuf, memory_mib: u64) -> Pool {
        Pool {
            program,
            memory_mib,
            idle: Mutex::default(),
            fault: OnceLock::new(),
            built: Mutex::default(),
            texts: Mutex::default(),
            failed_starts: AtomicU32::new(0),
            asked: AtomicU64::new(0),
        }
    }

    /// A new worker that knows its canaries.
    fn start(&self, deadline: Option<Instant>) -> Result<Worker, Failure> {
        let patience = Instant::now() + START;
        let hurried = deadline.is_some_and(|deadline| deadline < patience);
        let until = deadline.map_or(patience, |deadline| deadline.min(patience));
        let mut started = self.launch().and_then(|mut worker| {
            let greeting = worker.hear(Some(until))?;
            let version = wire::greeted(&greeting).ok_or(Failure::Lost(Reason::Crash))?;
            check_version(version).map_err(Failure::Faulty)?;
            canaries().iter().try_for_each(|canary| {
                let asking = Asking::Built(&canary.query);
                self.try_canary(&mut worker, canary, asking, Some(until))
            })?;
            Ok(worker)
        });
        match &started {
            Ok(_) => self.failed_starts.store(0, Ordering::Relaxed),
            // A claim that has no time left says nothing about the worker.
            Err(Failure::Lost(Reason::Timeout)) if hurried => {}
            Err(Failure::Lost(reason)) => {
                if self.failed_starts.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_FAILED_STARTS {
                    started = Err(Failure::Faulty(Fault::NoStart(reason.to_string())));
                }
            }
            Err(Failure::Faulty(_)) => {}
        }
        started
    }

    fn launch(&self) -> Result<Worker, Failure> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", LAUNCH]).arg(&self.program).arg((self.memory_mib << 10).to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let lost = |_| Failure::Lost(Reason::Crash);
        let mut child = command.spawn().map_err(lost)?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (sender, questions) = mpsc::channel();
        let (said, heard) = mpsc::channel();
        let worker = Worker { child, questions: sender, heard, used: false };
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(Failure::Lost(Reason::Crash));
        };
        let talk = move || converse(stdin, stdout, stderr, &questions, &said);
        thread::Builder::new().spawn(talk).map_err(lost)?;
        Ok(worker)
    }

    /// Asks one question of one worker.
    fn ask(
        &self,
        worker: &mut Worker,
        asking: Asking<'_>,
        budget: Budget,
        until: Option<Instant>,
    ) -> Result<Answer, Failure> {
        let asked = asking.line(self.asked.fetch_add(1, Ordering::Relaxed), budget);
        // If the worker is gone, its last words are heard next.
        let _ = worker.questions.send(asked.clone());
        let line = worker.hear(until)?;
        match wire::read_answer(&asked, &line) {
            Some(Answer::Sat(values)) if values.len() != asking.watched() => {
                Err(Failure::Lost(Reason::Crash))
            }
            Some(answer) => Ok(answer),
            None => Err(Failure::Lost(Reason::Crash)),
        }
    }

    fn try_canary(
        &self,
        worker: &mut Worker,
        canary: &Canary,
        asking: Asking<'_>,
        until: Option<Instant>,
    ) -> Result<(), Failure> {
        let answer = self.ask(worker, asking, canary::BUDGET, until)?;
        match (canary.accepts(&answer), answer) {
            (Some(true), _) => Ok(()),
            (None, Answer::Unknown(reason)) => Err(Failure::Lost(reason)),
            _ => Err(Failure::Faulty(Fault::SelfTest(canary.what))),
        }
    }

    /// Asks a question of a worker, and whether the answer is to be believed.
    fn believed(
        &self,
        worker: &mut Worker,
        asking: Asking<'_>,
        budget: Budget,
        deadline: Option<Instant>,
    ) -> Result<Answer, Failure> {
        let patience = |timeout: Duration| Instant::now() + timeout + GRACE;
        let allowed =
            (budget.timeout_ms > 0).then(|| patience(Duration::from_millis(budget.timeout_ms.into())));
        let until = [allowed, deadline].into_iter().flatten().min();
        let answer = self.ask(worker, asking, budget, until)?;
        if answer == Answer::Unsat {
            let canary = canary::probe(self.asked.load(Ordering::Relaxed));
            let until = deadline.unwrap_or_else(|| patience(START));
            self.try_canary(worker, &canary, Asking::There(&canary.query), Some(until))?;
        }
        Ok(answer)
    }

    fn idle(&self) -> Option<Worker> {
        locked(&self.idle).pop()
    }

    /// The answer of an idle worker or a new one, and whether the worker was asked before.
    fn attempt(
        &self,
        idle: Option<Worker>,
        asking: Asking<'_>,
        budget: Budget,
        deadline: Option<Instant>,
    ) -> (Result<Answer, Failure>, bool) {
        let mut worker = match idle.map_or_else(|| self.start(deadline), Ok) {
            Ok(worker) => worker,
            Err(failure) => return (Err(failure), false),
        };
        let used = std::mem::replace(&mut worker.used, true);
        let answer = self.believed(&mut worker, asking, budget, deadline);
        // Out of memory once, a solver is not itself again.
        if !matches!(answer, Err(_) | Ok(Answer::Unknown(Reason::Memory))) {
            locked(&self.idle).push(worker);
        }
        (answer, used)
    }

    /// The answer that was given before, unless none counts any more, or that of a worker, which
    /// is then kept.
    fn known_or<Q: Hash + Eq + Weighed>(
        &self,
        known: &Mutex<Known<Q>>,
        question: Q,
        asking: Asking<'_>,
        budget: Budget,
        deadline: Option<Instant>,
    ) -> Answer {
        let asked = (question, budget.rlimit);
        if let Some(answer) = locked(known).of(&asked).filter(|_| self.fault.get().is_none()) {
            return answer;
        }
        let answer = self.answer(asking, budget, deadline);
        locked(known).keep(asked, &answer);
        answer
    }

    fn answer(&self, asking: Asking<'_>, budget: Budget, deadline: Option<Instant>) -> Answer {
        if self.fault.get().is_some() {
            return Answer::Unknown(Reason::Crash);
        }
        let deadline = deadline.map(|deadline| deadline + OVERTIME);
        let (mut answer, used) = self.attempt(self.idle(), asking, budget, deadline);
        // Broken by this question, or worn out by those before? A new worker tells.
        let broken = matches!(
            answer,
            Err(Failure::Lost(Reason::Crash | Reason::Memory)) | Ok(Answer::Unknown(Reason::Memory))
        );
        if broken && used {
            (answer, _) = self.attempt(None, asking, budget, deadline);
        }
        match answer {
            Ok(answer) => answer,
            Err(Failure::Lost(reason)) => Answer::Unknown(reason),
            Err(Failure::Faulty(fault)) => {
                // The first fault found is the one that is told.
                let _ = self.fault.set(fault);
                Answer::Unknown(Reason::Crash)
            }
        }
    }
}

impl Backend for Pool {
    fn check(&self, query: &Query, budget: Budget) -> Answer {
        self.check_until(query, budget, None)
    }

    fn check_until(&self, query: &Query, budget: Budget, deadline: Option<Instant>) -> Answer {
        self.known_or(&self.built, query.shape(), Asking::Built(query), budget, deadline)
    }

    fn check_text(&self, text: &str, budget: Budget) -> Answer {
        self.check_text_until(text, budget, None)
    }

    fn check_text_until(&self, text: &str, budget: Budget, deadline: Option<Instant>) -> Answer {
        self.known_or(&self.texts, text.to_string(), Asking::Text(text), budget, deadline)
    }

    fn fault(&self) -> Option<Fault> {
        self.fault.get().cloned()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running process and the thread that talks to it.
struct Worker {
    child: Child,
    questions: Sender<String>,
    heard: Receiver<Heard>,
    /// It was asked something other than canaries.
    used: bool,
}

/// What a worker said.
enum Heard {
    Line(String),
    /// It says nothing more; the end of what it wrote to standard error.
    LastWords(String),
}

impl Worker {
    /// The next line.
    fn hear(&mut self, until: Option<Instant>) -> Result<String, Failure> {
        let heard = match until {
            Some(until) => self.heard.recv_timeout(until.saturating_duration_since(Instant::now())),
            None => self.heard.recv().map_err(RecvTimeoutError::from),
        };
        match heard {
            Ok(Heard::Line(line)) => Ok(line),
            Ok(Heard::LastWords(words)) => Err(Failure::Lost(cause_of_death(&words))),
            Err(RecvTimeoutError::Timeout) => Err(Failure::Lost(Reason::Timeout)),
            Err(RecvTimeoutError::Disconnected) => Err(Failure::Lost(Reason::Crash)),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Rust, C++ and Z3 each say it in their way.
fn cause_of_death(words: &str) -> Reason {
    let memory = ["memory", "bad_alloc"].iter().any(|word| words.contains(word));
    if memory { Reason::Memory } else { Reason::Crash }
}

/// Passes lines to and fro until one side ends. A thread of its own, since reading and
/// writing cannot be told to give up; killing the worker ends both.
fn converse(
    mut stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    questions: &Receiver<String>,
    said: &Sender<Heard>,
) {
    let mut stdout = BufReader::new(stdout);
    while let Some(line) = line(&mut stdout) {
        if said.send(Heard::Line(line)).is_err() {
            return;
        }
        let Ok(question) = questions.recv() else { return };
        // A worker that is gone is noticed when its answer is read.
        let _ = stdin.write_all(question.as_bytes());
        let _ = stdin.write_all(b"\n");
    }
    let mut words = Vec::new();
    let _ = stderr.take(MAX_LAST_WORDS).read_to_end(&mut words);
    let _ = said.send(Heard::LastWords(String::from_utf8_lossy(&words).into_owned()));
}

/// A whole line of bounded length, without its end.
fn line(from: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    from.take(MAX_ANSWER).read_until(b'\n', &mut bytes).ok()?;
    bytes.pop().filter(|end| *end == b'\n')?;
    String::from_utf8(bytes).ok()
}
