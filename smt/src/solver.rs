//! Asking the solver: budgets, answers, faults, and the self-test.
//!
//! Invariants: an answer is [`Answer::Unsat`] only when Z3 says `unsat` within the
//! budget; whatever goes wrong on the way is [`Answer::Unknown`] with a reason from a
//! closed list. Each question is asked in a solver context of its own, so the answer
//! depends on the question and the budget only, and one that was given is given again. No answer counts before the version
//! check and the start-up canaries: a [`Solver`] in this process exists only after
//! them, a worker process is asked nothing else before.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use num_bigint::BigInt;
use num_rational::BigRational;
use rtv_semantics::diag::{Code, Diagnostic, Span};

use crate::canary::{self, canaries};
use crate::guess;
use crate::pool::Pool;
use crate::query::Query;
use crate::remembered::Remembered;
use crate::z3_backend;

/// The version of Z3 that this crate was tried with: the prefix of its full version.
pub const Z3_VERSION: &str = "5.4.";

/// Limits of one question. The resource limit makes an answer repeatable; the time
/// limit bounds how long it takes, and is wide enough that on a busy machine too the
/// resource limit is met first. Zero means no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Z3's own count of work; the same count can be one second or ten.
    pub rlimit: u32,
    pub timeout_ms: u32,
}

impl Budget {
    /// For deciding whether a branch is worth keeping; an `unknown` costs little.
    pub const PRUNE: Budget = Budget { rlimit: 3_000_000, timeout_ms: 1_000 };
    /// For what may be tried another way.
    pub const ATTEMPT: Budget = Budget { rlimit: 12_000_000, timeout_ms: 3_000 };
    /// For obligations, where an `unknown` ends the proof.
    pub const OBLIGATION: Budget = Budget { rlimit: 14_000_000, timeout_ms: 10_000 };

    /// Not more than another, which has limits.
    pub(crate) fn least(self, other: Budget) -> Budget {
        let least = |own, other| if own == 0 { other } else { u32::min(own, other) };
        Budget {
            rlimit: least(self.rlimit, other.rlimit),
            timeout_ms: least(self.timeout_ms, other.timeout_ms),
        }
    }

    /// A part of it, not less than one unit of what is limited.
    pub(crate) fn part(self, parts: u32) -> Budget {
        Budget { rlimit: self.rlimit.div_ceil(parts), timeout_ms: self.timeout_ms.div_ceil(parts) }
    }

    /// What is left of it when only this much time is left.
    fn within(self, rest: Duration) -> Budget {
        let rest = u32::try_from(rest.as_millis()).unwrap_or(u32::MAX).max(1);
        let timeout_ms = if self.timeout_ms == 0 { rest } else { self.timeout_ms.min(rest) };
        Budget { timeout_ms, ..self }
    }
}

/// Why a question has no answer. The list is closed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    Timeout,
    Rlimit,
    Memory,
    Crash,
    /// A construct or theory that is not covered, in words.
    Unsupported(String),
    Nonlinear,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Timeout => f.write_str("timeout"),
            Reason::Rlimit => f.write_str("rlimit"),
            Reason::Memory => f.write_str("memory"),
            Reason::Crash => f.write_str("solver crash"),
            Reason::Unsupported(what) => write!(f, "unsupported: {what}"),
            Reason::Nonlinear => f.write_str("nonlinear"),
        }
    }
}

/// A value in a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelValue {
    Bool(bool),
    Int(BigInt),
    Real(BigRational),
    /// Unsigned value of a bit-vector.
    Bits(u64),
    /// A float by the bits of the f64 that it is.
    Float(u64),
    /// An irrational number or an element of an opaque sort, as the solver prints it.
    Other(String),
}

/// Values of the watched nodes, in the order they were watched.
pub type ModelValues = Vec<ModelValue>;

/// What a solver says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A hint, to be replayed: the watched values of a model.
    Sat(ModelValues),
    Unsat,
    Unknown(Reason),
}

/// Something that answers questions. Tests put faulty ones in.
pub trait Backend: Send + Sync {
    fn check(&self, query: &Query, budget: Budget) -> Answer;

