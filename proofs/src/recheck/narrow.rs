//! The guards of one monomial used up, step by step.
//!
//! `[guards]` counts a guard that has no truth value as one that does not hold, so that
//! guards are a set and may be read in any order.

use super::combine::{is_idempotent, ranges};
use super::{Check, Why, fail};
use rtv_semantics::entail::Cond;
use rtv_semantics::size::Size;
use rtv_semantics::subst::{Subst, free_syms};
use rtv_semantics::term::Binder;
use rtv_smt::{Algebra, Monomial, Narrowing, Rule};

impl Check<'_, '_> {
    /// What the steps make of a monomial, the last one split off first.
    pub fn narrowed(
        &mut self,
        monomial: Monomial,
        steps: &[Narrowing],
        algebra: &Algebra,
        facts: &[Cond],
    ) -> Result<Vec<Monomial>, Why> {
        let (mut pending, mut done) = (vec![monomial], Vec::new());
        for step in steps {
            let Some(monomial) = pending.pop() else { return fail("a monomial for each step") };
            match step {
                Narrowing::Done => done.push(monomial),
                Narrowing::To(rule, parts) => {
                    self.follows(&monomial, rule, parts, algebra, facts)?;
                    pending.extend(parts.iter().rev().cloned());
                }
            }
        }
        if pending.is_empty() { Ok(done) } else { fail("a step for each monomial") }
    }

    /// Whether a rule makes the parts of the monomial.
    fn follows(
        &mut self,
        monomial: &Monomial,
        rule: &Rule,
        parts: &[Monomial],
        algebra: &Algebra,
        facts: &[Cond],
    ) -> Result<(), Why> {
        // A part keeps the names of the monomial's binders, or some of them.
        let named = |part: &Monomial| {
            let mut own = monomial.binders.iter();
            part.binders.iter().all(|b| own.any(|other| other.sym == b.sym))
        };
        if !parts.iter().all(named) {
            return fail("the names of the binders");
        }
        let inside = [facts, &ranges(&monomial.binders)].concat();
        let wanted = match rule {
            Rule::Follows(at) => {
                let mut rest = monomial.clone();
                let guard = taken(&mut rest.guards, *at)?;
                self.shown(&[&inside[..], &rest.guards].concat(), &guard)?;
                vec![rest]
            }
            Rule::Nothing => {
                self.shown(&[&inside[..], &monomial.guards].concat(), &Cond::False)?;
                Vec::new()
            }
            Rule::Conjunction(at) => {
                let mut new = monomial.clone();
                let Cond::And(all) = taken(&mut new.guards, *at)? else { return fail("a conjunction") };
                new.guards.splice(at..at, all);
                vec![new]
            }
            Rule::Alternatives(at, ways) => self.alternatives(monomial, *at, ways)?,
            Rule::Value(at, value) => vec![self.valued(monomial, *at, value, parts, facts)?],
            Rule::Reindexed { at, there, back, extent } => {
                vec![self.reindexed(monomial, *at, (there, back, extent), parts, facts)?]
            }
            Rule::Each(at) => self.written_out(monomial, *at, parts.len())?,
            Rule::Idle(at) => {
                let mut rest = monomial.clone();
                let Binder { sym, extent } = taken(&mut rest.binders, *at)?;
                let used = rest.factors.iter().any(|f| free_syms(f).contains(&sym))
                    || rest.guards.iter().any(|g| g.mentions(&sym))
                    || rest.binders.iter().any(|b| b.extent.mentions(&sym));
                if used || !is_idempotent(algebra) {
                    return fail("copies that count once");
                }
                let inside = [facts, &ranges(&rest.binders)].concat();
                self.shown(&inside, &Cond::le(&Size::one(), &extent))?;
                vec![rest]
            }
        };
        let same = wanted.len() == parts.len()
            && wanted.iter().zip(parts).all(|(a, b)| self.same_monomial(a, b, facts));
        if same { Ok(()) } else { fail("the monomial that the rule makes") }
    }

    pub fn shown(&mut self, facts: &[Cond], goal: &Cond) -> Result<(), Why> {
        match self.holds(facts, goal) {
            true => Ok(()),
            false => fail(format!("a proof of `{goal}`")),
        }
    }

