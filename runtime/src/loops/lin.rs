//! Index arithmetic of loop nests: linear forms over axes and computed integers.

use std::collections::BTreeMap;

use super::expr::ExprId;

/// One axis of iteration. Its largest extent is kept in [`super::Arena::axis_extent`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Axis(pub u32);

/// What a linear form is linear in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Atom {
    Axis(Axis),
    /// An integer computed by an expression: a quotient, or an index from data.
    Value(ExprId),
}

/// `base + sum of factor * atom`: sorted by atom, no factor is 0.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Lin {
    pub base: i64,
    pub terms: Vec<(Atom, i64)>,
}

/// The result left the 64-bit range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow;

impl Lin {
    pub fn constant(base: i64) -> Lin {
        Lin { base, terms: Vec::new() }
    }

    pub fn axis(axis: Axis) -> Lin {
        Lin { base: 0, terms: vec![(Atom::Axis(axis), 1)] }
    }

    pub fn value(value: ExprId) -> Lin {
        Lin { base: 0, terms: vec![(Atom::Value(value), 1)] }
    }

    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.base)
    }

    /// The axis, if the form is just that.
    pub fn as_axis(&self) -> Option<Axis> {
        match (self.base, self.terms.as_slice()) {
            (0, [(Atom::Axis(axis), 1)]) => Some(*axis),
            _ => None,
        }
    }

    /// The factor of an axis outside computed integers.
    pub fn factor(&self, axis: Axis) -> i64 {
        let found = self.terms.iter().find(|(atom, _)| *atom == Atom::Axis(axis));
        found.map_or(0, |(_, factor)| *factor)
    }

    /// The computed integers in it.
    pub fn values(&self) -> impl Iterator<Item = ExprId> {
        self.terms.iter().filter_map(|(atom, _)| match atom {
            Atom::Value(value) => Some(*value),
            Atom::Axis(_) => None,
        })
    }

    pub fn axes(&self) -> impl Iterator<Item = (Axis, i64)> {
        self.terms.iter().filter_map(|(atom, factor)| match atom {
            Atom::Axis(axis) => Some((*axis, *factor)),
            Atom::Value(_) => None,
        })
    }

    /// `self + factor * other`.
    pub fn plus(&self, other: &Lin, factor: i64) -> Result<Lin, Overflow> {
        let scaled = |x: i64| x.checked_mul(factor).ok_or(Overflow);
        let base = self.base.checked_add(scaled(other.base)?).ok_or(Overflow)?;
        let mut terms: BTreeMap<Atom, i64> = self.terms.iter().copied().collect();
        for (atom, by) in &other.terms {
            let sum = terms.entry(*atom).or_default();
            *sum = sum.checked_add(scaled(*by)?).ok_or(Overflow)?;
        }
        Ok(Lin { base, terms: terms.into_iter().filter(|(_, factor)| *factor != 0).collect() })
    }

    pub fn times(&self, factor: i64) -> Result<Lin, Overflow> {
        Lin::default().plus(self, factor)
    }
}
