//! Simplification of sizes and terms under facts.
//!
//! Under every assignment that satisfies the facts, the result has the value of the
//! argument wherever the argument has one; the undefined value of the reals counts as a
//! value here and is not lost. It may have a value where the argument ends in an error (a
//! branch, a division or a read that does not matter is dropped): whether a term is
//! defined is a question to the term as written, see [`crate::defined`].

use crate::alpha::alpha_eq;
use crate::arith::{monomial_size, quotient};
use crate::dtype::DType;
use crate::entail::{Cond, Entails};
use crate::integers::{Known, from_size};
use crate::scalar::Scalar;
use crate::size::{Atom, Monomial, Size};
use crate::subst::{children, lets};
use crate::term::{Binder, Form, Fun, Lit, Loop, Reduce, Term, Var};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};
use std::cmp::Reverse;

/// Rounds of rewriting of one size.
const ROUNDS: usize = 4;
/// Steps of one polynomial division.
const STEPS: usize = 32;

/// The size with divisions by positive divisors carried out, common factors
/// cancelled, and decided minima and maxima replaced.
pub fn size(size: &Size, facts: &[Cond], engine: &dyn Entails) -> Size {
    let under = Under { facts, engine };
    let mut current = size.clone();
    for _ in 0..ROUNDS {
        let next = current.map_atoms(&|atom| under.atom(atom));
        if next == current {
            break;
        }
        current = next;
    }
    current
}

struct Under<'a> {
    facts: &'a [Cond],
    engine: &'a dyn Entails,
}

