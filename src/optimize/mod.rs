//! Programs made cheaper by proved rules.

mod beside;
mod dot;
mod random;
mod rules;
mod sizes;
mod steps;
mod text;
mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rtv_egraph::{Limits, Optimized, Present, Refusal, Rule, Rules, Settings, is_cheaper};
use rtv_proofs::derived::{Fault, Place, Proved, Refused, compare};
use rtv_proofs::{Checker, Counterexample, Deadline};
use rtv_semantics::alpha::{alpha_eq, apart_by_sizes};
use rtv_semantics::derivation::{Derivation, Why, in_lets, operator_form, with_constants_rounded};
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Function, Mode};
use rtv_semantics::subst::{Fresh, children};
use rtv_semantics::term::{Form, Fun, Term};
use rtv_semantics::types::Type;

use beside::Pair;
use sizes::{sizes_near, total};
use threads::on_two_threads;

pub use beside::ratio;
pub use dot::dot;
pub use random::Optimizing;
pub use rules::{RuleBook, Standing, Stated, Wanted, statement};
pub use sizes::{Sizes, at_sizes, cost, elsewhere, sizes, symbols};
pub use steps::{By, Step};
pub use text::text;

/// The rules that are worth a look for a program.
pub fn wanted(function: &Function, upto: Mode) -> Wanted {
    let mut wanted = Wanted { upto, dtypes: BTreeSet::new(), rank: 0 };
    let (mut open, mut seen) = (vec![&function.body], BTreeSet::new());
    while let Some(term) = open.pop() {
        if !seen.insert(term.address()) {
            continue;
        }
        if let Type::Tensor(t) = term.ty() {
            wanted.dtypes.insert(t.dtype);
            wanted.rank = wanted.rank.max(t.shape.len());
        }
        if let Form::Call(Fun::Op(instance), _) = term.form() {
            open.push(&instance.body);
        }
        open.extend(children(term));
    }
    wanted
}

/// What is asked of the optimizer.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub upto: Mode,
    pub limits: Limits,
    /// Other sizes, at which a result is better not dearer than its source.
    pub elsewhere: &'a [Sizes],
    /// Whether the time of the search is over.
    pub out_of_time: &'a dyn Fn() -> bool,
    /// Random inputs on which the result is compared with its source.
    pub samples: u64,
    pub seed: u64,
}

/// A function with a cheaper body, and how it came about.
pub struct Improved {
    pub function: Function,
    /// What it is equal up to: the strongest mode in which its derivation is accepted.
    pub mode: Mode,
    pub found: Optimized,
    pub steps: Vec<Step>,
    /// Random inputs on which source and result agree, on the reference evaluator.
    pub compared: u64,
    /// How far the results are apart on the CPU backend, relative to the largest element, where sizes are too
    /// large for the reference evaluator.
    pub apart: Option<f64>,
    /// Proved rules that were not used in the end, and why: the checker of derivations would not have them in
    /// this mode, or floats overflow with them.
    pub left_out: Vec<(Arc<str>, String)>,
}

impl Improved {
    /// The cost at its sizes, and the number of operations.
    fn cost(&self) -> (f64, usize) {
        (self.found.after, self.found.operations)
    }

    fn is_dearer_elsewhere(&self) -> bool {
        self.found.elsewhere.iter().any(|(before, after)| *after > before * (1.0 + 1e-9))
    }
}

/// Why there is no result: but for the first a fault of rtv, or of a rule.
pub enum Failed {
    /// The function computes a value that it does not use and that may fail: nothing put in its place would.
    Unused,
    /// A rule, by name, that makes two terms one whose values or types differ.
    Rule(Arc<str>),
    Types(String),
    /// The derivation is not accepted.
    Refused(Refused),
    /// The body is not the term that was derived.
    Written,
    /// Source and result differ on an input.
    Differs(Box<Counterexample>),
    /// On the CPU backend they are so far apart.
    Apart(f64),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Unused => f.write_str("it computes a value that it does not use, and that may fail"),
            Failed::Rule(rule) => write!(f, "the rule `{rule}` makes one of two terms that differ"),
            Failed::Types(types) => write!(f, "terms of the types {types} were made one"),
            Failed::Written => f.write_str("its body is not the term that was derived"),
            Failed::Refused(refused) => write!(f, "the derivation is refused: {refused}"),
            Failed::Apart(apart) => write!(f, "source and result are {apart:.1e} apart on a random input"),
            Failed::Differs(_) => f.write_str("source and result differ on a random input"),
        }
    }
}

/// The time for running both on the reference evaluator.
const COMPARING: Duration = Duration::from_secs(2);

