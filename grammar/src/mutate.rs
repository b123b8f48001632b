//! Small mistakes made in an item on purpose: each version differs from what was written
//! at one place, as a slip would.
//!
//! What proves or tests an item should tell it from nearly all of them. They come in the
//! order of the text, each once; whether one types, or means something else at all, is
//! not looked at.

mod slips;

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{
    Arg, Args, Arrow, BinaryOp, Binder, Block, Clause, Def, DefKind, Dim, Element, Else, Expr, ExprKind,
    Generic, Ident, IndexItem, Item, ItemKind, Mode, Param, Rule, RuleClause, Splat, Stmt, StmtKind, Type,
    TypeKind,
};
use crate::print::{print_expr, print_item, print_type};
use slips::{relaxed, slips, steps, swapped, whole, wider_class};

/// An item with one mistake.
#[derive(Clone, PartialEq, Debug)]
pub struct Mutant {
    pub slip: Slip,
    /// What became what: "`a <= b` becomes `a < b`", and where if it occurs again.
    pub change: String,
    pub item: Item,
}

/// What kind of mistake was made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Slip {
    /// A precondition is left out, or asks less.
    Precondition,
    /// `<` for `<=`, an index, extent or integer one too large or too small.
    OffByOne,
    /// Two arguments, operands, axes or branches in each other's place.
    Swapped,
    /// An operator or function that is often confused with the one meant.
    Neighbour,
    /// Another number, truth value, sign or negation.
    Literal,
    /// A call or operator left out: its first argument alone.
    LeftOut,
    /// A division of sizes that rounds the other way.
    Rounding,
    /// Another dtype, or a larger class of them.
    DType,
    /// More is claimed: both directions, or agreement of more digits.
    Stronger,
}

impl Slip {
    pub fn name(self) -> &'static str {
        match self {
            Slip::Precondition => "precondition",
            Slip::OffByOne => "off by one",
            Slip::Swapped => "swapped",
            Slip::Neighbour => "neighbour",
            Slip::Literal => "literal",
            Slip::LeftOut => "left out",
            Slip::Rounding => "rounding",
            Slip::DType => "dtype",
            Slip::Stronger => "stronger",
        }
    }
}

/// Every version of a rule, decomposition or definition with one mistake; none of
/// other items.
pub fn mutants(item: &Item) -> Vec<Mutant> {
    let mut seen = BTreeSet::from([print_item(item)]);
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for number in 0.. {
        let mut item = item.clone();
        let mut walk = Walk { left: number, made: None, alike: BTreeMap::new() };
        walk.item(&mut item);
        let Some((slip, change)) = walk.made else { break };
        if seen.insert(print_item(&item)) {
            let place = places.entry(change.clone()).or_default();
            *place += 1;
            let change = if *place == 1 { change } else { format!("{change} at place {place}") };
            found.push(Mutant { slip, change, item });
        }
    }
    found
}

/// A walk through an item that makes one of its mistakes: the one after `left` others.
struct Walk {
    left: usize,
    made: Option<(Slip, String)>,
    /// On the right side of a rule: each parameter, and the others of its type.
    alike: BTreeMap<String, Vec<String>>,
}

impl Walk {
    /// Whether the mistake at hand is the one to be made.
    fn makes(&mut self, slip: Slip, change: impl FnOnce() -> String) -> bool {
        if self.made.is_some() {
            return false;
        }
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        self.made = Some((slip, change()));
        true
    }

    /// Puts a value in the place of another if that is the mistake to be made.
    fn put<T>(&mut self, slip: Slip, at: &mut T, other: T, text: impl Fn(&T) -> String) {
        let line = |value: &T| text(value).split_whitespace().collect::<Vec<_>>().join(" ");
        if self.makes(slip, || format!("`{}` becomes `{}`", line(at), line(&other))) {
            *at = other;
        }
    }

    fn item(&mut self, item: &mut Item) {
        match &mut item.kind {
            ItemKind::Rule(rule) => self.rule(rule),
            ItemKind::Def(def) => self.def(def),
            ItemKind::Use(_)
            | ItemKind::Const { .. }
            | ItemKind::Vjp { .. }
            | ItemKind::Test { .. }
            | ItemKind::Error => {}
        }
    }

