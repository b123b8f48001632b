//! `rtv fmt`: canonical text of source files.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use rtv_grammar::guard::MAX_BYTES;
use rtv_runtime::io::{UNREADABLE, UNWRITABLE, placeless, reason};
use rtv_semantics::diag::{Diagnostic, FileId};

use crate::project::{SourceMap, find, read};
use crate::report::{Exit, Reporter};

#[derive(Args)]
pub struct Fmt {
    /// Files and folders; `-` formats standard input to standard output
    files: Vec<PathBuf>,
    /// Write nothing; name the files that would change and end with 1
    #[arg(long)]
    check: bool,
}

impl Fmt {
    pub fn run(&self, reporter: &mut Reporter) {
        if self.files.iter().any(|file| file.as_os_str() == "-") {
            return self.standard_input(reporter);
        }
        let (paths, faults) = find(&self.files);
        faults.iter().for_each(|fault| reporter.fault(fault));
        paths.iter().for_each(|path| self.file(path, reporter));
    }

    fn standard_input(&self, reporter: &mut Reporter) {
        let mut bytes = Vec::new();
        let limited = io::stdin().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
        if let Err(why) = limited {
            let fact = format!("cannot read standard input: {}", reason(&why));
            return reporter.fault(&placeless(UNREADABLE, fact));
        }
        let Some(new) = formatted("standard input", &bytes, reporter) else {
            return;
        };
        if !self.check {
            reporter.raw(&new);
        } else if new.as_bytes() != bytes {
            reporter.result("-");
            reporter.at_least(Exit::Refuted);
        }
    }

    fn file(&self, path: &Path, reporter: &mut Reporter) {
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(fault) => return reporter.fault(&fault),
        };
        let Some(new) = formatted(&path.to_string_lossy(), &bytes, reporter) else {
            return;
        };
        if new.as_bytes() == bytes {
            return;
        }
        if self.check {
            reporter.result(&path.display().to_string());
            reporter.at_least(Exit::Refuted);
        } else if let Err(why) = replace(path, new.as_bytes()) {
            let fact = format!("cannot write `{}`: {}", path.display(), reason(&why));
            reporter.fault(&placeless(UNWRITABLE, fact));
        }
    }
}

/// The canonical text; errors are reported and give none.
fn formatted(name: &str, bytes: &[u8], reporter: &mut Reporter) -> Option<String> {
    let mut sources = SourceMap::default();
    let file = sources.add(name, bytes);
    let found = match canonical(file, bytes) {
        Ok(text) => return Some(text),
        Err(found) => found,
    };
    found.iter().for_each(|found| reporter.diagnostic(&sources, found));
    None
}

fn canonical(file: FileId, bytes: &[u8]) -> Result<String, Vec<Diagnostic>> {
    let text = rtv_grammar::decode(file, bytes).map_err(|fault| vec![fault])?;
    // The formatter numbers no files: parse again for places in this one.
    rtv_grammar::format(text).map_err(|_| rtv_grammar::parse(file, text).diagnostics)
}

/// Writes beside the file and renames, so that no moment leaves half a file.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    let written = fs::File::create(&beside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::set_permissions(&beside, fs::metadata(&path)?.permissions()))
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // The first failure is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written
}
