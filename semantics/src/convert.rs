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
