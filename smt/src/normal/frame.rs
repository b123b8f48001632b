//! Two combinations with their elements indexed alike: split, strided and reshaped sums.
//!
//! Note [Frames]. Monomials of the same factors, up to their indices, are compared at the
//! integer points `b` of one of them, the frame. Another one, `sum over c of [h(c)] f'(c)`,
//! becomes the row `[g(b)] f(b)`, where `s` and `t` are found by solving the equations
//! between the indices of `f'(c)` and `f(b)`, and `g(b)` says that `s(b)` lies in the
//! range, that `h(s(b))`, that the equations hold for `c = s(b)`, and what else on `b` the
//! solution asks for. However `s` and `t` were found, it is checked that
//! * `s(t(c)) = c`, and for `b = t(c)` the equations hold and what else is asked for,
//!   wherever `h(c)` in the range;
//! * `t(s(b)) = b` and `f'(s(b)) = f(b)`, wherever `g(b)`.
//!
//! So `c -> t(c)` is a bijection onto the points of the row, and both are the same
//! reduction. Then the two sides agree if at each point they have the same elements, as
//! often (of a number: with the same sum of coefficients; of an idempotent monoid: at all).

use num_rational::BigRational;
use num_traits::Zero;
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::simplify;
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::{Subst, children};
use rtv_semantics::term::{Binder, Form, Fun, Reduce, Term};

use super::equations::{Values, equations, operands, skeleton, solved};
use super::monomial::Monomial;
use super::{Normal, ranges};
use crate::encode::divisors;
use crate::proof::{Algebra, Fit, Frame, Member, Proof};

/// Monomials of one frame.
const MAX_ROWS: usize = 12;

/// Frames that are tried for one group.
const MAX_FRAMES: usize = 6;

/// Orders in which the factors of two monomials are paired.
const MAX_PAIRINGS: usize = 12;

/// Cases of guards that are true or false.
const MAX_CASES: usize = 96;

/// Divisors that are looked at as zero and as positive.
const MAX_DIVISORS: usize = 2;

/// A monomial, whether it stands on the left, and its place among all.
type Sided = (Monomial, bool, usize);

/// A monomial at the points of a frame.
struct Row {
    guards: Vec<Cond>,
    number: BigRational,
    left: bool,
}

/// What the rows decided so far come to at a point.
#[derive(Clone, Default)]
struct Tally {
    sum: BigRational,
    left: bool,
    right: bool,
}

