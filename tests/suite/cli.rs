//! The command line: how runs end, and what a program that reads the JSON lines can
//! rely on.

use crate::folder::{Folder, Run};
use serde_json::Value;

/// Claims by the end of the run that they lead to.
const ENDS: [(&str, i32); 7] = [
    ("rule r[N](x: i32[N]) { x + 0 => x }", 0),
    ("#: expect refuted value\nrule r[N](x: i32[N]) { x + 1 => x }", 0),
    ("rule r[N](x: i32[N]) { x + 1 => x }", 1),
    ("#: expect refuted value\nrule r[N](x: i32[N]) { x + 0 => x }", 1),
    ("rule r[N](x: i32[N]) { x + y => x }", 3),
    ("vjp half[N](x: f32[N]) given g { return g }", 4),
    ("#: expect unknown\nrule r[N](x: i32[N]) { x + 0 => x }", 4),
];

#[test]
fn every_end_has_its_code() {
    let folder = Folder::new("ends");
    for (text, code) in ENDS {
        folder.file("a.rtl", format!("rtl 1.0\n{text}\n"));
        let run = folder.run(&["check", "a.rtl"]);
        assert_eq!(run.code, Some(code), "{text}\n{run:?}");
    }
    folder.file("a.rtl", "rtl 1.0\nrule r[N](x: i32[N]) { x + 1 => x }\n");
    folder.file("b.rtl", "rtl 1.0\nrule s[N](x: i32[N]) { x + y => x }\n");
    let ends = [(&["check", "a.rtl", "b.rtl"][..], 3), (&["check", "a.rtl", "none.rtl"], 2)];
    for (args, code) in ends {
        assert_eq!(folder.run(args).code, Some(code), "the gravest end wins: {args:?}");
    }
}

#[test]
fn results_and_diagnostics_have_their_streams() {
    let folder = Folder::new("streams");
    folder.file("a.rtl", "rtl 1.0\nrule r[N](x: i32[N]) { x + 0 => x }\nfn f() -> i32[] { return y }\n");
    let run = folder.run(&["check", "a.rtl"]);
    assert!(run.out.contains("proved") && !run.out.contains("R0101"), "{run:?}");
    assert!(run.err.contains("R0101") && run.err.contains("a.rtl:3:"), "{run:?}");
    let unknown = folder.run(&["prove", "a.rtl"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(2), ""), "{unknown:?}");
    let missing = folder.run(&["run", "none.rtl", "f"]);
    assert_eq!((missing.code, missing.out.as_str()), (Some(2), ""), "{missing:?}");
    let page = folder.run(&["explain", "R0203"]);
    assert!(page.code == Some(0) && page.out.contains("R0203") && page.err.is_empty(), "{page:?}");
}

fn lines(run: &Run) -> Vec<Value> {
    run.rows()
}

fn of<'a>(lines: &'a [Value], reason: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["reason"] == reason).collect()
}

#[test]
fn json_lines_have_the_promised_fields() {
    let folder = Folder::new("fields");
    let text = "rtl 1.0\n#: expect refuted value\nrule one[N](x: i32[N]) { x + 1 => x }\n\
                rule same[N](x: i32[N]) { x + 0 => x }\nfn f[N](value: f32[N]) -> f32[N] { return valu }\n";
    folder.file("a.rtl", text);
    let run = folder.run(&["check", "a.rtl", "--format", "json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(3), ""));
    let lines = lines(&run);
    let count = |reason: &str| of(&lines, reason).len();
    let counts = ["run-started", "claim-started", "claim-finished", "diagnostic", "run-finished"].map(count);
    assert_eq!(counts, [1, 2, 2, 1, 1], "{}", run.out);
    let found = of(&lines, "claim-finished");
    let (one, same) = (found[0], found[1]);
    let expected = [
        ("name", "one", "same"),
        ("kind", "rule", "rule"),
        ("verdict", "refuted", "proved"),
        ("expected", "refuted", "proved"),
        ("mode", "exact", "exact"),
        ("file", "a.rtl", "a.rtl"),
    ];
    for (field, first, second) in expected {
        assert_eq!((&one[field], &same[field]), (&first.into(), &second.into()), "{field}");
    }
    assert_eq!((&one["range"]["line"], &one["range"]["column"]), (&3.into(), &1.into()));
    assert_eq!(same["contracts"]["value"], "proved");
    assert_eq!(one["contracts"]["value"], "refuted");
    assert!(one["counterexample"].is_object() && same["counterexample"].is_null());
    assert!([one, same].iter().all(|c| c["id"].is_string() && c["seconds"].is_number()));
    let diagnostic = of(&lines, "diagnostic")[0];
    assert_eq!((&diagnostic["code"], &diagnostic["severity"]), (&"R0101".into(), &"error".into()));
    assert_eq!((&diagnostic["range"]["line"], &diagnostic["range"]["column"]), (&5.into(), &43.into()));
    assert_eq!(diagnostic["help"], "did you mean `value`?");
    let end = of(&lines, "run-finished")[0];
    assert_eq!((&end["claims"], &end["errors"], &end["exit"]), (&2.into(), &1.into(), &3.into()));
}

#[test]
fn hostile_files_give_one_coded_diagnostic() {
    let folder = Folder::new("hostile");
    let cases: [(&str, Vec<u8>, &str); 4] = [
        ("bytes", vec![0xff; 64], "R0007"),
        ("parens", "(".repeat(1_000_000).into_bytes(), "R0701"),
        ("brackets", "[".repeat(1_000_000).into_bytes(), "R0701"),
        ("blanks", vec![b' '; 17 << 20], "R0702"),
    ];
    for (name, text, code) in cases {
        folder.file("h.rtl", [b"rtl 1.0\nconst a: f32 = ".as_slice(), &text].concat());
        let run = folder.run(&["check", "h.rtl", "--format", "json"]);
        let lines = lines(&run);
        let codes: Vec<&Value> = of(&lines, "diagnostic").into_iter().map(|d| &d["code"]).collect();
        assert_eq!((run.code, codes), (Some(3), vec![&Value::from(code)]), "{name}");
        assert!(run.out.len() < 10_000, "{name}: {} bytes", run.out.len());
    }
}

#[test]
fn formatting_says_what_would_change() {
    let folder = Folder::new("format");
    folder.file("a.rtl", "rtl 1.0\n\nfn f[N](x: f32[N]) -> f32[N] {\n  return x\n}\n");
    folder.file("b.rtl", "rtl 1.0\nfn f[N](x:f32[N])->f32[N]{return x}\n");
    assert_eq!(folder.run(&["fmt", "--check", "a.rtl"]).code, Some(0));
    let run = folder.run(&["fmt", "--check", "a.rtl", "b.rtl"]);
    assert_eq!((run.code, run.out.trim()), (Some(1), "b.rtl"), "{run:?}");
}