    fn rule(&mut self, rule: &mut Rule) {
        rule.generics.iter_mut().for_each(|generic| self.generic(generic));
        rule.clauses.iter_mut().for_each(|clause| match clause {
            RuleClause::Clause(clause) => self.clause(clause),
            RuleClause::Let { value, .. } => self.expr(value),
        });
        rule.clauses.retain(|part| !matches!(part, RuleClause::Clause(clause) if !says_something(clause)));
        if rule.arrow == Arrow::Refines && self.makes(Slip::Stronger, || "`=>` becomes `<=>`".into()) {
            rule.arrow = Arrow::Both;
        }
        self.expr(&mut rule.lhs);
        // Not on the left side: that would be the same mistake seen from there.
        self.alike = alike(&rule.params);
        if self.is_of_parameters(&rule.rhs) {
            for (slip, other) in whole(&rule.rhs) {
                self.put(slip, &mut rule.rhs, other, print_expr);
            }
        }
        self.expr(&mut rule.rhs);
    }

    /// Whether next to nothing inside can be mistaken: a parameter, an entry of one, a product of two, or a call of
    /// parameters and numbers alone.
    fn is_of_parameters(&self, expr: &Expr) -> bool {
        let is_parameter =
            |expr: &Expr| matches!(&expr.kind, ExprKind::Name(name) if self.alike.contains_key(name));
        let is_number = |expr: &Expr| matches!(expr.kind, ExprKind::Int(_));
        match &expr.kind {
            ExprKind::Call { args: Args::List(list), .. } => {
                list.iter().all(|arg| is_parameter(&arg.value) || is_number(&arg.value))
            }
            ExprKind::Binary { op: BinaryOp::MatMul, lhs, rhs } => is_parameter(lhs) && is_parameter(rhs),
            ExprKind::Index { base, items } => {
                let is_place = |item: &IndexItem| matches!(item, IndexItem::Expr(place) if is_number(place));
                is_parameter(base) && items.iter().all(is_place)
            }
            _ => is_parameter(expr),
        }
    }

    fn def(&mut self, def: &mut Def) {
        let claims = matches!(def.kind, DefKind::Decomp { .. } | DefKind::Impl);
        if claims {
            def.generics.iter_mut().for_each(|generic| self.generic(generic));
        }
        for clause in &mut def.clauses {
            match clause {
                // What a definition says of its precision is no part of its meaning.
                Clause::Upto(_) if !claims => {}
                clause => self.clause(clause),
            }
        }
        def.clauses.retain(says_something);
        def.ret.iter_mut().for_each(|ty| self.result(ty));
        self.block(&mut def.body);
    }

    fn generic(&mut self, generic: &mut Generic) {
        let Generic::DType { class, .. } = generic else { return };
        for wider in wider_class(&class.name) {
            let other = Ident { name: (*wider).into(), span: class.span };
            self.put(Slip::DType, class, other, |class| class.name.clone());
        }
    }

    /// A precondition with one condition less, or one that asks less.
    fn weaker(&mut self, conditions: &mut Vec<Expr>) {
        for at in 0..conditions.len() {
            let text = || format!("`{}` is not required", print_expr(&conditions[at]));
            if self.makes(Slip::Precondition, text) {
                conditions.remove(at);
                return;
            }
            for other in relaxed(&conditions[at]) {
                self.put(Slip::Precondition, &mut conditions[at], other, print_expr);
            }
        }
    }

    fn clause(&mut self, clause: &mut Clause) {
        match clause {
            Clause::Upto(mode) => self.mode(mode),
            Clause::Refines(call) => self.expr(call),
            Clause::Requires(conditions) => self.weaker(conditions),
            Clause::Ensures(_) | Clause::Invariant(_) | Clause::Decreases(_) => {}
        }
    }

    /// Agreement of all bits; between `real` and `reassoc` no input decides.
    fn mode(&mut self, mode: &mut Mode) {
        if ["real", "reassoc"].contains(&mode.name.name.as_str()) {
            let other = Mode { name: Ident { name: "exact".into(), span: mode.name.span }, args: None };
            self.put(Slip::Stronger, mode, other, |mode| format!("upto {}", mode.name.name));
        }
    }

    /// The shape of a result.
    fn result(&mut self, ty: &mut Type) {
        match &mut ty.kind {
            TypeKind::Tensor { dims, .. } => dims.iter_mut().flatten().for_each(|dim| match dim {
                Dim::Size(size) => self.extent(size),
                Dim::Splat(splat) => self.expr(&mut splat.value),
                Dim::Exists(_) => {}
            }),
            TypeKind::Tuple(parts) => parts.iter_mut().for_each(|ty| self.result(ty)),
            TypeKind::List(ty) => self.result(ty),
            TypeKind::Fn { .. } => {}
        }
    }

