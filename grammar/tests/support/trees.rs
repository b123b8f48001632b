//! Random syntax trees: everything the parser can build, spans left empty.

use num_bigint::BigInt;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rtv_grammar::ast::*;
use rtv_grammar::lexer::{Tok, lex};
use rtv_semantics::diag::{FileId, Span};
use rtv_semantics::dtype::DType;

const NO_SPAN: Span = Span { file: FileId(0), lo: 0, hi: 0 };

fn word() -> impl Strategy<Value = Ident> {
    "[a-zA-Z_][a-zA-Z0-9_]{0,7}".prop_map(|name| Ident { name, span: NO_SPAN })
}

/// A word that is not reserved.
fn name() -> impl Strategy<Value = Ident> {
    word().prop_filter("not reserved", |word| lex(FileId(0), &word.name).tokens[0].kind == Tok::Id)
}

/// A word that may be reserved: after a dot, or as the name of an argument.
fn any_word() -> impl Strategy<Value = Ident> {
    let reserved =
        prop::sample::select(vec!["fn", "vjp", "if", "for", "true", "f32", "in", "not", "test", "T"]);
    prop_oneof![3 => word(), 1 => reserved.prop_map(|w| Ident { name: w.to_string(), span: NO_SPAN })]
}

fn path() -> impl Strategy<Value = Path> {
    (name(), vec(any_word(), 0..2)).prop_map(|(first, rest)| {
        let mut parts = vec![first];
        parts.extend(rest);
        Path { parts }
    })
}

fn dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL.to_vec())
}

fn expr_of(kind: ExprKind) -> Expr {
    Expr { kind, span: NO_SPAN }
}

fn number() -> impl Strategy<Value = Expr> {
    prop_oneof![
        any::<u64>().prop_map(|value| ExprKind::Int(BigInt::from(value))),
        "[0-9]{1,3}\\.[0-9]{1,3}([eE][+-]?[0-9]{1,2})?".prop_map(ExprKind::Float),
        "[0-9]{1,2}e[0-9]".prop_map(ExprKind::Float),
    ]
    .prop_map(expr_of)
}

fn literal() -> impl Strategy<Value = Expr> {
    let negative = number().prop_map(|arg| expr_of(ExprKind::Unary { op: UnaryOp::Neg, arg: Box::new(arg) }));
    let text = prop_oneof!["[ -~]{0,8}", any::<String>()].prop_map(|text| expr_of(ExprKind::Str(text)));
    let truth = any::<bool>().prop_map(|value| expr_of(ExprKind::Bool(value)));
    prop_oneof![number(), negative, text, truth]
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        4 => name().prop_map(|name| expr_of(ExprKind::Name(name.name))),
        1 => Just(expr_of(ExprKind::Name("vjp".to_string()))),
        1 => dtype().prop_map(|dtype| expr_of(ExprKind::DType(dtype))),
        2 => literal(),
    ]
}

const OPERATORS: [BinaryOp; 16] = [
    BinaryOp::Or,
    BinaryOp::And,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Le,
    BinaryOp::Ge,
    BinaryOp::Lt,
    BinaryOp::Gt,
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::FloorDiv,
    BinaryOp::Rem,
    BinaryOp::MatMul,
    BinaryOp::Pow,
];