impl Under<'_> {
    fn holds(&self, cond: &Cond) -> bool {
        self.engine.entails(self.facts, cond)
    }

    fn positive(&self, d: &Size) -> bool {
        self.holds(&Cond::le(&Size::one(), d))
    }

    fn atom(&self, atom: &Atom) -> Option<Size> {
        match atom {
            Atom::Sym(_) => None,
            Atom::Div(a, d) => self.division(a, d),
            Atom::Min(a, b) => self.extremum(a, b, true),
            Atom::Max(a, b) => self.extremum(a, b, false),
        }
    }

    fn extremum(&self, a: &Size, b: &Size, least: bool) -> Option<Size> {
        if self.holds(&Cond::le(a, b)) {
            return Some(if least { a.clone() } else { b.clone() });
        }
        if self.holds(&Cond::le(b, a)) {
            return Some(if least { b.clone() } else { a.clone() });
        }
        // min(a + c, b + c) = min(a, b) + c
        let shared = Size::from_terms(a.terms().iter().filter(|t| b.terms().contains(t)).cloned());
        if shared.is_zero() {
            return None;
        }
        let (a, b) = (a - &shared, b - &shared);
        Some(&shared + &if least { a.minimum(&b) } else { a.maximum(&b) })
    }

    fn division(&self, a: &Size, d: &Size) -> Option<Size> {
        if let Some(d) = d.as_const() {
            return if d.is_positive() { self.by_constant(a, &d) } else { None };
        }
        if self.positive(d) {
            return self.by_positive(a, d);
        }
        let negated = -d;
        self.positive(&negated).then(|| (-a).floor_div(&negated))
    }

    fn by_constant(&self, a: &Size, d: &BigInt) -> Option<Size> {
        if let Some(whole) = self.within_one_block(a, &Size::int(d.clone())) {
            return Some(whole);
        }
        // The coefficients nearest to zero: (3*x + 7) // 4 = x + 1 + (3 - x) // 4.
        let half = d.div_floor(&BigInt::from(2));
        let near = |c: &BigInt| (c + &half).div_floor(d);
        let whole = Size::from_terms(a.terms().iter().map(|(m, c)| (m.clone(), near(c))));
        if !whole.is_zero() {
            let d = Size::int(d.clone());
            let rest = a - &(&whole * &d);
            if let Some(few) = self.within_one_block(&rest, &d) {
                return Some(&whole + &few);
            }
        }
        let (x, p, rest) = inner_division(a)?;
        (rest.as_const().is_some() && self.positive(&p)).then(|| merge(&x, &p, &rest, &Size::int(d.clone())))
    }

    /// The quotient where the dividend lies in `-d..2*d`.
    fn within_one_block(&self, a: &Size, d: &Size) -> Option<Size> {
        let from = |k: i64| Cond::le(&(d * &Size::from(k)), a);
        let below = |k: i64| Cond::lt(a, &(d * &Size::from(k)));
        if self.holds(&from(0)) {
            if self.holds(&below(1)) {
                return Some(Size::zero());
            }
            return (self.holds(&from(1)) && self.holds(&below(2))).then(Size::one);
        }
        (self.holds(&below(0)) && self.holds(&from(-1))).then(|| Size::from(-1))
    }

    /// Division by a symbolic `d >= 1`; `None` if nothing changes.
    fn by_positive(&self, a: &Size, d: &Size) -> Option<Size> {
        for nearest in [false, true] {
            let (whole, rest) = divide(a, d, nearest);
            if let Some(few) = self.within_one_block(&rest, d) {
                return Some(&whole + &few);
            }
        }
        if let Some(whole) = self.by_factors(a, d) {
            return Some(whole);
        }
        let (whole, rest) = divide(a, d, false);
        if let Some((rest, d)) = self.cancelled(&rest, d) {
            return Some(&whole + &rest.floor_div(&d));
        }
        if let Some((x, p, c)) = inner_division(&rest)
            && c.as_const().is_some()
            && self.positive(&p)
        {
            return Some(&whole + &merge(&x, &p, &c, d));
        }
        (!whole.is_zero()).then(|| &whole + &rest.floor_div(d))
    }

    /// `a // (g*e) = (a // g) // e`, where `a // g` comes out without remainder term.
    fn by_factors(&self, a: &Size, d: &Size) -> Option<Size> {
        let [(monomial, coefficient)] = d.terms() else {
            return None;
        };
        let mut factors: Vec<Size> = monomial.iter().map(|(atom, _)| Size::atom(atom.clone())).collect();
        if !coefficient.is_one() {
            factors.push(Size::int(coefficient.clone()));
        }
        if monomial.len() + factors.len() < 2 {
            return None;
        }
        factors.iter().find_map(|g| {
            let e = exact_quotient(d, g)?;
            if e.is_one() || !self.positive(g) || !self.positive(&e) {
                return None;
            }
            let (whole, rest) = divide(a, g, false);
            let few = self.within_one_block(&rest, g)?;
            let inner = &whole + &few;
            Some(match e.as_const() {
                Some(e) => inner.floor_div(&Size::int(e)),
                None => self.by_positive(&inner, &e).unwrap_or_else(|| inner.floor_div(&e)),
            })
        })
    }

    /// Both sides without the positive factors that all their terms share.
    fn cancelled(&self, a: &Size, d: &Size) -> Option<(Size, Size)> {
        let mut terms = a.terms().iter().chain(d.terms());
        let (first, coefficient) = terms.next()?;
        let mut common: Monomial = first.clone();
        let mut content = coefficient.abs();
        for (monomial, coefficient) in terms {
            content = content.gcd(coefficient);
            common.retain_mut(|(atom, power)| {
                let there = monomial.iter().find(|(a, _)| a == atom).map_or(0, |(_, p)| *p);
                *power = (*power).min(there);
                *power > 0
            });
        }
        common.retain(|(atom, _)| self.positive(&Size::atom(atom.clone())));
        let factor = monomial_size(&common).scale(&content);
        if factor.is_one() {
            return None;
        }
        Some((exact_quotient(a, &factor)?, exact_quotient(d, &factor)?))
    }
}

/// `(x // p + c) // d = (x + p*c) // (p*d)` for positive `p`, `d`.
fn merge(x: &Size, p: &Size, c: &Size, d: &Size) -> Size {
    (x + &(p * c)).floor_div(&(p * d))
}

/// `a = x // p + rest`, if there is one division, with coefficient one.
fn inner_division(a: &Size) -> Option<(Size, Size, Size)> {
    a.terms().iter().find_map(|(m, c)| match m.as_slice() {
        [(Atom::Div(x, p), 1)] if c.is_one() => {
            let rest = a - &monomial_size(m);
            Some((x.clone(), p.clone(), rest))
        }
        _ => None,
    })
}

