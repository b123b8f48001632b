//! Certificates read from text: what is not whole and well typed is no certificate.

mod proofs;
mod terms;

use super::write::HEADER;
use super::{Certificate, Certified, Part, Shown};
use crate::recheck::OWN_IDS;
use crate::verdict::Contract;
use num_rational::BigRational;
use proofs::reduction;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Atom, Size, Sym, SymKind};
use rtv_semantics::term::{Binder, Declared, Term};
use rtv_semantics::types::Type;
use rtv_smt::{
    Combining, Denominator, Extreme, Member, Merge, Monomial, Narrowing, Need, Proof, Question, Reading,
    Rewrite, Rewriting,
};
use std::sync::Arc;

/// Nodes nest so deep, far above what proofs of real claims do.
const MAX_DEPTH: usize = 900;

/// What a node stands for, written out as a tree, has so many nodes at most.
const MAX_WEIGHT: u64 = 4_000_000;

/// The certificate of a text.
///
/// # Errors
/// The number of the line that cannot be read.
pub fn read(text: &str) -> Result<Certificate, usize> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(1);
    }
    let mut reader = Reader::default();
    let mut certificate = None;
    for (number, line) in lines.enumerate() {
        let here = number + 2;
        if certificate.is_some() {
            return Err(here);
        }
        let mut words =
            Words { reader: &reader, words: line.split(' ').collect(), at: 0, depth: 0, weight: 1 };
        if words.peek() == Some("certificate") {
            words.at += 1;
            let instances = words.rest(Reader::instance).ok_or(here)?;
            certificate = Some(Certificate { instances, monoids: reader.monoids() });
            continue;
        }
        let node = words.node().filter(|_| words.at == words.words.len()).ok_or(here)?;
        let depth = words.depth + 1;
        let weight = words.weight;
        if depth > MAX_DEPTH || weight > MAX_WEIGHT {
            return Err(here);
        }
        reader.nodes.push((node, depth, weight));
    }
    certificate.ok_or(text.lines().count() + 1)
}

#[derive(Default)]
struct Reader {
    /// Each with its depth and weight.
    nodes: Vec<(Node, usize, u64)>,
}

#[derive(Clone)]
enum Node {
    Sym(Sym),
    Atom(Atom),
    Size(Size),
    Cond(Cond),
    Type(Type),
    Monoid(Arc<Declared>),
    Binder(Binder),
    Term(Term),
    Monomial(Monomial),
    Question(Question),
    Proof(Proof),
    Rewrite(Rewrite),
    Merge(Box<Merge>),
    Member(Member),
    Need(Need),
    Denominator(Denominator),
    Extreme(Box<Extreme>),
    Combining(Combining),
    Reading(Reading),
    Narrowing(Narrowing),
    Shown(Shown),
    Part(Contract, Part),
    Instance(Certified),
}

/// A function for each kind of node: what stands at a place, if it is of that kind.
macro_rules! kinds {
    ($($name:ident: $kind:ident -> $ty:ty;)*) => {
        impl Reader {
            $(fn $name(&self, at: usize) -> Option<$ty> {
                match self.nodes.get(at)? {
                    (Node::$kind(value), ..) => Some(value.clone()),
                    _ => None,
                }
            })*
        }
    };
}

kinds! {
    sym: Sym -> Sym;
    atom: Atom -> Atom;
    size: Size -> Size;
    cond: Cond -> Cond;
    ty: Type -> Type;
    monoid: Monoid -> Arc<Declared>;
    binder: Binder -> Binder;
    term: Term -> Term;
    monomial: Monomial -> Monomial;
    question: Question -> Question;
    proof: Proof -> Proof;
    rewrite: Rewrite -> Rewrite;
    merge: Merge -> Box<Merge>;
    member: Member -> Member;
    need: Need -> Need;
    denominator: Denominator -> Denominator;
    extreme: Extreme -> Box<Extreme>;
    combining: Combining -> Combining;
    reading: Reading -> Reading;
    narrowing: Narrowing -> Narrowing;
    shown: Shown -> Shown;
    instance: Instance -> Certified;
}

