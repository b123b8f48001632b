//! Scalars that are finite, defined and free of errors wherever the facts hold, by their
//! structure. In mode real the elements of parameters are finite.

use super::Check;
use super::text::divisors;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::{Domain, Exact, Scalar, Value};
use rtv_semantics::size::Size;
use rtv_semantics::term::{Binder, Form, Fun, Lit, Monoid, Reduce, Term};
use rtv_smt::{Budget, Sign};

/// What is known of a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    AtLeastZero,
    Positive,
}

impl Check<'_, '_> {
    /// Finite, defined and free of errors: by structure, else by a question to the solvers.
    pub fn finite(&mut self, term: &Term, facts: &[Cond]) -> bool {
        self.tame(term, facts) || self.never_otherwise(term, None, facts)
    }

    pub fn is_positive(&mut self, term: &Term, facts: &[Cond]) -> bool {
        self.sign_of(term, facts) == Some(Sign::Positive)
    }

    /// The sign of a finite number, by structure, else by questions to the solvers.
    pub fn sign_of(&mut self, term: &Term, facts: &[Cond]) -> Option<Sign> {
        if let (true, Some(Known::Positive)) = (self.tame(term, facts), self.sign(term, facts)) {
            return Some(Sign::Positive);
        }
        let signs = [Sign::Positive, Sign::AtLeastZero, Sign::Negative];
        signs.into_iter().find(|sign| self.never_otherwise(term, Some(*sign), facts))
    }

    /// Whether no solver finds a term to be infinite, undefined, an error, or of another sign
    /// than one that is given.
    fn never_otherwise(&mut self, term: &Term, sign: Option<Sign>, facts: &[Cond]) -> bool {
        let known = std::mem::take(&mut self.hypotheses);
        let mut refuted = |hypotheses: &[Term], budget: Budget| {
            let question = self.encoding.number_question(term, sign, self.mode, facts, hypotheses);
            question.is_some_and(|text| self.leaves.refuted(&text, budget))
        };
        let never = match known.is_empty() {
            true => refuted(&[], Budget::OBLIGATION),
            // What is known of values is not needed as a rule, and makes the question dear.
            false => refuted(&[], Budget::PRUNE) || refuted(&known, Budget::OBLIGATION),
        };
        self.hypotheses = known;
        never
    }

    pub fn tame(&mut self, term: &Term, facts: &[Cond]) -> bool {
        if !self.step() {
            return false;
        }
        match term.form() {
            Form::Size(size) => self.whole(size, facts),
            Form::Lit(_) => !is_infinite(term),
            Form::Var(_) => true,
            Form::Read(base, index) => self.tame(base, facts) && self.all_tame(index, facts),
            Form::Call(Fun::Item(_), args) | Form::Tuple(args) => self.all_tame(args, facts),
            Form::Call(Fun::Cast(to), args) => {
                let float = args[0].tensor_type().is_some_and(|ty| ty.dtype.is_float());
                (to.is_float() || !float) && self.all_tame(args, facts)
            }
            Form::Call(Fun::Combine(monoid), args) => {
                self.laws(monoid).is_some() && self.all_tame(args, facts)
            }
            // Infinities may be compared with.
            Form::Call(Fun::Scalar(fun), args) if compares(*fun) => {
                args.iter().all(|arg| is_infinity(arg) || self.tame(arg, facts))
            }
            Form::Call(Fun::Scalar(fun), args) => {
                self.all_tame(args, facts) && self.tame_call(*fun, args, facts)
            }
            Form::If(c, x, y) => {
                let given = |truth| [facts, &super::agree::known(c, truth, &Default::default())].concat();
                self.tame(c, facts) && self.tame(x, &given(true)) && self.tame(y, &given(false))
            }
            Form::Reduce(reduce) => {
                let inside = self.inside(reduce, facts);
                let extents = reduce.binders.iter().all(|b| self.whole(&b.extent, facts));
                let float = reduce.body.tensor_type().is_some_and(|ty| ty.dtype.is_float());
                let (lawful, infinite) = match &reduce.op {
                    Monoid::Declared(monoid) => {
                        (self.laws(monoid).is_some(), monoid.identity.components().iter().any(is_infinite))
                    }
                    op => (true, float && matches!(op, Monoid::Max | Monoid::Min)),
                };
                lawful
                    && extents
                    && self.tame(&reduce.body, &inside)
                    && (!infinite || self.nonempty(reduce, facts))
            }
            _ => false,
        }
    }

    fn all_tame(&mut self, terms: &[Term], facts: &[Cond]) -> bool {
        terms.iter().all(|term| self.tame(term, facts))
    }

    /// No division of the size fails.
    pub fn whole(&mut self, size: &Size, facts: &[Cond]) -> bool {
        divisors(size).iter().all(|d| self.holds(facts, &Cond::ne(d, &Size::zero())))
    }

    /// The condition has a truth value.
    pub fn total(&mut self, cond: &Cond, facts: &[Cond]) -> bool {
        match cond {
            Cond::True | Cond::False => true,
            Cond::NonNeg(p) | Cond::Zero(p) | Cond::NonZero(p) => self.whole(p, facts),
            Cond::And(parts) | Cond::Or(parts) => parts.iter().all(|part| self.total(part, facts)),
        }
    }

    /// The facts with the ranges of the binders, which hide outer symbols of their names.
    fn inside(&mut self, reduce: &Reduce, facts: &[Cond]) -> Vec<Cond> {
        let hidden = |fact: &&Cond| reduce.binders.iter().all(|b| !fact.mentions(&b.sym));
        let mut inside: Vec<Cond> = facts.iter().filter(hidden).cloned().collect();
        for Binder { sym, extent } in &reduce.binders {
            inside.push(Cond::within(&Size::zero(), &Size::sym(sym), extent));
        }
        inside
    }

