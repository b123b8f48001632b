//! Derivations made by hand: right ones are accepted, wrong ones refused for what is wrong.

mod constants;
mod forged;
mod known;
mod rewritten;

use super::{Fault, Place, Proved, Refused, Rules, compare};
use crate::check::{Checker, Settings, Stage};
use crate::deadline::Deadline;
use crate::module::{Module, subject};
use rtv_grammar::ast::Item;
use rtv_grammar::lower::dtype_variables;
use rtv_grammar::parse;
use rtv_semantics::derivation::{
    Application, Built, Derivation, Head, Line, Used, Why, definition, operator_form, parts,
};
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::{Claim, Function, Input, Mode};
use rtv_semantics::size::Size;
use rtv_semantics::subst::{Fresh, Subst};
use rtv_semantics::term::{Form, Term, Var};
use rtv_smt::Budget;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_comparison_ends_with_its_time() {
    let desk = Desk::new();
    let source = desk.function("large_product", None);
    let deadline = Deadline::after(Some(Duration::from_millis(20)));
    let agreed = compare(&source, &source.body, Mode::Real, u64::MAX / 100, 0, &deadline);
    assert!(agreed.expect("a program agrees with itself") < u64::MAX / 100);
}

const TEXT: &str = "rtl 1.0
rule transposed_twice[M, N, T: any](x: T[M, N]) {
  t(t(x)) => x
}
rule matmul_associates[A, B, C, D, T: num](x: T[A, B], y: T[B, C], z: T[C, D]) upto real {
  x @ (y @ z) <=> x @ y @ z
}
rule distributes[*S, T: float](c: T[*S], x: T[*S], y: T[*S]) upto real {
  c * (x + y) <=> c * x + c * y
}
rule itself_cancels[*S, T: float](x: T[*S]) upto real {
  x / x => ones_like(x)
}
rule sum_commutes[*S, T: float](x: T[*S], y: T[*S]) {
  x + y => y + x
}
rule sum_associates[*S, T: float](x: T[*S], y: T[*S], z: T[*S]) upto reassoc {
  x + y + z <=> x + (y + z)
}
rule chosen_alike[*S, T: float](x: T[*S], y: T[*S], z: T[*S]) {
  where(x / y == 1, z, z) <=> z
}
rule slices_of_slice[N, T: any](x: T[N], a: size, b: size) requires a <= b, b <= N {
  x[a:][:b - a] => x[a:b]
}
rule first_of_two[*S, T: any](x: T[*S], y: T[*S]) {
  where(full_like(x, 1) == 1, x, y) => x
}
rule not_proved[M, N, T: float](x: T[M, N]) {
  x * 1.0 + 1.0 => x
}
rule sorted_index[N](x: f32[N], i: i64[]) requires i >= 0, i < N {
  x[i] => x[i]
}
rule columns_alike[N, T: any](x: T[N]) {
  [x[i] for i in N, j in 4] => expand(unsqueeze(x, 1), [N, 4])
}
rule sizes_wrap[N](x: f32[N], n: size) {
  [if x[i] == 1.0 { u8(n) } else { u8(0) } for i in N]
    <=> [if x[i] == 1.0 { u8(n + 256) } else { u8(0) } for i in N]
}
rule log_of_product[*S, T: float](x: T[*S], y: T[*S]) upto real {
  log(x) + log(y) => log(x * y)
}