pub fn expr() -> BoxedStrategy<Expr> {
    leaf().prop_recursive(5, 40, 4, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let operator = prop::sample::select(OPERATORS.to_vec());
        let sign = prop_oneof![Just(UnaryOp::Neg), Just(UnaryOp::Not)];
        let element = prop_oneof![
            3 => inner.clone().prop_map(Element::Expr),
            1 => splat(inner.clone()).prop_map(Element::Splat),
        ];
        prop_oneof![
            4 => (operator, boxed(), boxed()).prop_map(|(op, lhs, rhs)| ExprKind::Binary { op, lhs, rhs }),
            2 => (sign, boxed()).prop_map(|(op, arg)| ExprKind::Unary { op, arg }),
            1 => (boxed(), any_word()).prop_map(|(base, name)| ExprKind::Field { base, name }),
            1 => (boxed(), vec(index_item(inner.clone()), 0..4)).prop_map(|(base, items)| ExprKind::Index { base, items }),
            2 => (boxed(), args(inner.clone())).prop_map(|(fun, args)| ExprKind::Call { fun, args }),
            1 => vec(inner.clone(), 1..4).prop_map(ExprKind::Tuple),
            1 => vec(element, 0..4).prop_map(ExprKind::List),
            1 => (boxed(), vec(binder(inner.clone()), 1..3))
                .prop_map(|(body, binders)| ExprKind::Comprehension { body, binders }),
            1 => (boxed(), boxed(), boxed())
                .prop_map(|(cond, then, otherwise)| ExprKind::If { cond, then, otherwise }),
        ]
        .prop_map(expr_of)
    })
    .boxed()
}

fn splat_of(value: BoxedStrategy<Expr>) -> BoxedStrategy<Splat> {
    value.prop_map(|value| Splat { value: Box::new(value), span: NO_SPAN }).boxed()
}

fn splat(inner: BoxedStrategy<Expr>) -> BoxedStrategy<Splat> {
    let call = (name(), args(inner.clone())).prop_map(|(name, args)| {
        expr_of(ExprKind::Call { fun: Box::new(expr_of(ExprKind::Name(name.name))), args })
    });
    splat_of(prop_oneof![inner, call].boxed())
}

fn index_item(inner: BoxedStrategy<Expr>) -> BoxedStrategy<IndexItem> {
    let bound = || option::of(inner.clone());
    prop_oneof![
        3 => inner.clone().prop_map(IndexItem::Expr),
        1 => splat(inner.clone()).prop_map(IndexItem::Splat),
        1 => Just(IndexItem::Ellipsis(NO_SPAN)),
        2 => (bound(), bound(), bound())
            .prop_map(|(from, to, step)| IndexItem::Slice { from, to, step, span: NO_SPAN }),
    ]
    .boxed()
}

fn args(inner: BoxedStrategy<Expr>) -> BoxedStrategy<Args> {
    let arg = (option::of(any_word()), inner.clone()).prop_map(|(name, value)| Arg { name, value });
    let generator = (inner.clone().prop_map(Box::new), vec(binder(inner), 1..3))
        .prop_map(|(body, binders)| Args::Generator { body, binders });
    prop_oneof![3 => vec(arg, 0..4).prop_map(Args::List), 1 => generator].boxed()
}

fn binder(inner: BoxedStrategy<Expr>) -> BoxedStrategy<Binder> {
    prop_oneof![
        (name(), inner.clone()).prop_map(|(name, bound)| Binder::Below { name, bound }),
        (name(), inner.clone(), inner.clone()).prop_map(|(name, from, to)| Binder::Range { name, from, to }),
        (name(), splat_of(inner)).prop_map(|(name, over)| Binder::Splat { name, over }),
    ]
    .boxed()
}

fn elem() -> impl Strategy<Value = Elem> {
    let leaf = prop_oneof![dtype().prop_map(|d| Elem::DType(d, NO_SPAN)), name().prop_map(Elem::Name)];
    leaf.prop_recursive(2, 4, 2, |inner| {
        (name(), vec(inner, 1..3)).prop_map(|(name, args)| Elem::Apply { name, args })
    })
}

fn ty() -> BoxedStrategy<Type> {
    let dim = prop_oneof![
        3 => expr().prop_map(Dim::Size),
        1 => splat(expr()).prop_map(Dim::Splat),
        1 => name().prop_map(Dim::Exists),
    ];
    let alias = (name(), any::<bool>()).prop_map(|(letter, written)| Alias { letter, written });
    let tensor = (elem(), option::of((vec(dim, 0..4), option::of(alias)))).prop_map(|(elem, shape)| {
        let (dims, alias) = shape.map_or((None, None), |(dims, alias)| (Some(dims), alias));
        TypeKind::Tensor { elem, dims, alias }
    });
    let leaf = tensor.prop_map(|kind| Type { kind, span: NO_SPAN });
    leaf.prop_recursive(2, 6, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(TypeKind::Tuple),
            boxed().prop_map(TypeKind::List),
            (vec(inner.clone(), 0..3), boxed()).prop_map(|(params, ret)| TypeKind::Fn { params, ret }),
        ]
        .prop_map(|kind| Type { kind, span: NO_SPAN })
    })
    .boxed()
}

