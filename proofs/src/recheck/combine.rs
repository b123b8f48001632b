//! Combinations put together anew: the term is read as monomials in the way that the proof
//! tells, each step looked at; what the proof gives as the result is read without any step,
//! and must be the same monomials (see `build.rs`).

use super::agree::{Names, permutations};
use super::tame::number;
use super::{Check, Why, fail};
use num_rational::BigRational;
use num_traits::{One, Zero};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Atom, Size, Sym};
use rtv_semantics::subst::{Subst, free_syms};
use rtv_semantics::term::{Binder, Form, Fun, Monoid, Reduce, Term};
use rtv_semantics::types::Type;
use rtv_smt::{Algebra, Combining, Monomial, ReadAs, Reading};

/// Monomials of one result.
const MAX_MONOMIALS: usize = 200;

/// Binders that are tried in every order.
const PERMUTED: usize = 5;

impl Check<'_, '_> {
    /// The term that a step makes of `term`.
    pub fn combined(&mut self, term: &Term, how: &Combining, facts: &[Cond]) -> Result<Term, Why> {
        let span = term.span();
        match (how, term.form()) {
            (Combining::Kept, _) => Ok(term.clone()),
            (Combining::Inside(parts), Form::Call(Fun::Scalar(fun), args)) => {
                Ok(Term::scalar(*fun, self.all_combined(args, parts, facts)?, span))
            }
            (Combining::Inside(parts), Form::Call(Fun::Cast(to), args)) => {
                Ok(Term::cast(*to, self.all_combined(args, parts, facts)?.remove(0), span))
            }
            (Combining::Inside(parts), Form::Call(Fun::Combine(monoid), args)) => {
                let args = self.all_combined(args, parts, facts)?;
                let [left, right] = args.as_slice() else { return fail("two elements") };
                Ok(Term::combine(monoid.clone(), left.clone(), right.clone(), span))
            }
            (Combining::Inside(parts), Form::Call(Fun::Item(k), args)) => {
                Ok(Term::item(*k, self.all_combined(args, parts, facts)?.remove(0), span))
            }
            (Combining::Inside(parts), Form::Tuple(args)) => {
                Ok(Term::tuple(self.all_combined(args, parts, facts)?, span))
            }
            (Combining::Inside(parts), Form::Read(base, index)) => {
                Ok(Term::read(base.clone(), self.all_combined(index, parts, facts)?, span))
            }
            (Combining::Inside(parts), Form::If(cond, then, other)) => {
                let [in_cond, in_then, in_other] = parts.as_slice() else { return fail("parts of an `if`") };
                let given = |truth: bool| match cond.as_cond() {
                    Some(known) if truth => [facts, &[known]].concat(),
                    Some(known) => [facts, &[known.negated()]].concat(),
                    None => facts.to_vec(),
                };
                let then = self.combined(then, in_then, &given(true))?;
                let other = self.combined(other, in_other, &given(false))?;
                Ok(Term::if_(self.combined(cond, in_cond, facts)?, then, other, span))
            }
            (Combining::Under(binders, inside), Form::Reduce(reduce)) => {
                let body = self.opened(reduce, binders, facts)?;
                let body = self.combined(&body, inside, &[facts, &ranges(binders)].concat())?;
                Ok(Term::reduce(reduce.op.clone(), binders.clone(), body, span))
            }
            (Combining::Negated(rest), Form::Call(Fun::Scalar(Scalar::LogicalNot), args)) => {
                match args[0].form() {
                    Form::Reduce(Reduce { op: op @ (Monoid::Any | Monoid::All), binders, body }) => {
                        let dual = if *op == Monoid::Any { Monoid::All } else { Monoid::Any };
                        let dual = Term::reduce(dual, binders.clone(), negated(body), span);
                        self.combined(&dual, rest, facts)
                    }
                    _ => Ok(negated(&self.combined(&args[0], rest, facts)?)),
                }
            }
            (Combining::Logarithm { argument, sum }, Form::Call(Fun::Scalar(Scalar::Log), args)) => {
                let logarithms = self.logarithms(&args[0], argument, facts)?;
                self.combined(&logarithms, sum, facts)
            }
            (Combining::Combined { algebra, reading, reversed, extremes, after }, _) => {
                if *term.ty() == Type::Size || after.ty() != term.ty() {
                    return fail("a result of the type of the term");
                }
                self.lawful(algebra, term)?;
                let monomials = self.read(term, algebra, reading, facts)?;
                let monomials = self.oriented(monomials, reversed)?;
                let monomials = self.taken_out(monomials, extremes, algebra, facts)?;
                let result = self.flat(after, algebra, facts)?;
                self.balance(monomials, result, algebra, after.ty(), facts)?;
                Ok(after.clone())
            }
            _ => fail("a step that does not fit the term"),
        }
    }

