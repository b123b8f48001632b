//! Bit-vectors of which only the order is spoken, as integers: an order is decided by
//! comparing, bits by a search through circuits.
//!
//! Invariant: the question about integers has an answer if and only if the one about bits
//! has. A bit-vector stands for the integer that it denotes; nothing but `<`, `=` and `if`
//! is said of it, all of which agree. Conversely, where literals are compared with, every
//! value is within the range of its width; where there are none, integers in any order can
//! be replaced by as many of the range in the same order.

use num_bigint::BigInt;

use crate::query::{Id, Node, Op, Query, Sort};

/// Values that any width tells apart.
const MAX_VALUES: usize = 250;

impl Query {
    /// The same question about integers, watching the same; nothing where more than the order
    /// of bit-vectors matters.
    pub(crate) fn of_integers(&self) -> Option<Query> {
        let signed = self.one_order()?;
        let mut new = Query::new();
        let int = |sort: &Sort| if is_bits(sort) { Sort::Int } else { sort.clone() };
        for decl in &self.decls {
            new.declare(&decl.name, decl.domain.iter().map(int).collect(), int(&decl.range));
        }
        let (mut ids, mut values, mut literals) = (Vec::<Id>::new(), Vec::new(), false);
        for (at, node) in self.nodes.iter().enumerate() {
            let known = |args: &[Id]| args.iter().map(|arg| ids[arg.index()]).collect::<Vec<Id>>();
            let id = match node {
                Node::Bits(..) => {
                    literals = true;
                    let value = self.bits_value(self.at(at)?, signed)?;
                    new.int(value)
                }
                Node::Op(Op::BvSlt | Op::BvUlt, args) => new.op(Op::Lt, known(args)),
                Node::Op(Op::Eq, args) => new.eq(ids[args[0].index()], ids[args[1].index()]),
                Node::Op(op, args) => new.op(*op, known(args)),
                Node::Apply(fun, args) => new.apply(*fun, known(args)),
                Node::Bool(value) => new.bool(*value),
                Node::Int(value) => new.int(value.clone()),
                Node::Real(value) => new.real(value.clone()),
                Node::Float(bits, exponent, significand) => {
                    new.float(f64::from_bits(*bits), *exponent, *significand)
                }
            };
            if let (Node::Apply(..), Sort::Bits(width)) = (node, self.sort(self.at(at)?)) {
                values.push((id, *width));
            }
            ids.push(id);
        }
        for (value, width) in literals.then_some(&values).into_iter().flatten() {
            let (least, most) = range(*width, signed);
            let (least, most) = (new.int(least), new.int(most));
            let (above, below) = (new.le(least, *value), new.le(*value, most));
            new.assert(above);
            new.assert(below);
        }
        self.asserts.iter().for_each(|id| new.assert(ids[id.index()]));
        new.watched = self.watched.iter().map(|id| ids[id.index()]).collect();
        (values.len() <= MAX_VALUES).then_some(new)
    }

    /// Whether the order of bit-vectors is one of signed numbers, if there are any and nothing
    /// else is said of them.
    fn one_order(&self) -> Option<bool> {
        let (mut signed, mut unsigned) = (false, false);
        for node in &self.nodes {
            match node {
                Node::Op(Op::BvSlt, _) => signed = true,
                Node::Op(Op::BvUlt, _) => unsigned = true,
                Node::Op(Op::Eq | Op::Ite, _) => {}
                Node::Op(op, args) => {
                    let spoken = args.iter().any(|arg| is_bits(self.sort(*arg)));
                    if spoken || matches!(op, Op::IntToBv(_)) {
                        return None;
                    }
                }
                _ => {}
            }
        }
        (signed != unsigned).then_some(signed)
    }
}

fn is_bits(sort: &Sort) -> bool {
    matches!(sort, Sort::Bits(_))
}

fn range(width: u32, signed: bool) -> (BigInt, BigInt) {
    let all = BigInt::from(1) << width;
    let half: BigInt = &all >> 1;
    if signed { (-&half, half - 1) } else { (BigInt::ZERO, all - 1) }
}

#[cfg(test)]
mod tests {
    use crate::query::{Id, Op, Query, Sort};
    use crate::solver::{Answer, Backend, Budget};
    use crate::z3_backend::Z3;
    use proptest::prelude::*;

    /// A term of eight bits over `x y z`, literals and comparisons.
    #[derive(Clone, Debug)]
    enum Tree {
        Value(usize),
        Literal(i64),
        Max(Box<Tree>, Box<Tree>),
        Chosen(Box<Tree>, Box<Tree>, Box<Tree>),
    }

    fn trees(literals: bool) -> BoxedStrategy<Tree> {
        let value = (0usize..3).prop_map(Tree::Value);
        let literal = prop_oneof![Just(-128), Just(127), -2i64..3].prop_map(Tree::Literal);
        let leaf = if literals { prop_oneof![value, literal].boxed() } else { value.boxed() };
        leaf.prop_recursive(3, 10, 3, |inner| {
            let (a, b, c) = (inner.clone(), inner.clone(), inner);
            prop_oneof![
                (a.clone(), b.clone()).prop_map(|(a, b)| Tree::Max(a.into(), b.into())),
                (a, b, c).prop_map(|(a, b, c)| Tree::Chosen(a.into(), b.into(), c.into())),
            ]
        })
        .boxed()
    }

    fn built(q: &mut Query, tree: &Tree, less: Op) -> Id {
        match tree {
            Tree::Value(k) => q.constant(["x", "y", "z"][*k], Sort::Bits(8)),
            Tree::Literal(value) => q.bits(*value, 8),
            Tree::Max(a, b) => {
                let (a, b) = (built(q, a, less), built(q, b, less));
                let below = q.op(less, vec![a, b]);
                q.ite(below, b, a)
            }
            Tree::Chosen(a, b, c) => {
                let (a, b, c) = (built(q, a, less), built(q, b, less), built(q, c, less));
                let same = q.eq(a, b);
                q.ite(same, c, b)
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 200, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn integers_have_the_answer_of_bits(
            (a, b) in any::<bool>().prop_flat_map(|with| (trees(with), trees(with))),
            signed in any::<bool>(), differ in any::<bool>(),
        ) {
            let less = if signed { Op::BvSlt } else { Op::BvUlt };
            let mut q = Query::new();
            let (a, b) = (built(&mut q, &a, less), built(&mut q, &b, less));
            let (same, below) = (q.eq(a, b), q.op(less, vec![a, b]));
            let claim = if differ { q.not(same) } else { below };
            q.assert(claim);
            let ints = q.of_integers().expect("only the order is spoken of");
            let unsat = |q: &Query| Z3.check(q, Budget::OBLIGATION) == Answer::Unsat;
            prop_assert_eq!(unsat(&ints), unsat(&q));
        }
    }

    #[test]
    fn bits_that_are_computed_with_stay() {
        let mut q = Query::new();
        let (x, y) = (q.constant("x", Sort::Bits(8)), q.constant("y", Sort::Bits(8)));
        let (sum, less) = (q.op(Op::BvAdd, vec![x, y]), q.op(Op::BvSlt, vec![x, y]));
        let above = q.op(Op::BvSlt, vec![x, sum]);
        q.assert(less);
        q.assert(above);
        assert!(q.of_integers().is_none());
    }
}
