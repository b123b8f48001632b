//! Forged certificates: what is changed in one word is refused, or still says what is true.

use crate::certificate::Certificate;
use crate::check::{Checker, Settings, Stage};
use crate::decide::Task;
use crate::module::Module;
use crate::recheck::tried;
use crate::verdict::Checked;
use crate::verify::Worth;
use rtv_grammar::parse;
use rtv_semantics::diag::FileId;
use rtv_semantics::program::ClaimKind;
use rtv_smt::Budget;

/// Claims whose proofs take every kind of step.
const CLAIMS: &str = "rtl 1.0
rule pad_is_sliced_off[N, T: any](x: T[N], v: T[], l: size, h: size) {
  constant_pad(x, [l, h], v)[l : l + N] => x
}
rule sum_of_concat[M, N, T: float](x: T[M], y: T[N]) upto reassoc {
  sum(concat([x, y])) => sum(x) + sum(y)
}
rule sum_of_reshape[M, N, T: int](x: T[M, N]) {
  sum(reshape(x, [M * N])) => sum(x)
}
rule multiple_of_matmul[M, K, N](x: f32[M, K], y: f32[K, N], c: f32[]) upto real {
  (c * x) @ y => c * (x @ y)
}
rule matmul_with_eye[M, N](x: f32[M, N]) upto real {
  x @ eye(N) => x
}
rule sum_of_parts[N](x: f64[N], k: size) requires k <= N upto reassoc {
  sum(x[0:k]) + sum(x[k:N]) => sum(x)
}
rule max_of_flip[N](x: i32[N]) {
  amax(flip(x, 0), 0) => amax(x, 0)
}
rule clamp_twice[N](x: i8[N], a: i8[], b: i8[]) {
  minimum(maximum(minimum(maximum(x, a), b), a), b) => minimum(maximum(x, a), b)
}
@commutative
monoid xor(a: i32, b: i32) -> i32 { let identity = 0 return bitwise_xor(a, b) }
rule xor_of_concat[M, N](x: i32[M], y: i32[N]) {
  reduce(xor)(concat([x, y])[k] for k in M + N) <=> xor(reduce(xor)(x[k] for k in M), reduce(xor)(y[k] for k in N))
}
monoid affine(a: (f32, f32), b: (f32, f32)) -> (f32, f32) upto real {
  let identity = (1.0, 0.0) return (a[0] * b[0], a[1] * b[0] + b[1])
}
rule affine_of_slices[N](s: f32[N], t: f32[N], n: size) requires n <= N upto real {
  affine(reduce(affine)((s[k], t[k]) for k in n), reduce(affine)((s[n + k], t[n + k]) for k in N - n))
    => reduce(affine)((s[k], t[k]) for k in N)
}
rule neighbours_from_either_end[*S](x: f32[*(S + 2)]) upto reassoc {
  [x[*i] + x[*(i + 1)] + x[*(i + 2)] for *i in *S] => [x[*(i + 2)] + x[*(i + 1)] + x[*i] for *i in *S]
}
rule softmax_is_shifted[N](x: f32[N], c: f32[]) requires N >= 1 upto real {
  exp(x - c) / sum(exp(x - c)) => exp(x) / sum(exp(x))
}
rule sum_of_quotients[N](x: f32[N], c: f32[]) requires N >= 1 upto real {
  sum(x / c) <=> sum(x) / c
}
rule amax_of_falling_exp[N](x: f32[N], c: f32[]) requires N >= 1 upto real {
  amax(exp(c - 2 * x), 0) => exp(c - 2 * amin(x, 0))
}
rule log_of_multiple[N](x: f32[N], c: f32[]) requires N >= 1 upto real {
  log(sum(exp(x + c))) => log(sum(exp(x))) + c
}
rule mean_of_two_parts[N](x: f32[N], a: size) requires 1 <= a, a < N upto real {
  (f32(a) * mean(x[:a]) + f32(N - a) * mean(x[a:])) / f32(N) => mean(x)
}
rule mean_of_two(x: f32[2]) upto real {
  mean(x) => x[0] / 2 + x[1] / 2
}
";

fn checker() -> Checker {
    let settings =
        Settings { stage: Stage::Proofs, seed: 0, samples: 20, budget: Budget::OBLIGATION, timeout: None };
    Checker::start(settings).expect("the solver starts")
}

