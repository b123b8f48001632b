//! Terms that are one but for the dtypes in them: one proof serves them all.
//!
//! Note [Movement]. Say two terms are built of parameters, reads at sizes, comprehensions,
//! and `if` on sizes, without literals, scalar functions of elements or indices from data.
//! Then for given sizes each element of either is one element of a parameter, the same one
//! whatever the values are. Two such elements agree for all values exactly if they are the
//! same element of the same parameter: otherwise take values that tell them apart, which
//! every dtype has. So whether the terms agree does not depend on the dtypes, nor does
//! whether they fail, which is a matter of sizes.
//!
//! Note [Reals]. Over the reals a float is a real number, an infinity or undefined, whatever
//! its dtype: nothing rounds, literals are the decimals as written, a conversion between
//! float dtypes changes nothing, and one to an integer or a bool looks at the number alone
//! (see [`Domain::Exact`](crate::scalar::Domain)). So two terms that are the same but for
//! which float dtype stands where, and for conversions between float dtypes, have the same
//! value for the same inputs, and fail alike; but for `nextafter`, which has no meaning over
//! the reals, so that no claim about it is proved there. And the inputs are the same: a claim over the
//! reals is about all real numbers, not about those that a dtype can hold.
//!
//! Note [Residues]. An integer of `w` bits is a residue modulo `2^w`: sums, products, negation
//! and operations on bits wrap. Taking the low `w` bits of a wider integer commutes with all of
//! these, with literals that `w` bits hold (others are errors), and with the conversion of a size, a
//! bool or an integer; and each integer of `w` bits is the low bits of a wider one. Say a term does nothing else with
//! integers that have another width in a second term, which is the same otherwise: nothing
//! compares or divides them, converts them, or reads at them. Then each of its elements is the
//! low bits of the element of the second term on wider inputs, and both fail alike, by sizes and
//! by data that is the same. So what agrees in the wider integers agrees in the narrower ones.

use crate::dtype::DType;
use crate::scalar::Scalar;
use crate::subst::children;
use crate::term::{Binder, Declared, Form, Fun, Instance, Lit, Loop, Monoid, Reduce, Require, Term};
use crate::types::Type;
use num_bigint::BigInt;
use std::collections::BTreeSet;

/// In which sense terms are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sense {
    /// Both only move data: Note \[Movement\].
    Movement,
    /// Over the reals: Note \[Reals\].
    Reals,
    /// What the second is in wider integers the first is in narrower ones: Note \[Residues\].
    Residues,
}

/// Whether the terms are one in this sense.
pub fn alike(sense: Sense, a: &Term, b: &Term) -> bool {
    Walk { sense, known: BTreeSet::new() }.alike(a, b)
}

/// The same of preconditions, which fail in the same way.
pub fn require_alike(sense: Sense, a: &[Require], b: &[Require]) -> bool {
    Walk { sense, known: BTreeSet::new() }.requires(a, b)
}

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

struct Walk {
    sense: Sense,
    /// Pairs that are alike, so that shared parts are compared once.
    known: BTreeSet<(usize, usize)>,
}

impl Walk {
    fn alike(&mut self, a: &Term, b: &Term) -> bool {
        let (a, b) = (self.seen(a), self.seen(b));
        let pair = (a.address(), b.address());
        let same = self.known.contains(&pair) || (self.types(a.ty(), b.ty()) && self.forms(a, b));
        if same {
            self.known.insert(pair);
        }
        same
    }

