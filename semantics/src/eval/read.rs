//! Reads: the element of a tensor at an index.

use super::error::{Res, codes, error};
use super::machine::{Machine, Val, ill_typed};
use super::shared::Visited;
use crate::diag::Span;
use crate::scalar::Value;
use crate::term::{Binder, ErrorClass, Form, Term};

impl Machine<'_> {
    pub fn read(&mut self, term: &Term, base: &Term, index: &[Term]) -> Res<Val> {
        match self.index(index)? {
            Some(index) => self.element(term, base, &index),
            None => {
                self.around(base)?;
                Ok(Val::Scalar(term.dtype(), Value::BOTTOM))
            }
        }
    }

    /// What is evaluated of a base whatever its element: everything but the bodies of
    /// comprehensions.
    fn around(&mut self, base: &Term) -> Res<()> {
        match base.form() {
            Form::Var(_) => Ok(()),
            Form::Comp(binders, _) => self.extents(binders, base.span()).map(drop),
            Form::If(cond, then, otherwise) => match self.condition(cond)? {
                Some(true) => self.nested(then, |m| m.around(then)),
                Some(false) => self.nested(otherwise, |m| m.around(otherwise)),
                None => Ok(()),
            },
            Form::Let(var, value, body) => {
                let (value, stamp) = self.shared(value)?;
                let outer = self.vars.len();
                self.bind(var, value, Some(stamp));
                self.nested(body, |m| m.around(body))?;
                self.vars.truncate(outer);
                Ok(())
            }
            _ => self.shared(base).map(drop),
        }
    }

    /// The index, `None` if a component is undefined; all of them are evaluated.
    pub fn index(&mut self, terms: &[Term]) -> Res<Option<Vec<i128>>> {
        let (mut index, mut undefined) = (Vec::with_capacity(terms.len()), false);
        for term in terms {
            // A size cannot nest, so it needs no visit of its own.
            if let Form::Size(size) = term.form() {
                index.push(self.size(size, term.span())?);
                continue;
            }
            index.push(match self.eval(term)? {
                Val::Size(i) => i,
                Val::Scalar(_, Value::Int(i)) => i.into(),
                Val::Scalar(_, value) if value.is_bottom() => {
                    undefined = true;
                    0
                }
                other => return Err(ill_typed(term, &other)),
            });
        }
        Ok((!undefined).then_some(index))
    }

    /// The element of `base` at `index`, for the read `term`.
    fn element(&mut self, term: &Term, base: &Term, index: &[i128]) -> Res<Val> {
        match base.form() {
            Form::Var(var) => {
                let bound = self.lookup(var, base.span())?;
                fetch(term, base, &bound.value, index)
            }
            Form::Comp(binders, body) => self.element_of_comp(term, base, binders, body, index),
            Form::If(cond, then, otherwise) => {
                let branch = match self.condition(cond)? {
                    Some(true) => then,
                    Some(false) => otherwise,
                    None => return Ok(Val::Scalar(term.dtype(), Value::BOTTOM)),
                };
                self.nested(branch, |m| m.element(term, branch, index))
            }
            Form::Let(var, value, body) => {
                let (value, stamp) = self.shared(value)?;
                let outer = self.vars.len();
                self.bind(var, value, Some(stamp));
                let result = self.nested(body, |m| m.element(term, body, index))?;
                self.vars.truncate(outer);
                Ok(result)
            }
            _ => {
                let (value, _) = self.shared(base)?;
                fetch(term, base, &value, index)
            }
        }
    }

    /// The body at the index. A second read in the same surroundings suggests more to
    /// come: then all elements are evaluated once, if they all have a value.
    fn element_of_comp(
        &mut self,
        term: &Term,
        base: &Term,
        binders: &[Binder],
        body: &Term,
        index: &[i128],
    ) -> Res<Val> {
        if self.loops > 0 {
            let key = self.surroundings(base);
            match self.recall(base, &key) {
                Some(Visited::Whole(value, _)) => return fetch(term, base, &value, index),
                Some(Visited::Partial) => {}
                Some(Visited::Once) => {
                    let state = self.attempt(base)?;
                    self.remember(base, key, state);
                }
                None => self.remember(base, key, Visited::Once),
            }
        }
        let shape = self.extents(binders, base.span())?;
        offset(term.span(), index, &shape, read_at(term))?;
        let outer = self.syms.len();
        for (binder, i) in binders.iter().zip(index) {
            self.syms.push((binder.sym.clone(), *i));
        }
        let result = self.eval(body)?;
        self.syms.truncate(outer);
        Ok(result)
    }

    fn attempt(&mut self, base: &Term) -> Res<Visited> {
        let mark = self.mark();
        match self.nested(base, |m| m.form(base)) {
            Ok(value) => Ok(Visited::Whole(value, self.fresh_stamp())),
            Err(fault) if fault.is_exhaustion() => Err(fault),
            // Which elements are read decides whether the error is one.
            Err(_) => {
                self.restore(mark);
                Ok(Visited::Partial)
            }
        }
    }
}

/// An element of a tensor that is there.
fn fetch(term: &Term, base: &Term, value: &Val, index: &[i128]) -> Res<Val> {
    let Val::Tensor(held) = value else {
        return Err(ill_typed(base, value));
    };
    let tensor = &held.tensor;
    let at = offset(term.span(), index, tensor.shape(), read_at(term))?;
    match tensor.nth(at) {
        Some(element) => Ok(Val::Scalar(tensor.dtype, element.clone())),
        None => Err(ill_typed(base, value)),
    }
}

/// The index of a read.
fn read_at(term: &Term) -> &[Term] {
    match term.form() {
        Form::Read(_, index) => index,
        _ => &[],
    }
}

/// The row-major number of an index, each component inside its axis. An error names a
/// component as it is given in `terms`, not as it counts from the other end.
pub(super) fn offset(span: Span, index: &[i128], shape: &[usize], terms: &[Term]) -> Res<usize> {
    let mut offset = 0;
    for (axis, (i, extent)) in index.iter().zip(shape).enumerate() {
        match usize::try_from(*i) {
            Ok(i) if i < *extent => offset = offset * extent + i,
            _ => {
                let from_end = *i < 0 && terms.get(axis).is_some_and(Term::counts_from_end);
                let given = if from_end { i - *extent as i128 } else { *i };
                let message = format!("index {given} is out of range for axis {axis} of extent {extent}");
                return error(Some(ErrorClass::Index), codes::INDEX, span, message);
            }
        }
    }
    Ok(offset)
}