fn twice[M, N](x: f32[M, N]) -> f32[M, N] { return t(t(x)) }
fn product[A, B, C, D](x: f32[A, B], y: f32[B, C], z: f32[C, D]) -> f32[A, D] { return x @ (y @ z) }
fn shared[M, N](x: f32[M, N]) -> f32[M, N] { return exp(t(t(x))) + t(t(x)) }
fn large_product(x: f32[200, 200], y: f32[200, 200]) -> f32[200, 200] { return x @ y @ x @ y @ x }
fn scaled(x: f32[]) -> f32[] { return x * (2.0 * 0.75) }
fn a_third(x: f32[]) -> f32[] { return x * (1.0 / f32(3.0)) }
fn squared[N](x: f32[N]) -> f32[N] { return square(x) }
fn spread[N](c: f32[N], x: f32[N], y: f32[N]) -> f32[N] { return c * (x + y) }
fn spread_at_infinity[N](c: f32[N], x: f32[N]) -> f32[N] { return c * (x + full_like(x, -inf)) }
fn ratio[N](x: f32[N]) -> f32[N] { return x / x }
fn ratio_of_exp[N](x: f32[N]) -> f32[N] { return exp(x) / exp(x) }
fn sum_of_three[*S, T: float](x: T[*S], y: T[*S], z: T[*S]) -> T[*S] { return x + y + z }
fn choice[N](x: f32[N], y: f32[N], z: f32[N]) -> f32[N] { return where(x / y == 1, z, z) }
fn sliced[N](x: f32[N + 5]) -> f32[3] { return x[2:][:3] }
fn gathered[N](x: f32[N], y: f32[N], i: i64[N]) -> f32[N] {
  return where(full_like(x, 1) == 1, x, gather(y, 0, i))
}
fn indexed[N](x: f32[N], i: i64[]) -> f32[] requires i >= 0, i < N { return x[i] }
fn columns[N](x: f32[N]) -> f32[N, 4] { return [x[i] for i in N, j in 4] }
fn seven[N](x: f32[N]) -> u8[N] { return [if x[i] == 1.0 { u8(7) } else { u8(0) } for i in N] }
fn too_large[N](x: f32[N]) -> u8[N] { return [if x[i] == 1.0 { u8(263) } else { u8(0) } for i in N] }
fn logs[N](x: f32[N], y: f32[N]) -> f32[N] { return log(x) + log(y) }
fn logs_of_exp[N](x: f32[N], y: f32[N]) -> f32[N] { return log(exp(x)) + log(exp(y) + 1.0) }
";

struct Desk {
    module: Module,
    checker: Checker,
}

impl Desk {
    fn new() -> Desk {
        let settings = Settings {
            stage: Stage::Proofs,
            seed: 0,
            samples: 20,
            budget: Budget::OBLIGATION,
            timeout: None,
        };
        let (module, found) = Module::new(FileId(0), parse(FileId(0), TEXT));
        assert!(found.is_empty(), "{found:?}");
        Desk { module, checker: Checker::start(settings).expect("the solver starts") }
    }

    /// Every rule but the one that is false.
    fn rules(&self) -> Proved<'_> {
        let mut rules = Proved::by(&self.checker);
        for at in 0..self.module.items.len() {
            if subject(&self.module.items[at]).is_some_and(|(name, _)| name != "not_proved") {
                rules.admit(&self.module, at);
            }
        }
        rules
    }

    fn function(&self, name: &str, rank: Option<usize>) -> Function {
        let at = self.place(name).expect("a function of this name");
        let dtypes = f32s(&self.module.items[at]);
        self.checker.function(&self.module, at, &dtypes, rank).expect("a function that types")
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.module.items.iter().position(|item| subject(item).is_some_and(|(known, _)| known == name))
    }

    fn hand(&self, function: &str) -> Hand<'_> {
        self.hand_at(function, None)
    }

    fn hand_at(&self, function: &str, rank: Option<usize>) -> Hand<'_> {
        self.hand_of(self.function(function, rank))
    }

    fn hand_of(&self, source: Function) -> Hand<'_> {
        let mut hand = Hand { desk: self, source, derivation: Derivation::default(), root: 0 };
        let form = operator_form(&hand.source.body, &mut Fresh::new(1_000_000)).term;
        hand.root = hand.whole(&form, &Head::Source, Vec::new(), &FxHashMap::default());
        hand
    }
}

/// `f32` for every dtype variable.
fn f32s(item: &Item) -> Vec<(Arc<str>, DType)> {
    dtype_variables(item).into_iter().map(|(name, _)| (name, DType::F32)).collect()
}

/// A derivation in the making.
struct Hand<'d> {
    desk: &'d Desk,
    source: Function,
    derivation: Derivation,
    root: usize,
}

