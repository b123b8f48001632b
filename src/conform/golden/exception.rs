//! The records that are not as the language has it, each with its reason.

use std::path::Path;

/// A case that is known to fail: ids that match the pattern, and why.
pub struct Exception {
    pub pattern: String,
    pub reason: String,
}

/// The lines of a file such as `exceptions.txt`: a pattern with at most one `*`, then the reason.
pub fn exceptions(file: &Path) -> Result<Vec<Exception>, String> {
    let at = |what: String| format!("{}: {what}", file.display());
    let text = std::fs::read_to_string(file).map_err(|why| at(why.to_string()))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let exception = |line: &str| match line.split_once(char::is_whitespace) {
        Some((pattern, reason)) if !reason.trim().is_empty() => {
            Ok(Exception { pattern: pattern.into(), reason: reason.trim().into() })
        }
        _ => Err(at(format!("no reason in `{line}`"))),
    };
    lines.map(exception).collect()
}

impl Exception {
    pub fn matches(&self, id: &str) -> bool {
        match self.pattern.split_once('*') {
            None => self.pattern == id,
            Some((start, end)) => {
                id.len() >= start.len() + end.len() && id.starts_with(start) && id.ends_with(end)
            }
        }
    }
}
