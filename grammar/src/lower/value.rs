//! What an expression is while elaborating: a core term, or something static.

use rtv_semantics::dtype::DType;
use rtv_semantics::size::Size;
use rtv_semantics::term::Term;
use rtv_semantics::types::Type;

/// The value of a surface expression.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A tensor or tuple of tensors.
    Term(Term),
    /// A size, an index or an integer literal: a Python `int`.
    Size(Size, Origin),
    /// A Python `float`: a rank-0 f64 term that takes the dtype of what it meets.
    Float(Term),
    Bool(bool),
    Str(String),
    DType(DType),
    /// Extents or an index tuple.
    Tuple(Extents),
    /// A bracketed list: sizes, axes, tensors or the rows of a tensor literal.
    List(Vec<Value>),
    /// The prelude constant `all`.
    All,
    None,
    /// Stands for an expression that was already reported.
    Poison,
}

/// Where an integer comes from: one that is written must be a value of the dtype it takes, one
/// that is computed wraps to it, be it known or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A literal, also behind a minus or a name, or a number that a caller outside gives.
    Written,
    /// Anything else, and whatever a parameter stands for.
    Computed,
}

/// A list of extents or of indices, one per axis (a group counts as one entry).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extents {
    pub items: Vec<Size>,
    /// Axes that `reduced(.., keepdim = true)` kept at extent 1.
    pub kept: Vec<usize>,
    /// Whether the items are indices bound over extents.
    pub index: bool,
}

impl Extents {
    pub fn shape(items: Vec<Size>) -> Extents {
        Extents { items, kept: Vec::new(), index: false }
    }

    pub fn like(&self, items: Vec<Size>) -> Extents {
        Extents { items, kept: Vec::new(), index: self.index }
    }

    /// Without the kept axes.
    pub fn unkept(&self) -> Vec<Size> {
        let keep = |k: &usize| !self.kept.contains(k);
        (0..self.items.len()).filter(keep).map(|k| self.items[k].clone()).collect()
    }
}

impl Value {
    /// A computed integer.
    pub fn size(size: Size) -> Value {
        Value::Size(size, Origin::Computed)
    }

    /// An integer as it is written.
    pub fn written(size: Size) -> Value {
        Value::Size(size, Origin::Written)
    }

    /// How a diagnostic names it.
    pub fn describe(&self) -> String {
        match self {
            Value::Term(t) => match t.ty() {
                Type::Size => "a size".into(),
                ty => format!("`{ty}`"),
            },
            Value::Size(s, _) => match s.as_const() {
                Some(c) => format!("the integer `{c}`"),
                None => format!("the size `{s}`"),
            },
            Value::Float(_) => "a float number".into(),
            Value::Bool(b) => format!("`{b}`"),
            Value::Str(s) => format!("the string {s:?}"),
            Value::DType(d) => format!("the dtype `{d}`"),
            Value::Tuple(e) if e.index => "an index tuple".into(),
            Value::Tuple(_) => "a list of sizes".into(),
            Value::List(_) => "a list".into(),
            Value::All => "`all`".into(),
            Value::None => "`none`".into(),
            Value::Poison => "an expression with an error".into(),
        }
    }

    /// Whether a scalar-table function applies to it directly.
    pub fn is_scalar(&self) -> bool {
        match self {
            Value::Term(t) => t.is_scalar(),
            Value::Size(_, _) | Value::Float(_) | Value::Bool(_) => true,
            _ => false,
        }
    }
}
