//! Facets as one line, which reads back: `real; not exact: x = inf, rounding; worst 3 ulp
//! in f32; 480 inputs`.

use super::{Cause, Decided, Facets, Special};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::Mode;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

const NOT_EXACT: &str = "not exact: ";
const NOT_SHOWN: &str = "not shown exact";
const WORST: &str = "worst ";
const INPUTS: &str = " inputs";

/// The causes without a parameter, with their words.
const OTHERS: [(Cause, &str); 6] = [
    (Cause::Together, "special values together"),
    (Cause::Overflow, "overflow"),
    (Cause::Undefined, "nan of numbers"),
    (Cause::SignOfZero, "sign of zero"),
    (Cause::Error, "error"),
    (Cause::Rounding, "rounding"),
];

/// The answers of the theory of floats, with their words.
const THEORY: [(Decided, &str); 3] = [
    (Decided::Theory(Some(true)), "exact in the theory of floats"),
    (Decided::Theory(Some(false)), "not exact in the theory of floats"),
    (Decided::Theory(None), "no answer in the theory of floats"),
];

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::At(param, special) => write!(f, "{param} = {}", special.name()),
            ordinary => {
                let word = OTHERS.iter().find(|(cause, _)| cause == ordinary);
                f.write_str(word.expect("invariant: every other cause is listed").1)
            }
        }
    }
}

impl FromStr for Cause {
    type Err = ();

    fn from_str(text: &str) -> Result<Cause, ()> {
        if let Some((cause, _)) = OTHERS.iter().find(|(_, word)| *word == text) {
            return Ok(cause.clone());
        }
        let (param, value) = text.split_once(" = ").ok_or(())?;
        let special = Special::ALL.into_iter().find(|special| special.name() == value).ok_or(())?;
        Ok(Cause::At(Arc::from(param), special))
    }
}

impl fmt::Display for Facets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.strongest)?;
        if !self.apart.is_empty() {
            let causes: Vec<String> = self.apart.keys().map(Cause::to_string).collect();
            write!(f, "; {NOT_EXACT}{}", causes.join(", "))?;
        } else if self.strongest != Mode::Exact {
            write!(f, "; {NOT_SHOWN}")?;
        }
        let worst: Vec<String> =
            self.worst.iter().map(|(dtype, distance)| format!("{distance} ulp in {dtype}")).collect();
        if !worst.is_empty() {
            write!(f, "; {WORST}{}", worst.join(", "))?;
        }
        for (dtype, decided) in &self.decided {
            write!(f, "; {dtype}: {decided}")?;
        }
        write!(f, "; {}{INPUTS}", self.inputs)
    }
}

impl FromStr for Facets {
    type Err = ();

    fn from_str(text: &str) -> Result<Facets, ()> {
        let mut parts = text.split("; ");
        let strongest = parts.next().ok_or(())?;
        let modes = [Mode::Exact, Mode::Reassoc, Mode::Real];
        let strongest = modes.into_iter().find(|mode| mode.name() == strongest).ok_or(())?;
        let mut facets = Facets::none(strongest);
        for part in parts {
            if let Some(causes) = part.strip_prefix(NOT_EXACT) {
                let causes = causes.split(", ").map(|cause| Ok((cause.parse()?, None)));
                facets.apart = causes.collect::<Result<_, ()>>()?;
            } else if let Some(worst) = part.strip_prefix(WORST) {
                facets.worst = worst.split(", ").map(distance).collect::<Option<_>>().ok_or(())?;
            } else if let Some(inputs) = part.strip_suffix(INPUTS) {
                facets.inputs = inputs.parse().map_err(|_| ())?;
            } else if let Some((dtype, decided)) = part.split_once(": ") {
                let dtype = DType::from_name(dtype).ok_or(())?;
                facets.decided.push((dtype, decided.parse()?));
            } else if part != NOT_SHOWN {
                return Err(());
            }
        }
        Ok(facets)
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decided::Run { inputs, differ, all: true } => write!(f, "{differ} of all {inputs} differ"),
            Decided::Run { inputs, differ, all: false } => write!(f, "{differ} of {inputs} differ"),
            theory => {
                let word = THEORY.iter().find(|(decided, _)| decided == theory);
                f.write_str(word.expect("invariant: every answer is listed").1)
            }
        }
    }
}

impl FromStr for Decided {
    type Err = ();

    fn from_str(text: &str) -> Result<Decided, ()> {
        if let Some((decided, _)) = THEORY.iter().find(|(_, word)| *word == text) {
            return Ok(*decided);
        }
        let counts = text.strip_suffix(" differ").and_then(|text| text.split_once(" of "));
        let (differ, of) = counts.ok_or(())?;
        let (all, inputs) = match of.strip_prefix("all ") {
            Some(inputs) => (true, inputs),
            None => (false, of),
        };
        let number = |text: &str| text.parse().map_err(|_| ());
        Ok(Decided::Run { inputs: number(inputs)?, differ: number(differ)?, all })
    }
}

/// `3 ulp in f32`
fn distance(text: &str) -> Option<(DType, u64)> {
    let (distance, dtype) = text.split_once(" ulp in ")?;
    Some((DType::from_name(dtype)?, distance.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back() {
        let lines = [
            "exact; 12 inputs",
            "real; not shown exact; 480 inputs",
            "reassoc; not exact: x = nan, x = -0.0, y = inf, overflow, rounding; \
             worst 3 ulp in f16, 0 ulp in f32; f16: 3 of all 65536 differ; 1 inputs",
            "real; not exact: special values together; f16: 0 of 12 differ; 12 inputs",
            "real; not shown exact; f16: exact in the theory of floats; \
             f32: no answer in the theory of floats; 3 inputs",
        ];
        for line in lines {
            assert_eq!(line.parse::<Facets>().map(|facets| facets.to_string()), Ok(line.to_string()));
        }
        for wrong in ["", "close; 1 inputs", "real; not exact: x = 3; 1 inputs", "real; perhaps"] {
            assert!(wrong.parse::<Facets>().is_err(), "{wrong}");
        }
    }
}
