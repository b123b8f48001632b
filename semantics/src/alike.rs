//! Terms that are one over the reals: one proof serves every float dtype.
//!
//! Note [Reals]. Over the reals a float is a real number, an infinity or undefined, whatever
//! its dtype: nothing rounds, literals are the decimals as written, a conversion between
//! float dtypes changes nothing, and one to an integer or a bool looks at the number alone
//! (see [`Domain::Exact`](crate::scalar::Domain)). So two terms that are the same but for
//! which float dtype stands where, and for conversions between float dtypes, have the same
//! value for the same inputs, and fail alike; but for `nextafter`, which has no meaning over
//! the reals, so that no claim about it is proved there. And the inputs are the same: a claim over the
//! reals is about all real numbers, not about those that a dtype can hold.

use crate::dtype::DType;
use crate::scalar::Scalar;
use crate::subst::children;
use crate::term::{Binder, Declared, Form, Fun, Instance, Loop, Monoid, Reduce, Require, Term};
use crate::types::Type;
use std::collections::BTreeSet;

/// Whether everything in a term says something over the reals. `nextafter` does not: which number is
/// next depends on the dtype.
pub fn is_about_reals(term: &Term) -> bool {
    let (mut open, mut seen) = (vec![term], BTreeSet::new());
    while let Some(term) = open.pop() {
        if !seen.insert(term.address()) {
            continue;
        }
        match term.form() {
            Form::Call(Fun::Scalar(Scalar::Nextafter), _) => return false,
            Form::Call(Fun::Op(instance), _) => {
                open.push(&instance.body);
                open.extend(instance.requires.iter().map(|require| &require.cond));
            }
            Form::Call(Fun::Combine(monoid), _) => open.push(&monoid.element),
            Form::Reduce(reduce) => open.extend(reduce.op.declared().map(|monoid| &monoid.element)),
            _ => {}
        }
        open.extend(children(term));
    }
    true
}

/// Whether both terms have the same meaning over the reals, as they are the same but for the
/// float dtypes in them.
pub fn alike_over_reals(a: &Term, b: &Term) -> bool {
    Walk::default().alike(a, b)
}

/// The same of preconditions, which fail in the same way.
pub fn require_alike(a: &[Require], b: &[Require]) -> bool {
    Walk::default().requires(a, b)
}

/// Pairs that are alike, so that shared parts are compared once.
#[derive(Default)]
struct Walk {
    known: BTreeSet<(usize, usize)>,
}

impl Walk {
    fn alike(&mut self, a: &Term, b: &Term) -> bool {
        let (a, b) = (unconverted(a), unconverted(b));
        let pair = (a.address(), b.address());
        let same = self.known.contains(&pair) || (types_alike(a.ty(), b.ty()) && self.forms(a, b));
        if same {
            self.known.insert(pair);
        }
        same
    }

    fn all(&mut self, a: &[Term], b: &[Term]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.alike(a, b))
    }

    fn forms(&mut self, a: &Term, b: &Term) -> bool {
        match (a.form(), b.form()) {
            (Form::Size(p), Form::Size(q)) => p == q,
            (Form::Lit(p), Form::Lit(q)) => p == q,
            (Form::Var(v), Form::Var(w)) => v == w,
            (Form::Call(f, x), Form::Call(g, y)) => self.functions(f, g) && self.all(x, y),
            (Form::Read(x, i), Form::Read(y, j)) => self.alike(x, y) && self.all(i, j),
            (Form::Comp(p, x), Form::Comp(q, y)) => same_binders(p, q) && self.alike(x, y),
            (Form::Reduce(r), Form::Reduce(s)) => self.reductions(r, s),
            (Form::If(c, x, y), Form::If(d, z, w)) => {
                self.alike(c, d) && self.alike(x, z) && self.alike(y, w)
            }
            (Form::Let(v, x, y), Form::Let(w, z, u)) => v == w && self.alike(x, z) && self.alike(y, u),
            (Form::Tuple(x), Form::Tuple(y)) => self.all(x, y),
            (Form::Loop(l), Form::Loop(m)) => self.loops(l, m),
            _ => false,
        }
    }

    fn functions(&mut self, f: &Fun, g: &Fun) -> bool {
        match (f, g) {
            (Fun::Scalar(f), Fun::Scalar(g)) => f == g,
            (Fun::Cast(f), Fun::Cast(g)) => dtypes_alike(*f, *g),
            (Fun::Op(f), Fun::Op(g)) => self.instances(f, g),
            (Fun::Item(k), Fun::Item(l)) => k == l,
            (Fun::Combine(m), Fun::Combine(n)) => self.monoids(m, n),
            _ => false,
        }
    }

    fn reductions(&mut self, r: &Reduce, s: &Reduce) -> bool {
        let ops = match (&r.op, &s.op) {
            (Monoid::Declared(m), Monoid::Declared(n)) => self.monoids(m, n),
            (op, other) => op == other,
        };
        ops && same_binders(&r.binders, &s.binders) && self.alike(&r.body, &s.body)
    }

    /// What is proved of them does not count, only what they are.
    fn monoids(&mut self, m: &Declared, n: &Declared) -> bool {
        self.instances(&m.combine, &n.combine)
            && self.alike(&m.element, &n.element)
            && self.alike(&m.identity, &n.identity)
    }

    fn loops(&mut self, l: &Loop, m: &Loop) -> bool {
        let counters = same_binders(l.counter.as_slice(), m.counter.as_slice());
        let conditions = match (&l.condition, &m.condition) {
            (None, None) => true,
            (Some(c), Some(d)) => self.alike(c, d),
            _ => false,
        };
        let mut state = l.state.iter().zip(&m.state);
        counters
            && conditions
            && l.state.len() == m.state.len()
            && state.all(|((v, x), (w, y))| v == w && self.alike(x, y))
            && self.alike(&l.step, &m.step)
    }

    fn instances(&mut self, f: &Instance, g: &Instance) -> bool {
        let params = f.params.len() == g.params.len()
            && f.params.iter().zip(&g.params).all(|(p, q)| p.0 == q.0 && types_alike(&p.1, &q.1));
        params && self.requires(&f.requires, &g.requires) && self.alike(&f.body, &g.body)
    }

    fn requires(&mut self, a: &[Require], b: &[Require]) -> bool {
        let mut pairs = a.iter().zip(b);
        a.len() == b.len() && pairs.all(|(r, s)| r.class == s.class && self.alike(&r.cond, &s.cond))
    }
}

