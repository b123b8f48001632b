//! The line protocol between rtv and a program that computes operators: what is written
//! and what is read, as bytes. `docs/conformance.md` is its page.
//!
//! A message is one line of JSON, then the elements of its tensors, in the order in which
//! the line names them: row-major, little-endian, a bool one byte, without gaps.
//!
//! * Invariants: no reply, however damaged, panics; what a line announces is bounded by
//!   [`MAX_REPLY_BYTES`] before memory is asked for.

use rtv_semantics::dtype::DType;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::ErrorClass;
use serde_json::{Map, Value as Json, json};

use crate::loops::ArrayDecl;

/// What both sides say first.
pub const VERSION: u64 = 1;
/// Bytes of a line that is read.
pub const MAX_LINE_BYTES: u64 = 1 << 20;
/// Bytes of the tensors of a reply, all together.
pub const MAX_REPLY_BYTES: usize = 1 << 26;
/// Tensors of a reply.
const MAX_OUTPUTS: usize = 4096;

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum Argument {
    Tensor(Tensor),
    Tensors(Vec<Tensor>),
    Int(i64),
    /// A decimal, or `inf`, `-inf`, `nan`: a number without a dtype.
    Float(String),
    Bool(bool),
    Text(String),
    DType(DType),
    Ints(Vec<i64>),
    None,
}

impl Argument {
    pub fn tensors(&self) -> &[Tensor] {
        match self {
            Argument::Tensor(tensor) => std::slice::from_ref(tensor),
            Argument::Tensors(list) => list,
            _ => &[],
        }
    }

    fn to_json(&self) -> Json {
        match self {
            Argument::Tensor(tensor) => json!({ "tensor": type_of(tensor) }),
            Argument::Tensors(list) => json!({ "tensors": list.iter().map(type_of).collect::<Vec<_>>() }),
            Argument::Int(k) => json!({ "int": k }),
            Argument::Float(text) => json!({ "float": text }),
            Argument::Bool(b) => json!({ "bool": b }),
            Argument::Text(text) => json!({ "text": text }),
            Argument::DType(dtype) => json!({ "dtype": dtype.name() }),
            Argument::Ints(list) => json!({ "ints": list }),
            Argument::None => json!({ "none": true }),
        }
    }
}

fn type_of(tensor: &Tensor) -> Json {
    json!({ "dtype": tensor.dtype.name(), "shape": tensor.shape() })
}

/// A call of an operator, its arguments as the language takes them.
#[derive(Clone, Debug)]
pub struct Call {
    pub operator: String,
    pub positional: Vec<Argument>,
    pub named: Vec<(String, Argument)>,
}

impl Call {
    /// The tensors among the arguments, in order.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let named = self.named.iter().map(|(_, argument)| argument);
        self.positional.iter().chain(named).flat_map(Argument::tensors)
    }

    /// The message that asks for the call.
    ///
    /// # Errors
    /// When a tensor has no bytes: it is exact.
    pub fn message(&self, number: usize) -> Result<Vec<u8>, String> {
        let bytes: Vec<Vec<u8>> = self
            .tensors()
            .map(|tensor| tensor.to_le_bytes().map_err(|why| why.to_string()))
            .collect::<Result<_, _>>()?;
        let named = self.named.iter().map(|(name, argument)| json!([name, argument.to_json()]));
        let header = json!({
            "call": number,
            "operator": self.operator,
            "positional": self.positional.iter().map(Argument::to_json).collect::<Vec<_>>(),
            "named": named.collect::<Vec<_>>(),
            "bytes": bytes.iter().map(Vec::len).sum::<usize>(),
        });
        let mut message = header.to_string().into_bytes();
        message.push(b'\n');
        bytes.iter().for_each(|bytes| message.extend(bytes));
        Ok(message)
    }
}

/// The line that begins a conversation.
pub fn greeting() -> Vec<u8> {
    let mut line = json!({ "rtv": env!("CARGO_PKG_VERSION"), "protocol": VERSION }).to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The name of the program that answers the greeting.
///
/// # Errors
/// Why the line is no such answer.
pub fn greeted(line: &[u8]) -> Result<String, String> {
    let reply = object(line)?;
    match reply.get("protocol").and_then(Json::as_u64) {
        Some(VERSION) => {}
        Some(other) => return Err(format!("it speaks protocol {other}, not {VERSION}")),
        None => return Err(format!("`{}` has no `protocol`", shown(line))),
    }
    let name = reply.get("name").and_then(Json::as_str).filter(|name| !name.is_empty());
    Ok(name.ok_or("it gives no `name`")?.chars().filter(|c| !c.is_control()).take(40).collect())
}

/// The line of a reply.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    /// Tensors of these types follow.
    Outputs(Vec<ArrayDecl>),
    Error {
        class: ErrorClass,
        message: String,
    },
    /// The program does not do this, and why.
    Unsupported(String),
}

