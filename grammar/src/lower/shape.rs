//! Types: what a written type means here, and matching declared against given ones.

use super::refuse::framework_type;
use super::value::{Extents, Value};
use super::{Lower, Result, fail};
use crate::ast::{self, Dim, Elem, ExprKind, TypeKind};
use num_traits::{One, Zero};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::{DType, DTypeClass};
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, SymKind};
use rtv_semantics::types::{TensorType, Type, extent_text};
use std::collections::BTreeMap;

/// What a generic name of a definition may become.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum GenericKind {
    Size,
    Rank,
    DType(DTypeClass),
}

/// Generics of the definition at hand; each is bound once, as a name of the frame.
pub(super) type Generics = BTreeMap<String, GenericKind>;

/// The kind of a parameter as its written type says.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ParamKind {
    Tensor,
    List,
    Size,
    Int,
    Bool,
    Str,
    DType,
    Axis,
    Axes,
    Sizes,
    Function,
}

/// An equation left for when more generics are known: written extent, given one.
pub(super) struct Pending<'t> {
    expr: &'t ast::Expr,
    actual: Size,
    span: Span,
}

pub(super) fn generics_of(list: &[ast::Generic]) -> Result<Generics> {
    let mut generics = Generics::new();
    for generic in list {
        let (name, kind) = match generic {
            ast::Generic::Size(name) => (name, GenericKind::Size),
            ast::Generic::Rank(name) => (name, GenericKind::Rank),
            ast::Generic::DType { name, class } => match DTypeClass::from_name(&class.name) {
                Some(c) => (name, GenericKind::DType(c)),
                None => {
                    return Err(Diagnostic::error(
                        Code(102),
                        class.span,
                        format!("unknown dtype class `{}`", class.name),
                    )
                    .help(match class.name.as_str() {
                        "size" | "nat" => format!("a size is declared without a class: `[{}]`", name.name),
                        _ => "the classes are `any`, `num`, `int` and `float`".to_string(),
                    })
                    .into());
                }
            },
        };
        if generics.insert(name.name.clone(), kind).is_some() {
            return fail(104, name.span, format!("`{}` is declared twice", name.name));
        }
    }
    Ok(generics)
}

pub(super) fn param_kind(ty: &ast::Type, generics: &Generics) -> ParamKind {
    match &ty.kind {
        TypeKind::Tensor { elem: Elem::Name(name), dims: None, .. } if !generics.contains_key(&name.name) => {
            match name.name.as_str() {
                "size" => ParamKind::Size,
                "int" => ParamKind::Int,
                "str" => ParamKind::Str,
                "dtype" => ParamKind::DType,
                "axis" => ParamKind::Axis,
                "axes" => ParamKind::Axes,
                "sizes" => ParamKind::Sizes,
                _ => ParamKind::Tensor,
            }
        }
        // A bare `bool` is a static flag; a boolean scalar is written `bool[]`.
        TypeKind::Tensor { elem: Elem::DType(DType::Bool, _), dims: None, .. } => ParamKind::Bool,
        TypeKind::Tensor { .. } | TypeKind::Tuple(_) => ParamKind::Tensor,
        TypeKind::List(inner) => match param_kind(inner, generics) {
            ParamKind::Size | ParamKind::Int => ParamKind::Sizes,
            _ => ParamKind::List,
        },
        TypeKind::Fn { .. } => ParamKind::Function,
    }
}

