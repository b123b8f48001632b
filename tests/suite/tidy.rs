//! What the source tree promises of itself: which crate may use what, file sizes,
//! module headers, names, and the shape of operator files. Reads files only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::folder::root;

/// The crates below the command line, with the crates of the workspace each may use.
const EDGES: [(&str, &[&str]); 6] = [
    ("semantics", &[]),
    ("grammar", &["semantics"]),
    ("smt", &["semantics"]),
    ("egraph", &["semantics"]),
    ("runtime", &["semantics"]),
    ("proofs", &["semantics", "grammar", "smt", "egraph"]),
];

/// Libraries of which the types stay in one place; `src` is the command line.
const HOLDERS: [(&str, &str); 8] = [
    ("z3", "smt/"),
    ("egg", "egraph/"),
    ("wgpu", "runtime/src/gpu"),
    ("lalrpop_util", "grammar/"),
    ("logos", "grammar/"),
    ("safetensors", "runtime/"),
    ("clap", "src/"),
    ("miette", "src/"),
];

/// Where kernels read and write memory that threads share; each use says why it holds.
const UNSAFE: [&str; 2] = ["runtime/src/cpu", "runtime/src/array.rs"];

/// Standard library modules that a crate without IO does not name, and who may.
const OUTSIDE_WORLD: [(&str, &[&str]); 5] = [
    ("std::fs", &["runtime/src/io.rs", "runtime/src/io"]),
    ("std::net", &[]),
    ("std::process", &["smt/src/pool.rs", "smt/src/worker.rs"]),
    // How many threads, and how wide vectors.
    ("std::env", &["runtime/src/cpu/settings.rs"]),
    // The time limit of a claim, and its duration in the report.
    (
        "std::time",
        &[
            "proofs/src/check.rs",
            "proofs/src/deadline.rs",
            "proofs/src/decide.rs",
            "smt/src/pool.rs",
            "smt/src/solver.rs",
        ],
    ),
];

/// The project's own text files, as paths below the root.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(root(), &mut found);
    found.sort();
    assert!(found.len() > 100, "the source tree was found");
    found
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let below = path.strip_prefix(root()).expect("a path below the root").to_path_buf();
        let hidden = below.to_string_lossy().starts_with('.') && !below.starts_with(".ci");
        if hidden || below.starts_with("target") || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, into);
        } else {
            into.push(below);
        }
    }
}

fn with_extension<'f>(files: &'f [PathBuf], extension: &'f str) -> impl Iterator<Item = &'f PathBuf> {
    files.iter().filter(move |f| f.extension().is_some_and(|e| e == extension))
}

fn read(below: &Path) -> String {
    fs::read_to_string(root().join(below)).unwrap_or_else(|why| panic!("{}: {why}", below.display()))
}

/// Code without line comments, string contents left as they are.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(k, line)| (k + 1, line))
}

/// Sources of the crates, unit tests left out.
fn crate_sources(files: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    with_extension(files, "rs").filter(|f| {
        let text = f.to_string_lossy();
        text.contains("src/") && !text.contains("/tests") && !text.starts_with("tests/")
    })
}

/// The text before the unit tests.
fn shipped(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

#[track_caller]
fn none(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

/// Names under `[dependencies]` and its siblings of one manifest.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim_matches(['[', ']']).ends_with("dependencies");
        } else if let (true, Some((name, _))) =
            (inside && !line.starts_with('#'), line.split_once(['=', '.']))
        {
            names.insert(name.trim().to_string());
        }
    }
    names
}

