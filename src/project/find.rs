//! Which files a command line means, and their bytes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rtv_grammar::guard::MAX_BYTES;
use rtv_runtime::io::{UNREADABLE, placeless, reason};
use rtv_semantics::diag::{Code, Diagnostic};

/// A folder holds no source file.
pub const NO_SOURCES: Code = Code(810);

/// The file that marks a project's folder.
const PROJECT_FILE: &str = "rtv.toml";
/// Deepest folder below a named one that is searched.
const MAX_FOLDERS: usize = 64;

/// The source files that `named` means: files as they are, folders with every `.rtl` file
/// below them, sorted; nothing named means the project, or else the current folder. What
/// cannot be looked at is left out, and told.
pub fn find(named: &[PathBuf]) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let project = [project_folder().unwrap_or_else(|| PathBuf::from("."))];
    let named = if named.is_empty() { &project[..] } else { named };
    let (mut found, mut seen, mut faults) = (Vec::new(), BTreeSet::new(), Vec::new());
    for path in named {
        let files = match fs::metadata(path) {
            Ok(about) if about.is_dir() => below(path, &mut faults),
            Ok(_) => vec![path.clone()],
            Err(why) => {
                faults.push(unreadable(path, &reason(&why)));
                Vec::new()
            }
        };
        found.extend(files.into_iter().filter(|file| seen.insert(identity(file))));
    }
    (found, faults)
}

/// The file itself, by whatever name it is reached.
fn identity(file: &Path) -> PathBuf {
    fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf())
}

/// The bytes of a source file; a file over the limit is cut one byte past it, which is
/// enough to be refused.
pub fn read(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let fault = |why: std::io::Error| unreadable(path, &reason(&why));
    if !fs::metadata(path).map_err(fault)?.is_file() {
        return Err(unreadable(path, "it is not a regular file"));
    }
    let file = File::open(path).map_err(fault)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(fault)?;
    Ok(bytes)
}

/// The nearest folder upwards of the current one with a project file.
pub fn project_folder() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let project = project_above(&here)?;
    Some(if project == here { PathBuf::from(".") } else { project.to_path_buf() })
}

/// The nearest folder with a project file among a folder and those above it.
pub fn project_above(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join(PROJECT_FILE).is_file())
}

/// Every source file below a folder, by name; hidden folders and build folders are left
/// out, links to folders are not followed.
fn below(folder: &Path, faults: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let (mut open, told) = (vec![(folder.to_path_buf(), 0)], faults.len());
    while let Some((folder, depth)) = open.pop() {
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.unwrap_or_else(|why| {
            faults.push(unreadable(&folder, &reason(&why)));
            Vec::new()
        });
        for entry in entries {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            let path = path.strip_prefix(".").map_or(path.clone(), Path::to_path_buf);
            let name = entry.file_name();
            let skipped = name.as_encoded_bytes().starts_with(b".") || name == "target";
            if kind.is_dir() && !skipped && depth < MAX_FOLDERS {
                open.push((path, depth + 1));
            } else if !kind.is_dir() && path.extension().is_some_and(|e| e == "rtl") {
                files.push(path);
            }
        }
    }
    if files.is_empty() && faults.len() == told {
        let fact = format!("`{}` holds no .rtl file", folder.display());
        faults.push(placeless(NO_SOURCES, fact).help("name a file, or a folder with .rtl files"));
    }
    files.sort();
    files
}

fn unreadable(path: &Path, why: &str) -> Diagnostic {
    placeless(UNREADABLE, format!("cannot read `{}`: {why}", path.display()))
        .help("name a file, or a folder with .rtl files")
}