impl Hand<'_> {
    /// Builds a term in operator form from its heads; variables may stand for terms that are there.
    fn whole(
        &mut self,
        term: &Term,
        head: &dyn Fn(Vec<usize>) -> Head,
        path: Vec<usize>,
        given: &FxHashMap<Var, usize>,
    ) -> usize {
        if let Form::Var(var) = term.form()
            && let Some(place) = given.get(var)
        {
            return *place;
        }
        let mut places = Vec::new();
        for (k, part) in parts(term).iter().enumerate() {
            places.push(self.whole(part, head, [path.clone(), vec![k]].concat(), given));
        }
        self.built(head(path), places)
    }

    fn built(&mut self, head: Head, parts: Vec<usize>) -> usize {
        self.derivation.terms.push(Built { head, parts });
        self.derivation.terms.len() - 1
    }

    /// The part of the source where a path leads.
    fn at(&self, path: &[usize]) -> usize {
        path.iter().fold(self.root, |at, k| self.derivation.terms[at].parts[*k])
    }

    /// A size of the source by name.
    fn size(&self, name: &str) -> Size {
        let symbols = super::symbols(&self.source);
        Size::sym(symbols.iter().find(|sym| sym.name() == name).expect("a size of this name"))
    }

    /// Applies a rule, and builds both of its sides.
    fn apply(&mut self, rule: &str, rank: Option<usize>, sizes: Vec<Size>, values: Vec<usize>) -> Sides {
        let application = self.derivation.applications.len();
        let dtypes = self.desk.place(rule).map_or(Vec::new(), |at| f32s(&self.desk.module.items[at]));
        let claim = self.desk.rules().claim(rule, &dtypes, rank);
        let rule = rule.into();
        self.derivation.applications.push(Application {
            rule,
            dtypes,
            rank,
            sizes: sizes.clone(),
            values: values.clone(),
        });
        let Some(claim) = claim.filter(|claim| claim.syms.len() == sizes.len()) else {
            return Sides { application, left: 0, right: 0 };
        };
        let [left, right] = [(&claim.lhs, false), (&claim.rhs, true)].map(|(side, right)| {
            let (form, given) = instance(&claim, side, &sizes, &values);
            let head = move |path| Head::Side { application, right, path };
            self.whole(&form, &head, Vec::new(), &given)
        });
        Sides { application, left, right }
    }

    fn line(&mut self, left: usize, right: usize, why: Why) -> usize {
        self.derivation.lines.push(Line { left, right, why });
        self.derivation.lines.len() - 1
    }

    fn by_rule(&mut self, sides: &Sides) -> usize {
        let why = Why::Rule { application: sides.application, forward: true };
        self.line(sides.left, sides.right, why)
    }

    fn check(&self, upto: Mode) -> Result<Term, Refused> {
        let mut rules = self.desk.rules();
        let checked = self.desk.checker.derived(&self.source, upto, &self.derivation, &mut rules, None);
        checked.map(|became| became.term)
    }

    /// Accepted, and the result has the values of the source.
    fn accepted(&self, upto: Mode) -> Term {
        let term = self.check(upto).unwrap_or_else(|why| panic!("{}: {why}", self.source.name));
        let agreed = compare(&self.source, &term, upto, 30, 1, &Deadline::after(None));
        let agreed = agreed.unwrap_or_else(|found| panic!("{found:?}"));
        assert!(agreed >= 20, "{agreed}");
        term
    }

    fn refused(&self, upto: Mode, at: Place, fault: Fault) {
        assert_eq!(self.check(upto).err(), Some(Refused { at, fault }), "{}", self.source.name);
    }
}

/// The places of the sides of an application.
struct Sides {
    application: usize,
    left: usize,
    right: usize,
}

/// The operator form of a side of a claim at sizes, and what its parameters stand for.
fn instance(claim: &Claim, side: &Term, sizes: &[Size], values: &[usize]) -> (Term, FxHashMap<Var, usize>) {
    let subst =
        claim.syms.iter().zip(sizes).fold(Subst::new(), |s, (sym, size)| s.with_size(sym, size.clone()));
    let mut fresh = Fresh::new(2_000_000);
    let form = operator_form(&subst.term(side, &mut fresh), &mut fresh).term;
    let params = claim.params.iter().filter_map(|param| match &param.input {
        Input::Value(var, _) => Some(var.clone()),
        Input::Size(_) => None,
    });
    (form, params.zip(values.iter().copied()).collect())
}