    /// Answers soon after `deadline`, whatever happens, if it can see to that.
    fn check_until(&self, query: &Query, budget: Budget, _deadline: Option<Instant>) -> Answer {
        self.check(query, budget)
    }

    /// The same for a question in SMT-LIB text, without values.
    fn check_text(&self, _text: &str, _budget: Budget) -> Answer {
        Answer::Unknown(Reason::Unsupported("a question in text".into()))
    }

    fn check_text_until(&self, text: &str, budget: Budget, _deadline: Option<Instant>) -> Answer {
        self.check_text(text, budget)
    }

    /// Why it is not to be believed; once found it stays, and every answer is `unknown`.
    fn fault(&self) -> Option<Fault> {
        None
    }
}

/// Why there is no solver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Another libz3 was loaded; its full version.
    Version(String),
    /// A question with a known answer was answered otherwise.
    SelfTest(&'static str),
    /// No solver process gets as far as to be asked; how the last one ended.
    NoStart(String),
}

/// Wrong version of libz3.
pub const R0710: Code = Code(710);
/// The solver's self-test failed.
pub const R0711: Code = Code(711);
/// Solver processes do not start.
pub const R0712: Code = Code(712);

impl Fault {
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Fault::Version(found) => {
                let message = format!("libz3 has version {found}, and {Z3_VERSION}x is needed");
                Diagnostic::error(R0710, Span::default(), message).help(
                    "build again from clean, or point Z3_LIBRARY_PATH_OVERRIDE to a folder with \
                     the right libz3.so",
                )
            }
            Fault::SelfTest(what) => {
                let message = format!("solver self-test failed: {what}");
                Diagnostic::error(R0711, Span::default(), message)
                    .help("nothing is proved by it; libz3 is damaged or replaced: build again from clean")
            }
            Fault::NoStart(how) => {
                let message = format!("solver processes do not start: {how}");
                Diagnostic::error(R0712, Span::default(), message)
                    .help("look whether the program's file is still in its place and memory is left")
            }
        }
    }
}

/// One question with its answer, as an observer sees it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'q> {
    pub query: &'q Query,
    pub budget: Budget,
    pub answer: &'q Answer,
    pub taken: Duration,
}

