//! Constants: scalars that depend on nothing, as the literals they are.

use crate::dtype::DType;
use crate::eval::{Env, Limits, eval};
use crate::scalar::{Domain, Value};
use crate::subst::{free_syms, free_vars};
use crate::term::{Form, Lit, Term};
use num_traits::ToPrimitive;

/// Work on one constant.
const LIMITS: Limits = Limits { max_elements: 1 << 12, max_steps: 1 << 16, max_depth: 100 };

/// The literal that a scalar is equal to, bit for bit and as a real number: nothing where it
/// depends on a variable or a size, fails, is rounded anywhere, or is no finite number. There is one for
/// each number; negative zero has none.
pub fn constant(term: &Term) -> Option<Term> {
    let ty = term.tensor_type().filter(|ty| ty.shape.is_empty())?;
    if !free_vars(term).is_empty() || !free_syms(term).is_empty() {
        return None;
    }
    let [rounded, real] = [Domain::Ieee, Domain::Exact].map(|domain| value(term, domain));
    let (rounded, real) = (rounded?, real?);
    let found = Term::lit(lit(&rounded, ty.dtype)?, ty.dtype, term.span());
    let is = |of: &Value, domain| value(&found, domain)?.same(of);
    (is(&rounded, Domain::Ieee) == Some(true) && is(&real, Domain::Exact) == Some(true)).then_some(found)
}

fn value(term: &Term, domain: Domain) -> Option<Value> {
    let value = eval(term, &Env::new(), domain, &LIMITS).ok()?;
    value.as_tensor()?.item().filter(|value| !value.is_bottom()).cloned()
}

/// The literal that a scalar is equal to bit for bit, as the reference evaluator rounds it; nothing where it is a
/// literal already, depends on a variable or a size, fails, or is no finite number or negative zero.
pub fn rounded(term: &Term) -> Option<Term> {
    let ty = term.tensor_type().filter(|ty| ty.shape.is_empty())?;
    if is_literal(term) || !free_vars(term).is_empty() || !free_syms(term).is_empty() {
        return None;
    }
    let computed = value(term, Domain::Ieee)?;
    let lit = match (lit(&computed, ty.dtype)?, &computed) {
        // It need not be this real number, but round to it.
        (Lit::Decimal(_), Value::Float(x)) if ty.dtype == DType::F32 => {
            Lit::Decimal((*x as f32).to_string().into())
        }
        (lit, _) => lit,
    };
    let found = Term::lit(lit, ty.dtype, term.span());
    (value(&found, Domain::Ieee)?.same(&computed) == Some(true)).then_some(found)
}

fn lit(value: &Value, dtype: DType) -> Option<Lit> {
    match value {
        Value::Bool(b) => Some(Lit::Bool(*b)),
        Value::Int(i) => Some(Lit::Int((*i).into())),
        Value::Float(x) => float(*x, dtype),
        Value::Exact(_) | Value::Field(_) => None,
    }
}

/// A number as it is written shortest.
fn float(x: f64, dtype: DType) -> Option<Lit> {
    let whole = x.to_i64().filter(|whole| *whole as f64 == x);
    match whole {
        _ if !x.is_finite() => None,
        Some(0) if x.is_sign_negative() => None,
        Some(whole) => Lit::integer(whole, dtype),
        None => Some(Lit::Decimal(x.to_string().into())),
    }
}

/// Whether a term is a literal.
pub fn is_literal(term: &Term) -> bool {
    matches!(term.form(), Form::Lit(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Span;
    use crate::scalar::Scalar;
    use crate::term::Var;

    fn decimal(text: &str, dtype: DType) -> Term {
        Term::lit(Lit::Decimal(text.into()), dtype, Span::default())
    }

    fn found(fun: Scalar, args: Vec<Term>) -> Option<String> {
        let constant = constant(&Term::scalar(fun, args, Span::default()))?;
        match constant.form() {
            Form::Lit(lit) => Some(lit.text()),
            _ => panic!("a constant is a literal"),
        }
    }

    #[test]
    fn what_does_not_round_is_a_constant() {
        let f32 = |text| decimal(text, DType::F32);
        assert_eq!(found(Scalar::Mul, vec![f32("2.0"), f32("0.75")]).as_deref(), Some("1.5"));
        assert_eq!(found(Scalar::Div, vec![f32("6.0"), f32("2")]).as_deref(), Some("3"));
        assert_eq!(found(Scalar::Sqrt, vec![f32("64")]).as_deref(), Some("8"));
        assert_eq!(found(Scalar::Neg, vec![f32("0.125")]).as_deref(), Some("-0.125"));
        assert_eq!(found(Scalar::Lt, vec![f32("1"), f32("2")]).as_deref(), Some("true"));
    }

    #[test]
    fn what_rounds_is_rounded_to_a_literal() {
        let f32 = |text| decimal(text, DType::F32);
        let found = |fun, args| match rounded(&Term::scalar(fun, args, Span::default()))?.form() {
            Form::Lit(lit) => Some(lit.text()),
            _ => panic!("a constant is a literal"),
        };
        let third = found(Scalar::Div, vec![f32("1"), f32("3")]).expect("a number");
        assert_eq!(third.parse::<f32>().ok(), Some(1.0 / 3.0));
        assert_eq!(found(Scalar::Mul, vec![f32("2.0"), f32("0.75")]).as_deref(), Some("1.5"));
        assert_eq!(found(Scalar::Div, vec![f32("1"), f32("0")]), None);
        assert_eq!(found(Scalar::Neg, vec![f32("0")]), None);
        assert!(rounded(&f32("0.1")).is_none());
    }

    #[test]
    fn what_rounds_or_is_no_number_is_none() {
        let f32 = |text| decimal(text, DType::F32);
        let f16 = |text| decimal(text, DType::F16);
        // 0.1 is none of the numbers of f32.
        assert_eq!(found(Scalar::Add, vec![f32("0.1"), f32("0.1")]), None);
        assert_eq!(found(Scalar::Div, vec![f32("1"), f32("3")]), None);
        assert_eq!(found(Scalar::Sqrt, vec![f32("2")]), None);
        assert_eq!(found(Scalar::Exp, vec![f32("1")]), None);
        // 2049 lies between two numbers of f16.
        assert_eq!(found(Scalar::Add, vec![f16("2048"), f16("1")]), None);
        assert_eq!(found(Scalar::Mul, vec![f16("60000"), f16("2")]), None);
        assert_eq!(found(Scalar::Div, vec![f32("1"), f32("0")]), None);
        assert_eq!(found(Scalar::Neg, vec![f32("0")]), None);
        let x = Term::var(Var { id: 1, name: "x".into() }, f32("0").ty().clone(), Span::default());
        assert_eq!(found(Scalar::Mul, vec![x, f32("0")]), None);
    }
}
