//! Declared monoids: what one means at a choice of dtypes, and reductions by it. Its laws
//! are in `laws.rs`, what its elements are as written in `elements.rs`.
//!
//! ```text
//! @commutative
//! monoid xor[T: int](a: T, b: T) -> T {
//!   let identity = 0
//!   return bitwise_xor(a, b)
//! }
//! ```

use super::call::Arguments;
use super::defs::Entry;
use super::elements::Elements;
use super::value::Value;
use super::{Lower, MAX_CALL_DEPTH, MAX_INSTANCES, Result, Stop, fail};
use crate::ast::{self, Args, Block, Clause, Def, Expr, ExprKind, Ident, Pat, StmtKind, TypeKind};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::Mode;
use rtv_semantics::size::{Size, SymKind};
use rtv_semantics::subst::{Fresh, children};
use rtv_semantics::term::{Binder, Declared, Extent, Form, Fun, Instance, Laws, Loop, Monoid, Term, Var};
use rtv_semantics::types::Type;
use rtv_semantics::unfold::{self, Limits};
use std::sync::Arc;

/// What a monoid is made of, as written.
pub(super) struct Parts<'d> {
    params: [&'d Ident; 2],
    pub(super) elements: Elements<'d>,
    identity: &'d Expr,
    /// What says how two elements are combined.
    body: Block,
    mode: Option<&'d ast::Mode>,
}

/// How one is written.
const FORM: &str = "monoid NAME(a: T, b: T) -> T { let identity = ..  return .. }";

/// # Errors
/// Where a definition is not of the form of a monoid.
pub(super) fn parts(def: &Def) -> Result<Parts<'_>> {
    let name = def.name.parts.last().expect("invariant: a path has parts");
    let refuse = |span: Span, what: &str| {
        let found = Diagnostic::error(Code(493), span, format!("`{}` is no monoid: {what}", name.name));
        Err(Stop::from(found.help(format!("write `{FORM}`"))))
    };
    if Monoid::from_name(&name.name).is_some() {
        return refuse(name.span, "it has the name of a reduction of the language");
    }
    let types = def.params.iter().map(|p| &p.ty).chain(&def.ret);
    let elements: Option<Vec<Elements<'_>>> = types.clone().map(Elements::of).collect();
    let (Some(mut elements), [left, right]) = (elements, def.params.as_slice()) else {
        let tuple =
            types.clone().find(|ty| matches!(ty.kind, TypeKind::Tuple(_)) && Elements::of(ty).is_none());
        return match tuple {
            Some(tuple) => fail(
                292,
                tuple.span,
                "an element of a monoid that is a tuple of other than scalars is not supported yet",
            ),
            None => refuse(name.span, "it combines two scalars, or two tuples of scalars"),
        };
    };
    if elements.len() != 3 {
        return refuse(name.span, "it has no result type");
    }
    let same = elements[0].is_known() && elements.iter().all(|other| other.text() == elements[0].text());
    if !same {
        return refuse(name.span, "its parameters and its result are of one type");
    }
    let elements = elements.swap_remove(0);
    if let Some(generic) = def.generics.iter().find(|g| !matches!(g, ast::Generic::DType { .. })) {
        let (ast::Generic::Size(at) | ast::Generic::Rank(at) | ast::Generic::DType { name: at, .. }) =
            generic;
        return refuse(at.span, "it has no sizes");
    }
    let mut mode = None;
    for clause in &def.clauses {
        match clause {
            Clause::Upto(given) => mode = Some(given),
            _ => return refuse(name.span, "its laws hold of all values: `upto` is its only clause"),
        }
    }
    match def.body.stmts.split_first() {
        Some((first, rest)) => match &first.kind {
            StmtKind::Let { pat: Pat::Name(word), ty: None, value } if word.name == "identity" => {
                let body = Block { stmts: rest.to_vec(), span: def.body.span };
                Ok(Parts { params: [&left.name, &right.name], elements, identity: value, body, mode })
            }
            _ => refuse(first.span, "its block begins with `let identity = ..`"),
        },
        None => refuse(def.body.span, "its block begins with `let identity = ..`"),
    }
}

