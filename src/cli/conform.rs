//! `rtv conform`: the conformance suite on backends, or on a program outside.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use rtv_runtime::cpu::{Cpu, FastCpu, Settings};
use rtv_runtime::io::placeless;
use rtv_semantics::diag::Code;
use rtv_semantics::eval::codes;

use crate::conform::golden::{Exception, exceptions, records};
use crate::conform::{External, Matrix, Ours, Suite, library};
use crate::report::{Exit, Reporter};

/// The folder of records, or the list of known failures, is none.
const NO_RECORDS: Code = Code(829);
/// No case is left to ask.
const NO_CASES: Code = Code(828);

#[derive(Args)]
pub struct Conform {
    /// The backends to run, with commas between them; all of them where none is named
    #[arg(long, value_enum, value_delimiter = ',')]
    backend: Vec<Name>,
    /// Let backends round a product with the sum it is added to, and allow for that; the
    /// reference evaluator does not do it
    #[arg(long, conflicts_with = "external")]
    fast: bool,
    /// A program that speaks the line protocol, with its arguments, instead of backends
    #[arg(long, value_name = "COMMAND", conflicts_with = "backend")]
    external: Option<String>,
    /// Only operators of this name; one * stands for any text
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// The folder of results of PyTorch; `tests/golden` where there is one
    #[arg(long, value_name = "FOLDER")]
    records: Option<PathBuf>,
    /// Cases that are known to fail: a file of ids, each with its reason
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// Seconds that one answer of a program outside may take
    #[arg(long, default_value_t = 10.0, value_name = "SECONDS")]
    patience: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Name {
    /// The reference evaluator
    Ref,
    /// Fused kernels on the processors of this machine
    Cpu,
}

impl Conform {
    pub fn run(&self, reporter: &mut Reporter) {
        let mut suite = library();
        if let Err(fault) = self.complete(&mut suite) {
            return reporter.fault(&placeless(NO_RECORDS, fault));
        }
        if suite.cases.is_empty() {
            let fact = format!("no case is about `{}`", self.only.as_deref().unwrap_or("*"));
            return reporter.fault(&placeless(NO_CASES, fact));
        }
        if let (None, Err(fault)) = (&self.external, Settings::check()) {
            return reporter.fault(&fault);
        }
        if self.fast && self.backend.contains(&Name::Ref) {
            let fault = placeless(codes::BACKEND, "the reference evaluator rounds each operation");
            return reporter.fault(&fault.help("`--fast` goes with `--backend cpu`"));
        }
        let mut matrix = Matrix::default();
        match &self.external {
            Some(command) => match External::start(command, self.patience()) {
                Ok(mut external) => {
                    matrix.run(&suite.cases, &mut external);
                    external.given_up().iter().for_each(|fault| reporter.fault(fault));
                }
                Err(fault) => return reporter.fault(&fault),
            },
            None => {
                rtv_runtime::cpu::spoil();
                for name in self.backends() {
                    let mut subject = match (name, self.fast) {
                        (Name::Ref, _) => Ours::reference(),
                        (Name::Cpu, false) => Ours::backend(&Cpu),
                        (Name::Cpu, true) => Ours::backend(&FastCpu),
                    };
                    matrix.run(&suite.cases, &mut subject);
                }
            }
        }
        if matrix.columns.iter().any(|column| !column.failures.is_empty()) {
            reporter.at_least(Exit::Refuted);
        }
        reporter.conformance(&suite, &matrix);
    }

    fn backends(&self) -> Vec<Name> {
        match (self.backend.is_empty(), self.fast) {
            (false, _) => self.backend.clone(),
            (true, false) => vec![Name::Ref, Name::Cpu],
            (true, true) => vec![Name::Cpu],
        }
    }

    /// The records of PyTorch, what is known to fail, and the choice of operators.
    fn complete(&self, suite: &mut Suite) -> Result<(), String> {
        let beside = Path::new("tests/golden");
        let beside = beside.join("schemas.tsv").is_file().then_some(beside);
        match self.records.as_deref().or(beside) {
            Some(folder) => suite.extend(records(folder)?),
            None => {
                let without =
                    "without the results of PyTorch: there is no folder tests/golden here, and no --records";
                suite.without = Some(format!("{without}; these are the tests of the operators"));
            }
        }
        if let Some(pattern) = &self.only {
            suite.only(pattern);
        }
        if self.external.is_some() {
            // Where the language differs from PyTorch, a program outside may follow either.
            let listed = suite.cases.iter().filter(|case| case.excepted.is_some()).count();
            suite.cases.retain(|case| case.excepted.is_none());
            (0..listed).for_each(|_| suite.leave_out("record: the language differs from PyTorch here"));
        }
        if let Some(file) = &self.known {
            let known = exceptions(file)?;
            for case in &mut suite.cases {
                let listed = known.iter().find(|exception| exception.matches(&case.id));
                case.excepted = listed.map(|e: &Exception| e.reason.clone()).or(case.excepted.take());
            }
        }
        Ok(())
    }

    fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.patience.clamp(0.01, 3600.0))
    }
}
