//! The CPU backend on programs of some size: equal bytes whatever runs them, and values near
//! those of the reference.

use rtv::workloads;
use rtv_grammar::lower::OuterCall;
use rtv_proofs::Module;
use rtv_runtime::array::Array;
use rtv_runtime::backend::{Floats, Output, Prepared as _};
use rtv_runtime::cpu::{Pool, Program};
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{Datum, Env, Limits, eval};
use rtv_semantics::scalar::Domain;
use rtv_semantics::tensor::Tensor;

use crate::folder::Folder;

/// Runs for each number of threads.
const RUNS: usize = 20;

/// Functions of `benches/workloads.rtl`, at sizes past one block, one chunk or one tile.
const LARGE: [(&str, &[&str]); 18] = [
    ("gelu_tanh", &["f32 37 1500"]),
    ("softmax_rows", &["f32 70 2100"]),
    ("softmax_rows", &["f32 300 16"]),
    ("layernorm", &["f32 65 1030", "f32 1030", "f32 1030"]),
    ("chain", &["f32 300001", "f32 300001"]),
    ("rowsum", &["f32 33 5000"]),
    ("colsum", &["f32 700 1100"]),
    ("transpose_add", &["f32 130 270", "f32 270 130"]),
    ("product", &["f32 150 300", "f32 300 170"]),
    ("product", &["f64 61 270", "f64 270 45"]),
    ("product", &["bf16 40 300", "bf16 300 33"]),
    ("product", &["i32 70 65", "i32 65 50"]),
    ("product", &["f32 1 3000", "f32 3000 40"]),
    ("bmm_", &["f32 6 33 40", "f32 6 40 50"]),
    ("attn", &["f32 1 3 130 32", "f32 1 3 130 32", "f32 1 3 130 32"]),
    ("attn_causal", &["f32 1 3 200 32", "f32 1 3 200 32", "f32 1 3 200 32"]),
    ("mlp_train", &["f32 50 70", "f32 70", "f32 70 10", "f32 10", "f32 33 50", "i64<10 33"]),
    ("xent", &["f32 20 3000", "i64<3000 20"]),
];

/// Smaller ones, for the reference.
const SMALL: [(&str, &[&str]); 13] = [
    ("gelu_tanh", &["f32 3 40"]),
    ("softmax_rows", &["f32 5 70"]),
    ("softmax_rows", &["f32 40 7"]),
    ("layernorm", &["f32 5 70", "f32 70", "f32 70"]),
    ("rowsum", &["f32 3 1500"]),
    ("colsum", &["f32 300 20"]),
    ("transpose_add", &["f32 20 37", "f32 37 20"]),
    ("product", &["f32 13 40", "f32 40 35"]),
    ("product_nt", &["f32 13 40", "f32 35 40"]),
    ("product_tn", &["f32 40 13", "f32 40 35"]),
    ("attn_causal", &["f32 1 2 33 8", "f32 1 2 33 8", "f32 1 2 33 8"]),
    ("conv", &["f32 2 3 9 11", "f32 4 3 3 3"]),
    ("xent", &["f32 6 50", "i64<50 6"]),
];

/// A program that runs in memory where nothing of what was there may be read.
pub fn program(call: &OuterCall, arguments: &[Array]) -> Program {
    rtv_runtime::cpu::spoil();
    let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
    Program::new(&call.term, &decls).expect("the CPU takes the program")
}

fn arrays(output: Output, into: &mut Vec<Array>) {
    match output {
        Output::Array(array) => into.push(array),
        Output::Size(_) => {}
        Output::Tuple(parts) => parts.into_iter().for_each(|part| arrays(part, into)),
    }
}

