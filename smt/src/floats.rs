//! Floats in exact and reassoc mode, float literals, and conversions.
//!
//! Exact: an opaque sort per dtype and an uninterpreted function per (function, dtype),
//! with the laws that hold bit for bit where all NaNs are one value: `+` and `*`
//! commute, `x - y = x + (-y)`, `-(-x) = x`, `x * 1 = x / 1 = x`, `x + (-0) = x`,
//! `x > y` is `y < x`, `x <= y` is `x < y or x == y`, at most one of `x < y`, `y < x` and
//! `x == y` holds, `==` is symmetric and `!=` its negation, and what is `==` and has one sign
//! bit is the same. Literals of different value are not taken to be different.
//!
//! Note [Free monoids]. In reassoc mode floats under `+` form a free commutative monoid,
//! and so they do under `*`, over otherwise uninterpreted operations. A float is a
//! real number here, `+` is addition, and `x * y = P(m(x) + m(y))` with functions `m`
//! and `P` inverse to each other at every occurring argument. The free algebra embeds
//! into this structure: send the terms that are no sums to rationally independent
//! numbers, let `m` send those that are no products to such numbers again, and extend
//! by addition. So what holds in all such structures holds in the free algebra; no
//! distributive law is there to be used.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::{Class, Domain, Exact, Meaning, Scalar, Value};
use rtv_semantics::size::Size;
use rtv_semantics::term::{Lit, Term};

use crate::encode::{Data, Enc, Encoder};
use crate::key::unsupported;
use crate::query::{Id, Node, Op, Sort};
use crate::solver::Reason;

/// A float literal of a dtype: its sign and magnitude, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Literal {
    negative: bool,
    magnitude: Magnitude,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Magnitude {
    Number(BigRational),
    Inf,
    Nan,
    Pi,
}

impl Literal {
    fn read(lit: &Lit) -> Option<Literal> {
        let plain = |negative, magnitude| Some(Literal { negative, magnitude });
        let number = |negative: bool, value: BigRational| {
            let magnitude = if value < BigRational::zero() { -value } else { value };
            plain(negative, Magnitude::Number(magnitude))
        };
        match lit {
            Lit::Bool(_) => None,
            Lit::Int(value) => number(*value < BigInt::zero(), BigRational::from(value.clone())),
            Lit::Inf => plain(false, Magnitude::Inf),
            Lit::NegInf => plain(true, Magnitude::Inf),
            Lit::Nan => plain(false, Magnitude::Nan),
            Lit::Pi => plain(false, Magnitude::Pi),
            Lit::Decimal(text) => match Value::literal(text, DType::F64, Domain::Exact).ok()? {
                Value::Exact(Exact::Rational(value)) => number(text.starts_with('-'), (*value).clone()),
                Value::Exact(Exact::PosInf) => plain(false, Magnitude::Inf),
                Value::Exact(Exact::NegInf) => plain(true, Magnitude::Inf),
                Value::Exact(Exact::Bottom) => plain(false, Magnitude::Nan),
                _ => None,
            },
        }
    }

    fn negated(&self) -> Literal {
        let negative = !self.negative && self.magnitude != Magnitude::Nan;
        Literal { negative, magnitude: self.magnitude.clone() }
    }

    fn is_number(&self, value: &BigRational) -> bool {
        matches!(&self.magnitude, Magnitude::Number(magnitude) if magnitude == value)
    }

    fn name(&self, dtype: DType) -> String {
        let sign = if self.negative { "-" } else { "" };
        match &self.magnitude {
            Magnitude::Number(value) => format!("{dtype} {sign}{value}"),
            Magnitude::Inf => format!("{dtype} {sign}inf"),
            Magnitude::Nan => format!("{dtype} nan"),
            Magnitude::Pi => format!("{dtype} {sign}pi"),
        }
    }
}

impl Encoder {
    /// The sort of one float: a real number except in exact mode.
    pub fn float_sort(&self, dtype: DType) -> Sort {
        match self.mode {
            Mode::Exact => Sort::Opaque(dtype.name().to_string()),
            _ => Sort::Real,
        }
    }

