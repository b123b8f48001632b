//! What is known of one factor under the facts, and under the hypotheses on values.
//!
//! Each answer holds for all symbols that satisfy the facts and all values that satisfy
//! the hypotheses; what is not shown counts as not known.

use rtv_semantics::program::Mode;
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::Term;

use super::Normal;
use crate::encode::{Data, Encoder, Known};
use crate::instances::instances;
use crate::proof::{Question, Tame};
use crate::query::{Id, Query};

/// The sign of a real number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
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
        self.always(factor, None).map(|question| Tame { question: question.map(Question::Built) })
    }

    /// The sign of a real factor that is tame.
    pub(super) fn sign(&self, factor: &Term) -> Option<Sign> {
        let signs = [Sign::Positive, Sign::AtLeastZero, Sign::Negative];
        signs.into_iter().find(|sign| self.always(factor, Some(*sign)).is_some())
    }

    pub(super) fn is_positive(&self, factor: &Term) -> bool {
        self.sign(factor) == Some(Sign::Positive)
    }

    /// Whether a factor is tame, and of a sign if one is given; and the question that was
    /// asked, if one was.
    fn always(&self, factor: &Term, sign: Option<Sign>) -> Option<Option<Query>> {
        let known = || Known { facts: self.facts.clone(), sizes: self.sizes.clone() };
        let mut bare = Encoder::bare(self.mode, known());
        let flags = flags(&mut bare, factor, sign)?;
        let any = bare.q.or(flags);
        if let Some(may_be) = bare.q.known(any) {
            return (!may_be).then_some(None);
        }
        let shown = |hypotheses: &[Term]| {
            let (probe, flags) = probe(factor, sign, self.mode, known(), hypotheses)?;
            probe.excluded(&flags)
        };
        match self.hypotheses.is_empty() {
            true => shown(&[]),
            false => shown(&[]).or_else(|| shown(self.hypotheses)),
        }
    }
}

/// The question whether a factor may be wild, or of another sign if one is given, unless its
/// encoding decides that: then whether it may be.
pub(crate) fn question(
    factor: &Term,
    sign: Option<Sign>,
    mode: Mode,
    known: Known,
    hypotheses: &[Term],
) -> Option<Result<Query, bool>> {
    let (probe, flags) = probe(factor, sign, mode, known, hypotheses)?;
    Some(probe.question(&flags))
}

/// The encoding of a factor, and flags of which one is true where it is wild, or of another
/// sign.
fn probe(
    factor: &Term,
    sign: Option<Sign>,
    mode: Mode,
    known: Known,
    hypotheses: &[Term],
) -> Option<(Encoder, Vec<Id>)> {
    let mut fresh = Fresh::above(hypotheses.iter().chain([factor])).and_above(&known.facts);
    let mut probe = Encoder::new(mode, known);
    let yes = probe.q.bool(true);
    hypotheses.iter().for_each(|hypothesis| probe.assume(yes, hypothesis));
    for (range, instance) in instances(hypotheses, &[factor], &mut fresh) {
        let (range, _) = probe.sizes.cond(&mut probe.q, &range);
        probe.assume(range, &instance);
    }
    let flags = flags(&mut probe, factor, sign)?;
    Some((probe, flags))
}

/// Where a factor is wild, or of another sign than a given one.
fn flags(probe: &mut Encoder, factor: &Term, sign: Option<Sign>) -> Option<Vec<Id>> {
    let mut flags = Vec::new();
    for part in factor.components() {
        flags.extend(wild(probe, &part, sign)?);
    }
    Some(flags)
}

/// Where a scalar is wild, or of another sign than a given one.
fn wild(probe: &mut Encoder, scalar: &Term, sign: Option<Sign>) -> Option<Vec<Id>> {
    let enc = probe.term(scalar).ok()?;
    let mut flags = vec![enc.err, enc.bot];
    match enc.data {
        Data::Real { pinf, ninf, val } => {
            let zero = probe.q.ratio(0, 1);
            flags.extend([pinf, ninf]);
            flags.extend(sign.map(|sign| match sign {
                Sign::Positive => probe.q.le(val, zero),
                Sign::AtLeastZero => probe.q.lt(val, zero),
                Sign::Negative => probe.q.le(zero, val),
            }));
        }
        _ if sign.is_some() => return None,
        _ => {}
    }
    Some(flags)
}
