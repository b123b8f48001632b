//! Declared monoids: what one means at a dtype, its laws as claims, and reductions by it.
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
use super::item::{Choice, Declared as Names, Statement, claim};
use super::value::Value;
use super::{Lower, MAX_CALL_DEPTH, MAX_INSTANCES, Result, Stop, fail};
use crate::ast::{
    self, Args, Block, Clause, Def, Elem, Expr, ExprKind, Ident, Item, Pat, StmtKind, TypeKind,
};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::{DType, DTypeClass};
use rtv_semantics::program::{Claim, ClaimKind, Input, Mode, Param};
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Size, SymKind};
use rtv_semantics::subst::{Fresh, children};
use rtv_semantics::term::{
    Binder, Declared, Extent, Form, Fun, Instance, Laws, Lit, Loop, Monoid, Term, Var,
};
use rtv_semantics::types::Type;
use rtv_semantics::unfold::{self, Limits};
use std::sync::Arc;

/// What a monoid is made of, as written.
struct Parts<'d> {
    params: [&'d Ident; 2],
    /// The type of its elements.
    elem: &'d Elem,
    identity: &'d Expr,
    /// What says how two elements are combined.
    body: Block,
    mode: Option<&'d ast::Mode>,
}

/// How one is written.
const FORM: &str = "monoid NAME(a: T, b: T) -> T { let identity = ..  return .. }";

/// # Errors
/// Where a definition is not of the form of a monoid.
fn parts(def: &Def) -> Result<Parts<'_>> {
    let name = def.name.parts.last().expect("invariant: a path has parts");
    let refuse = |span: Span, what: &str| {
        let found = Diagnostic::error(Code(493), span, format!("`{}` is no monoid: {what}", name.name));
        Err(Stop::from(found.help(format!("write `{FORM}`"))))
    };
    if Monoid::from_name(&name.name).is_some() {
        return refuse(name.span, "it has the name of a reduction of the language");
    }
    let types = def.params.iter().map(|p| &p.ty).chain(&def.ret);
    if let Some(pair) = types.clone().find(|ty| matches!(ty.kind, TypeKind::Tuple(_))) {
        return fail(292, pair.span, "monoids of several values are not supported yet");
    }
    let elems: Option<Vec<&Elem>> = types.map(scalar_elem).collect();
    let (Some(elems), [left, right]) = (elems, def.params.as_slice()) else {
        return refuse(name.span, "it combines two scalars");
    };
    let [elem, _, _] = elems.as_slice() else { return refuse(name.span, "it has no result type") };
    let same = |other: &&Elem| elem_name(other).is_some() && elem_name(other) == elem_name(elem);
    if !elems.iter().all(same) {
        return refuse(name.span, "its parameters and its result are of one type");
    }
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
                Ok(Parts { params: [&left.name, &right.name], elem, identity: value, body, mode })
            }
            _ => refuse(first.span, "its block begins with `let identity = ..`"),
        },
        None => refuse(def.body.span, "its block begins with `let identity = ..`"),
    }
}

fn scalar_elem(ty: &ast::Type) -> Option<&Elem> {
    match &ty.kind {
        TypeKind::Tensor { elem, dims, alias: None } if dims.as_ref().is_none_or(Vec::is_empty) => Some(elem),
        _ => None,
    }
}

fn elem_name(elem: &Elem) -> Option<String> {
    match elem {
        Elem::DType(dtype, _) => Some(dtype.name().to_string()),
        Elem::Name(name) => Some(name.name.clone()),
        Elem::Apply { .. } => None,
    }
}

