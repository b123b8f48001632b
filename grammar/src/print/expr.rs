//! Expressions and types.

use super::Printer;
use super::doc::Doc;
use crate::ast::*;
use crate::guard::deceptive;

// How tightly each form binds, as in the grammar.
const LOOSEST: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const SIGNED: u8 = 7;
const POWER: u8 = 8;
const POSTFIX: u8 = 9;
const ATOM: u8 = 10;

fn binds(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Binary { op, .. } => operator(*op).1,
        ExprKind::Unary { op: UnaryOp::Neg, .. } => SIGNED,
        ExprKind::Unary { op: UnaryOp::Not, .. } => NOT,
        ExprKind::Field { .. } | ExprKind::Index { .. } | ExprKind::Call { .. } => POSTFIX,
        _ => ATOM,
    }
}

/// Text and strength of an operator.
fn operator(op: BinaryOp) -> (&'static str, u8) {
    match op {
        BinaryOp::Or => ("or", OR),
        BinaryOp::And => ("and", AND),
        BinaryOp::Eq => ("==", COMPARISON),
        BinaryOp::Ne => ("!=", COMPARISON),
        BinaryOp::Le => ("<=", COMPARISON),
        BinaryOp::Ge => (">=", COMPARISON),
        BinaryOp::Lt => ("<", COMPARISON),
        BinaryOp::Gt => (">", COMPARISON),
        BinaryOp::Add => ("+", SUM),
        BinaryOp::Sub => ("-", SUM),
        BinaryOp::Mul => ("*", PRODUCT),
        BinaryOp::Div => ("/", PRODUCT),
        BinaryOp::FloorDiv => ("//", PRODUCT),
        BinaryOp::Rem => ("%", PRODUCT),
        BinaryOp::MatMul => ("@", PRODUCT),
        BinaryOp::Pow => ("**", POWER),
    }
}

