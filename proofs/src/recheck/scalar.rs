//! Integers and bools that are computed differently and agree nevertheless: as a question
//! to the solvers.
//!
//! An integer of a dtype is an unbounded one in the dtype's range; what leaves the range
//! wraps. What is not computed from sizes by the functions below is a constant of its own,
//! the same for terms that agree. An undefined bool (over the reals) is told apart.

use super::Check;
use super::agree::{Names, always_defined, exchangeable};
use super::text::{SizeText, applied, integer};
use num_bigint::BigInt;
use num_traits::Zero;
use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::entail::Cond;
use rtv_semantics::guess::counterexample;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::Size;
use rtv_semantics::subst::Subst;
use rtv_semantics::term::{Binder, Form, Fun, Lit, Term};
use rtv_semantics::types::Type;
use rtv_smt::Budget;
use std::collections::BTreeMap;

/// Questions about parts of what a question is about.
const MAX_NESTED: u32 = 2;

/// Terms without a meaning here, per question.
const MAX_OPAQUE: usize = 12;

/// Terms of a polynomial.
const MAX_TERMS: usize = 64;

/// A question in the making.
struct Encoding {
    sizes: SizeText,
    opaque: Vec<(Term, String)>,
    lines: Vec<String>,
}

impl Encoding {
    /// Whether nothing is known of a value, and the other does not hang on it: then they differ
    /// somewhere, if the facts hold anywhere.
    fn is_free_of(&self, one: &Enc, other: &Enc) -> bool {
        let mut words = other.value.split(['(', ')', ' ']);
        self.opaque.iter().any(|(_, name)| *name == one.value) && words.all(|word| word != one.value)
    }
}

/// A scalar: its value, and when it is undefined.
struct Enc {
    value: String,
    undefined: String,
}

impl Enc {
    fn sure(value: String) -> Enc {
        Enc { value, undefined: "false".into() }
    }
}

impl Check<'_, '_> {
    /// Whether two integers, bools or indices are the same wherever both are computed
    /// without an error.
    pub fn scalars(&mut self, a: &Term, b: &Term, names: &Names, facts: &[Cond]) -> bool {
        if self.conversions(a, b, names, facts) {
            return true;
        }
        if ![a, b].into_iter().all(is_computed) || self.inside_scalar >= MAX_NESTED {
            return false;
        }
        let a = names.left.term(a, &mut self.fresh);
        let b = names.right.term(b, &mut self.fresh);
        if self.same_polynomial(&a, &b, facts) {
            return true;
        }
        if differ_at_some_sizes(&a, &b, facts) {
            return false;
        }
        self.inside_scalar += 1;
        let question = self.difference(&a, &b, facts);
        self.inside_scalar -= 1;
        question.is_some_and(|text| self.leaves.refuted(&text, Budget::ATTEMPT))
    }

    fn difference(&mut self, a: &Term, b: &Term, facts: &[Cond]) -> Option<String> {
        let mut encoding = Encoding { sizes: SizeText::default(), opaque: Vec::new(), lines: Vec::new() };
        let (x, y) = (self.encode(a, facts, &mut encoding)?, self.encode(b, facts, &mut encoding)?);
        let free = encoding.is_free_of(&x, &y) || encoding.is_free_of(&y, &x);
        if free && counterexample(facts, &Cond::False).is_some() {
            return None;
        }
        let facts: Vec<String> = facts.iter().map(|fact| encoding.sizes.truth(fact)).collect();
        let mut text = String::from("(set-logic ALL)\n");
        for line in encoding.sizes.declarations().into_iter().chain(encoding.lines) {
            text.push_str(&line);
            text.push('\n');
        }
        facts.iter().for_each(|fact| text.push_str(&format!("(assert {fact})\n")));
        let agree = format!(
            "(and (= {} {}) (or {} (= {} {})))",
            x.undefined, y.undefined, x.undefined, x.value, y.value
        );
        text.push_str(&format!("(assert (not {agree}))\n(check-sat)\n"));
        Some(text)
    }

