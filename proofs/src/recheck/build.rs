//! The result of a step against the monomials that it is put together from.
//!
//! The result is read by its structure alone. Monomials are compared in one form: sizes that
//! count copies as one factor, exponentials of multiples of one number as one, and no factor
//! beside its inverse, be it a sum over binders that nothing else depends on.

use super::calculate::{inverse, inverse_of, merged};
use super::combine::{
    converted_size, guarded, is_neutral, monomial, operands, operation, opposite, product, ranges, ratio,
};
use super::tame::number;
use super::{Check, Why, fail};
use num_rational::BigRational;
use num_traits::{One, Zero};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Atom, Size, Sym};
use rtv_semantics::subst::{Subst, free_syms};
use rtv_semantics::term::{Binder, Form, Fun, Monoid, Term};
use rtv_semantics::types::Type;
use rtv_smt::{Algebra, Monomial};
use std::collections::BTreeSet;

impl Check<'_, '_> {
    /// The monomials with some binders counted from their ends.
    pub fn oriented(
        &mut self,
        mut monomials: Vec<Monomial>,
        reversed: &[Vec<usize>],
    ) -> Result<Vec<Monomial>, Why> {
        for (monomial, binders) in monomials.iter_mut().zip(reversed) {
            for &binder in binders {
                *monomial = self.reversed(monomial, binder)?;
            }
        }
        Ok(monomials)
    }

    /// `k` as `extent - 1 - k`.
    fn reversed(&mut self, monomial: &Monomial, at: usize) -> Result<Monomial, Why> {
        let Some(Binder { sym, extent }) = monomial.binders.get(at).cloned() else { return fail("a binder") };
        let tied = |b: &Binder| b.extent.mentions(&sym) || extent.mentions(&b.sym);
        if monomial.binders.iter().any(tied) {
            return fail("a range that nothing depends on");
        }
        let value = &(&extent - &Size::one()) - &Size::sym(&sym);
        Ok(self.replaced(monomial, &Subst::new().with_size(&sym, value)))
    }

    /// Whether the monomials combine to what the result does.
    pub fn balance(
        &mut self,
        monomials: Vec<Monomial>,
        result: Vec<Monomial>,
        algebra: &Algebra,
        ty: &Type,
        facts: &[Cond],
    ) -> Result<(), Why> {
        let mut expanded = Vec::new();
        for monomial in monomials {
            expanded.extend(self.expanded(monomial, algebra, facts)?);
        }
        let mut form = |all: Vec<Monomial>| -> Vec<Monomial> {
            all.into_iter().map(|monomial| self.formed(monomial, algebra, ty, facts)).collect()
        };
        let (monomials, mut open) = (form(expanded), form(result));
        let mut rest = Vec::new();
        for monomial in monomials {
            match (0..open.len()).find(|&k| self.same_monomial(&monomial, &open[k], facts)) {
                Some(found) => drop(open.remove(found)),
                None => rest.push(monomial),
            }
        }
        if *algebra == Algebra::Ring {
            return self.cancel(rest, open, facts);
        }
        match (rest.is_empty(), open.is_empty()) {
            (true, true) => Ok(()),
            (false, _) => fail("each monomial in the result"),
            (true, false) => fail("no more monomials than there are"),
        }
    }

    /// Whether sums of monomials are equal, those with the same elements added.
    fn cancel(&mut self, left: Vec<Monomial>, right: Vec<Monomial>, facts: &[Cond]) -> Result<(), Why> {
        let mut sums: Vec<Monomial> = Vec::new();
        for monomial in left.into_iter().chain(opposite(right)) {
            match (0..sums.len()).find(|&k| self.same_elements(&monomial, &sums[k], facts)) {
                Some(found) => sums[found].coefficient += monomial.coefficient,
                None => sums.push(monomial),
            }
        }
        match sums.iter().all(|monomial| monomial.coefficient.is_zero()) {
            true => Ok(()),
            false => fail("each monomial in the result, and no others"),
        }
    }

