//! Whether a rule may be applied, and to what.

use super::steps::Check;
use super::told::By;
use super::{Fault, symbols_in};
use crate::recheck::divisors;
use rtv_semantics::alike::{Sense, alike};
use rtv_semantics::derivation::{Application, operator_form};
use rtv_semantics::entail::Cond;
use rtv_semantics::program::{Claim, ClaimKind, Input, Mode};
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::{Fresh, Subst, free_syms, free_vars};
use rtv_semantics::term::{Term, Var};
use rtv_semantics::types::Type;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One application, at its sizes.
pub struct Applied {
    claim: Arc<Claim>,
    /// The parameters that are values, with what they stand for.
    values: Vec<(Arc<str>, Var, usize)>,
    /// The preconditions, which follow.
    facts: Vec<Cond>,
    sides: [Term; 2],
    /// Both sides only move data.
    moves: bool,
}

impl Check<'_, '_> {
    /// What an application that was looked at says.
    pub fn rule(&mut self, at: usize) -> By {
        let Application { rule, sizes, .. } = &self.derivation.applications[at];
        let Applied { claim, values, facts, moves, .. } = &self.applied[&at].1;
        let mut value = |(name, _, node): &(Arc<str>, Var, usize)| {
            (name.clone(), self.nodes.term(*node, &mut self.fresh))
        };
        By::Rule {
            name: rule.clone(),
            sizes: claim.syms.iter().cloned().zip(sizes.iter().cloned()).collect(),
            values: values.iter().map(&mut value).collect(),
            follow: facts.clone(),
            finite: self.upto == Mode::Real && !moves,
        }
    }

    /// The nodes of the sides of an application to terms that were built.
    pub fn application(&mut self, at: usize) -> Result<[usize; 2], Fault> {
        if let Some((sides, _)) = self.applied.get(&at) {
            return Ok(*sides);
        }
        let applied = self.at_sizes(&self.derivation.applications[at])?;
        let sides = self.sides_of(&applied)?;
        if self.upto == Mode::Real && !applied.moves {
            for (param, _, node) in &applied.values {
                if !self.known(*node).is_finite() {
                    return Err(Fault::NotFinite(param.clone()));
                }
            }
        }
        if applied.claim.directed {
            self.is_defined(&applied, sides[0])?;
        }
        self.applied.insert(at, (sides, applied));
        Ok(sides)
    }

    /// The claim with its sizes: it is proved, and what it asks of sizes and types is met.
    fn at_sizes(&mut self, application: &Application) -> Result<Applied, Fault> {
        let Application { rule, dtypes, rank, sizes, values } = application;
        let claim = self.rules.claim(rule, dtypes, *rank);
        let claim = claim.filter(|claim| matches!(claim.kind, ClaimKind::Rule | ClaimKind::Decomp));
        let claim = claim.ok_or_else(|| Fault::NotProved(rule.clone()))?;
        let moves = self.mode_of(&claim)?;
        let subst = self.sizes_for(&claim, sizes)?;
        let facts: Vec<Cond> = claim.facts.iter().map(|fact| subst.cond(fact)).collect();
        if let Some(fact) = facts.iter().find(|fact| !self.follows(&[], fact)) {
            return Err(Fault::Requires(fact.clone()));
        }
        let values = self.values_for(&claim, &subst, values)?;
        // Ids of the claim are none of those to come.
        let own = Fresh::above([&claim.lhs, &claim.rhs]).id();
        let params = values.iter().map(|(_, var, _)| var.id).max().unwrap_or(0);
        self.fresh = Fresh::new(self.fresh.id().max(own).max(params.saturating_add(1)));
        for require in &claim.requires {
            let cond = subst.term(&require.cond, &mut self.fresh).as_cond();
            if !cond.is_some_and(|cond| self.follows(&[], &cond)) {
                return Err(Fault::OnData(require.text.clone()));
            }
        }
        let sides = [&claim.lhs, &claim.rhs].map(|side| subst.term(side, &mut self.fresh));
        Ok(Applied { claim, values, facts, sides, moves })
    }

    /// Whether the claim holds in the mode of the derivation; and whether it only moves data.
    fn mode_of(&mut self, claim: &Arc<Claim>) -> Result<bool, Fault> {
        let strength = |mode: Mode| match mode {
            Mode::Exact => Some(0),
            Mode::Reassoc => Some(1),
            Mode::Real => Some(2),
            Mode::Close { .. } => None,
        };
        let within = strength(claim.mode).is_some_and(|mode| Some(mode) <= strength(self.upto));
        if !within {
            return Err(Fault::Weaker(claim.name.clone(), claim.mode));
        }
        let moves = claim.mode == Mode::Exact
            && alike(Sense::Movement, &claim.lhs, &claim.lhs)
            && alike(Sense::Movement, &claim.rhs, &claim.rhs);
        if claim.mode != self.upto && !moves && !self.rules.holds(claim, self.upto) {
            return Err(Fault::NotIn(claim.name.clone(), self.upto));
        }
        Ok(moves)
    }

