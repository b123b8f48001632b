//! Tensor files: `.npy`, `.npz` and `.safetensors`.
//!
//! Files are not trusted: every length in a header is checked against the bytes that are
//! there before anything is allocated for it, and a file that breaks a rule of its format
//! is one coded diagnostic.

mod npy;
mod npz;
mod safetensors;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::tensor::Tensor;

use crate::array::Array;

/// A file cannot be read.
pub const UNREADABLE: Code = Code(801);
/// A file cannot be written.
pub const UNWRITABLE: Code = Code(802);
/// The name does not end in a known tensor format.
pub const UNKNOWN_FORMAT: Code = Code(803);
/// A tensor file breaks the rules of its format.
pub const CORRUPT: Code = Code(804);
/// A tensor file holds something the language has no dtype for.
pub const UNSUPPORTED: Code = Code(805);
/// A tensor is larger than [`MAX_ELEMENTS`] or a file larger than [`MAX_BYTES`].
pub const TOO_LARGE: Code = Code(806);
/// An archive does not say which tensor is meant, or has none of that name.
pub const NO_SUCH_KEY: Code = Code(807);

/// Most elements of one tensor that is read, written or generated.
pub const MAX_ELEMENTS: usize = 1 << 26;
/// Most bytes of one file, and of one unpacked archive member.
pub const MAX_BYTES: u64 = 1 << 29;
/// Most axes of one tensor, as in NumPy.
pub const MAX_RANK: usize = 64;

/// A tensor file format, told by the file's ending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Npy,
    Npz,
    Safetensors,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Npy, Format::Npz, Format::Safetensors];

    pub fn ending(self) -> &'static str {
        match self {
            Format::Npy => ".npy",
            Format::Npz => ".npz",
            Format::Safetensors => ".safetensors",
        }
    }

    /// The format a file name says.
    pub fn of(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| name.ends_with(f.ending()))
    }
}

/// Why bytes are not a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Flaw {
    Corrupt(String),
    Unsupported {
        what: String,
        help: &'static str,
    },
    TooLarge(String),
    /// The keys that are there.
    Key {
        wanted: Option<String>,
        present: Vec<String>,
    },
}

impl Flaw {
    fn corrupt(fact: impl Into<String>) -> Flaw {
        Flaw::Corrupt(fact.into())
    }

    fn diagnostic(self, path: &Path) -> Diagnostic {
        let file = path.display();
        match self {
            Flaw::Corrupt(fact) => placeless(CORRUPT, format!("`{file}` is damaged: {fact}"))
                .help("write the file again with the program that made it"),
            Flaw::Unsupported { what, help } => {
                placeless(UNSUPPORTED, format!("`{file}` holds {what}")).help(help)
            }
            Flaw::TooLarge(fact) => placeless(TOO_LARGE, format!("`{file}` is too large: {fact}"))
                .help("cut the tensor into smaller ones"),
            Flaw::Key { wanted, present } => {
                let names: Vec<String> = present.iter().take(20).map(|k| quoted(k)).collect();
                let list = names.join(", ");
                let fact = match wanted {
                    Some(key) => format!("`{file}` has no tensor {}", quoted(&key)),
                    None => format!("`{file}` has {} tensors and no key is given", present.len()),
                };
                let example = present.first().map_or("KEY", String::as_str);
                let help = format!("say `{file}:{example}`; it holds {list}");
                let help = if present.is_empty() { "the file holds no tensor".into() } else { help };
                placeless(NO_SUCH_KEY, fact).help(help)
            }
        }
    }
}

/// Foreign text for a message: short, and without control characters.
pub(crate) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    let dots = if text.chars().nth(60).is_some() { ".." } else { "" };
    format!("`{short}{dots}`")
}

/// A diagnostic about no place in any source text.
pub fn placeless(code: Code, fact: impl Into<String>) -> Diagnostic {
    let mut found = Diagnostic::error(code, Span::default(), fact);
    found.labels.clear();
    found
}

/// Reads one tensor. `key` names it in an archive and may be left out when the archive
/// holds one.
pub fn read(path: &Path, key: Option<&str>) -> Result<Tensor, Diagnostic> {
    read_array(path, key).map(|array| array.to_tensor())
}

/// As [`read`], as bytes.
pub fn read_array(path: &Path, key: Option<&str>) -> Result<Array, Diagnostic> {
    let format = format_of(path)?;
    let bytes = read_bytes(path)?;
    let array = match format {
        Format::Npy => match key {
            Some(key) => Err(Flaw::Unsupported {
                what: format!("one tensor without a name, not `{key}`"),
                help: "leave the key out",
            }),
            None => npy::decode(&bytes),
        },
        Format::Npz => npz::decode(&bytes, key),
        Format::Safetensors => safetensors::decode(&bytes, key),
    };
    array.map_err(|flaw| flaw.diagnostic(path))
}