/// Sees what is asked, and changes nothing.
pub type Observer = Box<dyn Fn(Asked<'_>) + Send + Sync>;

/// A solver that answers nothing before its self-test, and the time until which it is
/// asked.
pub struct Solver {
    backend: Arc<dyn Backend>,
    /// Whether what a guess answers is not asked; not while the backend is on trial.
    guesses: AtomicBool,
    deadline: Mutex<Option<Instant>>,
    observer: Option<Observer>,
    /// About the claim at hand.
    answers: Mutex<Remembered>,
}

impl Solver {
    /// Z3 in this process, after the version check and the canaries.
    pub fn start() -> Result<Solver, Fault> {
        check_version(z3::full_version())?;
        let solver = Solver::with_backend(Box::new(z3_backend::Z3))?;
        Ok(Solver { guesses: true.into(), ..solver })
    }

    /// Any backend that passes the canaries.
    pub fn with_backend(backend: Box<dyn Backend>) -> Result<Solver, Fault> {
        let solver = Solver::of(Arc::from(backend));
        solver.self_test()?;
        Ok(solver)
    }

    /// Z3 in the worker processes of a pool, which tests each one as it starts.
    pub fn in_workers(pool: Arc<Pool>) -> Solver {
        Solver { guesses: true.into(), ..Solver::of(pool) }
    }

    fn of(backend: Arc<dyn Backend>) -> Solver {
        let (deadline, answers) = (Mutex::default(), Mutex::default());
        Solver { backend, guesses: false.into(), deadline, observer: None, answers }
    }

    /// The same solver, with one who sees each question that is asked of it.
    pub fn observed(self, observer: Observer) -> Solver {
        Solver { observer: Some(observer), ..self }
    }

    /// Another claim is asked about, of which nothing is answered yet; what is not answered
    /// at `deadline` is a timeout.
    pub fn until(&self, deadline: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = Remembered::default();
    }

    /// Why none of its answers counts any more.
    pub fn fault(&self) -> Option<Fault> {
        self.backend.fault()
    }

    /// Asks one question, unless it was asked before. A panic inside the solver's binding is
    /// a crash, not ours.
    pub fn check(&self, query: &Query, budget: Budget) -> Answer {
        let answers = || self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let shape = query.shape();
        let counts = |answer: &Answer| {
            self.fault().is_none() && (self.may_guess() || !matches!(answer, Answer::Sat(_)))
        };
        if let Some(answer) = answers().of(&shape, budget).filter(counts) {
            return answer;
        }
        let answer = self.asked(query, budget);
        answers().keep(shape, budget, &answer);
        answer
    }

    /// Does work in which what has a model is asked of the backend for its own.
    pub fn without_guesses<R>(&self, work: impl FnOnce() -> R) -> R {
        // Also when the work is cancelled, which unwinds.
        struct Again<'s>(&'s AtomicBool, bool);
        impl Drop for Again<'_> {
            fn drop(&mut self) {
                self.0.store(self.1, Ordering::Relaxed);
            }
        }
        let _again = Again(&self.guesses, self.guesses.swap(false, Ordering::Relaxed));
        work()
    }

    fn may_guess(&self) -> bool {
        self.guesses.load(Ordering::Relaxed)
    }

    fn asked(&self, query: &Query, budget: Budget) -> Answer {
        let started = Instant::now();
        let Some((budget, deadline)) = self.allowed(budget) else {
            return Answer::Unknown(Reason::Timeout);
        };
        let guessed = || guess::model(query).filter(|_| self.fault().is_none()).map(Answer::Sat);
        let ask = AssertUnwindSafe(|| self.backend.check_until(query, budget, deadline));
        let asked = || catch_unwind(ask).unwrap_or(Answer::Unknown(Reason::Crash));
        let answer = self.may_guess().then(guessed).flatten().unwrap_or_else(asked);
        if let Some(observer) = &self.observer {
            observer(Asked { query, budget, answer: &answer, taken: started.elapsed() });
        }
        answer
    }

    /// Asks a question in SMT-LIB text.
    pub fn check_text(&self, text: &str, budget: Budget) -> Answer {
        let Some((within, deadline)) = self.allowed(budget) else {
            return Answer::Unknown(Reason::Timeout);
        };
        let ask = AssertUnwindSafe(|| self.backend.check_text_until(text, within, deadline));
        catch_unwind(ask).unwrap_or(Answer::Unknown(Reason::Crash))
    }

    /// What is left of a budget, and until when; nothing when time is over.
    fn allowed(&self, budget: Budget) -> Option<(Budget, Option<Instant>)> {
        let deadline = *self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
            Some(Duration::ZERO) => None,
            Some(rest) => Some((budget.within(rest), deadline)),
            None => Some((budget, None)),
        }
    }

    /// Is `query` unsatisfiable? The only reading of an answer that proves anything.
    pub fn refutes(&self, query: &Query, budget: Budget) -> Result<(), Answer> {
        match self.check(query, budget) {
            Answer::Unsat => Ok(()),
            other => Err(other),
        }
    }

    fn self_test(&self) -> Result<(), Fault> {
        for canary in canaries() {
            let answer = self.check(&canary.query, canary::BUDGET);
            if canary.accepts(&answer) != Some(true) {
                return Err(Fault::SelfTest(canary.what));
            }
        }
        Ok(())
    }
}

