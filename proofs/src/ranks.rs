//! How many axes decide a claim that looks inside its rank variables.
//!
//! Note [Sufficient ranks]. Take a claim whose uniform elaboration (Note [Uniform
//! elaboration]) exists. Its instance of rank r >= 1 is that elaboration with lists written
//! out: an entry that stands for many axes is a list e(a) of r entries, where a is an axis
//! and e(a) depends on the sizes and indices of a and on what belongs to no axis; and a
//! condition on every axis is one on all a. Assume further, as is checked here, that
//!
//! 1. every obligation of both sides follows for one axis from what is required of it, from
//!    the ranges and from the conditions on every axis on its path. So at rank r >= 1 both
//!    sides evaluate without an error, and the right side fails nowhere;
//! 2. what is required is of sizes: conditions without an axis, conditions on every axis,
//!    and denials of such (`not inside(A, S)`: some axis), d of them;
//! 3. an element of either side, unfolded at the index i of the result, is made of scalar
//!    functions, literals, sizes without an axis, `if`, reductions over ranges without an
//!    axis (by any monoid, its laws unused), conditions on every axis ("guards"), and reads of parameters in which an axis
//!    stands for itself: the entries at its place mention it, the others do not. The index of
//!    a reduction occurs in neither guards nor entries of axes. A result is one tensor;
//! 4. all rank variables are tied to each other by entries that mention two of them, or by an
//!    index of one that reads an axis of another. Tuples of different lengths do not meet, so
//!    that a well-typed instance gives them the same number of axes.
//!
//! Lemma (dropping an axis). Take an input of rank r >= 1 that meets what is required, an
//! index i of the result, and a set K of axes, not empty, with a place for
//! * each denial of (2): an axis at which the denied condition fails;
//! * each guard that is looked at and false: an axis at which it fails;
//! * each parameter x of which the two elements read m > 0 different entries of axes:
//!   m - 1 axes that tell apart those of the m tuples e_1 .. e_m that differ at i. So many
//!   are enough: while two different tuples agree on the chosen axes, choose one at which they
//!   differ; each choice makes the classes of tuples that agree one more, and there are at
//!   most m classes.
//!
//! Keep the axes of K only: their sizes, the entries of i at them, and all that belongs to no
//! axis. Let x' be a tensor of the kept shape with x'[e_j(K), p] = x[e_j, p] for every p of
//! the other axes. This is no contradiction: tuples that agree on K are equal. Elsewhere x'
//! is anything. Then the input meets what is required: conditions without an axis are the
//! same, those on every axis hold of fewer axes, and each denial keeps its axis. The indices
//! stay in range. Guards that were true are true of fewer axes, and those that were false keep
//! an axis at which they are. By (3) both elements are computed from the same numbers as
//! before, step by step, in any domain of numbers: the same branches, the same sizes, the same
//! elements. So their values are what they were. An axis beyond these may be kept at will.
//!
//! Theorem. Let k be the greatest number of places that the lemma asks for, over all ways in
//! which guards can come out, and K = max(1, k). If the claim holds at ranks 0 to K, it holds
//! at every rank. Let r > K, and an input of rank r be given. By (1) no side fails. If
//! the shapes differ, they do so at one axis, or beside the axes: keep that one and any others,
//! K in all. Shapes would differ at rank K, where they do not. If the values differ at i, keep
//! the places of the lemma and any others, K in all: by the lemma the values differ at rank K,
//! where both sides are defined. Dtypes are those of the uniform elaboration; whether a result
//! hands elements of a parameter on is a matter of its form, which is the same at rank 1.
//!
//! Ways in which guards can come out are told apart by cases, a guard at a time, of those
//! that the rest looks at. A case in which both elements are the same term needs no axes: no
//! counterexample has it. Nor has one that contradicts what is known of one axis. What needs
//! counting, position or sums inside a rank variable has no uniform elaboration, or breaks
//! (3): `numel`, `rank`, `linear`, `unravel`, `reshape`, numbers of axes, `permute`, indices of
//! the axes as numbers. Reductions over the axes break it too, but where they meet another one
//! that is the same at every rank: Note [Reductions over axes].

