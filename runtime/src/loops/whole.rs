//! Definitions that take too long element by element: scans, sorting, sums by index.
//!
//! Each is recognized by what it computes, whoever wrote it: a reduction over a prefix
//! whose elements do not depend on where the prefix ends, the number of elements that
//! come before one, a reduction of the elements whose index names this place. Then it is
//! made from whole arrays, in time that is linear, or nearly so, along one axis.
//!
//! Note [Order]: elements come from first to last along the axis, and so they are added
//! up, in f64 or i64, and rounded once to their dtype. That is what the reference does.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Scalar, Value};

use super::expr::{ArrayId, Constant, ExprId, Node};
use super::lin::{Axis, Lin};
use super::lower::neutral;
use super::{ArrayDecl, Def, Monoid, Nests};

/// An array made from whole arrays, row by row along one axis of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Whole {
    pub what: What,
    pub dtype: DType,
    /// The axis of the array.
    pub along: usize,
    /// How many elements of the operands a row reads.
    pub length: usize,
    pub operands: Vec<Operand>,
}

/// An array that is read, and which axis of the result each of its axes is; the one that
/// is `along` has an index of its own, below the length.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operand {
    pub array: ArrayId,
    pub axes: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum What {
    /// At `i` the reduction of the elements before `i + shift`.
    Prefix { op: Monoid, shift: i64 },
    /// At `i` the last place up to `i` of the extreme of the elements up to there, or of
    /// a NaN.
    LastExtreme { op: Monoid },
    /// At `i` the sum of `exp(x[k] - s[i])` for `k <= i`, where `s` is the maximum of
    /// these `x`, or 0 where that is infinite.
    Exponentials,
    /// How many elements come before this one when the row is sorted, stably.
    Place { descending: bool },
    /// At `i` the reduction of the elements of the second operand where the first is `i`, and
    /// of a number that changes none.
    ByIndex { op: Monoid, none: Constant },
}

/// Makes whole arrays of the definitions that are one.
pub fn recognize(nests: &mut Nests) {
    let mut known: FxHashMap<ArrayId, Def> = FxHashMap::default();
    let mut defs = Vec::new();
    for def in std::mem::take(&mut nests.defs) {
        let def = Recognizer { nests, known: &known, new: &mut defs, def: &def }.recognized().unwrap_or(def);
        known.insert(def.array, def.clone());
        defs.push(def);
    }
    nests.defs = defs;
}

/// A reduction over one axis, seen along an axis of its definition.
#[derive(Clone, Copy)]
struct Along {
    op: Monoid,
    /// Among the axes of the definition.
    at: usize,
    own: Axis,
    bound: Axis,
}

struct Recognizer<'a> {
    nests: &'a mut Nests,
    known: &'a FxHashMap<ArrayId, Def>,
    /// Where definitions of operands go.
    new: &'a mut Vec<Def>,
    def: &'a Def,
}

