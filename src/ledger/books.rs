//! The ledgers of the files of a run.
//!
//! The ledger of a file is in the nearest folder `ledger` beside it or above it, up to the
//! folder of its project: `proofs/rules/pad.rtl` has `proofs/ledger/rules/pad.ledger`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rtv_proofs::{Checked, ClaimResult, Module, Outcome, Provenance, Record, Verdict, subject};
use rtv_runtime::io::{UNREADABLE, UNWRITABLE, placeless, reason};
use rtv_semantics::diag::{Code, Diagnostic, FileId};
use rtv_semantics::program::ClaimKind;

use super::book::{Book, Line, Subject};
use super::certificates::Certificates;
use super::{Durable, Seen, replace};
use crate::project::project_above;
use crate::report::as_expected;

/// The ledger says nothing of a claim as it is now.
const NOT_IN_LEDGER: Code = Code(820);
/// A line of a ledger cannot be read.
const BROKEN_LEDGER: Code = Code(821);
/// A file has no ledger.
const NO_LEDGER: Code = Code(822);

/// The folder that holds ledgers, and the ending of each.
const FOLDER: &str = "ledger";
const ENDING: &str = "ledger";
/// The ending of the certificates beside one.
const CERTIFICATES: &str = "certificates";

/// The ledgers, by source file.
pub struct Books {
    books: BTreeMap<FileId, (Place, Book)>,
    /// Their folders, where no other process may write them.
    _held: Vec<File>,
}

/// What ledgers are opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum For {
    Reading,
    /// Other writers wait until these are closed.
    Writing,
}

/// Where the ledger of a source file is.
#[derive(Clone)]
struct Place {
    /// The folder `ledger`.
    folder: PathBuf,
    /// The source file, below the folder that holds `ledger`.
    source: PathBuf,
}

impl Place {
    fn of(file: &Path) -> Option<Place> {
        let file = fs::canonicalize(file).ok()?;
        let project = project_above(file.parent()?)?;
        let within = file.ancestors().skip(1).take_while(|above| above.starts_with(project));
        let above = within.into_iter().find(|above| above.join(FOLDER).is_dir())?;
        let source = file.strip_prefix(above).ok()?.to_path_buf();
        Some(Place { folder: above.join(FOLDER), source })
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.source).with_extension(ENDING)
    }

    fn certificates_path(&self) -> PathBuf {
        self.path().with_extension(CERTIFICATES)
    }

    fn certificates(&self) -> io::Result<Certificates> {
        Certificates::read(&self.certificates_path())
    }

    /// From the current folder, if it is below that.
    fn shown(&self) -> String {
        let path = self.path();
        let here = std::env::current_dir().and_then(fs::canonicalize);
        let below = here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf));
        below.unwrap_or(path).display().to_string()
    }

    /// As it stands in the ledger, with `/` everywhere.
    fn source_name(&self) -> String {
        self.source.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
    }
}

/// What there is of the certificate of a claim.
pub enum Filed {
    /// The ledger says nothing of the claim as it is now.
    NotInLedger,
    /// There is no claim, or it is not proved.
    NotProved,
    Certificate(String),
    Missing,
    Damaged(String),
}

/// What an update wrote.
#[derive(Default)]
pub struct Update {
    /// Claims that are in the ledgers now.
    pub claims: usize,
    /// Claims that are not, since they are not as expected.
    pub left_out: usize,
    pub faults: Vec<Diagnostic>,
}

impl Books {
    /// Reads the ledgers of these files, and says what is wrong with them.
    pub fn open<'f>(
        files: impl Iterator<Item = (FileId, &'f Path)>,
        purpose: For,
    ) -> (Books, Vec<Diagnostic>) {
        let places: Vec<(FileId, Place)> =
            files.filter_map(|(file, path)| Some((file, Place::of(path)?))).collect();
        let _held = if purpose == For::Writing { hold(&places) } else { Vec::new() };
        let (mut books, mut faults) = (BTreeMap::new(), Vec::new());
        for (file, place) in places {
            let (book, wrong) = match fs::read_to_string(place.path()) {
                Ok(text) => Book::read(&text),
                Err(why) if why.kind() == io::ErrorKind::NotFound => (Book::default(), Vec::new()),
                Err(why) => {
                    let fact = format!("cannot read `{}`: {}", place.shown(), reason(&why));
                    faults.push(placeless(UNREADABLE, fact));
                    continue;
                }
            };
            faults.extend(wrong.into_iter().take(1).map(|line| broken(&place, line)));
            books.insert(file, (place, book));
        }
        (Books { books, _held }, faults)
    }

