//! Items: functions, rules and decompositions for one choice of dtypes and ranks.

use super::broadcast::shape_text;
use super::shape::{GenericKind, Generics, ParamKind, generics_of, param_kind};
use super::statement::wrap_lets;
use super::value::{Extents, Value};
use super::{Frame, Lower, Result, Stop, fail};
use crate::ast::{self, Args, Arrow, Clause, DefKind, ExprKind, Item, ItemKind, RuleClause};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::{DType, DTypeClass};
use rtv_semantics::entail::Cond;
use rtv_semantics::program::{Claim, ClaimKind, Function, Input, Mode, Param};
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::term::{ErrorClass, Require, Term};
use rtv_semantics::types::Type;
use std::sync::Arc;

/// What rank variables stand for in one elaboration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ranks {
    /// Any number of axes, taken as one.
    Opaque,
    /// This many axes each.
    Fixed(usize),
    /// As many axes each, all treated alike, and seen by one of them: see
    /// Note [Uniform elaboration].
    Uniform,
}

/// A claim that is elaborated about one axis of many.
pub struct Schema {
    pub claim: Claim,
    /// The number of axes.
    pub axes: Sym,
}

/// One instance of an item: a dtype for each dtype variable, and the ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    pub dtypes: Vec<(Arc<str>, DType)>,
    pub ranks: Ranks,
}

/// Everything known about the declared names of an item.
#[derive(Default)]
pub(super) struct Declared {
    params: Vec<Param>,
    syms: Vec<Sym>,
    ranks: Vec<(Arc<str>, Vec<Size>)>,
    facts: Vec<Cond>,
    requires: Vec<Require>,
}

impl Declared {
    /// Parameters of types without sizes.
    pub fn of(params: Vec<Param>) -> Declared {
        Declared { params, ..Declared::default() }
    }
}

/// The dtype variables of an item with their classes.
pub fn dtype_variables(item: &Item) -> Vec<(Arc<str>, DTypeClass)> {
    let generics = match &item.kind {
        ItemKind::Def(def) => &def.generics,
        ItemKind::Rule(rule) => &rule.generics,
        ItemKind::Vjp { generics, .. } => generics,
        ItemKind::Use(_) | ItemKind::Const { .. } | ItemKind::Test { .. } | ItemKind::Error => {
            return Vec::new();
        }
    };
    let variable = |g: &ast::Generic| match g {
        ast::Generic::DType { name, class } => {
            Some((name.name.as_str().into(), DTypeClass::from_name(&class.name)?))
        }
        _ => None,
    };
    generics.iter().filter_map(variable).collect()
}

/// Whether an item has rank variables.
pub fn has_rank_variables(item: &Item) -> bool {
    let generics = match &item.kind {
        ItemKind::Def(def) => &def.generics,
        ItemKind::Rule(rule) => &rule.generics,
        _ => return false,
    };
    generics.iter().any(|g| matches!(g, ast::Generic::Rank(_)))
}

