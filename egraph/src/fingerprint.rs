//! Values of the terms of the graph at one random input in a finite field: terms that are made
//! one have equal values.
//!
//! This proves nothing; it shows that a rule is wrong, or applied where it does not hold. What a
//! residue cannot say (see Note [Fields] in `semantics`) is left open, and so is everything where
//! the sizes of the program are large.

use egg::Id;
use rtv_semantics::derivation::parts;
use rtv_semantics::dtype::DType;
use rtv_semantics::entail::Cond;
use rtv_semantics::eval::{Datum, Env, Limits, eval};
use rtv_semantics::guess::counterexample;
use rtv_semantics::program::{Function, Input};
use rtv_semantics::scalar::{Domain, Residue, Value};
use rtv_semantics::size::{Size, Sym};
use rtv_semantics::tensor::Tensor;
use rtv_semantics::term::{Form, Var};
use rtv_semantics::types::Type;
use rustc_hash::FxHashMap;

use crate::graph::Graph;

/// Elements of one value, and of all values that are computed for one graph.
const ELEMENTS: usize = 256;
const ALL_ELEMENTS: usize = 200_000;

/// Work on one value.
const LIMITS: Limits = Limits { max_elements: 4_096, max_steps: 40_000, max_depth: 200 };

pub struct Fingerprints {
    sizes: FxHashMap<Sym, i64>,
    inputs: FxHashMap<Var, Tensor>,
    /// By id; nothing where a residue does not say.
    known: FxHashMap<Id, Option<Datum>>,
    elements: usize,
}

impl Fingerprints {
    /// Of a function at the smallest sizes that its preconditions allow; nothing where that is too large, or
    /// values have preconditions.
    pub fn of(function: &Function) -> Option<Fingerprints> {
        if !function.requires.is_empty() {
            return None;
        }
        let some = |size: &Size| Cond::non_neg(size - &Size::one());
        let params = function.params.iter().filter_map(|param| match &param.input {
            Input::Value(var, Type::Tensor(t)) => Some((var, t)),
            _ => None,
        });
        let extents = params.clone().flat_map(|(_, t)| t.shape.iter().map(some));
        let facts: Vec<Cond> = function.facts.iter().cloned().chain(extents).collect();
        let found = counterexample(&facts, &Cond::False)?;
        let sizes: FxHashMap<Sym, i64> =
            found.into_iter().map(|(sym, n)| Some((sym, i64::try_from(n).ok()?))).collect::<Option<_>>()?;
        let mut words = Words(0x9e37_79b9);
        let mut inputs = FxHashMap::default();
        for (var, t) in params {
            let extent = |size: &Size| {
                let n = size.eval(&|s| sizes.get(s).map(|n| i128::from(*n))).ok()?;
                usize::try_from(n).ok()
            };
            let shape: Vec<usize> = t.shape.iter().map(extent).collect::<Option<_>>()?;
            let elements: usize = shape.iter().product();
            if elements > ELEMENTS {
                return None;
            }
            let values = (0..elements).map(|_| words.value(t.dtype)).collect();
            inputs.insert(var.clone(), Tensor::new(t.dtype, &shape, values).ok()?);
        }
        Some(Fingerprints { sizes, inputs, known: FxHashMap::default(), elements: 0 })
    }

    /// Whether two terms certainly have different values.
    pub fn differ(&mut self, graph: &Graph, a: Id, b: Id) -> bool {
        let (a, b) = (self.of_id(graph, a), self.of_id(graph, b));
        match (a, b) {
            (Some(a), Some(b)) => a.same(&b) == Some(false) && !is_opaque(&a) && !is_opaque(&b),
            _ => false,
        }
    }

    fn of_id(&mut self, graph: &Graph, id: Id) -> Option<Datum> {
        for below in graph.below(id, |id| self.known.contains_key(&id)) {
            let value = self.value(graph, below);
            self.known.insert(below, value);
        }
        self.known[&id].clone()
    }

    fn value(&mut self, graph: &Graph, id: Id) -> Option<Datum> {
        let node = graph.egraph.id_to_node(id);
        let term = &graph.heads().get(node.head).term;
        if let Form::Var(var) = term.form() {
            return self.inputs.get(var).cloned().map(Datum::Tensor);
        }
        if self.elements > ALL_ELEMENTS {
            return None;
        }
        let mut env = Env { sizes: self.sizes.clone(), ..Env::new() };
        for (blank, part) in parts(term).iter().zip(&node.parts) {
            if let Form::Var(var) = blank.form() {
                env.vars.insert(var.clone(), self.known[part].clone()?);
            }
        }
        let value = eval(term, &env, Domain::Field, &LIMITS).ok()?;
        self.elements += 1 + elements(&value);
        Some(value)
    }
}

fn elements(datum: &Datum) -> usize {
    match datum {
        Datum::Tensor(tensor) => tensor.numel(),
        Datum::Tuple(parts) => parts.iter().map(elements).sum(),
        Datum::Size(_) => 1,
    }
}

fn is_opaque(datum: &Datum) -> bool {
    match datum {
        Datum::Tensor(tensor) => {
            tensor.values().any(|value| value.as_residue().is_some_and(Residue::is_opaque))
        }
        Datum::Tuple(parts) => parts.iter().any(is_opaque),
        Datum::Size(_) => false,
    }
}

/// Numbers that look random: the same in every run. (`splitmix64`)
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn value(&mut self, dtype: DType) -> Value {
        match dtype {
            DType::Bool => Value::Bool(self.next() % 2 == 1),
            _ if dtype.is_float() => Value::Field(Residue::of_words(self.next(), self.next())),
            // Small, so that one that serves as an index may lie in its axis.
            _ => Value::Int((self.next() % 2) as i64),
        }
    }
}