    fn block(&mut self, block: &mut Block) {
        block.stmts.iter_mut().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Let { value, .. } | StmtKind::Return(value) | StmtKind::Assert { value, .. } => {
                self.expr(value);
            }
            StmtKind::For { binders, body, .. } => {
                self.binders(binders);
                self.block(body);
            }
            StmtKind::While { cond, body, .. } => {
                self.expr(cond);
                self.block(body);
            }
            StmtKind::If(branch) => {
                self.expr(&mut branch.cond);
                self.block(&mut branch.then);
                match &mut branch.otherwise {
                    Some(Else::Block(block)) => self.block(block),
                    Some(Else::If(stmt)) => self.stmt(stmt),
                    None => {}
                }
            }
            StmtKind::Assign { value, .. } => self.expr(value),
            StmtKind::Place(_) | StmtKind::Error => {}
        }
    }

    /// An index or extent: also one more and one less.
    fn extent(&mut self, expr: &mut Expr) {
        for other in steps(expr) {
            self.put(Slip::OffByOne, expr, other, print_expr);
        }
        self.expr(expr);
    }

    fn expr(&mut self, expr: &mut Expr) {
        if self.made.is_some() {
            return;
        }
        for (slip, other) in slips(expr) {
            self.put(slip, expr, other, print_expr);
        }
        if let ExprKind::Name(name) = &expr.kind {
            for other in self.alike.get(name).cloned().unwrap_or_default() {
                let other = Expr { kind: ExprKind::Name(other), span: expr.span };
                self.put(Slip::Swapped, expr, other, print_expr);
            }
        }
        match &mut expr.kind {
            ExprKind::Unary { arg, .. } => self.expr(arg),
            ExprKind::Binary { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            ExprKind::Field { base, .. } => self.expr(base),
            ExprKind::Index { base, items } => {
                self.expr(base);
                items.iter_mut().for_each(|item| self.index_item(item));
            }
            ExprKind::Call { fun, args } => self.args(fun, args),
            ExprKind::Tuple(parts) => parts.iter_mut().for_each(|part| self.expr(part)),
            ExprKind::List(elements) => elements.iter_mut().for_each(|element| match element {
                Element::Expr(expr) => self.expr(expr),
                Element::Splat(splat) => self.expr(&mut splat.value),
            }),
            ExprKind::Comprehension { body, binders } => {
                self.expr(body);
                self.binders(binders);
            }
            ExprKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.expr(then);
                self.expr(otherwise);
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

    fn index_item(&mut self, item: &mut IndexItem) {
        match item {
            IndexItem::Expr(expr) => self.extent(expr),
            IndexItem::Splat(splat) => self.splat(splat),
            IndexItem::Ellipsis(_) => {}
            IndexItem::Slice { from, to, step, .. } => {
                from.iter_mut().chain(to).chain(step).for_each(|bound| self.extent(bound));
            }
        }
    }

    fn splat(&mut self, splat: &mut Splat) {
        self.extent(&mut splat.value);
    }

    fn args(&mut self, fun: &Expr, args: &mut Args) {
        match args {
            Args::List(list) => {
                for (first, second) in swapped(fun, list) {
                    let text = |args: &Vec<Arg>| {
                        let texts: Vec<String> = args.iter().map(|arg| print_expr(&arg.value)).collect();
                        texts.join(", ")
                    };
                    let mut other = list.clone();
                    other.swap(first, second);
                    self.put(Slip::Swapped, list, other, text);
                }
                list.iter_mut().for_each(|arg| self.expr(&mut arg.value));
            }
            Args::Generator { body, binders } => {
                self.expr(body);
                self.binders(binders);
            }
        }
    }

    fn binders(&mut self, binders: &mut [Binder]) {
        for binder in binders {
            match binder {
                Binder::Below { bound, .. } => self.extent(bound),
                Binder::Range { from, to, .. } => {
                    self.extent(from);
                    self.extent(to);
                }
                Binder::Splat { over, .. } => self.expr(&mut over.value),
            }
        }
    }
}

/// Each parameter of a rule, and the others of its type.
fn alike(params: &[Param]) -> BTreeMap<String, Vec<String>> {
    let others = |param: &Param| {
        let of_its_type = print_type(&param.ty);
        let same =
            |other: &&Param| other.name.name != param.name.name && print_type(&other.ty) == of_its_type;
        params.iter().filter(same).map(|other| other.name.name.clone()).collect()
    };
    params.iter().map(|param| (param.name.name.clone(), others(param))).collect()
}

/// A `requires` that lost its only condition says nothing.
fn says_something(clause: &Clause) -> bool {
    !matches!(clause, Clause::Requires(conditions) if conditions.is_empty())
}
