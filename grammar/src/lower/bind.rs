//! Binding arguments to the parameters of one overload.

use super::broadcast::shape_text;
use super::call::{Arguments, tensor_list};
use super::defs::Entry;
use super::shape::{GenericKind, Generics, ParamKind, generics_of, param_kind};
use super::value::{Extents, Value};
use super::{Frame, Lower, Result, Stop, fail};
use crate::ast::{self, Dim, Elem, ExprKind, Ident, TypeKind};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::{DType, DTypeClass};
use rtv_semantics::entail::Cond;
use rtv_semantics::size::Size;
use rtv_semantics::term::{Term, Var};
use rtv_semantics::types::Type;
use std::sync::Arc;

/// Parameters with the arguments they got, and the frame of the body so far.
pub(super) struct Bound<'d> {
    pub def: &'d ast::Def,
    pub generics: Generics,
    /// Tensor parameters that reach the core, with their arguments.
    pub tensors: Vec<(Var, Type, Term)>,
    pub statics: Vec<(Arc<str>, String)>,
    pub conditions: Vec<(Cond, Span)>,
    pub frame: Frame,
}

impl Lower<'_> {
    /// Matches arguments to the parameters of one overload, in its own frame.
    pub(super) fn bind_arguments<'d>(
        &mut self,
        entry: &'d Entry,
        args: &Arguments,
        span: Span,
    ) -> Result<Bound<'d>> {
        let def = entry.def();
        let generics = generics_of(&def.generics)?;
        let given = self.assign_parameters(def, args, span)?;
        let mut bound = Bound {
            def,
            generics,
            tensors: Vec::new(),
            statics: Vec::new(),
            conditions: Vec::new(),
            frame: Frame::default(),
        };
        for (param, (value, at)) in def.params.iter().zip(&given) {
            let kind = param_kind(&param.ty, &bound.generics);
            if !matches!(kind, ParamKind::Tensor | ParamKind::List) {
                let named_none =
                    kind == ParamKind::Axes && entry.has_attr("empty_is_all") && is_empty_list(value);
                let value = if named_none { &Value::All } else { value };
                let is_size = kind == ParamKind::Size;
                let value = self.static_argument(kind, value, *at, param)?;
                if let (true, Value::Size(size, _)) = (is_size, &value) {
                    bound.conditions.push((Cond::non_neg(size.clone()), *at));
                }
                bound.statics.push((param.name.name.as_str().into(), static_text(&value)));
                self.bind(&param.name.name, value);
            }
        }
        if entry.has_attr("elementwise") {
            let strict = entry.has_word("elementwise", "strict");
            self.bind_elementwise(&mut bound, &given, strict, span)?;
        } else {
            self.bind_exact(&mut bound, &given, span)?;
        }
        if given.iter().any(|(v, _)| matches!(v, Value::None)) {
            self.default_generics(&bound);
        }
        self.check_generics_known(&bound, span)?;
        bound.frame = std::mem::take(&mut self.frame);
        Ok(bound)
    }

    /// One value for each parameter, from positions, names and defaults.
    fn assign_parameters(
        &mut self,
        def: &ast::Def,
        args: &Arguments,
        span: Span,
    ) -> Result<Vec<(Value, Span)>> {
        let name = &def.name.parts.last().expect("invariant: a path has parts").name;
        let args = &with_trailing_list(def, args);
        if let Some((_, at)) = args.positional.get(def.params.len()) {
            let (most, given) = (def.params.len(), args.positional.len());
            let arguments = if most == 1 { "argument" } else { "arguments" };
            return fail(106, *at, format!("`{name}` takes at most {most} {arguments}, {given} given"));
        }
        let mut given: Vec<Option<(Value, Span)>> = args.positional.iter().cloned().map(Some).collect();
        given.resize(def.params.len(), None);
        for (arg, value, at) in &args.named {
            let Some(k) = def.params.iter().position(|p| p.name.name == arg.name) else {
                return Err(super::expr::unknown_argument(arg, name, &def.params).into());
            };
            if given[k].is_some() {
                return fail(106, arg.span, format!("`{}` is given twice", arg.name));
            }
            given[k] = Some((value.clone(), *at));
        }
        let mut result = Vec::new();
        for (param, value) in def.params.iter().zip(given) {
            result.push(match (value, &param.default) {
                (Some(value), _) => value,
                (None, Some(default)) => (self.expr(default)?, span),
                (None, None) => {
                    return fail(105, span, format!("`{name}` needs an argument `{}`", param.name.name));
                }
            });
        }
        Ok(result)
    }

    /// A static argument, checked against its kind.
    fn static_argument(&self, kind: ParamKind, value: &Value, at: Span, param: &ast::Param) -> Result<Value> {
        let name = &param.name;
        let wrong =
            |want: &str| fail(201, at, format!("`{}` takes {want}, found {}", name.name, value.describe()));
        if matches!(value, Value::None) {
            let optional =
                matches!(&param.default, Some(d) if matches!(&d.kind, ExprKind::Name(n) if n == "none"));
            return if optional || kind == ParamKind::Axes { Ok(Value::None) } else { wrong("a value") };
        }
        match (kind, value) {
            (ParamKind::Size, Value::Size(s, _)) if self.decide(&Cond::non_neg(s.clone())) == Some(false) => {
                fail(203, at, format!("`{}` is a size and cannot be `{s}`", name.name))
            }
            (ParamKind::Size | ParamKind::Int | ParamKind::Axis, Value::Size(s, _)) => {
                Ok(Value::size(s.clone()))
            }
            (ParamKind::Size | ParamKind::Int | ParamKind::Axis, Value::Bool(b)) => {
                Ok(Value::size(Size::from(*b as i64)))
            }
            (ParamKind::Bool, Value::Bool(_))
            | (ParamKind::Str, Value::Str(_))
            | (ParamKind::DType, Value::DType(_)) => Ok(value.clone()),
            (ParamKind::Axes, Value::All | Value::Size(_, _) | Value::List(_) | Value::Tuple(_)) => {
                self.axes(value, at)?;
                Ok(value.clone())
            }
            (ParamKind::Sizes, Value::Size(_, _) | Value::List(_) | Value::Tuple(_)) => {
                Ok(Value::Tuple(self.extents(value, at)?))
            }
            (ParamKind::Size, _) => wrong("a size"),
            (ParamKind::Int, _) => wrong("an integer"),
            (ParamKind::Axis, _) => wrong("an axis"),
            (ParamKind::Axes, _) => wrong("axes (an integer, a list, or `all`)"),
            (ParamKind::Sizes, _) => wrong("a list of sizes"),
            (ParamKind::Bool, _) => wrong("`true` or `false`"),
            (ParamKind::Str, _) => wrong("a string"),
            (ParamKind::DType, _) => wrong("a dtype"),
            (ParamKind::Function, _) => fail(296, at, "functions as values are not supported yet"),
            (ParamKind::Tensor | ParamKind::List, _) => Ok(value.clone()),
        }
    }

    /// Elementwise operators: operands promote and broadcast, the body is uniform.
    /// With `strict` an operand outside the class is refused before it promotes.
    fn bind_elementwise(
        &mut self,
        bound: &mut Bound<'_>,
        given: &[(Value, Span)],
        strict: bool,
        span: Span,
    ) -> Result<()> {
        let def = bound.def;
        let operands: Vec<usize> = (0..given.len())
            .filter(|&k| param_kind(&def.params[k].ty, &bound.generics) == ParamKind::Tensor)
            .filter(|&k| !matches!(given[k].0, Value::None))
            .collect();
        for (name, kind) in bound.generics.clone() {
            let GenericKind::DType(class) = kind else { continue };
            let values: Vec<Value> = operands
                .iter()
                .filter(|&&k| elem_name(&def.params[k].ty) == Some(&name))
                .map(|&k| given[k].0.clone())
                .collect();
            for value in values.iter().filter(|_| strict) {
                let own = self.natural_dtype(value, span)?;
                if !class.contains(own) {
                    return fail(204, span, format!("{own} is not `{class}`, which `{name}` stands for"));
                }
            }
            if !values.is_empty() {
                let dtype = self.promoted(&values, class, &name, span)?;
                self.bind(&name, Value::DType(dtype));
            }
        }
        let mut terms = Vec::new();
        let mut shapes: Vec<(String, Vec<Size>)> = Vec::new();
        for &k in &operands {
            let (param, (value, at)) = (&def.params[k], &given[k]);
            let (elem, dims) = tensor_parts(&param.ty)?;
            let dtype = self.elem(elem)?;
            let term = self.operand(value, dtype, matches!(elem, Elem::DType(..)), *at)?;
            if let [Dim::Splat(s)] = dims
                && let ExprKind::Name(rank) = &s.value.kind
            {
                match shapes.iter_mut().find(|(n, _)| n == rank) {
                    Some((_, shape)) => *shape = self.broadcast_shapes(shape, term.shape(), span)?,
                    None => shapes.push((rank.clone(), term.shape().to_vec())),
                }
            }
            terms.push((k, term));
        }
        for (rank, shape) in &shapes {
            self.bind(rank, Value::Tuple(Extents::shape(shape.clone())));
        }
        for (k, term) in terms {
            let param = &def.params[k];
            let shape = self.dims(tensor_parts(&param.ty)?.1)?;
            let term = if shape.is_empty() && !term.shape().is_empty() {
                return fail(
                    205,
                    given[k].1,
                    format!("`{}` is a scalar, found `{}`", param.name.name, term.ty()),
                );
            } else {
                self.expand(term, &shape)?
            };
            self.bind_tensor(bound, &param.name, term);
        }
        let absent = (0..given.len()).filter(|k| matches!(given[*k].0, Value::None));
        absent.for_each(|k| self.bind(&def.params[k].name.name, Value::None));
        Ok(())
    }

    /// The dtype that all operands of one dtype variable meet in.
    fn promoted(&self, values: &[Value], class: DTypeClass, name: &str, span: Span) -> Result<DType> {
        let operands = values.iter().map(|v| self.promotion(v, span)).collect::<Result<Vec<_>>>()?;
        let result = self.result_dtype(&operands).expect("invariant: not empty");
        self.check_rank_independent(values, result, span)?;
        if class.contains(result) {
            return Ok(result);
        }
        if class == DTypeClass::Float {
            return Ok(result.true_div_dtype());
        }
        fail(204, span, format!("{result} is not `{class}`, which `{name}` stands for"))
    }

    /// An operand at the common dtype. Where the parameter names its dtype, only
    /// numbers convert.
    fn operand(&mut self, value: &Value, dtype: DType, fixed: bool, at: Span) -> Result<Term> {
        let term = match value {
            Value::Term(t) if t.tensor_type().is_some() => t.clone(),
            number @ Value::Size(_, _) => self.number_wrapped(number, dtype, at)?,
            other => self.tensor_as(other, dtype, at)?,
        };
        let natural = self.natural_dtype(value, at)?;
        if fixed && (term.dtype() != dtype || natural.category() > dtype.category()) {
            return fail(204, at, format!("expected {dtype}, found {natural}"));
        }
        self.convert(term, dtype)
    }

    /// Other operators: shapes match exactly, dtypes are equal.
    fn bind_exact(&mut self, bound: &mut Bound<'_>, given: &[(Value, Span)], _span: Span) -> Result<()> {
        let def = bound.def;
        let mut pending = Vec::new();
        // Tensors first, so that numbers and literals can take a dtype already known.
        let flexible = |v: &Value| !matches!(v, Value::Term(t) if t.tensor_type().is_some());
        let (late, early): (Vec<usize>, Vec<usize>) = (0..given.len())
            .filter(|&k| {
                matches!(param_kind(&def.params[k].ty, &bound.generics), ParamKind::Tensor | ParamKind::List)
            })
            .partition(|&k| flexible(&given[k].0));
        let mut terms: Vec<(usize, Vec<Term>)> = Vec::new();
        for k in early.into_iter().chain(late) {
            let (param, (value, at)) = (&def.params[k], &given[k]);
            if matches!(value, Value::None) {
                self.bind(&param.name.name, Value::None);
                continue;
            }
            let is_list = param_kind(&param.ty, &bound.generics) == ParamKind::List;
            let (list, types) = match (&param.ty.kind, tensor_list(value)) {
                (TypeKind::List(inner), Some(list)) if is_list => {
                    let types = vec![&**inner; list.len()];
                    (list, types)
                }
                (TypeKind::Tuple(types), Some(parts)) if parts.len() == types.len() => {
                    (parts, types.iter().collect())
                }
                (TypeKind::Tuple(types), _) => {
                    let (name, count, found) = (&param.name.name, types.len(), value.describe());
                    return fail(201, *at, format!("`{name}` takes a tuple of {count}, found {found}"));
                }
                (TypeKind::List(_), _) => {
                    return fail(
                        201,
                        *at,
                        format!("`{}` takes a list of tensors, found {}", param.name.name, value.describe()),
                    );
                }
                _ => (vec![value.clone()], vec![&param.ty]),
            };
            let mut elements = Vec::new();
            for (value, ty) in list.iter().zip(types) {
                let matched =
                    self.match_tensor(ty, value, &bound.generics, *at, &param.name).and_then(|term| {
                        let (_, dims) = tensor_parts(ty)?;
                        let actual = term.tensor_type().expect("invariant: a tensor").clone();
                        self.match_dims(dims, &actual, &bound.generics, *at, &mut pending)?;
                        Ok(term)
                    });
                elements.push(matched.map_err(|stop| of_argument(stop, &param.name))?);
            }
            if matches!(param.ty.kind, TypeKind::Tuple(_)) {
                elements = vec![match value {
                    Value::Term(tuple) => tuple.clone(),
                    _ => Term::tuple(elements, *at),
                }];
            }
            terms.push((k, elements));
        }
        bound.conditions.extend(self.solve_pending(pending, &bound.generics)?);
        terms.sort_by_key(|(k, _)| *k);
        for (k, elements) in terms {
            let name = &def.params[k].name;
            if param_kind(&def.params[k].ty, &bound.generics) == ParamKind::List {
                let values = elements.into_iter().map(|t| self.parameter(bound, name, t)).collect();
                self.bind(&name.name, Value::List(values));
            } else {
                elements.into_iter().for_each(|t| self.bind_tensor(bound, name, t));
            }
        }
        Ok(())
    }

    /// One tensor argument brought to the element type of its parameter.
    fn match_tensor(
        &mut self,
        ty: &ast::Type,
        value: &Value,
        generics: &Generics,
        at: Span,
        name: &Ident,
    ) -> Result<Term> {
        let (elem, _) = tensor_parts(ty)?;
        if let Value::Term(t) = value
            && t.tensor_type().is_some()
        {
            self.match_elem(elem, t.dtype(), generics, at)?;
            return Ok(t.clone());
        }
        if matches!(value, Value::Str(_) | Value::DType(_) | Value::All) {
            return fail(201, at, format!("`{}` takes a tensor, found {}", name.name, value.describe()));
        }
        // A literal takes the dtype where it is known, else its natural one.
        let known = match elem {
            Elem::Name(n) if self.lookup(&n.name).is_none() => None,
            elem => Some(self.elem(elem)?),
        };
        let natural = self.natural_dtype(value, at)?;
        let dtype = known.unwrap_or(natural);
        let bool_to_number = natural == DType::Bool && dtype != DType::Bool;
        if natural.category() > dtype.category() || bool_to_number {
            return fail(204, at, format!("`{}` is {dtype}, found {}", name.name, value.describe()));
        }
        self.match_elem(elem, dtype, generics, at)?;
        self.tensor_as(value, dtype, at)
    }

    fn parameter(&mut self, bound: &mut Bound<'_>, name: &Ident, arg: Term) -> Value {
        let var = self.fresh_var(&name.name);
        let ty = arg.ty().clone();
        let term = Term::var(var.clone(), ty.clone(), arg.span());
        bound.tensors.push((var, ty, arg));
        Value::Term(term)
    }

    fn bind_tensor(&mut self, bound: &mut Bound<'_>, name: &Ident, arg: Term) {
        let value = self.parameter(bound, name, arg);
        self.bind(&name.name, value);
    }

    /// Variables that occur only in parameters that were left out stand for nothing.
    fn default_generics(&mut self, bound: &Bound<'_>) {
        for (name, kind) in &bound.generics {
            if self.lookup(name).is_some() {
                continue;
            }
            let nothing = match kind {
                GenericKind::Size => Value::size(Size::zero()),
                GenericKind::Rank => Value::Tuple(Extents::shape(Vec::new())),
                GenericKind::DType(class) => match class.members().last() {
                    Some(dtype) => Value::DType(*dtype),
                    None => continue,
                },
            };
            self.bind(name, nothing);
        }
    }

    fn check_generics_known(&self, bound: &Bound<'_>, span: Span) -> Result<()> {
        match bound.generics.keys().find(|name| self.lookup(name).is_none()) {
            Some(name) => Err(Diagnostic::error(
                Code(212),
                span,
                format!("`{name}` is not determined by the arguments"),
            )
            .help(format!("make it a parameter: `{name}: size`"))
            .into()),
            None => Ok(()),
        }
    }
}

