//! The arguments of a run: `x=data.npz:key`, `x=[[1.0, 2.0]]`, `x=randn(2, 3):7@f16`.
//!
//! * Invariants: reading an argument never panics; a generator's result depends on its
//!   text, the seed and the stream only.

mod generator;
mod literal;

use std::path::PathBuf;

use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Value, cast};
use rtv_semantics::tensor::{Tensor, TensorError};

use crate::array::Array;
use crate::io::{self, Format, placeless, quoted};
use crate::loops::ArrayDecl;
use crate::random::Stream;

pub use generator::Generator;
pub use literal::Literal;

/// An argument is not written as one.
pub const BAD_ARGUMENT: Code = Code(808);

/// Where an argument's value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    File { path: PathBuf, key: Option<String> },
    Literal(Literal),
    Generator(Generator),
}

/// One `--arg`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    pub name: String,
    pub source: Source,
    /// The dtype after `@`.
    pub dtype: Option<DType>,
}

/// What decides an argument's value beside its text.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The parameter's dtype, where it is known; `@dtype` in the text wins.
    pub dtype: Option<DType>,
    pub domain: Domain,
    /// For generators that name no seed.
    pub stream: Stream,
}

/// The value of an argument.
#[derive(Clone, Debug)]
pub enum Input {
    /// As bytes: what a file held.
    Array(Array),
    Tensor(Tensor),
}

impl Input {
    pub fn decl(&self) -> ArrayDecl {
        match self {
            Input::Array(array) => array.decl(),
            Input::Tensor(tensor) => ArrayDecl { dtype: tensor.dtype, shape: tensor.shape().to_vec() },
        }
    }

    pub fn into_tensor(self) -> Tensor {
        match self {
            Input::Array(array) => array.to_tensor(),
            Input::Tensor(tensor) => tensor,
        }
    }

    /// # Errors
    /// When an element is exact: it has no bytes.
    pub fn into_array(self) -> Result<Array, TensorError> {
        match self {
            Input::Array(array) => Ok(array),
            Input::Tensor(tensor) => Array::from_tensor(&tensor),
        }
    }
}

impl Argument {
    /// Reads `NAME=VALUE`, where VALUE is a tensor file with `:KEY` for archives, a
    /// literal, or a generator call with `:SEED`; `@DTYPE` may follow each.
    pub fn parse(text: &str) -> Result<Argument, Diagnostic> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| bad(format!("the argument {} has no `=`", quoted(text))))?;
        let name = name.trim();
        let plain = |c: char| c.is_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(bad(format!("{} is not the name of a parameter", quoted(name))));
        }
        let (value, dtype) = match value.rsplit_once('@') {
            Some((value, suffix)) if DType::from_name(suffix.trim()).is_some() => {
                (value, DType::from_name(suffix.trim()))
            }
            _ => (value, None),
        };
        let value = value.trim();
        let source = match file(value) {
            Some(file) => file,
            None => parse_value(value).map_err(|why| {
                let fact = format!("{} is no value for `{name}`: {why}", quoted(value));
                bad(fact)
            })?,
        };
        Ok(Argument { name: name.to_string(), source, dtype })
    }

    /// What this argument stands for; a file is read as bytes where they are all that is
    /// asked for.
    pub fn input(&self, setting: &Setting) -> Result<Input, Diagnostic> {
        match &self.source {
            Source::File { path, key } if setting.domain == Domain::Ieee => {
                let array = io::read_array(path, key.as_deref())?;
                if self.dtype.is_none_or(|dtype| dtype == array.dtype) {
                    return Ok(Input::Array(array));
                }
                let tensor = convert(array.to_tensor(), self.dtype, setting.domain);
                tensor.map(Input::Tensor).map_err(|why| self.explain(why))
            }
            _ => self.tensor(setting).map(Input::Tensor),
        }
    }

    fn explain(&self, why: String) -> Diagnostic {
        bad(format!("the argument `{}`: {why}", self.name))
    }

    /// The tensor this argument stands for.
    pub fn tensor(&self, setting: &Setting) -> Result<Tensor, Diagnostic> {
        let wanted = self.dtype.or(setting.dtype);
        let explain = |why: String| self.explain(why);
        match &self.source {
            Source::File { path, key } => {
                let tensor = io::read(path, key.as_deref())?;
                convert(tensor, self.dtype, setting.domain).map_err(explain)
            }
            Source::Literal(literal) => literal.tensor(wanted, setting.domain).map_err(explain),
            Source::Generator(generator) => {
                generator.tensor(wanted, setting.domain, setting.stream).map_err(explain)
            }
        }
    }
}

fn bad(fact: String) -> Diagnostic {
    placeless(BAD_ARGUMENT, fact).help(
        "write NAME=file.npy, NAME=file.npz:KEY, NAME=[[1.0, 2.0]], NAME=randn(2, 3):SEED, \
         each with @DTYPE at its end if need be",
    )
}

/// A value that names a tensor file by its ending.
fn file(text: &str) -> Option<Source> {
    let keyed = Format::ALL.into_iter().find_map(|format| {
        let at = text.find(&format!("{}:", format.ending()))? + format.ending().len();
        Some((text[..at].into(), Some(text[at + 1..].to_string())))
    });
    let plain = || Format::of(text).map(|_| (text.into(), None));
    let (path, key) = keyed.or_else(plain)?;
    Some(Source::File { path, key })
}

fn parse_value(text: &str) -> Result<Source, String> {
    match Generator::parse(text)? {
        Some(generator) => Ok(Source::Generator(generator)),
        None => Literal::parse(text).map(Source::Literal).map_err(|why| {
            let path = text.contains('/') || text.contains('.') && !text.contains('[');
            if path { format!("{why}, nor a file ending in .npy, .npz or .safetensors") } else { why }
        }),
    }
}

/// A stored tensor in another dtype and domain.
fn convert(tensor: Tensor, to: Option<DType>, domain: Domain) -> Result<Tensor, String> {
    let from = tensor.dtype;
    let to = to.unwrap_or(from);
    if from == to && domain == Domain::Ieee {
        return Ok(tensor);
    }
    let values: Result<Vec<Value>, String> = tensor
        .values()
        .map(|value| match cast(Domain::Ieee, from, to, value) {
            Ok(Value::Float(x)) => Ok(Value::float(x, to, domain)),
            Ok(value) => Ok(value),
            Err(why) => Err(why.to_string()),
        })
        .collect();
    Tensor::new(to, tensor.shape(), values?).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests;