fn pat() -> impl Strategy<Value = Pat> {
    prop_oneof![
        name().prop_map(Pat::Name),
        vec(name(), 2..4).prop_map(|names| Pat::Tuple { names, span: NO_SPAN }),
    ]
}

fn mode() -> impl Strategy<Value = Mode> {
    (name(), option::of(args(expr()))).prop_map(|(name, args)| Mode { name, args })
}

fn clause() -> BoxedStrategy<Clause> {
    prop_oneof![
        vec(expr(), 1..4).prop_map(Clause::Requires),
        vec(expr(), 1..3).prop_map(Clause::Ensures),
        expr().prop_map(Clause::Refines),
        mode().prop_map(Clause::Upto),
    ]
    .boxed()
}

fn loop_clause() -> impl Strategy<Value = Clause> {
    prop_oneof![
        clause(),
        vec(expr(), 1..3).prop_map(Clause::Invariant),
        vec(expr(), 1..3).prop_map(Clause::Decreases),
    ]
}

fn place() -> impl Strategy<Value = Expr> {
    name().prop_map(|name| expr_of(ExprKind::Name(name.name))).prop_recursive(3, 6, 1, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            (boxed(), any_word()).prop_map(|(base, name)| ExprKind::Field { base, name }),
            (boxed(), vec(index_item(expr()), 0..3))
                .prop_map(|(base, items)| ExprKind::Index { base, items }),
            (boxed(), args(expr())).prop_map(|(fun, args)| ExprKind::Call { fun, args }),
        ]
        .prop_map(expr_of)
    })
}

fn block_of(stmts: Vec<Stmt>) -> Block {
    Block { stmts, span: NO_SPAN }
}

fn stmt() -> BoxedStrategy<Stmt> {
    let assign =
        prop::sample::select(vec![AssignOp::Set, AssignOp::Add, AssignOp::Sub, AssignOp::Mul, AssignOp::Div]);
    let leaf = prop_oneof![
        (pat(), expr()).prop_map(|(pat, value)| StmtKind::Let { pat, ty: None, value }),
        (name(), ty(), expr()).prop_map(|(name, ty, value)| StmtKind::Let {
            pat: Pat::Name(name),
            ty: Some(ty),
            value
        }),
        expr().prop_map(StmtKind::Return),
        (expr(), option::of(mode())).prop_map(|(value, mode)| StmtKind::Assert { value, mode }),
        place().prop_map(StmtKind::Place),
        (place(), assign, expr()).prop_map(|(place, op, value)| StmtKind::Assign { place, op, value }),
    ]
    .prop_map(|kind| Stmt { kind, span: NO_SPAN });
    leaf.prop_recursive(3, 8, 3, |inner| {
        let body = || vec(inner.clone(), 0..3).prop_map(block_of);
        let branch = (expr(), body()).prop_map(|(cond, then)| IfStmt { cond, then, otherwise: None });
        let chain =
            (vec(branch, 1..3), option::of(body())).prop_map(|(branches, last)| if_chain(branches, last));
        prop_oneof![
            (vec(binder(expr()), 1..3), vec(loop_clause(), 0..2), body())
                .prop_map(|(binders, clauses, body)| StmtKind::For { binders, clauses, body }),
            (expr(), vec(loop_clause(), 0..2), body()).prop_map(|(cond, clauses, body)| StmtKind::While {
                cond,
                clauses,
                body
            }),
            chain.prop_map(StmtKind::If),
        ]
        .prop_map(|kind| Stmt { kind, span: NO_SPAN })
    })
    .boxed()
}