/// A reduction over `dim = []`: of some operators it is one over all axes.
fn is_empty_list(value: &Value) -> bool {
    match value {
        Value::List(list) => list.is_empty(),
        Value::Tuple(tuple) => tuple.items.is_empty(),
        _ => false,
    }
}

/// `x.permute(2, 0, 1)` for `x.permute([2, 0, 1])`: integers beyond the last parameter,
/// where that takes a list of them, are the list.
fn with_trailing_list(def: &ast::Def, args: &Arguments) -> Arguments {
    let mut args = args.clone();
    let generics = generics_of(&def.generics).unwrap_or_default();
    let takes_list =
        |p: &ast::Param| matches!(param_kind(&p.ty, &generics), ParamKind::Sizes | ParamKind::Axes);
    let at = def.params.len().saturating_sub(1);
    if args.positional.len() <= def.params.len() || !def.params.last().is_some_and(takes_list) {
        return args;
    }
    if args.positional[at..].iter().all(|(v, _)| matches!(v, Value::Size(_, _))) {
        let trailing: Vec<(Value, Span)> = args.positional.drain(at..).collect();
        let span = trailing[0].1.to(trailing[trailing.len() - 1].1);
        args.positional.push((Value::List(trailing.into_iter().map(|(v, _)| v).collect()), span));
    }
    args
}