#[test]
fn crates_use_only_the_crates_below_them() {
    let mut wrong = Vec::new();
    for (name, allowed) in EDGES {
        for used in dependencies(&read(Path::new(&format!("{name}/Cargo.toml")))) {
            let ours = used.strip_prefix("rtv-");
            if ours.is_some_and(|ours| !allowed.contains(&ours)) {
                wrong.push(format!("{name} uses {used}"));
            }
            let holder = HOLDERS.iter().find(|(library, _)| library.replace('_', "-") == used);
            if let Some((_, holder)) = holder.filter(|(_, holder)| !holder.starts_with(name)) {
                wrong.push(format!("{name} uses {used}, which only {holder} may"));
            }
        }
    }
    none("edges that architecture forbids", wrong);
}

#[test]
fn types_of_a_library_stay_in_its_crate() {
    let files = files();
    let mut wrong = Vec::new();
    for file in with_extension(&files, "rs").filter(|f| !f.starts_with("tests/suite")) {
        let below = file.to_string_lossy();
        let text = read(file);
        for (library, holder) in HOLDERS {
            let place = format!("{library}::");
            let names = |line: &str| {
                line.match_indices(&place).any(|(at, _)| {
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
                })
            };
            if !below.starts_with(holder) && code_lines(&text).any(|(_, line)| names(line)) {
                wrong.push(format!("{below} names {library}"));
            }
        }
    }
    none("libraries outside their crate", wrong);
}

#[test]
fn crates_below_the_command_line_neither_print_nor_touch_the_world() {
    let files = files();
    let mut wrong = Vec::new();
    for file in crate_sources(&files) {
        let below = file.to_string_lossy();
        let text = read(file);
        // What is left when the reporter itself cannot speak.
        let may_print = ["src/report", "src/cli/mod.rs", "src/bin/rtv-bench.rs"];
        let may_print = may_print.iter().any(|place| below.starts_with(place));
        for (at, line) in code_lines(shipped(&text)) {
            let prints = ["println!(", "print!(", "dbg!("].iter().any(|call| line.contains(call));
            if prints && !may_print {
                wrong.push(format!("{below}:{at} prints"));
            }
            let world = OUTSIDE_WORLD.iter().find(|(module, _)| line.contains(module));
            if let Some((module, may)) = world.filter(|_| !below.starts_with("src/"))
                && !may.iter().any(|place| file.starts_with(place))
            {
                wrong.push(format!("{below}:{at} uses {module}"));
            }
        }
    }
    none("printing, clocks, files and processes outside their place", wrong);
}

#[test]
fn files_are_short() {
    let files = files();
    let sources = ["rs", "rtl", "lalrpop"].into_iter().flat_map(|e| with_extension(&files, e));
    let mut by_kind: BTreeMap<bool, Vec<(usize, &PathBuf)>> = BTreeMap::new();
    for file in sources {
        let rust = file.extension().is_some_and(|e| e == "rs");
        by_kind.entry(rust).or_default().push((read(file).lines().count(), file));
    }
    for lengths in by_kind.values_mut() {
        lengths.sort();
        let at = |share: usize| lengths[(lengths.len() - 1) * share / 100];
        assert!(at(50).0 <= 250, "half of the files have at most 250 lines: {:?}", at(50));
        assert!(at(90).0 <= 700, "nine of ten files have at most 700 lines: {:?}", at(90));
        assert!(at(100).0 <= 1000, "no file has more than 1000 lines: {:?}", at(100));
    }
}

#[test]
fn every_module_says_what_it_is() {
    let files = files();
    let silent = with_extension(&files, "rs").filter(|f| !read(f).starts_with("//! "));
    none("no `//!` header", silent.map(|f| f.display().to_string()).collect());
}

#[test]
fn names_say_what_is_inside() {
    let vague = ["utils", "util", "common", "helpers", "helper", "manager"];
    let files = files();
    let named = files.iter().filter(|f| {
        f.iter().any(|part| vague.contains(&part.to_string_lossy().split('.').next().unwrap_or_default()))
    });
    none("names that say nothing", named.map(|f| f.display().to_string()).collect());
}

