//! Which arguments of an operator the arguments of an ATen overload are.
//!
//! A parameter of the operator that has the name of a schema argument is that argument; the
//! others match in order, as far as their kinds agree. What has no counterpart must be at its
//! default.

use super::record::{Arg, Record};
use super::schema::SchemaArg;
use rtv_grammar::ast::{Elem, Param, Type, TypeKind};
use rtv_grammar::lower::{Entry, Given};
use rtv_runtime::protocol::{Argument, Call};
use rtv_semantics::dtype::DType;
use rtv_semantics::size::Size;
use rtv_semantics::tensor::Tensor;
use rtv_semantics::types::TensorType;

/// A call of an operator. The tensors are those of `positional`, then those of `named`.
#[derive(Clone, Default, Debug)]
pub struct Binding {
    pub positional: Vec<Given>,
    pub named: Vec<(String, Given)>,
    pub tensors: Vec<Tensor>,
}

impl Binding {
    /// The call of an operator of this name.
    pub fn call(&self, operator: &str) -> Call {
        let mut tensors = self.tensors.iter().cloned();
        let positional = self.positional.iter().map(|given| argument(given, &mut tensors)).collect();
        let named = self.named.iter().map(|(name, given)| (name.clone(), argument(given, &mut tensors)));
        Call { operator: operator.to_string(), positional, named: named.collect() }
    }
}

fn argument(given: &Given, tensors: &mut impl Iterator<Item = Tensor>) -> Argument {
    let mut next = || tensors.next().expect("invariant: a tensor for each type");
    match given {
        Given::Tensor(_) => Argument::Tensor(next()),
        Given::TensorList(types) => Argument::Tensors(types.iter().map(|_| next()).collect()),
        Given::Int(k) => Argument::Int(*k),
        Given::Float(text) => Argument::Float(text.clone()),
        Given::Bool(b) => Argument::Bool(*b),
        Given::Str(text) => Argument::Text(text.clone()),
        Given::DType(dtype) => Argument::DType(*dtype),
        Given::Ints(list) => Argument::Ints(list.clone()),
        Given::None => Argument::None,
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Tensor,
    Tensors,
    /// An operator of two tensors that takes a list.
    Fold,
    List,
    Axes,
    Int,
    Bool,
    Str,
    DType,
}

/// The call of this block, or the argument that stands against it.
pub fn bind(record: &Record, schema: &[SchemaArg], entry: &Entry) -> Result<Binding, String> {
    let params = &entry.def().params;
    let fold = entry.has_attr("fold");
    let counterparts = counterparts(schema, params, fold);
    let mut values: Vec<Option<Given>> = vec![None; params.len()];
    let mut tensors: Vec<Vec<Tensor>> = vec![Vec::new(); params.len()];
    for (at, argument) in schema.iter().enumerate() {
        let recorded = recorded(record, at, &argument.name);
        match counterparts[at] {
            None if recorded.is_none_or(|arg| matches!(arg, Arg::None) || argument.is_default(arg)) => {}
            None => return Err(format!("argument `{}`", argument.name)),
            Some(k) => {
                let implied = argument.default_value().filter(|_| params[k].default.is_none());
                let Some(arg) = recorded.cloned().or(implied) else { continue };
                if matches!(arg, Arg::None) {
                    continue;
                }
                let kind = kind(&params[k].ty, fold && k == 0);
                values[k] = given(&arg, kind, argument)?;
                tensors[k] = arg.tensors().into_iter().cloned().collect();
            }
        }
    }
    let optional = |k: usize| params[k].default.is_some() || (fold && k == 1);
    if let Some(k) = (0..params.len()).find(|&k| values[k].is_none() && !optional(k)) {
        return Err(format!("parameter `{}` without a value", params[k].name.name));
    }
    Ok(assemble(params, values, tensors))
}

/// Lists come by position, everything else by name.
fn assemble(params: &[Param], values: Vec<Option<Given>>, tensors: Vec<Vec<Tensor>>) -> Binding {
    let mut binding = Binding::default();
    let mut rest = Vec::new();
    for ((param, value), tensors) in params.iter().zip(values).zip(tensors) {
        match value {
            Some(list @ Given::TensorList(_)) => {
                binding.positional.push(list);
                binding.tensors.extend(tensors);
            }
            Some(value) => {
                binding.named.push((param.name.name.clone(), value));
                rest.extend(tensors);
            }
            None => {}
        }
    }
    binding.tensors.extend(rest);
    binding
}

/// For each argument of the schema the parameter that stands for it.
fn counterparts(schema: &[SchemaArg], params: &[Param], fold: bool) -> Vec<Option<usize>> {
    let named = |a: &SchemaArg| params.iter().position(|p| p.name.name == a.name);
    let mut free =
        (0..params.len()).filter(|&k| schema.iter().all(|a| a.name != params[k].name.name)).peekable();
    let counterpart =
        |a: &SchemaArg| named(a).or_else(|| free.next_if(|&k| takes(kind(&params[k].ty, fold && k == 0), a)));
    schema.iter().map(counterpart).collect()
}

fn recorded<'r>(record: &'r Record, at: usize, name: &str) -> Option<&'r Arg> {
    let named = || record.kwargs.iter().find(|(k, _)| k == name).map(|(_, arg)| arg);
    record.args.get(at).or_else(named)
}

