//! The core as text: one operation a line, every line with its type, no sugar.
//!
//! Broadcasting shows as `expand`, conversion as a dtype call, a precondition checked at
//! entry as `requires`. The text is the language again and parses.

use rtv_semantics::entail::Cond;
use rtv_semantics::program::{Claim, Function, Input, Param};
use rtv_semantics::size::{Size, Sym, SymKind};
use rtv_semantics::subst::{Fresh, Subst, lets};
use rtv_semantics::term::{Binder, Form, Fun, Instance, Lit, Loop, Require, Term, Var};
use rtv_semantics::types::{Type, extent_text};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A function as core text.
pub fn function(f: &Function) -> String {
    written(f, Body::default())
}

/// Which operands of a call with static arguments are given by name: static ones may stand between or
/// before others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Naming {
    #[default]
    None,
    AfterFirst,
    All,
}

/// A function as core text, operands being named.
pub fn function_naming(f: &Function, naming: Naming) -> String {
    written(f, Body { naming, ..Body::default() })
}

fn written(f: &Function, mut body: Body) -> String {
    for param in &f.params {
        body.taken.insert(param.name.to_string());
        if let Input::Value(_, Type::Tensor(t)) = &param.input {
            let syms = t.shape.iter().flat_map(Size::syms);
            body.taken.extend(syms.map(|sym| sym.name().to_string()));
        }
    }
    let result = body.operand(&f.body);
    let head = signature(&f.name, &f.params, f.body.ty(), "fn");
    // That `numel(S)` counts the elements of `*S` goes without saying.
    let ties = |c: &&Cond| {
        let mut syms = BTreeSet::new();
        c.collect_syms(&mut syms);
        syms.iter().any(|s| s.kind() == SymKind::Group)
    };
    let requires = requires_text(
        &f.facts.iter().filter(|c| !ties(c)).map(|c| c.to_string()).collect::<Vec<_>>(),
        &f.requires,
    );
    format!("{head}{requires}\n{{\n{}  return {result}\n}}\n", body.lines)
}

/// A term in operator form as one expression; `…` stands for what is more than so many operations deep.
pub fn phrase(term: &Term, depth: usize) -> String {
    Body::default().phrase(term, depth)
}

/// The two sides of a claim as functions `NAME_left` and `NAME_right`.
pub fn claim(c: &Claim) -> String {
    let side = |suffix: &str, term: &Term| {
        function(&Function {
            name: format!("{}_{suffix}", c.name).into(),
            params: c.params.clone(),
            facts: c.facts.clone(),
            requires: c.requires.clone(),
            body: term.clone(),
        })
    };
    format!("{}\n{}", side("left", &c.lhs), side("right", &c.rhs))
}

fn signature(name: &str, params: &[Param], result: &Type, keyword: &str) -> String {
    let mut syms = BTreeSet::new();
    for param in params {
        match &param.input {
            Input::Value(_, Type::Tensor(t)) => t.shape.iter().for_each(|s| s.collect_syms(&mut syms)),
            Input::Value(..) => {}
            Input::Size(_) => {}
        }
    }
    let given: Vec<&Sym> =
        params.iter().filter_map(|p| if let Input::Size(s) = &p.input { Some(s) } else { None }).collect();
    let generics: Vec<String> = syms
        .iter()
        .filter(|s| !given.contains(s))
        .map(|s| if s.kind() == SymKind::Group { format!("*{}", s.name()) } else { s.name().to_string() })
        .collect();
    let generics = if generics.is_empty() { String::new() } else { format!("[{}]", generics.join(", ")) };
    let params: Vec<String> = params
        .iter()
        .map(|p| match &p.input {
            Input::Value(_, ty) => format!("{}: {ty}", p.name),
            Input::Size(s) => {
                format!("{}: {}", p.name, if s.kind() == SymKind::Int { "int" } else { "size" })
            }
        })
        .collect();
    format!("{keyword} {name}{generics}({}) -> {result}", params.join(", "))
}

fn requires_text(facts: &[String], requires: &[Require]) -> String {
    let all: Vec<String> = facts.iter().cloned().chain(requires.iter().map(|r| r.text.clone())).collect();
    if all.is_empty() { String::new() } else { format!("\n  requires {}", all.join(", ")) }
}

/// Lines written so far, and what each variable is called in them.
#[derive(Default)]
struct Body {
    lines: String,
    names: BTreeMap<Var, String>,
    taken: BTreeSet<String>,
    /// Up to which number each name was tried with one.
    tried: BTreeMap<String, usize>,
    /// The names of indices in scope.
    indices: Vec<String>,
    counter: usize,
    naming: Naming,
}

