//! Checking again what changes.
//!
//! Files are looked at a few times a second: there are few, and it works on every file
//! system. A claim is checked again when its text changes, or that of a definition it
//! reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime};

use rtv_proofs::Module;

use crate::cli::interrupt;
use crate::project::find;
use crate::report::Reporter;

/// Between two looks at the files.
const INTERVAL: Duration = Duration::from_millis(200);

/// Files as they were when last looked at, and the claims as they were when last checked.
#[derive(Default)]
pub struct Watched {
    named: Vec<PathBuf>,
    seen: Snapshot,
    checked: BTreeSet<String>,
    /// What was found of claims, by id: their names, and whether they are as expected.
    found: BTreeMap<String, (String, bool)>,
}

/// When each file was last written, and its length.
type Snapshot = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

fn snapshot(named: &[PathBuf]) -> Snapshot {
    let about = |path: PathBuf| {
        let about = fs::metadata(&path).ok()?;
        Some((path, (about.modified().ok(), about.len())))
    };
    find(named).0.into_iter().filter_map(about).collect()
}

impl Watched {
    /// Remembers the files as they are, before they are read.
    pub fn look(&mut self, named: &[PathBuf]) {
        self.named = named.to_vec();
        self.seen = snapshot(named);
    }

    /// Leaves the claims that were not checked as they are now, and the definitions.
    pub fn keep_changed(&mut self, modules: &[Module], wanted: &mut Vec<(usize, usize)>) {
        let key = |(file, at): &(usize, usize)| modules[*file].id(*at);
        let now: BTreeSet<String> = wanted.iter().map(key).collect();
        // Definitions are cheap, and what is wrong with them is said again.
        wanted.retain(|place| !modules[place.0].is_claim(place.1) || !self.checked.contains(&key(place)));
        self.checked = now;
    }

    /// Takes in what a round found, and gives the claims that it did not look at again.
    pub fn unchanged(&mut self, finished: BTreeMap<String, (String, bool)>) -> Vec<(String, bool)> {
        self.found.retain(|id, _| self.checked.contains(id));
        let rest = self.found.iter().filter(|(id, _)| !finished.contains_key(*id));
        let rest = rest.map(|(_, claim)| claim.clone()).collect();
        self.found.extend(finished);
        rest
    }

    /// Waits until a file changes. Not if there is an interrupt before.
    pub fn changes(&self, reporter: &mut Reporter) -> bool {
        reporter.flush();
        while !interrupt::heard() {
            let now = snapshot(&self.named);
            thread::sleep(INTERVAL);
            // Not in the middle of being written.
            if now != self.seen && now == snapshot(&self.named) {
                return true;
            }
        }
        false
    }
}
