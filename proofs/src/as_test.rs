//! A counterexample as a `test` block.
//!
//! The names that a claim declares are bound to what they are in the counterexample, then
//! the two sides are compared as they stand: the test fails as long as the claim is wrong
//! there, by the same difference.

use crate::counterexample::{Counterexample, element, written_out};
use rtv_grammar::ast::{Clause, Def, DefKind, Expr, Item, ItemKind, Pat, Rule, RuleClause, Stmt, StmtKind};
use rtv_grammar::{parse, print::print_item};
use rtv_semantics::diag::FileId;
use rtv_semantics::dtype::DType;
use rtv_semantics::program::Mode;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::types::Type;

/// The two sides, with the statements that bind further names for both of them, and for
/// the right one only.
struct Sides {
    before: Vec<Stmt>,
    left: Expr,
    between: Vec<Stmt>,
    right: Expr,
}

/// The block, named after the claim. None where its body has statements that a test
/// cannot have.
pub fn as_test(item: &Item, found: &Counterexample) -> Option<String> {
    let sides = match &item.kind {
        ItemKind::Rule(rule) => rule_sides(rule),
        ItemKind::Def(def) => decomp_sides(def)?,
        _ => return None,
    };
    let parts = match found.instance.lhs.ty() {
        Type::Tuple(parts) => Some(parts.len()),
        _ => None,
    };
    let name = |side: &str, part: usize| format!("{side}_{part}");
    let names = |side| (0..parts.unwrap_or(0)).map(|part| name(side, part)).collect::<Vec<_>>();
    let pattern = |side| match parts {
        Some(_) => format!("({})", names(side).join(", ")),
        None => side.to_string(),
    };
    let compared: Vec<(String, String)> = match parts {
        Some(_) => names("left").into_iter().zip(names("right")).collect(),
        None => vec![("left".to_string(), "right".to_string())],
    };
    let asserts = compared.iter().map(|(left, right)| assertion(left, right, found.instance.mode));
    let text = format!(
        "rtl 1.0\ntest {}_counterexample {{\n{}let {} = 0\nlet {} = 0\n{}}}",
        found.instance.name,
        given(found),
        pattern("left"),
        pattern("right"),
        asserts.collect::<String>(),
    );
    let mut parsed = parse(FileId(0), &text);
    // The components of a parameter that is a tuple have no names.
    let mut test = parsed.file.items.pop().filter(|_| parsed.diagnostics.is_empty())?;
    let ItemKind::Test { body, .. } = &mut test.kind else { return None };
    let mut rest = body.stmts.split_off(body.stmts.len().checked_sub(2 + compared.len())?);
    let asserts = rest.split_off(2);
    let mut values = [sides.left, sides.right].into_iter();
    for stmt in &mut rest {
        let StmtKind::Let { value, .. } = &mut stmt.kind else { return None };
        *value = values.next()?;
    }
    let mut rest = rest.into_iter();
    body.stmts.extend(sides.before);
    body.stmts.extend(rest.next());
    body.stmts.extend(sides.between);
    body.stmts.extend(rest.chain(asserts));
    Some(print_item(&test))
}

/// The declared names with their values, dtypes and sizes before the tensors.
fn given(found: &Counterexample) -> String {
    let dtypes = found.dtypes().iter().map(|(name, dtype)| format!("let {name} = {dtype}\n"));
    // Sizes that rtv made up, such as the number of elements of a rank variable, have no
    // names.
    let named = |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let sizes = found.sizes().into_iter().filter(|(name, _)| named(name));
    let sizes = sizes.map(|(name, value)| format!("let {name} = {value}\n"));
    let inputs = found.inputs().map(|(name, tensor)| format!("let {name} = {}\n", typed(tensor)));
    dtypes.chain(sizes).chain(inputs).collect()
}

/// A number alone has no dtype yet.
fn typed(tensor: &Tensor) -> String {
    match tensor.rank() {
        0 if tensor.dtype != DType::Bool => {
            let number = tensor.item().map_or(String::new(), |value| element(value, tensor.dtype));
            format!("{}({number})", tensor.dtype)
        }
        _ => written_out(tensor),
    }
}

fn assertion(left: &str, right: &str, mode: Mode) -> String {
    match mode {
        Mode::Exact => format!("assert {left} == {right}\n"),
        Mode::Reassoc | Mode::Real => format!("assert {left} == {right} upto {mode}\n"),
        Mode::Close { rtol, atol, ulp } => {
            let ulp = ulp.map_or(String::new(), |ulp| format!(", ulp = {ulp}"));
            format!("assert close({left}, {right}, rtol = {rtol:?}, atol = {atol:?}{ulp})\n")
        }
    }
}

fn rule_sides(rule: &Rule) -> Sides {
    let lets = rule.clauses.iter().filter_map(|clause| match clause {
        RuleClause::Let { pat, value } => Some(binding(pat, value)),
        RuleClause::Clause(_) => None,
    });
    let (left, right) = (rule.lhs.clone(), rule.rhs.clone());
    Sides { before: lets.collect(), left, between: Vec::new(), right }
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
    // The names of its body may hide those of its parameters.
    Some(Sides { before: Vec::new(), left: operator_call(def).or(refined)?, between: lets, right: result? })
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
