//! The optimizer: programs get cheaper, by proved rules only, and every result has a derivation
//! that is accepted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rtv::conform::fuzz::{Fuzzer, seed_of};
use rtv::optimize::{self, Optimizing, Request, RuleBook};
use rtv_egraph::{Ended, Limits, Prepared, Rule, Settings};
use rtv_proofs::{Checker, Module, Stage, program, rule_choices, rule_claim, subject};
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::DType;
use rtv_semantics::guess::Guessing;
use rtv_semantics::program::{Function, Mode};
use rtv_smt::{Budget, Pool};

use crate::folder::{Folder, root};

/// Random programs that are optimized, bit for bit and over the reals.
const RANDOM: u64 = 120;

fn checker() -> Checker {
    let program = Path::new(env!("CARGO_BIN_EXE_rtv")).to_path_buf();
    let settings = rtv_proofs::Settings {
        stage: Stage::Proofs,
        seed: 0,
        samples: 20,
        budget: Budget::OBLIGATION,
        timeout: Some(Duration::from_secs(600)),
    };
    Checker::in_workers(settings, Arc::new(Pool::new(program, rtv_smt::DEFAULT_MEMORY_MIB)), Box::new(|_| {}))
}

fn module(text: &str) -> Module {
    let (module, faults) = Module::new(FileId(1), rtv_grammar::parse(FileId(1), text));
    assert!(faults.is_empty(), "{faults:?}");
    module
}

fn function(module: &Module, name: &str) -> Function {
    let at = module.items.iter().position(|item| subject(item).is_some_and(|(found, _)| found == name));
    let (found, said) = program(module, at.expect("a function of this name"), 1);
    found.unwrap_or_else(|| panic!("{name}: {said:?}")).0
}

fn request(upto: Mode) -> Request<'static> {
    Request { upto, limits: Limits::default(), elsewhere: &[], out_of_time: &|| false, samples: 12, seed: 0 }
}

/// The steps by which the functions of a file get cheaper; each is checked and compared on the way.
fn rules_used(path: &str, names: &[&str]) -> Vec<(String, Vec<String>)> {
    let module = module(&fs::read_to_string(root().join(path)).expect("an example"));
    let (book, checker) = (RuleBook::shipped(), checker());
    let mut used = Vec::new();
    for name in names {
        let function = function(&module, name);
        let sizes = optimize::sizes(&function, &Default::default()).expect("sizes to price at");
        let found = optimize::optimize(
            &function,
            &book,
            &sizes,
            &request(Mode::Real),
            &checker,
            &mut book.proved(&checker),
        );
        let improved = found.unwrap_or_else(|failed| panic!("{name}: {failed}"));
        assert!(improved.found.after < improved.found.before, "{path} {name} gets no cheaper");
        assert!(optimize::text(&improved.function, &sizes).is_some(), "{path} {name} has no text");
        let derivation = &improved.found.derivation;
        let rules: BTreeSet<String> = derivation.applications.iter().map(|a| a.rule.to_string()).collect();
        used.push((name.to_string(), rules.into_iter().collect()));
    }
    used
}

