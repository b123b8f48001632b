//! The laws of a declared monoid as claims.

use super::defs::{Entry, Origin};
use super::item::{Choice, Declared as Names, Statement, claim};
use super::monoid::parts;
use super::{Lower, fail};
use crate::ast::Item;
use rtv_semantics::diag::Span;
use rtv_semantics::program::{Claim, ClaimKind, Input, Mode, Param};
use rtv_semantics::scalar::Scalar;
use rtv_semantics::term::{Declared, Term, Var};
use rtv_semantics::types::Type;
use std::sync::Arc;

/// An element that is any: a variable, or a tuple of variables.
struct Any {
    vars: Vec<Var>,
    term: Term,
}

/// The laws of a monoid about elements of its type.
struct Stated {
    monoid: Arc<Declared>,
    span: Span,
    mode: Mode,
}

/// The name of a law, the elements that it is about, and its sides.
type Law<'v> = (&'static str, Vec<&'v Any>, Term, Term);

impl Lower<'_> {
    /// The laws of a monoid as claims: what is associative, neutral, and stays a value.
    pub fn laws(&mut self, item: &Item, choice: &Choice) -> Option<Vec<Claim>> {
        let entry = Entry { origin: Origin::User, item: Arc::new(item.clone()) };
        self.item(true, |l| {
            let parts = parts(entry.def())?;
            let chosen = |name: &str| choice.dtypes.iter().find(|(n, _)| **n == *name).map(|c| c.1);
            let name = entry.def().name.parts.last().expect("invariant: a path has parts");
            let Some(dtypes) = parts.elements.at(chosen) else {
                return fail(101, name.span, format!("unknown element type of `{}`", name.name));
            };
            let mode = l.monoid_mode(&parts)?;
            let monoid = l.monoid_at(&entry, &dtypes, name.span)?;
            let [a, b, c] = ["a", "b", "c"].map(|name| l.any(name, monoid.ty(), item.span));
            let stated = Stated { monoid, span: name.span, mode };
            let laws = stated.all([&a, &b, &c], entry.has_attr("commutative"));
            let claims = laws.into_iter().map(|(law, about, lhs, rhs)| {
                let name = format!("{}: {law}", name.name);
                let scalars = about.iter().flat_map(|any| any.vars.iter().zip(any.term.components()));
                let params = scalars.map(|(var, scalar)| Param {
                    name: var.name.clone(),
                    input: Input::Value(var.clone(), scalar.ty().clone()),
                    span: item.span,
                });
                let names = Names::of(params.collect());
                let (kind, directed, span) = (ClaimKind::Monoid, false, item.span);
                claim(Statement { name: &name, kind, mode, directed, lhs, rhs, span }, names, choice)
            });
            Ok(claims.collect())
        })
    }

    /// Any element of a type; the components of a tuple are numbered.
    fn any(&mut self, name: &str, ty: &Type, span: Span) -> Any {
        let Type::Tuple(types) = ty else {
            let var = self.fresh_var(name);
            return Any { term: Term::var(var.clone(), ty.clone(), span), vars: vec![var] };
        };
        let vars: Vec<Var> = (0..types.len()).map(|k| self.fresh_var(&format!("{name}{k}"))).collect();
        let parts = vars.iter().zip(types).map(|(var, ty)| Term::var(var.clone(), ty.clone(), span));
        Any { term: Term::tuple(parts.collect(), span), vars }
    }
}

impl Stated {
    fn all<'v>(&self, [a, b, c]: [&'v Any; 3], commutative: bool) -> Vec<Law<'v>> {
        let [x, y, z] = [a, b, c].map(|any| any.term.clone());
        let identity = || self.monoid.identity.clone();
        let combine = |left: &Term, right: &Term| {
            Term::combine(self.monoid.clone(), left.clone(), right.clone(), self.span)
        };
        let mut laws = vec![
            ("left identity", vec![a], combine(&identity(), &x), x.clone()),
            ("right identity", vec![a], combine(&x, &identity()), x.clone()),
            ("associativity", vec![a, b, c], combine(&combine(&x, &y), &z), combine(&x, &combine(&y, &z))),
        ];
        if commutative {
            laws.push(("commutativity", vec![a, b], combine(&x, &y), combine(&y, &x)));
        }
        let yes = || Term::bool(true, self.span);
        // Inputs are finite numbers over the reals, which a combination of them has to be, too;
        // the identity need not be finite, and is one more value.
        let over_reals = self.mode == Mode::Real && x.components().iter().any(|part| part.dtype().is_float());
        if let Some(value) = self.is_value(&combine(&x, &y)) {
            laws.push((
                if over_reals { "finite values" } else { "defined values" },
                vec![a, b],
                value,
                yes(),
            ));
        }
        if over_reals {
            laws.push(("identity twice", Vec::new(), combine(&identity(), &identity()), identity()));
        }
        laws
    }

    /// Whether each component is a value: over the reals finite, and of other dtypes than
    /// floats defined. Nothing if that goes without saying.
    fn is_value(&self, element: &Term) -> Option<Term> {
        let span = self.span;
        let parts = element.components().into_iter().filter_map(|part| {
            match (part.dtype().is_float(), self.mode == Mode::Real) {
                (true, true) => Some(Term::scalar(Scalar::Isfinite, vec![part], span)),
                (true, false) => None,
                (false, _) => Some(Term::scalar(Scalar::Eq, vec![part.clone(), part], span)),
            }
        });
        parts.reduce(|a, b| Term::scalar(Scalar::LogicalAnd, vec![a, b], span))
    }
}
