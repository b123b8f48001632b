//! What is known of the values of a term over the reals, by looking at it once.
//!
//! One thing is known of all elements alike. A flag says something of every element that is a
//! value; [`Elements::defined`] says that all are. What is not followed is not known.

use super::scalars::{comparison, function, literal};
use crate::recheck::{Leaves, Sizes};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::term::{Binder, Form, Fun, Instance, Monoid, Reduce, Term, Var};
use rtv_semantics::types::Type;
use rustc_hash::FxHashMap;
use std::ops::BitAnd;

/// Forms looked at for one term, and how deep calls nest.
const MAX_STEPS: u32 = 20_000;
const MAX_DEPTH: u32 = 200;

/// What is known of all elements of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elements {
    /// None is the undefined value.
    pub defined: bool,
    /// None is `inf`.
    pub below_inf: bool,
    /// None is `-inf`.
    pub above_neg_inf: bool,
    pub not_negative: bool,
    pub not_positive: bool,
    pub not_zero: bool,
    /// Each is this number.
    pub whole: Option<i64>,
}

impl Elements {
    pub const UNKNOWN: Elements = Elements {
        defined: false,
        below_inf: false,
        above_neg_inf: false,
        not_negative: false,
        not_positive: false,
        not_zero: false,
        whole: None,
    };

    pub const FINITE: Elements =
        Elements { defined: true, below_inf: true, above_neg_inf: true, ..Elements::UNKNOWN };

    /// Whether none is infinite, where it is defined.
    pub fn bounded(&self) -> bool {
        self.below_inf && self.above_neg_inf
    }

    pub fn positive(&self) -> bool {
        self.not_negative && self.not_zero
    }

    pub fn number(whole: i64) -> Elements {
        Elements {
            not_negative: whole >= 0,
            not_positive: whole <= 0,
            not_zero: whole != 0,
            whole: Some(whole),
            ..Elements::FINITE
        }
    }
}

/// What is known of either.
impl BitAnd for Elements {
    type Output = Elements;

    fn bitand(self, other: Elements) -> Elements {
        Elements {
            defined: self.defined && other.defined,
            below_inf: self.below_inf && other.below_inf,
            above_neg_inf: self.above_neg_inf && other.above_neg_inf,
            not_negative: self.not_negative && other.not_negative,
            not_positive: self.not_positive && other.not_positive,
            not_zero: self.not_zero && other.not_zero,
            whole: self.whole.filter(|whole| other.whole == Some(*whole)),
        }
    }
}

/// What is known of a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Known {
    Size,
    Elements(Elements),
    Tuple(Vec<Known>),
}

impl Known {
    /// Of a value of this type of which nothing more is known.
    fn of(ty: &Type, elements: Elements) -> Known {
        match ty {
            Type::Size => Known::Size,
            Type::Tensor(_) => Known::Elements(elements),
            Type::Tuple(parts) => Known::Tuple(parts.iter().map(|ty| Known::of(ty, elements)).collect()),
        }
    }

    fn all(&self, holds: fn(&Elements) -> bool) -> bool {
        match self {
            Known::Size => true,
            Known::Elements(elements) => holds(elements),
            Known::Tuple(parts) => parts.iter().all(|part| part.all(holds)),
        }
    }

    pub fn is_defined(&self) -> bool {
        self.all(|elements| elements.defined)
    }

    pub fn is_finite(&self) -> bool {
        self.all(|elements| elements.defined && elements.bounded())
    }

    fn either(&self, other: &Known) -> Known {
        match (self, other) {
            (Known::Elements(a), Known::Elements(b)) => Known::Elements(*a & *b),
            (Known::Tuple(a), Known::Tuple(b)) if a.len() == b.len() => {
                Known::Tuple(a.iter().zip(b).map(|(a, b)| a.either(b)).collect())
            }
            (Known::Size, Known::Size) => Known::Size,
            _ => Known::Elements(Elements::UNKNOWN),
        }
    }
}

/// A value in scope: what is known of it, and a number that equal ones share.
type Given = FxHashMap<Var, (Known, usize)>;

/// One look at a term.
pub struct Look<'l, 's> {
    sizes: &'l mut Sizes,
    leaves: &'l mut Leaves<'s>,
    /// Known of sizes at this place.
    facts: Vec<Cond>,
    steps: u32,
    depth: u32,
    /// The last number that was given to a value.
    last: usize,
}

impl<'l, 's> Look<'l, 's> {
    pub fn new(facts: &[Cond], sizes: &'l mut Sizes, leaves: &'l mut Leaves<'s>) -> Look<'l, 's> {
        Look { sizes, leaves, facts: facts.to_vec(), steps: 0, depth: 0, last: usize::MAX }
    }