/// Farther apart than rounding in another order makes results of random inputs.
const FAR: f64 = 1e-2;

/// What programs ought to bear beside normal numbers: large ones, small ones and zeros. Of dear programs only the
/// first are looked at.
const INPUTS: [fn(f64) -> f64; 3] = [|x| 60.0 * x, |x| 1e-3 * x, |_| 0.0];

/// And programs of f16, which holds no number above 65504: large ones of one sign, which add up.
const OF_ONE_SIGN: fn(f64) -> f64 = |x| 250.0 * x.abs();

const FAR_APART: &str = "floats are far from those of the source with it";
const OVERFLOWS: &str = "floats overflow with it that do not without";

/// How floats of the result compare with those of the source on the CPU backend.
struct Floats {
    /// How far they are apart, if they were compared at the sizes of the program.
    apart: Option<f64>,
    /// Whether some overflow, or are no numbers, where those of the source do not.
    overflow: bool,
}

/// The number of random inputs, of those that are asked for, on which a program and what became of it agree on the
/// reference evaluator, within the time for that. Each half has a seed of its own.
fn compared(source: &Function, body: &Term, mode: Mode, samples: u64, seed: u64) -> Result<u64, Failed> {
    let deadline = Deadline::after(Some(COMPARING));
    let seed = seed.wrapping_mul(2);
    let halves = [(samples.div_ceil(2), seed), (samples / 2, seed.wrapping_add(1))];
    let agreed =
        on_two_threads(&halves, |(samples, seed)| compare(source, body, mode, *samples, *seed, &deadline));
    agreed.into_iter().sum::<Result<u64, _>>().map_err(Failed::Differs)
}

/// Compares floats at the sizes of the program where that is asked, and looks for overflows where a rule was applied.
fn floats(source: &Function, result: &Function, sizes: &Sizes, whole: bool, changed: bool) -> Floats {
    let small = sizes_near(source, &BTreeMap::new(), 8).unwrap_or_else(|| sizes.clone());
    let alike = small == *sizes;
    let pair = (changed || whole && alike).then(|| Pair::new((source, &small), (result, &small))).flatten();
    let ordinary = pair.as_ref().and_then(|pair| pair.apart(|x| x));
    let apart = match whole {
        false => None,
        true if alike => ordinary,
        true => Pair::new((source, sizes), (result, sizes)).and_then(|pair| pair.apart(|x| x)),
    };
    let lost = |input: fn(f64) -> f64| pair.as_ref()?.apart(input).map(|apart| apart.lost);
    let is_narrow = wanted(source, Mode::Exact).dtypes.contains(&DType::F16);
    let many = if pair.as_ref().is_some_and(Pair::is_dear) { 1 } else { INPUTS.len() };
    let mut inputs = INPUTS.into_iter().take(many).chain(is_narrow.then_some(OF_ONE_SIGN));
    let overflow = changed
        && (ordinary.is_some_and(|apart| apart.lost) || inputs.any(|input| lost(input) == Some(true)));
    Floats { apart: apart.map(|apart| apart.difference), overflow }
}

/// How often the search begins anew without a rule that its derivation may not use.
const ATTEMPTS: usize = 12;

/// The cheapest program that proved rules make of a function at sizes, its derivation checked by
/// who does not trust it, and run beside its source. `proved` has the rules of the book.
///
/// Over the reals a rule is about finite values. Where some are not known to be, what is found in the next stronger mode
/// may be cheaper, and is taken if it is as cheap.
///
/// # Errors
/// Where checks find that the result is none.
pub fn optimize(
    function: &Function,
    book: &RuleBook,
    sizes: &Sizes,
    request: &Request<'_>,
    checker: &Checker,
    proved: &mut Proved<'_>,
) -> Result<Improved, Failed> {
    let improved = optimize_in(function, book, sizes, request, checker, proved)?;
    let Optimized { refused, rules, .. } = &improved.found;
    let mut refused = refused.iter().filter(|(rule, _)| rules[**rule].mode != Mode::Real);
    let is_doubtful = refused.any(|(_, (why, _))| matches!(why, Refusal::NotFinite(_)));
    if request.upto != Mode::Real || !is_doubtful {
        return Ok(improved);
    }
    let request = Request { upto: Mode::Reassoc, ..*request };
    let other = optimize_in(function, book, sizes, &request, checker, proved)?;
    let dearer = [&improved, &other].map(Improved::is_dearer_elsewhere);
    let is_taken = match (improved.steps.is_empty(), other.steps.is_empty()) {
        (_, true) => false,
        (true, _) => true,
        _ if dearer[0] != dearer[1] => dearer[0],
        _ => !is_cheaper(improved.cost(), other.cost()),
    };
    Ok(if is_taken { other } else { improved })
}

