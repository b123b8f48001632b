//! Random programs, optimized: each result has a derivation that is accepted, and the value of its source.

use std::collections::BTreeMap;

use rtv_egraph::Limits;
use rtv_proofs::derived::Proved;
use rtv_proofs::{Checker, Module, program};
use rtv_semantics::diag::{Diagnostic, FileId};
use rtv_semantics::program::Mode;

use super::{Failed, Request, RuleBook, optimize, sizes};
use crate::conform::fuzz::Program;

/// Terms in the graph of one program.
const NODES: usize = 1_200;

/// Inputs on which source and result are compared.
const SAMPLES: u64 = 8;

/// Optimizes programs, one after another.
pub struct Optimizing<'b> {
    book: &'b RuleBook,
    checker: &'b Checker,
    proved: Proved<'b>,
    /// Programs that got cheaper, by mode.
    pub changed: BTreeMap<&'static str, u64>,
}

impl<'b> Optimizing<'b> {
    pub fn new(book: &'b RuleBook, checker: &'b Checker) -> Optimizing<'b> {
        Optimizing { book, checker, proved: book.proved(checker), changed: BTreeMap::new() }
    }

    /// What is wrong with what becomes of a program, bit for bit and over the reals.
    ///
    /// # Errors
    /// The check that a result fails.
    pub fn check(&mut self, random: &Program) -> Result<(), String> {
        let text = random.text().replacen("op case(", "fn case(", 1);
        let file = FileId(1);
        let (module, faults) = Module::new(file, rtv_grammar::parse(file, &text));
        let (function, said) = program(&module, 0, 1);
        let Some((function, _)) = function else {
            let errors = faults.iter().chain(&said).filter(|d| d.is_error());
            let texts: Vec<&str> = errors.map(|d: &Diagnostic| d.message.as_str()).collect();
            return Err(format!("no function: {}", texts.join("; ")));
        };
        let Ok(sizes) = sizes(&function, &BTreeMap::new()) else { return Ok(()) };
        for upto in [Mode::Exact, Mode::Real] {
            let limits = Limits { nodes: NODES, ..Limits::default() };
            let request =
                Request { upto, limits, elsewhere: &[], out_of_time: &|| false, samples: SAMPLES, seed: 0 };
            let found = optimize(&function, self.book, &sizes, &request, self.checker, &mut self.proved);
            let improved = match found {
                Err(Failed::Unused) => return Ok(()),
                other => other.map_err(|failed| format!("up to {upto}: {failed}"))?,
            };
            *self.changed.entry(upto.name()).or_default() += u64::from(!improved.steps.is_empty());
        }
        Ok(())
    }
}
