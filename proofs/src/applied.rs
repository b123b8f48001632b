//! What a rule is about for sure, as its text says: the operators that its sides apply, the values that they are
//! computed from. A rule need not be elaborated for a program that lacks it.

use std::collections::{BTreeMap, BTreeSet};

use rtv_grammar::ast::{
    Args, Dim, Elem, Element, Expr, ExprKind, Generic, IndexItem, ItemKind, Param, TypeKind, UnaryOp,
};
use rtv_grammar::lower::{Choice, Ranks, operator_name};
use rtv_grammar::prelude::Prelude;
use rtv_semantics::dtype::DType;

use crate::module::Module;

/// Operators that are functions of sizes as well.
const OF_SIZES_TOO: [&str; 4] = ["min", "max", "abs", "all"];

/// By name, what an operator is directly applied to.
pub type Applied = BTreeMap<String, Operands>;

/// Results of these operators, and these parameters.
#[derive(Clone, Default, Debug)]
pub struct Operands {
    pub operators: BTreeSet<String>,
    pub params: BTreeSet<String>,
}

/// By side of the rule at a place, the operators that it applies whatever else it does; it does not stand
/// where one is missing. Of other claims nothing is sure.
pub fn surely_applied(module: &Module, at: usize) -> [Applied; 2] {
    let ItemKind::Rule(rule) = &module.items[at].kind else { return Default::default() };
    // Without brackets it is a size, a number or a list of axes.
    let tensors =
        rule.params.iter().filter(|param| matches!(param.ty.kind, TypeKind::Tensor { dims: Some(_), .. }));
    let tensors: BTreeSet<&str> = tensors.map(|param| param.name.name.as_str()).collect();
    [&rule.lhs, &rule.rhs].map(|side| {
        let mut looking = Looking { tensors: &tensors, surely: Applied::default() };
        looking.visit(side, None);
        looking.surely
    })
}

struct Looking<'a> {
    /// The parameters that are tensors.
    tensors: &'a BTreeSet<&'a str>,
    surely: Applied,
}

impl Looking<'_> {
    /// Looks at an expression of which the value of the side is made: an argument of the operator `above`, if that
    /// is sure.
    fn visit(&mut self, expr: &Expr, above: Option<&str>) {
        match &expr.kind {
            ExprKind::Call { fun, args: Args::List(args) } => {
                let Some(name) = operator(fun) else { return };
                let sure = !OF_SIZES_TOO.contains(&name.as_str());
                if sure {
                    self.applied(&name, above);
                }
                // What is not the first operand may be a size.
                args.first().into_iter().for_each(|arg| self.visit(&arg.value, sure.then_some(&name)));
            }
            ExprKind::Binary { op, lhs, rhs } if self.is_tensor(expr) => {
                let name = operator_name(*op);
                self.applied(name, above);
                [lhs, rhs].into_iter().for_each(|operand| self.visit(operand, Some(name)));
            }
            ExprKind::Unary { op, arg } if self.is_tensor(arg) => {
                let name = if *op == UnaryOp::Neg { "neg" } else { "logical_not" };
                self.applied(name, above);
                self.visit(arg, Some(name));
            }
            ExprKind::Index { base, items } => {
                let narrows = |item: &IndexItem| match item {
                    IndexItem::Slice { from, to, step, .. } => {
                        [from, to, step].into_iter().any(Option::is_some)
                    }
                    _ => false,
                };
                if items.iter().any(narrows) && self.is_tensor(base) {
                    self.applied("getitem", None);
                }
                self.visit(base, None);
            }
            ExprKind::Field { base, .. } => self.visit(base, None),
            ExprKind::Tuple(parts) => parts.iter().for_each(|part| self.visit(part, None)),
            ExprKind::List(parts) => parts.iter().for_each(|part| match part {
                Element::Expr(part) => self.visit(part, None),
                Element::Splat(_) => {}
            }),
            ExprKind::Name(name) if self.tensors.contains(name.as_str()) => {
                self.of(above).map(|operands| operands.params.insert(name.to_string()));
            }
            _ => {}
        }
    }

    fn applied(&mut self, name: &str, above: Option<&str>) {
        self.surely.entry(name.into()).or_default();
        self.of(above).map(|operands| operands.operators.insert(name.into()));
    }

    fn of(&mut self, above: Option<&str>) -> Option<&mut Operands> {
        self.surely.get_mut(above?)
    }

    /// Whether it is computed from the elements of a tensor, rather than from sizes: a tensor stands in it, and
    /// nothing that looks at shapes.
    fn is_tensor(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => self.tensors.contains(name.as_str()),
            ExprKind::Binary { lhs, rhs, .. } => self.is_tensor(lhs) || self.is_tensor(rhs),
            ExprKind::Unary { arg, .. } => self.is_tensor(arg),
            ExprKind::Index { base, .. } => self.is_tensor(base),
            ExprKind::Call { fun, args: Args::List(args) } => {
                operator(fun).is_some() && args.first().is_some_and(|arg| self.is_tensor(&arg.value))
            }
            _ => false,
        }
    }
}

/// The most axes that a parameter of the rule at a place has, where a rank variable stands for so many.
pub fn most_axes(module: &Module, at: usize, rank: usize) -> usize {
    let ItemKind::Rule(rule) = &module.items[at].kind else { return 0 };
    let axes = |param: &Param| match &param.ty.kind {
        TypeKind::Tensor { dims, .. } => {
            dims.iter().flatten().map(|dim| if matches!(dim, Dim::Splat(_)) { rank } else { 1 }).sum()
        }
        _ => 0,
    };
    rule.params.iter().map(axes).max().unwrap_or(0)
}

/// A dtype and a number of axes.
pub type Kind = (DType, usize);

/// The kinds of the tensors that the rule at a place takes at a choice, by parameter, as far as its text says them:
/// it does not stand where there is no value of one.
pub fn kinds_taken(module: &Module, at: usize, choice: &Choice) -> BTreeMap<String, Kind> {
    let (ItemKind::Rule(rule), Ranks::Fixed(rank)) = (&module.items[at].kind, choice.ranks) else {
        return BTreeMap::new();
    };
    let is_rank = |name: &str| {
        rule.generics.iter().any(|generic| matches!(generic, Generic::Rank(rank) if rank.name == name))
    };
    let dtype = |elem: &Elem| match elem {
        Elem::DType(dtype, _) => Some(*dtype),
        Elem::Name(name) => choice.dtypes.iter().find(|(of, _)| **of == *name.name).map(|(_, dtype)| *dtype),
        Elem::Apply { .. } => None,
    };
    let axes = |dim: &Dim| match dim {
        Dim::Size(_) => Some(1),
        Dim::Splat(splat) => match &splat.value.kind {
            ExprKind::Name(name) if is_rank(name) => Some(rank),
            _ => None,
        },
        Dim::Exists(_) => None,
    };
    let kind = |param: &Param| match &param.ty.kind {
        TypeKind::Tensor { elem, dims: Some(dims), .. } => {
            let kind = (dtype(elem)?, dims.iter().map(axes).sum::<Option<usize>>()?);
            Some((param.name.name.to_string(), kind))
        }
        _ => None,
    };
    rule.params.iter().filter_map(kind).collect()
}

/// The operator of the library that a called name means.
fn operator(fun: &Expr) -> Option<String> {
    match &fun.kind {
        ExprKind::Name(name) => Prelude::shared().meant(name).map(|source| source.name().to_string()),
        _ => None,
    }
}