impl Lower<'_> {
    /// A monoid at a dtype, with those of its laws that may be used.
    fn monoid_at(&mut self, entry: &Entry, dtype: DType, span: Span) -> Result<Arc<Declared>> {
        let def = entry.def();
        let name = def.name.parts.last().expect("invariant: a path has parts");
        if let Some(known) = self.monoids.get(&(name.name.clone(), dtype)) {
            return Ok(known.clone());
        }
        let parts = parts(def)?;
        self.instances += 1;
        if self.depth >= MAX_CALL_DEPTH || self.instances > MAX_INSTANCES {
            return fail(706, span, format!("calls are nested too deep, at `{}`", name.name));
        }
        let class = element_class(def, parts.elem);
        if !class.map_or(parts.elem_dtype() == Some(dtype), |class| class.contains(dtype)) {
            let elem = elem_name(parts.elem).unwrap_or_default();
            return fail(204, span, format!("`{}` combines {elem}, found {dtype}", name.name));
        }
        let mode = self.monoid_mode(&parts)?;
        let (combine, identity) = self.in_callee(entry, |l| l.combination(def, &parts, dtype))?;
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
        self.monoids.insert((name.name.clone(), dtype), monoid.clone());
        Ok(monoid)
    }

    fn monoid_mode(&mut self, parts: &Parts<'_>) -> Result<Mode> {
        let Some(written) = parts.mode else { return Ok(Mode::Exact) };
        match self.mode(written)? {
            mode @ (Mode::Exact | Mode::Real) => Ok(mode),
            _ => fail(493, written.name.span, "the laws of a monoid hold `exact`, or `upto real`"),
        }
    }

    /// The combination and the identity, in the scope of the definition.
    fn combination(&mut self, def: &Def, parts: &Parts<'_>, dtype: DType) -> Result<(Arc<Instance>, Lit)> {
        let name = def.name.parts.last().expect("invariant: a path has parts");
        if let Elem::Name(variable) = parts.elem {
            self.bind(&variable.name, Value::DType(dtype));
        }
        let identity = self.expr_as(parts.identity, Some(dtype))?;
        let identity = self.scalar_as(&identity, dtype, parts.identity.span)?;
        let Form::Lit(identity) = identity.form().clone() else {
            return fail(493, parts.identity.span, "the identity of a monoid is a number");
        };
        let ty = Type::scalar(dtype);
        let params = parts.params.map(|param| {
            let var = self.fresh_var(&param.name);
            self.bind(&param.name, Value::Term(Term::var(var.clone(), ty.clone(), param.span)));
            (var, ty.clone())
        });
        // As inside a comprehension: its names are scalar functions.
        self.frame.comprehensions += 1;
        let value = self.block(&parts.body, Some(dtype));
        self.frame.comprehensions -= 1;
        let body = self.scalar_as(&value?, dtype, parts.body.span)?;
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

    /// The laws of a monoid as claims: what is associative, neutral, and stays a value.
    pub fn laws(&mut self, item: &Item, choice: &Choice) -> Option<Vec<Claim>> {
        let entry = Entry { origin: super::Origin::User, item: Arc::new(item.clone()) };
        self.item(true, |l| {
            let parts = parts(entry.def())?;
            let dtype = match parts.elem {
                Elem::Name(variable) => {
                    choice.dtypes.iter().find(|(n, _)| **n == *variable.name).map(|c| c.1)
                }
                _ => parts.elem_dtype(),
            };
            let name = entry.def().name.parts.last().expect("invariant: a path has parts");
            let Some(dtype) = dtype else {
                return fail(101, name.span, format!("unknown element type of `{}`", name.name));
            };
            let mode = l.monoid_mode(&parts)?;
            let monoid = l.monoid_at(&entry, dtype, name.span)?;
            let [a, b, c] = ["a", "b", "c"].map(|name| l.fresh_var(name));
            let laws =
                Stated { monoid, span: name.span, mode }.all([&a, &b, &c], entry.has_attr("commutative"));
            let claims = laws.into_iter().map(|(law, vars, lhs, rhs)| {
                let name = format!("{}: {law}", name.name);
                let param = |var: &Var| Param {
                    name: var.name.clone(),
                    input: Input::Value(var.clone(), Type::scalar(dtype)),
                    span: item.span,
                };
                let names = Names::of(vars.iter().map(|var| param(var)).collect());
                let (kind, directed, span) = (ClaimKind::Monoid, false, item.span);
                claim(Statement { name: &name, kind, mode, directed, lhs, rhs, span }, names, choice)
            });
            Ok(claims.collect())
        })
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
                Value::Term(reduced) => Ok(Value::Term(Term::comp(vec![last], reduced, span))),
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
        let want = parts(entry.def())?.elem_dtype().or(dtype);
        let scalar = self.generator_body(body, want)?;
        let monoid = self.monoid_at(&entry, scalar.dtype(), span)?;
        Ok(Value::Term(Term::reduce(Monoid::Declared(monoid), core, scalar, span)))
    }

    /// `NAME(a, b)` of a monoid: two scalars combined.
    pub(super) fn combine_two(&mut self, entry: &Entry, args: &Arguments, span: Span) -> Result<Value> {
        let name = &entry.def().name.parts.last().expect("invariant: a path has parts").name;
        let ([(left, at), (right, to)], true) = (args.positional.as_slice(), args.named.is_empty()) else {
            return fail(105, span, format!("`{name}` takes two scalars"));
        };
        if let Some((other, at)) = args.positional.iter().find(|(value, _)| !value.is_scalar()) {
            return fail(201, *at, format!("`{name}` combines scalars, found {}", other.describe()));
        }
        let dtype = match parts(entry.def())?.elem_dtype() {
            Some(dtype) => dtype,
            None => {
                let operands = [left, right].map(|v| self.promotion(v, span));
                let operands = operands.into_iter().collect::<Result<Vec<_>>>()?;
                self.result_dtype(&operands).expect("invariant: there are two")
            }
        };
        let monoid = self.monoid_at(entry, dtype, span)?;
        let operand = |l: &Self, value: &Value, at: Span| match value {
            Value::Term(t) if t.tensor_type().is_some_and(|ty| ty.dtype != dtype) => {
                fail(204, at, format!("`{name}` combines {dtype} here, found {}", t.dtype()))
            }
            _ => l.scalar_as(value, dtype, at),
        };
        let (left, right) = (operand(self, left, *at)?, operand(self, right, *to)?);
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
        let usage = "`fold` takes a function of two scalars and what it begins with";
        let Args::List(list) = head else { return fail(105, span, usage) };
        let [function, init] = list.as_slice() else { return fail(105, span, usage) };
        let (ExprKind::Name(name), None, None) = (&function.value.kind, &function.name, &init.name) else {
            return fail(105, function.value.span, usage);
        };
        let function = Ident { name: name.clone(), span: function.value.span };
        let first = self.expr_as(&init.value, dtype)?;
        self.generated(binders, |l, core| {
            let element = l.generator_body(body, None)?;
            // A number has the dtype of what it meets.
            let dtype = match &first {
                Value::Term(t) if t.tensor_type().is_some() => t.dtype(),
                _ => element.dtype(),
            };
            let first = l.scalar_as(&first, dtype, init.value.span)?;
            let ty = Type::scalar(dtype);
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

impl Parts<'_> {
    /// The dtype of its elements, where it has only one.
    fn elem_dtype(&self) -> Option<DType> {
        match self.elem {
            Elem::DType(dtype, _) => Some(*dtype),
            Elem::Name(_) | Elem::Apply { .. } => None,
        }
    }
}

/// The class of the dtype variable that the elements are of.
fn element_class(def: &Def, elem: &Elem) -> Option<DTypeClass> {
    let Elem::Name(variable) = elem else { return None };
    def.generics.iter().find_map(|generic| match generic {
        ast::Generic::DType { name, class } if name.name == variable.name => {
            DTypeClass::from_name(&class.name)
        }
        _ => None,
    })
}

/// The laws of a monoid about variables of its type.
struct Stated {
    monoid: Arc<Declared>,
    span: Span,
    mode: Mode,
}

/// The name of a law, its variables, and its sides.
type Law<'v> = (&'static str, Vec<&'v Var>, Term, Term);

impl Stated {
    fn all<'v>(&self, [a, b, c]: [&'v Var; 3], commutative: bool) -> Vec<Law<'v>> {
        let (span, dtype) = (self.span, self.monoid.dtype());
        let [x, y, z] = [a, b, c].map(|var| Term::var(var.clone(), Type::scalar(dtype), span));
        let identity = || Term::lit(self.monoid.identity.clone(), dtype, span);
        let combine =
            |left: &Term, right: &Term| Term::combine(self.monoid.clone(), left.clone(), right.clone(), span);
        let mut laws = vec![
            ("left identity", vec![a], combine(&identity(), &x), x.clone()),
            ("right identity", vec![a], combine(&x, &identity()), x.clone()),
            ("associativity", vec![a, b, c], combine(&combine(&x, &y), &z), combine(&x, &combine(&y, &z))),
        ];
        if commutative {
            laws.push(("commutativity", vec![a, b], combine(&x, &y), combine(&y, &x)));
        }
        if self.mode == Mode::Real && dtype.is_float() {
            // Inputs are finite numbers, which a combination of them has to be, too; the
            // identity need not be finite, and is one more value.
            let finite = Term::scalar(Scalar::Isfinite, vec![combine(&x, &y)], span);
            laws.push(("finite values", vec![a, b], finite, Term::bool(true, span)));
            laws.push(("identity twice", Vec::new(), combine(&identity(), &identity()), identity()));
        } else {
            let itself = Term::scalar(Scalar::Eq, vec![combine(&x, &y); 2], span);
            if !dtype.is_float() {
                laws.push(("defined values", vec![a, b], itself, Term::bool(true, span)));
            }
        }
        laws
    }
}

/// Whether nothing in a scalar is a float, nor in what other monoids combine in it.
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
