//! NumPy's `.npy`: a magic number, a header that is a Python dictionary, then the elements.
//!
//! Source: the format description of `numpy.lib.format`, versions 1.0 to 3.0.

use rtv_semantics::dtype::DType;

use super::{Flaw, from_bytes, numel, quoted, width};
use crate::array::Array;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read; a plain dtype and [`super::MAX_RANK`] extents need less.
const MAX_HEADER: usize = 1 << 16;

/// The dtypes NumPy has a code for.
const CODES: [(&str, DType); 9] = [
    ("b1", DType::Bool),
    ("u1", DType::U8),
    ("i1", DType::I8),
    ("i2", DType::I16),
    ("i4", DType::I32),
    ("i8", DType::I64),
    ("f2", DType::F16),
    ("f4", DType::F32),
    ("f8", DType::F64),
];

struct Header {
    dtype: DType,
    big_endian: bool,
    fortran_order: bool,
    shape: Vec<usize>,
}

pub(super) fn decode(bytes: &[u8]) -> Result<Array, Flaw> {
    let (header, data) = split(bytes)?;
    let header = Dictionary { rest: header }.parse()?;
    let swapped;
    let data = if header.big_endian {
        let size = width(header.dtype);
        swapped = data.chunks(size).flat_map(|c| c.iter().rev().copied()).collect::<Vec<u8>>();
        &swapped
    } else {
        data
    };
    if !header.fortran_order {
        return from_bytes(header.dtype, &header.shape, data);
    }
    let count = numel(&header.shape).map_err(Flaw::TooLarge)?;
    // Bytes that are too few or too many are told of as they are.
    let whole = count * width(header.dtype) == data.len();
    let rows = if whole { row_major(&header, data, count) } else { data.to_vec() };
    from_bytes(header.dtype, &header.shape, &rows)
}

/// The elements of column-major data, row-major.
fn row_major(header: &Header, data: &[u8], count: usize) -> Vec<u8> {
    let size = width(header.dtype);
    let mut rows = Vec::with_capacity(data.len());
    let mut index = vec![0; header.shape.len()];
    for _ in 0..count {
        let place = index.iter().zip(&header.shape).rev().fold(0, |place, (at, extent)| place * extent + at);
        rows.extend_from_slice(&data[place * size..(place + 1) * size]);
        for (at, extent) in index.iter_mut().zip(&header.shape).rev() {
            *at = (*at + 1) % extent;
            if *at != 0 {
                break;
            }
        }
    }
    rows
}

/// Header text and element bytes.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), Flaw> {
    let cut = || Flaw::corrupt("it ends within the header");
    let rest = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| Flaw::corrupt("it does not start with NumPy's magic number"))?;
    let (version, rest) = rest.split_at_checked(2).ok_or_else(cut)?;
    let (length, rest) = match version[0] {
        1 => {
            let (len, rest) = rest.split_at_checked(2).ok_or_else(cut)?;
            (u16::from_le_bytes([len[0], len[1]]) as usize, rest)
        }
        2 | 3 => {
            let (len, rest) = rest.split_at_checked(4).ok_or_else(cut)?;
            (u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize, rest)
        }
        other => {
            return Err(Flaw::corrupt(format!("version {other} of the format is unknown")));
        }
    };
    if length > MAX_HEADER {
        return Err(Flaw::corrupt(format!("the header claims {length} bytes")));
    }
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| Flaw::corrupt("the header is not text"))?;
    Ok((header, data))
}

/// Reader of the header's dictionary literal.
struct Dictionary<'a> {
    rest: &'a str,
}

