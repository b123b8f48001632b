//! A counterexample as a `test` block.
//!
//! The names that a claim declares are bound to what they are in the counterexample, then
//! the two sides are compared as they stand: the test fails as long as the claim is wrong
//! there, by the same difference.

use crate::counterexample::{Counterexample, written_out};
use rtv_grammar::ast::{
    Args, BinaryOp, Clause, Def, DefKind, Expr, ExprKind, Item, ItemKind, Pat, Rule, RuleClause, Stmt,
    StmtKind,
};
use rtv_grammar::{parse, print::print_item};
use rtv_semantics::diag::FileId;
use rtv_semantics::program::Mode;

/// Statements that bind further names, and the two sides.
type Sides = (Vec<Stmt>, Expr, Expr);

/// The block, named after the claim. None where its body has statements that a test
/// cannot have.
pub fn as_test(item: &Item, found: &Counterexample) -> Option<String> {
    let (lets, left, right) = match &item.kind {
        ItemKind::Rule(rule) => rule_sides(rule),
        ItemKind::Def(def) => decomp_sides(def)?,
        _ => return None,
    };
    let text = format!("rtl 1.0\ntest {}_counterexample {{{}}}", found.instance.name, frame(found));
    let mut test = parse(FileId(0), &text).file.items.pop()?;
    let ItemKind::Test { body, .. } = &mut test.kind else { return None };
    let mut last = body.stmts.pop()?;
    body.stmts.extend(lets);
    compare(&mut last, left, right)?;
    body.stmts.push(last);
    Some(print_item(&test))
}

/// The declared names with their values, dtypes and sizes before the tensors; and a
/// comparison of two sides that are not there yet.
fn frame(found: &Counterexample) -> String {
    let dtypes = found.dtypes().iter().map(|(name, dtype)| format!("let {name} = {dtype}\n"));
    // Sizes that rtv made up, such as the number of elements of a rank variable, have no
    // names.
    let named = |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let sizes = found.sizes().into_iter().filter(|(name, _)| named(name));
    let sizes = sizes.map(|(name, value)| format!("let {name} = {value}\n"));
    let inputs = found.inputs().map(|(name, tensor)| format!("let {name} = {}\n", written_out(tensor)));
    let assert = match found.instance.mode {
        Mode::Exact => "assert a == b".to_string(),
        mode @ (Mode::Reassoc | Mode::Real) => format!("assert a == b upto {mode}"),
        Mode::Close { rtol, atol, ulp } => {
            let ulp = ulp.map_or(String::new(), |ulp| format!(", ulp = {ulp}"));
            format!("assert close(a, b, rtol = {rtol:?}, atol = {atol:?}{ulp})")
        }
    };
    dtypes.chain(sizes).chain(inputs).collect::<String>() + &assert
}

/// Puts the sides into a comparison.
fn compare(assert: &mut Stmt, left: Expr, right: Expr) -> Option<()> {
    let StmtKind::Assert { value, .. } = &mut assert.kind else { return None };
    match &mut value.kind {
        ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs } => (**lhs, **rhs) = (left, right),
        ExprKind::Call { args: Args::List(args), .. } => {
            (args.get_mut(0)?.value, args.get_mut(1)?.value) = (left, right);
        }
        _ => return None,
    }
    Some(())
}

fn rule_sides(rule: &Rule) -> Sides {
    let lets = rule.clauses.iter().filter_map(|clause| match clause {
        RuleClause::Let { pat, value } => Some(binding(pat, value)),
        RuleClause::Clause(_) => None,
    });
    (lets.collect(), rule.lhs.clone(), rule.rhs.clone())
}

fn binding(pat: &Pat, value: &Expr) -> Stmt {
    Stmt { kind: StmtKind::Let { pat: pat.clone(), ty: None, value: value.clone() }, span: value.span }
}

/// What is refined, and the result of the body.
fn decomp_sides(def: &Def) -> Option<Sides> {
    let refined = def.clauses.iter().find_map(|clause| match clause {
        Clause::Refines(expr) => Some(expr.clone()),
        _ => None,
    });
    let (mut lets, mut result) = (Vec::new(), None);
    for stmt in &def.body.stmts {
        match &stmt.kind {
            StmtKind::Let { .. } => lets.push(stmt.clone()),
            StmtKind::Return(expr) => result = Some(expr.clone()),
            _ => return None,
        }
    }
    Some((lets, operator_call(def).or(refined)?, result?))
}

/// `decomp NAME for OP`: the operator on the parameters.
fn operator_call(def: &Def) -> Option<Expr> {
    let DefKind::Decomp { of: Some(path) } = &def.kind else { return None };
    let name = path.parts.last()?;
    let names: Vec<&str> = def.params.iter().map(|param| param.name.name.as_str()).collect();
    let text = format!("rtl 1.0\nconst c: f32 = {}({})", name.name, names.join(", "));
    match parse(FileId(0), &text).file.items.pop()?.kind {
        ItemKind::Const { value, .. } => Some(value),
        _ => None,
    }
}