impl Normal<'_> {
    /// Whether two scalars are combinations with the same elements; see Note [Frames].
    pub(super) fn reindexed(&mut self, left: &Term, right: &Term) -> Option<Proof> {
        self.reindexed_by_cases(left, right, MAX_DIVISORS)
    }

    /// What is divided by a size that may be 0 is looked at for 0, where the ranges are
    /// empty as a rule, and for other sizes.
    fn reindexed_by_cases(&mut self, left: &Term, right: &Term, cases: usize) -> Option<Proof> {
        let mut open = Vec::new();
        [left, right].into_iter().for_each(|side| self.open_divisors(side, &mut open));
        let Some(divisor) = open.into_iter().next().filter(|_| cases > 0) else {
            return self.alike(left, right).or_else(|| self.ordered(left, right));
        };
        let cond = Cond::le(&divisor, &Size::zero());
        let mut case = |case: Cond| {
            self.given(vec![case], |normal| normal.reindexed_by_cases(left, right, cases - 1)).map(Box::new)
        };
        let (holds, fails) = (Some(case(cond.clone())?), Some(case(cond.clone().negated())?));
        Some(Proof::Cases { cond, holds, fails })
    }

    /// Free divisors that the facts decide nothing about.
    fn open_divisors(&self, term: &Term, into: &mut Vec<Size>) {
        if let Some(size) = term.as_size() {
            for divisor in divisors(size) {
                let free = divisor.syms().iter().all(|sym| sym.kind() == SymKind::Size);
                let decided = || {
                    self.holds(&Cond::le(&Size::one(), &divisor))
                        || self.holds(&Cond::le(&divisor, &Size::zero()))
                };
                if free && !into.contains(&divisor) && !decided() {
                    into.push(divisor);
                }
            }
        }
        children(term).into_iter().for_each(|child| self.open_divisors(child, into));
    }

    fn alike(&mut self, left: &Term, right: &Term) -> Option<Proof> {
        let mut algebras = self.algebras(left);
        algebras.extend(self.algebras(right));
        algebras.dedup();
        algebras.into_iter().find_map(|algebra| {
            let (left, right) = (self.monomials(left, &algebra)?, self.monomials(right, &algebra)?);
            let balanced = self.balanced(left.monomials.clone(), right.monomials.clone(), &algebra);
            let (denominators, frames) = match balanced {
                Some(frames) => (Vec::new(), frames),
                None if algebra == Algebra::Ring => self.balanced_over(left.monomials, right.monomials)?,
                None => return None,
            };
            let (left, right) = (Box::new(left.how), Box::new(right.how));
            Some(Proof::Framed { algebra, left, right, denominators, frames })
        })
    }

    /// Group by group of monomials with the same factors but for their indices.
    pub(super) fn balanced(
        &mut self,
        left: Vec<Monomial>,
        right: Vec<Monomial>,
        algebra: &Algebra,
    ) -> Option<Vec<Frame>> {
        let mut groups: Vec<(Vec<String>, Vec<Sided>)> = Vec::new();
        let sides = left.into_iter().map(|m| (m, true)).chain(right.into_iter().map(|m| (m, false)));
        for (place, (monomial, left)) in sides.enumerate() {
            if monomial.binders.iter().any(|b| b.extent.syms().iter().any(|sym| sym.kind() == SymKind::Group))
            {
                return None;
            }
            let mut key: Vec<String> = monomial.factors.iter().map(skeleton).collect();
            key.sort();
            match groups.iter_mut().find(|(other, _)| *other == key) {
                Some((_, group)) => group.push((monomial, left, place)),
                None => groups.push((key, vec![(monomial, left, place)])),
            }
        }
        let mut frames = Vec::new();
        for (_, group) in groups {
            frames.extend(self.balanced_group(group, algebra)?);
        }
        Some(frames)
    }

    /// Frame by frame, with those that fit into it.
    fn balanced_group(&mut self, mut group: Vec<Sided>, algebra: &Algebra) -> Option<Vec<Frame>> {
        if group.len() > MAX_ROWS {
            return None;
        }
        let mut all = Vec::new();
        while !group.is_empty() {
            let most = group.iter().map(|(m, ..)| m.binders.len()).max().unwrap_or(0);
            let frames = (0..group.len()).filter(|&at| group[at].0.binders.len() == most).take(MAX_FRAMES);
            let frame = frames.into_iter().find_map(|at| self.framed(&group, at, algebra))?;
            group.retain(|(.., place)| frame.members.iter().all(|member| member.place != *place));
            all.push(frame);
        }
        Some(all)
    }

    /// The monomials that fit into one as a frame, if they come to nothing.
    fn framed(&mut self, group: &[Sided], at: usize, algebra: &Algebra) -> Option<Frame> {
        // Its points are integers, not natural numbers only.
        let frame = self.copied(&group[at].0, SymKind::Int);
        let (mut members, mut rows) = (Vec::new(), Vec::new());
        for (k, (monomial, left, place)) in group.iter().enumerate() {
            let fit = if k == at { None } else { self.row(monomial, &frame) };
            let guards = match &fit {
                Some(fit) => fit.guards.clone(),
                None if k == at => [ranges(&frame.binders), frame.guards.clone()].concat(),
                None => continue,
            };
            if guards.iter().all(|guard| self.total(guard)) {
                members.push(Member { place: *place, fit });
                rows.push(Row { guards, number: monomial.coefficient.clone(), left: *left });
            }
        }
        self.cancel(&rows, Tally::default(), algebra, &mut 0).then_some(Frame { frame, members })
    }

    /// The monomial with binders of its own, of the given kind.
    pub(super) fn copied(&mut self, monomial: &Monomial, kind: SymKind) -> Monomial {
        let mut rename = Subst::new();
        let mut binders = Vec::new();
        for Binder { sym, extent } in &monomial.binders {
            let new = Sym::new(self.fresh.id(), kind, sym.name());
            binders.push(Binder { sym: new.clone(), extent: rename.size(extent) });
            rename = rename.with_size(sym, Size::sym(&new));
        }
        Monomial {
            binders,
            guards: monomial.guards.iter().map(|g| rename.cond(g)).collect(),
            coefficient: monomial.coefficient.clone(),
            factors: monomial.factors.iter().map(|f| rename.term(f, self.fresh)).collect(),
        }
    }

    /// How the monomial fits into the frame.
    fn row(&mut self, monomial: &Monomial, frame: &Monomial) -> Option<Fit> {
        let mut pairings = Vec::new();
        pair(&monomial.factors, &frame.factors, &mut Vec::new(), &mut pairings);
        pairings.into_iter().find_map(|pairing| self.paired(monomial, frame, &pairing))
    }

    /// The factors of the monomial with those of the frame at the places given.
    fn paired(&mut self, monomial: &Monomial, frame: &Monomial, pairing: &[usize]) -> Option<Fit> {
        let mut found = Vec::new();
        for (factor, &place) in monomial.factors.iter().zip(pairing) {
            equations(factor, &frame.factors[place], &mut found)?;
        }
        let (there, conditions) = solved(&found, &frame.binders)?;
        let (back, _) = solved(&found, &monomial.binders)?;
        let (there, back) = (self.simple(there), self.simple(back));
        let substitution = |values: &[(Sym, Size)]| {
            values.iter().fold(Subst::new(), |subst, (sym, value)| subst.with_size(sym, value.clone()))
        };
        let (to_frame, from_frame) = (substitution(&there), substitution(&back));
        let hold =
            |subst: &Subst| found.iter().map(|e| Cond::eq(&subst.size(e), &Size::zero())).collect::<Vec<_>>();
        let inside = [ranges(&monomial.binders), monomial.guards.clone()].concat();
        let mut guards: Vec<Cond> = inside.iter().map(|cond| from_frame.cond(cond)).collect();
        guards.extend(hold(&from_frame));
        guards.extend(conditions.iter().cloned());
        guards.retain(|guard| *guard != Cond::True);
        let returns = |values: &[(Sym, Size)], by: &Subst| -> Vec<Cond> {
            values.iter().map(|(sym, value)| Cond::eq(&by.size(value), &Size::sym(sym))).collect()
        };
        let divided = |normal: &Self, values: &[(Sym, Size)]| {
            let mut divisors = values.iter().flat_map(|(_, value)| divisors(value));
            divisors.all(|d| normal.holds(&Cond::ne(&d, &Size::zero())))
        };
        let sound = divided(self, &back)
            && self.given(inside, |normal| {
                let inside = conditions.iter().map(|cond| to_frame.cond(cond)).collect();
                let all = [returns(&back, &to_frame), hold(&to_frame), inside].concat();
                divided(normal, &there) && all.iter().all(|cond| normal.holds(cond))
            })
            && self.given(guards.clone(), |normal| {
                let factors = monomial.factors.iter().zip(pairing);
                returns(&there, &from_frame).iter().all(|cond| normal.holds(cond))
                    && factors.into_iter().all(|(factor, &place)| {
                        let moved = from_frame.term(factor, normal.fresh);
                        normal.same(&moved, &frame.factors[place])
                    })
            });
        sound.then(|| Fit { pairing: pairing.to_vec(), there, back, guards })
    }

    fn simple(&self, values: Values) -> Values {
        let simple = |value: &Size| simplify::size(value, &self.facts, &*self.sizes);
        values.iter().map(|(sym, value)| (sym.clone(), simple(value))).collect()
    }

    /// Whether two terms differ at most in sizes that are equal under the facts.
    pub(super) fn same(&mut self, a: &Term, b: &Term) -> bool {
        if alpha_eq(a, b) {
            return true;
        }
        let alike = match (a.form(), b.form()) {
            (Form::Size(a), Form::Size(b)) => return self.holds(&Cond::eq(a, b)),
            (Form::Reduce(x), Form::Reduce(y)) => return self.same_reduction(x, y),
            (Form::Call(Fun::Scalar(f), _), Form::Call(Fun::Scalar(g), _)) => f == g,
            (Form::Call(Fun::Cast(f), _), Form::Call(Fun::Cast(g), _)) => f == g,
            (Form::Call(Fun::Combine(m), _), Form::Call(Fun::Combine(n), _)) => m == n,
            (Form::Call(Fun::Item(j), _), Form::Call(Fun::Item(k), _)) => j == k,
            (Form::Tuple(_), Form::Tuple(_)) => true,
            (Form::Read(..), Form::Read(..)) | (Form::If(..), Form::If(..)) => true,
            _ => false,
        };
        let (a, b) = (operands(a), operands(b));
        alike && a.len() == b.len() && a.into_iter().zip(b).all(|(a, b)| self.same(a, b))
    }

    fn same_reduction(&mut self, a: &Reduce, b: &Reduce) -> bool {
        let (binders, body) = self.opened(a);
        if a.op != b.op || binders.len() != b.binders.len() {
            return false;
        }
        let mut other = Subst::new();
        for (at, (x, y)) in binders.iter().zip(&b.binders).enumerate() {
            let extent = Cond::eq(&x.extent, &other.size(&y.extent));
            if !self.given(ranges(&binders[..at]), |normal| normal.holds(&extent)) {
                return false;
            }
            other = other.with_size(&y.sym, Size::sym(&x.sym));
        }
        let right = other.term(&b.body, self.fresh);
        self.given(ranges(&binders), |normal| normal.same(&body, &right))
    }

    /// Whether the rows come to nothing at every point, case by case of their guards.
    fn cancel(&mut self, rows: &[Row], tally: Tally, algebra: &Algebra, cases: &mut usize) -> bool {
        *cases += 1;
        if *cases > MAX_CASES {
            return false;
        }
        let Some((row, rest)) = rows.split_first() else {
            let even = match algebra.is_idempotent() {
                true => tally.left == tally.right,
                false => tally.sum.is_zero(),
            };
            return even || self.holds(&Cond::False);
        };
        let guard = Cond::and(row.guards.iter().cloned());
        let mut with = tally.clone();
        match row.left {
            true => (with.sum, with.left) = (with.sum + &row.number, true),
            false => (with.sum, with.right) = (with.sum - &row.number, true),
        }
        let unless = guard.clone().negated();
        let holds = self.holds(&guard);
        let fails = !holds && self.holds(&unless);
        (fails || self.given(vec![guard], |normal| normal.cancel(rest, with, algebra, cases)))
            && (holds || self.given(vec![unless], |normal| normal.cancel(rest, tally, algebra, cases)))
    }
}

/// Every way to pair factors of the same kind, up to a number.
fn pair(from: &[Term], to: &[Term], chosen: &mut Vec<usize>, into: &mut Vec<Vec<usize>>) {
    let Some(next) = from.get(chosen.len()) else {
        into.push(chosen.clone());
        return;
    };
    for place in 0..to.len() {
        let fits = !chosen.contains(&place) && skeleton(next) == skeleton(&to[place]);
        if fits && into.len() < MAX_PAIRINGS {
            chosen.push(place);
            pair(from, to, chosen, into);
            chosen.pop();
        }
    }
}
