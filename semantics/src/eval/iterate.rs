//! Comprehensions and reductions.

use super::accumulate::Accumulator;
use super::error::{Res, codes, error, from_fault};
use super::machine::{Machine, Val};
use crate::diag::Span;
use crate::scalar::Value;
use crate::tensor::Tensor;
use crate::term::{Binder, Declared, ErrorClass, Reduce, Term};

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
        let mut values: Vec<Value> = Vec::new();
        if values.try_reserve_exact(share.count).is_err() {
            return error(None, codes::ELEMENTS, term.span(), format!("no memory for {shape:?}"));
        }
        self.at_each_index(term, binders, &shape, &mut |m| {
            values.push(m.value(body)?);
            Ok(())
        })?;
        match Tensor::trusted(body.dtype(), &shape, values) {
            Ok(tensor) => Ok(Val::tensor(tensor, share)),
            Err(fault) => error(None, codes::ELEMENTS, term.span(), fault.to_string()),
        }
    }

    /// Visits all index tuples below `shape` in row-major order, the symbols bound.
    pub fn at_each_index(
        &mut self,
        term: &Term,
        binders: &[Binder],
        shape: &[usize],
        visit: &mut dyn FnMut(&mut Self) -> Res<()>,
    ) -> Res<()> {
        if shape.contains(&0) {
            return Ok(());
        }
        self.run_through(term, binders, &|_, axis| Ok(shape[axis] as i128), visit)
    }

    /// Visits index tuples in row-major order. The extent of an axis is asked for with
    /// the symbols before it bound; one that is not positive has no index.
    fn run_through(
        &mut self,
        term: &Term,
        binders: &[Binder],
        extent: &dyn Fn(&Self, usize) -> Res<i128>,
        visit: &mut dyn FnMut(&mut Self) -> Res<()>,
    ) -> Res<()> {
        self.loops += 1;
        let mut entered = Vec::with_capacity(binders.len());
        loop {
            while entered.len() < binders.len() && entered.last().is_none_or(|end| *end > 0) {
                let end = extent(self, entered.len())?;
                self.syms.push((binders[entered.len()].sym.clone(), 0));
                entered.push(end);
            }
            // Counted although nothing may be visited: axes without an index take time.
            self.step(term)?;
            if entered.last().is_none_or(|end| *end > 0) {
                visit(self)?;
            }
            if !self.advance(&mut entered) {
                break;
            }
        }
        self.leave_loop();
        Ok(())
    }

    /// To the next index of the innermost axis that has one; `false` at the end.
    fn advance(&mut self, entered: &mut Vec<i128>) -> bool {
        while let (Some(end), Some((_, i))) = (entered.last(), self.syms.last_mut()) {
            *i += 1;
            if *i < *end {
                return true;
            }
            entered.pop();
            self.syms.pop();
        }
        false
    }

    /// An extent may depend on the symbols bound before it; a negative one is empty.
    pub fn reduce(&mut self, term: &Term, reduce: &Reduce) -> Res<Val> {
        if let Some(monoid) = reduce.op.declared() {
            return self.reduce_declared(term, reduce, monoid);
        }
        let body = &reduce.body;
        let extent = |m: &Self, axis: usize| m.size(&reduce.binders[axis].extent, term.span());
        let mut total = Accumulator::new(&reduce.op, term.dtype(), self.domain);
        self.run_through(term, &reduce.binders, &extent, &mut |m| {
            let value = m.value(body)?;
            total.add(value).map_err(|fault| from_fault(fault, body.span()))
        })?;
        match total.finish() {
            Ok(value) => Ok(Val::Scalar(term.dtype(), value)),
            Err(fault) => Err(from_fault(fault, term.span())),
        }
    }

    /// From the first element on; the identity without any.
    fn reduce_declared(&mut self, term: &Term, reduce: &Reduce, monoid: &Declared) -> Res<Val> {
        let extent = |m: &Self, axis: usize| m.size(&reduce.binders[axis].extent, term.span());
        let mut total = None;
        self.run_through(term, &reduce.binders, &extent, &mut |m| {
            let value = m.eval(&reduce.body)?;
            total = Some(match total.take() {
                Some(sum) => m.combined(monoid, sum, value)?,
                None => value,
            });
            Ok(())
        })?;
        match total {
            Some(total) => Ok(total),
            None => self.eval(&monoid.identity),
        }
    }

    /// Two elements of a declared monoid, combined.
    fn combined(&mut self, monoid: &Declared, left: Val, right: Val) -> Res<Val> {
        let outer = self.vars.len();
        for ((var, _), value) in monoid.combine.params.iter().zip([left, right]) {
            self.bind(var, value, None);
        }
        let value = self.eval(&monoid.combine.body);
        self.vars.truncate(outer);
        value
    }
}
