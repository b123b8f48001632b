//! Scalar core terms as terms of a query.
//!
//! Invariants: the encoding of a term has the term's meaning in the claim's mode for
//! every value of its free symbols and variables, or is weaker (an uninterpreted
//! function where the meaning is not covered); a form without any encoding is
//! [`Reason::Unsupported`]. A term's encoding carries two conditions: `err`,
//! evaluation is an error, and `bot`, the value is the undefined real.
//!
//! Per mode: integers and bools are exact; floats are elements of one opaque sort per
//! dtype (exact), elements of a free commutative monoid (reassoc, see `floats.rs`), or
//! extended reals (real, see `reals.rs`).

use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use num_traits::Signed;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::entail::{Cond, Entails};
use rtv_semantics::integers::fits;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::{Meaning, Scalar};
use rtv_semantics::size::{Atom, Size};
use rtv_semantics::subst::Fresh;
use rtv_semantics::term::{Declared, Form, Fun, Lit, Term, Var};
use rtv_semantics::types::Type;

use crate::bits;
use crate::extended::Ext;
use crate::key::{base_name, unsupported};
use crate::laws::Laws;
use crate::poly::{number, same_wrapped};
use crate::query::{Id, Op, Query, Sort};
use crate::reduce::ReduceUse;
use crate::sizes::{SizeSolver, SizeTerms};
use crate::solver::{Budget, Reason};

/// Deepest term that is encoded, far above what unfolding makes of real programs.
const MAX_DEPTH: usize = 600;

/// Integers from the data whose order is related pairwise, at most this many.
const MAX_ORDERED: usize = 6;

/// The value part of an encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Data {
    /// An unbounded integer.
    Size(Id),
    Bool(Id),
    /// An integer of the term's dtype.
    Bits(Id),
    /// A float in exact and reassoc mode.
    Opaque(Id),
    /// A float in real mode; its `bot` is kept in [`Enc`].
    Real {
        pinf: Id,
        ninf: Id,
        val: Id,
    },
}

/// A scalar term in a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Enc {
    pub data: Data,
    pub err: Id,
    pub bot: Id,
}

/// A read that occurs, for reading models.
pub(crate) struct ReadUse {
    pub var: String,
    pub index: Vec<Id>,
    pub value: Id,
}

pub(crate) struct Encoder {
    pub q: Query,
    pub sizes: SizeTerms,
    pub mode: Mode,
    pub laws: Laws,
    pub reads: Vec<ReadUse>,
    pub reduces: Vec<ReduceUse>,
    /// Numbers of reduction keys, which name their functions.
    pub keys: FxHashMap<String, usize>,
    /// Float literals, by their constants.
    pub literals: FxHashMap<Id, crate::floats::Literal>,
    /// Of opaque floats: which sign bits, and which comparisons by `==`, are spoken of.
    pub sign_bits: BTreeMap<Id, Id>,
    pub equal_floats: BTreeMap<(Id, Id), Id>,
    pub env: FxHashMap<Var, Enc>,
    known: Known,
    /// Widths that unbounded integers were wrapped to.
    widths: BTreeSet<u32>,
    /// Integers of the data as unbounded ones: dtype, bits, integer.
    ordered: Vec<(DType, Id, Id)>,
    /// Sizes converted to integers: dtype, bits, size, integer.
    pub converted: Vec<(DType, Id, Size, Id)>,
    /// Quotients and remainders, by operands and rounding (down, or towards zero).
    divisions: FxHashMap<(Id, Id, bool), [Option<Id>; 2]>,
    /// By address; the terms are kept, so that no address is used twice.
    memo: FxHashMap<usize, (Term, Enc)>,
    depth: usize,
}

/// What is known of sizes, to decide flags without a question on values.
#[derive(Clone)]
pub(crate) struct Known {
    pub facts: Vec<Cond>,
    pub sizes: Arc<SizeSolver>,
}

impl Known {
    pub fn holds(&self, cond: &Cond) -> bool {
        self.sizes.entails(&self.facts, cond)
    }
}

