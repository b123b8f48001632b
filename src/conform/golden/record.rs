//! The recorded cases: one JSON object a line, one file a family.

use std::path::Path;

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::tensor::Tensor;
use serde_json::{Map, Value as Json};

use crate::conform::Grade;

/// The families of cases; `mutation` holds programs instead.
pub const FAMILIES: [&str; 9] =
    ["unary", "binary", "reduce", "view", "index", "join", "linalg", "nn", "misc"];

/// A recorded argument.
#[derive(Clone, Debug)]
pub enum Arg {
    Tensor(Tensor),
    /// `None` stands for an index left out.
    Tensors(Vec<Option<Tensor>>),
    Ints(Vec<i64>),
    Int(i64),
    /// A decimal, or `inf`, `-inf`, `nan`.
    Float(String),
    Bool(bool),
    Str(String),
    DType(DType),
    None,
}

impl Arg {
    /// The tensors in it.
    pub fn tensors(&self) -> Vec<&Tensor> {
        match self {
            Arg::Tensor(t) => vec![t],
            Arg::Tensors(list) => list.iter().flatten().collect(),
            _ => Vec::new(),
        }
    }
}

/// What PyTorch did.
#[derive(Clone, Debug)]
pub enum Outcome {
    Results(Vec<Tensor>),
    /// The class of the exception.
    Error(String),
}

/// How far a float may lie from the recorded one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Closeness {
    Exact,
    Ulp(u64),
    /// Order of summation free; the greatest input scales the tolerance.
    Accumulated,
}

#[derive(Clone, Debug)]
pub struct Record {
    pub id: String,
    /// The overload: `add.Tensor`.
    pub aten: String,
    pub args: Vec<Arg>,
    pub kwargs: Vec<(String, Arg)>,
    pub outcome: Outcome,
    pub closeness: Closeness,
}

impl Record {
    /// How near a result of this dtype has to come.
    pub fn grade(&self, dtype: DType) -> Grade {
        match self.closeness {
            Closeness::Exact => Grade::EXACT,
            Closeness::Ulp(most) => Grade::ulp(most),
            Closeness::Accumulated if dtype.is_float() => Grade::accumulated(dtype, self.inputs()),
            Closeness::Accumulated => Grade::EXACT,
        }
    }

    /// All tensors among the arguments.
    pub fn inputs(&self) -> impl Iterator<Item = &Tensor> {
        self.args.iter().chain(self.kwargs.iter().map(|(_, a)| a)).flat_map(Arg::tensors)
    }
}

/// The cases of one family; a line that is no record is an error that names it.
pub fn cases(folder: &Path, family: &str) -> Result<Vec<Record>, String> {
    let text = read(folder, &format!("{family}.jsonl"))?;
    let at = |k: usize, why: String| format!("{family}.jsonl:{}: {why}", k + 1);
    text.lines().enumerate().map(|(k, line)| parse(line).map_err(|why| at(k, why))).collect()
}

/// The text of a file of the records.
pub fn read(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))
}

fn parse(line: &str) -> Result<Record, String> {
    let json: Json = serde_json::from_str(line).map_err(|why| why.to_string())?;
    let string = |key: &str| json[key].as_str().map(str::to_string).ok_or(format!("no `{key}`"));
    let args = json["args"].as_array().ok_or("no `args`")?;
    let kwargs = json["kwargs"].as_object().ok_or("no `kwargs`")?;
    let outcome = match (&json["error"], &json["outputs"]) {
        (Json::String(class), _) => Outcome::Error(class.clone()),
        (_, Json::Array(list)) => Outcome::Results(list.iter().map(tensor_of).collect::<Result<_, _>>()?),
        _ => return Err("neither `outputs` nor `error`".into()),
    };
    let closeness = match string("cmp")?.split_once(':') {
        None if json["cmp"] == "exact" => Closeness::Exact,
        None if json["cmp"] == "acc" => Closeness::Accumulated,
        Some(("ulp", n)) => Closeness::Ulp(n.parse().map_err(|_| "a count of ulps")?),
        _ => return Err(format!("unknown comparison {}", json["cmp"])),
    };
    Ok(Record {
        id: string("id")?,
        aten: string("aten")?,
        args: args.iter().map(arg).collect::<Result<_, _>>()?,
        kwargs: kwargs.iter().map(|(k, v)| Ok((k.clone(), arg(v)?))).collect::<Result<_, String>>()?,
        outcome,
        closeness,
    })
}