impl Body {
    /// A term as something that can stand as an argument: a name or a scalar literal.
    fn operand(&mut self, term: &Term) -> String {
        match term.form() {
            Form::Var(v) => self.name(v),
            Form::Lit(_) | Form::Size(_) => self.inline(term),
            Form::Let(..) => {
                let body = self.bind(term);
                self.operand(body)
            }
            _ => {
                let text = self.operation(term);
                let name = self.temporary();
                self.line(&name, term.ty(), &text);
                name
            }
        }
    }

    /// Writes what a chain of `let`s binds, names for names and literals aside, and gives what is under them.
    fn bind<'t>(&mut self, term: &'t Term) -> &'t Term {
        let (chain, body) = lets(term);
        for (v, value) in chain {
            let name = match value.form() {
                Form::Var(_) | Form::Lit(_) => self.inline(value),
                _ => {
                    let text = self.operation(value);
                    let name = self.unused(&v.name);
                    self.line(&name, value.ty(), &text);
                    name
                }
            };
            self.names.insert(v.clone(), name);
        }
        body
    }

    fn phrase(&mut self, term: &Term, depth: usize) -> String {
        match (term.form(), depth.checked_sub(1)) {
            (Form::Var(_) | Form::Lit(_) | Form::Size(_), _) => self.inline(term),
            (_, None) => "…".into(),
            (Form::Let(..), Some(left)) => {
                let (chain, body) = lets(term);
                for (v, value) in chain {
                    let phrase = self.phrase(value, left);
                    self.names.insert(v.clone(), phrase);
                }
                self.inline(body)
            }
            (Form::Call(Fun::Op(instance), args), Some(left)) => {
                let args: Vec<String> = args.iter().map(|arg| self.phrase(arg, left)).collect();
                call_text(instance, &args, self.naming)
            }
            (Form::Call(Fun::Item(k), args), Some(left)) => format!("{}[{k}]", self.phrase(&args[0], left)),
            (Form::Tuple(parts), Some(left)) => {
                let parts: Vec<String> = parts.iter().map(|part| self.phrase(part, left)).collect();
                format!("({})", parts.join(", "))
            }
            _ => self.inline(term),
        }
    }

    fn name(&self, v: &Var) -> String {
        self.names.get(v).cloned().unwrap_or_else(|| v.name.to_string())
    }

    fn unused(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_string()) {
            return name.to_string();
        }
        let tried = self.tried.entry(name.to_string()).or_insert(1);
        loop {
            *tried += 1;
            let candidate = format!("{name}{tried}");
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }

    fn temporary(&mut self) -> String {
        self.counter += 1;
        let name = format!("t{}", self.counter);
        self.unused(&name)
    }

    fn line(&mut self, name: &str, ty: &Type, text: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.lines, "  let {name}: {ty} = {text}");
    }

    /// One operation, its operands named by lines before it.
    fn operation(&mut self, term: &Term) -> String {
        match term.form() {
            Form::Call(Fun::Op(instance), args) => {
                let args: Vec<String> = args.iter().map(|a| self.operand(a)).collect();
                call_text(instance, &args, self.naming)
            }
            Form::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.operand(p)).collect();
                format!("({})", parts.join(", "))
            }
            Form::If(cond, then, otherwise) if !term.is_scalar() => {
                let parts = [cond, then, otherwise].map(|t| self.operand(t));
                format!("if {} {{ {} }} else {{ {} }}", parts[0], parts[1], parts[2])
            }
            Form::Let(..) => {
                let body = self.bind(term);
                self.operation(body)
            }
            _ => self.inline(term),
        }
    }

    /// `fold(f, init)(e for ..)`.
    fn fold(&mut self, l: &Loop) -> String {
        let mut binders = Vec::new();
        if let Some((state, step)) = counters(l, &mut binders)
            && let Form::Call(Fun::Op(function), args) = step.form()
            && let [first, element] = args.as_slice()
            && matches!(first.form(), Form::Var(v) if v == state)
        {
            let init = self.inline(&l.state[0].1);
            return format!("fold({}, {init})({})", function.name, self.under(&binders, element));
        }
        "loop".into()
    }

    /// `e for i in N`, each index by a name that nothing in scope has.
    fn under(&mut self, binders: &[Binder], body: &Term) -> String {
        let outer = self.indices.len();
        let mut fresh = Fresh::above([body]);
        let mut names = Subst::new();
        let mut renamed = Vec::new();
        for Binder { sym, extent } in binders {
            let extent = names.size(extent);
            let mut name = sym.name().to_string();
            for k in 2.. {
                if !self.taken.contains(&name) && !self.indices.contains(&name) {
                    break;
                }
                name = format!("{}{k}", sym.name());
            }
            let own = Sym::new(fresh.id(), sym.kind(), name.clone());
            names = names.with_size(sym, Size::sym(&own));
            renamed.push(Binder { sym: own, extent });
            self.indices.push(name);
        }
        let body = names.term(body, &mut fresh);
        let text = format!("{} for {}", self.inline(&body), binders_text(&renamed));
        self.indices.truncate(outer);
        text
    }

    /// A scalar expression, written out.
    fn inline(&mut self, term: &Term) -> String {
        match term.form() {
            Form::Size(s) => s.to_string(),
            Form::Lit(lit) => literal_text(lit, term),
            Form::Var(v) => self.name(v),
            Form::Call(Fun::Scalar(fun), args) => {
                let args: Vec<String> = args.iter().map(|a| self.inline(a)).collect();
                format!("{fun}({})", args.join(", "))
            }
            Form::Call(Fun::Cast(dtype), args) => format!("{dtype}({})", self.inline(&args[0])),
            Form::Call(Fun::Item(k), args) => format!("{}[{k}]", self.inline(&args[0])),
            Form::Call(Fun::Op(instance), args) => {
                let args: Vec<String> = args.iter().map(|a| self.inline(a)).collect();
                call_text(instance, &args, self.naming)
            }
            Form::Read(base, index) => {
                let base = if let Form::Var(v) = base.form() { self.name(v) } else { self.operand(base) };
                let index: Vec<String> = index.iter().map(|i| self.inline(i)).collect();
                format!("{base}[{}]", index.join(", "))
            }
            Form::Comp(binders, body) => format!("[{}]", self.under(binders, body)),
            Form::Call(Fun::Combine(monoid), args) => {
                let args: Vec<String> = args.iter().map(|a| self.inline(a)).collect();
                format!("{}({})", monoid.name(), args.join(", "))
            }
            Form::Reduce(r) if r.op.declared().is_some() => {
                format!("reduce({})({})", r.op.name(), self.under(&r.binders, &r.body))
            }
            Form::Reduce(r) => format!("{}({})", r.op.name(), self.under(&r.binders, &r.body)),
            Form::If(cond, then, otherwise) => {
                let [cond, then, otherwise] = [cond, then, otherwise].map(|t| self.inline(t));
                format!("if {cond} {{ {then} }} else {{ {otherwise} }}")
            }
            Form::Let(..) => self.operand(term),
            Form::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.inline(p)).collect();
                format!("({})", parts.join(", "))
            }
            Form::Loop(l) => self.fold(l),
            Form::Write(_) => "write".into(),
        }
    }
}

