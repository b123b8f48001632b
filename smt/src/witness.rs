//! Small assignments that show that a condition does not follow.
//!
//! Most conditions on sizes that do not follow fail at sizes below five. Trying those
//! first costs a few microseconds, where the solver takes milliseconds. What is found is
//! an assignment, checked by evaluation; finding none says nothing.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::Sym;

/// Values tried for a size, and for a static integer, which may be negative.
const SIZES: [i64; 5] = [1, 2, 0, 3, 4];
const INTEGERS: [i64; 5] = [0, 1, -1, 2, -2];

/// Conditions evaluated before the search is given up.
const MAX_CHECKS: usize = 600;

/// An assignment that satisfies all facts and not the goal, for their symbols.
pub fn witness(facts: &[Cond], goal: &Cond) -> Option<Vec<(Sym, BigInt)>> {
    let mut syms = BTreeSet::new();
    facts.iter().chain([goal]).for_each(|cond| cond.collect_syms(&mut syms));
    let order: Vec<Sym> = syms.into_iter().collect();
    let mut due: Vec<Vec<Due<'_>>> = (0..=order.len()).map(|_| Vec::new()).collect();
    for (cond, wanted) in facts.iter().map(|fact| (fact, true)).chain([(goal, false)]) {
        let mut own = BTreeSet::new();
        cond.collect_syms(&mut own);
        let last = own.last().and_then(|sym| order.iter().position(|s| s == sym));
        due[last.map_or(0, |last| last + 1)].push(Due { cond, wanted });
    }
    let mut search = Search { order: &order, due: &due, values: BTreeMap::new(), checks: 0 };
    search.extend(0).then(|| search.values.into_iter().map(|(s, v)| (s, BigInt::from(v))).collect())
}

/// A condition, checked when the last of its symbols has a value.
struct Due<'c> {
    cond: &'c Cond,
    /// Whether it should hold.
    wanted: bool,
}

struct Search<'c> {
    order: &'c [Sym],
    /// What can be checked when so many symbols have values.
    due: &'c [Vec<Due<'c>>],
    values: BTreeMap<Sym, i64>,
    checks: usize,
}

impl Search<'_> {
    fn extend(&mut self, known: usize) -> bool {
        if !self.holds(known) {
            return false;
        }
        let Some(sym) = self.order.get(known) else { return true };
        let values = if sym.is_natural() { SIZES } else { INTEGERS };
        // Neighbours begin with different values, which tell more apart.
        (0..values.len()).any(|k| {
            self.values.insert(sym.clone(), values[(k + known) % values.len()]);
            self.extend(known + 1)
        })
    }

    fn holds(&mut self, known: usize) -> bool {
        self.checks += self.due[known].len().max(1);
        let value = |sym: &Sym| self.values.get(sym).map(|n| i128::from(*n));
        // A condition that divides by zero does not hold.
        self.checks <= MAX_CHECKS
            && self.due[known].iter().all(|due| (due.cond.eval(&value) == Some(true)) == due.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtv_semantics::size::{Size, SymKind};

    fn sym(id: u32, name: &str) -> Sym {
        Sym::new(id, SymKind::Size, name)
    }

    #[test]
    fn what_does_not_follow_has_a_witness() {
        let (a, b) = (sym(0, "a"), sym(1, "b"));
        let (x, y) = (Size::sym(&a), Size::sym(&b));
        let facts = [Cond::le(&x, &y)];
        let found = witness(&facts, &Cond::lt(&x, &y)).expect("a == b");
        assert_eq!(found[0].1, found[1].1);
        assert_eq!(witness(&facts, &Cond::le(&x, &y)), None);
    }

    #[test]
    fn a_goal_that_divides_by_zero_does_not_hold() {
        let d = sym(0, "d");
        let quotient = Size::int(4).floor_div(&Size::sym(&d));
        let goal = Cond::le(&Size::zero(), &quotient);
        assert_eq!(witness(&[], &goal), Some(vec![(d, BigInt::from(0))]));
    }

    #[test]
    fn contradictions_have_none() {
        let n = Size::sym(&sym(0, "n"));
        assert_eq!(witness(&[Cond::lt(&n, &n)], &Cond::False), None);
        assert_eq!(witness(&[Cond::False], &Cond::False), None);
        assert_eq!(witness(&[], &Cond::True), None);
        assert_eq!(witness(&[], &Cond::False), Some(Vec::new()));
    }
}
