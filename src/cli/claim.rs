//! The claim that an id or a name on the command line means.

use std::path::PathBuf;
use std::sync::Arc;

use rtv_grammar::ast::Item;
use rtv_proofs::{ClaimResult, Module, Outcome, Stage, subject};
use rtv_runtime::io::placeless;
use rtv_semantics::diag::{Code, Diagnostic};

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
                let faults: Vec<&Diagnostic> = found.iter().filter(faulty).collect();
                faults.iter().for_each(|found| reporter.diagnostic(&project.sources, found));
                // As in a check: what is not understood may mean another thing.
                (!faults.iter().any(|found| found.is_error())).then_some(Claim {
                    sources: Arc::new(project.sources),
                    module,
                    at,
                })
            }
            Err(fault) => {
                // Of a whole project only what was asked is told.
                let told = found.iter().filter(|_| !files.is_empty());
                told.for_each(|found| reporter.diagnostic(&project.sources, found));
                reporter.fault(&fault);
                None
            }
        }
    }

    pub fn item(&self) -> &Item {
        &self.module.items[self.at]
    }

    /// Decides it; what is found besides is reported. None where it has no verdict.
    pub fn decide(&self, effort: &Effort, reporter: &mut Reporter) -> Option<(ClaimResult, Counts)> {
        let questions = Questions::new(self.sources.clone(), None);
        let questions = Arc::new(questions.expect("invariant: no folder is made"));
        let (_, observer) = questions.clone().asking();
        let checker = effort.checker(Stage::Proofs, effort.pool(), observer);
        let Outcome { diagnostics, mut claims, fault, .. } = checker.item(&self.module, self.at);
        let fault = fault.map(|fault| fault.diagnostic());
        diagnostics.iter().chain(&fault).for_each(|found| reporter.diagnostic(&self.sources, found));
        let claim = claims.pop();
        if claim.is_none() && diagnostics.is_empty() {
            let name = subject(self.item()).map_or(String::new(), |(name, _)| name);
            reporter.fault(&no_verdict(&name));
        }
        Some((claim?, questions.counts()))
    }
}

fn choose(asked: &str, modules: Vec<Module>, sources: &SourceMap) -> Result<(Module, usize), Diagnostic> {
    let is_id = asked.len() >= LEAST_DIGITS && asked.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = asked.to_ascii_lowercase();
    let mut meant = Vec::new();
    for (file, module) in modules.iter().enumerate() {
        for (at, item, name) in claiming(module) {
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

/// The claims of a module, made or possible, with their places and names.
fn claiming(module: &Module) -> impl Iterator<Item = (usize, &Item, String)> {
    let items = module.items.iter().enumerate().filter(|(at, _)| module.may_claim(*at));
    items.filter_map(|(at, item)| Some((at, item, subject(item)?.0)))
}

fn no_verdict(name: &str) -> Diagnostic {
    placeless(NO_SUCH_CLAIM, format!("`{name}` makes no claim"))
        .help("what it calls has no preconditions on data")
}

fn unknown(asked: &str, modules: &[Module]) -> Diagnostic {
    let shown: String = asked.chars().take(40).flat_map(char::escape_debug).collect();
    let fault = placeless(NO_SUCH_CLAIM, format!("no claim has the id or the name `{shown}`"));
    let names: Vec<String> = modules.iter().flat_map(Module::claims).collect();
    match nearest(asked, names.iter().map(String::as_str)) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => {
            fault.help("name the files it is in, and four digits of its id or more; `rtv check -v` shows ids")
        }
    }
}
