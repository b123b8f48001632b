//! The syntax tree: what was written, with spans, before any name means anything.
//!
//! Comments, docs and `#:` directives are not here; they stay in a side table by
//! position (see [`crate::lexer`]). Invariant: `parse(print(tree))` gives back an
//! equal tree up to spans.

use num_bigint::BigInt;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;

/// A name as written, with its place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ident {
    pub name: String,
    pub span: Span,
}

/// A dotted name: `nn.relu`.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    pub parts: Vec<Ident>,
}

/// One source file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct File {
    pub version: Option<Version>,
    pub items: Vec<Item>,
}

/// `rtl 1.0`.
#[derive(Clone, PartialEq, Debug)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub attrs: Vec<Attr>,
    pub kind: ItemKind,
    /// From the first attribute to the end of the item.
    pub span: Span,
}

/// `@trusted("why")`.
#[derive(Clone, PartialEq, Debug)]
pub struct Attr {
    pub name: Ident,
    pub args: Option<Args>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ItemKind {
    Use(Path),
    Const {
        name: Ident,
        ty: Type,
        value: Expr,
    },
    Def(Def),
    Vjp {
        path: Path,
        generics: Vec<Generic>,
        params: Vec<Param>,
        given: Pat,
        clauses: Vec<Clause>,
        body: Block,
    },
    Rule(Rule),
    Test {
        name: Ident,
        body: Block,
    },
    /// What stood where an item was expected and could not be read.
    Error,
}

/// `fn`, `op`, `impl`, `decomp` and `monoid` share one shape.
#[derive(Clone, PartialEq, Debug)]
pub struct Def {
    pub kind: DefKind,
    /// One part except for `op`.
    pub name: Path,
    pub generics: Vec<Generic>,
    pub params: Vec<Param>,
    pub ret: Option<Type>,
    pub clauses: Vec<Clause>,
    pub body: Block,
}

#[derive(Clone, PartialEq, Debug)]
pub enum DefKind {
    Fn,
    Op,
    Impl,
    /// `decomp NAME for OP` carries the operator.
    Decomp {
        of: Option<Path>,
    },
    Monoid,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    pub name: Ident,
    pub generics: Vec<Generic>,
    pub params: Vec<Param>,
    pub clauses: Vec<RuleClause>,
    pub lhs: Expr,
    pub arrow: Arrow,
    pub rhs: Expr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrow {
    /// `=>`
    Refines,
    /// `<=>`
    Both,
}

#[derive(Clone, PartialEq, Debug)]
pub enum RuleClause {
    Clause(Clause),
    Let { pat: Pat, value: Expr },
}

/// `N`, `*S`, `T: float`.
#[derive(Clone, PartialEq, Debug)]
pub enum Generic {
    Size(Ident),
    Rank(Ident),
    DType { name: Ident, class: Ident },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub name: Ident,
    pub ty: Type,
    pub default: Option<Expr>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Clause {
    Requires(Vec<Expr>),
    Ensures(Vec<Expr>),
    Refines(Expr),
    Upto(Mode),
    /// Loops only.
    Invariant(Vec<Expr>),
    /// Loops only.
    Decreases(Vec<Expr>),
}

/// `real`, `close(rtol = 1e-5)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Mode {
    pub name: Ident,
    pub args: Option<Args>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TypeKind {
    /// `f32[B, D](a!)`; `dims` is `None` where no brackets were written.
    Tensor {
        elem: Elem,
        dims: Option<Vec<Dim>>,
        alias: Option<Alias>,
    },
    Tuple(Vec<Type>),
    /// `[T[..]]`, a static list.
    List(Box<Type>),
    Fn {
        params: Vec<Type>,
        ret: Box<Type>,
    },
}

/// `f32`, `T`, `size`, `axes`, `sum_dtype(T)`.
#[derive(Clone, PartialEq, Debug)]
pub enum Elem {
    DType(DType, Span),
    Name(Ident),
    Apply { name: Ident, args: Vec<Elem> },
}

/// `(a)` or `(a!)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Alias {
    pub letter: Ident,
    pub written: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Dim {
    Size(Expr),
    Splat(Splat),
    /// `?K`: a size that depends on the data.
    Exists(Ident),
}

/// `*S`, `*reduced(S, dim)`, `*(i - lo)`: a name or call applied, or a parenthesized expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Splat {
    /// `Name`, `Call` of a `Name`, or any expression that was parenthesized.
    pub value: Box<Expr>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    Let {
        pat: Pat,
        ty: Option<Type>,
        value: Expr,
    },
    Return(Expr),
    Assert {
        value: Expr,
        mode: Option<Mode>,
    },
    For {
        binders: Vec<Binder>,
        clauses: Vec<Clause>,
        body: Block,
    },
    While {
        cond: Expr,
        clauses: Vec<Clause>,
        body: Block,
    },
    If(IfStmt),
    /// A place that stands alone: must be a call.
    Place(Expr),
    Assign {
        place: Expr,
        op: AssignOp,
        value: Expr,
    },
    Error,
}

#[derive(Clone, PartialEq, Debug)]
pub struct IfStmt {
    pub cond: Expr,
    pub then: Block,
    pub otherwise: Option<Else>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Else {
    Block(Block),
    If(Box<Stmt>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssignOp {
    Set,
    Add,
    Sub,
    Mul,
    Div,
}

/// `i in N`, `j in a..b`, `*i in *S`.
#[derive(Clone, PartialEq, Debug)]
pub enum Binder {
    Below { name: Ident, bound: Expr },
    Range { name: Ident, from: Expr, to: Expr },
    Splat { name: Ident, over: Splat },
}

#[derive(Clone, PartialEq, Debug)]
pub enum Pat {
    Name(Ident),
    /// At least two names.
    Tuple {
        names: Vec<Ident>,
        span: Span,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    Name(String),
    DType(DType),
    Int(BigInt),
    /// The decimal as written, so that `real` claims see its exact value.
    Float(String),
    Str(String),
    Bool(bool),
    Unary {
        op: UnaryOp,
        arg: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        lhs: Box<Expr>,
        rhs: Box<Expr>,
    },
    /// `x.T`, `x.size`; the name may be any word, keywords included.
    Field {
        base: Box<Expr>,
        name: Ident,
    },
    Index {
        base: Box<Expr>,
        items: Vec<IndexItem>,
    },
    Call {
        fun: Box<Expr>,
        args: Args,
    },
    /// One element is legal: `(x,)`.
    Tuple(Vec<Expr>),
    List(Vec<Element>),
    Comprehension {
        body: Box<Expr>,
        binders: Vec<Binder>,
    },
    If {
        cond: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// What stood where an expression was expected and could not be read.
    Error,
}

/// An element of a bracketed list.
#[derive(Clone, PartialEq, Debug)]
pub enum Element {
    Expr(Expr),
    Splat(Splat),
}

#[derive(Clone, PartialEq, Debug)]
pub enum IndexItem {
    Expr(Expr),
    Splat(Splat),
    Ellipsis(Span),
    Slice { from: Option<Expr>, to: Option<Expr>, step: Option<Expr>, span: Span },
}

#[derive(Clone, PartialEq, Debug)]
pub enum Args {
    List(Vec<Arg>),
    /// `sum(e for k in K)`: a generator is the only argument of its call.
    Generator {
        body: Box<Expr>,
        binders: Vec<Binder>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Arg {
    pub name: Option<Ident>,
    pub value: Expr,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Or,
    And,
    Eq,
    Ne,
    Le,
    Ge,
    Lt,
    Gt,
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    MatMul,
    Pow,
}

/// An axis pattern such as `"b t (h d) -> b h t d"`; spans point into the file.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern {
    pub inputs: Vec<Vec<PatternAxis>>,
    pub output: Vec<PatternAxis>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternAxis {
    pub kind: PatternAxisKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PatternAxisKind {
    Name(String),
    Int(u64),
    Ellipsis,
    /// `(h d)`: one axis made of several; never nested.
    Group(Vec<PatternAxis>),
}
