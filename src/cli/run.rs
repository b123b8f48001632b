//! `rtv run FILE FN`: the value of a function at given arguments.

mod arguments;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rtv_grammar::ast::{Def, DefKind, Item, ItemKind};
use rtv_grammar::lower::{Lower, OuterCall};
use rtv_proofs::Module;
use rtv_runtime::array::Array;
use rtv_runtime::backend::Output;
use rtv_runtime::cpu::{Cpu, FastCpu, Settings};
use rtv_runtime::io::{self, placeless};
use rtv_runtime::spec::Input;
use rtv_semantics::diag::{Code, Diagnostic};
use rtv_semantics::dtype::DType;
use rtv_semantics::eval::codes;
use rtv_semantics::eval::{Datum, Env, Limits, eval};
use rtv_semantics::guess::Guessing;
use rtv_semantics::scalar::{Domain, Value};
use rtv_semantics::tensor::Tensor;

use crate::nearest::nearest;
use crate::project::Project;
use crate::report::{Reporter, counted};
use arguments::Supplied;

/// The name of a result in a file; of several `out0`, `out1`, ..
const RESULT: &str = "out";
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
    /// Let a product be rounded with the sum it is added to: other bits, and perhaps faster
    #[arg(long)]
    fast: bool,
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
        let (project, module, mut found) = Project::file(&self.file);
        if let Some(module) = module {
            match self.evaluate(&module, &mut found, reporter) {
                Ok(value) => self.deliver(value, reporter),
                Err(faults) => found.extend(faults),
            }
        }
        found.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
    }

    fn evaluate(
        &self,
        module: &Module,
        found: &mut Vec<Diagnostic>,
        reporter: &mut Reporter,
    ) -> Result<Computed, Vec<Diagnostic>> {
        let def = function(&module.items, &self.function, &self.file).map_err(|why| vec![why])?;
        let domain = if self.exact { Domain::Exact } else { Domain::Ieee };
        let Supplied { given, inputs } = arguments::read(def, &self.args, domain, self.seed)?;
        let name = def.name.parts.last().expect("invariant: a path has parts");
        let mut lower = Lower::new(&module.defs, &Guessing);
        let call = lower.outer_call(&name.name, &[], &given, name.span);
        let said = lower.take_diagnostics();
        let Some(call) = call else { return Err(said) };
        found.extend(said);
        if self.fast && self.backend == Backend::Ref {
            let fault = placeless(codes::BACKEND, "the reference evaluator rounds each operation");
            return Err(vec![fault.help("`--fast` goes with `--backend cpu`")]);
        }
        if self.backend == Backend::Cpu {
            if self.exact {
                let fault = placeless(codes::BACKEND, "the CPU backend computes with rounded numbers");
                return Err(vec![fault.help("`--exact` goes with `--backend ref`")]);
            }
            Settings::check().map_err(|fault| vec![fault])?;
            return self.on_cpu(&call, inputs, reporter).map(Computed::Arrays).map_err(|why| vec![why]);
        }
        let mut env = Env::new();
        for (var, input) in call.inputs.iter().zip(inputs) {
            env = env.with_tensor(var, input.into_tensor());
        }
        let value = eval(&call.term, &env, domain, &Limits::default());
        value.map(Computed::Tensors).map_err(|why| vec![why.to_diagnostic()])
    }

    fn on_cpu(
        &self,
        call: &OuterCall,
        inputs: Vec<Input>,
        reporter: &mut Reporter,
    ) -> Result<Output, Diagnostic> {
        let arrays = inputs.into_iter().map(|input| input.into_array().expect("invariant: IEEE arguments"));
        let arrays: Vec<Array> = arrays.collect();
        let decls: Vec<_> = call.inputs.iter().cloned().zip(arrays.iter().map(Array::decl)).collect();
        let backend: &dyn rtv_runtime::backend::Backend = if self.fast { &FastCpu } else { &Cpu };
        let program = backend.prepare(&call.term, &decls).map_err(|why| why.to_diagnostic())?;
        if self.fast {
            let count = counted(program.contracted(), "product");
            reporter.note(&format!("fast: {count} rounded with the sum"));
        }
        program.run(&arrays).map_err(|why| why.to_diagnostic())
    }

    fn deliver(&self, value: Computed, reporter: &mut Reporter) {
        let written = match (&self.out, value) {
            (None, Computed::Tensors(value)) => return reporter.result(&value.to_string()),
            (None, Computed::Arrays(output)) => return reporter.result(&output.into_datum().to_string()),
            (Some(path), Computed::Tensors(value)) => write_tensors(path, &value),
            (Some(path), Computed::Arrays(output)) => write_arrays(path, &output),
        };
        if let Err(fault) = written {
            reporter.fault(&fault);
        }
    }
}

/// A result as the backend has it.
enum Computed {
    Tensors(Datum),
    Arrays(Output),
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

fn write_tensors(path: &Path, value: &Datum) -> Result<(), Diagnostic> {
    fn flatten(name: String, value: &Datum, into: &mut Vec<(String, Tensor)>) {
        match value {
            Datum::Tensor(tensor) => into.push((name, tensor.clone())),
            Datum::Size(size) => into.push((name, scalar(*size))),
            Datum::Tuple(parts) => {
                parts.iter().enumerate().for_each(|(k, part)| flatten(format!("{name}{k}"), part, into));
            }
        }
    }
    let mut tensors = Vec::new();
    flatten(RESULT.into(), value, &mut tensors);
    let named: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, t)| (name.as_str(), t)).collect();
    io::write(path, &named)
}

fn write_arrays(path: &Path, value: &Output) -> Result<(), Diagnostic> {
    fn flatten(name: String, value: &Output, into: &mut Vec<(String, Array)>) {
        match value {
            Output::Array(array) => into.push((name, array.clone())),
            Output::Size(size) => {
                into.push((name, Array::from_tensor(&scalar(*size)).expect("invariant: an integer")));
            }
            Output::Tuple(parts) => {
                parts.iter().enumerate().for_each(|(k, part)| flatten(format!("{name}{k}"), part, into));
            }
        }
    }
    let mut arrays = Vec::new();
    flatten(RESULT.into(), value, &mut arrays);
    let named: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
    io::write_arrays(path, &named)
}

/// A size in a file.
fn scalar(size: i128) -> Tensor {
    Tensor::scalar(DType::I64, Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}
