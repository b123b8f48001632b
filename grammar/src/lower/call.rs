//! Calls of operators and functions: overloads, argument binding, instances.

use super::assign::same_type;
use super::broadcast::shape_text;
use super::defs::{Entry, Origin};
use super::shape::{GenericKind, Generics, ParamKind, generics_of, param_kind};
use super::value::Value;
use super::{Frame, Lower, MAX_CALL_DEPTH, Result, Stop, fail};
use crate::ast::{self, Clause, Dim, Elem, ExprKind, Ident, TypeKind};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::{DType, DTypeClass};
use rtv_semantics::entail::Cond;
use rtv_semantics::size::Size;
use rtv_semantics::term::{ErrorClass, Instance, Require, Term, Var};
use rtv_semantics::types::{Type, extent_text};
use std::sync::Arc;

/// Arguments of a call, evaluated, as written.
#[derive(Clone, Default)]
pub(super) struct Arguments {
    pub positional: Vec<(Value, Span)>,
    pub named: Vec<(Ident, Value, Span)>,
}

/// Parameters with the arguments they got, and the frame of the body so far.
struct Bound<'d> {
    def: &'d ast::Def,
    generics: Generics,
    /// Tensor parameters that reach the core, with their arguments.
    tensors: Vec<(Var, Type, Term)>,
    statics: Vec<(Arc<str>, String)>,
    conditions: Vec<(Cond, Span)>,
    frame: Frame,
}

