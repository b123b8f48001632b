//! The conformance suite on our backends and on a program that shares no code with rtv, and
//! random programs.
//!
//! * `RTV_REQUIRE_NUMPY=1` fails where Python has no NumPy; without it those tests say that
//!   they are skipped. `RTV_FUZZ` is the number of random programs.

use std::process::Command;

use rtv::conform::fuzz::{Difference, Fuzzer, on_cpu, seed_of};
use rtv::conform::{Answer, Matrix, Ours, Question, Suite, library};
use rtv_runtime::array::Array;
use rtv_runtime::cpu::{Cpu, FastCpu, Pool};
use rtv_semantics::dtype::DType;
use rtv_semantics::sample::{Sampler, Style};
use rtv_semantics::tensor::Tensor;
use serde_json::Value as Json;

use crate::folder::{Run, root};
use crate::golden::folder as records;

/// Fewer cases mean that tests or records were lost.
const LEAST_CASES: usize = 3900;
const LEAST_OPERATORS: usize = 230;
/// Assertions that no call from outside stands for: what they are about is a literal.
const MOST_UNSPOKEN: usize = 1;
/// Of the program in NumPy.
const LEAST_OUTSIDE: usize = 60;

const NUMPY: &str = "python3 tests/conformance/numpy_backend.py";

fn suite() -> Suite {
    let mut suite = library();
    suite.extend(rtv::conform::golden::records(&records()).expect("the records"));
    suite
}

#[test]
fn backends_meet_the_suite() {
    let suite = suite();
    let unspoken = suite.left_out.get("test: no call from outside means what it says");
    assert!(unspoken.is_none_or(|count| *count <= MOST_UNSPOKEN), "{:#?}", suite.left_out);
    let mut matrix = Matrix::default();
    matrix.run(&suite.cases, &mut Ours::reference());
    rtv_runtime::cpu::spoil();
    matrix.run(&suite.cases, &mut Ours::backend(&Cpu));
    matrix.run(&suite.cases, &mut Ours::backend(&FastCpu));
    for column in &matrix.columns {
        let left_out: usize = suite.left_out.values().sum();
        println!("{}: {} passed, {left_out} left out", column.name, column.passed);
        assert!(column.failures.is_empty(), "{}: {:#?}", column.name, column.failures);
        assert!(column.skipped.is_empty(), "{}: {:#?}", column.name, column.skipped);
        assert!(column.passed >= LEAST_CASES, "{}: {} cases", column.name, column.passed);
    }
    assert!(matrix.operators().len() >= LEAST_OPERATORS, "{} operators", matrix.operators().len());
}

#[test]
fn a_case_that_passes_while_it_is_listed_as_failing_is_a_failure() {
    let mut suite = library();
    suite.only("neg");
    suite.cases.iter_mut().for_each(|case| case.excepted = Some("no reason".into()));
    let mut matrix = Matrix::default();
    matrix.run(&suite.cases, &mut Ours::reference());
    let failures = &matrix.columns[0].failures;
    assert!(!suite.cases.is_empty() && failures.len() == suite.cases.len(), "{failures:#?}");
    assert!(failures[0].why.contains("listed as failing"));
}

/// Runs the suite on a program outside, from the root of the project.
fn outside(command: &str) -> Run {
    let mut rtv = Command::new(env!("CARGO_BIN_EXE_rtv"));
    let args = ["conform", "--format", "json", "--external", command];
    Run::from(rtv.args(args).current_dir(root()).output().expect("rtv starts"))
}

/// Whether there is a Python with NumPy.
fn has_numpy() -> bool {
    let found = Command::new("python3").args(["-c", "import numpy"]).output();
    let there = found.is_ok_and(|output| output.status.success());
    let required = std::env::var_os("RTV_REQUIRE_NUMPY").is_some_and(|v| v == "1");
    assert!(there || !required, "RTV_REQUIRE_NUMPY=1, and python3 has no numpy");
    if !there {
        println!("skipped: python3 has no numpy");
    }
    there
}

/// The lines of a run that have this reason.
fn lines(run: &Run, reason: &str) -> Vec<Json> {
    let lines = run.out.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    lines.filter(|line| line["reason"] == reason).collect()
}

#[test]
fn an_independent_program_meets_the_suite() {
    if !has_numpy() {
        return;
    }
    let run = outside(NUMPY);
    let rows = lines(&run, "conformance-row");
    for row in &rows {
        println!("{:24} {}", row["operator"].as_str().unwrap_or_default(), row["contracts"]);
    }
    let finished = &lines(&run, "conformance-finished")[0];
    println!(
        "{} passed, {} failed, not done: {}",
        finished["passed"], finished["failed"], finished["not_done"]
    );
    assert_eq!(run.code, Some(0), "{:#?} {}", lines(&run, "conformance-failure"), run.err);
    assert!(rows.len() >= LEAST_OUTSIDE, "{} operators", rows.len());
}

#[test]
fn mistakes_in_an_independent_program_are_found() {
    if !has_numpy() {
        return;
    }
    for (fault, operator) in
        [("softmax-axis", "softmax"), ("negative-quotient", "floor_divide"), ("lost-nan", "maximum")]
    {
        let run = outside(&format!("{NUMPY} --fault {fault}"));
        let failures = lines(&run, "conformance-failure");
        println!("{fault}: {} cases fail", failures.len());
        assert_eq!(run.code, Some(1), "{fault}");
        assert!(failures.iter().any(|failure| failure["operator"] == operator), "{fault}: {failures:#?}");
    }
}

