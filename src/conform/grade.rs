//! How far a float may lie from the expected one.
//!
//! What moves elements, compares, counts or computes integers has no room. One elementary
//! function has its bound in units of the last place. Everything else rounds on the way and
//! may sum in any order: the bound is some epsilons of the result and of the greatest
//! products there are.

use std::collections::HashSet;

use rtv_runtime::cpu::math::ulp_bound;
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Scalar, Value, ulp_distance};
use rtv_semantics::subst::children;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{Form, Fun, Monoid, Term};

/// An element is near enough if it is the same value, or finite and within any of these.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Grade {
    pub ulp: u64,
    /// Absolute, and relative to the expected element.
    pub absolute: f64,
    pub relative: f64,
    /// Which of the two zeros it is stays open.
    pub any_zero: bool,
}

/// Units of the last place that an elementary function has at least.
const LEAST_ULP: u64 = 4;

impl Grade {
    pub const EXACT: Grade = Grade { ulp: 0, absolute: 0.0, relative: 0.0, any_zero: false };

    pub fn ulp(ulp: u64) -> Grade {
        Grade { ulp, ..Grade::EXACT }
    }

    /// Sums in any order: some epsilons of the result and of the square of the largest of
    /// the inputs, if that is below a million.
    pub fn accumulated<'t>(dtype: DType, inputs: impl IntoIterator<Item = &'t Tensor>) -> Grade {
        let epsilon = dtype.precision().map_or(0.0, |bits| (1.0 - f64::from(bits)).exp2());
        let factor = if matches!(dtype, DType::F16 | DType::BF16) { 2.0 } else { 16.0 };
        let sizes = inputs.into_iter().flat_map(Tensor::values).filter_map(Value::as_float).map(f64::abs);
        let largest = sizes.filter(|x| *x < 1e6).fold(1.0, f64::max);
        let relative = factor * epsilon;
        Grade { relative, absolute: relative * largest * largest, ..Grade::EXACT }
    }

    /// What the operators in a term leave open where a result has this dtype.
    pub fn of<'t>(term: &Term, dtype: DType, inputs: impl IntoIterator<Item = &'t Tensor>) -> Grade {
        if !dtype.is_float() {
            return Grade::EXACT;
        }
        let mut found = Rounding::default();
        found.visit(term);
        let any_zero = found.any_zero;
        let grade = match (&found.elementary[..], found.folds, found.roundings) {
            ([], false, _) => Some(Grade::EXACT),
            ([one], false, 0) => units(*one, dtype).map(|units| Grade::ulp(units.max(LEAST_ULP))),
            _ => None,
        };
        let grade = grade.unwrap_or_else(|| Grade { ulp: LEAST_ULP, ..Grade::accumulated(dtype, inputs) });
        Grade { any_zero, ..grade }
    }

    /// What is left open beside that where products are rounded with their sums: nothing
    /// where there are no two operations. Where a sum cancels, the rounding of a product that
    /// is not made may be all of the result.
    pub fn contracted<'t>(term: &Term, dtype: DType, inputs: impl IntoIterator<Item = &'t Tensor>) -> Grade {
        let mut found = Rounding::default();
        found.visit(term);
        if !dtype.is_float() || found.products == 0 || found.roundings == found.products {
            return Grade::EXACT;
        }
        Grade { ulp: LEAST_ULP, ..Grade::accumulated(dtype, inputs) }
    }

    /// Whatever one of the two allows.
    pub fn or(self, other: Grade) -> Grade {
        Grade {
            ulp: self.ulp.max(other.ulp),
            absolute: self.absolute.max(other.absolute),
            relative: self.relative.max(other.relative),
            any_zero: self.any_zero || other.any_zero,
        }
    }

    /// Integers, bools, NaN and infinities must be equal whatever the grade.
    pub fn admits(&self, got: &Value, want: &Value, dtype: DType) -> bool {
        if got.same(want) == Some(true) {
            return true;
        }
        let (Value::Float(g), Value::Float(w)) = (got, want) else { return false };
        if !g.is_finite() || !w.is_finite() {
            return false;
        }
        if *g == 0.0 && *w == 0.0 {
            return self.any_zero || *self != Grade { any_zero: self.any_zero, ..Grade::EXACT };
        }
        let near = (g - w).abs() <= self.absolute + self.relative * w.abs();
        near || ulp_distance(got, want, dtype).is_some_and(|ulp| ulp <= self.ulp)
    }
}

/// What the reference and the CPU backend state of a function, together.
fn units(function: Scalar, dtype: DType) -> Option<u64> {
    let (table, backend) = (function.row().ulp, ulp_bound(function, dtype));
    (table < u32::MAX && backend.is_finite()).then(|| (f64::from(table) + backend).ceil() as u64)
}

/// What a term does to floats.
#[derive(Default)]
struct Rounding {
    /// The functions without a correctly rounded result, each once.
    elementary: Vec<Scalar>,
    /// Whether floats are summed or multiplied over an axis.
    folds: bool,
    /// Arithmetic on floats beside that, and the products in it.
    roundings: usize,
    products: usize,
    any_zero: bool,
    seen: HashSet<usize>,
}

impl Rounding {
    fn visit(&mut self, term: &Term) {
        if !self.seen.insert(term.address()) {
            return;
        }
        let float = term.tensor_type().is_some_and(|ty| ty.dtype.is_float());
        match term.form() {
            Form::Call(Fun::Scalar(fun), _) if float => self.scalar(*fun),
            Form::Call(Fun::Op(instance), _) => self.visit(&instance.body),
            Form::Reduce(reduce) if float => {
                self.folds |= matches!(reduce.op, Monoid::Sum | Monoid::Prod);
                self.any_zero |= matches!(reduce.op, Monoid::Max | Monoid::Min);
            }
            _ => {}
        }
        children(term).into_iter().for_each(|child| self.visit(child));
    }

    fn scalar(&mut self, fun: Scalar) {
        let row = fun.row();
        self.any_zero |= !row.unpinned.is_empty();
        if row.ulp > 0 {
            if !self.elementary.contains(&fun) {
                self.elementary.push(fun);
            }
        } else if matches!(fun, Scalar::Add | Scalar::Sub | Scalar::Mul | Scalar::Div) {
            self.roundings += 1;
            self.products += usize::from(fun == Scalar::Mul);
        }
    }
}
