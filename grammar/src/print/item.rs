//! Items and statements.

use super::Printer;
use super::doc::Doc;
use crate::ast::*;

impl Printer<'_> {
    pub(super) fn item(&self, item: &Item) -> Doc {
        let mut docs = Vec::new();
        for attr in &item.attrs {
            docs.push(Doc::text(format!("@{}", attr.name.name)));
            docs.extend(attr.args.as_ref().map(|args| self.args(args, attr.name.span.hi)));
            docs.push(Doc::HardLine);
        }
        docs.push(self.item_kind(&item.kind));
        Doc::Concat(docs)
    }

    fn item_kind(&self, kind: &ItemKind) -> Doc {
        match kind {
            ItemKind::Use(path) => Doc::text(format!("use {}", dotted(path))),
            ItemKind::Const { name, ty, value } => Doc::Concat(vec![
                Doc::text(format!("const {}: ", name.name)),
                self.ty(ty),
                Doc::text(" = "),
                self.expr(value),
            ]),
            ItemKind::Def(def) => self.def(def),
            ItemKind::Vjp { path, generics, params, given, clauses, body } => {
                let from = path_end(path);
                let mut docs = vec![Doc::text(format!("vjp {}", dotted(path)))];
                docs.extend([self.generics(generics, from), self.params(generics, params, from)]);
                docs.push(Doc::text(format!(" given {}", pattern(given))));
                docs.push(self.clauses_and_block(clauses, body));
                Doc::Concat(docs)
            }
            ItemKind::Rule(rule) => self.rule(rule),
            ItemKind::Test { name, body } => {
                Doc::Concat(vec![Doc::text(format!("test {} ", name.name)), self.block(body)])
            }
            ItemKind::Error => Doc::text("<error>"),
        }
    }

    fn def(&self, def: &Def) -> Doc {
        let word = match &def.kind {
            DefKind::Fn => "fn",
            DefKind::Op => "op",
            DefKind::Impl => "impl",
            DefKind::Decomp { .. } => "decomp",
            DefKind::Monoid => "monoid",
        };
        let mut head = format!("{word} {}", dotted(&def.name));
        let mut from = path_end(&def.name);
        if let DefKind::Decomp { of: Some(of) } = &def.kind {
            head += &format!(" for {}", dotted(of));
            from = path_end(of);
        }
        let mut docs = vec![Doc::text(head)];
        docs.extend([self.generics(&def.generics, from), self.params(&def.generics, &def.params, from)]);
        if let Some(ret) = &def.ret {
            docs.extend([Doc::text(" -> "), self.ty(ret)]);
        }
        docs.push(self.clauses_and_block(&def.clauses, &def.body));
        Doc::Concat(docs)
    }

    fn rule(&self, rule: &Rule) -> Doc {
        let from = rule.name.span.hi;
        let mut docs = vec![Doc::text(format!("rule {}", rule.name.name))];
        docs.extend([self.generics(&rule.generics, from), self.params(&rule.generics, &rule.params, from)]);
        let clauses = rule.clauses.iter().map(|clause| match clause {
            RuleClause::Clause(clause) => self.clause(clause),
            RuleClause::Let { pat, value } => {
                Doc::Concat(vec![Doc::text(format!("let {} = ", pattern(pat))), self.expr(value)])
            }
        });
        docs.push(self.clause_lines(clauses.collect()));
        let arrow = match rule.arrow {
            Arrow::Refines => "=> ",
            Arrow::Both => "<=> ",
        };
        let equation =
            vec![self.expr(&rule.lhs), Doc::nest(vec![Doc::Line, Doc::text(arrow), self.expr(&rule.rhs)])];
        docs.push(Doc::text("{"));
        docs.push(Doc::nest(vec![Doc::HardLine, Doc::group(equation)]));
        docs.extend([Doc::HardLine, Doc::text("}")]);
        Doc::Concat(docs)
    }

    fn generics(&self, generics: &[Generic], from: u32) -> Doc {
        if generics.is_empty() {
            return Doc::Concat(vec![]);
        }
        let parts = generics.iter().map(|generic| {
            Doc::text(match generic {
                Generic::Size(name) => name.name.clone(),
                Generic::Rank(name) => format!("*{}", name.name),
                Generic::DType { name, class } => format!("{}: {}", name.name, class.name),
            })
        });
        self.list("[", parts.collect(), "]", from)
    }

    fn params(&self, generics: &[Generic], params: &[Param], from: u32) -> Doc {
        let from = match generics.last() {
            None => from,
            Some(Generic::Size(name) | Generic::Rank(name) | Generic::DType { class: name, .. }) => {
                name.span.hi
            }
        };
        let parts = params.iter().map(|param| {
            let mut docs = vec![Doc::text(format!("{}: ", param.name.name)), self.ty(&param.ty)];
            if let Some(default) = &param.default {
                docs.extend([Doc::text(" = "), self.expr(default)]);
            }
            Doc::Concat(docs)
        });
        self.list_as(Doc::first, "(", parts.collect(), ")", from)
    }

    /// Clauses on lines of their own, then the block's brace likewise; without clauses the
    /// block follows on the same line.
    fn clauses_and_block(&self, clauses: &[Clause], body: &Block) -> Doc {
        let lines = self.clause_lines(clauses.iter().map(|clause| self.clause(clause)).collect());
        Doc::Concat(vec![lines, self.block(body)])
    }

    fn clause_lines(&self, clauses: Vec<Doc>) -> Doc {
        if clauses.is_empty() {
            return Doc::text(" ");
        }
        let lines = clauses.into_iter().flat_map(|clause| [Doc::HardLine, clause]).collect();
        Doc::Concat(vec![Doc::nest(lines), Doc::HardLine])
    }

    fn clause(&self, clause: &Clause) -> Doc {
        let list = |word: &'static str, exprs: &[Expr]| {
            let parts = exprs.iter().map(|e| self.expr(e)).collect();
            Doc::group(vec![Doc::text(word), Doc::nest(vec![Doc::commas(parts)])])
        };
        match clause {
            Clause::Requires(exprs) => list("requires ", exprs),
            Clause::Ensures(exprs) => list("ensures ", exprs),
            Clause::Invariant(exprs) => list("invariant ", exprs),
            Clause::Decreases(exprs) => list("decreases ", exprs),
            Clause::Refines(expr) => Doc::Concat(vec![Doc::text("refines "), self.expr(expr)]),
            Clause::Upto(mode) => self.mode(mode),
        }
    }

    fn mode(&self, mode: &Mode) -> Doc {
        let args = mode.args.as_ref().map(|args| self.args(args, mode.name.span.hi));
        let mut docs = vec![Doc::text(format!("upto {}", mode.name.name))];
        docs.extend(args);
        Doc::Concat(docs)
    }

    fn block(&self, block: &Block) -> Doc {
        if block.stmts.is_empty() && !self.layout.comment_in_block(block) {
            return Doc::text("{}");
        }
        let lines = block.stmts.iter().flat_map(|stmt| [Doc::HardLine, self.stmt(stmt)]).collect();
        Doc::Concat(vec![Doc::text("{"), Doc::nest(lines), Doc::HardLine, Doc::text("}")])
    }

    fn stmt(&self, stmt: &Stmt) -> Doc {
        match &stmt.kind {
            StmtKind::Let { pat, ty, value } => {
                let mut docs = vec![Doc::text(format!("let {}", pattern(pat)))];
                if let Some(ty) = ty {
                    docs.extend([Doc::text(": "), self.ty(ty)]);
                }
                docs.extend([Doc::text(" = "), self.expr(value)]);
                Doc::Concat(docs)
            }
            StmtKind::Return(value) => Doc::Concat(vec![Doc::text("return "), self.expr(value)]),
            StmtKind::Assert { value, mode } => {
                let mut docs = vec![Doc::text("assert "), self.expr(value)];
                if let Some(mode) = mode {
                    docs.extend([Doc::text(" "), self.mode(mode)]);
                }
                Doc::Concat(docs)
            }
            StmtKind::For { binders, clauses, body } => {
                let binders = Doc::group(vec![Doc::nest(vec![self.binders(binders)])]);
                Doc::Concat(vec![Doc::text("for "), binders, self.clauses_and_block(clauses, body)])
            }
            StmtKind::While { cond, clauses, body } => {
                Doc::Concat(vec![Doc::text("while "), self.expr(cond), self.clauses_and_block(clauses, body)])
            }
            StmtKind::If(branch) => self.if_stmt(branch),
            StmtKind::Place(place) => self.expr(place),
            StmtKind::Assign { place, op, value } => {
                let op = match op {
                    AssignOp::Set => " = ",
                    AssignOp::Add => " += ",
                    AssignOp::Sub => " -= ",
                    AssignOp::Mul => " *= ",
                    AssignOp::Div => " /= ",
                };
                Doc::Concat(vec![self.expr(place), Doc::text(op), self.expr(value)])
            }
            StmtKind::Error => Doc::text("<error>"),
        }
    }

    fn if_stmt(&self, branch: &IfStmt) -> Doc {
        let mut docs =
            vec![Doc::text("if "), self.expr(&branch.cond), Doc::text(" "), self.block(&branch.then)];
        match &branch.otherwise {
            None => {}
            Some(Else::Block(block)) => docs.extend([Doc::text(" else "), self.block(block)]),
            Some(Else::If(stmt)) => docs.extend([Doc::text(" else "), self.stmt(stmt)]),
        }
        Doc::Concat(docs)
    }
}

fn dotted(path: &Path) -> String {
    path.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".")
}

fn path_end(path: &Path) -> u32 {
    path.parts.last().map_or(0, |part| part.span.hi)
}

fn pattern(pat: &Pat) -> String {
    match pat {
        Pat::Name(name) => name.name.clone(),
        Pat::Tuple { names, .. } => {
            let names: Vec<&str> = names.iter().map(|n| n.name.as_str()).collect();
            format!("({})", names.join(", "))
        }
    }
}
