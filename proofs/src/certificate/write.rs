//! A certificate as text: one node a line, after those that it names.
//!
//! A line is words between blanks: what the node is, then its fields. A node is named by
//! the number of its line, counted from 0 after the header; equal nodes are written once.
//! Texts of users and solvers keep letters, digits, `_` and `.`; other bytes are `%XX`.

use super::{Certificate, Certified, Part, Shown};
use crate::verdict::Contract;
use rtv_semantics::entail::Cond;
use rtv_semantics::size::{Atom, Size, Sym, SymKind};
use rtv_semantics::term::{Binder, Declared, Form, Fun, Lit, Monoid, Reduce, Term};
use rtv_semantics::types::Type;
use rtv_smt::{
    Algebra, Combining, Denominator, Extreme, Fit, Frame, Mapped, Member, Merge, Monomial, Narrowing, Need,
    Proof, Question, ReadAs, Reading, Rewrite, Rewriting, Rule, Tame,
};
use rustc_hash::FxHashMap;

/// First line of a certificate; another form has another number.
pub const HEADER: &str = "rtv-certificate 1";

/// A term that has no text: it is no unfolded scalar.
pub struct Untold;

/// The text of a certificate.
///
/// # Errors
/// Where a term is not an unfolded scalar.
pub fn text(certificate: &Certificate) -> Result<String, Untold> {
    let mut writer = Writer::default();
    let mut instances = Vec::new();
    for instance in &certificate.instances {
        instances.push(writer.instance(instance)?);
    }
    writer.node(format!("certificate{}", refs(&instances)));
    let mut text = format!("{HEADER}\n");
    for line in &writer.lines {
        text.push_str(line);
        text.push('\n');
    }
    Ok(text)
}

#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    places: FxHashMap<String, usize>,
    /// By address; the terms are kept, so that no address is used twice.
    terms: FxHashMap<usize, (Term, usize)>,
}

/// References, each after a blank.
fn refs(places: &[usize]) -> String {
    places.iter().map(|place| format!(" {place}")).collect()
}

fn numbers(values: &[usize]) -> String {
    match values {
        [] => "-".to_string(),
        values => values.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
    }
}

/// Lists of numbers, each after a blank.
fn lists(all: &[Vec<usize>]) -> String {
    all.iter().map(|list| format!(" {}", numbers(list))).collect()
}

pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'_' | b'.' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    if out.is_empty() { "%".into() } else { out }
}

impl Writer {
    fn node(&mut self, line: String) -> usize {
        if let Some(place) = self.places.get(&line) {
            return *place;
        }
        let place = self.lines.len();
        self.lines.push(line.clone());
        self.places.insert(line, place);
        place
    }

    fn sym(&mut self, sym: &Sym) -> usize {
        let kind = match sym.kind() {
            SymKind::Size => "size",
            SymKind::Group => "group",
            SymKind::Index => "index",
            SymKind::Int => "int",
        };
        self.node(format!("sym {} {kind} {}", sym.id(), escaped(sym.name())))
    }

    fn atom(&mut self, atom: &Atom) -> usize {
        let (head, a, b) = match atom {
            Atom::Sym(sym) => {
                let sym = self.sym(sym);
                return self.node(format!("atom sym {sym}"));
            }
            Atom::Div(a, b) => ("div", a, b),
            Atom::Min(a, b) => ("min", a, b),
            Atom::Max(a, b) => ("max", a, b),
        };
        let (a, b) = (self.size(a), self.size(b));
        self.node(format!("atom {head} {a} {b}"))
    }

    fn size(&mut self, size: &Size) -> usize {
        let mut line = "size".to_string();
        for (monomial, coefficient) in size.terms() {
            line.push_str(&format!(" {coefficient}"));
            for (atom, power) in monomial {
                line.push_str(&format!(":{}^{power}", self.atom(atom)));
            }
        }
        self.node(line)
    }

    fn cond(&mut self, cond: &Cond) -> usize {
        let line = match cond {
            Cond::True => "cond true".to_string(),
            Cond::False => "cond false".to_string(),
            Cond::NonNeg(p) => format!("cond nonneg {}", self.size(p)),
            Cond::Zero(p) => format!("cond zero {}", self.size(p)),
            Cond::NonZero(p) => format!("cond nonzero {}", self.size(p)),
            Cond::And(parts) => format!("cond and{}", refs(&self.conds(parts))),
            Cond::Or(parts) => format!("cond or{}", refs(&self.conds(parts))),
        };
        self.node(line)
    }