impl Encoder {
    /// An encoder that has the facts asserted.
    pub fn new(mode: Mode, known: Known) -> Encoder {
        let mut encoder = Encoder::bare(mode, known);
        for fact in encoder.known.facts.clone() {
            let (truth, _) = encoder.sizes.cond(&mut encoder.q, &fact);
            encoder.q.assert(truth);
        }
        encoder
    }

    /// One that has nothing asserted, for what is seen without a question.
    pub fn bare(mode: Mode, known: Known) -> Encoder {
        Encoder {
            q: Query::new(),
            sizes: SizeTerms::default(),
            mode,
            laws: Laws::default(),
            reads: Vec::new(),
            reduces: Vec::new(),
            keys: FxHashMap::default(),
            literals: FxHashMap::default(),
            sign_bits: BTreeMap::new(),
            equal_floats: BTreeMap::new(),
            env: FxHashMap::default(),
            known,
            widths: BTreeSet::new(),
            ordered: Vec::new(),
            converted: Vec::new(),
            divisions: FxHashMap::default(),
            memo: FxHashMap::default(),
            depth: 0,
        }
    }

    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Adds the laws between functions; once, when everything is encoded.
    pub fn close(&mut self) {
        self.laws.close(&mut self.q);
        self.merge_equal_floats();
        self.wrap_equations();
        self.unwrapped();
        for i in 1..self.ordered.len().min(MAX_ORDERED) {
            for j in 0..i {
                let ((dtype, a, x), (other, b, y)) = (self.ordered[i], self.ordered[j]);
                if dtype != other {
                    continue;
                }
                let less = if dtype == DType::U8 { Op::BvUlt } else { Op::BvSlt };
                for (a, x, b, y) in [(a, x, b, y), (b, y, a, x)] {
                    let (bits, ints) = (self.q.op(less, vec![a, b]), self.q.lt(x, y));
                    let same = self.q.eq(bits, ints);
                    self.q.assert(same);
                }
            }
        }
    }

    /// Asserts that a hypothesis is true, without error and defined, where `range` holds.
    /// One that cannot be encoded is not used.
    pub fn assume(&mut self, range: Id, hypothesis: &Term) {
        let Ok(Enc { data: Data::Bool(holds), err, bot }) = self.term(hypothesis) else { return };
        let q = &mut self.q;
        let (no_err, no_bot) = (q.not(err), q.not(bot));
        let works = q.and([holds, no_err, no_bot]);
        let fact = q.implies(range, works);
        q.assert(fact);
    }

    /// None of the flags can be true: literally, or by a cheap question to the solver,
    /// for which the encoder is used up.
    pub fn excludes(self, flags: &[Id]) -> bool {
        self.excluded(flags).is_some()
    }

    /// The same, with the question that was asked, if one was.
    pub fn excluded(self, flags: &[Id]) -> Option<Option<Query>> {
        let sizes = self.known.sizes.clone();
        match self.question(flags) {
            Err(may_be) => (!may_be).then_some(None),
            Ok(query) => sizes.solver().refutes(&query, Budget::PRUNE).is_ok().then_some(Some(query)),
        }
    }

    /// The question whether one of the flags may be true, unless that is known.
    pub fn question(mut self, flags: &[Id]) -> Result<Query, bool> {
        let any = self.q.or(flags.iter().copied());
        if let Some(truth) = self.q.known(any) {
            return Err(truth);
        }
        self.close();
        self.q.assert(any);
        Ok(self.q.of_integers().unwrap_or(self.q))
    }

    pub fn sure(&mut self, data: Data) -> Enc {
        let no = self.q.bool(false);
        Enc { data, err: no, bot: no }
    }

    pub fn term(&mut self, term: &Term) -> Result<Enc, Reason> {
        if let Some((_, enc)) = self.memo.get(&term.address()) {
            return Ok(*enc);
        }
        if self.depth >= MAX_DEPTH {
            return Err(unsupported("a term nested this deep"));
        }
        self.depth += 1;
        let enc = self.form(term);
        self.depth -= 1;
        let enc = enc?;
        self.memo.insert(term.address(), (term.clone(), enc));
        Ok(enc)
    }