fn forward(line: usize) -> Used {
    Used { line, forward: true }
}

fn backward(line: usize) -> Used {
    Used { line, forward: false }
}

impl Hand<'_> {
    /// `t(t(x)) = x` at a term that transposes twice.
    fn transposed_twice(&mut self, inner: usize) -> usize {
        let sizes = vec![self.size("M"), self.size("N")];
        let sides = self.apply("transposed_twice", None, sizes, vec![inner]);
        self.by_rule(&sides)
    }

    fn sizes(&self, names: &[&str]) -> Vec<Size> {
        names.iter().map(|name| self.size(name)).collect()
    }
}

#[test]
fn a_rule_replaces_its_left_side() {
    let desk = Desk::new();
    let mut hand = desk.hand("twice");
    hand.transposed_twice(hand.at(&[0, 0]));
    for mode in [Mode::Exact, Mode::Reassoc, Mode::Real] {
        assert!(matches!(hand.accepted(mode).form(), Form::Var(_)));
    }
}

#[test]
fn a_rule_holds_for_terms_and_in_both_directions() {
    let desk = Desk::new();
    let mut hand = desk.hand("product");
    let values = [&[0][..], &[1, 0], &[1, 1]].map(|path| hand.at(path)).to_vec();
    let sides = hand.apply("matmul_associates", None, hand.sizes(&["A", "B", "C", "D"]), values);
    let there = hand.by_rule(&sides);
    hand.accepted(Mode::Real);
    hand.refused(Mode::Reassoc, Place::Application(0), Fault::Weaker("matmul_associates".into(), Mode::Real));
    // There, back, and there again.
    let why = Why::Rule { application: sides.application, forward: false };
    let back = hand.line(sides.right, sides.left, why);
    hand.line(sides.left, sides.right, Why::Chain(vec![forward(there), forward(back), backward(back)]));
    hand.accepted(Mode::Real);
}

#[test]
fn equal_parts_make_equal_terms() {
    let desk = Desk::new();
    let mut hand = desk.hand("shared");
    let inner = hand.at(&[0, 0, 0, 0]);
    let same = hand.transposed_twice(inner);
    let exp = hand.built(Head::Source(vec![0]), vec![inner]);
    let under = hand.line(hand.at(&[0]), exp, Why::Parts(vec![Some(forward(same))]));
    let sum = hand.built(Head::Source(vec![]), vec![exp, inner]);
    let why = Why::Parts(vec![Some(forward(under)), Some(forward(same))]);
    hand.line(hand.root, sum, why);
    hand.accepted(Mode::Exact);
    hand.accepted(Mode::Real);

    // Other parts than the lines are about.
    let wrong = Why::Parts(vec![Some(forward(same)), Some(forward(same))]);
    hand.derivation.lines[2].why = wrong;
    hand.refused(Mode::Exact, Place::Line(2), Fault::Part(0));
    hand.derivation.lines[2].why = Why::Parts(vec![Some(forward(under)), None]);
    hand.refused(Mode::Exact, Place::Line(2), Fault::Part(1));
    hand.derivation.lines[2].why = Why::Parts(vec![Some(forward(under))]);
    hand.refused(Mode::Exact, Place::Line(2), Fault::Heads);
    hand.derivation.lines[2].why = Why::Parts(vec![Some(backward(under)), Some(forward(same))]);
    hand.refused(Mode::Exact, Place::Line(2), Fault::Part(0));
    // Another head.
    hand.derivation.lines[1].left = hand.at(&[0, 0]);
    hand.refused(Mode::Exact, Place::Line(1), Fault::Heads);
}

#[test]
fn an_operator_is_its_body() {
    let desk = Desk::new();
    let mut hand = desk.hand("squared");
    let form = operator_form(&hand.source.body, &mut Fresh::new(1_000_000)).term;
    let body = definition(&form, &mut Fresh::new(2_000_000)).expect("an operator").term;
    let of = hand.root;
    let body = hand.whole(&body, &|path| Head::Body { of, path }, Vec::new(), &FxHashMap::default());
    hand.line(of, body, Why::Definition);
    hand.accepted(Mode::Exact);
    hand.accepted(Mode::Real);
    hand.derivation.lines[0] = Line { left: body, right: of, why: Why::Definition };
    hand.refused(Mode::Exact, Place::Line(0), Fault::Definition);
    hand.derivation.lines[0] = Line { left: of, right: of, why: Why::Definition };
    hand.refused(Mode::Exact, Place::Line(0), Fault::NotTheBody);
}

