//! The verbs and the flags they share; one file per verb.

mod audit;
mod cache;
mod check;
mod claim;
mod conform;
mod effort;
mod explain;
mod fmt;
mod fuzz;
mod info;
mod interrupt;
mod mutate;
mod ops;
mod opt;
mod replay;
mod rules;
mod run;
mod solve;
mod verify_cert;

use std::process::ExitCode;
use std::thread;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::report::{Color, Exit, Format, Progress, Reporter};

/// Proves and refutes claims about tensor programs, and runs them.
#[derive(Parser)]
#[command(name = "rtv", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    show: Show,
    #[command(subcommand)]
    verb: Verb,
}

const AFTER_HELP: &str = "Exit codes: 0 every claim meets its expectation; 1 a claim is refuted or an \
evaluation fails; \
2 bad command line or file; 3 an error in the program; 4 something is undecided; 5 internal error \
or no solver.";

/// How a run is shown; every verb takes these.
#[derive(Args)]
struct Show {
    /// Text for people, or one JSON object a line
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// When to colour
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    color: Color,
    /// How progress is shown, on standard error
    #[arg(long, global = true, value_enum, default_value_t = Progress::Auto)]
    progress: Progress,
    /// Show less: only what went wrong
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Show more: details of every claim
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

#[derive(Subcommand)]
enum Verb {
    /// Parse, type, and prove every claim found
    Check(check::Check),
    /// Evaluate a function
    Run(run::Run),
    /// Run the conformance suite on backends, or on a program outside
    Conform(conform::Conform),
    /// Run random programs on the reference and on the CPU backend
    Fuzz(fuzz::Fuzz),
    /// Make programs cheaper by proved rules
    Opt(opt::Opt),
    /// List the rules that programs are made cheaper by
    Rules(rules::Rules),
    /// Format source files
    Fmt(fmt::Fmt),
    /// Explain an error code, tell all of one claim, or how a program was optimized
    Explain(explain::Explain),
    /// Check the certificates of the ledger again, with a checker that trusts no prover
    VerifyCert(verify_cert::VerifyCert),
    /// List what is trusted, only tested, bounded, or rests on a solver
    Audit(audit::Audit),
    /// Run the input that refutes a claim, step by step
    Replay(replay::Replay),
    /// Make small mistakes in a claim, one at a time, and say what is known of it then
    Mutate(mutate::Mutate),
    /// List the operators
    Ops(ops::Ops),
    /// Where the project's cache is, and what it holds
    Cache(cache::Cache),
    /// Versions, solver and backends
    Info(info::Info),
    /// Answers the questions of another process of rtv
    #[command(name = "__solve", hide = true)]
    Solve,
}

/// Tree walks recurse as deep as the parser allows trees to be.
pub const STACK_BYTES: usize = 256 << 20;

/// Reads the command line and runs its verb.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => {
            // Help and version are results, everything else is a bad command line.
            let shown = refused.print().is_ok();
            let exit = if refused.use_stderr() || !shown { Exit::Usage } else { Exit::Success };
            return exit.into();
        }
    };
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || dispatch(cli));
    match worker.map(thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit.into(),
        // The panic's message is on standard error already.
        Ok(Err(_)) => {
            eprintln!("rtv: internal error; this is a fault of rtv, not of the program it read");
            Exit::Internal.into()
        }
        Err(why) => {
            eprintln!("rtv: cannot start a thread: {why}");
            Exit::Internal.into()
        }
    }
}

fn dispatch(cli: Cli) -> Exit {
    let Show { format, color, progress, quiet, verbose } = cli.show;
    let mut reporter = Reporter::new(format, color, progress, quiet, verbose);
    match cli.verb {
        Verb::Check(check) => check.run(&mut reporter),
        Verb::Run(run) => run.run(&mut reporter),
        Verb::Conform(conform) => conform.run(&mut reporter),
        Verb::Fuzz(fuzz) => fuzz.run(&mut reporter),
        Verb::Opt(opt) => opt.run(&mut reporter),
        Verb::Rules(rules) => rules.run(&mut reporter),
        Verb::Fmt(fmt) => fmt.run(&mut reporter),
        Verb::Explain(explain) => explain.run(&mut reporter),
        Verb::Replay(replay) => replay.run(&mut reporter),
        Verb::Mutate(mutate) => mutate.run(&mut reporter),
        Verb::Ops(ops) => ops.run(&mut reporter),
        Verb::Cache(cache) => cache.run(&mut reporter),
        Verb::VerifyCert(verify) => verify.run(&mut reporter),
        Verb::Audit(audit) => audit.run(&mut reporter),
        Verb::Info(info) => info.run(&mut reporter),
        Verb::Solve => solve::run(&mut reporter),
    }
    reporter.finish()
}
