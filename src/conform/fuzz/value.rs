//! Values of a program by the reference, each element with a bound on how far another
//! backend may be from it.

use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::{Domain, Value as Element};
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::ErrorClass;

use super::{Carry, Own, Step, filled};
use crate::conform::{Answer, Ours, Question};

/// A value, and its bound: in f64, of the same shape, infinite where anything may be. None
/// where it is exact.
#[derive(Clone, Debug)]
pub struct Known {
    pub want: Tensor,
    pub error: Option<Tensor>,
}

/// What a step gives.
pub enum Outcome {
    Value(Box<Known>),
    /// It fails when it runs.
    Fails(ErrorClass),
    /// It is no program, or no bound is known.
    Refused,
}

/// The value of a step whose operands are known.
pub fn step(ours: &Ours, step: &Step, operands: &[&Known]) -> Outcome {
    if step.carry == Carry::Never && operands.iter().any(|known| known.error.is_some()) {
        return Outcome::Refused;
    }
    let tensors: Vec<(String, &Tensor)> =
        operands.iter().enumerate().map(|(k, known)| (format!("v{k}"), &known.want)).collect();
    let names: Vec<String> = tensors.iter().map(|(name, _)| name.clone()).collect();
    let question = question(&filled(&step.text, &names), &tensors);
    if ours.elaborate(&question).is_err() {
        return Outcome::Refused;
    }
    match ours.ask(&question) {
        Answer::Error { class, .. } => Outcome::Fails(class),
        Answer::Outputs(mut outputs) if outputs.len() == 1 => {
            let want = outputs.remove(0);
            match bound(ours, step, operands, &want) {
                Ok(error) => Outcome::Value(Box::new(Known { want, error })),
                Err(()) => Outcome::Refused,
            }
        }
        _ => Outcome::Refused,
    }
}

fn question(expression: &str, tensors: &[(String, &Tensor)]) -> Question {
    let params: Vec<String> = tensors.iter().map(|(n, t)| format!("{n}: {}", t.type_text())).collect();
    let text = format!("rtl 1.0\nop case({}) {{ return {expression} }}\n", params.join(", "));
    Question::Program { text, operands: tensors.iter().map(|(_, t)| (*t).clone()).collect() }
}

/// The bound of a result, if it is not exact.
fn bound(ours: &Ours, step: &Step, operands: &[&Known], want: &Tensor) -> Result<Option<Tensor>, ()> {
    let inexact = operands.iter().any(|known| known.error.is_some());
    if !want.dtype.is_float() {
        return Ok(None);
    }
    let terms = Terms::new(operands, want);
    let epsilon = epsilon(want.dtype);
    let mut sum: Vec<f64> = vec![0.0; want.numel()];
    let mut add = |tensor: Tensor, factor: f64| {
        let broadcast = if tensor.numel() == 1 { want.numel() } else { 1 };
        if tensor.numel() * broadcast != want.numel() {
            return Err(());
        }
        for (k, sum) in sum.iter_mut().enumerate() {
            let element = tensor.nth(if tensor.numel() == 1 { 0 } else { k });
            *sum += element.and_then(Element::as_float).unwrap_or(f64::NAN) * factor;
        }
        Ok(())
    };
    if inexact {
        let carried = match &step.carry {
            Carry::Moved => terms.text(&step.text, "e"),
            Carry::By(text) => text.clone(),
            Carry::Never => return Err(()),
        };
        add(terms.value(ours, &carried)?, 1.0)?;
        // What is rounded after it may be rounded the other way.
        if step.carry != Carry::Moved {
            add(terms.value(ours, "abs(r)")?, epsilon)?;
        }
    }
    let mut range: Option<Tensor> = None;
    match &step.own {
        Own::None | Own::Zeros => {}
        Own::Epsilons(text) => add(terms.value(ours, text)?, epsilon)?,
        Own::Sum(text) => {
            let sizes = terms.value(ours, text)?;
            add(sizes.clone(), epsilon)?;
            range = Some(sizes);
        }
    }
    let open_sign = step.own == Own::Zeros && want.values().any(|x| x.as_float() == Some(0.0));
    if !inexact && !open_sign && matches!(step.own, Own::None | Own::Zeros) {
        return Ok(None);
    }
    let least = least(want.dtype);
    let most = most(want.dtype);
    let bounds = sum.iter().enumerate().map(|(k, error)| {
        let value = want.nth(k).and_then(Element::as_float).unwrap_or(f64::NAN);
        let sizes = range.as_ref().and_then(|t| t.nth(if t.numel() == 1 { 0 } else { k }));
        let overflows = sizes.and_then(Element::as_float).is_some_and(|s| s >= most / 64.0);
        let error = error + 8.0 * least;
        match () {
            () if overflows || (inexact && !value.is_finite()) => f64::INFINITY,
            // Of exact operands: what is no number is no matter of rounding.
            () if !value.is_finite() => 0.0,
            () if !error.is_finite() || value.abs() + error >= most => f64::INFINITY,
            () => error,
        }
    });
    let bounds: Vec<f64> = bounds.collect();
    Tensor::from_f64(DType::F64, want.shape(), &bounds).map(Some).map_err(|_| ())
}

