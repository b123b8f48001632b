//! Expressions with axes and loads replaced.

use rustc_hash::FxHashMap;

use super::expr::{Arena, ArrayId, ExprId, Node};
use super::lin::{Atom, Axis, Lin};

/// An array whose elements are computed where they are read.
#[derive(Clone, Debug)]
pub struct Inlined {
    pub axes: Vec<Axis>,
    pub body: ExprId,
}

/// A simultaneous replacement of axes by linear forms and of loads by what they load.
#[derive(Clone, Debug, Default)]
pub struct Rewrite {
    pub axes: FxHashMap<Axis, Lin>,
    pub loads: FxHashMap<ArrayId, Inlined>,
    done: FxHashMap<ExprId, ExprId>,
}

impl Rewrite {
    pub fn axes(mut axes: FxHashMap<Axis, Lin>) -> Rewrite {
        axes.retain(|axis, lin| lin.as_axis() != Some(*axis));
        Rewrite { axes, ..Rewrite::default() }
    }

    fn is_none(&self) -> bool {
        self.axes.is_empty() && self.loads.is_empty() && self.done.is_empty()
    }

    pub fn loads(loads: FxHashMap<ArrayId, Inlined>) -> Rewrite {
        Rewrite { loads, ..Rewrite::default() }
    }

    /// Puts another expression in the place of one.
    pub fn replace(mut self, old: ExprId, new: ExprId) -> Rewrite {
        self.done.insert(old, new);
        self
    }
}

impl Arena {
    /// The expression with axes and loads replaced. Constants that come out are folded.
    pub fn rewrite(&mut self, root: ExprId, by: &mut Rewrite) -> ExprId {
        if by.is_none() {
            return root;
        }
        let mut order = Vec::new();
        self.walk(root, &mut |id| order.push(id));
        for id in order {
            if !by.done.contains_key(&id) {
                let new = self.rewrite_node(id, by);
                by.done.insert(id, new);
            }
        }
        by.done[&root]
    }

    fn rewrite_node(&mut self, id: ExprId, by: &mut Rewrite) -> ExprId {
        match self.node(id).clone() {
            Node::Constant(..) | Node::Whole(_) => id,
            Node::Index(lin) => {
                let lin = self.rewrite_lin(&lin, by);
                self.index(lin)
            }
            Node::FloorDiv(a, b) => self.rewrite_pair(&a, &b, by, Arena::floor_div),
            Node::Min(a, b) => self.rewrite_pair(&a, &b, by, Arena::minimum),
            Node::Max(a, b) => self.rewrite_pair(&a, &b, by, Arena::maximum),
            Node::Product(a, b) => self.rewrite_pair(&a, &b, by, Arena::product),
            Node::Checked { index, extent, site } => {
                let index = self.rewrite_lin(&index, by);
                let index = self.checked(&index, extent, site);
                self.index(index)
            }
            Node::Call { fun, dtype, args, site } => {
                let args = args.iter().map(|arg| by.done[arg]).collect();
                self.call(fun, dtype, args, site)
            }
            Node::Cast { to, arg, .. } => self.cast(to, by.done[&arg]),
            Node::Load { array, dtype, index } => {
                let index: Vec<Lin> = index.iter().map(|lin| self.rewrite_lin(lin, by)).collect();
                match by.loads.get(&array) {
                    Some(Inlined { axes, body }) => {
                        let by_axis = axes.iter().copied().zip(index.iter().cloned()).collect();
                        let element = self.rewrite(*body, &mut Rewrite::axes(by_axis));
                        self.keeping(&index, element)
                    }
                    None => self.intern(Node::Load { array, dtype, index }),
                }
            }
            Node::Select { cond, then, otherwise } => {
                self.select(by.done[&cond], by.done[&then], by.done[&otherwise])
            }
            Node::Reduce { op, axes, body } => {
                let axes = self.rewrite_extents(&axes, by);
                self.intern(Node::Reduce { op, axes, body: by.done[&body] })
            }
            Node::Fold { axes, state, first, step } => {
                let axes = self.rewrite_extents(&axes, by);
                self.intern(Node::Fold { axes, state, first: by.done[&first], step: by.done[&step] })
            }
            Node::Require { cond, then, site } => {
                let (cond, then) = (by.done[&cond], by.done[&then]);
                self.require(cond, then, site)
            }
            Node::After { first, then } => self.after(by.done[&first], by.done[&then]),
        }
    }

    fn rewrite_extents(&mut self, axes: &[(Axis, Lin)], by: &Rewrite) -> Vec<(Axis, Lin)> {
        axes.iter().map(|(axis, extent)| (*axis, self.rewrite_lin(extent, by))).collect()
    }

    fn rewrite_pair(
        &mut self,
        a: &Lin,
        b: &Lin,
        by: &Rewrite,
        build: fn(&mut Arena, &Lin, &Lin) -> Lin,
    ) -> ExprId {
        let (a, b) = (self.rewrite_lin(a, by), self.rewrite_lin(b, by));
        let lin = build(self, &a, &b);
        self.index(lin)
    }

    fn rewrite_lin(&mut self, lin: &Lin, by: &Rewrite) -> Lin {
        let mut sum = Lin::constant(lin.base);
        for (atom, factor) in &lin.terms {
            let part = match atom {
                Atom::Axis(axis) => by.axes.get(axis).cloned().unwrap_or_else(|| Lin::axis(*axis)),
                Atom::Value(value) => self.as_lin(by.done[value]),
            };
            sum = self.sum(&sum, &part, *factor);
        }
        sum
    }
}