    /// What is known of a term; a variable that is not given is an input, which is finite.
    pub fn of(mut self, term: &Term, given: Given) -> Known {
        match term.form() {
            Form::Var(var) if !given.contains_key(var) => Known::of(term.ty(), Elements::FINITE),
            _ => self.value(term, &given),
        }
    }

    fn fresh(&mut self) -> usize {
        self.last -= 1;
        self.last
    }

    fn follows(&mut self, goal: &Cond) -> bool {
        self.sizes.entails(&self.facts, goal, self.leaves)
    }

    fn value(&mut self, term: &Term, given: &Given) -> Known {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.depth >= MAX_DEPTH {
            return Known::of(term.ty(), Elements::UNKNOWN);
        }
        self.depth += 1;
        let known = self.form(term, given);
        self.depth -= 1;
        known
    }

    fn elements(&mut self, term: &Term, given: &Given) -> Elements {
        match self.value(term, given) {
            Known::Elements(elements) => elements,
            Known::Size => Elements::FINITE,
            Known::Tuple(_) => Elements::UNKNOWN,
        }
    }

    fn form(&mut self, term: &Term, given: &Given) -> Known {
        match term.form() {
            Form::Size(_) => Known::Size,
            Form::Lit(lit) => Known::Elements(literal(lit)),
            Form::Var(var) => match given.get(var) {
                Some((known, _)) => known.clone(),
                None => Known::of(term.ty(), Elements::UNKNOWN),
            },
            Form::Call(fun, args) => self.call(fun, args, term, given),
            Form::Read(base, index) => {
                let indices = index.iter().all(|at| self.elements(at, given).defined);
                let base = self.elements(base, given);
                Known::Elements(Elements { defined: base.defined && indices, ..base })
            }
            Form::Comp(binders, body) => {
                Known::Elements(self.under(binders, |look| look.elements(body, given)))
            }
            Form::Reduce(reduce) if reduce.op.declared().is_some() => Known::of(term.ty(), Elements::UNKNOWN),
            Form::Reduce(reduce) => Known::Elements(self.reduce(reduce, given)),
            Form::If(cond, then, other) => self.branches(cond, then, other, given),
            Form::Let(..) => {
                let (mut inner, mut rest) = (given.clone(), term);
                while let Form::Let(var, value, body) = rest.form() {
                    let bound = self.bound(value, &inner);
                    inner.insert(var.clone(), bound);
                    rest = body;
                }
                self.value(rest, &inner)
            }
            Form::Tuple(parts) => Known::Tuple(parts.iter().map(|part| self.value(part, given)).collect()),
            Form::Loop(_) | Form::Write(_) => Known::of(term.ty(), Elements::UNKNOWN),
        }
    }

    /// What is known of a value, with the number of the variable that it is, or a new one.
    fn bound(&mut self, value: &Term, given: &Given) -> (Known, usize) {
        let same = match value.form() {
            Form::Var(var) => given.get(var).cloned(),
            _ => None,
        };
        same.unwrap_or_else(|| (self.value(value, given), self.fresh()))
    }

    fn call(&mut self, fun: &Fun, args: &[Term], term: &Term, given: &Given) -> Known {
        match (fun, args) {
            (Fun::Scalar(scalar), _) => Known::Elements(self.scalar(*scalar, args, term, given)),
            (Fun::Cast(to), [arg]) => Known::Elements(self.cast(*to, arg, given)),
            (Fun::Item(k), [tuple]) => match self.value(tuple, given) {
                Known::Tuple(mut parts) if *k < parts.len() => parts.swap_remove(*k),
                _ => Known::of(term.ty(), Elements::UNKNOWN),
            },
            (Fun::Op(instance), _) => self.instance(instance, args, given),
            (Fun::Cast(_) | Fun::Item(_) | Fun::Combine(_), _) => Known::of(term.ty(), Elements::UNKNOWN),
        }
    }

    fn instance(&mut self, instance: &Instance, args: &[Term], given: &Given) -> Known {
        let params = instance.params.iter().zip(args);
        let inner = params.map(|((var, _), arg)| (var.clone(), self.bound(arg, given))).collect();
        self.value(&instance.body, &inner)
    }

    fn scalar(&mut self, scalar: Scalar, args: &[Term], term: &Term, given: &Given) -> Elements {
        let of: Vec<Elements> = args.iter().map(|arg| self.elements(arg, given)).collect();
        let is_float = |term: &Term| term.tensor_type().is_some_and(|ty| ty.dtype.is_float());
        if !is_float(term) || !args.iter().all(is_float) {
            return comparison(&of);
        }
        let alike = matches!(args, [a, b] if same_element(a, b, given));
        function(scalar, &of, alike)
    }

