//! What is known of the numbers in a value over the reals, when inputs are finite: that they are
//! numbers at all, their signs, and that they are not zero.
//!
//! Rules about the reals hold where values are finite; quotients are defined where divisors are
//! not zero. A fact is about every element; what is not shown is not known.

use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::term::{Form, Fun, Lit, Monoid, Reduce, Term, Var};
use rustc_hash::FxHashMap;

/// What is known of all elements of a value.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Known {
    /// Defined, and neither infinite nor NaN.
    pub finite: bool,
    pub nonneg: bool,
    pub nonzero: bool,
}

impl Known {
    pub const INPUT: Known = Known { finite: true, nonneg: false, nonzero: false };
    const NOTHING: Known = Known { finite: false, nonneg: false, nonzero: false };
    const POSITIVE: Known = Known { finite: true, nonneg: true, nonzero: true };

    fn finite(finite: bool) -> Known {
        Known { finite, ..Known::NOTHING }
    }

    fn both(self, other: Known) -> Known {
        Known {
            finite: self.finite && other.finite,
            nonneg: self.nonneg && other.nonneg,
            nonzero: self.nonzero && other.nonzero,
        }
    }

    fn where_defined(self, defined: bool) -> Known {
        if defined { self } else { Known::NOTHING }
    }

    fn positive(self) -> bool {
        self.finite && self.nonneg && self.nonzero
    }
}

/// Looks through terms, what variables are being known.
pub struct Looking<'a> {
    pub vars: FxHashMap<Var, Known>,
    /// Whether the facts of the program imply a condition on sizes.
    pub implied: &'a mut dyn FnMut(&Cond) -> bool,
}

impl Looking<'_> {
    pub fn term(&mut self, term: &Term) -> Known {
        match term.form() {
            Form::Size(size) => self.size(size),
            Form::Lit(lit) => literal(lit),
            Form::Var(var) => self.vars.get(var).copied().unwrap_or(Known::NOTHING),
            Form::Call(fun, args) => self.call(term, fun, args),
            Form::Read(base, index) => {
                let defined = index.iter().all(|i| i.as_size().is_some() || self.term(i).finite);
                self.term(base).where_defined(defined)
            }
            Form::Comp(_, body) => self.term(body),
            Form::Reduce(reduce) => self.reduction(reduce),
            Form::If(cond, then, otherwise) => {
                let defined = self.term(cond).finite;
                self.term(then).both(self.term(otherwise)).where_defined(defined)
            }
            Form::Let(var, value, body) => {
                let known = self.term(value);
                let before = self.vars.insert(var.clone(), known);
                let known = self.term(body);
                match before {
                    Some(before) => self.vars.insert(var.clone(), before),
                    None => self.vars.remove(var),
                };
                known
            }
            Form::Tuple(parts) => {
                let all = Known { nonneg: true, ..Known::POSITIVE };
                parts.iter().fold(all, |known, part| known.both(self.term(part)))
            }
            Form::Loop(_) | Form::Write(_) => Known::NOTHING,
        }
    }

    fn size(&mut self, size: &Size) -> Known {
        Known {
            finite: true,
            nonneg: (self.implied)(&Cond::non_neg(size.clone())),
            nonzero: (self.implied)(&Cond::ne(size, &Size::zero())),
        }
    }

    fn call(&mut self, term: &Term, fun: &Fun, args: &[Term]) -> Known {
        match fun {
            Fun::Op(instance) => {
                let params = instance.params.iter().map(|(var, _)| var.clone());
                let vars = params.zip(args.iter().map(|arg| self.term(arg))).collect();
                Looking { vars, implied: self.implied }.term(&instance.body)
            }
            Fun::Item(_) => self.term(&args[0]),
            Fun::Combine(_) => Known::NOTHING,
            Fun::Cast(dtype) => {
                let known = self.term(&args[0]);
                if dtype.is_float() { known } else { Known::finite(known.finite) }
            }
            Fun::Scalar(fun) => {
                let square = *fun == Scalar::Mul && alpha_eq(&args[0], &args[1]);
                let args: Vec<Known> = args.iter().map(|arg| self.term(arg)).collect();
                match term.tensor_type() {
                    Some(t) if t.dtype.is_float() => {
                        let known = scalar(*fun, &args);
                        Known { nonneg: known.nonneg || square && known.finite, ..known }
                    }
                    _ => Known::finite(args.iter().all(|arg| arg.finite)),
                }
            }
        }
    }

    fn reduction(&mut self, reduce: &Reduce) -> Known {
        let body = self.term(&reduce.body);
        let mut some = true;
        for binder in &reduce.binders {
            some &= (self.implied)(&Cond::non_neg(&binder.extent - &Size::one()));
        }
        match reduce.op {
            Monoid::Sum => {
                Known { finite: body.finite, nonneg: body.nonneg, nonzero: some && body.positive() }
            }
            Monoid::Prod => body,
            Monoid::Max | Monoid::Min if some => body,
            _ => Known::NOTHING,
        }
    }
}

