//! Questions to the solvers: each in SMT-LIB text, to Z3 and to the second solver if there
//! is one.

use rtv_smt::{Answer, Budget, Solver};
use rustc_hash::FxHashMap;

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
    answered: FxHashMap<String, bool>,
    pub tally: Tally,
}

impl<'s> Leaves<'s> {
    pub fn new(first: &'s Solver, second: Option<&'s mut (dyn SecondSolver + 'static)>) -> Leaves<'s> {
        Leaves { first, second, answered: FxHashMap::default(), tally: Tally::default() }
    }

    /// Whether a question has no answer. One on which the solvers disagree counts as open.
    pub fn refuted(&mut self, text: &str, budget: Budget) -> bool {
        if let Some(answer) = self.answered.get(text) {
            return *answer;
        }
        let mut refuted = is_plain(text) && self.first.check_text(text, budget) == Answer::Unsat;
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

/// Commands that say something and do nothing.
const PLAIN: [&str; 9] = [
    "set-logic",
    "declare-sort",
    "declare-fun",
    "declare-const",
    "define-fun",
    "assert",
    "check-sat",
    "get-value",
    "set-option :produce-models true",
];

/// Whether a text consists of such commands: a certificate may come from anywhere.
fn is_plain(text: &str) -> bool {
    let (mut depth, mut quoted) = (0i64, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' | ';' => return false,
            '|' => quoted = !quoted,
            '(' if !quoted => {
                let command = &text[at + 1..];
                if depth == 0 && !PLAIN.iter().any(|plain| begins(command, plain)) {
                    return false;
                }
                depth += 1;
            }
            ')' if !quoted => depth -= 1,
            c if depth == 0 && !c.is_whitespace() => return false,
            _ => {}
        }
    }
    depth == 0 && !quoted
}

fn begins(command: &str, plain: &str) -> bool {
    let rest = command.strip_prefix(plain);
    rest.is_some_and(|rest| rest.starts_with([' ', ')', '\n']))
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn only_what_says_something_is_asked() {
        assert!(is_plain("(set-logic ALL)\n(declare-const |x y| Int)\n(assert (> |x y| 0))\n(check-sat)\n"));
        assert!(is_plain("(set-option :produce-models true)\n(check-sat)\n"));
        for text in [
            "(set-option :regular-output-channel x)",
            "(echo unsat)",
            "(check-sat)) (exit)",
            "(assert (= 1 1)) unsat",
            "(assert |x)",
            "(assertion)",
            "(assert \"x\")",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
