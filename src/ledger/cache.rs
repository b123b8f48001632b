//! The cache of a project: a file for each item that was checked, by content key.
//!
//! Several processes may share it. An entry is `rtv cache 1 CHECKSUM`, and a line of JSON
//! which the checksum is of.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rtv_proofs::{Record, SOUNDNESS, Verdict};
use rtv_runtime::io::reason;
use rtv_semantics::diag::{Code, Diagnostic, Span};
use rtv_smt::Z3_VERSION;
use serde::{Deserialize, Serialize};
use sha3::{Digest, Sha3_256};

use super::limits::Limits;
use super::stored::Stored;
use super::{Durable, replace};
use crate::project::project_folder;

/// Where it is in a project.
const FOLDER: &str = ".rtv/cache";
/// First words of an entry; another form has another number.
const HEADER: &str = "rtv cache 1 ";
/// This build: its version, and the hash of the sources that verdicts come from.
const TOOL: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("RTV_SOURCES"));
/// Longer entries are not kept.
const MAX_ENTRY: u64 = 1 << 20;
/// With more entries the older half goes.
const MAX_ENTRIES: usize = 20_000;
/// A file that is being written is not older.
const LONGEST_WRITE: Duration = Duration::from_secs(600);

/// The cache cannot be written.
const UNWRITABLE_CACHE: Code = Code(824);

/// The cache of this run's project.
pub struct Cache {
    folder: PathBuf,
    limits: Limits,
    /// Whether the folder is made.
    ready: Mutex<bool>,
    /// Why an entry could not be written, the first time.
    failed: Mutex<Option<Diagnostic>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    key: String,
    tool: String,
    soundness: u32,
    solver: String,
    limits: Limits,
    /// Nothing where the item makes no claim.
    claim: Option<Stored>,
}

impl Cache {
    /// The cache of the project of the current folder; none outside of projects.
    pub fn of_project(limits: Limits) -> Option<Cache> {
        let folder = project_folder()?.join(FOLDER);
        Some(Cache { folder, limits, ready: Mutex::new(false), failed: Mutex::default() })
    }

    /// What is known of the item with this key. An open verdict only where no limit was
    /// raised.
    pub fn get(&self, key: &str) -> Option<Option<Record>> {
        let entry = self.read(key)?;
        match entry.claim {
            None => Some(None),
            Some(stored) => {
                let record = stored.record()?;
                let settled = matches!(record.verdict, Verdict::Proved | Verdict::Refuted);
                (settled || entry.limits.cover(&self.limits)).then_some(Some(record))
            }
        }
    }

    fn read(&self, key: &str) -> Option<Entry> {
        let mut bytes = Vec::new();
        fs::File::open(self.folder.join(key)).ok()?.take(MAX_ENTRY + 1).read_to_end(&mut bytes).ok()?;
        let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len() as u64 <= MAX_ENTRY)?;
        let (sum, text) = text.strip_prefix(HEADER)?.split_once('\n')?;
        if sum != checksum(text) {
            return None;
        }
        let entry: Entry = serde_json::from_str(text).ok()?;
        let ours = entry.key == key
            && entry.tool == TOOL
            && entry.soundness == SOUNDNESS
            && entry.solver == Z3_VERSION;
        ours.then_some(entry)
    }

    /// Keeps what was found of an item. A refutation is kept with its input, and an open
    /// verdict does not take the place of a settled one, which another run may have found.
    pub fn put(&self, key: &str, found: Option<Record>) {
        let verdict = found.as_ref().map(|record| record.verdict);
        let replayable = found.as_ref().is_some_and(|record| record.witness.is_some());
        let settled = matches!(verdict, None | Some(Verdict::Proved | Verdict::Refuted));
        if verdict == Some(Verdict::Refuted) && !replayable || !settled && self.holds_settled(key) {
            return;
        }
        let claim = match &found {
            None => None,
            Some(record) => match Stored::of(record) {
                None => return,
                stored => stored,
            },
        };
        let (tool, solver) = (TOOL.to_string(), Z3_VERSION.to_string());
        let entry =
            Entry { key: key.to_string(), tool, soundness: SOUNDNESS, solver, limits: self.limits, claim };
        let text = serde_json::to_string(&entry).expect("invariant: every key is a text");
        let text = format!("{HEADER}{}\n{text}", checksum(&text));
        if text.len() as u64 > MAX_ENTRY {
            return;
        }
        if let Err(why) =
            self.prepare().and_then(|()| replace(&self.folder.join(key), text.as_bytes(), Durable::No))
        {
            self.fail(&why);
        }
    }

    fn holds_settled(&self, key: &str) -> bool {
        let verdict = |entry: Entry| Some(entry.claim?.record()?.verdict);
        matches!(self.read(key).and_then(verdict), Some(Verdict::Proved | Verdict::Refuted))
    }

    /// Makes the folder, once, and keeps it out of version control.
    fn prepare(&self) -> io::Result<()> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if !*ready {
            fs::create_dir_all(&self.folder)?;
            let ignored = self.folder.with_file_name(".gitignore");
            if !ignored.exists() {
                fs::write(ignored, "*\n")?;
            }
            *ready = true;
        }
        Ok(())
    }

    fn fail(&self, why: &io::Error) {
        let fact = format!("cannot write the cache `{}`: {}", self.folder.display(), reason(why));
        let found = Diagnostic::lint(UNWRITABLE_CACHE, Span::default(), fact)
            .help("verdicts of this run are not kept; `--no-cache` does without");
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
    }

    /// Ends its use: keeps its size in bounds, and says what went wrong.
    pub fn finish(&self) -> Option<Diagnostic> {
        if *self.ready.lock().unwrap_or_else(PoisonError::into_inner) {
            prune(&self.folder, MAX_ENTRIES);
        }
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn checksum(text: &str) -> String {
    Sha3_256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file of a cache: its path, when it was written, its length.
type Kept = (PathBuf, SystemTime, u64);

/// The entries of a folder, and files that were left behind half written.
fn kept(folder: &Path) -> (Vec<Kept>, Vec<Kept>) {
    let file = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((entry.path(), about.modified().ok()?, about.len()))
    };
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(file);
    files.partition(|(path, ..)| path.extension().is_none())
}

/// Removes the older half of too many entries, and what was left behind.
fn prune(folder: &Path, most: usize) {
    let (mut entries, left) = kept(folder);
    let old = |written: &SystemTime| written.elapsed().is_ok_and(|age| age > LONGEST_WRITE);
    let mut gone: Vec<Kept> = left.into_iter().filter(|(_, written, _)| old(written)).collect();
    if entries.len() > most {
        entries.sort_by_key(|(_, written, _)| *written);
        gone.extend(entries.drain(..entries.len() - most / 2));
    }
    for (path, ..) in gone {
        // Another process may have been quicker.
        let _ = fs::remove_file(path);
    }
}

/// What a cache holds.
pub struct Contents {
    pub folder: PathBuf,
    pub entries: usize,
    pub bytes: u64,
}

impl Contents {
    /// Of the cache of the current project, if there is a project.
    pub fn of_project() -> Option<Contents> {
        let folder = project_folder()?.join(FOLDER);
        let (entries, _) = kept(&folder);
        Some(Contents {
            folder,
            entries: entries.len(),
            bytes: entries.iter().map(|(.., length)| length).sum(),
        })
    }

    /// Removes all of it.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            _ => Ok(()),
        }
    }
}
