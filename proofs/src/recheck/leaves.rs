//! Questions to the solvers: each in SMT-LIB text, to Z3 and to the second solver if there
//! is one.

use rtv_smt::{Answer, Budget, Solver};
use std::collections::HashMap;

/// Another solver, which is asked what Z3 answered.
pub trait SecondSolver {
    /// Whether the text has no solution, as far as it can tell.
    fn refutes(&mut self, text: &str) -> Opinion;
}

/// What the second solver says of a question that has no answer for the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opinion {
    Agrees,
    Disagrees,
    Unknown,
}

/// How many questions were asked, and what the second solver said.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Questions without an answer.
    pub questions: usize,
    /// Those of which the second solver says the same.
    pub agreed: usize,
    pub open: usize,
    pub disagreed: usize,
}

/// The solvers of one check.
pub struct Leaves<'s> {
    first: &'s Solver,
    second: Option<&'s mut (dyn SecondSolver + 'static)>,
    answered: HashMap<String, bool>,
    pub tally: Tally,
}

impl<'s> Leaves<'s> {
    pub fn new(first: &'s Solver, second: Option<&'s mut (dyn SecondSolver + 'static)>) -> Leaves<'s> {
        Leaves { first, second, answered: HashMap::new(), tally: Tally::default() }
    }

    /// Whether a question has no answer. One on which the solvers disagree counts as open.
    pub fn refuted(&mut self, text: &str, budget: Budget) -> bool {
        if let Some(answer) = self.answered.get(text) {
            return *answer;
        }
        let mut refuted = self.first.check_text(text, budget) == Answer::Unsat;
        if refuted {
            self.tally.questions += 1;
            match self.second.as_mut().map(|second| second.refutes(text)) {
                Some(Opinion::Agrees) => self.tally.agreed += 1,
                Some(Opinion::Disagrees) => {
                    self.tally.disagreed += 1;
                    refuted = false;
                }
                Some(Opinion::Unknown) => self.tally.open += 1,
                None => {}
            }
        }
        self.answered.insert(text.to_string(), refuted);
        refuted
    }
}
