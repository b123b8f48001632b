//! What a solver answered, so that a question is asked once: instances of a claim at other
//! dtypes ask the same, and so do claims that are alike and whoever looks at a term anew.
//!
//! Invariant: an answer is taken for that of another question only if the two differ in
//! names alone and the one asked had the same resource limit, or no higher one and an answer
//! nevertheless. What ran out of time or memory, or broke, may end otherwise another time,
//! and is not kept.

use crate::query::Shape;
use crate::solver::{Answer, Budget, Reason};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Questions that are kept; then all are forgotten, which bounds the memory.
const MAX_KEPT: usize = 5_000;

/// Bytes of questions that outlive a claim, about; then all are forgotten. One of more than a
/// thousandth of it is not kept.
const MAX_BYTES: usize = 64 << 20;

/// Answers by question and resource limit. They depend on nothing else, so that they outlive a
/// claim.
pub(crate) struct Known<Q> {
    answers: FxHashMap<(Q, u32), Answer>,
    bytes: usize,
}

impl<Q> Default for Known<Q> {
    fn default() -> Known<Q> {
        Known { answers: FxHashMap::default(), bytes: 0 }
    }
}

/// A question that takes memory.
pub(crate) trait Weighed {
    fn bytes(&self) -> usize;
}

impl Weighed for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Weighed for Shape {
    fn bytes(&self) -> usize {
        // A node and what it points to.
        128 * self.nodes()
    }
}

impl<Q: Hash + Eq + Weighed> Known<Q> {
    pub fn of(&self, asked: &(Q, u32)) -> Option<Answer> {
        self.answers.get(asked).cloned()
    }

    pub fn keep(&mut self, asked: (Q, u32), answer: &Answer) {
        if passes(answer) {
            return;
        }
        let bytes = asked.0.bytes();
        if bytes > MAX_BYTES / 1000 {
            return;
        }
        if self.bytes + bytes > MAX_BYTES {
            (self.bytes, self.answers) = (0, FxHashMap::default());
        }
        self.bytes += bytes;
        self.answers.insert(asked, answer.clone());
    }
}

/// Whether it may end otherwise another time.
fn passes(answer: &Answer) -> bool {
    matches!(answer, Answer::Unknown(Reason::Timeout | Reason::Memory | Reason::Crash))
}

/// Answers about one claim by question, with the resource limit under which each was given: one
/// that was given under a lower limit serves, too.
#[derive(Default)]
pub(crate) struct Remembered {
    known: FxHashMap<Shape, Vec<(u32, Answer)>>,
}

impl Remembered {
    pub fn of(&self, shape: &Shape, budget: Budget) -> Option<Answer> {
        let serves = |(rlimit, answer): &&(u32, Answer)| {
            let less = *rlimit != 0 && (budget.rlimit == 0 || *rlimit <= budget.rlimit);
            *rlimit == budget.rlimit || (less && !matches!(answer, Answer::Unknown(_)))
        };
        let (_, answer) = self.known.get(shape)?.iter().find(serves)?;
        Some(answer.clone())
    }

    pub fn keep(&mut self, shape: Shape, budget: Budget, answer: &Answer) {
        if passes(answer) {
            return;
        }
        if self.known.len() >= MAX_KEPT {
            self.known.clear();
        }
        self.known.entry(shape).or_default().push((budget.rlimit, answer.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Query, Sort};

    const BUDGET: Budget = Budget { rlimit: 100, timeout_ms: 100 };

    /// `0 < f(0)`, of a function to the integers.
    fn positive(name: &str) -> Query {
        let mut q = Query::new();
        let fun = q.declare(name, vec![Sort::Int], Sort::Int);
        let zero = q.int(0);
        let value = q.apply(fun, vec![zero]);
        let positive = q.lt(zero, value);
        q.assert(positive);
        q.watch(value);
        q
    }

    #[test]
    fn names_do_not_count_and_all_else_does() {
        let mut known = Remembered::default();
        known.keep(positive("f").shape(), BUDGET, &Answer::Unsat);
        assert_eq!(known.of(&positive("g").shape(), BUDGET), Some(Answer::Unsat));
        let mut unwatched = positive("f");
        unwatched.watched.clear();
        assert_eq!(known.of(&unwatched.shape(), BUDGET), None);
        let mut other = Query::new();
        let (zero, value) = (other.int(0), other.constant("f", Sort::Int));
        let positive = other.lt(zero, value);
        other.assert(positive);
        other.watch(value);
        assert_eq!(known.of(&other.shape(), BUDGET), None);
    }

    #[test]
    fn what_outlives_a_claim_serves_for_one_limit() {
        let mut known = Known::default();
        let asked = |text: &str, limit| (text.to_string(), limit);
        known.keep(asked("x", 100), &Answer::Unsat);
        known.keep(asked("y", 100), &Answer::Unknown(Reason::Timeout));
        assert_eq!(known.of(&asked("x", 100)), Some(Answer::Unsat));
        for other in [asked("x", 200), asked("x", 50), asked("y", 100)] {
            assert_eq!(known.of(&other), None);
        }
    }

    #[test]
    fn what_outlives_a_claim_takes_so_much_memory() {
        let mut known = Known::default();
        let large = |k: u32| (k.to_string().repeat(60_000 / k.to_string().len()), k);
        for k in 1..3_000 {
            known.keep(large(k), &Answer::Unsat);
            assert!(known.bytes <= MAX_BYTES && known.answers.len() <= 1_200, "{k}");
        }
        assert_eq!(known.of(&large(2_999)), Some(Answer::Unsat));
        assert_eq!(known.of(&large(1)), None);
        let huge = ("x".repeat(70_000), 1);
        known.keep(huge.clone(), &Answer::Unsat);
        assert_eq!(known.of(&huge), None);
    }

    #[test]
    fn opaque_sorts_are_told_apart() {
        let differ = |sorts: [&str; 2]| {
            let mut q = Query::new();
            for (name, sort) in ["x", "y"].into_iter().zip(sorts) {
                let fun = q.declare(name, vec![Sort::Opaque(sort.into())], Sort::Bool);
                let value = q.constant(&format!("{name} 0"), Sort::Opaque(sort.into()));
                let holds = q.apply(fun, vec![value]);
                q.assert(holds);
            }
            q.shape()
        };
        assert!(differ(["f16", "f16"]) == differ(["f32", "f32"]));
        assert!(differ(["f16", "f32"]) != differ(["f32", "f32"]));
    }

    #[test]
    fn an_answer_serves_where_as_much_may_be_spent() {
        let (mut known, shape) = (Remembered::default(), positive("f").shape());
        let more = Budget { rlimit: 200, ..BUDGET };
        let open = Answer::Unknown(Reason::Rlimit);
        known.keep(positive("f").shape(), BUDGET, &open);
        assert_eq!((known.of(&shape, BUDGET), known.of(&shape, more)), (Some(open), None));
        known.keep(positive("f").shape(), more, &Answer::Unsat);
        assert_eq!(known.of(&shape, more), Some(Answer::Unsat));
        assert_eq!(known.of(&shape, Budget { rlimit: 0, ..BUDGET }), Some(Answer::Unsat));
        known.keep(positive("g").shape(), Budget { rlimit: 50, ..BUDGET }, &Answer::Unknown(Reason::Timeout));
        assert_eq!(known.of(&shape, Budget { rlimit: 50, ..BUDGET }), None);
    }
}
