//! Conditions on sizes, decided anew: by linear arithmetic, else by the solvers.
//!
//! A product of symbols is one more unknown; a quotient `q = a // d` with `d >= 1` is one
//! with `d*q <= a < d*q + d`. Beside the facts stand their products with the natural
//! symbols that occur in products. What has no solution over the rationals has none.

use super::leaves::Leaves;
use super::text::{SizeText, divisors};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};
use rtv_semantics::cancel::checkpoint;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Atom, Monomial, Size, Sym};
use rtv_smt::Budget;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of one elimination, and those that products add.
const MAX_ROWS: usize = 240;
const MAX_PRODUCTS: usize = 60;

/// Assignments that are tried against a goal.
const TRIALS: u64 = 160;

/// Alternatives of the facts that are told apart.
const MAX_SPLITS: usize = 4;

/// Decides conditions on sizes, each once.
#[derive(Default)]
pub struct Sizes {
    known: FxHashMap<(Vec<Cond>, Cond), bool>,
}

impl Sizes {
    /// Whether every assignment that satisfies the facts satisfies the goal.
    pub fn entails(&mut self, facts: &[Cond], goal: &Cond, leaves: &mut Leaves<'_>) -> bool {
        match goal {
            Cond::True => return true,
            Cond::And(parts) => return parts.iter().all(|part| self.entails(facts, part, leaves)),
            _ => {}
        }
        let facts = near(facts, goal);
        if facts.contains(goal) || facts.contains(&Cond::False) {
            return true;
        }
        let asked = (facts, goal.clone());
        if let Some(known) = self.known.get(&asked) {
            return *known;
        }
        let holds = self.follows(&asked.0, divided(&asked.0, goal), leaves);
        self.known.insert(asked, holds);
        holds
    }

    fn follows(&mut self, facts: &[Cond], goal: Cond, leaves: &mut Leaves<'_>) -> bool {
        if goal == Cond::True {
            return true;
        }
        let key = (facts.to_vec(), goal);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let goal = &key.1;
        let by_arithmetic = || linear(facts, goal, MAX_SPLITS) || by_equations(facts, goal);
        let holds = !fails_somewhere(facts, goal)
            && ((self.defined(facts, goal, leaves) && by_arithmetic())
                || leaves.refuted(&question(facts, goal), Budget::OBLIGATION));
        self.known.insert(key, holds);
        holds
    }

    /// Whether the goal has a truth value: linear arithmetic takes that for granted.
    fn defined(&mut self, facts: &[Cond], goal: &Cond, leaves: &mut Leaves<'_>) -> bool {
        divided_by(goal).iter().all(|d| match d.as_const() {
            Some(value) => !value.is_zero(),
            None => self.entails(facts, &Cond::ne(d, &Size::zero()), leaves),
        })
    }
}

/// Whether some small numbers satisfy the facts and not the goal: then nothing needs to be
/// proved.
fn fails_somewhere(facts: &[Cond], goal: &Cond) -> bool {
    let mut all = syms(goal);
    facts.iter().for_each(|fact| all.extend(syms(fact)));
    let all: Vec<Sym> = all.into_iter().collect();
    // A full period of numbers that are no pattern.
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..TRIALS).any(|trial| {
        let most = 2 + trial / 32;
        let values: BTreeMap<&Sym, i128> = all
            .iter()
            .map(|sym| {
                let value = i128::from(next(most));
                (sym, if sym.is_natural() || next(2) == 0 { value } else { -value })
            })
            .collect();
        let holds = |cond: &Cond| cond.eval(&|sym| values.get(sym).copied());
        facts.iter().all(|fact| holds(fact) == Some(true)) && holds(goal) != Some(true)
    })
}

/// The same of a goal that has a truth value, with symbols replaced by what equations among
/// the facts say they are: a product then stands where quotients look for it.
fn by_equations(facts: &[Cond], goal: &Cond) -> bool {
    let (mut facts, mut goal, mut replaced) = (facts.to_vec(), goal.clone(), false);
    while let Some((sym, value)) = facts.iter().find_map(solved) {
        let with = |size: &Size| size.subst(&|own| (*own == sym).then(|| value.clone()));
        facts = facts.iter().map(|fact| fact.map(&with)).filter(|fact| *fact != Cond::True).collect();
        goal = goal.map(&with);
        if sym.is_natural() {
            facts.push(Cond::non_neg(value.clone()));
        }
        replaced = true;
    }
    replaced && {
        let goal = divided(&facts, &goal);
        goal == Cond::True || linear(&facts, &goal, MAX_SPLITS)
    }
}

