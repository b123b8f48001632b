//! Verdicts that are checked in beside the sources.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use crate::folder::{Folder, Run, root};

const CLAIMS: &str = "rtl 1.0
fn positive_root(x: f32[]) -> f32[] requires x > 0.0 { return sqrt(x) }

fn shifted(x: f32[]) -> f32[] requires x > 0.0 { return positive_root(x) }

fn plain(x: f32[]) -> f32[] { return x }

rule right[N](x: i32[N]) { x + 0 => x }

#: expect refuted value
rule wrong[N](x: i32[N]) { x + 1 => x }

@trusted(\"a law of the reals\")
rule believed[N](x: f32[N]) upto real { sin(x) ** 2.0 + cos(x) ** 2.0 => ones_like(x) }

test sums { assert sum([1, 2]) == 3 }
";

fn project(name: &str) -> Folder {
    Folder::project(name, CLAIMS)
}

fn update(folder: &Folder) -> Run {
    folder.run(&["check", "a.rtl", "--update-ledger", "-q"])
}

fn locked(folder: &Folder) -> Run {
    folder.run(&["check", "a.rtl", "--locked", "--stats"])
}

/// Name, kind and verdict of each line of the ledger.
fn lines(folder: &Folder) -> Vec<String> {
    let text = fs::read_to_string(folder.path("ledger/a.ledger")).unwrap_or_default();
    let said = |line: &str| line.split('\t').take(3).collect::<Vec<_>>().join(" ");
    text.lines().skip(1).map(said).collect()
}

#[test]
fn the_ledger_of_the_project_is_current() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtv"));
    let output = command.args(["check", "proofs", "--locked", "-q"]).current_dir(root()).output();
    let run = Run::from(output.expect("rtv starts"));
    assert_eq!(run.code, Some(0), "run `rtv check proofs --update-ledger`:\n{}", run.err);
}

#[test]
fn a_ledger_says_what_was_found_and_nothing_is_decided_again() {
    let folder = project("ledger-update");
    let written = update(&folder);
    assert_eq!((written.code, written.err.as_str()), (Some(0), ""), "{written:?}");
    let expected = [
        "believed rule trusted",
        "right rule proved",
        "shifted calls proved",
        "sums test proved",
        "wrong rule refuted R0411",
    ];
    assert_eq!(lines(&folder), expected);
    let run = locked(&folder);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    assert!(run.out.contains("   (5 from ledger)   ") && run.out.contains("\n  0 questions"), "{}", run.out);
    // What says the same is not written again.
    let text = fs::read_to_string(folder.path("ledger/a.ledger")).expect("a ledger");
    folder.file("ledger/a.ledger", text.replace("\t0.1.0\t", "\t0.0.9\t"));
    update(&folder);
    let text = fs::read_to_string(folder.path("ledger/a.ledger")).expect("a ledger");
    assert_eq!(text.matches("\t0.0.9\t").count(), 5, "{text}");
}

#[test]
fn a_claim_that_is_not_in_the_ledger_as_it_is_fails() {
    let folder = project("ledger-miss");
    update(&folder);
    for (from, to) in
        [("x + 0 => x", "0 + x => x"), ("return sqrt(x)", "return exp(x)"), ("rule right", "rule riht")]
    {
        folder.file("a.rtl", CLAIMS.replace(from, to));
        let run = locked(&folder);
        assert!(run.code == Some(4) && run.err.contains("R0820"), "{from}: {run:?}");
        assert!(run.out.contains("0 questions"), "{run:?}");
    }
    // An expectation of `unknown` does not make up for it.
    folder.file("a.rtl", CLAIMS.replace("rule right", "#: expect unknown\nrule new"));
    assert_eq!(locked(&folder).code, Some(4));
    folder.file("a.rtl", CLAIMS);
    assert_eq!(locked(&folder).code, Some(0));
}

#[test]
fn a_function_that_claims_nothing_is_in_the_ledger_too() {
    let folder = project("ledger-none");
    let sizes = "rtl 1.0
fn first[N](x: f32[N]) -> f32[] requires N >= 1 { return x[0] }
fn of_two(x: f32[2]) -> f32[] { return first(x) }
";
    folder.file("a.rtl", sizes);
    assert_eq!(update(&folder).code, Some(0));
    assert_eq!(lines(&folder), ["of_two calls none"]);
    assert_eq!(locked(&folder).code, Some(0));
    folder.file("a.rtl", sizes.replace("N >= 1 {", "N >= 1, all(x > 0.0) {"));
    assert_eq!(locked(&folder).code, Some(4));
}