    fn encode(&mut self, term: &Term, facts: &[Cond], into: &mut Encoding) -> Option<Enc> {
        if !self.step() {
            return None;
        }
        match term.form() {
            Form::Size(size) => Some(Enc::sure(into.sizes.size(size))),
            Form::Lit(Lit::Bool(value)) => Some(Enc::sure(value.to_string())),
            Form::Lit(Lit::Int(value)) => Some(Enc::sure(integer(value))),
            Form::If(c, x, y) => {
                let parts = [c, x, y].map(|part| self.encode(part, facts, into));
                let [Some(c), Some(x), Some(y)] = parts else { return None };
                Some(Enc {
                    value: format!("(ite {} {} {})", c.value, x.value, y.value),
                    undefined: format!(
                        "(or {} (ite {} {} {}))",
                        c.undefined, c.value, x.undefined, y.undefined
                    ),
                })
            }
            Form::Call(Fun::Cast(to), args) if is_computed(&args[0]) && !to.is_float() => {
                let arg = self.encode(&args[0], facts, into)?;
                let from = args[0].tensor_type().map(|ty| ty.dtype);
                let value = match (from, to) {
                    (Some(DType::Bool), DType::Bool) => arg.value,
                    (Some(DType::Bool), _) => format!("(ite {} 1 0)", arg.value),
                    (_, DType::Bool) => format!("(not (= {} 0))", arg.value),
                    (_, to) => wrapped(&arg.value, *to)?,
                };
                Some(Enc { value, undefined: arg.undefined })
            }
            Form::Call(Fun::Scalar(fun), args) if args.iter().all(is_computed) => {
                let encs =
                    args.iter().map(|arg| self.encode(arg, facts, into)).collect::<Option<Vec<Enc>>>()?;
                let divided = self.divided(*fun, &encs, term, into);
                match divided.or_else(|| value(*fun, args, &encs)) {
                    Some(value) => {
                        let undefined = encs.into_iter().map(|enc| enc.undefined).collect();
                        Some(Enc { value, undefined: applied("or", undefined) })
                    }
                    None => self.opaque(term, facts, into),
                }
            }
            // Over one index it is its element.
            Form::Reduce(reduce)
                if exchangeable(&reduce.op, reduce.body.ty())
                    && self.counted(reduce, &Subst::new(), facts).is_empty() =>
            {
                let at = |s: Subst, b: &Binder| s.with_size(&b.sym, Size::zero());
                let first = reduce.binders.iter().fold(Subst::new(), at);
                let body = first.term(&reduce.body, &mut self.fresh);
                self.encode(&body, facts, into)
            }
            _ => self.opaque(term, facts, into),
        }
    }

    /// A quotient or remainder; where the divisor is not positive, any number.
    fn divided(&mut self, fun: Scalar, encs: &[Enc], term: &Term, into: &mut Encoding) -> Option<String> {
        use Scalar::*;
        term.tensor_type().filter(|ty| ty.dtype.is_int())?;
        let [x, y] = encs else { return None };
        let (x, y) = (&x.value, &y.value);
        let computed = match fun {
            FloorDivide | TruncDivide => format!("(div {x} {y})"),
            Remainder | Fmod => format!("(mod {x} {y})"),
            _ => return None,
        };
        let towards_zero = matches!(fun, TruncDivide | Fmod);
        let least = if towards_zero { format!("(>= {x} 0)") } else { "true".into() };
        let name = format!("d{}", into.lines.len());
        into.lines.push(format!("(declare-const {name} Int)"));
        Some(format!("(ite (and (> {y} 0) {least}) {computed} {name})"))
    }

    /// Whether the integers are the same polynomial, modulo two to the width, of things that
    /// agree: conversion of sizes respects sums and products.
    fn same_polynomial(&mut self, a: &Term, b: &Term, facts: &[Cond]) -> bool {
        let Some(dtype) = a.tensor_type().map(|ty| ty.dtype).filter(|d| d.is_int()) else { return false };
        let mut atoms = Vec::new();
        let (Some(x), Some(y)) =
            (self.polynomial(a, facts, &mut atoms), self.polynomial(b, facts, &mut atoms))
        else {
            return false;
        };
        let modulus = BigInt::from(1) << dtype.bits();
        let mut difference = x;
        for (monomial, coefficient) in y {
            *difference.entry(monomial).or_default() -= coefficient;
        }
        difference.values().all(|c| (c % &modulus).is_zero())
    }

    fn polynomial(&mut self, term: &Term, facts: &[Cond], atoms: &mut Vec<Term>) -> Option<Polynomial> {
        if !self.step() {
            return None;
        }
        match term.form() {
            Form::Lit(Lit::Int(value)) => Some(Polynomial::from([(Vec::new(), value.clone())])),
            Form::Call(Fun::Scalar(fun @ (Scalar::Add | Scalar::Sub | Scalar::Mul)), args) => {
                let (x, y) =
                    (self.polynomial(&args[0], facts, atoms)?, self.polynomial(&args[1], facts, atoms)?);
                match fun {
                    Scalar::Mul => times(&x, &y),
                    fun => Some(plus(x, y, *fun == Scalar::Sub)),
                }
            }
            Form::Call(Fun::Scalar(Scalar::Neg), args) => {
                Some(plus(Polynomial::new(), self.polynomial(&args[0], facts, atoms)?, true))
            }
            Form::Call(Fun::Cast(to), args) if args[0].as_size().is_some() => {
                let size = args[0].as_size()?;
                let mut sum = Polynomial::new();
                for (factors, coefficient) in size.terms() {
                    let mut monomial = Vec::new();
                    for (atom, power) in factors {
                        let atom = Term::size(Size::atom(atom.clone()), term.span());
                        let at = self.place(Term::cast(*to, atom, term.span()), facts, atoms)?;
                        monomial.extend((0..*power).map(|_| at));
                    }
                    monomial.sort_unstable();
                    *sum.entry(monomial).or_default() += coefficient;
                }
                Some(sum)
            }
            _ => {
                let at = self.place(term.clone(), facts, atoms)?;
                Some(Polynomial::from([(vec![at], BigInt::from(1))]))
            }
        }
    }

