//! Structural keys of reductions: a text that two of them share only if they are the
//! same up to names of bound indices and the values of some free size expressions.
//!
//! Invariant: the value of a reduction is a function of its key and of the values of the
//! key's arguments. The arguments are the largest parts of sizes without bound
//! indices, so `sum(x[i+1, k] for k in K)` is a function of `i+1` and `K`.

use std::fmt::Write;

use rtv_semantics::size::{Atom, Monomial, Size, Sym};
use rtv_semantics::term::{Binder, Form, Fun, Lit, Loop, Reduce, Term, Var};
use rtv_semantics::types::Type;

use crate::solver::Reason;

/// Longest key; a longer one is not worth comparing.
const MAX_TEXT: usize = 1 << 16;

/// A key with its arguments, in the order of their places in the text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Key {
    pub text: String,
    pub args: Vec<Size>,
}

/// The key of a reduction.
pub(crate) fn reduce_key(reduce: &Reduce) -> Result<Key, Reason> {
    let mut writer = Writer::default();
    writer.reduce(reduce)?;
    Ok(writer.key)
}

/// The key of an ordered fold.
pub(crate) fn fold_key(fold: &Loop, ty: &Type) -> Result<Key, Reason> {
    let mut writer = Writer::default();
    writer.fold(fold, ty)?;
    Ok(writer.key)
}

/// Name of the tensor that a read is from: a variable or a component of one.
pub(crate) fn base_name(base: &Term) -> Result<String, Reason> {
    match base.form() {
        Form::Var(var) => Ok(format!("{} v{}", var.name, var.id)),
        Form::Call(Fun::Item(k), args) => match args.as_slice() {
            [tuple] => Ok(format!("{}.{k}", base_name(tuple)?)),
            _ => Err(unsupported("a component of several values")),
        },
        _ => Err(unsupported("a read of a computed tensor")),
    }
}

pub(crate) fn unsupported(what: impl Into<String>) -> Reason {
    Reason::Unsupported(what.into())
}

#[derive(Default)]
struct Writer {
    key: Key,
    bound: Vec<Sym>,
    /// What folds have come to, outermost first.
    states: Vec<Var>,
}

impl Writer {
    /// For a part, in the same scope.
    fn inner(&self) -> Writer {
        Writer { key: Key::default(), bound: self.bound.clone(), states: self.states.clone() }
    }

    fn put(&mut self, text: impl AsRef<str>) -> Result<(), Reason> {
        self.key.text.push_str(text.as_ref());
        if self.key.text.len() > MAX_TEXT {
            return Err(unsupported("a term of this size"));
        }
        Ok(())
    }

    fn list(&mut self, head: &str, terms: &[Term]) -> Result<(), Reason> {
        self.put("(")?;
        self.put(head)?;
        for term in terms {
            self.put(" ")?;
            self.term(term)?;
        }
        self.put(")")
    }

    fn term(&mut self, term: &Term) -> Result<(), Reason> {
        match term.form() {
            Form::Size(size) => self.size(size),
            Form::Lit(lit) => {
                let text = literal_text(lit, term.ty());
                self.put(text)
            }
            Form::Var(var) if self.states.contains(var) => {
                let level = self.states.iter().rposition(|state| state == var);
                self.put(format!("%{}", level.expect("invariant: just seen")))
            }
            Form::Call(Fun::Item(k), args) if self.is_computed(&args[0]) => {
                self.list(&format!("item {k}"), args)
            }
            Form::Var(_) | Form::Call(Fun::Item(_), _) => {
                let name = base_name(term)?;
                self.put(format!("|{name}|"))
            }
            Form::Call(Fun::Scalar(fun), args) => {
                let of = args.first().map(|arg| arg.ty().to_string()).unwrap_or_default();
                self.list(&format!("{fun}:{of}"), args)
            }
            Form::Call(Fun::Cast(dtype), args) => {
                let from = args.first().map(|arg| arg.ty().to_string()).unwrap_or_default();
                self.list(&format!("{from}->{dtype}"), args)
            }
            Form::Read(base, index) => {
                let name = base_name(base)?;
                self.list(&format!("|{name}|"), index)
            }
            Form::If(cond, then, other) => self.list("if", &[cond.clone(), then.clone(), other.clone()]),
            Form::Reduce(reduce) => self.reduce(reduce),
            Form::Call(Fun::Combine(monoid), args) => self.list(&format!("combine {}", monoid.name()), args),
            Form::Call(Fun::Op(instance), _) => {
                Err(unsupported(format!("a call of `{}` that is not unfolded", instance.name)))
            }
            Form::Comp(..) => Err(unsupported("a tensor inside a scalar")),
            Form::Let(..) => Err(unsupported("a `let` inside a reduction")),
            Form::Tuple(parts) => self.list("tuple", parts),
            Form::Loop(fold) => self.fold(fold, term.ty()),
            Form::Write(_) => Err(unsupported("a write")),
        }
    }

    /// Whether a tuple is what a fold has come to, or anything but a parameter.
    fn is_computed(&self, tuple: &Term) -> bool {
        match tuple.form() {
            Form::Var(var) => self.states.contains(var),
            _ => base_name(tuple).is_err(),
        }
    }

