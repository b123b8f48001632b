//! The state of an evaluation: values in scope, limits used up, results kept.

use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::deps::Deps;
use super::error::{EvalError, Res, codes, error, from_size_fault};
use super::shared::Memo;
use super::{Datum, Env, Limits};
use crate::cancel;
use crate::diag::Span;
use crate::dtype::DType;
use crate::scalar::{Domain, Value};
use crate::size::{Size, Sym};
use crate::tensor::{Tensor, element_count};
use crate::term::{Term, Var};

/// Levels of nesting evaluated on one stack, and the size of further stacks. The
/// first levels must fit beside the caller's own frames in a 2 MiB stack.
const LEVELS_PER_STACK: usize = 100;
const FURTHER_STACK: usize = 2 << 20;

/// A value while evaluating. Tensors of rank 0 are always `Scalar`.
#[derive(Clone, Debug)]
pub(super) enum Val {
    Size(i128),
    Scalar(DType, Value),
    Tensor(Arc<Held>),
    Tuple(Arc<Vec<Val>>),
}

/// A tensor counted against the limit on elements as long as it lives.
#[derive(Debug)]
pub(super) struct Held {
    pub tensor: Tensor,
    _share: Share,
}

/// A number of elements taken from the limit; given back when dropped.
#[derive(Debug)]
pub(super) struct Share {
    pub count: usize,
    pool: Arc<AtomicUsize>,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.fetch_sub(self.count, Ordering::Relaxed);
    }
}

/// A variable in scope. Equal stamps mean the same value.
pub(super) struct Bound {
    pub id: u32,
    pub stamp: u64,
    pub value: Val,
}

pub(super) struct Machine<'l> {
    pub domain: Domain,
    limits: &'l Limits,
    /// Symbols and variables in scope, innermost last.
    pub syms: Vec<(Sym, i128)>,
    pub vars: Vec<Bound>,
    depth: usize,
    steps: u64,
    last_stamp: u64,
    /// Comprehensions and reductions being run through.
    pub loops: usize,
    pool: Arc<AtomicUsize>,
    /// By the address of the term, which the caller keeps alive.
    pub memo: FxHashMap<usize, Memo>,
    pub deps: FxHashMap<usize, Arc<Deps>>,
    pub size_conditions: FxHashMap<usize, bool>,
    pub literals: FxHashMap<usize, Value>,
}

/// How much was in scope, to return to after a failed attempt.
pub(super) struct Mark {
    syms: usize,
    vars: usize,
    depth: usize,
    loops: usize,
}

