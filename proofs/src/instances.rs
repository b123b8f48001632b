//! The instances of an item: its core at a choice of dtypes and ranks.

use crate::choices::{DTypes, MAX_CHOICES, choice_text, with_ranks};
use rtv_grammar::ast::{DefKind, Item, ItemKind};
use rtv_grammar::lower::{Choice, Defs, Lower, Ranks, has_rank_variables};
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Entails;
use rtv_semantics::program::Claim;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Ranks at which a claim about any rank is tested.
pub const TESTED_RANKS: [usize; 5] = [0, 1, 2, 3, 4];

/// The claim at each choice, of a `fn` the one about its calls, of a monoid each of its laws; where the laws of
/// these monoids may be used. Or the diagnostics of the first that does not type.
pub fn instances(
    item: &Item,
    defs: &Defs,
    engine: &dyn Entails,
    laws: &BTreeSet<String>,
    choices: &[Choice],
) -> Result<Vec<Arc<Claim>>, Vec<Diagnostic>> {
    let mut claims = Vec::new();
    for choice in choices {
        let mut lower = Lower::new(defs, engine).with_laws(laws.clone());
        let stated = match &item.kind {
            ItemKind::Def(def) if def.kind == DefKind::Fn => {
                lower.calls(item, choice).map(|claim| vec![claim])
            }
            ItemKind::Def(def) if def.kind == DefKind::Monoid => lower.laws(item, choice),
            _ => lower.claim(item, choice).map(|claim| vec![claim]),
        };
        let mut found = lower.take_diagnostics();
        match stated {
            Some(stated) if !found.iter().any(Diagnostic::is_error) => {
                claims.extend(stated.into_iter().map(Arc::new));
            }
            // The preconditions contradict each other at this choice.
            None if found.is_empty() => {}
            _ => {
                if let Some(first) = found.first_mut() {
                    at_choice(first, choice, has_rank_variables(item));
                }
                return Err(found);
            }
        }
    }
    Ok(claims)
}

/// Narrow integers after wide ones, whose proofs may serve them.
pub fn widest_first(mut claims: Vec<Arc<Claim>>) -> Vec<Arc<Claim>> {
    let missing = |dtype: DType| if dtype.is_int() { DType::I64.bits() - dtype.bits() } else { 0 };
    claims.sort_by_key(|claim| claim.dtypes.iter().map(|(_, dtype)| missing(*dtype)).sum::<u32>());
    claims
}

/// Every choice of dtypes at each of the tested ranks.
pub fn ranked(dtypes: &[DTypes]) -> Vec<Choice> {
    TESTED_RANKS.iter().flat_map(|rank| with_ranks(dtypes, Ranks::Fixed(*rank))).collect()
}

/// Says at which choice a diagnostic arises, and what the sizes in it are.
pub fn at_choice(found: &mut Diagnostic, choice: &Choice, ranked: bool) {
    let mut setting: Vec<String> = vec![choice_text(&choice.dtypes)];
    if let (Ranks::Fixed(rank), true) = (choice.ranks, ranked) {
        setting.push(format!("rank variables of {rank} {}", if rank == 1 { "axis" } else { "axes" }));
        // A requirement over the axes of a rank variable cannot be written.
        if found.help.as_ref().is_none_or(|help| help.contains("requires")) {
            found.help = Some("`S0` is the first axis of `*S`, `S1` the second".into());
        }
    }
    setting.retain(|text| !text.is_empty());
    if !setting.is_empty() {
        found.message = format!("{} (for {})", found.message, setting.join(", "));
    }
}

pub fn too_many(item: &Item) -> Diagnostic {
    let message = format!("the dtype variables have more than {MAX_CHOICES} instances");
    Diagnostic::error(Code(705), item.span, message).help("use fewer variables or narrower classes")
}

/// Codes that say that something depends on the rank, or on a static value.
pub fn depends_on_rank(code: Code) -> bool {
    matches!(code.0, 206 | 211)
}

/// Codes of language parts whose meaning comes later.
pub fn later(code: Code) -> bool {
    matches!(code.0, 291..=298 | 390 | 391 | 490 | 590)
}
