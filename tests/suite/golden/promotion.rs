//! Every row of PyTorch's promotion table (`promotion.tsv`) against `DType::promote` and the
//! infix operators of the language.
//!
//! `result_type` is that of `where`, which promotes its operands and computes nothing.

use super::record::read;
use rtv_grammar::lower::{Defs, Given, Lower};
use rtv_grammar::parse;
use rtv_grammar::prelude::Prelude;
use rtv_semantics::arith::Arith;
use rtv_semantics::diag::{FileId, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{Env, Limits, eval};
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
    let text = read("promotion.tsv")?;
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
            let found = dtype_of(expression, &a, &b);
            let lifted = *want == "NotImplementedError";
            let agrees = match &found {
                Ok(dtype) => lifted || dtype.name() == *want,
                Err(_) => lifted || want.ends_with("Error"),
            };
            if !agrees {
                let found = found.map_or_else(|why| why, |dtype| dtype.to_string());
                wrong.push(format!("{expression} of {}: {found}, recorded {want}", cells[..4].join(" ")));
            }
        }
    }
    assert!(rows >= 520, "{rows} rows");
    assert!(wrong.is_empty(), "{} entries differ:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// The dtype of the value of `expression`, or why it has none.
fn dtype_of(expression: &str, a: &Operand, b: &Operand) -> Result<DType, String> {
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
    let declared: Vec<&str> = params.iter().map(|(p, _)| p.as_str()).collect();
    let parsed = parse(FileId(0), &format!("rtl 1.0\nop case({}) {{ return {text} }}\n", declared.join(", ")));
    let mut defs = Defs::new(Prelude::shared());
    let mut faults = parsed.diagnostics;
    faults.extend(defs.add_file(FileId(0), &parsed.file));
    let mut lower = Lower::new(&defs, &Arith);
    let given: Vec<Given> = params.iter().map(|(_, t)| super::binding::tensor(t)).collect();
    let call = lower.outer_call("case", &given, &[], Span::new(FileId(0), 0, 0));
    faults.extend(lower.take_diagnostics());
    let Some(call) = call else {
        return Err(faults.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; "));
    };
    let inputs = call.inputs.iter().zip(&params);
    let env = inputs.fold(Env::new(), |env, (var, (_, tensor))| env.with_tensor(var, tensor.clone()));
    let value = eval(&call.term, &env, Domain::Ieee, &Limits::default()).map_err(|why| why.to_string())?;
    value.as_tensor().map(|t| t.dtype).ok_or("no tensor".to_string())
}
