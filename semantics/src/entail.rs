//! Conditions on sizes, and the question whether known ones imply another.

use crate::size::{Size, Sym};
use std::collections::BTreeSet;
use std::fmt;

/// A condition on sizes, in negation normal form.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Cond {
    True,
    False,
    /// `p >= 0`
    NonNeg(Size),
    /// `p == 0`
    Zero(Size),
    /// `p != 0`
    NonZero(Size),
    And(Vec<Cond>),
    Or(Vec<Cond>),
}

impl Cond {
    pub fn le(a: &Size, b: &Size) -> Cond {
        Cond::non_neg(b - a)
    }

    pub fn lt(a: &Size, b: &Size) -> Cond {
        Cond::non_neg(&(b - a) - &Size::one())
    }

    pub fn eq(a: &Size, b: &Size) -> Cond {
        let d = a - b;
        match d.as_const() {
            Some(_) if d.is_zero() => Cond::True,
            Some(_) => Cond::False,
            // `a == b` and `b == a` are one condition.
            None => Cond::Zero(std::cmp::max(-&d, d)),
        }
    }

    pub fn ne(a: &Size, b: &Size) -> Cond {
        Cond::eq(a, b).negated()
    }

    pub fn non_neg(p: Size) -> Cond {
        match p.as_const() {
            Some(c) if c >= 0.into() => Cond::True,
            Some(_) => Cond::False,
            None => Cond::NonNeg(p),
        }
    }

    /// `lo <= p` and `p < hi`.
    pub fn within(lo: &Size, p: &Size, hi: &Size) -> Cond {
        Cond::and([Cond::le(lo, p), Cond::lt(p, hi)])
    }

    pub fn and(parts: impl IntoIterator<Item = Cond>) -> Cond {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Cond::True => {}
                Cond::False => return Cond::False,
                Cond::And(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        match all.len() {
            0 => Cond::True,
            1 => all.swap_remove(0),
            _ => Cond::And(all),
        }
    }

    pub fn or(parts: impl IntoIterator<Item = Cond>) -> Cond {
        Cond::and(parts.into_iter().map(|c| c.negated())).negated()
    }

    pub fn negated(self) -> Cond {
        match self {
            Cond::True => Cond::False,
            Cond::False => Cond::True,
            Cond::NonNeg(p) => Cond::non_neg(&-&p - &Size::one()),
            Cond::Zero(p) => Cond::NonZero(p),
            Cond::NonZero(p) => Cond::Zero(p),
            Cond::And(parts) => Cond::Or(parts.into_iter().map(Cond::negated).collect()),
            Cond::Or(parts) => Cond::And(parts.into_iter().map(Cond::negated).collect()),
        }
    }

    /// The same condition with its sizes rewritten.
    pub fn map(&self, f: &dyn Fn(&Size) -> Size) -> Cond {
        match self {
            Cond::True => Cond::True,
            Cond::False => Cond::False,
            Cond::NonNeg(p) => Cond::non_neg(f(p)),
            Cond::Zero(p) => Cond::eq(&f(p), &Size::zero()),
            Cond::NonZero(p) => Cond::ne(&f(p), &Size::zero()),
            Cond::And(parts) => Cond::and(parts.iter().map(|c| c.map(f))),
            Cond::Or(parts) => Cond::or(parts.iter().map(|c| c.map(f))),
        }
    }

    /// Truth under an assignment; `None` where a size has no value.
    pub fn eval(&self, env: &dyn Fn(&Sym) -> Option<i128>) -> Option<bool> {
        Some(match self {
            Cond::True => true,
            Cond::False => false,
            Cond::NonNeg(p) => p.eval(env).ok()? >= 0,
            Cond::Zero(p) => p.eval(env).ok()? == 0,
            Cond::NonZero(p) => p.eval(env).ok()? != 0,
            Cond::And(parts) => {
                for part in parts {
                    if !part.eval(env)? {
                        return Some(false);
                    }
                }
                true
            }
            Cond::Or(parts) => {
                for part in parts {
                    if part.eval(env)? {
                        return Some(true);
                    }
                }
                false
            }
        })
    }

    pub fn mentions(&self, sym: &Sym) -> bool {
        let mut syms = BTreeSet::new();
        self.collect_syms(&mut syms);
        syms.contains(sym)
    }

    pub fn collect_syms(&self, into: &mut BTreeSet<Sym>) {
        match self {
            Cond::True | Cond::False => {}
            Cond::NonNeg(p) | Cond::Zero(p) | Cond::NonZero(p) => p.collect_syms(into),
            Cond::And(parts) | Cond::Or(parts) => parts.iter().for_each(|c| c.collect_syms(into)),
        }
    }
}

impl fmt::Display for Cond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, parts: &[Cond], word: &str| {
            let texts: Vec<String> = parts.iter().map(|c| format!("({c})")).collect();
            f.write_str(&texts.join(word))
        };
        match self {
            Cond::True => f.write_str("true"),
            Cond::False => f.write_str("false"),
            Cond::NonNeg(p) => write_relation(f, p, "<="),
            Cond::Zero(p) => write_relation(f, p, "=="),
            Cond::NonZero(p) => write_relation(f, p, "!="),
            Cond::And(parts) => list(f, parts, " and "),
            Cond::Or(parts) => list(f, parts, " or "),
        }
    }
}

/// Writes `p REL` as negative terms REL positive terms: `M <= lo`, not `0 <= lo - M`.
fn write_relation(f: &mut fmt::Formatter<'_>, p: &Size, relation: &str) -> fmt::Result {
    let (mut left, mut right) = (Size::zero(), Size::zero());
    for (monomial, coefficient) in p.terms() {
        let unit = monomial
            .iter()
            .fold(Size::one(), |acc, (a, n)| (0..*n).fold(acc, |acc, _| &acc * &Size::atom(a.clone())));
        let part = unit.scale(coefficient);
        if *coefficient < 0.into() {
            left = &left - &part;
        } else {
            right = &right + &part;
        }
    }
    write!(f, "{left} {relation} {right}")
}

/// Decides implications between conditions on sizes.
///
/// Every symbol but those of kind `Int` is a natural number; an implementation
/// may rely on that without being told.
pub trait Entails {
    /// `true` only when every assignment that satisfies `facts` satisfies `goal`;
    /// `false` says nothing.
    fn entails(&self, facts: &[Cond], goal: &Cond) -> bool;

    /// `Some(truth)` when the facts decide the condition.
    fn decide(&self, facts: &[Cond], cond: &Cond) -> Option<bool> {
        if self.entails(facts, cond) {
            Some(true)
        } else if self.entails(facts, &cond.clone().negated()) {
            Some(false)
        } else {
            None
        }
    }
}
