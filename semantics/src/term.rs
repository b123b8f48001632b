//! The core: what every program, operator and claim is elaborated to.
//!
//! Twelve forms, matched exhaustively wherever meaning is given: size, literal,
//! variable, call, read, comprehension, reduction (and ordered fold), if, let,
//! tuple, loop, write. Views are the index maps of reads and writes. Broadcasting,
//! promotion, static parameters and names are gone; every term carries its type
//! and the place it was written at.
//!
//! Invariants, checked by the constructors: a read has one index per axis of its
//! base; comprehension bodies and reduction bodies are scalars, those of reductions by a
//! declared monoid elements of it; the two branches of an `if` have one type; a scalar call
//! obeys its row's signature.

use crate::alpha::alpha_eq;
use crate::cancel::checkpoint;
use crate::diag::Span;
use crate::dtype::{Category, DType};
use crate::entail::Cond;
pub use crate::monoid::{Declared, Extent, Laws, Monoid};
use crate::scalar::Scalar;
use crate::size::{Size, Sym};
use crate::types::{TensorType, Type};
use std::sync::Arc;

/// An immutable, shared core term.
#[derive(Clone, Debug)]
pub struct Term(Arc<Node>);

#[derive(Debug)]
struct Node {
    form: Form,
    ty: Type,
    span: Span,
}

/// A value variable: a parameter or a `let`. The id is unique in its elaboration.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var {
    pub id: u32,
    pub name: Arc<str>,
}

/// `sym in 0..extent`. Over a group extent the index runs through all index
/// tuples of the rank variable in row-major order.
#[derive(Clone, Debug)]
pub struct Binder {
    pub sym: Sym,
    pub extent: Size,
}

#[derive(Clone, Debug)]
pub enum Form {
    /// An index or size expression; type `Size`.
    Size(Size),
    Lit(Lit),
    Var(Var),
    Call(Fun, Vec<Term>),
    /// One index per axis, each of type `Size` or an integer scalar. An index out
    /// of range is an error of class `index`.
    Read(Term, Vec<Term>),
    /// The tensor of the scalar body at every index.
    Comp(Vec<Binder>, Term),
    Reduce(Reduce),
    If(Term, Term, Term),
    Let(Var, Term, Term),
    Tuple(Vec<Term>),
    /// State passed through `trips` iterations or while a condition holds; not yet
    /// produced by elaboration.
    Loop(Box<Loop>),
    /// A functional update of one element per index tuple; not yet produced.
    Write(Box<Write>),
}

/// A constant. Its dtype is the type of the term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Lit {
    Bool(bool),
    Int(num_bigint::BigInt),
    /// The decimal as written, with its sign: exact under `real`, rounded under `exact`.
    Decimal(Arc<str>),
    Inf,
    NegInf,
    Nan,
    Pi,
}

/// Integers up to this are numbers of f64.
const EXACT: i64 = 1 << 53;

impl Lit {
    /// An integer at a dtype; none where the conversion would change it in more than one step.
    pub fn integer(k: i64, dtype: DType) -> Option<Lit> {
        match dtype.category() {
            Category::Bool => Some(Lit::Bool(k != 0)),
            Category::Int => {
                let (least, most) = dtype.int_range()?;
                (least..=most).contains(&k).then(|| Lit::Int(k.into()))
            }
            Category::Float => (-EXACT..=EXACT).contains(&k).then(|| Lit::Decimal(k.to_string().into())),
        }
    }

