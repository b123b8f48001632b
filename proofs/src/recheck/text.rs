//! Conditions on sizes as SMT-LIB text.
//!
//! A symbol is an integer, not below zero where it is natural; `a // d` is one with
//! `d*q <= a < d*q + d` where `d >= 1`, and else any.

use num_bigint::BigInt;
use num_traits::Signed;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Atom, Size, Sym};
use std::collections::BTreeMap;

/// Quotients of which it is looked whether another one divides what they are.
const MAX_TOGETHER: usize = 8;

/// What is divided and by what, with the name of the quotient.
type Quotient = ((Size, Size), String);

/// Sizes as integer terms of one text.
#[derive(Default)]
pub struct SizeText {
    names: BTreeMap<Sym, String>,
    quotients: Vec<Quotient>,
    lines: Vec<String>,
}

impl SizeText {
    /// Declarations and definitions so far.
    pub fn declarations(&self) -> Vec<String> {
        self.lines.clone()
    }

    pub fn size(&mut self, size: &Size) -> String {
        let mut parts = Vec::new();
        for (monomial, coefficient) in size.terms() {
            let mut factors = vec![integer(coefficient)];
            for (atom, power) in monomial {
                let atom = self.atom(atom);
                factors.extend((0..*power).map(|_| atom.clone()));
            }
            parts.push(applied("*", factors));
        }
        match parts.len() {
            0 => "0".to_string(),
            _ => applied("+", parts),
        }
    }

    fn atom(&mut self, atom: &Atom) -> String {
        match atom {
            Atom::Sym(sym) => self.sym(sym),
            Atom::Min(a, b) | Atom::Max(a, b) => {
                let (a, b) = (self.size(a), self.size(b));
                let sign = if matches!(atom, Atom::Min(..)) { "<=" } else { ">=" };
                format!("(ite ({sign} {a} {b}) {a} {b})")
            }
            Atom::Div(a, d) => {
                let key = (a.clone(), d.clone());
                if let Some((_, name)) = self.quotients.iter().find(|(known, _)| *known == key) {
                    return name.clone();
                }
                let (a, d) = (self.size(a), self.size(d));
                let name = format!("q{}", self.quotients.len());
                self.lines.push(format!("(declare-const {name} Int)"));
                self.lines.push(format!(
                    "(assert (=> (>= {d} 1) (and (<= (* {d} {name}) {a}) (< {a} (+ (* {d} {name}) {d})))))"
                ));
                let own = (key, name.clone());
                let known = self.quotients.clone();
                self.quotients.push(own.clone());
                let known = &known[..known.len().min(MAX_TOGETHER)];
                for other in known {
                    self.nested(other, &own);
                    self.nested(&own, other);
                }
                for (inner, other) in known.iter().flat_map(|a| known.iter().map(move |b| (a, b))) {
                    self.is_nested(inner, other, &own);
                    self.is_nested(inner, &own, other);
                }
                name
            }
        }
    }

    /// Says that `(a - b d) // (m d)` is `(a // d - b) // m` at positive `d` and `m`, where the first
    /// quotient is `a // d` and the second divides so: what it is by its definition, and that times
    /// `d`. Of products solvers know little.
    fn nested(&mut self, inner: &Quotient, outer: &Quotient) {
        let Some((m, b)) = parts(inner, outer) else { return };
        let (((_, d), inner), (_, outer)) = (inner, outer);
        let [d, m, b] = [d, &m, &b].map(|size| self.size(size));
        let (least, rest) = (format!("(* {m} {outer})"), format!("(- {inner} {b})"));
        self.lines.push(format!(
            "(assert (=> (and (>= {d} 1) (>= {m} 1)) (and (<= {least} {rest}) (< {rest} (+ {least} {m})) \
             (<= (* {d} {least}) (* {d} {rest})))))"
        ));
    }

    /// The same, where a third quotient is `(a // d - b) // m`.
    fn is_nested(&mut self, inner: &Quotient, outer: &Quotient, third: &Quotient) {
        let Some((m, b)) = parts(inner, outer) else { return };
        let (((a, d), _), (_, outer), (whole, third)) = (inner, outer, third);
        if *whole == (&Size::atom(Atom::Div(a.clone(), d.clone())) - &b, m.clone()) {
            let [d, m] = [d, &m].map(|size| self.size(size));
            self.lines.push(format!("(assert (=> (and (>= {d} 1) (>= {m} 1)) (= {outer} {third})))"));
        }
    }

    fn sym(&mut self, sym: &Sym) -> String {
        if let Some(name) = self.names.get(sym) {
            return name.clone();
        }
        let name = format!("s{}", self.names.len());
        self.lines.push(format!("(declare-const {name} Int)"));
        if sym.is_natural() {
            self.lines.push(format!("(assert (>= {name} 0))"));
        }
        self.names.insert(sym.clone(), name.clone());
        name
    }

    /// When the condition is true: connectives stop at the first part that decides, and a
    /// division by zero on the way there makes it neither true nor false.
    pub fn truth(&mut self, cond: &Cond) -> String {
        self.decided(cond, true)
    }

    fn decided(&mut self, cond: &Cond, truth: bool) -> String {
        match cond {
            Cond::True | Cond::False => ((*cond == Cond::True) == truth).to_string(),
            Cond::NonNeg(p) => self.compared(">=", p, truth),
            Cond::Zero(p) => self.compared("=", p, truth),
            Cond::NonZero(p) => self.compared("=", p, !truth),
            Cond::And(parts) | Cond::Or(parts) => {
                let stops = matches!(cond, Cond::Or(_));
                let passing: Vec<String> = parts.iter().map(|part| self.decided(part, !stops)).collect();
                if truth != stops {
                    return applied("and", passing);
                }
                let mut ways = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    let mut way = passing[..at].to_vec();
                    way.push(self.decided(part, stops));
                    ways.push(applied("and", way));
                }
                applied("or", ways)
            }
        }
    }

    fn compared(&mut self, sign: &str, p: &Size, truth: bool) -> String {
        let holds = format!("({sign} {} 0)", self.size(p));
        let mut parts = vec![if truth { holds } else { format!("(not {holds})") }];
        for d in divisors(p) {
            parts.push(format!("(not (= {} 0))", self.size(&d)));
        }
        applied("and", parts)
    }
}

/// `m` and `b` of two quotients `a // d` and `(a - b d) // (m d)`.
fn parts(((a, d), _): &Quotient, ((c, e), _): &Quotient) -> Option<(Size, Size)> {
    Some((e.exact_div(d)?, (a - c).exact_div(d)?))
}

/// What the size divides by, also inside.
pub fn divisors(size: &Size) -> Vec<Size> {
    let mut found = Vec::new();
    for (atom, _) in size.terms().iter().flat_map(|(m, _)| m) {
        let (Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b)) = atom else { continue };
        found.extend(divisors(a));
        found.extend(divisors(b));
        if matches!(atom, Atom::Div(..)) {
            found.push(b.clone());
        }
    }
    found
}

pub fn integer(value: &BigInt) -> String {
    if value.is_negative() { format!("(- {})", value.abs()) } else { value.to_string() }
}

pub fn applied(head: &str, mut args: Vec<String>) -> String {
    if args.len() == 1 && head != "not" {
        return args.remove(0);
    }
    format!("({head} {})", args.join(" "))
}