/// A failure to match, with the argument it is about.
fn of_argument(stop: Stop, name: &Ident) -> Stop {
    match stop {
        Stop::Report(d) if !d.message.starts_with(&format!("`{}`", name.name)) => {
            let message = format!("argument `{}`: {}", name.name, d.message);
            Stop::Report(Box::new(Diagnostic { message, ..*d }))
        }
        stop => stop,
    }
}

/// Element type and dimensions of a tensor type.
fn tensor_parts(ty: &ast::Type) -> Result<(&Elem, &[Dim])> {
    match &ty.kind {
        TypeKind::Tensor { elem, dims, .. } => Ok((elem, dims.as_deref().unwrap_or_default())),
        _ => fail(291, ty.span, "a parameter of this type is not supported yet"),
    }
}

fn elem_name(ty: &ast::Type) -> Option<&String> {
    match &ty.kind {
        TypeKind::Tensor { elem: Elem::Name(name), .. } => Some(&name.name),
        _ => None,
    }
}

/// A static argument as the surface writes it.
fn static_text(value: &Value) -> String {
    match value {
        Value::Size(s, _) => s.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Str(s) => format!("{s:?}"),
        Value::DType(d) => d.to_string(),
        Value::Tuple(e) => shape_text(&e.items),
        Value::List(list) => format!("[{}]", list.iter().map(static_text).collect::<Vec<_>>().join(", ")),
        Value::All => "all".into(),
        Value::None => "none".into(),
        Value::Term(_) | Value::Float(_) | Value::Poison => "..".into(),
    }
}
