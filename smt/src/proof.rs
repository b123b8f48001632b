//! Why two scalar terms agree: what the prover did, step by step, as data.
//!
//! A proof is written by the prover and read by who does not trust it. So it holds
//! choices and results, never conclusions: that a guard follows, that a map of indices is
//! one to one, that a question has no answer is to be found out again by the reader.
//!
//! Symbols that the prover made up (for opened binders) stand in a proof as it named them;
//! terms are meant up to the names of what they bind.

use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::term::{Binder, Monoid, Reduce, Term};

use crate::normal::Monomial;
use crate::query::Query;
use crate::value::Method;

/// Why the two sides of a goal agree under its facts.
#[derive(Clone, Debug)]
pub enum Proof {
    /// They are the same text up to bound names.
    Same,
    /// Each side is rewritten, in steps; the results agree.
    Rewritten { left: Vec<Rewrite>, right: Vec<Rewrite>, rest: Box<Proof> },
    /// They agree where the condition holds and where it does not; nothing stands for a
    /// case that contradicts the facts.
    Cases { cond: Cond, holds: Option<Box<Proof>>, fails: Option<Box<Proof>> },
    /// Of a directed goal: they agree under what it says of the left side that it is
    /// defined, of sizes and of values.
    WhereDefined { sizes: Vec<Cond>, needs: Vec<Need>, rest: Box<Proof> },
    /// They agree where the left side is defined, and the right and the left one, in this
    /// order, where the right one is.
    BothWays { there: Box<Proof>, back: Box<Proof> },
    /// The same function, or the same kind of branches, of parts that agree.
    Parts(Vec<Proof>),
    /// Both are combinations with the same elements, under other indices; numbers after they
    /// are multiplied by the denominators, one after the other.
    Framed {
        algebra: Algebra,
        left: Box<Reading>,
        right: Box<Reading>,
        denominators: Vec<Denominator>,
        frames: Vec<Frame>,
    },
    /// Both combine the same elements in the same order, by this monoid.
    InOrder(Monoid),
    /// No answer to the question separates them, which takes the pairs of reductions for
    /// equal.
    Solved { question: Question, settled: bool, merges: Vec<Merge> },
}

/// What holds of values where a term is defined.
#[derive(Clone, Debug)]
pub struct Need {
    pub value: Term,
    /// The same with its combinations put together anew, if that changes it.
    pub combined: Option<(Combining, Term)>,
}

/// A finite number other than 0 that both sides of an equation are multiplied by.
#[derive(Clone, Debug)]
pub struct Denominator {
    pub divisor: Term,
    /// The divisor as a sum.
    pub parts: Reading,
    /// The monomials of each side after that: where `1/divisor` was a factor it is gone.
    pub left: Vec<Monomial>,
    pub right: Vec<Monomial>,
}

/// Monomials at the points of one of them; see Note [Frames] in `normal/frame.rs`.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The monomial that is the frame, its binders named anew, which stand for any integers.
    pub frame: Monomial,
    /// Those that fit into it. Places count the monomials of the left side, then those of
    /// the right one.
    pub members: Vec<Member>,
}

/// A monomial of a frame.
#[derive(Clone, Debug)]
pub struct Member {
    pub place: usize,
    /// Nothing for the frame itself.
    pub fit: Option<Fit>,
}

/// How a monomial fits into a frame.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The factor of the frame for each of its own.
    pub pairing: Vec<usize>,
    /// The frame's binders in terms of its own, and its own in terms of the frame's.
    pub there: Vec<(Sym, Size)>,
    pub back: Vec<(Sym, Size)>,
    /// The points of the frame at which it has elements.
    pub guards: Vec<Cond>,
}

/// A question to a solver: as the prover built it, or as SMT-LIB text.
#[derive(Clone, Debug)]
pub enum Question {
    Built(Query),
    Text(String),
}

impl Question {
    pub fn text(&self) -> String {
        match self {
            Question::Built(query) => query.to_smtlib(),
            Question::Text(text) => text.clone(),
        }
    }
}

/// One step on one side.
#[derive(Clone, Debug)]
pub struct Rewrite {
    pub by: Rewriting,
    pub after: Term,
}

#[derive(Clone, Debug)]
pub enum Rewriting {
    /// Sizes, conditions and ranges simplified, keeping every bit of the value.
    Bits,
    /// Combinations put together anew.
    Combined(Combining),
}

/// Two reductions over the same elements: at each index, with the second's binders in
/// `order`, the bodies agree.
#[derive(Clone, Debug)]
pub struct Merge {
    pub first: Reduce,
    pub second: Reduce,
    /// The place in `second` of each binder of `first`.
    pub order: Vec<usize>,
    /// What stands for the binders in the two bodies.
    pub indices: Vec<Sym>,
    pub left: Term,
    pub right: Term,
    pub proof: Proof,
}

/// How the combinations in a term were put together anew.
#[derive(Clone, Debug)]
pub enum Combining {
    Kept,
    /// The head stays; its parts, in their order, are rewritten.
    Inside(Vec<Combining>),
    /// The body of a reduction, whose binders are named anew, is rewritten.
    Under(Vec<Binder>, Box<Combining>),
    /// `not any p` is `all not p`, `not all p` is `any not p`, `not not p` is `p`; that is
    /// rewritten.
    Negated(Box<Combining>),
    /// `log` of a product of positive numbers, which the argument is rewritten to, is a sum of
    /// logarithms, one for each factor: of `exp t` that is `t`, of `1/f` it is `-log f`. The
    /// sum is rewritten.
    Logarithm {
        argument: Box<Combining>,
        sum: Box<Combining>,
    },
    /// The term is a combination of monomials, and they are `after`.
    Combined {
        algebra: Algebra,
        reading: Box<Reading>,
        /// For each monomial, the binders that are counted from their ends.
        reversed: Vec<Vec<usize>>,
        /// For each monomial, what leaves it, if anything does; none for no monomial.
        extremes: Vec<Option<Extreme>>,
        after: Term,
    },
}