/// What a symbol is that stands once in an equation, alone and as often as it is.
fn solved(fact: &Cond) -> Option<(Sym, Size)> {
    let Cond::Zero(p) = fact else { return None };
    p.terms().iter().find_map(|(monomial, coefficient)| {
        let [(Atom::Sym(sym), 1)] = monomial.as_slice() else { return None };
        let rest = p - &Size::sym(sym).scale(coefficient);
        let alone = coefficient.abs().is_one() && !rest.mentions(sym) && divisors(&rest).is_empty();
        alone.then(|| (sym.clone(), if coefficient.is_one() { -&rest } else { rest }))
    })
}

/// The goal with quotients that come out: `(d*e + c) // d` is `e` where `0 <= c < d`, and
/// `d * (a // d)` is `a` where the facts say so.
fn divided(facts: &[Cond], goal: &Cond) -> Cond {
    let plain: Vec<Cond> = facts.iter().filter(|fact| !has_quotient(fact)).cloned().collect();
    let exact: Vec<(Monomial, Size)> = facts.iter().filter_map(exact_quotient).collect();
    let multiplied = |size: &Size| {
        exact.iter().fold(size.clone(), |size, (product, a)| {
            let (e, c) = split(&size, product);
            &(a * &e) + &c
        })
    };
    let quotient = |atom: &Atom| {
        let Atom::Div(a, d) = atom else { return None };
        let whole = multiplied(a);
        let left = || (whole != *a).then(|| Size::atom(Atom::Div(whole.clone(), d.clone())));
        let [(by, one)] = d.terms() else { return left() };
        if !one.is_one() {
            return left();
        }
        let (e, c) = split(&whole, by);
        let natural = |p: &Size| linear(&plain, &Cond::non_neg(p.clone()), 0);
        if natural(&c) && below(&plain, &c, by) { Some(e) } else { left() }
    };
    goal.map(&|size| multiplied(&size.map_atoms(&quotient)))
}

/// `d * (a // d)` and `a`, if the fact is that they are equal.
fn exact_quotient(fact: &Cond) -> Option<(Monomial, Size)> {
    let Cond::Zero(p) = fact else { return None };
    p.terms().iter().flat_map(|(monomial, _)| monomial).find_map(|(atom, _)| {
        let Atom::Div(a, d) = atom else { return None };
        let product = d * &Size::atom(atom.clone());
        let rest = a - &product;
        let [(monomial, one)] = product.terms() else { return None };
        (one.is_one() && (*p == rest || *p == -&rest)).then(|| (monomial.clone(), a.clone()))
    })
}

/// `a = by * e + c`, with every multiple of `by` in `e`.
fn split(a: &Size, by: &Monomial) -> (Size, Size) {
    let mut e = Size::zero();
    for (monomial, coefficient) in a.terms() {
        let mut rest: BTreeMap<&Atom, u32> = monomial.iter().map(|(atom, power)| (atom, *power)).collect();
        let divides = by.iter().all(|(atom, power)| match rest.get_mut(atom) {
            Some(there) if *there >= *power => {
                *there -= power;
                true
            }
            _ => false,
        });
        if divides {
            let factors = rest.into_iter().flat_map(|(atom, power)| (0..power).map(move |_| atom));
            let product = factors.map(|atom| Size::atom(atom.clone())).collect::<Vec<_>>();
            e = &e + &Size::product(&product).scale(coefficient);
        }
    }
    let whole = product_of(by);
    let c = a - &(&whole * &e);
    (e, c)
}

fn product_of(monomial: &Monomial) -> Size {
    let factors = monomial.iter().flat_map(|(atom, power)| (0..*power).map(move |_| atom.clone()));
    Size::product(&factors.map(Size::atom).collect::<Vec<_>>())
}

/// Whether `c < x * d`: for `c = d*e + r` with `0 <= r < d` and `e < x`, digit by digit.
fn below(facts: &[Cond], c: &Size, by: &Monomial) -> bool {
    if linear(facts, &Cond::lt(c, &product_of(by)), 0) {
        return true;
    }
    let degree: u32 = degree(by);
    degree > 1
        && by.iter().enumerate().any(|(at, (x, _))| {
            let mut rest = by.clone();
            rest[at].1 -= 1;
            rest.retain(|(_, power)| *power > 0);
            let (e, r) = split(c, &rest);
            linear(facts, &Cond::lt(&e, &Size::atom(x.clone())), 0)
                && linear(facts, &Cond::non_neg(r.clone()), 0)
                && below(facts, &r, &rest)
        })
}