    fn all_combined(
        &mut self,
        terms: &[Term],
        parts: &[Combining],
        facts: &[Cond],
    ) -> Result<Vec<Term>, Why> {
        if terms.len() != parts.len() {
            return fail("as many steps as parts");
        }
        terms.iter().zip(parts).map(|(term, how)| self.combined(term, how, facts)).collect()
    }

    /// Whether terms of this type combine so in the goal's mode.
    pub fn lawful(&self, algebra: &Algebra, term: &Term) -> Result<(), Why> {
        if let Algebra::Monoid(Monoid::Declared(monoid)) = algebra {
            let lawful = monoid.ty() == term.ty() && self.laws(monoid).is_some_and(|laws| laws.commutative);
            return if lawful { Ok(()) } else { fail("an order that counts") };
        }
        let Some(dtype) = term.tensor_type().map(|ty| ty.dtype) else { return fail("scalars") };
        let lawful = match algebra {
            Algebra::Ring => dtype.is_int() || (dtype.is_float() && self.mode == Mode::Real),
            Algebra::Monoid(Monoid::Sum | Monoid::Prod) => match dtype.category() {
                Category::Float => matches!(self.mode, Mode::Reassoc | Mode::Real),
                category => category == Category::Int,
            },
            // The sign of a zero maximum of zeros is open.
            Algebra::Monoid(Monoid::Max | Monoid::Min) => !dtype.is_float() || self.mode == Mode::Real,
            Algebra::Monoid(Monoid::Any | Monoid::All) => dtype == DType::Bool,
            Algebra::Monoid(Monoid::Declared(_)) => false,
        };
        if lawful { Ok(()) } else { fail("an order that counts") }
    }

    /// The body of a reduction with the binders named as given.
    fn opened(&mut self, reduce: &Reduce, binders: &[Binder], facts: &[Cond]) -> Result<Term, Why> {
        let (mut rename, whole) = (Subst::new(), free_syms(&reduce.body));
        if reduce.binders.len() != binders.len() {
            return fail("as many binders");
        }
        for (at, (old, new)) in reduce.binders.iter().zip(binders).enumerate() {
            let taken = whole.contains(&new.sym)
                || self.is_outer(&new.sym, facts)
                || binders[..at].iter().any(|b| b.sym == new.sym)
                || binders.iter().any(|b| b.extent.mentions(&new.sym) && !reduce_mentions(reduce, &old.sym))
                || new.sym.kind() != old.sym.kind();
            if taken || rename.size(&old.extent) != new.extent {
                return fail("binders named anew");
            }
            rename = rename.with_size(&old.sym, Size::sym(&new.sym));
        }
        Ok(rename.term(&reduce.body, &mut self.fresh))
    }

    pub fn read(
        &mut self,
        term: &Term,
        algebra: &Algebra,
        reading: &Reading,
        facts: &[Cond],
    ) -> Result<Vec<Monomial>, Why> {
        if !self.step() {
            return fail("an end within the limit of steps");
        }
        let all = self.read_as(term, algebra, &reading.how, facts)?;
        let Some(kept) = &reading.kept else { return Ok(all) };
        let rises = kept.windows(2).all(|pair| pair[0] < pair[1]);
        if !rises || kept.last().is_some_and(|last| *last >= all.len()) {
            return fail("places of monomials, each once");
        }
        let rest: Vec<Monomial> = kept.iter().map(|&at| all[at].clone()).collect();
        for (at, monomial) in all.iter().enumerate().filter(|(at, _)| !kept.contains(at)) {
            let nothing = *algebra == Algebra::Ring && monomial.coefficient.is_zero();
            let covered = is_idempotent(algebra) && self.covered(monomial, &rest, facts);
            if !nothing && !covered {
                return fail(format!("a reason to drop monomial {at}"));
            }
        }
        Ok(rest)
    }

