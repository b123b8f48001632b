//! Scans, sorting, reductions by index and folds on the CPU: which kernels they get, that
//! these keep every bit of the reference, and what they are refused and fail with.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rtv::{optimize, workloads};
use rtv_proofs::{Module, program};
use rtv_runtime::array::Array;
use rtv_runtime::backend::{Output, Prepared as _};
use rtv_runtime::cost::Cost;
use rtv_runtime::cpu::{Pool, Program};
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::{Datum, Env, EvalError, Limits, codes, eval};
use rtv_semantics::sample::{Sampler, Style};
use rtv_semantics::scalar::Domain;
use rtv_semantics::tensor::Tensor;

const SOURCE: &str = "rtl 1.0
fn sums[*S, T: any](x: T[*S]) { return cumsum(x, -2) }
fn sums_of_rows[*S, T: any](x: T[*S]) { return cumsum(x * 2, -1) }
fn products[*S, T: any](x: T[*S]) { return cumprod(x, -1) }
fn greatest[*S, T: any](x: T[*S]) { return cummax(x, -2) }
fn least[*S, T: any](x: T[*S]) { return cummin(x, -1) }
fn ordered[*S, T: any](x: T[*S]) { return sort(x, -2) }
fn down[*S, T: any](x: T[*S]) { return sort(x, -1, descending = true) }
fn top[*S, T: any](x: T[*S]) { return topk(x, 3, -1) }
fn before[N, T: num](x: T[N]) -> T[N] { return [sum(x[k] for k in i) for i in N] }
fn up_to[N, T: num](x: T[N]) -> T[N] { return [sum(if k <= i { x[k] } else { 0 } for k in N) for i in N] }
fn well_before[N, T: num](x: T[N]) -> T[N] { return [max(if k + 2 < i { x[k] } else { T(-100) } for k in N) for i in N] }
fn beyond[N, T: num](x: T[N]) -> T[N] { return [prod(if i + 3 > k { x[k] } else { 1 } for k in N) for i in N] }
fn after[N, T: num](x: T[N]) -> T[N] { return [sum(if k >= i { x[k] } else { 0 } for k in N) for i in N] }
fn exponentials[*S, T: float](x: T[*S]) -> T[*S] { return logcumsumexp(x, -1) }
fn added[*S, N, *R](x: f32[*S], i: i64[N], y: f32[*R]) -> f32[*S] { return index_add(x, 0, i, y) }
fn put[*S, *R](x: f32[*S], i: i64[*R], y: f32[*R]) -> f32[*S] { return scatter(x, 0, i, y) }
fn marked[*S, *R](x: f32[*S], i: i64[*R]) -> f32[*S] { return scatter(x, 0, i, 7.0) }
fn summed[*S, *R](x: i32[*S], i: i64[*R], y: i32[*R]) -> i32[*S] {
  return scatter_reduce(x, 0, i, y, \"sum\", false)
}
fn filled[*S, N](x: f32[*S], i: i64[N]) -> f32[*S] { return index_fill(x, 0, i % 9 - 4, 2.5) }
fn near[N](x: i64[N]) -> bool[N] { return [any(x[k] == i or x[k] == i - 3 for k in N) for i in N] }
fn placed[*S, N, *R](x: f32[*S], i: i64[N], y: f32[*R]) -> f32[*S] { return index_copy(x, 0, i, y) }
";

fn module(source: &str) -> Module {
    let (module, faults) = Module::new(FileId(0), rtv_grammar::parse(FileId(0), source));
    assert!(faults.is_empty(), "{faults:?}");
    module
}

/// A function of a module at arguments.
struct Case {
    program: Result<Program, EvalError>,
    arguments: Vec<Array>,
    wanted: Result<Datum, EvalError>,
}

fn case(module: &Module, function: &str, shapes: &[&str], change: impl Fn(usize, Array) -> Array) -> Case {
    let (call, arguments) = workloads::call(module, function, shapes);
    let arguments: Vec<Array> = arguments.into_iter().enumerate().map(|(k, x)| change(k, x)).collect();
    let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
    let mut env = Env::new();
    for (var, array) in call.inputs.iter().zip(&arguments) {
        env = env.with_tensor(var, array.to_tensor());
    }
    let wanted = eval(&call.term, &env, Domain::Ieee, &Limits::default());
    Case { program: Program::new(&call.term, &decls), arguments, wanted }
}

fn tensors(output: &Output, into: &mut Vec<Tensor>) {
    match output {
        Output::Array(array) => into.push(array.to_tensor()),
        Output::Size(_) => {}
        Output::Tuple(parts) => parts.iter().for_each(|part| tensors(part, into)),
    }
}

fn wanted(datum: &Datum, into: &mut Vec<Tensor>) {
    match datum {
        Datum::Tensor(tensor) => into.push(tensor.clone()),
        Datum::Size(_) => {}
        Datum::Tuple(parts) => parts.iter().for_each(|part| wanted(part, into)),
    }
}

/// Results on one, two, three and five threads, which are equal.
fn found(program: &Program, arguments: &[Array], what: &str) -> Vec<Tensor> {
    let runs = [1, 2, 3, 5].map(|threads| {
        let output = program.run_on(arguments, &Pool::new(threads));
        let mut found = Vec::new();
        tensors(&output.unwrap_or_else(|fault| panic!("{what}: {fault:?}")), &mut found);
        found
    });
    for run in &runs[1..] {
        let same = run.iter().zip(&runs[0]).all(|(a, b)| a.same(b) == Some(true));
        assert!(same, "{what}: threads change it");
    }
    let [first, ..] = runs;
    first
}

/// Those results, and those of the reference.
fn results(case: &Case, what: &str) -> (Vec<Tensor>, Vec<Tensor>) {
    let program = case.program.as_ref().unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
    let first = found(program, &case.arguments, what);
    let mut want = Vec::new();
    wanted(case.wanted.as_ref().unwrap_or_else(|fault| panic!("{what}: {fault:?}")), &mut want);
    (first, want)
}

fn assert_same(case: &Case, what: &str) {
    let (found, want) = results(case, what);
    assert_eq!(found.len(), want.len(), "{what}");
    for (found, want) in found.iter().zip(&want) {
        assert_eq!(found.same(want), Some(true), "{what}: {found} for {want}");
    }
}

/// Some elements made such as scans go wrong at.
fn hostile(seed: u64) -> impl Fn(usize, Array) -> Array {
    move |_, array| {
        let mut sampler = Sampler::new(seed);
        let specials = sampler.tensor(array.dtype, &array.shape, Style::Specials).expect("small");
        let plain = array.to_tensor();
        let elements = plain.values().zip(specials.values());
        let mixed = elements.map(|(x, y)| if sampler.below(40) == 0 { y.clone() } else { x.clone() });
        let mixed = Tensor::new(array.dtype, &array.shape, mixed.collect()).expect("as many");
        Array::from_tensor(&mixed).expect("IEEE elements")
    }
}

#[test]
fn each_has_a_kernel_that_takes_no_quadratic_time() {
    let module = module(SOURCE);
    let of_all = [
        ("sums", "Prefix"),
        ("sums_of_rows", "Prefix"),
        ("products", "Prefix"),
        ("greatest", "LastExtreme"),
        ("least", "LastExtreme"),
        ("ordered", "Place"),
        ("down", "Place"),
        ("top", "Place"),
        ("exponentials", "Exponentials"),
    ];
    let mut cases: Vec<(&str, Vec<&str>, &str)> =
        of_all.iter().map(|(function, kernel)| (*function, vec!["f32 200 300"], *kernel)).collect();
    cases.push(("before", vec!["f32 900"], "Prefix"));
    cases.push(("up_to", vec!["f32 900"], "Prefix"));
    cases.push(("beyond", vec!["i64 900"], "Prefix"));
    cases.push(("added", vec!["f32 90 70", "i64<90 80", "f32 80 70"], "ByIndex"));
    cases.push(("placed", vec!["f32 90 70", "i64<90 80", "f32 80 70"], "ByIndex"));
    for function in ["put", "summed"] {
        let dtype = if function == "put" { "f32 90 70" } else { "i32 90 70" };
        cases.push((function, vec![dtype, "i64<90 90 70", dtype], "ByIndex"));
    }
    cases.push(("filled", vec!["f32 90 70", "i64<90 80"], "ByIndex"));
    cases.push(("marked", vec!["f32 90 70", "i64<90 90 70"], "ByIndex"));
    for (function, shapes, kernel) in cases {
        let (call, arguments) = workloads::call(&module, function, shapes.as_slice());
        let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
        let text = Program::new(&call.term, &decls).expect("it has kernels").describe();
        assert!(text.contains(kernel), "{function}: {text}");
        // Nothing runs over pairs of elements of a row.
        let loops = text.matches("op: ").count();
        let own = text.matches("op: All").count() + text.matches(&format!("{kernel} {{")).count();
        let prefixes = text.matches("Prefix {").count();
        assert!(loops <= own + prefixes, "{function}: {text}");
    }
}

#[test]
fn scans_and_sorting_keep_every_bit() {
    let module = module(SOURCE);
    let functions = ["sums", "sums_of_rows", "products", "greatest", "least", "ordered", "down", "top"];
    for dtype in ["f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8"] {
        for (number, function) in functions.iter().enumerate() {
            for shape in ["3 9 70", "2 130 3", "1 40"] {
                let shapes = [format!("{dtype} {shape}")];
                let case =
                    case(&module, function, &shapes.each_ref().map(String::as_str), hostile(number as u64));
                assert_same(&case, &format!("{function} {shapes:?}"));
            }
        }
        let shapes = [format!("{dtype} 50")];
        for function in ["before", "up_to", "beyond"] {
            let case = case(&module, function, &shapes.each_ref().map(String::as_str), hostile(9));
            assert_same(&case, &format!("{function} {dtype}"));
        }
        if !dtype.contains('f') {
            for function in ["well_before", "after"] {
                let case = case(&module, function, &shapes.each_ref().map(String::as_str), hostile(9));
                assert_same(&case, &format!("{function} {dtype}"));
            }
        }
    }
}

#[test]
fn reductions_by_index_keep_every_bit() {
    let module = module(SOURCE);
    let same = |_: usize, array: Array| array;
    for (function, shapes) in [
        ("added", ["f32 9 70", "i64<9 20", "f32 20 70"]),
        ("placed", ["f32 9 70", "i64<9 20", "f32 20 70"]),
        ("placed", ["f32 9", "i64<9 20", "f32 20"]),
        ("put", ["f32 9 70", "i64<9 9 70", "f32 9 70"]),
        ("put", ["f32 30", "i64<30 40", "f32 40"]),
        ("summed", ["i32 9 70", "i64<9 12 70", "i32 12 70"]),
    ] {
        assert_same(&case(&module, function, &shapes, same), &format!("{function} {shapes:?}"));
    }
    for (function, shapes) in
        [("filled", ["f32 9 70", "i64 5"]), ("near", ["i64<12 9", ""]), ("near", ["i64 60", ""])]
    {
        let shapes: Vec<&str> = shapes.into_iter().filter(|shape| !shape.is_empty()).collect();
        assert_same(&case(&module, function, &shapes, same), &format!("{function} {shapes:?}"));
    }
    for shapes in [["f32 9 70", "i64<9 5 70"], ["f32 30", "i64<30 7"]] {
        assert_same(&case(&module, "marked", &shapes, same), &format!("marked {shapes:?}"));
    }
}

#[test]
fn sums_of_exponentials_do_not_leave_the_range() {
    let module = module(SOURCE);
    for (seed, dtype, unit) in [(0, "f32", f32::EPSILON.into()), (1, "f64", f64::EPSILON), (2, "f16", 1e-3)] {
        let shapes = [format!("{dtype} 4 90")];
        let spread = |k: usize, array: Array| {
            let array = hostile(seed)(k, array);
            let wide = array.to_tensor();
            let wide = wide.values().enumerate().map(|(at, x)| {
                let x = x.as_float().expect("a float");
                // Rows that rise and fall by hundreds, and one of no numbers yet.
                let x = match at / 90 {
                    0 => x * 200.0,
                    1 if at % 90 < 40 => f64::NEG_INFINITY,
                    1 => x - 300.0,
                    _ => x,
                };
                rtv_semantics::scalar::Value::float(x, array.dtype, Domain::Ieee)
            });
            let wide = Tensor::new(array.dtype, &array.shape, wide.collect()).expect("as many");
            Array::from_tensor(&wide).expect("IEEE elements")
        };
        let case = case(&module, "exponentials", &shapes.each_ref().map(String::as_str), spread);
        let (found, want) = results(&case, dtype);
        for (a, b) in found[0].values().zip(want[0].values()) {
            let (a, b) = (a.as_float().expect("a float"), b.as_float().expect("a float"));
            let near = (a - b).abs() <= 64.0 * unit * (1.0 + b.abs());
            assert!(near || a == b || (a.is_nan() && b.is_nan()), "{dtype}: {a} for {b}");
        }
    }
}

#[test]
fn what_two_results_are_made_of_is_made_once() {
    let source = "rtl 1.0
fn both(x: f32[200]) {
  let (y, at) = sort(x, 0)
  return (y * 2.0, at)
}
fn twice(x: f32[200]) -> f32[200] {
  let (y, at) = both(x)
  return y + f32(at)
}
";
    let module = module(source);
    for function in ["both", "twice"] {
        let (call, arguments) = workloads::call(&module, function, &["f32 200"]);
        let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
        let text = Program::new(&call.term, &decls).expect("it has kernels").describe();
        assert_eq!(text.matches("Place {\n            descending").count(), 1, "{function}: {text}");
    }
}

/// Too long for the reference, to which short rows on one thread are held.
#[test]
fn long_rows_are_the_same_by_any_number_of_threads() {
    let module = module(SOURCE);
    let rows = ["sums_of_rows", "products", "least", "down", "exponentials"].map(|f| (f, "1 40003"));
    let columns = ["sums", "greatest", "ordered"].map(|f| (f, "33001 2"));
    let single = ["before", "up_to", "beyond", "well_before"].map(|f| (f, "40000"));
    for dtype in ["f32", "bf16", "i64", "i8"] {
        let cases = rows.iter().chain(&columns).chain(&single).enumerate();
        for (number, (function, shape)) in cases {
            let integers_only = *function == "well_before";
            let floats_only = *function == "exponentials";
            if (integers_only && dtype.contains('f')) || (floats_only && !dtype.contains('f')) {
                continue;
            }
            let shape = format!("{dtype} {shape}");
            let (call, arguments) = workloads::call(&module, function, &[&shape]);
            let change = hostile(number as u64);
            let arguments: Vec<Array> = arguments.into_iter().map(|array| change(0, array)).collect();
            let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
            let program = Program::new(&call.term, &decls).expect("it has kernels");
            found(&program, &arguments, &format!("{function} {shape}"));
        }
    }
}

/// With kernels that run over pairs this would take minutes.
#[test]
fn long_rows_take_no_time() {
    let module = module(SOURCE);
    for function in ["products", "least", "down", "exponentials"] {
        let (call, arguments) = workloads::call(&module, function, &["f32 2 300000"]);
        let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
        let program = Program::new(&call.term, &decls).expect("it has kernels");
        program.run_on(&arguments, Pool::global()).expect("it runs");
    }
}

const FOLDS: &str = "rtl 1.0
monoid first[T: any](a: T, b: T) -> T {
  let identity = 0
  return if a == 0 { b } else { a }
}
@commutative
monoid xor[T: int](a: T, b: T) -> T {
  let identity = 0
  return bitwise_xor(a, b)
}
fn step(acc: f32[], x: f32[]) -> f32[] { return acc * 0.5 + x }
fn divided(acc: i64[], x: i64[]) -> i64[] { return floor_divide(acc, x) }
fn summed(acc: f32[], x: f32[]) -> f32[] { return sum(acc * x for k in 3) }

fn everything[N](c: f32[N]) -> f32[] { return fold(step, 1.0)(c[k] for k in N) }
fn rows[M, N](c: f32[M, N]) -> f32[M] { return [fold(step, 1.0)(c[i, k] for k in N) for i in M] }
fn columns[M, N](c: f32[M, N]) -> f32[N] {
  return [fold(step, c[0, j])(c[i, j] for i in M) for j in N] * 2.0
}
fn pairs[M, N](c: f32[M, N]) -> f32[] { return fold(step, 1.0)(c[i, k] for i in M, k in N) }
fn ragged[M, N](c: f32[M, N]) -> f32[] { return fold(step, 1.0)(c[i, k] for i in M, k in min(i, N)) }
fn steps[M, N](c: f32[M, N]) -> f32[M, N] {
  return [fold(step, 0.0)(c[i, k] for k in j + 1) for i in M, j in N]
}
fn reduced[M, N](x: i64[M, N]) -> i64[M] { return [reduce(first)(x[i, k] for k in N) for i in M] }
fn reduced_pairs[M, N](x: i64[M, N]) -> i64[] { return reduce(first)(x[i, k] for i in M, k in N) }
fn growing[N](x: i64[N]) -> i64[N] { return [reduce(first)(x[k] for k in i) for i in N] }
fn scanned[N](x: i64[N]) -> i64[N] { return scan(xor)(x[k] for k in N) }
fn scanned_columns[M, N](x: i8[M, N]) -> i8[M, N] {
  return [reduce(xor)(x[k, j] for k in i + 1) for i in M, j in N]
}
fn fails[N](x: i64[N]) -> i64[] { return fold(divided, 1000)(x[k] for k in N) }
fn refused[N](x: f32[N]) -> f32[] { return fold(summed, 1.0)(x[k] for k in N) }
";

#[test]
fn folds_and_declared_monoids_keep_every_bit() {
    let module = module(FOLDS);
    for (function, shapes) in [
        ("everything", &["f32 1", "f32 0", "f32 3000"][..]),
        ("rows", &["f32 50 70", "f32 3 0", "f32 0 3", "f32 1 1"]),
        ("columns", &["f32 40 1100", "f32 1 4"]),
        ("pairs", &["f32 5 7", "f32 1 3"]),
        ("ragged", &["f32 5 7", "f32 1 3"]),
        ("steps", &["f32 5 90", "f32 90 5", "f32 3 1"]),
        ("reduced", &["i64<3 30 40", "i64<2 3 0"]),
        ("reduced_pairs", &["i64<2 30 40", "i64<2 3 0"]),
        ("growing", &["i64<3 60", "i64<3 1"]),
        ("scanned", &["i64<99 3000", "i64<99 1", "i64<99 0"]),
        ("scanned_columns", &["i8<99 40 1300", "i8<99 3 1"]),
    ] {
        for shape in shapes {
            let case = case(&module, function, &[shape], |_, array| array);
            assert_same(&case, &format!("{function} {shape}"));
        }
    }
}

#[test]
fn a_step_that_fails_fails_the_fold() {
    let module = module(FOLDS);
    let case = case(&module, "fails", &["i64<2 40"], |_, array| array);
    let got = case.program.expect("it has kernels").run_on(&case.arguments, Pool::global());
    assert_eq!(got.expect_err("a division by zero"), case.wanted.expect_err("a division by zero"));
}

#[test]
fn a_step_that_reduces_its_state_is_refused() {
    let module = module(FOLDS);
    let case = case(&module, "refused", &["f32 5"], |_, array| array);
    assert_eq!(case.program.err().map(|fault| fault.code), Some(codes::BACKEND));
}

/// Calls of operators that fail: the error is that of the reference, with its calls.
#[test]
fn errors_name_the_call() {
    let mut source = "rtl 1.0\n".to_string();
    let calls = [
        ("f32 5", "index_select(x, 0, i)"),
        ("f32 5", "gather(x, 0, i) + 1.0"),
        ("f32 5", "softmax(index_select(relu(x), 0, i), 0)"),
        ("f32 5", "x[i]"),
        ("f32 5", "[x[i[k]] for k in N]"),
        ("f32 5", "if x[0] > 0.0 { x[i] } else { x[0 - i] }"),
        ("f32 5", "take(x, i)"),
        ("i64 3", "floor_divide(x, i - i)"),
    ];
    for (number, (shape, call)) in calls.iter().enumerate() {
        let dtype = &shape[..3];
        let _ = writeln!(
            source,
            "fn f{number}[M, N](x: {dtype}[M], i: i64[N]) -> {dtype}[N] {{ return {call} }}"
        );
    }
    let module = module(&source);
    for (number, (shape, call)) in calls.iter().enumerate() {
        for wild in [-7i64, 9, i64::MIN] {
            let wild = |k: usize, array: Array| match k {
                0 => array,
                _ => {
                    let index = Tensor::from_i64(DType::I64, &array.shape, &[1, wild, 2]).expect("three");
                    Array::from_tensor(&index).expect("integers")
                }
            };
            let case = case(&module, &format!("f{number}"), &[shape, "i64<5 3"], wild);
            let got = case.program.expect("it has kernels").run_on(&case.arguments, Pool::global());
            assert_eq!(got.expect_err(call), case.wanted.expect_err(call), "{call}");
        }
    }
}

/// Scans, scatters and folds among other things, some of which fail.
const MIXED: &str = "rtl 1.0
monoid keep[T: any](a: T, b: T) -> T {
  let identity = 0
  return if a == 0 { b } else { a }
}
fn step(acc: f32[], x: f32[]) -> f32[] { return acc * 0.5 + x }
fn quotient(acc: i64[], x: i64[]) -> i64[] { return floor_divide(acc, x) }
fn under_a_condition[N](c: i64[N]) -> i64[] { return if c[0] > 0 { fold(quotient, 1000)(c[k] for k in N) } else { i64(7) } }
fn under_conditions[N](c: i64[N]) -> i64[N] { return [if c[i] > 0 { fold(quotient, 1000)(c[k] for k in i + 1) } else { i64(7) } for i in N] }
fn summed_folds[N](c: f32[N]) -> f32[] { return sum(fold(step, c[i])(c[k] for k in N) for i in N) }
fn pick(acc: i64[], x: i64[]) -> i64[] { return x + acc % 2 }
fn fold_as_index[N](c: i64[N]) -> i64[] { return c[abs(fold(pick, 0)(c[k] for k in N)) % N] }
fn both_ways[N, M](c: i64[N, M]) -> i64[N, M] { return [reduce(keep)(c[k, j] for k in i + 1) + reduce(keep)(c[i, k] for k in j + 1) for i in N, j in M] }
fn last_of_a_scan[N](c: i64[N]) -> (i64[N], i64[]) {
  let p = cumsum(c, 0)
  return (p + 1, p[N - 1]) }
fn scan_of_a_view[N, M](c: f32[N, M]) -> f32[M, N] { return cumsum(transpose(flip(c, 0), 0, 1), 1) }
fn scan_in_a_sum[N, M](c: f32[N, M]) -> f32[N] { return [sum(cumsum(c[i, :], 0)[k] for k in M) for i in N] }
fn checked_scatter[N](c: i64[N]) -> i64[N] { return [sum(if c[k] == i { floor_divide(c[k], c[k]) } else { 0 } for k in N) for i in N] }
fn two_conditions[N](c: i64[N]) -> i64[N] { return [sum(if c[k] == i and k >= 2 { k } else { 0 } for k in N) for i in N] }
fn scattered_products[N](c: i64[N]) -> i64[N] { return [prod(if c[k] == i { c[k] + 2 } else { 1 } for k in N) for i in N] }
fn scattered_maxima[N](c: i64[N]) -> i64[N] { return [max(if c[k] == i { k - 5 } else { 0 } for k in N) for i in N] }
fn rectified_maxima[N](c: f32[N]) -> f32[N] { return [max(if c[k] > 0.0 { c[k] } else { 0.0 } for k in i + 1) for i in N] }
fn checked_prefix[N](c: i64[N]) -> i64[N] { return [sum(floor_divide(6, c[k]) for k in i) for i in N] }
fn present[N](c: i64[N]) -> bool[N] { return [any(c[k] == i for k in N) for i in N] }
fn scatter_of_others[N](c: i64[N]) -> i64[N, N] { return [sum(if c[k] == i { c[j] } else { 0 } for k in N) for i in N, j in N] }
fn absent[N](c: i64[N]) -> bool[N] { return [all(c[k] != i for k in N) for i in N] }
fn sorted_scan[N](c: i64[N]) -> i64[N] { return sort(cumsum(c, 0), 0)[1] + cummax(c, 0)[1] }
fn scan_by_order[N](c: f32[N]) -> f32[N] { return cumsum(c, 0)[argsort(c, 0)] }
fn scan_of_a_scan[N](c: f32[N]) -> f32[N] { return cumsum(cumsum(c, 0), 0) }
fn guarded_scan[N](c: i64[N]) -> i64[N] { return [if c[i] > 1 { cumsum(floor_divide(12, c - 1), 0)[i] } else { i64(0) } for i in N] }
";

/// Every bit, or the error with its calls.
#[test]
fn what_is_mixed_with_other_things_agrees() {
    let module = module(MIXED);
    let functions: &[(&str, &[&str])] = &[
        ("under_a_condition", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("under_conditions", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("summed_folds", &["f32 20"]),
        ("fold_as_index", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("both_ways", &["i64<5 3 9"]),
        ("last_of_a_scan", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("scan_of_a_view", &["f32 3 9"]),
        ("scan_in_a_sum", &["f32 3 9"]),
        ("checked_scatter", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("two_conditions", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("scattered_products", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("scattered_maxima", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("rectified_maxima", &["f32 20"]),
        ("checked_prefix", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("present", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("scatter_of_others", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("absent", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("sorted_scan", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
        ("scan_by_order", &["f32 20"]),
        ("scan_of_a_scan", &["f32 20"]),
        ("guarded_scan", &["i64<5 9", "i64<3 1", "i64<30 70", "i64 40"]),
    ];
    for (function, shapes) in functions {
        for shape in *shapes {
            let case = case(&module, function, &[shape], |_, array| array);
            let what = format!("{function} {shape}");
            match &case.wanted {
                Ok(_) => assert_same(&case, &what),
                Err(fault) => {
                    let program = case.program.as_ref().unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
                    let got = program.run_on(&case.arguments, &Pool::new(1)).map(|_| ());
                    assert_eq!(got, Err(fault.clone()), "{what}");
                }
            }
        }
    }
}

/// Each computes a scalar that it does not use, or not everywhere.
const UNUSED: &str = "rtl 1.0
fn first(a: i64[], b: i64[]) -> i64[] { return a }
fn chosen[N](x: i64[N]) -> i64[N] { return [where(x[k] == 0, 1, 100 // x[k]) for k in N] }
fn argument[N](x: i64[N]) -> i64[N] { return [first(x[k], 100 // x[k]) for k in N] }
fn bound[N](x: i64[N]) -> i64[N] { return [(if x[k] > 5 { 100 // x[k] } else { first(1, 7 // x[k]) }) for k in N] }
fn summed[N](x: i64[N]) -> i64[] { return sum(first(x[k], 100 // x[k]) for k in N) }
fn read[N](x: i64[N]) -> i64[N] { return [where(x[k] < 2, 1, x[x[k] + 5]) for k in N] }
fn branch[N](x: i64[N]) -> i64[N] { return [(if x[k] == 0 { 1 } else { 100 // x[k] }) for k in N] }
";

#[test]
fn what_is_computed_and_not_used_fails_as_it_does_on_the_reference() {
    let module = module(UNUSED);
    let mut failed = 0;
    for function in ["chosen", "argument", "bound", "summed", "read", "branch"] {
        for shape in ["i64<3 9", "i64<9 40", "i64<1 1", "i64<5 0"] {
            let case = case(&module, function, &[shape], |_, array| array);
            let what = format!("{function} {shape}");
            match &case.wanted {
                Ok(_) => assert_same(&case, &what),
                Err(fault) => {
                    failed += 1;
                    let program = case.program.as_ref().unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
                    let got = program.run_on(&case.arguments, &Pool::new(1)).map(|_| ());
                    assert_eq!(got.map_err(|got| got.code), Err(fault.code), "{what}");
                }
            }
        }
    }
    assert!(failed >= 10, "{failed} of them fail");
}

/// A reduction that is the same along an axis is no reduction for each of its indices.
#[test]
fn a_sum_that_all_elements_share_is_computed_once() {
    let module = module(
        "rtl 1.0
fn shares(x: f32[4000]) -> f32[4000] {
  let e = exp(x)
  return e / sum(e)
}
",
    );
    let (call, arguments) = workloads::call(&module, "shares", &["f32 4000"]);
    let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
    let cost = Cost::of(&call.term, &decls).expect("a cost");
    assert!(cost.operations < 100.0 * 4000.0, "{cost:?}");
    assert_eq!(cost.kernels, 1);
}

/// The logarithm of a sum of a row is taken once a row.
#[test]
fn what_a_row_shares_is_paid_for_once_a_row() {
    let module = module(
        "rtl 1.0
fn shares(x: f32[256, 256]) -> f32[256, 256] {
  return x - log(sum(exp(x), dim = 1, keepdim = true))
}
",
    );
    let (call, arguments) = workloads::call(&module, "shares", &["f32 256 256"]);
    let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
    let cost = Cost::of(&call.term, &decls).expect("a cost");
    assert!(cost.operations < 60.0 * 65_536.0, "{cost:?}");
    assert_eq!(cost.kernels, 1);
}

/// Where the backend takes blocks of rows through a product, a softmax and a product, nothing between them goes to
/// memory; where more is to be done with what is between, it does.
#[test]
fn what_stays_in_the_cache_between_products_is_not_paid_for() {
    let module = module(
        "rtl 1.0
fn plain[N, K](q: f32[N, K], k: f32[N, K], v: f32[N, K]) { return softmax(q @ t(k), 1) @ v }
fn batched[B, N, K](q: f32[B, N, K], k: f32[B, N, K], v: f32[B, N, K]) {
  return softmax(q @ transpose(k, 1, 2), 2) @ v
}
fn scaled_last[N, K](q: f32[N, K], k: f32[N, K], v: f32[N, K]) {
  let e = exp(q @ t(k))
  return e @ v / sum(e, 1, keepdim = true)
}
fn with_weights[N, K](q: f32[N, K], k: f32[N, K], v: f32[N, K]) {
  let w = softmax(q @ t(k), 1)
  return (w @ v, w)
}
fn at_the_right[N, K](q: f32[N, K], k: f32[N, K], v: f32[K, N]) { return v @ softmax(q @ t(k), 1) }
fn masked[N, K](q: f32[N, K], k: f32[N, K], v: f32[N, K]) {
  let s = q @ t(k)
  return [if j <= i { s[i, j] } else { 0.0 } for i in N, j in N] @ v
}
fn without_sums[N, K](q: f32[N, K], k: f32[N, K], v: f32[N, K]) { return relu(q @ t(k)) @ v }
",
    );
    for (function, shapes, stays) in [
        ("plain", ["f32 256 16"; 3], true),
        ("batched", ["f32 4 256 16"; 3], true),
        ("scaled_last", ["f32 256 16"; 3], false),
        ("with_weights", ["f32 256 16"; 3], false),
        ("at_the_right", ["f32 256 16", "f32 256 16", "f32 16 256"], false),
        ("masked", ["f32 256 16"; 3], true),
        ("without_sums", ["f32 256 16"; 3], false),
    ] {
        let (call, arguments) = workloads::call(&module, function, shapes.as_slice());
        let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
        let cost = Cost::of(&call.term, &decls).expect("a cost");
        let moved: usize = decls.iter().map(|(_, decl)| decl.bytes()).sum();
        // The result is as large as an argument.
        let least = moved as f64 * 4.0 / 3.0;
        assert_eq!(cost.bytes == least, stays, "{function}: {cost:?}, {least}");
        assert_eq!(cost.chains, usize::from(stays), "{function}");
        let text = Program::new(&call.term, &decls).expect("it has kernels").describe();
        assert_eq!(text.matches("Chain(").count(), cost.chains, "{function}");
    }
}

/// The model of costs knows which kernels of the examples the backend runs as one.
#[test]
fn examples_are_priced_by_the_chains_that_they_have() {
    let mut chains = 0;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models");
    for entry in std::fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        let module = module(&std::fs::read_to_string(&path).expect("an example"));
        for at in 0..module.items.len() {
            let (Some((function, _)), _) = program(&module, at, 1) else { continue };
            let Ok(sizes) = optimize::sizes(&function, &BTreeMap::new()) else { continue };
            let (term, inputs) = optimize::at_sizes(&function, &function.body, &sizes).expect("known sizes");
            let cost = Cost::of(&term, &inputs).expect("a cost");
            let text = Program::new(&term, &inputs).expect("it has kernels").describe();
            assert_eq!(text.matches("Chain(").count(), cost.chains, "{}", function.name);
            chains += cost.chains;
        }
    }
    assert!(chains >= 8, "{chains}");
}
