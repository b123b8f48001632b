//! One meaning by three routes: a term evaluated as a whole, its unfolded element
//! evaluated at every index, and the normal form of that element. Equal bits.

use crate::folder::{files_below, root};
use rtv_grammar::ast::{Item, ItemKind};
use rtv_grammar::lower::{Choice, Defs, Lower, Ranks, dtype_variables};
use rtv_grammar::parse;
use rtv_grammar::prelude::Prelude;
use rtv_proofs::{Checker, Module, Settings, Stage, Verdict};
use rtv_semantics::arith::Arith;
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::eval::{Datum, Env, Limits, eval};
use rtv_semantics::guess::Guessing;
use rtv_semantics::normal::normalize;
use rtv_semantics::program::{Assertion, Claim, ClaimKind, Input, Step};
use rtv_semantics::sample::{Sampler, Style};
use rtv_semantics::scalar::Domain;
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::subst::Fresh;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{Binder, Term};
use rtv_semantics::types::Type;
use rtv_semantics::unfold::{self, component, fresh_index, index_terms};
use rtv_smt::Budget;
use std::collections::HashMap;
use std::fs;
use std::rc::Rc;
use std::sync::Arc;

/// Operators with tests that the library has at least.
const OPERATORS: usize = 90;

#[test]
fn the_library_passes_its_own_tests() {
    let settings =
        Settings { stage: Stage::Tests, seed: 0, samples: 20, budget: Budget::OBLIGATION, timeout: None };
    let checker = Checker::start(settings).expect("no solver is needed");
    let (mut tested, mut tests, mut assertions, mut failures) = (0, 0, 0, Vec::new());
    for source in Prelude::shared().sources() {
        let module = Module::of_library(source.file, parse(source.file, source.text));
        let outcome = checker.check(&module);
        let claims: Vec<_> = outcome.claims.iter().filter(|c| c.kind == ClaimKind::Test).collect();
        tested += usize::from(!claims.is_empty());
        tests += claims.len();
        assertions += claims.iter().map(|c| c.samples).sum::<u64>();
        failures.extend(outcome.diagnostics.iter().map(|d| format!("{}: {}", source.path, d.message)));
        let bad = claims.iter().filter(|c| c.verdict != Verdict::Proved);
        failures.extend(bad.map(|c| format!("{}: {} {}", source.path, c.name, c.note)));
    }
    println!("{tested} operators with tests: {tests} tests, {assertions} assertions");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(tested >= OPERATORS, "{tested} operators have tests");
}

#[test]
fn operators_mean_one_thing_in_their_tests() {
    let defs = Defs::new(Prelude::shared());
    let mut counts = Counts::default();
    for source in Prelude::shared().sources() {
        for item in source.items() {
            let mut lower = Lower::new(&defs, &Arith);
            let Some(test) = lower.test(item) else { continue };
            let mut env = Env::new();
            for step in &test.steps {
                match step {
                    Step::Let(var, value) => {
                        let value = counts.compare(source.path, value, &env, &[]);
                        let Some(value) = value else { break };
                        env.vars.insert(var.clone(), value);
                    }
                    Step::Assert(Assertion::Agrees(a, b, _), _) => {
                        counts.compare(source.path, a, &env, &[]);
                        counts.compare(source.path, b, &env, &[]);
                    }
                    Step::Assert(Assertion::Holds(t) | Assertion::Fails(t, _), _) => {
                        counts.compare(source.path, t, &env, &[]);
                    }
                    Step::Assert(Assertion::Settled(_), _) => {}
                }
            }
        }
    }
    counts.report("tests of operators", 1000);
}