    /// Copies, or nothing, of an element that another monomial is.
    fn covered(&mut self, monomial: &Monomial, others: &[Monomial], facts: &[Cond]) -> bool {
        let Some(factor) = monomial.factors.first() else { return false };
        let free = free_syms(factor);
        monomial.binders.iter().all(|b| !free.contains(&b.sym))
            && others.iter().any(|other| {
                let plain = other.binders.is_empty() && other.guards.is_empty();
                plain && other.factors.first().is_some_and(|o| self.agree(o, factor, facts))
            })
    }

    fn read_as(
        &mut self,
        term: &Term,
        algebra: &Algebra,
        how: &ReadAs,
        facts: &[Cond],
    ) -> Result<Vec<Monomial>, Why> {
        let args = match term.form() {
            Form::Call(Fun::Scalar(fun), args) => Some((*fun, args.as_slice())),
            _ => None,
        };
        match (how, args) {
            (ReadAs::Neutral, _) if is_neutral(term, algebra) => Ok(Vec::new()),
            (ReadAs::Number, _) if *algebra == Algebra::Ring => match number(term) {
                Some(value) => Ok(vec![monomial(value, Vec::new())]),
                None => fail("a number"),
            },
            (ReadAs::Size, _) if *algebra == Algebra::Ring => self.converted(term, facts),
            (ReadAs::Both(left, right), _) if operands(term, algebra).is_some() => {
                let [a, b] = operands(term, algebra).expect("invariant: just seen");
                let mut all = self.read(a, algebra, left, facts)?;
                all.extend(self.read(b, algebra, right, facts)?);
                Ok(all)
            }
            (ReadAs::Difference(left, right), Some((Scalar::Sub, [a, b]))) if *algebra == Algebra::Ring => {
                let mut all = self.read(a, algebra, left, facts)?;
                all.extend(opposite(self.read(b, algebra, right, facts)?));
                Ok(all)
            }
            (ReadAs::Opposite(inner), Some((Scalar::Neg, [a]))) if *algebra == Algebra::Ring => {
                Ok(opposite(self.read(a, algebra, inner, facts)?))
            }
            (ReadAs::Product(left, right), Some((Scalar::Mul, [a, b]))) if *algebra == Algebra::Ring => {
                let (left, right) =
                    (self.read(a, algebra, left, facts)?, self.read(b, algebra, right, facts)?);
                product(&left, &right)
            }
            (ReadAs::Merged(left, right), Some((Scalar::Mul, [a, b]))) if *algebra == Algebra::Ring => {
                let (left, right) =
                    (self.read(a, algebra, left, facts)?, self.read(b, algebra, right, facts)?);
                self.merged_product(&left, &right, term)
            }
            (ReadAs::Quotient { dividend, divisor }, Some((fun, args))) if *algebra == Algebra::Ring => {
                let left = match (fun, args, dividend) {
                    (Scalar::Div, [a, _], Some(dividend)) => self.read(a, algebra, dividend, facts)?,
                    (Scalar::Reciprocal, [_], None) => vec![monomial(BigRational::one(), Vec::new())],
                    _ => return fail("a quotient"),
                };
                let inverse = self.inverse(&args[args.len() - 1], divisor, facts)?;
                self.merged_product(&left, &[inverse], term)
            }
            (ReadAs::Exponents(exponent), Some((Scalar::Exp, [a]))) if *algebra == Algebra::Ring => {
                Ok(vec![self.exponents(a, exponent, facts)?])
            }
            (ReadAs::Exponential(parts), Some((Scalar::Exp, [a]))) if *algebra == Algebra::Ring => {
                self.exponential(a, parts, facts)
            }
            (ReadAs::After(how, reading), _) => {
                let term = self.combined(term, how, facts)?;
                self.read(&term, algebra, reading, facts)
            }
            (ReadAs::Branches { cond, holds, fails }, _) => {
                let (then, other) = self.branch_terms(term, algebra, cond, facts)?;
                if !self.total(cond, facts) {
                    return fail("a condition that has a truth value");
                }
                let mut all = Vec::new();
                let cases = [(cond.clone(), then, holds), (cond.clone().negated(), other, fails)];
                for (guard, branch, reading) in cases {
                    let given = [facts, std::slice::from_ref(&guard)].concat();
                    let Some(reading) = reading else {
                        if !self.holds(facts, &guard.negated()) {
                            return fail("a branch that is never taken");
                        }
                        continue;
                    };
                    let inside = self.read(&branch, algebra, reading, &given)?;
                    all.extend(guarded(inside, std::slice::from_ref(&guard)));
                }
                Ok(all)
            }
            (ReadAs::Split(parts), _) => {
                let guards: Vec<&[Cond]> = parts.iter().map(|(guards, _)| guards.as_slice()).collect();
                if !is_partition(&guards) {
                    return fail("guards of which one holds");
                }
                let mut all = Vec::new();
                for (guards, reading) in parts {
                    let mut given = facts.to_vec();
                    for guard in guards {
                        if !self.total(guard, &given) {
                            return fail("a condition that has a truth value");
                        }
                        given.push(guard.clone());
                    }
                    let branch = decided(term, guards);
                    all.extend(guarded(self.read(&branch, algebra, reading, &given)?, guards));
                }
                Ok(all)
            }
            (ReadAs::Factor { inner, .. }, _) => {
                let factor = self.combined(term, inner, facts)?;
                if algebra.is_of_values() && !self.finite(&factor, facts) {
                    return fail("finite factor");
                }
                Ok(vec![monomial(BigRational::one(), vec![factor])])
            }
            (ReadAs::Reduction { binders, body, narrowing }, _) => {
                let Form::Reduce(reduce) = term.form() else { return fail("a reduction") };
                if reduce.op != operation(algebra) {
                    return fail("a reduction by the operation");
                }
                let opened = self.opened(reduce, binders, facts)?;
                let inner = self.read(&opened, algebra, body, &[facts, &ranges(binders)].concat())?;
                if inner.len() != narrowing.len() {
                    return fail("steps for each monomial");
                }
                let mut all = Vec::new();
                for (mut monomial, steps) in inner.into_iter().zip(narrowing) {
                    monomial.binders.splice(0..0, binders.iter().cloned());
                    all.extend(self.narrowed(monomial, steps, algebra, facts)?);
                }
                Ok(all)
            }
            _ => fail("a reading that fits the term"),
        }
    }