pub fn results(output: Output) -> Vec<Array> {
    let mut found = Vec::new();
    arrays(output, &mut found);
    found
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let module = workloads::module();
    let pools = [Pool::new(1), Pool::new(2), Pool::new(3)];
    for (function, shapes) in LARGE {
        let (call, arguments) = workloads::call(&module, function, shapes);
        let program = program(&call, &arguments);
        let first: Vec<Vec<u8>> = results(program.run_on(&arguments, &pools[0]).expect("it runs"))
            .iter()
            .map(|array| array.bytes().to_vec())
            .collect();
        for pool in &pools {
            for run in 0..RUNS {
                let again = results(program.run_on(&arguments, pool).expect("it runs"));
                let same = again.iter().zip(&first).all(|(array, bytes)| array.bytes() == bytes);
                assert!(same, "{function} {shapes:?}: run {run} on {} threads", pool.threads());
            }
        }
    }
}

#[test]
fn bytes_do_not_depend_on_vectors() {
    let folder = Folder::new("cpu-vectors");
    folder.file("w.rtl", workloads::SOURCE);
    let cases: [(&str, &[&str]); 8] = [
        ("gelu_tanh", &["x=randn(3, 1100)"]),
        ("softmax_rows", &["x=randn(9, 1300)"]),
        ("chain", &["x=randn(70001)", "r=randn(70001):1"]),
        ("attn_causal", &["q=randn(1, 2, 200, 16)", "k=randn(1, 2, 200, 16):1", "v=randn(1, 2, 200, 16):2"]),
        ("colsum", &["x=randn(300, 70)"]),
        ("transpose_add", &["x=randn(40, 70)", "y=randn(70, 40):1"]),
        ("product", &["a=randn(30, 300)", "b=randn(300, 41):1"]),
        ("layernorm", &["x=randn(5, 1100)", "g=randn(1100):1", "b=randn(1100):2"]),
    ];
    for (function, arguments) in cases {
        let mut found = Vec::new();
        for bits in ["0", "256", "512"] {
            let out = format!("{function}-{bits}.npy");
            let mut words = vec!["run", "w.rtl", function, "--backend", "cpu", "--out", &out];
            // The last one where products are rounded with their sums.
            words.extend((function == "layernorm").then_some("--fast"));
            arguments.iter().for_each(|argument| words.extend(["--arg", argument]));
            let run = folder.run_with(&words, &[("RTV_VECTORS", bits)]);
            assert_eq!(run.code, Some(0), "{function}: {}", run.err);
            found.push(std::fs::read(folder.path(&out)).expect("the result"));
        }
        assert!(found.iter().all(|bytes| *bytes == found[0]), "{function}: bytes differ with vectors");
    }
}

/// Rows between two products, in dtypes whose lanes are wider than their elements.
#[test]
fn narrow_floats_go_through_products_and_rows() {
    const SOURCE: &str = "rtl 1.0
fn f[M, K, N, T: float](x: T[M, K], w: T[K, N], v: T[N, K]) -> T[M, K] {
  return softmax(x @ w, dim = 1) @ v
}
";
    let (module, _) = Module::new(FileId(0), rtv_grammar::parse(FileId(0), SOURCE));
    for dtype in ["f16", "bf16", "f32", "f64"] {
        let shapes = ["127 16", "16 24", "24 16"].map(|shape| format!("{dtype} {shape}"));
        let (call, arguments) = workloads::call(&module, "f", &shapes.each_ref().map(String::as_str));
        let found = results(program(&call, &arguments).run_on(&arguments, Pool::global()).expect("it runs"));
        let mut env = Env::new();
        for (var, array) in call.inputs.iter().zip(&arguments) {
            env = env.with_tensor(var, array.to_tensor());
        }
        let wanted = eval(&call.term, &env, Domain::Ieee, &Limits::default()).expect("the reference runs it");
        let wanted = wanted.as_tensor().expect("a tensor");
        let floats = |tensor: &Tensor| -> Vec<f64> { tensor.values().filter_map(|x| x.as_float()).collect() };
        let unit = 0.5f64.powi(wanted.dtype.precision().expect("a float") as i32 - 1);
        for (a, b) in floats(&found[0].to_tensor()).into_iter().zip(floats(wanted)) {
            assert!((a - b).abs() <= 64.0 * unit, "{dtype}: {a} for {b}");
        }
    }
}

