//! Programs of the kind that people wait for, with arguments: `rtv-bench` times them, tests
//! hold them to the reference and to equal bytes on any number of threads.

use rtv_grammar::lower::{Given, Lower, OuterCall};
use rtv_proofs::Module;
use rtv_runtime::array::Array;
use rtv_runtime::random::Stream;
use rtv_runtime::spec::{Argument, Setting};
use rtv_semantics::diag::{FileId, Span};
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::Domain;
use rtv_semantics::size::Size;
use rtv_semantics::types::TensorType;

/// The functions, as `rtv run` would be given them.
pub const SOURCE: &str = include_str!("../benches/workloads.rtl");

/// The functions, ready to be called.
///
/// # Panics
/// If they do not parse: a test has looked at them.
pub fn module() -> Module {
    let (module, faults) = Module::new(FileId(0), rtv_grammar::parse(FileId(0), SOURCE));
    assert!(
        faults.iter().all(|fault| !fault.is_error()),
        "the workloads have names of their own: {faults:?}"
    );
    module
}

/// A call of a function with random arguments of these shapes: `f32 2 3` are normal
/// numbers, `i64<10 5` whole numbers below 10.
///
/// # Panics
/// If the function does not take them.
pub fn call(module: &Module, function: &str, shapes: &[&str]) -> (OuterCall, Vec<Array>) {
    let arguments: Vec<Array> =
        shapes.iter().enumerate().map(|(at, shape)| argument(shape, at as u64)).collect();
    let given: Vec<Given> = arguments
        .iter()
        .map(|array| {
            let shape = array.shape.iter().map(|extent| Size::from(*extent as i64)).collect();
            Given::Tensor(TensorType::new(array.dtype, shape))
        })
        .collect();
    let mut lower = Lower::new(&module.defs, &rtv_semantics::guess::Guessing);
    let call = lower.outer_call(function, &given, &[], Span::default());
    let call = call.unwrap_or_else(|| panic!("{function}: {:?}", lower.take_diagnostics()));
    (call, arguments)
}

fn argument(text: &str, number: u64) -> Array {
    let mut words = text.split_whitespace();
    let head = words.next().expect("a dtype");
    let dims: Vec<&str> = words.collect();
    let (dtype, generator) = match head.split_once('<') {
        Some((dtype, below)) => (dtype, format!("randint(0, {below}, [{}])", dims.join(", "))),
        None if head.starts_with('i') => (head, format!("randint(-99, 99, [{}])", dims.join(", "))),
        None => (head, format!("randn({})", dims.join(", "))),
    };
    let argument = Argument::parse(&format!("x={generator}")).expect("a generator");
    let dtype = DType::from_name(dtype);
    let setting = Setting { dtype, domain: Domain::Ieee, stream: Stream { seed: 0, number } };
    let tensor = argument.tensor(&setting).expect("an argument");
    Array::from_tensor(&tensor).expect("IEEE elements")
}