/// Writes named tensors; `.npy` takes exactly one.
pub fn write(path: &Path, tensors: &[(&str, &Tensor)]) -> Result<(), Diagnostic> {
    let stored: Result<Vec<(&str, Array)>, Flaw> =
        tensors.iter().map(|(name, tensor)| Ok((*name, array_of(tensor)?))).collect();
    let stored = stored.map_err(|flaw| flaw.diagnostic(path))?;
    let named: Vec<(&str, &Array)> = stored.iter().map(|(name, array)| (*name, array)).collect();
    write_arrays(path, &named)
}

/// As [`write`], from bytes.
pub fn write_arrays(path: &Path, arrays: &[(&str, &Array)]) -> Result<(), Diagnostic> {
    let bytes = match format_of(path)? {
        Format::Npy => match arrays {
            [(_, array)] => npy::encode(array),
            _ => Err(Flaw::Unsupported {
                what: format!("room for one tensor, and there are {}", arrays.len()),
                help: "write a .npz or .safetensors file",
            }),
        },
        Format::Npz => npz::encode(arrays),
        Format::Safetensors => safetensors::encode(arrays),
    };
    let bytes = bytes.map_err(|flaw| flaw.diagnostic(path))?;
    let written = File::create(path).and_then(|mut file| file.write_all(&bytes));
    written
        .map_err(|why| placeless(UNWRITABLE, format!("cannot write `{}`: {}", path.display(), reason(&why))))
}

/// The words of an error of the system, without its number.
pub fn reason(why: &std::io::Error) -> String {
    let text = why.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => text.to_string(),
    }
}

fn format_of(path: &Path) -> Result<Format, Diagnostic> {
    Format::of(&path.to_string_lossy()).ok_or_else(|| {
        placeless(UNKNOWN_FORMAT, format!("`{}` is no tensor file by its name", path.display()))
            .help("names end in .npy, .npz or .safetensors")
    })
}

/// The bytes of a regular file of at most [`MAX_BYTES`].
fn read_bytes(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let fail = |why: String| placeless(UNREADABLE, format!("cannot read `{}`: {why}", path.display()));
    let about = fs::metadata(path).map_err(|why| fail(reason(&why)))?;
    if !about.is_file() {
        return Err(fail("it is not a regular file".into()));
    }
    let file = File::open(path).map_err(|why| fail(reason(&why)))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|why| fail(reason(&why)))?;
    if bytes.len() as u64 > MAX_BYTES {
        let fact = format!("more than {MAX_BYTES} bytes");
        return Err(Flaw::TooLarge(fact).diagnostic(path));
    }
    Ok(bytes)
}

/// The number of elements of a shape, or why it is too large.
pub(crate) fn numel(shape: &[usize]) -> Result<usize, String> {
    if shape.len() > MAX_RANK {
        return Err(format!("{} axes, at most {MAX_RANK} are possible", shape.len()));
    }
    // Arrays need the product of the extents that are not 0 in range, even when one is 0.
    let mut product: usize = 1;
    for extent in shape.iter().filter(|e| **e != 0) {
        product = product
            .checked_mul(*extent)
            .filter(|p| isize::try_from(*p).is_ok())
            .ok_or_else(|| format!("shape {shape:?} overflows"))?;
    }
    let count = if shape.contains(&0) { 0 } else { product };
    if count > MAX_ELEMENTS {
        return Err(format!("{count} elements, at most {MAX_ELEMENTS} are possible"));
    }
    Ok(count)
}

/// Bytes of one stored element.
fn width(dtype: DType) -> usize {
    dtype.bits().div_ceil(8) as usize
}

/// A tensor of the IEEE domain as bytes.
fn array_of(tensor: &Tensor) -> Result<Array, Flaw> {
    Array::from_tensor(tensor).map_err(|_| Flaw::Unsupported {
        what: "IEEE values only, and the result is exact".into(),
        help: "evaluate without `--exact` to write a file",
    })
}

/// A tensor of little-endian bytes in row-major order, after the check that they are
/// exactly those of the shape.
fn from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Array, Flaw> {
    let want = numel(shape).map_err(Flaw::TooLarge)? * width(dtype);
    if want != bytes.len() {
        let have = bytes.len();
        return Err(Flaw::corrupt(format!(
            "{dtype} of shape {shape:?} needs {want} bytes of data, there are {have}"
        )));
    }
    Array::from_foreign(dtype, shape, bytes).map_err(|why| Flaw::corrupt(why.to_string()))
}

#[cfg(test)]
mod tests;
