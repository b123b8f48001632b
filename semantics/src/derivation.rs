//! How one program follows from another by rules: the data of a proof by equations.
//!
//! A derivation is about terms in *operator form* ([`operator_form`]): variables, calls of
//! operators, tuples and their components, and everything else as a chain of `let`s, one for
//! each value it is computed from, around a body that holds no other value. So a term is
//! what its head does to its parts, and equal parts may be put in place of one another.
//!
//! Terms are told by where their head comes from, never as text, so that who reads a
//! derivation builds each of them anew from the program and the rules. Every line states
//! that two terms are equal, and why; it uses lines before it only. The last line is about
//! the program and what it became; without lines it stays what it is. Nothing here is
//! believed: a checker goes through it.

use crate::constant::rounded;
use crate::dtype::DType;
use crate::scalar::Scalar;
use crate::size::Size;
use crate::subst::{FreeCache, Fresh, Subst, children, free_vars, lets};
use crate::term::{Form, Fun, Reduce, Term, Var};
use crate::types::Type;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A proof that two programs are equal.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Derivation {
    /// Each is built from those before it, and from applications of rules to those.
    pub terms: Vec<Built>,
    pub applications: Vec<Application>,
    pub lines: Vec<Line>,
    /// Whether constants of what the program became are put in as they are rounded ([`with_constants_rounded`]), which
    /// is the same bit for bit and not over the reals, so that it comes last.
    pub rounded: bool,
}

/// A term: a head, and the places in [`Derivation::terms`] of what it is applied to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Built {
    pub head: Head,
    pub parts: Vec<usize>,
}

/// A head is that of a term which is known. Paths lead from part to part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Head {
    /// In the operator form of the source program.
    Source(Vec<usize>),
    /// In a side of the rule of an application.
    Side { application: usize, right: bool, path: Vec<usize> },
    /// In the operator form of the body of the operator that the term at a place calls.
    Body { of: usize, path: Vec<usize> },
    /// The literal that the term at a place is equal to: see [`constant`](crate::constant::constant).
    Constant { of: usize },
}

/// A rule at one choice of everything that is open in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Application {
    /// The name of the rule; which file it is of, who uses the derivation knows.
    pub rule: Arc<str>,
    pub dtypes: Vec<(Arc<str>, DType)>,
    /// The number of axes of its rank variables, where it has any.
    pub rank: Option<usize>,
    /// A value for each size of the claim, in the order of [`crate::program::Claim::syms`].
    pub sizes: Vec<Size>,
    /// A term for each parameter that is a value, in the order of the parameters.
    pub values: Vec<usize>,
}

/// Two terms, by place, that are equal.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    pub left: usize,
    pub right: usize,
    pub why: Why,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Why {
    /// They are the sides of the rule of an application, in the order of the rule or in the other one.
    Rule { application: usize, forward: bool },
    /// The left calls an operator, the right is its body.
    Definition,
    /// The left depends on nothing, the right is the literal that it is equal to.
    Constant,
    /// They have one head, and equal parts: by a line each, or as they are the same term.
    Parts(Vec<Option<Used>>),
    /// Lines, each of which begins with the term that the one before it ends with.
    Chain(Vec<Used>),
}

/// A line, read from left to right or from right to left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    pub line: usize,
    pub forward: bool,
}

impl Derivation {
    /// The lines that rewrite anything, in the order in which the program is rewritten, each as it is
    /// read: what is rewritten at several places alike, once.
    pub fn rewriting(&self) -> Vec<Used> {
        let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
        let last = self.lines.len().checked_sub(1);
        let mut open: Vec<Used> = last.map(|line| Used { line, forward: true }).into_iter().collect();
        while let Some(used) = open.pop() {
            if !seen.insert((used.line, used.forward)) {
                continue;
            }
            let inner = |inner: &Used| Used { line: inner.line, forward: inner.forward == used.forward };
            match &self.lines[used.line].why {
                Why::Rule { .. } | Why::Definition | Why::Constant => order.push(used),
                Why::Parts(lines) => open.extend(lines.iter().flatten().rev().map(inner)),
                Why::Chain(lines) if used.forward => open.extend(lines.iter().rev().map(inner)),
                Why::Chain(lines) => open.extend(lines.iter().map(inner)),
            }
        }
        order
    }
}

