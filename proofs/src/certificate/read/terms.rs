//! Sizes, conditions, terms and monoids.

use super::{Reader, Words};
use num_bigint::BigInt;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::subst::{free_syms, free_vars};
use rtv_semantics::term::{Declared, Extent, Form, Instance, Laws, Lit, Monoid, Term, Var};
use rtv_semantics::types::Type;
use std::sync::Arc;

/// Factors of one product of a size, and products of one size.
const MAX_DEGREE: u32 = 8;
const MAX_PRODUCTS: usize = 300;

impl Words<'_> {
    pub(super) fn polynomial(&mut self) -> Option<Size> {
        let mut sum = Size::zero();
        while let Some(term) = self.word().filter(|_| sum.terms().len() < MAX_PRODUCTS) {
            let mut factors = term.split(':');
            let coefficient: BigInt = factors.next()?.parse().ok()?;
            let (mut product, mut degree) = (Size::int(coefficient), 0u32);
            for factor in factors {
                let (place, power) = factor.split_once('^')?;
                let atom = self.named(place.parse().ok()?, Reader::atom)?;
                let power: u32 = power.parse().ok()?;
                degree = power.checked_add(degree).filter(|degree| *degree <= MAX_DEGREE)?;
                for _ in 0..power {
                    product = &product * &Size::atom(atom.clone());
                }
            }
            sum = &sum + &product;
        }
        Some(sum)
    }

    pub(super) fn condition(&mut self) -> Option<Cond> {
        Some(match self.word()? {
            "true" => Cond::True,
            "false" => Cond::False,
            "nonneg" => Cond::NonNeg(self.one(Reader::size)?),
            "zero" => Cond::Zero(self.one(Reader::size)?),
            "nonzero" => Cond::NonZero(self.one(Reader::size)?),
            "and" => Cond::And(self.rest(Reader::cond)?),
            "or" => Cond::Or(self.rest(Reader::cond)?),
            _ => return None,
        })
    }

    /// A term; what the constructors of terms take for granted is looked at first.
    pub(super) fn scalar_term(&mut self) -> Option<Term> {
        let span = Span::default();
        Some(match self.word()? {
            "size" => Term::size(self.one(Reader::size)?, span),
            "bool" => Term::bool(self.number()?, span),
            "int" => {
                let dtype = self.dtype().filter(|dtype| dtype.is_int())?;
                Term::lit(Lit::Int(self.number()?), dtype, span)
            }
            "decimal" => {
                let dtype = self.dtype().filter(|dtype| dtype.is_float())?;
                Term::lit(Lit::Decimal(self.text()?.into()), dtype, span)
            }
            word @ ("inf" | "neginf" | "nan" | "pi") => {
                let dtype = self.dtype().filter(|dtype| dtype.is_float())?;
                let lit = match word {
                    "inf" => Lit::Inf,
                    "neginf" => Lit::NegInf,
                    "nan" => Lit::Nan,
                    _ => Lit::Pi,
                };
                Term::lit(lit, dtype, span)
            }
            "var" => {
                let var = Var { id: self.id()?, name: self.text()?.into() };
                Term::var(var, self.one(Reader::ty)?, span)
            }
            "scalar" => {
                let fun = Scalar::from_name(self.word()?)?;
                let args = self.rest(Reader::term)?;
                let sizes = args.iter().all(|arg| *arg.ty() == Type::Size);
                let compares = matches!(
                    fun,
                    Scalar::Eq | Scalar::Ne | Scalar::Lt | Scalar::Le | Scalar::Gt | Scalar::Ge
                );
                let fits = match sizes {
                    true => compares && args.len() == 2,
                    false => {
                        let dtypes: Option<Vec<DType>> = args.iter().map(scalar_dtype).collect();
                        args.len() == fun.arity() && fun.result(&dtypes?).is_ok()
                    }
                };
                fits.then(|| Term::scalar(fun, args, span))?
            }
            "cast" => {
                let to = self.dtype()?;
                let arg = self.one(Reader::term).filter(Term::is_scalar)?;
                Term::cast(to, arg, span)
            }
            "item" => {
                let k: usize = self.number()?;
                let tuple = self.one(Reader::term)?;
                let there = matches!(tuple.ty(), Type::Tuple(parts) if k < parts.len());
                there.then(|| Term::item(k, tuple, span))?
            }
            "read" => {
                let base = self.one(Reader::term)?;
                let index = self.rest(Reader::term)?;
                let fits = matches!(base.ty(), Type::Tensor(ty) if ty.shape.len() == index.len());
                (fits && index.iter().all(Term::is_scalar)).then(|| Term::read(base, index, span))?
            }
            "if" => {
                let parts = self.rest(Reader::term)?;
                let [cond, then, other] = <[Term; 3]>::try_from(parts).ok()?;
                let fits = scalar_dtype(&cond) == Some(DType::Bool) && then.ty() == other.ty();
                fits.then(|| Term::if_(cond, then, other, span))?
            }
            "reduce" => {
                let op = self.monoid()?;
                let body = self.one(Reader::term)?;
                let fits = match &op {
                    Monoid::Declared(monoid) => monoid.ty() == body.ty(),
                    _ => scalar_dtype(&body).is_some(),
                };
                fits.then(|| Some(Term::reduce(op, self.rest(Reader::binder)?, body, span)))??
            }
            "tuple" => Term::tuple(self.rest(Reader::term)?, span),
            "combine" => {
                let monoid = self.one(Reader::monoid)?;
                let [left, right] = <[Term; 2]>::try_from(self.rest(Reader::term)?).ok()?;
                let fits = [&left, &right].map(Term::ty) == [monoid.ty(); 2];
                fits.then(|| Term::combine(monoid, left, right, span))?
            }
            _ => return None,
        })
    }

    /// One of the language's own by name, a declared one by its place.
    pub(super) fn monoid(&mut self) -> Option<Monoid> {
        let word = self.word()?;
        match word.strip_prefix('@') {
            Some(place) => self.named(place.parse().ok()?, Reader::monoid).map(Monoid::Declared),
            None => Monoid::from_name(word),
        }
    }

    /// A declared monoid: its laws are looked at when a claim is there to compare with.
    pub(super) fn declared(&mut self) -> Option<Declared> {
        let name = self.text()?;
        let laws = match self.word()? {
            "-" => None,
            word => {
                let (extent, commutative) = match word.split_once(',') {
                    Some((extent, "commutative")) => (extent, true),
                    Some(_) => return None,
                    None => (word, false),
                };
                let extent = Extent::ALL.into_iter().find(|known| known.name() == extent)?;
                Some(Laws { commutative, extent })
            }
        };
        let (identity, element) = (self.one(Reader::term)?, self.one(Reader::term)?);
        let components = element.components();
        let scalars = components.iter().all(|part| scalar_dtype(part).is_some());
        let param = |term: Term| match (term.form(), term.ty() == element.ty()) {
            (Form::Var(var), true) => Some((var.clone(), term.ty().clone())),
            _ => None,
        };
        let params: Vec<(Var, Type)> =
            self.rest(Reader::term)?.into_iter().map(param).collect::<Option<_>>()?;
        let closed = free_syms(&element).is_empty()
            && free_vars(&element).iter().all(|var| params.iter().any(|(param, _)| param == var));
        let known = identity.components().iter().all(|part| matches!(part.form(), Form::Lit(_)));
        // The evaluator tells variables apart by their ids alone.
        let apart = matches!(params.as_slice(), [(a, _), (b, _)] if a.id != b.id);
        if !apart || !closed || !scalars || !known || identity.ty() != element.ty() {
            return None;
        }
        let combine = Instance {
            name: name.into(),
            statics: Vec::new(),
            params,
            requires: Vec::new(),
            body: element.clone(),
            is_op: false,
        };
        Some(Declared { combine: Arc::new(combine), element, identity, laws })
    }
}

pub(super) fn scalar_dtype(term: &Term) -> Option<DType> {
    match term.ty() {
        Type::Tensor(ty) if ty.shape.is_empty() => Some(ty.dtype),
        _ => None,
    }
}