/// The seed of the programs that every run of the tests draws.
const SEED: u64 = 20_26;

#[test]
fn random_programs_agree() {
    let asked = std::env::var("RTV_FUZZ").ok().map(|count| count.parse().expect("a number of programs"));
    let programs: u64 = asked.unwrap_or(150);
    let fuzzer = Fuzzer::default();
    let mut steps = 0;
    for number in 0..programs {
        let program = fuzzer.draw(seed_of(SEED, number));
        steps += program.steps().count();
        if let Some(difference) = fuzzer.difference(&program) {
            let small = fuzzer.shrink(&program, &difference);
            let inputs: Vec<_> = small.named_inputs().collect();
            panic!("program {number} of seed {SEED}: {difference}\n{}{inputs:?}", small.text());
        }
    }
    println!("{programs} programs of {steps} operators from seed {SEED}");
    assert!(steps as u64 >= 2 * programs, "{steps} operators in {programs} programs");
}

/// Programs that random ones were made small to, when the CPU backend was wrong.
const ONCE_DIFFERENT: [&str; 6] = [
    // What a kernel of one lane computes was read before it was there.
    "x: f32[1], y: f32[9]) { let t = tanh(x)
      return [concat([t, y], dim = 0), t + 1.0]",
    "x: i64[1, 3, 3]) { let r = roll(x, 5, 1)
      return [sum(x, dim = 0), triu(r, 2)]",
    // A result took the place of what the same kernel still summed.
    "x: f32[2, 2]) { let c = cumsum(x, 1)
      let s = sigmoid(c)
      let m = amax(s, dim = 0)
      let t = tanh(m)
      let u = sum(m, dim = 0, keepdim = true)
      return [pad_axis(s, 1, 2, 1, 1), concat([t * minimum(u, u), u], dim = 0), sum(c, dim = 1)]",
    // Indices of axes that are expanded, or have one entry or none, were not checked.
    "x: f32[1], i: i64[1]) { return index_select(expand(x, [3]), 0, i + 7)",
    "x: f32[1], i: i64[1]) { return index_select(reshape(x, [1])[0:0:2], 0, i)",
    // A reduction that was made for its checks alone was written over another array.
    "x: i8[3, 64], y: i64[1], z: i64[1]) { let a = argmin(x, dim = 0)
      let s = scatter_reduce(a, 0, abs(y) % 16, y, \"amax\")
      return concat([a, z], dim = 0)",
];

#[test]
fn programs_that_differed_once_agree() {
    let mut sampler = Sampler::new(SEED);
    for program in ONCE_DIFFERENT {
        let text = format!("rtl 1.0\nop case({program} }}\n");
        let params = program.split(')').next().expect("parameters").split(", ").collect::<Vec<_>>().join(",");
        let types = params.split(": ").skip(1).map(|ty| ty.split_once(']').expect("a type").0.to_string());
        let operands = types.map(|ty| {
            let (dtype, shape) = ty.split_once('[').expect("a shape");
            let shape: Vec<usize> = shape.split(',').map(|n| n.trim().parse().expect("an extent")).collect();
            let dtype = DType::from_name(dtype).expect("a dtype");
            sampler.tensor(dtype, &shape, Style::SmallIntegers).expect("a small tensor")
        });
        let question = Question::Program { text, operands: operands.collect() };
        let answers = [Ours::reference(), Ours::backend(&Cpu)].map(|backend| backend.ask(&question));
        match &answers {
            [Answer::Outputs(want), Answer::Outputs(got)] => {
                let close = |(got, want): (&Tensor, &Tensor)| got.worst(want).is_some_and(|w| w.ulp <= 8);
                assert!(got.iter().zip(want).all(close), "{program}: {answers:#?}");
            }
            [Answer::Error { class: want, .. }, Answer::Error { class: got, .. }] => {
                assert_eq!(want, got, "{program}");
            }
            _ => panic!("{program}: {answers:#?}"),
        }
    }
}

/// A backend that loses the sign of what is negative, in some places.
fn faulty() -> Fuzzer {
    let pools = [Pool::new(1), Pool::new(1)];
    Fuzzer::against(Box::new(move |call, arrays| {
        let results = on_cpu(call, arrays, &pools)?;
        Ok(results.map(|arrays| arrays.into_iter().map(without_signs).collect()))
    }))
}

fn without_signs(array: Array) -> Array {
    if array.dtype != DType::F32 {
        return array;
    }
    let mut bytes = array.bytes().to_vec();
    bytes.iter_mut().skip(3).step_by(4).for_each(|byte| *byte &= 0x7f);
    Array::from_bytes(array.dtype, &array.shape, &bytes).expect("as many bytes")
}

#[test]
fn a_fault_is_found_and_made_small() {
    let fuzzer = faulty();
    let found = (0..200).find_map(|number| {
        let program = fuzzer.draw(seed_of(SEED, number));
        let difference = fuzzer.difference(&program)?;
        (program.steps().count() > 3).then_some((program, difference))
    });
    let (program, difference) = found.expect("a program with a negative result");
    assert!(matches!(difference, Difference::Value(_)), "{difference}");
    let small = fuzzer.shrink(&program, &difference);
    println!("{}", small.text());
    assert!(small.steps().count() <= 2, "{} became {}", program.text(), small.text());
    assert!(fuzzer.difference(&small).is_some_and(|d| d.is_like(&difference)));
    let elements: usize = small.inputs().map(Tensor::numel).sum();
    assert!(elements <= 8, "{elements} elements: {}", small.text());
}