impl Lower<'_> {
    /// A monoid with elements of these dtypes, with those of its laws that may be used.
    pub(super) fn monoid_at(&mut self, entry: &Entry, dtypes: &[DType], span: Span) -> Result<Arc<Declared>> {
        let def = entry.def();
        let name = def.name.parts.last().expect("invariant: a path has parts");
        let key = (name.name.clone(), dtypes.to_vec());
        if let Some(known) = self.monoids.get(&key) {
            return Ok(known.clone());
        }
        let parts = parts(def)?;
        self.instances += 1;
        if self.depth >= MAX_CALL_DEPTH || self.instances > MAX_INSTANCES {
            return fail(706, span, format!("calls are nested too deep, at `{}`", name.name));
        }
        if !parts.elements.admit(def, dtypes) {
            let (elem, found) = (parts.elements.text(), parts.elements.ty(dtypes));
            return fail(204, span, format!("`{}` combines {elem}, found {found}", name.name));
        }
        let mode = self.monoid_mode(&parts)?;
        let (combine, identity) = self.in_callee(entry, |l| l.combination(def, &parts, dtypes))?;
        let mut fresh = Fresh::new(self.next_id + 1);
        let element = unfold::element(&combine.body, &[], &mut fresh, Limits::default());
        self.next_id = fresh.id();
        let Ok(element) = element else {
            return fail(
                292,
                name.span,
                "a monoid that is not made of scalar functions is not supported yet",
            );
        };
        let extent = match mode {
            _ if has_no_floats(&element) => Extent::Everywhere,
            Mode::Real => Extent::OverReals,
            _ => Extent::Exactly,
        };
        let known = self.laws.contains(&name.name);
        let laws = known.then(|| Laws { commutative: entry.has_attr("commutative"), extent });
        let monoid = Arc::new(Declared { combine, element, identity, laws });
        self.monoids.insert(key, monoid.clone());
        Ok(monoid)
    }

    pub(super) fn monoid_mode(&mut self, parts: &Parts<'_>) -> Result<Mode> {
        let Some(written) = parts.mode else { return Ok(Mode::Exact) };
        match self.mode(written)? {
            mode @ (Mode::Exact | Mode::Real) => Ok(mode),
            _ => fail(493, written.name.span, "the laws of a monoid hold `exact`, or `upto real`"),
        }
    }

    /// The combination and the identity, in the scope of the definition.
    fn combination(
        &mut self,
        def: &Def,
        parts: &Parts<'_>,
        dtypes: &[DType],
    ) -> Result<(Arc<Instance>, Term)> {
        let name = def.name.parts.last().expect("invariant: a path has parts");
        for (variable, dtype) in parts.elements.variables(dtypes) {
            self.bind(&variable.name, Value::DType(dtype));
        }
        let ty = parts.elements.ty(dtypes);
        let identity = self.expr_of(parts.identity, Some(&ty))?;
        let identity = self.element_term(identity, &ty, parts.identity.span)?;
        if !identity.components().iter().all(|part| matches!(part.form(), Form::Lit(_))) {
            return fail(
                493,
                parts.identity.span,
                "the identity of a monoid is a number, or a tuple of numbers",
            );
        }
        let params = parts.params.map(|param| {
            let var = self.fresh_var(&param.name);
            self.bind(&param.name, Value::Term(Term::var(var.clone(), ty.clone(), param.span)));
            (var, ty.clone())
        });
        // As inside a comprehension: its names are scalar functions.
        self.frame.comprehensions += 1;
        let value = self.block(&parts.body, Some(&ty));
        self.frame.comprehensions -= 1;
        let body = self.element_term(value?, &ty, parts.body.span)?;
        let instance = Instance {
            name: name.name.as_str().into(),
            statics: Vec::new(),
            params: params.to_vec(),
            requires: Vec::new(),
            body,
            is_op: false,
        };
        Ok((Arc::new(instance), identity))
    }

    /// A value as an element of the type.
    fn element_term(&mut self, value: Value, ty: &Type, span: Span) -> Result<Term> {
        match ty.as_tensor() {
            Some(scalar) => self.scalar_as(&value, scalar.dtype, span),
            None => self.result_term(value, Some(ty), span),
        }
    }

    /// `reduce(NAME)(e for k in K)`.
    pub(super) fn reduce_by(
        &mut self,
        head: &Args,
        (body, binders): (&Expr, &[ast::Binder]),
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Value> {
        let name = monoid_name(head, span)?;
        self.generated(binders, |l, core| l.reduced_by(&name, core, body, dtype, span))
    }

    /// `scan(NAME)(e for k in K)`: the reduction of the elements up to each.
    pub(super) fn scan(
        &mut self,
        head: &Args,
        (body, binders): (&Expr, &[ast::Binder]),
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Value> {
        let name = monoid_name(head, span)?;
        self.generated(binders, |l, core| {
            let [Binder { sym, extent }] = core.as_slice() else {
                return fail(105, span, "`scan` takes one binder");
            };
            l.one_axis(extent, span)?;
            let last = Binder { sym: l.fresh_sym(SymKind::Index, "last"), extent: extent.clone() };
            let so_far = Binder { sym: sym.clone(), extent: &Size::sym(&last.sym) + &Size::one() };
            match l.reduced_by(&name, vec![so_far], body, dtype, span)? {
                Value::Term(reduced) => {
                    let mut all: Vec<Term> = reduced.components();
                    all.iter_mut()
                        .for_each(|part| *part = Term::comp(vec![last.clone()], part.clone(), span));
                    let tuple = matches!(reduced.ty(), Type::Tuple(_));
                    Ok(Value::Term(if tuple { Term::tuple(all, span) } else { all.swap_remove(0) }))
                }
                other => Ok(other),
            }
        })
    }

    /// A reduction over the binders by the monoid of this name.
    fn reduced_by(
        &mut self,
        name: &Ident,
        core: Vec<Binder>,
        body: &Expr,
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Value> {
        let Some(entry) = self.defs.monoid(&name.name).cloned() else {
            let Some(own) = Monoid::from_name(&name.name) else {
                return Err(self.unknown_monoid(name).into());
            };
            let scalar = self.generator_body(body, None)?;
            return self.reduced_scalar(own, core, scalar, dtype, span);
        };
        let elements = parts(entry.def())?.elements;
        self.frame.comprehensions += 1;
        let written = self.written_elements(&elements, &[body], dtype);
        self.frame.comprehensions -= 1;
        let (mut terms, dtypes) = written?;
        let monoid = self.monoid_at(&entry, &dtypes, span)?;
        Ok(Value::Term(Term::reduce(Monoid::Declared(monoid), core, terms.swap_remove(0), span)))
    }

    /// `NAME(a, b)` of a monoid of tuples, as it is written: numbers in `a` and `b` take their
    /// dtypes from the other components.
    pub(super) fn combine_written(&mut self, name: &Ident, args: &Args, span: Span) -> Result<Option<Value>> {
        let entry = self.defs.monoid(&name.name).filter(|_| !self.frame.library).cloned();
        let (Some(entry), Args::List(list)) = (entry, args) else { return Ok(None) };
        let elements = parts(entry.def())?.elements;
        let [left, right] = list.as_slice() else { return Ok(None) };
        if !elements.is_tuple() || left.name.is_some() || right.name.is_some() {
            return Ok(None);
        }
        let (terms, dtypes) = self.written_elements(&elements, &[&left.value, &right.value], None)?;
        let monoid = self.monoid_at(&entry, &dtypes, span)?;
        let [left, right] = <[Term; 2]>::try_from(terms).expect("invariant: two were written");
        Ok(Some(Value::Term(Term::combine(monoid, left, right, span))))
    }

    /// `NAME(a, b)` of a monoid: two elements combined.
    pub(super) fn combine_two(&mut self, entry: &Entry, args: &Arguments, span: Span) -> Result<Value> {
        let name = &entry.def().name.parts.last().expect("invariant: a path has parts").name;
        let ([(left, at), (right, to)], true) = (args.positional.as_slice(), args.named.is_empty()) else {
            return fail(105, span, format!("`{name}` takes two elements"));
        };
        let elements = parts(entry.def())?.elements;
        if elements.is_tuple() {
            return self.combine_tuples(entry, &elements, [(left, *at), (right, *to)], span);
        }
        if let Some((other, at)) = args.positional.iter().find(|(value, _)| !value.is_scalar()) {
            return fail(201, *at, format!("`{name}` combines scalars, found {}", other.describe()));
        }
        let dtype = match elements.only_dtype() {
            Some(dtype) => dtype,
            None => {
                let operands = [left, right].map(|v| self.promotion(v, span));
                let operands = operands.into_iter().collect::<Result<Vec<_>>>()?;
                self.result_dtype(&operands).expect("invariant: there are two")
            }
        };
        let monoid = self.monoid_at(entry, &[dtype], span)?;
        let operand = |l: &Self, value: &Value, at: Span| match value {
            Value::Term(t) if t.tensor_type().is_some_and(|ty| ty.dtype != dtype) => {
                fail(204, at, format!("`{name}` combines {dtype} here, found {}", t.dtype()))
            }
            _ => l.scalar_as(value, dtype, at),
        };
        let (left, right) = (operand(self, left, *at)?, operand(self, right, *to)?);
        Ok(Value::Term(Term::combine(monoid, left, right, span)))
    }

    fn combine_tuples(
        &mut self,
        entry: &Entry,
        elements: &Elements<'_>,
        operands: [(&Value, Span); 2],
        span: Span,
    ) -> Result<Value> {
        let [(left, at), (right, to)] = operands;
        let (left, right) = (elements.tuple_of(left, at)?, elements.tuple_of(right, to)?);
        let dtypes: Vec<DType> = left.components().iter().map(Term::dtype).collect();
        let monoid = self.monoid_at(entry, &dtypes, span)?;
        if right.ty() != monoid.ty() {
            return fail(
                204,
                to,
                format!("`{}` combines {} here, found {}", monoid.name(), monoid.ty(), right.ty()),
            );
        }
        Ok(Value::Term(Term::combine(monoid, left, right, span)))
    }

    /// `fold(f, init)(e for k in K)`: `f(.. f(f(init, e_0), e_1) .., e_n)`, which is a loop for
    /// each binder.
    pub(super) fn fold(
        &mut self,
        head: &Args,
        (body, binders): (&Expr, &[ast::Binder]),
        dtype: Option<DType>,
        span: Span,
    ) -> Result<Value> {
        let usage = "`fold` takes a function of two scalars, or tuples of them, and what it begins with";
        let Args::List(list) = head else { return fail(105, span, usage) };
        let [function, init] = list.as_slice() else { return fail(105, span, usage) };
        let (ExprKind::Name(name), None, None) = (&function.value.kind, &function.name, &init.name) else {
            return fail(105, function.value.span, usage);
        };
        let function = Ident { name: name.clone(), span: function.value.span };
        let [state, item] = self.tuples_of_step(&function)?;
        let first = match &state {
            Some(_) => self.expr_of(&init.value, state.as_ref())?,
            None => self.expr_as(&init.value, dtype)?,
        };
        self.generated(binders, |l, core| {
            let element = l.folded_element(body, item.as_ref())?;
            // A number has the dtype of what it meets.
            let first = match (first, element.tensor_type()) {
                (Value::Term(t), _) if *t.ty() != Type::Size => t,
                (number, Some(ty)) => l.scalar_as(&number, ty.dtype, init.value.span)?,
                (number, None) => l.tensor(&number, init.value.span)?,
            };
            if !first.components().iter().all(Term::is_scalar) {
                return fail(201, init.value.span, format!("{usage}, found `{}`", first.ty()));
            }
            let ty = first.ty().clone();
            let states: Vec<Var> = core.iter().map(|_| l.fresh_var("acc")).collect();
            let before = |at: usize| Term::var(states[at].clone(), ty.clone(), span);
            let Some(last) = states.len().checked_sub(1) else { return Ok(Value::Term(first)) };
            let args = vec![Value::Term(before(last)), Value::Term(element)];
            let step = l.call_by_name(&function, args, span)?;
            let mut step = l.result_term(step, Some(&ty), function.span)?;
            for (at, counter) in core.into_iter().enumerate().rev() {
                let begin = if at == 0 { first.clone() } else { before(at - 1) };
                let state = vec![(states[at].clone(), begin)];
                step = Term::loop_(Loop { state, counter: Some(counter), condition: None, step }, span);
            }
            Ok(Value::Term(step))
        })
    }

    fn unknown_monoid(&self, name: &Ident) -> Diagnostic {
        let known = self.defs.monoids().chain(["sum", "prod", "max", "min", "any", "all"]);
        let found = Diagnostic::error(Code(101), name.span, format!("unknown monoid `{}`", name.name));
        match super::refuse::nearest(&name.name, known) {
            Some(near) => found.help(format!("did you mean `{near}`?")),
            None => found.help(format!("declare it: `{FORM}`")),
        }
    }
}

/// The name that `reduce(NAME)` and `scan(NAME)` take.
fn monoid_name(head: &Args, span: Span) -> Result<Ident> {
    let Args::List(list) = head else { return fail(105, span, "this takes the name of a monoid") };
    match list.as_slice() {
        [ast::Arg { name: None, value: Expr { kind: ExprKind::Name(name), span } }] => {
            Ok(Ident { name: name.clone(), span: *span })
        }
        _ => fail(105, span, "this takes the name of a monoid"),
    }
}

/// Whether nothing in an element is a float, nor in what other monoids combine in it.
fn has_no_floats(term: &Term) -> bool {
    let float = term.tensor_type().is_some_and(|ty| ty.dtype.is_float());
    let within = match term.form() {
        Form::Call(Fun::Combine(monoid), _) => Some(monoid),
        Form::Reduce(reduce) => reduce.op.declared(),
        _ => None,
    };
    !float
        && within.is_none_or(|monoid| has_no_floats(&monoid.element))
        && children(term).into_iter().all(has_no_floats)
}
