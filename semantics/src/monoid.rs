//! What reductions combine with: the six monoids that the language has, and those that a
//! file declares.
//!
//! A reduction by a declared monoid begins with its first element and combines from left
//! to right, in row-major order; without elements it is the identity. So it means the same
//! whatever the laws of the monoid are: they are claims, and only [`Declared::laws`] says
//! what of them may be used. Elements of a declared monoid are scalars, or tuples of them.

use crate::alpha::{alpha_eq, same_function};
use crate::diag::Span;
use crate::dtype::Category;
use crate::program::Mode;
use crate::scalar::Scalar;
use crate::size::Size;
use crate::subst::{Fresh, Subst};
use crate::term::{Instance, Lit, Reduce, Term, Var};
use crate::types::Type;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a reduction combines with; index order is row-major in the binders.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Monoid {
    Sum,
    Prod,
    /// NaN-propagating; empty is the least value of the dtype (`-inf` for floats).
    Max,
    Min,
    Any,
    All,
    Declared(Arc<Declared>),
}

/// A monoid that a file declares, at one choice of dtypes: its elements are scalars, or
/// tuples of scalars.
#[derive(Debug)]
pub struct Declared {
    /// The combination of two parameters, in which nothing else is free.
    pub combine: Arc<Instance>,
    /// The same, unfolded: a scalar, or a tuple of scalars.
    pub element: Term,
    /// A literal, or a tuple of literals.
    pub identity: Term,
    /// What is proved of it; nothing where its laws are open, or are what is asked.
    pub laws: Option<Laws>,
}

/// Laws that were proved: the combination of two values is a value again, it is
/// associative, and the identity is neutral on both sides. Over the reals, values are the
/// finite numbers and the identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Laws {
    pub commutative: bool,
    pub extent: Extent,
}

/// Where laws hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// In every mode: the combination knows no floats.
    Everywhere,
    /// For all bits of floats.
    Exactly,
    /// For real numbers.
    OverReals,
}

impl Extent {
    pub const ALL: [Extent; 3] = [Extent::Everywhere, Extent::Exactly, Extent::OverReals];

    pub fn name(self) -> &'static str {
        match self {
            Extent::Everywhere => "everywhere",
            Extent::Exactly => "exactly",
            Extent::OverReals => "over_reals",
        }
    }
}

impl Declared {
    pub fn name(&self) -> &str {
        &self.combine.name
    }

    /// The type of its elements.
    pub fn ty(&self) -> &Type {
        self.element.ty()
    }

    /// Its parameters, and what they combine to.
    pub fn function(&self) -> (&[(Var, Type)], &Term) {
        (&self.combine.params, &self.element)
    }

    /// The laws, if they hold in the mode.
    pub fn laws_in(&self, mode: Mode) -> Option<Laws> {
        self.laws.filter(|laws| match laws.extent {
            Extent::Everywhere => true,
            Extent::Exactly => mode == Mode::Exact,
            Extent::OverReals => mode == Mode::Real,
        })
    }
}

impl Declared {
    /// What two elements combine to, by the definition.
    pub fn meaning(&self, left: &Term, right: &Term, fresh: &mut Fresh) -> Term {
        let params = self.combine.params.iter().zip([left, right]);
        let subst = params.fold(Subst::new(), |subst, ((var, _), arg)| subst.with_var(var, arg.clone()));
        subst.term(&self.element, fresh)
    }
}

/// Reductions over so many entries are written out.
const FEW: i64 = 4;

