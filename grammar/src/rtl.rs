//! The parser that `build.rs` generates from `rtl.lalrpop`.
#![allow(clippy::all)]

use lalrpop_util::lalrpop_mod;

lalrpop_mod!(generated, "/rtl.rs");

pub(crate) use generated::FileParser;
