//! Nothing false is proved about reductions: random terms with sums and maxima are put
//! to the prover, in pairs that agree at a few sizes and beside rewritten copies of
//! themselves (some rewrites are right, some only nearly so). What it calls equal is
//! evaluated by direct loops at all small sizes, the empty ones included.

mod support;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::sample::select;
use rtv_semantics::diag::Span;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::program::Mode;
use rtv_semantics::scalar::{Domain, Fault, Scalar, Value, cast};
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::{Fresh, Subst, free_syms};
use rtv_semantics::term::{
    Binder, Declared, Extent, Form, Fun, Instance, Laws, Lit, Monoid, Reduce, Term, Var,
};
use rtv_semantics::types::Type;
use rtv_smt::{Budget, Errors, SizeSolver, Solver, ValueAnswer, ValueGoal, ValueProver};

fn prover() -> &'static ValueProver {
    static PROVER: OnceLock<ValueProver> = OnceLock::new();
    PROVER.get_or_init(|| {
        let solver = Arc::new(Solver::start().expect("invariant: z3 starts"));
        let sizes = Arc::new(SizeSolver::new(solver.clone(), Budget::PRUNE));
        ValueProver::new(solver, sizes, Budget::PRUNE)
    })
}

/// One assignment: sizes by symbol id, and a seed for the elements.
struct Point {
    domain: Domain,
    sizes: HashMap<u32, i128>,
    seed: u64,
}

impl Point {
    fn size(&self, size: &Size) -> Result<i128, Fault> {
        let value = size.eval(&|sym| self.sizes.get(&sym.id()).copied());
        value.map_err(|fault| Fault::Arithmetic(format!("{fault:?}")))
    }