fn if_chain(mut branches: Vec<IfStmt>, last: Option<Block>) -> IfStmt {
    let mut chain = branches.pop().expect("invariant: at least one branch is generated");
    chain.otherwise = last.map(Else::Block);
    while let Some(mut outer) = branches.pop() {
        outer.otherwise = Some(Else::If(Box::new(Stmt { kind: StmtKind::If(chain), span: NO_SPAN })));
        chain = outer;
    }
    chain
}

fn block() -> BoxedStrategy<Block> {
    vec(stmt(), 0..4).prop_map(block_of).boxed()
}

fn generics() -> impl Strategy<Value = Vec<Generic>> {
    let generic = prop_oneof![
        name().prop_map(Generic::Size),
        name().prop_map(Generic::Rank),
        (name(), name()).prop_map(|(name, class)| Generic::DType { name, class }),
    ];
    vec(generic, 0..4)
}

fn params() -> BoxedStrategy<Vec<Param>> {
    let param = (name(), ty(), option::weighted(0.2, expr())).prop_map(|(name, ty, default)| Param {
        name,
        ty,
        default,
        span: NO_SPAN,
    });
    vec(param, 0..4).boxed()
}

fn def() -> impl Strategy<Value = ItemKind> {
    let single = || name().prop_map(|name| Path { parts: vec![name] });
    let head = prop_oneof![
        single().prop_map(|path| (DefKind::Fn, path)),
        path().prop_map(|path| (DefKind::Op, path)),
        single().prop_map(|path| (DefKind::Impl, path)),
        (single(), option::of(path())).prop_map(|(name, of)| (DefKind::Decomp { of }, name)),
        single().prop_map(|path| (DefKind::Monoid, path)),
    ];
    (head, generics(), params(), option::of(ty()), vec(clause(), 0..3), block()).prop_map(
        |((kind, name), generics, params, ret, clauses, body)| {
            ItemKind::Def(Def { kind, name, generics, params, ret, clauses, body })
        },
    )
}

fn rule() -> impl Strategy<Value = ItemKind> {
    let binding = (pat(), expr()).prop_map(|(pat, value)| RuleClause::Let { pat, value });
    let clauses = vec(prop_oneof![clause().prop_map(RuleClause::Clause), binding], 0..3);
    let arrow = prop_oneof![Just(Arrow::Refines), Just(Arrow::Both)];
    (name(), generics(), params(), clauses, expr(), arrow, expr()).prop_map(
        |(name, generics, params, clauses, lhs, arrow, rhs)| {
            ItemKind::Rule(Rule { name, generics, params, clauses, lhs, arrow, rhs })
        },
    )
}

fn item() -> impl Strategy<Value = Item> {
    let attr = (name(), option::of(args(expr()))).prop_map(|(name, args)| Attr { name, args, span: NO_SPAN });
    let vjp = (path(), generics(), params(), pat(), vec(clause(), 0..2), block()).prop_map(
        |(path, generics, params, given, clauses, body)| ItemKind::Vjp {
            path,
            generics,
            params,
            given,
            clauses,
            body,
        },
    );
    let kind = prop_oneof![
        1 => path().prop_map(ItemKind::Use),
        1 => (name(), ty(), literal()).prop_map(|(name, ty, value)| ItemKind::Const { name, ty, value }),
        5 => def(),
        1 => vjp,
        2 => rule(),
        1 => (name(), block()).prop_map(|(name, body)| ItemKind::Test { name, body }),
    ];
    (vec(attr, 0..2), kind).prop_map(|(attrs, kind)| Item { attrs, kind, span: NO_SPAN })
}

pub fn file() -> impl Strategy<Value = File> {
    let version = (0..9u32, 0..99u32).prop_map(|(major, minor)| Version { major, minor, span: NO_SPAN });
    (option::of(version), vec(item(), 0..3)).prop_map(|(version, items)| File { version, items })
}
