//! A satisfiability question as plain data: hash-consed nodes and assertions.
//!
//! Invariants: a node's operands stand before it, so one pass in order builds or
//! prints everything; every node is well sorted (constructors assert it); the same
//! node is stored once, so equal ids mean equal terms. The constructors fold only
//! what is true in every theory (`x = x`, `not not x`, constant conditions).
//!
//! Plain data rather than solver objects: a question can be printed as SMT-LIB text,
//! handed to any backend, and be asked in a fresh solver context each time, so that
//! an answer never depends on earlier questions.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed};
use rustc_hash::FxHashMap;

/// The sort of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
    Bool,
    Int,
    Real,
    /// Bit-vectors of a width.
    Bits(u32),
    /// IEEE floats, by the bits of their exponent and of their significand, the hidden one
    /// included; all NaNs are one.
    Float(u32, u32),
    /// A sort without any structure, by name.
    Opaque(String),
}

/// A node of one [`Query`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Id(u32);

/// A declared function of one [`Query`]; one without arguments is a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Fun(u32);

/// Interpreted operations. Comparison and arithmetic on `Int` and `Real` share a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    Not,
    And,
    Or,
    Eq,
    Ite,
    Add,
    Mul,
    Le,
    Lt,
    ToReal,
    BvNeg,
    BvAdd,
    BvMul,
    /// Truncating division and remainder; the encoder adds the floor correction.
    BvSdiv,
    BvSrem,
    BvUdiv,
    BvUrem,
    BvSlt,
    BvUlt,
    BvNot,
    BvAnd,
    BvOr,
    BvXor,
    BvShl,
    BvAshr,
    BvLshr,
    /// Bits `hi..=lo`.
    Extract(u32, u32),
    SignExt(u32),
    ZeroExt(u32),
    /// The integer a bit-vector denotes, unsigned.
    BvToInt,
    /// An integer modulo two to the width.
    IntToBv(u32),
    Fp(FpOp),
    /// The nearest float of this sort to a float, ties to even.
    FpTo(u32, u32),
}

/// Operations on floats; those that round do so to nearest, ties to even. Two floats that
/// are the same ([`Op::Eq`]) have the same bits, or are the NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FpOp {
    Add,
    Mul,
    Div,
    Sqrt,
    Neg,
    Abs,
    Lt,
    Le,
    /// As numbers: zeros are equal, the NaN is not.
    Eq,
    IsNan,
    IsInf,
    /// With the sign bit; not the NaN.
    IsNegative,
    /// To an integer: down, up, to the nearest even one, towards zero.
    Floor,
    Ceil,
    Round,
    Trunc,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    Bool(bool),
    Int(BigInt),
    Real(BigRational),
    /// Value below two to the width.
    Bits(BigInt, u32),
    /// A float by the bits of the f64 that is nearest to it, and its sort.
    Float(u64, u32, u32),
    Apply(Fun, Vec<Id>),
    Op(Op, Vec<Id>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Decl {
    pub name: String,
    pub domain: Vec<Sort>,
    pub range: Sort,
}

/// A conjunction of assertions over declared functions.
#[derive(Clone, Default, Debug)]
pub struct Query {
    pub(crate) nodes: Vec<Node>,
    sorts: Vec<Sort>,
    interned: FxHashMap<Node, Id>,
    pub(crate) decls: Vec<Decl>,
    by_name: FxHashMap<String, Fun>,
    pub(crate) asserts: Vec<Id>,
    pub(crate) watched: Vec<Id>,
}

/// A question without its names: the sorts of its functions, and all else.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    decls: Vec<Vec<Sort>>,
    nodes: Vec<Node>,
    asserts: Vec<Id>,
    watched: Vec<Id>,
}

impl Shape {
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }
}

impl FpOp {
    fn arity(self) -> usize {
        match self {
            FpOp::Add | FpOp::Mul | FpOp::Div | FpOp::Lt | FpOp::Le | FpOp::Eq => 2,
            _ => 1,
        }
    }

    fn is_test(self) -> bool {
        use FpOp::{Eq, IsInf, IsNan, IsNegative, Le, Lt};
        matches!(self, Lt | Le | Eq | IsNan | IsInf | IsNegative)
    }
}

impl Id {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Fun {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Query {
    pub fn new() -> Query {
        Query::default()
    }

