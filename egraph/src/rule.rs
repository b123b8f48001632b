//! Rules as the graph uses them: the sides of a proved claim in operator form, as patterns.

use std::collections::BTreeSet;
use std::sync::Arc;

use rtv_semantics::alike::{Sense, alike};
use rtv_semantics::derivation::{operator_form, parts};
use rtv_semantics::diag::Span;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::{Claim, Input, Mode};
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::{Fresh, Subst, children, free_syms};
use rtv_semantics::term::{Form, Fun, Term, Var};
use rtv_semantics::types::Type;

use crate::heads::{HeadId, Heads};

/// A proved rule: its claim at each choice of dtypes and ranks at which it is to be used.
#[derive(Clone, Debug)]
pub struct Rule {
    pub name: Arc<str>,
    /// Where it is stated: `FILE:LINE`.
    pub place: String,
    pub mode: Mode,
    pub claims: Vec<Arc<Prepared>>,
}

/// The first id of symbols and variables of claims: programs have lower ones. Two claims may have the same.
const IDS: u32 = 1 << 29;

/// A claim made ready for graphs, whatever is in them. Its symbols and variables are those of no program.
#[derive(Debug)]
pub struct Prepared {
    pub claim: Arc<Claim>,
    pub syms: Vec<Sym>,
    pub params: Vec<(Var, Type)>,
    pub facts: Vec<Cond>,
    /// Both sides only move data: see Note [Movement] in `semantics`.
    pub moves: bool,
    /// The sides in operator form.
    sides: Result<[Term; 2], Unusable>,
}

/// A claim ready to be matched in one graph.
#[derive(Debug)]
pub struct Instance {
    /// The place of the rule in the list of rules.
    pub rule: usize,
    pub of: Arc<Prepared>,
    pub sides: [Side; 2],
}

/// One side: a tree over heads of the table of patterns.
#[derive(Debug)]
pub struct Side {
    pub pattern: Pattern,
    pub term: Term,
    syms: BTreeSet<Sym>,
    params: BTreeSet<usize>,
}

#[derive(Debug)]
pub enum Pattern {
    /// A parameter of the claim, by its place among those that are values.
    Param(usize),
    Head(HeadId, Vec<Pattern>),
}

/// Why a rule is not used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Unusable {
    /// It has a precondition on values, which nothing here can show.
    Precondition,
    /// A side computes a value that it does not use.
    Dropped,
    /// Axes of a rank variable taken as one.
    AnyRank,
}

impl Unusable {
    pub fn text(self) -> &'static str {
        match self {
            Unusable::Precondition => "a precondition on values",
            Unusable::Dropped => "a value that is computed and not used",
            Unusable::AnyRank => "axes of a rank variable that are taken as one",
        }
    }
}

impl Prepared {
    pub fn new(claim: Arc<Claim>) -> Prepared {
        let mut fresh = Fresh::new(IDS);
        let mut names = Subst::new();
        let mut syms = Vec::new();
        for sym in &claim.syms {
            let own = fresh.sym(sym);
            names = names.with_size(sym, Size::sym(&own));
            syms.push(own);
        }
        let mut params = Vec::new();
        for param in &claim.params {
            if let Input::Value(var, ty) = &param.input {
                let (own, ty) = (fresh.var(var), names.ty(ty));
                names = names.with_var(var, Term::var(own.clone(), ty.clone(), Span::default()));
                params.push((own, ty));
            }
        }
        let sides = sides(&claim, &names, &mut fresh);
        let facts = claim.facts.iter().map(|fact| names.cond(fact)).collect();
        let moves = claim.mode == Mode::Exact
            && [&claim.lhs, &claim.rhs].into_iter().all(|side| alike(Sense::Movement, side, side));
        Prepared { claim, syms, params, facts, moves, sides }
    }
}

/// The sides of a claim under other names, in operator form.
fn sides(claim: &Claim, names: &Subst, fresh: &mut Fresh) -> Result<[Term; 2], Unusable> {
    if !claim.requires.is_empty() {
        return Err(Unusable::Precondition);
    }
    if claim.ranks.iter().any(|(_, extents)| extents.iter().any(Size::is_group)) {
        return Err(Unusable::AnyRank);
    }
    let mut side = |term: &Term| {
        let form = operator_form(&names.term(term, fresh), fresh);
        if form.dropped { Err(Unusable::Dropped) } else { Ok(form.term) }
    };
    Ok([side(&claim.lhs)?, side(&claim.rhs)?])
}

