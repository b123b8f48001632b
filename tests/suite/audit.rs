//! What the verdicts of a ledger rest on, and how they differ from those of a revision.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::folder::Folder;

const CLAIMS: &str = "rtl 1.0
rule doubled[N](x: i32[N]) { x + x => x * 2 }

rule turned_twice[N](x: i32[N]) { flip(flip(x, 0), 0) => x }

#: expect refuted value
rule wrong[N](x: i32[N]) { x + 1 => x }

rule gone[N](x: i32[N]) { x + 0 => x }

test sums { assert sum([1, 2]) == 3 }

monoid xor(a: i32, b: i32) -> i32 { let identity = 0 return bitwise_xor(a, b) }

rule xor_of_one(x: i32[1]) { reduce(xor)(x[k] for k in 1) => x[0] }
";

fn project(name: &str) -> Folder {
    let folder = Folder::project(name, CLAIMS);
    folder.run(&["check", "a.rtl", "--update-ledger", "-q"]);
    folder
}

fn git(folder: &Folder, args: &[&str]) {
    let named = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"];
    let run = Command::new("git").args(named).args(args).current_dir(folder.path("")).output();
    let run = run.expect("git starts");
    assert!(run.status.success(), "{args:?}: {}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn what_verdicts_rest_on_is_told_as_fields() {
    let folder = project("audit-fields");
    folder.file("a.rtl", CLAIMS.replace("x + 0 => x", "x - 0 => x"));
    let rows = folder.run(&["audit", "--format", "json"]).rows();
    let sums = rows.iter().find(|row| row["reason"] == "audit").expect("a row of sums");
    let wanted = [
        ("without-questions", 2),
        ("with-questions", 2),
        ("refuted", 1),
        ("passed", 1),
        ("not-in-ledger", 1),
    ];
    for (class, count) in wanted {
        assert_eq!(sums["claims"][class], json!(count), "{class}: {sums}");
    }
    let claim = |name: &str| -> Value {
        let of = |row: &&Value| row["reason"] == "audited" && row["name"] == name;
        rows.iter().find(of).cloned().unwrap_or_else(|| panic!("{name}: {rows:?}"))
    };
    for (name, class, questions) in
        [("doubled", "with-questions", 1), ("turned_twice", "without-questions", 0)]
    {
        let claim = claim(name);
        assert_eq!((&claim["class"], &claim["questions"]), (&json!(class), &json!(questions)), "{claim}");
    }
    assert_eq!(claim("gone")["class"], "not-in-ledger");
    for (name, laws) in [("xor_of_one", json!(["xor"])), ("xor", json!([])), ("doubled", json!([]))] {
        assert_eq!(claim(name)["laws"], laws, "{name}");
    }
    assert!(rows.iter().all(|row| row["reason"] != "result"), "{rows:?}");
}

#[test]
fn a_ledger_is_compared_with_a_revision() {
    let folder = project("audit-diff");
    git(&folder, &["init", "-q"]);
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-q", "-m", "verdicts"]);
    let same = folder.run(&["audit", "--diff", "HEAD"]);
    assert_eq!((same.code, same.err.as_str()), (Some(0), ""));
    assert!(same.out.starts_with("ledger against HEAD ("), "{}", same.out);
    assert!(same.out.ends_with("): 0 changed, 0 added, 0 removed\n"), "{}", same.out);
    // One claim is gone, one is new, one is proved otherwise.
    let new = "rule new[N](x: i32[N]) { x * 1 => x }";
    folder.file("a.rtl", CLAIMS.replace("rule gone[N](x: i32[N]) { x + 0 => x }", new));
    folder.run(&["check", "a.rtl", "--update-ledger", "-q"]);
    let ledger = fs::read_to_string(folder.path("ledger/a.ledger")).expect("a ledger");
    let otherwise = ledger.replacen("value proved", "value tested", 1);
    assert_ne!(ledger, otherwise);
    folder.file("ledger/a.ledger", otherwise);
    let rows = folder.run(&["audit", "--diff", "HEAD", "--format", "json"]).rows();
    let changes: Vec<(&Value, &Value)> = rows
        .iter()
        .filter(|row| row["reason"] == "ledger-change")
        .map(|row| (&row["name"], &row["change"]))
        .collect();
    let wanted =
        [("doubled", "changed"), ("gone", "removed"), ("new", "added")].map(|(a, b)| (json!(a), json!(b)));
    assert_eq!(changes, wanted.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>());
    let field = &rows.iter().find(|row| row["change"] == "changed").expect("a change")["fields"][0];
    assert_eq!(field["field"], "value");
    assert!(field["before"].as_str().is_some_and(|text| text.starts_with("proved")), "{field}");
    assert!(field["after"].as_str().is_some_and(|text| text.starts_with("tested")), "{field}");
    // A file of the revision that is gone takes its claims with it.
    fs::remove_file(folder.path("a.rtl")).expect("the sources");
    folder.file("b.rtl", "rtl 1.0\nrule other[N](x: i32[N]) { x + 0 => x }\n");
    folder.run(&["check", "b.rtl", "--update-ledger", "-q"]);
    let out = folder.run(&["audit", "--diff", "HEAD"]).out;
    assert!(out.contains("  removed  doubled (a.ledger): "), "{out}");
    assert!(out.contains("  added    other (b.ledger): "), "{out}");
    // Only what is named is compared.
    let out = folder.run(&["audit", "b.rtl", "--diff", "HEAD"]).out;
    assert!(!out.contains("removed  ") && out.contains("added    other"), "{out}");
}

#[test]
fn without_a_revision_there_is_nothing_to_compare_with() {
    let folder = project("audit-no-diff");
    let refused = |args: &[&str], why: &str| {
        let run = folder.run(args);
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.out);
        assert!(run.err.contains("R0827") && run.err.contains(why), "{args:?}: {}", run.err);
    };
    refused(&["audit", "--diff", "HEAD"], "in no repository of git");
    git(&folder, &["init", "-q"]);
    refused(&["audit", "--diff", "HEAD"], "there is no revision `HEAD`");
    refused(&["audit", "--diff=--all"], "there is no revision `--all`");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtv"));
    let run = command.args(["audit", "--diff", "HEAD"]).current_dir(folder.path("")).env("PATH", "").output();
    let said = String::from_utf8_lossy(&run.expect("rtv starts").stderr).into_owned();
    assert!(said.contains("R0827") && said.contains("cannot run git"), "{said}");
}
