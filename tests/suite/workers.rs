//! Solver processes that break: each break costs one claim, whatever it is, and a solver
//! that lies proves nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::folder::{Folder, Run};
use rtv_grammar::parse;
use rtv_proofs::{Checker, Module, Outcome, Settings, Stage, Verdict};
use rtv_semantics::diag::FileId;
use rtv_smt::{Answer, Backend, Budget, Op, Pool, Query, Reason, Sort};

const RTV: &str = env!("CARGO_BIN_EXE_rtv");

/// Hands questions to a real worker, and breaks at those about a parameter of a name.
const FAULTY: &str = r#"#!/usr/bin/env python3
import os, signal, subprocess, sys, time
real = subprocess.Popen(["RTV", "__solve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()
say(real.stdout.readline())
lying = "LIAR" == "ALWAYS"
for question in sys.stdin:
    if "KILLED" in question:
        os.kill(os.getpid(), signal.SIGKILL)
    if "ENDED" in question:
        sys.exit(1)
    if "SILENT" in question:
        time.sleep(60)
    if "GARBAGE" in question:
        say("unsat\n")
    if "STALE" in question:
        say(answer)
    if "MEMORY" in question:
        sys.exit("memory allocation of 8 bytes failed")
    real.stdin.write(question)
    real.stdin.flush()
    answer = real.stdout.readline()
    lying = lying or "LYING" in question
    say(answer.split()[0] + " unsat\n" if lying else answer)
"#;

/// A program that can be run.
fn program(folder: &Folder, name: &str, text: &str) -> PathBuf {
    folder.file(name, text);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(name), executable).expect("a program for the test");
    folder.path(name)
}

fn faulty(folder: &Folder, liar: &str) -> PathBuf {
    program(folder, "faulty", &FAULTY.replace("RTV", RTV).replace("LIAR", liar))
}

/// A claim that only the solver proves, about a parameter of this name; no two ask the same.
fn claim(number: usize, parameter: &str) -> String {
    let (x, sum) = (parameter, format!("{parameter} * y + {parameter} * {number}.5"));
    format!("rule r{number}[N]({x}: f32[N], y: f32[N]) upto real {{ {x} * (y + {number}.5) => {sum} }}\n")
}

fn claims(parameters: &[&str]) -> String {
    let claims = parameters.iter().enumerate().map(|(number, name)| claim(number, name));
    claims.fold("rtl 1.0\n".to_string(), |text, claim| text + &claim)
}

/// Checks a text with the solver in workers of a program.
fn check(program: &Path, text: &str, timeout: Option<Duration>) -> Outcome {
    let pool = Arc::new(Pool::new(program.to_path_buf(), 2048));
    let budget = Budget { rlimit: 0, timeout_ms: 1000 };
    let settings = Settings { stage: Stage::Proofs, seed: 0, samples: 10, budget, timeout };
    let text = text.to_string();
    let work = move || {
        let (module, found) = Module::new(FileId(0), parse(FileId(0), &text));
        assert!(found.is_empty(), "{found:?}");
        let checker = Checker::in_workers(settings, pool, Box::new(|_| ()));
        checker.check(&module)
    };
    let thread = thread::Builder::new().stack_size(64 << 20).spawn(work).expect("a thread");
    thread.join().expect("checking does not panic")
}

/// Every claim is there once, in order, and ended as the name of its parameter says.
#[track_caller]
fn each_once(outcome: &Outcome, parameters: &[&str]) {
    let names: Vec<&str> = outcome.claims.iter().map(|claim| claim.name.as_str()).collect();
    let expected: Vec<String> = (0..parameters.len()).map(|number| format!("r{number}")).collect();
    assert_eq!((names, outcome.fault.as_ref()), (expected.iter().map(String::as_str).collect(), None));
    assert!(outcome.diagnostics.is_empty(), "{:?}", outcome.diagnostics);
    for (claim, parameter) in outcome.claims.iter().zip(parameters) {
        let reason = match *parameter {
            "x" => None,
            "SILENT" => Some("value: timeout"),
            "MEMORY" => Some("value: memory"),
            _ => Some("value: solver crash"),
        };
        let verdict = if reason.is_none() { Verdict::Proved } else { Verdict::Unknown };
        assert_eq!(claim.verdict, verdict, "{parameter}: {}", claim.note);
        assert!(claim.note.contains(reason.unwrap_or_default()), "{parameter}: {}", claim.note);
    }
}

#[test]
fn a_broken_worker_costs_one_claim() {
    let folder = Folder::new("workers-broken");
    let breaks = ["KILLED", "ENDED", "GARBAGE", "STALE", "SILENT", "MEMORY"];
    let parameters: Vec<&str> = breaks.iter().flat_map(|name| ["x", name]).chain(["x", "x"]).collect();
    each_once(&check(&faulty(&folder, ""), &claims(&parameters), None), &parameters);
}

#[test]
fn two_hundred_deaths_cost_two_hundred_claims() {
    let folder = Folder::new("workers-deaths");
    let kinds = ["KILLED", "ENDED", "GARBAGE", "KILLED", "ENDED"];
    let parameters: Vec<&str> = kinds.repeat(40).into_iter().chain(["x"; 3]).collect();
    each_once(&check(&faulty(&folder, ""), &claims(&parameters), None), &parameters);
}

#[test]
fn a_lying_worker_ends_the_run_and_proves_nothing() {
    let folder = Folder::new("workers-lying");
    let from_the_start = check(&faulty(&folder, "ALWAYS"), &claims(&["x", "x"]), None);
    let halfway = check(&faulty(&folder, ""), &claims(&["x", "x", "LYING", "x"]), None);
    for (outcome, proved) in [(from_the_start, 0), (halfway, 2)] {
        let fault = outcome.fault.expect("found out").diagnostic();
        assert_eq!(fault.code.to_string(), "R0711");
        assert!(fault.message.starts_with("solver self-test failed"), "{}", fault.message);
        assert_eq!(outcome.claims.len(), proved);
    }
}

#[test]
fn a_worker_that_never_starts_is_no_solver() {
    let outcome = check(Path::new("false"), &claims(&["x"; 12]), None);
    assert_eq!(outcome.fault.expect("no solver").diagnostic().code.to_string(), "R0712");
    assert!(outcome.claims.iter().all(|claim| claim.verdict == Verdict::Unknown));
    let folder = Folder::new("workers-version");
    let old = program(&folder, "old", "#!/bin/sh\necho rtv-solver-3 4.8.12.0\ncat >/dev/null\n");
    let outcome = check(&old, &claims(&["x"]), None);
    assert_eq!(outcome.fault.expect("refused").diagnostic().code.to_string(), "R0710");
    assert!(outcome.claims.is_empty());
}

#[test]
fn a_run_without_its_program_ends_with_5() {
    let folder = Folder::new("workers-gone");
    fs::copy(RTV, folder.path("rtv")).expect("a program of its own");
    for name in ["a.rtl", "b.rtl"] {
        folder.file(name, claims(&["x"; 12]));
    }
    let script = "exec 3<rtv; rm rtv; exec /proc/self/fd/3 check --samples 5 --jobs 2 a.rtl b.rtl";
    let run = Command::new("sh").args(["-c", script]).current_dir(folder.path("")).output();
    let run = Run::from(run.expect("a shell"));
    assert_eq!((run.code, run.err.matches("R0712").count()), (Some(5), 1), "{run:?}");
    assert!(!run.out.contains("  proved  "), "{run:?}");
}

/// Products of integers that are equal for a reason no solver finds soon.
const HARD: &str = "rtl 1.0
rule hard[N](x: i64[N], y: i64[N], z: i64[N]) {
  (bitwise_xor(x, y) + 2 * bitwise_and(x, y)) * bitwise_xor(z, y) => (x + y) * bitwise_xor(z, y)
}
";

#[test]
fn time_over_is_time_over() {
    let folder = Folder::new("workers-time");
    let program = faulty(&folder, "");
    let started = Instant::now();
    let outcome = check(&program, &claims(&["SILENT"]), Some(Duration::from_secs(1)));
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(outcome.claims[0].verdict, Verdict::Unknown);
    folder.file("hard.rtl", HARD);
    let started = Instant::now();
    let run = folder.run(&["check", "hard.rtl", "--timeout", "1", "--rlimit", "4294967295"]);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.out.contains("timeout"), "{run:?}");
}