    /// The sizes for those that are open, which are all: made of symbols of the source, and natural
    /// numbers where these are.
    fn sizes_for(&mut self, claim: &Claim, sizes: &[Size]) -> Result<Subst, Fault> {
        let open = &claim.syms;
        let conditions = claim.requires.iter().map(|require| &require.cond);
        let terms = conditions.chain([&claim.lhs, &claim.rhs]);
        let all = symbols_in(&claim.params, &claim.facts, terms);
        if open.len() != sizes.len() || !all.iter().all(|sym| open.contains(sym)) {
            return Err(Fault::Sizes);
        }
        let mut subst = Subst::new();
        for (sym, size) in open.iter().zip(sizes) {
            self.is_of_source(size)?;
            let natural = !sym.is_natural() || self.follows(&[], &Cond::le(&Size::zero(), size));
            let has_value = divisors(size).iter().all(|d| self.follows(&[], &Cond::ne(d, &Size::zero())));
            // The axes of a rank variable are one only for another one.
            let is_group = |sym: &Sym| sym.kind() == SymKind::Group;
            let of_axes = size.syms().iter().any(is_group) && !(is_group(sym) && size.is_group());
            if !natural || !has_value || of_axes {
                return Err(Fault::Size(size.to_string()));
            }
            subst = subst.with_size(sym, size.clone());
        }
        Ok(subst)
    }

    fn values_for(
        &mut self,
        claim: &Claim,
        subst: &Subst,
        values: &[usize],
    ) -> Result<Vec<(Arc<str>, Var, usize)>, Fault> {
        let params = claim.params.iter().filter_map(|param| match &param.input {
            Input::Value(var, ty) => Some((&param.name, var, ty)),
            Input::Size(_) => None,
        });
        let params: Vec<(&Arc<str>, &Var, &Type)> = params.collect();
        if params.len() != values.len() {
            return Err(Fault::Value(format!("`{}` takes {} values", claim.name, params.len())));
        }
        let mut found = Vec::new();
        for ((name, var, ty), value) in params.into_iter().zip(values) {
            let node = self.term(*value)?;
            let (asked, is) = (subst.ty(ty), self.nodes.ty(node));
            if asked != *is {
                return Err(Fault::Value(format!("`{name}` is of type {asked}, its value of {is}")));
            }
            found.push((name.clone(), var.clone(), node));
        }
        Ok(found)
    }

    /// The nodes of both sides, which lose no error of a value: see Note [Errors].
    fn sides_of(&mut self, applied: &Applied) -> Result<[usize; 2], Fault> {
        let claim = &applied.claim;
        let given: FxHashMap<Var, usize> =
            applied.values.iter().map(|(_, var, node)| (var.clone(), *node)).collect();
        let (mut nodes, mut used) = (Vec::new(), Vec::new());
        for side in &applied.sides {
            let open = free_syms(side);
            if let Some(sym) = open.iter().find(|sym| !self.symbols.contains(sym)) {
                return Err(Fault::Symbol(sym.name().to_string()));
            }
            let form = operator_form(side, &mut self.fresh);
            if form.dropped && !self.fails_nowhere(side, &applied.facts) {
                return Err(Fault::Drops(format!("a side of `{}`", claim.name)));
            }
            let vars: BTreeSet<Var> = free_vars(&form.term);
            if let Some(var) = vars.iter().find(|var| !given.contains_key(var)) {
                return Err(Fault::Value(format!("`{}` is no parameter of `{}`", var.name, claim.name)));
            }
            nodes.push(self.nodes.enter(&form.term, &given)?);
            used.push(vars);
        }
        for (name, var, node) in &applied.values {
            if used[0].contains(var) != used[1].contains(var) && !self.is_safe(*node) {
                return Err(Fault::Drops(format!("the value of `{name}`")));
            }
        }
        Ok([nodes[0], nodes[1]])
    }

    /// Whether the left side, at this place, has a value that the claim is about: a claim `=>` says
    /// nothing where it has none.
    fn is_defined(&mut self, applied: &Applied, left: usize) -> Result<(), Fault> {
        let name = &applied.claim.name;
        if !self.fails_nowhere(&applied.sides[0], &applied.facts) {
            return Err(Fault::MayFail(name.clone()));
        }
        if self.upto == Mode::Real && !applied.moves && !self.known(left).is_defined() {
            return Err(Fault::MayBeUndefined(name.clone()));
        }
        Ok(())
    }
}