    /// A converted size, term by term: conversion respects sums and products.
    fn converted(&mut self, term: &Term, facts: &[Cond]) -> Result<Vec<Monomial>, Why> {
        let Form::Call(Fun::Cast(to), args) = term.form() else { return fail("a conversion") };
        let Some(size) = args[0].as_size().cloned() else { return fail("a size") };
        if !self.whole(&size, facts) {
            return fail("a size without failing divisions");
        }
        let factor =
            |atom: &Atom| Term::cast(*to, Term::size(Size::atom(atom.clone()), term.span()), term.span());
        let parts = size.terms().iter().map(|(atoms, coefficient)| {
            let powers = atoms.iter().flat_map(|(atom, power)| (0..*power).map(move |_| factor(atom)));
            monomial(BigRational::from(coefficient.clone()), powers.collect())
        });
        Ok(parts.collect())
    }

    fn exponential(
        &mut self,
        exponent: &Term,
        how: &[Combining],
        facts: &[Cond],
    ) -> Result<Vec<Monomial>, Why> {
        let mut parts = Vec::new();
        summands(exponent, false, &mut parts);
        if parts.len() != how.len() || !parts.iter().all(|part| self.finite(part, facts)) {
            return fail("finite parts of an exponent");
        }
        let mut factors = Vec::new();
        for (part, how) in parts.iter().zip(how) {
            let part = self.combined(part, how, facts)?;
            let span = part.span();
            factors.push(Term::scalar(Scalar::Exp, vec![part], span));
        }
        Ok(vec![monomial(BigRational::one(), factors)])
    }