    /// What is asked, whatever functions and opaque sorts are called: two questions with one
    /// shape have the same answer, since they differ in names only.
    pub(crate) fn shape(&self) -> Shape {
        let mut names = Vec::new();
        let mut renamed = |sort: &Sort| match sort {
            Sort::Opaque(name) => {
                let place = names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                });
                Sort::Opaque(place.to_string())
            }
            plain => plain.clone(),
        };
        let sorts = |decl: &Decl| decl.domain.iter().chain([&decl.range]).map(&mut renamed).collect();
        Shape {
            decls: self.decls.iter().map(sorts).collect(),
            nodes: self.nodes.clone(),
            asserts: self.asserts.clone(),
            watched: self.watched.clone(),
        }
    }

    /// The sort of a node.
    pub fn sort(&self, id: Id) -> &Sort {
        &self.sorts[id.index()]
    }

    /// Adds an assertion.
    pub fn assert(&mut self, id: Id) {
        debug_assert_eq!(self.sort(id), &Sort::Bool);
        if !self.asserts.contains(&id) {
            self.asserts.push(id);
        }
    }

    /// Asks for the value of a node in a model.
    pub fn watch(&mut self, id: Id) {
        if !self.watched.contains(&id) {
            self.watched.push(id);
        }
    }

    /// The function of that name; declaring a name twice with other sorts is a
    /// mistake of the encoder.
    pub fn declare(&mut self, name: &str, domain: Vec<Sort>, range: Sort) -> Fun {
        if let Some(&fun) = self.by_name.get(name) {
            let decl = &self.decls[fun.index()];
            assert!(decl.domain == domain && decl.range == range, "invariant: one type per name");
            return fun;
        }
        let fun = Fun(self.decls.len() as u32);
        self.decls.push(Decl { name: name.to_string(), domain, range });
        self.by_name.insert(name.to_string(), fun);
        fun
    }

    pub fn constant(&mut self, name: &str, sort: Sort) -> Id {
        let fun = self.declare(name, Vec::new(), sort);
        self.apply(fun, Vec::new())
    }

    /// A constant that is no other one, whatever the names are.
    pub fn fresh(&mut self, name: &str, sort: Sort) -> Id {
        let mut names = (self.decls.len()..).map(|number| format!("{name} {number}"));
        let name = names.find(|name| !self.declares(name)).expect("invariant: numbers do not end");
        self.constant(&name, sort)
    }

    /// The constant of that name, if it was made before.
    pub(crate) fn find_constant(&self, name: &str) -> Option<Id> {
        let fun = self.by_name.get(name)?;
        self.interned.get(&Node::Apply(*fun, Vec::new())).copied()
    }

    pub fn apply(&mut self, fun: Fun, args: Vec<Id>) -> Id {
        let decl = &self.decls[fun.index()];
        let sorted = decl.domain.len() == args.len()
            && decl.domain.iter().zip(&args).all(|(sort, arg)| sort == self.sort(*arg));
        assert!(sorted, "invariant: arguments of {} have its sorts", decl.name);
        let range = decl.range.clone();
        self.intern(Node::Apply(fun, args), range)
    }

    pub fn bool(&mut self, value: bool) -> Id {
        self.intern(Node::Bool(value), Sort::Bool)
    }

    pub fn int(&mut self, value: impl Into<BigInt>) -> Id {
        self.intern(Node::Int(value.into()), Sort::Int)
    }

    pub fn real(&mut self, value: BigRational) -> Id {
        self.intern(Node::Real(value), Sort::Real)
    }

    /// The bit-vector of an integer, taken modulo two to the width.
    pub fn bits(&mut self, value: impl Into<BigInt>, width: u32) -> Id {
        let modulus = BigInt::one() << width;
        let rest = value.into() % &modulus;
        let value = if rest.is_negative() { rest + modulus } else { rest };
        self.intern(Node::Bits(value, width), Sort::Bits(width))
    }

    /// The nearest float of a sort; every NaN is one.
    pub fn float(&mut self, value: f64, exponent: u32, significand: u32) -> Id {
        let value = if value.is_nan() { f64::NAN } else { value };
        let node = Node::Float(value.to_bits(), exponent, significand);
        self.intern(node, Sort::Float(exponent, significand))
    }

    pub fn not(&mut self, a: Id) -> Id {
        match &self.nodes[a.index()] {
            Node::Bool(value) => {
                let value = !*value;
                self.bool(value)
            }
            Node::Op(Op::Not, args) => args[0],
            _ => self.op(Op::Not, vec![a]),
        }
    }

    pub fn and(&mut self, args: impl IntoIterator<Item = Id>) -> Id {
        self.junction(Op::And, true, args)
    }

    pub fn or(&mut self, args: impl IntoIterator<Item = Id>) -> Id {
        self.junction(Op::Or, false, args)
    }

