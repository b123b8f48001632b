//! Rank variables as opaque axes: what keeps an elaboration at any rank honest.
//!
//! Note [Groups]. In a claim about any rank, `*S` is one entry of a shape: a group,
//! whose extent is a symbol of kind `Group` and whose index runs through all index
//! tuples in row-major order. The entry is not an axis: its number of axes is unknown,
//! none included. So nothing may count it, position it, compare it by its number of
//! elements, or do arithmetic by component on it. `numel(S)`, which is a number, is a
//! symbol of its own that is known to be equal to the group's.
//!
//! Note [Uniform elaboration]. A claim may also be elaborated about one axis of each rank
//! variable, which stands for all of them. Then an entry that mentions a group, or an index
//! that runs over one, is a list of as many entries as there are axes, each made by the same
//! function of what belongs to its axis. Arithmetic by component keeps that, since entries
//! of a tuple never see each other. Refused is what does not: numbers of axes and of
//! elements, positions among the axes, an entry that is taken for a single one, one entry
//! where many are meant. That all axes meet a condition is a reduction over the axes, never
//! the condition itself, which the negation would turn into one about all axes. What is
//! known of the axis is known of every one of them; so what follows from it holds of every
//! axis, and what does not mention it holds where there is an axis at all. Hence: at every
//! rank from 1 on, the elaboration at that rank means what this one means with lists
//! written out.

use super::value::Extents;
use super::{Lower, Result, fail};
use rtv_semantics::diag::Span;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::term::{Binder, Form, Fun, Monoid, Reduce, Term};
use rtv_semantics::types::extent_text;
use std::collections::BTreeMap;

/// The groups of an elaboration and what was made from them.
#[derive(Default)]
pub(super) struct Groups {
    /// `numel` of each group.
    numbers: BTreeMap<Sym, Sym>,
    /// Index expressions that run over a group: bound ones, and digits of `unravel`.
    indices: BTreeMap<Size, Size>,
    /// The number of axes, where the elaboration is about one of them.
    pub(super) axes: Option<Sym>,
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

    /// A new group of an elaboration about one axis.
    pub(super) fn declare_uniform_group(&mut self, name: &str) -> Sym {
        if self.groups.axes.is_none() {
            self.groups.axes = Some(self.fresh_sym(SymKind::Size, "axes"));
        }
        self.fresh_sym(SymKind::Group, name)
    }

    /// Whether the elaboration is about one axis of many.
    pub(super) fn is_uniform(&self) -> bool {
        self.groups.axes.is_some()
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
        self.is_many(entry) || self.group_of(entry).is_some()
    }

    /// Whether an extent stands for any number of axes.
    pub(super) fn is_many(&self, extent: &Size) -> bool {
        extent.is_group() || (self.is_uniform() && self.mentions_group(extent))
    }

    /// Whether an entry must not be taken apart by component: it runs over a group, or
    /// depends on one.
    pub(super) fn is_opaque(&self, entry: &Size) -> bool {
        !self.is_uniform() && (self.is_group_entry(entry) || self.mentions_group(entry))
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
        if self.is_uniform() {
            return index.iter().zip(shape).try_for_each(|(i, n)| self.as_many(i, n, span));
        }
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

    /// Refuses two entries that do not stand for as many axes.
    pub(super) fn as_many(&self, a: &Size, b: &Size, span: Span) -> Result<()> {
        if !self.is_uniform() || self.is_group_entry(a) == self.is_group_entry(b) {
            return Ok(());
        }
        let message = format!("one of `{a}` and `{b}` is any number of axes, the other is one");
        fail(211, span, message)
    }

    /// What a function of two entries gives: where one of them is any number of axes, so is
    /// the result, and must show it.
    pub(super) fn by_component(&self, from: [&Size; 2], made: Size, span: Span) -> Result<Size> {
        let many = self.is_uniform() && from.iter().any(|entry| self.is_group_entry(entry));
        if many && !self.is_group_entry(&made) {
            return fail(211, span, format!("how many axes `{made}` stands for is not known"));
        }
        Ok(made)
    }

    /// Refuses to count what any number of axes hold, where one of them stands for all.
    pub(super) fn countable(&self, entries: &[Size], span: Span) -> Result<()> {
        if self.is_uniform() {
            entries.iter().try_for_each(|entry| self.one_axis(entry, span))
        } else {
            Ok(())
        }
    }

    /// That a condition holds of every axis.
    pub(super) fn of_every_axis(&mut self, cond: &Cond, span: Span) -> Term {
        let extent = Size::sym(self.groups.axes.as_ref().expect("invariant: an elaboration about one axis"));
        let binder = Binder { sym: self.fresh_sym(SymKind::Index, "axis"), extent };
        Term::reduce(Monoid::All, vec![binder], Term::cond(cond, span), span)
    }

    /// What a condition says of one axis if it is one about every axis, or several of them.
    pub(super) fn on_each_axis(&self, term: &Term) -> Option<Cond> {
        every_axis(term, self.groups.axes.as_ref()?)
    }

    /// The group whose `numel` this extent is: an index of the flattened axis serves
    /// both.
    fn group_of_number(&self, extent: &Size) -> Option<Size> {
        let sym = extent.as_sym()?;
        self.groups.numbers.iter().find(|(_, number)| *number == sym).map(|(group, _)| Size::sym(group))
    }
}

/// What a boolean scalar of a uniform elaboration says of each of the `axes`, if it is a
/// conjunction of conditions on sizes and of such about every axis.
pub fn every_axis(term: &Term, axes: &Sym) -> Option<Cond> {
    match term.form() {
        Form::Reduce(Reduce { op: Monoid::All, binders, body }) => match binders.as_slice() {
            [binder] if binder.extent.as_sym() == Some(axes) => body.as_cond(),
            _ => None,
        },
        Form::Call(Fun::Scalar(Scalar::LogicalAnd), args) => {
            let parts: Option<Vec<Cond>> = args.iter().map(|part| every_axis(part, axes)).collect();
            Some(Cond::and(parts?))
        }
        _ => term.as_cond(),
    }
}