    fn all(&mut self, a: &[Term], b: &[Term]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.alike(a, b))
    }

    fn forms(&mut self, a: &Term, b: &Term) -> bool {
        let moves = self.sense == Sense::Movement;
        match (a.form(), b.form()) {
            (Form::Size(p), Form::Size(q)) => p == q,
            (Form::Lit(p), Form::Lit(q)) => p == q && !moves && (a.ty() == b.ty() || self.both_hold(p, a, b)),
            (Form::Var(v), Form::Var(w)) => v == w,
            (Form::Call(f, x), Form::Call(g, y)) => self.calls((f, x), (g, y), a.ty() == b.ty()),
            (Form::Read(x, i), Form::Read(y, j)) => {
                let at_sizes = i.iter().chain(j).all(|at| at.as_size().is_some());
                (at_sizes || !moves) && all_plain(i, j) && self.all(i, j) && self.alike(x, y)
            }
            (Form::Comp(p, x), Form::Comp(q, y)) => same_binders(p, q) && self.alike(x, y),
            (Form::Reduce(r), Form::Reduce(s)) => self.reductions(r, s),
            (Form::If(c, x, y), Form::If(d, z, w)) => {
                self.conditions(c, d) && self.alike(x, z) && self.alike(y, w)
            }
            (Form::Let(v, x, y), Form::Let(w, z, u)) => v == w && self.alike(x, z) && self.alike(y, u),
            (Form::Tuple(x), Form::Tuple(y)) => self.all(x, y),
            (Form::Loop(l), Form::Loop(m)) => self.sense == Sense::Reals && self.loops(l, m),
            _ => false,
        }
    }

    /// Whether a literal is no error at the dtypes of two terms, if they are of integers.
    fn both_hold(&self, literal: &Lit, a: &Term, b: &Term) -> bool {
        let holds = |term: &Term| {
            let range = term.dtype().int_range().filter(|_| term.dtype().is_int());
            let Lit::Int(value) = literal else { return false };
            range.is_some_and(|(least, most)| BigInt::from(least) <= *value && *value <= BigInt::from(most))
        };
        self.sense == Sense::Reals || [a, b].into_iter().all(holds)
    }

    /// Where both are of sizes alone, the same condition.
    fn conditions(&mut self, a: &Term, b: &Term) -> bool {
        match self.sense {
            Sense::Movement => a.as_cond().is_some_and(|cond| b.as_cond() == Some(cond)),
            Sense::Reals | Sense::Residues => self.alike(a, b),
        }
    }

    /// Whether calls are alike, of results that have one type or not.
    fn calls(&mut self, (f, x): (&Fun, &[Term]), (g, y): (&Fun, &[Term]), one_type: bool) -> bool {
        let heads = match (f, g, self.sense) {
            (Fun::Op(f), Fun::Op(g), _) => self.instances(f, g),
            (Fun::Item(k), Fun::Item(l), _) => k == l,
            (_, _, Sense::Movement) => false,
            (Fun::Scalar(f), Fun::Scalar(g), Sense::Reals) => f == g,
            (Fun::Cast(f), Fun::Cast(g), Sense::Reals) => f == g || (f.is_float() && g.is_float()),
            (Fun::Combine(m), Fun::Combine(n), Sense::Reals) => self.monoids(m, n),
            (Fun::Scalar(f), Fun::Scalar(g), Sense::Residues) => {
                f == g && (is_of_low_bits(*f) || (one_type && all_plain(x, y)))
            }
            (Fun::Cast(f), Fun::Cast(g), Sense::Residues) => {
                let whole = |x: &Term| x.tensor_type().is_none_or(|ty| !ty.dtype.is_float());
                all_plain(x, y) && (f == g || x.iter().all(whole))
            }
            _ => false,
        };
        heads && self.all(x, y)
    }

    fn reductions(&mut self, r: &Reduce, s: &Reduce) -> bool {
        let ops = match (&r.op, &s.op, self.sense) {
            (_, _, Sense::Movement) => false,
            (Monoid::Declared(m), Monoid::Declared(n), Sense::Reals) => self.monoids(m, n),
            (Monoid::Declared(_), ..) => false,
            (Monoid::Sum | Monoid::Prod, ..) | (_, _, Sense::Reals) => r.op == s.op,
            (_, _, Sense::Residues) => r.op == s.op && r.body.ty() == s.body.ty(),
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
            && f.params.iter().zip(&g.params).all(|(p, q)| p.0 == q.0 && self.types(&p.1, &q.1));
        params && self.requires(&f.requires, &g.requires) && self.alike(&f.body, &g.body)
    }

    fn requires(&mut self, a: &[Require], b: &[Require]) -> bool {
        let mut pairs = a.iter().zip(b);
        a.len() == b.len() && pairs.all(|(r, s)| r.class == s.class && self.conditions(&r.cond, &s.cond))
    }

    /// A term as it is looked at: over the reals without the conversions between float dtypes
    /// around it.
    fn seen<'t>(&self, term: &'t Term) -> &'t Term {
        let is_float = |term: &Term| term.tensor_type().is_some_and(|ty| ty.dtype.is_float());
        match term.form() {
            Form::Call(Fun::Cast(to), args)
                if self.sense == Sense::Reals && to.is_float() && is_float(&args[0]) =>
            {
                self.seen(&args[0])
            }
            _ => term,
        }
    }

    fn types(&self, a: &Type, b: &Type) -> bool {
        match (a, b) {
            (Type::Size, Type::Size) => true,
            (Type::Tensor(a), Type::Tensor(b)) => a.shape == b.shape && self.dtypes(a.dtype, b.dtype),
            (Type::Tuple(a), Type::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.types(a, b))
            }
            _ => false,
        }
    }

    fn dtypes(&self, a: DType, b: DType) -> bool {
        a == b
            || match self.sense {
                Sense::Movement => true,
                Sense::Reals => a.is_float() && b.is_float(),
                Sense::Residues => a.is_int() && b.is_int() && a.bits() <= b.bits(),
            }
    }
}

/// Whether the low bits of what the function gives are a matter of the low bits of what it is
/// given.
fn is_of_low_bits(fun: Scalar) -> bool {
    use Scalar::*;
    matches!(fun, Add | Sub | Mul | Neg | BitwiseAnd | BitwiseOr | BitwiseXor | BitwiseNot)
}

/// Whether each term has the type of its fellow.
fn all_plain(a: &[Term], b: &[Term]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.ty() == b.ty())
}

fn same_binders(a: &[Binder], b: &[Binder]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(p, q)| p.sym == q.sym && p.extent == q.extent)
}

#[cfg(test)]
mod tests;
