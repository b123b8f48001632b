//! The certificates of the claims of one source file, in one compressed file beside their
//! ledger.
//!
//! Unpacked it is a text: for each certificate a line `== NAME KIND BYTES`, then so many
//! bytes. A certificate counts for the claim whose ledger line has its hash.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rtv_semantics::program::ClaimKind;

use super::book::Subject;
use super::{Durable, replace};

/// Bytes of an unpacked file; more is no file of certificates.
const MAX_BYTES: u64 = 256 << 20;

/// Certificates by claim.
#[derive(Clone, PartialEq, Default)]
pub struct Certificates(BTreeMap<Subject, String>);

impl Certificates {
    /// Those of a file; none if there is no file.
    ///
    /// # Errors
    /// When it cannot be read, or is no file of certificates.
    pub fn read(path: &Path) -> io::Result<Certificates> {
        let packed = match fs::File::open(path) {
            Ok(file) => file,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Certificates::default()),
            Err(why) => return Err(why),
        };
        let mut text = String::new();
        ZlibDecoder::new(packed).take(MAX_BYTES).read_to_string(&mut text)?;
        unpacked(&text).ok_or_else(|| io::Error::other("this is no file of certificates"))
    }

    pub fn get(&self, subject: &Subject) -> Option<&str> {
        self.0.get(subject).map(String::as_str)
    }

    pub fn set(&mut self, subject: Subject, text: String) {
        self.0.insert(subject, text);
    }

    /// Keeps those that these claims have.
    pub fn retain(&mut self, keep: impl Fn(&Subject, &str) -> bool) {
        self.0.retain(|subject, text| keep(subject, text));
    }

    /// Writes the file where it says something new, and removes one that says nothing.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if Certificates::read(path).is_ok_and(|old| old == *self) {
            return Ok(());
        }
        if self.0.is_empty() {
            return fs::remove_file(path);
        }
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        for ((name, kind), text) in &self.0 {
            writeln!(packed, "== {name} {kind} {}", text.len())?;
            packed.write_all(text.as_bytes())?;
        }
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        replace(path, &packed.finish()?, Durable::Yes)
    }
}

fn unpacked(mut text: &str) -> Option<Certificates> {
    let mut found = BTreeMap::new();
    while !text.is_empty() {
        let (head, rest) = text.strip_prefix("== ")?.split_once('\n')?;
        let mut words = head.split(' ');
        let (name, kind) = (words.next()?, ClaimKind::from_name(words.next()?)?);
        let bytes: usize = words.next()?.parse().ok()?;
        found.insert((name.to_string(), kind.name()), rest.get(..bytes)?.to_string());
        text = &rest[bytes..];
    }
    Some(Certificates(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_seen() {
        let folder = std::env::temp_dir().join(format!("rtv-certificates-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("a.certificates");
        let mut all = Certificates::default();
        all.set(("f".into(), "rule"), "one\n".repeat(40));
        all.set(("g".into(), "decomp"), String::new());
        all.write(&path).expect("written");
        assert!(Certificates::read(&path).is_ok_and(|read| read == all));
        let bytes = fs::read(&path).expect("bytes");
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).expect("written");
            assert!(Certificates::read(&path).map_or(true, |read| read == all), "byte {at}");
            fs::write(&path, &bytes[..at]).expect("written");
            assert!(Certificates::read(&path).map_or(true, |read| read == all), "cut at {at}");
        }
        fs::remove_dir_all(&folder).expect("removed");
    }
}
