//! The valid programs that the tests of this crate share.

/// Name and text of every sample and every probe.
pub fn programs() -> Vec<(String, String)> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(format!("{data}/samples")).expect("the samples are checked in") {
        let path = entry.expect("the samples are readable").path();
        let text = std::fs::read_to_string(&path).expect("the samples are text");
        programs.push((path.display().to_string(), text));
    }
    programs.sort();
    let probes = std::fs::read_to_string(format!("{data}/probes.txt")).expect("the probes are checked in");
    for (number, probe) in probes.split("%%\n").enumerate() {
        programs.push((format!("probe {number}"), probe.to_string()));
    }
    programs
}