    /// The monomial as several, where a factor of it is a sum, as `exp(log(a + b))` is, or a
    /// number.
    fn expanded(
        &mut self,
        monomial: Monomial,
        algebra: &Algebra,
        facts: &[Cond],
    ) -> Result<Vec<Monomial>, Why> {
        let is_sum = |factor: &Term| match factor.form() {
            Form::Reduce(reduce) => reduce.op == Monoid::Sum,
            Form::Call(Fun::Scalar(Scalar::Div), args) => ratio(args).is_some(),
            Form::Call(Fun::Scalar(fun), _) => matches!(fun, Scalar::Add | Scalar::Mul),
            _ => false,
        };
        if *algebra != Algebra::Ring || !monomial.factors.iter().any(is_sum) {
            return Ok(vec![monomial]);
        }
        let inside = [facts, &ranges(&monomial.binders), &monomial.guards].concat();
        let (sums, factors): (Vec<Term>, Vec<Term>) = monomial.factors.into_iter().partition(is_sum);
        let mut all = vec![Monomial { factors, ..monomial }];
        for sum in sums {
            all = product(&all, &self.flat(&sum, &Algebra::Ring, &inside)?)?;
        }
        Ok(all)
    }

    /// The form in which monomials are compared.
    fn formed(&mut self, monomial: Monomial, algebra: &Algebra, ty: &Type, facts: &[Cond]) -> Monomial {
        let (Algebra::Ring, Some(ty)) = (algebra, ty.as_tensor()) else { return monomial };
        let dtype = ty.dtype;
        let counted = self.counted_out(monomial, dtype, facts);
        if !self.calculates(dtype) || !counted.factors.iter().any(takes_part) {
            return Monomial { factors: sizes_together(counted.factors), ..counted };
        }
        let split = counted.factors.iter().flat_map(size_factors).collect();
        let merged = self.sums_cancelled(Monomial { factors: merged(split), ..counted }, facts);
        Monomial { factors: sizes_together(merged.factors), ..merged }
    }

    /// Binders on which nothing depends as a number of copies.
    fn counted_out(&mut self, mut monomial: Monomial, dtype: DType, facts: &[Cond]) -> Monomial {
        let mut at = 0;
        while at < monomial.binders.len() {
            let Binder { sym, extent } = monomial.binders[at].clone();
            let used = monomial.factors.iter().any(|f| free_syms(f).contains(&sym))
                || monomial.guards.iter().any(|g| g.mentions(&sym))
                || monomial.binders.iter().any(|b| b.extent.mentions(&sym) || extent.mentions(&b.sym));
            if used {
                at += 1;
                continue;
            }
            monomial.binders.remove(at);
            let natural = self.holds(facts, &Cond::non_neg(extent.clone()));
            let count = if natural { extent } else { extent.maximum(&Size::zero()) };
            match count.as_const() {
                Some(known) => monomial.coefficient *= BigRational::from(known),
                None => {
                    let count = Term::size(count, Span::default());
                    monomial.factors.push(Term::cast(dtype, count, Span::default()));
                }
            }
        }
        monomial
    }

    /// The monomial without sums over some of its binders that stand beside their inverse.
    fn sums_cancelled(&mut self, mut monomial: Monomial, facts: &[Cond]) -> Monomial {
        let loose = monomial.factors.iter().filter(|factor| !is_bound(&monomial, &free_syms(factor)));
        let inverses: Vec<Term> = loose.filter(|factor| inverse_of(factor).is_some()).cloned().collect();
        for inverse in inverses {
            monomial = self.without_sum(&monomial, &inverse, facts).unwrap_or(monomial);
        }
        monomial
    }