#[test]
fn rules_apply_at_any_rank() {
    let desk = Desk::new();
    for (rank, axes) in [(None, &["numel(S)", "S"][..]), (Some(2), &["S0", "S1"])] {
        let mut hand = desk.hand_at("sum_of_three", rank);
        let values = [&[0, 0][..], &[0, 1], &[1]].map(|path| hand.at(path)).to_vec();
        let sides = hand.apply("sum_associates", rank, hand.sizes(axes), values);
        hand.by_rule(&sides);
        hand.accepted(Mode::Reassoc);
        hand.accepted(Mode::Real);
    }
    let mut hand = desk.hand_at("sum_of_three", None);
    let values = [&[0, 0][..], &[0, 1], &[1]].map(|path| hand.at(path)).to_vec();
    // The axes of a rank variable are not one axis.
    hand.apply("sum_associates", Some(1), hand.sizes(&["S"]), values);
    hand.refused(Mode::Real, Place::Application(0), Fault::Size("numel(S)".into()));
}

#[test]
fn a_precondition_on_sizes_must_follow() {
    let desk = Desk::new();
    let mut hand = desk.hand("sliced");
    let n = &hand.size("N") + &Size::int(5);
    let value = hand.at(&[0, 0]);
    let sides = hand.apply("slices_of_slice", None, vec![n.clone(), Size::int(2), Size::int(5)], vec![value]);
    hand.by_rule(&sides);
    hand.accepted(Mode::Exact);

    hand.derivation.applications[0].sizes[2] = &n + &Size::one();
    let unmet = hand.check(Mode::Exact).expect_err("b <= N does not follow");
    assert!(matches!(unmet.fault, Fault::Requires(_)), "{unmet}");
    hand.derivation.applications[0].sizes[2] = Size::int(1);
    let unmet = hand.check(Mode::Exact).expect_err("a <= b is false");
    assert!(matches!(unmet.fault, Fault::Requires(_)), "{unmet}");
    hand.derivation.applications[0].sizes = vec![n.clone(), Size::int(-1), Size::int(5)];
    hand.refused(Mode::Exact, Place::Application(0), Fault::Size("-1".into()));
    hand.derivation.applications[0].sizes = vec![n.clone(), Size::int(2)];
    hand.refused(Mode::Exact, Place::Application(0), Fault::Sizes);
    // A quotient by what may be 0.
    let open = Size::int(6).floor_div(&hand.size("N"));
    hand.derivation.applications[0].sizes = vec![n.clone(), Size::int(2), open.clone()];
    hand.refused(Mode::Exact, Place::Application(0), Fault::Size(open.to_string()));
    let other = desk.function("twice", None);
    let sym = super::symbols(&other)[0].clone();
    let sym = rtv_semantics::size::Sym::new(sym.id() + 77, sym.kind(), "other");
    hand.derivation.applications[0].sizes = vec![Size::sym(&sym), Size::int(2), Size::int(5)];
    hand.refused(Mode::Exact, Place::Application(0), Fault::Symbol("other".into()));
}

#[test]
fn values_have_the_types_of_the_parameters() {
    let desk = Desk::new();
    let mut hand = desk.hand("sliced");
    let sizes = vec![hand.size("N"), Size::zero(), Size::zero()];
    let value = hand.at(&[0, 0]);
    hand.apply("slices_of_slice", None, sizes, vec![value]);
    let text = "`x` is of type f32[N], its value of f32[N + 5]".to_string();
    hand.refused(Mode::Exact, Place::Application(0), Fault::Value(text));
    hand.derivation.applications[0].values = vec![];
    let text = "`slices_of_slice` takes 1 values".to_string();
    hand.refused(Mode::Exact, Place::Application(0), Fault::Value(text));
    hand.derivation.applications[0].values = vec![1000];
    hand.refused(Mode::Exact, Place::Application(0), Fault::NotBefore("term", 1000));
}

