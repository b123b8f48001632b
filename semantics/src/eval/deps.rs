//! What a term is made of: the symbols and variables it mentions, and whether it is
//! about sizes only. Found once for each term.

use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::machine::Machine;
use crate::size::Sym;
use crate::term::{Binder, Form, Fun, Term};
use crate::types::Type;

/// Everything mentioned in a term and in the definitions it calls, free or bound.
#[derive(Default)]
pub(super) struct Deps {
    pub syms: BTreeSet<Sym>,
    pub vars: BTreeSet<u32>,
}

impl Machine<'_> {
    /// What `term` mentions, found once.
    pub fn deps(&mut self, term: &Term) -> Arc<Deps> {
        let entry = self.deps.entry(term.address());
        entry.or_insert_with(|| Arc::new(collect(term))).clone()
    }

    /// Whether a boolean scalar is made of comparisons of sizes only: the very condition
    /// that provers take for one.
    pub fn is_size_condition(&mut self, term: &Term) -> bool {
        let entry = self.size_conditions.entry(term.address());
        *entry.or_insert_with(|| term.as_cond().is_some())
    }
}

/// Works through a list, since terms may be deep.
fn collect(term: &Term) -> Deps {
    let mut deps = Deps::default();
    let mut seen = FxHashSet::default();
    let mut open = vec![term];
    while let Some(term) = open.pop() {
        if seen.insert(term.address()) {
            visit(term, &mut deps, &mut open);
        }
    }
    deps
}

fn visit<'t>(term: &'t Term, deps: &mut Deps, open: &mut Vec<&'t Term>) {
    match term.form() {
        Form::Size(size) => size.collect_syms(&mut deps.syms),
        Form::Lit(_) => {}
        Form::Var(var) => {
            deps.vars.insert(var.id);
        }
        Form::Call(fun, args) => {
            open.extend(args);
            if let Fun::Op(instance) = fun {
                open.push(&instance.body);
                open.extend(instance.requires.iter().map(|r| &r.cond));
            }
            if let Fun::Combine(monoid) = fun {
                open.push(&monoid.combine.body);
            }
        }
        Form::Read(base, index) => {
            open.push(base);
            open.extend(index);
        }
        Form::Comp(binders, body) => {
            extents(binders, deps);
            open.push(body);
        }
        Form::Reduce(reduce) => {
            extents(&reduce.binders, deps);
            open.push(&reduce.body);
            open.extend(reduce.op.declared().map(|monoid| &monoid.combine.body));
        }
        Form::If(cond, then, otherwise) => {
            open.extend([cond, then, otherwise]);
            // On an undefined condition the shape is taken from the type.
            shapes(term.ty(), deps);
        }
        Form::Let(_, value, body) => open.extend([value, body]),
        Form::Tuple(parts) => open.extend(parts),
        Form::Loop(l) => {
            open.extend(l.state.iter().map(|(_, init)| init));
            open.extend(&l.condition);
            open.push(&l.step);
            extents(l.counter.as_slice(), deps);
        }
        Form::Write(w) => {
            open.extend([&w.base, &w.value]);
            open.extend(&w.index);
            extents(&w.binders, deps);
        }
    }
}

fn extents(binders: &[Binder], deps: &mut Deps) {
    binders.iter().for_each(|b| b.extent.collect_syms(&mut deps.syms));
}

fn shapes(ty: &Type, deps: &mut Deps) {
    match ty {
        Type::Size => {}
        Type::Tensor(t) => t.shape.iter().for_each(|s| s.collect_syms(&mut deps.syms)),
        Type::Tuple(parts) => parts.iter().for_each(|t| shapes(t, deps)),
    }
}
