//! A uniform elaboration with its lists written out, beside the elaboration at that rank.

use crate::check::Checker;
use crate::choices::dtype_choices;
use crate::module::Module;
use rtv_grammar::lower::{Lower, every_axis};
use rtv_semantics::entail::Cond;
use rtv_semantics::program::{Claim, Input};
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::{Binder, Form, Fun, Reduce, Term, Var};
use rtv_semantics::unfold::{Limits, element, fresh_index, index_terms};
use std::collections::BTreeMap;

/// What belongs to each axis, what to none, and the parameters.
struct WrittenOut<'a> {
    rank: usize,
    axes: &'a Sym,
    own: BTreeMap<Sym, Vec<Size>>,
    others: BTreeMap<Sym, Size>,
    params: BTreeMap<Var, Term>,
    fresh: Fresh,
}

/// Each side of a rule at a rank, claimed to be the side of its uniform elaboration with lists
/// written out; nothing if it has none.
pub fn sides(module: &Module, at: usize, checker: &Checker, claim: &Claim) -> Option<Vec<(String, Claim)>> {
    let dtypes = dtype_choices(&module.items[at])?.pop()?;
    let schema = Lower::new(&module.defs, checker.engine()).schema(&module.items[at], &dtypes)?;
    let uniform = &schema.claim;
    let named = |name: &str| claim.syms.iter().find(|sym| sym.name() == name).map(Size::sym);
    let mut own = BTreeMap::new();
    for ((_, group), (_, extents)) in uniform.ranks.iter().zip(&claim.ranks) {
        own.insert(group[0].as_sym()?.clone(), extents.clone());
    }
    let others = uniform.syms.iter().filter(|sym| sym.kind() != SymKind::Group);
    let others = others.filter_map(|sym| Some((sym.clone(), named(sym.name())?))).collect();
    let params =
        uniform.params.iter().zip(&claim.params).filter_map(|(from, to)| match (&from.input, &to.input) {
            (Input::Value(from, _), Input::Value(to, ty)) => {
                Some((from.clone(), Term::var(to.clone(), ty.clone(), claim.span)))
            }
            _ => None,
        });
    // Above all that the two elaborations name.
    let mut fresh = Fresh::new(1 << 20);
    let index = fresh_index(uniform.lhs.shape(), &mut fresh);
    let mut out = WrittenOut {
        rank: claim.ranks[0].1.len(),
        axes: &schema.axes,
        own,
        others,
        params: params.collect(),
        fresh,
    };
    let binders = fresh_index(claim.lhs.shape(), &mut out.fresh);
    let mut at_rank = binders.iter().map(|binder| Size::sym(&binder.sym));
    for binder in &index {
        if out.is_own(&binder.extent) {
            out.own.insert(binder.sym.clone(), at_rank.by_ref().take(out.rank).collect());
        } else {
            out.others.insert(binder.sym.clone(), at_rank.next()?);
        }
    }
    let at = index_terms(&index, claim.span);
    let mut sides = Vec::new();
    for (from, to) in [(&uniform.lhs, &claim.lhs), (&uniform.rhs, &claim.rhs)] {
        let element = element(from, &at, &mut out.fresh, Limits::default()).ok()?;
        let rhs = Term::comp(binders.clone(), out.term(&element), claim.span);
        let name = format!("{} at rank {}", claim.name, out.rank);
        sides.push((name, Claim { lhs: to.clone(), rhs, ..claim.clone() }));
    }
    Some(sides)
}

impl WrittenOut<'_> {
    fn is_own(&self, size: &Size) -> bool {
        size.syms().iter().any(|sym| self.own.contains_key(sym))
    }

    fn on_axis(&self, size: &Size, axis: usize) -> Size {
        let list = |sym: &Sym| self.own.get(sym).map(|list| list[axis].clone());
        size.subst(&|sym| list(sym).or_else(|| self.others.get(sym).cloned()))
    }

    fn size(&self, size: &Size) -> Size {
        size.subst(&|sym| self.others.get(sym).cloned())
    }

    fn term(&mut self, term: &Term) -> Term {
        let span = term.span();
        if let (Form::Reduce(_), Some(cond)) = (term.form(), every_axis(term, self.axes)) {
            let axes = (0..self.rank).map(|axis| cond.map(&|size| self.on_axis(size, axis)));
            return Term::cond(&Cond::and(axes), span);
        }
        match term.form() {
            Form::Size(size) => Term::size(self.size(size), span),
            Form::Lit(_) => term.clone(),
            Form::Var(var) => self.params[var].clone(),
            Form::Call(Fun::Scalar(fun), args) => {
                Term::scalar(*fun, args.iter().map(|arg| self.term(arg)).collect(), span)
            }
            Form::Call(Fun::Cast(dtype), args) => Term::cast(*dtype, self.term(&args[0]), span),
            Form::If(c, a, b) => Term::if_(self.term(c), self.term(a), self.term(b), span),
            Form::Read(base, index) => {
                let mut list = Vec::new();
                for at in index {
                    match at.as_size().filter(|at| self.is_own(at)) {
                        Some(entry) => list
                            .extend((0..self.rank).map(|axis| Term::size(self.on_axis(entry, axis), span))),
                        None => list.push(self.term(at)),
                    }
                }
                Term::read(self.term(base), list, span)
            }
            Form::Reduce(Reduce { op, binders, body }) => {
                let mut list = Vec::new();
                for binder in binders {
                    let own = self.is_own(&binder.extent);
                    let copies = if own { self.rank } else { 1 };
                    let syms: Vec<Sym> = (0..copies).map(|_| self.fresh.sym(&binder.sym)).collect();
                    for (axis, sym) in syms.iter().enumerate() {
                        list.push(Binder { sym: sym.clone(), extent: self.on_axis(&binder.extent, axis) });
                    }
                    if own {
                        self.own.insert(binder.sym.clone(), syms.iter().map(Size::sym).collect());
                    } else {
                        self.others.insert(binder.sym.clone(), Size::sym(&syms[0]));
                    }
                }
                Term::reduce(op.clone(), list, self.term(body), span)
            }
            other => panic!("not in an element: {other:?}"),
        }
    }
}