    /// What a term is where a condition holds, and where it does not.
    fn branch_terms(
        &mut self,
        term: &Term,
        algebra: &Algebra,
        cond: &Cond,
        facts: &[Cond],
    ) -> Result<(Term, Term), Why> {
        if let Form::If(c, then, other) = term.form() {
            return match c.as_cond().is_some_and(|c| c == *cond) {
                true => Ok((then.clone(), other.clone())),
                false => fail("the condition of the `if`"),
            };
        }
        let Form::Call(Fun::Scalar(fun), args) = term.form() else { return fail("branches") };
        let beside = |a: &Term, b: &Term| (a.as_cond().as_ref() == Some(cond)).then(|| b.clone());
        let [a, b] = args.as_slice() else { return fail("two operands") };
        let Some(rest) = beside(a, b).or_else(|| beside(b, a)) else { return fail("the condition") };
        if !self.finite(&rest, facts) {
            return fail("an operand that may stay out");
        }
        let neutral = operation(algebra).neutral(&Type::scalar(DType::Bool), term.span());
        match (fun, algebra) {
            (Scalar::LogicalAnd, Algebra::Monoid(Monoid::Any)) => Ok((rest, neutral)),
            (Scalar::LogicalOr, Algebra::Monoid(Monoid::All)) => Ok((neutral, rest)),
            _ => fail("a connective that the algebra takes apart"),
        }
    }

    /// The same binders in some order, and under them the same guards and factors.
    pub fn same_monomial(&mut self, a: &Monomial, b: &Monomial, facts: &[Cond]) -> bool {
        a.coefficient == b.coefficient && self.same_elements(a, b, facts)
    }

    /// The same, whatever the coefficients are.
    pub fn same_elements(&mut self, a: &Monomial, b: &Monomial, facts: &[Cond]) -> bool {
        let sizes = |m: &Monomial| (m.binders.len(), m.factors.len());
        if sizes(a) != sizes(b) || a.binders.len() > PERMUTED {
            return false;
        }
        permutations(a.binders.len()).into_iter().any(|order| self.same_in_order(a, b, &order, facts))
    }

    fn same_in_order(&mut self, a: &Monomial, b: &Monomial, order: &[usize], facts: &[Cond]) -> bool {
        let (mut names, mut given) = (Names::default(), facts.to_vec());
        for (x, &place) in a.binders.iter().zip(order) {
            let y = &b.binders[place];
            let (m, n) = (names.left.size(&x.extent), names.right.size(&y.extent));
            let later = order.iter().skip_while(|k| **k != place).any(|&k| n.mentions(&b.binders[k].sym));
            if later || !self.holds(&given, &Cond::eq(&m, &n)) {
                return false;
            }
            let index = self.index(&x.sym, &m, &mut given);
            names.left = names.left.with_size(&x.sym, index.clone());
            names.right = names.right.with_size(&y.sym, index);
        }
        let guards = |subst: &Subst, m: &Monomial| -> Vec<Cond> {
            m.guards.iter().map(|guard| subst.cond(guard)).collect()
        };
        let (left, right) = (guards(&names.left, a), guards(&names.right, b));
        let implied = |check: &mut Self, from: &[Cond], to: &[Cond]| {
            let known = [&given[..], from].concat();
            to.iter().all(|goal| check.holds(&known, goal))
        };
        if !implied(self, &left, &right) || !implied(self, &right, &left) {
            return false;
        }
        let given = [given, left].concat();
        let mut open: Vec<&Term> = b.factors.iter().collect();
        a.factors.iter().all(|factor| {
            let found = open.iter().position(|other| self.same(factor, other, &names, &given));
            found.map(|k| open.remove(k)).is_some()
        })
    }