fn kind(ty: &Type, fold: bool) -> Kind {
    match &ty.kind {
        TypeKind::List(_) => Kind::Tensors,
        TypeKind::Tensor { dims: Some(_), .. } if fold => Kind::Fold,
        TypeKind::Tensor { elem: Elem::DType(DType::Bool, _), dims: None, .. } => Kind::Bool,
        TypeKind::Tensor { elem: Elem::Name(name), dims: None, .. } => match name.name.as_str() {
            "axes" => Kind::Axes,
            "sizes" => Kind::List,
            "int" | "axis" | "size" => Kind::Int,
            "bool" => Kind::Bool,
            "str" => Kind::Str,
            "dtype" => Kind::DType,
            _ => Kind::Tensor,
        },
        _ => Kind::Tensor,
    }
}

/// Whether a parameter of this kind can stand for the argument by its place.
fn takes(kind: Kind, argument: &SchemaArg) -> bool {
    let ty = argument.ty.trim_start_matches("Sym").to_ascii_lowercase();
    match kind {
        Kind::Tensors | Kind::Fold => ty.starts_with("tensor[]"),
        Kind::Tensor => argument.is_tensor() && !ty.starts_with("tensor["),
        Kind::List | Kind::Axes => ty.starts_with("int["),
        Kind::Int => ty.starts_with("int") || ty.starts_with("scalar ") || ty == "scalar",
        Kind::Bool => ty.starts_with("bool"),
        Kind::Str => ty.starts_with("str"),
        Kind::DType => argument.ty.starts_with("ScalarType"),
    }
}

/// The argument in the language; `None` where leaving it out says the same.
fn given(arg: &Arg, kind: Kind, argument: &SchemaArg) -> Result<Option<Given>, String> {
    Ok(Some(match (arg, kind) {
        (Arg::Tensor(t), _) => Given::Tensor(type_of(t)),
        (Arg::Tensors(list), _) => {
            let types: Option<Vec<TensorType>> = list.iter().map(|t| t.as_ref().map(type_of)).collect();
            Given::TensorList(types.ok_or(format!("argument `{}` with a place left out", argument.name))?)
        }
        (Arg::Ints(list), Kind::Axes) if list.is_empty() && argument.empty_means_all() => return Ok(None),
        (Arg::Ints(list), Kind::Int) if list.len() == 1 => Given::Int(list[0]),
        (Arg::Ints(list), Kind::Tensors | Kind::Fold) if list.is_empty() => Given::TensorList(Vec::new()),
        (Arg::Ints(list), _) => Given::Ints(list.clone()),
        (Arg::Int(k), Kind::List) => Given::Ints(vec![*k]),
        (Arg::Int(k), _) => Given::Int(*k),
        (Arg::Float(text), _) => Given::Float(text.clone()),
        (Arg::Bool(b), _) => Given::Bool(*b),
        (Arg::Str(s), _) => Given::Str(s.clone()),
        (Arg::DType(d), _) => Given::DType(*d),
        (Arg::None, _) => return Ok(None),
    }))
}

fn type_of(tensor: &Tensor) -> TensorType {
    let extents = tensor.shape().iter().map(|n| Size::from(*n as i64));
    TensorType { dtype: tensor.dtype, shape: extents.collect() }
}
