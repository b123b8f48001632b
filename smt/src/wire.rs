//! Questions and answers as lines of text, for a solver in another process.
//!
//! Invariants: what is read is what was written, node for node; a line that is not
//! whole and well sorted is `None`, never a guess; an answer carries the mark of the
//! question's line, so that an answer to another question, or to a damaged one, is not
//! taken for its answer.
//!
//! A line is tokens separated by blanks, a token fields separated by colons, a list
//! words separated by commas. Names keep letters, digits and `_`; other bytes are `%XX`.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use crate::query::{Decl, FpOp, Id, Node, Op, Query, Sort};
use crate::solver::{Answer, Budget, ModelValue, Reason};

/// First word of a worker's greeting; the number changes with this format.
const GREETING: &str = "rtv-solver-3";

/// Operations without parameters.
pub(crate) const PLAIN: [Op; 43] = [
    Op::Not,
    Op::And,
    Op::Or,
    Op::Eq,
    Op::Ite,
    Op::Add,
    Op::Mul,
    Op::Le,
    Op::Lt,
    Op::ToReal,
    Op::BvNeg,
    Op::BvAdd,
    Op::BvMul,
    Op::BvSdiv,
    Op::BvSrem,
    Op::BvUdiv,
    Op::BvUrem,
    Op::BvSlt,
    Op::BvUlt,
    Op::BvNot,
    Op::BvAnd,
    Op::BvOr,
    Op::BvXor,
    Op::BvShl,
    Op::BvAshr,
    Op::BvLshr,
    Op::BvToInt,
    Op::Fp(FpOp::Add),
    Op::Fp(FpOp::Mul),
    Op::Fp(FpOp::Div),
    Op::Fp(FpOp::Sqrt),
    Op::Fp(FpOp::Neg),
    Op::Fp(FpOp::Abs),
    Op::Fp(FpOp::Lt),
    Op::Fp(FpOp::Le),
    Op::Fp(FpOp::Eq),
    Op::Fp(FpOp::IsNan),
    Op::Fp(FpOp::IsInf),
    Op::Fp(FpOp::IsNegative),
    Op::Fp(FpOp::Floor),
    Op::Fp(FpOp::Ceil),
    Op::Fp(FpOp::Round),
    Op::Fp(FpOp::Trunc),
];

/// What a worker says first.
pub(crate) fn greeting(version: &str) -> String {
    format!("{GREETING} {}", version.trim())
}

/// The solver's version in a greeting.
pub(crate) fn greeted(line: &str) -> Option<&str> {
    line.strip_prefix(GREETING)?.strip_prefix(' ')
}