#[test]
fn memory_is_bounded_and_costs_one_question() {
    let pool = Pool::new(PathBuf::from(RTV), 512);
    // Long multiplication, gate by gate.
    let mut huge = Query::new();
    let [x, y, z] = ["x", "y", "z"].map(|name| huge.constant(name, Sort::Bits(30_000)));
    let (left, right) = (huge.op(Op::BvMul, vec![x, y]), huge.op(Op::BvMul, vec![y, z]));
    let equal = huge.eq(left, right);
    let differ = huge.not(equal);
    huge.assert(differ);
    let budget = Budget { rlimit: 0, timeout_ms: 60_000 };
    assert_eq!(pool.check(&huge, budget), Answer::Unknown(Reason::Memory));
    let mut small = Query::new();
    let no = small.bool(false);
    small.assert(no);
    assert_eq!(pool.check(&small, budget), Answer::Unsat);
    assert_eq!(pool.fault(), None);
}

/// Processes that run a program, by what the system says.
fn running(program: &Path) -> BTreeSet<String> {
    let processes = fs::read_dir("/proc").expect("a list of processes").flatten();
    let runs = processes.filter(|p| fs::read_link(p.path().join("exe")).is_ok_and(|exe| exe == program));
    runs.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until so many processes run a program.
fn wait_for(program: &Path, count: usize) -> bool {
    let patience = Instant::now() + Duration::from_secs(10);
    while Instant::now() < patience {
        if running(program).len() == count {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn no_worker_is_left_behind() {
    let folder = Folder::new("workers-orphans");
    let program = folder.path("rtv");
    fs::copy(RTV, &program).expect("a program of its own");
    let program = program.canonicalize().expect("a path");
    folder.file("hard.rtl", HARD);
    let mut check = Command::new(&program)
        .args(["check", "hard.rtl", "--rlimit", "4294967295"])
        .current_dir(folder.path(""))
        .stdout(Stdio::null())
        .spawn()
        .expect("rtv starts");
    assert!(wait_for(&program, 2), "a worker starts");
    check.kill().expect("killed");
    check.wait().expect("dead");
    assert!(wait_for(&program, 0), "still running: {:?}", running(&program));
}