pub(crate) fn check_version(found: &str) -> Result<(), Fault> {
    let found = found.trim_start_matches("Z3 ");
    if found.starts_with(Z3_VERSION) { Ok(()) } else { Err(Fault::Version(found.to_string())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Sort;

    struct Always(Answer);
    impl Backend for Always {
        fn check(&self, _: &Query, _: Budget) -> Answer {
            self.0.clone()
        }
    }

    struct Panics;
    impl Backend for Panics {
        fn check(&self, _: &Query, _: Budget) -> Answer {
            panic!("the binding met a null pointer")
        }
    }

    #[test]
    fn z3_starts_and_has_the_pinned_version() {
        assert!(Solver::start().is_ok());
    }

    #[test]
    fn another_version_is_a_coded_error() {
        for found in ["4.8.12.0", "5.40.1", "6.5.4.", "", "5.3.2.0"] {
            let fault = check_version(found).expect_err(found);
            assert_eq!(fault.diagnostic().code, R0710);
        }
        assert!(check_version("5.4.1.0").is_ok());
        assert!(check_version("Z3 5.4.1.0").is_ok());
    }

    #[test]
    fn a_solver_stuck_on_one_answer_fails_the_self_test() {
        let stuck = [
            Answer::Unsat,
            Answer::Sat(Vec::new()),
            Answer::Sat(vec![ModelValue::Int(BigInt::from(3))]),
            Answer::Unknown(Reason::Timeout),
        ];
        for answer in stuck {
            let fault = Solver::with_backend(Box::new(Always(answer))).err().expect("refused");
            assert_eq!(fault.diagnostic().code, R0711);
            assert!(fault.diagnostic().message.starts_with("solver self-test failed"));
        }
        assert!(Solver::with_backend(Box::new(Panics)).is_err());
    }

    #[test]
    fn nothing_is_asked_when_time_is_over() {
        let solver = Solver::of(Arc::new(Always(Answer::Unsat)));
        solver.until(Some(Instant::now()));
        assert_eq!(solver.check(&Query::new(), Budget::PRUNE), Answer::Unknown(Reason::Timeout));
        solver.until(None);
        assert_eq!(solver.check(&Query::new(), Budget::PRUNE), Answer::Unsat);
        let rest = Duration::from_millis(200);
        assert_eq!(Budget::PRUNE.within(rest), Budget { timeout_ms: 200, ..Budget::PRUNE });
        assert_eq!(Budget { rlimit: 0, timeout_ms: 0 }.within(rest).timeout_ms, 200);
    }

    #[test]
    fn what_a_guess_answers_is_not_asked() {
        let open = Answer::Unknown(Reason::Nonlinear);
        let solver = Solver { guesses: true.into(), ..Solver::of(Arc::new(Always(open.clone()))) };
        let mut q = Query::new();
        let (n, ten) = (q.constant("n", Sort::Int), q.int(10));
        let beyond = q.lt(ten, n);
        q.assert(beyond);
        q.watch(n);
        let Answer::Sat(values) = solver.check(&q, Budget::PRUNE) else { panic!("there is a model") };
        assert!(matches!(&values[..], [ModelValue::Int(n)] if *n > BigInt::from(10)), "{values:?}");
        assert_eq!(solver.without_guesses(|| solver.check(&q, Budget::PRUNE)), open);
        let cancelled = AssertUnwindSafe(|| solver.without_guesses(|| panic!("cancelled")));
        assert!(catch_unwind(cancelled).is_err() && solver.may_guess());
        let below = q.lt(n, ten);
        q.assert(below);
        assert_eq!(solver.check(&q, Budget::PRUNE), open);
    }

    #[test]
    fn only_unsat_refutes() {
        let answers = [
            Answer::Sat(Vec::new()),
            Answer::Unknown(Reason::Timeout),
            Answer::Unknown(Reason::Rlimit),
            Answer::Unknown(Reason::Memory),
            Answer::Unknown(Reason::Crash),
            Answer::Unknown(Reason::Nonlinear),
            Answer::Unknown(Reason::Unsupported("x".to_string())),
        ];
        for answer in answers {
            let solver = Solver::of(Arc::new(Always(answer.clone())));
            assert_eq!(solver.refutes(&Query::new(), Budget::PRUNE), Err(answer));
        }
        let solver = Solver::of(Arc::new(Panics));
        let crash = Answer::Unknown(Reason::Crash);
        assert_eq!(solver.refutes(&Query::new(), Budget::PRUNE), Err(crash));
    }
}
