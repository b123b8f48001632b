//! What claims that are true of real numbers are worth bit for bit.

use crate::files::checker;
use crate::folder::Folder;
use rtv_grammar::parse;
use rtv_proofs::{Cause, ClaimResult, Decided, Facets, Module, Special, Verdict};
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::Mode;
use serde_json::Value;

/// Proved over the reals, each with its strongest mode and what separates its sides.
const CLAIMS: &str = "rtl 1.0
rule zero[*S, T: float](x: T[*S]) upto real { x + 0.0 => x }
rule nothing[*S](x: f16[*S]) upto real { x * 0.0 => zeros_like(x) }
rule exps[*S](x: f32[*S], y: f32[*S]) upto real { exp(x) * exp(y) => exp(x + y) }
rule itself[*S](x: f32[*S]) upto real { maximum(x, x) => x }
rule opposite[*S](x: f32[*S], y: f32[*S]) upto real { -(x - y) => y - x }
rule of_product[M, K, N](a: f32[M, K], b: f32[K, N]) upto real { t(a @ b) => t(b) @ t(a) }
rule moved[N](x: f32[N]) upto real { flip(flip(x, 0), 0) => x }
rule integers[*S](x: i32[*S], y: i32[*S]) upto real { x + y => y + x }
rule grouped[*S](x: f32[*S], y: f32[*S], z: f32[*S]) upto real { (x + y) + z => x + (y + z) }
rule inverse[*S](x: f32[*S]) upto real { 1.0 / (1.0 / x) => x }
";

fn check(text: &str, thorough: bool) -> Vec<ClaimResult> {
    let (module, found) = Module::new(FileId(0), parse(FileId(0), text));
    assert!(found.is_empty(), "{found:?}");
    let checker = if thorough { checker().thorough() } else { checker() };
    let outcome = checker.check(&module);
    assert!(outcome.diagnostics.is_empty(), "{:?}", outcome.diagnostics);
    outcome.claims
}

fn facets<'c>(claims: &'c [ClaimResult], name: &str) -> &'c Facets {
    let claim = claims.iter().find(|claim| claim.name == name).expect("a claim of that name");
    assert_eq!(claim.verdict, Verdict::Proved, "{name}");
    claim.facets.as_ref().expect("facets of a proved claim")
}

#[test]
fn facets_say_what_separates_the_sides() {
    let claims = check(CLAIMS, false);
    let at = |name: &str, special| Cause::At(name.into(), special);
    let expected: [(&str, Mode, Vec<Cause>); 10] = [
        ("zero", Mode::Reassoc, vec![at("x", Special::NegZero)]),
        ("nothing", Mode::Real, [Special::Nan, Special::Inf, Special::NegInf].map(|s| at("x", s)).into()),
        ("exps", Mode::Real, vec![Cause::Overflow, Cause::Rounding]),
        ("itself", Mode::Real, vec![]),
        ("opposite", Mode::Real, vec![Cause::SignOfZero]),
        ("of_product", Mode::Exact, vec![]),
        ("moved", Mode::Exact, vec![]),
        ("integers", Mode::Exact, vec![]),
        ("grouped", Mode::Reassoc, vec![Cause::Rounding]),
        ("inverse", Mode::Real, vec![Cause::Rounding]),
    ];
    for (name, strongest, causes) in expected {
        let found = facets(&claims, name);
        assert_eq!(found.strongest, strongest, "{name}: {found}");
        for cause in &causes {
            let input = found.apart.get(cause).unwrap_or_else(|| panic!("{name}: {cause}: {found}"));
            assert!(input.is_some(), "{name}: {cause} has its input");
        }
        assert_eq!(found.apart.is_empty(), causes.is_empty(), "{name}: {found}");
        assert!(found.inputs > 20, "{name}: {found}");
        let line = found.to_string();
        assert_eq!(line.parse::<Facets>().map(|again| again.to_string()), Ok(line));
    }
    assert_eq!(facets(&claims, "moved").worst.get(&DType::F32), Some(&0));
    assert!(facets(&claims, "grouped").worst.get(&DType::F32).is_some_and(|ulp| *ulp > 0));
}