    pub fn float_literal(&mut self, lit: &Lit, dtype: DType) -> Result<Enc, Reason> {
        let literal = Literal::read(lit).ok_or_else(|| unsupported(format!("the literal {lit:?}")))?;
        if self.mode != Mode::Real {
            let id = self.literal_constant(literal, dtype);
            return Ok(self.sure(Data::Opaque(id)));
        }
        let ext = match literal.magnitude {
            Magnitude::Number(value) => {
                let value = self.q.real(if literal.negative { -value } else { value });
                self.q.finite(value)
            }
            Magnitude::Inf => self.q.infinity(literal.negative),
            Magnitude::Nan => self.q.undefined(),
            Magnitude::Pi => {
                let pi = self.laws.pi(&mut self.q);
                let pi = if literal.negative { self.q.negated(pi) } else { pi };
                self.q.finite(pi)
            }
        };
        Ok(self.real(ext))
    }

    fn literal_constant(&mut self, literal: Literal, dtype: DType) -> Id {
        let sort = self.float_sort(dtype);
        if self.mode == Mode::Reassoc && literal.is_number(&BigRational::zero()) {
            return self.q.ratio(0, 1);
        }
        let id = self.q.constant(&literal.name(dtype), sort);
        if self.mode == Mode::Reassoc && !literal.negative && literal.is_number(&BigRational::one()) {
            let (log, zero) = (self.factor(id, dtype), self.q.ratio(0, 1));
            let neutral = self.q.eq(log, zero);
            self.q.assert(neutral);
        }
        self.literals.insert(id, literal);
        id
    }

    fn is_literal(&self, id: Id, negative: bool, value: i64) -> bool {
        let value = BigRational::from(BigInt::from(value));
        let literal = self.literals.get(&id);
        literal.is_some_and(|l| l.negative == negative && l.is_number(&value))
    }

    /// A function of floats in exact or reassoc mode.
    pub fn opaque_call(&mut self, fun: Scalar, dtype: DType, args: &[Id]) -> Data {
        match (fun.row().meaning, args) {
            (Meaning::Add, &[x, y]) => Data::Opaque(self.opaque_add(x, y, dtype)),
            (Meaning::Sub, &[x, y]) => {
                let minus_y = self.opaque_neg(y, dtype);
                Data::Opaque(self.opaque_add(x, minus_y, dtype))
            }
            (Meaning::Neg, &[x]) => Data::Opaque(self.opaque_neg(x, dtype)),
            (Meaning::Mul, &[x, y]) => Data::Opaque(self.opaque_mul(x, y, dtype)),
            (Meaning::Div, &[x, y]) if self.is_literal(y, false, 1) => Data::Opaque(x),
            (Meaning::Lt, &[x, y]) => Data::Bool(self.opaque_less(x, y, dtype)),
            (Meaning::Gt, &[x, y]) => Data::Bool(self.opaque_less(y, x, dtype)),
            (Meaning::Le, &[x, y]) => Data::Bool(self.opaque_at_most(x, y, dtype)),
            (Meaning::Ge, &[x, y]) => Data::Bool(self.opaque_at_most(y, x, dtype)),
            (Meaning::Eq, &[x, y]) => Data::Bool(self.opaque_equal(x, y, dtype)),
            (Meaning::Ne, &[x, y]) => {
                let same = self.opaque_equal(x, y, dtype);
                Data::Bool(self.q.not(same))
            }
            (Meaning::Class(class), &[x]) => {
                let holds = self.predicate(fun.name(), dtype, args);
                if class == Class::SignBit && self.mode == Mode::Exact {
                    self.sign_bits.insert(x, holds);
                }
                Data::Bool(holds)
            }
            _ => Data::Opaque(self.opaque_function(fun.name(), dtype, args)),
        }
    }

    fn predicate(&mut self, name: &str, dtype: DType, args: &[Id]) -> Id {
        let domain = vec![self.float_sort(dtype); args.len()];
        let fun = self.q.declare(&format!("{name} {dtype}"), domain, Sort::Bool);
        self.q.apply(fun, args.to_vec())
    }

    /// `x < y`, which excludes `y < x`, so also `x < x`, and `x == y`.
    fn opaque_less(&mut self, x: Id, y: Id, dtype: DType) -> Id {
        let less = self.predicate("lt", dtype, &[x, y]);
        let (greater, equal) = (self.predicate("lt", dtype, &[y, x]), self.opaque_equal(x, y, dtype));
        for other in [greater, equal] {
            let both = self.q.and([less, other]);
            let law = self.q.not(both);
            self.q.assert(law);
        }
        less
    }

    fn opaque_at_most(&mut self, x: Id, y: Id, dtype: DType) -> Id {
        let (less, equal) = (self.opaque_less(x, y, dtype), self.opaque_equal(x, y, dtype));
        self.q.or([less, equal])
    }

