//! Rank variables as opaque axes: what keeps an elaboration at any rank honest.
//!
//! Note [Groups]. In a claim about any rank, `*S` is one entry of a shape: a group,
//! whose extent is a symbol of kind `Group` and whose index runs through all index
//! tuples in row-major order. The entry is not an axis: its number of axes is unknown,
//! none included. So nothing may count it, position it, compare it by its number of
//! elements, or do arithmetic by component on it. `numel(S)`, which is a number, is a
//! symbol of its own that is known to be equal to the group's.

use super::value::Extents;
use super::{Lower, Result, fail};
use rtv_semantics::diag::Span;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::types::extent_text;
use std::collections::BTreeMap;

/// The groups of an elaboration and what was made from them.
#[derive(Default)]
pub(super) struct Groups {
    /// `numel` of each group.
    numbers: BTreeMap<Sym, Sym>,
    /// Index expressions that run over a group: bound ones, and digits of `unravel`.
    indices: BTreeMap<Size, Size>,
}

impl Lower<'_> {
    /// A new group, and the fact that ties `numel` of it to its extent.
    pub(super) fn declare_group(&mut self, name: &str) -> (Sym, Sym, Cond) {
        let group = self.fresh_sym(SymKind::Group, name);
        let number = self.fresh_sym(SymKind::Size, &format!("numel({name})"));
        let tie = Cond::eq(&Size::sym(&group), &Size::sym(&number));
        self.groups.numbers.insert(group.clone(), number.clone());
        (group, number, tie)
    }

    /// A product of extents as a number: groups become their `numel`.
    pub(super) fn as_number(&self, size: &Size) -> Size {
        size.subst(&|s| self.groups.numbers.get(s).map(Size::sym))
    }

    /// Remembers that an index expression runs over a group.
    pub(super) fn mark_group_index(&mut self, index: &Size, group: &Size) {
        self.groups.indices.insert(index.clone(), group.clone());
    }

    /// The group an entry of an index tuple runs over.
    pub(super) fn group_of(&self, index: &Size) -> Option<&Size> {
        self.groups.indices.get(index)
    }

    /// Whether an entry stands for any number of axes.
    pub(super) fn is_group_entry(&self, entry: &Size) -> bool {
        entry.is_group() || self.group_of(entry).is_some()
    }

    /// Whether an entry must not be taken apart by component: it runs over a group, or
    /// depends on one.
    pub(super) fn is_opaque(&self, entry: &Size) -> bool {
        self.is_group_entry(entry) || self.mentions_group(entry)
    }

    /// Whether a size depends on the index or extent of a group.
    fn mentions_group(&self, size: &Size) -> bool {
        let from_group = |s: &Sym| s.kind() == SymKind::Group || self.group_of(&Size::sym(s)).is_some();
        size.syms().iter().any(from_group)
    }

    /// Refuses an entry that stands for any number of axes where one number is needed.
    pub(super) fn one_axis(&self, entry: &Size, span: Span) -> Result<()> {
        if !self.is_group_entry(entry) {
            return Ok(());
        }
        let text = extent_text(self.group_of(entry).unwrap_or(entry));
        fail(211, span, format!("`{text}` is any number of axes, and one is needed here"))
    }

    /// Refuses a tuple whose number of entries is not known.
    pub(super) fn known_rank(&self, s: &Extents, span: Span) -> Result<()> {
        match s.items.iter().find(|n| self.is_group_entry(n)) {
            Some(entry) => {
                let text = extent_text(self.group_of(entry).unwrap_or(entry));
                fail(211, span, format!("the rank is not known: `{text}` is any number of axes"))
            }
            None => Ok(()),
        }
    }

    /// Whether an index tuple fits a shape entry by entry: groups only with their own.
    pub(super) fn aligned(&self, index: &[Size], shape: &[Size], span: Span) -> Result<()> {
        for (i, n) in index.iter().zip(shape) {
            let over = self.group_of(i);
            if n.is_group() && over != Some(n) {
                return fail(
                    211,
                    span,
                    format!("`{}` is any number of axes, `{i}` is not their index", extent_text(n)),
                );
            }
            if !n.is_group() && over.is_some_and(|g| Some(g) != self.group_of_number(n).as_ref()) {
                return self.one_axis(i, span);
            }
        }
        Ok(())
    }

    /// The group whose `numel` this extent is: an index of the flattened axis serves
    /// both.
    fn group_of_number(&self, extent: &Size) -> Option<Size> {
        let sym = extent.as_sym()?;
        self.groups.numbers.iter().find(|(_, number)| *number == sym).map(|(group, _)| Size::sym(group))
    }
}
