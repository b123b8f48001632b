//! What can be wrong with a derivation.

use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use std::fmt;
use std::sync::Arc;

/// Why a derivation is refused, and where.
#[derive(Clone, PartialEq, Debug)]
pub struct Refused {
    pub at: Place,
    pub fault: Fault,
}

/// A place in a derivation, each counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The source, or all of it.
    Whole,
    Term(usize),
    Application(usize),
    Line(usize),
}

/// What is wrong.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    Timeout,
    /// It has more of these than are looked at.
    TooMany(&'static str),
    /// The mode is none in which programs are equal.
    Mode(Mode),
    /// A term, an application or a line that does not come before the place where it is used.
    NotBefore(&'static str, usize),
    /// No part of a term is where a path leads.
    Path,
    /// A term that calls no operator, or one whose body does not say all of it.
    Definition,
    /// A term that is none of literals, or that no literal is equal to.
    Constant,
    /// A head is applied to so many parts, or parts of such types, as it does not take.
    Parts,
    /// No rule of this name is proved for these dtypes and this rank.
    NotProved(Arc<str>),
    /// The rule is proved in this mode only, and the derivation asks for more.
    Weaker(Arc<str>, Mode),
    /// The rule is proved in its mode, which does not make it hold in that of the derivation.
    NotIn(Arc<str>, Mode),
    /// Not one size for each that is open in the rule.
    Sizes,
    /// A size is made of a symbol that the source does not have.
    Symbol(String),
    /// A size that a rule is applied to does not follow to be natural, or to have a value.
    Size(String),
    /// A precondition on sizes that does not follow.
    Requires(Cond),
    /// A precondition on data that is not shown.
    OnData(String),
    /// Not one value for each parameter, or one of another type.
    Value(String),
    /// An error of a value could be lost: nothing depends on it on one side.
    Drops(String),
    /// A value may be infinite or undefined, and the rule is about numbers.
    NotFinite(Arc<str>),
    /// The left side of a rule that goes one way may end in an error.
    MayFail(Arc<str>),
    /// The left side of a rule that goes one way may be undefined.
    MayBeUndefined(Arc<str>),
    /// The terms of a line are not the sides of its application.
    Sides,
    /// The right term of a line is not the body of the operator that the left one calls.
    NotTheBody,
    /// The right term of a line is not the literal that the left one is equal to.
    NotTheConstant,
    /// The terms of a line have different heads.
    Heads,
    /// The parts at this place are not those that the line named for them is about.
    Part(usize),
    /// The line at this place of a chain does not begin where the one before it ended.
    Chain(usize),
    /// The last line is not about the source.
    NotTheSource,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Place::Whole => self.fault.fmt(f),
            Place::Term(at) => write!(f, "term {at}: {}", self.fault),
            Place::Application(at) => write!(f, "application {at}: {}", self.fault),
            Place::Line(at) => write!(f, "line {at}: {}", self.fault),
        }
    }
}

impl std::error::Error for Refused {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Timeout => f.write_str("it takes more time than there is"),
            Fault::TooMany(what) => write!(f, "it has too many {what}"),
            Fault::Mode(mode) => write!(f, "programs are not derived `{mode}`"),
            Fault::NotBefore(what, at) => write!(f, "{what} {at} does not come before"),
            Fault::Path => f.write_str("there is no part where the path leads"),
            Fault::Definition => f.write_str("it calls no operator that is as its body says"),
            Fault::Constant => f.write_str("it is equal to no literal"),
            Fault::Parts => f.write_str("the parts do not fit the head"),
            Fault::NotProved(rule) => write!(f, "no rule `{rule}` is proved for these dtypes and this rank"),
            Fault::Weaker(rule, mode) => write!(f, "`{rule}` holds up to {mode} only"),
            Fault::NotIn(rule, mode) => write!(f, "`{rule}` is not known to hold up to {mode}"),
            Fault::Sizes => f.write_str("the rule has another number of sizes"),
            Fault::Symbol(name) => write!(f, "the source has no size `{name}`"),
            Fault::Size(size) => write!(f, "`{size}` is not known to be a size"),
            Fault::Requires(cond) => write!(f, "`{cond}` does not follow"),
            Fault::OnData(text) => write!(f, "`{text}` is not shown"),
            Fault::Value(text) => f.write_str(text),
            Fault::Drops(what) => write!(f, "an error in {what} could be lost"),
            Fault::NotFinite(param) => write!(f, "the value of `{param}` is not known to be finite"),
            Fault::MayFail(rule) => write!(f, "the left side of `{rule}` may fail here"),
            Fault::MayBeUndefined(rule) => write!(f, "the left side of `{rule}` may be undefined here"),
            Fault::Sides => f.write_str("these are not the sides of the rule"),
            Fault::NotTheBody => f.write_str("the right term is not the body of the operator"),
            Fault::NotTheConstant => {
                f.write_str("the right term is not the literal that the left is equal to")
            }
            Fault::Heads => f.write_str("the terms have different heads"),
            Fault::Part(at) => write!(f, "part {at} is not what the line named for it is about"),
            Fault::Chain(at) => write!(f, "step {at} begins elsewhere"),
            Fault::NotTheSource => f.write_str("the last line is not about the source"),
        }
    }
}
