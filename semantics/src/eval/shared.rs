//! Results kept while nothing they depend on changes.
//!
//! Inside a loop a term is visited at every index although its value may depend on
//! none of the symbols that change. The last result of such a term is kept with the
//! values of everything it mentions; values are pure, so that equal surroundings
//! give the equal result.

use super::error::Res;
use super::machine::{Machine, Val};
use crate::term::{Form, Fun, Term};

/// The last visit of a term inside a loop.
pub(super) struct Memo {
    key: Vec<i128>,
    pub state: Visited,
}

#[derive(Clone)]
pub(super) enum Visited {
    /// Read at an index only.
    Once,
    /// Not all of its elements have a value, so that it is read element by element.
    Partial,
    Whole(Val, u64),
}

impl Machine<'_> {
    /// The values of all that `term` mentions: symbols, and stamps of variables. What
    /// is bound inside the term has none here, or one that does no harm.
    pub fn surroundings(&mut self, term: &Term) -> Vec<i128> {
        let deps = self.deps(term);
        let syms = deps.syms.iter().map(|s| self.sym(s).unwrap_or(-1));
        let stamps = deps.vars.iter().map(|id| {
            let bound = self.vars.iter().rev().find(|b| b.id == *id);
            bound.map_or(0, |b| i128::from(b.stamp))
        });
        syms.chain(stamps).collect()
    }

    /// What is known about `term` in these surroundings.
    pub fn recall(&self, term: &Term, key: &[i128]) -> Option<Visited> {
        let memo = self.memo.get(&term.address())?;
        (memo.key == key).then(|| memo.state.clone())
    }

    pub fn remember(&mut self, term: &Term, key: Vec<i128>, state: Visited) {
        self.memo.insert(term.address(), Memo { key, state });
    }

    /// The value of `term` and its stamp, kept for the next visit.
    pub fn shared(&mut self, term: &Term) -> Res<(Val, u64)> {
        if let Form::Var(var) = term.form() {
            let bound = self.lookup(var, term.span())?;
            return Ok((bound.value.clone(), bound.stamp));
        }
        if self.loops == 0 {
            return Ok((self.eval(term)?, self.fresh_stamp()));
        }
        let key = self.surroundings(term);
        if let Some(Visited::Whole(value, stamp)) = self.recall(term, &key) {
            return Ok((value, stamp));
        }
        let value = self.nested(term, |m| m.form(term))?;
        let stamp = self.fresh_stamp();
        self.remember(term, key, Visited::Whole(value.clone(), stamp));
        Ok((value, stamp))
    }

    /// At the end of the outermost loop what was kept in it is dropped.
    pub fn leave_loop(&mut self) {
        self.loops = self.loops.saturating_sub(1);
        if self.loops == 0 {
            self.memo.clear();
        }
    }
}

/// Whether a term costs enough to look for its last value: a reduction, or a call on
/// more than scalars.
pub(super) fn is_worth_keeping(term: &Term) -> bool {
    match term.form() {
        Form::Reduce(_) => true,
        Form::Call(Fun::Op(_), args) => args.iter().any(|a| !a.is_scalar()),
        _ => false,
    }
}
