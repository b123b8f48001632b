//! Views: tensors that are windows into the storage of another.
//!
//! A view has a shape and, for every index of it, the multi-index of the base element
//! that it shows. Index maps stay multi-dimensional; strides are never assumed.

use crate::entail::{Cond, Entails};
use crate::size::{Size, Sym};
use crate::subst::{Fresh, Subst};
use crate::term::{Binder, Form, Term, Var};
use crate::unfold::fresh_index;

/// The element at `index` is the base element at `map`.
#[derive(Clone, Debug)]
pub struct View {
    pub base_shape: Vec<Size>,
    /// The index symbols with the extents of the view.
    pub index: Vec<Binder>,
    /// One size over the index symbols per axis of the base.
    pub map: Vec<Size>,
}

/// A question for an [`Entails`].
#[derive(Clone, Debug)]
pub struct Question {
    pub facts: Vec<Cond>,
    pub goal: Cond,
}

impl Question {
    /// Whether it holds under further facts.
    pub fn holds(&self, facts: &[Cond], engine: &dyn Entails) -> bool {
        let all: Vec<Cond> = facts.iter().chain(&self.facts).cloned().collect();
        engine.entails(&all, &self.goal)
    }
}

impl View {
    /// The whole base.
    pub fn identity(shape: &[Size], fresh: &mut Fresh) -> View {
        let index = fresh_index(shape, fresh);
        let map = index.iter().map(|b| Size::sym(&b.sym)).collect();
        View { base_shape: shape.to_vec(), index, map }
    }

    /// The view that a term is of a variable: the variable itself, or a comprehension
    /// of its elements at indices that do not depend on data.
    pub fn of_term(term: &Term, fresh: &mut Fresh) -> Option<(Var, View)> {
        let shape = &term.tensor_type()?.shape;
        match term.form() {
            Form::Var(v) => Some((v.clone(), View::identity(shape, fresh))),
            Form::Comp(binders, body) => {
                let (base, map) = match body.form() {
                    Form::Read(base, at) => {
                        let map: Option<Vec<Size>> = at.iter().map(|t| t.as_size().cloned()).collect();
                        (base, map?)
                    }
                    _ => (body, Vec::new()),
                };
                let Form::Var(v) = base.form() else {
                    return None;
                };
                let base_shape = base.tensor_type()?.shape.clone();
                if base_shape.len() != map.len() {
                    return None;
                }
                let view = View { base_shape, index: binders.clone(), map };
                Some((v.clone(), view.renamed(fresh)))
            }
            _ => None,
        }
    }

    /// The same view over fresh index symbols.
    pub fn renamed(&self, fresh: &mut Fresh) -> View {
        let mut subst = Subst::new();
        let mut index = Vec::new();
        for binder in &self.index {
            let sym = fresh.sym(&binder.sym);
            subst = subst.with_size(&binder.sym, Size::sym(&sym));
            index.push(Binder { sym, extent: binder.extent.clone() });
        }
        let map = self.map.iter().map(|p| subst.size(p)).collect();
        View { base_shape: self.base_shape.clone(), index, map }
    }

    pub fn shape(&self) -> Vec<Size> {
        self.index.iter().map(|b| b.extent.clone()).collect()
    }

    /// The base multi-index at an index of the view.
    pub fn at(&self, index: &[Size]) -> Vec<Size> {
        let axes = self.index.iter().zip(index);
        let subst = axes.fold(Subst::new(), |s, (b, at)| s.with_size(&b.sym, at.clone()));
        self.map.iter().map(|p| subst.size(p)).collect()
    }

    /// This view taken of the tensor that `inner` shows: a view of the base of `inner`.
    pub fn of(&self, inner: &View, fresh: &mut Fresh) -> View {
        let outer = self.renamed(fresh);
        let map = inner.at(&outer.map);
        View { base_shape: inner.base_shape.clone(), index: outer.index, map }
    }

    /// The ranges of the index symbols.
    pub fn ranges(&self) -> Vec<Cond> {
        self.index.iter().map(|b| Cond::lt(&Size::sym(&b.sym), &b.extent)).collect()
    }

    /// Every element shown exists.
    pub fn in_range(&self) -> Question {
        let axes = self.map.iter().zip(&self.base_shape);
        let goal = Cond::and(axes.map(|(p, extent)| Cond::within(&Size::zero(), p, extent)));
        Question { facts: self.ranges(), goal }
    }

    /// No base element is shown twice: a write through the view is well defined.
    pub fn injective(&self, fresh: &mut Fresh) -> Question {
        let other = self.renamed(fresh);
        let symbols = |v: &View| -> Vec<Sym> { v.index.iter().map(|b| b.sym.clone()).collect() };
        let (left, right) = (symbols(self), symbols(&other));
        let pairs = left.iter().zip(&right);
        let same = pairs.map(|(a, b)| Cond::eq(&Size::sym(a), &Size::sym(b)));
        Question { facts: self.meets(&other), goal: Cond::and(same) }
    }

    /// No element is shown by both views of one base.
    pub fn disjoint(&self, other: &View, fresh: &mut Fresh) -> Question {
        Question { facts: self.meets(&other.renamed(fresh)), goal: Cond::False }
    }

    /// Both indices in range and at the same base element. The symbols must differ.
    fn meets(&self, other: &View) -> Vec<Cond> {
        let same = self.map.iter().zip(&other.map).map(|(p, q)| Cond::eq(p, q));
        self.ranges().into_iter().chain(other.ranges()).chain(same).collect()
    }
}
