//! What the grammar's productions do: small constructors, and the notes taken on the way.
//!
//! Note [Spans]: positions handed in by the parser include parentheses that leave no node
//! of their own, so a parent always covers its children.

use std::cell::{Cell, RefCell};

use lalrpop_util::ErrorRecovery;
use num_bigint::BigInt;
use rtv_semantics::diag::{Code, Diagnostic, FileId, Span};

use crate::ast::*;
use crate::guard;
use crate::lexer::{Tok, dtype};

/// Syntax errors after which no more are looked for.
const MAX_ERRORS: usize = 100;

const BAD_ESCAPE: Code = Code(8);
const BAD_VERSION: Code = Code(9);

/// Parsing ends here: enough errors were found.
#[derive(Clone, Debug)]
pub struct Abort;

pub(crate) type SyntaxError = lalrpop_util::ParseError<u32, Tok, Abort>;
type Recovery = ErrorRecovery<u32, Tok, Abort>;

/// The source being parsed and what was found out about it.
pub struct Actions<'a> {
    file: FileId,
    text: &'a str,
    /// Tokens taken since something was last built.
    idle: Cell<u32>,
    pub(crate) errors: RefCell<Vec<SyntaxError>>,
    pub(crate) diagnostics: RefCell<Vec<Diagnostic>>,
}

impl<'a> Actions<'a> {
    pub(crate) fn new(file: FileId, text: &'a str) -> Actions<'a> {
        Actions {
            file,
            text,
            idle: Cell::new(0),
            errors: RefCell::new(Vec::new()),
            diagnostics: RefCell::new(Vec::new()),
        }
    }

    /// Called for each token handed to the parser: how many in a row built nothing.
    pub(crate) fn idle_tokens(&self) -> u32 {
        self.idle.set(self.idle.get() + 1);
        self.idle.get()
    }

    pub(crate) fn span(&self, lo: u32, hi: u32) -> Span {
        self.idle.set(0);
        Span { file: self.file, lo, hi }
    }

    fn slice(&self, lo: u32, hi: u32) -> &'a str {
        &self.text[lo as usize..hi as usize]
    }

    fn note(&self, diagnostic: Diagnostic) {
        self.diagnostics.borrow_mut().push(diagnostic);
    }

    // Items.

    pub(crate) fn version(&self, lo: u32, hi: u32) -> Version {
        let digits = self.slice(lo, hi).trim_start_matches("rtl").trim_start();
        let parsed = digits.split_once('.').map(|(major, minor)| (major.parse(), minor.parse()));
        let span = self.span(lo, hi);
        match parsed {
            Some((Ok(major), Ok(minor))) => Version { major, minor, span },
            _ => {
                self.note(
                    Diagnostic::error(BAD_VERSION, span, format!("`{digits}` is no language version"))
                        .help("write `rtl 1.0`"),
                );
                Version { major: 0, minor: 0, span }
            }
        }
    }

    pub(crate) fn item(&self, lo: u32, attrs: Vec<Attr>, kind: ItemKind, hi: u32) -> Item {
        Item { attrs, kind, span: self.span(lo, hi) }
    }

    pub(crate) fn bad_item(&self, lo: u32, recovery: Recovery, hi: u32) -> Result<Item, SyntaxError> {
        self.recovered(recovery)?;
        Ok(self.item(lo, Vec::new(), ItemKind::Error, hi))
    }

    /// Keeps the error that was recovered from; past [`MAX_ERRORS`] parsing ends.
    fn recovered(&self, recovery: Recovery) -> Result<(), SyntaxError> {
        let mut errors = self.errors.borrow_mut();
        errors.push(recovery.error);
        if errors.len() < MAX_ERRORS { Ok(()) } else { Err(SyntaxError::User { error: Abort }) }
    }

    pub(crate) fn ident(&self, lo: u32, hi: u32) -> Ident {
        Ident { name: self.slice(lo, hi).to_string(), span: self.span(lo, hi) }
    }

    pub(crate) fn path(&self, first: Ident) -> Path {
        Path { parts: vec![first] }
    }

    // Types.

    pub(crate) fn ty(&self, lo: u32, kind: TypeKind, hi: u32) -> Type {
        Type { kind, span: self.span(lo, hi) }
    }

    pub(crate) fn elem_dtype(&self, lo: u32, hi: u32) -> Elem {
        Elem::DType(dtype(self.slice(lo, hi)), self.span(lo, hi))
    }

    pub(crate) fn splat(&self, lo: u32, value: Expr, hi: u32) -> Splat {
        Splat { value: Box::new(value), span: self.span(lo, hi) }
    }

    pub(crate) fn splat_call(&self, lo: u32, fun: Expr, args: Args, hi: u32) -> Splat {
        let start = fun.span.lo;
        self.splat(lo, self.call(start, fun, args, hi), hi)
    }

    // Statements.

    pub(crate) fn stmt(&self, lo: u32, kind: StmtKind, hi: u32) -> Stmt {
        Stmt { kind, span: self.span(lo, hi) }
    }