/// The same in one mode.
fn optimize_in(
    function: &Function,
    book: &RuleBook,
    sizes: &Sizes,
    request: &Request<'_>,
    checker: &Checker,
    proved: &mut Proved<'_>,
) -> Result<Improved, Failed> {
    let wanted = wanted(function, request.upto);
    let mut left_out: Vec<(Arc<str>, String)> = Vec::new();
    loop {
        let mut found = {
            let mut giver = book.giver(&wanted);
            let mut rules = |present: &Present| {
                // After so many attempts the program is left as it is.
                let mut given = if left_out.len() < ATTEMPTS { giver(present) } else { Vec::new() };
                given.retain(|rule| !left_out.iter().any(|(name, _)| *name == rule.name));
                given
            };
            let found = search(function, &mut rules, sizes, request, checker, false);
            with_fewest_rules(function, found, sizes, request, checker)
        };
        if let Some(wrong) = found.wrong {
            return Err(Failed::Rule(found.rules[wrong].name.clone()));
        }
        if let Some((a, b)) = &found.clash {
            return Err(Failed::Types(format!("{a} and {b}")));
        }
        match checker.derived(function, request.upto, &found.derivation, proved, None) {
            Ok(became) => {
                let mode = strongest(function, &found.derivation, request.upto, book, checker, proved);
                // What is printed is what was derived, but with a `let` for each operation.
                let mut fresh = Fresh::above([&found.body, &became.term]);
                let written = operator_form(&found.body, &mut fresh).term;
                if !alpha_eq(&written, &became.term) {
                    // Rules are elaborated by guesses for the graph, and may write its sizes otherwise.
                    apart_by_sizes(&written, &became.term).ok_or(Failed::Written)?;
                    found.body = in_lets(&became.term, &mut fresh);
                }
                let Request { samples, seed, .. } = *request;
                let compared = compared(function, &found.body, mode, samples, seed)?;
                let improved = Function { body: found.body.clone(), ..function.clone() };
                let changed = !found.derivation.applications.is_empty();
                let Floats { apart, overflow } = floats(function, &improved, sizes, compared == 0, changed);
                let is_far = apart.is_some_and(|apart| apart > FAR);
                if is_far || overflow {
                    let why = if is_far { FAR_APART } else { OVERFLOWS };
                    let blamed = book.to_blame(found.derivation.applications.iter().map(|a| &a.rule));
                    if !blamed.is_empty() {
                        left_out.extend(blamed.into_iter().map(|rule| (rule, why.to_string())));
                        continue;
                    }
                    // With exact rules alone that cannot be.
                    if let Some(apart) = apart.filter(|_| is_far) {
                        return Err(Failed::Apart(apart));
                    }
                }
                let mut steps = steps::of(&found);
                steps.extend(round_constants(function, &mut found, sizes, request)?);
                let improved = Function { body: found.body.clone(), ..function.clone() };
                return Ok(Improved { function: improved, mode, found, steps, compared, apart, left_out });
            }
            Err(Refused { at: Place::Whole, fault: Fault::Drops(_) }) => return Err(Failed::Unused),
            Err(Refused { at: Place::Application(at), fault }) => {
                left_out.push((found.derivation.applications[at].rule.clone(), fault.to_string()));
            }
            Err(refused) => match (&refused.fault, rule_of(&found.derivation, refused.at)) {
                // Sizes under binders in the graph, whose rules are elaborated by guesses, may be written
                // otherwise than in the rule.
                (Fault::Sides, Some(rule)) => left_out.push((rule, refused.fault.to_string())),
                _ => return Err(Failed::Refused(refused)),
            },
        }
    }
}

/// The strongest mode in which a derivation is accepted, one that is accepted up to a mode: it may use rules that hold
/// in a stronger one alone.
fn strongest(
    function: &Function,
    derivation: &Derivation,
    upto: Mode,
    book: &RuleBook,
    checker: &Checker,
    proved: &mut Proved<'_>,
) -> Mode {
    let stronger = [Mode::Exact, Mode::Reassoc].into_iter().take_while(|mode| *mode != upto);
    let mut within =
        stronger.filter(|mode| derivation.applications.iter().all(|a| book.is_within(&a.rule, *mode)));
    let accepted = |mode: &Mode| checker.derived(function, *mode, derivation, proved, None).is_ok();
    within.find(accepted).unwrap_or(upto)
}

