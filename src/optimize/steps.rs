//! A derivation told step by step.

use rtv_egraph::Optimized;
use rtv_semantics::derivation::{Used, Why};

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
    /// A constant is rounded to this literal.
    Rounded(String),
}

/// The steps in the order in which the program is rewritten; what is rewritten at several places alike, once.
pub fn of(found: &Optimized) -> Vec<Step> {
    let derivation = &found.derivation;
    let step = |Used { line, forward }: Used| match &derivation.lines[line].why {
        Why::Rule { application, forward: along } => {
            let name = &derivation.applications[*application].rule;
            let rule = found.rules.iter().position(|rule| rule.name == *name)?;
            Some(Step { by: By::Rule(rule), forward: *along == forward })
        }
        Why::Definition => {
            let name = found.replaced.get(&line).cloned().unwrap_or_default();
            Some(Step { by: By::Definition(name), forward })
        }
        Why::Constant => {
            let literal = found.replaced.get(&line).cloned()?;
            Some(Step { by: By::Constant(literal), forward })
        }
        Why::Parts(_) | Why::Chain(_) => None,
    };
    derivation.rewriting().into_iter().filter_map(step).collect()
}
