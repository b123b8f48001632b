//! Verdicts that are kept between runs of a project.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rtv_semantics::sample::Sampler;
use serde_json::Value;
use sha3::{Digest, Sha3_256};

use crate::folder::Folder;

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
rule halves[N](x: i32[N]) { half_of(x) + half_of(x) => x }

#: expect unknown
rule open[N](x: f32[N]) upto real {
  log(1 + exp(x)) => maximum(x, 0) + log1p(exp(-abs(x)))
}

test sums { assert sum([1, 2]) == 3 }
";

fn project(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("rtv.toml", "");
    folder.file("a.rtl", CLAIMS);
    folder
}

/// Verdict and provenance of each claim.
fn checked(folder: &Folder, flags: &[&str]) -> Vec<[String; 3]> {
    let run = folder.run(&[&["check", "a.rtl", "--format", "json"], flags].concat());
    let lines = run.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object a line"));
    let finished = lines.filter(|line| line["reason"] == "claim-finished");
    let fields = |line: Value| {
        ["name", "verdict", "from"].map(|field| line[field].as_str().unwrap_or_default().to_string())
    };
    finished.map(fields).collect()
}

/// Where the verdict of one claim is from, and what it is.
fn of(found: &[[String; 3]], name: &str) -> [String; 2] {
    let [_, verdict, from] = found.iter().find(|[claim, ..]| claim == name).expect("a verdict");
    [verdict.clone(), from.clone()]
}

fn entries(folder: &Folder) -> BTreeSet<String> {
    let files = fs::read_dir(folder.path(".rtv/cache")).into_iter().flatten();
    let names = files.map(|file| file.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.contains('.')).collect()
}

/// The JSON of the entry of a claim, and the file it is in.
fn entry(folder: &Folder, name: &str) -> (String, Value) {
    let read = |key: String| {
        let text = fs::read_to_string(folder.path(&format!(".rtv/cache/{key}"))).expect("an entry");
        (key, serde_json::from_str(text.split_once('\n').expect("two lines").1).expect("JSON"))
    };
    entries(folder)
        .into_iter()
        .map(read)
        .find(|(_, json): &(_, Value)| json["claim"]["name"] == name)
        .expect(name)
}

/// Writes an entry as rtv would.
fn write_entry(folder: &Folder, key: &str, json: &Value) {
    let text = json.to_string();
    folder.file(&format!(".rtv/cache/{key}"), format!("rtv cache 1 {}\n{text}", checksum(&text)));
}

