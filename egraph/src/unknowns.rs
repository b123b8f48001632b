//! Sizes of a rule from sizes of a program: what its symbols must be where a head of the rule
//! stands at a head of the program.

use std::collections::BTreeMap;
use std::rc::Rc;

use rtv_semantics::alpha::is_bound;
use rtv_semantics::size::{Atom, Monomial, Size, Sym};

/// Pairs of a size of the rule and one of the program that must be equal for all values of what
/// is bound around them.
pub type Equations = Rc<Vec<(Size, Size)>>;

/// What the symbols of a rule are, as far as it is known.
#[derive(Clone, Default, Debug)]
pub struct Unknowns {
    known: BTreeMap<Sym, Size>,
    open: Vec<(Size, Size)>,
}

impl Unknowns {
    pub fn get(&self, sym: &Sym) -> Option<&Size> {
        self.known.get(sym)
    }

    /// Adds equations and solves what can be; whether they do not contradict what is known.
    /// `unknown` tells the symbols of the rule from those of the program.
    pub fn solve(&mut self, equations: &[(Size, Size)], unknown: &dyn Fn(&Sym) -> bool) -> bool {
        self.open.extend(equations.iter().cloned());
        loop {
            let before = (self.known.len(), self.open.len());
            for (rule, program) in std::mem::take(&mut self.open) {
                // Most sizes of rules are symbols, and there is nothing to compute.
                let sym = rule.as_sym().filter(|sym| unknown(sym));
                match sym.map(|sym| (sym, self.known.get(sym))) {
                    Some((_, Some(known))) if *known == program => continue,
                    Some((_, Some(_))) => return false,
                    Some((sym, None)) if !program.has_sym(&is_bound) => {
                        self.known.insert(sym.clone(), program);
                        continue;
                    }
                    _ if rule == program => continue,
                    _ => {}
                }
                let rest = &rule.subst(&|s| self.known.get(s).cloned()) - &program;
                if rest.is_zero() {
                    continue;
                }
                let open = |s: &Sym| unknown(s) && !self.known.contains_key(s);
                if !rest.has_sym(&open) {
                    return false;
                }
                match solved(&rest, &open) {
                    Some((sym, size)) => drop(self.known.insert(sym, size)),
                    None => self.open.push((rule, program)),
                }
            }
            if before == (self.known.len(), self.open.len()) || self.open.is_empty() {
                return true;
            }
        }
    }

    /// Whether nothing is left to solve.
    pub fn is_settled(&self) -> bool {
        self.open.is_empty()
    }
}

/// The one symbol at which the size is zero whatever is bound, where it is linear in one.
fn solved(rest: &Size, open: &dyn Fn(&Sym) -> bool) -> Option<(Sym, Size)> {
    let candidates: Vec<Sym> = rest.syms().into_iter().filter(open).collect();
    candidates.into_iter().find_map(|sym| {
        let (with, without): (Vec<_>, Vec<_>) =
            rest.terms().iter().cloned().partition(|(m, _)| m.iter().any(|(atom, _)| mentions(atom, &sym)));
        let factors: Option<Vec<_>> =
            with.into_iter().map(|(m, c)| Some((without_sym(&m, &sym)?, c))).collect();
        let factor = Size::from_terms(factors?);
        let value = (-&Size::from_terms(without)).exact_div(&factor)?;
        let settled = !value.has_sym(&|s| is_bound(s) || open(s));
        settled.then_some((sym, value))
    })
}

fn mentions(atom: &Atom, sym: &Sym) -> bool {
    match atom {
        Atom::Sym(s) => s == sym,
        Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => a.mentions(sym) || b.mentions(sym),
    }
}

/// The monomial without a symbol that is in it once, and in no quotient or extreme.
fn without_sym(monomial: &Monomial, sym: &Sym) -> Option<Monomial> {
    let is_sym = |atom: &Atom| matches!(atom, Atom::Sym(s) if s == sym);
    let once = monomial.iter().any(|(atom, power)| is_sym(atom) && *power == 1);
    let rest: Monomial = monomial.iter().filter(|(atom, _)| !is_sym(atom)).cloned().collect();
    (once && !rest.iter().any(|(atom, _)| mentions(atom, sym))).then_some(rest)
}