fn module() -> Module {
    let (module, found) = Module::new(FileId(0), parse(FileId(0), CLAIMS));
    assert!(found.is_empty(), "{found:?}");
    module
}

/// The text with one word of one line changed, in several ways.
fn changed(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(1).filter(|(_, line)| !line.starts_with("question")) {
        let words: Vec<&str> = line.split(' ').collect();
        for place in 1..words.len() {
            for new in changes(words[place]) {
                let mut words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
                words[place] = new;
                let mut lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
                lines[at] = words.join(" ");
                all.push(lines.join("\n") + "\n");
            }
        }
    }
    all
}

fn changes(word: &str) -> Vec<String> {
    let swapped = [
        ("add", "sub"),
        ("mul", "add"),
        ("sub", "add"),
        ("maximum", "minimum"),
        ("nonneg", "zero"),
        ("zero", "nonneg"),
        ("true", "false"),
        ("sum", "max"),
        ("tame", "any"),
        ("all", "-"),
        ("real", "exact"),
        ("reassoc", "exact"),
        ("follows", "idle"),
        ("done", "- nothing"),
        ("merged", "product"),
        ("ne", "eq"),
        ("gt", "ge"),
        ("exp", "sin"),
        ("max", "min"),
        ("min", "max"),
        ("-", "0"),
        ("-", "everywhere"),
        ("bitwise_xor", "sub"),
    ];
    let words = swapped.iter().filter(|(old, _)| *old == word).map(|(_, new)| new.to_string());
    let mut all: Vec<String> = words.collect();
    if let Ok(number) = word.parse::<i64>() {
        all.extend([number + 1, number - 1, number - 2].map(|n| n.to_string()));
    }
    if let Some((first, rest)) = word.split_once(',') {
        all.extend([rest.to_string(), format!("{rest},{first}")]);
    }
    if let Some((coefficient, rest)) = word.split_once(':') {
        all.push(format!("{coefficient}:{rest}:{rest}"));
        all.extend(coefficient.parse::<i64>().ok().map(|c| format!("{}:{rest}", c + 1)));
    }
    all
}

#[test]
fn a_certificate_is_read_as_it_was_written() {
    let (checker, module) = (checker(), module());
    for at in 0..module.items.len() {
        let outcome = checker.item(&module, at);
        let [claim] = outcome.claims.as_slice() else { continue };
        let Some(Checked::Accepted(_, text)) = &claim.checked else {
            panic!("{}: {:?} {:?}", claim.name, claim.note, claim.checked);
        };
        let read = Certificate::read(text).unwrap_or_else(|line| panic!("{}: line {line}", claim.name));
        assert_eq!(read.text().as_deref(), Some(&**text), "{}", claim.name);
        assert!(matches!(checker.verify(&module, at, &read, None), Worth::Accepted(_)), "{}", claim.name);
        // It proves no other claim.
        let other = (at + 1) % module.items.len();
        assert!(matches!(checker.verify(&module, other, &read, None), Worth::Rejected(_)), "{}", claim.name);
    }
}

#[test]
fn no_forged_certificate_proves_what_is_false() {
    let (checker, module) = (checker(), module());
    let (mut read, mut accepted) = (0, 0);
    for at in 0..module.items.len() {
        let outcome = checker.item(&module, at);
        let [claim] = outcome.claims.as_slice() else { continue };
        let Some(Checked::Accepted(_, text)) = &claim.checked else { continue };
        let claims = checker.stated(&Task::of(&module, at, ClaimKind::Rule, None)).expect("instances");
        for forged in changed(text) {
            let Ok(certificate) = Certificate::read(&forged) else { continue };
            read += 1;
            let passes = checker.trials_of(&claims, &certificate).is_ok()
                && matches!(checker.steps_of(&certificate, None), Worth::Accepted(_));
            if !passes {
                continue;
            }
            accepted += 1;
            let parts = claims.iter().zip(&certificate.instances);
            for (instance, part) in parts.flat_map(|(i, c)| c.parts.iter().map(move |(_, part)| (i, part))) {
                // Where the first inputs show nothing, many others do not either.
                let wrong = (1..20).find_map(|seed| tried(instance, part, 1000 * seed).err());
                assert!(wrong.is_none(), "{}: {wrong:?}\n{}", claim.name, difference(text, &forged));
            }
        }
    }
    // The test sees something: forgeries are read, most are refused.
    assert!(read > 1000 && accepted < read / 3, "{read} {accepted}");
}