/// A term without the conversions between float dtypes around it.
fn unconverted(term: &Term) -> &Term {
    let is_float = |term: &Term| term.tensor_type().is_some_and(|ty| ty.dtype.is_float());
    match term.form() {
        Form::Call(Fun::Cast(to), args) if to.is_float() && is_float(&args[0]) => unconverted(&args[0]),
        _ => term,
    }
}

fn dtypes_alike(a: DType, b: DType) -> bool {
    a == b || (a.is_float() && b.is_float())
}

fn types_alike(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Size, Type::Size) => true,
        (Type::Tensor(a), Type::Tensor(b)) => a.shape == b.shape && dtypes_alike(a.dtype, b.dtype),
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| types_alike(a, b))
        }
        _ => false,
    }
}

fn same_binders(a: &[Binder], b: &[Binder]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(p, q)| p.sym == q.sym && p.extent == q.extent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{FileId, Span};
    use crate::scalar::Scalar;
    use crate::size::{Size, Sym, SymKind};
    use crate::term::{Lit, Var};

    const AT: Span = Span { file: FileId(0), lo: 0, hi: 0 };

    /// `sum(x[k] * 0.1 for k in n)`, with `x` converted to another dtype first if one is given.
    fn scaled(dtype: DType, through: Option<DType>, factor: &str) -> Term {
        let n = Size::sym(&Sym::new(0, SymKind::Size, "n"));
        let k = Sym::new(1, SymKind::Index, "k");
        let x = Term::var(Var { id: 2, name: "x".into() }, Type::tensor(dtype, vec![n.clone()]), AT);
        let read = Term::read(x, vec![Term::size(Size::sym(&k), AT)], AT);
        let read = through.map_or(read.clone(), |to| Term::cast(to, read, AT));
        let factor = Term::lit(Lit::Decimal(factor.into()), read.dtype(), AT);
        let body = Term::scalar(Scalar::Mul, vec![read, factor], AT);
        Term::reduce(Monoid::Sum, vec![Binder { sym: k, extent: n }], body, AT)
    }

    #[test]
    fn which_float_dtype_it_is_does_not_count() {
        let one = scaled(DType::F32, None, "0.1");
        for other in [
            scaled(DType::F16, None, "0.1"),
            scaled(DType::F64, None, "0.1"),
            scaled(DType::F16, Some(DType::F32), "0.1"),
        ] {
            assert!(alike_over_reals(&one, &other) && alike_over_reals(&other, &one));
        }
    }

    #[test]
    fn everything_else_counts() {
        let one = scaled(DType::F32, None, "0.1");
        for other in [
            scaled(DType::F32, None, "0.2"),
            scaled(DType::F32, Some(DType::I64), "1"),
            scaled(DType::I64, None, "0.1"),
            scaled(DType::I64, Some(DType::F32), "0.1"),
        ] {
            assert!(!alike_over_reals(&one, &other) && !alike_over_reals(&other, &one), "{other:?}");
        }
        let whole = scaled(DType::I32, None, "1");
        assert!(!alike_over_reals(&whole, &scaled(DType::I64, None, "1")));
    }
}
