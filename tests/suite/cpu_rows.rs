//! Long rows of the CPU backend, which runs them in strips of vectors, and rows under masks,
//! which end where the mask hides the rest: they have the bits of short and of whole ones.

use rtv::workloads::call;
use rtv_proofs::Module;
use rtv_runtime::array::Array;
use rtv_runtime::cpu::Pool;
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::DType;

use crate::cpu::{program, results};

fn module(source: &str) -> Module {
    let (module, faults) = Module::new(FileId(0), rtv_grammar::parse(FileId(0), source));
    assert!(faults.is_empty(), "{faults:?}");
    module
}

fn floats(shape: &[usize], value: impl Fn(usize) -> f32) -> Array {
    let bytes: Vec<u8> = (0..shape.iter().product()).flat_map(|at| value(at).to_le_bytes()).collect();
    Array::from_bytes(DType::F32, shape, &bytes).expect("as many as the shape has")
}

fn run(module: &Module, function: &str, arguments: &[Array]) -> Vec<Vec<f32>> {
    let shapes: Vec<String> = arguments
        .iter()
        .map(|array| {
            let dims: Vec<String> = array.shape.iter().map(usize::to_string).collect();
            format!("{} {}", array.dtype, dims.join(" "))
        })
        .collect();
    let shapes: Vec<&str> = shapes.iter().map(String::as_str).collect();
    let (call, _) = call(module, function, &shapes);
    let found = program(&call, arguments).run_on(arguments, Pool::global()).expect("it runs");
    let lanes = |array: &Array| {
        let (lanes, _) = array.bytes().as_chunks::<4>();
        lanes.iter().map(|lane| f32::from_le_bytes(*lane)).collect()
    };
    results(found).iter().map(lanes).collect()
}

/// NaN are one: which of two is kept is not said.
fn bits(x: f32) -> u32 {
    if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }
}

/// Whether a mask keeps the element of a row and a column.
type Kept = fn(i64, i64) -> bool;

#[test]
fn elements_of_long_rows_have_the_bits_of_short_ones() {
    const SOURCE: &str = "rtl 1.0
fn f[N](x: f32[N], y: f32[N]) -> (f32[N], f32[N], f32[N], f32[N], f32[N], f32[N]) {
  let a = maximum(x, y) * 0.5 - x / y
  let b = [if x[i] < y[i] { sqrt(abs(x[i])) } else { -y[i] } for i in N]
  let c = exp(x - 1.0) + tanh(y) * x
  let d = 1.0 / (1.0 + exp(-x)) - (2.0 - x)
  let e = minimum(3.0 - y, x / 2.0) + maximum(y, 1.0)
  let g = [if y[i] >= 0.25 { x[i] * x[i] } else { if x[i] == y[i] { 1.0 } else { log(y[i]) } } for i in N]
  return (a, b, c, d, e, g)
}
";
    const SHORT: usize = 40;
    let special =
        [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40, -1e-45, 3e38, 88.8, -103.9];
    let mixed = |at: usize, by: usize| match at % 5 {
        0 => special[at / 5 * by % special.len()],
        _ => ((at * by * 7919) % 2003) as f32 / 250.0 - 4.0,
    };
    let (module, length) = (module(SOURCE), 25 * SHORT);
    let (x, y) = (|at: usize| mixed(at, 1), |at: usize| mixed(at, 7));
    let long = run(&module, "f", &[floats(&[length], x), floats(&[length], y)]);
    for start in (0..length).step_by(SHORT) {
        let part = [floats(&[SHORT], |at| x(start + at)), floats(&[SHORT], |at| y(start + at))];
        for (result, (long, short)) in long.iter().zip(run(&module, "f", &part)).enumerate() {
            for (at, value) in short.iter().enumerate() {
                let (x, y, whole) = (x(start + at), y(start + at), long[start + at]);
                assert_eq!(bits(whole), bits(*value), "result {result} of {x} and {y}: {whole} for {value}");
            }
        }
    }
}

