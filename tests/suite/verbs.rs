//! What a user does with one claim, and around a run: explain it, replay its refutation,
//! turn that into a test, look at the questions, watch files, interrupt.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::folder::{Folder, root};

const CLAIMS: &str = "rtl 1.0
fn half_of[N](x: i32[N]) -> i32[N] {
  return x // 2
}

rule right[N](x: i32[N]) { x + 0 => x }

#: expect refuted
rule wrong[N, *S, T: int](x: T[N, *S], a: size) requires a <= N {
  x[a:] + 1 => x[:a]
}

#: expect refuted value
decomp halves[N](x: i32[N]) -> i32[N] refines half_of(x) + half_of(x) {
  let y = half_of(x)
  return x + (y - y)
}
";

#[test]
fn a_claim_is_explained_by_name_and_by_id() {
    let folder = Folder::new("explain");
    folder.file("a.rtl", CLAIMS);
    let by_name = folder.run(&["explain", "halves", "a.rtl"]);
    assert_eq!((by_name.code, by_name.err.as_str()), (Some(0), ""), "{by_name:?}");
    for fact in ["refuted (exact)", "definitions: half_of (line 2)", "for every size N", "rtv replay "] {
        assert!(by_name.out.contains(fact), "{fact}: {}", by_name.out);
    }
    let id = by_name.out.split_whitespace().nth(2).expect("the id stands behind the name");
    let by_id = folder.run(&["explain", &id[..6], "a.rtl"]);
    // But for the time that it took.
    let facts = |text: &str| text.rsplit_once(", ").map(|(facts, _)| facts.to_string());
    assert_eq!(facts(&by_id.out), facts(&by_name.out));
}

#[test]
fn an_id_changes_with_the_definitions_below() {
    let folder = Folder::new("id");
    let id = |text: &str| {
        folder.file("a.rtl", text);
        let out = folder.run(&["explain", "halves", "a.rtl"]).out;
        out.split_whitespace().nth(2).map(str::to_string)
    };
    let before = id(CLAIMS);
    assert_eq!(before, id(&CLAIMS.replace("x // 2", "x  //  2")));
    assert_ne!(before, id(&CLAIMS.replace("x // 2", "x // 3")));
    assert_eq!(before, id(&CLAIMS.replace("x + 0 => x", "x => x + 0")));
}

