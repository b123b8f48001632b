//! What it says of a term over the reals that it is defined.
//!
//! The undefined value is absorbing: where a term is defined, so is every operand that it
//! is computed from, and a divisor is not 0, a number under a root not negative, a number
//! with a logarithm neither. Of an `if` only the condition is looked at, of a reduction
//! the elements at all indices.

use rtv_semantics::diag::Span;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::{Binder, Form, Fun, Monoid, Reduce, Term};

use crate::normal::number_of;

/// More conditions than this are not collected.
const MAX_NEEDS: usize = 8;

/// Conditions that hold wherever the term is defined and evaluates without an error: on
/// sizes, and on values.
pub(crate) fn needs(term: &Term, facts: &[Cond], engine: &dyn Entails) -> (Vec<Cond>, Vec<Term>) {
    let mut found = Needs { facts, engine, binders: Vec::new(), sizes: Vec::new(), values: Vec::new() };
    found.term(term);
    (found.sizes, found.values)
}

struct Needs<'a> {
    facts: &'a [Cond],
    engine: &'a dyn Entails,
    /// Those around the place that is looked at.
    binders: Vec<Binder>,
    sizes: Vec<Cond>,
    values: Vec<Term>,
}

impl Needs<'_> {
    fn term(&mut self, term: &Term) {
        match term.form() {
            // With a condition on sizes at one side the other one may not be looked at.
            Form::Call(Fun::Scalar(Scalar::LogicalAnd | Scalar::LogicalOr), _) => {}
            Form::Call(Fun::Scalar(fun), args) => {
                args.iter().for_each(|arg| self.term(arg));
                let float = args.last().and_then(Term::tensor_type).is_some_and(|ty| ty.dtype.is_float());
                if let (true, Some(last)) = (float, args.last()) {
                    match fun {
                        Scalar::Div | Scalar::Reciprocal => self.need(Scalar::Ne, last),
                        Scalar::Rsqrt => self.need(Scalar::Gt, last),
                        Scalar::Sqrt | Scalar::Log => self.need(Scalar::Ge, last),
                        _ => {}
                    }
                }
            }
            Form::Call(Fun::Cast(_), args) => args.iter().for_each(|arg| self.term(arg)),
            Form::If(cond, ..) => self.term(cond),
            Form::Reduce(Reduce {
                op: Monoid::Sum | Monoid::Prod | Monoid::Max | Monoid::Min,
                binders,
                body,
            }) => {
                let outer = self.binders.len();
                self.binders.extend(binders.iter().cloned());
                self.term(body);
                self.binders.truncate(outer);
            }
            _ => {}
        }
    }

    /// `operand` is in the given relation to 0.
    fn need(&mut self, relation: Scalar, operand: &Term) {
        if number_of(operand).is_some() || self.values.len() >= MAX_NEEDS {
            return;
        }
        let span = operand.span();
        if let (Scalar::Ne, Some(size), true) = (relation, converted(operand), self.binders.is_empty()) {
            self.sizes.push(Cond::ne(size, &Size::zero()));
            return;
        }
        let zero = Monoid::Sum.neutral(operand.ty(), span);
        let need = Term::scalar(relation, vec![operand.clone(), zero], span);
        self.values.push(self.everywhere(need, span));
    }

    /// A condition for all indices; for one that no index occurs in, where there is one.
    fn everywhere(&self, need: Term, span: Span) -> Term {
        let syms = free_syms(&need);
        if self.binders.iter().any(|b| syms.contains(&b.sym)) {
            return Term::reduce(Monoid::All, self.binders.clone(), need, span);
        }
        let some = |extent: &Size| Cond::le(&Size::one(), extent);
        let known = |b: &&Binder| !self.engine.entails(self.facts, &some(&b.extent));
        let open: Vec<&Binder> = self.binders.iter().filter(known).collect();
        let flat = open.iter().all(|b| self.binders.iter().all(|other| !b.extent.mentions(&other.sym)));
        match flat {
            true => {
                let some = Cond::and(open.iter().map(|b| some(&b.extent)));
                Term::if_(Term::cond(&some, span), need, Term::bool(true, span), span)
            }
            false => Term::reduce(Monoid::All, self.binders.clone(), need, span),
        }
    }
}

/// The size that is converted.
fn converted(term: &Term) -> Option<&Size> {
    match term.form() {
        Form::Call(Fun::Cast(_), args) => args.first()?.as_size(),
        _ => None,
    }
}
