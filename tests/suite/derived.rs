//! Certificates of optimizations: accepted as they were made, refused where anything in them, or in
//! what they are about, is otherwise.

use std::fs;
use std::sync::Arc;

use rtv_grammar::parse;
use rtv_proofs::derived::{About, Certificate, Subject};
use rtv_proofs::{Checker, Module, Settings, Stage, subject};
use rtv_semantics::derivation::{Application, Built, Derivation, Head, Line, Used, Why};
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Input, Mode};
use rtv_semantics::types::Type;
use rtv_smt::Budget;

use crate::folder::{Folder, Run, root};

const TEXT: &str = "rtl 1.0
fn twice[M, N, T: float](x: T[M, N + 1]) -> T[M, N + 1] { return exp(t(t(x))) }
rule transposed_twice[M, N, T: any](x: T[M, N]) { t(t(x)) => x }
rule transposed_once[M, N, T: any](x: T[M, N]) requires M >= 1 { t(t(x)) => x }
";

fn checker() -> Checker {
    let settings =
        Settings { stage: Stage::Proofs, seed: 0, samples: 20, budget: Budget::OBLIGATION, timeout: None };
    Checker::start(settings).expect("the solver starts")
}

/// `exp(t(t(x))) = exp(x)`, by the first rule.
fn certificate() -> Certificate {
    let checker = checker();
    let (module, _) = Module::new(FileId(0), parse(FileId(0), TEXT));
    let of = |name: &str| {
        let named = |item: &_| subject(item).is_some_and(|(known, _)| known == name);
        let at = module.items.iter().position(named).expect("an item of this name");
        (at, Subject { name: name.into(), file: "a.rtl".into(), key: module.content_key(at) })
    };
    let (at, source) = of("twice");
    let dtypes: Vec<(Arc<str>, DType)> = vec![("T".into(), DType::F32)];
    let function = checker.function(&module, at, &dtypes, None).expect("a function that types");
    let Input::Value(_, Type::Tensor(ty)) = &function.params[0].input else { panic!("a tensor") };
    let term = |head, parts| Built { head, parts };
    let derivation = Derivation {
        terms: vec![
            term(Head::Source(vec![0, 0, 0]), vec![]),
            term(Head::Side { application: 0, right: false, path: vec![0] }, vec![0]),
            term(Head::Side { application: 0, right: false, path: vec![] }, vec![1]),
            term(Head::Source(vec![]), vec![2]),
            term(Head::Source(vec![]), vec![0]),
        ],
        applications: vec![Application {
            rule: "transposed_twice".into(),
            dtypes: dtypes.clone(),
            rank: None,
            sizes: ty.shape.clone(),
            values: vec![0],
        }],
        lines: vec![
            Line { left: 2, right: 0, why: Why::Rule { application: 0, forward: true } },
            Line { left: 3, right: 4, why: Why::Parts(vec![Some(Used { line: 0, forward: true })]) },
            Line { left: 3, right: 4, why: Why::Chain(vec![Used { line: 1, forward: true }]) },
        ],
        rounded: false,
    };
    let about = About { source, dtypes, rank: None, mode: Mode::Exact };
    let rules = [of("transposed_twice").1, of("transposed_once").1];
    Certificate::of(about, rules, &function, &derivation).expect("a certificate")
}

