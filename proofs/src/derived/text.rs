//! The certificate of an optimization as text, a record a line.
//!
//! First what it is about, then sizes, terms, applications and lines, each kind counted from 0, and at
//! last the hash of all lines before. Lists are numbers between commas, `-` if there are none; of
//! a line that is used, `>3` says that it is read from left to right, `<3` the other way, `=`
//! that nothing changes. `rounded` says that in the end constants are put in as they are rounded. A text is read only if it is what would be written of what was read.

use super::certificate::{Certificate, Subject};
use crate::certificate::{escaped, unescaped};
use num_bigint::BigInt;
use rtv_semantics::derivation::{Application, Built, Derivation, Head, Line, Used, Why};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::Mode;
use rtv_semantics::size::{Atom, Size, Sym, SymKind};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

/// First word of such a text.
pub const NAME: &str = "rtv-derivation";
/// Another form has another number.
const FORMAT: &str = "1";

/// Factors of one product of a size, products of one size, and what a size is made of as a tree.
const MAX_DEGREE: u32 = 8;
const MAX_PRODUCTS: usize = 300;
const MAX_WEIGHT: u64 = 10_000;

const KINDS: [(SymKind, &str); 4] =
    [(SymKind::Size, "size"), (SymKind::Group, "group"), (SymKind::Index, "index"), (SymKind::Int, "int")];

pub fn write(certificate: &Certificate) -> String {
    let Certificate { source, dtypes, rank, mode, rules, derivation } = certificate;
    let mut lines = vec![format!("{NAME} {FORMAT}")];
    lines.push(format!("source {}", subject(source)));
    lines.push(format!("dtypes {}", dtype_list(dtypes)));
    lines.push(format!("rank {}", rank_text(*rank)));
    lines.push(format!("mode {mode}"));
    lines.extend(rules.iter().map(|rule| format!("rule {}", subject(rule))));
    let mut sizes = Sizes::default();
    let applied: Vec<String> = derivation.applications.iter().map(|a| application(a, &mut sizes)).collect();
    lines.append(&mut sizes.lines);
    lines.extend(derivation.terms.iter().map(term));
    lines.extend(applied);
    lines.extend(derivation.lines.iter().map(line));
    lines.extend(derivation.rounded.then(|| "rounded".to_string()));
    let text = lines.join("\n") + "\n";
    let hash = Certificate::hash(&text);
    format!("{text}end {hash}\n")
}

fn subject(Subject { name, file, key }: &Subject) -> String {
    format!("{} {} {}", escaped(name), escaped(file), escaped(key))
}

fn dtype_list(dtypes: &[(Arc<str>, DType)]) -> String {
    list(dtypes, |(name, dtype)| format!("{}:{dtype}", escaped(name)))
}

fn rank_text(rank: Option<usize>) -> String {
    rank.map_or("-".into(), |rank| rank.to_string())
}

fn list<T>(all: &[T], text: impl Fn(&T) -> String) -> String {
    match all {
        [] => "-".to_string(),
        all => all.iter().map(text).collect::<Vec<_>>().join(","),
    }
}

fn numbers(all: &[usize]) -> String {
    list(all, usize::to_string)
}

fn term(Built { head, parts }: &Built) -> String {
    let head = match head {
        Head::Source(path) => format!("source {}", numbers(path)),
        Head::Side { application, right, path } => {
            format!("{} {application} {}", if *right { "right" } else { "left" }, numbers(path))
        }
        Head::Body { of, path } => format!("body {of} {}", numbers(path)),
        Head::Constant { of } => format!("constant {of}"),
    };
    format!("term {head} {}", numbers(parts))
}

fn application(application: &Application, sizes: &mut Sizes) -> String {
    let Application { rule, dtypes, rank, sizes: given, values } = application;
    let given: Vec<usize> = given.iter().map(|size| sizes.size(size)).collect();
    let (dtypes, rank) = (dtype_list(dtypes), rank_text(*rank));
    format!("application {} {dtypes} {rank} {} {}", escaped(rule), numbers(&given), numbers(values))
}

fn line(Line { left, right, why }: &Line) -> String {
    let used = |used: &Used| format!("{}{}", if used.forward { '>' } else { '<' }, used.line);
    let why = match why {
        Why::Rule { application, forward } => {
            format!("{} {application}", if *forward { "forward" } else { "backward" })
        }
        Why::Definition => "definition".to_string(),
        Why::Constant => "constant".to_string(),
        Why::Parts(parts) => {
            format!("parts {}", list(parts, |part| part.as_ref().map_or("=".to_string(), used)))
        }
        Why::Chain(steps) => format!("chain {}", list(steps, used)),
    };
    format!("line {left} {right} {why}")
}

/// The sizes of applications, each written once.
#[derive(Default)]
struct Sizes {
    lines: Vec<String>,
    places: BTreeMap<&'static str, FxHashMap<String, usize>>,
}

