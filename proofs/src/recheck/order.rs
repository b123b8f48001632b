//! Combinations by a monoid that take the same elements in the same order.
//!
//! Both sides are sequences of elements, by the laws of the monoid: of a reduction over one
//! index its elements, cut in two where a condition of its body changes. Every element is
//! looked at, since the laws are about values; then the sequences are compared from their
//! beginnings, as many elements at once as both are known to have.

use super::combine::{is_neutral, ranges};
use super::{Check, Why, fail};
use num_traits::{One, Signed};
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Atom, Size, Sym, SymKind};
use rtv_semantics::subst::Subst;
use rtv_semantics::term::{Binder, Form, Fun, Monoid, Term};
use rtv_smt::Algebra;

/// Parts of one sequence.
const MAX_PARTS: usize = 60;

/// The elements at the indices below a length.
#[derive(Clone)]
struct Run {
    sym: Sym,
    length: Size,
    element: Term,
}

impl Check<'_, '_> {
    pub fn in_order(&mut self, sides: [&Term; 2], op: &Monoid, facts: &[Cond]) -> Result<(), Why> {
        let lawful = op.declared().is_some_and(|monoid| {
            self.laws(monoid).is_some() && sides.iter().all(|side| side.ty() == monoid.ty())
        });
        if !lawful {
            return fail("a monoid whose laws are known");
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        self.runs(sides[0], op, facts, &mut left)?;
        self.runs(sides[1], op, facts, &mut right)?;
        left.reverse();
        right.reverse();
        for _ in 0..2 * MAX_PARTS {
            let (Some(a), Some(b)) = (self.next(&mut left, facts), self.next(&mut right, facts)) else {
                let rest = [self.next(&mut left, facts), self.next(&mut right, facts)];
                return match (left.is_empty() && right.is_empty(), rest) {
                    (true, [None, None]) => Ok(()),
                    _ => fail("as many elements on both sides"),
                };
            };
            let common = self.common(&a.length, &b.length, facts)?;
            self.same_run(&a, &b, &common, facts)?;
            for (side, run) in [(&mut left, a), (&mut right, b)] {
                side.pop();
                if run.length != common {
                    side.push(self.after(&run, &common));
                }
            }
        }
        fail("an end within the limit of steps")
    }

    /// The first run that may have an element; the runs stand in the order from last to first.
    fn next(&mut self, runs: &mut Vec<Run>, facts: &[Cond]) -> Option<Run> {
        while let Some(run) = runs.last() {
            if !self.holds(facts, &Cond::le(&run.length, &Size::zero())) {
                return Some(run.clone());
            }
            runs.pop();
        }
        None
    }

    /// The number of elements that both have: a length that is not above the other one.
    fn common(&mut self, m: &Size, n: &Size, facts: &[Cond]) -> Result<Size, Why> {
        for (one, other) in [(m, n), (n, m)] {
            if self.holds(facts, &Cond::non_neg(one.clone())) && self.holds(facts, &Cond::le(one, other)) {
                return Ok(one.clone());
            }
        }
        match self.holds(facts, &Cond::eq(m, n)) {
            true => Ok(m.clone()),
            false => fail("which of two sequences of elements is longer"),
        }
    }

    fn same_run(&mut self, a: &Run, b: &Run, count: &Size, facts: &[Cond]) -> Result<(), Why> {
        let mut given = facts.to_vec();
        let index = self.index(&a.sym, count, &mut given);
        let mut at =
            |run: &Run| Subst::new().with_size(&run.sym, index.clone()).term(&run.element, &mut self.fresh);
        let (x, y) = (at(a), at(b));
        if self.agree(&x, &y, &given) { Ok(()) } else { fail("the same elements in the same order") }
    }

    /// The run without its first elements.
    fn after(&mut self, run: &Run, count: &Size) -> Run {
        let sym = self.fresh.sym(&run.sym);
        let moved = Subst::new().with_size(&run.sym, &Size::sym(&sym) + count);
        let element = moved.term(&run.element, &mut self.fresh);
        Run { sym, length: &run.length - count, element }
    }

    fn runs(&mut self, term: &Term, op: &Monoid, facts: &[Cond], into: &mut Vec<Run>) -> Result<(), Why> {
        if !self.step() {
            return fail("an end within the limit of steps");
        }
        match term.form() {
            _ if is_neutral(term, &Algebra::Monoid(op.clone())) => Ok(()),
            Form::Call(Fun::Combine(monoid), args) if op.declared() == Some(monoid) => {
                args.iter().try_for_each(|arg| self.runs(arg, op, facts, into))
            }
            Form::Reduce(reduce) if reduce.op == *op && reduce.binders.len() == 1 => {
                let Binder { sym, extent } = &reduce.binders[0];
                if !self.whole(extent, facts) {
                    return fail("a range without failing divisions");
                }
                let new = self.fresh.sym(sym);
                let named = Subst::new().with_size(sym, Size::sym(&new));
                let element = named.term(&reduce.body, &mut self.fresh);
                self.split(Run { sym: new, length: extent.clone(), element }, op, facts, into)
            }
            _ => {
                let sym = self.fresh.sym(&Sym::new(0, SymKind::Index, "k"));
                self.split(Run { sym, length: Size::one(), element: term.clone() }, op, facts, into)
            }
        }
    }

    /// A run in two where a condition of its elements changes.
    fn split(&mut self, run: Run, op: &Monoid, facts: &[Cond], into: &mut Vec<Run>) -> Result<(), Why> {
        if into.len() >= MAX_PARTS || !self.step() {
            return fail("an end within the limit of steps");
        }
        let inside =
            [facts, &ranges(&[Binder { sym: run.sym.clone(), extent: run.length.clone() }])].concat();
        let run = Run { element: self.settled(&run.element, &inside), ..run };
        if is_neutral(&run.element, &Algebra::Monoid(op.clone())) {
            return Ok(());
        }
        if let Some(at) = self.turn(&run, facts, &inside) {
            let high = self.after(&run, &at);
            self.split(Run { length: at, ..run }, op, facts, into)?;
            return self.split(high, op, facts, into);
        }
        if !self.finite(&run.element, &inside) {
            return fail("elements that are values");
        }
        into.push(run);
        Ok(())
    }

    /// Where in a run a condition on the index, which is open there, changes.
    fn turn(&mut self, run: &Run, facts: &[Cond], inside: &[Cond]) -> Option<Size> {
        let mut sides = Vec::new();
        turning(&run.element, &run.sym, &mut sides);
        sides.into_iter().find_map(|(p, at)| {
            let cond = Cond::NonNeg(p);
            let decided = self.holds(inside, &cond) || self.holds(inside, &cond.clone().negated());
            let within = [Cond::non_neg(at.clone()), Cond::le(&at, &run.length)];
            let cuts = self.total(&cond, inside) && within.iter().all(|cond| self.holds(facts, cond));
            (cuts && !decided).then_some(at)
        })
    }

    /// The term behind conditions on sizes that the facts decide.
    fn settled(&mut self, term: &Term, facts: &[Cond]) -> Term {
        let span = term.span();
        match term.form() {
            Form::If(cond, then, other) => match cond.as_cond() {
                Some(known) if self.holds(facts, &known) => self.settled(then, facts),
                Some(known) if self.holds(facts, &known.clone().negated()) => self.settled(other, facts),
                _ => Term::if_(cond.clone(), self.settled(then, facts), self.settled(other, facts), span),
            },
            Form::Tuple(parts) => {
                Term::tuple(parts.iter().map(|part| self.settled(part, facts)).collect(), span)
            }
            Form::Call(Fun::Scalar(fun), args) => {
                Term::scalar(*fun, args.iter().map(|arg| self.settled(arg, facts)).collect(), span)
            }
            _ => term.clone(),
        }
    }
}

/// What is compared with 0 in conditions on the index, and the place at which that changes.
fn turning(term: &Term, sym: &Sym, into: &mut Vec<(Size, Size)>) {
    let parts = match term.form() {
        Form::If(cond, then, other) => {
            let mut open: Vec<Cond> = cond.as_cond().into_iter().collect();
            while let Some(cond) = open.pop() {
                match cond {
                    Cond::NonNeg(p) => into.extend(unit(&p, sym).map(|(rises, rest)| {
                        let at = if rises { -&rest } else { &rest + &Size::one() };
                        (p, at)
                    })),
                    Cond::And(parts) | Cond::Or(parts) => open.extend(parts),
                    Cond::True | Cond::False | Cond::Zero(_) | Cond::NonZero(_) => {}
                }
            }
            vec![then, other]
        }
        Form::Tuple(parts) | Form::Call(Fun::Scalar(_), parts) => parts.iter().collect(),
        // Its binders may hide the index.
        _ => Vec::new(),
    };
    parts.into_iter().for_each(|part| turning(part, sym, into));
}

/// `p = k + rest` (true) or `p = rest - k` (false), with no other `k` in `p`.
fn unit(p: &Size, k: &Sym) -> Option<(bool, Size)> {
    let alone = |m: &[(Atom, u32)]| matches!(m, [(Atom::Sym(s), 1)] if s == k);
    let (_, coefficient) = p.terms().iter().find(|(m, _)| alone(m))?;
    let rest = p - &Size::sym(k).scale(coefficient);
    (coefficient.abs().is_one() && !rest.mentions(k)).then(|| (coefficient.is_positive(), rest))
}