/// `size / factor` for a factor of one term that divides every term.
fn exact_quotient(size: &Size, factor: &Size) -> Option<Size> {
    let [(monomial, coefficient)] = factor.terms() else {
        return None;
    };
    let mut parts = Vec::new();
    for (m, c) in size.terms() {
        let (q, r) = c.div_rem(coefficient);
        if !r.is_zero() {
            return None;
        }
        let rest = if m == monomial { Monomial::new() } else { divide_monomial(m, monomial)? };
        parts.push((rest, q));
    }
    Some(Size::from_terms(parts))
}

fn divide_monomial(whole: &Monomial, part: &Monomial) -> Option<Monomial> {
    if whole == part { Some(Monomial::new()) } else { quotient(whole, part) }
}

/// `a = d*whole + rest`, by the leading term of `d` in a graded order. Coefficients
/// divide by floor, or to the nearest.
fn divide(a: &Size, d: &Size, nearest: bool) -> (Size, Size) {
    let order = |m: &Monomial| (m.iter().map(|(_, p)| *p).sum::<u32>(), Reverse(m.clone()));
    let Some((lead, by)) = d.terms().iter().max_by_key(|(m, _)| order(m)) else {
        return (Size::zero(), a.clone());
    };
    let (mut whole, mut rest) = (Size::zero(), a.clone());
    for _ in 0..STEPS {
        let step = rest.terms().iter().find_map(|(m, c)| {
            let cofactor = divide_monomial(m, lead)?;
            let half = if nearest { by.abs().div_floor(&BigInt::from(2)) } else { BigInt::zero() };
            let shifted = if by.is_negative() { c - half } else { c + half };
            let q = shifted.div_floor(by);
            (!q.is_zero()).then(|| Size::from_terms([(cofactor, q)]))
        });
        let Some(step) = step else { break };
        rest = &rest - &(&step * d);
        whole = &whole + &step;
    }
    (whole, rest)
}

/// A scalar or tensor term with its sizes simplified, conditions on sizes decided
/// and boolean constants folded. Inside a branch its condition is a fact, under a
/// binder its range.
pub fn term(term: &Term, facts: &[Cond], engine: &dyn Entails) -> Term {
    Terms { facts: facts.to_vec(), engine }.term(term)
}

struct Terms<'a> {
    facts: Vec<Cond>,
    engine: &'a dyn Entails,
}

