//! What nodes of the graph do to their parts: heads of terms in operator form, each known by
//! one number, equal up to the names of what they bind.
//!
//! Heads of one *family* differ by sizes at most, so that a pattern looks at nodes of its own
//! family only.

use rtv_semantics::alpha::{alpha_eq, alpha_key};
use rtv_semantics::derivation::{parts, with_parts};
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::term::{Form, Fun, Term, Var};
use rtv_semantics::types::Type;
use rustc_hash::FxHashMap;

/// The place of a head in its table.
pub type HeadId = u32;

/// The heads that were met.
#[derive(Default, Debug)]
pub struct Heads {
    known: Vec<Head>,
    by_key: FxHashMap<u128, Vec<HeadId>>,
    families: FxHashMap<Family, u32>,
}

/// A head, applied to variables that stand for its parts.
#[derive(Debug)]
pub struct Head {
    pub term: Term,
    pub family: u32,
}

/// What heads have in common that differ by sizes at most: names, dtypes and ranks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Family {
    form: &'static str,
    name: String,
    parts: Vec<Kind>,
    result: Kind,
}

/// A type without its extents.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Size,
    Tensor(DType, usize),
    Tuple(Vec<Kind>),
}

impl Kind {
    fn of(ty: &Type) -> Kind {
        match ty {
            Type::Size => Kind::Size,
            Type::Tensor(t) => Kind::Tensor(t.dtype, t.shape.len()),
            Type::Tuple(parts) => Kind::Tuple(parts.iter().map(Kind::of).collect()),
        }
    }
}

impl Heads {
    /// The head of a term in operator form.
    pub fn intern(&mut self, term: &Term) -> HeadId {
        let parts = parts(term);
        let family = self.family(term, &parts);
        let term = with_parts(term, parts.iter().enumerate().map(|(at, part)| blank(at, part)).collect());
        let key = alpha_key(&term);
        let alike = self.by_key.entry(key).or_default();
        let same = |id: &&HeadId| {
            let known = &self.known[**id as usize].term;
            of_one_type(known, &term) && alpha_eq(known, &term)
        };
        if let Some(id) = alike.iter().find(same) {
            return *id;
        }
        let id = HeadId::try_from(self.known.len()).expect("invariant: fewer heads than the node limit");
        alike.push(id);
        self.known.push(Head { term, family });
        id
    }

    pub fn get(&self, id: HeadId) -> &Head {
        &self.known[id as usize]
    }

    fn family(&mut self, term: &Term, parts: &[Term]) -> u32 {
        let (form, name) = match term.form() {
            Form::Call(Fun::Op(instance), _) => ("call", instance.name.to_string()),
            Form::Call(Fun::Item(k), _) => ("item", k.to_string()),
            Form::Tuple(_) => ("tuple", String::new()),
            Form::Var(var) => ("variable", format!("{}.{}", var.name, var.id)),
            _ => ("body", String::new()),
        };
        let parts = parts.iter().map(|part| Kind::of(part.ty())).collect();
        let family = Family { form, name, parts, result: Kind::of(term.ty()) };
        let next = u32::try_from(self.families.len()).expect("invariant: fewer families than the node limit");
        *self.families.entry(family).or_insert(next)
    }
}

/// Whether heads and what they are applied to have the same types: a component of a tuple says nothing of extents.
fn of_one_type(a: &Term, b: &Term) -> bool {
    a.ty() == b.ty() && parts(a).iter().map(Term::ty).eq(parts(b).iter().map(Term::ty))
}

/// The variable that stands for a part.
fn blank(at: usize, part: &Term) -> Term {
    let id = u32::try_from(at).expect("invariant: fewer parts than the node limit");
    Term::var(Var { id, name: "\0part".into() }, part.ty().clone(), Span::default())
}
