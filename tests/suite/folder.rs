//! Folders and runs of the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The root of the project.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder of its own for one test, removed with it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("rtv-suite-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        Folder(folder)
    }

    /// A project with a ledger and one file of claims, `a.rtl`.
    pub fn project(name: &str, claims: &str) -> Folder {
        let folder = Folder::new(name);
        fs::create_dir_all(folder.path("ledger")).expect("a folder for the test");
        folder.file("rtv.toml", "");
        folder.file("a.rtl", claims);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("a file for the test");
    }

    /// Runs the program here.
    pub fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, &[])
    }

    /// Runs the program here, with variables in its environment.
    pub fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtv"));
        let command = command.args(args).envs(variables.iter().copied()).current_dir(&self.0);
        Run::from(command.output().expect("rtv starts"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing depends on the folder's removal.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How a run of the program ended.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    /// What it printed as JSON, one object a line.
    pub fn rows(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("rtv writes UTF-8");
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// All files below a folder whose name ends so, sorted.
pub fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_below(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}