impl Lower<'_> {
    /// Calls the operator of this name on values.
    pub(super) fn call_operator(&mut self, name: &str, args: Vec<Value>, span: Span) -> Result<Value> {
        let args = Arguments { positional: args.into_iter().map(|v| (v, span)).collect(), named: Vec::new() };
        self.call_named(&Ident { name: name.to_string(), span }, args, span)
    }

    /// Calls what a name means: a user's function or an operator.
    pub(super) fn call_named(&mut self, name: &Ident, args: Arguments, span: Span) -> Result<Value> {
        let poisoned = args.positional.iter().map(|(v, _)| v).chain(args.named.iter().map(|(_, v, _)| v));
        if poisoned.into_iter().any(|v| matches!(v, Value::Poison)) {
            return Err(Stop::Poisoned);
        }
        let entries = self.defs.overloads(&name.name, self.frame.library);
        if entries.is_empty() {
            return Err(self.unknown_function(name).into());
        }
        if let Some(folded) = self.fold_over_list(&entries, name, &args, span)? {
            return Ok(folded);
        }
        let mut refusals = Vec::new();
        for entry in &entries {
            if self.depth >= MAX_CALL_DEPTH {
                return fail(706, span, format!("calls are nested deeper than {MAX_CALL_DEPTH}, at `{}`", name.name));
            }
            match self.in_callee(entry, |l| l.bind_arguments(entry, &args, span)) {
                Ok(bound) => return self.instantiate(name, entry, bound, span),
                Err(Stop::Report(diagnostic)) => refusals.push(*diagnostic),
                Err(Stop::Poisoned) => return Err(Stop::Poisoned),
            }
        }
        Err(no_overload(name, &args, refusals, span).into())
    }

    /// Runs `f` in the frame of a definition's text, one call deeper.
    fn in_callee<T>(&mut self, entry: &Entry, f: impl FnOnce(&mut Self) -> T) -> T {
        let frame = Frame { library: entry.origin == Origin::Library, ..Frame::default() };
        let caller = std::mem::replace(&mut self.frame, frame);
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        self.frame = caller;
        result
    }

    /// `concat([a, b, c])` of an operator given for two and marked `@fold`.
    fn fold_over_list(&mut self, entries: &[Entry], name: &Ident, args: &Arguments, span: Span) -> Result<Option<Value>> {
        let Some(entry) = entries.iter().find(|e| e.has_attr("fold")) else { return Ok(None) };
        let Some((Value::List(list), at)) = args.positional.first() else { return Ok(None) };
        let (at, rest) = (*at, &args.positional[1..]);
        let mut items = list.iter();
        let Some(first) = items.next() else {
            return fail(218, at, format!("`{}` of an empty list", name.name));
        };
        let mut acc = Value::Term(self.tensor(first, at)?);
        if list.len() == 1 {
            // The operator still checks its other arguments on one operand.
            let mut single = args.clone();
            single.positional.splice(0..1, [(acc.clone(), at), (acc.clone(), at)]);
            let entry = entry.clone();
            self.in_callee(&entry, |l| l.bind_arguments(&entry, &single, span).map(|_| ()))?;
            return Ok(Some(acc));
        }
        for item in items {
            let mut positional = vec![(acc, at), (item.clone(), at)];
            positional.extend(rest.iter().cloned());
            acc = self.call_named(name, Arguments { positional, named: args.named.clone() }, span)?;
        }
        Ok(Some(acc))
    }

    /// Matches arguments to the parameters of one overload, in its own frame.
    fn bind_arguments<'d>(&mut self, entry: &'d Entry, args: &Arguments, span: Span) -> Result<Bound<'d>> {
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
                let value = self.static_argument(kind, value, *at, param)?;
                bound.statics.push((param.name.name.as_str().into(), static_text(&value)));
                self.bind(&param.name.name, value);
            }
        }
        if entry.has_attr("elementwise") {
            self.bind_elementwise(&mut bound, &given, span)?;
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
    fn assign_parameters(&mut self, def: &ast::Def, args: &Arguments, span: Span) -> Result<Vec<(Value, Span)>> {
        let name = &def.name.parts.last().expect("invariant: a path has parts").name;
        if let Some((_, at)) = args.positional.get(def.params.len()) {
            let (most, given) = (def.params.len(), args.positional.len());
            return fail(106, *at, format!("`{name}` takes at most {most} arguments, {given} given"));
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
                (None, None) => return fail(105, span, format!("`{name}` needs an argument `{}`", param.name.name)),
            });
        }
        Ok(result)
    }

    /// A static argument, checked against its kind.
    fn static_argument(&self, kind: ParamKind, value: &Value, at: Span, param: &ast::Param) -> Result<Value> {
        let name = &param.name;
        let wrong = |want: &str| {
            fail(201, at, format!("`{}` takes {want}, found {}", name.name, value.describe()))
        };
        if matches!(value, Value::None) {
            let optional = matches!(&param.default, Some(d) if matches!(&d.kind, ExprKind::Name(n) if n == "none"));
            return if optional || kind == ParamKind::Axes { Ok(Value::None) } else { wrong("a value") };
        }
        match (kind, value) {
            (ParamKind::Size, Value::Size(s)) if self.decide(&Cond::non_neg(s.clone())) == Some(false) => {
                fail(203, at, format!("`{}` is a size and cannot be `{s}`", name.name))
            }
            (ParamKind::Size | ParamKind::Int | ParamKind::Axis, Value::Size(_)) => Ok(value.clone()),
            (ParamKind::Size | ParamKind::Int | ParamKind::Axis, Value::Bool(b)) => Ok(Value::Size(Size::from(*b as i64))),
            (ParamKind::Bool, Value::Bool(_)) | (ParamKind::Str, Value::Str(_)) | (ParamKind::DType, Value::DType(_)) => {
                Ok(value.clone())
            }
            (ParamKind::Axes, Value::All | Value::Size(_) | Value::List(_) | Value::Tuple(_)) => {
                self.axes(value, at)?;
                Ok(value.clone())
            }
            (ParamKind::Sizes, Value::Size(_) | Value::List(_) | Value::Tuple(_)) => {
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
    fn bind_elementwise(&mut self, bound: &mut Bound<'_>, given: &[(Value, Span)], span: Span) -> Result<()> {
        let def = bound.def;
        let operands: Vec<usize> = (0..given.len())
            .filter(|&k| param_kind(&def.params[k].ty, &bound.generics) == ParamKind::Tensor)
            .filter(|&k| !matches!(given[k].0, Value::None))
            .collect();
        for (name, kind) in bound.generics.clone() {
            let GenericKind::DType(class) = kind else { continue };
            let values: Vec<Value> =
                operands.iter().filter(|&&k| elem_name(&def.params[k].ty) == Some(&name)).map(|&k| given[k].0.clone()).collect();
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
            self.bind(rank, Value::Tuple(super::value::Extents::shape(shape.clone())));
        }
        for (k, term) in terms {
            let param = &def.params[k];
            let shape = self.dims(tensor_parts(&param.ty)?.1)?;
            let term = if shape.is_empty() && !term.shape().is_empty() {
                return fail(205, given[k].1, format!("`{}` is a scalar, found `{}`", param.name.name, term.ty()));
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
            number @ Value::Size(_) => self.number_wrapped(number, dtype, at)?,
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
            .filter(|&k| matches!(param_kind(&def.params[k].ty, &bound.generics), ParamKind::Tensor | ParamKind::List))
            .partition(|&k| flexible(&given[k].0));
        let mut terms: Vec<(usize, Vec<Term>)> = Vec::new();
        for k in early.into_iter().chain(late) {
            let (param, (value, at)) = (&def.params[k], &given[k]);
            if matches!(value, Value::None) {
                self.bind(&param.name.name, Value::None);
                continue;
            }
            let is_list = param_kind(&param.ty, &bound.generics) == ParamKind::List;
            let (list, ty) = match (&param.ty.kind, value) {
                (TypeKind::List(inner), Value::List(list)) if is_list => (list.clone(), &**inner),
                (TypeKind::List(_), other) => {
                    return fail(201, *at, format!("`{}` takes a list of tensors, found {}", param.name.name, other.describe()));
                }
                _ => (vec![value.clone()], &param.ty),
            };
            let mut elements = Vec::new();
            for value in &list {
                let term = self.match_tensor(ty, value, &bound.generics, *at, &param.name)?;
                let (_, dims) = tensor_parts(ty)?;
                let actual = term.tensor_type().expect("invariant: a tensor").clone();
                self.match_dims(dims, &actual, &bound.generics, *at, &mut pending)?;
                elements.push(term);
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
    fn match_tensor(&mut self, ty: &ast::Type, value: &Value, generics: &Generics, at: Span, name: &Ident) -> Result<Term> {
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
        if natural.category() > dtype.category() {
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
                GenericKind::Size => Value::Size(Size::zero()),
                GenericKind::Rank => Value::Tuple(super::value::Extents::shape(Vec::new())),
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
            Some(name) => Err(Diagnostic::error(Code(212), span, format!("`{name}` is not determined by the arguments"))
                .help(format!("make it a parameter: `{name}: size`"))
                .into()),
            None => Ok(()),
        }
    }

    /// The instance of a bound overload: preconditions, body, result type.
    fn instantiate(&mut self, name: &Ident, entry: &Entry, bound: Bound<'_>, span: Span) -> Result<Value> {
        let Bound { def, tensors, statics, conditions, frame, .. } = bound;
        let caller = std::mem::replace(&mut self.frame, Frame { library: entry.origin == Origin::Library, ..frame });
        self.depth += 1;
        let known = self.facts.len();
        let outcome = self.instance_body(name, def, conditions, span);
        self.facts.truncate(known);
        self.depth -= 1;
        self.frame = caller;
        let (requires, body) = outcome.map_err(|stop| at_call(stop, name, entry.origin, span))?;
        let instance = Instance {
            name: name.name.as_str().into(),
            statics,
            params: tensors.iter().map(|(v, t, _)| (v.clone(), t.clone())).collect(),
            requires,
            body,
            is_op: entry.origin == Origin::Library,
        };
        let args = tensors.into_iter().map(|(_, _, arg)| arg).collect();
        Ok(Value::Term(Term::call(Arc::new(instance), args, span)))
    }

    fn instance_body(&mut self, name: &Ident, def: &ast::Def, conditions: Vec<(Cond, Span)>, span: Span) -> Result<(Vec<Require>, Term)> {
        let mut requires = Vec::new();
        for (cond, at) in conditions {
            let text = cond.to_string();
            self.require_size(cond, text, ErrorClass::Shape, at, span, &mut requires)?;
        }
        for clause in &def.clauses {
            match clause {
                Clause::Requires(list) => {
                    for expr in list {
                        self.require(expr, span, &mut requires)?;
                    }
                }
                Clause::Upto(_) => {}
                Clause::Ensures(_) | Clause::Refines(_) | Clause::Invariant(_) | Clause::Decreases(_) => {
                    return fail(391, name.span, "this clause is not supported on a function yet");
                }
            }
        }
        let expected = match &def.ret {
            Some(ty) => Some(self.declared_type(ty)?),
            None => None,
        };
        let dtype = expected.as_ref().and_then(Type::as_tensor).map(|t| t.dtype);
        let value = self.block(&def.body, dtype)?;
        let body = self.result_term(value, expected.as_ref(), def.body.span)?;
        Ok((requires, body))
    }

    /// One `requires` at a call: shown now, or checked at entry.
    pub(super) fn require(&mut self, expr: &ast::Expr, call: Span, requires: &mut Vec<Require>) -> Result<()> {
        let text = crate::print::print_expr(expr);
        match self.expr(expr)? {
            Value::Bool(true) => Ok(()),
            Value::Bool(false) => self.require_size(Cond::False, text, ErrorClass::Requires, expr.span, call, requires),
            Value::Term(t) => match t.as_cond() {
                Some(cond) => self.require_size(cond, text, ErrorClass::Requires, expr.span, call, requires),
                None => {
                    let cond = self.all_of(t, expr.span)?;
                    requires.push(Require { cond, class: ErrorClass::Requires, text, span: expr.span });
                    Ok(())
                }
            },
            other => fail(201, expr.span, format!("expected a condition, found {}", other.describe())),
        }
    }

    pub(super) fn require_size(
        &mut self,
        cond: Cond,
        text: String,
        class: ErrorClass,
        at: Span,
        call: Span,
        requires: &mut Vec<Require>,
    ) -> Result<()> {
        match self.decide(&cond) {
            Some(true) => return Ok(()),
            Some(false) => {
                return Err(Diagnostic::error(Code(210), call, format!("`{text}` is false here"))
                    .label(at, "required here")
                    .into());
            }
            None => {}
        }
        if !self.lenient {
            return Err(Diagnostic::error(Code(210), call, format!("`{text}` does not follow from what is known"))
                .label(at, "required here")
                .help(format!("add `requires {cond}`"))
                .into());
        }
        let term = Term::cond(&cond, at);
        self.facts.push(cond);
        requires.push(Require { cond: term, class, text, span: at });
        Ok(())
    }

    /// A boolean tensor as the condition that all of it holds.
    pub(super) fn all_of(&mut self, term: Term, span: Span) -> Result<Term> {
        match term.tensor_type() {
            Some(t) if t.dtype == DType::Bool && t.shape.is_empty() => Ok(term),
            Some(t) if t.dtype == DType::Bool => match self.call_operator("all", vec![Value::Term(term)], span)? {
                Value::Term(t) => Ok(t),
                _ => fail(201, span, "expected a condition"),
            },
            _ => fail(201, span, format!("expected a condition, found `{}`", term.ty())),
        }
    }

    /// The value of a body as a term of the declared result type.
    pub(super) fn result_term(&mut self, value: Value, expected: Option<&Type>, span: Span) -> Result<Term> {
        let term = match (value, expected) {
            (Value::Poison, _) => return Err(Stop::Poisoned),
            (Value::List(parts), Some(Type::Tuple(types))) if parts.len() == types.len() => {
                let terms = parts.into_iter().zip(types).map(|(v, t)| self.result_term(v, Some(t), span));
                Term::tuple(terms.collect::<Result<_>>()?, span)
            }
            (Value::Size(s), Some(Type::Size)) => Term::size(s, span),
            (Value::Term(t), _) => t,
            (value, Some(Type::Tensor(t))) => self.tensor_as(&value, t.dtype, span)?,
            (value, _) => self.tensor(&value, span)?,
        };
        match expected {
            Some(want) if !same_type(want, term.ty(), &|a, b| self.equal(a, b)) => Err(result_mismatch(want, term.ty(), span)),
            _ => Ok(term),
        }
    }
}

fn result_mismatch(want: &Type, found: &Type, span: Span) -> Stop {
    let code = match (want, found) {
        (Type::Tensor(a), Type::Tensor(b)) if a.dtype != b.dtype => 204,
        (Type::Tensor(a), Type::Tensor(b)) if a.shape.len() != b.shape.len() => 205,
        (Type::Tensor(_), Type::Tensor(_)) => 203,
        _ => 201,
    };
    let diagnostic = Diagnostic::error(Code(code), span, format!("declared `{want}`, but the body gives `{found}`"));
    let help = match (want, found) {
        (Type::Tensor(a), Type::Tensor(b)) if code == 203 => {
            let pair = a.shape.iter().zip(&b.shape).find(|(x, y)| x != y);
            pair.map(|(x, y)| format!("`{} == {}` does not follow from what is known", extent_text(x), extent_text(y)))
        }
        _ => None,
    };
    match help {
        Some(help) => diagnostic.help(help).into(),
        None => diagnostic.into(),
    }
}

/// An error inside the operator library belongs to the user's call.
fn at_call(stop: Stop, name: &Ident, origin: Origin, span: Span) -> Stop {
    match (stop, origin) {
        (Stop::Report(d), Origin::Library) => {
            let message = format!("in `{}`: {}", name.name, d.message);
            let labels = vec![rtv_semantics::diag::Label { span, text: String::new() }];
            Stop::Report(Box::new(Diagnostic { message, labels, ..*d }))
        }
        (Stop::Report(d), Origin::User) if d.span() != span => {
            Stop::Report(Box::new(d.label(span, format!("in this call of `{}`", name.name))))
        }
        (stop, _) => stop,
    }
}

/// Why no overload takes the arguments. An overload that takes arguments of these
/// kinds says more than one that does not.
fn no_overload(name: &Ident, args: &Arguments, mut refusals: Vec<Diagnostic>, span: Span) -> Diagnostic {
    const OTHER_FORM: [Code; 4] = [Code(103), Code(105), Code(106), Code(201)];
    // A wrong kind of argument, then a wrong number of axes, says that another form was meant.
    for other in [&OTHER_FORM[..], &[Code(205)]] {
        let fits = |d: &Diagnostic| !other.contains(&d.code);
        if refusals.iter().any(fits) {
            refusals.retain(fits);
        }
    }
    let same = refusals.iter().all(|d| d.code == Code(103) && d.span() == refusals[0].span());
    if refusals.len() == 1 || same {
        let refusal = refusals.remove(0);
        let message = format!("`{}`: {}", name.name, refusal.message);
        return Diagnostic { message, ..refusal };
    }
    let types: Vec<String> = args.positional.iter().map(|(v, _)| v.describe()).collect();
    let codes: Vec<Code> = refusals.iter().map(|d| d.code).collect();
    // Where all overloads refuse for one kind of cause, that is the cause.
    let kind = super::class_of(codes[0]);
    let code = if codes.iter().all(|c| super::class_of(*c) == kind) { codes[0] } else { Code(202) };
    let mut reasons: Vec<String> = refusals.iter().map(|d| d.message.clone()).collect();
    reasons.dedup();
    Diagnostic::error(code, span, format!("no form of `{}` takes {}", name.name, types.join(", ")))
        .help(format!("the forms were refused because: {}", reasons.join("; ")))
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
        Value::Size(s) => s.to_string(),
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
