//! How far a run is, on standard error: a line that is redrawn on a terminal, or plain
//! lines where that is asked for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use super::stream::Stream;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Progress {
    /// A bar on a terminal, nothing elsewhere
    Auto,
    /// A line that is redrawn
    Bar,
    /// A line for each finished claim, and every 10 s for those still running
    Plain,
    /// Nothing
    None,
}

/// Between two redrawn bars.
const REDRAW: Duration = Duration::from_millis(100);
/// Between two plain lines about what is still running.
const REMIND: Duration = Duration::from_secs(10);
/// Characters of a bar; narrower than any terminal people use.
const WIDTH: usize = 78;
const CELLS: usize = 20;

/// Counts the claims of a run.
pub struct Meter {
    shape: Progress,
    total: usize,
    done: usize,
    /// By name, since when; the same name may run in two files.
    running: BTreeMap<String, Vec<Instant>>,
    spoken: Instant,
    drawn: bool,
}

impl Meter {
    /// For a run over `total` claims. `Auto` is a bar or nothing.
    pub fn new(shape: Progress, total: usize, terminal: bool) -> Meter {
        let shape = match shape {
            Progress::Auto if terminal => Progress::Bar,
            Progress::Auto => Progress::None,
            other => other,
        };
        let (running, spoken) = (BTreeMap::new(), Instant::now());
        Meter { shape, total, done: 0, running, spoken, drawn: false }
    }

    pub fn started(&mut self, claim: &str) {
        self.running.entry(claim.to_string()).or_default().push(Instant::now());
    }

    pub fn finished(&mut self, claim: &str, verdict: &str, to: &mut Stream) {
        self.done += 1;
        let since = self.running.get_mut(claim);
        if since.is_some_and(|since| since.pop().is_some() && since.is_empty()) {
            self.running.remove(claim);
        }
        if self.shape == Progress::Plain {
            to.at_once(&format!("[{}/{}] {claim}: {verdict}\n", self.done, self.total));
        }
    }

    /// Time passes.
    pub fn tick(&mut self, to: &mut Stream) {
        let due = match self.shape {
            Progress::Bar => REDRAW,
            Progress::Plain => REMIND,
            Progress::Auto | Progress::None => return,
        };
        if self.spoken.elapsed() < due {
            return;
        }
        self.spoken = Instant::now();
        if self.shape == Progress::Bar {
            to.at_once(&format!("\r\x1b[K{}", self.bar()));
            self.drawn = true;
        } else if !self.running.is_empty() {
            to.at_once(&format!("[{}/{}] still running: {}\n", self.done, self.total, self.names(true)));
        }
    }

    /// Takes the bar away, before anything else is written.
    pub fn clear(&mut self, to: &mut Stream) {
        if std::mem::take(&mut self.drawn) {
            to.at_once("\r\x1b[K");
        }
    }

    fn bar(&self) -> String {
        // Claims that turned up on the way are not in the total.
        let filled = (CELLS * self.done / self.total.max(1)).min(CELLS);
        let cells = "=".repeat(filled) + &" ".repeat(CELLS - filled);
        let line = format!("  [{cells}] {}/{}  {}", self.done, self.total, self.names(false));
        line.chars().take(WIDTH).collect()
    }

    fn names(&self, with_seconds: bool) -> String {
        let name = |(name, since): (&String, &Vec<Instant>)| match since.first().filter(|_| with_seconds) {
            Some(since) => format!("{name} ({} s)", since.elapsed().as_secs()),
            None => name.clone(),
        };
        self.running.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_when_all_is_done() {
        let mut meter = Meter::new(Progress::Auto, 4, true);
        meter.done = 2;
        meter.started("rule_a");
        assert_eq!(meter.bar(), format!("  [{}{}] 2/4  rule_a", "=".repeat(10), " ".repeat(10)));
        meter.done = 4;
        meter.running.clear();
        assert_eq!(meter.bar(), format!("  [{}] 4/4  ", "=".repeat(20)));
        assert_eq!(Meter::new(Progress::Auto, 0, true).bar(), format!("  [{}] 0/0  ", " ".repeat(20)));
    }

    #[test]
    fn without_a_terminal_there_is_no_bar() {
        assert!(Meter::new(Progress::Auto, 4, false).shape == Progress::None);
    }
}