#[test]
fn a_value_that_is_the_same_along_a_row_is_reduced_as_often_as_the_row_has_lanes() {
    const SOURCE: &str = "rtl 1.0
fn f[M, N](x: f32[M], w: f32[N]) -> (f32[M], f32[M], f32, f32[M], f32) {
  let wide = [x[i] for i in M, j in N]
  let none = amax(tril([w[j] for i in 16, j in N], -20))
  return (sum(wide, dim=1), amax(wide, dim=1), none, prod([x[i] for i in M, j in N], dim=1), sum(w * 0.0 + 2.0))
}
";
    let module = module(SOURCE);
    for lanes in [3, 127, 128, 300, 1024, 5000] {
        let x = [1.0, -1.0, 0.5, 3.0];
        let found = run(&module, "f", &[floats(&[4], |at| x[at]), floats(&[lanes], |_| 7.0)]);
        let each = |of: fn(f32, i32) -> f32| x.iter().map(|x| of(*x, lanes as i32)).collect::<Vec<_>>();
        assert_eq!(found[0], each(|x, lanes| x * lanes as f32), "sums of {lanes}");
        assert_eq!(found[1], x, "largest of {lanes}");
        assert_eq!(found[2], [0.0], "largest of zeros, {lanes} a row");
        assert_eq!(found[3], each(f32::powi), "products of {lanes}");
        assert_eq!(found[4], [2.0 * lanes as f32], "sum of {lanes}");
    }
}

#[test]
fn rows_under_a_mask_on_indices_are_those_under_the_same_mask_of_data() {
    let (b, t, d) = (2usize, 200usize, 8usize);
    let masks: [(&str, Kept); 5] = [
        ("j <= i", |i, j| j <= i),
        ("j < i", |i, j| j < i),
        ("2 * j <= i + 5", |i, j| 2 * j <= i + 5),
        ("i + j <= 150", |i, j| i + j <= 150),
        ("i <= j", |i, j| i <= j),
    ];
    let normal = |at: usize| ((at * 7919) % 2003) as f32 / 500.0 - 2.0;
    let with = |place: usize, value: f32| move |at: usize| if at == place { value } else { normal(at) };
    for (mask, truth) in masks {
        for (keys, k_shape) in [("B, T, D", vec![b, t, d]), ("T, D", vec![t, d])] {
            let source = format!(
                "rtl 1.0
fn by_index[B, T, D](q: f32[B, T, D], k: f32[{keys}], v: f32[{keys}], g: f32[T, T]) -> f32[B, T, D] {{
  let s = q @ transpose(k, -1, -2)
  let m = [if {mask} {{ s[b, i, j] }} else {{ -inf }} for b in B, i in T, j in T]
  return softmax(m, dim = -1) @ v
}}
fn by_data[B, T, D](q: f32[B, T, D], k: f32[{keys}], v: f32[{keys}], g: f32[T, T]) -> f32[B, T, D] {{
  let s = q @ transpose(k, -1, -2)
  let m = [if g[i, j] > 0.0 {{ s[b, i, j] }} else {{ -inf }} for b in B, i in T, j in T]
  return softmax(m, dim = -1) @ v
}}
"
            );
            let module = module(&source);
            let data = floats(&[t, t], |at| f32::from(u8::from(truth((at / t) as i64, (at % t) as i64))));
            let cases = [
                (with(0, 0.5), with(0, 0.5)),
                (with(77 * d, f32::INFINITY), with(0, 0.5)),
                (with(130 * d + 1, f32::NAN), with(0, 0.5)),
                (with(0, 0.5), with(190 * d, f32::NEG_INFINITY)),
            ];
            for (q, v) in cases {
                let arguments =
                    [floats(&[b, t, d], q), floats(&k_shape, normal), floats(&k_shape, v), data.clone()];
                let (found, wanted) =
                    (run(&module, "by_index", &arguments), run(&module, "by_data", &arguments));
                for (at, (a, b)) in found[0].iter().zip(&wanted[0]).enumerate() {
                    assert!(a == b || (a.is_nan() && b.is_nan()), "{mask}: element {at}: {a} for {b}");
                }
            }
        }
    }
}