impl Lower<'_> {
    /// The dtype an element type names here.
    pub(super) fn elem(&mut self, elem: &Elem) -> Result<DType> {
        match elem {
            Elem::DType(dtype, _) => Ok(*dtype),
            Elem::Name(name) => match self.lookup(&name.name) {
                Some(Value::DType(dtype)) => Ok(*dtype),
                Some(Value::Poison) => Err(super::Stop::Poisoned),
                _ if framework_type(&name.name).is_some() => {
                    let unknown = format!("unknown element type `{}`", name.name);
                    let diagnostic = Diagnostic::error(Code(102), name.span, unknown);
                    Err(diagnostic.help(framework_type(&name.name).unwrap_or_default()).into())
                }
                _ => Err(Diagnostic::error(
                    Code(102),
                    name.span,
                    format!("unknown element type `{}`", name.name),
                )
                .help(format!("declare it: `[.., {}: any]`, or use a dtype such as `f32`", name.name))
                .into()),
            },
            Elem::Apply { name, args } => {
                let dtypes = args.iter().map(|e| self.elem(e)).collect::<Result<Vec<_>>>()?;
                dtype_function(&name.name, &dtypes, name.span)
            }
        }
    }

    /// The shape that written dimensions mean, every name being known.
    pub(super) fn dims(&mut self, dims: &[Dim]) -> Result<Vec<Size>> {
        let mut shape = Vec::new();
        for dim in dims {
            match dim {
                Dim::Size(expr) => {
                    let value = self.expr(expr)?;
                    shape.push(self.integer(&value, expr.span)?);
                }
                Dim::Splat(splat) => shape.extend(self.splat(splat)?.items),
                Dim::Exists(name) => {
                    return fail(
                        295,
                        name.span,
                        format!("`?{}`: sizes that depend on data are not supported yet", name.name),
                    );
                }
            }
        }
        Ok(shape)
    }

    /// A written type, every name being known.
    pub(super) fn declared_type(&mut self, ty: &ast::Type) -> Result<Type> {
        match &ty.kind {
            TypeKind::Tensor { elem: Elem::Name(name), dims: None, .. } if name.name == "size" => {
                Ok(Type::Size)
            }
            TypeKind::Tensor { elem, dims, .. } => {
                let dtype = self.elem(elem)?;
                let shape = self.dims(dims.as_deref().unwrap_or_default())?;
                Ok(Type::tensor(dtype, shape))
            }
            TypeKind::Tuple(parts) => {
                Ok(Type::Tuple(parts.iter().map(|t| self.declared_type(t)).collect::<Result<_>>()?))
            }
            TypeKind::List(_) => fail(297, ty.span, "a list of tensors is static and cannot be a result"),
            TypeKind::Fn { .. } => fail(296, ty.span, "functions as values are not supported yet"),
        }
    }

    /// Binds a generic dtype, or compares with what it is bound to.
    pub(super) fn match_elem(
        &mut self,
        elem: &Elem,
        actual: DType,
        generics: &Generics,
        span: Span,
    ) -> Result<()> {
        if let Elem::Name(name) = elem
            && let Some(GenericKind::DType(class)) = generics.get(&name.name)
            && self.lookup(&name.name).is_none()
        {
            if !class.contains(actual) {
                return fail(
                    204,
                    span,
                    format!("{actual} is not `{class}`, which `{}` stands for", name.name),
                );
            }
            self.bind(&name.name, Value::DType(actual));
            return Ok(());
        }
        let want = self.elem(elem)?;
        if want == actual {
            return Ok(());
        }
        Err(Diagnostic::error(Code(204), span, format!("expected {want}, found {actual}"))
            .help(format!("convert it: `{want}(..)`"))
            .into())
    }

    /// Matches written dimensions against a given shape: binds what is new,
    /// compares what is known, and leaves equations in `pending`.
    pub(super) fn match_dims<'t>(
        &mut self,
        dims: &'t [Dim],
        actual: &TensorType,
        generics: &Generics,
        span: Span,
        pending: &mut Vec<Pending<'t>>,
    ) -> Result<()> {
        let (before, splat, after) = self.split_at_splat(dims, generics)?;
        let fixed = before.len() + after.len();
        let count = actual.shape.len();
        if fixed > count || (splat.is_none() && fixed != count) {
            // What is given has at least as many axes as entries; at a higher rank it may fit.
            if fixed > count {
                self.countable(&actual.shape, span)?;
            }
            let least = if splat.is_some() { "at least " } else { "" };
            let axes = if fixed == 1 { "axis" } else { "axes" };
            return fail(205, span, format!("expected {least}{fixed} {axes}, found {count}: `{actual}`"));
        }
        let (lead, rest) = actual.shape.split_at(before.len());
        let (middle, trail) = rest.split_at(count - fixed);
        for (pattern, size) in before.iter().zip(lead).chain(after.iter().zip(trail)) {
            self.match_piece(pattern, size, generics, actual, span, pending)?;
        }
        if let Some(name) = splat {
            self.bind(&name, Value::Tuple(Extents::shape(middle.to_vec())));
        }
        Ok(())
    }

    /// Dimensions as single pieces around the one rank variable still unbound.
    fn split_at_splat<'t>(
        &mut self,
        dims: &'t [Dim],
        generics: &Generics,
    ) -> Result<(Vec<Piece<'t>>, Option<String>, Vec<Piece<'t>>)> {
        let (mut before, mut splat, mut after) = (Vec::new(), None, Vec::new());
        for dim in dims {
            let pieces = match dim {
                Dim::Size(expr) => vec![Piece::Written(expr)],
                Dim::Splat(s) => match &s.value.kind {
                    ExprKind::Name(name)
                        if generics.get(name) == Some(&GenericKind::Rank) && self.lookup(name).is_none() =>
                    {
                        if splat.is_some() {
                            return fail(
                                212,
                                s.span,
                                format!("how many axes `*{name}` takes is not determined"),
                            );
                        }
                        splat = Some(name.clone());
                        continue;
                    }
                    _ => self.splat(s)?.items.into_iter().map(Piece::Known).collect(),
                },
                Dim::Exists(name) => {
                    return fail(295, name.span, "sizes that depend on data are not supported yet");
                }
            };
            if splat.is_some() { after.extend(pieces) } else { before.extend(pieces) }
        }
        Ok((before, splat, after))
    }

    fn match_piece<'t>(
        &mut self,
        piece: &Piece<'t>,
        actual: &Size,
        generics: &Generics,
        whole: &TensorType,
        span: Span,
        pending: &mut Vec<Pending<'t>>,
    ) -> Result<()> {
        let expr = match piece {
            Piece::Known(want) => return self.match_extent(want, actual, whole, span),
            Piece::Written(expr) => expr,
        };
        match &expr.kind {
            ExprKind::Name(name)
                if generics.get(name) == Some(&GenericKind::Size) && self.lookup(name).is_none() =>
            {
                if self.is_many(actual) {
                    let group = extent_text(actual);
                    return fail(211, span, format!("`{group}` is any number of axes, `{name}` is one"));
                }
                self.bind(name, Value::size(actual.clone()));
                Ok(())
            }
            ExprKind::Name(_) | ExprKind::Int(_) => {
                let value = self.expr(expr)?;
                let want = self.integer(&value, expr.span)?;
                self.match_extent(&want, actual, whole, span)
            }
            _ => {
                self.countable(std::slice::from_ref(actual), span)?;
                pending.push(Pending { expr, actual: actual.clone(), span });
                Ok(())
            }
        }
    }

    fn match_extent(&mut self, want: &Size, actual: &Size, whole: &TensorType, span: Span) -> Result<()> {
        if self.equal(want, actual) {
            return Ok(());
        }
        self.as_many(want, actual, span)?;
        let never = self.decide(&Cond::eq(want, actual)) == Some(false);
        let (want, actual) = (extent_text(want), extent_text(actual));
        let message = format!("expected extent `{want}`, found `{actual}` in `{whole}`");
        let help = if never {
            format!("`{want}` and `{actual}` are never equal here")
        } else {
            format!(
                "`{want} == {actual}` does not follow from what is known; add `requires {want} == {actual}`"
            )
        };
        Err(Diagnostic::error(Code(203), span, message).help(help).into())
    }

    /// Solves the equations that matching left: each for at most one generic, in
    /// which it must be linear. Returns the conditions under which the solutions hold.
    pub(super) fn solve_pending(
        &mut self,
        pending: Vec<Pending<'_>>,
        generics: &Generics,
    ) -> Result<Vec<(Cond, Span)>> {
        let mut conditions = Vec::new();
        for equation in pending {
            let mut unknown: Vec<String> = Vec::new();
            for name in names_in(equation.expr) {
                if generics.get(&name) == Some(&GenericKind::Size)
                    && self.lookup(&name).is_none()
                    && !unknown.contains(&name)
                {
                    unknown.push(name);
                }
            }
            let cond = match &unknown[..] {
                [] => {
                    let value = self.expr(equation.expr)?;
                    Cond::eq(&self.integer(&value, equation.span)?, &equation.actual)
                }
                [name] => self.solve(name, &equation)?,
                [a, b, ..] => {
                    let message = format!("`{a}` and `{b}` cannot both be found from one extent");
                    return Err(Diagnostic::error(Code(212), equation.expr.span, message)
                        .help(format!("make one a parameter: `{a}: size`"))
                        .into());
                }
            };
            if self.decide(&cond) == Some(false) {
                let written = crate::print::print_expr(equation.expr);
                let given = self.setting(equation.expr, &unknown);
                return fail(
                    203,
                    equation.span,
                    format!("extent `{}` is not `{written}`{given}", equation.actual),
                );
            }
            conditions.push((cond, equation.span));
        }
        Ok(conditions)
    }

    /// ` with N = 3, n = 9`: the sizes that an expression mentions, but for `unknown`.
    pub(super) fn setting(&self, expr: &ast::Expr, unknown: &[String]) -> String {
        let value = |name: &String| match self.lookup(name) {
            Some(Value::Size(s, _)) if !unknown.contains(name) => Some(format!("{name} = {s}")),
            Some(Value::Tuple(e)) => Some(format!("{name} = {}", super::broadcast::shape_text(&e.items))),
            _ => None,
        };
        let mut known: Vec<String> = names_in(expr).iter().filter_map(value).collect();
        known.sort();
        known.dedup();
        if known.is_empty() { String::new() } else { format!(" with {}", known.join(", ")) }
    }

    /// `actual == c*u + r` for the unknown `u`: binds `u` to the quotient and gives
    /// the condition that it divides.
    fn solve(&mut self, name: &str, equation: &Pending<'_>) -> Result<Cond> {
        let probe = self.fresh_sym(SymKind::Size, name);
        let mark = self.frame.names.len();
        self.bind(name, Value::size(Size::sym(&probe)));
        let written = self.expr(equation.expr);
        self.frame.names.truncate(mark);
        let poly = self.integer(&written?, equation.span)?;
        let (mut c, mut r) = (Size::zero(), Size::zero());
        for (monomial, coefficient) in poly.terms() {
            let mut rest = Size::int(coefficient.clone());
            let mut degree = 0;
            for (atom, power) in monomial {
                match atom {
                    rtv_semantics::size::Atom::Sym(s) if *s == probe => degree += power,
                    _ => rest = (0..*power).fold(rest, |acc, _| &acc * &Size::atom(atom.clone())),
                }
            }
            match degree {
                0 => r = &r + &rest,
                1 => c = &c + &rest,
                _ => return fail(212, equation.expr.span, format!("`{name}` cannot be found from `{poly}`")),
            }
        }
        if r.mentions(&probe) || c.mentions(&probe) || c.as_const().is_some_and(|k| k.is_zero()) {
            return fail(212, equation.expr.span, format!("`{name}` cannot be found from `{poly}`"));
        }
        let rest = &equation.actual - &r;
        let solution = match c.as_const() {
            Some(k) if k.is_one() => rest.clone(),
            _ => self.factor(&rest, &c),
        };
        self.bind(name, Value::size(solution.clone()));
        Ok(Cond::and([Cond::eq(&(&c * &solution), &rest), Cond::non_neg(solution)]))
    }
}

