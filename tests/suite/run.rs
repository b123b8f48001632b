//! `rtv run` of whole programs on tensor files against recorded results of PyTorch.

use crate::folder::{Folder, root};
use rtv_runtime::io;
use rtv_semantics::dtype::DType;
use rtv_semantics::scalar::ulp_distance;
use rtv_semantics::tensor::Tensor;

/// A program of `examples/`, its recorded arguments and the error allowed.
struct Program {
    file: &'static str,
    function: &'static str,
    params: &'static [&'static str],
    /// In units of the rounding error of the dtype at the largest result. The recorded
    /// results are rounded at every step too, in another order of sums.
    allowed: f64,
}

const PROGRAMS: [Program; 4] = [
    Program { file: "softmax", function: "row_softmax", params: &["x"], allowed: 4.0 },
    Program { file: "layer_norm", function: "normalize", params: &["x", "w", "b"], allowed: 4.0 },
    Program { file: "attention", function: "attention", params: &["q", "k", "v", "mask"], allowed: 8.0 },
    Program { file: "mlp", function: "loss", params: &["x", "w1", "b1", "w2", "b2", "y"], allowed: 8.0 },
];

#[test]
fn programs_agree_with_pytorch() {
    for program in &PROGRAMS {
        for dtype in [DType::F32, DType::F64] {
            let (ours, recorded) = (result(program, dtype), recorded(program, dtype, "out"));
            assert_eq!((ours.dtype, ours.shape()), (dtype, recorded.shape()), "{}", program.file);
            let figures = figures(&ours, &recorded, dtype);
            println!(
                "{:10} {dtype}: {} elements, {:.0} % bit for bit, worst {} ulp, worst error {:.2} roundings of the largest",
                program.file,
                ours.numel(),
                100.0 * figures.equal,
                figures.ulp,
                figures.error,
            );
            assert!(figures.error <= program.allowed, "{} {dtype}: {}", program.file, figures.error);
        }
    }
}

fn path(program: &Program, dtype: DType, what: &str) -> String {
    let file = format!("tests/suite/data/run/{}.{dtype}.{what}.npy", program.file);
    root().join(file).to_string_lossy().into_owned()
}

fn recorded(program: &Program, dtype: DType, what: &str) -> Tensor {
    io::read(path(program, dtype, what).as_ref(), None).expect("a recorded tensor")
}

fn result(program: &Program, dtype: DType) -> Tensor {
    let folder = Folder::new(&format!("run-{}-{dtype}", program.file));
    let file = root().join(format!("examples/{}.rtl", program.file)).to_string_lossy().into_owned();
    let given = program.params.iter().map(|p| format!("{p}={}", path(program, dtype, p)));
    let given: Vec<String> = given.collect();
    let mut args = vec!["run", file.as_str(), program.function, "--out", "out.npy"];
    given.iter().for_each(|g| args.extend(["--arg", g.as_str()]));
    let run = folder.run(&args);
    assert_eq!(run.code, Some(0), "{run:?}");
    io::read(&folder.path("out.npy"), None).expect("a result")
}

struct Figures {
    /// Share of elements with equal bits.
    equal: f64,
    ulp: u64,
    /// The worst difference over epsilon times the largest element.
    error: f64,
}

fn figures(ours: &Tensor, recorded: &Tensor, dtype: DType) -> Figures {
    let epsilon = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let float = |v: &rtv_semantics::scalar::Value| v.as_float().expect("a float");
    let largest = recorded.values().map(|v| float(v).abs()).fold(0.0, f64::max);
    let pairs: Vec<_> = ours.values().zip(recorded.values()).collect();
    let equal = pairs.iter().filter(|(a, b)| a.same(b) == Some(true)).count();
    let ulps = pairs.iter().map(|(a, b)| ulp_distance(a, b, dtype).expect("two numbers"));
    let errors = pairs.iter().map(|(a, b)| (float(a) - float(b)).abs() / (epsilon * largest));
    Figures {
        equal: equal as f64 / pairs.len() as f64,
        ulp: ulps.max().expect("elements"),
        error: errors.fold(0.0, f64::max),
    }
}