#[test]
fn expectations_are_no_part_of_the_ledger() {
    let folder = project("ledger-expect");
    update(&folder);
    folder.file("a.rtl", CLAIMS.replace("#: expect refuted value\n", ""));
    let run = locked(&folder);
    assert!(run.code == Some(1) && run.out.contains("REFUTED  wrong"), "{run:?}");
}

#[test]
fn what_is_gone_or_not_as_expected_goes() {
    let folder = project("ledger-gone");
    update(&folder);
    folder
        .file("a.rtl", CLAIMS.replace("#: expect refuted value\n", "").replace("rule right", "rule renamed"));
    let run = folder.run(&["check", "a.rtl", "--update-ledger"]);
    assert!(
        run.code == Some(1) && run.out.contains("ledger: 4 claims, 1 not as expected left out"),
        "{run:?}"
    );
    let expected =
        ["believed rule trusted", "renamed rule proved", "shifted calls proved", "sums test proved"];
    assert_eq!(lines(&folder), expected);
    // Of a part only that part is written.
    folder.file("a.rtl", CLAIMS);
    folder.run(&["check", "a.rtl", "--update-ledger", "--only", "wrong"]);
    let expected =
        ["believed rule trusted", "shifted calls proved", "sums test proved", "wrong rule refuted R0411"];
    assert_eq!(lines(&folder), expected);
    // A ledger without its source goes with the next update.
    fs::rename(folder.path("a.rtl"), folder.path("b.rtl")).expect("a file of the test");
    folder.run(&["check", "b.rtl", "--update-ledger", "-q"]);
    assert!(!folder.path("ledger/a.ledger").exists() && folder.path("ledger/b.ledger").exists());
}

#[test]
fn the_nearest_folder_above_within_the_project_holds_the_ledger() {
    let folder = project("ledger-place");
    for name in ["deep/er", "own/ledger", "alien"] {
        fs::create_dir_all(folder.path(name)).expect("a folder for the test");
    }
    folder.file("alien/rtv.toml", "");
    for name in ["deep/er/a.rtl", "own/a.rtl", "alien/a.rtl"] {
        folder.file(name, "rtl 1.0\nrule r[N](x: i32[N]) { x + 0 => x }\n");
    }
    let run = folder.run(&["check", "deep", "own", "--update-ledger", "-q"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    for (ledger, source) in [("ledger/deep/er/a.ledger", "deep/er/a.rtl"), ("own/ledger/a.ledger", "a.rtl")] {
        let text = fs::read_to_string(folder.path(ledger)).expect(ledger);
        assert_eq!(text.lines().next(), Some(&*format!("# rtv ledger 1 of {source}")));
    }
    let alien = folder.run(&["check", "alien", "--update-ledger"]);
    assert!(alien.code == Some(2) && alien.err.contains("R0822"), "{alien:?}");
}

#[test]
fn writers_of_one_ledger_undo_nothing_of_each_other() {
    let folder = project("ledger-writers");
    let rules: String =
        (0..8).map(|n| format!("rule r{n}[N](x: i32[N]) {{ x + {n} => {n} + x }}\n")).collect();
    folder.file("a.rtl", format!("rtl 1.0\n{rules}"));
    let writer = |n: usize| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtv"));
        command.args(["check", "a.rtl", "-q", "--update-ledger", "--only", &format!("r{n}")]);
        command.current_dir(folder.path("")).spawn().expect("rtv starts")
    };
    let mut writers: Vec<Child> = (0..8).map(writer).collect();
    for writer in &mut writers {
        assert!(writer.wait().expect("it ends").success());
    }
    assert_eq!(lines(&folder), (0..8).map(|n| format!("r{n} rule proved")).collect::<Vec<_>>());
    // Those that are killed leave whole ledgers.
    let path = folder.path("ledger/a.ledger");
    let whole = fs::read_to_string(&path).expect("a ledger");
    let mut written = 0;
    for round in 0..14 {
        // It may not have come to a ledger before.
        let _ = fs::remove_file(&path);
        let mut writers: Vec<Child> = (0..3).map(writer).collect();
        thread::sleep(Duration::from_millis(40 * round));
        for writer in &mut writers {
            writer.kill().expect("it can be killed");
            writer.wait().expect("it ends");
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text.is_empty() || text.starts_with("# rtv ledger 1 of a.rtl\n") && text.ends_with('\n'),
            "{text}"
        );
        assert!(text.lines().all(|line| whole.lines().any(|other| other == line)), "{text}");
        written += usize::from(!text.is_empty());
    }
    assert!(written >= 1, "no writer got as far as the ledger");
}
