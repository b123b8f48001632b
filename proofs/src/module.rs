//! One source file with what its names mean.

use rtv_grammar::ast::Item;
use rtv_grammar::lower::Defs;
use rtv_grammar::prelude::Prelude;
use rtv_grammar::{Comment, Parsed};
use rtv_semantics::diag::{Diagnostic, FileId};

/// A parsed file, ready to be checked.
pub struct Module {
    pub file: FileId,
    pub items: Vec<Item>,
    pub comments: Vec<Comment>,
    pub defs: Defs,
}

impl Module {
    /// The module of a parsed file, with what is wrong about its names. Syntax errors
    /// stay with the parse.
    pub fn new(file: FileId, parsed: Parsed) -> (Module, Vec<Diagnostic>) {
        let mut defs = Defs::new(Prelude::shared());
        let diagnostics = defs.add_file(file, &parsed.file);
        (Module { file, items: parsed.file.items, comments: parsed.comments, defs }, diagnostics)
    }

    /// The module of an operator file of the library, whose own operators are already
    /// known by name.
    pub fn of_library(file: FileId, parsed: Parsed) -> Module {
        Module {
            file,
            items: parsed.file.items,
            comments: parsed.comments,
            defs: Defs::new(Prelude::shared()),
        }
    }
}
