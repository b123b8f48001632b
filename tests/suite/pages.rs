//! The pages of the error codes and the snippets of the documentation: every code has a
//! page, every failing program fails as its page says, everything else checks.
//!
//! With `RTV_BLESS=1` the outputs that pages show and the index of the pages are written
//! instead of compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use crate::files::checker;
use crate::folder::{Folder, files_below, root};
use rtv_proofs::{Checker, ClaimResult, Module};
use rtv_semantics::diag::{Code, Diagnostic, FileId};

/// Codes whose page has no program: no text of a user leads there.
const WITHOUT_PROGRAM: [u16; 13] = [211, 301, 501, 606, 708, 710, 711, 712, 721, 723, 798, 799, 825];

const INDEX: &str = "docs/errors.md";

/// Characters of a line of output that a page shows.
const LONGEST_LINE: usize = 120;

fn blesses() -> bool {
    std::env::var_os("RTV_BLESS").is_some_and(|v| v == "1")
}

/// A page of `semantics/errors/`.
struct Page {
    code: Code,
    title: String,
    text: String,
}

impl Page {
    /// The text of `## NAME`.
    fn section(&self, name: &str) -> Option<&str> {
        let begin = self.text.split_once(&format!("\n## {name}\n"))?.1;
        Some(begin.split("\n## ").next().unwrap_or(begin))
    }

    /// The only block of a section, if it is of this kind.
    fn block(&self, section: &str, kind: &str) -> Option<String> {
        blocks(self.section(section)?, kind).pop()
    }
}

/// The fenced blocks of one kind.
fn blocks(text: &str, kind: &str) -> Vec<String> {
    let open = format!("```{kind}\n");
    let body = |part: &str| part.split("\n```").next().map(|body| format!("{body}\n"));
    text.split(&open).skip(1).filter_map(body).collect()
}

fn pages() -> Vec<Page> {
    let found = files_below(&root().join("semantics/errors"), ".md");
    let page = |path: &PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(path).expect("a page is UTF-8");
        let number = name.strip_prefix('R').filter(|digits| digits.len() == 4).and_then(|n| n.parse().ok());
        let code = Code(number.unwrap_or_else(|| panic!("{name}.md is named by its code")));
        let first = text.lines().next().unwrap_or_default();
        let title = first.strip_prefix(&format!("# {name}: ")).map(str::to_string);
        let title = title.unwrap_or_else(|| panic!("{name}.md starts with `# {name}: TITLE`"));
        Page { code, title, text }
    };
    found.iter().map(page).collect()
}

/// What checking a program says: its diagnostics and claims.
struct Said {
    diagnostics: Vec<Diagnostic>,
    claims: Vec<ClaimResult>,
}

impl Said {
    fn has(&self, code: Code) -> bool {
        self.diagnostics.iter().any(|d| d.code == code) || self.claims.iter().any(|c| c.code == Some(code))
    }

    /// What is not as it should be.
    fn faults(&self) -> Vec<String> {
        let diagnostics = self.diagnostics.iter().map(|d| format!("{}: {}", d.code, d.message));
        let other = self.claims.iter().filter(|c| c.verdict != c.expected.verdict);
        diagnostics.chain(other.map(|c| format!("{} is {}: {}", c.name, c.verdict.name(), c.note))).collect()
    }
}

fn check(checker: &Checker, program: &str) -> Said {
    let parsed = rtv_grammar::parse(FileId(0), program);
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return Said { diagnostics: parsed.diagnostics, claims: Vec::new() };
    }
    let mut diagnostics = parsed.diagnostics.clone();
    let (module, found) = Module::new(FileId(0), parsed);
    diagnostics.extend(found);
    let outcome = checker.check(&module);
    diagnostics.extend(outcome.diagnostics);
    Said { diagnostics, claims: outcome.claims }
}