#[test]
fn only_proved_rules_are_applied() {
    let desk = Desk::new();
    for rule in ["not_proved", "no_such_rule", "twice"] {
        let mut hand = desk.hand("twice");
        let sizes = hand.sizes(&["M", "N"]);
        hand.apply(rule, None, sizes, vec![hand.at(&[0, 0])]);
        hand.refused(Mode::Real, Place::Application(0), Fault::NotProved(rule.into()));
    }
    let mut hand = desk.hand("twice");
    hand.transposed_twice(hand.at(&[0, 0]));
    hand.derivation.applications[0].rank = Some(1);
    let not_proved = Fault::NotProved("transposed_twice".into());
    hand.refused(Mode::Exact, Place::Application(0), not_proved.clone());
    hand.derivation.applications[0].rank = None;
    hand.derivation.applications[0].dtypes.clear();
    hand.refused(Mode::Exact, Place::Application(0), not_proved);
}

#[test]
fn what_holds_for_bits_may_fail_over_the_reals() {
    let desk = Desk::new();
    let mut hand = desk.hand("choice");
    let form = operator_form(&hand.source.body, &mut Fresh::new(1_000_000)).term;
    let values = ["x", "y", "z"].map(|name| find(&hand, &form, name)).to_vec();
    let sides = hand.apply("chosen_alike", Some(1), hand.sizes(&["N"]), values);
    hand.by_rule(&sides);
    hand.accepted(Mode::Exact);
    let fault = Fault::NotIn("chosen_alike".into(), Mode::Real);
    hand.refused(Mode::Real, Place::Application(0), fault);
}

/// The place of a parameter.
fn find(hand: &Hand<'_>, term: &Term, name: &str) -> usize {
    fn path(term: &Term, name: &str) -> Option<Vec<usize>> {
        if let Form::Var(var) = term.form() {
            return (&*var.name == name).then(Vec::new);
        }
        parts(term).iter().enumerate().find_map(|(k, part)| Some([vec![k], path(part, name)?].concat()))
    }
    hand.at(&path(term, name).expect("it occurs"))
}

#[test]
fn a_rule_of_real_numbers_needs_numbers() {
    let desk = Desk::new();
    let mut hand = desk.hand("spread");
    let values = [&[0][..], &[1, 0], &[1, 1]].map(|path| hand.at(path)).to_vec();
    let sides = hand.apply("distributes", Some(1), hand.sizes(&["N"]), values);
    hand.by_rule(&sides);
    hand.accepted(Mode::Real);

    let mut hand = desk.hand("spread_at_infinity");
    let values = [&[0][..], &[1, 0], &[1, 1]].map(|path| hand.at(path)).to_vec();
    let sides = hand.apply("distributes", Some(1), hand.sizes(&["N"]), values);
    hand.by_rule(&sides);
    hand.refused(Mode::Real, Place::Application(0), Fault::NotFinite("y".into()));
}

#[test]
fn a_rule_that_goes_one_way_needs_a_defined_left_side() {
    let desk = Desk::new();
    let mut hand = desk.hand("ratio");
    let sides = hand.apply("itself_cancels", Some(1), hand.sizes(&["N"]), vec![hand.at(&[0])]);
    hand.by_rule(&sides);
    hand.refused(Mode::Real, Place::Application(0), Fault::MayBeUndefined("itself_cancels".into()));

    let mut hand = desk.hand("ratio_of_exp");
    let sides = hand.apply("itself_cancels", Some(1), hand.sizes(&["N"]), vec![hand.at(&[0])]);
    hand.by_rule(&sides);
    hand.accepted(Mode::Real);

    let mut hand = desk.hand("logs");
    let values = [&[0, 0][..], &[1, 0]].map(|path| hand.at(path)).to_vec();
    let sides = hand.apply("log_of_product", Some(1), hand.sizes(&["N"]), values);
    hand.by_rule(&sides);
    hand.refused(Mode::Real, Place::Application(0), Fault::MayBeUndefined("log_of_product".into()));

    let mut hand = desk.hand("logs_of_exp");
    let values = [&[0, 0][..], &[1, 0]].map(|path| hand.at(path)).to_vec();
    let sides = hand.apply("log_of_product", Some(1), hand.sizes(&["N"]), values);
    hand.by_rule(&sides);
    hand.accepted(Mode::Real);
}

