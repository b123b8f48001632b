//! The valid programs that the tests of this crate share: samples, probes and operators.

use std::path::{Path, PathBuf};

/// Name and text of each program.
pub fn programs() -> Vec<(String, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&here.join("tests/data/samples"), &mut files);
    collect(&here.join("../semantics/ops"), &mut files);
    files.sort();
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("programs are text");
    let mut programs: Vec<(String, String)> =
        files.iter().map(|path| (path.display().to_string(), read(path))).collect();
    let probes = read(&here.join("tests/data/probes.txt"));
    for (number, probe) in probes.split("%%\n").enumerate() {
        programs.push((format!("probe {number}"), probe.to_string()));
    }
    programs
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder of programs is checked in") {
        let path = entry.expect("the folder of programs is readable").path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|e| e == "rtl") {
            into.push(path);
        }
    }
}