/// The rule that a line of a derivation applies.
fn rule_of(derivation: &Derivation, at: Place) -> Option<Arc<str>> {
    let Place::Line(line) = at else { return None };
    match derivation.lines.get(line)?.why {
        Why::Rule { application, .. } => Some(derivation.applications.get(application)?.rule.clone()),
        _ => None,
    }
}

/// Puts constants into a result as they are rounded, which is the same bit for bit: only now, since over the reals it
/// is not. The steps.
fn round_constants(
    function: &Function,
    found: &mut Optimized,
    sizes: &Sizes,
    request: &Request<'_>,
) -> Result<Vec<Step>, Failed> {
    let mut fresh = Fresh::above([&found.body]);
    let (body, constants) = with_constants_rounded(&found.body, &mut fresh);
    if constants.is_empty() {
        return Ok(Vec::new());
    }
    let before = Function { body: std::mem::replace(&mut found.body, body), ..function.clone() };
    compared(&before, &found.body, Mode::Exact, request.samples, request.seed)?;
    found.derivation.rounded = true;
    found.after = cost(function, &found.body, sizes).map_or(found.after, |cost| cost.total());
    let step = |[_, literal]: &[Term; 2]| match literal.form() {
        Form::Lit(lit) => Some(Step { by: By::Rounded(lit.text()), forward: true }),
        _ => None,
    };
    Ok(constants.iter().filter_map(step).collect())
}

/// How often each rule makes two terms of a function one, within the default limits; nothing of one that
/// cannot be priced.
pub fn fired(function: &Function, book: &RuleBook, upto: Mode, checker: &Checker) -> Vec<(Arc<str>, u64)> {
    let Ok(sizes) = sizes(function, &BTreeMap::new()) else { return Vec::new() };
    let request = Request {
        upto,
        limits: Limits::default(),
        elsewhere: &[],
        out_of_time: &|| false,
        samples: 0,
        seed: 0,
    };
    let wanted = wanted(function, upto);
    let found = search(function, &mut book.giver(&wanted), &sizes, &request, checker, false);
    found.fired.iter().map(|(rule, times)| (found.rules[*rule].name.clone(), *times)).collect()
}

/// The same result, by a search with the rules of its derivation alone, less those without which it is as cheap.
fn with_fewest_rules(
    function: &Function,
    found: Optimized,
    sizes: &Sizes,
    request: &Request<'_>,
    checker: &Checker,
) -> Optimized {
    let named = |rule: &Rule| found.derivation.applications.iter().any(|a| a.rule == rule.name);
    let mut rules: Vec<Rule> = found.rules.iter().filter(|rule| named(rule)).cloned().collect();
    let again = |rules: &[Rule], short| {
        let mut given = rules.to_vec();
        search(function, &mut |_| std::mem::take(&mut given), sizes, request, checker, short)
    };
    let as_cheap = |again: &Optimized| {
        let [cheapest, again_so] = [&found, again].map(|found| (found.after, found.operations));
        let mut elsewhere = found.elsewhere.iter().zip(&again.elsewhere);
        let dearer = elsewhere.any(|((_, found), (_, again))| *again > found * (1.0 + 1e-9));
        !is_cheaper(cheapest, again_so) && !dearer && again.wrong.is_none()
    };
    for name in rules.iter().map(|rule| rule.name.clone()).collect::<Vec<_>>() {
        if (request.out_of_time)() {
            return found;
        }
        let fewer: Vec<Rule> = rules.iter().filter(|rule| rule.name != name).cloned().collect();
        if as_cheap(&again(&fewer, false)) {
            rules = fewer;
        }
    }
    let last = again(&rules, true);
    if found.wrong.is_some() || found.clash.is_some() || !as_cheap(&last) {
        return found;
    }
    let Optimized { body, derivation, replaced, after, operations, elsewhere, .. } = last;
    // The steps name rules by their places in the first search.
    Optimized { body, derivation, replaced, after, operations, elsewhere, ..found }
}

fn search(
    function: &Function,
    rules: &mut Rules<'_>,
    sizes: &Sizes,
    request: &Request<'_>,
    checker: &Checker,
    short: bool,
) -> Optimized {
    let settings = Settings {
        upto: request.upto,
        limits: request.limits,
        engine: checker.engine(),
        out_of_time: request.out_of_time,
        sizes: &|sym| sizes.get(sym).map_or(1.0, |n| *n as f64),
        fingerprints: cfg!(debug_assertions),
        short,
        price: &|body| cost(function, body, sizes).map(|cost| cost.total()),
        elsewhere: &|body| request.elsewhere.iter().map(|sizes| total(function, body, sizes)).collect(),
    };
    rtv_egraph::optimize(function, rules, &settings)
}
