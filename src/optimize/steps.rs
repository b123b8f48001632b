//! A derivation told step by step.

use std::collections::BTreeSet;

use rtv_egraph::Optimized;
use rtv_semantics::derivation::{Derivation, Used, Why};

/// A rule applied at one place, or an operator replaced by its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub by: By,
    /// From left to right, as the rule is written.
    pub forward: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum By {
    /// By place in the rules that were taken up.
    Rule(usize),
    /// The operator of this name.
    Definition(String),
    /// A constant is this literal.
    Constant(String),
}

/// The steps in the order in which the program is rewritten; what is rewritten at several places alike, once.
pub fn of(found: &Optimized) -> Vec<Step> {
    let derivation = &found.derivation;
    let mut walk = Walk { found, derivation, seen: BTreeSet::new(), steps: Vec::new() };
    if let Some(last) = derivation.lines.len().checked_sub(1) {
        walk.line(Used { line: last, forward: true });
    }
    walk.steps
}

struct Walk<'a> {
    found: &'a Optimized,
    derivation: &'a Derivation,
    seen: BTreeSet<(usize, bool)>,
    steps: Vec<Step>,
}

impl Walk<'_> {
    fn line(&mut self, used: Used) {
        let Used { line, forward } = used;
        if !self.seen.insert((line, forward)) {
            return;
        }
        let inner = |used: &Used| Used { line: used.line, forward: used.forward == forward };
        match &self.derivation.lines[line].why {
            Why::Rule { application, forward: along } => {
                let name = &self.derivation.applications[*application].rule;
                if let Some(rule) = self.found.rules.iter().position(|rule| rule.name == *name) {
                    self.steps.push(Step { by: By::Rule(rule), forward: *along == forward });
                }
            }
            Why::Definition => {
                let name = self.found.replaced.get(&line).cloned().unwrap_or_default();
                self.steps.push(Step { by: By::Definition(name), forward });
            }
            Why::Constant => {
                let by = self.found.replaced.get(&line).cloned().map(By::Constant);
                self.steps.extend(by.map(|by| Step { by, forward }));
            }
            Why::Parts(lines) => lines.iter().flatten().for_each(|used| self.line(inner(used))),
            Why::Chain(lines) if forward => lines.iter().for_each(|used| self.line(inner(used))),
            Why::Chain(lines) => lines.iter().rev().for_each(|used| self.line(inner(used))),
        }
    }
}
