//! What it says of a term over the reals that it is defined and free of errors.
//!
//! The undefined value is absorbing, so all operands are defined: a divisor is not 0, what is
//! under `rsqrt` is positive, what is under `sqrt` or `log` is not negative. Of an `if` that
//! holds for the condition; of a sum, a product or an extreme for the elements at all indices. What a
//! declared monoid combines may be left out by it, undefined or not.

use super::{Check, Why, fail};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::{Binder, Form, Fun, Lit, Monoid, Reduce, Term};
use rtv_smt::Need;

/// Conditions that are looked at.
const MAX_SAID: usize = 64;

/// `operand` is in the relation to 0, for all indices.
struct Said {
    binders: Vec<Binder>,
    relation: Scalar,
    operand: Term,
}

impl Check<'_, '_> {
    /// Whether the conditions are what a defined term says.
    pub fn says(&mut self, term: &Term, sizes: &[Cond], needs: &[Need], facts: &[Cond]) -> Result<(), Why> {
        if self.mode != Mode::Real {
            return fail("real numbers");
        }
        let mut said = Vec::new();
        collect(term, &mut Vec::new(), &mut said);
        let on_sizes: Vec<Cond> = said.iter().filter_map(Said::on_size).collect();
        if !sizes.iter().all(|size| on_sizes.contains(size)) {
            return fail("a divisor that is this size");
        }
        let all = [facts, sizes].concat();
        for Need { value, .. } in needs {
            if !said.iter().any(|said| self.is_said(said, value, &all)) {
                return fail("a condition that a defined side meets");
            }
        }
        Ok(())
    }

    /// Whether a condition says no more than what is said: the same for all indices; or for one
    /// that it does not depend on, where there is one.
    fn is_said(&mut self, said: &Said, value: &Term, facts: &[Cond]) -> bool {
        let span = value.span();
        let zero = Monoid::Sum.neutral(said.operand.ty(), span);
        let need = Term::scalar(said.relation, vec![said.operand.clone(), zero], span);
        let free = free_syms(&need);
        if alpha_eq(value, &Term::reduce(Monoid::All, said.binders.clone(), need.clone(), span)) {
            return true;
        }
        let (given, one) = match value.form() {
            Form::If(cond, then, other) if matches!(other.form(), Form::Lit(Lit::Bool(true))) => {
                let Some(cond) = cond.as_cond() else { return false };
                ([facts, &[cond]].concat(), then)
            }
            _ => (facts.to_vec(), value),
        };
        let some = |check: &mut Self, b: &Binder| {
            let flat = said.binders.iter().all(|other| !b.extent.mentions(&other.sym));
            flat && check.holds(&given, &Cond::le(&Size::one(), &b.extent))
        };
        alpha_eq(one, &need) && said.binders.iter().all(|b| !free.contains(&b.sym) && some(self, b))
    }
}

impl Said {
    /// As a condition on a size that is converted.
    fn on_size(&self) -> Option<Cond> {
        let Form::Call(Fun::Cast(_), args) = self.operand.form() else { return None };
        let alone = self.relation == Scalar::Ne && self.binders.is_empty();
        args[0].as_size().filter(|_| alone).map(|size| Cond::ne(size, &Size::zero()))
    }
}

fn collect(term: &Term, binders: &mut Vec<Binder>, into: &mut Vec<Said>) {
    match term.form() {
        // With a condition on sizes at one side the other one may not be looked at.
        Form::Call(Fun::Scalar(Scalar::LogicalAnd | Scalar::LogicalOr), _) => {}
        Form::Call(Fun::Scalar(fun), args) => {
            args.iter().for_each(|arg| collect(arg, binders, into));
            let Some(operand) = args.last() else { return };
            let relation = match fun {
                Scalar::Div | Scalar::Reciprocal => Scalar::Ne,
                Scalar::Rsqrt => Scalar::Gt,
                Scalar::Sqrt | Scalar::Log => Scalar::Ge,
                _ => return,
            };
            let float = operand.tensor_type().is_some_and(|ty| ty.dtype.is_float());
            if float && into.len() < MAX_SAID {
                into.push(Said { binders: binders.clone(), relation, operand: operand.clone() });
            }
        }
        Form::Call(Fun::Cast(_), args) => args.iter().for_each(|arg| collect(arg, binders, into)),
        Form::If(cond, ..) => collect(cond, binders, into),
        Form::Reduce(Reduce { op, binders: own, body }) => {
            let hidden = own.iter().any(|b| binders.iter().any(|outer| outer.sym == b.sym));
            if hidden || !matches!(op, Monoid::Sum | Monoid::Prod | Monoid::Max | Monoid::Min) {
                return;
            }
            let outer = binders.len();
            binders.extend(own.iter().cloned());
            collect(body, binders, into);
            binders.truncate(outer);
        }
        _ => {}
    }
}
