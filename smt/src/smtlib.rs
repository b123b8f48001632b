//! A question as SMT-LIB text, which any solver reads: to look at, to keep, to ask another
//! solver.
//!
//! Invariants: an operation is the function of SMT-LIB that `z3_backend.rs` builds, and
//! those are total (a bit-vector divided by zero is what the standard says); no name is
//! given twice, and none is a word of a theory; the text is linear in the question, for
//! a node that is used twice is defined once; nothing is printed that neither an
//! assertion nor a watched node reaches.
//!
//! The text is version 2.6 but for `ubv_to_int` and `int_to_bv`, which are the names of
//! version 2.7 for what each solver called otherwise before. The logic is `ALL`, since no
//! narrower one has integers, reals and bit-vectors with the conversions between them.

use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

use num_bigint::BigInt;
use num_traits::{One, Signed};

use crate::query::{Decl, FpOp, Id, Node, Op, Query, Sort};

/// An operand longer than this is defined by name, so that no line nests deep.
const LONG: usize = 100;

impl Query {
    /// The question as text. Watched nodes are asked for in their order; to that a
    /// solver that said `unsat` answers with an error.
    pub fn to_smtlib(&self) -> String {
        let mut text =
            Text { query: self, names: Names::default(), sorts: FxHashMap::default(), out: String::new() };
        if !self.watched.is_empty() {
            text.out.push_str("(set-option :produce-models true)\n");
        }
        text.out.push_str("(set-logic ALL)\n");
        text.declare_sorts();
        let funs = text.declare_funs();
        let terms = text.define_nodes(&funs);
        for id in &self.asserts {
            let _ = writeln!(text.out, "(assert {})", terms[id.index()]);
        }
        text.out.push_str("(check-sat)\n");
        if !self.watched.is_empty() {
            let _ = writeln!(text.out, "(get-value ({}))", joined(&self.watched, &terms));
        }
        text.out
    }

    /// How often each node is used by what is asserted or watched.
    fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        for id in self.asserts.iter().chain(&self.watched) {
            uses[id.index()] += 1;
        }
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if let (1.., Node::Op(_, args) | Node::Apply(_, args)) = (uses[index], node) {
                args.iter().for_each(|arg| uses[arg.index()] += 1);
            }
        }
        uses
    }
}

/// A text in the making.
struct Text<'q> {
    query: &'q Query,
    names: Names,
    /// The symbols of the opaque sorts.
    sorts: FxHashMap<&'q str, String>,
    out: String,
}

impl<'q> Text<'q> {
    fn declare_sorts(&mut self) {
        for decl in &self.query.decls {
            for sort in decl.domain.iter().chain([&decl.range]) {
                if let Sort::Opaque(name) = sort
                    && !self.sorts.contains_key(name.as_str())
                {
                    let symbol = self.names.symbol(name);
                    let _ = writeln!(self.out, "(declare-sort {symbol} 0)");
                    self.sorts.insert(name, symbol);
                }
            }
        }
    }

    /// Declares the functions; gives their symbols.
    fn declare_funs(&mut self) -> Vec<String> {
        let mut funs = Vec::with_capacity(self.query.decls.len());
        for Decl { name, domain, range } in &self.query.decls {
            let symbol = self.names.symbol(name);
            let domain: Vec<String> = domain.iter().map(|sort| self.sort(sort)).collect();
            let (domain, range) = (domain.join(" "), self.sort(range));
            let _ = writeln!(self.out, "(declare-fun {symbol} ({domain}) {range})");
            funs.push(symbol);
        }
        funs
    }

    /// Defines the nodes that need a name; gives every used node as a term.
    fn define_nodes(&mut self, funs: &[String]) -> Vec<String> {
        let (query, uses) = (self.query, self.query.uses());
        let asserted: FxHashSet<Id> = query.asserts.iter().copied().collect();
        let mut terms = vec![String::new(); query.nodes.len()];
        let mut defined = 0;
        for index in (0..query.nodes.len()).filter(|&index| uses[index] > 0) {
            let (id, node) = (query.at(index).expect("invariant: in range"), &query.nodes[index]);
            let term = term(node, funs, &terms);
            let shared = uses[index] > 1 || term.len() > LONG && !asserted.contains(&id);
            terms[index] = if shared && term.starts_with('(') && query.literal(id).is_none() {
                defined += 1;
                let symbol = self.names.symbol(&format!("t{defined}"));
                let _ = writeln!(self.out, "(define-fun {symbol} () {} {term})", self.sort(query.sort(id)));
                symbol
            } else {
                term
            };
        }
        terms
    }

    fn sort(&self, sort: &Sort) -> String {
        match sort {
            Sort::Bool => "Bool".to_string(),
            Sort::Int => "Int".to_string(),
            Sort::Real => "Real".to_string(),
            Sort::Bits(width) => format!("(_ BitVec {width})"),
            Sort::Float(exponent, significand) => format!("(_ FloatingPoint {exponent} {significand})"),
            Sort::Opaque(name) => self.sorts[name.as_str()].clone(),
        }
    }
}

/// A node, given its operands as terms.
fn term(node: &Node, funs: &[String], terms: &[String]) -> String {
    match node {
        Node::Bool(value) => value.to_string(),
        Node::Int(value) => signed(value, value.abs().to_string()),
        Node::Real(value) => {
            let (top, bottom) = (value.numer(), value.denom());
            let whole = format!("{}.0", top.abs());
            signed(top, if bottom.is_one() { whole } else { format!("(/ {whole} {bottom}.0)") })
        }
        Node::Bits(value, width) => format!("(_ bv{value} {width})"),
        Node::Float(bits, exponent, significand) => {
            format!("((_ to_fp {exponent} {significand}) RNE ((_ to_fp 11 53) #x{bits:016x}))")
        }
        Node::Apply(fun, args) if args.is_empty() => funs[fun.index()].clone(),
        Node::Apply(fun, args) => call(&funs[fun.index()], args, terms),
        // The standard's take two operands or more.
        Node::Op(Op::And | Op::Or, args) if args.len() == 1 => terms[args[0].index()].clone(),
        Node::Op(op, args) => call(&op.smtlib(), args, terms),
    }
}

