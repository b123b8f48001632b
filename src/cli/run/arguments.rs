//! From `--arg NAME=VALUE` to the arguments of a call.

use std::collections::BTreeSet;

use rtv_grammar::ast::{Def, Dim, Elem, Expr, ExprKind, Generic, Param, TypeKind};
use rtv_grammar::lower::Given;
use rtv_grammar::print::print_type;
use rtv_runtime::io::placeless;
use rtv_runtime::loops::ArrayDecl;
use rtv_runtime::random::Stream;
use rtv_runtime::spec::{Argument, BAD_ARGUMENT, Input, Literal, Setting, Source};
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::dtype::{DType, DTypeClass};
use rtv_semantics::scalar::Domain;
use rtv_semantics::size::Size;
use rtv_semantics::types::TensorType;

use crate::nearest::nearest;

/// An argument that no parameter takes, or a parameter without an argument.
const WRONG_ARGUMENTS: Code = Code(813);

/// The arguments of a call by name, and the values of the tensors among them in the same
/// order.
#[derive(Default)]
pub struct Supplied {
    pub given: Vec<(String, Given)>,
    pub inputs: Vec<Input>,
}

/// What a parameter takes, as far as its written type says.
enum Takes {
    /// A tensor; of this dtype, where it is fixed.
    Tensor(Option<DType>),
    /// A tensor of some float dtype.
    Float,
    /// Something known before the run.
    Static,
}

/// Reads all arguments of a function, every fault at once.
pub fn read(def: &Def, texts: &[String], domain: Domain, seed: u64) -> Result<Supplied, Vec<Diagnostic>> {
    let (mut supplied, mut faults, mut seen) = (Supplied::default(), Vec::new(), BTreeSet::new());
    for text in texts {
        if let Err(fault) = read_one(def, text, domain, seed, &mut seen, &mut supplied) {
            faults.push(fault);
        }
    }
    let missing = def.params.iter().filter(|p| p.default.is_none() && !seen.contains(&p.name.name));
    faults.extend(missing.map(|param| {
        let (name, ty) = (&param.name.name, print_type(&param.ty));
        placeless(WRONG_ARGUMENTS, format!("the parameter `{name}: {ty}` has no argument"))
            .help(format!("add `--arg {name}={}`", example(def, param)))
    }));
    if faults.is_empty() { Ok(supplied) } else { Err(faults) }
}

fn read_one(
    def: &Def,
    text: &str,
    domain: Domain,
    seed: u64,
    seen: &mut BTreeSet<String>,
    supplied: &mut Supplied,
) -> Result<(), Diagnostic> {
    let argument = Argument::parse(text)?;
    let name = &argument.name;
    let Some(place) = def.params.iter().position(|p| p.name.name == *name) else {
        return Err(unknown_parameter(def, name));
    };
    if !seen.insert(name.clone()) {
        return Err(placeless(WRONG_ARGUMENTS, format!("the argument `{name}` is given twice")));
    }
    // The stream goes by the parameter, so that the order on the command line is free.
    let stream = Stream { seed, number: place as u64 };
    let dtype = match (takes(def, &def.params[place]), &argument.source) {
        (Takes::Static, Source::Literal(literal)) => {
            supplied.given.push((name.clone(), static_value(name, literal)?));
            return Ok(());
        }
        (Takes::Static, _) => None,
        (Takes::Tensor(dtype), _) => dtype,
        (Takes::Float, Source::Literal(_)) => Some(DType::F32),
        (Takes::Float, _) => None,
    };
    let input = argument.input(&Setting { dtype, domain, stream })?;
    let ArrayDecl { dtype, shape } = input.decl();
    let shape = shape.iter().map(|extent| Size::from(*extent as i64)).collect();
    supplied.given.push((name.clone(), Given::Tensor(TensorType::new(dtype, shape))));
    supplied.inputs.push(input);
    Ok(())
}

fn unknown_parameter(def: &Def, name: &str) -> Diagnostic {
    let names: Vec<&str> = def.params.iter().map(|p| p.name.name.as_str()).collect();
    let fault = placeless(WRONG_ARGUMENTS, format!("there is no parameter `{name}`"));
    match nearest(name, names.iter().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => fault.help(format!("the parameters are {}", names.join(", "))),
    }
}

fn takes(def: &Def, param: &Param) -> Takes {
    let TypeKind::Tensor { elem, dims, .. } = &param.ty.kind else {
        return Takes::Static;
    };
    match elem {
        // A bare `bool` is a static flag, a boolean scalar is written `bool[]`.
        Elem::DType(DType::Bool, _) if dims.is_none() => Takes::Static,
        Elem::DType(dtype, _) => Takes::Tensor(Some(*dtype)),
        Elem::Apply { .. } => Takes::Tensor(None),
        Elem::Name(name) => {
            let class = def.generics.iter().find_map(|generic| match generic {
                Generic::DType { name: known, class } if known.name == name.name => Some(class),
                _ => None,
            });
            match class.map(|class| DTypeClass::from_name(&class.name)) {
                Some(Some(DTypeClass::Float)) => Takes::Float,
                Some(_) => Takes::Tensor(None),
                None if dims.is_some() => Takes::Tensor(None),
                None => Takes::Static,
            }
        }
    }
}

/// `3`, `2.5`, `true`, `none`, `f32`, `"mean"`, `[0, 1]`.
fn static_value(name: &str, literal: &Literal) -> Result<Given, Diagnostic> {
    let refuse = |what: &str| Err(placeless(BAD_ARGUMENT, format!("the argument `{name}` is {what}")));
    match literal {
        Literal::Text(text) => Ok(Given::Str(text.clone())),
        Literal::List(parts) => match parts.iter().map(Literal::as_int).collect() {
            Some(ints) => Ok(Given::Ints(ints)),
            None => refuse("a list of something other than whole numbers"),
        },
        Literal::Word(word) => match word.as_str() {
            "true" => Ok(Given::Bool(true)),
            "false" => Ok(Given::Bool(false)),
            "none" => Ok(Given::None),
            _ => match (literal.as_int(), DType::from_name(word), word.parse::<f64>()) {
                (Some(int), ..) => Ok(Given::Int(int)),
                (_, Some(dtype), _) => Ok(Given::DType(dtype)),
                (.., Ok(_)) => Ok(Given::Float(word.clone())),
                _ => refuse("no number, dtype, text or list; texts stand in quotes"),
            },
        },
    }
}

/// An argument that could be given, for help.
fn example(def: &Def, param: &Param) -> String {
    // A written number is kept, everything else may be 2.
    let extent = |dim: &Dim| match dim {
        Dim::Size(Expr { kind: ExprKind::Int(n), .. }) => n.to_string(),
        _ => "2".to_string(),
    };
    let size: Vec<String> = match &param.ty.kind {
        TypeKind::Tensor { dims: Some(dims), .. } => dims.iter().map(extent).collect(),
        _ => Vec::new(),
    };
    let size = size.join(", ");
    match takes(def, param) {
        Takes::Static => "2".to_string(),
        Takes::Tensor(Some(dtype)) if dtype == DType::Bool || dtype.is_int() => {
            format!("'randint(0, 2, [{size}])'")
        }
        Takes::Tensor(_) | Takes::Float => format!("'randn({size})'"),
    }
}
