//! Two scalar terms have the same bits wherever both are free of errors: by walking them
//! together.
//!
//! Heads must be the same, up to what the language says of bits: the order of operands
//! that commute, of binders that may be exchanged, conversions that change nothing,
//! conditions that the facts decide. Sizes must be equal under the facts. Where heads
//! differ among integers and bools, the solvers are asked (see `scalar.rs`).
//!
//! Bound indices: each side has a list of what its bound symbols stand for, in symbols
//! that both sides share, so that no term is rewritten.

use super::Check;
use super::text::divisors;
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::{Subst, free_vars};
use rtv_semantics::term::{Binder, Form, Fun, Lit, Monoid, Reduce, Term};
use rtv_semantics::types::Type;

/// Terms are walked so deep.
const MAX_DEPTH: u32 = 400;

/// Binders that are tried in every order.
const PERMUTED: usize = 4;

/// What bound symbols of the two sides stand for.
#[derive(Clone, Default)]
pub struct Names {
    pub left: Subst,
    pub right: Subst,
}

impl Check<'_, '_> {
    /// Whether the sides agree under the facts, bound names aside.
    pub fn agree(&mut self, a: &Term, b: &Term, facts: &[Cond]) -> bool {
        self.same(a, b, &Names::default(), facts)
    }

    pub fn same(&mut self, a: &Term, b: &Term, names: &Names, facts: &[Cond]) -> bool {
        if !self.step() || self.depth >= MAX_DEPTH {
            return false;
        }
        self.depth += 1;
        let same = self.same_here(a, b, names, facts);
        self.depth -= 1;
        same
    }

    fn same_here(&mut self, a: &Term, b: &Term, names: &Names, facts: &[Cond]) -> bool {
        if a.address() == b.address() && names.left.is_empty() && names.right.is_empty() {
            return true;
        }
        let a = self.chosen(a, &names.left, facts);
        let b = self.chosen(b, &names.right, facts);
        if !of_one_kind(&a, &b) {
            return false;
        }
        self.alike(&a, &b, names, facts)
            || self.reduced(&a, &b, names, facts)
            || self.branches(&a, &b, names, facts)
            || self.scalars(&a, &b, names, facts)
    }

    /// The term behind conditions on sizes that the facts decide.
    fn chosen(&mut self, term: &Term, names: &Subst, facts: &[Cond]) -> Term {
        let mut term = term.clone();
        while let Form::If(cond, then, other) = term.form() {
            let Some(sizes) = cond.as_cond().map(|cond| names.cond(&cond)) else {
                match self.constant(cond, names, facts) {
                    Some(truth) => term = if truth { then.clone() } else { other.clone() },
                    None => break,
                }
                continue;
            };
            let cond = sizes;
            term = match (self.holds(facts, &cond), cond) {
                (true, _) => then.clone(),
                (false, cond) if self.holds(facts, &cond.clone().negated()) => other.clone(),
                _ => break,
            };
        }
        term
    }

    /// The truth value of a condition without parameters, if the solver finds it.
    fn constant(&mut self, cond: &Term, names: &Subst, facts: &[Cond]) -> Option<bool> {
        if !free_vars(cond).is_empty() {
            return None;
        }
        let names = Names { left: names.clone(), right: Subst::new() };
        [true, false].into_iter().find(|truth| {
            let literal = Term::bool(*truth, cond.span());
            self.scalars(cond, &literal, &names, facts)
        })
    }

