//! Steps of proofs: readings, combinations, frames, and what they rest on.

use super::super::Shown;
use super::terms::scalar_dtype;
use super::{Reader, Words};
use rtv_semantics::program::Mode;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::term::{Form, Reduce, Term};
use rtv_smt::{
    Algebra, Combining, Extreme, Fit, Frame, Mapped, Member, Narrowing, Proof, ReadAs, Reading, Rule, Tame,
};

/// Monomials of one combination.
const MAX_PARTS: usize = 200;

impl Words<'_> {
    pub(super) fn proof(&mut self) -> Option<Proof> {
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

    pub(super) fn algebra(&mut self) -> Option<Algebra> {
        Some(match self.word()? {
            "ring" => Algebra::Ring,
            _ => {
                self.at -= 1;
                Algebra::Monoid(self.monoid()?)
            }
        })
    }

    pub(super) fn member(&mut self) -> Option<Member> {
        let place = self.number()?;
        if self.peek().is_none() {
            return Some(Member { place, fit: None });
        }
        let pairing = self.numbers()?;
        let (there, back) = (self.values()?, self.values()?);
        let guards = self.list(Reader::cond)?;
        Some(Member { place, fit: Some(Fit { pairing, there, back, guards }) })
    }

    pub(super) fn values(&mut self) -> Option<Vec<(Sym, Size)>> {
        let (syms, sizes) = (self.list(Reader::sym)?, self.list(Reader::size)?);
        (syms.len() == sizes.len()).then(|| syms.into_iter().zip(sizes).collect())
    }

    pub(super) fn combining(&mut self) -> Option<Combining> {
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

    pub(super) fn extreme(&mut self) -> Option<Extreme> {
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

    pub(super) fn reading(&mut self) -> Option<Reading> {
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

    pub(super) fn narrowing(&mut self) -> Option<Narrowing> {
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

    pub(super) fn shown(&mut self) -> Option<Shown> {
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

pub(super) fn reduction(term: Term) -> Option<Reduce> {
    match term.form() {
        Form::Reduce(reduce) => Some(reduce.clone()),
        _ => None,
    }
}
