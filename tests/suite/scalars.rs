//! What the rows of the scalar table claim in words: facts on random reals, derivatives
//! against central differences. Both are texts of the language, elaborated as such.

use rtv_grammar::lower::{Given, Lower, OuterCall};
use rtv_grammar::parse;
use rtv_proofs::Module;
use rtv_semantics::arith::Arith;
use rtv_semantics::diag::{FileId, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{Env, Limits, eval};
use rtv_semantics::sample::Sampler;
use rtv_semantics::scalar::{Domain, Row, Scalar, Value};
use rtv_semantics::tensor::Tensor;
use rtv_semantics::types::TensorType;

/// Points at which each text is tried.
const POINTS: usize = 60;

/// A text over `x` and `y` as a function of two scalars.
struct Text {
    call: OuterCall,
    dtype: DType,
}

impl Text {
    /// In a comprehension calls on scalars are those of the table.
    fn new(text: &str, dtype: DType, result: &str) -> Text {
        let source = format!(
            "rtl 1.0\nfn f(x: {dtype}[], y: {dtype}[]) -> {result}[1] {{ return [{text} for i in 1] }}\n"
        );
        let parsed = parse(FileId(0), &source);
        assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
        let (module, _) = Module::new(FileId(0), parsed);
        let mut lower = Lower::new(&module.defs, &Arith);
        let scalar = || Given::Tensor(TensorType::scalar(dtype));
        let call = lower.outer_call("f", &[scalar(), scalar()], &[], Span::default());
        let said = lower.take_diagnostics();
        Text { call: call.unwrap_or_else(|| panic!("{text}: {said:?}")), dtype }
    }

    /// `None` where it has no value or is not decided.
    fn at(&self, x: &Value, y: &Value, domain: Domain) -> Option<Value> {
        let mut env = Env::new();
        for (var, value) in self.call.inputs.iter().zip([x, y]) {
            env = env.with_tensor(var, Tensor::scalar(self.dtype, value.clone()));
        }
        let value = eval(&self.call.term, &env, domain, &Limits::default()).ok()?;
        value.as_tensor()?.nth(0).cloned()
    }
}

/// Mostly small numbers, many of them equal or whole, some large and some tiny.
fn point(sampler: &mut Sampler) -> f64 {
    match sampler.below(5) {
        0 => sampler.integer(-3, 3) as f64,
        1 => sampler.integer(-40, 40) as f64 / 8.0,
        2 => sampler.normal() * 1e-3,
        3 => sampler.normal() * 30.0,
        _ => sampler.normal(),
    }
}

#[test]
fn facts_hold_on_the_reals() {
    let (mut facts, mut held, mut open) = (0, 0, 0);
    for fun in Scalar::all() {
        let row = fun.row();
        let dtype = if row.accepts.contains(DType::F64) { DType::F64 } else { DType::I64 };
        for text in row.facts {
            let fact = Text::new(text, dtype, "bool");
            let mut sampler = Sampler::new(5);
            let mut decided = 0;
            for _ in 0..POINTS {
                let (a, b) = (point(&mut sampler), point(&mut sampler));
                let value = |x: f64| match dtype {
                    DType::F64 => Value::Float(x),
                    _ => Value::Int(x as i64),
                };
                match fact.at(&value(a), &value(b), Domain::Exact).as_ref().and_then(Value::as_bool) {
                    Some(true) => decided += 1,
                    Some(false) => panic!("{}: `{text}` fails at x = {a}, y = {b}", row.name),
                    None => open += 1,
                }
            }
            facts += 1;
            held += decided;
        }
    }
    println!("{facts} facts hold at {held} points; {open} points undefined or not decided");
    assert!(facts >= 60, "{facts} facts");
}

#[test]
fn derivatives_are_limits_of_differences() {
    let (mut derivatives, mut points) = (0, 0);
    for fun in Scalar::all() {
        let row = fun.row();
        if !row.accepts.contains(DType::F64) || row.is_test() {
            continue;
        }
        let args = if row.arity == 1 { "x" } else { "x, y" };
        let function = Text::new(&format!("{}({args})", row.name), DType::F64, "f64");
        for (k, text) in row.derivative.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
            // A choice between two numbers alone is f32.
            let derivative = Text::new(&format!("f64({text})"), DType::F64, "f64");
            points += compare(row, k, &function, &derivative);
            derivatives += 1;
        }
    }
    println!("{derivatives} derivatives agree with differences at {points} points");
    assert!(derivatives >= 60, "{derivatives} derivatives");
}

/// The number of smooth points found, at each of which the derivative is right.
fn compare(row: &Row, by: usize, function: &Text, derivative: &Text) -> usize {
    let mut sampler = Sampler::new(7);
    let mut smooth = 0;
    for _ in 0..20 * POINTS {
        let at = [sampler.normal() * 1.7, sampler.normal() * 1.7];
        let f = |step: f64| {
            let mut at = at;
            at[by] += step;
            let value = function.at(&Value::Float(at[0]), &Value::Float(at[1]), Domain::Ieee);
            value.and_then(|v| v.as_float()).filter(|v| v.is_finite())
        };
        let step = 1e-5;
        let slopes = |h: f64| Some((f(h)? - f(-h)?) / (2.0 * h));
        // Where two step widths and both sides disagree, a kink or a jump is near.
        let (Some(slope), Some(wide)) = (slopes(step), slopes(8.0 * step)) else { continue };
        let (Some(left), Some(right)) = (f(-8.0 * step), f(8.0 * step)) else { continue };
        let Some(here) = f(0.0) else { continue };
        let sides = [(here - left) / (8.0 * step), (right - here) / (8.0 * step)];
        let scale = 1.0 + slope.abs();
        if (slope - wide).abs() > 1e-6 * scale || (sides[0] - sides[1]).abs() > 1e-2 * scale {
            continue;
        }
        let stated = derivative.at(&Value::Float(at[0]), &Value::Float(at[1]), Domain::Ieee);
        let stated = stated.and_then(|v| v.as_float()).expect("a derivative where the function is smooth");
        let text = row.derivative[by];
        assert!(
            (stated - slope).abs() <= 1e-5 * scale,
            "{}: `{text}` is {stated} at x = {}, y = {}, but the slope is {slope}",
            row.name,
            at[0],
            at[1]
        );
        smooth += 1;
        if smooth == POINTS {
            break;
        }
    }
    assert!(smooth >= 5, "{}: the derivative by argument {by} is compared at {smooth} points", row.name);
    smooth
}