mod reindex;
#[cfg(test)]
mod tests;

use crate::choices::DTypes;
use crate::instances::TESTED_RANKS;
use rtv_grammar::ast::{Def, DefKind, Item, ItemKind};
use rtv_grammar::lower::{Defs, Lower, Schema, every_axis};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::defined::{Guard, definedness};
use rtv_semantics::diag::Diagnostic;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::normal::normalize;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::simplify;
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::{Fresh, children};
use rtv_semantics::term::{Form, Fun, Lit, Reduce, Term, Var};
use rtv_semantics::types::Type;
use rtv_semantics::unfold::{Limits, element, fresh_index, index_terms};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Begins what is said of a claim that some ranks decide.
pub const FROM_RANKS: &str = "any rank, by ranks";

/// More cases of guards than this are not looked at.
const MAX_CASES: usize = 256;

/// The ranks that decide a claim about any rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sufficient {
    /// The axes that a counterexample needs at most.
    pub axes: usize,
}

impl Sufficient {
    /// Ranks 0 to this one.
    pub fn most(self) -> usize {
        self.axes.max(1)
    }
}

impl fmt::Display for Sufficient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes = match self.axes {
            0 => "no axis".to_string(),
            1 => "at most 1 axis".to_string(),
            n => format!("at most {n} axes"),
        };
        write!(f, "{FROM_RANKS} 0 to {}: a counterexample needs {axes}", self.most())
    }
}

/// The ranks that decide a claim which looks inside its rank variables.
///
/// # Errors
/// Why no number of ranks is known to be enough.
pub fn sufficient(
    item: &Item,
    defs: &Defs,
    engine: &dyn Entails,
    dtypes: &[DTypes],
) -> Result<Sufficient, String> {
    let decomp = |def: &Def| matches!(def.kind, DefKind::Decomp { .. });
    if !matches!(&item.kind, ItemKind::Rule(_)) && !matches!(&item.kind, ItemKind::Def(def) if decomp(def)) {
        return Err("it is neither a rule nor a decomposition".into());
    }
    let mut axes = 0;
    for dtypes in dtypes {
        let mut lower = Lower::new(defs, engine);
        let schema = lower.schema(item, dtypes);
        let found = lower.take_diagnostics();
        match schema {
            Some(schema) if !found.iter().any(Diagnostic::is_error) => {
                axes = axes.max(Uniform::of(&schema, engine).axes()?);
            }
            _ => return Err(found.first().map_or("no axis is possible".into(), |d| d.message.clone())),
        }
    }
    let most = TESTED_RANKS[TESTED_RANKS.len() - 1];
    let found = Sufficient { axes };
    if found.most() > most { Err(format!("it needs ranks up to {}", found.most())) } else { Ok(found) }
}

type Counted<T> = Result<T, String>;

/// The different tuples of entries of axes at which each parameter is read.
type Reads = BTreeMap<Var, BTreeSet<Vec<Size>>>;

/// A claim about one axis that stands for all.
struct Uniform<'a> {
    schema: &'a Schema,
    engine: &'a dyn Entails,
    fresh: Fresh,
    /// The sizes and indices of the axis.
    own: BTreeSet<Sym>,
    /// Those, and the others that are the same for a whole element.
    outer: BTreeSet<Sym>,
    /// What is mentioned together.
    ties: Vec<BTreeSet<Sym>>,
    cases: usize,
}

/// What is known of one axis, and which guards have come out how.
#[derive(Clone)]
struct Case {
    facts: Vec<Cond>,
    /// Each as what it says of one axis.
    decided: Vec<(Cond, bool)>,
    places: usize,
}