/// Runs `f` with a checker, on a stack as large as the program's own.
fn with_checker(f: impl FnOnce(&Checker) -> Vec<String> + Send + 'static) {
    let work = || f(&checker());
    let thread = thread::Builder::new().stack_size(256 << 20).spawn(work).expect("a thread");
    let wrong = thread.join().expect("checking does not panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_of_a_page_fail_and_check_as_it_says() {
    with_checker(|checker| {
        let mut wrong = Vec::new();
        for page in pages() {
            let (Some(bad), Some(good)) = (page.block("Failing", "rtl"), page.block("Fixed", "rtl")) else {
                continue;
            };
            let said = check(checker, &bad);
            if !said.has(page.code) {
                wrong.push(format!("{}: the failing program gives {:?}", page.code, said.faults()));
            }
            let faults = check(checker, &good).faults();
            wrong.extend(faults.iter().map(|fault| format!("{}: fixed: {fault}", page.code)));
        }
        wrong
    });
}

/// The answer of a shell script in a folder where `rtv` is the program.
fn shell(script: &str, folder: &Folder) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_rtv")).parent().expect("a folder").display().to_string();
    let path = std::env::var("PATH").map_or(program.clone(), |path| format!("{program}:{path}"));
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(folder.path("")).env("PATH", path).env("NO_COLOR", "1");
    command.output().expect("a shell")
}

/// What a run says without its summary, which tells the time it took; long lines are cut.
fn shown(output: &Output) -> String {
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let summary =
        |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit()) && line.contains(" claim");
    let cut = |line: &str| match line.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => format!("{} ..", line[..at].trim_end()),
        None => line.to_string(),
    };
    let results: Vec<&str> = out.lines().filter(|line| !summary(line)).collect();
    let parts = [err.trim_end(), results.join("\n").trim_matches('\n')].map(str::to_string);
    let text: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    text.join("\n\n").lines().map(cut).map(|line| line + "\n").collect()
}

#[test]
fn the_output_of_a_page_is_what_is_printed() {
    let mut wrong = Vec::new();
    for page in pages() {
        let code = page.code.to_string();
        let folder = Folder::new(&format!("pages-{code}"));
        let (program, script) = (page.block("Failing", "rtl"), page.block("Failing", "sh"));
        let output = match (program, script) {
            (Some(program), _) => {
                folder.file("bad.rtl", program);
                shell("rtv check bad.rtl", &folder)
            }
            (None, Some(script)) => shell(&script, &folder),
            (None, None) => continue,
        };
        let found = shown(&output);
        assert!(found.contains(&code), "{code}: {found}");
        let written = page.block("Output", "text").unwrap_or_default();
        if found != written && blesses() {
            let new = page.text.replace(&format!("```text\n{written}```"), &format!("```text\n{found}```"));
            fs::write(root().join(format!("semantics/errors/{code}.md")), new).expect("the page is written");
        } else if found != written {
            wrong.push(format!("{code} prints\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "run the tests with RTV_BLESS=1 to write this:\n{}", wrong.join("\n"));
}

#[test]
fn the_fixed_commands_of_a_page_succeed() {
    for page in pages() {
        let Some(script) = page.block("Fixed", "sh") else { continue };
        let output = shell(&script, &Folder::new(&format!("pages-{}-fixed", page.code)));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && text.is_empty(), "{}: {text}", page.code);
    }
}

#[test]
fn every_page_is_complete() {
    for page in pages() {
        let (code, shown) = (page.code, page.text.len());
        let head = page.text.split("\n## ").next().unwrap_or_default();
        let lines = head.lines().skip(1).filter(|line| !line.is_empty()).count();
        assert!((1..=6).contains(&lines), "{code}: the meaning has {lines} lines");
        assert!(shown < 6000, "{code}: {shown} bytes");
        let programs = ["rtl", "sh"]
            .iter()
            .filter(|kind| ["Failing", "Fixed"].iter().all(|section| page.block(section, kind).is_some()));
        let expected = usize::from(!WITHOUT_PROGRAM.contains(&code.0));
        assert_eq!(programs.count(), expected, "{code}: a failing and a fixed program");
        assert_eq!(
            expected == 1,
            page.section("Output").is_some_and(|o| o.contains(&code.to_string())),
            "{code}"
        );
    }
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let used = used_codes();
    let named: BTreeMap<u16, &Path> = used.iter().map(|(code, file)| (*code, file.as_path())).collect();
    let pages: BTreeSet<u16> = pages().iter().map(|page| page.code.0).collect();
    let without: Vec<String> = named
        .iter()
        .filter(|(code, _)| !pages.contains(code))
        .map(|(code, file)| format!("{} in {}", Code(*code), file.display()))
        .collect();
    assert!(without.is_empty(), "codes without a page: {without:?}");
    let idle: Vec<Code> = pages.iter().filter(|code| !named.contains_key(code)).map(|c| Code(*c)).collect();
    assert!(idle.is_empty(), "pages of codes that nothing uses: {idle:?}");
}

/// Numbers of codes in the sources, outside of tests: `Code(203)`, `fail(203, ..)`, and
/// the arms of tables, `Contract::Value => 411` and `"grad" => (590, ..)`.
fn used_codes() -> Vec<(u16, PathBuf)> {
    let folders =
        ["semantics/src", "grammar/src", "smt/src", "egraph/src", "runtime/src", "proofs/src", "src"];
    let mut found = Vec::new();
    for path in folders.iter().flat_map(|folder| files_below(&root().join(folder), ".rs")) {
        if path.iter().any(|part| part == "tests" || part == "tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source");
        let shipped = text.split("\n#[cfg(test)]").next().unwrap_or_default();
        let name = path.file_name().expect("a name").to_string_lossy();
        found.extend(numbers(shipped, &name).map(|code| (code, path.clone())));
    }
    assert!(found.len() > 100, "the codes were found");
    found
}

fn numbers<'t>(text: &'t str, file: &str) -> impl Iterator<Item = u16> + 't {
    let tables: &[&str] = match file {
        "counterexample.rs" => &["Contract::"],
        "refuse.rs" => &["=> ("],
        _ => &[],
    };
    let after = |mark: &&'t str| text.split(*mark).skip(1).collect::<Vec<_>>();
    let marks = ["Code(", "fail("].into_iter().chain(tables.iter().copied());
    let parts: Vec<&str> = marks.flat_map(|mark| after(&mark)).collect();
    parts.into_iter().filter_map(|part| {
        // `Value => 411` follows its mark by a name.
        let part = match part.split_once(" => ") {
            Some((name, rest)) if name.chars().all(char::is_alphabetic) => rest,
            _ => part,
        };
        let digits: String = part.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|code| (1..=9999).contains(code))
    })
}