#[test]
fn shipped_rules_are_proved_and_have_names_of_their_own() {
    let book = RuleBook::shipped();
    let unused: Vec<String> =
        book.not_proved().map(|(stated, why)| format!("{}: {why}", stated.name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn blocks_get_cheaper() {
    let blocks: [(&str, &[&str]); 7] = [
        ("examples/models/attention_scaled.rtl", &["projected_last"]),
        ("examples/models/mlp_block.rtl", &["base_bottleneck"]),
        ("examples/models/layer_norm_linear.rtl", &["rms_normalized_layer", "base_classified"]),
        ("examples/models/conv_batch_norm.rtl", &["base_conv_batch_norm", "two_pointwise"]),
        ("examples/models/data_chain.rtl", &["second_of_two", "window_of_padded", "sum_of_copies"]),
        ("examples/models/einsum_chain.rtl", &["three", "base_three", "base_chain_by_vector"]),
        ("examples/models/lora_merged.rtl", &["adapted", "base_adapted"]),
    ];
    for (path, names) in blocks {
        for (name, rules) in rules_used(path, names) {
            assert!(!rules.is_empty(), "{path} {name}");
        }
    }
}

const CHAIN: &str = "rtl 1.0
fn product(x: f32[64, 512], y: f32[512, 512], z: f32[512, 32]) -> f32[64, 32] { return x @ y @ z }
";

const ASSOCIATES: &str = "rtl 1.0
rule associates[A, B, C, D](x: f32[A, B], y: f32[B, C], z: f32[C, D])
  upto real
{
  x @ (y @ z) <=> x @ y @ z
}
";

#[test]
fn only_what_the_ledger_calls_proved_is_used() {
    let folder = Folder::project("optimize-ledger", ASSOCIATES);
    folder.file("p.rtl", CHAIN);
    let opt = || folder.run(&["opt", "p.rtl", "product", "--rules", "a.rtl"]).out;
    let out = opt();
    assert!(out.contains("not used: associates  a.rtl:2  the ledger does not know it as it is now"), "{out}");
    assert!(out.contains("product: no rule makes it cheaper"), "{out}");
    folder.run(&["check", "a.rtl", "--update-ledger", "-q"]);
    let out = opt();
    assert!(out.contains("1 associates  a.rtl:2, from right to left"), "{out}");
    assert!(!out.contains("not used"), "{out}");
    let ledger = folder.path("ledger/a.ledger");
    let proved = fs::read_to_string(&ledger).expect("a ledger");
    for verdict in ["tested", "refuted", "unknown", "trusted", "vacuous"] {
        fs::write(&ledger, proved.replace("\tproved\t", &format!("\t{verdict}\t"))).expect("a ledger");
        let out = opt();
        assert!(
            out.contains(&format!("not used: associates  a.rtl:2  the ledger calls it {verdict}")),
            "{out}"
        );
        assert!(out.contains("product: no rule makes it cheaper"), "{out}");
    }
    // Another claim under the name of the proved one.
    fs::write(&ledger, proved).expect("a ledger");
    folder.file("a.rtl", ASSOCIATES.replace("x @ (y @ z) <=> x @ y @ z", "x @ (y @ z) <=> x @ y @ z * 1.0"));
    let out = opt();
    assert!(out.contains("the ledger does not know it as it is now"), "{out}");
}

#[test]
fn a_certificate_of_an_optimization_is_checked_again() {
    let folder = Folder::project("optimize-certificate", ASSOCIATES);
    folder.file("p.rtl", CHAIN);
    folder.run(&["check", "a.rtl", "--update-ledger", "-q"]);
    let arguments = ["opt", "p.rtl", "product", "--rules", "a.rtl", "--certificate", "product.cert"];
    assert_eq!(folder.run(&arguments).code, Some(0));
    let verified = folder.run(&["verify-cert", "product.cert"]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
    // The program has changed since.
    folder.file("p.rtl", CHAIN.replace("x @ y @ z", "x @ (y @ z)"));
    let verified = folder.run(&["verify-cert", "product.cert"]);
    assert_ne!(verified.code, Some(0), "{}", verified.out);
}

/// What `rtv opt` prints of a function, and the value of both at an argument.
fn before_and_after(name: &str, text: &str, arguments: &[&str]) -> (String, [String; 2]) {
    let folder = Folder::new(&format!("optimize-{name}"));
    folder.file("p.rtl", text);
    let printed = folder.run(&["opt", "p.rtl", "f"]).out;
    folder.file("q.rtl", &printed);
    let value = |file| {
        let given = arguments.iter().flat_map(|argument| ["--arg", argument]);
        let all: Vec<&str> = ["run", file, "f"].into_iter().chain(given).collect();
        folder.run(&all).out
    };
    (printed.clone(), [value("p.rtl"), value("q.rtl")])
}

#[test]
fn a_printed_program_has_the_values_of_its_source() {
    let cases: [(&str, &str, &[&str]); 4] = [
        // Temporaries are no parameters.
        (
            "names",
            "fn f(t: f32[4], x: f32[4]) -> f32[4] { return neg(neg(t)) + exp(x) * 2.0 }",
            &["t=[1.0, 2.0, 3.0, 4.0]", "x=[0.0, 0.0, 0.0, 0.0]"],
        ),
        // Constants that overflow when they are gathered are not.
        (
            "factors",
            "fn f(x: f16[3]) -> f16[3] { return x * 1000.0 * 1000.0 }",
            &["x=[0.001, 0.0, 0.002]@f16"],
        ),
        ("divisor", "fn f(x: f16[2]) -> f16[2] { return x / 1e-5 }", &["x=[0.01, 0.0]@f16"]),
        // Operands stand on both sides of a static argument.
        (
            "norm",
            "fn f(x: f32[2, 3], g: f32[3], b: f32[3]) -> f32[2, 3] { return neg(neg(layer_norm(x, [3], g, b))) }",
            &["x=[[1.0, 2.0, 4.0], [0.0, 1.0, 0.0]]", "g=[1.0, 2.0, 1.0]", "b=[0.0, 1.0, 0.0]"],
        ),
    ];
    for (name, text, arguments) in cases {
        let (printed, [before, after]) = before_and_after(name, &format!("rtl 1.0\n{text}\n"), arguments);
        assert!(!before.is_empty() && before == after, "{name}: {before} and {after} of\n{printed}");
    }
}

/// Where an axis has one element, what is derived and what the graph holds say at which size it is read
/// in two ways.
#[test]
fn what_was_derived_is_printed() {
    let folder = Folder::new("optimize-derived");
    let text = "rtl 1.0
fn f(v0: i64[8, 1, 1], v1: i64[1, 17]) -> f32[8, 1, 17] {
  let v2 = v0 @ v1
  return v2 / v2
}
";
    folder.file("p.rtl", text);
    let run = folder.run(&["opt", "p.rtl", "f", "--upto", "real", "--certificate", "f.cert"]);
    assert!(run.code == Some(0) && run.out.contains("the derivation was checked"), "{}{}", run.out, run.err);
    let verified = folder.run(&["verify-cert", "f.cert"]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
}

/// Each doubles what is shared: as a tree it is out of reach.
#[test]
fn shared_values_are_looked_at_once() {
    let lets: String = (1..40).map(|k| format!("  let x{k} = x{} + x{}\n", k - 1, k - 1)).collect();
    let text = format!("rtl 1.0\nfn f(x0: f32[2]) -> f32[2] {{\n{lets}  return x39\n}}\n");
    let (_, [before, after]) = before_and_after("shared", &text, &["x0=[1.0, 0.0]"]);
    assert!(!before.is_empty() && before == after, "{before} and {after}");
    let folder = Folder::new("optimize-shared-certificate");
    folder.file("p.rtl", &text);
    folder.run(&["opt", "p.rtl", "f", "--certificate", "f.cert"]);
    for verb in ["verify-cert", "explain"] {
        assert_eq!(folder.run(&[verb, "f.cert"]).code, Some(0), "{verb}");
    }
}

#[test]
fn a_certificate_by_rules_that_come_with_rtv_needs_no_files_of_them() {
    let folder = Folder::new("optimize-shipped");
    folder.file("p.rtl", CHAIN);
    folder.run(&["opt", "p.rtl", "product", "--certificate", "product.cert"]);
    let verified = folder.run(&["verify-cert", "product.cert"]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
    let text = fs::read_to_string(folder.path("product.cert")).expect("a certificate");
    assert!(text.contains("\nrule "), "{text}");
}

#[test]
fn a_size_that_a_function_lacks_is_told() {
    let folder = Folder::new("optimize-size");
    folder.file("p.rtl", "rtl 1.0\nfn f[N](x: f32[N]) -> f32[N] { return x + 1.0 }\n");
    let run = folder.run(&["opt", "p.rtl", "f", "--size", "Q=3"]);
    assert_eq!(run.code, Some(2), "{}", run.out);
    assert!(run.err.contains("`f` has no open size `Q`") && run.err.contains("it has N"), "{}", run.err);
}

#[test]
fn constants_that_do_not_round_are_folded() {
    let folder = Folder::new("optimize-constants");
    folder.file(
        "p.rtl",
        "rtl 1.0
fn gathered[N](x: f32[N]) -> f32[N] { return x * 2.0 * 3.0 }
fn scaled[N](x: f32[N, 64]) -> f32[N, 64] { return x / sqrt(f32(64)) }
fn filled[N](x: i32[N]) -> i32[N] { return x + (full([N], 2, i32) + full([N], 3, i32)) }
fn rounded[N](x: f32[N]) -> f32[N] { return x * (1.0 / f32(3.0)) }
",
    );
    let printed = |name| folder.run(&["opt", "p.rtl", name]).out;
    for (name, constant) in [("gathered", "f32(6)"), ("scaled", "f32(0.125)"), ("filled", "i32(5)")] {
        assert!(printed(name).contains(constant), "{}", printed(name));
    }
    // The certificate says what became a literal.
    folder.run(&["opt", "p.rtl", "scaled", "--certificate", "scaled.cert"]);
    assert_eq!(folder.run(&["verify-cert", "scaled.cert"]).code, Some(0));
    let text = fs::read_to_string(folder.path("scaled.cert")).expect("a certificate");
    assert!(text.lines().any(|line| line.ends_with(" constant")), "{text}");
}

#[test]
fn constants_that_round_are_rounded_in_the_end() {
    let folder = Folder::new("optimize-rounded");
    folder.file(
        "p.rtl",
        "rtl 1.0
fn third[N](x: f32[N]) -> f32[N] { return x * (1.0 / f32(3.0)) }
fn scaled[N](x: f32[N, 64]) -> f32[N, 64] { return x * 2.0 * 3.0 / sqrt(f32(48)) }
fn in_a_body[N](x: f32[N]) -> f32[N] { return [x[i] * (1.0 / f32(3.0)) for i in N] }
fn infinite[N](x: f32[N]) -> f32[N] { return x + 1.0 / f32(0.0) }
fn of_integers[N](x: i32[N]) -> i32[N] { return x // (full([], 7, i32) // full([], 0, i32)) }
",
    );
    for upto in ["exact", "real"] {
        let printed = |name| folder.run(&["opt", "p.rtl", name, "--upto", upto]).out;
        let third = printed("third");
        assert!(third.contains("f32(0.33333334)") && !third.contains("div("), "{third}");
        assert!(third.contains("a constant is rounded to 0.33333334"), "{third}");
        assert!(printed("in_a_body").contains("mul(x[i], f32(0.33333334))"), "{}", printed("in_a_body"));
        assert!(printed("infinite").contains("no rule makes it cheaper"), "{}", printed("infinite"));
        assert!(!printed("of_integers").contains("rounded"), "{}", printed("of_integers"));
    }
    // Over the reals the numbers are still those that were written: 6 and the root of 48.
    let scaled = folder.run(&["opt", "p.rtl", "scaled", "--certificate", "scaled.cert"]).out;
    assert!(scaled.contains("a constant is rounded to 0.86602545"), "{scaled}");
    assert_eq!(folder.run(&["verify-cert", "scaled.cert"]).code, Some(0));
    let told = folder.run(&["explain", "scaled.cert"]).out;
    assert!(told.contains("a constant, rounded") && told.contains("after   f32(0.86602545)"), "{told}");
    let text = fs::read_to_string(folder.path("scaled.cert")).expect("a certificate");
    assert!(text.lines().any(|line| line == "rounded"), "{text}");
}

#[test]
fn rules_whose_sizes_are_written_otherwise_are_known_again() {
    let folder = Folder::new("optimize-sides");
    folder.file(
        "p.rtl",
        "rtl 1.0
fn f(x: f32[2, 3, 4]) -> f32[] { return sum(flatten(x), dim = 0) }
",
    );
    for upto in ["exact", "real"] {
        let run = folder.run(&["opt", "p.rtl", "f", "--upto", upto]);
        assert!(run.code == Some(0) && run.out.contains("reshape_of_reshape"), "{run:?}");
        assert!(run.out.contains("the derivation was checked"), "{run:?}");
        assert!(run.out.contains("sum(x, dim = all, keepdim = false)"), "{run:?}");
    }
}

#[test]
fn components_of_tuples_of_other_extents_are_told_apart() {
    let folder = Folder::new("optimize-components");
    let text = "rtl 1.0
fn f(x: i8[3, 17]) -> i8[0, 16] { return sort(topk(x, 16, 1, true)[0][2:2], 0, true)[0] }
";
    folder.file("p.rtl", text);
    for upto in ["exact", "real"] {
        let run = folder.run(&["opt", "p.rtl", "f", "--upto", upto]);
        assert!(run.code == Some(0) && run.out.contains("fn f(x: i8[3, 17]) -> i8[0, 16]"), "{run:?}");
    }
}

#[test]
fn what_overflows_that_did_not_is_left_out() {
    let folder = Folder::new("optimize-overflow");
    // 512 times 200 is no number of f16, the mean of them is.
    let text = "rtl 1.0
fn halves(x: f16[512]) -> f16 { return sum(x / 512.0) }
fn singles(x: f32[512]) -> f32 { return sum(x / 512.0) }
";
    folder.file("p.rtl", text);
    let printed = |function: &str| folder.run(&["opt", "p.rtl", function]).out;
    let halves = printed("halves");
    assert!(halves.contains("left out: sum_of_quotient_by_number: floats overflow"), "{halves}");
    assert!(!printed("singles").contains("overflow"), "{}", printed("singles"));
}

#[test]
fn an_optimization_is_an_object_for_programs() {
    let folder = Folder::new("optimize-json");
    folder.file("p.rtl", CHAIN);
    for asked in ["--format", "--emit"] {
        let run = folder.run(&["opt", "p.rtl", "product", asked, "json"]);
        let object: serde_json::Value = serde_json::from_str(run.out.trim()).expect("one object");
        assert_eq!(object["function"], "product", "{run:?}");
        assert!(object["program"].as_str().is_some_and(|text| text.contains("fn product")), "{run:?}");
    }
}

#[test]
fn what_is_taken_for_open_dtypes_and_ranks_is_told() {
    let folder = Folder::new("optimize-taken");
    folder.file(
        "p.rtl",
        "rtl 1.0
fn doubled[*S, T: float](x: T[*S]) -> T[*S] { return x + x }
fn known[N](x: f32[N]) -> f32[N] { return x + x }
",
    );
    let told = folder.run(&["opt", "p.rtl", "doubled", "--rank", "2"]).out;
    assert!(told.contains("\n# for T = f32, 2 axes for each rank variable\n"), "{told}");
    let run = folder.run(&["opt", "p.rtl", "doubled", "--rank", "2", "--emit", "json"]);
    let object: serde_json::Value = serde_json::from_str(run.out.trim()).expect("one object");
    assert_eq!((&object["dtypes"]["T"], &object["rank"]), (&"f32".into(), &2.into()), "{run:?}");
    let told = folder.run(&["opt", "p.rtl", "known"]).out;
    assert!(!told.contains("# for"), "{told}");
}

#[test]
fn a_result_is_equal_up_to_the_strongest_mode_that_its_steps_have() {
    let folder = Folder::new("optimize-mode");
    folder.file(
        "p.rtl",
        "rtl 1.0
fn moved(x: f32[64, 32]) -> f32[64, 32] { return x.t().t() + 1.0 }
fn summed(x: f32[64, 32]) -> f32[] { return sum(sum(x, 1), 0) }
fn product(x: f32[64, 64], y: f32[64, 64], z: f32[64, 1]) -> f32[64, 1] { return x @ y @ z }
",
    );
    for (name, asked, holds) in [
        ("moved", "real", "exact"),
        ("moved", "reassoc", "exact"),
        ("moved", "exact", "exact"),
        ("summed", "real", "reassoc"),
        ("product", "real", "real"),
    ] {
        let run = folder.run(&["opt", "p.rtl", name, "--upto", asked, "--certificate", "c.cert"]);
        let said = format!(", equal up to {holds}\n");
        assert!(run.out.contains(&said), "{name} up to {asked}: {run:?}");
        let told = folder.run(&["explain", "c.cert"]).out;
        assert!(told.contains(&said), "{name} up to {asked}: {told}");
        assert_eq!(folder.run(&["verify-cert", "c.cert"]).code, Some(0), "{name} up to {asked}");
    }
}

/// Where values may be infinite, a rule that holds over the reals does not apply, and one that holds bit for bit does.
#[test]
fn what_holds_bit_for_bit_is_found_up_to_real_too() {
    let folder = Folder::new("optimize-not-finite");
    folder.file(
        "p.rtl",
        "rtl 1.0
fn difference(x: f32[4]) -> f32[4] { return x / x - 0.0 }
fn logarithm(x: f32[4]) -> f32[4] { return neg(neg(log(x))) }
fn masked[N](x: f32[N, 64], p: bool[N, 64]) -> f32[N, 64] { return masked_fill(x, p, -inf) * 1.0 }
fn product(x: f32[4, 4], y: f32[4, 4]) -> f32[4, 4] { return where(x > 0.0, x, 0.0) @ (1.0 / y) * 1.0 }
",
    );
    for name in ["difference", "logarithm", "masked", "product"] {
        let after = |upto: &str| {
            let run = folder.run(&[
                "opt",
                "p.rtl",
                name,
                "--upto",
                upto,
                "--emit",
                "json",
                "--certificate",
                "c.cert",
            ]);
            assert_eq!(folder.run(&["verify-cert", "c.cert"]).code, Some(0), "{name} up to {upto}");
            let object: serde_json::Value = serde_json::from_str(run.out.trim()).expect("one object");
            assert_ne!(object["steps"].as_array().map(Vec::len), Some(0), "{name} up to {upto}: {object}");
            object["after"].as_f64().expect("a cost")
        };
        let [exact, real] = ["exact", "real"].map(after);
        assert!(real <= exact, "{name}: {real} after {exact}");
    }
}

#[test]
fn what_is_left_as_it_is_is_an_object_too() {
    let folder = Folder::new("optimize-left");
    folder.file(
        "p.rtl",
        "rtl 1.0\nfn f(x: i32[4], y: i32[4]) -> i32[4] { let unused = x // y  return x * 1 }\n",
    );
    let run = folder.run(&["opt", "p.rtl", "f", "--emit", "json"]);
    let object: serde_json::Value = serde_json::from_str(run.out.trim()).expect("one object");
    assert_eq!(object["function"], "f", "{run:?}");
    assert!(object["left_as_it_is"].as_str().is_some_and(|why| why.contains("may fail")), "{run:?}");
}

#[test]
fn rules_stand_at_known_sizes() {
    let folder = Folder::new("optimize-known");
    folder.file(
        "p.rtl",
        "rtl 1.0
fn f(x: f32[8192, 64], g: f32[64], b: f32[64], w: f32[10, 64], c: f32[10]) -> f32[8192, 10] {
  return linear(layer_norm(x, [64], g, b), w, c)
}
",
    );
    let printed = folder.run(&["opt", "p.rtl", "f"]).out;
    assert!(printed.contains("layer_norm_is_affine"), "{printed}");
}

#[test]
fn an_optimization_is_told_step_by_step() {
    let folder = Folder::new("optimize-told");
    folder.file("p.rtl", CHAIN);
    folder.run(&["opt", "p.rtl", "product", "--certificate", "product.cert"]);
    let told = folder.run(&["explain", "product.cert"]);
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    for line in [
        "product  p.rtl: 1 step, equal up to real",
        "      before  matmul(matmul(x, y), z)",
        "      after   matmul(x, matmul(y, z))",
        "      since   its values are finite if the inputs are",
    ] {
        assert!(told.out.lines().any(|found| found == line), "{line}\n{}", told.out);
    }
}

#[test]
fn a_file_that_is_no_certificate_is_told() {
    let folder = Folder::new("optimize-no-certificate");
    folder.file("text.cert", "rtl 1.0\n");
    for (file, code) in [("text.cert", "R0832"), ("none.cert", "R0801")] {
        let run = folder.run(&["explain", file]);
        assert!(run.code == Some(2) && run.err.starts_with(code) && run.err.contains("help: "), "{run:?}");
    }
}

#[test]
fn what_cannot_be_looked_up_is_told() {
    let folder = Folder::new("optimize-nothing");
    folder.file("p.rtl", CHAIN);
    let rules = folder.run(&["rules", "no_such_rule"]);
    assert!(rules.code == Some(2) && rules.err.contains("no rule has `no_such_rule`"), "{}", rules.err);
    let missing = folder.run(&["opt", "p.rtl", "product", "--rules", "missing.rtl"]);
    assert!(missing.code == Some(2) && !missing.out.contains("fn product"), "{}", missing.out);
}

/// A rule of a text, as the optimizer takes rules, whatever is known of it.
fn smuggled(text: &str) -> Rule {
    let module = module(text);
    let choices = rule_choices(&module, 0, &BTreeSet::from([DType::F32]), 2);
    let claims = choices.iter().filter_map(|choice| rule_claim(&module, 0, choice, &Guessing));
    let claims = claims.map(|claim| Arc::new(Prepared::new(claim))).collect();
    Rule { name: "smuggled".into(), place: "nowhere".into(), mode: Mode::Exact, claims }
}

/// A search with these rules alone, in which less operations of the last rule cost less.
fn search(function: &Function, rules: &[Rule], limits: Limits, fingerprints: bool) -> rtv_egraph::Optimized {
    let mut rules = rules.to_vec();
    let settings = Settings {
        upto: Mode::Exact,
        limits,
        engine: &Guessing,
        out_of_time: &|| false,
        sizes: &|_| 64.0,
        fingerprints,
        short: false,
        price: &|body| Some(f64::from(u32::try_from(format!("{body:?}").len()).unwrap_or(u32::MAX))),
        elsewhere: &|_| Vec::new(),
    };
    rtv_egraph::optimize(function, &mut |_| std::mem::take(&mut rules), &settings)
}

#[test]
fn a_wrong_rule_is_caught() {
    let module = module("rtl 1.0\nfn f[N](x: f32[N], y: f32[N]) -> f32[N] { return exp(x) * exp(y) }\n");
    let function = function(&module, "f");
    let wrong =
        smuggled("rtl 1.0\nrule smuggled[*S](x: f32[*S], y: f32[*S]) { exp(x) * exp(y) <=> exp(x) }\n");
    // Two terms of different values are not made one ..
    let found = search(&function, std::slice::from_ref(&wrong), Limits::default(), true);
    assert_eq!(found.wrong, Some(0));
    assert_eq!(found.after, found.before);
    // .. and where nobody compares values, the derivation names a rule that is not proved.
    let found = search(&function, &[wrong], Limits::default(), false);
    assert_eq!(found.wrong, None);
    assert!(found.after < found.before);
    let (book, checker) = (RuleBook::shipped(), checker());
    let refused = checker
        .derived(&function, Mode::Exact, &found.derivation, &mut book.proved(&checker), None)
        .expect_err("no such rule is proved");
    assert!(refused.to_string().contains("smuggled"), "{refused}");
}

#[test]
fn explosive_rules_end_at_their_limits() {
    let rules: Vec<Rule> = [
        "rule smuggled[*S](x: f32[*S], y: f32[*S]) { x + y <=> y + x }",
        "rule smuggled[*S](x: f32[*S], y: f32[*S], z: f32[*S]) { x + (y + z) <=> x + y + z }",
        "rule smuggled[*S](x: f32[*S], y: f32[*S], z: f32[*S]) { x * (y + z) <=> x * y + x * z }",
        "rule smuggled[M, N](x: f32[N]) { expand(x, [M, N]) <=> expand(unsqueeze(x, 0), [M, N]) }",
    ]
    .iter()
    .map(|rule| smuggled(&format!("rtl 1.0\n{rule}\n")))
    .collect();
    let sum = (0..14).map(|k| format!("x{k}")).collect::<Vec<_>>().join(" + ");
    let params = (0..14).map(|k| format!("x{k}: f32[N]")).collect::<Vec<_>>().join(", ");
    let text = format!("rtl 1.0\nfn f[N]({params}) -> f32[N] {{ return x0 * ({sum}) }}\n");
    let module = module(&text);
    let function = function(&module, "f");
    for nodes in [500, 2_000] {
        let found = search(&function, &rules, Limits { nodes, rounds: 100 }, false);
        assert_eq!(found.ended, Ended::Nodes);
        assert!(found.nodes <= nodes + nodes / 5, "{} terms of {nodes}", found.nodes);
    }
    // The clock is asked before every application: it ends the search where it is.
    let asked = std::cell::Cell::new(0);
    let out_of_time = || {
        asked.set(asked.get() + 1);
        asked.get() > 100
    };
    let mut rules = rules;
    let settings = Settings {
        upto: Mode::Exact,
        limits: Limits { nodes: 100_000, rounds: 100 },
        engine: &Guessing,
        out_of_time: &out_of_time,
        sizes: &|_| 64.0,
        fingerprints: false,
        short: false,
        price: &|_| None,
        elsewhere: &|_| Vec::new(),
    };
    let found = rtv_egraph::optimize(&function, &mut |_| std::mem::take(&mut rules), &settings);
    assert_eq!(found.ended, Ended::Time);
    assert!(asked.get() <= 102, "asked {} times", asked.get());
}

/// A chain of so many lines, of which each reads the one before it.
fn long(lines: usize) -> String {
    let line = |at: usize| match at % 3 {
        0 => format!("  let a{} = a{at} + 7\n", at + 1),
        1 => format!("  let a{} = a{at} * 3\n", at + 1),
        _ => format!("  let a{} = relu(a{at})\n", at + 1),
    };
    let chain: String = (0..lines).map(line).collect();
    format!("rtl 1.0\nfn f(a0: i32[4]) -> i32[4] {{\n{chain}  return a{lines}\n}}\n")
}

#[test]
fn long_programs_are_run_and_left_as_they_are() {
    let folder = Folder::new("optimize-long");
    folder.file("p.rtl", long(4_500));
    let [reference, cpu] = ["ref", "cpu"]
        .map(|backend| folder.run(&["run", "p.rtl", "f", "--arg", "a0=[1, -2, 3, 4]", "--backend", backend]));
    assert!(reference.out.contains("2541,       2541], dtype=i32"), "{reference:?}");
    assert_eq!(reference.out, cpu.out);
    let run = folder.run(&["opt", "p.rtl", "f", "--certificate", "long"]);
    assert!(
        run.out.contains("no rule makes it cheaper\n# the search ended at its limit of terms"),
        "{run:?}"
    );
    let run = folder.run(&["verify-cert", "long"]);
    assert!(run.out.contains("1 accepted"), "{run:?}");
}

#[test]
fn the_same_program_comes_out_every_time() {
    let folder = Folder::new("optimize-again");
    let file = root().join("examples/models/lora_merged.rtl").display().to_string();
    let run = || {
        let found = folder.run(&["opt", &file, "adapted", "--emit", "core"]);
        assert_eq!(found.code, Some(0), "{}", found.err);
        found.out
    };
    assert_eq!(run(), run());
}

#[test]
fn random_programs_keep_their_meaning() {
    let (fuzzer, book, checker) = (Fuzzer::default(), RuleBook::shipped(), checker());
    let mut optimizing = Optimizing::new(&book, &checker);
    for number in 0..RANDOM {
        let program = fuzzer.draw(seed_of(0, number));
        if let Err(wrong) = optimizing.check(&program) {
            panic!("{wrong}\n{}", program.text());
        }
    }
    let changed: u64 = optimizing.changed.values().sum();
    assert!(changed > 0, "no program got cheaper");
}
