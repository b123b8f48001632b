//! Terms that are the same but for the way in which their sizes are written.
//!
//! How far sizes are simplified depends on who elaborates a rule and on what is known there: at one place `i // 3`
//! may stand for what is `(j + 4 i) // 12` at another one, `j` being below 4. So terms that are met in two ways are
//! compared by what their sizes are wherever the preconditions of the source hold, for all indices in range.

use super::steps::Check;
use crate::recheck::divisors;
use rtv_semantics::alpha::{Apart, apart_by_sizes};
use rtv_semantics::entail::Cond;
use rtv_semantics::size::Size;
use rustc_hash::FxHashSet;

impl Check<'_, '_> {
    /// Whether two nodes are the same, but for sizes that are written otherwise.
    pub fn is_written_as(&mut self, left: usize, right: usize) -> bool {
        let (mut open, mut seen) = (vec![(left, right)], FxHashSet::default());
        while let Some((a, b)) = open.pop() {
            if a == b || !seen.insert((a, b)) {
                continue;
            }
            let [parts, others] = [a, b].map(|at| self.nodes.node(at).parts.clone());
            if parts.len() != others.len() || !self.is_head_written_as(a, b) {
                return false;
            }
            open.extend(parts.into_iter().zip(others));
        }
        true
    }

    fn is_head_written_as(&mut self, a: usize, b: usize) -> bool {
        let heads = [a, b].map(|at| self.nodes.node(at).head);
        if heads[0] == heads[1] {
            return true;
        }
        if let Some(alike) = self.heads_alike.get(&heads) {
            return *alike;
        }
        let apart = apart_by_sizes(&self.nodes.head(a).term, &self.nodes.head(b).term);
        let alike = apart.is_some_and(|apart| apart.iter().all(|apart| self.are_equal(apart)));
        self.heads_alike.insert(heads, alike);
        alike
    }

    /// Whether two sizes have a value, and the same, wherever their indices are in range.
    fn are_equal(&mut self, apart: &Apart) -> bool {
        let (a, b) = &apart.sizes;
        let within = apart.within();
        let divisors = [a, b].into_iter().flat_map(divisors);
        let have_values = divisors.map(|divisor| Cond::ne(&divisor, &Size::zero()));
        have_values.chain([Cond::eq(a, b)]).all(|goal| self.follows(&within, &goal))
    }
}
