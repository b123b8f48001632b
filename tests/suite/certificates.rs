//! Certificates: written, checked again, and refused where they are forged.

use std::fs;

use serde_json::{Value, json};

use crate::folder::{Folder, Run, root};

const CLAIMS: &str = "rtl 1.0
rule doubled[N](x: i32[N]) { x + x => x * 2 }
rule sum_of_flip[N, T: int](x: T[N]) { sum(flip(x, 0)) => sum(x) }
rule multiple_of_sum[N](x: f32[N], c: f32[]) upto real { sum(x * c) => sum(x) * c }
";

fn project(name: &str) -> Folder {
    Folder::project(name, CLAIMS)
}

fn verified(folder: &Folder) -> Run {
    folder.run(&["verify-cert"])
}

#[test]
fn certificates_of_a_ledger_are_checked_again() {
    let folder = project("certificates");
    folder.run(&["check", "a.rtl", "--update-ledger", "-q"]);
    let run = verified(&folder);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(
        run.out.contains("3 accepted, 0 rejected; proved without one: 0; not in the ledger: 0"),
        "{}",
        run.out
    );
    let audit = folder.run(&["audit"]).out;
    assert!(audit.contains("    0  proved, without certificate"), "{audit}");
    // A claim that has changed is not in the ledger, and has no certificate.
    folder.file("a.rtl", CLAIMS.replace("x + x => x * 2", "x + x => 2 * x"));
    let run = verified(&folder);
    assert!(
        run.out.contains("2 accepted, 0 rejected; proved without one: 0; not in the ledger: 1"),
        "{}",
        run.out
    );
}

#[test]
fn a_certificate_that_is_gone_is_missed() {
    let folder = project("certificates-gone");
    folder.run(&["check", "a.rtl", "--update-ledger", "-q"]);
    fs::remove_file(folder.path("ledger/a.certificates")).expect("certificates beside the ledger");
    let run = verified(&folder);
    assert_eq!(run.code, Some(2), "{}", run.out);
    assert!(run.out.contains("0 accepted, 3 rejected"), "{}", run.out);
    assert!(run.err.contains("R0825"), "{}", run.err);
}

#[test]
fn certificates_of_a_run_are_written_and_accepted() {
    let folder = project("certificates-alone");
    folder.run(&["check", "a.rtl", "-q"]);
    // Also where the cache knows the verdicts.
    folder.run(&["check", "a.rtl", "-q", "--certificates", "certs"]);
    let run = folder.run(&["verify-cert", "certs"]);
    assert!(run.out.contains("3 accepted, 0 rejected"), "{}{}", run.out, run.err);
}

/// Each is a proof of what is false, by a step that does not follow, or costs without end.
#[test]
fn forged_certificates_are_refused() {
    let folder = Folder::new("certificates-forged");
    let mut count = 0;
    for entry in fs::read_dir(root().join("tests/suite/data/forged")).expect("forged certificates") {
        let path = entry.expect("an entry").path();
        let run = folder.run(&["verify-cert", &path.display().to_string()]);
        assert_eq!(run.code, Some(2), "{}: {}{}", path.display(), run.out, run.err);
        assert!(run.err.contains("R0825"), "{}: {}", path.display(), run.err);
        count += 1;
    }
    assert!(count >= 41, "{count}");
}

/// Each is a forged one with the condition that it lacks: it is refused for nothing else.
#[test]
fn mended_certificates_are_accepted() {
    let folder = Folder::new("certificates-mended");
    let mended = root().join("tests/suite/data/mended");
    let mut count = 0;
    for entry in fs::read_dir(&mended).expect("mended certificates") {
        let path = entry.expect("an entry").path();
        let forged = root().join("tests/suite/data/forged").join(path.file_name().expect("a name"));
        assert!(forged.exists(), "{}", forged.display());
        let run = folder.run(&["verify-cert", &path.display().to_string()]);
        assert_eq!(run.code, Some(0), "{}: {}{}", path.display(), run.out, run.err);
        count += 1;
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn what_is_no_solver_is_no_second_one() {
    let folder = project("certificates-second");
    for command in ["cat", "yes", "no-such-program", ""] {
        let run = folder.run(&["verify-cert", "--second-solver", command]);
        assert_eq!(run.code, Some(2), "{command}: {}", run.out);
        assert!(run.err.contains("R0826"), "{command}: {}", run.err);
    }
}

#[test]
fn what_became_of_certificates_is_told_as_fields() {
    let folder = project("certificates-fields");
    folder.run(&["check", "a.rtl", "--update-ledger", "-q"]);
    let rows = folder.run(&["verify-cert", "--format", "json"]).rows();
    let accepted = |row: &&Value| row["reason"] == "certificate" && row["verdict"] == "accepted";
    let names: Vec<&str> = rows.iter().filter(accepted).filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["doubled", "multiple_of_sum", "sum_of_flip"]);
    let sums = rows.last().expect("a last row");
    assert_eq!((&sums["reason"], &sums["accepted"]), (&json!("certificates"), &json!(3)));
    assert!(sums["questions"].is_u64() && sums["second_solver"].is_null(), "{sums}");
    // The one that is gone is a row of its own, beside the diagnostic.
    fs::remove_file(folder.path("ledger/a.certificates")).expect("certificates beside the ledger");
    let rows = folder.run(&["verify-cert", "--format", "json"]).rows();
    let rejected = |row: &&Value| row["verdict"] == "rejected" && row["why"] == "it is not there";
    assert_eq!(rows.iter().filter(rejected).count(), 3, "{rows:?}");
    assert!(rows.iter().any(|row| row["code"] == "R0825"), "{rows:?}");
}
