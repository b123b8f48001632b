//! The alias contract, as far as it is decided: results that are computed share no
//! storage.

use crate::verdict::Finding;
use rtv_semantics::program::Claim;
use rtv_semantics::term::{Form, Fun, Term, Var};

/// No letter on either side means that neither result is derived from a parameter. It
/// holds where both sides compute every element; a side that hands elements on, as a
/// view does, is left open.
pub fn alias(claim: &Claim) -> Finding {
    if hands_on(&claim.lhs, &mut Vec::new()) || hands_on(&claim.rhs, &mut Vec::new()) {
        return Finding::unknown("alias not yet decided: a result may share storage with a parameter");
    }
    Finding::proved("computed")
}

/// Whether the elements of a result may be those of a parameter, unchanged. `computed`
/// are the names of values that are not.
fn hands_on(term: &Term, computed: &mut Vec<Var>) -> bool {
    match term.form() {
        Form::Var(v) => !computed.contains(v),
        Form::Let(v, value, body) => {
            if !hands_on(value, computed) {
                computed.push(v.clone());
            }
            hands_on(body, computed)
        }
        Form::If(_, a, b) => hands_on(a, computed) || hands_on(b, computed),
        Form::Tuple(parts) => parts.iter().any(|p| hands_on(p, computed)),
        Form::Comp(_, body) => match body.form() {
            Form::Read(base, _) => hands_on(base, computed),
            _ => false,
        },
        // Its body hands a parameter on, and the argument in its place may be one.
        Form::Call(Fun::Op(instance), args) => {
            hands_on(&instance.body, &mut Vec::new()) && args.iter().any(|a| hands_on(a, computed))
        }
        Form::Call(Fun::Item(_), args) => args.iter().any(|a| hands_on(a, computed)),
        Form::Loop(_) | Form::Write(_) => true,
        Form::Size(_) | Form::Lit(_) | Form::Read(..) | Form::Reduce(_) => false,
        Form::Call(Fun::Scalar(_) | Fun::Cast(_) | Fun::Combine(_), _) => false,
    }
}