    fn form(&mut self, term: &Term) -> Result<Enc, Reason> {
        match term.form() {
            Form::Size(size) => Ok(self.size(size)),
            Form::Lit(lit) => self.literal(lit, term.dtype()),
            Form::Var(var) => match self.env.get(var) {
                Some(enc) => Ok(*enc),
                None => self.read(term, &[]),
            },
            Form::Call(Fun::Item(k), args) => self.item(term, *k, &args[0]),
            Form::Read(base, index) => self.read(base, index),
            Form::Call(Fun::Scalar(fun), args) => self.call(*fun, args),
            Form::Call(Fun::Cast(to), args) => match args.as_slice() {
                [arg] => self.cast(arg, *to),
                _ => Err(unsupported("a conversion of several values")),
            },
            Form::Call(Fun::Combine(monoid), args) => self.combine(monoid, 0, args),
            Form::Call(Fun::Op(instance), _) => {
                Err(unsupported(format!("a call of `{}` that is not unfolded", instance.name)))
            }
            Form::If(cond, then, other) => {
                let cond = self.term(cond)?;
                let (then, other) = (self.term(then)?, self.term(other)?);
                self.choose(cond, then, other)
            }
            Form::Let(var, value, body) => {
                if !value.is_scalar() {
                    return Err(unsupported("a `let` of a tensor"));
                }
                let value = self.term(value)?;
                self.env.insert(var.clone(), value);
                let body = self.term(body)?;
                // An error is one even where the value is not used.
                Ok(Enc { err: self.q.or([value.err, body.err]), ..body })
            }
            Form::Reduce(reduce) => self.reduce(reduce, 0),
            Form::Comp(..) => Err(unsupported("a tensor inside a scalar")),
            Form::Tuple(_) => Err(unsupported("a tuple inside a scalar")),
            Form::Loop(fold) => self.fold(term, fold, 0),
            Form::Write(_) => Err(unsupported("a write")),
        }
    }

    /// A component of a tuple: of what is computed, or of a parameter.
    fn item(&mut self, term: &Term, k: usize, tuple: &Term) -> Result<Enc, Reason> {
        match tuple.form() {
            Form::Call(Fun::Combine(monoid), args) => self.combine(monoid, k, args),
            Form::If(cond, then, other) => {
                let cond = self.term(cond)?;
                let [then, other] = [then, other].map(|tuple| Term::item(k, tuple.clone(), term.span()));
                let (then, other) = (self.term(&then)?, self.term(&other)?);
                self.choose(cond, then, other)
            }
            Form::Reduce(reduce) => self.reduce(reduce, k),
            Form::Loop(fold) => self.fold(tuple, fold, k),
            _ => self.read(term, &[]),
        }
    }

    /// What the combination of two elements is, by its definition: a component of it.
    fn combine(&mut self, monoid: &Declared, k: usize, args: &[Term]) -> Result<Enc, Reason> {
        let mut fresh = Fresh::above(args.iter().chain([&monoid.element]));
        let [left, right] = args else { return Err(unsupported("a combination of other than two")) };
        let mut components = monoid.meaning(left, right, &mut fresh).components();
        let whole = self.term(&components.swap_remove(k))?;
        // An error is one even where the element is not used.
        let mut errors = vec![whole.err];
        for part in args.iter().flat_map(Term::components).chain(components) {
            errors.push(self.term(&part)?.err);
        }
        Ok(Enc { err: self.q.or(errors), ..whole })
    }

    /// A size; a division by zero in it is an error.
    pub fn size(&mut self, size: &Size) -> Enc {
        let value = self.sizes.size(&mut self.q, size);
        let defined = self.defined(size);
        let err = self.q.not(defined);
        Enc { err, ..self.sure(Data::Size(value)) }
    }

    /// No divisor in the size is zero.
    pub fn defined(&mut self, size: &Size) -> Id {
        let nonzero = |d: &Size| self.known.holds(&Cond::ne(d, &Size::zero()));
        if divisors(size).iter().all(nonzero) {
            return self.q.bool(true);
        }
        self.sizes.defined(&mut self.q, size)
    }