    fn cast(&mut self, to: DType, arg: &Term, given: &Given) -> Elements {
        let Some(size) = arg.as_size() else {
            let from = self.elements(arg, given);
            let category = |ty: &Type| ty.as_tensor().map(|ty| ty.dtype.category());
            return match (category(arg.ty()), to.category()) {
                (Some(Category::Float | Category::Int), Category::Float) => from,
                (Some(Category::Bool), Category::Float) => {
                    Elements { defined: from.defined, not_negative: true, ..Elements::FINITE }
                }
                // An index may be a size that is not written out.
                _ => Elements { defined: from.defined, ..Elements::FINITE },
            };
        };
        if !to.is_float() {
            return Elements::FINITE;
        }
        let zero = Size::zero();
        Elements {
            not_negative: self.follows(&Cond::le(&zero, size)),
            not_positive: self.follows(&Cond::le(size, &zero)),
            not_zero: self.follows(&Cond::ne(size, &zero)),
            whole: size.as_i64(),
            ..Elements::FINITE
        }
    }

    fn branches(&mut self, cond: &Term, then: &Term, other: &Term, given: &Given) -> Known {
        let Some(on_sizes) = cond.as_cond() else {
            let defined = self.elements(cond, given).defined;
            let either = self.value(then, given).either(&self.value(other, given));
            return if defined { either } else { Known::of(then.ty(), Elements::UNKNOWN) };
        };
        let mut sides = [(on_sizes.clone(), then), (on_sizes.negated(), other)].map(|(cond, side)| {
            if cond == Cond::False {
                return None;
            }
            self.facts.push(cond);
            let known = self.value(side, given);
            self.facts.pop();
            Some(known)
        });
        match (sides[0].take(), sides[1].take()) {
            (Some(then), Some(other)) => then.either(&other),
            (one, other) => one.or(other).unwrap_or(Known::of(then.ty(), Elements::UNKNOWN)),
        }
    }

    /// Looks at what stands under binders, where each has an index.
    fn under<T>(&mut self, binders: &[Binder], look: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.facts.len();
        for Binder { sym, extent } in binders {
            self.facts.push(Cond::lt(&Size::sym(sym), extent));
        }
        let found = look(self);
        self.facts.truncate(outer);
        found
    }

    fn reduce(&mut self, Reduce { op, binders, body }: &Reduce, given: &Given) -> Elements {
        let each = self.under(binders, |look| look.elements(body, given));
        if !body.dtype().is_float() {
            return comparison(&[each]);
        }
        let Elements { defined, below_inf, above_neg_inf, not_negative, not_positive, not_zero, .. } = each;
        let one_sign = not_negative || not_positive;
        let known = Elements { whole: None, ..each };
        match op {
            Monoid::Sum => Elements {
                defined: defined && (below_inf || above_neg_inf),
                not_zero: not_zero && one_sign && self.is_not_empty(binders),
                ..known
            },
            Monoid::Prod => Elements {
                defined: defined && (each.bounded() || not_zero),
                below_inf: each.bounded(),
                above_neg_inf: each.bounded() || not_negative,
                not_negative,
                not_positive: false,
                not_zero,
                whole: None,
            },
            // Of nothing the greatest is `-inf`, and the least `inf`.
            Monoid::Max => {
                let some = self.is_not_empty(binders);
                Elements { above_neg_inf: above_neg_inf && some, not_negative: not_negative && some, ..known }
            }
            Monoid::Min => {
                let some = self.is_not_empty(binders);
                Elements { below_inf: below_inf && some, not_positive: not_positive && some, ..known }
            }
            Monoid::Any | Monoid::All | Monoid::Declared(_) => Elements::UNKNOWN,
        }
    }

    /// Whether the ranges have an index each, whatever the indices before it are.
    fn is_not_empty(&mut self, binders: &[Binder]) -> bool {
        let outer = self.facts.len();
        let mut some = true;
        for Binder { sym, extent } in binders {
            some = some && self.follows(&Cond::le(&Size::one(), extent));
            self.facts.push(Cond::lt(&Size::sym(sym), extent));
        }
        self.facts.truncate(outer);
        some
    }
}

/// Whether two scalars are the same element of the same value.
fn same_element(a: &Term, b: &Term, given: &Given) -> bool {
    match (a.form(), b.form()) {
        (Form::Var(v), Form::Var(w)) => {
            v == w || matches!((given.get(v), given.get(w)), (Some((_, m)), Some((_, n))) if m == n)
        }
        (Form::Read(x, i), Form::Read(y, j)) => {
            i.len() == j.len()
                && i.iter().zip(j).all(|(i, j)| i.as_size().is_some() && alpha_eq(i, j))
                && same_element(x, y, given)
        }
        _ => false,
    }
}