/// The facet and the claim about bits say the same.
#[test]
fn a_claim_is_exact_where_the_claim_about_bits_is_proved() {
    let by_facet = check(CLAIMS, false);
    for claim in check(&CLAIMS.replace(" upto real", ""), false) {
        let facets = facets(&by_facet, &claim.name);
        assert!(claim.facets.is_none(), "{}", claim.name);
        assert_eq!(facets.strongest == Mode::Exact, claim.verdict == Verdict::Proved, "{}", claim.name);
        assert_eq!(!facets.apart.is_empty(), claim.verdict == Verdict::Refuted, "{}: {facets}", claim.name);
    }
}

#[test]
fn every_f16_is_tried_where_that_is_asked() {
    let claims = check(CLAIMS, true);
    let run = |name| facets(&claims, name).decided.iter().find(|(dtype, _)| *dtype == DType::F16);
    // -0.0 alone.
    let one = Decided::Run { inputs: 1 << 16, differ: 1, all: true };
    assert_eq!(run("zero"), Some(&(DType::F16, one)));
    // Two infinities, the NaNs, and the negative numbers, of which the product is -0.0.
    let (nans, negative) = (2 * 1023, 1 << 15);
    let differ = negative + nans / 2 + 1;
    assert_eq!(run("nothing"), Some(&(DType::F16, Decided::Run { inputs: 1 << 16, differ, all: true })));
    assert_eq!(run("moved"), None);
}

#[test]
fn the_theory_of_floats_decides_what_no_input_separates() {
    let text = format!(
        "{CLAIMS}
rule opposed[*S](x: f32[*S], lo: f32[*S], hi: f32[*S]) requires all(lo <= hi) upto real {{
  maximum(lo, minimum(x, hi)) => minimum(maximum(x, lo), hi)
}}
"
    );
    let claims = check(&text, true);
    let theory = |name| {
        let of_f32 = |(dtype, decided): &(DType, Decided)| match decided {
            Decided::Theory(answer) => (*dtype == DType::F32).then_some(*answer),
            Decided::Run { .. } => None,
        };
        facets(&claims, name).decided.iter().find_map(of_f32)
    };
    assert_eq!(theory("itself"), Some(Some(true)));
    // Bounds that are zeros of different sign.
    assert_eq!(theory("opposed"), Some(Some(false)));
    let found = facets(&claims, "opposed");
    assert!(matches!(found.apart.get(&Cause::Together), Some(Some(_))), "{found}");
    // What is seen or proved is not asked.
    assert_eq!((theory("opposite"), theory("moved")), (None, None));
}

#[test]
fn facets_are_shown_where_they_are_asked_for() {
    let folder = Folder::new("facets");
    folder.file("a.rtl", "rtl 1.0\nrule zero[N](x: f32[N]) upto real { x + 0.0 => x }\n");
    let line = "floats: reassoc; not exact: x = -0.0; worst 0 ulp in f32; ";
    assert!(!folder.run(&["check", "a.rtl"]).out.contains("floats:"));
    for asked in ["-v", "--facets"] {
        let run = folder.run(&["check", asked, "a.rtl"]);
        assert!(run.out.contains(line), "{asked}: {}", run.out);
    }
    let story = folder.run(&["explain", "zero", "a.rtl"]).out;
    assert!(story.contains(line) && story.contains("x = -0.0:\n    N = 1\n    x = [-0.0]\n"), "{story}");
    let json = folder.run(&["check", "--format", "json", "a.rtl"]).out;
    let finished = json.lines().find(|line| line.contains("claim-finished")).expect("a claim");
    let finished: Value = serde_json::from_str(finished).expect("a line of JSON");
    let facets = &finished["facets"];
    assert_eq!(facets["strongest"], "reassoc");
    assert_eq!(facets["apart"][0]["cause"], "x = -0.0");
    assert_eq!(facets["apart"][0]["counterexample"]["inputs"]["x"], "[-0.0]");
    assert!(facets["text"].as_str().is_some_and(|text| text.parse::<Facets>().is_ok()), "{facets}");
    // What an earlier run found is told again.
    folder.file("rtv.toml", "");
    let floats = |out: &str| out.lines().find(|line| line.contains("floats:")).map(str::to_string);
    let [first, again] = [0, 1].map(|_| folder.run(&["check", "-v", "a.rtl"]).out);
    assert!(again.contains("1 from cache") && floats(&first) == floats(&again), "{first}{again}");
}