    fn opaque_equal(&mut self, x: Id, y: Id, dtype: DType) -> Id {
        let equal = self.predicate("eq", dtype, &[x.min(y), x.max(y)]);
        self.equal_floats.insert((x.min(y), x.max(y)), equal);
        equal
    }

    /// Two floats that are `==`, so neither is NaN, have one sign bit only if they are the same;
    /// said where both bits are spoken of.
    pub fn merge_equal_floats(&mut self) {
        for (&(x, y), &equal) in &self.equal_floats {
            let (Some(&x_bit), Some(&y_bit)) = (self.sign_bits.get(&x), self.sign_bits.get(&y)) else {
                continue;
            };
            let (alike, same) = (self.q.eq(x_bit, y_bit), self.q.eq(x, y));
            let merge = self.q.and([equal, alike]);
            let law = self.q.implies(merge, same);
            self.q.assert(law);
        }
    }

    fn opaque_function(&mut self, name: &str, dtype: DType, args: &[Id]) -> Id {
        let sort = self.float_sort(dtype);
        let domain = vec![sort.clone(); args.len()];
        let fun = self.q.declare(&format!("{name} {dtype}"), domain, sort);
        self.q.apply(fun, args.to_vec())
    }

    fn opaque_add(&mut self, x: Id, y: Id, dtype: DType) -> Id {
        if self.mode == Mode::Reassoc {
            return self.q.sum(x, y);
        }
        if self.is_literal(x, true, 0) {
            return y;
        }
        if self.is_literal(y, true, 0) {
            return x;
        }
        self.opaque_function("add", dtype, &[x.min(y), x.max(y)])
    }

    fn opaque_neg(&mut self, x: Id, dtype: DType) -> Id {
        if let Some(literal) = self.literals.get(&x) {
            let negated = literal.negated();
            return self.literal_constant(negated, dtype);
        }
        if self.mode == Mode::Reassoc && crate::poly::number(&self.q, x).is_some() {
            // Only the zero literal is a number: the sign of zero does not count.
            return x;
        }
        if let Node::Apply(fun, args) = &self.q.nodes[x.index()]
            && self.q.decls[fun.index()].name == format!("neg {dtype}")
        {
            return args[0];
        }
        self.opaque_function("neg", dtype, &[x])
    }

    fn opaque_mul(&mut self, x: Id, y: Id, dtype: DType) -> Id {
        if self.is_literal(x, false, 1) {
            return y;
        }
        if self.is_literal(y, false, 1) {
            return x;
        }
        if self.mode == Mode::Exact {
            return self.opaque_function("mul", dtype, &[x.min(y), x.max(y)]);
        }
        let (log_x, log_y) = (self.factor(x, dtype), self.factor(y, dtype));
        let sum = self.q.sum(log_x, log_y);
        let product = self.opaque_function("product", dtype, &[sum]);
        // The product's own factors are the sum.
        let log = self.opaque_function("factors", dtype, &[product]);
        let inverse = self.q.eq(log, sum);
        self.q.assert(inverse);
        product
    }

    /// `m(x)` of Note [Free monoids].
    fn factor(&mut self, x: Id, dtype: DType) -> Id {
        let log = self.opaque_function("factors", dtype, &[x]);
        let back = self.opaque_function("product", dtype, &[log]);
        let inverse = self.q.eq(back, x);
        self.q.assert(inverse);
        log
    }

    /// Conversion to a dtype.
    pub fn cast(&mut self, arg: &Term, to: DType) -> Result<Enc, Reason> {
        let enc = self.term(arg)?;
        if let Data::Size(value) = enc.data {
            let data = self.cast_size(arg.as_size(), value, to);
            return Ok(Enc { data, ..enc });
        }
        let from = arg.dtype();
        let data = match (enc.data, to.category()) {
            _ if from == to => enc.data,
            (Data::Bool(b), Category::Int) => {
                let (one, zero) = (self.q.bits(1, to.bits()), self.q.bits(0, to.bits()));
                Data::Bits(self.q.ite(b, one, zero))
            }
            (Data::Bool(b), Category::Float) => {
                let one = self.float_literal(&Lit::Int(1.into()), to)?;
                let zero = self.float_literal(&Lit::Int(0.into()), to)?;
                self.pick(b, one.data, zero.data)?
            }
            (Data::Bits(x), Category::Int) => Data::Bits(self.resize(x, from, to)),
            (Data::Bits(x), Category::Bool) => {
                let zero = self.q.bits(0, from.bits());
                let is_zero = self.q.eq(x, zero);
                Data::Bool(self.q.not(is_zero))
            }
            (Data::Bits(x), Category::Float) if self.mode == Mode::Real => {
                let int = self.unbounded(x, from);
                let val = self.q.op(Op::ToReal, vec![int]);
                self.plain(val, to)
            }
            (Data::Bits(x), Category::Float) => {
                let value = self.q.bits_value(x, from != DType::U8);
                self.converted(value, x, Sort::Bits(from.bits()), from.name(), to)
            }
            (Data::Opaque(x), _) => self.cast_opaque(x, from, to),
            (Data::Real { .. }, _) => return self.cast_real(enc, to),
            _ => return Err(unsupported(format!("a conversion of {from} to {to}"))),
        };
        Ok(Enc { data, ..enc })
    }