    pub(crate) fn bad_stmt(&self, lo: u32, recovery: Recovery, hi: u32) -> Result<Stmt, SyntaxError> {
        self.recovered(recovery)?;
        Ok(self.stmt(lo, StmtKind::Error, hi))
    }

    pub(crate) fn tuple_pat(&self, lo: u32, first: Ident, rest: Vec<Ident>, hi: u32) -> Pat {
        let mut names = vec![first];
        names.extend(rest);
        Pat::Tuple { names, span: self.span(lo, hi) }
    }

    // Expressions.

    pub(crate) fn expr(&self, lo: u32, kind: ExprKind, hi: u32) -> Expr {
        Expr { kind, span: self.span(lo, hi) }
    }

    pub(crate) fn unary(&self, lo: u32, op: UnaryOp, arg: Expr, hi: u32) -> Expr {
        self.expr(lo, ExprKind::Unary { op, arg: Box::new(arg) }, hi)
    }

    pub(crate) fn binary(&self, lo: u32, lhs: Expr, op: BinaryOp, rhs: Expr, hi: u32) -> Expr {
        self.expr(lo, ExprKind::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs) }, hi)
    }

    pub(crate) fn field(&self, lo: u32, base: Expr, name: Ident, hi: u32) -> Expr {
        self.expr(lo, ExprKind::Field { base: Box::new(base), name }, hi)
    }

    pub(crate) fn index(&self, lo: u32, base: Expr, items: Vec<IndexItem>, hi: u32) -> Expr {
        self.expr(lo, ExprKind::Index { base: Box::new(base), items }, hi)
    }

    pub(crate) fn call(&self, lo: u32, fun: Expr, args: Args, hi: u32) -> Expr {
        self.expr(lo, ExprKind::Call { fun: Box::new(fun), args }, hi)
    }

    pub(crate) fn if_expr(&self, lo: u32, cond: Expr, then: Expr, otherwise: Expr, hi: u32) -> Expr {
        let kind =
            ExprKind::If { cond: Box::new(cond), then: Box::new(then), otherwise: Box::new(otherwise) };
        self.expr(lo, kind, hi)
    }

    pub(crate) fn slice_item(
        &self,
        lo: u32,
        from: Option<Expr>,
        to: Option<Expr>,
        step: Option<Expr>,
        hi: u32,
    ) -> IndexItem {
        IndexItem::Slice { from, to, step, span: self.span(lo, hi) }
    }

    pub(crate) fn name(&self, lo: u32, hi: u32) -> Expr {
        self.expr(lo, ExprKind::Name(self.slice(lo, hi).to_string()), hi)
    }

    pub(crate) fn dtype(&self, lo: u32, hi: u32) -> Expr {
        self.expr(lo, ExprKind::DType(dtype(self.slice(lo, hi))), hi)
    }

    pub(crate) fn int(&self, lo: u32, hi: u32) -> Expr {
        let kind = match self.number(lo, hi).and_then(|digits| digits.parse::<BigInt>().ok()) {
            Some(value) => ExprKind::Int(value),
            None => ExprKind::Error,
        };
        self.expr(lo, kind, hi)
    }

    pub(crate) fn float(&self, lo: u32, hi: u32) -> Expr {
        let kind = self.number(lo, hi).map_or(ExprKind::Error, |digits| ExprKind::Float(digits.to_string()));
        self.expr(lo, kind, hi)
    }

    /// The digits of a number, unless they are so many that converting them costs too much.
    fn number(&self, lo: u32, hi: u32) -> Option<&'a str> {
        let digits = self.slice(lo, hi);
        if digits.len() > guard::MAX_NUMBER {
            self.note(guard::number_too_long(self.span(lo, hi)));
            return None;
        }
        Some(digits)
    }

    pub(crate) fn string(&self, lo: u32, hi: u32) -> Expr {
        let inside = self.slice(lo + 1, hi - 1);
        let mut value = String::with_capacity(inside.len());
        let mut chars = inside.char_indices();
        while let Some((at, c)) = chars.next() {
            if c != '\\' {
                value.push(c);
                continue;
            }
            match escape(&mut chars) {
                Some(decoded) => value.push(decoded),
                None => {
                    let start = lo + 1 + at as u32;
                    let span = self.span(start, start + 1);
                    self.note(
                        Diagnostic::error(BAD_ESCAPE, span, "this backslash begins no known escape").help(
                            "the escapes are `\\\\`, `\\\"`, `\\n`, `\\t`, `\\r`, `\\0` and `\\u{200b}`",
                        ),
                    );
                }
            }
        }
        self.expr(lo, ExprKind::Str(value), hi)
    }
}

/// The character that an escape stands for; `chars` stands behind the backslash.
fn escape(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    match chars.next()?.1 {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        '0' => Some('\0'),
        c @ ('\\' | '"') => Some(c),
        'u' => {
            let rest = chars.as_str();
            let digits = rest.strip_prefix('{')?.split_once('}')?.0;
            let plain = digits.len() <= 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            let value = u32::from_str_radix(digits, 16).ok().filter(|_| plain)?;
            let used = digits.len() + 2;
            *chars = rest[used..].char_indices();
            char::from_u32(value)
        }
        _ => None,
    }
}