/// The greatest or least of real numbers `free + scale * rest`, where neither `free` nor
/// `scale` depends on the index: it is `free + scale * r` for an extreme `r` of `rest`, of the
/// other kind where `scale` is negative.
#[derive(Clone, Debug)]
pub struct Extreme {
    pub free: Term,
    pub scale: Term,
    pub rest: Term,
    /// How the element is rewritten to `free + scale * rest`.
    pub element: Box<Combining>,
    /// If `rest` is an increasing function, `r` is that of an extreme of its argument.
    pub mapped: Option<Mapped>,
    /// For each monomial of what is mapped, the binders that are counted from their ends.
    pub reversed: Vec<Vec<usize>>,
    /// What it comes to.
    pub after: Term,
}

/// An increasing function of the greatest or least argument.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// How the extreme of the argument is rewritten.
    pub extreme: Box<Combining>,
    /// The function of that in the ring, if it is read there.
    pub reading: Option<Box<Reading>>,
}

/// How monomials combine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Algebra {
    /// Integers, and reals where every factor is finite, defined and free of errors.
    Ring,
    /// Any commutative monoid: one factor in each monomial.
    Monoid(Monoid),
}

/// A term read as a combination of monomials.
#[derive(Clone, Debug)]
pub struct Reading {
    pub how: ReadAs,
    /// The places of the monomials that count, if not all do.
    pub kept: Option<Vec<usize>>,
}

#[derive(Clone, Debug)]
pub enum ReadAs {
    /// The neutral element: no monomials.
    Neutral,
    /// A number.
    Number,
    /// A converted size, term by term.
    Size,
    /// The monomials of both operands of the algebra's operation.
    Both(Box<Reading>, Box<Reading>),
    Difference(Box<Reading>, Box<Reading>),
    Opposite(Box<Reading>),
    Product(Box<Reading>, Box<Reading>),
    /// A product where factors that are inverse to each other are gone, and exponentials of
    /// multiples of one number are one.
    Merged(Box<Reading>, Box<Reading>),
    /// `a / b`, or `1 / b` without `a`: the divisor is rewritten to a product, and the inverse
    /// of each factor is one; then as merged.
    Quotient {
        dividend: Option<Box<Reading>>,
        divisor: Box<Combining>,
    },
    /// `exp(a - b)` as `exp(a) * exp(-b)`, the parts rewritten inside.
    Exponential(Vec<Combining>),
    /// `exp` of what the exponent is rewritten to: the product of those of its summands, where
    /// that of `log f` is `f`; then as merged.
    Exponents(Box<Combining>),
    /// What the term is rewritten to, read.
    After(Box<Combining>, Box<Reading>),
    /// `if`, or `and` and `or` with a condition on sizes, as guards.
    Branches {
        cond: Cond,
        holds: Option<Box<Reading>>,
        fails: Option<Box<Reading>>,
    },
    /// The term decided under each of these guards, which exclude each other and of which
    /// one holds.
    Split(Vec<(Vec<Cond>, Reading)>),
    /// One factor, rewritten inside.
    Factor {
        inner: Box<Combining>,
        tame: Option<Tame>,
    },
    /// A reduction by the algebra's operation, its binders named anew; for each monomial of
    /// the body, in their order, how its guards were used up.
    Reduction {
        binders: Vec<Binder>,
        body: Box<Reading>,
        narrowing: Vec<Vec<Narrowing>>,
    },
}

/// Why a factor is finite, defined and free of errors.
#[derive(Clone, Debug)]
pub struct Tame {
    /// The question that has no answer; nothing if the encoding alone shows it.
    pub question: Option<Question>,
}

/// What was done with the monomial that was next, the last one split off first.
#[derive(Clone, Debug)]
pub enum Narrowing {
    Done,
    To(Rule, Vec<Monomial>),
}

/// Why a monomial is the combination of others.
#[derive(Clone, Debug)]
pub enum Rule {
    /// The guard at this place follows from the others, facts and ranges.
    Follows(usize),
    /// The guards contradict each other, or a range is empty.
    Nothing,
    /// The conjunction at this place is taken apart.
    Conjunction(usize),
    /// The guard at this place says that one of these holds: one monomial for each.
    Alternatives(usize, Vec<Cond>),
    /// The binder has one value.
    Value(usize, Size),
    /// Another binder of this extent runs instead: `there` is the old index in terms of the
    /// new one, `back` the new one in terms of the old, by the same symbol.
    Reindexed { at: usize, there: Size, back: Size, extent: Size },
    /// The binder has a few values: one monomial for each.
    Each(usize),
    /// The binder makes copies of what counts once.
    Idle(usize),
}

impl Proof {
    pub fn method(&self) -> Method {
        match self {
            Proof::Same => Method::Syntactic,
            Proof::Framed { .. } | Proof::InOrder(_) => Method::Structural,
            Proof::Parts(parts) => parts.iter().map(Proof::method).max().unwrap_or(Method::Structural),
            Proof::Rewritten { rest, .. } => rest.method().max(Method::Structural),
            Proof::Solved { settled: true, merges, .. } if merges.is_empty() => Method::Structural,
            Proof::Cases { .. } | Proof::Solved { .. } => Method::Smt,
            Proof::WhereDefined { .. } | Proof::BothWays { .. } => Method::Smt,
        }
    }
}