    fn cast_size(&mut self, size: Option<&Size>, value: Id, to: DType) -> Data {
        match (to.category(), self.mode) {
            (Category::Bool, _) => {
                let zero = self.q.int(0);
                let is_zero = self.q.eq(value, zero);
                Data::Bool(self.q.not(is_zero))
            }
            (Category::Int, _) => Data::Bits(match size {
                Some(size) => {
                    let bits = self.wrapped(size, value, to.bits());
                    self.converted.push((to, bits, size.clone(), value));
                    bits
                }
                None => self.wrap_function(value, to.bits()),
            }),
            (Category::Float, Mode::Real) => {
                let val = match crate::poly::number(&self.q, value) {
                    Some(number) => self.q.real(number),
                    None => self.q.op(Op::ToReal, vec![value]),
                };
                self.plain(val, to)
            }
            (Category::Float, _) => {
                let known = size.and_then(Size::as_const);
                self.converted(known, value, Sort::Int, "size", to)
            }
        }
    }

    /// An integer as a float: a literal where it is small enough for every float
    /// dtype, otherwise a function of it.
    fn converted(&mut self, known: Option<BigInt>, x: Id, sort: Sort, from: &str, to: DType) -> Data {
        let small = |n: &BigInt| *n >= BigInt::from(-256) && *n <= BigInt::from(256);
        if let Some(literal) = known.filter(small).and_then(|n| Literal::read(&Lit::Int(n))) {
            return Data::Opaque(self.literal_constant(literal, to));
        }
        let range = self.float_sort(to);
        let fun = self.q.declare(&format!("{from} to {to}"), vec![sort], range);
        Data::Opaque(self.q.apply(fun, vec![x]))
    }

    /// Between integer widths: wraps, or extends by the sign of the source.
    fn resize(&mut self, x: Id, from: DType, to: DType) -> Id {
        let (old, new) = (from.bits(), to.bits());
        match new.cmp(&old) {
            std::cmp::Ordering::Less => self.q.op(Op::Extract(new - 1, 0), vec![x]),
            std::cmp::Ordering::Equal => x,
            std::cmp::Ordering::Greater if from == DType::U8 => self.q.op(Op::ZeroExt(new - old), vec![x]),
            std::cmp::Ordering::Greater => self.q.op(Op::SignExt(new - old), vec![x]),
        }
    }

    /// From an opaque float: a function of it, except that widening and narrowing
    /// back is the identity.
    fn cast_opaque(&mut self, x: Id, from: DType, to: DType) -> Data {
        let widens = |low: DType, high: DType| {
            (low == DType::F32 && high == DType::F64)
                || (matches!(low, DType::F16 | DType::BF16) && matches!(high, DType::F32 | DType::F64))
        };
        if let Node::Apply(fun, args) = &self.q.nodes[x.index()]
            && self.q.decls[fun.index()].name == format!("{to} to {from}")
            && widens(to, from)
        {
            return Data::Opaque(args[0]);
        }
        let (domain, name) = (vec![self.float_sort(from)], format!("{from} to {to}"));
        match to.category() {
            Category::Float => {
                let range = self.float_sort(to);
                let fun = self.q.declare(&name, domain, range);
                Data::Opaque(self.q.apply(fun, vec![x]))
            }
            Category::Int => {
                let fun = self.q.declare(&name, domain, Sort::Bits(to.bits()));
                Data::Bits(self.q.apply(fun, vec![x]))
            }
            Category::Bool => {
                let fun = self.q.declare(&name, domain, Sort::Bool);
                Data::Bool(self.q.apply(fun, vec![x]))
            }
        }
    }
}