#[test]
fn what_no_claim_is_called_is_an_error() {
    let folder = Folder::new("unknown-claim");
    folder.file("a.rtl", CLAIMS);
    let wrong = folder.run(&["explain", "wrnog", "a.rtl"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("R0816"), "{wrong:?}");
    assert!(wrong.err.contains("did you mean `wrong`?"), "{wrong:?}");
    folder.file("b.rtl", CLAIMS.replace("x[a:] + 1", "x[a:] + 2"));
    let both = folder.run(&["replay", "wrong", "a.rtl", "b.rtl"]);
    assert!(both.code == Some(2) && both.err.contains("R0817"), "{both:?}");
    // The same text says the same.
    assert_eq!(folder.run(&["explain", "right", "a.rtl", "b.rtl"]).code, Some(0));
    let proved = folder.run(&["replay", "right", "a.rtl"]);
    assert!(proved.code == Some(2) && proved.err.contains("R0818"), "{proved:?}");
}

#[test]
fn a_refutation_is_replayed_step_by_step() {
    let folder = Folder::new("replay");
    folder.file("a.rtl", CLAIMS);
    let run = folder.run(&["replay", "halves", "a.rtl"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let lines: Vec<&str> = run.out.lines().collect();
    let expected = [
        "N = 1",
        "x = i32([1])",
        "left:",
        "    x // 2 = i32([0])",
        "  half_of(x) = i32([0])",
        "  half_of(x) + half_of(x) = i32([0])",
    ];
    for line in expected {
        assert!(lines.contains(&line), "{line}: {}", run.out);
    }
    assert!(run.out.contains("value differs at [0]: 0 and 1"), "{}", run.out);
}

#[test]
fn a_refutation_shows_where_the_sides_part_first() {
    let folder = Folder::new("apart");
    let text = "rtl 1.0
fn block[N](x: i32[N]) -> i32[N] { let h = x * 2 return h - x }

#: expect refuted value
decomp by_hand[N](x: i32[N]) -> i32[N] refines block(x) {
  let h = x + 2
  return h - x
}

#: expect refuted value
rule nothing_between[N](x: i32[N]) { x => -x }
";
    folder.file("a.rtl", text);
    for run in
        [&["replay", "by_hand", "a.rtl"][..], &["check", "-v", "a.rtl"], &["explain", "by_hand", "a.rtl"]]
    {
        let run = folder.run(run);
        let lines: Vec<&str> = run.out.lines().map(str::trim).collect();
        let at = lines.iter().position(|line| line.starts_with("first apart: left"));
        let at = at.unwrap_or_else(|| panic!("{}", run.out));
        assert_eq!(lines[at..at + 2], ["first apart: left  x * 2 = i32([0])", "right x + 2 = i32([2])"]);
        assert_eq!(run.out.matches("first apart").count(), 1, "{}", run.out);
    }
    let json = folder.run(&["check", "--format", "json", "a.rtl"]);
    let finished = json.out.lines().filter(|line| line.contains("claim-finished"));
    let apart: Vec<Value> = finished
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"))
        .map(|line| line["counterexample"]["apart"]["left"]["text"].clone())
        .collect();
    assert_eq!(apart.iter().filter(|text| !text.is_null()).collect::<Vec<_>>(), [&Value::from("x * 2")]);
}

#[test]
fn a_refutation_becomes_a_test_that_fails_until_the_claim_is_right() {
    let folder = Folder::new("as-test");
    folder.file("a.rtl", CLAIMS);
    for (name, wrong, right) in
        [("wrong", "let right = x[:a]", "let right = x[a:] + 1"), ("halves", "x + (y - y)", "y + y")]
    {
        let run = folder.run(&["replay", name, "a.rtl", "--as-test"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{name}");
        let text = format!("rtl 1.0\n{}\n{}", &CLAIMS[8..CLAIMS.find("rule").unwrap_or(8)], run.out);
        folder.file("t.rtl", &text);
        let failing = folder.run(&["check", "t.rtl"]);
        assert!(failing.code == Some(1) && failing.err.contains("R0405"), "{text}\n{failing:?}");
        assert!(text.contains(wrong), "{text}");
        folder.file("t.rtl", text.replace(wrong, right));
        let passing = folder.run(&["check", "t.rtl"]);
        assert_eq!(passing.code, Some(0), "{passing:?}");
    }
}

#[test]
fn every_kind_of_counterexample_becomes_a_failing_test() {
    let folder = Folder::new("as-tests");
    let claims = [
        "rule r(x: i64) { x - 1 < x => full([], true) }",
        "rule r(x: f32) { x * 1e-30 / 1e-30 => x }",
        "rule r(x: i8, y: i8) { x + y - y + 1 => x }",
        "rule r(p: bool[]) { logical_not(p) => p }",
        "rule r[N](x: bf16[N]) { x + bf16(0.0) => x }",
        "rule r[N, T: float](x: T[N]) { x - x => zeros([N], T) }",
        "rule r[*S, T: int](x: T[*S]) { [x[*i] for *i in *S] + 1 => x }",
        "rule r[*S](x: f32[*S]) { sum(x, dtype = f32) + 1.0 => sum(x) }",
        "rule r[M, N](x: u8[M, N]) { t(x) => x.reshape([N, M]) }",
        "rule r[N](x: f32[N]) upto close(rtol = 0.0, atol = 0.001) { x * 1.01 => x }",
        "rule r[N](x: f64[N]) upto real { exp(x) => x + 1.0 }",
        "rule r[N](x: f32[N], a: size) requires a <= N { x[a:] => x[:N - a] }",
        "decomp r[N](x: f32[N]) -> f32[N] refines relu(x) { let x = x + 1.0\n return x }",
        "fn two[N](x: f32[N]) -> (f32[N], f32[N]) { return (x, -x) }\nrule r[N](x: f32[N]) { two(x) => two(-x) }",
    ];
    for claim in claims {
        let text = format!("rtl 1.0\n{claim}\n");
        folder.file("a.rtl", &text);
        let run = folder.run(&["replay", "r", "a.rtl", "--as-test"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{claim}");
        folder.file("t.rtl", format!("{text}{}", run.out));
        let failing = folder.run(&["check", "t.rtl", "--tests", "--only", "r_counterexample"]);
        let failed = failing.code == Some(1) && failing.err.contains("R0405");
        assert!(failed, "{claim}\n{}\n{failing:?}", run.out);
    }
}

#[test]
fn types_are_the_same_at_every_stage() {
    let folder = Folder::new("stages");
    // That the index is in range takes a product of sizes.
    let text = fs::read_to_string(root().join("examples/heads.rtl")).expect("an example");
    folder.file("a.rtl", text);
    for stage in [&["check", "a.rtl"][..], &["check", "a.rtl", "--types"], &["check", "a.rtl", "--tests"]] {
        let run = folder.run(stage);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{stage:?}");
    }
}

#[test]
fn an_unreadable_folder_costs_itself_alone() {
    let folder = Folder::new("locked");
    folder.file("a.rtl", "rtl 1.0\nrule r[N](x: i32[N]) { x + 0 => x }\n");
    let run = folder.run(&["check", "a.rtl", "none", "none.rtl"]);
    assert!(run.code == Some(2) && run.out.contains("1 claim: 1 proved; 2 errors"), "{run:?}");
}

#[test]
fn a_directive_about_nothing_is_an_error() {
    let folder = Folder::new("directive");
    let rule = "rule r[N](x: i32[N]) { x + 0 => x }\n";
    for text in [
        format!("{rule}#: expect refuted\n"),
        "rule r[N](x: i32[N]) {\n  #: expect refuted\n  x + 0 => x\n}\n".into(),
    ] {
        folder.file("a.rtl", format!("rtl 1.0\n{text}"));
        let run = folder.run(&["check", "a.rtl"]);
        assert!(run.code == Some(3) && run.err.contains("R0404"), "{text}\n{run:?}");
    }
}

#[test]
fn a_claim_that_does_not_type_is_told_to_programs_too() {
    let folder = Folder::new("untyped");
    folder
        .file("a.rtl", "rtl 1.0\nrule r[N](x: i32[N]) { x + y => x }\nrule s[N](x: i32[N]) { x + 0 => x }\n");
    let run = folder.run(&["check", "a.rtl", "--format", "json"]);
    let lines: Vec<Value> = run.out.lines().map(|l| serde_json::from_str(l).expect("an object")).collect();
    let count = |reason: &str| lines.iter().filter(|line| line["reason"] == reason).count();
    assert_eq!((count("claim-started"), count("claim-finished")), (2, 2), "{}", run.out);
    let last = lines.last().expect("totals");
    assert_eq!((&last["claims"], &last["not_checked"]), (&1.into(), &1.into()));
    let types = folder.run(&["check", "a.rtl", "--types", "--only", "s"]);
    assert!(types.out.contains("1 claim typed"), "{types:?}");
}

#[test]
fn questions_are_written_out_with_the_claim_they_are_about() {
    let folder = Folder::new("dump");
    let text = "rtl 1.0\nrule r[N](x: f32[N], y: f32[N]) upto real { x * (y + y) => x * y + x * y }\n";
    folder.file("a.rtl", text);
    let run = folder.run(&["check", "a.rtl", "--dump", "q", "--stats", "--format", "json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let files: Vec<_> = fs::read_dir(folder.path("q")).expect("the folder is made").flatten().collect();
    let line = run.out.lines().find(|line| line.contains("\"statistics\"")).expect("statistics");
    let counts: Value = serde_json::from_str(line).expect("an object");
    let asked = counts["unsat"].as_u64().unwrap_or(0) + counts["sat"].as_u64().unwrap_or(0);
    assert!(asked > 0 && asked as usize == files.len(), "{line}: {} files", files.len());
    for file in files {
        let text = fs::read_to_string(file.path()).expect("a text");
        assert!(text.starts_with("; r, a.rtl:2\n; rule r[N]"), "{text}");
        assert!(text.contains("(check-sat)"), "{text}");
    }
    let nowhere = folder.run(&["check", "a.rtl", "--dump", "a.rtl"]);
    assert!(nowhere.code == Some(2) && nowhere.err.contains("R08"), "{nowhere:?}");
}

#[test]
fn progress_is_told_plainly_where_asked() {
    let folder = Folder::new("progress");
    folder.file("a.rtl", CLAIMS);
    let plain = folder.run(&["check", "a.rtl", "--progress", "plain"]);
    let lines: Vec<&str> = plain.err.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!("[{}/3] ", number + 1)), "{lines:?}");
    }
    for told in ["right: proved", "wrong: refuted", "halves: refuted"] {
        assert_eq!(lines.iter().filter(|line| line.ends_with(told)).count(), 1, "{lines:?}");
    }
    assert_eq!(folder.run(&["check", "a.rtl"]).err, "", "no bar without a terminal");
}

#[test]
fn claims_of_a_broken_file_are_counted() {
    let folder = Folder::new("broken");
    folder.file("a.rtl", format!("{CLAIMS}\nrule bad[N](x: i32[N]) {{ x + => x }}\n"));
    folder.file("b.rtl", "rtl 1.0\nrule right[N](x: i32[N]) { x + 0 => x }\n");
    let run = folder.run(&["check", "a.rtl", "b.rtl"]);
    assert_eq!(run.code, Some(3));
    assert!(run.out.contains("1 claim: 1 proved; 1 error; 3 claims not checked"), "{}", run.out);
}

#[test]
fn a_function_must_meet_the_preconditions_of_what_it_calls() {
    let folder = Folder::new("calls");
    let callee = "fn root[N](v: f32[N]) -> f32[N] requires all(v >= 0.0) { return sqrt(v) }\n";
    let caller = |requires: &str, value: &str| {
        format!(
            "rtl 1.0\n{callee}fn g[N](v: f32[N], i: i64[N]) -> f32[N] {requires} {{ return root({value}) }}\n"
        )
    };
    let cases = [
        (caller("", "v"), Some(1), "REFUTED  g "),
        (caller("requires all(v >= 0.0)", "v"), Some(0), "proved  g "),
        (caller("requires all(v >= 0.0)", "flip(v, 0)"), Some(0), "proved  g "),
        (caller("requires all(v >= 0.0)", "v[i]"), Some(0), "checked when it is called"),
    ];
    for (text, code, row) in cases {
        folder.file("a.rtl", &text);
        let run = folder.run(&["check", "a.rtl"]);
        assert!(run.code == code && run.out.contains(row), "{text}\n{run:?}");
    }
}

#[test]
fn a_claim_may_ask_for_less_than_a_proof_and_a_run_for_more() {
    let folder = Folder::new("less");
    let law = "rule r[N](x: f32[N]) upto real { exp(log(x)) => x }";
    let wrong = "rule r[N](x: f32[N]) upto real { exp(log(x)) => x + 1.0 }";
    let cases = [
        (format!("@trusted(\"a law\")\n{law}"), "trusted  r ", [0, 4, 0]),
        (format!("@tested\n{law}"), "tested  r ", [0, 4, 0]),
        (law.to_string(), "proved  r ", [0, 0, 0]),
        (format!("@trusted(\"no law\")\n{wrong}"), "REFUTED  r ", [1, 1, 1]),
        (
            "#: expect unknown\nvjp half[N](x: f32[N]) given g { return g }".into(),
            "unknown  half ",
            [0, 4, 4],
        ),
    ];
    for (text, row, codes) in cases {
        folder.file("a.rtl", format!("rtl 1.0\n{text}\n"));
        for (require, code) in [&[][..], &["--require", "proved"], &["--require", "tested"]].iter().zip(codes)
        {
            let run = folder.run(&[&["check", "a.rtl"], *require].concat());
            assert!(run.code == Some(code) && run.out.contains(row), "{text} {require:?}\n{run:?}");
        }
    }
}

#[test]
fn the_claim_of_a_function_is_named_like_any_other() {
    let folder = Folder::new("calls-named");
    let text = "rtl 1.0
op soft[N](v: f32[N]) -> f32[N] requires all(v >= 0.0) { return [v[i] for i in N] }
fn g[N](v: f32[N]) -> f32[N] { return soft(v) }
";
    folder.file("a.rtl", text);
    let run = folder.run(&["check", "a.rtl", "--only", "g", "--format", "json"]);
    let reasons = ["claim-started", "claim-finished"].map(|reason| run.out.matches(reason).count());
    assert_eq!((run.code, reasons), (Some(1), [1, 1]), "{run:?}");
    for verb in ["explain", "replay"] {
        let run = folder.run(&[verb, "g", "a.rtl"]);
        assert!(run.code == Some(0) && run.out.contains("`soft` does not hold"), "{run:?}");
    }
    folder.file("a.rtl", format!("{text}rule r[N](x: f32[N]) {{ x + => x }}\n"));
    let broken = folder.run(&["explain", "g", "a.rtl"]);
    assert!(broken.code == Some(3) && broken.out.is_empty(), "nothing is said of a broken file: {broken:?}");
}

/// A claim whose two sides are large: each `let` uses the one before twice.
fn doubling() -> String {
    let mut text = "rtl 1.0\nrule doubling[N](x: f32[N], y: f32[N])\n  upto real\n".to_string();
    let mut last = ("x".to_string(), "y".to_string());
    for n in 0..24 {
        let (p, q) = &last;
        text.push_str(&format!("  let a{n} = {p} * {p} + {q}\n  let b{n} = {q} + {p} * {p}\n"));
        last = (format!("a{n}"), format!("b{n}"));
    }
    format!("{text}{{\n  {0} + {1} => {1} * sin(x) + {0}\n}}\n", last.0, last.1)
}

#[test]
fn a_time_limit_ends_what_no_solver_does() {
    let folder = Folder::new("timeout");
    folder.file("a.rtl", doubling());
    let run = folder.run(&["check", "a.rtl", "--timeout", "0.5"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.out.contains("timeout"), "{}", run.out);
}

/// A run that is not waited for.
struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    fn start(folder: &Folder, args: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtv"));
        command.args(args).current_dir(folder.path("")).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("rtv starts");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        Running { child, out }
    }

    /// Reads up to a line that holds `text`.
    fn until(&mut self, text: &str) -> String {
        let mut said = String::new();
        while !said.lines().last().is_some_and(|line| line.contains(text)) {
            let before = said.len();
            self.out.read_line(&mut said).expect("rtv writes UTF-8");
            assert!(said.len() > before, "no `{text}` in {said}");
        }
        said
    }

    fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().is_ok_and(|status| status.success()));
    }

    /// The rest of what it says, and how it ends.
    fn end(mut self) -> (String, Option<i32>) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("rtv writes UTF-8");
        (rest, self.child.wait().expect("it ends").code())
    }
}

#[test]
fn an_interrupt_keeps_what_was_found() {
    let folder = Folder::new("interrupt");
    let first = "rule right[N](x: i32[N]) { x + 0 => x }\n";
    folder.file("a.rtl", doubling().replacen('\n', &format!("\n{first}"), 1));
    folder.file("b.rtl", format!("rtl 1.0\n{first}"));
    let mut run = Running::start(&folder, &["check", "a.rtl", "b.rtl", "--jobs", "2", "--format", "json"]);
    // The second claim of the first file has no end in sight.
    run.until("\"doubling\"");
    thread::sleep(Duration::from_millis(300));
    run.interrupt();
    let (rest, code) = run.end();
    let last: Value = serde_json::from_str(rest.lines().last().expect("totals")).expect("an object");
    assert_eq!((code, &last["claims"], &last["not_checked"]), (Some(4), &2.into(), &1.into()), "{rest}");
}

#[test]
fn watching_checks_again_what_changes() {
    let folder = Folder::new("watch");
    folder.file("a.rtl", CLAIMS);
    let mut run = Running::start(&folder, &["check", "a.rtl", "--watch", "--format", "json"]);
    let names = |said: &str| {
        let lines = said.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
        let finished = lines.filter(|line| line["reason"] == "claim-finished");
        finished.map(|line| line["name"].as_str().unwrap_or_default().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&run.until("run-finished")), ["right", "wrong", "halves"]);
    folder.file("a.rtl", CLAIMS.replace("x + 0 => x", "x - 0 => x"));
    assert_eq!(names(&run.until("run-finished")), ["right"]);
    folder.file("a.rtl", CLAIMS.replace("x // 2", "x // 4"));
    assert_eq!(names(&run.until("run-finished")), ["right", "halves"]);
    let before = CLAIMS.replace("x // 2", "x // 4").replace("x + 0 => x", "x + 1 => x");
    folder.file("a.rtl", &before);
    run.until("run-finished");
    folder.file("a.rtl", before.replace("x // 4", "x // 8"));
    // `right` is wrong now, and stays so.
    let said = run.until("run-finished");
    assert_eq!(names(&said), ["halves"]);
    assert!(said.contains("\"still_open\":[\"right\"]"), "{said}");
    run.interrupt();
    assert_eq!(run.end().1, Some(4));
}

#[test]
fn mistakes_in_a_claim_are_told_one_by_one() {
    let folder = Folder::new("mutate");
    folder.file("r.rtl", "rtl 1.0\nrule r[N](x: i32[N]) { x - 1 => x + -1 }\n");
    let run = folder.run(&["mutate", "r", "r.rtl"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(lines.contains(&"   proved  `=>` becomes `<=>`"), "{}", run.out);
    let at = lines.iter().position(|line| *line == "  refuted  `x - 1` becomes `x + 1`").expect(&run.out);
    assert!(lines[at + 1].contains("value differs at [0]"), "{}", run.out);
    let last = lines.last().expect("a line");
    assert!(last.contains(" mistakes: ") && last.contains(" refuted, 1 proved"), "{}", run.out);
}

#[test]
fn proofs_at_some_ranks_are_told_and_prove_no_other() {
    let claims = "rtl 1.0
#: expect unknown
rule last_twice[*S](x: f32[*S]) requires rank(S) >= 1 { flip(flip(x, -1), -1) => x }
";
    let folder = Folder::project("bounded", claims);
    let run = folder.run(&["check", "a.rtl", "--update-ledger"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("unknown") && run.out.contains("proved at ranks 1 to 4"), "{}", run.out);
    let audit = folder.run(&["audit"]).out;
    assert!(audit.contains("    1  proved at some ranks only, else open\n         last_twice"), "{audit}");
}