    /// The place of a term among those that are told apart.
    fn place(&mut self, term: Term, facts: &[Cond], atoms: &mut Vec<Term>) -> Option<usize> {
        let known = atoms.clone();
        let same = |other: &Term| match (converted(other), converted(&term)) {
            (Some(p), Some(q)) => p == q,
            (None, None) => other.ty() == term.ty() && self.alike_inside(other, &term, facts),
            _ => false,
        };
        if let Some(at) = known.iter().position(same) {
            return Some(at);
        }
        (atoms.len() < MAX_OPAQUE).then(|| {
            atoms.push(term);
            atoms.len() - 1
        })
    }

    /// Whether parts of a polynomial agree.
    fn alike_inside(&mut self, a: &Term, b: &Term, facts: &[Cond]) -> bool {
        self.inside_scalar += 1;
        let same = self.agree(a, b, facts);
        self.inside_scalar -= 1;
        same
    }

    /// A constant; terms that agree have the same one.
    fn opaque(&mut self, term: &Term, facts: &[Cond], into: &mut Encoding) -> Option<Enc> {
        let dtype = term.tensor_type()?.dtype;
        let known = into.opaque.clone();
        let found = known.iter().find(|(other, _)| other.ty() == term.ty() && self.agree(other, term, facts));
        let undefined = |name: &str| match always_defined(term) {
            true => "false".to_string(),
            false => format!("{name}u"),
        };
        if let Some((other, name)) = found {
            let undefined = if always_defined(other) { "false".into() } else { undefined(name) };
            return Some(Enc { value: name.clone(), undefined });
        }
        if into.opaque.len() >= MAX_OPAQUE {
            return None;
        }
        let name = format!("x{}", into.opaque.len());
        match dtype.category() {
            Category::Bool => into.lines.push(format!("(declare-const {name} Bool)")),
            Category::Int => {
                let (least, most) = dtype.int_range()?;
                into.lines.push(format!("(declare-const {name} Int)"));
                let (least, most) = (integer(&least.into()), integer(&most.into()));
                into.lines.push(format!("(assert (and (<= {least} {name}) (<= {name} {most})))"));
            }
            Category::Float => return None,
        }
        into.lines.push(format!("(declare-const {name}u Bool)"));
        into.opaque.push((term.clone(), name.clone()));
        Some(Enc { undefined: undefined(&name), value: name })
    }

    /// Conversions of one thing, of which some change nothing.
    fn conversions(&mut self, a: &Term, b: &Term, names: &Names, facts: &[Cond]) -> bool {
        let (x, y) = (unconverted(a), unconverted(b));
        if a.ty() != b.ty() || (x.is_none() && y.is_none()) {
            return false;
        }
        self.same(x.as_ref().unwrap_or(a), y.as_ref().unwrap_or(b), names, facts)
    }
}

/// Integers, bools and sizes.
fn is_computed(term: &Term) -> bool {
    match term.ty() {
        Type::Size => true,
        Type::Tensor(ty) => ty.shape.is_empty() && !ty.dtype.is_float(),
        Type::Tuple(_) => false,
    }
}

/// Whether sizes are found at which the facts hold and two conditions or integers, which are
/// computed from sizes alone, are not the same: then nobody has to be asked.
fn differ_at_some_sizes(a: &Term, b: &Term, facts: &[Cond]) -> bool {
    let size = |term: &Term| term.as_size().or_else(|| converted(term)).cloned();
    let same = match (a.as_cond(), b.as_cond(), size(a), size(b)) {
        (Some(a), Some(b), _, _) => {
            let neither = Cond::and([a.clone().negated(), b.clone().negated()]);
            Cond::or([Cond::and([a, b]), neither])
        }
        (_, _, Some(a), Some(b)) => Cond::eq(&a, &b),
        _ => return false,
    };
    counterexample(facts, &same).is_some()
}