impl Recognizer<'_> {
    fn recognized(&mut self) -> Option<Def> {
        match self.nests.arena.node(self.def.body).clone() {
            Node::Reduce { op, axes, body } => {
                let [(bound, extent)] = axes.as_slice() else { return None };
                let whole = match extent.as_constant() {
                    Some(_) => self.over_all(op, *bound, body),
                    None => self.over_prefix(op, *bound, extent, body),
                };
                let body = self.nests.arena.intern(Node::Whole(Box::new(whole?)));
                Some(Def { body, ..self.def.clone() })
            }
            Node::Fold { axes, state, first, step } => self.scan(&axes, state, first, step),
            _ => None,
        }
    }

    /// A fold up to each index of an axis is one over that axis, each state of which is
    /// kept.
    fn scan(&mut self, axes: &[(Axis, Lin)], state: ArrayId, first: ExprId, step: ExprId) -> Option<Def> {
        let [(bound, extent)] = axes else { return None };
        let (at, shift) = self.prefix(extent)?;
        let own = self.def.axes[at];
        if shift != 1 || self.depends(first, own) || self.depends(step, own) {
            return None;
        }
        let length = self.nests.arena.axis_extent(*bound);
        if length != self.nests.arena.axis_extent(own) {
            return None;
        }
        let axes = vec![(*bound, Lin::constant(length))];
        let body = self.nests.arena.intern(Node::Fold { axes, state, first, step });
        let mut def = Def { body, ..self.def.clone() };
        def.axes[at] = *bound;
        Some(def)
    }

    /// The axis and the shift of an extent `i + shift`.
    fn prefix(&self, extent: &Lin) -> Option<(usize, i64)> {
        let shift = extent.base;
        let own = Lin { base: 0, ..extent.clone() }.as_axis()?;
        Some((self.def.axes.iter().position(|axis| *axis == own)?, shift))
    }

    fn over_prefix(&mut self, op: Monoid, bound: Axis, extent: &Lin, body: ExprId) -> Option<Whole> {
        let (at, shift) = self.prefix(extent)?;
        let along = Along { op, at, own: self.def.axes[at], bound };
        if !self.depends(body, along.own) {
            let operands = vec![self.operand(along, body)?];
            return Some(self.whole(along, What::Prefix { op, shift }, operands));
        }
        if shift != 1 {
            return None;
        }
        self.last_extreme(along, body).or_else(|| self.exponentials(along, body))
    }

    fn over_all(&mut self, op: Monoid, bound: Axis, body: ExprId) -> Option<Whole> {
        let axes = self.def.axes.clone();
        axes.into_iter().enumerate().find_map(|(at, own)| {
            let along = Along { op, at, own, bound };
            let found = self.place(along, body).or_else(|| self.masked_prefix(along, body));
            found.or_else(|| self.by_index(along, body))
        })
    }

    /// `reduce(if k <= i { x[k] } else { neutral } for k in N)`, or with another comparison that
    /// holds before some distance from `i`.
    fn masked_prefix(&mut self, along: Along, body: ExprId) -> Option<Whole> {
        let (cond, elements, otherwise) = self.branches(body)?;
        let op = along.op;
        let dtype = self.nests.arena.dtype(body);
        let neutral = neutral(&mut self.nests.arena, op, dtype);
        let arena = &self.nests.arena;
        let Node::Call { fun, dtype: DType::I64, args, .. } = arena.node(cond) else { return None };
        let difference = arena.as_lin(args[0]).plus(&arena.as_lin(args[1]), -1).ok()?;
        let forward = Lin::axis(along.bound).plus(&Lin::axis(along.own), -1).ok()?;
        let backward = forward.times(-1).ok()?;
        let base = difference.base;
        let slope = Lin { base: 0, ..difference };
        let shift = match fun {
            Scalar::Lt if slope == forward => base.checked_neg()?,
            Scalar::Le if slope == forward => base.checked_neg()?.checked_add(1)?,
            Scalar::Gt if slope == backward => base,
            Scalar::Ge if slope == backward => base.checked_add(1)?,
            _ => return None,
        };
        let same = arena.as_constant(otherwise) == arena.as_constant(neutral);
        if !same || arena.can_fail(elements) || self.depends(elements, along.own) {
            return None;
        }
        let operands = vec![self.operand(along, elements)?];
        Some(self.whole(along, What::Prefix { op, shift }, operands))
    }

    fn whole(&self, along: Along, what: What, operands: Vec<Operand>) -> Whole {
        let length = self.nests.arena.axis_extent(along.bound) as usize;
        Whole { what, dtype: self.nests.arena.dtype(self.def.body), along: along.at, length, operands }
    }

    fn depends(&self, id: ExprId, axis: Axis) -> bool {
        self.nests.arena.free_axes(id).contains(&axis)
    }

    /// The elements as an operand: a load of a whole array as it is, else by a definition.
    fn operand(&mut self, along: Along, elements: ExprId) -> Option<Operand> {
        if let Some(operand) = self.plain(along, elements, along.bound) {
            return Some(operand);
        }
        let axes: Vec<Axis> = self.nests.arena.free_axes(elements).into_iter().collect();
        let axes = if axes.contains(&along.bound) { axes } else { [axes, vec![along.bound]].concat() };
        let places: Option<Vec<usize>> = axes.iter().map(|axis| self.position(along, *axis)).collect();
        let shape: Vec<usize> =
            axes.iter().map(|axis| self.nests.arena.axis_extent(*axis) as usize).collect();
        if shape.iter().try_fold(1usize, |n, extent| n.checked_mul(*extent))? > super::lower::MAX_ELEMENTS {
            return None;
        }
        self.nests.arrays.push(ArrayDecl { dtype: self.nests.arena.dtype(elements), shape });
        let array = ArrayId(self.nests.arrays.len() as u32 - 1);
        self.new.push(Def { array, axes, body: elements });
        Some(Operand { array, axes: places? })
    }

    /// Which axis of the definition an axis of an operand is.
    fn position(&self, along: Along, axis: Axis) -> Option<usize> {
        let axis = if axis == along.bound { along.own } else { axis };
        self.def.axes.iter().position(|own| *own == axis)
    }

    /// A load of a whole array, at `along` as at the axis given.
    fn plain(&self, along: Along, id: ExprId, at: Axis) -> Option<Operand> {
        let Node::Load { array, index, .. } = self.nests.arena.node(id) else { return None };
        let decl = self.nests.decl(*array);
        let mut axes = Vec::new();
        for (lin, extent) in index.iter().zip(&decl.shape) {
            let axis = lin.as_axis()?;
            let along_it = axis == along.bound || axis == along.own;
            if along_it && axis != at || self.nests.arena.axis_extent(axis) != *extent as i64 {
                return None;
            }
            axes.push(self.position(along, axis)?);
        }
        let distinct: BTreeSet<usize> = axes.iter().copied().collect();
        (distinct.len() == axes.len() && distinct.contains(&along.at))
            .then_some(Operand { array: *array, axes })
    }

    /// A load that the elements of the reduction are made from.
    fn loads(&self, along: Along, body: ExprId, at: Axis) -> Vec<(ExprId, Operand)> {
        let mut found = Vec::new();
        self.nests.arena.walk(body, &mut |id| {
            if let Some(operand) = self.plain(along, id, at) {
                found.push((id, operand));
            }
        });
        found
    }

    /// `max(if x[k] == m[i] or isnan(x[k]) { k } else { 0 } for k in i + 1)`, where `m` is a
    /// running extreme of `x`.
    fn last_extreme(&mut self, along: Along, body: ExprId) -> Option<Whole> {
        if along.op != Monoid::Max || self.nests.arena.dtype(body) != DType::I64 {
            return None;
        }
        for (x, operand) in self.loads(along, body, along.bound) {
            for (m, extreme) in self.loads(along, body, along.own) {
                let Some(op) = self.running_extreme(&extreme, &operand, along) else { continue };
                let dtype = self.nests.arena.dtype(x);
                let arena = &mut self.nests.arena;
                let equal = arena.call(Scalar::Eq, dtype, vec![x, m], None);
                let nan = arena.call(Scalar::Isnan, dtype, vec![x], None);
                let here = arena.call(Scalar::LogicalOr, DType::Bool, vec![equal, nan], None);
                let (cond, then, otherwise) = self.branches(body)?;
                if cond == here && self.is_index(then, along.bound) && self.is_number(otherwise, 0) {
                    return Some(self.whole(along, What::LastExtreme { op }, vec![operand]));
                }
            }
        }
        None
    }

    /// Whether the array is the running maximum, or minimum, of the other one.
    fn running_extreme(&self, extreme: &Operand, of: &Operand, along: Along) -> Option<Monoid> {
        let def = self.known.get(&extreme.array)?;
        let Node::Whole(whole) = self.nests.arena.node(def.body) else { return None };
        let What::Prefix { op, shift: 1 } = whole.what else { return None };
        // The axes of the two results in the same order, and the operand beside both.
        let straight = extreme.axes.iter().copied().eq(0..self.def.axes.len());
        let same = straight && whole.along == along.at && whole.operands == [of.clone()];
        (same && matches!(op, Monoid::Max | Monoid::Min)).then_some(op)
    }

    /// `sum(exp(x[k] - s[i]) for k in i + 1)`, where `s` is the running maximum `m` of `x`, but
    /// 0 where that is infinite.
    fn exponentials(&mut self, along: Along, body: ExprId) -> Option<Whole> {
        let arena = &self.nests.arena;
        let Node::Call { fun: Scalar::Exp, dtype, args, .. } = arena.node(body) else { return None };
        let Node::Call { fun: Scalar::Sub, args, .. } = arena.node(args[0]) else { return None };
        let (dtype, x, s) = (*dtype, args[0], args[1]);
        let (operand, shift) = (self.plain(along, x, along.bound)?, self.plain(along, s, along.own)?);
        if along.op != Monoid::Sum || !shift.axes.iter().copied().eq(0..self.def.axes.len()) {
            return None;
        }
        let def = self.known.get(&shift.array)?;
        let Node::Select { cond, otherwise: m, .. } = self.nests.arena.node(def.body).clone() else {
            return None;
        };
        let Node::Load { array, index, .. } = self.nests.arena.node(m) else { return None };
        if !index.iter().map(Lin::as_axis).eq(def.axes.iter().copied().map(Some)) {
            return None;
        }
        let extreme = Operand { array: *array, axes: shift.axes.clone() };
        if self.running_extreme(&extreme, &operand, along) != Some(Monoid::Max) {
            return None;
        }
        let arena = &mut self.nests.arena;
        let infinite = arena.call(Scalar::Isinf, dtype, vec![m], None);
        let zero = arena.constant(dtype, &Value::zero(dtype, Domain::Ieee))?;
        let expected = arena.select(cond, zero, m);
        (cond == infinite && expected == def.body)
            .then(|| self.whole(along, What::Exponentials, vec![operand, shift]))
    }

    /// The number of elements that precede `x[i]`, or equal it and stand before it.
    fn place(&mut self, along: Along, body: ExprId) -> Option<Whole> {
        if along.op != Monoid::Sum || self.nests.arena.dtype(body) != DType::I64 {
            return None;
        }
        for (there, operand) in self.loads(along, body, along.bound) {
            for (here, own) in self.loads(along, body, along.own) {
                if own != operand {
                    continue;
                }
                for descending in [false, true] {
                    if self.is_stable_place(along, body, (there, here), descending) {
                        return Some(self.whole(along, What::Place { descending }, vec![operand]));
                    }
                }
            }
        }
        None
    }

    /// Whether this is `if there precedes here { 1 } else if here precedes there or k >= i { 0 }
    /// else { 1 }`.
    fn is_stable_place(
        &mut self,
        along: Along,
        body: ExprId,
        (there, here): (ExprId, ExprId),
        descending: bool,
    ) -> bool {
        let (before, after) =
            (self.precedes(there, here, descending), self.precedes(here, there, descending));
        let later = |r: &Self, id: ExprId| match r.nests.arena.node(id) {
            Node::Call { fun: Scalar::Ge, dtype: DType::I64, args, .. } => {
                let (a, b) = (r.nests.arena.as_lin(args[0]), r.nests.arena.as_lin(args[1]));
                let distance = Lin::axis(along.bound).plus(&Lin::axis(along.own), -1);
                a.plus(&b, -1) == distance
            }
            _ => false,
        };
        let matched = || -> Option<bool> {
            let (cond, one, rest) = self.branches(body)?;
            let (not_before, zero, other) = self.branches(rest)?;
            let (beyond, always, place) = self.branches(not_before)?;
            let numbers = self.is_number(one, 1) && self.is_number(zero, 0) && self.is_number(other, 1);
            let known = cond == before && beyond == after && self.is_number(always, 1);
            Some(numbers && known && later(self, place))
        };
        matched().unwrap_or(false)
    }

    /// Whether x comes strictly before y when sorting, NaN being the greatest.
    fn precedes(&mut self, x: ExprId, y: ExprId, descending: bool) -> ExprId {
        let arena = &mut self.nests.arena;
        let (dtype, (less, more)) = (arena.dtype(x), if descending { (y, x) } else { (x, y) });
        let below = arena.call(Scalar::Lt, dtype, vec![less, more], None);
        let is_nan = arena.call(Scalar::Isnan, dtype, vec![more], None);
        let other = arena.call(Scalar::Isnan, dtype, vec![less], None);
        let number = arena.call(Scalar::LogicalNot, DType::Bool, vec![other], None);
        let nan = arena.call(Scalar::LogicalAnd, DType::Bool, vec![is_nan, number], None);
        arena.call(Scalar::LogicalOr, DType::Bool, vec![below, nan], None)
    }

    fn branches(&self, id: ExprId) -> Option<(ExprId, ExprId, ExprId)> {
        match self.nests.arena.node(id) {
            Node::Select { cond, then, otherwise } => Some((*cond, *then, *otherwise)),
            _ => None,
        }
    }

    fn is_number(&self, id: ExprId, number: i64) -> bool {
        self.nests.arena.as_constant(id) == Some(Constant(number))
    }

    fn is_index(&self, id: ExprId, axis: Axis) -> bool {
        self.nests.arena.as_lin(id) == Lin::axis(axis)
    }

    /// `reduce(if index[k] == i { x[k] } else { none } for k in N)`, the condition perhaps
    /// within others that do not know `i`: where they do not hold, the index is none.
    fn by_index(&mut self, along: Along, body: ExprId) -> Option<Whole> {
        let (_, _, otherwise) = self.chosen(along, body)?;
        let none = self.nests.arena.as_constant(otherwise)?;
        let (mut conditions, mut rest) = (Vec::new(), body);
        let (index, elements) = loop {
            let (cond, then, otherwise) = self.chosen(along, rest)?;
            if self.nests.arena.as_constant(otherwise) != Some(none) {
                return None;
            }
            if self.depends(cond, along.own) {
                break (self.compared(cond, along)?, then);
            }
            conditions.push(cond);
            rest = then;
        };
        if !self.adds_nothing(along, none, elements) || self.nests.arena.can_fail(elements) {
            return None;
        }
        let arena = &mut self.nests.arena;
        if arena.axis_extent(along.own) < 2 {
            return None;
        }
        let nowhere = arena.index(Lin::constant(-1));
        let index =
            conditions.into_iter().rev().fold(index, |index, cond| arena.select(cond, index, nowhere));
        if self.depends(index, along.own) || self.depends(elements, along.own) {
            return None;
        }
        let operands = vec![self.operand(along, index)?, self.operand(along, elements)?];
        Some(self.whole(along, What::ByIndex { op: along.op, none }, operands))
    }

    /// Whether a number changes no reduction of these elements: it is the neutral one, or no
    /// greater than what is maximized.
    fn adds_nothing(&mut self, along: Along, number: Constant, elements: ExprId) -> bool {
        let arena = &mut self.nests.arena;
        let dtype = arena.dtype(elements);
        let neutral = neutral(arena, along.op, dtype);
        if arena.as_constant(neutral) == Some(number) {
            return true;
        }
        let (least, _) = arena.range(&arena.as_lin(elements));
        along.op == Monoid::Max && dtype == DType::I64 && least >= number.0.into()
    }

    /// The branches of what is reduced; the comparison itself is a choice of two.
    fn chosen(&mut self, along: Along, id: ExprId) -> Option<(ExprId, ExprId, ExprId)> {
        let truths = (self.nests.arena.bool(true), self.nests.arena.bool(false));
        let compares = along.op == Monoid::Any && self.compared(id, along).is_some();
        let itself = compares.then_some((id, truths.0, truths.1));
        self.branches(id).or(itself)
    }

    /// What equals the index of the definition where the condition holds: the other side of
    /// `==`, or the one of two sides that lies within the axis, if they are too far apart for
    /// both to do so. Offsets may wrap: an index within the axis comes of one value only.
    fn compared(&mut self, cond: ExprId, along: Along) -> Option<ExprId> {
        match self.nests.arena.node(cond).clone() {
            Node::Call { fun: Scalar::Eq, dtype: DType::I64, args, .. } => {
                let arena = &mut self.nests.arena;
                let offset = arena.as_lin(args[1]).plus(&Lin::axis(along.own), -1).ok()?.as_constant()?;
                let shifted = arena.as_lin(args[0]).plus(&Lin::constant(offset), -1).ok()?;
                Some(arena.index(shifted))
            }
            Node::Call { fun: Scalar::LogicalOr, args, .. } => {
                let (x, y) = (self.compared(args[0], along)?, self.compared(args[1], along)?);
                let arena = &mut self.nests.arena;
                let extent = arena.axis_extent(along.own);
                let apart = arena.as_lin(x).plus(&arena.as_lin(y), -1).ok()?.as_constant()?;
                if apart.unsigned_abs() < extent.unsigned_abs() {
                    return None;
                }
                let (zero, end) = (arena.index(Lin::default()), arena.index(Lin::constant(extent)));
                let from = arena.call(Scalar::Ge, DType::I64, vec![x, zero], None);
                let to = arena.call(Scalar::Lt, DType::I64, vec![x, end], None);
                let inside = arena.call(Scalar::LogicalAnd, DType::Bool, vec![from, to], None);
                Some(arena.select(inside, x, y))
            }
            _ => None,
        }
    }
}

impl Whole {
    pub fn arrays(&self) -> impl Iterator<Item = ArrayId> {
        self.operands.iter().map(|operand| operand.array)
    }
}

/// The arrays that some definition reads as a whole.
pub fn operands(nests: &Nests) -> BTreeSet<ArrayId> {
    let wholes = nests.defs.iter().filter_map(|def| match nests.arena.node(def.body) {
        Node::Whole(whole) => Some(whole),
        _ => None,
    });
    wholes.flat_map(|whole| whole.arrays()).collect()
}
