//! Loops over state and functional writes.

use std::sync::Arc;

use super::error::{Res, codes, error, from_fault};
use super::machine::{Machine, Val, ill_typed};
use super::read::offset;
use crate::scalar::{Fault, Value};
use crate::tensor::Tensor;
use crate::term::{Loop, Term, Write};

impl Machine<'_> {
    /// State passed through the steps: the value is the last state, a tuple if there
    /// are several. The condition is looked at before each step; the number of trips
    /// is fixed at entry.
    pub fn run_loop(&mut self, term: &Term, l: &Loop) -> Res<Val> {
        let trips = match &l.counter {
            Some(counter) => Some(self.size(&counter.extent, term.span())?),
            None => None,
        };
        let mut state = Vec::with_capacity(l.state.len());
        for (_, init) in &l.state {
            state.push(self.eval(init)?);
        }
        self.loops += 1;
        self.iterate(term, l, trips, &mut state)?;
        self.leave_loop();
        match (state.pop(), state.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                state.extend(last);
                Ok(Val::Tuple(Arc::new(state)))
            }
        }
    }

    fn iterate(&mut self, term: &Term, l: &Loop, trips: Option<i128>, state: &mut Vec<Val>) -> Res<()> {
        let mut trip = 0;
        while trips.is_none_or(|trips| trip < trips) {
            let (syms, vars) = (self.syms.len(), self.vars.len());
            if let Some(counter) = &l.counter {
                self.syms.push((counter.sym.clone(), trip));
            }
            for ((var, _), value) in l.state.iter().zip(state.iter()) {
                self.bind(var, value.clone(), None);
            }
            let go_on = match &l.condition {
                Some(condition) => self.condition(condition)?,
                None => Some(true),
            };
            match go_on {
                Some(true) => *state = self.next_state(term, l)?,
                Some(false) => trip = trips.unwrap_or(i128::MAX),
                None => {
                    let message = "the condition of the loop is undefined";
                    return error(None, codes::UNDECIDED, term.span(), message);
                }
            }
            self.syms.truncate(syms);
            self.vars.truncate(vars);
            if go_on == Some(false) {
                break;
            }
            trip += 1;
        }
        Ok(())
    }

    fn next_state(&mut self, term: &Term, l: &Loop) -> Res<Vec<Val>> {
        match self.eval(&l.step)? {
            value if l.state.len() == 1 => Ok(vec![value]),
            Val::Tuple(parts) if parts.len() == l.state.len() => Ok(parts.to_vec()),
            other => Err(ill_typed(term, &other)),
        }
    }

    /// The base with elements replaced, in row-major order of the binders: of two
    /// writes to one place the later holds. Values see the base as it was.
    pub fn write(&mut self, term: &Term, w: &Write) -> Res<Val> {
        let base = self.eval(&w.base)?;
        let (dtype, shape, mut values) = match &base {
            Val::Tensor(held) => {
                let tensor = &held.tensor;
                (tensor.dtype, tensor.shape().to_vec(), tensor.values().cloned().collect())
            }
            Val::Scalar(dtype, value) => (*dtype, Vec::new(), vec![value.clone()]),
            other => return Err(ill_typed(&w.base, other)),
        };
        let share = self.reserve(&shape, w.base.span())?;
        let extents = self.extents(&w.binders, w.value.span())?;
        self.at_each_index(term, &w.binders, &extents, &mut |m| m.write_one(w, &shape, &mut values))?;
        match Tensor::trusted(dtype, &shape, values) {
            Ok(tensor) => Ok(Val::tensor(tensor, share)),
            Err(fault) => Err(from_fault(Fault::Value(fault.to_string()), w.base.span())),
        }
    }

    fn write_one(&mut self, w: &Write, shape: &[usize], values: &mut [Value]) -> Res<()> {
        let value = self.value(&w.value)?;
        let Some(index) = self.index(&w.index)? else {
            let message = "a write at an undefined index";
            return error(None, codes::UNDECIDED, w.value.span(), message);
        };
        values[offset(w.value.span(), &index, shape, &w.index)?] = value;
        Ok(())
    }
}
