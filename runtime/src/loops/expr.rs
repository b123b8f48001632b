//! Scalar expressions of loop nests, shared in one arena.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

use crate::loops::Monoid;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::scalar::{Domain, Scalar, Value, cast};

use super::lin::{Atom, Axis, Lin, Overflow};
use super::whole::Whole;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExprId(pub u32);

/// An array that kernels read and write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ArrayId(pub u32);

/// A place of the program where a run can fail; index into [`super::Nests::sites`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SiteId(pub u32);

/// A constant: an integer, a truth value as 0 or 1, or the bits of an `f64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Constant(pub i64);

impl Constant {
    pub fn from_value(value: &Value) -> Option<Constant> {
        Some(Constant(match value {
            Value::Bool(truth) => i64::from(*truth),
            Value::Int(int) => *int,
            Value::Float(float) => float.to_bits() as i64,
            _ => return None,
        }))
    }

    pub fn value(self, dtype: DType) -> Value {
        match dtype.category() {
            Category::Bool => Value::Bool(self.0 != 0),
            Category::Int => Value::Int(self.0),
            Category::Float => Value::Float(self.float()),
        }
    }

    pub fn float(self) -> f64 {
        f64::from_bits(self.0 as u64)
    }
}

/// One expression. Integers that are indices have dtype i64.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    Constant(DType, Constant),
    /// The value of a linear form.
    Index(Lin),
    /// Rounded down; the divisor is not 0.
    FloorDiv(Lin, Lin),
    Min(Lin, Lin),
    Max(Lin, Lin),
    Product(Lin, Lin),
    /// The index, shown or made to lie in `0..extent`; where it does not, the run fails.
    Checked {
        index: Lin,
        extent: i64,
        site: SiteId,
    },
    /// A row of the scalar table at arguments of `dtype`. The site is there if it can fail.
    Call {
        fun: Scalar,
        dtype: DType,
        args: Vec<ExprId>,
        site: Option<SiteId>,
    },
    Cast {
        from: DType,
        to: DType,
        arg: ExprId,
    },
    /// An element; each index lies in its axis.
    Load {
        array: ArrayId,
        dtype: DType,
        index: Vec<Lin>,
    },
    /// Only the branch that is taken can fail.
    Select {
        cond: ExprId,
        then: ExprId,
        otherwise: ExprId,
    },
    /// In row-major order of the axes. An extent may depend on axes outside and before.
    Reduce {
        op: Monoid,
        axes: Vec<(Axis, Lin)>,
        body: ExprId,
    },
    /// `first`, then `step` for each index of the axes, row-major: within it a load of
    /// `state` at the axes is what the fold has come to.
    Fold {
        axes: Vec<(Axis, Lin)>,
        state: ArrayId,
        first: ExprId,
        step: ExprId,
    },
    /// The element of an array that is made from whole arrays.
    Whole(Box<Whole>),
    /// `then`; where the condition does not hold the run fails.
    Require {
        cond: ExprId,
        then: ExprId,
        site: SiteId,
    },
    /// `then`; the first is computed, too, since it can fail.
    After {
        first: ExprId,
        then: ExprId,
    },
}

/// Expressions and axes of one program; equal expressions are one.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    nodes: Vec<Node>,
    dtypes: Vec<DType>,
    /// Whether evaluating it can fail.
    fails: Vec<bool>,
    known: FxHashMap<Node, ExprId>,
    axes: Vec<i64>,
    /// Set when a linear form left the 64-bit range: the program is refused then.
    pub overflowed: bool,
}

