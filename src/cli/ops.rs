//! `rtv ops`: the operators of the library, with their signatures and documentation.

use clap::Args;
use rtv_grammar::CommentKind;
use rtv_grammar::ast::{Def, DefKind, Item, ItemKind};
use rtv_grammar::prelude::{Prelude, Source};
use rtv_runtime::io::placeless;
use rtv_semantics::diag::Code;

use crate::nearest::nearest;
use crate::report::Reporter;

/// No operator has this name.
const UNKNOWN_OPERATOR: Code = Code(814);

#[derive(Args)]
pub struct Ops {
    /// Only operators whose name contains this
    name: Option<String>,
}

impl Ops {
    pub fn run(&self, reporter: &mut Reporter) {
        let library = Prelude::shared();
        let wanted = |source: &&Source| match &self.name {
            None => true,
            Some(name) => source.name().contains(name.as_str()),
        };
        let mut found: Vec<&Source> = library.sources().iter().filter(wanted).collect();
        if let Some(exact) = found.iter().find(|s| Some(s.name()) == self.name.as_deref()) {
            found = vec![exact];
        }
        match &self.name {
            Some(name) if found.is_empty() => reporter.fault(&unknown(name, library.sources())),
            _ => list(&found, reporter),
        }
    }
}

fn unknown(name: &str, sources: &[Source]) -> rtv_semantics::diag::Diagnostic {
    let fault = placeless(UNKNOWN_OPERATOR, format!("there is no operator `{name}`"));
    match nearest(name, sources.iter().map(Source::name)) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => fault.help("`rtv ops` without a name lists all operators"),
    }
}

fn list(sources: &[&Source], reporter: &mut Reporter) {
    let mut group = "";
    for source in sources {
        if source.group() != group {
            if !group.is_empty() {
                reporter.result("");
            }
            group = source.group();
            reporter.result(group);
        }
        let parsed = rtv_grammar::parse(source.file, source.text);
        let docs: Vec<(u32, &str)> = parsed
            .comments
            .iter()
            .filter(|c| c.kind == CommentKind::Doc)
            .map(|c| (c.span.lo, c.text.as_str()))
            .collect();
        let mut after = 0;
        for item in &parsed.file.items {
            if let ItemKind::Def(def) = &item.kind
                && def.kind == DefKind::Op
            {
                reporter.result(&format!("  {}", signature(source.text, item, def)));
                let own = docs.iter().filter(|(at, _)| (after..item.span.lo).contains(at));
                own.for_each(|(_, text)| reporter.result(&format!("      {text}")));
            }
            after = item.span.hi;
        }
    }
}

/// The text between attributes and body, in one line.
fn signature(text: &str, item: &Item, def: &Def) -> String {
    let start = item.attrs.last().map_or(item.span.lo, |attr| attr.span.hi) as usize;
    let head = text.get(start..def.body.span.lo as usize).unwrap_or_default();
    let words: Vec<&str> = head.split_whitespace().skip(1).collect();
    words.join(" ")
}