#[test]
fn the_index_lists_every_page() {
    let mut text = String::from(
        "# Error codes\n\nGenerated from the pages in `semantics/errors/`; `rtv explain CODE` shows one.\n",
    );
    let mut family = "";
    for page in pages() {
        let name = FAMILIES[usize::from(page.code.0 / 100)];
        if name != family {
            text += &format!("\n## {name}\n\n| code | |\n|---|---|\n");
            family = name;
        }
        text += &format!("| [{0}](../semantics/errors/{0}.md) | {1} |\n", page.code, page.title);
    }
    let path = root().join(INDEX);
    if blesses() {
        fs::write(path, text).expect("the index is written");
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, text, "{INDEX} is out of date: run the tests with RTV_BLESS=1");
}

const FAMILIES: [&str; 10] = [
    "R00 Lexer and parser",
    "R01 Names",
    "R02 Types and sizes",
    "R03 Aliases, views, mutation",
    "R04 Rules and modes",
    "R05 Gradients",
    "R06 Evaluation",
    "R07 Solver and limits",
    "R08 Project, command line and files",
    "R09 Lints",
];

#[test]
fn the_first_output_of_the_readme_is_real() {
    let readme = fs::read_to_string(root().join("README.md")).expect("UTF-8");
    let first = fs::read_to_string(root().join("examples/first.rtl")).expect("UTF-8");
    assert!(blocks(&readme, "rtl").contains(&first), "README.md shows examples/first.rtl");
    let script = format!("cd '{}' && rtv check examples/first.rtl -v --no-cache", root().display());
    let output = shown(&shell(&script, &Folder::new("pages-readme")));
    assert!(readme.contains(output.trim_end()), "README.md shows another output than\n{output}");
}

#[test]
fn snippets_of_the_documentation_check() {
    with_checker(|checker| {
        let mut files = files_below(&root().join("docs"), ".md");
        files.extend(["README.md", "ARCHITECTURE.md"].map(|name| root().join(name)));
        let (mut wrong, mut count) = (Vec::new(), 0);
        for file in files {
            let text = fs::read_to_string(&file).expect("UTF-8");
            for (number, program) in blocks(&text, "rtl").iter().enumerate() {
                count += 1;
                let place = format!("{}, block {}", file.display(), number + 1);
                wrong
                    .extend(check(checker, program).faults().iter().map(|fault| format!("{place}: {fault}")));
            }
        }
        assert!(count >= 5, "{count} snippets");
        wrong
    });
}