    fn conds(&mut self, conds: &[Cond]) -> Vec<usize> {
        conds.iter().map(|cond| self.cond(cond)).collect()
    }

    fn ty(&mut self, ty: &Type) -> usize {
        let line = match ty {
            Type::Size => "type size".to_string(),
            Type::Tensor(t) => {
                let shape: Vec<usize> = t.shape.iter().map(|size| self.size(size)).collect();
                format!("type tensor {}{}", t.dtype, refs(&shape))
            }
            Type::Tuple(parts) => {
                let parts: Vec<usize> = parts.iter().map(|part| self.ty(part)).collect();
                format!("type tuple{}", refs(&parts))
            }
        };
        self.node(line)
    }

    fn binders(&mut self, binders: &[Binder]) -> Vec<usize> {
        let binder = |b: &Binder| {
            let (sym, extent) = (self.sym(&b.sym), self.size(&b.extent));
            self.node(format!("binder {sym} {extent}"))
        };
        binders.iter().map(binder).collect()
    }

    fn terms(&mut self, terms: &[Term]) -> Result<Vec<usize>, Untold> {
        terms.iter().map(|term| self.term(term)).collect()
    }

    fn term(&mut self, term: &Term) -> Result<usize, Untold> {
        if let Some((_, place)) = self.terms.get(&term.address()) {
            return Ok(*place);
        }
        let line = match term.form() {
            Form::Size(size) => format!("term size {}", self.size(size)),
            Form::Lit(lit) => {
                let dtype = term.dtype();
                match lit {
                    Lit::Bool(value) => format!("term bool {value}"),
                    Lit::Int(value) => format!("term int {dtype} {value}"),
                    Lit::Decimal(text) => format!("term decimal {dtype} {}", escaped(text)),
                    Lit::Inf => format!("term inf {dtype}"),
                    Lit::NegInf => format!("term neginf {dtype}"),
                    Lit::Nan => format!("term nan {dtype}"),
                    Lit::Pi => format!("term pi {dtype}"),
                }
            }
            Form::Var(var) => {
                let ty = self.ty(term.ty());
                format!("term var {} {} {ty}", var.id, escaped(&var.name))
            }
            Form::Call(Fun::Scalar(fun), args) => format!("term scalar {fun}{}", refs(&self.terms(args)?)),
            Form::Call(Fun::Cast(to), args) => format!("term cast {to}{}", refs(&self.terms(args)?)),
            Form::Call(Fun::Item(k), args) => format!("term item {k}{}", refs(&self.terms(args)?)),
            Form::Read(base, index) => {
                let base = self.term(base)?;
                format!("term read {base}{}", refs(&self.terms(index)?))
            }
            Form::If(c, a, b) => format!("term if{}", refs(&self.terms(&[c.clone(), a.clone(), b.clone()])?)),
            Form::Reduce(Reduce { op, binders, body }) => {
                let (op, binders, body) = (self.monoid(op)?, self.binders(binders), self.term(body)?);
                format!("term reduce {op} {body}{}", refs(&binders))
            }
            Form::Tuple(parts) => format!("term tuple{}", refs(&self.terms(parts)?)),
            Form::Call(Fun::Combine(monoid), args) => {
                let monoid = self.declared(monoid)?;
                format!("term combine {monoid}{}", refs(&self.terms(args)?))
            }
            _ => return Err(Untold),
        };
        let place = self.node(line);
        self.terms.insert(term.address(), (term.clone(), place));
        Ok(place)
    }

    /// The name of a monoid, or the place of a declared one.
    fn monoid(&mut self, monoid: &Monoid) -> Result<String, Untold> {
        match monoid {
            Monoid::Declared(declared) => Ok(format!("@{}", self.declared(declared)?)),
            own => Ok(own.name().to_string()),
        }
    }

    fn declared(&mut self, monoid: &Declared) -> Result<usize, Untold> {
        let (params, element) = monoid.function();
        let params: Vec<usize> = params
            .iter()
            .map(|(var, ty)| self.term(&Term::var(var.clone(), ty.clone(), element.span())))
            .collect::<Result<_, _>>()?;
        let identity = self.term(&monoid.identity)?;
        let laws = monoid.laws.map_or("-".to_string(), |laws| {
            format!("{}{}", laws.extent.name(), if laws.commutative { ",commutative" } else { "" })
        });
        let (name, element) = (escaped(monoid.name()), self.term(element)?);
        Ok(self.node(format!("monoid {name} {laws} {identity} {element}{}", refs(&params))))
    }

