//! The typed core of a module's definitions, as text.

use crate::applied::most_axes;
use crate::choices::{DTypes, dtype_choices, with_ranks};
use crate::module::Module;
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::core_text;
use rtv_grammar::lower::{Choice, Lower, Ranks, has_rank_variables};
use rtv_semantics::diag::Diagnostic;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Entails;
use rtv_semantics::guess::Guessing;
use rtv_semantics::program::{Claim, Function};
use rtv_semantics::subst::children;
use rtv_semantics::term::{Form, Fun, Term};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The core of functions, rules and decompositions, at f32 where a dtype is open, with
/// rank variables as groups.
pub fn core(module: &Module, wanted: &dyn Fn(&str) -> bool) -> (Vec<String>, Vec<Diagnostic>) {
    let (mut texts, mut diagnostics) = (Vec::new(), Vec::new());
    for item in &module.items {
        let Some(choice) = shown_choice(item) else { continue };
        let mut lower = Lower::new(&module.defs, &Guessing);
        let text = match &item.kind {
            ItemKind::Def(def) if !wanted(&def.name.parts[0].name) => None,
            ItemKind::Rule(rule) if !wanted(&rule.name.name) => None,
            ItemKind::Def(def) if def.kind == DefKind::Fn => {
                lower.function(item, &choice).map(|f| core_text::function(&f))
            }
            ItemKind::Def(def) if matches!(def.kind, DefKind::Decomp { .. } | DefKind::Impl) => {
                lower.claim(item, &choice).map(|c| core_text::claim(&c))
            }
            ItemKind::Rule(_) => lower.claim(item, &choice).map(|c| core_text::claim(&c)),
            _ => None,
        };
        texts.extend(text);
        diagnostics.extend(lower.take_diagnostics());
    }
    (texts, diagnostics)
}

/// The `fn` at a place of a module as a program, at f32 where a dtype is open and with so many axes for each
/// rank variable, and that choice; nothing where it does not type.
pub fn program(module: &Module, at: usize, rank: usize) -> (Option<(Function, Choice)>, Vec<Diagnostic>) {
    let item = &module.items[at];
    let Some(choice) = shown_choice(item) else { return (None, Vec::new()) };
    let mut lower = Lower::new(&module.defs, &Guessing);
    let choice = Choice { ranks: Ranks::Fixed(rank), ..choice };
    let function = lower.function(item, &choice);
    (function.map(|function| (function, choice)), lower.take_diagnostics())
}

/// The choices of these dtypes, and of at most so many axes for its rank variables, at which the item at a place of
/// a module may say something of a program of such values. None of one that rests on declared monoids.
pub fn rule_choices(module: &Module, at: usize, dtypes: &BTreeSet<DType>, rank: usize) -> Vec<Choice> {
    let item = &module.items[at];
    if !module.monoids(at).is_empty() {
        return Vec::new();
    }
    let among = |choice: &DTypes| choice.iter().all(|(_, dtype)| dtypes.contains(dtype));
    let chosen: Vec<DTypes> = dtype_choices(item).unwrap_or_default().into_iter().filter(among).collect();
    let ranks = if has_rank_variables(item) { 0..=rank } else { 0..=0 };
    // Of values of more axes than the program has, a rule has nothing to say.
    let ranks = ranks.filter(|of| most_axes(module, at, *of) <= rank);
    ranks.flat_map(|rank| with_ranks(&chosen, Ranks::Fixed(rank))).collect()
}

/// The claim of the item at a place of a module at a choice; nothing where it does not type there.
pub fn rule_claim(module: &Module, at: usize, choice: &Choice, engine: &dyn Entails) -> Option<Arc<Claim>> {
    Lower::new(&module.defs, engine).claim(&module.items[at], choice).map(Arc::new)
}

/// The operators that a claim applies, those of its functions included, at the same
/// choice.
pub fn operators(module: &Module, item: &Item) -> BTreeSet<Arc<str>> {
    let mut found = Operators::default();
    let claim =
        shown_choice(item).and_then(|choice| Lower::new(&module.defs, &Guessing).claim(item, &choice));
    claim.iter().flat_map(|claim| [&claim.lhs, &claim.rhs]).for_each(|side| found.visit(side));
    found.names
}

/// Operators met, each body walked once.
#[derive(Default)]
struct Operators {
    names: BTreeSet<Arc<str>>,
    seen: BTreeSet<usize>,
}

impl Operators {
    fn visit(&mut self, term: &Term) {
        if !self.seen.insert(term.address()) {
            return;
        }
        children(term).into_iter().for_each(|child| self.visit(child));
        if let Form::Call(Fun::Op(instance), _) = term.form() {
            match instance.is_op {
                true => drop(self.names.insert(instance.name.clone())),
                false => self.visit(&instance.body),
            }
        }
    }
}

/// f32 for every dtype variable that can be it, else the first of its class.
fn shown_choice(item: &Item) -> Option<Choice> {
    let choices = dtype_choices(item)?;
    let float = choices.iter().find(|c| c.iter().all(|(_, d)| *d == DType::F32));
    let dtypes = float.or(choices.first())?.clone();
    with_ranks(&[dtypes], Ranks::Opaque).pop()
}