impl Reader {
    fn monoids(&self) -> Vec<Arc<Declared>> {
        let declared = |(node, ..): &(Node, usize, u64)| match node {
            Node::Monoid(monoid) => Some(monoid.clone()),
            _ => None,
        };
        self.nodes.iter().filter_map(declared).collect()
    }

    fn part(&self, at: usize) -> Option<(Contract, Part)> {
        match self.nodes.get(at)? {
            (Node::Part(contract, part), ..) => Some((*contract, part.clone())),
            _ => None,
        }
    }
}

/// The text of a word that [`super::write::escaped`] wrote.
pub fn unescaped(word: &str) -> Option<String> {
    if word == "%" {
        return Some(String::new());
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(word.len()), word.bytes());
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

/// The words of one line, read from left to right.
struct Words<'r> {
    reader: &'r Reader,
    words: Vec<&'r str>,
    at: usize,
    /// The depth of the deepest node named so far.
    depth: usize,
    /// The weight of all of them.
    weight: u64,
}

type Get<T> = fn(&Reader, usize) -> Option<T>;

impl<'r> Words<'r> {
    fn peek(&self) -> Option<&'r str> {
        self.words.get(self.at).copied()
    }

    fn word(&mut self) -> Option<&'r str> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }

    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.word()?.parse().ok()
    }

    /// Below those that the checker makes up.
    fn id(&mut self) -> Option<u32> {
        self.number().filter(|id| *id < OWN_IDS)
    }

    fn text(&mut self) -> Option<String> {
        unescaped(self.word()?)
    }

    fn dtype(&mut self) -> Option<DType> {
        DType::from_name(self.word()?)
    }

    fn named<T>(&mut self, place: usize, get: Get<T>) -> Option<T> {
        let (_, depth, weight) = self.reader.nodes.get(place)?;
        self.depth = self.depth.max(*depth);
        self.weight = self.weight.saturating_add(*weight);
        (self.weight <= MAX_WEIGHT).then_some(())?;
        get(self.reader, place)
    }

    fn one<T>(&mut self, get: Get<T>) -> Option<T> {
        let place = self.number()?;
        self.named(place, get)
    }

    /// Every word that is left.
    fn rest<T>(&mut self, get: Get<T>) -> Option<Vec<T>> {
        let mut all = Vec::new();
        while self.peek().is_some() {
            all.push(self.one(get)?);
        }
        Some(all)
    }

    fn numbers(&mut self) -> Option<Vec<usize>> {
        match self.word()? {
            "-" => Some(Vec::new()),
            list => list.split(',').map(|n| n.parse().ok()).collect(),
        }
    }

    fn list<T>(&mut self, get: Get<T>) -> Option<Vec<T>> {
        self.numbers()?.into_iter().map(|place| self.named(place, get)).collect()
    }

    fn maybe<T>(&mut self, get: Get<T>) -> Option<Option<Box<T>>> {
        if self.peek()? == "-" {
            self.at += 1;
            return Some(None);
        }
        Some(Some(Box::new(self.one(get)?)))
    }

    fn boxed<T>(&mut self, get: Get<T>) -> Option<Box<T>> {
        self.one(get).map(Box::new)
    }

    /// Lists of numbers, up to a word or the end.
    fn lists(&mut self, end: &str) -> Option<Vec<Vec<usize>>> {
        let mut all = Vec::new();
        while self.peek().is_some_and(|word| word != end) {
            all.push(self.numbers()?);
        }
        Some(all)
    }

    /// Whether a word is next, which is read then.
    fn follows(&mut self, word: &str) -> bool {
        let next = self.peek() == Some(word);
        self.at += usize::from(next);
        next
    }

    fn node(&mut self) -> Option<Node> {
        Some(match self.word()? {
            "sym" => {
                let id = self.id()?;
                let kind = match self.word()? {
                    "size" => SymKind::Size,
                    "group" => SymKind::Group,
                    "index" => SymKind::Index,
                    "int" => SymKind::Int,
                    _ => return None,
                };
                Node::Sym(Sym::new(id, kind, self.text()?))
            }
            "atom" => Node::Atom(match self.word()? {
                "sym" => Atom::Sym(self.one(Reader::sym)?),
                "div" => Atom::Div(self.one(Reader::size)?, self.one(Reader::size)?),
                "min" => Atom::Min(self.one(Reader::size)?, self.one(Reader::size)?),
                "max" => Atom::Max(self.one(Reader::size)?, self.one(Reader::size)?),
                _ => return None,
            }),
            "size" => Node::Size(self.polynomial()?),
            "cond" => Node::Cond(self.condition()?),
            "type" => Node::Type(match self.word()? {
                "size" => Type::Size,
                "tensor" => Type::tensor(self.dtype()?, self.rest(Reader::size)?),
                "tuple" => Type::Tuple(self.rest(Reader::ty)?),
                _ => return None,
            }),
            "binder" => Node::Binder(Binder { sym: self.one(Reader::sym)?, extent: self.one(Reader::size)? }),
            "monoid" => Node::Monoid(Arc::new(self.declared()?)),
            "term" => Node::Term(self.scalar_term()?),
            "monomial" => {
                let coefficient: BigRational = self.number()?;
                Node::Monomial(Monomial {
                    coefficient,
                    binders: self.list(Reader::binder)?,
                    guards: self.list(Reader::cond)?,
                    factors: self.list(Reader::term)?,
                })
            }
            "question" => Node::Question(Question::Text(self.text()?)),
            "proof" => Node::Proof(self.proof()?),
            "rewrite" => {
                let kind = self.word()?;
                let after = self.one(Reader::term)?;
                let by = match kind {
                    "bits" => Rewriting::Bits,
                    "combined" => Rewriting::Combined(self.one(Reader::combining)?),
                    _ => return None,
                };
                Node::Rewrite(Rewrite { by, after })
            }
            "merge" => Node::Merge(Box::new(Merge {
                first: reduction(self.one(Reader::term)?)?,
                second: reduction(self.one(Reader::term)?)?,
                order: self.numbers()?,
                indices: self.list(Reader::sym)?,
                left: self.one(Reader::term)?,
                right: self.one(Reader::term)?,
                proof: self.one(Reader::proof)?,
            })),
            "member" => Node::Member(self.member()?),
            "need" => {
                let value = self.one(Reader::term).filter(Term::is_scalar)?;
                let combined = match self.peek() {
                    None => None,
                    Some(_) => Some((self.one(Reader::combining)?, self.one(Reader::term)?)),
                };
                Node::Need(Need { value, combined })
            }
            "denominator" => Node::Denominator(Denominator {
                divisor: self.one(Reader::term)?,
                parts: self.one(Reader::reading)?,
                left: self.list(Reader::monomial)?,
                right: self.list(Reader::monomial)?,
            }),
            "extreme" => Node::Extreme(Box::new(self.extreme()?)),
            "combining" => Node::Combining(self.combining()?),
            "reading" => Node::Reading(self.reading()?),
            "narrowing" => Node::Narrowing(self.narrowing()?),
            "shown" => Node::Shown(self.shown()?),
            "part" => {
                let contract = Contract::from_name(self.word()?)?;
                let part = match self.word()? {
                    "sizes" => Part::Sizes { facts: self.list(Reader::cond)?, goal: self.one(Reader::cond)? },
                    "values" => Part::Values(self.boxed(Reader::shown)?),
                    _ => return None,
                };
                Node::Part(contract, part)
            }
            "instance" => Node::Instance(Certified { choice: self.text()?, parts: self.rest(Reader::part)? }),
            _ => return None,
        })
    }
}