    fn alike(&mut self, a: &Term, b: &Term, names: &Names, facts: &[Cond]) -> bool {
        match (a.form(), b.form()) {
            (Form::Size(p), Form::Size(q)) => {
                let equal = Cond::eq(&names.left.size(p), &names.right.size(q));
                self.holds(facts, &equal)
            }
            (Form::Lit(a), Form::Lit(b)) => a == b,
            (Form::Var(v), Form::Var(w)) => v == w && alpha_eq(a, b),
            (Form::Call(Fun::Item(j), x), Form::Call(Fun::Item(k), y)) => {
                j == k && self.all_same(x, y, names, facts)
            }
            (Form::Read(x, i), Form::Read(y, j)) => {
                i.len() == j.len()
                    && self.same(x, y, names, facts)
                    && i.iter().zip(j).all(|(i, j)| self.same_index(i, j, names, facts))
            }
            (Form::Call(Fun::Cast(to), x), Form::Call(Fun::Cast(other), y)) => {
                to == other && self.all_same(x, y, names, facts)
            }
            (Form::Call(Fun::Cast(to), x), Form::Lit(lit)) => self.is_number(x, *to, lit, &names.left, facts),
            (Form::Lit(lit), Form::Call(Fun::Cast(to), x)) => {
                self.is_number(x, *to, lit, &names.right, facts)
            }
            (Form::Call(Fun::Scalar(f), x), Form::Call(Fun::Scalar(g), y)) => {
                self.same_call((*f, x), (*g, y), names, facts)
            }
            (Form::Call(Fun::Combine(m), x), Form::Call(Fun::Combine(n), y)) => {
                m == n && self.all_same(x, y, names, facts)
            }
            (Form::Tuple(x), Form::Tuple(y)) => self.all_same(x, y, names, facts),
            (Form::If(c, x, y), Form::If(d, v, w)) => {
                self.same(c, d, names, facts) && {
                    let given = |truth| [facts, &known(c, truth, &names.left)].concat();
                    self.same(x, v, names, &given(true)) && self.same(y, w, names, &given(false))
                }
            }
            (Form::Reduce(x), Form::Reduce(y)) => self.same_reduction(x, y, names, facts),
            _ => false,
        }
    }

    /// A reduction, or a component of one, against what it comes to.
    fn reduced(&mut self, a: &Term, b: &Term, names: &Names, facts: &[Cond]) -> bool {
        let swapped = || Names { left: names.right.clone(), right: names.left.clone() };
        match (reduction_of(a), reduction_of(b)) {
            (Some(_), Some(_)) | (None, None) => false,
            (Some((x, part)), None) => self.reduced_away(x, part, b, names, facts),
            (None, Some((y, part))) => self.reduced_away(y, part, a, &swapped(), facts),
        }
    }

    /// Whether the conversion of a size is the literal of an integer: a size that a term
    /// knows is a literal there.
    fn is_number(&mut self, of: &[Term], dtype: DType, lit: &Lit, names: &Subst, facts: &[Cond]) -> bool {
        let [Some(size)] = of.iter().map(Term::as_size).collect::<Vec<_>>()[..] else { return false };
        let known = lit.as_integer().and_then(|k| i64::try_from(k).ok());
        known.is_some_and(|k| {
            Lit::integer(k, dtype).as_ref() == Some(lit)
                && self.holds(facts, &Cond::eq(&names.size(size), &Size::from(k)))
        })
    }

