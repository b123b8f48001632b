//! What a head costs by itself, at given sizes: operations on elements, and bytes read and written.
//!
//! The unit is that of [`rtv_semantics::price`]. What is fused is not known
//! here, so elementwise heads pay for a part of their bytes; whole programs are priced by whoever
//! lowers them to loop nests.

use rtv_semantics::derivation::parts;
use rtv_semantics::price::{BYTE, PLAIN, scalar};
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Atom, Size, Sym};
use rtv_semantics::term::{Form, Fun, Monoid, Reduce, Term};
use rtv_semantics::types::Type;
use rustc_hash::FxHashMap;

use crate::heads::{HeadId, Heads};

/// A head, whatever it does.
const HEAD: f64 = 50.0;

/// How much of the bytes of an elementwise head is paid for.
#[derive(Clone, Copy, Debug)]
pub struct Fusion(pub f64);

/// Prices heads at the sizes that symbols have.
pub struct Prices<'a> {
    pub sizes: &'a dyn Fn(&Sym) -> f64,
    pub fusion: Fusion,
}

/// The prices of the heads of one table, each worked out once.
pub struct Priced<'a> {
    prices: Prices<'a>,
    known: FxHashMap<HeadId, f64>,
}

impl<'a> Priced<'a> {
    pub fn by(prices: Prices<'a>) -> Priced<'a> {
        Priced { prices, known: FxHashMap::default() }
    }

    pub fn head(&mut self, heads: &Heads, head: HeadId) -> f64 {
        *self.known.entry(head).or_insert_with(|| self.prices.head(&heads.get(head).term))
    }
}

impl Prices<'_> {
    fn head(&self, term: &Term) -> f64 {
        if let Form::Var(_) | Form::Tuple(_) | Form::Call(Fun::Item(_), _) = term.form() {
            return 0.0;
        }
        let operations = self.operations(body(term));
        let written = self.bytes(term.ty());
        let read: f64 = parts(term).iter().map(|part| self.bytes(part.ty())).sum();
        let moved = match () {
            () if reduces(body(term)) => read + written,
            // Views cost nothing: they are index maps.
            () if operations == 0.0 => 0.0,
            () => self.fusion.0 * written,
        };
        HEAD + operations + BYTE * moved
    }

    fn bytes(&self, ty: &Type) -> f64 {
        match ty {
            Type::Size => 0.0,
            Type::Tensor(t) => {
                let elements: f64 = t.shape.iter().map(|extent| self.size(extent)).product();
                elements * f64::from(t.dtype.bits()) / 8.0
            }
            Type::Tuple(parts) => parts.iter().map(|part| self.bytes(part)).sum(),
        }
    }

    fn size(&self, size: &Size) -> f64 {
        let monomial = |(atoms, _): &(Vec<(Atom, u32)>, _)| -> f64 {
            atoms.iter().map(|(atom, power)| self.atom(atom).powi(*power as i32)).product()
        };
        let coefficient = |c: &num_bigint::BigInt| num_traits::ToPrimitive::to_f64(c).unwrap_or(f64::MAX);
        size.terms().iter().map(|term| coefficient(&term.1) * monomial(term)).sum::<f64>().max(0.0)
    }

    fn atom(&self, atom: &Atom) -> f64 {
        match atom {
            Atom::Sym(sym) => (self.sizes)(sym),
            Atom::Div(a, b) => self.size(a) / self.size(b).max(1.0),
            Atom::Min(a, b) => self.size(a).min(self.size(b)),
            Atom::Max(a, b) => self.size(a).max(self.size(b)),
        }
    }

    /// All operations of one evaluation of the term.
    fn operations(&self, term: &Term) -> f64 {
        match term.form() {
            Form::Size(_) | Form::Lit(_) | Form::Var(_) => 0.0,
            Form::Call(fun, args) => {
                let own = match fun {
                    Fun::Op(instance) => self.operations(&instance.body),
                    Fun::Scalar(fun) => scalar(*fun),
                    Fun::Cast(_) => PLAIN,
                    Fun::Combine(monoid) => self.operations(&monoid.element),
                    Fun::Item(_) => 0.0,
                };
                own + self.all(args)
            }
            Form::Read(base, index) => self.operations(base) + self.all(index),
            Form::Comp(binders, body) => {
                binders.iter().map(|b| self.size(&b.extent)).product::<f64>() * self.operations(body)
            }
            Form::Reduce(reduce) => self.reduction(reduce),
            Form::If(cond, a, b) => {
                PLAIN + self.operations(cond) + self.operations(a).max(self.operations(b))
            }
            Form::Let(_, value, body) => self.operations(value) + self.operations(body),
            Form::Tuple(parts) => self.all(parts),
            Form::Loop(l) => {
                let trips = l.counter.as_ref().map_or(1.0, |counter| self.size(&counter.extent));
                trips * self.operations(&l.step)
            }
            Form::Write(w) => {
                w.binders.iter().map(|b| self.size(&b.extent)).product::<f64>()
                    * (PLAIN + self.operations(&w.value))
            }
        }
    }

    fn all(&self, terms: &[Term]) -> f64 {
        terms.iter().map(|term| self.operations(term)).sum()
    }

    fn reduction(&self, reduce: &Reduce) -> f64 {
        let times: f64 = reduce.binders.iter().map(|b| self.size(&b.extent)).product();
        let each = if is_contraction(reduce) { 1.0 } else { PLAIN + self.operations(&reduce.body) };
        times * each
    }
}

/// What a call or an opaque body computes from its parts.
fn body(term: &Term) -> &Term {
    match term.form() {
        Form::Call(Fun::Op(instance), _) => &instance.body,
        _ => term,
    }
}

/// A sum of products of two elements.
fn is_contraction(reduce: &Reduce) -> bool {
    let factor = |term: &Term| matches!(term.form(), Form::Read(..) | Form::Var(_));
    let factors = |term: &Term| match term.form() {
        Form::Call(Fun::Scalar(Scalar::Mul), args) => args.iter().all(factor),
        _ => false,
    };
    reduce.op == Monoid::Sum && factors(&reduce.body)
}

/// Whether a reduction stands anywhere in a body.
fn reduces(term: &Term) -> bool {
    let mut open = vec![term];
    while let Some(term) = open.pop() {
        match term.form() {
            Form::Reduce(_) | Form::Loop(_) => return true,
            Form::Call(Fun::Op(instance), _) => open.push(&instance.body),
            _ => {}
        }
        open.extend(rtv_semantics::subst::children(term));
    }
    false
}