impl<'l> Machine<'l> {
    pub fn new(env: &Env, domain: Domain, limits: &'l Limits) -> Res<Machine<'l>> {
        let mut machine = Machine {
            domain,
            limits,
            syms: env.sizes.iter().map(|(s, v)| (s.clone(), i128::from(*v))).collect(),
            vars: Vec::new(),
            depth: 0,
            steps: 0,
            last_stamp: 0,
            loops: 0,
            pool: Arc::default(),
            memo: FxHashMap::default(),
            deps: FxHashMap::default(),
            size_conditions: FxHashMap::default(),
            literals: FxHashMap::default(),
        };
        for (var, datum) in &env.vars {
            let value = machine.hold(datum)?;
            machine.bind(var, value, None);
        }
        Ok(machine)
    }

    /// An input as a value, counted against the limit on elements.
    fn hold(&self, datum: &Datum) -> Res<Val> {
        Ok(match datum {
            Datum::Size(n) => Val::Size(*n),
            Datum::Tensor(t) => {
                let share = self.reserve(t.shape(), Span::default())?;
                let tensor = match self.domain {
                    Domain::Ieee | Domain::Field => t.clone(),
                    Domain::Exact => t.to_exact(),
                };
                Val::tensor(tensor, share)
            }
            Datum::Tuple(parts) => {
                let values: Res<Vec<Val>> = parts.iter().map(|p| self.hold(p)).collect();
                Val::Tuple(Arc::new(values?))
            }
        })
    }

    /// Brings a variable into scope; `stamp` if its value is one already known.
    pub fn bind(&mut self, var: &Var, value: Val, stamp: Option<u64>) {
        let stamp = stamp.unwrap_or_else(|| self.fresh_stamp());
        self.vars.push(Bound { id: var.id, stamp, value });
    }

    pub fn fresh_stamp(&mut self) -> u64 {
        self.last_stamp += 1;
        self.last_stamp
    }

    pub fn lookup(&self, var: &Var, span: Span) -> Res<&Bound> {
        match self.vars.iter().rev().find(|b| b.id == var.id) {
            Some(bound) => Ok(bound),
            None => error(None, codes::UNBOUND, span, format!("no value for `{}`", var.name)),
        }
    }

    pub fn sym(&self, sym: &Sym) -> Option<i128> {
        self.syms.iter().rev().find(|(s, _)| s == sym).map(|(_, v)| *v)
    }

    pub fn size(&self, size: &Size, span: Span) -> Res<i128> {
        // Most indices are one symbol.
        if let Some(value) = size.as_sym().and_then(|sym| self.sym(sym)) {
            return Ok(value);
        }
        match size.eval(&|sym| self.sym(sym)) {
            Ok(value) => Ok(value),
            Err(fault) => from_size_fault(fault, span),
        }
    }

    pub fn mark(&self) -> Mark {
        let (syms, vars) = (self.syms.len(), self.vars.len());
        Mark { syms, vars, depth: self.depth, loops: self.loops }
    }

    pub fn restore(&mut self, mark: Mark) {
        self.syms.truncate(mark.syms);
        self.vars.truncate(mark.vars);
        self.depth = mark.depth;
        self.loops = mark.loops;
    }

    /// Takes the elements of a tensor of this shape from the limit.
    pub fn reserve(&self, shape: &[usize], span: Span) -> Res<Share> {
        let most = self.limits.max_elements;
        let Some(count) = element_count(shape).filter(|n| *n <= most) else {
            return error(
                None,
                codes::ELEMENTS,
                span,
                format!("a tensor of shape {shape:?} exceeds the limit of {most} elements"),
            );
        };
        let held = self.pool.fetch_add(count, Ordering::Relaxed);
        let share = Share { count, pool: self.pool.clone() };
        if held.saturating_add(count) > most {
            return error(
                None,
                codes::ELEMENTS,
                span,
                format!("a tensor of shape {shape:?} beside {held} elements exceeds the limit of {most}"),
            );
        }
        Ok(share)
    }

    /// Counts a visit of `term` and runs `visit` one level deeper, on a further stack
    /// where this one may be used up.
    pub fn nested<T: Send>(&mut self, term: &Term, visit: impl FnOnce(&mut Self) -> Res<T> + Send) -> Res<T> {
        self.step(term)?;
        if self.depth >= self.limits.max_depth {
            return self.too_deep(term);
        }
        self.depth += 1;
        let result = if self.depth.is_multiple_of(LEVELS_PER_STACK) {
            self.on_further_stack(term, visit)
        } else {
            visit(self)
        };
        self.depth = self.depth.saturating_sub(1);
        result
    }

    pub fn step(&mut self, term: &Term) -> Res<()> {
        self.steps += 1;
        if self.steps <= self.limits.max_steps {
            return Ok(());
        }
        let message = format!("more than {} steps", self.limits.max_steps);
        error(None, codes::STEPS, term.span(), message)
    }

    fn too_deep<T>(&self, term: &Term) -> Res<T> {
        let message = format!("nested deeper than {} levels", self.limits.max_depth);
        error(None, codes::DEPTH, term.span(), message)
    }

    fn on_further_stack<T: Send>(
        &mut self,
        term: &Term,
        visit: impl FnOnce(&mut Self) -> Res<T> + Send,
    ) -> Res<T> {
        let (depth, flag) = (self.depth, cancel::flag());
        std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().stack_size(FURTHER_STACK);
            match builder.spawn_scoped(scope, || cancel::unless(flag, || visit(self))) {
                Ok(handle) => match handle.join() {
                    Ok(Ok(result)) => result,
                    Ok(Err(cancelled)) => std::panic::resume_unwind(Box::new(cancelled)),
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                Err(fault) => error(
                    None,
                    codes::DEPTH,
                    term.span(),
                    format!("no further stack at {depth} levels: {fault}"),
                ),
            }
        })
    }
}

impl Val {
    /// A tensor, or the scalar it is.
    pub fn tensor(tensor: Tensor, share: Share) -> Val {
        match tensor.item() {
            Some(value) if tensor.rank() == 0 => Val::Scalar(tensor.dtype, value.clone()),
            _ => Val::Tensor(Arc::new(Held { tensor, _share: share })),
        }
    }

    pub fn into_datum(self) -> Datum {
        match self {
            Val::Size(n) => Datum::Size(n),
            Val::Scalar(dtype, value) => Datum::Tensor(Tensor::scalar(dtype, value)),
            Val::Tensor(held) => Datum::Tensor(match Arc::try_unwrap(held) {
                Ok(held) => held.tensor,
                Err(held) => held.tensor.clone(),
            }),
            Val::Tuple(parts) => Datum::Tuple(parts.iter().map(|v| v.clone().into_datum()).collect()),
        }
    }

    pub fn type_text(&self) -> String {
        match self {
            Val::Size(_) => "size".to_string(),
            Val::Scalar(dtype, _) => format!("{dtype}[]"),
            Val::Tensor(held) => held.tensor.type_text(),
            Val::Tuple(parts) => {
                let texts: Vec<String> = parts.iter().map(Val::type_text).collect();
                format!("({})", texts.join(", "))
            }
        }
    }

    /// The scalar this is; terms of scalar type evaluate to nothing else.
    pub fn into_value(self, term: &Term) -> Res<Value> {
        match self {
            Val::Scalar(_, value) => Ok(value),
            other => Err(ill_typed(term, &other)),
        }
    }
}

/// A value does not have the type its term promised: the term was built wrongly, or
/// an input does not fit its variable.
pub(super) fn ill_typed(term: &Term, value: &Val) -> Box<EvalError> {
    let message = format!("a value of type {} where {} is expected", value.type_text(), term.ty());
    Box::new(EvalError { class: None, code: codes::UNBOUND, message, span: term.span(), trace: Vec::new() })
}