/// A term in operator form, and whether a value that it does not depend on was left out: that one's
/// errors are gone then.
#[derive(Clone, Debug)]
pub struct OperatorForm {
    pub term: Term,
    pub dropped: bool,
}

/// The operator form of a term whose free variables stand for themselves. Functions without
/// preconditions are put in place of their calls.
pub fn operator_form(term: &Term, fresh: &mut Fresh) -> OperatorForm {
    let mut walk = Walk { fresh, free: FreeCache::default(), dropped: false };
    let term = walk.value(term, &Values::default());
    OperatorForm { term, dropped: walk.dropped }
}

/// The body of the operator that a term calls, in operator form; `None` where it calls none, or one
/// that checks something at entry. An argument is dropped even if it is a variable, which may stand for
/// a value that fails.
pub fn definition(term: &Term, fresh: &mut Fresh) -> Option<OperatorForm> {
    let Form::Call(Fun::Op(instance), args) = term.form() else { return None };
    if !instance.requires.is_empty() {
        return None;
    }
    let mut walk = Walk { fresh, free: FreeCache::default(), dropped: false };
    let free = walk.free.term(&instance.body);
    walk.dropped = instance.params.iter().any(|(var, _)| !free.vars.contains(var));
    let term = walk.value(&instance.body, &bound(&instance.params, args.clone()));
    Some(OperatorForm { term, dropped: walk.dropped })
}

/// What the head of a term in operator form is applied to.
pub fn parts(term: &Term) -> Vec<Term> {
    match term.form() {
        Form::Call(Fun::Op(_) | Fun::Item(_), parts) | Form::Tuple(parts) => parts.clone(),
        Form::Let(..) => lets(term).0.into_iter().map(|(_, value)| value.clone()).collect(),
        _ => Vec::new(),
    }
}

/// The head of a term in operator form, applied to other parts, of the same types.
pub fn with_parts(term: &Term, parts: Vec<Term>) -> Term {
    let span = term.span();
    match term.form() {
        Form::Call(Fun::Op(instance), _) => Term::call(instance.clone(), parts, span),
        Form::Call(Fun::Item(k), _) => {
            let [tuple] = parts.try_into().expect("invariant: a component is of one tuple");
            Term::item(*k, tuple, span)
        }
        Form::Tuple(_) => Term::tuple(parts, span),
        Form::Let(..) => {
            let (chain, body) = lets(term);
            let vars = chain.into_iter().map(|(var, _)| var);
            vars.zip(parts)
                .rev()
                .fold(body.clone(), |body, (var, part)| Term::let_(var.clone(), part, body, span))
        }
        _ => term.clone(),
    }
}

/// A term in operator form with a `let` for each of its operations, so that none is written, or run, as
/// often as it is used.
pub fn in_lets(term: &Term, fresh: &mut Fresh) -> Term {
    let mut named: BTreeMap<usize, Term> = BTreeMap::new();
    let mut chain: Vec<(Var, Term)> = Vec::new();
    let mut open = vec![term.clone()];
    while let Some(next) = open.last().cloned() {
        let missing: Vec<Term> =
            parts(&next).into_iter().filter(|part| !named.contains_key(&part.address())).collect();
        if named.contains_key(&next.address()) {
            open.pop();
        } else if missing.is_empty() {
            let operands: Vec<Term> =
                parts(&next).iter().map(|part| named[&part.address()].clone()).collect();
            let operation = if operands.is_empty() { next.clone() } else { with_parts(&next, operands) };
            let value = match operation.form() {
                Form::Var(_) | Form::Lit(_) | Form::Size(_) => operation,
                _ => {
                    let var = fresh.var(&Var { id: 0, name: "t".into() });
                    let named = Term::var(var.clone(), operation.ty().clone(), operation.span());
                    chain.push((var, operation));
                    named
                }
            };
            named.insert(next.address(), value);
            open.pop();
        }
        open.extend(missing);
    }
    let result = named[&term.address()].clone();
    chain.into_iter().rev().fold(result, |body, (var, value)| {
        let span = value.span();
        Term::let_(var, value, body, span)
    })
}

