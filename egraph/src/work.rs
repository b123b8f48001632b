//! What a head costs by itself, at given sizes: operations on elements, and bytes read and written.
//!
//! The unit is that of [`rtv_semantics::price`]. What is fused is not known
//! here, so elementwise heads pay for a part of their bytes; whole programs are priced by whoever
//! lowers them to loop nests.

use rtv_semantics::derivation::parts;
use rtv_semantics::price::{BYTE, PLAIN, scalar};
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Atom, Size, Sym};
use rtv_semantics::subst::free_syms;
use rtv_semantics::term::{Binder, Form, Fun, Monoid, Reduce, Term};
use rtv_semantics::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::heads::{HeadId, Heads};

/// A head, whatever it does.
const HEAD: f64 = 50.0;

/// Results that an element of a matrix product is used for at least, where the product is worth blocks.
const SEVERAL: f64 = 4.0;

/// By how much a head is made dearer.
const RAISE: f64 = 1.5;

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

    /// Makes heads dearer whose prices were too low.
    pub fn raise(&mut self, heads: &FxHashSet<HeadId>) {
        for (_, price) in self.known.iter_mut().filter(|(head, _)| heads.contains(head)) {
            *price *= RAISE;
        }
    }
}

impl Prices<'_> {
    fn head(&self, term: &Term) -> f64 {
        if let Form::Var(_) | Form::Tuple(_) | Form::Call(Fun::Item(_), _) = term.form() {
            return 0.0;
        }
        let operations = self.operations(body(term), &[]);
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

    /// All operations of one evaluation of the term, the innermost comprehension around it having these binders.
    fn operations(&self, term: &Term, outer: &[Binder]) -> f64 {
        let within = |term: &Term| self.operations(term, outer);
        let all = |terms: &[Term]| -> f64 { terms.iter().map(within).sum() };
        match term.form() {
            Form::Size(_) | Form::Lit(_) | Form::Var(_) => 0.0,
            Form::Call(fun, args) => {
                let own = match fun {
                    Fun::Op(instance) => self.operations(&instance.body, &[]),
                    Fun::Scalar(fun) => scalar(*fun),
                    Fun::Cast(_) => PLAIN,
                    Fun::Combine(monoid) => within(&monoid.element),
                    Fun::Item(_) => 0.0,
                };
                own + all(args)
            }
            Form::Read(base, index) => within(base) + all(index),
            Form::Comp(binders, body) => self.times(binders) * self.operations(body, binders),
            Form::Reduce(reduce) => self.reduction(reduce, outer),
            Form::If(cond, a, b) => PLAIN + within(cond) + within(a).max(within(b)),
            Form::Let(_, value, body) => within(value) + within(body),
            Form::Tuple(parts) => all(parts),
            Form::Loop(l) => {
                let trips = l.counter.as_ref().map_or(1.0, |counter| self.size(&counter.extent));
                trips * within(&l.step)
            }
            Form::Write(w) => self.times(&w.binders) * (PLAIN + within(&w.value)),
        }
    }

    fn times<'b>(&self, binders: impl IntoIterator<Item = &'b Binder>) -> f64 {
        binders.into_iter().map(|binder| self.size(&binder.extent)).product()
    }

    fn reduction(&self, reduce: &Reduce, outer: &[Binder]) -> f64 {
        let each = match self.is_contraction(reduce, outer) {
            true => 1.0,
            false => PLAIN + self.operations(&reduce.body, outer),
        };
        self.times(&reduce.binders) * each
    }

    /// A sum of products of two elements, each of which is used for several results, as it is in blocks of a matrix
    /// product. One that uses elements but once costs what other sums do.
    fn is_contraction(&self, reduce: &Reduce, outer: &[Binder]) -> bool {
        let is_factor = |term: &Term| {
            let used = free_syms(term);
            let results = outer.iter().filter(|binder| !used.contains(&binder.sym));
            matches!(term.form(), Form::Read(..) | Form::Var(_)) && self.times(results) >= SEVERAL
        };
        match reduce.body.form() {
            Form::Call(Fun::Scalar(Scalar::Mul), factors) if reduce.op == Monoid::Sum => {
                factors.iter().all(is_factor)
            }
            _ => false,
        }
    }
}

/// What a call or an opaque body computes from its parts.
fn body(term: &Term) -> &Term {
    match term.form() {
        Form::Call(Fun::Op(instance), _) => &instance.body,
        _ => term,
    }
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