    fn literal(&mut self, lit: &Lit, dtype: DType) -> Result<Enc, Reason> {
        let data = match (lit, dtype.category()) {
            (Lit::Bool(value), Category::Bool) => Data::Bool(self.q.bool(*value)),
            (Lit::Int(value), Category::Int) => Data::Bits(self.q.bits(value.clone(), dtype.bits())),
            (_, Category::Float) => return self.float_literal(lit, dtype),
            _ => return Err(unsupported(format!("the literal {lit:?} of {dtype}"))),
        };
        Ok(self.sure(data))
    }

    /// An element of a parameter: a function of the index. In real mode it is finite.
    fn read(&mut self, base: &Term, index: &[Term]) -> Result<Enc, Reason> {
        let name = base_name(base)?;
        let Type::Tensor(ty) = base.ty() else {
            return Err(unsupported("a value variable that is no tensor"));
        };
        let (mut ids, mut conditions) = (Vec::new(), Vec::new());
        for term in index {
            let enc = self.term(term)?;
            ids.push(self.index(enc, term)?);
            conditions.push(enc);
        }
        let sort = match (ty.dtype.category(), self.mode) {
            (Category::Bool, _) => Sort::Bool,
            (Category::Int, _) => Sort::Bits(ty.dtype.bits()),
            (Category::Float, _) => self.float_sort(ty.dtype),
        };
        let fun = self.q.declare(&name, vec![Sort::Int; ids.len()], sort);
        let value = self.q.apply(fun, ids.clone());
        self.reads.push(ReadUse { var: name, index: ids, value });
        let data = self.plain(value, ty.dtype);
        let err = self.q.or(conditions.iter().map(|enc| enc.err));
        let bot = self.q.or(conditions.iter().map(|enc| enc.bot));
        Ok(Enc { data, err, bot })
    }

    /// An index as an unbounded integer.
    fn index(&mut self, enc: Enc, term: &Term) -> Result<Id, Reason> {
        match enc.data {
            Data::Size(id) => Ok(id),
            Data::Bits(id) => Ok(self.unbounded(id, term.dtype())),
            _ => Err(unsupported("an index that is no integer")),
        }
    }

    /// Data of a dtype that has no exceptional values here.
    pub fn plain(&mut self, value: Id, dtype: DType) -> Data {
        match (dtype.category(), self.mode) {
            (Category::Bool, _) => Data::Bool(value),
            (Category::Int, _) => Data::Bits(value),
            (Category::Float, Mode::Real) => {
                let no = self.q.bool(false);
                Data::Real { pinf: no, ninf: no, val: value }
            }
            (Category::Float, _) => Data::Opaque(value),
        }
    }

    /// The number that bits of an integer dtype stand for: a function of the bits, in
    /// the range of the dtype. Not interpreted further: bit-vector and unbounded
    /// arithmetic mix badly, and equal bits are what matters.
    pub fn unbounded(&mut self, bits: Id, dtype: DType) -> Id {
        if let Some(value) = self.q.bits_value(bits, dtype != DType::U8) {
            return self.q.int(value);
        }
        let fun = self.q.declare(&format!("int {dtype}"), vec![Sort::Bits(dtype.bits())], Sort::Int);
        let int = self.q.apply(fun, vec![bits]);
        let (least, most) = dtype.int_range().unwrap_or((i64::MIN, i64::MAX));
        let (least, most) = (self.q.int(least), self.q.int(most));
        let (above, below) = (self.q.le(least, int), self.q.le(int, most));
        self.q.assert(above);
        self.q.assert(below);
        if !self.ordered.contains(&(dtype, bits, int)) {
            // The first zero: integers of the data are compared with it.
            if self.ordered.iter().all(|entry| entry.0 != dtype) {
                let (zero, none) = (self.q.bits(0, dtype.bits()), self.q.int(0));
                self.ordered.push((dtype, zero, none));
            }
            self.ordered.push((dtype, bits, int));
        }
        int
    }