impl Sizes {
    fn record(&mut self, kind: &'static str, text: String) -> usize {
        let known = self.places.entry(kind).or_default();
        if let Some(place) = known.get(&text) {
            return *place;
        }
        let place = known.len();
        self.lines.push(format!("{kind} {text}"));
        known.insert(text, place);
        place
    }

    fn atom(&mut self, atom: &Atom) -> usize {
        let (head, a, b) = match atom {
            Atom::Sym(sym) => {
                let kind = KINDS.iter().find(|(kind, _)| *kind == sym.kind());
                let (_, kind) = kind.expect("invariant: every kind is listed");
                return self.record("atom", format!("sym {} {kind} {}", sym.id(), escaped(sym.name())));
            }
            Atom::Div(a, b) => ("div", a, b),
            Atom::Min(a, b) => ("min", a, b),
            Atom::Max(a, b) => ("max", a, b),
        };
        let (a, b) = (self.size(a), self.size(b));
        self.record("atom", format!("{head} {a} {b}"))
    }

    fn size(&mut self, size: &Size) -> usize {
        let mut products = Vec::new();
        for (monomial, coefficient) in size.terms() {
            let mut product = coefficient.to_string();
            for (atom, power) in monomial {
                product.push_str(&format!(":{}^{power}", self.atom(atom)));
            }
            products.push(product);
        }
        self.record("size", list(&products, String::clone))
    }
}

/// The certificate of a text, or the number of the line that is wrong.
pub fn read(text: &str) -> Result<Certificate, usize> {
    let lines: Vec<&str> = text.split_terminator('\n').collect();
    let mut reader = Reader::default();
    for (at, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        reader.record(&words).ok_or(at + 1)?;
    }
    let certificate = reader.whole().ok_or(lines.len() + 1)?;
    let written = write(&certificate);
    if written == text {
        return Ok(certificate);
    }
    let same = written.split_terminator('\n').zip(&lines).take_while(|(a, b)| a == *b).count();
    Err(same + 1)
}

/// What was read so far.
#[derive(Default)]
struct Reader {
    begun: bool,
    source: Option<Subject>,
    dtypes: Option<Vec<(Arc<str>, DType)>>,
    rank: Option<Option<usize>>,
    mode: Option<Mode>,
    rules: Vec<Subject>,
    atoms: Vec<(Atom, u64)>,
    sizes: Vec<(Size, u64)>,
    derivation: Derivation,
    ended: bool,
}

impl Reader {
    fn record(&mut self, words: &[&str]) -> Option<()> {
        if self.ended || self.begun == (words[0] == NAME) {
            return None;
        }
        match *words {
            [NAME, FORMAT] => self.begun = true,
            ["source", ref rest @ ..] if self.source.is_none() => self.source = Some(read_subject(rest)?),
            ["dtypes", list] if self.dtypes.is_none() => self.dtypes = Some(read_dtypes(list)?),
            ["rank", rank] if self.rank.is_none() => self.rank = Some(read_rank(rank)?),
            ["mode", mode] if self.mode.is_none() => {
                let modes = [Mode::Exact, Mode::Reassoc, Mode::Real];
                self.mode = Some(modes.into_iter().find(|known| known.name() == mode)?);
            }
            ["rule", ref rest @ ..] => {
                let rule = read_subject(rest)?;
                let again = self.rules.iter().any(|known| known.name == rule.name);
                (!again).then_some(())?;
                self.rules.push(rule);
            }
            ["atom", ref rest @ ..] => self.atom(rest)?,
            ["size", products] => self.size(products)?,
            ["term", ref rest @ ..] => self.derivation.terms.push(read_term(rest)?),
            ["application", ref rest @ ..] => self.application(rest)?,
            ["line", left, right, ref why @ ..] => {
                let line = Line { left: number(left)?, right: number(right)?, why: read_why(why)? };
                self.derivation.lines.push(line);
            }
            ["rounded"] => self.derivation.rounded = true,
            ["end", _] => self.ended = true,
            _ => return None,
        }
        Some(())
    }

    fn atom(&mut self, words: &[&str]) -> Option<()> {
        let atom = match *words {
            ["sym", place, kind, name] => {
                let (kind, _) = KINDS.iter().find(|(_, known)| *known == kind)?;
                (Atom::Sym(Sym::new(number(place)?, *kind, unescaped(name)?)), 1)
            }
            [head, a, b] => {
                let [(a, m), (b, n)] =
                    [self.sizes.get(number::<usize>(a)?)?, self.sizes.get(number::<usize>(b)?)?];
                let (a, b) = (a.clone(), b.clone());
                let atom = match head {
                    "div" => Atom::Div(a, b),
                    "min" => Atom::Min(a, b),
                    "max" => Atom::Max(a, b),
                    _ => return None,
                };
                (atom, m + n)
            }
            _ => return None,
        };
        self.atoms.push(atom);
        Some(())
    }