    /// A copy for each way in which a guard holds, without those before it.
    fn alternatives(&mut self, monomial: &Monomial, at: usize, ways: &[Cond]) -> Result<Vec<Monomial>, Why> {
        let mut rest = monomial.clone();
        let guard = taken(&mut rest.guards, at)?;
        let as_written = matches!(&guard, Cond::Or(parts) if parts.as_slice() == ways);
        if !as_written {
            let any = Cond::or(ways.iter().cloned());
            self.shown(std::slice::from_ref(&guard), &any)?;
            self.shown(std::slice::from_ref(&any), &guard)?;
        }
        let mut copies = Vec::new();
        for (k, way) in ways.iter().enumerate() {
            let mut copy = rest.clone();
            copy.guards.insert(at, way.clone());
            copy.guards.extend(ways[..k].iter().map(|way| way.clone().negated()));
            copies.push(copy);
        }
        Ok(copies)
    }

    /// One monomial for each of a few values of a binder.
    fn written_out(&mut self, monomial: &Monomial, at: usize, count: usize) -> Result<Vec<Monomial>, Why> {
        let mut rest = monomial.clone();
        let Binder { sym, extent } = taken(&mut rest.binders, at)?;
        let as_many = i64::try_from(count).is_ok_and(|count| count > 0 && extent.as_i64() == Some(count));
        if !as_many || rest.binders.iter().any(|b| b.extent.mentions(&sym)) {
            return fail("a range that is written out");
        }
        let at = |k: usize| Subst::new().with_size(&sym, Size::from(k as i64));
        Ok((0..count).map(|k| self.replaced(&rest, &at(k))).collect())
    }

    /// One binder has one value: what is left without it. That the value lies in the range
    /// is shown, or is a guard of what the proof gives.
    fn valued(
        &mut self,
        monomial: &Monomial,
        at: usize,
        value: &Size,
        parts: &[Monomial],
        facts: &[Cond],
    ) -> Result<Monomial, Why> {
        let mut rest = monomial.clone();
        let Binder { sym, extent } = taken(&mut rest.binders, at)?;
        if value.mentions(&sym) || rest.binders.iter().any(|b| b.extent.mentions(&sym)) {
            return fail("a value that does not depend on the binder");
        }
        let all = [facts, &ranges(&monomial.binders), &monomial.guards].concat();
        self.shown(&all, &Cond::eq(&Size::sym(&sym), value))?;
        let inside = Cond::within(&Size::zero(), value, &extent);
        let mut new = self.replaced(&rest, &Subst::new().with_size(&sym, value.clone()));
        if parts.iter().any(|part| part.guards.contains(&inside)) {
            new.guards.insert(0, inside);
        } else {
            self.shown(&[facts, &ranges(&rest.binders)].concat(), &inside)?;
        }
        Ok(new)
    }

    /// Another binder runs: the maps are inverse to each other between the old indices at
    /// which the guards hold and the new ones at which what is left of them does.
    fn reindexed(
        &mut self,
        monomial: &Monomial,
        at: usize,
        (there, back, extent): (&Size, &Size, &Size),
        parts: &[Monomial],
        facts: &[Cond],
    ) -> Result<Monomial, Why> {
        let Some(Binder { sym, extent: old }) = monomial.binders.get(at).cloned() else {
            return fail("a binder");
        };
        let ([part], others) = (parts, [&monomial.binders[..at], &monomial.binders[at + 1..]].concat())
        else {
            return fail("one monomial");
        };
        if extent.mentions(&sym) || others.iter().any(|b| b.extent.mentions(&sym)) {
            return fail("ranges that do not depend on the binder");
        }
        let index = Size::sym(&sym);
        let at_image = |cond: &Cond, image: &Size| Subst::new().with_size(&sym, image.clone()).cond(cond);
        let within = |extent: &Size| Cond::within(&Size::zero(), &index, extent);
        let outside = [facts, &ranges(&others)].concat();
        let returns = |first: &Size, second: &Size| {
            Cond::eq(&Subst::new().with_size(&sym, second.clone()).size(first), &index)
        };
        let mut new = self.replaced(monomial, &Subst::new().with_size(&sym, there.clone()));
        new.binders[at].extent = extent.clone();
        // From the new indices to the old ones: what is left of the guards holds.
        let kept = [&outside[..], &[within(extent)], &part.guards].concat();
        self.shown(&kept, &at_image(&within(&old), there))?;
        self.shown(&kept, &returns(back, there))?;
        for guard in &new.guards {
            self.shown(&kept, guard)?;
        }
        // And back.
        let given = [&outside[..], &[within(&old)], &monomial.guards].concat();
        self.shown(&given, &at_image(&within(extent), back))?;
        self.shown(&given, &returns(there, back))?;
        for guard in &part.guards {
            self.shown(&given, &at_image(guard, back))?;
        }
        new.guards = part.guards.clone();
        Ok(new)
    }
}

fn taken<T>(list: &mut Vec<T>, at: usize) -> Result<T, Why> {
    if at < list.len() { Ok(list.remove(at)) } else { fail("a place that there is") }
}
