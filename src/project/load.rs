//! The parsed files of a run.

use std::path::{Path, PathBuf};

use rtv_grammar::Parsed;
use rtv_proofs::Module;
use rtv_semantics::diag::{Diagnostic, FileId};

use super::{SourceMap, find, read};

/// One source file that could be read.
pub struct Unit {
    pub file: FileId,
    pub path: PathBuf,
    pub parsed: Parsed,
}

/// All source files of a run.
#[derive(Default)]
pub struct Project {
    pub sources: SourceMap,
    pub units: Vec<Unit>,
}

impl Project {
    /// Reads and parses what a command line names. What cannot be read is left out, with a
    /// diagnostic; syntax errors stay with their file and are returned too.
    pub fn load(named: &[PathBuf]) -> (Project, Vec<Diagnostic>) {
        let mut project = Project::default();
        let (paths, mut faults) = find(named);
        faults.extend(paths.iter().flat_map(|path| project.add(path)));
        (project, faults)
    }

    /// Reads and parses one file, with what its names mean; nothing where something is wrong with it.
    pub fn file(path: &Path) -> (Project, Option<Module>, Vec<Diagnostic>) {
        let (mut project, mut found) = Project::load(&[path.to_path_buf()]);
        let sound = |found: &[Diagnostic]| !found.iter().any(Diagnostic::is_error);
        if project.units.len() != 1 || !sound(&found) {
            return (project, None, found);
        }
        let unit = project.units.remove(0);
        let (module, names) = Module::new(unit.file, unit.parsed);
        found.extend(names);
        let module = sound(&found).then_some(module);
        (project, module, found)
    }

    fn add(&mut self, path: &Path) -> Vec<Diagnostic> {
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(fault) => return vec![fault],
        };
        let file = self.sources.add(&path.to_string_lossy(), &bytes);
        match rtv_grammar::decode(file, &bytes) {
            Err(fault) => vec![fault],
            Ok(text) => {
                let parsed = rtv_grammar::parse(file, text);
                let found = parsed.diagnostics.clone();
                self.units.push(Unit { file, path: path.to_path_buf(), parsed });
                found
            }
        }
    }

    /// The paths of the files, as they are shown.
    pub fn names(&self) -> Vec<String> {
        self.units.iter().map(|unit| unit.path.display().to_string()).collect()
    }
}