    fn algebra(&mut self, algebra: &Algebra) -> Result<String, Untold> {
        match algebra {
            Algebra::Ring => Ok("ring".to_string()),
            Algebra::Monoid(op) => self.monoid(op),
        }
    }

    fn monomial(&mut self, monomial: &Monomial) -> Result<usize, Untold> {
        let binders = self.binders(&monomial.binders);
        let guards = self.conds(&monomial.guards);
        let factors = self.terms(&monomial.factors)?;
        let lists = [binders, guards, factors].map(|list| numbers(&list)).join(" ");
        Ok(self.node(format!("monomial {} {lists}", monomial.coefficient)))
    }

    fn question(&mut self, question: &Question) -> usize {
        self.node(format!("question {}", escaped(&question.text())))
    }

    fn proof(&mut self, proof: &Proof) -> Result<usize, Untold> {
        let line = match proof {
            Proof::Same => "proof same".to_string(),
            Proof::InOrder(op) => format!("proof inorder {}", self.monoid(op)?),
            Proof::Framed { algebra, left, right, denominators, frames } => {
                let (left, right) = (self.reading(left)?, self.reading(right)?);
                let mut line = format!("proof framed {} {left} {right}", self.algebra(algebra)?);
                if !denominators.is_empty() {
                    let all =
                        denominators.iter().map(|d| self.denominator(d)).collect::<Result<Vec<_>, _>>()?;
                    line.push_str(&format!(" over {}", numbers(&all)));
                }
                for Frame { frame, members } in frames {
                    let members = members.iter().map(|m| self.member(m)).collect::<Vec<_>>();
                    line.push_str(&format!(" {} {}", self.monomial(frame)?, numbers(&members)));
                }
                line
            }
            Proof::WhereDefined { sizes, needs, rest } => {
                let sizes = numbers(&self.conds(sizes));
                let needs = needs.iter().map(|need| self.need(need)).collect::<Result<Vec<_>, _>>()?;
                format!("proof defined {sizes} {} {}", numbers(&needs), self.proof(rest)?)
            }
            Proof::BothWays { there, back } => {
                format!("proof both {} {}", self.proof(there)?, self.proof(back)?)
            }
            Proof::Parts(parts) => {
                let parts = parts.iter().map(|part| self.proof(part)).collect::<Result<Vec<_>, _>>()?;
                format!("proof parts{}", refs(&parts))
            }
            Proof::Rewritten { left, right, rest } => {
                let (left, right) = (self.rewrites(left)?, self.rewrites(right)?);
                format!("proof rewritten {} {} {}", numbers(&left), numbers(&right), self.proof(rest)?)
            }
            Proof::Cases { cond, holds, fails } => {
                let cond = self.cond(cond);
                let mut case = |proof: &Option<Box<Proof>>| match proof {
                    Some(proof) => self.proof(proof).map(|place| place.to_string()),
                    None => Ok("-".to_string()),
                };
                let (holds, fails) = (case(holds)?, case(fails)?);
                format!("proof cases {cond} {holds} {fails}")
            }
            Proof::Solved { question, settled, merges } => {
                let question = self.question(question);
                let merges = merges.iter().map(|m| self.merge(m)).collect::<Result<Vec<_>, _>>()?;
                format!("proof solved {question} {settled}{}", refs(&merges))
            }
        };
        Ok(self.node(line))
    }

    fn need(&mut self, Need { value, combined }: &Need) -> Result<usize, Untold> {
        let mut line = format!("need {}", self.term(value)?);
        if let Some((how, after)) = combined {
            line.push_str(&format!(" {} {}", self.combining(how)?, self.term(after)?));
        }
        Ok(self.node(line))
    }

    fn denominator(&mut self, denominator: &Denominator) -> Result<usize, Untold> {
        let (divisor, parts) = (self.term(&denominator.divisor)?, self.reading(&denominator.parts)?);
        let mut side = |monomials: &[Monomial]| {
            let places = monomials.iter().map(|m| self.monomial(m)).collect::<Result<Vec<_>, _>>()?;
            Ok(numbers(&places))
        };
        let (left, right) = (side(&denominator.left)?, side(&denominator.right)?);
        Ok(self.node(format!("denominator {divisor} {parts} {left} {right}")))
    }

    fn member(&mut self, Member { place, fit }: &Member) -> usize {
        let Some(Fit { pairing, there, back, guards }) = fit else {
            return self.node(format!("member {place}"));
        };
        let mut values = |all: &[(Sym, Size)]| {
            let syms: Vec<usize> = all.iter().map(|(sym, _)| self.sym(sym)).collect();
            let sizes: Vec<usize> = all.iter().map(|(_, size)| self.size(size)).collect();
            format!("{} {}", numbers(&syms), numbers(&sizes))
        };
        let (there, back) = (values(there), values(back));
        let guards = numbers(&self.conds(guards));
        self.node(format!("member {place} {} {there} {back} {guards}", numbers(pairing)))
    }