    fn junction(&mut self, op: Op, neutral: bool, args: impl IntoIterator<Item = Id>) -> Id {
        let mut kept = Vec::new();
        for arg in args {
            match self.nodes[arg.index()] {
                Node::Bool(value) if value == neutral => {}
                Node::Bool(_) => return arg,
                _ if kept.contains(&arg) => {}
                _ => kept.push(arg),
            }
        }
        match kept.as_slice() {
            [] => self.bool(neutral),
            [one] => *one,
            _ => self.op(op, kept),
        }
    }

    pub fn implies(&mut self, a: Id, b: Id) -> Id {
        let not_a = self.not(a);
        self.or([not_a, b])
    }

    /// Equality; its operands are put in order, so that `a = b` is `b = a`.
    pub fn eq(&mut self, a: Id, b: Id) -> Id {
        if a == b {
            return self.bool(true);
        }
        if let (Some(a), Some(b)) = (self.literal(a), self.literal(b)) {
            let same = a == b;
            return self.bool(same);
        }
        self.op(Op::Eq, if a < b { vec![a, b] } else { vec![b, a] })
    }

    /// A node that is a literal; different literals of one sort denote different values. A
    /// float is none, since it may round to the same as another.
    pub(crate) fn literal(&self, id: Id) -> Option<&Node> {
        let node = &self.nodes[id.index()];
        (!matches!(node, Node::Apply(..) | Node::Op(..) | Node::Float(..))).then_some(node)
    }