impl<'a> Uniform<'a> {
    fn of(schema: &'a Schema, engine: &'a dyn Entails) -> Uniform<'a> {
        let claim = &schema.claim;
        let conditions = claim.requires.iter().map(|r| &r.cond);
        let mut fresh = Fresh::above([&claim.lhs, &claim.rhs].into_iter().chain(conditions));
        let highest = claim.syms.iter().map(Sym::id).max().unwrap_or(0);
        while fresh.id() <= highest {}
        let own = claim.syms.iter().filter(|s| s.kind() == SymKind::Group).cloned().collect();
        let outer = claim.syms.iter().cloned().collect();
        Uniform { schema, engine, fresh, own, outer, ties: Vec::new(), cases: 0 }
    }

    /// The axes that a counterexample needs at most.
    fn axes(mut self) -> Counted<usize> {
        let claim = &self.schema.claim;
        let denials = self.denials()?;
        let (Type::Tensor(left), Type::Tensor(right)) = (claim.lhs.ty(), claim.rhs.ty()) else {
            return Err("the result is not one tensor".into());
        };
        let same = left.shape.len() == right.shape.len() && left.dtype == right.dtype;
        let mut extents = left.shape.iter().zip(&right.shape);
        if !same || extents.any(|(m, n)| self.is_own(m) != self.is_own(n)) {
            return Err("the sides have different types".into());
        }
        self.evaluates(&claim.lhs)?;
        self.evaluates(&claim.rhs)?;
        let index = fresh_index(&left.shape, &mut self.fresh);
        let mut facts = claim.facts.clone();
        for binder in &index {
            let (at, extent) = (Size::sym(&binder.sym), &binder.extent);
            self.outer.insert(binder.sym.clone());
            if self.is_own(extent) {
                self.own.insert(binder.sym.clone());
            }
            facts.push(Cond::lt(&at, extent));
        }
        facts.iter().for_each(|fact| self.tie_cond(fact));
        let at = index_terms(&index, claim.span);
        let side = |side: &Term, fresh: &mut Fresh| {
            element(side, &at, fresh, Limits::default()).map_err(|e| e.to_string())
        };
        let (left, right) = (side(&claim.lhs, &mut self.fresh)?, side(&claim.rhs, &mut self.fresh)?);
        let case = Case { facts, decided: Vec::new(), places: denials };
        let axes = self.case(&left, &right, case)?;
        self.tied()?;
        Ok(axes)
    }

    /// The preconditions that deny a condition on every axis: there are no others beside the
    /// facts.
    fn denials(&mut self) -> Counted<usize> {
        for require in &self.schema.claim.requires {
            let cond = element(&require.cond, &[], &mut self.fresh, Limits::default());
            let denied = match cond.map_err(|e| e.to_string())?.form() {
                Form::Call(Fun::Scalar(Scalar::LogicalNot), args) => self.guard(&args[0]),
                _ => None,
            };
            match denied {
                Some(cond) => self.tie_cond(&cond),
                None => return Err(format!("`{}` is about data", require.text)),
            }
        }
        Ok(self.schema.claim.requires.len())
    }

    /// Whether an expression belongs to the axis.
    fn is_own(&self, size: &Size) -> bool {
        size.syms().iter().any(|sym| self.own.contains(sym))
    }

    /// What a condition on every axis says of one.
    fn guard(&self, term: &Term) -> Option<Cond> {
        let guard = matches!(term.form(), Form::Reduce(_));
        every_axis(term, &self.schema.axes).filter(|_| guard)
    }

    /// Every obligation of a side holds, of every axis at any rank that has one.
    fn evaluates(&mut self, side: &Term) -> Counted<()> {
        let needs = definedness(side, &mut self.fresh, Limits::default()).map_err(|e| e.to_string())?;
        for need in needs {
            let mut facts = self.schema.claim.facts.clone();
            facts.extend(need.facts());
            facts.extend(need.path.iter().filter_map(|guard| match guard {
                Guard::Holds(term) => every_axis(term, &self.schema.axes),
                Guard::Index(_) => None,
            }));
            let goal = every_axis(&need.need, &self.schema.axes);
            match goal.filter(|goal| self.engine.entails(&facts, goal)) {
                Some(goal) => self.tie_cond(&goal),
                None => return Err(format!("a side may fail: it is not shown that {}", need.text)),
            }
        }
        Ok(())
    }

    /// The places that a counterexample needs in a case, at most.
    fn case(&mut self, left: &Term, right: &Term, case: Case) -> Counted<usize> {
        self.cases += 1;
        if self.cases > MAX_CASES {
            return Err(format!("more than {MAX_CASES} cases"));
        }
        let (left, right) = (self.chosen(left, &case), self.chosen(right, &case));
        match self.open(&left).or_else(|| self.open(&right)) {
            Some(cond) => {
                let mut syms = BTreeSet::new();
                cond.collect_syms(&mut syms);
                if !syms.is_subset(&self.outer) {
                    return Err("a condition on its axes depends on an index of a reduction".into());
                }
                self.tie_cond(&cond);
                let mut places = 0;
                for truth in [true, false] {
                    if let Some(case) = self.narrowed(&case, &cond, truth) {
                        places = places.max(self.case(&left, &right, case)?);
                    }
                }
                Ok(places)
            }
            None => self.told_apart(&left, &right, &case),
        }
    }

    /// The case in which a guard comes out so, unless what is known of one axis denies it.
    fn narrowed(&self, case: &Case, cond: &Cond, truth: bool) -> Option<Case> {
        let mut narrowed = case.clone();
        narrowed.decided.push((cond.clone(), truth));
        if truth {
            narrowed.facts.push(cond.clone());
            let possible = !self.engine.entails(&narrowed.facts, &Cond::False);
            return possible.then_some(narrowed);
        }
        narrowed.places += 1;
        (!self.engine.entails(&case.facts, cond)).then_some(narrowed)
    }

    /// A guard that is not decided, as what it says of one axis. Those of a reduction over
    /// the axes are its own.
    fn open(&self, term: &Term) -> Option<Cond> {
        match (self.guard(term), term.form()) {
            (Some(cond), _) => Some(cond),
            (None, Form::Reduce(Reduce { binders, .. }))
                if binders.iter().any(|b| self.is_own(&b.extent)) =>
            {
                None
            }
            (None, _) => children(term).into_iter().find_map(|child| self.open(child)),
        }
    }

    /// The term with the guards of a case decided, and the branches that they choose.
    fn chosen(&self, term: &Term, case: &Case) -> Term {
        let span = term.span();
        let bool = |truth| Term::bool(truth, span);
        let again = |term: &Term| self.chosen(term, case);
        if let Some(cond) = self.guard(term) {
            let found = case.decided.iter().find(|(guard, _)| *guard == cond);
            return found.map_or(term.clone(), |(_, truth)| bool(*truth));
        }
        match term.form() {
            Form::If(c, a, b) => match again(c) {
                c if is_truth(&c, true) => again(a),
                c if is_truth(&c, false) => again(b),
                c => Term::if_(c, again(a), again(b), span),
            },
            Form::Call(Fun::Scalar(fun), args) => {
                let args: Vec<Term> = args.iter().map(again).collect();
                connective(*fun, &args).unwrap_or_else(|| Term::scalar(*fun, args, span))
            }
            Form::Call(Fun::Cast(dtype), args) => Term::cast(*dtype, again(&args[0]), span),
            Form::Read(base, index) => Term::read(base.clone(), index.iter().map(again).collect(), span),
            Form::Reduce(Reduce { op, binders, body }) => {
                Term::reduce(op.clone(), binders.clone(), again(body), span)
            }
            _ => term.clone(),
        }
    }

    /// The places where all guards are decided.
    fn told_apart(&mut self, left: &Term, right: &Term, case: &Case) -> Counted<usize> {
        if self.alike(left, right, &case.facts) {
            return Ok(0);
        }
        let mut reads = Reads::default();
        for side in [left, right] {
            self.reads(side, &case.facts, &mut reads)?;
        }
        let left = normalize(left, &case.facts, self.engine);
        let right = normalize(right, &case.facts, self.engine);
        if alpha_eq(&left, &right) {
            return Ok(0);
        }
        Ok(case.places + reads.values().map(|entries| entries.len() - 1).sum::<usize>())
    }

    /// Collects the entries of axes that parameters are read at, and checks that nothing else
    /// belongs to the axis.
    fn reads(&mut self, term: &Term, facts: &[Cond], found: &mut Reads) -> Counted<()> {
        match term.form() {
            Form::Size(size) if self.is_own(size) => {
                Err("an index or extent of one of its axes is taken as a number".into())
            }
            Form::Size(_) | Form::Lit(_) => Ok(()),
            Form::Var(_) if term.is_scalar() => Ok(()),
            Form::Call(Fun::Scalar(_) | Fun::Cast(_), args) => {
                args.iter().try_for_each(|arg| self.reads(arg, facts, found))
            }
            Form::If(c, a, b) => [c, a, b].into_iter().try_for_each(|t| self.reads(t, facts, found)),
            Form::Reduce(Reduce { binders, body, .. }) => {
                if binders.iter().any(|b| self.is_own(&b.extent)) {
                    return Err("a reduction runs over its axes".into());
                }
                self.reads(body, facts, found)
            }
            Form::Read(base, index) => match base.form() {
                Form::Var(var) => self.read(var, base.shape(), index, facts, found),
                _ => Err("a read of what is no parameter".into()),
            },
            _ => Err("a form that is not understood".into()),
        }
    }

    fn read(
        &mut self,
        var: &Var,
        shape: &[Size],
        index: &[Term],
        facts: &[Cond],
        found: &mut Reads,
    ) -> Counted<()> {
        let mut entries = Vec::new();
        for (at, extent) in index.iter().zip(shape) {
            if !self.is_own(extent) {
                self.reads(at, facts, found)?;
                continue;
            }
            let Some(entry) = at.as_size().filter(|entry| self.is_own(entry)) else {
                return Err("one of its axes is read at what does not belong to it".into());
            };
            if !entry.syms().is_subset(&self.outer) {
                return Err("an index of a reduction is mixed with one of its axes".into());
            }
            self.ties.push(&entry.syms() | &extent.syms());
            entries.push(simplify::size(entry, facts, self.engine));
        }
        found.entry(var.clone()).or_default().insert(entries);
        Ok(())
    }

    fn tie_cond(&mut self, cond: &Cond) {
        let mut syms = BTreeSet::new();
        match cond {
            Cond::And(parts) => return parts.iter().for_each(|part| self.tie_cond(part)),
            other => other.collect_syms(&mut syms),
        }
        self.ties.push(syms);
    }

    /// Whether all rank variables have the same number of axes wherever the rule has types.
    fn tied(&self) -> Counted<()> {
        let mut groups = self.own.iter().filter(|sym| sym.kind() == SymKind::Group);
        let Some(first) = groups.next() else { return Err("there is no rank variable".into()) };
        let mut reached = BTreeSet::from([first.clone()]);
        loop {
            let near = self.ties.iter().filter(|tie| !tie.is_disjoint(&reached)).flatten();
            let more: BTreeSet<Sym> = near.filter(|sym| self.own.contains(sym)).cloned().collect();
            if more.is_subset(&reached) {
                break;
            }
            reached.extend(more);
        }
        match groups.find(|sym| !reached.contains(sym)) {
            Some(apart) => {
                Err(format!("`*{}` and `*{}` may have different ranks", first.name(), apart.name()))
            }
            None => Ok(()),
        }
    }
}

fn is_truth(term: &Term, truth: bool) -> bool {
    matches!(term.form(), Form::Lit(Lit::Bool(value)) if *value == truth)
}

/// A connective of which one operand is known. What depends on data is not dropped, since
/// it may be undefined.
fn connective(fun: Scalar, args: &[Term]) -> Option<Term> {
    let settles = match (fun, args) {
        (Scalar::LogicalNot, [arg]) => {
            let truth = is_truth(arg, true);
            return (truth || is_truth(arg, false)).then(|| Term::bool(!truth, arg.span()));
        }
        (Scalar::LogicalAnd, [_, _]) => false,
        (Scalar::LogicalOr, [_, _]) => true,
        _ => return None,
    };
    let known = args.iter().position(|arg| is_truth(arg, settles) || is_truth(arg, !settles))?;
    let other = &args[1 - known];
    if is_truth(&args[known], !settles) {
        return (other.ty() == &Type::scalar(DType::Bool)).then(|| other.clone());
    }
    other.as_cond().map(|_| args[known].clone())
}
