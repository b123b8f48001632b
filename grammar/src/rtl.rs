//! The parser that `build.rs` generates from `rtl.lalrpop`.

use lalrpop_util::lalrpop_mod;

lalrpop_mod!(generated, "/rtl.rs");

pub(crate) use generated::FileParser;
