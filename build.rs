//! Lets the program find the libz3 that the solver crate was linked against, and lists the
//! pages of the error codes for `rtv explain` and the proved rules for `rtv opt`; names the
//! sources that verdicts come from.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(dir) = std::env::var("DEP_RTV_SMT_LIBDIR") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{dir}");
    }
    if let Err(why) = embed_pages() {
        println!("cargo::error=cannot embed semantics/errors: {why}");
    }
    if let Err(why) = embed_rules() {
        println!("cargo::error=cannot embed proofs/rules: {why}");
    }
    match fingerprint() {
        Ok(hash) => println!("cargo::rustc-env=RTV_SOURCES={hash:016x}"),
        Err(why) => println!("cargo::error=cannot read the sources: {why}"),
    }
}

/// Where this package lies. Asked for when this program runs: it may have been compiled for another checkout.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default()
}

/// What verdicts come from: the crates below the command line, and what they use.
const SOURCES: [&str; 8] = [
    "Cargo.lock",
    "semantics/src",
    "semantics/ops",
    "grammar/src",
    "smt/src",
    "smt/libz3.txt",
    "egraph/src",
    "proofs/src",
];

/// The hash of their names and texts, by which a cache knows the build it belongs to.
fn fingerprint() -> std::io::Result<u64> {
    let root = root();
    let mut open: Vec<PathBuf> = SOURCES.iter().map(|below| root.join(below)).collect();
    open.iter().for_each(|path| println!("cargo::rerun-if-changed={}", path.display()));
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        } else {
            files.push(path);
        }
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for path in files {
        path.strip_prefix(&root).unwrap_or(&path).hash(&mut hasher);
        fs::read(&path)?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// Writes `pages.rs`: code and text of every page, in the order of the codes.
fn embed_pages() -> std::io::Result<()> {
    let folder = root().join("semantics/errors");
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

/// Writes `rules.rs`: path, text and ledger of every file of rules, in the order of the paths.
fn embed_rules() -> std::io::Result<()> {
    let proofs = root().join("proofs");
    let (rules, ledger) = (proofs.join("rules"), proofs.join("ledger/rules"));
    println!("cargo::rerun-if-changed={}", rules.display());
    println!("cargo::rerun-if-changed={}", ledger.display());
    let files: std::io::Result<Vec<PathBuf>> = fs::read_dir(&rules)?.map(|entry| Ok(entry?.path())).collect();
    let mut files = files?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "rtl")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let book = ledger.join(&*name).with_extension("ledger");
        let book = if book.exists() { format!("include_str!({book:?})") } else { "\"\"".into() };
        let shown = format!("proofs/rules/{name}");
        list.push_str(&format!("    ({shown:?}, include_str!({file:?}), {book}),\n"));
    }
    list.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("rules.rs"), list)
}