    /// The monomial without a sum and its inverse. What is left does not stand in the ranges of
    /// the sum any more: so it is looked at whether the factors that depend on no binder are
    /// finite, among them the inverse. Then the sum is not 0, its ranges have an element, and
    /// what is finite there is finite.
    fn without_sum(&mut self, monomial: &Monomial, inverse: &Term, facts: &[Cond]) -> Option<Monomial> {
        let sum = inverse_of(inverse).filter(|sum| matches!(sum.form(), Form::Reduce(_)))?;
        let [sum] = <[Monomial; 1]>::try_from(self.flat(sum, &Algebra::Ring, facts).ok()?).ok()?;
        let group = groups(monomial).into_iter().find(|group| self.same_elements(group, &sum, facts))?;
        let guards = monomial.guards.iter().filter(|guard| !is_bound(monomial, &syms(guard))).cloned();
        let given: Vec<Cond> = facts.iter().cloned().chain(guards).collect();
        let mut loose = monomial.factors.iter().filter(|factor| !is_bound(monomial, &free_syms(factor)));
        if sum.coefficient.is_zero() || !loose.all(|factor| self.finite(factor, &given)) {
            return None;
        }
        let mut rest = monomial.clone();
        rest.coefficient /= sum.coefficient;
        rest.binders.retain(|b| group.binders.iter().all(|gone| gone.sym != b.sym));
        rest.guards.retain(|guard| !is_bound(&group, &syms(guard)));
        let at = rest.factors.iter().position(|factor| alpha_eq(factor, inverse))?;
        rest.factors.remove(at);
        rest.factors.retain(|factor| !is_bound(&group, &free_syms(factor)));
        Some(rest)
    }

    /// A term as monomials by its structure alone; in a ring and by the laws of a declared monoid
    /// every factor is looked at where it stands.
    pub fn flat(&mut self, term: &Term, algebra: &Algebra, facts: &[Cond]) -> Result<Vec<Monomial>, Why> {
        if !self.step() {
            return fail("an end within the limit of steps");
        }
        let op = operation(algebra);
        let ring = *algebra == Algebra::Ring;
        if is_neutral(term, algebra) {
            return Ok(Vec::new());
        }
        if ring && let Some(value) = number(term) {
            return Ok(vec![monomial(value, Vec::new())]);
        }
        if let Some([a, b]) = operands(term, algebra) {
            let mut all = self.flat(a, algebra, facts)?;
            all.extend(self.flat(b, algebra, facts)?);
            return Ok(all);
        }
        match term.form() {
            Form::Call(Fun::Scalar(Scalar::Mul), args) if ring && args.len() == 2 => {
                let (left, right) =
                    (self.flat(&args[0], algebra, facts)?, self.flat(&args[1], algebra, facts)?);
                if self.infinite.is_some() && (left.is_empty() || right.is_empty()) {
                    return fail("a product without 0 beside what may be infinite");
                }
                product(&left, &right)
            }
            Form::Call(Fun::Scalar(Scalar::Div), args) if ring && ratio(args).is_some() => {
                Ok(vec![monomial(ratio(args).unwrap_or_else(BigRational::one), Vec::new())])
            }
            Form::If(cond, then, other) if cond.as_cond().is_some() => {
                let cond = cond.as_cond().unwrap_or(Cond::True);
                if !self.total(&cond, facts) {
                    return fail("a condition that has a truth value");
                }
                let mut all = Vec::new();
                for (guard, branch) in [(cond.clone(), then), (cond.negated(), other)] {
                    let given = [facts, std::slice::from_ref(&guard)].concat();
                    all.extend(guarded(self.flat(branch, algebra, &given)?, &[guard]));
                }
                Ok(all)
            }
            Form::Reduce(reduce) if reduce.op == op => {
                let mut binders = Vec::new();
                let mut rename = Subst::new();
                for Binder { sym, extent } in &reduce.binders {
                    let new = self.fresh.sym(sym);
                    binders.push(Binder { sym: new.clone(), extent: rename.size(extent) });
                    rename = rename.with_size(sym, Size::sym(&new));
                }
                let body = rename.term(&reduce.body, &mut self.fresh);
                let mut all = self.flat(&body, algebra, &[facts, &ranges(&binders)].concat())?;
                all.iter_mut().for_each(|m| drop(m.binders.splice(0..0, binders.iter().cloned())));
                Ok(all)
            }
            _ if algebra.is_of_values()
                && !(ring && self.may_be_infinite(term))
                && !self.finite(term, facts) =>
            {
                fail("a factor of the result that is finite")
            }
            _ => Ok(vec![monomial(BigRational::one(), vec![term.clone()])]),
        }
    }
}