/// What the texts of bounds speak of.
struct Terms {
    named: Vec<(String, Tensor)>,
    count: usize,
}

impl Terms {
    fn new(operands: &[&Known], want: &Tensor) -> Terms {
        let mut named = Vec::new();
        for (k, known) in operands.iter().enumerate() {
            named.push((format!("v{k}"), known.want.clone()));
            named.push((format!("a{k}"), in_f64(&known.want)));
            let nothing = || Tensor::zeros(DType::F64, known.want.shape(), Domain::Ieee);
            let error = known.error.clone().or_else(|| nothing().ok());
            named.extend(error.map(|error| (format!("e{k}"), error)));
        }
        named.push(("r".to_string(), in_f64(want)));
        Terms { named, count: operands.len() }
    }

    /// The text of a step over other values of its float operands.
    fn text(&self, text: &str, letter: &str) -> String {
        let float = |k: usize| self.named[3 * k].1.dtype.is_float();
        let name = |k: usize| if float(k) { format!("{letter}{k}") } else { format!("v{k}") };
        filled(text, &(0..self.count).map(name).collect::<Vec<_>>())
    }

    fn value(&self, ours: &Ours, text: &str) -> Result<Tensor, ()> {
        let used = |name: &str| {
            text.match_indices(name).any(|(at, _)| {
                let plain = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                plain(text[..at].chars().next_back()) && plain(text[at + name.len()..].chars().next())
            })
        };
        let named = self.named.iter().filter(|(name, _)| used(name));
        let tensors: Vec<(String, &Tensor)> = named.map(|(name, t)| (name.clone(), t)).collect();
        match ours.ask(&question(text, &tensors)) {
            Answer::Outputs(mut outputs) if outputs.len() == 1 => Ok(in_f64(&outputs.remove(0))),
            _ => Err(()),
        }
    }
}

fn in_f64(tensor: &Tensor) -> Tensor {
    let element = |value: &Element| match value {
        Element::Float(x) => *x,
        Element::Int(i) => *i as f64,
        Element::Bool(b) => f64::from(*b),
        Element::Exact(_) | Element::Field(_) => f64::NAN,
    };
    let elements: Vec<f64> = tensor.values().map(element).collect();
    Tensor::from_f64(DType::F64, tensor.shape(), &elements).expect("invariant: as many elements")
}

/// The distance from 1 to the next number.
fn epsilon(dtype: DType) -> f64 {
    dtype.precision().map_or(0.0, |bits| (1.0 - f64::from(bits)).exp2())
}

fn most(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 | DType::F32 => 3.38e38,
        _ => f64::MAX,
    }
}

/// The least positive number.
fn least(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => (-24f64).exp2(),
        DType::BF16 => (-133f64).exp2(),
        DType::F32 => (-149f64).exp2(),
        _ => f64::from_bits(1),
    }
}
