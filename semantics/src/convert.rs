//! Conversions after conversions.

use crate::diag::Span;
use crate::dtype::{Category, DType};
use crate::term::{Form, Fun, Term};
use crate::types::Type;

/// `term` converted to `dtype`, without a conversion on the way that changes nothing.
///
/// `to(by(x)) = to(x)` to the bit where `by` holds every value of `x` and conversion to
/// `to` depends on that value only; also where both keep the low bits of an integer, the
/// last not more than the one before. All NaNs are one value.
pub(crate) fn cast(to: DType, term: Term, span: Span) -> Term {
    if let Form::Call(Fun::Cast(by), args) = term.form()
        && let [inner] = args.as_slice()
    {
        let narrows = by.is_int() && to.is_int() && to.bits() <= by.bits();
        let skipped = match inner.ty() {
            Type::Size => narrows,
            // A bool is converted by a test, not by its low bits.
            Type::Tensor(t) if t.dtype.is_int() && narrows => true,
            // The narrow floats are reached through f32 anyway.
            Type::Tensor(_) if *by == DType::F32 && matches!(to, DType::F16 | DType::BF16) => true,
            Type::Tensor(t) => transparent(t.dtype, *by, to),
            Type::Tuple(_) => false,
        };
        if skipped {
            return cast(to, inner.clone(), span);
        }
    }
    Term::cast(to, term, span)
}

/// Whether every value of `from` is one of `by`, and what `to` makes of it does not depend
/// on whether it comes from one or the other.
fn transparent(from: DType, by: DType, to: DType) -> bool {
    let held = match (from.category(), by.category()) {
        (Category::Bool, Category::Int | Category::Float) => true,
        (Category::Int, Category::Int) => {
            let range = |d: DType| d.int_range().unwrap_or((0, -1));
            range(by).0 <= range(from).0 && range(from).1 <= range(by).1
        }
        (Category::Int, Category::Float) => {
            let magnitude = from.bits() - u32::from(from != DType::U8);
            by.precision().is_some_and(|precision| magnitude <= precision)
        }
        (Category::Float, Category::Float) => {
            (from == DType::F32 && by == DType::F64)
                || (matches!(from, DType::F16 | DType::BF16) && matches!(by, DType::F32 | DType::F64))
        }
        _ => false,
    };
    // An integer out of range is cut to its low bits, a float out of range is not.
    let alike = from.is_float() == by.is_float() || !to.is_int() || from == DType::Bool || from == to;
    held && alike
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::FileId;
    use crate::sample::specials;
    use crate::scalar::{self, Domain, Value};
    use crate::term::Var;

    /// Special values, and those that `by` has none of its own for.
    fn values(dtype: DType) -> Vec<Value> {
        let mut all = specials(dtype);
        match dtype.int_range() {
            Some((least, most)) if dtype.is_int() => {
                all.extend(
                    [-40_000, -300, -129, -7, 5, 127, 128, 255, 257, 2049, 16_777_217, 1 << 40]
                        .into_iter()
                        .filter(|n| (least..=most).contains(n))
                        .map(Value::Int),
                );
            }
            Some(_) => {}
            None => all.extend(
                [0.1, -2.5, 300.7, 2049.0, 65_504.0, 1e-7, 1e30]
                    .map(|x| Value::float(x, dtype, Domain::Ieee)),
            ),
        }
        all
    }

    #[test]
    fn what_is_skipped_changes_no_bit() {
        let span = Span::new(FileId(0), 0, 0);
        let mut skipped = 0;
        for from in DType::ALL {
            let x = Term::var(Var { id: 0, name: "x".into() }, Type::scalar(from), span);
            for by in DType::ALL {
                for to in DType::ALL {
                    let whole = cast(to, Term::cast(by, x.clone(), span), span);
                    if !matches!(whole.form(), Form::Call(_, args) if args[0].dtype() == by) && by != from {
                        skipped += 1;
                        for value in values(from) {
                            let step = |from, to, value: &Value| {
                                scalar::cast(Domain::Ieee, from, to, value).expect("a conversion")
                            };
                            let (there, direct) =
                                (step(by, to, &step(from, by, &value)), step(from, to, &value));
                            assert_eq!(there.same(&direct), Some(true), "{from} {by} {to}: {value}");
                        }
                    }
                }
            }
        }
        assert!(skipped > 200, "{skipped}");
    }

    #[test]
    fn what_loses_something_stays() {
        use DType::*;
        let kept = [
            (F32, F16, F32),
            (I32, F32, F64),
            (U8, I8, I16),
            (I16, I8, Bool),
            (F16, I64, F32),
            (I16, F32, I8),
        ];
        for (from, by, to) in kept {
            assert!(!transparent(from, by, to), "{from} {by} {to}");
        }
    }
}