    fn size(&mut self, products: &str) -> Option<()> {
        let products = split(products);
        (products.len() <= MAX_PRODUCTS).then_some(())?;
        let (mut sum, mut weight) = (Size::zero(), 1u64);
        for product in products {
            let mut factors = product.split(':');
            let coefficient: BigInt = factors.next()?.parse().ok()?;
            let (mut value, mut degree) = (Size::int(coefficient), 0u32);
            for factor in factors {
                let (place, power) = factor.split_once('^')?;
                let (atom, own) = self.atoms.get(number::<usize>(place)?)?;
                let power: u32 = number(power)?;
                degree = degree.checked_add(power).filter(|degree| *degree <= MAX_DEGREE)?;
                weight = weight.checked_add(own * u64::from(power)).filter(|weight| *weight <= MAX_WEIGHT)?;
                for _ in 0..power {
                    value = &value * &Size::atom(atom.clone());
                }
            }
            sum = &sum + &value;
        }
        self.sizes.push((sum, weight));
        Some(())
    }

    fn application(&mut self, words: &[&str]) -> Option<()> {
        let [rule, dtypes, rank, sizes, values] = *words else { return None };
        let rule = unescaped(rule)?;
        self.rules.iter().any(|known| known.name == rule).then_some(())?;
        let size = |place: usize| Some(self.sizes.get(place)?.0.clone());
        let sizes = read_numbers(sizes)?.into_iter().map(size).collect::<Option<_>>()?;
        let (dtypes, rank, values) = (read_dtypes(dtypes)?, read_rank(rank)?, read_numbers(values)?);
        let application = Application { rule: rule.into(), dtypes, rank, sizes, values };
        self.derivation.applications.push(application);
        Some(())
    }

    fn whole(self) -> Option<Certificate> {
        let Reader { source, dtypes, rank, mode, rules, derivation, ended, .. } = self;
        let (source, dtypes, rank, mode) = (source?, dtypes?, rank?, mode?);
        ended.then_some(Certificate { source, dtypes, rank, mode, rules, derivation })
    }
}

fn number<N: FromStr>(word: &str) -> Option<N> {
    word.parse().ok()
}

fn split(list: &str) -> Vec<&str> {
    if list == "-" { Vec::new() } else { list.split(',').collect() }
}

fn read_numbers(list: &str) -> Option<Vec<usize>> {
    split(list).into_iter().map(number).collect()
}

fn read_subject(words: &[&str]) -> Option<Subject> {
    let [name, file, key] = *words else { return None };
    Some(Subject { name: unescaped(name)?, file: unescaped(file)?, key: unescaped(key)? })
}

fn read_dtypes(list: &str) -> Option<Vec<(Arc<str>, DType)>> {
    let dtype = |word: &str| {
        let (name, dtype) = word.split_once(':')?;
        Some((unescaped(name)?.into(), DType::from_name(dtype)?))
    };
    split(list).into_iter().map(dtype).collect()
}

fn read_rank(word: &str) -> Option<Option<usize>> {
    if word == "-" { Some(None) } else { number(word).map(Some) }
}

fn read_term(words: &[&str]) -> Option<Built> {
    let (head, parts) = match *words {
        ["source", path, parts] => (Head::Source(read_numbers(path)?), parts),
        [side @ ("left" | "right"), application, path, parts] => {
            let (right, path) = (side == "right", read_numbers(path)?);
            (Head::Side { application: number(application)?, right, path }, parts)
        }
        ["constant", of, parts] => (Head::Constant { of: number(of)? }, parts),
        ["body", of, path, parts] => (Head::Body { of: number(of)?, path: read_numbers(path)? }, parts),
        _ => return None,
    };
    Some(Built { head, parts: read_numbers(parts)? })
}

fn read_why(words: &[&str]) -> Option<Why> {
    Some(match *words {
        [way @ ("forward" | "backward"), application] => {
            Why::Rule { application: number(application)?, forward: way == "forward" }
        }
        ["definition"] => Why::Definition,
        ["constant"] => Why::Constant,
        ["parts", parts] => {
            let part = |word| if word == "=" { Some(None) } else { used(word).map(Some) };
            Why::Parts(split(parts).into_iter().map(part).collect::<Option<_>>()?)
        }
        ["chain", steps] => Why::Chain(split(steps).into_iter().map(used).collect::<Option<_>>()?),
        _ => return None,
    })
}

fn used(word: &str) -> Option<Used> {
    let (forward, line) = match word.strip_prefix('>') {
        Some(line) => (true, line),
        None => (false, word.strip_prefix('<')?),
    };
    Some(Used { line: number(line)?, forward })
}
