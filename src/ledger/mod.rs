//! Verdicts that outlive a run: the cache of a project, and ledgers that are checked in.
//!
//! Invariants: a verdict is taken up only for the claim it was found for, by content key.
//! The cache belongs to one build of rtv: entries of another one, damaged ones, and open
//! verdicts found with less effort are no entries. A refutation from the cache counts when
//! its input still refutes. Files are written under another name and then renamed, so that
//! a reader sees all of one or nothing.

mod book;
mod books;
mod cache;
mod certificates;
mod limits;
mod revision;
mod stored;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rtv_proofs::{Checker, ClaimResult, Module, Outcome, Record};

pub use book::{Book, Line};
pub use books::{Books, Filed, For};
pub use cache::{Cache, Contents};
pub use limits::Limits;
pub use revision::{Difference, Field, NoRevision, Revision, differences};

/// Where the verdicts of a run come from.
pub enum Known {
    /// Everything is decided anew.
    Nothing,
    /// What earlier runs decided; what they did not is decided, and kept.
    Cache(Cache),
    /// What the ledger says. Nothing is decided.
    Ledger(Books),
}

impl Known {
    /// Checks the item at a place of a module, or says what is known of it.
    pub fn item(&self, checker: &Checker, module: &Module, at: usize) -> Outcome {
        match self {
            Known::Nothing => checker.item(module, at),
            Known::Ledger(books) => books.item(module, at),
            Known::Cache(cache) => {
                let key = module.content_key(at);
                if let Some(outcome) = cache.get(&key).and_then(|known| recalled(checker, module, at, known))
                {
                    return outcome;
                }
                let outcome = checker.item(module, at);
                if let Some(found) = Record::of(&outcome) {
                    cache.put(&key, found);
                }
                outcome
            }
        }
    }
}

fn recalled(checker: &Checker, module: &Module, at: usize, known: Option<Record>) -> Option<Outcome> {
    let claims = match known {
        None => Vec::new(),
        Some(record) => vec![checker.recall(module, at, &record)?],
    };
    Some(Outcome { claims, ..Outcome::default() })
}

/// What a run found of an item.
pub enum Seen {
    NoClaim,
    Claim(Box<ClaimResult>),
    /// There is more to say, or something else.
    Faulty,
}

/// What a run found so far, by place of the file and place in it, to be written down.
#[derive(Default)]
pub struct Noted(Mutex<BTreeMap<(usize, usize), Seen>>);

impl Noted {
    pub fn note(&self, place: (usize, usize), outcome: &Outcome) {
        let seen = match (Record::of(outcome), outcome.claims.first()) {
            (None, _) => Seen::Faulty,
            (Some(_), None) => Seen::NoClaim,
            (Some(_), Some(claim)) => Seen::Claim(Box::new(claim.clone())),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(place, seen);
    }

    pub fn taken(&self) -> BTreeMap<(usize, usize), Seen> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a rename must outlive a failure of the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durable {
    Yes,
    No,
}

/// Writes a file under a name of this process in the same folder, then renames it.
fn replace(path: &Path, bytes: &[u8], durable: Durable) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().unwrap_or(Path::new("."));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let fresh = folder.join(format!(".{}-{count}.new", process::id()));
    let written = File::create(&fresh).and_then(|mut file| {
        file.write_all(bytes)?;
        if durable == Durable::Yes { file.sync_all() } else { Ok(()) }
    });
    let placed = written.and_then(|()| fs::rename(&fresh, path));
    if placed.is_err() {
        // What is left behind is no entry, and the failure is told.
        let _ = fs::remove_file(&fresh);
    } else if durable == Durable::Yes {
        // Not every file system can; the contents are safe by now.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    placed
}
