//! Every row of PyTorch's promotion table (`promotion.tsv`) against `DType::promote` and the
//! infix operators of the language.
//!
//! `result_type` is that of `where`, which promotes its operands and computes nothing.

use super::folder;
use rtv::conform::golden::record::read;
use rtv::conform::{Answer, Ours, Question};
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::tensor::Tensor;

/// The columns, in order, as expressions of the operands `A` and `B`.
const COLUMNS: [&str; 8] =
    ["where([true], A, B)", "A + B", "A * B", "A - B", "A / B", "A // B", "A % B", "A ** B"];

/// One operand: a tensor of ones, or a number as written.
enum Operand {
    Tensor(DType, Vec<usize>),
    Number(&'static str),
}

impl Operand {
    fn parse(kind: &str, name: &str) -> Result<Operand, String> {
        let dtype = || DType::from_name(name).ok_or(format!("unknown dtype `{name}`"));
        Ok(match (kind, name) {
            ("dim", _) => Operand::Tensor(dtype()?, vec![2]),
            ("zero_dim", _) => Operand::Tensor(dtype()?, Vec::new()),
            ("scalar", "bool") => Operand::Number("true"),
            ("scalar", "int") => Operand::Number("1"),
            ("scalar", "float") => Operand::Number("1.0"),
            _ => return Err(format!("unknown operand `{kind} {name}`")),
        })
    }

    fn dtype(&self) -> Option<DType> {
        if let Operand::Tensor(dtype, _) = self { Some(*dtype) } else { None }
    }
}

#[test]
fn promotion_table() -> Result<(), String> {
    let text = read(&folder(), "promotion.tsv")?;
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [kind_a, a, kind_b, b, results @ ..] = cells.as_slice() else {
            return Err(format!("promotion.tsv: `{line}`"));
        };
        let (a, b) = (Operand::parse(kind_a, a)?, Operand::parse(kind_b, b)?);
        assert_eq!(results.len(), COLUMNS.len(), "columns of `{line}`");
        rows += 1;
        if let (Some(x), Some(y)) = (a.dtype(), b.dtype())
            && kind_a == kind_b
            && x.promote(y).name() != results[0]
        {
            wrong.push(format!("promote({x}, {y}) is {}, recorded {}", x.promote(y), results[0]));
        }
        for (expression, want) in COLUMNS.iter().zip(results) {
            let found = result_of(expression, &a, &b)?;
            let agrees = match *want {
                // No kernel; the language may have a meaning.
                "NotImplementedError" => true,
                error if error.ends_with("Error") => found == "an error",
                dtype => found == dtype,
            };
            if !agrees {
                wrong.push(format!("{expression} of {}: {found}, recorded {want}", cells[..4].join(" ")));
            }
        }
    }
    assert!(rows >= 520, "{rows} rows");
    assert!(wrong.is_empty(), "{} entries differ:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// The dtype of the value of `expression`, or `an error`.
fn result_of(expression: &str, a: &Operand, b: &Operand) -> Result<String, String> {
    let mut params = Vec::new();
    let mut text = expression.to_string();
    for (name, operand) in [("A", a), ("B", b)] {
        match operand {
            Operand::Number(literal) => text = text.replace(name, literal),
            Operand::Tensor(dtype, shape) => {
                let ones = Tensor::full(*dtype, shape, Value::one(*dtype, Domain::Ieee));
                let ones = ones.map_err(|why| why.to_string())?;
                params.push((format!("{name}: {}", ones.type_text()), ones));
            }
        }
    }
    let (declared, operands): (Vec<String>, Vec<Tensor>) = params.into_iter().unzip();
    let text = format!("rtl 1.0\nop case({}) {{ return {text} }}\n", declared.join(", "));
    Ok(match Ours::reference().ask(&Question::Program { text, operands }) {
        Answer::Outputs(outputs) => outputs.first().map(|t| t.dtype).ok_or("no tensor")?.to_string(),
        Answer::Error { .. } => "an error".to_string(),
        Answer::Unsupported(why) | Answer::Broken(why) => return Err(why),
    })
}