    /// The ledgers by their folders, and by their paths below these.
    pub fn by_folder(&self) -> BTreeMap<PathBuf, BTreeMap<PathBuf, Book>> {
        let mut all: BTreeMap<PathBuf, BTreeMap<PathBuf, Book>> = BTreeMap::new();
        for (place, book) in self.books.values() {
            let path = place.source.with_extension(ENDING);
            all.entry(place.folder.clone()).or_default().insert(path, book.clone());
        }
        all
    }

    /// The ledger of a file.
    pub fn book(&self, file: FileId) -> Option<&Book> {
        self.books.get(&file).map(|(_, book)| book)
    }

    /// What the ledger says of the item at a place.
    pub fn item(&self, module: &Module, at: usize) -> Outcome {
        let Some(subject) = claimed(module, at) else { return Outcome::default() };
        let line = self.books.get(&module.file).and_then(|(_, book)| book.get(&subject));
        match line.filter(|line| line.key == module.content_key(at)) {
            Some(line) => {
                let record = line.record(&subject);
                let claim = record.and_then(|record| record.read(module, at, Provenance::Ledger));
                Outcome { claims: claim.into_iter().collect(), ..Outcome::default() }
            }
            None => missing(module, at, &subject, line.is_some()),
        }
    }

    /// The certificate of the claim at a place, if the ledger says that it is proved.
    pub fn certificate(&self, module: &Module, at: usize) -> Filed {
        let Some(subject) = claimed(module, at) else { return Filed::NotProved };
        let Some((place, book)) = self.books.get(&module.file) else { return Filed::NotInLedger };
        let line = book.get(&subject).filter(|line| line.key == module.content_key(at));
        let Some(line) = line else { return Filed::NotInLedger };
        if !line.is_proved() {
            return Filed::NotProved;
        }
        match place.certificates() {
            Err(why) => Filed::Damaged(reason(&why)),
            Ok(all) => match all.get(&subject) {
                Some(text) if book.is_certified(&subject, text) => Filed::Certificate(text.to_string()),
                Some(_) => Filed::Damaged("it is not the one of the ledger".into()),
                None if line.has_certificate() => Filed::Damaged("it is not there".into()),
                None => Filed::Missing,
            },
        }
    }

    /// Writes what a run found into the ledgers, and leaves out what is not as expected
    /// and claims that no longer exist. What the run did not look at stays.
    pub fn update(&mut self, modules: &[Module], found: &BTreeMap<(usize, usize), Seen>) -> Update {
        let mut update = Update::default();
        for (number, module) in modules.iter().enumerate() {
            let subjects: Vec<(usize, Subject)> =
                (0..module.items.len()).filter_map(|at| Some((at, claimed(module, at)?))).collect();
            let Some((place, book)) = self.books.get_mut(&module.file) else {
                update.faults.extend((!subjects.is_empty()).then(|| without_ledger(module, &subjects)));
                continue;
            };
            book.retain(|old| subjects.iter().any(|(_, subject)| subject == old));
            let mut certificates = place.certificates().unwrap_or_default();
            for (at, subject) in &subjects {
                let record = match found.get(&(number, *at)) {
                    None => continue,
                    Some(Seen::NoClaim) => None,
                    Some(Seen::Claim(claim)) if as_expected(claim) => {
                        if let Some(Checked::Accepted(_, text)) = &claim.checked {
                            certificates.set(subject.clone(), text.to_string());
                        }
                        Some(Record::from(&**claim))
                    }
                    // What this run did not find out, an earlier one did.
                    Some(Seen::Claim(claim))
                        if claim.verdict == Verdict::Unknown
                            && book.is_current(subject, &module.content_key(*at)) =>
                    {
                        continue;
                    }
                    Some(Seen::Claim(_) | Seen::Faulty) => {
                        book.retain(|old| old != subject);
                        update.left_out += 1;
                        continue;
                    }
                };
                book.set(subject.clone(), Line::of(module.content_key(*at), record.as_ref()));
            }
            update.claims += book.len();
            certificates.retain(|subject, text| book.is_certified(subject, text));
            let written =
                certificates.write(&place.certificates_path()).map_err(|why| unwritten(place, &why));
            update.faults.extend(write(place, book).and(written).err());
        }
        let folders: BTreeSet<&Path> = self.books.values().map(|(place, _)| &*place.folder).collect();
        folders.into_iter().for_each(remove_orphans);
        update
    }
}