#[test]
fn values_are_near_those_of_the_reference() {
    let module = workloads::module();
    for (function, shapes) in SMALL {
        let (call, arguments) = workloads::call(&module, function, shapes);
        let found = results(program(&call, &arguments).run_on(&arguments, Pool::global()).expect("it runs"));
        let mut env = Env::new();
        for (var, array) in call.inputs.iter().zip(&arguments) {
            env = env.with_tensor(var, array.to_tensor());
        }
        let wanted = eval(&call.term, &env, Domain::Ieee, &Limits::default()).expect("the reference runs it");
        let mut tensors = Vec::new();
        flatten(&wanted, &mut tensors);
        assert_eq!(found.len(), tensors.len(), "{function}: results");
        for (found, wanted) in found.iter().zip(tensors) {
            assert_near(function, &found.to_tensor(), wanted);
        }
    }
}

/// A chain of products and sums, as the backend has it in both modes.
#[test]
fn contraction_is_asked_for_and_changes_nothing_else() {
    const SOURCE: &str = "rtl 1.0
fn f[N, T: float](x: T[N], y: T[N], z: T[N]) -> T[N] { return x * y + z }
fn g[N, T: float](x: T[N], y: T[N], z: T[N]) -> T[N] { return z - x * y }
fn h[N, T: float](x: T[N], y: T[N], z: T[N]) -> T[N] { return x * y - z }
fn several[N, T: float](x: T[N], y: T[N], z: T[N]) -> T[N] { return (x * y) * (x * y + z) + x * y }
";
    let (module, _) = Module::new(FileId(0), rtv_grammar::parse(FileId(0), SOURCE));
    let once = |x: f32, y: f32, z: f32, function: &str| match function {
        "f" => x.mul_add(y, z),
        "g" => (-x).mul_add(y, z),
        _ => x.mul_add(y, -z),
    };
    let twice = |x: f32, y: f32, z: f32, function: &str| match function {
        "f" => x * y + z,
        "g" => z - x * y,
        _ => x * y - z,
    };
    let floats = |array: &Array| -> Vec<f32> {
        let elements = array.to_tensor();
        elements.values().map(|x| x.as_float().expect("a float") as f32).collect()
    };
    for function in ["f", "g", "h"] {
        let (call, arguments) = workloads::call(&module, function, &["f32 3000"; 3]);
        let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
        let [x, y, z] = [0, 1, 2].map(|k| floats(&arguments[k]));
        let mut all = Vec::new();
        for (mode, count) in [(Floats::Strict, 0), (Floats::Fast, 1)] {
            let program = Program::with(&call.term, &decls, mode).expect("the CPU takes the program");
            assert_eq!(program.contracted(), count, "{function}");
            let found = results(program.run_on(&arguments, Pool::global()).expect("it runs"));
            let wanted = (0..x.len()).map(|k| match mode {
                Floats::Strict => twice(x[k], y[k], z[k], function),
                Floats::Fast => once(x[k], y[k], z[k], function),
            });
            assert_eq!(floats(&found[0]), wanted.collect::<Vec<f32>>(), "{function} {mode:?}");
            all.push(found[0].bytes().to_vec());
        }
        assert_ne!(all[0], all[1], "{function}: contraction changes some bits");
    }
    // Of several, the product that has no other use; narrow floats round at each step.
    for (function, shape, count) in [("several", "f32 9", 1), ("f", "bf16 9", 0), ("f", "f64 9", 1)] {
        let (call, arguments) = workloads::call(&module, function, &[shape; 3]);
        let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
        let program = Program::with(&call.term, &decls, Floats::Fast).expect("the CPU takes the program");
        assert_eq!(program.contracted(), count, "{function} {shape}");
    }
}

fn flatten<'d>(datum: &'d Datum, into: &mut Vec<&'d Tensor>) {
    match datum {
        Datum::Tensor(tensor) => into.push(tensor),
        Datum::Size(_) => {}
        Datum::Tuple(parts) => parts.iter().for_each(|part| flatten(part, into)),
    }
}

