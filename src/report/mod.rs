//! What a run says: diagnostics, results and verdicts, as text or as JSON lines.
//!
//! Invariants: in text, results go to standard output and diagnostics to standard error;
//! as JSON everything is one object a line on standard output. A closed pipe ends the
//! output, never the run.

mod claim;
mod exit;
mod json;
mod snippet;
mod stream;
mod text;

use std::time::Instant;

use clap::ValueEnum;
use rtv_proofs::ClaimResult;
use rtv_runtime::io::{UNWRITABLE, placeless};
use rtv_semantics::diag::Diagnostic;

pub use exit::Exit;

use crate::project::SourceMap;
use claim::Tally;
use stream::{Stream, Target};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// Most diagnostics that are shown as text; the rest are counted.
const MAX_SHOWN: usize = 100;

/// Collects what a run says and how it ends.
pub struct Reporter {
    format: Format,
    quiet: bool,
    verbose: bool,
    out: Stream,
    err: Stream,
    exit: Exit,
    tally: Tally,
    errors: usize,
    shown: usize,
    started: Instant,
}

impl Reporter {
    pub fn new(format: Format, color: Color, quiet: bool, verbose: u8) -> Reporter {
        Reporter {
            format,
            quiet,
            verbose: verbose > 0,
            out: Stream::new(Target::Out, color),
            err: Stream::new(Target::Err, color),
            exit: Exit::Success,
            tally: Tally::default(),
            errors: 0,
            shown: 0,
            started: Instant::now(),
        }
    }

    /// The run's end is at least as bad as `exit`.
    pub fn at_least(&mut self, exit: Exit) {
        self.exit = self.exit.max(exit);
    }

    /// A line of result.
    pub fn result(&mut self, text: &str) {
        match self.format {
            Format::Text => self.out.line(text),
            Format::Json => self.out.line(&json::result(text)),
        }
    }

    /// Text that is the result, as it is: formatted source.
    pub fn raw(&mut self, text: &str) {
        self.out.text(text);
    }

    pub fn diagnostic(&mut self, sources: &SourceMap, found: &Diagnostic) {
        if found.is_error() {
            self.errors += 1;
            self.at_least(Exit::of(found.code));
        } else if self.quiet {
            return;
        }
        match self.format {
            Format::Json => self.out.line(&json::diagnostic(sources, found)),
            Format::Text => {
                self.shown += 1;
                if self.shown <= MAX_SHOWN {
                    let text = snippet::render(sources, found, self.err.colored());
                    self.err.text(&text);
                }
            }
        }
    }

    /// A diagnostic about no source text.
    pub fn fault(&mut self, found: &Diagnostic) {
        self.diagnostic(&SourceMap::default(), found);
    }

    pub fn run_started(&mut self, verb: &str, files: &[String]) {
        if self.format == Format::Json {
            self.out.line(&json::run_started(verb, files));
        }
    }

    pub fn claim_started(&mut self, claim: &str) {
        if self.format == Format::Json {
            self.out.line(&json::claim_started(claim));
        }
    }

    /// One claim with its verdict; `proving` says whether a proof was asked for.
    pub fn claim_finished(&mut self, sources: &SourceMap, claim: &ClaimResult, proving: bool) {
        self.tally.count(claim);
        self.at_least(claim::exit(claim, proving));
        match self.format {
            Format::Json => self.out.line(&json::claim_finished(sources, claim)),
            Format::Text if self.quiet && claim::as_expected(claim) => {}
            Format::Text => {
                let text = text::claim(sources, claim, self.verbose, self.out.colored());
                self.out.text(&text);
            }
        }
    }

    /// The totals of a check.
    pub fn run_finished(&mut self) {
        let seconds = self.started.elapsed().as_secs_f64();
        match self.format {
            Format::Json => {
                let exit = self.exit;
                self.out.line(&json::run_finished(&self.tally, self.errors, exit, seconds));
            }
            Format::Text if !self.quiet => {
                let text = text::totals(&self.tally, self.errors, seconds);
                self.out.text(&text);
            }
            Format::Text => {}
        }
    }

    /// Writes out what is left and says how the run ended.
    pub fn finish(mut self) -> Exit {
        if let Some(hidden) = self.shown.checked_sub(MAX_SHOWN).filter(|n| *n > 0) {
            self.err.line(&format!("{hidden} more diagnostics are not shown"));
        }
        if let Some(why) = self.out.finish() {
            let fact = format!("cannot write the results: {why}");
            self.diagnostic(&SourceMap::default(), &placeless(UNWRITABLE, fact));
        }
        self.err.finish();
        self.exit
    }
}
