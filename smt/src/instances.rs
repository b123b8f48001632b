//! Instances of hypotheses of the form "for all elements": where the goal reads an
//! element of a parameter, what is known of all its elements is known of that one.
//!
//! Invariant: an instance is the body of a hypothesis at some index, with the condition
//! that the index lies in the hypothesis's range; so it follows from the hypothesis.

use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::{Fresh, Subst, children, free_syms};
use rtv_semantics::term::{Form, Fun, Monoid, Reduce, Term, Var};

/// More instances than this are not made.
const MAX_INSTANCES: usize = 24;

/// A parameter's element at an index; nothing stands for a place that uses a symbol
/// bound inside, or is no size.
type Element = (Var, Vec<Option<Size>>);

/// Instances at the elements in the terms, with the conditions under which they hold.
pub(crate) fn instances(hypotheses: &[Term], terms: &[&Term], fresh: &mut Fresh) -> Vec<(Cond, Term)> {
    let mut universals = Vec::new();
    hypotheses.iter().for_each(|term| conjuncts(term, &mut universals));
    let mut elements = Vec::new();
    if !universals.is_empty() {
        for side in terms {
            collect_elements(side, &mut Vec::new(), &mut elements);
        }
    }
    let mut made = Vec::new();
    for universal in universals {
        let mut patterns = Vec::new();
        collect_elements(&universal.body, &mut Vec::new(), &mut patterns);
        let mut indices: Vec<Vec<Size>> = Vec::new();
        for (var, pattern) in &patterns {
            for (_, index) in elements.iter().filter(|(other, _)| other == var) {
                if let Some(index) = matched(universal, pattern, index)
                    && !indices.contains(&index)
                {
                    indices.push(index);
                }
            }
        }
        made.extend(indices.into_iter().map(|index| instance(universal, &index, fresh)));
    }
    made.truncate(MAX_INSTANCES);
    made
}

/// The `all` reductions that a hypothesis consists of.
fn conjuncts<'a>(term: &'a Term, into: &mut Vec<&'a Reduce>) {
    match term.form() {
        Form::Reduce(reduce) if reduce.op == Monoid::All => into.push(reduce),
        Form::Call(Fun::Scalar(Scalar::LogicalAnd), args) => {
            args.iter().for_each(|arg| conjuncts(arg, into));
        }
        _ => {}
    }
}

/// Reads of parameters, with what of their indices is known here.
fn collect_elements(term: &Term, bound: &mut Vec<Sym>, into: &mut Vec<Element>) {
    if let Form::Read(base, index) = term.form()
        && let Form::Var(var) = base.form()
    {
        let outer = |size: &&Size| bound.iter().all(|sym| !size.mentions(sym));
        let index: Vec<Option<Size>> = index.iter().map(|i| i.as_size().filter(outer).cloned()).collect();
        if !into.iter().any(|(other, at)| other == var && *at == index) {
            into.push((var.clone(), index));
        }
    }
    let outer = bound.len();
    if let Form::Reduce(Reduce { binders, .. }) = term.form() {
        bound.extend(binders.iter().map(|binder| binder.sym.clone()));
    }
    children(term).into_iter().for_each(|child| collect_elements(child, bound, into));
    bound.truncate(outer);
}

/// The binders' values that make the pattern the index, if each binder stands alone at
/// some place of the pattern; one that the body does not look at is 0.
fn matched(universal: &Reduce, pattern: &[Option<Size>], index: &[Option<Size>]) -> Option<Vec<Size>> {
    let used = free_syms(&universal.body);
    let value = |sym: &Sym| {
        if !used.contains(sym) {
            return Some(Size::zero());
        }
        let alone = |size: &Option<Size>| size.as_ref().and_then(Size::as_sym) == Some(sym);
        index.get(pattern.iter().position(alone)?)?.clone()
    };
    universal.binders.iter().map(|binder| value(&binder.sym)).collect()
}

fn instance(universal: &Reduce, index: &[Size], fresh: &mut Fresh) -> (Cond, Term) {
    let (mut at, mut range) = (Subst::new(), Vec::new());
    for (binder, value) in universal.binders.iter().zip(index) {
        range.push(Cond::within(&Size::zero(), value, &at.size(&binder.extent)));
        at = at.with_size(&binder.sym, value.clone());
    }
    (Cond::and(range), at.term(&universal.body, fresh))
}