#[test]
fn claims_mean_one_thing_at_symbolic_sizes() {
    let mut counts = Counts::default();
    let mut sampler = Sampler::new(11);
    let folders = ["proofs", "examples"];
    for path in folders.iter().flat_map(|f| files_below(&root().join(f), ".rtl")) {
        let text = fs::read_to_string(&path).expect("a file of the project");
        let (module, _) = Module::new(FileId(0), parse(FileId(0), &text));
        for item in &module.items {
            for rank in [0, 2] {
                for dtype in [DType::F32, DType::I8, DType::Bool] {
                    let Some(claim) = claim(&module, item, rank, dtype) else { continue };
                    (0..6).for_each(|_| instance(&claim, &mut sampler, &mut counts));
                }
            }
        }
    }
    counts.report("claims", 3000);
}

/// The claim of an item with `dtype` for every dtype variable that allows it.
fn claim(module: &Module, item: &Item, rank: usize, dtype: DType) -> Option<Claim> {
    if !matches!(item.kind, ItemKind::Rule(_) | ItemKind::Def(_)) {
        return None;
    }
    let variables = dtype_variables(item);
    if variables.iter().any(|(_, class)| !class.contains(dtype)) {
        return None;
    }
    let dtypes: Vec<(Arc<str>, DType)> = variables.into_iter().map(|(name, _)| (name, dtype)).collect();
    let mut lower = Lower::new(&module.defs, &Guessing);
    let claim = lower.claim(item, &Choice { dtypes, ranks: Ranks::Fixed(rank) })?;
    let sound = !lower.take_diagnostics().iter().any(|d| d.is_error());
    sound.then_some(claim)
}

/// Compares both sides of a claim at one random choice of sizes and values.
fn instance(claim: &Claim, sampler: &mut Sampler, counts: &mut Counts) {
    let mut env = Env::new();
    for _ in 0..40 {
        let draw = |sampler: &mut Sampler| sampler.integer(0, 4);
        env.sizes = claim.syms.iter().map(|s| (s.clone(), draw(sampler))).collect();
        if claim.facts.iter().all(|f| f.eval(&|s| size_of(&env, s)) == Some(true)) {
            break;
        }
    }
    if !claim.facts.iter().all(|f| f.eval(&|s| size_of(&env, s)) == Some(true)) {
        return;
    }
    for param in &claim.params {
        let Input::Value(var, Type::Tensor(ty)) = &param.input else { continue };
        let Some(shape) = concrete(&ty.shape, &env) else { return };
        let style = *sampler.pick(&Style::ALL).expect("invariant: there are styles");
        let tensor = sampler.tensor(ty.dtype, &shape, style).expect("a small tensor");
        env = env.with_tensor(var, tensor);
    }
    for side in [&claim.lhs, &claim.rhs] {
        counts.compare(&claim.name, side, &env, &claim.facts);
    }
}

fn size_of(env: &Env, sym: &Sym) -> Option<i128> {
    env.sizes.get(sym).map(|n| i128::from(*n))
}

fn concrete(shape: &[Size], env: &Env) -> Option<Vec<usize>> {
    let extent = |n: &Size| n.eval(&|s| size_of(env, s)).ok().and_then(|n| usize::try_from(n).ok());
    shape.iter().map(extent).collect()
}

/// A term in its surroundings.
struct Subject<'a> {
    place: &'a str,
    term: &'a Term,
    env: &'a Env,
    facts: &'a [Cond],
    domain: Domain,
}

/// What was compared.
#[derive(Default)]
struct Counts {
    terms: usize,
    elements: usize,
    /// Terms whose element is not unfolded: too large, or a form without one.
    left_out: usize,
    /// Exact elements that overlapping enclosures leave open.
    open: usize,
    differences: Vec<String>,
    /// By address and path; the term is kept, so that no address is used twice.
    prepared: HashMap<(usize, Vec<usize>), Prepared>,
}

/// A term, and its element if it is unfolded.
type Prepared = (Term, Option<Rc<Element>>);

/// One element of a tensor at symbolic indices.
struct Element {
    binders: Vec<Binder>,
    unfolded: Term,
    normal: Term,
}

