//! Reductions inside scalar terms: opaque functions of the free sizes in them.
//!
//! Of a reduction of tuples each component is such a function.
//!
//! Invariants: two reductions share a function only if their keys are the same text,
//! so that only the values of some size expressions can differ; what is asserted of
//! the result (finite, a sign) follows from what the body is for all values of its
//! symbols under the facts. Reductions with different keys are related by the prover only, after
//! their bodies are proved equal.

use std::collections::BTreeSet;

use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::size::Size;
use rtv_semantics::subst::free_vars;
use rtv_semantics::term::{Binder, Form, Lit, Loop, Monoid, Reduce, Term};
use rtv_semantics::types::Type;

use crate::encode::{Data, Enc, Encoder};
use crate::key::{fold_key, reduce_key, unsupported};
use crate::laws::{Sign, sign};
use crate::query::{Id, Sort};
use crate::solver::Reason;

/// The name of the function that a component of a whole is.
fn component_name(whole: &str, ty: &Type, component: usize) -> String {
    match ty {
        Type::Tuple(_) => format!("{whole}.{component}"),
        _ => whole.to_string(),
    }
}

fn component_dtype(ty: &Type, component: usize) -> Result<DType, Reason> {
    let part = match ty {
        Type::Tuple(parts) => parts.get(component),
        only => Some(only),
    };
    let dtype = part.and_then(Type::as_tensor).map(|ty| ty.dtype);
    dtype.ok_or_else(|| unsupported("a reduction of what is no scalar"))
}

/// A component of a reduction that occurs, with its encoding; of a scalar it is the first one.
#[derive(Clone)]
pub(crate) struct ReduceUse {
    pub reduce: Reduce,
    pub component: usize,
    pub enc: Enc,
}

/// What holds of a body for all values of its symbols that satisfy the facts; of a tuple, of
/// all components.
struct Body {
    /// It never is an error.
    safe: bool,
    /// Over the reals: neither undefined nor infinite.
    finite: bool,
    /// Of other dtypes: not undefined.
    defined: bool,
    sign: Option<Sign>,
}

impl Encoder {
    /// A component of a reduction: of a scalar the only one.
    pub fn reduce(&mut self, reduce: &Reduce, component: usize) -> Result<Enc, Reason> {
        if free_vars(&reduce.body).iter().any(|var| self.env.contains_key(var)) {
            return Err(unsupported("a reduction over a `let` from outside"));
        }
        let key = reduce_key(reduce)?;
        let body = self.body(reduce)?;
        let mut args = Vec::new();
        for size in &key.args {
            args.push(self.sizes.size(&mut self.q, size));
        }
        let count = self.keys.len();
        let number = *self.keys.entry(key.text).or_insert(count);
        let whole = format!("{} {number}", reduce.op.name());
        let name = component_name(&whole, reduce.body.ty(), component);
        let no = self.q.bool(false);
        let mut extents_defined = Vec::new();
        for binder in &reduce.binders {
            extents_defined.push(self.defined(&binder.extent));
        }
        let extents_defined = self.q.and(extents_defined);
        let err = match body.safe && self.q.known(extents_defined) == Some(true) {
            true => no,
            false => self.component(&whole, " fails", &args, Sort::Bool),
        };
        let dtype = component_dtype(reduce.body.ty(), component)?;
        let enc = match (dtype.category(), self.mode) {
            (Category::Float, Mode::Real) => self.real_reduce(reduce, component, &name, &args, &body),
            (category, _) => {
                let sort = match category {
                    Category::Bool => Sort::Bool,
                    Category::Int => Sort::Bits(dtype.bits()),
                    Category::Float => self.float_sort(dtype),
                };
                let value = self.component(&name, "", &args, sort);
                let data = self.plain(value, dtype);
                let bot = match body.defined {
                    true => no,
                    false => self.component(&name, " undefined", &args, Sort::Bool),
                };
                Enc { data, err: no, bot }
            }
        };
        let enc = Enc { err, ..enc };
        self.reduces.push(ReduceUse { reduce: reduce.clone(), component, enc });
        Ok(enc)
    }

    /// A component of an ordered fold: opaque, whatever its function is.
    pub fn fold(&mut self, term: &Term, fold: &Loop, component: usize) -> Result<Enc, Reason> {
        if free_vars(term).iter().any(|var| self.env.contains_key(var)) {
            return Err(unsupported("a fold over a `let` from outside"));
        }
        let key = fold_key(fold, term.ty())?;
        let args: Vec<Id> = key.args.iter().map(|size| self.sizes.size(&mut self.q, size)).collect();
        let count = self.keys.len();
        let number = *self.keys.entry(key.text).or_insert(count);
        let whole = format!("fold {number}");
        let name = component_name(&whole, term.ty(), component);
        let err = self.component(&whole, " fails", &args, Sort::Bool);
        let flag = |encoder: &mut Encoder, what: &str| encoder.component(&name, what, &args, Sort::Bool);
        let bot = flag(self, " undefined");
        let dtype = component_dtype(term.ty(), component)?;
        let enc = match (dtype.category(), self.mode) {
            (Category::Float, Mode::Real) => {
                let val = self.component(&name, "", &args, Sort::Real);
                let mut result = self.q.finite(val);
                result.pinf = flag(self, " is inf");
                result.ninf = flag(self, " is -inf");
                self.real(result)
            }
            (category, _) => {
                let sort = match category {
                    Category::Bool => Sort::Bool,
                    Category::Int => Sort::Bits(dtype.bits()),
                    Category::Float => self.float_sort(dtype),
                };
                let value = self.component(&name, "", &args, sort);
                Enc { data: self.plain(value, dtype), err, bot }
            }
        };
        Ok(Enc { err, bot, ..enc })
    }