/// Within some roundings of the largest value: sums run in another order.
fn assert_near(function: &str, found: &Tensor, wanted: &Tensor) {
    assert_eq!((found.dtype, found.shape()), (DType::F32, wanted.shape()), "{function}");
    let floats = |tensor: &Tensor| -> Vec<f64> {
        tensor.values().map(|value| value.as_float().expect("a float")).collect()
    };
    let (found, wanted) = (floats(found), floats(wanted));
    let most = wanted.iter().fold(0f64, |most, x| most.max(x.abs()));
    for (at, (a, b)) in found.iter().zip(&wanted).enumerate() {
        assert!(
            (a - b).abs() <= 32.0 * f64::from(f32::EPSILON) * most,
            "{function}: element {at}: {a} for {b}"
        );
    }
}

/// What a function prints on both backends.
fn on_both(folder: &Folder, argument: &str) -> [String; 2] {
    ["ref", "cpu"].map(|backend| {
        let run = folder.run(&["run", "p.rtl", "f", "--arg", argument, "--backend", backend]);
        run.out + &run.err
    })
}

/// `terms` products, added pairwise, less the same in the other order twice.
fn sum_of(terms: usize) -> String {
    let products: Vec<String> = (0..terms).map(|at| format!("x[i + {at}] * {}", at % 7)).collect();
    let added = |mut terms: Vec<String>| {
        while terms.len() > 1 {
            terms = terms.chunks(2).map(|two| format!("({})", two.join(" + "))).collect();
        }
        terms.concat()
    };
    let (there, back) = (added(products.clone()), added(products.into_iter().rev().collect()));
    format!(
        "rtl 1.0\nfn f(x: i8[{}]) -> i8[8] {{\n  return [{there} - {back} * 2 for i in 8]\n}}\n",
        terms + 10
    )
}

#[test]
fn expressions_of_many_operations_are_computed_or_refused() {
    let folder = Folder::new("cpu-many");
    // More registers than 16 bits number.
    folder.file("p.rtl", sum_of(13_000));
    let [reference, cpu] = on_both(&folder, "x=ones(13010)@i8");
    assert!(reference.contains("tensor([-85, -85,"), "{reference}");
    assert_eq!(reference, cpu);
    folder.file("p.rtl", sum_of(17_000));
    let [reference, cpu] = on_both(&folder, "x=ones(17010)@i8");
    assert!(reference.contains("dtype=i8"), "{reference}");
    assert!(cpu.contains("R0641") && cpu.contains("help: `--backend ref` runs every program"), "{cpu}");
}

#[test]
fn what_is_read_at_several_indices_is_not_computed_over_and_over() {
    let folder = Folder::new("cpu-indices");
    let chain = |lines: usize, line: &dyn Fn(usize) -> String| -> String {
        (0..lines).map(|at| format!("  let a{} = {}\n", at + 1, line(at))).collect()
    };
    let quotients = chain(40, &|at| format!("[a{at}[i] - a{at}[(i * {}) // 11] for i in 64]", at % 10 + 1));
    folder.file("p.rtl", format!("rtl 1.0\nfn f(a0: i32[64]) -> i32[64] {{\n{quotients}  return a40\n}}\n"));
    let [reference, cpu] = on_both(&folder, "a0=arange(64)@i32");
    assert!(reference.contains("dtype=i32"), "{reference}");
    assert_eq!(reference, cpu);
    let shifts = chain(400, &|at| format!("[a{at}[i] + a{at}[i + 1] for i in {}]", 407 - at));
    folder.file("p.rtl", format!("rtl 1.0\nfn f(a0: i32[408]) -> i32[8] {{\n{shifts}  return a400\n}}\n"));
    let [reference, cpu] = on_both(&folder, "a0=arange(408)@i32");
    assert!(reference.contains("dtype=i32"), "{reference}");
    assert_eq!(reference, cpu);
    let optimized = folder.run(&["opt", "p.rtl", "f"]);
    assert!(optimized.out.contains("no rule makes it cheaper"), "{optimized:?}");
}