#[test]
fn no_error_of_a_value_is_lost() {
    let desk = Desk::new();
    let mut hand = desk.hand("gathered");
    let form = operator_form(&hand.source.body, &mut Fresh::new(1_000_000)).term;
    let x = find(&hand, &form, "x");
    let values = vec![x, hand.at(&[2])];
    let sides = hand.apply("first_of_two", Some(1), hand.sizes(&["N"]), values);
    hand.by_rule(&sides);
    hand.refused(Mode::Exact, Place::Application(0), Fault::Drops("the value of `y`".into()));
    // An input does not fail.
    let y = find(&hand, &form, "y");
    hand.derivation = Derivation { lines: Vec::new(), applications: Vec::new(), ..hand.derivation };
    let values = vec![x, y];
    hand.derivation.terms.truncate(hand.root + 1);
    let sides = hand.apply("first_of_two", Some(1), hand.sizes(&["N"]), values);
    hand.by_rule(&sides);
    let refused = hand.check(Mode::Exact).err();
    assert_eq!(refused, Some(Refused { at: Place::Whole, fault: Fault::NotTheSource }));
}

#[test]
fn a_precondition_on_data_is_not_taken_for_granted() {
    let desk = Desk::new();
    let mut hand = desk.hand("indexed");
    let form = operator_form(&hand.source.body, &mut Fresh::new(1_000_000)).term;
    let values = ["x", "i"].map(|name| find(&hand, &form, name)).to_vec();
    hand.apply("sorted_index", None, hand.sizes(&["N"]), values);
    let refused = hand.check(Mode::Exact).expect_err("nothing is known of the index");
    assert!(matches!(refused.fault, Fault::OnData(_)), "{refused}");
}

/// Thousands of terms inside of each other, and terms of which a tree would have 2^5000 nodes.
#[test]
fn deep_and_shared_terms_cost_what_they_say() {
    const DEPTH: usize = 5000;
    let desk = Desk::new();
    let mut hand = desk.hand("shared");
    let (plain, around) = (hand.at(&[0, 0, 0, 0]), hand.at(&[0, 0]));
    let mut same = hand.transposed_twice(plain);
    let first = same;
    let (mut a, mut b) = (around, plain);
    for level in 0..DEPTH {
        let head = Head::Source(if level % 2 == 0 { vec![0] } else { vec![] });
        let wide = |at: usize| if level % 2 == 0 { vec![at] } else { vec![at, at] };
        let why = Why::Parts(vec![Some(forward(same)); wide(a).len()]);
        a = hand.built(head.clone(), wide(a));
        b = hand.built(head, wide(b));
        same = hand.line(a, b, why);
    }
    let exp = hand.built(Head::Source(vec![0]), vec![plain]);
    let under = hand.line(hand.at(&[0]), exp, Why::Parts(vec![Some(forward(first))]));
    let sum = hand.built(Head::Source(vec![]), vec![exp, plain]);
    let why = Why::Parts(vec![Some(forward(under)), Some(forward(first))]);
    hand.line(hand.root, sum, why);
    for mode in [Mode::Exact, Mode::Real] {
        assert!(hand.check(mode).is_ok());
    }
}

#[test]
fn without_lines_a_program_stays_what_it_is() {
    let desk = Desk::new();
    let mut hand = desk.hand("twice");
    assert_eq!(format!("{:?}", hand.accepted(Mode::Exact)), format!("{:?}", hand.source.body));
    // Whatever terms are named.
    hand.transposed_twice(hand.at(&[0, 0]));
    hand.derivation.lines.clear();
    assert_eq!(format!("{:?}", hand.accepted(Mode::Exact)), format!("{:?}", hand.source.body));
}

