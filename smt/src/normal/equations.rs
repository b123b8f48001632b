//! Equations between the indices of two terms, and solving them for bound symbols.
//!
//! What is found here is a proposal: who uses it checks it, see Note [Frames].

use num_traits::Signed;
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Atom, Size, Sym};
use rtv_semantics::subst::{Subst, children};
use rtv_semantics::term::{Binder, Form, Fun, Term};

/// Rounds of solving one system.
const MAX_ROUNDS: usize = 12;

/// The term as text without its sizes: only terms with the same one can be the same but
/// for their indices.
pub(super) fn skeleton(term: &Term) -> String {
    let head = match term.form() {
        Form::Size(_) => return "_".into(),
        Form::Lit(lit) => return lit.text(),
        Form::Var(var) => return format!("{}.{}", var.name, var.id),
        Form::Call(Fun::Scalar(fun), _) => fun.name().to_string(),
        Form::Call(Fun::Cast(dtype), _) => dtype.name().to_string(),
        Form::Call(Fun::Item(k), _) => format!("item {k}"),
        Form::Call(Fun::Combine(monoid), _) => format!("combine {}", monoid.name()),
        Form::Tuple(_) => "tuple".into(),
        Form::Read(..) => "read".into(),
        Form::If(..) => "if".into(),
        Form::Reduce(reduce) => format!("{} {}", reduce.op.name(), reduce.binders.len()),
        // These are the same only if they are equal.
        Form::Call(Fun::Op(_), _) | Form::Comp(..) | Form::Let(..) => "other".into(),
        Form::Loop(_) | Form::Write(_) => "other".into(),
    };
    let parts: Vec<String> = operands(term).into_iter().map(skeleton).collect();
    format!("{head}({})", parts.join(","))
}

/// The parts of a term, those of a sum or a product of two in an order that does not depend
/// on indices.
pub(super) fn operands(term: &Term) -> Vec<&Term> {
    let mut parts = children(term);
    if let Form::Call(Fun::Scalar(Scalar::Add | Scalar::Mul), _) = term.form() {
        parts.sort_by_cached_key(|part| skeleton(part));
    }
    parts
}

/// Sizes that are zero where the two terms are the same, but for those under binders
/// inside; `None` if they are different anyway.
pub(super) fn equations(a: &Term, b: &Term, into: &mut Vec<Size>) -> Option<()> {
    equations_under(a, b, &mut Vec::new(), into)
}

fn equations_under(a: &Term, b: &Term, bound: &mut Vec<Sym>, into: &mut Vec<Size>) -> Option<()> {
    match (a.form(), b.form()) {
        (Form::Size(a), Form::Size(b)) => {
            let difference = a - b;
            let inside = bound.iter().any(|sym| difference.mentions(sym));
            if !inside && !difference.is_zero() && !into.contains(&difference) {
                into.push(difference);
            }
            Some(())
        }
        (Form::Read(x, _), Form::Read(y, _)) if !alpha_eq(x, y) => None,
        (Form::Reduce(x), Form::Reduce(y)) => {
            let outer = bound.len();
            let binders = x.binders.iter().chain(&y.binders);
            bound.extend(binders.map(|b| b.sym.clone()));
            let result = equations_under(&x.body, &y.body, bound, into);
            bound.truncate(outer);
            result
        }
        _ => {
            let (a, b) = (operands(a), operands(b));
            (a.len() == b.len()).then_some(())?;
            a.into_iter().zip(b).try_for_each(|(a, b)| equations_under(a, b, bound, into))
        }
    }
}

/// Values of symbols.
pub(super) type Values = Vec<(Sym, Size)>;