/// A body with a `let` for each operation where scalars that are computed from literals, also inside of
/// comprehensions, are the literals that they are [`rounded`] to; and these, each behind what it was.
pub fn with_constants_rounded(body: &Term, fresh: &mut Fresh) -> (Term, Vec<[Term; 2]>) {
    let (mut known, mut constants, mut kept) = (Subst::new(), Vec::new(), Vec::new());
    let (chain, result) = lets(body);
    for (var, value) in chain {
        let value = rounded_inside(&known.term(value, fresh), &mut constants);
        match value.form() {
            Form::Lit(_) => known = known.with_var(var, value),
            _ => kept.push((var, value)),
        }
    }
    let result = rounded_inside(&known.term(result, fresh), &mut constants);
    let body = kept.into_iter().rev().fold(result, |body, (var, value)| {
        let span = value.span();
        Term::let_(var.clone(), value, body, span)
    });
    (body, constants)
}

/// A term with the scalars in it that are computed from literals rounded, but for those in bodies of operators.
fn rounded_inside(term: &Term, constants: &mut Vec<[Term; 2]>) -> Term {
    if let Some(literal) = rounded(term) {
        constants.push([term.clone(), literal.clone()]);
        return literal;
    }
    let span = term.span();
    let mut inside = |part: &Term| rounded_inside(part, constants);
    match term.form() {
        Form::Call(Fun::Scalar(fun), args) => Term::scalar(*fun, args.iter().map(inside).collect(), span),
        Form::Call(Fun::Cast(to), args) if args[0].is_scalar() => Term::cast(*to, inside(&args[0]), span),
        Form::If(cond, then, other) => Term::if_(inside(cond), inside(then), inside(other), span),
        Form::Comp(binders, body) => Term::comp(binders.clone(), inside(body), span),
        Form::Let(var, value, body) => Term::let_(var.clone(), inside(value), inside(body), span),
        Form::Reduce(Reduce { op, binders, body }) => {
            Term::reduce(op.clone(), binders.clone(), inside(body), span)
        }
        _ => term.clone(),
    }
}

/// What variables in scope stand for, in operator form.
#[derive(Clone, Default)]
struct Values(FxHashMap<Var, Term>);

struct Walk<'a> {
    fresh: &'a mut Fresh,
    /// Of what is walked, and not of what is built.
    free: FreeCache,
    dropped: bool,
}