impl Reply {
    /// # Errors
    /// Why the line is no reply to the call of this number.
    pub fn parse(line: &[u8], number: usize) -> Result<Reply, String> {
        let reply = object(line)?;
        let text = |key: &str| reply.get(key).and_then(Json::as_str);
        match reply.get("call").and_then(Json::as_u64) {
            Some(call) if call == number as u64 => {}
            Some(call) => return Err(format!("it answers call {call}, asked was {number}")),
            None => return Err(format!("`{}` has no `call`", shown(line))),
        }
        if let Some(why) = text("unsupported") {
            return Ok(Reply::Unsupported(why.to_string()));
        }
        if let Some(name) = text("error") {
            let class = ErrorClass::from_name(name);
            let class = class.ok_or_else(|| format!("`{name}` is no class of errors"))?;
            return Ok(Reply::Error { class, message: text("message").unwrap_or_default().to_string() });
        }
        let Some(Json::Array(list)) = reply.get("outputs") else {
            return Err(format!("`{}` has none of `outputs`, `error`, `unsupported`", shown(line)));
        };
        if list.len() > MAX_OUTPUTS {
            return Err(format!("it announces {} tensors", list.len()));
        }
        let decls: Vec<ArrayDecl> = list.iter().map(decl).collect::<Result<_, _>>()?;
        let bytes = decls.iter().try_fold(0usize, |sum, decl| sum.checked_add(bytes_of(decl)?));
        match bytes.filter(|bytes| *bytes <= MAX_REPLY_BYTES) {
            Some(_) => Ok(Reply::Outputs(decls)),
            None => Err(format!("it announces more than {MAX_REPLY_BYTES} bytes")),
        }
    }
}

fn object(line: &[u8]) -> Result<Map<String, Json>, String> {
    match serde_json::from_slice(line) {
        Ok(Json::Object(fields)) => Ok(fields),
        _ => Err(format!("`{}` is no JSON object", shown(line))),
    }
}

/// The beginning of a line, for people.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(200)]);
    let printable: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if printable.chars().count() > 60 {
        printable.chars().take(60).chain("..".chars()).collect()
    } else {
        printable
    }
}

fn decl(json: &Json) -> Result<ArrayDecl, String> {
    let dtype = json["dtype"].as_str().and_then(DType::from_name);
    let extents = json["shape"].as_array().map(|list| list.iter().map(extent).collect::<Option<Vec<_>>>());
    match (dtype, extents.flatten()) {
        (Some(dtype), Some(shape)) => Ok(ArrayDecl { dtype, shape }),
        _ => Err(format!("`{}` is no type of a tensor", shown(json.to_string().as_bytes()))),
    }
}

fn extent(json: &Json) -> Option<usize> {
    json.as_u64().and_then(|n| usize::try_from(n).ok())
}

fn bytes_of(decl: &ArrayDecl) -> Option<usize> {
    decl.shape.iter().try_fold(decl.width(), |bytes, extent| bytes.checked_mul(*extent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tensor() -> Tensor {
        Tensor::from_f64(DType::F32, &[2], &[1.0, -0.0]).expect("two elements")
    }

    #[test]
    fn a_call_is_one_line_and_its_tensors() {
        let call = Call {
            operator: "softmax".into(),
            positional: vec![Argument::Tensor(tensor()), Argument::Int(-1)],
            named: vec![("mask".into(), Argument::Tensors(vec![tensor()]))],
        };
        let message = call.message(7).expect("tensors with bytes");
        let end = message.iter().position(|b| *b == b'\n').expect("a line");
        let header: Json = serde_json::from_slice(&message[..end]).expect("JSON");
        assert_eq!(header["bytes"], 16);
        assert_eq!(header["positional"][0]["tensor"]["shape"], json!([2]));
        assert_eq!(header["named"][0][0], "mask");
        assert_eq!(message.len() - end - 1, 16);
        assert_eq!(&message[end + 1..end + 9], [0, 0, 128, 63, 0, 0, 0, 128]);
    }

    #[test]
    fn replies_are_read() {
        let outputs = br#"{"call":3,"outputs":[{"dtype":"i64","shape":[]}]}"#;
        let decls = vec![ArrayDecl { dtype: DType::I64, shape: Vec::new() }];
        assert_eq!(Reply::parse(outputs, 3), Ok(Reply::Outputs(decls)));
        let error = br#"{"call":3,"error":"index","message":"no"}"#;
        let want = Reply::Error { class: ErrorClass::Index, message: "no".into() };
        assert_eq!(Reply::parse(error, 3), Ok(want));
        assert_eq!(greeted(br#"{"protocol":1,"name":"n"}"#), Ok("n".into()));
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for line in [
            "",
            "[]",
            "{}",
            r#"{"call":4,"outputs":[]}"#,
            r#"{"call":3}"#,
            r#"{"call":3,"error":"odd"}"#,
            r#"{"call":3,"outputs":[{"dtype":"f32","shape":[-1]}]}"#,
            r#"{"call":3,"outputs":[{"dtype":"c64","shape":[1]}]}"#,
            r#"{"call":3,"outputs":[{"dtype":"f64","shape":[4611686018427387904,8]}]}"#,
            r#"{"call":3,"outputs":[{"dtype":"u8","shape":[67108865]}]}"#,
        ] {
            assert!(Reply::parse(line.as_bytes(), 3).is_err(), "{line}");
        }
        for line in ["{}", r#"{"protocol":2,"name":"n"}"#, r#"{"protocol":1,"name":""}"#, "\u{0}"] {
            assert!(greeted(line.as_bytes()).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_without_a_panic(line in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Reply::parse(&line, 0);
            let _ = greeted(&line);
        }
    }
}