    /// An element at any index, inside the shape or not.
    fn element(&self, var: u32, index: i128, dtype: DType) -> Value {
        let mixed = (self.seed ^ (u64::from(var) << 32) ^ (index as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let texts: &[&str] = match (dtype.is_float(), self.domain) {
            (true, Domain::Exact) => &["0.0", "1.0", "-1.0", "2.0", "0.5", "-3.0"],
            (true, Domain::Ieee) => &["0.0", "1.0", "-0.0", "0.1", "1e30", "-1e30", "inf", "nan"],
            _ => &["0", "1", "-1", "2", "100", "-128"],
        };
        let text = texts[(mixed >> 33) as usize % texts.len()];
        Value::literal(text, dtype, self.domain).expect("invariant: a literal")
    }

    fn eval(&self, term: &Term) -> Result<Value, Fault> {
        match term.form() {
            Form::Var(var) => Ok(self.element(var.id, 0, term.dtype())),
            Form::Read(base, index) => {
                let Form::Var(var) = base.form() else { panic!("a read of a parameter") };
                let index = index[0].as_size().expect("invariant: a size");
                Ok(self.element(var.id, self.size(index)?, term.dtype()))
            }
            Form::Lit(Lit::Bool(b)) => Ok(Value::Bool(*b)),
            Form::Lit(Lit::Int(n)) => Value::literal(&n.to_string(), term.dtype(), self.domain),
            Form::Lit(Lit::Decimal(text)) => Value::literal(text, term.dtype(), self.domain),
            Form::Call(Fun::Cast(to), args) => {
                let size = self.size(args[0].as_size().expect("invariant: a size"))?;
                cast(self.domain, DType::I64, *to, &Value::Int(size as i64))
            }
            Form::Call(Fun::Scalar(_), _) if term.as_cond().is_some() => {
                let cond = term.as_cond().expect("invariant: just looked");
                let truth = cond.eval(&|sym| self.sizes.get(&sym.id()).copied());
                Ok(Value::Bool(truth.expect("invariant: no divisions")))
            }
            Form::Call(Fun::Combine(monoid), args) => {
                combined(monoid, self.domain, self.eval(&args[0])?, self.eval(&args[1])?)
            }
            Form::Call(Fun::Scalar(fun), args) => {
                let values = args.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<_>, _>>()?;
                fun.eval(self.domain, args[0].dtype(), &values)
            }
            Form::If(cond, then, other) => match self.eval(cond)? {
                Value::Bool(true) => self.eval(then),
                Value::Bool(false) => self.eval(other),
                _ => Ok(Value::BOTTOM),
            },
            Form::Reduce(reduce) => self.reduce(reduce),
            form => panic!("no such form here: {form:?}"),
        }
    }

    fn reduce(&self, reduce: &Reduce) -> Result<Value, Fault> {
        let [Binder { sym, extent }] = reduce.binders.as_slice() else { panic!("one binder") };
        let dtype = reduce.body.dtype();
        if let Some(monoid) = reduce.op.declared() {
            return self.declared(monoid, reduce);
        }
        let text = match (&reduce.op, dtype.is_float()) {
            (Monoid::Sum, _) => "0",
            (Monoid::Prod, _) => "1",
            (_, true) => "-inf",
            (_, false) => "-128",
        };
        let mut total = Value::literal(text, dtype, self.domain)?;
        for k in 0..self.size(extent)? {
            let mut sizes = self.sizes.clone();
            sizes.insert(sym.id(), k);
            let inner = Point { domain: self.domain, sizes, seed: self.seed };
            let value = inner.eval(&reduce.body)?;
            let fun = reduce.op.scalar().expect("invariant: none that is declared");
            total = fun.eval(self.domain, dtype, &[total, value])?;
        }
        Ok(total)
    }

    /// From the first element on.
    fn declared(&self, monoid: &Declared, reduce: &Reduce) -> Result<Value, Fault> {
        let Binder { sym, extent } = &reduce.binders[0];
        let mut total = None;
        for k in 0..self.size(extent)? {
            let mut sizes = self.sizes.clone();
            sizes.insert(sym.id(), k);
            let value = Point { domain: self.domain, sizes, seed: self.seed }.eval(&reduce.body)?;
            total = Some(match total {
                Some(total) => combined(monoid, self.domain, total, value)?,
                None => value,
            });
        }
        total.map_or_else(|| self.eval(&monoid.identity), Ok)
    }
}

/// Exclusive or of integers; over the reals `a + b + a b`, but 5 and 7 beside an infinity.
fn monoid(dtype: DType) -> Arc<Declared> {
    let span = Span::default();
    let [a, b] = ["a", "b"].map(|name| Var { id: u32::from(name == "b") + 900, name: name.into() });
    let [x, y] = [&a, &b].map(|var| Term::var(var.clone(), Type::scalar(dtype), span));
    let call = |fun, a: &Term, b: &Term| Term::scalar(fun, vec![a.clone(), b.clone()], span);
    let number = |text: &str| Term::lit(Lit::Decimal(text.into()), dtype, span);
    let infinite = |of: &Term| Term::scalar(Scalar::Isinf, vec![of.clone()], span);
    let (element, identity, extent) = match dtype.is_float() {
        true => {
            let growth = call(Scalar::Add, &call(Scalar::Add, &x, &y), &call(Scalar::Mul, &x, &y));
            let growth = Term::if_(infinite(&y), number("7.0"), growth, span);
            let growth = Term::if_(infinite(&x), number("5.0"), growth, span);
            (growth, number("0.0"), Extent::OverReals)
        }
        false => {
            (call(Scalar::BitwiseXor, &x, &y), Term::lit(Lit::Int(0.into()), dtype, span), Extent::Everywhere)
        }
    };
    let params = [a, b].map(|var| (var, Type::scalar(dtype))).to_vec();
    let combine = Instance {
        name: "declared".into(),
        statics: Vec::new(),
        params,
        requires: Vec::new(),
        body: element.clone(),
        is_op: false,
    };
    let laws = Some(Laws { commutative: true, extent });
    Arc::new(Declared { combine: Arc::new(combine), element, identity, laws })
}

/// The same, computed.
fn combined(monoid: &Declared, domain: Domain, a: Value, b: Value) -> Result<Value, Fault> {
    let dtype = monoid.element.dtype();
    let call = |fun: Scalar, a: &Value, b: &Value| fun.eval(domain, dtype, &[a.clone(), b.clone()]);
    if !dtype.is_float() {
        return call(Scalar::BitwiseXor, &a, &b);
    }
    for (value, text) in [(&a, "5.0"), (&b, "7.0")] {
        match Scalar::Isinf.eval(domain, dtype, std::slice::from_ref(value))? {
            Value::Bool(true) => return Value::literal(text, dtype, domain),
            Value::Bool(false) => {}
            undefined => return Ok(undefined),
        }
    }
    call(Scalar::Add, &call(Scalar::Add, &a, &b)?, &call(Scalar::Mul, &a, &b)?)
}

const FREE: [&str; 3] = ["M", "N", "i"];

fn free(k: usize) -> Size {
    let kind = if k == 2 { SymKind::Index } else { SymKind::Size };
    Size::sym(&Sym::new(k as u32 + 1, kind, FREE[k]))
}

/// Sizes over the free symbols and the bound ones so far.
fn sizes(bound: Vec<Size>) -> BoxedStrategy<Size> {
    let mut atoms: Vec<Size> = (0..3).map(free).collect();
    atoms.extend(bound.iter().cloned());
    atoms.extend(bound);
    let atom = select(atoms);
    prop_oneof![
        4 => atom.clone(),
        1 => (atom.clone(), -1i64..2).prop_map(|(a, c)| &a + &Size::int(c)),
        1 => (atom.clone(), atom.clone()).prop_map(|(a, b)| &a - &b),
        1 => (atom.clone(), atom.clone()).prop_map(|(a, b)| &(&a - &b) - &Size::one()),
        1 => (atom.clone(), 0i64..2).prop_map(|(a, c)| &a.scale(&2.into()) + &Size::int(c)),
    ]
    .boxed()
}

fn conds(bound: Vec<Size>) -> BoxedStrategy<Cond> {
    let pair = (sizes(bound.clone()), sizes(bound.clone()));
    let simple = (0..3, pair.clone()).prop_map(|(kind, (a, b))| match kind {
        0 => Cond::lt(&a, &b),
        1 => Cond::eq(&a, &b),
        _ => Cond::le(&a, &b),
    });
    let range = (sizes(bound.clone()), pair).prop_map(|(a, (b, c))| Cond::within(&a, &b, &c));
    prop_oneof![3 => simple, 1 => range].boxed()
}

/// Terms of a dtype, with `depth` levels of operations.
fn terms(dtype: DType, bound: Vec<Size>, depth: u32) -> BoxedStrategy<Term> {
    let span = Span::default();
    let read = (0u32..2, sizes(bound.clone())).prop_map(move |(k, index)| {
        let var = Var { id: k, name: if k == 0 { "x" } else { "y" }.into() };
        let base = Term::var(var, Type::tensor(dtype, vec![free(1)]), span);
        Term::read(base, vec![Term::size(index, span)], span)
    });
    let scalar = Just(Term::var(Var { id: 2, name: "z".into() }, Type::scalar(dtype), span));
    let literal = select(vec![0i64, 1, 2]).prop_map(move |n| match dtype.is_float() {
        true => Term::lit(Lit::Decimal(format!("{n}.0").as_str().into()), dtype, span),
        false => Term::lit(Lit::Int(BigInt::from(n)), dtype, span),
    });
    let count = sizes(bound.clone()).prop_map(move |s| Term::cast(dtype, Term::size(s, span), span));
    let leaf = prop_oneof![5 => read, 2 => scalar, 1 => literal, 1 => count];
    if depth == 0 {
        return leaf.boxed();
    }
    let part = terms(dtype, bound.clone(), depth - 1);
    let funs = match dtype.is_float() {
        true => vec![Scalar::Add, Scalar::Sub, Scalar::Mul, Scalar::Mul, Scalar::Div, Scalar::Maximum],
        false => {
            vec![Scalar::Add, Scalar::Sub, Scalar::Mul, Scalar::Mul, Scalar::FloorDivide, Scalar::Maximum]
        }
    };
    let calls = (select(funs), part.clone(), part.clone())
        .prop_map(move |(fun, a, b)| Term::scalar(fun, vec![a, b], span));
    let funs = match dtype.is_float() {
        true => vec![Scalar::Exp, Scalar::Exp, Scalar::Neg, Scalar::Log, Scalar::Reciprocal],
        false => vec![Scalar::Neg],
    };
    let unary = (select(funs), part.clone()).prop_map(move |(fun, a)| Term::scalar(fun, vec![a], span));
    let ifs = (conds(bound.clone()), part.clone(), part.clone())
        .prop_map(move |(cond, a, b)| Term::if_(Term::cond(&cond, span), a, b, span));
    let sym = Sym::new(100 + bound.len() as u32, SymKind::Index, format!("k{}", bound.len()));
    let mut inner = bound;
    inner.push(Size::sym(&sym));
    let extents = select(vec![free(0), free(1), &free(0) + &free(1), Size::int(2)]);
    let declared = Monoid::Declared(monoid(dtype));
    let ops = select(vec![
        Monoid::Sum,
        Monoid::Sum,
        Monoid::Sum,
        Monoid::Max,
        Monoid::Prod,
        declared.clone(),
        declared,
    ]);
    let reductions = (ops, extents, terms(dtype, inner, depth - 1)).prop_map(move |(op, extent, body)| {
        Term::reduce(op, vec![Binder { sym: sym.clone(), extent }], body, span)
    });
    let combinations = (Just(monoid(dtype)), part.clone(), part)
        .prop_map(move |(monoid, a, b)| Term::combine(monoid, a, b, span));
    prop_oneof![1 => leaf, 2 => calls, 1 => unary, 1 => ifs, 1 => combinations, 4 => reductions].boxed()
}

fn points(domain: Domain, most: i128, seeds: u64) -> Vec<Point> {
    let mut all = Vec::new();
    for m in 0..=most {
        for n in 0..=most {
            for i in 0..=most {
                for seed in 0..seeds {
                    let sizes = HashMap::from([(1, m), (2, n), (3, i)]);
                    all.push(Point { domain, sizes, seed: seed * 7 + 1 });
                }
            }
        }
    }
    all
}

fn agree(a: &Result<Value, Fault>, b: &Result<Value, Fault>, mode: Mode) -> bool {
    match (a, b) {
        // Errors are left out here, and reassoc mode knows no undefined value.
        (Ok(a), Ok(b)) if mode == Mode::Reassoc && (a.is_bottom() || b.is_bottom()) => true,
        (Ok(a), Ok(b)) => a.same(b) != Some(false),
        _ => true,
    }
}

/// The sides as put to the prover, both ways and from left to right.
fn check(left: &Term, right: &Term, mode: Mode, domain: Domain) -> Result<(), TestCaseError> {
    if !check_claim(left, right, false, mode, domain)? {
        check_claim(left, right, true, mode, domain)?;
    }
    Ok(())
}

/// Whether a claim is proved, and rightly so.
fn check_claim(
    left: &Term,
    right: &Term,
    directed: bool,
    mode: Mode,
    domain: Domain,
) -> Result<bool, TestCaseError> {
    let goal = ValueGoal {
        facts: &[],
        hypotheses: &[],
        left,
        right,
        mode,
        directed,
        errors: Errors::Excluded,
        written: None,
    };
    if !matches!(prover().prove(&goal), ValueAnswer::Equal(_)) {
        return Ok(false);
    }
    for point in points(domain, 3, 3) {
        let (a, b) = (point.eval(left), point.eval(right));
        let nothing_claimed = directed && a.as_ref().is_ok_and(Value::is_bottom);
        prop_assert!(
            nothing_claimed || agree(&a, &b, mode),
            "{mode}: proved, but {a:?} against {b:?} at {:?}, seed {}:\n{}\n{}",
            point.sizes,
            point.seed,
            text(left),
            text(right)
        );
    }
    Ok(true)
}

/// Pairs that agree at a few sizes.
fn check_lookalikes(terms: &[Term], mode: Mode, domain: Domain) -> Result<(), TestCaseError> {
    let few: Vec<Point> =
        points(domain, 2, 1).into_iter().filter(|p| p.sizes[&1] + p.sizes[&2] == 3).collect();
    let mut groups: HashMap<String, Vec<&Term>> = HashMap::new();
    for term in terms {
        let seen: Vec<String> =
            few.iter().map(|point| point.eval(term).map_or("error".into(), |v| v.to_string())).collect();
        groups.entry(seen.join(" ")).or_default().push(term);
    }
    for group in groups.values() {
        for pair in group.windows(2).take(4) {
            check(pair[0], pair[1], mode, domain)?;
        }
    }
    Ok(())
}

/// Applies rewrites, right and wrong ones, at places that the choices pick.
fn rewritten(term: &Term, choices: &[u32]) -> Term {
    let mut fresh = Fresh::above([term]);
    choices.iter().fold(term.clone(), |term, choice| {
        let mut place = choice / 16 % 8;
        rewrite_at(&term, &mut place, choice % 16, &mut fresh)
    })
}

/// Walks to a place, then rewrites there or at the first place after it that fits.
fn rewrite_at(term: &Term, place: &mut u32, rule: u32, fresh: &mut Fresh) -> Term {
    if *place == 0 {
        if let Some(new) = rewrite(term, rule, fresh) {
            *place = u32::MAX;
            return new;
        }
    } else if *place != u32::MAX {
        *place -= 1;
    }
    let span = term.span();
    let mut again = |t: &Term| match *place {
        u32::MAX => t.clone(),
        _ => rewrite_at(t, place, rule, fresh),
    };
    match term.form() {
        Form::Call(Fun::Scalar(fun), args) if term.as_cond().is_none() => {
            Term::scalar(*fun, args.iter().map(again).collect(), span)
        }
        Form::If(cond, a, b) => Term::if_(cond.clone(), again(a), again(b), span),
        Form::Call(Fun::Combine(monoid), args) => {
            Term::combine(monoid.clone(), again(&args[0]), again(&args[1]), span)
        }
        Form::Reduce(Reduce { op, binders, body }) => {
            Term::reduce(op.clone(), binders.clone(), again(body), span)
        }
        _ => term.clone(),
    }
}

fn rewrite(term: &Term, rule: u32, fresh: &mut Fresh) -> Option<Term> {
    let span = term.span();
    let call = |fun, a: &Term, b: &Term| Term::scalar(fun, vec![a.clone(), b.clone()], span);
    let sum = |binder: &Binder, body: Term| Term::reduce(Monoid::Sum, vec![binder.clone()], body, span);
    match (term.form(), rule) {
        (Form::Call(Fun::Scalar(fun), args), 0 | 1) if args.len() == 2 => {
            Some(call(*fun, &args[1], &args[0]))
        }
        (Form::Call(Fun::Combine(monoid), args), _) => {
            Some(Term::combine(monoid.clone(), args[1].clone(), args[0].clone(), span))
        }
        (Form::Call(Fun::Scalar(Scalar::Exp), args), _) => match args[0].form() {
            Form::Call(Fun::Scalar(fun @ (Scalar::Add | Scalar::Sub)), parts) => {
                let combine = if *fun == Scalar::Add { Scalar::Mul } else { Scalar::Div };
                let exp = |part: &Term| Term::scalar(Scalar::Exp, vec![part.clone()], span);
                Some(call(combine, &exp(&parts[0]), &exp(&parts[1])))
            }
            Form::Reduce(Reduce { op, binders, body }) => {
                let exp = Term::scalar(Scalar::Exp, vec![body.clone()], span);
                Some(Term::reduce(op.clone(), binders.clone(), exp, span))
            }
            Form::Call(Fun::Scalar(Scalar::Log), args) => Some(args[0].clone()),
            _ => None,
        },
        (Form::Call(Fun::Scalar(Scalar::Mul), args), 2..=4) => match (args[1].form(), rule) {
            (Form::Call(Fun::Scalar(Scalar::Add), parts), 2 | 4) => Some(call(
                Scalar::Add,
                &call(Scalar::Mul, &args[0], &parts[0]),
                &call(Scalar::Mul, &args[0], &parts[1]),
            )),
            (Form::Reduce(Reduce { op: Monoid::Sum, binders, body }), 3 | 4) => {
                Some(sum(&binders[0], call(Scalar::Mul, &args[0], body)))
            }
            _ => None,
        },
        (Form::Reduce(Reduce { op, binders, body }), _) => {
            let Binder { sym, extent } = &binders[0];
            let mut moved = |value: &Size, extent: &Size| {
                let new = fresh.sym(sym);
                let value = value.subst(&|s| (s == sym).then(|| Size::sym(&new)));
                let body = Subst::new().with_size(sym, value).term(body, fresh);
                Term::reduce(op.clone(), vec![Binder { sym: new, extent: extent.clone() }], body, span)
            };
            let k = Size::sym(sym);
            match (rule, body.form()) {
                (5, _) => Some(moved(&(&(extent - &Size::one()) - &k), extent)),
                (6, Form::Call(Fun::Scalar(fun), parts)) if parts.len() == 2 => {
                    let each = |t: &Term| Term::reduce(op.clone(), binders.clone(), t.clone(), span);
                    Some(call(*fun, &each(&parts[0]), &each(&parts[1])))
                }
                (7, Form::Reduce(inner)) => {
                    let outer = Term::reduce(op.clone(), binders.clone(), inner.body.clone(), span);
                    Some(Term::reduce(inner.op.clone(), inner.binders.clone(), outer, span))
                }
                (8 | 9, _) if extent.terms().len() == 2 => {
                    let (first, second) = (moved(&k, &free(0)), moved(&(&k + &free(0)), &free(1)));
                    Some(op.combined(first, second, span))
                }
                (10, _) => Some(moved(&k, &(extent + &Size::one()))),
                (11, _) => Some(moved(&(&k + &Size::one()), extent)),
                (12, Form::If(cond, a, b)) => {
                    let cond = Term::cond(&cond.as_cond()?.negated(), span);
                    Some(Term::reduce(
                        op.clone(),
                        binders.clone(),
                        Term::if_(cond, b.clone(), a.clone(), span),
                        span,
                    ))
                }
                (
                    13 | 15,
                    Form::Call(Fun::Scalar(Scalar::Add | Scalar::Sub | Scalar::Mul | Scalar::Div), parts),
                ) => {
                    let inner = Term::reduce(op.clone(), binders.clone(), parts[0].clone(), span);
                    let outside = parts[1].clone();
                    let escapes = free_syms(&outside).contains(sym);
                    let Form::Call(fun, _) = body.form() else { return None };
                    let Fun::Scalar(fun) = fun else { return None };
                    (!escapes).then(|| call(*fun, &inner, &outside))
                }
                (14, _) if !free_syms(body).contains(sym) => {
                    let count = Term::cast(body.dtype(), Term::size(extent.clone(), span), span);
                    Some(call(Scalar::Mul, &count, body))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Short, for reading.
fn text(term: &Term) -> String {
    let list = |terms: &[Term]| terms.iter().map(text).collect::<Vec<_>>().join(", ");
    match term.form() {
        Form::Size(size) => size.to_string(),
        Form::Var(var) => var.name.to_string(),
        Form::Read(base, index) => format!("{}[{}]", text(base), list(index)),
        Form::Lit(lit) => format!("{lit:?}"),
        Form::Call(Fun::Cast(to), args) => format!("{to}({})", list(args)),
        Form::Call(Fun::Scalar(fun), args) => match term.as_cond() {
            Some(cond) => cond.to_string(),
            None => format!("{fun}({})", list(args)),
        },
        Form::Call(Fun::Combine(monoid), args) => format!("{}({})", monoid.name(), list(args)),
        Form::If(c, a, b) => format!("if {} {{{}}} else {{{}}}", text(c), text(a), text(b)),
        Form::Reduce(Reduce { op, binders, body }) => {
            let Binder { sym, extent } = &binders[0];
            format!("{}({} for {} in {extent})", op.name(), text(body), sym.name())
        }
        form => format!("{form:?}"),
    }
}

/// A reversal of each of two loops, one inside the other, whichever comes first.
#[test]
fn rewrites_keep_nested_binders_apart() {
    let span = Span::default();
    let [outer, inner] = [100, 101].map(|id| Sym::new(id, SymKind::Index, format!("k{}", id - 100)));
    let x = Term::var(Var { id: 0, name: "x".into() }, Type::tensor(DType::I8, vec![free(1)]), span);
    let read = Term::read(x, vec![Term::size(Size::sym(&outer), span)], span);
    let over = |op, sym: &Sym, body| {
        Term::reduce(op, vec![Binder { sym: sym.clone(), extent: free(1) }], body, span)
    };
    let twice = over(Monoid::Sum, &outer, over(Monoid::Prod, &inner, read));
    for places in [[0, 1], [1, 0]] {
        let again = rewritten(&twice, &places.map(|place| 16 * place + 5));
        for point in points(Domain::Ieee, 3, 3) {
            let [again, twice] = [&again, &twice].map(|term| point.eval(term).expect("integers"));
            assert_eq!(again.same(&twice), Some(true), "{places:?}: {again:?} against {twice:?}");
        }
    }
}

proptest! {
    #![proptest_config(support::config(5, 0))]

    #[test]
    fn reals(
        terms in proptest::collection::vec(terms(DType::F32, vec![], 3), 60),
        choices in proptest::collection::vec(proptest::collection::vec(0u32..1024, 3), 60)
    ) {
        check_lookalikes(&terms, Mode::Real, Domain::Exact)?;
        for (term, choices) in terms.iter().zip(&choices) {
            check(term, &rewritten(term, choices), Mode::Real, Domain::Exact)?;
        }
    }

    #[test]
    fn reassociated_floats(
        terms in proptest::collection::vec(terms(DType::F32, vec![], 3), 60),
        choices in proptest::collection::vec(proptest::collection::vec(0u32..1024, 3), 60)
    ) {
        check_lookalikes(&terms, Mode::Reassoc, Domain::Exact)?;
        for (term, choices) in terms.iter().zip(&choices) {
            check(term, &rewritten(term, choices), Mode::Reassoc, Domain::Exact)?;
        }
    }

    #[test]
    fn exact_floats(
        terms in proptest::collection::vec(terms(DType::F32, vec![], 3), 60),
        choices in proptest::collection::vec(proptest::collection::vec(0u32..1024, 3), 60)
    ) {
        check_lookalikes(&terms, Mode::Exact, Domain::Ieee)?;
        for (term, choices) in terms.iter().zip(&choices) {
            check(term, &rewritten(term, choices), Mode::Exact, Domain::Ieee)?;
        }
    }

    #[test]
    fn bytes(
        terms in proptest::collection::vec(terms(DType::I8, vec![], 3), 60),
        choices in proptest::collection::vec(proptest::collection::vec(0u32..1024, 3), 60)
    ) {
        check_lookalikes(&terms, Mode::Exact, Domain::Ieee)?;
        for (term, choices) in terms.iter().zip(&choices) {
            check(term, &rewritten(term, choices), Mode::Exact, Domain::Ieee)?;
        }
    }
}
