//! Expressions.

use super::call::Arguments;
use super::operator::integer_value;
use super::shape::dtype_function;
use super::value::{Extents, Value};
use super::{Lower, Result, Stop, fail};
use crate::ast::{self, Args, Element, Expr, ExprKind, Ident};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::term::{Lit, Monoid, Term};
use rtv_semantics::types::Type;

impl Lower<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Value> {
        self.expr_as(expr, None)
    }

    /// An expression whose place wants elements of `dtype`: literals and integer
    /// sums take it.
    pub(super) fn expr_as(&mut self, expr: &Expr, dtype: Option<DType>) -> Result<Value> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Name(name) => self.name(name, span),
            ExprKind::DType(dtype) => Ok(Value::DType(*dtype)),
            ExprKind::Int(value) => Ok(integer_value(value)),
            ExprKind::Float(text) => {
                Ok(Value::Float(Term::lit(Lit::Decimal(text.as_str().into()), DType::F64, span)))
            }
            ExprKind::Str(text) => Ok(Value::Str(text.clone())),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Unary { op, arg } => {
                let arg = self.expr_as(arg, dtype)?;
                self.unary(*op, arg, span)
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let lhs = self.expr(lhs)?;
                let rhs = self.expr(rhs)?;
                self.binary(*op, lhs, rhs, span)
            }
            ExprKind::Field { base, name } => self.field(base, name, span),
            ExprKind::Index { base, items } => self.index_expr(base, items, span),
            ExprKind::Call { fun, args } => self.call_expr(fun, args, dtype, span),
            ExprKind::Tuple(parts) => self.tuple_expr(parts, span),
            ExprKind::List(elements) => self.list(elements),
            ExprKind::Comprehension { body, binders } => self.comprehension(body, binders, dtype, span),
            ExprKind::If { cond, then, otherwise } => {
                let wanted = dtype.map(Type::scalar);
                self.if_expr(cond, then, otherwise, wanted.as_ref(), span)
            }
            ExprKind::Error => Err(Stop::Poisoned),
        }
    }

    fn name(&mut self, name: &str, span: Span) -> Result<Value> {
        if let Some(value) = self.lookup(name) {
            return match value {
                Value::Poison => Err(Stop::Poisoned),
                // A variable keeps the place where it is used, for messages.
                value => Ok(value.clone()),
            };
        }
        if !self.frame.library
            && let Some(value) = self.defs.constant(name)
        {
            let value = value.clone();
            return self.expr(&value);
        }
        if let Some(value) = self.prelude_constant(name, span) {
            return Ok(value);
        }
        Err(self.unknown_name(name, span).into())
    }

    fn list(&mut self, elements: &[Element]) -> Result<Value> {
        let mut values = Vec::new();
        for element in elements {
            match element {
                Element::Expr(expr) => values.push(self.expr(expr)?),
                Element::Splat(splat) => values.extend(self.splat(splat)?.items.into_iter().map(Value::size)),
            }
        }
        Ok(Value::List(values))
    }

    /// An expression in a place that asks for a type: numbers in it, also those that are
    /// components of a tuple, take the dtypes from there.
    pub(super) fn expr_of(&mut self, expr: &Expr, wanted: Option<&Type>) -> Result<Value> {
        match (&expr.kind, wanted) {
            (ExprKind::Tuple(parts), Some(Type::Tuple(types))) if parts.len() == types.len() => {
                let mut terms = Vec::new();
                for (part, ty) in parts.iter().zip(types) {
                    let value = self.expr_of(part, Some(ty))?;
                    terms.push(self.result_term(value, Some(ty), part.span)?);
                }
                Ok(Value::Term(Term::tuple(terms, expr.span)))
            }
            (ExprKind::If { cond, then, otherwise }, Some(Type::Tuple(_))) => {
                self.if_expr(cond, then, otherwise, wanted, expr.span)
            }
            _ => self.expr_as(expr, wanted.and_then(Type::as_tensor).map(|t| t.dtype)),
        }
    }

    fn tuple_expr(&mut self, parts: &[Expr], span: Span) -> Result<Value> {
        let mut terms = Vec::new();
        for part in parts {
            let value = self.expr(part)?;
            terms.push(self.tensor(&value, part.span)?);
        }
        match terms.len() {
            1 => Ok(Value::Term(terms.remove(0))),
            _ => Ok(Value::Term(Term::tuple(terms, span))),
        }
    }

    fn if_expr(
        &mut self,
        cond: &Expr,
        then: &Expr,
        otherwise: &Expr,
        wanted: Option<&Type>,
        span: Span,
    ) -> Result<Value> {
        let test = self.expr(cond)?;
        let test = match test {
            Value::Bool(true) => return self.expr_of(then, wanted),
            Value::Bool(false) => return self.expr_of(otherwise, wanted),
            Value::Term(t) if *t.ty() == Type::scalar(DType::Bool) => t,
            Value::Poison => return Err(Stop::Poisoned),
            other => {
                return fail(
                    201,
                    cond.span,
                    format!("a condition is a bool scalar, found {}", other.describe()),
                );
            }
        };
        let yes = test.as_cond();
        let no = yes.clone().map(|c| c.negated());
        let a = self.scoped(yes.into_iter().collect(), |l| l.expr_of(then, wanted))?;
        let b = self.scoped(no.into_iter().collect(), |l| l.expr_of(otherwise, wanted))?;
        self.choice(test, a, b, wanted, span)
    }

    /// `if` between two values of one type; number branches take the other's dtype.
    pub(super) fn choice(
        &mut self,
        test: Term,
        a: Value,
        b: Value,
        wanted: Option<&Type>,
        span: Span,
    ) -> Result<Value> {
        let dtype = wanted.and_then(Type::as_tensor).map(|t| t.dtype);
        if matches!((&a, &b), (Value::Size(_, _), Value::Size(_, _)))
            && dtype.is_none()
            && self.frame.comprehensions == 0
        {
            return fail(206, span, "which branch is taken is not known, and a size is needed");
        }
        let scalars = a.is_scalar() && b.is_scalar();
        let (a, b) = if scalars {
            let operands = [self.promotion(&a, span)?, self.promotion(&b, span)?];
            let common = self.result_dtype(&operands).expect("invariant: two operands");
            let number = |v: &Value| !matches!(v, Value::Term(_));
            let common = match dtype {
                Some(d) if number(&a) && number(&b) && common.category() <= d.category() => d,
                _ => common,
            };
            (self.scalar_as(&a, common, span)?, self.scalar_as(&b, common, span)?)
        } else {
            let mut branch = |value: Value| match value {
                Value::Term(t) if matches!(t.ty(), Type::Tuple(_)) => Ok(t),
                other => self.tensor(&other, span),
            };
            (branch(a)?, branch(b)?)
        };
        if !super::assign::same_type(a.ty(), b.ty(), &|x, y| self.equal(x, y)) {
            return fail(
                206,
                span,
                format!(
                    "the branches have different types, `{}` and `{}`, and the condition is not known",
                    a.ty(),
                    b.ty()
                ),
            );
        }
        Ok(Value::Term(Term::if_(test, a, b, span)))
    }

    /// `x.T`, `x.shape` and properties without arguments.
    fn field(&mut self, base: &Expr, name: &Ident, span: Span) -> Result<Value> {
        let value = match self.expr(base)? {
            Value::List(list) if is_tensor_literal(&list) => {
                Value::Term(self.tensor(&Value::List(list), base.span)?)
            }
            value => value,
        };
        match (name.name.as_str(), &value) {
            ("T" | "mT", Value::Term(_)) => {
                let swapped = if name.name == "T" { "t" } else { "transpose" };
                let mut args = vec![value.clone()];
                if name.name == "mT" {
                    args.extend([Value::size(Size::from(-2)), Value::size(Size::from(-1))]);
                }
                self.call_operator(swapped, args, span)
            }
            ("shape", Value::Term(t)) if t.tensor_type().is_some() => {
                Ok(Value::Tuple(Extents::shape(t.shape().to_vec())))
            }
            ("dtype", Value::Term(t)) if t.tensor_type().is_some() => Ok(Value::DType(t.dtype())),
            (_, Value::Poison) => Err(Stop::Poisoned),
            (other, _) => Err(Diagnostic::error(
                Code(101),
                name.span,
                format!("{} has no field `{other}`", value.describe()),
            )
            .help(format!("methods are functions: `{other}(..)`"))
            .into()),
        }
    }

    fn index_expr(&mut self, base: &Expr, items: &[ast::IndexItem], span: Span) -> Result<Value> {
        match self.expr(base)? {
            Value::Tuple(tuple) => {
                let axis = self.static_index(items, span)?;
                match self.position(axis, &tuple.items, 0, span)? {
                    Some(k) => Ok(Value::size(tuple.items[k].clone())),
                    None => fail(208, span, "a scalar has no axes"),
                }
            }
            Value::List(list) if !is_tensor_literal(&list) || self.is_known_index(items) => {
                let k = self.static_index(items, span)?;
                let at = if k < 0 { k + list.len() as i64 } else { k };
                list.iter().try_for_each(|v| self.listed_once(v, span))?;
                match usize::try_from(at).ok().and_then(|at| list.get(at)) {
                    Some(value) => Ok(value.clone()),
                    None => {
                        fail(216, span, format!("index {k} is out of range for a list of {}", list.len()))
                    }
                }
            }
            Value::Term(t) if matches!(t.ty(), Type::Tuple(_)) => {
                let k = self.static_index(items, span)?;
                let parts = super::call::tensor_list(&Value::Term(t)).unwrap_or_default();
                let at = if k < 0 { k + parts.len() as i64 } else { k };
                match usize::try_from(at).ok().and_then(|at| parts.get(at)) {
                    Some(value) => Ok(value.clone()),
                    None => {
                        fail(216, span, format!("index {k} is out of range for a tuple of {}", parts.len()))
                    }
                }
            }
            Value::Poison => Err(Stop::Poisoned),
            value => {
                let term = self.tensor(&value, base.span)?;
                if self.frame.comprehensions > 0
                    && let Some(read) = self.element_read(&term, items, span)?
                {
                    return Ok(Value::Term(read));
                }
                self.index(term, items, span)
            }
        }
    }

    /// Whether the items are one integer literal, or its negative.
    fn is_known_index(&self, items: &[ast::IndexItem]) -> bool {
        let literal = |e: &Expr| matches!(e.kind, ExprKind::Int(_));
        match items {
            [ast::IndexItem::Expr(expr)] => match &expr.kind {
                ExprKind::Unary { arg, .. } => literal(arg),
                _ => literal(expr),
            },
            _ => false,
        }
    }

    fn static_index(&mut self, items: &[ast::IndexItem], span: Span) -> Result<i64> {
        if let [ast::IndexItem::Expr(expr)] = items
            && let Value::Size(s, _) = self.expr(expr)?
            && let Some(k) = s.as_i64()
        {
            return Ok(k);
        }
        fail(206, span, "this index must be a known integer")
    }

    fn call_expr(&mut self, fun: &Expr, args: &Args, dtype: Option<DType>, span: Span) -> Result<Value> {
        if let (ExprKind::Call { fun: word, args: head }, Args::Generator { body, binders }) =
            (&fun.kind, args)
            && let ExprKind::Name(word) = &word.kind
        {
            match word.as_str() {
                "reduce" => return self.reduce_by(head, (body, binders), dtype, span),
                "scan" => return self.scan(head, (body, binders), dtype, span),
                "fold" => return self.fold(head, (body, binders), dtype, span),
                _ => {}
            }
        }
        match &fun.kind {
            ExprKind::Field { base, name } => self.method(base, name, args, span),
            ExprKind::DType(to) => self.conversion(*to, args, span),
            ExprKind::Name(name) => match self.lookup(name) {
                Some(Value::DType(to)) => {
                    let to = *to;
                    self.conversion(to, args, span)
                }
                Some(Value::Poison) => Err(Stop::Poisoned),
                // Parameters such as `min` do not hide the function of that name.
                _ => self.named_call(&Ident { name: name.clone(), span: fun.span }, args, dtype, span),
            },
            ExprKind::Call { .. } => match self.expr(fun)? {
                Value::DType(to) => self.conversion(to, args, span),
                Value::Poison => Err(Stop::Poisoned),
                other => fail(201, fun.span, format!("{} cannot be called", other.describe())),
            },
            _ => fail(201, fun.span, "this expression cannot be called"),
        }
    }

    /// `x.sum(dim = 0)` is `sum(x, dim = 0)`.
    fn method(&mut self, base: &Expr, name: &Ident, args: &Args, span: Span) -> Result<Value> {
        if let Some(refused) = self.refused_method(name) {
            return Err(refused.into());
        }
        let value = self.expr(base)?;
        if let (Value::Term(t), "size") = (&value, name.name.as_str()) {
            let shape = Extents::shape(t.tensor_type().map(|t| t.shape.clone()).unwrap_or_default());
            let items = self.arguments(args)?;
            let Some((Value::Size(axis, _), at)) = items.positional.first() else {
                return Ok(Value::Tuple(shape));
            };
            let axis =
                axis.as_i64().map_or_else(|| fail(206, *at, "this axis must be a known integer"), Ok)?;
            return match self.position(axis, &shape.items, 0, *at)? {
                Some(k) => Ok(Value::size(shape.items[k].clone())),
                None => fail(208, *at, "a scalar has no axes"),
            };
        }
        let mut arguments = self.arguments(args)?;
        arguments.positional.insert(0, (value, base.span));
        self.call_values(name, arguments, span)
    }

    fn named_call(&mut self, name: &Ident, args: &Args, dtype: Option<DType>, span: Span) -> Result<Value> {
        if let Some(refused) = self.refused_function(&name.name, span) {
            return Err(refused.into());
        }
        if let Args::Generator { body, binders } = args {
            return match Monoid::from_name(&name.name) {
                Some(monoid) => self.reduction(monoid, body, binders, dtype, span),
                None => Err(Diagnostic::error(
                    Code(201),
                    name.span,
                    format!("`{}` does not take a generator", name.name),
                )
                .help("sum, prod, max, min, any and all do")
                .into()),
            };
        }
        if matches!(name.name.as_str(), "einsum" | "rearrange" | "reduce_pattern" | "close") {
            return self.special_form(name, args, span);
        }
        if let Some(combined) = self.combine_written(name, args, span)? {
            return Ok(combined);
        }
        let arguments = self.arguments(args)?;
        self.call_values(name, arguments, span)
    }

    /// A call with evaluated arguments: an index function, a scalar function, or a
    /// definition.
    fn call_values(&mut self, name: &Ident, arguments: Arguments, span: Span) -> Result<Value> {
        let values: Vec<Value> = arguments.positional.iter().map(|(v, _)| v.clone()).collect();
        if values.iter().any(|v| matches!(v, Value::Poison)) {
            return Err(Stop::Poisoned);
        }
        if arguments.named.is_empty() {
            if let Some(value) = self.builtin(name, &values, span)? {
                return Ok(value);
            }
            if self.is_index_call(&name.name, &values) {
                return self.index_call(name, &values, span);
            }
            let shadowed = !self.frame.library && self.defs.is_user_function(&name.name);
            if !shadowed
                && self.takes_row(&values)
                && let Some(fun) = scalar_function(&name.name)
                && fun.arity() == values.len()
            {
                return self.scalar_call(fun, &values, span);
            }
        }
        self.call_named(name, arguments, span)
    }

    /// Functions of static values: dtype functions and lengths; `min` and `max` of
    /// index tuples.
    fn builtin(&mut self, name: &Ident, values: &[Value], span: Span) -> Result<Option<Value>> {
        Ok(match (name.name.as_str(), values) {
            ("promote" | "sum_dtype" | "true_div_dtype", _) => {
                let dtypes = values.iter().map(|v| match v {
                    Value::DType(d) => Ok(*d),
                    other => fail(201, span, format!("expected a dtype, found {}", other.describe())),
                });
                Some(Value::DType(dtype_function(&name.name, &dtypes.collect::<Result<Vec<_>>>()?, span)?))
            }
            // A static list of integers, for `[.. for k in range(n)]`.
            ("range", [Value::Size(n, _)]) => match n.as_i64() {
                Some(n @ 0..=MAX_RANGE) => {
                    Some(Value::List((0..n).map(|k| Value::size(Size::from(k))).collect()))
                }
                Some(n) if n > MAX_RANGE => {
                    return fail(705, span, format!("`range` of more than {MAX_RANGE} entries"));
                }
                Some(n) => return fail(203, span, format!("`range` of {n} entries")),
                None => {
                    let why = format!("`{n}` is not known here, and `range` needs a number");
                    let help = format!("an index runs below a size: `for i in {n}`");
                    return Err(Diagnostic::error(Code(206), span, why).help(help).into());
                }
            },
            ("len", [Value::List(list)]) => {
                list.iter().try_for_each(|v| self.listed_once(v, span))?;
                Some(Value::size(Size::from(list.len() as i64)))
            }
            ("len", [Value::Tuple(e)]) => {
                self.known_rank(e, span)?;
                Some(Value::size(Size::from(e.items.len() as i64)))
            }
            ("min" | "max" | "minimum" | "maximum", [a, b])
                if matches!(a, Value::Tuple(_)) || matches!(b, Value::Tuple(_)) =>
            {
                Some(self.componentwise(name.name.starts_with("min"), a, b, span)?)
            }
            _ => None,
        })
    }

    fn componentwise(&mut self, least: bool, a: &Value, b: &Value, span: Span) -> Result<Value> {
        let index = [a, b].iter().any(|v| matches!(v, Value::Tuple(e) if e.index));
        let list = |l: &Self, v: &Value, n: usize| -> Result<Vec<Size>> {
            match v {
                Value::Size(s, _) => Ok(vec![s.clone(); n]),
                other => Ok(l.extents(other, span)?.items),
            }
        };
        let count = match (a, b) {
            (Value::Tuple(e), _) | (_, Value::Tuple(e)) => e.items.len(),
            _ => 0,
        };
        let tuples = ![a, b].iter().any(|v| matches!(v, Value::Size(_, _)));
        let (a, b) = (list(self, a, count)?, list(self, b, count)?);
        self.same_length(&a, &b, span)?;
        if tuples {
            a.iter().zip(&b).try_for_each(|(x, y)| self.as_many(x, y, span))?;
        }
        if let Some(group) = a.iter().chain(&b).find(|s| self.is_opaque(s)) {
            let message = format!("arithmetic on `{group}`, which runs over any number of axes");
            return fail(211, span, message);
        }
        let pick = |x: &Size, y: &Size| if least { self.lesser(x, y) } else { self.greater(x, y) };
        let items = a.iter().zip(&b).map(|(x, y)| self.by_component([x, y], pick(x, y), span));
        let items = items.collect::<Result<_>>()?;
        Ok(Value::Tuple(Extents { items, kept: Vec::new(), index }))
    }

    /// An entry of a list that is counted must be one entry.
    pub(super) fn listed_once(&self, value: &Value, span: Span) -> Result<()> {
        match value {
            Value::Size(s, _) => self.one_axis(s, span),
            _ => Ok(()),
        }
    }

    pub(super) fn arguments(&mut self, args: &Args) -> Result<Arguments> {
        let Args::List(list) = args else {
            return Ok(Arguments::default());
        };
        let mut arguments = Arguments::default();
        for arg in list {
            let value = self.expr(&arg.value)?;
            match &arg.name {
                Some(name) => arguments.named.push((name.clone(), value, arg.value.span)),
                None => arguments.positional.push((value, arg.value.span)),
            }
        }
        Ok(arguments)
    }

    /// `f32(x)`, `T(x)`.
    fn conversion(&mut self, to: DType, args: &Args, span: Span) -> Result<Value> {
        let arguments = self.arguments(args)?;
        let ([(value, at)], []) = (&arguments.positional[..], &arguments.named[..]) else {
            return fail(105, span, format!("`{to}(..)` converts one value"));
        };
        let term = match value {
            Value::Term(t) if t.tensor_type().is_some() => t.clone(),
            other => self.tensor_as(other, to, *at)?,
        };
        Ok(Value::Term(self.convert(term, to)?))
    }
}