    fn nonempty(&mut self, reduce: &Reduce, facts: &[Cond]) -> bool {
        reduce.binders.iter().all(|b| {
            let flat = reduce.binders.iter().all(|other| !b.extent.mentions(&other.sym));
            flat && self.holds(facts, &Cond::le(&Size::one(), &b.extent))
        })
    }

    /// A function of tame arguments.
    fn tame_call(&mut self, fun: Scalar, args: &[Term], facts: &[Cond]) -> bool {
        use Scalar::*;
        match (fun, args) {
            (
                Add | Sub | Mul | Neg | Abs | Maximum | Minimum | LogicalAnd | LogicalOr | LogicalNot
                | LogicalXor | Exp | Tanh | Sigmoid | Sin | Cos | Erf | Floor | Ceil | Round | Trunc | Sign,
                _,
            ) => true,
            (Div, [_, y]) | (Reciprocal, [y]) => self.nonzero(y, facts),
            (Log | Rsqrt, [x]) => self.sign(x, facts) == Some(Known::Positive),
            (Sqrt, [x]) => self.sign(x, facts).is_some(),
            _ => false,
        }
    }

    fn nonzero(&mut self, term: &Term, facts: &[Cond]) -> bool {
        let negative = match (number(term), term.form()) {
            (Some(value), _) => !value.is_zero(),
            (None, Form::Call(Fun::Scalar(Scalar::Neg), args)) => self.nonzero(&args[0], facts),
            (None, Form::Call(Fun::Scalar(Scalar::Mul | Scalar::Div), args)) => {
                args.iter().all(|arg| self.nonzero(arg, facts))
            }
            (None, Form::Call(Fun::Cast(_), args)) if term.dtype().is_float() => {
                let size = args[0].as_size().cloned();
                size.is_some_and(|size| self.holds(facts, &Cond::ne(&size, &Size::zero())))
            }
            _ => false,
        };
        negative || self.sign(term, facts) == Some(Known::Positive)
    }

    /// The sign of a tame float.
    fn sign(&mut self, term: &Term, facts: &[Cond]) -> Option<Known> {
        use Known::*;
        if !self.step() {
            return None;
        }
        if let Some(value) = number(term) {
            return match (value.is_positive(), value.is_zero()) {
                (true, _) => Some(Positive),
                (_, true) => Some(AtLeastZero),
                _ => None,
            };
        }
        match term.form() {
            Form::Call(Fun::Scalar(fun), args) => match (fun, args.as_slice()) {
                (Scalar::Exp | Scalar::Sigmoid, _) => Some(Positive),
                (Scalar::Abs, _) => Some(AtLeastZero),
                (Scalar::Sqrt | Scalar::Rsqrt | Scalar::Reciprocal, [x]) => self.sign(x, facts),
                (Scalar::Mul, [x, y]) => {
                    let signs = (self.sign(x, facts), self.sign(y, facts));
                    match signs {
                        (Some(a), Some(b)) => Some(a.min(b)),
                        _ => self.agree(x, y, facts).then_some(AtLeastZero),
                    }
                }
                (Scalar::Div, [x, y]) => Some(self.sign(x, facts)?.min(self.sign(y, facts)?)),
                (Scalar::Add, [x, y]) => Some(self.sign(x, facts)?.max(self.sign(y, facts)?)),
                (Scalar::Maximum, [x, y]) => self.sign(x, facts).max(self.sign(y, facts)),
                (Scalar::Minimum, [x, y]) => Some(self.sign(x, facts)?.min(self.sign(y, facts)?)),
                _ => None,
            },
            Form::Call(Fun::Cast(_), args) => {
                let size = args[0].as_size()?.clone();
                match self.holds(facts, &Cond::le(&Size::one(), &size)) {
                    true => Some(Positive),
                    false => self.holds(facts, &Cond::non_neg(size)).then_some(AtLeastZero),
                }
            }
            Form::If(c, x, y) => {
                let given = |truth| [facts, &super::agree::known(c, truth, &Default::default())].concat();
                Some(self.sign(x, &given(true))?.min(self.sign(y, &given(false))?))
            }
            Form::Reduce(reduce) => {
                let inside = self.inside(reduce, facts);
                let sign = self.sign(&reduce.body, &inside)?;
                match reduce.op {
                    Monoid::Prod => Some(sign),
                    Monoid::Sum | Monoid::Max | Monoid::Min if self.nonempty(reduce, facts) => Some(sign),
                    Monoid::Sum => Some(AtLeastZero),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Whether a literal is no number.
fn is_infinite(term: &Term) -> bool {
    matches!(term.form(), Form::Lit(Lit::Inf | Lit::NegInf | Lit::Nan))
}

fn compares(fun: Scalar) -> bool {
    matches!(fun, Scalar::Eq | Scalar::Ne | Scalar::Lt | Scalar::Le | Scalar::Gt | Scalar::Ge)
}

fn is_infinity(term: &Term) -> bool {
    matches!(term.form(), Form::Lit(Lit::Inf | Lit::NegInf))
}

/// The rational number that a float literal is.
pub fn number(term: &Term) -> Option<BigRational> {
    let Form::Lit(lit) = term.form() else { return None };
    match lit {
        Lit::Int(value) => Some(value.clone().into()),
        Lit::Decimal(text) => match Value::literal(text, DType::F64, Domain::Exact).ok()? {
            Value::Exact(Exact::Rational(value)) => Some((*value).clone()),
            _ => None,
        },
        _ => None,
    }
}