/// The number of a dtype that has the low bits of an integer.
fn wrapped(value: &str, dtype: DType) -> Option<String> {
    let (least, most) = dtype.int_range().filter(|_| dtype.is_int())?;
    let count = integer(&(BigInt::from(most) - least + 1));
    let least = integer(&least.into());
    let most = integer(&most.into());
    Some(format!(
        "(ite (and (<= {least} {value}) (<= {value} {most})) {value} \
         (+ {least} (mod (- {value} {least}) {count})))"
    ))
}

/// The value of a function of integers, bools or sizes, where its arguments are defined and
/// it is no error.
fn value(fun: Scalar, args: &[Term], encs: &[Enc]) -> Option<String> {
    use Scalar::*;
    let dtype = args.first()?.tensor_type().map(|ty| ty.dtype);
    let bools = dtype == Some(DType::Bool);
    let values: Vec<String> = encs.iter().map(|enc| enc.value.clone()).collect();
    let plain = |head: &str| Some(format!("({head} {})", values.join(" ")));
    let number = |text: String| dtype.and_then(|dtype| wrapped(&text, dtype));
    match (fun, values.as_slice()) {
        (Eq, _) => plain("="),
        (Ne, _) => Some(format!("(not (= {}))", values.join(" "))),
        (LogicalAnd, _) if bools => plain("and"),
        (LogicalOr, _) if bools => plain("or"),
        (LogicalNot, _) if bools => plain("not"),
        (LogicalXor, _) if bools => plain("xor"),
        (Lt, _) if !bools => plain("<"),
        (Le, _) if !bools => plain("<="),
        (Gt, _) if !bools => plain(">"),
        (Ge, _) if !bools => plain(">="),
        (Add, _) if !bools => number(plain("+")?),
        (Sub, [_, _]) if !bools => number(plain("-")?),
        (Mul, _) if !bools => number(plain("*")?),
        (Neg, [x]) if !bools => number(format!("(- {x})")),
        (Maximum, [x, y]) if !bools => Some(format!("(ite (>= {x} {y}) {x} {y})")),
        (Minimum, [x, y]) if !bools => Some(format!("(ite (<= {x} {y}) {x} {y})")),
        _ => None,
    }
}

/// Coefficients of products of atoms, which are given by their places.
type Polynomial = BTreeMap<Vec<usize>, BigInt>;

fn plus(mut a: Polynomial, b: Polynomial, negative: bool) -> Polynomial {
    for (monomial, coefficient) in b {
        let coefficient = if negative { -coefficient } else { coefficient };
        *a.entry(monomial).or_default() += coefficient;
    }
    a
}

fn times(a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    let mut product = Polynomial::new();
    for ((m, c), (n, d)) in a.iter().flat_map(|x| b.iter().map(move |y| (x, y))) {
        let mut monomial = [m.as_slice(), n].concat();
        monomial.sort_unstable();
        *product.entry(monomial).or_default() += c * d;
    }
    (product.len() <= MAX_TERMS).then_some(product)
}

fn converted(term: &Term) -> Option<&Size> {
    match term.form() {
        Form::Call(Fun::Cast(_), args) => args[0].as_size(),
        _ => None,
    }
}

/// The scalar without conversions on the way to its last one that change nothing, if there
/// are any.
fn unconverted(term: &Term) -> Option<Term> {
    let Form::Call(Fun::Cast(to), args) = term.form() else { return None };
    let mut inner = args[0].clone();
    while let Form::Call(Fun::Cast(by), deeper) = inner.form() {
        let Type::Tensor(ty) = deeper[0].ty() else { break };
        if !keeps(ty.dtype, *by, *to) {
            break;
        }
        inner = deeper[0].clone();
    }
    (inner.address() != args[0].address()).then(|| Term::cast(*to, inner, term.span()))
}

/// Whether conversion to `to` sees no difference between a number of `from` and the same
/// number of `by`, which has them all.
fn keeps(from: DType, by: DType, to: DType) -> bool {
    use DType::*;
    let held = match (from.is_int(), by.precision()) {
        (true, Some(precision)) => from.bits() - u32::from(from != U8) <= precision,
        _ => false,
    };
    // An integer out of range is cut to its low bits, a float out of range is not.
    let held = held && (!to.is_int() || to == from);
    let wider = matches!(
        (from, by),
        (F16 | BF16, F32 | F64) | (F32, F64) | (I8, I16 | I32 | I64) | (I16, I32 | I64) | (I32, I64)
    ) || matches!((from, by), (U8, I16 | I32 | I64))
        || (from == Bool && by != Bool);
    // The narrow floats are reached through f32 anyway.
    let on_the_way = from.is_float() && by == F32 && matches!(to, F16 | BF16);
    let low_bits = from.is_int() && by.is_int() && to.is_int() && to.bits() <= by.bits();
    held || wider || on_the_way || low_bits
}