impl Terms<'_> {
    fn size(&self, s: &Size) -> Size {
        size(s, &self.facts, self.engine)
    }

    /// With questions to the facts at this place.
    fn integers<R>(&self, f: impl FnOnce(Known) -> R) -> R {
        f(Known { holds: &|cond| self.engine.entails(&self.facts, cond) })
    }

    /// A term whose parts are simplified, with the sizes in it simplified again.
    fn sizes(&self, term: Term) -> Term {
        let span = term.span();
        match term.form() {
            Form::Size(s) => Term::size(self.size(s), span),
            Form::Call(Fun::Cast(dtype), args) if dtype.is_int() && args[0].as_size().is_some() => {
                let size = args[0].as_size().map(|s| self.size(s)).expect("invariant: a size");
                from_size(size, *dtype, span)
            }
            Form::Call(Fun::Scalar(fun), args) if args.iter().all(|a| a.as_size().is_some()) => {
                Term::scalar(*fun, args.iter().map(|a| self.sizes(a.clone())).collect(), span)
            }
            _ => term,
        }
    }

    fn terms(&mut self, terms: &[Term]) -> Vec<Term> {
        terms.iter().map(|t| self.term(t)).collect()
    }

    /// `f` with more facts.
    fn given<R>(&mut self, facts: Vec<Cond>, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.facts.len();
        self.facts.extend(facts);
        let result = f(self);
        self.facts.truncate(before);
        result
    }

    fn term(&mut self, term: &Term) -> Term {
        let span = term.span();
        match term.form() {
            Form::Size(s) => Term::size(self.size(s), span),
            Form::Lit(_) | Form::Var(_) => term.clone(),
            Form::Call(Fun::Scalar(fun), args) => self.scalar(*fun, args, term),
            Form::Call(Fun::Cast(dtype), args) => match self.terms(args).as_slice() {
                [arg] => self.integers(|known| known.cast(*dtype, arg.clone(), span)),
                _ => term.clone(),
            },
            Form::Call(Fun::Item(k), args) => match self.terms(args).as_slice() {
                [arg] => Term::item(*k, arg.clone(), span),
                _ => term.clone(),
            },
            Form::Call(Fun::Op(instance), args) => Term::call(instance.clone(), self.terms(args), span),
            Form::Call(Fun::Combine(monoid), args) => match self.terms(args).as_slice() {
                [left, right] => Term::combine(monoid.clone(), left.clone(), right.clone(), span),
                _ => term.clone(),
            },
            Form::Read(base, index) => {
                let (base, index) = (self.term(base), self.terms(index));
                let index = self.integers(|known| index.into_iter().map(|i| known.index(i)).collect());
                Term::read(base, index, span)
            }
            Form::Comp(binders, body) => {
                let (binders, body) = self.under(binders, body);
                Term::comp(binders, body, span)
            }
            Form::Reduce(Reduce { op, binders, body }) => {
                let (binders, body) = self.under(binders, body);
                Term::reduce(op.clone(), binders, body, span)
            }
            Form::If(c, a, b) => self.branch(c, a, b, term),
            Form::Let(..) => {
                let (chain, body) = lets(term);
                let new: Vec<(&Var, Term)> = chain.into_iter().map(|(v, t)| (v, self.term(t))).collect();
                let body = self.term(body);
                new.into_iter().rev().fold(body, |b, (v, t)| Term::let_(v.clone(), t, b, span))
            }
            Form::Tuple(parts) => Term::tuple(self.terms(parts), span),
            Form::Loop(l) => {
                let state = l.state.iter().map(|(var, init)| (var.clone(), self.term(init))).collect();
                let (mut counters, step) = self.under(l.counter.as_slice(), &l.step);
                // Of the condition it is not known whether a step was taken.
                let (counter, condition) = (counters.pop(), l.condition.clone());
                Term::loop_(Loop { state, counter, condition, step }, span)
            }
            Form::Write(_) => term.clone(),
        }
    }

    fn under(&mut self, binders: &[Binder], body: &Term) -> (Vec<Binder>, Term) {
        let outer = self.facts.clone();
        let mut new = Vec::new();
        for Binder { sym, extent } in binders {
            // The extent stands outside of the scope of the symbol.
            let range = Cond::lt(&Size::sym(sym), extent);
            new.push(Binder { sym: sym.clone(), extent: self.size(extent) });
            self.facts.retain(|fact| !fact.mentions(sym));
            if !extent.mentions(sym) {
                self.facts.push(range);
            }
        }
        let body = self.term(body);
        self.facts = outer;
        (new, body)
    }

    fn branch(&mut self, c: &Term, a: &Term, b: &Term, whole: &Term) -> Term {
        let c = self.term(c);
        if let Form::Lit(Lit::Bool(taken)) = c.form() {
            return self.term(if *taken { a } else { b });
        }
        let a = self.given(known(&c, true), |s| s.term(a));
        let b = self.given(known(&c, false), |s| s.term(b));
        if alpha_eq(&a, &b) && never_undefined(&c) {
            return a;
        }
        Term::if_(c, a, b, whole.span())
    }

    fn scalar(&mut self, fun: Scalar, args: &[Term], whole: &Term) -> Term {
        let span = whole.span();
        let args = match (fun, args) {
            // The truth of the second operand only matters where the first does not decide;
            // an undefined one matters everywhere, and so does a read out of range.
            (Scalar::LogicalAnd | Scalar::LogicalOr, [a, b])
                if is_bool(a) && (b.as_cond().is_some() || (never_undefined(b) && !reads(b))) =>
            {
                let a = self.term(a);
                let b = self.given(known(&a, fun == Scalar::LogicalAnd), |s| s.term(b));
                vec![a, b]
            }
            _ => self.terms(args),
        };
        let new = folded(fun, &args)
            .or_else(|| self.integers(|known| known.call(fun, &args, span)))
            .map_or_else(|| Term::scalar(fun, args, span), |new| self.sizes(new));
        match new.as_cond() {
            Some(Cond::True) => Term::bool(true, span),
            Some(Cond::False) => Term::bool(false, span),
            Some(cond) => match self.engine.decide(&self.facts, &cond) {
                Some(truth) => Term::bool(truth, span),
                None => new,
            },
            None => new,
        }
    }
}

