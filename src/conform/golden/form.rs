//! Overloads that are no operators but forms of the language: `einsum` and indexing. A case of
//! theirs is a program of one operator, written out.

use super::record::{Arg, Record};
use rtv_semantics::tensor::Tensor;

/// The text of an operator `case` and the tensors it takes.
pub struct Form {
    pub text: String,
    pub operands: Vec<Tensor>,
}

/// The program of a case, if its overload is a form.
pub fn form(record: &Record) -> Option<Form> {
    match (record.aten.as_str(), record.args.as_slice()) {
        ("einsum.default", [Arg::Str(pattern), Arg::Tensors(operands), ..]) => {
            let operands: Vec<Tensor> = operands.iter().flatten().cloned().collect();
            let names: String = (0..operands.len()).map(|k| format!(", x{k}")).collect();
            Some(case(&format!("einsum({pattern:?}{names})"), operands))
        }
        ("index.Tensor", [Arg::Tensor(base), Arg::Tensors(indices)]) => {
            let (mut items, mut operands) = (Vec::new(), vec![base.clone()]);
            for index in indices {
                match index {
                    None => items.push(":".to_string()),
                    Some(tensor) => {
                        items.push(format!("x{}", operands.len()));
                        operands.push(tensor.clone());
                    }
                }
            }
            Some(case(&format!("x0[{}]", items.join(", ")), operands))
        }
        _ => None,
    }
}

fn case(value: &str, operands: Vec<Tensor>) -> Form {
    let params: Vec<String> =
        operands.iter().enumerate().map(|(k, t)| format!("x{k}: {}", t.type_text())).collect();
    Form { text: format!("rtl 1.0\nop case({}) {{ return {value} }}\n", params.join(", ")), operands }
}
