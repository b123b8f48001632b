//! Generates the parser from `src/rtl.lalrpop`, and the table of operator files.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() {
    println!("cargo::rerun-if-changed=src/rtl.lalrpop");
    if let Err(error) = lalrpop::Configuration::new().emit_rerun_directives(false).process_dir("src") {
        println!("cargo::error=the grammar could not be compiled: {error}");
    }
    if let Err(error) = embed_operators() {
        println!("cargo::error=the operators could not be embedded: {error}");
    }
}

/// Writes `OPERATORS: [(path below ops, text)]`, sorted by path.
fn embed_operators() -> io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("../semantics/ops");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut table = format!("const OPERATORS: [(&str, &str); {}] = [\n", files.len());
    for file in &files {
        let below = file.strip_prefix(&root).map_err(io::Error::other)?;
        let absolute = file.canonicalize()?;
        table += &format!(
            "    ({:?}, include_str!({:?})),\n",
            below.display().to_string(),
            absolute.display().to_string()
        );
    }
    table += "];\n";
    fs::write(Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?).join("operators.rs"), table)
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|e| e == "rtl") {
            into.push(path);
        }
    }
    Ok(())
}
