//! What the optimizer makes of the examples: `cargo bench --bench optimize`, by hand, from the root; with `-- NAME ..`
//! of the functions of these names.
//!
//! For each function: its cost before and after, the steps, and the time that finding and checking took. Programs that
//! got cheaper are then run on the CPU backend beside their sources, in turns: the median of the ratios of their times,
//! below 1 where the result is faster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rtv::optimize::{self, Request, RuleBook};
use rtv_egraph::Limits;
use rtv_proofs::{Checker, Module, Settings, Stage, program};
use rtv_semantics::diag::FileId;
use rtv_semantics::program::Mode;
use rtv_smt::{Budget, DEFAULT_MEMORY_MIB, Pool};

/// Rounds in which source and result are timed, one after the other.
const ROUNDS: usize = 7;
/// Seconds for each side in a round.
const SECONDS: f64 = 0.1;

fn main() {
    let settings = Settings {
        stage: Stage::Proofs,
        seed: 0,
        samples: 20,
        budget: Budget::OBLIGATION,
        timeout: Some(Duration::from_secs(60)),
    };
    let pool = Arc::new(Pool::new(env!("CARGO_BIN_EXE_rtv").into(), DEFAULT_MEMORY_MIB));
    let checker = Checker::in_workers(settings, pool, Box::new(|_| {}));
    let book = RuleBook::shipped();
    println!(
        "{:<28} {:>11} {:>11} {:>8} {:>6} {:>8} {:>7}",
        "", "before", "after", "change", "steps", "seconds", "ratio"
    );
    let names: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    for file in files() {
        println!("{}", file.display());
        each(&file, &names, &book, &checker);
    }
}

/// The examples, models last.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let in_folder = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("a folder of the project");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let mut files: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|ending| ending == "rtl")).collect();
        files.sort();
        files
    };
    let mut files = in_folder(&root);
    files.extend(in_folder(&root.join("models")));
    files
}

fn each(file: &Path, names: &[String], book: &RuleBook, checker: &Checker) {
    let text = std::fs::read_to_string(file).expect("an example");
    let (module, _) = Module::new(FileId(1), rtv_grammar::parse(FileId(1), &text));
    for at in 0..module.items.len() {
        let (Some((function, _)), _) = program(&module, at, 1) else { continue };
        if !names.is_empty() && !names.iter().any(|name| **name == *function.name) {
            continue;
        }
        let Ok(sizes) = optimize::sizes(&function, &BTreeMap::new()) else {
            println!("  {:<26} cannot be priced", function.name);
            continue;
        };
        let started = Instant::now();
        let elsewhere = optimize::elsewhere(&function, &BTreeMap::new(), &sizes);
        let request = Request {
            elsewhere: &elsewhere,
            upto: Mode::Real,
            limits: Limits::default(),
            out_of_time: &|| started.elapsed() > Duration::from_secs(20),
            samples: 8,
            seed: 0,
        };
        let found = optimize::optimize(&function, book, &sizes, &request, checker, &mut book.proved(checker));
        let seconds = started.elapsed().as_secs_f64();
        match found {
            Err(failed) => println!("  {:<26} {failed}", function.name),
            Ok(improved) => {
                let (before, after) = (improved.found.before, improved.found.after);
                let change = 100.0 * (after - before) / before;
                let ratio = if improved.steps.is_empty() {
                    None
                } else {
                    optimize::ratio(&function, &improved.function, &sizes, ROUNDS, SECONDS)
                };
                let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:>7.3}"));
                println!(
                    "  {:<26} {before:>11.3e} {after:>11.3e} {change:>+7.1}% {:>6} {seconds:>8.2} {ratio}",
                    function.name,
                    improved.steps.len(),
                );
            }
        }
    }
}