/// What a condition divides by.
fn divided_by(cond: &Cond) -> Vec<Size> {
    match cond {
        Cond::True | Cond::False => Vec::new(),
        Cond::NonNeg(p) | Cond::Zero(p) | Cond::NonZero(p) => divisors(p),
        Cond::And(parts) | Cond::Or(parts) => parts.iter().flat_map(divided_by).collect(),
    }
}

/// The facts that share symbols with the goal, also through others; conjunctions apart.
fn near(facts: &[Cond], goal: &Cond) -> Vec<Cond> {
    let mut rest: Vec<(Cond, BTreeSet<Sym>)> = Vec::new();
    let mut open: Vec<&Cond> = facts.iter().collect();
    while let Some(fact) = open.pop() {
        match fact {
            Cond::And(parts) => open.extend(parts),
            Cond::True => {}
            fact => rest.push((fact.clone(), syms(fact))),
        }
    }
    if *goal == Cond::False {
        return rest.into_iter().map(|(fact, _)| fact).collect();
    }
    let (mut reached, mut kept) = (syms(goal), Vec::new());
    loop {
        let (new, far): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|(_, own)| own.is_empty() || !own.is_disjoint(&reached));
        if new.is_empty() {
            break;
        }
        for (fact, own) in new {
            reached.extend(own);
            kept.push(fact);
        }
        rest = far;
    }
    kept.sort();
    kept.dedup();
    kept
}

fn syms(cond: &Cond) -> BTreeSet<Sym> {
    let mut set = BTreeSet::new();
    cond.collect_syms(&mut set);
    set
}

/// Whether facts and the negated goal have no rational solution, alternatives told apart.
fn linear(facts: &[Cond], goal: &Cond, splits: usize) -> bool {
    let alternatives = match goal {
        Cond::Or(_) => None,
        goal => Some(goal.clone().negated()),
    };
    let mut all = facts.to_vec();
    match (alternatives, goal) {
        (Some(Cond::Or(parts)), _) => {
            return parts.into_iter().all(|part| {
                let with = [facts, &[part]].concat();
                impossible(&with, splits)
            });
        }
        (Some(negated), _) => all.push(negated),
        (None, Cond::Or(parts)) => all.extend(parts.iter().map(|part| part.clone().negated())),
        (None, _) => return false,
    }
    impossible(&all, splits)
}

fn impossible(conds: &[Cond], splits: usize) -> bool {
    let mut flat = Vec::new();
    let mut open: Vec<Cond> = conds.to_vec();
    while let Some(cond) = open.pop() {
        match cond {
            Cond::And(parts) => open.extend(parts),
            Cond::False => return true,
            other => flat.push(other),
        }
    }
    let alternative = flat.iter().position(|cond| matches!(cond, Cond::Or(_) | Cond::NonZero(_)));
    if infeasible(&flat, true) {
        return true;
    }
    let Some(at) = alternative.filter(|_| splits > 0) else { return false };
    let parts = match flat.remove(at) {
        Cond::Or(parts) => parts,
        Cond::NonZero(p) => {
            vec![Cond::non_neg(&p - &Size::one()), Cond::non_neg(&-&p - &Size::one())]
        }
        _ => return false,
    };
    parts.into_iter().all(|part| impossible(&[&flat[..], &[part]].concat(), splits - 1))
}

/// `sum of coefficients times unknowns + constant >= 0`
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    /// By unknown, in order; none is zero.
    coefficients: Vec<(usize, i128)>,
    constant: i128,
}

impl Row {
    fn coefficient(&self, unknown: usize) -> i128 {
        let place = self.coefficients.binary_search_by_key(&unknown, |(k, _)| *k);
        place.map_or(0, |place| self.coefficients[place].1)
    }
}