/// As [`Query::is_nonlinear`], of a question that is text and without bit-vectors.
pub(crate) fn is_nonlinear(text: &str) -> bool {
    let is_literal =
        |operand: &str| operand.trim_start_matches("(- ").starts_with(|c: char| c.is_ascii_digit());
    !text.contains("BitVec")
        && text.match_indices("(* ").any(|(at, head)| {
            let factors = operands(&text[at + head.len()..]).filter(|operand| !is_literal(operand));
            factors.take(2).count() == 2
        })
}

/// The operands from here to the parenthesis that closes their call.
fn operands(mut rest: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let mut depth = 0;
        let end = rest.find(|c: char| {
            let within = depth;
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            within == 0 && (c == ')' || c.is_whitespace())
        })?;
        let (operand, after) = rest.split_at(end);
        rest = after;
        (!operand.is_empty()).then_some(operand)
    })
}

fn call(head: &str, args: &[Id], terms: &[String]) -> String {
    format!("({head} {})", joined(args, terms))
}

fn joined(ids: &[Id], terms: &[String]) -> String {
    let terms: Vec<&str> = ids.iter().map(|id| terms[id.index()].as_str()).collect();
    terms.join(" ")
}

/// There are no negative literals.
fn signed(value: &BigInt, size: String) -> String {
    if value.is_negative() { format!("(- {size})") } else { size }
}

/// The symbols given out.
#[derive(Default)]
struct Names(FxHashSet<String>);

impl Names {
    /// A new symbol that reads like a name. The danger are the words of theories (`sin`,
    /// `pi`, `select`; each solver has more): all of them are longer than a letter with
    /// digits and need no bars. So a name that is neither gets a prime, which needs them.
    fn symbol(&mut self, name: &str) -> String {
        let barred = |c: char| c.is_control() || "|\\".contains(c);
        let name: String = name.chars().map(|c| if barred(c) { '_' } else { c }).collect();
        let digits = name.strip_prefix(|c: char| c.is_ascii_alphabetic());
        let first = if digits.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())) {
            name.clone()
        } else if name.chars().all(|c| c.is_ascii_alphanumeric() || "~!@$%^&*_-+=<>.?/".contains(c)) {
            format!("|{name}'|")
        } else {
            format!("|{name}|")
        };
        let others = (2..).map(|number| format!("|{name}'{number}|"));
        let mut candidates = std::iter::once(first).chain(others);
        candidates.find(|symbol| self.0.insert(symbol.clone())).expect("invariant: there is no last number")
    }
}

impl Op {
    /// The function's name in SMT-LIB.
    pub(crate) fn smtlib(self) -> String {
        let name = match self {
            Op::Not => "not",
            Op::And => "and",
            Op::Or => "or",
            Op::Eq => "=",
            Op::Ite => "ite",
            Op::Add => "+",
            Op::Mul => "*",
            Op::Le => "<=",
            Op::Lt => "<",
            Op::ToReal => "to_real",
            Op::BvNeg => "bvneg",
            Op::BvAdd => "bvadd",
            Op::BvMul => "bvmul",
            Op::BvSdiv => "bvsdiv",
            Op::BvSrem => "bvsrem",
            Op::BvUdiv => "bvudiv",
            Op::BvUrem => "bvurem",
            Op::BvSlt => "bvslt",
            Op::BvUlt => "bvult",
            Op::BvNot => "bvnot",
            Op::BvAnd => "bvand",
            Op::BvOr => "bvor",
            Op::BvXor => "bvxor",
            Op::BvShl => "bvshl",
            Op::BvAshr => "bvashr",
            Op::BvLshr => "bvlshr",
            Op::BvToInt => "ubv_to_int",
            Op::Extract(hi, lo) => return format!("(_ extract {hi} {lo})"),
            Op::SignExt(more) => return format!("(_ sign_extend {more})"),
            Op::ZeroExt(more) => return format!("(_ zero_extend {more})"),
            Op::IntToBv(width) => return format!("(_ int_to_bv {width})"),
            Op::FpTo(exponent, significand) => return format!("(_ to_fp {exponent} {significand}) RNE"),
            Op::Fp(op) => op.smtlib(),
        };
        name.to_string()
    }
}

impl FpOp {
    /// The function's name in SMT-LIB, with how it rounds.
    fn smtlib(self) -> &'static str {
        match self {
            FpOp::Add => "fp.add RNE",
            FpOp::Mul => "fp.mul RNE",
            FpOp::Div => "fp.div RNE",
            FpOp::Sqrt => "fp.sqrt RNE",
            FpOp::Neg => "fp.neg",
            FpOp::Abs => "fp.abs",
            FpOp::Lt => "fp.lt",
            FpOp::Le => "fp.leq",
            FpOp::Eq => "fp.eq",
            FpOp::IsNan => "fp.isNaN",
            FpOp::IsInf => "fp.isInfinite",
            FpOp::IsNegative => "fp.isNegative",
            FpOp::Floor => "fp.roundToIntegral RTN",
            FpOp::Ceil => "fp.roundToIntegral RTP",
            FpOp::Round => "fp.roundToIntegral RNE",
            FpOp::Trunc => "fp.roundToIntegral RTZ",
        }
    }
}

#[cfg(test)]
mod tests;
