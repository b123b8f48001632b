//! What is known of one factor under the facts, and under the hypotheses on values.
//!
//! Each answer holds for all symbols that satisfy the facts and all values that satisfy
//! the hypotheses; what is not shown counts as not known.

use rtv_semantics::subst::Fresh;
use rtv_semantics::term::Term;

use super::Normal;
use crate::encode::{Data, Enc, Encoder, Known};
use crate::instances::instances;
use crate::proof::{Question, Tame};
use crate::query::{Id, Query};

/// A sign that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Positive,
    AtLeastZero,
    Negative,
}

impl Normal<'_> {
    /// Finite, defined and free of errors.
    pub(super) fn is_tame(&self, factor: &Term) -> bool {
        self.tame(factor).is_some()
    }

    /// The same, and why.
    pub(super) fn tame(&self, factor: &Term) -> Option<Tame> {
        self.never(factor, wild).map(|question| Tame { question: question.map(Question::Built) })
    }

    /// The sign of a real factor that is tame.
    pub(super) fn sign(&self, factor: &Term) -> Option<Sign> {
        let outside = |contrary: fn(&mut Encoder, Id, Id) -> Id| {
            let shown = self.never(factor, |probe, enc| {
                let Data::Real { val, .. } = enc.data else { return vec![probe.q.bool(true)] };
                let zero = probe.q.ratio(0, 1);
                let mut flags = wild(probe, enc);
                flags.push(contrary(probe, val, zero));
                flags
            });
            shown.is_some()
        };
        if outside(|probe, val, zero| probe.q.le(val, zero)) {
            return Some(Sign::Positive);
        }
        if outside(|probe, val, zero| probe.q.lt(val, zero)) {
            return Some(Sign::AtLeastZero);
        }
        outside(|probe, val, zero| probe.q.le(zero, val)).then_some(Sign::Negative)
    }

    pub(super) fn is_positive(&self, factor: &Term) -> bool {
        self.sign(factor) == Some(Sign::Positive)
    }

    /// Whether none of the flags of an encoded factor can be true, and the question that was
    /// asked, if one was.
    fn never(&self, factor: &Term, flags: impl Fn(&mut Encoder, Enc) -> Vec<Id>) -> Option<Option<Query>> {
        let without = self.excluded(factor, &flags, &[]);
        match self.hypotheses.is_empty() {
            true => without,
            false => without.or_else(|| self.excluded(factor, &flags, self.hypotheses)),
        }
    }

    fn excluded(
        &self,
        factor: &Term,
        flags: &impl Fn(&mut Encoder, Enc) -> Vec<Id>,
        hypotheses: &[Term],
    ) -> Option<Option<Query>> {
        let known = Known { facts: self.facts.clone(), sizes: self.sizes.clone() };
        let mut probe = Encoder::new(self.mode, known);
        let yes = probe.q.bool(true);
        hypotheses.iter().for_each(|hypothesis| probe.assume(yes, hypothesis));
        let mut fresh = Fresh::above(hypotheses.iter().chain([factor])).and_above(&self.facts);
        for (range, instance) in instances(hypotheses, &[factor], &mut fresh) {
            let (range, _) = probe.sizes.cond(&mut probe.q, &range);
            probe.assume(range, &instance);
        }
        let enc = probe.term(factor).ok()?;
        let flags = flags(&mut probe, enc);
        probe.excluded(&flags)
    }
}

/// Where a factor is infinite, undefined or an error.
fn wild(_: &mut Encoder, enc: Enc) -> Vec<Id> {
    match enc.data {
        Data::Real { pinf, ninf, .. } => vec![pinf, ninf, enc.err, enc.bot],
        _ => vec![enc.err, enc.bot],
    }
}
