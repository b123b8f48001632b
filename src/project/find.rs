//! Which files a command line means, and their bytes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
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
/// below them, sorted; nothing named means the project, or else the current folder.
pub fn find(named: &[PathBuf]) -> Result<Vec<PathBuf>, Vec<Diagnostic>> {
    let project = [project_folder()];
    let named = if named.is_empty() { &project[..] } else { named };
    let (mut found, mut seen, mut faults) = (Vec::new(), BTreeSet::new(), Vec::new());
    for path in named {
        let files = match fs::metadata(path) {
            Ok(about) if about.is_dir() => below(path),
            Ok(_) => Ok(vec![path.clone()]),
            Err(why) => Err(unreadable(path, &reason(&why))),
        };
        match files {
            Ok(files) => found.extend(files.into_iter().filter(|file| seen.insert(identity(file)))),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(found) } else { Err(faults) }
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

/// The nearest folder upwards with a project file, or the current one.
fn project_folder() -> PathBuf {
    let here = PathBuf::from(".");
    let Ok(folder) = std::env::current_dir() else {
        return here;
    };
    let project = folder.ancestors().find(|f| f.join(PROJECT_FILE).is_file());
    project.filter(|p| *p != folder).map_or(here, Path::to_path_buf)
}

/// Every source file below a folder, by name; hidden folders and build folders are left
/// out, links to folders are not followed.
fn below(folder: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut files = Vec::new();
    let mut open = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let fault = |why: std::io::Error| unreadable(&folder, &reason(&why));
        for entry in fs::read_dir(&folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(fault)?);
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
    if files.is_empty() {
        let fact = format!("`{}` holds no .rtl file", folder.display());
        return Err(placeless(NO_SOURCES, fact).help("name a file, or a folder with .rtl files"));
    }
    files.sort();
    Ok(files)
}

fn unreadable(path: &Path, why: &str) -> Diagnostic {
    placeless(UNREADABLE, format!("cannot read `{}`: {why}", path.display()))
}