    /// An unbounded integer wrapped to a width. Wrapping respects sums and products,
    /// so a polynomial wraps term by term; an atom wraps by a function of its value.
    pub fn wrapped(&mut self, size: &Size, value: Id, width: u32) -> Id {
        if size.as_const().is_some() {
            return self.q.bits(size.constant_term(), width);
        }
        self.widths.insert(width);
        let sum = self.wrapped_terms(size, width);
        let whole = self.wrap_function(value, width);
        let same = self.q.eq(whole, sum);
        self.q.assert(same);
        whole
    }

    fn wrapped_terms(&mut self, size: &Size, width: u32) -> Id {
        let mut sum = self.q.bits(0, width);
        for (monomial, coefficient) in size.terms() {
            let mut product = self.q.bits(coefficient.clone(), width);
            for (atom, power) in monomial {
                let atom = self.sizes.size(&mut self.q, &Size::atom(atom.clone()));
                let factor = self.wrap_function(atom, width);
                for _ in 0..*power {
                    product = self.q.op(Op::BvMul, vec![product, factor]);
                }
            }
            sum = self.q.op(Op::BvAdd, vec![sum, product]);
        }
        sum
    }

    /// A size that the facts say is zero wraps to zero, term by term.
    fn wrap_equations(&mut self) {
        for width in self.widths.clone() {
            for fact in self.known.facts.clone() {
                if let Cond::Zero(size) = fact {
                    let (sum, zero) = (self.wrapped_terms(&size, width), self.q.bits(0, width));
                    let law = self.q.eq(sum, zero);
                    self.q.assert(law);
                }
            }
        }
    }

    /// Where integers of the data count as unbounded ones: a converted size does too, and is
    /// that size if the facts say that it fits the dtype.
    fn unwrapped(&mut self) {
        let dtypes: BTreeSet<DType> = self.ordered.iter().map(|entry| entry.0).collect();
        for (dtype, bits, size, value) in std::mem::take(&mut self.converted) {
            if dtypes.contains(&dtype)
                && self.q.bits_value(bits, true).is_none()
                && self.known.holds(&fits(&size, dtype))
            {
                let int = self.unbounded(bits, dtype);
                let same = self.q.eq(int, value);
                self.q.assert(same);
            }
        }
    }

    pub fn wrap_function(&mut self, int: Id, width: u32) -> Id {
        if let Some(value) = number(&self.q, int) {
            return self.q.bits(value.to_integer(), width);
        }
        let fun = self.q.declare(&format!("wrap {width}"), vec![Sort::Int], Sort::Bits(width));
        self.q.apply(fun, vec![int])
    }

    /// Where an argument ends in an error. A condition on sizes at the right of `and` and
    /// `or` is only evaluated where the left side does not decide.
    fn argument_errors(&mut self, fun: Scalar, args: &[Term], encs: &[Enc]) -> Id {
        if let ([a, b], [_, right]) = (encs, args)
            && let Data::Bool(left) = a.data
            && matches!(fun, Scalar::LogicalAnd | Scalar::LogicalOr)
            && right.as_cond().is_some()
        {
            let open = if fun == Scalar::LogicalAnd { left } else { self.q.not(left) };
            let reached = self.q.and([open, b.err]);
            return self.q.or([a.err, reached]);
        }
        self.q.or(encs.iter().map(|enc| enc.err))
    }