/// What a line asks.
#[derive(Clone, Copy)]
pub(crate) enum Asking<'q> {
    Built(&'q Query),
    /// In the context of the question before it.
    There(&'q Query),
    /// SMT-LIB text, to whose watched terms nobody asks the values.
    Text(&'q str),
}

impl Asking<'_> {
    /// The line, without its end; `number` tells equal questions apart.
    pub(crate) fn line(self, number: u64, budget: Budget) -> String {
        match self {
            Asking::Built(query) => question(number, query, budget),
            Asking::There(query) => format!("there {}", question(number, query, budget)),
            Asking::Text(text) => {
                format!("text {number} {} {} {}", budget.rlimit, budget.timeout_ms, escaped(text))
            }
        }
    }

    /// How many values an answer has.
    pub(crate) fn watched(self) -> usize {
        match self {
            Asking::Built(query) | Asking::There(query) => query.watched.len(),
            Asking::Text(_) => 0,
        }
    }
}

/// The question of a line that asks one in the context of the question before it.
pub(crate) fn read_there(line: &str) -> Option<(Query, Budget)> {
    read_question(line.strip_prefix("there ")?)
}

/// The text of a line that asks one.
pub(crate) fn read_text(line: &str) -> Option<(String, Budget)> {
    let mut words = line.strip_prefix("text ")?.split(' ');
    let _number = words.next()?;
    let budget = Budget { rlimit: words.next()?.parse().ok()?, timeout_ms: words.next()?.parse().ok()? };
    let text = plain(words.next()?)?;
    words.next().is_none().then_some((text, budget))
}

/// A question's line, without its end; `number` tells equal questions apart.
pub(crate) fn question(number: u64, query: &Query, budget: Budget) -> String {
    let mut line = format!("ask {number} {} {}", budget.rlimit, budget.timeout_ms);
    for Decl { name, domain, range } in &query.decls {
        let domain: Vec<String> = domain.iter().map(sort_text).collect();
        line.push_str(&format!(" d:{}:{}:{}", escaped(name), sort_text(range), domain.join(",")));
    }
    for node in &query.nodes {
        line.push(' ');
        line.push_str(&match node {
            Node::Bool(value) => format!("b:{value}"),
            Node::Int(value) => format!("i:{value}"),
            Node::Real(value) => format!("r:{}:{}", value.numer(), value.denom()),
            Node::Bits(value, width) => format!("v:{value}:{width}"),
            Node::Float(bits, exponent, significand) => format!("f:{bits:x}:{exponent}:{significand}"),
            Node::Apply(fun, args) => format!("a:{}:{}", fun.index(), ids_text(args)),
            Node::Op(op, args) => format!("o:{}:{}", op_text(*op), ids_text(args)),
        });
    }
    line.push_str(&format!(" assert:{} watch:{}", ids_text(&query.asserts), ids_text(&query.watched)));
    line
}

/// The question of a line.
pub(crate) fn read_question(line: &str) -> Option<(Query, Budget)> {
    let mut tokens = line.split(' ');
    let (ask, _number) = (tokens.next()?, tokens.next()?);
    let budget = Budget { rlimit: tokens.next()?.parse().ok()?, timeout_ms: tokens.next()?.parse().ok()? };
    let mut query = Query::new();
    let mut ended = 0;
    for token in tokens {
        let fields: Vec<&str> = token.split(':').collect();
        let node = match fields.as_slice() {
            ["d", name, range, domain] => {
                let name = plain(name).filter(|name| !query.declares(name))?;
                query.declare(&name, list(domain, read_sort)?, read_sort(range)?);
                continue;
            }
            ["assert", ids] if ended == 0 => {
                ended = 1;
                let ids = read_ids(&query, ids)?;
                let truths = ids.iter().all(|id| *query.sort(*id) == Sort::Bool);
                query.asserts = truths.then_some(ids)?;
                continue;
            }
            ["watch", ids] if ended == 1 => {
                ended = 2;
                query.watched = read_ids(&query, ids)?;
                continue;
            }
            ["b", value] => Node::Bool(value.parse().ok()?),
            ["i", value] => Node::Int(value.parse().ok()?),
            ["r", numer, denom] => Node::Real(read_ratio(numer, denom)?),
            ["v", value, width] => Node::Bits(value.parse().ok()?, width.parse().ok()?),
            ["f", bits, exponent, significand] => {
                let bits = u64::from_str_radix(bits, 16).ok()?;
                Node::Float(bits, exponent.parse().ok()?, significand.parse().ok()?)
            }
            ["a", fun, args] => Node::Apply(query.fun_at(fun.parse().ok()?)?, read_ids(&query, args)?),
            ["o", op, args] => Node::Op(read_op(op)?, read_ids(&query, args)?),
            _ => return None,
        };
        query.append(node).filter(|_| ended == 0)?;
    }
    (ask == "ask" && ended == 2).then_some((query, budget))
}

/// An answer's line, without its end, to the question of `asked`.
pub(crate) fn answer(asked: &str, answer: &Answer) -> String {
    let mut line = format!("{:016x} ", mark(asked));
    match answer {
        Answer::Unsat => line.push_str("unsat"),
        Answer::Unknown(reason) => {
            let word = match reason {
                Reason::Timeout => "timeout".to_string(),
                Reason::Rlimit => "rlimit".to_string(),
                Reason::Memory => "memory".to_string(),
                Reason::Crash => "crash".to_string(),
                Reason::Nonlinear => "nonlinear".to_string(),
                Reason::Unsupported(what) => format!("unsupported:{}", escaped(what)),
            };
            line.push_str(&format!("unknown {word}"));
        }
        Answer::Sat(values) => {
            line.push_str("sat");
            for value in values {
                line.push(' ');
                line.push_str(&match value {
                    ModelValue::Bool(value) => format!("b:{value}"),
                    ModelValue::Int(value) => format!("i:{value}"),
                    ModelValue::Real(value) => format!("r:{}:{}", value.numer(), value.denom()),
                    ModelValue::Bits(value) => format!("v:{value}"),
                    ModelValue::Float(bits) => format!("f:{bits:x}"),
                    ModelValue::Other(text) => format!("o:{}", escaped(text)),
                });
            }
        }
    }
    line
}

/// The answer of a line, if it answers the question of `asked`.
pub(crate) fn read_answer(asked: &str, line: &str) -> Option<Answer> {
    let mut words = line.split(' ');
    let own = u64::from_str_radix(words.next()?, 16).ok()? == mark(asked);
    let answer = match words.next()? {
        "unsat" => Answer::Unsat,
        "sat" => {
            return own.then_some(Answer::Sat(words.map(read_value).collect::<Option<_>>()?));
        }
        "unknown" => Answer::Unknown(match words.next()? {
            "timeout" => Reason::Timeout,
            "rlimit" => Reason::Rlimit,
            "memory" => Reason::Memory,
            "crash" => Reason::Crash,
            "nonlinear" => Reason::Nonlinear,
            word => Reason::Unsupported(plain(word.strip_prefix("unsupported:")?)?),
        }),
        _ => return None,
    };
    (own && words.next().is_none()).then_some(answer)
}

fn read_value(word: &str) -> Option<ModelValue> {
    let fields: Vec<&str> = word.split(':').collect();
    Some(match fields.as_slice() {
        ["b", value] => ModelValue::Bool(value.parse().ok()?),
        ["i", value] => ModelValue::Int(value.parse().ok()?),
        ["r", numer, denom] => ModelValue::Real(read_ratio(numer, denom)?),
        ["v", value] => ModelValue::Bits(value.parse().ok()?),
        ["f", bits] => ModelValue::Float(u64::from_str_radix(bits, 16).ok()?),
        ["o", text] => ModelValue::Other(plain(text)?),
        _ => return None,
    })
}

/// FNV-1a of a line.
fn mark(line: &str) -> u64 {
    line.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

fn read_ratio(numer: &str, denom: &str) -> Option<BigRational> {
    let (numer, denom): (BigInt, BigInt) = (numer.parse().ok()?, denom.parse().ok()?);
    (!denom.is_zero()).then(|| BigRational::new(numer, denom))
}

fn sort_text(sort: &Sort) -> String {
    match sort {
        Sort::Bool => "B".to_string(),
        Sort::Int => "I".to_string(),
        Sort::Real => "R".to_string(),
        Sort::Bits(width) => format!("V{width}"),
        Sort::Float(exponent, significand) => format!("F{exponent}.{significand}"),
        Sort::Opaque(name) => format!("O{}", escaped(name)),
    }
}

fn read_sort(word: &str) -> Option<Sort> {
    Some(match word {
        "B" => Sort::Bool,
        "I" => Sort::Int,
        "R" => Sort::Real,
        _ => match word.split_at_checked(1)? {
            ("V", width) => Sort::Bits(width.parse().ok()?),
            ("F", bits) => {
                let (exponent, significand) = bits.split_once('.')?;
                Sort::Float(exponent.parse().ok()?, significand.parse().ok()?)
            }
            ("O", name) => Sort::Opaque(plain(name)?),
            _ => return None,
        },
    })
}

fn op_text(op: Op) -> String {
    match op {
        Op::Extract(hi, lo) => format!("extract.{hi}.{lo}"),
        Op::SignExt(more) => format!("sign_extend.{more}"),
        Op::ZeroExt(more) => format!("zero_extend.{more}"),
        Op::IntToBv(width) => format!("int_to_bv.{width}"),
        Op::FpTo(exponent, significand) => format!("to_fp.{exponent}.{significand}"),
        _ => plain_text(op),
    }
}

/// A name without blanks.
fn plain_text(op: Op) -> String {
    op.smtlib().replace([' ', '.'], "_")
}

fn read_op(word: &str) -> Option<Op> {
    let parts: Vec<&str> = word.split('.').collect();
    Some(match parts.as_slice() {
        ["extract", hi, lo] => Op::Extract(hi.parse().ok()?, lo.parse().ok()?),
        ["sign_extend", more] => Op::SignExt(more.parse().ok()?),
        ["zero_extend", more] => Op::ZeroExt(more.parse().ok()?),
        ["int_to_bv", width] => Op::IntToBv(width.parse().ok()?),
        ["to_fp", exponent, significand] => Op::FpTo(exponent.parse().ok()?, significand.parse().ok()?),
        _ => PLAIN.into_iter().find(|op| plain_text(*op) == word)?,
    })
}

fn ids_text(ids: &[Id]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| id.index().to_string()).collect();
    ids.join(",")
}

fn read_ids(query: &Query, text: &str) -> Option<Vec<Id>> {
    list(text, |word| query.at(word.parse().ok()?))
}

fn list<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    if text.is_empty() { Some(Vec::new()) } else { text.split(',').map(read).collect() }
}

fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

fn plain(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