    /// Looks at the body alone, in a question of its own, with the ranges of the
    /// binders as facts.
    fn body(&self, reduce: &Reduce) -> Result<Body, Reason> {
        let mut known = self.known().clone();
        // A fact about an outer symbol of the same name is none about the binder.
        known.facts.retain(|fact| {
            let mut syms = BTreeSet::new();
            fact.collect_syms(&mut syms);
            reduce.binders.iter().all(|binder| !syms.contains(&binder.sym))
        });
        for Binder { sym, extent } in &reduce.binders {
            known.facts.push(Cond::within(&Size::zero(), &Size::sym(sym), extent));
        }
        let mut probe = Encoder::new(self.mode, known);
        let mut encoded = |term: &Term| -> Result<Vec<Enc>, Reason> {
            term.components().iter().map(|part| probe.term(part)).collect()
        };
        let parts = encoded(&reduce.body)?;
        // What two elements come to may fail although they do not.
        let combined = reduce.op.declared().map(|monoid| encoded(&monoid.element)).transpose()?;
        let never = |flag: fn(&Enc) -> Id| {
            let mut all = parts.iter().chain(combined.iter().flatten());
            all.all(|e| probe.q.known(flag(e)) == Some(false))
        };
        let (safe, defined) = (never(|e| e.err), never(|e| e.bot));
        let (mut flags, mut real, mut of_one) = (Vec::new(), false, None);
        for enc in &parts {
            flags.push(enc.bot);
            if let Data::Real { pinf, ninf, val } = enc.data {
                flags.extend([pinf, ninf]);
                real = true;
                of_one = sign(&probe.q, val).filter(|_| parts.len() == 1);
            }
        }
        let finite = real && probe.excludes(&flags);
        Ok(Body { safe, finite, defined, sign: of_one })
    }

    /// A reduction of reals. Sums, products and nonempty extremes of finite values are
    /// finite; the empty maximum is `-inf`.
    fn real_reduce(
        &mut self,
        reduce: &Reduce,
        component: usize,
        name: &str,
        args: &[Id],
        body: &Body,
    ) -> Enc {
        let val = self.component(name, "", args, Sort::Real);
        let mut result = self.q.finite(val);
        let flat = reduce
            .binders
            .iter()
            .all(|binder| reduce.binders.iter().all(|other| !binder.extent.mentions(&other.sym)));
        let empty = self.is_empty(reduce);
        match &reduce.op {
            Monoid::Sum | Monoid::Prod if body.finite => {}
            Monoid::Max if body.finite && flat => result.ninf = empty,
            Monoid::Min if body.finite && flat => result.pinf = empty,
            Monoid::Declared(monoid) if body.finite && flat && monoid.laws_in(self.mode).is_some() => {
                match monoid.identity.components()[component].form() {
                    Form::Lit(Lit::Inf) => result.pinf = empty,
                    Form::Lit(Lit::NegInf) => result.ninf = empty,
                    Form::Lit(Lit::Nan) => result.bot = empty,
                    _ => {}
                }
            }
            _ => {
                result.bot = self.component(name, " undefined", args, Sort::Bool);
                result.pinf = self.component(name, " is inf", args, Sort::Bool);
                result.ninf = self.component(name, " is -inf", args, Sort::Bool);
            }
        }
        if let (true, Some(sign), None) = (body.finite && flat, body.sign, reduce.op.declared()) {
            self.assert_sign(&reduce.op, sign, val, empty);
        }
        self.real(result)
    }

    /// A sum or product of values that are not negative is not, and it is positive if
    /// they are and there is one (a product even if there is none); an extreme has the
    /// sign of its values where there is one.
    fn assert_sign(&mut self, op: &Monoid, sign: Sign, val: Id, empty: Id) {
        let zero = self.q.ratio(0, 1);
        let (at_least, above) = (self.q.le(zero, val), self.q.lt(zero, val));
        let inside = match sign {
            Sign::Positive => above,
            Sign::AtLeastZero => at_least,
        };
        let outside = match op {
            Monoid::Sum => self.q.eq(val, zero),
            Monoid::Prod => above,
            _ => self.q.bool(true),
        };
        let law = self.q.ite(empty, outside, inside);
        self.q.assert(law);
    }

    /// Some extent is at most zero.
    fn is_empty(&mut self, reduce: &Reduce) -> Id {
        let mut parts = Vec::new();
        for binder in &reduce.binders {
            if self.known().holds(&Cond::le(&Size::one(), &binder.extent)) {
                continue;
            }
            let (extent, zero) = (self.sizes.size(&mut self.q, &binder.extent), self.q.int(0));
            parts.push(self.q.le(extent, zero));
        }
        self.q.or(parts)
    }
}