fn project(name: &str) -> Folder {
    let folder = Folder::project(name, TEXT);
    let run = folder.run(&["check", "a.rtl", "--update-ledger", "-q"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    folder
}

fn verified(folder: &Folder, text: &str) -> Run {
    folder.file("twice.cert", text);
    folder.run(&["verify-cert", "twice.cert", "--format", "json"])
}

fn refused(folder: &Folder, text: &str, why: &str) {
    let run = verified(folder, text);
    assert_eq!(run.code, Some(2), "{why}: {}{}", run.out, run.err);
    assert!(run.out.contains("R0825") && run.out.contains(why), "{why}: {}", run.out);
}

/// With the hash of what is before it.
fn sealed(text: &str) -> String {
    let before = &text[..text.rfind("end ").expect("a last line")];
    format!("{before}end {}\n", Certificate::hash(before))
}

#[test]
fn the_certificate_of_an_optimization_is_checked_again() {
    let folder = project("derived");
    let certificate = certificate();
    let text = certificate.write();
    assert_eq!(Certificate::read(&text), Ok(certificate));
    assert_eq!(certificate_again(&text), text);
    let run = verified(&folder, &text);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("\"accepted\":1,\"rejected\":0"), "{}", run.out);
}

/// Products in another order, by a rule of the project and its ledger.
#[test]
fn rules_of_the_project_are_proved() {
    let folder = Folder::new("derived-product");
    let text = "rtl 1.0
fn product[A, B, C, D](x: f32[A, B], y: f32[B, C], z: f32[C, D]) -> f32[A, D] { return x @ (y @ z) }
";
    folder.file("product.rtl", text);
    let rules = root().join("proofs/rules/matmul.rtl");
    let (program, _) = Module::new(FileId(0), parse(FileId(0), text));
    let matmul = fs::read_to_string(&rules).expect("rules of the project");
    let (matmul, _) = Module::new(FileId(0), parse(FileId(0), &matmul));
    let of = |module: &Module, name: &str, file: &str| {
        let named = |item: &_| subject(item).is_some_and(|(known, _)| known == name);
        let at = module.items.iter().position(named).expect("an item of this name");
        Subject { name: name.into(), file: file.into(), key: module.content_key(at) }
    };
    let source = checker().function(&program, 0, &[], None).expect("a function that types");
    let shapes: Vec<_> = source
        .params
        .iter()
        .filter_map(|param| match &param.input {
            Input::Value(_, Type::Tensor(ty)) => Some(ty.shape.clone()),
            _ => None,
        })
        .collect();
    let term = |head, parts| Built { head, parts };
    let side = |right, path| Head::Side { application: 0, right, path };
    let derivation = Derivation {
        terms: vec![
            term(Head::Source(vec![0]), vec![]),
            term(Head::Source(vec![1, 0]), vec![]),
            term(Head::Source(vec![1, 1]), vec![]),
            term(Head::Source(vec![1]), vec![1, 2]),
            term(Head::Source(vec![]), vec![0, 3]),
            term(side(true, vec![0]), vec![0, 1]),
            term(side(true, vec![]), vec![5, 2]),
        ],
        applications: vec![Application {
            rule: "matmul_associates".into(),
            dtypes: vec![("T".into(), DType::F32)],
            rank: None,
            sizes: vec![
                shapes[0][0].clone(),
                shapes[0][1].clone(),
                shapes[2][0].clone(),
                shapes[2][1].clone(),
            ],
            values: vec![0, 1, 2],
        }],
        lines: vec![Line { left: 4, right: 6, why: Why::Rule { application: 0, forward: true } }],
        rounded: false,
    };
    let rule = of(&matmul, "matmul_associates", &rules.display().to_string());
    let source_is = of(&program, "product", "product.rtl");
    for (mode, code) in [(Mode::Real, 0), (Mode::Reassoc, 2)] {
        let about = About { source: source_is.clone(), dtypes: vec![], rank: None, mode };
        let certificate =
            Certificate::of(about, [rule.clone()], &source, &derivation).expect("a certificate");
        let run = verified(&folder, &certificate.write());
        assert_eq!(run.code, Some(code), "{}{}", run.out, run.err);
    }
}

fn certificate_again(text: &str) -> String {
    Certificate::read(text).expect("a certificate").write()
}

#[test]
fn a_certificate_is_about_its_program_and_proved_rules_as_they_are() {
    let folder = project("derived-changed");
    let text = certificate().write();
    folder.file("a.rtl", TEXT.replace("exp(t(t(x)))", "sin(t(t(x)))"));
    refused(&folder, &text, "`twice` in `a.rtl`, or what it rests on, is not as it was");
    folder.file("a.rtl", TEXT.replace("{ t(t(x)) => x }", "{ t(t(x)) <=> x }"));
    refused(&folder, &text, "`transposed_twice` in `a.rtl`, or what it rests on, is not as it was");
    folder.file("a.rtl", TEXT.replace("transposed_twice", "transposed_thrice"));
    refused(&folder, &text, "there is no `transposed_twice` in `a.rtl`");
    folder.file("a.rtl", TEXT);
    let ledger = folder.path("ledger/a.ledger");
    let book = fs::read_to_string(&ledger).expect("a ledger");
    let doubted = |line: &str| match line.starts_with("transposed_twice") {
        true => line.replace("\tproved\t", "\tunknown\t"),
        false => line.to_string(),
    };
    let doubted: Vec<String> = book.lines().map(doubted).collect();
    fs::write(&ledger, doubted.join("\n") + "\n").expect("a ledger");
    refused(&folder, &text, "the rule `transposed_twice` is not proved");
    fs::remove_file(&ledger).expect("a ledger");
    refused(&folder, &text, "no ledger says that the rule `transposed_twice` is proved as it is now");
}

/// Each field altered, by itself: the text is refused, or still proves what is true. With the hash as
/// it was, it is always refused.
#[test]
fn forged_certificates_of_optimizations_are_refused() {
    let folder = project("derived-forged");
    let text = certificate().write();
    let lines: Vec<&str> = text.lines().collect();
    let (mut count, mut accepted) = (0, Vec::new());
    for (at, line) in lines.iter().enumerate().take(lines.len() - 1) {
        let words: Vec<&str> = line.split(' ').collect();
        for place in 0..words.len() {
            for new in changes(words[place]) {
                let mut words = words.clone();
                words[place] = &new;
                let mut lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
                lines[at] = words.join(" ");
                let forged = lines.join("\n") + "\n";
                assert!(Certificate::read(&forged).is_err(), "{}", lines[at]);
                // What cannot be read needs no run of the program.
                let forged = sealed(&forged);
                count += 1;
                if Certificate::read(&forged).is_err() {
                    continue;
                }
                let run = verified(&folder, &forged);
                match run.code {
                    Some(0) => accepted.push(lines[at].clone()),
                    code => assert!(code == Some(2) && run.out.contains("R0825"), "{}", run.out),
                }
            }
        }
    }
    // A proof of equal bits is one up to more, and one of any float dtype.
    let true_as_well = ["mode reassoc", "mode real"];
    assert!(accepted.iter().all(|line| true_as_well.contains(&&**line)), "{accepted:?}");
    assert!(count >= 100, "{count}");
}

fn changes(word: &str) -> Vec<String> {
    let swapped = [
        ("exact", "reassoc"),
        ("exact", "real"),
        ("exact", "close"),
        ("left", "right"),
        ("forward", "backward"),
        ("parts", "chain"),
        ("chain", "parts"),
        ("size", "group"),
        ("source", "body"),
        ("T:f32", "T:f64"),
        ("T:f32", "T:i32"),
        ("T:f32", "-"),
        ("transposed_twice", "transposed_once"),
        ("transposed_twice", "twice"),
        ("twice", "transposed_twice"),
        ("-", "0"),
        (">0", "<0"),
        (">1", "<1"),
        (">1", ">0"),
        (">1", "="),
    ];
    let mut all: Vec<String> =
        swapped.iter().filter(|(old, _)| *old == word).map(|(_, new)| new.to_string()).collect();
    all.extend(["", "x", "%41", "-1"].map(|end| format!("{word}{end}")).into_iter().skip(1));
    if let Ok(number) = word.parse::<i64>() {
        all.extend([number + 1, number - 1].map(|n| n.to_string()));
    }
    if word.len() > 20 {
        all.push(word.replace(|c: char| c.is_ascii_digit(), "0"));
    }
    all.retain(|new| new != word);
    all
}

#[test]
fn what_is_no_certificate_of_an_optimization_is_told_by_its_line() {
    let text = certificate().write();
    let wrong = |text: &str| Certificate::read(text).expect_err("malformed");
    assert_eq!(wrong(""), 1);
    assert_eq!(wrong(&text.replacen("rtv-derivation 1", "rtv-derivation 2", 1)), 1);
    assert_eq!(wrong(&text.replacen("mode exact", "mode close", 1)), 5);
    assert_eq!(wrong(&text.replacen("rank -", "rank -\nrank -", 1)), 5);
    assert_eq!(wrong(&format!("{text}\n")), text.lines().count() + 1);
    let cut = &text[..text.rfind("end ").expect("a last line")];
    assert_eq!(wrong(cut), cut.lines().count() + 1);
    assert_eq!(wrong(&text.replacen("\n", "\r\n", 1)), 1);
}