fn checksum(text: &str) -> String {
    Sha3_256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_second_run_decides_nothing_and_says_the_same() {
    let folder = project("cache-second");
    let runs = [(); 2].map(|()| folder.run(&["check", "a.rtl", "-v", "--stats"]));
    assert_eq!(runs[0].code, Some(0), "{:?}", runs[0]);
    let claims = |text: &str| text.split("\n\n").next().unwrap_or_default().to_string();
    assert_eq!(claims(&runs[0].out), claims(&runs[1].out));
    assert!(runs[1].out.contains("   (5 from cache)   "), "{}", runs[1].out);
    assert!(runs[1].out.contains("\n  0 questions to the solver"), "{}", runs[1].out);
    assert!(!runs[0].out.contains("from cache"), "{}", runs[0].out);
}

#[test]
fn what_a_claim_rests_on_makes_it_new() {
    let folder = project("cache-stale");
    checked(&folder, &[]);
    folder.file("a.rtl", CLAIMS.replace("x // 2", "x").replace("half_of(x) + half_of(x)", "half_of(x) + 0"));
    let found = checked(&folder, &[]);
    assert_eq!(of(&found, "halves"), ["proved", "decided"]);
    assert_eq!(of(&found, "right"), ["proved", "cache"]);
    // Layout and expectations are no part of it.
    folder.file(
        "a.rtl",
        CLAIMS.replace("{ x + 0 => x }", "{\n  x + 0\n  => x\n}").replace("refuted", "proved"),
    );
    let found = checked(&folder, &[]);
    assert_eq!(of(&found, "right"), ["proved", "cache"]);
    assert_eq!(of(&found, "wrong"), ["refuted", "cache"]);
    assert_eq!(folder.run(&["check", "a.rtl"]).code, Some(1));
}

#[test]
fn a_function_that_hides_an_operator_is_rested_on_by_its_sign() {
    let folder = project("cache-hides");
    let text = "rtl 1.0\nfn add(x: i32[], y: i32[]) -> i32[] { return x - y }\nrule r(x: i32[]) { x + x => x - x }\n";
    folder.file("a.rtl", text);
    assert_eq!(of(&checked(&folder, &[]), "r"), ["proved", "decided"]);
    folder.file("a.rtl", text.replace("return x - y", "return x * y"));
    assert_eq!(of(&checked(&folder, &[]), "r"), ["refuted", "decided"]);
}

#[test]
fn an_open_verdict_is_not_served_to_more_effort() {
    let folder = project("cache-effort");
    let open = |flags: &[&str]| of(&checked(&folder, flags), "open");
    assert_eq!(open(&["--samples", "20"]), ["unknown", "decided"]);
    assert_eq!(open(&["--samples", "20"]), ["unknown", "cache"]);
    assert_eq!(open(&["--samples", "10", "--timeout", "50"]), ["unknown", "cache"]);
    for raised in [["--samples", "30"], ["--timeout", "70"], ["--memory", "4096"], ["--seed", "1"]] {
        let other = folder.run(&["cache", "--clear"]);
        assert_eq!(other.code, Some(0), "{other:?}");
        assert_eq!(open(&["--samples", "20"]), ["unknown", "decided"]);
        let flags = if raised[0] == "--samples" {
            raised.to_vec()
        } else {
            [&raised[..], &["--samples", "20"]].concat()
        };
        assert_eq!(open(&flags), ["unknown", "decided"], "{raised:?}");
    }
}

#[test]
fn a_refutation_is_run_again_before_it_is_believed() {
    let folder = project("cache-replay");
    checked(&folder, &[]);
    let (key, whole) = entry(&folder, "halves");
    // An input on which the sides agree.
    let mut other = whole.clone();
    let tensor = &mut other["claim"]["witness"]["tensors"][0][1];
    let zeros = "0".repeat(tensor["bytes"].as_str().expect("digits").len());
    tensor["bytes"] = zeros.into();
    write_entry(&folder, &key, &other);
    assert_eq!(of(&checked(&folder, &[]), "halves"), ["refuted", "decided"]);
    write_entry(&folder, &key, &whole);
    assert_eq!(of(&checked(&folder, &[]), "halves"), ["refuted", "cache"]);
    // A refutation of what is right.
    let (key, mut right) = entry(&folder, "right");
    let mut claim = whole["claim"].clone();
    claim["name"] = "right".into();
    right["claim"] = claim;
    write_entry(&folder, &key, &right);
    assert_eq!(of(&checked(&folder, &[]), "right"), ["proved", "decided"]);
    // No input at all, and inputs that are none of the claim's.
    for (field, value) in [("sizes", "[]"), ("dtypes", r#"[["T","f32"]]"#), ("tensors", "[]")] {
        let mut other = whole.clone();
        other["claim"]["witness"][field] = serde_json::from_str(value).expect("JSON");
        write_entry(&folder, &entry(&folder, "halves").0, &other);
        assert_eq!(of(&checked(&folder, &[]), "halves"), ["refuted", "decided"], "{field}");
    }
}

#[test]
fn damaged_entries_are_decided_again() {
    let folder = project("cache-damage");
    checked(&folder, &[]);
    let (key, _) = entry(&folder, "right");
    let path = folder.path(&format!(".rtv/cache/{key}"));
    let whole = fs::read(&path).expect("an entry");
    let flipped = (0..whole.len()).step_by(whole.len() / 12).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        bytes
    });
    for damaged in flipped.chain([Vec::new(), whole[..whole.len() / 2].to_vec(), b"\xff\xfe\0".to_vec()]) {
        fs::write(&path, damaged).expect("a file of the test");
        assert_eq!(of(&checked(&folder, &["--only", "right"]), "right"), ["proved", "decided"]);
        assert_eq!(fs::read(&path).expect("written again").len(), whole.len());
    }
}