impl Walk<'_> {
    fn value(&mut self, term: &Term, values: &Values) -> Term {
        let span = term.span();
        match term.form() {
            Form::Var(v) => values.0.get(v).unwrap_or(term).clone(),
            Form::Let(..) => {
                let (chain, body) = lets(term);
                let mut used = self.free.term(body).vars.clone();
                for (var, value) in chain.iter().rev() {
                    if used.contains(*var) {
                        used.extend(self.free.term(value).vars.iter().cloned());
                    } else {
                        self.dropped |= !is_at_hand(value);
                    }
                }
                let mut inner = values.clone();
                for (var, value) in &chain {
                    let value = self.value(value, &inner);
                    inner.0.insert((*var).clone(), value);
                }
                self.value(body, &inner)
            }
            Form::Call(Fun::Op(instance), args) => {
                let args: Vec<Term> = args.iter().map(|arg| self.value(arg, values)).collect();
                if instance.is_op || !instance.requires.is_empty() {
                    return Term::call(instance.clone(), args, span);
                }
                let free = self.free.term(&instance.body);
                let unused =
                    instance.params.iter().zip(&args).filter(|((var, _), _)| !free.vars.contains(var));
                self.dropped |= unused.into_iter().any(|(_, arg)| !is_at_hand(arg));
                self.value(&instance.body, &bound(&instance.params, args))
            }
            Form::Call(Fun::Item(k), args) => {
                let tuple = self.value(&args[0], values);
                // Of a tuple that is at hand the other components are gone.
                self.dropped |= matches!(tuple.form(), Form::Tuple(all) if all.len() > 1);
                Term::item(*k, tuple, span)
            }
            Form::Tuple(parts) => {
                Term::tuple(parts.iter().map(|part| self.value(part, values)).collect(), span)
            }
            _ => self.opaque(term, values),
        }
    }

    /// What is no operator, as a body under a `let` for each value that it is computed from: the
    /// operands of a strict function of scalars, and variables, in the order in which they occur.
    fn opaque(&mut self, term: &Term, values: &Values) -> Term {
        let span = term.span();
        let mut chain = Vec::new();
        let body = match term.form() {
            Form::Call(fun, args) if !matches!(fun, Fun::Scalar(Scalar::LogicalAnd | Scalar::LogicalOr)) => {
                let args = args.iter().map(|arg| self.operand(arg, values, &mut chain)).collect();
                match fun {
                    Fun::Scalar(f) => Term::scalar(*f, args, span),
                    Fun::Cast(dtype) => Term::cast(*dtype, args[0].clone(), span),
                    Fun::Combine(monoid) => {
                        Term::combine(monoid.clone(), args[0].clone(), args[1].clone(), span)
                    }
                    Fun::Op(_) | Fun::Item(_) => {
                        unreachable!("invariant: operators and components are no scalars")
                    }
                }
            }
            Form::Read(base, index) => {
                let base = self.operand(base, values, &mut chain);
                Term::read(base, index.clone(), span)
            }
            _ => term.clone(),
        };
        let mut subst = Subst::new();
        for occurrence in occurrences(&body) {
            let Form::Var(var) = occurrence.form() else { continue };
            if !chain.iter().any(|(hole, _)| hole == var) {
                subst = subst.with_var(var, self.hole(&occurrence, values, &mut chain));
            }
        }
        let body = if subst.is_empty() { body } else { subst.term(&body, self.fresh) };
        chain.into_iter().rev().fold(body, |body, (var, value)| Term::let_(var, value, body, span))
    }

    /// An operand of a body: itself if it is made of no value.
    fn operand(&mut self, term: &Term, values: &Values, chain: &mut Vec<(Var, Term)>) -> Term {
        if free_vars(term).is_empty() && !matches!(term.form(), Form::Call(Fun::Op(_), _)) {
            return term.clone();
        }
        self.hole(term, values, chain)
    }

    fn hole(&mut self, term: &Term, values: &Values, chain: &mut Vec<(Var, Term)>) -> Term {
        let var = self.fresh.var(&Var { id: 0, name: "v".into() });
        let value = self.value(term, values);
        chain.push((var.clone(), value));
        Term::var(var, term.ty().clone(), term.span())
    }
}

/// The parameters of a definition with what they stand for.
fn bound(params: &[(Var, Type)], args: Vec<Term>) -> Values {
    Values(params.iter().map(|(var, _)| var.clone()).zip(args).collect())
}

/// Whether a value is there without being computed, so that nothing can fail. An integer may be one
/// that its dtype does not hold.
fn is_at_hand(term: &Term) -> bool {
    match term.form() {
        Form::Var(_) => true,
        Form::Lit(_) => !term.dtype().is_int(),
        Form::Call(Fun::Item(_), args) => is_at_hand(&args[0]),
        _ => false,
    }
}

/// The variables free in a term, each where it occurs first.
fn occurrences(term: &Term) -> Vec<Term> {
    let free = free_vars(term);
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    let (mut open, mut seen) = (vec![term], BTreeSet::new());
    while let Some(term) = open.pop() {
        if !seen.insert(term.address()) {
            continue;
        }
        if let Form::Var(var) = term.form()
            && free.contains(var)
            && known.insert(var)
        {
            found.push(term.clone());
        }
        open.extend(children(term).into_iter().rev());
    }
    found
}
