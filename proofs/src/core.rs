//! The typed core of a module's definitions, as text.

use crate::choices::{dtype_choices, with_ranks};
use crate::module::Module;
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::core_text;
use rtv_grammar::lower::{Choice, Lower, Ranks};
use rtv_semantics::diag::Diagnostic;
use rtv_semantics::dtype::DType;
use rtv_semantics::guess::Guessing;

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

/// f32 for every dtype variable that can be it, else the first of its class.
fn shown_choice(item: &Item) -> Option<Choice> {
    let choices = dtype_choices(item)?;
    let float = choices.iter().find(|c| c.iter().all(|(_, d)| *d == DType::F32));
    let dtypes = float.or(choices.first())?.clone();
    with_ranks(&[dtypes], Ranks::Opaque).pop()
}