#[test]
fn outside_of_projects_and_where_it_is_not_wanted_nothing_is_kept() {
    let folder = project("cache-none");
    checked(&folder, &["--no-cache"]);
    checked(&folder, &["--tests"]);
    checked(&folder, &["--types"]);
    assert!(!folder.path(".rtv").exists());
    checked(&folder, &[]);
    assert_eq!(of(&checked(&folder, &["--no-cache"]), "right"), ["proved", "decided"]);
    let outside = Folder::new("cache-outside");
    outside.file("a.rtl", CLAIMS);
    checked(&outside, &[]);
    let files: Vec<_> = fs::read_dir(outside.path("")).expect("a folder").collect();
    assert_eq!(files.len(), 1, "{files:?}");
}

#[test]
fn the_cache_says_what_it_holds_and_is_removed() {
    let folder = project("cache-verb");
    let empty = folder.run(&["cache"]);
    assert_eq!((empty.code, empty.out.contains("entries  0")), (Some(0), true), "{empty:?}");
    checked(&folder, &[]);
    let count = entries(&folder).len();
    let held = folder.run(&["cache"]);
    assert!(held.out.contains(&format!("entries  {count}\n")) && count >= 5, "{held:?}");
    assert_eq!(folder.run(&["cache", "--clear"]).out, format!("removed {count} entries\n"));
    assert!(entries(&folder).is_empty());
    assert_eq!(Folder::new("cache-verb-outside").run(&["cache"]).code, Some(2));
}

/// Claims that take a while together.
fn many() -> String {
    let rule = |n: usize| {
        format!(
            "rule r{n}[N, *S, T: num](x: T[N, *S], y: T[N, *S]) {{ flip(x, 0) * {n} + y * {n} => (flip(x, 0)) * {n} + y * {n} }}\n"
        )
    };
    format!("rtl 1.0\n{}", (1..=24).map(rule).collect::<String>())
}

#[test]
fn writers_that_are_killed_lose_nothing_and_leave_nothing_wrong() {
    let folder = project("cache-killed");
    folder.file("a.rtl", many());
    let writer = || -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtv"));
        command.args(["check", "a.rtl", "-q", "--jobs", "2"]).current_dir(folder.path(""));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("rtv starts")
    };
    let mut random = Sampler::new(7);
    let mut before = BTreeSet::new();
    for round in 0..12 {
        let mut writers = [(); 3].map(|()| writer());
        for child in &mut writers {
            thread::sleep(Duration::from_millis(random.integer(10, 120 + 20 * round) as u64));
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
        let now = entries(&folder);
        assert!(before.is_subset(&now), "round {round} lost {:?}", before.difference(&now));
        for key in &now {
            let text = fs::read_to_string(folder.path(&format!(".rtv/cache/{key}"))).expect("an entry");
            let (head, json) = text.split_once('\n').expect("a whole entry");
            assert_eq!(head, format!("rtv cache 1 {}", checksum(json)), "round {round}");
        }
        before = now;
    }
    let found = checked(&folder, &[]);
    assert_eq!(found.len(), 24);
    assert!(found.iter().all(|[_, verdict, _]| verdict == "proved"), "{found:?}");
    let kept = found.iter().filter(|[.., from]| from == "cache").count();
    assert_eq!(kept, before.len(), "what was committed is used");
    assert!(kept >= 1, "no writer got as far as one claim");
    assert!(checked(&folder, &[]).iter().all(|[.., from]| from == "cache"));
}
