//! `rtv run FILE FN`: the value of a function at given arguments.

mod arguments;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rtv_grammar::ast::{Def, DefKind, Item, ItemKind};
use rtv_grammar::lower::{Lower, OuterCall};
use rtv_proofs::Module;
use rtv_runtime::array::Array;
use rtv_runtime::backend::{Backend as _, Output};
use rtv_runtime::cpu::Cpu;
use rtv_runtime::io::{self, placeless};
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::codes;
use rtv_semantics::eval::{Datum, Env, Limits, eval};
use rtv_semantics::guess::Guessing;
use rtv_semantics::scalar::Domain;
use rtv_semantics::tensor::Tensor;

use crate::nearest::nearest;
use crate::project::Project;
use crate::report::Reporter;
use arguments::Supplied;

/// The file has no function of that name.
const NO_SUCH_FUNCTION: Code = Code(811);

#[derive(Args)]
pub struct Run {
    /// The source file
    file: PathBuf,
    /// The name of the function
    function: String,
    /// NAME=VALUE: a tensor file (x.npy, x.npz:KEY, x.safetensors:KEY), a literal
    /// ([[1.0, 2.0]]), or a generator (randn(2, 3):SEED, zeros(4), arange(6)); @DTYPE may follow
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    args: Vec<String>,
    /// Write the result to a .npy, .npz or .safetensors file instead of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of generators that name none
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Compute with real numbers instead of rounded ones
    #[arg(long)]
    exact: bool,
    #[arg(long, value_enum, default_value_t = Backend::Ref)]
    backend: Backend,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Backend {
    /// The reference evaluator
    Ref,
    /// Fused kernels on the processors of this machine
    Cpu,
}

impl Run {
    pub fn run(&self, reporter: &mut Reporter) {
        let (mut project, mut found) = Project::load(std::slice::from_ref(&self.file));
        if project.units.len() == 1 && !found.iter().any(Diagnostic::is_error) {
            let unit = project.units.remove(0);
            let (module, names) = Module::new(unit.file, unit.parsed);
            found.extend(names);
            if !found.iter().any(Diagnostic::is_error) {
                match self.evaluate(&module, &mut found) {
                    Ok(value) => self.deliver(&value, reporter),
                    Err(faults) => found.extend(faults),
                }
            }
        }
        found.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
    }

    fn evaluate(&self, module: &Module, found: &mut Vec<Diagnostic>) -> Result<Datum, Vec<Diagnostic>> {
        let def = function(&module.items, &self.function, &self.file).map_err(|why| vec![why])?;
        let domain = if self.exact { Domain::Exact } else { Domain::Ieee };
        let Supplied { given, tensors } = arguments::read(def, &self.args, domain, self.seed)?;
        let name = def.name.parts.last().expect("invariant: a path has parts");
        let mut lower = Lower::new(&module.defs, &Guessing);
        let call = lower.outer_call(&name.name, &[], &given, name.span);
        let said = lower.take_diagnostics();
        let Some(call) = call else { return Err(said) };
        found.extend(said);
        if self.backend == Backend::Cpu {
            if self.exact {
                let fault = placeless(codes::BACKEND, "the CPU backend computes with rounded numbers");
                return Err(vec![fault.help("`--exact` goes with `--backend ref`")]);
            }
            return on_cpu(&call, &tensors).map_err(|why| vec![why]);
        }
        let mut env = Env::new();
        for (var, tensor) in call.inputs.iter().zip(tensors) {
            env = env.with_tensor(var, tensor);
        }
        eval(&call.term, &env, domain, &Limits::default()).map_err(|why| vec![why.to_diagnostic()])
    }

    fn deliver(&self, value: &Datum, reporter: &mut Reporter) {
        let Some(path) = &self.out else {
            return reporter.result(&value.to_string());
        };
        let mut tensors = Vec::new();
        flatten("out", value, &mut tensors);
        let named: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
        if let Err(fault) = io::write(path, &named) {
            reporter.fault(&fault);
        }
    }
}

fn on_cpu(call: &OuterCall, tensors: &[Tensor]) -> Result<Datum, Diagnostic> {
    let arrays: Vec<Array> =
        tensors.iter().map(|t| Array::from_tensor(t).expect("invariant: IEEE arguments")).collect();
    let decls: Vec<_> = call.inputs.iter().cloned().zip(arrays.iter().map(Array::decl)).collect();
    let output = Cpu.prepare(&call.term, &decls).and_then(|program| program.run(&arrays));
    output.map(Output::into_datum).map_err(|why| why.to_diagnostic())
}

/// The definition to run; of an overloaded operator the first.
fn function<'m>(items: &'m [Item], name: &str, file: &Path) -> Result<&'m Def, Diagnostic> {
    let callable = items.iter().filter_map(|item| match &item.kind {
        ItemKind::Def(def) if matches!(def.kind, DefKind::Fn | DefKind::Op) => {
            Some((def.name.parts.last()?.name.as_str(), def))
        }
        _ => None,
    });
    let callable: Vec<(&str, &Def)> = callable.collect();
    if let Some((_, def)) = callable.iter().find(|(known, _)| *known == name) {
        return Ok(def);
    }
    let names: Vec<&str> = callable.iter().map(|(known, _)| *known).collect();
    Err(no_such_function(name, &names, file))
}

/// That a file has these functions, and not the one of that name.
pub fn no_such_function(name: &str, names: &[&str], file: &Path) -> Diagnostic {
    let fault = placeless(NO_SUCH_FUNCTION, format!("`{}` has no function `{name}`", file.display()));
    match nearest(name, names.iter().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None if names.is_empty() => fault.help("only `fn` and `op` can be run"),
        None => fault.help(format!("it has {}", names.join(", "))),
    }
}

/// The tensors of a result with their names in a file: `out`, or `out0`, `out1`, ..
fn flatten(name: &str, value: &Datum, into: &mut Vec<(String, Tensor)>) {
    match value {
        Datum::Tensor(tensor) => into.push((name.to_string(), tensor.clone())),
        Datum::Size(size) => {
            let size = i64::try_from(*size).unwrap_or(i64::MAX);
            let scalar = Tensor::scalar(DType::I64, rtv_semantics::scalar::Value::Int(size));
            into.push((name.to_string(), scalar));
        }
        Datum::Tuple(parts) => {
            for (number, part) in parts.iter().enumerate() {
                flatten(&format!("{name}{number}"), part, into);
            }
        }
    }
}
