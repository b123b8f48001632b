//! What the elements of a monoid are, as written: a scalar type, or a tuple of them; and
//! expressions that stand for elements.

use super::value::Value;
use super::{Lower, Result, Stop, fail};
use crate::ast::{self, Def, Elem, Expr, ExprKind, Ident, TypeKind};
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::{DType, DTypeClass};
use rtv_semantics::term::Term;
use rtv_semantics::types::Type;

/// The types of the components of an element; of a scalar, its own.
pub(super) struct Elements<'d> {
    elems: Vec<&'d Elem>,
    tuple: bool,
}

impl<'d> Elements<'d> {
    /// Of a type that is a scalar or a tuple of scalars.
    pub(super) fn of(ty: &'d ast::Type) -> Option<Elements<'d>> {
        match &ty.kind {
            TypeKind::Tuple(parts) => {
                let elems = parts.iter().map(scalar_elem).collect::<Option<Vec<&Elem>>>()?;
                Some(Elements { elems, tuple: true })
            }
            _ => Some(Elements { elems: vec![scalar_elem(ty)?], tuple: false }),
        }
    }

    pub(super) fn is_tuple(&self) -> bool {
        self.tuple
    }

    /// Whether each component is a dtype or a variable for one.
    pub(super) fn is_known(&self) -> bool {
        self.elems.iter().all(|elem| !matches!(elem, Elem::Apply { .. }))
    }

    /// As it is written.
    pub(super) fn text(&self) -> String {
        let names = self.elems.iter().map(|elem| match elem {
            Elem::DType(dtype, _) => dtype.name().to_string(),
            Elem::Name(name) | Elem::Apply { name, .. } => name.name.clone(),
        });
        let names: Vec<String> = names.collect();
        if self.tuple { format!("({})", names.join(", ")) } else { names.concat() }
    }

    /// The type with these dtypes of the components.
    pub(super) fn ty(&self, dtypes: &[DType]) -> Type {
        match (self.tuple, dtypes) {
            (false, [dtype]) => Type::scalar(*dtype),
            _ => Type::Tuple(dtypes.iter().map(|dtype| Type::scalar(*dtype)).collect()),
        }
    }

    /// The dtype of a scalar that has only one.
    pub(super) fn only_dtype(&self) -> Option<DType> {
        match self.elems.as_slice() {
            [Elem::DType(dtype, _)] => Some(*dtype),
            _ => None,
        }
    }

    /// The dtype variables with what they stand for at these dtypes.
    pub(super) fn variables(&self, dtypes: &[DType]) -> Vec<(&'d Ident, DType)> {
        let pairs = self.elems.iter().zip(dtypes);
        pairs.filter_map(|(elem, dtype)| Some((variable(elem)?, *dtype))).collect()
    }

    /// The dtypes that a choice for the variables makes.
    pub(super) fn at(&self, choice: impl Fn(&str) -> Option<DType>) -> Option<Vec<DType>> {
        let dtype = |elem: &&Elem| match elem {
            Elem::DType(dtype, _) => Some(*dtype),
            _ => choice(&variable(elem)?.name),
        };
        self.elems.iter().map(dtype).collect()
    }

    /// Whether the components may be of these dtypes: each variable stands for one, of its
    /// class.
    pub(super) fn admit(&self, def: &Def, dtypes: &[DType]) -> bool {
        let variables = self.variables(dtypes);
        let one = |(name, dtype): &(&Ident, DType)| {
            variables.iter().all(|(other, d)| other.name != name.name || d == dtype)
                && class_of(def, name).is_some_and(|class| class.contains(*dtype))
        };
        let fixed = |(elem, dtype): (&&Elem, &DType)| !matches!(elem, Elem::DType(d, _) if d != dtype);
        self.elems.len() == dtypes.len()
            && self.elems.iter().zip(dtypes).all(fixed)
            && variables.iter().all(one)
    }

    /// A value that is such a tuple, of whatever dtypes.
    ///
    /// # Errors
    /// If it is none.
    pub(super) fn tuple_of(&self, value: &Value, at: Span) -> Result<Term> {
        match value {
            Value::Term(t) => {
                let parts = t.components();
                let fits = matches!(t.ty(), Type::Tuple(_)) && parts.len() == self.elems.len();
                if fits && parts.iter().all(|part| part.is_scalar() && part.tensor_type().is_some()) {
                    return Ok(t.clone());
                }
                fail(201, at, format!("this is {}, and elements are {}", value.describe(), self.text()))
            }
            Value::Poison => Err(Stop::Poisoned),
            other => fail(201, at, format!("this is {}, and elements are {}", other.describe(), self.text())),
        }
    }
}

/// An element as far as it is known without what stands beside it.
enum Written<'e> {
    Whole(Term),
    /// The components of a tuple, numbers among them.
    Apart(Vec<(Value, &'e Expr)>, Span),
}

impl Lower<'_> {
    /// Expressions for elements of one monoid, and the dtypes of their components. A number
    /// has the dtype that is written for it, or that its variable stands for elsewhere.
    pub(super) fn written_elements(
        &mut self,
        elements: &Elements<'_>,
        exprs: &[&Expr],
        dtype: Option<DType>,
    ) -> Result<(Vec<Term>, Vec<DType>)> {
        if !elements.tuple {
            let want = elements.only_dtype().or(dtype);
            let mut terms = Vec::new();
            for expr in exprs {
                let value = self.expr_as(expr, want)?;
                terms.push(self.scalar_body(value, want, expr)?);
            }
            let dtypes = terms.first().map(Term::dtype).into_iter().collect();
            return Ok((terms, dtypes));
        }
        let mut written = Vec::new();
        for expr in exprs {
            written.push(self.written_element(elements, expr)?);
        }
        let mut dtypes = Vec::new();
        for k in 0..elements.elems.len() {
            dtypes.push(self.component_dtype(elements, &written, k)?);
        }
        let mut terms = Vec::new();
        for element in written {
            terms.push(match element {
                Written::Whole(term) => term,
                Written::Apart(parts, span) => {
                    let parts = parts.into_iter().zip(&dtypes);
                    let parts =
                        parts.map(|((value, expr), dtype)| self.scalar_body(value, Some(*dtype), expr));
                    Term::tuple(parts.collect::<Result<_>>()?, span)
                }
            });
        }
        let ty = elements.ty(&dtypes);
        match terms.iter().find(|term| *term.ty() != ty) {
            Some(other) => {
                fail(204, other.span(), format!("expected an element of type `{ty}`, found `{}`", other.ty()))
            }
            None => Ok((terms, dtypes)),
        }
    }

    fn written_element<'e>(&mut self, elements: &Elements<'_>, expr: &'e Expr) -> Result<Written<'e>> {
        match &expr.kind {
            ExprKind::Tuple(parts) if parts.len() == elements.elems.len() => {
                let mut values = Vec::new();
                for (part, elem) in parts.iter().zip(&elements.elems) {
                    let fixed = if let Elem::DType(dtype, _) = elem { Some(*dtype) } else { None };
                    values.push((self.expr_as(part, fixed)?, part));
                }
                Ok(Written::Apart(values, expr.span))
            }
            _ => {
                let value = self.expr(expr)?;
                elements.tuple_of(&value, expr.span).map(Written::Whole)
            }
        }
    }

    /// The dtype of a component of elements: the one that is written, or that of a term that
    /// its variable stands for; else that of the first number.
    fn component_dtype(&self, elements: &Elements<'_>, written: &[Written<'_>], k: usize) -> Result<DType> {
        let name = match elements.elems[k] {
            Elem::DType(dtype, _) => return Ok(*dtype),
            elem => variable(elem).map(|name| &name.name),
        };
        let alike: Vec<usize> = (0..elements.elems.len())
            .filter(|&j| j == k || (name.is_some() && variable(elements.elems[j]).map(|n| &n.name) == name))
            .collect();
        let of_term = |element: &Written<'_>, at: usize| match element {
            Written::Whole(term) => Some(term.components()[at].dtype()),
            Written::Apart(parts, _) => match &parts[at].0 {
                Value::Term(t) => t.tensor_type().map(|ty| ty.dtype),
                _ => None,
            },
        };
        let places = std::iter::once(k).chain(alike);
        if let Some(dtype) =
            places.flat_map(|at| written.iter().map(move |e| (e, at))).find_map(|(e, at)| of_term(e, at))
        {
            return Ok(dtype);
        }
        match &written[0] {
            Written::Apart(parts, _) => self.natural_dtype(&parts[k].0, parts[k].1.span),
            Written::Whole(_) => unreachable!("invariant: a term has a dtype"),
        }
    }

    /// The tuple types that a function declares for its two parameters, if it says them
    /// without variables: what a fold begins with, and its elements.
    pub(super) fn tuples_of_step(&mut self, function: &Ident) -> Result<[Option<Type>; 2]> {
        let entries = self.defs.overloads(&function.name, self.frame.library);
        let [entry] = entries.as_slice() else { return Ok([None, None]) };
        let declared = |k: usize| {
            let param = entry.def().params.get(k)?;
            let elements = Elements::of(&param.ty).filter(Elements::is_tuple)?;
            Some(elements.ty(&elements.at(|_| None)?))
        };
        Ok([declared(0), declared(1)])
    }

    /// What a generator gives to a fold: a scalar, or a tuple of scalars.
    pub(super) fn folded_element(&mut self, body: &Expr, wanted: Option<&Type>) -> Result<Term> {
        self.frame.comprehensions += 1;
        let value = self.expr_of(body, wanted);
        self.frame.comprehensions -= 1;
        match value? {
            Value::Term(t)
                if matches!(t.ty(), Type::Tuple(_)) && t.components().iter().all(Term::is_scalar) =>
            {
                Ok(t)
            }
            value => self.scalar_body(value, None, body),
        }
    }
}

fn scalar_elem(ty: &ast::Type) -> Option<&Elem> {
    match &ty.kind {
        TypeKind::Tensor { elem, dims, alias: None } if dims.as_ref().is_none_or(Vec::is_empty) => Some(elem),
        _ => None,
    }
}

/// The dtype variable that a component is of.
fn variable(elem: &Elem) -> Option<&Ident> {
    match elem {
        Elem::Name(name) => Some(name),
        Elem::DType(..) | Elem::Apply { .. } => None,
    }
}

fn class_of(def: &Def, variable: &Ident) -> Option<DTypeClass> {
    def.generics.iter().find_map(|generic| match generic {
        ast::Generic::DType { name, class } if name.name == variable.name => {
            DTypeClass::from_name(&class.name)
        }
        _ => None,
    })
}