    fn call(&mut self, fun: Scalar, args: &[Term]) -> Result<Enc, Reason> {
        let encs = args.iter().map(|arg| self.term(arg)).collect::<Result<Vec<Enc>, _>>()?;
        let err = self.argument_errors(fun, args, &encs);
        let bot = self.q.or(encs.iter().map(|enc| enc.bot));
        let meaning = fun.row().meaning;
        if args.iter().all(|arg| *arg.ty() == Type::Size) {
            let data = self.compare_sizes(meaning, &encs)?;
            return Ok(Enc { data, err, bot });
        }
        let dtype = args.first().map(Term::dtype).ok_or_else(|| unsupported("a call of nothing"))?;
        let ids: Vec<Id> = encs
            .iter()
            .filter_map(|enc| match enc.data {
                Data::Bool(id) | Data::Bits(id) | Data::Opaque(id) => Some(id),
                _ => None,
            })
            .collect();
        match dtype.category() {
            Category::Float if self.mode == Mode::Real => {
                let exts: Vec<Ext> = encs.iter().filter_map(|enc| enc.ext()).collect();
                let result = self.real_call(fun, &exts)?;
                Ok(Enc { err, bot: self.q.or([bot, result.bot]), ..result })
            }
            Category::Float => {
                let data = self.opaque_call(fun, dtype, &ids);
                Ok(Enc { data, err, bot })
            }
            Category::Bool => match bits::boolean(&mut self.q, meaning, &ids) {
                Some(result) => Ok(Enc { data: Data::Bool(result.value), err, bot }),
                None => Err(unsupported(format!("`{fun}` of bools"))),
            },
            Category::Int => {
                let Some(result) = bits::integer(&mut self.q, meaning, dtype, &ids) else {
                    let data = self.integer_function(fun, dtype, &ids);
                    return Ok(Enc { data, err, bot });
                };
                self.relate_division(meaning, &ids, result.value);
                let fault = result.error.unwrap_or_else(|| self.q.bool(false));
                let there = self.q.not(bot);
                let fault = self.q.and([there, fault]);
                let err = self.q.or([err, fault]);
                let data = if result.test { Data::Bool } else { Data::Bits }(result.value);
                Ok(Enc { data, err, bot })
            }
        }
    }

    /// Where quotient and remainder of one division both occur, `y * q + r = x` is said,
    /// which follows but costs a search to find. (It holds at `y = 0` too, for the
    /// values that bit-vector division has there.)
    fn relate_division(&mut self, meaning: Meaning, args: &[Id], value: Id) {
        let (floors, is_rest) = match meaning {
            Meaning::FloorDiv => (true, false),
            Meaning::TruncDiv => (false, false),
            Meaning::Remainder => (true, true),
            Meaning::Fmod => (false, true),
            _ => return,
        };
        let &[x, y] = args else { return };
        let pair = self.divisions.entry((x, y, floors)).or_default();
        pair[usize::from(is_rest)] = Some(value);
        if let [Some(quotient), Some(rest)] = *pair {
            let product = self.q.op(Op::BvMul, vec![y.min(quotient), y.max(quotient)]);
            let sum = self.q.op(Op::BvAdd, vec![product.min(rest), product.max(rest)]);
            let law = self.q.eq(sum, x);
            self.q.assert(law);
        }
    }

    /// An integer function that is not written out (`pow`): a small constant exponent
    /// is a product, anything else uninterpreted. It never fails.
    fn integer_function(&mut self, fun: Scalar, dtype: DType, args: &[Id]) -> Data {
        let exponent = args.get(1).and_then(|&y| self.q.bits_value(y, dtype != DType::U8));
        if let (Scalar::Pow, Some(exponent)) = (fun, exponent)
            && let Ok(n @ 0..=16) = u32::try_from(exponent)
        {
            let one = self.q.bits(1, dtype.bits());
            let power = (0..n).fold(one, |power, _| match power == one {
                true => args[0],
                false => self.q.op(Op::BvMul, vec![args[0].min(power), args[0].max(power)]),
            });
            return Data::Bits(power);
        }
        let bits = Sort::Bits(dtype.bits());
        let function = self.q.declare(&format!("{fun} {dtype}"), vec![bits.clone(); args.len()], bits);
        Data::Bits(self.q.apply(function, args.to_vec()))
    }

    fn compare_sizes(&mut self, meaning: Meaning, args: &[Enc]) -> Result<Data, Reason> {
        let &[Enc { data: Data::Size(a), .. }, Enc { data: Data::Size(b), .. }] = args else {
            return Err(unsupported("a function of sizes other than a comparison"));
        };
        let q = &mut self.q;
        let holds = match meaning {
            Meaning::Eq => q.eq(a, b),
            Meaning::Le => q.le(a, b),
            Meaning::Lt => q.lt(a, b),
            Meaning::Ge => q.le(b, a),
            Meaning::Gt => q.lt(b, a),
            Meaning::Ne => {
                let same = q.eq(a, b);
                q.not(same)
            }
            _ => return Err(unsupported("a function of sizes other than a comparison")),
        };
        Ok(Data::Bool(holds))
    }