#[test]
fn lines_use_lines_before_them_that_fit() {
    let desk = Desk::new();
    let mut hand = desk.hand("twice");
    let same = hand.transposed_twice(hand.at(&[0, 0]));
    let Line { left, right, .. } = hand.derivation.lines[same].clone();
    // Of itself, and in a circle.
    hand.line(left, right, Why::Chain(vec![forward(1)]));
    hand.refused(Mode::Exact, Place::Line(1), Fault::NotBefore("line", 1));
    hand.derivation.lines[1].why = Why::Chain(vec![forward(2)]);
    hand.refused(Mode::Exact, Place::Line(1), Fault::NotBefore("line", 2));
    // Steps that do not fit.
    hand.derivation.lines[1].why = Why::Chain(vec![backward(same)]);
    hand.refused(Mode::Exact, Place::Line(1), Fault::Chain(0));
    hand.derivation.lines[1].why = Why::Chain(vec![forward(same), backward(same)]);
    hand.refused(Mode::Exact, Place::Line(1), Fault::Chain(2));
    hand.derivation.lines[1].why = Why::Chain(vec![]);
    hand.refused(Mode::Exact, Place::Line(1), Fault::Chain(0));
    // The sides the wrong way around, and others.
    hand.derivation.lines[1].why = Why::Rule { application: 0, forward: false };
    hand.refused(Mode::Exact, Place::Line(1), Fault::Sides);
    hand.derivation.lines[1] = Line { left, right: left, why: Why::Rule { application: 0, forward: true } };
    hand.refused(Mode::Exact, Place::Line(1), Fault::Sides);
    hand.derivation.lines[1].why = Why::Rule { application: 1, forward: true };
    hand.refused(Mode::Exact, Place::Line(1), Fault::NotBefore("application", 1));
    // A last line about something else.
    hand.derivation.lines[1] = Line { left: right, right: left, why: Why::Chain(vec![backward(same)]) };
    hand.refused(Mode::Exact, Place::Whole, Fault::NotTheSource);
}

#[test]
fn terms_are_made_of_terms_before_them_that_fit() {
    let desk = Desk::new();
    let mut hand = desk.hand("product");
    let count = hand.derivation.terms.len();
    let at = Place::Term(count);
    for (head, parts, fault) in [
        (Head::Source(vec![]), vec![count, 0], Fault::NotBefore("term", count)),
        (Head::Source(vec![]), vec![0], Fault::Parts),
        // Of another type.
        (Head::Source(vec![]), vec![0, 0], Fault::Parts),
        (Head::Source(vec![0, 0]), vec![], Fault::Path),
        (Head::Source(vec![2]), vec![], Fault::Path),
        (Head::Body { of: count, path: vec![] }, vec![], Fault::NotBefore("term", count)),
        (Head::Body { of: 0, path: vec![] }, vec![], Fault::Definition),
        (
            Head::Side { application: 0, right: false, path: vec![] },
            vec![],
            Fault::NotBefore("application", 0),
        ),
    ] {
        hand.derivation.terms.truncate(count);
        hand.built(head, parts);
        hand.refused(Mode::Exact, at, fault);
    }
    // A head from an application to a term that comes later.
    hand.derivation.terms.truncate(count);
    let values = [&[0][..], &[1, 0], &[1, 1]].map(|path| hand.at(path)).to_vec();
    hand.apply("matmul_associates", None, hand.sizes(&["A", "B", "C", "D"]), values);
    hand.derivation.applications[0].values[2] = count + 1;
    hand.refused(Mode::Real, Place::Application(0), Fault::NotBefore("term", count + 1));
}

#[test]
fn an_input_shows_what_two_programs_differ_in() {
    let desk = Desk::new();
    let source = desk.function("twice", None);
    let Form::Call(_, args) = source.body.form() else { panic!("an operator") };
    assert!(compare(&source, &args[0], Mode::Exact, 50, 0, &Deadline::after(None)).is_err());
    let product = desk.function("spread", None);
    let (c, x) = (&product.params[0], &product.params[1]);
    let (Input::Value(c, ty), Input::Value(x, _)) = (&c.input, &x.input) else { panic!("values") };
    let _ = x;
    let c = Term::var(c.clone(), ty.clone(), product.body.span());
    for mode in [Mode::Exact, Mode::Reassoc, Mode::Real] {
        assert!(compare(&product, &c, mode, 50, 0, &Deadline::after(None)).is_err());
    }
}
