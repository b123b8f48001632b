//! The CPU backend: fused loop nests, in vectors, on all processors.
//!
//! * Invariants: the bytes of a result depend on the program, its shapes and its
//!   arguments, not on the number of threads nor on the machine's vectors; memory is
//!   kept between runs; an error has the class and words of the reference evaluator.
//! * `unsafe` stands here because kernels share arrays between threads and read them in
//!   place; each use says why it holds.

mod access;
mod accumulate;
mod batch;
mod block;
mod chain;
mod check;
mod compile;
mod contract;
mod failure;
mod hidden;
mod lanes;
pub mod math;
pub(crate) mod memory;
mod pass;
mod pool;
mod primitive;
mod product;
mod registers;
mod run;
mod settings;
mod strip;
mod table;
mod tile;
mod vector;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use rtv_semantics::eval::{EvalError, codes};
use rtv_semantics::term::{Term, Var};

use crate::array::Array;
use crate::backend::{Backend, Floats, Output, Prepared};
use crate::loops::{self, ArrayDecl, ArrayId, Kernel, Nests, Outcome, Shape};
use crate::plan::{self, Plan, Use};
use block::Arrays;
use chain::Chain;
use failure::Failures;
use memory::Memory;
pub use memory::spoil;
use pass::Nest;
pub use pool::Pool;
use product::Product;
pub use settings::{SETTING, Settings};
use whole::Rows;

/// Runs on the processors of this machine.
pub struct Cpu;

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn prepare(&self, term: &Term, inputs: &[(Var, ArrayDecl)]) -> Result<Box<dyn Prepared>, EvalError> {
        Ok(Box::new(Program::new(term, inputs)?))
    }
}

/// As [`Cpu`], and may contract ([`Floats::Fast`]).
pub struct FastCpu;

impl Backend for FastCpu {
    fn name(&self) -> &'static str {
        "fast cpu"
    }

    fn floats(&self) -> Floats {
        Floats::Fast
    }

    fn prepare(&self, term: &Term, inputs: &[(Var, ArrayDecl)]) -> Result<Box<dyn Prepared>, EvalError> {
        Ok(Box::new(Program::with(term, inputs, Floats::Fast)?))
    }
}

/// The widest vectors that kernels use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Vectors {
    Any,
    Avx2,
    Avx512,
}

/// What this machine has, or less if `RTV_VECTORS` says so.
fn vectors() -> Vectors {
    static KNOWN: OnceLock<Vectors> = OnceLock::new();
    *KNOWN.get_or_init(|| Settings::known().vectors.unwrap_or(Vectors::Avx512).min(widest()))
}

