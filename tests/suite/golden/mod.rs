//! The operators held against results computed by PyTorch (`tests/golden/`): shape, dtype,
//! values, and the fact of an error.

mod compare;
mod promotion;
mod report;
pub mod run;

use crate::folder::root;
use report::Report;
use rtv::conform::golden::exceptions;
use rtv::conform::golden::record::{FAMILIES, Record, cases, read};
use run::{Finding, Runner};
use std::path::PathBuf;
use std::thread;

/// Where the records are.
pub fn folder() -> PathBuf {
    root().join("tests/golden")
}

/// Fewer passing cases mean that operators or their `@aten` names were lost.
const LEAST_PASSED: usize = 2090;

#[test]
fn golden_records() -> Result<(), String> {
    let runner = Runner::new()?;
    let families: Vec<Vec<Record>> =
        FAMILIES.iter().map(|f| cases(&folder(), f)).collect::<Result<_, _>>()?;
    let records = families.concat();
    let mut findings = run_all(&runner, &records)?;
    for line in read(&folder(), "mutation.jsonl")?.lines() {
        let id = line.split('"').nth(3).unwrap_or_default().to_string();
        findings.push((id, "program".into(), Finding::NotCovered("programs that write come later".into())));
    }
    let report = Report::new(&findings, &exceptions(&folder().join("exceptions.txt"))?);
    println!("{report}");
    assert!(report.stale.is_empty(), "exceptions.txt:\n{}", report.stale.join("\n"));
    let failures = report.failures();
    assert!(failures.is_empty(), "{} cases fail:\n{}", failures.len(), failures.join("\n"));
    assert!(report.passed() >= LEAST_PASSED, "{} cases pass, at least {LEAST_PASSED} did", report.passed());
    Ok(())
}

/// Every case with its overload, in the order of the records.
fn run_all(runner: &Runner, records: &[Record]) -> Result<Vec<(String, String, Finding)>, String> {
    let workers = thread::available_parallelism().map_or(1, |n| n.get());
    let share = records.len().div_ceil(workers).max(1);
    let finding = |record: &Record| Ok((record.id.clone(), record.aten.clone(), runner.run(record)?));
    thread::scope(|scope| {
        let finding = &finding;
        let parts = records.chunks(share);
        let running: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(finding).collect::<Result<Vec<_>, String>>()))
            .collect();
        let mut all = Vec::new();
        for worker in running {
            all.extend(worker.join().map_err(|_| "a case panics; its message is above".to_string())??);
        }
        Ok(all)
    })
}