impl Arena {
    pub fn node(&self, id: ExprId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub fn dtype(&self, id: ExprId) -> DType {
        self.dtypes[id.0 as usize]
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A new axis whose index is below `extent`.
    pub fn axis(&mut self, extent: i64) -> Axis {
        self.axes.push(extent.max(0));
        Axis(self.axes.len() as u32 - 1)
    }

    pub fn axis_extent(&self, axis: Axis) -> i64 {
        self.axes[axis.0 as usize]
    }

    pub fn intern(&mut self, node: Node) -> ExprId {
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        let dtype = match &node {
            Node::Constant(dtype, _) | Node::Load { dtype, .. } => *dtype,
            Node::Index(_) | Node::FloorDiv(..) | Node::Min(..) | Node::Max(..) => DType::I64,
            Node::Product(..) | Node::Checked { .. } => DType::I64,
            Node::Call { fun, dtype, .. } if fun.row().is_test() => {
                debug_assert!(dtype.bits() > 0);
                DType::Bool
            }
            Node::Call { dtype, .. } => *dtype,
            Node::Cast { to, .. } => *to,
            Node::Select { then, .. } | Node::Require { then, .. } | Node::After { then, .. } => {
                self.dtype(*then)
            }
            Node::Reduce { body, .. } => self.dtype(*body),
            Node::Fold { first, .. } => self.dtype(*first),
            Node::Whole(whole) => whole.dtype,
        };
        let id = ExprId(self.nodes.len() as u32);
        self.known.insert(node.clone(), id);
        self.nodes.push(node);
        self.dtypes.push(dtype);
        self.fails.push(self.is_failure(id) || self.children(id).iter().any(|part| self.can_fail(*part)));
        id
    }

    pub fn constant(&mut self, dtype: DType, value: &Value) -> Option<ExprId> {
        Some(self.intern(Node::Constant(dtype, Constant::from_value(value)?)))
    }

    pub fn as_constant(&self, id: ExprId) -> Option<Constant> {
        match self.node(id) {
            Node::Constant(_, constant) => Some(*constant),
            Node::Index(lin) => lin.as_constant().map(Constant),
            _ => None,
        }
    }

    pub fn bool(&mut self, truth: bool) -> ExprId {
        self.intern(Node::Constant(DType::Bool, Constant(i64::from(truth))))
    }

    pub fn index(&mut self, lin: Lin) -> ExprId {
        match lin.terms.as_slice() {
            [(Atom::Value(value), 1)] if lin.base == 0 => *value,
            _ => self.intern(Node::Index(lin)),
        }
    }

    /// The linear form that an i64 expression is.
    pub fn as_lin(&self, id: ExprId) -> Lin {
        match self.node(id) {
            Node::Index(lin) => lin.clone(),
            Node::Constant(_, constant) => Lin::constant(constant.0),
            _ => Lin::value(id),
        }
    }

    /// The result, or 0 and a note that the program is refused.
    pub fn settle(&mut self, result: Result<Lin, Overflow>) -> Lin {
        result.unwrap_or_else(|Overflow| {
            self.overflowed = true;
            Lin::default()
        })
    }

    pub fn sum(&mut self, a: &Lin, b: &Lin, factor: i64) -> Lin {
        let sum = a.plus(b, factor);
        self.settle(sum)
    }

    pub fn product(&mut self, a: &Lin, b: &Lin) -> Lin {
        match (a.as_constant(), b.as_constant()) {
            (Some(a), _) => {
                let scaled = b.times(a);
                self.settle(scaled)
            }
            (_, Some(b)) => {
                let scaled = a.times(b);
                self.settle(scaled)
            }
            _ => {
                let (a, b) = if a <= b { (a, b) } else { (b, a) };
                Lin::value(self.intern(Node::Product(a.clone(), b.clone())))
            }
        }
    }

    /// `a // d`, where `d` is not 0. Parts divisible by a constant divisor leave the
    /// quotient, and a rest whose quotient is the same over its whole range is that.
    pub fn floor_div(&mut self, a: &Lin, d: &Lin) -> Lin {
        let Some(divisor) = d.as_constant().filter(|d| *d > 0) else {
            return match (a.as_constant(), d.as_constant()) {
                (Some(a), Some(d)) if d != 0 => {
                    Lin::constant(a.div_euclid(d) - i64::from(d < 0 && a.rem_euclid(d) != 0))
                }
                _ => Lin::value(self.intern(Node::FloorDiv(a.clone(), d.clone()))),
            };
        };
        let (mut quotient, mut rest) = (Lin::default(), Lin::default());
        quotient.base = a.base.div_euclid(divisor);
        rest.base = a.base.rem_euclid(divisor);
        for (atom, factor) in &a.terms {
            let (whole, left) = (factor.div_euclid(divisor), factor.rem_euclid(divisor));
            // Only a factor that divides leaves nothing behind; others stay together.
            match left {
                0 => quotient.terms.push((*atom, whole)),
                _ => rest.terms.push((*atom, *factor)),
            }
        }
        let (low, high) = self.range(&rest);
        let (low, high) = (low.div_euclid(divisor.into()), high.div_euclid(divisor.into()));
        if low == high
            && let Ok(whole) = i64::try_from(low)
        {
            return self.sum(&quotient, &Lin::constant(whole), 1);
        }
        let id = self.intern(Node::FloorDiv(rest, d.clone()));
        self.sum(&quotient, &Lin::value(id), 1)
    }

    pub fn minimum(&mut self, a: &Lin, b: &Lin) -> Lin {
        let difference = self.sum(a, b, -1);
        match self.range(&difference) {
            (_, high) if high <= 0 => a.clone(),
            (low, _) if low >= 0 => b.clone(),
            _ => Lin::value(self.intern(Node::Min(a.clone(), b.clone()))),
        }
    }

    pub fn maximum(&mut self, a: &Lin, b: &Lin) -> Lin {
        let difference = self.sum(a, b, -1);
        match self.range(&difference) {
            (_, high) if high <= 0 => b.clone(),
            (low, _) if low >= 0 => a.clone(),
            _ => Lin::value(self.intern(Node::Max(a.clone(), b.clone()))),
        }
    }

    /// Bounds of a linear form, over all indices of its axes.
    pub fn range(&self, lin: &Lin) -> (i128, i128) {
        let (mut low, mut high) = (i128::from(lin.base), i128::from(lin.base));
        for (atom, factor) in &lin.terms {
            let (least, most) = match atom {
                Atom::Axis(axis) => (0, i128::from((self.axis_extent(*axis) - 1).max(0))),
                Atom::Value(value) => self.value_range(*value),
            };
            let ends = (least.saturating_mul((*factor).into()), most.saturating_mul((*factor).into()));
            low = low.saturating_add(ends.0.min(ends.1));
            high = high.saturating_add(ends.0.max(ends.1));
        }
        (low, high)
    }

    /// Bounds of an i64 expression.
    fn value_range(&self, id: ExprId) -> (i128, i128) {
        match self.node(id) {
            Node::Index(lin) => self.range(lin),
            Node::Constant(_, constant) => (constant.0.into(), constant.0.into()),
            Node::Checked { extent, .. } => (0, i128::from((*extent - 1).max(0))),
            Node::Min(a, b) => {
                let (a, b) = (self.range(a), self.range(b));
                (a.0.min(b.0), a.1.min(b.1))
            }
            Node::Max(a, b) => {
                let (a, b) = (self.range(a), self.range(b));
                (a.0.max(b.0), a.1.max(b.1))
            }
            Node::FloorDiv(a, d) => match (self.range(a), d.as_constant()) {
                ((low, high), Some(d)) if d > 0 => (low.div_euclid(d.into()), high.div_euclid(d.into())),
                ((low, high), _) => {
                    let most = low.saturating_abs().max(high.saturating_abs());
                    (-most - 1, most + 1)
                }
            },
            Node::Product(a, b) => {
                let (a, b) = (self.range(a), self.range(b));
                let ends = [
                    a.0.saturating_mul(b.0),
                    a.0.saturating_mul(b.1),
                    a.1.saturating_mul(b.0),
                    a.1.saturating_mul(b.1),
                ];
                (*ends.iter().min().expect("invariant: four"), *ends.iter().max().expect("invariant: four"))
            }
            Node::Select { then, otherwise, .. } => {
                let (a, b) = (self.value_range(*then), self.value_range(*otherwise));
                (a.0.min(b.0), a.1.max(b.1))
            }
            _ => (i64::MIN.into(), i64::MAX.into()),
        }
    }

    /// A call, decided where its arguments decide it.
    pub fn call(&mut self, fun: Scalar, dtype: DType, args: Vec<ExprId>, site: Option<SiteId>) -> ExprId {
        let constants: Option<Vec<Value>> =
            args.iter().map(|arg| Some(self.as_constant(*arg)?.value(dtype))).collect();
        if let Some(values) = constants
            && let Ok(value) = fun.eval(Domain::Ieee, dtype, &values)
        {
            let result = if fun.row().is_test() { DType::Bool } else { dtype };
            if let Some(id) = self.constant(result, &value) {
                return id;
            }
        }
        if let (DType::I64, [a, b]) = (dtype, args.as_slice())
            && let Some(truth) = self.compare(fun, *a, *b)
        {
            return self.bool(truth);
        }
        if let (DType::Bool, [a, b]) = (dtype, args.as_slice())
            && let Some(id) = self.connective(fun, *a, *b)
        {
            return id;
        }
        self.intern(Node::Call { fun, dtype, args, site })
    }

    /// A comparison of indices that their ranges decide.
    fn compare(&mut self, fun: Scalar, a: ExprId, b: ExprId) -> Option<bool> {
        if !self.is_index(a) || !self.is_index(b) {
            return None;
        }
        let (a, b) = (self.as_lin(a), self.as_lin(b));
        let difference = a.plus(&b, -1).ok()?;
        let (low, high) = self.range(&difference);
        match fun {
            Scalar::Lt if high < 0 => Some(true),
            Scalar::Lt if low >= 0 => Some(false),
            Scalar::Le if high <= 0 => Some(true),
            Scalar::Le if low > 0 => Some(false),
            Scalar::Gt if low > 0 => Some(true),
            Scalar::Gt if high <= 0 => Some(false),
            Scalar::Ge if low >= 0 => Some(true),
            Scalar::Ge if high < 0 => Some(false),
            Scalar::Eq | Scalar::Ne if low > 0 || high < 0 => Some(fun == Scalar::Ne),
            Scalar::Eq | Scalar::Ne if low == 0 && high == 0 => Some(fun == Scalar::Eq),
            _ => None,
        }
    }

    /// Whether an expression is index arithmetic, which never wraps.
    fn is_index(&self, id: ExprId) -> bool {
        use Node::*;
        matches!(
            self.node(id),
            Index(_) | FloorDiv(..) | Min(..) | Max(..) | Product(..) | Checked { .. } | Constant(..)
        )
    }

    fn connective(&mut self, fun: Scalar, a: ExprId, b: ExprId) -> Option<ExprId> {
        let (left, right) = (self.as_constant(a), self.as_constant(b));
        match (fun, left.map(|c| c.0 != 0), right.map(|c| c.0 != 0)) {
            (Scalar::LogicalAnd, Some(true), _) | (Scalar::LogicalOr, Some(false), _) => Some(b),
            (Scalar::LogicalAnd, _, Some(true)) | (Scalar::LogicalOr, _, Some(false)) => Some(a),
            _ => None,
        }
    }

    pub fn cast(&mut self, to: DType, arg: ExprId) -> ExprId {
        let from = self.dtype(arg);
        if from == to {
            return arg;
        }
        if let Some(constant) = self.as_constant(arg)
            && let Ok(value) = cast(Domain::Ieee, from, to, &constant.value(from))
            && let Some(id) = self.constant(to, &value)
        {
            return id;
        }
        self.intern(Node::Cast { from, to, arg })
    }

    pub fn select(&mut self, cond: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        match self.as_constant(cond) {
            Some(Constant(0)) => otherwise,
            Some(_) => then,
            None if then == otherwise && !self.can_fail(cond) => then,
            None => self.intern(Node::Select { cond, then, otherwise }),
        }
    }

    /// The index made to lie in `0..extent`.
    pub fn checked(&mut self, index: &Lin, extent: i64, site: SiteId) -> Lin {
        let (low, high) = self.range(index);
        if low >= 0 && high < i128::from(extent) {
            return index.clone();
        }
        Lin::value(self.intern(Node::Checked { index: index.clone(), extent, site }))
    }

    /// The expressions an expression is made of, those inside linear forms included.
    pub fn children(&self, id: ExprId) -> Vec<ExprId> {
        match self.node(id) {
            Node::Constant(..) | Node::Whole(_) => Vec::new(),
            Node::Index(lin) => lin.values().collect(),
            Node::FloorDiv(a, b) | Node::Min(a, b) | Node::Max(a, b) | Node::Product(a, b) => {
                a.values().chain(b.values()).collect()
            }
            Node::Checked { index, .. } => index.values().collect(),
            Node::Call { args, .. } => args.clone(),
            Node::Cast { arg, .. } => vec![*arg],
            Node::Load { index, .. } => index.iter().flat_map(Lin::values).collect(),
            Node::Select { cond, then, otherwise } => vec![*cond, *then, *otherwise],
            Node::Reduce { axes, body, .. } => {
                axes.iter().flat_map(|(_, extent)| extent.values()).chain([*body]).collect()
            }
            Node::Fold { axes, first, step, .. } => {
                axes.iter().flat_map(|(_, extent)| extent.values()).chain([*first, *step]).collect()
            }
            Node::Require { cond, then, .. } => vec![*cond, *then],
            Node::After { first, then } => vec![*first, *then],
        }
    }

    /// The expressions below `root` and itself, each once, before their parts.
    pub fn below(&self, root: ExprId) -> impl Iterator<Item = ExprId> + '_ {
        let (mut seen, mut open) = (FxHashSet::default(), vec![root]);
        std::iter::from_fn(move || {
            let next = std::iter::from_fn(|| open.pop()).find(|id| seen.insert(*id))?;
            open.extend(self.children(next));
            Some(next)
        })
    }

    /// Visits each expression below `root` once, parts first.
    pub fn walk(&self, root: ExprId, visit: &mut dyn FnMut(ExprId)) {
        let mut seen = BTreeSet::new();
        let mut stack = vec![(root, false)];
        while let Some((id, parts_done)) = stack.pop() {
            if parts_done {
                visit(id);
            } else if seen.insert(id) {
                stack.push((id, true));
                stack.extend(self.children(id).into_iter().rev().map(|child| (child, false)));
            }
        }
    }

    /// Whether evaluating it can fail, whatever the branch.
    pub fn can_fail(&self, root: ExprId) -> bool {
        self.fails[root.0 as usize]
    }

    fn is_failure(&self, id: ExprId) -> bool {
        matches!(
            self.node(id),
            Node::Checked { .. } | Node::Require { .. } | Node::Call { site: Some(_), .. }
        )
    }

    /// Whether something holds of an expression or of a part of it; what is `known` is not looked at again.
    pub fn somewhere(
        &self,
        root: ExprId,
        known: &mut FxHashMap<ExprId, bool>,
        holds: &dyn Fn(ExprId) -> bool,
    ) -> bool {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            let parts = self.children(id);
            let unknown: Vec<ExprId> =
                parts.iter().copied().filter(|part| !known.contains_key(part)).collect();
            if unknown.is_empty() {
                let found = holds(id) || parts.iter().any(|part| known[part]);
                known.insert(id, found);
            } else {
                open.push(id);
                open.extend(unknown);
            }
        }
        known[&root]
    }