    fn all_same(&mut self, a: &[Term], b: &[Term], names: &Names, facts: &[Cond]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(a, b, names, facts))
    }

    /// Indices, where an integer scalar may stand for the size that it is.
    fn same_index(&mut self, a: &Term, b: &Term, names: &Names, facts: &[Cond]) -> bool {
        match (a.as_size(), b.as_size()) {
            (Some(_), None) | (None, Some(_)) => self.scalars(a, b, names, facts),
            _ => self.same(a, b, names, facts),
        }
    }

    fn same_call(
        &mut self,
        (f, x): (Scalar, &[Term]),
        (g, y): (Scalar, &[Term]),
        names: &Names,
        facts: &[Cond],
    ) -> bool {
        let mirrored = |fun| match fun {
            Scalar::Gt => Some(Scalar::Lt),
            Scalar::Ge => Some(Scalar::Le),
            Scalar::Lt => Some(Scalar::Gt),
            Scalar::Le => Some(Scalar::Ge),
            _ => None,
        };
        let [v, w] = y else { return f == g && self.all_same(x, y, names, facts) };
        let float = x.first().and_then(dtype).is_some_and(DType::is_float);
        let turned = [w.clone(), v.clone()];
        (f == g && self.all_same(x, y, names, facts))
            || ((f == g && commutes(f, float)) || mirrored(f) == Some(g))
                && self.all_same(x, &turned, names, facts)
    }

    /// A branch against anything: both cases.
    fn branches(&mut self, a: &Term, b: &Term, names: &Names, facts: &[Cond]) -> bool {
        if let Form::If(c, x, y) = a.form() {
            return self.both_branches((c, x, y), b, names, facts, false);
        }
        if let Form::If(c, x, y) = b.form() {
            return self.both_branches((c, x, y), a, names, facts, true);
        }
        false
    }

    fn both_branches(
        &mut self,
        (cond, then, other): (&Term, &Term, &Term),
        whole: &Term,
        names: &Names,
        facts: &[Cond],
        right: bool,
    ) -> bool {
        let own = if right { &names.right } else { &names.left };
        // An undefined condition makes the whole undefined.
        let decided = match cond.as_cond() {
            Some(cond) => self.total(&own.cond(&cond), facts),
            None => always_defined(cond),
        };
        if !decided {
            return false;
        }
        [(then, true), (other, false)].into_iter().all(|(branch, truth)| {
            let given = [facts, &known(cond, truth, own)].concat();
            match right {
                true => self.same(whole, branch, names, &given),
                false => self.same(branch, whole, names, &given),
            }
        })
    }

    /// The same operation over the same elements, in the same order where that counts.
    fn same_reduction(&mut self, a: &Reduce, b: &Reduce, names: &Names, facts: &[Cond]) -> bool {
        let free = exchangeable(&a.op, a.body.ty());
        if a.op != b.op || a.body.ty() != b.body.ty() {
            return false;
        }
        let (left, right) = (self.counted(a, &names.left, facts), self.counted(b, &names.right, facts));
        // The side with more binders is put in order.
        let most = left.len().max(right.len());
        let orders = if free && most <= PERMUTED { permutations(most) } else { Vec::new() };
        let straight: Vec<usize> = (0..most).collect();
        for order in std::iter::once(straight).chain(orders) {
            let ordered = |places: &[usize]| match places.len() == most {
                true => order.iter().map(|&k| places[k]).collect(),
                false => places.to_vec(),
            };
            let (left, right) = match left.len() == most {
                true => (ordered(&left), right.clone()),
                false => (left.clone(), ordered(&right)),
            };
            if let Some((inner, given)) = self.paired((a, &left), (b, &right), names, facts)
                && self.same(&a.body, &b.body, &inner, &given)
            {
                return true;
            }
        }
        false
    }

    /// The binders that run through more than one index, by their places.
    pub fn counted(&mut self, reduce: &Reduce, names: &Subst, facts: &[Cond]) -> Vec<usize> {
        let (mut kept, mut names, mut given) = (Vec::new(), names.clone(), facts.to_vec());
        for (at, Binder { sym, extent }) in reduce.binders.iter().enumerate() {
            let extent = names.size(extent);
            let index = match self.holds(&given, &Cond::eq(&extent, &Size::one())) {
                true => Size::zero(),
                false => {
                    kept.push(at);
                    self.index(sym, &extent, &mut given)
                }
            };
            names = names.with_size(sym, index);
        }
        kept
    }

    /// What the binders at these places stand for if the left ones run through the right
    /// ones: one by one, or several through one that is as long as they are together. The
    /// other binders stand at their only index.
    fn paired(
        &mut self,
        (a, left): (&Reduce, &[usize]),
        (b, right): (&Reduce, &[usize]),
        names: &Names,
        facts: &[Cond],
    ) -> Option<(Names, Vec<Cond>)> {
        let (mut inner, mut given) = (names.clone(), facts.to_vec());
        for (names, reduce, counted) in [(&mut inner.left, a, left), (&mut inner.right, b, right)] {
            for (_, binder) in reduce.binders.iter().enumerate().filter(|(at, _)| !counted.contains(at)) {
                *names = std::mem::take(names).with_size(&binder.sym, Size::zero());
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < left.len() || j < right.len() {
            let (x, y) = (&a.binders[*left.get(i)?], &b.binders[*right.get(j)?]);
            // An extent must not use an index that comes later in this order.
            let waits = |b: &Binder, reduce: &Reduce, open: &[usize]| {
                open.iter().any(|&k| b.extent.mentions(&reduce.binders[k].sym))
            };
            if waits(x, a, &left[i..]) || waits(y, b, &right[j..]) {
                return None;
            }
            let (m, n) = (inner.left.size(&x.extent), inner.right.size(&y.extent));
            if self.holds(&given, &Cond::eq(&m, &n)) {
                let index = self.index(&x.sym, &m, &mut given);
                inner.left = inner.left.with_size(&x.sym, index.clone());
                inner.right = inner.right.with_size(&y.sym, index);
                (i, j) = (i + 1, j + 1);
                continue;
            }
            // Several binders of one side through one of the other.
            let rest: Vec<Binder> = left[i..].iter().map(|&k| a.binders[k].clone()).collect();
            let others: Vec<Binder> = right[j..].iter().map(|&k| b.binders[k].clone()).collect();
            if let Some((count, whole)) = self.joined(&rest, &n, &mut inner.left, &mut given) {
                inner.right = inner.right.with_size(&y.sym, whole);
                (i, j) = (i + count, j + 1);
            } else if let Some((count, whole)) = self.joined(&others, &m, &mut inner.right, &mut given) {
                inner.left = inner.left.with_size(&x.sym, whole);
                (i, j) = (i + 1, j + count);
            } else {
                return None;
            }
        }
        Some((inner, given))
    }

    /// How many of the binders run together through a range of this length, none of whose
    /// own is negative, and where in it they are. Entries of rank variables are not taken
    /// apart.
    fn joined(
        &mut self,
        binders: &[Binder],
        extent: &Size,
        names: &mut Subst,
        given: &mut Vec<Cond>,
    ) -> Option<(usize, Size)> {
        let group = |size: &Size| size.syms().iter().any(|sym| sym.kind() == SymKind::Group);
        let extents: Vec<Size> = binders.iter().map(|b| names.size(&b.extent)).collect();
        let count = (2..=binders.len()).find(|count| {
            let product = Size::product(&extents[..*count]);
            !group(extent) && !group(&product) && self.holds(given, &Cond::eq(extent, &product))
        })?;
        let tied = |b: &Binder| binders[..count].iter().any(|other| other.extent.mentions(&b.sym));
        let natural = |size: &Size| self.holds(given, &Cond::non_neg(size.clone()));
        if binders[..count].iter().any(tied) || !extents[..count].iter().all(natural) {
            return None;
        }
        let mut whole = Size::zero();
        for (binder, extent) in binders[..count].iter().zip(&extents) {
            let index = self.index(&binder.sym, extent, given);
            whole = &(&whole * extent) + &index;
            *names = std::mem::take(names).with_size(&binder.sym, index);
        }
        Some((count, whole))
    }

    /// A fresh index below an extent.
    pub fn index(&mut self, like: &Sym, extent: &Size, given: &mut Vec<Cond>) -> Size {
        let index = Size::sym(&self.fresh.sym(like));
        given.push(Cond::within(&Size::zero(), &index, extent));
        index
    }

    /// A reduction over nothing, or over one element, against what is none.
    fn reduced_away(
        &mut self,
        a: &Reduce,
        part: Option<usize>,
        b: &Term,
        names: &Names,
        facts: &[Cond],
    ) -> bool {
        let of = |whole: Term| match part {
            Some(k) => Term::item(k, whole, b.span()),
            None => whole,
        };
        if let Some(few) = a.written_out(&mut self.fresh) {
            return self.same(&of(few), b, names, facts);
        }
        let (mut given, mut inner) = (facts.to_vec(), names.clone());
        for Binder { sym, extent } in &a.binders {
            let extent = inner.left.size(extent);
            if self.holds(&given, &Cond::le(&extent, &Size::zero())) {
                return self.same(&of(a.op.neutral(a.body.ty(), b.span())), b, names, facts);
            }
            let index = self.index(sym, &extent, &mut given);
            inner.left = inner.left.with_size(sym, index);
        }
        // A float sum of one element is not that element.
        let is_element = exchangeable(&a.op, a.body.ty())
            || matches!(a.op, Monoid::Max | Monoid::Min | Monoid::Declared(_));
        if !is_element || !self.counted(a, &names.left, facts).is_empty() {
            return false;
        }
        let first = a.binders.iter().fold(names.left.clone(), |s, b| s.with_size(&b.sym, Size::zero()));
        self.same(&of(a.body.clone()), b, &Names { left: first, right: names.right.clone() }, facts)
    }
}

/// The reduction that a term is, or is a component of.
fn reduction_of(term: &Term) -> Option<(&Reduce, Option<usize>)> {
    match term.form() {
        Form::Reduce(reduce) => Some((reduce, None)),
        Form::Call(Fun::Item(k), args) => match args[0].form() {
            Form::Reduce(reduce) => Some((reduce, Some(*k))),
            _ => None,
        },
        _ => None,
    }
}

/// Scalars of one dtype, or tuples of as many components.
fn of_one_kind(a: &Term, b: &Term) -> bool {
    match (a.ty(), b.ty()) {
        (Type::Tuple(x), Type::Tuple(y)) => x.len() == y.len(),
        (Type::Tuple(_), _) | (_, Type::Tuple(_)) => false,
        _ => dtype(a) == dtype(b),
    }
}

fn dtype(term: &Term) -> Option<DType> {
    term.tensor_type().map(|ty| ty.dtype)
}

/// What a condition says of sizes where it is true, or where it is false.
pub fn known(cond: &Term, truth: bool, names: &Subst) -> Vec<Cond> {
    if let Some(cond) = cond.as_cond() {
        let cond = names.cond(&cond);
        return vec![if truth { cond } else { cond.negated() }];
    }
    match (cond.form(), truth) {
        (Form::Call(Fun::Scalar(Scalar::LogicalAnd), args), true)
        | (Form::Call(Fun::Scalar(Scalar::LogicalOr), args), false) => {
            args.iter().flat_map(|arg| known(arg, truth, names)).collect()
        }
        (Form::Call(Fun::Scalar(Scalar::LogicalNot), args), _) => {
            args.iter().flat_map(|arg| known(arg, !truth, names)).collect()
        }
        _ => Vec::new(),
    }
}

/// `f(x, y)` has the bits of `f(y, x)`: all NaNs are one value, but of two zeros the first
/// is the greatest.
fn commutes(fun: Scalar, float: bool) -> bool {
    use Scalar::*;
    match fun {
        Maximum | Minimum => !float,
        _ => matches!(
            fun,
            Add | Mul | Eq | Ne | LogicalAnd | LogicalOr | LogicalXor | BitwiseAnd | BitwiseOr | BitwiseXor
        ),
    }
}

/// Whether the order of the elements changes no bit.
pub fn exchangeable(op: &Monoid, ty: &Type) -> bool {
    if op.declared().is_some() {
        return false;
    }
    matches!(op, Monoid::Any | Monoid::All) || !ty.as_tensor().is_some_and(|ty| ty.dtype.is_float())
}

/// Whether a scalar never is the undefined value of the reals: it holds nothing that
/// divides, takes a root or a logarithm, and no infinity.
pub fn always_defined(term: &Term) -> bool {
    use Scalar::*;
    let all = |terms: &[Term]| terms.iter().all(always_defined);
    match term.form() {
        Form::Size(size) => divisors(size).is_empty(),
        Form::Lit(lit) => !matches!(lit, Lit::Inf | Lit::NegInf | Lit::Nan),
        Form::Var(_) => true,
        Form::Read(base, index) => matches!(base.form(), Form::Var(_)) && all(index),
        Form::Call(Fun::Item(_), args) => all(args),
        Form::Call(Fun::Cast(_), args) => all(args),
        Form::Call(Fun::Scalar(fun), args) => {
            let integers = args.iter().all(|arg| dtype(arg).is_none_or(|d| !d.is_float()));
            let total = matches!(
                fun,
                Add | Sub
                    | Mul
                    | Neg
                    | Abs
                    | Maximum
                    | Minimum
                    | Eq
                    | Ne
                    | Lt
                    | Le
                    | Gt
                    | Ge
                    | LogicalAnd
                    | LogicalOr
                    | LogicalNot
                    | LogicalXor
            );
            (total || integers) && all(args)
        }
        Form::If(c, x, y) => [c, x, y].into_iter().all(always_defined),
        Form::Reduce(reduce) => {
            reduce.binders.iter().all(|b| divisors(&b.extent).is_empty())
                && dtype(&reduce.body) == Some(DType::Bool)
                && always_defined(&reduce.body)
        }
        _ => false,
    }
}

/// All orders of so many things.
pub fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        all = all
            .iter()
            .flat_map(|order: &Vec<usize>| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, next);
                    longer
                })
            })
            .collect();
    }
    all
}