impl Element {
    fn of(subject: &Subject<'_>, shape: &[Size], path: &[usize]) -> Option<Element> {
        let mut fresh = Fresh::above([subject.term]);
        let binders = fresh_index(shape, &mut fresh);
        let index = index_terms(&binders, subject.term.span());
        let limits = unfold::Limits { nodes: 20_000, ..unfold::Limits::default() };
        let unfolded = component(subject.term, path, &index, &mut fresh, limits).ok()?;
        let mut facts = subject.facts.to_vec();
        facts.extend(binders.iter().map(|b| Cond::lt(&Size::sym(&b.sym), &b.extent)));
        let normal = normalize(&unfolded, &facts, &Arith);
        Some(Element { binders, unfolded, normal })
    }
}

impl Counts {
    /// Compares the three routes at every index, in both domains, and gives the IEEE value
    /// of the whole.
    fn compare(&mut self, place: &str, term: &Term, env: &Env, facts: &[Cond]) -> Option<Datum> {
        let value = |domain| eval(term, env, domain, &Limits::default()).ok();
        for domain in [Domain::Exact, Domain::Ieee] {
            if let Some(value) = value(domain) {
                self.terms += 1;
                let subject = Subject { place, term, env, facts, domain };
                self.parts(&subject, term.ty(), &mut Vec::new(), &value);
            }
        }
        value(Domain::Ieee)
    }

    fn parts(&mut self, subject: &Subject<'_>, ty: &Type, path: &mut Vec<usize>, value: &Datum) {
        match (ty, value) {
            (Type::Tuple(types), Datum::Tuple(values)) => {
                for (k, (ty, value)) in types.iter().zip(values).enumerate() {
                    path.push(k);
                    self.parts(subject, ty, path, value);
                    path.pop();
                }
            }
            (Type::Tensor(ty), Datum::Tensor(value)) => self.tensor(subject, &ty.shape, path, value),
            _ => {}
        }
    }

    fn tensor(&mut self, subject: &Subject<'_>, shape: &[Size], path: &[usize], value: &Tensor) {
        let key = (subject.term.address(), path.to_vec());
        let prepared = || (subject.term.clone(), Element::of(subject, shape, path).map(Rc::new));
        let (_, prepared) = self.prepared.entry(key).or_insert_with(prepared);
        let Some(prepared) = prepared.clone() else {
            self.left_out += 1;
            return;
        };
        let Element { binders, unfolded, normal } = &*prepared;
        let mut env = subject.env.clone();
        for (offset, expected) in value.values().enumerate() {
            let mut rest = offset;
            for (binder, extent) in binders.iter().zip(value.shape()).rev() {
                env.sizes.insert(binder.sym.clone(), (rest % extent) as i64);
                rest /= extent;
            }
            for (route, term) in [("unfolded", unfolded), ("normal", normal)] {
                let found = eval(term, &env, subject.domain, &Limits::default());
                let same = match &found {
                    Ok(Datum::Tensor(t)) => t.item().map_or(Some(false), |v| v.same(expected)),
                    Ok(Datum::Size(n)) => Some(expected.as_int().map(i128::from) == Some(*n)),
                    Ok(Datum::Tuple(_)) => Some(false),
                    // Enclosures that overlap leave it open on one route and not on another.
                    Err(error) if error.class.is_none() => None,
                    Err(_) => Some(false),
                };
                self.elements += 1;
                if same.is_none() && subject.domain == Domain::Exact {
                    self.open += 1;
                } else if same != Some(true) {
                    let found = found.map_or_else(|e| e.message, |value| value.to_string());
                    let text =
                        format!("{}: {route} element {offset} is {found}, not {expected}", subject.place);
                    self.differences.push(text);
                    return;
                }
            }
        }
    }

    fn report(&self, what: &str, least: usize) {
        let Counts { terms, elements, left_out, open, differences, .. } = self;
        println!(
            "{what}: {terms} terms, {elements} elements compared, {open} open, {left_out} terms not unfolded"
        );
        let shown = &differences[..differences.len().min(20)];
        assert!(differences.is_empty(), "{} differences\n{}", differences.len(), shown.join("\n"));
        assert!(*terms >= least, "only {terms} terms");
    }
}
