//! What a solver answered about one claim, so that a question is asked once: instances of a
//! claim at other dtypes ask the same, and so does whoever looks at a term anew.
//!
//! Invariant: an answer is taken for that of another question only if the two differ in
//! names alone and the one asked had the same resource limit, or no higher one and an answer
//! nevertheless. What ran out of time or memory, or broke, may end otherwise another time,
//! and is not kept.

use std::collections::HashMap;

use crate::query::Shape;
use crate::solver::{Answer, Budget, Reason};

/// Questions that are kept; then all are forgotten, which bounds the memory.
const MAX_KEPT: usize = 10_000;

/// Answers by question, with the resource limit under which each was given.
#[derive(Default)]
pub(crate) struct Remembered {
    known: HashMap<Shape, Vec<(u32, Answer)>>,
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
        if let Answer::Unknown(Reason::Timeout | Reason::Memory | Reason::Crash) = answer {
            return;
        }
        if self.known.len() >= MAX_KEPT {
            self.known.clear();
        }
        self.known.entry(shape).or_default().push((budget.rlimit, answer.clone()));
    }
}
