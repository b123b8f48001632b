//! Tensors and static arguments written out: `[[1.0, 2.0]]`, `3`, `true`, `"mean"`.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::tensor::Tensor;

use crate::io::{MAX_RANK, quoted};

/// A literal as written; numbers keep their digits, so that the exact domain sees the
/// decimal and no rounding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Literal {
    /// `3`, `-1.5e3`, `inf`, `true`, `none`, `f32`.
    Word(String),
    /// `"text"`.
    Text(String),
    /// `[a, b]`
    List(Vec<Literal>),
}

impl Literal {
    pub fn parse(text: &str) -> Result<Literal, String> {
        let mut reader = Reader { rest: text };
        let literal = reader.literal(0)?;
        reader.end()?;
        Ok(literal)
    }

    /// A tensor of `dtype`, or of the dtype the literal has by itself: bool, i64, f32.
    pub fn tensor(&self, dtype: Option<DType>, domain: Domain) -> Result<Tensor, String> {
        let mut shape = Vec::new();
        self.first_extents(&mut shape);
        let mut words = Vec::new();
        self.collect(&shape, &mut words)?;
        let dtype = dtype.unwrap_or_else(|| dtype_of(&words));
        let values: Result<Vec<Value>, String> = words
            .iter()
            .map(|word| Value::literal(word, dtype, domain).map_err(|why| why.to_string()))
            .collect();
        Tensor::new(dtype, &shape, values?).map_err(|why| why.to_string())
    }

    /// The extents along first elements; [`Literal::collect`] holds the others against them.
    fn first_extents(&self, shape: &mut Vec<usize>) {
        if let Literal::List(parts) = self {
            shape.push(parts.len());
            if let Some(first) = parts.first() {
                first.first_extents(shape);
            }
        }
    }

    fn collect<'a>(&'a self, shape: &[usize], words: &mut Vec<&'a str>) -> Result<(), String> {
        match (self, shape) {
            (Literal::Word(word), []) => {
                words.push(word);
                Ok(())
            }
            (Literal::List(parts), [extent, inner @ ..]) if parts.len() == *extent => {
                parts.iter().try_for_each(|part| part.collect(inner, words))
            }
            (Literal::List(parts), [extent, ..]) => {
                Err(format!("rows of {extent} and of {} elements", parts.len()))
            }
            (Literal::List(_), []) => Err("a list stands where its neighbours are numbers".into()),
            (Literal::Word(word), _) => Err(format!("`{word}` stands where its neighbours are lists")),
            (Literal::Text(text), _) => Err(format!("the text {} is no number", quoted(text))),
        }
    }

    /// The dtype of the literal by itself.
    pub(super) fn own_dtype(&self) -> DType {
        match self {
            Literal::Word(word) => dtype_of(&[word]),
            Literal::Text(_) | Literal::List(_) => DType::F32,
        }
    }

    /// One element.
    pub(super) fn element(&self, dtype: DType, domain: Domain) -> Result<Value, String> {
        match self {
            Literal::Word(word) => Value::literal(word, dtype, domain).map_err(|why| why.to_string()),
            Literal::Text(_) | Literal::List(_) => Err("an element is one number".into()),
        }
    }

    /// The value, if it is a whole number.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Literal::Word(word) => word.parse().ok(),
            Literal::Text(_) | Literal::List(_) => None,
        }
    }
}

/// bool if all words are, i64 if all are whole numbers, else f32.
fn dtype_of(words: &[&str]) -> DType {
    let all = |test: fn(&str) -> bool| !words.is_empty() && words.iter().all(|w| test(w));
    if all(|w| w == "true" || w == "false") {
        DType::Bool
    } else if all(|w| w.parse::<i64>().is_ok()) {
        DType::I64
    } else {
        DType::F32
    }
}

/// Reads from the front of a text.
pub(super) struct Reader<'a> {
    pub rest: &'a str,
}

impl<'a> Reader<'a> {
    pub fn eat(&mut self, mark: char) -> bool {
        match self.rest.trim_start().strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub fn end(&self) -> Result<(), String> {
        match self.rest.trim() {
            "" => Ok(()),
            rest => Err(format!("{} is left over", quoted(rest))),
        }
    }

    /// Letters, digits, and what numbers are made of; may be empty.
    pub fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
        let (word, rest) = text.split_at(text.find(|c| !part(c)).unwrap_or(text.len()));
        self.rest = rest;
        word
    }

    fn literal(&mut self, depth: usize) -> Result<Literal, String> {
        if self.eat('[') {
            if depth >= MAX_RANK {
                return Err(format!("more than {MAX_RANK} brackets deep"));
            }
            return self.items(']', depth + 1).map(Literal::List);
        }
        if self.eat('"') {
            let (text, rest) = self.rest.split_once('"').ok_or("a text does not end")?;
            self.rest = rest;
            return Ok(Literal::Text(text.to_string()));
        }
        match self.word() {
            "" if self.rest.trim().is_empty() => Err("a value is missing".into()),
            "" => Err(format!("{} is no literal", quoted(self.rest.trim()))),
            word => Ok(Literal::Word(word.to_string())),
        }
    }

    /// Literals between commas up to `close`; a comma may stand at the end.
    pub fn items(&mut self, close: char, depth: usize) -> Result<Vec<Literal>, String> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(self.literal(depth)?);
            if !self.eat(',') {
                if self.eat(close) {
                    break;
                }
                return Err(format!("a `{close}` is missing"));
            }
        }
        Ok(items)
    }
}
