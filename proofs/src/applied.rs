//! Which operators the sides of a rule apply, as far as the text says, so that most rules need
//! not be elaborated for a program that lacks what they are about.

use std::collections::BTreeSet;

use rtv_grammar::ast::{Args, BinaryOp, Element, Expr, ExprKind, ItemKind, RuleClause};
use rtv_grammar::lower::operator_name;
use rtv_grammar::prelude::Prelude;

use crate::module::Module;

/// Operators that are functions of sizes as well.
const OF_SIZES_TOO: [&str; 4] = ["min", "max", "abs", "all"];

/// Operators beside the binary ones that are written without their name.
const FROM_SYMBOLS: [&str; 8] =
    ["neg", "logical_not", "t", "transpose", "slice", "select", "unsqueeze", "expand"];

/// The names of operators in an expression.
#[derive(Clone, Default, Debug)]
pub struct Applied {
    /// Those that are applied whatever else is: the rule does not stand where one is missing.
    pub surely: BTreeSet<String>,
    /// All that may be.
    pub perhaps: BTreeSet<String>,
}

/// What the sides of the item at a place apply. Nothing is sure of a claim that is no rule; one that rests on
/// other items, or has `let`s, perhaps applies what symbols stand for and all that is named anywhere.
pub fn applied(module: &Module, at: usize) -> [Applied; 2] {
    let ItemKind::Rule(rule) = &module.items[at].kind else {
        return [Applied::default(), Applied { perhaps: everything(module, at), ..Applied::default() }];
    };
    let side = |expr: &Expr| {
        let mut found = Applied::default();
        found.visit(expr, true);
        found
    };
    let mut sides = [side(&rule.lhs), side(&rule.rhs)];
    let has_lets = rule.clauses.iter().any(|clause| matches!(clause, RuleClause::Let { .. }));
    if has_lets || !module.reached(at).is_empty() {
        let everything = everything(module, at);
        sides.iter_mut().for_each(|side| side.perhaps.extend(everything.iter().cloned()));
    }
    sides
}

fn everything(module: &Module, at: usize) -> BTreeSet<String> {
    let named = module.names(at).into_iter();
    named
        .chain(BinaryOp::ALL.map(|op| operator_name(op).to_string()))
        .chain(FROM_SYMBOLS.map(String::from))
        .collect()
}

impl Applied {
    /// `sure` where the value of the expression is a tensor that the side is made of.
    fn visit(&mut self, expr: &Expr, sure: bool) {
        match &expr.kind {
            ExprKind::Call { fun, args } => self.call(fun, args, sure),
            ExprKind::Binary { op, lhs, rhs } => {
                if sure && *op == BinaryOp::MatMul {
                    self.surely.insert("matmul".into());
                }
                self.perhaps.insert(operator_name(*op).into());
                self.visit(lhs, sure);
                self.visit(rhs, sure);
            }
            ExprKind::Unary { arg, .. } => {
                self.perhaps.extend(["neg", "logical_not"].map(String::from));
                self.visit(arg, sure);
            }
            ExprKind::Field { base, .. } => {
                self.perhaps.extend(["t", "transpose"].map(String::from));
                self.visit(base, sure);
            }
            ExprKind::Index { base, .. } => {
                self.perhaps.extend(["slice", "select", "unsqueeze"].map(String::from));
                self.visit(base, sure);
            }
            ExprKind::Tuple(parts) => parts.iter().for_each(|part| self.visit(part, sure)),
            ExprKind::List(parts) => parts.iter().for_each(|part| match part {
                Element::Expr(part) => self.visit(part, sure),
                Element::Splat(_) => {}
            }),
            ExprKind::Comprehension { body, .. } => self.visit(body, false),
            ExprKind::If { cond, then, otherwise } => {
                [cond, then, otherwise].into_iter().for_each(|part| self.visit(part, false));
            }
            ExprKind::Name(_)
            | ExprKind::DType(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Bool(_)
            | ExprKind::Error => {}
        }
    }

    fn call(&mut self, fun: &Expr, args: &Args, sure: bool) {
        let name = match &fun.kind {
            ExprKind::Name(name) => Prelude::shared().meant(name).map(|source| source.name().to_string()),
            _ => None,
        };
        match args {
            Args::Generator { body, .. } => self.visit(body, false),
            Args::List(args) => {
                // What is not the first operand may be a size.
                let operands = args.iter().enumerate();
                operands.for_each(|(at, arg)| self.visit(&arg.value, sure && at == 0 && name.is_some()));
                if let Some(name) = name {
                    if sure && !OF_SIZES_TOO.contains(&name.as_str()) {
                        self.surely.insert(name.clone());
                    }
                    self.perhaps.insert(name);
                }
            }
        }
    }
}