    fn rewrites(&mut self, steps: &[Rewrite]) -> Result<Vec<usize>, Untold> {
        let mut places = Vec::new();
        for Rewrite { by, after } in steps {
            let after = self.term(after)?;
            let line = match by {
                Rewriting::Bits => format!("rewrite bits {after}"),
                Rewriting::Combined(how) => format!("rewrite combined {after} {}", self.combining(how)?),
            };
            places.push(self.node(line));
        }
        Ok(places)
    }

    fn merge(&mut self, merge: &Merge) -> Result<usize, Untold> {
        let mut reduction = |r: &Reduce| {
            let span = r.body.span();
            self.term(&Term::reduce(r.op.clone(), r.binders.clone(), r.body.clone(), span))
        };
        let (first, second) = (reduction(&merge.first)?, reduction(&merge.second)?);
        let indices: Vec<usize> = merge.indices.iter().map(|sym| self.sym(sym)).collect();
        let (left, right) = (self.term(&merge.left)?, self.term(&merge.right)?);
        let proof = self.proof(&merge.proof)?;
        let lists = format!("{} {}", numbers(&merge.order), numbers(&indices));
        Ok(self.node(format!("merge {first} {second} {lists} {left} {right} {proof}")))
    }

    fn combinings(&mut self, parts: &[Combining]) -> Result<Vec<usize>, Untold> {
        parts.iter().map(|part| self.combining(part)).collect()
    }

    fn combining(&mut self, combining: &Combining) -> Result<usize, Untold> {
        let line = match combining {
            Combining::Kept => "combining kept".to_string(),
            Combining::Inside(parts) => format!("combining inside{}", refs(&self.combinings(parts)?)),
            Combining::Under(binders, inside) => {
                let binders = self.binders(binders);
                format!("combining under {}{}", self.combining(inside)?, refs(&binders))
            }
            Combining::Negated(rest) => format!("combining negated {}", self.combining(rest)?),
            Combining::Logarithm { argument, sum } => {
                format!("combining logarithm {} {}", self.combining(argument)?, self.combining(sum)?)
            }
            Combining::Combined { algebra, reading, reversed, extremes, after } => {
                let algebra = self.algebra(algebra)?;
                let (reading, after) = (self.reading(reading)?, self.term(after)?);
                let mut line = format!("combining combined {algebra} {reading} {after}{}", lists(reversed));
                for (at, extreme) in extremes.iter().enumerate() {
                    if let Some(extreme) = extreme {
                        line.push_str(&format!(" extreme {at} {}", self.extreme(extreme)?));
                    }
                }
                line
            }
        };
        Ok(self.node(line))
    }

    fn extreme(&mut self, extreme: &Extreme) -> Result<usize, Untold> {
        let Extreme { free, scale, rest, element, mapped, reversed, after } = extreme;
        let terms = [free, scale, rest, after].map(|term| self.term(term));
        let [free, scale, rest, after] = terms;
        let element = self.combining(element)?;
        let mapped = match mapped {
            None => "-".to_string(),
            Some(Mapped { extreme, reading: None }) => format!("of {}", self.combining(extreme)?),
            Some(Mapped { extreme, reading: Some(reading) }) => {
                format!("in {} {}", self.combining(extreme)?, self.reading(reading)?)
            }
        };
        let line = format!("extreme {} {} {} {}", free?, scale?, rest?, after?);
        Ok(self.node(format!("{line} {element} {mapped}{}", lists(reversed))))
    }

