//! Ledgers as they are now and as they were at a revision of git, claim by claim.
//!
//! What counts is what a line says: the verdict, how each contract was decided, and which
//! certificate it names. Versions, content keys and notes may change without it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use super::book::{Book, Line};

/// A claim of which a ledger says something else than it did.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Difference {
    /// The path of the ledger, below its folder.
    pub ledger: String,
    pub name: String,
    pub kind: &'static str,
    /// `changed`, `added` or `removed`.
    pub change: &'static str,
    pub fields: Vec<Field>,
}

/// What is said of a claim under one name.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Field {
    pub field: &'static str,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// Why a revision cannot be looked at.
pub enum NoRevision {
    /// git cannot be run.
    NoGit(io::Error),
    /// The folder is in no repository.
    NoRepository,
    /// The repository has no revision of this name.
    Unknown,
    /// What git says of a file.
    Unreadable(String),
}

/// A folder of ledgers, in the working tree and at a revision.
pub struct Revision<'f> {
    folder: &'f Path,
    commit: String,
}

impl<'f> Revision<'f> {
    /// # Errors
    /// If there is no git, no repository, or no such revision in it.
    pub fn of(folder: &'f Path, name: &str) -> Result<Revision<'f>, NoRevision> {
        let asked = |args: &[&str], otherwise: NoRevision| match git(folder, args) {
            Err(NoRevision::Unreadable(_)) => Err(otherwise),
            answer => answer,
        };
        asked(&["rev-parse", "--git-dir"], NoRevision::NoRepository)?;
        // What begins with a dash would be an option.
        if name.starts_with('-') {
            return Err(NoRevision::Unknown);
        }
        let named = format!("{name}^{{commit}}");
        let commit = asked(&["rev-parse", "--quiet", "--verify", &named], NoRevision::Unknown)?;
        Ok(Revision { folder, commit: commit.trim().to_string() })
    }

    /// The commit, in hexadecimal.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// The ledgers that there were, by their paths below the folder.
    ///
    /// # Errors
    /// If git cannot read them.
    pub fn ledgers(&self) -> Result<BTreeMap<PathBuf, Book>, NoRevision> {
        let list = git(self.folder, &["ls-tree", "-r", "-z", "--name-only", &self.commit])?;
        let paths = list.split('\0').filter(|path| path.ends_with(".ledger")).map(PathBuf::from);
        let read = |path: PathBuf| {
            let text = git(self.folder, &["show", &format!("{}:./{}", self.commit, path.display())])?;
            Ok((path, Book::read(&text).0))
        };
        paths.map(read).collect()
    }
}

/// What git prints, run in a folder.
fn git(folder: &Path, args: &[&str]) -> Result<String, NoRevision> {
    let run = Command::new("git").arg("-C").arg(folder).args(args).output().map_err(NoRevision::NoGit)?;
    match run.status.success() {
        true => Ok(String::from_utf8_lossy(&run.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            Err(NoRevision::Unreadable(said.lines().next().unwrap_or_default().to_string()))
        }
    }
}

/// What the ledgers say now and did not say before.
pub fn differences(before: &BTreeMap<PathBuf, Book>, after: &BTreeMap<PathBuf, Book>) -> Vec<Difference> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let empty = Book::default();
    let mut found = Vec::new();
    for path in paths {
        let (old, new) = (before.get(path).unwrap_or(&empty), after.get(path).unwrap_or(&empty));
        let ledger = path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        let subjects: BTreeSet<_> = old.lines().chain(new.lines()).map(|(subject, _)| subject).collect();
        for subject in subjects {
            let (old, new) = (old.get(subject), new.get(subject));
            let fields = fields(old, new);
            let change = match (old, new) {
                (None, _) => "added",
                (_, None) => "removed",
                _ if fields.is_empty() => continue,
                _ => "changed",
            };
            let (name, kind) = (subject.0.clone(), subject.1);
            found.push(Difference { ledger: ledger.clone(), name, kind, change, fields });
        }
    }
    found
}

/// What two lines say differently.
fn fields(old: Option<&Line>, new: Option<&Line>) -> Vec<Field> {
    let said = |line: Option<&Line>| -> BTreeMap<&'static str, String> {
        line.map_or(Vec::new(), Line::said).into_iter().collect()
    };
    let (before, after) = (said(old), said(new));
    let names: BTreeSet<&'static str> = before.keys().chain(after.keys()).copied().collect();
    let field = |field: &'static str| {
        let (before, after) = (before.get(field).cloned(), after.get(field).cloned());
        (before != after).then_some(Field { field, before, after })
    };
    names.into_iter().filter_map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(lines: &[&str]) -> BTreeMap<PathBuf, Book> {
        let text = format!("# rtv ledger 1 of a.rtl\n{}\n", lines.join("\n"));
        let (book, wrong) = Book::read(&text);
        assert_eq!(wrong, Vec::<usize>::new());
        BTreeMap::from([(PathBuf::from("a.ledger"), book)])
    }

    fn line(name: &str, verdict: &str, value: &str, certificate: &str, key: &str) -> String {
        format!("{name}\trule\t{verdict}\texact\tvalue {value}\t{certificate}\t-\t0.1.0\t5.4\t{key}\t-")
    }

    #[test]
    fn what_a_line_says_is_compared_and_no_more() {
        let proved = |name, certificate, key| line(name, "proved", "proved z3", certificate, key);
        let before = book(&[&proved("a", "-", "k"), &proved("b", "c0", "k"), &proved("d", "c1", "k")]);
        let after = book(&[
            &proved("a", "c2", "k"),
            &proved("b", "c0", "another key"),
            &line("e", "refuted R0411", "refuted counterexample", "-", "k"),
        ]);
        let found = differences(&before, &after);
        let told: Vec<(&str, &str)> = found.iter().map(|d| (&*d.name, d.change)).collect();
        assert_eq!(told, [("a", "changed"), ("d", "removed"), ("e", "added")]);
        let field = Field { field: "certificate", before: None, after: Some("c2".into()) };
        assert_eq!(found[0].fields, [field]);
        assert_eq!(differences(&after, &after), []);
    }
}
