//! Tensors made by a rule: `randn(2, 3):7`, `zeros(4)`, `arange(6)`; names and argument
//! order as in PyTorch.

use std::ops::Range;
use std::sync::OnceLock;

use rtv_semantics::dtype::{Category, DType};
use rtv_semantics::scalar::{Domain, Value, cast};
use rtv_semantics::tensor::Tensor;

use super::literal::{Literal, Reader};
use crate::cpu::Pool;
use crate::io::{numel, quoted};
use crate::random::Stream;

/// Elements that one thread makes at a time, an even number.
const PART: u64 = 1 << 14;

const FORMS: &str = "randn(*size), uniform(*size), randint(low, high, [size]), zeros(*size), \
                     ones(*size), full([size], value), arange(start, end, step)";

#[derive(Clone, PartialEq, Eq, Debug)]
enum Rule {
    /// Standard normal.
    Randn,
    /// Uniform in `[0, 1)`.
    Uniform,
    Randint {
        low: i64,
        high: i64,
    },
    /// 0 or 1 everywhere.
    Same(i32),
    /// One number everywhere, as written.
    Full(Literal),
    Arange {
        start: i64,
        step: i64,
    },
}

/// A generator call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generator {
    rule: Rule,
    shape: Vec<usize>,
    seed: Option<u64>,
}

impl Generator {
    /// `None` if the text is no call.
    pub fn parse(text: &str) -> Result<Option<Generator>, String> {
        let mut reader = Reader { rest: text };
        let name = reader.word();
        if !name.starts_with(char::is_alphabetic) || !reader.eat('(') {
            return Ok(None);
        }
        let args = reader.items(')', 1)?;
        let seed = if reader.eat(':') {
            let word = reader.word();
            Some(word.parse().map_err(|_| format!("{} is no seed", quoted(word)))?)
        } else {
            None
        };
        reader.end()?;
        let (rule, shape) = rule(name, &args)?;
        if seed.is_some() && !matches!(rule, Rule::Randn | Rule::Uniform | Rule::Randint { .. }) {
            return Err(format!("`{name}` draws nothing and takes no seed"));
        }
        Ok(Some(Generator { rule, shape, seed }))
    }

    /// The tensor; a seed in the text gives stream 0 of that seed.
    pub fn tensor(&self, dtype: Option<DType>, domain: Domain, stream: Stream) -> Result<Tensor, String> {
        let stream = self.seed.map_or(stream, |seed| Stream { seed, number: 0 });
        let count = numel(&self.shape)? as u64;
        let dtype = dtype.unwrap_or(self.rule.own_dtype());
        let parts: Vec<OnceLock<_>> = (0..count.div_ceil(PART)).map(|_| OnceLock::new()).collect();
        Pool::global().run(parts.len(), &|part| {
            let start = part as u64 * PART;
            let elements = start..count.min(start + PART);
            parts[part].get_or_init(|| self.rule.elements(elements, dtype, domain, stream));
        });
        let mut values = Vec::with_capacity(count as usize);
        for part in parts {
            values.extend(part.into_inner().expect("invariant: the pool runs each task")?);
        }
        Tensor::new(dtype, &self.shape, values).map_err(|why| why.to_string())
    }
}

impl Rule {
    fn own_dtype(&self) -> DType {
        match self {
            Rule::Randn | Rule::Uniform | Rule::Same(_) => DType::F32,
            Rule::Randint { .. } | Rule::Arange { .. } => DType::I64,
            Rule::Full(value) => value.own_dtype(),
        }
    }

    /// Some of the elements, from one with an even number on.
    fn elements(
        &self,
        range: Range<u64>,
        dtype: DType,
        domain: Domain,
        stream: Stream,
    ) -> Result<Vec<Value>, String> {
        let float = |x: f64| match dtype.category() {
            // The exact domain gets the rounded number, so that both see one input.
            Category::Float => Ok(Value::float(Value::round(x, dtype), dtype, domain)),
            _ => Err(format!("random floats are no {dtype}; use randint")),
        };
        let whole = |x: i64| cast(domain, DType::I64, dtype, &Value::Int(x)).map_err(|why| why.to_string());
        match self {
            Rule::Randn => {
                let blocks = range.start / 2..range.end.div_ceil(2);
                let normals = blocks.flat_map(|block| stream.normals(block));
                normals.zip(range).map(|(x, _)| float(x)).collect()
            }
            Rule::Uniform => range.map(|i| float(stream.uniform(i, dtype))).collect(),
            Rule::Randint { low, high } => range.map(|i| whole(stream.integer(i, *low, *high))).collect(),
            Rule::Arange { start, step } => {
                // In range: the count was computed from the end.
                range.map(|i| whole(start.wrapping_add((i as i64).wrapping_mul(*step)))).collect()
            }
            Rule::Same(x) => range.map(|_| Ok(Value::small(*x, dtype, domain))).collect(),
            Rule::Full(value) => range.map(|_| value.element(dtype, domain)).collect(),
        }
    }
}

fn rule(name: &str, args: &[Literal]) -> Result<(Rule, Vec<usize>), String> {
    match (name, args) {
        ("randn", size) => Ok((Rule::Randn, shape(size)?)),
        ("uniform", size) => Ok((Rule::Uniform, shape(size)?)),
        ("zeros", size) => Ok((Rule::Same(0), shape(size)?)),
        ("ones", size) => Ok((Rule::Same(1), shape(size)?)),
        ("full", [size @ Literal::List(_), value @ Literal::Word(_)]) => {
            Ok((Rule::Full(value.clone()), shape(std::slice::from_ref(size))?))
        }
        ("randint", [low, high, size @ Literal::List(_)]) => {
            let (low, high) = (int(low)?, int(high)?);
            if low >= high {
                return Err(format!("randint needs low < high, not {low} and {high}"));
            }
            Ok((Rule::Randint { low, high }, shape(std::slice::from_ref(size))?))
        }
        ("arange", [end]) => arange(0, int(end)?, 1),
        ("arange", [start, end]) => arange(int(start)?, int(end)?, 1),
        ("arange", [start, end, step]) => arange(int(start)?, int(end)?, int(step)?),
        ("full" | "randint" | "arange", _) => {
            Err(format!("`{name}` takes other arguments; the forms are {FORMS}"))
        }
        _ => Err(format!("there is no generator {}; there are {FORMS}", quoted(name))),
    }
}

fn arange(start: i64, end: i64, step: i64) -> Result<(Rule, Vec<usize>), String> {
    if step == 0 {
        return Err("arange needs a step other than 0".into());
    }
    let (span, stride) = (i128::from(end) - i128::from(start), i128::from(step));
    let count = if (span < 0) == (stride < 0) { span.abs() + stride.abs() - 1 } else { 0 };
    let count = usize::try_from(count / stride.abs()).map_err(|why| why.to_string())?;
    Ok((Rule::Arange { start, step }, vec![count]))
}

/// Extents given one by one or as one list.
fn shape(args: &[Literal]) -> Result<Vec<usize>, String> {
    let extents = match args {
        [Literal::List(extents)] => extents,
        _ => args,
    };
    let extent = |literal| {
        let number = int(literal)?;
        usize::try_from(number).map_err(|_| format!("{number} is no extent"))
    };
    extents.iter().map(extent).collect()
}

fn int(literal: &Literal) -> Result<i64, String> {
    match literal {
        Literal::Word(word) => word.parse().map_err(|_| format!("{} is no whole number", quoted(word))),
        Literal::Text(_) | Literal::List(_) => Err("a list or text stands for a number".into()),
    }
}
