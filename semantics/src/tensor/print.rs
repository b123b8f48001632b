//! Printing as PyTorch prints, with the language's dtype names.
//!
//! Four digits, at most 80 columns, three elements at each edge of an axis when there
//! are more than 1000. Floats that are all whole numbers print as `1.`; scientific
//! notation is used when magnitudes lie far apart or are very large or small.

use std::fmt;

use super::Tensor;
use crate::dtype::DType;
use crate::scalar::Value;

const PRECISION: usize = 4;
const THRESHOLD: usize = 1000;
const EDGE_ITEMS: usize = 3;
const LINE_WIDTH: usize = 80;
const PREFIX: &str = "tensor(";

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{PREFIX}{}", contents(self));
        let mut suffixes = Vec::new();
        // Without elements nothing shows the shape, nor that the dtype is i64 or bool.
        if self.numel() == 0 && self.rank() != 1 {
            suffixes.push(format!("size={}", tuple_text(self.shape())));
        }
        let shown = self.numel() > 0 && matches!(self.dtype, DType::I64 | DType::Bool);
        if self.dtype != DType::F32 && !shown {
            suffixes.push(format!("dtype={}", self.dtype));
        }
        add_suffixes(&mut text, &suffixes);
        write!(f, "{text})")
    }
}

fn tuple_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => {
            let texts: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("({})", texts.join(", "))
        }
    }
}

fn add_suffixes(text: &mut String, suffixes: &[String]) {
    let mut column = match text.rfind('\n') {
        Some(at) => text.len() - at + 1,
        None => text.len() + 2,
    };
    for suffix in suffixes {
        if column + suffix.len() + 2 > LINE_WIDTH {
            text.push_str(&format!(",\n{}{suffix}", " ".repeat(PREFIX.len())));
            column = PREFIX.len() + suffix.len();
        } else {
            text.push_str(&format!(", {suffix}"));
            column += suffix.len() + 2;
        }
    }
}

fn contents(tensor: &Tensor) -> String {
    if tensor.numel() == 0 {
        return "[]".to_string();
    }
    let summarize = tensor.numel() > THRESHOLD;
    let mut shown = Vec::new();
    collect_shown(tensor, summarize, &mut Vec::new(), &mut shown);
    let format = ElementFormat::choose(tensor.dtype, &shown);
    nested(tensor, PREFIX.len(), summarize, &format, &mut Vec::new())
}

/// Positions shown along an axis; `None` stands for the dots.
fn shown_positions(extent: usize, summarize: bool) -> Vec<Option<usize>> {
    if summarize && extent > 2 * EDGE_ITEMS {
        let head = (0..EDGE_ITEMS).map(Some);
        head.chain([None]).chain((extent - EDGE_ITEMS..extent).map(Some)).collect()
    } else {
        (0..extent).map(Some).collect()
    }
}

fn collect_shown<'t>(tensor: &'t Tensor, summarize: bool, index: &mut Vec<usize>, into: &mut Vec<&'t Value>) {
    let Some(extent) = tensor.shape().get(index.len()) else {
        into.extend(tensor.get(index));
        return;
    };
    for position in shown_positions(*extent, summarize).into_iter().flatten() {
        index.push(position);
        collect_shown(tensor, summarize, index, into);
        index.pop();
    }
}

fn nested(
    tensor: &Tensor,
    indent: usize,
    summarize: bool,
    format: &ElementFormat,
    index: &mut Vec<usize>,
) -> String {
    let rank = tensor.rank() - index.len();
    let Some(extent) = tensor.shape().get(index.len()) else {
        return tensor.get(index).map(|v| format.text(v)).unwrap_or_default();
    };
    let mut parts = Vec::new();
    for position in shown_positions(*extent, summarize) {
        parts.push(match position {
            None if rank == 1 => " ...".to_string(),
            None => "...".to_string(),
            Some(position) => {
                index.push(position);
                let text = nested(tensor, indent + 1, summarize, format, index);
                index.pop();
                text
            }
        });
    }
    let margin = " ".repeat(indent + 1);
    if rank > 1 {
        let gap = format!(",{}{margin}", "\n".repeat(rank - 1));
        return format!("[{}]", parts.join(&gap));
    }
    let per_line = (LINE_WIDTH.saturating_sub(indent) / (format.width + 2)).max(1);
    let lines: Vec<String> = parts.chunks(per_line).map(|line| line.join(", ")).collect();
    format!("[{}]", lines.join(&format!(",\n{margin}")))
}

/// How the elements of one tensor are written, chosen from those shown.
struct ElementFormat {
    style: Style,
    width: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Integers and bools.
    Plain,
    /// Floats that are all whole: `3.`.
    Whole,
    Fixed,
    Scientific,
}

impl ElementFormat {
    fn choose(dtype: DType, shown: &[&Value]) -> ElementFormat {
        if !dtype.is_float() {
            let width = shown.iter().map(|v| plain(v).len()).max().unwrap_or(1);
            return ElementFormat { style: Style::Plain, width };
        }
        let numbers: Vec<f64> =
            shown.iter().map(|v| number(v)).filter(|x| x.is_finite() && *x != 0.0).collect();
        let magnitudes = || numbers.iter().map(|x| x.abs());
        let least = magnitudes().fold(f64::INFINITY, f64::min);
        let most = magnitudes().fold(0.0, f64::max);
        if numbers.is_empty() {
            return ElementFormat { style: Style::Whole, width: 1 };
        }
        let whole = numbers.iter().all(|x| *x == x.ceil());
        let wide = most / least > 1000.0 || most > 1.0e8;
        let style = match (whole, wide) {
            (true, false) => Style::Whole,
            (false, false) if least >= 1.0e-4 => Style::Fixed,
            _ => Style::Scientific,
        };
        let width = numbers.iter().map(|x| float_text(*x, style).len()).max().unwrap_or(1);
        ElementFormat { style, width }
    }

    fn text(&self, value: &Value) -> String {
        let text = match self.style {
            Style::Plain => plain(value),
            style => float_text(number(value), style),
        };
        format!("{text:>width$}", width = self.width)
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_string(),
        Value::Bool(false) => "False".to_string(),
        other => other.to_string(),
    }
}

/// A float as an `f64`; an exact one by its lower bound, the undefined one as NaN.
fn number(value: &Value) -> f64 {
    match value {
        Value::Float(x) => *x,
        Value::Exact(x) => x.bounds().map_or(f64::NAN, |(lo, _)| lo),
        Value::Int(_) | Value::Bool(_) | Value::Field(_) => f64::NAN,
    }
}

fn float_text(x: f64, style: Style) -> String {
    if x.is_nan() {
        return "nan".to_string();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    match style {
        Style::Whole => format!("{x:.0}."),
        Style::Scientific => {
            let text = format!("{x:.PRECISION$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        Style::Fixed | Style::Plain => format!("{x:.PRECISION$}"),
    }
}
