//! A concrete input on which the two sides of a claim differ.

use crate::apart::first_apart;
use crate::compare::{Difference, domain};
use crate::dataflow::{Step, steps};
use crate::refute::{Drawn, environment, limits};
use crate::verdict::Contract;
use rtv_semantics::diag::Code;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Claim, ClaimKind};
use rtv_semantics::scalar::Value;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::tensor::Tensor;
use std::sync::Arc;

/// A refutation, as replayed on the reference evaluator.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The claim at the dtypes and ranks of the input.
    pub instance: Arc<Claim>,
    pub input: Drawn,
    pub contract: Contract,
    /// The two results, or the error in place of one.
    pub left: String,
    pub right: String,
    pub difference: Difference,
}

impl Counterexample {
    pub fn code(&self) -> Code {
        Code(match self.contract {
            Contract::Value => 411,
            Contract::Shape => 412,
            Contract::DType => 413,
            Contract::Error => 414,
            Contract::Alias => 301,
            Contract::Gradient => 501,
        })
    }

    /// The number of elements of the largest input.
    pub fn largest_input(&self) -> usize {
        self.inputs().map(|(_, t)| t.numel()).max().unwrap_or(0)
    }

    pub fn dtypes(&self) -> &[(Arc<str>, DType)] {
        &self.instance.dtypes
    }

    /// The tensors given to the claim's parameters, by name.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.input.tensors.iter().map(|(_, name, tensor)| (&**name, tensor))
    }

    /// Rank variables as lists of extents, then size variables and parameters.
    pub fn sizes(&self) -> Vec<(String, String)> {
        let value = |s: &Sym| self.input.sizes.get(s).map_or_else(|| "?".to_string(), i64::to_string);
        let mut named: Vec<(String, String)> = Vec::new();
        let mut ranked: Vec<&Sym> = Vec::new();
        for (name, extents) in &self.instance.ranks {
            let axes: Vec<&Sym> = extents.iter().filter_map(Size::as_sym).collect();
            let list: Vec<String> = axes.iter().map(|s| value(s)).collect();
            named.push((name.to_string(), format!("[{}]", list.join(", "))));
            ranked.extend(axes);
        }
        let plain = self.instance.syms.iter().filter(|s| !ranked.contains(s));
        named.extend(plain.map(|s| (s.name().to_string(), value(s))));
        named
    }

    /// What the operators of the two sides give, in the order of their computation.
    pub fn steps(&self) -> (Vec<Step>, Vec<Step>) {
        let domain = domain(self.instance.mode);
        let env = environment(&self.input, domain);
        let of = |side| steps(side, &env, domain, &limits());
        (of(&self.instance.lhs), of(&self.instance.rhs))
    }

    /// The first value on the way to the left result that differs from its counterpart on
    /// the way to the right one, and that, if there is such a pair.
    pub fn first_apart(&self) -> Option<(Step, Step)> {
        let (left, right) = self.steps();
        let claim = &self.instance;
        let (left, right) = first_apart(&left, &right, claim.mode, claim.directed)?;
        Some((left.clone(), right.clone()))
    }

    /// The input, both results and where they part, one line a fact.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut setting: Vec<String> = self.dtypes().iter().map(|(n, d)| format!("{n} = {d}")).collect();
        setting.extend(self.sizes().iter().map(|(n, v)| format!("{n} = {v}")));
        if !setting.is_empty() {
            lines.push(setting.join(", "));
        }
        if self.instance.kind == ClaimKind::Monoid {
            lines.push(self.instance.name.to_string());
        }
        for (name, tensor) in self.inputs() {
            lines.extend(labelled(name, &written(tensor)));
        }
        if self.instance.kind == ClaimKind::Calls {
            lines.extend(labelled("result", &self.left));
        } else {
            lines.extend(labelled("left ", &self.left));
            lines.extend(labelled("right", &self.right));
        }
        let place = match &self.difference.at {
            Some(at) => format!(" at {at:?}"),
            None => String::new(),
        };
        lines.push(format!("{} differs{place}: {}", self.contract.name(), self.difference.text));
        lines
    }
}

/// Elements beyond which a tensor is shown in part.
const MAX_WRITTEN: usize = 64;

/// A tensor as the language writes it if it is small, else in part.
pub fn written(tensor: &Tensor) -> String {
    if tensor.numel() > MAX_WRITTEN { tensor.to_string() } else { written_out(tensor) }
}

/// A tensor as the language writes it, with all digits, so that it can be run again.
pub fn written_out(tensor: &Tensor) -> String {
    let natural = matches!(tensor.dtype, DType::F32 | DType::I64 | DType::Bool);
    if tensor.numel() == 0 {
        let extents: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
        return format!("zeros([{}], {})", extents.join(", "), tensor.dtype);
    }
    let elements: Vec<String> = tensor.values().map(|v| element(v, tensor.dtype)).collect();
    let list = nested(&elements, tensor.shape());
    if natural { list } else { format!("{}({list})", tensor.dtype) }
}

fn nested(elements: &[String], shape: &[usize]) -> String {
    match shape {
        [] => elements[0].clone(),
        [extent, rest @ ..] => {
            let rows: Vec<String> =
                elements.chunks(elements.len() / extent).map(|row| nested(row, rest)).collect();
            format!("[{}]", rows.join(", "))
        }
    }
}

/// The shortest decimal that reads back as the same value.
pub fn element(value: &Value, dtype: DType) -> String {
    match value {
        Value::Float(x) if x.is_nan() => "nan".into(),
        Value::Float(x) if x.is_infinite() => if *x > 0.0 { "inf" } else { "-inf" }.into(),
        Value::Float(x) if dtype == DType::F64 => format!("{x:?}"),
        Value::Float(x) => format!("{:?}", *x as f32),
        other => other.to_string(),
    }
}

/// `name = text`, further lines indented to stand below the first.
fn labelled(name: &str, text: &str) -> Vec<String> {
    let indent = " ".repeat(name.chars().count() + 3);
    let line = |(k, line): (usize, &str)| {
        if k == 0 { format!("{name} = {line}") } else { format!("{indent}{line}") }
    };
    text.lines().enumerate().map(line).collect()
}