fn arg(json: &Json) -> Result<Arg, String> {
    let strange = || format!("no argument: {json}");
    Ok(match json {
        Json::Null => Arg::None,
        Json::String(s) => Arg::Str(s.clone()),
        Json::Array(list) if list.iter().all(Json::is_i64) => {
            Arg::Ints(list.iter().filter_map(Json::as_i64).collect())
        }
        Json::Array(list) => Arg::Tensors(list.iter().map(optional).collect::<Result<_, _>>()?),
        Json::Object(fields) if fields.contains_key("tensor") => Arg::Tensor(tensor(fields)?),
        Json::Object(fields) => match fields.iter().next() {
            Some((kind, value)) if kind == "int" => Arg::Int(value.as_i64().ok_or_else(strange)?),
            Some((kind, Json::String(text))) if kind == "float" => Arg::Float(text.clone()),
            Some((kind, Json::Bool(b))) if kind == "bool" => Arg::Bool(*b),
            Some((kind, Json::String(d))) if kind == "dtype" => {
                Arg::DType(DType::from_name(d).ok_or_else(strange)?)
            }
            _ => return Err(strange()),
        },
        _ => return Err(strange()),
    })
}

fn optional(json: &Json) -> Result<Option<Tensor>, String> {
    if json.is_null() { Ok(None) } else { tensor_of(json).map(Some) }
}

fn tensor_of(json: &Json) -> Result<Tensor, String> {
    tensor(json.as_object().ok_or(format!("no tensor: {json}"))?)
}

/// The elements that a tensor's layout picks out of its storage, in row-major order.
fn tensor(fields: &Map<String, Json>) -> Result<Tensor, String> {
    let text = |key: &str| fields.get(key).and_then(Json::as_str).ok_or(format!("no `{key}`"));
    let (dtype, rest) = text("tensor")?.split_once('[').ok_or("a type is DTYPE[..]")?;
    let dtype = DType::from_name(dtype).ok_or(format!("unknown dtype `{dtype}`"))?;
    let extents = rest.trim_end_matches(']').split(',').filter(|n| !n.is_empty());
    let shape: Vec<usize> =
        extents.map(str::parse).collect::<Result<_, _>>().map_err(|_| format!("extents of [{rest}"))?;
    let storage = text("data")?.split_whitespace().map(|word| Value::literal(word, dtype, Domain::Ieee));
    let storage: Vec<Value> = storage.collect::<Result<_, _>>().map_err(|fault| fault.to_string())?;
    let values = match fields.get("strides") {
        None => storage,
        Some(strides) => {
            let strides: Option<Vec<i64>> =
                strides.as_array().and_then(|list| list.iter().map(Json::as_i64).collect());
            let offset = fields.get("offset").and_then(Json::as_i64).ok_or("strides without an offset")?;
            gather(&storage, &shape, &strides.ok_or("strides are integers")?, offset)?
        }
    };
    Tensor::new(dtype, &shape, values).map_err(|why| why.to_string())
}

fn gather(storage: &[Value], shape: &[usize], strides: &[i64], offset: i64) -> Result<Vec<Value>, String> {
    let mut places = vec![offset];
    for (extent, stride) in shape.iter().zip(strides) {
        let steps = |at: &i64| (0..*extent as i64).map(|k| at + k * stride).collect::<Vec<i64>>();
        places = places.iter().flat_map(steps).collect();
    }
    let element = |at: &i64| usize::try_from(*at).ok().and_then(|at| storage.get(at)).cloned();
    places.iter().map(|at| element(at).ok_or(format!("no element {at} in the storage"))).collect()
}