/// Whether the inequalities and equations have no solution; others are left out. What is
/// asked on the way, whether a divisor is positive, is asked once.
fn infeasible(conds: &[Cond], nested: bool) -> bool {
    let mut sizes: Vec<Size> = Vec::new();
    for cond in conds {
        match cond {
            Cond::NonNeg(p) => sizes.push(p.clone()),
            Cond::Zero(p) => sizes.extend([p.clone(), -p]),
            _ => {}
        }
    }
    let positive = |d: &Size| {
        d.as_const().is_some_and(|d| d.is_positive()) || {
            let below = Cond::non_neg(-d);
            let plain: Vec<Cond> = conds.iter().filter(|c| !has_quotient(c)).cloned().collect();
            nested && !has_quotient(&below) && infeasible(&[&plain[..], &[below]].concat(), false)
        }
    };
    let (mut seen, mut at) = (BTreeSet::new(), 0);
    let mut multipliers: BTreeSet<Size> = BTreeSet::new();
    while at < sizes.len() && sizes.len() < MAX_ROWS {
        for (atom, _) in sizes[at].clone().terms().iter().flat_map(|(m, _)| m.clone()) {
            if seen.insert(atom.clone()) {
                define(&atom, &positive, &mut sizes, &mut multipliers);
            }
        }
        at += 1;
    }
    let products = sizes.iter().flat_map(|p| p.terms()).filter(|(m, _)| degree(m) > 1);
    multipliers.extend(products.flat_map(|(m, _)| m).filter_map(|(atom, _)| match atom {
        Atom::Sym(sym) if sym.is_natural() => Some(Size::sym(sym)),
        _ => None,
    }));
    let count = sizes.len();
    'products: for by in &multipliers {
        for k in 0..count {
            if sizes.len() >= count + MAX_PRODUCTS {
                break 'products;
            }
            if sizes[k].as_const().is_none() && sizes[k].terms().len() <= 4 {
                sizes.push(&sizes[k] * by);
            }
        }
    }
    let mut unknowns: BTreeMap<Monomial, usize> = BTreeMap::new();
    let mut rows: BTreeSet<Row> = BTreeSet::new();
    for size in &sizes {
        let Some(row) = row(size, &mut unknowns) else { continue };
        rows.insert(row);
    }
    for (monomial, unknown) in &unknowns {
        let natural = |atom: &Atom| matches!(atom, Atom::Sym(sym) if sym.is_natural());
        if monomial.iter().all(|(atom, power)| natural(atom) || power % 2 == 0) {
            rows.insert(Row { coefficients: vec![(*unknown, 1)], constant: 0 });
        }
    }
    eliminated(rows, unknowns.len())
}

fn degree(monomial: &Monomial) -> u32 {
    monomial.iter().map(|(_, power)| *power).sum()
}

fn has_quotient(cond: &Cond) -> bool {
    let (Cond::NonNeg(p) | Cond::Zero(p) | Cond::NonZero(p)) = cond else { return true };
    !divisors(p).is_empty()
}

/// What an atom is, as inequalities.
fn define(
    atom: &Atom,
    positive: &dyn Fn(&Size) -> bool,
    sizes: &mut Vec<Size>,
    multipliers: &mut BTreeSet<Size>,
) {
    let this = Size::atom(atom.clone());
    match atom {
        Atom::Sym(_) => {}
        Atom::Div(a, d) if positive(d) => {
            let product = d * &this;
            sizes.push(a - &product);
            sizes.push(&(&(&product + d) - a) - &Size::one());
            if d.as_const().is_none() {
                multipliers.insert(d.clone());
                sizes.push(d - &Size::one());
            }
        }
        Atom::Div(..) => {}
        Atom::Min(a, b) => sizes.extend([a - &this, b - &this]),
        Atom::Max(a, b) => sizes.extend([&this - a, &this - b]),
    }
}

/// A polynomial as a row, its products as unknowns; with the greatest integer constant.
fn row(size: &Size, unknowns: &mut BTreeMap<Monomial, usize>) -> Option<Row> {
    let mut coefficients = BTreeMap::new();
    let mut constant = BigInt::zero();
    let mut content = BigInt::zero();
    for (monomial, coefficient) in size.terms() {
        if monomial.is_empty() {
            constant = coefficient.clone();
            continue;
        }
        content = content.gcd(coefficient);
        let next = unknowns.len();
        let unknown = *unknowns.entry(monomial.clone()).or_insert(next);
        coefficients.insert(unknown, coefficient.clone());
    }
    if content.is_zero() {
        content = BigInt::one();
    }
    let scaled = |value: &BigInt| value.div_floor(&content).to_i128();
    let coefficients = coefficients.iter().map(|(k, c)| Some((*k, scaled(c)?))).collect::<Option<_>>()?;
    Some(Row { coefficients, constant: scaled(&constant)? })
}