    fn reduce(&mut self, reduce: &Reduce) -> Result<(), Reason> {
        let outer = self.bound.len();
        self.put(format!("({}:{}", reduce.op.name(), reduce.body.ty()))?;
        for Binder { sym, extent } in &reduce.binders {
            // An extent may use the binders before it.
            self.put(" ")?;
            self.size(extent)?;
            self.bound.push(sym.clone());
        }
        self.put(" ")?;
        self.term(&reduce.body)?;
        self.bound.truncate(outer);
        self.put(")")
    }

    fn fold(&mut self, fold: &Loop, ty: &Type) -> Result<(), Reason> {
        let ([(state, init)], Some(counter), None) = (fold.state.as_slice(), &fold.counter, &fold.condition)
        else {
            return Err(unsupported("a loop"));
        };
        self.put(format!("(fold:{ty} "))?;
        self.term(init)?;
        self.put(" ")?;
        self.size(&counter.extent)?;
        self.bound.push(counter.sym.clone());
        self.states.push(state.clone());
        self.put(" ")?;
        self.term(&fold.step)?;
        self.bound.pop();
        self.states.pop();
        self.put(")")
    }

    /// The part without bound indices becomes one argument; the monomials with bound
    /// indices are written out, in the order of their texts.
    fn size(&mut self, size: &Size) -> Result<(), Reason> {
        let is_free = |monomial: &Monomial| monomial.iter().all(|(atom, _)| self.is_free(atom));
        let (free, bound): (Vec<_>, Vec<_>) =
            size.terms().iter().partition(|(monomial, _)| is_free(monomial));
        let mut parts = Vec::new();
        for (monomial, coefficient) in bound {
            let mut part = self.inner();
            part.put(coefficient.to_string())?;
            part.monomial(monomial)?;
            parts.push(part.key);
        }
        parts.sort_by(|a, b| a.text.cmp(&b.text));
        self.put("[")?;
        let constant = free.iter().all(|(monomial, _)| monomial.is_empty());
        let free = free.into_iter().fold(Size::zero(), |sum, (monomial, coefficient)| {
            let product = monomial.iter().fold(Size::int(coefficient.clone()), |product, factor| {
                let (atom, power) = factor;
                (0..*power).fold(product, |product, _| &product * &Size::atom(atom.clone()))
            });
            &sum + &product
        });
        if constant && !parts.is_empty() {
            self.put(free.to_string())?;
        } else {
            self.put("$")?;
            self.key.args.push(free);
        }
        for part in parts {
            self.put(" ")?;
            self.put(part.text)?;
            self.key.args.extend(part.args);
        }
        self.put("]")
    }

    fn monomial(&mut self, monomial: &Monomial) -> Result<(), Reason> {
        // Factors without bound indices are one argument, whatever their order.
        let free = monomial.iter().filter(|(atom, _)| self.is_free(atom));
        let product = free.fold(Size::one(), |product, (atom, power)| {
            (0..*power).fold(product, |product, _| &product * &Size::atom(atom.clone()))
        });
        if !product.is_one() {
            self.put("*$")?;
            self.key.args.push(product);
        }
        let mut parts = Vec::new();
        for (atom, power) in monomial.iter().filter(|(atom, _)| !self.is_free(atom)) {
            let mut part = self.inner();
            part.atom(atom)?;
            part.put(format!("^{power}"))?;
            parts.push(part.key);
        }
        parts.sort_by(|a, b| a.text.cmp(&b.text));
        for part in parts {
            self.put("*")?;
            self.put(part.text)?;
            self.key.args.extend(part.args);
        }
        Ok(())
    }

    fn atom(&mut self, atom: &Atom) -> Result<(), Reason> {
        let (head, a, b) = match atom {
            Atom::Sym(sym) => {
                let level = self.bound.iter().rposition(|bound| bound == sym);
                let level = level.expect("invariant: only bound symbols are written");
                return self.put(format!("#{level}"));
            }
            Atom::Div(a, b) => ("div", a, b),
            Atom::Min(a, b) => ("min", a, b),
            Atom::Max(a, b) => ("max", a, b),
        };
        self.put(head)?;
        self.size(a)?;
        self.size(b)
    }

    fn is_free(&self, atom: &Atom) -> bool {
        let free = |size: &Size| size.syms().iter().all(|sym| !self.bound.contains(sym));
        match atom {
            Atom::Sym(sym) => !self.bound.contains(sym),
            Atom::Div(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => free(a) && free(b),
        }
    }
}

fn literal_text(lit: &Lit, ty: &Type) -> String {
    let mut text = String::new();
    let _ = match lit {
        Lit::Bool(value) => write!(text, "{value}"),
        Lit::Int(value) => write!(text, "{value}:{ty}"),
        Lit::Decimal(decimal) => write!(text, "{decimal}:{ty}"),
        Lit::Inf => write!(text, "inf:{ty}"),
        Lit::NegInf => write!(text, "-inf:{ty}"),
        Lit::Nan => write!(text, "nan:{ty}"),
        Lit::Pi => write!(text, "pi:{ty}"),
    };
    text
}