#[test]
fn nothing_is_silenced_or_left_undone() {
    let files = files();
    let marks =
        ["#[allow(", "#![allow(", "todo!(", "unimplemented!(", ".unwrap()", "unsafe {", "unsafe impl"];
    let mut wrong = Vec::new();
    for file in crate_sources(&files) {
        let text = read(file);
        for (at, line) in code_lines(shipped(&text)) {
            let kernels = UNSAFE.iter().any(|place| file.starts_with(place));
            let here = |mark: &&&str| line.contains(**mark) && !(kernels && mark.starts_with("unsafe"));
            for mark in marks.iter().filter(here) {
                wrong.push(format!("{}:{at} has `{mark}`", file.display()));
            }
        }
    }
    none("lints silenced, gaps, unchecked unwraps, unsafe code", wrong);
}

#[test]
fn no_text_names_a_machine() {
    let places = [
        concat!("/wo", "rk/"),
        concat!("/tm", "p/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!("../sha", "red"),
    ];
    let files = files();
    let mut wrong = Vec::new();
    for file in files.iter().filter(|f| !f.starts_with("tests/golden")) {
        let bytes = fs::read(root().join(file)).expect("a readable file");
        let Ok(text) = String::from_utf8(bytes) else { continue };
        for (at, line) in text.lines().enumerate() {
            if places.iter().any(|place| line.contains(place)) {
                wrong.push(format!("{}:{}", file.display(), at + 1));
            }
        }
    }
    none("paths of one machine", wrong);
}

#[test]
fn an_operator_file_holds_one_documented_tested_operator() {
    let files = files();
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in with_extension(&files, "rtl").filter(|f| f.starts_with("semantics/ops")) {
        count += 1;
        let below = file.display();
        let text = read(file);
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let operators: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("op "))
            .map(|rest| rest.split(['[', '(']).next().unwrap_or(rest).trim())
            .collect();
        if operators.iter().ne([&&*stem]) {
            wrong.push(format!("{below} defines {operators:?}"));
        }
        if file.iter().count() != 4 {
            wrong.push(format!("{below} is not in semantics/ops/GROUP"));
        }
        if !text.starts_with("rtl 1.0\n") {
            wrong.push(format!("{below} has no version line"));
        }
        let before = text.split("\nop ").next().unwrap_or_default();
        if !before.lines().any(|line| line.starts_with("## ")) {
            wrong.push(format!("{below} has no `##` line before its operator"));
        }
        if !text.lines().any(|line| line.starts_with("test ")) {
            wrong.push(format!("{below} has no test"));
        }
    }
    assert!(count >= 90, "{count} operators");
    none("operator files", wrong);
}

#[test]
fn the_core_has_at_most_twelve_forms() {
    let text = read(Path::new("semantics/src/term.rs"));
    let body = text.split("pub enum Form {").nth(1).expect("the forms of the core");
    let body = body.split("\n}").next().unwrap_or(body);
    let forms =
        body.lines().filter(|line| line.starts_with("    ") && line.trim().starts_with(char::is_uppercase));
    assert!((1..=12).contains(&forms.count()), "{body}");
}

#[test]
fn every_dependency_states_its_reason() {
    let decisions = read(Path::new("docs/decisions.md"));
    let files = files();
    let used = files.iter().filter(|f| f.ends_with("Cargo.toml")).flat_map(|f| dependencies(&read(f)));
    let silent: BTreeSet<String> =
        used.filter(|name| !name.starts_with("rtv-") && !decisions.contains(&format!("`{name}`"))).collect();
    none("dependencies without a reason in docs/decisions.md", silent.into_iter().collect());
}

#[test]
fn the_readme_names_the_commands_that_are_checked() {
    let (readme, script) = (read(Path::new("README.md")), read(Path::new(".ci/run")));
    for command in ["cargo run --release -- check examples", "cargo test --workspace --release"] {
        assert!(readme.contains(command), "README.md has `{command}`");
        assert!(script.contains(command), ".ci/run has `{command}`");
    }
}