impl Instance {
    pub fn new(rule: usize, of: &Arc<Prepared>, heads: &mut Heads) -> Result<Instance, Unusable> {
        let mut side = |term: &Term| {
            let pattern = Pattern::of(term, &of.params, heads);
            let mut params = BTreeSet::new();
            pattern.params(&mut params);
            Side { pattern, syms: free_syms(term), params, term: term.clone() }
        };
        let [left, right] = of.sides.as_ref().map_err(|why| *why)?;
        Ok(Instance { rule, of: of.clone(), sides: [side(left), side(right)] })
    }

    /// The parameters that one side computes and the other does not.
    pub fn lopsided(&self) -> impl Iterator<Item = usize> {
        let [left, right] = &self.sides;
        left.params.symmetric_difference(&right.params).copied()
    }

    /// How many more heads the other side has than the one that is looked for.
    pub fn growth(&self, from: usize) -> isize {
        let heads = |side: &Side| side.pattern.heads() as isize;
        heads(&self.sides[1 - from]) - heads(&self.sides[from])
    }

    /// Whether a side is one elementwise operator: there is always one, and little comes of writing it as two.
    pub fn is_plain(&self, from: usize) -> bool {
        let side = &self.sides[from];
        side.pattern.heads() == 1 && is_elementwise(&side.term)
    }

    /// Whether what one side is says all of the other: its sizes and values.
    pub fn determines(&self, from: usize) -> bool {
        let (from, to) = (&self.sides[from], &self.sides[1 - from]);
        let mut given = from.syms.clone();
        from.params.iter().for_each(|param| collect(&self.of.params[*param].1, &mut given));
        let every = self.of.syms.iter().all(|sym| given.contains(sym));
        every && to.params.is_subset(&from.params) && !matches!(from.pattern, Pattern::Param(_))
    }

    /// Whether a symbol is one of the rule.
    pub fn is_own(&self, sym: &Sym) -> bool {
        self.of.syms.contains(sym)
    }
}

/// Whether a call computes each element from elements.
fn is_elementwise(term: &Term) -> bool {
    let Form::Call(Fun::Op(instance), _) = term.form() else { return false };
    match instance.body.form() {
        Form::Comp(_, body) => is_scalar_made(body),
        _ => is_scalar_made(&instance.body),
    }
}

fn is_scalar_made(term: &Term) -> bool {
    let inner = || children(term).into_iter().all(is_scalar_made);
    match term.form() {
        Form::Read(base, _) => matches!(base.form(), Form::Var(_)),
        Form::Call(Fun::Scalar(_) | Fun::Cast(_), _) | Form::If(..) => inner(),
        Form::Var(_) | Form::Lit(_) | Form::Size(_) => true,
        _ => false,
    }
}

fn collect(ty: &Type, syms: &mut BTreeSet<Sym>) {
    match ty {
        Type::Size => {}
        Type::Tensor(t) => t.shape.iter().for_each(|size| size.collect_syms(syms)),
        Type::Tuple(parts) => parts.iter().for_each(|part| collect(part, syms)),
    }
}

impl Pattern {
    fn of(term: &Term, params: &[(Var, Type)], heads: &mut Heads) -> Pattern {
        if let Form::Var(var) = term.form()
            && let Some(at) = params.iter().position(|(param, _)| param == var)
        {
            return Pattern::Param(at);
        }
        let parts = parts(term).iter().map(|part| Pattern::of(part, params, heads)).collect();
        Pattern::Head(heads.intern(term), parts)
    }

    /// How far it reaches below the class at which it stands.
    pub fn depth(&self) -> usize {
        match self {
            Pattern::Param(_) => 0,
            Pattern::Head(_, parts) => 1 + parts.iter().map(Pattern::depth).max().unwrap_or(0),
        }
    }

    fn heads(&self) -> usize {
        match self {
            Pattern::Param(_) => 0,
            Pattern::Head(_, parts) => 1 + parts.iter().map(Pattern::heads).sum::<usize>(),
        }
    }

    fn params(&self, into: &mut BTreeSet<usize>) {
        match self {
            Pattern::Param(at) => drop(into.insert(*at)),
            Pattern::Head(_, parts) => parts.iter().for_each(|part| part.params(into)),
        }
    }
}