    /// The monomial with sizes in place of symbols.
    pub fn replaced(&mut self, monomial: &Monomial, subst: &Subst) -> Monomial {
        let mut new = monomial.clone();
        new.guards = new.guards.iter().map(|guard| subst.cond(guard)).filter(|g| *g != Cond::True).collect();
        new.factors = new.factors.iter().map(|factor| subst.term(factor, &mut self.fresh)).collect();
        new
    }
}

/// Whether a symbol stands anywhere in the monomial.
fn occurs(sym: &Sym, monomial: &Monomial) -> bool {
    monomial.binders.iter().any(|b| b.sym == *sym || b.extent.mentions(sym))
        || monomial.guards.iter().any(|guard| guard.mentions(sym))
        || monomial.factors.iter().any(|factor| free_syms(factor).contains(sym))
}

fn reduce_mentions(reduce: &Reduce, sym: &Sym) -> bool {
    reduce.binders.iter().any(|b| b.extent.mentions(sym))
}

pub fn operation(algebra: &Algebra) -> Monoid {
    match algebra {
        Algebra::Ring => Monoid::Sum,
        Algebra::Monoid(op) => op.clone(),
    }
}

/// The two sides of the algebra's operation.
pub fn operands<'t>(term: &'t Term, algebra: &Algebra) -> Option<[&'t Term; 2]> {
    match term.form() {
        Form::Call(Fun::Scalar(fun), _) if operation(algebra).scalar() != Some(*fun) => None,
        Form::Call(Fun::Combine(monoid), _) if operation(algebra).declared() != Some(monoid) => None,
        Form::Call(Fun::Scalar(_) | Fun::Combine(_), args) => match args.as_slice() {
            [a, b] => Some([a, b]),
            _ => None,
        },
        _ => None,
    }
}

pub fn is_idempotent(algebra: &Algebra) -> bool {
    matches!(operation(algebra), Monoid::Max | Monoid::Min | Monoid::Any | Monoid::All)
}

/// The ranges of binders as facts.
pub fn ranges(binders: &[Binder]) -> Vec<Cond> {
    binders.iter().map(|b| Cond::within(&Size::zero(), &Size::sym(&b.sym), &b.extent)).collect()
}

pub fn monomial(coefficient: BigRational, factors: Vec<Term>) -> Monomial {
    Monomial { binders: Vec::new(), guards: Vec::new(), coefficient, factors }
}

pub fn opposite(mut monomials: Vec<Monomial>) -> Vec<Monomial> {
    monomials.iter_mut().for_each(|m| m.coefficient = -m.coefficient.clone());
    monomials
}

pub fn guarded(mut monomials: Vec<Monomial>, guards: &[Cond]) -> Vec<Monomial> {
    monomials.iter_mut().for_each(|m| drop(m.guards.splice(0..0, guards.iter().cloned())));
    monomials
}

pub fn product(left: &[Monomial], right: &[Monomial]) -> Result<Vec<Monomial>, Why> {
    if left.len() * right.len() > MAX_MONOMIALS {
        return fail("an end within the limit of monomials");
    }
    let apart = |m: &Monomial, n: &Monomial| m.binders.iter().all(|b| !occurs(&b.sym, n));
    if left.iter().any(|m| right.iter().any(|n| !apart(m, n) || !apart(n, m))) {
        return fail("binders of its own for each factor");
    }
    let pairs = left.iter().flat_map(|m| {
        right.iter().map(move |n| Monomial {
            binders: [m.binders.as_slice(), &n.binders].concat(),
            guards: [m.guards.as_slice(), &n.guards].concat(),
            coefficient: &m.coefficient * &n.coefficient,
            factors: [m.factors.as_slice(), &n.factors].concat(),
        })
    });
    Ok(pairs.collect())
}

