//! Calls of operators and functions: arguments, preconditions, the trace of an error.

use super::error::{EvalError, Frame, Res, codes, error};
use super::machine::{Machine, Val};
use crate::term::{Form, Instance, Require, Term};
use std::sync::Arc;

impl Machine<'_> {
    pub fn call(&mut self, term: &Term, instance: &Arc<Instance>, args: &[Term]) -> Res<Val> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            // A variable passed on is the same value under another name.
            let stamp = match arg.form() {
                Form::Var(var) => Some(self.lookup(var, arg.span())?.stamp),
                _ => None,
            };
            values.push((self.eval(arg)?, stamp));
        }
        let outer = self.vars.len();
        for ((var, _), (value, stamp)) in instance.params.iter().zip(values) {
            self.bind(var, value, stamp);
        }
        let result = self.enter(instance);
        match result {
            Ok(value) => {
                self.vars.truncate(outer);
                Ok(value)
            }
            Err(fault) => Err(self.traced(fault, term, instance, outer)),
        }
    }

    fn enter(&mut self, instance: &Instance) -> Res<Val> {
        for require in &instance.requires {
            match self.condition(&require.cond)? {
                Some(true) => {}
                Some(false) => return self.refused(instance, require),
                None => {
                    let message = format!("the precondition `{}` is undefined", require.text);
                    return error(None, codes::UNDECIDED, require.span, message);
                }
            }
        }
        self.eval(&instance.body)
    }

    fn refused(&mut self, instance: &Instance, require: &Require) -> Res<Val> {
        let deps = self.deps(&require.cond);
        let known = deps.syms.iter().filter_map(|sym| {
            let value = self.sym(sym)?;
            Some(format!("{} = {value}", sym.name()))
        });
        let known: Vec<String> = known.collect();
        let mut message = format!("precondition `{}` of `{}` does not hold", require.text, instance.name);
        if !known.is_empty() {
            message = format!("{message} with {}", known.join(", "));
        }
        error(Some(require.class), codes::REQUIRES, require.span, message)
    }

    /// The arguments are still bound above `outer` where the error arose.
    fn traced(
        &self,
        fault: Box<EvalError>,
        term: &Term,
        instance: &Instance,
        outer: usize,
    ) -> Box<EvalError> {
        let args = self.vars.iter().skip(outer).take(instance.params.len());
        let mut texts: Vec<String> = args.map(|bound| bound.value.type_text()).collect();
        texts.extend(instance.statics.iter().map(|(name, value)| format!("{name} = {value}")));
        fault.through(Frame {
            name: instance.name.to_string(),
            span: term.span(),
            args: texts.join(", "),
            is_op: instance.is_op,
        })
    }
}
