//! What the environment says of the CPU backend: `RTV_THREADS` and `RTV_VECTORS`.

use std::sync::OnceLock;

use rtv_semantics::diag::{Code, Diagnostic};

use crate::io::placeless;

use super::Vectors;

/// A variable of the environment says what it cannot say.
pub const SETTING: Code = Code(642);
/// Threads of the pool, at most.
const MAX_THREADS: usize = 256;

/// What is asked for; nothing where nothing is said.
#[derive(Clone, Copy, Default)]
pub struct Settings {
    pub threads: Option<usize>,
    pub vectors: Option<Vectors>,
}

impl Settings {
    /// Those of this process.
    ///
    /// # Errors
    /// When a variable is set to what it does not take. The backend itself goes on
    /// without it then: who starts a run asks this first.
    pub fn check() -> Result<Settings, Diagnostic> {
        static KNOWN: OnceLock<Result<Settings, Diagnostic>> = OnceLock::new();
        KNOWN.get_or_init(|| Settings::read(&|name| std::env::var_os(name))).clone()
    }

    pub fn known() -> Settings {
        Settings::check().unwrap_or_default()
    }

    fn read(variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Result<Settings, Diagnostic> {
        let said = |name: &str| variable(name).map(|text| text.to_string_lossy().into_owned());
        let threads = said("RTV_THREADS").map(|text| {
            let threads = text.parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
            threads.ok_or_else(|| wrong("RTV_THREADS", &text, &format!("a number from 1 to {MAX_THREADS}")))
        });
        let vectors = said("RTV_VECTORS").map(|text| match text.as_str() {
            "0" => Ok(Vectors::Any),
            "256" => Ok(Vectors::Avx2),
            "512" => Ok(Vectors::Avx512),
            _ => Err(wrong("RTV_VECTORS", &text, "0, 256 or 512, the bits of a vector at most")),
        });
        Ok(Settings { threads: threads.transpose()?, vectors: vectors.transpose()? })
    }
}

fn wrong(name: &str, text: &str, takes: &str) -> Diagnostic {
    placeless(SETTING, format!("the environment sets {name} to `{text}`")).help(format!("it takes {takes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, text: &'static str) -> Result<Settings, Diagnostic> {
        Settings::read(&|asked| (asked == name).then(|| text.into()))
    }

    #[test]
    fn numbers_that_are_taken() {
        assert_eq!(read("RTV_THREADS", "3").map(|said| said.threads), Ok(Some(3)));
        assert_eq!(read("RTV_VECTORS", "256").map(|said| said.vectors), Ok(Some(Vectors::Avx2)));
        assert!(read("RTV_OTHER", "x").is_ok_and(|said| said.threads.is_none() && said.vectors.is_none()));
    }

    #[test]
    fn what_means_nothing_is_an_error() {
        for (name, text) in [
            ("RTV_THREADS", "abc"),
            ("RTV_THREADS", "0"),
            ("RTV_THREADS", "-1"),
            ("RTV_THREADS", "257"),
            ("RTV_THREADS", ""),
            ("RTV_VECTORS", "128"),
            ("RTV_VECTORS", "1024"),
            ("RTV_VECTORS", ""),
        ] {
            assert!(read(name, text).is_err_and(|fault| fault.code == SETTING), "{name}={text}");
        }
    }
}
