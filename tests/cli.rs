//! The program as a whole: exit codes, what goes to which stream, files in and out.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rtv_runtime::io;
use rtv_semantics::dtype::DType;
use rtv_semantics::tensor::Tensor;

/// A folder of its own for one test, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("rtv-cli-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        Folder(folder)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), text).expect("a file for the test");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtv"));
        command.args(args).current_dir(&self.0);
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().expect("rtv starts"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing depends on the folder's removal.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug)]
struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("rtv writes UTF-8");
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

const PROGRAM: &str = "rtl 1.0
fn scaled[N, D](x: f32[N, D], w: f32[D], by: size) -> (f32[N, D], f32[N]) {
  return (x * w, sum(x * w, dim = 1) * f32(by))
}
";

#[test]
fn every_verdict_has_its_exit_code() {
    let folder = Folder::new("exit");
    let proved = "rule add_zero[N](x: i32[N]) { x + 0 => x }\n";
    let refuted = "rule add_one[N](x: i32[N]) { x + 1 => x }\n";
    let expected = format!("#: expect refuted value\n{refuted}");
    let cases = [
        (proved, 0),
        (&expected, 0),
        (refuted, 1),
        ("test wrong { assert 1 + 1 == 3 }\n", 1),
        ("rule broken[N](x: i32[N]) { x + => x }\n", 3),
        ("fn untyped[N](x: i32[N]) -> i32[N] { return y }\n", 3),
        ("rule f[N](x: i32[N]) { x + 1 => x }\nfn g() { return }\n", 3),
    ];
    for (text, code) in cases {
        folder.file("t.rtl", format!("rtl 1.0\n{text}"));
        let run = folder.run(&["check", "t.rtl"]);
        assert_eq!(run.code, Some(code), "{text}\n{}{}", run.out, run.err);
    }
    folder.file("t.rtl", format!("rtl 1.0\n{refuted}"));
    let both = folder.run(&["check", "t.rtl", "missing.rtl"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn bad_command_lines_end_with_2_and_say_why() {
    let folder = Folder::new("usage");
    folder.file("p.rtl", PROGRAM);
    folder.file("x.txt", "1");
    let cases: [(&[&str], &str); 14] = [
        (&["chekc"], "'check'"),
        (&["check", "--sample", "3"], "'--samples'"),
        (&["check", "--timeout", "x"], "number of seconds"),
        (&["check", "missing.rtl"], "R0801"),
        (&["check", "p.rtl", "--only", "nothing"], "R0815"),
        (&["fmt", "missing.rtl"], "R0801"),
        (&["explain", "R9999"], "R0812"),
        (&["ops", "sofmtax"], "`softmax`"),
        (&["run", "p.rtl", "scaeld"], "`scaled`"),
        (&["run", "p.rtl", "scaled"], "`w: f32[D]` has no argument"),
        (&["run", "p.rtl", "scaled", "--arg", "v=3"], "no parameter `v`"),
        (&["run", "p.rtl", "scaled", "--arg", "w=x.txt"], "R0808"),
        (&["run", "p.rtl", "scaled", "--arg", "w=x.npz:k"], "R0801"),
        (&["run", "p.rtl", "scaled", "--arg", "x=[[1.0]"], "`]` is missing"),
    ];
    for (args, said) in cases {
        let run = folder.run(args);
        assert_eq!(run.code, Some(2), "{args:?} {run:?}");
        assert!(run.err.contains(said), "{args:?}: {}", run.err);
    }
    fs::create_dir_all(folder.0.join("empty")).expect("folder");
    assert!(folder.run(&["check", "empty"]).err.contains("R0810"));
}

#[test]
fn a_run_takes_and_gives_tensor_files() {
    let folder = Folder::new("run");
    folder.file("p.rtl", PROGRAM);
    let x = Tensor::from_f64(DType::F32, &[2, 2], &[1.0, 2.0, 3.0, 4.0]).expect("tensor");
    let w = Tensor::from_f64(DType::F32, &[2], &[0.5, -1.0]).expect("tensor");
    io::write(&folder.0.join("x.npy"), &[("x", &x)]).expect("written");
    io::write(&folder.0.join("w.safetensors"), &[("w", &w), ("x", &x)]).expect("written");
    let given = ["--arg", "x=x.npy", "--arg", "w=w.safetensors:w", "--arg", "by=2"];
    let run = folder.run(&[&["run", "p.rtl", "scaled"], &given[..]].concat());
    let expected = "(tensor([[ 0.5000, -2.0000],\n        [ 1.5000, -4.0000]]), tensor([-3., -5.]))\n";
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), expected, ""));
    for out in ["y.npz", "y.safetensors"] {
        let run = folder.run(&[&["run", "p.rtl", "scaled", "--out", out], &given[..]].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{run:?}");
        let sums = io::read(&folder.0.join(out), Some("out1")).expect("read");
        let expected = Tensor::from_f64(DType::F32, &[2], &[-3.0, -5.0]).expect("tensor");
        assert_eq!(sums.same(&expected), Some(true), "{sums}");
    }
    let two = folder.run(&[&["run", "p.rtl", "scaled", "--out", "y.npy"], &given[..]].concat());
    assert_eq!(two.code, Some(2), "{two:?}");
}

#[test]
fn random_arguments_repeat() {
    let folder = Folder::new("random");
    folder.file("p.rtl", PROGRAM);
    let run = |args: [&str; 3], seed: &str| {
        let flags = args.iter().flat_map(|arg| ["--arg", arg]).collect::<Vec<_>>();
        let run = folder.run(&[&["run", "p.rtl", "scaled", "--seed", seed], &flags[..]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        run.out
    };
    let first = run(["x=randn(2, 3)", "w=uniform(3)", "by=1"], "5");
    assert_eq!(first, run(["by=1", "w=uniform(3)", "x=randn(2, 3)"], "5"));
    assert_ne!(first, run(["x=randn(2, 3)", "w=uniform(3)", "by=1"], "6"));
    let named = run(["x=randn(2, 3):7", "w=uniform(3):1", "by=1"], "5");
    assert_eq!(named, run(["x=randn(2, 3):7", "w=uniform(3):1", "by=1"], "6"));
}

#[test]
fn json_is_one_object_a_line() {
    let folder = Folder::new("json");
    let text = "rtl 1.0\nrule zero[N](x: i32[N]) { x + 0 => x }\nrule one[N](x: i32[N]) { x + 1 => x }\n";
    folder.file("t.rtl", text);
    folder.file("u.rtl", "rtl 1.0\nrule broken {\n");
    let run = folder.run(&["check", ".", "--format", "json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(3), ""));
    let lines: Vec<serde_json::Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let reasons: Vec<&str> = lines.iter().filter_map(|line| line["reason"].as_str()).collect();
    assert_eq!((reasons.first(), reasons.last()), (Some(&"run-started"), Some(&"run-finished")));
    let verdict = |name: &str| {
        let of_name = |l: &&serde_json::Value| l["reason"] == "claim-finished" && l["name"] == name;
        let line = lines.iter().find(of_name).expect("finished");
        (line["verdict"].clone(), line["range"]["line"].clone(), line["counterexample"].is_object())
    };
    assert_eq!(verdict("zero"), ("proved".into(), 2.into(), false));
    assert_eq!(verdict("one"), ("refuted".into(), 3.into(), true));
    let diagnostic = lines.iter().find(|l| l["reason"] == "diagnostic").expect("a diagnostic");
    assert_eq!(diagnostic["file"], "u.rtl");
}

#[test]
fn formatting_is_stable_and_refuses_what_does_not_parse() {
    let folder = Folder::new("fmt");
    let rough = "rtl 1.0\nfn f[N](x: f32[N]) -> f32[N] {\n      return   x+1.0 # one more\n}\n";
    folder.file("a.rtl", rough);
    assert_eq!(folder.run(&["fmt", "--check", "a.rtl"]).code, Some(1));
    assert_eq!(fs::read_to_string(folder.0.join("a.rtl")).expect("text"), rough);
    assert_eq!(folder.run(&["fmt", "a.rtl"]).code, Some(0));
    assert_eq!(folder.run(&["fmt", "--check", "a.rtl"]).code, Some(0));
    let formatted = fs::read_to_string(folder.0.join("a.rtl")).expect("text");
    assert!(formatted.contains("return x + 1.0") && formatted.contains("# one more"));
    folder.file("b.rtl", "rtl 1.0\nfn f( {\n");
    let run = folder.run(&["fmt", "b.rtl"]);
    assert_eq!(run.code, Some(3));
    assert!(run.err.contains("b.rtl:2:"), "{}", run.err);

    let mut child = folder
        .command(&["fmt", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rtv starts");
    child.stdin.take().expect("piped").write_all(rough.as_bytes()).expect("written");
    let run = Run::from(child.wait_with_output().expect("rtv ends"));
    assert_eq!((run.code, run.out), (Some(0), formatted));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new("pipe");
    let mut child =
        folder.command(&["ops"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    let run = Run::from(child.wait_with_output().expect("rtv ends"));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn hostile_text_is_one_short_diagnostic() {
    let folder = Folder::new("hostile");
    let cases: [(&str, Vec<u8>); 7] = [
        ("nested", "(".repeat(1_000_000).into_bytes()),
        ("sum", "x + ".repeat(1_000_000).into_bytes()),
        ("literal", vec![b'7'; 15 << 20]),
        ("large", vec![b' '; 17 << 20]),
        ("bytes", vec![0xff; 1000]),
        ("nul", b"rtl 1.0\nfn f\0() {}\n".to_vec()),
        ("escape", b"rtl 1.0\n# \x1b[2J\n".to_vec()),
    ];
    for (name, text) in cases {
        folder.file("h.rtl", [b"rtl 1.0\nconst a: f32 = ".as_slice(), &text].concat());
        for verb in ["check", "fmt"] {
            let run = folder.run(&[verb, "h.rtl"]);
            assert_eq!(run.code, Some(3), "{name}: {run:?}");
            let codes = run.err.lines().filter(|line| line.starts_with("R0")).count();
            assert!(codes == 1 && run.err.len() < 4000, "{name}: {codes} {}", run.err.len());
            assert!(!run.err.contains('\u{1b}') && !run.err.contains('\0'), "{name}");
        }
    }
}

#[test]
fn info_and_ops_and_explain_answer() {
    let folder = Folder::new("answers");
    let info = folder.run(&["info"]);
    assert!(info.code == Some(0) && info.out.contains("self-test passed"), "{info:?}");
    let ops = folder.run(&["ops", "softmax"]);
    assert!(ops.out.contains("softmax[") && ops.out.contains("-> "), "{}", ops.out);
    assert_eq!(folder.run(&["explain"]).code, Some(0));
    assert_eq!(folder.run(&["--version"]).out.trim(), format!("rtv {}", env!("CARGO_PKG_VERSION")));
}