/// The conditions on sizes that hold where the boolean scalar is `truth`.
pub fn known(scalar: &Term, truth: bool) -> Vec<Cond> {
    if let Some(cond) = scalar.as_cond() {
        return vec![if truth { cond } else { cond.negated() }];
    }
    match (scalar.form(), truth) {
        (Form::Call(Fun::Scalar(Scalar::LogicalAnd), args), true)
        | (Form::Call(Fun::Scalar(Scalar::LogicalOr), args), false)
            if args.iter().all(is_bool) =>
        {
            args.iter().flat_map(|a| known(a, truth)).collect()
        }
        (Form::Call(Fun::Scalar(Scalar::LogicalNot), args), _) if args.iter().all(is_bool) => {
            args.iter().flat_map(|a| known(a, !truth)).collect()
        }
        _ => Vec::new(),
    }
}

fn is_bool(term: &Term) -> bool {
    term.tensor_type().is_some_and(|t| t.dtype == DType::Bool)
}

/// Whether an element is read somewhere in a scalar.
fn reads(term: &Term) -> bool {
    matches!(term.form(), Form::Read(..)) || children(term).into_iter().any(reads)
}

/// Whether a scalar can never be the undefined value of the reals: nothing in it
/// divides, takes a root or a logarithm, or mentions an infinity.
fn never_undefined(term: &Term) -> bool {
    use Scalar::*;
    let all = |terms: &[Term]| terms.iter().all(never_undefined);
    match term.form() {
        Form::Size(_) | Form::Var(_) | Form::Lit(Lit::Bool(_) | Lit::Int(_) | Lit::Decimal(_) | Lit::Pi) => {
            true
        }
        Form::Read(base, index) => matches!(base.form(), Form::Var(_)) && all(index),
        Form::Call(Fun::Cast(_), args) => all(args),
        Form::Call(Fun::Scalar(fun), args) => {
            let safe = matches!(
                fun,
                Add | Sub
                    | Mul
                    | Neg
                    | Abs
                    | Maximum
                    | Minimum
                    | Eq
                    | Ne
                    | Lt
                    | Le
                    | Gt
                    | Ge
                    | LogicalAnd
                    | LogicalOr
                    | LogicalNot
                    | LogicalXor
            );
            safe && all(args)
        }
        Form::If(c, a, b) => [c, a, b].into_iter().all(never_undefined),
        _ => false,
    }
}

/// Boolean laws with constants.
fn folded(fun: Scalar, args: &[Term]) -> Option<Term> {
    let constant = |t: &Term| match t.form() {
        Form::Lit(Lit::Bool(b)) => Some(*b),
        _ => None,
    };
    match (fun, args) {
        (Scalar::LogicalAnd | Scalar::LogicalOr, [a, b]) if is_bool(a) && is_bool(b) => {
            let absorbing = fun == Scalar::LogicalOr;
            match (constant(a), constant(b)) {
                (Some(c), _) if c != absorbing => Some(b.clone()),
                (_, Some(c)) if c != absorbing => Some(a.clone()),
                (Some(_), _) if never_undefined(b) => Some(a.clone()),
                (_, Some(_)) if never_undefined(a) => Some(b.clone()),
                _ => None,
            }
        }
        (Scalar::LogicalNot, [a]) if is_bool(a) => match a.form() {
            Form::Lit(Lit::Bool(b)) => Some(Term::bool(!b, a.span())),
            Form::Call(Fun::Scalar(Scalar::LogicalNot), inner) if is_bool(&inner[0]) => {
                Some(inner[0].clone())
            }
            _ => None,
        },
        _ => None,
    }
}
