//! Certificates read from text: what is not whole and well typed is no certificate.

use super::write::HEADER;
use super::{Certificate, Certified, Part, Shown};
use crate::recheck::OWN_IDS;
use crate::verdict::Contract;
use num_bigint::BigInt;
use num_rational::BigRational;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::Scalar;
use rtv_semantics::size::{Atom, Size, Sym, SymKind};
use rtv_semantics::subst::{free_syms, free_vars};
use rtv_semantics::term::{Binder, Declared, Extent, Form, Instance, Laws, Lit, Monoid, Reduce, Term, Var};
use rtv_semantics::types::Type;
use rtv_smt::{
    Algebra, Combining, Denominator, Extreme, Fit, Frame, Mapped, Member, Merge, Monomial, Narrowing, Need,
    Proof, Question, ReadAs, Reading, Rewrite, Rewriting, Rule, Tame,
};
use std::sync::Arc;

/// Nodes nest so deep, far above what proofs of real claims do.
const MAX_DEPTH: usize = 900;

/// What a node stands for, written out as a tree, has so many nodes at most.
const MAX_WEIGHT: u64 = 4_000_000;

/// Monomials of one combination.
const MAX_PARTS: usize = 200;

/// Factors of one product of a size, and products of one size.
const MAX_DEGREE: u32 = 8;
const MAX_PRODUCTS: usize = 300;

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

    fn polynomial(&mut self) -> Option<Size> {
        let mut sum = Size::zero();
        while let Some(term) = self.word().filter(|_| sum.terms().len() < MAX_PRODUCTS) {
            let mut factors = term.split(':');
            let coefficient: BigInt = factors.next()?.parse().ok()?;
            let (mut product, mut degree) = (Size::int(coefficient), 0u32);
            for factor in factors {
                let (place, power) = factor.split_once('^')?;
                let atom = self.named(place.parse().ok()?, Reader::atom)?;
                let power: u32 = power.parse().ok()?;
                degree = power.checked_add(degree).filter(|degree| *degree <= MAX_DEGREE)?;
                for _ in 0..power {
                    product = &product * &Size::atom(atom.clone());
                }
            }
            sum = &sum + &product;
        }
        Some(sum)
    }

    fn condition(&mut self) -> Option<Cond> {
        Some(match self.word()? {
            "true" => Cond::True,
            "false" => Cond::False,
            "nonneg" => Cond::NonNeg(self.one(Reader::size)?),
            "zero" => Cond::Zero(self.one(Reader::size)?),
            "nonzero" => Cond::NonZero(self.one(Reader::size)?),
            "and" => Cond::And(self.rest(Reader::cond)?),
            "or" => Cond::Or(self.rest(Reader::cond)?),
            _ => return None,
        })
    }

    /// A term; what the constructors of terms take for granted is looked at first.
    fn scalar_term(&mut self) -> Option<Term> {
        let span = Span::default();
        Some(match self.word()? {
            "size" => Term::size(self.one(Reader::size)?, span),
            "bool" => Term::bool(self.number()?, span),
            "int" => {
                let dtype = self.dtype().filter(|dtype| dtype.is_int())?;
                Term::lit(Lit::Int(self.number()?), dtype, span)
            }
            "decimal" => {
                let dtype = self.dtype().filter(|dtype| dtype.is_float())?;
                Term::lit(Lit::Decimal(self.text()?.into()), dtype, span)
            }
            word @ ("inf" | "neginf" | "nan" | "pi") => {
                let dtype = self.dtype().filter(|dtype| dtype.is_float())?;
                let lit = match word {
                    "inf" => Lit::Inf,
                    "neginf" => Lit::NegInf,
                    "nan" => Lit::Nan,
                    _ => Lit::Pi,
                };
                Term::lit(lit, dtype, span)
            }
            "var" => {
                let var = Var { id: self.id()?, name: self.text()?.into() };
                Term::var(var, self.one(Reader::ty)?, span)
            }
            "scalar" => {
                let fun = Scalar::from_name(self.word()?)?;
                let args = self.rest(Reader::term)?;
                let sizes = args.iter().all(|arg| *arg.ty() == Type::Size);
                let compares = matches!(
                    fun,
                    Scalar::Eq | Scalar::Ne | Scalar::Lt | Scalar::Le | Scalar::Gt | Scalar::Ge
                );
                let fits = match sizes {
                    true => compares && args.len() == 2,
                    false => {
                        let dtypes: Option<Vec<DType>> = args.iter().map(scalar_dtype).collect();
                        args.len() == fun.arity() && fun.result(&dtypes?).is_ok()
                    }
                };
                fits.then(|| Term::scalar(fun, args, span))?
            }
            "cast" => {
                let to = self.dtype()?;
                let arg = self.one(Reader::term).filter(Term::is_scalar)?;
                Term::cast(to, arg, span)
            }
            "item" => {
                let k: usize = self.number()?;
                let tuple = self.one(Reader::term)?;
                let there = matches!(tuple.ty(), Type::Tuple(parts) if k < parts.len());
                there.then(|| Term::item(k, tuple, span))?
            }
            "read" => {
                let base = self.one(Reader::term)?;
                let index = self.rest(Reader::term)?;
                let fits = matches!(base.ty(), Type::Tensor(ty) if ty.shape.len() == index.len());
                (fits && index.iter().all(Term::is_scalar)).then(|| Term::read(base, index, span))?
            }
            "if" => {
                let parts = self.rest(Reader::term)?;
                let [cond, then, other] = <[Term; 3]>::try_from(parts).ok()?;
                let fits = scalar_dtype(&cond) == Some(DType::Bool) && then.ty() == other.ty();
                fits.then(|| Term::if_(cond, then, other, span))?
            }
            "reduce" => {
                let op = self.monoid()?;
                let body = self.one(Reader::term)?;
                let fits = match &op {
                    Monoid::Declared(monoid) => monoid.ty() == body.ty(),
                    _ => scalar_dtype(&body).is_some(),
                };
                fits.then(|| Some(Term::reduce(op, self.rest(Reader::binder)?, body, span)))??
            }
            "tuple" => Term::tuple(self.rest(Reader::term)?, span),
            "combine" => {
                let monoid = self.one(Reader::monoid)?;
                let [left, right] = <[Term; 2]>::try_from(self.rest(Reader::term)?).ok()?;
                let fits = [&left, &right].map(Term::ty) == [monoid.ty(); 2];
                fits.then(|| Term::combine(monoid, left, right, span))?
            }
            _ => return None,
        })
    }

    fn proof(&mut self) -> Option<Proof> {
        Some(match self.word()? {
            "same" => Proof::Same,
            "inorder" => Proof::InOrder(self.monoid()?),
            "framed" => {
                let algebra = self.algebra()?;
                let (left, right) = (self.boxed(Reader::reading)?, self.boxed(Reader::reading)?);
                let denominators = match self.follows("over") {
                    true => self.list(Reader::denominator)?,
                    false => Vec::new(),
                };
                let mut frames = Vec::new();
                while self.peek().is_some() {
                    let frame = self.one(Reader::monomial)?;
                    frames.push(Frame { frame, members: self.list(Reader::member)? });
                }
                Proof::Framed { algebra, left, right, denominators, frames }
            }
            "defined" => Proof::WhereDefined {
                sizes: self.list(Reader::cond)?,
                needs: self.list(Reader::need)?,
                rest: self.boxed(Reader::proof)?,
            },
            "both" => Proof::BothWays { there: self.boxed(Reader::proof)?, back: self.boxed(Reader::proof)? },
            "parts" => Proof::Parts(self.rest(Reader::proof)?),
            "rewritten" => Proof::Rewritten {
                left: self.list(Reader::rewrite)?,
                right: self.list(Reader::rewrite)?,
                rest: self.boxed(Reader::proof)?,
            },
            "cases" => Proof::Cases {
                cond: self.one(Reader::cond)?,
                holds: self.maybe(Reader::proof)?,
                fails: self.maybe(Reader::proof)?,
            },
            "solved" => Proof::Solved {
                question: self.one(Reader::question)?,
                settled: self.number()?,
                merges: self.rest(Reader::merge)?.into_iter().map(|merge| *merge).collect(),
            },
            _ => return None,
        })
    }

    fn algebra(&mut self) -> Option<Algebra> {
        Some(match self.word()? {
            "ring" => Algebra::Ring,
            _ => {
                self.at -= 1;
                Algebra::Monoid(self.monoid()?)
            }
        })
    }

    /// One of the language's own by name, a declared one by its place.
    fn monoid(&mut self) -> Option<Monoid> {
        let word = self.word()?;
        match word.strip_prefix('@') {
            Some(place) => self.named(place.parse().ok()?, Reader::monoid).map(Monoid::Declared),
            None => Monoid::from_name(word),
        }
    }

    /// A declared monoid: its laws are looked at when a claim is there to compare with.
    fn declared(&mut self) -> Option<Declared> {
        let name = self.text()?;
        let laws = match self.word()? {
            "-" => None,
            word => {
                let (extent, commutative) = match word.split_once(',') {
                    Some((extent, "commutative")) => (extent, true),
                    Some(_) => return None,
                    None => (word, false),
                };
                let extent = Extent::ALL.into_iter().find(|known| known.name() == extent)?;
                Some(Laws { commutative, extent })
            }
        };
        let (identity, element) = (self.one(Reader::term)?, self.one(Reader::term)?);
        let components = element.components();
        let scalars = components.iter().all(|part| scalar_dtype(part).is_some());
        let param = |term: Term| match (term.form(), term.ty() == element.ty()) {
            (Form::Var(var), true) => Some((var.clone(), term.ty().clone())),
            _ => None,
        };
        let params: Vec<(Var, Type)> =
            self.rest(Reader::term)?.into_iter().map(param).collect::<Option<_>>()?;
        let closed = free_syms(&element).is_empty()
            && free_vars(&element).iter().all(|var| params.iter().any(|(param, _)| param == var));
        let known = identity.components().iter().all(|part| matches!(part.form(), Form::Lit(_)));
        // The evaluator tells variables apart by their ids alone.
        let apart = matches!(params.as_slice(), [(a, _), (b, _)] if a.id != b.id);
        if !apart || !closed || !scalars || !known || identity.ty() != element.ty() {
            return None;
        }
        let combine = Instance {
            name: name.into(),
            statics: Vec::new(),
            params,
            requires: Vec::new(),
            body: element.clone(),
            is_op: false,
        };
        Some(Declared { combine: Arc::new(combine), element, identity, laws })
    }

    fn member(&mut self) -> Option<Member> {
        let place = self.number()?;
        if self.peek().is_none() {
            return Some(Member { place, fit: None });
        }
        let pairing = self.numbers()?;
        let (there, back) = (self.values()?, self.values()?);
        let guards = self.list(Reader::cond)?;
        Some(Member { place, fit: Some(Fit { pairing, there, back, guards }) })
    }

    fn values(&mut self) -> Option<Vec<(Sym, Size)>> {
        let (syms, sizes) = (self.list(Reader::sym)?, self.list(Reader::size)?);
        (syms.len() == sizes.len()).then(|| syms.into_iter().zip(sizes).collect())
    }

    fn combining(&mut self) -> Option<Combining> {
        Some(match self.word()? {
            "kept" => Combining::Kept,
            "inside" => Combining::Inside(self.rest(Reader::combining)?),
            "under" => {
                let inside = self.boxed(Reader::combining)?;
                Combining::Under(self.rest(Reader::binder)?, inside)
            }
            "negated" => Combining::Negated(self.boxed(Reader::combining)?),
            "combined" => {
                let algebra = self.algebra()?;
                let (reading, after) = (self.boxed(Reader::reading)?, self.one(Reader::term)?);
                let (reversed, mut extremes) = (self.lists("extreme")?, Vec::new());
                while self.follows("extreme") {
                    let at: usize = self.number().filter(|at| *at < MAX_PARTS)?;
                    extremes.resize(extremes.len().max(at + 1), None);
                    extremes[at] = Some(*self.one(Reader::extreme)?);
                }
                Combining::Combined { algebra, reading, reversed, extremes, after }
            }
            "logarithm" => Combining::Logarithm {
                argument: self.boxed(Reader::combining)?,
                sum: self.boxed(Reader::combining)?,
            },
            _ => return None,
        })
    }

    fn extreme(&mut self) -> Option<Extreme> {
        let (free, scale) = (self.one(Reader::term)?, self.one(Reader::term)?);
        let (rest, after) = (self.one(Reader::term)?, self.one(Reader::term)?);
        let element = self.boxed(Reader::combining)?;
        let mapped = match self.word()? {
            "-" => None,
            "of" => Some(Mapped { extreme: self.boxed(Reader::combining)?, reading: None }),
            "in" => Some(Mapped {
                extreme: self.boxed(Reader::combining)?,
                reading: Some(self.boxed(Reader::reading)?),
            }),
            _ => return None,
        };
        let dtype = scalar_dtype(&after).filter(|dtype| dtype.is_float());
        let fits = [&free, &scale, &rest].iter().all(|term| scalar_dtype(term) == dtype);
        dtype.filter(|_| fits)?;
        Some(Extreme { free, scale, rest, element, mapped, reversed: self.lists("")?, after })
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

    fn reading(&mut self) -> Option<Reading> {
        let kept = match self.peek()? {
            "all" => {
                self.at += 1;
                None
            }
            _ => Some(self.numbers()?),
        };
        let how = match self.word()? {
            "neutral" => ReadAs::Neutral,
            "number" => ReadAs::Number,
            "size" => ReadAs::Size,
            "both" => ReadAs::Both(self.boxed(Reader::reading)?, self.boxed(Reader::reading)?),
            "difference" => ReadAs::Difference(self.boxed(Reader::reading)?, self.boxed(Reader::reading)?),
            "opposite" => ReadAs::Opposite(self.boxed(Reader::reading)?),
            "product" => ReadAs::Product(self.boxed(Reader::reading)?, self.boxed(Reader::reading)?),
            "merged" => ReadAs::Merged(self.boxed(Reader::reading)?, self.boxed(Reader::reading)?),
            "quotient" => ReadAs::Quotient {
                dividend: self.maybe(Reader::reading)?,
                divisor: self.boxed(Reader::combining)?,
            },
            "exponents" => ReadAs::Exponents(self.boxed(Reader::combining)?),
            "after" => ReadAs::After(self.boxed(Reader::combining)?, self.boxed(Reader::reading)?),
            "exponential" => ReadAs::Exponential(self.rest(Reader::combining)?),
            "branches" => ReadAs::Branches {
                cond: self.one(Reader::cond)?,
                holds: self.maybe(Reader::reading)?,
                fails: self.maybe(Reader::reading)?,
            },
            "split" => {
                let mut parts = Vec::new();
                while self.peek().is_some() {
                    parts.push((self.list(Reader::cond)?, self.one(Reader::reading)?));
                }
                ReadAs::Split(parts)
            }
            "factor" => {
                let inner = self.boxed(Reader::combining)?;
                let tame = match self.peek()? {
                    "any" | "tame" => {
                        let word = self.word()?;
                        (word == "tame").then_some(Tame { question: None })
                    }
                    _ => Some(Tame { question: Some(self.one(Reader::question)?) }),
                };
                ReadAs::Factor { inner, tame }
            }
            "reduction" => {
                let (binders, body) = (self.list(Reader::binder)?, self.boxed(Reader::reading)?);
                let mut narrowing = Vec::new();
                while self.peek().is_some() {
                    narrowing.push(self.list(Reader::narrowing)?);
                }
                ReadAs::Reduction { binders, body, narrowing }
            }
            _ => return None,
        };
        Some(Reading { how, kept })
    }

    fn narrowing(&mut self) -> Option<Narrowing> {
        if self.peek()? == "done" {
            self.at += 1;
            return Some(Narrowing::Done);
        }
        let parts = self.list(Reader::monomial)?;
        let rule = match self.word()? {
            "follows" => Rule::Follows(self.number()?),
            "nothing" => Rule::Nothing,
            "conjunction" => Rule::Conjunction(self.number()?),
            "alternatives" => Rule::Alternatives(self.number()?, self.list(Reader::cond)?),
            "value" => Rule::Value(self.number()?, self.one(Reader::size)?),
            "reindexed" => Rule::Reindexed {
                at: self.number()?,
                there: self.one(Reader::size)?,
                back: self.one(Reader::size)?,
                extent: self.one(Reader::size)?,
            },
            "idle" => Rule::Idle(self.number()?),
            "each" => Rule::Each(self.number()?),
            _ => return None,
        };
        Some(Narrowing::To(rule, parts))
    }

    fn shown(&mut self) -> Option<Shown> {
        let mode = match self.word()? {
            "exact" => Mode::Exact,
            "reassoc" => Mode::Reassoc,
            "real" => Mode::Real,
            _ => return None,
        };
        let shown = Shown {
            mode,
            directed: self.number()?,
            facts: self.list(Reader::cond)?,
            hypotheses: self.list(Reader::term)?,
            left: self.one(Reader::term)?,
            right: self.one(Reader::term)?,
            proof: self.one(Reader::proof)?,
        };
        (shown.left.ty() == shown.right.ty()).then_some(shown)
    }
}

fn reduction(term: Term) -> Option<Reduce> {
    match term.form() {
        Form::Reduce(reduce) => Some(reduce.clone()),
        _ => None,
    }
}

fn scalar_dtype(term: &Term) -> Option<DType> {
    match term.ty() {
        Type::Tensor(ty) if ty.shape.is_empty() => Some(ty.dtype),
        _ => None,
    }
}
