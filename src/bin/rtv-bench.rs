//! A worker that times our programs for a driver that times other engines beside them.
//!
//! It reads a command a line from standard input and answers each with a line of JSON:
//! `list` with the names of the workloads, `run NAME SECONDS` with pairs of wall and
//! processor seconds, one a call, for about as long, `quit` ends it; `describe NAME` shows
//! the kernels. Each workload is a function of `benches/workloads.rtl`, parsed, typed, planned and run as `rtv run
//! --backend cpu` does it; `RTV_THREADS` says how many threads run it.

use std::io::{BufRead, Write};
use std::time::Instant;

use rtv::workloads;
use rtv_proofs::Module;
use rtv_runtime::array::Array;
use rtv_runtime::backend::{Backend, Prepared};
use rtv_runtime::cpu::Cpu;

/// Name, function and arguments of each.
const WORKLOADS: [(&str, &str, &[&str]); 24] = [
    ("gelu", "gelu_tanh", &["f32 1024 4096"]),
    ("softmax", "softmax_rows", &["f32 512 4096"]),
    ("layernorm", "layernorm", &["f32 2048 1024", "f32 1024", "f32 1024"]),
    ("chain", "chain", &["f32 8388608", "f32 8388608"]),
    ("rowsum", "rowsum", &["f32 4096 4096"]),
    ("colsum", "colsum", &["f32 4096 4096"]),
    ("transpose_add", "transpose_add", &["f32 2048 2048", "f32 2048 2048"]),
    ("softmax_small", "softmax_rows", &["f32 16 16"]),
    ("matmul_64", "product", &["f32 64 64", "f32 64 64"]),
    ("matmul_128", "product", &["f32 128 128", "f32 128 128"]),
    ("matmul_512", "product", &["f32 512 512", "f32 512 512"]),
    ("matmul_1024", "product", &["f32 1024 1024", "f32 1024 1024"]),
    ("matmul_2048", "product", &["f32 2048 2048", "f32 2048 2048"]),
    ("matmul_odd", "product", &["f32 1000 77", "f32 77 513"]),
    ("matmul_nt_1024", "product_nt", &["f32 1024 1024", "f32 1024 1024"]),
    ("matmul_tn_1024", "product_tn", &["f32 1024 1024", "f32 1024 1024"]),
    ("matmul_f64_1024", "product", &["f64 1024 1024", "f64 1024 1024"]),
    ("matmul_bf16_1024", "product", &["bf16 1024 1024", "bf16 1024 1024"]),
    ("matmul_i32_512", "product", &["i32 512 512", "i32 512 512"]),
    ("matvec_2048", "product", &["f32 1 2048", "f32 2048 2048"]),
    ("bmm", "bmm_", &["f32 64 128 64", "f32 64 64 128"]),
    ("attn", "attn", &["f32 1 8 512 64", "f32 1 8 512 64", "f32 1 8 512 64"]),
    ("attn_causal", "attn_causal", &["f32 1 8 512 64", "f32 1 8 512 64", "f32 1 8 512 64"]),
    ("attn_2048", "attn", &["f32 1 8 2048 64", "f32 1 8 2048 64", "f32 1 8 2048 64"]),
];

const LARGE: [(&str, &str, &[&str]); 3] = [
    (
        "mlp_train",
        "mlp_train",
        &["f32 784 512", "f32 512", "f32 512 10", "f32 10", "f32 256 784", "i64<10 256"],
    ),
    ("conv2d", "conv", &["f32 8 32 56 56", "f32 64 32 3 3"]),
    ("xent", "xent", &["f32 512 32000", "i64<32000 512"]),
];

struct Ready {
    program: Box<dyn Prepared>,
    arguments: Vec<Array>,
}

fn main() {
    let module = workloads::module();
    let mut ready: Vec<(&str, Ready)> = Vec::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words.as_slice() {
            ["quit"] | [] => return,
            ["list"] => {
                let names: Vec<String> = all().map(|(name, ..)| format!("\"{name}\"")).collect();
                names.join(", ")
            }
            ["run", name, seconds] => {
                let seconds = seconds.parse().unwrap_or(0.0);
                let Some((name, function, shapes)) = all().find(|(known, ..)| known == name) else {
                    println!("[]");
                    continue;
                };
                let at = ready.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    ready.push((name, prepare(&module, function, shapes)));
                    ready.len() - 1
                });
                times(&ready[at].1, seconds)
            }
            ["describe", name] => {
                let found = all().find(|(known, ..)| known == name);
                if let Some((_, function, shapes)) = found {
                    eprintln!("{}", prepare(&module, function, shapes).program.describe());
                }
                String::new()
            }
            _ => String::new(),
        };
        println!("[{answer}]");
        let _ = std::io::stdout().flush();
    }
}

fn all() -> impl Iterator<Item = (&'static str, &'static str, &'static [&'static str])> {
    WORKLOADS.into_iter().chain(LARGE)
}

/// Calls for about so many seconds, one at least: wall and processor seconds of each.
fn times(ready: &Ready, seconds: f64) -> String {
    let call = || drop(ready.program.run(&ready.arguments).expect("the workload runs"));
    call();
    let started = Instant::now();
    let mut pairs = Vec::new();
    loop {
        // The clock of the wall runs inside that of the processors.
        let processor = processor_seconds();
        let wall = Instant::now();
        call();
        let wall = wall.elapsed().as_secs_f64();
        let processor = processor_seconds() - processor;
        pairs.push(format!("[{wall:e}, {processor:e}]"));
        let passed = started.elapsed().as_secs_f64();
        if (passed >= seconds && (pairs.len() >= 3 || passed >= seconds + 1.0)) || pairs.len() >= 2000 {
            return pairs.join(", ");
        }
    }
}

/// Seconds that all threads of this process have run, in steps of the system's clock.
fn processor_seconds() -> f64 {
    let nanoseconds = |text: String| text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ran =
        tasks.filter_map(|task| nanoseconds(std::fs::read_to_string(task.path().join("schedstat")).ok()?));
    ran.sum::<f64>() / 1e9
}

fn prepare(module: &Module, function: &str, shapes: &[&str]) -> Ready {
    let (call, arguments) = workloads::call(module, function, shapes);
    let decls: Vec<_> = call.inputs.iter().cloned().zip(arguments.iter().map(Array::decl)).collect();
    let program = Cpu.prepare(&call.term, &decls).unwrap_or_else(|fault| panic!("{function}: {fault}"));
    Ready { program, arguments }
}