fn syms(cond: &Cond) -> BTreeSet<Sym> {
    let mut all = BTreeSet::new();
    cond.collect_syms(&mut all);
    all
}

/// Whether one of the symbols is a binder of the monomial.
fn is_bound(monomial: &Monomial, syms: &BTreeSet<Sym>) -> bool {
    monomial.binders.iter().any(|binder| syms.contains(&binder.sym))
}

/// Whether the factor may cancel another one, or come together with it.
fn takes_part(factor: &Term) -> bool {
    inverse_of(factor).is_some() || matches!(factor.form(), Form::Call(Fun::Scalar(Scalar::Exp), _))
}

/// A converted product of sizes, and the inverse of one, as one factor for each.
fn size_factors(factor: &Term) -> Vec<Term> {
    let (size, inverted) = match inverse_of(factor) {
        Some(inner) => (converted_size(inner), true),
        None => (converted_size(factor), false),
    };
    let Some(size) = size else { return vec![factor.clone()] };
    let [(atoms, one)] = size.terms() else { return vec![factor.clone()] };
    if !one.is_one() {
        return vec![factor.clone()];
    }
    let converted = |atom: &Atom| {
        let size =
            Term::cast(factor.dtype(), Term::size(Size::atom(atom.clone()), factor.span()), factor.span());
        if inverted { inverse(&size) } else { size }
    };
    atoms.iter().flat_map(|(atom, power)| (0..*power).map(move |_| converted(atom))).collect()
}

/// The factors that are converted sizes as one.
fn sizes_together(factors: Vec<Term>) -> Vec<Term> {
    let (sizes, mut rest): (Vec<Term>, Vec<Term>) =
        factors.into_iter().partition(|factor| converted_size(factor).is_some());
    if let Some(first) = sizes.first() {
        let product = Size::product(&sizes.iter().filter_map(converted_size).collect::<Vec<_>>());
        rest.push(Term::cast(first.dtype(), Term::size(product, first.span()), first.span()));
    }
    rest
}

/// The parts of a monomial with binders of their own, on which no other part depends.
fn groups(monomial: &Monomial) -> Vec<Monomial> {
    let mut groups: Vec<BTreeSet<Sym>> = Vec::new();
    let extents = monomial.binders.iter().map(|b| {
        let mut own = b.extent.syms();
        own.insert(b.sym.clone());
        own
    });
    let all = extents.chain(monomial.guards.iter().map(syms)).chain(monomial.factors.iter().map(free_syms));
    for part in all.filter(|part| is_bound(monomial, part)) {
        let is_near = |group: &BTreeSet<Sym>| {
            monomial.binders.iter().any(|b| group.contains(&b.sym) && part.contains(&b.sym))
        };
        let (near, far): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_near);
        groups = far;
        groups.push(near.into_iter().flatten().chain(part.iter().cloned()).collect());
    }
    let binders = |group: &BTreeSet<Sym>| -> Vec<Binder> {
        monomial.binders.iter().filter(|b| group.contains(&b.sym)).cloned().collect()
    };
    let part = |group: BTreeSet<Sym>| {
        let mut own = Monomial { binders: binders(&group), ..monomial.clone() };
        own.coefficient = BigRational::one();
        let frame = own.clone();
        own.guards.retain(|guard| is_bound(&frame, &syms(guard)));
        own.factors.retain(|factor| is_bound(&frame, &free_syms(factor)));
        own
    };
    groups.into_iter().map(part).collect()
}