    /// The axes in the index arithmetic of an expression, without its parts.
    pub fn own_axes(&self, id: ExprId) -> Vec<Axis> {
        let mut axes = Vec::new();
        self.each_lin(id, &mut |lin| axes.extend(lin.axes().map(|(axis, _)| axis)));
        axes
    }

    /// The axes an expression depends on: all but those its reductions run over.
    pub fn free_axes(&self, root: ExprId) -> BTreeSet<Axis> {
        self.axes_of_each(root).remove(&root).unwrap_or_default()
    }

    /// The same of each expression below `root`.
    pub fn axes_of_each(&self, root: ExprId) -> FxHashMap<ExprId, BTreeSet<Axis>> {
        let mut memo: FxHashMap<ExprId, BTreeSet<Axis>> = FxHashMap::default();
        self.walk(root, &mut |id| {
            let mut axes: BTreeSet<Axis> = BTreeSet::new();
            for child in self.children(id) {
                axes.extend(memo.get(&child).into_iter().flatten());
            }
            axes.extend(self.own_axes(id));
            if let Node::Reduce { axes: bound, .. } | Node::Fold { axes: bound, .. } = self.node(id) {
                axes.retain(|axis| bound.iter().all(|(own, _)| own != axis));
            }
            memo.insert(id, axes);
        });
        memo
    }