fn difference(old: &str, new: &str) -> String {
    let changed = old.lines().zip(new.lines()).find(|(a, b)| a != b);
    changed.map_or(String::new(), |(a, b)| format!("- {a}\n+ {b}"))
}

/// A certificate proves nothing of another dtype: what holds of integers need not of floats.
#[test]
fn a_certificate_is_about_its_dtypes() {
    let (checker, text) = (checker(), |dtype: &str| {
        format!("rtl 1.0\nrule r(x: {dtype}[], y: {dtype}[], z: {dtype}[]) {{ (x + y) + z => x + (y + z) }}")
    });
    let of = |text: &str| Module::new(FileId(0), parse(FileId(0), text)).0;
    let (integers, floats) = (of(&text("i32")), of(&text("f32")));
    let outcome = checker.item(&integers, 0);
    let Some(Checked::Accepted(_, text)) = &outcome.claims[0].checked else { panic!("{:?}", outcome.claims) };
    let certificate = Certificate::read(text).expect("a certificate");
    assert!(matches!(checker.verify(&integers, 0, &certificate, None), Worth::Accepted(_)));
    assert!(matches!(checker.verify(&floats, 0, &certificate, None), Worth::Rejected(_)));
}

/// Of a claim that some ranks decide, a certificate proves nothing without each of them.
#[test]
fn a_certificate_has_every_rank_that_decides_its_claim() {
    let (checker, module) = (checker(), module());
    let at =
        module.items.iter().position(rtv_grammar::lower::has_rank_variables).expect("a rule of any rank");
    let outcome = checker.item(&module, at);
    let Some(Checked::Accepted(_, text)) = &outcome.claims[0].checked else { panic!("{:?}", outcome.claims) };
    let certificate = Certificate::read(text).expect("a certificate");
    let choices: Vec<&str> = certificate.instances.iter().map(|instance| &*instance.choice).collect();
    assert_eq!(choices, ["rank 0", "rank 1", "rank 2"]);
    for gone in 0..certificate.instances.len() {
        let mut less = certificate.clone();
        less.instances.remove(gone);
        assert!(matches!(checker.verify(&module, at, &less, None), Worth::Rejected(_)), "rank {gone}");
    }
    let mut other = certificate.clone();
    other.instances[1].choice = "rank 3".into();
    assert!(matches!(checker.verify(&module, at, &other, None), Worth::Rejected(_)));
}

/// Over the reals one float dtype stands for all, and the widest integer for all where they only
/// wrap; a certificate says for which. What is not so is proved by itself.
#[test]
fn one_dtype_stands_for_all_that_are_alike() {
    let choices = |head: &str, sides: &str| {
        let text = format!("rtl 1.0\nrule r[N, {head} {{\n  {sides}\n}}\n");
        let (module, found) = Module::new(FileId(0), parse(FileId(0), &text));
        assert!(found.is_empty(), "{found:?}");
        let (checker, outcome) = (checker(), checker().item(&module, 0));
        let Some(Checked::Accepted(_, text)) = &outcome.claims[0].checked else {
            panic!("{:?}", outcome.claims)
        };
        let certificate = Certificate::read(text).expect("a certificate");
        assert!(matches!(checker.verify(&module, 0, &certificate, None), Worth::Accepted(_)));
        certificate.instances.iter().map(|instance| instance.choice.clone()).collect::<Vec<_>>()
    };
    let (wraps, looks) = ("x * c + x * c => (x + x) * c", "maximum(x, c) * c => c * maximum(c, x)");
    assert_eq!(choices("T: float](x: T[N], c: T[]) upto real", wraps).len(), 1);
    assert_eq!(choices("T: int](x: T[N], c: T[])", wraps), ["T = i64"]);
    assert_eq!(choices("T: num](x: T[N], c: T[]) upto real", wraps).len(), 2);
    assert_eq!(choices("T: int](x: T[N], c: T[])", looks).len(), 5);
}
