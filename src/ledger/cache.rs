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
        Some(Cache { folder: folder()?, limits, ready: Mutex::new(false), failed: Mutex::default() })
    }

    /// What is known of the item with this key. An open verdict only where no limit was
    /// raised.
    pub fn get(&self, key: &str) -> Option<Option<Record>> {
        let entry = self.read(key)?;
        let record = match entry.claim {
            None => None,
            Some(stored) => Some(stored.record()?),
        };
        let settled = record.as_ref().is_some_and(is_settled);
        (settled || entry.limits.cover(&self.limits)).then_some(record)
    }

    fn read(&self, key: &str) -> Option<Entry> {
        let (mut bytes, path) = (Vec::new(), self.folder.join(key));
        // What is no file may never end.
        fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        fs::File::open(path).ok()?.take(MAX_ENTRY + 1).read_to_end(&mut bytes).ok()?;
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
        let lost = |record: &Record| record.verdict == Verdict::Refuted && record.witness.is_none();
        let settled = found.as_ref().is_some_and(is_settled);
        if found.as_ref().is_some_and(lost) || !settled && self.holds_settled(key) {
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
        let record = |entry: Entry| entry.claim?.record();
        self.read(key).and_then(record).is_some_and(|record| is_settled(&record))
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

/// The folder of the current project's cache.
fn folder() -> Option<PathBuf> {
    let folder = project_folder()?.join(FOLDER);
    Some(folder.strip_prefix(".").map_or(folder.clone(), Path::to_path_buf))
}

/// Whether more effort would find nothing else.
fn is_settled(record: &Record) -> bool {
    matches!(record.verdict, Verdict::Proved | Verdict::Refuted)
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
        let folder = folder()?;
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

#[cfg(test)]
mod tests {
    use rtv_semantics::program::ClaimKind;

    use super::*;

    const LIMITS: Limits = Limits { seed: 0, samples: 200, timeout_ms: 60_000, rlimit: 9, memory: 512 };
    const KEY: &str = "00112233445566778899aabbccddeeff";

    /// A cache in a folder of its own, removed with it.
    struct Alone(Cache);

    impl Alone {
        fn new(name: &str) -> Alone {
            let folder = std::env::temp_dir().join(format!("rtv-cache-{name}-{}", std::process::id()));
            Alone(Cache {
                folder: folder.join(FOLDER),
                limits: LIMITS,
                ready: Mutex::default(),
                failed: Mutex::default(),
            })
        }

        fn path(&self) -> PathBuf {
            self.0.folder.join(KEY)
        }

        fn verdict(&self) -> Option<Verdict> {
            Some(self.0.get(KEY)??.verdict)
        }
    }

    impl Drop for Alone {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(self.0.folder.ancestors().nth(2).expect("its own folder"));
        }
    }

    fn record(verdict: Verdict) -> Option<Record> {
        Some(Record {
            name: "r".into(),
            kind: ClaimKind::Rule,
            verdict,
            mode: "exact",
            contracts: [(rtv_proofs::Contract::Value, rtv_proofs::Finding::proved("z3"))].into(),
            note: "all sizes".into(),
            code: None,
            samples: 200,
            certificate: None,
            checked: None,
            facets: None,
            witness: None,
        })
    }

    #[test]
    fn a_flipped_bit_is_a_miss() {
        let cache = Alone::new("flipped");
        cache.0.put(KEY, record(Verdict::Proved));
        assert_eq!(cache.verdict(), Some(Verdict::Proved));
        let whole = fs::read(cache.path()).expect("an entry");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(cache.path(), bytes).expect("a file of the test");
            assert!(cache.0.get(KEY).is_none(), "byte {at} of {}", String::from_utf8_lossy(&whole));
        }
        for length in 0..whole.len() {
            fs::write(cache.path(), &whole[..length]).expect("a file of the test");
            assert!(cache.0.get(KEY).is_none(), "the first {length} bytes");
        }
        fs::write(cache.path(), [whole.clone(), b"\n".to_vec()].concat()).expect("a file of the test");
        assert!(cache.0.get(KEY).is_none(), "one byte more");
    }

    #[test]
    fn an_entry_of_another_build_or_claim_is_none() {
        let cache = Alone::new("build");
        cache.0.put(KEY, record(Verdict::Proved));
        let text = fs::read_to_string(cache.path()).expect("an entry");
        let (_, json) = text.split_once('\n').expect("two lines");
        let soundness = format!("\"soundness\":{SOUNDNESS}");
        let changes = [(TOOL, "0.0.1+0"), (&*soundness, "\"soundness\":0"), (KEY, &KEY.replace('0', "1"))];
        for (from, to) in changes {
            let json = json.replacen(from, to, 1);
            fs::write(cache.path(), format!("{HEADER}{}\n{json}", checksum(&json)))
                .expect("a file of the test");
            assert!(cache.0.get(KEY).is_none(), "{from} became {to}");
        }
        fs::write(cache.path(), format!("{HEADER}{}\n{json}", checksum(json))).expect("a file of the test");
        assert_eq!(cache.verdict(), Some(Verdict::Proved));
    }

    #[test]
    fn an_open_verdict_counts_for_no_more_effort_than_it_took() {
        let mut cache = Alone::new("limits");
        cache.0.put(KEY, record(Verdict::Unknown));
        assert_eq!(cache.verdict(), Some(Verdict::Unknown));
        cache.0.limits.samples += 1;
        assert_eq!(cache.verdict(), None);
        cache.0.put(KEY, record(Verdict::Proved));
        cache.0.limits.samples += 1;
        assert_eq!(cache.verdict(), Some(Verdict::Proved));
        cache.0.put(KEY, record(Verdict::Unknown));
        assert_eq!(cache.verdict(), Some(Verdict::Proved), "a settled verdict stays");
    }

    #[test]
    fn that_an_item_claims_nothing_is_known_too() {
        let mut cache = Alone::new("nothing");
        cache.0.put(KEY, None);
        assert!(matches!(cache.0.get(KEY), Some(None)));
        cache.0.limits.timeout_ms += 1;
        assert!(cache.0.get(KEY).is_none());
    }

    #[test]
    fn a_refutation_without_its_input_is_not_kept() {
        let cache = Alone::new("input");
        cache.0.put(KEY, record(Verdict::Refuted));
        assert!(cache.0.get(KEY).is_none());
    }

    #[test]
    fn the_older_half_of_too_many_entries_goes() {
        let cache = Alone::new("prune");
        let keys: Vec<String> = (0..9).map(|n| format!("{n:032x}")).collect();
        for (age, key) in keys.iter().rev().enumerate() {
            cache.0.put(key, record(Verdict::Proved));
            let written = SystemTime::now() - Duration::from_secs(age as u64);
            let file = fs::File::options().write(true).open(cache.0.folder.join(key)).expect("an entry");
            file.set_modified(written).expect("a file of the test");
        }
        prune(&cache.0.folder, 8);
        let kept: Vec<bool> = keys.iter().map(|key| cache.0.get(key).is_some()).collect();
        assert_eq!(kept, [false, false, false, false, false, true, true, true, true]);
    }
}