/// Values of the binders' symbols, free of all of them, that the equations suggest where
/// the conditions hold.
pub(super) fn solved(equations: &[Size], binders: &[Binder]) -> Option<(Values, Vec<Cond>)> {
    let mut open: Vec<Size> = equations.to_vec();
    let (mut values, mut conditions) = (Values::new(), Vec::new());
    for _ in 0..MAX_ROUNDS {
        let unknown: Vec<&Binder> =
            binders.iter().filter(|b| values.iter().all(|(sym, _)| *sym != b.sym)).collect();
        if unknown.is_empty() {
            return Some((values, conditions));
        }
        let found =
            open.iter().find_map(|p| value(p, &unknown).or_else(|| mixed(p, &unknown, &mut conditions)));
        if let Some(new) = found {
            for (sym, value) in &new {
                open = open.iter().map(|p| Subst::new().with_size(sym, value.clone()).size(p)).collect();
            }
            values.extend(new);
        } else {
            let (atom, value) = open.iter().find_map(|p| quotient(p, &unknown))?;
            open = open.iter().map(|p| p.map_atoms(&|a| (*a == atom).then(|| value.clone()))).collect();
        }
        open.retain(|p| !p.is_zero());
    }
    None
}

/// The one unknown of an equation.
fn value(p: &Size, unknown: &[&Binder]) -> Option<Values> {
    let mut there = unknown.iter().filter(|b| p.mentions(&b.sym));
    let (Some(b), None) = (there.next(), there.next()) else { return None };
    let (factor, rest) = linear(p, &b.sym)?;
    Some(vec![(b.sym.clone(), divided(&-&rest, &factor))])
}

/// Two unknowns that stand in an equation as `d*q + r`, where `0 <= r < d`.
fn mixed(p: &Size, unknown: &[&Binder], conditions: &mut Vec<Cond>) -> Option<Values> {
    let there: Vec<&&Binder> = unknown.iter().filter(|b| p.mentions(&b.sym)).collect();
    let [a, b] = there.as_slice() else { return None };
    [(a, b), (b, a)].into_iter().find_map(|(q, r)| {
        let (one, rest) = linear(p, &r.sym)?;
        let one = one.as_const().filter(|c| c.magnitude() == &1u32.into())?;
        let (d, rest) = linear(&rest, &q.sym)?;
        let (d, whole) = (d.scale(&one), -&rest.scale(&one));
        (d == r.extent && !d.mentions(&q.sym)).then(|| {
            conditions.push(Cond::within(&Size::zero(), &Size::sym(&r.sym), &d));
            let quotient = whole.floor_div(&d);
            let rest = &whole - &(&d * &quotient);
            vec![(q.sym.clone(), quotient), (r.sym.clone(), rest)]
        })
    })
}

/// `p = factor * sym + rest`, with no other `sym` in it.
fn linear(p: &Size, sym: &Sym) -> Option<(Size, Size)> {
    let (mut factor, mut rest) = (Vec::new(), Vec::new());
    for (monomial, number) in p.terms() {
        match monomial
            .iter()
            .position(|(atom, power)| matches!(atom, Atom::Sym(s) if s == sym) && *power == 1)
        {
            Some(at) => {
                let mut others = monomial.clone();
                others.remove(at);
                factor.push((others, number.clone()));
            }
            None => rest.push((monomial.clone(), number.clone())),
        }
    }
    let (factor, rest) = (Size::from_terms(factor), Size::from_terms(rest));
    (!factor.is_zero() && !factor.mentions(sym) && !rest.mentions(sym)).then_some((factor, rest))
}

/// `whole / factor`, rounded down.
fn divided(whole: &Size, factor: &Size) -> Size {
    let negative = factor.terms().iter().all(|(_, number)| number.is_negative());
    if negative { (-whole).floor_div(&-factor) } else { whole.floor_div(factor) }
}

/// A quotient with an unknown in it that an equation gives a value to.
fn quotient(p: &Size, unknown: &[&Binder]) -> Option<(Atom, Size)> {
    let open = |size: &Size| unknown.iter().any(|b| size.mentions(&b.sym));
    p.terms().iter().find_map(|(monomial, number)| {
        let [(atom @ Atom::Div(..), 1)] = monomial.as_slice() else { return None };
        let unit = number.magnitude() == &1u32.into();
        let rest = p - &Size::from_terms([(monomial.clone(), number.clone())]);
        let value = if number.is_negative() { rest.clone() } else { -&rest };
        (unit && open(&Size::atom(atom.clone())) && !open(&rest)).then(|| (atom.clone(), value))
    })
}
