//! Puts libz3 where the linker and the loader find it, without set-up by the user.
//!
//! The library comes out of the wheel that `libz3.txt` pins by hash, or from the
//! folder that `Z3_LIBRARY_PATH_OVERRIDE` names. A system libz3 of another version
//! would link silently if the folder went missing: hence the rerun line on the
//! library file, and the version check when the program starts.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

const OVERRIDE: &str = "Z3_LIBRARY_PATH_OVERRIDE";

fn main() {
    println!("cargo::rerun-if-changed=libz3.txt");
    println!("cargo::rerun-if-env-changed={OVERRIDE}");
    let dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("libz3");
    if let Err(reason) = place(&dir) {
        println!("cargo::error=libz3 is not available: {reason}");
        println!(
            "cargo::error=either make `python3 -m pip` work (Linux x86_64), or set {OVERRIDE} to \
             a folder that holds libz3.so 5.4"
        );
        return;
    }
    let dir = dir.display();
    println!("cargo::rerun-if-changed={dir}/libz3.so");
    println!("cargo::rustc-link-search=native={dir}");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{dir}");
    println!("cargo::metadata=libdir={dir}");
}

/// Makes `dir` a folder (or a link to one) with `libz3.so` in it.
fn place(dir: &Path) -> Result<(), String> {
    match fs::symlink_metadata(dir) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(dir).map_err(said(dir))?,
        Ok(_) => fs::remove_file(dir).map_err(said(dir))?,
        Err(_) => {}
    }
    match env::var_os(OVERRIDE) {
        Some(folder) => {
            let folder = fs::canonicalize(&folder).map_err(said(Path::new(&folder)))?;
            std::os::unix::fs::symlink(folder, dir).map_err(said(dir))
        }
        None => unpack(dir),
    }
}

/// Downloads the pinned wheel and moves its library folder to `dir`.
fn unpack(dir: &Path) -> Result<(), String> {
    let out = dir.with_file_name("wheel");
    let (wheel, unpacked) = (out.join("download"), out.join("unpacked"));
    if out.exists() {
        fs::remove_dir_all(&out).map_err(said(&out))?;
    }
    fs::create_dir_all(&out).map_err(said(&out))?;
    let pip = ["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"];
    let pinned = ["--require-hashes", "-r", "libz3.txt", "-d"];
    python(Command::new("python3").args(pip).args(pinned).arg(&wheel))?;
    let file = fs::read_dir(&wheel).map_err(said(&wheel))?.next().ok_or("pip downloaded nothing")?;
    let file = file.map_err(said(&wheel))?.path();
    python(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(file).arg(&unpacked))?;
    // A library newer than this script's last run would make cargo run it again.
    let library = unpacked.join("z3/lib/libz3.so");
    let opened = File::options().write(true).open(&library).map_err(said(&library))?;
    opened.set_modified(SystemTime::UNIX_EPOCH).map_err(said(&library))?;
    fs::rename(unpacked.join("z3/lib"), dir).map_err(said(dir))?;
    fs::remove_dir_all(&out).map_err(said(&out))
}

fn python(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("python3: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).lines().collect::<Vec<_>>().join("; "))
}

fn said(path: &Path) -> impl Fn(std::io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}
