//! Sizes at which programs are priced, and what they cost there.

use std::collections::{BTreeMap, BTreeSet};

use rtv_runtime::cost::Cost;
use rtv_runtime::loops::ArrayDecl;
use rtv_semantics::entail::Cond;
use rtv_semantics::guess::counterexample;
use rtv_semantics::program::{Function, Input};
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::{Fresh, Subst};
use rtv_semantics::term::{Term, Var};
use rtv_semantics::types::Type;

/// Other sizes that are looked at, of so many symbols at most.
const ELSEWHERE: usize = 4;
/// How much smaller a size is there.
const SMALLER: i64 = 16;

/// The size of an axis where a program leaves it open, for pricing: the first at which it can be priced.
pub const TYPICAL: [i64; 4] = [256, 64, 16, 4];

/// Sizes at which a program is priced, by symbol.
pub type Sizes = BTreeMap<Sym, i64>;

/// The sizes at which a function is priced: those that were asked for by name, and for others a typical
/// one.
///
/// # Errors
/// Where none is found: why it cannot be priced at the last that were tried.
pub fn sizes(function: &Function, asked: &BTreeMap<String, i64>) -> Result<Sizes, String> {
    let mut why = String::new();
    for typical in TYPICAL {
        let found = sizes_near(function, asked, typical)
            .ok_or_else(|| "no sizes were found that its preconditions allow".to_string())
            .and_then(|sizes| priced(function, &function.body, &sizes).map(|_| sizes));
        match found {
            Ok(sizes) => return Ok(sizes),
            Err(fault) => why = fault,
        }
    }
    Err(why)
}

/// The typical size, or where the preconditions of the function forbid that, some that they allow.
pub(super) fn sizes_near(function: &Function, asked: &BTreeMap<String, i64>, typical: i64) -> Option<Sizes> {
    let syms = symbols(function);
    let size = |sym: &Sym| (sym.clone(), asked.get(sym.name()).copied().unwrap_or(typical));
    let sizes: Sizes = syms.iter().map(size).collect();
    if are_allowed(function, &sizes) {
        return Some(sizes);
    }
    let given: Vec<Cond> = syms
        .iter()
        .filter_map(|sym| Some(Cond::eq(&Size::sym(sym), &Size::int(*asked.get(sym.name())?))))
        .collect();
    let facts: Vec<Cond> = function.facts.iter().cloned().chain(given).collect();
    let found: BTreeMap<Sym, i128> = counterexample(&facts, &Cond::False)?.into_iter().collect();
    let size = |sym: &Sym| found.get(sym).copied().and_then(|n| i64::try_from(n).ok()).unwrap_or(typical);
    Some(syms.iter().map(|sym| (sym.clone(), size(sym))).collect())
}

/// Sizes near these, which the preconditions allow: each of those that were not asked for, much smaller.
pub fn elsewhere(function: &Function, asked: &BTreeMap<String, i64>, sizes: &Sizes) -> Vec<Sizes> {
    let open = sizes.iter().filter(|(sym, n)| !asked.contains_key(sym.name()) && **n >= SMALLER);
    let smaller = open.take(ELSEWHERE).map(|(sym, n)| {
        let mut sizes = sizes.clone();
        sizes.insert(sym.clone(), n / SMALLER);
        sizes
    });
    smaller.filter(|sizes| are_allowed(function, sizes)).collect()
}

fn are_allowed(function: &Function, sizes: &Sizes) -> bool {
    let size = |sym: &Sym| sizes.get(sym).map(|n| i128::from(*n));
    function.facts.iter().all(|fact| fact.eval(&size) == Some(true))
}

/// The sizes that are open in a function.
pub fn symbols(function: &Function) -> BTreeSet<Sym> {
    let mut syms = BTreeSet::new();
    for param in &function.params {
        match &param.input {
            Input::Size(sym) => drop(syms.insert(sym.clone())),
            Input::Value(_, ty) => collect(ty, &mut syms),
        }
    }
    syms
}

fn collect(ty: &Type, syms: &mut BTreeSet<Sym>) {
    match ty {
        Type::Size => {}
        Type::Tensor(t) => t.shape.iter().for_each(|extent| extent.collect_syms(syms)),
        Type::Tuple(parts) => parts.iter().for_each(|part| collect(part, syms)),
    }
}

/// The cost of a body of a function at sizes; nothing where it cannot be lowered.
pub fn cost(function: &Function, body: &Term, sizes: &Sizes) -> Option<Cost> {
    priced(function, body, sizes).ok()
}

/// The same, or why it has none.
fn priced(function: &Function, body: &Term, sizes: &Sizes) -> Result<Cost, String> {
    let (term, inputs) =
        at_sizes(function, body, sizes).ok_or("a parameter is no tensor of sizes that are known")?;
    Cost::of(&term, &inputs).map_err(|fault| fault.message)
}

/// The same as one number, which is infinite where it cannot be told.
pub(super) fn total(function: &Function, body: &Term, sizes: &Sizes) -> f64 {
    cost(function, body, sizes).map_or(f64::INFINITY, |cost| cost.total())
}

/// A body of a function at sizes, with its inputs.
pub fn at_sizes(function: &Function, body: &Term, sizes: &Sizes) -> Option<(Term, Vec<(Var, ArrayDecl)>)> {
    let mut fresh = Fresh::above([body]).and_above(&function.facts);
    let subst = sizes.iter().fold(Subst::new(), |subst, (sym, n)| subst.with_size(sym, Size::int(*n)));
    let mut inputs: Vec<(Var, ArrayDecl)> = Vec::new();
    for param in &function.params {
        if let Input::Value(var, ty) = &param.input {
            let ty = subst.ty(ty);
            let t = ty.as_tensor()?;
            let shape: Option<Vec<usize>> =
                t.shape.iter().map(|extent| usize::try_from(extent.as_i64()?).ok()).collect();
            inputs.push((var.clone(), ArrayDecl { dtype: t.dtype, shape: shape? }));
        }
    }
    Some((subst.term(body, &mut fresh), inputs))
}
