//! What a run says: diagnostics, results and verdicts, as text or as JSON lines.
//!
//! Invariants: in text, results go to standard output and diagnostics to standard error;
//! as JSON everything is one object a line on standard output. A closed pipe ends the
//! output, never the run.

mod claim;
mod conformance;
mod exit;
mod json;
mod progress;
mod snippet;
mod statistics;
pub mod step;
mod stream;
mod text;

use std::time::Instant;

use clap::ValueEnum;
use rtv_proofs::ClaimResult;
use rtv_runtime::io::{UNWRITABLE, placeless};
use rtv_semantics::diag::Diagnostic;
use serde::Serialize;

pub use claim::{Require, as_expected};
pub use exit::Exit;
pub use progress::Progress;
pub use statistics::Counts;
pub use text::counted;

use crate::conform::{Matrix, Suite};
use crate::project::SourceMap;
use claim::Tally;
use progress::Meter;
use statistics::Spent;
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
    progress: Progress,
    require: Option<Require>,
    floats: bool,
    meter: Option<Meter>,
    tally: Tally,
    spent: Spent,
    errors: usize,
    shown: usize,
    started: Instant,
}

impl Reporter {
    pub fn new(format: Format, color: Color, progress: Progress, quiet: bool, verbose: u8) -> Reporter {
        Reporter {
            format,
            quiet,
            verbose: verbose > 0,
            out: Stream::new(Target::Out, color),
            err: Stream::new(Target::Err, color),
            exit: Exit::Success,
            progress,
            require: None,
            floats: false,
            meter: None,
            tally: Tally::default(),
            spent: Spent::default(),
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

    /// One thing that was found: as an object with these fields, or as a line of text, where
    /// people see one.
    pub fn row<T: Serialize>(&mut self, reason: &str, fields: &T, text: Option<&str>) {
        match (self.format, text) {
            (Format::Json, _) => self.out.line(&json::row(reason, fields)),
            (Format::Text, Some(text)) => self.out.line(text),
            (Format::Text, None) => {}
        }
    }

    /// Whether it is programs that are told.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// A line for people, of what programs are told as objects.
    pub fn text(&mut self, text: &str) {
        if self.format == Format::Text {
            self.out.line(text);
        }
    }

    /// A line beside the result, for people.
    pub fn note(&mut self, text: &str) {
        if self.format == Format::Text && !self.quiet {
            self.err.line(text);
        }
    }

    /// Whether details are shown.
    pub fn is_verbose(&self) -> bool {
        self.verbose
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
        self.clear();
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
            self.out.at_once(&(json::claim_started(claim) + "\n"));
        }
    }

    /// One claim with its verdict; `proving` says whether a proof was asked for.
    pub fn claim_finished(&mut self, sources: &SourceMap, claim: &ClaimResult, proving: bool) {
        self.tally.count(claim);
        self.spent.count(claim);
        let exit = claim::exit(claim, proving);
        self.at_least(exit);
        let surprise = exit != Exit::Success;
        let short = self.require.filter(|require| claim::falls_short(claim.verdict, *require));
        if short.is_some() {
            self.at_least(Exit::Undecided);
        }
        self.clear();
        match self.format {
            // Those who follow a run wait for this.
            Format::Json => self.out.at_once(&(json::claim_finished(sources, claim) + "\n")),
            Format::Text if self.quiet && short.is_none() && !surprise => {}
            Format::Text => {
                let (verbose, floats) = (self.verbose, self.floats);
                let text = text::claim(sources, claim, surprise, short, verbose, floats, self.out.colored());
                self.out.text(&text);
            }
        }
    }

    /// From now on a claim must be so much.
    pub fn require(&mut self, require: Option<Require>) {
        self.require = require;
    }

    /// From now on it is told what claims are worth bit for bit.
    pub fn tell_floats(&mut self, asked: bool) {
        self.floats = asked;
    }

    /// From now on the progress over `total` claims is shown, if it is to be.
    pub fn measure(&mut self, total: usize) {
        self.meter = Some(Meter::new(self.progress, total, self.err.is_terminal()));
    }

    /// Work on a claim has begun, whenever it will be reported.
    pub fn progress_started(&mut self, claim: &str) {
        if let Some(meter) = &mut self.meter {
            meter.started(claim);
        }
    }

    pub fn progress_finished(&mut self, claim: &ClaimResult) {
        if let Some(meter) = &mut self.meter {
            meter.finished(&claim.name, claim.verdict.name(), &mut self.err);
        }
    }

    /// Time passes.
    pub fn tick(&mut self) {
        if let Some(meter) = &mut self.meter {
            meter.tick(&mut self.err);
        }
    }

    fn clear(&mut self) {
        if let Some(meter) = &mut self.meter {
            meter.clear(&mut self.err);
        }
    }

    /// A claim whose types are right, where no more was asked.
    pub fn claim_typed(&mut self) {
        self.tally.typed += 1;
    }

    /// A claim without a verdict, as its types are wrong; the diagnostics say that to people.
    pub fn claim_untyped(&mut self, sources: &SourceMap, claim: &ClaimResult) {
        self.not_checked(1);
        if self.format == Format::Json {
            self.out.at_once(&(json::claim_finished(sources, claim) + "\n"));
        }
    }

    /// The run ends before so many claims have a verdict.
    pub fn interrupted(&mut self, claims: usize) {
        self.at_least(Exit::Undecided);
        self.tally.interrupted = true;
        self.not_checked(claims);
    }

    /// Claims with their names that were checked before, and whether they are as expected.
    pub fn unchanged(&mut self, claims: &[(String, bool)]) {
        self.tally.unchanged = claims.len();
        let open = claims.iter().filter(|(_, as_expected)| !as_expected);
        self.tally.still_open = open.map(|(name, _)| name.clone()).collect();
        if !self.tally.still_open.is_empty() {
            self.at_least(Exit::Undecided);
        }
    }

    /// So many claims have no verdict: their file is broken, or they were not reached.
    pub fn not_checked(&mut self, claims: usize) {
        self.tally.not_checked += claims;
    }

    /// What the run cost.
    pub fn statistics(&mut self, counts: &Counts) {
        match self.format {
            Format::Json => self.out.line(&json::statistics(counts, &self.spent)),
            Format::Text => self.out.text(&statistics::text(counts, &self.spent)),
        }
    }

    /// What backends did with the conformance suite.
    pub fn conformance(&mut self, suite: &Suite, matrix: &Matrix) {
        match self.format {
            Format::Json => conformance::lines(suite, matrix).iter().for_each(|line| self.out.line(line)),
            Format::Text => {
                if !self.quiet {
                    self.out.text(&conformance::rows(matrix));
                }
                let seconds = self.started.elapsed().as_secs_f64();
                self.out.text(&conformance::totals(suite, matrix, self.verbose, seconds));
            }
        }
    }

    /// Ledgers were written, with so many claims; so many others are not as expected.
    pub fn ledger_written(&mut self, claims: usize, left_out: usize) {
        if self.quiet {
            return;
        }
        let left_out = match left_out {
            0 => String::new(),
            count => format!(", {count} not as expected left out"),
        };
        self.result(&format!("  ledger: {}{left_out}", text::counted(claims, "claim")));
    }

    /// Begins again, for another run after this one.
    pub fn again(&mut self) {
        self.exit = Exit::Success;
        (self.tally, self.spent) = (Tally::default(), Spent::default());
        (self.errors, self.shown, self.started) = (0, 0, Instant::now());
    }

    /// Writes out what there is so far.
    pub fn flush(&mut self) {
        self.out.at_once("");
        self.err.at_once("");
    }

    /// The end of a run without claims, which people see.
    pub fn core_finished(&mut self) {
        if self.format == Format::Json {
            self.run_finished();
        }
    }

    /// The totals of a check.
    pub fn run_finished(&mut self) {
        self.clear();
        self.meter = None;
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