/// One written dimension, or one known extent of a splat.
enum Piece<'t> {
    Written(&'t ast::Expr),
    Known(Size),
}

/// `promote`, `sum_dtype`, `true_div_dtype`.
pub(super) fn dtype_function(name: &str, args: &[DType], span: Span) -> Result<DType> {
    match (name, args) {
        ("promote", [a, b]) => Ok(a.promote(*b)),
        ("sum_dtype", [a]) => Ok(a.sum_dtype()),
        ("true_div_dtype", [a]) => Ok(a.true_div_dtype()),
        ("promote" | "sum_dtype" | "true_div_dtype", _) => {
            fail(105, span, format!("`{name}` takes {} dtypes", if name == "promote" { 2 } else { 1 }))
        }
        _ => Err(Diagnostic::error(Code(102), span, format!("unknown dtype function `{name}`"))
            .help("the dtype functions are `promote`, `sum_dtype` and `true_div_dtype`")
            .into()),
    }
}

/// The names an arithmetic expression over sizes mentions.
fn names_in(expr: &ast::Expr) -> Vec<String> {
    match &expr.kind {
        ExprKind::Name(name) => vec![name.clone()],
        ExprKind::Unary { arg, .. } => names_in(arg),
        ExprKind::Binary { lhs, rhs, .. } => [names_in(lhs), names_in(rhs)].concat(),
        ExprKind::Call { args: ast::Args::List(args), .. } => {
            args.iter().flat_map(|a| names_in(&a.value)).collect()
        }
        ExprKind::Index { base, .. } => names_in(base),
        _ => Vec::new(),
    }
}
