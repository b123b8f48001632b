//! Statements of a body.

use super::value::Value;
use super::{Lower, Result, Stop, fail};
use crate::ast::{Block, Else, Expr, ExprKind, Ident, IfStmt, Pat, Stmt, StmtKind};
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::term::{Form, Term, Var};
use rtv_semantics::types::Type;

impl Lower<'_> {
    /// The value a block returns. Names bound inside end with it.
    pub(super) fn block(&mut self, block: &Block, wanted: Option<&Type>) -> Result<Value> {
        let names = self.frame.names.len();
        let mut lets = Vec::new();
        let result = self.statements(&block.stmts, block.span, wanted, &mut lets);
        self.frame.names.truncate(names);
        let value = result?;
        Ok(wrap_lets(value, lets))
    }

    fn statements(
        &mut self,
        stmts: &[Stmt],
        span: Span,
        wanted: Option<&Type>,
        lets: &mut Vec<(Var, Term)>,
    ) -> Result<Value> {
        let mut failed = false;
        for (k, stmt) in stmts.iter().enumerate() {
            let last = k + 1 == stmts.len();
            match &stmt.kind {
                StmtKind::Return(expr) => {
                    if !last {
                        return fail(107, stmts[k + 1].span, "this statement stands after `return`");
                    }
                    let value = self.expr_of(expr, wanted)?;
                    return if failed { Err(Stop::Poisoned) } else { Ok(value) };
                }
                StmtKind::If(branch) if last => {
                    let value = self.if_statement(branch, wanted, stmt.span)?;
                    return if failed { Err(Stop::Poisoned) } else { Ok(value) };
                }
                _ => {
                    if let Err(stop) = self.statement(stmt, lets) {
                        // In a called definition the failure belongs to the call.
                        if self.depth > 0 {
                            return Err(stop);
                        }
                        self.report(stop);
                        self.poison(stmt);
                        failed = true;
                    }
                }
            }
        }
        if failed {
            return Err(Stop::Poisoned);
        }
        let end = Span { lo: span.hi.saturating_sub(1), ..span };
        Err(Diagnostic::error(Code(108), end, "the body does not return a value")
            .help("end it with `return`")
            .into())
    }

    fn statement(&mut self, stmt: &Stmt, lets: &mut Vec<(Var, Term)>) -> Result<()> {
        match &stmt.kind {
            StmtKind::Let { pat, ty, value } => {
                let value = self.let_value(ty.as_ref(), value)?;
                self.bind_pattern(pat, value, lets)
            }
            StmtKind::Assign { place, .. } => match &place.kind {
                ExprKind::Name(_) => self.rebind(stmt, lets),
                _ => fail(390, stmt.span, "writing to storage is not supported yet"),
            },
            StmtKind::Place(expr) => self.bare_place(expr),
            StmtKind::For { .. } | StmtKind::While { .. } => {
                fail(294, stmt.span, "loops are not supported yet")
            }
            StmtKind::If(_) => {
                fail(294, stmt.span, "`if` as a statement that is not last is not supported yet")
            }
            StmtKind::Assert { .. } => fail(294, stmt.span, "`assert` stands only in a `test` for now"),
            StmtKind::Return(_) => fail(107, stmt.span, "`return` stands last"),
            StmtKind::Error => Err(Stop::Poisoned),
        }
    }

    fn let_value(&mut self, ty: Option<&crate::ast::Type>, value: &Expr) -> Result<Value> {
        let Some(ty) = ty else { return self.expr(value) };
        let want = self.declared_type(ty)?;
        let found = self.expr_of(value, Some(&want))?;
        Ok(match want {
            Type::Size => found,
            _ => Value::Term(self.result_term(found, Some(&want), value.span)?),
        })
    }

    /// Binds a name to a value: tensors by a core `let`, so that what is computed
    /// once is one term; variables and static values directly.
    pub(super) fn bind_pattern(
        &mut self,
        pat: &Pat,
        value: Value,
        lets: &mut Vec<(Var, Term)>,
    ) -> Result<()> {
        match (pat, value) {
            (Pat::Name(name), Value::Term(t))
                if !matches!(t.form(), Form::Var(_)) && *t.ty() != Type::Size =>
            {
                let var = self.fresh_var(&name.name);
                self.bind(&name.name, Value::Term(Term::var(var.clone(), t.ty().clone(), name.span)));
                lets.push((var, t));
                Ok(())
            }
            (Pat::Name(name), value) => {
                self.bind(&name.name, value);
                Ok(())
            }
            (Pat::Tuple { names, span }, value) => {
                let parts: Vec<Value> = match value {
                    Value::Term(t) if matches!(t.ty(), Type::Tuple(_)) => {
                        let Type::Tuple(types) = t.ty().clone() else { return Err(Stop::Poisoned) };
                        let var = self.fresh_var("t");
                        let tuple = Term::var(var.clone(), t.ty().clone(), *span);
                        lets.push((var, t));
                        (0..types.len()).map(|k| Value::Term(Term::item(k, tuple.clone(), *span))).collect()
                    }
                    Value::List(list) => list,
                    Value::Poison => return Err(Stop::Poisoned),
                    other => {
                        return Err(no_tuple(names, &other, *span).into());
                    }
                };
                if parts.len() != names.len() {
                    return fail(201, *span, format!("{} names for {} parts", names.len(), parts.len()));
                }
                for (name, part) in names.iter().zip(parts) {
                    self.bind_pattern(&Pat::Name(name.clone()), part, lets)?;
                }
                Ok(())
            }
        }
    }

    /// `x = e`, `x += e` on a name: a new value of that name.
    fn rebind(&mut self, stmt: &Stmt, lets: &mut Vec<(Var, Term)>) -> Result<()> {
        let StmtKind::Assign { place, op, value } = &stmt.kind else { return Ok(()) };
        let ExprKind::Name(name) = &place.kind else { return Ok(()) };
        if *op != crate::ast::AssignOp::Set {
            return fail(390, stmt.span, format!("`{name}` is written in place, which is not supported yet"));
        }
        if self.lookup(name).is_none() {
            return Err(Diagnostic::error(Code(101), place.span, format!("unknown name `{name}`"))
                .help(format!("introduce it: `let {name} = ..`"))
                .into());
        }
        let value = self.expr(value)?;
        let ident = crate::ast::Ident { name: name.clone(), span: place.span };
        self.bind_pattern(&Pat::Name(ident), value, lets)
    }

    fn bare_place(&mut self, expr: &Expr) -> Result<()> {
        if let ExprKind::Call { fun, .. } = &expr.kind {
            if let ExprKind::Field { name, .. } = &fun.kind
                && let Some(refused) = self.refused_method(name)
            {
                return Err(refused.into());
            }
            // A name that is none is the more useful news.
            self.expr(expr)?;
            return Err(Diagnostic::error(Code(109), expr.span, "the value of this call is not used")
                .help("bind it: `let y = ..`")
                .into());
        }
        Err(Diagnostic::error(Code(109), expr.span, "an expression alone is not a statement")
            .help(format!("write `return {}`, or bind it with `let`", crate::print::print_expr(expr)))
            .into())
    }

    fn if_statement(&mut self, branch: &IfStmt, wanted: Option<&Type>, span: Span) -> Result<Value> {
        let test = match self.expr(&branch.cond)? {
            Value::Bool(true) => return self.block(&branch.then, wanted),
            Value::Bool(false) => return self.else_branch(branch, wanted, span),
            Value::Term(t) if *t.ty() == Type::scalar(DType::Bool) => t,
            Value::Poison => return Err(Stop::Poisoned),
            other => return Err(super::expr::no_condition(&other, branch.cond.span)),
        };
        let yes = test.as_cond();
        let no = yes.clone().map(|c| c.negated());
        let a = self.scoped(yes.into_iter().collect(), |l| l.block(&branch.then, wanted))?;
        let b = self.scoped(no.into_iter().collect(), |l| l.else_branch(branch, wanted, span))?;
        self.choice(test, a, b, wanted, span)
    }

    fn else_branch(&mut self, branch: &IfStmt, wanted: Option<&Type>, span: Span) -> Result<Value> {
        match &branch.otherwise {
            Some(Else::Block(block)) => self.block(block, wanted),
            Some(Else::If(stmt)) => match &stmt.kind {
                StmtKind::If(inner) => self.if_statement(inner, wanted, stmt.span),
                _ => Err(Stop::Poisoned),
            },
            None => fail(108, span, "the other branch does not return a value"),
        }
    }

    /// After a failed statement its names stand for something already reported.
    pub(super) fn poison(&mut self, stmt: &Stmt) {
        if let StmtKind::Assign { place, .. } = &stmt.kind
            && let ExprKind::Name(name) = &place.kind
        {
            self.bind(name, Value::Poison);
        }
        if let StmtKind::Let { pat, .. } = &stmt.kind {
            let names = match pat {
                Pat::Name(name) => std::slice::from_ref(name),
                Pat::Tuple { names, .. } => names,
            };
            names.iter().for_each(|n| self.bind(&n.name, Value::Poison));
        }
    }
}

/// A pattern of several names for what has no parts.
fn no_tuple(names: &[Ident], found: &Value, span: Span) -> Diagnostic {
    let message = format!("expected a tuple, found {}", found.describe());
    let diagnostic = Diagnostic::error(Code(201), span, message);
    match (found, names.first()) {
        (Value::Tuple(_), Some(first)) => diagnostic.help(format!(
            "the sizes in a type are names already; one by one: `let {} = x.shape[0]`",
            first.name
        )),
        _ => diagnostic,
    }
}

/// The value under the `let`s of its block, innermost last.
pub(super) fn wrap_lets(value: Value, lets: Vec<(Var, Term)>) -> Value {
    let wrap = |t: Term| {
        lets.iter().rev().fold(t, |body, (var, value)| {
            let span = body.span();
            Term::let_(var.clone(), value.clone(), body, span)
        })
    };
    match value {
        Value::Term(t) => Value::Term(wrap(t)),
        Value::Float(t) => Value::Float(t),
        Value::List(parts) if !lets.is_empty() => {
            Value::List(parts.into_iter().map(|v| wrap_lets(v, lets.clone())).collect())
        }
        other => other,
    }
}