    /// `if`: only the chosen branch counts.
    fn choose(&mut self, cond: Enc, then: Enc, other: Enc) -> Result<Enc, Reason> {
        let Data::Bool(holds) = cond.data else {
            return Err(unsupported("a condition that is no bool"));
        };
        let data = self.pick(holds, then.data, other.data)?;
        let (err, bot) = (self.q.ite(holds, then.err, other.err), self.q.ite(holds, then.bot, other.bot));
        // An undefined condition chooses nothing, so no branch can fail either.
        let (decided, undecided) = (self.q.not(cond.bot), cond.bot);
        let branch_err = self.q.and([decided, err]);
        let err = self.q.or([cond.err, branch_err]);
        Ok(Enc { data, err, bot: self.q.or([undecided, bot]) })
    }

    pub fn pick(&mut self, cond: Id, a: Data, b: Data) -> Result<Data, Reason> {
        let q = &mut self.q;
        Ok(match (a, b) {
            (Data::Size(a), Data::Size(b)) => Data::Size(q.ite(cond, a, b)),
            (Data::Bool(a), Data::Bool(b)) => Data::Bool(q.ite(cond, a, b)),
            (Data::Bits(a), Data::Bits(b)) => Data::Bits(q.ite(cond, a, b)),
            (Data::Opaque(a), Data::Opaque(b)) => Data::Opaque(q.ite(cond, a, b)),
            (
                Data::Real { pinf, ninf, val },
                Data::Real { pinf: other_pinf, ninf: other_ninf, val: other_val },
            ) => Data::Real {
                pinf: q.ite(cond, pinf, other_pinf),
                ninf: q.ite(cond, ninf, other_ninf),
                val: q.ite(cond, val, other_val),
            },
            _ => return Err(unsupported("branches of different types")),
        })
    }

    /// When two values without error and not undefined are the same.
    pub fn same(&mut self, a: Enc, b: Enc) -> Result<Id, Reason> {
        match (a.data, b.data) {
            (Data::Bits(a), Data::Bits(b)) if same_wrapped(&self.q, a, b) => Ok(self.q.bool(true)),
            (Data::Size(a), Data::Size(b))
            | (Data::Bool(a), Data::Bool(b))
            | (Data::Bits(a), Data::Bits(b))
            | (Data::Opaque(a), Data::Opaque(b)) => Ok(self.q.eq(a, b)),
            (Data::Real { .. }, Data::Real { .. }) => match (a.ext(), b.ext()) {
                (Some(a), Some(b)) => Ok(self.q.same(a, b)),
                _ => Err(unsupported("a comparison of different types")),
            },
            _ => Err(unsupported("a comparison of different types")),
        }
    }
}

/// What the size divides by, inside divisions too.
pub(crate) fn divisors(size: &Size) -> BTreeSet<Size> {
    let mut all = BTreeSet::new();
    collect_divisors(size, &mut all);
    all
}

fn collect_divisors(size: &Size, into: &mut BTreeSet<Size>) {
    for (atom, _) in size.terms().iter().flat_map(|(monomial, _)| monomial) {
        let (Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b)) = atom else { continue };
        collect_divisors(a, into);
        collect_divisors(b, into);
        if matches!(atom, Atom::Div(..)) {
            into.insert(b.clone());
        }
    }
}

impl Enc {
    /// A float of real mode as an extended real.
    pub fn ext(&self) -> Option<Ext> {
        match self.data {
            Data::Real { pinf, ninf, val } => Some(Ext { bot: self.bot, pinf, ninf, val }),
            _ => None,
        }
    }
}

impl Query {
    /// The integer that a bit-vector literal denotes.
    pub(crate) fn bits_value(&self, id: Id, signed: bool) -> Option<num_bigint::BigInt> {
        let crate::query::Node::Bits(value, width) = &self.nodes[id.index()] else {
            return None;
        };
        let half = num_bigint::BigInt::from(1) << (width - 1);
        debug_assert!(!value.is_negative());
        Some(if signed && *value >= half { value - (half << 1) } else { value.clone() })
    }
}