    fn each_lin(&self, id: ExprId, visit: &mut dyn FnMut(&Lin)) {
        match self.node(id) {
            Node::Index(lin) | Node::Checked { index: lin, .. } => visit(lin),
            Node::FloorDiv(a, b) | Node::Min(a, b) | Node::Max(a, b) | Node::Product(a, b) => {
                visit(a);
                visit(b);
            }
            Node::Load { index, .. } => index.iter().for_each(visit),
            Node::Reduce { axes, .. } | Node::Fold { axes, .. } => {
                axes.iter().for_each(|(_, extent)| visit(extent));
            }
            _ => {}
        }
    }

    /// The element with the checks of its index that it does not make anyway.
    pub fn keeping(&mut self, index: &[Lin], element: ExprId) -> ExprId {
        let checks = index.iter().flat_map(Lin::values).collect::<Vec<_>>();
        checks.into_iter().fold(element, |element, check| self.after(check, element))
    }

    /// `then`, and before it what can fail and is not computed with it anyway.
    pub fn after(&mut self, first: ExprId, then: ExprId) -> ExprId {
        if !self.can_fail(first) || self.always_computes(then, first) {
            return then;
        }
        self.intern(Node::After { first, then })
    }

    /// Whether `wanted` is computed with `root`, whatever branches are taken.
    fn always_computes(&self, root: ExprId, wanted: ExprId) -> bool {
        let (mut seen, mut stack) = (BTreeSet::new(), vec![root]);
        while let Some(id) = stack.pop() {
            if id == wanted {
                return true;
            }
            if seen.insert(id) {
                match self.node(id) {
                    Node::Select { cond, .. } => stack.push(*cond),
                    Node::Reduce { .. } | Node::Fold { .. } => {}
                    _ => stack.extend(self.children(id)),
                }
            }
        }
        false
    }

    pub fn require(&mut self, cond: ExprId, then: ExprId, site: SiteId) -> ExprId {
        match self.as_constant(cond) {
            Some(Constant(1)) => then,
            _ => self.intern(Node::Require { cond, then, site }),
        }
    }
}
