//! The claim that an id or a name on the command line means.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use rtv_proofs::{ClaimResult, Module, Outcome, Stage, Stated};
use rtv_runtime::io::placeless;
use rtv_semantics::diag::{Code, Diagnostic, FileId};

use super::check::Questions;
use crate::cli::effort::Effort;
use crate::nearest::nearest;
use crate::project::{Project, SourceMap};
use crate::report::{Counts, Reporter};

/// No claim has this id or name.
const NO_SUCH_CLAIM: Code = Code(816);
/// Several claims have it.
const AMBIGUOUS: Code = Code(817);

/// Fewer digits of an id are not looked up.
const LEAST_DIGITS: usize = 4;
/// Claims listed where several are meant.
const MAX_LISTED: usize = 8;

/// A claim with its file.
pub struct Claim {
    pub sources: Arc<SourceMap>,
    pub module: Module,
    /// Its place in the module.
    pub at: usize,
}

impl Claim {
    /// The claim of these files whose id begins so, or that has this name. What is wrong
    /// with the files is reported; nothing where that, or the search, ends the run.
    pub fn find(asked: &str, files: &[PathBuf], reporter: &mut Reporter) -> Option<Claim> {
        let (mut project, found) = Project::load(files);
        let units = std::mem::take(&mut project.units);
        let modules = units.into_iter().map(|unit| Module::new(unit.file, unit.parsed).0).collect();
        match choose(asked, modules, &project.sources) {
            Ok((module, at)) => {
                let faulty = |d: &&Diagnostic| d.span().file == module.file;
                found.iter().filter(faulty).for_each(|found| reporter.diagnostic(&project.sources, found));
                Some(Claim { sources: Arc::new(project.sources), module, at })
            }
            Err(fault) => {
                let unread: BTreeSet<FileId> =
                    found.iter().filter(|d| d.is_error()).map(|d| d.span().file).collect();
                reporter.fault(&match unread.len() {
                    0 => fault,
                    n => {
                        let fact = format!("{}; {n} files have errors", fault.message);
                        Diagnostic { message: fact, ..fault }
                    }
                });
                None
            }
        }
    }

    pub fn stated(&self) -> Stated<'_> {
        let found = self.module.claims().find(|stated| stated.at == self.at);
        found.expect("invariant: it is a claim of the module")
    }

    /// Decides it; what is found besides is reported. None where it has no verdict.
    pub fn decide(&self, effort: &Effort, reporter: &mut Reporter) -> Option<(ClaimResult, Counts)> {
        let questions = Questions::new(self.sources.clone(), None);
        let questions = Arc::new(questions.expect("invariant: no folder is made"));
        let (_, observer) = questions.clone().asking();
        let checker = effort.checker(Stage::Proofs, effort.pool(), observer);
        let Outcome { diagnostics, mut claims, fault } = checker.item(&self.module, self.at);
        let fault = fault.map(|fault| fault.diagnostic());
        diagnostics.iter().chain(&fault).for_each(|found| reporter.diagnostic(&self.sources, found));
        Some((claims.pop()?, questions.counts()))
    }
}

fn choose(asked: &str, modules: Vec<Module>, sources: &SourceMap) -> Result<(Module, usize), Diagnostic> {
    let is_id = asked.len() >= LEAST_DIGITS && asked.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = asked.to_ascii_lowercase();
    let mut meant = Vec::new();
    for (file, module) in modules.iter().enumerate() {
        for Stated { at, item, name, .. } in module.claims() {
            let id = module.id(at);
            if name == asked || is_id && id.starts_with(&digits) {
                let place = sources.place(item.span);
                let place = place.map_or(String::new(), |place| format!(" ({}:{})", place.file, place.line));
                meant.push((id, file, at, place));
            }
        }
    }
    match meant.as_slice() {
        [] => Err(unknown(asked, &modules)),
        // The same text about the same definitions says the same, wherever it stands.
        [(id, file, at, _), rest @ ..] if rest.iter().all(|(other, ..)| other == id) => {
            let module = modules.into_iter().nth(*file).expect("invariant: found in it");
            Ok((module, *at))
        }
        several => {
            let mut lines: Vec<String> =
                several.iter().map(|(id, _, _, place)| format!("{}{place}", &id[..8])).collect();
            let hidden = lines.len().saturating_sub(MAX_LISTED);
            lines.truncate(MAX_LISTED);
            let more = if hidden > 0 { format!(", and {hidden} more") } else { String::new() };
            let fact = format!("`{asked}` means {} claims", several.len());
            Err(placeless(AMBIGUOUS, fact).help(format!("name one by its id: {}{more}", lines.join(", "))))
        }
    }
}

fn unknown(asked: &str, modules: &[Module]) -> Diagnostic {
    let shown: String = asked.chars().take(40).flat_map(char::escape_debug).collect();
    let fault = placeless(NO_SUCH_CLAIM, format!("no claim has the id or the name `{shown}`"));
    let names: Vec<String> = modules.iter().flat_map(Module::claims).map(|stated| stated.name).collect();
    match nearest(asked, names.iter().map(String::as_str)) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => fault.help("name the files that it is in; `rtv check -v` shows the ids of claims"),
    }
}
