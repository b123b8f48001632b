//! `rtv cache`: where the project's cache is and what it holds.

use clap::Args;
use rtv_runtime::io::{UNWRITABLE, placeless, reason};
use rtv_semantics::diag::Code;

use crate::ledger::Contents;
use crate::report::Reporter;

/// Outside of a project there is no cache.
const NO_PROJECT: Code = Code(823);

#[derive(Args)]
pub struct Cache {
    /// Remove all of it
    #[arg(long)]
    clear: bool,
}

impl Cache {
    pub fn run(&self, reporter: &mut Reporter) {
        let Some(contents) = Contents::of_project() else {
            let fault = placeless(NO_PROJECT, "the current folder is in no project, and has no cache");
            return reporter.fault(&fault.help("an empty `rtv.toml` makes its folder a project"));
        };
        let Contents { folder, entries, bytes } = &contents;
        if self.clear {
            return match contents.clear() {
                Ok(()) => reporter.result(&format!("removed {entries} entries")),
                Err(why) => {
                    let fact = format!("cannot remove `{}`: {}", folder.display(), reason(&why));
                    reporter.fault(&placeless(UNWRITABLE, fact));
                }
            };
        }
        reporter.result(&format!("folder   {}", folder.display()));
        reporter.result(&format!("entries  {entries}"));
        reporter.result(&format!("bytes    {bytes}"));
    }
}
