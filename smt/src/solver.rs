//! The only place that talks to Z3: budgets, answers, and the self-test.
//!
//! Invariants: an answer is [`Answer::Unsat`] only when Z3 says `unsat` within the
//! budget; whatever goes wrong on the way is [`Answer::Unknown`] with a reason from a
//! closed list. Each question is asked in a solver context of its own, so the answer
//! depends on the question and the budget only. A [`Solver`] exists only after the
//! version check and the start-up canaries.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use num_bigint::BigInt;
use num_rational::BigRational;
use rtv_semantics::diag::{Code, Diagnostic, Span};

use crate::query::{Query, Sort};
use crate::z3_backend;

/// The version of Z3 that this crate was tried with: the prefix of its full version.
pub const Z3_VERSION: &str = "5.4.";

/// Limits of one question. The resource limit makes an answer repeatable; the time
/// limit bounds how long it takes. Zero means no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Z3's own count of work; the same count can be one second or ten.
    pub rlimit: u32,
    pub timeout_ms: u32,
}

impl Budget {
    /// For deciding whether a branch is worth keeping; an `unknown` costs little.
    pub const PRUNE: Budget = Budget { rlimit: 3_000_000, timeout_ms: 300 };
    /// For obligations, where an `unknown` ends the proof.
    pub const OBLIGATION: Budget = Budget { rlimit: 40_000_000, timeout_ms: 3_000 };

    /// One half, not less than one unit of what is limited.
    pub(crate) fn halved(self) -> Budget {
        Budget { rlimit: self.rlimit.div_ceil(2), timeout_ms: self.timeout_ms.div_ceil(2) }
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
}

/// Why there is no solver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Another libz3 was loaded; its full version.
    Version(String),
    /// A question with a known answer was answered otherwise.
    SelfTest(&'static str),
}

/// Wrong version of libz3.
pub const R0710: Code = Code(710);
/// The solver's self-test failed.
pub const R0711: Code = Code(711);

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
                    .help("nothing was proved; libz3 is damaged or replaced: build again from clean")
            }
        }
    }
}

/// A solver that passed its self-test.
pub struct Solver {
    backend: Box<dyn Backend>,
}

impl Solver {
    /// Z3, after the version check and the canaries.
    pub fn start() -> Result<Solver, Fault> {
        check_version(z3::full_version())?;
        Solver::with_backend(Box::new(z3_backend::Z3))
    }

    /// Any backend that passes the canaries.
    pub fn with_backend(backend: Box<dyn Backend>) -> Result<Solver, Fault> {
        let solver = Solver { backend };
        solver.self_test()?;
        Ok(solver)
    }

    /// Asks one question. A panic inside the solver's binding is a crash, not ours.
    pub fn check(&self, query: &Query, budget: Budget) -> Answer {
        let ask = AssertUnwindSafe(|| self.backend.check(query, budget));
        catch_unwind(ask).unwrap_or(Answer::Unknown(Reason::Crash))
    }

    /// Is `query` unsatisfiable? The only reading of an answer that proves anything.
    pub fn refutes(&self, query: &Query, budget: Budget) -> Result<(), Answer> {
        match self.check(query, budget) {
            Answer::Unsat => Ok(()),
            other => Err(other),
        }
    }

    fn self_test(&self) -> Result<(), Fault> {
        let budget = Budget { rlimit: 10_000_000, timeout_ms: 10_000 };
        for canary in canaries() {
            let sat = match self.check(&canary.query, budget) {
                Answer::Sat(values) => canary.values.is_none_or(|expected| values == expected),
                Answer::Unsat => false,
                Answer::Unknown(_) => return Err(Fault::SelfTest(canary.what)),
            };
            if sat != canary.sat {
                return Err(Fault::SelfTest(canary.what));
            }
        }
        Ok(())
    }
}

fn check_version(found: &str) -> Result<(), Fault> {
    let found = found.trim_start_matches("Z3 ");
    if found.starts_with(Z3_VERSION) { Ok(()) } else { Err(Fault::Version(found.to_string())) }
}

/// A question with a known answer.
struct Canary {
    what: &'static str,
    query: Query,
    sat: bool,
    /// The watched values, where only one model exists.
    values: Option<ModelValues>,
}

/// Close pairs of a satisfiable and an unsatisfiable question in every theory used, so
/// that a solver stuck on one answer or deaf to assertions fails.
fn canaries() -> Vec<Canary> {
    let mut all = Vec::new();
    for sat in [true, false] {
        let mut q = Query::new();
        let (x, two, bound) = (q.constant("x", Sort::Int), q.int(2), q.int(if sat { 7 } else { 6 }));
        let (twice, six) = (q.mul(two, x), q.int(6));
        let (low, high) = (q.le(six, twice), q.lt(twice, bound));
        q.assert(low);
        q.assert(high);
        q.watch(x);
        let values = sat.then(|| vec![ModelValue::Int(BigInt::from(3))]);
        all.push(Canary { what: "integers", query: q, sat, values });

        let mut q = Query::new();
        let fun = q.declare("f", vec![Sort::Int], Sort::Opaque("f32".to_string()));
        let (x, y) = (q.constant("x", Sort::Int), q.constant("y", Sort::Int));
        let (fx, fy) = (q.apply(fun, vec![x]), q.apply(fun, vec![y]));
        let (same, images) = (q.eq(x, y), q.eq(fx, fy));
        let differ = q.not(images);
        q.assert(differ);
        if !sat {
            q.assert(same);
        }
        all.push(Canary { what: "uninterpreted functions", query: q, sat, values: None });

        let mut q = Query::new();
        let (x, one) = (q.constant("x", Sort::Bits(8)), q.bits(1, 8));
        let limit = q.bits(if sat { 127 } else { 126 }, 8);
        let next = q.op(crate::query::Op::BvAdd, vec![x, one]);
        let wraps = q.op(crate::query::Op::BvSlt, vec![next, x]);
        let above = q.op(crate::query::Op::BvSlt, vec![limit, x]);
        let below = q.not(above);
        q.assert(wraps);
        q.assert(below);
        q.watch(x);
        let values = sat.then(|| vec![ModelValue::Bits(127)]);
        all.push(Canary { what: "bit-vectors", query: q, sat, values });

        let mut q = Query::new();
        let (x, zero) = (q.constant("x", Sort::Real), q.real(BigRational::from(BigInt::from(0))));
        let square = q.mul(x, x);
        let claim = if sat { q.lt(zero, square) } else { q.lt(square, zero) };
        q.assert(claim);
        all.push(Canary { what: "reals", query: q, sat, values: None });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let solver = Solver { backend: Box::new(Always(answer.clone())) };
            assert_eq!(solver.refutes(&Query::new(), Budget::PRUNE), Err(answer));
        }
        let solver = Solver { backend: Box::new(Panics) };
        let crash = Answer::Unknown(Reason::Crash);
        assert_eq!(solver.refutes(&Query::new(), Budget::PRUNE), Err(crash));
    }
}
