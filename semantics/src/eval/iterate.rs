//! Comprehensions and reductions.

use super::accumulate::Accumulator;
use super::error::{Res, codes, error, from_fault};
use super::machine::{Machine, Val};
use crate::diag::Span;
use crate::scalar::Value;
use crate::tensor::Tensor;
use crate::term::{Binder, ErrorClass, Reduce, Term};

impl Machine<'_> {
    /// The concrete shape of a comprehension.
    pub fn extents(&self, binders: &[Binder], span: Span) -> Res<Vec<usize>> {
        let mut shape = Vec::with_capacity(binders.len());
        for (axis, binder) in binders.iter().enumerate() {
            let extent = self.size(&binder.extent, span)?;
            let Ok(extent) = usize::try_from(extent) else {
                let (class, code) = match extent < 0 {
                    true => (Some(ErrorClass::Shape), codes::SHAPE),
                    false => (None, codes::ELEMENTS),
                };
                let message = format!("axis {axis} has extent {} = {extent}", binder.extent);
                return error(class, code, span, message);
            };
            shape.push(extent);
        }
        Ok(shape)
    }

    pub fn comp(&mut self, term: &Term, binders: &[Binder], body: &Term) -> Res<Val> {
        let shape = self.extents(binders, term.span())?;
        let share = self.reserve(&shape, term.span())?;
        let count = shape.iter().product();
        let mut values: Vec<Value> = Vec::new();
        if values.try_reserve_exact(count).is_err() {
            return error(
                None,
                codes::ELEMENTS,
                term.span(),
                format!("no memory for {shape:?}"),
            );
        }
        self.in_loop(|m| {
            m.run_through(binders, &shape, &mut |m| {
                values.push(m.value(body)?);
                Ok(())
            })
        })?;
        match Tensor::trusted(body.dtype(), &shape, values) {
            Ok(tensor) => Ok(Val::tensor(tensor, share)),
            Err(fault) => error(None, codes::ELEMENTS, term.span(), fault.to_string()),
        }
    }

    /// Visits all index tuples below `shape` in row-major order, the symbols bound.
    pub fn run_through(
        &mut self,
        binders: &[Binder],
        shape: &[usize],
        visit: &mut dyn FnMut(&mut Self) -> Res<()>,
    ) -> Res<()> {
        let Some((binder, inner)) = binders.split_first() else {
            return visit(self);
        };
        let at = self.syms.len();
        self.syms.push((binder.sym.clone(), 0));
        for i in 0..shape[0] {
            self.syms[at].1 = i as i128;
            self.run_through(inner, &shape[1..], visit)?;
        }
        self.syms.truncate(at);
        Ok(())
    }

    pub fn reduce(&mut self, term: &Term, reduce: &Reduce) -> Res<Val> {
        let mut total = Accumulator::new(reduce.op, term.dtype(), self.domain);
        self.in_loop(|m| m.fold(reduce, 0, &mut total))?;
        match total.finish() {
            Ok(value) => Ok(Val::Scalar(term.dtype(), value)),
            Err(fault) => Err(from_fault(fault, term.span())),
        }
    }

    /// An extent may depend on the symbols bound before it; a negative one is empty.
    fn fold(&mut self, reduce: &Reduce, axis: usize, total: &mut Accumulator) -> Res<()> {
        let Some(binder) = reduce.binders.get(axis) else {
            let value = self.value(&reduce.body)?;
            return total
                .add(value)
                .map_err(|fault| from_fault(fault, reduce.body.span()));
        };
        let extent = self.size(&binder.extent, reduce.body.span())?;
        let at = self.syms.len();
        self.syms.push((binder.sym.clone(), 0));
        for i in 0..extent {
            self.syms[at].1 = i;
            self.fold(reduce, axis + 1, total)?;
        }
        self.syms.truncate(at);
        Ok(())
    }
}
