//! Forms with axis patterns: `einsum` and `rearrange`.

use super::broadcast::sizes;
use super::value::{Extents, Value};
use super::{Lower, Result, fail};
use crate::ast::{Args, Ident, PatternAxis, PatternAxisKind};
use crate::einpattern::{PatternStyle, parse_pattern};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Size, SymKind};
use rtv_semantics::term::{Binder, ErrorClass, Instance, Monoid, Require, Term};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Named axes in order of appearance. `...` is a list of axes of its own.
#[derive(Default)]
struct Axes {
    extents: BTreeMap<String, Size>,
    order: Vec<String>,
    /// `...` is summed over, also where it stands for no axis.
    sums_dots: bool,
}

/// How the axes that `...` stands for are named inside.
fn ellipsis_axis(k: usize) -> String {
    format!("...{k}")
}

impl Lower<'_> {
    pub(super) fn special_form(&mut self, name: &Ident, args: &Args, span: Span) -> Result<Value> {
        match name.name.as_str() {
            "einsum" => self.einsum(args, span),
            "rearrange" => self.rearrange(args, span),
            other => fail(201, span, format!("`{other}` stands only in an `assert`")),
        }
    }

    fn einsum(&mut self, args: &Args, span: Span) -> Result<Value> {
        let arguments = self.arguments(args)?;
        let Some(((Value::Str(text), at), operands)) = arguments.positional.split_first() else {
            return Err(Diagnostic::error(Code(213), span, "`einsum` takes a pattern, then tensors")
                .help("einsum(\"b i, b j -> b i j\", x, y)")
                .into());
        };
        let pattern = parse_pattern(text, *at, PatternStyle::Einsum)?;
        let mut terms = Vec::new();
        // PyTorch also accepts the operands as one list.
        let listed = match operands {
            [(Value::List(list), at)] if list.len() == pattern.inputs.len() => {
                list.iter().map(|v| (v.clone(), *at)).collect()
            }
            _ => operands.to_vec(),
        };
        for (value, at) in &listed {
            terms.push((self.tensor(value, *at)?, *at));
        }
        if terms.len() != pattern.inputs.len() || terms.is_empty() {
            let (want, given) = (pattern.inputs.len(), terms.len());
            return fail(213, span, format!("the pattern has {want} operands, {given} given"));
        }
        let dtype = terms[0].0.dtype();
        if let Some((other, at)) = terms.iter().find(|(t, _)| t.dtype() != dtype) {
            return fail(204, *at, format!("operands of {dtype} and {}", other.dtype()));
        }
        let mut axes = Axes::default();
        let mut places = Vec::new();
        for (side, (term, at)) in pattern.inputs.iter().zip(&terms) {
            places.push(self.operand_axes(side, term, &mut axes, *at)?);
        }
        let output = output_axes(&pattern.output, &axes)?;
        let dots = |side: &[PatternAxis]| side.iter().any(|a| a.kind == PatternAxisKind::Ellipsis);
        axes.sums_dots = pattern.inputs.iter().any(|side| dots(side)) && !dots(&pattern.output);
        let statics = vec![("pattern".into(), format!("{text:?}"))];
        let body = |l: &mut Self, params: &[Term]| l.contraction(&axes, &places, &output, params, span);
        self.pattern_call(
            "einsum",
            statics,
            terms.into_iter().map(|(t, _)| t).collect(),
            Vec::new(),
            body,
            span,
        )
    }

    /// The names of one operand's axes; extents of one name are equal or 1.
    fn operand_axes(
        &mut self,
        side: &[PatternAxis],
        term: &Term,
        axes: &mut Axes,
        at: Span,
    ) -> Result<Vec<String>> {
        let shape = term.shape();
        let dots = side.iter().filter(|a| a.kind == PatternAxisKind::Ellipsis).count();
        let named = side.len() - dots;
        if named > shape.len() || (dots == 0 && named != shape.len()) {
            return fail(
                205,
                at,
                format!("the pattern names {named} axes, `{}` has {}", term.ty(), shape.len()),
            );
        }
        let spare = shape.len() - named;
        let mut names = Vec::new();
        for axis in side {
            match &axis.kind {
                PatternAxisKind::Name(name) => names.push(name.clone()),
                // Counted from the right, so that operands of different rank align.
                PatternAxisKind::Ellipsis => names.extend((0..spare).rev().map(ellipsis_axis)),
                PatternAxisKind::Int(_) | PatternAxisKind::Group(_) => {
                    return fail(213, axis.span, "`einsum` takes names and `...` only");
                }
            }
        }
        for (name, extent) in names.iter().zip(shape) {
            if !name.starts_with("...") {
                self.one_axis(extent, at)?;
            }
            match axes.extents.get(name) {
                None => {
                    axes.order.push(name.clone());
                    axes.extents.insert(name.clone(), extent.clone());
                }
                Some(known) => {
                    let joined =
                        self.broadcast_shapes(std::slice::from_ref(known), std::slice::from_ref(extent), at)?;
                    axes.extents.insert(name.clone(), joined[0].clone());
                }
            }
        }
        Ok(names)
    }

    fn contraction(
        &mut self,
        axes: &Axes,
        places: &[Vec<String>],
        output: &[String],
        params: &[Term],
        span: Span,
    ) -> Result<Term> {
        let mut binder_of: BTreeMap<&str, Binder> = BTreeMap::new();
        for name in &axes.order {
            let sym = self.fresh_sym(SymKind::Index, name.trim_start_matches('.'));
            binder_of.insert(name, Binder { sym, extent: axes.extents[name].clone() });
        }
        let mut product: Option<Term> = None;
        for (names, param) in places.iter().zip(params) {
            let index = names.iter().zip(param.shape()).map(|(name, extent)| {
                if extent.is_one() { Size::zero() } else { Size::sym(&binder_of[name.as_str()].sym) }
            });
            let read = Term::read(param.clone(), sizes(index.collect(), span), span);
            product = Some(match product {
                Some(acc) => Term::scalar(Scalar::Mul, vec![acc, read], span),
                None => read,
            });
        }
        let product = product.expect("invariant: at least one operand");
        let summed: Vec<Binder> = axes
            .order
            .iter()
            .filter(|n| !output.contains(n))
            .map(|n| binder_of[n.as_str()].clone())
            .collect();
        let no_sum = summed.is_empty() && !axes.sums_dots;
        let scalar = if no_sum { product } else { self.einsum_sum(summed, product, span)? };
        let binders = output.iter().map(|n| binder_of[n.as_str()].clone()).collect();
        Ok(Term::comp(binders, scalar, span))
    }

    fn einsum_sum(&mut self, binders: Vec<Binder>, product: Term, span: Span) -> Result<Term> {
        if product.dtype() == DType::Bool {
            return fail(204, span, "`einsum` does not add bool values");
        }
        Ok(Term::reduce(Monoid::Sum, binders, product, span))
    }

    fn rearrange(&mut self, args: &Args, span: Span) -> Result<Value> {
        let arguments = self.arguments(args)?;
        let [(value, x_at), (Value::Str(text), at)] = &arguments.positional[..] else {
            return Err(Diagnostic::error(Code(213), span, "`rearrange` takes a tensor and a pattern")
                .help("rearrange(x, \"b t (h d) -> b h t d\", h = H)")
                .into());
        };
        let pattern = parse_pattern(text, *at, PatternStyle::Axes)?;
        let [side] = &pattern.inputs[..] else {
            return fail(213, *at, "`rearrange` has one operand");
        };
        let term = self.tensor(value, *x_at)?;
        let mut axes = Axes::default();
        for (name, value, at) in &arguments.named {
            let extent = self.integer(value, *at)?;
            axes.extents.insert(name.name.clone(), extent);
        }
        let mut requires = Vec::new();
        let input = self.input_groups(side, &term, &mut axes, *at, &mut requires)?;
        if let Some((name, _, at)) = arguments.named.iter().find(|(n, _, _)| !axes.order.contains(&n.name)) {
            return fail(213, *at, format!("the pattern has no axis `{}`", name.name));
        }
        let output = output_groups(&pattern.output, &axes, term.shape().len())?;
        let mut statics = vec![("pattern".into(), format!("{text:?}"))];
        statics.extend(
            arguments.named.iter().map(|(n, ..)| (n.name.as_str().into(), axes.extents[&n.name].to_string())),
        );
        let body = |l: &mut Self, params: &[Term]| l.rearranged(&axes, &input, &output, &params[0], span);
        self.pattern_call("rearrange", statics, vec![term], requires, body, span)
    }

    /// The names inside each input axis; one unknown extent of a group is solved.
    fn input_groups(
        &mut self,
        side: &[PatternAxis],
        term: &Term,
        axes: &mut Axes,
        at: Span,
        requires: &mut Vec<Require>,
    ) -> Result<Vec<Vec<String>>> {
        let shape = term.shape().to_vec();
        let dots = side.iter().filter(|a| a.kind == PatternAxisKind::Ellipsis).count();
        let fixed = side.len() - dots;
        if fixed > shape.len() || (dots == 0 && fixed != shape.len()) {
            return fail(
                205,
                at,
                format!("the pattern has {fixed} axes, `{}` has {}", term.ty(), shape.len()),
            );
        }
        let mut groups: Vec<Vec<String>> = Vec::new();
        for axis in side {
            let extent = shape.get(groups.len());
            match &axis.kind {
                PatternAxisKind::Ellipsis => {
                    for k in 0..shape.len() - fixed {
                        let name = ellipsis_axis(k);
                        axes.extents.insert(name.clone(), shape[groups.len()].clone());
                        axes.order.push(name.clone());
                        groups.push(vec![name]);
                    }
                }
                PatternAxisKind::Int(1) => {
                    let extent = extent.expect("invariant: counted above");
                    self.require_size(
                        Cond::eq(extent, &Size::one()),
                        format!("{extent} == 1"),
                        ErrorClass::Shape,
                        axis.span,
                        at,
                        requires,
                    )?;
                    groups.push(Vec::new());
                }
                PatternAxisKind::Int(_) => {
                    return fail(213, axis.span, "only the axis `1` can be written as a number");
                }
                PatternAxisKind::Name(_) | PatternAxisKind::Group(_) => {
                    let parts = match &axis.kind {
                        PatternAxisKind::Group(parts) => parts.clone(),
                        _ => vec![axis.clone()],
                    };
                    let extent = extent.expect("invariant: counted above").clone();
                    self.one_axis(&extent, at)?;
                    groups.push(self.solve_group(&parts, &extent, axes, axis.span, at, requires)?);
                }
            }
        }
        Ok(groups)
    }

    fn solve_group(
        &mut self,
        parts: &[PatternAxis],
        extent: &Size,
        axes: &mut Axes,
        axis_at: Span,
        at: Span,
        requires: &mut Vec<Require>,
    ) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for part in parts {
            match &part.kind {
                PatternAxisKind::Name(name) if axes.order.contains(name) => {
                    return fail(213, part.span, format!("axis `{name}` occurs twice"));
                }
                PatternAxisKind::Name(name) => {
                    axes.order.push(name.clone());
                    names.push(name.clone());
                }
                PatternAxisKind::Int(1) => {}
                _ => return fail(213, part.span, "a group holds names"),
            }
        }
        let unknown: Vec<&String> = names.iter().filter(|n| !axes.extents.contains_key(*n)).collect();
        let known = Size::product(names.iter().filter_map(|n| axes.extents.get(n)));
        match unknown[..] {
            [] => {}
            [name] => {
                // Of `H * D` the other part is `D` whatever `H` is; else nothing is any number of parts that are nothing.
                let is_some = Cond::le(&Size::one(), &known);
                if extent.exact_div(&known).is_none() || self.decide(&is_some) == Some(false) {
                    let others: Vec<&str> =
                        names.iter().filter(|other| *other != name).map(String::as_str).collect();
                    let text = format!("{} >= 1", others.join(" * "));
                    self.require_size(is_some, text, ErrorClass::Shape, axis_at, at, requires)?;
                }
                let solution = if known.is_one() { extent.clone() } else { self.factor(extent, &known) };
                axes.extents.insert(name.clone(), solution);
            }
            [a, b, ..] => {
                return Err(Diagnostic::error(
                    Code(213),
                    axis_at,
                    format!("the extents of `{a}` and `{b}` are not determined"),
                )
                .help(format!("give one: `{a} = ..`"))
                .into());
            }
        }
        let product = Size::product(names.iter().map(|n| &axes.extents[n]));
        if product != *extent {
            self.require_size(
                Cond::eq(&product, extent),
                format!("{product} == {extent}"),
                ErrorClass::Shape,
                axis_at,
                at,
                requires,
            )?;
        }
        Ok(names)
    }

    fn rearranged(
        &mut self,
        axes: &Axes,
        input: &[Vec<String>],
        output: &[Vec<String>],
        x: &Term,
        span: Span,
    ) -> Result<Term> {
        let extent = |group: &Vec<String>| Size::product(group.iter().map(|n| &axes.extents[n]));
        let shape: Vec<Size> = output.iter().map(extent).collect();
        let binders = self.index_over(&shape);
        let mut index_of: BTreeMap<&str, Size> = BTreeMap::new();
        let known = self.facts.len();
        self.facts.extend(binders.iter().map(|b| Cond::lt(&Size::sym(&b.sym), &b.extent)));
        for (group, binder) in output.iter().zip(&binders) {
            let extents: Vec<Size> = group.iter().map(|n| axes.extents[n].clone()).collect();
            let tuple = Value::Tuple(Extents::shape(extents));
            let ident = Ident { name: "unravel".into(), span };
            let digits = self.index_call(&ident, &[Value::size(Size::sym(&binder.sym)), tuple], span)?;
            for (name, digit) in group.iter().zip(self.extents(&digits, span)?.items) {
                index_of.insert(name, digit);
            }
        }
        self.facts.truncate(known);
        let linear = |group: &Vec<String>| {
            group.iter().fold(Size::zero(), |acc, n| &(&acc * &axes.extents[n]) + &index_of[n.as_str()])
        };
        let index = input.iter().map(linear).collect();
        Ok(Term::comp(binders, Term::read(x.clone(), sizes(index, span), span), span))
    }

    /// An instance whose body is made from the parameters directly.
    fn pattern_call(
        &mut self,
        name: &str,
        statics: Vec<(Arc<str>, String)>,
        args: Vec<Term>,
        requires: Vec<Require>,
        body: impl FnOnce(&mut Self, &[Term]) -> Result<Term>,
        span: Span,
    ) -> Result<Value> {
        let mut params = Vec::new();
        let mut terms = Vec::new();
        for arg in &args {
            let var = self.fresh_var("x");
            terms.push(Term::var(var.clone(), arg.ty().clone(), span));
            params.push((var, arg.ty().clone()));
        }
        let body = body(self, &terms)?;
        let instance = Instance { name: name.into(), statics, params, requires, body, is_op: true };
        Ok(Value::Term(Term::call(Arc::new(instance), args, span)))
    }
}