/// The literal that changes nothing; over the modes that reorder floats a zero of any sign.
pub fn is_neutral(term: &Term, algebra: &Algebra) -> bool {
    if let Some(monoid) = operation(algebra).declared() {
        return alpha_eq(term, &monoid.identity);
    }
    let Form::Lit(lit) = term.form() else { return false };
    let neutral = operation(algebra).neutral(term.ty(), term.span());
    let same = matches!(neutral.form(), Form::Lit(other) if other == lit);
    same || (operation(algebra) == Monoid::Sum && number(term).is_some_and(|value| value.is_zero()))
}

pub fn ratio(args: &[Term]) -> Option<BigRational> {
    let [a, b] = args else { return None };
    let (a, b) = (number(a)?, number(b)?);
    (!b.is_zero()).then(|| a / b)
}

pub fn converted_size(term: &Term) -> Option<Size> {
    match term.form() {
        Form::Call(Fun::Cast(_), args) => args[0].as_size().cloned(),
        _ => None,
    }
}

fn negated(term: &Term) -> Term {
    match term.form() {
        Form::Call(Fun::Scalar(Scalar::LogicalNot), args) if args.len() == 1 => args[0].clone(),
        _ => Term::scalar(Scalar::LogicalNot, vec![term.clone()], term.span()),
    }
}

/// The parts of a sum, each with its sign.
fn summands(term: &Term, negative: bool, into: &mut Vec<Term>) {
    let span = term.span();
    match term.form() {
        Form::Call(Fun::Scalar(Scalar::Add), args) => args.iter().for_each(|a| summands(a, negative, into)),
        Form::Call(Fun::Scalar(Scalar::Sub), args) if args.len() == 2 => {
            summands(&args[0], negative, into);
            summands(&args[1], !negative, into);
        }
        Form::Call(Fun::Scalar(Scalar::Neg), args) => args.iter().for_each(|a| summands(a, !negative, into)),
        _ if negative => into.push(Term::scalar(Scalar::Neg, vec![term.clone()], span)),
        _ => into.push(term.clone()),
    }
}

/// Whether the lists of guards are the leaves of a tree of conditions and their negations.
fn is_partition(parts: &[&[Cond]]) -> bool {
    if let [[]] = parts {
        return true;
    }
    let Some(cond) = parts.first().and_then(|first| first.first()).cloned() else { return false };
    let other = cond.clone().negated();
    let side = |wanted: &Cond| -> Vec<&[Cond]> {
        let own = parts.iter().filter(|part| part.first() == Some(wanted));
        own.map(|part| &part[1..]).collect()
    };
    let (holds, fails) = (side(&cond), side(&other));
    holds.len() + fails.len() == parts.len() && is_partition(&holds) && is_partition(&fails)
}

/// The term where the guards hold: its branches on them are chosen, outside of binders of
/// their symbols.
fn decided(term: &Term, guards: &[Cond]) -> Term {
    let span = term.span();
    let again = |t: &Term| decided(t, guards);
    match term.form() {
        Form::If(cond, then, other) => match cond.as_cond() {
            Some(cond) if guards.contains(&cond) => again(then),
            Some(cond) if guards.contains(&cond.clone().negated()) => again(other),
            _ => Term::if_(again(cond), again(then), again(other), span),
        },
        Form::Call(Fun::Scalar(fun), args) => Term::scalar(*fun, args.iter().map(again).collect(), span),
        Form::Call(Fun::Cast(dtype), args) => Term::cast(*dtype, again(&args[0]), span),
        Form::Call(Fun::Combine(monoid), args) => {
            Term::combine(monoid.clone(), again(&args[0]), again(&args[1]), span)
        }
        Form::Call(Fun::Item(k), args) => Term::item(*k, again(&args[0]), span),
        Form::Tuple(parts) => Term::tuple(parts.iter().map(again).collect(), span),
        Form::Reduce(Reduce { op, binders, body }) => {
            let free: Vec<Cond> = guards
                .iter()
                .filter(|guard| binders.iter().all(|b| !guard.mentions(&b.sym)))
                .cloned()
                .collect();
            Term::reduce(op.clone(), binders.clone(), decided(body, &free), span)
        }
        _ => term.clone(),
    }
}
