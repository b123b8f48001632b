//! What a user waits for: `cargo bench --bench check`, by hand, from the root.
//!
//! Prints the median and the worst of several runs of the program as users have it. A
//! claim that its time limit ends is measured by how late it ends.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Runs of a command, after one that warms the caches.
const RUNS: usize = 7;

/// Two sides that no solver is asked about before they are walked through.
const HARD: &str = "rtl 1.0
rule remainder_in_reals[N](x: f64[N], y: f64[N]) upto real { fmod(x + y, y) => fmod(x, y) }
rule product_of_sums[N](x: f32[N], y: f32[N], z: f32[N]) upto real {
  (x + y + z) ** 5.0 * sin(x) => (x + y + z) ** 4.0 * sin(x) * (x + z + y)
}
";

fn rtv(args: &[&str]) -> (Duration, String) {
    let started = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtv"));
    let output = command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("rtv starts");
    (started.elapsed(), String::from_utf8(output.stdout).expect("rtv writes UTF-8"))
}

fn measure(what: &str, args: &[&str], runs: usize) {
    rtv(args);
    let mut taken: Vec<Duration> = (0..runs).map(|_| rtv(args).0).collect();
    taken.sort();
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    println!("{what:<32} median {:>9.1} ms, worst {:>9.1} ms", ms(taken[runs / 2]), ms(taken[runs - 1]));
}

/// The median and the worst of the claims of a folder, each from nothing.
fn each_claim(folder: &str) {
    let (_, out) = rtv(&["check", folder, "--format", "json", "--no-cache"]);
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object a line"));
    let finished = lines.filter(|line| line["reason"] == "claim-finished");
    let mut seconds: Vec<f64> = finished.filter_map(|line| line["seconds"].as_f64()).collect();
    seconds.sort_by(f64::total_cmp);
    let ms = |at: usize| seconds.get(at).map_or(f64::NAN, |s| s * 1e3);
    let (median, worst) = (ms(seconds.len() / 2), ms(seconds.len().saturating_sub(1)));
    println!("{:<32} median {median:>9.1} ms, worst {worst:>9.1} ms", format!("one claim of {folder}"));
}

/// How long after its limit each claim of a file ended.
fn overtime(file: &str, limit: f64) {
    let (_, out) = rtv(&["check", file, "--format", "json", "--timeout", &limit.to_string()]);
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object a line"));
    let seconds: Vec<f64> = lines.filter_map(|line| line["seconds"].as_f64()).collect();
    // The last line is about the whole run.
    let late = seconds.iter().rev().skip(1).map(|s| s - limit).fold(f64::NEG_INFINITY, f64::max);
    println!("--timeout {limit:<22} the latest claim ends {:>6.0} ms after it", late * 1e3);
}

/// A claim whose sides double with every `let`.
fn doubling() -> String {
    let mut text = "rule doubling[N](x: f32[N], y: f32[N])\n  upto real\n".to_string();
    let mut last = ("x".to_string(), "y".to_string());
    for n in 0..24 {
        let (p, q) = &last;
        text.push_str(&format!("  let a{n} = {p} * {p} + {q}\n  let b{n} = {q} + {p} * {p}\n"));
        last = (format!("a{n}"), format!("b{n}"));
    }
    format!("{text}{{\n  {0} + {1} => {1} * sin(x) + {0}\n}}\n", last.0, last.1)
}

fn main() {
    measure("rtv --version", &["--version"], 4 * RUNS);
    // From the text to the first result: parsed, typed, planned and run. The bar is 20 ms.
    let softmax =
        ["run", "examples/softmax.rtl", "row_softmax", "--arg", "x=randn(8, 64)", "--backend", "cpu"];
    measure("rtv run --backend cpu, softmax", &softmax, 4 * RUNS);
    measure("rtv check, one small file", &["check", "examples/first.rtl", "-q", "--no-cache"], RUNS);
    measure("rtv check examples", &["check", "examples", "-q", "--no-cache"], 3);
    measure("rtv check proofs", &["check", "proofs", "-q", "--no-cache"], 1);
    measure("rtv verify-cert proofs", &["verify-cert", "proofs", "-q"], 1);
    each_claim("proofs");
    measure("rtv check proofs, from the cache", &["check", "proofs", "-q"], RUNS);
    measure("rtv check proofs --locked", &["check", "proofs", "-q", "--locked"], RUNS);
    let hard = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hard.rtl");
    std::fs::write(&hard, format!("{HARD}{}", doubling())).expect("a file for the measurement");
    for limit in [0.2, 0.5, 1.0, 2.0] {
        overtime(&hard.to_string_lossy(), limit);
    }
}