/// The binders of a fold, from the outermost, and its last step: nested loops over one state.
fn counters<'t>(l: &'t Loop, into: &mut Vec<Binder>) -> Option<(&'t Var, &'t Term)> {
    let ([(state, _)], Some(counter), None) = (l.state.as_slice(), &l.counter, &l.condition) else {
        return None;
    };
    into.push(counter.clone());
    match l.step.form() {
        Form::Loop(inner) if matches!(inner.state[0].1.form(), Form::Var(v) if v == state) => {
            counters(inner, into)
        }
        _ => Some((state, &l.step)),
    }
}

fn binders_text(binders: &[Binder]) -> String {
    let one = |b: &Binder| {
        let star = if b.extent.is_group() { "*" } else { "" };
        format!("{star}{} in {}", b.sym.name(), extent_text(&b.extent))
    };
    binders.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A call as the surface writes it.
fn call_text(instance: &Instance, args: &[String], naming: Naming) -> String {
    let value = |k: usize| instance.statics.get(k).map_or("", |(_, text)| text);
    match &*instance.name {
        "getitem" => format!("{}{}", args.first().map_or("", String::as_str), value(0)),
        "to" => format!("{}({})", value(0), args.join(", ")),
        "einsum" => format!("einsum({}, {})", value(0), args.join(", ")),
        name => {
            let mut all: Vec<String> = args.to_vec();
            let unnamed = match naming {
                Naming::AfterFirst if !instance.statics.is_empty() => 1,
                Naming::All if !instance.statics.is_empty() => 0,
                _ => all.len(),
            };
            for ((var, _), arg) in instance.params.iter().zip(&mut all).skip(unnamed) {
                *arg = format!("{} = {arg}", var.name);
            }
            let named = |(k, v): &(std::sync::Arc<str>, String)| {
                if &**k == "pattern" { v.clone() } else { format!("{k} = {v}") }
            };
            all.extend(instance.statics.iter().map(named));
            format!("{name}({})", all.join(", "))
        }
    }
}

fn literal_text(lit: &Lit, term: &Term) -> String {
    let text = match lit {
        Lit::Bool(b) => return b.to_string(),
        Lit::Int(k) => k.to_string(),
        Lit::Decimal(text) => text.to_string(),
        Lit::Inf => "inf".into(),
        Lit::NegInf => "-inf".into(),
        Lit::Nan => "nan".into(),
        Lit::Pi => "pi".into(),
    };
    format!("{}({text})", term.dtype())
}
