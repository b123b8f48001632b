//! Signatures of ATen overloads, as PyTorch writes them.

use super::record::{Arg, read};
use std::collections::BTreeMap;
use std::path::Path;

/// A parameter of an overload: `int[1]? dim=None`.
#[derive(Clone, Debug)]
pub struct SchemaArg {
    pub name: String,
    pub ty: String,
    pub default: Option<String>,
}

/// The parameters of all overloads that occur in the records.
pub struct Schemas(BTreeMap<String, Vec<SchemaArg>>);

impl Schemas {
    pub fn load(folder: &Path) -> Result<Schemas, String> {
        let text = read(folder, "schemas.tsv")?;
        let rows = text.lines().map(|line| {
            let (name, signature) =
                line.split_once('\t').ok_or(format!("schemas.tsv: no tab in `{line}`"))?;
            Ok((name.to_string(), parameters(signature)?))
        });
        rows.collect::<Result<_, String>>().map(Schemas)
    }

    pub fn of(&self, aten: &str) -> Result<&[SchemaArg], String> {
        self.0.get(aten).map(Vec::as_slice).ok_or(format!("schemas.tsv has no `{aten}`"))
    }
}

impl SchemaArg {
    /// Tensors, and the Python numbers that stand for 0-dim ones.
    pub fn is_tensor(&self) -> bool {
        ["Tensor", "Scalar", "float"].iter().any(|kind| self.ty.starts_with(kind))
            && !self.ty.starts_with("ScalarType")
    }

    /// PyTorch takes an empty list of this type for all axes; of plain `int[]` it does not.
    pub fn empty_means_all(&self) -> bool {
        self.ty.starts_with("int[1]")
    }

    /// The default, where it is a number, a truth value or a string.
    pub fn default_value(&self) -> Option<Arg> {
        let text = self.default.as_deref()?;
        match text {
            "True" | "False" => Some(Arg::Bool(text == "True")),
            _ if text.starts_with(['"', '\'']) => Some(Arg::Str(text.trim_matches(['"', '\'']).into())),
            _ => text.parse().map(Arg::Int).ok().or_else(|| number(text).map(|_| Arg::Float(text.into()))),
        }
    }

    /// Whether leaving the argument out says the same.
    pub fn is_default(&self, given: &Arg) -> bool {
        let Some(default) = &self.default else { return false };
        match given {
            Arg::None => default == "None",
            Arg::Bool(b) => *default == if *b { "True" } else { "False" },
            Arg::Int(k) => number(default) == Some(*k as f64),
            Arg::Float(text) => number(default).is_some_and(|d| Some(d) == number(text)),
            Arg::Str(s) => default.trim_matches(['"', '\'']) == s,
            Arg::Ints(list) => {
                let items = default.trim_matches(['[', ']']).split(',').filter(|k| !k.trim().is_empty());
                let items: Vec<Option<f64>> = items.map(number).collect();
                let repeated = items.len() == 1 && !default.starts_with('[');
                let wants: Vec<Option<f64>> = list.iter().map(|k| Some(*k as f64)).collect();
                if repeated { wants.iter().all(|k| *k == items[0]) } else { wants == items }
            }
            Arg::Tensor(_) | Arg::Tensors(_) | Arg::DType(_) => false,
        }
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// `(Tensor self, int[1]? dim=None, *, bool keepdim=False) -> Tensor`.
fn parameters(signature: &str) -> Result<Vec<SchemaArg>, String> {
    let list = signature.strip_prefix('(').and_then(|s| s.split_once(") -> ")).map(|(list, _)| list);
    let list = list.ok_or(format!("no signature: `{signature}`"))?;
    split(list).filter(|text| *text != "*" && !text.is_empty()).map(parameter).collect()
}

fn parameter(text: &str) -> Result<SchemaArg, String> {
    let (declared, default) = match text.split_once('=') {
        Some((declared, default)) => (declared, Some(default.to_string())),
        None => (text, None),
    };
    let (ty, name) = declared.rsplit_once(' ').ok_or(format!("no parameter: `{text}`"))?;
    Ok(SchemaArg { name: name.into(), ty: ty.into(), default })
}

/// At the commas outside brackets.
fn split(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    list.split(move |c| {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
}