    /// The integer that it is written as.
    pub fn as_integer(&self) -> Option<num_bigint::BigInt> {
        match self {
            Lit::Int(k) => Some(k.clone()),
            Lit::Decimal(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// As it is written.
    pub fn text(&self) -> String {
        match self {
            Lit::Bool(b) => b.to_string(),
            Lit::Int(i) => i.to_string(),
            Lit::Decimal(text) => text.to_string(),
            Lit::Inf => "inf".to_string(),
            Lit::NegInf => "-inf".to_string(),
            Lit::Nan => "nan".to_string(),
            Lit::Pi => "pi".to_string(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Fun {
    /// A row of the scalar table, on scalars of one dtype (or on sizes, for
    /// comparisons; size arithmetic is folded into [`Form::Size`]).
    Scalar(Scalar),
    /// Conversion of a scalar to the dtype; of a size to an integer or float.
    Cast(DType),
    /// An operator or function at one choice of static parameters and types.
    Op(Arc<Instance>),
    /// Component of a tuple.
    Item(usize),
    /// Two elements of a declared monoid, combined.
    Combine(Arc<Declared>),
}

#[derive(Clone, Debug)]
pub struct Reduce {
    pub op: Monoid,
    pub binders: Vec<Binder>,
    pub body: Term,
}

/// Iterated state change; the place that loops will take in the core.
#[derive(Clone, Debug)]
pub struct Loop {
    pub state: Vec<(Var, Term)>,
    pub counter: Option<Binder>,
    pub condition: Option<Term>,
    pub step: Term,
}

/// `base` with the elements that `index` names, over `binders`, replaced by `value`.
#[derive(Clone, Debug)]
pub struct Write {
    pub base: Term,
    pub binders: Vec<Binder>,
    pub index: Vec<Term>,
    pub value: Term,
}

/// A definition at one choice of static parameters and argument types.
///
/// Sizes and index symbols of the caller may occur free in it; value variables
/// other than its parameters may not.
#[derive(Debug)]
pub struct Instance {
    pub name: Arc<str>,
    /// Static arguments as the surface writes them, for printing: `dim = -1`.
    pub statics: Vec<(Arc<str>, String)>,
    pub params: Vec<(Var, Type)>,
    /// What could not be shown at the call and is checked at entry.
    pub requires: Vec<Require>,
    pub body: Term,
    /// Whether it is an operator of the specification or a user's function.
    pub is_op: bool,
}

/// A precondition of an instance.
#[derive(Clone, Debug)]
pub struct Require {
    pub cond: Term,
    pub class: ErrorClass,
    /// The condition as written, with the sizes of this instance.
    pub text: String,
    pub span: Span,
}

/// The observable class of a run-time error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ErrorClass {
    Index,
    Shape,
    DType,
    Value,
    Alias,
    Arithmetic,
    Requires,
}

impl ErrorClass {
    pub const ALL: [ErrorClass; 7] = [
        ErrorClass::Index,
        ErrorClass::Shape,
        ErrorClass::DType,
        ErrorClass::Value,
        ErrorClass::Alias,
        ErrorClass::Arithmetic,
        ErrorClass::Requires,
    ];

    pub fn name(self) -> &'static str {
        match self {
            ErrorClass::Index => "index",
            ErrorClass::Shape => "shape",
            ErrorClass::DType => "dtype",
            ErrorClass::Value => "value",
            ErrorClass::Alias => "alias",
            ErrorClass::Arithmetic => "arithmetic",
            ErrorClass::Requires => "requires",
        }
    }

    pub fn from_name(name: &str) -> Option<ErrorClass> {
        ErrorClass::ALL.into_iter().find(|c| c.name() == name)
    }
}

impl Term {
    fn new(form: Form, ty: Type, span: Span) -> Term {
        Term(Arc::new(Node { form, ty, span }))
    }

    pub fn form(&self) -> &Form {
        checkpoint();
        &self.0.form
    }

    pub fn ty(&self) -> &Type {
        &self.0.ty
    }

    pub fn span(&self) -> Span {
        self.0.span
    }

    /// The address of the shared node, for memo tables that hold on to the term.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    pub fn tensor_type(&self) -> Option<&TensorType> {
        self.ty().as_tensor()
    }

    /// The dtype of a tensor term.
    ///
    /// # Panics
    /// On sizes and tuples: callers have checked.
    pub fn dtype(&self) -> DType {
        self.tensor_type().expect("invariant: a tensor term").dtype
    }

    /// The extents of a tensor term.
    ///
    /// # Panics
    /// On sizes and tuples: callers have checked.
    pub fn shape(&self) -> &[Size] {
        &self.tensor_type().expect("invariant: a tensor term").shape
    }

    pub fn is_scalar(&self) -> bool {
        match self.ty() {
            Type::Size => true,
            Type::Tensor(t) => t.shape.is_empty(),
            Type::Tuple(_) => false,
        }
    }

    pub fn as_size(&self) -> Option<&Size> {
        match self.form() {
            Form::Size(s) => Some(s),
            _ => None,
        }
    }

    pub fn size(size: Size, span: Span) -> Term {
        Term::new(Form::Size(size), Type::Size, span)
    }

    pub fn lit(lit: Lit, dtype: DType, span: Span) -> Term {
        Term::new(Form::Lit(lit), Type::scalar(dtype), span)
    }

    pub fn bool(value: bool, span: Span) -> Term {
        Term::lit(Lit::Bool(value), DType::Bool, span)
    }

    pub fn var(var: Var, ty: Type, span: Span) -> Term {
        Term::new(Form::Var(var), ty, span)
    }

    /// # Panics
    /// If the arguments do not fit the row: elaboration has checked them.
    pub fn scalar(fun: Scalar, args: Vec<Term>, span: Span) -> Term {
        let sizes = args.iter().all(|a| *a.ty() == Type::Size);
        let dtype = if sizes {
            DType::Bool
        } else {
            let dtypes: Vec<DType> = args.iter().map(Term::dtype).collect();
            fun.result(&dtypes).expect("invariant: scalar arguments fit their row")
        };
        Term::new(Form::Call(Fun::Scalar(fun), args), Type::scalar(dtype), span)
    }

    /// A scalar (or size) converted to `dtype`; the identity where it has it.
    /// A conversion. That of a known size is the literal that an integer written at its place is, so that
    /// a size may become known sooner or later.
    pub fn cast(dtype: DType, arg: Term, span: Span) -> Term {
        let known = arg.as_size().and_then(Size::as_i64).and_then(|k| Lit::integer(k, dtype));
        match (arg.ty(), known) {
            (Type::Tensor(t), _) if t.dtype == dtype => arg,
            (_, Some(lit)) => Term::lit(lit, dtype, span),
            _ => Term::new(Form::Call(Fun::Cast(dtype), vec![arg]), Type::scalar(dtype), span),
        }
    }

    pub fn call(instance: Arc<Instance>, args: Vec<Term>, span: Span) -> Term {
        let ty = instance.body.ty().clone();
        Term::new(Form::Call(Fun::Op(instance), args), ty, span)
    }

    /// Two elements of a declared monoid, combined.
    pub fn combine(monoid: Arc<Declared>, left: Term, right: Term, span: Span) -> Term {
        let ty = monoid.ty().clone();
        debug_assert!(*left.ty() == ty && *right.ty() == ty, "elements of the monoid");
        Term::new(Form::Call(Fun::Combine(monoid), vec![left, right]), ty, span)
    }

    /// Component `k` of a tuple term.
    pub fn item(k: usize, tuple: Term, span: Span) -> Term {
        let ty = match tuple.ty() {
            Type::Tuple(parts) => parts[k].clone(),
            other => other.clone(),
        };
        if let Form::Tuple(parts) = tuple.form() {
            return parts[k].clone();
        }
        Term::new(Form::Call(Fun::Item(k), vec![tuple]), ty, span)
    }

    /// The components of a tuple; the term itself, if it is none.
    pub fn components(&self) -> Vec<Term> {
        match self.ty() {
            Type::Tuple(parts) => {
                (0..parts.len()).map(|k| Term::item(k, self.clone(), self.span())).collect()
            }
            _ => vec![self.clone()],
        }
    }

    /// The scalar of `base` at one index per axis.
    pub fn read(base: Term, index: Vec<Term>, span: Span) -> Term {
        debug_assert_eq!(base.shape().len(), index.len(), "one index per axis");
        let ty = Type::scalar(base.dtype());
        if index.is_empty() {
            return base;
        }
        Term::new(Form::Read(base, index), ty, span)
    }

    pub fn comp(binders: Vec<Binder>, body: Term, span: Span) -> Term {
        if binders.is_empty() {
            return body;
        }
        let shape = binders.iter().map(|b| b.extent.clone()).collect();
        let ty = Type::tensor(body.dtype(), shape);
        Term::new(Form::Comp(binders, body), ty, span)
    }

    pub fn reduce(op: Monoid, binders: Vec<Binder>, body: Term, span: Span) -> Term {
        let ty = body.ty().clone();
        Term::new(Form::Reduce(Reduce { op, binders, body }), ty, span)
    }

    pub fn if_(cond: Term, then: Term, otherwise: Term, span: Span) -> Term {
        let ty = then.ty().clone();
        Term::new(Form::If(cond, then, otherwise), ty, span)
    }

    pub fn let_(var: Var, value: Term, body: Term, span: Span) -> Term {
        let ty = body.ty().clone();
        Term::new(Form::Let(var, value, body), ty, span)
    }

    pub fn tuple(parts: Vec<Term>, span: Span) -> Term {
        let ty = Type::Tuple(parts.iter().map(|t| t.ty().clone()).collect());
        Term::new(Form::Tuple(parts), ty, span)
    }

    /// The state after the loop: a tuple, or the value of a single state variable.
    pub fn loop_(form: Loop, span: Span) -> Term {
        let mut types: Vec<Type> = form.state.iter().map(|(_, t)| t.ty().clone()).collect();
        let ty = if types.len() == 1 { types.swap_remove(0) } else { Type::Tuple(types) };
        Term::new(Form::Loop(Box::new(form)), ty, span)
    }

    pub fn write(form: Write, span: Span) -> Term {
        let ty = form.base.ty().clone();
        Term::new(Form::Write(Box::new(form)), ty, span)
    }

    /// A condition on sizes as a boolean scalar.
    pub fn cond(cond: &Cond, span: Span) -> Term {
        let compare = |fun, p: &Size| {
            Term::scalar(fun, vec![Term::size(p.clone(), span), Term::size(Size::zero(), span)], span)
        };
        let chain = |fun: Scalar, parts: &[Cond]| {
            let mut terms = parts.iter().map(|c| Term::cond(c, span));
            let first = terms.next().expect("invariant: a connective has parts");
            terms.fold(first, |acc, t| Term::scalar(fun, vec![acc, t], span))
        };
        match cond {
            Cond::True => Term::bool(true, span),
            Cond::False => Term::bool(false, span),
            Cond::NonNeg(p) => compare(Scalar::Ge, p),
            Cond::Zero(p) => compare(Scalar::Eq, p),
            Cond::NonZero(p) => compare(Scalar::Ne, p),
            Cond::And(parts) => chain(Scalar::LogicalAnd, parts),
            Cond::Or(parts) => chain(Scalar::LogicalOr, parts),
        }
    }

    /// Whether this is `if i < 0 { i + extent } else { i }`: an index of data that counts from
    /// the end where it is negative.
    pub fn counts_from_end(&self) -> bool {
        let Form::If(cond, then, given) = self.form() else { return false };
        let of = |term: &Term, wanted: Scalar| match term.form() {
            Form::Call(Fun::Scalar(fun), args) => *fun == wanted && alpha_eq(&args[0], given),
            _ => false,
        };
        of(cond, Scalar::Lt) && of(then, Scalar::Add)
    }

    /// The condition on sizes that a boolean scalar is, if it is one.
    pub fn as_cond(&self) -> Option<Cond> {
        match self.form() {
            Form::Lit(Lit::Bool(true)) => Some(Cond::True),
            Form::Lit(Lit::Bool(false)) => Some(Cond::False),
            Form::Call(Fun::Scalar(fun), args) => call_cond(*fun, args),
            _ => None,
        }
    }
}

fn call_cond(fun: Scalar, args: &[Term]) -> Option<Cond> {
    if let [a, b] = args
        && let (Some(a), Some(b)) = (a.as_size(), b.as_size())
    {
        return Some(match fun {
            Scalar::Eq => Cond::eq(a, b),
            Scalar::Ne => Cond::ne(a, b),
            Scalar::Le => Cond::le(a, b),
            Scalar::Lt => Cond::lt(a, b),
            Scalar::Ge => Cond::le(b, a),
            Scalar::Gt => Cond::lt(b, a),
            _ => return None,
        });
    }
    match (fun, args) {
        (Scalar::LogicalAnd, [a, b]) => Some(Cond::and([a.as_cond()?, b.as_cond()?])),
        (Scalar::LogicalOr, [a, b]) => Some(Cond::or([a.as_cond()?, b.as_cond()?])),
        (Scalar::LogicalNot, [a]) => Some(a.as_cond()?.negated()),
        _ => None,
    }
}