impl Reduce {
    /// A reduction by a declared monoid over a few entries, if their number is known: they are
    /// combined one after the other, as such where laws are known that can be used.
    pub fn written_out(&self, fresh: &mut Fresh) -> Option<Term> {
        let monoid = self.op.declared()?;
        let extents: Vec<i64> = self.binders.iter().map(|b| b.extent.as_i64()).collect::<Option<_>>()?;
        let count = extents.iter().try_fold(1i64, |count, n| count.checked_mul(*n))?;
        if !(1..=FEW).contains(&count) || extents.iter().any(|n| *n < 1) {
            return None;
        }
        let entry = |mut place: i64, fresh: &mut Fresh| {
            let axes = self.binders.iter().zip(&extents).rev();
            let at = axes.fold(Subst::new(), |at, (binder, extent)| {
                let index = Size::from(place % extent);
                place /= extent;
                at.with_size(&binder.sym, index)
            });
            at.term(&self.body, fresh)
        };
        let mut whole = entry(0, fresh);
        for place in 1..count {
            let next = entry(place, fresh);
            let span = next.span();
            whole = match monoid.laws {
                Some(_) => Term::combine(monoid.clone(), whole, next, span),
                None => monoid.meaning(&whole, &next, fresh),
            };
        }
        Some(whole)
    }
}

/// The same name, the same meaning, and the same of it known.
impl PartialEq for Declared {
    fn eq(&self, other: &Declared) -> bool {
        self.name() == other.name()
            && alpha_eq(&self.identity, &other.identity)
            && self.laws == other.laws
            && same_function(self.function(), other.function())
    }
}

impl Eq for Declared {}

impl Hash for Declared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.name(), self.ty()).hash(state);
    }
}

impl Monoid {
    pub fn name(&self) -> &str {
        match self {
            Monoid::Sum => "sum",
            Monoid::Prod => "prod",
            Monoid::Max => "max",
            Monoid::Min => "min",
            Monoid::Any => "any",
            Monoid::All => "all",
            Monoid::Declared(declared) => declared.name(),
        }
    }

    /// One of those that the language has.
    pub fn from_name(name: &str) -> Option<Monoid> {
        use Monoid::*;
        [Sum, Prod, Max, Min, Any, All].into_iter().find(|m| m.name() == name)
    }

    pub fn declared(&self) -> Option<&Arc<Declared>> {
        match self {
            Monoid::Declared(declared) => Some(declared),
            _ => None,
        }
    }

    /// The value of an empty reduction of elements of a type.
    ///
    /// # Panics
    /// If those of one of the language's own are tuples: elaboration has checked them.
    pub fn neutral(&self, ty: &Type, span: Span) -> Term {
        if let Monoid::Declared(declared) = self {
            return declared.identity.clone();
        }
        let dtype = ty.as_tensor().expect("invariant: the language's own combine scalars").dtype;
        let number = |n: i64| match dtype.category() {
            Category::Float => Lit::Decimal(n.to_string().into()),
            Category::Bool => Lit::Bool(n != 0),
            Category::Int => Lit::Int(n.into()),
        };
        let (least, most) = dtype.int_range().unwrap_or((0, 0));
        let bound = |n: i64, inf: Lit| if dtype.is_float() { inf } else { number(n) };
        let lit = match self {
            Monoid::Sum => number(0),
            Monoid::Prod => number(1),
            Monoid::Max => bound(least, Lit::NegInf),
            Monoid::Min => bound(most, Lit::Inf),
            Monoid::Any => Lit::Bool(false),
            Monoid::All => Lit::Bool(true),
            Monoid::Declared(_) => unreachable!("invariant: one of the language's own"),
        };
        Term::lit(lit, dtype, span)
    }

    /// The scalar function applied between two elements, if it is one.
    pub fn scalar(&self) -> Option<Scalar> {
        Some(match self {
            Monoid::Sum => Scalar::Add,
            Monoid::Prod => Scalar::Mul,
            Monoid::Max => Scalar::Maximum,
            Monoid::Min => Scalar::Minimum,
            Monoid::Any => Scalar::LogicalOr,
            Monoid::All => Scalar::LogicalAnd,
            Monoid::Declared(_) => return None,
        })
    }

    /// Two elements combined.
    pub fn combined(&self, left: Term, right: Term, span: Span) -> Term {
        match self {
            Monoid::Declared(declared) => Term::combine(declared.clone(), left, right, span),
            _ => {
                let fun = self.scalar().expect("invariant: the language's own combine by a function");
                Term::scalar(fun, vec![left, right], span)
            }
        }
    }
}
