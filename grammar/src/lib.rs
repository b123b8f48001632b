//! Text to tree and back: lexer, grammar, syntax tree, printer, formatter, axis patterns.
//!
//! * Invariants: parsing never panics and never recurses deeper than [`guard::MAX_DEPTH`]
//!   allows; `parse(print(t)) == t` up to spans; formatting keeps every comment and is
//!   idempotent.
//! * Must not know: how programs are proved, evaluated or stored; it neither prints nor
//!   touches the disk.

mod actions;
pub mod ast;
mod blame;
pub mod core_text;
pub mod einpattern;
pub mod fmt;
pub mod guard;
mod habit;
pub mod lexer;
pub mod lower;
pub mod mutate;
mod parse;
pub mod prelude;
pub mod print;
mod report;
mod rtl;

pub use einpattern::{PatternStyle, parse_pattern};
pub use fmt::format;
pub use guard::decode;
pub use lexer::{Comment, CommentKind};
pub use parse::{Parsed, parse};