    /// The value of a boolean literal.
    pub(crate) fn known(&self, id: Id) -> Option<bool> {
        match self.nodes[id.index()] {
            Node::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub fn ite(&mut self, cond: Id, then: Id, other: Id) -> Id {
        match self.known(cond) {
            Some(true) => then,
            Some(false) => other,
            None if then == other => then,
            None => self.op(Op::Ite, vec![cond, then, other]),
        }
    }

    pub fn add(&mut self, a: Id, b: Id) -> Id {
        self.op(Op::Add, vec![a, b])
    }

    pub fn mul(&mut self, a: Id, b: Id) -> Id {
        self.op(Op::Mul, vec![a, b])
    }

    pub fn neg(&mut self, a: Id) -> Id {
        let minus_one = match self.sort(a) {
            Sort::Int => self.int(-1),
            _ => self.real(-BigRational::one()),
        };
        self.mul(minus_one, a)
    }

    pub fn sub(&mut self, a: Id, b: Id) -> Id {
        let minus_b = self.neg(b);
        self.add(a, minus_b)
    }

    pub fn le(&mut self, a: Id, b: Id) -> Id {
        self.op(Op::Le, vec![a, b])
    }

    pub fn lt(&mut self, a: Id, b: Id) -> Id {
        self.op(Op::Lt, vec![a, b])
    }

    pub fn op(&mut self, op: Op, args: Vec<Id>) -> Id {
        let sort = self.result_sort(op, &args);
        self.intern(Node::Op(op, args), sort)
    }

    /// Is there a function of that name?
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The node at a place, if there is one.
    pub(crate) fn at(&self, index: usize) -> Option<Id> {
        (index < self.nodes.len()).then_some(Id(index as u32))
    }

    /// The function declared at a place, if there is one.
    pub(crate) fn fun_at(&self, index: usize) -> Option<Fun> {
        (index < self.decls.len()).then_some(Fun(index as u32))
    }

    /// Adds a node as the next one; `None` if it is ill sorted or there already.
    pub(crate) fn append(&mut self, node: Node) -> Option<Id> {
        let sort = match &node {
            Node::Bool(_) => Sort::Bool,
            Node::Int(_) => Sort::Int,
            Node::Real(_) => Sort::Real,
            Node::Bits(value, width) => {
                let fits = *width > 0 && !value.is_negative() && value.bits() <= u64::from(*width);
                fits.then_some(Sort::Bits(*width))?
            }
            Node::Float(_, exponent, significand) => {
                let fits = (2..=11).contains(exponent) && (2..=53).contains(significand);
                fits.then_some(Sort::Float(*exponent, *significand))?
            }
            Node::Apply(fun, args) => {
                let decl = &self.decls[fun.index()];
                let sorted = args.iter().map(|arg| self.sort(*arg)).eq(&decl.domain);
                sorted.then(|| decl.range.clone())?
            }
            Node::Op(op, args) => self.sort_of(*op, args)?,
        };
        (!self.interned.contains_key(&node)).then(|| self.intern(node, sort))
    }

    /// The sort of `op(args)`; asserts that the operands fit.
    fn result_sort(&self, op: Op, args: &[Id]) -> Sort {
        self.sort_of(op, args).unwrap_or_else(|| {
            let sorts: Vec<&Sort> = args.iter().map(|&id| self.sort(id)).collect();
            panic!("invariant: {op:?} takes no operands of sorts {sorts:?}")
        })
    }

    /// The sort of `op(args)`, if the operands fit.
    fn sort_of(&self, op: Op, args: &[Id]) -> Option<Sort> {
        let sorts: Vec<&Sort> = args.iter().map(|&id| self.sort(id)).collect();
        let alike = sorts.windows(2).all(|pair| pair[0] == pair[1]);
        let width = |sort: &Sort| {
            if let Sort::Bits(width) = sort { Some(*width) } else { None }
        };
        let number = |sort: &Sort| matches!(sort, Sort::Int | Sort::Real);
        match (op, sorts.as_slice()) {
            (Op::Not, [Sort::Bool]) => Some(Sort::Bool),
            (Op::And | Op::Or, [Sort::Bool, ..]) if alike => Some(Sort::Bool),
            (Op::Eq, [_, _]) if alike => Some(Sort::Bool),
            (Op::Ite, [Sort::Bool, a, b]) if a == b => Some((*a).clone()),
            (Op::Add | Op::Mul, [a, _]) if alike && number(a) => Some((*a).clone()),
            (Op::Le | Op::Lt, [a, _]) if alike && number(a) => Some(Sort::Bool),
            (Op::ToReal, [Sort::Int]) => Some(Sort::Real),
            (Op::BvNeg | Op::BvNot, [a]) if width(a).is_some() => Some((*a).clone()),
            (Op::BvSlt | Op::BvUlt, [a, _]) if alike && width(a).is_some() => Some(Sort::Bool),
            (Op::Extract(hi, lo), [a]) if lo <= hi && width(a) > Some(hi) => Some(Sort::Bits(hi - lo + 1)),
            (Op::SignExt(more) | Op::ZeroExt(more), [a]) => width(a)?.checked_add(more).map(Sort::Bits),
            (Op::BvToInt, [a]) if width(a).is_some() => Some(Sort::Int),
            (Op::IntToBv(w), [Sort::Int]) if w > 0 => Some(Sort::Bits(w)),
            (Op::FpTo(e, s), [Sort::Float(..)]) if (2..=11).contains(&e) && (2..=53).contains(&s) => {
                Some(Sort::Float(e, s))
            }
            (Op::Fp(op), [a @ Sort::Float(..), rest @ ..]) if alike && rest.len() + 1 == op.arity() => {
                Some(if op.is_test() { Sort::Bool } else { (*a).clone() })
            }
            (
                Op::BvAdd
                | Op::BvMul
                | Op::BvSdiv
                | Op::BvSrem
                | Op::BvUdiv
                | Op::BvUrem
                | Op::BvAnd
                | Op::BvOr
                | Op::BvXor
                | Op::BvShl
                | Op::BvAshr
                | Op::BvLshr,
                [a, _],
            ) if alike && width(a).is_some() => Some((*a).clone()),
            _ => None,
        }
    }

    fn intern(&mut self, node: Node, sort: Sort) -> Id {
        if let Some(&id) = self.interned.get(&node) {
            return id;
        }
        let id = Id(self.nodes.len() as u32);
        self.nodes.push(node.clone());
        self.sorts.push(sort);
        self.interned.insert(node, id);
        id
    }

    /// Does any product of two non-literals occur? Then an `unknown` is put down to
    /// nonlinear arithmetic.
    pub(crate) fn is_nonlinear(&self) -> bool {
        self.nodes.iter().any(|node| match node {
            Node::Op(Op::Mul, args) => args.iter().all(|&arg| self.literal(arg).is_none()),
            _ => false,
        })
    }

    pub(crate) fn has_bits(&self) -> bool {
        self.sorts.iter().any(|sort| matches!(sort, Sort::Bits(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::PLAIN;

    #[test]
    fn an_operation_takes_operands_of_its_own_sorts() {
        for op in PLAIN {
            let mut q = Query::new();
            let (a, b) = (q.constant("a", Sort::Bits(8)), q.constant("b", Sort::Bits(8)));
            let pair = q.append(Node::Op(op, vec![a, b])).is_some();
            let bits = format!("{op:?}").starts_with("Bv");
            let unary = matches!(op, Op::BvNeg | Op::BvNot | Op::BvToInt);
            assert_eq!(pair, op == Op::Eq || bits && !unary, "{op:?}");
        }
        let mut q = Query::new();
        let n = q.constant("n", Sort::Int);
        assert_eq!(q.append(Node::Op(Op::IntToBv(0), vec![n])), None);
    }
}
