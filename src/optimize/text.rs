//! The text of a function, if it says what the function is.
//!
//! A text is read again. What comes of it is the same term, or, where elaboration knew more or less than the rules
//! did, one that has the same bits at a random input.

use std::sync::Arc;

use rtv_grammar::core_text::{Naming, function_naming};
use rtv_proofs::{Module, program};
use rtv_semantics::alpha::alpha_eq;
use rtv_semantics::derivation::operator_form;
use rtv_semantics::diag::{FileId, Span};
use rtv_semantics::program::{Function, Input};
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::{Fresh, Subst, free_syms};
use rtv_semantics::term::{Instance, Term};

use super::beside::Pair;
use super::{Sizes, symbols};

/// The text of a function that reads back as the same program; nothing where none does.
pub fn text(function: &Function, sizes: &Sizes) -> Option<String> {
    let namings = [Naming::None, Naming::AfterFirst, Naming::All];
    namings.into_iter().find_map(|naming| read_back(function_naming(function, naming), function, sizes))
}

/// The text, if it is one of the function.
fn read_back(text: String, function: &Function, sizes: &Sizes) -> Option<String> {
    let file = FileId(1);
    let (module, _) = Module::new(file, rtv_grammar::parse(file, &format!("rtl 1.0\n{text}")));
    let (again, said) = program(&module, 0, 0);
    let again = again.filter(|_| !said.iter().any(|found| found.is_error()))?.0;
    let named = |sym: &Sym| sizes.iter().find(|(other, _)| other.name() == sym.name()).map(|(_, n)| *n);
    let own = symbols(&again).into_iter().map(|sym| named(&sym).map(|n| (sym, n))).collect::<Option<Sizes>>();
    let same_bits = || {
        let apart = Pair::new((function, sizes), (&again, &own?))?.apart(|x| x)?;
        Some(apart.difference == 0.0 && !apart.lost)
    };
    (is_same(function, &again) || same_bits() == Some(true)).then_some(text)
}

/// Whether two functions are the same up to the names of what they bind; sizes are told by their names.
fn is_same(function: &Function, again: &Function) -> bool {
    let (function, again) = (closed(function), closed(again));
    let known = free_syms(&function);
    let mut names = Subst::new();
    for sym in free_syms(&again) {
        let Some(meant) = known.iter().find(|other| other.name() == sym.name()) else { return false };
        names = names.with_size(&sym, Size::sym(meant));
    }
    alpha_eq(&function, &names.term(&again, &mut Fresh::above([&function, &again])))
}

/// The operator form of a function under its parameters.
fn closed(function: &Function) -> Term {
    let mut fresh = Fresh::above([&function.body]).and_above(&function.facts);
    let params = function.params.iter().filter_map(|param| match &param.input {
        Input::Value(var, ty) => Some((var.clone(), ty.clone())),
        Input::Size(_) => None,
    });
    let instance = Instance {
        name: function.name.clone(),
        statics: Vec::new(),
        params: params.collect(),
        requires: Vec::new(),
        body: operator_form(&function.body, &mut fresh).term,
        is_op: false,
    };
    Term::call(Arc::new(instance), Vec::new(), Span::default())
}