    fn reading(&mut self, reading: &Reading) -> Result<usize, Untold> {
        let how = match &reading.how {
            ReadAs::Neutral => "neutral".to_string(),
            ReadAs::Number => "number".to_string(),
            ReadAs::Size => "size".to_string(),
            ReadAs::Both(a, b) => format!("both {} {}", self.reading(a)?, self.reading(b)?),
            ReadAs::Difference(a, b) => format!("difference {} {}", self.reading(a)?, self.reading(b)?),
            ReadAs::Opposite(a) => format!("opposite {}", self.reading(a)?),
            ReadAs::Product(a, b) => format!("product {} {}", self.reading(a)?, self.reading(b)?),
            ReadAs::Merged(a, b) => format!("merged {} {}", self.reading(a)?, self.reading(b)?),
            ReadAs::Quotient { dividend, divisor } => {
                let dividend = match dividend {
                    Some(dividend) => self.reading(dividend)?.to_string(),
                    None => "-".to_string(),
                };
                format!("quotient {dividend} {}", self.combining(divisor)?)
            }
            ReadAs::Exponents(exponent) => format!("exponents {}", self.combining(exponent)?),
            ReadAs::After(how, reading) => {
                format!("after {} {}", self.combining(how)?, self.reading(reading)?)
            }
            ReadAs::Exponential(parts) => format!("exponential{}", refs(&self.combinings(parts)?)),
            ReadAs::Branches { cond, holds, fails } => {
                let cond = self.cond(cond);
                let mut case = |reading: &Option<Box<Reading>>| match reading {
                    Some(reading) => self.reading(reading).map(|place| place.to_string()),
                    None => Ok("-".to_string()),
                };
                format!("branches {cond} {} {}", case(holds)?, case(fails)?)
            }
            ReadAs::Split(parts) => {
                let mut line = "split".to_string();
                for (guards, reading) in parts {
                    let guards = numbers(&self.conds(guards));
                    line.push_str(&format!(" {guards} {}", self.reading(reading)?));
                }
                line
            }
            ReadAs::Factor { inner, tame } => {
                let inner = self.combining(inner)?;
                let tame = match tame {
                    None => "any".to_string(),
                    Some(Tame { question: None }) => "tame".to_string(),
                    Some(Tame { question: Some(question) }) => self.question(question).to_string(),
                };
                format!("factor {inner} {tame}")
            }
            ReadAs::Reduction { binders, body, narrowing } => {
                let (binders, body) = (numbers(&self.binders(binders)), self.reading(body)?);
                let mut line = format!("reduction {binders} {body}");
                for steps in narrowing {
                    let steps =
                        steps.iter().map(|step| self.narrowing(step)).collect::<Result<Vec<_>, _>>()?;
                    line.push_str(&format!(" {}", numbers(&steps)));
                }
                line
            }
        };
        let kept = match &reading.kept {
            None => "all".to_string(),
            Some(kept) => numbers(kept),
        };
        Ok(self.node(format!("reading {kept} {how}")))
    }

    fn narrowing(&mut self, step: &Narrowing) -> Result<usize, Untold> {
        let Narrowing::To(rule, parts) = step else { return Ok(self.node("narrowing done".into())) };
        let parts = parts.iter().map(|part| self.monomial(part)).collect::<Result<Vec<_>, _>>()?;
        let rule = match rule {
            Rule::Follows(at) => format!("follows {at}"),
            Rule::Nothing => "nothing".to_string(),
            Rule::Conjunction(at) => format!("conjunction {at}"),
            Rule::Alternatives(at, ways) => format!("alternatives {at} {}", numbers(&self.conds(ways))),
            Rule::Value(at, value) => format!("value {at} {}", self.size(value)),
            Rule::Reindexed { at, there, back, extent } => {
                let sizes = [there, back, extent].map(|size| self.size(size));
                format!("reindexed {at}{}", refs(&sizes))
            }
            Rule::Idle(at) => format!("idle {at}"),
            Rule::Each(at) => format!("each {at}"),
        };
        Ok(self.node(format!("narrowing {} {rule}", numbers(&parts))))
    }

    fn shown(&mut self, shown: &Shown) -> Result<usize, Untold> {
        let facts = numbers(&self.conds(&shown.facts));
        let hypotheses = numbers(&self.terms(&shown.hypotheses)?);
        let (left, right) = (self.term(&shown.left)?, self.term(&shown.right)?);
        let proof = self.proof(&shown.proof)?;
        let (mode, directed) = (shown.mode.name(), shown.directed);
        Ok(self.node(format!("shown {mode} {directed} {facts} {hypotheses} {left} {right} {proof}")))
    }

    fn part(&mut self, contract: Contract, part: &Part) -> Result<usize, Untold> {
        let line = match part {
            Part::Sizes { facts, goal } => {
                format!("part {} sizes {} {}", contract.name(), numbers(&self.conds(facts)), self.cond(goal))
            }
            Part::Values(shown) => format!("part {} values {}", contract.name(), self.shown(shown)?),
        };
        Ok(self.node(line))
    }

    fn instance(&mut self, instance: &Certified) -> Result<usize, Untold> {
        let mut parts = Vec::new();
        for (contract, part) in &instance.parts {
            parts.push(self.part(*contract, part)?);
        }
        Ok(self.node(format!("instance {}{}", escaped(&instance.choice), refs(&parts))))
    }
}