fn literal(lit: &Lit) -> Known {
    let of = |negative: bool, zero: bool| Known { finite: true, nonneg: !negative, nonzero: !zero };
    match lit {
        Lit::Bool(b) => of(false, !b),
        Lit::Int(i) => of(i.sign() == num_bigint::Sign::Minus, i.sign() == num_bigint::Sign::NoSign),
        Lit::Decimal(text) => {
            let digits = text.split(['e', 'E']).next().unwrap_or(text);
            of(text.starts_with('-'), !digits.contains(|c: char| ('1'..='9').contains(&c)))
        }
        Lit::Pi => Known::POSITIVE,
        Lit::Inf | Lit::NegInf | Lit::Nan => Known::NOTHING,
    }
}

fn scalar(fun: Scalar, args: &[Known]) -> Known {
    let finite = args.iter().all(|arg| arg.finite);
    let nonneg = args.iter().all(|arg| arg.nonneg);
    let nonzero = args.iter().all(|arg| arg.nonzero);
    if !finite {
        return Known::NOTHING;
    }
    match fun {
        Scalar::Add => Known { finite, nonneg, nonzero: nonneg && args.iter().any(|arg| arg.nonzero) },
        Scalar::Mul => Known { finite, nonneg, nonzero },
        Scalar::Div if args[1].nonzero => Known { finite, nonneg, nonzero },
        Scalar::Reciprocal if nonzero => Known { finite, nonneg, nonzero },
        Scalar::Neg => Known { finite, nonneg: false, nonzero },
        Scalar::Abs => Known { finite, nonneg: true, nonzero },
        Scalar::Sqrt if nonneg => Known { finite, nonneg, nonzero },
        Scalar::Rsqrt if nonneg && nonzero => Known::POSITIVE,
        Scalar::Log | Scalar::Log2 | Scalar::Log10 if nonneg && nonzero => Known::finite(true),
        Scalar::Log1p if nonneg => Known { finite, nonneg, nonzero },
        Scalar::Exp | Scalar::Exp2 | Scalar::Sigmoid => Known::POSITIVE,
        Scalar::Cosh => Known::POSITIVE,
        Scalar::Maximum => {
            let nonneg = args.iter().any(|arg| arg.nonneg);
            Known { finite, nonneg, nonzero: args.iter().any(|arg| arg.positive()) }
        }
        Scalar::Minimum => Known { finite, nonneg, nonzero: nonneg && nonzero },
        Scalar::Tanh | Scalar::Sinh | Scalar::Asinh | Scalar::Atan | Scalar::Erf | Scalar::Expm1 => {
            Known { finite, nonneg, nonzero }
        }
        Scalar::Erfc => Known::POSITIVE,
        Scalar::Sub
        | Scalar::Sin
        | Scalar::Cos
        | Scalar::Sign
        | Scalar::Floor
        | Scalar::Ceil
        | Scalar::Round
        | Scalar::Trunc
        | Scalar::Frac => Known::finite(true),
        _ => Known::NOTHING,
    }
}