/// The result axes of an `einsum`, each once and each known.
fn output_axes(side: &[PatternAxis], axes: &Axes) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for axis in side {
        match &axis.kind {
            PatternAxisKind::Name(name) if !axes.extents.contains_key(name) => {
                return fail(213, axis.span, format!("axis `{name}` occurs in no operand"));
            }
            PatternAxisKind::Name(name) if names.contains(name) => {
                return fail(213, axis.span, format!("axis `{name}` occurs twice in the result"));
            }
            PatternAxisKind::Name(name) => names.push(name.clone()),
            PatternAxisKind::Ellipsis => {
                let count = axes.order.iter().filter(|n| n.starts_with("...")).count();
                names.extend((0..count).rev().map(ellipsis_axis));
            }
            PatternAxisKind::Int(_) | PatternAxisKind::Group(_) => {
                return fail(213, axis.span, "`einsum` takes names and `...` only");
            }
        }
    }
    Ok(names)
}

/// The names inside each result axis of a `rearrange`: every input axis once.
fn output_groups(side: &[PatternAxis], axes: &Axes, rank: usize) -> Result<Vec<Vec<String>>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    for axis in side {
        match &axis.kind {
            PatternAxisKind::Name(name) => groups.push(vec![name.clone()]),
            PatternAxisKind::Int(1) => groups.push(Vec::new()),
            PatternAxisKind::Int(_) => {
                return fail(213, axis.span, "only the axis `1` can be written as a number");
            }
            PatternAxisKind::Ellipsis => {
                groups
                    .extend((0..rank).map(ellipsis_axis).filter(|n| axes.order.contains(n)).map(|n| vec![n]));
            }
            PatternAxisKind::Group(parts) => {
                let mut names = Vec::new();
                for part in parts {
                    match &part.kind {
                        PatternAxisKind::Name(name) => names.push(name.clone()),
                        PatternAxisKind::Int(1) => {}
                        _ => return fail(213, part.span, "a group holds names"),
                    }
                }
                groups.push(names);
            }
        }
    }
    let mut used: Vec<&String> = groups.iter().flatten().collect();
    used.sort();
    let mut all: Vec<&String> = axes.order.iter().collect();
    all.sort();
    if used != all {
        let span = side.first().map(|a| a.span).unwrap_or_default();
        return fail(213, span, "the two sides of the pattern have different axes");
    }
    Ok(groups)
}