#[cfg(target_arch = "x86_64")]
fn widest() -> Vectors {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Vectors::Avx512,
        (true, false) => Vectors::Avx2,
        _ => Vectors::Any,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn widest() -> Vectors {
    Vectors::Any
}

/// A program ready to run.
pub struct Program {
    nests: Nests,
    /// The arrays of the result, each once.
    outputs: Vec<ArrayId>,
    steps: Vec<Step>,
    /// Products that are rounded with the sum they are added to.
    contracted: usize,
    plan: Plan,
    /// Arenas that no run holds.
    arenas: Mutex<Vec<Memory>>,
    /// Memory of results; what only this holds serves again.
    results: Mutex<BTreeMap<ArrayId, Vec<Arc<Memory>>>>,
}

/// How a kernel is run.
#[derive(Debug)]
enum Step {
    Nest(Nest),
    Product(Product),
    Chain(Box<Chain>),
    Whole(Rows),
}

impl Step {
    /// The step of a kernel, and how many products it contracts.
    fn of(nests: &Nests, kernel: &Kernel, stored: &BTreeSet<ArrayId>, floats: Floats) -> (Step, usize) {
        if kernel.shape == Shape::Whole {
            return (Step::Whole(Rows::of(nests, &kernel.members[0])), 0);
        }
        match product::of_kernel(nests, kernel) {
            Some(product) => (Step::Product(product), 0),
            None => {
                let (nest, contracted) = compile::compile(nests, kernel, stored, floats);
                (Step::Nest(nest), contracted)
            }
        }
    }

    fn in_place(&self) -> Vec<(ArrayId, ArrayId)> {
        match self {
            Step::Nest(nest) => nest.in_place.clone(),
            Step::Product(_) | Step::Chain(_) | Step::Whole(_) => Vec::new(),
        }
    }

    fn run(&self, arrays: Arrays, failures: &Failures, pool: &Pool) {
        match self {
            Step::Nest(nest) => run::run(nest, arrays, failures, pool),
            Step::Product(product) => product.run(arrays, pool),
            Step::Chain(chain) => chain.run(arrays, failures, pool),
            Step::Whole(rows) => rows.run(arrays, pool),
        }
    }
}

/// Expressions of one kernel: each may take a block of memory.
const MANY: usize = 1 << 16;

/// Results of one program that may be alive at a time before memory is new each time.
const KEPT_RESULTS: usize = 4;

impl Program {
    pub fn new(term: &Term, inputs: &[(Var, ArrayDecl)]) -> Result<Program, EvalError> {
        Program::with(term, inputs, Floats::Strict)
    }

    pub fn with(term: &Term, inputs: &[(Var, ArrayDecl)], floats: Floats) -> Result<Program, EvalError> {
        let mut nests = loops::lower(term, inputs)?;
        let kernels = loops::fuse(&mut nests);
        if kernels.iter().any(|kernel| kernel.size(&nests) > MANY) {
            let message = format!("a value is computed by more than {MANY} operations at once");
            return Err(EvalError {
                class: None,
                code: codes::BACKEND,
                message,
                span: term.span(),
                trace: Vec::new(),
            });
        }
        let mut stored: BTreeSet<ArrayId> = nests.result.arrays().into_iter().collect();
        let reads: Vec<BTreeSet<ArrayId>> = kernels.iter().map(|kernel| kernel.reads(&nests)).collect();
        let elsewhere = loops::read_elsewhere(&kernels, &reads);
        for kernel in &kernels {
            // Only rows are ever left out of memory, where nothing but what fails counts.
            let is_stored = |array: &ArrayId| elsewhere.contains(array) || kernel.shape != Shape::Rows;
            stored.extend(kernel.arrays().into_iter().filter(is_stored));
        }
        let steps = kernels.iter().map(|kernel| Step::of(&nests, kernel, &stored, floats));
        let (steps, contracted): (Vec<Step>, Vec<usize>) = steps.unzip();
        let uses = kernels.iter().zip(&steps);
        let uses = uses
            .map(|(kernel, step)| Use { in_place: step.in_place(), ..used(&nests, kernel, &stored) })
            .collect();
        let chains = loops::chains(&nests, &kernels, &reads);
        let (mut steps, uses) = chained(&nests, &kernels, &chains, steps, uses);
        for step in &mut steps {
            if let Step::Product(product) = step {
                product.turn_to_result();
            }
        }
        let outputs = nests.result.arrays();
        let defined = stored.iter().copied();
        let written: BTreeSet<ArrayId> = uses.iter().flat_map(|step| step.writes.iter().copied()).collect();
        let bytes: BTreeMap<ArrayId, usize> = defined
            .filter(|array| !outputs.contains(array) && written.contains(array))
            .map(|array| (array, nests.decl(array).bytes()))
            .collect();
        let plan = plan::plan(&uses, &bytes);
        assert_eq!(plan::check(&plan, &uses, &bytes), Ok(()), "a plan that holds");
        let mut outputs = outputs;
        outputs.sort_unstable();
        outputs.dedup();
        let contracted = contracted.iter().sum();
        let (arenas, results) = (Mutex::default(), Mutex::default());
        Ok(Program { nests, outputs, steps, contracted, plan, arenas, results })
    }

    /// Memory for a result that nobody else holds.
    fn result_memory(&self, array: ArrayId) -> Arc<Memory> {
        let bytes = self.nests.decl(array).bytes();
        let mut results = self.results.lock().unwrap_or_else(|poison| poison.into_inner());
        let kept = results.entry(array).or_default();
        if let Some(memory) = kept.iter().find(|memory| Arc::strong_count(memory) == 1) {
            memory.renew(bytes);
            return memory.clone();
        }
        let memory = Arc::new(Memory::new(bytes));
        if kept.len() < KEPT_RESULTS {
            kept.push(memory.clone());
        }
        memory
    }

    /// As [`Prepared::run`], on the threads of a pool.
    pub fn run_on(&self, inputs: &[Array], pool: &Pool) -> Result<Output, EvalError> {
        assert_eq!(inputs.len(), self.nests.inputs.len(), "as many arguments as prepared for");
        for (input, array) in inputs.iter().zip(&self.nests.inputs) {
            let decl = self.nests.decl(*array);
            assert!(
                input.dtype == decl.dtype && input.shape == decl.shape,
                "arguments of the types prepared for"
            );
        }
        let mut arenas = self.arenas.lock().unwrap_or_else(|poison| poison.into_inner());
        let arena = arenas.pop().unwrap_or_else(|| Memory::new(self.plan.bytes));
        drop(arenas);
        arena.renew(self.plan.bytes);
        let mut pointers = vec![arena.pointer(); self.nests.arrays.len()];
        for (input, array) in inputs.iter().zip(&self.nests.inputs) {
            pointers[array.0 as usize] = input.pointer();
        }
        for (array, place) in &self.plan.places {
            // SAFETY: the place lies within the arena.
            pointers[array.0 as usize] = unsafe { arena.pointer().add(place.offset) };
        }
        let mut results: Vec<(ArrayId, Array)> = Vec::with_capacity(self.outputs.len());
        for array in &self.outputs {
            let given = self.nests.inputs.iter().position(|input| input == array);
            let result = match given {
                Some(at) => inputs[at].clone(),
                None => Array::over(self.nests.decl(*array), self.result_memory(*array)),
            };
            pointers[array.0 as usize] = result.pointer();
            results.push((*array, result));
        }
        let failures = Failures::default();
        let mut failed = None;
        for step in &self.steps {
            step.run(Arrays { pointers: &pointers }, &failures, pool);
            failed = failures.first();
            if failed.is_some() {
                break;
            }
        }
        self.arenas.lock().unwrap_or_else(|poison| poison.into_inner()).push(arena);
        match failed {
            Some(failure) => Err(self.nests.sites[failure.site.0 as usize].error(failure.value)),
            None => Ok(output(&self.nests.result, &results)),
        }
    }
}

fn output(outcome: &Outcome, results: &[(ArrayId, Array)]) -> Output {
    match outcome {
        Outcome::Array(array) => {
            let found = results.iter().find(|(known, _)| known == array);
            Output::Array(found.expect("invariant: results are arrays of the run").1.clone())
        }
        Outcome::Size(size) => Output::Size(*size),
        Outcome::Tuple(parts) => Output::Tuple(parts.iter().map(|part| output(part, results)).collect()),
    }
}

impl Prepared for Program {
    fn run(&self, inputs: &[Array]) -> Result<Output, EvalError> {
        self.run_on(inputs, Pool::global())
    }

    fn contracted(&self) -> usize {
        self.contracted
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        for step in &self.steps {
            text += &format!("{step:#?}\n");
        }
        text
    }
}

/// The steps with three that make a chain as one.
fn chained(
    nests: &Nests,
    kernels: &[Kernel],
    chains: &[loops::Chain],
    steps: Vec<Step>,
    uses: Vec<Use>,
) -> (Vec<Step>, Vec<Use>) {
    let mut done: Vec<(Step, Use)> = Vec::new();
    for (at, (step, used)) in steps.into_iter().zip(&uses).enumerate() {
        done.push((step, used.clone()));
        let [.., (Step::Product(first), before), (Step::Nest(rows), between), (Step::Product(second), after)] =
            done.as_slice()
        else {
            continue;
        };
        let Some(known) = chains.iter().find(|known| known.passes + 1 == at) else { continue };
        let Some(chain) = Chain::of(nests, first, (&kernels[at - 1], rows), second) else { continue };
        let hidden = chain.hidden();
        if hidden != known.between {
            continue;
        }
        let mut reads: Vec<ArrayId> =
            [before, between, after].iter().flat_map(|used| used.reads.clone()).collect();
        reads.retain(|array| !hidden.contains(array));
        let joined = Use { reads, writes: after.writes.clone(), in_place: Vec::new() };
        done.truncate(done.len() - 3);
        done.push((Step::Chain(Box::new(chain)), joined));
    }
    done.into_iter().unzip()
}

/// What a kernel reads from and writes to memory.
fn used(nests: &Nests, kernel: &Kernel, stored: &BTreeSet<ArrayId>) -> Use {
    let mut used = Use::default();
    for member in &kernel.members {
        used.writes.push(member.array);
        used.reads.extend(nests.loads(member.body));
    }
    let own = used.writes.clone();
    used.writes.retain(|array| stored.contains(array));
    used.reads.retain(|array| !own.contains(array));
    used.reads.sort_unstable();
    used.reads.dedup();
    used
}