impl Printer<'_> {
    pub(super) fn expr(&self, expr: &Expr) -> Doc {
        self.expr_at(expr, LOOSEST)
    }

    /// In parentheses if `expr` binds less tightly than `least`.
    fn expr_at(&self, expr: &Expr, least: u8) -> Doc {
        let doc = self.bare(expr);
        if binds(expr) < least { parenthesized(doc) } else { doc }
    }

    fn bare(&self, expr: &Expr) -> Doc {
        match &expr.kind {
            ExprKind::Name(name) => Doc::text(name.clone()),
            ExprKind::DType(dtype) => Doc::text(dtype.name()),
            ExprKind::Int(value) => Doc::text(value.to_string()),
            ExprKind::Float(digits) => Doc::text(digits.clone()),
            ExprKind::Str(value) => Doc::text(quoted(value)),
            ExprKind::Bool(value) => Doc::text(if *value { "true" } else { "false" }),
            ExprKind::Unary { op: UnaryOp::Neg, arg } => {
                Doc::Concat(vec![Doc::text("-"), self.expr_at(arg, SIGNED)])
            }
            ExprKind::Unary { op: UnaryOp::Not, arg } => {
                Doc::Concat(vec![Doc::text("not "), self.expr_at(arg, NOT)])
            }
            ExprKind::Binary { .. } => self.chain(expr),
            ExprKind::Field { base, name } => {
                Doc::Concat(vec![self.postfix_base(base), Doc::text("."), Doc::text(name.name.clone())])
            }
            ExprKind::Index { base, items } => {
                let parts = items.iter().map(|item| self.index_item(item)).collect();
                Doc::Concat(vec![self.postfix_base(base), self.list("[", parts, "]", base.span.hi)])
            }
            ExprKind::Call { fun, args } => {
                Doc::Concat(vec![self.postfix_base(fun), self.args(args, fun.span.hi)])
            }
            ExprKind::Tuple(parts) => match parts.as_slice() {
                [only] => Doc::Concat(vec![Doc::text("("), self.expr(only), Doc::text(",)")]),
                _ => self.list("(", parts.iter().map(|e| self.expr(e)).collect(), ")", expr.span.lo),
            },
            ExprKind::List(elements) => {
                let parts = elements.iter().map(|element| match element {
                    Element::Expr(e) => self.expr(e),
                    Element::Splat(s) => self.splat(s),
                });
                self.list("[", parts.collect(), "]", expr.span.lo)
            }
            ExprKind::Comprehension { body, binders } => {
                self.generator("[", body, binders, "]", expr.span.lo)
            }
            ExprKind::If { cond, then, otherwise } => self.if_expr(cond, then, otherwise),
            ExprKind::Error => Doc::text("<error>"),
        }
    }

    fn postfix_base(&self, base: &Expr) -> Doc {
        // An `if` binds like an atom, but what follows its brace should not look like its own.
        match base.kind {
            ExprKind::If { .. } => parenthesized(self.bare(base)),
            _ => self.expr_at(base, POSTFIX),
        }
    }

    /// A run of operators of one strength, broken before each operator.
    fn chain(&self, expr: &Expr) -> Doc {
        let level = binds(expr);
        // What each strength asks of its operands.
        let (left, right) = match level {
            COMPARISON => (SUM, SUM),
            POWER => (POSTFIX, SIGNED),
            level => (level, level + 1),
        };
        let mut tail = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary { op, lhs, rhs } = &first.kind
            && operator(*op).1 == level
        {
            let (text, _) = operator(*op);
            tail.push(Doc::Concat(vec![
                Doc::Line,
                Doc::text(text),
                Doc::text(" "),
                self.expr_at(rhs, right),
            ]));
            first = lhs;
            if level == COMPARISON || level == POWER {
                break;
            }
        }
        tail.reverse();
        Doc::group(vec![self.expr_at(first, left), Doc::nest(tail)])
    }

    fn if_expr(&self, cond: &Expr, then: &Expr, otherwise: &Expr) -> Doc {
        let mut docs = vec![Doc::text("if "), self.expr(cond), Doc::text(" {")];
        docs.push(Doc::nest(vec![Doc::Line, self.expr(then)]));
        docs.extend([Doc::Line, Doc::text("} else ")]);
        match &otherwise.kind {
            ExprKind::If { .. } => docs.push(self.bare(otherwise)),
            _ => docs.extend([
                Doc::text("{"),
                Doc::nest(vec![Doc::Line, self.expr(otherwise)]),
                Doc::Line,
                Doc::text("}"),
            ]),
        }
        Doc::group(docs)
    }

    fn index_item(&self, item: &IndexItem) -> Doc {
        let (from, to, step) = match item {
            IndexItem::Expr(e) => return self.expr(e),
            IndexItem::Splat(s) => return self.splat(s),
            IndexItem::Ellipsis(_) => return Doc::text("..."),
            IndexItem::Slice { from, to, step, .. } => (from, to, step),
        };
        // Blanks around the colon once a bound has blanks of its own.
        let parts = [from, to, step];
        let wide = parts.into_iter().flatten().any(|e| matches!(e.kind, ExprKind::Binary { .. }));
        let blank = |part: &Option<Expr>| Doc::text(if wide && part.is_some() { " " } else { "" });
        let side = |part: &Option<Expr>| part.as_ref().map_or(Doc::text(""), |e| self.expr(e));
        let mut docs = vec![side(from), blank(from), Doc::text(":"), blank(to), side(to)];
        if step.is_some() {
            docs.extend([blank(to), Doc::text(":"), blank(step), side(step)]);
        }
        Doc::Concat(docs)
    }

    /// Arguments in their parentheses; `from` is a position after the function.
    pub(super) fn args(&self, args: &Args, from: u32) -> Doc {
        let list = match args {
            Args::Generator { body, binders } => return self.generator("(", body, binders, ")", from),
            Args::List(list) => list,
        };
        // A lone list hugs the parentheses.
        if let [Arg { name: None, value }] = list.as_slice()
            && matches!(value.kind, ExprKind::List(_) | ExprKind::Comprehension { .. })
        {
            return Doc::Concat(vec![Doc::text("("), self.expr(value), Doc::text(")")]);
        }
        let parts = list.iter().map(|arg| match &arg.name {
            Some(name) => Doc::Concat(vec![Doc::text(format!("{} = ", name.name)), self.expr(&arg.value)]),
            None => self.expr(&arg.value),
        });
        self.list("(", parts.collect(), ")", from)
    }

    fn generator(
        &self,
        open: &'static str,
        body: &Expr,
        binders: &[Binder],
        close: &'static str,
        from: u32,
    ) -> Doc {
        let binders = Doc::group(vec![Doc::nest(vec![self.binders(binders)])]);
        let inside = Doc::nest(vec![Doc::SoftLine, self.expr(body), Doc::Line, Doc::text("for "), binders]);
        let docs = vec![Doc::text(open), inside, Doc::SoftLine, Doc::text(close)];
        if self.layout.comment_in_bracket(from) { Doc::broken(docs) } else { Doc::group(docs) }
    }

    pub(super) fn binders(&self, binders: &[Binder]) -> Doc {
        let parts = binders.iter().map(|binder| match binder {
            Binder::Below { name, bound } => {
                Doc::Concat(vec![Doc::text(format!("{} in ", name.name)), self.expr(bound)])
            }
            Binder::Range { name, from, to } => Doc::Concat(vec![
                Doc::text(format!("{} in ", name.name)),
                self.expr(from),
                Doc::text(".."),
                self.expr(to),
            ]),
            Binder::Splat { name, over } => {
                Doc::Concat(vec![Doc::text(format!("*{} in ", name.name)), self.splat(over)])
            }
        });
        Doc::commas(parts.collect())
    }

    fn splat(&self, splat: &Splat) -> Doc {
        let value = self.bare(&splat.value);
        // `vjp` is an expression by itself, but no name.
        let name = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(name) if name != "vjp");
        let plain = match &splat.value.kind {
            ExprKind::Call { fun, .. } => name(fun),
            _ => name(&splat.value),
        };
        Doc::Concat(vec![Doc::text("*"), if plain { value } else { parenthesized(value) }])
    }

    pub(super) fn ty(&self, ty: &Type) -> Doc {
        match &ty.kind {
            TypeKind::Tensor { elem, dims, alias } => {
                let mut docs = vec![self.elem(elem)];
                if let Some(dims) = dims {
                    let parts = dims.iter().map(|dim| self.dim(dim)).collect();
                    docs.push(self.list("[", parts, "]", elem_end(elem)));
                }
                if let Some(alias) = alias {
                    let mark = if alias.written { "!" } else { "" };
                    docs.push(Doc::text(format!("({}{mark})", alias.letter.name)));
                }
                Doc::Concat(docs)
            }
            TypeKind::Tuple(parts) => self.types(parts, ty.span.lo),
            TypeKind::List(part) => Doc::Concat(vec![Doc::text("["), self.ty(part), Doc::text("]")]),
            TypeKind::Fn { params, ret } => {
                let params = self.types(params, ty.span.lo);
                Doc::Concat(vec![Doc::text("fn"), params, Doc::text(" -> "), self.ty(ret)])
            }
        }
    }

    fn types(&self, types: &[Type], from: u32) -> Doc {
        self.list("(", types.iter().map(|ty| self.ty(ty)).collect(), ")", from)
    }

    fn elem(&self, elem: &Elem) -> Doc {
        match elem {
            Elem::DType(dtype, _) => Doc::text(dtype.name()),
            Elem::Name(name) => Doc::text(name.name.clone()),
            Elem::Apply { name, args } => {
                let args = args.iter().map(|arg| self.elem(arg)).collect();
                Doc::Concat(vec![Doc::text(name.name.clone()), self.list("(", args, ")", name.span.hi)])
            }
        }
    }

    fn dim(&self, dim: &Dim) -> Doc {
        match dim {
            Dim::Size(size) => self.expr_at(size, SUM),
            Dim::Splat(splat) => self.splat(splat),
            Dim::Exists(name) => Doc::text(format!("?{}", name.name)),
        }
    }
}

fn elem_end(elem: &Elem) -> u32 {
    match elem {
        Elem::DType(_, span) => span.hi,
        Elem::Name(name) => name.span.hi,
        Elem::Apply { name, args } => args.last().map_or(name.span.hi, elem_end),
    }
}

fn parenthesized(doc: Doc) -> Doc {
    Doc::group(vec![Doc::text("("), Doc::nest(vec![Doc::SoftLine, doc]), Doc::SoftLine, Doc::text(")")])
}

/// A string literal with that value.
fn quoted(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            c if deceptive(c).is_some() => text.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}
