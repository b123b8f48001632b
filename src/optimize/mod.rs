//! Programs made cheaper by proved rules.

mod rules;

use std::collections::{BTreeMap, BTreeSet};

use rtv_egraph::{Limits, Optimized, Rules, Settings};
use rtv_runtime::cost::Cost;
use rtv_runtime::loops::ArrayDecl;
use rtv_semantics::entail::Cond;
use rtv_semantics::entail::Entails;
use rtv_semantics::guess::counterexample;
use rtv_semantics::program::{Function, Input, Mode};
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::{Fresh, Subst, children};
use rtv_semantics::term::{Form, Fun, Term, Var};
use rtv_semantics::types::Type;

pub use rules::{RuleBook, Standing, Stated, Wanted};

/// The size of an axis where a program leaves it open, for pricing: the first at which it can be priced.
pub const TYPICAL: [i64; 4] = [256, 64, 16, 4];

/// Sizes at which a program is priced, by symbol.
pub type Sizes = BTreeMap<Sym, i64>;

/// The sizes at which a function is priced: those that were asked for by name, and for others a typical
/// one. Nothing where none is found.
pub fn sizes(function: &Function, asked: &BTreeMap<String, i64>) -> Option<Sizes> {
    let mut found = TYPICAL.into_iter().filter_map(|typical| sizes_near(function, asked, typical));
    found.find(|sizes| cost(function, &function.body, sizes).is_some())
}

/// The typical size, or where the preconditions of the function forbid that, some that they allow.
fn sizes_near(function: &Function, asked: &BTreeMap<String, i64>, typical: i64) -> Option<Sizes> {
    let mut syms = BTreeSet::new();
    for param in &function.params {
        match &param.input {
            Input::Size(sym) => drop(syms.insert(sym.clone())),
            Input::Value(_, ty) => collect(ty, &mut syms),
        }
    }
    let size = |sym: &Sym| (sym.clone(), asked.get(sym.name()).copied().unwrap_or(typical));
    let sizes: Sizes = syms.iter().map(size).collect();
    let holds =
        |sizes: &Sizes, fact: &Cond| fact.eval(&|s| sizes.get(s).map(|n| i128::from(*n))) == Some(true);
    if function.facts.iter().all(|fact| holds(&sizes, fact)) {
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

fn collect(ty: &Type, syms: &mut BTreeSet<Sym>) {
    match ty {
        Type::Size => {}
        Type::Tensor(t) => t.shape.iter().for_each(|extent| extent.collect_syms(syms)),
        Type::Tuple(parts) => parts.iter().for_each(|part| collect(part, syms)),
    }
}

/// The rules that are worth a look for a program.
pub fn wanted(function: &Function, upto: Mode) -> Wanted {
    let mut wanted = Wanted { upto, dtypes: BTreeSet::new(), rank: 0 };
    let (mut open, mut seen) = (vec![&function.body], BTreeSet::new());
    while let Some(term) = open.pop() {
        if !seen.insert(term.address()) {
            continue;
        }
        if let Type::Tensor(t) = term.ty() {
            wanted.dtypes.insert(t.dtype);
            wanted.rank = wanted.rank.max(t.shape.len());
        }
        if let Form::Call(Fun::Op(instance), _) = term.form() {
            open.push(&instance.body);
        }
        open.extend(children(term));
    }
    wanted
}

/// The cost of a body of a function at sizes; nothing where it cannot be lowered.
pub fn cost(function: &Function, body: &Term, sizes: &Sizes) -> Option<Cost> {
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
    Cost::of(&subst.term(body, &mut fresh), &inputs).ok()
}

/// The cheapest program that rules make of a function at sizes.
pub fn optimize(
    function: &Function,
    rules: &mut Rules<'_>,
    sizes: &Sizes,
    limits: Limits,
    engine: &dyn Entails,
    out_of_time: &dyn Fn() -> bool,
) -> Optimized {
    let settings = Settings {
        limits,
        engine,
        out_of_time,
        sizes: &|sym| sizes.get(sym).map_or(1.0, |n| *n as f64),
        fingerprints: cfg!(debug_assertions),
        price: &|body| cost(function, body, sizes).map(|cost| cost.total()),
    };
    rtv_egraph::optimize(function, rules, &settings)
}