impl<'a> Dictionary<'a> {
    fn parse(mut self) -> Result<Header, Flaw> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.eat('}') {
            let key = self.string()?;
            self.expect(':')?;
            let again = match key {
                "descr" => descr.replace(self.descr()?).is_some(),
                "fortran_order" => order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.tuple()?).is_some(),
                _ => {
                    return Err(Flaw::corrupt(format!("the header has an unknown key {}", quoted(key))));
                }
            };
            if again {
                return Err(Flaw::corrupt(format!("the header has {} twice", quoted(key))));
            }
            if !self.eat(',') {
                self.expect('}')?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(Flaw::corrupt("the header goes on after its dictionary"));
        }
        let missing = |key| Flaw::corrupt(format!("the header has no {key:?}"));
        let (dtype, big_endian) = descr.ok_or_else(|| missing("descr"))?;
        Ok(Header {
            dtype,
            big_endian,
            fortran_order: order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    fn eat(&mut self, mark: char) -> bool {
        match self.rest.trim_start().strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, mark: char) -> Result<(), Flaw> {
        if self.eat(mark) { Ok(()) } else { Err(Flaw::corrupt(format!("the header lacks a `{mark}`"))) }
    }

    fn string(&mut self) -> Result<&'a str, Flaw> {
        let quote = if self.eat('\'') { '\'' } else { '"' };
        if quote == '"' {
            self.expect('"')?;
        }
        let (text, rest) =
            self.rest.split_once(quote).ok_or_else(|| Flaw::corrupt("a text in the header does not end"))?;
        self.rest = rest;
        Ok(text)
    }

    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        word
    }

    fn boolean(&mut self) -> Result<bool, Flaw> {
        match self.word() {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(Flaw::corrupt("\"fortran_order\" is neither True nor False")),
        }
    }

    fn tuple(&mut self) -> Result<Vec<usize>, Flaw> {
        self.expect('(')?;
        let mut extents = Vec::new();
        while !self.eat(')') {
            // Python 2 wrote long integers as `3L`.
            let word = self.word();
            let digits = word.strip_suffix('L').unwrap_or(word);
            let extent = digits
                .parse::<usize>()
                .map_err(|_| Flaw::corrupt(format!("{} in the shape is no extent", quoted(word))))?;
            extents.push(extent);
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(extents)
    }

    fn descr(&mut self) -> Result<(DType, bool), Flaw> {
        if self.rest.trim_start().starts_with('[') {
            return Err(unsupported("records"));
        }
        let text = self.string()?;
        let (order, code) = match text.char_indices().nth(1) {
            Some((at, _)) => text.split_at(at),
            None => ("", text),
        };
        let Some((_, dtype)) = CODES.iter().find(|(known, _)| *known == code) else {
            return Err(unsupported(&format!("elements of NumPy's dtype {}", quoted(text))));
        };
        match order {
            "<" | "|" | "=" => Ok((*dtype, false)),
            ">" => Ok((*dtype, true)),
            _ => Err(Flaw::corrupt(format!("{} is no dtype", quoted(text)))),
        }
    }
}

fn unsupported(what: &str) -> Flaw {
    let help = "`.npy` is read for bool, u8, i8, i16, i32, i64, f16, f32 and f64; bf16 needs .safetensors";
    Flaw::Unsupported { what: what.to_string(), help }
}

pub(super) fn encode(array: &Array) -> Result<Vec<u8>, Flaw> {
    let Some((code, dtype)) = CODES.iter().find(|(_, dtype)| *dtype == array.dtype) else {
        return Err(Flaw::Unsupported {
            what: format!("NumPy's dtypes only, and the result is {}", array.dtype),
            help: "write a .safetensors file, or cast the result to f32",
        });
    };
    let order = if width(*dtype) == 1 { '|' } else { '<' };
    let extents: Vec<String> = array.shape.iter().map(|e| format!("{e},")).collect();
    let shape = extents.join(" ");
    let shape = if extents.len() > 1 { shape.trim_end_matches(',') } else { &shape };
    let mut header = format!("{{'descr': '{order}{code}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The elements start at a multiple of 64 bytes, the header ends in a line break.
    let fixed = MAGIC.len() + 4 + 1;
    let padding = (fixed + header.len()).next_multiple_of(64) - fixed - header.len();
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    let length = u16::try_from(header.len()).map_err(|_| Flaw::TooLarge("too many axes".into()))?;
    bytes.extend(length.to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(array.settled_bytes());
    Ok(bytes)
}