impl<'a> Lower<'a> {
    /// What was reported so far.
    pub fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.diagnostics)
    }

    /// A `fn`, `op` or `impl` for its declared types. `None` after an error, and
    /// for a definition that varies a static parameter, which is checked where it
    /// is called.
    pub fn function(&mut self, item: &Item, choice: &Choice) -> Option<Function> {
        let ItemKind::Def(def) = &item.kind else { return None };
        let lenient = def.kind != DefKind::Fn;
        self.item(lenient, |l| l.function_item(def, choice))
    }

    /// A `rule` or `decomp` as a claim.
    pub fn claim(&mut self, item: &Item, choice: &Choice) -> Option<Claim> {
        self.item(true, |l| match &item.kind {
            ItemKind::Rule(rule) => l.rule_claim(rule, choice, item.span),
            ItemKind::Def(def) => l.decomp_claim(def, choice, item.span),
            ItemKind::Vjp { path, .. } => {
                let span = path.parts.last().map_or(item.span, |p| p.span);
                fail(590, span, "derivatives are not supported yet")
            }
            ItemKind::Use(_) | ItemKind::Const { .. } | ItemKind::Test { .. } | ItemKind::Error => {
                Err(Stop::Poisoned)
            }
        })
    }

    /// A `rule` or `decomp` about one axis that stands for any number of them; `None` where it does not
    /// treat all axes alike, or not by component.
    pub fn schema(&mut self, item: &Item, dtypes: &[(Arc<str>, DType)]) -> Option<Schema> {
        let claim = self.claim(item, &Choice { dtypes: dtypes.to_vec(), ranks: Ranks::Uniform })?;
        Some(Schema { claim, axes: self.groups.axes.clone()? })
    }

    /// A `fn` as the claim that the functions it calls can be called so: both sides are its
    /// body.
    pub fn calls(&mut self, item: &Item, choice: &Choice) -> Option<Claim> {
        let ItemKind::Def(def) = &item.kind else { return None };
        self.item(false, |l| {
            let declared = l.declare(&def.generics, &def.params, clauses_of(&def.clauses), choice)?;
            let body = l.body_term(def)?;
            let name = &def.name.parts.last().expect("invariant: a path has parts").name;
            let (kind, mode, directed, span) = (ClaimKind::Calls, Mode::Exact, true, item.span);
            let statement = Statement { name, kind, mode, directed, lhs: body.clone(), rhs: body, span };
            Ok(claim(statement, declared, choice))
        })
    }

    /// Elaborates one item from a clean slate; failures are reported.
    pub(super) fn item<T>(&mut self, lenient: bool, f: impl FnOnce(&mut Self) -> Result<T>) -> Option<T> {
        self.frame = Frame::default();
        self.facts.clear();
        self.instances = 0;
        self.lenient = lenient;
        match f(self) {
            Ok(value) => Some(value),
            // Under contradictory preconditions nothing is claimed.
            Err(_) if self.unreachable() => {
                self.diagnostics.clear();
                None
            }
            Err(stop) => {
                self.report(stop);
                None
            }
        }
    }

    fn function_item(&mut self, def: &ast::Def, choice: &Choice) -> Result<Function> {
        let name = &def.name.parts.last().expect("invariant: a path has parts").name;
        let declared = self.declare(&def.generics, &def.params, clauses_of(&def.clauses), choice)?;
        self.refuse_clauses(&def.clauses)?;
        let body = self.body_term(def)?;
        let Declared { params, facts, requires, .. } = declared;
        Ok(Function { name: name.as_str().into(), params, facts, requires, body })
    }

    fn rule_claim(&mut self, rule: &ast::Rule, choice: &Choice, span: Span) -> Result<Claim> {
        let clauses = rule.clauses.iter().filter_map(|c| match c {
            RuleClause::Clause(Clause::Requires(list)) => Some(list.as_slice()),
            _ => None,
        });
        let declared = self.declare(&rule.generics, &rule.params, clauses, choice)?;
        let mut mode = Mode::Exact;
        let mut lets = Vec::new();
        for clause in &rule.clauses {
            match clause {
                RuleClause::Clause(Clause::Requires(_)) => {}
                RuleClause::Clause(Clause::Upto(m)) => mode = self.mode(m)?,
                RuleClause::Clause(_) => {
                    return fail(491, rule.name.span, "a rule has `requires`, `upto` and `let` clauses only");
                }
                RuleClause::Let { pat, value } => {
                    let value = self.expr(value)?;
                    self.bind_pattern(pat, value, &mut lets)?;
                }
            }
        }
        let side = |l: &mut Self, expr: &ast::Expr| {
            let value = wrap_lets(l.expr(expr)?, lets.clone());
            l.result_term(value, None, expr.span)
        };
        let (lhs, rhs) = (side(self, &rule.lhs), side(self, &rule.rhs));
        let (lhs, rhs) = match (lhs, rhs) {
            (Ok(lhs), Ok(rhs)) => (lhs, rhs),
            (Err(a), Err(b)) => {
                self.report(a);
                return Err(b);
            }
            (Err(stop), _) | (_, Err(stop)) => return Err(stop),
        };
        let (lhs, rhs) = self.same_literal_dtype(lhs, rhs, &rule.lhs, &rule.rhs)?;
        let directed = rule.arrow == Arrow::Refines;
        let (name, kind) = (rule.name.name.as_str(), ClaimKind::Rule);
        Ok(claim(Statement { name, kind, mode, directed, lhs, rhs, span }, declared, choice))
    }

    /// A side that is a bare literal (`A - A => 0.0`) takes the other's dtype and
    /// shape is compared as written.
    fn same_literal_dtype(
        &mut self,
        lhs: Term,
        rhs: Term,
        l: &ast::Expr,
        r: &ast::Expr,
    ) -> Result<(Term, Term)> {
        let literal = |e: &ast::Expr| match &e.kind {
            ExprKind::Int(_) | ExprKind::Float(_) => true,
            ExprKind::Unary { arg, .. } => matches!(arg.kind, ExprKind::Int(_) | ExprKind::Float(_)),
            _ => false,
        };
        if lhs.tensor_type().is_none() || rhs.tensor_type().is_none() || lhs.dtype() == rhs.dtype() {
            return Ok((lhs, rhs));
        }
        if literal(r) {
            let value = self.expr(r)?;
            let rhs = self.tensor_as(&value, lhs.dtype(), r.span)?;
            return Ok((lhs, rhs));
        }
        if literal(l) {
            let value = self.expr(l)?;
            let lhs = self.tensor_as(&value, rhs.dtype(), l.span)?;
            return Ok((lhs, rhs));
        }
        Ok((lhs, rhs))
    }

    fn decomp_claim(&mut self, def: &ast::Def, choice: &Choice, span: Span) -> Result<Claim> {
        let name = def.name.parts.last().expect("invariant: a path has parts");
        let kind = match &def.kind {
            DefKind::Impl => ClaimKind::Impl,
            _ => ClaimKind::Decomp,
        };
        let declared = self.declare(&def.generics, &def.params, clauses_of(&def.clauses), choice)?;
        let mut mode = Mode::Exact;
        let mut reference = None;
        for clause in &def.clauses {
            match clause {
                Clause::Upto(m) => mode = self.mode(m)?,
                Clause::Refines(expr) => reference = Some(self.expr(expr)?),
                Clause::Requires(_) => {}
                Clause::Ensures(_) | Clause::Invariant(_) | Clause::Decreases(_) => {
                    return fail(391, name.span, "`ensures` is not supported yet");
                }
            }
        }
        if let DefKind::Decomp { of: Some(op) } = &def.kind {
            let op = op.parts.last().expect("invariant: a path has parts").clone();
            let values = def.params.iter().filter_map(|p| self.lookup(&p.name.name).cloned());
            let values = values.collect();
            reference = Some(self.call_by_name(&op, values, op.span)?);
        }
        let Some(reference) = reference else {
            return Err(Diagnostic::error(
                Code(492),
                name.span,
                format!("`{}` does not say what it refines", name.name),
            )
            .help("add `refines OP(..)`")
            .into());
        };
        let lhs = self.result_term(reference, None, name.span)?;
        let rhs = self.body_term(def)?;
        let name = name.name.as_str();
        Ok(claim(Statement { name, kind, mode, directed: true, lhs, rhs, span }, declared, choice))
    }

    fn refuse_clauses(&self, clauses: &[Clause]) -> Result<()> {
        for clause in clauses {
            if let Clause::Ensures(list) = clause {
                let span = list.first().map(|e| e.span).unwrap_or_default();
                return fail(391, span, "`ensures` is not supported yet");
            }
        }
        Ok(())
    }

    /// Binds generics, parameters and preconditions of an item.
    fn declare<'e>(
        &mut self,
        generics: &[ast::Generic],
        params: &[ast::Param],
        requires: impl Iterator<Item = &'e [ast::Expr]>,
        choice: &Choice,
    ) -> Result<Declared> {
        let kinds = generics_of(generics)?;
        let mut declared = Declared::default();
        for generic in generics {
            self.declare_generic(generic, choice, &mut declared);
        }
        // Size parameters first: `x: f32[H * D], H: size` names one before it is declared.
        for param in params {
            if matches!(param_kind(&param.ty, &kinds), ParamKind::Size | ParamKind::Int) {
                self.declare_size(param, &kinds, &mut declared);
            }
        }
        // Then what is static, which types of tensors may name.
        let is_tensor = |p: &ast::Param| param_kind(&p.ty, &kinds) == ParamKind::Tensor;
        for param in params.iter().filter(|p| !is_tensor(p)).chain(params.iter().filter(|p| is_tensor(p))) {
            self.declare_param(param, &kinds, &mut declared)?;
        }
        let order = |p: &Param| params.iter().position(|q| q.span == p.span);
        declared.params.sort_by_key(order);
        self.facts = declared.facts.clone();
        for list in requires {
            for expr in list {
                self.assume(expr, &mut declared)?;
            }
        }
        Ok(declared)
    }

    fn declare_generic(&mut self, generic: &ast::Generic, choice: &Choice, declared: &mut Declared) {
        match generic {
            ast::Generic::Size(name) => {
                let sym = self.fresh_sym(SymKind::Size, &name.name);
                declared.syms.push(sym.clone());
                self.bind(&name.name, Value::size(Size::sym(&sym)));
            }
            ast::Generic::Rank(name) => {
                let syms: Vec<Sym> = match choice.ranks {
                    Ranks::Opaque => {
                        let (group, number, tie) = self.declare_group(&name.name);
                        declared.syms.push(number);
                        declared.facts.push(tie);
                        vec![group]
                    }
                    Ranks::Uniform => vec![self.declare_uniform_group(&name.name)],
                    Ranks::Fixed(rank) => (0..rank)
                        .map(|k| self.fresh_sym(SymKind::Size, &format!("{}{k}", name.name)))
                        .collect(),
                };
                let extents: Vec<Size> = syms.iter().map(Size::sym).collect();
                declared.syms.extend(syms);
                declared.ranks.push((name.name.as_str().into(), extents.clone()));
                self.bind(&name.name, Value::Tuple(Extents::shape(extents)));
            }
            ast::Generic::DType { name, .. } => {
                let chosen = choice.dtypes.iter().find(|(n, _)| **n == *name.name);
                let (_, dtype) = chosen.expect("invariant: a dtype is chosen for every variable");
                self.bind(&name.name, Value::DType(*dtype));
            }
        }
    }

    fn declare_size(&mut self, param: &ast::Param, kinds: &Generics, declared: &mut Declared) {
        let kind = match param_kind(&param.ty, kinds) {
            ParamKind::Int => SymKind::Int,
            _ => SymKind::Size,
        };
        // A generic of the same name is this parameter: `fn f[H](x: .., H: size)`.
        let generic = kinds.get(&param.name.name) == Some(&GenericKind::Size);
        let sym = match self.lookup(&param.name.name) {
            Some(Value::Size(s, _)) if generic && s.as_sym().is_some() => {
                s.as_sym().cloned().expect("invariant: just seen")
            }
            _ => self.fresh_sym(kind, &param.name.name),
        };
        self.bind(&param.name.name, Value::size(Size::sym(&sym)));
        if !declared.syms.contains(&sym) {
            declared.syms.push(sym.clone());
        }
        declared.params.push(Param {
            name: param.name.name.as_str().into(),
            input: Input::Size(sym),
            span: param.span,
        });
    }

    fn declare_param(&mut self, param: &ast::Param, kinds: &Generics, declared: &mut Declared) -> Result<()> {
        match param_kind(&param.ty, kinds) {
            ParamKind::Size | ParamKind::Int => Ok(()),
            ParamKind::Tensor => {
                if let ast::TypeKind::Tensor { alias: Some(alias), .. } = &param.ty.kind
                    && alias.written
                {
                    return fail(390, alias.letter.span, "parameters that are written are not supported yet");
                }
                let ty = self.declared_type(&param.ty)?;
                let term = self.declare_value(param, param.name.name.clone(), ty, declared);
                self.bind(&param.name.name, Value::Term(term));
                Ok(())
            }
            ParamKind::Function => fail(296, param.span, "functions as values are not supported yet"),
            ParamKind::List => {
                fail(297, param.span, "a list of tensors as a parameter of a claim is not supported yet")
            }
            kind => match &param.default {
                // A static parameter is elaborated at its default; a claim over every
                // value of it is not decided.
                Some(default) => {
                    let value = self.expr(default)?;
                    self.bind(&param.name.name, value);
                    Ok(())
                }
                None => Err(super::refuse::static_parameter(&param.name.name, &kind, param.span).into()),
            },
        }
    }

    /// A tensor that is given, or a tuple of those that are given as its components.
    fn declare_value(&mut self, param: &ast::Param, name: String, ty: Type, declared: &mut Declared) -> Term {
        let at = param.name.span;
        if let Type::Tuple(types) = ty {
            let component = |(k, ty)| self.declare_value(param, format!("{name}[{k}]"), ty, declared);
            return Term::tuple(types.into_iter().enumerate().map(component).collect(), at);
        }
        let var = self.fresh_var(&name);
        let input = Input::Value(var.clone(), ty.clone());
        declared.params.push(Param { name: name.into(), input, span: param.span });
        Term::var(var, ty, at)
    }

    /// A precondition of an item: known from here on.
    fn assume(&mut self, expr: &ast::Expr, declared: &mut Declared) -> Result<()> {
        let cond = match self.expr(expr)? {
            Value::Bool(true) => return Ok(()),
            Value::Bool(false) => Cond::False,
            Value::Term(t) => match t.as_cond().or_else(|| self.on_each_axis(&t)) {
                Some(cond) => cond,
                None => {
                    let cond = self.all_of(t, expr.span)?;
                    let text = crate::print::print_expr(expr);
                    declared.requires.push(Require {
                        cond,
                        class: ErrorClass::Requires,
                        text,
                        span: expr.span,
                    });
                    return Ok(());
                }
            },
            other => {
                return fail(201, expr.span, format!("expected a condition, found {}", other.describe()));
            }
        };
        declared.facts.push(cond.clone());
        self.facts.push(cond);
        Ok(())
    }

    /// `upto real`, `upto close(rtol = 1e-5)`.
    pub(super) fn mode(&mut self, mode: &ast::Mode) -> Result<Mode> {
        let unknown = |m: &ast::Mode| {
            Diagnostic::error(Code(401), m.name.span, format!("unknown mode `{}`", m.name.name))
                .help("the modes are `exact`, `reassoc`, `real` and `close(rtol = .., atol = .., ulp = ..)`")
        };
        match (mode.name.name.as_str(), &mode.args) {
            ("exact", None) => Ok(Mode::Exact),
            ("reassoc", None) => Ok(Mode::Reassoc),
            ("real", None) => Ok(Mode::Real),
            ("close", Some(Args::List(list))) => self.tolerance(list),
            ("close", None) => Ok(Mode::Close { rtol: 1e-5, atol: 1e-8, ulp: None }),
            _ => Err(unknown(mode).into()),
        }
    }

    /// The bounds named in `close(..)`; PyTorch's `allclose` without any.
    pub(super) fn tolerance(&mut self, list: &[ast::Arg]) -> Result<Mode> {
        let (mut rtol, mut atol, mut ulp) = (None, None, None);
        for arg in list {
            let Some(name) = &arg.name else { continue };
            let number = match &arg.value.kind {
                ExprKind::Float(text) => text.parse::<f64>().ok(),
                ExprKind::Int(value) => value.to_string().parse::<f64>().ok(),
                _ => None,
            };
            let Some(number) = number else {
                return fail(402, arg.value.span, "a bound is a number literal");
            };
            match name.name.as_str() {
                "rtol" => rtol = Some(number),
                "atol" => atol = Some(number),
                "ulp" => ulp = Some(number as u64),
                other => {
                    return Err(Diagnostic::error(
                        Code(402),
                        name.span,
                        format!("`close` has no bound `{other}`"),
                    )
                    .help("the bounds are `rtol`, `atol` and `ulp`")
                    .into());
                }
            }
        }
        let given = rtol.is_some() || atol.is_some() || ulp.is_some();
        let (r, a) = if given { (0.0, 0.0) } else { (1e-5, 1e-8) };
        Ok(Mode::Close { rtol: rtol.unwrap_or(r), atol: atol.unwrap_or(a), ulp })
    }
}

/// What a claim says beside its declarations.
pub(super) struct Statement<'n> {
    pub name: &'n str,
    pub kind: ClaimKind,
    pub mode: Mode,
    pub directed: bool,
    pub lhs: Term,
    pub rhs: Term,
    pub span: Span,
}

pub(super) fn claim(statement: Statement<'_>, declared: Declared, choice: &Choice) -> Claim {
    let Statement { name, kind, mode, directed, lhs, rhs, span } = statement;
    let Declared { params, syms, ranks, facts, requires } = declared;
    let dtypes = choice.dtypes.clone();
    Claim {
        name: name.into(),
        kind,
        mode,
        directed,
        syms,
        ranks,
        dtypes,
        params,
        facts,
        requires,
        lhs,
        rhs,
        span,
    }
}

fn clauses_of(clauses: &[Clause]) -> impl Iterator<Item = &[ast::Expr]> {
    clauses.iter().filter_map(|c| match c {
        Clause::Requires(list) => Some(list.as_slice()),
        _ => None,
    })
}

/// The extents a rank variable has, for reports.
pub fn rank_text(extents: &[Size]) -> String {
    shape_text(extents)
}