/// Fourier-Motzkin: unknowns are eliminated one by one, the cheapest first, until a row
/// says that a negative number is not negative.
fn eliminated(rows: BTreeSet<Row>, unknowns: usize) -> bool {
    let mut rows: Vec<Row> = rows.into_iter().collect();
    let mut open: BTreeSet<usize> = (0..unknowns).collect();
    loop {
        checkpoint();
        if rows.iter().any(|row| row.coefficients.is_empty() && row.constant < 0) {
            return true;
        }
        let mut signs = vec![(0usize, 0usize); unknowns];
        for (unknown, coefficient) in rows.iter().flat_map(|row| &row.coefficients) {
            let (up, down) = &mut signs[*unknown];
            *(if *coefficient > 0 { up } else { down }) += 1;
        }
        let cost = |unknown: &usize| signs[*unknown].0 * signs[*unknown].1;
        let Some(next) = open.iter().copied().min_by_key(cost) else { return false };
        open.remove(&next);
        let (with, mut without): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| row.coefficient(next) != 0);
        let (up, down): (Vec<Row>, Vec<Row>) = with.into_iter().partition(|row| row.coefficient(next) > 0);
        for (low, high) in up.iter().flat_map(|low| down.iter().map(move |high| (low, high))) {
            let Some(combined) = combined(low, high, next) else { continue };
            without.push(combined);
            if without.len() > MAX_ROWS {
                return false;
            }
        }
        without.sort_unstable();
        without.dedup();
        rows = without;
    }
}

/// The two rows added so that the unknown cancels; nothing on overflow.
fn combined(low: &Row, high: &Row, unknown: usize) -> Option<Row> {
    let (by_low, by_high) = (high.coefficient(unknown).checked_neg()?, low.coefficient(unknown));
    let mut coefficients: Vec<(usize, i128)> = Vec::new();
    let (mut lows, mut highs) = (low.coefficients.iter().peekable(), high.coefficients.iter().peekable());
    loop {
        let next = [lows.peek(), highs.peek()].into_iter().flatten().map(|(k, _)| *k).min();
        let Some(k) = next else { break };
        let scaled =
            |term: Option<&(usize, i128)>, by: i128| term.map_or(Some(0), |(_, c)| c.checked_mul(by));
        let (a, b) = (lows.next_if(|(own, _)| *own == k), highs.next_if(|(own, _)| *own == k));
        let sum = scaled(a, by_low)?.checked_add(scaled(b, by_high)?)?;
        if sum != 0 {
            coefficients.push((k, sum));
        }
    }
    let constant = low.constant.checked_mul(by_low)?.checked_add(high.constant.checked_mul(by_high)?)?;
    let content = coefficients.iter().fold(0i128, |gcd, (_, c)| Integer::gcd(&gcd, c)).max(1);
    if content > 1 {
        coefficients.iter_mut().for_each(|(_, c)| *c /= content);
    }
    Some(Row { coefficients, constant: Integer::div_floor(&constant, &content) })
}

/// The question whether the facts hold and the goal does not, as SMT-LIB text.
pub fn question(facts: &[Cond], goal: &Cond) -> String {
    let mut text = SizeText::default();
    let facts: Vec<String> = facts.iter().map(|fact| text.truth(fact)).collect();
    let goal = text.truth(goal);
    let mut lines = text.declarations();
    lines.extend(facts.into_iter().map(|fact| format!("(assert {fact})")));
    lines.push(format!("(assert (not {goal}))"));
    lines.push("(check-sat)".to_string());
    format!("(set-logic ALL)\n{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtv_semantics::size::SymKind;

    #[test]
    fn a_symbol_is_what_an_equation_says() {
        let of = |id, kind, name: &str| Size::sym(&Sym::new(id, kind, name));
        let size = |id, name: &str| of(id, SymKind::Size, name);
        let index = |id, name: &str| of(id, SymKind::Index, name);
        let (k, n, d) = (size(0, "K"), size(1, "N"), size(2, "D"));
        let (a, b, c) = (index(3, "a"), index(4, "b"), index(5, "c"));
        let product = Cond::eq(&d, &(&k * &n));
        let facts = [product.clone(), Cond::lt(&b, &k), Cond::lt(&c, &n)];
        let whole = &(&(&d * &a) + &(&n * &b)) + &c;
        let goal = |value: &Size| Cond::eq(&whole.floor_div(&d), value);
        assert!(by_equations(&facts, &goal(&a)));
        assert!(!by_equations(&facts, &goal(&(&a + &Size::one()))));
        assert!(!by_equations(&facts[1..], &goal(&a)));
        // What a symbol is has to be natural where the symbol is.
        let below = Cond::eq(&k, &(&n - &Size::one()));
        assert!(by_equations(std::slice::from_ref(&below), &Cond::le(&Size::one(), &n)));
        assert!(!by_equations(&[below], &Cond::le(&Size::from(2), &n)));
        // A symbol that stands in a quotient too is not solved for.
        let halved = Cond::eq(&n, &k.floor_div(&Size::from(2)));
        assert!(solved(&halved).is_none_or(|(sym, _)| sym.name() == "N"));
    }
}
