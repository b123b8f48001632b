//! Calls of operators and functions: overloads and the instances they give.

use super::assign::same_type;
use super::bind::Bound;
use super::defs::{Entry, Origin};
use super::operator::UNNAMED;
use super::value::Value;
use super::{Frame, Lower, MAX_CALL_DEPTH, MAX_INSTANCES, Result, Stop, fail};
use crate::ast::{self, Clause, Ident};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::term::{ErrorClass, Instance, Require, Term};
use rtv_semantics::types::{Type, extent_text};
use std::sync::Arc;

/// Arguments of a call, evaluated, as written.
#[derive(Clone, Default)]
pub(super) struct Arguments {
    pub positional: Vec<(Value, Span)>,
    pub named: Vec<(Ident, Value, Span)>,
}

impl Lower<'_> {
    /// Calls an operator that a sign, a property or a condition means.
    pub(super) fn call_operator(&mut self, name: &str, args: Vec<Value>, span: Span) -> Result<Value> {
        debug_assert!(UNNAMED.contains(&name), "`{name}` is called without being named");
        self.call_by_name(&Ident { name: name.to_string(), span }, args, span)
    }

    pub(super) fn call_by_name(&mut self, name: &Ident, args: Vec<Value>, span: Span) -> Result<Value> {
        let args = Arguments { positional: args.into_iter().map(|v| (v, span)).collect(), named: Vec::new() };
        self.call_named(name, args, span)
    }

    /// Calls what a name means: a user's function or an operator.
    pub(super) fn call_named(&mut self, name: &Ident, args: Arguments, span: Span) -> Result<Value> {
        let poisoned = args.positional.iter().map(|(v, _)| v).chain(args.named.iter().map(|(_, v, _)| v));
        if poisoned.into_iter().any(|v| matches!(v, Value::Poison)) {
            return Err(Stop::Poisoned);
        }
        if let Some(entry) = self.defs.monoid(&name.name).filter(|_| !self.frame.library).cloned() {
            return self.combine_two(&entry, &args, span);
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
                return fail(
                    706,
                    span,
                    format!("calls are nested deeper than {MAX_CALL_DEPTH}, at `{}`", name.name),
                );
            }
            match self.in_callee(entry, |l| l.bind_arguments(entry, &args, span)) {
                Ok(bound) => return self.instantiate(name, entry, bound, span),
                // Whether this form is the one cannot be said: no later form may be taken.
                Err(Stop::Report(d)) if matches!(d.code, Code(206 | 211)) => return Err(Stop::Report(d)),
                Err(Stop::Report(diagnostic)) => refusals.push(*diagnostic),
                Err(Stop::Poisoned) => return Err(Stop::Poisoned),
            }
        }
        Err(no_overload(name, &args, refusals, span).into())
    }

    /// Runs `f` in the frame of a definition's text, one call deeper.
    pub(super) fn in_callee<T>(&mut self, entry: &Entry, f: impl FnOnce(&mut Self) -> T) -> T {
        let frame = Frame { library: entry.origin == Origin::Library, ..Frame::default() };
        let caller = std::mem::replace(&mut self.frame, frame);
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        self.frame = caller;
        result
    }

    /// `concat([a, b, c])` of an operator given for two and marked `@fold`.
    fn fold_over_list(
        &mut self,
        entries: &[Entry],
        name: &Ident,
        args: &Arguments,
        span: Span,
    ) -> Result<Option<Value>> {
        let Some(entry) = entries.iter().find(|e| e.has_attr("fold")) else { return Ok(None) };
        let Some((first, at)) = args.positional.first() else { return Ok(None) };
        let Some(list) = tensor_list(first) else { return Ok(None) };
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
    /// The instance of a bound overload: preconditions, body, result type.
    fn instantiate(&mut self, name: &Ident, entry: &Entry, bound: Bound<'_>, span: Span) -> Result<Value> {
        self.instances += 1;
        if self.instances > MAX_INSTANCES {
            let message = format!("more than {MAX_INSTANCES} calls are unfolded, at `{}`", name.name);
            let help = "split it into functions that are run or checked one by one";
            return Err(Diagnostic::error(Code(707), span, message).help(help).into());
        }
        let Bound { def, tensors, statics, conditions, frame, .. } = bound;
        let caller =
            std::mem::replace(&mut self.frame, Frame { library: entry.origin == Origin::Library, ..frame });
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

    fn instance_body(
        &mut self,
        name: &Ident,
        def: &ast::Def,
        conditions: Vec<(Cond, Span)>,
        span: Span,
    ) -> Result<(Vec<Require>, Term)> {
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
        let body = self.body_term(def)?;
        Ok((requires, body))
    }

    /// The body of a definition as a term of its declared result type.
    pub(super) fn body_term(&mut self, def: &ast::Def) -> Result<Term> {
        let expected = match &def.ret {
            Some(ty) => Some(self.declared_type(ty)?),
            None => None,
        };
        let value = self.block(&def.body, expected.as_ref())?;
        self.result_term(value, expected.as_ref(), result_span(&def.body))
    }

    /// One `requires` at a call: shown now, or checked at entry.
    pub(super) fn require(
        &mut self,
        expr: &ast::Expr,
        call: Span,
        requires: &mut Vec<Require>,
    ) -> Result<()> {
        let text = crate::print::print_expr(expr);
        match self.expr(expr)? {
            Value::Bool(true) => Ok(()),
            Value::Bool(false) => Err(Diagnostic::error(
                Code(210),
                call,
                format!("`{text}` is false here{}", self.setting(expr, &[])),
            )
            .label(expr.span, "required here")
            .into()),
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
                let code = if class == ErrorClass::Shape { Code(203) } else { Code(210) };
                return Err(Diagnostic::error(code, call, format!("`{text}` is false here"))
                    .label(at, "required here")
                    .into());
            }
            None => {}
        }
        if !self.lenient {
            return Err(Diagnostic::error(
                Code(210),
                call,
                format!("`{text}` does not follow from what is known"),
            )
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
            Some(t) if t.dtype == DType::Bool => {
                match self.call_operator("all", vec![Value::Term(term)], span)? {
                    Value::Term(t) => Ok(t),
                    _ => fail(201, span, "expected a condition"),
                }
            }
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
            // A list of tensors is a tuple; a list of numbers is a tensor.
            (Value::List(parts), None) if parts.iter().all(|v| matches!(v, Value::Term(_))) => {
                let terms = parts.into_iter().map(|v| self.result_term(v, None, span));
                Term::tuple(terms.collect::<Result<_>>()?, span)
            }
            (Value::Size(s, _), Some(Type::Size)) => Term::size(s, span),
            (Value::Term(t), _) => t,
            (value, Some(Type::Tensor(t))) => self.tensor_as(&value, t.dtype, span)?,
            (value, _) => self.tensor(&value, span)?,
        };
        match expected {
            Some(want) if !same_type(want, term.ty(), &|a, b| self.equal(a, b)) => {
                Err(result_mismatch(want, term.ty(), span))
            }
            _ => Ok(term),
        }
    }
}

/// The tensors of a static list, or of a tuple that an operator returned.
pub(super) fn tensor_list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::List(list) => Some(list.clone()),
        Value::Term(t) => match t.ty() {
            Type::Tuple(parts) => {
                let part = |k| Value::Term(Term::item(k, t.clone(), t.span()));
                Some((0..parts.len()).map(part).collect())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Where a body says what it returns.
fn result_span(body: &ast::Block) -> Span {
    match body.stmts.last().map(|s| &s.kind) {
        Some(ast::StmtKind::Return(expr)) => expr.span,
        _ => body.span,
    }
}

fn result_mismatch(want: &Type, found: &Type, span: Span) -> Stop {
    let code = match (want, found) {
        (Type::Tensor(a), Type::Tensor(b)) if a.dtype != b.dtype => 204,
        (Type::Tensor(a), Type::Tensor(b)) if a.shape.len() != b.shape.len() => 205,
        (Type::Tensor(_), Type::Tensor(_)) => 203,
        _ => 201,
    };
    let diagnostic =
        Diagnostic::error(Code(code), span, format!("declared `{want}`, but the body gives `{found}`"));
    let help = match (want, found) {
        (Type::Tensor(a), Type::Tensor(b)) if code == 203 => {
            let pair = a.shape.iter().zip(&b.shape).find(|(x, y)| x != y);
            pair.map(|(x, y)| {
                format!("`{} == {}` does not follow from what is known", extent_text(x), extent_text(y))
            })
        }
        _ => None,
    };
    match help {
        Some(help) => diagnostic.help(help).into(),
        None => diagnostic.into(),
    }
}

/// Labels for the calls around an error.
const MAX_CALL_LABELS: usize = 2;

/// An error inside the operator library belongs to the user's call.
fn at_call(stop: Stop, name: &Ident, origin: Origin, span: Span) -> Stop {
    match (stop, origin) {
        (Stop::Report(d), Origin::Library) => {
            let message = format!("in `{}`: {}", name.name, d.message);
            let labels = vec![rtv_semantics::diag::Label { span, text: String::new() }];
            Stop::Report(Box::new(Diagnostic { message, labels, ..*d }))
        }
        // Of many calls around an error the innermost and the outermost are shown.
        (Stop::Report(mut d), Origin::User) if d.labels.len() > MAX_CALL_LABELS => {
            d.labels.truncate(MAX_CALL_LABELS);
            Stop::Report(Box::new(d.label(span, format!("in this call of `{}`", name.name))))
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
        let named = refusal.message.starts_with(&format!("`{}`", name.name));
        let message =
            if named { refusal.message.clone() } else { format!("`{}`: {}", name.name, refusal.message) };
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