/// Locks the folders, always in one order. Where that is not possible a writer may undo
/// what another one wrote at the same time, never half of it.
fn hold(places: &[(FileId, Place)]) -> Vec<File> {
    let folders: BTreeSet<&Path> = places.iter().map(|(_, place)| &*place.folder).collect();
    let held = |folder: &Path| {
        let folder = File::open(folder).ok()?;
        folder.lock().ok().map(|()| folder)
    };
    folders.into_iter().filter_map(held).collect()
}

/// The claim that an item makes, or may make.
fn claimed(module: &Module, at: usize) -> Option<Subject> {
    let (name, kind) = subject(&module.items[at]).filter(|_| module.may_claim(at))?;
    Some((name, kind.unwrap_or(ClaimKind::Calls).name()))
}

/// Writes a ledger where it says something new, and removes one that says nothing.
fn write(place: &Place, book: &Book) -> Result<(), Diagnostic> {
    let path = place.path();
    let text = book.text(&place.source_name());
    let written = match fs::read_to_string(&path) {
        Ok(_) if book.len() == 0 => fs::remove_file(&path),
        Err(_) if book.len() == 0 => Ok(()),
        Ok(old) if old == text => Ok(()),
        _ => fs::create_dir_all(path.parent().unwrap_or(&place.folder))
            .and_then(|()| replace(&path, text.as_bytes(), Durable::Yes)),
    };
    written.map_err(|why| unwritten(place, &why))
}

fn unwritten(place: &Place, why: &io::Error) -> Diagnostic {
    placeless(UNWRITABLE, format!("cannot write `{}`: {}", place.shown(), reason(why)))
}

/// Removes the ledgers of source files that are gone.
fn remove_orphans(folder: &Path) {
    let Some(above) = folder.parent() else { return };
    let mut open = vec![folder.to_path_buf()];
    while let Some(current) = open.pop() {
        for path in fs::read_dir(&current).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let is_ledger = path.extension().is_some_and(|ending| ending == ENDING || ending == CERTIFICATES);
            let source = path.strip_prefix(folder).ok().map(|below| above.join(below).with_extension("rtl"));
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if is_ledger && source.is_some_and(|source| !source.exists()) {
                // A ledger that stays is read by nobody.
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn missing(module: &Module, at: usize, (name, _): &Subject, stale: bool) -> Outcome {
    let fact = match stale {
        true => format!("`{name}`, or what it rests on, is not what the ledger is about"),
        false => format!("the ledger says nothing of `{name}`"),
    };
    let help = "`rtv check FILE --update-ledger` decides it and writes the ledger";
    let found = Diagnostic::error(NOT_IN_LEDGER, module.items[at].span, fact.clone()).help(help);
    let claim = ClaimResult::without_verdict(module, at, NOT_IN_LEDGER, fact);
    Outcome { diagnostics: vec![found], untyped: claim.into_iter().collect(), ..Outcome::default() }
}

fn broken(place: &Place, line: usize) -> Diagnostic {
    let fact = format!("line {line} of `{}` is no line of a ledger", place.shown());
    placeless(BROKEN_LEDGER, fact).help("after a merge, delete it; `--update-ledger` writes it anew")
}

fn without_ledger(module: &Module, subjects: &[(usize, Subject)]) -> Diagnostic {
    let (at, (name, _)) = &subjects[0];
    let fact = format!("`{name}` is in a file without a ledger");
    Diagnostic::error(NO_LEDGER, module.items[*at].span, fact)
        .help("make a folder `ledger` beside the file or above it, in a project: a folder with `rtv.toml`")
}