/// An `if` on something that is not one truth value.
pub(super) fn no_condition(found: &Value, span: Span) -> Stop {
    let diagnostic = Diagnostic::error(
        Code(201),
        span,
        format!("a condition is a bool scalar, found {}", found.describe()),
    );
    match found {
        Value::Term(t) if t.tensor_type().is_some_and(|t| t.dtype == DType::Bool) => {
            diagnostic.help("choose by element: `where(condition, a, b)`").into()
        }
        _ => diagnostic.into(),
    }
}

/// Entries of a static `range`.
const MAX_RANGE: i64 = 4096;

/// Whether a list holds numbers only, at any depth.
fn is_tensor_literal(list: &[Value]) -> bool {
    list.iter().all(|v| match v {
        Value::List(inner) => is_tensor_literal(inner),
        other => other.is_scalar(),
    })
}

/// The row that a function name calls on scalars: the table's own names, and
/// `max`, `min` of two.
pub fn scalar_function(name: &str) -> Option<Scalar> {
    match name {
        "max" => Some(Scalar::Maximum),
        "min" => Some(Scalar::Minimum),
        _ => Scalar::from_name(name),
    }
}

/// A named argument that no parameter has: the framework's other spellings first.
pub(super) fn unknown_argument(arg: &Ident, function: &str, params: &[ast::Param]) -> Diagnostic {
    let diagnostic =
        Diagnostic::error(Code(103), arg.span, format!("`{function}` has no argument `{}`", arg.name));
    let names: Vec<&str> = params.iter().map(|p| p.name.name.as_str()).collect();
    let other = super::refuse::framework_argument(&arg.name).filter(|n| names.contains(n));
    match other.or_else(|| super::refuse::nearest(&arg.name, names.iter().copied())) {
        Some(name) => diagnostic.help(format!("did you mean `{name}`?")),
        None => diagnostic.help(format!("its arguments are: {}", names.join(", "))),
    }
}
