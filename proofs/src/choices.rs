//! The instances of a claim: every choice of dtypes, and the ranks.

use rtv_grammar::ast::Item;
use rtv_grammar::lower::{Choice, Ranks, dtype_variables};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Claim, ClaimKind};
use rtv_semantics::size::Size;
use std::sync::Arc;

/// Instances beyond this are not enumerated; the claim is `unknown`.
pub const MAX_CHOICES: usize = 200;

/// A dtype for each dtype variable, by name.
pub type DTypes = Vec<(Arc<str>, DType)>;

/// Every assignment of dtypes to the dtype variables of an item, or `None` beyond the
/// limit. One, the empty one, for an item without any.
pub fn dtype_choices(item: &Item) -> Option<Vec<DTypes>> {
    let mut choices: Vec<DTypes> = vec![Vec::new()];
    for (name, class) in dtype_variables(item) {
        if choices.len() * class.members().len() > MAX_CHOICES {
            return None;
        }
        let extend = |choice: &DTypes, dtype: &DType| {
            let mut longer = choice.clone();
            longer.push((name.clone(), *dtype));
            longer
        };
        choices = choices.iter().flat_map(|c| class.members().iter().map(move |d| extend(c, d))).collect();
    }
    Some(choices)
}

pub fn with_ranks(dtypes: &[DTypes], ranks: Ranks) -> Vec<Choice> {
    dtypes.iter().map(|dtypes| Choice { dtypes: dtypes.clone(), ranks }).collect()
}

/// `T = f16`, for notes; empty for a claim without dtype variables.
pub fn choice_text(dtypes: &[(Arc<str>, DType)]) -> String {
    let parts: Vec<String> = dtypes.iter().map(|(n, d)| format!("{n} = {d}")).collect();
    parts.join(", ")
}

/// Which instance of a claim this is, for notes: `T = f16, rank 2`; empty for one that
/// stands for all. The laws of a monoid are instances of one claim: there its name comes first.
pub fn instance_text(claim: &Claim) -> String {
    let law = (claim.kind == ClaimKind::Monoid).then(|| claim.name.to_string());
    let fixed = claim.ranks.first().filter(|(_, extents)| !extents.iter().any(Size::is_group));
    let rank = fixed.map(|(_, extents)| format!("rank {}", extents.len()));
    let parts = [law, Some(choice_text(&claim.dtypes)).filter(|text| !text.is_empty()), rank];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How far dtypes are from those that most programs use.
pub fn unusual(dtypes: &[(Arc<str>, DType)]) -> usize {
    let usual = [DType::F32, DType::I64, DType::Bool, DType::I32, DType::F64];
    let place = |dtype: &DType| usual.iter().position(|d| d == dtype).unwrap_or(usual.len());
    dtypes.iter().map(|(_, dtype)| place(dtype)).sum()
}
