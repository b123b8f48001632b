//! Lets the program find the libz3 that the solver crate was linked against, and lists the
//! pages of the error codes for `rtv explain`.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(dir) = std::env::var("DEP_RTV_SMT_LIBDIR") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{dir}");
    }
    if let Err(why) = embed_pages() {
        println!("cargo::error=cannot embed semantics/errors: {why}");
    }
}

/// Writes `pages.rs`: code and text of every page, in the order of the codes.
fn embed_pages() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("semantics/errors");
    println!("cargo::rerun-if-changed={}", folder.display());
    let files: std::io::Result<Vec<PathBuf>> =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut files = files?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "md")) {
        let code = file.file_stem().unwrap_or_default();
        list.push_str(&format!("    ({code:?}, include_str!({file:?})),\n"));
    }
    list.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("pages.rs"), list)
}
