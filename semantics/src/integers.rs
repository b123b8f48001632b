//! Integer scalars that are sizes in disguise, such as `i64(k) + 1`.
//!
//! Note [Wrapped sizes]. Conversion of a size to an integer dtype keeps its low bits.
//! That respects `+`, `-` and `*`, so sums and products of converted sizes are the
//! converted sum or product, whether they wrap or not. Everything else (order, division,
//! use as an index, conversion to a wider dtype) needs the size itself, and so that it
//! lies in the range of the dtype: an obligation, asked of the facts at each place.

use crate::convert::cast;
use crate::diag::Span;
use crate::dtype::DType;
use crate::entail::Cond;
use crate::scalar::Scalar;
use crate::size::Size;
use crate::term::{Form, Fun, Lit, Term};
use crate::types::Type;
use num_bigint::BigInt;

/// The size that the integer scalar is, up to multiples of two to the width; a division
/// in it may fail where the scalar's does.
pub fn wrapped_size(term: &Term) -> Option<Size> {
    if !is_integer(term) {
        return None;
    }
    match term.form() {
        Form::Lit(Lit::Int(value)) => Some(Size::int(value.clone())),
        Form::Call(Fun::Cast(_), args) => args.first()?.as_size().cloned(),
        Form::Call(Fun::Scalar(fun), args) => {
            let parts: Vec<Size> = args.iter().map(wrapped_size).collect::<Option<_>>()?;
            match (fun, parts.as_slice()) {
                (Scalar::Add, [a, b]) => Some(a + b),
                (Scalar::Sub, [a, b]) => Some(a - b),
                (Scalar::Mul, [a, b]) => Some(a * b),
                (Scalar::Neg, [a]) => Some(-a),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The condition that the size lies in the range of the dtype.
pub fn fits(size: &Size, dtype: DType) -> Cond {
    let Some((least, most)) = dtype.int_range() else { return Cond::False };
    Cond::and([Cond::le(&Size::from(least), size), Cond::le(size, &Size::from(most))])
}

/// The scalar with the low bits of the size: a literal where it is a number.
pub(crate) fn from_size(size: Size, dtype: DType, span: Span) -> Term {
    match (size.as_const(), dtype.int_range()) {
        (Some(value), Some((least, _))) if dtype.is_int() => {
            let modulus = BigInt::from(1) << dtype.bits();
            let least = BigInt::from(least);
            let rest = num_integer::Integer::mod_floor(&(value - &least), &modulus);
            Term::lit(Lit::Int(rest + least), dtype, span)
        }
        _ => Term::cast(dtype, Term::size(size, span), span),
    }
}

/// What is asked of the facts.
pub(crate) struct Known<'a> {
    pub holds: &'a dyn Fn(&Cond) -> bool,
}

impl Known<'_> {
    /// The size that the integer scalar is, as it does not wrap.
    fn size(&self, term: &Term) -> Option<Size> {
        let size = wrapped_size(term)?;
        (self.holds)(&fits(&size, term.dtype())).then_some(size)
    }

    /// An index of a read, as a size where it is one.
    pub fn index(&self, index: Term) -> Term {
        match self.size(&index) {
            Some(size) => Term::size(size, index.span()),
            None => index,
        }
    }

    /// A conversion of a simplified scalar.
    pub fn cast(&self, to: DType, arg: Term, span: Span) -> Term {
        match arg.as_size() {
            Some(size) if to.is_int() => return from_size(size.clone(), to, span),
            Some(_) => return Term::cast(to, arg, span),
            None => {}
        }
        let wider = is_integer(&arg) && !(to.is_int() && to.bits() <= arg.dtype().bits());
        let size = if wider { self.size(&arg) } else { wrapped_size(&arg) };
        match size {
            Some(size) if to.is_int() => from_size(size, to, span),
            Some(size) => Term::cast(to, Term::size(size, span), span),
            None => cast(to, arg, span),
        }
    }

    /// A function of simplified integer scalars that are sizes.
    pub fn call(&self, fun: Scalar, args: &[Term], span: Span) -> Option<Term> {
        use Scalar::*;
        let dtype = args.first().filter(|arg| is_integer(arg))?.dtype();
        if matches!(fun, Add | Sub | Mul | Neg) {
            let size = wrapped_size(&Term::scalar(fun, args.to_vec(), span));
            return size.map(|size| from_size(size, dtype, span)).or_else(|| without_neutral(fun, args));
        }
        let [a, b] = args else { return None };
        // Nothing is asked before both are known to be sizes.
        wrapped_size(a).and(wrapped_size(b))?;
        match fun {
            Eq | Ne | Lt | Le | Gt | Ge => {
                let (a, b) = (self.size(a)?, self.size(b)?);
                Some(Term::scalar(fun, vec![Term::size(a, span), Term::size(b, span)], span))
            }
            FloorDivide | Remainder | TruncDivide | Fmod => {
                let (a, b) = (self.size(a)?, self.size(b)?);
                let truncates = matches!(fun, TruncDivide | Fmod);
                let positive = Cond::le(&Size::one(), &b);
                if !(self.holds)(&positive) || (truncates && !(self.holds)(&Cond::non_neg(a.clone()))) {
                    return None;
                }
                let rest = matches!(fun, Remainder | Fmod);
                Some(from_size(if rest { a.floor_mod(&b) } else { a.floor_div(&b) }, dtype, span))
            }
            Maximum | Minimum => {
                let (a, b) = (self.size(a)?, self.size(b)?);
                Some(from_size(if fun == Maximum { a.maximum(&b) } else { a.minimum(&b) }, dtype, span))
            }
            _ => None,
        }
    }
}

/// `x + 0`, `x - 0` and `x * 1` are `x`.
fn without_neutral(fun: Scalar, args: &[Term]) -> Option<Term> {
    let [a, b] = args else { return None };
    let neutral = BigInt::from(i32::from(fun == Scalar::Mul));
    let is_neutral = |t: &Term| matches!(t.form(), Form::Lit(Lit::Int(n)) if *n == neutral);
    if is_neutral(b) {
        return Some(a.clone());
    }
    (fun != Scalar::Sub && is_neutral(a)).then(|| b.clone())
}

fn is_integer(term: &Term) -> bool {
    matches!(term.ty(), Type::Tensor(t) if t.shape.is_empty() && t.dtype.is_int())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::FileId;
    use crate::eval::{Datum, Env, Limits, eval};
    use crate::scalar::{Domain, Value};
    use crate::size::{Sym, SymKind};

    fn value(term: &Term, env: &Env) -> Option<Value> {
        match eval(term, env, Domain::Ieee, &Limits::default()).ok()? {
            Datum::Tensor(t) => t.item().cloned(),
            Datum::Size(n) => Some(Value::Int(i64::try_from(n).ok()?)),
            Datum::Tuple(_) => None,
        }
    }

    /// Everything is known of the one symbol, so that what fits is decided by its value.
    #[test]
    fn what_is_computed_as_a_size_has_the_bits_of_the_integer() {
        use Scalar::*;
        let span = Span::new(FileId(0), 0, 0);
        let sym = Sym::new(0, SymKind::Int, "n");
        let n = Size::sym(&sym);
        let functions = [
            Add,
            Sub,
            Mul,
            Eq,
            Ne,
            Lt,
            Le,
            Gt,
            Ge,
            FloorDivide,
            Remainder,
            TruncDivide,
            Fmod,
            Maximum,
            Minimum,
        ];
        let mut computed = 0;
        for at in (-300..=300).step_by(7).chain([-129, -128, -1, 0, 1, 127, 128, 255, 256]) {
            let env = Env::new().with_size(&sym, at);
            let holds = |cond: &Cond| cond.eval(&|_| Some(i128::from(at))) == Some(true);
            let known = Known { holds: &holds };
            for dtype in [DType::I8, DType::U8, DType::I16] {
                let scalar = |size: &Size| Term::cast(dtype, Term::size(size.clone(), span), span);
                let operands =
                    [n.clone(), &n + &Size::int(100), &Size::int(3) - &n, Size::int(2), Size::int(-1)];
                for (a, b) in
                    operands.iter().flat_map(|a| operands.iter().map(move |b| (scalar(a), scalar(b))))
                {
                    for fun in functions {
                        let args = [a.clone(), b.clone()];
                        let whole = Term::scalar(fun, args.to_vec(), span);
                        let (Some(new), Some(old)) = (known.call(fun, &args, span), value(&whole, &env))
                        else {
                            continue;
                        };
                        computed += 1;
                        let same = value(&new, &env).and_then(|new| new.same(&old));
                        assert_eq!(same, Some(true), "{fun} at {at} in {dtype}: {args:?}");
                    }
                    for to in DType::ALL {
                        let new = value(&known.cast(to, a.clone(), span), &env);
                        let old = value(&Term::cast(to, a.clone(), span), &env).expect("a conversion");
                        assert_eq!(new.and_then(|new| new.same(&old)), Some(true), "{to} of {a:?} at {at}");
                    }
                    let (index, old) = (value(&known.index(a.clone()), &env), value(&a, &env));
                    assert_eq!(index.and_then(|i| i.as_int()), old.and_then(|i| i.as_int()), "{a:?} at {at}");
                }
            }
        }
        assert!(computed > 10_000, "{computed}");
    }
}
